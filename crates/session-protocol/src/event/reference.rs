//! The JSON Schema of events and an example of each.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::SessionEvent;

/// One example of every event, a line each, in the order in which a session may report them.
pub const SAMPLES: &str = include_str!("samples.jsonl");

/// Returns one event of each kind, in the order in which a session may report them.
pub fn samples() -> Vec<SessionEvent> {
    let events = SAMPLES.lines().map(serde_json::from_str);
    events.filter_map(Result::ok).collect()
}

/// Returns the JSON Schema of an event.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<SessionEvent>().to_value();
    crate::schema::plain(&mut schema);
    schema["title"] = json!("An event of agent-cli --mode json");
    schema
}

/// Returns the schema as the text of a file.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// Returns the names of all events, as their lines have them.
pub fn names() -> Vec<String> {
    let schema = schema();
    let kinds = schema["oneOf"].as_array().into_iter().flatten();
    let names = kinds.filter_map(|kind| kind["properties"]["type"]["const"].as_str());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use llm_providers::{Redactor, Secret};
    use serde_json::json;

    use super::{SAMPLES, samples, schema};
    use crate::event::SessionEvent;

    #[test]
    fn every_event_has_an_example_and_every_example_is_as_the_schema_says() {
        let schema = schema();
        let kinds = schema["oneOf"].as_array().expect("alternatives");
        let mut left: BTreeSet<&str> = kinds
            .iter()
            .filter_map(|kind| kind["properties"]["type"]["const"].as_str())
            .collect();
        assert_eq!(left.len(), kinds.len());
        assert_eq!(samples().len(), SAMPLES.lines().count());
        for sample in samples() {
            let sample = serde_json::to_value(sample).expect("an event is JSON");
            let name = sample["type"].as_str().expect("a type");
            assert!(left.remove(name), "{name} twice, or unknown");
            let kind = kinds
                .iter()
                .find(|kind| kind["properties"]["type"]["const"] == name)
                .expect("found above");
            let has: BTreeSet<&str> = sample
                .as_object()
                .expect("an object")
                .keys()
                .map(String::as_str)
                .collect();
            let required: BTreeSet<&str> = kind["required"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(|name| name.as_str())
                .collect();
            assert_eq!(has, required, "{name}");
        }
        assert_eq!(left, BTreeSet::new(), "without an example");
    }

    #[test]
    fn no_event_tells_a_key() {
        const KEY: &str = "sk-0123456789abcdef";
        let secret = Secret::new(KEY);
        let redactor = Redactor::new(&secret);
        // Every text of every sample that is a sentence, or what a tool was given or gave, becomes a key.
        let mut texts = 0;
        for mut event in samples() {
            let before = event.clone();
            match &mut event {
                SessionEvent::ToolStart { arguments, .. } => *arguments = json!({ "a": [KEY] }),
                SessionEvent::ToolEnd { output: text, .. }
                | SessionEvent::ToolUpdate { output: text, .. }
                | SessionEvent::ApprovalRequest { subject: text, .. }
                | SessionEvent::HookFailed { reason: text, .. }
                | SessionEvent::Answer { text, .. }
                | SessionEvent::Notice { text }
                | SessionEvent::Error { message: text }
                | SessionEvent::Message { text, .. } => KEY.clone_into(text),
                _ => {}
            }
            texts += usize::from(event != before);
            event.remove_keys(&redactor);
            let encoded = serde_json::to_string(&event).unwrap();
            assert!(!encoded.contains(KEY), "{encoded}");
            assert_eq!(
                encoded.contains("[secret removed]"),
                event != before,
                "{encoded}"
            );
        }
        assert!(texts >= 8, "{texts}");
    }
}
