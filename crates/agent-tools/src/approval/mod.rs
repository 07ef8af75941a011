//! Approval of tool calls: policies from the settings, remembered answers, and the questions to the user.

mod question;
mod reach;
mod rules;
mod store;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llm_providers::CancellationToken;
use tokio::sync::{Notify, oneshot};

use crate::output::ToolOutput;

pub use question::{ApprovalEvent, Decision, Policy, Question, policy_of};
pub use rules::{Rule, RuleDecision, Rules, Subject};
pub use store::ApprovalStore;

/// Receives approval events.
type EventReceiver = dyn Fn(ApprovalEvent<'_>) + Send + Sync;

/// Decides about tool calls; cheap to clone.
#[derive(Clone)]
pub struct Approvals {
    policies: Arc<BTreeMap<String, Policy>>,
    /// The tools that the user allowed by name for this run.
    named: Arc<BTreeMap<String, Policy>>,
    /// True if the calls come from a session that was opened, not from a model in this run.
    are_opened: bool,
    can_ask: bool,
    memory: Option<Arc<Result<ApprovalStore, String>>>,
    on_event: Option<Arc<EventReceiver>>,
    questions: Arc<Mutex<Questions>>,
    /// A question has ended.
    ended: Arc<Notify>,
}

/// The open questions and the answers of this session.
#[derive(Default)]
struct Questions {
    waiting: Vec<Waiting>,
    /// The ids of the calls with open questions. An answer names the id of its call, so a second call with the same id
    /// waits.
    call_ids: BTreeSet<String>,
    /// Permanent answers: they hold in this session even if they cannot be stored.
    answered: Rules,
    /// The last reported reason why answers cannot be remembered.
    fault: Option<String>,
}

/// A question that waits for its answer.
struct Waiting {
    question: Question,
    answer: oneshot::Sender<Decision>,
}

impl Approvals {
    /// Returns approvals with a policy for each named tool; `can_ask` is true if a client answers questions. Answers
    /// hold for this session only.
    pub fn new(policies: BTreeMap<String, Policy>, can_ask: bool) -> Self {
        Self {
            policies: Arc::new(policies),
            named: Arc::default(),
            are_opened: false,
            can_ask,
            memory: None,
            on_event: None,
            questions: Arc::default(),
            ended: Arc::default(),
        }
    }

    /// Returns the same for a run whose user allowed these tools by name, on its command line.
    #[must_use]
    pub fn with_named(self, tools: &[&str]) -> Self {
        let named = tools.iter().map(|tool| ((*tool).to_owned(), Policy::Allow));
        Self {
            named: Arc::new(named.collect()),
            ..self
        }
    }

    /// Returns the same for calls that were already in the session when it was opened. The author of the file chose
    /// them, so each runs only once the user allows it, whatever policies and rules allow; a tool that was named for
    /// this run counts as allowed.
    #[must_use]
    pub fn for_opened(&self) -> Self {
        Self {
            are_opened: true,
            ..self.clone()
        }
    }

    /// Returns true if a client answers questions.
    pub fn can_ask(&self) -> bool {
        self.can_ask && self.on_event.is_some()
    }

    /// Returns true if a call of `tool` needs its own approval, because it was already in an opened session.
    pub fn is_untrusted(&self, tool: &str) -> bool {
        self.are_opened && policy_of(&self.named, tool).is_none()
    }

    /// Returns the same with answers that are remembered for the project; or with the reason why they cannot be, which
    /// is reported when it matters.
    #[must_use]
    pub fn remembering(self, memory: Result<ApprovalStore, String>) -> Self {
        Self {
            memory: Some(Arc::new(memory)),
            ..self
        }
    }

    /// Returns the same, with a receiver of each question and its end.
    #[must_use]
    pub fn telling(self, on_event: impl Fn(ApprovalEvent<'_>) + Send + Sync + 'static) -> Self {
        Self {
            on_event: Some(Arc::new(on_event)),
            ..self
        }
    }

    /// Returns approvals that allow everything, for tests and for tools that were allowed as a whole.
    pub fn allow_all() -> Self {
        Self::new([("*".to_owned(), Policy::Allow)].into(), false)
    }

    /// Returns the policy of a tool: its own, that of its server, or that of all; none where none is set.
    pub fn policy(&self, tool: &str) -> Option<Policy> {
        policy_of(&self.policies, tool)
    }

    /// Waits until it is known if the call may run: `Ok`, or the result that says why not. If no policy is set for the
    /// tool, `otherwise` holds.
    pub async fn decide(
        &self,
        question: &Question,
        otherwise: Policy,
        cancel: &CancellationToken,
    ) -> Result<(), ToolOutput> {
        let tool = &question.tool;
        let (remembered, fault) = self.remembered(question);
        let untrusted = self.is_untrusted(tool);
        let policy = match (self.policy(tool).unwrap_or(otherwise), &fault) {
            // The user's permanent denials are not known, so nothing runs without a question.
            (Policy::Allow, Some(_)) => Policy::Ask,
            (Policy::Allow, None) if untrusted => Policy::Ask,
            (policy, _) => policy,
        };
        // Rules apply to calls of a model in this run.
        let remembered =
            remembered.filter(|rule_decision| *rule_decision == RuleDecision::Denied || !untrusted);
        match (policy, remembered) {
            (_, Some(RuleDecision::Denied)) => {
                return Err(ToolOutput::error(
                    "the user never allows this in this project; do it another way, or ask what to do instead",
                ));
            }
            (Policy::Deny, _) => {
                return Err(ToolOutput::error(format!(
                    "{tool} is not allowed here; do it with the other tools, or say what is to be run"
                )));
            }
            (Policy::Allow, _) | (Policy::Ask, Some(RuleDecision::Allowed)) => return Ok(()),
            (Policy::Ask, None) if !self.can_ask() && untrusted => {
                return Err(ToolOutput::error(
                    "not run: the session was opened from a file that ends in this call, and no user could be asked; call again what is still needed",
                ));
            }
            (Policy::Ask, None) if !self.can_ask() => {
                return Err(ToolOutput::error(match fault {
                    Some(fault) => format!(
                        "the rules of the project cannot be read and no user can be asked; ask the user to fix the file or move it away: {fault}"
                    ),
                    None => format!(
                        "{tool} needs approval and no user can be asked; the user can allow it for a run, or for good in tools.policies"
                    ),
                }));
            }
            (Policy::Ask, None) => {}
        }
        let decision = self.ask(question, cancel).await;
        let rule_decision = match decision {
            None | Some(Decision::Once | Decision::Deny) => None,
            Some(Decision::Always) => Some(RuleDecision::Allowed),
            Some(Decision::Never) => Some(RuleDecision::Denied),
        };
        if let Some(rule_decision) = rule_decision {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = self.remember(question, rule_decision) => {}
            }
        }
        match decision {
            None => Err(ToolOutput::cancelled()),
            Some(decision) if decision.allows() => Ok(()),
            Some(_) => Err(ToolOutput::error(
                "the user does not allow this; do it another way, or ask what to do instead",
            )),
        }
    }

    /// Returns why a call must not run without a question, `None` if it may; the user is not asked. If no policy is set
    /// for the tool, `otherwise` holds.
    pub fn unasked(&self, question: &Question, otherwise: Policy) -> Option<&'static str> {
        let (remembered, fault) = self.remembered(question);
        let policy = self.policy(&question.tool).unwrap_or(otherwise);
        match (policy, remembered, fault) {
            (_, Some(RuleDecision::Denied), _) => Some("denied by a rule"),
            (Policy::Deny, _, _) => Some("denied by the settings"),
            (Policy::Ask | Policy::Allow, Some(RuleDecision::Allowed), None)
            | (Policy::Allow, None, None) => None,
            // As for a call: what the user denies for good is not known.
            (Policy::Ask | Policy::Allow, Some(RuleDecision::Allowed) | None, Some(_)) => {
                Some("the rules of the project cannot be read; fix the file of approvals")
            }
            (Policy::Ask, None, None) => {
                Some("needs approval, and no user is asked; allow read for it")
            }
        }
    }

    /// Answers the question about a call; returns whether it was waited for. What is answered for good answers every
    /// question about the same.
    pub fn answer(&self, call_id: &str, decision: Decision) -> bool {
        let mut questions = self.questions();
        let mut waiting = questions.waiting.iter();
        let Some(place) = waiting.position(|waiting| waiting.question.call_id == call_id) else {
            return false;
        };
        let Waiting {
            question, answer, ..
        } = questions.waiting.remove(place);
        let taken = answer.send(decision).is_ok();
        let rule_decision = match decision {
            Decision::Once | Decision::Deny => return taken,
            Decision::Always => RuleDecision::Allowed,
            Decision::Never => RuleDecision::Denied,
        };
        if let Ok(rule) = Rule::exact(&question.tool, question.remembered()) {
            questions.answered.add(rule, rule_decision);
        }
        let same = |waiting: &mut Waiting| waiting.question.is_same(&question);
        for waiting in questions.waiting.extract_if(.., same) {
            let _ = waiting.answer.send(decision);
        }
        taken
    }

    /// Asks, and waits for the answer; none when that was cancelled.
    async fn ask(&self, question: &Question, cancel: &CancellationToken) -> Option<Decision> {
        let receiver = loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            if let Some(receiver) = self.begin(question) {
                break receiver;
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return None,
                () = ended => {}
            }
        };
        // Runs also if the caller has stopped waiting.
        let _end = EndOfQuestion {
            approvals: self,
            call_id: &question.call_id,
        };
        self.send(ApprovalEvent::Asked(question));
        let decision = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            decision = receiver => decision.ok(),
        };
        self.send(ApprovalEvent::Ended(question, decision));
        decision
    }

    /// Lets a question wait for its answer, unless one about a call with its id does.
    fn begin(&self, question: &Question) -> Option<oneshot::Receiver<Decision>> {
        let mut questions = self.questions();
        if !questions.call_ids.insert(question.call_id.clone()) {
            return None;
        }
        let (answer, receiver) = oneshot::channel();
        let known = questions
            .answered
            .rule_decision(&question.tool, question.remembered());
        match known {
            // While it waited, the same was answered for good.
            Some(RuleDecision::Allowed) => drop(answer.send(Decision::Once)),
            Some(RuleDecision::Denied) => drop(answer.send(Decision::Deny)),
            None => questions.waiting.push(Waiting {
                question: question.clone(),
                answer,
            }),
        }
        Some(receiver)
    }

    /// Returns the earlier answer to the same question, in this session or in any other of the project; and why the
    /// answers of other sessions are not known.
    fn remembered(&self, question: &Question) -> (Option<RuleDecision>, Option<String>) {
        let (tool, subject) = (&question.tool, question.remembered());
        let here = self.questions().answered.rule_decision(tool, subject);
        let (kept, fault) = match self.memory.as_deref() {
            Some(Ok(memory)) => match memory.rules() {
                Ok(rules) => (rules.rule_decision(tool, subject), None),
                Err(fault) => {
                    self.report_fault(&fault);
                    (None, Some(fault))
                }
            },
            // Without a store, nothing was remembered.
            Some(Err(_)) | None => (None, None),
        };
        let rule_decision = match (here, kept) {
            (Some(RuleDecision::Denied), _) | (_, Some(RuleDecision::Denied)) => {
                Some(RuleDecision::Denied)
            }
            (here, kept) => here.or(kept),
        };
        (rule_decision, fault)
    }

    /// Keeps an answer for the sessions to come.
    async fn remember(&self, question: &Question, rule_decision: RuleDecision) {
        let Some(memory) = self.memory.clone() else {
            return;
        };
        let rule = Rule::exact(&question.tool, question.remembered());
        let kept = tokio::task::spawn_blocking(move || match &*memory {
            Ok(memory) => memory.add(rule?, rule_decision),
            Err(why) => Err(why.clone()),
        });
        match kept.await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => self.report_fault(&fault),
            Err(error) => self.report_fault(&error.to_string()),
        }
    }

    /// Tells once why answers are not remembered.
    fn report_fault(&self, fault: &str) {
        let known = self.questions().fault.replace(fault.to_owned());
        if known.as_deref() != Some(fault) {
            self.send(ApprovalEvent::NotRemembered(fault));
        }
    }

    fn send(&self, event: ApprovalEvent<'_>) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }

    fn questions(&self) -> MutexGuard<'_, Questions> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a question from those that wait when it is dropped.
struct EndOfQuestion<'a> {
    approvals: &'a Approvals,
    call_id: &'a str,
}

impl Drop for EndOfQuestion<'_> {
    fn drop(&mut self) {
        let mut questions = self.approvals.questions();
        questions.call_ids.remove(self.call_id);
        let other = |waiting: &Waiting| waiting.question.call_id != self.call_id;
        questions.waiting.retain(other);
        drop(questions);
        self.approvals.ended.notify_waiters();
    }
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approvals")
            .field("policies", &self.policies)
            .field("can_ask", &self.can_ask)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}
