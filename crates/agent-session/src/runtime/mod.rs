//! The runtime around the machine: it waits, does what the machine says, and tells it what came of it.
//!
//! Short work (checks, writes, moves without a summary) is done immediately; models,
//! tools, compactions and timers are jobs that run concurrently on one task.
//! A job never writes: its product comes back here, and is written if it is
//! still wanted.

mod answer;
mod background;
mod call;
mod check;
pub mod choices;
mod command;
mod compaction;
mod compaction_run;
mod document;
mod effects;
mod entries;
mod events;
mod handoff;
mod hooked;
mod images;
mod instructions;
mod jobs;
mod navigation;
mod notify;
mod outputs;
mod overflow;
mod pins;
mod preview;
mod prompting;
mod rejected;
mod report;
mod review;
mod servers;
pub mod setting;
mod switch;
mod tools;
mod turn_state;
mod undo;
mod view;
mod waiting;
mod work;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use compaction_core::{Settings, Strategy};
use hooks::{HookSet, Notification};
use llm_providers::Reasoning;
use session_model::EntryId;

use crate::keys::SecretFilter;
use crate::machine::{Continue, Event, Job, Machine, Policy, State, transition};
use agent_tools::approval::{ApprovalEvent, Decision};
use agent_tools::mcp::{ServerConfig, Servers};
use agent_tools::{ToolContext, Toolbox};
use project_instructions::{InstructionRefresh, InstructionState, Instructions};
use session_protocol::settings::{AutoContinue, SessionCompaction};
use session_protocol::{CommandReceiver, EventSender, Finished, Limits, Refusal, SessionEvent};
use session_store::{OpenSession, SessionCatalog, StoreError};
use summarize::models::LiveModels;

use compaction_run::CompactionRun;
use events::Events;
use jobs::Done;
use notify::{Notifier, notifier};
use outputs::Outputs;
use turn_state::TurnState;
use work::{Next, Work};

pub use preview::{NoPreview, Preview};
pub use switch::carried_pins;

/// What a session is made of.
pub(crate) struct SessionConfig {
    pub store: OpenSession,
    /// Where the sessions of handoffs and forks are made.
    pub catalog: Arc<dyn SessionCatalog>,
    pub models: LiveModels,
    pub settings: Settings,
    pub compaction: SessionCompaction,
    pub hooks: Arc<HookSet>,
    pub tools: Toolbox,
    /// The servers whose tools stand next to them; they are started when the session opens.
    pub servers: Vec<ServerConfig>,
    pub tool_context: ToolContext,
    pub system_prompt: String,
    /// What the project and the user want agents to know.
    pub instructions: Instructions,
    pub reasoning: Reasoning,
    pub limits: Limits,
}

/// A running session.
pub struct AgentSession {
    machine: Machine,
    store: OpenSession,
    catalog: Arc<dyn SessionCatalog>,
    models: LiveModels,
    settings: Settings,
    compaction: SessionCompaction,
    hooks: Arc<HookSet>,
    notifier: Notifier,
    tools: Toolbox,
    /// Servers that are not started yet.
    server_configs: Vec<ServerConfig>,
    servers: Servers,
    tool_context: ToolContext,
    outputs: Outputs,
    system_prompt: String,
    instructions: InstructionState,
    reasoning: Reasoning,
    events: Events,
    /// Events of the machine that came of its own effects.
    due: VecDeque<Event>,
    work: Work,
    turn: TurnState,
    compaction_run: CompactionRun,
    /// The waiting messages that hooks have seen, each with the entry and its text that precedes it; none where they
    /// had nothing to add.
    reviewed: BTreeMap<EntryId, Option<(EntryId, String)>>,
    views: view::Views,
    calls: call::Calls,
    /// The model was chosen in a turn, and the session may not say so.
    model_is_new: bool,
}

impl AgentSession {
    /// Returns the session of `config`: it carries out `commands` and reports to `events`.
    pub(crate) fn new(
        config: SessionConfig,
        events: EventSender,
        commands: CommandReceiver,
    ) -> Self {
        let policy = policy(&config.settings, &config.compaction, config.limits);
        let redactor = config.tool_context.redactor.clone();
        let mut store = config.store;
        store.set_filter(Arc::new(SecretFilter(redactor.clone())));
        let events = Events::new(events, redactor.clone());
        let teller = events.clone();
        let approvals = config.tool_context.approvals.clone();
        let answers = approvals.clone();
        let approvals = approvals.telling(move |approval_event| {
            teller.approval(approval_event);
            // Where nobody reads, nobody answers.
            if let ApprovalEvent::Asked(question) = approval_event
                && !teller.is_read()
            {
                answers.answer(&question.call_id, Decision::Deny);
            }
        });
        // Until it runs, nobody is told.
        let (notifier, _) = notifier(config.hooks.clone(), events.clone());
        let instructions = match config.tools.names().any(|tool| tool == "read") {
            true => config.instructions,
            false => config.instructions.without_skills(),
        };
        let workspace = switch::protect_session_files(&config.tool_context.workspace, &*store);
        let mut tool_context = config.tool_context;
        tool_context.approvals = approvals;
        tool_context.workspace = workspace;
        let outputs = Outputs::of(&config.catalog, &*store);
        tool_context.overflow = outputs.folder(&*store);
        tool_context.archive = Some(outputs.archive());
        Self {
            machine: Machine::new(policy),
            store,
            catalog: config.catalog,
            models: config.models,
            settings: config.settings,
            compaction: config.compaction,
            hooks: config.hooks,
            notifier,
            tools: config.tools,
            server_configs: config.servers,
            servers: Servers::default(),
            tool_context,
            outputs,
            system_prompt: redactor.clean_answer(&config.system_prompt),
            instructions: InstructionState::of(instructions.without_keys(redactor)),
            reasoning: config.reasoning,
            due: VecDeque::new(),
            work: Work::new(commands, events.clone()),
            events,
            turn: TurnState::default(),
            compaction_run: CompactionRun::default(),
            reviewed: BTreeMap::new(),
            views: view::Views::default(),
            calls: call::Calls::default(),
            model_is_new: false,
        }
    }

    /// Carries out commands until the session is closed; it closes by itself when nobody can command any more.
    pub async fn run(mut self) -> Finished {
        let (notifier, notifications) = notifier(self.hooks.clone(), self.events.clone());
        self.notifier = notifier;
        self.open();
        self.notify_start();
        self.start_servers().await;
        let end_of_telling = notifications.end();
        let mut telling = pin!(notifications.run());
        let mut announced = false;
        while self.machine.state != State::Closed {
            // The bounds: see the module `channel`.
            let works = self.has_room() || self.work.stops();
            let listens = !self.events.is_full(2);
            tokio::select! {
                biased;
                // First, so that hooks hear of the start before they are asked for anything.
                () = &mut telling, if !announced => announced = true,
                () = self.events.crossed() => self.deny_unread_questions(),
                () = self.notifier.crossed() => {}
                next = self.work.next(listens, works) => match next {
                    Next::Command(command) => self.call((*command).into()).await,
                    Next::Ended(job, done) => self.finish(job, done).await,
                },
            }
        }
        self.settle().await;
        self.notify(Notification::SessionShutdown { reason: "end" });
        if !announced {
            end_of_telling.wait(telling).await;
        }
        std::mem::take(&mut self.servers).stop().await;
        self.finished().await
    }

    /// Denies the calls that wait for approval once nobody reads of them any more.
    fn deny_unread_questions(&self) {
        if !self.events.is_read() {
            for question in self.events.questions() {
                let approvals = &self.tool_context.approvals;
                approvals.answer(&question.call_id, Decision::Deny);
            }
        }
    }

    fn open(&mut self) {
        self.events.send(SessionEvent::SessionStart {
            session_id: self.store.id().to_owned(),
            path: self.path_name(),
            cwd: self.tool_folder(),
            model: self.models.model.name(),
            window: self.models.model.window.0,
            entries: self.store.tree().len(),
        });
        self.report_unknown_window();
        if self.machine.memory.policy.most_micro_usd.is_some() && self.models.model.prices.is_none()
        {
            self.events
                .notice("the model's prices are not known, so limits.costUsd does not stop it");
        }
        // What is to be said of them is said before the model is asked.
        self.refresh_instructions(InstructionRefresh::Start);
        let waiting: Vec<_> = self.store.queued().to_vec();
        for message in waiting {
            // What waits from an earlier run is sent with the next message, or on resuming.
            self.machine.memory.wait_for(message.id, message.delivery);
        }
    }

    /// Returns the folder that tools work in; the header of the session may name another.
    fn tool_folder(&self) -> String {
        let root = self.tool_context.workspace.root();
        root.display().to_string()
    }

    fn report_unknown_window(&self) {
        if self.models.model.window.0 == 0 {
            self.events.notice(
                "the model's window is not known: nothing is compacted by itself; give it, or set models.NAME.window",
            );
        }
    }

    /// Returns where the session is, as errors name it.
    fn store_path(&self) -> PathBuf {
        match self.store.locator() {
            Some(locator) => locator.as_path().to_owned(),
            None => PathBuf::from(self.store.id()),
        }
    }

    fn unwritten(&mut self, error: StoreError) -> Refusal {
        self.turn.store_error = Some(error.to_string());
        error.into()
    }

    /// Tells the machine what happened, and does what it says, until there is nothing to be told.
    async fn feed(&mut self, event: Event) {
        self.due.push_back(event);
        while let Some(event) = self.due.pop_front() {
            let placeholder = Machine::new(self.machine.memory.policy);
            let machine = std::mem::replace(&mut self.machine, placeholder);
            let (machine, effects) = transition(machine, event);
            self.machine = machine;
            for effect in effects {
                self.carry_out(effect).await;
            }
        }
        if self.machine.state == State::Idle {
            self.record_model().await;
        }
        self.answer_aborts();
    }

    async fn finish(&mut self, job: Job, done: Done) {
        if let Done::Answer(response) = &done
            && !self.work.is_cancelled(job)
            && self.leave_out_rejected(response).await
        {
            return self.ask(job).await;
        }
        let stopped = matches!(done, Done::Stopped);
        let event = self.take(job, done).await;
        self.work.forget(job);
        if !stopped {
            self.feed(event).await;
        }
    }

    /// Waits for what was told to end, so that no request is left running.
    async fn settle(&mut self) {
        self.work.stop_all().await;
        self.record_model().await;
        if let Err(error) = self.append(Vec::new()).await {
            self.turn.store_error = Some(error.to_string());
        }
    }

    async fn finished(mut self) -> Finished {
        let spent = self.events.spent();
        let is_written = self.store.is_persisted();
        let locator = self.store.locator().filter(|_| is_written).cloned();
        self.events.send(SessionEvent::SessionEnd {
            session_id: self.store.id().to_owned(),
            path: locator.as_ref().map(ToString::to_string),
            entries: self.store.tree().len(),
            usage: spent.usage,
            cost_usd: spent.cost_usd,
            compactions: self.compaction_run.waits.total,
        });
        self.answer_closes();
        let (waiting, session_id) = (self.store.waiting(), self.store.id().to_owned());
        // The other programs may write now.
        let path = self.store_path();
        let closed = self.work.written(path, self.store.close()).await;
        let unclosed = closed.err().map(|error| error.to_string());
        Finished {
            lost: self.turn.unsaved(),
            unsaved: self.turn.store_error.or(unclosed),
            turn: self.turn.end,
            waiting,
            session_id,
            locator,
            usage: spent.usage,
            cost_usd: spent.cost_usd,
            compactions: self.compaction_run.waits.total,
        }
    }
}

/// Returns what settings decide for the machine.
fn policy(settings: &Settings, compaction: &SessionCompaction, limits: Limits) -> Policy {
    let strategy = settings.compaction.strategy.first();
    Policy {
        automatic: compaction.enabled && strategy != Strategy::Off,
        continues: match compaction.auto_continue {
            AutoContinue::Never => Continue::Never,
            AutoContinue::WhenAtWork => Continue::WhenAtWork,
            AutoContinue::Always => Continue::Always,
        },
        hands_off: strategy == Strategy::Handoff,
        most_requests: limits.turns,
        most_micro_usd: limits.cost_usd.map(check::micro_usd),
    }
}
