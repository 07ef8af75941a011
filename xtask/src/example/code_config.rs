//! Code that the agent writes or removes in the config chapter.

/// `src/config/raw.rs` as first written.
pub const RAW: &str = r#"
//! The shape of the file: what serde reads, before checks. Unknown keys are errors.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use toml::Value;

use super::{Batch, Config, Input, Output, Parse, Route};
use crate::error::{Error, Result};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawConfig {
    input: RawInput,
    parse: RawParse,
    batch: RawBatch,
    output: RawOutput,
    route: Vec<RawRoute>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawInput {
    paths: Vec<String>,
    exclude: Vec<String>,
    poll_ms: u64,
    checkpoint_dir: PathBuf,
    from_start: bool,
}

impl Default for RawInput {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            exclude: Vec::new(),
            poll_ms: 250,
            checkpoint_dir: "/var/lib/logferry".into(),
            from_start: false,
        }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawParse {
    format: String,
    multiline: String,
    multiline_idle_ms: u64,
    max_record_bytes: usize,
}

impl Default for RawParse {
    fn default() -> Self {
        Self { format: "auto".into(), multiline: "off".into(), multiline_idle_ms: 500, max_record_bytes: 65_536 }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawBatch {
    max_bytes: usize,
    max_age_ms: u64,
}

impl Default for RawBatch {
    fn default() -> Self {
        Self { max_bytes: 524_288, max_age_ms: 2000 }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawOutput {
    url: String,
    timeout_ms: u64,
    retries: u32,
    retry_delay_ms: u64,
    gzip: bool,
}

impl Default for RawOutput {
    fn default() -> Self {
        Self { url: String::new(), timeout_ms: 10_000, retries: 3, retry_delay_ms: 1000, gzip: true }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRoute {
    name: String,
    #[serde(default, rename = "match")]
    matches: toml::Table,
    #[serde(default)]
    drop: bool,
}

/// Converts the merged tree; the message names the key.
pub(super) fn convert(root: Value) -> Result<Config> {
    let raw: RawConfig = root.try_into().map_err(|e: toml::de::Error| Error::config("(file)", e.message()))?;
    raw.check()?;
    Ok(raw.into_config())
}

impl RawConfig {
    fn check(&self) -> Result<()> {
        if self.batch.max_bytes < 1024 {
            return Err(Error::config("batch.max_bytes", "must be at least 1024"));
        }
        if self.output.timeout_ms == 0 {
            return Err(Error::config("output.timeout_ms", "must not be 0"));
        }
        for (i, route) in self.route.iter().enumerate() {
            if route.name.is_empty() || route.name.contains('/') {
                return Err(Error::config(&format!("route[{i}].name"), "must be non-empty and without '/'"));
            }
        }
        Ok(())
    }

    fn into_config(self) -> Config {
        Config {
            input: Input {
                paths: self.input.paths,
                exclude: self.input.exclude,
                poll: Duration::from_millis(self.input.poll_ms),
                checkpoint_dir: self.input.checkpoint_dir,
                from_start: self.input.from_start,
            },
            parse: Parse {
                format: self.parse.format,
                multiline: self.parse.multiline,
                multiline_idle: Duration::from_millis(self.parse.multiline_idle_ms),
                max_record_bytes: self.parse.max_record_bytes,
            },
            batch: Batch {
                max_bytes: self.batch.max_bytes,
                max_age: Duration::from_millis(self.batch.max_age_ms),
            },
            output: Output {
                url: self.output.url,
                timeout: Duration::from_millis(self.output.timeout_ms),
                retries: self.output.retries,
                retry_delay: Duration::from_millis(self.output.retry_delay_ms),
                gzip: self.output.gzip,
            },
            routes: self.route.into_iter().map(RawRoute::into_route).collect(),
        }
    }
}

impl RawRoute {
    fn into_route(self) -> Route {
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let matches = self.matches.into_iter().map(|(field, value)| (field, text(value))).collect();
        Route { name: self.name, matches, drop: self.drop }
    }
}
"#;

/// The body of `from_text` that goes.
pub const OLD_BODY: &str = r#"        let input = root.get("input");
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
}"#;

/// The getters that go.
pub const OLD_GETTERS: &str = r#"fn strings(section: Option<&Value>, key: &str) -> Option<Vec<String>> {
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

    fn load(text: &str)"#;
