//! Checks if the prose of a model is worth storing: a refusal, an echo or continued work instead of a summary is not.
//!
//! The prose is not interpreted. It is checked how many of the important names are in it: the files that were changed,
//! the commands whose last run failed, and the words of the newest request. The outline is checked in the same way.
//! Words alone count only against short prose: a long summary may be in another language.

use std::collections::BTreeSet;

use session_model::tokens::TokenCount;

use crate::plan::{ApplyError, CompactionPlan};
use crate::request::RequestKind;

/// The number of names of each kind that are searched for.
const NAMES: usize = 40;
/// The shortest word of a request that is a name, in characters.
const WORD: usize = 5;
/// The number of names below which nothing is refused; with fewer files and commands among them, only short prose is.
const LEAST_NAMES: usize = 5;
const LEAST_WORK: usize = 3;
/// The factor by which the outline may have more names before the prose is refused.
const TIMES: usize = 5;
/// Prose up to this size is short for a context above this one, in tokens.
const SHORT: TokenCount = TokenCount(120);
const MUCH: TokenCount = TokenCount(8000);
/// From so many lines on, prose of which only one line in so many is another one repeats itself.
const LINES: usize = 40;
const SAME: usize = 4;
/// The length of a copy of the instructions that makes the prose an echo, in bytes.
const ECHO: usize = 120;

impl CompactionPlan {
    /// Fails for prose that keeps clearly less than the outline would.
    pub(super) fn check_worth(&self, prose: &str) -> Result<(), ApplyError> {
        if self.is_echo(prose) {
            return Err(ApplyError::Echo);
        }
        let lines: Vec<&str> = prose.lines().filter(|line| !line.is_empty()).collect();
        let distinct: BTreeSet<&str> = lines.iter().copied().collect();
        if lines.len() >= LINES && distinct.len() * SAME < lines.len() {
            return Err(ApplyError::Repeats {
                lines: lines.len(),
                distinct: distinct.len(),
            });
        }
        let work = self.work_names();
        let mut names = self.request_words();
        names.extend(work.iter().cloned());
        if names.len() < LEAST_NAMES {
            return Ok(());
        }
        let found = found_in(prose, &names);
        let is_worthless = if work.len() >= LEAST_WORK {
            found * TIMES < found_in(&self.extractive_text(), &names)
        } else {
            let is_short = self.profile.counter().text(prose) < SHORT;
            found == 0 && is_short && self.tokens_in_context() > MUCH
        };
        match is_worthless {
            true => Err(ApplyError::Worthless {
                found,
                names: names.len(),
            }),
            false => Ok(()),
        }
    }

    /// Returns true if prose repeats the instructions.
    fn is_echo(&self, prose: &str) -> bool {
        let history = self
            .requests()
            .iter()
            .find(|request| request.kind != RequestKind::TurnPrefix);
        let instructions = history
            .or(self.requests().first())
            .map(|request| request.instructions.trim());
        instructions.is_some_and(|instructions| {
            let start = &instructions[..instructions.floor_char_boundary(ECHO)];
            start.len() >= ECHO / 2 && prose.contains(start)
        })
    }

    /// Returns the names of changed files and failing commands, in lower case.
    fn work_names(&self) -> BTreeSet<String> {
        let name_of = |path: &String| {
            path.rsplit(['/', '\\'])
                .next()
                .unwrap_or(path)
                .to_lowercase()
        };
        let newest = self.outline.changed_files().iter().rev().take(NAMES);
        let mut names: BTreeSet<String> = newest.map(name_of).collect();
        names.extend(self.files.modified_files().iter().take(NAMES).map(name_of));
        let failing = self.outline.failing_commands().take(NAMES);
        names.extend(failing.filter_map(|command| Some(command.split('`').nth(1)?.to_lowercase())));
        names.retain(|name| !name.is_empty());
        names
    }

    /// Returns the words of the newest request, in lower case.
    fn request_words(&self) -> BTreeSet<String> {
        let request = self
            .outline
            .newest_request()
            .unwrap_or_default()
            .to_lowercase();
        let words = request.split(|c: char| !c.is_alphanumeric());
        let words = words
            .filter(|word| word.chars().count() >= WORD)
            .take(NAMES);
        words.map(str::to_owned).collect()
    }
}

fn found_in(text: &str, names: &BTreeSet<String>) -> usize {
    let text = text.to_lowercase();
    names
        .iter()
        .filter(|name| text.contains(name.as_str()))
        .count()
}
