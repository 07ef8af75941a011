//! Where the results of calls stand, by the ids of the calls.

use hashbrown::HashTable;
use session_model::Timestamp;

use super::scan::At;
use crate::ids::hash_of;

/// A result of a call.
struct Output {
    at: At,
    time: Option<Timestamp>,
    /// Where the id of the call begins in the texts; behind it stands that of the result.
    start: usize,
    call: u32,
    id: u32,
    /// The next result of the same call.
    next: Option<u32>,
}

/// The results of each call, in their order.
#[derive(Default)]
pub(super) struct Outputs {
    list: Vec<Output>,
    texts: String,
    /// The first result of each call that is left.
    first: HashTable<u32>,
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
        let mut first = HashTable::with_capacity(self.list.len());
        for index in (0..self.list.len() as u32).rev() {
            let call = self.call(index);
            let same = |other: &u32| self.call(*other) == call;
            match first.find_mut(hash_of(call), same) {
                Some(later) => {
                    let next = std::mem::replace(later, index);
                    self.list[index as usize].next = Some(next);
                }
                None => {
                    first.insert_unique(hash_of(call), index, |other| hash_of(self.call(*other)));
                }
            }
        }
        Self { first, ..self }
    }

    fn call(&self, index: u32) -> &str {
        let output = &self.list[index as usize];
        &self.texts[output.start..][..output.call as usize]
    }

    /// Takes the first result of a call that is left: where it is, its time and its id, which may be empty.
    pub fn take(&mut self, call: &str) -> Option<(At, Option<Timestamp>, &str)> {
        let (list, texts) = (&self.list, &self.texts);
        let same = |other: &u32| {
            let output = &list[*other as usize];
            &texts[output.start..][..output.call as usize] == call
        };
        let mut first = self.first.find_entry(hash_of(call), same).ok()?;
        let output = &list[*first.get() as usize];
        match output.next {
            Some(next) => *first.get_mut() = next,
            None => drop(first.remove()),
        }
        let id = &texts[output.start..][output.call as usize..][..output.id as usize];
        Some((output.at, output.time, id))
    }
}
