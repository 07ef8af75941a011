//! Where the results of calls stand, by the ids of the calls.

use session_model::Timestamp;

use super::scan::At;
use crate::ids::{ByHash, hash_of};

/// A result of a call.
struct Output {
    at: At,
    time: Option<Timestamp>,
    /// Where the id of the call begins in the texts; behind it stands that of the result.
    start: usize,
    call: u32,
    id: u32,
    /// The next result of a call whose id has the same hash.
    next: Option<u32>,
}

/// The results of each call, in their order.
#[derive(Default)]
pub(super) struct Outputs {
    list: Vec<Output>,
    texts: String,
    /// The first result that is left, by the hash of the id of its call.
    first: ByHash<u32>,
}

impl Outputs {
    pub fn push(&mut self, call: &str, id: &str, at: At, time: Option<Timestamp>) {
        self.list.push(Output {
            at,
            time,
            start: self.texts.len(),
            // Lines are far shorter than 4 GiB.
            call: call.len() as u32,
            id: id.len() as u32,
            next: None,
        });
        self.texts.push_str(call);
        self.texts.push_str(id);
    }

    /// Adds later ones.
    pub fn append(&mut self, later: Self) {
        let before = self.texts.len();
        self.texts.push_str(&later.texts);
        self.list
            .extend(later.list.into_iter().map(|output| Output {
                start: output.start + before,
                ..output
            }));
    }

    /// Returns them ready to be taken.
    pub fn indexed(mut self) -> Self {
        self.first.reserve(self.list.len());
        for index in (0..self.list.len() as u32).rev() {
            let later = self.first.insert(hash_of(self.call(index)), index);
            self.list[index as usize].next = later;
        }
        self
    }

    fn call(&self, index: u32) -> &str {
        let output = &self.list[index as usize];
        &self.texts[output.start..][..output.call as usize]
    }

    /// Takes the first result of a call that is left: where it is, its time and its id, which may be empty.
    pub fn take(&mut self, call: &str) -> Option<(At, Option<Timestamp>, &str)> {
        let hash = hash_of(call);
        let mut found = *self.first.get(&hash)?;
        let mut before = None;
        while self.call(found) != call {
            before = Some(found);
            found = self.list[found as usize].next?;
        }
        let next = self.list[found as usize].next;
        match (before, next) {
            (Some(before), _) => self.list[before as usize].next = next,
            (None, Some(next)) => drop(self.first.insert(hash, next)),
            (None, None) => drop(self.first.remove(&hash)),
        }
        let output = &self.list[found as usize];
        let id = &self.texts[output.start..][output.call as usize..][..output.id as usize];
        Some((output.at, output.time, id))
    }
}
