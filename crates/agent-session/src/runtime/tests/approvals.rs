//! Calls that have to be allowed: asked about at once, answered in any order, and given up with the turn; and keys,
//! which nobody is told.

use ::hooks::{Hook, HookContext, HookFuture, Notification, ToolCallEvent, ToolCallResult};

use super::*;
use agent_tools::approval::{Decision, Policy};

/// Returns a harness whose writing and commands have to be allowed.
fn asking(made: Value) -> Harness {
    let mut harness = Harness::new(&[calls(made), answer("done")].concat());
    let policies = ["write", "bash"].map(|tool| (tool.to_owned(), Policy::Ask));
    harness.approvals = Approvals::new(policies.into(), true);
    harness
}

fn write(path: &str) -> Value {
    json!({ "name": "write", "arguments": { "path": path, "content": "x" } })
}

fn bash(command: &str) -> Value {
    json!({ "name": "bash", "arguments": { "command": command } })
}

fn is_asked(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::ApprovalRequest { .. })
}

fn approve(call_id: &str, decision: Decision) -> Command {
    Command::Approve {
        call_id: call_id.to_owned(),
        decision,
    }
}

#[test]
fn questions_of_a_batch_are_asked_at_once_and_answered_in_any_order() {
    run(async {
        let harness = asking(json!([write("a"), write("b")]));
        let mut life = harness.live();
        life.say("work");
        life.until(is_asked).await;
        life.until(is_asked).await;
        life.send(approve("call_1_2", Decision::Once));
        life.send(approve("nobody", Decision::Once));
        life.send(approve("call_1_1", Decision::Deny));
        insta::assert_snapshot!(life.rest().await, @"
        user: work
        answer (tool_use):  +2
        asks for write: a
        asks for write: b
        error: no call nobody waits to be allowed
        allowed deny
        tool write failed
        allowed once
        tool write
        answer (stop): done
        turn done
        ");
        assert!(!harness.work().join("a").exists());
        assert!(harness.work().join("b").exists());
        insta::assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: work
        assistant (toolUse): write({"content":"x","path":"a"}) write({"content":"x","path
        toolResult: the user does not allow this; do it another way, or ask what
        toolResult: made b: 1 byte, 1 line
        assistant (stop): done
        "#);
        life.close().await;
    });
}

#[test]
fn the_time_of_a_call_is_without_the_time_that_the_user_thought() {
    run(async {
        let harness = asking(json!([write("a")]));
        let mut life = harness.live();
        life.say("work");
        life.until(is_asked).await;
        tokio::time::advance(Duration::from_secs(60)).await;
        life.send(approve("call_1_1", Decision::Once));
        life.rest().await;
        let took = life.heard.iter().find_map(|event| match event {
            SessionEvent::ToolEnd { seconds, .. } => Some(*seconds),
            _ => None,
        });
        assert!(took.unwrap() < 60.0, "{took:?}");
        life.close().await;
    });
}

#[test]
fn what_is_answered_for_good_is_not_asked_again() {
    run(async {
        let harness = asking(json!([
            write("a"),
            bash("echo 1 >> ran"),
            bash(" echo 1 >> ran\n"),
            bash("echo 2 >> ran"),
        ]));
        let mut life = harness.live();
        life.say("work");
        for (call, decision) in [
            ("call_1_1", Decision::Never),
            ("call_1_2", Decision::Always),
            ("call_1_4", Decision::Once),
        ] {
            life.until(is_asked).await;
            life.send(approve(call, decision));
        }
        insta::assert_snapshot!(life.rest().await, @"
        user: work
        answer (tool_use):  +4
        asks for write: a
        allowed never
        tool write failed
        asks for bash: echo 1 >> ran
        allowed always
        tool bash
        tool bash
        asks for bash: echo 2 >> ran
        allowed once
        tool bash
        answer (stop): done
        turn done
        ");
        let ran = std::fs::read_to_string(harness.work().join("ran")).unwrap();
        assert_eq!(ran, "1\n1\n2\n");
        life.close().await;
    });
}

#[test]
fn a_turn_that_is_stopped_asks_no_more() {
    run(async {
        let harness = asking(json!([write("a"), write("b")]));
        let mut life = harness.live();
        life.say("work");
        life.until(is_asked).await;
        life.until(is_asked).await;
        insta::assert_snapshot!(life.command_and(Command::Abort).await, @"
        user: work
        answer (tool_use):  +2
        asks for write: a
        asks for write: b
        not asked any more
        tool write failed
        not asked any more
        tool write failed
        turn aborted
        ");
        // An answer that comes late is told so, and does nothing.
        life.send(approve("call_1_1", Decision::Once));
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        insta::assert_snapshot!(life.news(), @"error: no call call_1_1 waits to be allowed");
        assert!(!harness.work().join("a").exists());
        insta::assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: work
        assistant (toolUse): write({"content":"x","path":"a"}) write({"content":"x","path
        toolResult: cancelled
        toolResult: cancelled
        "#);
        life.close().await;
    });
}

#[test]
fn a_session_that_is_closed_while_it_asks_ends() {
    run(async {
        let harness = asking(json!([write("a")]));
        let mut life = harness.live();
        life.say("work");
        life.until(is_asked).await;
        life.close().await;
        assert!(!harness.work().join("a").exists());
    });
}

#[test]
fn a_tool_that_is_denied_by_name_does_not_run() {
    run(async {
        let mut harness =
            asking(json!([write("a"), { "name": "read", "arguments": { "path": "a" } }]));
        harness.put("a", "text");
        let policies = ["write", "read"].map(|tool| (tool.to_owned(), Policy::Deny));
        harness.approvals = Approvals::new(policies.into(), true);
        let mut life = harness.live();
        life.ask("work").await;
        insta::assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: work
        assistant (toolUse): write({"content":"x","path":"a"}) read({"path":"a"})
        toolResult: write is not allowed here; do it with the other tools, or sa
        toolResult: read is not allowed here; do it with the other tools, or say
        assistant (stop): done
        "#);
        life.close().await;
    });
}

const KEY: &str = "sk-0123456789abcdefghij";

/// A hook that blocks one tool with a key in its reason, and keeps what it is told.
struct Leaky(Arc<Mutex<Vec<String>>>);

impl Hook for Leaky {
    fn name(&self) -> &str {
        "leaky"
    }

    fn tool_call<'a>(
        &'a self,
        event: &'a ToolCallEvent<'_>,
        _: &'a HookContext,
    ) -> HookFuture<'a, ToolCallResult> {
        let result = match event.tool {
            "write" => ToolCallResult::Block {
                reason: Some(format!("the key is {KEY}")),
            },
            _ => ToolCallResult::default(),
        };
        Box::pin(std::future::ready(Ok(result)))
    }

    fn notify<'a>(
        &'a self,
        notification: &'a Notification,
        _: &'a HookContext,
    ) -> HookFuture<'a, ()> {
        if let Notification::ToolResult { .. } = notification {
            self.0.lock().unwrap().push(format!("{notification:?}"));
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

#[test]
fn a_key_reaches_no_event_no_hook_no_request_and_no_file() {
    run(async {
        let mut harness = Harness::new(
            &[
                calls(json!([
                    bash("cat key; cat key >&2; exit 3"),
                    { "name": "read", "arguments": { "path": "key" } },
                    { "name": "write", "arguments": { "path": "dance", "content": "x" } },
                ])),
                answer("done"),
            ]
            .concat(),
        );
        let mut redactor = Redactor::default();
        redactor.add(KEY);
        harness.redactor = Arc::new(redactor);
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut harness = harness.hook(Leaky(told.clone()));
        harness.put("key", KEY);
        harness.approvals = Approvals::allow_all();
        let mut life = harness.live();
        life.ask("work").await;
        life.close().await;
        // How many updates there are depends on the time.
        let is_update = |event: &&SessionEvent| matches!(event, SessionEvent::ToolUpdate { .. });
        let events: Vec<_> = life
            .heard
            .iter()
            .filter(|event| !is_update(event))
            .collect();
        let events = serde_json::to_string(&events).unwrap();
        let asked = format!("{:?}", harness.asked.lock().unwrap());
        let told = told.lock().unwrap().join("\n");
        let session = std::fs::read_to_string(life.path()).unwrap();
        for (what, text, times) in [
            ("events", events, 4),
            ("requests", asked, 4),
            ("hooks", told, 4),
            ("session", session, 4),
        ] {
            assert!(!text.contains(KEY), "{what}: {text}");
            assert_eq!(
                text.matches("[secret removed]").count(),
                times,
                "{what}: {text}"
            );
        }
    });
}

#[test]
fn a_key_that_is_split_over_deltas_is_in_no_delta() {
    run(async {
        // The model answers in pieces of 40 characters: every offset splits the key at another byte.
        let offsets = 40 - KEY.len()..=40;
        let said = |offset: usize| format!("{}{KEY} and more", ".".repeat(offset));
        let answers = offsets.clone().map(|offset| {
            let answer = json!({ "text": said(offset), "thinking": said(offset) });
            line_of(&json!({ "answer": answer }))
        });
        let mut harness = Harness::new(&answers.collect::<String>());
        let mut redactor = Redactor::default();
        redactor.add(KEY);
        harness.redactor = Arc::new(redactor);
        let mut life = harness.live();
        for offset in offsets {
            let before = life.heard.len();
            life.ask(&format!("work {offset}")).await;
            let (mut text, mut thinking) = (String::new(), String::new());
            for event in &life.heard[before..] {
                match event {
                    SessionEvent::TextDelta { text: delta } => text.push_str(delta),
                    SessionEvent::ThinkingDelta { text: delta } => thinking.push_str(delta),
                    _ => {}
                }
            }
            let want = said(offset).replace(KEY, "[secret removed]");
            assert_eq!((text, thinking), (want.clone(), want), "offset {offset}");
        }
        life.close().await;
    });
}
