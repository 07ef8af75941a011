//! `setup` and `hook`: what other agents are told, and what is written for them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;

#[test]
fn an_agent_is_set_up_and_that_is_taken_back() {
    let env = TestEnv::new();
    let file = env.home().join(".qwen/settings.json");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    let before = "{\n  // mine\n  \"theme\": \"dark\"\n}\n";
    std::fs::write(&file, before).expect("written");
    let text = || std::fs::read_to_string(&file).expect("the settings");
    let shown = env.run(&["setup", "qwen", "--dry-run"]).success();
    assert!(shown.contains("+  \"mcpServers\": {"), "{shown}");
    assert_eq!(text(), before);
    env.run(&["setup", "qwen"]).success();
    assert!(
        text().contains("// mine") && text().contains("hook qwen"),
        "{}",
        text()
    );
    let again = env.run(&["setup", "qwen"]);
    assert_eq!(again.code, Some(3), "{again}");
    env.run(&["setup", "qwen", "--undo"]).success();
    assert_eq!(text(), before);
}

#[test]
fn files_that_setup_made_are_removed_again() {
    let env = TestEnv::new();
    let told = env.run(&["setup", "codex"]).success();
    assert!(told.contains("once you trust it"), "{told}");
    let folder = env.home().join(".codex");
    assert!(folder.join("config.toml").exists() && folder.join("hooks.json").exists());
    env.run(&["setup", "codex", "--undo"]).success();
    assert!(!folder.join("config.toml").exists() && !folder.join("hooks.json").exists());
}

/// Returns the names and contents of what is in a folder.
fn files_in(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files.extend(files_in(&path)),
            path => {
                let bytes = std::fs::read(&path).expect("read");
                files.insert(path, bytes);
            }
        }
    }
    files
}

#[test]
fn undo_restores_every_byte_of_what_was_there() {
    let texts = [
        "",
        "{}",
        "{\n}",
        "\u{feff}{\"a\":1}\n",
        "{\"a\":1,\"hooks\":{},\"mcpServers\":{}}",
        "{\r\n\t\"a\": [1]\r\n}",
        "{ /* mine */ \"hooks\": { \"SessionStart\": [ ] }, }\n\n",
    ];
    let tables = [
        "",
        "\u{feff}a = 1",
        "model = \"x\"\r\n[a]\r\nb = 1\r\n",
        "[mcp_servers]\n# none\n\n",
    ];
    let cases = texts.map(|text| ("claude", ".claude.json", ".claude/settings.json", text));
    let cases = cases.into_iter().chain(texts.map(|text| {
        (
            "gemini",
            ".gemini/settings.json",
            ".gemini/settings.json",
            text,
        )
    }));
    let tables = tables.map(|text| ("codex", ".codex/config.toml", ".codex/config.toml", text));
    for (agent, first, second, text) in cases.chain(tables) {
        let env = TestEnv::new();
        for file in [first, second] {
            let file = env.home().join(file);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, text).expect("written");
        }
        let before = files_in(&env.home());
        env.run(&["setup", agent]).success();
        let after = files_in(&env.home());
        let backup = env.home().join(format!("{first}.before-agent-cli"));
        assert_eq!(after[&backup], text.as_bytes(), "{agent} {text:?}");
        let program = env.path("elsewhere/agent-cli");
        std::fs::create_dir_all(env.path("elsewhere")).expect("made");
        // A copy may still be open for writing in another test's child when it is run.
        let built = env!("CARGO_BIN_EXE_agent-cli");
        let linked = std::fs::hard_link(built, &program);
        linked
            .or_else(|_| std::fs::copy(built, &program).map(drop))
            .expect("another name of the program");
        let mut command = env.command(&program.to_string_lossy());
        env.output(command.args(["setup", agent])).success();
        let moved = files_in(&env.home());
        assert_eq!(
            moved.keys().collect::<Vec<_>>(),
            after.keys().collect::<Vec<_>>()
        );
        let own = |files: &BTreeMap<_, Vec<u8>>| {
            let text = String::from_utf8_lossy(&files[&env.home().join(second)]).into_owned();
            (
                text.contains("elsewhere/agent-cli"),
                text.matches("agent-cli\"").count(),
            )
        };
        assert_eq!(own(&moved), (true, own(&after).1), "{agent} {text:?}");
        env.run(&["setup", agent, "--undo"]).success();
        assert_eq!(files_in(&env.home()), before, "{agent} {text:?}");
    }
}

#[test]
fn undo_leaves_what_others_wrote_since() {
    let env = TestEnv::new();
    let file = env.home().join(".claude.json");
    std::fs::create_dir_all(env.home()).expect("made");
    std::fs::write(&file, "{\"a\":1,\"mcpServers\":{}}").expect("written");
    env.run(&["setup", "claude"]).success();
    let text = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, text.replacen("\"a\":1", "\"a\":2", 1)).expect("written");
    env.run(&["setup", "claude", "--undo"]).success();
    let text = std::fs::read_to_string(&file).expect("read");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value, json!({ "a": 2, "mcpServers": {} }));
    assert_eq!(files_in(&env.home()).len(), 1, "no backup is left");
}

#[test]
fn what_the_user_wrote_in_our_place_is_refused_and_stays() {
    let own =
        r#"{"mcpServers":{"agent-cli":{"command":"/my/own","args":["mcp","--allow-write"]}}}"#;
    let table = "[mcp_servers.agent-cli]\ncommand = \"/my/own\"\n";
    for (agent, file, text) in [
        ("claude", ".claude.json", own),
        ("qwen", ".qwen/settings.json", own),
        ("codex", ".codex/config.toml", table),
        ("pi", ".pi/agent/extensions/agent-cli/index.ts", "// mine\n"),
        (
            "opencode",
            ".config/opencode/plugin/agent-cli.js",
            "// mine\n",
        ),
    ] {
        let env = TestEnv::new();
        let file = env.home().join(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(&file, text).expect("written");
        let before = files_in(&env.home());
        for arguments in [&["setup", agent][..], &["setup", agent, "--undo"]] {
            let refused = env.run(arguments);
            assert_eq!(refused.code, Some(2), "{refused}");
            assert!(
                refused.stderr.contains("is not what setup wrote"),
                "{refused}"
            );
            assert_eq!(files_in(&env.home()), before, "{agent}");
        }
    }
}

#[test]
fn the_difference_shows_nothing_that_others_wrote() {
    let env = TestEnv::new();
    let file = env.home().join(".claude.json");
    std::fs::create_dir_all(env.home()).expect("made");
    for text in [
        "{\n  \"x\": 1,\n  \"primaryApiKey\": \"sk-ant-SECRET\"\n}\n",
        "{\"primaryApiKey\":\"sk-ant-SECRET\"}",
    ] {
        std::fs::write(&file, text).expect("written");
        for more in [
            &["--dry-run"][..],
            &[],
            &["--undo", "--dry-run"],
            &["--undo"],
        ] {
            let shown = env.run(&[&["setup", "claude"], more].concat()).success();
            assert!(!shown.contains("SECRET"), "{shown}");
            assert!(shown.contains("\"agent-cli\": {"), "{shown}");
        }
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_what_is_no_file_is_refused() {
    use std::os::unix::fs::symlink;
    let env = TestEnv::new();
    let file = env.home().join(".claude.json");
    std::fs::create_dir_all(env.home()).expect("made");
    let refused = |why: &str| {
        let refused = env.run(&["setup", "claude"]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(why), "{refused}");
        std::fs::remove_file(&file).expect("removed");
    };
    symlink(env.path("nowhere.json"), &file).expect("linked");
    refused("the link leads to no file");
    assert!(!env.path("nowhere.json").exists());
    symlink("/dev/zero", &file).expect("linked");
    refused("no regular file");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&file)
            .status()
            .is_ok()
    );
    refused("no regular file");
    let large = std::fs::File::create(&file).expect("made");
    large.set_len(1 << 30).expect("set");
    refused("larger than 64 MB");
    env.write("real.json", "{}");
    symlink(env.path("real.json"), &file).expect("linked");
    env.run(&["setup", "claude"]).success();
    assert!(file.is_symlink());
    let text = std::fs::read_to_string(env.path("real.json")).expect("read");
    assert!(text.contains("mcpServers"), "{text}");
}

#[test]
fn a_file_that_cannot_be_replaced_leaves_the_others_as_they_were() {
    let env = TestEnv::new();
    let claude = env.home().join(".claude");
    std::fs::create_dir_all(&claude).expect("made");
    std::fs::write(env.home().join(".claude.json"), "{\"a\":1}").expect("written");
    std::fs::write(claude.join("settings.json"), "{}").expect("written");
    // The backup of the second file cannot be made.
    std::fs::create_dir(claude.join("settings.json.before-agent-cli")).expect("made");
    let before = files_in(&env.home());
    let failed = env.run(&["setup", "claude"]);
    assert_ne!(failed.code, Some(0), "{failed}");
    assert_eq!(files_in(&env.home()), before);
}

#[test]
fn settings_that_are_no_json_stay_as_they_are() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.home()).expect("made");
    std::fs::write(env.home().join(".claude.json"), "{ oops").expect("written");
    assert_snapshot!(env.run(&["setup", "claude"]), @r#"
    exit 2
    --- stderr
    error: [DIR]/home/.claude.json: Expected colon after the string or word in object property on line 1 column 7; nothing was changed
    "#);
    assert!(!env.home().join(".claude/settings.json").exists());
}

#[test]
fn a_hook_tells_what_a_compaction_removed() {
    let env = TestEnv::new();
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/sessions/long.jsonl"
    );
    std::fs::copy(example, env.path("long.jsonl")).expect("copied");
    env.run(&["compact", "long.jsonl", "--out", "after.jsonl"])
        .success();
    let told = |path: &str| {
        let input = json!({ "session_id": "x", "transcript_path": path, "hook_event_name": "SessionStart", "source": "compact" });
        let output = env
            .run_on(input.to_string().as_bytes(), &["hook", "claude"])
            .success();
        serde_json::from_str::<Value>(&output).expect("JSON")
    };
    let after = told("after.jsonl");
    let text = after["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_default();
    assert!(
        text.contains("left the context") && text.contains("\nuser ["),
        "{after}"
    );
    assert!(text.len() <= 1200, "300 tokens: {}", text.len());
    assert_snapshot!(env.run_on(b"oops", &["hook", "claude"]), @r#"
    exit 2
    --- stderr
    error: standard input is not the JSON of a hook: expected value at line 1 column 1
    "#);
}

/// Writes a transcript of Claude Code without the record of a compaction that runs now; returns what the hook says of it.
fn compacting(env: &TestEnv, source: &str) -> String {
    let fixture = include_str!("../../../session-import/tests/fixtures/claude-compaction.jsonl");
    let file = env.home().join(".claude/projects/-work/77ab.jsonl");
    if !file.exists() {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(&file, fixture).expect("written");
    }
    let input =
        json!({ "transcript_path": file, "hook_event_name": "SessionStart", "source": source });
    let told = env.run_on(input.to_string().as_bytes(), &["hook", "claude"]);
    let told: Value = serde_json::from_str(&told.success()).expect("JSON");
    let text = &told["hookSpecificOutput"]["additionalContext"];
    text.as_str().unwrap_or_default().to_owned()
}

#[test]
fn claude_code_is_told_what_leaves_in_the_compaction_that_runs() {
    let env = TestEnv::new();
    let file = env.home().join(".claude/projects/-work/77ab.jsonl");
    // What was said since the newest compaction on disk leaves in the one that runs now.
    let now = compacting(&env, "compact");
    assert!(now.starts_with("Up to "), "{now}");
    assert!(now.contains("`mcp__agent-cli__recall`"), "{now}");
    let earlier = compacting(&env, "resume");
    assert!(
        earlier.starts_with("7 entries left the context"),
        "{earlier}"
    );
    // The first compaction of a session is no different.
    let text = std::fs::read_to_string(&file).expect("read");
    let before: String = text
        .lines()
        .take_while(|line| !line.contains("compact_boundary"))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&file, before).expect("written");
    assert!(compacting(&env, "compact").starts_with("Up to "));
    assert_eq!(compacting(&env, "resume"), "");
    // A sub-agent's compaction takes nothing out of the session.
    let agents = env.home().join(".claude/projects/-work/77ab/subagents");
    std::fs::create_dir_all(&agents).expect("made");
    let later = std::fs::metadata(&file)
        .expect("about")
        .modified()
        .expect("a time");
    let agent = std::fs::File::create(agents.join("agent-1.jsonl")).expect("made");
    agent
        .set_modified(later + std::time::Duration::from_secs(1))
        .expect("set");
    assert_eq!(compacting(&env, "compact"), "");
    std::fs::remove_file(&file).expect("removed");
    let input = json!({ "transcript_path": file, "prompt": "hello" }).to_string();
    let none = env.run_on(input.as_bytes(), &["hook", "claude"]).success();
    assert_eq!(none, "{}\n");
    // A fork whose first prompt compacts it has no transcript yet.
    std::fs::remove_dir_all(&agents).expect("removed");
    let input = json!({ "session_id": "f0", "transcript_path": file, "source": "compact" });
    let fork = env.run_on(input.to_string().as_bytes(), &["hook", "claude"]);
    let fork = fork.success();
    assert!(fork.contains("Entries leave the context"), "{fork}");
    assert!(fork.contains("\\\"session\\\":\\\"f0\\\""), "{fork}");
}

#[test]
fn setup_follows_the_variable_of_claude_code_and_shows_what_its_model_will_see() {
    let env = TestEnv::new();
    let moved = env.path("claude");
    let run = |arguments: &[&str]| {
        let mut command = env.command(env!("CARGO_BIN_EXE_agent-cli"));
        env.output(command.args(arguments).env("CLAUDE_CONFIG_DIR", &moved))
            .success()
    };
    let told = run(&["setup", "claude"]);
    assert!(
        told.contains("checked: the server starts, and the model sees recall, recall_read\n"),
        "{told}"
    );
    assert!(moved.join(".claude.json").exists() && moved.join("settings.json").exists());
    assert!(!env.home().join(".claude.json").exists());
    // A program of another name and path is recognized.
    let settings = std::fs::read_to_string(moved.join("settings.json")).expect("read");
    let other = settings.replace("agent-cli hook claude", "agent-cli-0.1 hook claude");
    assert_ne!(other, settings);
    std::fs::write(moved.join("settings.json"), other).expect("written");
    run(&["setup", "claude", "--undo"]);
    assert_eq!(files_in(&moved).len(), 0);
}

#[test]
fn a_hook_is_brief_whatever_the_session_says() {
    let env = TestEnv::new();
    let long = "x".repeat(5000);
    let lines = [
        json!({ "type": "session", "version": 3, "id": long, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work" }),
        json!({ "type": "message", "id": long, "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
                "message": { "role": "user", "content": format!("Never {long} the schema."), "timestamp": 1 } }),
        json!({ "type": "compaction", "id": "c", "parentId": long, "timestamp": "2026-01-01T00:00:00.000Z",
                "summary": "Work went on.", "firstKeptEntryId": "c", "tokensBefore": 100 }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    env.write("s.jsonl", &lines);
    let input = json!({ "transcript_path": "s.jsonl" }).to_string();
    let told = env.run_on(input.as_bytes(), &["hook", "claude"]).success();
    assert!(told.contains("1 entries left the context"), "{told}");
    assert!(told.len() <= 2000, "{}: {told}", told.len());
}

#[test]
fn a_hook_of_every_prompt_tells_once() {
    let env = TestEnv::new();
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../session-import/tests/fixtures/gemini-journal.jsonl"
    );
    let told = |prompt: &str| {
        let input = json!({ "transcript_path": fixture, "hook_event_name": "BeforeAgent", "prompt": prompt });
        let output = env.run_on(input.to_string().as_bytes(), &["hook", "gemini"]);
        serde_json::from_str::<Value>(&output.success()).expect("JSON")
    };
    for prompt in ["and now?", "go on"] {
        let first = &told(prompt)["hookSpecificOutput"];
        assert_eq!(first["hookEventName"], "BeforeAgent");
        let text = first["additionalContext"].as_str().unwrap_or_default();
        assert!(text.contains("left the context"), "{first}");
    }
    // gemini-cli stores what it was told with the message of the user.
    let text = std::fs::read_to_string(fixture).expect("read");
    let stored = "They are on disk: before you say that something is unknown, ask again or guess,";
    let path = env.path("told.jsonl");
    std::fs::write(
        &path,
        text.replace("and now?", &format!("and now? {stored}")),
    )
    .expect("written");
    let input =
        json!({ "transcript_path": path, "hook_event_name": "BeforeAgent", "prompt": "go on" });
    let again = env.run_on(input.to_string().as_bytes(), &["hook", "gemini"]);
    assert_eq!(again.success(), "{}\n");
}

#[test]
fn a_hook_tells_nothing_private() {
    let env = TestEnv::new();
    let message = |id: &str, parent: Value, text: &str| {
        json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
                "message": { "role": "user", "content": text, "timestamp": 1 } })
    };
    let lines = [
        json!({ "type": "session", "version": 3, "id": "77ab", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work" }),
        message(
            "a",
            Value::Null,
            "Never touch the schema. <private>Never name the client Umbra.</private>",
        ),
        message("b", json!("a"), "Always run the linter first."),
        json!({ "type": "compaction", "id": "c", "parentId": "b", "timestamp": "2026-01-01T00:00:00.000Z",
                "summary": "Work went on.", "firstKeptEntryId": "c", "tokensBefore": 100 }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    env.write("s.jsonl", &lines);
    let input =
        json!({ "transcript_path": "s.jsonl", "hook_event_name": "SessionStart" }).to_string();
    let told = env.run_on(input.as_bytes(), &["hook", "claude"]).success();
    assert!(told.contains("linter") && !told.contains("Umbra"), "{told}");
    env.write(
        "s.jsonl",
        lines
            .replace("Work went on", "<EPISODIC-MEMORY-EXCLUDE/>")
            .replace("Always run", "<EPISODIC-MEMORY-EXCLUDE/> Always run"),
    );
    let told = env.run_on(input.as_bytes(), &["hook", "claude"]).success();
    assert!(!told.contains("linter"), "{told}");
}

#[test]
fn a_dry_run_tells_the_entries_that_would_be_written() {
    let env = TestEnv::sample();
    let restore = ["compact", "s.jsonl", "--strategy", "restore"];
    let extractive = ["compact", "s.jsonl", "--strategy", "extractive"];
    let pin = ["pin", "s.jsonl", "--text", "never push to main"];
    for arguments in [&restore[..], &extractive, &pin] {
        let small = ["--set", "compaction.keepRecentTokens=10", "--json"];
        let document = env.run_with(&[arguments, &["--dry-run"]].concat(), &small);
        let mut drafts = document.json()["drafts"].take();
        let drafts = drafts.as_array_mut().expect("drafts");
        env.run_with(&[arguments, &["--out", "after.jsonl"]].concat(), &small)
            .success();
        let mut written = env
            .lines("after.jsonl")
            .split_off(env.lines("s.jsonl").len());
        assert!(!written.is_empty() && written.len() == drafts.len());
        for (draft, entry) in drafts.iter_mut().zip(&mut written) {
            let members = entry.as_object_mut().expect("an entry");
            if members.get("firstKeptEntryId") == members.get("id") {
                members.remove("firstKeptEntryId");
            }
            for name in ["id", "parentId", "partOf", "timestamp"] {
                members.remove(name);
            }
            for entry in [draft, entry] {
                entry["details"]["seconds"] = Value::Null;
            }
        }
        assert_eq!(*drafts, written);
        std::fs::remove_file(env.path("after.jsonl")).expect("removed");
    }
}

#[test]
fn an_extension_is_written_and_its_settings_are_kept() {
    let env = TestEnv::new();
    env.run(&["setup", "pi"]).success();
    let folder = env.home().join(".pi/agent/extensions/agent-cli");
    let settings = folder.join("settings.json");
    let written = std::fs::read_to_string(&settings).expect("settings");
    assert!(
        folder.join("index.ts").exists() && written.contains("\"program\""),
        "{written}"
    );
    let own = written.replace("\n}", ",\n  \"compact\": [\"--strategy=restore\"]\n}");
    std::fs::write(&settings, &own).expect("written");
    assert_eq!(env.run(&["setup", "pi"]).code, Some(3), "set up already");
    env.run(&["setup", "pi", "--undo"]).success();
    let left = std::fs::read_to_string(&settings).expect("settings");
    assert!(
        left.contains("restore") && !folder.join("index.ts").exists(),
        "{left}"
    );
    std::fs::remove_file(&settings).expect("removed");
    env.run(&["setup", "pi"]).success();
    env.run(&["setup", "pi", "--undo"]).success();
    assert!(!folder.exists());
}

#[test]
fn the_plugin_for_claude_code_registers_what_setup_registers() {
    let env = TestEnv::new();
    let plugin = std::path::Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/integrations/claude-code"
    ));
    let text = |path: &str| std::fs::read_to_string(plugin.join(path)).expect(path);
    let json = |path: &str| serde_json::from_str::<Value>(&text(path)).expect(path);
    env.run(&["setup", "claude"]).success();
    let written = |path: &str| {
        let text = std::fs::read_to_string(env.home().join(path)).expect(path);
        let program = env!("CARGO_BIN_EXE_agent-cli");
        let program = std::fs::canonicalize(program).expect("the program");
        let text = text.replace(&*program.to_string_lossy(), "agent-cli");
        serde_json::from_str::<Value>(&text).expect(path)
    };
    assert_eq!(json(".mcp.json"), written(".claude.json"));
    assert_eq!(json("hooks/hooks.json"), written(".claude/settings.json"));
    let manifest = json(".claude-plugin/plugin.json");
    assert_eq!(manifest["name"], "agent-cli");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    // The sub-agent may use two tools of the plugin's server, and nothing else.
    let agent = text("agents/recall-search.md");
    let tools = agent.lines().find_map(|line| line.strip_prefix("tools: "));
    let server = "mcp__plugin_agent-cli_agent-cli__";
    let tools = tools.into_iter().flat_map(|tools| tools.split(", "));
    let tools: Vec<_> = tools.filter_map(|tool| tool.strip_prefix(server)).collect();
    assert_eq!(tools, ["recall", "recall_read"]);
    for file in ["agents/recall-search.md", "skills/recall/SKILL.md"] {
        let text = text(file);
        let front = text.split("---\n").nth(1).unwrap_or_default();
        assert!(
            front.contains("name: recall") && front.contains("description: "),
            "{file}"
        );
    }
}
