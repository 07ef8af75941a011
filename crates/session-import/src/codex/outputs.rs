//! Where the results of calls are, by the ids of the calls.

use std::collections::VecDeque;

use session_model::Timestamp;

use super::scan::At;
use crate::ids::{ByHash, hash_of};

/// A result of a call.
pub(super) struct Output {
    pub at: At,
    pub time: Option<Timestamp>,
    /// Its own id, or an empty text.
    pub id: Box<str>,
}

/// The results of each call, in their order, by the hash of its id.
#[derive(Default)]
pub(super) struct Outputs(ByHash<VecDeque<Output>>);

impl Outputs {
    pub fn push(&mut self, call: &str, output: Output) {
        self.0.entry(hash_of(call)).or_default().push_back(output);
    }

    /// Adds later ones.
    pub fn append(&mut self, later: Self) {
        for (call, outputs) in later.0 {
            self.0.entry(call).or_default().extend(outputs);
        }
    }

    /// Takes the first result of a call that is left.
    pub fn take(&mut self, call: &str) -> Option<Output> {
        self.0.get_mut(&hash_of(call))?.pop_front()
    }
}
