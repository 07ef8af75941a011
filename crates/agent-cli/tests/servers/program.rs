//! The program with servers: settings, approvals, secrets, being stopped, and `agent-cli servers`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::runner::Test;
use crate::surroundings::{Marks, wait};

pub const TESTS: [Test; 8] = [
    ("a_run_calls_a_tool_only_when_it_is_allowed", allowed),
    ("tools_are_chosen_by_name", chosen),
    ("a_server_that_fails_does_not_stop_a_run", fails),
    (
        "secrets_reach_a_server_only_where_the_settings_say_so",
        secrets,
    ),
    ("stopping_a_run_leaves_no_process", stopped),
    (
        "stopping_a_run_while_servers_start_leaves_no_process",
        stopped_early,
    ),
    ("servers_are_listed_with_their_tools", listed),
    ("settings_that_cannot_be_used_name_the_key", bad_settings),
];

/// A folder with settings and a script.
pub struct Home {
    folder: TempDir,
}

impl Home {
    /// Returns a folder with these servers in the global settings, and a script that calls `tool`.
    pub fn new(servers: &Value, tool: &str, arguments: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Self { folder };
        std::fs::create_dir(home.path("config")).expect("a folder");
        let settings = json!({ "mcpServers": servers }).to_string();
        std::fs::write(home.path("config/settings.json"), settings).expect("a file");
        let call = json!({ "answer": { "calls": [{ "name": tool, "arguments": arguments }] } });
        let script = format!(
            "{{\"script\":1,\"name\":\"s\",\"window\":100000}}\n{call}\n{{\"answer\":{{\"text\":\"Done.\"}}}}\n"
        );
        std::fs::write(home.path("script.jsonl"), script).expect("a file");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the program with these arguments.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-cli"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("AGENT_CLI_CONFIG_DIR", self.path("config"));
        command.env("AGENT_CLI_SESSION_DIR", self.path("data"));
        command.stdin(Stdio::null());
        command
    }

    /// Plays the script.
    fn play(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["-p", "go", "--mode", "json"]);
        command
            .args(["--provider", "scripted:script.jsonl"])
            .args(arguments);
        command
    }

    /// Returns the events of one kind of a run that must have succeeded.
    fn events(&self, arguments: &[&str], kind: &str) -> Vec<Value> {
        let output = self.play(arguments).output().expect("the program runs");
        events(&output, kind)
    }

    /// Returns what the call of the script gave.
    fn called(&self, arguments: &[&str]) -> String {
        let events = self.events(arguments, "tool_end");
        events[0]["output"].as_str().expect("a text").to_owned()
    }
}

fn events(output: &Output, kind: &str) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let events = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"));
    events
        .filter(|event: &Value| event["type"] == kind)
        .collect()
}

fn server(mode: &str, more: &Value) -> Value {
    let own = std::env::current_exe().expect("this program is somewhere");
    let mut server = json!({ "command": own, "args": ["--serve", mode] });
    for (key, value) in more.as_object().into_iter().flatten() {
        server[key] = value.clone();
    }
    server
}

/// Returns settings of one server, called `test`.
pub fn one(mode: &str, more: &Value) -> Value {
    json!({ "test": server(mode, more) })
}

fn allowed() {
    let home = Home::new(
        &one("usual", &json!({})),
        "test__echo",
        &json!({ "text": "hi" }),
    );
    let refused = "test__echo needs approval and no user can be asked; the user can allow it for a run, or for good in tools.policies";
    assert_eq!(home.called(&[]), refused);
    assert_eq!(home.called(&["--allow", "bash"]), refused);
    assert_eq!(home.called(&["--allow", "test__echo"]), "hi");
    assert_eq!(home.called(&["--allow", "test__*"]), "hi");
    let by_settings = "tools.policies.test__echo=\"allow\"";
    assert_eq!(home.called(&["--set", by_settings]), "hi");
    let denied = "tools.policies.test__echo=\"deny\"";
    let said = home.called(&["--set", denied, "--allow", "test__echo"]);
    assert!(said.starts_with("test__echo is not allowed here"), "{said}");
    let told = home.events(&[], "tool_server");
    assert_eq!(
        told,
        [
            json!({ "type": "tool_server", "name": "test", "state": "ready", "tools": 19, "error": null })
        ]
    );
    let refused = home.play(&["--allow", "axe"]).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
}

fn chosen() {
    let home = Home::new(
        &one("usual", &json!({})),
        "test__echo",
        &json!({ "text": "hi" }),
    );
    let allow = |tools| home.called(&["--tools", tools, "--allow", "test__*"]);
    assert_eq!(allow("test__echo"), "hi");
    assert_eq!(allow("read,test__*"), "hi");
    assert_eq!(
        allow("read,test__add"),
        "there is no tool test__echo; call one of read, test__add"
    );
    assert_eq!(
        allow("read"),
        "there is no tool test__echo; call one of read"
    );
    assert_eq!(
        allow("none"),
        "there is no tool test__echo; there are no tools in this session"
    );
    let unknown = home
        .play(&["--tools", "other__echo"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&unknown.stderr);
    assert!(
        said.contains("--tools: there is no tool other__echo; the servers are test"),
        "{said}"
    );
}

fn fails() {
    let servers = json!({ "bad": server("dies", &json!({})), "test": server("usual", &json!({})) });
    let home = Home::new(&servers, "test__echo", &json!({ "text": "hi" }));
    assert_eq!(home.called(&["--allow", "test__*"]), "hi");
    let told = home.events(&[], "tool_server");
    let bad = told
        .iter()
        .find(|event| event["name"] == "bad")
        .expect("it is told");
    assert_eq!(bad["state"], "failed");
    let error = bad["error"].as_str().expect("a reason");
    assert!(
        error.starts_with("it ended with exit code 3; it complained: first"),
        "{error}"
    );
}

fn secrets() {
    let ask = json!({ "name": "PLANTED_TOKEN" });
    let run = |more: &Value| {
        let home = Home::new(&one("usual", more), "test__variable", &ask);
        let mut command = home.play(&["--allow", "test__*"]);
        command.env("PLANTED_TOKEN", "planted-0123456789");
        let output = command.output().expect("it runs");
        let all = files_below(&home.path("data"));
        assert!(!all.contains("planted-0123456789"), "{all}");
        events(&output, "tool_end")[0]["output"].clone()
    };
    assert_eq!(run(&json!({})), "not set");
    assert_eq!(
        run(&json!({ "passEnv": ["PLANTED_TOKEN"] })),
        "[secret removed]"
    );
    assert_eq!(
        run(&json!({ "env": { "PLANTED_TOKEN": "other" } })),
        "other"
    );
    let long = json!({ "env": { "PLANTED_TOKEN": "another-0123456789" } });
    assert_eq!(run(&long), "[secret removed]");
}

/// Returns the text of all files below a folder.
fn files_below(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a folder").path();
        match path.is_dir() {
            true => all.push_str(&files_below(&path)),
            false => all.push_str(&std::fs::read_to_string(&path).unwrap_or_default()),
        }
    }
    all
}

/// Stops a run once its server has said `mark`, and waits until the server is dead; returns what was printed.
fn stop(mode: &str, tool: &str, mark: &str) -> Output {
    let mut marks = Marks::new();
    let more = json!({ "args": ["--serve", mode, marks.port] });
    let home = Home::new(&one(mode, &more), tool, &json!({}));
    let mut command = home.play(&["--allow", "test__*"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    assert_eq!(marks.blocking_next().as_deref(), Some(mark));
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("a number"));
    let id = id.expect("a process has a number");
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    wait(marks.gone());
    output
}

fn stopped() {
    let output = stop("usual", "test__slow", "slow");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // A run that ends by itself leaves none either, whatever the server does.
    let mut marks = Marks::new();
    let more = json!({ "args": ["--serve", "stays", marks.port] });
    let home = Home::new(&one("stays", &more), "test__child", &json!({}));
    assert_eq!(home.called(&["--allow", "test__*"]), "started");
    wait(marks.gone());
}

fn stopped_early() {
    let output = stop("deaf", "test__slow", "heard");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn listed() {
    let servers = json!({
        "bad": server("dies", &json!({})),
        "odd": server("odd-tools", &json!({})),
        "off": server("usual", &json!({ "enabled": false })),
        "test": server("usual", &json!({ "tools": ["echo", "add"] })),
    });
    let home = Home::new(&servers, "test__echo", &json!({}));
    let output = home
        .command(&["servers", "--json"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let states = document["servers"].as_array().expect("a list").iter();
    let states: Vec<&str> = states
        .filter_map(|server| server["state"].as_str())
        .collect();
    assert_eq!(states, ["failed", "ready", "off", "ready"]);
    assert_eq!(
        document["servers"][3]["tools"],
        json!([
            { "name": "test__echo", "description": "Says what it is told." },
            { "name": "test__add", "description": "Adds.\u{fffd}[31m" },
        ])
    );
    let output = home.command(&["servers"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let head: Vec<&str> = text.lines().take(3).collect();
    assert_eq!(
        head,
        [
            "bad  failed  it ended with exit code 3; it complained: first cannot find the data\u{fffd}[31m",
            "odd  5 tools",
            "    odd__with_space_and_dots",
        ]
    );
    assert!(
        text.contains(
            "    left out: array: the schema of its arguments is not that of an object\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("off  off\ntest  2 tools\n    test__echo  Says what it is told.\n    test__add  Adds.\u{fffd}[31m\n"), "{text}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: cannot use bad\n"
    );
    let good = Home::new(&one("usual", &json!({})), "", &json!({}));
    let good = good.command(&["servers"]).output().expect("it runs");
    assert_eq!(good.status.code(), Some(0));
    let none = Home::new(&json!({}), "", &json!({}));
    let none = none.command(&["servers"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(
        said.starts_with("nothing to do: no servers are configured"),
        "{said}"
    );
}

fn bad_settings() {
    let said = |servers: &Value| {
        let home = Home::new(servers, "", &json!({}));
        let output = home.command(&["servers"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let text = text.replace(&home.folder.path().display().to_string(), "[DIR]");
        text.trim_end().to_owned()
    };
    let place = "error: settings [DIR]/config/settings.json, line 1:";
    assert_eq!(
        said(&json!({ "a": { "args": ["x"] } })),
        format!(
            "{place} mcpServers.a.command is not set; name the program, or set mcpServers.a.enabled to false"
        )
    );
    assert_eq!(
        said(&json!({ "a__b": { "command": "x" } })),
        format!(
            "{place} mcpServers.a__b: the name of a server neither begins nor ends with _, and has no two of them in a row"
        )
    );
    assert_eq!(
        said(&json!({ "a b": { "command": "x" } })),
        format!(
            "{place} mcpServers.a b: the name of a server has 1 to 32 letters, digits, - and _"
        )
    );
    let unknown = said(&json!({ "a": { "command": "x", "comand": "y" } }));
    assert!(unknown.contains("mcpServers.a.comand"), "{unknown}");
    let zero = said(&json!({ "a": { "command": "x", "callTimeoutSeconds": 0 } }));
    assert!(zero.contains("mcpServers.a.callTimeoutSeconds"), "{zero}");
    // What a project brings along cannot start programs.
    let home = Home::new(&json!({}), "", &json!({}));
    std::fs::create_dir(home.path(".agent-cli")).expect("a folder");
    let project = json!({ "mcpServers": { "a": { "command": "x" } } }).to_string();
    std::fs::write(home.path(".agent-cli/settings.json"), project).expect("a file");
    let output = home.command(&["servers"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("a project may not set mcpServers"), "{text}");
}
