//! The user's pins: entries with the label [`PIN_LABEL`], and texts of their own ([`PIN_ENTRY`]).
//!
//! **Which pins count.** Labels are read as the tree reads them, from the whole file: the newest label of an entry
//! counts, on any branch. An entry is pinned while its label is `pin` and it is on the path. A text of its own is
//! pinned on every branch, from its entry on, until a label entry on it clears its label; any other label is only a
//! name. So nothing that was pinned is lost by going back, and a peer that clears a label unpins.
//!
//! Bodies are read of labels, of `custom` entries and of what is pinned, and of nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use session_model::json::RawJson;
use session_model::tokens::{TokenCount, TokenCounter};
use session_model::{
    CustomDraft, EntryBody, EntryDraft, EntryId, EntryIndex, EntryKind, FindIdError, LabelDraft,
    SessionPath, SessionTree,
};

use crate::prompts;

mod text;

pub(crate) use text::pinned_text;
use text::text_of;

/// The label of a pinned entry.
pub const PIN_LABEL: &str = "pin";

/// The custom type of an entry that pins a text of its own: `{"text": ...}`, with `"by": "model"` where a model did.
pub const PIN_ENTRY: &str = "agent-cli/pin";

const MODEL: &str = "model";

/// The size of a pin's heading with its id, and of the names of pins that have no room.
const HEADING: TokenCount = TokenCount(12);
const LEFT_OUT: TokenCount = TokenCount(48);

/// Something that users want to be kept verbatim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The pinned entry, or the entry that holds the text.
    pub entry_id: EntryId,
    /// The text, as the model knew it.
    pub text: String,
    /// A model wrote the text and pinned it.
    pub by_model: bool,
}

/// The target of a new pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinTarget {
    /// The content of this entry.
    Entry(EntryId),
    /// A text of its own.
    Text(String),
    /// A text of a model.
    TextOfModel(String),
}

/// The pins of a path, and what they take of their budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pins {
    /// The pins, in the order of the file, each with what it takes in a summary.
    pub pins: Vec<(Pin, TokenCount)>,
    /// The most that all of them may take.
    pub budget: TokenCount,
    /// The size of the text around the pins in a summary.
    around: TokenCount,
}

/// Something that can be pinned.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPin {
    /// The entry to append.
    pub draft: EntryDraft,
    /// The entry that is pinned; none for a text, which has no entry yet.
    pub entry_id: Option<EntryId>,
    /// The pinned text.
    pub text: String,
    /// Its tokens.
    pub tokens: TokenCount,
}

/// The reason why a pin cannot be added or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// There is no such entry, or there are several.
    #[error(transparent)]
    Unknown(#[from] FindIdError),
    /// The path does not lead through the entry.
    #[error("entry {0} is on another branch; go there first, or pin its text")]
    Elsewhere(EntryId),
    /// There is nothing to keep.
    #[error(
        "entry {0} has no text to pin; name a message, a tool result or a summary, or pin a text"
    )]
    NoText(EntryId),
    /// The text is empty.
    #[error("the text to pin is empty; say what to keep")]
    Empty,
    /// It is pinned.
    #[error("that is pinned already, by entry {0}")]
    Twice(EntryId),
    /// It is not pinned.
    #[error("entry {0} is not pinned; list the pins to see what is")]
    NotPinned(EntryId),
    /// There is no room.
    #[error(
        "the pin takes {tokens} tokens with its id, and {left} of the {budget} for pins are left; {advice}"
    )]
    OverBudget {
        /// Its tokens.
        tokens: TokenCount,
        /// Tokens that are left for pins.
        left: TokenCount,
        /// Tokens of all pins together, at most.
        budget: TokenCount,
        /// The advice.
        advice: String,
    },
}

/// Returns what is pinned on a path, in the order of the file; what was unpinned since is not among it.
pub fn pins_of(path: &SessionPath<'_>) -> Vec<Pin> {
    let tree = path.tree();
    let labels = newest_labels(tree);
    let mut pins = labelled(path, &labels);
    for index in of_kind(tree, EntryKind::Custom) {
        let id = EntryId::new(tree.id(index));
        if labels.get(&id) == Some(&None) || pins.contains_key(&index.as_usize()) {
            continue;
        }
        if let Some(pin) = pin_at(tree, index) {
            pins.insert(index.as_usize(), pin);
        }
    }
    pins.into_values().collect()
}

/// Returns what a pin takes in a summary.
pub(crate) fn pin_cost(text: &str, counter: &dyn TokenCounter) -> TokenCount {
    let lines = TokenCount(text.lines().count() as u64);
    counter.text(text) + lines + HEADING
}

/// Returns which pins of these costs, in the order in which they get room, fit into `room`.
pub(crate) fn fitting(costs: &[TokenCount], room: TokenCount) -> Vec<bool> {
    let all: TokenCount = costs.iter().copied().sum();
    let mut left = if all > room {
        room.saturating_sub(LEFT_OUT)
    } else {
        room
    };
    let mut fits = |cost: &TokenCount| {
        let fits = *cost <= left;
        if fits {
            left = left.saturating_sub(*cost);
        }
        fits
    };
    costs.iter().map(&mut fits).collect()
}

/// Returns the pinned entries of a path that are not shortened: as many as fit `budget`.
pub(crate) fn pinned_entries(
    path: &SessionPath<'_>,
    budget: TokenCount,
    counter: &dyn TokenCounter,
) -> BTreeSet<EntryId> {
    let mut left = budget.saturating_sub(frame_tokens(counter));
    let pins = labelled(path, &newest_labels(path.tree())).into_values();
    let fitting = pins.filter(|pin| {
        let tokens = pin_cost(&pin.text, counter);
        let fits = tokens <= left;
        if fits {
            left = left.saturating_sub(tokens);
        }
        fits
    });
    fitting.map(|pin| pin.entry_id).collect()
}

/// Returns the entries of the path whose label is `pin`, by their places in the file.
fn labelled(
    path: &SessionPath<'_>,
    labels: &BTreeMap<EntryId, Option<String>>,
) -> BTreeMap<usize, Pin> {
    let is_pin = |label: &Option<String>| label.as_deref() == Some(PIN_LABEL);
    let tree = path.tree();
    let mut pins = BTreeMap::new();
    if !labels.values().any(is_pin) {
        return pins;
    }
    let on_path = on_path(path);
    for (target, _) in labels.iter().filter(|(_, label)| is_pin(label)) {
        let index = tree.find(target).filter(|index| on_path[index.as_usize()]);
        if let Some((index, pin)) = index.and_then(|index| Some((index, pin_at(tree, index)?))) {
            pins.insert(index.as_usize(), pin);
        }
    }
    pins
}

/// Returns the entries to append to a copy of a path, or to a session that continues from it, so that the same is
/// pinned there: labels on other branches are not copied with a path.
pub fn carry_pins(from: &SessionPath<'_>, to: &SessionPath<'_>) -> Vec<EntryDraft> {
    let (wanted, there) = (pins_of(from), pins_of(to));
    let has = |pins: &[Pin], id: &EntryId| pins.iter().any(|pin| pin.entry_id == *id);
    let missing = wanted.iter().filter(|pin| !has(&there, &pin.entry_id));
    let added = missing.map(|pin| match to.tree().find(&pin.entry_id) {
        Some(_) => label(&pin.entry_id, Some(PIN_LABEL)),
        None => text_pin(&pin.text, pin.by_model),
    });
    let unwanted = there.iter().filter(|pin| !has(&wanted, &pin.entry_id));
    let cleared = unwanted.map(|pin| label(&pin.entry_id, None));
    added.chain(cleared).collect()
}

/// Returns the label of every entry that ever had one, by the newest label entry on it; `None` if that cleared it.
fn newest_labels(tree: &SessionTree) -> BTreeMap<EntryId, Option<String>> {
    let entries = of_kind(tree, EntryKind::Label).filter_map(|index| tree.entry(index).ok());
    let labels = entries.filter_map(|entry| match entry.body {
        EntryBody::Label { target, label } => Some((target, label)),
        _ => None,
    });
    labels.collect()
}

fn of_kind(tree: &SessionTree, kind: EntryKind) -> impl Iterator<Item = EntryIndex> {
    let all = tree.has_kind(kind).then(|| tree.indices());
    all.into_iter()
        .flatten()
        .filter(move |index| tree.kind(*index) == kind)
}

/// Returns, for every entry of the tree, true if it is on the path.
fn on_path(path: &SessionPath<'_>) -> Vec<bool> {
    let mut on_path = vec![false; path.tree().len()];
    for index in path.entries() {
        on_path[index.as_usize()] = true;
    }
    on_path
}

fn pin_at(tree: &SessionTree, index: EntryIndex) -> Option<Pin> {
    let entry = tree.entry(index).ok()?;
    let text = text_of(&entry)?;
    let by_model = match &entry.body {
        EntryBody::Custom {
            data: Some(data), ..
        } => data.string_member("by").as_deref() == Some(MODEL),
        _ => false,
    };
    Some(Pin {
        entry_id: entry.id,
        text,
        by_model,
    })
}

impl Pins {
    /// Returns the pins of a path.
    pub fn of(path: &SessionPath<'_>, budget: TokenCount, counter: &dyn TokenCounter) -> Self {
        let sized = |pin: Pin| {
            let tokens = pin_cost(&pin.text, counter);
            (pin, tokens)
        };
        Self {
            pins: pins_of(path).into_iter().map(sized).collect(),
            budget,
            around: frame_tokens(counter),
        }
    }

    /// Returns what they take.
    pub fn used(&self) -> TokenCount {
        self.pins.iter().map(|(_, tokens)| *tokens).sum()
    }

    /// Returns which of them, in their order, a summary with a ledger keeps: the newest that fit.
    pub fn kept(&self) -> Vec<bool> {
        let newest_first = self.pins.iter().rev();
        let costs: Vec<TokenCount> = newest_first.map(|(_, tokens)| *tokens).collect();
        let mut kept = fitting(&costs, self.budget);
        kept.reverse();
        kept
    }

    /// Returns the room that is left for other pins.
    pub fn left(&self) -> TokenCount {
        self.budget.saturating_sub(self.used() + self.around)
    }

    /// Returns what pins `target` on the path that these pins are of.
    ///
    /// # Errors
    ///
    /// [`PinError`] contains the reason and the advice.
    pub fn add(
        &self,
        path: &SessionPath<'_>,
        target: &PinTarget,
        counter: &dyn TokenCounter,
    ) -> Result<NewPin, PinError> {
        let (text, draft, entry_id) = match target {
            PinTarget::Text(text) | PinTarget::TextOfModel(text) => {
                let text = text.trim();
                if text.is_empty() {
                    return Err(PinError::Empty);
                }
                let by_model = matches!(target, PinTarget::TextOfModel(_));
                (text.to_owned(), text_pin(text, by_model), None)
            }
            PinTarget::Entry(id) => {
                let tree = path.tree();
                let index = tree.find_by_beginning(id)?;
                let id = EntryId::new(tree.id(index));
                if let Some((pin, _)) = self.find(&id) {
                    return Err(PinError::Twice(pin.entry_id.clone()));
                }
                let pin = pin_at(tree, index).ok_or_else(|| PinError::NoText(id.clone()))?;
                // An unpinned text can be pinned again from any leaf.
                if tree.kind(index) != EntryKind::Custom && !path.entries().contains(&index) {
                    return Err(PinError::Elsewhere(id.clone()));
                }
                (pin.text, label(&id, Some(PIN_LABEL)), Some(id))
            }
        };
        if let Some((pin, _)) = self.pins.iter().find(|(pin, _)| pin.text == text) {
            return Err(PinError::Twice(pin.entry_id.clone()));
        }
        let tokens = pin_cost(&text, counter);
        if tokens > self.left() {
            return Err(PinError::OverBudget {
                tokens,
                left: self.left(),
                budget: self.budget,
                advice: self.advice(tokens),
            });
        }
        Ok(NewPin {
            draft,
            entry_id,
            text,
            tokens,
        })
    }

    /// Returns the pin to remove, with the tokens that it frees, and the entry that removes it.
    ///
    /// # Errors
    ///
    /// [`PinError`] contains the reason and the advice.
    pub fn remove(
        &self,
        path: &SessionPath<'_>,
        id: &EntryId,
    ) -> Result<(&(Pin, TokenCount), EntryDraft), PinError> {
        let tree = path.tree();
        let id = EntryId::new(tree.id(tree.find_by_beginning(id)?));
        let found = self.find(&id);
        let found = found.ok_or_else(|| PinError::NotPinned(id.clone()))?;
        Ok((found, label(&id, None)))
    }

    fn find(&self, id: &EntryId) -> Option<&(Pin, TokenCount)> {
        self.pins.iter().find(|(pin, _)| pin.entry_id == *id)
    }

    /// Returns the advice on how to make room for a pin: the smallest pin whose removal is enough, if there is one.
    fn advice(&self, tokens: TokenCount) -> String {
        const RAISE: &str = "raise compaction.pins.maxTokens (at most a quarter of the threshold)";
        if self.budget == TokenCount::ZERO {
            return RAISE.to_owned();
        }
        let missing = (self.used() + self.around + tokens).saturating_sub(self.budget);
        let enough = self.pins.iter().filter(|(_, taken)| *taken >= missing);
        match enough.min_by_key(|(_, taken)| *taken) {
            Some((pin, taken)) => format!("unpin {} ({taken} tokens), or {RAISE}", pin.entry_id),
            None if tokens + self.around <= self.budget => {
                format!(
                    "unpin some of the {} that there are, or {RAISE}",
                    self.pins.len()
                )
            }
            None => format!("pin a shorter text, or {RAISE}"),
        }
    }
}

fn text_pin(text: &str, by_model: bool) -> EntryDraft {
    let mut data = json!({ "text": text });
    if by_model {
        data["by"] = json!(MODEL);
    }
    EntryDraft::Custom(CustomDraft {
        custom_type: PIN_ENTRY.to_owned(),
        data: RawJson::of(&data).ok(),
    })
}

fn label(target: &EntryId, label: Option<&str>) -> EntryDraft {
    EntryDraft::Label(LabelDraft {
        target: target.clone(),
        label: label.map(str::to_owned),
    })
}

/// Returns the size of the text around pins in a summary.
fn frame_tokens(counter: &dyn TokenCounter) -> TokenCount {
    counter.text(&prompts::ledger(&prompts::ledger_lead(), ""))
}

#[cfg(test)]
mod tests;
