//! Keys of the environment: whatever a run does with them, they are nowhere afterwards.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use test_support::split_key::{concatenated, splitting_server};

use super::Runs;
use crate::acp::Editor;
use crate::env::BINARY;
use crate::rpc::Client;

/// Two keys: one whose variable tells, and one of a provider that the settings name.
const TOKEN: &str = "tok-0123456789-abcdefghijklmnop";
const PROVIDER: &str = "zzz/0987654321+qponmlkjihgfedcba=";

fn script() -> String {
    let call = |command: &str| json!({ "name": "bash", "arguments": { "command": command } });
    let calls = [
        call("env; env | sort"),
        call("cat /proc/$PPID/environ; tr '\\0' '\\n' < /proc/$PPID/environ"),
        call("cat leak.txt; cat leak.txt >&2; exit 7"),
        call("for i in $(seq 4000); do printf 'line %s ' $i; cat leak.txt; done"),
        call("head -c 70000 /dev/zero | tr '\\0' x; cat leak.txt"),
        json!({ "name": "read", "arguments": { "path": "leak.txt" } }),
        json!({ "name": "edit", "arguments": { "path": "leak.txt", "edits": [{ "old_text": "here", "new_text": "there" }] } }),
        json!({ "name": "recall", "arguments": { "query": "leak" } }),
    ];
    let answers = calls
        .iter()
        .map(|call| json!({ "answer": { "calls": [call] } }).to_string());
    let lines = answers.chain([json!({ "answer": { "text": "Done." } }).to_string()]);
    lines.map(|line| line + "\n").collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_key_of_the_environment_is_nowhere_afterwards() {
    for mode in [&["--mode", "json"][..], &["--json"], &[]] {
        let runs = Runs::of(&script());
        let leak = format!("here {TOKEN} and {PROVIDER}\n");
        runs.env.write("leak.txt", &leak);
        let settings = json!({ "providers": { "mine": { "baseUrl": "https://mine.example/v1", "apiKeyEnv": "MINE" } } });
        runs.env.write("config/settings.json", settings.to_string());
        let mut command = runs.command(&[&["-p", "go"], mode].concat());
        command
            .env("SOME_SERVICE_TOKEN", TOKEN)
            .env("MINE", PROVIDER);
        let output = command.output().expect("the program runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let mut texts = runs.files();
        let leak = texts.remove("leak.txt").expect("the file that leaks");
        assert!(
            String::from_utf8_lossy(&leak).contains(TOKEN),
            "edits leave keys alone"
        );
        texts.insert("stdout".to_owned(), output.stdout);
        texts.insert("stderr".to_owned(), output.stderr);
        let session = runs.session();
        let kept = texts
            .keys()
            .filter(|name| name.contains(".outputs/bash-"))
            .count();
        assert_eq!(kept, 2, "{:?}", texts.keys());
        for (name, bytes) in &texts {
            let text = String::from_utf8_lossy(bytes);
            for part in [
                &TOKEN[4..16],
                &TOKEN[15..],
                &PROVIDER[4..16],
                &PROVIDER[15..],
            ] {
                assert!(!text.contains(part), "{part} is in {name}");
            }
        }
        // All of it went through: what stands next to the keys is there.
        let said = std::fs::read_to_string(session).expect("a session");
        assert!(
            said.contains("here [secret removed] and [secret removed]"),
            "{said}"
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn commands_cannot_read_the_environment_of_the_program() {
    let command = "cat /proc/$PPID/environ | wc -c; cat /proc/$PPID/environ 2>&1 | tail -c 60";
    let call =
        json!({ "answer": { "calls": [{ "name": "bash", "arguments": { "command": command } }] } });
    let end = json!({ "answer": { "text": "Done." } });
    let runs = Runs::of(&format!("{call}\n{end}\n"));
    // The administrator may read everything, so nobody is one here.
    let rights = "-sys_ptrace,-perfmon,-sys_admin";
    let [bounding, inherited] = ["bounding-set", "inh-caps"].map(|set| format!("--{set}={rights}"));
    let setpriv = |arguments: &[&str]| {
        let all = [&[&*bounding, &*inherited, "--"], arguments].concat();
        runs.around("setpriv", &all)
    };
    let go = ["-p", "go", "--allow", "bash"];
    let script = ["--provider", "scripted:script.jsonl"];
    let mut command = match rustix::process::geteuid().is_root() {
        false => runs.command(&go),
        true if setpriv(&["true"])
            .status()
            .is_ok_and(|status| status.success()) =>
        {
            setpriv(&[&[BINARY], &go[..], &script[..]].concat())
        }
        true => return test_support::skip("setpriv takes no rights away"),
    };
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    let said = std::fs::read_to_string(runs.session()).expect("a session");
    assert!(said.contains("Permission denied"), "{said}");
}

/// Returns a script whose model says the key: in its words, and in a call whose arguments spell it with an escape.
#[cfg(unix)]
fn telling() -> String {
    let arguments = json!({ "path": "notes.txt", "content": format!("{TOKEN}\n") }).to_string();
    let arguments = arguments.replacen('-', "\\u002d", 1);
    let head = json!({ "script": 1, "name": "tells", "window": 16000 });
    let call = format!(
        r#"{{"answer":{{"text":"It is {TOKEN}.","calls":[{{"name":"write","arguments":{arguments}}}]}}}}"#
    );
    let end = json!({ "answer": { "text": "Done.", "thinking": format!("{TOKEN}, was it?") } });
    let more = json!({ "answer": { "text": "More." } });
    format!("{head}\n{call}\n{end}\n{more}\n")
}

#[test]
#[cfg(unix)]
fn a_key_that_is_said_or_stands_in_a_file_is_in_no_session_event_or_hook() {
    let runs = Runs::of(&telling());
    runs.env
        .write("AGENTS.md", format!("Log in with {TOKEN}.\n"));
    let skill = format!("---\nname: log-in\ndescription: Logs in with {TOKEN}\n---\n\n# How\n");
    runs.env.write(".agents/skills/log-in/SKILL.md", skill);
    let context = json!({ "context": format!("The key is {TOKEN}.") });
    runs.env.write("context.json", context.to_string());
    let points = hooks::HookPoint::ALL.map(hooks::HookPoint::name);
    let log = format!("cat >> '{}'", runs.env.path("log").display());
    let adds = format!("cat '{}'", runs.env.path("context.json").display());
    let settings = json!({ "hooks": {
        "adds": { "points": ["before_prompt"], "command": adds },
        "log": { "points": points, "command": log },
    } });
    runs.env.write("config/settings.json", settings.to_string());
    let prompt = format!("use {TOKEN} now");
    let mut command = runs.command(&["-p", &prompt, "--allow", "write", "--mode", "json"]);
    command.env("SOME_SERVICE_TOKEN", TOKEN);
    let output = command.output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("it is sent without"), "{told}");
    let mut texts = runs.files();
    for source in [
        "script.jsonl",
        "AGENTS.md",
        ".agents/skills/log-in/SKILL.md",
        "context.json",
    ] {
        texts.remove(source).expect("what held the key before");
    }
    texts.insert("stdout".to_owned(), output.stdout);
    texts.insert("stderr".to_owned(), output.stderr);
    for (name, bytes) in &texts {
        let text = String::from_utf8_lossy(bytes);
        for part in [&TOKEN[5..16], &TOKEN[15..]] {
            assert!(!text.contains(part), "{part} is in {name}: {text}");
        }
    }
    // All of it went through, and is said without.
    let said = std::fs::read_to_string(runs.session()).expect("a session");
    for beside in [
        "Log in with [secret removed].",
        "Logs in with [secret removed]",
        "The key is [secret removed].",
        "use [secret removed] now",
        "It is [secret removed].",
    ] {
        assert!(said.contains(beside), "{beside} in {said}");
    }
    assert_eq!(runs.env.read("notes.txt"), b"[secret removed]\n");
    // What is the same without the key is not said again.
    let mut command = runs.command(&["-p", "more", "-c"]);
    command.env("SOME_SERVICE_TOKEN", TOKEN);
    let output = command.output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let said = std::fs::read_to_string(runs.session()).expect("a session");
    for once in ["Log in with", "Logs in with"] {
        assert_eq!(said.matches(once).count(), 1, "{once} in {said}");
    }
}

#[test]
#[cfg(unix)]
fn a_key_that_is_split_at_any_byte_is_nowhere_in_concatenated_output() {
    for mode in ["terminal", "text", "json", "rpc", "acp"] {
        let runs = Runs::of("");
        let server = splitting_server(TOKEN);
        let points = hooks::HookPoint::ALL.map(hooks::HookPoint::name);
        let log = format!("cat >> '{}'", runs.env.path("log").display());
        let settings = json!({ "hooks": { "log": { "points": points, "command": log } } });
        runs.env.write("config/settings.json", settings.to_string());
        let url = server.url();
        let model = format!(
            "--model test/alpha --wire chat --window 64000 --base-url {url} --api-key-env TEST_KEY --record record.jsonl"
        );
        let model: Vec<&str> = model.split(' ').collect();
        let asked = [&["-p", "go"], &*model].concat();
        let mut command = match mode {
            "terminal" => runs.around(
                "script",
                &[
                    "-qec",
                    &format!("{BINARY} {}", asked.join(" ")),
                    "/dev/null",
                ],
            ),
            "text" => runs.bare(&asked),
            "json" => runs.bare(&[&*asked, &["--mode", "json"]].concat()),
            _ => runs.bare(&[&[mode], &*model].concat()),
        };
        command.env("TEST_KEY", TOKEN);
        let mut texts = BTreeMap::new();
        match mode {
            "rpc" => {
                let mut client = Client::spawn(&mut command);
                let mut lines: Vec<Value> = Vec::new();
                client.call("prompt", json!({ "text": "go" }));
                while lines.last().is_none_or(|line| line["type"] != "idle") {
                    lines.push(client.wait(|_| true));
                }
                lines.push(client.call("get_context", json!({})));
                lines.extend(client.end().1);
                let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
                texts.insert("rpc".to_owned(), lines.into_bytes());
            }
            "acp" => {
                let mut editor = Editor::with(Client::spawn(&mut command));
                let session = editor.new_session(&runs);
                assert_eq!(editor.prompt(&session, "go"), "end_turn");
                let lines = editor.end().into_iter();
                let lines: String = lines.map(|line| format!("{line}\n")).collect();
                texts.insert("acp".to_owned(), lines.into_bytes());
            }
            _ => match command.output() {
                Err(error) if mode == "terminal" => {
                    test_support::skip(&format!("no program `script`: {error}"));
                    continue;
                }
                output => {
                    let output = output.expect("the program runs");
                    assert!(output.status.success(), "{mode}: {output:?}");
                    texts.insert("stdout".to_owned(), output.stdout);
                    texts.insert("stderr".to_owned(), output.stderr);
                }
            },
        }
        texts.extend(runs.files());
        let holds = |name: &str| {
            let found = texts.iter().find(|(path, _)| path.contains(name));
            let (_, bytes) = found.unwrap_or_else(|| panic!("{mode}: no {name}"));
            concatenated(bytes).matches("[secret removed]").count()
        };
        for (name, bytes) in &texts {
            let text = concatenated(bytes);
            for part in [&TOKEN[..16], &TOKEN[15..]] {
                assert!(!text.contains(part), "{mode}: {part} is in {name}: {text}");
            }
        }
        // It went through each of them.
        let shown = match mode {
            "text" => vec!["stderr"],
            "terminal" | "json" => vec!["stdout"],
            mode => vec![mode],
        };
        for name in [&["record.jsonl", "log", "Z_"], &*shown].concat() {
            let times = holds(name);
            assert!(times >= TOKEN.len(), "{mode}: {times} times in {name}");
        }
    }
}
