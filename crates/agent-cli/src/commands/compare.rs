//! `compare`: several strategies on one session, side by side. The session is not changed.

use clap::Args;
use serde_json::{Value, json};
use session_text::plural;

use crate::commands::Outcome;
use crate::commands::compact::{CompactArgs, run_at};
use crate::commands::order::Order;
use crate::commands::plan::PlanArgs;
use crate::error::Error;
use crate::models::{ModelArgs, Wanted};
use crate::options::{Global, OutputArgs};
use crate::ui::{BOLD, DIM, clean, first_line, padded, styled, tokens};
use compaction_core::{LossKind, TokenCount};

/// Show what several strategies would make of a session, side by side.
#[derive(Debug, Args)]
#[command(mut_arg("strategy", |arg| arg
    .long("strategies")
    .default_value("context-full,extractive,prune-only")
    .help("Comma-separated strategies: context-full, restore, extractive, prune-only")))]
pub struct CompareArgs {
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Who writes the summaries of context-full and restore.
    #[command(flatten)]
    pub model: ModelArgs,
}

pub(super) fn run(args: &CompareArgs, global: &Global) -> Result<Outcome, Error> {
    let (mut rows, mut failures, mut report) = (Vec::new(), Vec::new(), None);
    for strategy in Order::of(&args.plan, global)?.strategies {
        let compacting = CompactArgs {
            plan: PlanArgs {
                strategy: Some(strategy.name().to_owned()),
                ..args.plan.clone()
            },
            model: match Wanted::by(strategy) {
                Wanted::Yes => args.model.clone(),
                Wanted::No(_) => ModelArgs::default(),
            },
            output: OutputArgs {
                out: None,
                in_place: false,
                dry_run: true,
            },
        };
        let mut row = match run_at(&compacting, "compare", global, None) {
            Ok(outcome) => {
                report = Some(outcome.report);
                outcome.json
            }
            // What one strategy fails at says nothing of the others.
            Err(error @ (Error::Summary { .. } | Error::Provider { .. })) => {
                let row = json!({ "failed": error.to_string(), "model": error.report() });
                failures.push(error);
                row
            }
            // A window may be too small for one of them.
            Err(Error::Usage(reason)) => json!({ "nothing_to_do": reason }),
            Err(error) => return Err(error),
        };
        row["strategy"] = json!(strategy.name());
        rows.push(row);
    }
    if failures.len() == rows.len() && !failures.is_empty() {
        return Err(failures.remove(0));
    }
    let text = table(&rows);
    let reasons: Option<Vec<String>> = rows
        .iter()
        .map(|row| why_not(row, "nothing_to_do"))
        .collect();
    let document = json!({ "strategies": rows });
    let outcome = match reasons {
        Some(reasons) => Outcome::nothing_to_do(reasons.join("; "), document),
        None => Outcome::done(&document, text),
    };
    Ok(outcome.of(report.unwrap_or_default()))
}

/// Returns why there are no figures, behind the name of the strategy.
fn why_not(row: &Value, member: &str) -> Option<String> {
    let reason = row[member].as_str()?;
    let verb = if member == "failed" { " failed" } else { "" };
    Some(format!("{}{verb}: {reason}", row["strategy"].as_str()?))
}

/// How wide the names of the lines are, and each column.
const NAME: usize = 16;
const COLUMN: usize = 18;

/// Returns the table for people: one column a strategy, one line a figure. Lines without a figure are left out.
fn table(rows: &[Value]) -> String {
    let mut text = String::new();
    let mut line = |name: &str, cell: &dyn Fn(&Value) -> Option<String>| {
        let cells: Vec<Option<String>> = rows.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| {
                let cell = cell.unwrap_or_else(|| "-".to_owned());
                padded(&first_line(&cell, COLUMN - 1), COLUMN)
            });
            let shown = format!("{name:<NAME$}{}", cells.collect::<String>());
            text.push_str(&format!("{}\n", shown.trim_end()));
        }
    };
    let size = |size: &Value| size.as_u64().map(|size| tokens(TokenCount(size)));
    line("", &|row| row["strategy"].as_str().map(str::to_owned));
    line("tokens before", &|row| {
        size(&row["estimated_tokens_before"])
    });
    line("tokens after", &|row| size(&row["tokens_after"]));
    line("summary", &|row| size(&row["summary_tokens"]));
    line("of it ledger", &|row| {
        size(&row["ledger"]["tokens"]).filter(|size| size != "0" && row["summary"].is_string())
    });
    line("written by", &|row| match &row["model"]["answered_by"] {
        Value::String(model) => Some(clean(model)),
        _ => row["summary"].is_string().then(|| "extractive".to_owned()),
    });
    line("requests", &|row| {
        Some(row["model"]["requests_sent"].as_u64()?.to_string())
    });
    line("cost", &|row| {
        Some(format!("${:.3}", row["model"]["cost_usd"].as_f64()?))
    });
    line("seconds", &|row| {
        Some(format!("{:.1}", row["seconds"].as_f64()?))
    });
    for kind in LossKind::ALL {
        line(plural(*kind), &|row| {
            let found = &row["loss"]["kinds"][kind.name()];
            let total = found["total"].as_u64().filter(|total| *total > 0)?;
            let left = found["verbatim"].as_u64()? + found["shortened"].as_u64()?;
            Some(format!("{}% of {total}", left * 100 / total))
        });
    }
    for member in ["failed", "nothing_to_do"] {
        let remarks = rows.iter().filter_map(|row| why_not(row, member));
        text.extend(remarks.map(|remark| format!("{}\n", clean(&remark))));
    }
    let hint = "shares are of what would leave the context: what can still be read, whole or in part; nothing was changed\n";
    let head = text.find('\n').unwrap_or_default();
    styled(BOLD, &text[..head]) + &text[head..] + &styled(DIM, hint)
}
