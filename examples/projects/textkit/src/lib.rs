//! textkit - strutil and friends.
//!
//! Modules: strutil (case conversion and widths), wrap, table, html, tmpl.

pub mod diff;
pub mod errors;
pub mod escape;
pub mod filters;
pub mod lines;
pub mod misc;
pub mod number;
pub mod slug;
pub mod strutil;
pub mod table;
pub mod template;
pub mod wrap;

pub use diff::{apply, diff_lines, stats, unified, Change};
pub use errors::TextError;
pub use escape::{escape_html, escape_json, quote_shell, unescape_html, unescape_json};
pub use lines::{
    common_indent, common_prefix, dedent, longest_line, normalize_newlines, number_lines,
    squeeze_blank, trim_trailing,
};
pub use misc::{char_width, display_width, is_blank, pad_center, pad_left, pad_right, truncate};
pub use number::{
    format_bytes, from_roman, group_thousands, ordinal, parse_bytes, parse_grouped, percent,
    to_roman,
};
pub use slug::{slugify, slugify_with, Slugger};
pub use strutil::{
    capitalize, split_words, to_camel_case, to_constant_case, to_kebab_case, to_pascal_case,
    to_snake_case, to_title_case,
};
pub use table::{Align, Table};
pub use template::{Context, Template, Value};
pub use wrap::{fill, indent, wrap, wrap_with, WrapOptions};

/// Version of the crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
