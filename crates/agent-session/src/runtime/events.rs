//! Where the events of a session go, and what is added up on the way.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use compaction_core::Restored;
use hooks::HookFailure;
use llm_providers::{PieceRedactor, Redactor};
use session_model::Usage;

use agent_tools::approval::{ApprovalEvent, Question};
use session_protocol::channel::EventSender;
use session_protocol::event::{SessionEvent, TokenUsage};
use session_text::{counted, restored_in_words as in_words};
use summarize::{ModelReport, SummaryStep};

/// The sender of events; cheap to clone.
#[derive(Clone)]
pub(super) struct Events {
    sender: EventSender,
    redactor: Arc<Redactor>,
    spent: Arc<Mutex<Spent>>,
    questions: Arc<Mutex<Questions>>,
}

/// The questions of a run.
#[derive(Default)]
struct Questions {
    /// Those that wait for an answer, and since when.
    waiting: Vec<(Question, Instant)>,
    /// How long calls waited for theirs.
    waited: BTreeMap<String, Duration>,
}

/// What a run has taken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    /// Tokens.
    pub usage: TokenUsage,
    /// US dollars, where prices are known.
    pub cost_usd: Option<f64>,
}

impl Events {
    /// Returns what tells `sender`, without the keys that `redactor` knows.
    pub fn new(sender: EventSender, redactor: Arc<Redactor>) -> Self {
        Self {
            sender,
            redactor,
            spent: Arc::default(),
            questions: Arc::default(),
        }
    }

    /// Returns a text without keys, for what is sent to a model and stands in no session before.
    pub fn without_keys(&self, text: &str) -> String {
        self.redactor.clean_answer(text)
    }

    /// Returns what takes keys out of a text that comes in pieces.
    pub fn piece_redactor(&self) -> PieceRedactor {
        PieceRedactor::new(self.redactor.clone())
    }

    /// Tells. Nobody has to listen.
    pub fn send(&self, mut event: SessionEvent) {
        event.remove_keys(&self.redactor);
        self.sender.send(event);
    }

    /// Returns whether the events that wait to be read take more than `times` their bound.
    pub fn is_full(&self, times: usize) -> bool {
        self.sender.is_full(times)
    }

    /// Returns whether somebody may still read.
    pub fn is_read(&self) -> bool {
        self.sender.is_read()
    }

    /// Waits until the bound is crossed in either direction, or nobody reads any more.
    pub async fn crossed(&self) {
        self.sender.crossed().await;
    }

    pub fn notice(&self, text: impl Into<String>) {
        self.send(SessionEvent::Notice { text: text.into() });
    }

    /// Reports more text of an answer, where there is any.
    pub fn delta(&self, event: SessionEvent) {
        if let SessionEvent::TextDelta { text } | SessionEvent::ThinkingDelta { text } = &event
            && !text.is_empty()
        {
            self.send(event);
        }
    }

    /// Tells what went wrong.
    pub fn error(&self, message: impl Into<String>) {
        self.send(SessionEvent::Error {
            message: message.into(),
        });
    }

    pub fn step(&self, step: &SummaryStep<'_>) {
        self.send(SessionEvent::CompactionProgress {
            text: step.to_string(),
            notable: !matches!(step, SummaryStep::Asking { .. } | SummaryStep::Writing(_)),
        });
    }

    /// Tells what comes back after a summary, or why nothing does; `outside` is what was left alone.
    pub fn restored(&self, restored: &Restored, outside: &[String]) {
        let nothing = restored.files.is_empty() && restored.images.is_empty();
        let mut text = match &restored.failed {
            Some(why) => format!("nothing is brought back: {why}"),
            None if nothing && outside.is_empty() => return,
            None => in_words(restored),
        };
        if !outside.is_empty() {
            let files = counted(outside.len(), "file");
            text.push_str(&format!("; {files} outside the workspace left alone"));
        }
        self.send(SessionEvent::CompactionProgress {
            text,
            notable: true,
        });
    }

    pub fn hook_failures(&self, failures: &[HookFailure]) {
        for failure in failures {
            self.send(SessionEvent::HookFailed {
                hook: failure.hook.clone(),
                point: failure.point.name().into(),
                reason: failure.reason.clone(),
            });
        }
    }

    /// Tells of a question whether a call may run.
    pub fn approval(&self, approval_event: ApprovalEvent<'_>) {
        let mut questions = self.lock_questions();
        match approval_event {
            ApprovalEvent::Asked(question) => {
                questions.waiting.push((question.clone(), Instant::now()));
            }
            ApprovalEvent::Ended(question, _) => {
                let Questions { waiting, waited } = &mut *questions;
                for (_, since) in waiting.extract_if(.., |(asked, _)| asked == question) {
                    *waited.entry(question.call_id.clone()).or_default() += since.elapsed();
                }
            }
            ApprovalEvent::NotRemembered(_) => {}
        }
        drop(questions);
        self.send(match approval_event {
            ApprovalEvent::Asked(question) => SessionEvent::ApprovalRequest {
                call_id: question.call_id.clone(),
                tool: question.tool.clone(),
                subject: question.subject.clone(),
            },
            ApprovalEvent::Ended(question, decision) => SessionEvent::ApprovalEnd {
                call_id: question.call_id.clone(),
                decision: decision.map(|decision| decision.name().into()),
            },
            ApprovalEvent::NotRemembered(why) => SessionEvent::Notice {
                text: why.to_owned(),
            },
        });
    }

    /// Returns the questions that wait for an answer, the oldest first.
    pub fn questions(&self) -> Vec<Question> {
        let questions = self.lock_questions();
        let waiting = questions.waiting.iter();
        waiting.map(|(question, _)| question.clone()).collect()
    }

    /// Returns how long a call that has ended waited for the user's answer.
    pub fn take_waited(&self, call_id: &str) -> Duration {
        self.lock_questions()
            .waited
            .remove(call_id)
            .unwrap_or_default()
    }

    fn lock_questions(&self) -> MutexGuard<'_, Questions> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what an answer took.
    pub fn spend(&self, usage: &Usage, cost: Option<f64>) {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.usage += TokenUsage::from(usage);
        if let Some(cost) = cost {
            *spent.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    /// Adds what a summary took.
    pub fn account(&self, report: &ModelReport) {
        self.spend(&report.usage, report.cost_usd);
    }

    pub fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
