//! Settings that are a choice between names.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The method that compacts a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// A summary of older history, then recent entries verbatim.
    #[default]
    ContextFull,
    /// A document for a new session.
    Handoff,
    /// A summary of everything, then restored files and images.
    Restore,
    /// Only old tool output is removed; no summary.
    PruneOnly,
    /// Like `context-full`, with an extractive summary.
    Extractive,
    /// Never.
    Off,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 6] = [
        Self::ContextFull,
        Self::Handoff,
        Self::Restore,
        Self::PruneOnly,
        Self::Extractive,
        Self::Off,
    ];

    /// Returns the name that settings use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContextFull => "context-full",
            Self::Handoff => "handoff",
            Self::Restore => "restore",
            Self::PruneOnly => "prune-only",
            Self::Extractive => "extractive",
            Self::Off => "off",
        }
    }
}

/// The strategy that is tried first, and those that take over, in order, when one fails. Settings spell it as
/// one name, or as a list of names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strategies {
    first: Strategy,
    rest: Vec<Strategy>,
}

impl Strategies {
    /// Returns strategies of which the first is tried first.
    pub const fn new(first: Strategy, rest: Vec<Strategy>) -> Self {
        Self { first, rest }
    }

    /// Returns the strategy that is tried first.
    pub const fn first(&self) -> Strategy {
        self.first
    }

    /// Returns those that take over, in order.
    pub fn rest(&self) -> &[Strategy] {
        &self.rest
    }

    /// Returns all of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Strategy> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }
}

impl From<Strategy> for Strategies {
    fn from(only: Strategy) -> Self {
        Self::new(only, Vec::new())
    }
}

impl Serialize for Strategies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.rest.is_empty() {
            true => self.first.serialize(serializer),
            false => serializer.collect_seq(self.iter()),
        }
    }
}

impl<'de> Deserialize<'de> for Strategies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StrategiesVisitor;
        impl<'de> Visitor<'de> for StrategiesVisitor {
            type Value = Strategies;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a strategy, or a list of names")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Strategies, E> {
                let name = serde::de::value::StrDeserializer::new(name);
                Strategy::deserialize(name).map(Strategies::from)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Strategies, A::Error> {
                let first = names.next_element()?;
                let first =
                    first.ok_or_else(|| A::Error::invalid_length(0, &"at least one name"))?;
                let mut rest = Vec::new();
                while let Some(next) = names.next_element()? {
                    rest.push(next);
                }
                Ok(Strategies::new(first, rest))
            }
        }
        deserializer.deserialize_any(StrategiesVisitor)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Strategies {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Strategies".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<Strategy>();
        schemars::json_schema!({
            "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }]
        })
    }
}

/// The suffix of a session that stays verbatim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CutRule {
    /// Up to the entry at which the budget is reached (the pi family).
    #[default]
    Nearest,
    /// The largest suffix of whole groups that fits the budget; the newest group always stays.
    Fit,
}

/// The form in which a conversation is serialized for a summarizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Serialization {
    /// `[User]: ...`, `[Assistant]: ...` (the pi family).
    #[default]
    Labels,
    /// `[USER]`, `[ASSISTANT]`, `[TOOL_RESULT]` on lines of their own, separated by dividers (seed 001).
    RoleMarkers,
}

#[cfg(test)]
mod tests {
    use super::{Strategies, Strategy};

    #[test]
    fn strategies_are_a_name_or_a_list() {
        let read =
            |text| serde_json::from_str::<Strategies>(text).map_err(|error| error.to_string());
        let one = Strategies::from(Strategy::Handoff);
        assert_eq!(read("\"handoff\""), Ok(one.clone()));
        assert_eq!(read("[\"handoff\"]"), Ok(one.clone()));
        let two = Strategies::new(Strategy::Restore, vec![Strategy::Extractive]);
        assert_eq!(read("[\"restore\",\"extractive\"]"), Ok(two.clone()));
        assert_eq!(
            (two.first(), two.rest()),
            (Strategy::Restore, &[Strategy::Extractive][..])
        );
        for (value, text) in [(one, "\"handoff\""), (two, "[\"restore\",\"extractive\"]")] {
            assert_eq!(serde_json::to_string(&value).ok().as_deref(), Some(text));
        }
        for bad in ["[]", "7", "\"best\"", "[\"off\",\"best\"]", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
