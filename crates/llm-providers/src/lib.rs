//! Requests to language models in, streamed answers out, one error type.
//!
//! A [`Provider`] takes a [`Request`] and gives a stream of [`Event`]s that ends
//! with [`Event::Done`], or a [`ProviderError`]. Which provider it is may be
//! chosen at run time. The [`Scripted`] provider answers from a list of turns:
//! for demonstrations, tests and bug reports.
//!
//! ```
//! use futures_util::StreamExt;
//! use llm_providers::{CancellationToken, Event, Provider, Request, Scripted, ScriptedTurn};
//!
//! # futures_executor::block_on(async {
//! let provider = Scripted::new(vec![ScriptedTurn::Text("a summary".to_owned())]);
//! let request = Request::for_prompt("be brief", "summarize this");
//! let mut events = provider.stream(request, CancellationToken::new()).await?;
//! let mut text = String::new();
//! while let Some(event) = events.next().await {
//!     if let Event::Text(piece) = event? {
//!         text.push_str(&piece);
//!     }
//! }
//! assert_eq!(text, "a summary");
//! # Ok::<(), llm_providers::ProviderError>(())
//! # }).unwrap();
//! ```

pub mod catalog;
mod classify;
mod complete;
mod context;
mod error;
mod http_provider;
mod native;
mod provider;
mod remote;
mod retry;
mod scripted;
mod secret;
mod transport;
mod wire;

pub use classify::{Classified, classify, request_id, retry_after};
pub use complete::{Progress, compact_native, complete};
pub use error::{ProviderError, ProviderErrorKind};
pub use http_provider::HttpProvider;
pub use native::{NativeAnswer, NativeForm, NativeHistory, NativeRequest, Trimmed, trim};
pub use provider::{
    Answer, BoxFuture, Capabilities, Event, EventStream, Provider, Reasoning, Request, Tool,
    ToolChoice,
};
pub use remote::{EndpointError, RemoteEndpoint};
pub use retry::{GiveUp, RetryPolicy};
pub use scripted::{Scripted, ScriptedTurn};
pub use secret::{Redactor, Secret};
pub use tokio_util::sync::CancellationToken;
pub use transport::{HttpClient, HttpSettings, Recorder};
pub use wire::{MaxTokensField, Quirks, ReasoningField, Wire};
