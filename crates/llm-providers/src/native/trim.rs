//! Fitting a conversation of Responses items into a window, so that it can be compacted at all.

use std::borrow::Cow;
use std::collections::BTreeMap;

use session_model::json::{Members, RawJson};

use crate::wire::responses::{CallSide, call_side};

/// Items after trimming.
#[derive(Debug, Clone, PartialEq)]
pub struct Trimmed {
    /// The items, as many and in the same order as before.
    pub items: Vec<RawJson>,
    /// The number of rewritten items.
    pub rewritten: usize,
}

/// The beginning and the end of the notices that replace omitted text.
const NOTICE: (&str, &str) = ("[about ", " tokens left out to fit the context window]");

/// Returns `items` fitted into `budget_tokens`, as far as that is possible by shortening tool calls.
///
/// First the outputs, the oldest first, then the arguments of the calls, the oldest first, are replaced by a notice of
/// their size, until the rest fits. No item is removed, so calls and outputs stay paired. Messages, reasoning, and the
/// newest call with its output are never changed. When all fits, nothing is changed.
///
/// `count` measures the JSON text of an item in tokens; it is called once for every item and once for every item that
/// is rewritten, so the work is linear in the items.
pub fn trim(items: Vec<RawJson>, budget_tokens: u64, count: &dyn Fn(&str) -> u64) -> Trimmed {
    let mut trimming = Trimming {
        sizes: items.iter().map(|item| count(item.get())).collect(),
        items,
        count,
        rewritten: 0,
    };
    let total = trimming
        .sizes
        .iter()
        .fold(0, |sum: u64, size| sum.saturating_add(*size));
    let mut excess = total.saturating_sub(budget_tokens);
    if excess > 0 {
        let mut pairs = pairs(&trimming.items);
        pairs.pop(); // the newest
        let outputs = pairs.iter().map(|(_, output)| *output);
        let mut calls: Vec<usize> = pairs.iter().map(|(call, _)| *call).collect();
        calls.sort_unstable();
        for place in outputs.chain(calls) {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(trimming.shorten(place));
        }
    }
    Trimmed {
        items: trimming.items,
        rewritten: trimming.rewritten,
    }
}

struct Trimming<'a> {
    items: Vec<RawJson>,
    sizes: Vec<u64>,
    count: &'a dyn Fn(&str) -> u64,
    rewritten: usize,
}

impl Trimming<'_> {
    /// Shortens the item at `place` if that makes it smaller, and returns the number of saved tokens.
    fn shorten(&mut self, place: usize) -> u64 {
        let size = self.sizes[place];
        let Some(shorter) = shortened(&self.items[place], size) else {
            return 0;
        };
        let new_size = (self.count)(shorter.get());
        if new_size >= size {
            return 0;
        }
        self.items[place] = shorter;
        self.sizes[place] = new_size;
        self.rewritten += 1;
        size - new_size
    }
}

/// Returns the item with a notice instead of its output or arguments, or `None` when it has none to shorten.
fn shortened(item: &RawJson, size: u64) -> Option<RawJson> {
    let fields = Members::parse(item.get())?;
    let kind = fields.text("type")?;
    let notice = format!("{}{size}{}", NOTICE.0, NOTICE.1);
    // The arguments of functions stay a JSON object in a string, because servers parse them.
    let (key, text) = match kind.as_str() {
        "function_call" => (
            "arguments",
            serde_json::json!({ "note": notice }).to_string(),
        ),
        "custom_tool_call" => ("input", notice),
        _ if call_side(&kind) == Some(CallSide::Output) => ("output", notice),
        _ => return None,
    };
    let old = fields.raw(key)?;
    let shortened_before = old.contains(NOTICE.0) && old.contains(NOTICE.1);
    if old.len() <= text.len() || (shortened_before && old.len() < 2 * text.len()) {
        return None;
    }
    let new = serde_json::to_string(&text).ok()?;
    fields.rewritten(|name, value| {
        Some(if name == key {
            Cow::Owned(new.clone())
        } else {
            Cow::Borrowed(value)
        })
    })
}

/// Returns the places of every call and its output, in the order of the outputs.
fn pairs(items: &[RawJson]) -> Vec<(usize, usize)> {
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let Some(fields) = Members::parse(item.get()) else {
            continue;
        };
        let side = fields.text("type").and_then(|kind| call_side(&kind));
        let (Some(side), Some(id)) = (side, fields.text("call_id")) else {
            continue;
        };
        match side {
            CallSide::Call => drop(open.insert(id, place)),
            CallSide::Output => pairs.extend(open.remove(&id).map(|call| (call, place))),
        }
    }
    pairs
}
