//! The shell with scripted models: what is told, what is written, and what is left when it is opened again.
//!
//! A [`Harness`] holds models, settings and hooks, and a folder for sessions; a [`Life`] is one run of a session in it.
//! When a life ends, its files are read again: no diagnostics, calls and results paired, and everything that was said
//! there once, in a session or waiting for one.

mod approvals;
mod background;
mod cancelling;
mod handoff;
mod hanging;
mod hook_points;
mod hooks;
mod instructions;
mod navigation;
mod network;
mod pins;
mod promotion;
mod queue;
mod redo;
mod rejected;
mod restore;
mod restored;
mod resume;
mod review;
mod saving;
mod strategies;
mod tools;
mod triggers;
mod waiting;

use session_tools::standard_tools;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use ::hooks::HookSet;
use compaction_core::{Profile, Settings, Summarizer, TokenCount};
use llm_providers::{
    BoxFuture, CancellationToken, Capabilities, EventStream, Provider, ProviderError, Reasoning,
    Redactor, Request,
};
use llm_script::{Script, ScriptPlay};
use serde_json::{Value, json};
use session_model::{
    AgentMessage, EntryBody, EntryId, LlmMessage, RoleOrder, build_context, check_pairs,
};
use tempfile::TempDir;

use super::{AgentSession, SessionConfig};
use agent_tools::approval::Approvals;
use agent_tools::{Tool, ToolContext, ToolMeta, ToolOutput, Toolbox, Workspace};
use project_instructions::InstructionSettings;
use project_instructions::{Instructions, Places};
use session_protocol::Navigation;
use session_protocol::channel::{EVENT_BYTES, queue};
use session_protocol::event::CompactionResult;
use session_protocol::settings::{CompactionSection, SessionCompaction};
use session_protocol::{
    Command, EventReceiver, Finished, SessionEvent, SessionHandle, command_channel,
};
use session_store::pending::read_pending;
use session_store::{
    Delivery, FileCatalog, FileLayer, NewSession, OpenSession, SessionFile, SyncPolicy, SystemFiles,
};
use summarize::models::{LiveModel, LiveModels};
use summarize::{Candidate, SummaryMethod};

/// What was asked of a model.
type Asked = Arc<Mutex<Vec<Request>>>;

/// A provider that keeps the requests.
struct Recorded {
    provider: Arc<dyn Provider>,
    model: Option<String>,
    asked: Asked,
}

impl Provider for Recorded {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn model(&self) -> &str {
        self.model
            .as_deref()
            .unwrap_or_else(|| self.provider.model())
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let broken = check_pairs(&request.messages, RoleOrder::Any);
        assert!(broken.is_empty(), "{broken:?}");
        self.asked.lock().unwrap().push(request.clone());
        self.provider.stream(request, cancel)
    }

    fn capabilities(&self) -> &Capabilities {
        self.provider.capabilities()
    }
}

/// What slow tools noted.
type Log = Arc<Mutex<Vec<String>>>;

/// A tool that takes its time and notes when it begins and ends.
struct Slow {
    name: &'static str,
    log: Log,
}

impl Tool for Slow {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "takes its time"
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    fn meta(&self) -> ToolMeta {
        Toolbox::builtin().meta(self.name)
    }

    fn approval_subject(&self, _: &Value) -> Option<String> {
        None
    }

    fn run<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let what = ["path", "command"]
                .iter()
                .find_map(|key| arguments[*key].as_str());
            let what = format!("{} {}", self.name, what.unwrap_or_default());
            self.log.lock().unwrap().push(format!("{what} begins"));
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.log.lock().unwrap().push(format!("{what} ends"));
            ToolOutput::error("done")
        })
    }
}

/// Models, settings and hooks, and a folder with sessions and a workspace.
struct Harness {
    folder: TempDir,
    play: ScriptPlay,
    /// The plays of further models.
    others: Vec<ScriptPlay>,
    models: LiveModels,
    settings: Settings,
    when: SessionCompaction,
    hooks: Arc<HookSet>,
    tools: Toolbox,
    approvals: Approvals,
    redactor: Arc<Redactor>,
    system_prompt: String,
    limits: super::Limits,
    /// What further sessions are written through.
    files: Arc<dyn FileLayer>,
    /// When they are forced to the disk.
    sync: SyncPolicy,
    /// What the model that answers was asked.
    asked: Asked,
    /// What the model that summarizes was asked.
    summaries: Asked,
}

/// The window of scripts that name none.
const WINDOW: u64 = 128_000;

impl Harness {
    /// Returns a harness in which `script` plays the model and the summarizer.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.unwrap();
        for name in ["sessions", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let script = Script::parse(script).unwrap();
        let window = script.header.window.unwrap_or(WINDOW);
        let play = script.play(0, 0);
        let mut models = LiveModels::of_script(&play, TokenCount(window));
        let (asked, summaries) = (Asked::default(), Asked::default());
        models.model.provider = recorded(models.model.provider, None, &asked);
        for candidate in &mut models.others {
            candidate.provider = recorded(candidate.provider.clone(), None, &summaries);
        }
        Self {
            folder,
            play,
            others: Vec::new(),
            models,
            settings: Settings::default(),
            when: SessionCompaction::default(),
            hooks: Arc::new(HookSet::default()),
            // What others there are does not change the figures of these tests.
            tools: standard_tools()
                .choose(&["read", "write", "edit", "bash"].map(str::to_owned))
                .unwrap(),
            approvals: Approvals::allow_all(),
            redactor: Arc::default(),
            system_prompt: "be brief".to_owned(),
            limits: super::Limits::default(),
            files: Arc::new(SystemFiles),
            sync: SyncPolicy::Never,
            asked,
            summaries,
        }
    }

    /// Sets what stands under `compaction` in the settings.
    fn compaction(mut self, settings: Value) -> Self {
        let section: CompactionSection = serde_json::from_value(settings).unwrap();
        self.settings.compaction = section.rules;
        self.when = section.session;
        self.settings.check().unwrap();
        self.when.check().unwrap();
        self
    }

    fn hook(mut self, hook: impl ::hooks::Hook + 'static) -> Self {
        Arc::get_mut(&mut self.hooks).unwrap().register(hook);
        self
    }

    /// Returns a model of this name and window that plays a script of its own.
    fn model(&mut self, name: &str, script: &str, window: u64) -> LiveModel {
        let play = Script::parse(script).unwrap().play(0, 0);
        let provider = Arc::new(play.turns());
        self.others.push(play);
        LiveModel {
            provider: recorded(provider, Some(name), &self.asked),
            prices: None,
            api: "scripted".to_owned(),
            window: TokenCount(window),
            summarizers: Vec::new(),
        }
    }

    /// Lets a model of this window, with a script of its own, write the summaries after those that there are.
    fn summarizer(&mut self, script: &str) {
        let play = Script::parse(script).unwrap().play(0, 0);
        let provider = Arc::new(play.summaries().unwrap());
        self.others.push(play);
        self.models.others.push(Candidate {
            summarizer: Summarizer::Model {
                provider: "scripted".to_owned(),
                model: provider.model().to_owned(),
            },
            provider: recorded(provider, None, &self.summaries),
            way: SummaryMethod::Summary,
            prices: None,
        });
    }

    /// Gives the agent tools that only take their time, a second each; returns what they note.
    fn slow_tools(&mut self) -> Log {
        let log = Log::default();
        let names = [
            "read", "write", "edit", "bash", "grep", "find", "ls", "srv__put",
        ];
        let tools = names.map(|name| {
            let log = log.clone();
            Arc::new(Slow { name, log }) as Arc<dyn Tool>
        });
        self.tools = Toolbox::of(tools.to_vec());
        log
    }

    /// Returns the instructions of the workspace, which is the project, and those of the user in `config`.
    fn instructions(&self) -> Instructions {
        let places = Places {
            config_dir: Some(self.folder.path().join("config")),
            project: vec![self.work().canonicalize().unwrap()],
        };
        Instructions::of(&InstructionSettings::default(), places)
    }

    fn sessions(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.work().join(name), text).unwrap();
    }

    /// Puts a file of about so many tokens into the workspace, in lines.
    fn put_lines(&self, name: &str, tokens: usize) {
        self.put(name, &words(tokens).replace("amet ", "amet\n"));
    }

    fn catalog(&self) -> FileCatalog {
        FileCatalog::through(self.sessions(), self.files.clone())
            .making_in(self.sessions())
            .synced(self.sync)
    }

    /// Begins a new session.
    fn live(&self) -> Life<'_> {
        let new = NewSession {
            cwd: self.work().to_string_lossy().into_owned(),
            parent: None,
        };
        let store = self.catalog().create_file(new);
        self.live_in(Box::new(store.unwrap()))
    }

    /// Opens the session at `path`.
    fn open(&self, path: &Path) -> Life<'_> {
        let store = self.catalog().open_file(path, &mut ());
        self.live_in(Box::new(store.unwrap()))
    }

    /// Opens a session that is written in the notation of `test-support`; its answers are the model's.
    fn open_session(&self, notation: &str) -> Life<'_> {
        self.open(&self.session(notation))
    }

    fn session(&self, notation: &str) -> PathBuf {
        self.file(&test_support::session(notation))
    }

    fn file(&self, lines: &str) -> PathBuf {
        let text = lines
            .replace(
                r#""model":"test","provider":"test""#,
                r#""model":"script","provider":"scripted""#,
            )
            .replace(r#""api":"test""#, r#""api":"scripted""#)
            .replace(
                r#""modelId":"test","parentId""#,
                r#""modelId":"script","parentId""#,
            );
        let path = self.sessions().join("session.jsonl");
        std::fs::write(&path, text).unwrap();
        path
    }

    fn live_in(&self, store: OpenSession) -> Life<'_> {
        let (sender, events) = queue(EVENT_BYTES);
        let (commands, receiver) = command_channel();
        let path = store.locator().cloned().map(PathBuf::from);
        let session = AgentSession::new(self.config(store), sender, receiver);
        Life {
            harness: self,
            path,
            commands,
            events,
            run: Some(Box::pin(session.run())),
            finished: None,
            heard: Vec::new(),
            seen: 0,
            told: 0,
            said: Vec::new(),
        }
    }

    fn config(&self, store: OpenSession) -> SessionConfig {
        let workspace = Workspace::open(&self.work()).unwrap();
        let mut tool_context = ToolContext::new(workspace, self.approvals.clone());
        tool_context.redactor = self.redactor.clone();
        SessionConfig {
            store,
            catalog: Arc::new(self.catalog()),
            models: self.models.clone(),
            settings: self.settings.clone(),
            compaction: self.when.clone(),
            hooks: self.hooks.clone(),
            tools: self.tools.clone(),
            servers: Vec::new(),
            tool_context,
            system_prompt: self.system_prompt.clone(),
            instructions: self.instructions(),
            reasoning: Reasoning::Default,
            limits: self.limits,
        }
    }

    fn requests_in_flight(&self) -> usize {
        let plays = std::iter::once(&self.play).chain(&self.others);
        plays.map(ScriptPlay::requests_in_flight).sum()
    }

    /// Returns the files in the folder of sessions with their bytes, locks aside.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let names = std::fs::read_dir(self.sessions()).unwrap();
        let names = names.map(|entry| entry.unwrap().path());
        let names = names.filter(|path| path.extension().is_none_or(|end| end != "lock"));
        let names = names.filter(|path| path.is_file());
        let files = names.map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        });
        files.collect()
    }

    /// Returns the texts of the messages of the request that was the newest to the model.
    fn newest_request(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.last().unwrap().messages.iter().map(short).collect()
    }

    /// Checks every session and what waits beside it; returns how often each text was said by the user.
    fn check(&self) -> BTreeMap<String, usize> {
        // What waited before the session had a file may stand in two files, under one id.
        let mut said: BTreeMap<EntryId, String> = BTreeMap::new();
        for name in self.files().keys() {
            let path = self.sessions().join(name);
            if name.ends_with(".pending.jsonl") {
                let session = session_store::pending::session_path(&path).unwrap();
                let (held, _, _) = read_pending(&session).unwrap().unwrap();
                let waiting = held.queue.into_iter();
                said.extend(waiting.map(|queued| (queued.id, queued.text)));
                said.extend(user_texts(held.session.tree()));
                continue;
            }
            let session = SessionFile::open(&path).unwrap();
            let diagnostics = &session.decoded.diagnostics;
            assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
            let tree = session.tree();
            let context = build_context(&tree.path(tree.leaf()), Profile::Own.context_rules());
            let noticed = &context.diagnostics;
            assert!(noticed.is_empty(), "{name}: {noticed:?}");
            let (messages, _) = context.to_llm(RoleOrder::Any);
            let broken = check_pairs(&messages, RoleOrder::Any);
            assert!(broken.is_empty(), "{name}: {broken:?}");
            said.extend(user_texts(tree));
        }
        let mut counts = BTreeMap::new();
        for text in said.into_values() {
            *counts.entry(text).or_default() += 1;
        }
        counts
    }
}

fn recorded(provider: Arc<dyn Provider>, model: Option<&str>, asked: &Asked) -> Arc<dyn Provider> {
    Arc::new(Recorded {
        provider,
        model: model.map(str::to_owned),
        asked: asked.clone(),
    })
}

fn user_texts(tree: &session_model::SessionTree) -> Vec<(EntryId, String)> {
    let entries = tree.indices().map(|index| tree.entry(index).unwrap());
    let texts = entries.filter_map(|entry| match &entry.body {
        EntryBody::Message(message) if matches!(**message, AgentMessage::User(_)) => {
            Some((entry.id.clone(), message.display_text()))
        }
        _ => None,
    });
    texts.collect()
}

/// Returns a message as `role: its beginning`.
fn short(message: &LlmMessage) -> String {
    let text = message.content().joined_text(" ");
    let calls = message.content().tool_calls();
    let calls: Vec<&str> = calls.map(|call| call.name.as_str()).collect();
    let calls = match calls.is_empty() {
        true => String::new(),
        false => format!(" [{}]", calls.join(" ")),
    };
    let text: String = match text.strip_prefix('#') {
        Some(marked) => format!("#{}", marked.split(' ').next().unwrap()),
        None => text.chars().take(48).collect(),
    };
    format!("{}: {text}{calls}", message.role())
}

/// One run of a session.
struct Life<'a> {
    harness: &'a Harness,
    /// Where it is written.
    path: Option<PathBuf>,
    commands: SessionHandle,
    events: EventReceiver,
    run: Option<Pin<Box<dyn Future<Output = Finished>>>>,
    finished: Option<Finished>,
    heard: Vec<SessionEvent>,
    /// How many events were waited for.
    seen: usize,
    /// How many events were looked at.
    told: usize,
    /// What the user said and did not take back.
    said: Vec<String>,
}

impl Life<'_> {
    fn send(&self, command: Command) {
        // One that has ended needs no command.
        let _ = self.commands.try_send(command);
    }

    fn say(&mut self, text: &str) {
        self.deliver(text, Delivery::Prompt);
    }

    fn deliver(&mut self, text: &str, delivery: Delivery) {
        self.said.push(text.to_owned());
        self.send(Command::Prompt {
            prompt: text.into(),
            delivery,
        });
    }

    /// Says something, and waits for the rest behind it.
    async fn ask(&mut self, text: &str) -> String {
        self.say(text);
        self.rest().await
    }

    /// Lets the run take one step; returns true when it has ended.
    fn step(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(run) = &mut self.run
            && let Poll::Ready(finished) = run.as_mut().poll(context)
        {
            self.finished = Some(finished);
            self.run = None;
        }
        while let Some(event) = self.events.try_recv() {
            self.heard.push(event);
        }
        self.run.is_none()
    }

    /// Waits until something is told, or the end.
    async fn until(&mut self, wanted: impl Fn(&SessionEvent) -> bool) {
        let mut from = self.seen.max(self.told);
        let found = poll_fn(|context| {
            let ended = self.step(context);
            let found = self.heard[from..].iter().position(&wanted);
            match found {
                Some(place) => self.seen = from + place + 1,
                None => from = self.heard.len(),
            }
            match ended || found.is_some() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
        // Nobody waits so long for anything else, so this costs no time.
        let waited = tokio::time::timeout(Duration::from_secs(86_400), found).await;
        assert!(waited.is_ok(), "it never came:\n{}", self.news());
    }

    /// Waits until nothing goes on any more; returns what was told since the last look.
    async fn rest(&mut self) -> String {
        self.until(|event| matches!(event, SessionEvent::Idle { .. }))
            .await;
        self.news()
    }

    /// Returns what was told since the last look.
    fn news(&mut self) -> String {
        let news = self.heard[self.told..].iter();
        let news: Vec<String> = news.filter_map(line).collect();
        self.told = self.heard.len();
        news.join("\n")
    }

    /// Returns the result of the newest compaction.
    fn result(&self) -> &CompactionResult {
        let results = self.heard.iter().rev();
        let mut results = results.filter_map(|event| match event {
            SessionEvent::AutoCompactionEnd { result, .. }
            | SessionEvent::CompactionEnd { result, .. } => result.as_ref(),
            _ => None,
        });
        results.next().unwrap()
    }

    fn command_and(&mut self, command: Command) -> impl Future<Output = String> + '_ {
        self.send(command);
        self.rest()
    }

    /// Ends the run; returns how it ended, after a look at everything that it left.
    async fn close(&mut self) -> Finished {
        self.send(Command::Close);
        poll_fn(|context| match self.step(context) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        assert_eq!(self.harness.requests_in_flight(), 0);
        self.check();
        self.finished.take().unwrap()
    }

    /// Checks that everything that was said is there once.
    fn check(&self) {
        let there = self.harness.check();
        for text in &self.said {
            assert_eq!(there.get(text), Some(&1), "{text}: {there:?}");
        }
    }

    fn path(&self) -> &Path {
        self.path.as_deref().unwrap()
    }

    /// Returns the session as it is on the disk: the path to the leaf, an entry a line.
    fn written(&self) -> String {
        written(self.path())
    }
}

/// Returns the path to the leaf of a session, an entry a line.
fn written(path: &Path) -> String {
    let session = SessionFile::open(path).unwrap();
    let tree = session.tree();
    let way = tree.path(tree.leaf());
    let lines = way.entries().iter().map(|index| {
        let entry = tree.entry(*index).unwrap();
        match &entry.body {
            EntryBody::Message(message) => {
                let text: String = match message.display_text() {
                    // Of the notation only the number says something.
                    text if text.starts_with('#') => text.split(' ').next().unwrap().to_owned(),
                    _ if matches!(**message, AgentMessage::System(_)) => String::new(),
                    text => text.chars().take(60).collect(),
                };
                let stop = match &**message {
                    AgentMessage::Assistant(answer) => format!(" ({})", answer.stop_reason.name()),
                    _ => String::new(),
                };
                format!("{}{stop}: {}", message.role(), text.replace('\n', " "))
            }
            EntryBody::ModelChange(model) => format!("model {}", model.model_id),
            EntryBody::ContextEdit { replacement, .. } => match replacement {
                None => "omission".to_owned(),
                Some(_) => "edit".to_owned(),
            },
            EntryBody::Custom { custom_type, .. } => format!("custom {custom_type}"),
            EntryBody::CustomMessage(message) => format!("custom message {}", message.custom_type),
            other => format!("{other:?}")
                .split([' ', '('])
                .next()
                .unwrap()
                .to_lowercase(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns an event as a line; nothing for what every turn tells alike.
fn line(event: &SessionEvent) -> Option<String> {
    let end = |what: &str, result: &Option<CompactionResult>, aborted, will_retry, error| {
        let result = match result {
            Some(result) => {
                let prepared = if result.prepared { " prepared" } else { "" };
                format!(" {} by {}{prepared}", result.strategy, result.summarizer)
            }
            None => String::new(),
        };
        let aborted = if aborted { " aborted" } else { "" };
        let retry = if will_retry { ", goes on" } else { "" };
        let error: &Option<String> = error;
        let error = error.as_ref().map(|error| format!(": {error}"));
        format!(
            "{what}{result}{aborted}{retry}{}",
            error.unwrap_or_default()
        )
    };
    Some(match event {
        SessionEvent::SessionStart { .. }
        | SessionEvent::Queued { .. }
        | SessionEvent::TurnStart
        | SessionEvent::TextDelta { .. }
        | SessionEvent::ToolUpdate { .. }
        | SessionEvent::ThinkingDelta { .. }
        | SessionEvent::ToolStart { .. }
        | SessionEvent::Context { .. }
        | SessionEvent::Idle { waiting: 0 } => return None,
        SessionEvent::CompactionProgress { text, notable } => {
            return notable.then(|| format!("progress: {text}"));
        }
        SessionEvent::Message { text, .. } => format!("user: {}", head(text)),
        SessionEvent::Retry { error, .. } => format!("retry: {error}"),
        SessionEvent::Answer {
            text,
            tool_calls,
            stop_reason,
            error,
            ..
        } => {
            let calls = match tool_calls {
                0 => String::new(),
                calls => format!(" +{calls}"),
            };
            let error = error.as_ref().map(|error| format!(" {error}"));
            format!(
                "answer ({stop_reason}): {}{calls}{}",
                head(text),
                error.unwrap_or_default()
            )
        }
        SessionEvent::ToolEnd { name, is_error, .. } => match is_error {
            true => format!("tool {name} failed"),
            false => format!("tool {name}"),
        },
        SessionEvent::Pruned { results, .. } => format!("pruned {results}"),
        SessionEvent::Promoted { from, to, .. } => format!("promoted {from} -> {to}"),
        SessionEvent::AutoCompactionStart { reason, strategy } => {
            format!("auto-compaction {reason} {strategy}")
        }
        SessionEvent::AutoCompactionEnd {
            result,
            aborted,
            will_retry,
            error,
            ..
        } => end("auto-compacted", result, *aborted, *will_retry, error),
        SessionEvent::CompactionStart { reason, strategy } => {
            format!("compaction {reason} {strategy}")
        }
        SessionEvent::CompactionEnd {
            result,
            aborted,
            will_retry,
            error,
            ..
        } => end("compacted", result, *aborted, *will_retry, error),
        SessionEvent::CompactionReview { summary, error, .. } => match error {
            Some(error) => format!("review again: {error}"),
            None => format!("review: {}", head(summary)),
        },
        SessionEvent::Navigated {
            editor_text,
            summary_entry_id,
            cancelled,
            ..
        } => {
            let summary = summary_entry_id.as_ref().map(|_| " with a summary");
            let editor = editor_text
                .as_ref()
                .map(|text| format!(" editor: {}", head(text)));
            let cancelled = if *cancelled { " cancelled" } else { "" };
            format!(
                "navigated{}{}{cancelled}",
                summary.unwrap_or_default(),
                editor.unwrap_or_default()
            )
        }
        SessionEvent::SessionSwitch { .. } => "another session".to_owned(),
        SessionEvent::Pinned {
            text,
            tokens,
            used_tokens,
            budget_tokens,
            ..
        } => {
            let text = head(text);
            format!("pinned ({tokens}; {used_tokens} of {budget_tokens}): {text}")
        }
        SessionEvent::Unpinned { used_tokens, .. } => format!("unpinned, {used_tokens} left"),
        SessionEvent::Labelled { label, .. } => format!("label {label:?}"),
        SessionEvent::ApprovalRequest { tool, subject, .. } => {
            format!("asks for {tool}: {subject}")
        }
        SessionEvent::ApprovalEnd { decision, .. } => match decision {
            Some(decision) => format!("allowed {decision}"),
            None => "not asked any more".to_owned(),
        },
        SessionEvent::HookFailed {
            hook,
            point,
            reason,
        } => format!("hook {hook} failed at {point}: {reason}"),
        SessionEvent::Instructions { reason, files } => {
            let files = files.iter();
            let files = files.map(|file| format!(" {} {}", file.path, file.state));
            format!("instructions {reason}:{}", files.collect::<String>())
        }
        SessionEvent::ToolServer { name, state, .. } => format!("server {name} {state}"),
        SessionEvent::Notice { text } => format!("notice: {text}"),
        SessionEvent::Error { message } => format!("error: {message}"),
        SessionEvent::TurnEnd { end, error } => match error {
            Some(error) => format!("turn {end}: {error}"),
            None => format!("turn {end}"),
        },
        SessionEvent::Idle { waiting } => format!("idle, {waiting} wait"),
        SessionEvent::SessionEnd { .. } => "end".to_owned(),
        event => unreachable!("{event:?}"),
    })
}

fn head(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Runs a test on one thread; time stands still unless everybody waits for it.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// Returns a text of about so many tokens.
fn words(tokens: usize) -> String {
    "lorem ipsum dolor sit amet "
        .chars()
        .cycle()
        .take(tokens * 4)
        .collect()
}

fn to(target: Option<&str>) -> Navigation {
    Navigation {
        target: target.map(EntryId::new),
        summarize: false,
        focus: None,
        label: None,
    }
}

/// Compaction as the user asks for it.
fn compact() -> Command {
    Command::Compact(Default::default())
}

fn compact_by(strategy: compaction_core::Strategy) -> Command {
    Command::Compact(session_protocol::CompactionRequest {
        strategy: Some(strategy),
        ..Default::default()
    })
}

fn line_of(value: &Value) -> String {
    format!("{value}\n")
}

fn answer(text: &str) -> String {
    line_of(&json!({ "answer": { "text": text } }))
}

fn summary(text: &str) -> String {
    line_of(&json!({ "summary": { "text": text } }))
}

/// Returns more summaries than are asked for.
fn summaries() -> String {
    summary("## Goal\nall of it").repeat(9)
}

fn calls(calls: Value) -> String {
    let mut answer = json!({ "answer": {} });
    answer["answer"]["calls"] = calls;
    line_of(&answer)
}

/// Returns the whole text of a request.
fn text_of(request: &Request) -> String {
    let contents = request.messages.iter().map(LlmMessage::content);
    contents.flat_map(session_model::Content::texts).collect()
}

fn window(window: u64) -> String {
    line_of(&json!({ "script": 1, "window": window }))
}

/// A model's error of this kind.
fn error(kind: &str) -> String {
    line_of(&json!({ "error": { "kind": kind } }))
}
