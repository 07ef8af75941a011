//! The HTTP layer of all clients, so that timeouts, limits, cancellation, status, headers, request id and body are
//! handled in one module.

mod body;
mod connection;
mod events;
#[cfg(feature = "bedrock")]
mod frames;
mod record;

use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use session_model::json::member;
use tokio_util::sync::CancellationToken;

use crate::classify::{classify, request_id, retry_after, should_retry, until};
use crate::error::{ProviderError, ProviderErrorKind};
use crate::loopback::is_loopback;
use crate::secret::{Redactor, Secret};

pub(crate) use body::Body;
use body::{guarded, read_bounded};
use connection::{cannot_set_up, set_reached};
use record::Exchange;
pub use record::Recorder;

/// The data of server-sent events, one text an event.
pub(crate) type DataStream =
    Pin<Box<dyn futures_core::Stream<Item = Result<String, ProviderError>> + Send>>;

/// Time limits and size limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpSettings {
    /// The time limit for connecting.
    pub connect: Duration,
    /// Until the first byte of the answer, and between any two.
    pub idle: Duration,
    /// For the whole of one answer.
    pub total: Duration,
    /// The most that is read of an answer, in bytes.
    pub answer_limit: usize,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            total: Duration::from_secs(3600),
            answer_limit: 64 << 20,
        }
    }
}

/// The limit of an error response, in bytes.
const ERROR_LIMIT: usize = 64 << 10;

/// A client for HTTP, shared by all providers of a program. Cheap to clone.
///
/// Proxies come from the usual environment variables (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`; none for
/// servers on this machine), certificates from the system, or from `SSL_CERT_FILE` and `SSL_CERT_DIR`. Redirects are
/// not followed: a key is sent only to the configured host.
#[derive(Debug, Clone)]
pub struct HttpClient {
    clients: Arc<Clients>,
    settings: HttpSettings,
    recorder: Option<Recorder>,
    sent: Arc<AtomicUsize>,
}

/// The clients behind, made when they are first used: reading the system's certificates takes its time.
#[derive(Debug)]
struct Clients {
    more: Vec<reqwest::Certificate>,
    /// For the world.
    there: OnceLock<reqwest::Client>,
    /// For servers on this machine: never through a proxy, which would see keys in clear and could not reach them.
    here: OnceLock<reqwest::Client>,
}

impl HttpClient {
    /// Returns a client that trusts the certificates of the system.
    ///
    /// # Errors
    /// As [`HttpClient::trusting`], which without a bundle finds nothing to refuse.
    pub fn new(settings: HttpSettings) -> Result<Self, ProviderError> {
        Self::trusting(settings, &[])
    }

    /// Returns a client that trusts the certificates of `bundle` (PEM) in addition to those of the system.
    ///
    /// # Errors
    /// [`ProviderErrorKind::InvalidRequest`] for a bundle that is none. Proxy settings of the environment that cannot
    /// be used are an error of the first request.
    pub fn trusting(settings: HttpSettings, bundle: &[u8]) -> Result<Self, ProviderError> {
        // A crypto provider that the program has chosen is kept.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let more = reqwest::Certificate::from_pem_bundle(bundle).map_err(cannot_set_up)?;
        if more.is_empty() && !bundle.is_empty() {
            let text =
                "cannot set up HTTP: the bundle of certificates holds none; it must be in PEM form";
            let kind = ProviderErrorKind::InvalidRequest;
            return Err(ProviderError::new(kind, text));
        }
        Ok(Self {
            clients: Arc::new(Clients {
                more,
                there: OnceLock::new(),
                here: OnceLock::new(),
            }),
            settings,
            recorder: None,
            sent: Arc::default(),
        })
    }

    /// Returns the client for an address.
    fn client_for(&self, url: &str) -> Result<&reqwest::Client, ProviderError> {
        let host = reqwest::Url::parse(url).ok();
        let here = host
            .as_ref()
            .and_then(|url| url.host_str())
            .is_some_and(is_loopback);
        let slot = match here {
            true => &self.clients.here,
            false => &self.clients.there,
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let builder = || {
            let builder = reqwest::Client::builder()
                .connect_timeout(self.settings.connect)
                .redirect(reqwest::redirect::Policy::none())
                .user_agent(concat!("agent-cli/", env!("CARGO_PKG_VERSION")));
            match here {
                true => builder.no_proxy(),
                false => builder,
            }
        };
        let more = &self.clients.more;
        // A system without any certificates can still reach servers without encryption.
        let client = builder()
            .tls_certs_merge(more.clone())
            .build()
            .or_else(|_| builder().tls_certs_only(more.clone()).build())
            .map_err(cannot_set_up)?;
        Ok(slot.get_or_init(|| client))
    }

    /// Returns the number of requests sent by this client and its clones.
    pub fn requests_sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Keeps a record of every exchange from now on, without the keys.
    #[must_use]
    pub fn with_recorder(self, recorder: Recorder) -> Self {
        Self {
            recorder: Some(recorder),
            ..self
        }
    }
}

/// One request on its way: for whom, and what ends it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub http: HttpClient,
    pub provider: String,
    pub model: String,
    pub cancel: CancellationToken,
    pub redactor: Redactor,
    /// The token that takes the place of the provider's key.
    pub bearer: Option<Secret>,
    /// The id that all requests of a conversation share.
    pub session: Option<String>,
}

/// The expected form of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// Server-sent events.
    Events,
    /// One JSON document.
    Json,
}

impl Call {
    /// Returns an error of this call.
    pub fn error(&self, kind: ProviderErrorKind, message: &str) -> ProviderError {
        ProviderError::new(kind, &self.redactor.clean(message)).of(&self.provider, &self.model)
    }

    /// Returns the error that the service describes in `body`; `status` is `None` within a stream.
    pub fn described(&self, status: Option<u16>, body: &str) -> ProviderError {
        let classified = classify(status, body);
        let reset = classified.reset_at.map(|at| until(at, now_unix()));
        ProviderError {
            retry_after: classified.retry_after.or(reset),
            token_limit: classified.token_limit.and_then(NonZeroU64::new),
            ..self.error(classified.kind, &classified.message)
        }
    }

    pub fn cancelled(&self) -> ProviderError {
        self.error(ProviderErrorKind::Cancelled, "the request was cancelled")
    }

    /// Sends a request and returns the body of an answer whose status is good. It is guarded: bounded in size and time,
    /// recorded, and cut off by cancellation.
    pub async fn send(
        &self,
        mut request: reqwest::Request,
        expect: Expect,
    ) -> Result<Body, ProviderError> {
        for (name, value) in request.headers_mut().iter_mut() {
            let secret = name.as_str() == "authorization" || name.as_str().contains("key");
            value.set_sensitive(secret || value.is_sensitive());
        }
        let client = self.http.client_for(request.url().as_str())?;
        self.http.sent.fetch_add(1, Ordering::Relaxed);
        let mut exchange = self.record(&request);
        let started = tokio::time::Instant::now();
        let url = request.url().clone();
        let sending = tokio::time::timeout(self.http.settings.idle, client.execute(request));
        let answered = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(self.cancelled()),
            answered = sending => match answered {
                Ok(Ok(response)) => Ok(response),
                Ok(Err(error)) => Err(self.transport_error(error)),
                Err(_) => Err(self.error(
                    ProviderErrorKind::Timeout,
                    &format!("no answer within {} s", self.http.settings.idle.as_secs()),
                )),
            },
        };
        let response = answered.inspect_err(|error| exchange.fail(error))?;
        set_reached(&url);
        exchange.answered(response.status().as_u16(), response.headers());
        let refused = self.refusal(&response, expect);
        let facts = AnswerFacts::of(&response, &self.redactor);
        let limit = match refused {
            Some(Refusal::Status | Refusal::Redirect | Refusal::Page) => ERROR_LIMIT,
            Some(Refusal::Document) | None => self.http.settings.answer_limit,
        };
        let guarded = guarded(response, self.clone(), exchange, limit, started);
        let Some(refused) = refused else {
            return Ok(guarded);
        };
        let (body, broke) = read_bounded(guarded, limit).await;
        let body = String::from_utf8_lossy(&body);
        if let Refusal::Document = refused
            && classify(None, &body).kind == ProviderErrorKind::Malformed
            && ["choices", "output", "content", "candidates"]
                .iter()
                .any(|name| member(&body, name).is_some_and(|list| list != "[]"))
        {
            return match broke {
                Some(error) => Err(facts.complete(error)),
                None => Ok(as_event(&body)),
            };
        }
        // If an error's body breaks off, its beginning is still reported.
        match broke {
            Some(error) if body.is_empty() || error.kind == ProviderErrorKind::Cancelled => {
                Err(facts.complete(error))
            }
            _ => Err(facts.complete(self.refused(refused, &facts, &body))),
        }
    }

    /// Returns why the answer is none: by its status, or because it is a page where data should be.
    fn refusal(&self, response: &reqwest::Response, expect: Expect) -> Option<Refusal> {
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let status = response.status();
        if status.is_redirection() {
            return Some(Refusal::Redirect);
        }
        if !status.is_success() {
            return Some(Refusal::Status);
        }
        if kind.starts_with("text/html") {
            return Some(Refusal::Page);
        }
        let document = kind.starts_with("application/json");
        (expect == Expect::Events && document).then_some(Refusal::Document)
    }

    fn refused(&self, refusal: Refusal, facts: &AnswerFacts, body: &str) -> ProviderError {
        match refusal {
            Refusal::Status => self.described(Some(facts.status), body),
            Refusal::Redirect => {
                let place = facts.location.as_deref().unwrap_or("another place");
                let text = format!(
                    "the service redirects to {place}; nothing was sent there; if it is right, name it as the base URL"
                );
                self.error(ProviderErrorKind::InvalidRequest, &text)
            }
            Refusal::Page => {
                let text = "a web page answered, not a model service; check the base URL";
                self.error(ProviderErrorKind::InvalidRequest, text)
            }
            Refusal::Document => match self.described(None, body) {
                error if error.kind == ProviderErrorKind::Malformed => self.error(
                    error.kind,
                    "the service answered with one document although a stream was asked for",
                ),
                error => error,
            },
        }
    }

    fn record(&self, request: &reqwest::Request) -> Exchange {
        match &self.http.recorder {
            None => Exchange::none(),
            Some(recorder) => recorder.exchange(request, &self.redactor),
        }
    }
}

/// Returns the seconds since 1970.
fn now_unix() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// Returns the address of `path` under a base URL; a query of the base stays at the end.
pub(crate) fn joined(base: &str, path: &str) -> String {
    let (base, query) = match base.split_once('?') {
        Some((base, query)) => (
            base,
            format!("{}{query}", if path.contains('?') { '&' } else { '?' }),
        ),
        None => (base, String::new()),
    };
    format!("{}{path}{query}", base.trim_end_matches('/'))
}

/// Returns the answer of a server that does not stream, as a stream of one event; the decoders know whole answers.
fn as_event(document: &str) -> Body {
    // Line breaks in JSON are either escaped or mean nothing.
    let line = document.replace(['\n', '\r'], " ");
    let events = format!("data: {line}\n\n");
    Box::pin(futures_util::stream::iter([Ok(events.into())]))
}

/// The reason why a response is refused.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    Status,
    Redirect,
    Page,
    Document,
}

/// Facts from the head of a response.
struct AnswerFacts {
    status: u16,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    should_retry: Option<bool>,
    location: Option<String>,
}

impl AnswerFacts {
    fn of(response: &reqwest::Response, redactor: &Redactor) -> Self {
        let headers: &HeaderMap = response.headers();
        let location = headers.get(LOCATION).and_then(|place| place.to_str().ok());
        Self {
            status: response.status().as_u16(),
            request_id: request_id(headers).map(|id| redactor.clean(&id)),
            retry_after: retry_after(headers, Some(response.status().as_u16()), now_unix()),
            should_retry: should_retry(headers),
            // Only the place: what follows a question mark may be a key.
            location: location.map(|place| place.split('?').next().unwrap_or_default().to_owned()),
        }
    }

    fn complete(&self, error: ProviderError) -> ProviderError {
        ProviderError {
            status: Some(self.status),
            request_id: self.request_id.as_deref().map(Box::from),
            retry_after: self.retry_after.or(error.retry_after),
            should_retry: self.should_retry,
            ..error
        }
    }
}
