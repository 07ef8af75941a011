//! The formats that can be read.

use serde::{Serialize, Serializer};

/// The program whose sessions have a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Transcripts of Claude Code: JSON lines in `~/.claude/projects`.
    ClaudeCode,
    /// Rollouts of Codex: JSON lines in `~/.codex/sessions`, legacy and paginated.
    Codex,
    /// Chats of qwen-code: JSON lines in `~/.qwen/projects`.
    QwenCode,
    /// Chats of gemini-cli: one JSON document, or JSON lines, in `~/.gemini/tmp`.
    GeminiCli,
    /// What `opencode export` prints: one JSON document.
    Opencode,
    /// Logs of Copilot CLI: JSON lines in `~/.copilot/session-state`.
    Copilot,
    /// Messages of Cline: one JSON document in `~/.cline/data/sessions`.
    Cline,
    /// What `goose session export --format json` prints: one JSON document.
    Goose,
    /// A session of crush's database, as one JSON document.
    Crush,
}

impl Format {
    /// Every format, in the order in which they are tried.
    pub const ALL: [Self; 9] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::QwenCode,
        Self::GeminiCli,
        Self::Opencode,
        Self::Copilot,
        Self::Cline,
        Self::Goose,
        Self::Crush,
    ];

    /// Returns the name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::QwenCode => "qwen-code",
            Self::GeminiCli => "gemini-cli",
            Self::Opencode => "opencode export",
            Self::Copilot => "Copilot CLI",
            Self::Cline => "Cline",
            Self::Goose => "goose",
            Self::Crush => "crush",
        }
    }

    /// Returns the name for programs, which also begins the custom types of imported entries.
    pub const fn key(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::QwenCode => "qwen-code",
            Self::GeminiCli => "gemini-cli",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Cline => "cline",
            Self::Goose => "goose",
            Self::Crush => "crush",
        }
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}
