//! One answer of the searches of several sessions.

use crate::{InSession, Recall, RecallRequest, Recalled};

/// The most close words that are named.
const MOST_NEAR: usize = 6;

impl Recall {
    /// Returns the best of the answers of several sessions, each named. Entries of copies of a session are folded: they
    /// have the same id and the same length.
    #[must_use]
    pub fn merged(answers: Vec<(InSession, Self)>, request: &RecallRequest<'_>) -> Self {
        let mut all = Self::default();
        let first = answers.first();
        all.missing = first.map_or_else(Vec::new, |(_, first)| first.missing.clone());
        for (session, answer) in answers {
            all.matching += answer.matching;
            all.searched += answer.searched;
            all.unreadable += answer.unreadable;
            all.in_part |= answer.in_part;
            all.missing.retain(|word| answer.missing.contains(word));
            for near in answer.near {
                if !all.near.contains(&near) {
                    all.near.push(near);
                }
            }
            for found in answer.found {
                let is_copy = |known: &&mut Recalled| {
                    known.entry_id == found.entry_id && known.total_chars == found.total_chars
                };
                match all.found.iter_mut().find(is_copy) {
                    Some(known) => known.copies.extend(found.copies),
                    None => all.found.push(Recalled {
                        session: Some(session.clone()),
                        ..found
                    }),
                }
            }
        }
        if all.matching > 0 {
            all.near.clear();
        }
        all.near.truncate(MOST_NEAR);
        all.found
            .sort_by(|one, other| other.score.total_cmp(&one.score));
        all.found.truncate(request.entries);
        all.shorten(request);
        all
    }
}
