//! The models that are copied from the list of pi's package into the catalog.

use std::collections::BTreeMap;

use llm_catalog::Catalog;
use llm_providers::{ApiProtocol, ProviderInfo, Reasoning, ReasoningField};
use serde_json::{Map, Value, json};

use crate::integrations;
use crate::run::{Outcome, read, root};

const PACKAGE: &str = "node_modules/@earendil-works/pi-ai";
const OUTPUT: &str = "crates/llm-catalog/src/generated.json";

/// The models with cache marks over Converse (docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html).
const CACHING: [&str; 4] = [
    "amazon.nova-micro-v1",
    "amazon.nova-lite-v1",
    "amazon.nova-pro-v1",
    "amazon.nova-premier-v1",
];

/// Parts of ids that are no models for a session: other media, other APIs, and aliases.
const LEFT_OUT: [&str; 8] = [
    ":batch",
    "-audio",
    "-image",
    "-live",
    "computer-use",
    "deep-research",
    "realtime",
    "voxtral",
];

/// Providers that the catalog has with features of the build alone.
const CLOUDS: [&str; 2] = ["amazon-bedrock", "google-vertex"];

/// Writes the catalog's copy of the list: the models of our providers, with the fields that we use.
pub fn run() -> Outcome {
    let folder = integrations::install_pi()?.join(PACKAGE);
    let package = json_of(&read(&folder.join("package.json"))?)?;
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    let manifest = json_of(&read(&folder.join("dist/providers/data/.manifest.json"))?)?;
    let date = manifest["generatedAt"]
        .as_str()
        .and_then(|time| time.get(..10));
    let date = date.ok_or("the manifest of the list has no date")?;
    let mut lines = vec![
        "{".to_owned(),
        format!(
            "\"source\":{},",
            json!(format!("{} {}", text("name"), text("version")))
        ),
        format!("\"license\":{},", json!(text("license"))),
        format!("\"date\":{},", json!(date)),
        "\"models\":{".to_owned(),
    ];
    let mut providers: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    let catalog = Catalog::embedded();
    let own = catalog.providers().map(|provider| {
        let mut names = provider.aliases.clone();
        names.push(provider.name.clone());
        (provider.name.as_str(), names, Some(provider))
    });
    let clouds = CLOUDS.map(|name| (name, vec![name.to_owned()], None));
    let claude = adaptive(&json_of(&read(
        &folder.join("dist/providers/data/anthropic.json"),
    )?)?);
    for (provider, names, info) in own.chain(clouds) {
        let list = names.iter().find_map(|name| {
            std::fs::read_to_string(folder.join(format!("dist/providers/data/{name}.json"))).ok()
        });
        let Some(list) = list else { continue };
        let own = providers.entry(provider.to_owned()).or_default();
        let list = json_of(&list)?;
        for model in models(&list) {
            if let Some((id, row)) = row(model, info, &claude) {
                own.insert(id, row);
            }
        }
    }
    let mut count = 0;
    let last = providers.len();
    for (place, (provider, models)) in providers.into_iter().enumerate() {
        count += models.len();
        lines.push(format!("{}:{{", json!(provider)));
        let rows = models
            .iter()
            .map(|(id, row)| format!("{}:{row}", json!(id)));
        lines.push(rows.collect::<Vec<_>>().join(",\n"));
        lines.push(if place + 1 < last { "}," } else { "}" }.to_owned());
    }
    lines.push("}\n}\n".to_owned());
    let path = root().join(OUTPUT);
    std::fs::write(&path, lines.join("\n"))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {count} models to {OUTPUT}");
    Ok(())
}

fn json_of(text: &str) -> Outcome<Value> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Returns the models of a file of the list.
fn models(list: &Value) -> impl Iterator<Item = &Value> {
    let groups = list.as_object().into_iter().flat_map(Map::values);
    groups.filter_map(Value::as_object).flat_map(Map::values)
}

/// Returns Claude's models, and whether each takes a level for its thinking. Clouds put their own words around the ids.
fn adaptive(list: &Value) -> BTreeMap<String, bool> {
    let models = models(list);
    let flags = models.filter_map(|model| {
        let id = model["id"].as_str()?.to_owned();
        Some((id, model["compat"]["forceAdaptiveThinking"] == true))
    });
    flags.collect()
}

/// Returns the id of a model and its row in the catalog, or `None` if it is not one for a session. A price of 0 for the
/// cache means that there is none; a model without any price is free only if its id says so.
fn row(
    model: &Value,
    provider: Option<&ProviderInfo>,
    claude: &BTreeMap<String, bool>,
) -> Option<(String, Value)> {
    let id = model["id"].as_str()?;
    let chat = model["type"] == "chat" || model["type"].is_null();
    if !chat || id.starts_with('~') || LEFT_OUT.iter().any(|part| id.contains(part)) {
        return None;
    }
    let window = model["contextWindow"]
        .as_u64()
        .filter(|size| *size >= 4000)?;
    let mut row = Map::new();
    let api = model["api"].as_str().unwrap_or_default();
    let reasons = model["reasoning"] == true;
    let by_level = match api {
        "anthropic-messages" => model["compat"]["forceAdaptiveThinking"] == true,
        "google-generative-ai" | "google-vertex" => model["thinkingLevelMap"].is_object(),
        "bedrock-converse-stream" => {
            let known = claude.iter().filter(|(name, _)| id.contains(name.as_str()));
            known
                .max_by_key(|(name, _)| name.len())
                .is_some_and(|(_, flag)| *flag)
        }
        _ => false,
    };
    if by_level {
        row.insert("adaptiveThinking".to_owned(), json!(true));
    }
    let mut wires = provider
        .into_iter()
        .flat_map(|provider| provider.wires.keys());
    let wire = wires.find(|wire| api == wire.api());
    if reasons && let Some(compat) = provider.and_then(|provider| compat(model, provider, wire)) {
        row.insert("compat".to_owned(), compat);
    }
    if CACHING.iter().any(|family| id.contains(family)) {
        row.insert("compat".to_owned(), json!({"cacheControl": "always"}));
    }
    if reasons && let Some(levels) = levels(model, api) {
        row.insert("levels".to_owned(), levels);
    }
    let inputs = model["input"].as_array();
    if inputs.is_some_and(|inputs| inputs.contains(&json!("image"))) {
        row.insert("images".to_owned(), json!(true));
    }
    if let Some(cap) = model["maxTokens"].as_u64().filter(|cap| *cap > 0) {
        row.insert("maxOutput".to_owned(), json!(cap.min(window)));
    }
    let tiers = model["cost"]["tiers"].as_array().into_iter().flatten();
    let tiers = tiers.filter_map(tier);
    let tiers: Vec<Value> = tier(&model["cost"]).into_iter().chain(tiers).collect();
    if tiers[..].iter().any(|tier| tier["output"] != 0) || id.ends_with(":free") {
        row.insert("prices".to_owned(), Value::Array(tiers));
    }
    if model["reasoning"] == true {
        row.insert("reasoning".to_owned(), json!(true));
    }
    row.insert("window".to_owned(), json!(window));
    if let Some(wire) = wire {
        row.insert("wire".to_owned(), json!(wire));
    }
    Some((id.to_owned(), Value::Object(row)))
}

/// Returns the levels of thinking that the model takes, if the list has them. A level that is mapped to another one
/// does not count; a model whose effort cannot be set either thinks or does not.
fn levels(model: &Value, api: &str) -> Option<Value> {
    let map = model["thinkingLevelMap"].as_object();
    if map.is_none() && !api.starts_with("google") {
        return None;
    }
    let graded = api != "openai-completions" || model["compat"]["supportsReasoningEffort"] != false;
    let minimal = !matches!(api, "anthropic-messages" | "bedrock-converse-stream");
    let taken = |level: &&str| match map.and_then(|map| map.get(*level)) {
        None => match *level {
            "xhigh" | "max" => false,
            "off" | "high" => true,
            "minimal" => graded && minimal,
            _ => graded,
        },
        Some(Value::String(word)) if *level == "off" => matches!(word.as_str(), "none" | "off"),
        Some(word) => word
            .as_str()
            .is_some_and(|word| word.eq_ignore_ascii_case(level)),
    };
    let names = Reasoning::LEVELS.map(Reasoning::name);
    let levels: Vec<&str> = names.iter().copied().filter(|name| taken(name)).collect();
    Some(json!(levels))
}

/// Returns the differences from the provider's other models over Chat Completions.
fn compat(model: &Value, provider: &ProviderInfo, wire: Option<&ApiProtocol>) -> Option<Value> {
    if model["api"] != "openai-completions" {
        return None;
    }
    let usual = match wire {
        Some(wire) => &provider.wires[wire],
        None => &provider.compat,
    };
    let said = &model["compat"];
    let field = match said["thinkingFormat"].as_str() {
        Some("zai" | "deepseek") => ReasoningField::Thinking,
        Some("qwen") => ReasoningField::EnableThinking,
        Some("openrouter" | "ant-ling") => ReasoningField::ReasoningObject,
        Some("together") => ReasoningField::ReasoningEnabled,
        Some("openai") | None if said["supportsReasoningEffort"] != false => {
            ReasoningField::ReasoningEffort
        }
        _ => ReasoningField::None,
    };
    let mut differs = Map::new();
    if field != usual.reasoning_field {
        differs.insert("reasoningField".to_owned(), json!(field));
    }
    let replays = said["requiresReasoningContentOnAssistantMessages"] == true;
    if replays && !usual.replays_reasoning {
        differs.insert("replaysReasoning".to_owned(), json!(true));
    }
    (!differs.is_empty()).then_some(Value::Object(differs))
}

/// Returns one tier of prices, or `None` if the list has no usable ones.
fn tier(cost: &Value) -> Option<Value> {
    let mut tier = Map::new();
    if let Some(above) = cost["inputTokensAbove"].as_u64() {
        tier.insert("above".to_owned(), json!(above));
    }
    for field in ["cacheRead", "cacheWrite"] {
        if let Some(price) = cost[field].as_f64().filter(|price| *price > 0.0) {
            tier.insert(field.to_owned(), number(price));
        }
    }
    for field in ["input", "output"] {
        let price = cost[field].as_f64().filter(|price| *price >= 0.0)?;
        tier.insert(field.to_owned(), number(price));
    }
    Some(Value::Object(tier))
}

/// Returns a price rounded to a millionth of a dollar, as an integer if it is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "prices are small and not negative"
)]
fn number(price: f64) -> Value {
    let price = (price * 1e6).round() / 1e6;
    match price.fract() == 0.0 {
        true => json!(price as u64),
        false => json!(price),
    }
}
