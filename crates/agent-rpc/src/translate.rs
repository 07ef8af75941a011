//! Translates requests to calls of a session, and its answers to data.

use session_model::EntryId;

use crate::protocol::{Data, ErrorKind, Request, RpcError};
use crate::{Document, Host};
use compaction_core::PinTarget;
use compaction_core::undoable::{Later, Whose};
use session_protocol::Navigation;
use session_protocol::{Ask, Command, CompactionChoices, CompactionRequest, Reply};
use session_store::Delivery;

/// The result of translating an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The data of the response, as it is.
    AsIs,
    /// A document about the session.
    Document(Document),
}

/// The result of translating a request.
pub(crate) enum Asking {
    /// A call of the session, and the translation of its answer.
    Session(Ask, Answered),
    /// Only these events, or `all`, are sent from now on.
    Events(Vec<String>),
}

/// Returns the call for a request.
///
/// # Errors
/// The member that has the right form and no use.
pub(crate) fn call(request: Request, host: &dyn Host) -> Result<Asking, RpcError> {
    let say = |text: String, delivery| match text.trim().is_empty() {
        true => Err(RpcError::invalid("text", "it is empty; say something")),
        false => Ok(Command::Prompt {
            prompt: text.into(),
            delivery,
        }),
    };
    let command = match request {
        Request::Prompt { text } => say(text, Delivery::Prompt)?,
        Request::Steer { text } => say(text, Delivery::Steer)?,
        Request::FollowUp { text } => say(text, Delivery::FollowUp)?,
        Request::TakeBack { message_id } => Command::Dequeue {
            id: EntryId::new(&message_id),
        },
        Request::Resume {} => Command::Resume,
        Request::Abort {} => Command::Abort,
        Request::Compact {
            focus,
            strategy,
            pin,
            drop,
            review,
        } => {
            let ids = |ids: Vec<String>| ids.iter().map(|id| EntryId::new(id)).collect();
            let choices = CompactionChoices {
                pin: ids(pin),
                drop: ids(drop),
            };
            Command::Compact(CompactionRequest {
                focus,
                strategy,
                choices,
                review,
            })
        }
        Request::ReviewCompaction { summary } => Command::Review { summary },
        Request::AbortCompaction {} => Command::AbortCompaction,
        Request::SetAutoCompaction { enabled } => Command::SetAutomatic(enabled),
        Request::SetModel { model } => {
            let models = host.models(&model);
            let models = models.map_err(|error| RpcError::invalid("model", error))?;
            Command::SetModel(Box::new(models))
        }
        Request::GetState {} => return Ok(Asking::Session(Ask::State, Answered::AsIs)),
        Request::GetContext {} => return Ok(asking(Document::Context)),
        Request::GetPlan { focus } => return Ok(asking(Document::Plan { focus })),
        Request::GetTree {} => return Ok(asking(Document::Tree)),
        Request::NavigateTree {
            entry_id,
            summarize,
            focus,
            label,
        } => Command::Navigate(Navigation {
            target: entry_id.as_deref().map(EntryId::new),
            summarize,
            focus,
            label,
        }),
        Request::Fork { entry_id } => Command::Fork {
            entry: entry_id.as_deref().map(EntryId::new),
        },
        Request::Undo { any } => Command::Undo(if any { Whose::Any } else { Whose::Ours }),
        Request::Redo {
            strategy: None,
            focus,
            leave_later,
        } => {
            let unused = match leave_later {
                true => Some("leave_later"),
                false => focus.map(|_| "focus"),
            };
            if let Some(member) = unused {
                return Err(RpcError::invalid(member, "it goes with a strategy"));
            }
            Command::Redo
        }
        Request::Redo {
            strategy: Some(strategy),
            focus,
            leave_later,
        } => Command::CompactInstead {
            strategy,
            focus,
            later: match leave_later {
                true => Later::IsLeft,
                false => Later::Stays,
            },
        },
        Request::Pin { entry_id, text } => Command::Pin(match (entry_id, text) {
            (Some(id), None) => PinTarget::Entry(EntryId::new(&id)),
            (None, Some(text)) => PinTarget::Text(text),
            (Some(_), Some(_)) => {
                let message = "an entry_id and a text are two pins; pin one at a time";
                return Err(RpcError::invalid("text", message));
            }
            (None, None) => {
                let message = "name an entry, or give a text";
                return Err(RpcError::invalid("entry_id", message));
            }
        }),
        Request::Unpin { entry_id } => Command::Unpin {
            id: EntryId::new(&entry_id),
        },
        Request::Pins {} => return Ok(Asking::Session(Ask::Pins, Answered::AsIs)),
        Request::Approve { call_id, decision } => Command::Approve {
            call_id,
            decision: decision.into(),
        },
        Request::Subscribe { events } => return Ok(Asking::Events(known_events(events)?)),
        Request::Handoff { focus } => Command::Handoff { focus },
        Request::Label { entry_id, label } => Command::LabelEntry {
            id: EntryId::new(&entry_id),
            text: label,
        },
        Request::Close {} => Command::Close,
    };
    Ok(Asking::Session(Ask::Do(command), Answered::AsIs))
}

fn asking(document: Document) -> Asking {
    Asking::Session(Ask::Snapshot, Answered::Document(document))
}

fn known_events(events: Vec<String>) -> Result<Vec<String>, RpcError> {
    let known = session_protocol::event::names();
    let is_unknown = |name: &&String| *name != "all" && !known.contains(name);
    match events.iter().find(is_unknown) {
        None => Ok(events),
        Some(unknown) => Err(RpcError::invalid(
            "events",
            format!("there is no event {unknown}; docs/reference/events.md lists them"),
        )),
    }
}

/// Returns the data of a response.
pub(crate) async fn data(
    answered: Answered,
    reply: Reply,
    host: &dyn Host,
) -> Result<Data, RpcError> {
    match (answered, reply) {
        (Answered::Document(wanted), Reply::Snapshot(session)) => {
            let document = host.document(wanted, &session).await;
            document.map(Data::Document).map_err(|message| RpcError {
                kind: ErrorKind::Refused,
                field: None,
                message,
            })
        }
        (_, reply) => Ok(Data::Reply(reply)),
    }
}
