//! What the user said in earlier sessions.

use std::path::Path;

use session_model::StatedRole;
use session_store::{SessionFile, StoreError};

use crate::agents::OWN;
use crate::finder::Finder;

/// How many sessions are looked through.
const SESSIONS: usize = 20;

/// How many prompts are taken from them.
const PROMPTS: usize = 500;

/// Larger sessions are not looked through, in bytes.
const LARGEST: u64 = 64 << 20;

impl Finder {
    /// Returns what the user said in the newest sessions of this program in a folder, the oldest first.
    ///
    /// # Errors
    /// The folder of the sessions cannot be read.
    pub fn prompts(&self, folder: &Path) -> Result<Vec<String>, StoreError> {
        let found = self.list(Some(OWN), Some(folder))?.into_iter();
        let found = found.filter(|found| found.row.bytes <= LARGEST);
        let mut prompts: Vec<String> = Vec::new();
        for found in found.take(SESSIONS) {
            // One that cannot be read says nothing.
            let Ok(session) = SessionFile::open(found.row.locator.as_path()) else {
                continue;
            };
            let tree = session.tree();
            let messages = tree.indices().rev();
            let messages = messages.filter(|index| tree.role(*index) == Some(StatedRole::User));
            let texts = messages.flat_map(|index| tree.entry(index).map(|entry| entry.messages()));
            let texts = texts.flatten().map(|message| message.display_text());
            let room = PROMPTS.saturating_sub(prompts.len());
            for text in texts.take(room) {
                let text = text.trim();
                if !text.is_empty() && !prompts.iter().any(|known| known == text) {
                    prompts.push(text.to_owned());
                }
            }
        }
        prompts.reverse();
        Ok(prompts)
    }
}
