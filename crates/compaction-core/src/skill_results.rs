//! Results that stay as they are: skills that the agent has read.

use std::collections::BTreeSet;

use session_model::{AgentMessage, CallEvent, EntryId, SessionContext, answered_calls};

use session_facts::{FileAction, file_call};

/// The file that describes a skill.
const SKILL_FILE: &str = "SKILL.md";

/// The folder that skills are in.
const SKILL_FOLDER: &str = "skills";

/// The tool of other agents that returns a skill.
const SKILL_TOOL: &str = "skill";

/// Returns the entries of a context whose results are those of skills: of a tool of that name, or of reading a
/// skill's file, or another one in the folder of a skill whose file was read in the same context.
pub(crate) fn skill_results(context: &SessionContext) -> BTreeSet<EntryId> {
    let messages: Vec<_> = context.messages().collect();
    let said = messages
        .iter()
        .map(|(_, message)| CallEvent::from(&***message));
    let calls = answered_calls(said);
    let mut kept = BTreeSet::new();
    let mut read: Vec<(&EntryId, String)> = Vec::new();
    for (place, (id, message)) in messages.iter().enumerate() {
        let AgentMessage::ToolResult(result) = &***message else {
            continue;
        };
        if result.tool_name == SKILL_TOOL {
            kept.insert((*id).clone());
        }
        if let Some((FileAction::Read, path)) = calls.get(&place).and_then(|call| file_call(call))
            && !result.is_error
        {
            read.push((id, path.trim_start_matches("./").to_owned()));
        }
    }
    let folders: BTreeSet<&str> = read
        .iter()
        .filter_map(|(_, path)| folder_of(path))
        .collect();
    for (id, path) in &read {
        let is_file = path == SKILL_FILE || path.ends_with("/SKILL.md");
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if is_file || above.any(|folder| folders.contains(folder)) {
            kept.insert((*id).clone());
        }
    }
    kept
}

/// Returns the folder of a skill whose file this is, where it is one among others.
fn folder_of(path: &str) -> Option<&str> {
    let folder = path.strip_suffix(SKILL_FILE)?.strip_suffix('/')?;
    let (above, _) = folder.rsplit_once('/')?;
    (above == SKILL_FOLDER || above.ends_with("/skills")).then_some(folder)
}
