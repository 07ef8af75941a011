//! The sentences that speak of what the user asked to watch for.

use std::cmp::Reverse;

use session_model::{AgentMessage, EntryId};

use super::text::{ends_of, one_line, sentences, words};
use crate::source::SourceMessage;

/// How many sentences are kept, and the longest, in characters.
const SENTENCES: usize = 40;
const LONGEST: usize = 240;

/// Words that say nothing of what to watch for.
const FILLERS: &str = "with that about focus please keep especially important remember this from everything details \
     summary";

/// Returns the sentences of users and answers that name most of what `focus` names, in the order in which they were said.
pub fn focus_lines(messages: &[SourceMessage], focus: &str) -> Vec<(EntryId, String)> {
    let long = |word: &String| {
        let length = word.chars().count();
        let tells = length >= 4 || (!word.is_ascii() && length >= 2);
        tells && !FILLERS.split(' ').any(|filler| filler == word)
    };
    let wanted: Vec<String> = words(focus).into_iter().filter(long).collect();
    let mut found: Vec<(usize, usize, (EntryId, String))> = Vec::new();
    for source in messages {
        let text = match &*source.message {
            AgentMessage::User(said) => said.content.joined_text("\n"),
            AgentMessage::Assistant(said) => said.content.joined_text("\n"),
            _ => continue,
        };
        for sentence in sentences(&ends_of(&text)) {
            let lower = sentence.text.to_lowercase();
            let named = wanted.iter().filter(|word| lower.contains(word.as_str()));
            let named = named.count();
            if named > 0 {
                let line = one_line(&sentence.text, LONGEST);
                found.push((named, found.len(), (source.entry_id.clone(), line)));
            }
        }
    }
    found.sort_by_key(|(named, place, _)| (Reverse(*named), Reverse(*place)));
    found.truncate(SENTENCES);
    found.sort_by_key(|(_, place, _)| *place);
    found.into_iter().map(|(_, _, line)| line).collect()
}
