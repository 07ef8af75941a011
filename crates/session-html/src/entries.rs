//! Entries as parts of the page, and their rows in the tree next to them.

use std::collections::{BTreeMap, BTreeSet};

use compaction_core::{CompactionLoss, TokenCount};
use session_model::{
    AgentMessage, AssistantMessage, Block, CallEvent, Content, Entry, EntryBody, EntryId,
    EntryIndex, ToolResultMessage, UserParts, match_calls,
};

use crate::card;
use crate::gate::Gate;
use crate::sizes::{Change, CompactionSizes};
use crate::timeline::short;
use crate::{Export, call, markdown};

/// The length of a message in its row of the tree, in characters.
const ROW: usize = 90;

/// Facts about the whole session, computed before its entries are shown.
pub(crate) struct Known<'a> {
    pub labels: BTreeMap<EntryId, String>,
    /// Entries that an edit took out of the context or shortened.
    pub edited: BTreeSet<EntryId>,
    /// The numbers and sizes of compactions.
    pub compactions: BTreeMap<EntryIndex, (usize, CompactionSizes)>,
    pub losses: BTreeMap<EntryId, &'a CompactionLoss>,
    /// Other changes, by entry.
    pub changes: BTreeMap<EntryIndex, Vec<Change>>,
}

/// The page's parts while they are put together.
pub(crate) struct Writer<'a> {
    pub export: &'a Export<'a>,
    pub gate: &'a Gate<'a>,
    pub known: &'a Known<'a>,
    /// The conversation, and the tree next to it.
    pub body: String,
    pub tree: String,
    /// The depth of the branch that is written; 0 is the path.
    pub depth: usize,
    pub turns: usize,
    pub calls: usize,
    pub entries: usize,
    /// An answer and what followed it, until the next message: results belong into their calls.
    pending: Vec<(EntryIndex, Entry)>,
    pub day: String,
}

impl<'a> Writer<'a> {
    pub fn new(export: &'a Export<'a>, gate: &'a Gate<'a>, known: &'a Known<'a>) -> Self {
        Self {
            export,
            gate,
            known,
            body: String::new(),
            tree: String::new(),
            depth: 0,
            turns: 0,
            calls: 0,
            entries: 0,
            pending: Vec::new(),
            day: String::new(),
        }
    }

    /// Adds the next entry of a chain.
    pub fn push(&mut self, index: EntryIndex) {
        let entry = match self.export.tree.entry(index) {
            Ok(entry) => entry,
            Err(error) => {
                self.flush();
                let text = format!(
                    "<p class=\"absent\">{}</p>",
                    crate::diff::escaped(&self.gate.line(&error.to_string(), 200))
                );
                let id = EntryId::new(self.export.tree.id(index));
                return self.part(
                    (index, &id),
                    ("note", "cannot be read"),
                    None,
                    (text, TokenCount::ZERO),
                );
            }
        };
        let joins = matches!(&entry.body, EntryBody::Message(message) if matches!(**message, AgentMessage::ToolResult(_)));
        if !joins {
            self.flush();
        }
        self.pending.push((index, entry));
    }

    /// Writes what is pending.
    pub fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let said = pending.iter().map(|(_, entry)| match &entry.body {
            EntryBody::Message(message) => CallEvent::from(&**message),
            _ => CallEvent::Other,
        });
        let results = match_calls(said);
        let answered: BTreeSet<usize> = results.values().copied().collect();
        for (place, (index, entry)) in pending.iter().enumerate() {
            if answered.contains(&place) {
                self.entries += 1;
                continue;
            }
            let result = |id: &str| {
                let place = results.get(&(place, id))?;
                let (_, entry) = &pending[*place];
                let result = result_of(entry)?;
                Some((result, self.known.edited.contains(&entry.id)))
            };
            self.entry(*index, entry, &result);
        }
    }

    fn entry(&mut self, index: EntryIndex, entry: &Entry, result: &FindResult<'_>) {
        for change in self.known.changes.get(&index).into_iter().flatten() {
            if let Change::Model(model) = change {
                let name = format!("{}/{}", model.provider, model.model_id);
                let name = self.gate.line(name.trim_start_matches('/'), 100);
                self.divider("model", &format!("Model: {name}"));
            }
        }
        let mut room = self.gate.cap;
        let tokens = entry
            .messages()
            .iter()
            .map(|message| self.export.profile.counter().message(message))
            .sum();
        let place = (index, &entry.id);
        match &entry.body {
            EntryBody::Message(message) => self.message(place, entry, message, (result, tokens)),
            EntryBody::CustomMessage(message) => {
                let name = format!("{} (added)", message.custom_type);
                let body = self.folded(
                    &self.content(&message.content, &mut room),
                    &name,
                    !message.display,
                );
                self.part(
                    place,
                    ("custom", &name),
                    entry.timestamp.map(|at| at.to_string()),
                    (body, tokens),
                );
            }
            EntryBody::Compaction(compaction) => {
                let Some((number, sizes)) = self.known.compactions.get(&index) else {
                    return;
                };
                let rows = (self.export.facts)(entry);
                let summary = self.export.profile.counter().text(&compaction.summary);
                let facts = card::Facts {
                    number: *number,
                    compaction,
                    sizes,
                    loss: self.known.losses.get(&entry.id).copied(),
                    rows,
                    summary_tokens: short(summary),
                };
                let body = card::compaction(facts, self.gate);
                let title = format!("Compaction #{number}");
                let row = format!(
                    "{title}: {} \u{2192} {}",
                    short(sizes.before),
                    short(sizes.after)
                );
                self.row(index, "compaction", &row, &entry.id);
                self.part(
                    place,
                    ("compaction", &title),
                    entry.timestamp.map(|at| at.to_string()),
                    (body, TokenCount::ZERO),
                );
            }
            EntryBody::BranchSummary(branch) => {
                self.row(
                    index,
                    "summary",
                    &format!("Branch summary: {}", self.gate.line(&branch.summary, ROW)),
                    &entry.id,
                );
                let text = markdown::html(&self.gate.cut(&branch.summary, &mut room));
                let body = format!(
                    "<details class=\"summary\"><summary>What happened there</summary><div class=\"md\">{text}</div></details>"
                );
                self.part(
                    place,
                    ("branch", "Branch summary"),
                    entry.timestamp.map(|at| at.to_string()),
                    (body, tokens),
                );
            }
            EntryBody::ThinkingLevelChange(level) => {
                self.divider("level", &format!("Thinking: {}", self.gate.line(level, 40)));
            }
            _ => {}
        }
        for change in self.known.changes.get(&index).into_iter().flatten() {
            match change {
                Change::Pruning(count, saved) => {
                    let text = format!(
                        "Pruned {count} of the outputs above, ~{} tokens saved",
                        short(*saved)
                    );
                    self.part(
                        place,
                        ("pruning", &text),
                        entry.timestamp.map(|at| at.to_string()),
                        (String::new(), TokenCount::ZERO),
                    );
                }
                Change::Reset => {
                    self.part(
                        place,
                        ("pruning", "Reset: all of the above left the context"),
                        None,
                        (String::new(), TokenCount::ZERO),
                    );
                }
                Change::Model(_) | Change::Compaction(_) => {}
            }
        }
    }

    fn message(
        &mut self,
        place: (EntryIndex, &EntryId),
        entry: &Entry,
        message: &AgentMessage,
        (result, tokens): (&FindResult<'_>, TokenCount),
    ) {
        let mut room = self.gate.cap;
        let at = entry.timestamp.map(|at| at.to_string());
        let (class, who, body) = match message {
            AgentMessage::User(user) => {
                let mut parts = UserParts::of(&user.content);
                let own = Content::Blocks(std::mem::take(&mut parts.own));
                let mut body = String::new();
                if !own.is_empty() {
                    self.turns += 1;
                    let text = self.gate.line(&own.joined_text("\n"), ROW);
                    self.row(place.0, "turn", &text, place.1);
                    body = self.content(&own, &mut room);
                }
                for (kind, blocks) in parts.inserted {
                    body.push_str(&self.inserted(&kind, &Content::Blocks(blocks), &mut room));
                }
                match own.is_empty() {
                    true => ("custom", "Agent".to_owned(), body),
                    false => ("user", "You".to_owned(), body),
                }
            }
            AgentMessage::Assistant(answer) => {
                let who = match answer.model.as_str() {
                    "" => "Agent".to_owned(),
                    model => self.gate.line(model, 60),
                };
                ("assistant", who, self.answer(answer, result, &mut room))
            }
            AgentMessage::ToolResult(result) => {
                let edited = self.known.edited.contains(place.1);
                (
                    "assistant",
                    "Result".to_owned(),
                    call::lone_result(result, edited, self.gate),
                )
            }
            AgentMessage::BashExecution(run) => {
                self.turns += 1;
                self.row(
                    place.0,
                    "turn",
                    &format!("! {}", self.gate.line(&run.command, ROW)),
                    place.1,
                );
                let failed = run.cancelled || run.exit_code.is_some_and(|code| code != 0);
                (
                    "user",
                    "You ran".to_owned(),
                    call::command((&run.command, &run.output), failed, self.gate, &mut room),
                )
            }
            AgentMessage::System(_) | AgentMessage::Developer(_) => {
                let text = crate::diff::escaped(&self.gate.cut(&message.display_text(), &mut room));
                (
                    "system",
                    "Instructions".to_owned(),
                    self.folded(
                        &format!("<pre>{text}</pre>"),
                        "Instructions and tools",
                        true,
                    ),
                )
            }
            AgentMessage::Custom(custom) if !custom.display => (
                "custom",
                "Agent".to_owned(),
                self.inserted(&custom.custom_type, &custom.content, &mut room),
            ),
            AgentMessage::Custom(_)
            | AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_)
            | AgentMessage::Other { .. } => {
                let text = markdown::html(&self.gate.cut(&message.display_text(), &mut room));
                (
                    "custom",
                    self.gate.line(message.role(), 40),
                    format!("<div class=\"md\">{text}</div>"),
                )
            }
        };
        self.part(place, (class, &who), at, (body, tokens));
    }

    fn answer(
        &mut self,
        answer: &AssistantMessage,
        result: &FindResult<'_>,
        room: &mut usize,
    ) -> String {
        let mut out = String::new();
        if let Content::Text(text) = &answer.content {
            out.push_str(&format!(
                "<div class=\"md\">{}</div>",
                markdown::html(&self.gate.cut(text, room))
            ));
        }
        for block in answer.content.blocks() {
            match block {
                Block::Text(text) if text.text.trim().is_empty() => {}
                Block::Text(text) => out.push_str(&format!(
                    "<div class=\"md\">{}</div>",
                    markdown::html(&self.gate.cut(&text.text, room))
                )),
                Block::Thinking(thinking) if thinking.thinking.trim().is_empty() => {}
                Block::Thinking(thinking) => {
                    let text = markdown::html(&self.gate.cut(&thinking.thinking, room));
                    let hint = crate::diff::escaped(&self.gate.line(&thinking.thinking, 100));
                    out.push_str(&format!("<details class=\"thinking\"><summary>Thinking <span class=\"hint\">{hint}</span></summary><div class=\"md\">{text}</div></details>"));
                }
                Block::ToolCall(call) => {
                    self.calls += 1;
                    let found = result(&call.id);
                    let edited = found.is_some_and(|(_, edited)| edited);
                    out.push_str(&call::tool(
                        call,
                        found.map(|(result, _)| result),
                        edited,
                        self.gate,
                        room,
                    ));
                }
                Block::Image(_) | Block::Other { .. } => {}
            }
        }
        out.push_str(&call::images(&answer.content, self.gate));
        if let Some(error) = &answer.error_message {
            let error = crate::diff::escaped(&self.gate.cut(error, room));
            out.push_str(&format!("<p class=\"error\">{error}</p>"));
        }
        out
    }

    /// Returns, folded, a message that an agent wrote in the user's role.
    fn inserted(&self, kind: &str, content: &Content, room: &mut usize) -> String {
        let text = self.content(content, room);
        self.folded(&text, &format!("Inserted ({kind})"), true)
    }

    /// Returns texts and images of a message of the user or of an extension.
    fn content(&self, content: &Content, room: &mut usize) -> String {
        let text: Vec<String> = content
            .texts()
            .map(|text| self.gate.cut(text, room))
            .collect();
        let text = markdown::html(&text.join("\n\n"));
        format!(
            "<div class=\"md\">{text}</div>{}",
            call::images(content, self.gate)
        )
    }
}

/// Finds the result of a call, and whether it left the context in whole or in part.
type FindResult<'r> = dyn Fn(&str) -> Option<(&'r ToolResultMessage, bool)> + 'r;

fn result_of(entry: &Entry) -> Option<&ToolResultMessage> {
    match &entry.body {
        EntryBody::Message(message) => match &**message {
            AgentMessage::ToolResult(result) => Some(result),
            _ => None,
        },
        _ => None,
    }
}
