//! JSON texts without keys: lines of sessions, and events.

use std::borrow::Cow;
use std::collections::BTreeSet;

use llm_providers::Redactor;
use serde_json::Value;
use session_model::Clean;

use crate::event::SessionEvent;

/// What happens to thinking that a provider has signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// It stays as it is: its provider takes it back in the same words only.
    Kept,
    /// Keys are removed from it as well: it is never sent back.
    Cleaned,
}

/// Takes keys out of the strings of a JSON text by `clean`, however they are escaped there; all else stays as it is, byte
/// for byte.
pub fn clean_json(text: String, clean: Clean<'_>, signed: Signed) -> String {
    let mut out = String::new();
    let mut kept = None;
    let mut done = 0;
    for (start, end) in strings(&text) {
        let literal = &text[start..end];
        let Some(value) = value_of(literal) else {
            continue;
        };
        let without = clean(&value);
        if without == *value {
            continue;
        }
        let kept = kept.get_or_insert_with(|| match signed {
            Signed::Kept => signed_in(&text),
            Signed::Cleaned => BTreeSet::new(),
        });
        if kept.contains(&*value) {
            continue;
        }
        out.push_str(&text[done..start]);
        out.push_str(&Value::from(without).to_string());
        done = end;
    }
    if done == 0 {
        return text;
    }
    out.push_str(&text[done..]);
    out
}

impl SessionEvent {
    /// Takes keys out of every text of the event.
    pub fn remove_keys(&mut self, redactor: &Redactor) {
        let json = serde_json::to_string(self).unwrap_or_default();
        let clean = |text: &str| redactor.clean_answer(text);
        let clean = clean_json(json.clone(), &clean, Signed::Cleaned);
        if clean != json {
            // Without a key it is the same event, unless a key stood where only words of the program may stand.
            *self = serde_json::from_str(&clean).unwrap_or_else(|_| Self::Notice {
                text: "an event is not reported, because it holds a secret".to_owned(),
            });
        }
    }
}

/// Returns the places of the strings in a JSON text, quotes included.
fn strings(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + bytes.get(from..)?.iter().position(|byte| *byte == b'"')?;
        let mut at = start + 1;
        loop {
            match bytes.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        from = at + 1;
        Some((start, from))
    })
}

/// Returns what a string in quotes says; none where it is no JSON.
fn value_of(literal: &str) -> Option<Cow<'_, str>> {
    match literal.contains('\\') {
        false => Some(Cow::Borrowed(&literal[1..literal.len() - 1])),
        true => serde_json::from_str(literal).ok().map(Cow::Owned),
    }
}

/// Returns the thinking in a text that bears a signature, and the signatures.
fn signed_in(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Ok(value) = serde_json::from_str(text) {
        find_signed(&value, &mut found);
    }
    found
}

fn find_signed(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        Value::Array(items) => items.iter().for_each(|item| find_signed(item, found)),
        Value::Object(members) => {
            let text = |name: &str| members.get(name).and_then(Value::as_str);
            if text("type") == Some("thinking")
                && let Some(signature) = text("thinkingSignature").filter(|said| !said.is_empty())
            {
                found.extend([signature.to_owned()]);
                found.extend(text("thinking").map(str::to_owned));
            }
            let members = members.values();
            members.for_each(|member| find_signed(member, found));
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use llm_providers::{Redactor, Secret};

    use super::{Signed, clean_json};

    fn clean(text: &str, signed: Signed) -> String {
        let secret = Secret::new("key+0123456789\"abcdef");
        let redactor = Redactor::new(&secret);
        clean_json(text.to_owned(), &|text| redactor.clean_answer(text), signed)
    }

    #[test]
    fn a_key_leaves_a_text_however_it_is_spelled() {
        let text = r#"{"b" : 1.50,"a":["x key+0123456789\"abcdef","\u006bey\u002b0123456789\"abcdef\n"],"key+0123456789\"abcdef":"key%2B0123456789%22abcdef"}"#;
        assert_snapshot!(clean(text, Signed::Kept), @r#"{"b" : 1.50,"a":["x [secret removed]","[secret removed]\n"],"[secret removed]":"[secret removed]"}"#);
        let inner = r#"{"a":"{\"b\":\"key+0123456789\\\"abcdef\"}"}"#;
        assert_snapshot!(clean(inner, Signed::Kept), @r#"{"a":"{\"b\":\"[secret removed]\"}"}"#);
    }

    #[test]
    fn what_holds_no_key_stays_byte_for_byte() {
        for text in [
            r#"{"a" : "\u0062"}"#,
            "",
            "no JSON \" at all \\",
            "\"open\\",
        ] {
            assert_eq!(clean(text, Signed::Cleaned), text);
        }
    }

    #[test]
    fn signed_thinking_stays_where_it_is_sent_again() {
        let text = r#"[{"type":"thinking","thinking":"key+0123456789\"abcdef","thinkingSignature":"s"},{"type":"thinking","thinking":"a key+0123456789\"abcdef"}]"#;
        assert_snapshot!(clean(text, Signed::Kept), @r#"[{"type":"thinking","thinking":"key+0123456789\"abcdef","thinkingSignature":"s"},{"type":"thinking","thinking":"a [secret removed]"}]"#);
        assert_snapshot!(clean(text, Signed::Cleaned), @r#"[{"type":"thinking","thinking":"[secret removed]","thinkingSignature":"s"},{"type":"thinking","thinking":"a [secret removed]"}]"#);
    }
}
