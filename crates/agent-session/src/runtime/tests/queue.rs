//! Messages that wait: when they are sent, and that none is lost.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

fn is_text(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TextDelta { .. })
}

#[test]
fn what_steers_goes_before_the_next_request_and_follow_ups_begin_turns() {
    run(async {
        let read = json!([{ "name": "read", "arguments": { "path": "a.txt" } }]);
        let script = [
            calls(read),
            answer("steered"),
            answer("second"),
            answer("third"),
        ];
        let mut harness = Harness::new(&script.concat());
        harness.slow_tools();
        let mut life = harness.live();
        life.say("look");
        life.until(|event| matches!(event, SessionEvent::ToolStart { .. }))
            .await;
        life.deliver("left", Delivery::Steer);
        life.deliver("then this", Delivery::FollowUp);
        life.deliver("a bit more left", Delivery::Steer);
        life.deliver("then that", Delivery::FollowUp);
        assert_snapshot!(life.rest().await, @"
        user: look
        answer (tool_use):  +1
        tool read failed
        user: left
        user: a bit more left
        answer (stop): steered
        turn done
        user: then this
        answer (stop): second
        turn done
        user: then that
        answer (stop): third
        turn done
        ");
        assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: look
        assistant (toolUse): read({"path":"a.txt"})
        toolResult: done
        user: left
        user: a bit more left
        assistant (stop): steered
        user: then this
        assistant (stop): second
        user: then that
        assistant (stop): third
        "#);
        life.close().await;
    });
}

#[test]
fn what_waits_at_the_end_is_sent_in_the_next_run() {
    run(async {
        let script = [
            answer("first"),
            answer(&words(100)),
            answer("goes on"),
            answer("b"),
            answer("c"),
        ];
        let harness = Harness::new(&script.concat());
        let mut life = harness.live();
        life.ask("zero").await;
        life.say("one");
        life.until(is_text).await;
        life.deliver("two", Delivery::FollowUp);
        life.deliver("three", Delivery::Steer);
        let path = life.path().to_owned();
        life.close().await;
        assert_snapshot!(life.news(), @"
        user: one
        answer (aborted): lorem ipsum dolor sit amet lorem ipsum d scripted/script: the request was cancelled
        turn aborted
        end
        ");
        let waiting = read_pending(&path).unwrap().unwrap().0.queue;
        let waiting: Vec<&str> = waiting.iter().map(|queued| &*queued.text).collect();
        assert_eq!(waiting, ["two", "three"]);
        let mut next = harness.open(&path);
        next.said = life.said.clone();
        assert_snapshot!(next.ask("four").await, @"
        user: three
        user: two
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn done
        user: four
        answer (stop): goes on
        turn done
        ");
        next.close().await;
        assert!(read_pending(&path).unwrap().is_none());
        assert_snapshot!(written(&path), @"
        system: 
        model script
        user: zero
        assistant (stop): first
        user: one
        assistant (aborted): lorem ipsum dolor sit amet lorem ipsum d
        user: three
        user: two
        assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        user: four
        assistant (stop): goes on
        ");
    });
}

#[test]
fn a_message_that_was_taken_back_is_not_sent() {
    run(async {
        let harness = Harness::new(&[answer(&words(100)), answer("b")].concat());
        let mut life = harness.live();
        life.say("one");
        life.until(is_text).await;
        life.deliver("two", Delivery::FollowUp);
        life.deliver("three", Delivery::FollowUp);
        let is_queued = |event: &SessionEvent| matches!(event, SessionEvent::Queued { .. });
        life.until(is_queued).await;
        let id = life.heard.iter().find_map(|event| match event {
            SessionEvent::Queued { id, text, .. } if text == "two" => Some(EntryId::new(id)),
            _ => None,
        });
        let id = id.unwrap();
        life.send(Command::Dequeue { id: id.clone() });
        life.said.retain(|text| text != "two");
        let told = life.rest().await;
        assert_snapshot!(told, @"
        user: one
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn done
        user: three
        answer (stop): b
        turn done
        ");
        life.send(Command::Dequeue { id: id.clone() });
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        let told = life.news().replace(id.as_str(), "ID");
        assert_snapshot!(told, @"error: no message ID waits to be sent; it may be sent already");
        life.close().await;
    });
}

#[test]
fn what_waits_when_the_user_stops_is_held_until_somebody_says_something() {
    run(async {
        let harness = Harness::new(&[answer(&words(100)), answer("b"), answer("c")].concat());
        let mut life = harness.live();
        life.say("one");
        life.until(is_text).await;
        life.deliver("two", Delivery::FollowUp);
        assert_snapshot!(life.command_and(Command::Abort).await, @"
        user: one
        answer (aborted): lorem ipsum dolor sit amet lorem ipsum d scripted/script: the request was cancelled
        turn aborted
        idle, 1 wait
        ");
        assert_snapshot!(life.ask("three").await, @"
        user: two
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn done
        user: three
        answer (stop): b
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn messages_before_the_first_answer_survive_the_program() {
    run(async {
        let harness = Harness::new(&[answer(&words(100)), answer("b")].concat());
        let mut life = harness.live();
        life.say("one");
        life.until(is_text).await;
        life.deliver("two", Delivery::FollowUp);
        life.until(|event| matches!(event, SessionEvent::Queued { text, .. } if text == "two"))
            .await;
        life.run = None;
        let path = life.path().to_owned();
        assert!(!path.exists());
        let mut next = harness.open(&path);
        next.said = life.said.clone();
        assert_snapshot!(next.command_and(Command::Resume).await, @"
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn done
        user: two
        answer (stop): b
        turn done
        ");
        next.close().await;
        assert_snapshot!(written(&path), @"
        system: 
        model script
        user: one
        assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        user: two
        assistant (stop): b
        ");
    });
}
