//! The models that are copied from the list of pi's package into the catalog.

use std::collections::BTreeMap;

use llm_providers::ApiProtocol;
use llm_providers::catalog::Catalog;
use serde_json::{Map, Value, json};

use crate::integrations;
use crate::run::{Outcome, read, root};

const PACKAGE: &str = "node_modules/@earendil-works/pi-ai";
const OUTPUT: &str = "crates/llm-providers/src/catalog/generated.json";

/// Parts of ids that are no models for a session: other media, other ways to call, names that stand for others.
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
        (
            provider.name.as_str(),
            names,
            provider.wires.keys().collect(),
        )
    });
    let clouds = CLOUDS.map(|name| (name, vec![name.to_owned()], Vec::new()));
    for (provider, names, wires) in own.chain(clouds) {
        let list = names.iter().find_map(|name| {
            std::fs::read_to_string(folder.join(format!("dist/providers/data/{name}.json"))).ok()
        });
        let Some(list) = list else { continue };
        let own = providers.entry(provider.to_owned()).or_default();
        let list = json_of(&list)?;
        for models in list.as_object().into_iter().flat_map(Map::values) {
            for (id, model) in models.as_object().into_iter().flatten() {
                if let Some(row) = row(id, model, &wires) {
                    own.insert(id.clone(), row);
                }
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

/// Returns what the catalog keeps of a model, or `None` where it is none for a session. A price of 0 for the cache means
/// that there is none; a model without any price is free only where its id says so.
fn row(id: &str, model: &Value, wires: &[&ApiProtocol]) -> Option<Value> {
    if id.starts_with('~') || LEFT_OUT.iter().any(|part| id.contains(part)) {
        return None;
    }
    let window = model["contextWindow"]
        .as_u64()
        .filter(|size| *size >= 4000)?;
    let mut row = Map::new();
    if model["compat"]["forceAdaptiveThinking"] == true && model["api"] == "anthropic-messages" {
        row.insert("adaptiveThinking".to_owned(), json!(true));
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
    let mut wires = wires.iter();
    if let Some(wire) = wires.find(|wire| model["api"] == wire.api()) {
        row.insert("wire".to_owned(), json!(wire));
    }
    Some(Value::Object(row))
}

/// Returns one tier of prices, or `None` where the list has no usable ones.
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

/// Returns a price to a millionth of a dollar, whole where it is.
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
