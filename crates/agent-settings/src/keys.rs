//! Every key that there is: what it means, what it may be, what it is unless set.

use llm_catalog::{ModelOverride, ProviderOverride};
use llm_providers::CompatOverride;
use serde::Serialize;
use serde_json::Value;
use session_model::json::Members;

use crate::path::{KeyPath, Step};
use crate::schema;
use crate::{AppSettings, HookSetting, ServerSetting};

/// A setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Key {
    /// Its dotted name, with the placeholders `NAME` and `PROVIDER/MODEL` for names that the user chooses.
    #[serde(rename = "key")]
    pub name: String,
    /// The meaning of the setting.
    pub meaning: String,
    /// The allowed values, as text.
    pub allowed: String,
    /// The default value; null if there is none.
    pub default: Value,
}

/// The placeholder for the name of a provider, a hook or a server.
const ANY_NAME: &str = "NAME";
/// The number of suggested keys of the same name.
const MOST: usize = 3;
/// The placeholder for the name of a model.
const ANY_MODEL: &str = "PROVIDER/MODEL";

/// Returns every key, in the order in which the types declare them.
pub fn keys() -> Vec<Key> {
    let schema = schema::known();
    let provider = ProviderOverride {
        compat: Some(CompatOverride::default()),
        ..ProviderOverride::default()
    };
    let sample = AppSettings {
        providers: [(ANY_NAME.to_owned(), provider)].into(),
        models: [(ANY_MODEL.to_owned(), ModelOverride::default())].into(),
        hooks: [(ANY_NAME.to_owned(), HookSetting::default())].into(),
        mcp_servers: [(ANY_NAME.to_owned(), ServerSetting::default())].into(),
        ..AppSettings::default()
    };
    let keys = values(&sample).into_iter().map(|(path, default)| {
        let node = schema::find(schema, &path).unwrap_or_default();
        Key {
            name: path.to_string(),
            meaning: node["description"].as_str().unwrap_or_default().to_owned(),
            allowed: schema::allowed(&node),
            default,
        }
    });
    keys.collect()
}

/// Returns the keys that a path means: the key itself, or those inside a group such as `compaction.prune`; names that
/// the user chooses match their placeholders.
pub fn keys_of(path: &KeyPath) -> Vec<Key> {
    let general = general(path);
    let keys = keys().into_iter();
    let within = |key: &Key| KeyPath::parse(&key.name).is_some_and(|own| own.is_within(&general));
    let found: Vec<Key> = keys.filter(within).collect();
    if !found.is_empty() {
        return found;
    }
    // A header of the user, or an item of a list: the description of the group around it applies to it too.
    let Some(node) = schema::find(schema::known(), &general) else {
        return Vec::new();
    };
    let around = |key: &Key| KeyPath::parse(&key.name).is_some_and(|own| general.is_within(&own));
    let keys = self::keys().into_iter().filter(around);
    keys.map(|key| Key {
        name: general.to_string(),
        allowed: schema::allowed(&node),
        default: Value::Null,
        ..key
    })
    .collect()
}

/// Returns a path with placeholders in place of the names that the user chooses.
pub(crate) fn general(path: &KeyPath) -> KeyPath {
    let mut path = path.clone();
    let stands = match path.0.first() {
        Some(Step::Name(name)) if ["providers", "hooks", "mcpServers"].contains(&name.as_str()) => {
            ANY_NAME
        }
        Some(Step::Name(name)) if name == "models" => ANY_MODEL,
        Some(_) | None => return path,
    };
    if let Some(step) = path.0.get_mut(1) {
        *step = Step::Name(stands.to_owned());
    }
    path
}

/// Returns every value of settings with its path, in the order in which the types declare them; a list is one value.
/// Providers and models contribute only the values that are set.
pub fn values(settings: &AppSettings) -> Vec<(KeyPath, Value)> {
    fn collect(raw: &str, path: &KeyPath, found: &mut Vec<(KeyPath, Value)>) {
        // The text has the members in the order of the types; a tree would sort them.
        match Members::parse(raw) {
            Some(members) if !members.0.is_empty() => {
                for (name, value) in &members.0 {
                    collect(value.get(), &path.member(name), found);
                }
            }
            Some(_) | None => {
                found.push((path.clone(), serde_json::from_str(raw).unwrap_or_default()));
            }
        }
    }
    let text = serde_json::to_string(settings).unwrap_or_default();
    let mut found = Vec::new();
    collect(&text, &KeyPath::default(), &mut found);
    found
}

/// Returns the existing key that is nearest to an unknown one.
pub(crate) fn nearest_key(path: &KeyPath) -> Option<String> {
    let (around, name) = path.split()?;
    let schema = schema::known();
    let siblings = schema::members(schema, &around);
    let siblings = siblings.iter().map(String::as_str);
    let siblings = siblings.filter(|name| *name != "$schema");
    if let Some(near) = llm_catalog::nearest(name, siblings).first() {
        return Some(around.member(near.as_str()).to_string());
    }
    // The right name in the wrong place, or a dotted key where names are nested.
    let same = |key: &Key| {
        let own = KeyPath::parse(&key.name);
        let last = own.as_ref().and_then(KeyPath::split);
        key.name == name || last.is_some_and(|(_, last)| last.eq_ignore_ascii_case(name))
    };
    let mut names: Vec<String> = keys()
        .into_iter()
        .filter(same)
        .map(|key| key.name)
        .collect();
    names.truncate(MOST);
    (!names.is_empty()).then(|| names.join(" or "))
}

/// Returns the table of the keys as Markdown, without those of providers and models. The allowed values are added if
/// the meaning does not contain them: choices, and bounds that are not obvious.
pub fn key_table() -> String {
    let mut table = String::from("| key | default | meaning |\n|---|---|---|\n");
    for key in keys() {
        if key.name.starts_with("providers.") || key.name.starts_with("models.") {
            continue;
        }
        let default = match &key.default {
            Value::Null => String::new(),
            value => format!("`{value}`"),
        };
        let meaning = key.meaning.trim_end_matches('.');
        let mut choices = key.allowed.split('"').skip(1).step_by(2);
        let number = key.allowed.trim_start_matches("a whole number");
        let number = number.trim_start_matches(" from ").trim_start_matches(", ");
        let is_obvious = ["", "0 or more", "at least 1"].contains(&number);
        let allowed = match number == key.allowed {
            true if choices.any(|choice| !meaning.contains(choice)) => {
                format!(" ({})", key.allowed)
            }
            false if !is_obvious => format!(" ({number})"),
            _ => String::new(),
        };
        let meaning = format!("{meaning}{allowed}").replace('|', "\\|");
        table.push_str(&format!("| `{}` | {default} | {meaning} |\n", key.name));
    }
    table
}
