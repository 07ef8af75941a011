//! Prompts: a message of the user, or a command that begins with a slash.

use compaction_core::undoable::Whose;
use serde_json::{Value, json};
use session_protocol::Command;
use session_store::{Delivery, Prompt, PromptImage};
use url::Url;

use crate::message::{Failure, code};
use crate::params::Block;

/// The meaning of a prompt.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A message of the user.
    Say(Command),
    /// A command of the session, whose reply is shown.
    Do(Command),
}

/// The commands that an editor offers: name, what it does, and what may follow it.
const COMMANDS: [(&str, &str, Option<&str>); 3] = [
    (
        "compact",
        "Summarize older history now",
        Some("what the summary should focus on"),
    ),
    (
        "undo",
        "Take back the newest compaction, pruning or move",
        None,
    ),
    ("redo", "Do again what was taken back", None),
];

/// Returns the commands, for the update that offers them.
pub(crate) fn commands() -> Value {
    let commands = COMMANDS.iter().map(|(name, description, hint)| {
        let mut command = json!({ "name": name, "description": description });
        if let Some(hint) = hint {
            command["input"] = json!({ "hint": hint });
        }
        command
    });
    commands.collect()
}

/// Returns the meaning of a prompt.
pub(crate) fn asked(blocks: Vec<Block>) -> Result<Asked, Failure> {
    let prompt = prompt(blocks)?;
    let (name, rest) = prompt
        .text
        .split_once(char::is_whitespace)
        .unwrap_or((&prompt.text, ""));
    let focus = Some(rest.trim().to_owned()).filter(|focus| !focus.is_empty());
    Ok(match (name, &focus) {
        ("/compact", _) => Asked::Do(Command::Compact(focus.into())),
        ("/undo", None) => Asked::Do(Command::Undo(Whose::Ours)),
        ("/undo", Some(any)) if any == "any" => Asked::Do(Command::Undo(Whose::Any)),
        ("/redo", None) => Asked::Do(Command::Redo),
        _ => Asked::Say(Command::Prompt {
            prompt,
            delivery: Delivery::Prompt,
        }),
    })
}

fn prompt(blocks: Vec<Block>) -> Result<Prompt, Failure> {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in blocks {
        match block {
            Block::Text { text } => texts.push(text),
            Block::Image { data, mime_type } => images.push(PromptImage { data, mime_type }),
            Block::ResourceLink { name, uri } => texts.push(match path_of(&uri) {
                Some(path) => format!("@{path}"),
                None => format!("[{name}]({uri})"),
            }),
            Block::Resource { resource } => {
                let name = path_of(&resource.uri).unwrap_or(resource.uri);
                texts.push(match resource.text {
                    Some(text) => {
                        let fence = session_model::fence_for(&text);
                        format!("{name}:\n{fence}\n{text}\n{fence}")
                    }
                    None => format!("@{name}"),
                });
            }
            Block::Audio {} => {
                return Err(Failure::new(
                    code::INVALID_PARAMS,
                    "audio is not taken; send text or images",
                ));
            }
        }
    }
    let text = texts.join("\n");
    match text.trim().is_empty() && images.is_empty() {
        true => Err(Failure::new(
            code::INVALID_PARAMS,
            "the prompt is empty; say something",
        )),
        false => Ok(Prompt { text, images }),
    }
}

/// Returns the path that the address of a local file names.
fn path_of(uri: &str) -> Option<String> {
    let uri = Url::parse(uri).ok().filter(|uri| uri.scheme() == "file")?;
    uri.to_file_path().ok()?.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Asked, Command, Whose, asked, path_of};

    fn of(blocks: Value) -> Result<Asked, String> {
        let blocks = serde_json::from_value(blocks).map_err(|error| error.to_string())?;
        asked(blocks).map_err(|failure| failure.message)
    }

    #[test]
    fn blocks_become_one_text_with_images() {
        let blocks = json!([
            {"type": "text", "text": "look at"},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///p/a%20b.rs"},
            {"type": "resource", "resource": {"uri": "file:///p/c.md", "text": "# C", "mimeType": "text/markdown"}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png", "uri": null},
        ]);
        let Ok(Asked::Say(Command::Prompt { prompt, .. })) = of(blocks) else {
            panic!("a prompt");
        };
        assert_eq!(prompt.text, "look at\n@/p/a b.rs\n/p/c.md:\n```\n# C\n```");
        assert_eq!(prompt.images.len(), 1);
        assert_eq!(path_of("https://x/y"), None);
        for (uri, path) in [
            ("file:///a%", "/a%"),
            ("file:///a%+f", "/a%+f"),
            ("file://localhost/a%20b", "/a b"),
        ] {
            assert_eq!(path_of(uri), Some(path.to_owned()));
        }
        assert_eq!(path_of("file://elsewhere/a"), None);
    }

    #[test]
    fn a_slash_begins_a_command_that_is_known() {
        let text = |text: &str| of(json!([{ "type": "text", "text": text }]));
        assert!(
            matches!(text("/compact the tests"), Ok(Asked::Do(Command::Compact(request))) if request.focus.as_deref() == Some("the tests"))
        );
        assert!(matches!(
            text("/undo"),
            Ok(Asked::Do(Command::Undo(Whose::Ours)))
        ));
        assert!(matches!(text("/undo everything"), Ok(Asked::Say(_))));
        assert!(matches!(text("/etc/passwd is a file"), Ok(Asked::Say(_))));
        assert!(text("  ").is_err_and(|error| error.contains("empty")));
        assert!(
            of(json!([{ "type": "audio", "data": "" }]))
                .is_err_and(|error| error.contains("audio"))
        );
        assert!(of(json!([{ "type": "smell" }])).is_err());
    }
}
