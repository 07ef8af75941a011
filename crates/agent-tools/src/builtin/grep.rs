//! `grep`: the lines of files that match a pattern.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::file_tool::FileTool;
use super::listing::Listing;
use super::search::{Hits, Search};
use super::walk::{Pattern, walk};
use crate::context::ToolContext;
use crate::file::CommitPoint;
use crate::kind::Kind;
use crate::output::ToolOutput;
use crate::text::{clip_line, count, reason};
use crate::tool::{PathArgument, ToolKind, ToolMeta};
use crate::workspace::Workspace;
use crate::workspace::resolved::{Purpose, ResolvedPath};

/// The default number of matching lines shown.
const SHOWN: usize = 100;

/// The most lines that are shown before and after a match.
const MOST_CONTEXT: usize = 20;

/// The limit of a compiled pattern, in bytes.
const PATTERN_MEMORY: usize = 1024 * 1024;

/// The number of skipped files that are named.
const NAMED: usize = 5;

/// The longest message about a pattern, in characters.
const MESSAGE_CHARS: usize = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A regular expression, matched in each line by itself.
    pattern: String,
    /// The file or folder to search, from the workspace on or absolute. Without it, the workspace.
    path: Option<String>,
    /// Searches only files with such names: *.rs, or src/**/*.rs from the folder on.
    glob: Option<String>,
    /// Takes upper case and lower case for the same.
    ignore_case: Option<bool>,
    /// Takes the pattern as plain text.
    literal: Option<bool>,
    /// How many lines to show before and after each match, 20 at most. Without it, none.
    context: Option<usize>,
    /// How many matching lines to show: 100 when nothing is said.
    limit: Option<NonZeroUsize>,
}

/// A call that can run.
struct Ready<'a> {
    path: Option<&'a str>,
    matcher: RegexMatcher,
    glob: Option<Pattern>,
    context: usize,
    limit: usize,
}

impl<'a> Ready<'a> {
    fn of(arguments: &'a Arguments) -> Result<Self, String> {
        let glob = arguments.glob.as_deref().map(Pattern::new).transpose();
        let context = arguments.context.unwrap_or(0);
        if context > MOST_CONTEXT {
            return Err(format!(
                "context: {context} is more than {MOST_CONTEXT}; read the file at the line instead"
            ));
        }
        Ok(Self {
            matcher: matcher(arguments)?,
            path: arguments.path.as_deref(),
            glob: glob.map_err(|reason| format!("glob: {reason}"))?,
            context,
            limit: arguments.limit.map_or(SHOWN, NonZeroUsize::get),
        })
    }
}

fn matcher(arguments: &Arguments) -> Result<RegexMatcher, String> {
    let pattern = &arguments.pattern;
    if pattern.is_empty() {
        return Err("pattern: is empty; say what to look for".to_owned());
    }
    let literal = arguments.literal.unwrap_or(false);
    if literal && pattern.contains(['\n', '\r']) {
        return Err(
            "pattern: spans lines, and each is searched by itself; take one of them".to_owned(),
        );
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .fixed_strings(literal)
        .case_insensitive(arguments.ignore_case.unwrap_or(false))
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_MEMORY)
        .dfa_size_limit(PATTERN_MEMORY);
    builder.build(pattern).map_err(|error| {
        let fault = match error.kind() {
            grep_regex::ErrorKind::NotAllowed(_) => {
                return "pattern: spans lines, and each is searched by itself; take one of them"
                    .to_owned();
            }
            _ => error.to_string(),
        };
        // The last line is the error; those above show where it is.
        let fault = fault.lines().next_back().unwrap_or_default();
        let fault = fault.strip_prefix("error: ").unwrap_or(fault);
        let fault = clip_line(fault, MESSAGE_CHARS);
        match literal {
            true => format!("pattern: {fault}; take a shorter one"),
            false => format!(
                "pattern: {fault}; mend it, or set literal to true to look for the text as it is"
            ),
        }
    })
}

/// The tool.
pub(super) const GREP: FileTool<Arguments> = FileTool {
    name: "grep",
    description: "Searches files for lines that match a regular expression and shows them as path:line: text, sorted by \
         path. What .gitignore names is left out unless it is named in path; hidden files are searched, binary \
         files are not.",
    meta: ToolMeta {
        kind: ToolKind::Search,
        path: Some(PathArgument::FileOrFolder),
        ..ToolMeta::READ
    },
    work: grep,
};

fn grep(
    arguments: &Arguments,
    context: &ToolContext,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let (workspace, limits) = (&*context.workspace, &context.limits);
    let ready = &Ready::of(arguments)?;
    let shown = ready.path.unwrap_or(".");
    let describe = |reason: String| format!("cannot search {shown}: {reason}");
    let place = workspace.locate_or_top(ready.path)?;
    let mut results = Results {
        workspace,
        ready,
        search: Search::new(&ready.matcher, ready.context, limits, &context.redactor),
        listing: Listing::new(limits),
        matches: 0,
        files: 0,
        more: false,
        binary: Vec::new(),
        failed: 0,
    };
    let mut passed = Vec::new();
    match place.kind().map_err(|error| describe(reason(&error)))? {
        Kind::Folder => {
            let walked = walk(&place, commit, |found| {
                let fits = ready.glob.as_ref();
                let fits = fits.is_none_or(|glob| glob.matches(&found.names));
                if found.kind != Kind::File || !fits {
                    return ControlFlow::Continue(());
                }
                match results.file(&found.place, commit) {
                    Ok(flow) => flow,
                    Err(_) => {
                        results.failed += 1;
                        ControlFlow::Continue(())
                    }
                }
            });
            passed = walked.map_err(describe)?.notices();
        }
        Kind::File | Kind::Link | Kind::Pipe | Kind::Socket | Kind::Device | Kind::Other => {
            // Opening the file gives the error.
            let _ = results.file(&place, commit).map_err(describe)?;
        }
    }
    if commit.is_cancelled() {
        return Err("cancelled".to_owned());
    }
    Ok(results.into_output(passed))
}

/// The results so far.
struct Results<'a> {
    workspace: &'a Workspace,
    ready: &'a Ready<'a>,
    search: Search<'a>,
    listing: Listing,
    matches: usize,
    files: usize,
    more: bool,
    binary: Vec<String>,
    failed: usize,
}

impl Results<'_> {
    /// Searches a file; breaks off when there is enough.
    fn file(
        &mut self,
        place: &ResolvedPath,
        commit: &CommitPoint,
    ) -> Result<ControlFlow<()>, String> {
        let (file, _) = place.open(Purpose::Read).map_err(|error| reason(&error))?;
        let room = self.ready.limit - self.matches;
        let hits = self.search.run(&file, room, commit);
        let hits = hits.map_err(|error| reason(&error))?;
        let path = self.workspace.shown(place.path());
        if hits.binary {
            self.binary.push(path);
            return Ok(ControlFlow::Continue(()));
        }
        self.files += 1;
        Ok(self.show(&path, &hits))
    }

    fn show(&mut self, path: &str, hits: &Hits) -> ControlFlow<()> {
        let parted = self.ready.context > 0 && self.listing.lines() > 0;
        if parted && !hits.lines.is_empty() {
            self.listing.add("--");
        }
        for line in &hits.lines {
            if !self.listing.add(&line.shown(path)) {
                self.more = true;
                return ControlFlow::Break(());
            }
            self.matches += usize::from(line.is_match());
        }
        self.more = hits.more;
        match hits.more {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn into_output(self, passed: Vec<String>) -> ToolOutput {
        let mut notices = Vec::new();
        let matches = self.matches;
        if self.more {
            let hint = match matches == self.ready.limit {
                true => "narrow it with path or glob, or set limit",
                false => "narrow it with path or glob",
            };
            let matches = count(matches, "matching line");
            notices.push(format!("{matches} shown and there are more; {hint}"));
        } else if matches == 0 {
            let files = count(self.files, "file");
            notices.push(format!("nothing matches in {files}"));
        }
        if !self.binary.is_empty() {
            let files = count(self.binary.len(), "binary file");
            let mut named = self.binary;
            if named.len() > NAMED {
                named.truncate(NAMED);
                named.push("...".to_owned());
            }
            notices.push(format!("{files} skipped: {}", named.join(", ")));
        }
        if self.failed > 0 {
            let files = count(self.failed, "file");
            notices.push(format!("{files} could not be searched"));
        }
        notices.extend(passed);
        let details = json!({ "matches": matches, "files": self.files, "more": self.more });
        ToolOutput::text(self.listing.into_text(&notices)).with_details(details)
    }
}
