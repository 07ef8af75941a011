//! Ways out of the workspace, tried with every tool that is to stay in it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{TestWorkspace, text};
use crate::Workspace;
use crate::builtin::replace::replace;
use crate::file::{Gate, Target};
use crate::workspace::resolved::Purpose;

/// What nobody may see.
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

/// Puts files outside: each name and each content there tells a leak.
fn put_secrets(house: &TestWorkspace) {
    fs::create_dir(house.outside("folder")).unwrap();
    for name in ["file", "hidden-away-name", "folder/file"] {
        fs::write(house.outside(name), SECRET).unwrap();
    }
}

/// Returns every name and content outside.
fn outside(house: &TestWorkspace) -> BTreeMap<PathBuf, Option<String>> {
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
    look(&house.outside(""), &mut found);
    found
}

#[tokio::test]
async fn no_tool_goes_where_a_path_or_a_link_leads_out() {
    let house = TestWorkspace::new();
    put_secrets(&house);
    let before = outside(&house);
    fs::create_dir(house.path("sub")).unwrap();
    house.link("file-link", house.outside("file"));
    house.link("folder-link", house.outside(""));
    house.link("sub/up", "../../outside");
    house.link("chain", "sub/up/folder");
    house.link("new-link", house.outside("new"));
    let absolute = house.outside("file");
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
            let said = house.bad(tool, arguments).await;
            assert!(
                said.contains("outside the workspace"),
                "{tool} {path}: {said}"
            );
            assert!(!said.contains(SECRET), "{tool} {path}: {said}");
        }
    }
    for (tool, arguments) in calls(".") {
        let said = text(&house.run(tool, arguments).await);
        assert!(!said.contains(SECRET), "{tool}: {said}");
    }
    assert_eq!(outside(&house), before);
}

/// A folder `flip` of the workspace and, as `other`, a link to the folder outside.
fn put_flip(house: &TestWorkspace) {
    put_secrets(house);
    fs::create_dir_all(house.path("flip/folder")).unwrap();
    house.put("flip/file", OURS);
    house.put("flip/folder/file", OURS);
    house.link("other", house.outside(""));
}

/// Gives each of the two the other's name.
fn swap(house: &TestWorkspace) {
    let [flip, other, spare] = ["flip", "other", "spare"].map(|name| house.path(name));
    fs::rename(&flip, &spare).unwrap();
    fs::rename(&other, &flip).unwrap();
    fs::rename(&spare, &other).unwrap();
}

#[test]
fn what_was_swapped_after_the_look_is_not_opened() {
    let house = TestWorkspace::new();
    put_flip(&house);
    let before = outside(&house);
    let [file, folder, new] =
        ["flip/file", "flip/folder", "flip/new/deep"].map(|name| house.place(name));
    let target = Target::at(&file).unwrap();
    swap(&house);
    file.open(Purpose::Read).unwrap_err();
    file.open(Purpose::TryWrite).unwrap_err();
    folder.folder().unwrap_err();
    for (place, target) in [(&file, &target), (&new, &Target::New)] {
        let refused = replace(place, b"changed", target, &Gate::default(), || Ok(()));
        assert!(refused.unwrap_err().contains("no folder"));
    }
    assert_eq!(outside(&house), before);
    swap(&house);
    // The last name of a path, too.
    fs::remove_file(house.path("flip/file")).unwrap();
    house.link("flip/file", house.outside("file"));
    let refused = file.open(Purpose::Read).unwrap_err().to_string();
    assert!(refused.contains("is a link"), "{refused}");
    replace(&file, b"changed", &target, &Gate::default(), || Ok(())).unwrap();
    assert_eq!(house.content("flip/file"), "changed");
    assert_eq!(outside(&house), before);
}

#[test]
fn what_is_swapped_during_a_write_is_not_written_to() {
    let house = TestWorkspace::new();
    put_flip(&house);
    let before = outside(&house);
    for (name, content) in [
        ("flip/file", "one"),
        ("flip/new", "two"),
        ("flip/a/b", "three"),
    ] {
        let place = house.place(name);
        let target = Target::at(&place).unwrap();
        let written = replace(
            &place,
            content.as_bytes(),
            &target,
            &Gate::default(),
            || {
                swap(&house);
                Ok(())
            },
        );
        written.unwrap();
        // The folder that was opened has the file, under the name that it has by now.
        assert_eq!(house.content(&name.replace("flip", "other")), content);
        swap(&house);
    }
    assert_eq!(outside(&house), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_flips_all_the_time_shows_nothing_of_outside() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let house = TestWorkspace::new();
    put_flip(&house);
    let before = outside(&house);
    let done = AtomicBool::new(false);
    let (flip, other) = (house.path("flip"), house.path("other"));
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
                            let said = text(&house.run(tool, arguments).await);
                            assert!(!said.contains(SECRET), "{tool} {path}: {said}");
                        }
                    }
                    let new = format!("flip/new{round}/deep");
                    let new = json!({ "path": new, "content": "changed" });
                    house.run("write", new).await;
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
    assert_eq!(outside(&house), before);
}

#[tokio::test]
async fn a_change_of_a_hard_link_leaves_the_other_file_as_it_was() {
    let house = TestWorkspace::new();
    put_secrets(&house);
    let before = outside(&house);
    for tool in ["write", "edit"] {
        let twin = format!("{tool}-twin");
        fs::hard_link(house.outside("file"), house.path(&twin)).unwrap();
        let read = house.good("read", json!({ "path": twin })).await;
        assert_eq!(read, SECRET);
        for (name, arguments) in calls(&twin) {
            if name == tool {
                house.good(tool, arguments).await;
            }
        }
        assert_eq!(house.content(&twin), "changed");
    }
    assert_eq!(outside(&house), before);
}

#[tokio::test]
async fn what_is_no_file_holds_no_tool_up() {
    let house = TestWorkspace::new();
    house.fifo("pipe");
    let _socket = std::os::unix::net::UnixListener::bind(house.path("socket")).unwrap();
    fs::create_dir(house.path("sub")).unwrap();
    // Files with rules are opened by searches, also where nobody names them.
    for name in [".gitignore", "sub/.ignore", ".git"] {
        house.fifo(name);
    }
    house.put("sub/file", OURS);
    for name in ["pipe", "socket", ".gitignore"] {
        for (tool, arguments) in calls(name) {
            let said = house.bad(tool, arguments).await;
            let what = if name == "socket" {
                "a socket"
            } else {
                "a named pipe"
            };
            assert!(said.contains(what), "{tool} {name}: {said}");
        }
    }
    let found = house.good("grep", json!({ "pattern": "." })).await;
    assert_eq!(found, "sub/file:1: ours\n");
    let found = house.good("find", json!({ "pattern": "*" })).await;
    assert_eq!(
        found,
        ".gitignore\npipe\nsocket\nsub/\nsub/.ignore\nsub/file\n"
    );
}

/// Runs every tool on each path of the system, and returns what they said.
#[cfg(target_os = "linux")]
async fn everything_is_refused(house: &TestWorkspace, paths: &[&str], reason: &str) {
    for path in paths {
        for (tool, arguments) in calls(path) {
            let said = house.bad(tool, arguments).await;
            assert!(said.contains(reason), "{tool} {path}: {said}");
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_the_kernel_is_opened() {
    let mut house = TestWorkspace::new();
    house.link("environ", "/proc/self/environ");
    house.link("zero", "/dev/zero");
    house.link("proc", "/proc");
    let links = ["environ", "zero", "proc", "proc/self/environ"];
    everything_is_refused(&house, &links, "outside the workspace").await;
    // Where everything is the workspace, the system still is not.
    house.context.workspace = Workspace::open("/".as_ref()).unwrap().into();
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
                house.bad(tool, arguments).await;
                continue;
            }
            let said = house.bad(tool, arguments).await;
            let missing = said.contains("does not exist");
            assert!(said.contains(refused) || missing, "{tool} {path}: {said}");
        }
    }
    for path in ["/proc", "/proc/self", "/sys", "/dev"] {
        for (tool, arguments) in calls(path) {
            let said = house.bad(tool, arguments).await;
            assert!(!said.contains("environ"), "{tool} {path}: {said}");
        }
    }
    let new = json!({ "path": "/dev/agent-cli-new", "content": "x" });
    let said = house.bad("write", new).await;
    assert!(said.contains(refused), "{said}");
}

/// The kernel's files are told by their file system too, wherever it is mounted.
#[cfg(target_os = "linux")]
#[test]
fn the_file_system_of_what_was_opened_counts() {
    use crate::workspace::resolved::check_file_system;
    let house = TestWorkspace::new();
    house.put("file", OURS);
    check_file_system(&File::open(house.path("file")).unwrap()).unwrap();
    let of_kernel = File::open("/proc/self/status").unwrap();
    check_file_system(&of_kernel).unwrap_err();
}

#[tokio::test]
async fn a_huge_file_is_not_held_in_memory() {
    let house = TestWorkspace::new();
    let huge = File::create(house.path("huge")).unwrap();
    huge.set_len(2 << 30).unwrap();
    let mut shown = Vec::new();
    for (tool, arguments) in calls("huge") {
        if tool != "write" {
            shown.push(text(&house.run(tool, arguments).await));
        }
    }
    shown.push(house.good("ls", json!({})).await);
    shown.push(house.good("grep", json!({ "pattern": "." })).await);
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
    house.good("write", write).await;
    assert_eq!(house.content("huge"), "small");
}

/// Not every system allows such names.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_and_contents_that_are_no_text_are_shown_all_the_same() {
    use std::os::unix::ffi::OsStrExt;
    let house = TestWorkspace::new();
    for (name, content) in [
        (&b"bad\xff"[..], &b"x\xffy\n"[..]),
        (b"new\nline\x1b", b"x\n"),
    ] {
        let path = house.path("").join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, content).unwrap();
    }
    insta::assert_snapshot!(house.good("ls", json!({})).await, @"
    bad� (4 bytes)
    new�line� (2 bytes)
    ");
    insta::assert_snapshot!(house.good("find", json!({ "pattern": "*" })).await, @"
    bad�
    new�line�
    ");
    insta::assert_snapshot!(house.good("grep", json!({ "pattern": "x" })).await, @"
    bad�:1: x�y
    new�line�:1: x
    ");
}

#[tokio::test]
async fn what_killed_writes_left_is_swept_by_the_next() {
    let house = TestWorkspace::new();
    let name = |first: char| format!(".agent-cli-{first}{}", "0".repeat(31));
    let [old, fresh, folder] = [name('a'), name('b'), name('c')];
    let kept = [".agent-cli-notes", ".agent-cli-000", fresh.as_str()];
    for name in kept.iter().chain([&old.as_str()]) {
        house.put(name, "");
        if *name != fresh {
            let file = File::options().write(true).open(house.path(name)).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH)
                .unwrap();
        }
    }
    fs::create_dir(house.path(&folder)).unwrap();
    let write = json!({ "path": "file", "content": "x" });
    house.good("write", write).await;
    assert!(!house.path(&old).exists());
    assert!(house.path(&folder).is_dir());
    for name in kept {
        assert!(house.path(name).exists(), "{name}");
    }
}
