//! Entries that go out: ids, parents, times, counts.

use std::io::Write;

use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Block, Content, ContextEditDraft, CustomDraft, CustomMessageDraft, Diagnostics,
    EntryDraft, EntryId, FirstKept, HeaderDraft, MessageDraft, SessionInfoDraft, Stamp, Timestamp,
    Usage, UserMessage,
};

use crate::context_sizes::ContextSizes;
use crate::error::ImportError;
use crate::format::Format;
use crate::ids::{Ids, LONGEST_ID};
use crate::input::Input;
use crate::report::{ImportReport, count};
use crate::results::LaterPlace;

pub(crate) use crate::results::{CallResult, PendingCall};
use crate::{IMPORT_ENTRY, Origin};

/// The custom type of the entry that moves the leaf; `agent-cli` writes the same.
pub(crate) use session_model::LEAF_ENTRY;

/// What replaces a result that the source does not have.
pub(crate) const INTERRUPTED: &str = "No result is recorded: the call was interrupted.";

/// What the model sees in place of a result that was cleared.
pub(crate) const CLEARED: &str = "[Old result of a tool, cleared]";

/// What the first lines of the imported session say.
pub(crate) struct Begin<'a> {
    pub origin: &'a Origin<'a>,
    /// How many bytes the source has.
    pub bytes: u64,
    /// When the session begins.
    pub at: Option<Timestamp>,
    pub title: Option<String>,
}

/// Where a new entry stands: below which one, and when it was written.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub parent: EntryId,
    pub at: Option<Timestamp>,
}

/// Where entries are written to.
pub(crate) struct Out<'a> {
    pub lines: &'a mut dyn Write,
    /// Takes the logs whose results are read later; `None` where they are read now.
    pub logs: Option<&'a mut Vec<Input>>,
}

/// Writes entries.
pub(crate) struct Emitter<'a> {
    out: Out<'a>,
    pub report: ImportReport,
    pub diagnostics: Diagnostics,
    ids: Ids,
    /// The line that is written, and room for the next one.
    line: String,
    /// The entry that roots of the source stand under.
    pub root: EntryId,
    last: EntryId,
    clock: Timestamp,
    pub context: ContextSizes,
}

impl<'a> Emitter<'a> {
    pub fn new(format: Format, out: Out<'a>) -> Self {
        Self {
            out,
            report: ImportReport::new(format),
            diagnostics: Diagnostics::default(),
            ids: Ids::default(),
            line: String::new(),
            root: EntryId::new(""),
            last: EntryId::new(""),
            clock: Timestamp::from_millis(0),
            context: ContextSizes::default(),
        }
    }

    /// Writes the header, the entry about the import and the title.
    pub fn begin(&mut self, begin: Begin<'_>) -> Result<(), ImportError> {
        self.clock = begin.at.unwrap_or(self.clock);
        let id = self.report.session_id.chars().take(LONGEST_ID);
        self.report.session_id = id.collect();
        if self.report.session_id.is_empty() {
            self.report.session_id = "unknown".to_owned();
        }
        let header = HeaderDraft {
            id: self.report.session_id.clone(),
            timestamp: self.clock,
            cwd: self.report.cwd.clone(),
            parent_session: self.report.parent_session.clone(),
        };
        self.line = header.line();
        self.write_line()?;
        let mut data = json!({
            "source": self.report.format,
            "version": self.report.version,
            "id": self.report.session_id,
            "path": begin.origin.path,
            "sha256": begin.origin.sha256,
            "bytes": begin.bytes,
            "losses": self.report.skipped,
        });
        if let Some(window) = self.report.window {
            data["contextWindow"] = json!(window);
        }
        let mark = EntryDraft::Custom(CustomDraft {
            custom_type: IMPORT_ENTRY.to_owned(),
            data: RawJson::of(&data).ok(),
        });
        self.root = self.stamped("", None, begin.at, &mark)?;
        if let Some(name) = begin.title {
            let draft = EntryDraft::SessionInfo(SessionInfoDraft { name });
            self.root = self.stamped("", Some(self.root.clone()), begin.at, &draft)?;
        }
        Ok(())
    }

    /// Writes an entry, with the id of the source where it can serve as one.
    pub fn write(
        &mut self,
        source_id: &str,
        place: &Place,
        draft: &EntryDraft,
    ) -> Result<EntryId, ImportError> {
        self.stamped(source_id, Some(place.parent.clone()), place.at, draft)
    }

    fn stamped(
        &mut self,
        source_id: &str,
        parent: Option<EntryId>,
        at: Option<Timestamp>,
        draft: &EntryDraft,
    ) -> Result<EntryId, ImportError> {
        let above = parent.clone().unwrap_or_else(|| EntryId::new(""));
        let id = self.entry(source_id, parent, at, kind_of(draft), |line, stamp| {
            *line = draft.stamp(stamp);
        })?;
        match draft {
            EntryDraft::Compaction(draft) => {
                let kept = match &draft.first_kept {
                    FirstKept::Entry(kept) => Some(kept),
                    FirstKept::None => None,
                };
                self.context
                    .compact(&above, &id, kept, draft.summary.len() as u64);
            }
            EntryDraft::Message(_) | EntryDraft::CustomMessage(_) => {
                self.context.add(&above, &id, self.line.len() as u64);
            }
            _ => self.context.add(&above, &id, 0),
        }
        Ok(id)
    }

    /// Writes a line that stands for a message.
    pub fn short(
        &mut self,
        source_id: &str,
        place: &Place,
        later: LaterPlace,
        line: impl FnOnce(&mut String, &Stamp),
    ) -> Result<EntryId, ImportError> {
        let parent = Some(place.parent.clone());
        let id = self.entry(source_id, parent, place.at, "message", line)?;
        self.context
            .add(&place.parent, &id, u64::from(later.span.len));
        Ok(id)
    }

    fn entry(
        &mut self,
        source_id: &str,
        parent: Option<EntryId>,
        at: Option<Timestamp>,
        kind: &str,
        write: impl FnOnce(&mut String, &Stamp),
    ) -> Result<EntryId, ImportError> {
        self.clock = at.unwrap_or(self.clock);
        let stamp = Stamp {
            id: self.ids.fresh(source_id),
            parent,
            timestamp: self.clock,
            part_of: None,
        };
        self.line.clear();
        write(&mut self.line, &stamp);
        self.write_line()?;
        count(&mut self.report.entries, kind);
        self.last = stamp.id.clone();
        Ok(stamp.id)
    }

    fn write_line(&mut self) -> Result<(), ImportError> {
        self.line.push('\n');
        Ok(self.out.lines.write_all(self.line.as_bytes())?)
    }

    /// Returns whether results are only named, and read once somebody asks for them.
    pub fn reads_later(&self) -> bool {
        self.out.logs.is_some()
    }

    /// Says in which logs results stand that are read later.
    pub fn name_logs<'i>(&mut self, logs: impl IntoIterator<Item = &'i Input>) {
        if let Some(named) = &mut self.out.logs {
            named.extend(logs.into_iter().cloned());
        }
    }

    /// Writes a message of the user.
    pub fn user(
        &mut self,
        id: &str,
        place: &Place,
        blocks: Vec<Block>,
    ) -> Result<EntryId, ImportError> {
        let message = AgentMessage::User(UserMessage {
            content: Content::Blocks(blocks),
            timestamp: place.at,
        });
        let draft = MessageDraft::new(message)?;
        self.write(id, place, &EntryDraft::Message(Box::new(draft)))
    }

    /// Writes what the model saw and nobody said: a message that people are not shown.
    pub fn hidden(
        &mut self,
        id: &str,
        place: &Place,
        kind: &str,
        blocks: Vec<Block>,
    ) -> Result<EntryId, ImportError> {
        let custom_type = self.custom_type(kind);
        self.custom_message(id, place, custom_type, blocks, None)
    }

    /// Returns the custom type of what a file calls `kind`.
    fn custom_type(&self, kind: &str) -> String {
        let kind: String = kind.chars().take(LONGEST_ID).collect();
        format!("{}/{kind}", self.report.format.key())
    }

    /// Writes a copy of a message that a compaction kept, which is in the session already.
    pub fn copied(
        &mut self,
        place: &Place,
        role: &str,
        blocks: Vec<Block>,
    ) -> Result<EntryId, ImportError> {
        let details = RawJson::of(&json!({ "copied": true, "role": role })).ok();
        self.custom_message("", place, IMPORT_ENTRY.to_owned(), blocks, details)
    }

    fn custom_message(
        &mut self,
        id: &str,
        place: &Place,
        custom_type: String,
        blocks: Vec<Block>,
        details: Option<RawJson>,
    ) -> Result<EntryId, ImportError> {
        let draft = EntryDraft::CustomMessage(CustomMessageDraft {
            custom_type,
            content: Content::Blocks(blocks),
            display: false,
            details,
        });
        self.write(id, place, &draft)
    }

    /// Writes what the model does not see.
    pub fn custom(
        &mut self,
        id: &str,
        place: &Place,
        kind: &str,
        data: Option<RawJson>,
    ) -> Result<EntryId, ImportError> {
        let custom_type = self.custom_type(kind);
        let draft = EntryDraft::Custom(CustomDraft { custom_type, data });
        self.write(id, place, &draft)
    }

    /// Takes an entry out of the context, or gives it other content.
    pub fn edit(
        &mut self,
        place: &Place,
        target: &EntryId,
        replacement: Option<Content>,
    ) -> Result<EntryId, ImportError> {
        let draft = EntryDraft::ContextEdit(ContextEditDraft {
            target: target.clone(),
            replacement,
        });
        self.write("", place, &draft)
    }

    /// Writes tokens that belong to no message.
    pub fn usage(
        &mut self,
        place: &Place,
        kind: &str,
        usage: Usage,
    ) -> Result<EntryId, ImportError> {
        self.report.usage += usage;
        let parent = Some(place.parent.clone());
        self.entry("", parent, place.at, "usage", |line, stamp| {
            let usage = json!({
                "type": "usage",
                "id": stamp.id,
                "parentId": stamp.parent,
                "timestamp": stamp.timestamp.to_string(),
                "kind": kind,
                "usage": {
                    "input": usage.input,
                    "output": usage.output,
                    "cacheRead": usage.cache_read,
                    "cacheWrite": usage.cache_write,
                    "totalTokens": usage.total_tokens,
                },
            });
            *line = usage.to_string();
        })
        .inspect(|id| self.context.add(&place.parent, id, 0))
    }

    /// Ends the session at `leaf`, and returns the report.
    pub fn finish(mut self, leaf: &EntryId) -> Result<ImportReport, ImportError> {
        if *leaf != self.last {
            let data = json!({ "reason": "import", "from": self.last });
            let draft = EntryDraft::Custom(CustomDraft {
                custom_type: LEAF_ENTRY.to_owned(),
                data: RawJson::of(&data).ok(),
            });
            let place = Place {
                parent: leaf.clone(),
                at: None,
            };
            self.write("", &place, &draft)?;
        }
        if let Some(said) = self.context.mismatch(leaf) {
            self.diagnostics.push(said);
        }
        let mut diagnostics = self.diagnostics.into_vec();
        diagnostics.sort_by_key(|said| said.line.unwrap_or(0));
        self.report.diagnostics = diagnostics;
        Ok(self.report)
    }
}

fn kind_of(draft: &EntryDraft) -> &'static str {
    match draft {
        EntryDraft::Compaction(_) => "compaction",
        EntryDraft::BranchSummary(_) => "branch_summary",
        EntryDraft::ContextEdit(_) => "context_edit",
        EntryDraft::Custom(_) => "custom",
        EntryDraft::CustomMessage(_) => "custom_message",
        EntryDraft::Message(_) => "message",
        EntryDraft::Label(_) => "label",
        EntryDraft::SessionInfo(_) => "session_info",
        EntryDraft::ModelChange(_) => "model_change",
        EntryDraft::ThinkingLevelChange(_) => "thinking_level_change",
        _ => "other",
    }
}
