//! Fields that are added to the bodies of requests.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use session_model::json::{Members, RawJson};

/// Fields by name. They are merged as in RFC 7396: objects member by member, and null removes a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct ExtraBody(pub Map<String, Value>);

/// Members that extra fields cannot replace, compared without case and underscores: the conversation and the tools, the
/// model and the protocol, which are chosen elsewhere, and options that would silently drop parts of the conversation.
const PROTECTED: [&str; 22] = [
    "anthropicversion",
    "background",
    "cachedcontent",
    "contents",
    "contextmanagement",
    "conversation",
    "functioncall",
    "functions",
    "input",
    "instructions",
    "messages",
    "model",
    "previousresponseid",
    "prompt",
    "stream",
    "system",
    "systeminstruction",
    "toolchoice",
    "toolconfig",
    "tools",
    "transforms",
    "truncation",
];

/// Those of them that are protected at any depth.
const PROTECTED_INSIDE: [&str; 4] = ["contents", "messages", "systeminstruction", "tools"];

impl ExtraBody {
    /// Returns the first protected field, as a dotted name.
    pub fn protected(&self) -> Option<String> {
        protected(&self.0, &PROTECTED)
    }

    /// Merges `over` into these fields.
    pub fn merge(&mut self, over: &Self) {
        for (name, value) in &over.0 {
            merge(self.0.entry(name).or_insert(Value::Null), value);
        }
    }

    /// Returns `body` merged over these fields.
    pub(crate) fn under(&self, body: &RawJson) -> RawJson {
        self.merged(body, |own, encoded| {
            let mut merged = own.clone();
            merge(&mut merged, &encoded);
            merged
        })
    }

    /// Returns these fields merged over `body`.
    pub(crate) fn over(&self, body: &RawJson) -> RawJson {
        self.merged(body, |own, mut encoded| {
            merge(&mut encoded, own);
            encoded
        })
    }

    /// Members that are in only one of them stay as they are written.
    fn merged(&self, body: &RawJson, both: impl Fn(&Value, Value) -> Value) -> RawJson {
        let Some(Members(members)) = Members::parse(body.get()) else {
            return body.clone();
        };
        if self.0.is_empty() {
            return body.clone();
        }
        let mut fields = Vec::new();
        for (name, raw) in &members {
            let text = match self.0.get(&**name) {
                Some(own) => {
                    let encoded = serde_json::from_str(raw.get()).unwrap_or_default();
                    both(own, encoded).to_string()
                }
                None => raw.get().to_owned(),
            };
            fields.push((Value::from(&**name), text));
        }
        for (name, own) in &self.0 {
            if members.iter().all(|(known, _)| known != name) {
                let mut added = Value::Null;
                merge(&mut added, own);
                fields.push((Value::from(name.as_str()), added.to_string()));
            }
        }
        let fields = fields.into_iter().filter(|(_, text)| text != "null");
        let fields: Vec<String> = fields
            .map(|(name, text)| format!("{name}:{text}"))
            .collect();
        RawJson::parse(&format!("{{{}}}", fields.join(","))).unwrap_or_else(|_| body.clone())
    }
}

fn protected(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    fields.iter().find_map(|(name, value)| {
        let plain = name.replace('_', "").to_lowercase();
        if names.contains(&plain.as_str()) {
            return Some(name.clone());
        }
        let inner = protected(value.as_object()?, &PROTECTED_INSIDE)?;
        Some(format!("{name}.{inner}"))
    })
}

/// Merges `over` into `value`.
fn merge(value: &mut Value, over: &Value) {
    let Value::Object(over) = over else {
        value.clone_from(over);
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Value::Object(members) = value {
        for (name, over) in over {
            if over.is_null() {
                members.remove(name);
            } else {
                merge(members.entry(name).or_insert(Value::Null), over);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ExtraBody;
    use session_model::json::RawJson;

    fn extra(text: &str) -> ExtraBody {
        serde_json::from_str(text).expect("an object")
    }

    #[test]
    fn fields_are_merged_member_by_member_and_null_takes_one_away() {
        let body = RawJson::parse(r#"{"b":{"x":1,"y":2},"a":1.50,"c":true}"#).expect("JSON");
        let fields = extra(r#"{"b":{"x":9,"y":null,"z":{"n":null}},"c":null,"d":[1],"e":null}"#);
        let over = fields.over(&body);
        assert_eq!(over.get(), r#"{"b":{"x":9,"z":{}},"a":1.50,"d":[1]}"#);
        let under = extra(r#"{"b":{"x":9,"z":3},"f":1}"#).under(&body);
        assert_eq!(
            under.get(),
            r#"{"b":{"x":1,"y":2,"z":3},"a":1.50,"c":true,"f":1}"#
        );
    }

    #[test]
    fn conversation_and_tools_are_protected_however_they_are_written() {
        for (text, name) in [
            (r#"{"top_k":1,"messages":[]}"#, "messages"),
            (r#"{"System_Instruction":{}}"#, "System_Instruction"),
            (
                r#"{"chat_template_kwargs":{"a":{"tools":[]}}}"#,
                "chat_template_kwargs.a.tools",
            ),
        ] {
            assert_eq!(extra(text).protected().as_deref(), Some(name));
        }
        assert_eq!(
            extra(r#"{"provider":{"max_price":{"prompt":1}}}"#).protected(),
            None
        );
    }
}
