//! Classifies the failed response of a service.
//!
//! Services agree on little: one reports an overflow with a code, another with a sentence, a third with status 200. The
//! body is parsed leniently, in any form, and then the most certain sign decides, in this order: one request above the
//! limit of a minute; the account cannot pay; a rate limit; a code for an overflow; thinking, images and other limits
//! that read like an overflow; sentences for an overflow; credentials; bytes; time; a failure of the service; a failure
//! of the request.
//!
//! So a rate limit is an overflow only if waiting never helps, although it asks for a shorter prompt, and status 413 is
//! one only if the text mentions tokens. A server's own failure (500, 502 and the like) is
//! [`ProviderErrorKind::Overloaded`], because the caller has to do the same: try again later.
//!
//! `tests/data/errors.json` has the real bodies that the rules come from.

mod body;
mod headers;
mod page;
mod pattern;
mod rules;

use std::time::Duration;

use crate::error::ProviderErrorKind;
use body::ErrorBody;
pub(crate) use headers::until;
pub use headers::{request_id, retry_after, should_retry};
use rules::{List, any, labelled};

/// The classification of a failed response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    /// The kind.
    pub kind: ProviderErrorKind,
    /// The service's message, on one line, without markup and keys, at most 2000 characters.
    pub message: String,
    /// The service's own code, in lower case, if it has one.
    pub code: Option<String>,
    /// The delay that the text asks for, at most one hour: `Please try again in 6.3s`. A header with a delay is better;
    /// see [`retry_after`].
    pub retry_after: Option<Duration>,
    /// The end of a rate limit, in milliseconds since 1970, if the body contains it.
    pub reset_at: Option<u64>,
    /// The most input tokens a minute that the text of a rate limit names.
    pub token_limit: Option<u64>,
}

/// Returns the kind of failure of a `status` and `body`. `status` is `None` for an error inside a stream. The body may
/// be JSON in any provider's form, an HTML page, plain text or empty.
///
/// An unknown error inside a stream, or with a success status, is [`ProviderErrorKind::Overloaded`], because the
/// request had been accepted; a body that does not have the form of an error is [`ProviderErrorKind::Malformed`].
///
/// ```
/// use llm_providers::{ProviderErrorKind, classify};
///
/// let body = r#"{"error":{"message":"prompt is too long: 200251 tokens > 200000 maximum"}}"#;
/// assert_eq!(classify(Some(400), body).kind, ProviderErrorKind::ContextOverflow);
/// ```
pub fn classify(status: Option<u16>, body: &str) -> Classified {
    let parsed = ErrorBody::read(body);
    let texts: Vec<String> = parsed
        .texts
        .iter()
        .map(|text| pattern::normalized(text))
        .collect();
    let text = texts.join(" | ");
    let kind = decide(status, &parsed, &text);
    let message = match parsed.message() {
        message if !message.is_empty() => message,
        _ => without_words(&parsed),
    };
    let retry_after = match kind {
        ProviderErrorKind::RateLimited | ProviderErrorKind::Overloaded => {
            let delay = parsed.retry_delay.as_deref();
            delay
                .and_then(headers::delay)
                .or_else(|| headers::hint(&text))
        }
        _ => None,
    };
    let mut limits = rules::INPUT_RATE.iter();
    let token_limit = limits.find_map(|(before, after)| {
        let (limit, rest) = amounts(&text, before).next()?;
        rest.starts_with(after).then_some(limit)
    });
    Classified {
        kind,
        message,
        code: parsed.code,
        retry_after,
        reset_at: parsed
            .reset_at
            .filter(|_| kind == ProviderErrorKind::RateLimited),
        token_limit: token_limit.filter(|_| kind == ProviderErrorKind::RateLimited),
    }
}

/// Returns a message for a body that has none.
fn without_words(parsed: &ErrorBody) -> String {
    let mut labels = parsed.labels.iter();
    let telling = labels.find(|label| *label != "error" && label.parse::<u16>().is_err());
    telling.map_or_else(
        || "the service gives no reason".to_owned(),
        |label| page::plain(label),
    )
}

fn decide(status: Option<u16>, parsed: &ErrorBody, text: &str) -> ProviderErrorKind {
    use ProviderErrorKind as Kind;

    let failed = status.filter(|status| *status >= 400);
    if failed.is_none() && parsed.is_page {
        // A captive portal, or a base URL that leads to a website.
        return Kind::Malformed;
    }
    let status_says = failed.or(parsed.status);
    let labelled = |kind: Kind| labelled(&parsed.labels, kind);

    if any(text, List::NeverFits) || exceeds_rate(text) {
        return Kind::ContextOverflow;
    }
    if status_says == Some(402) || labelled(Kind::Quota) || any(text, List::Quota) {
        let comes_back = parsed
            .labels
            .iter()
            .any(|label| label == "resource_exhausted")
            && any(text, List::ComesBack)
            && !text.contains(rules::NEVER);
        return if comes_back {
            Kind::RateLimited
        } else {
            Kind::Quota
        };
    }
    if status_says == Some(429) || labelled(Kind::RateLimited) {
        return Kind::RateLimited;
    }
    if labelled(Kind::ContextOverflow) {
        return Kind::ContextOverflow;
    }
    if any(text, List::Rate) {
        return Kind::RateLimited;
    }
    let rejected = [Kind::ThinkingRejected, Kind::ImageRejected];
    if let Some(kind) = rejected.into_iter().find(|kind| labelled(*kind)) {
        return kind;
    }
    if let Some(kind) = rules::lookalike(text) {
        return kind;
    }
    if any(text, List::Overflow) {
        return Kind::ContextOverflow;
    }
    if let Some(kind) = access(status_says, parsed, text) {
        return kind;
    }
    if matches!(status_says, Some(413))
        || labelled(Kind::PayloadTooLarge)
        || any(text, List::TooLarge)
    {
        return Kind::PayloadTooLarge;
    }
    if let Some(kind) = server(status_says, parsed, text) {
        return kind;
    }
    if status_says.is_some() || labelled(Kind::InvalidRequest) {
        return Kind::InvalidRequest;
    }
    match status {
        // Nothing follows redirections of a POST: the base URL is wrong.
        Some(300..400) => Kind::InvalidRequest,
        Some(_) | None if parsed.is_error => Kind::Overloaded,
        Some(_) | None => Kind::Malformed,
    }
}

/// Returns true if one request alone is above a rate limit: `Limit 30000, Requested 61234`.
fn exceeds_rate(text: &str) -> bool {
    let first = |word| amounts(text, word).next();
    let (limit, requested) = (first("limit"), first("requested"));
    limit
        .zip(requested)
        .is_some_and(|((limit, _), (requested, _))| 0 < limit && limit < requested)
        && any(text, List::Rate)
}

/// Returns the numbers directly after a word, each with the text that follows it.
fn amounts<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = (u64, &'t str)> {
    text.match_indices(word).filter_map(|(at, found)| {
        let rest = text[at + found.len()..].trim_start_matches([' ', ':', '=', '~']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ',');
        let (number, rest) = rest.split_at(end.unwrap_or(rest.len()));
        Some((number.replace(',', "").parse().ok()?, rest))
    })
}

/// Returns what failed of the credentials.
fn access(status: Option<u16>, parsed: &ErrorBody, text: &str) -> Option<ProviderErrorKind> {
    let is_auth = match status {
        Some(401) => true,
        Some(403) if any(text, List::Forbidden) => return Some(ProviderErrorKind::InvalidRequest),
        Some(403) => true,
        Some(404 | 422) => false,
        Some(_) | None => {
            labelled(&parsed.labels, ProviderErrorKind::Auth) || any(text, List::Auth)
        }
    };
    is_auth.then_some(ProviderErrorKind::Auth)
}

/// Returns the failure of the service itself. A request that is refused with 4xx did not run, so only the statuses that
/// say so are a failure of the service: a 400 may well name a field `timeout`.
fn server(status: Option<u16>, parsed: &ErrorBody, text: &str) -> Option<ProviderErrorKind> {
    use ProviderErrorKind as Kind;

    match status {
        // nginx: the client closed the connection.
        Some(499) => return Some(Kind::Interrupted),
        // 522 and 524 are Cloudflare's.
        Some(408 | 504 | 522 | 524) => return Some(Kind::Timeout),
        // A conflict with another request, and too early: both pass.
        Some(409 | 425) => return Some(Kind::Overloaded),
        Some(400..500) => return None,
        Some(_) | None => {}
    }
    if any(text, List::Interrupted) {
        return Some(Kind::Interrupted);
    }
    if labelled(&parsed.labels, Kind::Timeout) || any(text, List::Timeout) {
        return Some(Kind::Timeout);
    }
    let is_theirs = matches!(status, Some(500..))
        || labelled(&parsed.labels, Kind::Overloaded)
        || any(text, List::Overloaded);
    is_theirs.then_some(Kind::Overloaded)
}
