//! Merges the layers of settings, each checked by itself, so that an error names the place to fix.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use llm_catalog::CatalogError;
use serde_json::{Map, Value};
use session_model::text::clean;
use session_store::{ReadObserver, StoreError, read_stream};

use crate::AppSettings;
use crate::error::SettingsError;
use crate::fault;
use crate::path::KeyPath;
use crate::schema;
use crate::sources::{
    FileState, Layer, OUTDATED_NAME, Origin, SETTINGS_NAME, SettingsFile, Sources,
};
use crate::text::{Tree, merge};
use crate::variables::{self, loose};

/// Settings, and where each value comes from.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The settings.
    pub settings: AppSettings,
    /// The origin of each value that a layer sets, by its dotted key; a list is one value.
    pub origins: BTreeMap<String, Origin>,
}

impl Loaded {
    /// Returns the origin of a key's value.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::DEFAULT)
    }
}

/// A part of the settings: a file, a variable, one `--set`.
struct Part {
    layer: Layer,
    source: String,
    tree: Tree,
}

impl Part {
    fn origin(&self, path: &KeyPath) -> Origin {
        Origin {
            layer: self.layer,
            source: Some(self.source.clone()),
            line: self.tree.line(path),
        }
    }

    /// Returns an error about the value at a path.
    fn error(&self, path: &KeyPath, message: &str) -> SettingsError {
        let place = match (self.layer, self.tree.line(path)) {
            (_, Some(line)) => format!("settings {}, line {line}", self.source),
            (_, None) => format!("settings ({})", self.source),
        };
        usage(&format!("{place}: {message}"))
    }
}

/// Returns the settings of all layers: what is built in, the global file, the project's file, a script's settings, the
/// file of `--settings`, variables, `--set`. Objects are merged, everything else takes the place of what was there.
///
/// # Errors
/// [`SettingsError::Invalid`] with the file, the line and the key of what cannot be used.
pub fn load_layers(sources: &Sources) -> Result<Loaded, SettingsError> {
    let files = sources.files();
    let parts = parts(sources, &files)?;
    let mut tree = Value::Object(Map::new());
    let mut origins = BTreeMap::new();
    for part in &parts {
        match part.layer {
            Layer::Project => refuse_what_projects_may_not(part, "a project", sources)?,
            Layer::Script => refuse_what_projects_may_not(part, "a script", sources)?,
            Layer::Default | Layer::Global | Layer::File | Layer::Environment | Layer::Set => {}
        }
        check(&part.tree.value).map_err(|(path, message)| part.error(&path, &message))?;
        note_origins(part, &tree, &mut origins);
        merge(&mut tree, part.tree.value.clone());
    }
    let settings = read(&tree).map_err(|(_, message)| usage(&format!("settings: {message}")))?;
    if !(settings.providers.is_empty() && settings.models.is_empty()) {
        // A provider or a model may be completed by another layer.
        let catalog = settings.catalog();
        catalog.map_err(|error| catalog_error(&error, &parts))?;
    }
    let servers = agent_tools::mcp::check(&settings.mcp_servers);
    servers.map_err(|(key, message)| nearest_error(&key, &message, &parts))?;
    Ok(Loaded {
        settings,
        origins: origins
            .into_iter()
            .map(|(path, origin): (KeyPath, Origin)| (path.to_string(), origin))
            .collect(),
    })
}

/// Returns the settings in a tree, or the path and the error of an invalid value.
fn read(tree: &Value) -> Result<AppSettings, (KeyPath, String)> {
    if let Some(misplaced) = fault::of_misplaced(tree) {
        return Err(misplaced);
    }
    serde_path_to_error::deserialize(tree).map_err(|error| fault::of_reading(&error, tree))
}

/// Returns the path and the error of an invalid value in a tree.
pub(crate) fn check(tree: &Value) -> Result<(), (KeyPath, String)> {
    let checked = read(tree)?.check();
    checked.map_err(|(key, message)| (KeyPath::parse(&key).unwrap_or_default(), message))
}

/// Returns the parts in the order of their layers.
fn parts(sources: &Sources, files: &[SettingsFile]) -> Result<Vec<Part>, SettingsError> {
    let mut parts = Vec::new();
    // A requested file that is missing is an error.
    let read = |file: &&SettingsFile| file.state != FileState::Missing || file.layer == Layer::File;
    for file in files.iter().filter(read) {
        if file.state == FileState::Outdated {
            let old = file.path.with_file_name(OUTDATED_NAME);
            let text = format!(
                "settings {}: this form is not read; rename it to {SETTINGS_NAME} and write one JSON object",
                old.display()
            );
            return Err(usage(&text));
        }
        parts.push(Part {
            layer: file.layer,
            source: file.path.display().to_string(),
            tree: read_file(file, sources.is_cancelled.unwrap_or(|| false))?,
        });
    }
    if let Some((name, value)) = &sources.extra {
        parts.push(Part {
            layer: Layer::Script,
            source: name.clone(),
            tree: Tree::unplaced(value.clone()),
        });
    }
    for (name, path, value) in variables::set_by(&sources.env) {
        parts.push(Part {
            layer: Layer::Environment,
            source: name.to_owned(),
            tree: Tree::unplaced(path.tree(value)),
        });
    }
    for pair in &sources.set {
        let Some((key, value)) = pair.split_once('=') else {
            let text = format!("--set {pair} has no value; write --set KEY=VALUE");
            return Err(usage(&text));
        };
        let path = KeyPath::parse(key).ok_or_else(|| {
            usage(&format!(
                "--set {key}: put a name with dots in double quotes, as in models.\"a/b-1.0\".window"
            ))
        })?;
        parts.push(Part {
            layer: Layer::Set,
            source: "--set".to_owned(),
            tree: Tree::unplaced(path.tree(loose(value))),
        });
    }
    // A script's settings were added after the file of --settings.
    parts.sort_by_key(|part| part.layer);
    Ok(parts)
}

/// The most bytes of a settings file.
const LONGEST: u64 = 16_000_000;

/// How long a pipe may take to end.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Waits for a pipe, up to a time limit, or until the user cancels.
struct Waiting {
    since: Instant,
    is_cancelled: fn() -> bool,
}

impl ReadObserver for Waiting {
    fn read(&mut self, _: usize) -> Result<(), StoreError> {
        if (self.is_cancelled)() {
            return Err(StoreError::Cancelled);
        }
        match self.since.elapsed() > LONGEST_WAIT {
            true => Err(StoreError::usage(
                "nobody has written it to its end within a minute",
            )),
            false => Ok(()),
        }
    }
}

/// Returns what a file holds.
fn read_file(file: &SettingsFile, is_cancelled: fn() -> bool) -> Result<Tree, SettingsError> {
    let shown = file.path.display();
    let unreadable =
        |error: std::io::Error| usage(&format!("cannot read settings {shown}: {error}"));
    let found = std::fs::metadata(&file.path).map_err(unreadable)?;
    if found.is_dir() {
        let text = format!("settings {shown}: is a folder, but must be a file");
        return Err(usage(&text));
    }
    // A file that the user names may be a pipe; a file that is found must be a regular one, which ends.
    if !found.is_file() && file.layer != Layer::File {
        let text = format!("settings {shown}: is a device or a pipe, but must be a file");
        return Err(usage(&text));
    }
    let path = file.path.clone();
    let open = move || Ok(File::open(path)?.take(LONGEST + 1));
    let mut waiting = Waiting {
        since: Instant::now(),
        is_cancelled,
    };
    let read = read_stream(&file.path, open, &mut waiting);
    let bytes = read.map_err(|error| match error {
        StoreError::Cancelled => SettingsError::Cancelled,
        StoreError::Io { source, .. } => unreadable(source),
        other => usage(&format!("cannot read settings {shown}: {other}")),
    })?;
    if bytes.len() as u64 > LONGEST {
        let text = format!("settings {shown}: has more than 16 MB, but must be shorter");
        return Err(usage(&text));
    }
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        usage(&format!(
            "settings {shown}, line {line}: no UTF-8 text; save it in that encoding"
        ))
    })?;
    // Some editors mark a file as UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut tree = Tree::parse(text).map_err(|fault| {
        usage(&format!(
            "settings {shown}, line {}: {}",
            fault.line, fault.reason
        ))
    })?;
    if let Some(members) = tree.value.as_object_mut()
        && members.get("$schema").is_some_and(Value::is_string)
    {
        // It is there for editors.
        members.remove("$schema");
        tree.places.remove(&KeyPath::of_names(["$schema"]));
    }
    Ok(tree)
}

/// Records the origins of a part's values, and forgets those of the values that it replaces in `tree`.
fn note_origins(part: &Part, tree: &Value, origins: &mut BTreeMap<KeyPath, Origin>) {
    for path in leaves(&part.tree.value) {
        // An empty object changes nothing about an object that is there.
        let empty = path.find(&part.tree.value).is_some_and(Value::is_object);
        if empty && path.find(tree).is_some_and(Value::is_object) {
            continue;
        }
        origins.retain(|other, _| !other.is_within(&path) && !path.is_within(other));
        let origin = part.origin(&path);
        origins.insert(path, origin);
    }
}

/// Returns the paths of all values that are no objects with members.
pub(crate) fn leaves(tree: &Value) -> Vec<KeyPath> {
    fn collect(value: &Value, path: &KeyPath, found: &mut Vec<KeyPath>) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (name, value) in members {
                    collect(value, &path.member(name), found);
                }
            }
            Value::Object(_) if path.0.is_empty() => {}
            _ => found.push(path.clone()),
        }
    }
    let mut found = Vec::new();
    collect(tree, &KeyPath::default(), &mut found);
    found
}

/// Settings that a project or a script must not change: a cloned repository must not be able to send a key or a session
/// elsewhere, to choose its recipient, to send files there without a question, to let commands run, or to increase
/// costs.
const NOT_FOR_PROJECTS: [&[&str]; 21] = [
    &["model"],
    &["providers"],
    &["compaction", "model"],
    &["compaction", "fallbackModels"],
    &["compaction", "promotionModels"],
    &["compaction", "remoteEndpoint"],
    &["compaction", "remoteTokenEnv"],
    &["compaction", "remoteAllowInsecure"],
    &["tools", "bash"],
    &["tools", "enabled"],
    &["tools", "policies"],
    &["tools", "folders"],
    &["session", "dir"],
    &["session", "fallbackModel"],
    &["http"],
    &["limits", "turns"],
    &["limits", "costUsd"],
    &["hooks"],
    &["mcpServers"],
    &["instructions", "files"],
    &["instructions", "maxBytes"],
];

/// The settings of a model that a project or a script may change. Others, such as an address, are the user's alone.
const OF_MODELS_FOR_PROJECTS: [&str; 8] = [
    "window",
    "maxOutput",
    "tools",
    "images",
    "reasoning",
    "adaptiveThinking",
    "nativeStandalone",
    "nativeInBand",
];

/// Settings of addresses and keys, at any depth.
const ADDRESSES: [&str; 4] = ["baseUrl", "headers", "apiKeyEnv", "allowInsecure"];

/// Refuses settings that a project or a script may not set; `who` names which of them it is.
fn refuse_what_projects_may_not(
    part: &Part,
    who: &str,
    sources: &Sources,
) -> Result<(), SettingsError> {
    let refused = part.tree.places.iter().filter(|(path, _)| {
        let forbidden = NOT_FOR_PROJECTS
            .iter()
            .any(|key| path.names().is_some_and(|names| names == *key));
        let of_model = match path.names().as_deref() {
            Some(["models", _, member]) if !OF_MODELS_FOR_PROJECTS.contains(member) => {
                // An unknown name is an error, which parsing reports.
                ADDRESSES.contains(member) || schema::knows(path)
            }
            Some(_) | None => false,
        };
        forbidden || of_model
    });
    let Some((path, _)) = refused.min_by_key(|(_, line)| **line) else {
        return Ok(());
    };
    let global = match &sources.config_dir {
        Some(folder) => format!("the global file {}", folder.join("settings.json").display()),
        None => "the global settings file".to_owned(),
    };
    let message = format!("{who} may not set {path}; put it in {global}");
    Err(part.error(path, &message))
}

/// Returns what is wrong about a provider or a model.
fn catalog_error(error: &CatalogError, parts: &[Part]) -> SettingsError {
    let message = error.to_string();
    let CatalogError::Setting { key, .. } = error else {
        return usage(&format!("settings: {message}"));
    };
    nearest_error(key, &message, parts)
}

/// Returns what is wrong about a key, with the place of the newest part that is nearest to it.
fn nearest_error(key: &str, message: &str, parts: &[Part]) -> SettingsError {
    let near = parts.iter().filter_map(|part| {
        let path = part.tree.nearest_plain(key)?;
        Some((path.0.len(), part, path))
    });
    // Of several that are as near, the last one is the newest.
    match near.max_by_key(|(depth, _, _)| *depth) {
        Some((_, part, path)) => part.error(path, message),
        None => usage(&format!("settings: {message}")),
    }
}

/// Returns an error whose text cannot steer a terminal, because control characters are removed.
fn usage(text: &str) -> SettingsError {
    SettingsError::Invalid(clean(text))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{LONGEST_WAIT, ReadObserver, Waiting};

    #[test]
    fn a_pipe_is_not_waited_for_for_ever() {
        let now = Instant::now();
        let waiting = |since| Waiting {
            since,
            is_cancelled: || false,
        };
        assert!(waiting(now).read(0).is_ok());
        let since = now
            .checked_sub(LONGEST_WAIT)
            .expect("the machine runs longer");
        assert!(waiting(since).read(0).is_err());
    }
}
