//! Failures that stand until something settles them.

use std::collections::BTreeSet;

use super::acts::Act;
use super::command::Command;
use super::command_log::{CommandLog, REMEMBERED};
use super::fact_index::{FactIndex, keep_newest};
use super::facts::Failure;
use super::figures::subjects;
use super::names::{Names, looked_up};
use super::notes::FailureNote;
use super::objects::{Objects, Tells};
use super::reported_failures::{self, Teller};
use super::steps::reports;
use super::text::{Sentence, bounded, neutralise, one_line};
use super::tool_effects::show_command;

/// The longest sentence that reports a failure, in characters, and how many of one message count.
const SENTENCE: usize = 300;
const TOLD: usize = 8;
/// How many sentences of a message are held against the failures.
const SAID: usize = 40;

/// Where there is little room, in characters: the most of a command's output, the most of what is told of a failure,
/// how long command and output are together where the command can be shortened for it, and what always stays of it.
const BRIEF_LINES: usize = 160;
const BRIEF_TOLD: usize = 200;
const BRIEF: usize = 140;
const BRIEF_COMMAND: usize = 32;
/// How many further lines of an output tell of a failure.
const FURTHER: usize = 2;

/// A command that failed, or a reported failure.
pub(super) struct Failed {
    /// How many requests there had been.
    pub(super) requests: usize,
    pub(super) command: Command,
    pub(super) failure: Failure,
    /// What the report is about, for a reported failure.
    pub(super) about: Option<About>,
    /// The messages of its call and of its result.
    pub(super) call: Option<usize>,
    pub(super) result: usize,
    /// What passed since and may have done the same, and which message ran it.
    pub(super) newer: Option<(String, usize)>,
}

/// What a sentence is about.
pub(super) struct About {
    words: BTreeSet<String>,
    names: Names,
    objects: Objects,
}

impl About {
    /// Returns what a sentence is about.
    pub(super) fn of(sentence: &str) -> Self {
        Self {
            words: subjects(sentence),
            names: Names::of(sentence),
            objects: Objects::of(sentence),
        }
    }
}

impl Failed {
    /// Returns the message that it is read from first.
    pub(super) fn place(&self) -> usize {
        self.call.unwrap_or(self.result)
    }

    /// Returns whether it was reported and the message that something is fixed refers to it; `answers` when that is the
    /// answer to the report.
    pub(super) fn is_resolved(&self, resolved: &About, answers: bool) -> bool {
        let Some(known) = &self.about else {
            return false;
        };
        if known.names.differ(&resolved.names) {
            return false;
        }
        let shared = known.words.intersection(&resolved.words).count();
        answers
            || known.names.meet(&resolved.names)
            || known.objects.touches_briefly(&resolved.objects)
            || (shared > 0 && shared * 2 >= known.words.len().min(resolved.words.len()))
    }
}

impl CommandLog<'_> {
    /// Forgets reported failures that are told to be otherwise in words of their own, and failures of commands whose
    /// output names what is said to work again.
    fn settle_reported(&mut self, said: &[Sentence], place: usize) {
        for sentence in said.iter().take(SAID) {
            if self.failures.is_empty() {
                return;
            }
            let text = sentence.text.as_str();
            let Some(tells) = reports(sentence) else {
                continue;
            };
            let tells = match tells {
                Tells::Done => Tells::Done,
                Tells::Deed | Tells::State => Tells::Deed,
            };
            let about = Objects::of(text);
            let says_fixed = reported_failures::says_fixed(sentence);
            let named: Vec<&str> = looked_up(text).filter(|name| name.len() > 4).collect();
            self.settle(place, |failed| match &failed.about {
                Some(known) => known.objects.is_settled_by(&about, tells),
                None => {
                    let mut lines = failed.failure.lines.iter();
                    says_fixed && lines.any(|line| named.iter().any(|name| line.contains(name)))
                }
            });
        }
    }

    /// Returns the request whose reported failures a message settles. An answer settles those of its own request if it says that
    /// something is done or fixed. The user settles those of the request before by saying first that it works now. A message
    /// that reports a failure settles none.
    fn settled_request(&self, said: &[Sentence], teller: Teller) -> Option<usize> {
        if said.iter().any(|sentence| sentence.acts.has(Act::Failure)) {
            return None;
        }
        let tells =
            |sentence: &Sentence| sentence.acts.has(Act::Done) || sentence.acts.may(Act::Fixed);
        match teller {
            Teller::Answer => said.iter().any(tells).then_some(self.requests),
            Teller::User => {
                let works = said.first()?.acts.may(Act::Fixed);
                works.then(|| self.requests.checked_sub(1))?
            }
            Teller::Passing => None,
        }
    }

    /// Notes failures that a message reports, and forgets those that it reports as fixed.
    pub(super) fn note_reported(&mut self, said: &[Sentence], place: usize, teller: Teller) {
        let resolved = said
            .iter()
            .filter(|sentence| reported_failures::says_fixed(sentence));
        for (order, sentence) in resolved.take(TOLD).enumerate() {
            let about = About::of(&sentence.text);
            let requests = self.requests;
            self.settle(place, |failed| {
                // An answer to the report needs to name nothing.
                let answers = teller == Teller::Answer && order == 0 && failed.requests == requests;
                failed.is_resolved(&about, answers)
            });
        }
        self.settle_reported(said, place);
        if let Some(requests) = self.settled_request(said, teller) {
            self.settle(place, |failed| {
                failed.about.is_some() && failed.requests == requests
            });
        }
        for report in reported_failures::reports(said, teller).take(TOLD) {
            let command = Command::new(&show_command(report.command));
            let known = |failed: &Failed| {
                (!report.command.is_empty() && failed.command.is_same(&command))
                    || failed.failure.reported.as_deref() == Some(report.text)
            };
            if self.failures.iter().any(known) {
                continue;
            }
            let text = match report.text.chars().count() > SENTENCE {
                true => one_line(report.text, SENTENCE),
                false => neutralise(report.text),
            };
            let failure = Failure {
                command: command.core().to_owned(),
                reported: Some(text.clone()),
                ..Failure::default()
            };
            self.failures.push(Failed {
                about: Some(About::of(&text)),
                requests: self.requests,
                command,
                failure,
                call: None,
                result: place,
                newer: None,
            });
        }
        keep_newest(&mut self.failures, REMEMBERED);
    }
}

impl FactIndex {
    /// Notes a command that failed; `newer` passed since and may have done the same.
    pub(super) fn failure(
        &mut self,
        failure: &Failure,
        newer: Option<&str>,
        call: Option<usize>,
        place: usize,
    ) {
        let exit = failure.exit.map(|code| format!(" (exit code {code})"));
        let mut text = match &failure.reported {
            Some(told) => told.clone(),
            None => format!("`{}`{}", failure.command, exit.unwrap_or_default()),
        };
        if let Some(line) = failure.lines.first() {
            text.push_str(": ");
            text.push_str(line.trim());
        }
        // The line that says why comes first.
        let printed = failure.lines.first().map_or("failed", |line| line.trim());
        let mut brief = match &failure.reported {
            Some(told) => bounded(told, BRIEF_TOLD),
            None => {
                let printed = bounded(printed, BRIEF_LINES);
                let room = BRIEF.saturating_sub(printed.chars().count());
                let command = brief_command(&failure.command, room.max(BRIEF_COMMAND));
                format!("`{command}`: {printed}")
            }
        };
        let further = failure.lines.iter().skip(1).take(FURTHER);
        let further = further.map(|line| format!(" | {}", line.trim()));
        if let Some(newer) = newer {
            text.push_str(&format!(" (since then `{newer}` passed)"));
            let newer = brief_command(newer, BRIEF_COMMAND);
            brief.push_str(&format!(" (since then `{newer}` passed)"));
        }
        self.failures.push(FailureNote {
            text,
            brief,
            further: further.collect(),
            call,
            place,
        });
    }
}

/// Returns a command of at most so many characters: its first words and its last one, which says what it is about.
fn brief_command(command: &str, most: usize) -> String {
    let length = |text: &str| text.chars().count();
    if length(command) <= most {
        return command.to_owned();
    }
    let last = command.rsplit(' ').next().unwrap_or_default();
    let room = most.saturating_sub(length(last) + 3);
    let words: Vec<&str> = command.split(' ').collect();
    let mut first = String::new();
    for word in words {
        if length(&first) + 1 + length(word) > room {
            break;
        }
        if !first.is_empty() {
            first.push(' ');
        }
        first.push_str(word);
    }
    match first.is_empty() {
        true => one_line(command, most),
        false => format!("{first} … {last}"),
    }
}
