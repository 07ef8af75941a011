//! One pass over the messages: from what was said and done to facts.

use session_model::{AgentMessage, AssistantMessage, Block, Content, StopReason};

use super::acts::Speaker;
use super::command_log::CommandLog;
use super::fact_index::FactIndex;
use super::notes::Noted;
use super::reported_failures::Teller;
use super::rules;
use super::text::{cut_middle, neutralise, read};
use super::tool_effects::describe;
use crate::source::SourceMessage;

/// The most that is kept of the summary of a branch that was left, in characters.
const BRANCH: usize = 600;

/// Reads the messages once, oldest first; paths are seen from the folder `cwd`, and `prose` takes out of the summary of a
/// branch what was not written as one.
pub fn record(messages: &[SourceMessage], cwd: &str, prose: fn(&str) -> String) -> FactIndex {
    let mut scan = Scan {
        prose,
        commands: CommandLog::of(messages.iter().map(|source| &*source.message)),
        place: 0,
        facts: FactIndex::default(),
    };
    scan.read(messages);
    let mut facts = scan.facts;
    scan.commands.write(&mut facts, cwd);
    facts
}

struct Scan<'a> {
    prose: fn(&str) -> String,
    commands: CommandLog<'a>,
    /// Which message is read.
    place: usize,
    facts: FactIndex,
}

impl<'a> Scan<'a> {
    fn read(&mut self, messages: &'a [SourceMessage]) {
        for (place, source) in messages.iter().enumerate() {
            self.place = place;
            match &*source.message {
                AgentMessage::User(message) => self.user(&message.content),
                AgentMessage::Assistant(message) => self.assistant(message),
                AgentMessage::ToolResult(message) => self.commands.result(message, place),
                AgentMessage::BashExecution(run) => self.commands.user_ran(run, place),
                AgentMessage::BranchSummary(message) => {
                    let text = (self.prose)(&message.summary);
                    let text = cut_middle(text.trim(), &source.entry_id, BRANCH);
                    self.facts.branches.push(Noted { place, text });
                }
                // Harness, extensions and unknown roles do not speak for the user.
                AgentMessage::CompactionSummary(_)
                | AgentMessage::System(_)
                | AgentMessage::Developer(_)
                | AgentMessage::Custom(_)
                | AgentMessage::Other { .. } => {}
            }
        }
    }

    fn user(&mut self, content: &Content) {
        let mut text = content.joined_text("\n");
        let is_image = |block: &Block| matches!(block, Block::Image(_));
        if text.trim().is_empty() && content.blocks().iter().any(is_image) {
            "[image]".clone_into(&mut text);
        }
        let said = read(&text, Speaker::User);
        let stated = rules::stated(&said);
        let whole = text.trim_start_matches(['\n', '\r']).trim_end();
        let tiny = is_tiny(&neutralise(whole));
        self.facts.user(self.place, whole, tiny, &said, &stated);
        self.commands.request();
        self.commands.note_reported(&said, self.place, Teller::User);
    }

    fn assistant(&mut self, message: &'a AssistantMessage) {
        let broken = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        let text = message.content.joined_text("\n");
        let mut calls = message.content.tool_calls().peekable();
        let answers = calls.peek().is_none() && !text.trim().is_empty() && !broken;
        self.commands.start_answer();
        for call in calls {
            self.commands.call(call, broken, self.place);
        }
        let said = read(&text, Speaker::Agent);
        if !said.is_empty() {
            self.facts.assistant(self.place, &said, answers);
        }
        if let Some(path) = self.commands.changes(self.place) {
            let before = self.commands.failed_last();
            self.facts.changes_a_file(self.place, path, before);
        }
        if said.is_empty() {
            return;
        }
        let teller = match answers {
            true => Teller::Answer,
            false => Teller::Passing,
        };
        self.commands.note_reported(&said, self.place, teller);
    }
}

/// Returns what the calls of the newest answer do, where messages end with calls.
pub fn last_steps(messages: &[SourceMessage]) -> Option<(&SourceMessage, String)> {
    let newest = messages.iter().rev().find(|source| {
        matches!(
            *source.message,
            AgentMessage::User(_) | AgentMessage::Assistant(_)
        )
    })?;
    let steps: Vec<String> = newest.message.tool_calls().map(describe).collect();
    (!steps.is_empty()).then(|| (newest, steps.join("; ")))
}

/// Returns true for what only asks the agent to continue: nothing, a slash command, or one of a closed list.
fn is_tiny(text: &str) -> bool {
    const GO_ON: &str = "continue; please continue; ok continue; ok; okay; k; yes; yep; yeah; y; \
         sure; go; go on; go ahead; proceed; next; do it; ok do it; yes do it; \
         keep going; resume; retry; try again; thanks; thank you; weiter; \
         mach weiter; bitte weiter; ja; fortsetzen; continuez; continue stp; oui; sí; \
         si; sigue; continúa; 继续; 请继续; 好的; 好; 是; 続けて; はい";
    let text = text.trim();
    if let Some(command) = text.strip_prefix('/') {
        let name = command.split_whitespace().next().unwrap_or_default();
        return !name.contains(['/', '.']) && !text.contains('\n');
    }
    if text.len() > 64 {
        return false;
    }
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let plain = words.collect::<Vec<_>>().join(" ");
    plain.is_empty() || plain == "image" || GO_ON.split(';').any(|known| known.trim() == plain)
}
