//! Rules and policies as calls meet them, however a call writes the name of a file.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use super::TestWorkspace;
use crate::approval::{ApprovalStore, Approvals, Policy, Rule, RuleDecision};

/// Returns a sandbox with a denial for each of these, which overrides its policies.
fn against(rules: &[(&str, &str)], policies: &[(&str, Policy)]) -> (TestWorkspace, ApprovalStore) {
    let mut sandbox = TestWorkspace::new();
    let config = sandbox.folder.path().join("config");
    let memory = ApprovalStore::of(Some(&config), Path::new("/project")).unwrap();
    for (tool, pattern) in rules {
        let rule = Rule::of_pattern(tool, pattern).unwrap();
        memory.add(rule, RuleDecision::Denied).unwrap();
    }
    let policies = policies
        .iter()
        .map(|(tool, policy)| ((*tool).to_owned(), *policy));
    let approvals = Approvals::new(policies.collect(), false);
    sandbox.context.approvals = approvals.remembering(Ok(memory.clone()));
    (sandbox, memory)
}

#[tokio::test]
async fn what_a_rule_denies_is_refused_for_every_tool_and_spelling() {
    let rules = [("write", "x.txt"), ("read", "private/*"), ("ls", ".")];
    for policies in [&[][..], &[("write", Policy::Allow), ("*", Policy::Allow)]] {
        let (sandbox, _) = against(&rules, policies);
        std::fs::create_dir(sandbox.path("private")).unwrap();
        sandbox.put("private/key", "key");
        sandbox.put("y.txt", "y");
        sandbox.link("z.txt", "x.txt");
        let absolute = sandbox.path("x.txt");
        for path in [
            "x.txt",
            "./x.txt",
            "private/../x.txt",
            "z.txt",
            absolute.to_str().unwrap(),
        ] {
            let write = json!({ "path": path, "content": "x" });
            let refused = sandbox.bad("write", write).await;
            assert!(
                refused.contains("the user never allows this"),
                "{path}: {refused}"
            );
        }
        for path in ["private/key", "./private//key"] {
            sandbox.bad("read", json!({ "path": path })).await;
        }
        sandbox.bad("ls", json!({})).await;
        sandbox.good("read", json!({ "path": "y.txt" })).await;
        sandbox.good("ls", json!({ "path": "private" })).await;
        sandbox
            .good("write", json!({ "path": "x.txt2", "content": "x" }))
            .await;
        assert!(!sandbox.path("x.txt").exists());
    }
}

#[tokio::test]
async fn a_policy_for_all_tools_holds_for_those_that_need_no_approval() {
    let (sandbox, _) = against(&[], &[("*", Policy::Deny), ("ls", Policy::Allow)]);
    sandbox.put("file", "text");
    sandbox.good("ls", json!({})).await;
    assert_snapshot!(sandbox.bad("read", json!({ "path": "file" })).await, @"read is not allowed here; do it with the other tools, or say what is to be run");
}

#[tokio::test]
async fn where_rules_cannot_be_read_nothing_runs_unasked() {
    let (sandbox, memory) = against(&[("bash", "rm *")], &[("bash", Policy::Allow)]);
    std::fs::write(memory.file(), "{").unwrap();
    let folder = sandbox.folder.path().display().to_string();
    let calls = [
        ("bash", json!({ "command": "touch made" })),
        ("write", json!({ "path": "made", "content": "x" })),
    ];
    for (tool, arguments) in calls {
        let refused = sandbox.bad(tool, arguments).await.replace(&folder, "$");
        assert!(refused.contains("config/approvals.json"), "{refused}");
        assert!(
            refused.contains("fix the file or move it away"),
            "{refused}"
        );
    }
    assert!(!sandbox.path("made").exists());
    std::fs::remove_file(memory.file()).unwrap();
    sandbox
        .good("bash", json!({ "command": "touch made" }))
        .await;
}

#[tokio::test]
async fn what_git_keeps_is_not_changed() {
    let sandbox = TestWorkspace::new();
    std::fs::create_dir_all(sandbox.path("sub/.git/hooks")).unwrap();
    std::fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
    sandbox.put("sub/.git/config", "[core]\n");
    std::fs::create_dir(sandbox.path("linked")).unwrap();
    sandbox.link("linked/.git", "../elsewhere");
    sandbox.link("way", "sub/.git");
    let paths = [
        "sub/.git/config",
        "sub/.git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        ".git",
        "way/config",
        "linked/.git/config",
    ];
    for path in paths {
        let write = json!({ "path": path, "content": "x" });
        let refused = sandbox.bad("write", write).await;
        let reason = "what is in .git makes git run commands; change it with a git command";
        assert_eq!(refused, format!("path: {path}: {reason}"));
    }
    let edit = json!({ "path": "sub/.git/config", "old_text": "core", "new_text": "x" });
    sandbox.bad("edit", edit).await;
    assert_eq!(sandbox.content("sub/.git/config"), "[core]\n");
    sandbox
        .good("read", json!({ "path": "sub/.git/config" }))
        .await;
    sandbox
        .good("write", json!({ "path": ".gitignore", "content": "x" }))
        .await;
}
