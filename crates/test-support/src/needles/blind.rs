//! The set of needles that is only measured; see [`Phrasings::Blind`](super::Phrasings).
//!
//! `blind.jsonl` has one needle a line: `kind`, `lang`, `literals`, `parts` (lists of entries that stand together),
//! `carries` (which entry of the first part says it; 0), and `instead` for a value that is replaced.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::draft::{Body, Draft, Part};
use super::rng::Rng;
use super::{Needle, NeedleKind};

#[derive(Deserialize)]
struct Told {
    kind: NeedleKind,
    literals: Vec<String>,
    parts: Vec<Vec<Body>>,
    #[serde(default)]
    carries: usize,
    #[serde(default)]
    instead: Option<String>,
}

/// The needles of each kind, languages and writers mixed.
static ALL: LazyLock<BTreeMap<NeedleKind, Vec<Draft>>> = LazyLock::new(|| {
    let mut all: BTreeMap<NeedleKind, Vec<Draft>> = BTreeMap::new();
    for (number, line) in include_str!("blind.jsonl").lines().enumerate() {
        let told: Told = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("blind.jsonl, line {}: {error}", number + 1));
        let said = said(&told);
        let parts = told.parts.into_iter();
        all.entry(told.kind).or_default().push(Draft {
            needle: Needle {
                kind: told.kind,
                entry_id: String::new(),
                last_entry_id: String::new(),
                depth: 0,
                said,
                literals: told.literals,
                instead: told.instead,
            },
            carries: told.carries,
            parts: parts.map(|bodies| Part { depth: 0.0, bodies }).collect(),
        });
    }
    let mut rng = Rng::new(1);
    all.values_mut().for_each(|drafts| rng.shuffle(drafts));
    all
});

/// Returns the line that says it.
fn said(told: &Told) -> String {
    let bodies = told.parts.iter().flatten();
    let texts = bodies.filter_map(|body| match body {
        Body::User(text) | Body::Answer(text) | Body::Result { text, .. } => Some(text),
        _ => None,
    });
    let mut lines = texts.flat_map(|text| text.lines());
    let says = |line: &&str| told.literals.iter().all(|literal| line.contains(literal));
    let line = lines.find(says).map(str::to_owned);
    line.unwrap_or_else(|| told.literals.join(" / "))
}

/// Returns how many needles the set has of the kind that has most.
pub fn blind_needles() -> usize {
    ALL.values().map(Vec::len).max().unwrap_or_default()
}

/// Returns needle `place` of a kind, from the first again after the last.
pub fn draft(kind: NeedleKind, place: usize) -> Option<Draft> {
    let drafts = ALL.get(&kind)?;
    drafts.get(place % drafts.len()).cloned()
}
