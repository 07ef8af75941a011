//! Whether the prose of a model is worth storing: a refusal, an echo or continued work in the place of a summary is not.
//!
//! Nothing is read into the prose. It is asked how many of the names of the work are in it: the files that were changed, the
//! commands whose last run failed, and the words of the newest request. The outline is asked the same.

use std::collections::BTreeSet;

use crate::plan::{ApplyError, CompactionPlan};
use crate::request::RequestKind;

/// How many names of each kind are looked for.
const NAMES: usize = 40;
/// The shortest word of a request that is a name, in characters.
const WORD: usize = 5;
/// With fewer names nothing can be said.
const LEAST_NAMES: usize = 5;
/// How many times as many names the outline may have before the prose is refused.
const TIMES: usize = 5;
/// How much of the instructions in the prose makes it an echo, in bytes.
const ECHO: usize = 120;

impl CompactionPlan {
    /// Fails for prose that keeps clearly less than the outline would.
    pub(super) fn check_worth(&self, prose: &str) -> Result<(), ApplyError> {
        if self.is_echo(prose) {
            return Err(ApplyError::Echo);
        }
        let names = self.names();
        if names.len() < LEAST_NAMES {
            return Ok(());
        }
        let found = found_in(prose, &names);
        let outline = found_in(&self.extractive_text(), &names);
        match found * TIMES < outline {
            true => Err(ApplyError::Worthless {
                found,
                names: names.len(),
            }),
            false => Ok(()),
        }
    }

    /// Returns whether prose repeats what was asked.
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

    /// Returns the names of the work, in lower case.
    fn names(&self) -> BTreeSet<String> {
        let name_of = |path: &str| {
            path.rsplit(['/', '\\'])
                .next()
                .unwrap_or(path)
                .to_lowercase()
        };
        let files = self.outline.changed_files().iter().rev().take(NAMES);
        let mut names: BTreeSet<String> = files.map(|path| name_of(path)).collect();
        names.extend(
            self.files
                .modified_files()
                .iter()
                .take(NAMES)
                .map(|path| name_of(path)),
        );
        let failing = self.outline.failing_commands().take(NAMES);
        names.extend(failing.filter_map(|command| Some(command.split('`').nth(1)?.to_lowercase())));
        let request = self
            .outline
            .newest_request()
            .unwrap_or_default()
            .to_lowercase();
        let words = request.split(|c: char| !c.is_alphanumeric());
        names.extend(
            words
                .filter(|word| word.chars().count() >= WORD)
                .take(NAMES)
                .map(str::to_owned),
        );
        names.retain(|name| !name.is_empty());
        names
    }
}

fn found_in(text: &str, names: &BTreeSet<String>) -> usize {
    let text = text.to_lowercase();
    names
        .iter()
        .filter(|name| text.contains(name.as_str()))
        .count()
}
