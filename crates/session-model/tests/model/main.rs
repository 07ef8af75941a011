//! The crate as its users see it, one module for each area.

mod context;
mod damage;
mod restore;
