//! Servers that send too slowly, too much or without end: every protocol stays within its bounds of time and memory.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use llm_catalog::{Catalog, Selection};
use llm_providers::{
    ApiProtocol, CancellationToken, HttpClient, HttpProvider, HttpSettings, Provider,
    ProviderError, ProviderErrorKind, Request,
};
use serde_json::{Value, json};
use test_support::{Chunk, FaultServer, Reply, streams};

const WIRES: [ApiProtocol; 4] = [
    ApiProtocol::Responses,
    ApiProtocol::Chat,
    ApiProtocol::Messages,
    ApiProtocol::Gemini,
];

/// How an answer ended, and what it took.
struct Ended {
    error: ProviderError,
    took: Duration,
    events: usize,
}

/// Reads an answer until it fails; events are dropped as they come.
fn read(wire: ApiProtocol, settings: HttpSettings, reply: Reply) -> Ended {
    let server = FaultServer::replaying(vec![reply]);
    let selection = Selection {
        model: "test".to_owned(),
        base_url: Some(server.url()),
        wire: Some(wire),
        window: Some(32_000),
        ..Selection::default()
    };
    let found = Catalog::embedded().resolve(&selection).expect("a model");
    let http = HttpClient::new(settings).expect("a client");
    let provider = HttpProvider::new(http, found.provider, found.model, None);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let started = Instant::now();
    let (error, events) = runtime.block_on(async {
        let request = Request::for_prompt("be brief", "hello?");
        let mut events = match provider.stream(request, CancellationToken::new()).await {
            Ok(events) => events,
            Err(error) => return (error, 0),
        };
        let mut seen = 0;
        loop {
            match events.next().await {
                Some(Ok(_)) => seen += 1,
                Some(Err(error)) => return (error, seen),
                None => panic!("{wire:?}: an end without an error"),
            }
        }
    });
    Ended {
        error,
        took: started.elapsed(),
        events,
    }
}

fn data(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

/// Returns a call whose arguments come in pieces of 1 KiB until `bytes` bytes are sent.
fn arguments(wire: ApiProtocol, bytes: u64) -> Reply {
    let text = "a".repeat(1024);
    let (head, piece) = match wire {
        ApiProtocol::Responses => (
            data(
                &json!({"type": "response.output_item.added", "output_index": 0, "item": {
                    "id": "fc_1", "type": "function_call", "call_id": "c1", "name": "bash", "arguments": "",
                }}),
            ),
            data(
                &json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1",
                "output_index": 0, "delta": text}),
            ),
        ),
        ApiProtocol::Chat => (
            data(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": 0, "id": "c1", "function": {"name": "bash", "arguments": ""}}]}}]})),
            data(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [
                {"index": 0, "function": {"arguments": text}}]}}]})),
        ),
        ApiProtocol::Messages => (
            data(
                &json!({"type": "content_block_start", "index": 0, "content_block":
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {}}}),
            ),
            data(&json!({"type": "content_block_delta", "index": 0, "delta":
                {"type": "input_json_delta", "partial_json": text}})),
        ),
        #[cfg(feature = "bedrock")]
        ApiProtocol::Converse => unreachable!("it has tests of its own"),
        // Whole calls, one after another.
        ApiProtocol::Gemini => (
            Vec::new(),
            data(&json!({"candidates": [{"content": {"parts": [
                {"functionCall": {"name": "bash", "args": {"command": text}}}]}}]})),
        ),
    };
    Reply::Repeated {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
        head,
        piece,
        bytes,
    }
}

/// Returns a short answer of a few kilobytes that unpacks to `megabytes`.
fn bomb(megabytes: usize) -> Reply {
    let mut chunks = vec![Chunk::from("data: ")];
    chunks.extend((0..megabytes).map(|_| Chunk::from(vec![b'0'; 1 << 20])));
    Reply::event_stream(chunks).gzipped()
}

#[test]
fn byte_after_byte_ends_with_the_time_for_an_answer() {
    let settings = HttpSettings {
        total: Duration::from_millis(400),
        ..HttpSettings::default()
    };
    for wire in WIRES {
        let slow = streams::sse_reply(&["x"]).dripped(1, Duration::from_millis(100));
        let ended = read(wire, settings, slow);
        assert_eq!(
            ended.error.kind,
            ProviderErrorKind::Timeout,
            "{wire:?}: {}",
            ended.error
        );
        assert!(
            ended.took < Duration::from_secs(5),
            "{wire:?}: {:?}",
            ended.took
        );
    }
}

#[test]
fn bytes_above_the_limit_end_an_answer() {
    let settings = HttpSettings {
        answer_limit: 256 << 10,
        ..HttpSettings::default()
    };
    for wire in WIRES {
        for reply in [
            arguments(wire, u64::MAX),
            streams::big_event(u64::MAX),
            bomb(4),
        ] {
            let ended = read(wire, settings, reply);
            let text = ended.error.to_string();
            assert_eq!(
                ended.error.kind,
                ProviderErrorKind::Malformed,
                "{wire:?}: {text}"
            );
            assert!(text.contains("larger than any answer"), "{wire:?}: {text}");
            assert!(
                ended.took < Duration::from_secs(5),
                "{wire:?}: {:?}",
                ended.took
            );
            assert!(ended.events <= 256, "{wire:?}: {}", ended.events);
        }
    }
}

#[test]
fn empty_events_count_as_more_than_their_bytes() {
    let settings = HttpSettings {
        answer_limit: 256 << 10,
        ..HttpSettings::default()
    };
    for wire in WIRES {
        for piece in [
            "data: {}\n\n",
            "event: x\ndata: {\"type\":\"ping\"}\n\n",
            "id\n\n",
        ] {
            let empty = Reply::Repeated {
                status: 200,
                headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
                head: Vec::new(),
                piece: piece.into(),
                bytes: 128 << 10,
            };
            let text = read(wire, settings, empty).error.to_string();
            assert!(text.contains("larger than any answer"), "{wire:?}: {text}");
        }
    }
}

/// Prints what the limits of a default client come to: `cargo test -p llm-providers --test hostile_servers --
/// --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn measure_default_limits() {
    fn peak_megabytes() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let peak = line
            .and_then(|line| line.split_whitespace().nth(1))
            .expect("a peak");
        peak.parse::<u64>().expect("a number") >> 10
    }
    let measure = |name: &str, wire, settings, reply: Reply| {
        // The peak so far is forgotten.
        std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
        let before = peak_megabytes();
        let ended = read(wire, settings, reply);
        println!(
            "{name} {wire:?}: {:?} after {:.1} s, {} events, peak {} MB ({before} MB before)",
            ended.error.kind,
            ended.took.as_secs_f64(),
            ended.events,
            peak_megabytes(),
        );
    };
    let normal = HttpSettings::default();
    for wire in WIRES {
        measure(
            "100 MB of arguments",
            wire,
            normal,
            arguments(wire, 100 << 20),
        );
        measure(
            "one endless event",
            wire,
            normal,
            streams::big_event(u64::MAX),
        );
        measure("gzip bomb of 100 MB", wire, normal, bomb(100));
    }
    let short = HttpSettings {
        total: Duration::from_secs(5),
        ..normal
    };
    let slow = streams::chat_stream(&"word ".repeat(40)).dripped(1, Duration::from_secs(1));
    measure(
        "a byte a second, 5 s allowed",
        ApiProtocol::Chat,
        short,
        slow,
    );
}
