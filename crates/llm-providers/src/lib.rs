//! Requests to language models in, streamed answers out, one error type.
//!
//! A [`Provider`] takes a [`Request`] and gives a stream of [`Event`]s that ends with [`Event::Done`], or a
//! [`ProviderError`]. [`HttpProvider`] asks a model ([`ModelInfo`]) at an address ([`ProviderInfo`]) over one of the
//! protocols of [`ApiProtocol`]; [`RemoteEndpoint`] asks a service for summaries. [`complete`] sees one request to its
//! end under a [`RetryPolicy`].
//!
//! ```no_run
//! use llm_providers::{
//!     CancellationToken, HttpClient, HttpProvider, HttpSettings, ModelInfo, ProviderInfo, Request, RetryPolicy, complete,
//! };
//!
//! # async fn ask() -> Result<(), llm_providers::ProviderError> {
//! let mut local = ProviderInfo::unlisted("local");
//! local.base_url = "http://127.0.0.1:8080/v1".to_owned();
//! let http = HttpClient::new(HttpSettings::default())?;
//! let provider = HttpProvider::new(http, local, ModelInfo::unlisted("local", "qwen3"), None);
//! let request = Request::for_prompt("be brief", "summarize this");
//! let cancel = CancellationToken::new();
//! let answer = complete(&provider, &request, &RetryPolicy::default(), &cancel, &mut |_| {}).await?;
//! println!("{}", answer.text());
//! # Ok(())
//! # }
//! ```
//!
//! Providers and models by name are in the crate `llm-catalog`, one that needs no network in `llm-script`.
//!
//! **Invariants.** A key is sent only in a request's header: it is removed from errors and records, and a debug print
//! never shows it. Every body that is read is bounded in size and time. Every wait ends immediately after the token is
//! cancelled. The encoders never send a tool result without its call.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod capabilities;
mod classify;
mod complete;
mod context;
mod endpoint;
mod error;
mod extra_body;
mod headers;
mod http_provider;
mod loopback;
mod native;
mod native_history;
mod provider;
mod remote;
mod request;
mod retry;
mod secret;
mod size;
mod transport;
mod wire;

pub use answer::{Answer, Event};
pub use capabilities::{Capabilities, Levels};
pub use classify::{Classified, classify, request_id, retry_after};
pub use complete::{Progress, compact_native, complete};
pub use endpoint::{FactOrigin, KeyHeader, ModelInfo, PriceTier, ProviderInfo};
pub use error::{ProviderError, ProviderErrorKind};
pub use extra_body::ExtraBody;
pub use headers::Headers;
pub use http_provider::HttpProvider;
#[cfg(feature = "bedrock")]
pub use http_provider::bedrock::{AwsAccess, AwsCredentials};
#[cfg(feature = "vertex")]
pub use http_provider::vertex::GoogleAccess;
pub use native::{NativeAnswer, NativeForm, NativeRequest, Trimmed, trim};
pub use native_history::{NativeHistory, is_replayed_on};
pub use provider::{BoxFuture, EventStream, Provider};
pub use remote::{EndpointError, RemoteEndpoint};
pub use request::{Reasoning, Request, Tool, ToolChoice};
pub use retry::{RetryPolicy, RetryStop};
pub use secret::{PieceRedactor, Redactor, Secret, plain_address};
pub use size::{answer_tokens, request_tokens};
pub use tokio_util::sync::CancellationToken;
pub use transport::{HttpClient, HttpSettings, Recorder};
pub use wire::{
    ApiProtocol, CacheControlModels, CacheTtl, CompatOverride, MaxTokensField, Platform,
    ProviderCompat, ReasoningField, decode_stream,
};
