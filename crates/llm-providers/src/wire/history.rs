//! Converts the message history for another provider: parts that are kept, and parts that are rewritten.
//!
//! A signature is sent only to the provider, protocol and model that made it. A tool call id is written in the form
//! that the provider accepts, the same for a call and its result.

use std::collections::{BTreeMap, BTreeSet};

use session_model::AssistantMessage;

use crate::wire::Target;

/// Returns true when `message` is from the model of the target, so that its signatures are valid.
pub(crate) fn same_origin(message: &AssistantMessage, target: &Target<'_>) -> bool {
    message.provider == target.provider
        && message.api == target.wire.api()
        && message.model == target.model
}

/// The form of tool call ids that a provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdForm {
    /// Letters, digits, `_` and `-`, at most 64 of them: OpenAI, Anthropic and all that follow them.
    Token,
    /// Exactly nine letters and digits: Mistral.
    Nine,
}

/// The ids of calls and results in one request. Different ids stay different, equal ones equal, and the same history
/// gives the same ids. An id that a later answer reuses gets a new one there, because no provider expects it twice.
#[derive(Debug)]
pub(crate) struct SentIds {
    form: IdForm,
    /// The ids to send, by the session's and how often it was used before.
    known: BTreeMap<(String, usize), String>,
    taken: BTreeSet<String>,
    uses: BTreeMap<String, usize>,
    /// The ids of the current answer's calls.
    open: BTreeMap<String, String>,
}

impl SentIds {
    /// Returns an empty table for a form.
    pub fn new(form: IdForm) -> Self {
        Self {
            form,
            known: BTreeMap::new(),
            taken: BTreeSet::new(),
            uses: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Begins the next answer.
    pub fn next_answer(&mut self) {
        self.open.clear();
    }

    /// Returns the id to send for a call of the current answer.
    pub fn call(&mut self, id: &str) -> String {
        let uses = self.uses.entry(id.to_owned()).or_default();
        let before = *uses;
        *uses += 1;
        let sent = self.get(id, before);
        self.open.insert(id.to_owned(), sent.clone());
        sent
    }

    /// Returns the id to send for a result.
    pub fn result(&mut self, id: &str) -> String {
        match self.open.get(id) {
            Some(sent) => sent.clone(),
            None => self.get(id, 0),
        }
    }

    /// Returns the id to send for `id`, which was used `before` times. Sessions of the pi family join the Responses
    /// protocol's two ids with `|`; the first of them is the call's.
    fn get(&mut self, id: &str, before: usize) -> String {
        let key = (id.to_owned(), before);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let first = id.split('|').next().unwrap_or_default();
        let mut candidate = self.shape(first, None);
        let mut attempt = 0;
        while !self.taken.insert(candidate.clone()) {
            candidate = self.shape(first, Some(attempt));
            attempt += 1;
        }
        self.known.insert(key, candidate.clone());
        candidate
    }

    fn shape(&self, id: &str, attempt: Option<u32>) -> String {
        let (most, plain) = match self.form {
            IdForm::Token => (64, "_-"),
            IdForm::Nine => (9, ""),
        };
        let fits =
            |character: &char| character.is_ascii_alphanumeric() || plain.contains(*character);
        let exact = match self.form {
            IdForm::Token => !id.is_empty() && id.len() <= most,
            IdForm::Nine => id.len() == most,
        };
        if attempt.is_none() && exact && id.chars().all(|character| fits(&character)) {
            return id.to_owned();
        }
        // An id that does not fit becomes a hash of the whole id, after as much of it as there is room for.
        let hash = hash36(id, attempt.map_or(0, |attempt| u64::from(attempt) + 1));
        let kept: String = id.chars().filter(fits).take(most - hash.len()).collect();
        format!("{kept}{hash}")
    }
}

/// Returns nine letters and digits that identify `text` (FNV-1a, in base 36).
fn hash36(text: &str, salt: u64) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    (0..9)
        .map(|_| {
            let digit = char::from(digits[(hash % 36) as usize]);
            hash /= 36;
            digit
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{IdForm, SentIds};
    use proptest::prelude::*;

    #[test]
    fn the_first_of_two_joined_ids_is_the_calls() {
        let mut ids = SentIds::new(IdForm::Token);
        assert_eq!(ids.result("call_1|fc_1"), "call_1");
        assert_ne!(ids.result("call_1|fc_2"), "call_1");
        assert_eq!(ids.result("call_1|fc_1"), "call_1");
    }

    #[test]
    fn an_id_that_comes_again_gets_another_spelling() {
        let mut ids = SentIds::new(IdForm::Token);
        assert_eq!(ids.call("call_0"), "call_0");
        assert_eq!(ids.result("call_0"), "call_0");
        ids.next_answer();
        let again = ids.call("call_0");
        assert_ne!(again, "call_0");
        assert_eq!(ids.result("call_0"), again);
    }

    proptest! {
        #[test]
        fn ids_have_the_form_and_stay_apart(ids in proptest::collection::vec("[ -~é]{0,80}", 1..20)) {
            for form in [IdForm::Token, IdForm::Nine] {
                let mut table = SentIds::new(form);
                let sent: Vec<String> = ids.iter().map(|id| table.result(id)).collect();
                for (id, sent_id) in ids.iter().zip(&sent) {
                    let length = sent_id.len();
                    match form {
                        IdForm::Token => prop_assert!((1..=64).contains(&length)),
                        IdForm::Nine => prop_assert_eq!(length, 9),
                    }
                    prop_assert!(sent_id.bytes().all(|b| b.is_ascii_alphanumeric() || (form == IdForm::Token && b"_-".contains(&b))));
                    for (other, other_sent) in ids.iter().zip(&sent) {
                        prop_assert_eq!(id == other, sent_id == other_sent);
                    }
                }
            }
        }
    }
}
