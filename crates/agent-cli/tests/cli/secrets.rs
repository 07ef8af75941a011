//! Keys and private text leave the program nowhere unless the user asks for them.

use serde_json::json;

use crate::damage::READERS;
use crate::env::{BINARY, Output, SAMPLE, SMALL, TestEnv};

const KEY: &str = "of-the-environment-SECRET-1234567890";
const FORMED: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const PRIVATE: [&str; 2] = ["door-code-98765", "door-code-43210"];

/// Surfaces that [`READERS`] does not name, each with what is on standard input.
fn others() -> Vec<(Vec<&'static str>, String)> {
    let call = |name: &str, arguments: serde_json::Value| {
        let start = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"}}});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": name, "params": arguments});
        format!("{start}\n{ready}\n{call}\n")
    };
    let tool = |name: &str, arguments: serde_json::Value| {
        call("tools/call", json!({"name": name, "arguments": arguments}))
    };
    let mcp = vec!["mcp", "--session", "s.jsonl"];
    let hook = json!({"session_id": "x", "transcript_path": "s.jsonl",
        "hook_event_name": "SessionStart", "source": "compact"});
    vec![
        (vec!["context", "s.jsonl", "--llm"], String::new()),
        (vec!["recall", "s.jsonl", "zebra"], String::new()),
        (vec!["recall", "s.jsonl", "--read", "e2"], String::new()),
        (vec!["recall", "s.jsonl", "door-code"], String::new()),
        (
            vec!["compact", "s.jsonl", "--out", "c.jsonl"],
            String::new(),
        ),
        (
            vec!["pin", "s.jsonl", "--text", KEY, "--out", "p.jsonl"],
            String::new(),
        ),
        (vec!["hook", "claude"], hook.to_string()),
        (mcp.clone(), tool("recall", json!({"query": "zebra"}))),
        (mcp.clone(), tool("recall_read", json!({"ids": ["e2"]}))),
        (mcp.clone(), tool("compaction_summary", json!({}))),
        (
            mcp,
            call("resources/read", json!({"uri": "session://newest/summary"})),
        ),
    ]
}

fn env_with_secrets() -> TestEnv {
    let env = TestEnv::new();
    let text = test_support::session(SAMPLE);
    let [first, second] = PRIVATE;
    let said =
        format!(r##""content":"zebra {KEY} {FORMED} <private>\n{first}\n{second}\n</private> #"##);
    let with = text.replacen(r##""content":"#"##, &said, 2);
    assert_ne!(with, text);
    env.write("s.jsonl", with);
    env
}

fn run(env: &TestEnv, arguments: &[&str], input: &str) -> Output {
    let options = match arguments[0] {
        "plan" | "compact" | "compare" => &SMALL[..],
        _ => &[],
    };
    let mut command = env.command(BINARY);
    command.args([arguments, options].concat());
    command.env("DEPLOY_API_KEY", KEY);
    env.output_on(&mut command, input.as_bytes())
}

/// Returns what the run printed and what it wrote into new files.
fn everything(env: &TestEnv, output: &Output) -> String {
    let files = std::fs::read_dir(env.folder()).expect("the folder");
    let files = files.map(|file| file.expect("a file").path());
    let new = files.filter(|path| path.is_file() && !path.ends_with("s.jsonl"));
    let texts = new.map(|path| std::fs::read(path).expect("a new file"));
    let texts: Vec<String> = texts
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .collect();
    format!("{}{}{}", output.stdout, output.stderr, texts.concat())
}

#[test]
fn no_key_and_no_private_text_leaves_by_any_command() {
    let readers = READERS.iter().flat_map(|reader| {
        let json = [*reader, &["--json"]].concat();
        [(reader.to_vec(), String::new()), (json, String::new())]
    });
    for (arguments, input) in readers.chain(others()) {
        let env = env_with_secrets();
        let output = run(&env, &arguments, &input);
        // A copy keeps the lines that the session has.
        let is_copy = arguments.contains(&"c.jsonl") || arguments.contains(&"p.jsonl");
        let all = match is_copy {
            true => {
                let copy = std::fs::read_to_string(env.path(arguments[arguments.len() - 1]));
                let source = std::fs::read_to_string(env.path("s.jsonl")).expect("the session");
                let copy = copy.unwrap_or_default();
                format!("{}{}", output.stdout, copy.replace(&source, ""))
            }
            false => everything(&env, &output),
        };
        let is_export = arguments.contains(&"--to");
        for secret in [KEY, FORMED] {
            assert!(!all.contains(secret), "{arguments:?}: {secret} in {all}");
        }
        for private in PRIVATE {
            // Who resumes a session elsewhere gets its context as it is.
            assert!(
                is_export || !all.contains(private),
                "{arguments:?}: {private} in {all}"
            );
        }
    }
}

#[test]
fn keys_are_counted_and_shown_on_request() {
    let env = env_with_secrets();
    let output = run(&env, &["recall", "s.jsonl", "zebra"], "");
    assert!(
        output.stderr.contains("hidden; --show-secrets shows them"),
        "{output}"
    );
    let output = run(&env, &["recall", "s.jsonl", "zebra", "--show-secrets"], "");
    assert!(
        output.stdout.contains(KEY) && output.stdout.contains(FORMED),
        "{output}"
    );
}
