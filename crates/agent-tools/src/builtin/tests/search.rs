//! `ls`, `find` and `grep`: what is shown, what is left out, and what is said of it.

use std::fs;
use std::ops::ControlFlow;

use insta::assert_snapshot;
use serde_json::json;

use super::{TestWorkspace, text};
use crate::builtin::walk::walk;
use crate::file::CommitPoint;

/// Returns a sandbox with a small project.
fn project() -> TestWorkspace {
    let sandbox = TestWorkspace::new();
    for folder in ["src/deep", "target", ".git/info", ".hidden", "docs"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    sandbox.put(".gitignore", "/target\n*.log\n!keep.log\n");
    sandbox.put(".git/info/exclude", "private\n");
    sandbox.put(".git/config", "needle\n");
    sandbox.put("target/out.rs", "needle\n");
    sandbox.put("private", "needle\n");
    sandbox.put("debug.log", "needle\n");
    sandbox.put("keep.log", "needle\n");
    sandbox.put(".hidden/file", "needle\n");
    sandbox.put("docs/.ignore", "draft*\n");
    sandbox.put("docs/draft.md", "needle\n");
    sandbox.put("docs/guide.md", "no\n");
    sandbox.put(
        "src/main.rs",
        "fn main() {\n    // Needle\n    needle();\n}\n",
    );
    sandbox.put("src/deep/more.rs", "one\ntwo\nneedle\nfour\nfive\n");
    sandbox.put("binary", b"needle\0\x01");
    sandbox.link("link.rs", "src/main.rs");
    sandbox.link("away", "/nowhere");
    sandbox
}

#[tokio::test]
async fn ls_shows_everything_in_a_folder() {
    let sandbox = project();
    sandbox.fifo("pipe");
    assert_snapshot!(sandbox.good("ls", json!({})).await, @"
    .git/
    .gitignore (24 bytes)
    .hidden/
    away -> /nowhere
    binary (8 bytes)
    debug.log (7 bytes)
    docs/
    keep.log (7 bytes)
    link.rs -> src/main.rs
    pipe (a named pipe)
    private (7 bytes)
    src/
    target/
    ");
    assert_snapshot!(sandbox.good("ls", json!({ "path": "src" })).await, @"
    deep/
    main.rs (42 bytes)
    ");
    assert_snapshot!(sandbox.good("ls", json!({ "path": ".", "limit": 2 })).await, @"
    .git/
    .gitignore (24 bytes)
    [2 of 13 names are shown; set limit to see more, or use find with a pattern]
    ");
    fs::create_dir(sandbox.path("empty")).unwrap();
    assert_snapshot!(sandbox.good("ls", json!({ "path": "empty" })).await, @"[the folder is empty]");
    let mut shown = Vec::new();
    for path in ["src/main.rs", "missing", "pipe"] {
        shown.push(sandbox.bad("ls", json!({ "path": path })).await);
    }
    assert_snapshot!(shown.join("\n"), @"
    cannot list src/main.rs: is a file, not a folder; name a folder
    cannot list missing: does not exist
    cannot list pipe: is a named pipe, not a folder; name a folder
    ");
}

#[tokio::test]
async fn find_leaves_out_what_is_ignored() {
    let sandbox = project();
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*" })).await, @"
    .gitignore
    .hidden/
    .hidden/file
    away
    binary
    docs/
    docs/.ignore
    docs/guide.md
    keep.log
    link.rs
    src/
    src/deep/
    src/deep/more.rs
    src/main.rs
    ");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*.rs" })).await, @"
    link.rs
    src/deep/more.rs
    src/main.rs
    ");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "src/*.rs" })).await, @"src/main.rs");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "**/{more,guide}.*" })).await, @"
    docs/guide.md
    src/deep/more.rs
    ");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*.rs", "path": "src/deep" })).await, @"src/deep/more.rs");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*.rs", "path": "target" })).await, @"target/out.rs");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*.py" })).await, @"[no name matches; ignored files were not looked at]");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*", "limit": 2 })).await, @"
    .gitignore
    .hidden/
    [the first 2 are shown and there are more; narrow the pattern, name a folder in path, or set limit]
    ");
    assert_snapshot!(sandbox.bad("find", json!({ "pattern": "*", "path": "src/main.rs" })).await, @"cannot look in src/main.rs: is a file, not a folder; name a folder");
    assert_snapshot!(sandbox.bad("find", json!({ "pattern": "*", "path": "missing" })).await, @"cannot look in missing: does not exist");
}

/// The rules of a repository hold also where only a part of it is worked in.
#[tokio::test]
async fn rules_above_the_workspace_hold() {
    let sandbox = TestWorkspace::new();
    let above = sandbox.folder.path();
    fs::write(above.join(".gitignore"), "*.log\n").unwrap();
    sandbox.put("a.log", "");
    sandbox.put("b.txt", "");
    let all = sandbox.good("find", json!({ "pattern": "*" })).await;
    assert_eq!(all, "a.log\nb.txt\n");
    fs::create_dir(above.join(".git")).unwrap();
    let fewer = sandbox.good("find", json!({ "pattern": "*" })).await;
    assert_eq!(fewer, "b.txt\n");
}

#[test]
fn a_walk_ends_at_a_cancellation() {
    let sandbox = project();
    let top = sandbox.context.workspace.top();
    let commit = CommitPoint::default();
    let mut visited = 0;
    let walked = walk(&top, &commit, |_| {
        visited += 1;
        commit.cancel();
        ControlFlow::Continue(())
    });
    assert_eq!(walked.unwrap_err(), "cancelled");
    assert_eq!(visited, 1);
    let walked = walk(&top, &commit, |_| panic!("visited all the same"));
    assert_eq!(walked.unwrap_err(), "cancelled");
}

#[tokio::test]
async fn too_deep_a_folder_is_left_out_and_said() {
    let sandbox = TestWorkspace::new();
    let mut deep = sandbox.path("");
    for _ in 0..258 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "needle\n").unwrap();
    let found = json!({ "pattern": "needle" });
    assert_snapshot!(sandbox.good("grep", found).await, @"
    [nothing matches in 0 files]
    [1 folder more than 256 deep left out; name one in path]
    ");
}

#[tokio::test]
async fn grep_shows_lines_with_their_places() {
    let sandbox = project();
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "needle" })).await, @"
    .hidden/file:1: needle
    keep.log:1: needle
    src/deep/more.rs:3: needle
    src/main.rs:3:     needle();
    [1 binary file skipped: binary]
    ");
    let any_case = json!({ "pattern": "^ *(// )?needle", "ignore_case": true, "path": "src" });
    assert_snapshot!(sandbox.good("grep", any_case).await, @"
    src/deep/more.rs:3: needle
    src/main.rs:2:     // Needle
    src/main.rs:3:     needle();
    ");
    let around = json!({ "pattern": "needle", "context": 1, "glob": "*.rs" });
    assert_snapshot!(sandbox.good("grep", around).await, @"
    src/deep/more.rs-2- two
    src/deep/more.rs:3: needle
    src/deep/more.rs-4- four
    --
    src/main.rs-2-     // Needle
    src/main.rs:3:     needle();
    src/main.rs-4- }
    ");
    let literal = json!({ "pattern": "main() {", "literal": true });
    assert_snapshot!(sandbox.good("grep", literal).await, @"
    src/main.rs:1: fn main() {
    [1 binary file skipped: binary]
    ");
    let one = json!({ "pattern": "e", "path": "src/deep/more.rs", "limit": 2 });
    let output = sandbox.run("grep", one).await;
    assert_snapshot!(text(&output), @"
    src/deep/more.rs:1: one
    src/deep/more.rs:3: needle
    [2 matching lines shown and there are more; narrow it with path or glob, or set limit]
    ");
    assert_eq!(
        output.details.unwrap(),
        json!({ "matches": 2, "files": 1, "more": true })
    );
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "nowhere" })).await, @"
    [nothing matches in 7 files]
    [1 binary file skipped: binary]
    ");
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "needle", "path": "target" })).await, @"target/out.rs:1: needle");
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "x", "path": "binary" })).await, @"
    [nothing matches in 0 files]
    [1 binary file skipped: binary]
    ");
    assert_snapshot!(sandbox.bad("grep", json!({ "pattern": "x", "path": "missing" })).await, @"cannot search missing: does not exist");
}

#[tokio::test]
async fn groups_of_context_are_parted() {
    let sandbox = TestWorkspace::new();
    sandbox.put("a", "1\nx\n3\n4\n5\n6\nx\n8\n");
    sandbox.put("b", "x\n");
    let shown = json!({ "pattern": "x", "context": 1 });
    assert_snapshot!(sandbox.good("grep", shown).await, @"
    a-1- 1
    a:2: x
    a-3- 3
    --
    a-6- 6
    a:7: x
    a-8- 8
    --
    b:1: x
    ");
}

#[tokio::test]
async fn a_pattern_that_cannot_be_used_is_refused() {
    let sandbox = project();
    let mut shown = Vec::new();
    for pattern in [
        "(",
        "a\\nb",
        "a\nb",
        "(((a{1000}){1000}){1000})",
        "\\w{9999}",
    ] {
        shown.push(sandbox.bad("grep", json!({ "pattern": pattern })).await);
    }
    let literal = json!({ "pattern": "a\nb", "literal": true });
    shown.push(sandbox.bad("grep", literal).await);
    let long = json!({ "pattern": format!("({}", "x".repeat(100_000)) });
    let long = sandbox.bad("grep", long).await;
    assert!(long.len() < 1000, "{} bytes", long.len());
    assert_snapshot!(shown.join("\n"), @"
    pattern: unclosed group; mend it, or set literal to true to look for the text as it is
    pattern: spans lines, and each is searched by itself; take one of them
    pattern: spans lines, and each is searched by itself; take one of them
    pattern: compiled regex exceeds size limit of 1048576; mend it, or set literal to true to look for the text as it is
    pattern: compiled regex exceeds size limit of 1048576; mend it, or set literal to true to look for the text as it is
    pattern: spans lines, and each is searched by itself; take one of them
    ");
}

#[tokio::test]
async fn results_are_no_longer_than_they_may_be() {
    let mut sandbox = TestWorkspace::new();
    for number in 0..50 {
        sandbox.put(&format!("file{number:02}"), "needle\n".repeat(10));
    }
    sandbox.context.limits.output_bytes = 60;
    assert_snapshot!(sandbox.good("ls", json!({})).await, @"
    file00 (70 bytes)
    file01 (70 bytes)
    file02 (70 bytes)
    [3 of 50 names are shown; use find with a pattern]
    ");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*" })).await, @"
    file00
    file01
    file02
    file03
    file04
    file05
    file06
    file07
    [the first 8 are shown and there are more; narrow the pattern, or name a folder in path]
    ");
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "needle" })).await, @"
    file00:1: needle
    file00:2: needle
    file00:3: needle
    [3 matching lines shown and there are more; narrow it with path or glob]
    ");
    sandbox.context.limits.output_bytes = 50_000;
    sandbox.context.limits.output_lines = 3;
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "needle" })).await, @"
    file00:1: needle
    file00:2: needle
    file00:3: needle
    [3 matching lines shown and there are more; narrow it with path or glob]
    ");
    sandbox.context.limits.output_lines = 2000;
    sandbox.put(
        "file00",
        format!("{}needle{}\n", "a".repeat(5000), "b".repeat(5000)),
    );
    let long = sandbox
        .good("grep", json!({ "pattern": "needle", "path": "file00" }))
        .await;
    assert!(long.contains("needle") && long.len() < 700, "{long}");
}

#[tokio::test]
async fn text_of_any_encoding_is_searched() {
    let sandbox = TestWorkspace::new();
    sandbox.put("latin", b"caf\xe9 needle\n");
    let mut wide = vec![0xff, 0xfe];
    wide.extend("wide needle\r\n".encode_utf16().flat_map(u16::to_le_bytes));
    sandbox.put("utf16", wide);
    sandbox.put("bom", "\u{feff}needle\n");
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "^.*needle$" })).await, @"
    bom:1: needle
    utf16:1: wide needle
    ");
}
