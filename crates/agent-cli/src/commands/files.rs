//! `files`: what a session did with files, and the text of one as the session saw it last.

use clap::Args;
use serde_json::json;
use session_model::text::clean_lines;
use session_recall::{FileEvent, FileHistory, file_history};

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::{BOLD, DIM, clean, counted, styled};

/// Show which files the agent read and changed, or the history of one and its text as the session saw it last.
#[derive(Debug, Args)]
pub struct FilesArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// The file, or the end of its path.
    pub path: Option<String>,
}

pub(super) fn run(args: &FilesArgs, _: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let files = file_history(&tree.path(args.session.leaf(tree)?));
    let outcome = match &args.path {
        None => list(&files),
        Some(path) => one(&files, path)?,
    };
    Ok(outcome.of(session.report()))
}

fn list(files: &[FileHistory]) -> Outcome {
    let rows: Vec<_> = files
        .iter()
        .map(|file| json!({ "path": file.path, "events": file.events, "known": file.content.is_some() }))
        .collect();
    let document = json!({ "files": rows });
    if files.is_empty() {
        let reason = "no call of this branch names a file";
        return Outcome::nothing_to_do(reason.to_owned(), document);
    }
    let lines = files.iter().map(|file| {
        let counts = ["read", "write", "edit"].map(|action| {
            let events = file.events.iter().filter(|event| event.action == action);
            (events.count(), action)
        });
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| counted(*count, what)).collect();
        let last = file.events.last().map_or("", |event| &*event.entry_id);
        let told = format!("{}, last in {}", counts.join(", "), clean(last));
        format!("{}  {}\n", clean(&file.path), styled(DIM, &told))
    });
    let text: String = lines.collect();
    Outcome::done(&document, text)
}

fn one(files: &[FileHistory], path: &str) -> Result<Outcome, Error> {
    let path = path.trim_start_matches("./");
    let ends = |file: &&FileHistory| {
        let before = file.path.strip_suffix(path);
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let exact = files.iter().find(|file| file.path == path);
    let found: Vec<&FileHistory> = match exact {
        Some(file) => vec![file],
        None => files.iter().filter(ends).collect(),
    };
    match found[..] {
        [file] => Ok(Outcome::done(file, text_of(file))),
        [] => Err(Error::Usage(format!(
            "no call of this branch names {path}; leave it out to list the files"
        ))),
        _ => {
            let paths = found.iter().take(10).map(|file| file.path.as_str());
            let paths = paths.collect::<Vec<_>>().join(", ");
            Err(Error::Usage(format!("several files end so: {paths}")))
        }
    }
}

fn text_of(file: &FileHistory) -> String {
    let mut text = format!("{}\n", styled(BOLD, &clean(&file.path)));
    for event in &file.events {
        text.push_str(&styled(DIM, &line(event)));
        text.push('\n');
    }
    match &file.content {
        Some(content) => {
            text.push('\n');
            text.push_str(&clean_lines(content));
            if !content.ends_with('\n') {
                text.push('\n');
            }
        }
        None => text.push_str("\nthe session does not have all of its last text\n"),
    }
    text
}

fn line(event: &FileEvent) -> String {
    let date = event.timestamp.as_deref().and_then(|date| date.get(..16));
    let date = date.map_or(String::new(), |date| {
        format!("  {}", date.replace('T', " "))
    });
    let outcome = match event.outcome {
        "done" => String::new(),
        other => format!("  ({other})"),
    };
    format!(
        "  {}  {}{date}{outcome}",
        clean(&event.entry_id),
        event.action
    )
}
