//! What was done: commands that failed or passed, and the calls whose success counts.

use std::collections::{BTreeMap, BTreeSet};

use session_model::{AgentMessage, BashExecution, ToolCall, ToolResultMessage};

use super::causes::Before;
use super::changed::ChangedFiles;
use super::command::{Command, hides_its_end, is_check};
use super::commits;
use super::fact_index::{FactIndex, keep_newest};
use super::facts::Failure;
use super::failed::Failed;
use super::notes::Noted;
use super::removals::{Removal, complains, removals, removals_of_call};
use super::signals::{Known, Outcome, judge};
use super::subsumption::Subsumption;
use super::text::one_line;
use super::todos::TodoList;
use super::tool_effects::{ToolEffect, deed, show_command, ticked, whole_read};
use crate::file_call::tells_refusal;

/// How many commands that passed, or failed and stayed so, are remembered while scanning.
pub(super) const REMEMBERED: usize = 64;

/// How much of the end of an output is searched for that, in bytes.
const TAIL: usize = 16 * 1024;
/// How many things that were done are remembered.
const DONE: usize = 256;
/// The most of a line that says how a check ended, in characters.
const RESULT: usize = 100;

struct Call<'a> {
    deed: ToolEffect<'a>,
    failed: bool,
    /// True for a command that passed and does more than look.
    passed: bool,
    /// Which message called.
    place: usize,
    /// Which message gave the result.
    result: Option<usize>,
    /// Boxes that it ticks in a list of things to do.
    ticked: Vec<String>,
    /// What the command takes away, once it passed.
    removals: Vec<Removal>,
}

/// The calls of a span of messages, gathered one message at a time.
#[derive(Default)]
pub(super) struct CommandLog<'a> {
    calls: Vec<Call<'a>>,
    pending: BTreeMap<String, usize>,
    /// Checks that passed, each with what it printed about that and the message of the result.
    passed: Vec<(Command, Noted)>,
    pub(super) failures: Vec<Failed>,
    /// For a message, others without which its calls would be misread.
    dependencies: Vec<(usize, usize)>,
    /// Commits that were made.
    commits: Vec<Noted>,
    /// What was ticked in files.
    checked: Vec<Noted>,
    pub(super) requests: usize,
    /// Which message made calls whose results may still come.
    waiting: Option<usize>,
    /// True where failed calls are marked as such, so that an unmarked one did not fail.
    tells_errors: bool,
    /// The first result that is marked so.
    marks: Option<usize>,
}

impl<'a> CommandLog<'a> {
    /// Returns nothing yet of messages with these results.
    pub(super) fn of<'m>(mut messages: impl Iterator<Item = &'m AgentMessage>) -> Self {
        let is_error = |message: &AgentMessage| matches!(message, AgentMessage::ToolResult(result) if result.is_error);
        let marks = messages.position(is_error);
        Self {
            tells_errors: marks.is_some(),
            marks,
            ..Self::default()
        }
    }

    /// Returns the file that the newest call changes.
    pub(super) fn changes(&self, place: usize) -> Option<&str> {
        let calls = self.calls.iter().rev();
        let mut own = calls.take_while(|call| call.place == place);
        let call = own.find(|call| !call.failed)?;
        match &call.deed {
            ToolEffect::Files(works) => works.first().map(|work| work.path.as_str()),
            ToolEffect::Run { .. } | ToolEffect::Todos(_) | ToolEffect::Read(_) => None,
        }
    }

    /// Returns the command that failed last, where that was since the user asked for something.
    pub(super) fn failed_last(&self) -> Option<Before> {
        let failed = self.failures.last()?;
        let own = failed.requests == self.requests && failed.about.is_none();
        own.then(|| Before {
            command: failed.command.core().to_owned(),
            printed: failed.failure.lines.first().cloned().unwrap_or_default(),
            places: [failed.place(), failed.result],
        })
    }

    /// Notes a call; `broken` when its answer ended in an error or was stopped.
    pub(super) fn call(&mut self, call: &'a ToolCall, broken: bool, place: usize) {
        self.waiting = Some(place);
        let Some(deed) = deed(call).or_else(|| whole_read(call)) else {
            return;
        };
        let earlier = self.pending.insert(call.id.clone(), self.calls.len());
        // A call that is said again, its result still to come, counts once.
        if let Some(earlier) = earlier.and_then(|at| self.calls.get_mut(at))
            && earlier.place != place
        {
            earlier.failed = true;
            self.dependencies.push((earlier.place, place));
        }
        self.calls.push(Call {
            deed,
            failed: broken,
            passed: false,
            place,
            result: None,
            ticked: ticked(call),
            removals: removals_of_call(call),
        });
    }

    /// Notes that the user asked for something.
    pub(super) fn request(&mut self) {
        self.requests += 1;
        self.waiting = None;
    }

    /// Notes that a new answer starts: no result of earlier calls is to come.
    pub(super) fn start_answer(&mut self) {
        self.waiting = None;
    }

    /// Notes what a tool gave back.
    pub(super) fn result(&mut self, result: &ToolResultMessage, place: usize) {
        let Some(at) = self.pending.remove(&result.tool_call_id) else {
            return;
        };
        let call = &mut self.calls[at];
        call.failed = result.is_error;
        call.result = Some(place);
        let from = call.place;
        self.dependencies.push((from, place));
        match &call.deed {
            ToolEffect::Run { command, dir } => {
                let mut ran = Command::run_in(command, dir.as_deref());
                let command = command.clone();
                let text = result.content.joined_text("\n");
                ran.read_output(&text, &programs(&self.failures));
                let known = match () {
                    () if result.is_error => Known::Failed,
                    () if self.tells_errors && !hides_its_end(&command) => Known::NoError,
                    () => Known::Nothing,
                };
                let outcome = judge(&text, known);
                call.passed = outcome == Outcome::Passed && !ran.only_looks();
                if outcome != Outcome::Passed || complains(&text) {
                    call.removals.clear();
                }
                if outcome == Outcome::Passed && command.contains("git ") {
                    let made = commits::made(&command, &text).into_iter();
                    self.commits.extend(made.map(|text| Noted { place, text }));
                    self.dependencies.push((place, from));
                }
                if known == Known::Nothing && !hides_its_end(&command) {
                    self.may_settle(&ran, from);
                }
                self.ran(ran, &command, (&outcome, &text), (Some(from), place));
            }
            ToolEffect::Files(_) => {
                let said = result.content.texts().next();
                call.failed |= said.is_some_and(tells_refusal);
            }
            ToolEffect::Todos(_) | ToolEffect::Read(_) => {}
        }
    }

    /// Notes a command that the user ran.
    pub(super) fn user_ran(&mut self, run: &BashExecution, place: usize) {
        if run.cancelled || run.exclude_from_context {
            return;
        }
        let command = show_command(&run.command);
        let known = match run.exit_code {
            Some(0) if !hides_its_end(&command) => Known::Passed,
            Some(0) | None => Known::Nothing,
            Some(_) => Known::Failed,
        };
        let mut outcome = judge(&run.output, known);
        if let Outcome::Failed { exit, .. } = &mut outcome {
            *exit = run.exit_code.filter(|code| *code != 0).or(*exit);
        }
        if outcome == Outcome::Passed && !complains(&run.output) {
            self.calls.push(Call {
                deed: ToolEffect::Run {
                    command: command.clone(),
                    dir: None,
                },
                failed: false,
                passed: !Command::new(&command).only_looks(),
                place,
                result: Some(place),
                ticked: Vec::new(),
                removals: removals(&run.command),
            });
        }
        let mut ran = Command::new(&command);
        ran.read_output(&run.output, &programs(&self.failures));
        self.ran(ran, &command, (&outcome, &run.output), (None, place));
    }

    /// Notes that the command called in message `place` settles failures if it passed: no mark says that it failed, and
    /// that counts as soon as some other is marked.
    fn may_settle(&mut self, command: &Command, place: usize) {
        if command.only_looks() {
            return;
        }
        for failed in &self.failures {
            if command.covers(&failed.command) != Subsumption::Not {
                self.dependencies.push((failed.place(), place));
            }
        }
    }

    /// Notes how a command ended; `places` are the messages of the call and of its output.
    fn ran(
        &mut self,
        command: Command,
        text: &str,
        (outcome, output): (&Outcome, &str),
        (call, result): (Option<usize>, usize),
    ) {
        if command.only_looks() {
            return;
        }
        let dependencies = &mut self.dependencies;
        self.passed.retain(|(earlier, noted)| {
            let same = earlier.is_same(&command);
            if same {
                dependencies.push((noted.place, call.unwrap_or(result)));
            }
            !same
        });
        match outcome {
            Outcome::Denied => {}
            Outcome::Passed => {
                let place = call.unwrap_or(result);
                self.passed_over(place, &command, text);
                // What reads as a failure passed only as far as marks of others tell, which sources may lack.
                let told = result_line(output).map(|line| format!(": {line}"));
                // What is filtered tells nothing of how it ended but by such a line.
                let seen = told.is_some() || !hides_its_end(text);
                if seen && is_check(text) && judge(output, Known::Nothing) == Outcome::Passed {
                    let text = format!("`{text}` passed{}", told.unwrap_or_default());
                    self.dependencies.push((result, place));
                    let place = result;
                    self.passed.push((command, Noted { place, text }));
                }
            }
            Outcome::Failed { exit, lines } => {
                self.settle(call.unwrap_or(result), |failed| {
                    failed.command.is_same(&command)
                });
                if output.contains("test result:") {
                    // Tests that ran were built.
                    let place = call.unwrap_or(result);
                    self.settle(place, |failed| command.built(&failed.command));
                }
                let failure = Failure {
                    command: text.to_owned(),
                    exit: *exit,
                    lines: lines.clone(),
                    reported: None,
                };
                self.failures.push(Failed {
                    about: None,
                    requests: self.requests,
                    command,
                    failure,
                    call,
                    result,
                    newer: None,
                });
            }
        }
        keep_newest(&mut self.passed, REMEMBERED);
        keep_newest(&mut self.failures, REMEMBERED);
    }

    /// Forgets what a command that passed did as well, and notes it as a dependency of what it may have resolved.
    fn passed_over(&mut self, place: usize, command: &Command, text: &str) {
        let dependencies = &mut self.dependencies;
        self.failures
            .retain_mut(|failed| match command.covers(&failed.command) {
                Subsumption::Surely => {
                    dependencies.push((failed.place(), place));
                    false
                }
                Subsumption::Perhaps => {
                    failed.newer = Some((text.to_owned(), place));
                    true
                }
                Subsumption::Not => true,
            });
    }

    /// Forgets the failures that the call in message `place` settled.
    pub(super) fn settle(&mut self, place: usize, settled: impl Fn(&Failed) -> bool) {
        let dependencies = &mut self.dependencies;
        self.failures.retain(|failed| {
            let gone = settled(failed);
            if gone {
                dependencies.push((failed.place(), place));
            }
            !gone
        });
    }

    /// Writes what was gathered into `record`.
    pub(super) fn write(mut self, record: &mut FactIndex, cwd: &str) {
        let mut files = ChangedFiles::new(cwd);
        let mut todos = TodoList::default();
        for (order, call) in self.calls.into_iter().enumerate() {
            if call.failed {
                continue;
            }
            match call.deed {
                ToolEffect::Run { command, .. } => {
                    if call.result.is_some() {
                        for removal in &call.removals {
                            files.remove(removal, order, call.place);
                        }
                    }
                    if call.passed {
                        record.command_passed(call.place, &command);
                    }
                }
                ToolEffect::Todos(arguments) => todos.apply_at(&arguments.to_value(), call.place),
                ToolEffect::Read(path) => {
                    // Without a result its content is unknown.
                    if call.result.is_some() {
                        files.seen(&path, call.place);
                    }
                }
                ToolEffect::Files(works) => {
                    // Without a result nothing is known to have happened, unless it may still come.
                    if call.result.is_none() && self.waiting != Some(call.place) {
                        continue;
                    }
                    for work in works {
                        files.add(work, order, call.place);
                    }
                    let place = call.place;
                    let ticked = call.ticked.into_iter();
                    self.checked
                        .extend(ticked.map(|text| Noted { place, text }));
                }
            }
        }
        self.dependencies.append(&mut files.dependencies);
        record.marks = self.marks;
        record.files = files.finish();
        let changed = record.files.iter();
        let changed: Vec<(usize, String)> = changed
            .map(|file| (file.place, file.path.clone()))
            .collect();
        for (place, path) in changed {
            record.file_is_changed(place, &path);
        }
        let noted = |(text, place): (&str, usize)| Noted {
            place,
            text: text.to_owned(),
        };
        record.todos = todos.open_with_places().map(noted).collect();
        record.todo_calls = todos.calls().to_vec();
        let done = todos.done_with_places().map(noted).chain(self.checked);
        let commits = self.commits.into_iter().map(|noted| Noted {
            text: format!("commit {}", noted.text),
            ..noted
        });
        for done in done.chain(commits) {
            record.is_done(done);
        }
        record.done.sort_by_key(|noted| noted.place);
        keep_newest(&mut record.done, DONE);
        record.checks = self.passed.into_iter().map(|(_, noted)| noted).collect();
        for failed in &self.failures {
            let newer = failed.newer.as_ref();
            if let Some((_, place)) = newer {
                self.dependencies.push((failed.place(), *place));
            }
            let newer = newer.map(|(command, _)| command.as_str());
            record.failure(&failed.failure, newer, failed.call, failed.result);
        }
        for (place, other) in self.dependencies {
            record.link(place, other);
        }
    }
}

/// Returns the programs whose success would settle one of these.
fn programs(failures: &[Failed]) -> BTreeSet<&str> {
    let commands = failures.iter().map(|failed| &failed.command);
    commands.filter_map(Command::program).collect()
}

/// Returns how a run of tests says that it ended: the sum of what passed, or the last line that counts.
fn result_line(output: &str) -> Option<String> {
    let counted = |line: &str| -> Option<u64> {
        let (before, _) = line.split_once(" passed")?;
        before
            .rsplit(|c: char| !c.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    };
    let tail = output.ceil_char_boundary(output.len().saturating_sub(TAIL));
    let lines = output[tail..].lines().map(str::trim);
    let counted = lines.filter_map(|line| Some((line, counted(line)?)));
    let counted: Vec<(&str, u64)> = counted.collect();
    let (last, _) = counted.last()?;
    match last.starts_with("test result:") {
        true => {
            let all = counted.iter().map(|(_, count)| *count);
            let all = all.fold(0_u64, u64::saturating_add);
            Some(format!("{all} tests passed"))
        }
        false => Some(one_line(last.trim_matches(['=', ' ']), RESULT)),
    }
}
