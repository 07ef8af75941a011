//! What comes from outside reaches these functions first. No input may panic, hang or break what is asserted here. The
//! variable `FUZZ_FORMAT` names the row of the table.

#![no_main]

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::LazyLock;

use agent_session::agent_tools::{Toolbox, Workspace};
use agent_session::LiveModels;
use agent_session::session_protocol::Snapshot;
use agent_session::{AgentSession, BuiltSession, EventReceiver, SessionHandle};
use compaction_core::{
    Outline, PlanOptions, Profile, TokenCount, Trigger, plan_compaction, removed_outline,
};
use futures_util::future::LocalBoxFuture;
use hooks::{HookAnswer, HookPoint, SampleSession};
use llm_providers::{ApiProtocol, CancellationToken, Redactor, decode_stream};
use llm_script::Script;
use serde_json::{Value, json};
use session_import::{Format, Input, Origin};
use session_model::{RoleOrder, SessionTree, build_context, check_pairs, decode_bytes};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

const FORMATS: &[(&str, fn(&[u8]))] = &[
    ("session", session),
    ("html", html),
    ("claude-code", |bytes| import(Format::ClaudeCode, bytes)),
    ("codex", |bytes| import(Format::Codex, bytes)),
    ("qwen-code", |bytes| import(Format::QwenCode, bytes)),
    ("gemini-cli", |bytes| import(Format::GeminiCli, bytes)),
    ("opencode", |bytes| import(Format::Opencode, bytes)),
    ("copilot", |bytes| import(Format::Copilot, bytes)),
    ("cline", |bytes| import(Format::Cline, bytes)),
    ("goose", |bytes| import(Format::Goose, bytes)),
    ("crush", |bytes| import(Format::Crush, bytes)),
    ("settings", settings),
    ("script", script),
    ("rpc", rpc),
    ("acp", acp),
    ("mcp", mcp),
    ("hook", hook),
    ("responses", |bytes| stream(ApiProtocol::Responses, bytes)),
    ("chat", |bytes| stream(ApiProtocol::Chat, bytes)),
    ("messages", |bytes| stream(ApiProtocol::Messages, bytes)),
    ("gemini", |bytes| stream(ApiProtocol::Gemini, bytes)),
    ("converse", |bytes| stream(ApiProtocol::Converse, bytes)),
    ("shell", shell),
];

static FORMAT: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_FORMAT").unwrap_or_default();
    let found = FORMATS.iter().find(|(known, _)| *known == name);
    let names = || FORMATS.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    found
        .unwrap_or_else(|| panic!("FUZZ_FORMAT must be one of {}", names().join(", ")))
        .1
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| FORMAT(bytes));

fn session(bytes: &[u8]) {
    let tree = decode_bytes(bytes.to_vec()).tree;
    let path = tree.path(tree.leaf());
    let context = build_context(&path, Profile::Own.context_rules());
    let (messages, _) = context.to_llm(RoleOrder::Any);
    let unpaired = check_pairs(&messages, RoleOrder::Any);
    assert!(unpaired.is_empty(), "{unpaired:?}");
    for kept in [0, context.entries.len()] {
        let _ = Outline::of(&path, &context, kept);
    }
    let _ = removed_outline(&tree, TokenCount(1000));
    let mut options = PlanOptions::for_window(TokenCount(30_000));
    options.settings.compaction.keep_recent_tokens = TokenCount(50);
    let trigger = Trigger::Manual { focus: None };
    if let Ok(plan) = plan_compaction(&path, &trigger, &options)
        && let Ok(applied) = plan.extractive()
    {
        assert!(applied.tokens_after <= plan.tokens_in_context());
    }
}

fn page(tree: &SessionTree) -> String {
    let export = session_html::Export {
        tree,
        leaf: tree.leaf(),
        profile: Profile::Own,
        clean: None,
        facts: &|_| Vec::new(),
    };
    session_html::page(&export).html
}

/// No text of a session becomes a script, a frame or something to load.
fn html(bytes: &[u8]) {
    let active = |html: &str| {
        ["<script", "<iframe", "<link", "<object", " src=\"h"].map(|tag| html.matches(tag).count())
    };
    static EMPTY: LazyLock<String> = LazyLock::new(|| page(&decode_bytes(Vec::new()).tree));
    let html = page(&decode_bytes(bytes.to_vec()).tree);
    assert_eq!(active(&html), active(&EMPTY));
}

fn import(format: Format, bytes: &[u8]) {
    let input = Input::of_bytes(bytes.to_vec());
    let (origin, none) = (Origin::default(), &|_: &str| None::<Input>);
    let mut lines = Vec::new();
    if session_import::import(format, &input, &origin, none, &mut lines).is_ok() {
        let tree = decode_bytes(lines).tree;
        let _ = build_context(&tree.path(tree.leaf()), Profile::Own.context_rules());
    }
    let mut lines = Vec::new();
    if let Ok((_, later)) =
        session_import::import_without_results(format, &input, &origin, none, &mut lines)
    {
        for line in lines.split(|byte| *byte == b'\n') {
            let _ = later.line(line);
        }
    }
}

fn settings(bytes: &[u8]) {
    static FILE: LazyLock<PathBuf> = LazyLock::new(|| scratch().join("settings.json"));
    std::fs::write(&*FILE, bytes).expect("a folder for temporary files");
    let sources = agent_settings::Sources {
        file: Some(FILE.clone()),
        ..Default::default()
    };
    let _ = agent_settings::load_layers(&sources);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let set = text.lines().map(str::to_owned).collect();
        let _ = agent_settings::load_layers(&agent_settings::Sources {
            set,
            ..Default::default()
        });
    }
}

fn script(bytes: &[u8]) {
    let _ = std::str::from_utf8(bytes).map(Script::parse);
}

/// Runs a future that must end.
fn run(future: impl Future<Output = ()>) {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    }
    RUNTIME.with(|runtime| runtime.block_on(future));
}

/// Returns a session in memory, without tools, whose model says little.
fn in_memory() -> (BuiltSession, SessionHandle, EventReceiver) {
    static SCRIPT: LazyLock<Script> = LazyLock::new(|| {
        Script::parse(&"{\"answer\":{\"text\":\"done\"}}\n".repeat(9)).expect("a script")
    });
    let models = LiveModels::of_script(&SCRIPT.clone().play(0, 0), TokenCount(128_000));
    let workspace = Workspace::open(&scratch()).expect("a folder");
    AgentSession::builder(workspace, models)
        .tools(Toolbox::none())
        .build()
}

fn scratch() -> PathBuf {
    std::env::temp_dir()
}

struct Host;

impl agent_rpc::Host for Host {
    fn models(&self, _: &str) -> Result<LiveModels, String> {
        Err("there are no others".to_owned())
    }

    fn document<'a>(
        &'a self,
        _: agent_rpc::Document,
        _: &'a Snapshot,
    ) -> LocalBoxFuture<'a, Result<Value, String>> {
        Box::pin(async { Ok(json!({})) })
    }
}

fn rpc(bytes: &[u8]) {
    run(async {
        let (session, handle, events) = in_memory();
        let (sender, lines) = mpsc::channel(1000);
        for line in bytes.split(|byte| *byte == b'\n').take(1000) {
            let _ = sender.try_send(agent_rpc::Line::Whole(line.to_vec()));
        }
        drop(sender);
        let driven = agent_rpc::Session {
            handle,
            events,
            redactor: Redactor::default().into(),
        };
        let output = agent_rpc::Output::new(std::io::sink());
        let driving = agent_rpc::drive(
            driven,
            Rc::new(Host),
            (lines, output),
            CancellationToken::new(),
        );
        let _ = tokio::join!(session.run(), driving);
    });
}

struct Sessions;

impl agent_acp::Sessions for Sessions {
    fn open(&self, opening: &agent_acp::Opening) -> Result<agent_acp::Opened, String> {
        let (session, handle, events) = in_memory();
        Ok(agent_acp::Opened {
            session,
            handle,
            events,
            cwd: opening.cwd.clone(),
        })
    }

    fn list(&self, _: Option<&Path>) -> Result<Vec<agent_acp::Listed>, String> {
        Ok(Vec::new())
    }
}

fn acp(bytes: &[u8]) {
    run(async {
        let (sender, lines) = mpsc::channel(1);
        let (out, mut written) = mpsc::channel::<String>(16);
        let serving = agent_acp::serve(Box::new(Sessions), lines, out, CancellationToken::new());
        let asking = async move {
            let mut session = "none".to_owned();
            for line in bytes.split(|byte| *byte == b'\n').take(1000) {
                // The id of a session is known once it is open.
                let line = String::from_utf8_lossy(line).replace("SESSION", &session);
                if sender
                    .send(agent_acp::Line::Whole(line.into_bytes()))
                    .await
                    .is_err()
                {
                    return;
                }
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                    while let Ok(answer) = written.try_recv() {
                        let answer: Value = serde_json::from_str(&answer).expect("JSON is written");
                        if let Some(id) = answer["result"]["sessionId"].as_str() {
                            id.clone_into(&mut session);
                        }
                    }
                }
            }
            drop(sender);
            while written.recv().await.is_some() {}
        };
        tokio::join!(serving, asking);
    });
}

fn mcp(bytes: &[u8]) {
    let Ok(Value::Object(call)) = serde_json::from_slice(bytes) else {
        return;
    };
    let (Some(name), Some(arguments)) = (call.get("name"), call.get("arguments")) else {
        return;
    };
    if let (Some(name), Some(arguments)) = (name.as_str(), arguments.as_object()) {
        let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/session/summaries.jsonl");
        let _ = agent_cli::mcp_call(&session, name, arguments);
    }
}

fn hook(bytes: &[u8]) {
    let session = SampleSession::default();
    let samples = session.samples().expect("samples");
    for event in HookPoint::ALL
        .iter()
        .filter_map(|point| samples.event(*point))
    {
        let _ = HookAnswer::read(&event, bytes).map(|answer| answer.to_string());
    }
}

/// The data of one event on each line.
fn stream(wire: ApiProtocol, bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = decode_stream(wire, text.lines());
    }
}

fn shell(bytes: &[u8]) {
    if let Ok(line) = std::str::from_utf8(bytes) {
        let _ = session_facts::programs(line);
        let _ = session_facts::shell_commands(line);
        let _ = session_facts::shell_files(line);
    }
}
