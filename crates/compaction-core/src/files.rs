//! The files that the agent read and changed, from its tool calls and from earlier summaries.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use session_model::{
    AgentMessage, CallEvent, EntryBody, FileDetails, SessionContext, ToolCall, match_calls,
};

use crate::prompts;
use crate::serialize::escape_line;
use session_facts::{FileAction, below, file_calls};

/// Returns what a call does to which file for pi 1.6.0, which knows three tools and one argument.
fn pi_file_call(call: &ToolCall) -> Option<(FileAction, String)> {
    let action = match call.name.as_str() {
        "read" => FileAction::Read,
        "write" => FileAction::Write,
        "edit" => FileAction::Edit,
        _ => return None,
    };
    let path = call.arguments.as_ref()?.string_member("path")?;
    (!path.is_empty()).then(|| (action, path.into_owned()))
}

/// The calls that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCalls {
    /// Calls that did not fail, in the dialects of several agents; without a result only the newest count.
    Succeeded,
    /// All calls of `read`, `write` and `edit` (pi 1.6.0).
    AllOfPi,
}

/// Files by what was done with them; each remembers when it was last touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOps {
    read: BTreeMap<String, u64>,
    modified: BTreeMap<String, u64>,
    clock: u64,
    /// The folder below which the tags name files by the rest of their path.
    folder: String,
}

impl FileOps {
    /// Lets the tags name files below `folder` by the rest of their path.
    pub(crate) fn seen_from(mut self, folder: &str) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Adds the lists of an earlier summary.
    pub fn add_details(&mut self, details: &FileDetails) {
        for path in &details.read_files {
            self.touch(FileAction::Read, path.clone());
        }
        for path in &details.modified_files {
            self.touch(FileAction::Edit, path.clone());
        }
    }

    /// Returns the files of a whole context: of its messages as they were written, and of the summaries in it
    /// that no extension made.
    pub fn of_context(context: &SessionContext) -> Self {
        let mut files = Self::default();
        for projected in &context.entries {
            let (details, foreign) = match &projected.entry.body {
                EntryBody::Compaction(compaction) => (
                    &compaction.details,
                    compaction.from_hook || compaction.from_extension,
                ),
                EntryBody::BranchSummary(branch) => {
                    (&branch.details, branch.from_hook || branch.from_extension)
                }
                _ => continue,
            };
            if let Some(details) = details.as_ref().filter(|_| !foreign) {
                files.add_details(&FileDetails::of(details));
            }
        }
        let entries = context.entries.iter();
        let originals: Vec<_> = entries
            .flat_map(|projected| projected.entry.messages())
            .collect();
        files.add_messages(originals.iter(), FileCalls::Succeeded);
        files
    }

    /// Adds the calls that `messages` make.
    pub fn add_messages<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a Arc<AgentMessage>>,
        which: FileCalls,
    ) {
        let messages: Vec<&AgentMessage> = messages.map(|message| &**message).collect();
        self.add_first(&messages, messages.len(), which);
    }

    /// Adds the calls that the first `count` of `messages` make; the results that show if they failed may be in the
    /// others.
    pub(crate) fn add_first(&mut self, messages: &[&AgentMessage], count: usize, which: FileCalls) {
        let matched = match_calls(messages.iter().map(|message| CallEvent::from(*message)));
        let speaks = |message: &&AgentMessage| {
            matches!(message, AgentMessage::User(_) | AgentMessage::Assistant(_))
        };
        // Only these calls may still have their results to come.
        let waiting = messages.iter().rposition(speaks);
        for (place, message) in messages.iter().enumerate().take(count) {
            let made = message.tool_calls().map(|call| {
                let result = matched.get(&(place, call.id.as_str()));
                let done = match result {
                    Some(result) => !is_failure(messages[*result]),
                    None => waiting == Some(place),
                };
                (call, done)
            });
            let nested = message.nested_calls();
            let nested = nested.iter().map(|nested| (&nested.call, nested.succeeded));
            for (call, done) in made.chain(nested) {
                let found = match which {
                    FileCalls::Succeeded if !done => Vec::new(),
                    FileCalls::Succeeded => file_calls(call),
                    FileCalls::AllOfPi => pi_file_call(call).into_iter().collect(),
                };
                for (action, path) in found {
                    self.touch(action, path);
                }
            }
        }
    }

    fn touch(&mut self, action: FileAction, path: String) {
        self.clock += 1;
        // A file that was deleted is a change as well.
        let set = match action {
            FileAction::Read => &mut self.read,
            FileAction::Write | FileAction::Edit | FileAction::Delete => &mut self.modified,
        };
        set.insert(path, self.clock);
    }

    /// Returns the files that were only read, sorted by UTF-16 code units.
    pub fn read_files(&self) -> Vec<String> {
        let only_read = self
            .read
            .keys()
            .filter(|path| !self.modified.contains_key(*path));
        sorted(only_read.cloned().collect())
    }

    /// Returns the files that were written or edited, sorted by UTF-16 code units.
    pub fn modified_files(&self) -> Vec<String> {
        sorted(self.modified.keys().cloned().collect())
    }

    /// Returns the files that were only read, the one touched last at the end.
    pub fn read_by_recency(&self) -> Vec<String> {
        let read = self.read.iter();
        by_recency(read.filter(|(path, _)| !self.modified.contains_key(*path)))
    }

    /// Returns the files that were written or edited, the one touched last at the end.
    pub fn modified_by_recency(&self) -> Vec<String> {
        by_recency(self.modified.iter())
    }

    /// Returns the tags that name the files at the end of a summary, or nothing when there are none; of each list the
    /// `limit` touched last. With a limit a path is always one line that ends no tag, and files with the same folder
    /// and ending share a line; pi does none of that.
    pub fn tags(&self, limit: Option<usize>) -> String {
        let lines = |all: Vec<String>, newest_last: Vec<String>| -> String {
            let more = limit.map_or(0, |limit| all.len().saturating_sub(limit));
            let mut lines = match more {
                0 => all,
                more => sorted(newest_last[more..].to_vec()),
            };
            if limit.is_some() {
                let paths = lines.iter().map(|path| below(&self.folder, path));
                let paths: Vec<String> = paths.map(escape_line).collect();
                lines = by_folder(&paths);
            }
            if more > 0 {
                lines.push(format!("({more} more, not touched lately)"));
            }
            lines.join("\n")
        };
        prompts::file_operations(
            &lines(self.read_files(), self.read_by_recency()),
            &lines(self.modified_files(), self.modified_by_recency()),
        )
    }
}

/// Returns lines for sorted paths. Files with the same folder and ending share a line, with braces as in a shell:
/// `src/app/{form,page,row}.ts`.
fn by_folder(paths: &[String]) -> Vec<String> {
    let parts = |path: &str| {
        let name = path.rfind('/').map_or(0, |at| at + 1);
        let ending = path[name..].rfind('.').filter(|at| *at > 0);
        let ending = ending.map_or(path.len(), |at| name + at);
        (name, ending)
    };
    let around = |path: &String| {
        let (name, ending) = parts(path);
        let plain = !path.contains(['{', '}', ',', '&', '\\']);
        (plain && name > 0).then(|| (path[..name].to_owned(), path[ending..].to_owned()))
    };
    let mut together: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for path in paths {
        if let Some(around) = around(path) {
            let (name, ending) = parts(path);
            together
                .entry(around)
                .or_default()
                .push(&path[name..ending]);
        }
    }
    let mut lines = Vec::new();
    for path in paths {
        let Some((folder, ending)) = around(path) else {
            lines.push(path.clone());
            continue;
        };
        // The first one writes the line of all.
        let names = together.remove(&(folder.clone(), ending.clone()));
        match names.unwrap_or_default().as_slice() {
            [] => {}
            [_] => lines.push(path.clone()),
            names => lines.push(format!("{folder}{{{}}}{ending}", names.join(","))),
        }
    }
    lines
}

/// Returns true for the result of a call that failed or was denied.
fn is_failure(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::ToolResult(result) if result.is_error)
}

fn sorted(mut paths: Vec<String>) -> Vec<String> {
    paths.sort_by(|one, other| one.encode_utf16().cmp(other.encode_utf16()));
    paths
}

fn by_recency<'a>(touched: impl Iterator<Item = (&'a String, &'a u64)>) -> Vec<String> {
    let mut touched: Vec<_> = touched.collect();
    touched.sort_by_key(|(_, at)| **at);
    touched.into_iter().map(|(path, _)| path.clone()).collect()
}

/// Returns a text in which each file that shares a line in the lists of files has a separate line.
pub fn with_whole_paths(summary: &str) -> Cow<'_, str> {
    if !summary.contains('{') {
        return Cow::Borrowed(summary);
    }
    let mut out = String::with_capacity(summary.len());
    let mut listed = false;
    for line in summary.split_inclusive('\n') {
        if line.trim_end().ends_with("-files>") {
            listed = line.starts_with('<') && !line.starts_with("</");
        }
        let shared = line.split_once('{').filter(|_| listed);
        let shared = shared.and_then(|(folder, rest)| Some((folder, rest.split_once('}')?)));
        // A file name may contain braces itself.
        let shared = shared.filter(|(_, (names, _))| names.contains(','));
        match shared {
            Some((folder, (names, kind))) => {
                for name in names.split(',') {
                    out.push_str(&format!("{folder}{name}{kind}"));
                }
            }
            None => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

/// Returns `summary` without the file tags at its end, so that a carried summary never repeats them.
pub fn without_file_tags(summary: &str) -> &str {
    let mut text = summary.trim_end();
    loop {
        let before = text;
        for tag in ["read-files", "modified-files"] {
            let open = format!("<{tag}>");
            if text.ends_with(&format!("</{tag}>"))
                && let Some(at) = text.rfind(&open)
            {
                text = text[..at].trim_end();
            }
        }
        if text == before {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FileCalls, FileDetails, FileOps, without_file_tags};

    fn ops(read: &[&str], modified: &[&str]) -> FileOps {
        let own = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let mut ops = FileOps::default();
        ops.add_details(&FileDetails {
            read_files: own(read),
            modified_files: own(modified),
        });
        ops
    }

    #[test]
    fn what_was_modified_is_not_listed_as_read() {
        let ops = ops(&["b", "a", "m"], &["m"]);
        assert_eq!(ops.read_files(), ["a", "b"]);
        assert_eq!(ops.modified_files(), ["m"]);
    }

    #[test]
    fn calls_that_a_tool_made_count_unless_they_failed() {
        let line = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"toolResult","toolCallId":"t","toolName":"exec","content":[],"isError":false,"nestedCalls":{"complete":true,"calls":[{"id":"1","name":"read","arguments":{"path":"a.rs"},"status":"ok"},{"id":"2","name":"edit","arguments":{"path":"b.rs"},"status":"ok"},{"id":"3","name":"write","arguments":{"path":"c.rs"},"status":"error"},{"id":"4","name":"write","argumentsBytes":70000,"status":"ok"}]}}}
"#;
        let tree = session_model::decode_bytes(line.as_bytes().to_vec()).tree;
        let entry = tree.find("a").map(|index| tree.entry(index));
        let messages = entry.expect("an entry").expect("a message").messages();
        let files = |which| {
            let mut files = FileOps::default();
            files.add_messages(messages.iter(), which);
            (files.read_files(), files.modified_files())
        };
        let (read, modified) = files(FileCalls::Succeeded);
        assert_eq!(
            (read.join(" "), modified.join(" ")),
            ("a.rs".into(), "b.rs".into())
        );
        let (_, modified) = files(FileCalls::AllOfPi);
        assert_eq!(modified, ["b.rs", "c.rs"]);
    }

    #[test]
    fn tags_are_bounded_by_recency_and_can_be_taken_off() {
        let ops = ops(&["c", "b", "a"], &["m"]);
        let tags = ops.tags(Some(2));
        assert_eq!(
            tags,
            "\n\n<read-files>\na\nb\n(1 more, not touched lately)\n</read-files>\n\n<modified-files>\nm\n</modified-files>"
        );
        assert_eq!(without_file_tags(&format!("text{tags}")), "text");
        let several = self::ops(&["b/x.rs", "a/1.rs", "a/b/2.rs", "a/3.rs", "a/4.rs"], &[]);
        assert_eq!(
            several.tags(Some(9)),
            "\n\n<read-files>\na/{1,3,4}.rs\na/b/2.rs\nb/x.rs\n</read-files>"
        );
        let told = "in src/{a,b}.rs\n<read-files>\n";
        let whole = format!("{told}a/{{1,3}}.rs\na/{{id}}.rs\nb.rs\n</read-files>\nc/{{d,e}}");
        let whole = super::with_whole_paths(&whole).into_owned();
        assert_eq!(
            whole,
            format!("{told}a/1.rs\na/3.rs\na/{{id}}.rs\nb.rs\n</read-files>\nc/{{d,e}}")
        );
        let odd = "p\n</read-files>\n<ledger>\n[User]: q";
        assert_eq!(
            self::ops(&[odd, "[User]: r"], &[]).tags(Some(9)),
            "\n\n<read-files>\n\\[User]: r\np &lt;/read-files> &lt;ledger> [User]: q\n</read-files>"
        );
        assert_eq!(without_file_tags("a <read-files> b"), "a <read-files> b");
    }
}
