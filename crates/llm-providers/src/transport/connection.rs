//! Connections that fail: what the transport's errors mean, and which services have answered in this process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use reqwest::Url;

use crate::error::{ProviderError, ProviderErrorKind};
use crate::transport::Call;

/// The origins that have answered, with success or an error.
static REACHED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Returns scheme, host and port, which hold no key.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Keeps in mind that the service at `url` has answered.
pub(super) fn set_reached(url: &Url) {
    let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
    reached.insert(origin(url));
}

fn was_reached(url: &Url) -> bool {
    let reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
    reached.contains(&origin(url))
}

impl Call {
    /// Converts the transport's error. Of addresses only the origin is named: the rest may hold a key.
    pub fn transport_error(&self, error: reqwest::Error) -> ProviderError {
        let url = error.url().cloned();
        let error = error.without_url();
        let kind = if error.is_timeout() && !error.is_connect() {
            ProviderErrorKind::Timeout
        } else if error.is_connect() {
            ProviderErrorKind::Unreachable
        } else if error.is_builder() {
            ProviderErrorKind::InvalidRequest
        } else if is_garbage(&error) {
            ProviderErrorKind::Malformed
        } else {
            ProviderErrorKind::Interrupted
        };
        let what = match (kind, &url) {
            (ProviderErrorKind::Unreachable, Some(url)) => {
                format!("cannot connect to {}", origin(url))
            }
            (ProviderErrorKind::Unreachable, None) => "cannot connect".to_owned(),
            (ProviderErrorKind::Timeout, _) => "no answer in time".to_owned(),
            (ProviderErrorKind::InvalidRequest, _) => "the request cannot be built".to_owned(),
            (ProviderErrorKind::Malformed, _) => "the answer cannot be decoded".to_owned(),
            _ => "the connection broke".to_owned(),
        };
        let is_unreachable = kind == ProviderErrorKind::Unreachable;
        ProviderError {
            first_contact: is_unreachable && !url.is_some_and(|url| was_reached(&url)),
            ..self.error(kind, &format!("{what}: {}", causes(&error)))
        }
    }
}

/// Returns true for bytes that cannot be decoded. The HTTP client reports a connection that broke off in the middle of
/// a body as a decoding error as well; the cause of the error distinguishes the two.
fn is_garbage(error: &reqwest::Error) -> bool {
    use std::error::Error as _;
    use std::io::ErrorKind;
    let reasons = std::iter::successors(error.source(), |error| (*error).source());
    let mut kinds = reasons.filter_map(|error| error.downcast_ref().map(std::io::Error::kind));
    error.is_decode()
        && kinds.any(|kind| matches!(kind, ErrorKind::InvalidData | ErrorKind::InvalidInput))
}

pub(super) fn cannot_set_up(error: reqwest::Error) -> ProviderError {
    let text = format!("cannot set up HTTP: {}", causes(&error.without_url()));
    ProviderError::new(ProviderErrorKind::InvalidRequest, &text)
}

/// Returns the innermost causes of an error, which are the most specific.
fn causes(error: &dyn std::error::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    let kept = texts.len().min(2);
    let mut texts = texts.split_off(texts.len() - kept);
    texts.dedup();
    texts.join(": ")
}
