//! The level of thinking: the value to send, and levels that are refused because no value exists for them.

use async_openai::types::responses::ReasoningEffort;

use crate::request::Reasoning;
use crate::wire::{ApiProtocol, ReasoningField, Target};

impl Reasoning {
    /// Returns the level as a budget, in tokens.
    pub(crate) fn budget(self) -> u64 {
        match self {
            Self::Default | Self::Off => 0,
            Self::Minimal => 1024,
            Self::Low => 2048,
            Self::Medium => 8192,
            Self::High => 24_576,
            Self::XHigh | Self::Max => 32_768,
        }
    }
}

/// Returns the level to send. A model that cannot think has none, and an unknown model gets only a level that was
/// requested.
pub(crate) fn level(reasoning: Reasoning, target: &Target<'_>) -> Option<Reasoning> {
    let takes = match reasoning {
        Reasoning::Default => false,
        Reasoning::Off => target.capabilities.reasoning,
        _ => target.capabilities.reasoning || !target.known,
    };
    takes.then_some(reasoning)
}

/// Returns true when the model is known to be able not to think.
pub(crate) fn can_be_off(target: &Target<'_>) -> bool {
    let levels = target.capabilities.levels;
    levels.is_some_and(|levels| levels.has(Reasoning::Off))
}

/// Returns the level to send. Thinking cannot be turned off for every model; such a model gets the lowest level that is
/// known of it. Some models refuse `minimal`; all accept `low`.
pub(crate) fn thinking_level(reasoning: Reasoning, target: &Target<'_>) -> Option<Reasoning> {
    let level = level(reasoning, target)?;
    let levels = target.capabilities.levels;
    let least = || levels.and_then(|levels| levels.iter().find(|level| *level != Reasoning::Off));
    Some(match level {
        Reasoning::Off => least().unwrap_or(Reasoning::Low),
        level => level,
    })
}

/// Returns the level to send as an effort.
pub(crate) fn effort(reasoning: Reasoning, target: &Target<'_>) -> Option<ReasoningEffort> {
    if level(reasoning, target)? == Reasoning::Off && can_be_off(target) {
        return Some(ReasoningEffort::None);
    }
    Some(match thinking_level(reasoning, target)? {
        Reasoning::Default | Reasoning::Off => ReasoningEffort::None,
        Reasoning::Minimal => ReasoningEffort::Minimal,
        Reasoning::Low => ReasoningEffort::Low,
        Reasoning::Medium => ReasoningEffort::Medium,
        Reasoning::High => ReasoningEffort::High,
        Reasoning::XHigh => ReasoningEffort::Xhigh,
        Reasoning::Max => ReasoningEffort::Max,
    })
}

/// Returns why a level cannot be sent, and what to change.
pub(crate) fn refusal(reasoning: Reasoning, target: &Target<'_>) -> Option<String> {
    let (provider, model) = (target.provider, target.model);
    match reasoning {
        Reasoning::Default => return None,
        Reasoning::Off if target.known => return None,
        Reasoning::Off => {
            return Some(format!(
                "{model} is not in the catalog, so its thinking cannot be switched off; leave out the level, or set \
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
    if target.wire == ApiProtocol::Chat && target.compat.reasoning_field == ReasoningField::None {
        return Some(format!(
            "no field for a thinking level is known of {provider}; leave out the level, or set \
             providers.{provider}.compat.reasoningField"
        ));
    }
    #[cfg(feature = "bedrock")]
    if target.wire == ApiProtocol::Converse {
        return Some(format!(
            "no field for a thinking level is known of {model}; leave out the level, or set the model's own in \
             models.\"{provider}/{model}\".extraBody"
        ));
    }
    if let Some(levels) = target.capabilities.levels {
        let names: Vec<&str> = levels.iter().map(Reasoning::name).collect();
        return (!levels.has(reasoning)).then(|| {
            format!(
                "{model} does not take the thinking level {}; ask for one of: {}",
                reasoning.name(),
                names.join(", ")
            )
        });
    }
    match (target.wire, reasoning) {
        (ApiProtocol::Gemini, Reasoning::XHigh | Reasoning::Max) if target.thinks_by_level() => {
            Some("the highest thinking level of Gemini is high; ask for high".to_owned())
        }
        (ApiProtocol::Messages, Reasoning::Minimal) if target.thinks_by_level() => Some(format!(
            "the lowest thinking level of {model} is low; ask for low"
        )),
        _ => None,
    }
}
