//! The points at which hooks run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in the life of a session at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// The session is open.
    SessionStart,
    /// The session ends, or another one continues from it.
    SessionShutdown,
    /// A message of the user is about to be sent. A hook may add context.
    BeforePrompt,
    /// A tool is about to run. A hook may block it.
    ToolCall,
    /// A tool has run.
    ToolResult,
    /// A turn has ended.
    TurnEnd,
    /// A compaction is about to run. A hook may cancel or supply it.
    SessionBeforeCompact,
    /// The requests of a compaction are being made. A hook may change them.
    #[serde(rename = "session.compacting")]
    SessionCompacting,
    /// A compaction is written.
    SessionCompact,
    /// A compaction failed or was cancelled.
    SessionCompactFailed,
    /// The leaf is about to move. A hook may cancel that or supply the summary.
    SessionBeforeTree,
    /// The leaf has moved.
    SessionTree,
}

impl HookPoint {
    /// All of them, in the order of a session's life.
    pub const ALL: [Self; 12] = [
        Self::SessionStart,
        Self::SessionShutdown,
        Self::BeforePrompt,
        Self::ToolCall,
        Self::ToolResult,
        Self::TurnEnd,
        Self::SessionBeforeCompact,
        Self::SessionCompacting,
        Self::SessionCompact,
        Self::SessionCompactFailed,
        Self::SessionBeforeTree,
        Self::SessionTree,
    ];

    /// Returns the name that settings and payloads use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::SessionShutdown => "session_shutdown",
            Self::BeforePrompt => "before_prompt",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::TurnEnd => "turn_end",
            Self::SessionBeforeCompact => "session_before_compact",
            Self::SessionCompacting => "session.compacting",
            Self::SessionCompact => "session_compact",
            Self::SessionCompactFailed => "session_compact_failed",
            Self::SessionBeforeTree => "session_before_tree",
            Self::SessionTree => "session_tree",
        }
    }

    /// Returns the member of the payload that a matcher is compared with; `None` for points without one.
    pub const fn subject(self) -> Option<&'static str> {
        match self {
            Self::ToolCall | Self::ToolResult => Some("tool"),
            Self::TurnEnd => Some("end"),
            Self::SessionBeforeCompact | Self::SessionCompact | Self::SessionCompactFailed => {
                Some("reason")
            }
            Self::SessionCompacting => Some("strategy"),
            Self::SessionStart
            | Self::SessionShutdown
            | Self::BeforePrompt
            | Self::SessionBeforeTree
            | Self::SessionTree => None,
        }
    }

    /// Returns true if a hook can keep what is about to happen from happening.
    pub const fn can_block(self) -> bool {
        match self {
            Self::ToolCall | Self::SessionBeforeCompact | Self::SessionBeforeTree => true,
            Self::SessionStart
            | Self::SessionShutdown
            | Self::BeforePrompt
            | Self::ToolResult
            | Self::TurnEnd
            | Self::SessionCompacting
            | Self::SessionCompact
            | Self::SessionCompactFailed
            | Self::SessionTree => false,
        }
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no hook point has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no hook point {name}; choose from {}", HookPoint::ALL.map(HookPoint::name).join(", "))]
pub struct UnknownPoint {
    /// The name.
    pub name: String,
}

impl FromStr for HookPoint {
    type Err = UnknownPoint;

    fn from_str(name: &str) -> Result<Self, UnknownPoint> {
        let found = Self::ALL.into_iter().find(|point| point.name() == name);
        found.ok_or_else(|| UnknownPoint {
            name: name.to_owned(),
        })
    }
}
