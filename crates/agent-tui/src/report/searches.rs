//! What is found in a session, and what compactions took out of its context.

use compaction_core::{ContextLoss, Profile, TokenCount, loss_report};
use ratatui::text::{Line, Span};
use session_protocol::Snapshot;
use session_recall::{Access, Query, RecallFilters, RecallRequest};
use session_text::{counted, loss_rows, tokens};
use session_tools::asking::{kept_output, stored_output};
use session_tools::recalling::search;

use super::{Built, Environment};
use crate::pager::Pager;
use crate::text::{line, safe_line, wrap};

/// The size of an answer, in entries and in tokens.
const ENTRIES: usize = 20;
const TOKENS: TokenCount = TokenCount(4000);

/// Searches a session for words, on every branch.
pub(super) fn recalled(session: &Snapshot, words: &str, environment: &Environment) -> Built {
    let (width, theme) = (environment.width, environment.theme);
    let stored = session.outputs.as_deref();
    let request = RecallRequest {
        query: Query::Words(words),
        filters: RecallFilters::default(),
        entries: ENTRIES,
        tokens: TOKENS,
        except: None,
        access: Access {
            clean: None,
            outputs: Some(&|path| kept_output(path, |name| stored_output(stored, name))),
        },
        hint: "/tree shows where they are",
    };
    let rules = Profile::Own.context_rules();
    let found = search(&session.tree, session.leaf, rules, &request, &|| false);
    let Some(found) = found.filter(|found| !found.found.is_empty()) else {
        let entries = counted(session.tree.len(), "entry");
        return Built::Nothing(format!("nothing in {entries} matches {words}"));
    };
    let mut lines = Vec::new();
    for (number, text) in found.to_text(&request).lines().enumerate() {
        let style = match (number, text.starts_with('[')) {
            (0, _) => theme.dim(),
            (_, true) => theme.bold(),
            (_, false) => theme.plain(),
        };
        let text = line(safe_line(text), style);
        lines.extend(wrap(&text, width, &Span::raw("  ")));
    }
    Built::Page(Pager::new(format!("Recall: {}", safe_line(words)), lines))
}

/// Shows what compactions took out of the context.
pub(super) fn lost(session: &Snapshot, environment: &Environment) -> Built {
    let theme = environment.theme;
    let path = session.tree.path(session.leaf);
    let rules = Profile::Own.context_rules();
    let report = loss_report(&path, rules, Profile::Own.counter());
    if report.compactions.is_empty() && report.edits.is_empty() {
        let none = "no compaction and no pruning on the path, so nothing is out of context";
        return Built::Nothing(none.to_owned());
    }
    let mut lines = Vec::new();
    for (place, loss) in report.compactions.iter().enumerate() {
        let removed = tokens(loss.loss.removed_tokens);
        let summary = tokens(loss.summary_tokens);
        let number = place + 1;
        let title = format!("compaction #{number}  {removed} taken out, summary {summary}");
        lines.push(line(title, theme.bold()));
        of_loss(&loss.loss, environment, &mut lines);
        if !loss.invented.is_empty() {
            let quotes = counted(loss.invented.len(), "quote");
            let text = format!("   invented     {quotes} that no entry contains");
            lines.push(line(text, theme.warn()));
        }
    }
    for loss in &report.edits {
        let entries = counted(loss.entries, "entry");
        let removed = tokens(loss.loss.removed_tokens);
        let title = format!("pruning  {entries} shortened, {removed} taken out");
        lines.push(line(title, theme.bold()));
        of_loss(&loss.loss, environment, &mut lines);
    }
    let hint = "what is out of context is in the session: /recall WORDS finds it, /undo takes a compaction back";
    lines.extend(wrap(
        &line(hint, theme.dim()),
        environment.width,
        &Span::raw(""),
    ));
    Built::Page(Pager::new(
        "What compactions took out of the context",
        lines,
    ))
}

fn of_loss(loss: &ContextLoss, environment: &Environment, lines: &mut Vec<Line<'static>>) {
    let theme = environment.theme;
    for row in loss_rows(loss) {
        let style = match row.figures.verbatim == row.figures.total {
            true => theme.good(),
            false => theme.dim(),
        };
        lines.push(Line::from(vec![
            Span::raw(format!("   {:<14}", row.name)),
            Span::styled(row.bar(), style),
            Span::raw(format!(" {}", row.text())),
        ]));
    }
}
