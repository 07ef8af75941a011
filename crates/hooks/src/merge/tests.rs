//! Each point, and each rule by which answers merge.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use session_model::EntryId;

use super::{HookFailure, HookSet};
use crate::event::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptEvent, BeforePromptResult,
    BeforeTreeEvent, BeforeTreeResult, BranchSummaryOverride, CompactingEvent, CompactingResult,
    CompactionOverride, Notification, ToolCallEvent, ToolCallResult,
};
use crate::hook::{Hook, HookContext, HookError, HookFuture};
use crate::payload::{HookEvent, SampleSession, Samples};
use crate::point::HookPoint;

/// What a hook does when it is asked.
#[derive(Clone, Default)]
enum Act {
    #[default]
    Nothing,
    Prompt(&'static [&'static str]),
    Tool(ToolCallResult),
    Compact(BeforeCompactResult),
    Compacting(CompactingResult),
    Tree(BeforeTreeResult),
    Fail(&'static str),
    /// It panics when it is called.
    PanicAtOnce,
    /// It panics when it is awaited.
    PanicLater,
    /// It fires the token, and then never ends.
    Hang,
}

/// A hook that does the same each time, and says where it was asked.
struct Acts {
    name: String,
    act: Act,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Acts {
    fn act<'a, T: Default + Send + 'a>(
        &'a self,
        point: HookPoint,
        context: &'a HookContext,
        own: impl FnOnce(Act) -> Option<T>,
    ) -> HookFuture<'a, T> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(format!("{} {point}", self.name));
        drop(asked);
        let answer = match &self.act {
            Act::Fail(why) => Err(HookError((*why).to_owned())),
            Act::PanicAtOnce => panic!("at once"),
            Act::PanicLater => return Box::pin(async { panic!("later") }),
            Act::Hang => {
                return Box::pin(async {
                    context.cancel.cancel();
                    std::future::pending().await
                });
            }
            Act::Nothing
            | Act::Prompt(_)
            | Act::Tool(_)
            | Act::Compact(_)
            | Act::Compacting(_)
            | Act::Tree(_) => Ok(own(self.act.clone()).unwrap_or_default()),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Hook for Acts {
    fn name(&self) -> &str {
        &self.name
    }

    fn before_prompt<'a>(
        &'a self,
        _: &'a BeforePromptEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforePromptResult> {
        self.act(HookPoint::BeforePrompt, context, |act| match act {
            Act::Prompt(texts) => Some(BeforePromptResult {
                context: texts.iter().map(|text| (*text).to_owned()).collect(),
            }),
            _ => None,
        })
    }

    fn tool_call<'a>(
        &'a self,
        _: &'a ToolCallEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, ToolCallResult> {
        self.act(HookPoint::ToolCall, context, |act| match act {
            Act::Tool(result) => Some(result),
            _ => None,
        })
    }

    fn before_compact<'a>(
        &'a self,
        _: &'a BeforeCompactEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforeCompactResult> {
        self.act(HookPoint::SessionBeforeCompact, context, |act| match act {
            Act::Compact(result) => Some(result),
            _ => None,
        })
    }

    fn compacting<'a>(
        &'a self,
        _: &'a CompactingEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, CompactingResult> {
        self.act(HookPoint::SessionCompacting, context, |act| match act {
            Act::Compacting(result) => Some(result),
            _ => None,
        })
    }

    fn before_tree<'a>(
        &'a self,
        _: &'a BeforeTreeEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforeTreeResult> {
        self.act(HookPoint::SessionBeforeTree, context, |act| match act {
            Act::Tree(result) => Some(result),
            _ => None,
        })
    }

    fn notify<'a>(
        &'a self,
        notification: &'a Notification,
        context: &'a HookContext,
    ) -> HookFuture<'a, ()> {
        self.act(notification.point(), context, |_| None)
    }
}

/// Hooks called `1`, `2`, ... and where they were asked.
struct Row {
    hooks: HookSet,
    asked: Arc<Mutex<Vec<String>>>,
    context: HookContext,
}

fn row(acts: impl IntoIterator<Item = Act>) -> Row {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut hooks = HookSet::default();
    for (place, act) in acts.into_iter().enumerate() {
        hooks.register(Acts {
            name: (place + 1).to_string(),
            act,
            asked: asked.clone(),
        });
    }
    Row {
        hooks,
        asked,
        context: HookContext::default(),
    }
}

/// What a point gave: the answer, who decided, who failed.
#[derive(Debug, PartialEq)]
struct Given {
    result: String,
    decided_by: Option<String>,
    failed: Vec<String>,
}

impl Row {
    /// Runs the hooks at a point.
    async fn at(&self, samples: &Samples<'_>, point: HookPoint) -> Given {
        let context = &self.context;
        let (hooks, failed) = (&self.hooks, &shown);
        let given = |result: String, decided_by, failures: &[HookFailure]| Given {
            result,
            decided_by,
            failed: failures.iter().map(failed).collect(),
        };
        match samples.event(point).unwrap() {
            HookEvent::BeforePrompt(event) => {
                let merged = hooks.before_prompt(&event, context).await;
                given(
                    format!("{:?}", merged.result),
                    merged.decided_by,
                    &merged.failures,
                )
            }
            HookEvent::ToolCall(event) => {
                let merged = hooks.tool_call(&event, context).await;
                given(
                    format!("{:?}", merged.result),
                    merged.decided_by,
                    &merged.failures,
                )
            }
            HookEvent::BeforeCompact(event) => {
                let merged = hooks.before_compact(&event, context).await;
                given(
                    format!("{:?}", merged.result),
                    merged.decided_by,
                    &merged.failures,
                )
            }
            HookEvent::Compacting(event) => {
                let merged = hooks.compacting(&event, context).await;
                given(
                    format!("{:?}", merged.result),
                    merged.decided_by,
                    &merged.failures,
                )
            }
            HookEvent::BeforeTree(event) => {
                let merged = hooks.before_tree(&event, context).await;
                given(
                    format!("{:?}", merged.result),
                    merged.decided_by,
                    &merged.failures,
                )
            }
            HookEvent::Notification(notification) => {
                let failures = hooks.notify(notification, context).await;
                given(String::new(), None, &failures)
            }
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn shown(failure: &HookFailure) -> String {
    format!("{} {}: {}", failure.hook, failure.point, failure.reason)
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn compaction(summary: &str) -> Act {
    Act::Compact(BeforeCompactResult::Replace(Box::new(CompactionOverride {
        summary: summary.to_owned(),
        ledger: true,
        short_summary: None,
        first_kept: EntryId::new("a5"),
        tokens_before: 1,
        details: None,
        preserve_data: Map::new(),
    })))
}

fn summary(summary: &str) -> Act {
    Act::Tree(BeforeTreeResult::Summary(BranchSummaryOverride {
        summary: summary.to_owned(),
        details: None,
    }))
}

fn cancels(reason: &str) -> Act {
    Act::Compact(BeforeCompactResult::Cancel {
        reason: Some(reason.to_owned()),
    })
}

/// Checks that every hook is reached at a point, in order.
async fn check_reaches(point: HookPoint) {
    let session = SampleSession::default();
    let row = row([Act::Nothing, Act::Nothing]);
    assert!(row.hooks.wants(point));
    let given = row.at(&session.samples().unwrap(), point).await;
    assert_eq!((given.decided_by, given.failed), (None, Vec::new()));
    assert_eq!(row.asked(), [format!("1 {point}"), format!("2 {point}")]);
}

#[tokio::test]
async fn session_start_is_told() {
    check_reaches(HookPoint::SessionStart).await;
}

#[tokio::test]
async fn session_shutdown_is_told() {
    check_reaches(HookPoint::SessionShutdown).await;
}

#[tokio::test]
async fn before_prompt_is_asked() {
    check_reaches(HookPoint::BeforePrompt).await;
}

#[tokio::test]
async fn tool_call_is_asked() {
    check_reaches(HookPoint::ToolCall).await;
}

#[tokio::test]
async fn tool_result_is_told() {
    check_reaches(HookPoint::ToolResult).await;
}

#[tokio::test]
async fn turn_end_is_told() {
    check_reaches(HookPoint::TurnEnd).await;
}

#[tokio::test]
async fn session_before_compact_is_asked() {
    check_reaches(HookPoint::SessionBeforeCompact).await;
}

#[tokio::test]
async fn session_compacting_is_asked() {
    check_reaches(HookPoint::SessionCompacting).await;
}

#[tokio::test]
async fn session_compact_is_told() {
    check_reaches(HookPoint::SessionCompact).await;
}

#[tokio::test]
async fn session_compact_failed_is_told() {
    check_reaches(HookPoint::SessionCompactFailed).await;
}

#[tokio::test]
async fn session_before_tree_is_asked() {
    check_reaches(HookPoint::SessionBeforeTree).await;
}

#[tokio::test]
async fn session_tree_is_told() {
    check_reaches(HookPoint::SessionTree).await;
}

#[tokio::test]
async fn contexts_of_before_prompt_concatenate_in_order() {
    let session = SampleSession::default();
    let row = row([Act::Prompt(&["a", "b"]), Act::Nothing, Act::Prompt(&["c"])]);
    let samples = session.samples().unwrap();
    let given = row.at(&samples, HookPoint::BeforePrompt).await;
    assert_eq!(
        given.result,
        r#"BeforePromptResult { context: ["a", "b", "c"] }"#
    );
}

#[tokio::test]
async fn contexts_of_compacting_concatenate_data_merges_by_key_and_the_last_prompt_counts() {
    let session = SampleSession::default();
    let says = |prompt: Option<&str>, context: &[&str], data: Value| {
        Act::Compacting(CompactingResult {
            prompt: prompt.map(str::to_owned),
            context: context.iter().map(|text| (*text).to_owned()).collect(),
            preserve_data: object(&data),
        })
    };
    let row = row([
        says(Some("first"), &["a"], json!({ "x": 1, "y": { "deep": 1 } })),
        says(
            Some("last"),
            &["b", "c"],
            json!({ "y": { "other": 2 }, "z": 3 }),
        ),
        says(None, &["d"], json!({})),
        Act::Nothing,
    ]);
    let samples = session.samples().unwrap();
    let Some(HookEvent::Compacting(event)) = samples.event(HookPoint::SessionCompacting) else {
        panic!("another event");
    };
    let merged = row.hooks.compacting(&event, &row.context).await;
    let expected = CompactingResult {
        prompt: Some("last".to_owned()),
        context: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
        preserve_data: object(&json!({ "x": 1, "y": { "other": 2 }, "z": 3 })),
    };
    assert_eq!(merged.result, expected);
}

#[tokio::test]
async fn the_first_block_of_a_tool_call_ends_the_asking() {
    let session = SampleSession::default();
    let block = |reason: &str| {
        Act::Tool(ToolCallResult::Block {
            reason: Some(reason.to_owned()),
        })
    };
    let row = row([Act::Nothing, block("first"), block("second")]);
    let samples = session.samples().unwrap();
    let given = row.at(&samples, HookPoint::ToolCall).await;
    assert_eq!(given.result, r#"Block { reason: Some("first") }"#);
    assert_eq!(given.decided_by.as_deref(), Some("2"));
    assert_eq!(row.asked(), ["1 tool_call", "2 tool_call"]);
}

#[tokio::test]
async fn the_first_cancel_of_a_compaction_wins_over_replacements_and_ends_the_asking() {
    let session = SampleSession::default();
    let row = row([compaction("mine"), cancels("first"), cancels("second")]);
    let samples = session.samples().unwrap();
    let given = row.at(&samples, HookPoint::SessionBeforeCompact).await;
    assert_eq!(given.result, r#"Cancel { reason: Some("first") }"#);
    assert_eq!(given.decided_by.as_deref(), Some("2"));
    assert_eq!(row.asked().len(), 2);
}

#[tokio::test]
async fn of_several_compactions_the_last_counts_and_later_nothing_discards_none() {
    let session = SampleSession::default();
    let row = row([compaction("one"), compaction("two"), Act::Nothing]);
    let samples = session.samples().unwrap();
    let given = row.at(&samples, HookPoint::SessionBeforeCompact).await;
    assert!(given.result.contains(r#"summary: "two""#), "{given:?}");
    assert_eq!(given.decided_by.as_deref(), Some("2"));
    assert_eq!(row.asked().len(), 3);
}

#[tokio::test]
async fn the_first_cancel_of_a_move_wins_and_ends_the_asking() {
    let session = SampleSession::default();
    let cancel = Act::Tree(BeforeTreeResult::Cancel { reason: None });
    let row = row([summary("mine"), cancel, summary("late")]);
    let samples = session.samples().unwrap();
    let given = row.at(&samples, HookPoint::SessionBeforeTree).await;
    assert_eq!(given.result, "Cancel { reason: None }");
    assert_eq!(given.decided_by.as_deref(), Some("2"));
    assert_eq!(row.asked().len(), 2);
}

#[tokio::test]
async fn of_several_branch_summaries_the_last_counts_and_only_where_one_is_wanted() {
    let session = SampleSession::default();
    let row = row([summary("one"), summary("two"), Act::Nothing]);
    let samples = session.samples().unwrap();
    let Some(HookEvent::BeforeTree(event)) = samples.event(HookPoint::SessionBeforeTree) else {
        panic!("another event");
    };
    let mut given = BTreeMap::new();
    for user_wants_summary in [true, false] {
        let event = BeforeTreeEvent {
            user_wants_summary,
            ..event
        };
        let merged = row.hooks.before_tree(&event, &row.context).await;
        let summary = match merged.result {
            BeforeTreeResult::Summary(own) => Some(own.summary),
            BeforeTreeResult::Proceed => None,
            BeforeTreeResult::Cancel { .. } => panic!("nobody cancelled"),
        };
        given.insert(user_wants_summary, (summary, merged.decided_by));
    }
    let two = || Some("two".to_owned());
    let expected = [(false, (None, None)), (true, (two(), Some("2".to_owned())))];
    assert_eq!(given, BTreeMap::from(expected));
}

#[tokio::test]
async fn failures_and_panics_are_reported_at_every_point_and_stop_nobody() {
    let session = SampleSession::default();
    let samples = session.samples().unwrap();
    for point in HookPoint::ALL {
        let row = row([
            Act::Fail("it broke"),
            Act::PanicAtOnce,
            Act::PanicLater,
            Act::Nothing,
        ]);
        let given = row.at(&samples, point).await;
        let failed = [
            format!("1 {point}: it broke"),
            format!("2 {point}: it panicked"),
            format!("3 {point}: it panicked"),
        ];
        assert_eq!(given.failed, failed);
        assert_eq!(given.decided_by, None);
        assert_eq!(row.asked().len(), 4, "{point}");
    }
}

#[tokio::test]
async fn a_failure_after_an_answer_leaves_the_answer() {
    let session = SampleSession::default();
    let row = row([compaction("mine"), Act::Fail("it broke"), Act::PanicLater]);
    let samples = session.samples().unwrap();
    let given = row.at(&samples, HookPoint::SessionBeforeCompact).await;
    assert!(given.result.contains(r#"summary: "mine""#), "{given:?}");
    assert_eq!(given.decided_by.as_deref(), Some("1"));
    assert_eq!(given.failed.len(), 2);
}

#[tokio::test]
async fn a_cancelled_context_stops_the_asking_at_every_point() {
    let session = SampleSession::default();
    let samples = session.samples().unwrap();
    for point in HookPoint::ALL {
        let row = row([Act::Nothing]);
        row.context.cancel.cancel();
        let given = row.at(&samples, point).await;
        assert_eq!((row.asked().len(), given.failed.len()), (0, 0), "{point}");
    }
}

#[tokio::test]
async fn a_hook_that_never_ends_is_not_waited_for_once_cancelled() {
    let session = SampleSession::default();
    let samples = session.samples().unwrap();
    for point in HookPoint::ALL {
        let row = row([Act::Hang, Act::Nothing]);
        let given = row.at(&samples, point).await;
        assert_eq!(given.failed, [format!("1 {point}: cancelled")]);
        assert_eq!(row.asked(), [format!("1 {point}")]);
    }
}
