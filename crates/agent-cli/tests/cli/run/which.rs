//! Which session runs: a new one, one that is there, a copy, or none on the disk.

use insta::assert_snapshot;
use serde_json::json;

use super::{Runs, TWICE};

#[test]
fn the_newest_session_of_the_folder_goes_on() {
    let runs = Runs::of(TWICE);
    runs.play(&["-p", "hi"]).success();
    let output = runs.play(&["--continue", "-p", "and now?"]);
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    Hello again.
    --- stderr
    scripted/twice, window 16.0k, in [DIR], session [SESSION],
    4 entries so far
    > and now?
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p ...
    ");
    assert_snapshot!(runs.said(&runs.session()), @"
    user: hi
    assistant: Hello.
    user: and now?
    assistant: Hello again.
    ");
    // Another folder has sessions of its own.
    std::fs::create_dir(runs.env.path("sub")).expect("a folder");
    assert_snapshot!(runs.refused(3, &["-c", "--cwd", "sub"]), @"nothing to do: no session of this folder is there yet; begin one with -p TEXT");
    assert_snapshot!(runs.refused(3, &["-c", "--cwd", "sub", "-p", "x"]), @"nothing to do: no session of this folder is there yet; leave out --continue to begin one");
}

#[test]
fn a_session_that_ends_in_an_answer_has_nothing_to_do() {
    let runs = Runs::of(TWICE);
    runs.play(&["-p", "hi"]).success();
    let before = std::fs::read(runs.session()).expect("a session");
    assert_snapshot!(runs.refused(3, &["-c"]), @"nothing to do: the session ends in an answer; to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p TEXT");
    assert_eq!(std::fs::read(runs.session()).expect("a session"), before);
}

#[test]
fn sessions_are_listed_and_resumed_by_their_ids() {
    let runs = Runs::of(TWICE);
    runs.play(&["-p", "the first"]).success();
    runs.play(&["-p", "the second"]).success();
    let list = runs
        .env
        .run(&["sessions", "list", "--json", "--session-dir", "data"])
        .json();
    let rows = list["sessions"].as_array().expect("rows");
    let prompts: Vec<_> = rows.iter().map(|row| &row["first_prompt"]).collect();
    assert_eq!(prompts, ["the second", "the first"]);
    let id = rows[1]["id"].as_str().expect("an id");
    assert_eq!(
        runs.play(&["--resume", id, "-p", "x"]).success(),
        "Hello again.\n"
    );
    let id = rows[0]["id"].as_str().expect("an id");
    // All but the last character is enough to tell them apart.
    assert_eq!(
        runs.play(&["-r", &id[..id.len() - 1], "-p", "x"]).success(),
        "Hello again.\n"
    );
    assert_snapshot!(runs.refused(2, &["-r", "", "-p", "x"]), @"error: --resume names no session; agent-cli sessions list shows the ids");
    assert_snapshot!(runs.refused(2, &["-r", "nope", "-p", "x"]), @"error: no file and no session is called nope; agent-cli sessions list --all shows those that are there");
    assert_snapshot!(runs.refused(2, &["-r", "0", "-p", "x"]), @"
    error: 2 sessions are called 0; name more of the id, or the file:
      agent-cli  [DIR]/data/[FOLDER]/[STAMP]_[SESSION].jsonl
      agent-cli  [DIR]/data/[FOLDER]/[STAMP]_[SESSION].jsonl
    ");
}

#[test]
fn a_session_in_a_file_is_begun_and_goes_on() {
    let runs = Runs::of(TWICE);
    let output = runs.play(&["--session", "new folder/s.jsonl", "-p", "hi"]);
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    Hello.
    --- stderr
    scripted/twice, window 16.0k, in [DIR],
    session [DIR]/new folder/s.jsonl
    > hi
    [N] read, [N] written
    to continue: agent-cli --session '[DIR]/new folder/s.jsonl' --provider scripted:script.jsonl -p ...
    ");
    let output = runs.play(&["--session", "new folder/s.jsonl", "-p", "more"]);
    assert_eq!(output.success(), "Hello again.\n");
    assert_snapshot!(runs.said(&runs.env.path("new folder/s.jsonl")), @"
    user: hi
    assistant: Hello.
    user: more
    assistant: Hello again.
    ");
    assert_eq!(
        runs.sessions(),
        [""; 0].map(std::path::PathBuf::from),
        "nothing in place of others"
    );
    assert_snapshot!(runs.refused(4, &["--session", "no.jsonl"]), @"error: no.jsonl: no such session file; check the path, or begin it with -p TEXT");
}

#[test]
fn a_fork_leaves_its_source_as_it_was() {
    let runs = Runs::of(TWICE);
    runs.play(&["-p", "hi"]).success();
    let source = runs.session();
    let before = std::fs::read(&source).expect("a session");
    let id = source
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let id = id.split_once('_').expect("an id").1.to_owned();
    for fork in [id.as_str(), source.to_str().expect("a path")] {
        assert_eq!(
            runs.play(&["--fork", fork, "-p", "more"]).success(),
            "Hello again.\n"
        );
    }
    assert_eq!(std::fs::read(&source).expect("a session"), before);
    let sessions = runs.sessions();
    assert_eq!(sessions.len(), 3);
    for fork in &sessions[1..] {
        assert_eq!(
            runs.said(fork),
            "user: hi\nassistant: Hello.\nuser: more\nassistant: Hello again.\n"
        );
    }
    assert_snapshot!(runs.refused(4, &["--fork", "no.jsonl", "-p", "x"]), @"error: no.jsonl: no such session file; check the path");
    assert_snapshot!(runs.refused(2, &["--fork", "nope", "-p", "x"]), @"error: no file and no session is called nope; agent-cli sessions list --all shows those that are there");
    assert_snapshot!(runs.refused(4, &["--fork", "data", "-p", "x"]), @"error: data: a directory; name a session file in it");
    // What is refused for another reason makes no copy.
    assert_snapshot!(runs.refused(2, &["--fork", &id, "-p", "x", "--tools", "axe"]), @"error: --tools: there is no tool axe; choose from [TOOLS]; or none alone, for no tools");
}

#[test]
fn a_fork_of_a_session_of_version_1_has_the_newest_version() {
    let runs = Runs::of(TWICE);
    let cwd = std::fs::canonicalize(runs.env.folder()).expect("a folder");
    let at = "2026-01-01T00:00:00.000Z";
    let lines = [
        json!({ "type": "session", "id": "old", "timestamp": at, "cwd": cwd }),
        json!({ "type": "message", "timestamp": at,
                "message": { "role": "user", "content": "an old prompt", "timestamp": 1 } }),
        json!({ "type": "message", "timestamp": at,
                "message": { "role": "assistant", "content": [{ "type": "text", "text": "Fixed." }],
                             "stopReason": "stop", "timestamp": 2 } }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    runs.env.write("old.jsonl", &text);
    runs.play(&["--fork", "old.jsonl", "-p", "more"]).success();
    let said = runs.said(&runs.session());
    assert!(
        said.starts_with("user: an old prompt\nassistant: Fixed.\nuser: more\n"),
        "{said}"
    );
    assert_eq!(runs.env.read("old.jsonl"), text.as_bytes());
}

/// Writes a session of pi that works in the folder.
fn session_of_pi(runs: &Runs, id: &str) -> std::path::PathBuf {
    let folder = runs.env.home().join(".pi/agent/sessions/--x--");
    std::fs::create_dir_all(&folder).expect("made");
    let cwd = std::fs::canonicalize(runs.env.folder()).expect("a folder");
    let lines = [
        json!({ "type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd }),
        json!({ "type": "message", "id": "a", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
                "message": { "role": "user", "content": "fix the parser", "timestamp": 1 } }),
        json!({ "type": "message", "id": "b", "parentId": "a", "timestamp": "2026-01-01T00:00:02.000Z",
                "message": { "role": "assistant", "content": [{ "type": "text", "text": "Fixed." }],
                             "stopReason": "stop", "timestamp": 2 } }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = folder.join(format!("{id}.jsonl"));
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn every_name_that_is_listed_resumes_a_copy_of_another_agents_session() {
    let runs = Runs::of(TWICE);
    let source = session_of_pi(&runs, "d703a1a9-1b7b");
    session_of_pi(&runs, "e803a1a9-1b7b");
    let before = std::fs::read(&source).expect("read");
    let mut count = 0;
    for option in ["--resume", "--fork", "--session"] {
        for name in ["d703a1a9-1b7b", "d703", "pi:d703", "pi:newest"] {
            let output = runs.play(&[option, name, "-p", "go on"]);
            assert_eq!(output.code, Some(0), "{option} {name}: {output}");
            count += 1;
            let sessions = runs.sessions();
            assert_eq!(sessions.len(), count, "{option} {name}");
            let copied = sessions
                .iter()
                .all(|path| runs.said(path).contains("user: fix the parser"));
            assert!(copied && !runs.env.path(name).exists(), "{option} {name}");
        }
    }
    assert_eq!(std::fs::read(&source).expect("read"), before);
    for option in ["--resume", "--fork", "--session"] {
        for name in ["codex:newest", "pi:zzz", "codx:newest", "pi:1.5"] {
            runs.refused(2, &[option, name, "-p", "go on"]);
            assert!(!runs.env.path(name).exists(), "{option} {name}");
        }
    }
    session_of_pi(&runs, "d703ffff-1b7b");
    for option in ["--resume", "--fork", "--session"] {
        let refused = runs.refused(2, &[option, "d703", "-p", "go on"]);
        assert!(refused.contains("2 sessions are called d703"), "{refused}");
    }
    assert_eq!(runs.sessions().len(), count);
}

#[test]
fn the_option_for_a_file_takes_the_id_of_an_own_session() {
    let runs = Runs::of(TWICE);
    runs.play(&["-p", "hi"]).success();
    let path = runs.session();
    let id = path
        .file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let id = id.split_once('_').expect("an id").1.to_owned();
    let output = runs.play(&["--session", &id[..13], "-p", "more"]);
    assert_eq!(output.success(), "Hello again.\n");
    assert_eq!(runs.sessions(), std::slice::from_ref(&path));
    assert!(runs.said(&path).contains("user: more"));
    runs.play(&["--session", "zzz", "-p", "hi"]).success();
    assert!(
        runs.env.path("zzz").exists(),
        "a new file of a name that no session has"
    );
}

#[test]
fn without_a_session_nothing_is_on_the_disk() {
    let runs = Runs::of(
        "{\"answer\":{\"calls\":[{\"name\":\"bash\",\"arguments\":{\"command\":\"seq 200000\"}}]}}\n{\"answer\":{\"text\":\"Hello.\"}}\n",
    );
    let output = runs.unchanged_by(|| runs.play(&["--no-session", "-p", "hi"]));
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    Hello.
    --- stderr
    scripted/script, window 128.0k, in [DIR], not kept
    > hi
      bash seq 200000
    [N] read, [N] written
    ");
    let json = runs
        .unchanged_by(|| runs.play(&["--no-session", "-p", "hi", "--json"]))
        .json();
    assert!(json["path"].is_null() && json["go_on"].is_null(), "{json}");
}

#[test]
fn a_session_works_where_it_has_worked() {
    let script = "{\"answer\":{\"calls\":[{\"name\":\"bash\",\"arguments\":{\"command\":\"pwd > ../where; cat .agent-cli/settings.json >> ../where\"}}]}}\n{\"answer\":{\"text\":\"A.\"}}\n{\"answer\":{\"calls\":[{\"name\":\"bash\",\"arguments\":{\"command\":\"pwd > ../where\"}}]}}\n{\"answer\":{\"text\":\"B.\"}}\n";
    let runs = Runs::of(script);
    runs.env.write(
        "work/.agent-cli/settings.json",
        "{\"systemPrompt\":\"Of the project.\"}",
    );
    let where_now = || {
        String::from_utf8(runs.env.read("where"))
            .expect("text")
            .replace(
                &runs
                    .env
                    .folder()
                    .canonicalize()
                    .expect("a folder")
                    .display()
                    .to_string(),
                "[DIR]",
            )
    };
    runs.play(&["-p", "hi", "--cwd", "work"]).success();
    assert_eq!(
        where_now(),
        "[DIR]/work\n{\"systemPrompt\":\"Of the project.\"}"
    );
    let session = runs.session();
    let session = session.to_str().expect("a path");
    let prompt = |text: &str| {
        std::fs::read_to_string(session)
            .expect("a session")
            .contains(text)
    };
    assert!(prompt("Of the project.") && prompt("The working folder is"));
    // From another folder, by its file: the tools are where they were, and the settings those of that project.
    assert_eq!(
        runs.play(&["-p", "more", "--session", session]).success(),
        "B.\n"
    );
    assert_eq!(where_now(), "[DIR]/work\n");
    let lines = std::fs::read_to_string(session).expect("a session");
    assert_eq!(
        lines.matches("\"role\":\"system\"").count(),
        1,
        "nothing about it has changed"
    );
}

#[test]
fn how_much_the_model_thinks_is_kept_with_the_session() {
    let runs = Runs::of(TWICE);
    let levels = |runs: &Runs| {
        let text = std::fs::read_to_string(runs.session()).expect("a session");
        let lines = text
            .lines()
            .filter(|line| line.contains("thinking_level_change"));
        let levels = lines.map(|line| {
            let entry: serde_json::Value = serde_json::from_str(line).expect("an entry");
            entry["thinkingLevel"].as_str().expect("a level").to_owned()
        });
        levels.collect::<Vec<_>>()
    };
    runs.play(&["-p", "hi", "--thinking", "high"]).success();
    assert_eq!(levels(&runs), ["high"]);
    runs.play(&["-c", "-p", "and now?"]).success();
    assert_eq!(levels(&runs), ["high"], "it goes on as before");
}
