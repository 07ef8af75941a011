//! `inspect`: what a session holds.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use compaction_core::{FileOps, TokenCount, TokenCounter, measure, threshold};
use serde::Serialize;
use serde_json::{Map, Value, json};
use session_model::{
    AgentMessage, Diagnostic, EntryBody, EntryId, EntryIndex, EntryKind, SessionContext,
    SessionPath, SessionTree, build_context, without_private,
};

use crate::commands::{Outcome, diagnostics_text, provenance};
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs, WindowArgs};
use crate::ui::bar::{self, Bar, Category, Shares};
use crate::ui::{DIM, clean, counted, first_line, heading, short_path, styled, tokens, width};

/// Show what a session holds: entries, branches, compactions, tokens, files, diagnostics.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub window: WindowArgs,
}

#[derive(Serialize)]
struct CompactionRow {
    entry_id: EntryId,
    on_path: bool,
    tokens_before: u64,
    summary_tokens: TokenCount,
    first_kept_entry_id: EntryId,
    from_extension: bool,
    #[serde(flatten)]
    provenance: Map<String, Value>,
}

#[derive(Serialize)]
struct BranchRow {
    leaf: EntryId,
    entries: usize,
    active: bool,
    label: Option<String>,
}

#[derive(Serialize)]
struct LargestRow {
    entry_id: EntryId,
    role: String,
    tokens: TokenCount,
    text: String,
}

pub(super) fn run(args: &InspectArgs, global: &Global) -> Result<Outcome, Error> {
    let profile = global.profile();
    let settings = global.load_settings()?;
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let path = tree.path(args.session.leaf(tree)?);
    let context = build_context(&path, profile.context_rules());
    let window = global.window(args.window.given(), context.model.as_ref(), tree)?;
    let counter = profile.counter();
    let messages = context.messages().map(|(_, message)| &**message);
    let shares = Shares::of(messages, counter);
    let measure = measure(&path, &context, profile);
    let threshold = threshold(window.tokens, &settings.compaction, &profile.rules());

    let mut by_type: BTreeMap<&str, usize> = BTreeMap::new();
    for index in tree.indices() {
        *by_type.entry(tree.kind(index).name()).or_default() += 1;
    }
    let compactions = compactions(&path, counter);
    let branches = branches(&path);
    let files = FileOps::of_context(&context);
    let largest = largest(&context, counter);
    let mut diagnostics = session.decoded.diagnostics.clone();
    diagnostics.extend(context.diagnostics.iter().cloned());
    diagnostics.extend(context.to_llm(session_model::RoleOrder::Any).1);
    let categories = Category::ALL.iter();
    let categories = categories.map(|category| (category.key(), shares.get(*category)));

    let document = json!({
        "header": tree.header().map(|header| json!({
            "version": header.version,
            "id": header.id,
            "timestamp": header.timestamp,
            "cwd": header.cwd,
            "parent_session": header.parent_session,
        })),
        "name": tree.name(),
        "bytes": session.decoded.bytes,
        "lines": session.decoded.lines,
        "entries": tree.len(),
        "entries_by_type": by_type,
        "leaf": context.leaf,
        "thinking_level": context.thinking_level,
        "model": context.model,
        "branches": branches,
        "compactions": compactions,
        "context": {
            "messages": context.messages().count(),
            "tokens": measure.tokens,
            "billed_tokens": measure.billed,
            "estimated_tokens": measure.estimated,
            "tokens_by_category": categories.collect::<BTreeMap<_, _>>(),
            "window": window.tokens,
            "window_is_assumed": window.is_assumed,
            "threshold": threshold.as_ref().map(|threshold| threshold.tokens),
            "threshold_explained": threshold.as_ref().map(|threshold| &threshold.explain),
        },
        "largest": largest,
        "files": {
            "modified": files.modified_files(),
            "read": files.read_files(),
        },
        "diagnostics": diagnostics,
    });
    let bar = Bar {
        window: window.tokens,
        is_assumed: window.is_assumed,
        threshold: threshold.map(|threshold| threshold.tokens),
        goes: Shares::default(),
        stays: shares,
    };
    let mut text = session_text(tree, &context, &by_type, &branches, &compactions);
    text.push('\n');
    text.push_str(&bar::section(&bar, "Context", measure.billed, width()));
    let room = width().saturating_sub(47).max(16);
    for (place, row) in largest.iter().enumerate() {
        text.push_str(&format!(
            "{:<9}{:<8}  {:>7}  {:<18} {}\n",
            if place == 0 { "Largest" } else { "" },
            clean(&row.entry_id),
            tokens(row.tokens),
            clean(&row.role),
            first_line(&row.text, room)
        ));
    }
    text.push_str(&files_text(tree, &files));
    if !diagnostics.is_empty() {
        let count: u64 = diagnostics.iter().map(Diagnostic::count).sum();
        text.push_str(&format!("\n{}", heading(&format!("Noticed  {count}"))));
        text.push_str(&diagnostics_text(&diagnostics, 1));
    }
    Ok(Outcome::done(&document, text).of(session.report()))
}

fn compactions(path: &SessionPath<'_>, counter: &dyn TokenCounter) -> Vec<CompactionRow> {
    let tree = path.tree();
    let on_path: BTreeSet<EntryIndex> = path.entries().iter().copied().collect();
    let indices = tree.indices();
    let found = indices.filter(|index| tree.kind(*index) == EntryKind::Compaction);
    let rows = found.filter_map(|index| {
        let entry = tree.entry(index).ok()?;
        let EntryBody::Compaction(compaction) = entry.body else {
            return None;
        };
        Some(CompactionRow {
            on_path: on_path.contains(&index),
            entry_id: entry.id,
            tokens_before: compaction.tokens_before,
            summary_tokens: counter.text(&compaction.summary),
            first_kept_entry_id: compaction.first_kept,
            from_extension: compaction.from_extension || compaction.from_hook,
            provenance: provenance::of(compaction.details.as_ref()),
        })
    });
    rows.collect()
}

/// Returns the branches: depth and nearest label of every entry come from its parent, in one pass.
fn branches(path: &SessionPath<'_>) -> Vec<BranchRow> {
    let tree = path.tree();
    let labels = tree.labels();
    let mut depths = vec![0_usize; tree.len()];
    let mut labelled: Vec<Option<&String>> = vec![None; tree.len()];
    for index in tree.parents_first() {
        let parent = tree.parent(index).map(EntryIndex::as_usize);
        depths[index.as_usize()] = parent.map_or(0, |parent| depths[parent]) + 1;
        let own = labels.get(tree.id(index));
        labelled[index.as_usize()] = own.or(parent.and_then(|parent| labelled[parent]));
    }
    let rows = tree.leaves().into_iter().map(|leaf| BranchRow {
        entries: depths[leaf.as_usize()],
        active: path.entries().last() == Some(&leaf),
        label: labelled[leaf.as_usize()].cloned(),
        leaf: EntryId::new(tree.id(leaf)),
    });
    rows.collect()
}

fn largest(context: &SessionContext, counter: &dyn TokenCounter) -> Vec<LargestRow> {
    let sized = context.messages();
    let mut sized: Vec<_> = sized
        .map(|(id, message)| (counter.message(message), id, message))
        .collect();
    sized.sort_by_key(|(tokens, _, _)| std::cmp::Reverse(*tokens));
    let rows = sized.into_iter().take(5);
    let rows = rows.map(|(tokens, id, message)| LargestRow {
        entry_id: id.clone(),
        role: match &**message {
            AgentMessage::ToolResult(result) => format!("toolResult {}", result.tool_name),
            other => other.role().to_owned(),
        },
        tokens,
        text: first_line(&without_private(&message.display_text()), 60),
    });
    rows.collect()
}

fn session_text(
    tree: &SessionTree,
    context: &SessionContext,
    by_type: &BTreeMap<&str, usize>,
    branches: &[BranchRow],
    compactions: &[CompactionRow],
) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: String| {
        let name = styled(DIM, &format!("{name:<12}"));
        out.push_str(&format!("{name}{}\n", clean(&text)));
    };
    let name = tree.name().unwrap_or_else(|| "(no name)".to_owned());
    match tree.header() {
        Some(header) => {
            row("session", format!("{name}   {}", header.id));
            let format = format!("version {}, begun {}", header.version, header.timestamp);
            row("format", format);
            row("folder", header.cwd.clone());
        }
        None => row("session", format!("{name}   (its header is lost)")),
    }
    if let Some(model) = &context.model {
        let name = format!("{}/{}", model.provider, model.model_id);
        row(
            "model",
            format!("{name}, thinking {}", context.thinking_level),
        );
    }
    let types = EntryKind::ALL.iter().filter_map(|kind| {
        let count = by_type.get(kind.name())?;
        Some(format!("{count} {}", kind.name()))
    });
    let types = types.collect::<Vec<_>>().join(", ");
    row(
        "entries",
        match tree.len() {
            0 => "none".to_owned(),
            count => format!("{count}: {types}"),
        },
    );
    for branch in branches {
        let label = branch.label.as_ref().map(|label| format!("  \"{label}\""));
        let mark = if branch.active { "@ active" } else { "  left" };
        let (label, entries) = (label.unwrap_or_default(), counted(branch.entries, "entry"));
        row(
            "branch",
            format!("{mark}  {}  {entries}{label}", branch.leaf),
        );
    }
    for compaction in compactions {
        let place = if compaction.on_path {
            ""
        } else {
            "  (on another branch)"
        };
        let (how, took) = provenance::in_words(&compaction.provenance);
        let how = [how, took].into_iter().filter(|text| !text.is_empty());
        let how: String = how.map(|text| format!(", {text}")).collect();
        let text = format!(
            "{}  {} tokens before, summary {}{how}{place}",
            compaction.entry_id,
            tokens(TokenCount(compaction.tokens_before)),
            tokens(compaction.summary_tokens)
        );
        row("compaction", text);
    }
    out
}

/// Returns the files that were changed; paths in the session's folder are shown from there.
fn files_text(tree: &SessionTree, files: &FileOps) -> String {
    const SHOWN: usize = 12;
    let (modified, read) = (files.modified_files(), files.read_files());
    if modified.is_empty() && read.is_empty() {
        return String::new();
    }
    let title = format!(
        "Files    {} changed, {} only read",
        modified.len(),
        read.len()
    );
    let mut out = format!("\n{}", heading(&title));
    let folder = tree
        .header()
        .map_or("", |header| header.cwd.trim_end_matches('/'));
    for path in modified.iter().take(SHOWN) {
        let within = path.strip_prefix(folder);
        let within = within.and_then(|within| within.strip_prefix('/'));
        let path = short_path(within.unwrap_or(path), width().saturating_sub(11));
        out.push_str(&format!("  changed  {path}\n"));
    }
    if let Some(more @ 1..) = modified.len().checked_sub(SHOWN) {
        out.push_str(&format!("  ... {more} more; --json names all\n"));
    }
    out
}
