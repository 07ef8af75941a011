//! What makes a compaction run, and what follows it.

use insta::assert_snapshot;
use serde_json::json;
use session_tools::standard_tools;

use super::*;

/// A window whose threshold is 6964 tokens.
const SMALL: u64 = 8192;

/// Most of the threshold, in turns of some hundred tokens.
const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

#[test]
fn a_prompt_that_would_exceed_the_threshold_is_compacted_before() {
    run(async {
        let harness = Harness::new(&[window(SMALL), summaries(), answer("yes")].concat());
        let mut life = harness.open_session(LONG);
        let prompt = format!("go on {}", words(3000));
        assert_snapshot!(life.ask(&prompt).await, @"
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        user: go on lorem ipsum dolor sit amet lorem i
        answer (stop): yes
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        compaction
        system: 
        user: go on lorem ipsum dolor sit amet lorem ipsum dolor sit amet 
        assistant (stop): yes
        compaction
        ");
        life.close().await;
    });
}

#[test]
fn results_of_tools_that_exceed_the_threshold_are_compacted_between() {
    run(async {
        let read = json!([{ "name": "read", "arguments": { "path": "a.txt" } }]);
        let harness =
            Harness::new(&[window(SMALL), summaries(), calls(read), answer("yes")].concat());
        harness.put_lines("a.txt", 3000);
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask("look").await, @"
        user: look
        answer (tool_use):  +1
        tool read
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        answer (stop): yes
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
        user: look
        assistant (toolUse): read({"path":"a.txt"})
        toolResult: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        edit
        compaction
        assistant (stop): yes
        "#);
        life.close().await;
    });
}

/// A turn that ends in an answer above the threshold, with an open item on its todo list.
async fn after_a_turn(continues: Value) -> (String, String) {
    let todos = json!({ "items": [{ "text": "mend it", "status": "open" }] });
    let script = [
        window(SMALL),
        summaries(),
        calls(json!([{ "name": "todo", "arguments": todos }])),
        answer(&format!("{} Which one do you want?", words(1600))),
        answer("went on"),
    ];
    let mut harness =
        Harness::new(&script.concat()).compaction(json!({ "autoContinue": continues }));
    let tools = standard_tools().choose(&["read", "todo"].map(str::to_owned));
    harness.tools = tools.unwrap();
    let mut life = harness.open_session(LONG);
    let told = life.ask("write much").await;
    let written = life.written();
    life.close().await;
    (told, written)
}

#[test]
fn a_turn_that_ends_above_the_threshold_is_compacted_and_waits_for_the_user() {
    run(async {
        let (told, written) = after_a_turn(json!(true)).await;
        assert_snapshot!(told, @"
        user: write much
        answer (tool_use):  +1
        tool todo
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        turn done
        ");
        assert_snapshot!(written, @r#"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        system: 
        user: write much
        assistant (toolUse): todo({"items":[{"status":"open","text":"mend it"}]})
        toolResult: 1 item: 1 open, 0 done [ ] mend it 
        assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        compaction
        "#);
        let (told, _) = after_a_turn(json!(false)).await;
        assert!(!told.contains("went on"), "{told}");
        let (told, _) = after_a_turn(json!("always")).await;
        assert!(told.contains("went on"), "{told}");
    });
}

#[test]
fn a_message_that_waits_goes_before_the_agent_asks_itself_to_continue() {
    run(async {
        let script = [
            window(SMALL),
            summaries(),
            answer(&words(1600)),
            answer("to you"),
        ];
        let harness =
            Harness::new(&script.concat()).compaction(json!({ "autoContinue": "always" }));
        let mut life = harness.open_session(LONG);
        life.say("write much");
        life.until(|event| matches!(event, SessionEvent::TextDelta { .. }))
            .await;
        life.deliver("and then", Delivery::FollowUp);
        assert_snapshot!(life.rest().await, @"
        user: write much
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        turn done
        user: and then
        answer (stop): to you
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn an_overflow_is_compacted_and_asked_again_without_the_failed_answer() {
    run(async {
        let script = [error("context_overflow"), summaries(), answer("now")];
        let harness = Harness::new(&script.concat()).compaction(json!({ "keepRecentTokens": 500 }));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask("go on").await, @"
        user: go on
        answer (error):  context overflow: scripted/script: the script says context_overflow
        auto-compaction overflow context-full
        auto-compacted context-full by scripted/script, goes on
        answer (stop): now
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        system: 
        user: go on
        assistant (error): 
        omission
        compaction
        assistant (stop): now
        ");
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: Earlier parts of this conversation are no longer
        assistant: #8
        user: go on
        ");
        life.close().await;
    });
}

fn cut_off(text: &str) -> String {
    line_of(&json!({ "answer": { "text": text, "stop": "length" } }))
}

#[test]
fn an_answer_that_was_cut_off_leaves_the_context_and_stays_in_the_file() {
    run(async {
        let script = [cut_off("half of i"), summaries(), answer("all of it")];
        let harness = Harness::new(&script.concat()).compaction(json!({ "keepRecentTokens": 500 }));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask("go on").await, @"
        user: go on
        answer (length): half of i
        auto-compaction incomplete context-full
        auto-compacted context-full by scripted/script, goes on
        answer (stop): all of it
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        system: 
        user: go on
        assistant (length): half of i
        omission
        compaction
        assistant (stop): all of it
        ");
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: Earlier parts of this conversation are no longer
        assistant: #8
        user: go on
        ");
        life.close().await;
    });
}

#[test]
fn an_idle_session_is_compacted_once_after_its_time() {
    run(async {
        let script = [answer("yes"), summaries()];
        let harness = Harness::new(&script.concat()).compaction(json!({
            "keepRecentTokens": 500, "idleEnabled": true, "idleThresholdTokens": 1000, "idleTimeoutSeconds": 60,
        }));
        let mut life = harness.open_session(LONG);
        life.ask("hello").await;
        let before = tokio::time::Instant::now();
        let told = life.rest().await;
        assert_eq!(before.elapsed().as_secs(), 60);
        assert_snapshot!(told, @"
        auto-compaction idle context-full
        auto-compacted context-full by scripted/script
        ");
        // The next time finds nothing that was said since.
        assert_eq!(life.rest().await, "");
        life.close().await;
    });
}

#[test]
fn a_manual_compaction_stops_the_answer_and_the_turn_goes_on_after_it() {
    run(async {
        let script = [answer(&words(200)), summaries()];
        let harness = Harness::new(&script.concat()).compaction(json!({ "keepRecentTokens": 500 }));
        let mut life = harness.open_session(LONG);
        life.say("write");
        life.until(|event| matches!(event, SessionEvent::TextDelta { .. }))
            .await;
        let told = life.command_and(compact()).await;
        assert_snapshot!(told, @"
        user: write
        answer (aborted): lorem ipsum dolor sit amet lorem ipsum d scripted/script: the request was cancelled
        compaction manual context-full
        compacted context-full by scripted/script, goes on
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        system: 
        user: write
        assistant (aborted): lorem ipsum dolor sit amet lorem ipsum d
        compaction
        developer: The older part of this conversation has been summarized to m
        assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem
        ");
        life.close().await;
    });
}

#[test]
fn a_manual_compaction_with_nothing_to_do_says_so() {
    run(async {
        let script = summaries();
        let harness = Harness::new(&script).compaction(json!({ "keepRecentTokens": 500 }));
        let mut life = harness.open_session("u:10 a:10");
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual context-full
        compacted: Nothing to compact (session too small)
        ");
        life.close().await;
        let mut life = harness.open_session(LONG);
        life.command_and(compact()).await;
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual context-full
        compacted: Already compacted
        ");
        life.close().await;
    });
}

#[test]
fn a_switched_off_session_is_not_compacted_by_itself() {
    run(async {
        let script = [
            window(SMALL),
            answer("yes"),
            summaries(),
            error("context_overflow"),
        ];
        let harness = Harness::new(&script.concat()).compaction(json!({ "enabled": false }));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask(&words(2000)).await, @"
        user: lorem ipsum dolor sit amet lorem ipsum d
        answer (stop): yes
        turn done
        ");
        assert_snapshot!(life.ask("more").await, @"
        user: more
        answer (error):  context overflow: scripted/script: the script says context_overflow
        turn failed: Context overflow recovery failed: scripted/script: the script says context_overflow; tokens of system prompt 4, tools 653, messages 6058; begin a new session or use a larger window (automatic compaction is switched off)
        ");
        life.send(Command::SetAutomatic(true));
        assert_snapshot!(life.ask("and more").await, @"
        auto-compaction threshold context-full
        auto-compacted context-full by scripted/script
        user: and more
        answer (error):  scripted/script: the script has no turn left (2 were given)
        turn failed: scripted/script: the script has no turn left (2 were given)
        ");
        life.close().await;
    });
}

#[test]
fn an_answer_may_take_what_is_left_of_the_window_and_never_nothing() {
    run(async {
        let header = json!({ "script": 1, "window": SMALL, "max_output": SMALL });
        let script = [line_of(&header), answer("a"), answer("b")].concat();
        let harness = Harness::new(&script).compaction(json!({ "enabled": false }));
        let mut life = harness.open_session(LONG);
        life.ask("one").await;
        life.ask(&words(3000)).await;
        let asked = harness.asked.lock().unwrap().clone();
        let caps: Vec<u64> = asked
            .iter()
            .filter_map(|request| request.max_output)
            .collect();
        let session = SessionFile::open(life.path()).unwrap();
        let tree = session.tree();
        let is_first = |index: &session_model::EntryIndex| match tree.entry(*index).unwrap().body {
            EntryBody::Message(message) => message.display_text() == "one",
            _ => false,
        };
        let first = session_model::Leaf::At(tree.indices().find(is_first).unwrap());
        let path = tree.path(first);
        let context = build_context(&path, Profile::Own.context_rules());
        let tokens = compaction_core::measure(&path, &context, Profile::Own)
            .tokens
            .0;
        // A twentieth is kept free for what the estimate misses.
        let left = SMALL - tokens - tokens / 20;
        assert!(caps[0].abs_diff(left) <= 1, "{caps:?} of {left}");
        assert_eq!(caps[1], 256);
        life.close().await;
    });
}

#[test]
fn an_answer_has_no_bound_where_the_models_cap_is_unknown() {
    run(async {
        let harness = Harness::new(&[window(SMALL), answer("a")].concat());
        let mut life = harness.open_session(LONG);
        life.ask("one").await;
        let bounds: Vec<_> = harness
            .asked
            .lock()
            .unwrap()
            .iter()
            .map(|asked| asked.max_output)
            .collect();
        assert_eq!(bounds, [None]);
        life.close().await;
    });
}
