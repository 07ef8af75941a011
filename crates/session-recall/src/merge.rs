//! One answer of the searches of several sessions.

use crate::{Recall, RecallRequest, Recalled};

impl Recall {
    /// Returns this answer with the best of other sessions, each named. Entries of copies of a session are folded: they
    /// have the same id and the same length.
    #[must_use]
    pub fn merged(mut self, others: Vec<(String, Self)>, request: &RecallRequest<'_>) -> Self {
        for (session, other) in others {
            self.matching += other.matching;
            self.elsewhere += other.elsewhere;
            self.searched += other.searched;
            self.unreadable += other.unreadable;
            self.in_part |= other.in_part;
            self.missing.retain(|word| other.missing.contains(word));
            for near in other.near {
                if !self.near.contains(&near) {
                    self.near.push(near);
                }
            }
            for found in other.found {
                let is_copy = |known: &&mut Recalled| {
                    known.entry_id == found.entry_id && known.total_chars == found.total_chars
                };
                match self.found.iter_mut().find(is_copy) {
                    Some(known) => known.copies += 1 + found.copies,
                    None => self.found.push(Recalled {
                        session: Some(session.clone()),
                        ..found
                    }),
                }
            }
        }
        if self.matching > 0 {
            self.near.clear();
        }
        self.near.truncate(MOST_NEAR);
        self.found
            .sort_by(|one, other| other.score.total_cmp(&one.score));
        self.found.truncate(request.entries);
        self.shorten(request);
        self
    }
}

/// The most close words that are named.
const MOST_NEAR: usize = 6;
