//! The result of a server's tool as models get it: bounded, the whole of a long text in a file.

use rmcp::model::{CallToolResult, ContentBlock, ImageContent, ResourceContents};
use serde_json::{Value, json};
use session_model::{Block, ImageBlock};

use super::text::one_line;
use crate::builtin::{image_in_base64, shortened};
use crate::context::{ToolContext, ToolLimits};
use crate::output::ToolOutput;

/// The most images of one result.
const MOST_IMAGES: usize = 8;

/// The quoted length of an address or a type, in characters.
const LABEL_CHARS: usize = 500;

/// Returns a result as a tool's output.
pub(super) fn output(result: CallToolResult, context: &ToolContext) -> ToolOutput {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(block) => texts.push(block.text),
            ContentBlock::Image(block) => match image(block, images.len(), &context.limits) {
                Ok(image) => images.push(image),
                Err(notice) => texts.push(notice),
            },
            ContentBlock::Audio(block) => {
                let kind = one_line(&block.mime_type, LABEL_CHARS);
                texts.push(format!("[a sound of type {kind}, which is not passed on]"));
            }
            ContentBlock::Resource(block) => texts.push(resource(block.resource)),
            ContentBlock::ResourceLink(link) => texts.push(format!(
                "[{}: {}]",
                one_line(&link.name, LABEL_CHARS),
                one_line(&link.uri, LABEL_CHARS)
            )),
            _ => texts.push("[content of a kind that is not known]".to_owned()),
        }
    }
    if let Some(structured) = result.structured_content {
        let same = |text: &String| {
            serde_json::from_str::<Value>(text).is_ok_and(|value| value == structured)
        };
        // Servers repeat structured content as text, for clients that read only text.
        if !texts.iter().any(same) {
            texts.push(structured.to_string());
        }
    }
    let text = match texts.join("\n") {
        empty if empty.is_empty() && images.is_empty() => "[no output]".to_owned(),
        text => text,
    };
    // The file gets the same redaction as the shown text.
    let text = context.redactor.clean_answer(&text);
    let (text, full) = shortened(&text, "server", context);
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(Block::text(text));
    }
    blocks.extend(images);
    let full = full.map(|path| path.display().to_string());
    ToolOutput {
        is_error: result.is_error == Some(true),
        ..ToolOutput::blocks(blocks).with_details(json!({ "full_output_path": full }))
    }
}

/// Returns an image that can be shown, or the text that replaces it.
fn image(block: ImageContent, before: usize, limits: &ToolLimits) -> Result<Block, String> {
    if before >= MOST_IMAGES {
        return Err(format!(
            "[an image, which is left out: at most {MOST_IMAGES} are shown]"
        ));
    }
    match image_in_base64(&block.data) {
        Some((mime_type, bytes)) if bytes <= limits.image_bytes => Ok(Block::Image(ImageBlock {
            data: block.data.into(),
            mime_type: mime_type.to_owned(),
        })),
        Some((mime_type, bytes)) => Err(format!(
            "[an image, {mime_type}, which is left out: it has {bytes} bytes and at most {} are shown]",
            limits.image_bytes
        )),
        None => Err(format!(
            "[an image of type {}, which is left out: only PNG, JPEG, GIF and WebP are shown]",
            one_line(&block.mime_type, LABEL_CHARS)
        )),
    }
}

fn resource(resource: ResourceContents) -> String {
    match resource {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[{}]\n{text}", one_line(&uri, LABEL_CHARS))
        }
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => format!(
            "[{}, {}: {} bytes in base64, which are not passed on]",
            one_line(&uri, LABEL_CHARS),
            one_line(mime_type.as_deref().unwrap_or("unknown type"), LABEL_CHARS),
            blob.len()
        ),
        _ => "[a resource of a kind that is not known]".to_owned(),
    }
}
