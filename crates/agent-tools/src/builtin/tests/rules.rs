//! Rules and policies as calls meet them, however a call writes the name of a file.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use super::TestWorkspace;
use crate::approval::{ApprovalStore, Approvals, Policy, Rule, RuleDecision};

/// Returns a house with a rule against each of these, whatever its policies say.
fn against(rules: &[(&str, &str)], policies: &[(&str, Policy)]) -> (TestWorkspace, ApprovalStore) {
    let mut house = TestWorkspace::new();
    let config = house.folder.path().join("config");
    let memory = ApprovalStore::of(Some(&config), Path::new("/project")).unwrap();
    for (tool, pattern) in rules {
        let rule = Rule::of_pattern(tool, pattern).unwrap();
        memory.add(rule, RuleDecision::Denied).unwrap();
    }
    let policies = policies
        .iter()
        .map(|(tool, policy)| ((*tool).to_owned(), *policy));
    let approvals = Approvals::new(policies.collect(), false);
    house.context.approvals = approvals.remembering(Ok(memory.clone()));
    (house, memory)
}

#[tokio::test]
async fn what_a_rule_denies_is_refused_for_every_tool_and_spelling() {
    let rules = [("write", "x.txt"), ("read", "private/*"), ("ls", ".")];
    for policies in [&[][..], &[("write", Policy::Allow), ("*", Policy::Allow)]] {
        let (house, _) = against(&rules, policies);
        std::fs::create_dir(house.path("private")).unwrap();
        house.put("private/key", "key");
        house.put("y.txt", "y");
        house.link("z.txt", "x.txt");
        let absolute = house.path("x.txt");
        for path in [
            "x.txt",
            "./x.txt",
            "private/../x.txt",
            "z.txt",
            absolute.to_str().unwrap(),
        ] {
            let write = json!({ "path": path, "content": "x" });
            let refused = house.bad("write", write).await;
            assert!(
                refused.contains("the user never allows this"),
                "{path}: {refused}"
            );
        }
        for path in ["private/key", "./private//key"] {
            house.bad("read", json!({ "path": path })).await;
        }
        house.bad("ls", json!({})).await;
        house.good("read", json!({ "path": "y.txt" })).await;
        house.good("ls", json!({ "path": "private" })).await;
        house
            .good("write", json!({ "path": "x.txt2", "content": "x" }))
            .await;
        assert!(!house.path("x.txt").exists());
    }
}

#[tokio::test]
async fn a_policy_for_all_tools_holds_for_those_that_need_no_approval() {
    let (house, _) = against(&[], &[("*", Policy::Deny), ("ls", Policy::Allow)]);
    house.put("file", "text");
    house.good("ls", json!({})).await;
    assert_snapshot!(house.bad("read", json!({ "path": "file" })).await, @"read is not allowed here; do it with the other tools, or say what is to be run");
}

#[tokio::test]
async fn where_rules_cannot_be_read_nothing_runs_unasked() {
    let (house, memory) = against(&[("bash", "rm *")], &[("bash", Policy::Allow)]);
    std::fs::write(memory.file(), "{").unwrap();
    let folder = house.folder.path().display().to_string();
    let calls = [
        ("bash", json!({ "command": "touch made" })),
        ("write", json!({ "path": "made", "content": "x" })),
    ];
    for (tool, arguments) in calls {
        let refused = house.bad(tool, arguments).await.replace(&folder, "$");
        assert!(refused.contains("config/approvals.json"), "{refused}");
        assert!(
            refused.contains("mend the file or to move it away"),
            "{refused}"
        );
    }
    assert!(!house.path("made").exists());
    std::fs::remove_file(memory.file()).unwrap();
    house.good("bash", json!({ "command": "touch made" })).await;
}

#[tokio::test]
async fn what_git_keeps_is_not_changed() {
    let house = TestWorkspace::new();
    std::fs::create_dir_all(house.path("sub/.git/hooks")).unwrap();
    std::fs::create_dir_all(house.path("elsewhere")).unwrap();
    house.put("sub/.git/config", "[core]\n");
    std::fs::create_dir(house.path("linked")).unwrap();
    house.link("linked/.git", "../elsewhere");
    house.link("way", "sub/.git");
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
        let refused = house.bad("write", write).await;
        let reason = "what is in .git makes git run commands; change it with a git command";
        assert_eq!(refused, format!("path: {path}: {reason}"));
    }
    let edit = json!({ "path": "sub/.git/config", "old_text": "core", "new_text": "x" });
    house.bad("edit", edit).await;
    assert_eq!(house.content("sub/.git/config"), "[core]\n");
    house
        .good("read", json!({ "path": "sub/.git/config" }))
        .await;
    house
        .good("write", json!({ "path": ".gitignore", "content": "x" }))
        .await;
}
