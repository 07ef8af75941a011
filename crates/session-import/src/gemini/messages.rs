//! Messages of gemini-cli, as entries.

use session_model::json::{Members, items, string};
use session_model::{Block, EntryId, FirstKept, UserParts};

use super::history::{History, Node, NodeKind};
use crate::content::{Answer, compaction, is_blank};
use crate::emitter::{CallResult, Emitter, PendingCall, Place};
use crate::error::ImportError;
use crate::input::Input;
use crate::parts::{call_block, call_id, details, plain_blocks, response, usage};
use crate::report::ImportReport;
use crate::user_message::Ends;

/// Writes all nodes, and returns the report.
pub(super) fn write_history(
    input: &Input,
    history: &History,
    mut emitter: Emitter<'_>,
) -> Result<ImportReport, ImportError> {
    let mut written: Vec<Ends> = Vec::new();
    let mut last: Vec<EntryId> = Vec::new();
    for node in &history.nodes {
        let parent = node
            .parent
            .map_or(&emitter.root, |parent| &last[parent])
            .clone();
        let text = input.text(node.span)?;
        let message = Members::parse(&text).unwrap_or_default();
        let place = Place {
            parent: parent.clone(),
            at: message.time("timestamp"),
        };
        let ends = match node.kind {
            NodeKind::Message => write_message(&mut emitter, node, &message, place)?,
            NodeKind::Compaction { kept } => {
                let kept = kept.and_then(|kept| written[kept].clone());
                let kept = kept.map_or(FirstKept::None, |(first, _)| FirstKept::Entry(first));
                let blocks = content(&mut emitter, &message);
                let summary = blocks.into_iter().filter_map(text_of);
                let summary = summary.collect::<Vec<_>>().join("\n\n");
                let draft = compaction(&summary, kept, 0, None, None);
                let id = emitter.write(&node.id, &place, &draft)?;
                Some((id.clone(), id))
            }
            NodeKind::Copy => {
                let blocks = content(&mut emitter, &message).into_iter();
                let blocks: Vec<_> = blocks.filter_map(text_of).map(Block::text).collect();
                let role = message.text("type").unwrap_or_default();
                match is_blank(&blocks) {
                    true => None,
                    false => {
                        let id = emitter.copied(&place, &role, blocks)?;
                        Some((id.clone(), id))
                    }
                }
            }
        };
        last.push(ends.clone().map_or(parent, |(_, last)| last));
        written.push(ends);
    }
    let leaf = history.tip.map_or(&emitter.root, |tip| &last[tip]).clone();
    emitter.finish(&leaf)
}

fn write_message(
    emitter: &mut Emitter<'_>,
    node: &Node,
    message: &Members<'_>,
    place: Place,
) -> Result<Ends, ImportError> {
    let kind = message.text("type").unwrap_or_default();
    match kind.as_str() {
        "user" => write_user(emitter, node, message, place),
        "gemini" | "model" | "assistant" => write_answer(emitter, node, message, &place).map(Some),
        other => {
            emitter.report.skip(other);
            Ok(None)
        }
    }
}

/// Returns the content of a message: a text, a part, or a list of both.
fn content(emitter: &mut Emitter<'_>, message: &Members<'_>) -> Vec<Block> {
    let raw = message.raw("content").or(message.raw("parts"));
    blocks_of(emitter, raw.unwrap_or("\"\""))
}

fn blocks_of(emitter: &mut Emitter<'_>, raw: &str) -> Vec<Block> {
    let items = match raw.starts_with('[') {
        true => items(raw),
        false => vec![raw],
    };
    let blocks = items.into_iter().flat_map(|raw| match string(raw) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![Block::text(text)],
        None => plain_blocks(emitter, Members::parse(raw).as_slice()),
    });
    blocks.collect()
}

fn text_of(block: Block) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.text),
        Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
    }
}

fn write_user(
    emitter: &mut Emitter<'_>,
    node: &Node,
    message: &Members<'_>,
    place: Place,
) -> Result<Ends, ImportError> {
    let mut parts = UserParts::default();
    let blocks = content(emitter, message);
    blocks.into_iter().for_each(|block| parts.add(block));
    // What the user typed, where the message to the model has files in place of their names.
    if let Some(raw) = message.raw("displayContent") {
        let said = blocks_of(emitter, raw);
        if !said.is_empty() && parts.own != said {
            let own = std::mem::replace(&mut parts.own, said);
            own.into_iter()
                .for_each(|block| parts.insert("context", block));
        }
    }
    if parts.own.is_empty() && parts.inserted.is_empty() {
        // The results of calls, which stand with the calls as well.
        emitter.report.skip("user (results of calls)");
        return Ok(None);
    }
    emitter.user_parts(&node.id, place, parts)
}

fn write_answer(
    emitter: &mut Emitter<'_>,
    node: &Node,
    message: &Members<'_>,
    place: &Place,
) -> Result<(EntryId, EntryId), ImportError> {
    let mut answer = Answer {
        api: "google-generative-ai",
        provider: "google".to_owned(),
        model: message.text("model").unwrap_or_default(),
        at: place.at,
        ..Answer::default()
    };
    for thought in message.objects("thoughts") {
        let subject = thought
            .filled("subject")
            .map(|subject| format!("**{subject}**"));
        let texts = [subject, thought.filled("description")];
        let texts: Vec<_> = texts.into_iter().flatten().collect();
        answer.blocks.push(Block::thinking(texts.join("\n"), None));
    }
    answer.blocks.extend(content(emitter, message));
    if let Some(tokens) = message.object("tokens") {
        let count = |key| tokens.count(key).unwrap_or(0);
        let thoughts = count("thoughts").saturating_add(count("tool"));
        let [prompt, cached] = ["input", "cached"].map(count);
        answer.usage = Some(usage(
            prompt,
            cached,
            count("output"),
            thoughts,
            count("total"),
        ));
    }
    let mut results: Vec<(PendingCall, Option<CallResult>)> = Vec::new();
    for function in message.objects("toolCalls") {
        let id = call_id(&function, &node.id, results.len());
        let block = call_block(&function, id);
        results.extend(PendingCall::of(&block).map(|call| (call, result(emitter, &function))));
        answer.blocks.push(block);
    }
    emitter.answer(&node.id, place, answer.draft()?, results)
}

/// Returns the result of a call, which is written with it.
fn result(emitter: &mut Emitter<'_>, call: &Members<'_>) -> Option<CallResult> {
    let raw = call.raw("result")?;
    let mut result = CallResult::default();
    if let Some(text) = string(raw) {
        result.content = vec![Block::text(text)];
    } else {
        let items = match raw.starts_with('{') {
            true => vec![raw],
            false => items(raw),
        };
        let parts: Vec<_> = items.into_iter().filter_map(Members::parse).collect();
        for function in parts
            .iter()
            .filter_map(|part| part.object("functionResponse"))
        {
            let response = response(&function);
            result.content.extend(response.content);
            result.is_error |= response.is_error;
        }
        result.content.extend(plain_blocks(emitter, &parts));
    }
    let status = call.text("status").unwrap_or_default();
    result.is_error |= matches!(status.as_str(), "error" | "cancelled");
    result.at = call.time("timestamp");
    result.details = details(call.raw("resultDisplay"));
    Some(result)
}
