//! The strategy `restore` in a running session: what is asked and written, hooks, images, and where it stands back.

use ::hooks::{
    CompactingEvent, CompactingResult, Hook, HookContext, HookError, HookFuture, HookPoint,
    Notification,
};
use compaction_core::Strategy;
use insta::assert_snapshot;
use serde_json::json;

use super::*;
use crate::runtime::images::ToolImages;
use session_protocol::TurnEnd;
use summarize::Fallback;

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

/// The least picture that there is.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\
\x3a\x7e\x9b\x55\0\0\0\x0aIDATx\x9cc`\0\0\0\x02\0\x01\x48\xaf\xa4\x71\0\0\0\0IEND\xae\x42\x60\x82";

/// Returns more snapshots than are asked for.
fn snapshots() -> String {
    let text = "<analysis>what to keep</analysis>\n<state_snapshot>\n<current_work>all of it</current_work>\n</state_snapshot>";
    summary(text).repeat(9)
}

fn harness(script: &[String], restore: Value) -> Harness {
    let script = [script.concat(), snapshots()].concat();
    let mut settings =
        json!({ "strategy": ["restore", "extractive"], "prune": { "enabled": false } });
    settings["restore"] = restore;
    Harness::new(&script).compaction(settings)
}

fn nothing_back() -> Value {
    json!({ "maxFiles": 0, "maxImages": 0 })
}

/// Returns the entries of a session file, from the first line on.
fn entries(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the compactions of a session file.
fn compactions(path: &Path) -> Vec<Value> {
    let mut entries = entries(path);
    entries.retain(|entry| entry["type"] == "compaction");
    entries
}

/// Keeps what hooks are told.
#[derive(Clone, Default)]
struct Listens {
    told: Arc<Mutex<Vec<Notification>>>,
    messages: Arc<Mutex<Vec<String>>>,
    fails: bool,
}

impl Hook for Listens {
    fn name(&self) -> &str {
        "test"
    }

    fn wants(&self, _: HookPoint) -> bool {
        true
    }

    fn compacting<'a>(
        &'a self,
        event: &'a CompactingEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, CompactingResult> {
        let said = event.messages.iter().map(|message| format!("{message:?}"));
        self.messages.lock().unwrap().extend(said);
        Box::pin(std::future::ready(Ok(CompactingResult::default())))
    }

    fn notify<'a>(&'a self, told: &'a Notification, _: &'a HookContext) -> HookFuture<'a, ()> {
        self.told.lock().unwrap().push(told.clone());
        let is_compaction = matches!(told, Notification::SessionCompact { .. });
        let answer = match self.fails && is_compaction {
            true => Err(HookError("it broke".to_owned())),
            false => Ok(()),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Listens {
    /// Returns the summaries and triggers of the compactions that were told.
    fn compactions(&self) -> Vec<(String, &'static str)> {
        let told = self.told.lock().unwrap();
        let told = told.iter().filter_map(|told| match told {
            Notification::SessionCompact {
                summary, trigger, ..
            } => Some((summary.clone(), *trigger)),
            _ => None,
        });
        told.collect()
    }
}

#[test]
fn everything_is_summarized_and_the_next_prompt_follows() {
    run(async {
        let harness = harness(&[answer("yes")], nothing_back());
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual restore
        compacted restore by scripted/script
        ");
        assert_eq!(harness.summaries.lock().unwrap().len(), 1);
        let result = life.result().clone();
        assert_eq!(result.kept_entries, 0);
        assert!(result.tokens_after < result.tokens_before);
        let compaction = &compactions(life.path())[0];
        assert_eq!(result.entry_id.as_deref(), compaction["id"].as_str());
        assert_eq!(compaction["details"]["strategy"], "restore");
        assert!(compaction["details"]["usage"].is_object());
        assert_snapshot!(life.ask("go on").await, @"
        user: go on
        answer (stop): yes
        turn done
        ");
        let request = harness.newest_request();
        let roles: Vec<_> = request
            .iter()
            .filter_map(|line| line.split(':').next())
            .filter(|role| *role != "system")
            .collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        life.close().await;
    });
}

#[test]
fn a_turn_goes_on_where_only_an_acknowledgement_is_left() {
    run(async {
        let output = json!([{ "name": "bash", "arguments": { "command": "seq 3000" } }]);
        let harness = harness(
            &[window(8192), calls(output), answer("done")],
            nothing_back(),
        );
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask("count").await, @"
        user: count
        answer (tool_use):  +1
        tool bash
        auto-compaction threshold restore
        auto-compacted restore by scripted/script
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
        user: #7
        assistant (stop): #8
        system: 
        user: count
        assistant (toolUse): bash({"command":"seq 3000"})
        toolResult: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 
        compaction
        developer: The older part of this conversation has been summarized to m
        assistant (stop): done
        "#);
        // No provider is asked to go on from what it said itself.
        let request = harness.newest_request();
        let last = request.last().unwrap();
        assert!(!last.starts_with("assistant"), "{request:?}");
        life.close().await;
    });
}

/// Calls that look at a picture so many times.
fn looks(count: usize) -> String {
    let look = json!({ "name": "read", "arguments": { "path": "p.png" } });
    calls(Value::from(vec![look; count]))
}

fn house_with_pictures(script: &[String], restore: Value) -> Harness {
    let harness = harness(script, restore);
    std::fs::write(harness.work().join("p.png"), PNG).unwrap();
    harness
}

#[test]
fn many_images_of_tools_start_a_compaction_below_the_threshold() {
    run(async {
        let script = [looks(2), looks(1), answer("seen"), answer("again")];
        let restore = json!({ "maxFiles": 0, "maxImages": 1, "imageTriggerCount": 3 });
        let harness = house_with_pictures(&script, restore);
        let mut life = harness.open_session(LONG);
        let told = life.ask("look at it").await;
        // What comes back is told elsewhere.
        let told = told.lines().filter(|line| !line.starts_with("progress"));
        assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @"
        user: look at it
        answer (tool_use):  +2
        tool read
        tool read
        answer (tool_use):  +1
        tool read
        auto-compaction image restore
        auto-compacted restore by scripted/script
        answer (stop): seen
        turn done
        ");
        // What came back does not start another one.
        assert_snapshot!(life.ask("go on").await, @"
        user: go on
        answer (stop): again
        turn done
        ");
        assert_eq!(compactions(life.path()).len(), 1);
        life.close().await;
    });
}

#[test]
fn images_start_nothing_where_they_are_not_to() {
    run(async {
        let settings = [
            json!({ "strategy": "restore", "restore": { "imageTriggerCount": 4 } }),
            json!({ "strategy": "restore", "restore": { "imageTriggerCount": 3, "imageTrigger": false } }),
            json!({ "strategy": ["context-full", "restore"], "restore": { "imageTriggerCount": 3 } }),
            json!({ "strategy": "restore", "enabled": false, "restore": { "imageTriggerCount": 3 } }),
        ];
        for settings in settings {
            let script = [snapshots(), looks(3), answer("seen")].concat();
            let harness = Harness::new(&script).compaction(settings.clone());
            std::fs::write(harness.work().join("p.png"), PNG).unwrap();
            let mut life = harness.open_session(LONG);
            life.ask("look at it").await;
            assert!(compactions(life.path()).is_empty(), "{settings}");
            life.close().await;
        }
    });
}

#[test]
fn a_compaction_that_images_could_not_bring_is_not_tried_at_once_again() {
    run(async {
        let script = [
            looks(3),
            looks(1),
            answer("seen"),
            looks(2),
            answer("seen more"),
        ];
        let mut settings = json!({ "strategy": "restore" });
        settings["restore"] = json!({ "maxFiles": 0, "maxImages": 0, "imageTriggerCount": 3 });
        let script = [script.concat(), snapshots()].concat();
        let harness = Harness::new(&script).compaction(settings).hook(Refuses);
        std::fs::write(harness.work().join("p.png"), PNG).unwrap();
        let mut life = harness.open_session(LONG);
        let tries = |told: &str| told.matches("auto-compaction image").count();
        assert_eq!(tries(&life.ask("look at it").await), 1);
        // Six are three more.
        assert_eq!(tries(&life.ask("look again").await), 1);
        life.close().await;
    });
}

#[test]
fn only_what_tools_showed_since_the_newest_compaction_counts() {
    let image = |count: usize| {
        let image = json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" });
        Value::from(vec![image; count])
    };
    let at = "2026-01-01T01:00:00.000Z";
    let message = |role: &str, count: usize| {
        json!({ "type": "message", "message": {
            "role": role, "content": image(count), "timestamp": 1_767_225_600_000_u64,
            "toolCallId": "c", "toolName": "shot", "isError": false,
        } })
    };
    let back = json!({
        "type": "custom_message", "customType": "restored_context", "content": image(9), "display": false,
    });
    let compaction = json!({ "type": "compaction", "summary": "all", "firstKeptEntryId": "", "tokensBefore": 9 });
    let edit =
        json!({ "type": "context_edit", "targetId": "n1", "replacement": { "content": image(1) } });
    let gone = json!({ "type": "context_edit", "targetId": "n1", "replacement": null });
    let steps = [
        (message("user", 7), 0),
        (message("toolResult", 4), 4),
        (message("toolResult", 1), 5),
        (edit, 2),
        (back.clone(), 2),
        (gone, 1),
        (compaction, 0),
        (back, 0),
        (message("user", 7), 0),
        (message("toolResult", 2), 2),
    ];
    let mut lines = test_support::session("");
    let mut parent = Value::Null;
    let mut grown = ToolImages::default();
    for (place, (mut entry, count)) in steps.into_iter().enumerate() {
        let id = json!(format!("n{place}"));
        entry["id"] = id.clone();
        entry["parentId"] = std::mem::replace(&mut parent, id);
        entry["timestamp"] = json!(at);
        lines.push_str(&format!("{entry}\n"));
        let tree = session_model::decode_bytes(lines.as_bytes().to_vec()).tree;
        let path = tree.path(tree.leaf());
        let mut fresh = ToolImages::default();
        fresh.follow(&path);
        grown.follow(&path);
        for images in [&fresh, &grown] {
            assert!(
                images.are(count) && !images.are(count + 1),
                "n{place}: {images:?}"
            );
        }
    }
    // Another path is read anew.
    let short = test_support::session("u:1");
    let tree = session_model::decode_bytes(short.into_bytes()).tree;
    grown.follow(&tree.path(tree.leaf()));
    assert!(!grown.are(1));
}

/// A hook that wants no compaction.
struct Refuses;

impl Hook for Refuses {
    fn name(&self) -> &str {
        "test"
    }

    fn before_compact<'a>(
        &'a self,
        _: &'a ::hooks::BeforeCompactEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, ::hooks::BeforeCompactResult> {
        let answer = ::hooks::BeforeCompactResult::Cancel { reason: None };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

#[test]
fn hooks_are_told_the_summary_and_who_started_it() {
    run(async {
        let listens = Listens::default();
        let script = [window(8192), answer("yes"), answer("more")];
        let harness = harness(&script, nothing_back()).hook(listens.clone());
        let mut life = harness.open_session(LONG);
        life.command_and(compact()).await;
        life.ask(&words(3500)).await;
        life.ask(&words(3000)).await;
        life.close().await;
        let told = listens.compactions();
        let triggers: Vec<_> = told.iter().map(|(_, trigger)| *trigger).collect();
        assert_eq!(triggers[..2], ["manual", "auto"]);
        let resume = session_model::restore_frame();
        let resume = resume.lines().next().unwrap();
        for ((summary, _), entry) in told.iter().zip(compactions(life.path())) {
            assert_eq!(entry["summary"].as_str(), Some(summary.as_str()));
            assert!(summary.contains("all of it") && !summary.contains(resume));
        }
    });
}

#[test]
fn a_hook_that_fails_is_told_and_harms_nothing() {
    run(async {
        let listens = Listens {
            fails: true,
            ..Listens::default()
        };
        let harness = harness(&[answer("yes")], nothing_back()).hook(listens);
        let mut life = harness.open_session(LONG);
        life.command_and(compact()).await;
        life.ask("go on").await;
        life.close().await;
        let failed = life.heard.iter().any(|event| {
            matches!(event, SessionEvent::HookFailed { point, .. } if *point == "session_compact")
        });
        assert!(failed);
        assert_eq!(compactions(life.path()).len(), 1);
    });
}

#[test]
fn hooks_never_see_the_sentence_to_go_on() {
    run(async {
        let listens = Listens::default();
        let harness = harness(&[answer(&words(900))], nothing_back()).hook(listens.clone());
        let mut life = harness.open_session(LONG);
        life.command_and(compact()).await;
        life.ask("go on").await;
        let frame = session_model::restore_frame();
        let asked = harness.asked.lock().unwrap().last().map(text_of).unwrap();
        listens.messages.lock().unwrap().clear();
        life.command_and(compact()).await;
        let messages = listens.messages.lock().unwrap().join("\n");
        assert!(messages.contains("all of it"));
        for said in frame.lines().filter(|line| !line.trim().is_empty()) {
            assert!(asked.contains(said));
            assert!(!messages.contains(said), "{messages}");
        }
        life.close().await;
    });
}

#[test]
fn the_next_strategy_takes_over_when_restore_fails() {
    run(async {
        let script = line_of(&json!({ "summary": { "error": { "kind": "overloaded" } } }));
        let mut harness = Harness::new(&script)
            .compaction(json!({ "strategy": ["restore", "extractive"], "keepRecentTokens": 500 }));
        harness.models.fallback = Fallback::None;
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual restore
        progress: scripted/script (summary): the script says overloaded
        compacted extractive by extractive
        ");
        assert_ne!(
            compactions(life.path())[0]["details"]["strategy"],
            "restore"
        );
        life.close().await;
    });
}

#[test]
fn a_scratchpad_alone_leaves_the_session_as_it_was() {
    run(async {
        let script = summary("<analysis>what to keep").repeat(9);
        let mut harness = Harness::new(&script)
            .compaction(json!({ "strategy": "restore", "restore": nothing_back() }));
        harness.models.fallback = Fallback::None;
        let mut life = harness.open_session(LONG);
        let before = harness.files();
        let told = life.command_and(compact()).await;
        assert!(!told.contains("what to keep"), "{told}");
        assert_snapshot!(told, @"
        compaction manual restore
        progress: the summary is empty; asking once more
        progress: scripted/script (summary): the summary is empty
        compacted: Compaction failed: the summary is empty
        ");
        assert_eq!(harness.files(), before);
        life.close().await;
    });
}

#[test]
fn what_would_grow_leaves_the_session_as_it_was_and_says_both_figures() {
    run(async {
        let text = format!("<state_snapshot>{}</state_snapshot>", words(900));
        let script = summary(&text).repeat(9);
        let mut harness = Harness::new(&script)
            .compaction(json!({ "strategy": "restore", "restore": nothing_back() }));
        harness.models.fallback = Fallback::None;
        let mut life = harness.open_session("u:100 a:200 u:100 a:100");
        let before = harness.files();
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual restore
        progress: scripted/script (summary): the context would not get smaller: 409 tokens before, 838 after
        compacted: the context would not get smaller: 409 tokens before, 838 after
        ");
        assert_eq!(harness.files(), before);
        life.close().await;
    });
}

#[test]
fn too_few_messages_are_no_compaction_and_no_hook_is_asked() {
    run(async {
        let listens = Listens::default();
        let harness = harness(&[], nothing_back()).hook(listens.clone());
        let mut life = harness.open_session("u:3000");
        let before = harness.files();
        life.send(super::compact_by(Strategy::Restore));
        assert_snapshot!(life.rest().await, @"
        compaction manual restore
        compacted: Nothing to compact (session too small)
        ");
        assert_eq!(harness.files(), before);
        assert!(listens.messages.lock().unwrap().is_empty());
        life.close().await;
    });
}

#[test]
fn nothing_is_prepared_beside_the_turn() {
    run(async {
        let look = calls(json!([{ "name": "read", "arguments": { "path": "small.txt" } }]));
        for (strategy, asked) in [("restore", 0), ("context-full", 1)] {
            let script = [window(8192), look.repeat(3), answer("done"), snapshots()];
            let harness = Harness::new(&script.concat()).compaction(json!({
                "strategy": [strategy, "extractive"],
                "keepRecentTokens": 500,
                "background": { "enabled": true, "atPercent": 50 },
            }));
            harness.put("small.txt", "small");
            let mut life = harness.open_session("u:300 a:1200 u:300 a:1200 u:300 a:600");
            life.ask("work").await;
            assert_eq!(harness.summaries.lock().unwrap().len(), asked, "{strategy}");
            life.close().await;
        }
    });
}

#[test]
fn what_was_brought_back_waits_for_no_answer() {
    run(async {
        let harness = harness(&[answer("never")], nothing_back());
        let session = test_support::session("u:10 a:10 u:10 a:10");
        let at = "2026-01-01T01:00:00.000Z";
        let compaction = json!({
            "type": "compaction", "id": "k1", "parentId": "e4", "timestamp": at, "summary": "all",
            "firstKeptEntryId": "k1", "tokensBefore": 9, "details": { "strategy": "restore", "undoTo": "e4" },
        });
        let back = json!({
            "type": "custom_message", "id": "k2", "parentId": "k1", "timestamp": at,
            "customType": "restored_context", "content": "a file", "display": false,
        });
        let mut life = harness.open(&harness.file(&format!("{session}{compaction}\n{back}\n")));
        assert_eq!(life.command_and(Command::Resume).await, "");
        // Said next to it, something is answered.
        let mut told = life.ask("go on").await;
        told.retain(|character| character != '\r');
        assert!(told.ends_with("turn done"), "{told}");
        let finished = life.close().await;
        assert_eq!(finished.turn, Some(TurnEnd::Done));
    });
}
