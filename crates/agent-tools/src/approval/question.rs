//! Policies, questions about calls and the answers to them.

use std::collections::BTreeMap;

/// The policy of a tool; the stricter one is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// It may.
    Allow,
    /// The user is asked; if no one can be asked, the call does not run.
    Ask,
    /// It may not.
    Deny,
}

/// Returns the policy that a tool has among these: its own, that of its server, or that of all.
pub fn policy_of(policies: &BTreeMap<String, Policy>, tool: &str) -> Option<Policy> {
    let server = tool
        .split_once("__")
        .map(|(server, _)| format!("{server}__*"));
    let names = [Some(tool), server.as_deref(), Some("*")];
    let mut found = names
        .iter()
        .flatten()
        .filter_map(|name| policies.get(*name));
    found.next().copied()
}

/// The answer to the question if a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may, this once.
    Once,
    /// It may, and so may every call like it in this project.
    Always,
    /// It may not, this once.
    Deny,
    /// The call may not run, nor any call like it in this project.
    Never,
}

impl Decision {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Once, Self::Always, Self::Deny, Self::Never];

    /// Returns the name that events and RPC use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Deny => "deny",
            Self::Never => "never",
        }
    }

    /// Returns the decision of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|decision| decision.name() == name)
    }

    /// Returns the decision that a typed line is: one of these words, and nothing else.
    pub fn typed(line: &str) -> Option<Self> {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" | "once" => Some(Self::Once),
            "n" | "no" | "deny" => Some(Self::Deny),
            "a" | "always" => Some(Self::Always),
            "v" | "never" => Some(Self::Never),
            _ => None,
        }
    }

    pub(super) const fn allows(self) -> bool {
        match self {
            Self::Once | Self::Always => true,
            Self::Deny | Self::Never => false,
        }
    }
}

/// A call that the user is asked to approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The subject of the call: the command, for `bash`.
    pub subject: String,
}

impl Question {
    /// Returns what an answer is remembered under: the subject, and for a tool of a server its name alone, since the
    /// arguments of its calls vary.
    pub(super) fn remembered(&self) -> &str {
        match self.tool.contains("__") {
            true => &self.tool,
            false => self.subject.trim(),
        }
    }

    /// Returns true if another question is about the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.tool == other.tool && self.remembered() == other.remembered()
    }
}

/// An event in the life of a question.
#[derive(Debug, Clone, Copy)]
pub enum ApprovalEvent<'a> {
    /// A question was asked.
    Asked(&'a Question),
    /// A question was answered, or its caller stopped waiting.
    Ended(&'a Question, Option<Decision>),
    /// Answers cannot be remembered, and why.
    NotRemembered(&'a str),
}
