//! Requests to language models in, streamed answers out, one error type.
//!
//! A [`Provider`] takes a [`Request`] and gives a stream of [`Event`]s that ends
//! with [`Event::Done`], or a [`ProviderError`]. Which provider it is may be
//! chosen at run time: [`HttpProvider`] speaks OpenAI Responses, Chat Completions,
//! Anthropic Messages and Gemini ([`ApiProtocol`]), [`RemoteEndpoint`] asks a service for
//! summaries, and [`Scripted`] answers from a list of turns or from a file ([`Script`]).
//! [`complete`] sees one request to its end under a [`RetryPolicy`].
//!
//! ```
//! use llm_providers::{CancellationToken, Progress, Request, RetryPolicy, Scripted, ScriptedTurn, complete};
//!
//! # futures_executor::block_on(async {
//! let provider = Scripted::new(vec![ScriptedTurn::Text("a summary".to_owned())]);
//! let request = Request::for_prompt("be brief", "summarize this");
//! let mut pieces = 0;
//! let mut progress = |progress: Progress<'_>| pieces += usize::from(matches!(progress, Progress::Event(_)));
//! let cancel = CancellationToken::new();
//! let answer = complete(&provider, &request, &RetryPolicy::NEVER, &cancel, &mut progress).await?;
//! assert_eq!(answer.text(), "a summary");
//! assert_eq!(pieces, 2); // the text, and the end
//! # Ok::<(), llm_providers::ProviderError>(())
//! # }).unwrap();
//! ```
//!
//! A model behind HTTP comes from the [`catalog`]:
//!
//! ```no_run
//! use llm_providers::catalog::{Catalog, Selection};
//! use llm_providers::{HttpClient, HttpProvider, HttpSettings, Secret};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let selection = Selection { model: "openai/gpt-5.4".to_owned(), ..Selection::default() };
//! let resolved = Catalog::embedded().resolve(&selection)?;
//! let key = std::env::var("OPENAI_API_KEY").ok().as_deref().and_then(Secret::new);
//! let http = HttpClient::new(HttpSettings::default())?;
//! let provider = HttpProvider::new(http, resolved.provider, resolved.model, key);
//! # let _ = provider; Ok(())
//! # }
//! ```
//!
//! **Invariants.** A key goes into a request's header alone: it is taken out of
//! errors and records, and a debug print never shows it. Every body that is read is bounded in size and
//! time. Every wait ends within a moment after the token is cancelled. The encoders
//! never send a tool result without its call.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod capabilities;
pub mod catalog;
mod classify;
mod complete;
mod context;
mod error;
mod http_provider;
mod loopback;
mod native;
mod native_history;
mod provider;
mod remote;
mod request;
mod retry;
mod scripted;
mod secret;
mod size;
mod transport;
mod wire;

pub use answer::{Answer, Event};
pub use capabilities::Capabilities;
pub use classify::{Classified, classify, request_id, retry_after};
pub use complete::{Progress, compact_native, complete};
pub use error::{ProviderError, ProviderErrorKind};
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
pub use scripted::{
    Script, ScriptAction, ScriptAnswer, ScriptDelivery, ScriptError, ScriptFailure, ScriptHeader,
    ScriptLine, ScriptPlay, ScriptStep, ScriptSummary, ScriptUsage, Scripted, ScriptedTurn,
};
pub use secret::{PieceRedactor, Redactor, Secret};
pub use tokio_util::sync::CancellationToken;
pub use transport::{HttpClient, HttpSettings, Recorder};
pub use wire::{
    ApiProtocol, CacheControlModels, CacheTtl, MaxTokensField, Platform, ProviderCompat,
    ReasoningField, decode_stream,
};
