//! Where the agents that people use keep their sessions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An agent whose sessions are found by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// The name that people give it, also before a colon: `claude:newest`.
    pub name: &'static str,
    /// The variable that moves its folder.
    variable: Option<&'static str>,
    /// Its folder, below the user's home.
    folder: &'static str,
    /// Where files of sessions are in it: `*` is any folder, or the rest of a name.
    patterns: &'static [&'static str],
}

/// The name of the sessions that this program keeps.
pub const OWN: &str = "agent-cli";

/// Every other agent.
pub const AGENTS: [Agent; 6] = [
    Agent {
        name: "claude",
        variable: Some("CLAUDE_CONFIG_DIR"),
        folder: ".claude",
        patterns: &["projects/*/*.jsonl"],
    },
    Agent {
        name: "codex",
        variable: Some("CODEX_HOME"),
        folder: ".codex",
        patterns: &["sessions/*/*/*/*.jsonl", "archived_sessions/*.jsonl"],
    },
    Agent {
        name: "qwen",
        variable: None,
        folder: ".qwen",
        patterns: &["projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"],
    },
    Agent {
        name: "gemini",
        variable: None,
        folder: ".gemini",
        patterns: &["tmp/*/chats/*.jsonl", "tmp/*/chats/*.json"],
    },
    Agent {
        name: "pi",
        variable: Some("PI_CODING_AGENT_DIR"),
        folder: ".pi/agent",
        patterns: &["sessions/*/*.jsonl"],
    },
    Agent {
        name: "omp",
        variable: None,
        folder: ".omp/agent",
        patterns: &["sessions/*/*.jsonl"],
    },
];

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
        let moved = self.variable.and_then(environment.variable);
        let home = environment.home.as_ref();
        let Some(root) = moved
            .map(PathBuf::from)
            .or_else(|| Some(home?.join(self.folder)))
        else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for pattern in self.patterns {
            let parts: Vec<&str> = pattern.split('/').collect();
            collect(&root, &parts, &mut found);
        }
        found
    }
}

/// Adds the files below `folder` that fit the parts of a pattern.
fn collect(folder: &Path, parts: &[&str], found: &mut Vec<PathBuf>) {
    let [part, rest @ ..] = parts else { return };
    if !part.contains('*') {
        return collect(&folder.join(part), rest, found);
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
