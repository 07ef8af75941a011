//! Observed messages of services, and their expected classification.
//!
//! `data/errors.json` has one body a line, each with its source; a `note` says which part of it was completed.

use std::collections::BTreeSet;
use std::time::Duration;

use llm_providers::{ProviderErrorKind, classify};
use proptest::prelude::*;
use serde::Deserialize;

/// One body that was seen.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    /// The kind by its name.
    kind: String,
    provider: String,
    status: Option<u16>,
    body: String,
    source: String,
    /// It has words of an overflow and is none.
    #[serde(default)]
    lookalike: bool,
    /// True for an overflow that is independent of the status: one request is above a rate.
    #[serde(default)]
    never_fits: bool,
    #[serde(default)]
    note: Option<String>,
}

const OVERFLOW: &str = "context_overflow";

fn seen() -> Vec<Seen> {
    serde_json::from_str(include_str!("data/errors.json")).unwrap()
}

/// Returns true if `text` has a `<` that looks like a tag.
fn has_markup(text: &str) -> bool {
    let follows = |c: u8| c.is_ascii_alphabetic() || matches!(c, b'/' | b'!' | b'?');
    text.as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'<' && follows(pair[1]))
}

fn check_message(message: &str) {
    assert!(!has_markup(message), "{message}");
    assert!(!message.contains(char::is_control), "{message:?}");
    assert!(message.chars().count() <= 2000);
}

#[test]
fn every_body_is_understood() {
    let mut wrong = Vec::new();
    for one in seen() {
        let found = classify(one.status, &one.body);
        check_message(&found.message);
        assert!(!found.message.is_empty());
        if found.kind.name() != one.kind {
            let (kind, message) = (found.kind.name(), found.message);
            wrong.push(format!(
                "{} {}: {kind} for {message}",
                one.provider, one.kind
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_bodies_are_many_and_sourced() {
    let seen = seen();
    let overflows = seen.iter().filter(|one| one.kind == OVERFLOW);
    let providers: BTreeSet<&str> = overflows.clone().map(|one| &*one.provider).collect();
    let lookalikes = seen.iter().filter(|one| one.lookalike);
    let others = seen
        .iter()
        .filter(|one| one.kind != OVERFLOW && !one.lookalike);
    assert!(overflows.count() >= 70);
    assert!(providers.len() >= 25, "{providers:?}");
    assert!(lookalikes.clone().count() >= 35);
    assert!(others.count() >= 30);
    assert!(lookalikes.into_iter().all(|one| one.kind != OVERFLOW));

    let mut bodies = BTreeSet::new();
    for one in &seen {
        let is_sourced = one.source.starts_with("https://")
            || one.source.starts_with("npm package ")
            || one.source == "llama.cpp server, seen by this project";
        assert!(is_sourced, "{}", one.source);
        assert!(one.note.as_ref().is_none_or(|note| !note.is_empty()));
        assert!(
            bodies.insert((one.status, &one.body)),
            "twice: {}",
            one.body
        );
    }
}

#[test]
fn an_overflow_is_known_by_its_sentence_alone() {
    for one in seen().iter().filter(|one| one.kind == OVERFLOW) {
        let message = classify(one.status, &one.body).message;
        let shouted = message.to_uppercase();
        let broken = message.replace(' ', " \r\n\t ");
        let curly = message.replace('\'', "\u{2019}");
        let quoted = format!("Upstream said: <pre>{message}</pre> and closed the stream");
        for text in [&message, &shouted, &broken, &curly, &quoted] {
            for status in [None, Some(400), Some(413), Some(422), Some(500)] {
                let kind = classify(status, text).kind;
                assert_eq!(
                    kind,
                    ProviderErrorKind::ContextOverflow,
                    "{status:?} {text}"
                );
            }
        }
    }
}

#[test]
fn a_rate_limit_is_an_overflow_only_where_waiting_never_helps() {
    for one in seen().iter().filter(|one| one.kind == OVERFLOW) {
        let kind = classify(Some(429), &one.body).kind;
        let is_overflow = kind == ProviderErrorKind::ContextOverflow;
        assert_eq!(is_overflow, one.never_fits, "{}", one.body);
    }
    let check = |text: &str, kind: ProviderErrorKind| {
        assert_eq!(classify(Some(429), text).kind, kind, "{text}");
    };
    let said = |numbers: &str| format!("Rate limit reached on tokens per min (TPM): {numbers}");
    for never in [
        "Limit 30,000, Used 5, Requested 61,234",
        "Limit: 8000 / Requested: ~8001",
    ] {
        check(&said(never), ProviderErrorKind::ContextOverflow);
    }
    for later in [
        "Limit 30000, Used 29937, Requested 385",
        "Limit 0, Requested 3",
    ] {
        check(&said(later), ProviderErrorKind::RateLimited);
    }
}

#[test]
fn a_rate_limit_names_the_input_tokens_of_a_minute() {
    let limit = |text: &str| classify(Some(429), text).token_limit;
    let said = "This request would exceed your organization's rate limit of 30,000";
    assert_eq!(
        limit(&format!("{said} input tokens per minute.")),
        Some(30_000)
    );
    assert_eq!(limit(&format!("{said} output tokens per minute.")), None);
    assert_eq!(limit("Too many requests"), None);
}

#[test]
fn waits_are_read_from_the_fields_of_google_and_openrouter() {
    let seen = |provider: &str| {
        let of = |one: &&Seen| {
            one.provider == provider
                && (one.body.contains("retryDelay") || one.body.contains("X-RateLimit-Reset"))
        };
        let one = seen().into_iter().find(|one| of(&one)).expect("a body");
        let found = classify(one.status, &one.body);
        (found.retry_after, found.reset_at)
    };
    assert_eq!(seen("google"), (Some(Duration::from_secs(53)), None));
    assert_eq!(seen("openrouter"), (None, Some(1_777_420_800_000)));
}

#[test]
fn a_status_without_a_body_says_enough() {
    let check = |status: u16, kind: &str| {
        for body in ["", " \n", "{}", "null", "nothing of use"] {
            assert_eq!(
                classify(Some(status), body).kind.name(),
                kind,
                "{status} {body}"
            );
        }
    };
    for status in [200, 204] {
        check(status, "malformed");
    }
    for status in [301, 307, 400, 404, 405, 415, 422] {
        check(status, "invalid_request");
    }
    for status in [401, 403] {
        check(status, "auth");
    }
    for status in [408, 504, 522, 524] {
        check(status, "timeout");
    }
    for status in [409, 425, 500, 502, 503, 520, 529] {
        check(status, "overloaded");
    }
    check(402, "quota");
    check(413, "payload_too_large");
    check(429, "rate_limited");
    check(499, "interrupted");
    assert_eq!(classify(None, "nothing of use").kind.name(), "malformed");
    assert_eq!(
        classify(Some(502), "").message,
        "the service gives no reason"
    );
}

#[test]
fn an_error_with_a_good_status_is_not_malformed() {
    let check = |body: &str, kind: &str| {
        for status in [None, Some(200)] {
            assert_eq!(classify(status, body).kind.name(), kind, "{body}");
        }
    };
    check(r#"{"error":"unexpected EOF"}"#, "overloaded");
    check(
        r#"{"error":{"message":"no","code":400}}"#,
        "invalid_request",
    );
    check(r#"{"error":{"message":"no","code":"502"}}"#, "overloaded");
    check(r#"{"error":{"message":"no","code":429}}"#, "rate_limited");
    check(
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#,
        "invalid_request",
    );
    check("<html><title>Sign in</title>rate limit</html>", "malformed");
    check(
        r#"{"choices":[{"message":{"content":"prompt is too long"}}]}"#,
        "malformed",
    );
    check(r#"{"choices":"#, "malformed");
}

#[test]
fn what_the_user_wrote_is_not_taken_for_the_service() {
    // FastAPI repeats the input of a field that it refuses.
    let body = r#"{"detail":[{"type":"string_type","loc":["body","messages"],"msg":"Input should be a valid string","input":"prompt is too long: 200251 tokens > 200000 maximum"}]}"#;
    let found = classify(Some(422), body);
    assert_eq!(found.kind, ProviderErrorKind::InvalidRequest);
    assert_eq!(found.message, "Input should be a valid string");
}

#[test]
fn codes_and_waits_are_kept() {
    let body = r#"{"error":{"message":"Rate limit reached. Please try again in 1m2.5s. Visit us","code":"rate_limit_exceeded"}}"#;
    let found = classify(Some(429), body);
    assert_eq!(found.code.as_deref(), Some("rate_limit_exceeded"));
    assert_eq!(found.retry_after, Some(Duration::from_millis(62_500)));
    let found = classify(Some(400), r#"{"error":{"message":"no","code":400}}"#);
    assert_eq!(
        (found.code.as_deref(), found.retry_after),
        (Some("400"), None)
    );
}

#[test]
fn no_key_is_repeated() {
    let body = r#"{"error":{"message":"Incorrect API key provided: kk. You can find"}}"#;
    assert_eq!(
        classify(Some(401), body).message,
        "Incorrect API key provided: [key] You can find"
    );
}

#[test]
fn large_and_deep_bodies_are_read_within_bounds() {
    // Anything quadratic takes minutes here, and a recursion without end breaks the stack.
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    let nested = (0..12).fold("too long".to_owned(), |inner, _| {
        serde_json::json!({"error": {"message": inner}}).to_string()
    });
    let bodies = [
        "x".repeat(200_000),
        "prompt ".repeat(30_000),
        "maximum context length ".repeat(9_000),
        "token count of ".repeat(14_000),
        "<a".repeat(100_000),
        "<!--".repeat(50_000),
        "<html>".repeat(35_000),
        "{\"".repeat(100_000),
        deep("[", "]"),
        deep("{\"error\":", "}"),
        deep("[{\"errors\":", "}]"),
        format!("{{\"error\":{}}}", deep("[", "]")),
        nested,
        format!(
            "{{\"error\":[{}1]}}",
            "{\"message\":\"a b\"},".repeat(12_000)
        ),
    ];
    for body in &bodies {
        for status in [None, Some(200), Some(400), Some(500)] {
            check_message(&classify(status, body).message);
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), status in prop::option::of(0u16..1000)) {
        let body = String::from_utf8_lossy(&bytes);
        check_message(&classify(status, &body).message);
    }

    #[test]
    fn no_broken_body_panics(
        at in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        noise in "[<>{}\\[\\]\"\\\\a-z&;/! \\PC]{0,12}",
    ) {
        let seen = seen();
        let one = &seen[at.index(seen.len())];
        let cut = one.body.floor_char_boundary(cut.index(one.body.len() + 1));
        let body = format!("{}{noise}{}", &one.body[..cut], &one.body[cut..]);
        check_message(&classify(one.status, &body).message);
        check_message(&classify(one.status, &one.body[..cut]).message);
    }
}
