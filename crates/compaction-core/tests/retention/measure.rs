//! How many planted needles a compaction keeps. Shared by the tests of this folder and `cargo xtask bench retention`.

use std::collections::BTreeSet;

use compaction_core::{
    AnswerEnd, Disposition, PlanOptions, Profile, RequestKind, Strategy, Summarizer, SummaryAnswer,
    SummaryRequest, TokenCount, TokenCounter, Trigger, plan_compaction, with_whole_paths,
    without_file_tags,
};
use session_model::{
    AgentMessage, ContextRules, EntryId, SessionContext, Stamp, Timestamp, build_context,
    decode_bytes,
};
use test_support::needles::{
    Form, Needle, NeedleKind, Phrasings, Planted, Seen, Verdict, canned_summary, judge, plant,
    transcript,
};

/// A strategy that writes a summary, and who writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryMethod {
    /// `context-full`, with the canned answer of a model.
    ContextFull,
    /// `extractive`.
    Extractive,
    /// `restore`, with the canned answer of a model and nothing on the disk.
    Restore,
}

impl SummaryMethod {
    /// Returns the strategy.
    pub const fn strategy(self) -> Strategy {
        match self {
            Self::ContextFull => Strategy::ContextFull,
            Self::Extractive => Strategy::Extractive,
            Self::Restore => Strategy::Restore,
        }
    }
}

/// Whether facts stand beside the prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Facts {
    /// The ledger gets its share of the budget.
    Ledger,
    /// The prose gets all of it.
    ProseAlone,
}

/// How much a summary may take in all: prose, ledger, pins and lists of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// So many hundredths of what leaves the context.
    Percent(u64),
    /// So many tokens for the ledger, as many for the prose, a quarter of it for pins, and the lists of files besides.
    Ledger(u64),
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// The strategy.
    pub way: SummaryMethod,
    /// With the ledger or without.
    pub facts: Facts,
    /// The budget.
    pub budget: Budget,
}

/// Of how many needles the canned answer has one.
pub const CANNED_HAS_ONE_OF: usize = 3;

/// The part of the budget that pins may take.
const PINS: (u64, u64) = (1, 8);

/// The part of what then is left, the lists of files aside, that the ledger may take.
const LEDGER: (u64, u64) = (3, 5);

/// Returns the least share of a kind that a compaction with a ledger should have as it should be, in percent; `None`
/// where there is no goal.
pub const fn goal_percent(kind: NeedleKind) -> Option<usize> {
    match kind {
        NeedleKind::Rule | NeedleKind::Pin | NeedleKind::ModifiedFile => Some(100),
        NeedleKind::OpenError | NeedleKind::NextStep => Some(99),
        NeedleKind::Decision | NeedleKind::Number => Some(95),
        NeedleKind::ReadFile | NeedleKind::OpenTodo => None,
        NeedleKind::Superseded
        | NeedleKind::ResolvedError
        | NeedleKind::FailedCall
        | NeedleKind::Rejected
        | NeedleKind::FinishedTodo
        | NeedleKind::FinishedStep
        | NeedleKind::Distractor => Some(100),
    }
}

/// A needle and what became of it.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The needle.
    pub needle: Needle,
    /// Whether its entry left the context; else it is still there word for word.
    pub left: bool,
    /// What became of it.
    pub verdict: Verdict,
}

/// What a compaction came to.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Tokens that left the context.
    pub removed: u64,
    /// Tokens that the summary was allowed.
    pub budget: u64,
    /// Tokens that it has.
    pub summary: u64,
    /// The needles.
    pub judged: Vec<Judged>,
    /// The session with the compaction at its end.
    pub after: String,
    /// What can be read after it.
    pub seen: Seen,
}

impl Measured {
    /// Returns how many needles of a kind are as they should be, and how many there are. Those whose entries never
    /// left the context do not count.
    pub fn count(&self, kind: NeedleKind) -> (usize, usize) {
        let own = self
            .judged
            .iter()
            .filter(|judged| judged.left && judged.needle.kind == kind);
        own.fold((0, 0), |(good, all), judged| {
            (good + usize::from(judged.verdict.is_good()), all + 1)
        })
    }
}

/// Returns a generated session of about so many bytes with needles in it, as many as an ideal ledger would hold in a
/// hundredth of it.
pub fn generated(phrasings: Phrasings, seed: u64, bytes: usize) -> Planted {
    planted(&transcript(seed, bytes), phrasings, seed)
}

/// Returns a session with as many needles.
pub fn planted(lines: &[String], phrasings: Phrasings, seed: u64) -> Planted {
    let bytes: usize = lines.iter().map(String::len).sum();
    plant(lines, phrasings, seed, needles_each(bytes))
}

/// Returns how many needles of each kind a session of so many bytes gets.
pub fn needles_each(bytes: usize) -> usize {
    (bytes / 100_000).max(2)
}

/// Compacts the session `text` once and looks what became of the needles.
pub fn compact(text: &str, needles: &[Needle], case: Case, seed: u64) -> Result<Measured, String> {
    let session = decode_bytes(text.to_owned().into_bytes());
    let path = session.tree.path(session.tree.leaf());
    let counter = Profile::Own.counter();
    let trigger = Trigger::Manual { focus: None };
    let planned = |options: &PlanOptions| {
        plan_compaction(&path, &trigger, options).map_err(|error| error.to_string())
    };

    let mut options = PlanOptions::for_window(TokenCount(1_000_000));
    let context = build_context(&path, ContextRules::Own);
    let messages = context.messages();
    let size: TokenCount = messages.map(|(_, message)| counter.message(message)).sum();
    options.settings.compaction.strategy = case.way.strategy().into();
    options.settings.compaction.keep_recent_tokens = size.scaled(1, 8).min(TokenCount(20_000));
    options.settings.compaction.ledger.max_tokens = Some(TokenCount::ZERO);
    options.settings.compaction.pins.max_tokens = Some(TokenCount::ZERO);

    let bare = planned(&options)?;
    let leaves = |fate| matches!(fate, Disposition::Summarized | Disposition::TurnPrefix);
    let gone = bare
        .entries
        .iter()
        .filter(|entry| leaves(entry.disposition));
    let removed: TokenCount = gone.map(|entry| entry.tokens).sum();
    let short: Vec<SummaryAnswer> = bare.requests().iter().map(|_| answer("short")).collect();
    let short = bare
        .apply(&short)
        .map_err(|error| error.to_string())?
        .summary;
    let tags = counter.text(&short[without_file_tags(&short).len()..]);

    let (pins, left) = match case.budget {
        Budget::Percent(percent) => {
            let budget = removed.scaled(percent, 100);
            let pins = budget.scaled(PINS.0, PINS.1);
            (pins, budget.saturating_sub(pins).saturating_sub(tags))
        }
        Budget::Ledger(tokens) => (TokenCount(tokens / 4), TokenCount(2 * tokens)),
    };
    let ledger = match (case.facts, case.budget) {
        (Facts::Ledger, Budget::Percent(_)) => left.scaled(LEDGER.0, LEDGER.1),
        (Facts::Ledger, Budget::Ledger(tokens)) => TokenCount(tokens),
        (Facts::ProseAlone, _) => TokenCount::ZERO,
    };
    let prose = left.saturating_sub(ledger);
    let budget = pins + left + tags;
    options.settings.compaction.pins.max_tokens = Some(pins);
    options.settings.compaction.ledger.max_tokens = Some(ledger);
    options.settings.compaction.extractive_max_tokens = budget;

    let plan = planned(&options)?;
    let answers = match case.way {
        SummaryMethod::Extractive => plan.answer_extractive(),
        SummaryMethod::ContextFull | SummaryMethod::Restore => {
            canned(plan.requests(), needles, seed, prose, counter)
        }
    };
    let applied = plan.apply(&answers).map_err(|error| error.to_string())?;

    let mut after = text.to_owned();
    let mut parent = Some(plan.leaf.clone());
    for (number, draft) in applied.drafts.iter().enumerate() {
        let id = EntryId::new(&format!("c{:05x}{number:02x}", session.tree.len()));
        let stamp = Stamp {
            id: id.clone(),
            parent: parent.replace(id),
            timestamp: Timestamp::from_millis(1_790_000_000_000),
            part_of: None,
        };
        after.push_str(&draft.stamp(&stamp));
        after.push('\n');
    }
    let (seen, there) = look(&after);
    let judged = needles.iter().map(|needle| Judged {
        left: !there.contains(&needle.entry_id),
        verdict: judge(needle, &seen),
        needle: needle.clone(),
    });
    Ok(Measured {
        removed: removed.0,
        budget: budget.0,
        summary: counter.text(&applied.summary).0,
        judged: judged.collect(),
        after,
        seen,
    })
}

fn answer(text: &str) -> SummaryAnswer {
    SummaryAnswer {
        text: text.to_owned(),
        end: AnswerEnd::Complete,
        summarizer: Summarizer::Model {
            provider: "canned".to_owned(),
            model: "canned".to_owned(),
        },
    }
}

/// Returns answers as a model might give them: the last part of a chapter counts, the parts before it are taken up in it.
fn canned(
    requests: &[SummaryRequest],
    needles: &[Needle],
    seed: u64,
    prose: TokenCount,
    counter: &dyn TokenCounter,
) -> Vec<SummaryAnswer> {
    const PREFIX: &str = "## Original Request\nThe next report of the list.\n\n## Early Progress\n- Read the code around it.";
    let prefix = requests
        .iter()
        .any(|request| request.kind == RequestKind::TurnPrefix);
    // With what stands between the two parts.
    let taken = if prefix {
        counter.text(PREFIX) + TokenCount(16)
    } else {
        TokenCount::ZERO
    };
    let most = prose.saturating_sub(taken).0;
    let answers = requests.iter().map(|request| {
        let form = match request.kind {
            RequestKind::TurnPrefix => return answer(PREFIX),
            RequestKind::Snapshot => Form::Snapshot,
            RequestKind::History
            | RequestKind::Short
            | RequestKind::Branch
            | RequestKind::Handoff => Form::Sections,
        };
        let tokens = |text: &str| counter.text(text).0;
        answer(&canned_summary(
            needles,
            form,
            seed,
            CANNED_HAS_ONE_OF,
            most,
            tokens,
        ))
    });
    answers.collect()
}

/// Returns what can be read in the context of a session, and the entries of it that are word for word.
fn look(text: &str) -> (Seen, BTreeSet<String>) {
    let session = decode_bytes(text.to_owned().into_bytes());
    let path = session.tree.path(session.tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    (seen(&context), there(&context))
}

fn there(context: &SessionContext) -> BTreeSet<String> {
    let said = context
        .messages()
        .filter(|(_, message)| !matches!(***message, AgentMessage::CompactionSummary(_)));
    said.map(|(id, _)| id.to_string()).collect()
}

fn seen(context: &SessionContext) -> Seen {
    let mut seen = Seen::default();
    for (_, message) in context.messages() {
        let text = match &**message {
            AgentMessage::CompactionSummary(_) => &mut seen.summary,
            _ => &mut seen.rest,
        };
        text.push_str(&with_whole_paths(&message.display_text()));
        text.push('\n');
        if let AgentMessage::Assistant(answer) = &**message {
            for call in answer.content.tool_calls() {
                text.push_str(&call.arguments_text());
                text.push('\n');
            }
        }
    }
    seen
}
