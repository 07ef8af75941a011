//! promotion.
