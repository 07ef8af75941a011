//! Many rounds of work and compaction on the example session: what is still in the context afterwards.

mod facts;
mod growth;

use std::collections::HashMap;
use std::sync::Arc;

use compaction_core::{PlanOptions, Profile, TokenCount, Trigger, plan_compaction};
use serde_json::Value;
use session_model::{
    AgentMessage, ContextRules, EntryBody, EntryId, Stamp, Timestamp, build_context, decode_bytes,
};

use self::facts::Facts;
use crate::run::{Outcome, example_session, read};

/// What the rounds came to.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// One row a round.
    pub rows: Vec<Row>,
    /// What should be in the context and is not.
    pub missing: Vec<String>,
    /// The largest summary that the rounds allow, in tokens.
    pub cap: u64,
}

/// One round.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row {
    /// Tokens of the context before the compaction.
    pub before: u64,
    /// Tokens after it.
    pub after: u64,
    /// Tokens of the summary, file tags aside.
    pub summary: u64,
    /// Rules that were stated so far, and how many of them are in the context.
    pub rules: (usize, usize),
    /// Files that were changed so far, and how many of them are in the context.
    pub files: (usize, usize),
}

/// Prints the report; `cargo xtask rounds [N]`.
pub fn run(arguments: &[String]) -> Outcome {
    let rounds = arguments.first().map_or(Ok(20), |text| text.parse());
    let rounds = rounds.map_err(|_| "usage: cargo xtask rounds [N]".to_owned())?;
    let report = compact_repeatedly(rounds)?;
    println!("round   before    after  summary  rules      files");
    for (round, row) in report.rows.iter().enumerate() {
        println!(
            "{round:>5} {:>8} {:>8} {:>8}  {:>3}/{:<3}  {:>5}/{:<5}",
            row.before, row.after, row.summary, row.rules.1, row.rules.0, row.files.1, row.files.0
        );
    }
    println!("summary cap {}", report.cap);
    match report.missing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "not in the context any more:\n  {}",
            report.missing.join("\n  ")
        )),
    }
}

/// Compacts the example session, then appends a round of work and compacts again, `rounds` times.
pub fn compact_repeatedly(rounds: u32) -> Outcome<Report> {
    let mut text = read(&example_session())?;
    let reads = files_read(&text);
    let facts = Facts::load()?;
    let first_request = &facts.first_request;
    let mut rules = facts.user_rules.clone();
    let mut files = facts.modified_files.clone();
    let mut latest = facts.latest_request.clone();
    let mut report = Report::default();
    for round in 0..=rounds {
        if round > 0 {
            let leaf = leaf_id(&text);
            let added = growth::round(round, &leaf, &facts, &reads)?;
            text.extend(added.lines.iter().map(|line| format!("{line}\n")));
            rules.push(added.rule);
            files.extend(added.modified_files);
            latest = added.latest_request;
            if leaf_id(&text) != added.leaf {
                return Err(format!("round {round} does not end in its own leaf"));
            }
        }
        files.sort();
        files.dedup();
        let (row, cap, line) = compact_once(&text)?;
        text.push_str(&line);
        report.cap = cap;
        let context = context_text(&text);
        // Quotes stand line by line behind a mark; what counts is the words.
        let words = |text: &str| text.replace("\n> ", "\n");
        let context = words(&context);
        let has = |needle: &String| context.contains(&words(needle));
        report.rows.push(Row {
            rules: (rules.len(), rules.iter().filter(|rule| has(rule)).count()),
            files: (files.len(), files.iter().filter(|file| has(file)).count()),
            ..row
        });
        let must = [first_request, &latest];
        let missing = must
            .into_iter()
            .chain(&rules)
            .chain(&files)
            .filter(|text| !has(text));
        report
            .missing
            .extend(missing.map(|text| format!("round {round}: {text}")));
    }
    Ok(report)
}

/// Returns the Rust files that were read in a session, with what the results showed.
fn files_read(text: &str) -> Vec<(String, String)> {
    let mut paths = HashMap::new();
    let mut files = Vec::new();
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap_or_default();
        let message = &entry["message"];
        for block in message["content"].as_array().into_iter().flatten() {
            if let (Some(id), Some(path)) =
                (block["id"].as_str(), block["arguments"]["path"].as_str())
                && block["name"] == "read"
            {
                paths.insert(id.to_owned(), path.to_owned());
            }
        }
        let call = message["toolCallId"].as_str();
        let path = call.and_then(|call| paths.remove(call));
        if let (Some(path), Some(shown)) = (path, message["content"][0]["text"].as_str())
            && path.ends_with(".rs")
        {
            files.push((path, shown.to_owned()));
        }
    }
    files
}

fn leaf_id(text: &str) -> String {
    let session = decode_bytes(text.into());
    let path = session.tree.path(session.tree.leaf());
    path.leaf_id().unwrap_or_default().to_owned()
}

/// Compacts with the extractive summarizer and returns the figures, the cap, and the line to append.
fn compact_once(text: &str) -> Outcome<(Row, u64, String)> {
    let session = decode_bytes(text.into());
    let path = session.tree.path(session.tree.leaf());
    let options = PlanOptions::for_window(TokenCount(200_000));
    let plan = plan_compaction(&path, &Trigger::Manual { focus: None }, &options)
        .map_err(|error| error.to_string())?;
    let applied = plan
        .apply(&plan.answer_by_rule())
        .map_err(|error| error.to_string())?;
    let counter = Profile::Own.counter();
    let prose = compaction_core::without_file_tags(&applied.summary);
    let row = Row {
        before: plan.tokens_in_context().0,
        after: applied.tokens_after.0,
        summary: counter.text(prose).0,
        ..Row::default()
    };
    let id = EntryId::new(&format!("c{:07x}", session.tree.len()));
    let lines = applied.drafts.iter().map(|draft| {
        draft.stamp(&Stamp {
            part_of: None,
            id: id.clone(),
            parent: Some(plan.leaf.clone()),
            timestamp: Timestamp::from_millis(1_773_200_000_000),
        })
    });
    let lines: Vec<String> = lines.map(|line| format!("{line}\n")).collect();
    match lines.as_slice() {
        [line] => Ok((row, plan.summary_cap.0, line.clone())),
        _ => Err("the plan elides entries, which this run does not expect".to_owned()),
    }
}

/// Returns what is in the context: the texts of summaries and messages, tool output aside.
fn context_text(text: &str) -> String {
    let session = decode_bytes(text.into());
    let path = session.tree.path(session.tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    let said = context.entries.iter().flat_map(|projected| {
        let is_output = matches!(
            &projected.entry.body,
            EntryBody::Message(message) if matches!(**message, AgentMessage::ToolResult(_))
        );
        let messages: Vec<Arc<AgentMessage>> = match is_output {
            true => Vec::new(),
            false => projected.messages.clone(),
        };
        messages
    });
    said.map(|message| message.display_text())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::compact_repeatedly;

    #[test]
    fn after_twenty_rounds_requests_rules_and_files_are_still_there() {
        let report = compact_repeatedly(20).unwrap_or_default();
        assert_eq!(report.missing, Vec::<String>::new());
        assert_eq!(report.rows.len(), 21);
        for (round, row) in report.rows.iter().enumerate() {
            assert!(
                // The cap is of the prose; the ledger has a budget of its own, 2% of the window.
                row.summary <= report.cap + 4000,
                "round {round}: {row:?} over {}",
                report.cap
            );
            assert!(row.rules.0 > 0 && row.files.0 > 0, "round {round}: {row:?}");
        }
    }
}
