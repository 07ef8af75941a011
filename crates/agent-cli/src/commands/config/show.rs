//! `config show`: the values in force, and where each comes from.

use clap::Args;
use serde_json::{Value, json};

use super::{named, value_text, visible};
use crate::commands::Outcome;
use crate::error::Error;
use crate::options::Global;
use crate::ui::{DIM, clean, columns, first_line, padded, styled};
use agent_settings::{KeyPath, Layer, Loaded, Origin, values};

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
pub(super) struct Row {
    pub path: KeyPath,
    pub value: Value,
    pub origin: Origin,
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
    let document = json!({ "settings": rows.iter().map(Row::json).collect::<Vec<_>>() });
    if rows.is_empty() {
        let reason = match args.changed {
            true => "no setting differs from what is built in".to_owned(),
            false => format!("{meant} is not set"),
        };
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    Ok(Outcome::done(&document, text(&rows)))
}

/// Returns the settings that are meant, in the order in which the types declare them.
pub(super) fn rows(loaded: &Loaded, meant: &KeyPath) -> Vec<Row> {
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
