//! The machine, row by row.
