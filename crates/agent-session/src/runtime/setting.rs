//! The settings that a running session can change: those of compaction and branch summaries that nothing was built
//! from.

use serde_json::Value;

use compaction_core::Settings;

use crate::machine::{Event, Policy};
use crate::runtime::{AgentSession, policy};
use session_protocol::Limits;
use session_protocol::settings::{CompactionSection, SessionCompaction};
use session_protocol::{Refusal, Reply};

/// What models were chosen by when the session began.
const FIXED: [&str; 7] = [
    "compaction.fallbackModels",
    "compaction.model",
    "compaction.promotionModels",
    "compaction.remoteAllowInsecure",
    "compaction.remoteEnabled",
    "compaction.remoteEndpoint",
    "compaction.remoteTokenEnv",
];

/// Returns the settings that can be changed, in order: their names, and their values as JSON.
pub fn changeable(settings: &Settings, compaction: &SessionCompaction) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    flatten("", &document(settings, compaction), &mut all);
    all.retain(|(name, _)| !FIXED.contains(&name.as_str()));
    all
}

/// Returns the settings as they stand in a settings file.
fn document(settings: &Settings, compaction: &SessionCompaction) -> Value {
    let mut value = serde_json::to_value(settings).unwrap_or_default();
    let section = CompactionSection {
        session: compaction.clone(),
        rules: settings.compaction.clone(),
    };
    value["compaction"] = serde_json::to_value(section).unwrap_or_default();
    value
}

fn flatten(lead: &str, value: &Value, all: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let name = match lead {
                    "" => name.clone(),
                    lead => format!("{lead}.{name}"),
                };
                flatten(&name, value, all);
            }
        }
        value => all.push((lead.to_owned(), value.clone())),
    }
}

/// Returns settings of which one is another one; `text` is JSON or a bare word.
fn with(
    settings: &Settings,
    compaction: &SessionCompaction,
    name: &str,
    text: &str,
) -> Result<(Settings, SessionCompaction), String> {
    if FIXED.contains(&name) {
        return Err(format!(
            "{name} cannot change while the session runs; set it in a settings file"
        ));
    }
    let mut value = document(settings, compaction);
    let place = format!("/{}", name.replace('.', "/"));
    let target = value.pointer_mut(&place).filter(|old| !old.is_object());
    let target =
        target.ok_or_else(|| format!("there is no setting {name}; /settings lists them"))?;
    let text = text.trim();
    *target = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let wrong = |error: serde_json::Error| format!("{name} = {text}: {error}");
    let section: CompactionSection =
        serde_json::from_value(value["compaction"].take()).map_err(wrong)?;
    section.session.check().map_err(|(_, message)| message)?;
    value["compaction"] = serde_json::to_value(section.rules).map_err(wrong)?;
    let settings: Settings = serde_json::from_value(value).map_err(wrong)?;
    settings.check().map_err(|error| error.to_string())?;
    Ok((settings, section.session))
}

impl AgentSession {
    /// Changes a setting for the rest of the run.
    pub(super) async fn set(&mut self, name: &str, text: &str) -> Result<Reply, Refusal> {
        let changed = with(&self.settings, &self.compaction, name, text);
        (self.settings, self.compaction) = changed.map_err(Refusal::refused)?;
        let Policy {
            most_requests,
            most_micro_usd,
            automatic,
            ..
        } = self.machine.memory.policy;
        self.machine.memory.policy = Policy {
            most_requests,
            most_micro_usd,
            ..policy(&self.settings, &self.compaction, Limits::default())
        };
        let now = match name {
            // They switch it; everything else leaves it as the user has switched it.
            "compaction.enabled" | "compaction.strategy" => self.machine.memory.policy.automatic,
            _ => automatic,
        };
        self.feed(Event::SetAutomatic(now)).await;
        self.report_context();
        Ok(Reply::Done {})
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionCompaction, changeable, with};
    use compaction_core::{Settings, TokenCount};

    #[test]
    fn a_setting_is_changed_by_its_name() {
        let (settings, compaction) = (Settings::default(), SessionCompaction::default());
        let with = |name, value| with(&settings, &compaction, name, value);
        let (changed, _) = with("compaction.keepRecentTokens", "1000").unwrap();
        assert_eq!(changed.compaction.keep_recent_tokens, TokenCount(1000));
        let (_, changed) = with("compaction.idleEnabled", "true").unwrap();
        assert!(changed.idle_enabled);
        let (changed, _) = with("compaction.strategy", "extractive").unwrap();
        let all = changeable(&changed, &compaction);
        assert!(all.contains(&("compaction.strategy".to_owned(), "extractive".into())));
        assert!(all.contains(&("compaction.enabled".to_owned(), true.into())));
        let refused = |name, value| with(name, value).unwrap_err();
        insta::assert_snapshot!(refused("compaction.keep", "1"), @"there is no setting compaction.keep; /settings lists them");
        insta::assert_snapshot!(refused("compaction", "1"), @"there is no setting compaction; /settings lists them");
        insta::assert_snapshot!(refused("compaction.model", "x"), @"compaction.model cannot change while the session runs; set it in a settings file");
        insta::assert_snapshot!(refused("compaction.enabled", "perhaps"), @r#"compaction.enabled = perhaps: invalid type: string "perhaps", expected a boolean"#);
        insta::assert_snapshot!(refused("compaction.thresholdPercent", "101"), @"compaction.thresholdPercent is 101, but must be at most 100 (or -1 for none)");
        insta::assert_snapshot!(refused("compaction.idleTimeoutSeconds", "1"), @"compaction.idleTimeoutSeconds is 1, but must be 60 to 3600");
    }
}
