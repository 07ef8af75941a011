//! Who may do what: policies from the settings, answers that were remembered, and the question itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use llm_providers::CancellationToken;
use tokio::sync::oneshot;

use crate::session::tools::ToolOutput;

/// Whether a tool may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// It may.
    Allow,
    /// Somebody is to be asked; where nobody can be, it may not.
    Ask,
    /// It may not.
    Deny,
}

/// What was answered to the question whether a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It may, this once.
    Once,
    /// It may, and so may every call like it in this project.
    Always,
    /// It may not, this once.
    Deny,
    /// It may not, nor any call like it in this project.
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

    const fn allows(self) -> bool {
        match self {
            Self::Once | Self::Always => true,
            Self::Deny | Self::Never => false,
        }
    }
}

/// A call that somebody is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it would do, in the words that are remembered: the command, for `bash`.
    pub subject: String,
}

/// What is told of a question.
#[derive(Debug, Clone, Copy)]
pub enum Told<'a> {
    /// It is asked.
    Asked(&'a Question),
    /// It is answered, or nobody waits for the answer any more.
    Ended(&'a Question, Option<Decision>),
}

/// Decides about tool calls; cheap to clone.
#[derive(Clone)]
pub struct Approvals {
    policies: Arc<BTreeMap<String, Policy>>,
    can_ask: bool,
    tell: Option<Arc<dyn Fn(Told<'_>) + Send + Sync>>,
    waiting: Arc<Mutex<BTreeMap<String, oneshot::Sender<Decision>>>>,
}

impl Approvals {
    /// Returns approvals with a policy for each named tool; `can_ask` says whether somebody answers questions.
    pub fn new(policies: BTreeMap<String, Policy>, can_ask: bool) -> Self {
        Self {
            policies: Arc::new(policies),
            can_ask,
            tell: None,
            waiting: Arc::default(),
        }
    }

    /// Returns the same, telling whoever answers of every question and its end.
    #[must_use]
    pub fn telling(self, tell: impl Fn(Told<'_>) + Send + Sync + 'static) -> Self {
        Self {
            tell: Some(Arc::new(tell)),
            ..self
        }
    }

    /// Returns approvals that allow everything, for tests and for tools that were allowed as a whole.
    pub fn allow_all() -> Self {
        Self::new([("*".to_owned(), Policy::Allow)].into(), false)
    }

    /// Returns the policy of a tool: its own, that of its server, or that of all; else somebody is asked.
    pub fn policy(&self, tool: &str) -> Policy {
        let server = tool
            .split_once("__")
            .map(|(server, _)| format!("{server}__*"));
        let names = [Some(tool.to_owned()), server, Some("*".to_owned())];
        let mut found = names
            .iter()
            .flatten()
            .filter_map(|name| self.policies.get(name));
        found.next().copied().unwrap_or(Policy::Ask)
    }

    /// Waits until it is known whether the call may run: `Ok`, or the result that says why not.
    pub async fn decide(
        &self,
        question: &Question,
        cancel: &CancellationToken,
    ) -> Result<(), ToolOutput> {
        let tool = &question.tool;
        match self.policy(tool) {
            Policy::Allow => return Ok(()),
            Policy::Deny => {
                return Err(ToolOutput::error(format!(
                    "{tool} is not allowed here; do it with the other tools, or say what is to be run"
                )));
            }
            Policy::Ask if !self.can_ask || self.tell.is_none() => {
                return Err(ToolOutput::error(format!(
                    "{tool} has to be allowed and nobody can be asked; run again with --allow {tool}"
                )));
            }
            Policy::Ask => {}
        }
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(question.call_id.clone(), sender);
        self.tell(Told::Asked(question));
        let decision = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            decision = receiver => decision.ok(),
        };
        self.waiting().remove(&question.call_id);
        self.tell(Told::Ended(question, decision));
        match decision {
            None => Err(ToolOutput::cancelled()),
            Some(decision) if decision.allows() => Ok(()),
            Some(_) => Err(ToolOutput::error(
                "the user does not allow this; ask what to do instead",
            )),
        }
    }

    /// Answers the question about a call; returns whether it was waited for.
    pub fn answer(&self, call_id: &str, decision: Decision) -> bool {
        let sender = self.waiting().remove(call_id);
        sender.is_some_and(|sender| sender.send(decision).is_ok())
    }

    fn tell(&self, told: Told<'_>) {
        if let Some(tell) = &self.tell {
            tell(told);
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, oneshot::Sender<Decision>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approvals")
            .field("policies", &self.policies)
            .field("can_ask", &self.can_ask)
            .finish_non_exhaustive()
    }
}
