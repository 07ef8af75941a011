//! Which files may be touched.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::TestWorkspace;
use crate::Workspace;

/// Returns what `path` leads to, named from the folder of the sandbox on, or the error in its words.
fn resolve(sandbox: &TestWorkspace, path: &str) -> String {
    let folder = sandbox.folder.path().canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let path = path.replace("$", folder);
    match sandbox.context.workspace.resolve(&path) {
        Ok(found) => found.display().to_string().replace(folder, "$"),
        Err(reason) => reason.replace(folder, "$"),
    }
}

#[test]
fn paths_stay_in_the_workspace() {
    let sandbox = TestWorkspace::new();
    fs::create_dir(sandbox.path("sub")).unwrap();
    sandbox.put("file", "");
    sandbox.link("link", "sub");
    sandbox.link("out", sandbox.outside(""));
    sandbox.link("out-file", sandbox.outside("secret"));
    sandbox.link("nowhere", sandbox.outside("not-yet"));
    sandbox.link("inside-new", "sub/not-yet");
    sandbox.link("ring", "ring");
    let paths = [
        "file",
        "./sub/../file",
        "sub/new/deep",
        "$/work/file",
        "link/new",
        "inside-new",
        "..",
        "../outside/x",
        "sub/../../outside/x",
        "../work/file",
        "../work-2/file",
        "/etc/passwd",
        "$/outside/x",
        "out/x",
        "out/new/x",
        "out-file",
        "nowhere",
        "sub/new/../x",
        "file/x",
        "ring",
        "~/x",
        "",
        "a\0b",
    ];
    let shown: Vec<String> = paths
        .iter()
        .map(|path| format!("{path:?} -> {}", resolve(&sandbox, path)))
        .collect();
    assert_snapshot!(shown.join("\n"), @r#"
    "file" -> $/work/file
    "./sub/../file" -> $/work/file
    "sub/new/deep" -> $/work/sub/new/deep
    "$/work/file" -> $/work/file
    "link/new" -> $/work/sub/new
    "inside-new" -> $/work/sub/not-yet
    ".." -> path: ..: outside the workspace $/work; only files in it may be touched
    "../outside/x" -> path: ../outside/x: outside the workspace $/work; only files in it may be touched
    "sub/../../outside/x" -> path: sub/../../outside/x: outside the workspace $/work; only files in it may be touched
    "../work/file" -> $/work/file
    "../work-2/file" -> path: ../work-2/file: outside the workspace $/work; only files in it may be touched
    "/etc/passwd" -> path: /etc/passwd: outside the workspace $/work; only files in it may be touched
    "$/outside/x" -> path: $/outside/x: outside the workspace $/work; only files in it may be touched
    "out/x" -> path: out/x: outside the workspace $/work; only files in it may be touched
    "out/new/x" -> path: out/new/x: outside the workspace $/work; only files in it may be touched
    "out-file" -> path: out-file: outside the workspace $/work; only files in it may be touched
    "nowhere" -> path: nowhere: outside the workspace $/work; only files in it may be touched
    "sub/new/../x" -> path: sub/new/../x: goes up from a folder that does not exist; leave the .. out
    "file/x" -> path: file/x: leads through something that is not a folder
    "ring" -> path: ring: leads through a ring of links
    "~/x" -> path: ~/x: ~ stands for nothing here; name the file from the workspace on
    "" -> path: is empty; name a file of the workspace
    "a\0b" -> path: holds a NUL character, which no file name has
    "#);
}

#[test]
fn a_workspace_is_a_folder_that_exists() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "");
    let file = Workspace::open(&sandbox.path("file")).unwrap_err();
    assert!(file.to_string().contains("is not a folder"), "{file}");
    let missing = Workspace::open(&sandbox.path("missing")).unwrap_err();
    assert!(missing.to_string().contains("cannot open"), "{missing}");
}

#[tokio::test]
async fn nothing_outside_is_read_or_written() {
    let sandbox = TestWorkspace::new();
    let secret = sandbox.outside("secret");
    fs::write(&secret, "hidden").unwrap();
    sandbox.link("file-link", &secret);
    sandbox.link("folder-link", sandbox.outside(""));
    sandbox.link("new-link", sandbox.outside("new"));
    let absolute = secret.to_str().unwrap();
    for path in [
        "../outside/secret",
        absolute,
        "file-link",
        "folder-link/secret",
    ] {
        let read = sandbox.bad("read", json!({ "path": path })).await;
        assert!(read.contains("outside the workspace"), "{read}");
        let write = json!({ "path": path, "content": "x" });
        let write = sandbox.bad("write", write).await;
        assert!(write.contains("outside the workspace"), "{write}");
        let edit = json!({ "path": path, "old_text": "hidden", "new_text": "x" });
        let edit = sandbox.bad("edit", edit).await;
        assert!(edit.contains("outside the workspace"), "{edit}");
    }
    for path in ["new-link", "folder-link/new", "folder-link/a/b"] {
        let write = json!({ "path": path, "content": "x" });
        let write = sandbox.bad("write", write).await;
        assert!(write.contains("outside the workspace"), "{write}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "hidden");
    assert_eq!(fs::read_dir(sandbox.outside("")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_link_inside_leads_to_its_file_and_stays() {
    let sandbox = TestWorkspace::new();
    sandbox.put("file", "one");
    sandbox.link("link", "file");
    let write = json!({ "path": "link", "content": "two" });
    sandbox.good("write", write).await;
    assert_eq!(sandbox.content("file"), "two");
    assert!(
        sandbox
            .path("link")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );
}

/// Settings that are changed now would be in force at the next start.
#[tokio::test]
async fn settings_of_the_workspace_are_read_and_not_changed() {
    let sandbox = TestWorkspace::new();
    fs::create_dir(sandbox.path(".agent-cli")).unwrap();
    sandbox.put(".agent-cli/settings.json", "{}\n");
    sandbox.link("link", ".agent-cli");
    for path in [
        ".agent-cli/settings.json",
        ".agent-cli/new/deep.json",
        "link/settings.json",
        "sub/.agent-cli/settings.json",
        ".Agent-CLI/settings.json",
        ".agent-cli",
    ] {
        let reason = "settings in .agent-cli are the user's alone; say what is to be changed there";
        let write = json!({ "path": path, "content": "{\"systemPrompt\": \"x\"}" });
        let said = sandbox.bad("write", write).await;
        assert!(said.contains(path) && said.contains(reason), "{said}");
        let edit = json!({ "path": path, "edits": [{ "old_text": "{}", "new_text": "[]" }] });
        let said = sandbox.bad("edit", edit).await;
        assert!(said.contains(path) && said.contains(reason), "{said}");
    }
    assert_eq!(sandbox.content(".agent-cli/settings.json"), "{}\n");
    assert!(!sandbox.path("sub").exists() && !sandbox.path(".agent-cli/new").exists());
    let read = json!({ "path": ".agent-cli/settings.json" });
    assert!(sandbox.good("read", read).await.contains("{}"));
    // A name that only begins so is a file as any other.
    let write = json!({ "path": ".agent-cli-notes", "content": "x" });
    sandbox.good("write", write).await;
}
