//! Where the agents that people use keep their sessions.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An agent whose sessions are found by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// The name that people give it, also before a colon: `claude:newest`.
    pub name: &'static str,
    /// The variables that move its folder, each with what is added to its value; the first that is set counts.
    variables: &'static [(&'static str, &'static str)],
    /// Its folder, below the user's home.
    folder: &'static str,
    /// Where files of sessions are in it: `*` is any folder, or the rest of a name.
    patterns: &'static [&'static str],
    /// How the name begins by which it makes itself known to a tool server.
    client: &'static str,
}

/// The name of the sessions that this program keeps.
pub const OWN: &str = "agent-cli";

/// Codex, whose forks refer to other sessions.
const CODEX: Agent = Agent {
    name: "codex",
    variables: &[("CODEX_HOME", "")],
    folder: ".codex",
    patterns: &[
        "sessions/*/*/*/*.jsonl",
        "sessions/*/*/*/*.jsonl.zst",
        "archived_sessions/*.jsonl",
        "archived_sessions/*.jsonl.zst",
    ],
    client: "codex",
};

/// Every other agent.
pub const AGENTS: [Agent; 11] = [
    Agent {
        name: "claude",
        variables: &[("CLAUDE_CONFIG_DIR", "")],
        folder: ".claude",
        patterns: &["projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl"],
        client: "claude-code",
    },
    CODEX,
    Agent {
        name: "opencode",
        variables: &[("XDG_DATA_HOME", "")],
        folder: ".local/share",
        patterns: &["opencode/storage/session/*/*.json"],
        client: "opencode",
    },
    Agent {
        name: "qwen",
        variables: &[("QWEN_RUNTIME_DIR", ""), ("QWEN_HOME", "")],
        folder: ".qwen",
        patterns: &["projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"],
        client: "qwen",
    },
    Agent {
        name: "gemini",
        variables: &[("GEMINI_CLI_HOME", ".gemini")],
        folder: ".gemini",
        patterns: &[
            "tmp/*/chats/*.jsonl",
            "tmp/*/chats/*.json",
            "tmp/*/chats/*/*.jsonl",
        ],
        client: "gemini",
    },
    Agent {
        name: "pi",
        variables: &[("PI_CODING_AGENT_DIR", "")],
        folder: ".pi/agent",
        patterns: &["sessions/*/*.jsonl"],
        client: "pi",
    },
    Agent {
        name: "omp",
        variables: &[("PI_CONFIG_DIR", "agent")],
        folder: ".omp/agent",
        patterns: &["sessions/*/*.jsonl"],
        client: "omp",
    },
    Agent {
        name: "copilot",
        variables: &[("COPILOT_HOME", "")],
        folder: ".copilot",
        patterns: &["session-state/*/events.jsonl"],
        client: "github-copilot",
    },
    Agent {
        name: "cline",
        variables: &[("CLINE_DATA_DIR", ""), ("CLINE_DIR", "data")],
        folder: ".cline/data",
        patterns: &["sessions/*/*.messages.json"],
        client: "cline",
    },
    Agent {
        name: "goose",
        variables: &[("GOOSE_PATH_ROOT", "data"), ("XDG_DATA_HOME", "goose")],
        folder: ".local/share/goose",
        patterns: &[],
        client: "goose",
    },
    Agent {
        name: "crush",
        variables: &[("CRUSH_GLOBAL_DATA", ""), ("XDG_DATA_HOME", "crush")],
        folder: ".local/share/crush",
        patterns: &[],
        client: "crush",
    },
];

/// Returns the agent that makes itself known to a tool server by a name.
pub fn agent_of_client(name: &str) -> Option<&'static str> {
    let is_it = |agent: &&Agent| {
        let rest = name.strip_prefix(agent.client);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    AGENTS.iter().find(is_it).map(|agent| agent.name)
}

/// How much of the end of a transcript is searched for a call that was made just now, and how old it may be.
const END: u64 = 4 << 20;
const RECENT: Duration = Duration::from_secs(600);

/// Returns the transcript of Claude Code in which a call was made just now, and that of the session if it is one of a
/// sub-agent.
pub(crate) fn claude_call(
    environment: &Environment,
    id: &str,
) -> Option<(PathBuf, Option<PathBuf>)> {
    let claude = AGENTS.iter().find(|agent| agent.name == "claude")?;
    let root = claude.root(environment)?;
    let files = claude.files_in(&root);
    let text = format!("\"{id}\"");
    let has_call = |path: &Path| -> Option<()> {
        let mut file = File::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        let age = metadata.modified().ok()?.elapsed().unwrap_or_default();
        file.seek(SeekFrom::Start(metadata.len().saturating_sub(END)))
            .ok()?;
        let mut end = Vec::new();
        if age < RECENT {
            file.take(2 * END).read_to_end(&mut end).ok()?;
        }
        memchr::memmem::find(&end, text.as_bytes()).map(|_| ())
    };
    let path = files.into_iter().find(|path| has_call(path).is_some())?;
    let session = session_of_subagent(&path).filter(|session| session.is_file());
    Some((path, session))
}

/// Returns the session whose sub-agent a transcript of Claude Code is of.
pub fn session_of_subagent(path: &Path) -> Option<PathBuf> {
    let folder = path
        .parent()
        .filter(|folder| folder.ends_with("subagents"))?;
    Some(folder.parent()?.with_extension("jsonl"))
}

/// What decides where folders are.
pub struct Environment {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The value of a variable, if it has one.
    pub variable: fn(&str) -> Option<OsString>,
}

impl Environment {
    /// Returns the one of this process.
    pub fn of_process() -> Self {
        Self {
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            variable: |name| std::env::var_os(name).filter(|value| !value.is_empty()),
        }
    }
}

impl Agent {
    /// Returns the files that may be its sessions; a folder that cannot be read has none.
    pub fn files(&self, environment: &Environment) -> Vec<PathBuf> {
        let root = self.root(environment);
        root.map_or_else(Vec::new, |root| self.files_in(&root))
    }

    /// Returns the databases that have its sessions: of opencode the one that is named, or that of each channel; of crush
    /// that of each project.
    #[cfg(feature = "databases")]
    pub fn databases(&self, environment: &Environment) -> Vec<PathBuf> {
        let Some(root) = self.root(environment) else {
            return Vec::new();
        };
        match self.name {
            "opencode" => {}
            "goose" => return vec![root.join("sessions/sessions.db")],
            "crush" => {
                let about = crate::documents::json_file(&root.join("projects.json"));
                let projects = about
                    .as_ref()
                    .and_then(|about| about["projects"].as_array());
                let folders = projects.into_iter().flatten();
                let folders = folders.filter_map(|project| project["data_dir"].as_str());
                return folders
                    .map(|folder| Path::new(folder).join("crush.db"))
                    .collect();
            }
            _ => return Vec::new(),
        }
        let folder = root.join("opencode");
        if let Some(named) = (environment.variable)("OPENCODE_DB") {
            return vec![folder.join(named)];
        }
        let mut found = Vec::new();
        collect(&folder, &["*.db"], &mut found);
        let is_of_channel = |path: &PathBuf| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            name == "opencode" || name.starts_with("opencode-")
        };
        found.retain(is_of_channel);
        found.sort();
        found
    }

    fn root(&self, environment: &Environment) -> Option<PathBuf> {
        let home = environment.home.as_ref();
        let mut variables = self.variables.iter();
        let moved = variables.find_map(|(name, below)| {
            let value = PathBuf::from((environment.variable)(name)?);
            // That of oh-my-pi is a name in the home folder.
            Some(
                home.map_or(value.clone(), |home| home.join(value))
                    .join(below),
            )
        });
        moved.or_else(|| Some(home?.join(self.folder)))
    }

    /// Returns the files that may be its sessions, if `root` is its folder.
    fn files_in(&self, root: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for pattern in self.patterns {
            let parts: Vec<&str> = pattern.split('/').collect();
            collect(root, &parts, &mut found);
        }
        // Of a session that is there twice, the one that is not compressed is read.
        found.sort();
        found.dedup_by(|packed, plain| {
            packed.extension().is_some_and(|end| end == "zst")
                && packed.with_extension("") == *plain
        });
        found
    }
}

/// Returns the log of Codex with an id: next to `path`, or in the folder of Codex that `path` is in. An id is never
/// taken for a path, and what a link leads to is not looked at.
pub fn find_codex(path: &Path, id: &str) -> Option<PathBuf> {
    let is_id = (8..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_id {
        return None;
    }
    let mut files = Vec::new();
    collect(path.parent()?, &["*"], &mut files);
    files.sort();
    let is_kept =
        |folder: &&Path| folder.ends_with("sessions") || folder.ends_with("archived_sessions");
    let root = path.ancestors().find(is_kept).and_then(Path::parent);
    files.extend(root.map_or_else(Vec::new, |root| CODEX.files_in(root)));
    let ends = [format!("-{id}.jsonl"), format!("-{id}.jsonl.zst")];
    files.into_iter().find(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        ends.iter().any(|end| name.ends_with(end))
    })
}

/// Adds the files below `folder` that fit the parts of a pattern.
fn collect(folder: &Path, parts: &[&str], found: &mut Vec<PathBuf>) {
    let [part, rest @ ..] = parts else { return };
    if !part.contains('*') {
        let path = folder.join(part);
        if rest.is_empty() && path.symlink_metadata().is_ok_and(|about| about.is_file()) {
            found.push(path);
            return;
        }
        return collect(&path, rest, found);
    }
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let end = part.trim_start_matches('*');
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let fits = entry
            .file_name()
            .as_encoded_bytes()
            .ends_with(end.as_bytes());
        if rest.is_empty() && kind.is_file() && fits {
            found.push(entry.path());
        } else if !rest.is_empty() && kind.is_dir() {
            collect(&entry.path(), rest, found);
        }
    }
}
