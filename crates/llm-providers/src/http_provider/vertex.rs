//! Vertex AI of Google Cloud: addresses by project and location, tokens, and what its refusals mean.

use std::fmt;
use std::sync::Arc;

use gcp_auth::TokenProvider;
use tokio::sync::OnceCell;

use super::HttpProvider;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::secret::Secret;
use crate::transport::Call;
use crate::wire::{ApiProtocol, VERTEX_ANTHROPIC, gemini};

/// The location of the catalog's address.
const CATALOG_LOCATION: &str = "global";

/// The scope that a token needs.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

/// The project and location of requests.
#[derive(Clone)]
pub struct GoogleAccess {
    project: String,
    location: String,
    /// The source of tokens, once it is known.
    tokens: Arc<OnceCell<Arc<dyn TokenProvider>>>,
}

impl fmt::Debug for GoogleAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GoogleAccess");
        shown.field("project", &self.project);
        shown.field("location", &self.location);
        shown.finish_non_exhaustive()
    }
}

impl GoogleAccess {
    /// Returns the access to a project at a location, for example `europe-west1` or `global`. Unless the provider has a
    /// key, tokens come from the application default credentials: the file that `GOOGLE_APPLICATION_CREDENTIALS` names,
    /// the login of `gcloud`, or the machine's service account.
    pub fn new(project: &str, location: &str) -> Self {
        Self {
            project: project.to_owned(),
            location: location.to_owned(),
            tokens: Arc::default(),
        }
    }

    async fn token(&self) -> Result<Option<Secret>, gcp_auth::Error> {
        let tokens = self.tokens.get_or_try_init(gcp_auth::provider).await?;
        Ok(Secret::new(tokens.token(&[SCOPE]).await?.as_str()))
    }
}

/// Returns the address of the service at a location.
fn base_url(location: &str) -> String {
    match location {
        CATALOG_LOCATION => "https://aiplatform.googleapis.com".to_owned(),
        // Multi-region locations.
        "eu" | "us" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        location => format!("https://{location}-aiplatform.googleapis.com"),
    }
}

impl HttpProvider {
    /// Returns the provider for a project, at its location unless the settings give an address.
    #[must_use]
    pub fn with_google(mut self, access: GoogleAccess) -> Self {
        if self.provider.base_url == base_url(CATALOG_LOCATION) {
            self.provider.base_url = base_url(&access.location);
        }
        self.google = Some(access);
        self
    }

    /// Returns the address that streams answers of the model.
    pub(super) fn vertex_url(&self) -> String {
        let access = self.google.as_ref();
        let (project, location) = access.map_or(("", ""), |own| (&own.project, &own.location));
        let base = &self.provider.base_url;
        let place = format!("{base}/v1/projects/{project}/locations/{location}/publishers");
        match self.provider.wire {
            ApiProtocol::Messages => {
                let id = &self.model.id;
                let id = id.strip_prefix(VERTEX_ANTHROPIC).unwrap_or(id);
                format!("{place}/anthropic/models/{id}:streamRawPredict")
            }
            _ => format!("{place}/google{}", gemini::path(&self.model.id)),
        }
    }

    /// Returns the call with a token, if the provider has no key.
    pub(super) async fn signed_in(&self, mut call: Call) -> Result<Call, ProviderError> {
        let Some(access) = self.google.as_ref().filter(|_| self.key.is_none()) else {
            return Ok(call);
        };
        let token = tokio::select! {
            biased;
            () = call.cancel.cancelled() => return Err(call.cancelled()),
            token = access.token() => token,
        };
        match token {
            Ok(token) => {
                if let Some(token) = &token {
                    call.redactor.add(token.expose());
                }
                call.bearer = token;
                Ok(call)
            }
            Err(error) => {
                let text = format!(
                    "no token of Google Cloud ({error}); run gcloud auth application-default login, or set \
                     GOOGLE_APPLICATION_CREDENTIALS or VERTEX_ACCESS_TOKEN"
                );
                Err(call.error(ProviderErrorKind::Auth, &text))
            }
        }
    }

    /// Returns what to change after a refusal.
    pub(super) fn vertex_advice(&self, error: &ProviderError) -> Option<String> {
        let access = self.google.as_ref()?;
        let (project, location) = (&access.project, &access.location);
        Some(match (error.kind, error.status) {
            (ProviderErrorKind::Unreachable, _) if error.first_contact => {
                format!("check GOOGLE_CLOUD_LOCATION ({location}) and the network")
            }
            (ProviderErrorKind::Auth, Some(401)) => match &self.key {
                Some(_) => "set a new token in VERTEX_ACCESS_TOKEN".to_owned(),
                None => "run gcloud auth application-default login".to_owned(),
            },
            (ProviderErrorKind::Auth, _) => format!(
                "let the account use Vertex AI in GOOGLE_CLOUD_PROJECT ({project}), or name another project"
            ),
            (ProviderErrorKind::InvalidRequest, Some(404)) => format!(
                "check the model, that GOOGLE_CLOUD_PROJECT ({project}) may use it, and \
                 GOOGLE_CLOUD_LOCATION ({location})"
            ),
            _ => return None,
        })
    }
}
