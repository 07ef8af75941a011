//! Several folders, read-only folders, and files that only the user may change.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::TestWorkspace;
use crate::Workspace;

/// Returns a sandbox whose tools may also work in `more`, read `readable` and not touch `private`, all beside it.
fn house_with_folders() -> TestWorkspace {
    let mut sandbox = TestWorkspace::new();
    let at = |name: &str| sandbox.folder.path().join(name);
    for name in ["more", "readable", "private/skills", "work/private"] {
        fs::create_dir_all(at(name)).unwrap();
        fs::write(at(name).join("file"), format!("needle of {name}\n")).unwrap();
    }
    fs::write(at("private/file"), "needle of private\n").unwrap();
    let workspace = Workspace::open(&at("work")).unwrap();
    let workspace = workspace.with_folder(&at("more")).unwrap();
    let workspace = workspace.with_readable(&at("readable")).unwrap();
    let workspace = workspace.with_readable(&at("private/skills")).unwrap();
    let workspace = workspace.with_folder(&at("private")).unwrap();
    let workspace = workspace.with_protected(&at("private"));
    let workspace = workspace.with_protected(&at("work/private"));
    let workspace = workspace.with_protected(&at("work/later/deep"));
    sandbox.context.workspace = workspace.into();
    sandbox
}

#[tokio::test]
async fn each_folder_allows_what_it_is_for() {
    let sandbox = house_with_folders();
    let base = sandbox.folder.path().canonicalize().unwrap();
    let base = base.to_str().unwrap();
    let mut shown = Vec::new();
    let paths = [
        "$/more/file",
        "$/readable/file",
        "$/private/file",
        "$/private/skills/file",
        "private/file",
        "later/deep/file",
        "$/outside/file",
    ];
    for path in paths {
        let path = path.replace('$', base);
        let read = sandbox.run("read", json!({ "path": path })).await;
        let write = json!({ "path": path, "content": "changed" });
        let write = sandbox.run("write", write).await;
        shown.extend([super::text(&read), super::text(&write)]);
    }
    let shown = shown.join("\n").replace(base, "$");
    assert_snapshot!(shown, @"
    needle of more

    replaced $/more/file: 7 bytes, 1 line
    needle of readable

    path: $/readable/file: its folder may be read and not changed; say what is to be changed there
    path: $/private/file: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there
    path: $/private/file: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there
    needle of private/skills

    path: $/private/skills/file: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there
    path: private/file: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there
    path: private/file: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there
    path: later/deep/file: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there
    path: later/deep/file: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there
    path: $/outside/file: outside the workspace $/work and the other folders ($/more, $/readable, $/private/skills, $/private); only files in them may be touched
    path: $/outside/file: outside the workspace $/work and the other folders ($/more, $/readable, $/private/skills, $/private); only files in them may be touched
    ");
    let kept = fs::read_to_string(format!("{base}/private/file")).unwrap();
    assert_eq!(kept, "needle of private\n");
    assert!(!sandbox.path("later").exists());
}

#[tokio::test]
async fn searches_pass_over_what_is_protected() {
    let sandbox = house_with_folders();
    sandbox.put("own", "needle of work\n");
    assert_snapshot!(sandbox.good("grep", json!({ "pattern": "needle" })).await, @"own:1: needle of work");
    assert_snapshot!(sandbox.good("find", json!({ "pattern": "*" })).await, @"own");
    assert_snapshot!(sandbox.good("ls", json!({})).await, @"
    own (15 bytes)
    private/
    ");
    assert_snapshot!(sandbox.bad("ls", json!({ "path": "private" })).await, @"path: private: the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there");
    let base = sandbox.folder.path().canonicalize().unwrap();
    let base = base.to_str().unwrap();
    for folder in ["more", "private/skills"] {
        let path = format!("{base}/{folder}");
        let found = json!({ "pattern": "needle", "path": path });
        let found = sandbox.good("grep", found).await;
        assert_eq!(found, format!("{path}/file:1: needle of {folder}\n"));
    }
}

/// Another name for a protected file is no way to it.
#[tokio::test]
async fn what_is_protected_has_no_second_name() {
    let sandbox = house_with_folders();
    let inner = sandbox.folder.path().join("private/file");
    let mut with_file = TestWorkspace::new();
    with_file.context.workspace = (*sandbox.context.workspace)
        .clone()
        .with_protected(&inner)
        .into();
    fs::hard_link(&inner, sandbox.path("twin")).unwrap();
    let read = with_file.bad("read", json!({ "path": "twin" })).await;
    assert!(read.contains("the user's alone"), "{read}");
    let found = with_file
        .good("grep", json!({ "pattern": "private" }))
        .await;
    assert!(!found.contains("needle"), "{found}");
    sandbox.link("link", &inner);
    let read = with_file.bad("read", json!({ "path": "link" })).await;
    assert!(read.contains("the user's alone"), "{read}");
}
