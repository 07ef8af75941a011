//! Settings of compaction in a running session, in addition to those of the algorithms: when it runs, and who writes
//! summaries.

use compaction_core::{CompactionSettings, TokenCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings under `compaction`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct CompactionSection {
    /// When it runs, and who writes summaries.
    #[serde(flatten)]
    pub session: SessionCompaction,
    /// How it is done.
    #[serde(flatten)]
    pub rules: CompactionSettings,
}

/// When a session is compacted, and who writes the summaries.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SessionCompaction {
    /// Whether automatic compaction runs at all.
    pub enabled: bool,
    /// Whether the agent continues after an automatic compaction: `true` in an unfinished turn, `"always"` also after
    /// a finished one.
    pub auto_continue: AutoContinue,
    /// Whether native compaction and the remote endpoint may be used.
    pub remote_enabled: bool,
    /// A service that writes summaries: it gets `{systemPrompt, prompt, maxTokens}` and answers `{summary}`.
    pub remote_endpoint: Option<String>,
    /// The environment variable that holds the service's token.
    pub remote_token_env: Option<String>,
    /// Whether the service may be reached unencrypted outside this machine.
    pub remote_allow_insecure: bool,
    /// The model that writes summaries, as `provider/model`; `--model` overrides it.
    pub model: Option<String>,
    /// The models that are tried next, in order.
    pub fallback_models: Vec<String>,
    /// Larger models to switch to, in order, before anything is compacted.
    pub promotion_models: Vec<String>,
    /// Whether an idle session is compacted.
    pub idle_enabled: bool,
    /// The tokens from which on it is compacted.
    pub idle_threshold_tokens: TokenCount,
    /// The seconds without work after which it is idle.
    #[schemars(range(min = 60, max = 3600))]
    pub idle_timeout_seconds: u64,
    /// Compaction concurrent with the work, before the threshold is reached.
    pub background: BackgroundSettings,
}

impl Default for SessionCompaction {
    fn default() -> Self {
        Self {
            enabled: true,
            auto_continue: AutoContinue::WhenAtWork,
            remote_enabled: true,
            remote_endpoint: None,
            remote_token_env: None,
            remote_allow_insecure: false,
            model: None,
            fallback_models: Vec::new(),
            promotion_models: Vec::new(),
            idle_enabled: false,
            idle_threshold_tokens: TokenCount(200_000),
            idle_timeout_seconds: 300,
            background: BackgroundSettings::default(),
        }
    }
}

impl SessionCompaction {
    /// Returns the models that write summaries, in order.
    pub fn summary_models(&self) -> impl Iterator<Item = &String> {
        self.model.iter().chain(&self.fallback_models)
    }

    /// Returns the service that writes summaries, if one is named and may be used.
    pub fn endpoint(&self) -> Option<&String> {
        let endpoint = self.remote_endpoint.as_ref();
        endpoint.filter(|_| self.remote_enabled)
    }

    /// Checks that no value is out of its range.
    ///
    /// # Errors
    /// The key of the first value that is, and what is wrong.
    pub fn check(&self) -> Result<(), (String, String)> {
        let background = &self.background;
        let ranges = [
            ("idleTimeoutSeconds", self.idle_timeout_seconds, 60..=3600),
            (
                "background.atPercent",
                background.at_percent.into(),
                50..=99,
            ),
            ("background.graceSeconds", background.grace_seconds, 0..=300),
        ];
        for (name, value, range) in ranges {
            if !range.contains(&value) {
                let (key, least, most) = (format!("compaction.{name}"), range.start(), range.end());
                let message = format!("{key} is {value}, but must be {least} to {most}");
                return Err((key, message));
            }
        }
        Ok(())
    }
}

/// The settings under `compaction.background`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct BackgroundSettings {
    /// Whether a summary is prepared during the work, before the threshold is reached.
    pub enabled: bool,
    /// The percentage of the threshold at which that begins.
    #[schemars(range(min = 50, max = 99))]
    pub at_percent: u8,
    /// How many seconds the work waits at the threshold for it.
    #[schemars(range(max = 300))]
    pub grace_seconds: u64,
}

impl Default for BackgroundSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            at_percent: 85,
            grace_seconds: 10,
        }
    }
}

/// Whether work goes on by itself after an automatic compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Serialized", into = "Serialized")]
pub enum AutoContinue {
    /// It waits for the user: `false`.
    Never,
    /// It continues a turn that the compaction cut: `true`.
    #[default]
    WhenAtWork,
    /// It continues even behind an answer that ended its turn: `"always"`.
    Always,
}

/// How settings write [`AutoContinue`].
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Serialized {
    Flag(bool),
    Word(Word),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Word {
    Always,
}

impl From<Serialized> for AutoContinue {
    fn from(serialized: Serialized) -> Self {
        match serialized {
            Serialized::Flag(false) => Self::Never,
            Serialized::Flag(true) => Self::WhenAtWork,
            Serialized::Word(Word::Always) => Self::Always,
        }
    }
}

impl From<AutoContinue> for Serialized {
    fn from(value: AutoContinue) -> Self {
        match value {
            AutoContinue::Never => Self::Flag(false),
            AutoContinue::WhenAtWork => Self::Flag(true),
            AutoContinue::Always => Self::Word(Word::Always),
        }
    }
}

/// When a turn ends although the model wants to go on; never unless set.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Limits {
    /// The most requests to the model for one prompt.
    #[schemars(range(min = 1))]
    pub turns: Option<u32>,
    /// The highest cost of a run in USD, as far as prices are known; checked before each request.
    #[schemars(range(min = 0))]
    pub cost_usd: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::AutoContinue;

    #[test]
    fn auto_continue_is_a_flag_or_always() {
        let read =
            |text| serde_json::from_str::<AutoContinue>(text).map_err(|error| error.to_string());
        for (value, text) in [
            (AutoContinue::Never, "false"),
            (AutoContinue::WhenAtWork, "true"),
            (AutoContinue::Always, "\"always\""),
        ] {
            assert_eq!(read(text), Ok(value));
            assert_eq!(serde_json::to_string(&value).ok().as_deref(), Some(text));
        }
        for bad in ["\"never\"", "1", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
