//! A last line that hangs under an old entry, so that newer messages are out of the context: what a program leaves that was
//! killed, or that wrote to a session which another one continued.

use crate::diagnostic::{Diagnostic, DiagnosticKind, Severity};
use crate::entry::{EntryBody, EntryId, EntryKind};
use crate::message::AgentMessage;

use super::{EntryIndex, Leaf, SessionTree};

/// How many entries without a message at the end of a path are looked through.
const MOST: usize = 100;

impl SessionTree {
    /// Returns the newest message and how many lie between it and the entry that the session continues from, where
    /// nothing but metadata was written behind that entry since; `None` where a move says that the user is there.
    pub fn newer_branch(&self) -> Option<(EntryIndex, usize)> {
        let Leaf::At(leaf) = self.leaf() else {
            return None;
        };
        let mut at = leaf;
        for _ in 0..MOST {
            if !self.says_nothing(at)? {
                break;
            }
            at = self.parent(at)?;
        }
        let newest = self.indices().rev();
        let newest = newest
            .into_iter()
            .find(|index| self.kind(*index) == EntryKind::Message && *index != leaf)?;
        let mut between = 0;
        let mut above = newest;
        while above != at {
            between += usize::from(self.kind(above) == EntryKind::Message);
            above = self.parent(above)?;
        }
        (at != leaf && between > 0).then_some((newest, between))
    }

    /// Returns a warning about a [newer branch](Self::newer_branch).
    pub fn stale_leaf(&self) -> Option<Diagnostic> {
        let (newest, messages) = self.newer_branch()?;
        let newest = self.id(newest);
        let last = self.len().checked_sub(1)?;
        let last = self.indices().nth(last)?;
        let text = format!(
            "the last line, entry {}, stands under an older entry, and {messages} newer messages are out of the context; branch --to {newest} goes there",
            self.id(last)
        );
        let found = Diagnostic::new(Severity::Warning, DiagnosticKind::StaleLeaf, text);
        Some(
            found
                .at_line(self.line(last))
                .of_entry(EntryId::new(newest)),
        )
    }

    /// Returns whether an entry adds nothing to the conversation; `None` for a move of the leaf.
    fn says_nothing(&self, index: EntryIndex) -> Option<bool> {
        Some(match self.kind(index) {
            EntryKind::Label
            | EntryKind::SessionInfo
            | EntryKind::ModelChange
            | EntryKind::ThinkingLevelChange
            | EntryKind::Usage => true,
            EntryKind::Custom => match self.entry(index).ok()?.body {
                EntryBody::Custom { custom_type, .. } if custom_type == LEAF_ENTRY => return None,
                _ => true,
            },
            EntryKind::Message => match self.entry(index).ok()?.body {
                EntryBody::Message(message) => match &*message {
                    AgentMessage::Assistant(answer) => {
                        answer.content.texts().all(|text| text.trim().is_empty())
                            && message.tool_calls().next().is_none()
                    }
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        })
    }
}

/// The type of the entry that a move of the leaf writes.
pub const LEAF_ENTRY: &str = "agent-cli/leaf";

/// What follows the agent's name in the type of a custom message that is the prompt of a subagent, before its id. All
/// entries below that are the subagent's.
pub const SUBAGENT: &str = "/subagent";

#[cfg(test)]
mod tests {
    use crate::decode_bytes;

    fn found(more: &str) -> Option<String> {
        let mut text = test_support::session("u:5 a:5 u:5 a:5 u:5 a:5");
        text.push_str(more);
        let diagnostic = decode_bytes(text.into_bytes()).tree.stale_leaf()?;
        Some(diagnostic.to_string())
    }

    fn line(kind: &str, parent: &str) -> String {
        format!(
            "{{\"type\":{kind},\"id\":\"x\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\"}}\n"
        )
    }

    #[test]
    fn metadata_under_an_old_entry_does_not_hide_newer_messages_silently() {
        for kind in [
            r#""label","targetId":"e1","label":"here""#,
            r#""custom","customType":"session_exit","data":{}"#,
            r#""model_change","provider":"p","modelId":"m""#,
            r#""session_info","name":"n""#,
            r#""message","message":{"role":"assistant","content":[],"stopReason":"aborted"}"#,
        ] {
            let said = found(&line(kind, "e2")).unwrap_or_else(|| panic!("{kind}"));
            assert!(
                said.contains("4 newer messages") && said.contains("--to e6"),
                "{said}"
            );
        }
    }

    #[test]
    fn what_a_user_does_on_purpose_is_no_damage() {
        let label = r#""label","targetId":"e1","label":"here""#;
        let moved =
            r#""custom","customType":"agent-cli/leaf","data":{"reason":"navigate","from":"e6"}"#;
        let said = r#""message","message":{"role":"user","content":"back here","timestamp":1}"#;
        assert_eq!(found(""), None);
        assert_eq!(found(&line(label, "e6")), None);
        assert_eq!(found(&line(moved, "e2")), None);
        assert_eq!(found(&line(said, "e2")), None);
    }
}
