//! `read` and `write`.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use session_model::Block;

use super::{TestWorkspace, text};
use crate::builtin::image;
use crate::builtin::replace::replace;
use crate::context::Archive;
use crate::file::{CommitPoint, Target};

#[tokio::test]
async fn a_text_is_shown_as_it_is() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "one\n\ttwo ü\n\nlast");
    let shown = sandbox.good("read", json!({ "path": "file" })).await;
    assert_eq!(shown, "one\n\ttwo ü\n\nlast");
    sandbox.put("empty", "");
    let shown = sandbox.good("read", json!({ "path": "empty" })).await;
    assert_eq!(shown, "[the file is empty]\n");
}

#[tokio::test]
async fn a_page_names_the_next_offset() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "1\n2\n3\n4\n5\n");
    let page = json!({ "path": "file", "offset": 2, "limit": 2 });
    let shown = sandbox.run("read", page).await;
    assert_snapshot!(text(&shown), @"
    2
    3
    [lines 2 to 3 are shown and more follow; read on with offset 4]
    ");
    assert_eq!(shown.details.unwrap()["next_offset"], 4);
    let end = json!({ "path": "file", "offset": 4, "limit": 2 });
    assert_eq!(sandbox.good("read", end).await, "4\n5\n");
    let past = json!({ "path": "file", "offset": 6 });
    assert_snapshot!(sandbox.bad("read", past).await, @"cannot read file: offset: 6 is past the end; the file has 5 lines");
    let zero = json!({ "path": "file", "offset": 0 });
    assert_snapshot!(sandbox.bad("read", zero).await, @"the arguments do not fit: offset: invalid value: integer `0`, expected a nonzero u64");
}

#[tokio::test]
async fn pages_join_to_the_file() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.limits.output_bytes = 40;
    sandbox.context.limits.output_lines = 7;
    let lines: Vec<String> = (0..50).map(|line| "é".repeat(line % 12)).collect();
    let whole = lines.join("\n");
    sandbox.put("file", &whole);
    let mut joined = String::new();
    let mut offset = json!(1);
    while !offset.is_null() {
        let page = sandbox
            .run("read", json!({ "path": "file", "offset": offset }))
            .await;
        let shown = text(&page);
        let notice = shown.find("[lines ").unwrap_or(shown.len());
        assert!(notice <= 40, "{shown}");
        joined.push_str(&shown[..notice]);
        offset = page.details.unwrap()["next_offset"].clone();
    }
    assert_eq!(joined, whole);
}

#[tokio::test]
async fn a_long_line_is_cut() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.limits.line_chars = 5;
    sandbox.put("file", "üüüüü\nüüüüüü\nabcdefgh");
    let shown = sandbox.good("read", json!({ "path": "file" })).await;
    assert_snapshot!(shown, @"
    üüüüü
    üüüüü [2 more bytes in this line]
    abcde [3 more bytes in this line]
    ");
    sandbox.put("huge", format!("{}\nnext\n", "x".repeat(1_000_000)));
    let shown = sandbox.good("read", json!({ "path": "huge" })).await;
    assert_snapshot!(shown, @"
    xxxxx [999995 more bytes in this line]
    next
    ");
}

#[tokio::test]
async fn a_huge_file_is_never_held_whole() {
    let sandbox = TestWorkspace::new();
    let file = File::create(sandbox.path("huge")).unwrap();
    std::io::Write::write_all(&mut &file, &b"text\n".repeat(3000)).unwrap();
    // The rest is a hole: no disk is needed, and holding it would take more memory than there may be.
    file.set_len(1 << 41).unwrap();
    let shown = sandbox
        .good("read", json!({ "path": "huge", "limit": 1 }))
        .await;
    assert_snapshot!(shown, @"
    text
    [lines 1 to 1 are shown and more follow; read on with offset 2]
    ");
}

#[tokio::test]
async fn line_ends_and_control_characters_are_told() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "\u{feff}one\r\ntwo\u{1b}[1m\u{7}\r\n");
    let shown = sandbox.good("read", json!({ "path": "file" })).await;
    assert_snapshot!(shown, @"
    one
    two�[1m�
    [lines end in CR LF; edit keeps that]
    [control characters are shown as �]
    ");
}

#[tokio::test]
async fn an_image_is_a_block() {
    let mut sandbox = TestWorkspace::new();
    let png = png(1, 1);
    let images: [(&[u8], &str); 4] = [
        (&png, "image/png"),
        (
            b"\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0",
            "image/jpeg",
        ),
        (b"GIF89a\x01\0\x01\0", "image/gif"),
        (
            b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "image/webp",
        ),
    ];
    for (bytes, mime_type) in images {
        // The name does not count.
        sandbox.put("image.txt", bytes);
        let output = sandbox.run("read", json!({ "path": "image.txt" })).await;
        let Some(Block::Image(image)) = output.content.blocks().get(1) else {
            panic!("{output:?}");
        };
        assert_eq!(image.mime_type, mime_type);
        assert_eq!(&*image.data, image::base64(bytes));
    }
    sandbox.context.limits.image_bytes = 15;
    let shown = sandbox.bad("read", json!({ "path": "image.txt" })).await;
    assert_snapshot!(shown, @"cannot read image.txt: the image has 30 bytes and at most 15 are shown; make a smaller copy");
}

/// Returns a PNG of this size, without its pixels.
fn png(width: u32, height: u32) -> Vec<u8> {
    let chunk = |name: &[u8], data: &[u8]| {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length, name, data, &[0; 4]].concat()
    };
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let head = chunk(b"IHDR", &[&size[..], &[8, 0, 0, 0, 0]].concat());
    [b"\x89PNG\r\n\x1a\n".to_vec(), head, chunk(b"IEND", b"")].concat()
}

#[tokio::test]
async fn an_image_that_no_provider_takes_is_not_shown() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.limits.image_bytes = 9_000_000;
    let whole = png(8000, 1);
    let large = [whole.clone(), vec![0; 4_000_000]].concat();
    let images: [(&str, &[u8]); 5] = [
        ("wide.png", &png(9000, 20)),
        ("cut.png", &whole[..40]),
        (
            "garbage.png",
            b"\x89PNG\r\n\x1a\n and what is not a picture at all",
        ),
        (
            "cut.webp",
            b"RIFF\xff\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ),
        ("large.png", &large),
    ];
    let mut said = String::new();
    for (name, bytes) in images {
        sandbox.put(name, bytes);
        said += &sandbox.bad("read", json!({ "path": name })).await;
        said.push('\n');
    }
    assert_snapshot!(said, @"
    cannot read wide.png: no model can be shown the image: it has 9000 x 20 pixels and providers take at most 8000 on a side; make a smaller copy
    cannot read cut.png: no model can be shown the image: it is damaged; make a new copy
    cannot read garbage.png: no model can be shown the image: it is damaged; make a new copy
    cannot read cut.webp: no model can be shown the image: it is damaged; make a new copy
    cannot read large.png: no model can be shown the image: it has 5333396 bytes in base64 and providers take at most 5242880; make a smaller copy
    ");
}

#[test]
fn base64_is_that_of_rfc_4648() {
    let normalized: Vec<String> = ["", "f", "fo", "foo", "foob", "fooba", "foobar"]
        .iter()
        .map(|plain| image::base64(plain.as_bytes()))
        .collect();
    let expected = [
        "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
    ];
    assert_eq!(normalized, expected);
    assert_eq!(image::base64(&[0xfb, 0xff, 0xfe]), "+//+");
}

#[tokio::test]
async fn what_is_no_text_is_told_apart() {
    let sandbox = TestWorkspace::new();
    fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.put("binary", b"ELF\0\x01");
    sandbox.put("latin", b"caf\xe9\n");
    sandbox.put("late", [&b"x\n".repeat(8000)[..], b"a\0b\n"].concat());
    sandbox.fifo("fifo");
    let _socket = std::os::unix::net::UnixListener::bind(sandbox.path("socket")).unwrap();
    let mut shown = Vec::new();
    for path in ["missing", "folder", "binary", "latin", "fifo", "socket"] {
        shown.push(sandbox.bad("read", json!({ "path": path })).await);
        if path != "missing" && path != "binary" && path != "latin" {
            let write = json!({ "path": path, "content": "x" });
            shown.push(sandbox.bad("write", write).await);
        }
        let edit = json!({ "path": path, "old_text": "a", "new_text": "b" });
        shown.push(sandbox.bad("edit", edit).await);
    }
    let late = json!({ "path": "late", "offset": 8001 });
    shown.push(sandbox.bad("read", late).await);
    assert_snapshot!(shown.join("\n"), @"
    cannot read missing: does not exist
    cannot edit missing: does not exist; nothing was changed
    cannot read folder: is a folder, not a file; name a file in it
    cannot write folder: is a folder, not a file; name a file in it
    cannot edit folder: is a folder, not a file; name a file in it; nothing was changed
    cannot read binary: is a binary file, neither text nor an image; look at it with a command
    cannot edit binary: is not UTF-8 text; change it with a command; nothing was changed
    cannot read latin: line 1 is not UTF-8 text; look at the file with a command
    cannot edit latin: is not UTF-8 text; change it with a command; nothing was changed
    cannot read fifo: is a named pipe, not a regular file; leave it alone
    cannot write fifo: is a named pipe, not a regular file; leave it alone
    cannot edit fifo: is a named pipe, not a regular file; leave it alone; nothing was changed
    cannot read socket: is a socket, not a regular file; leave it alone
    cannot write socket: is a socket, not a regular file; leave it alone
    cannot edit socket: is a socket, not a regular file; leave it alone; nothing was changed
    cannot read late: is a binary file, neither text nor an image; look at it with a command
    ");
}

#[tokio::test]
async fn a_device_is_left_alone() {
    let mut sandbox = TestWorkspace::new();
    let devices = crate::Workspace::open("/dev".as_ref()).unwrap();
    sandbox.context.workspace = std::sync::Arc::new(devices);
    let shown = sandbox.bad("read", json!({ "path": "zero" })).await;
    assert_snapshot!(shown, @"cannot read zero: is a device, not a regular file; leave it alone");
    let write = json!({ "path": "null", "content": "x" });
    assert_snapshot!(sandbox.bad("write", write).await, @"cannot write null: is a device, not a regular file; leave it alone");
}

#[tokio::test]
async fn write_makes_and_replaces() {
    let sandbox = TestWorkspace::new();
    let new = json!({ "path": "a/b/file", "content": "one\ntwo" });
    let made = sandbox.run("write", new).await;
    assert_snapshot!(text(&made), @"made a/b/file: 7 bytes, 2 lines");
    let diff =
        "--- a/b/file\n+++ a/b/file\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n";
    assert_eq!(
        made.details,
        Some(json!({ "new": true, "bytes": 7, "lines": 2, "diff": diff }))
    );
    assert_eq!(sandbox.content("a/b/file"), "one\ntwo");
    fs::set_permissions(sandbox.path("a/b/file"), Permissions::from_mode(0o754)).unwrap();
    let again = json!({ "path": "a/b/file", "content": "" });
    let replaced = sandbox.run("write", again).await;
    assert_snapshot!(text(&replaced), @"replaced a/b/file: 0 bytes, 0 lines");
    let details = replaced.details.unwrap();
    assert_eq!(details["new"], Value::Bool(false));
    assert_snapshot!(details["diff"].as_str().unwrap(), @r"
    --- a/b/file
    +++ a/b/file
    @@ -1,2 +0,0 @@
    -one
    -two
    \ No newline at end of file
    ");
    let mode = sandbox
        .path("a/b/file")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o754);
    let names = fs::read_dir(sandbox.path("a/b")).unwrap().count();
    assert_eq!(names, 1, "something passing was left");
    let folder = json!({ "path": "a/new/", "content": "" });
    assert_snapshot!(sandbox.bad("write", folder).await, @"cannot write a/new/: names a folder; name a file in it");
}

#[tokio::test]
async fn a_new_file_has_the_permissions_that_others_get() {
    let sandbox = TestWorkspace::new();
    sandbox.put("usual", "");
    sandbox
        .good("write", json!({ "path": "new", "content": "" }))
        .await;
    let mode = |name: &str| sandbox.path(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("new"), mode("usual"));
}

#[test]
fn a_closed_gate_leaves_everything_as_it_was() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "one");
    let commit = CommitPoint::default();
    assert!(commit.cancel());
    let place = sandbox.place("file");
    let target = Target::at(&place).unwrap();
    let refused = replace(&place, b"two", &target, &commit, || Ok(()));
    assert_eq!(refused, Err("cancelled".to_owned()));
    let new = sandbox.place("a/b/new");
    let refused = replace(&new, b"two", &Target::New, &commit, || Ok(()));
    assert_eq!(refused, Err("cancelled".to_owned()));
    assert_eq!(sandbox.content("file"), "one");
    assert_eq!(fs::read_dir(sandbox.path("")).unwrap().count(), 1);
}

#[test]
fn a_gate_turns_once() {
    let commit = CommitPoint::default();
    assert!(commit.reach());
    assert!(!commit.cancel());
    assert!(!commit.is_cancelled());
}

#[test]
fn a_new_file_takes_nobodys_place() {
    let sandbox = TestWorkspace::new();
    let place = sandbox.place("file");
    let target = Target::at(&place).unwrap();
    let made = replace(&place, b"ours", &target, &CommitPoint::default(), || {
        sandbox.put("file", "theirs");
        Ok(())
    });
    assert!(made.unwrap_err().contains("meanwhile"));
    assert_eq!(sandbox.content("file"), "theirs");
}

#[tokio::test]
async fn nothing_is_done_once_cancelled() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "one");
    sandbox.context.cancel.cancel();
    let calls = [
        ("read", json!({ "path": "file" })),
        ("write", json!({ "path": "file", "content": "two" })),
        (
            "edit",
            json!({ "path": "file", "old_text": "one", "new_text": "two" }),
        ),
        ("bash", json!({ "command": "echo two > file" })),
        ("grep", json!({ "pattern": "one" })),
        ("find", json!({ "pattern": "file" })),
        ("ls", json!({})),
    ];
    for (tool, arguments) in calls {
        assert_eq!(sandbox.bad(tool, arguments).await, "cancelled");
    }
    assert_eq!(sandbox.content("file"), "one");
}

#[tokio::test]
async fn a_long_read_is_cancelled() {
    let sandbox = TestWorkspace::new();
    let file = File::create(sandbox.path("huge")).unwrap();
    std::io::Write::write_all(&mut &file, &b"text\n".repeat(20_000)).unwrap();
    file.set_len(1 << 41).unwrap();
    // Without a cancellation this reads through two terabytes.
    let read = sandbox.run("read", json!({ "path": "huge", "offset": 1_000_000 }));
    let cancel = async {
        tokio::task::yield_now().await;
        sandbox.context.cancel.cancel();
    };
    let (output, ()) = tokio::join!(read, cancel);
    assert_eq!(text(&output), "cancelled");
}

#[tokio::test]
async fn no_part_of_a_key_is_shown_where_a_line_is_cut() {
    const KEY: &str = "sk-0123456789abcdefghijklmnopqrstuvwxyz";
    let mut sandbox = super::bash::knowing(KEY);
    sandbox.context.limits.line_chars = 100;
    let clean = |shown: &str| !shown.contains("sk-0") && !shown.contains("wxyz");
    for before in [60, 80, 99, 100, 101, 16_700, 16_750, 16_784, 16_790] {
        let line = format!("{}{KEY}{}\n", "x".repeat(before), "y".repeat(100));
        sandbox.put("file", format!("first\n{line}last\n"));
        let shown = sandbox.good("read", json!({ "path": "file" })).await;
        assert!(clean(&shown), "{before}: {shown}");
        assert!(shown.contains("more bytes in this line") && shown.ends_with("last\n"));
        let edit = json!({ "path": "file", "old_text": "first", "new_text": "one" });
        sandbox.put("file", format!("first {line}"));
        let diff = sandbox.good("edit", edit).await;
        assert!(clean(&diff), "{before}: {diff}");
    }
}

#[tokio::test]
async fn a_kept_output_of_another_session_is_read_only_where_the_host_says_so() {
    let mut sandbox = TestWorkspace::new();
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("bash-1.txt");
    std::fs::write(&kept, "the whole output").unwrap();
    let arguments = json!({ "path": kept });
    sandbox.context.holds_outputs = Some(|_, _| false);
    sandbox.bad("read", arguments.clone()).await;
    sandbox.context.holds_outputs = Some(|_, _| true);
    let shown = sandbox.good("read", arguments).await;
    assert!(shown.contains("the whole output"), "{shown}");
}

#[derive(Debug)]
struct Stored;

impl Archive for Stored {
    fn output(&self, name: &str) -> Option<Vec<u8>> {
        (name == "bash-1.txt").then(|| b"the whole output".to_vec())
    }

    fn session(&self, _: &str) -> Option<session_model::SessionTree> {
        None
    }
}

#[tokio::test]
async fn an_output_that_another_run_stored_is_read_by_the_name_of_its_file() {
    let mut sandbox = TestWorkspace::new();
    let scratch = tempfile::tempdir().unwrap();
    sandbox.context.overflow = Some(scratch.path().join("s.jsonl.outputs"));
    sandbox.context.archive = Some(Arc::new(Stored));
    let named = |name: &str| json!({ "path": format!("/gone/s.jsonl.outputs/{name}") });
    for _ in 0..2 {
        let shown = sandbox.good("read", named("bash-1.txt")).await;
        assert!(shown.contains("the whole output"), "{shown}");
    }
    sandbox.bad("read", named("bash-2.txt")).await;
}
