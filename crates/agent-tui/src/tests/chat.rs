//! Messages, answers, tool calls, questions, messages that wait, leaving.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;

use super::harness::{Bench, asked_turn};

#[test]
fn a_turn_is_printed_and_a_question_waits_above_the_editor() {
    let mut bench = Bench::new(80, 24);
    bench.events(&asked_turn());
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199

    > fix the parser

    ~ thought 0s, 9 words

    I look into the parser.

    Then I run the tests.

    * read src/duration.rs  2 lines
    ~~~

    > bash cargo test  waits for you

    bash wants to run:
      cargo test
       y once   n no   a always here   v never here
       arrows or a letter, then enter   esc stops the turn

    >
    openai/gpt-5.4  $0.06  [==========....!.....]  31.8k billed  11.8k left  asks
    ");
    bench.type_text("y");
    bench.key(KeyCode::Enter);
    assert_eq!(
        bench.asked(),
        "",
        "keys that were meant for something else answer nothing"
    );
    bench.after(1.0);
    bench.key(KeyCode::Enter);
    assert!(bench.state.editor.is_empty());
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Command("approve"), Do(Approve { call_id: "c2", decision: Once }))"#);
    bench.events(&[
        json!({"type": "approval_end", "call_id": "c2", "decision": "once"}),
        json!({"type": "tool_update", "call_id": "c2", "output": "running 3 tests\na\nb\nc\nd\n"}),
    ]);
    bench.after(3.0);
    bench.type_text("and hurry");
    bench.key(KeyCode::Enter);
    bench.event(json!({"type": "queued", "id": "m2", "text": "and hurry", "delivery": "steer"}));
    insta::assert_snapshot!(bench.screen(), @"
    ~~~

    > bash cargo test  3s
        a
        b
        c
        d

    > and hurry  next, alt+up edits

    > type to steer, alt+enter sends after this turn, esc stops
    ~/parser  openai/gpt-5.4  $0.06  [=======...!....]  31.8k billed  11.8k left  4s
    ");
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Message("and hurry"), Do(Prompt { prompt: Prompt { text: "and hurry", images: [] }, delivery: Steer }))"#);
    bench.events(&[
        json!({"type": "tool_end", "call_id": "c2", "name": "bash", "is_error": true, "seconds": 3.4, "output": "test failed: 1h30m\n", "truncated": false, "details": {"exit_code": 101}}),
        json!({"type": "message", "entry_id": "m2", "text": "and hurry"}),
        json!({"type": "tool_end", "call_id": "c3", "name": "edit", "is_error": false, "seconds": 0.1, "output": "ok", "truncated": false, "details": {"diff": "--- a.rs\n+++ a.rs\n@@ -1,1 +1,2 @@\n-old\n+new\n+more\n"}}),
        json!({"type": "text_delta", "text": "Done."}),
        json!({"type": "answer", "entry_id": "a2", "text": "Done.", "tool_calls": 0, "stop_reason": "stop", "error": null, "usage": {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}, "cost_usd": 0.01}),
        json!({"type": "turn_end", "end": "done", "error": null}),
        json!({"type": "idle", "waiting": 0}),
    ]);
    insta::assert_snapshot!(bench.screen(), @"
    x bash cargo test  exit 101  3.4s
        test failed: 1h30m

    > and hurry

    * edit  +2 -1
        @@ -1,1 +1,2 @@
        -old
        +new
        +more

    Done.
    ~~~

    > ask something, / for commands, @ for files
    ~/parser  openai/gpt-5.4  $0.07  [=========...!....]  31.8k billed  11.8k left
    ");
}

#[test]
fn a_sentence_answers_no_question() {
    let mut bench = Bench::new(80, 24);
    bench.events(&asked_turn());
    bench.after(1.0);
    for sentence in [
        "Also add a README please",
        "next",
        "Very well",
        "yes, but carefully",
        "A b",
    ] {
        bench.type_text(sentence);
        assert_eq!(bench.asked(), "", "{sentence}");
        assert_eq!(bench.state.editor.text(), sentence);
        bench.key(KeyCode::Enter);
        let asked = bench.asked();
        assert!(
            asked.contains("Steer") && !asked.contains("Approve"),
            "{asked}"
        );
    }
    // Enter alone neither.
    bench.key(KeyCode::Enter);
    assert_eq!(bench.asked(), "");
}

#[test]
fn answers_are_typed_or_chosen_and_confirmed_with_enter() {
    use KeyCode::{Down, Left, Right, Up};
    let answered = |typed: &str, keys: &[KeyCode]| {
        let mut bench = Bench::new(80, 24);
        bench.events(&asked_turn());
        bench.after(1.0);
        bench.type_text(typed);
        keys.iter().for_each(|key| bench.key(*key));
        assert_eq!(bench.asked(), "", "nothing is answered without enter");
        bench.key(KeyCode::Enter);
        bench.asked()
    };
    for (typed, keys, decision) in [
        ("y", &[][..], "Once"),
        ("n", &[], "Deny"),
        ("A", &[], "Always"),
        ("never", &[], "Never"),
        ("", &[Down], "Once"),
        ("", &[Down, Right], "Deny"),
        ("", &[Down, Down, Up], "Once"),
        ("", &[Left], "Never"),
        ("", &[Up, Up], "Always"),
    ] {
        let asked = answered(typed, keys);
        assert!(asked.contains(&format!("decision: {decision} ")), "{asked}");
    }
}

#[test]
fn both_ends_of_a_long_command_and_unseen_characters_are_shown() {
    let mut bench = Bench::new(60, 14);
    let lines: Vec<String> = (1..=50).map(|at| format!("echo {at}")).collect();
    let subject = format!("{}\ntouch a\u{200b}b HIDDEN", lines.join("\n"));
    bench.event(json!({"type": "turn_start"}));
    bench.event(
        json!({"type": "approval_request", "call_id": "c", "tool": "bash", "subject": subject}),
    );
    insta::assert_snapshot!(bench.screen(), @r"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session
       0199
    ~~~

    bash wants to run:
      echo 1
      echo 2
      ... 315 characters are left out here, ctrl+o shows all
      echo 49
      echo 50
      touch a\u{200b}b HIDDEN
      warning: unseen characters are written as \u{...}
       y once   n no   a always here   v never here
       arrows or a letter, then enter   esc stops the turn

    >
    openai/gpt-5.4  [=========...!....]  31.8k  11.8k left  asks
    ");
}

#[test]
fn a_long_message_is_printed_folded() {
    let mut bench = Bench::new(60, 30);
    let text: Vec<String> = (1..=200).map(|at| format!("line {at}")).collect();
    bench.event(json!({"type": "message", "entry_id": "m1", "text": text.join("\n")}));
    let screen = bench.screen();
    assert!(
        screen.contains("line 14\n") && !screen.contains("line 15"),
        "{screen}"
    );
    assert!(
        screen.contains("  ... 186 more lines, ctrl+o shows all"),
        "{screen}"
    );
}

#[test]
fn a_paste_between_two_interrupts_keeps_the_program() {
    let mut bench = Bench::new(80, 24);
    let interrupt = |bench: &mut Bench| bench.key_with(KeyCode::Char('c'), KeyModifiers::CONTROL);
    interrupt(&mut bench);
    bench.input(crate::Input::Paste("pasted".to_owned()));
    interrupt(&mut bench);
    assert!(bench.state.editor.is_empty() && !bench.asked().contains("Leave"));
    interrupt(&mut bench);
    assert!(bench.asked().contains("Leave"));
}

#[test]
fn forty_columns_keep_the_bar_and_the_question() {
    let mut bench = Bench::new(40, 20);
    bench.events(&asked_turn());
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in
       /home/ann/parser, session 0199

    > fix the parser

    ~ thought 0s, 9 words

    I look into the parser.

    Then I run the tests.

    * read src/duration.rs  2 lines
    ~~~

    > bash cargo test  waits for you

    bash wants to run:
      cargo test
       y once   n no   a always here   v
      never here
       arrows or a letter, then enter   esc
      stops the turn

    >
    [======...!...]  31.8k  11.8k left  asks
    ");
}

#[test]
fn a_message_that_waits_returns_to_the_editor() {
    let mut bench = Bench::new(80, 24);
    bench.event(json!({"type": "turn_start"}));
    bench.event(
        json!({"type": "queued", "id": "m2", "text": "then tidy up", "delivery": "follow_up"}),
    );
    bench.key_with(KeyCode::Up, KeyModifiers::ALT);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(TakeBack, Do(Dequeue { id: "m2" }))"#);
    let reply = session_protocol::TakenBack {
        message_id: "m2".to_owned(),
        text: "then tidy up".to_owned(),
    };
    let reply = session_protocol::Reply::TakenBack(reply);
    bench.input(crate::Input::Answered(crate::Purpose::TakeBack, Ok(reply)));
    assert_eq!(bench.state.editor.text(), "then tidy up");
    assert!(bench.state.queue.is_empty());
}

#[test]
fn a_message_that_is_refused_is_not_lost() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("hello");
    bench.key(KeyCode::Enter);
    assert!(bench.state.editor.is_empty());
    let refusal = session_protocol::Refusal {
        kind: session_protocol::RefusalKind::Failed,
        message: "the message is not kept: no space left".to_owned(),
    };
    let purpose = crate::Purpose::Message("hello".to_owned());
    bench.input(crate::Input::Answered(purpose, Err(refusal)));
    assert_eq!(bench.state.editor.text(), "hello");
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    error: the message is not kept: no space left
    ~~~

    > hello
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
}

#[test]
fn escape_stops_and_a_second_ctrl_c_leaves() {
    let mut bench = Bench::new(80, 24);
    bench.key(KeyCode::Esc);
    assert_eq!(bench.asked(), "");
    bench.event(json!({"type": "turn_start"}));
    bench.key(KeyCode::Esc);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Command("stop"), Do(Abort))"#);
    bench.key_with(KeyCode::Char('c'), KeyModifiers::CONTROL);
    bench.after(3.0);
    bench.asked();
    bench.type_text("x");
    bench.key_with(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(bench.state.editor.is_empty());
    assert_eq!(bench.asked(), "");
    insta::assert_snapshot!(bench.screen().lines().last().unwrap_or_default(), @"ctrl+c again to leave");
    bench.key_with(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(bench.asked(), "Leave(Quit)");
    let mut bench = Bench::new(80, 24);
    bench.key_with(KeyCode::Char('d'), KeyModifiers::CONTROL);
    assert_eq!(bench.asked(), "Leave(Quit)");
}

#[test]
fn new_lines_come_with_ctrl_j_and_a_backslash() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("a");
    bench.key_with(KeyCode::Char('j'), KeyModifiers::CONTROL);
    bench.type_text("b\\");
    bench.key(KeyCode::Enter);
    bench.type_text("c");
    assert_eq!(bench.state.editor.text(), "a\nb\nc");
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~

    > a
      b
      c
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
}

#[test]
fn the_transcript_is_unfolded_on_the_whole_screen() {
    let mut bench = Bench::new(60, 20);
    bench.events(&asked_turn());
    bench.event(json!({"type": "approval_end", "call_id": "c2", "decision": null}));
    bench.key_with(KeyCode::Char('o'), KeyModifiers::CONTROL);
    bench.screen();
    insta::assert_snapshot!(bench.screen(), @r"
    ~~~
    Transcript of this run, unfolded
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session
       0199

    > fix the parser

    ~ thought 0s, 9 words
      The parser has to be read.
      Then the tests.

    I look into the parser.

    Then I run the tests.

    * read src/duration.rs  2 lines
        fn parse() {
        }


    16 of 16 lines   up/down/space move   esc closes
    ");
    bench.key(KeyCode::Char('q'));
    assert!(!bench.state.is_full_screen());
}
