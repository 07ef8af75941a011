//! The log of an extractive summary: what the user said, in its order, and under it what came of it.
//!
//! Answers are told from their beginning, where they say what they came to. As much of each message and answer is quoted as
//! lets all of them in; a shorter quote keeps the choices and figures in it.

use std::collections::BTreeMap;

use session_model::EntryId;

use crate::ledger::{LedgerItem, LedgerKind};
use session_facts::{one_line, own_words, without_rules};
use session_model::tokens::{TokenCount, TokenCounter};

use super::prose::shown;

/// How long a message or an answer may be, in characters: the first of these with which all of the kind have room.
const LONGEST: [usize; 11] = [1200, 640, 480, 400, 320, 260, 210, 170, 140, 120, 105];
/// The part of the room, in percent, that messages and answers may take together so that all are told.
const TALK: u64 = 80;
/// Where that is too little, the parts that messages take, and of what they leave, answers and the others.
const MESSAGES: u64 = 60;
const ANSWERS: u64 = 62;
const ALL: u64 = 100;
/// How long the line of a commit may be, and that of a cause.
const COMMIT: usize = 110;
const CAUSE: usize = 200;
/// How many levels later what has no room in its share comes.
const WAITING: usize = 7;
/// The least of its beginning that is quoted, in characters.
const BEGINNING: usize = 24;

/// What was said and what came of it.
#[derive(Default)]
pub(super) struct Log {
    /// Of each kind the newest first.
    lines: Vec<Line>,
    /// The places of messages and answers among them, by entry.
    talk: BTreeMap<String, usize>,
    /// The rules that stand in the ledger, by the messages that state them.
    rules: BTreeMap<EntryId, Vec<String>>,
}

/// A line that is yet to be cut.
struct Line {
    kind: LedgerKind,
    /// The place of its entry.
    at: usize,
    id: String,
    text: String,
    remark: String,
    /// Choices and figures in it, which a shorter form keeps.
    keep: Vec<String>,
}

/// A line as it is written.
pub(super) struct Written {
    /// The place of its entry.
    pub at: usize,
    /// What comes first where room is scarce: messages, answers, commits, causes, what has no room in its share.
    pub level: usize,
    /// How many of its kind come before it in that.
    pub newest: usize,
    pub text: String,
    /// What it says, without its mark and its entry.
    pub says: Option<String>,
}

impl Log {
    /// Returns none; messages are quoted without the rules that stand in the ledger.
    pub(super) fn next_to(ledger: &[LedgerItem]) -> Self {
        let mut log = Self::default();
        for item in ledger.iter().filter(|item| item.kind == LedgerKind::Rule) {
            let rules = log.rules.entry(item.entry_id.clone()).or_default();
            rules.push(item.text.clone());
        }
        log
    }

    /// Adds a line; of each kind the newest comes first.
    pub(super) fn add(&mut self, item: &LedgerItem, remark: &str, at: usize) {
        let id = shown(&item.entry_id);
        let text = match item.kind {
            LedgerKind::Message => {
                let rules = self.rules.get(&item.entry_id);
                without_rules(&own_words(&item.text), rules.map_or(&[], Vec::as_slice))
            }
            _ => item.text.replace("**", ""),
        };
        let last = self.lines.last_mut();
        match last.filter(|last| last.kind == LedgerKind::Done && last.kind == item.kind) {
            // What was ticked off together.
            Some(last) if last.id == id && !is_commit(&text) && !is_commit(&last.text) => {
                last.text.insert_str(0, &format!("{text}; "));
            }
            _ if text.is_empty() => {}
            _ => {
                let line = Line {
                    kind: item.kind,
                    at,
                    id,
                    text,
                    remark: remark.to_owned(),
                    keep: Vec::new(),
                };
                if line.is_talk() {
                    self.talk.insert(line.id.clone(), self.lines.len());
                }
                self.lines.push(line);
            }
        }
    }

    /// Returns whether the message or answer `id` states this choice or figure, which its quote keeps from now on.
    pub(super) fn keeps(&mut self, id: &str, says: &str) -> bool {
        let line = self.talk.get(id).and_then(|at| self.lines.get_mut(*at));
        let Some(line) = line.filter(|line| line.text.contains(says)) else {
            return false;
        };
        if !line.keep.iter().any(|kept| kept.contains(says)) {
            line.keep.push(says.to_owned());
        }
        true
    }

    /// Returns the lines as they are written in `room`, where what else wants to be told takes `others`. Where not even
    /// the beginnings of messages and answers have room, the oldest wait.
    pub(super) fn written(
        self,
        room: TokenCount,
        others: TokenCount,
        counter: &dyn TokenCounter,
    ) -> Vec<Written> {
        let of = |kinds: &[LedgerKind], holds: &dyn Fn(&str) -> bool| -> Vec<&Line> {
            let lines = self.lines.iter();
            let lines = lines.filter(|line| kinds.contains(&line.kind) && holds(&line.text));
            let mut lines: Vec<&Line> = lines.collect();
            // What states something that matters comes before what does not.
            lines.sort_by_key(|line| line.keep.is_empty());
            lines
        };
        let cost = |line: &Line, longest| counter.text(&line.written(longest));
        let (talk, deeds): (Vec<&Line>, Vec<&Line>) =
            self.lines.iter().partition(|line| line.is_talk());
        let deeds: TokenCount = deeds.into_iter().map(|line| cost(line, CAUSE)).sum();
        let most = room.saturating_sub(deeds + others);
        let most = most.max(room.scaled(TALK, 100));
        // What the user said comes first, up to its share.
        let (messages, answers): (Vec<&Line>, Vec<&Line>) = talk
            .into_iter()
            .partition(|line| line.kind == LedgerKind::Message);
        let all = |lines: &[&Line], longest| -> TokenCount {
            lines.iter().map(|line| cost(line, longest)).sum()
        };
        let fitting = |lines: &[&Line], room| {
            let fits = LONGEST
                .into_iter()
                .find(|longest| all(lines, *longest) <= room);
            (fits.is_some(), fits.unwrap_or(LONGEST[LONGEST.len() - 1]))
        };
        let share = most.scaled(MESSAGES, 100);
        let (all_messages, message) = fitting(
            &messages,
            share.max(most.saturating_sub(all(&answers, LONGEST[0]))),
        );
        let (all_answers, answer) = fitting(&answers, most.saturating_sub(all(&messages, message)));
        let is_other = |text: &str| !is_commit(text);
        let is_finding = |text: &str| !is_of_failure(text);
        let told = [LedgerKind::Answer, LedgerKind::TurnedDown];
        let (causes, done) = ([LedgerKind::Cause], [LedgerKind::Done]);
        let levels = [
            (1, of(&[LedgerKind::Message], &|_| true), MESSAGES, message),
            (2, of(&told, &|_| true), ANSWERS, answer),
            (3, of(&causes, &is_of_failure), ALL, CAUSE),
            (3, of(&done, &is_commit), ALL, COMMIT),
            (5, of(&causes, &is_finding), ALL, CAUSE),
            (6, of(&done, &is_other), ALL, CAUSE),
        ];
        let mut left = room;
        let mut written = Vec::new();
        for (level, lines, part, longest) in levels {
            let mut free = match all_messages && all_answers {
                true => left,
                false => left.scaled(part, 100),
            };
            for (newest, line) in lines.into_iter().enumerate() {
                let text = line.written(longest);
                let cost = counter.text(&text);
                // What has no room in the share waits until all others have theirs.
                let waits = cost > free;
                if !waits {
                    free = free.saturating_sub(cost);
                    left = left.saturating_sub(cost);
                }
                let says = one_line(&line.text, longest);
                let says = says.trim_end_matches(['…', '.']).to_owned();
                written.push(Written {
                    at: line.at,
                    level: if waits { level + WAITING } else { level },
                    newest,
                    text,
                    says: (line.kind != LedgerKind::Message).then_some(says),
                });
            }
        }
        written
    }
}

impl Line {
    /// Returns whether it is a message of the user or an answer.
    const fn is_talk(&self) -> bool {
        matches!(
            self.kind,
            LedgerKind::Message | LedgerKind::Answer | LedgerKind::TurnedDown
        )
    }

    /// Returns it as it is written, with at most so many characters of its text.
    fn written(&self, longest: usize) -> String {
        let (words, id, remark) = (self.excerpt(longest), &self.id, &self.remark);
        match self.kind {
            // Where all of it is there, nothing is to be looked up.
            LedgerKind::Message if !words.contains('…') => format!("> {words}{remark}\n"),
            LedgerKind::Message => format!("> {words}{remark} ({id})\n"),
            LedgerKind::TurnedDown => format!("- Turned down by the user: {words} ({id})\n"),
            LedgerKind::Done if !is_commit(&words) => format!("- [x] {words} ({id})\n"),
            _ => format!("- {words} ({id})\n"),
        }
    }

    /// Returns its text in at most so many characters, or a little more: how it begins, and what it has to keep.
    fn excerpt(&self, longest: usize) -> String {
        let kept = self.keep.iter();
        let kept = kept.filter_map(|kept| Some((self.text.find(kept.as_str())?, kept)));
        let mut kept: Vec<(usize, &String)> = kept.collect();
        kept.sort();
        let Some((first, _)) = kept.first() else {
            return one_line(&self.text, longest);
        };
        let length = |text: &str| text.chars().count();
        if length(&self.text) <= longest {
            return one_line(&self.text, longest);
        }
        let all: usize = kept.iter().map(|(_, kept)| length(kept) + 2).sum();
        let mut left = longest.max(all.min(longest * 2));
        let mut out = String::new();
        let mut end = 0;
        let before = one_line(&self.text[..*first], left.saturating_sub(all));
        if length(&before) > BEGINNING {
            left = left.saturating_sub(length(&before));
            end = before.trim_end_matches('…').len();
            out.push_str(&before[..end]);
        }
        for (at, kept) in kept {
            if !out.is_empty() && at > end + 1 {
                out.push_str(" …");
            }
            let kept = one_line(kept, left.max(BEGINNING));
            left = left.saturating_sub(length(&kept) + 2);
            out.push_str(&" "[..usize::from(!out.is_empty())]);
            out.push_str(&kept);
            end = at + kept.len();
            if left == 0 {
                break;
            }
        }
        if end + 1 < self.text.len() && !out.ends_with('…') {
            out.push_str(" …");
        }
        out
    }
}

/// Returns whether a cause is that of a failed command.
fn is_of_failure(text: &str) -> bool {
    text.starts_with('`') && text.contains("` failed (")
}

fn is_commit(text: &str) -> bool {
    text.starts_with("commit ")
}
