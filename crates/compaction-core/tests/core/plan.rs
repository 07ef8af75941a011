//! Plans: where a session is cut, what becomes of each entry, and when there is nothing to do.

use crate::sessions::{appended, calls, decoded, patched, patched_text, path, says};
use compaction_core::{
    Carried, CutPoint, CutRule, Disposition, ElisionPlan, NothingToDo, PlanOptions, Profile,
    TokenCount, Trigger, measure, plan_compaction, plan_elision,
};
use serde_json::{Value, json};
use session_model::{Block, Content, Decoded, build_context, decode_bytes};

/// What a case sets.
struct With {
    keep: u64,
    window: u64,
    rule: CutRule,
    profile: Profile,
}

const WITH: With = With {
    keep: 100,
    window: 200_000,
    rule: CutRule::Nearest,
    profile: Profile::Own,
};

const FIT: With = With {
    rule: CutRule::Fit,
    ..WITH
};

const PI: With = With {
    profile: Profile::Pi,
    ..WITH
};

/// Holds the plan of a session (in the notation, or decoded) against a snapshot.
macro_rules! check_plan {
    ($session:expr, $with:expr, @$expected:literal) => {
        insta::assert_snapshot!(planned(&$session.session(), &$with), @$expected)
    };
}

/// A session in one of the two ways in which cases give it.
trait GivenSession {
    fn session(&self) -> Decoded;
}

impl GivenSession for &str {
    fn session(&self) -> Decoded {
        decoded(self)
    }
}

impl GivenSession for (&str, &[(&str, Value)]) {
    fn session(&self) -> Decoded {
        patched(self.0, self.1)
    }
}

/// Returns the plan in lines: entries, cut, requests, files, elisions; or why there is none.
fn planned(decoded: &Decoded, with: &With) -> String {
    let mut options = PlanOptions::for_window(TokenCount(with.window));
    options.profile = with.profile;
    options.settings.compaction.keep_recent_tokens = TokenCount(with.keep);
    options.settings.compaction.cut_rule = with.rule;
    let trigger = Trigger::Manual { focus: None };
    let plan = match plan_compaction(&path(decoded), &trigger, &options) {
        Ok(plan) => plan,
        Err(why) => return why.to_string(),
    };
    let counter = plan.profile.counter();
    let name = |fate| match fate {
        Disposition::Kept => "kept",
        Disposition::Summarized => "summarized",
        Disposition::TurnPrefix => "turn prefix",
        Disposition::Pruned => "pruned",
        Disposition::PreviousSummary => "previous summary",
        Disposition::System => "system",
        Disposition::NoMessage => "no message",
    };
    let mut lines: Vec<String> = Vec::new();
    for entry in &plan.entries {
        lines.push(format!(
            "{} {} {}",
            entry.entry_id,
            name(entry.disposition),
            entry.tokens
        ));
    }
    lines.push(match plan.cut {
        CutPoint::Turn { .. } => format!(
            "cut at {}",
            plan.first_kept().map_or("nothing", |first| first.as_str())
        ),
        CutPoint::SplitTurn { turn_start, .. } => format!(
            "cut at {}, split turn {}",
            plan.first_kept().map_or("nothing", |first| first.as_str()),
            plan.entries[turn_start].entry_id
        ),
    });
    lines.push(format!(
        "keeps {} of {}",
        plan.keep.kept, plan.keep.effective
    ));
    for request in plan.requests() {
        let carried = match &request.carried {
            Carried::Nothing => String::new(),
            Carried::Summary(summary) => format!(", carries {}", counter.text(summary)),
            Carried::PreviousPart => ", carries the part before".to_owned(),
        };
        lines.push(format!(
            "{:?} {}/{}: {} in, {} out{carried}",
            request.kind,
            request.part,
            request.parts,
            counter.text(&request.conversation),
            request.max_output,
        ));
    }
    for (title, files) in [
        ("read", plan.files.read_files()),
        ("modified", plan.files.modified_files()),
    ] {
        if !files.is_empty() {
            lines.push(format!("{title}: {}", files.join(" ")));
        }
    }
    for elision in &plan.elisions {
        lines.push(format!(
            "elided {}: {} saved of {}",
            elision.entry_id, elision.saved, elision.tokens
        ));
    }
    lines.join("\n")
}

#[test]
fn nearest_cuts_at_the_entry_that_reaches_the_budget() {
    check_plan!("u:50 a:200 | u:50 a:60 | u:100 a:40", WITH, @"
    e1 summarized 45
    e2 summarized 160
    e3 summarized 45
    e4 summarized 52
    e5 kept 83
    e6 kept 38
    cut at e5
    keeps 121 of 100
    History 1/1: 299 in, 16384 out
    ");
}

#[test]
fn nearest_cuts_after_an_entry_that_reaches_the_budget_but_is_no_cut_point() {
    check_plan!("u:50 call:1:10 res:1:300 a:20 | u:20 a:20", WITH, @"
    e1 turn prefix 45
    e2 turn prefix 19
    e3 turn prefix 237
    e4 kept 22
    e5 kept 22
    e6 kept 22
    cut at e4, split turn e1
    keeps 66 of 100
    TurnPrefix 1/1: 298 in, 15000 out
    ");
}

#[test]
fn trailing_results_larger_than_the_budget_keep_their_call() {
    check_plan!("u:50 a:20 | u:20 call:1:10 res:1:500", WITH, @"
    e1 summarized 45
    e2 summarized 22
    e3 turn prefix 22
    e4 kept 19
    e5 kept 390
    cut at e4, split turn e3
    keeps 409 of 100
    History 1/1: 65 in, 16384 out
    TurnPrefix 1/1: 21 in, 15000 out
    ");
}

#[test]
fn fit_keeps_the_largest_suffix_that_fits() {
    check_plan!("u:50 a:200 | u:50 a:60 | u:50 a:40", FIT, @"
    e1 summarized 45
    e2 summarized 160
    e3 summarized 45
    e4 summarized 52
    e5 kept 45
    e6 kept 38
    cut at e5
    keeps 83 of 100
    History 1/1: 299 in, 16384 out
    ");
}

#[test]
fn fit_keeps_the_newest_group_even_when_it_does_not_fit() {
    check_plan!("u:50 a:20 | u:20 call:1:10 res:1:500", FIT, @"
    e1 summarized 45
    e2 summarized 22
    e3 turn prefix 22
    e4 kept 19
    e5 kept 390
    cut at e4, split turn e3
    keeps 409 of 100
    History 1/1: 65 in, 16384 out
    TurnPrefix 1/1: 21 in, 15000 out
    ");
}

#[test]
fn fit_keeps_calls_with_their_results() {
    check_plan!("u:50 a:200 call:1:10 res:1:40 call:2:10 res:2:60 a:10", FIT, @"
    e1 turn prefix 45
    e2 turn prefix 160
    e3 turn prefix 19
    e4 turn prefix 38
    e5 kept 19
    e6 kept 52
    e7 kept 14
    cut at e5, split turn e1
    keeps 85 of 100
    TurnPrefix 1/1: 259 in, 15000 out
    ");
}

#[test]
fn metadata_before_the_cut_is_pulled_into_the_kept_range() {
    check_plan!("u:50 a:200 | model info u:150 a:10", WITH, @"
    e1 summarized 45
    e2 summarized 160
    e3 no message 0
    e4 no message 0
    e5 kept 122
    e6 kept 14
    cut at e3
    keeps 136 of 100
    History 1/1: 203 in, 16384 out
    ");
}

#[test]
fn metadata_is_pulled_no_further_than_a_compaction() {
    check_plan!("u:50 a:200 | k@e2:20 model u:30 a:30 | model u:150 a:10", WITH, @"
    e3 previous summary 22
    e2 summarized 160
    e4 no message 0
    e5 summarized 29
    e6 summarized 29
    e7 no message 0
    e8 kept 122
    e9 kept 14
    cut at e7
    keeps 136 of 100
    History 1/1: 217 in, 16384 out, carries 18
    ");
    check_plan!("u:50 k@e1:20 model u:150 a:10", WITH, @"
    e2 previous summary 22
    e1 summarized 45
    e3 no message 0
    e4 kept 122
    e5 kept 14
    cut at e3
    keeps 136 of 100
    History 1/1: 43 in, 16384 out, carries 18
    ");
}

#[test]
fn the_kept_range_does_not_begin_with_a_result_that_an_edit_took_out() {
    let notation = "u:50 call:1:1 res:1:50 omit@e3 | u:150 a:10";
    check_plan!(notation, WITH, @"
    e1 summarized 45
    e2 summarized 12
    e3 no message 0
    e4 no message 0
    e5 kept 122
    e6 kept 14
    cut at e4
    keeps 136 of 100
    History 1/1: 56 in, 16384 out
    ");
    check_plan!(notation, PI, @"
    e1 turn prefix 50
    e2 turn prefix 6
    e3 no message 0
    e4 no message 0
    e5 kept 150
    e6 kept 10
    cut at e3, split turn e1
    keeps 160 of 100
    TurnPrefix 1/1: 64 in, 50000 out
    ");
}

#[test]
fn a_turn_is_split_when_the_cut_falls_inside_it() {
    check_plan!("u:50 a:60 | u:40 a:100 call:1:10 res:1:100 a:60", WITH, @"
    e1 summarized 45
    e2 summarized 52
    e3 turn prefix 38
    e4 turn prefix 83
    e5 turn prefix 19
    e6 turn prefix 83
    e7 kept 52
    cut at e7, split turn e3
    keeps 52 of 100
    History 1/1: 95 in, 16384 out
    TurnPrefix 1/1: 220 in, 15000 out
    ");
}

#[test]
fn a_split_turn_without_history_has_one_request() {
    check_plan!("u:40 a:100 call:1:10 res:1:100 a:60", WITH, @"
    e1 turn prefix 38
    e2 turn prefix 83
    e3 turn prefix 19
    e4 turn prefix 83
    e5 kept 52
    cut at e5, split turn e1
    keeps 52 of 100
    TurnPrefix 1/1: 220 in, 15000 out
    ");
}

#[test]
fn a_split_turn_after_a_compaction_leaves_the_summary_before_as_it_is() {
    check_plan!("u:30 a:30 | u:40 k@e3:50 a:100 call:1:10 res:1:100 a:60", WITH, @"
    e4 previous summary 45
    e3 turn prefix 38
    e5 turn prefix 83
    e6 turn prefix 19
    e7 turn prefix 83
    e8 kept 52
    cut at e8, split turn e3
    keeps 52 of 100
    TurnPrefix 1/1: 220 in, 15000 out
    ");
}

#[test]
fn history_after_a_compaction_brings_the_summary_up_to_date() {
    check_plan!("u:30 a:30 | u:40 k@e3:50 a:100 | u:30 a:90 a:60", WITH, @"
    e4 previous summary 45
    e3 summarized 38
    e5 summarized 83
    e6 turn prefix 29
    e7 kept 76
    e8 kept 52
    cut at e7, split turn e6
    keeps 128 of 100
    History 1/1: 118 in, 16384 out, carries 41
    TurnPrefix 1/1: 28 in, 15000 out
    ");
}

const INTERLEAVED: &str = "u:50 a:60 call:1:10 u:10 res:1:100 a:10";

#[test]
fn no_cut_parts_a_call_from_its_result() {
    check_plan!(INTERLEAVED, With { keep: 105, ..WITH }, @"
    e1 summarized 45
    e2 summarized 52
    e3 summarized 19
    e4 turn prefix 14
    e5 turn prefix 83
    e6 kept 14
    cut at e6, split turn e4
    keeps 14 of 105
    History 1/1: 114 in, 16384 out
    TurnPrefix 1/1: 96 in, 15000 out
    ");
    check_plan!(INTERLEAVED, With { keep: 130, ..WITH }, @"
    e1 turn prefix 45
    e2 turn prefix 52
    e3 kept 19
    e4 kept 14
    e5 kept 83
    e6 kept 14
    cut at e3, split turn e1
    keeps 130 of 130
    TurnPrefix 1/1: 95 in, 15000 out
    ");
}

#[test]
fn no_cut_parts_a_call_from_its_result_when_ids_repeat() {
    let notation = |id: fn(usize) -> usize| {
        let turns = (0..5).map(|turn| {
            let id = id(turn);
            format!("u:20 call:{id}:10 u:10 res:{id}:60 x:15 a:10 call:{id}:5 b:20 res:{id}:5 a:10")
        });
        turns.collect::<Vec<_>>().join(" | ")
    };
    let (repeated, distinct) = (decoded(&notation(|_| 0)), decoded(&notation(|turn| turn)));
    let mut cuts = Vec::new();
    for keep in 10..800 {
        for rule in [CutRule::Nearest, CutRule::Fit] {
            let with = With { keep, rule, ..WITH };
            let plan = planned(&repeated, &with);
            assert_eq!(plan, planned(&distinct, &with), "keep {keep}");
            let cut = plan.lines().find(|line| line.starts_with("cut at "));
            cuts.extend(cut.map(str::to_owned));
        }
    }
    cuts.sort();
    cuts.dedup();
    // Of the ten entries of a turn, the four behind a call that is still open are no cut points.
    let inside = |number: &usize| [3, 4, 8, 9].contains(&(number % 10));
    let forbidden = (1..=50)
        .filter(inside)
        .map(|number| format!("cut at e{number}"));
    for forbidden in forbidden {
        let found = cuts
            .iter()
            .find(|cut| cut.split(',').next() == Some(&forbidden));
        assert_eq!(found, None);
    }
    assert!(cuts.len() > 20, "{cuts:?}");
}

#[test]
fn pi_cuts_between_a_call_and_its_result() {
    check_plan!(INTERLEAVED, With { keep: 120, ..PI }, @"
    e1 summarized 50
    e2 summarized 60
    e3 summarized 15
    e4 kept 10
    e5 kept 100
    e6 kept 10
    cut at e4
    keeps 120 of 120
    History 1/1: 137 in, 50000 out
    ");
}

#[test]
fn nothing_is_cut_below_the_budget() {
    check_plan!("u:10 a:10 | u:10 a:10", WITH, @"Nothing to compact (session too small)");
    check_plan!("u:10 a:10 | u:10 a:10", FIT, @"Nothing to compact (session too small)");
    check_plan!("u:10 a:10 | u:10 a:10", PI, @"Nothing to compact (session too small)");
    check_plan!("", WITH, @"Nothing to compact (session too small)");
    check_plan!("model info", WITH, @"Nothing to compact (session too small)");
    check_plan!("u:500", WITH, @"Nothing to compact (session too small)");
}

#[test]
fn what_ends_in_a_compaction_is_compacted() {
    check_plan!("u:50 a:200 | u:50 a:60 k@e3:20", WITH, @"Already compacted");
    check_plan!("u:50 a:200 | u:50 a:60 k@e3:20 model info", WITH, @"Already compacted");
    check_plan!("u:50 a:200 | u:50 a:60 k@e3:20", PI, @"Already compacted");
}

#[test]
fn what_ends_in_a_compaction_is_compacted_again_above_the_threshold() {
    let small = With {
        keep: 500,
        window: 3000,
        ..WITH
    };
    check_plan!("u:50 a:1500 | u:1500 a:800 k@e2:20", small, @"
    e5 previous summary 22
    e2 summarized 1158
    e3 turn prefix 1158
    e4 kept 620
    cut at e4, split turn e3
    keeps 620 of 500
    History 1/1: 1158 in, 360 out, carries 18
    TurnPrefix 1/1: 1157 in, 225 out
    ");
}

#[test]
fn what_one_compaction_kept_is_summarized_by_the_next() {
    check_plan!("u:50 a:200 | u:50 a:60 k@e3:20 | u:50 a:50 | u:100 a:50", WITH, @"
    e5 previous summary 22
    e3 summarized 45
    e4 summarized 52
    e6 summarized 45
    e7 summarized 45
    e8 kept 83
    e9 kept 45
    cut at e8
    keeps 128 of 100
    History 1/1: 184 in, 16384 out, carries 18
    ");
}

#[test]
fn nothing_before_a_reset_boundary_is_in_the_plan() {
    check_plan!("u:50 a:200 k@e1:20 u:50 reset u:50 a:60 | u:50 a:80", WITH, @"
    e6 summarized 45
    e7 summarized 52
    e8 kept 45
    e9 kept 68
    cut at e8
    keeps 113 of 100
    History 1/1: 95 in, 16384 out
    ");
}

#[test]
fn the_cut_moves_past_a_request_whose_attempts_were_all_taken_out() {
    check_plan!("u:50 a:60 | u:150 a:10 omit@e4", WITH, @"
    e1 summarized 45
    e2 summarized 52
    e3 summarized 122
    e4 no message 0
    e5 no message 0
    cut at e4
    keeps 0 of 100
    History 1/1: 216 in, 16384 out
    ");
    check_plan!("u:50 a:60 | u:150 a:10 omit@e4", PI, @"
    e1 summarized 50
    e2 summarized 60
    e3 turn prefix 150
    e4 no message 0
    e5 no message 0
    cut at e4, split turn e3
    keeps 0 of 100
    History 1/1: 116 in, 50000 out
    TurnPrefix 1/1: 152 in, 50000 out
    ");
}

#[test]
fn an_attempt_taken_out_before_visible_messages_does_not_move_the_cut() {
    check_plan!("u:50 a:60 | u:150 a:10 omit@e4 a:5", WITH, @"
    e1 summarized 45
    e2 summarized 52
    e3 kept 122
    e4 no message 0
    e5 no message 0
    e6 kept 10
    cut at e3
    keeps 132 of 100
    History 1/1: 95 in, 16384 out
    ");
}

#[test]
fn an_edit_of_a_visible_entry_does_not_let_the_cut_move() {
    check_plan!("u:50 a:60 | u:150 a:10 omit@e4 cut@e2", WITH, @"
    e1 summarized 45
    e2 summarized 5
    e3 kept 122
    e4 no message 0
    e5 no message 0
    e6 no message 0
    cut at e3
    keeps 122 of 100
    History 1/1: 49 in, 16384 out
    ");
}

#[test]
fn what_stays_is_at_most_half_the_threshold_of_a_small_window() {
    let small = With {
        keep: 20_000,
        window: 16_000,
        ..WITH
    };
    check_plan!("u:5000 a:5000 | u:3000 a:3000 | u:3000 a:3000", small, @"
    e1 summarized 3846
    e2 summarized 3846
    e3 turn prefix 2310
    e4 kept 2310
    e5 kept 2310
    e6 kept 2310
    cut at e4, split turn e3
    keeps 6930 of 6800
    History 1/1: 7690 in, 1920 out
    TurnPrefix 1/1: 2309 in, 1200 out
    ");
    let medium = With {
        keep: 20_000,
        window: 32_000,
        ..WITH
    };
    check_plan!("u:8000 a:5000 | u:5000 a:5000 | u:4000 a:4000", medium, @"
    e1 summarized 6151
    e2 summarized 3846
    e3 turn prefix 3846
    e4 kept 3846
    e5 kept 3079
    e6 kept 3079
    cut at e4, split turn e3
    keeps 10004 of 8192
    History 1/1: 9995 in, 8000 out
    TurnPrefix 1/1: 3845 in, 7808 out
    ");
}

/// A window of 8,192 tokens: the threshold is 6,964.
const SMALL: With = With {
    keep: 1000,
    window: 8192,
    ..WITH
};

#[test]
fn an_oversized_newest_result_is_elided() {
    check_plan!("u:50 a:60 | u:20 call:1:10 res:1:20000", SMALL, @"
    e1 summarized 45
    e2 summarized 52
    e3 turn prefix 22
    e4 kept 19
    e5 pruned 15367
    cut at e4, split turn e3
    keeps 15386 of 1000
    History 1/1: 95 in, 982 out
    TurnPrefix 1/1: 21 in, 614 out
    elided e5: 13500 saved of 15367
    ");
}

#[test]
fn two_oversized_results_are_cut_to_their_share() {
    check_plan!("u:50 a:60 | u:20 call:1:10 call:2:10 res:1:5000 res:2:6000", SMALL, @"
    e1 summarized 45
    e2 summarized 52
    e3 turn prefix 22
    e4 kept 19
    e5 kept 19
    e6 pruned 3846
    e7 pruned 4614
    cut at e4, split turn e3
    keeps 8498 of 1000
    History 1/1: 95 in, 982 out
    TurnPrefix 1/1: 21 in, 614 out
    elided e6: 1981 saved of 3846
    elided e7: 2749 saved of 4614
    ");
}

#[test]
fn of_two_oversized_arguments_the_older_is_elided_first() {
    check_plan!("u:50 a:60 | u:20 call:1:5000 call:2:6000 res:1:10 res:2:10", SMALL, @"
    e1 summarized 45
    e2 summarized 52
    e3 turn prefix 22
    e4 pruned 3851
    e5 kept 4619
    e6 kept 14
    e7 kept 14
    cut at e4, split turn e3
    keeps 8498 of 1000
    History 1/1: 95 in, 982 out
    TurnPrefix 1/1: 21 in, 614 out
    elided e4: 3514 saved of 3851
    ");
}

#[test]
fn oversized_newest_thinking_is_elided() {
    let thinking = "I think therefore I am. ".repeat(3000);
    let content = json!({"message":{"content":[{"type":"thinking","thinking":thinking},{"type":"text","text":"done"}]}});
    check_plan!(("u:50 a:60 | u:20 a:10", &[("e4", content)][..]), SMALL, @"
    e1 summarized 45
    e2 summarized 52
    e3 turn prefix 22
    e4 pruned 18006
    cut at e4, split turn e3
    keeps 18006 of 1000
    History 1/1: 95 in, 982 out
    TurnPrefix 1/1: 21 in, 614 out
    elided e4: 18001 saved of 18006
    ");
}

#[test]
fn an_answer_that_is_all_thinking_leaves_a_notice() {
    let thinking = "I think therefore I am. ".repeat(3000);
    let content = json!({"message":{"content":[{"type":"thinking","thinking":thinking}]}});
    let session = patched("u:50 a:60 | u:20 a:10", &[("e4", content)]);
    let mut options = PlanOptions::for_window(TokenCount(SMALL.window));
    options.settings.compaction.keep_recent_tokens = TokenCount(SMALL.keep);
    let trigger = Trigger::Manual { focus: None };
    let plan = plan_compaction(&path(&session), &trigger, &options).expect("a plan");
    let left = plan.elisions[0].replacement.joined_text("");
    insta::assert_snapshot!(left, @"[Output truncated - 18005 tokens]");
}

#[test]
fn an_oversized_newest_argument_is_elided() {
    let text = "let it be known. ".repeat(4000);
    let call = calls("1", "write", &json!({"path":"a.rs","content":text}));
    check_plan!(("u:50 a:60 | u:20 a:10 res:1:10", &[("e4", call)][..]), SMALL, @"
    e1 summarized 45
    e2 summarized 52
    e3 turn prefix 22
    e4 pruned 20015
    e5 kept 14
    cut at e4, split turn e3
    keeps 20029 of 1000
    History 1/1: 95 in, 982 out
    TurnPrefix 1/1: 21 in, 614 out
    elided e4: 19510 saved of 20015
    ");
}

#[test]
fn an_oversized_newest_request_of_the_user_is_refused_with_the_figures() {
    check_plan!("u:50 a:60 | u:20000 a:10", SMALL, @"what must stay takes 15581 tokens, more than the window of 8192: tokens of messages 15581; begin a new session or use a larger window");
}

/// Returns the elision plan of a session in a window of 8,192 tokens.
fn elided(decoded: &Decoded) -> Result<ElisionPlan, NothingToDo> {
    let options = PlanOptions::for_window(TokenCount(SMALL.window));
    plan_elision(&path(decoded), &options)
}

/// Returns the replacement of an answer with these blocks (as JSON, `LONG` being a long text) that is
/// all of its session but a request.
fn elided_answer(blocks: &str) -> Result<Content, NothingToDo> {
    let marked = json!({"message":{"content":"BLOCKS","stopReason":"toolUse"}});
    let text = patched_text("u:20 a:10 res:1:10", &[("e2", marked)]);
    let text = text.replace("\"BLOCKS\"", &format!("[{blocks}]"));
    let text = text.replace("LONG", &"let it be known. ".repeat(4000));
    let session = decode_bytes(text.into_bytes());
    assert_eq!(session.diagnostics, []);
    let plan = elided(&session)?;
    let [elision] = plan.elisions.as_slice() else {
        panic!("one elision: {:?}", plan.elisions);
    };
    assert_eq!(&*elision.entry_id, "e2");
    Ok(elision.replacement.clone())
}

#[test]
fn a_skill_that_was_read_is_shortened_last() {
    let elided = |read: &str, own: usize, other: usize| {
        let notation = format!("u:20 read:1:{read} res:1:{own} read:2:b.rs res:2:{other}");
        let plan = elided(&decoded(&notation)).expect("a plan");
        let elisions = plan.elisions.iter();
        let ids = elisions.map(|elision| elision.entry_id.to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(elided("a.rs", 6000, 5000), "e3");
    assert_eq!(elided(".agents/skills/a/SKILL.md", 6000, 5000), "e5");
    // Nothing else is large enough.
    assert_eq!(elided(".agents/skills/a/SKILL.md", 12_000, 500), "e3");
    assert_eq!(elided("skills/a/SKILL.md", 6000, 50_000), "e5");
}

#[test]
fn elision_keeps_the_spelling_of_arguments_that_it_does_not_touch() {
    let deep = format!("{}1{}", "{\"in\": [".repeat(200), "]}".repeat(200));
    let arguments = format!(
        r#"{{"number": 12345678901234567890123, "text":"LONG","deep":{deep},"float":1.50e3,"a\u002fb":"\u00e9"}}"#
    );
    let call = format!(
        r#"{{"type":"toolCall","id":"1","name":"write","arguments":{arguments},"thoughtSignature":"signed"}}"#
    );
    let replaced = elided_answer(&call).expect("an elision");
    let [Block::ToolCall(call)] = replaced.blocks() else {
        panic!("one call: {replaced:?}");
    };
    let text = call.arguments.as_ref().map_or("", |raw| raw.get());
    assert!(
        text.starts_with(r#"{"number":12345678901234567890123,"text":"let it be"#),
        "{text}"
    );
    let end = format!(r#","deep":{deep},"float":1.50e3,"a/b":"\u00e9"}}"#);
    assert!(text.ends_with(&end), "{text}");
    assert!(text.contains("[Output truncated - "), "{text}");
    assert!(text.len() < 8000);
    // A signature covers the arguments.
    assert_eq!(call.signature, None);
}

#[test]
fn elision_drops_signatures_of_what_it_changes_only() {
    let blocks = [
        r#"{"type":"text","text":"short","textSignature":"one"}"#,
        r#"{"type":"text","text":"LONG","textSignature":"two"}"#,
        r#"{"type":"thinking","thinking":"hm","thinkingSignature":"three"}"#,
        r#"{"type":"toolCall","id":"1","name":"bash","arguments":{"command": "ls"},"thoughtSignature":"four"}"#,
    ];
    let replaced = elided_answer(&blocks.join(",")).expect("an elision");
    let signatures: Vec<_> = replaced
        .blocks()
        .iter()
        .map(|block| match block {
            Block::Text(block) => block.signature.as_deref(),
            Block::Thinking(block) => block.signature.as_deref(),
            Block::ToolCall(call) => {
                let arguments = call
                    .arguments
                    .as_ref()
                    .map(session_model::json::RawJson::get);
                assert_eq!(arguments, Some(r#"{"command": "ls"}"#));
                call.signature.as_deref()
            }
            Block::Image(_) | Block::Other { .. } => panic!("{block:?}"),
        })
        .collect();
    assert_eq!(signatures, [Some("one"), None, Some("three"), Some("four")]);
}

#[test]
fn an_answer_with_a_block_of_an_unknown_type_is_left_alone() {
    let blocks = r#"{"type":"text","text":"LONG"},{"type":"hologram","data":[1]}"#;
    let refused = elided_answer(blocks).expect_err("nothing else to shorten");
    insta::assert_snapshot!(refused, @"what must stay takes 20041 tokens, more than the window of 8192: tokens of messages 20041; begin a new session or use a larger window");
}

#[test]
fn a_newest_turn_above_the_threshold_has_nothing_old_and_is_elided() {
    let session = decoded("call:1:10 res:1:20000");
    check_plan!("call:1:10 res:1:20000", SMALL, @"the newest turn alone takes 15386 tokens, more than the threshold of 6964");
    let plan = elided(&session).expect("an elision");
    let ids: Vec<&str> = plan
        .elisions
        .iter()
        .map(|elision| &*elision.entry_id)
        .collect();
    assert_eq!((ids, &*plan.leaf), (vec!["e2"], "e2"));
    let text = appended(
        &patched_text("call:1:10 res:1:20000", &[]),
        Some("e2"),
        &plan.apply(),
    );
    let after = decode_bytes(text.into_bytes());
    let context = build_context(&path(&after), Profile::Own.context_rules());
    let measured = measure(&path(&after), &context, Profile::Own).tokens;
    assert_eq!(measured, plan.tokens_before.saturating_sub(plan.saved));
    assert!(measured <= TokenCount(6964), "{measured}");
}

#[test]
fn elision_of_what_is_below_the_threshold_is_nothing_to_do() {
    assert_eq!(
        elided(&decoded("u:20 call:1:10 res:1:2000")),
        Err(NothingToDo::TooSmall)
    );
}

#[test]
fn elision_that_does_not_help_is_refused_with_the_figures() {
    let refused = elided(&decoded("u:20000")).expect_err("too much");
    insta::assert_snapshot!(refused, @"what must stay takes 15367 tokens, more than the window of 8192: tokens of messages 15367; begin a new session or use a larger window");
}

#[test]
fn pi_rescues_nothing() {
    let pi = With {
        profile: Profile::Pi,
        ..SMALL
    };
    check_plan!("u:50 a:60 | u:20 call:1:10 res:1:20000", pi, @"
    e1 summarized 50
    e2 summarized 60
    e3 turn prefix 20
    e4 kept 15
    e5 kept 20000
    cut at e4, split turn e3
    keeps 20015 of 1000
    History 1/1: 116 in, 2048 out
    TurnPrefix 1/1: 22 in, 2048 out
    ");
}

#[test]
fn system_messages_are_never_summarized() {
    check_plan!("sys:80 u:50 sys:90 a:200 | u:150 a:10", WITH, @"
    e1 no message 0
    e2 summarized 45
    e3 no message 0
    e4 summarized 160
    e5 kept 122
    e6 kept 14
    cut at e5
    keeps 136 of 100
    History 1/1: 203 in, 16384 out
    ");
    check_plan!("sys:80 u:50 sys:90 a:200 | u:150 a:10", PI, @"
    e1 system 80
    e2 summarized 50
    e3 system 90
    e4 summarized 200
    e5 kept 150
    e6 kept 10
    cut at e5
    keeps 160 of 100
    History 1/1: 256 in, 50000 out
    ");
}

#[test]
fn failed_calls_leave_no_file() {
    let notation = "u:50 read:1:a.rs res:1:10 write:2:b.rs err:2:10 | u:150 a:10";
    check_plan!(notation, WITH, @"
    e1 summarized 45
    e2 summarized 12
    e3 summarized 14
    e4 summarized 12
    e5 summarized 14
    e6 kept 122
    e7 kept 14
    cut at e6
    keeps 136 of 100
    History 1/1: 97 in, 16384 out
    read: a.rs
    ");
    check_plan!(notation, PI, @"
    e1 summarized 50
    e2 summarized 5
    e3 summarized 10
    e4 summarized 5
    e5 summarized 10
    e6 kept 150
    e7 kept 10
    cut at e6
    keeps 160 of 100
    History 1/1: 103 in, 50000 out
    read: a.rs
    modified: b.rs
    ");
}

#[test]
fn a_failure_counts_even_when_an_edit_took_it_out() {
    check_plan!("u:50 write:1:b.rs err:1:10 omit@e3 | u:150 a:10", WITH, @"
    e1 summarized 45
    e2 summarized 12
    e3 no message 0
    e4 no message 0
    e5 kept 122
    e6 kept 14
    cut at e4
    keeps 136 of 100
    History 1/1: 56 in, 16384 out
    ");
}

#[test]
fn a_failure_concerns_its_own_call_when_ids_repeat() {
    check_plan!("u:50 write:1:a.rs res:1:9 write:1:b.rs err:1:9 | u:150 call:1:1 err:1:9", WITH, @"
    e1 summarized 45
    e2 summarized 12
    e3 summarized 14
    e4 summarized 12
    e5 summarized 14
    e6 kept 122
    e7 kept 12
    e8 kept 14
    cut at e6
    keeps 148 of 100
    History 1/1: 96 in, 16384 out
    modified: a.rs
    ");
}

#[test]
fn a_failure_behind_the_cut_concerns_no_call_before_it_when_ids_repeat() {
    check_plan!("u:50 write:0:a.rs res:0:9 | u:150 call:0:1 err:0:9", WITH, @"
    e1 summarized 45
    e2 summarized 12
    e3 summarized 14
    e4 kept 122
    e5 kept 12
    e6 kept 14
    cut at e4
    keeps 148 of 100
    History 1/1: 68 in, 16384 out
    modified: a.rs
    ");
}

#[test]
fn file_tools_of_other_agents_count_under_their_names() {
    let patches = [
        ("e2", calls("1", "Read", &json!({"file_path":"/r.rs"}))),
        (
            "e4",
            calls("2", "str_replace", &json!({"filePath":"/e.rs"})),
        ),
        (
            "e6",
            calls("3", "create_file", &json!({"filename":"/c.rs"})),
        ),
        ("e8", calls("4", "bash", &json!({"path":"/no.rs"}))),
        ("e10", calls("5", "edit", &json!({"path":""}))),
    ];
    let notation = "u:50 a:1 res:1:9 a:1 res:2:9 a:1 res:3:9 a:1 res:4:9 a:1 res:5:9 | u:150 a:10";
    check_plan!((notation, &patches[..]), WITH, @"
    e1 summarized 45
    e2 summarized 13
    e3 summarized 14
    e4 summarized 14
    e5 summarized 14
    e6 summarized 13
    e7 summarized 14
    e8 summarized 12
    e9 summarized 14
    e10 summarized 9
    e11 summarized 13
    e12 kept 122
    e13 kept 14
    cut at e12
    keeps 136 of 100
    History 1/1: 166 in, 16384 out
    read: /r.rs
    modified: /c.rs /e.rs
    ");
}

#[test]
fn a_file_that_was_changed_is_not_listed_as_read() {
    check_plan!("u:50 edit:1:a.rs res:1:9 read:2:a.rs res:2:9 read:3:b.rs res:3:9 | u:150 a:10", WITH, @"
    e1 summarized 45
    e2 summarized 12
    e3 summarized 14
    e4 summarized 12
    e5 summarized 14
    e6 summarized 12
    e7 summarized 14
    e8 kept 122
    e9 kept 14
    cut at e8
    keeps 136 of 100
    History 1/1: 116 in, 16384 out
    read: b.rs
    modified: a.rs
    ");
}

#[test]
fn files_touched_after_the_cut_are_not_listed() {
    check_plan!("u:50 read:1:a.rs res:1:9 | u:150 read:2:b.rs res:2:9", WITH, @"
    e1 summarized 45
    e2 summarized 12
    e3 summarized 14
    e4 kept 122
    e5 kept 12
    e6 kept 14
    cut at e4
    keeps 148 of 100
    History 1/1: 68 in, 16384 out
    read: a.rs
    ");
}

const COMPACTED: &str = "u:50 a:20 k@e2:20 u:50 | u:150 a:10";

#[test]
fn files_of_the_compaction_before_are_carried_on() {
    let details = json!({"details":{"readFiles":["old.rs"],"modifiedFiles":["changed.rs"]}});
    check_plan!((COMPACTED, &[("e3", details)][..]), WITH, @"
    e3 previous summary 22
    e2 summarized 22
    e4 summarized 45
    e5 kept 122
    e6 kept 14
    cut at e5
    keeps 136 of 100
    History 1/1: 65 in, 16384 out, carries 18
    read: old.rs
    modified: changed.rs
    ");
}

#[test]
fn files_of_a_compaction_by_an_extension_are_not_carried_on() {
    let details = json!({"details":{"readFiles":["old.rs"],"modifiedFiles":["changed.rs"]},"fromExtension":true});
    check_plan!((COMPACTED, &[("e3", details)][..]), WITH, @"
    e3 previous summary 22
    e2 summarized 22
    e4 summarized 45
    e5 kept 122
    e6 kept 14
    cut at e5
    keeps 136 of 100
    History 1/1: 65 in, 16384 out, carries 18
    ");
    let details =
        json!({"details":{"readFiles":["old.rs"],"modifiedFiles":["changed.rs"]},"fromHook":true});
    check_plan!((COMPACTED, &[("e3", details)][..]), PI, @"
    e3 previous summary 20
    e2 summarized 20
    e4 summarized 50
    e5 kept 150
    e6 kept 10
    cut at e5
    keeps 160 of 100
    History 1/1: 76 in, 50000 out, carries 20
    ");
}

#[test]
fn files_of_branch_summaries_are_carried_on() {
    let details = json!({"details":{"readFiles":["branch.rs"],"modifiedFiles":["there.rs"]}});
    let given = ("u:50 s:30 a:20 | u:150 a:10", &[("e2", details)][..]);
    check_plan!(given, WITH, @"
    e1 summarized 45
    e2 summarized 29
    e3 summarized 22
    e4 kept 122
    e5 kept 14
    cut at e4
    keeps 136 of 100
    History 1/1: 127 in, 16384 out
    read: branch.rs
    modified: there.rs
    ");
    check_plan!(given, PI, @"
    e1 summarized 50
    e2 summarized 30
    e3 summarized 20
    e4 kept 150
    e5 kept 10
    cut at e4
    keeps 160 of 100
    History 1/1: 133 in, 50000 out
    ");
}

#[test]
fn the_order_of_touching_does_not_order_the_lists() {
    let patches = [("e1", says("sort them"))];
    check_plan!(("u:5 read:1:z.rs res:1:9 read:2:a.rs res:2:9 read:3:Z.rs res:3:9 | u:150 a:10", &patches[..]), WITH, @"
    e1 summarized 6
    e2 summarized 12
    e3 summarized 14
    e4 summarized 12
    e5 summarized 14
    e6 summarized 12
    e7 summarized 14
    e8 kept 122
    e9 kept 14
    cut at e8
    keeps 136 of 100
    History 1/1: 78 in, 16384 out
    read: Z.rs a.rs z.rs
    ");
}
