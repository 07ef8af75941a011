//! What a model gets after a compaction of the strategy `restore`: the summary, its acknowledgement, what is brought
//! back and calls that wait.

use session_model::{
    Block, Content, ContextRules, LlmMessage, RoleOrder, SessionContext, build_context,
    check_pairs, decode_bytes, resumed,
};
use test_support::session;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
const SUMMARY: &str = r#"{"type":"compaction","id":"c","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","summary":"SUMMARY","firstKeptEntryId":"c","tokensBefore":9,"details":{"strategy":"restore"}}"#;
const ATTACHMENTS: &str = r#"{"type":"custom_message","id":"r","parentId":"c","timestamp":"2026-01-01T00:00:00.000Z","customType":"restored_context","content":[{"type":"text","text":"FILE"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"display":false}"#;

/// An answer that thinks, with a signature, and calls; its parent is `parent`.
fn call(parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"p","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"assistant","provider":"anthropic","api":"anthropic-messages","model":"m","content":[{{"type":"thinking","thinking":"hm","thinkingSignature":"sig"}},{{"type":"toolCall","id":"t1","name":"shot","arguments":{{}}}}],"stopReason":"toolUse","timestamp":1}}}}"#
    )
}

/// The result of that call.
const RESULT: &str = r#"{"type":"message","id":"q","parentId":"p","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"shot","content":[{"type":"text","text":"RESULT"}],"isError":false,"timestamp":1}}"#;

/// A message of the user.
fn user(parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"u","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"PROMPT","timestamp":1}}}}"#
    )
}

fn context(lines: &[&str], rules: ContextRules) -> SessionContext {
    let text: String = [&[HEADER], lines]
        .concat()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    let decoded = decode_bytes(text.into_bytes());
    assert_eq!(decoded.diagnostics, []);
    build_context(&decoded.tree.path(decoded.tree.leaf()), rules)
}

/// Returns a word for each message: its role, and a letter for each of its blocks.
fn shape(lines: &[&str], order: RoleOrder) -> String {
    let context = context(lines, ContextRules::Own);
    let (messages, _) = context.to_llm(order);
    assert_eq!(check_pairs(&messages, order), []);
    let shapes = messages.iter().map(|message| {
        let content = match message {
            LlmMessage::Assistant(answer) => &answer.content,
            other => other.content(),
        };
        let blocks: String = match content {
            Content::Text(_) => "text".to_owned(),
            Content::Blocks(blocks) => blocks.iter().map(letter).collect(),
        };
        format!("{}:{blocks}", message.role())
    });
    shapes.collect::<Vec<_>>().join(" ")
}

fn letter(block: &Block) -> char {
    match block {
        Block::Text(_) => 't',
        Block::Image(_) => 'i',
        Block::Thinking(_) => 'h',
        Block::ToolCall(_) => 'c',
        Block::Other { .. } => '?',
    }
}

/// Holds the shape under both orders.
fn check(lines: &[&str], expected: &str) {
    for order in [RoleOrder::Any, RoleOrder::Alternating] {
        assert_eq!(shape(lines, order), expected, "{order:?}");
    }
}

#[test]
fn r16_summary_and_acknowledgement() {
    check(&[SUMMARY], "user:t assistant:t");
}

#[test]
fn r16_summary_acknowledgement_and_attachments() {
    check(&[SUMMARY, ATTACHMENTS], "user:t assistant:t user:ti");
}

#[test]
fn r16_attachments_stand_before_a_call_that_waits() {
    check(
        &[SUMMARY, ATTACHMENTS, &call("r"), RESULT],
        "user:t assistant:t user:ti assistant:hc toolResult:t",
    );
}

#[test]
fn r16_without_attachments_the_call_joins_the_acknowledgement_behind_its_thinking() {
    check(
        &[SUMMARY, &call("c"), RESULT],
        "user:t assistant:htc toolResult:t",
    );
    let context = context(&[SUMMARY, &call("c"), RESULT], ContextRules::Own);
    let (messages, _) = context.to_llm(RoleOrder::Any);
    let LlmMessage::Assistant(answer) = &messages[1] else {
        panic!("{messages:?}")
    };
    // A signature goes back only to whom it came from.
    assert_eq!(answer.provider, "anthropic");
    // What the next summarizer reads holds the call alone.
    let planned = context.entries[1].messages[0].display_text();
    assert_eq!(planned, "hm\nshot({})");
}

#[test]
fn r18_what_is_brought_back_and_the_next_prompt_are_merged_where_roles_must_alternate() {
    let lines = [SUMMARY, ATTACHMENTS, &user("r")];
    assert_eq!(
        shape(&lines, RoleOrder::Alternating),
        "user:t assistant:t user:tit"
    );
    assert_eq!(
        shape(&lines, RoleOrder::Any),
        "user:t assistant:t user:ti user:text"
    );
}

#[test]
fn r04_the_sentence_to_go_on_is_in_no_entry() {
    let own = context(&[SUMMARY], ContextRules::Own);
    assert_eq!(own.entries[0].messages.len(), 2);
    let told = own.entries[0].messages[0].display_text();
    assert_eq!(told, resumed("SUMMARY"));
    assert_ne!(told, "SUMMARY");
    let (_, compaction) = own.compaction().expect("a compaction");
    assert_eq!(compaction.summary, "SUMMARY");
    let original = own.entries[0].original_messages();
    assert_eq!(original.len(), 1);
    assert_eq!(original[0].display_text(), "SUMMARY");
}

#[test]
fn other_strategies_and_the_rules_of_pi_have_no_acknowledgement() {
    let other = SUMMARY.replace("restore", "context-full");
    let one = |lines: &[&str], rules| context(lines, rules).entries[0].messages.len();
    assert_eq!(one(&[&other], ContextRules::Own), 1);
    assert_eq!(one(&[SUMMARY], ContextRules::Pi), 1);
    // An answer that stands anywhere else is left alone.
    let decoded = decode_bytes(session("u:2 a:2 a:2").into_bytes());
    let context = build_context(&decoded.tree.path(decoded.tree.leaf()), ContextRules::Own);
    assert_eq!(context.to_llm(RoleOrder::Any).0.len(), 3);
}
