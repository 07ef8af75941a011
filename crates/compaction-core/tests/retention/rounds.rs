//! Turns appended and compacted again and again: what is still there of needles from the first rounds.

use std::collections::BTreeSet;

use compaction_core::Profile;
use serde_json::{Value, json};
use session_model::decode_bytes;
use test_support::needles::{Needle, NeedleKind, Phrasings, plant, transcript, turns};

use super::measure::{Budget, Case, Facts, Measured, SummaryMethod, compact};

/// In how many rounds needles are planted, the first one included.
const PLANTED_ROUNDS: usize = 3;

/// Bytes of the turns of a round.
const ROUND_BYTES: usize = 50_000;

/// Needles of every kind.
const EACH: usize = 3;

/// One round of turns and a compaction.
#[derive(Debug, Clone)]
pub struct Round {
    /// Tokens of the summary, and what it was allowed.
    pub summary: (u64, u64),
    /// Of each kind: how many are as they should be, and how many were planted so far.
    pub kinds: Vec<(NeedleKind, usize, usize)>,
    /// What is not as it should be.
    pub lost: Vec<Needle>,
    /// Whether the first request is there byte for byte.
    pub first_request: bool,
}

/// Many rounds.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// The rounds, in order.
    pub rounds: Vec<Round>,
    /// Tokens of all that should be kept.
    pub needles: u64,
    /// Tokens that the ledger may take.
    pub budget: u64,
}

impl Rounds {
    /// Returns the needles that were as they should be in a round, once planted, and were not in the next one; with
    /// that next round.
    pub fn fallen(&self) -> Vec<(usize, &Needle)> {
        let pairs = self.rounds.windows(2).enumerate();
        let fallen = pairs.flat_map(|(before, pair)| {
            let lost: BTreeSet<&str> = pair[0]
                .lost
                .iter()
                .map(|needle| &*needle.entry_id)
                .collect();
            let new = pair[1].lost.iter();
            let new = new.filter(move |needle| !lost.contains(&*needle.entry_id));
            new.map(move |needle| (before + 1, needle))
        });
        fallen.collect()
    }
}

/// Compacts `count` times, with new turns before each. The ledger's budget is such that all needles
/// take less than half of it.
pub fn rounds(
    way: SummaryMethod,
    facts: Facts,
    phrasings: Phrasings,
    seed: u64,
    count: usize,
) -> Result<Rounds, String> {
    let base = transcript(seed, PLANTED_ROUNDS * ROUND_BYTES);
    let planted = plant(&base, phrasings, seed, EACH);
    let counter = Profile::Own.counter();
    let stay = planted
        .needles
        .iter()
        .filter(|needle| needle.kind.should_stay());
    let needles: u64 = stay.map(|needle| counter.text(&needle.said).0).sum();
    let budget = needles * 9 / 4;
    let case = Case {
        way,
        facts,
        budget: Budget::Ledger(budget),
    };
    let mut chunks = chunks(&planted.lines).into_iter();
    let mut text = String::new();
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut rounds = Vec::new();
    for round in 0..count {
        let lines = match chunks.next() {
            Some(lines) => lines,
            None => turns(seed, round as u64 + 1, Some(""), ROUND_BYTES),
        };
        append(&mut text, &mut ids, &lines)?;
        let so_far = planted
            .needles
            .iter()
            .filter(|needle| ids.contains(&needle.last_entry_id));
        let so_far: Vec<Needle> = so_far.cloned().collect();
        let measured = compact(&text, &so_far, case, seed + round as u64)?;
        text.clone_from(&measured.after);
        rounds.push(row(&measured, &base));
    }
    Ok(Rounds {
        rounds,
        needles,
        budget,
    })
}

fn row(measured: &Measured, base: &[String]) -> Round {
    let kinds = NeedleKind::ALL.map(|kind| {
        let own = measured
            .judged
            .iter()
            .filter(|judged| judged.needle.kind == kind);
        let good = own
            .clone()
            .filter(|judged| judged.verdict.is_good())
            .count();
        (kind, good, own.count())
    });
    let lost = measured
        .judged
        .iter()
        .filter(|judged| !judged.verdict.is_good());
    let request = base
        .get(1)
        .map(|line| value(line)["message"]["content"].clone());
    let request = request.and_then(|content| content.as_str().map(str::to_owned));
    let request = request.unwrap_or_default();
    let has = |text: &str| !request.is_empty() && text.contains(&request);
    Round {
        summary: (measured.summary, measured.budget),
        kinds: kinds.to_vec(),
        lost: lost.map(|judged| judged.needle.clone()).collect(),
        first_request: has(&measured.seen.summary) || has(&measured.seen.rest),
    }
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or(Value::Null)
}

/// Returns the lines in as many chunks of about one size as needles are planted in; each begins with a request.
fn chunks(lines: &[String]) -> Vec<Vec<String>> {
    let all: usize = lines.iter().map(String::len).sum();
    let mut chunks: Vec<Vec<String>> = vec![Vec::new()];
    let mut bytes = 0;
    for line in lines {
        let is_request = value(line)["message"]["role"] == "user";
        if is_request
            && bytes > all * chunks.len() / PLANTED_ROUNDS
            && chunks.len() < PLANTED_ROUNDS
        {
            chunks.push(Vec::new());
        }
        bytes += line.len();
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(line.clone());
        }
    }
    chunks
}

/// Appends lines, the first under the leaf.
fn append(text: &mut String, ids: &mut BTreeSet<String>, lines: &[String]) -> Result<(), String> {
    let session = decode_bytes(text.clone().into_bytes());
    let path = session.tree.path(session.tree.leaf());
    let leaf = path.leaf_id().map(str::to_owned);
    let mut first = leaf.is_some();
    for line in lines {
        let mut entry = value(line);
        if first {
            entry["parentId"] = json!(leaf);
            first = false;
        }
        if let Some(id) = entry["id"].as_str()
            && !ids.insert(id.to_owned())
        {
            return Err(format!("the id {id} comes twice"));
        }
        text.push_str(&entry.to_string());
        text.push('\n');
    }
    Ok(())
}
