//! Sessions that are opened again: what they were left in goes on.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

/// Returns a session in the notation, with an answer behind it that ended like this.
fn ending_in(notation: &str, stop: &str, more: &Value) -> String {
    let session = test_support::session(notation);
    let parent = session.lines().count() - 1;
    let mut message = json!({
        "role": "assistant", "api": "test", "provider": "test", "model": "test",
        "content": [{ "type": "text", "text": "half" }],
        "stopReason": stop, "timestamp": 1_767_225_600_000_u64,
    });
    for (key, value) in more.as_object().unwrap() {
        message[key] = value.clone();
    }
    let entry = json!({
        "type": "message", "id": "broken", "parentId": format!("e{parent}"),
        "timestamp": "2026-01-01T01:00:00.000Z", "message": message,
    });
    format!("{session}{entry}\n")
}

fn overflow() -> Value {
    json!({ "errorMessage": "400 prompt is too long: 210000 tokens > 200000 maximum", "content": [] })
}

const OLD: &str = "u:300 a:1200 u:300 a:1200 u:10";

/// Resumes; returns what was told, and what was written behind the session.
async fn resumed(script: &str, lines: &str) -> (String, String) {
    resumed_with(Approvals::allow_all(), script, lines).await
}

/// Does the same with these approvals.
async fn resumed_with(approvals: Approvals, script: &str, lines: &str) -> (String, String) {
    let mut harness = Harness::new(&[script, &summaries()].concat())
        .compaction(json!({ "keepRecentTokens": 500 }));
    harness.approvals = approvals;
    harness.put("a.txt", "text of a");
    let path = harness.file(lines);
    let before = written(&path).lines().count();
    let mut life = harness.open(&path);
    let told = life.command_and(Command::Resume).await;
    let after = written(&path);
    let new: Vec<&str> = after.lines().skip(before).collect();
    life.close().await;
    (told, new.join("\n"))
}

#[test]
fn a_message_without_an_answer_is_answered() {
    run(async {
        let (told, new) = resumed(&answer("here"), &test_support::session("u:10 a:10 u:10")).await;
        assert_snapshot!(told, @"
        answer (stop): here
        turn done
        ");
        assert_snapshot!(new, @"
        system: 
        assistant (stop): here
        ");
    });
}

#[test]
fn a_session_that_ends_in_an_answer_is_left_alone() {
    run(async {
        let (told, new) = resumed(&answer("never"), &test_support::session("u:10 a:10")).await;
        assert_eq!((told.as_str(), new.as_str()), ("", ""));
        let session = test_support::session("u:10 a:10 label info b:10");
        let (told, new) = resumed(&answer("never"), &session).await;
        assert_eq!((told.as_str(), new.as_str()), ("", ""));
    });
}

#[test]
fn a_read_without_a_result_is_repeated_and_a_command_is_not() {
    run(async {
        let calls = json!({ "content": [
            { "type": "toolCall", "id": "1", "name": "read", "arguments": { "path": "a.txt" } },
            { "type": "toolCall", "id": "2", "name": "bash", "arguments": { "command": "touch ran" } },
            { "type": "toolCall", "id": "3", "name": "edit", "arguments": { "path": "a.txt", "old": "a", "new": "b" } },
        ]});
        let lines = ending_in("u:10", "toolUse", &calls);
        // Policies alone let no call of an opened session run: `read` is named as on the command line.
        let approvals = Approvals::allow_all().with_named(&["read"]);
        let (told, new) = resumed_with(approvals, &answer("I see"), &lines).await;
        assert_snapshot!(told, @"
        tool read
        tool bash failed
        tool edit failed
        answer (stop): I see
        turn done
        ");
        assert_snapshot!(new, @"
        system: 
        toolResult: text of a
        toolResult: the session was interrupted while this call ran, and its res
        toolResult: the session was interrupted while this call ran, and its res
        assistant (stop): I see
        ");
    });
}

#[test]
fn a_read_without_a_result_is_not_repeated_unasked() {
    run(async {
        let calls = json!({ "content": [
            { "type": "toolCall", "id": "1", "name": "read", "arguments": { "path": "a.txt" } },
        ]});
        let lines = ending_in("u:10", "toolUse", &calls);
        let (told, new) = resumed(&answer("I see"), &lines).await;
        assert_snapshot!(told, @"
        notice: 1 call without a result in the opened session (read): such calls are not run, because no user can be asked; those of a tool that is allowed by name for this run are
        tool read failed
        answer (stop): I see
        turn done
        ");
        assert_snapshot!(new, @"
        system: 
        toolResult: not run: the session was opened from a file that ends in thi
        assistant (stop): I see
        ");
    });
}

#[test]
fn calls_that_ran_before_the_end_keep_their_results() {
    run(async {
        let session = test_support::session("u:10 call:1:5 res:1:5");
        let (told, _) = resumed(&answer("I see"), &session).await;
        assert_snapshot!(told, @"
        answer (stop): I see
        turn done
        ");
    });
}

#[test]
fn an_answer_that_was_cut_off_is_asked_for_again() {
    run(async {
        let (told, new) = resumed(&answer("whole"), &ending_in(OLD, "length", &json!({}))).await;
        assert_snapshot!(told, @"
        auto-compaction incomplete context-full
        auto-compacted context-full by scripted/script, goes on
        answer (stop): whole
        turn done
        ");
        assert_snapshot!(new, @"
        system: 
        omission
        compaction
        assistant (stop): whole
        ");
    });
}

/// What is told where the answer that failed is asked for anew and nothing is compacted.
const ASKED_ANEW: &str = "answer (stop): anew\nturn done";

#[test]
fn calls_of_an_answer_that_was_cut_off_do_not_run() {
    run(async {
        let calls = json!({ "content": [
            { "type": "toolCall", "id": "1", "name": "bash", "arguments": { "command": "rm -r" } },
        ]});
        for stop in ["aborted", "error"] {
            let (told, new) = resumed(&answer("anew"), &ending_in(OLD, stop, &calls)).await;
            assert_eq!(told, ASKED_ANEW, "{stop}");
            assert!(new.contains("omission"), "{stop}: {new}");
        }
        let (told, _) = resumed(&answer("whole"), &ending_in(OLD, "length", &calls)).await;
        assert!(!told.contains("tool bash"), "{told}");
        assert!(told.contains("answer (stop): whole"), "{told}");
    });
}

#[test]
fn an_overflow_of_this_model_is_recovered_from_once() {
    run(async {
        let lines = ending_in(OLD, "error", &overflow());
        let (told, new) = resumed(&answer("it fits"), &lines).await;
        assert_snapshot!(told, @"
        auto-compaction overflow context-full
        auto-compacted context-full by scripted/script, goes on
        answer (stop): it fits
        turn done
        ");
        assert_snapshot!(new, @"
        system: 
        omission
        compaction
        assistant (stop): it fits
        ");
        let (told, _) = resumed(&error("context_overflow"), &lines).await;
        assert_snapshot!(told, @"
        auto-compaction overflow context-full
        auto-compacted context-full by scripted/script, goes on
        answer (error):  context overflow: scripted/script: the script says context_overflow
        turn failed: Context overflow recovery failed: the context still does not fit after a compaction: scripted/script: the script says context_overflow; tokens of system prompt 4, tools 653, messages 1319; begin a new session or use a larger window
        ");
    });
}

#[test]
fn an_answer_older_than_the_newest_compaction_is_not_recovered_from() {
    run(async {
        let compaction = json!({
            "type": "compaction", "id": "compaction", "parentId": "broken", "timestamp": "2026-01-01T02:00:00.000Z",
            "summary": "all of it", "firstKeptEntryId": "e3", "tokensBefore": 0,
        });
        for (stop, more) in [("error", overflow()), ("length", json!({}))] {
            let lines = format!("{}{compaction}\n", ending_in(OLD, stop, &more));
            let (told, new) = resumed(&answer("anew"), &lines).await;
            assert_eq!(told, ASKED_ANEW, "{stop}");
            assert!(!new.contains("compaction"), "{stop}: {new}");
        }
    });
}

#[test]
fn a_retry_that_was_cut_short_by_the_end_of_the_program_goes_on() {
    run(async {
        let lines = ending_in(OLD, "error", &overflow());
        let behind = [
            json!({ "type": "context_edit", "id": "omit", "parentId": "broken", "targetId": "broken",
                "replacement": null, "timestamp": "2026-01-01T02:00:00.000Z" }),
            json!({ "type": "compaction", "id": "compaction", "parentId": "omit", "summary": "all of it",
                "firstKeptEntryId": "e3", "tokensBefore": 0, "timestamp": "2026-01-01T02:00:00.000Z" }),
        ];
        let lines = behind
            .iter()
            .fold(lines, |lines, entry| format!("{lines}{entry}\n"));
        let (told, _) = resumed(&answer("it fits"), &lines).await;
        assert_snapshot!(told, @"
        answer (stop): it fits
        turn done
        ");
    });
}

#[test]
fn resuming_what_runs_changes_nothing() {
    run(async {
        let write =
            json!([{ "name": "write", "arguments": { "path": "b.txt", "content": "new" } }]);
        let harness = Harness::new(&[calls(write), answer("done")].concat());
        let mut life = harness.live();
        life.say("write it");
        life.until(|event| matches!(event, SessionEvent::TurnStart))
            .await;
        for _ in 0..3 {
            life.send(Command::Resume);
        }
        assert_snapshot!(life.rest().await, @"
        user: write it
        answer (tool_use):  +1
        tool write
        answer (stop): done
        turn done
        ");
        assert_eq!(
            std::fs::read_to_string(harness.work().join("b.txt")).unwrap(),
            "new"
        );
        life.close().await;
    });
}

#[test]
fn the_model_that_was_given_answers_and_the_session_says_so() {
    run(async {
        let mut harness = Harness::new(&answer("I am another"));
        let given = harness.model("given", &answer("I was given"), WINDOW);
        let before = std::mem::replace(&mut harness.models.model, given);
        // Even one that is known from before does not take the place of the one that was given.
        harness.models.former.push(before);
        let mut life = harness.open_session("u:10 a:10");
        assert_snapshot!(life.ask("who are you").await, @"
        user: who are you
        answer (stop): I was given
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        system: 
        model given
        user: who are you
        assistant (stop): I was given
        ");
        life.close().await;
    });
}

#[test]
fn a_session_of_another_agent_keeps_its_instructions_and_gets_these_tools() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer("b")].concat());
        let system = json!({
            "type": "message", "id": "first", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": { "role": "system", "content": "you are another agent", "timestamp": 1_767_225_600_000_u64,
                "toolsAdded": [{ "name": "browse", "description": "looks", "parameters": {} },
                    { "name": "read", "description": "reads otherwise", "parameters": {} }] },
        });
        let session = test_support::session("u:10 a:10")
            .replace(r#""parentId":null"#, r#""parentId":"first""#);
        let (header, rest) = session.split_once('\n').unwrap();
        let path = harness.file(&format!("{header}\n{system}\n{rest}"));
        let mut life = harness.open(&path);
        life.ask("one").await;
        life.ask("two").await;
        assert_snapshot!(life.written(), @"
        system: 
        user: #1
        assistant (stop): #2
        system: 
        user: one
        assistant (stop): a
        user: two
        assistant (stop): b
        ");
        let asked = harness.asked.lock().unwrap().clone();
        assert_snapshot!(asked[0].system, @"
        you are another agent

        be brief
        ");
        let tools: Vec<&str> = asked[0].tools.iter().map(|tool| &*tool.name).collect();
        let own: Vec<&str> = harness.tools.names().collect();
        assert_eq!(tools.len(), own.len(), "{tools:?}");
        assert_eq!(asked[0].tools, asked[1].tools);
        life.close().await;
    });
}

#[test]
fn a_prompt_after_calls_without_results_is_sent_with_what_is_known_of_them() {
    run(async {
        let harness = Harness::new(&answer("I see"));
        let mut life = harness.open_session("u:10 call:1:5");
        life.ask("never mind").await;
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: #1
        assistant:  [bash]
        toolResult: [no result was recorded for this call; it may no
        user: never mind
        ");
        life.close().await;
    });
}
