//! `summaries`: where each summary of a session comes from: who wrote it, when, by which strategy, what it took, and how
//! it ended.

use std::collections::BTreeSet;

use clap::Args;
use compaction_core::{HANDOFF_MESSAGE, TokenCount};
use serde::Serialize;
use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{Entry, EntryBody, EntryId, EntryKind};

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::{BOLD, DIM, clean, styled, tokens};

/// List the summaries of a session: who wrote each, when, by which strategy, what it took, and how it ended.
#[derive(Debug, Args)]
pub struct SummariesArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

/// A summary and where it comes from. What the entry does not say is null: other programs write less.
#[derive(Debug, Serialize)]
struct Row {
    /// The entry.
    entry_id: EntryId,
    /// What it is: `compaction`, `branch_summary` or `handoff`.
    kind: &'static str,
    /// Whether it is on the path to the leaf; one that was undone is not.
    on_path: bool,
    /// When it was written.
    timestamp: Option<String>,
    /// Who wrote it: a model, `rules`, an endpoint, or a hook.
    by: Option<String>,
    /// By which strategy.
    strategy: Option<String>,
    /// What started it.
    trigger: Option<String>,
    /// Tokens of the context before.
    tokens_before: Option<u64>,
    /// Tokens of it after.
    tokens_after: Option<u64>,
    /// Tokens of the summary.
    summary_tokens: TokenCount,
    /// What it cost in USD.
    cost_usd: Option<f64>,
    /// How long it took.
    seconds: Option<f64>,
    /// How it ended: `complete`, `fallback` or `rules`.
    ended: Option<String>,
    /// Who failed before, each with a name and the kind of failure.
    failed: Vec<Failed>,
    /// Strategies of a list that were tried before and brought nothing.
    passed_over: Vec<Passed>,
    /// The hash of the plan.
    plan_hash: Option<String>,
    /// The hash of the prompts; none where nobody read one.
    prompt_hash: Option<String>,
    /// How much of the user's messages stayed in context.
    user_messages: Option<Value>,
}

/// Somebody who wrote no summary.
#[derive(Debug, Serialize)]
struct Failed {
    name: String,
    kind: String,
}

/// A strategy that brought nothing.
#[derive(Debug, Serialize)]
struct Passed {
    strategy: String,
    failed: bool,
    reason: String,
}

pub(super) fn run(args: &SummariesArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let path = tree.path(args.session.leaf(tree)?);
    let on_path: BTreeSet<_> = path.entries().iter().copied().collect();
    let mut rows = Vec::new();
    for index in tree.indices() {
        crate::cancel::check()?;
        let may_be = matches!(
            tree.kind(index),
            EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage
        );
        if !may_be {
            continue;
        }
        let Ok(entry) = tree.entry(index) else {
            continue;
        };
        rows.extend(row(&entry, on_path.contains(&index), global));
    }
    let document = json!({ "summaries": rows, "diagnostics": session.decoded.diagnostics });
    if rows.is_empty() {
        let reason = "there is no summary in this session".to_owned();
        return Ok(Outcome::nothing_to_do(reason, document).of(session.report()));
    }
    let text = rows.iter().map(text).collect();
    Ok(Outcome::done(&document, text).of(session.report()))
}

/// Returns what an entry says of its summary; `None` for what is none.
fn row(entry: &Entry, on_path: bool, global: &Global) -> Option<Row> {
    let (kind, summary, details) = match &entry.body {
        EntryBody::Compaction(own) => ("compaction", own.summary.clone(), &own.details),
        EntryBody::BranchSummary(own) => ("branch_summary", own.summary.clone(), &own.details),
        EntryBody::CustomMessage(own) if own.custom_type == HANDOFF_MESSAGE => {
            ("handoff", own.content.joined_text("\n"), &own.details)
        }
        _ => return None,
    };
    let details = details.as_ref().map(RawJson::to_value).unwrap_or_default();
    let text = |key: &str| details[key].as_str().map(str::to_owned);
    let millis = details["summarizerMillis"].as_f64();
    let stored = match &entry.body {
        EntryBody::Compaction(own) => Some(own.tokens_before),
        _ => None,
    };
    let failed = details["failed"].as_array();
    let failed = failed.into_iter().flatten().filter_map(|failed| {
        Some(Failed {
            name: failed["name"].as_str()?.to_owned(),
            kind: failed["kind"].as_str()?.to_owned(),
        })
    });
    let passed = details["passedOver"].as_array();
    let passed = passed.into_iter().flatten().filter_map(|passed| {
        Some(Passed {
            strategy: passed["strategy"].as_str()?.to_owned(),
            failed: passed["failed"].as_bool()?,
            reason: passed["reason"].as_str()?.to_owned(),
        })
    });
    Some(Row {
        entry_id: entry.id.clone(),
        kind,
        on_path,
        timestamp: entry.timestamp.map(|timestamp| timestamp.to_string()),
        by: author(&details["summarizer"]),
        strategy: text("strategy"),
        trigger: text("trigger"),
        tokens_before: details["estimatedTokensBefore"].as_u64().or(stored),
        tokens_after: details["estimatedTokensAfter"].as_u64(),
        summary_tokens: global.profile().counter().text(&summary),
        cost_usd: details["costUsd"].as_f64(),
        seconds: details["seconds"]
            .as_f64()
            .or(millis.map(|millis| millis / 1000.0)),
        ended: text("ended"),
        failed: failed.collect(),
        passed_over: passed.collect(),
        plan_hash: text("planHash"),
        prompt_hash: text("promptHash"),
        user_messages: details["loss"]["kinds"].get("user_messages").cloned(),
    })
}

/// Returns what people read about a compaction in addition to its sizes, each with a name.
pub(super) fn facts(entry: &Entry, global: &Global) -> Vec<(String, String)> {
    let Some(row) = row(entry, true, global) else {
        return Vec::new();
    };
    let took = [
        row.seconds.map(|seconds| format!("{seconds:.1} s")),
        row.cost_usd.map(|cost| format!("${cost:.4}")),
    ];
    let took: Vec<String> = took.into_iter().flatten().collect();
    let how: Vec<String> = [
        row.by,
        row.strategy.map(|name| format!("strategy {name}")),
        row.trigger,
    ]
    .into_iter()
    .flatten()
    .collect();
    let facts = [("Written by", how), ("Took", took)];
    let facts = facts.into_iter().filter(|(_, parts)| !parts.is_empty());
    facts
        .map(|(name, parts)| (name.to_owned(), parts.join(", ")))
        .collect()
}

/// Returns who wrote, as details name it.
fn author(summarizer: &Value) -> Option<String> {
    if let Some(name) = summarizer.as_str() {
        return Some(name.to_owned());
    }
    let text = |key: &str| summarizer[key].as_str();
    let model = || match (text("provider"), text("model")) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        _ => None,
    };
    match text("by")? {
        "extractive" => Some("extractive".to_owned()),
        "model" => model(),
        "native" => Some(format!("{}, natively", model()?)),
        "remote" => text("endpoint").map(str::to_owned),
        "hook" => Some(match text("name") {
            Some(name) => format!("hook {name}"),
            None => "a hook".to_owned(),
        }),
        other => Some(other.to_owned()),
    }
}

fn text(row: &Row) -> String {
    let when = row.timestamp.as_deref().unwrap_or("at an unknown time");
    let place = match row.on_path {
        true => "",
        false => "   not on the path",
    };
    let kind = match row.kind {
        "branch_summary" => "branch summary",
        other => other,
    };
    let title = format!("{kind}  {}  {}{place}", clean(&row.entry_id), clean(when));
    let mut out = format!("{}\n", styled(BOLD, &title));
    let mut line = |name: &str, parts: Vec<Option<String>>| {
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if !parts.is_empty() {
            out.push_str(&format!("   {name:<11}{}\n", clean(&parts.join(", "))));
        }
    };
    let by = row.by.clone();
    line(
        "by",
        vec![
            Some(by.unwrap_or_else(|| "unknown".to_owned())),
            row.strategy.as_ref().map(|name| format!("strategy {name}")),
            row.trigger.clone(),
        ],
    );
    let ended = match (row.ended.as_deref(), row.failed.as_slice()) {
        (Some("fallback"), failed) => {
            let failed = failed.iter();
            let failed = failed.map(|failed| format!("{} ({})", failed.name, failed.kind));
            let failed = failed.collect::<Vec<_>>().join(", ");
            Some(format!("after others failed: {failed}"))
        }
        (ended, _) => ended.map(str::to_owned),
    };
    line("ended", vec![ended]);
    for passed in &row.passed_over {
        let how = match passed.failed {
            true => "failed",
            false => "was passed over",
        };
        let attempt = format!("{} {how}: {}", passed.strategy, passed.reason);
        line("before", vec![Some(attempt)]);
    }
    let context = match (row.tokens_before, row.tokens_after) {
        (Some(before), Some(after)) => Some(format!(
            "{} -> {}",
            tokens(TokenCount(before)),
            tokens(TokenCount(after))
        )),
        (Some(before), None) => Some(format!("{} before", tokens(TokenCount(before)))),
        (None, _) => None,
    };
    line(
        "tokens",
        vec![
            context,
            Some(format!("summary {}", tokens(row.summary_tokens))),
        ],
    );
    line(
        "took",
        vec![
            row.seconds.map(|seconds| format!("{seconds:.1} s")),
            row.cost_usd.map(|cost| format!("${cost:.4}")),
        ],
    );
    let left = row.user_messages.as_ref().map(|figures| {
        let count = |name: &str| figures[name].as_u64().unwrap_or_default();
        format!(
            "{} of {} verbatim, {} in part",
            count("verbatim"),
            count("total"),
            count("shortened")
        )
    });
    line("messages", vec![left]);
    let plan = row.plan_hash.as_ref().map(|hash| format!("plan {hash}"));
    let prompt = row.prompt_hash.as_ref();
    let hashes: Vec<String> = plan
        .into_iter()
        .chain(prompt.map(|hash| format!("prompt {hash}")))
        .collect();
    if !hashes.is_empty() {
        let hashes = format!("   {:<11}{}\n", "hashes", clean(&hashes.join(", ")));
        out.push_str(&styled(DIM, &hashes));
    }
    out
}
