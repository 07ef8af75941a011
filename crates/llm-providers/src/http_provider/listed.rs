//! The models that a provider lists itself.

use serde::Deserialize;
use session_model::json::RawJson;
use tokio_util::sync::CancellationToken;

use crate::capabilities::Capabilities;
use crate::endpoint::{FactOrigin, ModelInfo, PriceTier};
use crate::error::{ProviderError, ProviderErrorKind};
use crate::http_provider::HttpProvider;
use crate::transport::joined;
use crate::wire::{ApiProtocol, Platform};

/// A list of models, as the services give it.
#[derive(Deserialize)]
struct List {
    #[serde(alias = "models")]
    data: Vec<Listed>,
}

/// A model. Beyond its id, each service has its own names.
#[derive(Deserialize)]
struct Listed {
    #[serde(alias = "name")]
    id: Option<String>,
    #[serde(
        alias = "context_window",
        alias = "max_context_length",
        alias = "max_model_len",
        alias = "max_input_tokens",
        alias = "inputTokenLimit"
    )]
    context_length: Option<u64>,
    #[serde(
        alias = "max_completion_tokens",
        alias = "max_tokens",
        alias = "outputTokenLimit"
    )]
    max_output: Option<u64>,
    top_provider: Option<TopProvider>,
    pricing: Option<RawJson>,
}

/// OpenRouter's facts about the service behind a model.
#[derive(Deserialize)]
struct TopProvider {
    max_completion_tokens: Option<u64>,
}

/// OpenRouter's prices per token, in USD.
#[derive(Deserialize)]
struct Pricing {
    prompt: String,
    completion: String,
    input_cache_read: Option<String>,
    input_cache_write: Option<String>,
}

impl Pricing {
    fn tier(&self) -> Option<PriceTier> {
        let million = |text: &String| {
            let price: f64 = text.parse().ok()?;
            // Per million, without the digits that floating point adds.
            (price.is_finite() && price >= 0.0).then(|| (price * 1e12).round() / 1e6)
        };
        Some(PriceTier {
            above: 0,
            input: million(&self.prompt)?,
            output: million(&self.completion)?,
            cache_read: self.input_cache_read.as_ref().and_then(million),
            cache_write: self.input_cache_write.as_ref().and_then(million),
        })
    }
}

impl HttpProvider {
    /// Returns the models that the provider lists at `/models`, with their facts; the model of this value does not
    /// matter.
    ///
    /// # Errors
    /// The [`ProviderError`] of the request; [`ProviderErrorKind::Cancelled`] once `cancel` fires.
    pub async fn listed_models(
        &self,
        cancel: CancellationToken,
    ) -> Result<Vec<ModelInfo>, ProviderError> {
        let call = self.call(cancel, None);
        let path = match self.provider.wire {
            ApiProtocol::Messages => "/v1/models?limit=1000",
            ApiProtocol::Gemini => "/models?pageSize=1000",
            _ => "/models",
        };
        if self.provider.compat.platform != Platform::Plain {
            let name = &self.provider.name;
            let text = format!(
                "the list of this service is not read; add models to models.\"{name}/MODEL\""
            );
            return Err(call.error(ProviderErrorKind::InvalidRequest, &text));
        }
        let url = joined(&self.provider.base_url, path);
        let answered = call.get_for_text(&url, self.headers(&call)?).await;
        let text = answered.map_err(|error| self.advised(error))?;
        let list: List = serde_json::from_str(&text).map_err(|error| {
            let text = format!("the answer is not a list of models: {error}");
            call.error(ProviderErrorKind::Malformed, &text)
        })?;
        let models = list.data.into_iter();
        Ok(models.filter_map(|listed| self.listed(listed)).collect())
    }

    fn listed(&self, listed: Listed) -> Option<ModelInfo> {
        let id = listed.id?;
        let id = id.strip_prefix("models/").unwrap_or(&id).to_owned();
        let top = listed.top_provider.as_ref();
        let window = listed.context_length.filter(|window| *window > 0);
        let cap = top.and_then(|top| top.max_completion_tokens);
        let cap = cap.or(listed.max_output).filter(|cap| *cap > 0);
        let pricing = listed.pricing.as_ref();
        let pricing = pricing.and_then(|raw| serde_json::from_str::<Pricing>(raw.get()).ok());
        Some(ModelInfo {
            capabilities: Capabilities {
                window,
                max_output: window.map_or(cap, |window| cap.map(|cap| cap.min(window))),
                tools: true,
                ..Capabilities::default()
            },
            prices: pricing
                .and_then(|pricing| pricing.tier())
                .into_iter()
                .collect(),
            source: format!("{url}/models", url = self.provider.base_url),
            date: String::new(),
            origin: FactOrigin::Service,
            ..ModelInfo::unlisted(&self.provider.name, &id)
        })
    }
}
