//! Conversations and bodies for the tests of the protocols.

use proptest::prelude::*;
use serde_json::value::RawValue;
use session_model::json::{Members, RawJson};
use session_model::{
    AssistantMessage, Block, Content, ImageBlock, LlmMessage, RoleOrder, StopReason, SystemMessage,
    ThinkingBlock, ToolCall, ToolResultMessage, pair_calls,
};

use crate::answer::{Answer, Event};
use crate::capabilities::Capabilities;
use crate::request::{Request, Tool};
use crate::wire::{ApiProtocol, Decode, ProviderCompat, Target, WireError};

/// What a model of the tests can do.
pub(crate) const ABLE: Capabilities = Capabilities {
    window: Some(200_000),
    max_output: Some(32_000),
    tools: true,
    images: true,
    reasoning: true,
    adaptive_thinking: false,
    levels: None,
    native_standalone: false,
    native_in_band: false,
};

/// Returns a target called `p/m`.
pub(crate) fn target(wire: ApiProtocol, compat: &ProviderCompat) -> Target<'_> {
    Target {
        provider: "p",
        model: "m",
        wire,
        compat,
        capabilities: &ABLE,
        known: true,
    }
}

/// Returns a message of the user.
pub(crate) fn user(text: &str) -> LlmMessage {
    LlmMessage::User(Content::Text(text.to_owned()))
}

/// Returns a message of the harness.
pub(crate) fn developer(text: &str) -> LlmMessage {
    LlmMessage::Developer(Content::Text(text.to_owned()))
}

/// Returns a system message in the conversation.
pub(crate) fn system(text: &str) -> LlmMessage {
    LlmMessage::System(SystemMessage {
        content: Content::Text(text.to_owned()),
        sections: vec![
            ("skills".to_owned(), Some("one skill".to_owned())),
            ("gone".to_owned(), None),
        ],
        tools_added: Vec::new(),
        tools_removed: Vec::new(),
        timestamp: None,
    })
}

/// Returns an answer of `p/m` in the protocol `wire`, or of another provider.
pub(crate) fn answer(wire: Option<ApiProtocol>, blocks: Vec<Block>) -> LlmMessage {
    let (api, provider) = wire.map_or(("other-api", "other"), |wire| (wire.api(), "p"));
    LlmMessage::Assistant(AssistantMessage {
        content: Content::Blocks(blocks),
        api: api.to_owned(),
        provider: provider.to_owned(),
        model: "m".to_owned(),
        usage: None,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: None,
    })
}

/// Returns thinking with a signature.
pub(crate) fn thinking(text: &str, signature: Option<&str>, redacted: bool) -> Block {
    Block::Thinking(ThinkingBlock {
        thinking: text.to_owned(),
        signature: signature.map(str::to_owned),
        redacted,
    })
}

/// Returns a call of the tool `bash`.
pub(crate) fn call(id: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "bash".to_owned(),
        arguments: RawJson::parse(arguments).ok(),
        signature: None,
    })
}

/// Returns an image of three bytes.
pub(crate) fn image() -> Block {
    Block::Image(ImageBlock {
        data: "AAAA".into(),
        mime_type: "image/png".to_owned(),
    })
}

/// Returns the result of a call.
pub(crate) fn result(id: &str, blocks: Vec<Block>, is_error: bool) -> LlmMessage {
    LlmMessage::ToolResult(ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: "bash".to_owned(),
        content: Content::Blocks(blocks),
        is_error,
        timestamp: None,
        nested_calls: None,
    })
}

/// Returns the tool `bash`.
pub(crate) fn tool() -> Tool {
    let schema = r#"{"type":"object","properties":{"command":{"type":"string"}}}"#;
    Tool {
        name: "bash".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters: RawJson::parse(schema).expect("a schema"),
    }
}

/// Returns a request with a system prompt.
pub(crate) fn request(messages: Vec<LlmMessage>) -> Request {
    Request {
        system: "Be brief.".to_owned(),
        messages,
        ..Request::default()
    }
}

/// Returns two calls of one answer with their results, images among them, and what follows.
pub(crate) fn tool_conversation(wire: ApiProtocol) -> Request {
    let mut request = request(vec![
        user("look at both"),
        answer(
            Some(wire),
            vec![
                Block::text("I look."),
                call("call_1|fc_1", r#"{"command": "ls"}"#),
                call("call_2|fc_2", r#""{\"comma""#),
            ],
        ),
        result("call_1|fc_1", vec![Block::text("a\n"), image()], false),
        result("call_2|fc_2", vec![], true),
        LlmMessage::User(Content::Blocks(vec![
            Block::text("and this"),
            image(),
            Block::text(" "),
        ])),
        answer(Some(wire), vec![call("call_1|fc_1", "{}")]),
        result("call_1|fc_1", vec![Block::text("again")], false),
        answer(Some(wire), vec![Block::text("Done.")]),
        user("thanks"),
    ]);
    request.tools = vec![tool()];
    request
}

/// Returns thinking of the target's model and of another one, signed, unsigned and redacted.
pub(crate) fn thinking_conversation(wire: ApiProtocol) -> Request {
    request(vec![
        user("one"),
        answer(
            Some(wire),
            vec![
                thinking("own thought", Some("sig1"), false),
                thinking("[redacted]", Some("opaque1"), true),
                thinking("unsigned", None, false),
                Block::text("own text"),
                call("c1", r#"{"a":1}"#),
            ],
        ),
        result("c1", vec![Block::text("r1")], false),
        user("two"),
        answer(
            None,
            vec![
                thinking("foreign thought", Some("sig2"), false),
                thinking("[redacted]", Some("opaque2"), true),
                thinking("", Some("sig3"), false),
                Block::text("foreign text"),
            ],
        ),
        user("three"),
        answer(None, vec![thinking("[redacted]", Some("opaque3"), true)]),
        user("four"),
    ])
}

/// Returns instructions before, between and after the words of the parties, and parties that speak twice.
pub(crate) fn instructed_conversation() -> Request {
    request(vec![
        system("Rules."),
        answer(None, vec![Block::text("earlier answer")]),
        answer(None, vec![Block::text("and more")]),
        user("one"),
        developer("Take care."),
        user("two"),
        answer(None, vec![call("c1", "{}")]),
        result("c1", vec![Block::text("r1")], false),
        developer("Hurry."),
        answer(None, vec![]),
        user("three"),
    ])
}

/// Returns a body as lines: everything but the messages, then each message.
pub(crate) fn lines(body: &RawJson) -> String {
    let members = Members::parse(body.get()).expect("an object");
    let name = match members.get("contents") {
        Some(_) => "contents",
        None => "messages",
    };
    let rest = members.0.iter().filter(|(key, _)| *key != name);
    let rest = rest.map(|(key, value)| format!("{key}: {value}"));
    let mut lines: Vec<String> = rest.collect();
    let messages = members.get(name).expect("messages");
    let messages: Vec<&RawValue> = serde_json::from_str(messages).expect("a list");
    let messages = messages.iter().enumerate();
    lines.extend(messages.map(|(at, message)| format!("{name}[{at}] {message}")));
    lines.join("\n")
}

/// Returns any conversation whose calls and results are paired; ids and texts are often equal, empty or odd.
pub(crate) fn any_conversation() -> impl Strategy<Value = Vec<LlmMessage>> {
    let text = || prop_oneof![Just(""), Just(" \n"), Just("words"), Just("é\u{1F600}")];
    let id = || {
        prop_oneof![
            Just("a"),
            Just("a|b"),
            Just("a|c"),
            Just("call 1"),
            Just("")
        ]
    };
    let arguments = prop_oneof![
        Just("{}"),
        Just(r#""cut"#),
        Just(r#"{"a":"\ud83d"}"#),
        Just("[]")
    ];
    let origin = || {
        prop_oneof![
            Just(None),
            Just(Some(ApiProtocol::Chat)),
            Just(Some(ApiProtocol::Gemini)),
            Just(Some(ApiProtocol::Messages))
        ]
    };
    let block = prop_oneof![
        text().prop_map(Block::text),
        (text(), any::<bool>(), any::<bool>()).prop_map(|(text, signed, redacted)| {
            thinking(text, signed.then_some("sig"), redacted)
        }),
        (id(), arguments).prop_map(|(id, arguments)| call(id, arguments)),
        Just(Block::Other {
            kind: "later".to_owned()
        }),
    ];
    let said = || prop_oneof![text().prop_map(Block::text), Just(image())];
    let said = move || proptest::collection::vec(said(), 0..3);
    let message = prop_oneof![
        said().prop_map(|blocks| LlmMessage::User(Content::Blocks(blocks))),
        text().prop_map(developer),
        Just(system("rules")),
        (origin(), proptest::collection::vec(block, 0..4))
            .prop_map(|(origin, blocks)| answer(origin, blocks)),
        (id(), said(), any::<bool>()).prop_map(|(id, blocks, error)| result(id, blocks, error)),
    ];
    let messages = proptest::collection::vec(message, 0..14);
    messages.prop_map(|messages| pair_calls(messages, RoleOrder::Any).0)
}

/// Returns the pieces that a decoder makes of `events`, and the end: the answer or the error.
pub(crate) fn decoded(
    mut decoder: impl Decode,
    events: &[String],
) -> (Vec<Event>, Result<Answer, WireError>) {
    let mut pieces = Vec::new();
    for data in events {
        match decoder.data(data) {
            Ok(events) => pieces.extend(events),
            Err(error) => return (pieces, Err(error)),
        }
    }
    match decoder.end() {
        Ok(last) => pieces.extend(last),
        Err(error) => return (pieces, Err(error)),
    }
    assert_eq!(decoder.end(), Ok(None), "an answer is done once");
    match pieces.pop() {
        Some(Event::Done(answer)) => (pieces, Ok(answer)),
        other => panic!("the last event is {other:?}"),
    }
}

/// Returns an answer or an error as lines.
pub(crate) fn outcome(outcome: &Result<Answer, WireError>) -> String {
    let answer = match outcome {
        Ok(answer) => answer,
        Err(error) => return format!("{error:?}"),
    };
    let blocks = answer.content.iter().map(|block| match block {
        Block::Text(block) => format!("text {:?}", block.text),
        Block::Thinking(block) => format!(
            "thinking {:?} {:?}{}",
            block.thinking,
            block.signature.as_deref().unwrap_or_default(),
            if block.redacted { " redacted" } else { "" }
        ),
        Block::ToolCall(call) => format!("call {} {} {:?}", call.id, call.name, call.arguments),
        Block::Image(_) | Block::Other { .. } => "other".to_owned(),
    });
    let mut lines: Vec<String> = blocks.collect();
    lines.extend(
        answer
            .native
            .iter()
            .map(|item| format!("native {}", item.to_value())),
    );
    let usage = &answer.usage;
    lines.push(format!(
        "{:?} in {} out {} read {} write {} all {} id {:?} model {:?}",
        answer.stop_reason,
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.total_tokens,
        answer.id.as_deref().unwrap_or_default(),
        answer.model.as_deref().unwrap_or_default()
    ));
    lines.join("\n")
}

/// Returns the content of the pieces together: text, thinking, and each call's name and arguments.
pub(crate) fn gathered(pieces: &[Event]) -> (String, String, Vec<(String, String)>) {
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Event::Text(more) => text.push_str(more),
            Event::Thinking(more) => thinking.push_str(more),
            Event::ToolCall {
                index,
                name,
                arguments,
            } => {
                if calls.len() <= *index {
                    calls.resize(index + 1, (String::new(), String::new()));
                }
                calls[*index].0.clone_from(name);
                calls[*index].1.push_str(arguments);
            }
            Event::Done(_) => panic!("only the last event ends an answer"),
        }
    }
    (text, thinking, calls)
}

/// Returns `text` cut at the given places, as fractions of its length in characters.
pub(crate) fn split(text: &str, cuts: &[u8]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut places: Vec<usize> = cuts
        .iter()
        .map(|cut| usize::from(*cut) * characters.len() / 255)
        .collect();
    places.extend([0, characters.len()]);
    places.sort_unstable();
    let pieces = places.windows(2);
    pieces
        .map(|pair| characters[pair[0]..pair[1]].iter().collect())
        .collect()
}
