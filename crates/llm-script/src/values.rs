//! The values of a script's keys: what each must be, so that serde refuses all others.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use session_model::json::RawJson;

/// Reads a value that may be null, which is as if it were left out.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// An object; a list is none, although serde would take one for a struct.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// An object as it was written.
#[derive(Deserialize)]
#[serde(try_from = "RawJson")]
pub struct AnyObject(pub RawJson);

impl TryFrom<RawJson> for AnyObject {
    type Error = &'static str;

    fn try_from(raw: RawJson) -> Result<Self, Self::Error> {
        match raw.get().starts_with('{') {
            true => Ok(Self(raw)),
            false => Err("must be an object"),
        }
    }
}

/// A text with more than blanks.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub struct Filled(pub String);

impl TryFrom<String> for Filled {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.trim().is_empty() {
            true => Err("is empty; write a text"),
            false => Ok(Self(text)),
        }
    }
}

/// A number with its bounds.
#[derive(Clone, Copy)]
pub struct Bounded<const LEAST: u64, const MOST: u64>(pub u64);

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Bounded<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor<const LEAST: u64, const MOST: u64>;
        impl<const LEAST: u64, const MOST: u64> Visitor<'_> for NumberVisitor<LEAST, MOST> {
            type Value = u64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match (LEAST, MOST) {
                    (least, u64::MAX) => write!(f, "a whole number from {least}"),
                    (least, most) if least == most => write!(f, "{least}"),
                    (least, most) => write!(f, "a whole number from {least} to {most}"),
                }
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
                match (LEAST..=MOST).contains(&number) {
                    true => Ok(number),
                    false => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
                }
            }
        }
        let number = deserializer.deserialize_u64(NumberVisitor::<LEAST, MOST>)?;
        Ok(Self(number))
    }
}
