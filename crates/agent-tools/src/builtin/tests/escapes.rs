//! Ways out of the workspace, tried with every tool that is to stay in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{TestWorkspace, text};
use crate::Workspace;
use crate::builtin::replace::replace;
use crate::file::{CommitPoint, Target};
use crate::workspace::resolved::Purpose;

/// The content that must not leak.
const SECRET: &str = "hidden-away";

/// What is in the workspace under the same name.
const OURS: &str = "ours";

/// Returns a call of each tool on `path`.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({ "path": path })),
        ("write", json!({ "path": path, "content": "changed" })),
        (
            "edit",
            json!({ "path": path, "edits": [{ "old_text": SECRET, "new_text": "changed" }] }),
        ),
        ("ls", json!({ "path": path })),
        ("find", json!({ "pattern": "*", "path": path })),
        ("grep", json!({ "pattern": ".", "path": path })),
    ]
}

/// Puts files outside: each name and each content shows a leak.
fn put_secrets(sandbox: &TestWorkspace) {
    fs::create_dir(sandbox.outside("folder")).unwrap();
    for name in ["file", "hidden-away-name", "folder/file"] {
        fs::write(sandbox.outside(name), SECRET).unwrap();
    }
}

/// Returns every name and content outside.
fn outside(sandbox: &TestWorkspace) -> BTreeMap<PathBuf, Option<String>> {
    fn look(folder: &Path, found: &mut BTreeMap<PathBuf, Option<String>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => {
                    look(&path, found);
                    found.insert(path, None);
                }
                false => {
                    let content = fs::read_to_string(&path).unwrap();
                    found.insert(path, Some(content));
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    look(&sandbox.outside(""), &mut found);
    found
}

#[tokio::test]
async fn no_tool_goes_where_a_path_or_a_link_leads_out() {
    let sandbox = TestWorkspace::new();
    put_secrets(&sandbox);
    let before = outside(&sandbox);
    fs::create_dir(sandbox.path("sub")).unwrap();
    sandbox.link("file-link", sandbox.outside("file"));
    sandbox.link("folder-link", sandbox.outside(""));
    sandbox.link("sub/up", "../../outside");
    sandbox.link("chain", "sub/up/folder");
    sandbox.link("new-link", sandbox.outside("new"));
    let absolute = sandbox.outside("file");
    let attacks = [
        "..",
        "../outside",
        "../outside/file",
        "sub/../../outside/file",
        absolute.to_str().unwrap(),
        "/",
        "/etc/passwd",
        "file-link",
        "folder-link",
        "folder-link/file",
        "folder-link/new/deep",
        "sub/up/file",
        "sub/up/../outside/file",
        "chain",
        "chain/file",
        "new-link",
    ];
    for path in attacks {
        for (tool, arguments) in calls(path) {
            let said = sandbox.bad(tool, arguments).await;
            assert!(
                said.contains("outside the workspace"),
                "{tool} {path}: {said}"
            );
            assert!(!said.contains(SECRET), "{tool} {path}: {said}");
        }
    }
    for (tool, arguments) in calls(".") {
        let said = text(&sandbox.run(tool, arguments).await);
        assert!(!said.contains(SECRET), "{tool}: {said}");
    }
    assert_eq!(outside(&sandbox), before);
}

/// A folder `flip` of the workspace and, as `other`, a link to the folder outside.
fn put_flip(sandbox: &TestWorkspace) {
    put_secrets(sandbox);
    fs::create_dir_all(sandbox.path("flip/folder")).unwrap();
    sandbox.put("flip/file", OURS);
    sandbox.put("flip/folder/file", OURS);
    sandbox.link("other", sandbox.outside(""));
}

/// Gives each of the two the other's name.
fn swap(sandbox: &TestWorkspace) {
    let [flip, other, spare] = ["flip", "other", "spare"].map(|name| sandbox.path(name));
    fs::rename(&flip, &spare).unwrap();
    fs::rename(&other, &flip).unwrap();
    fs::rename(&spare, &other).unwrap();
}

#[test]
fn what_was_swapped_after_the_look_is_not_opened() {
    let sandbox = TestWorkspace::new();
    put_flip(&sandbox);
    let before = outside(&sandbox);
    let [file, folder, new] =
        ["flip/file", "flip/folder", "flip/new/deep"].map(|name| sandbox.place(name));
    let target = Target::at(&file).unwrap();
    swap(&sandbox);
    file.open(Purpose::Read).unwrap_err();
    file.open(Purpose::TryWrite).unwrap_err();
    folder.folder().unwrap_err();
    for (place, target) in [(&file, &target), (&new, &Target::New)] {
        let refused = replace(
            place,
            b"changed",
            target,
            &CommitPoint::default(),
            || Ok(()),
        );
        assert!(refused.unwrap_err().contains("not a folder"));
    }
    assert_eq!(outside(&sandbox), before);
    swap(&sandbox);
    // The last name of a path, too.
    fs::remove_file(sandbox.path("flip/file")).unwrap();
    sandbox.link("flip/file", sandbox.outside("file"));
    let refused = file.open(Purpose::Read).unwrap_err().to_string();
    assert!(refused.contains("is a link"), "{refused}");
    replace(&file, b"changed", &target, &CommitPoint::default(), || {
        Ok(())
    })
    .unwrap();
    assert_eq!(sandbox.content("flip/file"), "changed");
    assert_eq!(outside(&sandbox), before);
}

#[test]
fn what_is_swapped_during_a_write_is_not_written_to() {
    let sandbox = TestWorkspace::new();
    put_flip(&sandbox);
    let before = outside(&sandbox);
    for (name, content) in [
        ("flip/file", "one"),
        ("flip/new", "two"),
        ("flip/a/b", "three"),
    ] {
        let place = sandbox.place(name);
        let target = Target::at(&place).unwrap();
        let written = replace(
            &place,
            content.as_bytes(),
            &target,
            &CommitPoint::default(),
            || {
                swap(&sandbox);
                Ok(())
            },
        );
        written.unwrap();
        // The folder that was opened has the file, under the name that it has by now.
        assert_eq!(sandbox.content(&name.replace("flip", "other")), content);
        swap(&sandbox);
    }
    assert_eq!(outside(&sandbox), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_flips_all_the_time_shows_nothing_of_outside() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let sandbox = TestWorkspace::new();
    put_flip(&sandbox);
    let before = outside(&sandbox);
    let done = AtomicBool::new(false);
    let (flip, other) = (sandbox.path("flip"), sandbox.path("other"));
    let flips = std::thread::scope(|scope| {
        let flipping = scope.spawn(|| {
            let mut flips = 0_u64;
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &flip, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                flips += 1;
            }
            flips
        });
        let attack = || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.build().unwrap();
            runtime.block_on(async {
                for round in 0..30 {
                    for path in ["flip/file", "flip/folder", "flip/folder/file", "flip", "."] {
                        for (tool, arguments) in calls(path) {
                            let said = text(&sandbox.run(tool, arguments).await);
                            assert!(!said.contains(SECRET), "{tool} {path}: {said}");
                        }
                    }
                    let new = format!("flip/new{round}/deep");
                    let new = json!({ "path": new, "content": "changed" });
                    sandbox.run("write", new).await;
                }
            });
        };
        let attacked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(attack));
        done.store(true, Ordering::Relaxed);
        let flips = flipping.join().unwrap();
        if let Err(panic) = attacked {
            std::panic::resume_unwind(panic);
        }
        flips
    });
    assert!(flips > 0);
    assert_eq!(outside(&sandbox), before);
}

#[tokio::test]
async fn a_change_of_a_hard_link_leaves_the_other_file_as_it_was() {
    let sandbox = TestWorkspace::new();
    put_secrets(&sandbox);
    let before = outside(&sandbox);
    for tool in ["write", "edit"] {
        let twin = format!("{tool}-twin");
        fs::hard_link(sandbox.outside("file"), sandbox.path(&twin)).unwrap();
        let read = sandbox.good("read", json!({ "path": twin })).await;
        assert_eq!(read, SECRET);
        for (name, arguments) in calls(&twin) {
            if name == tool {
                sandbox.good(tool, arguments).await;
            }
        }
        assert_eq!(sandbox.content(&twin), "changed");
    }
    assert_eq!(outside(&sandbox), before);
}

#[tokio::test]
async fn what_is_no_file_holds_no_tool_up() {
    let sandbox = TestWorkspace::new();
    sandbox.fifo("pipe");
    let _socket = std::os::unix::net::UnixListener::bind(sandbox.path("socket")).unwrap();
    fs::create_dir(sandbox.path("sub")).unwrap();
    // Searches open files with rules, even if no call names them.
    for name in [".gitignore", "sub/.ignore", ".git"] {
        sandbox.fifo(name);
    }
    sandbox.put("sub/file", OURS);
    for name in ["pipe", "socket", ".gitignore"] {
        for (tool, arguments) in calls(name) {
            let said = sandbox.bad(tool, arguments).await;
            let what = if name == "socket" {
                "a socket"
            } else {
                "a named pipe"
            };
            assert!(said.contains(what), "{tool} {name}: {said}");
        }
    }
    let found = sandbox.good("grep", json!({ "pattern": "." })).await;
    assert_eq!(found, "sub/file:1: ours\n");
    let found = sandbox.good("find", json!({ "pattern": "*" })).await;
    assert_eq!(
        found,
        ".gitignore\npipe\nsocket\nsub/\nsub/.ignore\nsub/file\n"
    );
}

/// Runs every tool on each path of the system, and returns what they said.
#[cfg(target_os = "linux")]
async fn everything_is_refused(sandbox: &TestWorkspace, paths: &[&str], reason: &str) {
    for path in paths {
        for (tool, arguments) in calls(path) {
            let said = sandbox.bad(tool, arguments).await;
            assert!(said.contains(reason), "{tool} {path}: {said}");
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_the_kernel_is_opened() {
    let mut sandbox = TestWorkspace::new();
    sandbox.link("environ", "/proc/self/environ");
    sandbox.link("zero", "/dev/zero");
    sandbox.link("proc", "/proc");
    let links = ["environ", "zero", "proc", "proc/self/environ"];
    everything_is_refused(&sandbox, &links, "outside the workspace").await;
    // Where everything is the workspace, the system still is not.
    sandbox.context.workspace = Workspace::open("/".as_ref()).unwrap().into();
    let refused = "leave it alone";
    for path in [
        "proc/self/environ",
        "/proc/self/status",
        "/sys/kernel/notes",
        "dev/zero",
        "dev/null",
    ] {
        for (tool, arguments) in calls(path) {
            if tool == "ls" || tool == "find" {
                sandbox.bad(tool, arguments).await;
                continue;
            }
            let said = sandbox.bad(tool, arguments).await;
            let missing = said.contains("does not exist");
            assert!(said.contains(refused) || missing, "{tool} {path}: {said}");
        }
    }
    for path in ["/proc", "/proc/self", "/sys", "/dev"] {
        for (tool, arguments) in calls(path) {
            let said = sandbox.bad(tool, arguments).await;
            assert!(!said.contains("environ"), "{tool} {path}: {said}");
        }
    }
    let new = json!({ "path": "/dev/agent-cli-new", "content": "x" });
    let said = sandbox.bad("write", new).await;
    assert!(said.contains(refused), "{said}");
}

/// Files of the kernel are also recognized by their file system, wherever it is mounted.
#[cfg(target_os = "linux")]
#[test]
fn the_file_system_of_what_was_opened_counts() {
    use crate::workspace::resolved::check_file_system;
    let sandbox = TestWorkspace::new();
    sandbox.put("file", OURS);
    check_file_system(&File::open(sandbox.path("file")).unwrap()).unwrap();
    let of_kernel = File::open("/proc/self/status").unwrap();
    check_file_system(&of_kernel).unwrap_err();
}

#[tokio::test]
async fn a_huge_file_is_not_held_in_memory() {
    let sandbox = TestWorkspace::new();
    let huge = File::create(sandbox.path("huge")).unwrap();
    huge.set_len(2 << 30).unwrap();
    let mut shown = Vec::new();
    for (tool, arguments) in calls("huge") {
        if tool != "write" {
            shown.push(text(&sandbox.run(tool, arguments).await));
        }
    }
    shown.push(sandbox.good("ls", json!({})).await);
    shown.push(sandbox.good("grep", json!({ "pattern": "." })).await);
    insta::assert_snapshot!(shown.join("\n"), @"
    cannot read huge: is a binary file, neither text nor an image; look at it with a command
    cannot edit huge: is larger than 10000000 bytes; change it with a command; nothing was changed
    cannot list huge: is a file, not a folder; name a folder
    cannot look in huge: is a file, not a folder; name a folder
    [nothing matches in 0 files]
    [1 binary file skipped: huge]

    huge (2147483648 bytes)

    [nothing matches in 0 files]
    [1 binary file skipped: huge]
    ");
    let write = json!({ "path": "huge", "content": "small" });
    sandbox.good("write", write).await;
    assert_eq!(sandbox.content("huge"), "small");
}

/// Not every system allows such names.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_and_contents_that_are_no_text_are_shown_all_the_same() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = TestWorkspace::new();
    for (name, content) in [
        (&b"bad\xff"[..], &b"x\xffy\n"[..]),
        (b"new\nline\x1b", b"x\n"),
    ] {
        let path = sandbox.path("").join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, content).unwrap();
    }
    insta::assert_snapshot!(sandbox.good("ls", json!({})).await, @"
    bad� (4 bytes)
    new�line� (2 bytes)
    ");
    insta::assert_snapshot!(sandbox.good("find", json!({ "pattern": "*" })).await, @"
    bad�
    new�line�
    ");
    insta::assert_snapshot!(sandbox.good("grep", json!({ "pattern": "x" })).await, @"
    bad�:1: x�y
    new�line�:1: x
    ");
}

#[tokio::test]
async fn what_killed_writes_left_is_swept_by_the_next() {
    let sandbox = TestWorkspace::new();
    let name = |first: char| format!(".agent-cli-{first}{}", "0".repeat(31));
    let [old, fresh, folder] = [name('a'), name('b'), name('c')];
    let kept = [".agent-cli-notes", ".agent-cli-000", fresh.as_str()];
    for name in kept.iter().chain([&old.as_str()]) {
        sandbox.put(name, "");
        if *name != fresh {
            let file = File::options()
                .write(true)
                .open(sandbox.path(name))
                .unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH)
                .unwrap();
        }
    }
    fs::create_dir(sandbox.path(&folder)).unwrap();
    let write = json!({ "path": "file", "content": "x" });
    sandbox.good("write", write).await;
    assert!(!sandbox.path(&old).exists());
    assert!(sandbox.path(&folder).is_dir());
    for name in kept {
        assert!(sandbox.path(name).exists(), "{name}");
    }
}
