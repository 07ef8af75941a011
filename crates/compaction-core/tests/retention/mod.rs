//! Planted needles held against the goals: what has to be in the context after a compaction, at small budgets and
//! after many rounds. `cargo xtask bench retention` prints the same measure as a table.

mod measure;
mod rounds;

use std::sync::LazyLock;

use compaction_core::{PIN_ENTRY, PIN_LABEL, Profile, TokenCount};
use measure::{Budget, Case, Facts, Measured, SummaryMethod, compact, generated, planted};
use rounds::rounds;
use test_support::needles::{NeedleKind, Phrasings, Planted, Verdict};

/// The example session of the repository.
const EXAMPLE: &str = include_str!("../../../../examples/sessions/long.jsonl");

/// Bytes of a generated session.
const BYTES: usize = 300_000;

/// Sessions with needles and the seed of each: the example, and generated ones.
static SESSIONS: LazyLock<[(u64, Planted); 3]> = LazyLock::new(|| {
    let example: Vec<String> = EXAMPLE.lines().map(str::to_owned).collect();
    [
        (1, planted(&example, Phrasings::Known, 1)),
        (2, generated(Phrasings::Known, 2, BYTES)),
        (3, generated(Phrasings::Known, 3, BYTES)),
    ]
});

/// Returns what a budget comes to in every session.
fn measures(way: SummaryMethod, facts: Facts, percent: u64) -> Vec<Measured> {
    let budget = Budget::Percent(percent);
    let case = Case { way, facts, budget };
    let measured = SESSIONS.iter().map(|(seed, session)| {
        compact(&session.text(), &session.needles, case, *seed).expect("a compaction")
    });
    measured.collect()
}

/// Returns what misses its goal: the kinds with less than their share, and what is shown wrongly.
fn short_of_goals(
    measured: &[Measured],
    known: impl Fn(NeedleKind) -> Option<usize>,
) -> Vec<String> {
    let mut short = Vec::new();
    for kind in NeedleKind::ALL {
        let counts = measured.iter().map(|measured| measured.count(kind));
        let (good, all) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        let blind_alone = [NeedleKind::FinishedStep, NeedleKind::Distractor];
        assert!(
            all > 0 || blind_alone.contains(&kind),
            "no {} left the context",
            kind.name()
        );
        let goal = known(kind).or(measure::goal_percent(kind));
        if goal.is_some_and(|goal| good * 100 < goal * all) {
            short.push(format!("{}: {good} of {all}", kind.name()));
            let judged = measured.iter().flat_map(|measured| &measured.judged);
            let bad = judged.filter(|judged| {
                judged.left && judged.needle.kind == kind && !judged.verdict.is_good()
            });
            short.extend(bad.map(|judged| match &judged.verdict {
                Verdict::Wrong(line) => format!("  {}\n    {line}", judged.needle.said),
                Verdict::Kept | Verdict::Missed | Verdict::Clean => {
                    format!("  {}", judged.needle.said)
                }
            }));
        }
    }
    short
}

/// What falls short of its goal today, with the share that holds, in percent.
fn known_share(kind: NeedleKind, percent: u64) -> Option<usize> {
    let small = percent < 5;
    match (kind, small) {
        (NeedleKind::Pin, true) => Some(75),
        (NeedleKind::Rule, true) => Some(90),
        (NeedleKind::OpenError, true) => Some(85),
        (NeedleKind::NextStep, true) => Some(70),
        (NeedleKind::NextStep, false) => Some(90),
        // The lists of files take two fifths of the small sessions.
        (NeedleKind::Decision, true) => Some(60),
        (NeedleKind::Decision, false) => Some(90),
        (NeedleKind::Number, true) => Some(40),
        _ => None,
    }
}

fn check_goals(way: SummaryMethod, percent: u64) {
    let measured = measures(way, Facts::Ledger, percent);
    for one in &measured {
        assert!(one.budget * 100 <= one.removed * percent);
        assert!(
            one.summary <= one.budget,
            "{} tokens of {}",
            one.summary,
            one.budget
        );
    }
    let short = short_of_goals(&measured, |kind| known_share(kind, percent));
    assert!(short.is_empty(), "\n{}", short.join("\n"));
}

#[test]
fn context_full_holds_its_share_at_five_percent() {
    check_goals(SummaryMethod::ContextFull, 5);
}

#[test]
fn context_full_holds_its_share_at_two_percent() {
    check_goals(SummaryMethod::ContextFull, 2);
}

#[test]
fn extractive_holds_its_share_at_five_percent() {
    check_goals(SummaryMethod::Extractive, 5);
}

#[test]
fn extractive_holds_its_share_at_two_percent() {
    check_goals(SummaryMethod::Extractive, 2);
}

/// What was replaced, resolved, finished or turned down is told as nothing else where there is no ledger either.
#[test]
fn extractive_prose_alone_shows_nothing_wrongly() {
    let measured = measures(SummaryMethod::Extractive, Facts::ProseAlone, 5);
    let short = short_of_goals(&measured, |kind| kind.should_stay().then_some(0));
    assert!(short.is_empty(), "\n{}", short.join("\n"));
}

#[test]
fn restore_holds_its_share_at_five_percent() {
    check_goals(SummaryMethod::Restore, 5);
}

#[test]
fn restore_holds_its_share_at_two_percent() {
    check_goals(SummaryMethod::Restore, 2);
}

#[test]
fn what_is_planted_as_pinned_is_pinned() {
    let label = format!("\"label\":\"{PIN_LABEL}\"");
    let text = format!("\"customType\":\"{PIN_ENTRY}\"");
    let all: String = SESSIONS.iter().map(|(_, session)| session.text()).collect();
    assert!(all.contains(&label) && all.contains(&text));
}

#[test]
fn all_that_should_stay_takes_less_than_a_hundredth_of_what_leaves() {
    let counter = Profile::Own.counter();
    for measured in measures(SummaryMethod::ContextFull, Facts::Ledger, 2) {
        let stay = measured
            .judged
            .iter()
            .filter(|judged| judged.needle.kind.should_stay());
        let texts = stay.flat_map(|judged| &judged.needle.literals);
        let tokens: TokenCount = texts.map(|text| counter.text(text)).sum();
        assert!(
            tokens.0 * 100 < measured.removed,
            "{tokens} of {}",
            measured.removed
        );
    }
}

/// Without a ledger a canned answer keeps about its third: the measure tells a good summary from a poor one.
#[test]
fn a_model_that_forgets_is_seen_to_forget() {
    let measured = measures(SummaryMethod::ContextFull, Facts::ProseAlone, 5);
    for kind in [NeedleKind::Rule, NeedleKind::Decision, NeedleKind::NextStep] {
        let counts = measured.iter().map(|measured| measured.count(kind));
        let (good, all) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        let share = 100 * good / all;
        assert!(
            (10..=60).contains(&share),
            "{}: {good} of {all}",
            kind.name()
        );
    }
}

/// After twenty rounds nothing that was planted in the first ones is gone.
fn check_rounds(way: SummaryMethod) {
    let rounds = rounds(way, Facts::Ledger, Phrasings::Known, 7, 20).expect("twenty compactions");
    assert_eq!(rounds.rounds.len(), 20);
    let planted: usize = rounds.rounds[19].kinds.iter().map(|(_, _, all)| all).sum();
    assert_eq!(planted, 3 * (NeedleKind::ALL.len() - 2));
    for (number, round) in rounds.rounds.iter().enumerate() {
        let (summary, budget) = round.summary;
        assert!(
            summary <= budget,
            "round {number}: {summary} tokens of {budget}"
        );
        assert!(
            rounds.needles * 2 <= rounds.budget,
            "the needles take {} of {}",
            rounds.needles,
            rounds.budget
        );
        assert!(
            round.first_request,
            "round {number}: the first request is gone"
        );
        for kind in [NeedleKind::Pin, NeedleKind::Rule] {
            let lost = round.lost.iter().filter(|needle| needle.kind == kind);
            let lost: Vec<&str> = lost.map(|needle| needle.said.as_str()).collect();
            assert!(lost.is_empty(), "round {number}: {lost:?}");
        }
    }
    let fallen = rounds.fallen();
    let fallen: Vec<String> = fallen
        .iter()
        .map(|(round, needle)| format!("round {round}: {:?} {}", needle.kind, needle.said))
        .collect();
    assert!(fallen.is_empty(), "\n{}", fallen.join("\n"));
}

#[test]
fn context_full_forgets_nothing_in_twenty_rounds() {
    check_rounds(SummaryMethod::ContextFull);
}

#[test]
fn extractive_forgets_nothing_in_twenty_rounds() {
    check_rounds(SummaryMethod::Extractive);
}

#[test]
fn restore_forgets_nothing_in_twenty_rounds() {
    check_rounds(SummaryMethod::Restore);
}
