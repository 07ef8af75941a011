//! What the server and the network report, in the words of stores.

use std::error::Error as _;

use session_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::address::Address;

/// What a statement does, which decides what a lost answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It may be repeated: it reads, or it changes nothing the second time.
    Repeatable,
    /// It must not be repeated.
    Write,
}

/// Returns the error of a statement or of a connection.
pub(crate) fn failed(address: &Address, purpose: Purpose, error: &Error) -> StoreError {
    let path = address.shown();
    match error.as_db_error() {
        // The server has answered, so nothing of the statement was kept.
        Some(answer) => StoreError::Unavailable {
            path,
            reason: explained(answer.code(), answer.message(), address),
        },
        None => lost(address, purpose, &described(error)),
    }
}

/// Returns the error where there is no answer.
pub(crate) fn lost(address: &Address, purpose: Purpose, reason: &str) -> StoreError {
    let path = address.shown();
    let reason = reason.to_owned();
    match purpose {
        Purpose::Repeatable => StoreError::Unavailable { path, reason },
        Purpose::Write => StoreError::Unknown { path, reason },
    }
}

/// Returns the error of a connection that was not made.
pub(crate) fn unconnected(address: &Address, error: &Error) -> StoreError {
    let reason = match error.as_db_error() {
        Some(answer) => explained(answer.code(), answer.message(), address),
        None => format!("the server cannot be reached: {}", described(error)),
    };
    let path = address.shown();
    StoreError::Unavailable { path, reason }
}

/// Returns the text of an error with those of its causes that it leaves out.
fn described(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        let more = found.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = found.source();
    }
    text
}

fn explained(code: &SqlState, message: &str, address: &Address) -> String {
    let advice = match *code {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "check the user in the address, and PGPASSWORD"
        }
        SqlState::INVALID_CATALOG_NAME => "make it with createdb, or name another",
        SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY => "make room on the server",
        SqlState::READ_ONLY_SQL_TRANSACTION => {
            "the server takes no writes; name the address of the primary"
        }
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "this user may not do it; ask for the right, or read only"
        }
        SqlState::TOO_MANY_CONNECTIONS => "raise max_connections, or use a pooler",
        SqlState::QUERY_CANCELED => {
            let seconds = address.timeout.as_secs();
            return format!(
                "{message}; it took longer than {seconds} seconds; raise timeout=SECONDS in the address"
            );
        }
        SqlState::UNDEFINED_TABLE => "a user that may create tables has to open it first",
        SqlState::PROGRAM_LIMIT_EXCEEDED => "the server takes no more than 1 GB at a time",
        _ => "try again later",
    };
    format!("{message}; nothing was written; {advice}")
}
