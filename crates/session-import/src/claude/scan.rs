//! The first pass: heads of records, without their bodies.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use session_model::{Diagnostic, DiagnosticKind, Severity};

use super::part::Part;
use crate::emitter::Emitter;
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::json::{self, Object};
use crate::report::{ImportReport, count};
use crate::threads::{Boundary, Kind, Record, Records};

/// What the first pass found.
#[derive(Default)]
pub(super) struct Scan {
    pub records: Records,
    pub title: Option<String>,
    /// What the lines of answers add to them, without their blocks.
    pub parts: HashMap<usize, Part>,
    /// Hashes of what messages with the role of the user say.
    user_texts: BTreeSet<u64>,
    /// How good the title is.
    title_rank: u8,
}

impl Scan {
    /// Returns whether a message of the user says exactly this.
    pub fn is_user_text(&self, text: &str) -> bool {
        self.user_texts.contains(&hash(text))
    }

    fn set_title(&mut self, rank: u8, title: Option<String>) {
        if let Some(title) = title.filter(|_| rank >= self.title_rank) {
            self.title_rank = rank;
            self.title = Some(title);
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
    let report = &mut emitter.report;
    input.records(
        input.bytes,
        &mut emitter.diagnostics,
        |object, line, diagnostics| {
            let kind = object.text("type").unwrap_or_default();
            count(&mut report.records, &kind);
            report.take_head(object);
            let threaded = match kind.as_str() {
                "user" | "assistant" | "system" | "attachment" => true,
                "custom-title" | "ai-title" | "summary" => {
                    let (rank, key) = match kind.as_str() {
                        "custom-title" => (3, "customTitle"),
                        "ai-title" => (2, "aiTitle"),
                        _ => (1, "summary"),
                    };
                    scan.set_title(rank, object.filled(key));
                    false
                }
                "last-prompt" => {
                    if object.flag("explicit") {
                        scan.records.leaf = object.text("leafUuid").map(Into::into);
                    }
                    report.skip(&kind);
                    false
                }
                _ => {
                    report.skip(&kind);
                    // Records of a kind that is not known may be links of the chain all the same.
                    object.raw("uuid").is_some() && object.raw("parentUuid").is_some()
                }
            };
            if !threaded {
                return Ok(());
            }
            let uuid: Option<Box<str>> = object.filled("uuid").map(Into::into);
            if let Some(uuid) = &uuid {
                if scan.records.by_uuid.contains_key(uuid) {
                    report.duplicates += 1;
                    let text = "a second record with the same uuid; left out";
                    let said = Diagnostic::new(Severity::Note, DiagnosticKind::DuplicateId, text);
                    diagnostics.push(said.at_line(line.number));
                    return Ok(());
                }
                let place = scan.records.list.len();
                scan.records.by_uuid.insert(uuid.clone(), place);
            }
            let (kind, boundary) = kind_of(&kind, object, &mut scan);
            if kind == Kind::Link && boundary.is_none() {
                let name = object.text("type").unwrap_or_default();
                // Records of a kind that is not known are counted already.
                if matches!(name.as_str(), "user" | "assistant" | "system") {
                    match object.text("subtype") {
                        Some(subtype) => report.skip(&format!("{name}/{subtype}")),
                        None => report.skip(&name),
                    }
                }
            }
            scan.records.list.push(Record {
                line: line.number,
                span: line.span,
                more: Vec::new(),
                kind,
                uuid,
                parent: object.filled("parentUuid").map(Into::into),
                source: object.text("sourceToolAssistantUUID").map(Into::into),
                at: object.time("timestamp"),
                is_sidechain: object.flag("isSidechain"),
                boundary: boundary.map(Box::new),
            });
            Ok(())
        },
    )?;
    Ok(scan)
}

fn kind_of(name: &str, object: &Object<'_>, scan: &mut Scan) -> (Kind, Option<Boundary>) {
    let boxed = |texts: Vec<String>| texts.into_iter().map(Into::into).collect();
    let kind = match name {
        "assistant" => {
            let mut ignored = ImportReport::new(Format::ClaudeCode);
            let part = Part::of(object, &mut ignored, false);
            let calls = part.calls.iter().map(|call| call.id.as_str().into());
            let kind = Kind::Answer {
                calls: calls.collect(),
                message_id: part.id.clone(),
            };
            scan.parts.insert(scan.records.list.len(), part);
            kind
        }
        "user" if object.flag("isCompactSummary") => Kind::Summary,
        "user" => user_kind(object, scan),
        "attachment" => Kind::Attachment,
        "system" if object.text("subtype").as_deref() == Some("compact_boundary") => {
            let metadata = object.object("compactMetadata").unwrap_or_default();
            let preserved = metadata.object("preservedMessages").unwrap_or_default();
            let segment = metadata.object("preservedSegment").unwrap_or_default();
            let mut uuids = preserved.texts("uuids");
            uuids.extend(preserved.texts("allUuids"));
            uuids.extend(segment.text("headUuid"));
            let tail = segment.text("tailUuid").or(preserved.texts("uuids").pop());
            let raw = object.raw("compactMetadata").unwrap_or("{}");
            let boundary = Boundary {
                logical_parent: object.filled("logicalParentUuid").map(Into::into),
                preserved: boxed(uuids),
                tail: tail.map(Into::into),
                tokens_before: metadata.tokens("preTokens"),
                metadata: raw.to_owned(),
            };
            return (Kind::Boundary, Some(boundary));
        }
        "system" => match object.texts("retractedMessageUuids") {
            targets if targets.is_empty() => Kind::Link,
            targets => Kind::Retraction(boxed(targets)),
        },
        _ => Kind::Link,
    };
    (kind, None)
}

fn user_kind(object: &Object<'_>, scan: &mut Scan) -> Kind {
    let message = object.object("message").unwrap_or_default();
    let mut results = Vec::new();
    let mut has_more = false;
    match message.raw("content") {
        None => return Kind::Link,
        Some(raw) => match json::text(raw) {
            Some(text) => {
                scan.user_texts.insert(hash(&text));
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
                                scan.user_texts.insert(hash(&text));
                            }
                        }
                    }
                }
            }
        },
    }
    Kind::User { results, has_more }
}
