//! Settings from a file and from the command line.

use std::collections::BTreeMap;
use std::path::Path;

use compaction_core::{BranchSummarySettings, CompactionSettings, Settings};
use llm_providers::catalog::{Catalog, CatalogError, ModelOverride, Overrides, ProviderOverride};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Error;

/// All settings of the program, as `settings.json` spells them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AppSettings {
    /// Compaction.
    pub compaction: CompactionSettings,
    /// Branch summaries.
    pub branch_summary: BranchSummarySettings,
    /// Changes to the catalog's providers, and new ones, by name.
    pub providers: BTreeMap<String, ProviderOverride>,
    /// Changes to the catalog's models, and new ones, by `provider/id`.
    pub models: BTreeMap<String, ModelOverride>,
    /// Waiting for models, and trying again.
    pub http: HttpWaits,
}

/// The settings under `http`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct HttpWaits {
    /// How long a connection may take, in seconds.
    pub connect_timeout_seconds: u64,
    /// How long a service may say nothing, in seconds.
    pub idle_timeout_seconds: u64,
    /// How long one answer may take, in seconds.
    pub total_timeout_seconds: u64,
    /// How often a request is sent in all.
    pub attempts: u32,
    /// How long all delays before new attempts of one request may take, in seconds.
    pub retry_budget_seconds: u64,
}

impl Default for HttpWaits {
    fn default() -> Self {
        Self {
            connect_timeout_seconds: 10,
            idle_timeout_seconds: 300,
            total_timeout_seconds: 3600,
            attempts: 5,
            retry_budget_seconds: 180,
        }
    }
}

impl HttpWaits {
    fn check(&self) -> Result<(), String> {
        let positive = [
            ("http.connectTimeoutSeconds", self.connect_timeout_seconds),
            ("http.idleTimeoutSeconds", self.idle_timeout_seconds),
            ("http.totalTimeoutSeconds", self.total_timeout_seconds),
            ("http.attempts", u64::from(self.attempts)),
        ];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((key, _)) => Err(format!("{key} is 0, but must be at least 1")),
            None => Ok(()),
        }
    }
}

impl AppSettings {
    /// Returns the settings of the algorithms.
    pub fn core(&self) -> Settings {
        Settings {
            compaction: self.compaction.clone(),
            branch_summary: self.branch_summary.clone(),
        }
    }

    /// Returns the catalog of providers and models as these settings change it, or the first setting that
    /// cannot be used; settings that were loaded can.
    pub fn catalog(&self) -> Result<Catalog, CatalogError> {
        Catalog::embedded().apply(&Overrides {
            providers: self.providers.clone(),
            models: self.models.clone(),
        })
    }

    fn check(&self) -> Result<(), String> {
        let core = self.core().check();
        core.map_err(|error| error.to_string())?;
        self.http.check()?;
        if self.providers.is_empty() && self.models.is_empty() {
            return Ok(());
        }
        let catalog = self.catalog();
        catalog.map(drop).map_err(|error| error.to_string())
    }
}

/// Returns the settings: defaults, then the file, then each `KEY=VALUE`.
pub fn load(file: Option<&Path>, set: &[String]) -> Result<AppSettings, Error> {
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
    let settings: AppSettings = serde_path_to_error::deserialize(&tree).map_err(|error| {
        let key = error.path().to_string();
        let reason = error.inner().to_string();
        let reason = reason.replace("expected u64", "expected a whole number, 0 or more");
        // What stands there may be a key.
        let reason = match key.contains(".headers") {
            true => "must be an object of texts".to_owned(),
            false => reason,
        };
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
    let names = names(key).ok_or_else(|| {
        Error::Usage(format!(
            "--set {key}: a name with dots stands in double quotes as a whole: models.\"a/b-1.0\".window"
        ))
    })?;
    let mut at = tree;
    let mut names = names.into_iter().peekable();
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

/// Returns the names of a dotted key; a name in double quotes may hold dots. `None` when the quotes do not fit.
fn names(key: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = key;
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (name, after) = quoted.split_once('"')?;
                match after.strip_prefix('.') {
                    Some(after) => (name, Some(after)),
                    None if after.is_empty() => (name, None),
                    None => return None,
                }
            }
            None => match rest.split_once('.') {
                Some((name, after)) => (name, Some(after)),
                None => (rest, None),
            },
        };
        if name.contains('"') {
            return None;
        }
        names.push(name);
        match after {
            Some(after) => rest = after,
            None => return Some(names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AppSettings, load, names};

    fn set(pairs: &[&str]) -> Result<AppSettings, String> {
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
        let settings = settings.unwrap_or_default().core();
        assert_eq!(settings.compaction.keep_recent_tokens.0, 8000);
        assert_eq!(settings.compaction.strategy.name(), "prune-only");
        assert_eq!(settings.branch_summary.reserve_tokens.0, 100);
    }

    #[test]
    fn quoted_names_hold_dots() {
        let parts = |key| names(key).unwrap_or_default();
        assert_eq!(parts("a.b"), ["a", "b"]);
        assert_eq!(
            parts(r#"models."a/b-1.0".window"#),
            ["models", "a/b-1.0", "window"]
        );
        assert_eq!(parts(r#""a.b""#), ["a.b"]);
        for key in [r#"a."b"#, r#"a."b"c"#, r#"a.b"c"#] {
            assert_eq!(names(key), None, "{key}");
        }
        let settings = set(&[r#"models."openai/gpt-6.2-sol".window=5000"#]).unwrap_or_default();
        let catalog = settings.catalog().unwrap_or_default();
        let model = catalog.model("openai/gpt-6.2-sol");
        let window = model.and_then(|model| model.capabilities.window);
        assert_eq!(window, Some(5000));
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

    #[test]
    fn what_stands_for_headers_is_not_repeated() {
        let said = set(&["providers.lab.headers=SECRET-0123456789"])
            .err()
            .unwrap_or_default();
        assert!(said.contains("providers.lab.headers"), "{said}");
        assert!(!said.contains("SECRET"), "{said}");
    }
}
