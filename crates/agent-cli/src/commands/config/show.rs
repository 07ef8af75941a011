//! `config show`: the values in force, and where each comes from.

use clap::Args;
use serde_json::{Value, json};

use super::{named, value_text, visible};
use crate::commands::Outcome;
use crate::error::Error;
use crate::options::Global;
use crate::ui::{DIM, clean, columns, first_line, padded, row, styled};
use agent_settings::{KeyPath, Layer, Loaded, Origin, keys_of, values};

/// Arguments of `config show`.
#[derive(Debug, Args)]
pub struct ConfigShowArgs {
    /// Show only this setting, or those inside it.
    pub key: Option<String>,
    /// Show only what is not as built in.
    #[arg(long)]
    pub changed: bool,
}

/// The widest column of values; a longer one is cut, unless it is the only one.
const VALUES: usize = 32;

/// A setting and its value.
struct Row {
    path: KeyPath,
    value: Value,
    origin: Origin,
}

pub(super) fn run(args: &ConfigShowArgs, global: &Global) -> Result<Outcome, Error> {
    let meant = match &args.key {
        Some(key) => named(key)?,
        None => KeyPath::default(),
    };
    let loaded = global.load_layers()?;
    let mut rows = rows(loaded, &meant);
    if args.changed {
        rows.retain(|row| row.origin.layer != Layer::Default);
    }
    let mut document = json!({ "settings": rows.iter().map(Row::json).collect::<Vec<_>>() });
    // A single key has one description, also where it is a group of the user's own names, such as headers.
    let keys = args.key.as_ref().map(|_| keys_of(&meant));
    let about = keys.as_deref().and_then(|keys| match keys {
        [key] => Some(key),
        _ => None,
    });
    if let Some(key) = about {
        document["about"] = json!(key);
    }
    if rows.is_empty() && args.changed {
        let reason = "no setting differs from what is built in".to_owned();
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    let mut text = text(&rows);
    if rows.is_empty() {
        text = format!("{}  none\n", clean(&meant.to_string()));
    }
    for (label, value) in about.iter().flat_map(|key| {
        let default = value_text(&key.default);
        [
            ("meaning", key.meaning.clone()),
            ("allowed", key.allowed.clone()),
            ("default", default),
        ]
    }) {
        text.push_str(&row("  ", label, &value));
    }
    Ok(Outcome::done(&document, text))
}

/// Returns what every key means, in one line each: the beginning of its meaning that makes sense alone.
#[cfg(feature = "tui")]
pub(in crate::commands) fn meanings() -> std::collections::BTreeMap<String, String> {
    let gist = |meaning: &str| {
        let ends = [";", ":", ". ", ", as "].map(|end| meaning.find(end));
        let end = ends.into_iter().flatten().min();
        meaning[..end.unwrap_or(meaning.len())]
            .trim_end_matches('.')
            .to_owned()
    };
    let keys = agent_settings::keys().into_iter();
    keys.map(|key| (key.name, gist(&key.meaning))).collect()
}

/// Returns the settings that are meant, in the order in which the types declare them.
fn rows(loaded: &Loaded, meant: &KeyPath) -> Vec<Row> {
    let of_users = ["providers", "models"].map(|name| KeyPath::of_names([name]));
    let values = values(&loaded.settings).into_iter();
    let rows = values.filter_map(|(path, value)| {
        // Of providers and models there is only what somebody said.
        let unsaid = value.is_null() && of_users.iter().any(|group| path.is_within(group));
        // Who asks for an item of a list sees the list.
        let meant = path.is_within(meant) || (value.is_array() && meant.is_within(&path));
        (meant && !unsaid).then(|| Row {
            origin: loaded.origin(&path.to_string()).clone(),
            value: visible(&path, value),
            path,
        })
    });
    rows.collect()
}

impl Row {
    fn json(&self) -> Value {
        json!({
            "key": self.path.to_string(),
            "value": self.value,
            "changed": self.origin.layer != Layer::Default,
            "origin": self.origin,
        })
    }
}

fn text(rows: &[Row]) -> String {
    let keys = rows.iter().map(|row| columns(&row.path.to_string()));
    let width = keys.max().unwrap_or_default();
    let whole = rows.len() == 1;
    let lines = rows.iter().map(|row| {
        let key = clean(&row.path.to_string());
        let value = value_text(&row.value);
        let value = match whole {
            true => value,
            false => first_line(&value, VALUES),
        };
        let origin = clean(&row.origin.to_string());
        let origin = match row.origin.layer == Layer::Default {
            true => styled(DIM, &origin),
            false => origin,
        };
        let (key, value) = (padded(&key, width), padded(&value, VALUES));
        format!("{key}  {value}  {origin}\n")
    });
    lines.collect()
}
