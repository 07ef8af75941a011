//! `acp`: a whole session as an editor drives it, and editors that send garbage or disappear.
#![cfg(unix)]

use std::{io::Write, process::Command};

use serde_json::{Value, json};

use crate::rpc::Client;
use crate::run::Runs;

/// A command that has to be allowed, a list of what is to be done, an edit, an answer that takes long.
const WORK: &str = include_str!("../../../../xtask/acp-client/script.jsonl");

/// An editor, as far as tests need one.
pub struct Editor {
    client: Client,
    number: u64,
}

impl Editor {
    fn start(runs: &Runs, options: &[&str]) -> Self {
        let arguments = ["acp", "--provider", "scripted:script.jsonl"];
        Self::with(Client::of(runs, &[&arguments[..], options].concat()))
    }

    /// Introduces itself to a program that was started.
    pub fn with(client: Client) -> Self {
        let mut editor = Self { client, number: 0 };
        let known = json!({"protocolVersion": 1, "clientCapabilities": {"session": {"compaction": {}, "notices": {}}}});
        let introduced = editor.ask("initialize", &known);
        assert_eq!(introduced["protocolVersion"], 1);
        assert_eq!(
            introduced["agentCapabilities"]["sessionCapabilities"],
            json!({"list": {}, "resume": {}, "close": {}})
        );
        editor
    }

    fn line(&mut self, message: &Value) {
        self.client.send_bytes(format!("{message}\n").as_bytes());
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.number += 1;
        let id = self.number + 1000;
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn answer(&mut self, id: u64) -> Value {
        self.client
            .wait(|line| line["id"] == id && line["method"].is_null())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.answer(id);
        assert_eq!(answer["error"], Value::Null, "{method}: {answer}");
        answer["result"].take()
    }

    fn refused(&mut self, method: &str, params: &Value) -> (i64, String) {
        let id = self.send(method, params);
        let answer = self.answer(id);
        let error = &answer["error"];
        (
            error["code"].as_i64().expect("a code"),
            error["message"].as_str().expect("a message").to_owned(),
        )
    }

    /// Begins a session in the folder of `runs`; returns its id.
    pub fn new_session(&mut self, runs: &Runs) -> String {
        let new = self.ask(
            "session/new",
            &json!({"cwd": runs.env.folder(), "mcpServers": []}),
        );
        self.update("available_commands_update");
        new["sessionId"].as_str().expect("an id").to_owned()
    }

    fn say(&mut self, session: &str, text: &str) -> u64 {
        self.send(
            "session/prompt",
            &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}),
        )
    }

    /// Says something and returns why the answer ended.
    pub fn prompt(&mut self, session: &str, text: &str) -> Value {
        let id = self.say(session, text);
        let answer = self.answer(id);
        answer["result"]["stopReason"].clone()
    }

    /// Ends the input and waits for the end; returns the lines that nobody has asked for.
    pub fn end(self) -> Vec<Value> {
        self.client.end().1
    }

    fn update(&mut self, kind: &str) -> Value {
        let mut line = self
            .client
            .wait(|line| line["params"]["update"]["sessionUpdate"] == kind);
        line["params"]["update"].take()
    }

    fn allow(&mut self, option: &str) -> Value {
        let question = self
            .client
            .wait(|line| line["method"] == "session/request_permission");
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.line(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}));
        question["params"].clone()
    }
}

#[test]
fn a_whole_session_with_approval_cancel_compaction_and_resume() {
    let runs = Runs::of(WORK);
    let options = ["--set", "compaction.keepRecentTokens=100"];
    let mut editor = Editor::start(&runs, &options);
    let session = editor.new_session(&runs);

    let prompt = editor.say(&session, &format!("go {}", "and read this. ".repeat(2000)));
    let question = editor.allow("once");
    assert_eq!(question["sessionId"], json!(session));
    assert_eq!(question["toolCall"]["title"], "`echo done > first`");
    let kinds: Vec<&Value> = question["options"]
        .as_array()
        .expect("options")
        .iter()
        .map(|option| &option["kind"])
        .collect();
    assert_eq!(
        kinds,
        ["allow_once", "allow_always", "reject_once", "reject_always"]
    );
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    assert!(runs.env.path("first").exists());
    assert_eq!(
        editor.update("agent_thought_chunk")["content"]["text"],
        "first the tools"
    );
    let call = editor.update("tool_call");
    assert_eq!(
        (&call["toolCallId"], &call["kind"]),
        (&json!("one"), &json!("execute"))
    );
    let write = editor.update("tool_call");
    assert_eq!(
        (&write["toolCallId"], &write["kind"]),
        (&json!("three"), &json!("edit"))
    );
    let difference = &write["content"][0];
    assert_eq!(
        (&difference["type"], &difference["newText"]),
        (&json!("diff"), &json!("hello\n"))
    );
    assert_eq!(write["locations"][0]["path"], difference["path"]);
    let plan = editor.update("plan");
    assert_eq!(
        plan["entries"],
        json!([{"content": "write it", "priority": "medium", "status": "in_progress"}])
    );
    assert!(editor.update("usage_update")["size"].as_u64() == Some(60000));

    // While one prompt is worked on there is no second one; it is cancelled, and the session goes on.
    let slow = editor.say(&session, "slowly");
    let (_, message) = editor.refused(
        "session/prompt",
        &json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}),
    );
    assert!(message.contains("is worked on"), "{message}");
    editor.line(
        &json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}),
    );
    assert_eq!(editor.answer(slow)["result"]["stopReason"], "cancelled");
    assert_eq!(editor.prompt(&session, "again"), "end_turn");

    assert_eq!(editor.prompt(&session, "/compact the files"), "end_turn");
    assert_eq!(editor.update("compaction_update")["status"], "in_progress");
    let done = editor.update("compaction_update");
    assert_eq!(done["status"], "completed");
    let summary = done["summary"][0]["text"].as_str().expect("a summary");
    assert!(summary.contains("The summary of the script."), "{summary}");
    assert_eq!(editor.prompt(&session, "/undo"), "end_turn");
    assert_eq!(editor.prompt(&session, "/redo"), "end_turn");

    assert_eq!(
        editor.ask("session/close", &json!({"sessionId": session})),
        json!({})
    );
    assert_eq!(
        editor
            .refused(
                "session/prompt",
                &json!({"sessionId": session, "prompt": []})
            )
            .0,
        -32002
    );
    let list = editor.ask("session/list", &json!({"cwd": runs.env.folder()}));
    assert_eq!(list["sessions"][0]["sessionId"], json!(session));

    let old = json!({"sessionId": session, "cwd": runs.env.folder(), "mcpServers": []});
    editor.client.forget();
    editor.ask("session/load", &old);
    let said = editor.update("user_message_chunk");
    assert!(
        said["content"]["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("go and read this."))
    );
    assert_eq!(editor.update("tool_call")["status"], "pending");
    assert_eq!(editor.update("tool_call_update")["status"], "completed");
    assert_eq!(editor.refused("session/load", &old).0, -32600);
    assert_eq!(editor.prompt(&session, "and now?"), "end_turn");
    editor
        .client
        .wait(|line| line["params"]["update"]["content"]["text"] == "After the load.");

    editor.ask("session/close", &json!({"sessionId": session}));
    editor.client.forget();
    assert_eq!(editor.ask("session/resume", &old), json!({}));
    let (code, lines, stderr) = editor.client.end();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let told_again =
        |line: &Value| line["params"]["update"]["sessionUpdate"] == "user_message_chunk";
    assert!(!lines.iter().any(told_again), "resume tells nothing again");
}

#[test]
fn garbage_is_answered_and_nothing_else_happens() {
    let runs = Runs::of(WORK);
    let mut editor = Editor::start(&runs, &[]);
    for (line, code) in [
        (&b"{\"id\":1"[..], -32700),
        (b"\xff\xfe\x00", -32700),
        (b"[]", -32600),
        (b"\"text\"", -32600),
        (b"{\"id\":[],\"method\":\"session/new\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"method\":7}", -32600),
    ] {
        editor.client.send_bytes(&[line, b"\n"].concat());
        let answer = editor.client.wait(|answer| answer["error"].is_object());
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{}",
            line.escape_ascii()
        );
    }
    // Neither of these is answered.
    for line in [
        "",
        "  ",
        r#"{"id":99,"result":{}}"#,
        r#"{"method":"session/cancel","params":{"sessionId":"x"}}"#,
        r#"{"method":"what"}"#,
    ] {
        editor.client.send_bytes(format!("{line}\n").as_bytes());
    }
    for (method, params, code) in [
        ("session/dance", json!({}), -32601),
        ("session/new", json!({}), -32602),
        ("session/new", json!({"cwd": "relative"}), -32602),
        ("session/new", json!({"cwd": "/no/such/folder"}), -32603),
        (
            "session/new",
            json!({"cwd": runs.env.folder(), "mcpServers": [{"type": "http", "name": "a", "url": "http://x"}]}),
            -32602,
        ),
        (
            "session/load",
            json!({"sessionId": "../../x", "cwd": runs.env.folder()}),
            -32002,
        ),
        (
            "session/prompt",
            json!({"sessionId": "x", "prompt": [{"type": "text", "text": "x"}]}),
            -32002,
        ),
        ("session/prompt", json!({"sessionId": 7}), -32602),
        ("session/list", json!({"cursor": "x"}), -32602),
    ] {
        assert_eq!(editor.refused(method, &params).0, code, "{method} {params}");
    }
    let (code, rest, stderr) = editor.client.end();
    assert_eq!((code, rest, stderr.as_str()), (Some(0), Vec::new(), ""));
    assert!(runs.sessions().is_empty());
}

#[test]
fn nothing_is_done_before_the_editor_has_introduced_itself() {
    let runs = Runs::of(WORK);
    let mut client = Client::of(&runs, &["acp", "--provider", "scripted:script.jsonl"]);
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"session/new\",\"params\":{\"cwd\":\"/\"}}\n");
    let answer = client.wait(|line| line["id"] == "a");
    assert_eq!(answer["error"]["message"], "initialize comes first");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn an_editor_that_disappears_leaves_a_session_that_can_be_loaded() {
    let runs = Runs::of(WORK);
    let mut editor = Editor::start(&runs, &[]);
    let session = editor.new_session(&runs);
    editor.say(&session, "go");
    editor
        .client
        .wait(|line| line["method"] == "session/request_permission");
    // Nobody reads and nobody writes any more.
    let (mut child, stdin) = editor.client.close_output();
    let mut stdin = stdin.expect("its input");
    let _ = stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"session/list\"}\n");
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    assert!(
        !runs.env.path("first").exists(),
        "what was not allowed did not run"
    );
    let mut editor = Editor::start(&runs, &[]);
    editor.ask(
        "session/load",
        &json!({"sessionId": session, "cwd": runs.env.folder()}),
    );
    assert_eq!(editor.update("user_message_chunk")["content"]["text"], "go");
    assert_eq!(editor.client.end().0, Some(0));
}

#[test]
fn a_prompt_is_cancelled_in_the_moment_in_which_it_comes() {
    let runs = Runs::of(WORK);
    let mut editor = Editor::start(&runs, &[]);
    let session = editor.new_session(&runs);
    let text = json!([{"type": "text", "text": "go"}]);
    let prompt = json!({"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": {"sessionId": session, "prompt": text}});
    let cancel =
        json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
    editor
        .client
        .send_bytes(format!("{prompt}\n{cancel}\n").as_bytes());
    assert_eq!(editor.answer(7)["result"]["stopReason"], "cancelled");
    assert!(!runs.env.path("first").exists());
    assert_eq!(editor.client.end().0, Some(0));
}

#[test]
fn a_denied_command_does_not_run() {
    let runs = Runs::of(WORK);
    let mut editor = Editor::start(&runs, &[]);
    let session = editor.new_session(&runs);
    let prompt = editor.say(&session, "go");
    editor.allow("deny");
    assert_eq!(editor.answer(prompt)["result"]["stopReason"], "end_turn");
    assert!(!runs.env.path("first").exists());
    assert_eq!(editor.update("tool_call_update")["status"], "failed");
    assert_eq!(editor.client.end().0, Some(0));
}

#[test]
fn a_server_of_the_editor_gets_nothing_of_the_users_server_of_that_name() {
    let runs = Runs::of(WORK);
    let own = json!({"mcpServers": {"issues": {
        "command": "false", "args": ["their"], "env": {"THEIRS": "secret-of-the-user"}, "cwd": "/",
        "passEnv": ["ISSUES_TOKEN"],
    }}});
    runs.env.write("config/settings.json", own.to_string());
    let mut program = runs.bare(&["acp", "--provider", "scripted:script.jsonl"]);
    program.env("ISSUES_TOKEN", "0123456789abcdef0123");
    let mut editor = Editor::with(Client::spawn(&mut program));
    let named = |name: &str, file: &str| {
        let env = json!([{"name": "MINE", "value": "1"}]);
        let write = format!("{{ env; pwd; echo $@; }} > {file}");
        json!({"name": name, "command": "sh", "args": ["-c", write], "env": env})
    };
    let servers = [
        named("issues", "seen"),
        named("a.b", "one"),
        named("a_b", "other"),
    ];
    // A pipe is read to the end of what is written, so nothing ends before it was.
    for pipe in ["seen", "one", "other"] {
        let made = Command::new("mkfifo").arg(runs.env.path(pipe)).status();
        assert!(made.expect("mkfifo runs").success());
    }
    editor.ask(
        "session/new",
        &json!({"cwd": runs.env.folder(), "mcpServers": servers}),
    );
    let written = |file: &str| String::from_utf8(runs.env.read(file)).expect("text");
    for file in ["one", "other"] {
        assert!(written(file).contains("MINE=1"), "both are started");
    }
    let seen = written("seen");
    assert_eq!(editor.client.end().0, Some(0));
    assert!(seen.contains("MINE=1"), "{seen}");
    for theirs in ["THEIRS", "ISSUES_TOKEN", "their", "\n/\n"] {
        assert!(!seen.contains(theirs), "{theirs}: {seen}");
    }
}
