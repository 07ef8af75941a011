//! Hooks of the same process around compactions and moves.

use ::hooks::{
    BeforeCompactEvent, BeforeCompactResult, BeforeTreeEvent, BeforeTreeResult,
    BranchSummaryOverride, CompactingEvent, CompactingResult, CompactionOverride, Hook,
    HookContext, HookError, HookFuture,
};
use insta::assert_snapshot;
use serde_json::json;
use session_model::Compaction;

use super::*;

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

/// A hook that says the same each time.
#[derive(Default)]
struct Says {
    before_compact: Option<Result<BeforeCompactResult, &'static str>>,
    compacting: Option<Result<CompactingResult, &'static str>>,
    before_tree: Option<Result<BeforeTreeResult, &'static str>>,
}

fn said<'a, T: Clone + Default + Send + 'a>(
    fixed: &Option<Result<T, &'static str>>,
) -> HookFuture<'a, T> {
    let fixed = fixed.clone().unwrap_or_else(|| Ok(T::default()));
    let answer = fixed.map_err(|why| HookError(why.to_owned()));
    Box::pin(std::future::ready(answer))
}

impl Hook for Says {
    fn name(&self) -> &str {
        "test"
    }

    fn before_compact<'a>(
        &'a self,
        event: &'a BeforeCompactEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, BeforeCompactResult> {
        let newest = event.path.leaf_id();
        assert_eq!(newest, Some(event.plan.leaf.as_str()));
        said(&self.before_compact)
    }

    fn compacting<'a>(
        &'a self,
        _: &'a CompactingEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, CompactingResult> {
        said(&self.compacting)
    }

    fn before_tree<'a>(
        &'a self,
        _: &'a BeforeTreeEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, BeforeTreeResult> {
        said(&self.before_tree)
    }
}

fn before_compact(result: BeforeCompactResult) -> Says {
    Says {
        before_compact: Some(Ok(result)),
        ..Says::default()
    }
}

fn replacement(first_kept: &str, summary: &str) -> BeforeCompactResult {
    let preserved = json!({ "memory": { "id": 7 } });
    BeforeCompactResult::Replace(Box::new(CompactionOverride {
        summary: summary.to_owned(),
        ledger: true,
        short_summary: Some("short".to_owned()),
        first_kept: EntryId::new(first_kept),
        tokens_before: 4321,
        details: Some(json!({ "by": "test" })),
        preserve_data: preserved.as_object().unwrap().clone(),
    }))
}

fn harness(hook: Says) -> Harness {
    Harness::new(&[summaries(), answer("a")].concat())
        .compaction(json!({ "keepRecentTokens": 500 }))
        .hook(hook)
}

/// Returns the newest compaction of the session.
fn newest(path: &Path) -> Compaction {
    let session = SessionFile::open(path).unwrap();
    let tree = session.tree();
    let way = tree.path(tree.leaf());
    let mut bodies = way
        .entries()
        .iter()
        .rev()
        .map(|index| tree.entry(*index).unwrap().body);
    let found = bodies.find_map(|body| match body {
        EntryBody::Compaction(compaction) => Some(*compaction),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn a_hook_cancels_a_manual_compaction_and_no_other_strategy_is_tried() {
    run(async {
        let mut harness = harness(before_compact(BeforeCompactResult::Cancel { reason: None }));
        harness = harness.compaction(json!({
            "keepRecentTokens": 500, "strategy": ["context-full", "extractive", "prune-only"],
        }));
        let mut life = harness.open_session(LONG);
        let before = harness.files();
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual context-full
        compacted: hook test cancelled it
        ");
        assert_eq!(harness.files(), before);
        life.close().await;
    });
}

#[test]
fn a_summary_of_a_hook_stays_alone_where_that_is_wished() {
    run(async {
        let mut alone = replacement("e5", "what the hook knows");
        if let BeforeCompactResult::Replace(replaced) = &mut alone {
            replaced.ledger = false;
        }
        let with = replacement("e5", "what the hook knows");
        let off = json!({ "keepRecentTokens": 500, "ledger": { "percent": 0 } });
        for harness in [
            harness(before_compact(alone)),
            harness(before_compact(with)).compaction(off),
        ] {
            let mut life = harness.open_session(LONG);
            life.command_and(compact()).await;
            let compaction = newest(life.path());
            assert_eq!(compaction.summary, "what the hook knows");
            let details = compaction.details.unwrap().to_value();
            assert_eq!(details.get("ledger"), None, "{details}");
            assert_eq!(life.result().ledger_tokens, 0);
            life.close().await;
        }
    });
}

#[test]
fn a_hook_supplies_the_compaction() {
    run(async {
        let harness = harness(before_compact(replacement("e5", "what the hook knows")));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual context-full
        compacted context-full by hook
        ");
        let compaction = newest(life.path());
        // The hook's words as they are, and behind them what code keeps.
        let behind = compaction.summary.strip_prefix("what the hook knows");
        let ledger = behind.expect("the hook's words").trim_start();
        assert!(ledger.starts_with("<ledger>\n"), "{ledger}");
        assert!(ledger.contains("user [e1]\n"), "{ledger}");
        assert_eq!(compaction.first_kept.as_str(), "e5");
        assert_eq!(compaction.tokens_before, 4321);
        assert!(compaction.from_extension);
        let mut details = compaction.details.unwrap().to_value();
        let seconds = details.as_object_mut().unwrap().remove("seconds");
        assert!(seconds.is_some_and(|seconds| seconds.is_number()));
        let kept = details.as_object_mut().unwrap().remove("ledger").unwrap();
        assert_eq!(kept["counts"]["requests_whole"], 2, "{kept}");
        assert_eq!(life.result().ledger_tokens, kept["tokens"]);
        let after = details.as_object_mut().unwrap();
        let after = after.remove("estimatedTokensAfter").unwrap();
        assert_eq!(after, 2185 + life.result().ledger_tokens);
        // What the hook says stays; where the summary comes from is added.
        assert_eq!(
            details,
            json!({
                "by": "test", "undoTo": "e8", "summarizer": { "by": "hook" },
                "strategy": "context-full", "trigger": "manual", "ended": "complete",
                "estimatedTokensBefore": 4507,
            })
        );
        let preserved = compaction.preserve_data.unwrap().to_value();
        assert_eq!(preserved, json!({ "memory": { "id": 7 } }));
        let result = life.result();
        assert_eq!((result.kept_entries, result.summarized_entries), (4, 4));
        life.ask("go on").await;
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: Earlier parts of this conversation are no longer
        user: #5
        assistant: #6
        user: #7
        assistant: #8
        user: go on
        ");
        life.close().await;
    });
}

#[test]
fn a_compaction_of_a_hook_must_keep_from_the_path_say_something_and_help() {
    run(async {
        for (first_kept, summary, why) in [
            (
                "elsewhere",
                "a summary",
                "Compaction failed: a hook keeps from elsewhere, which is not on the path",
            ),
            ("e5", " ", "Compaction failed: a hook gave an empty summary"),
            ("e1", "a summary", "the context would not get smaller"),
        ] {
            let harness = harness(before_compact(replacement(first_kept, summary)));
            let mut life = harness.open_session(LONG);
            let before = harness.files();
            let told = life.command_and(compact()).await;
            assert!(told.contains(why), "{told}");
            assert_eq!(harness.files(), before);
            life.close().await;
        }
    });
}

#[test]
fn what_hooks_add_reaches_the_request_and_the_entry() {
    run(async {
        let preserved = json!({ "memory": [1, 2] });
        let harness = harness(Says {
            compacting: Some(Ok(CompactingResult {
                prompt: None,
                context: vec!["the release is on Friday".to_owned()],
                preserve_data: preserved.as_object().unwrap().clone(),
            })),
            ..Says::default()
        });
        let mut life = harness.open_session(LONG);
        life.command_and(compact()).await;
        let text = text_of(&harness.summaries.lock().unwrap()[0]);
        assert!(text.contains("the release is on Friday"), "{text}");
        let compaction = newest(life.path());
        assert_eq!(compaction.preserve_data.unwrap().to_value(), preserved);
        life.close().await;
    });
}

#[test]
fn the_context_of_hooks_reaches_the_document_of_a_handoff() {
    run(async {
        let harness = harness(Says {
            compacting: Some(Ok(CompactingResult {
                context: vec!["the release is on Friday".to_owned()],
                ..CompactingResult::default()
            })),
            ..Says::default()
        });
        let mut life = harness.open_session(LONG);
        life.command_and(Command::Handoff { focus: None }).await;
        let asked = harness.summaries.lock().unwrap()[0].clone();
        let last = asked.messages.last().unwrap();
        let text = last.content().joined_text("");
        assert!(text.contains("the release is on Friday"), "{text}");
        life.close().await;
    });
}

#[test]
fn a_hook_that_fails_is_told_and_stops_nothing() {
    run(async {
        let harness = harness(Says {
            before_compact: Some(Err("broken")),
            compacting: Some(Err("broken too")),
            before_tree: Some(Err("broken as well")),
        });
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual context-full
        hook test failed at session_before_compact: broken
        hook test failed at session.compacting: broken too
        compacted context-full by scripted/script
        ");
        assert_snapshot!(life.command_and(Command::Navigate(to(Some("e2")))).await, @"
        hook test failed at session_before_tree: broken as well
        navigated
        ");
        life.close().await;
    });
}

#[test]
fn a_hook_cancels_a_move() {
    run(async {
        let harness = harness(Says {
            before_tree: Some(Ok(BeforeTreeResult::Cancel { reason: None })),
            ..Says::default()
        });
        let mut life = harness.open_session(LONG);
        let before = harness.files();
        assert_snapshot!(life.command_and(Command::Navigate(to(Some("e2")))).await, @"error: hook test cancelled the move");
        assert_eq!(harness.files(), before);
        life.close().await;
    });
}

#[test]
fn the_summary_of_a_hook_is_used_when_the_user_asked_for_one() {
    run(async {
        let summary = BranchSummaryOverride {
            summary: "what the hook saw".to_owned(),
            details: Some(json!({ "by": "test" })),
        };
        let harness = harness(Says {
            before_tree: Some(Ok(BeforeTreeResult::Summary(summary))),
            ..Says::default()
        });
        let mut life = harness.open_session(LONG);
        let navigation = Navigation {
            summarize: true,
            ..to(Some("e4"))
        };
        assert_snapshot!(life.command_and(Command::Navigate(navigation)).await, @"navigated with a summary");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        branchsummary
        ");
        assert_snapshot!(life.command_and(Command::Navigate(to(Some("e2")))).await, @"navigated");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        custom agent-cli/leaf
        ");
        assert!(harness.summaries.lock().unwrap().is_empty());
        life.close().await;
    });
}
