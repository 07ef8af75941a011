//! A summary that is written beside the turn, and spliced in at the threshold.

use compaction_core::{Profile, measure};
use insta::assert_snapshot;
use serde_json::json;
use session_model::{Leaf, SessionTree};

use super::*;

/// Above half the threshold of 6964 tokens, together with what every request holds.
const HALF: &str = "u:300 a:1200 u:300 a:1200 u:300 a:600";

fn read(file: &str) -> String {
    calls(json!([{ "name": "read", "arguments": { "path": file } }]))
}

/// A call that changes nothing and takes no time.
fn look() -> String {
    read("small.txt")
}

fn harness(script: &[String]) -> Harness {
    let script = [&[window(8192)], script].concat().concat();
    let settings =
        json!({ "keepRecentTokens": 500, "background": { "enabled": true, "atPercent": 50 } });
    let harness = Harness::new(&script).compaction(settings);
    harness.put("small.txt", "small");
    harness.put_lines("large.txt", 3500);
    harness
}

fn is_tool_end(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::ToolEnd { .. })
}

/// Returns the texts of the context at `leaf`.
fn context(tree: &SessionTree, leaf: Leaf) -> Vec<String> {
    let context = build_context(&tree.path(leaf), Profile::Own.context_rules());
    let (messages, _) = context.to_llm(RoleOrder::Any);
    messages
        .iter()
        .map(|message| message.content().joined_text(""))
        .collect()
}

#[test]
fn what_was_prepared_is_spliced_in_and_what_was_said_meanwhile_stays() {
    run(async {
        let script = [
            look(),
            look(),
            look(),
            read("large.txt"),
            answer("done"),
            summaries(),
        ];
        let harness = harness(&script);
        let mut life = harness.open_session(HALF);
        life.say("work");
        life.until(is_tool_end).await;
        life.deliver("and mind this", Delivery::Steer);
        assert_snapshot!(life.rest().await, @"
        user: work
        answer (tool_use):  +1
        tool read
        answer (tool_use):  +1
        tool read
        user: and mind this
        answer (tool_use):  +1
        tool read
        answer (tool_use):  +1
        tool read
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script prepared
        answer (stop): done
        turn done
        ");
        assert_snapshot!(life.written(), @r#"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        system: 
        user: work
        assistant (toolUse): read({"path":"small.txt"})
        toolResult: small
        assistant (toolUse): read({"path":"small.txt"})
        toolResult: small
        user: and mind this
        assistant (toolUse): read({"path":"small.txt"})
        toolResult: small
        assistant (toolUse): read({"path":"large.txt"})
        toolResult: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        compaction
        assistant (stop): done
        "#);
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: Earlier parts of this conversation are no longer
        user: #5
        assistant: #6
        user: work
        assistant:  [read]
        toolResult: small
        assistant:  [read]
        toolResult: small
        user: and mind this
        assistant:  [read]
        toolResult: small
        assistant:  [read]
        toolResult: lorem ipsum dolor sit amet
        lorem ipsum dolor sit
        ");
        assert!(life.result().prepared);
        life.close().await;
    });
}

#[test]
fn undoing_a_splice_gives_back_everything_that_was_there_before_it() {
    run(async {
        let script = [
            look(),
            look(),
            look(),
            read("large.txt"),
            answer("done"),
            summaries(),
        ];
        let harness = harness(&script);
        let mut life = harness.open_session(HALF);
        life.ask("work").await;
        let session = SessionFile::open(life.path()).unwrap();
        let tree = session.tree();
        let (place, compaction) = tree
            .indices()
            .find_map(|index| match tree.entry(index).unwrap().body {
                EntryBody::Compaction(compaction) => Some((index, compaction)),
                _ => None,
            })
            .unwrap();
        let details = compaction.details.as_ref().unwrap().to_value();
        let undo_to = tree.find(&EntryId::new(details["undoTo"].as_str().unwrap()));
        assert_eq!(undo_to, tree.parent(place));
        let undone = context(tree, Leaf::At(undo_to.unwrap()));
        assert!(
            undone.last().unwrap().starts_with("lorem"),
            "the output of the newest call"
        );
        // What the entry says of the context is what the context is.
        let after = build_context(&tree.path(Leaf::At(place)), Profile::Own.context_rules());
        let after = measure(&tree.path(Leaf::At(place)), &after, Profile::Own)
            .tokens
            .0;
        let told = life.result().tokens_after;
        assert!(
            told.abs_diff(after) * 20 <= after,
            "{told} told, {after} measured"
        );
        life.close().await;
    });
}

/// The summarizer lets wait for so many seconds: a model that answers with a pause.
fn slow_summarizer(harness: &mut Harness, seconds: u64) {
    let text =
        line_of(&json!({ "answer": { "text": "## Goal\nslow", "pause_ms": seconds * 1000 } }));
    let slow = harness.model("slow", &text.repeat(9), 8192);
    harness.models.others = vec![Candidate {
        summarizer: Summarizer::Model {
            provider: "scripted".to_owned(),
            model: "slow".to_owned(),
        },
        provider: slow.provider,
        way: SummaryMethod::Summary,
        prices: None,
    }];
}

#[test]
fn a_preparation_that_is_under_way_at_the_threshold_is_waited_for() {
    run(async {
        let mut harness = harness(&[look(), read("large.txt"), answer("done")]);
        slow_summarizer(&mut harness, 4);
        let mut life = harness.open_session(HALF);
        let before = tokio::time::Instant::now();
        assert_snapshot!(life.ask("work").await, @"
        user: work
        answer (tool_use):  +1
        tool read
        answer (tool_use):  +1
        tool read
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/slow prepared
        answer (stop): done
        turn done
        ");
        assert!(life.result().prepared);
        assert_eq!(before.elapsed().as_secs(), 4);
        life.close().await;
    });
}

#[test]
fn a_preparation_that_takes_too_long_gives_way_to_a_plain_compaction() {
    run(async {
        let mut harness = harness(&[look(), read("large.txt"), answer("done")]);
        slow_summarizer(&mut harness, 60);
        let mut life = harness.open_session(HALF);
        life.say("work");
        life.until(|event| matches!(event, SessionEvent::AutoCompactionStart { .. }))
            .await;
        assert_snapshot!(life.rest().await, @"
        user: work
        answer (tool_use):  +1
        tool read
        answer (tool_use):  +1
        tool read
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/slow
        answer (stop): done
        turn done
        ");
        assert!(!life.result().prepared);
        life.close().await;
    });
}

#[test]
fn a_preparation_is_forgotten_when_the_leaf_moves() {
    run(async {
        let script = [look(), answer("a"), answer("b"), summaries()];
        let harness = harness(&script);
        let mut life = harness.open_session(HALF);
        life.ask("work").await;
        assert!(!harness.summaries.lock().unwrap().is_empty());
        let back = Command::Back {
            count: 1,
            summarize: false,
            focus: None,
        };
        life.command_and(back).await;
        assert_snapshot!(life.ask(&words(4000)).await, @"
        user: lorem ipsum dolor sit amet lorem ipsum d
        answer (stop): b
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        turn done
        ");
        assert!(!life.result().prepared);
        life.close().await;
    });
}

#[test]
fn a_preparation_for_another_context_is_stale() {
    run(async {
        let both = ["medium.txt", "large.txt"];
        let both = both.map(|path| json!({ "name": "read", "arguments": { "path": path } }));
        let script = [
            read("medium.txt"),
            look(),
            look(),
            calls(json!(both)),
            answer("a"),
            summaries(),
        ];
        let mut harness = harness(&script);
        harness.put_lines("medium.txt", 500);
        // What was read twice is pruned at the threshold, and that is not enough.
        harness.settings.compaction.prune.minimum_savings = TokenCount(10);
        let mut life = harness.open_session(HALF);
        life.say("work");
        for _ in 0..3 {
            life.until(is_tool_end).await;
        }
        assert!(!harness.summaries.lock().unwrap().is_empty());
        assert_snapshot!(life.rest().await, @"
        user: work
        answer (tool_use):  +1
        tool read
        answer (tool_use):  +1
        tool read
        answer (tool_use):  +1
        tool read
        answer (tool_use):  +2
        tool read
        tool read
        pruned 1
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        answer (stop): a
        turn done
        ");
        assert!(!life.result().prepared);
        life.close().await;
    });
}
