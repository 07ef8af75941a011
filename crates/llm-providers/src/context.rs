//! Builds the request that continues the context of a session.

use std::collections::BTreeSet;

use session_model::json::RawJson;
use session_model::{
    Diagnostic, EntryIndex, EntryKind, LlmMessage, RoleOrder, SessionContext, SessionPath, Wording,
    convert_to_llm, pair_calls,
};

use crate::native_history::NativeHistory;
use crate::provider::Provider;
use crate::request::{Request, Tool};
use crate::wire::parts::system_text;

impl Request {
    /// Returns the request that continues `context` (the context of `path`) at a provider, and the repairs that were
    /// necessary. The system message in force becomes the system prompt and the tools.
    ///
    /// A native history of the newest compaction takes the place of everything before that compaction when the
    /// model can replay it and `replays` allows it; otherwise the readable summary and the kept entries are sent.
    pub fn for_context(
        path: &SessionPath<'_>,
        context: &SessionContext,
        provider: &dyn Provider,
        replays: bool,
    ) -> (Self, Vec<Diagnostic>) {
        let key = provider.native_key().filter(|_| replays);
        let native = context
            .compaction()
            .zip(key)
            .and_then(|((_, compaction), key)| NativeHistory::of(compaction, key))
            .filter(|history| history.replays_on(provider.name(), provider.model()));
        let newest = path.newest(EntryKind::Compaction).map(|(place, _)| place);
        let after: Option<BTreeSet<EntryIndex>> = native
            .as_ref()
            .and(newest)
            .map(|place| path.entries()[place + 1..].iter().copied().collect());
        let messages = context
            .entries
            .iter()
            .filter(|projected| {
                after
                    .as_ref()
                    .is_none_or(|after| after.contains(&projected.index))
            })
            .flat_map(|projected| &projected.messages);
        let system = context.system.iter().map(|(_, message)| message);
        let messages = convert_to_llm(system.chain(messages), Wording::Own);
        let (mut messages, diagnostics) = pair_calls(messages, RoleOrder::Any);
        let mut request = Self {
            native,
            ..Self::default()
        };
        if let Some(LlmMessage::System(system)) = messages.first() {
            request.system = system_text(system);
            request.tools = system.tools_added.iter().filter_map(tool_of).collect();
            messages.remove(0);
        }
        request.messages = messages;
        (request, diagnostics)
    }
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
