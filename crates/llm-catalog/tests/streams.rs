//! Hostile, careless and merely different streams of servers, in every protocol.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use llm_catalog::{Catalog, Selection};
use llm_providers::{
    Answer, ApiProtocol, CancellationToken, Event, HttpClient, HttpProvider, HttpSettings,
    Provider, ProviderError, ProviderErrorKind, Recorder, Request, Secret,
};
use serde_json::json;
use session_model::StopReason;
use test_support::split_key::{concatenated, splits};
use test_support::{Chunk, End, FaultServer, Reply, streams};

const KEY: &str = "sk-test-0123456789abcdefghijkl";
const WIRES: [ApiProtocol; 4] = [
    ApiProtocol::Responses,
    ApiProtocol::Chat,
    ApiProtocol::Messages,
    ApiProtocol::Gemini,
];

fn hello(wire: ApiProtocol) -> Reply {
    match wire {
        ApiProtocol::Responses => streams::responses_stream("hello"),
        ApiProtocol::Chat => streams::chat_stream("hello"),
        ApiProtocol::Messages => streams::messages_stream("hello"),
        ApiProtocol::Gemini => streams::gemini_stream("hello"),
        #[cfg(feature = "bedrock")]
        ApiProtocol::Converse => unreachable!("it has tests of its own"),
    }
}

/// Returns the reply with `bytes` before everything that it sends.
fn prefixed(reply: Reply, bytes: &[u8]) -> Reply {
    match reply {
        Reply::Chunks {
            status,
            headers,
            mut chunks,
            end,
        } => {
            chunks[0].bytes.splice(0..0, bytes.iter().copied());
            Reply::Chunks {
                status,
                headers,
                chunks,
                end,
            }
        }
        other => panic!("no stream: {other:?}"),
    }
}

/// What was sent for, and how long it may take.
struct Asked {
    wire: ApiProtocol,
    window: u64,
    total: Duration,
    cancel: CancellationToken,
    record: Record,
}

/// What a recorder wrote.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<u8>>>);

impl Record {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no writer panicked").clone()
    }
}

impl Write for Record {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no writer panicked").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Asked {
    fn on(wire: ApiProtocol) -> Self {
        Self {
            wire,
            window: 32_000,
            total: Duration::from_secs(60),
            cancel: CancellationToken::new(),
            record: Record::default(),
        }
    }

    /// Returns the answer that `reply` is read as.
    fn answered(self, reply: Reply) -> Result<Answer, ProviderError> {
        let server = FaultServer::replaying(vec![reply]);
        let selection = Selection {
            model: "test".to_owned(),
            base_url: Some(server.url()),
            wire: Some(self.wire),
            window: Some(self.window),
            ..Selection::default()
        };
        let found = Catalog::embedded().resolve(&selection).expect("a model");
        let settings = HttpSettings {
            total: self.total,
            ..HttpSettings::default()
        };
        let http = HttpClient::new(settings).expect("a client");
        let http = http.with_recorder(Recorder::new(Box::new(self.record)));
        let provider = HttpProvider::new(http, found.provider, found.model, Secret::new(KEY));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let request = Request::for_prompt("be brief", "hello?");
            let mut events = provider.stream(request, self.cancel).await?;
            while let Some(event) = events.next().await {
                if let Event::Done(answer) = event? {
                    return Ok(answer);
                }
            }
            panic!("the stream ended without an answer and without an error");
        })
    }
}

#[test]
fn key_in_a_stop_reason_is_removed() {
    let incomplete = format!(
        r#"{{"type":"response.incomplete","response":{{"id":"{KEY}","status":"incomplete","incomplete_details":{{"reason":"{KEY}"}},"output":[]}}}}"#
    );
    let replies = [
        (ApiProtocol::Responses, streams::sse_reply(&[&incomplete])),
        (
            ApiProtocol::Chat,
            streams::chat_stream_with(&["x"], KEY, None),
        ),
        (
            ApiProtocol::Messages,
            streams::messages_stream_with(&["x"], KEY, (1, 0, 1)),
        ),
    ];
    for (wire, reply) in replies {
        let answer = Asked::on(wire).answered(reply).expect("an answer");
        assert!(
            matches!(answer.stop_reason, StopReason::Other(_)),
            "{wire:?}: {answer:?}"
        );
        assert!(!format!("{answer:?}").contains(KEY), "{wire:?}: {answer:?}");
    }
}

/// Returns an answer whose text comes in these pieces.
fn in_pieces(wire: ApiProtocol, pieces: &[&str]) -> Reply {
    match wire {
        ApiProtocol::Responses => {
            streams::responses_stream_with(pieces, "completed", streams::responses_usage(1, 0, 1))
        }
        ApiProtocol::Chat => streams::chat_stream_with(pieces, "stop", None),
        ApiProtocol::Messages => streams::messages_stream_with(pieces, "end_turn", (1, 0, 1)),
        ApiProtocol::Gemini => {
            let chunks = pieces.iter().enumerate().map(|(nth, text)| {
                let finish = (nth + 1 == pieces.len()).then_some("STOP");
                let content = json!({"role": "model", "parts": [{"text": text}]});
                json!({"candidates": [{"content": content, "finishReason": finish}]}).to_string()
            });
            let chunks: Vec<String> = chunks.collect();
            streams::sse_reply(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
        }
        #[cfg(feature = "bedrock")]
        ApiProtocol::Converse => unreachable!("it has tests of its own"),
    }
}

#[test]
fn a_key_that_is_split_at_any_byte_is_in_no_answer_and_no_record() {
    let splits = splits(KEY);
    let pieces = splits
        .iter()
        .flat_map(|pieces| [&["<"], &**pieces, &["> "]]);
    let pieces = pieces.collect::<Vec<_>>().concat();
    for wire in WIRES {
        let asked = Asked::on(wire);
        let record = asked.record.clone();
        let answer = asked
            .answered(in_pieces(wire, &pieces))
            .expect("an answer")
            .text();
        assert_eq!(
            answer,
            "<[secret removed]> ".repeat(splits.len()),
            "{wire:?}"
        );
        let record = concatenated(&record.bytes());
        for part in [&KEY[..16], &KEY[14..]] {
            assert!(!record.contains(part), "{wire:?}: {part} is in {record}");
        }
        let removed = record.matches("[secret removed]").count();
        assert!(
            removed >= splits.len(),
            "{wire:?}: {removed} times in {record}"
        );
    }
}

#[test]
fn byte_order_mark_before_a_stream_is_passed_over() {
    for wire in WIRES {
        let reply = prefixed(hello(wire), b"\xef\xbb\xbf");
        let cut = reply.clone().dripped(1, Duration::ZERO);
        for reply in [reply, cut] {
            let answer = Asked::on(wire).answered(reply).expect("an answer");
            assert_eq!(answer.text(), "hello", "{wire:?}");
        }
    }
}

#[test]
fn line_ends_of_every_kind_are_read() {
    for wire in WIRES {
        for end in ["\r\n", "\r", "\n"] {
            let Reply::Chunks {
                status,
                headers,
                chunks,
                end: close,
            } = hello(wire)
            else {
                panic!("no stream");
            };
            let text: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
            let text = String::from_utf8(text).expect("text").replace('\n', end);
            let reply = Reply::Chunks {
                status,
                headers,
                chunks: vec![Chunk::from(text)],
                end: close,
            };
            let cut = reply.clone().dripped(1, Duration::ZERO);
            for reply in [reply, cut] {
                let answer = Asked::on(wire).answered(reply).expect("an answer");
                assert_eq!(answer.text(), "hello", "{wire:?} {end:?}");
            }
        }
    }
}

/// Before, a megabyte of such lines took 14 seconds.
#[test]
fn newlines_before_an_answer_take_no_time() {
    for wire in WIRES {
        for line in ["\n", ":\n"] {
            let flood = line.repeat(1 << 20);
            let reply = prefixed(hello(wire), flood.as_bytes());
            let started = Instant::now();
            let answer = Asked::on(wire).answered(reply).expect("an answer");
            assert_eq!(answer.text(), "hello", "{wire:?}");
            let took = started.elapsed();
            assert!(
                took < Duration::from_secs(10),
                "{wire:?} {line:?}: {took:?}"
            );
        }
    }
}

#[test]
fn newlines_without_end_hold_up_neither_time_limit_nor_cancellation() {
    let flood = || {
        Reply::event_stream(vec![Chunk::from("\n".repeat(1 << 20)); 8])
            .ending(End::Silence(Duration::from_secs(30)))
    };
    for wire in WIRES {
        let started = Instant::now();
        let asked = Asked {
            total: Duration::from_millis(500),
            ..Asked::on(wire)
        };
        let error = asked.answered(flood()).expect_err("no answer");
        assert_eq!(error.kind, ProviderErrorKind::Timeout, "{wire:?}: {error}");
        let asked = Asked::on(wire);
        let cancel = asked.cancel.clone();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            cancel.cancel();
        });
        let error = asked.answered(flood()).expect_err("no answer");
        assert_eq!(
            error.kind,
            ProviderErrorKind::Cancelled,
            "{wire:?}: {error}"
        );
        canceller.join().expect("a cancellation");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(10), "{wire:?}: {took:?}");
    }
}

#[test]
fn complete_answer_above_the_known_window_is_kept() {
    let replies = [
        (
            ApiProtocol::Responses,
            streams::responses_stream_with(
                &["hello"],
                "completed",
                streams::responses_usage(900, 0, 5),
            ),
        ),
        (
            ApiProtocol::Chat,
            streams::chat_stream_with(&["hello"], "stop", Some(streams::chat_usage(900, 0, 5))),
        ),
        (
            ApiProtocol::Messages,
            streams::messages_stream_with(&["hello"], "end_turn", (900, 0, 5)),
        ),
    ];
    for (wire, reply) in replies {
        let asked = Asked {
            window: 500,
            ..Asked::on(wire)
        };
        let answer = asked.answered(reply).expect("an answer");
        assert_eq!((answer.text().as_str(), answer.usage.input), ("hello", 900));
    }
}

#[test]
fn done_without_a_finish_reason_is_malformed() {
    let piece = r#"{"choices":[{"delta":{"content":"half an ans"}}]}"#;
    let reply = streams::sse_reply(&[piece, "[DONE]"]);
    let error = Asked::on(ApiProtocol::Chat)
        .answered(reply)
        .expect_err("no answer");
    assert_eq!(error.kind, ProviderErrorKind::Malformed);
}
