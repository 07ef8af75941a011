//! Values of a script with the place where they stand, so that every error names its key and what is allowed.

use std::ops::RangeInclusive;

use serde_json::value::RawValue;
use session_model::json::{Members, RawJson};

/// What is wrong with a value: its key and the reason.
pub(super) type Fault = String;

/// How much of a value an error shows, in characters.
const SHOWN: usize = 40;

/// A value and its key, such as `answer.calls[0].name`; the key of a whole line is empty.
pub(super) struct Field<'a> {
    at: String,
    text: &'a str,
}

/// An object whose keys are all allowed ones.
pub(super) struct Object<'a> {
    at: String,
    members: Vec<(String, &'a RawValue)>,
}

/// Returns the values of one line, or why the line is no JSON.
pub(super) fn parse_line(text: &str) -> Result<Field<'_>, Fault> {
    let parsed: Result<&RawValue, _> = serde_json::from_str(text);
    let text = parsed.map_err(|error| {
        let said = error.to_string();
        let what = said
            .split_once(" at line ")
            .map_or(said.as_str(), |(what, _)| what);
        let column = error.column();
        format!("is no JSON ({what}, at column {column}); write one JSON object on each line")
    })?;
    Ok(Field {
        at: String::new(),
        text: text.get(),
    })
}

impl<'a> Field<'a> {
    /// Returns an error about this value.
    pub fn fault(&self, reason: &str) -> Fault {
        match self.at.is_empty() {
            true => reason.to_owned(),
            false => format!("{}: {reason}", self.at),
        }
    }

    /// Returns the error that the value is not what it must be.
    pub fn must_be(&self, what: &str) -> Fault {
        self.fault(&format!("is {}, but must be {what}", self.shown()))
    }

    /// Returns true when the value is an object that has `key`.
    pub fn has(&self, key: &str) -> bool {
        Members::parse(self.text).is_ok_and(|members| members.get(key).is_some())
    }

    /// Returns true when the value is an object.
    pub fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    /// Returns the object, when it has none but the keys `allowed`, each at most once.
    pub fn object(&self, allowed: &[&str]) -> Result<Object<'a>, Fault> {
        let listed = allowed.join(", ");
        let members = Members::parse(self.text)
            .map_err(|_| self.must_be(&format!("an object with {listed}")))?;
        let mut object = Object {
            at: self.at.clone(),
            members: Vec::new(),
        };
        for (key, value) in members.0 {
            let place = object.place(&excerpt(&key));
            if !allowed.contains(&key.as_ref()) {
                return Err(format!("{place}: unknown key; allowed are {listed}"));
            }
            if object.members.iter().any(|(other, _)| *other == key) {
                return Err(format!("{place}: is given twice; keep one"));
            }
            object.members.push((key.into_owned(), value));
        }
        Ok(object)
    }

    /// Returns the object as it was written, whatever its keys.
    pub fn raw_object(&self) -> Result<RawJson, Fault> {
        let raw = RawJson::parse(self.text).ok().filter(|_| self.is_object());
        raw.ok_or_else(|| self.must_be("an object"))
    }

    /// Returns the items of a list.
    pub fn list(&self) -> Result<Vec<Self>, Fault> {
        let items: Result<Vec<&'a RawValue>, _> = serde_json::from_str(self.text);
        let items = items.map_err(|_| self.must_be("a list"))?;
        let items = items.into_iter().enumerate().map(|(index, item)| Self {
            at: format!("{}[{index}]", self.at),
            text: item.get(),
        });
        Ok(items.collect())
    }

    /// Returns the text.
    pub fn text(&self) -> Result<String, Fault> {
        serde_json::from_str(self.text).map_err(|_| match self.text.starts_with('"') {
            true => self.fault("holds half a surrogate pair; write the whole character"),
            false => self.must_be("a text"),
        })
    }

    /// Returns the text, when there is anything in it.
    pub fn some_text(&self) -> Result<String, Fault> {
        let text = self.text()?;
        match text.trim().is_empty() {
            true => Err(self.fault("is empty; write a text")),
            false => Ok(text),
        }
    }

    /// Returns the number, when it is a whole one in `range`, which `what` puts into words.
    pub fn number(&self, range: &RangeInclusive<u64>, what: &str) -> Result<u64, Fault> {
        let number: Option<u64> = serde_json::from_str(self.text).ok();
        let number = number.filter(|number| range.contains(number));
        number.ok_or_else(|| self.must_be(what))
    }

    /// Returns true or false.
    pub fn flag(&self) -> Result<bool, Fault> {
        serde_json::from_str(self.text).map_err(|_| self.must_be("true or false"))
    }

    /// Returns what the value names.
    pub fn one_of<T: Clone>(&self, names: &[(&str, T)]) -> Result<T, Fault> {
        let text: Option<String> = serde_json::from_str(self.text).ok();
        let found = names
            .iter()
            .find(|(name, _)| text.as_deref() == Some(*name));
        found.map(|(_, value)| value.clone()).ok_or_else(|| {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            self.must_be(&format!("one of {}", names.join(", ")))
        })
    }

    fn shown(&self) -> String {
        match self.text.as_bytes().first() {
            Some(b'{') => "an object".to_owned(),
            Some(b'[') => "a list".to_owned(),
            Some(_) | None => excerpt(self.text),
        }
    }
}

impl<'a> Object<'a> {
    /// Returns the keys in their order, those that hold null left out.
    pub fn keys(&self) -> Vec<&str> {
        let given = self.members.iter().filter(|(_, value)| !is_null(value));
        given.map(|(key, _)| key.as_str()).collect()
    }

    /// Returns the value of `key`; null is as if the key were left out.
    pub fn get(&self, key: &str) -> Option<Field<'a>> {
        let (_, value) = self.members.iter().find(|(name, _)| name == key)?;
        (!is_null(value)).then(|| Field {
            at: self.place(key),
            text: value.get(),
        })
    }

    /// Returns the value of `key`, which must be there and be `what`.
    pub fn need(&self, key: &str, what: &str) -> Result<Field<'a>, Fault> {
        let missing = || format!("{}: is missing; it must be {what}", self.place(key));
        self.get(key).ok_or_else(missing)
    }

    /// Returns the text of `key`, empty when the key is left out.
    pub fn text_or_empty(&self, key: &str) -> Result<String, Fault> {
        let text = self.get(key).map(|field| field.text()).transpose()?;
        Ok(text.unwrap_or_default())
    }

    fn place(&self, key: &str) -> String {
        match self.at.is_empty() {
            true => key.to_owned(),
            false => format!("{}.{key}", self.at),
        }
    }
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// Returns the beginning of `text`, without characters that would disturb a terminal.
fn excerpt(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(SHOWN)
        .filter(|c| !c.is_control())
        .collect();
    if text.chars().count() > SHOWN {
        shown.push_str("...");
    }
    shown
}
