//! What a cleanup removes, and what it must leave.

use std::fs::{File, create_dir_all, read_dir, write};

use super::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A root with sessions; outputs are numbered.
struct Root(tempfile::TempDir);

fn name(number: u8) -> String {
    format!("bash-01890000-0000-7000-8000-0000000000{number:02}.txt")
}

impl Root {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        create_dir_all(path.parent().unwrap()).unwrap();
        write(path, text).unwrap();
    }

    /// Puts an output of so many bytes and days.
    fn output(&self, session: &str, number: u8, bytes: usize, days: u32) {
        let path = format!("{session}.outputs/{}", name(number));
        self.put(&path, "x".repeat(bytes));
        let file = File::options().write(true).open(self.at(&path)).unwrap();
        file.set_modified(now() - DAY * days).unwrap();
    }

    fn remove(&self, days: u32, most_bytes: Option<u64>) -> Cleanup {
        let rule = CleanupRule {
            older_than: DAY * days,
            most_bytes,
        };
        let found = find_unused(self.0.path(), rule, now()).unwrap();
        let removed = remove_unused(self.0.path(), rule, now()).unwrap();
        assert_eq!(found, removed, "a dry run tells what is removed");
        let left = read_dir(self.at("w")).unwrap().map(|found| {
            let name = found.unwrap().file_name();
            name.into_string().unwrap()
        });
        let is_lock = |name: String| name.ends_with(".lock").then_some(name);
        assert_eq!(left.filter_map(is_lock).collect::<Vec<_>>(), [""; 0]);
        removed
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * 20_000
}

fn numbers(cleanup: &Cleanup) -> Vec<u8> {
    let outputs = cleanup.unused.iter();
    let names = outputs.map(|output| output.path.file_stem().unwrap().to_str().unwrap());
    names
        .map(|name| name[name.len() - 2..].parse().unwrap())
        .collect()
}

fn total(files: usize, bytes: u64) -> OutputTotal {
    OutputTotal { files, bytes }
}

#[test]
fn old_outputs_that_no_session_names_are_removed() {
    let root = Root::new();
    root.put("w/s.jsonl", "{\"type\":\"session\"}\n");
    root.output("w/s.jsonl", 1, 10, 31);
    root.output("w/s.jsonl", 2, 20, 29);
    root.output("w/gone.jsonl", 3, 30, 30);
    let cleanup = root.remove(30, None);
    assert_eq!(numbers(&cleanup), [1, 3]);
    assert_eq!(cleanup.recent, total(1, 20));
    assert!(!root.at("w/gone.jsonl.outputs").exists());
    assert!(root.at("w/s.jsonl.outputs").join(name(2)).exists());
    assert_eq!(numbers(&root.remove(30, None)), [0; 0]);
}

#[test]
fn what_any_session_or_queue_names_is_left() {
    let root = Root::new();
    for number in 1..=4 {
        root.output("w/s.jsonl", number, 10, 99);
    }
    let entry = |number| {
        format!(
            "{{\"text\":\"the whole output is in /w/{}]\"}}\n",
            name(number)
        )
    };
    root.put("w/s.jsonl", entry(1));
    root.put("other/fork.jsonl", entry(2));
    root.put("w/s.pending.jsonl", entry(3));
    let cleanup = root.remove(0, Some(0));
    assert_eq!(numbers(&cleanup), [4]);
    assert_eq!(cleanup.referenced, total(3, 30));
}

#[test]
fn a_name_is_found_wherever_pieces_end() {
    let root = Root::new();
    root.output("w/s.jsonl", 1, 10, 99);
    let piece = usize::try_from(PIECE).unwrap();
    for before in piece - 45..=piece + 5 {
        root.put("w/s.jsonl", "x".repeat(before) + &name(1));
        assert_eq!(numbers(&root.remove(0, None)), [0; 0], "{before}");
    }
}

#[test]
fn outputs_of_an_open_session_are_left() {
    let root = Root::new();
    root.put("w/s.jsonl", "{}\n");
    for session in ["w/s.jsonl", "w/new.jsonl"] {
        root.output(session, u8::from(session == "w/new.jsonl"), 10, 99);
    }
    let rule = CleanupRule {
        older_than: DAY,
        most_bytes: None,
    };
    let locks = [
        SessionLock::acquire(&root.at("w/s.jsonl")).unwrap(),
        SessionLock::acquire_unpersisted(&root.at("w/new.jsonl")).unwrap(),
    ];
    for remove in [find_unused, remove_unused] {
        let cleanup = remove(root.0.path(), rule, now()).unwrap();
        assert_eq!(numbers(&cleanup), [0; 0]);
        assert_eq!(cleanup.locked, total(2, 20));
    }
    drop(locks);
    assert_eq!(numbers(&root.remove(1, None)), [1, 0]);
}

#[test]
fn the_oldest_go_first_where_there_is_too_much() {
    let root = Root::new();
    for (number, days) in [(1, 3), (2, 9), (3, 6), (4, 1)] {
        root.output("w/s.jsonl", number, 100, days);
    }
    root.put("w/s.jsonl", name(2));
    let cleanup = root.remove(30, Some(250));
    assert_eq!(numbers(&cleanup), [3, 1]);
    assert_eq!(cleanup.recent, total(1, 100));
}

#[test]
fn files_that_are_no_outputs_are_left() {
    let root = Root::new();
    root.put("w/s.jsonl", "{}\n");
    for path in [
        "w/s.jsonl.outputs/notes.txt",
        "w/s.jsonl.outputs/01890000-0000-7000-8000-000000000001.txt",
        "w/s.jsonl.outputs/bash-01890000-0000-7000-8000-00000000000x.txt",
        "w/own/bash-01890000-0000-7000-8000-000000000001.txt",
    ] {
        root.put(path, "mine");
    }
    #[cfg(unix)]
    {
        let elsewhere = tempfile::tempdir().unwrap();
        write(elsewhere.path().join(name(5)), "mine").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.at("w/t.jsonl.outputs")).unwrap();
        std::os::unix::fs::symlink("notes.txt", root.at("w/s.jsonl.outputs").join(name(6)))
            .unwrap();
        assert_eq!(root.remove(0, Some(0)).unused, []);
    }
    assert_eq!(root.remove(0, Some(0)).unused, []);
}

#[cfg(unix)]
#[test]
fn nothing_is_removed_while_a_session_cannot_be_read() {
    let root = Root::new();
    root.output("w/s.jsonl", 1, 10, 99);
    std::os::unix::fs::symlink("/proc/self/mem", root.at("w/s.jsonl")).unwrap();
    let rule = CleanupRule {
        older_than: DAY,
        most_bytes: None,
    };
    let error = find_unused(root.0.path(), rule, now()).unwrap_err();
    assert!(error.to_string().starts_with("cannot read "), "{error}");
}
