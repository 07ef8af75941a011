//! `inspect`: what a session holds.

use std::collections::BTreeMap;

use compaction_core::{FileCalls, FileOps, TokenCount, measure, threshold};
use serde::Serialize;
use serde_json::json;
use session_model::{
    AgentMessage, Diagnostic, EntryBody, EntryId, EntryKind, FileDetails, SessionContext, SessionPath,
    build_context,
};

use crate::args::{Global, InspectArgs};
use crate::commands::{Outcome, diagnostics_text};
use crate::error::Error;
use crate::store::SessionFile;
use crate::ui::bar::{Bar, Category, Shares};
use crate::ui::{BOLD, DIM, counted, first_line, styled, tokens, width};

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
    let window = args.window.tokens()?;
    let profile = global.profile();
    let settings = global.load_settings()?;
    let session = SessionFile::open(&args.session.session)?;
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
    let files = files(&context);
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

fn branches(path: &SessionPath<'_>) -> Vec<BranchRow> {
    let tree = path.tree();
    let labels = tree.labels();
    let leaves = tree.leaves().into_iter();
    let rows = leaves.map(|leaf| {
        let own = tree.path(session_model::Leaf::At(leaf));
        let id = EntryId::new(tree.id(leaf));
        let labelled = own.entries().iter().rev();
        let label = labelled
            .filter_map(|index| labels.get(tree.id(*index)))
            .next()
            .cloned();
        BranchRow {
            entries: own.entries().len(),
            active: path.entries().last() == Some(&leaf),
            label,
            leaf: id,
        }
    });
    rows.collect()
}

/// Returns the files of the context and of the summaries in it.
fn files(context: &SessionContext) -> FileOps {
    let mut files = FileOps::default();
    for projected in &context.entries {
        let details = match &projected.entry.body {
            EntryBody::Compaction(compaction) => compaction.details.as_ref(),
            EntryBody::BranchSummary(branch) => branch.details.as_ref(),
            _ => None,
        };
        if let Some(details) = details {
            files.add_details(&FileDetails::of(details));
        }
    }
    let originals: Vec<_> = context
        .entries
        .iter()
        .flat_map(|projected| projected.original_messages())
        .collect();
    files.add_messages(originals.iter(), FileCalls::Succeeded);
    files
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
    let rows = sized.into_iter().take(5).map(|(tokens, id, message)| LargestRow {
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
                row("session", format!("{name}   {}", header.id));
                row(
                    "format",
                    format!("version {}, begun {}", header.version, header.timestamp),
                );
                row("folder", header.cwd.clone());
            }
            None => row("session", format!("{name}   (its header is lost)")),
        }
        if let Some(model) = &self.context.model {
            row(
                "model",
                format!(
                    "{}/{}, thinking {}",
                    model.provider, model.model_id, self.context.thinking_level
                ),
            );
        }
        let types = EntryKind::ALL.iter().filter_map(|kind| {
            let count = self.by_type.get(kind.name())?;
            Some(format!("{count} {}", kind.name()))
        });
        row(
            "entries",
            format!("{}: {}", tree.len(), types.collect::<Vec<_>>().join(", ")),
        );
        for branch in self.branches {
            let label = branch.label.as_ref().map(|label| format!("  \"{label}\""));
            let mark = if branch.active { "@ active" } else { "  left" };
            row(
                "branch",
                format!(
                    "{mark}  {}  {}{}",
                    branch.leaf,
                    counted(branch.entries, "entry"),
                    label.unwrap_or_default()
                ),
            );
        }
        for compaction in self.compactions {
            row(
                "compaction",
                format!(
                    "{}  {} tokens before, summary {}{}",
                    compaction.entry_id,
                    tokens(TokenCount(compaction.tokens_before)),
                    tokens(compaction.summary_tokens),
                    if compaction.on_path { "" } else { "  (on another branch)" }
                ),
            );
        }
        self.context_lines(&mut out);
        out
    }

    fn context_lines(&self, out: &mut String) {
        let filled = self.bar.stays.total();
        let billed = self.billed.map(|billed| format!("   billed {}", tokens(billed)));
        let headline = format!(
            "Context  ~{} of {} window   {}{}",
            tokens(filled),
            tokens(self.bar.window),
            self.bar.distance(),
            billed.unwrap_or_default()
        );
        out.push_str(&format!(
            "\n{}\n{}\n{}\n",
            styled(BOLD, &headline),
            self.bar.line(width()),
            styled(DIM, &self.bar.legend())
        ));
        let room = width().saturating_sub(46).max(16);
        for (place, row) in self.largest.iter().enumerate() {
            let title = if place == 0 { "Largest" } else { "" };
            out.push_str(&format!(
                "{title:<9}{}  {:>7}  {:<18} {}\n",
                row.entry_id,
                tokens(row.tokens),
                row.role,
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
                    &format!("Files    {} changed, {} only read", modified.len(), read.len())
                )
            ));
            const SHOWN: usize = 12;
            for path in modified.iter().take(SHOWN) {
                out.push_str(&format!("  changed  {}\n", first_line(path, room + 30)));
            }
            if modified.len() > SHOWN {
                out.push_str(&format!("  ... {} more; --json names all\n", modified.len() - SHOWN));
            }
        }
        if !self.diagnostics.is_empty() {
            let title = format!("Noticed  {}", self.diagnostics.len());
            out.push_str(&format!("\n{}\n", styled(BOLD, &title)));
            out.push_str(&diagnostics_text(self.diagnostics));
        }
    }
}
