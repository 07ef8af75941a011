//! `inspect`: what a session holds.

use std::collections::BTreeMap;

use clap::Args;
use compaction_core::{FileOps, TokenCount, measure, threshold};
use serde::Serialize;
use serde_json::json;
use session_model::{
    AgentMessage, Diagnostic, EntryBody, EntryId, EntryIndex, EntryKind, SessionContext,
    SessionPath, build_context,
};

use crate::commands::{Outcome, diagnostics_text};
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs, WindowArgs};
use crate::ui::bar::{Bar, Category, Shares};
use crate::ui::{BOLD, DIM, clean, counted, first_line, styled, tokens, width};
use session_store::SessionFile;

/// Show what a session holds: entries, branches, compactions, tokens, files, diagnostics.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The window.
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
    let window = args.window.tokens();
    let profile = global.profile();
    let settings = global.load_settings()?;
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let path = tree.path(args.session.leaf(tree)?);
    let context = build_context(&path, profile.context_rules());
    let counter = profile.counter();
    let messages = context.messages().map(|(_, message)| &**message);
    let shares = Shares::of(messages, counter);
    let measure = measure(&path, &context, profile);
    let threshold = threshold(window, &settings.compaction, &profile.rules());

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
    let (_, paired) = context.to_llm(session_model::RoleOrder::Any);
    diagnostics.extend(paired);
    let categories: BTreeMap<&str, TokenCount> = Category::ALL
        .iter()
        .map(|category| (category.key(), shares.get(*category)))
        .collect();

    let header = tree.header();
    let document = json!({
        "header": header.map(|header| json!({
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
            "tokens_by_category": categories,
            "window": window,
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
        window,
        threshold: threshold.map(|threshold| threshold.tokens),
        goes: Shares::default(),
        stays: shares,
    };
    let report = Report {
        session: &session,
        context: &context,
        by_type,
        compactions: &compactions,
        branches: &branches,
        files: &files,
        largest: &largest,
        diagnostics: &diagnostics,
        bar,
        billed: measure.billed,
    };
    Ok(Outcome::done(&document, report.text()))
}

fn compactions(
    path: &SessionPath<'_>,
    counter: &dyn compaction_core::TokenCounter,
) -> Vec<CompactionRow> {
    let tree = path.tree();
    let indices = tree.indices();
    let found = indices.filter(|index| tree.kind(*index) == EntryKind::Compaction);
    let rows = found.filter_map(|index| {
        let entry = tree.entry(index).ok()?;
        let EntryBody::Compaction(compaction) = entry.body else {
            return None;
        };
        Some(CompactionRow {
            on_path: path.entries().contains(&index),
            entry_id: entry.id,
            tokens_before: compaction.tokens_before,
            summary_tokens: counter.text(&compaction.summary),
            first_kept_entry_id: compaction.first_kept,
            from_extension: compaction.from_extension || compaction.from_hook,
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
    // Parents that come later in the file are rare; a second pass settles them.
    for _ in 0..2 {
        for index in tree.indices() {
            let parent = tree.parent(index).map(EntryIndex::as_usize);
            depths[index.as_usize()] = parent.map_or(0, |parent| depths[parent]) + 1;
            let own = labels.get(tree.id(index));
            labelled[index.as_usize()] = own.or(parent.and_then(|parent| labelled[parent]));
        }
    }
    let rows = tree.leaves().into_iter().map(|leaf| BranchRow {
        entries: depths[leaf.as_usize()],
        active: path.entries().last() == Some(&leaf),
        label: labelled[leaf.as_usize()].cloned(),
        leaf: EntryId::new(tree.id(leaf)),
    });
    rows.collect()
}

fn largest(
    context: &SessionContext,
    counter: &dyn compaction_core::TokenCounter,
) -> Vec<LargestRow> {
    let mut sized: Vec<_> = context
        .messages()
        .map(|(id, message)| (counter.message(message), id, message))
        .collect();
    sized.sort_by_key(|(tokens, _, _)| std::cmp::Reverse(*tokens));
    let rows = sized
        .into_iter()
        .take(5)
        .map(|(tokens, id, message)| LargestRow {
            entry_id: id.clone(),
            role: match &**message {
                AgentMessage::ToolResult(result) => format!("toolResult {}", result.tool_name),
                other => other.role().to_owned(),
            },
            tokens,
            text: first_line(&message.display_text(), 60),
        });
    rows.collect()
}

struct Report<'a> {
    session: &'a SessionFile,
    context: &'a SessionContext,
    by_type: BTreeMap<&'a str, usize>,
    compactions: &'a [CompactionRow],
    branches: &'a [BranchRow],
    files: &'a FileOps,
    largest: &'a [LargestRow],
    diagnostics: &'a [Diagnostic],
    bar: Bar,
    billed: Option<TokenCount>,
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        let mut row = |name: &str, text: String| {
            out.push_str(&format!("{}{text}\n", styled(DIM, &format!("{name:<12}"))));
        };
        let tree = self.session.tree();
        let name = tree.name().unwrap_or_else(|| "(no name)".to_owned());
        match tree.header() {
            Some(header) => {
                row("session", clean(&format!("{name}   {}", header.id)));
                row(
                    "format",
                    clean(&format!(
                        "version {}, begun {}",
                        header.version, header.timestamp
                    )),
                );
                row("folder", clean(&header.cwd));
            }
            None => row("session", clean(&format!("{name}   (its header is lost)"))),
        }
        if let Some(model) = &self.context.model {
            row(
                "model",
                clean(&format!(
                    "{}/{}, thinking {}",
                    model.provider, model.model_id, self.context.thinking_level
                )),
            );
        }
        let types = EntryKind::ALL.iter().filter_map(|kind| {
            let count = self.by_type.get(kind.name())?;
            Some(format!("{count} {}", kind.name()))
        });
        row(
            "entries",
            match tree.len() {
                0 => "none".to_owned(),
                count => format!("{count}: {}", types.collect::<Vec<_>>().join(", ")),
            },
        );
        for branch in self.branches {
            let label = branch.label.as_ref().map(|label| format!("  \"{label}\""));
            let mark = if branch.active { "@ active" } else { "  left" };
            row(
                "branch",
                format!(
                    "{mark}  {}  {}{}",
                    clean(&branch.leaf),
                    counted(branch.entries, "entry"),
                    clean(&label.unwrap_or_default())
                ),
            );
        }
        for compaction in self.compactions {
            row(
                "compaction",
                format!(
                    "{}  {} tokens before, summary {}{}",
                    clean(&compaction.entry_id),
                    tokens(TokenCount(compaction.tokens_before)),
                    tokens(compaction.summary_tokens),
                    if compaction.on_path {
                        ""
                    } else {
                        "  (on another branch)"
                    }
                ),
            );
        }
        self.context_lines(&mut out);
        out
    }

    fn context_lines(&self, out: &mut String) {
        out.push('\n');
        out.push_str(&self.bar.section("Context", self.billed, width()));
        let room = width().saturating_sub(46).max(16);
        for (place, row) in self.largest.iter().enumerate() {
            let title = if place == 0 { "Largest" } else { "" };
            out.push_str(&format!(
                "{title:<9}{:<8}  {:>7}  {:<18} {}\n",
                clean(&row.entry_id),
                tokens(row.tokens),
                clean(&row.role),
                first_line(&row.text, room)
            ));
        }
        let modified = self.files.modified_files();
        let read = self.files.read_files();
        if !(modified.is_empty() && read.is_empty()) {
            out.push_str(&format!(
                "\n{}\n",
                styled(
                    BOLD,
                    &format!(
                        "Files    {} changed, {} only read",
                        modified.len(),
                        read.len()
                    )
                )
            ));
            const SHOWN: usize = 12;
            for path in modified.iter().take(SHOWN) {
                out.push_str(&format!("  changed  {}\n", first_line(path, room + 30)));
            }
            if modified.len() > SHOWN {
                out.push_str(&format!(
                    "  ... {} more; --json names all\n",
                    modified.len() - SHOWN
                ));
            }
        }
        if !self.diagnostics.is_empty() {
            let count: u64 = self.diagnostics.iter().map(Diagnostic::count).sum();
            let title = format!("Noticed  {count}");
            out.push_str(&format!("\n{}\n", styled(BOLD, &title)));
            out.push_str(&diagnostics_text(self.diagnostics));
        }
    }
}
