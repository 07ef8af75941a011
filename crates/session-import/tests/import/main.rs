//! Sessions of other programs become sessions of the family.

mod examined;
mod exports;
mod invariants;
mod sessions;
mod support;
