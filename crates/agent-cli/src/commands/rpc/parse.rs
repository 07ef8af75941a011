//! From a line to a request, or to the error that says what is wrong with the line.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::protocol::{ErrorKind, Id, Request, Response, RpcError};
use super::reference::request_schema;
use agent_session::event::constants;

/// The longest line, in bytes.
pub(super) const LONGEST: usize = 10_000_000;

/// A request, and what its answer bears.
#[derive(Debug)]
pub(super) struct Asked {
    pub id: Option<Id>,
    pub command: String,
    pub request: Request,
}

/// The members of a command's requests.
struct Members {
    all: Vec<String>,
    needed: Vec<String>,
    /// What those may be that are one of a few words.
    words: BTreeMap<String, Vec<String>>,
}

/// The members of an object as a line has them.
struct Given<'a> {
    members: BTreeMap<String, &'a RawValue>,
    /// The first name that was given again.
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

/// Returns the commands there are, read from the schema.
fn commands() -> &'static BTreeMap<String, Members> {
    static COMMANDS: LazyLock<BTreeMap<String, Members>> = LazyLock::new(|| {
        let schema = request_schema();
        let kinds = schema["oneOf"].as_array().into_iter().flatten();
        let members = |kind: &Value| {
            let name = kind["properties"]["type"]["const"].as_str()?.to_owned();
            let own = |name: &&String| *name != "type" && *name != "id";
            let all = kind["properties"].as_object()?.keys();
            let needed = kind["required"].as_array().into_iter().flatten();
            let needed = needed.filter_map(Value::as_str).map(str::to_owned);
            Some((
                name,
                Members {
                    all: all.filter(own).cloned().collect(),
                    needed: needed.filter(|name| own(&name)).collect(),
                    words: words(&kind["properties"]),
                },
            ))
        };
        kinds.filter_map(members).collect()
    });
    &COMMANDS
}

/// Returns the members that are one of a few words, with these.
fn words(properties: &Value) -> BTreeMap<String, Vec<String>> {
    let members = properties.as_object().into_iter().flatten();
    let words = members.filter_map(|(name, member)| Some((name.clone(), constants(member)?)));
    words.collect()
}

/// Reads a line, the one of this number; none for an empty one. An error is the response to it.
pub(super) fn parse(line: &[u8], number: u64) -> Option<Result<Asked, Box<Response>>> {
    let text = match std::str::from_utf8(line) {
        Ok(text) => text.trim(),
        Err(error) => {
            let at = error.valid_up_to() + 1;
            let message = format!("byte {at} is no UTF-8; a request is a JSON object in one line");
            return Some(Err(malformed(number, &message)));
        }
    };
    (!text.is_empty()).then(|| object(text, number))
}

/// Returns the response to a line that is no request.
pub(super) fn malformed(number: u64, message: &str) -> Box<Response> {
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
            &format!("this is no JSON: {}", without_line(&error)),
        )
    })?;
    let mut head = Head {
        number,
        id: None,
        command: None,
    };
    let id = members.get("id").map(|id| id.get());
    head.id = match id {
        None | Some("null") => None,
        Some(id) if is_id(id) => RawValue::from_string(id.to_owned()).ok(),
        Some(_) => {
            let error = RpcError::invalid(
                "id",
                "an id is a string or a number; leave it out or give one",
            );
            return Err(head.failed(error));
        }
    };
    if let Some(name) = twice {
        // Which of two ids is meant is not known.
        head.id = head.id.filter(|_| name != "id");
        let error = RpcError::invalid(&clipped(&name), "it is there twice; give it once");
        return Err(head.failed(error));
    }
    let Some(command) = members.get("type") else {
        let error = RpcError::invalid("type", "it is missing; name the command, such as get_state");
        return Err(head.failed(error));
    };
    let Ok(command) = serde_json::from_str::<String>(command.get()) else {
        let error = RpcError::invalid("type", "it must be a string: the name of a command");
        return Err(head.failed(error));
    };
    head.command = Some(clipped(&command));
    match request(&command, &members) {
        Ok(request) => Ok(Asked {
            id: head.id,
            command,
            request,
        }),
        Err(error) => Err(head.failed(error)),
    }
}

/// Returns whether a JSON value can be the id of a request.
fn is_id(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(text).is_ok(),
        Some(first) => *first == b'-' || first.is_ascii_digit(),
        None => false,
    }
}

/// What is known of a request while it is read.
struct Head {
    number: u64,
    id: Option<Id>,
    command: Option<String>,
}

impl Head {
    fn failed(self, mut error: RpcError) -> Box<Response> {
        if self.id.is_none() {
            error.message = format!("line {}: {}", self.number, error.message);
        }
        Box::new(Response::failed(self.id, self.command, error))
    }
}

fn request(command: &str, members: &BTreeMap<String, &RawValue>) -> Result<Request, RpcError> {
    let known = commands().get(command).ok_or_else(|| {
        let names: Vec<&str> = commands().keys().map(String::as_str).collect();
        let shown = clipped(command);
        let names = names.join(", ");
        let message = format!("there is no command {shown}; there are {names}");
        RpcError::invalid("type", message)
    })?;
    let mut fields = Map::new();
    for (name, value) in members {
        if name == "type" || name == "id" {
            continue;
        }
        if !known.all.contains(name) {
            let what = match known.all.as_slice() {
                [] => format!("{command} has no members besides type and id"),
                all => format!("{command} has no such member; it has {}", all.join(", ")),
            };
            return Err(RpcError::invalid(&clipped(name), what));
        }
        let value = serde_json::from_str(value.get())
            .map_err(|error| RpcError::invalid(name, without_line(&error)))?;
        fields.insert(name.clone(), value);
    }
    if let Some(missing) = known.needed.iter().find(|name| !fields.contains_key(*name)) {
        return Err(RpcError::invalid(missing, format!("{command} needs it")));
    }
    let tagged = Value::Object(Map::from_iter([(
        command.to_owned(),
        Value::Object(fields),
    )]));
    let request: Request = serde_path_to_error::deserialize(tagged).map_err(|error| {
        let path = error.path().to_string();
        let field = path.split_once('.').map_or("type", |(_, field)| field);
        let member = field.split('.').next().unwrap_or(field);
        match known.words.get(member) {
            Some(words) => {
                RpcError::invalid(member, format!("it must be one of {}", words.join(", ")))
            }
            None => RpcError::invalid(field, error.inner().to_string()),
        }
    })?;
    check(request)
}

/// Refuses what has the right form and no use.
fn check(request: Request) -> Result<Request, RpcError> {
    let text = match &request {
        Request::Prompt { text } | Request::Steer { text } | Request::FollowUp { text } => text,
        Request::TakeBack { .. }
        | Request::Resume {}
        | Request::Abort {}
        | Request::Compact { .. }
        | Request::AbortCompaction {}
        | Request::SetAutoCompaction { .. }
        | Request::SetModel { .. }
        | Request::GetState {}
        | Request::GetContext {}
        | Request::GetPlan { .. }
        | Request::GetTree {}
        | Request::NavigateTree { .. }
        | Request::Fork { .. }
        | Request::Undo {}
        | Request::Pin { .. }
        | Request::Unpin { .. }
        | Request::Pins {}
        | Request::Redo {
            strategy: Some(_), ..
        }
        | Request::Approve { .. }
        | Request::Handoff { .. }
        | Request::Label { .. }
        | Request::Close {} => return Ok(request),
        Request::Redo {
            strategy: None,
            focus,
            leave_later,
        } => {
            // Without a strategy nothing is written that could have a focus, and nothing is left.
            let of_no_use = match (focus, leave_later) {
                (Some(_), _) => Some("focus"),
                (None, true) => Some("leave_later"),
                (None, false) => None,
            };
            return match of_no_use {
                Some(member) => Err(RpcError::invalid(member, "it goes with a strategy")),
                None => Ok(request),
            };
        }
        Request::Subscribe { events } => {
            let known = agent_session::event::names();
            let is_unknown = |name: &&String| *name != "all" && !known.contains(name);
            return match events.iter().find(is_unknown) {
                Some(unknown) => {
                    let message =
                        format!("there is no event {unknown}; docs/reference/events.md lists them");
                    Err(RpcError::invalid("events", message))
                }
                None => Ok(request),
            };
        }
    };
    match text.trim().is_empty() {
        true => Err(RpcError::invalid("text", "it is empty; say something")),
        false => Ok(request),
    }
}

/// Returns the beginning of a name that a program made up.
fn clipped(name: &str) -> String {
    name.chars().take(100).collect()
}

/// Returns an error of JSON in a text of one line.
fn without_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}
