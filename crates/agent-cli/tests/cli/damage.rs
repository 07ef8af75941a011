//! Sessions that are damaged, hold odd bytes, or mean harm: opened, migrated, written to and shown.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{BINARY, SAMPLE, SMALL, TestEnv};

/// Writes the sample with a line of zeroes after its tenth, as a crash leaves them.
fn sample_with_zeroes(env: &TestEnv) -> Vec<u8> {
    let text = test_support::session(SAMPLE);
    let mut bytes = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number == 10 {
            bytes.extend([0; 4096]);
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
    }
    env.write("s.jsonl", &bytes);
    bytes
}

#[test]
fn zeroes_inside_cost_one_line() {
    let env = TestEnv::sample();
    let messages = env.messages("s.jsonl");
    let bytes = sample_with_zeroes(&env);
    assert_snapshot!(env.run(&["doctor", "s.jsonl"]), @"
    exit 1
    --- stdout
    24 entries on 26 lines
      error   line 11: not readable as JSON; set aside
    --- stderr
    error: found 1 error
    ");
    assert_eq!(env.run_on(&bytes, &["doctor", "-"]).code, Some(1));
    assert_eq!(env.messages("s.jsonl"), messages);
    // It is written to as any other, and the zeroes stay.
    env.run_with(&["compact", "s.jsonl", "--in-place"], &SMALL)
        .success();
    assert!(env.read("s.jsonl").starts_with(&bytes));
}

#[test]
fn zeroes_behind_the_first_block_cost_one_line() {
    let env = TestEnv::new();
    let mut bytes = test_support::session("u:200000 a:20").into_bytes();
    assert!(bytes.len() > 600_000, "more than is read at once");
    bytes.extend([0; 100]);
    env.write("s.jsonl", [&bytes[..], b"\n"].concat());
    assert_snapshot!(env.run(&["doctor", "s.jsonl"]), @"
    exit 1
    --- stdout
    2 entries on 4 lines
      error   line 4: not readable as JSON; set aside
    --- stderr
    error: found 1 error
    ");
    assert_eq!(env.messages("s.jsonl").as_array().map(Vec::len), Some(2));
}

/// A session of version 1 with bytes that are no text: in the text of an entry, in the message of an
/// extension, and in a damaged line.
const ODD_BYTES: [&[u8]; 5] = [
    br#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/caf"#,
    b"\xe9\"}\n",
    b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"caf\xe9 \xff\xfe \xf0\x9f end\"}}\n",
    b"{\"type\":\"message\",\"message\":{\"role\":\"hookMessage\",\"customType\":\"h\",\"content\":\"\x80\xbf\xc3\",\"display\":true}}\n",
    b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"torn \xff\xfe\n",
];

/// The same as version 3 has it.
const ODD_BYTES_MIGRATED: [&[u8]; 5] = [
    br#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/caf"#,
    b"\xe9\",\"version\":3}\n",
    b"{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"caf\xe9 \xff\xfe \xf0\x9f end\"}}\n",
    b"{\"type\":\"message\",\"id\":\"00000002\",\"parentId\":\"00000001\",\"message\":{\"role\":\"custom\",\"customType\":\"h\",\"content\":\"\x80\xbf\xc3\",\"display\":true}}\n",
    b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"torn \xff\xfe\n",
];

#[test]
fn migrating_version_1_keeps_bytes_that_are_no_text() {
    let env = TestEnv::new();
    let (old, new) = (ODD_BYTES.concat(), ODD_BYTES_MIGRATED.concat());
    env.write("s.jsonl", &old);
    let messages = env.messages("s.jsonl");
    assert_eq!(messages.as_array().map(Vec::len), Some(2));
    env.run(&["migrate", "s.jsonl", "--out", "copy.jsonl"])
        .success();
    assert_eq!(
        env.read("copy.jsonl").escape_ascii().to_string(),
        new.escape_ascii().to_string()
    );
    assert_eq!(env.messages("copy.jsonl"), messages);
    env.run(&["branch", "s.jsonl", "--to", "root", "--out", "moved.jsonl"])
        .success();
    assert!(env.read("moved.jsonl").starts_with(&new));
    env.run(&["migrate", "s.jsonl", "--in-place"]).success();
    assert!(env.read("s.jsonl") == new);
    assert!(env.read("s.jsonl.v1.bak") == old);
}

#[test]
fn migrating_version_2_keeps_bytes_that_are_no_text() {
    let env = TestEnv::new();
    let replaced = |bytes: &[u8], from: &[u8], to: &[u8]| {
        let at = bytes.windows(from.len()).position(|window| window == from);
        let at = at.expect("it is there");
        [&bytes[..at], to, &bytes[at + from.len()..]].concat()
    };
    let new = ODD_BYTES_MIGRATED.concat();
    let old = replaced(&new, b"\"version\":3", b"\"version\":2");
    let old = replaced(&old, b"\"custom\"", b"\"hookMessage\"");
    env.write("s.jsonl", &old);
    env.run(&["migrate", "s.jsonl", "--out", "copy.jsonl"])
        .success();
    assert_eq!(
        env.read("copy.jsonl").escape_ascii().to_string(),
        new.escape_ascii().to_string()
    );
}

/// Two entries whose heads can be read and whose bodies cannot.
const DAMAGED_END: &str = concat!(
    r#"{"type":"message","id":"x1","parentId":"e24","message":{"role":"user" "content":"lost"}}"#,
    "\n",
    r#"{"type":"message","id":"x2","parentId":"x1","message":{"role":"user" "content":"lost"}}"#,
    "\n",
);

fn sample_with_a_damaged_end() -> TestEnv {
    let env = TestEnv::new();
    env.write("s.jsonl", test_support::session(SAMPLE) + DAMAGED_END);
    env
}

/// Returns the entry with which the session ends now: the only line added.
fn added(env: &TestEnv, before: &[u8]) -> Value {
    let after = env.read("s.jsonl");
    let added = after.strip_prefix(before).expect("appended, nothing else");
    serde_json::from_slice(added).expect("one line of JSON")
}

#[test]
fn a_compaction_follows_an_entry_that_can_be_read() {
    let env = sample_with_a_damaged_end();
    let before = env.read("s.jsonl");
    let output = env.run_with(&["compact", "s.jsonl", "--in-place"], &SMALL);
    assert_eq!(output.code, Some(0), "{output}");
    assert_snapshot!(output.stderr, @"
    warning x2 cannot be read; what is written follows e24 instead
    warning 2 damaged lines that cannot be read (lines 26, 27); run agent-cli doctor s.jsonl
    ");
    assert_eq!(added(&env, &before)["parentId"], "e24");
}

#[test]
fn a_compaction_beside_a_damaged_end_is_in_force_and_can_be_undone() {
    let env = sample_with_a_damaged_end();
    let messages = env.messages("s.jsonl");
    let before = env.read("s.jsonl");
    let compact = [&["compact", "s.jsonl", "--in-place", "--json"], &SMALL[..]].concat();
    let output = env.run(&compact);
    let document = output.json();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("follows e24 instead"), "{output}");
    let entry = added(&env, &before);
    assert_eq!(entry["id"], document["compaction_entry_id"]);
    let context = env.json(&["context", "s.jsonl"]);
    assert_eq!(context["leaf"], entry["id"]);
    assert_eq!(context["messages"][0]["role"], "compactionSummary");
    let output = env.run(&["undo", "s.jsonl", "--any", "--in-place", "--json"]);
    assert_eq!(
        (output.code, &output.json()["leaf"]),
        (Some(0), &json!("x2"))
    );
    assert_eq!(env.messages("s.jsonl"), messages);
}

/// What clears a screen, sets a title, rings, moves, and opens a sequence in one character.
const HARM: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\r\u{8}\u{9b}2J\u{7f}";

/// Writes a session with [`HARM`] wherever a text of the session is shown.
fn hostile(env: &TestEnv) {
    let harm = |text: &str| text.replace('!', HARM);
    let message = |message: Value| json!({"type":"message","message":message});
    let answer = |content: Value| {
        message(json!({
            "role":"assistant","content":[content],"stopReason":"stop","timestamp":1,
            "api":"api","provider":harm("provider!"),"model":harm("model!"),
        }))
    };
    let call = |tool: &str| {
        answer(json!({
            "type":"toolCall","id":harm("call!"),"name":tool,
            "arguments":{"path":harm("/path!"),"content":harm("content!")},
        }))
    };
    let result = |size: usize| {
        message(json!({
            "role":"toolResult","toolCallId":harm("call!"),"toolName":harm("tool!"),
            "content":[{"type":"text","text":harm("result!").repeat(size)}],
        }))
    };
    let user = |text: &str| message(json!({"role":"user","content":harm(text)}));
    let entries = [
        json!({"type":"session_info","name":harm("name!")}),
        json!({"type":"model_change","provider":harm("provider!"),"modelId":harm("model!")}),
        json!({"type":"thinking_level_change","thinkingLevel":harm("thinking!")}),
        user("!first!"),
        call(&harm("call!")),
        result(400),
        json!({"type":"label","targetId":harm("id3!"),"label":harm("label!")}),
        json!({"type":"branch_summary","fromId":harm("id3!"),"summary":harm("left!")}),
        user("!second!"),
        json!({"type":"compaction","summary":harm("## Goal\n- summary!"),"firstKeptEntryId":harm("id5!"),"tokensBefore":9}),
        call("read"),
        result(400),
        call("edit"),
        result(20),
        user("!third!"),
        answer(json!({"type":"text","text":harm("!answer!").repeat(50)})),
        // What is said about these names them.
        json!({"type":"message","message":{"role":harm("role!"),"content":harm("odd!")}}),
        json!({"type":harm("type!")}),
        json!({"type":"context_edit","targetId":harm("id3!"),"replacement":"none"}),
        user("!last!"),
    ];
    let mut lines = vec![json!({
        "type":"session","version":3,"id":harm("session!"),"timestamp":harm("then!"),"cwd":harm("/cwd!"),
    })];
    let mut parent = Value::Null;
    for (number, mut entry) in entries.into_iter().enumerate() {
        let id = json!(harm(&format!("id{number}!")));
        entry["parentId"] = parent;
        entry["id"] = id.clone();
        parent = id;
        lines.push(entry);
    }
    lines.push(json!({"type":"message","id":harm("lost!"),"parentId":harm("nowhere!"),"message":{"role":"user","content":"x"}}));
    lines.push(json!({"type":"message","id":harm("lost!"),"parentId":harm("id19!"),"message":{"role":"user","content":"x"}}));
    let lines = lines.iter().map(|line| format!("{line}\n"));
    env.write("s.jsonl", lines.collect::<String>());
}

/// Returns what a terminal would get of a run: the program is told that colours are wanted, so that
/// nothing is taken out on the way.
fn at_a_terminal(env: &TestEnv, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = env.command(BINARY);
    command.env("CLICOLOR_FORCE", "1").args(arguments);
    let output = env.output(&mut command);
    (output.code, format!("{}{}", output.stdout, output.stderr))
}

/// Returns `text` without the styles that the program itself sets.
fn without_styles(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| {
        let end = piece.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
        match end.map(|end| piece.split_at(end)) {
            Some((_, rest)) if rest.starts_with('m') => plain + &rest[1..],
            _ => format!("{plain}\u{1b}[{piece}"),
        }
    })
}

#[test]
fn control_characters_of_a_session_do_not_reach_the_terminal() {
    let env = TestEnv::new();
    hostile(&env);
    let leaf = format!("id19{HARM}");
    let inner = format!("id12{HARM}");
    let small = [
        "--window",
        "3000",
        "--set",
        "compaction.reserveTokens=600",
        "--set",
        "compaction.keepRecentTokens=200",
    ];
    let prune = [
        "--strategy",
        "prune-only",
        "--set",
        "compaction.prune.minimumSavings=10",
        "--set",
        "compaction.prune.protectTokens=0",
    ];
    let at = ["--leaf", &leaf];
    for (arguments, code) in [
        (vec!["inspect", "s.jsonl"], 0),
        ([&["inspect", "s.jsonl"], &at[..]].concat(), 0),
        (vec!["context", "s.jsonl"], 0),
        ([&["context", "s.jsonl"], &at[..]].concat(), 0),
        ([&["context", "s.jsonl", "--llm"], &at[..]].concat(), 0),
        (vec!["tree", "s.jsonl"], 0),
        ([&["tree", "s.jsonl"], &at[..]].concat(), 0),
        (vec!["doctor", "s.jsonl"], 0),
        ([&["plan", "s.jsonl"], &at[..], &small].concat(), 0),
        ([&["plan", "s.jsonl"], &at[..], &prune].concat(), 0),
        (
            [&["compact", "s.jsonl", "--dry-run"], &at[..], &small].concat(),
            0,
        ),
        (
            [&["compact", "s.jsonl", "--out", "a.jsonl"], &at[..], &small].concat(),
            0,
        ),
        (
            [&["compact", "s.jsonl", "--out", "b.jsonl"], &at[..], &prune].concat(),
            0,
        ),
        (
            vec![
                "branch",
                "s.jsonl",
                "--from",
                &leaf,
                "--to",
                &inner,
                "--dry-run",
            ],
            0,
        ),
        (
            vec![
                "branch",
                "s.jsonl",
                "--to",
                &inner,
                "--out",
                "c.jsonl",
                "--summarize",
            ],
            0,
        ),
        (
            [&["undo", "s.jsonl", "--any", "--dry-run"], &at[..]].concat(),
            0,
        ),
        (
            [&["undo", "s.jsonl", "--any", "--out", "d.jsonl"], &at[..]].concat(),
            0,
        ),
        (vec!["undo", "a.jsonl", "--any", "--dry-run"], 0),
    ] {
        let (ended, shown) = at_a_terminal(&env, &arguments);
        assert_eq!(ended, Some(code), "{arguments:?}: {shown:?}");
        let plain = without_styles(&shown);
        let bad = plain.lines().find(|line| line.contains(char::is_control));
        assert_eq!(bad, None, "{arguments:?}");
        // `lines` takes a carriage return before its newline away.
        assert!(!plain.contains('\r'), "{arguments:?}");
    }
}

#[test]
fn styles_are_on_where_a_terminal_is_assumed() {
    let env = TestEnv::sample();
    let (_, shown) = at_a_terminal(&env, &["inspect", "s.jsonl"]);
    assert!(shown.contains("\u{1b}["), "{shown:?}");
    assert_eq!(
        without_styles(&shown),
        env.run(&["inspect", "s.jsonl"]).stdout
    );
}

/// Writes the sample with a line that is cut off and one whose body is damaged.
fn sample_with_damage(env: &TestEnv) {
    let text = test_support::session(SAMPLE);
    let lines: Vec<String> = (1..)
        .zip(text.lines())
        .map(|(number, line)| match number {
            3 => line[..line.len() - 20].to_owned(),
            22 => line.replace("\"message\":", "\"message\"::"),
            _ => line.to_owned(),
        })
        .collect();
    env.write("s.jsonl", lines.join("\n") + "\n");
}

/// Commands that read a session, each with its arguments.
pub const READERS: [&[&str]; 18] = [
    &["inspect", "s.jsonl"],
    &["context", "s.jsonl"],
    &["plan", "s.jsonl"],
    &["compact", "s.jsonl", "--dry-run"],
    &["branch", "s.jsonl", "--to", "e9", "--dry-run"],
    &["handoff", "s.jsonl", "--out", "new.jsonl"],
    &["recall", "s.jsonl", "e9"],
    &["files", "s.jsonl"],
    &["loss", "s.jsonl"],
    &[
        "compare",
        "s.jsonl",
        "--strategies",
        "extractive,prune-only",
    ],
    &["tree", "s.jsonl"],
    &["undo", "s.jsonl", "--any", "--dry-run"],
    &["redo", "s.jsonl", "--dry-run"],
    &["pin", "s.jsonl", "--list"],
    &["migrate", "s.jsonl", "--dry-run"],
    &["export", "s.jsonl", "--to", "pi", "--out", "pi.jsonl"],
    &["export", "s.jsonl", "--to", "codex", "--out", "codex.jsonl"],
    &["export", "s.jsonl", "--html", "page.html"],
];

/// Commands that read no session, or report damage in a form of their own.
pub const OTHERS: [&str; 16] = [
    "doctor",
    "rpc",
    "acp",
    "mcp",
    "setup",
    "hook",
    "import",
    "gc",
    "models",
    "sessions",
    "servers",
    "config",
    "approvals",
    "hooks",
    "completions",
    "help",
];

#[test]
fn every_command_that_reads_reports_damage() {
    for name in TestEnv::new().commands() {
        let name = name.as_str();
        let is_listed = READERS.iter().any(|reader| reader[0] == name) || OTHERS.contains(&name);
        assert!(is_listed, "{name}");
    }
    for reader in READERS {
        let env = TestEnv::new();
        sample_with_damage(&env);
        let run = |env: &TestEnv, command: &[&str]| match command[0] {
            "plan" | "compact" | "compare" => env.run_with(command, &SMALL),
            _ => env.run(command),
        };
        let output = run(&env, reader);
        let warning = "that cannot be read (line";
        assert!(output.stderr.contains(warning), "{reader:?}: {output}");
        assert_eq!(output.stderr.matches(warning).count(), 1, "{reader:?}");
        let env = TestEnv::new();
        sample_with_damage(&env);
        let document = run(&env, &[reader, &["--json"]].concat());
        let document: Value = serde_json::from_str(&document.stdout).expect("a document");
        assert!(document["damaged_lines"].as_u64() > Some(0), "{reader:?}");
    }
}

#[test]
fn an_export_counts_what_cannot_be_read_as_lost() {
    let env = TestEnv::new();
    sample_with_damage(&env);
    let command = ["export", "s.jsonl", "--to", "pi", "--out", "o", "--json"];
    let lost = env.run(&command).json();
    assert_eq!(lost["losses"]["entry that cannot be read"], 2);
}

#[test]
fn diagnostics_of_a_compaction_name_the_damaged_lines() {
    let env = TestEnv::new();
    sample_with_damage(&env);
    let document = env
        .run_with(&["compact", "s.jsonl", "--dry-run", "--json"], &SMALL)
        .json();
    let said = document["diagnostics"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let lines: Vec<_> = said
        .iter()
        .filter(|said| said["severity"] == "error")
        .map(|said| said["line"].clone())
        .collect();
    assert_eq!(lines, [json!(3), json!(22)]);
}

#[test]
fn the_card_does_not_call_a_damaged_session_whole() {
    let env = TestEnv::new();
    sample_with_damage(&env);
    let card = env
        .run_with(&["compact", "s.jsonl", "--in-place"], &SMALL)
        .success();
    let lost = card
        .lines()
        .find(|line| line.trim_start().starts_with("on disk"));
    let lost = lost.unwrap_or_default();
    assert!(lost.contains("2 damaged lines"), "{card}");
    assert!(!card.contains("every entry;"), "{card}");
    let whole = TestEnv::sample();
    let output = whole.run_with(&["compact", "s.jsonl", "--dry-run"], &SMALL);
    assert_eq!(output.stderr, "");
}

#[test]
fn a_read_that_fails_is_told_from_damage() {
    let env = sample_with_a_damaged_end();
    let session = session_store::SessionFile::open(&env.path("s.jsonl")).expect("it opens");
    let tree = session.tree();
    let lost = tree.indices().filter(|index| tree.entry(*index).is_err());
    assert_eq!((lost.count(), tree.source_failure()), (2, None));
    // Another program cuts the file off.
    env.write("s.jsonl", "");
    let entries = tree.indices();
    let lost = entries.filter(|index| tree.entry(*index).is_err()).count();
    let count = tree.source_failure().map(|failure| failure.count);
    assert_eq!((lost, count), (tree.len(), Some(lost as u64)));
}

#[test]
fn doctor_fails_on_errors_and_not_on_warnings() {
    let env = TestEnv::new();
    sample_with_damage(&env);
    let output = env.run(&["doctor", "s.jsonl"]);
    assert_eq!(
        (output.code, &*output.stderr),
        (Some(1), "error: found 2 errors\n")
    );
    assert_eq!(env.run(&["doctor", "s.jsonl", "--json"]).code, Some(1));
    let text = test_support::session(SAMPLE);
    env.write(
        "s.jsonl",
        text.replacen("\"parentId\":\"e3\"", "\"parentId\":\"gone\"", 1),
    );
    let output = env.run(&["doctor", "s.jsonl"]);
    assert!(output.stdout.contains("warning"), "{output}");
    assert_eq!(output.code, Some(0));
}

#[test]
fn doctor_names_the_lines_of_calls_and_results_that_are_alone() {
    let env = TestEnv::sample();
    let text = test_support::session(SAMPLE);
    let lines: Vec<&str> = text.lines().collect();
    // The newest call is gone, and the result of the one before.
    let newest = |part: &str, back: usize| {
        let places = (0..lines.len()).rev();
        let mut places = places.filter(|place| lines[*place].contains(part));
        places.nth(back).expect(part)
    };
    let gone = [
        newest("\"type\":\"toolCall\"", 0),
        newest("\"role\":\"toolResult\"", 1),
    ];
    let left = lines.iter().enumerate();
    let left = left.filter(|(place, _)| !gone.contains(place));
    let left = left.map(|(_, line)| format!("{line}\n"));
    env.write("s.jsonl", left.collect::<String>());
    assert_snapshot!(env.run(&["doctor", "s.jsonl"]).stdout, @"
    22 entries on 23 lines
      warning line 20: call c4 (write) has no result; a placeholder is sent
      warning line 22: result c5 (bash) answers no call of this context; it is told as text
      warning line 21: its parent e20 is not there; joined to e19
      warning line 22: its parent e22 is not there; joined to e21
    ");
    env.run(&["doctor", "s.jsonl", "--repair", "--out", "new.jsonl"])
        .success();
    let found = env.json(&["doctor", "new.jsonl"]);
    assert_eq!(found["diagnostics"], json!([]));
}
