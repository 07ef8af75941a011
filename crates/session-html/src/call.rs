//! Calls of tools with their results, folded.

use askama::Template;
use serde_json::Value;
use session_facts::CallBody;
use session_model::{Block, Content, ToolCall, ToolResultMessage};

use crate::diff::{Difference, all_new, between, escaped, plain_or_diff};
use crate::gate::{Gate, bytes};

/// The length of a command or path on the line of a folded call, in characters.
const LINE: usize = 160;

#[derive(Template)]
#[template(path = "tool.html")]
struct Tool {
    name: String,
    what: String,
    /// `ok`, `failed` or `open`.
    class: &'static str,
    diff: Option<Difference>,
    arguments: String,
    result: Option<String>,
    images: String,
    size: String,
    is_edited: bool,
}

/// Returns a call with its result; `is_edited` is true if the result left the context in whole or in part.
pub(crate) fn tool(
    call: &ToolCall,
    result: Option<&ToolResultMessage>,
    is_edited: bool,
    gate: &Gate<'_>,
    room: &mut usize,
) -> String {
    let shown = Arguments::of(call, gate, room);
    let size: usize = result.map_or(0, |result| result.content.texts().map(str::len).sum());
    let mut rest = gate.cap;
    let tool = Tool {
        name: gate.line(&call.name, 60),
        what: shown.what,
        class: match result {
            Some(result) if result.is_error => "failed",
            Some(_) => "ok",
            None => "open",
        },
        diff: shown.diff,
        arguments: shown.rest,
        result: result.map(|result| output(&result.content, gate, &mut rest)),
        images: result
            .map(|result| images(&result.content, gate))
            .unwrap_or_default(),
        size: if size == 0 {
            String::new()
        } else {
            bytes(size as u64)
        },
        is_edited,
    };
    tool.render().unwrap_or_default()
}

/// Returns a result whose call is elsewhere.
pub(crate) fn lone_result(result: &ToolResultMessage, is_edited: bool, gate: &Gate<'_>) -> String {
    let call = ToolCall {
        id: String::new(),
        name: match result.tool_name.is_empty() {
            true => "result".to_owned(),
            false => result.tool_name.clone(),
        },
        arguments: None,
        signature: None,
    };
    tool(&call, Some(result), is_edited, gate, &mut 0)
}

/// Returns a command of the user, as a call that has ended.
pub(crate) fn command(
    (command, printed): (&str, &str),
    failed: bool,
    gate: &Gate<'_>,
    room: &mut usize,
) -> String {
    let shown = gate.cut(command, room);
    let tool = Tool {
        name: "!".to_owned(),
        what: gate.line(command, LINE),
        class: if failed { "failed" } else { "ok" },
        diff: None,
        arguments: if shown.contains('\n') {
            escaped(&shown)
        } else {
            String::new()
        },
        result: Some(plain_or_diff(&gate.cut(printed, room))),
        images: String::new(),
        size: bytes(printed.len() as u64),
        is_edited: false,
    };
    tool.render().unwrap_or_default()
}

/// The arguments of a call, as they are shown.
struct Arguments {
    what: String,
    diff: Option<Difference>,
    rest: String,
}

impl Arguments {
    fn of(call: &ToolCall, gate: &Gate<'_>, room: &mut usize) -> Self {
        let only = |what: String| Self {
            what,
            diff: None,
            rest: String::new(),
        };
        match CallBody::of(call) {
            CallBody::Nothing => only(String::new()),
            CallBody::Read { path } => only(gate.line(&path, LINE)),
            CallBody::Command(command) => {
                let shown = gate.cut(&command, room);
                let is_short = !shown.contains('\n') && shown.chars().count() <= LINE;
                let rest = if is_short {
                    String::new()
                } else {
                    plain_or_diff(&shown)
                };
                Self {
                    what: gate.line(&command, LINE),
                    diff: None,
                    rest,
                }
            }
            CallBody::Write { path, text } => Self {
                what: gate.line(&path, LINE),
                diff: Some(all_new(&gate.cut(&text, room))),
                rest: String::new(),
            },
            CallBody::Edit { path, edits } => {
                let mut all = Difference::default();
                for (old, new) in edits {
                    all.push(&between(&gate.cut(&old, room), &gate.cut(&new, room)));
                }
                Self {
                    what: gate.line(&path, LINE),
                    diff: Some(all),
                    rest: String::new(),
                }
            }
            CallBody::Other(arguments) => {
                let told = arguments
                    .values()
                    .find_map(Value::as_str)
                    .unwrap_or_default();
                let rows = arguments.iter().map(|(key, value)| {
                    let text = match value {
                        Value::String(text) => text.clone(),
                        other => format!("{other:#}"),
                    };
                    let text = plain_or_diff(&gate.cut(&text, room));
                    format!(
                        "<span class=\"key\">{}</span> {text}\n",
                        escaped(&gate.line(key, 60))
                    )
                });
                Self {
                    rest: rows.collect(),
                    diff: None,
                    what: gate.line(told, LINE),
                }
            }
        }
    }
}

fn output(content: &Content, gate: &Gate<'_>, room: &mut usize) -> String {
    let texts: Vec<String> = content.texts().map(|text| gate.cut(text, room)).collect();
    plain_or_diff(&texts.join("\n"))
}

/// Returns the images of a content.
pub(crate) fn images(content: &Content, gate: &Gate<'_>) -> String {
    let mut out = String::new();
    for block in content.blocks() {
        if let Block::Image(image) = block {
            let kind = escaped(&gate.line(&image.mime_type, 40));
            match image.has_bytes() && gate.shows_image(&image.mime_type, &image.data) {
                true => out.push_str(&format!(
                    "<img alt=\"{kind}\" src=\"data:{kind};base64,{}\">",
                    image.data
                )),
                false => out.push_str(&format!("<p class=\"absent\">{kind}, not shown</p>")),
            }
        }
    }
    out
}
