//! The sources of settings: the layers, and the files that are read.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::error::SettingsError;

/// The folder of a project's settings.
pub const PROJECT_FOLDER: &str = ".agent-cli";
/// The prefix of environment variables that set a value.
pub const VARIABLE_PREFIX: &str = "AGENT_CLI__";
/// The variable that names the folder of the global settings.
pub const CONFIG_DIR_VARIABLE: &str = "AGENT_CLI_CONFIG_DIR";

/// A layer of settings; each overrides those above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The built-in defaults.
    Default,
    /// The user's file.
    Global,
    /// The project's file.
    Project,
    /// A script.
    Script,
    /// The file of `--settings`.
    File,
    /// Variables of the environment.
    Environment,
    /// `--set`.
    Set,
}

impl Layer {
    /// Returns the name that JSON documents use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Global => "global",
            Self::Project => "project",
            Self::Script => "script",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Set => "set",
        }
    }
}

/// The origin of a setting's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file, the variable, the script or the option; `None` for what is built in.
    pub source: Option<String>,
    /// The line of the file.
    pub line: Option<usize>,
}

impl Origin {
    /// The built-in default.
    pub const DEFAULT: Self = Self {
        layer: Layer::Default,
        source: None,
        line: None,
    };
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source.as_deref().unwrap_or("default"))?;
        match self.line {
            Some(line) => write!(f, ", line {line}"),
            None => Ok(()),
        }
    }
}

/// The state of a file that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// It is read.
    Read,
    /// It is not there.
    Missing,
    /// Only a `settings.jsonl` is there, which is not read.
    Outdated,
}

/// A file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingsFile {
    /// Its layer.
    pub layer: Layer,
    /// The path where it is, or would be.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// The state of the file.
    pub state: FileState,
}

/// A path that is not Unicode is written as it is shown.
fn shown<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Everything that settings are taken from. Nothing else is looked at.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The folder in which the search for the project's file begins.
    pub cwd: Option<PathBuf>,
    /// The user's home, where that search ends.
    pub home: Option<PathBuf>,
    /// The folder of the global file.
    pub config_dir: Option<PathBuf>,
    /// The settings of a script, with what messages call it.
    pub extra: Option<(String, Value)>,
    /// The file of `--settings`.
    pub file: Option<PathBuf>,
    /// Variables of the environment that begin with [`VARIABLE_PREFIX`].
    pub env: Vec<(String, String)>,
    /// Each `KEY=VALUE` of `--set`.
    pub set: Vec<String>,
    /// Tells whether the user has cancelled, while a file is read that may be a pipe.
    pub is_cancelled: Option<fn() -> bool>,
}

impl Sources {
    /// Returns the sources of this process, with the file of `--settings` and each `KEY=VALUE` of `--set`.
    ///
    /// # Errors
    /// A variable that sets something and holds no text.
    pub fn of_process(file: Option<&Path>, set: &[String]) -> Result<Self, SettingsError> {
        let mut env = Vec::new();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else {
                continue;
            };
            if !name.starts_with(VARIABLE_PREFIX) {
                continue;
            }
            let Ok(value) = value.into_string() else {
                let text = format!("settings ({name}): the variable holds no UTF-8 text");
                return Err(SettingsError::Invalid(session_model::text::clean(&text)));
            };
            env.push((name, value));
        }
        let home = folder_of("HOME");
        #[cfg(windows)]
        let home = home.or_else(|| folder_of("USERPROFILE"));
        Ok(Self {
            cwd: std::env::current_dir().ok(),
            config_dir: config_dir(
                folder_of(CONFIG_DIR_VARIABLE),
                folder_of("XDG_CONFIG_HOME"),
                home.as_deref(),
            ),
            home,
            extra: None,
            file: file.map(Path::to_owned),
            env,
            set: set.to_vec(),
            is_cancelled: None,
        })
    }

    /// Returns the files that are looked at, in the order of their layers, whether or not they are there.
    pub fn files(&self) -> Vec<SettingsFile> {
        let mut files = Vec::new();
        if let Some(folder) = &self.config_dir {
            files.push(settings_file(folder, Layer::Global));
        }
        if let Some(folder) = self.project_folder() {
            files.push(settings_file(&folder, Layer::Project));
        }
        if let Some(path) = &self.file {
            files.push(SettingsFile {
                layer: Layer::File,
                path: path.clone(),
                state: match is_there(path) {
                    true => FileState::Read,
                    false => FileState::Missing,
                },
            });
        }
        files
    }

    /// Returns the folder of the project's settings: of the nearest folder that has any, else of the working
    /// directory itself.
    fn project_folder(&self) -> Option<PathBuf> {
        let cwd = self.cwd.as_ref()?;
        let found = self
            .project_candidates(cwd)
            .into_iter()
            .map(|folder| folder.join(PROJECT_FOLDER))
            .find(|folder| settings_file(folder, Layer::Project).state != FileState::Missing);
        let folder = match found {
            Some(folder) => folder,
            None if self.is_home(cwd) => return None,
            None => cwd.join(PROJECT_FOLDER),
        };
        // A user may keep the global settings in a folder of that name.
        let is_global = self
            .config_dir
            .as_ref()
            .is_some_and(|global| same_folder(global, &folder));
        (!is_global).then_some(folder)
    }

    /// Returns the working directory and those of its parents that belong to the same project: up to the one that
    /// holds `.git`, or below the home directory. Where there is neither, parents may be anybody's, such as `/tmp`,
    /// and only the working directory counts.
    fn project_candidates<'a>(&self, cwd: &'a Path) -> Vec<&'a Path> {
        let mut candidates = Vec::new();
        for folder in cwd.ancestors() {
            if self.is_home(folder) {
                return candidates;
            }
            candidates.push(folder);
            if folder.join(".git").exists() {
                return candidates;
            }
        }
        candidates.truncate(1);
        candidates
    }

    /// Returns the folders of a project from its root down to `workspace`, by the same rule; at least that one.
    pub fn project_folders(&self, workspace: &Path) -> Vec<PathBuf> {
        let candidates = self.project_candidates(workspace).into_iter().rev();
        let mut folders: Vec<PathBuf> = candidates.map(Path::to_owned).collect();
        if folders.is_empty() {
            folders.push(workspace.to_owned());
        }
        folders
    }

    fn is_home(&self, folder: &Path) -> bool {
        let home = self.home.as_ref();
        home.is_some_and(|home| same_folder(home, folder))
    }
}

/// The name of a settings file.
pub(crate) const SETTINGS_NAME: &str = "settings.json";
/// The name of a form that is no longer read.
pub(crate) const OUTDATED_NAME: &str = "settings.jsonl";

/// Returns the settings file of a folder.
fn settings_file(folder: &Path, layer: Layer) -> SettingsFile {
    let path = folder.join(SETTINGS_NAME);
    let state = match is_there(&path) {
        true => FileState::Read,
        false if is_there(&folder.join(OUTDATED_NAME)) => FileState::Outdated,
        false => FileState::Missing,
    };
    SettingsFile { layer, path, state }
}

/// Returns true if the path exists: as a file, a folder, a broken link, or an entry that cannot be read.
fn is_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        // A folder that cannot be read may contain the file.
        Err(error) => {
            error.kind() == std::io::ErrorKind::PermissionDenied
                && path.parent().is_some_and(Path::is_dir)
        }
    }
}

fn same_folder(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Returns the folder that a variable names, unless it is empty.
fn folder_of(variable: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    folder.filter(|folder| !folder.as_os_str().is_empty())
}

/// Returns the folder of the global settings: the one that was named, else one in the folder for configurations.
fn config_dir(
    named: Option<PathBuf>,
    xdg: Option<PathBuf>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    named.or_else(|| {
        // The specification of that variable says that relative paths are to be ignored.
        let base = xdg.filter(|folder| folder.is_absolute());
        let base = base.or_else(|| home.map(|home| home.join(".config")))?;
        Some(base.join("agent-cli"))
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Sources, config_dir};

    #[test]
    fn the_global_folder_is_named_or_where_configurations_are() {
        let folder = |named: &str, xdg: &str, home: &str| {
            let given = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
            config_dir(given(named), given(xdg), given(home).as_deref())
        };
        let is = |folder: Option<PathBuf>, want: &str| {
            assert_eq!(folder.as_deref(), Some(Path::new(want)));
        };
        is(folder("/named", "/xdg", "/home/u"), "/named");
        is(folder("", "/xdg", "/home/u"), "/xdg/agent-cli");
        is(folder("", "xdg", "/home/u"), "/home/u/.config/agent-cli");
        is(folder("", "", "/home/u"), "/home/u/.config/agent-cli");
        assert_eq!(folder("", "", ""), None);
    }

    #[test]
    fn the_search_stays_inside_the_project() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let deep = root.join("home/repo/src/deep");
        std::fs::create_dir_all(&deep).expect("folders");
        let candidates = |home: Option<&str>| {
            let sources = Sources {
                home: home.map(|home| root.join(home)),
                ..Sources::default()
            };
            let found = sources.project_candidates(&deep);
            let names = found
                .iter()
                .map(|folder| folder.strip_prefix(&root).expect("inside"));
            names.map(Path::to_owned).collect::<Vec<_>>()
        };
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(candidates(None), paths(&["home/repo/src/deep"]));
        assert_eq!(
            candidates(Some("home")),
            paths(&["home/repo/src/deep", "home/repo/src", "home/repo"])
        );
        assert_eq!(candidates(Some("home/repo/src/deep")), paths(&[]));
        std::fs::create_dir(root.join("home/repo/src/.git")).expect("a folder");
        assert_eq!(
            candidates(Some("home")),
            paths(&["home/repo/src/deep", "home/repo/src"])
        );
    }
}
