//! Bad settings: what a provider refuses, and what is not sent at all. Each error names what to change.

use futures_util::StreamExt;
use llm_catalog::{Catalog, Selection};
use llm_providers::{
    CancellationToken, HttpClient, HttpProvider, HttpSettings, Provider, ProviderError,
    ProviderErrorKind, Reasoning, Request, Secret,
};
use serde_json::{Value, json};
use test_support::{FaultServer, Reply, streams};

const KEY: &str = "sk-test-0123456789abcdefghijkl";

/// Returns the error of a request to the model of a selection.
fn failed(catalog: &Catalog, selection: &Selection, reasoning: Reasoning) -> ProviderError {
    let found = catalog.resolve(selection).expect("a model");
    let http = HttpClient::new(HttpSettings::default()).expect("a client");
    let key = found
        .provider
        .api_key_env
        .as_ref()
        .and_then(|_| Secret::new(KEY));
    let provider = HttpProvider::new(http, found.provider, found.model, key);
    let request = Request {
        reasoning,
        ..Request::for_prompt("", "hi")
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut events = match provider.stream(request, CancellationToken::new()).await {
            Ok(events) => events,
            Err(error) => return error,
        };
        loop {
            if let Err(error) = events.next().await.expect("an error") {
                return error;
            }
        }
    })
}

/// Returns the error where a provider with these settings answers so.
fn refused(mut own: Value, query: &str, reply: Reply) -> ProviderError {
    let server = FaultServer::replaying(vec![reply]);
    own["baseUrl"] = json!(format!("{}/v1{query}", server.url()));
    let own = serde_json::from_value(json!({"providers": {"lab": own}})).expect("settings");
    let catalog = Catalog::embedded().apply(&own).expect("good settings");
    let selection = Selection {
        model: "lab/m".to_owned(),
        ..Selection::default()
    };
    failed(&catalog, &selection, Reasoning::Default)
}

fn said(own: Value, query: &str, status: u16, text: &str) -> String {
    let reply = Reply::json(status, &json!({"error": {"message": text}}));
    refused(own, query, reply).to_string()
}

fn keyed() -> Value {
    json!({"apiKeyEnv": "LAB_KEY"})
}

#[test]
fn a_key_of_another_provider_is_named_with_its_variable() {
    assert_eq!(
        said(keyed(), "", 401, "Incorrect API key."),
        "lab/m: Incorrect API key; check the key in LAB_KEY (status 401)"
    );
    assert_eq!(
        said(
            keyed(),
            "",
            400,
            "API key not valid. Please pass a valid API key."
        ),
        "lab/m: API key not valid. Please pass a valid API key; check the key in LAB_KEY (status 400)"
    );
    assert_eq!(
        said(json!({}), "", 401, "Who are you?"),
        "lab/m: Who are you?; name the variable with the key in providers.lab.apiKeyEnv (status 401)"
    );
}

#[test]
fn a_wrong_api_version_is_named_with_the_base_url() {
    let version = "?api-version=1999-01-01";
    assert_eq!(
        said(keyed(), version, 400, "API version not supported"),
        "lab/m: API version not supported; check the api-version in providers.lab.baseUrl (status 400)"
    );
    assert_eq!(
        said(keyed(), version, 404, "Resource not found"),
        "lab/m: Resource not found; check the model, providers.lab.baseUrl and its api-version and \
         providers.lab.wire (status 404)"
    );
}

#[test]
fn a_model_that_the_provider_lacks_is_an_error_about_the_model() {
    for (status, text) in [
        (
            404,
            "The model `m` does not exist or you do not have access to it.",
        ),
        (404, "model 'm' not found"),
        (400, "m is not a valid model ID"),
        (400, "Model Not Exist"),
        (400, "Invalid model: m"),
    ] {
        assert_eq!(
            said(keyed(), "", status, text),
            format!(
                "lab/m: {}; name another model of lab, or check providers.lab.baseUrl (status {status})",
                text.trim_end_matches('.')
            )
        );
    }
}

#[test]
fn an_answer_in_another_protocol_is_an_error_about_the_protocol() {
    let streams: [(&str, Reply); 3] = [
        ("messages", streams::chat_stream("hello")),
        ("gemini", streams::chat_stream("hello")),
        (
            "chat",
            streams::sse_reply(&[
                r#"{"type":"message_start","message":{"id":"msg_1","content":[]}}"#,
                r#"{"type":"message_stop"}"#,
            ]),
        ),
    ];
    for (wire, reply) in streams {
        let error = refused(json!({"wire": wire}), "", reply);
        assert_eq!(error.kind, ProviderErrorKind::Malformed, "{wire}: {error}");
        let want = format!(
            "no event of the answer has the form of the protocol {wire}; check providers.lab.wire"
        );
        assert_eq!(*error.message, *want);
    }
    let missing = said(json!({"wire": "messages"}), "", 404, "Not Found");
    assert!(missing.contains("providers.lab.wire"), "{missing}");
}

#[test]
fn thinking_levels_are_sent_or_refused() {
    let asked = |model: &str, reasoning| {
        let server = FaultServer::replaying(vec![Reply::json(503, &json!({}))]);
        let selection = Selection {
            model: model.to_owned(),
            base_url: Some(server.url()),
            window: Some(100_000),
            ..Selection::default()
        };
        let error = failed(&Catalog::embedded(), &selection, reasoning);
        let received = server.received();
        (error, received.first().map(test_support::Received::json))
    };
    for (model, place, value) in [
        ("ollama/qwen9", "/reasoning_effort", json!("xhigh")),
        ("openai/gpt-next", "/reasoning/effort", json!("xhigh")),
        ("openrouter/a/b", "/reasoning/effort", json!("xhigh")),
        (
            "anthropic/claude-next",
            "/output_config/effort",
            json!("xhigh"),
        ),
    ] {
        let (_, body) = asked(model, Reasoning::XHigh);
        let body = body.expect("a request");
        assert_eq!(body.pointer(place), Some(&value), "{model}: {body}");
    }
    for (model, reasoning, setting) in [
        (
            "vllm/qwen9",
            Reasoning::High,
            "providers.vllm.compat.reasoningField",
        ),
        (
            "mistral/devstral-2512",
            Reasoning::Low,
            "models.\"mistral/devstral-2512\".reasoning",
        ),
        (
            "gemini/gemini-3.8-flash",
            Reasoning::XHigh,
            "ask for one of: low, medium, high",
        ),
        ("gemini/gemini-next", Reasoning::Max, "ask for high"),
        ("anthropic/claude-next", Reasoning::Minimal, "ask for low"),
    ] {
        let (error, body) = asked(model, reasoning);
        assert_eq!(error.kind, ProviderErrorKind::InvalidRequest, "{model}");
        assert!(error.message.contains(setting), "{model}: {error}");
        assert!(body.is_none(), "{model} was asked");
    }
}
