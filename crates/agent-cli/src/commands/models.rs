//! `models`: the models that are known, where they are, what they can do and cost. Only `--refresh` asks a provider.

use clap::Args;
use compaction_core::TokenCount;
use llm_catalog::Catalog;
use llm_providers::{ExtraBody, ModelInfo, ProviderInfo};
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::error::Error;
use crate::models::{block_on, usable_catalog};
use crate::options::Global;
use crate::ui::{
    BOLD, DIM, GOOD, WARN, clean, columns, counted, note, padded, styled, tokens, width,
};
use agent_settings::models::{asked_provider, refresh};

/// List the models that are known: window, prices, abilities, and whether a key is set.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Show only models whose PROVIDER/MODEL contains this text.
    pub filter: Option<String>,
    /// Show only models of this provider.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Ask the provider for its models first, the one of --provider or else that of the model in the settings, and keep the
    /// answer in the user's cache folder.
    #[arg(long)]
    pub refresh: bool,
}

/// The widest column of names, so that rows fit 80 columns; a longer name pushes its own row only.
const NAMES: usize = 34;

pub(super) fn run(args: &ModelsArgs, global: &Global) -> Result<Outcome, Error> {
    let settings = global.app_settings()?;
    let mut catalog = usable_catalog(settings)?;
    if let Some(name) = &args.provider
        && catalog.provider(name).is_none()
    {
        return Err(Error::Usage(catalog.unknown_provider(name).to_string()));
    }
    if args.refresh {
        let provider = asked_provider(args.provider.as_deref(), &catalog, settings)?;
        let asked = block_on(refresh(&provider, settings, crate::cancel::token()))?;
        crate::cancel::check()?;
        let count = asked.map_err(|error| match Error::from(error) {
            Error::Provider { kind, message, .. } => Error::Provider {
                kind,
                message: format!("{message}; nothing was changed"),
                report: None,
            },
            other => other,
        })?;
        let models = counted(count, "model");
        note(&format!("{} lists {models}", clean(&provider.name)));
        catalog = usable_catalog(settings)?;
    }
    let found = found(&catalog, args);
    let models = found.iter().flat_map(|found| &found.models);
    let document = json!({
        "providers": found.iter().map(Found::json).collect::<Vec<_>>(),
        "models": models.map(|model| model_json(model)).collect::<Vec<_>>(),
    });
    if found.is_empty() {
        let filter = clean(args.filter.as_deref().unwrap_or_default());
        let reason = format!("no model matches {filter}; agent-cli models lists all");
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    Ok(Outcome::done(&document, text(&found)))
}

/// A provider, whether its key is set, and those of its models that are shown.
struct Found<'a> {
    provider: &'a ProviderInfo,
    has_key: bool,
    models: Vec<&'a ModelInfo>,
}

impl Found<'_> {
    fn json(&self) -> Value {
        json!({
            "name": self.provider.name,
            "base_url": self.provider.base_url,
            "wire": self.provider.wire,
            "key_variable": self.provider.api_key_env,
            "key_set": self.has_key,
            "key_optional": self.provider.key_optional,
            "any_model": self.provider.any_model,
            "extra_body": self.provider.extra_body,
            "headers": self.provider.headers.keys().collect::<Vec<_>>(),
        })
    }

    fn heading(&self) -> String {
        let (key, style) = match &self.provider.api_key_env {
            Some(variable) if self.has_key => (format!("key {variable} is set"), GOOD),
            Some(variable) if self.provider.key_optional => {
                (format!("key {variable} is not set, not needed"), DIM)
            }
            Some(variable) => (format!("key {variable} is not set"), WARN),
            None => ("no key".to_owned(), DIM),
        };
        let name = clean(&self.provider.name);
        let mut url = format!("  {}", clean(&self.provider.base_url));
        // A narrow screen has no room for the address.
        if columns(&name) + 2 + columns(&key) + columns(&url) > width() {
            url.clear();
        }
        let (key, url) = (styled(style, &key), styled(DIM, &url));
        format!("{}  {key}{url}\n", styled(BOLD, &name))
    }
}

fn model_json(model: &ModelInfo) -> Value {
    let can = &model.capabilities;
    let prices = model.prices.iter().map(|tier| {
        json!({
            "above": tier.above,
            "input": tier.input,
            "output": tier.output,
            "cache_read": tier.cache_read,
            "cache_write": tier.cache_write,
        })
    });
    json!({
        "name": model.full_name(),
        "provider": model.provider,
        "id": model.id,
        "window": can.window,
        "max_output": can.max_output,
        "tools": can.tools,
        "images": can.images,
        "reasoning": can.reasoning,
        "adaptive_thinking": can.adaptive_thinking,
        "native_standalone": can.native_standalone,
        "native_in_band": can.native_in_band,
        "levels": can.levels,
        "prices": prices.collect::<Vec<_>>(),
        "extra_body": model.extra_body,
        "extra_headers": model.extra_headers.keys().collect::<Vec<_>>(),
        "source": model.source,
        "origin": model.origin,
        "date": model.date,
    })
}

fn found<'a>(catalog: &'a Catalog, args: &ModelsArgs) -> Vec<Found<'a>> {
    let filter = args.filter.as_deref().unwrap_or_default().to_lowercase();
    let wanted = |provider: &&ProviderInfo| {
        args.provider
            .as_ref()
            .is_none_or(|name| *name == provider.name || provider.aliases.contains(name))
    };
    let found = catalog.providers().filter(wanted).filter_map(|provider| {
        let models = catalog.models().filter(|model| {
            model.provider == provider.name && model.full_name().to_lowercase().contains(&filter)
        });
        let models: Vec<&ModelInfo> = models.collect();
        // A server that serves anything is there, although it lists nothing.
        let open = provider.any_model && provider.name.to_lowercase().contains(&filter);
        (open || !models.is_empty()).then_some(Found {
            provider,
            has_key: has_key(provider),
            models,
        })
    });
    found.collect()
}

fn has_key(provider: &ProviderInfo) -> bool {
    let variable = provider.api_key_env.as_ref().and_then(std::env::var_os);
    variable.is_some_and(|value| !value.is_empty())
}

fn text(found: &[Found<'_>]) -> String {
    let models = found.iter().flat_map(|found| &found.models);
    let widest = models.map(|model| columns(&model.full_name())).max();
    let width = widest.unwrap_or_default().min(NAMES);
    let mut text = String::new();
    let dim = |line: &str| format!("{}\n", styled(DIM, line));
    if widest.is_some() {
        text.push_str(&dim(&format!(
            "  {:width$}  {:>7}  {:>7}  {:>7}  {:>7}  can   from",
            "", "window", "output", "$ in", "$ out"
        )));
    }
    for found in found {
        text.push_str(&found.heading());
        let added = |fields: &ExtraBody| match fields.0.is_empty() {
            true => String::new(),
            false => dim(&format!("    with {}", clean(&json!(fields).to_string()))),
        };
        text.push_str(&added(&found.provider.extra_body));
        for model in &found.models {
            text.push_str(&row(model, width));
            text.push_str(&added(&model.extra_body));
        }
        if found.provider.any_model {
            let name = clean(&found.provider.name);
            text.push_str(&dim(&format!("  any model that it has, as {name}/MODEL")));
        }
    }
    if widest.is_some() {
        text.push_str(&dim(
            "$ per million tokens, + more for large prompts; ? not known",
        ));
        text.push_str(&dim(
            "can: t tools, i images, r reasoning, n native compaction",
        ));
        text.push_str(&dim(
            "from: checked by hand, generated from a public list, service or settings",
        ));
    }
    text
}

fn row(model: &ModelInfo, width: usize) -> String {
    let can = &model.capabilities;
    let size = |count: Option<u64>| count.map_or("?".to_owned(), |count| tokens(TokenCount(count)));
    let more = if model.prices.len() > 1 { "+" } else { " " };
    let base = model.prices.first();
    let dollars = |price: Option<f64>| match price {
        Some(price) => format!("{}{more}", amount(price)),
        None => "? ".to_owned(),
    };
    let letters = [
        (can.tools, 't'),
        (can.images, 'i'),
        (can.reasoning, 'r'),
        (can.native_standalone || can.native_in_band, 'n'),
    ];
    let letters: String = letters
        .map(|(can, letter)| if can { letter } else { '-' })
        .into_iter()
        .collect();
    format!(
        "  {}  {:>7}  {:>7}  {:>8} {:>8} {letters}  {}\n",
        padded(&clean(&model.full_name()), width),
        size(can.window),
        size(can.max_output),
        dollars(base.map(|tier| tier.input)),
        dollars(base.map(|tier| tier.output)),
        model.origin.name(),
    )
}

/// Returns a price: two digits after the point, or as many as it has.
fn amount(price: f64) -> String {
    let short = format!("{price:.2}");
    match short.parse::<f64>() {
        Ok(same) if (same - price).abs() < 1e-9 => short,
        _ => format!("{price}"),
    }
}
