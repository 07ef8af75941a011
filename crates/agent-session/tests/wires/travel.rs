//! A session that goes from provider to provider: what can be kept is kept, signatures go to their maker only.

use llm_providers::{ApiProtocol, ProviderErrorKind};
use proptest::test_runner::{Config as ProptestConfig, TestCaseError, TestRunner};
use serde_json::{Value, json};
use session_model::decode_bytes;
use test_support::Received;

use crate::forms::{Asked, FORMS, Form};
use crate::sessions::{REASONING, answer, call, next_turn, result, session, system, text, user};
use crate::{rules, show};

/// The makers of the answers: provider, model, wire.
const OPENAI: (&str, &str, &str) = ("openai", "gpt-5.5", "openai-responses");
const ANTHROPIC: (&str, &str, &str) = ("anthropic", "claude-opus-5-5", "anthropic-messages");
const MISTRAL: (&str, &str, &str) = ("mistral", "mistral-medium-3.5", "openai-completions");
const DEEPSEEK: (&str, &str, &str) = ("deepseek", "deepseek-flash", "openai-completions");

/// Returns a session in which each maker thought, said something and called tools.
fn travelled() -> Vec<Value> {
    let thought = |text: &str, signature: Option<&str>| json!({"type": "thinking", "thinking": text, "thinkingSignature": signature});
    let words = |text: &str| json!({"type": "text", "text": text});
    let by_openai = json!([
        thought("thought of openai", Some(REASONING)),
        {"type": "text", "text": "I look.", "textSignature": "msg_1"},
        call("call_1|fc_1", "bash", &json!({"command": "ls", "n": 1.50})),
        call("call_2|fc_2", "read", &json!({"path": "é.rs"})),
    ]);
    let by_anthropic = json!([
        thought("thought of anthropic", Some("ANTHROPIC-SIGNATURE")),
        words("Next."),
        call(
            "toolu_01",
            "edit",
            &json!({"path": "é.rs", "edits": [{"old": "a", "new": "b"}]})
        ),
    ]);
    let by_mistral = json!([words("Then."), call("D681PevKs", "bash", &json!({}))]);
    let by_deepseek = json!([
        thought("thought of deepseek", Some("reasoning_content")),
        words("At last."),
        call("call_00_zzzzzzzzzz", "bash", &json!({"command": "true"})),
    ]);
    vec![
        system(),
        user("begin"),
        answer(OPENAI, &by_openai),
        result("call_2|fc_2", &text("fn main() {}"), false),
        result("call_1|fc_1", &text("é.rs"), false),
        user("go on"),
        answer(ANTHROPIC, &by_anthropic),
        result("toolu_01", &text("edited"), false),
        answer(MISTRAL, &by_mistral),
        result("D681PevKs", &text("nothing"), true),
        answer(DEEPSEEK, &by_deepseek),
        result("call_00_zzzzzzzzzz", &text("true"), false),
        user("and back"),
    ]
}

/// What the session says, whoever is asked, in the order in which it says it.
const SAID: &str = r#"user begin
assistant I look.
#0 calls bash {"command":"ls","n":1.5}
#1 calls read {"path":"é.rs"}
#0 gave é.rs
#1 gave fn main() {}
user go on
assistant Next.
#2 calls edit {"edits":[{"new":"b","old":"a"}],"path":"é.rs"}
#2 gave edited
assistant Then.
#3 calls bash {}
#3 gave nothing
assistant At last.
#4 calls bash {"command":"true"}
#4 gave true
user and back"#;

/// What a body says, without its wire's spelling and without thinking.
#[derive(Default)]
struct Said {
    calls: Vec<String>,
    lines: Vec<String>,
}

impl Said {
    fn words(&mut self, role: &Value, text: &Value) {
        let text = text.as_str().unwrap_or_default();
        // Chat joins what was thought elsewhere and what was said, and has a bridge where roles must alternate.
        let pieces = text.split("\n\n").filter(|piece| {
            !piece.starts_with("thought of ") && !piece.starts_with("(The results")
        });
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let role = role.as_str().unwrap_or_default();
            self.lines.push(format!("{role} {piece}"));
        }
    }

    fn call(&mut self, id: &Value, name: &Value, arguments: &Value) {
        let number = self.calls.len();
        self.calls.push(id.to_string());
        // Through a sorted map, so that only the meaning counts.
        let arguments = match arguments.as_str() {
            Some(text) => serde_json::from_str(text).expect("arguments are JSON"),
            None => arguments.clone(),
        };
        let sorted: std::collections::BTreeMap<String, Value> =
            serde_json::from_value(arguments).expect("an object");
        let sorted = json!(sorted).to_string();
        let name = name.as_str().unwrap_or_default();
        self.lines.push(format!("#{number} calls {name} {sorted}"));
    }

    fn result(&mut self, id: &Value, text: &Value) {
        let id = id.to_string();
        let number = self.calls.iter().rposition(|call| *call == id);
        let number = number.expect("a call of this id");
        self.lines.push(format!(
            "#{number} gave {}",
            text.as_str().unwrap_or_default()
        ));
    }

    fn of(wire: ApiProtocol, body: &Value) -> String {
        let mut said = Self::default();
        let key = match wire {
            ApiProtocol::Responses => "input",
            ApiProtocol::Gemini => "contents",
            ApiProtocol::Chat | ApiProtocol::Messages => "messages",
        };
        for item in body[key].as_array().into_iter().flatten() {
            match wire {
                ApiProtocol::Responses => said.item(item),
                ApiProtocol::Chat => said.message(item),
                ApiProtocol::Messages => said.turn(item),
                ApiProtocol::Gemini => said.entry(item),
            }
        }
        said.lines.join("\n")
    }

    fn item(&mut self, item: &Value) {
        match item["type"].as_str().unwrap_or_default() {
            "function_call" => self.call(&item["call_id"], &item["name"], &item["arguments"]),
            "function_call_output" => self.result(&item["call_id"], &item["output"]),
            _ => {
                for part in item["content"].as_array().into_iter().flatten() {
                    self.words(&item["role"], &part["text"]);
                }
            }
        }
    }

    fn message(&mut self, message: &Value) {
        match message["role"].as_str().unwrap_or_default() {
            "system" | "developer" => {}
            "tool" => self.result(&message["tool_call_id"], text_of(&message["content"])),
            _ => self.words(&message["role"], text_of(&message["content"])),
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            self.call(&call["id"], &function["name"], &function["arguments"]);
        }
    }

    fn entry(&mut self, entry: &Value) {
        let role = match entry["role"] == "model" {
            true => json!("assistant"),
            false => entry["role"].clone(),
        };
        for part in entry["parts"].as_array().into_iter().flatten() {
            let (call, result) = (&part["functionCall"], &part["functionResponse"]);
            if call.is_object() {
                self.call(&call["id"], &call["name"], &call["args"]);
            } else if result.is_object() {
                let response = result["response"].as_object();
                let text = response.and_then(|response| response.values().next());
                self.result(&result["id"], text.expect("a response"));
            } else {
                self.words(&role, &part["text"]);
            }
        }
    }

    fn turn(&mut self, turn: &Value) {
        for block in turn["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "tool_use" => self.call(&block["id"], &block["name"], &block["input"]),
                "tool_result" => self.result(&block["tool_use_id"], &block["content"][0]["text"]),
                _ => self.words(&turn["role"], &block["text"]),
            }
        }
    }
}

/// Returns the text of a content, which is one part where it is marked for the cache.
fn text_of(content: &Value) -> &Value {
    match content {
        Value::Array(parts) => &parts[0]["text"],
        text => text,
    }
}

fn sent(form: &Form, entries: &[Value]) -> Received {
    let asked = Asked::new(form);
    let request = next_turn(&session(entries), &asked.resolved, true);
    asked.turn(&request)
}

#[test]
fn words_calls_and_results_go_to_every_provider() {
    for form in FORMS {
        let received = sent(form, &travelled());
        if let Err(wrong) = rules::check(form, &received) {
            panic!("{}: {wrong}\n{}", form.name, show::request(&received));
        }
        let wire = form.resolved("http://127.0.0.1:1").provider.wire;
        assert_eq!(Said::of(wire, &received.json()), SAID, "{}", form.name);
    }
}

#[test]
fn signatures_go_to_their_maker_only() {
    for form in FORMS {
        let received = sent(form, &travelled());
        let body = String::from_utf8_lossy(&received.body).into_owned();
        let resolved = form.resolved("http://127.0.0.1:1");
        let asked = (
            &*resolved.provider.name,
            &*resolved.model.id,
            resolved.provider.wire.api(),
        );
        for (marks, maker) in [
            (
                &[
                    "OWN-SIGNATURE",
                    "rs_1",
                    "\"id\":\"fc_1\"",
                    "\"id\":\"msg_1\"",
                ][..],
                OPENAI,
            ),
            (&["ANTHROPIC-SIGNATURE"][..], ANTHROPIC),
        ] {
            for mark in marks {
                let own = asked == maker;
                assert_eq!(body.contains(mark), own, "{mark} to {}", form.name);
            }
        }
        // Readable thinking of others is told as words, own thinking only as what it is.
        let thought = |name: &str| body.contains(&format!("thought of {name}"));
        assert!(thought("anthropic"), "{}", form.name);
        let field = "\"reasoning_content\":\"thought of deepseek\"";
        assert_eq!(body.contains(field), asked == DEEPSEEK, "{}", form.name);
    }
}

#[test]
fn an_answer_gives_the_same_bytes_again_after_a_round_trip() {
    // What its maker gets back does not depend on who went on in between.
    let openai = &FORMS[0];
    let all = travelled();
    let (before, after) = (sent(openai, &all[..6]), sent(openai, &all));
    let (before, after) = (before.json(), after.json());
    let before = before["input"].as_array().expect("items");
    let after = after["input"].as_array().expect("items");
    assert_eq!(before[..], after[..before.len()]);
}

#[test]
fn any_session_gives_requests_that_keep_to_the_rules() {
    let asked: Vec<(&Form, Asked)> = FORMS.iter().map(|form| (form, Asked::new(form))).collect();
    let config = ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let holds = |text: String| {
        let decoded = decode_bytes(text.into_bytes());
        for (form, asked) in &asked {
            let request = next_turn(&decoded, &asked.resolved, true);
            let received = asked.turn(&request);
            if let Err(wrong) = rules::check(form, &received) {
                let name = form.name;
                let text = format!("{name}: {wrong}\n{}", show::request(&received));
                return Err(TestCaseError::fail(text));
            }
        }
        Ok(())
    };
    let tried = TestRunner::new(config).run(&test_support::any_session_text(), holds);
    if let Err(error) = tried {
        panic!("{error}");
    }
}

/// A compaction by the Responses wire, and then the same model asked over Chat: its items cannot go, and what they
/// stand for must not be lost without a word.
#[test]
fn a_native_history_that_cannot_be_replayed_is_refused() {
    let named = |name: &str| FORMS.iter().find(|form| form.name == name).expect("a form");
    let maker = Asked::new(named("openai"));
    let mut entries = crate::sessions::rich(&maker.resolved);
    entries.push(crate::sessions::native_compaction(&maker.resolved));
    entries.push(user("go on"));
    let decoded = session(&entries);
    let asked = Asked::new(named("openai-chat"));
    let refused = asked.tried(&next_turn(&decoded, &maker.resolved, true));
    let kind = refused.map_err(|error| error.kind).map(drop);
    assert_eq!(kind, Err(ProviderErrorKind::InvalidRequest));
    assert_eq!(asked.count(), 0, "nothing was sent");
    // What is asked for this wire has the readable summary in it.
    let readable = asked.turn(&next_turn(&decoded, &asked.resolved, true));
    let body = String::from_utf8_lossy(&readable.body).into_owned();
    assert!(
        body.contains("See the screen.") && !body.contains("ENC"),
        "{body}"
    );
}
