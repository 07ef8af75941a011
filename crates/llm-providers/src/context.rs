//! From the context of a session to the request that goes on with it.

use session_model::json::RawJson;
use session_model::{
    Compaction, Diagnostic, EntryKind, LlmMessage, RoleOrder, SessionContext, SessionPath,
    SystemMessage, Wording, convert_to_llm, pair_calls,
};

use crate::native::NativeHistory;
use crate::provider::{Request, Tool};

/// Where `preserveData` of a compaction keeps a native history of the Responses wire, as peers do.
const RESPONSES_KEY: &str = "openaiRemoteCompaction";
/// Where it keeps one of the Messages wire.
const MESSAGES_KEY: &str = "anthropicCompaction";

impl NativeHistory {
    /// Returns the native history that a compaction carries, if it carries one that can be read.
    pub fn of(compaction: &Compaction) -> Option<Self> {
        let data = compaction.preserve_data.as_ref()?;
        let raw = [RESPONSES_KEY, MESSAGES_KEY]
            .iter()
            .find_map(|key| session_model::json::member(data.get(), key))?;
        let history: Self = serde_json::from_str(raw).ok()?;
        (!history.replacement_history.is_empty()).then_some(history)
    }

    /// Returns true for items of the Responses wire.
    pub(crate) fn is_of_responses(&self) -> bool {
        self.key() == RESPONSES_KEY
    }

    /// Returns the key of `preserveData` that keeps the history.
    pub fn key(&self) -> &'static str {
        // Items of the Responses wire keep their state in `encrypted_content`; blocks of the Messages wire always
        // have a member `content` beside it.
        let item = self.compaction_item.as_ref();
        let block = item.and_then(|item| session_model::json::member(item.get(), "content"));
        match block {
            Some(_) => MESSAGES_KEY,
            None => RESPONSES_KEY,
        }
    }
}

impl Request {
    /// Returns the request that goes on with `context` (the context of `path`) on a model, and what had to be
    /// mended for that. The system message in force becomes the system prompt and the tools.
    ///
    /// A native history of the newest compaction takes the place of everything before that compaction when the
    /// model can replay it and `replays` allows it; otherwise the readable summary and the kept entries are sent.
    pub fn for_context(
        path: &SessionPath<'_>,
        context: &SessionContext,
        provider: &str,
        model: &str,
        replays: bool,
    ) -> (Self, Vec<Diagnostic>) {
        let native = context
            .compaction()
            .filter(|_| replays)
            .and_then(|(_, compaction)| NativeHistory::of(compaction))
            .filter(|history| history.replays_on(provider, model));
        let newest = path.newest(EntryKind::Compaction).map(|(place, _)| place);
        let after: Option<&[_]> = native
            .as_ref()
            .and(newest)
            .map(|place| &path.entries()[place + 1..]);
        let messages = context
            .entries
            .iter()
            .filter(|projected| after.is_none_or(|after| after.contains(&projected.index)))
            .flat_map(|projected| &projected.messages);
        let system = context.system.iter().map(|(_, message)| message);
        let messages = convert_to_llm(system.chain(messages), Wording::Own);
        let (mut messages, diagnostics) = pair_calls(messages, RoleOrder::Any);
        let mut request = Self {
            native,
            ..Self::default()
        };
        if let Some(LlmMessage::System(system)) = messages.first() {
            request.system = prompt_of(system);
            request.tools = system.tools_added.iter().filter_map(tool_of).collect();
            messages.remove(0);
        }
        request.messages = messages;
        (request, diagnostics)
    }
}

fn prompt_of(system: &SystemMessage) -> String {
    let sections = system.sections.iter().filter_map(|(_, text)| text.clone());
    let texts = [system.content.joined_text("\n\n")].into_iter();
    let texts = texts.chain(sections).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

fn tool_of(raw: &RawJson) -> Option<Tool> {
    let schema = ["parameters", "inputSchema", "input_schema"]
        .iter()
        .find_map(|key| session_model::json::member(raw.get(), key));
    Some(Tool {
        name: raw.string_member("name")?.into_owned(),
        description: raw
            .string_member("description")
            .unwrap_or_default()
            .into_owned(),
        parameters: RawJson::parse(schema.unwrap_or(r#"{"type":"object"}"#)).ok()?,
    })
}
