//! The first pass: which logs the history is made of, where results stand, and which kinds of records there are.

use session_model::json::Members;
use std::collections::BTreeSet;

use session_model::{Diagnostic, DiagnosticKind, Diagnostics, Severity, Span, Timestamp};

use super::items::{is_output, unwrapped};
use super::lead::Lead;
use super::outputs::{Output, Outputs};
use crate::FindSession;
use crate::emitter::Emitter;
use crate::error::ImportError;
use crate::format::Format;
use crate::input::{Input, Line, damaged};
use crate::report::{ImportReport, count};

/// How many forks of forks are followed.
const MOST_BASES: usize = 32;

/// A log, or the beginning of one on which a fork is based.
pub(super) struct Segment {
    pub input: Input,
    /// Where it ends, in bytes.
    pub end: u64,
    /// The ordinal at which it ends, where records have ordinals.
    pub end_ordinal: Option<u64>,
}

impl Segment {
    /// Returns whether a record belongs to the history.
    pub fn has(&self, ordinal: Option<u64>) -> bool {
        match (self.end_ordinal, ordinal) {
            (Some(end), Some(ordinal)) => ordinal < end,
            _ => true,
        }
    }
}

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub segment: usize,
    pub span: Span,
}

/// What the first pass found.
#[derive(Default)]
pub(super) struct Scan {
    /// The logs, the oldest first.
    pub segments: Vec<Segment>,
    pub begun: Option<Timestamp>,
    pub title: Option<String>,
    pub provider: String,
    /// What is kept of the first record, as JSON.
    pub meta: String,
    pub outputs: Outputs,
    /// Messages of the user are items, so that events repeat them.
    pub has_user_items: bool,
    /// Answers are items, so that events repeat them.
    pub has_answer_items: bool,
    /// Usage is recorded by response, so that events repeat it.
    pub has_usage_records: bool,
    /// Responses that wrote summaries.
    pub summaries: BTreeSet<String>,
    /// The newest compaction that only the provider can read.
    pub newest_native: Option<At>,
    /// A compaction has its summary before what it kept.
    pub keeps_items: bool,
    /// How many tokens the model takes, as the log says.
    pub window: Option<u64>,
}

/// Members of the first record that are kept.
const META: [&str; 9] = [
    "originator",
    "cli_version",
    "source",
    "thread_source",
    "model_provider",
    "history_mode",
    "forked_from_id",
    "history_base",
    "git",
];

/// Types that are mapped, or that mapped ones repeat.
const MAPPED: [&str; 5] = [
    "session_meta",
    "turn_context",
    "response_item",
    "compacted",
    "token_usage_record",
];

pub(super) fn scan(
    input: &Input,
    find: &FindSession<'_>,
    emitter: &mut Emitter<'_>,
) -> Result<Scan, ImportError> {
    let mut scan = Scan {
        segments: segments(input, find, &mut emitter.diagnostics)?,
        ..Scan::default()
    };
    let segments = std::mem::take(&mut scan.segments);
    for (index, segment) in segments.iter().enumerate() {
        let is_own = index + 1 == segments.len();
        let report = &mut emitter.report;
        let mut has_meta = false;
        segment.input.folded(
            segment.end,
            &mut emitter.diagnostics,
            |block: &mut Block, line| block.take(line, segment, index),
            |block, before, diagnostics| {
                for number in &block.damaged {
                    diagnostics.push(damaged(before + number));
                }
                let metas = scan.add(block, report);
                for meta in metas {
                    if std::mem::replace(&mut has_meta, true) {
                        // A fork of the older kind copies that of its parent.
                        report.skip("session_meta (of the parent)");
                    } else if is_own {
                        scan.take_meta(&meta, report);
                    }
                }
                Ok(())
            },
        )?;
    }
    if scan.provider.is_empty() {
        // Older versions knew no other.
        "openai".clone_into(&mut scan.provider);
    }
    scan.segments = segments;
    Ok(scan)
}

/// What the records of a block tell.
struct Block {
    scan: Scan,
    report: ImportReport,
    /// The numbers of lines that are no records.
    damaged: Vec<u64>,
    metas: Vec<String>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            scan: Scan::default(),
            report: ImportReport::new(Format::Codex),
            damaged: Vec::new(),
            metas: Vec::new(),
        }
    }
}

impl Block {
    fn take(&mut self, line: &Line<'_>, segment: &Segment, index: usize) {
        let at = At {
            segment: index,
            span: line.span,
        };
        let (scan, report) = (&mut self.scan, &mut self.report);
        if let Some(lead) = Lead::of(line.bytes).filter(Lead::is_enough_to_scan) {
            if segment.has(lead.ordinal) {
                count(&mut report.records, lead.kind);
                scan.begun = scan.begun.or_else(|| Timestamp::parse(lead.at));
                scan.take_lead(&lead, at);
                scan.window = lead.window().or(scan.window);
                skip(report, lead.kind, lead.payload);
            }
            return;
        }
        let text = line.text();
        let Some(record) = Members::parse(&text) else {
            self.damaged.push(line.number);
            return;
        };
        if !segment.has(record.count("ordinal")) {
            return;
        }
        let (kind, payload, _) = unwrapped(&record, &text);
        count(&mut report.records, &kind);
        scan.begun = scan.begun.or(record.time("timestamp"));
        if kind == "session_meta" {
            self.metas.push(text.clone().into_owned());
        }
        scan.take(&kind, &record, &payload, at);
        let info = payload.object("info").unwrap_or_default();
        let windows = [&payload, &info].map(|of| of.count("model_context_window"));
        scan.window = windows
            .into_iter()
            .flatten()
            .find(|window| *window > 0)
            .or(scan.window);
        skip(report, &kind, &payload.text("type").unwrap_or_default());
    }
}

/// Counts a record that is not mapped.
fn skip(report: &mut ImportReport, kind: &str, payload: &str) {
    if kind == "event_msg" {
        if !is_mapped_event(payload) {
            report.skip(&format!("event_msg/{payload}"));
        }
    } else if !MAPPED.contains(&kind) {
        report.skip(kind);
    }
}

fn is_mapped_event(event: &str) -> bool {
    matches!(
        event,
        "thread_rolled_back" | "turn_aborted" | "thread_name_updated" | "token_count"
    )
}

impl Scan {
    /// Takes in what the next block tells, and returns its records about the session.
    fn add(&mut self, block: Block, report: &mut ImportReport) -> Vec<String> {
        report.add_heads(block.report);
        let found = block.scan;
        self.outputs.append(found.outputs);
        self.begun = self.begun.or(found.begun);
        self.title = found.title.or(self.title.take());
        self.has_user_items |= found.has_user_items;
        self.has_answer_items |= found.has_answer_items;
        self.has_usage_records |= found.has_usage_records;
        self.summaries.extend(found.summaries);
        self.newest_native = found.newest_native.or(self.newest_native);
        self.keeps_items |= found.keeps_items;
        self.window = found.window.or(self.window);
        block.metas
    }

    fn take_meta(&mut self, meta: &str, report: &mut ImportReport) {
        let record = Members::parse(meta).unwrap_or_default();
        let (_, payload, _) = unwrapped(&record, meta);
        report.session_id = payload.filled("id").unwrap_or_default();
        report.cwd = payload.text("cwd").unwrap_or_default();
        report.version = payload.text("cli_version");
        self.provider = payload.text("model_provider").unwrap_or_default();
        let begun = payload.time("timestamp").or(record.time("timestamp"));
        self.begun = begun.or(self.begun);
        let members = payload.iter();
        let members = members.filter(|(name, raw)| META.contains(name) && *raw != "null");
        let members: Vec<_> = members
            .map(|(name, raw)| format!("\"{name}\":{raw}"))
            .collect();
        self.meta = format!("{{{}}}", members.join(","));
    }

    /// Takes a record of which its beginning tells all that is needed.
    fn take_lead(&mut self, lead: &Lead<'_>, at: At) {
        match lead.kind {
            "response_item" => {
                self.has_user_items |= lead.payload == "message" && lead.role == "user";
                self.has_answer_items |= lead.payload == "message" && lead.role == "assistant";
                if is_output(lead.payload) && !lead.call_id.is_empty() {
                    let output = Output {
                        at,
                        time: Timestamp::parse(lead.at),
                        id: lead.id.into(),
                    };
                    self.outputs.push(lead.call_id, output);
                }
            }
            "token_usage_record" => self.has_usage_records = true,
            _ => {}
        }
    }

    fn take(&mut self, kind: &str, record: &Members<'_>, payload: &Members<'_>, at: At) {
        let name = payload.text("type").unwrap_or_default();
        match kind {
            "response_item" | "token_usage_record" => {
                let [role, call_id, id] =
                    ["role", "call_id", "id"].map(|key| payload.text(key).unwrap_or_default());
                let time = record.time("timestamp").map(|time| time.to_string());
                let lead = Lead {
                    at: time.as_deref().unwrap_or_default(),
                    id: &id,
                    kind,
                    payload: &name,
                    role: &role,
                    call_id: &call_id,
                    ..Lead::default()
                };
                self.take_lead(&lead, at);
            }
            "compacted" => {
                self.summaries
                    .extend(payload.text("compaction_response_id"));
                let items = payload.objects("replacement_history");
                if items.iter().any(is_native) {
                    self.newest_native = Some(at);
                }
                let message = payload.filled("message");
                let is_summary = |item: &Members<'_>| {
                    let mut parts = item.objects("content").into_iter();
                    message.is_some() && parts.any(|part| part.text("text") == message)
                };
                self.keeps_items |= items.len() > 1 && is_summary(&items[0]);
            }
            "event_msg" if name == "thread_name_updated" => {
                self.title = payload.filled("thread_name").or(self.title.take());
            }
            _ => {}
        }
    }
}

/// Returns true for the item of a compaction that only the provider can read.
pub(super) fn is_native(item: &Members<'_>) -> bool {
    let kind = item.text("type").unwrap_or_default();
    matches!(
        kind.as_str(),
        "compaction" | "context_compaction" | "compaction_summary"
    )
}

/// Returns the log, and before it those on which it is based.
fn segments(
    input: &Input,
    find: &FindSession<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<Segment>, ImportError> {
    let mut segments = vec![Segment {
        input: input.clone(),
        end: input.bytes,
        end_ordinal: None,
    }];
    let mut seen = BTreeSet::new();
    while let Some(newest) = segments.last() {
        let Some((own, base)) = history_base(&newest.input)? else {
            break;
        };
        seen.insert(own);
        let missing = |why: &str| {
            let text = format!(
                "the history before the fork is in the session {}, {why}; only what followed is here",
                base.thread
            );
            let kind = DiagnosticKind::MissingParent;
            Diagnostic::new(Severity::Error, kind, text).at_line(1)
        };
        if !seen.insert(base.thread.clone()) || segments.len() > MOST_BASES {
            diagnostics.push(missing("which is based on this one in turn"));
            break;
        }
        let Some(found) = find(&base.thread) else {
            diagnostics.push(missing("which was not found"));
            break;
        };
        segments.push(Segment {
            // Ordinals say it better than bytes, which a conversion of the log moves.
            end: match base.end_ordinal {
                Some(_) => found.bytes,
                None => base.end_byte.unwrap_or(found.bytes),
            },
            end_ordinal: base.end_ordinal,
            input: found,
        });
    }
    segments.reverse();
    Ok(segments)
}

struct Base {
    thread: String,
    end_ordinal: Option<u64>,
    end_byte: Option<u64>,
}

/// Returns the id of a session and where its history begins, if it is a fork that refers to another.
fn history_base(input: &Input) -> Result<Option<(String, Base)>, ImportError> {
    let mut found = None;
    let mut is_first = true;
    let mut ignored = Diagnostics::default();
    // The first record is at the beginning; a log without one is read on for a block only.
    input.lines(input.bytes.min(4 << 20), &mut ignored, |line, _| {
        if !std::mem::replace(&mut is_first, false) {
            return Ok(());
        }
        let text = line.text();
        let record = Members::parse(&text).unwrap_or_default();
        let payload = record.object("payload").unwrap_or_default();
        let own = payload.text("id").unwrap_or_default();
        found = payload.object("history_base").and_then(|base| {
            Some((
                own,
                Base {
                    // It is shown, and a file may write anything here.
                    thread: base.filled("thread_id")?.chars().take(80).collect(),
                    end_ordinal: base.count("end_ordinal_exclusive"),
                    end_byte: base.count("end_byte_offset"),
                },
            ))
        });
        Ok(())
    })?;
    Ok(found)
}
