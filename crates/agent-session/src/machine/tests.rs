//! The machine, row by row.
//!
//! A script is a line of events, divided by semicolons; what stands before a bar
//! happens unseen. An event meets the work that is awaited, or the one it names
//! (`stored #3`). Words such as `asking` stand for the events that lead there.

use std::fmt::Write as _;

use insta::assert_snapshot;
use session_model::EntryId;

use session_protocol::{Navigation, TurnEnd};

use super::*;
use session_store::Delivery;

/// To the model.
const ASKING: &str = "say p; checked; stored";
/// From the model to the check between tools.
const BATCH: &str = "answered calls; stored; tools; stored";
const BETWEEN: &str = "asking; batch";
/// To the check after a turn.
const AFTER: &str = "asking; answered done; stored";
/// To the model, with a preparation beside it.
const PREPARING: &str = "between; checked speculate";
/// To a check between tools, after one compaction that failed and one that was refused.
const FAILING: &str =
    "between; checked 100 due; ended failed a; batch; checked 100 due; ended nothing b; batch";
/// To a check between tools, after three that failed.
const HALTED: &str = "failing; checked 100 due; ended failed c; batch";

fn run(script: &str) -> String {
    run_with(Policy::default(), script)
}

fn run_with(policy: Policy, script: &str) -> String {
    let (unseen, seen) = script.split_once('|').unwrap_or(("", script));
    let mut machine = Machine::new(policy);
    for line in events(unseen) {
        machine = transition(machine.clone(), parse(&machine, line)).0;
    }
    let mut out = String::new();
    for line in events(seen) {
        let event = parse(&machine, line);
        let (after, effects) = transition(machine, event);
        machine = after;
        let effects: Vec<_> = effects.iter().map(effect).collect();
        let effects = match effects.is_empty() {
            true => "-".to_owned(),
            false => effects.join(", "),
        };
        writeln!(out, "{line} -> {effects}").unwrap();
    }
    out
}

fn events(script: &str) -> Vec<&str> {
    let parts = script.split(';').map(str::trim);
    parts
        .flat_map(|part| match part {
            "" => Vec::new(),
            "asking" => events(ASKING),
            "batch" => events(BATCH),
            "between" => events(BETWEEN),
            "after" => events(AFTER),
            "preparing" => events(PREPARING),
            "failing" => events(FAILING),
            "halted" => events(HALTED),
            event => vec![event],
        })
        .collect()
}

impl CheckPoint {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::BeforePrompt => "before_prompt",
            Self::BetweenTools => "between_tools",
            Self::AfterTurn => "after_turn",
            Self::WhenIdle => "idle",
        }
    }
}

fn awaited(machine: &Machine) -> Job {
    machine.state.job().unwrap_or(Job(0))
}

fn parse(machine: &Machine, line: &str) -> Event {
    let (line, number) = match line.rsplit_once(" #") {
        Some((line, number)) => (line, Some(Job(number.parse().unwrap()))),
        None => (line, None),
    };
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let job = number.unwrap_or_else(|| awaited(machine));
    let (what, why) = rest.split_once(' ').unwrap_or((rest, ""));
    let id = EntryId::new(rest);
    match verb {
        "say" => Event::Queued {
            id,
            delivery: Delivery::Prompt,
        },
        "steer" => Event::Queued {
            id,
            delivery: Delivery::Steer,
        },
        "later" => Event::Queued {
            id,
            delivery: Delivery::FollowUp,
        },
        "take" => Event::Dequeued(id),
        "resume" => Event::Resume(match rest {
            "rest" => ResumePoint::Rest,
            "unanswered" => ResumePoint::Unanswered,
            "calls" => ResumePoint::PendingCalls,
            other => panic!("no resume point: {other}"),
        }),
        "abort" => Event::Abort,
        "abort-compaction" => Event::AbortCompaction,
        "close" => Event::Close,
        "compact" => {
            let focus = (!rest.is_empty()).then(|| rest.to_owned());
            Event::Compact(Box::new(Requested::Compaction(focus.into())))
        }
        "handoff" => Event::Compact(Box::new(Requested::Handoff { focus: None })),
        "go" => Event::Navigate(Navigation {
            target: Some(id),
            summarize: false,
            focus: None,
            label: None,
        }),
        "automatic" => Event::SetAutomatic(rest == "on"),
        "model" => Event::ModelChanged,
        "checked" => Event::Checked {
            job,
            result: result(rest),
        },
        "promoted" => Event::Promoted { job, error: None },
        "not-promoted" => Event::Promoted {
            job,
            error: Some(rest.to_owned()),
        },
        "stored" => Event::Stored(job),
        "withheld" => Event::Withheld(job),
        "store-failed" => Event::StoreFailed {
            job,
            error: rest.to_owned(),
        },
        "answered" | "answered+" => Event::Answered {
            job,
            end: match what {
                "done" => AnswerEnd::Done,
                "calls" => AnswerEnd::Calls,
                "cut" => AnswerEnd::CutOff,
                "overflow" => AnswerEnd::Overflow(why.to_owned()),
                "failed" => AnswerEnd::Failed(why.to_owned()),
                "stopped" => AnswerEnd::Aborted,
                other => panic!("no end: {other}"),
            },
            can_promote: verb == "answered+",
        },
        "tools" => Event::ToolsDone(job),
        "ended" => Event::CompactionEnded {
            job,
            ended: ended(what, why),
        },
        "navigated" => Event::NavigationEnded {
            job,
            ended: ended(what, why),
        },
        "prepared" | "not-prepared" => Event::BackgroundEnded {
            job: number
                .or(machine.memory.background.map(Background::job))
                .unwrap(),
            ready: verb == "prepared",
        },
        "elapsed" => Event::Elapsed(match (machine.state.clone(), number) {
            (_, Some(job))
            | (
                State::Compacting(Compaction {
                    grace: Some(job), ..
                }),
                None,
            ) => job,
            _ => machine.memory.idle_timer.unwrap(),
        }),
        other => panic!("no event: {other}"),
    }
}

fn result(words: &str) -> CheckResult {
    let mut result = CheckResult::default();
    for word in words.split_whitespace() {
        match word {
            "due" => result.due = true,
            "images" => result.images_due = true,
            "idle" => result.idle_due = true,
            "promote" => result.can_promote = true,
            "speculate" => result.speculate = true,
            "dollar" => result.spent_micro_usd = 1_000_000,
            tokens => result.tokens = tokens.parse().unwrap(),
        }
    }
    result
}

fn ended(what: &str, why: &str) -> JobEnd {
    match what {
        "well" => JobEnd::Compacted { frees_enough: true },
        "little" => JobEnd::Compacted {
            frees_enough: false,
        },
        "handoff" => JobEnd::HandedOff,
        "nothing" => JobEnd::Nothing(why.to_owned()),
        "failed" => JobEnd::Failed(why.to_owned()),
        "cancelled" => JobEnd::Cancelled,
        "stale" => JobEnd::Stale,
        other => panic!("no end: {other}"),
    }
}

fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Check { job, point } => format!("check#{} {}", job.0, point.name()),
        Effect::Promote(job) => format!("promote#{}", job.0),
        Effect::Store { job, write } => format!("store#{} {}", job.0, written(write)),
        Effect::Ask(job) => format!("ask#{}", job.0),
        Effect::RunTools(job) => format!("tools#{}", job.0),
        Effect::Compact {
            job,
            trigger,
            choice,
            omits_failed,
            ..
        } => {
            let how = match choice {
                StrategyChoice::Configured => "configured",
                StrategyChoice::InThisSession => "here",
                StrategyChoice::Handoff => "handoff",
                StrategyChoice::By(strategy) => strategy.name(),
            };
            let focus = trigger.focus().map(|focus| format!(" on {focus}"));
            let omits = if *omits_failed { " omitting" } else { "" };
            let focus = focus.unwrap_or_default();
            format!("compact#{} {} {how}{focus}{omits}", job.0, trigger.name())
        }
        Effect::StartBackground(job) => format!("prepare#{}", job.0),
        Effect::Splice {
            job,
            background,
            trigger,
            omits_failed,
        } => {
            let omits = if *omits_failed { " omitting" } else { "" };
            format!(
                "splice#{} of #{} {}{omits}",
                job.0,
                background.0,
                trigger.name()
            )
        }
        Effect::Navigate { job, navigation } => {
            format!(
                "go#{} {}",
                job.0,
                navigation.target.as_deref().unwrap_or("start")
            )
        }
        Effect::Cancel(job) => format!("cancel#{}", job.0),
        Effect::Discard(background) => format!("discard#{}", background.0),
        Effect::IdleTimer(job) => format!("idle#{}", job.0),
        Effect::GraceTimer(job) => format!("grace#{}", job.0),
        Effect::Notify(notice) => format!("[{}]", telling(notice)),
    }
}

fn written(write: &Write) -> String {
    match write {
        Write::Messages(ids) => ids
            .iter()
            .map(EntryId::as_str)
            .collect::<Vec<_>>()
            .join("+"),
        Write::Answer(_) => "answer".to_owned(),
        Write::Results => "results".to_owned(),
        Write::Continue => "continue".to_owned(),
        Write::Omission => "omission".to_owned(),
    }
}

fn telling(notice: &Notice) -> String {
    match notice {
        Notice::TurnStarted => "turn".to_owned(),
        Notice::TurnEnded(TurnEnd::Done) => "turn done".to_owned(),
        Notice::TurnEnded(TurnEnd::Aborted) => "turn aborted".to_owned(),
        Notice::TurnEnded(TurnEnd::LimitReached(limit)) => {
            format!("turn {}", limit.split(',').next().unwrap())
        }
        Notice::TurnEnded(TurnEnd::Failed(why)) => format!("turn failed: {why}"),
        Notice::CompactionStarted { job, trigger, .. } => {
            format!("compaction#{} {}", job.0, trigger.name())
        }
        Notice::CompactionEnded {
            trigger,
            aborted,
            will_retry,
            error,
        } => {
            let aborted = if *aborted { " aborted" } else { "" };
            let retry = if *will_retry { " retries" } else { "" };
            let error = error
                .as_ref()
                .map(|error| format!(": {error}"))
                .unwrap_or_default();
            format!("{} over{aborted}{retry}{error}", trigger.name())
        }
        Notice::AutomaticStopped(why) => why.clone(),
        Notice::Refused(why) => format!("refused: {why}"),
        Notice::Failed(why) => format!("error: {why}"),
        Notice::Resting { waiting: 0 } => "rest".to_owned(),
        Notice::Resting { waiting } => format!("rest, {waiting} wait"),
        Notice::Closed => "closed".to_owned(),
    }
}

fn continuing(continues: Continue) -> Policy {
    Policy {
        continues,
        ..Policy::default()
    }
}

fn handing_off(continues: Continue) -> Policy {
    Policy {
        hands_off: true,
        continues,
        ..Policy::default()
    }
}

#[test]
fn a_turn_ends_before_it_asks_more_often_than_it_may() {
    let policy = Policy {
        most_requests: Some(2),
        ..Policy::default()
    };
    // The results are written, nothing is compacted for a request that is not sent, and what waits is kept.
    let script =
        "asking; batch; checked; answered calls; stored; tools; later b; stored | checked 100 due";
    assert_snapshot!(run_with(policy, script), @"checked 100 due -> [turn the turn asked the model 2 times], [rest, 1 wait], idle#13");
    // The next message begins to count anew.
    let script = "asking; batch; checked; batch; checked | say c; checked; stored";
    assert_snapshot!(run_with(policy, script), @"
    say c -> check#14 before_prompt
    checked -> store#15 c
    stored -> [turn], ask#16
    ");
}

#[test]
fn a_turn_ends_before_it_costs_more_than_it_may() {
    let policy = Policy {
        most_micro_usd: Some(1_000_000),
        ..Policy::default()
    };
    let script = "asking; batch | checked; batch; checked dollar; say b; checked; stored";
    assert_snapshot!(run_with(policy, script), @"
    checked -> ask#8
    answered calls -> store#9 answer
    stored -> tools#10
    tools -> store#11 results
    stored -> check#12 between_tools
    checked dollar -> [turn the run has cost $1], [rest], idle#13
    say b -> check#14 before_prompt
    checked -> store#15 b
    stored -> [turn], [turn the run has cost $1], [rest], idle#16
    ");
}

// The course of a turn.

#[test]
fn a_prompt_is_checked_written_and_answered() {
    assert_snapshot!(run("say p; checked; stored; answered done; stored; checked"), @"
    say p -> check#1 before_prompt
    checked -> store#2 p
    stored -> [turn], ask#3
    answered done -> store#4 answer
    stored -> check#5 after_turn
    checked -> [turn done], [rest], idle#6
    ");
}

#[test]
fn tools_run_until_the_model_is_done() {
    assert_snapshot!(run("asking | answered calls; stored; tools; stored; checked; answered done; stored; checked"), @"
    answered calls -> store#4 answer
    stored -> tools#5
    tools -> store#6 results
    stored -> check#7 between_tools
    checked -> ask#8
    answered done -> store#9 answer
    stored -> check#10 after_turn
    checked -> [turn done], [rest], idle#11
    ");
}

#[test]
fn what_steers_is_written_before_the_next_request() {
    assert_snapshot!(run("asking | answered calls; stored; steer s; tools; stored; steer t; checked; stored; answered done"), @"
    answered calls -> store#4 answer
    stored -> tools#5
    steer s -> -
    tools -> store#6 results
    stored -> check#7 between_tools
    steer t -> -
    checked -> store#8 s+t
    stored -> ask#9
    answered done -> store#10 answer
    ");
}

#[test]
fn a_turn_begins_with_all_that_steers_and_one_follow_up() {
    assert_snapshot!(run("asking | later a; later b; steer s; steer t; answered done; stored; checked; checked"), @"
    later a -> -
    later b -> -
    steer s -> -
    steer t -> -
    answered done -> store#4 answer
    stored -> check#5 after_turn
    checked -> [turn done], check#6 before_prompt
    checked -> store#7 s+t+a
    ");
}

#[test]
fn a_failed_answer_ends_the_turn_and_what_waits_stays() {
    assert_snapshot!(run("asking | later a; answered failed no key; stored; elapsed; checked; say b; checked"), @"
    later a -> -
    answered failed no key -> store#4 answer
    stored -> [turn failed: no key], [rest, 1 wait], idle#5
    elapsed -> check#6 idle
    checked -> [rest, 1 wait], idle#7
    say b -> check#8 before_prompt
    checked -> store#9 a
    ");
}

#[test]
fn a_session_that_ends_in_an_unanswered_message_goes_on_with_a_check() {
    assert_snapshot!(run("resume unanswered; steer s; checked; stored; answered done; stored; checked"), @"
    resume unanswered -> [turn], check#1 between_tools
    steer s -> -
    checked -> store#2 s
    stored -> ask#3
    answered done -> store#4 answer
    stored -> check#5 after_turn
    checked -> [turn done], [rest], idle#6
    ");
}

#[test]
fn a_session_that_ends_in_calls_goes_on_with_the_tools() {
    assert_snapshot!(run("resume calls; later a; tools; stored; checked"), @"
    resume calls -> [turn], tools#1
    later a -> -
    tools -> store#2 results
    stored -> check#3 between_tools
    checked -> ask#4
    ");
}

#[test]
fn a_session_at_rest_goes_on_with_what_waits() {
    assert_snapshot!(run("asking | later a; abort; answered stopped; stored; resume rest; checked"), @"
    later a -> -
    abort -> cancel#3
    answered stopped -> store#4 answer
    stored -> [turn aborted], [rest, 1 wait], idle#5
    resume rest -> [rest, 1 wait], idle#6
    checked -> -
    ");
}

#[test]
fn a_session_at_rest_where_nothing_waits_rests() {
    assert_snapshot!(run("resume rest"), @"resume rest -> [rest], idle#1");
}

#[test]
fn nothing_is_resumed_while_something_runs() {
    assert_snapshot!(run("asking | resume calls"), @"resume calls -> -");
}

// Aborts.

#[test]
fn an_abort_stops_the_answer_and_ends_the_turn() {
    assert_snapshot!(run("asking | abort; answered stopped; stored"), @"
    abort -> cancel#3
    answered stopped -> store#4 answer
    stored -> [turn aborted], [rest], idle#5
    ");
}

#[test]
fn an_abort_stops_the_tools_and_keeps_their_results() {
    assert_snapshot!(run("asking | answered calls; stored; abort; tools; stored"), @"
    answered calls -> store#4 answer
    stored -> tools#5
    abort -> cancel#5
    tools -> store#6 results
    stored -> [turn aborted], [rest], idle#7
    ");
}

#[test]
fn messages_that_are_withheld_wait() {
    assert_snapshot!(run("say a; checked | abort; withheld; say b; checked"), @"
    abort -> cancel#2
    withheld -> [rest, 1 wait], idle#3
    say b -> check#4 before_prompt
    checked -> store#5 a
    ");
    assert_snapshot!(run("asking | answered calls; stored; tools; steer s; stored; checked; abort; withheld"), @"
    answered calls -> store#4 answer
    stored -> tools#5
    tools -> store#6 results
    steer s -> -
    stored -> check#7 between_tools
    checked -> store#8 s
    abort -> cancel#8
    withheld -> [turn aborted], [rest, 1 wait], idle#9
    ");
    assert_snapshot!(run("say a; checked | compact; withheld; ended well"), @"
    compact -> cancel#2
    withheld -> [compaction#3 manual], compact#3 manual configured
    ended well -> [manual over], store#4 a
    ");
}

#[test]
fn what_an_abort_kept_is_sent_with_the_next_message() {
    assert_snapshot!(run("asking | later a; abort; answered stopped; stored; steer s; checked"), @"
    later a -> -
    abort -> cancel#3
    answered stopped -> store#4 answer
    stored -> [turn aborted], [rest, 1 wait], idle#5
    steer s -> check#6 before_prompt
    checked -> store#7 s+a
    ");
}

#[test]
fn what_is_said_after_an_abort_is_sent_when_the_turn_has_stopped() {
    assert_snapshot!(run("asking | abort; say a; answered stopped; stored; checked"), @"
    abort -> cancel#3
    say a -> -
    answered stopped -> store#4 answer
    stored -> [turn aborted], check#5 before_prompt
    checked -> store#6 a
    ");
}

#[test]
fn an_answer_that_was_done_before_the_abort_ends_the_turn_well() {
    assert_snapshot!(run("asking | later a; abort; answered done; stored"), @"
    later a -> -
    abort -> cancel#3
    answered done -> store#4 answer
    stored -> [turn done], [rest, 1 wait], idle#5
    ");
}

#[test]
fn only_what_hooks_may_look_at_is_cancelled() {
    assert_snapshot!(run("asking | answered calls; stored; tools; abort"), @"
    answered calls -> store#4 answer
    stored -> tools#5
    tools -> store#6 results
    abort -> -
    ");
    assert_snapshot!(run("asking | answered done; abort"), @"
    answered done -> store#4 answer
    abort -> -
    ");
}

#[test]
fn a_compaction_that_is_asked_for_waits_for_a_check() {
    assert_snapshot!(run("say p; compact; checked; ended well; stored"), @"
    say p -> check#1 before_prompt
    compact -> cancel#1
    checked -> [compaction#2 manual], compact#2 manual configured
    ended well -> [manual over], store#3 p
    stored -> [turn], ask#4
    ");
}

#[test]
fn an_abort_in_a_compaction_ends_the_turn() {
    assert_snapshot!(run("between | checked due; abort; ended cancelled"), @"
    checked due -> [compaction#8 threshold], compact#8 threshold here
    abort -> cancel#8
    ended cancelled -> [threshold over aborted: Compaction cancelled], [turn aborted], [rest], idle#9
    ");
}

#[test]
fn an_abort_in_a_recovery_ends_the_turn_as_aborted() {
    assert_snapshot!(run("asking | answered overflow too large; stored; abort; ended cancelled"), @"
    answered overflow too large -> store#4 answer
    stored -> [compaction#5 overflow], compact#5 overflow here omitting
    abort -> cancel#5
    ended cancelled -> [overflow over aborted: Compaction cancelled], [turn aborted], [rest], idle#6
    ");
}

#[test]
fn an_abort_forgets_a_handoff_that_was_due() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "between | checked due; abort; answered stopped; stored; say q; checked; stored; answered done; stored; checked"), @"
    checked due -> ask#8
    abort -> cancel#8
    answered stopped -> store#9 answer
    stored -> [turn aborted], [rest], idle#10
    say q -> check#11 before_prompt
    checked -> store#12 q
    stored -> [turn], ask#13
    answered done -> store#14 answer
    stored -> check#15 after_turn
    checked -> [turn done], [rest], idle#16
    ");
}

#[test]
fn an_abort_takes_the_place_of_a_wanted_compaction() {
    assert_snapshot!(run("asking | compact; abort; answered stopped; stored"), @"
    compact -> cancel#3
    abort -> [refused: Compaction cancelled]
    answered stopped -> store#4 answer
    stored -> [turn aborted], [rest], idle#5
    ");
}

#[test]
fn an_answer_that_was_stopped_by_others_ends_the_turn_and_keeps_what_waits() {
    assert_snapshot!(run("asking | later a; answered stopped; stored"), @"
    later a -> -
    answered stopped -> store#4 answer
    stored -> [turn aborted], [rest, 1 wait], idle#5
    ");
}

// Manual compactions.

#[test]
fn a_manual_compaction_at_rest_ends_in_rest() {
    assert_snapshot!(run("compact the tests; ended well"), @"
    compact the tests -> [compaction#1 manual], compact#1 manual configured on the tests
    ended well -> [manual over], [rest], idle#2
    ");
}

#[test]
fn a_manual_compaction_stops_the_answer_and_the_turn_goes_on() {
    assert_snapshot!(run("asking | compact; answered stopped; stored; ended well; stored"), @"
    compact -> cancel#3
    answered stopped -> store#4 answer
    stored -> [compaction#5 manual], compact#5 manual configured
    ended well -> [manual over retries], store#6 continue
    stored -> ask#7
    ");
}

#[test]
fn a_manual_compaction_stops_the_tools_and_the_turn_goes_on() {
    assert_snapshot!(run("asking | answered calls; stored; compact; tools; stored; ended well"), @"
    answered calls -> store#4 answer
    stored -> tools#5
    compact -> cancel#5
    tools -> store#6 results
    stored -> [compaction#7 manual], compact#7 manual configured
    ended well -> [manual over], ask#8
    ");
}

#[test]
fn a_manual_compaction_that_finds_the_answer_done_ends_in_rest() {
    assert_snapshot!(run("asking | compact; answered done; stored; ended well"), @"
    compact -> cancel#3
    answered done -> store#4 answer
    stored -> [turn done], [compaction#5 manual], compact#5 manual configured
    ended well -> [manual over], [rest], idle#6
    ");
}

#[test]
fn a_manual_compaction_that_finds_calls_lets_the_turn_go_on() {
    assert_snapshot!(run("asking | compact; answered calls; stored; ended well; stored"), @"
    compact -> cancel#3
    answered calls -> store#4 answer
    stored -> tools#5, cancel#5
    ended well -> -
    stored -> -
    ");
}

#[test]
fn a_manual_compaction_that_finds_a_failed_answer_keeps_what_waits() {
    assert_snapshot!(run("asking | later a; compact; answered failed no key; stored; ended well"), @"
    later a -> -
    compact -> cancel#3
    answered failed no key -> store#4 answer
    stored -> [turn failed: no key], [compaction#5 manual], compact#5 manual configured
    ended well -> [manual over], [rest, 1 wait], idle#6
    ");
}

#[test]
fn a_manual_compaction_that_finds_an_overflow_makes_room_and_asks_again() {
    assert_snapshot!(run("asking | compact; answered overflow too large; stored; ended well"), @"
    compact -> cancel#3
    answered overflow too large -> store#4 answer
    stored -> [compaction#5 manual], compact#5 manual configured omitting
    ended well -> [manual over retries], ask#6
    ");
}

#[test]
fn a_manual_compaction_while_messages_are_written_runs_before_the_request() {
    assert_snapshot!(run("say p; checked | compact; stored; ended well"), @"
    compact -> cancel#2
    stored -> [turn], [compaction#3 manual], compact#3 manual configured
    ended well -> [manual over], ask#4
    ");
}

#[test]
fn a_manual_compaction_in_a_check_before_a_prompt_runs_before_it_is_written() {
    assert_snapshot!(run("say p | compact; checked due; ended well"), @"
    compact -> cancel#1
    checked due -> [compaction#2 manual], compact#2 manual configured
    ended well -> [manual over], store#3 p
    ");
}

#[test]
fn a_manual_compaction_in_a_check_after_a_turn_runs_at_rest() {
    assert_snapshot!(run("after | compact; checked due; ended well"), @"
    compact -> cancel#5
    checked due -> [turn done], [compaction#6 manual], compact#6 manual configured
    ended well -> [manual over], [rest], idle#7
    ");
}

#[test]
fn a_manual_compaction_in_a_promotion_runs_before_the_request() {
    assert_snapshot!(run("asking | answered+ overflow too large; stored; compact; promoted; stored; ended well"), @"
    answered+ overflow too large -> store#4 answer
    stored -> promote#5
    compact -> -
    promoted -> store#6 omission
    stored -> [compaction#7 manual], compact#7 manual configured
    ended well -> [manual over], ask#8
    ");
}

#[test]
fn a_failed_manual_compaction_says_why_and_the_turn_goes_on() {
    assert_snapshot!(run("asking | compact; answered stopped; stored; ended failed no model answered; stored"), @"
    compact -> cancel#3
    answered stopped -> store#4 answer
    stored -> [compaction#5 manual], compact#5 manual configured
    ended failed no model answered -> [manual over: Compaction failed: no model answered], store#6 continue
    stored -> ask#7
    ");
}

#[test]
fn a_manual_compaction_with_nothing_to_do_says_so_as_it_is() {
    assert_snapshot!(run("compact; ended nothing Nothing to compact (session too small); compact; ended nothing Already compacted"), @"
    compact -> [compaction#1 manual], compact#1 manual configured
    ended nothing Nothing to compact (session too small) -> [manual over: Nothing to compact (session too small)], [rest], idle#2
    compact -> [compaction#3 manual], compact#3 manual configured
    ended nothing Already compacted -> [manual over: Already compacted], [rest], idle#4
    ");
}

#[test]
fn a_cancelled_manual_compaction_lets_the_turn_go_on() {
    assert_snapshot!(run("asking | compact; answered stopped; stored; abort-compaction; ended cancelled; stored"), @"
    compact -> cancel#3
    answered stopped -> store#4 answer
    stored -> [compaction#5 manual], compact#5 manual configured
    abort-compaction -> cancel#5
    ended cancelled -> [manual over aborted: Compaction cancelled], store#6 continue
    stored -> ask#7
    ");
}

#[test]
fn a_wanted_compaction_that_is_cancelled_lets_the_stopped_answer_go_on() {
    assert_snapshot!(run("asking | compact; abort-compaction; answered stopped; stored; stored"), @"
    compact -> cancel#3
    abort-compaction -> [refused: Compaction cancelled]
    answered stopped -> store#4 answer
    stored -> store#5 continue
    stored -> ask#6
    ");
}

#[test]
fn a_wanted_compaction_that_is_cancelled_in_a_check_lets_the_check_decide() {
    assert_snapshot!(run("between | compact; abort-compaction; checked due"), @"
    compact -> cancel#7
    abort-compaction -> [refused: Compaction cancelled]
    checked due -> [compaction#8 threshold], compact#8 threshold here
    ");
}

#[test]
fn a_compaction_is_refused_while_one_runs_or_is_about_to() {
    assert_snapshot!(run("asking | compact; compact; answered stopped; stored; compact"), @"
    compact -> cancel#3
    compact -> [refused: a compaction is about to run already]
    answered stopped -> store#4 answer
    stored -> [compaction#5 manual], compact#5 manual configured
    compact -> [refused: a compaction is running already]
    ");
}

#[test]
fn a_compaction_is_refused_while_the_session_stops_moves_or_ends() {
    assert_snapshot!(run("asking | abort; compact; answered stopped; stored; go x; compact; close; navigated cancelled; compact; go x; say a"), @"
    abort -> cancel#3
    compact -> [refused: the agent is being stopped; try again when it has]
    answered stopped -> store#4 answer
    stored -> [turn aborted], [rest], idle#5
    go x -> go#6 x
    compact -> [refused: the session is moving; try again when it has]
    close -> cancel#6
    navigated cancelled -> [closed]
    compact -> [refused: the session has ended]
    go x -> [refused: the session has ended]
    say a -> [refused: the session has ended]
    ");
}

#[test]
fn a_manual_handoff_lets_the_new_session_go_on() {
    assert_snapshot!(run("asking | handoff; answered stopped; stored; ended handoff; stored"), @"
    handoff -> cancel#3
    answered stopped -> store#4 answer
    stored -> [compaction#5 manual], compact#5 manual handoff
    ended handoff -> [manual over retries], store#6 continue
    stored -> ask#7
    ");
}

#[test]
fn a_manual_handoff_between_tools_asks_the_new_session_to_go_on() {
    assert_snapshot!(run("between | handoff; checked; ended handoff; stored"), @"
    handoff -> cancel#7
    checked -> [compaction#8 manual], compact#8 manual handoff
    ended handoff -> [manual over], store#9 continue
    stored -> ask#10
    ");
}

// Overflow.

#[test]
fn an_overflow_is_compacted_here_and_asked_for_again() {
    assert_snapshot!(run("asking | answered overflow too large; stored; ended well; answered done; stored; checked"), @"
    answered overflow too large -> store#4 answer
    stored -> [compaction#5 overflow], compact#5 overflow here omitting
    ended well -> [overflow over retries], ask#6
    answered done -> store#7 answer
    stored -> check#8 after_turn
    checked -> [turn done], [rest], idle#9
    ");
}

#[test]
fn an_overflow_is_recovered_from_once() {
    assert_snapshot!(run("asking | answered overflow too large; stored; ended well; answered overflow too large; stored"), @"
    answered overflow too large -> store#4 answer
    stored -> [compaction#5 overflow], compact#5 overflow here omitting
    ended well -> [overflow over retries], ask#6
    answered overflow too large -> store#7 answer
    stored -> [turn failed: Context overflow recovery failed: the context still does not fit after a compaction: too large], [rest], idle#8
    ");
}

#[test]
fn an_overflow_after_an_answer_is_recovered_from_again() {
    assert_snapshot!(run("asking | answered overflow too large; stored; ended well; batch; checked; answered overflow too large; stored"), @"
    answered overflow too large -> store#4 answer
    stored -> [compaction#5 overflow], compact#5 overflow here omitting
    ended well -> [overflow over retries], ask#6
    answered calls -> store#7 answer
    stored -> tools#8
    tools -> store#9 results
    stored -> check#10 between_tools
    checked -> ask#11
    answered overflow too large -> store#12 answer
    stored -> [compaction#13 overflow], compact#13 overflow here omitting
    ");
}

#[test]
fn an_overflow_promotes_first() {
    assert_snapshot!(run("asking | answered+ overflow too large; stored; promoted; stored; answered done; stored; checked"), @"
    answered+ overflow too large -> store#4 answer
    stored -> promote#5
    promoted -> store#6 omission
    stored -> ask#7
    answered done -> store#8 answer
    stored -> check#9 after_turn
    checked -> [turn done], [rest], idle#10
    ");
}

#[test]
fn an_overflow_that_could_not_promote_compacts() {
    assert_snapshot!(run_with(handing_off(Continue::Always), "asking | answered+ overflow too large; stored; not-promoted no key for it; ended well"), @"
    answered+ overflow too large -> store#4 answer
    stored -> promote#5
    not-promoted no key for it -> [error: no key for it], [compaction#6 overflow], compact#6 overflow here omitting
    ended well -> [overflow over retries], ask#7
    ");
}

#[test]
fn an_overflow_with_automatic_compaction_off_fails() {
    assert_snapshot!(run("automatic off; asking | answered overflow too large; stored"), @"
    answered overflow too large -> store#4 answer
    stored -> [turn failed: Context overflow recovery failed: too large (automatic compaction is switched off)], [rest], idle#5
    ");
}

#[test]
fn an_overflow_with_automatic_compaction_off_still_promotes() {
    assert_snapshot!(run("automatic off; asking | answered+ overflow too large; stored; promoted; stored"), @"
    answered+ overflow too large -> store#4 answer
    stored -> promote#5
    promoted -> store#6 omission
    stored -> ask#7
    ");
}

#[test]
fn an_overflow_with_automatic_compaction_off_that_cannot_promote_fails() {
    assert_snapshot!(run("automatic off; asking | answered+ overflow too large; stored; not-promoted no key"), @"
    answered+ overflow too large -> store#4 answer
    stored -> promote#5
    not-promoted no key -> [error: no key], [turn failed: Context overflow recovery failed: no larger model could take over (automatic compaction is switched off)], [rest], idle#6
    ");
}

#[test]
fn an_overflow_whose_compaction_fails_ends_the_turn() {
    assert_snapshot!(run("asking | answered overflow too large; stored; ended failed no model answered"), @"
    answered overflow too large -> store#4 answer
    stored -> [compaction#5 overflow], compact#5 overflow here omitting
    ended failed no model answered -> [overflow over: Context overflow recovery failed: no model answered], [turn failed: Context overflow recovery failed: no model answered], [rest], idle#6
    ");
}

#[test]
fn an_overflow_whose_compaction_is_cancelled_ends_the_turn() {
    assert_snapshot!(run("asking | answered overflow too large; stored; abort-compaction; ended cancelled"), @"
    answered overflow too large -> store#4 answer
    stored -> [compaction#5 overflow], compact#5 overflow here omitting
    abort-compaction -> cancel#5
    ended cancelled -> [overflow over aborted: Compaction cancelled], [turn failed: Context overflow recovery failed: it was cancelled], [rest], idle#6
    ");
}

#[test]
fn an_overflow_is_recovered_from_in_a_turn_that_declined_a_compaction() {
    assert_snapshot!(run("between | checked due; abort-compaction; ended cancelled; answered overflow too large; stored"), @"
    checked due -> [compaction#8 threshold], compact#8 threshold here
    abort-compaction -> cancel#8
    ended cancelled -> [threshold over aborted: Compaction cancelled], ask#9
    answered overflow too large -> store#10 answer
    stored -> [compaction#11 overflow], compact#11 overflow here omitting
    ");
}

// Answers that were cut off.

#[test]
fn a_cut_off_answer_is_compacted_and_asked_for_again() {
    assert_snapshot!(run("asking | answered cut; stored; ended well; answered done; stored"), @"
    answered cut -> store#4 answer
    stored -> [compaction#5 incomplete], compact#5 incomplete configured omitting
    ended well -> [incomplete over retries], ask#6
    answered done -> store#7 answer
    stored -> check#8 after_turn
    ");
}

#[test]
fn cut_off_answers_are_asked_for_again_three_times_in_a_row() {
    assert_snapshot!(run("asking; answered cut; stored; ended well; answered cut; stored; ended well | answered cut; stored; ended well; answered cut; stored"), @"
    answered cut -> store#10 answer
    stored -> [compaction#11 incomplete], compact#11 incomplete configured omitting
    ended well -> [incomplete over retries], ask#12
    answered cut -> store#13 answer
    stored -> [turn failed: Incomplete response recovery failed: the answer was cut off 4 times in a row; raise the model's output cap or ask for less in one answer], [rest], idle#14
    ");
}

#[test]
fn a_cut_off_answer_may_hand_off() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "asking | answered cut; stored; ended handoff; stored"), @"
    answered cut -> store#4 answer
    stored -> [compaction#5 incomplete], compact#5 incomplete configured omitting
    ended handoff -> [incomplete over retries], store#6 continue
    stored -> ask#7
    ");
}

#[test]
fn a_cut_off_answer_that_handed_off_goes_on_only_by_itself() {
    assert_snapshot!(run_with(handing_off(Continue::Never), "asking | answered cut; stored; ended handoff"), @"
    answered cut -> store#4 answer
    stored -> [compaction#5 incomplete], compact#5 incomplete configured omitting
    ended handoff -> [incomplete over], [turn done], [rest], idle#6
    ");
}

#[test]
fn a_cut_off_answer_whose_compaction_fails_ends_the_turn() {
    assert_snapshot!(run("asking | answered cut; stored; ended failed no model answered"), @"
    answered cut -> store#4 answer
    stored -> [compaction#5 incomplete], compact#5 incomplete configured omitting
    ended failed no model answered -> [incomplete over: Incomplete response recovery failed: no model answered], [turn failed: Incomplete response recovery failed: no model answered], [rest], idle#6
    ");
}

#[test]
fn a_cut_off_answer_with_automatic_compaction_off_fails() {
    assert_snapshot!(run("automatic off; asking | answered cut; stored"), @"
    answered cut -> store#4 answer
    stored -> [turn failed: Incomplete response recovery failed: the answer was cut off (automatic compaction is switched off)], [rest], idle#5
    ");
}

#[test]
fn three_cut_off_answers_of_one_turn_do_not_count_in_the_next() {
    assert_snapshot!(run("asking; answered cut; stored; ended well; answered cut; stored; ended well; answered cut; stored; ended well | answered cut; stored; say q; checked; stored; answered cut; stored"), @"
    answered cut -> store#13 answer
    stored -> [turn failed: Incomplete response recovery failed: the answer was cut off 4 times in a row; raise the model's output cap or ask for less in one answer], [rest], idle#14
    say q -> check#15 before_prompt
    checked -> store#16 q
    stored -> [turn], ask#17
    answered cut -> store#18 answer
    stored -> [compaction#19 incomplete], compact#19 incomplete configured omitting
    ");
}

// Threshold.

#[test]
fn the_threshold_before_a_prompt_compacts_and_sends() {
    assert_snapshot!(run("say p; checked due; ended well; stored"), @"
    say p -> check#1 before_prompt
    checked due -> [compaction#2 threshold], compact#2 threshold configured
    ended well -> [threshold over], store#3 p
    stored -> [turn], ask#4
    ");
}

#[test]
fn the_threshold_between_tools_compacts_and_asks() {
    assert_snapshot!(run("between | checked due; ended well"), @"
    checked due -> [compaction#8 threshold], compact#8 threshold here
    ended well -> [threshold over], ask#9
    ");
}

#[test]
fn the_threshold_after_a_turn_compacts_and_the_turn_is_over() {
    assert_snapshot!(run("after | checked due; ended well"), @"
    checked due -> [compaction#6 threshold], compact#6 threshold configured
    ended well -> [threshold over], [turn done], [rest], idle#7
    ");
}

#[test]
fn the_threshold_goes_on_where_its_compaction_failed() {
    assert_snapshot!(run("between | checked due; ended failed no model answered; answered done; stored; checked due; ended failed no model answered"), @"
    checked due -> [compaction#8 threshold], compact#8 threshold here
    ended failed no model answered -> [threshold over: Auto-compaction failed: no model answered], ask#9
    answered done -> store#10 answer
    stored -> check#11 after_turn
    checked due -> [compaction#12 threshold], compact#12 threshold configured
    ended failed no model answered -> [threshold over: Auto-compaction failed: no model answered], [turn done], [rest], idle#13
    ");
}

#[test]
fn the_threshold_before_a_prompt_promotes_first() {
    assert_snapshot!(run("say p; checked due promote; promoted; stored"), @"
    say p -> check#1 before_prompt
    checked due promote -> promote#2
    promoted -> store#3 p
    stored -> [turn], ask#4
    ");
}

#[test]
fn the_threshold_compacts_where_it_could_not_promote() {
    assert_snapshot!(run("between | checked due promote; not-promoted no key for it"), @"
    checked due promote -> promote#8
    not-promoted no key for it -> [error: no key for it], [compaction#9 threshold], compact#9 threshold here
    ");
}

#[test]
fn the_threshold_with_automatic_compaction_off_only_promotes() {
    assert_snapshot!(run("automatic off; between | checked due promote; not-promoted no key; answered calls; stored; tools; stored; checked due"), @"
    checked due promote -> promote#8
    not-promoted no key -> [error: no key], ask#9
    answered calls -> store#10 answer
    stored -> tools#11
    tools -> store#12 results
    stored -> check#13 between_tools
    checked due -> ask#14
    ");
}

#[test]
fn the_threshold_wins_over_images() {
    assert_snapshot!(run("between | checked due images"), @"checked due images -> [compaction#8 threshold], compact#8 threshold here");
}

// Going on after a turn.

#[test]
fn a_turn_that_is_over_is_not_continued_after_its_compaction() {
    for continues in [Continue::Never, Continue::WhenAtWork] {
        insta::allow_duplicates! {
            assert_snapshot!(run_with(continuing(continues), "after | checked due; ended well"), @"
            checked due -> [compaction#6 threshold], compact#6 threshold configured
            ended well -> [threshold over], [turn done], [rest], idle#7
            ");
        }
    }
}

#[test]
fn a_turn_goes_on_always_where_settings_say_so() {
    assert_snapshot!(run_with(continuing(Continue::Always), "after | checked due; ended well; stored"), @"
    checked due -> [compaction#6 threshold], compact#6 threshold configured
    ended well -> [threshold over], store#7 continue
    stored -> ask#8
    ");
}

#[test]
fn what_waits_goes_before_a_request_to_continue() {
    assert_snapshot!(run_with(continuing(Continue::Always), "after | checked due; later a; ended well; checked"), @"
    checked due -> [compaction#6 threshold], compact#6 threshold configured
    later a -> -
    ended well -> [threshold over], [turn done], check#7 before_prompt
    checked -> store#8 a
    ");
}

#[test]
fn a_turn_whose_compaction_failed_does_not_go_on() {
    assert_snapshot!(run("after | checked due; ended failed no model answered"), @"
    checked due -> [compaction#6 threshold], compact#6 threshold configured
    ended failed no model answered -> [threshold over: Auto-compaction failed: no model answered], [turn done], [rest], idle#7
    ");
}

// Handoffs.

#[test]
fn a_handoff_between_tools_waits_for_the_end_of_the_turn() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "between | checked due; answered done; stored; checked; ended handoff"), @"
    checked due -> ask#8
    answered done -> store#9 answer
    stored -> check#10 after_turn
    checked -> [compaction#11 threshold], compact#11 threshold configured
    ended handoff -> [threshold over], [turn done], [rest], idle#12
    ");
}

#[test]
fn a_handoff_that_could_not_promote_between_tools_waits_too() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "between | checked due promote; not-promoted no key; answered done; stored; checked"), @"
    checked due promote -> promote#8
    not-promoted no key -> [error: no key], ask#9
    answered done -> store#10 answer
    stored -> check#11 after_turn
    checked -> [compaction#12 threshold], compact#12 threshold configured
    ");
}

#[test]
fn a_handoff_before_a_prompt_runs_at_once_and_the_prompt_goes_to_the_new_session() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "say p; checked due; ended handoff; stored"), @"
    say p -> check#1 before_prompt
    checked due -> [compaction#2 threshold], compact#2 threshold configured
    ended handoff -> [threshold over], store#3 p
    stored -> [turn], ask#4
    ");
}

#[test]
fn a_handoff_behind_an_answer_waits_for_the_user_in_the_new_session() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "after | checked due; ended handoff"), @"
    checked due -> [compaction#6 threshold], compact#6 threshold configured
    ended handoff -> [threshold over], [turn done], [rest], idle#7
    ");
}

#[test]
fn a_handoff_that_waited_is_not_needed_after_a_manual_compaction() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "between | checked due; compact; answered stopped; stored; ended well; stored; answered done; stored; checked"), @"
    checked due -> ask#8
    compact -> cancel#8
    answered stopped -> store#9 answer
    stored -> [compaction#10 manual], compact#10 manual configured
    ended well -> [manual over retries], store#11 continue
    stored -> ask#12
    answered done -> store#13 answer
    stored -> check#14 after_turn
    checked -> [turn done], [rest], idle#15
    ");
}

#[test]
fn a_handoff_that_waited_is_not_needed_after_a_change_of_model() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "between | checked due; model; answered done; stored; checked"), @"
    checked due -> ask#8
    model -> -
    answered done -> store#9 answer
    stored -> check#10 after_turn
    checked -> [turn done], [rest], idle#11
    ");
}

// Images and idle sessions.

#[test]
fn too_many_images_compact_between_tools() {
    assert_snapshot!(run("between | checked images; ended well"), @"
    checked images -> [compaction#8 image], compact#8 image here
    ended well -> [image over], ask#9
    ");
}

#[test]
fn images_do_not_promote() {
    assert_snapshot!(run("between | checked images promote"), @"checked images promote -> [compaction#8 image], compact#8 image here");
}

#[test]
fn a_failed_compaction_for_images_says_so() {
    assert_snapshot!(run("say p; checked images; ended failed no model answered"), @"
    say p -> check#1 before_prompt
    checked images -> [compaction#2 image], compact#2 image configured
    ended failed no model answered -> [image over: Auto-compaction failed: no model answered], store#3 p
    ");
}

#[test]
fn an_idle_session_is_compacted_and_rests() {
    assert_snapshot!(run("after; checked | elapsed; checked idle; ended well"), @"
    elapsed -> check#7 idle
    checked idle -> [compaction#8 idle], compact#8 idle configured
    ended well -> [idle over], [rest], idle#9
    ");
}

#[test]
fn an_idle_session_below_its_figure_rests() {
    assert_snapshot!(run("after; checked | elapsed; checked due images promote"), @"
    elapsed -> check#7 idle
    checked due images promote -> [rest], idle#8
    ");
}

#[test]
fn an_idle_session_is_compacted_once_between_two_answers() {
    assert_snapshot!(run("after; checked | elapsed; checked idle; ended well; elapsed; checked idle"), @"
    elapsed -> check#7 idle
    checked idle -> [compaction#8 idle], compact#8 idle configured
    ended well -> [idle over], [rest], idle#9
    elapsed -> check#10 idle
    checked idle -> [rest], idle#11
    ");
}

#[test]
fn an_idle_session_is_compacted_again_after_an_answer() {
    assert_snapshot!(run("after; checked; elapsed; checked idle; ended well; after; checked | elapsed; checked idle"), @"
    elapsed -> check#16 idle
    checked idle -> [compaction#17 idle], compact#17 idle configured
    ");
}

#[test]
fn an_idle_session_is_compacted_again_after_a_change_of_branch() {
    assert_snapshot!(run("after; checked; elapsed; checked idle; ended well; go x; navigated well | elapsed; checked idle"), @"
    elapsed -> check#12 idle
    checked idle -> [compaction#13 idle], compact#13 idle configured
    ");
}

#[test]
fn an_idle_session_is_left_alone_after_a_manual_compaction() {
    assert_snapshot!(run("after; checked; compact; ended well | elapsed; checked idle"), @"
    elapsed -> check#9 idle
    checked idle -> [rest], idle#10
    ");
}

#[test]
fn an_idle_session_never_goes_on() {
    assert_snapshot!(run_with(continuing(Continue::Always), "after; checked | elapsed; checked idle; ended well"), @"
    elapsed -> check#7 idle
    checked idle -> [compaction#8 idle], compact#8 idle configured
    ended well -> [idle over], [rest], idle#9
    ");
}

#[test]
fn a_failed_idle_compaction_says_so() {
    assert_snapshot!(run("after; checked | elapsed; checked idle; ended failed no model answered"), @"
    elapsed -> check#7 idle
    checked idle -> [compaction#8 idle], compact#8 idle configured
    ended failed no model answered -> [idle over: Auto-compaction failed: no model answered], [rest], idle#9
    ");
}

// Guards.

#[test]
fn three_failures_in_a_row_stop_the_automatic_ones_but_not_the_recovery_of_an_overflow() {
    assert_snapshot!(run("failing | checked 100 due; ended failed c; batch; checked 100 due; answered overflow too large; stored; ended failed d; elapsed; checked 100 idle"), @"
    checked 100 due -> [compaction#20 threshold], compact#20 threshold here
    ended failed c -> [threshold over: Auto-compaction failed: c], [3 automatic compactions failed; the next waits until the context has changed by a tenth, or overflows], ask#21
    answered calls -> store#22 answer
    stored -> tools#23
    tools -> store#24 results
    stored -> check#25 between_tools
    checked 100 due -> ask#26
    answered overflow too large -> store#27 answer
    stored -> [compaction#28 overflow], compact#28 overflow here omitting
    ended failed d -> [overflow over: Context overflow recovery failed: d], [turn failed: Context overflow recovery failed: d], [rest], idle#29
    elapsed -> check#30 idle
    checked 100 idle -> [rest], idle#31
    ");
}

#[test]
fn a_success_between_failures_keeps_the_automatic_ones() {
    assert_snapshot!(run("failing; checked 100 due; ended well | batch; checked 100 due; ended failed c"), @"
    answered calls -> store#22 answer
    stored -> tools#23
    tools -> store#24 results
    stored -> check#25 between_tools
    checked 100 due -> [compaction#26 threshold], compact#26 threshold here
    ended failed c -> [threshold over: Auto-compaction failed: c], ask#27
    ");
}

#[test]
fn a_cancelled_compaction_is_no_failure() {
    assert_snapshot!(run("failing | checked 100 due; abort-compaction; ended cancelled"), @"
    checked 100 due -> [compaction#20 threshold], compact#20 threshold here
    abort-compaction -> cancel#20
    ended cancelled -> [threshold over aborted: Compaction cancelled], ask#21
    ");
}

#[test]
fn a_manual_success_starts_the_automatic_ones_again() {
    assert_snapshot!(run("halted; checked 100; answered done; stored; checked 100; compact; ended well | say q; checked 100 due"), @"
    say q -> check#32 before_prompt
    checked 100 due -> [compaction#33 threshold], compact#33 threshold configured
    ");
}

#[test]
fn a_manual_failure_does_not_start_the_automatic_ones_again() {
    assert_snapshot!(run("halted; checked 100; answered done; stored; checked 100; compact; ended failed d | say q; checked 100 due"), @"
    say q -> check#32 before_prompt
    checked 100 due -> store#33 q
    ");
}

#[test]
fn another_model_starts_the_automatic_ones_again() {
    assert_snapshot!(run("halted | model; checked 100 due"), @"
    model -> -
    checked 100 due -> [compaction#26 threshold], compact#26 threshold here
    ");
}

#[test]
fn a_promotion_starts_the_automatic_ones_again() {
    assert_snapshot!(run("halted | checked 100 due promote; promoted; batch; checked 100 due"), @"
    checked 100 due promote -> promote#26
    promoted -> ask#27
    answered calls -> store#28 answer
    stored -> tools#29
    tools -> store#30 results
    stored -> check#31 between_tools
    checked 100 due -> [compaction#32 threshold], compact#32 threshold here
    ");
}

#[test]
fn a_context_that_shrank_by_a_tenth_starts_the_automatic_ones_again() {
    assert_snapshot!(run("halted | checked 90 due; batch; checked 89 due"), @"
    checked 90 due -> ask#26
    answered calls -> store#27 answer
    stored -> tools#28
    tools -> store#29 results
    stored -> check#30 between_tools
    checked 89 due -> [compaction#31 threshold], compact#31 threshold here
    ");
}

#[test]
fn a_change_of_branch_starts_the_automatic_ones_again() {
    assert_snapshot!(run("halted; checked 100; answered done; stored; checked 100; go x; navigated well | say q; checked 100 due"), @"
    say q -> check#32 before_prompt
    checked 100 due -> [compaction#33 threshold], compact#33 threshold configured
    ");
}

#[test]
fn switching_on_starts_the_automatic_ones_again() {
    assert_snapshot!(run("halted | automatic on; checked 100 due"), @"
    automatic on -> -
    checked 100 due -> [compaction#26 threshold], compact#26 threshold here
    ");
}

#[test]
fn after_a_compaction_that_freed_too_little_the_next_waits_for_five_answers_and_is_told_once() {
    assert_snapshot!(run("between | checked due; ended little; batch; checked due; batch; checked due; batch; checked due; batch; checked due; batch; checked due; ended little"), @"
    checked due -> [compaction#8 threshold], compact#8 threshold here
    ended little -> [threshold over], [the compaction freed little; the next waits for 5 answers or an overflow], ask#9
    answered calls -> store#10 answer
    stored -> tools#11
    tools -> store#12 results
    stored -> check#13 between_tools
    checked due -> ask#14
    answered calls -> store#15 answer
    stored -> tools#16
    tools -> store#17 results
    stored -> check#18 between_tools
    checked due -> ask#19
    answered calls -> store#20 answer
    stored -> tools#21
    tools -> store#22 results
    stored -> check#23 between_tools
    checked due -> ask#24
    answered calls -> store#25 answer
    stored -> tools#26
    tools -> store#27 results
    stored -> check#28 between_tools
    checked due -> ask#29
    answered calls -> store#30 answer
    stored -> tools#31
    tools -> store#32 results
    stored -> check#33 between_tools
    checked due -> [compaction#34 threshold], compact#34 threshold here
    ended little -> [threshold over], ask#35
    ");
}

#[test]
fn an_overflow_does_not_wait_for_five_answers() {
    assert_snapshot!(run("between | checked due; ended little; answered overflow too large; stored"), @"
    checked due -> [compaction#8 threshold], compact#8 threshold here
    ended little -> [threshold over], [the compaction freed little; the next waits for 5 answers or an overflow], ask#9
    answered overflow too large -> store#10 answer
    stored -> [compaction#11 overflow], compact#11 overflow here omitting
    ");
}

#[test]
fn a_manual_compaction_that_freed_little_stops_nothing() {
    assert_snapshot!(run("compact; ended little; say p; checked 100 due"), @"
    compact -> [compaction#1 manual], compact#1 manual configured
    ended little -> [manual over], [rest], idle#2
    say p -> check#3 before_prompt
    checked 100 due -> [compaction#4 threshold], compact#4 threshold configured
    ");
}

#[test]
fn switched_off_it_checks_and_goes_on() {
    assert_snapshot!(run("automatic off; between | checked due images; answered done; stored; checked due; elapsed; checked idle"), @"
    checked due images -> ask#8
    answered done -> store#9 answer
    stored -> check#10 after_turn
    checked due -> [turn done], [rest], idle#11
    elapsed -> check#12 idle
    checked idle -> [rest], idle#13
    ");
}

#[test]
fn switched_off_manual_compactions_work() {
    assert_snapshot!(run("automatic off; compact; ended well"), @"
    automatic off -> -
    compact -> [compaction#1 manual], compact#1 manual configured
    ended well -> [manual over], [rest], idle#2
    ");
}

#[test]
fn a_declined_compaction_is_not_tried_again_in_the_turn() {
    assert_snapshot!(run("between | checked due; abort-compaction; ended cancelled; answered calls; stored; steer s; tools; stored; checked due; stored; answered done; stored; checked due; say q; checked due"), @"
    checked due -> [compaction#8 threshold], compact#8 threshold here
    abort-compaction -> cancel#8
    ended cancelled -> [threshold over aborted: Compaction cancelled], ask#9
    answered calls -> store#10 answer
    stored -> tools#11
    steer s -> -
    tools -> store#12 results
    stored -> check#13 between_tools
    checked due -> store#14 s
    stored -> ask#15
    answered done -> store#16 answer
    stored -> check#17 after_turn
    checked due -> [turn done], [rest], idle#18
    say q -> check#19 before_prompt
    checked due -> [compaction#20 threshold], compact#20 threshold configured
    ");
}

// Preparations.

#[test]
fn a_preparation_begins_between_tools_beside_the_next_request() {
    assert_snapshot!(run("between | checked speculate"), @"checked speculate -> prepare#8, ask#9");
}

#[test]
fn a_preparation_begins_only_between_tools() {
    assert_snapshot!(run("say p; checked speculate; stored; answered done; stored; checked speculate"), @"
    say p -> check#1 before_prompt
    checked speculate -> store#2 p
    stored -> [turn], ask#3
    answered done -> store#4 answer
    stored -> check#5 after_turn
    checked speculate -> [turn done], [rest], idle#6
    ");
}

#[test]
fn no_preparation_begins_where_it_would_not_be_used() {
    assert_snapshot!(run("automatic off; between | checked speculate"), @"checked speculate -> ask#8");
}

#[test]
fn no_preparation_begins_for_a_handoff() {
    assert_snapshot!(run_with(handing_off(Continue::WhenAtWork), "between | checked speculate"), @"checked speculate -> ask#8");
}

#[test]
fn what_is_prepared_is_spliced_when_the_threshold_is_met() {
    assert_snapshot!(run("preparing; prepared; batch | checked due; ended well; answered done"), @"
    checked due -> [compaction#14 threshold], splice#14 of #8 threshold
    ended well -> [threshold over], ask#15
    answered done -> store#16 answer
    ");
}

#[test]
fn what_is_prepared_is_spliced_into_an_overflow() {
    assert_snapshot!(run("preparing; prepared | answered overflow too large; stored; ended well"), @"
    answered overflow too large -> store#10 answer
    stored -> [compaction#11 overflow], splice#11 of #8 overflow omitting
    ended well -> [overflow over retries], ask#12
    ");
}

#[test]
fn a_preparation_that_runs_is_waited_for() {
    assert_snapshot!(run("preparing; batch | checked due; prepared; ended well"), @"
    checked due -> [compaction#8 threshold], grace#14
    prepared -> splice#15 of #8 threshold
    ended well -> [threshold over], ask#16
    ");
}

#[test]
fn a_preparation_that_fails_while_it_is_waited_for_gives_way_to_a_plain_compaction() {
    assert_snapshot!(run("preparing; batch | checked due; not-prepared; ended well"), @"
    checked due -> [compaction#8 threshold], grace#14
    not-prepared -> compact#15 threshold here
    ended well -> [threshold over], ask#16
    ");
}

#[test]
fn a_preparation_that_takes_too_long_gives_way_to_a_plain_compaction() {
    assert_snapshot!(run("preparing; batch | checked due; elapsed; ended well; prepared #8"), @"
    checked due -> [compaction#8 threshold], grace#14
    elapsed -> discard#8, compact#15 threshold here
    ended well -> [threshold over], ask#16
    prepared #8 -> -
    ");
}

#[test]
fn a_stale_preparation_gives_way_to_a_plain_compaction() {
    assert_snapshot!(run("preparing; prepared; batch | checked due; ended stale; ended well"), @"
    checked due -> [compaction#14 threshold], splice#14 of #8 threshold
    ended stale -> compact#15 threshold here
    ended well -> [threshold over], ask#16
    ");
}

#[test]
fn a_stale_plain_compaction_has_failed() {
    assert_snapshot!(run("preparing; prepared; batch | checked due; ended stale; ended stale"), @"
    checked due -> [compaction#14 threshold], splice#14 of #8 threshold
    ended stale -> compact#15 threshold here
    ended stale -> [threshold over: Auto-compaction failed: the session changed meanwhile], ask#16
    ");
}

#[test]
fn a_preparation_is_not_kept_for_a_manual_compaction() {
    assert_snapshot!(run("preparing | compact; answered stopped; stored"), @"
    compact -> cancel#9
    answered stopped -> store#10 answer
    stored -> discard#8, [compaction#11 manual], compact#11 manual configured
    ");
}

#[test]
fn a_preparation_is_not_kept_for_another_branch() {
    assert_snapshot!(run("preparing; answered done; stored; checked | go x"), @"go x -> discard#8, go#13 x");
}

#[test]
fn a_preparation_is_not_kept_for_another_model() {
    assert_snapshot!(run("preparing | model"), @"model -> discard#8");
}

#[test]
fn a_preparation_is_not_kept_for_a_larger_model() {
    assert_snapshot!(run("preparing; batch | checked due promote; promoted"), @"
    checked due promote -> promote#14
    promoted -> discard#8, ask#15
    ");
}

#[test]
fn a_preparation_is_not_kept_when_switched_off() {
    assert_snapshot!(run("preparing | automatic off"), @"automatic off -> discard#8");
}

#[test]
fn a_preparation_outlives_its_turn() {
    assert_snapshot!(run("preparing; answered done; stored; checked | prepared; say q; checked due"), @"
    prepared -> -
    say q -> check#13 before_prompt
    checked due -> [compaction#14 threshold], splice#14 of #8 threshold
    ");
}

#[test]
fn a_preparation_is_cancelled_with_the_compactions() {
    assert_snapshot!(run("preparing | abort-compaction; prepared #8"), @"
    abort-compaction -> discard#8
    prepared #8 -> -
    ");
}

#[test]
fn a_failed_preparation_is_not_tried_again_in_the_turn() {
    assert_snapshot!(run("preparing | not-prepared; batch; checked speculate; answered done; stored; checked; say q; checked; stored; batch; checked speculate"), @"
    not-prepared -> -
    answered calls -> store#10 answer
    stored -> tools#11
    tools -> store#12 results
    stored -> check#13 between_tools
    checked speculate -> ask#14
    answered done -> store#15 answer
    stored -> check#16 after_turn
    checked -> [turn done], [rest], idle#17
    say q -> check#18 before_prompt
    checked -> store#19 q
    stored -> [turn], ask#20
    answered calls -> store#21 answer
    stored -> tools#22
    tools -> store#23 results
    stored -> check#24 between_tools
    checked speculate -> prepare#25, ask#26
    ");
}

#[test]
fn cancelling_while_a_preparation_is_waited_for_ends_the_wait() {
    assert_snapshot!(run("preparing; batch | checked due; abort-compaction"), @"
    checked due -> [compaction#8 threshold], grace#14
    abort-compaction -> discard#8, [threshold over aborted: Compaction cancelled], ask#15
    ");
}

#[test]
fn another_model_while_a_preparation_is_waited_for_compacts_plainly() {
    assert_snapshot!(run("preparing; batch | checked due; model; elapsed #14; ended well"), @"
    checked due -> [compaction#8 threshold], grace#14
    model -> discard#8, compact#15 threshold here
    elapsed #14 -> -
    ended well -> [threshold over], ask#16
    ");
}

#[test]
fn switching_off_while_a_preparation_is_waited_for_cancels() {
    assert_snapshot!(run("preparing; batch | checked due; automatic off"), @"
    checked due -> [compaction#8 threshold], grace#14
    automatic off -> discard#8, [threshold over aborted: Compaction cancelled], ask#15
    ");
}

// Writes that fail.

#[test]
fn a_prompt_that_could_not_be_written_waits() {
    assert_snapshot!(run("say p; checked; store-failed disk full; elapsed; checked; say q; checked; stored; answered done; stored; checked; checked"), @"
    say p -> check#1 before_prompt
    checked -> store#2 p
    store-failed disk full -> [error: cannot write the session: disk full], [rest, 1 wait], idle#3
    elapsed -> check#4 idle
    checked -> [rest, 1 wait], idle#5
    say q -> check#6 before_prompt
    checked -> store#7 p
    stored -> [turn], ask#8
    answered done -> store#9 answer
    stored -> check#10 after_turn
    checked -> [turn done], check#11 before_prompt
    checked -> store#12 q
    ");
}

#[test]
fn an_answer_that_could_not_be_written_ends_the_turn() {
    assert_snapshot!(run("asking | answered calls; store-failed disk full"), @"
    answered calls -> store#4 answer
    store-failed disk full -> [turn failed: cannot write the session: disk full], [rest], idle#5
    ");
}

#[test]
fn a_failed_write_before_a_wanted_compaction_still_compacts() {
    assert_snapshot!(run("asking | later a; compact; answered stopped; store-failed disk full; ended failed disk full"), @"
    later a -> -
    compact -> cancel#3
    answered stopped -> store#4 answer
    store-failed disk full -> [turn failed: cannot write the session: disk full], [compaction#5 manual], compact#5 manual configured
    ended failed disk full -> [manual over: Compaction failed: disk full], [rest, 1 wait], idle#6
    ");
}

#[test]
fn a_failed_write_of_an_omission_ends_the_turn() {
    assert_snapshot!(run("asking | answered+ overflow too large; stored; promoted; store-failed disk full"), @"
    answered+ overflow too large -> store#4 answer
    stored -> promote#5
    promoted -> store#6 omission
    store-failed disk full -> [turn failed: cannot write the session: disk full], [rest], idle#7
    ");
}

// Moving and ending.

#[test]
fn the_leaf_moves_at_rest_only() {
    assert_snapshot!(run("go x; go y; navigated well; say p; go z"), @"
    go x -> go#1 x
    go y -> [refused: the agent is busy; stop it first]
    navigated well -> [rest], idle#2
    say p -> check#3 before_prompt
    go z -> [refused: the agent is busy; stop it first]
    ");
}

#[test]
fn a_change_of_branch_that_failed_says_why() {
    assert_snapshot!(run("go x; navigated failed no such entry; go x; navigated nothing a hook refused; go x; navigated stale; go x; navigated cancelled"), @"
    go x -> go#1 x
    navigated failed no such entry -> [error: no such entry], [rest], idle#2
    go x -> go#3 x
    navigated nothing a hook refused -> [error: a hook refused], [rest], idle#4
    go x -> go#5 x
    navigated stale -> [error: the session changed meanwhile], [rest], idle#6
    go x -> go#7 x
    navigated cancelled -> [rest], idle#8
    ");
}

#[test]
fn a_change_of_branch_can_be_cancelled() {
    assert_snapshot!(run("go x; abort-compaction; navigated cancelled"), @"
    go x -> go#1 x
    abort-compaction -> cancel#1
    navigated cancelled -> [rest], idle#2
    ");
}

#[test]
fn an_abort_cancels_a_change_of_branch() {
    assert_snapshot!(run("go x; say a; abort; navigated cancelled"), @"
    go x -> go#1 x
    say a -> -
    abort -> cancel#1
    navigated cancelled -> [rest, 1 wait], idle#2
    ");
}

#[test]
fn a_session_ends_at_rest_at_once() {
    assert_snapshot!(run("close; say a; compact; go x; resume calls; abort; automatic off; model; close"), @"
    close -> [closed]
    say a -> [refused: the session has ended]
    compact -> [refused: the session has ended]
    go x -> [refused: the session has ended]
    resume calls -> -
    abort -> -
    automatic off -> -
    model -> -
    close -> -
    ");
}

#[test]
fn a_session_ends_when_the_answer_has_stopped() {
    assert_snapshot!(run("asking | close; answered stopped; stored; answered done #3"), @"
    close -> cancel#3
    answered stopped -> store#4 answer
    stored -> [turn aborted], [closed]
    answered done #3 -> -
    ");
}

#[test]
fn a_session_that_ends_keeps_how_its_turn_ended() {
    assert_snapshot!(run("after | close; checked due"), @"
    close -> cancel#5
    checked due -> [turn done], [closed]
    ");
}
