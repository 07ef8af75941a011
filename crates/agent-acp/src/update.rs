//! From events of a session to updates of the protocol.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use session_protocol::SessionEvent;
use session_protocol::event::CompactionResult;
use session_text::{Announcement, Tone, compaction_facts, compaction_parts};

use crate::params::SessionCapabilities;
use crate::tool::{self, Shown, TODO};

/// Makes updates of events; it knows the calls and compactions that are under way.
#[derive(Debug)]
pub(crate) struct Translator {
    cwd: PathBuf,
    client: SessionCapabilities,
    /// Calls that have begun, by the id that the model gave them.
    calls: BTreeMap<String, Call>,
    /// The number of times each id was used: some models number their calls from 0 in each answer.
    given: BTreeMap<String, usize>,
    compactions: usize,
    cost: f64,
}

/// A call that has begun.
#[derive(Debug, Clone)]
struct Call {
    id: String,
    name: String,
    arguments: Value,
    shown: Shown,
}

impl Translator {
    /// Returns one for a session whose tools work in `cwd`.
    pub fn new(cwd: PathBuf, client: SessionCapabilities) -> Self {
        Self {
            cwd,
            client,
            calls: BTreeMap::new(),
            given: BTreeMap::new(),
            compactions: 0,
            cost: 0.0,
        }
    }

    /// Returns the editor's id of a call, with the parameters of the question about it.
    pub fn asked(&mut self, call_id: &str, name: &str, subject: &str) -> Value {
        if let Some(call) = self.calls.get(call_id) {
            return json!({
                "toolCallId": call.id, "title": call.shown.title, "kind": call.shown.kind, "status": "pending",
                "rawInput": call.arguments, "locations": call.shown.locations, "content": call.shown.differences,
            });
        }
        let arguments = match name {
            "bash" => json!({ "command": subject }),
            _ => json!({ "subject": subject }),
        };
        let shown = tool::shown(&tool::call(name, &arguments), &self.cwd);
        let id = self.next_id(call_id);
        json!({ "toolCallId": id, "title": shown.title, "kind": shown.kind, "status": "pending", "rawInput": arguments })
    }

    /// Returns the id that the next call with this id of the model gets.
    fn next_id(&self, call_id: &str) -> String {
        match self.given.get(call_id) {
            None => call_id.to_owned(),
            Some(times) => format!("{call_id}#{}", times + 1),
        }
    }

    /// Returns the updates for an event.
    pub fn updates(&mut self, event: &SessionEvent) -> Vec<Value> {
        match event {
            SessionEvent::TextDelta { text } => vec![chunk("agent_message_chunk", text)],
            SessionEvent::ThinkingDelta { text } => vec![chunk("agent_thought_chunk", text)],
            SessionEvent::ToolStart {
                call_id,
                name,
                arguments,
            } => self.begin(call_id, name, arguments, "in_progress"),
            SessionEvent::ToolUpdate { call_id, output } => {
                let Some(call) = self.calls.get(call_id).filter(|call| call.name != TODO) else {
                    return Vec::new();
                };
                let content = call
                    .shown
                    .differences
                    .iter()
                    .cloned()
                    .chain(tool::text(output));
                vec![json!({
                    "sessionUpdate": "tool_call_update", "toolCallId": call.id, "status": "in_progress",
                    "content": content.collect::<Vec<_>>(),
                })]
            }
            SessionEvent::ToolEnd {
                call_id,
                is_error,
                output,
                details,
                ..
            } => self.end(call_id, *is_error, output, details.as_ref()),
            SessionEvent::Context { tokens, window, .. } if *window > 0 => {
                let mut usage =
                    json!({ "sessionUpdate": "usage_update", "used": tokens, "size": window });
                if self.cost > 0.0 {
                    usage["cost"] = json!({ "amount": self.cost, "currency": "USD" });
                }
                vec![usage]
            }
            SessionEvent::Answer { cost_usd, .. } => {
                self.cost += cost_usd.unwrap_or(0.0);
                Vec::new()
            }
            SessionEvent::AutoCompactionStart { reason, .. }
            | SessionEvent::CompactionStart { reason, .. } => {
                self.compactions += 1;
                vec![self.compaction_begins(reason)]
            }
            SessionEvent::AutoCompactionEnd {
                reason,
                result,
                aborted,
                error,
                ..
            }
            | SessionEvent::CompactionEnd {
                reason,
                result,
                aborted,
                error,
                ..
            } => {
                vec![self.compaction_ends(reason, result.as_ref(), *aborted, error.as_deref())]
            }
            SessionEvent::Notice { text } => self.notice("info", text),
            SessionEvent::Error { message } => self.notice("error", message),
            other => {
                let lines = Announcement::of(other).into_iter();
                let notices = lines.flat_map(|line| {
                    let severity = match line.tone {
                        Tone::Mark | Tone::Note => "info",
                        Tone::Warning => "warning",
                    };
                    self.notice(severity, line.parts.join(", ").trim_start_matches("-- "))
                });
                notices.collect()
            }
        }
    }

    /// Begins a call, with the status that it has.
    pub fn begin(
        &mut self,
        call_id: &str,
        name: &str,
        arguments: &Value,
        status: &str,
    ) -> Vec<Value> {
        let id = self.next_id(call_id);
        *self.given.entry(call_id.to_owned()).or_default() += 1;
        let shown = tool::shown(&tool::call(name, arguments), &self.cwd);
        let update = json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": shown.title, "kind": shown.kind,
            "status": status, "rawInput": arguments, "locations": shown.locations, "content": shown.differences,
        });
        let is_plan = is_plan(name, arguments);
        let call = Call {
            id,
            name: name.to_owned(),
            arguments: arguments.clone(),
            shown,
        };
        self.calls.insert(call_id.to_owned(), call);
        match is_plan {
            true => Vec::new(),
            false => vec![update],
        }
    }

    /// Ends a call.
    pub fn end(
        &mut self,
        call_id: &str,
        is_error: bool,
        output: &str,
        details: Option<&Value>,
    ) -> Vec<Value> {
        let Some(call) = self.calls.remove(call_id) else {
            return Vec::new();
        };
        if let Some(entries) =
            tool::plan(&call.arguments).filter(|_| is_plan(&call.name, &call.arguments))
        {
            return match is_error {
                true => Vec::new(),
                false => vec![json!({ "sessionUpdate": "plan", "entries": entries })],
            };
        }
        // The output of an edit is its difference, which is there.
        let output = match call.shown.differences.is_empty() || is_error {
            true => tool::text(output),
            false => None,
        };
        let content: Vec<Value> = call.shown.differences.into_iter().chain(output).collect();
        let mut update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": call.id,
            "status": if is_error { "failed" } else { "completed" }, "content": content,
        });
        if let Some(details) = details {
            update["rawOutput"] = details.clone();
        }
        vec![update]
    }

    fn compaction_id(&self) -> String {
        format!("compaction-{}", self.compactions)
    }

    fn compaction_begins(&self, reason: &str) -> Value {
        let id = self.compaction_id();
        match self.client.compaction {
            true => {
                json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": "in_progress" })
            }
            false => json!({
                "sessionUpdate": "tool_call", "toolCallId": id, "kind": "think", "status": "in_progress",
                "title": format!("Compacting the context ({reason})"),
            }),
        }
    }

    fn compaction_ends(
        &self,
        reason: &str,
        result: Option<&CompactionResult>,
        aborted: bool,
        error: Option<&str>,
    ) -> Value {
        let id = self.compaction_id();
        let summary = result.and_then(|result| result.summary.as_deref());
        let title = match result {
            Some(result) => {
                let parts = compaction_parts(reason, result)
                    .into_iter()
                    .chain(compaction_facts(result));
                parts.collect::<Vec<_>>().join(", ")
            }
            None if aborted => "Compaction cancelled; nothing has changed".to_owned(),
            None => format!("No compaction: {}", error.unwrap_or("nothing was written")),
        };
        let meta = json!({ "agent-cli": { "title": title, "result": result } });
        if self.client.compaction {
            let status = match (result, aborted) {
                (Some(_), _) => "completed",
                (None, true) => "cancelled",
                (None, false) => "failed",
            };
            let mut update = json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": status, "_meta": meta });
            if let Some(summary) = summary {
                update["summary"] = json!([{ "type": "text", "text": summary }]);
            }
            if let Some(error) = error {
                update["error"] = json!(error);
            }
            return update;
        }
        let content: Vec<Value> = summary.and_then(tool::text).into_iter().collect();
        json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "title": title, "content": content, "_meta": meta,
            "status": if result.is_some() { "completed" } else { "failed" },
        })
    }

    fn notice(&self, severity: &str, text: &str) -> Vec<Value> {
        match self.client.notices {
            true => vec![json!({ "sessionUpdate": "notice", "severity": severity, "title": text })],
            false => Vec::new(),
        }
    }
}

/// Returns true if a call sets the list of tasks, which is sent as a plan.
fn is_plan(name: &str, arguments: &Value) -> bool {
    name == TODO && tool::plan(arguments).is_some()
}

/// Returns an update with a piece of text.
pub(crate) fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use session_protocol::event::samples;

    use super::Translator;
    use crate::params::SessionCapabilities;

    fn translator(knows: bool) -> Translator {
        let client = SessionCapabilities {
            compaction: knows,
            notices: knows,
        };
        Translator::new("/p".into(), client)
    }

    #[test]
    fn every_event_gives_updates_that_the_editor_knows() {
        for knows in [true, false] {
            let mut translator = translator(knows);
            let kinds: Vec<Value> = samples()
                .iter()
                .flat_map(|event| translator.updates(event))
                .map(|update| update["sessionUpdate"].clone())
                .collect();
            let has = |kind: &str| kinds.contains(&json!(kind));
            assert!(
                has("agent_message_chunk") && has("agent_thought_chunk") && has("usage_update")
            );
            assert!(has("tool_call") && has("tool_call_update"));
            assert_eq!((has("compaction_update"), has("notice")), (knows, knows));
        }
    }

    #[test]
    fn an_id_that_is_given_twice_is_two_calls() {
        let mut translator = translator(true);
        let mut ids = Vec::new();
        for _ in 0..2 {
            ids.extend(translator.begin("c", "read", &json!({"path": "a"}), "in_progress"));
            ids.extend(translator.end("c", false, "text", None));
        }
        let ids: Vec<&Value> = ids.iter().map(|update| &update["toolCallId"]).collect();
        assert_eq!(ids, ["c", "c", "c#2", "c#2"]);
        assert_eq!(translator.end("c", false, "", None), Vec::<Value>::new());
    }

    #[test]
    fn the_list_of_what_is_to_be_done_is_a_plan_and_no_call() {
        let mut translator = translator(true);
        let items = json!({"items": [{"text": "a"}]});
        assert_eq!(
            translator.begin("c", "todo", &items, "in_progress"),
            Vec::<Value>::new()
        );
        let updates = translator.end("c", false, "1 item", None);
        assert_eq!(updates[0]["sessionUpdate"], "plan");
    }
}
