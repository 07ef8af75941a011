//! What people see: the answer on standard output, everything else beside it.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Runs, TWICE};

/// A run with everything that a script can do.
pub const EVERYTHING: &str = r###"{"script":1,"name":"all","window":16000,"max_output":2000,"workspace":"ws","settings":{"compaction":{"keepRecentTokens":20,"prune":{"enabled":false}}}}
{"answer":{"text":"I look into the file.","thinking":"Hm.","calls":[{"name":"read","arguments":{"path":"notes.txt"}},{"name":"bash","arguments":{"command":"printf 'a\\033[2Jb\\n'\necho two >&2\nexit 3"}}]}}
{"user":{"say":"be brief","delivery":"steer"}}
{"answer":{"text":"The notes say alpha.\nAnd beta."}}
{"user":{"say":"what else?"}}
{"answer":{"text":"Nothing else."}}
{"user":{"label":{"back":1,"text":"the end"}}}
{"user":{"compact":{"focus":null}}}
{"summary":{"text":"## Goal\nLook at the notes."}}
{"summary":{"text":"They were read."}}
{"user":{"navigate":{"back":1,"summarize":true,"focus":null}}}
{"summary":{"text":"## Goal\nWhat else there was."}}
{"user":{"say":"and now?"}}
{"answer":{"text":"Now nothing is left."}}
{"user":{"handoff":{"focus":null}}}
{"summary":{"text":"## Goal\nGo on with the notes."}}
{"user":{"say":"go on"}}
{"answer":{"text":"All done.\n\nReally.\n"}}
"###;

/// Returns a folder with [`EVERYTHING`] and the folder that it works on.
pub fn everything() -> Runs {
    let runs = Runs::of(EVERYTHING);
    let text = format!("alpha\n{}beta\n", "filler that is summarized\n".repeat(200));
    runs.env.write("ws/notes.txt", text);
    runs.env.write("ws/target/built", "left out");
    runs
}

#[test]
fn the_answer_alone_is_on_standard_output() {
    let runs = Runs::of(TWICE);
    assert_snapshot!(runs.play(&["-p", "hi"]), @"
    exit 0
    --- stdout
    Hello.
    --- stderr
    scripted/twice, window 16.0k, in [DIR], session [SESSION]
    > hi
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p ...
    ");
}

#[test]
fn a_run_with_everything() {
    let runs = everything();
    assert_snapshot!(runs.play(&["-p", "What is in notes.txt?\nTell me."]), @r#"
    exit 0
    --- stdout
    All done.

    Really.
    --- stderr
    scripted/all, window 16.0k, in a copy [DIR]/tmp/agent-cli-[COPY],
    session [SESSION]
    > What is in notes.txt? ...
    I look into the file.
      read notes.txt
      bash printf 'a\033[2Jb\n'; echo two >&2; exit 3
        x ab ...
    > be brief
    The notes say alpha. ...
    > what else?
    Nothing else.
    -- [ID] is labelled "the end"
    -- compacted  [N] -> [N]  manual  [TIME]  by scripted/all ---
       5 summarized, 3 entries kept verbatim, your messages: 2 of 2 verbatim
    -- back to [ID], with a summary of what was left
    > and now?
    Now nothing is left.
    session [SESSION]
    -- handed off  [N] -> [N]  manual  [TIME]  by scripted/all ---
    > go on
    [N] read, [N] written
    "#);
}

#[test]
fn a_script_works_in_a_copy_of_its_folder_that_goes_away() {
    let script = r#"{"script":1,"workspace":"ws"}
{"answer":{"calls":[{"name":"write","arguments":{"path":"new.txt","content":"new"}},{"name":"bash","arguments":{"command":"rm notes.txt; find . -type f | sort > ../../listing"}}]}}
{"answer":{"text":"Done."}}
"#;
    let runs = Runs::of(script);
    runs.env.write("ws/notes.txt", "alpha");
    runs.env.write("ws/deep/er.txt", "beta");
    runs.env.write("ws/target/built", "left out");
    let document = runs
        .output(&mut runs.command(&["-p", "go", "--json"]))
        .json();
    assert_eq!(document["cwd"], "[DIR]/tmp/agent-cli-[COPY]");
    let files = runs.files();
    let names = |prefix: &str| -> Vec<String> {
        let below = files.keys().filter_map(|name| name.strip_prefix(prefix));
        below.map(str::to_owned).collect()
    };
    assert_eq!(
        names("ws/"),
        [
            "",
            "deep/",
            "deep/er.txt",
            "notes.txt",
            "target/",
            "target/built"
        ]
    );
    let listing = std::fs::read_to_string(runs.env.path("listing")).unwrap();
    assert_eq!(listing, "./deep/er.txt\n./new.txt\n");
    assert_eq!(names("tmp/"), [""], "the copy is gone");
    assert_eq!(document["go_on"], Value::Null);
    // --cwd is what the user wants instead: no copy.
    let runs = Runs::of(script);
    runs.env.write("ws/notes.txt", "alpha");
    assert_eq!(runs.play(&["-p", "go", "--cwd", "ws"]).success(), "Done.\n");
    assert!(runs.env.path("ws/new.txt").exists());
    assert!(
        !runs
            .files()
            .keys()
            .any(|name| name.starts_with("tmp/agent"))
    );
}

#[test]
fn a_copy_in_which_work_is_left_stays_and_is_named() {
    let runs = Runs::of(
        r#"{"script":1,"workspace":"ws"}
{"error":{"kind":"auth","message":"no"}}
"#,
    );
    runs.env.write("ws/notes.txt", "alpha");
    let output = runs.play(&["-p", "go"]);
    assert!(
        output
            .stderr
            .contains("its copy of the folder stays: [DIR]/tmp/agent-cli-[COPY]"),
        "{output}"
    );
    assert!(
        runs.files()
            .keys()
            .any(|name| name.ends_with("/notes.txt") && name.starts_with("tmp/"))
    );
}

#[test]
fn a_script_may_say_everything_itself() {
    let runs = Runs::of(
        r#"{"user":{"say":"my own prompt"}}
{"answer":{"text":"My own answer."}}
{"user":{"say":"more","delivery":"follow_up"}}
{"answer":{"text":"More."}}
{"user":{"say":"at once","delivery":"steer"}}
{"answer":{"text":"At once."}}
"#,
    );
    assert_eq!(runs.play(&[]).success(), "At once.\n");
    assert_snapshot!(runs.said(&runs.session()), @"
    user: my own prompt
    assistant: My own answer.
    user: more
    assistant: More.
    user: at once
    assistant: At once.
    ");
    // With a prompt on the command line that comes first.
    let runs = Runs::of(
        "{\"user\":{\"say\":\"second\"}}\n{\"answer\":{\"text\":\"A.\"}}\n{\"answer\":{\"text\":\"B.\"}}\n",
    );
    assert_eq!(runs.play(&["-p", "first"]).success(), "B.\n");
    assert_snapshot!(runs.said(&runs.session()), @"
    user: first
    assistant: A.
    user: second
    assistant: B.
    ");
}

#[test]
fn what_goes_wrong_on_the_way_is_said_and_the_script_goes_on() {
    let runs = Runs::of(
        r#"{"answer":{"text":"One."}}
{"user":{"navigate":{"back":9}}}
{"user":"abort"}
{"user":{"say":"two"}}
{"error":{"kind":"quota","message":"no money\nat all"}}
{"user":{"say":"three"}}
{"answer":{"text":"","calls":[{"name":"bash","arguments":{"command":"sleep 60"}}]}}
{"user":"abort"}
{"user":{"say":"four"}}
{"answer":{"text":"Four."}}
{"user":{"label":{"back":99,"text":"nowhere"}}}
"#,
    );
    assert_snapshot!(runs.play(&["-p", "one"]), @"
    exit 0
    --- stdout
    Four.
    --- stderr
    scripted/script, window 128.0k, in [DIR], session [SESSION]
    > one
    One.
    warning: there are no 9 messages of the user to go back to
    > two
    warning: scripted/script: no money at all
    > three
      bash sleep 60
        x cancelled
    -- stopped
    > four
    warning: there are no 99 messages of the user to go back to
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p ...
    ");
}

#[test]
fn the_prompt_may_come_from_standard_input() {
    let runs = Runs::of(TWICE);
    let from = |input: &[u8]| {
        runs.env.write("input", input);
        let input = std::fs::File::open(runs.env.path("input")).expect("a file");
        let mut command = runs.command(&["-p", "-"]);
        command.stdin(input);
        runs.output(&mut command)
    };
    assert_eq!(
        from("what is\n  \u{fc}ber us?\n".as_bytes()).success(),
        "Hello.\n"
    );
    assert_snapshot!(runs.said(&runs.session()), @"
    user: what is
      über us?
    assistant: Hello.
    ");
    assert_snapshot!(from(b" \n"), @"
    exit 2
    --- stderr
    error: standard input holds no prompt
    ");
    assert_snapshot!(from(b"\xff\xfe"), @"
    exit 2
    --- stderr
    error: standard input is not text; a prompt is UTF-8
    ");
}

#[test]
fn one_document_at_the_end() {
    let runs = everything();
    let output = runs.play(&["-p", "hi", "--json"]);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    let mut document = output.json();
    let usage = document["usage"].take();
    assert!(usage["input"].as_u64() > Some(0), "{usage}");
    assert_snapshot!(format!("{document:#}"), @r#"
    {
      "compactions": {
        "automatic": 0,
        "prepared": 0,
        "waited_seconds": 0.0
      },
      "cost_usd": null,
      "cwd": "[DIR]/tmp/agent-cli-[COPY]",
      "end": "done",
      "go_on": null,
      "path": "[DIR]/data/[FOLDER]/[STAMP]_[SESSION].jsonl",
      "session_id": "[SESSION]",
      "text": "All done.\n\nReally.",
      "usage": null
    }
    "#);
}

#[test]
fn the_document_of_a_run_that_did_nothing_or_failed() {
    let runs = Runs::of(
        "{\"answer\":{\"text\":\"A.\"}}\n{\"error\":{\"kind\":\"auth\",\"message\":\"no\"}}\n",
    );
    runs.play(&["-p", "hi"]).success();
    let output = runs.play(&["--continue", "--json"]);
    assert_eq!(output.code, Some(3), "{output}");
    let document = output.json();
    assert_eq!(document["end"], Value::Null);
    assert_snapshot!(document["nothing_to_do"].as_str().unwrap_or_default(), @"the session ends in an answer; to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p TEXT");
    let output = runs.play(&["--continue", "-p", "more", "--json"]);
    assert_eq!(output.code, Some(5), "{output}");
    assert_snapshot!(format!("{:#}", output.json()), @r#"
    {
      "error": {
        "exit_code": 5,
        "fault": "turn_failed",
        "kind": "provider",
        "message": "scripted/script: no; to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl"
      }
    }
    "#);
}

#[test]
fn a_turn_that_fails() {
    let runs = Runs::of(
        "{\"error\":{\"kind\":\"quota\",\"message\":\"no money\",\"after_text\":\"I beg\"}}\n",
    );
    assert_snapshot!(runs.play(&["-p", "hi"]), @"
    exit 5
    --- stderr
    scripted/script, window 128.0k, in [DIR], session [SESSION]
    > hi
    error: scripted/script: no money
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl
    ");
}

#[test]
fn a_turn_that_failed_is_asked_anew() {
    let runs = Runs::of(
        "{\"error\":{\"kind\":\"quota\",\"message\":\"no money\"}}\n{\"answer\":{\"text\":\"Paid.\"}}\n",
    );
    assert_eq!(runs.play(&["-p", "hi"]).code, Some(5));
    assert_snapshot!(runs.play(&["--continue"]), @"
    exit 0
    --- stdout
    Paid.
    --- stderr
    scripted/script, window 128.0k, in [DIR], session [SESSION],
    4 entries so far
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p ...
    ");
}

#[test]
fn the_answer_of_a_turn_that_fails_is_printed_all_the_same() {
    let script = r#"{"script":1,"settings":{"compaction":{"enabled":false}}}
{"answer":{"text":"Half of the","stop":"length"}}
"#;
    let runs = Runs::of(script);
    assert_snapshot!(runs.play(&["-p", "hi"]), @"
    exit 5
    --- stdout
    Half of the
    --- stderr
    scripted/script, window 128.0k, in [DIR], session [SESSION]
    > hi
    [N] read, [N] written
    error: Incomplete response recovery failed: the answer was cut off (automatic compaction is switched off)
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl
    ");
}

#[test]
fn colours_are_for_terminals() {
    let runs = Runs::of(TWICE);
    let output = runs.play(&["-p", "hi"]);
    assert!(!output.stderr.contains('\u{1b}'), "{output}");
    let mut command = runs.command(&["-p", "hi"]);
    command.env("CLICOLOR_FORCE", "1");
    let output = runs.output(&mut command);
    assert!(output.stderr.contains("\u{1b}[1m> hi\u{1b}[0m"), "{output}");
    assert_eq!(output.success(), "Hello.\n");
}

#[test]
fn an_answer_reaches_a_program_byte_for_byte() {
    let runs = Runs::of("{\"answer\":{\"text\":\"a\\u001b[31mb\\tc\\n\\n\\u2713\\n\"}}\n");
    let output = runs.play(&["-p", "hi"]);
    assert_eq!(output.success(), "a\u{1b}[31mb\tc\n\n\u{2713}\n");
}

#[test]
fn settings_of_a_script_are_in_force() {
    let script = |settings: Value| {
        let header = json!({ "script": 1, "window": 16000, "settings": settings });
        format!("{header}\n{}", "{\"answer\":{\"text\":\"A.\"}}\n")
    };
    let runs = Runs::of(&script(
        json!({ "systemPrompt": "Speak Dutch.", "tools": { "outputBytes": 2000 } }),
    ));
    runs.play(&["-p", "hi"]).success();
    let session = std::fs::read_to_string(runs.session()).expect("a session");
    assert!(session.contains("Speak Dutch."), "{session}");
    let runs = Runs::of(&script(json!({ "tools": { "bash": "allow" } })));
    assert_snapshot!(runs.refused(2, &["-p", "hi"]), @"error: settings (script script.jsonl): a script may not set tools.bash; put it in the global file [DIR]/config/settings.json");
    let runs = Runs::of(&script(json!({ "compaction": { "keepRecentToken": 1 } })));
    assert_snapshot!(runs.refused(2, &["-p", "hi"]), @"error: settings (script script.jsonl): compaction.keepRecentToken is not a setting; did you mean compaction.keepRecentTokens?");
}

#[test]
fn commands_that_are_denied_run_for_nobody() {
    let script = "{\"answer\":{\"calls\":[{\"name\":\"bash\",\"arguments\":{\"command\":\"touch made\"}}]}}\n{\"answer\":{\"text\":\"Done.\"}}\n";
    for (settings, options, runs_it) in [
        (r#"{"tools": {"bash": "deny"}}"#, &["-p", "hi"][..], false),
        (
            r#"{"tools": {"bash": "deny"}}"#,
            &["-p", "hi", "--allow", "bash"],
            false,
        ),
        (r#"{"tools": {"bash": "ask"}}"#, &["-p", "hi"], true),
        (r#"{"tools": {"bash": "allow"}}"#, &["-p", "hi"], true),
    ] {
        let runs = Runs::of(script);
        runs.env.write("config/settings.json", settings);
        assert_eq!(runs.play(options).success(), "Done.\n");
        assert_eq!(runs.env.path("made").exists(), runs_it, "{settings}");
    }
}

#[test]
fn tools_and_the_system_prompt_are_as_they_are_named() {
    let tools = |options: &[&str]| -> Vec<String> {
        let runs = Runs::of(TWICE);
        runs.play(&[&["-p", "hi"], options].concat()).success();
        let session = std::fs::read_to_string(runs.session()).expect("a session");
        let system = session
            .lines()
            .find(|line| line.contains("\"role\":\"system\""));
        let system: Value = serde_json::from_str(system.expect("a system message")).expect("JSON");
        let message = &system["message"];
        let mut told: Vec<String> = message["toolsAdded"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| tool["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        if message.to_string().contains("Only say hello.") {
            told.push("(own prompt)".to_owned());
        }
        told
    };
    assert_eq!(tools(&[])[..4], ["read", "write", "edit", "bash"]);
    assert_eq!(tools(&["--tools", "none"]), [""; 0]);
    assert_eq!(tools(&["--tools", "write, read"]), ["read", "write"]);
    assert_eq!(
        tools(&[
            "--tools",
            "bash",
            "--allow",
            "bash",
            "--system-prompt",
            "Only say hello."
        ]),
        ["bash", "(own prompt)"]
    );
}
