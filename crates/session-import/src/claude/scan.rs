//! The first pass: heads of records, without their bodies.

use session_model::json::{Members, string};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use session_model::{Diagnostic, DiagnosticKind, Diagnostics, Severity, Span};

use super::part::calls_of;
use crate::emitter::{CLEARED, Emitter};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::{Input, Line, damaged, place_of};
use crate::report::{ImportReport, count};
use crate::threads::{Boundary, Kind, Record, Records, Subagent};

/// What the first pass found.
#[derive(Default)]
pub(super) struct Scan {
    pub records: Records,
    pub title: Option<String>,
    /// Hashes of what messages with the role of the user say.
    user_texts: BTreeSet<u64>,
    /// The newest steps of subagents, by their ids and the calls that started or resumed them.
    steps: HashMap<Subagent, Box<str>>,
    /// Calls that start subagents whose first step is not there yet, by hashes of their prompts.
    prompts: HashMap<u64, VecDeque<Box<str>>>,
    /// How good the title is.
    title_rank: u8,
    /// What the model sees in place of results, by the ids of their calls, and of records; `None` for nothing.
    pub replaced: BTreeMap<Box<str>, Option<String>>,
    /// The subagent whose session it is, if it is one.
    pub agent: Option<String>,
}

/// What the records of a block tell.
struct Block {
    report: ImportReport,
    /// The numbers of lines that are no records.
    damaged: Vec<u64>,
    title: (u8, Option<String>),
    /// Summaries as titles, with the messages at which they were made.
    summaries: Vec<(String, String)>,
    replaced: Vec<(String, Option<String>)>,
    agent: Option<String>,
    /// The leaf that a record names, or that it names none.
    leaf: Option<Option<Box<str>>>,
    seen: Vec<Seen>,
}

/// A record that may be a link of the chain.
struct Seen {
    record: Record,
    /// The record of which it is a copy.
    source: Option<String>,
    /// Hashes of what it says, if it has the role of the user.
    texts: Vec<u64>,
    /// What is counted as not mapped.
    skipped: Option<String>,
    /// Hashes of the prompts that subagents get, with the calls that start them.
    prompts: Vec<(u64, Box<str>)>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            report: ImportReport::new(Format::ClaudeCode),
            damaged: Vec::new(),
            title: (0, None),
            summaries: Vec::new(),
            replaced: Vec::new(),
            agent: None,
            leaf: None,
            seen: Vec::new(),
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim().hash(&mut hasher);
    hasher.finish()
}

/// Reads the heads of all records, and counts what is not mapped.
pub(super) fn scan(input: &Input, emitter: &mut Emitter<'_>) -> Result<Scan, ImportError> {
    let mut scan = Scan::default();
    let mut summaries = Vec::new();
    let report = &mut emitter.report;
    let take = |block: Block, before: u64, diagnostics: &mut Diagnostics| {
        for number in &block.damaged {
            diagnostics.push(damaged(before + number));
        }
        report.add_heads(block.report);
        scan.set_title(block.title);
        summaries.extend(block.summaries);
        let replaced = block.replaced.into_iter();
        scan.replaced
            .extend(replaced.map(|(id, text)| (id.into(), text)));
        scan.agent = scan.agent.take().or(block.agent);
        scan.records.leaf = block.leaf.unwrap_or(scan.records.leaf.take());
        for mut seen in block.seen {
            seen.record.line += before;
            scan.add(seen, report, diagnostics);
        }
        Ok(())
    };
    let diagnostics = &mut emitter.diagnostics;
    input.folded(input.bytes, diagnostics, Block::take, take)?;
    // Older versions wrote summaries of other sessions into a new file.
    for (leaf, title) in summaries {
        if scan.records.find(Some(&leaf)).is_some() {
            scan.set_title((1, Some(title)));
        }
    }
    Ok(scan)
}

impl Block {
    fn take(&mut self, line: &Line<'_>) {
        let text = line.text();
        let Some(object) = Members::parse(&text) else {
            self.damaged.push(line.number);
            return;
        };
        let name = object.text("type").unwrap_or_default();
        count(&mut self.report.records, &name);
        self.report.take_head(&object);
        if self.agent.is_none() {
            self.agent = object.filled("agentId");
        }
        let is_link = match name.as_str() {
            "user" | "assistant" | "system" | "attachment" => true,
            "custom-title" => self.set_title(3, object.filled("customTitle")),
            "ai-title" => self.set_title(2, object.filled("aiTitle")),
            "summary" => {
                let named = object.filled("leafUuid").zip(object.filled("summary"));
                self.summaries.extend(named);
                false
            }
            "content-replacement" => {
                for replacement in object.objects("replacements") {
                    let found = replacement.filled("toolUseId");
                    let found = found.zip(replacement.text("replacement"));
                    self.replaced
                        .extend(found.map(|(id, text)| (id, Some(text))));
                }
                false
            }
            "last-prompt" => {
                if object.flag("explicit") {
                    self.leaf = Some(object.text("leafUuid").map(Into::into));
                }
                self.report.skip(&name);
                false
            }
            _ => {
                if !self.see_step(&object, &text, line) {
                    self.report.skip(&name);
                }
                // Records of a kind that is not known may be links of the chain all the same.
                object.raw("uuid").is_some() && object.raw("parentUuid").is_some()
            }
        };
        if is_link {
            self.see(&name, &object, line.number, line.span);
        }
    }

    /// Takes in the step of a subagent that a record reports; returns false for a record that reports none.
    fn see_step(&mut self, record: &Members<'_>, text: &str, line: &Line<'_>) -> bool {
        let data = record.object("data").unwrap_or_default();
        // In a repaired text, places are not those of the file.
        let raw = data.raw("message");
        let raw = raw.filter(|_| text.as_ptr() == line.bytes.as_ptr());
        let step = raw.and_then(Members::parse).unwrap_or_default();
        let name = step.text("type").unwrap_or_default();
        let (Some(raw), "user" | "assistant") = (raw, &*name) else {
            return false;
        };
        let span = place_of(raw, text, line.span.offset);
        self.see(&name, &step, line.number, span);
        let Some(seen) = self.seen.last_mut() else {
            return false;
        };
        seen.texts.clear();
        seen.record.is_sidechain = true;
        seen.record.at = seen.record.at.or(record.time("timestamp"));
        let call = record.filled("parentToolUseID");
        let id = data.filled("agentId").or(call.clone());
        seen.record.subagent = Some(Box::new(Subagent {
            id: id.unwrap_or_default().into(),
            call: call.map(Into::into),
        }));
        true
    }

    fn see(&mut self, name: &str, object: &Members<'_>, line: u64, span: Span) {
        let mut texts = Vec::new();
        let (kind, boundary) = kind_of(name, object, &mut texts);
        let known = self.replaced.len();
        if name == "system" {
            let of = |object: &Members<'_>, key, text: Option<&str>| {
                let ids = object.texts(key).into_iter();
                ids.map(|id| (id, text.map(str::to_owned)))
                    .collect::<Vec<_>>()
            };
            let cleared = object.object("microcompactMetadata").unwrap_or_default();
            self.replaced
                .extend(of(object, "retractedMessageUuids", None));
            self.replaced
                .extend(of(&cleared, "compactedToolIds", Some(CLEARED)));
            self.replaced
                .extend(of(&cleared, "clearedAttachmentUUIDs", None));
        }
        let is_link = kind == Kind::Link && self.replaced.len() == known;
        let is_known = matches!(name, "user" | "assistant" | "system");
        let skipped = (is_known && is_link).then(|| match object.text("subtype") {
            Some(subtype) => format!("{name}/{subtype}"),
            None => name.to_owned(),
        });
        self.seen.push(Seen {
            record: Record {
                line,
                span,
                more: Vec::new(),
                kind,
                uuid: object.filled("uuid").map(Into::into),
                parent: object.filled("parentUuid").map(Into::into),
                source: object.text("sourceToolAssistantUUID").map(Into::into),
                at: object.time("timestamp"),
                is_sidechain: object.flag("isSidechain"),
                subagent: None,
                boundary: boundary.map(Box::new),
            },
            source: object
                .object("forkedFrom")
                .and_then(|from| from.filled("messageUuid")),
            texts,
            skipped,
            prompts: prompts_of(name, object),
        });
    }

    /// Takes a title; what has one is no link.
    fn set_title(&mut self, rank: u8, title: Option<String>) -> bool {
        if title.is_some() && rank >= self.title.0 {
            self.title = (rank, title);
        }
        false
    }
}

impl Scan {
    /// Returns whether a message of the user says exactly this.
    pub fn is_user_text(&self, text: &str) -> bool {
        self.user_texts.contains(&hash(text))
    }

    fn set_title(&mut self, (rank, title): (u8, Option<String>)) {
        if title.is_some() && rank >= self.title_rank {
            self.title_rank = rank;
            self.title = title;
        }
    }

    /// Takes in the next record, unless there is one with its uuid.
    fn add(&mut self, mut seen: Seen, report: &mut ImportReport, diagnostics: &mut Diagnostics) {
        let place = self.records.list.len();
        if let Some(uuid) = &seen.record.uuid {
            if self.records.by_uuid.contains_key(uuid) {
                report.duplicates += 1;
                let text = "a second record with the same uuid; left out";
                let said = Diagnostic::new(Severity::Note, DiagnosticKind::DuplicateId, text);
                diagnostics.push(said.at_line(seen.record.line));
                return;
            }
            self.records.by_uuid.insert(uuid.clone(), place);
        }
        if let Some(source) = seen.source.take() {
            self.records.by_source.insert(source.into(), place);
        }
        if let Some(skipped) = seen.skipped.take() {
            report.skip(&skipped);
        }
        self.link_step(&mut seen);
        self.user_texts.extend(seen.texts);
        self.records.list.push(seen.record);
    }

    /// Joins a step of a subagent to the one before, or the first one to the call that started it.
    fn link_step(&mut self, seen: &mut Seen) {
        for (prompt, call) in seen.prompts.drain(..) {
            self.prompts.entry(prompt).or_default().push_back(call);
        }
        let record = &mut seen.record;
        if let Some(agent) = &mut record.subagent {
            let known = (**agent).clone();
            record.parent = self.steps.get(&known).cloned();
            agent.call = agent.call.take().filter(|_| record.parent.is_none());
            if let Some(uuid) = record.uuid.clone() {
                self.steps.insert(known, uuid);
            }
        } else if record.is_sidechain && record.parent.is_none() {
            let mut texts = seen.texts.iter();
            let call = texts.find_map(|text| self.prompts.get_mut(text)?.pop_front());
            record.subagent = call.map(|call| {
                Box::new(Subagent {
                    id: "".into(),
                    call: Some(call),
                })
            });
        }
    }
}

/// Returns hashes of the prompts that an answer gives subagents, with its calls.
fn prompts_of(name: &str, record: &Members<'_>) -> Vec<(u64, Box<str>)> {
    let message = record.raw("message").filter(|_| name == "assistant");
    let message = message.filter(|raw| raw.contains("\"prompt\""));
    let message = message.and_then(Members::parse).unwrap_or_default();
    let prompts = message.objects("content").into_iter().filter_map(|call| {
        let prompt = call.object("input")?.filled("prompt")?;
        Some((hash(&prompt), call.filled("id")?.into()))
    });
    prompts.collect()
}

/// Returns what a record is; adds hashes of what the user says to `texts`.
fn kind_of(name: &str, object: &Members<'_>, texts: &mut Vec<u64>) -> (Kind, Option<Boundary>) {
    let kind = match name {
        "assistant" => {
            let message = object.object("message").unwrap_or_default();
            let calls = calls_of(object, &message).into_iter();
            Kind::Answer {
                calls: calls.map(Into::into).collect(),
                message_id: message.filled("id").map(Into::into),
            }
        }
        "user" if object.flag("isCompactSummary") => Kind::Summary,
        "user" => user_kind(object, texts),
        "attachment" => Kind::Attachment,
        "progress" => Kind::Progress,
        "system" if object.text("subtype").as_deref() == Some("compact_boundary") => {
            let metadata = object.object("compactMetadata").unwrap_or_default();
            let preserved = metadata.object("preservedMessages").unwrap_or_default();
            let segment = metadata.object("preservedSegment").unwrap_or_default();
            let mut uuids = preserved.texts("uuids");
            if uuids.is_empty() {
                uuids = preserved.texts("allUuids");
            }
            let head = segment.text("headUuid").or(uuids.first().cloned());
            let tail = segment.text("tailUuid").or(uuids.last().cloned());
            let anchor = segment.text("anchorUuid").or(preserved.text("anchorUuid"));
            uuids.extend([&head, &tail].into_iter().flatten().cloned());
            uuids.sort_unstable();
            uuids.dedup();
            let raw = object.raw("compactMetadata").unwrap_or("{}");
            let boundary = Boundary {
                logical_parent: object.filled("logicalParentUuid").map(Into::into),
                preserved: uuids.into_iter().map(Into::into).collect(),
                head: head.map(Into::into),
                tail: tail.map(Into::into),
                anchor: anchor.map(Into::into),
                tokens_before: metadata.count("preTokens").unwrap_or(0),
                metadata: raw.to_owned(),
            };
            return (Kind::Boundary, Some(boundary));
        }
        _ => Kind::Link,
    };
    (kind, None)
}

fn user_kind(object: &Members<'_>, texts: &mut Vec<u64>) -> Kind {
    let message = object.object("message").unwrap_or_default();
    let mut results = Vec::new();
    let mut has_more = false;
    match message.raw("content") {
        None => return Kind::Link,
        Some(raw) => match string(raw) {
            Some(text) => {
                texts.push(hash(&text));
                has_more = true;
            }
            None => {
                for block in message.objects("content") {
                    match block.text("type").as_deref() {
                        Some("tool_result") => {
                            let id = block.filled("tool_use_id");
                            let id = id.or(object.filled("sourceToolUseID"));
                            results.push(id.map(Into::into));
                        }
                        _ => {
                            has_more = true;
                            if let Some(text) = block.text("text") {
                                texts.push(hash(&text));
                            }
                        }
                    }
                }
            }
        },
    }
    Kind::User { results, has_more }
}
