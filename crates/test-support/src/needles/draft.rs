//! Needles before they have a place: what is said, in which parts, and how deep.

use serde::Deserialize;
use serde_json::Value;

use super::{Needle, NeedleKind};

/// One entry to be written.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The user says something.
    User(String),
    /// The agent says something.
    Answer(String),
    /// The agent calls a tool.
    Call {
        said: String,
        tool: String,
        arguments: Value,
    },
    /// The result of the call before it.
    Result { text: String, failed: bool },
    /// The entry before it is pinned.
    #[serde(rename = "pin")]
    PinBefore,
    /// A text of its own is pinned.
    PinText(String),
    /// An item joins the todo list, or is done.
    Todo { task: String, done: bool },
}

/// Entries that stand together.
#[derive(Debug, Clone)]
pub struct Part {
    /// Where they belong, from 0 to 1.
    pub depth: f64,
    /// The entries.
    pub bodies: Vec<Body>,
}

/// A needle without a place.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The needle; its entry is not known yet.
    pub needle: Needle,
    /// Which body of the first part says it.
    pub carries: usize,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Draft {
    /// Returns a needle that is said in one place.
    pub fn once(
        kind: NeedleKind,
        said: &str,
        literals: &[&str],
        carries: usize,
        bodies: Vec<Body>,
    ) -> Self {
        Self {
            needle: Needle {
                kind,
                entry_id: String::new(),
                last_entry_id: String::new(),
                depth: 0,
                said: said.to_owned(),
                literals: literals.iter().map(|&text| text.to_owned()).collect(),
                instead: None,
            },
            carries,
            parts: vec![Part { depth: 0.0, bodies }],
        }
    }

    /// Returns it with another part, somewhat later.
    pub fn then(mut self, bodies: Vec<Body>) -> Self {
        self.parts.push(Part { depth: 0.0, bodies });
        self
    }
}
