//! The one error type of providers.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use serde::Deserialize;
use session_model::Usage;

use crate::answer::Answer;

/// The kind of a failure; it decides retries and fallbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderErrorKind {
    /// The request exceeds the model's window.
    ContextOverflow,
    /// Too many requests; may come with a time to wait.
    RateLimited,
    /// The service is overloaded.
    Overloaded,
    /// The account has no quota left.
    Quota,
    /// The credentials are missing or refused.
    Auth,
    /// The request has too many bytes.
    PayloadTooLarge,
    /// An image of the request is too large, damaged, one too many, or not taken at all.
    ImageRejected,
    /// Thinking of an earlier answer is not taken back.
    ThinkingRejected,
    /// The request is wrong in another way.
    InvalidRequest,
    /// No answer in time.
    Timeout,
    /// No connection: the name is unknown, no server listens, or the certificate is refused.
    Unreachable,
    /// The connection broke, or the stream ended without its closing event.
    Interrupted,
    /// The caller cancelled.
    Cancelled,
    /// The answer cannot be understood.
    Malformed,
}

impl ProviderErrorKind {
    /// Returns true when a service may answer so because it does not take its own earlier history back.
    pub const fn may_refuse_history(self) -> bool {
        matches!(self, Self::InvalidRequest | Self::ThinkingRejected)
    }

    /// Returns true when the same request may succeed later on the same model.
    pub const fn is_transient(self) -> bool {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::Timeout
            | Self::Unreachable
            | Self::Interrupted => true,
            Self::ContextOverflow
            | Self::Quota
            | Self::Auth
            | Self::PayloadTooLarge
            | Self::ImageRejected
            | Self::ThinkingRejected
            | Self::InvalidRequest
            | Self::Cancelled
            | Self::Malformed => false,
        }
    }

    /// Returns true when the service may bill a request that failed in this way, although it reported no usage: it may
    /// have been working on the answer.
    pub const fn may_be_billed(self) -> bool {
        match self {
            Self::Timeout | Self::Interrupted | Self::Cancelled | Self::Malformed => true,
            Self::ContextOverflow
            | Self::RateLimited
            | Self::Overloaded
            | Self::Quota
            | Self::Auth
            | Self::PayloadTooLarge
            | Self::ImageRejected
            | Self::ThinkingRejected
            | Self::InvalidRequest
            | Self::Unreachable => false,
        }
    }

    /// Returns the name that JSON output and recordings use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContextOverflow => "context_overflow",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::PayloadTooLarge => "payload_too_large",
            Self::ImageRejected => "image_rejected",
            Self::ThinkingRejected => "thinking_rejected",
            Self::InvalidRequest => "invalid_request",
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Malformed => "malformed",
        }
    }
}

/// A failed request. It never holds a credential.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderError {
    /// The kind of failure.
    pub kind: ProviderErrorKind,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// The service's id of the request.
    pub request_id: Option<Box<str>>,
    /// The delay that the service asks for.
    pub retry_after: Option<Duration>,
    /// Says if the same request may be sent again, if the service says so.
    pub should_retry: Option<bool>,
    /// The limit of input tokens a minute, if the service names it when it refuses a request for its rate.
    pub token_limit: Option<NonZeroU64>,
    /// The message of the service, cut to a bounded excerpt.
    pub message: Box<str>,
    /// The answer that was billed although it failed: one without a stop reason, or one without content.
    pub answer: Option<Box<Answer>>,
    /// True if there was no connection, and the service has never answered in this process: its address may be wrong.
    pub first_contact: bool,
}

/// The longest excerpt of a body that an error keeps, in characters.
const EXCERPT: usize = 500;

impl ProviderError {
    /// Returns an error of `kind` with `message`, cut to a bounded excerpt.
    pub fn new(kind: ProviderErrorKind, message: &str) -> Self {
        let mut excerpt: String = message.chars().take(EXCERPT).collect();
        if excerpt.len() < message.len() {
            excerpt.push_str("...");
        }
        Self {
            kind,
            provider: String::new(),
            model: String::new(),
            status: None,
            request_id: None,
            retry_after: None,
            should_retry: None,
            token_limit: None,
            message: excerpt.into(),
            answer: None,
            first_contact: false,
        }
    }

    /// Returns the error of an answer that broke off.
    pub(crate) fn ended_early() -> Self {
        let text = "the answer ended without its closing event";
        Self::new(ProviderErrorKind::Interrupted, text)
    }

    /// Returns the billed usage of the failed request: the reported one, an incomplete usage if the service may bill
    /// without a report, and nothing otherwise.
    pub fn billed(&self) -> Option<Usage> {
        let unknown = || Usage {
            incomplete: true,
            ..Usage::default()
        };
        let known = self.answer.as_ref().map(|answer| answer.usage);
        known.or_else(|| self.kind.may_be_billed().then(unknown))
    }

    /// Returns the error as one of `provider` and `model`.
    #[must_use]
    pub fn of(self, provider: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            ..self
        }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.provider.is_empty() {
            write!(f, "{}/{}: ", self.provider, self.model)?;
        }
        f.write_str(&self.message)?;
        if let Some(status) = self.status {
            write!(f, " (status {status})")?;
        }
        if let Some(id) = &self.request_id {
            write!(f, " (request {id})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ProviderError {}

#[cfg(test)]
mod tests {
    use super::{ProviderError, ProviderErrorKind};

    #[test]
    fn a_long_body_becomes_a_bounded_excerpt() {
        let body = "é".repeat(1_000_000);
        let error = ProviderError::new(ProviderErrorKind::Malformed, &body);
        assert_eq!(error.message.chars().count(), 503);
    }
}
