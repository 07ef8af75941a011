//! A session as one page for a browser: the tree, the conversation, compactions as cards, and the size of the context.
//!
//! The page is one file. It loads nothing and sends nothing: its policy allows its own style and script, by their
//! hashes, and images that are in it. The content of a session is always shown as text.
//!
//! ```
//! use compaction_core::Profile;
//! use session_html::{Export, page};
//! use session_model::decode_bytes;
//!
//! let lines = concat!(
//!     r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#, "\n",
//!     r#"{"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":"<b>hello</b>"}}"#, "\n",
//! );
//! let decoded = decode_bytes(lines.into());
//! let export = Export {
//!     tree: &decoded.tree,
//!     leaf: decoded.tree.leaf(),
//!     profile: Profile::Own,
//!     clean: None,
//!     facts: &|_| Vec::new(),
//! };
//! let page = page(&export);
//! assert!(page.html.contains("&lt;b&gt;hello&lt;/b&gt;"));
//! assert!(!page.html.contains("<b>hello"));
//! ```

mod call;
mod card;
mod diff;
mod entries;
mod gate;
mod markdown;
mod page;
mod parts;
mod sizes;
mod timeline;

use compaction_core::Profile;
use session_model::Clean;
use session_model::{Entry, Leaf, SessionTree};

pub use page::page;

/// The session to export, and options.
pub struct Export<'a> {
    /// The session.
    pub tree: &'a SessionTree,
    /// The end of its conversation; other branches are folded.
    pub leaf: Leaf,
    /// The profile whose rules make the context.
    pub profile: Profile,
    /// Takes keys out of texts.
    pub clean: Option<Clean<'a>>,
    /// Returns further facts about a compaction, each with a name.
    pub facts: &'a dyn Fn(&Entry) -> Vec<(String, String)>,
}

/// A page, and what is on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The page.
    pub html: String,
    /// The number of entries shown.
    pub entries: usize,
    /// The number of compactions in the session.
    pub compactions: usize,
    /// The number of prunings on the path.
    pub prunings: usize,
    /// The number of model changes on the path; the first model counts.
    pub models: usize,
    /// The number of older entries that are left out.
    pub left_out_entries: usize,
    /// The most bytes of one entry that are shown.
    pub shown_bytes_per_entry: usize,
    /// The number of bytes of texts and images that are not shown.
    pub left_out_bytes: u64,
}
