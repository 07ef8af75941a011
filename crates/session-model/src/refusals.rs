//! What of a context services refuse, as far as it shows in the session itself.

use crate::context::SessionContext;
use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::message::{Block, Content};

/// The longest name of a tool that every service takes.
const NAME: usize = 64;

/// Returns what services refuse of a context, each with its entry.
pub fn check_refusals(context: &SessionContext) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, message) in context.messages() {
        let blocks = message.content().into_iter().flat_map(Content::blocks);
        for why in blocks.filter_map(refusal) {
            let text = format!("entry {id}: {why}");
            let refused = Diagnostic::new(Severity::Warning, DiagnosticKind::Refused, text);
            found.push(refused.of_entry(id.clone()));
        }
    }
    found
}

/// Returns why services refuse a block.
fn refusal(block: &Block) -> Option<String> {
    match block {
        Block::Image(image) => Some(format!("services refuse its image: {}", image.flaw()?)),
        Block::Thinking(thinking) => {
            let is_empty = thinking.thinking.trim().is_empty() && !thinking.redacted;
            (is_empty && thinking.signature.is_some()).then(|| {
                "its thinking has a signature and no text, which some services refuse; the request is then sent again without it".to_owned()
            })
        }
        Block::ToolCall(call) => {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            let is_name = call.name.len() <= NAME && call.name.chars().all(is_plain);
            (!is_name || call.name.is_empty())
                .then(|| format!("services refuse {:?} as the name of a tool", call.name))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::check_refusals;
    use crate::{ContextRules, build_context, decode_bytes};

    #[test]
    fn what_services_refuse_is_named_with_its_entry() {
        let content = r#"[{"type":"thinking","thinking":"","thinkingSignature":"s"},{"type":"toolCall","id":"c","name":"a b","arguments":{}},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"text","text":"fine"}]"#;
        let text = test_support::session("u:5")
            + &format!(
                "{{\"type\":\"message\",\"id\":\"bad\",\"parentId\":\"e1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"assistant\",\"content\":{content},\"stopReason\":\"stop\",\"api\":\"a\",\"provider\":\"p\",\"model\":\"m\"}}}}\n"
            );
        let tree = decode_bytes(text.into_bytes()).tree;
        let context = build_context(&tree.path(tree.leaf()), ContextRules::Own);
        let found = check_refusals(&context);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found.iter().all(|text| text.starts_with("entry bad: ")),
            "{found:?}"
        );
    }
}
