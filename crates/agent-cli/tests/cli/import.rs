//! Sessions of other programs: read by every reading command, written by none, imported by `import`.

use insta::assert_snapshot;

use crate::env::TestEnv;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../session-import/tests/fixtures/", $name))
    };
}

const PARENT: &str =
    "sessions/2026/11/21/rollout-2026-11-21T03-28-26-01a2014c-49ee-7432-a739-4e557a4b21ff.jsonl";
const CHILD: &str =
    "sessions/2026/11/22/rollout-2026-11-22T03-28-27-01a2014c-4c7f-7a01-9f06-1017ebf0aeec.jsonl";

/// Returns a folder with a session of each program.
fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("claude.jsonl", fixture!("claude-branches.jsonl"));
    env.write("codex.jsonl", fixture!("codex-compaction.jsonl"));
    env.write("qwen.jsonl", fixture!("qwen-compression.jsonl"));
    env.write("gemini.json", fixture!("gemini-document.json"));
    env.write("opencode.json", fixture!("opencode-export.json"));
    env.write(PARENT, fixture!("codex-fork-parent.jsonl"));
    env.write(CHILD, fixture!("codex-fork-child.jsonl"));
    env
}

const SESSIONS: [(&str, &str); 6] = [
    ("claude.jsonl", "claude-code"),
    ("codex.jsonl", "codex"),
    (CHILD, "codex"),
    ("qwen.jsonl", "qwen-code"),
    ("gemini.json", "gemini-cli"),
    ("opencode.json", "opencode"),
];

#[test]
fn every_reading_command_takes_sessions_of_other_programs() {
    let env = env();
    let before = env.listing();
    for (session, format) in SESSIONS {
        for command in [
            &["inspect", session][..],
            &["tree", session],
            &["context", session],
            &["loss", session],
            &["recall", session, "question"],
            &["doctor", session],
        ] {
            let output = env.run(command);
            assert!(matches!(output.code, Some(0 | 3)), "{command:?}: {output}");
            let shown = output.stdout.lines().next().unwrap_or_default();
            assert!(
                output.code == Some(3) || shown.starts_with("read as: "),
                "{command:?}: {output}"
            );
            let document = env.run_with(command, &["--json"]).json();
            assert_eq!(document["format"], format, "{command:?}");
        }
        for command in ["plan", "compare"] {
            let output = env.run_with(&[command, session], &["--json"]);
            assert!(matches!(output.code, Some(0 | 3)), "{command}: {output}");
            assert_eq!(output.json()["format"], format, "{command}");
        }
    }
    assert_eq!(env.listing(), before);
}

#[test]
fn a_rollout_that_is_being_appended_is_read_as_of_now() {
    let env = env();
    let before = env.messages("codex.jsonl");
    let mut bytes = env.read("codex.jsonl");
    bytes.extend(
        b"{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"response_item\",\"payload\":{\"ty",
    );
    env.write("codex.jsonl", &bytes);
    assert_eq!(env.messages("codex.jsonl"), before);
    assert_eq!(env.read("codex.jsonl"), bytes);
}

#[test]
fn inspect_says_what_was_read() {
    let env = env();
    let text = env.run(&["inspect", "claude.jsonl"]).success();
    let lines: Vec<&str> = text.lines().take(3).collect();
    assert_snapshot!(lines.join("\n"), @"
    read as: Claude Code session 5e550000-0000-4000-8000-000000000001, 3 kinds of record skipped
    session     Parser work   5e550000-0000-4000-8000-000000000001
    format      version 3, begun 2026-03-01T10:00:01.000Z
    ");
    let text = env.run(&["inspect", CHILD]).success();
    assert_snapshot!(text.lines().next().unwrap_or_default(), @"read as: Codex session 01a2014c-4c7f-7a01-9f06-1017ebf0aeec, 5 kinds of record skipped");
    let found = env.json(&["context", CHILD]);
    assert!(found.to_string().contains("base question"), "{found}");
}

#[test]
fn import_writes_a_session_and_a_report() {
    let env = env();
    let output = env.run(&["import", "claude.jsonl", "--out", "new.jsonl"]);
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    imported: Claude Code session 5e550000-0000-4000-8000-000000000001, 2.1.230 -> new.jsonl
      records     a-kind-of-next-month 1, assistant 10, attachment 3, custom-title
                  1, file-history-snapshot 1, queue-operation 1, summary 1, system
                  1, user 11
      entries     context_edit 1, custom 2, custom_message 7, message 15,
                  session_info 1
      skipped     a-kind-of-next-month 1, file-history-snapshot 1, queue-operation 1
      duplicates  1
      interrupted 1
      usage       35 in, 3500 read from and 350 written to the cache, 164 out
      note    line 27: a second record with the same uuid; left out
    ");
    env.run(&["import", "claude.jsonl", "--out", "again.jsonl"])
        .success();
    assert_eq!(env.read("new.jsonl"), env.read("again.jsonl"));
    assert_eq!(
        env.lines("new.jsonl")[1]["data"]["sha256"]
            .as_str()
            .map(str::len),
        Some(64)
    );
    let document = env.json(&["doctor", "new.jsonl"]);
    assert_eq!(document["diagnostics"], serde_json::json!([]));
    assert!(document["format"].is_null());
    // Not a byte of an existing file is replaced.
    let output = env.run(&["import", "claude.jsonl", "--out", "new.jsonl"]);
    assert_eq!(output.code, Some(2), "{output}");
    let from_pipe = env.run_on(
        fixture!("qwen-fork.jsonl"),
        &["import", "-", "--out", "piped.jsonl", "--json"],
    );
    assert_eq!(from_pipe.json()["format"], "qwen-code");
}

#[test]
fn commands_that_write_make_a_copy_or_refuse() {
    let env = env();
    let pin = [
        "pin",
        "claude.jsonl",
        "--text",
        "keep this",
        "--out",
        "pinned.jsonl",
    ];
    env.run(&pin).success();
    let lines = env.lines("pinned.jsonl");
    assert_eq!(lines[0]["type"], "session");
    assert_eq!(lines[1]["customType"], "agent-cli/import");
    assert_eq!(lines.last().expect("lines")["customType"], "agent-cli/pin");
    let before = env.listing();
    let mut said = String::new();
    for command in [
        &["compact", "claude.jsonl", "--in-place"][..],
        &["undo", "claude.jsonl", "--any", "--in-place"],
        &["migrate", "claude.jsonl", "--in-place"],
        &["migrate", "claude.jsonl", "--out", "migrated.jsonl"],
        &["pin", "claude.jsonl", "--text", "x", "--in-place"],
        &["-p", "hello", "--session", "claude.jsonl"],
    ] {
        let output = env.run(command);
        assert_eq!(output.code, Some(4), "{command:?}: {output}");
        said.push_str(&output.stderr);
    }
    assert_snapshot!(said, @"
    error: claude.jsonl: a Claude Code session, which is read but never written; run agent-cli import claude.jsonl --out NEW and use NEW
    error: claude.jsonl: a Claude Code session, which is read but never written; run agent-cli import claude.jsonl --out NEW and use NEW
    error: claude.jsonl: a Claude Code session, which is read but never written; run agent-cli import claude.jsonl --out NEW and use NEW
    error: claude.jsonl: a Claude Code session, which is read but never written; run agent-cli import claude.jsonl --out NEW and use NEW
    error: claude.jsonl: a Claude Code session, which is read but never written; run agent-cli import claude.jsonl --out NEW and use NEW
    error: claude.jsonl: a Claude Code session, which is read but never written; run agent-cli import claude.jsonl --out NEW and use NEW
    ");
    assert_eq!(env.listing(), before);
}

#[test]
fn an_automatic_compaction_below_half_the_window_bounds_it() {
    let env = TestEnv::new();
    for (trigger, tokens, window) in [
        ("auto", 167_000, 167_000),
        ("auto", 700_000, 1_000_000),
        ("manual", 167_000, 1_000_000),
    ] {
        let text = String::from_utf8_lossy(fixture!("claude-compaction.jsonl")).into_owned();
        let text = text.replace("155000", &tokens.to_string());
        let trigger = format!(r#""trigger":"{trigger}""#);
        env.write(
            "session.jsonl",
            text.replace(r#""trigger":"auto""#, &trigger),
        );
        let found = env.json(&["inspect", "session.jsonl"]);
        assert_eq!(found["context"]["window"], window, "{trigger} {tokens}");
    }
}

#[test]
fn a_file_of_no_known_format_names_those_that_were_tried() {
    let env = TestEnv::new();
    env.write("new-codex.jsonl", "{\"type\":\"new\",\"payload\":{}}\n");
    assert_snapshot!(env.run(&["inspect", "new-codex.jsonl"]).stderr, @r#"error: new-codex.jsonl: JSON, but no session; a session begins with a line of type "session"; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush"#);
    env.write("opencode.db", b"SQLite format 3\0rest");
    #[cfg(not(feature = "databases"))]
    assert_snapshot!(env.run(&["inspect", "opencode.db"]).stderr, @"error: opencode.db: a database, which this build does not read: build it with --features databases, or have the agent write the session to a file (opencode export ID, goose session export --format json)");
    env.session("own.jsonl", "u:5 a:5");
    let output = env.run(&["import", "own.jsonl", "--out", "new.jsonl"]);
    assert_snapshot!(output.stderr, @"error: own.jsonl: no session of another program; one of pi, oh-my-pi or agent-cli needs no import");
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    ruzstd::encoding::compress_to_vec(bytes, level)
}

#[test]
fn compressed_rollouts_are_read_and_forks_find_their_base_in_one() {
    let env = TestEnv::new();
    env.write(CHILD, fixture!("codex-fork-child.jsonl"));
    env.write(
        &format!("{PARENT}.zst"),
        packed(fixture!("codex-fork-parent.jsonl")),
    );
    let found = env.json(&["context", CHILD]);
    assert!(found.to_string().contains("base question"), "{found}");
    // Two frames, one behind the other, are one file.
    let bytes = fixture!("codex-compaction.jsonl");
    let (one, other) = bytes.split_at(bytes.len() / 2);
    env.write("plain.jsonl", bytes);
    env.write("packed.jsonl.zst", [packed(one), packed(other)].concat());
    assert_eq!(
        env.messages("packed.jsonl.zst"),
        env.messages("plain.jsonl")
    );
    let from_pipe = env.run_on(&packed(bytes), &["inspect", "-", "--json"]);
    assert_eq!(from_pipe.json()["format"], "codex");
    let output = env.run(&["undo", "packed.jsonl.zst", "--any", "--in-place"]);
    assert!(
        output
            .stderr
            .contains("a Codex session, which is read but never written"),
        "{output}"
    );
    let mut cut = packed(bytes);
    cut.truncate(cut.len() / 2);
    env.write("cut.jsonl.zst", &cut);
    let output = env.run(&["inspect", "cut.jsonl.zst"]);
    assert_eq!(output.code, Some(4), "{output}");
    assert!(
        output
            .stderr
            .contains("compressed with Zstandard, and damaged"),
        "{output}"
    );
    env.write("bomb.jsonl.zst", packed(&vec![b' '; 8 << 20]));
    let output = env.run(&["inspect", "bomb.jsonl.zst"]);
    assert_eq!(output.code, Some(4), "{output}");
    assert!(
        output
            .stderr
            .contains("once unpacked; unpack it with zstd -d"),
        "{output}"
    );
}

#[test]
fn sessions_of_opencode_are_read_where_it_keeps_them_as_files() {
    let env = TestEnv::new();
    let export: serde_json::Value =
        serde_json::from_slice(fixture!("opencode-export.json")).expect("JSON");
    let id = export["info"]["id"].as_str().expect("an id").to_owned();
    let storage = ".local/share/opencode/storage";
    let write = |path: String, value: &serde_json::Value| {
        let path = env.home().join(format!("{storage}/{path}.json"));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, value.to_string()).expect("written");
    };
    write(format!("session/project/{id}"), &export["info"]);
    for message in export["messages"].as_array().expect("messages") {
        let message_id = message["info"]["id"].as_str().expect("an id");
        write(format!("message/{id}/{message_id}"), &message["info"]);
        for part in message["parts"].as_array().expect("parts") {
            let part_id = part["id"].as_str().expect("an id");
            write(format!("part/{message_id}/{part_id}"), part);
        }
    }
    env.write("export.json", fixture!("opencode-export.json"));
    let of_tree = env.json(&["context", &format!("opencode:{id}")]);
    let of_export = env.json(&["context", "export.json"]);
    assert_eq!(of_tree["messages"], of_export["messages"]);
    let listed = env.json(&["sessions", "list", "--all", "--agent", "opencode"]);
    assert_eq!(listed["sessions"][0]["id"], id.as_str(), "{listed}");
}

#[test]
fn exports_name_what_is_lost_and_how_to_resume() {
    let env = env();
    let before = env.listing();
    assert_snapshot!(env.run(&["export", "claude.jsonl", "--to", "codex", "--out", "codex-new.jsonl"]), @"
    exit 0
    --- stdout
    read as: Claude Code session 5e550000-0000-4000-8000-000000000001, 3 kinds of record skipped
    exported: for codex, session 24cbff7f-1da7-8c30-8afd-3bc4dc12ea29 -> codex-new.jsonl
      written     event_msg 9, response_item 14, session_meta 1
      lost        content that was taken out of the context 1, entry of another
                  branch 8, entry of type context_edit 1, entry of type custom 2,
                  entry of type session_info 1, thinking 1
      resume      move it to
                  ~/.codex/sessions/2026/03/01/rollout-2026-03-01T10-00-01-24cbff7f-1da7-8c30-8afd-3bc4dc12ea29.jsonl,
                  then run codex resume 24cbff7f-1da7-8c30-8afd-3bc4dc12ea29
    ");
    assert_snapshot!(env.run(&["export", "claude.jsonl", "--to", "opencode", "--out", "opencode-new.json"]), @"
    exit 0
    --- stdout
    read as: Claude Code session 5e550000-0000-4000-8000-000000000001, 3 kinds of record skipped
    exported: for opencode, session ses_35728cf17ffe2qXNVF3OOFk1xb -> opencode-new.json
      written     reasoning 1, step-finish 4, step-start 4, text 8, tool 3
      lost        content that was taken out of the context 1, entry of another
                  branch 8, entry of type context_edit 1, entry of type custom 2,
                  entry of type session_info 1
      resume      run opencode import opencode-new.json in the session's folder,
                  then opencode --session ses_35728cf17ffe2qXNVF3OOFk1xb
    ");
    assert_snapshot!(env.run(&["export", "codex.jsonl", "--to", "pi", "--out", "pi-new.jsonl"]), @"
    exit 0
    --- stdout
    read as: Codex session 01a2010b-ec77-70b3-a84c-8a42f2e3e063, 6 kinds of record skipped
    exported: for pi, session 01a2010b-ec77-70b3-a84c-8a42f2e3e063 -> pi-new.jsonl
      written     compaction 1, custom 2, custom_message 6, message 4, model_change
                  1, usage 1
      resume      run pi --session pi-new.jsonl
    ");
    assert_eq!(
        env.json(&["doctor", "pi-new.jsonl"])["diagnostics"],
        serde_json::json!([])
    );
    // Not a byte of an existing file is replaced, and the source is as it was.
    let output = env.run(&[
        "export",
        "claude.jsonl",
        "--to",
        "pi",
        "--out",
        "pi-new.jsonl",
    ]);
    assert_eq!(output.code, Some(2), "{output}");
    for name in ["codex-new.jsonl", "opencode-new.json", "pi-new.jsonl"] {
        std::fs::remove_file(env.path(name)).expect("removed");
    }
    assert_eq!(env.listing(), before);
    env.write("old.jsonl", crate::commands::VERSION_1);
    env.run(&[
        "export",
        "old.jsonl",
        "--to",
        "pi",
        "--out",
        "old-new.jsonl",
    ])
    .success();
    assert_eq!(env.messages("old-new.jsonl"), env.messages("old.jsonl"));
}

#[test]
fn doctor_repairs_a_copy_and_never_the_session() {
    let env = TestEnv::new();
    let bytes = fixture!("claude-branches.jsonl");
    env.write("claude.jsonl", &bytes[..bytes.len() - 20]);
    assert_snapshot!(env.run(&["doctor", "claude.jsonl"]), @"
    exit 1
    --- stdout
    read as: Claude Code session 5e550000-0000-4000-8000-000000000001, 2 kinds of record skipped
    26 entries on 27 lines
      error   line 30: the last line is cut off; agents leave it out, and what is appended next would join it
      warning line 14: a call without a result (toolu_3); a service refuses a request that has one without the other, unless the agent fills it in
      note    line 27: a second record with the same uuid; the file grows with each compaction, and tools that sum it up count it twice
    --- stderr
    error: found 1 error
    ");
    let repair = ["doctor", "claude.jsonl", "--repair", "--out", "new.jsonl"];
    let output = env.run(&repair);
    assert_eq!(output.code, Some(0), "{output}");
    let last = output.stdout.lines().last().unwrap_or_default();
    assert_snapshot!(last, @"repaired: 4 lines changed -> new.jsonl");
    assert_eq!(env.read("claude.jsonl"), &bytes[..bytes.len() - 20]);
    let document = env.json(&["doctor", "new.jsonl"]);
    assert_eq!(document["diagnostics"], serde_json::json!([]), "{document}");
    let again = env.run(&["doctor", "new.jsonl", "--repair", "--out", "newer.jsonl"]);
    assert_eq!(again.code, Some(3), "{again}");
    assert_eq!(
        env.run(&["doctor", "claude.jsonl", "--repair"]).code,
        Some(2)
    );
    // A session of the family: what cannot be read is left out, and what follows is joined.
    env.session("own.jsonl", "u:5 a:5 u:5 a:5");
    let text = env.read("own.jsonl");
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines[3] = b"{\"type\":\"message\",\"id\":\"x\n";
    env.write("damaged.jsonl", lines.concat());
    env.run(&[
        "doctor",
        "damaged.jsonl",
        "--repair",
        "--out",
        "own-new.jsonl",
    ])
    .success();
    let document = env.json(&["doctor", "own-new.jsonl"]);
    assert_eq!(document["diagnostics"], serde_json::json!([]), "{document}");
}

#[test]
fn a_fork_whose_base_is_missing_is_an_error_of_doctor() {
    let env = TestEnv::new();
    env.write("fork.jsonl", fixture!("codex-fork-child.jsonl"));
    let output = env.run(&["doctor", "fork.jsonl"]);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains("was not found"), "{output}");
}

#[test]
fn a_path_in_a_foreign_session_is_shown_and_never_followed() {
    let env = TestEnv::new();
    env.write(
        "secret/x-outside-id.jsonl",
        fixture!("codex-fork-parent.jsonl"),
    );
    let fork = |id: &str| {
        let meta = serde_json::json!({
            "type": "session_meta",
            "payload": { "id": "own-session", "history_base": { "thread_id": id } },
        });
        format!("{meta}\n")
    };
    for id in [
        "../secret/x-outside-id",
        "/etc/passwd",
        "..",
        "outside-id\u{1b}[2J",
    ] {
        env.write("sessions/fork.jsonl", fork(id));
        let output = env.run(&["doctor", "sessions/fork.jsonl"]);
        assert_eq!(output.code, Some(1), "{id}: {output}");
        assert!(output.stdout.contains("was not found"), "{id}: {output}");
        assert!(!output.stdout.contains('\u{1b}'), "{id}: {output}");
    }
    #[cfg(unix)]
    {
        let link = env.path("sessions/rollout-outside-id.jsonl");
        let target = env.path("secret/x-outside-id.jsonl");
        std::os::unix::fs::symlink(target, link).expect("a link of the test");
        env.write("sessions/fork.jsonl", fork("outside-id"));
        let output = env.run(&["doctor", "sessions/fork.jsonl"]);
        assert_eq!(output.code, Some(1), "{output}");
    }
    let export = serde_json::json!({
        "info": { "id": "ses_1" },
        "messages": [{
            "info": { "id": "msg_1", "role": "user" },
            "parts": [{ "type": "file", "mime": "text/plain", "url": "file:///etc/passwd" }],
        }],
    });
    env.write("export.json", export.to_string());
    let messages = env.messages("export.json").to_string();
    assert!(messages.contains("file:///etc/passwd"), "{messages}");
    assert!(!messages.contains("root:"), "{messages}");
}
