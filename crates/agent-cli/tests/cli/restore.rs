//! The strategy `restore` on session files: what is written, where files are looked for, and what is said of them.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Output, TestEnv};

/// A session whose agent has touched nothing.
const PLAIN: &str = "u:300 a:1200 call:c1:10 res:c1:3000 a:300 u:20 a:400";

const RESTORE: [&str; 2] = ["--strategy", "restore"];

/// Writes a session that worked in a folder of the test, and returns that folder's name as the session has it.
fn session(env: &TestEnv, name: &str, folder: &str, notation: &str) -> String {
    let cwd = env.path(folder).display().to_string();
    let text = test_support::session(notation);
    let (header, entries) = text.split_once('\n').expect("a header");
    let mut header: Value = serde_json::from_str(header).expect("a header");
    header["cwd"] = json!(cwd);
    env.write(name, format!("{header}\n{entries}"));
    cwd
}

/// Returns a folder with a session `s.jsonl` that worked in `work`.
fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("work/a.txt", "text of a\n");
    session(&env, "s.jsonl", "work", PLAIN);
    env
}

/// Runs the program for a user whose home is beside the test's files.
fn at_home(env: &TestEnv, arguments: &[&str]) -> Output {
    let mut command = env.command(crate::env::BINARY);
    command.env("HOME", env.path("home"));
    env.output(command.args(arguments))
}

fn compact(env: &TestEnv, options: &[&str]) -> Output {
    at_home(
        env,
        &[&["compact", "s.jsonl"], &RESTORE[..], options].concat(),
    )
}

#[test]
fn everything_is_summarized_and_undone_again() {
    let env = env();
    let before = env.read("s.jsonl");
    let messages = env.messages("s.jsonl");
    let document = compact(&env, &["--in-place", "--json"]).json();
    assert_eq!(document["strategy"], "restore");
    assert_eq!(document["first_kept_entry_id"], Value::Null);
    assert_eq!(document["kept"], json!([]));
    let restored = &document["restored"];
    assert_eq!(restored["files"], json!([]));
    assert_eq!(restored["failed"], Value::Null);
    // The id is that of the compaction, whatever follows it.
    let lines = env.lines("s.jsonl");
    let compaction = lines.iter().find(|line| line["type"] == "compaction");
    let compaction = compaction.expect("a compaction");
    assert_eq!(document["compaction_entry_id"], compaction["id"]);
    assert_eq!(compaction["details"]["strategy"], "restore");
    assert!(env.read("s.jsonl").starts_with(&before));

    let after = env.messages("s.jsonl");
    let roles = after.as_array().expect("messages").iter();
    let roles: Vec<_> = roles.map(|message| &message["role"]).collect();
    assert_eq!(roles, ["compactionSummary", "assistant"]);
    for command in ["loss", "context", "tree", "inspect", "doctor"] {
        let output = env.run(&[command, "s.jsonl"]);
        assert_eq!(output.code, Some(0), "{command}: {output}");
    }
    let found = env.json(&["recall", "s.jsonl", "--read", "e2"]);
    assert!(found.to_string().contains("out_of_context"));
    env.run(&["undo", "s.jsonl", "--any", "--in-place"])
        .success();
    assert_eq!(env.messages("s.jsonl"), messages);
}

#[test]
fn a_dry_run_and_a_copy_leave_the_session_alone() {
    let env = env();
    let before = env.read("s.jsonl");
    let dry = compact(&env, &["--dry-run", "--json"]).json();
    assert_eq!(dry["compaction_entry_id"], Value::Null);
    let copied = compact(&env, &["--out", "new.jsonl", "--json"]).json();
    assert_eq!(copied["plan_hash"], dry["plan_hash"]);
    let plan = at_home(&env, &["plan", "s.jsonl", "--json", RESTORE[0], RESTORE[1]]).json();
    assert_eq!(plan["plan_hash"], dry["plan_hash"]);
    assert_eq!(plan["requests"][0]["kind"], "snapshot");
    assert_eq!(plan["restored"], copied["restored"]);
    assert_eq!(env.read("s.jsonl"), before);
    let ids = env.lines("new.jsonl");
    assert!(
        ids.iter()
            .any(|line| line["id"] == copied["compaction_entry_id"])
    );
}

#[test]
fn what_is_shown_says_what_comes_back() {
    let env = env();
    let line = |output: Output, name: &str| {
        let text = output.success();
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        line.map_or("none".to_owned(), |line| line.trim().to_owned())
    };
    let card = compact(&env, &["--dry-run"]);
    assert_snapshot!(line(card.clone(), "restored"), @"restored    nothing");
    assert_snapshot!(line(card, "note"), @"none");
    let plan = at_home(&env, &[&["plan", "s.jsonl"], &RESTORE[..]].concat());
    assert_snapshot!(line(plan, "restored"), @"restored    nothing");
    let compared = env.run(&["compare", "s.jsonl", "--strategies", "restore,extractive"]);
    assert_snapshot!(line(compared, "restore"), @"restore           extractive");
}

/// Returns what is said of the files.
fn note(env: &TestEnv, options: &[&str]) -> String {
    let document = compact(env, &[&["--dry-run", "--json"], options].concat()).json();
    let folder = env.folder().display().to_string();
    let note = document["restored"]["note"].as_str().unwrap_or("none");
    note.replace(&folder, "[DIR]")
}

#[test]
fn files_are_looked_for_in_the_folder_of_the_session_or_where_it_is_said() {
    let env = env();
    assert_eq!(note(&env, &[]), "none");
    session(&env, "s.jsonl", "gone", PLAIN);
    assert_snapshot!(note(&env, &[]), @"files are only named: the session's folder [DIR]/gone is not here; name it with --workspace DIR");
    assert_eq!(note(&env, &["--workspace", "work"]), "none");
}

#[test]
fn a_strangers_session_opens_nothing_of_the_users() {
    let env = TestEnv::new();
    env.write("home/.ssh/id_rsa", "hidden-away\n");
    env.write("home/work/id_rsa", "of the project\n");
    env.write("home/beside/id_rsa", "hidden-away\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(env.path("home/.ssh"), env.path("home/work/link")).expect("a link");
    let notation =
        "u:300 read:c1:id_rsa res:c1:20 a:1200 u:300 call:c2:10 res:c2:3000 a:300 u:20 a:400";
    let run = |session_file: &str, folder: &str, here: &str, home: &str| {
        session(&env, session_file, folder, notation);
        let mut command = env.command(crate::env::BINARY);
        command.current_dir(env.path(here)).env("HOME", home);
        command.env("AGENT_CLI_SESSION_DIR", env.path("kept"));
        let file = env.path(session_file).display().to_string();
        command.args(["compact", &file, "--json", "--out"]);
        command.arg(env.path("out.jsonl")).args(RESTORE);
        let output = env.output(&mut command);
        let out = std::fs::read_to_string(env.path("out.jsonl")).expect("a session");
        std::fs::remove_file(env.path("out.jsonl")).expect("a session");
        assert!(!out.contains("hidden-away") && !output.stdout.contains("hidden-away"));
        let document = output.json();
        let dir = env.folder().display().to_string();
        match document["restored"]["note"].as_str() {
            Some(note) => note.replace(&dir, "[DIR]"),
            None => document["restored"]["files"][0]["outcome"].to_string(),
        }
    };
    let home = env.path("home").display().to_string();
    let (stranger, ours) = ("s.jsonl", "kept/x/s.jsonl");
    assert_snapshot!(run(stranger, "home/work", "home/work", &home), @r#""embedded""#);
    assert_snapshot!(run(stranger, "home/work", "home", &home), @r#""embedded""#);
    assert_snapshot!(run(stranger, "home/work", "home/beside", &home), @"files are only named: the session's folder [DIR]/home/work is neither above nor below the one that you are in; name it with --workspace DIR");
    assert_snapshot!(run(ours, "home/work", "home/beside", &home), @r#""embedded""#);
    for (file, here) in [(stranger, "home"), (ours, "home"), (stranger, "home/.ssh")] {
        assert!(run(file, "home/.ssh", here, &home).contains("begins with a dot"));
        assert!(run(file, "home", here, &home).contains("holds more than a project"));
    }
    #[cfg(unix)]
    assert_snapshot!(run(stranger, "home/work/link", "home/work", &home), @"files are only named: the session's folder [DIR]/home/work/link is hidden by a name that begins with a dot; name it with --workspace DIR");
}

#[test]
fn options_that_go_with_nothing_are_refused() {
    let env = env();
    let said = |arguments: &[&str]| {
        let output = env.run(arguments);
        assert_eq!(output.code, Some(2), "{output}");
        output.stderr
    };
    let plan = ["plan", "s.jsonl"];
    assert_snapshot!(said(&[&plan[..], &["--workspace", "work"]].concat()), @"error: --workspace is where the strategy restore reads files; leave it out");
    assert_snapshot!(said(&[&plan[..], &RESTORE, &["--workspace", "nowhere"]].concat()), @"error: --workspace: cannot open nowhere: No such file or directory (os error 2)");
    assert_snapshot!(said(&[&plan[..], &RESTORE, &["--profile", "pi"]].concat()), @"error: pi has no strategy restore; leave out --profile pi");
    assert_snapshot!(said(&["compare", "s.jsonl", "--strategies", "extractive", "--workspace", "work"]), @"error: --workspace is where the strategy restore reads files; leave it out");
}

#[test]
fn r24_without_files_the_summary_is_written_all_the_same_and_it_is_said() {
    let env = env();
    let folders = r#"tools.folders=["nowhere"]"#;
    let output = compact(&env, &["--in-place", "--set", folders]);
    let text = output.success();
    let line = text
        .lines()
        .find(|line| line.contains("restored"))
        .expect("a line");
    assert!(line.contains("nothing: tools.folders"), "{line}");
    let lines = env.lines("s.jsonl");
    assert_eq!(
        lines
            .iter()
            .filter(|line| line["type"] == "compaction")
            .count(),
        1
    );
    assert!(!lines.iter().any(|line| line["type"] == "custom_message"));
}
