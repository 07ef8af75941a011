//! Bad input: each a line that says what is wrong, where, and what to do; the right exit code; and
//! a folder that is as it was.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use crate::commands::VERSION_1;
use crate::env::{BINARY, Output, SAMPLE, SMALL, TestEnv};

/// Runs the program, which must refuse with `code`, print nothing and change nothing; returns its
/// one line.
fn refused(env: &TestEnv, code: i32, arguments: &[&str]) -> String {
    unchanged_by(env, || checked(&env.run(arguments), code))
}

/// Returns what is printed about arguments that are none, which changes nothing.
fn misused(env: &TestEnv, arguments: &[&str]) -> String {
    let output = unchanged_by(env, || env.run(arguments));
    assert_eq!(output.code, Some(2), "{output}");
    output.stderr
}

/// Like [`refused`], for a session that no command can use: all must say the same.
fn refused_by_all(env: &TestEnv, code: i32, session: &str) -> String {
    let said = refused(env, code, &["inspect", session]);
    for arguments in [
        vec!["context", session],
        vec!["tree", session],
        vec!["plan", session],
        vec!["doctor", session],
        vec!["compact", session, "--dry-run"],
        vec!["compact", session, "--in-place"],
        vec!["compact", session, "--out", "new.jsonl"],
        vec!["branch", session, "--to", "root", "--in-place"],
        vec!["undo", session, "--any", "--in-place"],
        vec!["redo", session, "--in-place"],
        vec!["pin", session, "--text", "keep this", "--in-place"],
        vec!["migrate", session, "--in-place"],
        vec!["migrate", session, "--out", "new.jsonl"],
    ] {
        assert_eq!(refused(env, code, &arguments), said, "{arguments:?}");
    }
    said
}

fn checked(output: &Output, code: i32) -> String {
    assert_eq!(output.code, Some(code), "{output}");
    assert_eq!(output.stdout, "", "{output}");
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
    output.stderr.trim_end().to_owned()
}

/// Returns what `run` gives, which must leave every name and byte in the folder as it was.
fn unchanged_by<T>(env: &TestEnv, run: impl FnOnce() -> T) -> T {
    let before = env.listing();
    let given = run();
    assert!(
        before == env.listing(),
        "the folder has changed: {:?}",
        env.names()
    );
    given
}

#[test]
fn missing_file() {
    let env = TestEnv::new();
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @"error: s.jsonl: no such session file; check the path");
    env.write("file", "");
    assert_snapshot!(refused_by_all(&env, 4, "file/s.jsonl"), @"error: file/s.jsonl: no such session file; check the path");
}

#[test]
fn directory() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("sessions")).expect("a folder");
    assert_snapshot!(refused_by_all(&env, 4, "sessions"), @"error: sessions: a directory; name a session file in it");
}

#[test]
fn empty_file() {
    let env = TestEnv::new();
    env.write("s.jsonl", "");
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @r#"error: s.jsonl: empty; a session begins with a line of type "session""#);
    env.write("s.jsonl", "\n\r\n\n");
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @r#"error: s.jsonl: empty; a session begins with a line of type "session""#);
}

#[test]
fn empty_standard_input() {
    let env = TestEnv::new();
    let output = unchanged_by(&env, || env.run_on(b"", &["inspect", "-"]));
    assert_snapshot!(checked(&output, 4), @r#"error: standard input: empty; a session begins with a line of type "session""#);
}

#[test]
fn binary_file() {
    let env = TestEnv::new();
    env.write("s.jsonl", b"\x7fELF\x02\x01\x01\x00\x00\n\x00");
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @"error: s.jsonl: a binary file, no session; sessions are JSON lines; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
    // A session behind zeroes is no session: nothing of it is where it was written.
    env.write(
        "s.jsonl",
        [&[0; 64], test_support::session(SAMPLE).as_bytes()].concat(),
    );
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @"error: s.jsonl: a binary file, no session; sessions are JSON lines; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
    env.write("s.jsonl", b"\xff\xfe\x80\x81\n\x90");
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @"error: s.jsonl: no session: not one line is a JSON object; name a session's .jsonl file; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
}

/// A device that never ends. The limit stops a program that would read it for ever.
#[cfg(target_os = "linux")]
#[test]
fn endless_zeroes() {
    if !Path::new("/dev/zero").exists() {
        test_support::skip("there is no /dev/zero");
        return;
    }
    let env = TestEnv::new();
    for arguments in [["inspect", "/dev/zero"], ["doctor", "/dev/zero"]] {
        let mut command = env.command("sh");
        let script = "ulimit -v 2000000; exec \"$0\" \"$@\"";
        command.args(["-c", script, BINARY]).args(arguments);
        let output = env.output(&mut command);
        let error = checked(&output, 4);
        let binary = "error: /dev/zero: a binary file, no session; sessions are JSON lines;";
        assert!(error.starts_with(binary), "{error}");
    }
}

#[test]
fn text_that_is_no_json() {
    let env = TestEnv::new();
    env.write("s.jsonl", "# A title\n\nand a text\n");
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @"error: s.jsonl: no session: not one line is a JSON object; name a session's .jsonl file; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
}

#[test]
fn json_that_is_no_session() {
    let env = TestEnv::new();
    env.write("on-one-line.json", "{\"name\":\"x\"}\n");
    assert_snapshot!(refused_by_all(&env, 4, "on-one-line.json"), @r#"error: on-one-line.json: JSON, but no session; a session begins with a line of type "session"; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush"#);
    env.write("with-a-type.json", "{\"name\":\"x\",\"type\":\"module\"}\n");
    assert_snapshot!(refused_by_all(&env, 4, "with-a-type.json"), @r#"error: with-a-type.json: JSON, but no session; a session begins with a line of type "session"; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush"#);
    env.write("on-lines.json", "{\n  \"name\": \"x\"\n}\n");
    assert_snapshot!(refused_by_all(&env, 4, "on-lines.json"), @"error: on-lines.json: no session: not one line is a JSON object; name a session's .jsonl file; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
    env.write("list.json", "[1, 2]\n");
    assert_snapshot!(refused_by_all(&env, 4, "list.json"), @"error: list.json: no session: not one line is a JSON object; name a session's .jsonl file; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
}

#[test]
fn session_from_the_future() {
    let env = TestEnv::new();
    let text = test_support::session(SAMPLE).replacen("\"version\":3", "\"version\":99", 1);
    env.write("s.jsonl", text);
    assert_snapshot!(refused_by_all(&env, 4, "s.jsonl"), @"error: s.jsonl: a session of version 99; this program knows versions 1 to 3; use a newer one");
}

#[test]
fn damage_that_leaves_entries_is_no_refusal() {
    let env = TestEnv::new();
    let text = test_support::session(SAMPLE);
    let (_, entries) = text.split_once('\n').expect("a header line");
    env.write(
        "s.jsonl",
        format!("{{\"type\":\"sess\n{entries}{{\"type\":\"mess"),
    );
    let output = unchanged_by(&env, || env.run(&["doctor", "s.jsonl"]));
    assert_snapshot!(output, @"
    exit 1
    --- stdout
    24 entries on 26 lines
      error   line 1: not readable as JSON; set aside
      error   line 26: not readable as JSON; set aside
      warning no session header can be read; the entries are opened without it
      warning line 26: the last line is cut off; it is kept and set aside
    --- stderr
    error: found 2 errors
    ");
}

#[test]
fn unknown_leaf() {
    let env = TestEnv::sample();
    let said = refused(&env, 2, &["inspect", "s.jsonl", "--leaf", "nope"]);
    assert_snapshot!(said, @"error: no entry nope in this session; agent-cli tree lists the ids");
    for arguments in [
        vec!["context", "s.jsonl", "--leaf", "nope"],
        vec!["tree", "s.jsonl", "--leaf", "nope"],
        vec!["plan", "s.jsonl", "--leaf", "nope"],
        vec!["compact", "s.jsonl", "--in-place", "--leaf", "nope"],
        vec!["undo", "s.jsonl", "--any", "--in-place", "--leaf", "nope"],
        vec!["redo", "s.jsonl", "--in-place", "--leaf", "nope"],
        vec!["pin", "s.jsonl", "e2", "--in-place", "--leaf", "nope"],
        vec!["branch", "s.jsonl", "--in-place", "--to", "nope"],
        vec![
            "branch",
            "s.jsonl",
            "--in-place",
            "--to",
            "e2",
            "--from",
            "nope",
        ],
    ] {
        assert_eq!(refused(&env, 2, &arguments), said, "{arguments:?}");
    }
}

#[test]
fn window_of_zero() {
    let env = TestEnv::sample();
    let said = misused(&env, &["plan", "s.jsonl", "--window", "0"]);
    assert_snapshot!(said, @"
    error: invalid value '0' for '--window <TOKENS>': must be a number of tokens, at least 1

    For more information, try '--help'.
    ");
    for arguments in [
        vec!["inspect", "s.jsonl", "--window", "0"],
        vec!["compact", "s.jsonl", "--in-place", "--window", "0"],
        vec!["compact", "s.jsonl", "--out", "new.jsonl", "--window", "0"],
        vec![
            "branch",
            "s.jsonl",
            "--to",
            "e2",
            "--in-place",
            "--window",
            "0",
        ],
    ] {
        assert_eq!(misused(&env, &arguments), said, "{arguments:?}");
    }
    let said = misused(&env, &["plan", "s.jsonl", "--window", "-1"]);
    assert_snapshot!(said, @"
    error: invalid value '-1' for '--window <TOKENS>': must be a number of tokens, at least 1

    For more information, try '--help'.
    ");
}

#[test]
fn negative_budget() {
    let env = TestEnv::sample();
    let branch = ["branch", "s.jsonl", "--to", "e2", "--in-place", "--budget"];
    assert_snapshot!(misused(&env, &[&branch[..], &["-5"]].concat()), @"
    error: invalid value '-5' for '--budget <TOKENS>': must be a number of tokens, at least 1

    For more information, try '--help'.
    ");
    assert_snapshot!(misused(&env, &[&branch[..], &["0"]].concat()), @"
    error: invalid value '0' for '--budget <TOKENS>': must be a number of tokens, at least 1

    For more information, try '--help'.
    ");
    let said = refused(
        &env,
        2,
        &["plan", "s.jsonl", "--set", "compaction.keepRecentTokens=-5"],
    );
    assert_snapshot!(said, @"error: settings (--set): compaction.keepRecentTokens is -5, but must be a whole number, at least 1");
}

#[test]
fn unknown_setting() {
    let env = TestEnv::sample();
    let key = "compaction.keepRecentToken=1";
    let said = refused(&env, 2, &["plan", "s.jsonl", "--set", key]);
    assert_snapshot!(said, @"error: settings (--set): compaction.keepRecentToken is not a setting; did you mean compaction.keepRecentTokens?");
    for arguments in [
        vec!["inspect", "s.jsonl"],
        vec!["context", "s.jsonl"],
        vec!["tree", "s.jsonl"],
        vec!["doctor", "s.jsonl"],
        vec!["compact", "s.jsonl", "--in-place"],
        vec!["branch", "s.jsonl", "--to", "e2", "--in-place"],
        vec!["undo", "s.jsonl", "--any", "--in-place"],
        vec!["migrate", "s.jsonl", "--in-place"],
        vec!["models"],
        vec!["config", "show"],
        vec!["completions", "bash"],
    ] {
        let arguments = [&arguments[..], &["--set", key]].concat();
        assert_eq!(refused(&env, 2, &arguments), said, "{arguments:?}");
    }
    let set = |pair| refused(&env, 2, &["plan", "s.jsonl", "--set", pair]);
    assert_snapshot!(set("compaction.strategy=best"), @r#"error: settings (--set): compaction.strategy is "best", but must be "context-full", "handoff", "restore", "prune-only", "extractive", "off" or a list of them"#);
    assert_snapshot!(set("compaction.keepRecentTokens=many"), @r#"error: settings (--set): compaction.keepRecentTokens is "many", but must be a whole number, at least 1"#);
    assert_snapshot!(set("compaction.keepRecentTokens"), @"error: --set compaction.keepRecentTokens has no value; write --set KEY=VALUE");
}

#[test]
fn settings_of_providers_and_models() {
    let env = TestEnv::sample();
    let set = |pair| refused(&env, 2, &["doctor", "s.jsonl", "--set", pair]);
    assert_snapshot!(set("provider.lab.wire=chat"), @"error: settings (--set): provider is not a setting; did you mean providers?");
    assert_snapshot!(set("providers.lab.wire=grpc"), @r#"error: settings (--set): providers.lab.wire is "grpc", but must be "responses", "chat", "messages" or "gemini""#);
    assert_snapshot!(set("providers.lab.baseURL=x"), @"error: settings (--set): providers.lab.baseURL is not a setting; did you mean providers.lab.baseUrl?");
    assert_snapshot!(set("providers.lab.wire=chat"), @"error: settings (--set): providers.lab.baseUrl: a new provider needs one, such as http://127.0.0.1:8000/v1");
    assert_snapshot!(set("providers.lab.baseUrl=10.0.0.2"), @r#"error: settings (--set): providers.lab.baseUrl: is "10.0.0.2" (relative URL without a base); write http:// or https:// with a host, such as http://127.0.0.1:8000/v1"#);
    assert_snapshot!(set("models.openai/gpt-9.window=0"), @"error: settings (--set): models.openai/gpt-9.window is 0, but must be a whole number, at least 1");
    assert_snapshot!(set("models.openai/gpt-6.2-sol.window=9"), @"error: settings (--set): models.openai/gpt-6.2-sol is not a setting; models.openai/gpt-6 has adaptiveThinking, extraBody, extraHeaders, images, maxOutput, nativeInBand, nativeStandalone, prices, reasoning, tools, window; put a name with dots in double quotes");
    assert_snapshot!(set("models.\"openai/gpt-6.2-sol.window=9"), @r#"error: --set models."openai/gpt-6.2-sol.window: put a name with dots in double quotes, as in models."a/b-1.0".window"#);
    assert_snapshot!(set("models.openai/gpt-9.prices=[{}]"), @"error: settings (--set): models.openai/gpt-9.prices[0] needs input");
}

#[test]
fn settings_file_that_cannot_be_used() {
    let env = TestEnv::sample();
    env.write("broken.json", "{\"compaction\": ");
    env.write("unknown.json", "{\"compaction\": {\"reserve\": 1}}");
    env.write("list.json", "[]");
    let with = |file| refused(&env, 2, &["plan", "s.jsonl", "--settings", file]);
    assert_snapshot!(with("missing.json"), @"error: cannot read settings missing.json: No such file or directory (os error 2)");
    let broken = with("broken.json").to_string();
    assert!(
        broken.contains("settings broken.json, line 1: no JSON at column"),
        "{broken}"
    );
    assert_snapshot!(with("unknown.json"), @"error: settings unknown.json, line 1: compaction.reserve is not a setting; did you mean compaction.reserveTokens?");
    assert_snapshot!(with("list.json"), @"error: settings list.json, line 1: must be a JSON object");
}

#[test]
fn writing_without_saying_where() {
    let env = TestEnv::sample();
    assert_snapshot!(refused(&env, 2, &["compact", "s.jsonl"]), @"error: compact writes: say where with --out FILE, --in-place or --dry-run");
    assert_snapshot!(refused(&env, 2, &["branch", "s.jsonl", "--to", "e2"]), @"error: branch writes: say where with --out FILE, --in-place or --dry-run");
    assert_snapshot!(refused(&env, 2, &["undo", "s.jsonl"]), @"error: undo writes: say where with --out FILE, --in-place or --dry-run");
    assert_snapshot!(refused(&env, 2, &["migrate", "s.jsonl"]), @"error: migrate writes: say where with --out FILE, --in-place or --dry-run");
    let both = unchanged_by(&env, || {
        env.run(&["compact", "s.jsonl", "--in-place", "--out", "new.jsonl"])
    });
    assert_snapshot!(both, @"
    exit 2
    --- stderr
    error: the argument '--in-place' cannot be used with '--out <FILE>'

    Usage: agent-cli compact --in-place <SESSION>

    For more information, try '--help'.
    ");
}

#[test]
fn strategies_that_need_a_model() {
    let env = TestEnv::sample();
    let with = |name| {
        refused(
            &env,
            2,
            &["compact", "s.jsonl", "--in-place", "--strategy", name],
        )
    };
    assert_snapshot!(with("handoff"), @"error: a handoff begins a new session: use agent-cli handoff SESSION --out NEW.jsonl");
    assert_snapshot!(with("off"), @"error: compaction.strategy is off; name another with --strategy or --set compaction.strategy=context-full");
    assert_snapshot!(with("best"), @"error: no strategy best; there are context-full, restore, prune-only, extractive");
}

#[test]
fn out_never_overwrites() {
    let env = TestEnv::sample();
    env.write("there.jsonl", "something");
    let compact = ["compact", "s.jsonl", "--out"];
    let to = |out: &str| refused(&env, 2, &[&compact[..], &[out], &SMALL].concat());
    assert_snapshot!(to("there.jsonl"), @"error: there.jsonl exists; --out never overwrites, choose another name");
    assert_snapshot!(to("s.jsonl"), @"error: s.jsonl exists; --out never overwrites, choose another name");
    let said = refused(
        &env,
        2,
        &["branch", "s.jsonl", "--to", "e2", "--out", "there.jsonl"],
    );
    assert_snapshot!(said, @"error: there.jsonl exists; --out never overwrites, choose another name");
    let said = refused(
        &env,
        2,
        &["undo", "s.jsonl", "--any", "--out", "there.jsonl"],
    );
    assert_snapshot!(said, @"error: there.jsonl exists; --out never overwrites, choose another name");
}

#[cfg(unix)]
#[test]
fn out_does_not_follow_a_link() {
    let env = TestEnv::sample();
    std::os::unix::fs::symlink("nowhere", env.path("link.jsonl")).expect("a link");
    let said = refused(
        &env,
        2,
        &["undo", "s.jsonl", "--any", "--out", "link.jsonl"],
    );
    assert_snapshot!(said, @"error: link.jsonl exists; --out never overwrites, choose another name");
}

#[test]
fn standard_input_in_place() {
    let env = TestEnv::sample();
    let input = env.read("s.jsonl");
    for arguments in [
        vec!["compact", "-", "--in-place"],
        vec!["branch", "-", "--to", "e2", "--in-place"],
        vec!["undo", "-", "--any", "--in-place"],
        vec!["migrate", "-", "--in-place"],
    ] {
        // Nothing is read, so nothing may be written to the pipe either.
        let output = unchanged_by(&env, || env.run(&arguments));
        assert_eq!(
            checked(&output, 2),
            "error: standard input cannot be changed in place; use --out FILE",
            "{arguments:?}"
        );
    }
    assert_eq!(input, env.read("s.jsonl"));
}

#[test]
fn locked_session() {
    let env = TestEnv::sample();
    env.write("s.jsonl.lock", std::process::id().to_string());
    let lock = std::fs::File::open(env.path("s.jsonl.lock")).expect("the lock file");
    lock.lock().expect("the lock");
    let compact = [&["compact", "s.jsonl", "--in-place"], &SMALL[..]].concat();
    let said = refused(&env, 4, &compact);
    assert_snapshot!(said, @"error: [DIR]/s.jsonl: locked by process [PID]; wait for it, or write a copy with --out FILE; open it read-only with agent-cli inspect, or continue in a copy with --fork");
    let branch = ["branch", "s.jsonl", "--to", "e2", "--in-place"];
    assert_eq!(refused(&env, 4, &branch), said);
    assert_eq!(
        refused(&env, 4, &["undo", "s.jsonl", "--any", "--in-place"]),
        said
    );
    // Readers and copies do not wait.
    env.run(&["inspect", "s.jsonl"]).success();
    env.run(&["undo", "s.jsonl", "--any", "--out", "copy.jsonl"])
        .success();
    lock.unlock().expect("the lock is given back");
    env.run(&compact).success();
    assert_eq!(env.names(), ["copy.jsonl", "s.jsonl"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_locked_with_its_target() {
    let env = TestEnv::sample();
    std::os::unix::fs::symlink("s.jsonl", env.path("link.jsonl")).expect("a link");
    env.write("s.jsonl.lock", "");
    let lock = std::fs::File::open(env.path("s.jsonl.lock")).expect("the lock file");
    lock.lock().expect("the lock");
    let said = refused(&env, 4, &["undo", "link.jsonl", "--any", "--in-place"]);
    assert_snapshot!(said, @"error: [DIR]/s.jsonl: locked by another process; wait for it, or write a copy with --out FILE; open it read-only with agent-cli inspect, or continue in a copy with --fork");
}

#[test]
fn locked_migration() {
    let env = TestEnv::new();
    env.write("s.jsonl", crate::commands::VERSION_1);
    env.write("s.jsonl.lock", "");
    let lock = std::fs::File::open(env.path("s.jsonl.lock")).expect("the lock file");
    lock.lock().expect("the lock");
    let said = refused(&env, 4, &["migrate", "s.jsonl", "--in-place"]);
    assert_snapshot!(said, @"error: [DIR]/s.jsonl: locked by another process; wait for it, or write a copy with --out FILE; open it read-only with agent-cli inspect, or continue in a copy with --fork");
}

#[test]
fn a_lock_file_that_nobody_holds_does_not_block() {
    let env = TestEnv::sample();
    env.write("s.jsonl.lock", "999999");
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    assert_eq!(env.names(), ["s.jsonl"]);
}

/// What writes a session of version 3 in place.
const WRITES: [&[&str]; 3] = [
    &["compact", "s.jsonl", "--in-place"],
    &["branch", "s.jsonl", "--to", "e2", "--in-place"],
    &["undo", "s.jsonl", "--any", "--in-place"],
];

/// Checks that whatever writes the session in place refuses what stands where its lock belongs.
fn refused_for_its_lock(env: &TestEnv, what: &str) {
    for arguments in WRITES {
        assert_eq!(
            refused(env, 4, arguments),
            "error: [DIR]/s.jsonl: [DIR]/s.jsonl.lock stands where the lock belongs and is not a lock; move it away, or write a copy with --out FILE",
            "{what}: {arguments:?}"
        );
    }
}

#[test]
fn a_file_that_is_no_lock_is_left_alone() {
    let env = TestEnv::sample();
    for content in [
        &b"notes of mine"[..],
        b"123 456",
        b"-5",
        b"0x1F",
        b"\xff\xfe\x80",
        b"12\xff",
        b"\0",
        b"123456789012345678901",
        &[b'7'; 5000],
    ] {
        env.write("s.jsonl.lock", content);
        refused_for_its_lock(&env, &String::from_utf8_lossy(content));
    }
}

#[test]
fn a_folder_is_no_lock() {
    let env = TestEnv::sample();
    std::fs::create_dir(env.path("s.jsonl.lock")).expect("a folder");
    refused_for_its_lock(&env, "a folder");
}

#[cfg(unix)]
#[test]
fn a_link_is_no_lock() {
    let env = TestEnv::sample();
    env.write("empty", "");
    env.write("digits", "123");
    for target in ["empty", "digits", "nowhere", "s.jsonl", "."] {
        let lock = env.path("s.jsonl.lock");
        std::os::unix::fs::symlink(target, &lock).expect("a link");
        refused_for_its_lock(&env, target);
        assert_eq!(
            std::fs::read_link(&lock).expect("still a link"),
            Path::new(target)
        );
        std::fs::remove_file(lock).expect("the link");
    }
}

#[test]
fn a_migration_refuses_what_is_no_lock() {
    let env = TestEnv::new();
    env.write("s.jsonl", crate::commands::VERSION_1);
    env.write("s.jsonl.lock", "notes");
    let said = refused(&env, 4, &["migrate", "s.jsonl", "--in-place"]);
    assert_snapshot!(said, @"error: [DIR]/s.jsonl: [DIR]/s.jsonl.lock stands where the lock belongs and is not a lock; move it away, or write a copy with --out FILE");
}

#[test]
fn an_empty_lock_file_and_one_with_a_process_id_are_taken() {
    for content in ["", "1", "18446744073709551615"] {
        let env = TestEnv::sample();
        env.write("s.jsonl.lock", content);
        env.run(&["undo", "s.jsonl", "--any", "--in-place"])
            .success();
        assert_eq!(env.names(), ["s.jsonl"], "{content:?}");
    }
}

#[test]
fn out_in_a_folder_that_is_not_there() {
    let env = TestEnv::sample();
    let said = refused(
        &env,
        1,
        &["undo", "s.jsonl", "--any", "--out", "new/s.jsonl"],
    );
    assert_snapshot!(said, @"error: cannot write new/s.jsonl: no such folder; make it first, or write elsewhere with --out");
}

/// A folder in which not even root can make files.
#[cfg(target_os = "linux")]
#[test]
fn out_where_nobody_can_write() {
    let env = TestEnv::sample();
    let said = refused(
        &env,
        1,
        &["undo", "s.jsonl", "--any", "--out", "/proc/s.jsonl"],
    );
    assert_snapshot!(said, @"error: cannot write /proc/s.jsonl: no such folder; make it first, or write elsewhere with --out");
}

/// Runs a shell script in a mount namespace of its own, with the program as `$program`; `None`,
/// with a message, where the system does not allow that.
#[cfg(target_os = "linux")]
fn in_own_mounts(env: &TestEnv, script: &str) -> Option<Output> {
    let unshare = |script: &str| {
        let mut command: Command = env.command("unshare");
        command
            .args(["--mount", "sh", "-c", script])
            .env("program", BINARY);
        command
    };
    let probe = unshare("mount -t tmpfs tmpfs /mnt").output();
    if !probe.is_ok_and(|output| output.status.success()) {
        test_support::skip("this system does not let the test mount anything");
        return None;
    }
    Some(env.output(&mut unshare(script)))
}

#[cfg(unix)]
#[test]
fn paths_that_are_not_unicode_are_written_and_named() {
    use std::os::unix::ffi::OsStrExt;
    let env = TestEnv::new();
    env.session("s.jsonl", SAMPLE);
    let out = std::ffi::OsStr::from_bytes(b"o\xff");
    for arguments in [
        &["export", "s.jsonl", "--json", "--html"][..],
        &["export", "s.jsonl", "--json", "--to", "codex", "--out"],
        &["doctor", "s.jsonl", "--json", "--repair", "--out"],
    ] {
        let mut command = env.command(BINARY);
        let output = env.output(command.args(arguments).arg(out));
        assert!(
            output.code != Some(101) && output.stdout.starts_with('{'),
            "{output}"
        );
        let _ = std::fs::remove_file(env.folder().join(out));
    }
}

#[test]
fn a_read_only_session_is_not_written_whatever_its_version() {
    for old in [None, Some(VERSION_1)] {
        let env = TestEnv::new();
        match old {
            Some(old) => std::fs::write(env.path("s.jsonl"), old).expect("written"),
            None => env.session("s.jsonl", SAMPLE),
        }
        let before = env.read("s.jsonl");
        let path = env.path("s.jsonl");
        let mut permissions = std::fs::metadata(&path).expect("it is there").permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).expect("permissions can be set");
        let said = refused(&env, 1, &["pin", "s.jsonl", "--text", "x", "--in-place"]);
        assert_eq!(
            said.replace("[DIR]/", ""),
            "error: cannot write s.jsonl: permission denied; write elsewhere with --out, or change the permissions"
        );
        assert_eq!(env.read("s.jsonl"), before);
        assert!(!env.path("s.jsonl.v1.bak").exists());
    }
}

#[cfg(unix)]
#[test]
fn read_only_folder_for_who_is_not_root() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    let folder = env.path("folder");
    std::fs::create_dir(&folder).expect("a folder");
    env.session("folder/s.jsonl", SAMPLE);
    let allow = |mode| std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode));
    allow(0o555).expect("permissions can be set");
    if std::fs::write(folder.join("probe"), "").is_ok() {
        test_support::skip("permissions do not bind root");
        return;
    }
    let before = std::fs::read(folder.join("s.jsonl")).expect("the session");
    let in_place = refused(&env, 1, &["undo", "folder/s.jsonl", "--any", "--in-place"]);
    let out = refused(
        &env,
        1,
        &[
            "undo",
            "folder/s.jsonl",
            "--any",
            "--out",
            "folder/new.jsonl",
        ],
    );
    let names = std::fs::read_dir(&folder).expect("the folder").count();
    let after = std::fs::read(folder.join("s.jsonl")).expect("the session");
    allow(0o755).expect("permissions can be set");
    assert_eq!((names, after), (1, before));
    assert_eq!(
        in_place,
        "error: cannot create the lock [DIR]/folder/s.jsonl.lock: permission denied; write elsewhere with --out, or change the permissions"
    );
    assert_eq!(
        out,
        "error: cannot write folder/new.jsonl: permission denied; write elsewhere with --out, or change the permissions"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn read_only_file_system() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("folder")).expect("a folder");
    env.session("folder/s.jsonl", SAMPLE);
    let before = env.read("folder/s.jsonl");
    let script = "mount --bind folder folder && mount -o remount,ro,bind folder || exit 99
        $program undo --any folder/s.jsonl --in-place; echo $?
        $program undo --any folder/s.jsonl --out folder/new.jsonl; echo $?
        $program undo --any folder/s.jsonl --out new.jsonl >/dev/null; echo $?
        ls folder";
    let Some(output) = in_own_mounts(&env, script) else {
        return;
    };
    assert_eq!(env.read("folder/s.jsonl"), before);
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    1
    1
    0
    s.jsonl
    --- stderr
    error: cannot create the lock [DIR]/folder/s.jsonl.lock: the file system is read-only; write elsewhere with --out
    error: cannot write folder/new.jsonl: the file system is read-only; write elsewhere with --out
    ");
}

/// Writes the sample so that it ends 100 bytes before a block of 4,096 does: less than an entry.
#[cfg(unix)]
fn session_that_nearly_fills_its_block(env: &TestEnv) {
    let mut text = test_support::session(SAMPLE);
    assert_eq!(text.pop(), Some('\n'));
    while (text.len() + 1) % 4096 != 4096 - 100 {
        text.push(' ');
    }
    text.push('\n');
    env.write("s.jsonl", text);
}

/// The limit stands for a full disk: the write that crosses it is short, the next one fails.
#[cfg(unix)]
fn with_file_limit(env: &TestEnv, blocks: usize, arguments: &[&str]) -> Output {
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command: Command = env.command("sh");
    command.args(["-c", &script, BINARY]).args(arguments);
    env.output(&mut command)
}

#[cfg(unix)]
#[test]
fn full_disk_in_the_middle_of_an_append() {
    let env = TestEnv::new();
    session_that_nearly_fills_its_block(&env);
    let blocks = env.read("s.jsonl").len().div_ceil(512);
    let arguments = [&["compact", "s.jsonl", "--in-place"], &SMALL[..]].concat();
    let output = unchanged_by(&env, || with_file_limit(&env, blocks, &arguments));
    assert_snapshot!(checked(&output, 1), @"error: cannot append to s.jsonl: the disk is full; nothing was changed; make room, or write elsewhere with --out");
    // With room it works: nothing was left that stands in the way.
    env.run(&arguments).success();
}

#[cfg(unix)]
#[test]
fn full_disk_from_the_first_byte() {
    let env = TestEnv::new();
    session_that_nearly_fills_its_block(&env);
    let blocks = env.read("s.jsonl").len() / 512;
    let undo = ["undo", "s.jsonl", "--any", "--in-place"];
    let output = unchanged_by(&env, || with_file_limit(&env, blocks, &undo));
    assert_snapshot!(checked(&output, 1), @"error: cannot append to s.jsonl: File too large (os error 27); nothing was changed; raise the limit, or write elsewhere with --out");
}

#[cfg(unix)]
#[test]
fn f11_a_file_size_limit_is_an_error_and_leaves_no_file() {
    let env = TestEnv::new();
    session_that_nearly_fills_its_block(&env);
    let full = env.read("s.jsonl").len().div_ceil(512);
    for blocks in [1, full / 2, full] {
        let copy = [&["compact", "s.jsonl", "--out", "new.jsonl"], &SMALL[..]].concat();
        let output = unchanged_by(&env, || with_file_limit(&env, blocks, &copy));
        assert_eq!(
            checked(&output, 1),
            "error: cannot write new.jsonl: File too large (os error 27); nothing was changed; raise the limit, or write elsewhere with --out"
        );
    }
    env.write("old.jsonl", crate::commands::VERSION_1);
    let migrate = ["migrate", "old.jsonl", "--in-place"];
    let output = unchanged_by(&env, || with_file_limit(&env, 1, &migrate));
    assert_eq!(output.code, Some(1), "{output}");
}

#[cfg(target_os = "linux")]
#[test]
fn full_file_system() {
    let env = TestEnv::new();
    session_that_nearly_fills_its_block(&env);
    std::fs::create_dir(env.path("disk")).expect("a folder");
    let script = "mount -t tmpfs -o size=64k,nr_inodes=20 tmpfs disk || exit 99
        cp s.jsonl disk/s.jsonl
        cat /dev/zero > disk/filler 2>/dev/null
        $program undo --any disk/s.jsonl --in-place; echo $?
        $program undo --any disk/s.jsonl --out disk/new.jsonl; echo $?
        cmp s.jsonl disk/s.jsonl; echo $?
        ls -A disk";
    let Some(output) = in_own_mounts(&env, script) else {
        return;
    };
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    1
    1
    0
    filler
    s.jsonl
    --- stderr
    error: cannot append to disk/s.jsonl: the disk is full; nothing was changed; make room, or write elsewhere with --out
    error: cannot write disk/new.jsonl: the disk is full; nothing was changed; make room, or write elsewhere with --out
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn printing_to_a_full_disk() {
    let env = TestEnv::sample();
    let full = std::fs::File::create("/dev/full").expect("the full device");
    let mut command = env.command(BINARY);
    command.args(["inspect", "s.jsonl", "--json"]).stdout(full);
    let output = unchanged_by(&env, || env.output(&mut command));
    assert_snapshot!(checked(&output, 1), @"error: cannot write to standard output: No space left on device (os error 28); the command itself was carried out");
}

#[cfg(target_os = "linux")]
#[test]
fn f13_printing_errors_and_notes_to_a_full_disk_changes_no_exit_code() {
    let env = TestEnv::sample();
    env.write("bad.jsonl", "{\n");
    let plan = [
        ["inspect", "s.jsonl", "--json"],
        ["plan", "s.jsonl", "--json"],
        ["inspect", "bad.jsonl", "--json"],
        ["inspect", "none.jsonl", "--json"],
        ["inspect", "s.jsonl", "--wrong"],
    ];
    let codes = plan.map(|arguments| {
        let full = || std::fs::File::create("/dev/full").expect("the full device");
        let mut command = env.command(BINARY);
        command.args(arguments).stdout(full()).stderr(full());
        unchanged_by(&env, || env.output(&mut command)).code
    });
    assert_eq!(codes, [1, 1, 4, 4, 2].map(Some));
}

/// Presses Ctrl-C as soon as the program listens, which its mask tells, and has read so many bytes; returns what it
/// gave. Its input stays open.
#[cfg(target_os = "linux")]
fn interrupted(env: &TestEnv, arguments: &[&str], read: u64) -> Output {
    use std::process::Stdio;
    let mut command = env.command(BINARY);
    command.args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("the program runs");
    let state = |file: &str, name: &str, radix| {
        let text = std::fs::read_to_string(format!("/proc/{}/{file}", child.id()));
        let text = text.expect("the program is there");
        let number = text.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(number.expect("a line").trim(), radix).expect("a number")
    };
    // Bit 1 is signal 2, SIGINT.
    while state("status", "SigCgt:", 16) & 0b10 == 0 || state("io", "rchar:", 10) < read {
        std::thread::yield_now();
    }
    let mut kill = Command::new("kill");
    let sent = kill.args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("the signal is sent").success());
    env.filtered(&unchanged_by(env, || {
        // `wait_with_output` would close the input first.
        let mut child = child;
        let stdin = child.stdin.take();
        let output = child.wait_with_output().expect("the program ends");
        drop(stdin);
        output
    }))
}

/// Ctrl-C while the session has been read, and its entries are gone through.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_what_computes() {
    let env = TestEnv::new();
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
    for number in 1..20_000 {
        let arguments = serde_json::json!({ "command": format!("cargo test t{number}; {}", "true; ".repeat(150)) });
        let call = serde_json::json!({ "type": "toolCall", "id": "c", "name": "bash", "arguments": arguments });
        let entry = serde_json::json!({
            "type": "message", "id": format!("{number:08x}"), "parentId": format!("{:08x}", number - 1),
            "message": { "role": "assistant", "content": [call] },
        });
        text.push_str(&format!("{entry}\n"));
    }
    env.write("s.jsonl", &text);
    let read = text.len() as u64 * 11 / 10;
    let output = interrupted(&env, &["files", "s.jsonl", "--json"], read);
    assert_eq!(output.code, Some(130), "{output}");
    assert_eq!(output.json()["error"]["kind"], "cancelled");
}

/// Ctrl-C while the session is still being read.
#[cfg(target_os = "linux")]
#[test]
fn cancelling_changes_nothing() {
    let env = TestEnv::sample();
    let output = interrupted(&env, &["undo", "-", "--any", "--out", "new.jsonl"], 0);
    assert_snapshot!(checked(&output, 130), @"error: cancelled; nothing was changed");
}

#[cfg(target_os = "linux")]
#[test]
fn settings_come_through_a_pipe_and_waiting_for_it_can_be_cancelled() {
    // Not in the same folder: what is listed is read.
    let (env, pipes) = (TestEnv::sample(), TestEnv::new());
    let pipe = pipes.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let settings = pipe.display().to_string();
    let show = [
        "config",
        "show",
        "compaction.keepRecentTokens",
        "--settings",
        &settings,
    ];
    let writer = std::thread::spawn(move || {
        std::fs::write(pipe, r#"{"compaction": {"keepRecentTokens": 123}}"#)
    });
    let shown = env.json(&show);
    writer.join().expect("ended").expect("written");
    assert_eq!(shown["settings"][0]["value"], 123, "{shown}");
    let output = interrupted(&env, &show, 0);
    assert_snapshot!(checked(&output, 130), @"error: cancelled; nothing was changed");
}

#[test]
fn errors_repeat_arguments_without_what_steers_a_terminal() {
    let env = TestEnv::new();
    let bad = "x\u{1b}]0;t\u{7}\u{9b}2J\u{202e}\u{61c}\u{200b}\u{2028}\u{feff}";
    for arguments in [
        &["inspect", bad][..],
        &["inspect", &format!("{bad}.jsonl")],
        &["setup", bad],
        &[format!("--{bad}").as_str()],
        &["--fork", &format!("{bad}/a.jsonl"), "-p", "x"],
        &["--session", &format!("{bad}/a.jsonl")],
        &["-p", "x", "--provider", &format!("scripted:{bad}")],
        &["config", "show", bad],
        &["export", bad, "--to", "pi", "--out", bad],
    ] {
        for options in [&[][..], &["--json"]] {
            let output = env.run_with(arguments, options);
            assert!(output.code != Some(0), "{output}");
            let all = format!("{}{}", output.stdout, output.stderr);
            let steers =
                |letter: char| bad.contains(letter) && letter != 'x' && !letter.is_ascii_graphic();
            let found: String = all.chars().filter(|letter| steers(*letter)).collect();
            assert_eq!(found, "", "{arguments:?}: {all:?}");
        }
    }
}
