//! The file that remembers answers, by project: read again for every question, changed under a lock, and never
//! overwritten if it cannot be parsed.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::rules::{Rule, RuleDecision, Rules};

/// The name of the file in the folder of the user's settings.
const NAME: &str = "approvals.json";

/// The version of its form.
const VERSION: u32 = 1;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 16_000_000;

/// The number of attempts to take the lock, and the time between two attempts.
const TRIES: usize = 100;
const BETWEEN: Duration = Duration::from_millis(20);

/// The remembered answers of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalStore {
    file: PathBuf,
    project: String,
}

/// The file as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    #[serde(default)]
    projects: BTreeMap<String, Rules>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            version: VERSION,
            projects: BTreeMap::new(),
        }
    }
}

impl ApprovalStore {
    /// Returns what is remembered in the folder `config` for the project in `root` (without links in its path), or why
    /// nothing can be.
    ///
    /// # Errors
    /// No folder for settings is known, or the path of the project is not UTF-8.
    pub fn of(config: Option<&Path>, root: &Path) -> Result<Self, String> {
        let config = config.ok_or(
            "there is no folder for settings to remember approvals in; set AGENT_CLI_CONFIG_DIR",
        )?;
        let project = root.to_str().ok_or_else(|| {
            let root = root.display();
            format!("approvals are not remembered for {root}: its name is not UTF-8 text")
        })?;
        Ok(Self {
            file: config.join(NAME),
            project: project.to_owned(),
        })
    }

    /// Returns the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the project.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Returns the rules of the project as they are in the file now, or why the file cannot be used.
    ///
    /// # Errors
    /// The file cannot be read, or has content that this program does not know.
    pub fn rules(&self) -> Result<Rules, String> {
        let mut contents = self.read()?;
        Ok(contents.projects.remove(&self.project).unwrap_or_default())
    }

    /// Adds a rule.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn add(&self, rule: Rule, rule_decision: RuleDecision) -> Result<(), String> {
        self.change(|rules| rules.add(rule, rule_decision))
    }

    /// Removes the rules that `gone` chooses; returns how many those were.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn forget(&self, gone: impl Fn(&Rule) -> bool) -> Result<usize, String> {
        self.change(|rules| {
            let before = rules.allow.len() + rules.deny.len();
            rules.allow.retain(|rule| !gone(rule));
            rules.deny.retain(|rule| !gone(rule));
            before - rules.allow.len() - rules.deny.len()
        })
    }

    /// Reads, changes and writes the rules of the project under the lock.
    fn change<T>(&self, change: impl FnOnce(&mut Rules) -> T) -> Result<T, String> {
        let folder = folder_of(&self.file);
        make_folder(folder).map_err(|error| self.fault("make the folder of", &error))?;
        let lock = self.lock()?;
        let mut contents = self.read()?;
        let before = contents.projects.get(&self.project).cloned();
        let mut rules = before.clone().unwrap_or_default();
        let outcome = change(&mut rules);
        if rules != before.unwrap_or_default() {
            match rules.is_empty() {
                true => contents.projects.remove(&self.project),
                false => contents.projects.insert(self.project.clone(), rules),
            };
            self.write(&contents)
                .map_err(|error| self.fault("write", &error))?;
        }
        drop(lock);
        Ok(outcome)
    }

    /// Takes the lock, which is released when the returned file is closed. It is held only briefly.
    fn lock(&self) -> Result<File, String> {
        let mut name = self.file.as_os_str().to_owned();
        name.push(".lock");
        let mut options = OpenOptions::new();
        options.create(true).read(true).write(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options
            .open(PathBuf::from(name))
            .map_err(|error| self.fault("lock", &error))?;
        for _ in 0..TRIES {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
                Err(TryLockError::Error(error)) => return Err(self.fault("lock", &error)),
            }
        }
        let file = self.file.display();
        Err(format!(
            "{file} is locked by another process; try again when it is done"
        ))
    }

    fn read(&self) -> Result<Contents, String> {
        let metadata = match std::fs::metadata(&self.file) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Contents::default());
            }
            Err(error) => return Err(self.fault("read", &error)),
        };
        let file = self.file.display();
        if !metadata.is_file() || metadata.len() > LARGEST {
            return Err(format!(
                "{file} is not a file of approvals; move it away to have answers remembered"
            ));
        }
        let mut text = String::new();
        let opened = File::open(&self.file);
        opened
            .and_then(|opened| opened.take(LARGEST).read_to_string(&mut text))
            .map_err(|error| self.fault("read", &error))?;
        let contents: Contents = serde_json::from_str(&text).map_err(|error| {
            format!("{file} cannot be understood ({error}); fix it or move it away to have answers remembered")
        })?;
        match contents.version {
            VERSION => Ok(contents),
            other => Err(format!(
                "{file} has version {other}, and this program knows {VERSION}; use a newer one"
            )),
        }
    }

    /// Replaces the file by a complete new one; if it is a link, the file that the link leads to.
    fn write(&self, contents: &Contents) -> io::Result<()> {
        let path = match self.file.canonicalize() {
            Ok(path) => path,
            Err(_) => self.file.clone(),
        };
        let folder = folder_of(&path);
        // Only its owner may read it.
        let mut temporary = NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut temporary, contents)?;
        temporary.write_all(b"\n")?;
        temporary.as_file().sync_all()?;
        temporary.persist(&path).map_err(|error| error.error)?;
        // Not every system can open a folder; the file itself is on the disk.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    fn fault(&self, what: &str, error: &io::Error) -> String {
        format!("cannot {what} {}: {error}", self.file.display())
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
