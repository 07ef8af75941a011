//! Models that `cargo xtask models` copied from a public list into `generated.json`.

use std::collections::BTreeMap;

use llm_providers::{
    ApiProtocol, Capabilities, CompatOverride, FactOrigin, Levels, ModelInfo, PriceTier,
};
use serde::Deserialize;

use super::embedded;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Generated {
    /// The package that ships the list, and its version.
    pub source: String,
    /// The licence of the package.
    pub license: String,
    /// The date of the package's list, as `YYYY-MM-DD`.
    pub date: String,
    /// The models by provider and id.
    pub models: BTreeMap<String, BTreeMap<String, Row>>,
}

/// The facts of the list about a model.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Row {
    wire: Option<ApiProtocol>,
    window: Option<u64>,
    max_output: Option<u64>,
    images: bool,
    reasoning: bool,
    adaptive_thinking: bool,
    levels: Option<Levels>,
    compat: CompatOverride,
    prices: Vec<PriceTier>,
}

pub(super) fn file() -> Generated {
    embedded("generated.json", include_str!("generated.json"))
}

/// Returns the models of the list. It names only models that call tools.
pub(super) fn models() -> impl Iterator<Item = ModelInfo> {
    let Generated {
        source,
        license,
        date,
        models,
    } = file();
    let source = format!("{source} ({license})");
    models.into_iter().flat_map(move |(provider, rows)| {
        let (source, date) = (source.clone(), date.clone());
        rows.into_iter().map(move |(id, row)| ModelInfo {
            wire: row.wire,
            capabilities: Capabilities {
                window: row.window,
                max_output: row.max_output,
                tools: true,
                images: row.images,
                reasoning: row.reasoning,
                adaptive_thinking: row.adaptive_thinking,
                levels: row.levels,
                ..Capabilities::default()
            },
            compat: row.compat,
            prices: row.prices,
            source: source.clone(),
            date: date.clone(),
            origin: FactOrigin::Generated,
            ..ModelInfo::unlisted(&provider, &id)
        })
    })
}
