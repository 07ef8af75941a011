//! `read`: the lines of a text file, or an image.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use llm_providers::{PieceRedactor, Redactor};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use session_model::{Block, ImageBlock};

use super::capture::make_folder;
use super::file_tool::FileTool;
use super::image;
use crate::context::{ToolContext, ToolLimits};
use crate::file::CommitPoint;
use crate::output::ToolOutput;
use crate::text::{REPLACEMENT, count, more_in_line, reason, without_controls};
use crate::tool::{Concurrency, PathArgument, ToolMeta};
use crate::workspace::resolved::{Purpose, ResolvedPath};

/// The number of bytes of one read.
const BLOCK: usize = 64 * 1024;

/// The number of bytes after the shown part of a line that are searched for the rest of a key.
const BEHIND: usize = 16 * 1024;

/// The number of leading bytes in which a NUL marks a binary file.
const SNIFFED: usize = 8000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file, from the workspace on or absolute.
    path: String,
    /// The first line to show, counted from 1. Without it, the first one.
    offset: Option<NonZeroU64>,
    /// How many lines to show. Without it, as many as fit.
    limit: Option<NonZeroU64>,
}

/// The tool.
pub(super) const READ: FileTool<Arguments> = FileTool {
    name: "read",
    description: "Shows a text file as it is, or an image (PNG, JPEG, GIF, WebP). Of a long file only a part is \
         shown; a notice at the end then names the offset to read on with.",
    meta: ToolMeta {
        concurrency: Concurrency::WithOtherPaths,
        path: Some(PathArgument::File),
        ..ToolMeta::READ
    },
    work: read,
};

fn read(
    arguments: &Arguments,
    context: &ToolContext,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let place = locate(context, &arguments.path)?;
    show(
        &place,
        arguments,
        &context.limits,
        &context.redactor,
        commit,
    )
    .map_err(|reason| format!("cannot read {}: {reason}", arguments.path))
}

/// Returns the place of the file: in the workspace, or the whole text of output that was cut.
fn locate(context: &ToolContext, path: &str) -> Result<ResolvedPath, String> {
    let workspace = &context.workspace;
    let kept = || {
        let given = Path::new(path).is_absolute().then(|| Path::new(path))?;
        let found = given
            .canonicalize()
            .ok()
            .or_else(|| fetched(context, given))?;
        let folder = found.parent()?;
        let own = context.overflow.as_ref();
        let own = own.and_then(|own| own.canonicalize().ok());
        let others = context.holds_outputs;
        let is_kept = own.as_deref() == Some(folder)
            || others.is_some_and(|holds_outputs| holds_outputs(folder, workspace.root()));
        is_kept.then(|| ResolvedPath::in_folder(folder, found.file_name()?).ok())?
    };
    kept().map_or_else(|| workspace.locate(path), Ok)
}

/// Returns a copy of an output that another run of the session has stored.
fn fetched(context: &ToolContext, path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let folder = context.overflow.as_ref()?;
    let copy = folder.join(name);
    if !copy.is_file() {
        let bytes = context.archive.as_ref()?.output(name.to_str()?)?;
        make_folder(folder).ok()?;
        std::fs::write(&copy, bytes).ok()?;
    }
    copy.canonicalize().ok()
}

fn show(
    place: &ResolvedPath,
    arguments: &Arguments,
    limits: &ToolLimits,
    redactor: &Arc<Redactor>,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let opened = place.open(Purpose::Read);
    let (file, found) = opened.map_err(|error| reason(&error))?;
    let mut reader = BufReader::with_capacity(BLOCK, file);
    let start = reader.fill_buf().map_err(|error| reason(&error))?;
    let magic = &start[..start.len().min(image::MAGIC)];
    if let Some(mime_type) = image::mime_type(magic) {
        return show_image(reader, found.len(), mime_type, arguments, limits);
    }
    if start[..start.len().min(SNIFFED)].contains(&0) {
        return Err(binary());
    }
    show_text(reader, arguments, limits, redactor, commit)
}

fn binary() -> String {
    "is a binary file, neither text nor an image; look at it with a command".to_owned()
}

fn show_image(
    reader: BufReader<File>,
    length: u64,
    mime_type: &str,
    arguments: &Arguments,
    limits: &ToolLimits,
) -> Result<ToolOutput, String> {
    let most = limits.image_bytes;
    let mut bytes = Vec::new();
    if length <= most {
        let mut bounded = reader.take(most.saturating_add(1));
        bounded
            .read_to_end(&mut bytes)
            .map_err(|error| reason(&error))?;
    }
    if length > most || bytes.len() as u64 > most {
        return Err(format!(
            "the image has {length} bytes and at most {most} are shown; make a smaller copy"
        ));
    }
    let caption = format!("{}: {mime_type}, {} bytes", arguments.path, bytes.len());
    let image = ImageBlock {
        data: image::base64(&bytes).into(),
        mime_type: mime_type.to_owned(),
    };
    if let Some(flaw) = image.flaw() {
        return Err(format!("no model can be shown the image: {flaw}"));
    }
    let details = json!({ "mime_type": mime_type, "bytes": bytes.len() });
    Ok(ToolOutput::blocks(vec![Block::text(caption), Block::Image(image)]).with_details(details))
}

fn show_text(
    reader: BufReader<File>,
    arguments: &Arguments,
    limits: &ToolLimits,
    redactor: &Arc<Redactor>,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let describe = |error: io::Error| reason(&error);
    let first = arguments.offset.map_or(1, NonZeroU64::get);
    let most = arguments.limit.map_or(u64::MAX, NonZeroU64::get);
    let most = most.min(limits.output_lines.max(1) as u64);
    // A character has at most four bytes.
    let kept = limits.line_chars.saturating_mul(4);
    let width = kept.min(limits.output_bytes).max(4);
    let mut lines = Lines::new(reader, width + BEHIND, commit);

    let mut before = 0;
    while before < first - 1 && lines.skip().map_err(describe)? {
        before += 1;
    }
    let mut page = Page {
        width,
        redactor: redactor.clone(),
        ..Page::default()
    };
    while page.lines < most {
        let Some(line) = lines.next().map_err(describe)? else {
            break;
        };
        let number = first + page.lines;
        if !page.add(&line, number, limits)? {
            page.more = true;
            break;
        }
    }
    page.more = page.more || lines.more().map_err(describe)?;
    if page.lines == 0 && first > 1 {
        let lines = count(usize::try_from(before).unwrap_or(usize::MAX), "line");
        return Err(format!(
            "offset: {first} is past the end; the file has {lines}"
        ));
    }
    Ok(page.into_output(first))
}

/// The shown part of a file.
#[derive(Default)]
struct Page {
    /// The shown length of a line, in bytes.
    width: usize,
    redactor: Arc<Redactor>,
    text: String,
    lines: u64,
    more: bool,
    crlf: bool,
    controls: bool,
}

impl Page {
    /// Adds a line; returns false if it does not fit.
    fn add(&mut self, line: &Line<'_>, number: u64, limits: &ToolLimits) -> Result<bool, String> {
        let mut bytes = line.bytes;
        // Of a line that was cut no more than its newline may be missing here.
        if line.ended && line.dropped <= 1 {
            bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
            if let Some(rest) = bytes.strip_suffix(b"\r") {
                bytes = rest;
                self.crlf = true;
            }
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if line.dropped > 0 && error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => {
                return Err(format!(
                    "line {number} is not UTF-8 text; look at the file with a command"
                ));
            }
        };
        if text.contains('\0') {
            return Err(binary());
        }
        let text = match number {
            1 => text.strip_prefix('\u{feff}').unwrap_or(text),
            _ => text,
        };
        let is_long = text.len() > self.width || text.chars().nth(limits.line_chars).is_some();
        let (text, held) = match is_long || line.dropped > 1 {
            true => self.without_keys(text, line.dropped > 1),
            false => (Cow::Borrowed(text), 0),
        };
        let cleaned = without_controls(&text);
        let text = cleaned.as_deref().unwrap_or(&text);
        let end = text.char_indices().nth(limits.line_chars);
        let end = end.map_or(text.len(), |(at, _)| at);
        let end = end.min(text.floor_char_boundary(self.width));
        let newline = usize::from(line.ended);
        let left = text.len() - end + held + line.dropped.saturating_sub(newline);
        let mut shown = Cow::Borrowed(&text[..end]);
        if left > 0 {
            shown.to_mut().push_str(&more_in_line(left));
        }
        if self.lines > 0 && self.text.len() + shown.len() + 1 > limits.output_bytes {
            return Ok(false);
        }
        self.controls |= cleaned.is_some();
        self.text.push_str(&shown);
        if line.ended {
            self.text.push('\n');
        }
        self.lines += 1;
        Ok(true)
    }

    /// Removes keys from a line that will be cut, so that no part of a key stays. If the line `continues`, the possible
    /// beginning of a key at its end is held back; the number is its length in bytes.
    fn without_keys(&self, line: &str, continues: bool) -> (Cow<'static, str>, usize) {
        let mut pieces = PieceRedactor::new(self.redactor.clone());
        let mut clean = pieces.push(line);
        let rest = pieces.finish();
        let held = match continues {
            true => rest.len(),
            false => {
                clean.push_str(&rest);
                0
            }
        };
        (Cow::Owned(clean), held)
    }

    fn into_output(self, first: u64) -> ToolOutput {
        let mut text = self.text;
        let mut notices = Vec::new();
        if self.lines == 0 {
            notices.push("the file is empty".to_owned());
        }
        let next = first + self.lines;
        if self.more {
            let last = next - 1;
            notices.push(format!(
                "lines {first} to {last} are shown and more follow; read on with offset {next}"
            ));
        }
        if self.crlf {
            notices.push("lines end in CR LF; edit keeps that".to_owned());
        }
        if self.controls {
            notices.push(format!("control characters are shown as {REPLACEMENT}"));
        }
        for notice in notices {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[{notice}]\n"));
        }
        let next_offset = self.more.then_some(next);
        let details =
            json!({ "first_line": first, "lines": self.lines, "next_offset": next_offset });
        ToolOutput::text(text).with_details(details)
    }
}

/// A line, of a long one its beginning.
struct Line<'a> {
    bytes: &'a [u8],
    dropped: usize,
    ended: bool,
}

/// The lines of a file, each held only as far as it is shown.
struct Lines<'a, R> {
    from: R,
    kept: usize,
    line: Vec<u8>,
    commit: &'a CommitPoint,
}

impl<'a, R: BufRead> Lines<'a, R> {
    fn new(from: R, kept: usize, commit: &'a CommitPoint) -> Self {
        Self {
            from,
            kept,
            line: Vec::new(),
            commit,
        }
    }

    /// Returns the next line, or `None` at the end.
    fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let advance = self.advance(self.kept)?;
        Ok(advance.map(|(dropped, ended)| Line {
            bytes: &self.line,
            dropped,
            ended,
        }))
    }

    /// Passes over a line; returns false at the end.
    fn skip(&mut self) -> io::Result<bool> {
        Ok(self.advance(0)?.is_some())
    }

    /// Returns true if something follows.
    fn more(&mut self) -> io::Result<bool> {
        Ok(!fill(&mut self.from, self.commit)?.is_empty())
    }

    /// Goes to the end of the line; returns how many bytes were not kept and whether a newline came.
    fn advance(&mut self, keep: usize) -> io::Result<Option<(usize, bool)>> {
        let mut dropped = 0;
        let mut begun = false;
        loop {
            let block = fill(&mut self.from, self.commit)?;
            if block.is_empty() {
                return Ok(begun.then_some((dropped, false)));
            }
            begun = true;
            let end = block.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(block.len(), |at| at + 1);
            let taken = used.min(keep.saturating_sub(self.line.len()));
            self.line.extend_from_slice(&block[..taken]);
            dropped += used - taken;
            self.from.consume(used);
            if end.is_some() {
                return Ok(Some((dropped, true)));
            }
        }
    }
}

fn fill<'a>(from: &'a mut impl BufRead, commit: &CommitPoint) -> io::Result<&'a [u8]> {
    match commit.is_cancelled() {
        true => Err(io::Error::other("cancelled")),
        false => from.fill_buf(),
    }
}
