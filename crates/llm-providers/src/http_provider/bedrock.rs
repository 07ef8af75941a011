//! Amazon Bedrock: the address of a region, signatures (SigV4), and what its refusals mean.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningError, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use session_model::json::RawJson;

use super::HttpProvider;
use crate::error::{ProviderError, ProviderErrorKind};
use crate::secret::Secret;
use crate::transport::{Call, DataStream};
use crate::wire::ApiProtocol;

/// The region of the catalog's address.
const CATALOG_REGION: &str = "us-east-1";

/// An access key of an AWS account.
#[derive(Debug, Clone)]
pub struct AwsCredentials {
    /// The id of the key (`AWS_ACCESS_KEY_ID`).
    pub access_key_id: String,
    /// The key itself (`AWS_SECRET_ACCESS_KEY`).
    pub secret_access_key: Secret,
    /// The session token of a temporary key (`AWS_SESSION_TOKEN`).
    pub session_token: Option<Secret>,
}

/// The region and the credentials for Bedrock.
#[derive(Debug, Clone)]
pub struct AwsAccess {
    /// The region, for example `eu-central-1`.
    pub region: String,
    /// The access key that signs requests; without one, the provider's key is sent as a bearer token.
    pub credentials: Option<AwsCredentials>,
}

impl AwsAccess {
    /// Returns the secrets of it.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let credentials = self.credentials.iter();
        credentials.flat_map(|own| {
            let key = std::iter::once(&own.secret_access_key);
            key.chain(&own.session_token)
        })
    }

    /// Signs a request that is complete but for its signature.
    fn sign(&self, request: &mut reqwest::Request, now: SystemTime) -> Result<(), SigningError> {
        let Some(own) = &self.credentials else {
            return Ok(());
        };
        let token = own.session_token.as_ref();
        let identity = Credentials::new(
            own.access_key_id.as_str(),
            own.secret_access_key.expose(),
            token.map(|token| token.expose().to_owned()),
            None,
            "environment",
        );
        let identity = identity.into();
        let params = SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name("bedrock")
            .time(now)
            .settings(SigningSettings::default())
            .build()
            .unwrap_or_else(|_| unreachable!("every parameter is given"))
            .into();
        let headers = request.headers().iter();
        let headers = headers
            .filter_map(|(name, value)| value.to_str().ok().map(|value| (name.as_str(), value)));
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let signable = SignableRequest::new(
            request.method().as_str(),
            request.url().as_str(),
            headers,
            SignableBody::Bytes(body.unwrap_or_default()),
        )?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        for (name, value) in instructions.headers() {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_str(value)) {
                value.set_sensitive(true);
                request.headers_mut().insert(name, value);
            }
        }
        Ok(())
    }
}

/// Returns the address of the service in a region.
fn base_url(region: &str) -> String {
    let domain = match region.starts_with("cn-") {
        true => "amazonaws.com.cn",
        false => "amazonaws.com",
    };
    format!("https://bedrock-runtime.{region}.{domain}")
}

impl HttpProvider {
    /// Returns the provider for the credentials of an AWS account, in its region unless the settings give an address.
    #[must_use]
    pub fn with_aws(mut self, access: AwsAccess) -> Self {
        if self.provider.base_url == base_url(CATALOG_REGION) {
            self.provider.base_url = base_url(&access.region);
        }
        for secret in access.secrets() {
            self.redactor.add(secret.expose());
        }
        self.aws = Some(access);
        self
    }

    /// Returns the address that streams answers of the model.
    fn bedrock_url(&self) -> String {
        let action = match self.provider.wire {
            ApiProtocol::Converse => "converse-stream",
            _ => "invoke-with-response-stream",
        };
        let model = self.model.id.replace('%', "%25");
        let model = model.replace(':', "%3A").replace('/', "%2F");
        format!("{}/model/{model}/{action}", self.provider.base_url)
    }

    /// Sends a body and returns the data of the frames that come back.
    pub(super) async fn bedrock_data(
        &self,
        call: Call,
        headers: HeaderMap,
        body: &RawJson,
    ) -> Result<DataStream, ProviderError> {
        let accept = HeaderValue::from_static("application/vnd.amazon.eventstream");
        let mut request = call.post(&self.bedrock_url(), headers, accept, body)?;
        self.sign(&call, &mut request)?;
        call.send_for_frames(request).await
    }

    /// Signs a request, if there is an access key.
    fn sign(&self, call: &Call, request: &mut reqwest::Request) -> Result<(), ProviderError> {
        let signed = self
            .aws
            .as_ref()
            .map(|aws| aws.sign(request, SystemTime::now()));
        signed.unwrap_or(Ok(())).map_err(|error| {
            let text = format!("the request cannot be signed: {error}");
            call.error(ProviderErrorKind::InvalidRequest, &text)
        })
    }

    /// Returns what to change after a refusal.
    pub(super) fn bedrock_advice(&self, error: &ProviderError) -> Option<String> {
        let signed = self
            .aws
            .as_ref()
            .is_some_and(|aws| aws.credentials.is_some());
        let region = self.aws.as_ref().map_or("?", |aws| aws.region.as_str());
        let text = error.message.to_ascii_lowercase();
        Some(match (error.kind, error.status) {
            (ProviderErrorKind::Unreachable, _) if error.first_contact => {
                format!("check AWS_REGION ({region}) and the network")
            }
            (_, Some(403)) if text.contains("access to the model") => format!(
                "let the account use the model in AWS_REGION ({region}), or name another model"
            ),
            (ProviderErrorKind::Auth, _) if !signed => {
                format!("check the token in AWS_BEARER_TOKEN_BEDROCK and AWS_REGION ({region})")
            }
            (ProviderErrorKind::Auth, _) => format!(
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION ({region})"
            ),
            (ProviderErrorKind::InvalidRequest, Some(404)) => {
                format!("check the model and AWS_REGION ({region})")
            }
            (ProviderErrorKind::InvalidRequest, Some(400))
                if text.contains("model identifier") || text.contains("on-demand throughput") =>
            {
                format!("check the model and AWS_REGION ({region})")
            }
            _ => return None,
        })
    }
}
