//! Items of the conversation: messages, reasoning, calls, outputs.

use session_model::json::{Members, RawJson, items, string};
use session_model::{Block, Usage, UserParts};

use crate::content::image_of_url;
use crate::emitter::CallResult;
use crate::json;
use crate::report::ImportReport;

/// Returns the type of a record, its payload, and the text of that. Until September 2025 items, and what the first record
/// says, were not wrapped.
pub(crate) fn unwrapped<'a>(record: &Members<'a>, line: &'a str) -> (String, Members<'a>, &'a str) {
    let kind = record.text("type").unwrap_or_default();
    if let Some(payload) = record.raw("payload") {
        return (kind, Members::parse(payload).unwrap_or_default(), payload);
    }
    let is_item = matches!(&*kind, "message" | "reasoning") || is_call(&kind) || is_output(&kind);
    let kind = match kind.as_str() {
        "" if record.raw("record_type").is_some() => "state".to_owned(),
        "" if record.raw("id").is_some() => "session_meta".to_owned(),
        _ if is_item => "response_item".to_owned(),
        _ => return (kind, Members::default(), "{}"),
    };
    (kind, Members::parse(line).unwrap_or_default(), line)
}

/// Returns true for the types of calls that get a result.
pub(crate) fn is_call(kind: &str) -> bool {
    matches!(
        kind,
        "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call"
    )
}

/// Returns true for the types of results.
pub(crate) fn is_output(kind: &str) -> bool {
    matches!(
        kind,
        "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "tool_search_output"
            | "mcp_tool_call_output"
    )
}

/// Returns what a message with the role of the user or of the developer holds.
pub(super) fn message_parts(report: &mut ImportReport, item: &Members<'_>) -> UserParts {
    let role = item.text("role").unwrap_or_default();
    let passed = item.object("internal_chat_message_metadata_passthrough");
    let kinds = passed.unwrap_or_default().texts("content_item_kinds");
    let mut parts = UserParts::default();
    for (place, block) in message_blocks(report, item).into_iter().enumerate() {
        let Some(block) = block else {
            continue;
        };
        let known = kinds
            .get(place)
            .map(String::as_str)
            .filter(|kind| *kind != "unknown");
        match (role.as_str(), known) {
            ("developer" | "system", _) => parts.insert("developer", block),
            (_, Some(kind)) if kind.starts_with("user.") => parts.own.push(block),
            (_, Some(kind)) => parts.insert(kind, block),
            (_, None) => parts.add(block),
        }
    }
    parts
}

/// Returns the content of a message, with nothing in place of what is no text or image.
pub(super) fn message_blocks(report: &mut ImportReport, item: &Members<'_>) -> Vec<Option<Block>> {
    if let Some(text) = item.text("content") {
        return vec![Some(Block::text(text))];
    }
    let contents = item.items("content").into_iter();
    contents
        .map(|raw| content_block(report, &Members::parse(raw)?))
        .collect()
}

/// Returns a text or an image; anything else is counted as lost.
pub(super) fn content_block(report: &mut ImportReport, content: &Members<'_>) -> Option<Block> {
    if let Some(text) = content.text("text") {
        return Some(Block::text(text));
    }
    let kind = content.text("type").unwrap_or_default();
    let image = content.text("image_url").and_then(|url| image_of_url(&url));
    if image.is_none() {
        report.lose(&format!("content of a message: {kind}"));
    }
    image
}

/// Returns the thinking of the model; the whole item is its signature, as the family keeps it for this wire.
fn reasoning(item: &Members<'_>, raw: &str) -> Block {
    let texts = |key| {
        let parts = item.objects(key).into_iter();
        parts
            .filter_map(|part| part.text("text"))
            .collect::<Vec<_>>()
    };
    let mut summary = texts("summary");
    if summary.is_empty() {
        summary = texts("content");
    }
    let is_encrypted = item.raw("encrypted_content").is_some();
    Block::thinking(summary.join("\n\n"), is_encrypted.then(|| raw.to_owned()))
}

/// Returns the blocks that an item adds to an answer; `None` for no part of an answer.
pub(super) fn answer_part(
    report: &mut ImportReport,
    item: &Members<'_>,
    raw: &str,
) -> Option<Vec<Block>> {
    let kind = item.text("type").unwrap_or_default();
    if let Some(block) = call_of(&kind, item) {
        return Some(vec![block]);
    }
    match (kind.as_str(), item.text("role").as_deref()) {
        ("message", Some("assistant")) => {
            let contents = item.objects("content").into_iter();
            let blocks = contents.filter_map(|content| content_block(report, &content));
            Some(blocks.collect())
        }
        ("reasoning", _) => Some(vec![reasoning(item, raw)]),
        _ => None,
    }
}

/// Returns the call that an item makes, if it makes one that gets a result.
fn call_of(kind: &str, item: &Members<'_>) -> Option<Block> {
    let name = item.filled("name");
    let (name, arguments) = match kind {
        "function_call" => {
            let arguments = item.text("arguments").unwrap_or_default();
            let parsed = json::raw_object(&arguments);
            let given = parsed.or_else(|| input_object(&arguments));
            (name?, given)
        }
        "custom_tool_call" => {
            let input = item.text("input").unwrap_or_default();
            (name?, input_object(&input))
        }
        "local_shell_call" => {
            let action = item.raw("action").and_then(json::raw_object);
            ("local_shell".to_owned(), action)
        }
        "tool_search_call" => {
            let arguments = item.raw("arguments").and_then(json::raw_object);
            ("tool_search".to_owned(), arguments)
        }
        _ => return None,
    };
    let id = item.filled("call_id").or(item.filled("id"))?;
    Some(Block::call(id, name, arguments))
}

fn input_object(text: &str) -> Option<RawJson> {
    json::raw_of(&serde_json::json!({ "input": text })).filter(|_| !text.is_empty())
}

/// Returns the result that an item has.
pub(super) fn output_of(report: &mut ImportReport, item: &Members<'_>) -> CallResult {
    let mut result = CallResult::default();
    let raw = item.raw("output").or(item.raw("tools")).unwrap_or("\"\"");
    if let Some(text) = string(raw) {
        // Older versions put the output and its exit code into an object.
        let wrapped = Members::parse(&text).and_then(|object| {
            let metadata = object.object("metadata").unwrap_or_default();
            let code = metadata.raw("exit_code").map(|code| code != "0");
            Some((object.text("output")?, code?))
        });
        let (text, is_error) = wrapped.unwrap_or_else(|| {
            let failed = has_failed(&text);
            (text, failed)
        });
        result.is_error = is_error;
        result.content = vec![Block::text(text)];
    } else if let Some(object) = Members::parse(raw) {
        result.is_error = object.raw("success") == Some("false");
        let content = object.text("content").map(Block::text);
        let content = content.or_else(|| content_block(report, &object));
        result.content = content.into_iter().collect();
    } else if item.raw("output").is_none() {
        result.content = vec![Block::text(raw)];
    } else {
        for content in items(raw).into_iter().filter_map(Members::parse) {
            result.content.extend(content_block(report, &content));
        }
    }
    result
}

/// Returns the result that a record has, without its id and time.
pub(crate) fn read_result(text: &str, report: &mut ImportReport) -> CallResult {
    let record = Members::parse(text).unwrap_or_default();
    output_of(report, &unwrapped(&record, text).1)
}

/// How Codex begins the results of calls that were refused or did nothing.
const UNDONE: [&str; 4] = [
    "apply_patch verification failed",
    "patch rejected by user",
    "exec command rejected by user",
    "aborted by user",
];

/// Returns whether an output says that nothing was done, or gives an exit code other than zero in its head.
fn has_failed(output: &str) -> bool {
    if UNDONE.iter().any(|start| output.starts_with(start)) {
        return true;
    }
    let head = output.lines().take(8);
    head.filter_map(|line| {
        let at = line.find("exited with code ").map(|at| at + 17);
        let at = at.or_else(|| line.strip_prefix("Exit code: ").map(|_| 11))?;
        let code: String = line[at..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        code.parse::<u32>().ok()
    })
    .any(|code| code != 0)
}

/// Returns usage whose prompt tokens include the cached ones.
pub(super) fn usage_of(usage: &Members<'_>) -> Usage {
    json::inclusive_usage(
        usage.count("input_tokens").unwrap_or(0),
        usage.count("cached_input_tokens").unwrap_or(0),
        usage.count("cache_write_input_tokens").unwrap_or(0),
        usage.count("output_tokens").unwrap_or(0),
    )
}
