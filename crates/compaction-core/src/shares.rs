//! The parts of a context, by size.

use std::fmt::{self, Display, Formatter};

use session_model::tokens::{TokenCount, TokenCounter};
use session_model::{AgentMessage, SessionContext};

/// The prefix of the names of system prompt sections that hold files of instructions.
pub const INSTRUCTIONS_SECTION: &str = "instructions:";

/// The tokens of what a context consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextShares {
    /// The system prompt, without instructions.
    pub system_prompt: TokenCount,
    /// The descriptions of the tools.
    pub tools: TokenCount,
    /// Files such as AGENTS.md in the system prompt.
    pub instructions: TokenCount,
    /// All other messages.
    pub messages: TokenCount,
}

impl ContextShares {
    /// Returns the shares of a context.
    pub fn of(context: &SessionContext, counter: &dyn TokenCounter) -> Self {
        let messages = context.entries.iter().flat_map(|entry| &entry.messages);
        let messages = messages.map(|message| counter.message(message)).sum();
        let Some((_, message)) = &context.system else {
            return Self {
                messages,
                ..Self::default()
            };
        };
        let AgentMessage::System(system) = &**message else {
            return Self::default();
        };
        let tools = system.tools_added.iter();
        let tools: TokenCount = tools.map(|tool| counter.text(tool.get())).sum();
        let sections = system.sections.iter();
        let sections = sections.filter(|(name, _)| name.starts_with(INSTRUCTIONS_SECTION));
        let sections = sections.filter_map(|(_, text)| text.as_deref());
        let instructions: TokenCount = sections.map(|text| counter.text(text)).sum();
        let rest = counter.message(message);
        Self {
            system_prompt: rest.saturating_sub(tools + instructions),
            tools,
            instructions,
            messages,
        }
    }

    /// Returns the shares once all but so many tokens in all have left the context.
    pub(crate) fn shrunk_to(self, tokens: TokenCount) -> Self {
        let fixed = self.system_prompt + self.tools + self.instructions;
        Self {
            messages: tokens.saturating_sub(fixed),
            ..self
        }
    }
}

/// Says what takes the room, and what to change.
impl Display for ContextShares {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts = [
            ("system prompt", self.system_prompt, ""),
            ("tools", self.tools, "allow fewer tools or "),
            (
                "instructions such as AGENTS.md",
                self.instructions,
                "shorten the instructions (instructions.maxBytes) or ",
            ),
            ("messages", self.messages, "begin a new session or "),
        ];
        let taken = parts.iter().filter(|part| part.1 > TokenCount::ZERO);
        let taken: Vec<String> = taken
            .map(|(name, tokens, _)| format!("{name} {tokens}"))
            .collect();
        let largest = parts.iter().max_by_key(|part| part.1);
        let advice = largest.map_or("", |part| part.2);
        write!(
            f,
            "tokens of {}; {advice}use a larger window",
            taken.join(", ")
        )
    }
}
