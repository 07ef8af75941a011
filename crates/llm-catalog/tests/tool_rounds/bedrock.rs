//! Amazon Bedrock: frames written by hand, signed requests, refusals.

use llm_catalog::{Catalog, Selection};
use llm_providers::{
    AwsAccess, AwsCredentials, CancellationToken, HttpClient, HttpProvider, HttpSettings, Provider,
    ProviderError, ProviderErrorKind, Request, Secret,
};
use serde_json::{Value, json};
use test_support::{FaultServer, Received, Reply};

use crate::{Case, KEY, Refused, list, members, replayed, run_with};

const SESSION: &str = "session-token-0123456789";

fn with_key(provider: HttpProvider) -> HttpProvider {
    provider.with_aws(AwsAccess {
        region: "us-west-2".to_owned(),
        credentials: Some(AwsCredentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: Secret::new("secret-access-key-of-a-test").expect("a key"),
            session_token: Secret::new(SESSION),
        }),
    })
}

fn with_bearer(provider: HttpProvider) -> HttpProvider {
    provider.with_aws(AwsAccess {
        region: "us-west-2".to_owned(),
        credentials: None,
    })
}

/// The checksum of zip and Ethernet, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// Lengths, their checksum, headers with texts, the payload, and the checksum of all.
fn frame(headers: &[(&str, &str)], payload: &str) -> Vec<u8> {
    let size = |length: usize| u32::try_from(length).expect("a small frame").to_be_bytes();
    let mut written = Vec::new();
    for (name, value) in headers {
        written.push(u8::try_from(name.len()).expect("a short name"));
        written.extend_from_slice(name.as_bytes());
        // The type of texts.
        written.push(7);
        let length = u16::try_from(value.len()).expect("a short value");
        written.extend_from_slice(&length.to_be_bytes());
        written.extend_from_slice(value.as_bytes());
    }
    let total = 12 + written.len() + payload.len() + 4;
    let mut frame = [size(total), size(written.len())].concat();
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(&written);
    frame.extend_from_slice(payload.as_bytes());
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame
}

fn event(kind: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":event-type", kind),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, &payload.to_string())
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = text.as_bytes().chunks(3).map(|group| {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | u32::from(group.get(at).copied().unwrap_or(0))
        });
        let digits = (0..4).map(|at| match at <= group.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]),
            false => '=',
        });
        digits.collect::<String>()
    });
    groups.collect()
}

/// Frames in pieces that end anywhere.
fn framed(frames: &[Vec<u8>]) -> Reply {
    let bytes = frames.concat();
    let pieces = bytes.chunks(37).map(|piece| piece.to_vec().into());
    let Reply::Chunks { chunks, end, .. } = Reply::event_stream(pieces.collect()) else {
        unreachable!("a stream is a reply of chunks");
    };
    let kind = "application/vnd.amazon.eventstream";
    Reply::Chunks {
        status: 200,
        headers: vec![("content-type".to_owned(), kind.to_owned())],
        chunks,
        end,
    }
}

/// Events of the model's own protocol, as bytes in frames.
fn invoked(events: &[Value]) -> Reply {
    let frames = events.iter().map(|data| {
        let bytes = base64(&data.to_string());
        event("chunk", &json!({"bytes": bytes, "p": "abcd"}))
    });
    framed(&frames.collect::<Vec<_>>())
}

fn conversed(events: &[Value]) -> Reply {
    let members = events
        .iter()
        .flat_map(|event| event.as_object().expect("an object"));
    framed(
        &members
            .map(|(kind, body)| event(kind, body))
            .collect::<Vec<_>>(),
    )
}

/// Fails unless the request is signed for the region.
fn signed(received: &Received) -> Result<(), Refused> {
    let header = |name: &str| received.header(name).unwrap_or_default();
    let parts = header("authorization");
    let scoped = parts.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        && parts.contains("/us-west-2/bedrock/aws4_request")
        && ["host", "x-amz-date", "x-amz-security-token", "content-type"]
            .iter()
            .all(|name| parts.contains(name));
    match scoped && header("x-amz-security-token") == SESSION {
        true => Ok(()),
        false => Err(format!("not signed: {parts}")),
    }
}

#[test]
fn claude_on_bedrock_takes_three_rounds() {
    let case = Case {
        answers: "anthropic-unlisted",
        model: "amazon-bedrock/us.anthropic.claude-next-v1:0",
        path: "",
        settings: json!({}),
        window: Some(200_000),
        check: |received, given| {
            signed(received)?;
            let place = "/model/us.anthropic.claude-next-v1%3A0/invoke-with-response-stream";
            if received.path != place {
                return Err(format!("UnknownOperationException: {}", received.path));
            }
            let body = received.json();
            if body["anthropic_version"] != "bedrock-2023-05-31" {
                return Err("anthropic_version: Field required".to_owned());
            }
            if !body["model"].is_null() || !body["stream"].is_null() {
                return Err("Extra inputs are not permitted".to_owned());
            }
            replayed(&body, given, "signature")
        },
    };
    let ran = run_with(&case, invoked, with_key);
    assert_eq!(ran.answers[1].usage.cache_read, 1000);
    let mut marks = Vec::new();
    members(&ran.requests[2], "cache_control", &mut marks);
    assert_eq!(marks.len(), 4);
}

#[test]
fn converse_takes_three_rounds() {
    let case = Case {
        answers: "converse",
        model: "amazon-bedrock/amazon.nova-pro-v1:0",
        path: "",
        settings: json!({}),
        window: Some(300_000),
        check: |received, _| {
            if received.path != "/model/amazon.nova-pro-v1%3A0/converse-stream" {
                return Err(format!("UnknownOperationException: {}", received.path));
            }
            if received.header("authorization") != Some(&format!("Bearer {KEY}")) {
                return Err("no bearer token".to_owned());
            }
            let body = received.json();
            if body["toolConfig"]["tools"][0]["toolSpec"]["name"] != "bash" {
                return Err("toolConfig must be defined".to_owned());
            }
            let mut open: Vec<Value> = Vec::new();
            for message in list(&body["messages"]) {
                let ids = |kind: &str| {
                    let content = list(&message["content"]).iter();
                    let ids = content.map(|block| block[kind]["toolUseId"].clone());
                    ids.filter(|id| !id.is_null()).collect::<Vec<_>>()
                };
                if ids("toolResult") != open {
                    return Err("Expected toolResult blocks".to_owned());
                }
                open = ids("toolUse");
            }
            Ok(())
        },
    };
    let ran = run_with(&case, conversed, with_bearer);
    let usage = ran.answers[1].usage;
    assert_eq!(
        (usage.input, usage.output, usage.cache_read),
        (120, 30, 800)
    );
    let thought = &ran.requests[1]["messages"][1]["content"][0]["reasoningContent"];
    assert_eq!(thought["reasoningText"]["signature"], "c2lnbmF0dXJl");
    assert_eq!(
        ran.requests[0]["system"][0]["text"].as_str().map(str::len),
        Some(1720)
    );
}

/// Returns the error of a request that gets `reply`.
fn refused(reply: Reply, access: fn(HttpProvider) -> HttpProvider) -> ProviderError {
    let server = FaultServer::replaying(vec![reply]);
    let own = json!({"providers": {"amazon-bedrock": {"baseUrl": server.url()}}});
    asked(&own, access)
}

fn asked(own: &Value, access: fn(HttpProvider) -> HttpProvider) -> ProviderError {
    let own = serde_json::from_value(own.clone()).expect("settings");
    let catalog = Catalog::embedded().apply(&own).expect("good settings");
    let model = "amazon-bedrock/anthropic.claude-next".to_owned();
    let selection = Selection {
        model,
        ..Selection::default()
    };
    let found = catalog.resolve(&selection).expect("a model");
    let http = HttpClient::new(HttpSettings::default()).expect("a client");
    let provider = access(HttpProvider::new(http, found.provider, found.model, None));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        use futures_util::StreamExt;
        let request = Request::for_prompt("", "hi");
        match provider.stream(request, CancellationToken::new()).await {
            Err(error) => error,
            Ok(mut events) => loop {
                if let Err(error) = events.next().await.expect("an error") {
                    return error;
                }
            },
        }
    })
}

#[test]
fn refusals_of_bedrock_name_the_setting_to_change() {
    let said = |status, text: &str, access| {
        let reply = Reply::json(status, &json!({"message": text}));
        refused(reply, access).message
    };
    let all = [
        said(
            403,
            "The security token included in the request is expired",
            with_key,
        ),
        said(
            403,
            "Credential should be scoped to a valid region.",
            with_key,
        ),
        said(403, "Authentication failed", with_bearer),
        said(
            403,
            "You don't have access to the model with the specified model ID.",
            with_key,
        ),
        said(400, "The provided model identifier is invalid.", with_key),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    The security token included in the request is expired; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION (us-west-2)
    Credential should be scoped to a valid region; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION (us-west-2)
    Authentication failed; check the token in AWS_BEARER_TOKEN_BEDROCK and AWS_REGION (us-west-2)
    You don't have access to the model with the specified model ID; let the account use the model in AWS_REGION (us-west-2), or name another model
    The provided model identifier is invalid; check the model and AWS_REGION (us-west-2)
    ");
}

#[test]
fn an_exception_in_the_stream_is_an_error() {
    let headers = [
        (":exception-type", "throttlingException"),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    let exception = frame(&headers, r#"{"message":"Too many tokens, please wait"}"#);
    let error = refused(framed(&[exception]), with_key);
    assert_eq!(error.kind, ProviderErrorKind::RateLimited);
    let mut broken = event("chunk", &json!({"bytes": ""}));
    *broken.last_mut().expect("a byte") ^= 1;
    let error = refused(framed(&[broken]), with_key);
    assert_eq!(error.kind, ProviderErrorKind::Malformed, "{error}");
    let cut = &event("chunk", &json!({"bytes": ""}))[..20];
    let error = refused(framed(&[cut.to_vec()]), with_key);
    assert_eq!(error.kind, ProviderErrorKind::Interrupted, "{error}");
}
