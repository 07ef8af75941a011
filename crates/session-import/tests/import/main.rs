//! Sessions of other programs become sessions of the family.

mod agents;
mod claude;
mod examined;
mod exports;
mod invariants;
mod sessions;
mod support;
mod user_words;
