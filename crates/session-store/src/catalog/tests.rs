//! The folder of each working directory, and the contents of a list.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use session_model::{
    AgentMessage, AssistantMessage, Content, EntryDraft, MessageDraft, SessionInfoDraft, StopReason,
};

use super::{BEGINNING, find, folder_for, list, root_of};
use crate::error::ErrorKind;
use crate::tests::Live;
use crate::{Delivery, NewEntry, SessionStore};

fn user(text: &str) -> NewEntry {
    EntryDraft::Message(Box::new(MessageDraft::user(text))).into()
}

fn answer() -> NewEntry {
    let message = AgentMessage::Assistant(AssistantMessage {
        content: Content::Text("done".to_owned()),
        api: "test".to_owned(),
        provider: "test".to_owned(),
        model: "test".to_owned(),
        usage: None,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: None,
    });
    let draft = MessageDraft::new(message).expect("an answer");
    EntryDraft::Message(Box::new(draft)).into()
}

/// Lets the files of a session look as if they had been written at this second.
fn written_at(path: &Path, seconds: u64) {
    let file = std::fs::File::options().write(true).open(path);
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let set = file.expect("a file").set_modified(at);
    set.expect("the time can be set");
}

#[test]
fn the_root_is_what_is_named_first() {
    let root = |given: Option<&str>, set: &[(&str, &str)], home: Option<&str>| {
        let variable = |name: &str| {
            let found = set.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let root = root_of(given.map(Path::new), variable, home.map(PathBuf::from));
        root.map(|root| root.display().to_string())
            .map_err(|error| error.kind())
    };
    let (own, data) = (
        ("AGENT_CLI_SESSION_DIR", "/own"),
        ("XDG_DATA_HOME", "/data"),
    );
    assert_eq!(
        root(Some("/given"), &[own, data], Some("/home")),
        Ok("/given".to_owned())
    );
    assert_eq!(
        root(None, &[own, data], Some("/home")),
        Ok("/own".to_owned())
    );
    let below = |folder: &str| Ok(format!("{folder}/agent-cli/sessions"));
    assert_eq!(root(None, &[data], Some("/home")), below("/data"));
    assert_eq!(root(None, &[], Some("/home")), below("/home/.local/share"));
    let empty = [("AGENT_CLI_SESSION_DIR", ""), ("XDG_DATA_HOME", "data")];
    assert_eq!(
        root(None, &empty, Some("/home")),
        below("/home/.local/share")
    );
    assert_eq!(root(None, &[], None), Err(ErrorKind::Usage));
}

#[test]
fn folders_can_be_read_and_are_never_shared() {
    let root = Path::new("/root");
    let name = |cwd: &str| folder_for(root, Path::new(cwd)).display().to_string();
    assert_eq!(
        name("/home/ann/my project"),
        "/root/home-ann-my-project-d5bc03d3b37e8a79"
    );
    assert_eq!(name("/home/ann/my project/"), name("/home/ann/my project"));
    let long = format!("/a/{}", "long/".repeat(60));
    let names: BTreeSet<String> = ["/a/b", "/a-b", "/a b", "/a/b/c", "/a/B", "/", "/...", &long]
        .map(name)
        .into();
    assert_eq!(names.len(), 8, "{names:?}");
    for name in names {
        let name = name.strip_prefix("/root/").expect("below the root");
        assert!(
            name.len() < 120 && !name.contains('/') && !name.starts_with(['.', '-']),
            "{name}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_that_folder() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let (real, link) = (place.path().join("real"), place.path().join("link"));
    std::fs::create_dir(&real).expect("a folder");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let root = Path::new("/root");
    assert_eq!(folder_for(root, &link), folder_for(root, &real));
    assert_eq!(
        folder_for(root, &link.join("../real/")),
        folder_for(root, &real)
    );
    assert_ne!(folder_for(root, &link.join("new")), folder_for(root, &real));
}

#[test]
fn a_list_tells_what_is_there_and_the_newest_comes_first() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let (root, cwd) = (place.path(), Path::new("/project"));
    assert_eq!(list(root, Some(cwd)).expect("no folder yet"), []);
    let folder = folder_for(root, cwd);

    let mut first = Live::create(&folder, cwd, None);
    first
        .append(vec![user("mend\nthe parser"), answer()])
        .expect("appended");
    let path = first.path().to_owned();
    written_at(&path, 2_000);
    let name = SessionInfoDraft {
        name: "parser".to_owned(),
    };
    let elsewhere = Path::new("/elsewhere");
    let mut second = Live::create(&folder_for(root, elsewhere), elsewhere, None);
    second
        .append(vec![
            EntryDraft::SessionInfo(name).into(),
            user("x"),
            answer(),
        ])
        .expect("appended");
    let second_path = second.path().to_owned();
    drop(second);
    written_at(&second_path, 3_000);
    let mut unpersisted = Live::create(&folder, cwd, None);
    unpersisted
        .queue("not sent yet".to_owned(), Delivery::Prompt)
        .expect("queued");
    let unpersisted_path = unpersisted.path().to_owned();
    drop(unpersisted);
    written_at(&crate::pending::pending_path(&unpersisted_path), 1_000);
    for (name, bytes) in [
        ("notes.txt", "x"),
        ("empty.jsonl", ""),
        ("other.jsonl", "{\"a\":1}\n"),
    ] {
        std::fs::write(folder.join(name), bytes).expect("written");
    }

    let rows = list(root, None).expect("a list");
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            let said = (row.name.as_deref(), row.first_prompt.as_deref());
            (
                row.locator.as_path().to_owned(),
                row.cwd.as_str(),
                said,
                (row.locked, row.persisted, row.pending),
            )
        })
        .collect();
    let want = [
        (
            second_path,
            "/elsewhere",
            (Some("parser"), Some("x")),
            (false, true, 0),
        ),
        (
            path.clone(),
            "/project",
            (None, Some("mend\nthe parser")),
            (true, true, 0),
        ),
        (
            unpersisted_path.clone(),
            "/project",
            (None, Some("not sent yet")),
            (false, false, 1),
        ),
    ];
    assert_eq!(told, want);
    assert_eq!(rows[1].id, first.id());
    assert_eq!(rows[1].bytes, first.bytes());
    assert_eq!(rows[1].modified.as_millis(), 2_000_000);
    assert!(rows.iter().all(|row| row.started.is_some()));
    let own = list(root, Some(cwd)).expect("a list");
    assert_eq!(own, rows[1..]);

    // What waits for a session with a file counts until it is sent.
    let queued = ["one", "two"].map(|text| {
        let queued = first.queue(text.to_owned(), Delivery::FollowUp);
        queued.expect("queued").id
    });
    let waits = || {
        list(root, Some(cwd))
            .expect("a list")
            .iter()
            .map(|row| row.pending)
            .sum::<usize>()
    };
    assert_eq!(waits(), 3);
    first.send_queued(&queued[..1]).expect("sent");
    assert_eq!(waits(), 2);
    drop(first);
    let rows = list(root, Some(cwd)).expect("a list");
    assert!(rows.iter().all(|row| !row.locked));
}

#[test]
fn only_the_beginning_of_a_session_is_read() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = folder_for(place.path(), Path::new("/project"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let big = "x".repeat(BEGINNING as usize);
    let text = test_support::session("u:5 a:5 label info");
    let lines: Vec<&str> = text.lines().collect();
    let late = format!(
        "{}\n{}\n{{\"type\":\"later\",\"id\":\"big\",\"x\":\"{big}\"}}\n{}\n",
        lines[0], lines[1], lines[4]
    );
    std::fs::write(folder.join("s.jsonl"), &late).expect("written");
    let rows = list(place.path(), None).expect("a list");
    assert_eq!((rows.len(), rows[0].bytes), (1, late.len() as u64));
    assert_eq!(
        (rows[0].name.as_deref(), rows[0].first_prompt.is_some()),
        (None, true)
    );
    // One whose first line is longer than that is no session for a list.
    std::fs::write(
        folder.join("s.jsonl"),
        format!("{{\"type\":\"session\",\"x\":\"{big}\"}}\n"),
    )
    .expect("written");
    assert_eq!(list(place.path(), None).expect("a list"), []);
}

#[cfg(unix)]
#[test]
fn f12_pipes_among_the_sessions_are_passed_over() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = folder_for(place.path(), Path::new("/project"));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("s.jsonl"), test_support::session("u:5 a:5")).expect("written");
    for name in ["pipe.jsonl", "s.pending.jsonl", "new.pending.jsonl"] {
        let made = std::process::Command::new("mkfifo")
            .arg(folder.join(name))
            .status();
        assert!(made.expect("mkfifo runs").success());
    }
    let rows = list(place.path(), None).expect("a list");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].locator.as_path(), folder.join("s.jsonl"));
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = folder_for(place.path(), Path::new("/project"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut path = PathBuf::new();
    for (id, prompt) in [("abc-1", "first"), ("abc-12", "second"), ("b", "third")] {
        path = folder.join(format!("{id}.jsonl"));
        let text = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"cwd\":\"/project\"}}\n{{\"type\":\"message\",\"id\":\"e\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"{prompt}\"}}}}\n"
        );
        std::fs::write(&path, text).expect("written");
    }
    let root = place.path();
    assert_eq!(find(root, "b").expect("one"), path);
    assert_eq!(
        find(root, "abc-1").expect("one is called so"),
        folder.join("abc-1.jsonl")
    );
    let many = find(root, "ab").expect_err("two").to_string();
    for part in [
        "2 sessions are called ab",
        "abc-1.jsonl  first",
        "abc-12.jsonl  second",
    ] {
        assert!(many.contains(part), "{many}");
    }
    for id in ["x", "bc", ""] {
        let none = find(root, id).expect_err("none").to_string();
        assert_eq!(none, format!("no session {id} in {}", root.display()));
    }
}
