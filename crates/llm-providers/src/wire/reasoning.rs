//! How much a model is told to think: what is sent, and what is refused because nothing could be sent for it.

use crate::request::Reasoning;
use crate::wire::{ApiProtocol, ReasoningField, Target};

impl Reasoning {
    /// Returns the level as an effort; `least` is the smallest one that every model takes.
    pub(crate) fn effort(self, least: &'static str) -> &'static str {
        match self {
            Self::Default | Self::Off => least,
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }

    /// Returns the level as a budget, in tokens.
    pub(crate) fn budget(self) -> u64 {
        match self {
            Self::Default | Self::Off => 0,
            Self::Minimal => 1024,
            Self::Low => 2048,
            Self::Medium => 8192,
            Self::High => 24_576,
            Self::XHigh => 32_768,
        }
    }
}

/// Returns the level to send. A model that does not think has none, and to one that nothing is known of, only what was
/// asked for is sent.
pub(crate) fn level(reasoning: Reasoning, target: &Target<'_>) -> Option<Reasoning> {
    let takes = match reasoning {
        Reasoning::Default => false,
        Reasoning::Off => target.capabilities.reasoning,
        _ => target.capabilities.reasoning || !target.known,
    };
    takes.then_some(reasoning)
}

/// Returns why a level cannot be sent, and what to change.
pub(crate) fn refusal(reasoning: Reasoning, target: &Target<'_>) -> Option<String> {
    let (provider, model) = (target.provider, target.model);
    match reasoning {
        Reasoning::Default => return None,
        Reasoning::Off if target.known => return None,
        Reasoning::Off => {
            return Some(format!(
                "nothing is known of {model}, so it cannot be told not to think; leave out the level, or set \
                 models.\"{provider}/{model}\".reasoning"
            ));
        }
        _ => {}
    }
    if target.known && !target.capabilities.reasoning {
        return Some(format!(
            "{model} does not think, so no thinking level can be sent; leave out the level, or set \
             models.\"{provider}/{model}\".reasoning"
        ));
    }
    match (target.wire, reasoning) {
        (ApiProtocol::Chat, _) if target.compat.reasoning_field == ReasoningField::None => {
            Some(format!(
                "no field for a thinking level is known of {provider}; leave out the level, or set \
             providers.{provider}.compat.reasoningField"
            ))
        }
        #[cfg(feature = "bedrock")]
        (ApiProtocol::Converse, _) => Some(format!(
            "no field for a thinking level is known of {model}; leave out the level"
        )),
        (ApiProtocol::Gemini, Reasoning::XHigh) if target.thinks_by_level() => {
            Some("the highest thinking level of Gemini is high; ask for high".to_owned())
        }
        (ApiProtocol::Messages, Reasoning::Minimal) if target.thinks_by_level() => Some(format!(
            "the lowest thinking level of {model} is low; ask for low"
        )),
        _ => None,
    }
}
