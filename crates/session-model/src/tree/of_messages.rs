//! Sessions that are made of messages in memory, for programs that keep no session file.

use crate::encode::{EntryDraft, HeaderDraft, Stamp};
use crate::entry::EntryId;
use crate::message::{AgentMessage, MessageDraft, UndraftableMessage};
use crate::timestamp::Timestamp;
use crate::tree::{SessionTree, decode_bytes};

impl SessionTree {
    /// Returns a session of these messages, oldest first, each under the one before it. Their entries are called `m1`, `m2`
    /// and so on.
    ///
    /// # Errors
    ///
    /// [`UndraftableMessage`] for a message that no entry of its own can hold: a summary, or one of an unknown role.
    pub fn of_messages(
        messages: impl IntoIterator<Item = AgentMessage>,
    ) -> Result<Self, UndraftableMessage> {
        let header = HeaderDraft {
            id: "messages".to_owned(),
            timestamp: Timestamp::from_millis(0),
            cwd: String::new(),
            parent_session: None,
        };
        let mut text = header.line();
        let mut parent = None;
        for (number, message) in (1..).zip(messages) {
            let id = EntryId::new(&format!("m{number}"));
            let stamp = Stamp {
                id: id.clone(),
                parent: parent.replace(id),
                timestamp: Timestamp::from_millis(0),
                part_of: None,
            };
            text.push('\n');
            text.push_str(
                &EntryDraft::Message(Box::new(MessageDraft::new(message)?)).stamp(&stamp),
            );
        }
        Ok(decode_bytes(text.into_bytes()).tree)
    }
}
