//! From what a service says to what kind of failure it is.

use crate::error::ProviderErrorKind;

/// What was understood of a failed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// The kind.
    pub kind: ProviderErrorKind,
    /// What the service says, without markup; not bounded yet.
    pub message: String,
}

/// Returns what kind of failure `status` and `body` tell of. `status` is `None` for an error inside a stream.
/// The body may be JSON in any provider's form, a page, plain text or empty.
pub fn classify(status: Option<u16>, body: &str) -> Classified {
    let _ = status;
    Classified {
        kind: ProviderErrorKind::InvalidRequest,
        message: body.to_owned(),
    }
}

/// stub
pub(crate) fn request_id(headers: &http::HeaderMap) -> Option<String> {
    let _ = headers;
    None
}

/// stub
pub(crate) fn retry_after(
    status: u16,
    headers: &http::HeaderMap,
    now: u64,
) -> Option<std::time::Duration> {
    let _ = (status, headers, now);
    None
}
