//! Parses a line into a request, or into the error about the line.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::protocol::{ErrorKind, Id, Request, Response, RpcError};

/// The longest line, in bytes.
pub(crate) const LONGEST: usize = 10_000_000;

/// A request, and what its answer bears.
#[derive(Debug)]
pub(crate) struct Asked {
    pub id: Option<Id>,
    pub command: String,
    pub request: Request,
}

/// The members of an object as a line has them.
struct Given<'a> {
    members: BTreeMap<String, &'a RawValue>,
    /// The first name that occurs twice.
    twice: Option<String>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Given<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Given<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Given<'de>, A::Error> {
                let mut given = Given {
                    members: BTreeMap::new(),
                    twice: None,
                };
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if given.members.insert(name.clone(), value).is_some() {
                        given.twice.get_or_insert(name);
                    }
                }
                Ok(given)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// Reads a line, the one of this number; none for an empty one. An error is the response to it.
pub(crate) fn parse(line: &[u8], number: u64) -> Option<Result<Asked, Box<Response>>> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.trim(),
        Err(error) => {
            let at = error.valid_up_to() + 1;
            let message = format!("byte {at} is not UTF-8; a request is a JSON object in one line");
            return Some(Err(malformed(number, &message)));
        }
    };
    (!text.is_empty()).then(|| object(text, number))
}

/// Returns the response to a line that is no request.
pub(crate) fn malformed(number: u64, message: &str) -> Box<Response> {
    let error = RpcError {
        kind: ErrorKind::Malformed,
        field: None,
        message: format!("line {number}: {message}"),
    };
    Box::new(Response::failed(None, None, error))
}

fn object(text: &str, number: u64) -> Result<Asked, Box<Response>> {
    if !text.starts_with('{') {
        let what = "a request is a JSON object, such as {\"type\":\"get_state\"}";
        return Err(malformed(number, what));
    }
    let Given { members, twice }: Given<'_> = serde_json::from_str(text).map_err(|error| {
        malformed(
            number,
            &format!("this is not JSON: {}", without_line(&error)),
        )
    })?;
    let id = members
        .get("id")
        .map(|id| id.get())
        .filter(|id| *id != "null");
    let refused = |id, command, error| Box::new(Response::refused(number, id, command, error));
    if id.is_some_and(|id| !is_id(id)) {
        let what = "an id is a string or a number; leave it out or give one";
        return Err(refused(None, None, RpcError::invalid("id", what)));
    }
    let id = id.and_then(|id| RawValue::from_string(id.to_owned()).ok());
    if let Some(name) = twice {
        // With two ids, it is not known which one is meant.
        let id = id.filter(|_| name != "id");
        let error = RpcError::invalid(&clipped(&name), "it is there twice; give it once");
        return Err(refused(id, None, error));
    }
    let Some(command) = members.get("type") else {
        let what = "it is missing; name the command, such as get_state";
        return Err(refused(id, None, RpcError::invalid("type", what)));
    };
    let Ok(command) = serde_json::from_str::<String>(command.get()) else {
        let what = "it must be a string: the name of a command";
        return Err(refused(id, None, RpcError::invalid("type", what)));
    };
    match request(&command, &members) {
        Ok(request) => Ok(Asked {
            id,
            command,
            request,
        }),
        Err(error) => Err(refused(id, Some(clipped(&command)), error)),
    }
}

/// Returns true if a JSON value can be the id of a request.
fn is_id(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(text).is_ok(),
        Some(first) => *first == b'-' || first.is_ascii_digit(),
        None => false,
    }
}

fn request(command: &str, members: &BTreeMap<String, &RawValue>) -> Result<Request, RpcError> {
    let mut fields = Map::new();
    let own = |name: &&String| *name != "type" && *name != "id";
    for (name, value) in members.iter().filter(|(name, _)| own(name)) {
        let value = serde_json::from_str(value.get())
            .map_err(|error| RpcError::invalid(name, without_line(&error)))?;
        fields.insert(name.clone(), value);
    }
    let tagged = Map::from_iter([(command.to_owned(), Value::Object(fields))]);
    serde_path_to_error::deserialize(Value::Object(tagged)).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.inner().to_string();
        let missing = reason.strip_prefix("missing field `");
        let missing = missing.and_then(|name| name.strip_suffix('`'));
        // Members are not nested; what is below one is still about it.
        let member = path.split('.').nth(1).filter(|member| !member.is_empty());
        match missing.or(member) {
            Some(member) => RpcError::invalid(&clipped(member), reason),
            None => RpcError::invalid("type", reason.replace("unknown variant", "unknown command")),
        }
    })
}

/// Returns the beginning of a name that a program made up.
fn clipped(name: &str) -> String {
    name.chars().take(100).collect()
}

/// Returns an error of JSON in a text of one line.
fn without_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}
