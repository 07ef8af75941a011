//! The models of a running session: the one that answers, those that may take over, and those that summarize.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use compaction_core::TokenCount;
use llm_catalog::{Catalog, CatalogError, Selection};
use llm_providers::{HttpClient, HttpProvider, ModelInfo, Provider, RetryPolicy, Secret};
use llm_script::ScriptPlay;
use session_model::ModelRef;

use crate::{Candidate, Fallback, in_order};

/// A model that answers.
#[derive(Clone)]
pub struct LiveModel {
    /// Who is asked.
    pub provider: Arc<dyn Provider>,
    /// What it costs; none without a price list.
    pub prices: Option<ModelInfo>,
    /// The wire, as sessions name it.
    pub api: String,
    /// Its window; zero when unknown.
    pub window: TokenCount,
    /// The ways in which it writes summaries itself, where no other model is set for that.
    pub summarizers: Vec<Candidate>,
}

impl LiveModel {
    /// Returns the name that people read: `openai/gpt-5`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider.name(), self.provider.model())
    }

    /// Returns how a session names it.
    pub fn reference(&self) -> ModelRef {
        ModelRef {
            provider: self.provider.name().to_owned(),
            model_id: self.provider.model().to_owned(),
        }
    }
}

/// Every model that a session may ask.
#[derive(Clone)]
pub struct LiveModels {
    /// The one that answers.
    pub model: LiveModel,
    /// Larger ones that take over, in order, before anything is compacted.
    pub promotions: VecDeque<LiveModel>,
    /// Those that have answered before; a branch may lead back to one.
    pub former: Vec<LiveModel>,
    /// Those that write summaries next to the model itself.
    pub others: Vec<Candidate>,
    /// When failed requests are sent again.
    pub policy: RetryPolicy,
    /// What happens when no model writes a summary.
    pub fallback: Fallback,
}

/// Only names: providers hold keys.
impl fmt::Debug for LiveModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let promotions = self.promotions.iter().map(LiveModel::name);
        f.debug_struct("LiveModels")
            .field("model", &self.model.name())
            .field("promotions", &promotions.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl LiveModels {
    /// Returns the one model of this provider: it answers and writes the summaries.
    pub fn of(provider: Arc<dyn Provider>, window: TokenCount) -> Self {
        let summarizer = Candidate::of(provider.clone());
        Self {
            model: LiveModel {
                api: provider.name().to_owned(),
                provider,
                prices: None,
                window,
                summarizers: vec![summarizer],
            },
            promotions: VecDeque::new(),
            former: Vec::new(),
            others: Vec::new(),
            policy: RetryPolicy::default(),
            fallback: Fallback::default(),
        }
    }

    /// Returns the model that `name` (`PROVIDER/MODEL`) has in the catalog, with its window and prices.
    ///
    /// # Errors
    /// The catalog knows no such provider.
    pub fn of_service(
        name: &str,
        key: Option<Secret>,
        http: HttpClient,
    ) -> Result<Self, CatalogError> {
        let selection = Selection {
            model: name.to_owned(),
            ..Selection::default()
        };
        let found = Catalog::embedded().resolve(&selection)?;
        let window = TokenCount(found.model.capabilities.window.unwrap_or_default());
        let prices = found.model.clone();
        let provider = HttpProvider::new(http, found.provider, found.model, key);
        let mut models = Self::of(Arc::new(provider), window);
        models.model.prices = Some(prices);
        Ok(models)
    }

    /// Returns the models of a script: it plays the model, and the summarizer where it has summaries.
    pub fn of_script(play: &ScriptPlay, window: TokenCount) -> Self {
        let provider: Arc<dyn Provider> = Arc::new(play.turns());
        let summaries = play.summaries().map(Arc::new);
        let summaries = summaries.map(|summaries| Candidate::of(summaries));
        let mut models = Self::of(provider, window);
        models.model.api = "scripted".to_owned();
        models.model.summarizers.clear();
        models.others.extend(summaries);
        models.policy = RetryPolicy::NEVER;
        models.fallback = Fallback::Extractive;
        models
    }

    /// Returns those that write summaries, in the order in which they are asked, the model that answers first. None
    /// when the outline is written.
    pub fn summarizers(&self) -> Vec<Candidate> {
        let all = self.model.summarizers.iter().chain(&self.others);
        in_order(all.cloned().collect(), Some(&self.model.reference()))
    }

    /// Returns whether a larger model could take over.
    pub fn can_promote(&self) -> bool {
        let window = self.model.window;
        self.promotions.iter().any(|next| next.window > window)
    }

    /// Lets the next larger model take over, and returns the one before.
    pub fn promote(&mut self) -> Option<LiveModel> {
        let window = self.model.window;
        let place = self
            .promotions
            .iter()
            .position(|next| next.window > window)?;
        let next = self.promotions.remove(place)?;
        let before = std::mem::replace(&mut self.model, next);
        self.former.push(before.clone());
        Some(before)
    }

    /// Lets the model that `reference` names answer again, where it is known; returns whether that is another one.
    pub fn go_back_to(&mut self, reference: &ModelRef) -> bool {
        if self.model.reference() == *reference {
            return false;
        }
        let is_named = |model: &LiveModel| model.reference() == *reference;
        if let Some(place) = self.former.iter().position(is_named) {
            let model = self.former.remove(place);
            let before = std::mem::replace(&mut self.model, model);
            // It may take over again when this branch grows.
            self.promotions.push_front(before);
            return true;
        }
        let larger = self.promotions.iter().position(is_named);
        let Some(model) = larger.and_then(|place| self.promotions.remove(place)) else {
            return false;
        };
        let before = std::mem::replace(&mut self.model, model);
        self.former.push(before);
        true
    }
}
