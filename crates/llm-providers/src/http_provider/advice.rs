//! Advice after a refusal: one sentence, with the setting to change.

use super::HttpProvider;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::wire::Platform;

/// Messages of services about models that they do not have.
const NO_MODEL: [&str; 6] = [
    "not found",
    "not exist",
    "not_found",
    "invalid model",
    "unknown model",
    "not a valid model",
];

impl HttpProvider {
    /// Returns the error with the setting to change, if a wrong one is the likely cause.
    pub(super) fn advised(&self, mut error: ProviderError) -> ProviderError {
        let advice = match self.provider.compat.platform {
            Platform::Plain => None,
            #[cfg(feature = "bedrock")]
            Platform::Bedrock => self.bedrock_advice(&error),
            #[cfg(feature = "vertex")]
            Platform::Vertex => self.vertex_advice(&error),
        };
        if let Some(advice) = advice.or_else(|| self.advice(&error)) {
            error.message = format!("{}; {advice}", error.message.trim_end_matches('.')).into();
        }
        error
    }

    fn advice(&self, error: &ProviderError) -> Option<String> {
        let name = &self.provider.name;
        let text = error.message.to_ascii_lowercase();
        let is_versioned = self.provider.base_url.contains('?');
        let no_model = || NO_MODEL.iter().any(|words| text.contains(words));
        Some(match (error.kind, error.status) {
            (ProviderErrorKind::Auth, _) => match &self.provider.api_key_env {
                Some(variable) => format!("check the key in {variable}"),
                None => format!("name the variable with the key in providers.{name}.apiKeyEnv"),
            },
            (ProviderErrorKind::Unreachable, _) if error.first_contact => {
                format!("check providers.{name}.baseUrl and the network")
            }
            (ProviderErrorKind::InvalidRequest, Some(400 | 404 | 422))
                if is_versioned && text.contains("version") =>
            {
                format!("check the api-version in providers.{name}.baseUrl")
            }
            (ProviderErrorKind::InvalidRequest, Some(400 | 404 | 422))
                if text.contains("model") && no_model() =>
            {
                format!("name another model of {name}, or check providers.{name}.baseUrl")
            }
            // Not found, and not allowed there.
            (ProviderErrorKind::InvalidRequest, Some(404 | 405)) => {
                let version = if is_versioned {
                    " and its api-version"
                } else {
                    ""
                };
                format!(
                    "check the model, providers.{name}.baseUrl{version} and providers.{name}.wire"
                )
            }
            _ => return None,
        })
    }
}
