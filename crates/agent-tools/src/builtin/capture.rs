//! The output of a command: its beginning and its end in memory, all of it in a file once that is not all.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use llm_providers::{PieceRedactor, Redactor};
use tokio::time::Instant;

use super::screen::Screen;
use crate::context::{ToolContext, ToolLimits};
use crate::live::{LiveOutput, Throttle};
use crate::text::{beginning, clip_lines, count, ending};

/// The length of the end of the output that an update shows, in bytes.
const LIVE_BYTES: usize = 8000;

/// Output that grows.
#[derive(Debug)]
pub(super) struct Capture {
    limits: ToolLimits,
    folder: Option<PathBuf>,
    /// The tool; its name is the prefix of the file's name.
    source: &'static str,
    screen: Screen,
    /// Before anything is cut or kept, so that no part of a key is.
    pieces: PieceRedactor,
    /// The beginning.
    head: String,
    /// The end of the output, at least as much as is ever shown.
    tail: String,
    /// The size of what was dropped between the two.
    dropped: Size,
    total: Size,
    full: Full,
    live: Throttle,
}

#[derive(Debug, Clone, Copy, Default)]
struct Size {
    bytes: usize,
    lines: usize,
}

impl Size {
    fn add(&mut self, text: &str) {
        self.bytes += text.len();
        self.lines += text.matches('\n').count();
    }
}

/// The file with all of the output.
#[derive(Debug)]
enum Full {
    /// Not needed so far.
    None,
    /// There, with so many bytes to go until it is full.
    Open {
        file: File,
        path: PathBuf,
        room: u64,
    },
    /// There, as much of it as may be.
    Part { path: PathBuf },
    /// Not to be had, and why.
    Lost(String),
}

/// Output that is complete.
#[derive(Debug)]
pub(super) struct Captured {
    /// The text to show.
    pub(super) text: String,
    /// True if `text` is not the whole output.
    pub(super) truncated: bool,
    /// The file with the whole output, if `text` is not all of it.
    pub(super) full: Option<PathBuf>,
}

/// Returns a text as a command's output is shown, and where all of it is when that is not all; `source` is what the
/// name of that file begins with.
pub(crate) fn shortened(
    text: &str,
    source: &'static str,
    context: &ToolContext,
) -> (String, Option<PathBuf>) {
    let mut capture = Capture {
        source,
        ..Capture::new(
            context.limits,
            context.overflow.clone(),
            context.redactor.clone(),
        )
    };
    capture.push(text.as_bytes());
    let captured = capture.finish();
    (captured.text, captured.full)
}

impl Capture {
    /// Returns an empty one; the whole of a long output goes to a file in `folder`.
    pub(super) fn new(
        limits: ToolLimits,
        folder: Option<PathBuf>,
        redactor: Arc<Redactor>,
    ) -> Self {
        Self {
            limits,
            folder,
            source: "bash",
            screen: Screen::default(),
            pieces: PieceRedactor::new(redactor),
            head: String::new(),
            tail: String::new(),
            dropped: Size::default(),
            total: Size::default(),
            full: Full::None,
            live: Throttle::default(),
        }
    }

    /// Returns the same with a receiver of updates.
    pub(super) fn watched_by(self, live: LiveOutput) -> Self {
        Self {
            live: Throttle::new(live, Instant::now()),
            ..self
        }
    }

    /// Returns when the newest output is to be sent to who watches; none when there is nothing new.
    pub(super) fn update_due(&self, now: Instant) -> Option<Instant> {
        self.live.due(now)
    }

    /// Sends the end of the output to who watches.
    pub(super) fn send_update(&mut self, now: Instant) {
        let kept = match self.dropped.bytes {
            0 => format!("{}{}", self.head, self.tail),
            _ => self.tail.clone(),
        };
        let from = ending(&kept, LIVE_BYTES, usize::MAX);
        self.live.send(kept[from..].to_owned(), now);
    }

    /// Adds what the command wrote.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut text = String::with_capacity(bytes.len());
        self.screen.feed(bytes, &mut text);
        let text = self.pieces.push(&text);
        self.add(&text);
        if !text.is_empty() {
            self.live.change();
        }
    }

    fn add(&mut self, text: &str) {
        let mut total = self.total;
        total.add(text);
        if total.bytes > self.limits.output_bytes || total.lines > self.limits.output_lines {
            self.keep_full();
        }
        self.write_full(text);
        self.total = total;
        let mut rest = text;
        if self.tail.is_empty() {
            // Half of each limit is for the beginning.
            let bytes = (self.limits.output_bytes / 2).saturating_sub(self.head.len());
            let lines = self.limits.output_lines / 2;
            let lines = lines.saturating_sub(self.head.matches('\n').count());
            let (head, after) = text.split_at(beginning(text, bytes, lines));
            self.head.push_str(head);
            rest = after;
        }
        self.tail.push_str(rest);
        if self.tail.len() > self.limits.output_bytes.saturating_mul(2).max(4096) {
            let from = self.tail.len() - self.limits.output_bytes;
            let from = self.tail.ceil_char_boundary(from);
            self.dropped.add(&self.tail[..from]);
            self.tail.drain(..from);
        }
    }

    /// Returns what is shown of the whole.
    pub(super) fn finish(mut self) -> Captured {
        let mut text = String::new();
        self.screen.finish(&mut text);
        let mut text = self.pieces.push(&text);
        text.push_str(&self.pieces.finish());
        self.add(&text);
        let limits = self.limits;
        let long = self.total.bytes > limits.output_bytes || self.total.lines > limits.output_lines;
        let all = |capture: &Self| format!("{}{}", capture.head, capture.tail);
        if !long && clip_lines(&all(&self), limits.line_chars).is_none() {
            return Captured {
                text: all(&self),
                truncated: false,
                full: None,
            };
        }
        self.keep_full();
        let text = match long {
            false => all(&self),
            true => self.shortened(),
        };
        let mut text = clip_lines(&text, limits.line_chars).unwrap_or(text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let (notice, full) = match self.full {
            Full::None => ("the whole output was not kept".to_owned(), None),
            Full::Open { path, .. } => (
                format!("the whole output is in {}", path.display()),
                Some(path),
            ),
            Full::Part { path } => {
                let most = limits.full_output_bytes;
                let notice = format!("the first {most} bytes of the output are in");
                (format!("{notice} {}", path.display()), Some(path))
            }
            Full::Lost(reason) => (
                format!("the whole output could not be kept: {reason}"),
                None,
            ),
        };
        text.push_str(&format!("[{notice}]\n"));
        Captured {
            text,
            truncated: true,
            full,
        }
    }

    fn shortened(&self) -> String {
        let bytes = self.limits.output_bytes.saturating_sub(self.head.len());
        let lines = self.limits.output_lines;
        let lines = lines.saturating_sub(self.head.matches('\n').count());
        let from = ending(&self.tail, bytes, lines);
        let mut left = self.dropped;
        left.add(&self.tail[..from]);
        let newline = match self.head.is_empty() || self.head.ends_with('\n') {
            true => "",
            false => "\n",
        };
        let left = format!(
            "[{}, {} left out here]",
            count(left.lines, "line"),
            count(left.bytes, "byte")
        );
        format!("{}{newline}{left}\n{}", self.head, &self.tail[from..])
    }

    /// Makes the file and puts into it what came so far, which is all in memory still.
    fn keep_full(&mut self) {
        let Full::None = self.full else {
            return;
        };
        let Some(folder) = &self.folder else {
            return;
        };
        self.full = match make(folder, self.source) {
            Ok((file, path)) => Full::Open {
                file,
                path,
                room: self.limits.full_output_bytes,
            },
            Err(error) => Full::Lost(crate::text::reason(&error)),
        };
        let before = format!("{}{}", self.head, self.tail);
        self.write_full(&before);
    }

    fn write_full(&mut self, text: &str) {
        let Full::Open { file, path, room } = &mut self.full else {
            return;
        };
        let fits = usize::try_from(*room).unwrap_or(usize::MAX).min(text.len());
        let fits = text.floor_char_boundary(fits);
        if let Err(error) = file.write_all(&text.as_bytes()[..fits]) {
            self.full = Full::Lost(crate::text::reason(&error));
            return;
        }
        *room -= fits as u64;
        if fits < text.len() {
            self.full = Full::Part {
                path: std::mem::take(path),
            };
        }
    }
}

fn make(folder: &Path, source: &str) -> io::Result<(File, PathBuf)> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    make_folder(folder)?;
    let path = folder.join(format!("{source}-{}.txt", uuid::Uuid::now_v7()));
    let file = options.write(true).create_new(true).open(&path)?;
    Ok((file, path))
}

/// Makes the folder of whole outputs, which the user alone can read.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
