//! A script is played in order, and a request that is not completed uses no turn.

use std::future::Future;
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::task::noop_waker;
use llm_providers::{
    CancellationToken, Event, EventStream, Provider, ProviderError, ProviderErrorKind, Request,
    Tool,
};
use session_model::json::RawJson;
use session_model::{Block, Content, ToolResultMessage, Usage};

use super::{Script, ScriptAction, ScriptDelivery, ScriptPlay, Scripted};

const HELLO: &str = include_str!("../../../examples/scripts/hello.jsonl");

/// Runs a future on one thread, with a clock for pauses.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(future)
}

fn play(lines: &[&str]) -> ScriptPlay {
    Script::parse(&lines.join("\n")).unwrap().play(0, 0)
}

fn request() -> Request {
    Request::for_prompt("s", "p")
}

async fn begin(provider: &Scripted) -> Result<EventStream, ProviderError> {
    provider.stream(request(), CancellationToken::new()).await
}

/// Returns what one request gets, each event as a short line.
async fn texts_of(provider: &Scripted) -> Vec<String> {
    let mut events = match begin(provider).await {
        Ok(events) => events,
        Err(error) => return vec![format!("{}: {error}", error.kind.name())],
    };
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        told.push(match event {
            Ok(Event::Text(text)) => text,
            Ok(Event::Thinking(text)) => format!("({text})"),
            Ok(Event::ToolCall {
                index,
                name,
                arguments,
            }) => format!("{index} {name} {arguments}"),
            Ok(Event::Done(answer)) => format!("done: {:?}", answer.stop_reason),
            Err(error) => format!("{}: {error}", error.kind.name()),
        });
    }
    told
}

fn say(text: &str) -> ScriptAction {
    ScriptAction::Say {
        text: text.to_owned(),
        delivery: ScriptDelivery::Prompt,
    }
}

#[test]
fn the_example_plays_to_its_end() {
    run(async {
        let play = Script::parse(HELLO).unwrap().play(0, 0);
        let provider = play.turns();
        assert_eq!((provider.name(), provider.model()), ("scripted", "hello"));
        let can = provider.capabilities();
        assert_eq!((can.window, can.max_output), (Some(16_384), Some(4_096)));
        assert!(can.tools);
        assert!(play.summaries().is_none());

        assert_eq!(play.take_actions(), [say("What is in notes.txt?")]);
        let first = texts_of(&provider).await;
        assert_eq!(
            first,
            [
                "I look into the file.",
                "0 read ",
                "0 read {\"path\":\"notes.txt\"}",
                "done: ToolUse"
            ]
        );
        assert_eq!((play.answers_left(), play.is_finished()), (1, false));
        let second = texts_of(&provider).await;
        assert_eq!(
            second,
            [
                "That is all there is in notes.txt. Tell ",
                "me what to do with it.",
                "done: Stop"
            ]
        );
        assert_eq!((play.answers_left(), play.is_finished()), (0, true));
        assert_eq!(
            texts_of(&provider).await,
            ["invalid_request: scripted/hello: the script has no turn left (2 were given)"]
        );
        assert_eq!(play.requests_in_flight(), 0);
    });
}

#[test]
fn pieces_end_between_characters_and_join_to_the_answer() {
    run(async {
        let text = "ä🦀".repeat(45);
        let thinking = "é".repeat(41);
        let argument = "ß".repeat(60);
        let line = format!(
            r#"{{"answer":{{"text":"{text}","thinking":"{thinking}","calls":[{{"name":"a"}},{{"name":"b","arguments":{{"x":"{argument}"}}}}]}}}}"#
        );
        let play = play(&[&line]);
        let mut events = begin(&play.turns()).await.unwrap();
        let (mut texts, mut thoughts) = (Vec::new(), Vec::new());
        let mut calls = vec![(String::new(), String::new()); 2];
        let mut done = None;
        while let Some(event) = events.next().await {
            assert!(done.is_none(), "nothing follows the end");
            match event.unwrap() {
                Event::Text(piece) => texts.push(piece),
                Event::Thinking(piece) => thoughts.push(piece),
                Event::ToolCall {
                    index,
                    name,
                    arguments,
                } => {
                    calls[index].0 = name;
                    calls[index].1.push_str(&arguments);
                }
                Event::Done(answer) => done = Some(answer),
            }
        }
        let lengths = |pieces: &[String]| -> Vec<usize> {
            pieces.iter().map(|piece| piece.chars().count()).collect()
        };
        assert_eq!(lengths(&texts), [40, 40, 10]);
        assert_eq!(lengths(&thoughts), [40, 1]);
        assert_eq!(
            (texts.concat(), thoughts.concat()),
            (text.clone(), thinking)
        );
        let answer = done.unwrap();
        assert_eq!(answer.text(), text);
        let told: Vec<(String, String)> = answer
            .tool_calls()
            .map(|call| (call.name.clone(), call.arguments_text()))
            .collect();
        assert_eq!(calls, told);
        let kinds = answer.content.iter().map(|block| match block {
            Block::Thinking(_) => "thinking",
            Block::Text(_) => "text",
            Block::ToolCall(_) => "call",
            Block::Image(_) | Block::Other { .. } => "other",
        });
        assert!(kinds.eq(["thinking", "text", "call", "call"]));
    });
}

async fn usage_of(play: &ScriptPlay, request: Request) -> Usage {
    let provider = play.turns();
    let events = provider.stream(request, CancellationToken::new()).await;
    match events.unwrap().collect::<Vec<_>>().await.pop() {
        Some(Ok(Event::Done(answer))) => answer.usage,
        other => panic!("{other:?}"),
    }
}

#[test]
fn usage_is_what_the_script_says_or_an_estimate() {
    run(async {
        let play = play(&[
            r#"{"answer":{"text":"12345678","calls":[{"name":"ab"}]}}"#,
            r#"{"answer":{"text":"12345678","usage":{"cache_read":10,"cache_write":5}}}"#,
            r#"{"answer":{"text":"a","usage":{"input":100,"output":20,"cache_read":3}}}"#,
        ]);
        let request = || {
            let mut request = Request::for_prompt(&"s".repeat(40), &"🦀".repeat(10));
            request.tools.push(Tool {
                name: "read".to_owned(),
                description: "d".repeat(14),
                parameters: RawJson::parse("{}").unwrap(),
            });
            let result = ToolResultMessage {
                tool_call_id: "1".to_owned(),
                tool_name: "read".to_owned(),
                content: Content::Blocks(vec![Block::text("r".repeat(21))]),
                is_error: false,
                timestamp: None,
                nested_calls: None,
            };
            request
                .messages
                .push(session_model::LlmMessage::ToolResult(result));
            request
        };
        // 40 of the prompt, 20 and 21 of the messages, 20 of the tool: 101 units.
        let parts = |usage: Usage| {
            let cached = (usage.cache_read, usage.cache_write);
            (usage.input, usage.output, cached, usage.total_tokens)
        };
        let estimated = parts(usage_of(&play, request()).await);
        assert_eq!(estimated, (26, 3, (0, 0), 29));
        let in_part = parts(usage_of(&play, request()).await);
        assert_eq!(in_part, (11, 2, (10, 5), 28));
        let given = parts(usage_of(&play, request()).await);
        assert_eq!(given, (100, 20, (3, 0), 123));
    });
}

#[test]
fn a_failure_comes_at_once_or_after_its_text_and_takes_one_turn() {
    run(async {
        let play = play(&[
            r#"{"error":{"kind":"context_overflow","message":"too long","status":400}}"#,
            r#"{"error":{"kind":"interrupted","after_text":"I beg"}}"#,
            r#"{"answer":{"text":"at last"}}"#,
        ]);
        let provider = play.turns();
        assert_eq!(
            texts_of(&provider).await,
            ["context_overflow: scripted/script: too long (status 400)"]
        );
        assert_eq!(play.answers_left(), 2);
        assert_eq!(
            texts_of(&provider).await,
            [
                "I beg",
                "interrupted: scripted/script: the script says interrupted"
            ]
        );
        assert_eq!(play.answers_left(), 1);
        assert_eq!(texts_of(&provider).await, ["at last", "done: Stop"]);
        assert!(play.is_finished());
    });
}

#[test]
fn actions_are_due_once_the_answer_before_was_given() {
    run(async {
        let play = play(&[
            r#"{"user":{"say":"first"}}"#,
            r#"{"answer":{"text":"a"}}"#,
            r#"{"user":{"compact":{}}}"#,
            r#"{"summary":{"text":"the answer before is still a"}}"#,
            r#"{"user":{"say":"second"}}"#,
            r#"{"error":{"kind":"auth"}}"#,
            r#"{"user":"abort"}"#,
        ]);
        let provider = play.turns();
        assert_eq!(play.take_actions(), [say("first")]);
        assert_eq!(play.take_actions(), []);
        let mut events = begin(&provider).await.unwrap();
        assert!(matches!(events.next().await, Some(Ok(Event::Text(_)))));
        assert_eq!(play.take_actions(), [], "the answer has not ended");
        assert!(matches!(events.next().await, Some(Ok(Event::Done(_)))));
        let compact = ScriptAction::Compact { focus: None };
        assert_eq!(play.take_actions(), [compact, say("second")]);
        texts_of(&provider).await;
        assert!(!play.is_finished(), "an action is left");
        assert_eq!(play.take_actions(), [ScriptAction::Abort]);
        assert!(play.is_finished());
    });
}

#[test]
fn actions_that_nobody_took_are_not_lost() {
    run(async {
        let play = play(&[
            r#"{"answer":{"text":"a"}}"#,
            r#"{"user":{"say":"one"}}"#,
            r#"{"answer":{"text":"b"}}"#,
            r#"{"user":{"say":"two"}}"#,
        ]);
        texts_of(&play.turns()).await;
        texts_of(&play.turns()).await;
        assert_eq!(play.clone().take_actions(), [say("one"), say("two")]);
        assert!(play.is_finished());
    });
}

#[test]
fn what_an_earlier_run_gave_is_skipped() {
    run(async {
        let lines = [
            r#"{"user":{"say":"zero"}}"#,
            r#"{"answer":{"text":"a"}}"#,
            r#"{"user":{"say":"one"}}"#,
            r#"{"error":{"kind":"auth"}}"#,
            r#"{"user":{"say":"two"}}"#,
            r#"{"answer":{"text":"c"}}"#,
            r#"{"summary":{"text":"s1"}}"#,
            r#"{"summary":{"text":"s2"}}"#,
        ];
        let script = Script::parse(&lines.join("\n")).unwrap();
        let play = script.clone().play(2, 1);
        assert_eq!(
            (play.answers_left(), play.take_actions()),
            (1, vec![say("two")])
        );
        assert_eq!(texts_of(&play.turns()).await, ["c", "done: Stop"]);
        let summaries = play.summaries().unwrap();
        assert_eq!(texts_of(&summaries).await, ["s2", "done: Stop"]);
        assert_eq!(
            texts_of(&summaries).await,
            ["invalid_request: scripted/script: the script has no summary left (2 were given)"]
        );

        let over = script.play(usize::MAX, usize::MAX);
        assert!(over.is_finished());
        assert_eq!(
            texts_of(&over.turns()).await,
            ["invalid_request: scripted/script: the script has no turn left (3 were given)"]
        );
    });
}

#[test]
fn summaries_keep_their_own_order() {
    run(async {
        let play = play(&[
            r#"{"script":1,"name":"two","window":100}"#,
            r#"{"summary":{"text":"s1"}}"#,
            r#"{"answer":{"text":"a"}}"#,
            r#"{"answer":{"text":"b"}}"#,
            r#"{"summary":{"error":{"kind":"overloaded","message":"busy","status":529}}}"#,
        ]);
        let (turns, summaries) = (play.turns(), play.summaries().unwrap());
        assert_eq!(summaries.model(), "two");
        assert_eq!(summaries.capabilities().window, Some(100));
        assert_eq!(texts_of(&turns).await, ["a", "done: Stop"]);
        assert_eq!(texts_of(&summaries).await, ["s1", "done: Stop"]);
        assert_eq!(
            texts_of(&summaries).await,
            ["overloaded: scripted/two: busy (status 529)"]
        );
        assert_eq!(play.answers_left(), 1);
        assert_eq!(texts_of(&turns).await, ["b", "done: Stop"]);
        assert!(play.is_finished());
    });
}

#[test]
fn a_stream_that_is_dropped_gives_its_turn_back() {
    run(async {
        let text = "x".repeat(100);
        let lines = [
            format!(r#"{{"answer":{{"text":"{text}"}}}}"#),
            r#"{"user":"abort"}"#.to_owned(),
            format!(r#"{{"error":{{"kind":"interrupted","after_text":"{text}"}}}}"#),
        ];
        let play = play(&lines.each_ref().map(String::as_str));
        let provider = play.turns();
        // The end, or the error, comes after three pieces.
        for left in [2, 1] {
            for taken in 0..=3 {
                let mut events = begin(&provider).await.unwrap();
                assert_eq!(play.requests_in_flight(), 1);
                for _ in 0..taken {
                    assert!(matches!(events.next().await, Some(Ok(Event::Text(_)))));
                }
                assert_eq!((play.answers_left(), play.requests_in_flight()), (left, 1));
                drop(events);
                assert_eq!((play.answers_left(), play.requests_in_flight()), (left, 0));
                assert_eq!(play.take_actions(), []);
            }
            assert_eq!(texts_of(&provider).await.len(), 4);
            assert_eq!(play.answers_left(), left - 1);
            assert_eq!(play.take_actions().len(), left - 1);
        }
        assert!(play.is_finished());
    });
}

#[test]
fn a_stream_that_is_cancelled_says_so_ends_and_gives_its_turn_back() {
    run(async {
        let play = play(&[r#"{"answer":{"text":"one piece"}}"#]);
        let provider = play.turns();
        for taken in 0..=1 {
            let cancel = CancellationToken::new();
            let mut events = provider.stream(request(), cancel.clone()).await.unwrap();
            for _ in 0..taken {
                assert!(matches!(events.next().await, Some(Ok(Event::Text(_)))));
            }
            cancel.cancel();
            let error = events.next().await.unwrap().unwrap_err();
            assert_eq!(error.kind, ProviderErrorKind::Cancelled);
            assert_eq!((play.answers_left(), play.requests_in_flight()), (1, 0));
            assert!(events.next().await.is_none());
            assert!(events.next().await.is_none());
        }
        assert_eq!(texts_of(&provider).await, ["one piece", "done: Stop"]);
    });
}

#[test]
fn a_turn_that_comes_back_is_given_before_those_behind_it() {
    run(async {
        let play = play(&[
            r#"{"answer":{"text":"a"}}"#,
            r#"{"answer":{"text":"b"}}"#,
            r#"{"answer":{"text":"c"}}"#,
        ]);
        let provider = play.turns();
        let first = begin(&provider).await.unwrap();
        let second = begin(&provider).await.unwrap();
        assert_eq!(play.requests_in_flight(), 2);
        drop(second);
        drop(first);
        let mut texts = Vec::new();
        for _ in 0..3 {
            texts.push(texts_of(&provider).await.swap_remove(0));
        }
        assert_eq!(texts, ["a", "b", "c"]);
    });
}

#[test]
fn a_request_ends_in_flight_with_its_last_event() {
    run(async {
        let play = play(&[r#"{"answer":{"text":"a"}}"#, r#"{"summary":{"text":"s"}}"#]);
        let mut answer = begin(&play.turns()).await.unwrap();
        let mut summary = begin(&play.summaries().unwrap()).await.unwrap();
        assert_eq!(play.requests_in_flight(), 2);
        for left in [1, 0] {
            let events = if left == 1 { &mut summary } else { &mut answer };
            assert!(matches!(events.next().await, Some(Ok(Event::Text(_)))));
            assert!(matches!(events.next().await, Some(Ok(Event::Done(_)))));
            assert_eq!(play.requests_in_flight(), left);
        }
    });
}

#[test]
fn a_pause_is_waited_for_and_can_be_cancelled() {
    run(async {
        let play = play(&[r#"{"answer":{"text":"late","pause_ms":600000}}"#]);
        let cancel = CancellationToken::new();
        let mut events = play
            .turns()
            .stream(request(), cancel.clone())
            .await
            .unwrap();
        // No poll returns anything before the pause is over.
        for _ in 0..10 {
            let waker = noop_waker();
            let polled = events.poll_next_unpin(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        let error = events.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind, ProviderErrorKind::Cancelled);
        assert_eq!((play.answers_left(), play.requests_in_flight()), (1, 0));
    });
}

#[test]
fn a_stream_yields_once_before_each_event() {
    run(async {
        let text = "x".repeat(100);
        let play = play(&[&format!(r#"{{"answer":{{"text":"{text}"}}}}"#)]);
        let mut events = begin(&play.turns()).await.unwrap();
        let waker = noop_waker();
        let mut context = Context::from_waker(&waker);
        let mut polled = Vec::new();
        loop {
            match events.poll_next_unpin(&mut context) {
                Poll::Pending => polled.push("pending"),
                Poll::Ready(Some(_)) => polled.push("event"),
                Poll::Ready(None) => break,
            }
        }
        assert_eq!(polled, ["pending", "event"].repeat(4));
    });
}

#[test]
fn a_cancelled_request_takes_no_turn_and_an_empty_script_says_so() {
    futures_executor::block_on(async {
        let provider = play(&[r#"{"answer":{"text":"one"}}"#]).turns();
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let refused = provider.stream(request(), cancelled).await.err();
        let kind = refused.map(|error| error.kind);
        assert_eq!(kind, Some(ProviderErrorKind::Cancelled));
        assert_eq!(texts_of(&provider).await, ["one", "done: Stop"]);
        assert_eq!(
            texts_of(&provider).await,
            ["invalid_request: scripted/script: the script has no turn left (1 were given)"]
        );
    });
}
