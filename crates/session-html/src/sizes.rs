//! The size of the context after each entry of a path, and the effects of compactions and prunings on it.

use std::collections::BTreeMap;

use compaction_core::{Profile, TokenCount, measure, message_counts};
use session_model::{
    AgentMessage, EntryBody, EntryIndex, EntryKind, ModelRef, SessionContext, SessionPath,
    build_context,
};

/// The effect of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CompactionSizes {
    /// The estimate of the context before, and after.
    pub before: TokenCount,
    pub after: TokenCount,
    /// The size before as the provider counted it, if an answer reports it.
    pub billed: Option<TokenCount>,
    /// The number of entries that stay unchanged, and their tokens.
    pub kept: (usize, TokenCount),
    /// The number of entries that left the context, and their tokens.
    pub summarized: (usize, TokenCount),
    /// The number of entries that stay, but shorter.
    pub shortened: usize,
}

/// A change at an entry of the path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Older history was replaced by a summary.
    Compaction(CompactionSizes),
    /// Outputs were shortened or taken out: how many, and the tokens that this saved.
    Pruning(usize, TokenCount),
    /// Everything before left the context.
    Reset,
    /// Another model answers.
    Model(ModelRef),
}

/// The context along a path.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// The estimate of the context after each entry of the path, as the cards of compactions state it.
    pub points: Vec<u64>,
    /// The changes, each with its index on the path.
    pub changes: Vec<(usize, Change)>,
}

/// Walks a path and measures the context after each entry.
pub(crate) fn sizes(path: &SessionPath<'_>, profile: Profile) -> Sizes {
    let mut walk = Walk {
        path,
        profile,
        sizes: Sizes::default(),
        estimated: TokenCount::ZERO,
        edits: None,
        model: None,
    };
    for place in 0..path.entries().len() {
        walk.step(place);
    }
    walk.end_edits();
    walk.sizes
}

/// Returns what the compaction at the end of a path did; `start` is the place of the first edit that belongs to it.
pub(crate) fn compaction_sizes(
    path: &SessionPath<'_>,
    (start, place): (usize, usize),
    profile: Profile,
) -> CompactionSizes {
    let before_path = path.before(start);
    let before = build_context(&before_path, profile.context_rules());
    let after = context_at(path, place, profile);
    let counter = profile.counter();
    let left: BTreeMap<EntryIndex, _> = after
        .entries
        .iter()
        .map(|it| (it.index, &it.messages))
        .collect();
    let mut sizes = CompactionSizes {
        before: estimate(&before, profile),
        after: estimate(&after, profile),
        billed: measure(&before_path, &before, profile).billed,
        kept: (0, TokenCount::ZERO),
        summarized: (0, TokenCount::ZERO),
        shortened: 0,
    };
    for projected in before.entries.iter().filter(|it| !it.messages.is_empty()) {
        let tokens: TokenCount = projected
            .messages
            .iter()
            .map(|message| counter.message(message))
            .sum();
        let sum = match left.get(&projected.index) {
            Some(messages) if **messages == projected.messages => &mut sizes.kept,
            Some(messages) if !messages.is_empty() => {
                sizes.shortened += 1;
                continue;
            }
            _ => &mut sizes.summarized,
        };
        sum.0 += 1;
        sum.1 += tokens;
    }
    sizes
}

fn context_at(path: &SessionPath<'_>, place: usize, profile: Profile) -> SessionContext {
    build_context(&path.before(place + 1), profile.context_rules())
}

fn estimate(context: &SessionContext, profile: Profile) -> TokenCount {
    message_counts(context, profile.counter()).into_iter().sum()
}

/// Edits of the context one after another.
struct Edits {
    start: usize,
    end: usize,
    count: usize,
}

struct Walk<'a> {
    path: &'a SessionPath<'a>,
    profile: Profile,
    sizes: Sizes,
    estimated: TokenCount,
    edits: Option<Edits>,
    model: Option<ModelRef>,
}

impl Walk<'_> {
    fn step(&mut self, place: usize) {
        let index = self.path.entries()[place];
        let kind = self.path.tree().kind(index);
        // A mark belongs to the edits before it.
        if !matches!(
            kind,
            EntryKind::ContextEdit | EntryKind::Compaction | EntryKind::Custom
        ) {
            self.end_edits();
        }
        match kind {
            EntryKind::ContextEdit => {
                let edits = self.edits.get_or_insert(Edits {
                    start: place,
                    end: place,
                    count: 0,
                });
                edits.end = place;
                edits.count += 1;
            }
            EntryKind::Compaction => {
                let start = self.edits.take().map_or(place, |edits| edits.start);
                let sizes = compaction_sizes(self.path, (start, place), self.profile);
                self.estimated = sizes.after;
                self.sizes.changes.push((place, Change::Compaction(sizes)));
            }
            EntryKind::ResetBoundary => {
                let after = context_at(self.path, place, self.profile);
                self.estimated = estimate(&after, self.profile);
                self.sizes.changes.push((place, Change::Reset));
            }
            EntryKind::Message
            | EntryKind::CustomMessage
            | EntryKind::BranchSummary
            | EntryKind::ModelChange => {
                self.read(place, index);
            }
            _ => {}
        }
        self.sizes.points.push(self.estimated.0);
    }

    /// Adds what an entry contributes.
    fn read(&mut self, place: usize, index: EntryIndex) {
        let Ok(entry) = self.path.tree().entry(index) else {
            return;
        };
        if let EntryBody::ModelChange(model) = &entry.body {
            self.answers(place, model.clone());
        }
        for message in entry.messages() {
            self.estimated += self.profile.counter().message(&message);
            if let AgentMessage::Assistant(answer) = &*message {
                self.answers(
                    place,
                    ModelRef {
                        provider: answer.provider.clone(),
                        model_id: answer.model.clone(),
                    },
                );
            }
        }
    }

    /// Notes which model answers from here on.
    fn answers(&mut self, place: usize, model: ModelRef) {
        let known = !model.model_id.is_empty();
        if known && self.model.as_ref() != Some(&model) {
            self.sizes
                .changes
                .push((place, Change::Model(model.clone())));
            self.model = Some(model);
        }
    }

    /// Ends a row of edits that no compaction followed.
    fn end_edits(&mut self) {
        let Some(edits) = self.edits.take() else {
            return;
        };
        let before = build_context(&self.path.before(edits.start), self.profile.context_rules());
        let after = context_at(self.path, edits.end, self.profile);
        let (before, after) = (
            estimate(&before, self.profile),
            estimate(&after, self.profile),
        );
        self.estimated = after;
        for point in self.sizes.points.iter_mut().skip(edits.end) {
            *point = after.0;
        }
        self.sizes.changes.push((
            edits.end,
            Change::Pruning(edits.count, before.saturating_sub(after)),
        ));
    }
}
