//! What services document, or refuse in public reports: `data/documented.json` has a request or an answer a row, each
//! with its source.
//!
//! A row names the model, its settings, the level of thinking, and the expected values of the body at some paths; null
//! means that the field must be absent. `answer` is the response of the service, and `answered` the expected decoded
//! answer.

use llm_catalog::{Catalog, Selection};
use llm_providers::{
    Answer, CancellationToken, HttpClient, HttpProvider, HttpSettings, ProviderError, Reasoning,
    Request, RetryPolicy, Secret, Tool, ToolChoice, complete,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use session_model::json::RawJson;
use session_model::{
    AssistantMessage, Block, Content, LlmMessage, StopReason, ToolCall, ToolResultMessage,
};
use test_support::{FaultServer, Received, Reply, streams};

const KEY: &str = "sk-test-0123456789abcdefghijkl";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    source: String,
    model: String,
    /// Settings of the provider, in addition to its address.
    #[serde(default)]
    settings: Map<String, Value>,
    /// Settings of the model.
    #[serde(default)]
    model_settings: Value,
    #[serde(default)]
    thinking: Reasoning,
    /// The name of a tool that another model has called before.
    called: Option<String>,
    /// Whether the request offers a tool, which has no description.
    #[serde(default)]
    tools: bool,
    /// Where the last request must go, as its address is written.
    path: Option<String>,
    /// What the body of the last request must have.
    #[serde(default)]
    body: Map<String, Value>,
    /// Words of the error where nothing may be sent.
    refused: Option<String>,
    #[serde(default)]
    answers: Vec<Value>,
    /// What the answer must be, as far as it is said.
    #[serde(default)]
    answered: Map<String, Value>,
    /// How many requests there are.
    requests: Option<usize>,
}

fn call_of(name: &str) -> Vec<LlmMessage> {
    let call = ToolCall {
        id: "toolu_1".to_owned(),
        name: name.to_owned(),
        arguments: RawJson::parse(r#"{"command":"ls"}"#).ok(),
        signature: None,
    };
    let answer = AssistantMessage {
        content: Content::Blocks(vec![Block::ToolCall(call)]),
        api: "anthropic-messages".to_owned(),
        provider: "claude-code".to_owned(),
        model: "claude-opus-4-6".to_owned(),
        usage: None,
        stop_reason: StopReason::ToolUse,
        error_message: None,
        timestamp: None,
    };
    let result = ToolResultMessage {
        tool_call_id: "toolu_1".to_owned(),
        tool_name: name.to_owned(),
        content: Content::Blocks(vec![Block::text("a.txt")]),
        is_error: false,
        timestamp: None,
        nested_calls: None,
    };
    vec![
        LlmMessage::Assistant(answer),
        LlmMessage::ToolResult(result),
    ]
}

fn reply(answer: &Value) -> Reply {
    match answer["status"].as_u64() {
        Some(status) => Reply::json(u16::try_from(status).expect("a status"), &answer["body"]),
        None => {
            let events = answer.as_array().expect("events").iter();
            let texts = events.map(|event| {
                event
                    .as_str()
                    .map_or_else(|| event.to_string(), str::to_owned)
            });
            let texts: Vec<String> = texts.collect();
            streams::sse_reply(&texts.iter().map(String::as_str).collect::<Vec<_>>())
        }
    }
}

fn provider(row: &Row, url: &str) -> HttpProvider {
    let (name, _) = row.model.split_once('/').expect("PROVIDER/MODEL");
    let mut settings = Value::Object(row.settings.clone());
    settings["baseUrl"] = json!(url);
    settings["apiKeyEnv"] = json!("TEST_KEY");
    let mut own = json!({"providers": {name: settings}});
    if !row.model_settings.is_null() {
        own["models"] = json!({&row.model: row.model_settings});
    }
    let own = serde_json::from_value(own).expect("settings");
    let catalog = Catalog::embedded().apply(&own).expect("good settings");
    let found = catalog.resolve(&Selection {
        model: row.model.clone(),
        ..Selection::default()
    });
    let found = found.expect("a model");
    let http = HttpClient::new(HttpSettings::default()).expect("a client");
    with_access(
        HttpProvider::new(http, found.provider, found.model, Secret::new(KEY)),
        name,
    )
}

fn with_access(provider: HttpProvider, name: &str) -> HttpProvider {
    match name {
        #[cfg(feature = "vertex")]
        "google-vertex" => {
            provider.with_google(llm_providers::GoogleAccess::new("project", "global"))
        }
        #[cfg(feature = "bedrock")]
        "amazon-bedrock" => provider.with_aws(llm_providers::AwsAccess {
            region: "us-west-2".to_owned(),
            credentials: None,
        }),
        _ => provider,
    }
}

fn ask(row: &Row) -> (Result<Answer, ProviderError>, Vec<Received>) {
    let replies: Vec<Reply> = match row.answers.as_slice() {
        [] => vec![Reply::json(
            400,
            &json!({"error": {"message": "no answer here"}}),
        )],
        answers => answers.iter().map(reply).collect(),
    };
    let server = FaultServer::replaying(replies);
    let provider = provider(row, &server.url());
    let mut request = Request::for_prompt("Be brief.", "What is here?");
    request.reasoning = row.thinking;
    request.cache_key = Some("a-session".to_owned());
    request
        .messages
        .extend(row.called.iter().flat_map(|name| call_of(name)));
    if row.tools {
        request.tool_choice = ToolChoice::Auto;
        request.tools.push(Tool {
            name: "ls".to_owned(),
            description: String::new(),
            parameters: RawJson::parse(r#"{"type":"object"}"#).expect("a schema"),
        });
    }
    let policy = RetryPolicy {
        base: std::time::Duration::from_millis(1),
        attempts: 6,
        ..RetryPolicy::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let cancel = CancellationToken::new();
    let answered = runtime.block_on(complete(&provider, &request, &policy, &cancel, &mut |_| {}));
    (answered, server.received())
}

/// Returns an answer in the words of a row.
fn described(answer: &Answer) -> Value {
    let calls = answer.tool_calls();
    let calls =
        calls.map(|call| json!([call.name, call.arguments.as_ref().map(RawJson::to_value)]));
    let thinking = answer.content.iter().filter_map(|block| match block {
        Block::Thinking(block) => Some(block.thinking.as_str()),
        _ => None,
    });
    json!({
        "text": answer.text(),
        "thinking": thinking.collect::<String>(),
        "calls": calls.collect::<Vec<_>>(),
        "stop": answer.stop_reason.name(),
        "input": answer.usage.input,
        "cache_read": answer.usage.cache_read,
    })
}

fn check(row: &Row) -> Result<(), String> {
    let (answered, received) = ask(row);
    if let Some(words) = &row.refused {
        return match answered {
            Err(error) if error.message.contains(words) && received.is_empty() => Ok(()),
            other => Err(format!("{other:?} after {} requests", received.len())),
        };
    }
    let last = received
        .last()
        .ok_or_else(|| format!("nothing was sent: {answered:?}"))?;
    if row.path.as_ref().is_some_and(|path| *path != last.path) {
        return Err(format!("the path is {}", last.path));
    }
    let body = last.json();
    for (place, value) in &row.body {
        let found = body.pointer(place).cloned().unwrap_or_default();
        if found != *value {
            return Err(format!("{place} is {found} in {body}"));
        }
    }
    if row.requests.is_some_and(|count| count != received.len()) {
        return Err(format!("{} requests", received.len()));
    }
    if !row.answered.is_empty() {
        let answer = described(&answered.map_err(|error| error.to_string())?);
        for (field, value) in &row.answered {
            if answer[field] != *value {
                return Err(format!("{field} is {} in {answer}", answer[field]));
            }
        }
    }
    Ok(())
}

#[test]
fn what_services_document_is_sent_and_read() {
    let rows: Vec<Row> = serde_json::from_str(include_str!("data/documented.json")).expect("rows");
    let features = [
        ("google-vertex/", cfg!(feature = "vertex")),
        ("amazon-bedrock/", cfg!(feature = "bedrock")),
    ];
    let built = |row: &&Row| {
        let mut features = features.iter();
        features.all(|(provider, built)| *built || !row.model.starts_with(provider))
    };
    let mut wrong = Vec::new();
    for row in rows.iter().filter(built) {
        assert!(row.source.starts_with("https://") || row.source.starts_with("npm package "));
        if let Err(text) = check(row) {
            wrong.push(format!("{}: {text}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
