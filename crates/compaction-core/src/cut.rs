//! The cut point: from which entry on a context stays verbatim.

use std::collections::BTreeMap;

use session_model::{
    AgentMessage, CallEvent, EntryBody, ProjectedEntry, SessionContext, match_calls,
};

use crate::rules::Rules;
use crate::settings::CutRule;
use session_model::tokens::TokenCount;

/// An entry of a context as the cut sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutItem {
    /// Its tokens in the context.
    pub tokens: TokenCount,
    /// It contributes at least one message.
    pub visible: bool,
    /// The kept range may begin here.
    pub cut: bool,
    /// A turn begins here.
    pub turn_start: bool,
    /// It is a compaction.
    pub boundary: bool,
    /// A context edit took its message out.
    pub omitted: bool,
    /// It is an answer of the model that a context edit took out.
    pub omitted_answer: bool,
    /// The content that it replaces, if it is a context edit.
    pub replaces: Replaces,
}

/// The content that a context edit replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replaces {
    /// It is no such edit.
    #[default]
    Nothing,
    /// An entry that is in the context, or not among these entries.
    Visible,
    /// An entry at this place that another edit took out.
    Omitted(usize),
}

/// The beginning of the kept range, as indices of the entries of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPoint {
    /// Between two turns, or before the first one.
    Turn {
        /// The first entry that stays verbatim.
        first_kept: usize,
    },
    /// Inside a turn: its beginning is summarized separately from the entries before it.
    SplitTurn {
        /// The index at which the turn begins.
        turn_start: usize,
        /// The first entry that stays verbatim.
        first_kept: usize,
    },
}

impl CutPoint {
    /// Returns the first entry that stays verbatim.
    pub fn first_kept(self) -> usize {
        match self {
            Self::Turn { first_kept } | Self::SplitTurn { first_kept, .. } => first_kept,
        }
    }
}

/// Returns the entries of `context` as the cut sees them; `counts` are the tokens of its messages, see
/// [`message_counts`](crate::message_counts).
pub fn cut_items(context: &SessionContext, rules: &Rules, counts: &[TokenCount]) -> Vec<CutItem> {
    let mut counts = counts.iter().skip(usize::from(context.system.is_some()));
    let mut items: Vec<CutItem> = context
        .entries
        .iter()
        .map(|projected| {
            let messages = projected.messages.iter();
            let boundary = matches!(projected.entry.body, EntryBody::Compaction(_));
            let omitted = projected.omitted;
            CutItem {
                tokens: counts.by_ref().take(messages.len()).copied().sum(),
                visible: !projected.messages.is_empty(),
                cut: !boundary && messages.clone().any(|message| may_be_cut_at(message)),
                turn_start: !boundary && messages.clone().any(|message| message.starts_turn()),
                boundary,
                omitted,
                omitted_answer: omitted && is_answer(projected),
                replaces: Replaces::Nothing,
            }
        })
        .collect();
    mark_replacements(context, &mut items);
    if !rules.cuts_between_call_and_result {
        forbid_cuts_inside_calls(context, &mut items);
    }
    items
}

fn may_be_cut_at(message: &AgentMessage) -> bool {
    match message {
        AgentMessage::User(_)
        | AgentMessage::Assistant(_)
        | AgentMessage::BashExecution(_)
        | AgentMessage::Custom(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_) => true,
        AgentMessage::System(_)
        | AgentMessage::Developer(_)
        | AgentMessage::ToolResult(_)
        | AgentMessage::Other { .. } => false,
    }
}

fn is_answer(projected: &ProjectedEntry) -> bool {
    match &projected.entry.body {
        EntryBody::Message(message) => matches!(**message, AgentMessage::Assistant(_)),
        _ => false,
    }
}

/// Marks the edits that replace content.
fn mark_replacements(context: &SessionContext, items: &mut [CutItem]) {
    let entries = context.entries.iter().enumerate();
    let omitted: BTreeMap<_, _> = entries
        .filter(|(_, projected)| projected.omitted)
        .map(|(place, projected)| (&projected.entry.id, place))
        .collect();
    for (item, projected) in items.iter_mut().zip(&context.entries) {
        if let EntryBody::ContextEdit {
            target,
            replacement: Some(_),
        } = &projected.entry.body
        {
            let target = omitted.get(target);
            item.replaces = target.map_or(Replaces::Visible, |at| Replaces::Omitted(*at));
        }
    }
}

/// Takes the entries between a call and its last result out of the cut points.
fn forbid_cuts_inside_calls(context: &SessionContext, items: &mut [CutItem]) {
    let entries = context.entries.iter().enumerate();
    let messages: Vec<(usize, &AgentMessage)> = entries
        .flat_map(|(place, projected)| {
            let messages = projected.messages.iter();
            messages.map(move |message| (place, &**message))
        })
        .collect();
    let matched = match_calls(
        messages
            .iter()
            .map(|(_, message)| CallEvent::from(*message)),
    );
    // The last result of each entry's calls; then one sweep instead of one per call.
    let mut open_until = vec![0_usize; items.len()];
    for ((call, _), result) in matched {
        let (call, result) = (messages[call].0, messages[result].0);
        let first = call.min(result);
        open_until[first] = open_until[first].max(call.max(result));
    }
    let mut until = 0;
    for (place, item) in items.iter_mut().enumerate() {
        if place <= until && until > 0 {
            item.cut = false;
        }
        until = until.max(open_until[place]);
    }
}

/// Returns where to cut `items[start..]` so that about `keep` tokens stay, or `None`
/// when everything fits (or nothing may be cut).
pub fn find_cut_point(
    items: &[CutItem],
    start: usize,
    keep: TokenCount,
    rule: CutRule,
    rules: &Rules,
) -> Option<CutPoint> {
    let cuts: Vec<usize> = (start..items.len()).filter(|at| items[*at].cut).collect();
    let (first_cut, last_cut) = (*cuts.first()?, *cuts.last()?);
    let reached = match rule {
        CutRule::Nearest => nearest(items, start, keep, &cuts, last_cut),
        CutRule::Fit => fit(items, start, keep, &cuts, last_cut),
    };
    let mut at = match reached {
        Some(at) => at,
        None if rules.cut_without_budget => first_cut,
        None => return None,
    };
    if reached.is_some() && ends_in_omitted_attempts(items, at) {
        at += 1;
    }
    // Metadata directly before the cut belongs to the entry after it.
    let pulled =
        |item: &CutItem| !item.visible && !item.boundary && (rules.pulls_omitted || !item.omitted);
    while at > start && pulled(&items[at - 1]) {
        at -= 1;
    }
    if items.get(at).is_some_and(|item| item.turn_start) {
        return Some(CutPoint::Turn { first_kept: at });
    }
    if rules.plain_split_test || items.get(at).is_some_and(|item| item.visible) {
        return Some(split_or_turn(items, start, at, at));
    }
    // An entry that a context edit pulled in belongs to the visible entry that follows it.
    let visible = (at..items.len()).find(|place| items[*place].visible);
    match visible {
        Some(place) if items[place].turn_start => Some(CutPoint::Turn { first_kept: at }),
        Some(place) => Some(split_or_turn(items, start, at, place)),
        None => Some(CutPoint::Turn { first_kept: at }),
    }
}

fn split_or_turn(items: &[CutItem], start: usize, first_kept: usize, from: usize) -> CutPoint {
    let from = from.min(items.len().saturating_sub(1));
    let turn_start = (start..=from).rev().find(|place| items[*place].turn_start);
    match turn_start {
        Some(turn_start) => CutPoint::SplitTurn {
            turn_start,
            first_kept,
        },
        None => CutPoint::Turn { first_kept },
    }
}

/// Walks newest to oldest; when the budget is reached, takes the first cut point from there on, else the last.
fn nearest(
    items: &[CutItem],
    start: usize,
    keep: TokenCount,
    cuts: &[usize],
    last_cut: usize,
) -> Option<usize> {
    let mut sum = TokenCount::ZERO;
    for at in (start..items.len()).rev() {
        if items[at].tokens == TokenCount::ZERO {
            continue;
        }
        sum += items[at].tokens;
        if sum >= keep {
            let after = cuts.partition_point(|cut| *cut < at);
            return Some(cuts.get(after).copied().unwrap_or(last_cut));
        }
    }
    None
}

/// Returns the earliest cut point whose suffix fits, or the last one when none does;
/// `None` when everything fits.
fn fit(
    items: &[CutItem],
    start: usize,
    keep: TokenCount,
    cuts: &[usize],
    last_cut: usize,
) -> Option<usize> {
    let mut sum = TokenCount::ZERO;
    let mut best = last_cut;
    let mut next_cut = cuts.iter().rev().copied().peekable();
    for at in (start..items.len()).rev() {
        sum += items[at].tokens;
        if sum > keep {
            return Some(best);
        }
        if next_cut.peek() == Some(&at) {
            best = at;
            next_cut.next();
        }
    }
    None
}

/// Returns true when what follows the cut is nothing but attempts that were taken out, and at least one of them
/// is an answer: then the cut moves past the last visible input of the failed attempt's turn.
fn ends_in_omitted_attempts(items: &[CutItem], cut: usize) -> bool {
    let suffix = &items[cut + 1..];
    let nothing_to_see = |item: &CutItem| !item.boundary && !item.visible;
    suffix.iter().any(|item| item.omitted_answer)
        && suffix.iter().all(nothing_to_see)
        && suffix.iter().all(|item| match item.replaces {
            Replaces::Nothing => true,
            Replaces::Visible => false,
            Replaces::Omitted(place) => place > cut,
        })
}
