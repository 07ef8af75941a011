//! Credentials of clouds, from the variables that their own tools read.

use llm_providers::{HttpProvider, Platform, ProviderInfo};

use super::ModelsError;

/// Returns the provider with the access that its cloud needs; `has_key` is true if a token replaces credentials.
pub(super) fn with_access(
    provider: HttpProvider,
    info: &ProviderInfo,
    has_key: bool,
) -> Result<HttpProvider, ModelsError> {
    #[cfg(any(feature = "bedrock", feature = "vertex"))]
    let missing = |what: &str| ModelsError::Invalid(format!("{}: {what}", info.name));
    let _ = has_key;
    match info.compat.platform {
        Platform::Plain => Ok(provider),
        #[cfg(feature = "bedrock")]
        Platform::Bedrock => {
            let region = first(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
            let region = region
                .ok_or_else(|| missing("set AWS_REGION to a region, for example us-east-1"))?;
            let id = first(&["AWS_ACCESS_KEY_ID"]);
            let key = super::secret("AWS_SECRET_ACCESS_KEY")?;
            let credentials = match (id, key) {
                _ if has_key => None,
                (Some(access_key_id), Some(secret_access_key)) => {
                    Some(llm_providers::AwsCredentials {
                        access_key_id,
                        secret_access_key,
                        session_token: super::secret("AWS_SESSION_TOKEN")?,
                    })
                }
                _ => {
                    return Err(missing(
                        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK",
                    ));
                }
            };
            Ok(provider.with_aws(llm_providers::AwsAccess {
                region,
                credentials,
            }))
        }
        #[cfg(feature = "vertex")]
        Platform::Vertex => {
            let project = first(&["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"]);
            let project = project
                .ok_or_else(|| missing("set GOOGLE_CLOUD_PROJECT to the id of the project"))?;
            let location = first(&["GOOGLE_CLOUD_LOCATION"]);
            let location = location.as_deref().unwrap_or("global");
            let access = llm_providers::GoogleAccess::new(&project, location);
            Ok(provider.with_google(access))
        }
    }
}

/// Returns the value of the first variable that is set.
#[cfg(any(feature = "bedrock", feature = "vertex"))]
fn first(variables: &[&str]) -> Option<String> {
    let mut values = variables.iter().filter_map(|name| std::env::var(name).ok());
    values
        .find(|value| !value.trim().is_empty())
        .map(|value| value.trim().to_owned())
}
