//! `config explain`: what a setting means, what it may be, what it is and why.

use std::num::NonZeroU64;

use clap::Args;
use compaction_core::{Threshold, TokenCount, threshold};
use serde_json::json;

use super::show::{Row, rows};
use super::{named, value_text};
use crate::commands::Outcome;
use crate::error::Error;
use crate::options::{Global, WindowArgs, tokens_at_least_one};
use crate::ui::{BOLD, DIM, clean, columns, padded, styled};
use agent_settings::{Key, KeyPath, Loaded, keys, keys_of};

/// Arguments of `config explain`.
#[derive(Debug, Args)]
pub struct ConfigExplainArgs {
    /// The setting, or what it is inside of.
    pub key: Option<String>,
    /// With a key that decides when to compact: reckon for a model of this window; 200000 unless given.
    #[arg(
        long,
        value_name = "TOKENS",
        requires = "key",
        value_parser = tokens_at_least_one,
        allow_negative_numbers = true
    )]
    pub window: Option<NonZeroU64>,
}

/// The settings that decide when to compact.
const OF_THRESHOLD: [&str; 5] = [
    "compaction.reserveTokens",
    "compaction.keepRecentTokens",
    "compaction.thresholdPercent",
    "compaction.thresholdTokens",
    "compaction.background.atPercent",
];

pub(super) fn run(args: &ConfigExplainArgs, global: &Global) -> Result<Outcome, Error> {
    let Some(key) = &args.key else {
        return Ok(list(&keys()));
    };
    let path = named(key)?;
    let keys = keys_of(&path);
    let decides = keys
        .iter()
        .any(|key| OF_THRESHOLD.contains(&key.name.as_str()));
    if args.window.is_some() && !decides {
        return Err(Error::Usage(format!(
            "--window says nothing about {path}; it goes with {}",
            OF_THRESHOLD.join(", ")
        )));
    }
    let [key] = keys.as_slice() else {
        return Ok(list(&keys));
    };
    let loaded = global.load_layers()?;
    let window = WindowArgs {
        window: args.window,
    };
    let window = window.tokens();
    let settings = &loaded.settings.compaction.rules;
    let threshold = threshold(window, settings, &global.profile().rules());
    let threshold = threshold.filter(|_| decides);
    Ok(explained(key, &path, loaded, (window, threshold)))
}

/// Returns every key with one line.
fn list(keys: &[Key]) -> Outcome {
    let width = keys.iter().map(|key| columns(&key.name)).max();
    let width = width.unwrap_or_default();
    let lines = keys.iter().map(|key| {
        let name = styled(BOLD, &padded(&key.name, width));
        format!("{name}  {}\n", gist(&key.meaning))
    });
    let document = json!({ "settings": keys });
    Outcome::done(&document, lines.collect())
}

/// Returns what every key means, in one line each.
#[cfg(feature = "tui")]
pub(in crate::commands) fn meanings() -> std::collections::BTreeMap<String, String> {
    let keys = keys().into_iter();
    keys.map(|key| (key.name, gist(&key.meaning).to_owned()))
        .collect()
}

/// Returns the beginning of a meaning that makes sense alone.
fn gist(meaning: &str) -> &str {
    let ends = [";", ":", ". ", ", as "].map(|end| meaning.find(end));
    let end = ends.into_iter().flatten().min();
    meaning[..end.unwrap_or(meaning.len())].trim_end_matches('.')
}

fn explained(
    key: &Key,
    path: &KeyPath,
    loaded: &Loaded,
    (window, threshold): (TokenCount, Option<Threshold>),
) -> Outcome {
    let rows = rows(loaded, path);
    let mut document = json!(key);
    document["key"] = json!(path.to_string());
    let mut text = format!("{}\n", styled(BOLD, &clean(&path.to_string())));
    let mut line = |label: &str, value: &str| {
        let label = styled(DIM, &format!("{label:9}"));
        text.push_str(&format!("  {label} {value}\n"));
    };
    line("meaning", &key.meaning);
    line("allowed", &key.allowed);
    line("default", &value_text(&key.default));
    match rows.as_slice() {
        [] => line("value", "none"),
        rows => rows
            .iter()
            .for_each(|row| line("value", &value_line(row, path))),
    }
    // A group of the user's own names, such as headers, has no one value.
    let own = rows.iter().find(|row| row.path == *path);
    document["value"] = json!(own.map(|row| &row.value));
    document["origin"] = json!(own.map(|row| &row.origin));
    if let Some(threshold) = threshold {
        let explain = &threshold.explain;
        line(
            "threshold",
            &format!("{explain}; compaction is due above it"),
        );
        document["threshold"] = json!({
            "window": window,
            "tokens": threshold.tokens,
            "reserve": threshold.reserve,
            "explained": explain,
        });
    }
    Outcome::done(&document, text)
}

/// Returns the value of a row and where it comes from; below `path` with its key.
fn value_line(row: &Row, path: &KeyPath) -> String {
    let value = value_text(&row.value);
    let origin = clean(&row.origin.to_string());
    match row.path == *path {
        true => format!("{value} ({origin})"),
        false => format!("{} {value} ({origin})", clean(&row.path.to_string())),
    }
}
