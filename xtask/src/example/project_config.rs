//! Sources of the invented project, part config: `src/config/` before the rework.

/// `src/config/mod.rs`: everything in one file, by hand over `toml::Value`.
pub const MOD: &str = r#"
//! Configuration: one TOML file, overridden by the environment.

mod env;

use std::path::{Path, PathBuf};

use toml::Value;

use crate::error::{Error, Result};

#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) input: Input,
    pub(crate) parse: Parse,
    pub(crate) batch: Batch,
    pub(crate) output: Output,
    pub(crate) routes: Vec<Route>,
}

#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub paths: Vec<String>,
    pub exclude: Vec<String>,
    pub poll_ms: u64,
    pub checkpoint_dir: PathBuf,
    pub from_start: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Parse {
    pub format: String,
    pub multiline: String,
    pub multiline_idle_ms: u64,
    pub max_record_bytes: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub max_bytes: usize,
    pub max_age_ms: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub url: String,
    pub timeout_ms: u64,
    pub retries: u32,
    pub retry_delay_ms: u64,
    pub gzip: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    pub name: String,
    pub matches: Vec<(String, String)>,
    pub drop: bool,
}

impl Config {
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        Self::from_text(&text, std::env::vars())
    }

    pub(crate) fn from_text(text: &str, vars: impl Iterator<Item = (String, String)>) -> Result<Self> {
        let mut root: Value = text.parse().map_err(|e: toml::de::Error| Error::config("(file)", e.to_string()))?;
        env::apply(&mut root, vars)?;
        let input = root.get("input");
        let parse = root.get("parse");
        let batch = root.get("batch");
        let output = root.get("output");
        Ok(Config {
            input: Input {
                paths: strings(input, "paths").unwrap_or_default(),
                exclude: strings(input, "exclude").unwrap_or_default(),
                poll_ms: number(input, "poll_ms").unwrap_or(250),
                checkpoint_dir: text_of(input, "checkpoint_dir").unwrap_or("/var/lib/logferry".into()).into(),
                from_start: flag(input, "from_start").unwrap_or(false),
            },
            parse: Parse {
                format: text_of(parse, "format").unwrap_or("auto".into()),
                multiline: text_of(parse, "multiline").unwrap_or("off".into()),
                multiline_idle_ms: number(parse, "multiline_idle_ms").unwrap_or(500),
                max_record_bytes: number(parse, "max_record_bytes").unwrap_or(65536) as usize,
            },
            batch: Batch {
                max_bytes: number(batch, "max_bytes").unwrap_or(524288) as usize,
                max_age_ms: number(batch, "max_age_ms").unwrap_or(2000),
            },
            output: Output {
                url: text_of(output, "url").unwrap_or_default(),
                timeout_ms: number(output, "timeout_ms").unwrap_or(10000),
                retries: number(output, "retries").unwrap_or(3) as u32,
                retry_delay_ms: number(output, "retry_delay_ms").unwrap_or(1000),
                gzip: flag(output, "gzip").unwrap_or(true),
            },
            routes: routes(&root)?,
        })
    }
}

fn strings(section: Option<&Value>, key: &str) -> Option<Vec<String>> {
    let list = section?.get(key)?.as_array()?;
    Some(list.iter().filter_map(|v| v.as_str().map(String::from)).collect())
}

fn number(section: Option<&Value>, key: &str) -> Option<u64> {
    section?.get(key)?.as_integer().map(|n| n as u64)
}

fn text_of(section: Option<&Value>, key: &str) -> Option<String> {
    section?.get(key)?.as_str().map(String::from)
}

fn flag(section: Option<&Value>, key: &str) -> Option<bool> {
    section?.get(key)?.as_bool()
}

fn routes(root: &Value) -> Result<Vec<Route>> {
    let Some(list) = root.get("route").and_then(Value::as_array) else {
        return Ok(Vec::new());
    };
    let mut routes = Vec::new();
    for (i, item) in list.iter().enumerate() {
        let name = item.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| Error::config(&format!("route[{i}].name"), "missing"))?;
        let mut route = Route { name: name.to_string(), ..Route::default() };
        if let Some(table) = item.get("match").and_then(Value::as_table) {
            for (field, value) in table {
                let value = value.as_str().map(String::from).unwrap_or_else(|| value.to_string());
                route.matches.push((field.clone(), value));
            }
        }
        route.drop = item.get("drop").and_then(Value::as_bool).unwrap_or(false);
        routes.push(route);
    }
    Ok(routes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Config> {
        Config::from_text(text, std::iter::empty())
    }

    #[test]
    fn empty_file_gives_defaults() {
        let config = load("").unwrap();
        assert_eq!(config.output.retries, 3);
        assert_eq!(config.batch.max_bytes, 524288);
        assert!(config.output.gzip);
    }

    #[test]
    fn reads_every_section() {
        let config = load("[input]\npaths = [\"/a/*.log\"]\n[output]\nurl = \"http://c/\"\nretries = 7\n").unwrap();
        assert_eq!(config.input.paths, ["/a/*.log"]);
        assert_eq!(config.output.retries, 7);
    }

    #[test]
    fn route_without_a_name_is_an_error() {
        let error = load("[[route]]\ndrop = true\n").unwrap_err();
        assert_eq!(error.to_string(), "config key route[0].name: missing");
    }

    #[test]
    fn match_values_may_be_numbers() {
        let config = load("[[route]]\nname = \"slow\"\nmatch = { status = 504 }\n").unwrap();
        assert_eq!(config.routes[0].matches, [("status".to_string(), "504".to_string())]);
    }
}
"#;

/// `src/config/env.rs`: overrides from the environment.
pub const ENV: &str = r#"
//! `LOGFERRY_SECTION__KEY=value` overrides single keys of the file.

use toml::{Table, Value};

use crate::error::{Error, Result};

const PREFIX: &str = "LOGFERRY_";

/// Applies all matching variables, in name order so that the outcome does not depend on the environment's order.
pub(super) fn apply(root: &mut Value, vars: impl Iterator<Item = (String, String)>) -> Result<()> {
    let mut found: Vec<(String, String)> = vars
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?.to_ascii_lowercase(), value)))
        .collect();
    found.sort();
    for (name, value) in found {
        let Some((section, key)) = name.split_once("__") else {
            return Err(Error::config(&name, "environment override without a section"));
        };
        let table = root.as_table_mut().ok_or_else(|| Error::config("(file)", "not a table"))?;
        let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
        let section = section.as_table_mut().ok_or_else(|| Error::config(key, "section is not a table"))?;
        section.insert(key.to_string(), guess(&value));
    }
    Ok(())
}

/// Numbers and booleans keep their type; a comma makes a list; everything else is a string.
fn guess(value: &str) -> Value {
    if let Ok(number) = value.parse::<i64>() {
        return Value::Integer(number);
    }
    match value {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ if value.contains(',') => {
            Value::Array(value.split(',').map(|part| Value::String(part.trim().to_string())).collect())
        }
        _ => Value::String(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(vars: &[(&str, &str)]) -> Result<Value> {
        let mut root = Value::Table(Table::new());
        apply(&mut root, vars.iter().map(|(k, v)| (k.to_string(), v.to_string())))?;
        Ok(root)
    }

    #[test]
    fn sets_a_number() {
        let root = with(&[("LOGFERRY_OUTPUT__RETRIES", "9")]).unwrap();
        assert_eq!(root["output"]["retries"].as_integer(), Some(9));
    }

    #[test]
    fn splits_lists() {
        let root = with(&[("LOGFERRY_INPUT__PATHS", "/a.log, /b.log")]).unwrap();
        assert_eq!(root["input"]["paths"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn refuses_a_name_without_section() {
        assert!(with(&[("LOGFERRY_RETRIES", "9")]).is_err());
    }

    #[test]
    fn ignores_other_variables() {
        assert!(with(&[("PATH", "/bin")]).unwrap().as_table().unwrap().is_empty());
    }
}
"#;
