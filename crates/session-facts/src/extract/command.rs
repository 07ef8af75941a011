//! Command lines: which are the same, which check the work, which only look.

use std::collections::BTreeSet;

use super::shell_parse::{Part, parts};
use super::subsumption::{Subsumption, covers};
use crate::phrases::Phrases;

/// First words of commands that only look: their failure blocks nothing, and their output quotes anything.
static LOOKING: Phrases = Phrases::named("command.looking");
/// What `git` does when it only looks.
const GIT_LOOKING: [&str; 7] = ["grep", "log", "show", "diff", "status", "blame", "ls-files"];
/// Returns true when a command's exit code is not that of what it runs, or is made to be a success.
pub(super) fn hides_its_end(command: &str) -> bool {
    // `&&` alone hands an exit code on.
    let ends = command.trim_end().trim_end_matches(';');
    ends.contains(['|', ';'])
        || ends.ends_with('&')
        || ends.contains(" & ")
        || ends.starts_with("! ")
}

/// Words of commands that check the work.
static CHECKS: Phrases = Phrases::named("command.checks");

/// A command line, parsed so that two runs of the same command are recognized.
pub(super) struct Command {
    core: String,
    parts: Vec<Part>,
    /// Which of them checks the work, the last one.
    check: Option<usize>,
    /// What its output shows to have run: a script, such as `make ci`, often prints its commands.
    printed: Vec<Part>,
}

impl Command {
    /// Returns the command that `text` spells, without what wraps it or only shortens its output.
    pub(super) fn new(text: &str) -> Self {
        Self::run_in(text, None)
    }

    /// Does the same for one that was run in a folder.
    pub(super) fn run_in(text: &str, dir: Option<&str>) -> Self {
        let mut core = text.trim();
        if let Some(after) = core.strip_prefix("cd ")
            && let Some((_, command)) = after.split_once(" && ")
        {
            core = command.trim();
        }
        let cut = [
            "| tail",
            "| head",
            "| grep",
            "| less",
            "|| true",
            "2>&1",
            "2>/dev/null",
            "; echo",
            "| cat",
        ];
        let ends = cut.iter().filter_map(|mark| core.find(mark));
        let core = core[..ends.min().unwrap_or(core.len())].trim().to_owned();
        let parts = parts(text, dir);
        let check = parts.iter().rposition(|part| is_check(&part.text()));
        Self {
            core,
            parts,
            check,
            printed: Vec::new(),
        }
    }

    /// Notes which runs of these programs its output shows.
    pub(super) fn read_output(&mut self, output: &str, programs: &BTreeSet<&str>) {
        if programs.is_empty() {
            return;
        }
        let lines = output.lines().take(LINES).map(|line| {
            let line = line.trim();
            let bare = PROMPTS.iter().find_map(|mark| line.strip_prefix(mark));
            bare.unwrap_or(line)
        });
        // "nox > passed" is no command but a remark.
        let ran = lines.filter(|line| {
            let mut words = line.split_ascii_whitespace();
            line.len() <= LINE && words.any(|word| programs.contains(word)) && !line.contains(" > ")
        });
        self.printed = ran.flat_map(|line| parts(line, None)).collect();
    }

    /// Returns the program that has to pass for this command to be settled.
    pub(super) fn program(&self) -> Option<&str> {
        let part = self.last_check().or(self.parts.last())?;
        part.words.first().map(String::as_str)
    }

    /// Returns the command without directory, redirections and filters.
    pub(super) fn core(&self) -> &str {
        &self.core
    }

    /// Returns true when both are the same command in the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let mut parts = self.parts.iter().zip(&other.parts);
        self.parts.len() == other.parts.len()
            && (!self.parts.is_empty() || self.core == other.core)
            && parts.all(|(own, other)| own.words == other.words && own.same_place(other))
    }

    /// Returns how much of the work of `failed` this command did. Of `failed`, the last check counts, or else its last part.
    pub(super) fn covers(&self, failed: &Self) -> Subsumption {
        if !self.core.is_empty() && self.is_same(failed) {
            return Subsumption::Surely;
        }
        let Some(last) = failed.last_check().or(failed.parts.last()) else {
            return Subsumption::Not;
        };
        let ran = self.parts.iter().chain(&self.printed);
        let won = ran.map(|part| covers(part, last));
        won.max().unwrap_or(Subsumption::Not)
    }

    /// Returns true when this command, a test run that came to its tests, settles that `failed` failed to build.
    pub(super) fn built(&self, failed: &Self) -> bool {
        let (Some(won), Some(failed)) = (self.last_check(), failed.last_check()) else {
            return false;
        };
        let builds = |part: &Part| {
            let mut words = part.words.iter().map(String::as_str);
            words.next() == Some("cargo") && words.any(|word| matches!(word, "build" | "check"))
        };
        builds(failed) && covers(won, failed) == Subsumption::Surely
    }

    fn last_check(&self) -> Option<&Part> {
        self.parts.get(self.check?)
    }

    /// Returns true when the command only looks at something.
    pub(super) fn only_looks(&self) -> bool {
        let looks = |part: &Part| {
            let mut words = part.words.iter().map(String::as_str);
            match words.next() {
                Some("docker" | "kubectl" | "podman") => words
                    .find(|word| !matches!(*word, "compose" | "container"))
                    .is_some_and(|word| matches!(word, "logs" | "ps" | "inspect" | "describe")),
                Some("gh") => words.any(|word| matches!(word, "view" | "list" | "checks" | "diff")),
                Some("git") => words.next().is_some_and(|word| GIT_LOOKING.contains(&word)),
                Some(first) => LOOKING.contains(&first),
                None => true,
            }
        };
        self.parts.iter().all(looks)
    }
}

/// What stands before a command that a script prints as it runs it.
const PROMPTS: [&str; 4] = ["> ", "$ ", "+ ", "% "];
/// How many lines of an output are read for such commands, and the longest that is one, in bytes.
const LINES: usize = 1000;
const LINE: usize = 400;

/// Returns true when `command` checks the work: tests, builds, lints.
pub(super) fn is_check(command: &str) -> bool {
    command.split("&&").any(|part| {
        let first = part.split_whitespace().next().unwrap_or_default();
        let mut words = part.split(|c: char| !c.is_alphanumeric());
        !HANDLING.contains(&first) && words.any(|word| CHECKS.contains(&word))
    })
}

/// First words of commands that handle files or processes, whatever these are called.
const HANDLING: [&str; 20] = [
    "cd", "rm", "mkdir", "cp", "mv", "touch", "git", "echo", "kill", "sleep", "code", "open",
    "chmod", "ln", "curl", "cat", "ls", "grep", "rg", "find",
];
