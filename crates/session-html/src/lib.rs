//! A session as one page for a browser: the tree, the conversation, compactions as cards, and the size of the context.
//!
//! The page is one file. It loads nothing and sends nothing: its policy allows its own style and script, by their
//! hashes, and images that are in it. What a session says is text, whatever it contains.
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

/// What is shown, and how.
pub struct Export<'a> {
    /// The session.
    pub tree: &'a SessionTree,
    /// Where its conversation ends; other branches are folded.
    pub leaf: Leaf,
    /// Whose rules make the context.
    pub profile: Profile,
    /// Takes keys out of texts.
    pub clean: Option<Clean<'a>>,
    /// Returns what else is to be said of a compaction, each with a name.
    pub facts: &'a dyn Fn(&Entry) -> Vec<(String, String)>,
}

/// A page, and what is on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The page.
    pub html: String,
    /// How many entries it shows.
    pub entries: usize,
    /// How many compactions the session has.
    pub compactions: usize,
    /// How many prunings are on the path.
    pub prunings: usize,
    /// How often the model changed on the path; the first one counts.
    pub models: usize,
    /// How many older entries are left out.
    pub left_out_entries: usize,
    /// How many bytes of one entry are shown at most.
    pub shown_bytes_per_entry: usize,
    /// How many bytes of texts and images are not shown.
    pub left_out_bytes: u64,
}
