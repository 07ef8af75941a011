//! One JSON document that may be cut off: the members and messages that are whole.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::emitter::{Emitter, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::cut_off;

/// What a document holds up to where it ends.
#[derive(Debug, Default)]
pub(crate) struct Document<'a> {
    /// The members of the first level other than the messages.
    pub members: Vec<(String, &'a str)>,
    pub messages: Vec<&'a str>,
    /// It does not end as it should.
    pub is_cut: bool,
}

impl<'a> Document<'a> {
    /// Reads a document of a format, and begins the session that is written from it.
    pub fn open<'w>(
        text: &'a str,
        format: Format,
        out: Out<'w>,
    ) -> Result<(Self, Emitter<'w>), ImportError> {
        let document = Self::read(text).ok_or(ImportError::Empty(format))?;
        let mut emitter = Emitter::new(format, out);
        if document.is_cut {
            emitter.diagnostics.push(cut_off());
        }
        Ok((document, emitter))
    }

    /// Returns what `text` holds, or `None` where it does not even begin as an object.
    pub fn read(text: &'a str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.starts_with('{') {
            return None;
        }
        let mut document = Self::default();
        let mut parser = serde_json::Deserializer::from_str(text);
        let read = Members(&mut document).deserialize(&mut parser);
        document.is_cut = read.and_then(|()| parser.end()).is_err();
        Some(document)
    }

    /// Returns the raw text of a member.
    pub fn raw(&self, key: &str) -> Option<&'a str> {
        let found = self.members.iter().find(|(name, _)| name == key);
        found.map(|(_, raw)| *raw)
    }
}

struct Members<'d, 'a>(&'d mut Document<'a>);

impl<'de> DeserializeSeed<'de> for Members<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "messages" | "conversation" => map.next_value_seed(Messages(&mut *self.0))?,
                _ => {
                    let value: &RawValue = map.next_value()?;
                    self.0.members.push((key, value.get()));
                }
            }
        }
        Ok(())
    }
}

struct Messages<'d, 'a>(&'d mut Document<'a>);

impl<'de> DeserializeSeed<'de> for Messages<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut messages: A) -> Result<(), A::Error> {
        while let Some(message) = messages.next_element::<&RawValue>()? {
            self.0.messages.push(message.get());
        }
        Ok(())
    }
}
