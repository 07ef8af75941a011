//! Reading the files: regular ones only, as much as counts, as text that shows what it says.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use llm_providers::Redactor;

use super::Texts;
use agent_tools::text::without_controls;
use agent_tools::{Identity, open_regular, reason};
use session_model::text::turns;

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// Its beginning, or all of it.
    pub text: String,
    /// How large the file is, in bytes, where this is not all of it.
    pub cut_from: Option<u64>,
}

/// What came of reading a file: its text, nothing where it is empty, or why it is refused.
pub(super) type ReadText = Result<Option<Text>, String>;

/// What was read before, and is not read again while the file is the same.
#[derive(Debug, Default)]
pub(super) struct Cache {
    texts: Texts<(Identity, ReadText)>,
    redactor: Arc<Redactor>,
}

/// How much more is read than counts, so that a key that the cut goes through is known, in bytes.
const BEHIND: usize = 8_192;

/// Where a link may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounds<'a> {
    /// Anywhere: it is the user's own.
    Free,
    /// Within this folder, in whose path there are no links.
    Within(&'a Path),
}

impl Cache {
    /// Returns one that holds nothing, and takes keys out of what it reads.
    pub fn without_keys(redactor: Arc<Redactor>) -> Self {
        Self {
            texts: Texts::default(),
            redactor,
        }
    }

    /// Returns a text without the keys that are known.
    pub fn clean(&self, text: &str) -> String {
        self.redactor.clean_answer(text)
    }

    /// Returns the first `most` bytes of a file as text; none where nothing stands there.
    pub fn read(&mut self, path: &Path, bounds: Bounds<'_>, most: usize) -> Option<ReadText> {
        match path.symlink_metadata() {
            Ok(_) => {}
            Err(error) => {
                use std::io::ErrorKind::{NotADirectory, NotFound};
                let missing = matches!(error.kind(), NotFound | NotADirectory);
                return (!missing).then(|| Err(reason(&error)));
            }
        }
        let real = match real(path, bounds) {
            Ok(real) => real,
            Err(why) => return Some(Err(why)),
        };
        let identity = real.symlink_metadata().map(|found| Identity::of(&found));
        if let (Ok(now), Some((before, text))) = (&identity, self.texts.get(path))
            && now == before
        {
            return Some(text.clone());
        }
        let (identity, text) = match open_regular(&real) {
            Ok((file, found)) => {
                let text = self.text_of(file, found.len(), most);
                (Identity::of(&found), text)
            }
            Err(why) => return Some(Err(why)),
        };
        self.texts.insert(path.to_owned(), (identity, text.clone()));
        Some(text)
    }

    fn text_of(&self, file: impl Read, size: u64, most: usize) -> ReadText {
        let mut bytes = Vec::new();
        let limit = u64::try_from(most.saturating_add(BEHIND)).unwrap_or(u64::MAX);
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| reason(&error))?;
        let is_whole = bytes.len() <= most;
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            // What stands behind the cut does not count.
            Err(error) if error.valid_up_to() >= most && !is_whole => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(error) => {
                let at = error.valid_up_to();
                let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
                return Err(format!(
                    "is not UTF-8 text: byte {}, line {line}; save it as UTF-8",
                    at + 1
                ));
            }
        };
        let text = self.clean(&clean(text));
        let text = match is_whole {
            true => text,
            false => cut(&text, most).to_owned(),
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        Ok(Some(Text {
            text,
            cut_from: (!is_whole).then_some(size),
        }))
    }
}

/// Returns the file that a path leads to, unless it leads too far.
fn real(path: &Path, bounds: Bounds<'_>) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "is a link to nothing".to_owned(),
        _ => reason(&error),
    })?;
    match bounds {
        Bounds::Within(folder) if !real.starts_with(folder) => {
            Err("leads out of the project; put a copy in place of the link".to_owned())
        }
        Bounds::Within(_) | Bounds::Free => Ok(real),
    }
}

/// Returns text without what cannot be seen: control characters, and characters that turn or hide others.
fn clean(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let text = without_controls(&text).unwrap_or(text);
    match text.contains(turns) {
        true => text.replace(turns, "\u{fffd}"),
        false => text,
    }
}

/// Returns the beginning of a text with at most `most` bytes; it ends with a line where it can.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let beginning = &text[..text.floor_char_boundary(most)];
    match beginning.rfind('\n') {
        Some(end) => &beginning[..=end],
        None => beginning,
    }
}
