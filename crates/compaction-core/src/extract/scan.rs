//! One pass over the messages: from what was said and done to facts.

use std::collections::BTreeSet;

use session_model::{AgentMessage, AssistantMessage, Block, Content, StopReason};

use crate::ledger_block::without_ledger;
use crate::source::HANDOFF_MESSAGE;
use crate::source::SourceMessage;

use super::choices;
use super::command_log::CommandLog;
use super::fact_index::{FactIndex, REPORTED};
use super::facts::{Facts, Item, Request};
use super::figures::{figures, subjects};
use super::focus::FocusSearch;
use super::ledger_dedup::TURNED_DOWN;
use super::merge::{is_tiny, merge_figures};
use super::refusals;
use super::reported_failures::Teller;
use super::rules::{RuleBook, shown_rule};
use super::speech;
use super::text::{Sentence, ends_of, neutralise, one_line, sentences};
use super::tool_effects::deed;

/// Below this many characters a request is shown with what it answers.
const SHORT: usize = 60;

/// What the messages say.
#[derive(Default)]
pub(crate) struct Scanned {
    /// The facts.
    pub(super) facts: Facts,
    /// The newest compaction summary among the messages.
    pub(super) carried: Option<String>,
    /// Summaries of branches among the messages, with their entries.
    pub(super) branches: Vec<Item>,
}

/// Reads the messages once, oldest first, for what the ledger keeps; paths are seen from the folder `cwd`.
pub(crate) fn record(messages: &[SourceMessage], cwd: &str) -> FactIndex {
    let mut scan = Scan::new(None, Some(FactIndex::default()));
    scan.read(messages);
    let mut record = scan.record.unwrap_or_default();
    let commands = scan.commands;
    commands.write(&mut Facts::default(), Some(&mut record), cwd);
    record
}

/// Reads the messages once, oldest first.
pub(super) fn scan(messages: &[SourceMessage], focus: Option<&str>) -> Scanned {
    let mut scan = Scan::new(focus.map(FocusSearch::new), None);
    scan.read(messages);
    scan.finish()
}

struct Scan<'a> {
    book: RuleBook,
    focus: Option<FocusSearch>,
    commands: CommandLog<'a>,
    /// The requests, each with what a short one answers.
    requests: Vec<(Request, Option<Item>)>,
    /// Which message is read.
    place: usize,
    /// What the assistant said since the last request was made or answered.
    spoken: Vec<Item>,
    unanswered: bool,
    /// What each answer came to.
    outcomes: Vec<Item>,
    /// True where something was changed or run since the last request: an answer without that only talks.
    worked: bool,
    scanned: Scanned,
    /// What the ledger keeps, where it is asked for instead of the facts of a summary.
    record: Option<FactIndex>,
}

impl<'a> Scan<'a> {
    fn new(focus: Option<FocusSearch>, record: Option<FactIndex>) -> Self {
        Self {
            book: RuleBook::new(),
            focus,
            commands: CommandLog::default(),
            requests: Vec::new(),
            place: 0,
            spoken: Vec::new(),
            unanswered: true,
            outcomes: Vec::new(),
            worked: false,
            scanned: Scanned::default(),
            record,
        }
    }

    fn read(&mut self, messages: &'a [SourceMessage]) {
        self.commands = CommandLog::of(messages.iter().map(|source| &*source.message));
        for (place, source) in messages.iter().enumerate() {
            self.place = place;
            let id = one_line(&source.entry_id, 200);
            match &*source.message {
                AgentMessage::User(message) => self.user(&message.content, id),
                AgentMessage::Assistant(message) => self.assistant(message, id),
                AgentMessage::ToolResult(message) => self.commands.result(message, &id, place),
                AgentMessage::BashExecution(run) => self.commands.user_ran(run, &id, place),
                AgentMessage::CompactionSummary(message) => {
                    self.scanned.carried = Some(message.summary.clone());
                }
                AgentMessage::BranchSummary(message) => {
                    let text = without_ledger(&message.summary);
                    self.scanned.branches.push(Item { text, id });
                }
                // The document of a handoff is the summary that its session begins with.
                AgentMessage::Custom(message) if message.custom_type == HANDOFF_MESSAGE => {
                    let text = message.content.joined_text("\n");
                    self.scanned.carried = Some(without_ledger(&text));
                }
                // Harness, extensions and unknown roles do not speak for the user.
                AgentMessage::System(_)
                | AgentMessage::Developer(_)
                | AgentMessage::Custom(_)
                | AgentMessage::Other { .. } => {}
            }
        }
    }

    fn user(&mut self, content: &Content, id: String) {
        let facts = &mut self.scanned.facts;
        let mut text = content.joined_text("\n");
        if text.trim().is_empty()
            && content
                .blocks()
                .iter()
                .any(|block| matches!(block, Block::Image(_)))
        {
            "[image]".clone_into(&mut text);
        }
        facts.active = true;
        let said = sentences(&ends_of(&text));
        if refusals::refuses(&text) {
            self.outcomes.pop();
        }
        self.worked = false;
        forget_rejected(&mut self.outcomes, &said);
        let facts = &mut self.scanned.facts;
        let stated = self.book.stated(&said);
        if let Some(record) = &mut self.record {
            let whole = text.trim_start_matches(['\n', '\r']).trim_end();
            let tiny = is_tiny(&neutralise(whole));
            record.user(self.place, whole, tiny, &said, &stated);
            self.commands.request();
            self.commands.note_reported(&said, self.place, Teller::User);
            return;
        }
        let rules = stated.iter().map(|text| shown_rule(text, &id));
        let rules: Vec<_> = rules.collect();
        let texts: BTreeSet<&String> = rules.iter().collect();
        let is_rule = |item: &Item| {
            let mut rules = rules.iter();
            texts.contains(&item.text)
                || rules.any(|rule| rule.contains(&item.text) || item.text.contains(rule))
        };
        let figures = figures(&said, &id)
            .into_iter()
            .filter(|item| !is_rule(item));
        let figures: Vec<_> = figures.collect();
        let rules: Vec<_> = rules
            .into_iter()
            .map(|text| Item {
                text,
                id: id.clone(),
            })
            .collect();
        merge_figures(facts, &rules, figures);
        facts.rules.extend(rules);
        if let Some(focus) = &mut self.focus {
            focus.look(&said, &id);
        }
        self.commands.request();
        let short = text.chars().count() < SHORT;
        let asked = self.spoken.last().filter(|_| short);
        let asked = asked.and_then(|said| {
            let asked = speech::last_word(&said.text)?;
            let text = match refusals::refuses(&text) {
                true => format!("{TURNED_DOWN}{asked}"),
                false => asked,
            };
            Some(Item {
                text,
                id: said.id.clone(),
            })
        });
        self.spoken.clear();
        self.unanswered = true;
        let whole = text.trim_start_matches(['\n', '\r']).trim_end();
        let text = neutralise(whole);
        self.requests.push((Request { text, id }, asked));
    }

    fn assistant(&mut self, message: &'a AssistantMessage, id: String) {
        let broken = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        let text = message.content.joined_text("\n");
        let mut calls = message.content.tool_calls().peekable();
        let answers = calls.peek().is_none() && !text.trim().is_empty() && !broken;
        let facts = &mut self.scanned.facts;
        facts.active = true;
        self.commands.start_answer();
        for call in calls {
            self.worked |= deed(call).is_some();
            self.commands
                .call(call, broken, self.place, self.record.is_some());
        }
        if text.trim().is_empty() {
            self.unanswered = true;
            return;
        }
        let said = sentences(&ends_of(&text));
        if let Some(record) = &mut self.record {
            record.assistant(self.place, &text, &said, answers);
            let teller = match answers {
                true => Teller::Answer,
                false => Teller::Passing,
            };
            self.commands.note_reported(&said, self.place, teller);
            return;
        }
        forget_rejected(&mut self.outcomes, &said);
        facts.decisions.extend(choices::decisions(&said, &id));
        if let Some(focus) = &mut self.focus {
            focus.look(&said, &id);
        }
        self.unanswered = !answers;
        if answers {
            let told = speech::outcome(&said).filter(|_| self.worked);
            self.outcomes.push(Item {
                text: told.unwrap_or_default(),
                id: id.clone(),
            });
            self.spoken.clear();
            facts.answer = Some(Item {
                text: text.clone(),
                id: id.clone(),
            });
        }
        self.spoken.push(Item { text, id });
    }

    fn finish(self) -> Scanned {
        let mut scanned = self.scanned;
        let facts = &mut scanned.facts;
        let told = self.outcomes.iter().filter(|item| !item.text.is_empty());
        facts.done.extend(told.map(Item::line));
        keep_newest_of_each(&mut facts.rules);
        place_requests(facts, self.requests);
        if facts.active {
            let plan = |said: &Item| {
                let text = speech::plan(&said.text)?;
                Some(Item {
                    text,
                    id: said.id.clone(),
                })
            };
            if self.unanswered {
                facts.plan = self.spoken.iter().rev().find_map(plan);
                let text = self.commands.last_steps();
                let id = self
                    .spoken
                    .last()
                    .map(|said| said.id.clone())
                    .unwrap_or_default();
                facts.last_steps = (!text.is_empty()).then(|| Item {
                    text: one_line(&text, 300),
                    id,
                });
            }
            facts.next = self
                .spoken
                .last()
                .map(|said| speech::next_steps(&said.text))
                .unwrap_or_default()
                .into_iter()
                .map(|step| step.text)
                .collect();
        }
        if let Some(answer) = facts.answer.take() {
            let figures = figures(&sentences(&ends_of(&answer.text)), &answer.id)
                .into_iter()
                .take(4)
                .collect::<Vec<_>>();
            merge_figures(facts, &[], figures);
            let text = speech::first_paragraph(&answer.text, 400);
            facts.answer = Some(Item { text, ..answer });
        }
        self.commands.write(facts, None, "");
        let focus = self.focus.map(FocusSearch::finish);
        facts.focus = focus.filter(|focus| !focus.lines.is_empty());
        scanned
    }
}

/// Drops what answers came to where later words reject it.
fn forget_rejected(outcomes: &mut Vec<Item>, said: &[Sentence]) {
    let against = said.iter().take(REPORTED);
    let mut against: Vec<BTreeSet<String>> = against
        .flat_map(|sentence| refusals::turned_down(&sentence.text))
        .collect();
    let rejected = choices::choices(said).into_iter();
    let rejected = rejected.filter(|choice| choice.rejects);
    against.extend(rejected.map(|choice| subjects(&choice.choice)));
    against.truncate(REPORTED);
    if !against.is_empty() {
        outcomes.retain(|item| !refusals::is_meant(&against, &subjects(&item.text)));
    }
}

/// Drops rules that are said again later: from then on they hold again.
fn keep_newest_of_each(rules: &mut Vec<Item>) {
    let mut known = BTreeSet::new();
    let mut newest: Vec<Item> = std::mem::take(rules).into_iter().rev().collect();
    newest.retain(|rule| known.insert(rule.text.clone()));
    newest.reverse();
    *rules = newest;
}

/// Puts the requests in their places: the first and the last that say something, and those in between.
fn place_requests(facts: &mut Facts, requests: Vec<(Request, Option<Item>)>) {
    let first = requests.first().cloned();
    let mut telling = requests
        .into_iter()
        .filter(|(request, _)| !request.is_tiny());
    if let Some((request, asked)) = telling.next().or(first) {
        facts.first = Some(request);
        facts.latest_answers = asked;
    }
    for (request, asked) in telling {
        facts
            .between
            .extend(facts.latest.take().map(|request| request.listed()));
        facts.latest = Some(request);
        facts.latest_answers = asked;
    }
}
