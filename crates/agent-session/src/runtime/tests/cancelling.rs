//! Cancelled at every point at which it waits, a compaction, a handoff and a branch summary leave everything as it was;
//! so do hooks that never answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use ::hooks::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptEvent, BeforePromptResult,
    BeforeTreeEvent, BeforeTreeResult, CompactingEvent, CompactingResult, Hook, HookContext,
    HookFuture, HookPoint, Notification, ToolCallEvent, ToolCallResult,
};

use super::*;

/// How work is ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    AbortCompaction,
    Abort,
    Close,
    /// The program is gone.
    Dropped,
}

const ENDINGS: [Ending; 4] = [
    Ending::AbortCompaction,
    Ending::Abort,
    Ending::Close,
    Ending::Dropped,
];

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

/// Returns a harness whose summarizer needs several requests, each with an answer of many pieces.
fn harness() -> Harness {
    let mut harness = Harness::new(&answer("still here")).compaction(serde_json::json!({
        "keepRecentTokens": 500,
    }));
    let text = format!("## Goal\n{}", words(50));
    harness.summarizer(&[window(4000), summary(&text).repeat(9)].concat());
    harness
}

/// Polls the run so many times, each time once everybody who was woken has run.
async fn poll(life: &mut Life<'_>, times: usize) {
    for _ in 0..times {
        poll_fn(|context| Poll::Ready(life.step(context))).await;
        tokio::task::yield_now().await;
    }
}

/// Ends `command` after every number of polls, until it is done before; returns how often it was ended.
async fn walk(
    ending: Ending,
    command: &impl Fn() -> Command,
    done: impl Fn(&SessionEvent) -> bool,
) -> usize {
    for polls in 0.. {
        let harness = harness();
        let path = harness.session(LONG);
        let before = harness.files();
        let mut life = harness.open(&path);
        life.send(command());
        poll(&mut life, polls).await;
        if life.heard.iter().any(&done) {
            let requests = harness.summaries.lock().unwrap().len();
            assert!(requests > 1, "{requests} requests are not many");
            life.close().await;
            return polls;
        }
        let place = format!("{ending:?} after {polls} polls");
        let told = match ending {
            Ending::AbortCompaction => life.command_and(Command::AbortCompaction).await,
            Ending::Abort => life.command_and(Command::Abort).await,
            Ending::Close => {
                life.close().await;
                life.news()
            }
            Ending::Dropped => {
                life.run = None;
                String::new()
            }
        };
        assert_eq!(harness.files(), before, "{place}: {told}");
        assert_eq!(harness.requests_in_flight(), 0, "{place}: {told}");
        let is_moved = matches!(command(), Command::Navigate(_));
        let said = match is_moved {
            true => "navigated cancelled",
            false => "compacted aborted: Compaction cancelled",
        };
        let is_told = told.lines().any(|line| line == said);
        assert_eq!(is_told, ending != Ending::Dropped, "{place}: {told}");
        let mut life = match ending {
            Ending::AbortCompaction | Ending::Abort => life,
            Ending::Close | Ending::Dropped => harness.open(&path),
        };
        let told = life.ask("are you there").await;
        assert!(told.contains("still here"), "{place}: {told}");
        life.close().await;
    }
    unreachable!("it is done some time")
}

async fn walk_all(command: impl Fn() -> Command, done: impl Fn(&SessionEvent) -> bool + Copy) {
    for ending in ENDINGS {
        let points = walk(ending, &command, done).await;
        assert!(points > 20, "{ending:?}: {points} points are not many");
    }
}

fn compacted(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::CompactionEnd {
            result: Some(_),
            ..
        }
    )
}

#[test]
fn a_compaction_that_is_ended_anywhere_leaves_everything_as_it_was() {
    run(walk_all(compact, compacted));
}

#[test]
fn a_handoff_that_is_ended_anywhere_leaves_no_session_behind() {
    run(walk_all(|| Command::Handoff { focus: None }, compacted));
}

#[test]
fn a_branch_summary_that_is_ended_anywhere_leaves_the_leaf_where_it_was() {
    let moved = |event: &SessionEvent| {
        matches!(
            event,
            SessionEvent::Navigated {
                cancelled: false,
                ..
            }
        )
    };
    let navigation = Navigation {
        summarize: true,
        ..to(Some("e2"))
    };
    run(walk_all(|| Command::Navigate(navigation.clone()), moved));
}

#[test]
fn who_commands_no_more_ends_the_session_after_what_runs() {
    run(async {
        let harness = Harness::new(&answer(&words(200)));
        let mut life = harness.live();
        life.say("write");
        life.until(|event| matches!(event, SessionEvent::TextDelta { .. }))
            .await;
        let (nobody, _) = command_channel();
        life.commands = nobody;
        life.until(|event| matches!(event, SessionEvent::SessionEnd { .. }))
            .await;
        insta::assert_snapshot!(life.news(), @"
        user: write
        answer (aborted): lorem ipsum dolor sit amet lorem ipsum d scripted/script: the request was cancelled
        turn aborted
        end
        ");
        assert_eq!(harness.requests_in_flight(), 0);
        life.check();
    });
}

/// A hook that never answers at one point, not even when it is told that nobody waits any more.
pub(super) struct Hangs {
    point: HookPoint,
    /// How often it answers before.
    after: usize,
    asked: Arc<AtomicUsize>,
}

impl Hangs {
    pub(super) fn at(point: HookPoint) -> Self {
        Self {
            point,
            after: 0,
            asked: Arc::default(),
        }
    }

    pub(super) fn after(self, after: usize) -> Self {
        Self { after, ..self }
    }

    fn never<'a, T: Default + Send + 'a>(&self) -> HookFuture<'a, T> {
        match self.asked.fetch_add(1, Ordering::Relaxed) < self.after {
            true => Box::pin(std::future::ready(Ok(T::default()))),
            false => Box::pin(std::future::pending()),
        }
    }
}

impl Hook for Hangs {
    fn name(&self) -> &str {
        "hangs"
    }

    fn wants(&self, point: HookPoint) -> bool {
        point == self.point
    }

    fn before_prompt<'a>(
        &'a self,
        _: &'a BeforePromptEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, BeforePromptResult> {
        self.never()
    }

    fn tool_call<'a>(
        &'a self,
        _: &'a ToolCallEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, ToolCallResult> {
        self.never()
    }

    fn before_compact<'a>(
        &'a self,
        _: &'a BeforeCompactEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, BeforeCompactResult> {
        self.never()
    }

    fn compacting<'a>(
        &'a self,
        _: &'a CompactingEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, CompactingResult> {
        self.never()
    }

    fn before_tree<'a>(
        &'a self,
        _: &'a BeforeTreeEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, BeforeTreeResult> {
        self.never()
    }

    fn notify<'a>(&'a self, _: &'a Notification, _: &'a HookContext) -> HookFuture<'a, ()> {
        self.never()
    }
}

/// Lets a hook hang that is asked when `begin` is done, and ends that; returns what is told. The session is as it was
/// when the hook was asked, and answers afterwards.
async fn ended_while_hanging(hangs: Hangs, begin: Command, ending: Ending, script: &str) -> String {
    let asked = hangs.asked.clone();
    let harness = Harness::new(&[script, &answer("still here")].concat())
        .compaction(serde_json::json!({ "keepRecentTokens": 500 }))
        .hook(hangs);
    harness.put("a.txt", "small");
    let path = harness.session(LONG);
    let mut life = harness.open(&path);
    let said = match &begin {
        Command::Prompt { prompt, .. } => Some(prompt.text.clone()),
        _ => None,
    };
    life.send(begin);
    life.said.extend(said.clone());
    while asked.load(Ordering::Relaxed) == 0 {
        poll(&mut life, 1).await;
    }
    // Nothing happens any more until somebody ends it.
    poll(&mut life, 50).await;
    let before = harness.files();
    let told = match ending {
        Ending::AbortCompaction => life.command_and(Command::AbortCompaction).await,
        Ending::Abort => life.command_and(Command::Abort).await,
        Ending::Close => {
            life.close().await;
            life.news()
        }
        Ending::Dropped => {
            life.run = None;
            String::new()
        }
    };
    assert_eq!(asked.load(Ordering::Relaxed), 1, "{ending:?}: {told}");
    let ran = said.is_some() && script.contains("calls");
    if !ran {
        assert_eq!(harness.files(), before, "{ending:?}: {told}");
    }
    drop(life);
    let mut harness = harness;
    harness.hooks = Arc::new(HookSet::default());
    let mut life = harness.open(&path);
    let again = life.ask("are you there").await;
    assert!(
        again.contains("still here") || again.contains("answer (stop)"),
        "{ending:?}: {again}"
    );
    life.close().await;
    told
}

#[test]
fn a_hook_that_never_answers_before_a_compaction_is_not_waited_for() {
    run(async {
        for point in [
            HookPoint::SessionBeforeCompact,
            HookPoint::SessionCompacting,
        ] {
            for ending in ENDINGS {
                let told = ended_while_hanging(Hangs::at(point), compact(), ending, "").await;
                let said = told.contains("compacted aborted: Compaction cancelled");
                assert_eq!(
                    said,
                    ending != Ending::Dropped,
                    "{point} {ending:?}: {told}"
                );
            }
        }
    });
}

#[test]
fn a_hook_that_never_answers_in_a_handoff_is_not_waited_for() {
    run(async {
        let handoff = || Command::Handoff { focus: None };
        for ending in ENDINGS {
            let hangs = Hangs::at(HookPoint::SessionCompacting);
            let told = ended_while_hanging(hangs, handoff(), ending, "").await;
            let said = told.contains("compacted aborted: Compaction cancelled");
            assert_eq!(said, ending != Ending::Dropped, "{ending:?}: {told}");
        }
    });
}

#[test]
fn a_hook_that_never_answers_before_a_move_is_not_waited_for() {
    run(async {
        let navigate = || Command::Navigate(to(Some("e2")));
        for ending in ENDINGS {
            let hangs = Hangs::at(HookPoint::SessionBeforeTree);
            let told = ended_while_hanging(hangs, navigate(), ending, "").await;
            let said = told.contains("navigated cancelled");
            assert_eq!(said, ending != Ending::Dropped, "{ending:?}: {told}");
        }
    });
}

#[test]
fn a_hook_that_never_answers_before_a_prompt_is_not_waited_for() {
    run(async {
        let say = || Command::Prompt {
            prompt: "hello".into(),
            delivery: Delivery::Prompt,
        };
        for ending in [Ending::Abort, Ending::Close, Ending::Dropped] {
            let hangs = Hangs::at(HookPoint::BeforePrompt);
            let told = ended_while_hanging(hangs, say(), ending, &answer("to both")).await;
            // It waits, and goes with the next message.
            let expected = match ending {
                Ending::Abort => "idle, 1 wait",
                Ending::Close => "end",
                Ending::AbortCompaction | Ending::Dropped => "",
            };
            assert_eq!(told, expected, "{ending:?}");
        }
    });
}

#[test]
fn a_hook_that_never_answers_before_a_call_is_not_waited_for() {
    run(async {
        let say = || Command::Prompt {
            prompt: "look".into(),
            delivery: Delivery::Prompt,
        };
        let script =
            calls(serde_json::json!([{ "name": "read", "arguments": { "path": "a.txt" } }]));
        for ending in [Ending::Abort, Ending::Close] {
            let hangs = Hangs::at(HookPoint::ToolCall);
            let told = ended_while_hanging(hangs, say(), ending, &script).await;
            assert!(
                told.contains("tool read failed\nturn aborted"),
                "{ending:?}: {told}"
            );
        }
    });
}

#[test]
fn a_hook_that_is_told_and_never_ends_holds_nobody_up() {
    run(async {
        for point in [
            HookPoint::SessionStart,
            HookPoint::TurnEnd,
            HookPoint::SessionShutdown,
        ] {
            let harness = Harness::new(&answer("still here")).hook(Hangs::at(point));
            let mut life = harness.live();
            let told = life.ask("are you there").await;
            assert!(told.contains("still here"), "{point}: {told}");
            life.close().await;
        }
    });
}

#[test]
fn what_a_withdrawn_compaction_was_to_drop_stays_in_a_handoff() {
    run(async {
        let script = [answer(&words(40)), summary("the document"), answer("on")].concat();
        let harness = Harness::new(&script);
        let mut life = harness.open_session("u:300 a:1200 u:300 a:1200");
        let first = {
            let session = SessionFile::open(life.path()).unwrap();
            let tree = session.tree();
            let first = tree.indices().next();
            EntryId::new(tree.id(first.unwrap()))
        };
        life.say("work");
        life.until(|event| matches!(event, SessionEvent::TextDelta { .. }))
            .await;
        life.send(Command::Compact(session_protocol::CompactionRequest {
            choices: session_protocol::CompactionChoices {
                drop: vec![first],
                ..Default::default()
            },
            ..Default::default()
        }));
        life.send(Command::AbortCompaction);
        life.rest().await;
        life.command_and(Command::Handoff { focus: None }).await;
        let asked = harness.asked.lock().unwrap().last().map(text_of);
        assert!(asked.unwrap().contains("#1 "));
        life.close().await;
    });
}
