//! Settings from a file and from the command line.

use std::path::Path;

use compaction_core::Settings;
use serde_json::{Map, Value};

use crate::error::Error;

/// Returns the settings: defaults, then the file, then each `KEY=VALUE`.
pub fn load(file: Option<&Path>, set: &[String]) -> Result<Settings, Error> {
    let mut tree = match file {
        Some(path) => read(path)?,
        None => Value::Object(Map::new()),
    };
    let origin = file.map_or_else(|| "--set".to_owned(), |path| path.display().to_string());
    for pair in set {
        let Some((key, value)) = pair.split_once('=') else {
            let text = format!("--set {pair} has no value; write --set KEY=VALUE");
            return Err(Error::Usage(text));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        place(&mut tree, key, value)?;
    }
    let settings: Settings = serde_path_to_error::deserialize(&tree).map_err(|error| {
        let key = error.path().to_string();
        let reason = error.inner().to_string();
        let reason = reason.replace("expected u64", "expected a whole number, 0 or more");
        Error::Usage(match key.as_str() {
            "." => format!("settings ({origin}): {reason}"),
            key => format!("settings ({origin}): {key}: {reason}"),
        })
    })?;
    let checked = settings.check();
    checked.map_err(|error| Error::Usage(format!("settings ({origin}): {error}")))?;
    Ok(settings)
}

fn read(path: &Path) -> Result<Value, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::Usage(format!("cannot read settings {}: {error}", path.display()))
    })?;
    let tree: Value = serde_json::from_str(&text)
        .map_err(|error| Error::Usage(format!("settings {}: {error}", path.display())))?;
    match tree {
        Value::Object(_) => Ok(tree),
        _ => Err(Error::Usage(format!(
            "settings {}: must be a JSON object",
            path.display()
        ))),
    }
}

/// Sets the member that a dotted key names.
fn place(tree: &mut Value, key: &str, value: Value) -> Result<(), Error> {
    let mut at = tree;
    let mut names = key.split('.').peekable();
    while let Some(name) = names.next() {
        let Value::Object(members) = at else {
            let text = format!("--set {key}: {name} is inside a value that is no object");
            return Err(Error::Usage(text));
        };
        if names.peek().is_none() {
            members.insert(name.to_owned(), value);
            return Ok(());
        }
        let slot = members.entry(name.to_owned());
        at = slot.or_insert_with(|| Value::Object(Map::new()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::load;

    fn set(pairs: &[&str]) -> Result<compaction_core::Settings, String> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        load(None, &pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn dotted_keys_reach_nested_settings() {
        let settings = set(&[
            "compaction.keepRecentTokens=8000",
            "compaction.strategy=prune-only",
            "branchSummary.reserveTokens=100",
        ]);
        let settings = settings.unwrap_or_default();
        assert_eq!(settings.compaction.keep_recent_tokens.0, 8000);
        assert_eq!(settings.compaction.strategy.name(), "prune-only");
        assert_eq!(settings.branch_summary.reserve_tokens.0, 100);
    }

    #[test]
    fn errors_name_key_value_and_what_is_allowed() {
        let said = |pairs: &[&str]| set(pairs).err().unwrap_or_default();
        assert!(said(&["compaction.keepRecentToken=1"]).contains("compaction.keepRecentToken"));
        assert!(said(&["compaction.strategy=best"]).contains("context-full"));
        let percent = said(&["compaction.thresholdPercent=200"]);
        assert!(
            percent.contains("200") && percent.contains("at most 100"),
            "{percent}"
        );
        assert!(said(&["compaction"]).contains("KEY=VALUE"));
        assert!(said(&["compaction.keepRecentTokens=-1"]).contains("keepRecentTokens"));
    }
}
