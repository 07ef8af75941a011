//! The forms of providers, a server that answers on all wires, and one request sent to it.

use std::sync::{Arc, LazyLock};

use compaction_core::Summarizer;
use llm_catalog::{Catalog, Resolved, Selection};
use llm_providers::{
    Answer, ApiProtocol, CancellationToken, HttpClient, HttpProvider, HttpSettings, NativeForm,
    NativeRequest, Progress, Provider, ProviderError, Reasoning, Request, RetryPolicy, Secret,
    compact_native,
};
use serde_json::json;
use summarize::{Candidate, SummaryMethod};
use test_support::{FaultServer, Received, Reply, streams};

use crate::KEY;

/// A way in which requests are spelt: a model of the catalog, and a wire where it is not the provider's own.
#[derive(Debug)]
pub struct Form {
    /// The name of its snapshot.
    pub name: &'static str,
    /// The model.
    pub model: &'static str,
    /// The wire in place of the provider's own.
    pub wire: Option<ApiProtocol>,
}

const fn form(name: &'static str, model: &'static str) -> Form {
    Form {
        name,
        model,
        wire: None,
    }
}

const fn by(wire: ApiProtocol, name: &'static str, model: &'static str) -> Form {
    Form {
        name,
        model,
        wire: Some(wire),
    }
}

/// Providers of the catalog that differ from each other, and what users make of them.
pub const FORMS: &[Form] = &[
    form("openai", "openai/gpt-5.5"),
    by(ApiProtocol::Chat, "openai-chat", "openai/gpt-5.5"),
    form("xai", "xai/grok-4.7"),
    by(ApiProtocol::Responses, "custom-responses", "lab/local"),
    form("anthropic", "anthropic/claude-opus-5-5"),
    form("anthropic-older", "anthropic/claude-haiku-4-5"),
    form("minimax", "minimax/MiniMax-M3"),
    by(ApiProtocol::Messages, "custom-messages", "lab/local"),
    form("openrouter", "openrouter/anthropic/claude-opus-5.5"),
    form("deepseek", "deepseek/deepseek-flash"),
    form("moonshotai", "moonshotai/kimi-k2.6"),
    form("xiaomi", "xiaomi/mimo-v2.6-pro"),
    form("qwen", "qwen-token-plan/glm-5.1"),
    form("together", "together/zai-org/GLM-5.3"),
    form("opencode", "opencode/big-pickle"),
    form("zai", "zai/glm-5.2"),
    form("vllm", "vllm/local"),
    form("groq", "groq/openai/gpt-oss-120b"),
    form("mistral", "mistral/mistral-medium-3.5"),
    form("gemini", "gemini/gemini-3.8-flash"),
    by(ApiProtocol::Chat, "gemini-chat", "gemini/gemini-3.8-flash"),
    form("ollama", "ollama/qwen3:8b"),
    form("llama.cpp", "llama.cpp/local"),
    form("strict-roles", "strict/small"),
];

/// The catalog, and a server of the user's whose template takes nothing but alternating roles.
static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let own = json!({
        "providers": {"strict": {
            "baseUrl": "http://127.0.0.1:1/v1",
            "wire": "chat",
            "compat": {"alternatingRoles": true},
        }},
        "models": {"strict/small": {"window": 16_000, "maxOutput": 2000}},
    });
    let own = serde_json::from_value(own).expect("settings");
    Catalog::embedded().apply(&own).expect("good settings")
});

impl Form {
    /// Returns the provider and the model, with requests going to `base`.
    pub fn resolved(&self, base: &str) -> Resolved {
        let selection = Selection {
            model: self.model.to_owned(),
            base_url: Some(base.to_owned()),
            wire: self.wire,
            ..Selection::default()
        };
        let resolved = CATALOG.resolve(&selection);
        resolved.expect("the catalog has the model")
    }

    /// Returns true for the form of this wire.
    pub fn has_path(&self, wire: &str) -> bool {
        let own = match self.resolved("http://127.0.0.1:1").provider.wire {
            ApiProtocol::Responses => "responses",
            ApiProtocol::Messages => "messages",
            ApiProtocol::Chat => "chat",
            ApiProtocol::Gemini => "gemini",
        };
        own == wire
    }

    /// Returns the forms of native compaction that the wire has.
    pub fn natives(&self) -> &'static [NativeForm] {
        match self.resolved("http://127.0.0.1:1").provider.wire {
            ApiProtocol::Responses => &[NativeForm::Standalone, NativeForm::InBand],
            ApiProtocol::Messages => &[NativeForm::InBand],
            ApiProtocol::Chat | ApiProtocol::Gemini => &[],
        }
    }
}

/// A provider in a form, and the server that it asks.
pub struct Asked {
    server: FaultServer,
    /// What the catalog says.
    pub resolved: Resolved,
    provider: Arc<HttpProvider>,
}

impl Asked {
    /// Returns true for a level of thinking that cannot be sent.
    pub fn refuses(&self, reasoning: Reasoning) -> bool {
        self.provider.refuses_reasoning(reasoning).is_some()
    }

    /// Returns a provider of this form whose requests are recorded.
    pub fn new(form: &Form) -> Self {
        let server = FaultServer::start(|_, received| reply(received));
        let resolved = form.resolved(&server.url());
        let client = HttpClient::new(HttpSettings::default()).expect("HTTP works");
        let (provider, model) = (resolved.provider.clone(), resolved.model.clone());
        let provider = HttpProvider::new(client, provider, model, Secret::new(KEY));
        Self {
            server,
            resolved,
            provider: Arc::new(provider),
        }
    }

    /// Returns the provider as a candidate for summaries.
    pub fn candidate(&self) -> Candidate {
        Candidate {
            provider: Arc::clone(&self.provider) as Arc<dyn Provider>,
            way: SummaryMethod::Summary,
            prices: None,
            summarizer: Summarizer::Extractive,
        }
    }

    /// Returns what was recorded after the first `known` requests.
    pub fn since(&self, known: usize) -> Vec<Received> {
        self.server.received().split_off(known)
    }

    /// Returns how many requests were recorded.
    pub fn count(&self) -> usize {
        self.server.received().len()
    }

    /// Sends a turn and returns it as it was recorded.
    pub fn turn(&self, request: &Request) -> Received {
        self.recorded(|| drop(self.tried(request).expect("a good answer")))
    }

    /// Sends a turn.
    pub fn tried(&self, request: &Request) -> Result<Answer, ProviderError> {
        let cancel = CancellationToken::new();
        let policy = RetryPolicy::default();
        let mut progress = |_: Progress<'_>| {};
        let provider = &*self.provider;
        let asking = llm_providers::complete(provider, request, &policy, &cancel, &mut progress);
        super::block_on(asking).expect("a runtime")
    }

    /// Sends a native compaction and returns it as it was recorded.
    pub fn native(&self, request: Request, form: NativeForm) -> Received {
        let request = NativeRequest { request, form };
        let cancel = CancellationToken::new();
        let policy = RetryPolicy::default();
        let mut progress = |_: Progress<'_>| {};
        let provider = &*self.provider;
        self.recorded(|| {
            let asking = compact_native(provider, &request, &policy, &cancel, &mut progress);
            let answer = super::block_on(asking).expect("a runtime");
            drop(answer.expect("a compacted history"));
        })
    }

    fn recorded(&self, send: impl FnOnce()) -> Received {
        let known = self.count();
        send();
        let mut new = self.since(known);
        assert_eq!(new.len(), 1, "one request, sent once");
        new.remove(0)
    }
}

/// Returns a good answer to any request.
fn reply(received: &Received) -> Reply {
    let body = received.json();
    let path = received.path.as_str();
    if path.ends_with("/responses/compact") {
        let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "ENC"});
        return Reply::json(200, &json!({"id": "resp_1", "output": [item]}));
    }
    if path.ends_with("/responses") {
        let input = body["input"].as_array();
        let last = input.and_then(|input| input.last());
        return match last.is_some_and(|item| item["type"] == "compaction_trigger") {
            true => responses_compaction(),
            false => streams::responses_stream("## Goal\nA summary."),
        };
    }
    if path.contains(":streamGenerateContent") {
        return streams::gemini_stream("## Goal\nA summary.");
    }
    if path.ends_with("/v1/messages") {
        return match body.get("context_management").is_some() {
            true => messages_compaction(),
            false => streams::messages_stream("## Goal\nA summary."),
        };
    }
    streams::chat_stream("## Goal\nA summary.")
}

fn responses_compaction() -> Reply {
    let item = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "ENC"});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": item});
    let response = json!({"id": "resp_1", "status": "completed", "output": [item], "usage": streams::responses_usage(20, 0, 5)});
    let over = json!({"type": "response.completed", "response": response});
    streams::sse_reply(&[&done.to_string(), &over.to_string()])
}

fn messages_compaction() -> Reply {
    let usage = json!({"input_tokens": 20, "output_tokens": 1});
    let block = json!({"type": "compaction", "content": null});
    let delta =
        json!({"type": "compaction_delta", "content": "So far.", "encrypted_content": "ENC"});
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let events = events.map(|event| event.to_string());
    streams::sse_reply(&events.each_ref().map(String::as_str))
}
