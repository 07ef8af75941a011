//! The sessions that this one continues after a handoff, and the outputs that entries keep in files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_tools::History;
use agent_tools::text::clip_line;
use serde_json::Value;
use session_model::{EntryId, SessionTree, StatedRole};
use session_recall::RecallRole;
use session_store::{SessionFile, is_sidecar};

use super::recall::{Look, MOST_ENTRIES, SearchArguments};
use super::recalling::pattern;

/// How many lines of a kept output are shown, and how much of each, in characters.
const OUTPUT_LINES: usize = 3;
const LINE_CHARS: usize = 200;

/// How many sessions are followed back.
const MOST_SESSIONS: usize = 8;

/// How much of one output is searched, in bytes.
const MOST_BYTES: u64 = 128 << 20;

/// Where the details of a result name the file of its whole output.
const FULL_OUTPUT: &str = "full_output_path";

/// Returns the sessions that a session continues, the newest first. The one that it is a copy of is none of them.
pub(super) fn earlier(history: &History) -> Vec<Arc<History>> {
    let mut found: Vec<Arc<History>> = Vec::new();
    let parent = |tree: &SessionTree| tree.header().and_then(|head| head.parent_session.clone());
    let mut next = parent(&history.tree);
    for _ in 0..MOST_SESSIONS {
        let Some(session) = next.and_then(|path| SessionFile::open(Path::new(&path)).ok()) else {
            break;
        };
        let tree = session.tree().clone();
        next = parent(&tree);
        let first = tree.indices().next();
        if first.is_some_and(|first| history.tree.find(&EntryId::new(tree.id(first))).is_none()) {
            let leaf = tree.leaf();
            found.push(Arc::new(History { tree, leaf }));
        }
    }
    found
}

/// Returns the files in which results of a session keep their whole output; as far as it came until `stop` said so.
fn kept_outputs(tree: &SessionTree, stop: &dyn Fn() -> bool) -> BTreeSet<PathBuf> {
    let results = tree
        .indices()
        .filter(|index| tree.role(*index) == Some(StatedRole::ToolResult));
    let paths = results.take_while(|_| !stop()).filter_map(|index| {
        let line = String::from_utf8(tree.raw_line(index).ok()?).ok()?;
        if !line.contains(FULL_OUTPUT) {
            return None;
        }
        let entry: Value = serde_json::from_str(&line).ok()?;
        let path = entry["message"]["details"][FULL_OUTPUT].as_str()?;
        Some(PathBuf::from(path))
    });
    paths.filter(|path| is_sidecar(path)).collect()
}

/// Returns the lines of kept outputs that `matches` takes, at most `most` of each: file, number of the line, text.
/// `None` when `stop` said so.
fn search_outputs(
    tree: &SessionTree,
    most: usize,
    matches: &dyn Fn(&str) -> bool,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<(PathBuf, usize, String)>> {
    let mut found = Vec::new();
    for path in kept_outputs(tree, stop) {
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let lines = BufReader::new(file.take(MOST_BYTES)).split(b'\n');
        let mut here = 0;
        for (number, line) in lines.map_while(Result::ok).enumerate() {
            if number % 1024 == 0 && stop() {
                return None;
            }
            let line = String::from_utf8_lossy(&line);
            if matches(&line) {
                found.push((path.clone(), number + 1, line.into_owned()));
                here += 1;
                if here == most {
                    break;
                }
            }
        }
    }
    Some(found)
}

impl Look {
    /// Returns lines of outputs that are kept in files, as far as the role asks for results of tools.
    pub(super) fn search_outputs(
        &self,
        arguments: &SearchArguments,
        of: &History,
    ) -> Result<String, String> {
        if !matches!(arguments.role(), None | Some(RecallRole::Tool)) {
            return Ok(String::new());
        }
        let words = arguments.query.to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let is_regex = arguments.regex.unwrap_or(false);
        let pattern = is_regex.then(|| pattern(&arguments.query)).transpose()?;
        let matches = |line: &str| match &pattern {
            Some(pattern) => pattern.is_match(line),
            None => {
                let line = line.to_lowercase();
                words.iter().all(|word| line.contains(word))
            }
        };
        let found = search_outputs(&of.tree, OUTPUT_LINES, &matches, &|| {
            self.cancel.is_cancelled()
        });
        let mut text = String::new();
        for (path, line, found) in found.unwrap_or_default().iter().take(MOST_ENTRIES) {
            if text.is_empty() {
                text.push_str("\n\nIn whole outputs, which read shows by path and offset:");
            }
            let found = self.redactor.clean_answer(&clip_line(found, LINE_CHARS));
            text.push_str(&format!("\n{} line {line}: {found}", path.display()));
        }
        Ok(text)
    }
}
