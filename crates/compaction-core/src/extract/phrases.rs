//! Lists of phrases, by their names.

pub(super) use crate::phrases::Phrases;
