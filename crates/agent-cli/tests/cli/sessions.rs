//! `sessions`: what is listed, and where it is looked for.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use session_store::catalog::folder_for;

use crate::env::{Output, TestEnv};

/// Writes a session of `cwd` below the root `data`, as if it had been written at `seconds`.
fn keep(env: &TestEnv, cwd: &Path, id: &str, seconds: u64, lines: &str) -> PathBuf {
    let folder = folder_for(&env.path("data"), cwd);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"));
    let cwd = serde_json::json!(cwd);
    let header = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":{cwd}}}\n"
    );
    // All of one size, however long the name of the test's folder is.
    let text = header + lines;
    let filler = " ".repeat(2_047 - text.len());
    std::fs::write(&path, format!("{text}{filler}\n")).expect("written");
    let file = std::fs::File::options().write(true).open(&path);
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let set = file.expect("a file").set_modified(at);
    set.expect("the time can be set");
    path
}

fn prompt(text: &str) -> String {
    let text = serde_json::json!(text);
    format!(
        "{{\"type\":\"message\",\"id\":\"e1\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":{text}}}}}\n"
    )
}

/// Three sessions: two of the test's folder, one of another.
fn kept() -> TestEnv {
    let env = TestEnv::new();
    let cwd = env.folder().canonicalize().expect("the folder");
    let day = 86_400;
    keep(
        &env,
        &cwd,
        "019e19b4-eb48-746a-aa6b-8dfcfa37954b",
        20_000 * day,
        &prompt(
            "mend \u{1b}[2Jthe parser so that it reads everything that comes\nand then look at it",
        ),
    );
    let named = prompt("x")
        + "{\"type\":\"session_info\",\"id\":\"e2\",\"parentId\":\"e1\",\"name\":\"spools\"}\n";
    keep(
        &env,
        &cwd,
        "019e19b4-eb49-746a-aa6b-000000000000",
        20_001 * day,
        &named,
    );
    let other = keep(
        &env,
        Path::new("/elsewhere"),
        "7a",
        20_002 * day,
        &prompt("hello"),
    );
    let waits = other.with_extension("pending.jsonl");
    std::fs::write(
        waits,
        "{\"of\":\"7a\"}\n{\"queued\":{\"id\":\"q1\",\"text\":\"later\",\"delivery\":\"steer\"}}\n",
    )
    .expect("written");
    env
}

fn run(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run_with(arguments, &["--session-dir", "data"])
}

#[test]
fn sessions_of_this_directory() {
    let env = kept();
    assert_snapshot!(run(&env, &["sessions", "list"]), @"
    exit 0
    --- stdout
      written     agent      id             what
      2026-01-01  agent-cli  019e19b4-eb49  spools
      2026-01-01  agent-cli  019e19b4-eb48  mend  [2Jthe parser so that it reads ...
    ");
}

#[test]
fn sessions_of_every_directory() {
    let env = kept();
    assert_snapshot!(run(&env, &["sessions", "list", "--all"]), @"
    exit 0
    --- stdout
      written     agent      id             what
    /elsewhere
      2026-01-01  agent-cli  7a             hello  1 message to send
    [DIR]
      2026-01-01  agent-cli  019e19b4-eb49  spools
      2026-01-01  agent-cli  019e19b4-eb48  mend  [2Jthe parser so that it reads ...
    ");
}

#[test]
fn sessions_are_searched_and_limited() {
    let env = kept();
    let listed = |arguments: &[&str]| {
        let document = run(
            &env,
            &[&["sessions", "list", "--all", "--json"], arguments].concat(),
        )
        .json();
        let rows = document["sessions"].as_array().expect("rows");
        rows.iter()
            .map(|row| row["id"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(&["PARSER"]).len(), 1);
    assert_eq!(listed(&["elsewhere", "hello"]), ["\"7a\""]);
    assert_eq!(listed(&["parser", "hello"]).len(), 0);
    assert_eq!(listed(&["--limit", "2"]).len(), 2);
    let limited = run(&env, &["sessions", "list", "--all", "--limit", "1"]);
    assert!(
        limited.stdout.contains("2 more; a larger --limit"),
        "{limited}"
    );
}

#[test]
fn the_date_is_that_of_the_last_line_and_40_columns_are_for_the_title() {
    let env = TestEnv::new();
    let cwd = env.folder().canonicalize().expect("the folder");
    let said = prompt("the first words of a long title, of which forty columns are shown at least");
    let compaction = "{\"type\":\"compaction\",\"id\":\"e2\",\"parentId\":\"e1\",\"summary\":\"s\",\"firstKeptEntryId\":\"e2\",\"tokensBefore\":1}\n";
    keep(
        &env,
        &cwd,
        "019e19b4-eb48-746a-aa6b-8dfcfa37954b",
        5,
        &(said + compaction),
    );
    let shown = run(&env, &["sessions", "list"]);
    assert!(shown.stdout.contains("2026-01-01"), "{shown}");
    assert!(
        shown
            .stdout
            .contains("the first words of a long title, of which"),
        "{shown}"
    );
    assert!(
        shown.stdout.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
}

#[test]
fn no_sessions() {
    let env = TestEnv::new();
    assert_snapshot!(run(&env, &["sessions", "list"]), @"
    exit 0
    --- stdout
    no sessions of this project; --all lists those of others
    ");
    assert_snapshot!(run(&env, &["sessions", "list", "--all"]), @"
    exit 0
    --- stdout
    no sessions in [DIR]/data or of other agents
    ");
    assert_eq!(env.names(), [""; 0], "listing makes no folder");
}

#[test]
fn the_list_for_programs() {
    let env = kept();
    let document = run(&env, &["sessions", "list", "--all", "--json"]).json();
    let rows = document["sessions"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    assert_snapshot!(format!("{:#}", rows[0]), @r#"
    {
      "agent": "agent-cli",
      "bytes": 2048,
      "compactions": 0,
      "cwd": "/elsewhere",
      "damaged_lines": 0,
      "first_prompt": "hello",
      "id": "7a",
      "last_entry": "2026-01-01T00:00:00.000Z",
      "locked": false,
      "modified": "2024-10-06T00:00:00.000Z",
      "name": null,
      "path": "[DIR]/data/elsewhere-1a4416d4a0ae53d2/2026-01-01T00-00-00-000Z_7a.jsonl",
      "pending": 1,
      "persisted": true,
      "read_whole": true,
      "started": "2026-01-01T00:00:00.000Z"
    }
    "#);
    let own = run(&env, &["sessions", "list", "--json"]).json();
    assert_eq!(
        own["sessions"].as_array().map(Vec::as_slice),
        Some(&rows[1..])
    );
}

#[test]
fn where_sessions_are() {
    let env = TestEnv::new();
    let root = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = env.command(crate::env::BINARY);
        command.args(["sessions", "path"]).args(arguments);
        command.envs(variables.iter().copied());
        env.output(&mut command).success()
    };
    let own = ("AGENT_CLI_SESSION_DIR", "/own");
    let data = ("XDG_DATA_HOME", "/data");
    assert_eq!(
        root(&[own, data], &["--session-dir", "mine"]),
        "[DIR]/mine\n"
    );
    assert_eq!(root(&[own, data], &[]), "/own\n");
    assert_eq!(root(&[data], &[]), "/data/agent-cli/sessions\n");
    assert_eq!(
        root(&[("HOME", "/home/ann")], &[]),
        "/home/ann/.local/share/agent-cli/sessions\n"
    );
    let json = env.json(&["sessions", "path", "--session-dir", "/given"]);
    assert_eq!(json, serde_json::json!({ "root": "/given" }));
}

#[test]
fn sessions_of_other_agents_are_listed_and_opened_by_name() {
    let env = TestEnv::new();
    let cwd = env.folder().canonicalize().expect("the folder");
    let written = keep(&env, &cwd, "77ab", 86_400, &prompt("mend the parser"));
    let folder = env.home().join(".pi/agent/sessions/--work--");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::rename(&written, folder.join("one.jsonl")).expect("moved");
    assert_snapshot!(run(&env, &["sessions", "list"]), @"
    exit 0
    --- stdout
      written     agent  id    what
      2026-01-01  pi     77ab  mend the parser
    ");
    let by_name = |name: &str| env.run(&["tree", name]).success();
    assert!(by_name("newest").contains("mend the parser"));
    assert_eq!(by_name("pi:77"), by_name("newest"));
    assert_snapshot!(env.run(&["tree", "88"]), @"
    exit 2
    --- stderr
    error: no file and no session is called 88; agent-cli sessions list --all shows those that are there
    ");
}

#[test]
fn every_reading_command_takes_names_of_sessions() {
    let env = TestEnv::new();
    let cwd = env.folder().canonicalize().expect("the folder");
    let text = include_str!("../../../session-import/tests/fixtures/claude-compaction.jsonl");
    let text = text.replace("/workspace/project", cwd.to_str().expect("text"));
    let id = "11111111-2222-4333-8444-555555555555";
    let folder = env.home().join(".claude/projects/-work");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{id}.jsonl")), text).expect("written");
    for name in [id, "1111", "newest", "claude:newest", "claude:1111"] {
        for command in [
            &["inspect", name][..],
            &["tree", name],
            &["context", name],
            &["plan", name],
            &["loss", name],
            &["recall", name, "question"],
            &["doctor", name],
            &["compare", name],
            &["files", name],
            &["handoff", name, "--out", "handoff.jsonl"],
            &["import", name, "--out", "import.jsonl"],
            &["export", name, "--to", "codex", "--out", "export.jsonl"],
        ] {
            let output = env.run(command);
            assert!(matches!(output.code, Some(0 | 3)), "{command:?}: {output}");
        }
        for written in ["handoff.jsonl", "import.jsonl", "export.jsonl"] {
            std::fs::remove_file(env.path(written)).expect(written);
        }
    }
}

/// Returns the files of sessions below a folder, with their bytes.
fn files(folder: &Path) -> std::collections::BTreeMap<std::ffi::OsString, Vec<u8>> {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten());
    let files = files
        .flatten()
        .filter(|file| !file.path().ends_with("pending.jsonl"));
    let files = files.map(|file| (file.file_name(), std::fs::read(file.path()).expect("read")));
    files.collect()
}

#[test]
fn sessions_are_copied_byte_for_byte_and_none_twice() {
    let env = kept();
    let one = env.run(&["sessions", "copy", "data", "copy", "--json"]);
    assert_eq!(one.code, Some(0), "{one}");
    let mut source = files(&env.path("data"));
    source.retain(|name, _| !name.to_string_lossy().contains(".pending."));
    assert_eq!(files(&env.path("copy")), source);
    let text = env.run(&["sessions", "copy", "data", "other"]);
    assert!(
        text.stdout
            .contains("1 message to send stay where they are"),
        "{text}"
    );
    let again = env.run(&["sessions", "copy", "data", "copy", "--json"]);
    assert_eq!(again.code, Some(3), "{again}");
    let name = source.keys().next().expect("a session").clone();
    let folder = folder_for(
        &env.path("data"),
        &env.folder().canonicalize().expect("a folder"),
    );
    let file = folder.join(name);
    let single = env.run(&["sessions", "copy", &file.to_string_lossy(), "copy"]);
    assert_eq!(single.code, Some(2), "{single}");
    assert!(single.stderr.contains("is there already"), "{single}");
    let outputs = format!("{}.outputs", file.display());
    std::fs::create_dir(&outputs).expect("a folder of outputs");
    std::fs::write(format!("{outputs}/call_1.txt"), "all of it").expect("an output");
    let text = file.to_string_lossy();
    for code in [0, 2] {
        let single = env.run(&["sessions", "copy", &text, "third"]);
        assert_eq!(single.code, Some(code), "{single}");
        let carried = single.stdout.contains("with 1 whole output of tools");
        assert_eq!(carried, code == 0, "{single}");
    }
    // The copy of all finds that this one is without it.
    let again = env.run(&["sessions", "copy", "data", "copy", "--json"]);
    assert_eq!(again.code, Some(0), "{again}");
    for of in ["copy", "third"] {
        let cwd = env.folder().canonicalize().expect("a folder");
        let name = file.file_name().expect("a name").to_string_lossy();
        let output = folder_for(&env.path(of), &cwd).join(format!("{name}.outputs/call_1.txt"));
        assert_eq!(std::fs::read(output).expect(of), b"all of it");
    }
}

#[test]
fn an_address_of_an_unknown_store_is_refused() {
    let env = TestEnv::new();
    for arguments in [["inspect", "s3://bucket/x"], ["compact", "s3://bucket/x"]] {
        let refused = env.run_with(
            &arguments,
            &["--in-place"][..usize::from(arguments[0] == "compact")],
        );
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(
            refused.stderr.contains("no store is known for s3://"),
            "{refused}"
        );
    }
}

#[test]
fn a_session_whose_folder_was_moved_is_offered_in_the_new_one() {
    let env = TestEnv::new();
    let script = "{\"script\":1,\"name\":\"s\",\"window\":16384}\n{\"answer\":{\"text\":\"hi\"}}\n{\"answer\":{\"text\":\"there\"}}\n";
    env.write("script.jsonl", script);
    let provider = format!("scripted:{}", env.path("script.jsonl").display());
    let run_in = |folder: &str, arguments: &[&str]| {
        let mut command = env.command(crate::env::BINARY);
        let options = ["--provider", &provider, "--session-dir"];
        command.current_dir(env.path(folder)).args(options);
        env.output(command.arg(env.path("kept")).args(arguments))
    };
    env.write("before/file", "");
    run_in("before", &["-p", "say hello"]).success();
    std::fs::rename(env.path("before"), env.path("after")).expect("a move");
    let mut list = env.command(crate::env::BINARY);
    list.current_dir(env.path("after"))
        .args(["sessions", "list", "--session-dir"])
        .arg(env.path("kept"));
    let listed = env.output(&mut list).success();
    let says = "before is gone: if it was moved to here, agent-cli --resume ";
    assert!(listed.contains(says), "{listed}");
    let refused = run_in("after", &["--continue", "-p", "more"]);
    assert_eq!(refused.code, Some(3), "{refused}");
    let (_, rest) = refused.stderr.split_once("--resume ").expect("a command");
    let id = rest.split(' ').next().expect("an id");
    let resumed = run_in("after", &["--resume", id, "--cwd", ".", "-p", "more"]);
    assert_eq!(resumed.success().trim(), "there");
}

#[test]
fn a_last_line_under_an_old_entry_is_reported_by_every_command() {
    let env = TestEnv::new();
    env.session("s.jsonl", "u:5 a:5 u:5 a:5");
    let mut text = String::from_utf8(env.read("s.jsonl")).expect("text");
    text.push_str("{\"type\":\"label\",\"id\":\"x\",\"parentId\":\"e1\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"targetId\":\"e1\",\"label\":\"l\"}\n");
    env.write("s.jsonl", text);
    let says = "3 newer messages are out of the context; branch --to e4 goes there";
    for command in ["context", "inspect", "plan", "tree"] {
        let output = env.run(&[command, "s.jsonl"]);
        assert!(output.stderr.contains(says), "{output}");
    }
    assert_eq!(env.json(&["context", "s.jsonl"])["newer_branch"], "e4");
    assert!(env.run(&["doctor", "s.jsonl"]).success().contains(says));
    env.run(&["branch", "s.jsonl", "--to", "e4", "--in-place"])
        .success();
    assert!(!env.run(&["context", "s.jsonl"]).stderr.contains("newer"));
}
