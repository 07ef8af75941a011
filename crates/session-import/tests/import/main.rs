//! Sessions of other programs become sessions of the family.

mod invariants;
mod sessions;
mod support;
