//! Imports every session below a folder, and compares calls, results, tokens and compactions with the counts of
//! another, much simpler reader.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use session_import::{Format, Input, Origin, detect, import};
use session_model::{
    AgentMessage, Diagnostic, EntryBody, EntryKind, SessionTree, Severity, decode_bytes,
};

/// The names of what is counted, in its order.
const COUNTED: [&str; 5] = ["answers", "calls", "results", "tokens", "compactions"];

type Counts = [u64; 5];

/// Runs the check; the argument is the folder.
///
/// # Errors
/// No folder is named, it cannot be read, or counts differ.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let [folder] = arguments else {
        return Err("name one folder with sessions".to_owned());
    };
    let mut files = Vec::new();
    collect(Path::new(folder), &mut files)?;
    files.sort();
    let (mut checked, mut differing) = (0, 0);
    for file in files {
        let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let Some((name, found, diagnostics)) = imported(&bytes)? else {
            continue;
        };
        checked += 1;
        let mut counted = counted(name, &bytes);
        if name == Format::Codex.key() {
            // Only the importer knows which of its items are one answer.
            counted[0] = found[0];
        }
        let cells = COUNTED.iter().zip(counted.iter().zip(found));
        let cells = cells.map(|(what, (source, found))| match *source == found {
            true => format!("{found} {what}"),
            false => format!("{found} {what} (the file has {source})"),
        });
        let cells: Vec<String> = cells.collect();
        println!("{} ({name}): {}", file.display(), cells.join(", "));
        for said in diagnostics
            .iter()
            .filter(|said| said.severity != Severity::Note)
        {
            println!("  {said}");
        }
        differing += u64::from(counted != found);
    }
    println!("{checked} sessions, {differing} with counts that differ");
    (differing == 0)
        .then_some(())
        .ok_or_else(|| "counts differ".to_owned())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries.flatten() {
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        let path = entry.path();
        let is_session = path
            .extension()
            .is_some_and(|end| end == "jsonl" || end == "json");
        if kind.is_dir() {
            collect(&path, files)?;
        } else if kind.is_file() && is_session {
            files.push(path);
        }
    }
    Ok(())
}

/// The name of a format, what the imported session has, and what is reported.
type Imported = (&'static str, Counts, Vec<Diagnostic>);

/// Imports a file; `None` for no session.
fn imported(bytes: &[u8]) -> Result<Option<Imported>, String> {
    let Some(format) = detect(bytes) else {
        let decoded = decode_bytes(bytes.to_vec());
        let is_session = decoded.tree.header().is_some();
        let found = ("pi", counts_of(&decoded.tree), decoded.diagnostics);
        return Ok(is_session.then_some(found));
    };
    let mut lines = Vec::new();
    let input = Input::of_bytes(bytes.to_vec());
    let report = import(format, &input, &Origin::default(), &|_| None, &mut lines);
    let report = report.map_err(|error| error.to_string())?;
    let tree = decode_bytes(lines).tree;
    Ok(Some((format.key(), counts_of(&tree), report.diagnostics)))
}

fn counts_of(tree: &SessionTree) -> Counts {
    let mut counts = Counts::default();
    for index in tree.indices() {
        let kind = tree.kind(index);
        counts[4] += u64::from(matches!(
            kind,
            EntryKind::Compaction | EntryKind::BranchSummary
        ));
        let Ok(entry) = tree.entry(index) else {
            continue;
        };
        match &entry.body {
            EntryBody::Usage { usage, .. } => counts[3] += usage.total_tokens,
            EntryBody::Message(message) => match &**message {
                AgentMessage::Assistant(answer) => {
                    counts[0] += 1;
                    counts[1] += answer.content.tool_calls().count() as u64;
                    counts[3] += answer.usage.map_or(0, |usage| usage.context_tokens());
                }
                AgentMessage::ToolResult(result) => {
                    let text = result.content.joined_text("");
                    counts[2] += u64::from(!text.starts_with("No result is recorded"));
                }
                _ => {}
            },
            _ => {}
        }
    }
    counts
}

/// The numbers of a file's records, each counted once.
#[derive(Default)]
struct Count {
    /// Ids of records, of formats that may have one twice.
    records: BTreeSet<String>,
    answers: BTreeSet<String>,
    /// Ids of calls, with how many calls and results have each.
    calls: BTreeMap<String, u64>,
    results: BTreeMap<String, u64>,
    tokens: BTreeMap<String, u64>,
    compactions: BTreeSet<String>,
}

fn add(ids: &mut BTreeMap<String, u64>, id: &Value) {
    *ids.entry(text(id)).or_default() += 1;
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn sum(value: &Value, keys: &[&str]) -> u64 {
    keys.iter().filter_map(|key| value[key].as_u64()).sum()
}

/// Returns what the file itself has.
fn counted(format: &str, bytes: &[u8]) -> Counts {
    let values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let mut count = Count::default();
    for (number, record) in values.map_while(Result::ok).enumerate() {
        let number = number.to_string();
        match format {
            "claude-code" => count.claude(&record),
            "codex" => count.codex(&record, number),
            "qwen-code" => count.qwen(&record, &number),
            "gemini-cli" => count.gemini(&record),
            "opencode" => count.opencode(&record),
            _ => count.pi(&record, number),
        }
    }
    let results = count.results.iter();
    let results =
        results.map(|(id, results)| count.calls.get(id).map_or(0, |calls| *results.min(calls)));
    [
        count.answers.len() as u64,
        count.calls.values().sum(),
        results.sum(),
        count.tokens.values().sum(),
        count.compactions.len() as u64,
    ]
}

impl Count {
    fn claude(&mut self, record: &Value) {
        if record["data"]["message"].is_object() {
            return self.claude(&record["data"]["message"]);
        }
        let message = &record["message"];
        if record["isCompactSummary"] == true {
            self.compactions.insert(text(&record["uuid"]));
        }
        if record["uuid"].is_string() && !self.records.insert(text(&record["uuid"])) {
            return;
        }
        let blocks = message["content"].as_array().into_iter().flatten();
        for block in blocks {
            match block["type"].as_str() {
                Some("tool_use") => add(&mut self.calls, &block["id"]),
                Some("tool_result") => add(&mut self.results, &block["tool_use_id"]),
                _ => {}
            }
        }
        if record["type"] == "assistant" && message["model"] != "<synthetic>" {
            let id = message["id"].as_str().or(record["uuid"].as_str());
            let id = id.unwrap_or_default().to_owned();
            let keys = [
                "input_tokens",
                "output_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            ];
            self.answers.insert(id.clone());
            if record["forkedFrom"].is_null() {
                self.tokens.insert(id, sum(&message["usage"], &keys));
            }
        }
    }

    fn codex(&mut self, record: &Value, number: String) {
        let payload = &record["payload"];
        let item = text(&payload["type"]);
        let keys = ["input_tokens", "output_tokens"];
        match (record["type"].as_str(), item.as_str()) {
            (Some("compacted"), _) => drop(self.compactions.insert(number)),
            (Some("response_item"), _) if item.ends_with("_output") => {
                let id = &payload["call_id"];
                let open = |ids: &BTreeMap<String, u64>| ids.get(&text(id)).copied().unwrap_or(0);
                // A result before its call does not belong to it.
                if open(&self.results) < open(&self.calls) {
                    add(&mut self.results, id);
                }
            }
            (Some("response_item"), _)
                if item.ends_with("_call") && payload["call_id"].is_string() =>
            {
                add(&mut self.calls, &payload["call_id"]);
            }
            (Some("token_usage_record"), _) => {
                self.tokens.retain(|key, _| !key.starts_with("event"));
                self.tokens.insert(number, sum(&payload["usage"], &keys));
            }
            (_, "token_count") if self.tokens.keys().all(|key| key.starts_with("event")) => {
                let total = &payload["info"]["total_token_usage"];
                let last = sum(&payload["info"]["last_token_usage"], &keys);
                if sum(total, &["total_tokens", "input_tokens"]) > 0 {
                    self.tokens.entry(format!("event {total}")).or_insert(last);
                }
            }
            _ => {}
        }
    }

    fn qwen(&mut self, record: &Value, number: &str) {
        if record["subtype"] == "chat_compression" {
            self.compactions.insert(text(&record["uuid"]));
        }
        if record["type"] == "assistant" {
            self.answers.insert(text(&record["uuid"]));
        }
        for (place, part) in record["message"]["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            for (key, ids) in [
                ("functionCall", &mut self.calls),
                ("functionResponse", &mut self.results),
            ] {
                if let Some(function) = part.get(key) {
                    let id = function["id"].as_str().map(str::to_owned);
                    ids.insert(id.unwrap_or_else(|| format!("{number}.{place}")), 1);
                }
            }
        }
        let total = record["usageMetadata"]["totalTokenCount"].as_u64();
        if record["forkedFrom"].is_null()
            && let Some(total) = total
        {
            self.tokens.insert(text(&record["uuid"]), total);
        }
    }

    fn gemini(&mut self, record: &Value) {
        let set = &record["$set"]["messages"];
        let messages = record["messages"].as_array().or(set.as_array());
        let messages = messages.map_or(std::slice::from_ref(record), Vec::as_slice);
        for message in messages {
            let id = text(&message["id"]);
            if set.is_array() && message.to_string().contains("<state_snapshot>") {
                self.compactions.insert(id.clone());
            }
            if message["type"] != "gemini" {
                continue;
            }
            self.answers.insert(id.clone());
            self.tokens.insert(id, sum(&message["tokens"], &["total"]));
            for call in message["toolCalls"].as_array().into_iter().flatten() {
                self.calls.insert(text(&call["id"]), 1);
                if !call["result"].is_null() {
                    self.results.insert(text(&call["id"]), 1);
                }
            }
        }
    }

    fn opencode(&mut self, record: &Value) {
        for message in record["messages"].as_array().into_iter().flatten() {
            let info = &message["info"];
            if info["role"] != "assistant" {
                continue;
            }
            let (id, tokens) = (text(&info["id"]), &info["tokens"]);
            let own = sum(tokens, &["input", "output", "reasoning"]);
            self.tokens
                .insert(id.clone(), own + sum(&tokens["cache"], &["read", "write"]));
            match info["summary"] == true {
                true if info["error"].is_null() && info["finish"].is_string() => {
                    self.compactions.insert(id);
                }
                true => {}
                false => drop(self.answers.insert(id)),
            }
            for part in message["parts"].as_array().into_iter().flatten() {
                if part["type"] == "tool" {
                    self.calls.insert(text(&part["callID"]), 1);
                    if matches!(
                        part["state"]["status"].as_str(),
                        Some("completed" | "error")
                    ) {
                        self.results.insert(text(&part["callID"]), 1);
                    }
                }
            }
        }
    }

    fn pi(&mut self, record: &Value, number: String) {
        let message = &record["message"];
        if matches!(
            record["type"].as_str(),
            Some("compaction" | "branch_summary")
        ) {
            self.compactions.insert(number.clone());
        }
        match message["role"].as_str() {
            Some("assistant") => {
                for block in message["content"].as_array().into_iter().flatten() {
                    if block["type"] == "toolCall" {
                        add(&mut self.calls, &block["id"]);
                    }
                }
                let usage = &message["usage"];
                let parts = sum(usage, &["input", "output", "cacheRead", "cacheWrite"]);
                let total = usage["totalTokens"].as_u64();
                self.tokens.insert(number.clone(), total.unwrap_or(parts));
                self.answers.insert(number);
            }
            Some("toolResult") => add(&mut self.results, &message["toolCallId"]),
            _ => {}
        }
    }
}
