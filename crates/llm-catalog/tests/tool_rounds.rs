//! Three rounds of tool calls with every kind of provider. The server refuses what the provider would refuse.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use llm_catalog::{Catalog, Selection};
use llm_providers::{
    Answer, CancellationToken, Event, HttpClient, HttpProvider, HttpSettings, Provider, Request,
    Secret, Tool,
};
use serde_json::{Value, json};
use session_model::json::{Members, RawJson};
use session_model::{AssistantMessage, Block, Content, LlmMessage, StopReason, ToolResultMessage};
use test_support::{FaultServer, Received, Reply, streams};

#[cfg(feature = "bedrock")]
#[path = "tool_rounds/bedrock.rs"]
mod bedrock;
#[cfg(feature = "vertex")]
#[path = "tool_rounds/vertex.rs"]
mod vertex;

const KEY: &str = "sk-test-0123456789abcdefghijkl";

/// What the provider would refuse, as the text of its error.
type Refused = String;

struct Case {
    /// The file with the answers.
    answers: &'static str,
    /// The model, as `--model` names it.
    model: &'static str,
    /// What follows the address of the server.
    path: &'static str,
    /// Settings of the provider.
    settings: Value,
    window: Option<u64>,
    /// Fails where the provider would refuse the request; gets the answers that were given so far.
    check: Check,
}

/// What a request would be refused for; gets the answers that were given so far.
type Check = fn(&Received, &[Vec<Value>]) -> Result<(), Refused>;

impl Case {
    /// Returns the case of a listed provider as it is.
    fn new(answers: &'static str, model: &'static str, path: &'static str, check: Check) -> Self {
        Self {
            answers,
            model,
            path,
            settings: json!({}),
            window: None,
            check,
        }
    }
}

/// The members of a body of Chat Completions that make the prompt.
const CHAT: [&str; 3] = ["tools", "", "messages"];

struct Ran {
    answers: Vec<Answer>,
    requests: Vec<Value>,
    bodies: Vec<String>,
}

fn answers(file: &str) -> Vec<Vec<Value>> {
    let place = format!(
        "{}/tests/data/rounds/{file}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(place).expect("a file of answers");
    serde_json::from_str(&text).expect("answers")
}

fn reply(events: &[Value]) -> Reply {
    let texts: Vec<String> = events
        .iter()
        .map(|event| match event {
            Value::String(text) => text.clone(),
            event => event.to_string(),
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    streams::sse_reply(&texts)
}

/// Runs the rounds, as an agent does, and returns what was answered and asked.
fn run(case: &Case) -> Ran {
    run_with(case, reply, |provider| provider)
}

/// Does the same with answers in the form of `reply`, asked for with further credentials.
fn run_with(
    case: &Case,
    reply: fn(&[Value]) -> Reply,
    access: fn(HttpProvider) -> HttpProvider,
) -> Ran {
    let given = answers(case.answers);
    let refusals: Arc<Mutex<Vec<Refused>>> = Arc::default();
    let (seen, check) = (Arc::clone(&refusals), case.check);
    let server = FaultServer::start(move |nth, received| {
        match check(received, &given[..nth.min(given.len())]) {
            Ok(()) => reply(&given[nth]),
            Err(text) => {
                seen.lock()
                    .expect("refusals")
                    .push(format!("request {nth}: {text}"));
                Reply::json(400, &json!({"error": {"message": text}}))
            }
        }
    });
    let (name, _) = case.model.split_once('/').expect("PROVIDER/MODEL");
    let mut own = case.settings.clone();
    own["baseUrl"] = json!(format!("{}{}", server.url(), case.path));
    own["apiKeyEnv"] = json!("TEST_KEY");
    let own = serde_json::from_value(json!({"providers": {name: own}})).expect("settings");
    let catalog = Catalog::embedded().apply(&own).expect("good settings");
    let found = catalog
        .resolve(&Selection {
            model: case.model.to_owned(),
            window: case.window,
            ..Selection::default()
        })
        .expect("a model");
    let api = found.provider.wire.api();
    let http = HttpClient::new(HttpSettings::default()).expect("a client");
    let provider = HttpProvider::new(http, found.provider, found.model, Secret::new(KEY));
    let provider = access(provider);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut request = Request::for_prompt(
        &"You are an agent that works in a terminal. ".repeat(40),
        "Do the tests pass?",
    );
    request.tools.push(Tool {
        name: "bash".to_owned(),
        description: "Runs a command".to_owned(),
        parameters: RawJson::parse(
            r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#,
        )
        .expect("a schema"),
    });
    request.cache_key = Some("a-session".to_owned());
    let mut ran = Vec::new();
    loop {
        let answered = runtime.block_on(async {
            let mut events = provider
                .stream(request.clone(), CancellationToken::new())
                .await?;
            while let Some(event) = events.next().await {
                if let Event::Done(answer) = event? {
                    return Ok::<_, llm_providers::ProviderError>(answer);
                }
            }
            panic!("the stream ended without an answer");
        });
        let refused = refusals.lock().expect("refusals").join("; ");
        let answer =
            answered.unwrap_or_else(|error| panic!("{}: {refused}: {error}", case.answers));
        request
            .messages
            .push(LlmMessage::Assistant(AssistantMessage {
                content: Content::Blocks(answer.content.clone()),
                api: api.to_owned(),
                provider: provider.name().to_owned(),
                model: provider.model().to_owned(),
                usage: Some(answer.usage),
                stop_reason: answer.stop_reason.clone(),
                error_message: None,
                timestamp: None,
            }));
        for call in answer.tool_calls() {
            request
                .messages
                .push(LlmMessage::ToolResult(ToolResultMessage {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    content: Content::Blocks(vec![Block::text("a line of output\n".repeat(60))]),
                    is_error: false,
                    timestamp: None,
                    nested_calls: None,
                }));
        }
        let ended = answer.stop_reason != StopReason::ToolUse;
        ran.push(answer);
        if ended {
            break;
        }
    }
    assert_eq!(ran.len(), 4, "{}: three rounds and a text", case.answers);
    assert_eq!(ran[3].text(), "All tests pass.", "{}", case.answers);
    let received = server.received();
    let text = |received: &Received| String::from_utf8(received.body.clone()).expect("text");
    Ran {
        answers: ran,
        requests: received.iter().map(Received::json).collect(),
        bodies: received.iter().map(text).collect(),
    }
}

impl Ran {
    /// Fails unless each round begins with the bytes of the round before: what a provider caches without marks. `parts`
    /// are the members of a body that make the prompt, in the order in which the provider reads them.
    fn repeats_its_prompts(&self, parts: [&str; 3]) {
        let prompt = |body: &String| -> String {
            let members = Members::parse(body).expect("an object").0;
            let part = |name: &str| members.iter().find(|(own, _)| own == name);
            let found = parts.into_iter().filter_map(part);
            found.map(|(_, part)| part.get().to_owned()).collect()
        };
        for (round, pair) in self.bodies.windows(2).enumerate() {
            let (before, after) = (prompt(&pair[0]), prompt(&pair[1]));
            let equal = before.bytes().zip(after.bytes());
            let equal = equal.take_while(|(one, other)| one == other).count();
            // The end of a list is not the end of it in the next round.
            assert!(
                equal + 1 >= before.len(),
                "round {round}: {equal} of {}",
                before.len()
            );
            assert!(before.len() > 1500, "round {round}: {before}");
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Fails unless calls and results of Chat Completions come in pairs.
fn chat_pairs(body: &Value) -> Result<(), Refused> {
    let mut open: Vec<&Value> = Vec::new();
    for message in list(&body["messages"]) {
        if message["role"] == "tool" {
            let place = open.iter().position(|id| **id == message["tool_call_id"]);
            open.remove(place.ok_or("a result without its call")?);
            continue;
        }
        if !open.is_empty() {
            return Err("a call without its result".to_owned());
        }
        open.extend(list(&message["tool_calls"]).iter().map(|call| &call["id"]));
    }
    Ok(())
}

/// Returns the values of a member at any depth.
fn members<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Array(list) => list.iter().for_each(|item| members(item, name, found)),
        Value::Object(map) => {
            for (key, value) in map {
                if key == name {
                    found.push(value);
                }
                members(value, name, found);
            }
        }
        _ => {}
    }
}

/// Fails unless every signature that was given is sent back, in the same order.
fn replayed(body: &Value, given: &[Vec<Value>], name: &str) -> Result<(), Refused> {
    let (mut sent, mut made) = (Vec::new(), Vec::new());
    members(body, name, &mut sent);
    given
        .iter()
        .flatten()
        .for_each(|event| members(event, name, &mut made));
    made.retain(|signature| *signature != "");
    match sent == made {
        true => Ok(()),
        false => Err(format!("{name}: {} sent of {}", sent.len(), made.len())),
    }
}

/// Returns the last block that is marked for the cache.
fn last_marked(value: &Value) -> Option<&Value> {
    let inner = match value {
        Value::Array(list) => list.iter().rev().find_map(last_marked),
        Value::Object(map) => map.values().rev().find_map(last_marked),
        _ => None,
    };
    inner.or_else(|| value.get("cache_control").map(|_| value))
}

/// Returns how much of the prompt, in percent of its bytes, is marked for the cache.
fn marked(prompt: &[&Value]) -> usize {
    let text: String = prompt.iter().map(ToString::to_string).collect();
    let last = prompt.iter().rev().find_map(|part| last_marked(part));
    let last = last.expect("a mark").to_string();
    let end = text.rfind(&last).expect("it is there") + last.len();
    end * 100 / text.len()
}

#[test]
fn gemini_over_chat_takes_three_rounds() {
    let ran = run(&Case {
        answers: "gemini-chat",
        model: "gemini/gemini-3.8-flash",
        path: "/v1beta/openai",
        settings: json!({"wire": "chat"}),
        window: None,
        check: |received, given| {
            let body = received.json();
            chat_pairs(&body)?;
            let first = |message: &Value| message["tool_calls"][0].clone();
            for call in list(&body["messages"]).iter().map(first) {
                let signature = &call["extra_content"]["google"]["thought_signature"];
                if !call.is_null() && !signature.is_string() {
                    return Err("Function call is missing a thought_signature".to_owned());
                }
            }
            replayed(&body, given, "thought_signature")
        },
    });
    ran.repeats_its_prompts(CHAT);
    // 9 tokens of the call, 94 of thinking.
    let usage = ran.answers[0].usage;
    assert_eq!((usage.input, usage.output), (1000, 103));
}

#[test]
fn claude_through_openrouter_takes_three_rounds() {
    let ran = run(&Case::new(
        "openrouter-claude",
        "openrouter/anthropic/claude-opus-5.5",
        "/api/v1",
        |received, given| {
            let body = received.json();
            chat_pairs(&body)?;
            let marks = body.to_string().matches("\"cache_control\"").count();
            if marks > 4 {
                return Err(format!("{marks} cache marks"));
            }
            let messages = list(&body["messages"]);
            let answers = messages
                .iter()
                .filter(|message| message["role"] == "assistant");
            for answer in answers {
                let text = &answer["reasoning_details"][0];
                if text["text"].is_null() || text["signature"].is_null() {
                    return Err("thinking block without its signature".to_owned());
                }
            }
            replayed(&body, given, "signature")?;
            replayed(&body, given, "data")
        },
    ));
    let third = &ran.requests[2];
    let share = marked(&[&third["tools"], &third["messages"]]);
    assert!(share >= 80, "{share} % are marked");
    let details = &ran.requests[1]["messages"][2]["reasoning_details"];
    assert_eq!(details[0]["text"], "I look with “ls”.");
    assert_eq!(list(details).len(), 1);
}

#[test]
fn vllm_takes_three_rounds() {
    let ran = run(&Case {
        answers: "vllm",
        model: "vllm/Qwen/Qwen3-Coder",
        path: "/v1",
        settings: json!({}),
        window: Some(32_768),
        check: |received, _| {
            let body = received.json();
            chat_pairs(&body)?;
            // prompt + max_tokens must not exceed the window, by the server's own count.
            match body["max_tokens"].is_null() && body["cache_control"].is_null() {
                true => Ok(()),
                false => Err("'max_tokens' is too large".to_owned()),
            }
        },
    });
    assert_eq!(ran.requests.len(), 4);
    ran.repeats_its_prompts(CHAT);
}

/// The service routes the requests of one session to the same cache, and may refuse others.
#[test]
fn opencode_gets_the_session_in_a_header() {
    run(&Case::new(
        "vllm",
        "opencode-go/glm-5.3",
        "/zen/go/v1",
        |received, _| match received.header("x-opencode-session") {
            Some("a-session") => Ok(()),
            other => Err(format!("MissingSessionID: {other:?}")),
        },
    ));
}

#[test]
fn unlisted_anthropic_model_takes_three_rounds() {
    let ran = run(&Case {
        answers: "anthropic-unlisted",
        model: "anthropic/claude-next",
        path: "",
        settings: json!({"compat": {"cacheTtl": "1h"}}),
        window: Some(200_000),
        check: |received, given| {
            let body = received.json();
            if received.header("x-api-key") != Some(KEY) {
                return Err("x-api-key header is required".to_owned());
            }
            // The smallest cap of a model that is still served.
            match body["max_tokens"].as_u64() {
                Some(1..=8192) => {}
                most => return Err(format!("max_tokens: {most:?}")),
            }
            replayed(&body, given, "signature")
        },
    });
    let third = &ran.requests[2];
    let share = marked(&[&third["tools"], &third["system"], &third["messages"]]);
    assert!(share >= 80, "{share} % are marked");
    let mut marks = Vec::new();
    members(third, "cache_control", &mut marks);
    assert!(
        marks
            .iter()
            .all(|mark| **mark == json!({"type": "ephemeral", "ttl": "1h"}))
    );
}

#[test]
fn gemini_takes_three_rounds() {
    let ran = run(&Case::new(
        "gemini",
        "gemini/gemini-3.8-flash",
        "/v1beta",
        |received, given| {
            let body = received.json();
            let place = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
            if received.path != place || received.header("x-goog-api-key") != Some(KEY) {
                return Err(format!("no such method: {}", received.path));
            }
            let mut open: Vec<String> = Vec::new();
            for entry in list(&body["contents"]) {
                let parts = list(&entry["parts"]);
                let ids = |kind: &str| {
                    let ids = parts.iter().map(|part| part[kind]["id"].to_string());
                    ids.filter(|id| id != "null").collect::<Vec<_>>()
                };
                let calls = ids("functionCall");
                if ids("functionResponse") != open {
                    return Err("function responses must match the function calls".to_owned());
                }
                let mut signed = parts.iter().filter(|part| part["functionCall"].is_object());
                if signed
                    .next()
                    .is_some_and(|part| part["thoughtSignature"].is_null())
                {
                    return Err("Function call is missing a thought_signature".to_owned());
                }
                open = calls;
            }
            replayed(&body, given, "thoughtSignature")
        },
    ));
    ran.repeats_its_prompts(["tools", "systemInstruction", "contents"]);
    let usage = ran.answers[1].usage;
    assert_eq!(
        (usage.input, usage.cache_read, usage.output),
        (500, 900, 103)
    );
    assert_eq!(ran.answers[1].tool_calls().count(), 2);
    let third = &ran.requests[2];
    assert_eq!(third["contents"][1]["parts"][0]["text"], "I will look.");
}

/// The older form names the deployment and a version in the address; the newer one has neither.
#[test]
fn azure_takes_three_rounds_on_both_addresses() {
    fn check(place: &str, received: &Received) -> Result<(), Refused> {
        if received.path != place {
            return Err(format!("Resource not found: {}", received.path));
        }
        if received.header("api-key") != Some(KEY) {
            return Err("Access denied due to invalid subscription key".to_owned());
        }
        chat_pairs(&received.json())
    }
    let case = Case {
        answers: "azure",
        model: "azure/my-deployment",
        path: "/openai/deployments/my-deployment?api-version=2024-10-21",
        settings: json!({}),
        window: Some(272_000),
        check: |received, _| {
            let place = "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21";
            check(place, received)
        },
    };
    let ran = run(&case);
    assert!(ran.requests.iter().all(|body| body["max_tokens"].is_null()));
    ran.repeats_its_prompts(CHAT);
    run(&Case {
        path: "/openai/v1",
        settings: json!({"keyHeader": "api-key"}),
        check: |received, _| check("/openai/v1/chat/completions", received),
        ..case
    });
}

#[test]
fn messages_can_send_the_key_as_a_bearer() {
    run(&Case {
        answers: "anthropic-unlisted",
        model: "gateway/claude-next",
        path: "/anthropic",
        settings: json!({"wire": "messages", "keyHeader": "authorization"}),
        window: Some(200_000),
        check: |received, _| {
            let bearer = format!("Bearer {KEY}");
            let sent = received.header("authorization") == Some(&bearer);
            match sent && received.header("x-api-key").is_none() {
                true => Ok(()),
                false => Err("no bearer".to_owned()),
            }
        },
    });
}
