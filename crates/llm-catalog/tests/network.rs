//! Networks that fail: a server that is gone for a while, a wait that is cancelled, and a provider's own list of models.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use llm_catalog::{Catalog, Selection};
use llm_providers::{
    ApiProtocol, CancellationToken, HttpClient, HttpProvider, HttpSettings, Progress,
    ProviderError, ProviderErrorKind, Request, RetryPolicy, complete,
};
use serde_json::json;
use test_support::{FaultServer, Reply};

fn provider(base_url: &str) -> HttpProvider {
    let selection = Selection {
        model: "test".to_owned(),
        base_url: Some(base_url.to_owned()),
        wire: Some(ApiProtocol::Chat),
        window: Some(32_000),
        ..Selection::default()
    };
    let found = Catalog::embedded().resolve(&selection).expect("a model");
    let http = HttpClient::new(HttpSettings::default()).expect("a client");
    HttpProvider::new(http, found.provider, found.model, None)
}

/// Answers one request with one streamed answer.
fn answer_once(listener: &TcpListener) {
    let events = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    );
    let (mut stream, _) = listener.accept().expect("a connection");
    let mut request = [0; 8192];
    let read = stream.read(&mut request).expect("a request");
    assert!(read > 0);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    let length = events.len();
    write!(stream, "{head}content-length: {length}\r\n\r\n{events}").expect("an answer");
}

#[tokio::test]
async fn a_request_waits_until_a_server_that_is_gone_comes_back() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let policy = RetryPolicy {
        base: Duration::from_millis(10),
        longest: Duration::from_millis(40),
        budget: Duration::from_secs(30),
        first_contact_budget: Duration::from_secs(30),
        ..RetryPolicy::default()
    };
    let (mut kinds, mut server) = (Vec::new(), None);
    let mut progress = |progress: Progress<'_>| {
        if let Progress::Retry { error, .. } = progress {
            kinds.push(error.kind);
            // The server comes back after the eighth attempt.
            if kinds.len() == 8 {
                let listener = TcpListener::bind(address).expect("the same port");
                server = Some(std::thread::spawn(move || answer_once(&listener)));
            }
        }
    };
    let answered = complete(
        &provider(&format!("http://{address}")),
        &Request::for_prompt("Be short.", "hi"),
        &policy,
        &CancellationToken::new(),
        &mut progress,
    )
    .await;
    assert_eq!(answered.expect("an answer").text(), "hello");
    assert_eq!(kinds, [ProviderErrorKind::Unreachable; 8]);
    server.expect("a server").join().expect("it answered");
}

/// Returns how long a request to `base_url` may wait in all, as each retry says, and the last error.
async fn budgets(base_url: &str, policy: &RetryPolicy) -> (Vec<Duration>, Option<ProviderError>) {
    let mut budgets = Vec::new();
    let mut progress = |progress: Progress<'_>| {
        if let Progress::Retry { budget, .. } = progress {
            budgets.push(budget);
        }
    };
    let answered = complete(
        &provider(base_url),
        &Request::for_prompt("Be short.", "hi"),
        policy,
        &CancellationToken::new(),
        &mut progress,
    )
    .await;
    (budgets, answered.err())
}

#[tokio::test]
async fn only_a_service_that_has_answered_is_waited_for_with_the_whole_budget() {
    let policy = RetryPolicy {
        attempts: 4,
        base: Duration::from_millis(10),
        longest: Duration::from_millis(40),
        ..RetryPolicy::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base_url = format!("http://{}", listener.local_addr().expect("its address"));
    drop(listener);
    let (first, error) = budgets(&base_url, &policy).await;
    assert_eq!(first, [Duration::from_secs(30); 3]);
    let error = error.expect("nobody listens").to_string();
    assert!(
        error.contains(&format!("cannot connect to {base_url}: ")),
        "{error}"
    );

    // The service answers once and goes away.
    let address = base_url.trim_start_matches("http://");
    let listener = TcpListener::bind(address).expect("the same port");
    let server = std::thread::spawn(move || answer_once(&listener));
    let answered = budgets(&base_url, &policy).await;
    assert_eq!(answered, (Vec::new(), None));
    server.join().expect("it answered");
    let (later, _) = budgets(&base_url, &policy).await;
    assert_eq!(later, [Duration::from_secs(300); 3]);
}

#[tokio::test]
async fn a_wait_for_the_network_ends_when_it_is_cancelled() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let policy = RetryPolicy {
        base: Duration::from_secs(60),
        longest: Duration::from_secs(60),
        ..RetryPolicy::default()
    };
    let cancel = CancellationToken::new();
    let started = Instant::now();
    let mut progress = |progress: Progress<'_>| {
        if let Progress::Retry { .. } = progress {
            cancel.cancel();
        }
    };
    let answered = complete(
        &provider(&format!("http://{address}")),
        &Request::for_prompt("Be short.", "hi"),
        &policy,
        &cancel,
        &mut progress,
    )
    .await;
    let error = answered.expect_err("it was cancelled");
    assert_eq!(error.kind, ProviderErrorKind::Cancelled);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_provider_lists_its_models_with_what_it_says_of_them() {
    let list = json!({"object": "list", "data": [
        {"id": "a/large", "context_length": 200_000, "top_provider": {"max_completion_tokens": 64_000},
            "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"}},
        {"id": "small", "context_window": 8192, "max_completion_tokens": 16_384},
        {"id": "served", "max_model_len": 32_768},
        {"id": "bare"},
        {"object": "no model"},
    ]});
    let server = FaultServer::replaying(vec![Reply::json(200, &list)]);
    let listed = provider(&server.url())
        .listed_models(CancellationToken::new())
        .await
        .expect("a list");
    let facts: Vec<_> = listed
        .iter()
        .map(|model| {
            let can = &model.capabilities;
            (model.id.as_str(), can.window, can.max_output)
        })
        .collect();
    let expected = [
        ("a/large", Some(200_000), Some(64_000)),
        ("small", Some(8192), Some(8192)),
        ("served", Some(32_768), None),
        ("bare", None, None),
    ];
    assert_eq!(facts, expected);
    let price = listed[0].prices[0];
    let prices = (
        price.input,
        price.output,
        price.cache_read,
        price.cache_write,
    );
    assert_eq!(prices, (3.0, 15.0, Some(0.3), None));
    assert_eq!(server.received()[0].path, "/models");
}

#[tokio::test]
async fn what_is_no_list_of_models_is_an_error() {
    let server = FaultServer::replaying(vec![Reply::json(200, &json!({"hello": 1}))]);
    let provider = provider(&server.url());
    let listed = provider.listed_models(CancellationToken::new());
    let error = listed.await.expect_err("no list");
    assert_eq!(error.kind, ProviderErrorKind::Malformed);
}
