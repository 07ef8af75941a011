//! What the user keeps from the agent does not come back: keys, and files that rules deny.

use insta::assert_snapshot;
use llm_providers::Redactor;

use super::*;
use agent_tools::approval::{ApprovalStore, Policy, Rule, RuleDecision};

/// Returns what is found of files under a policy for `read` and rules of the project.
fn told(
    harness: &Harness,
    policy: Option<Policy>,
    rules: &[(&str, RuleDecision)],
    paths: &[&str],
) -> String {
    let workspace = Workspace::open(&harness.path("")).unwrap();
    let config = harness.root().join("config");
    let memory = ApprovalStore::of(Some(&config), workspace.root()).unwrap();
    for (pattern, ruling) in rules {
        let rule = Rule::of_pattern("read", pattern).unwrap();
        memory.add(rule, *ruling).unwrap();
    }
    let policies = policy.map(|policy| ("read".to_owned(), policy));
    let approvals = Approvals::new(policies.into_iter().collect(), false).remembering(Ok(memory));
    let cwd = harness.path("sub");
    let disk = Disk::new(Arc::new(workspace), &cwd, Arc::default(), approvals);
    let read = disk.read(touched(paths), &harness.settings, &|| false);
    harness.lines(&read.unwrap())
}

#[test]
fn what_rules_deny_is_not_opened_by_whatever_name() {
    let harness = Harness::new();
    harness.put("secret.env", SECRET);
    harness.put("sub/keys/id", SECRET);
    harness.put("sub/a", "a");
    symlink(harness.path("secret.env"), harness.path("sub/link")).unwrap();
    let whole = harness.path("secret.env").display().to_string();
    let rules = [
        ("secret.env", RuleDecision::Denied),
        ("sub/keys/*", RuleDecision::Denied),
    ];
    let paths = ["../secret.env", "link", &whole, "keys/id", "a"];
    let found = told(&harness, None, &rules, &paths);
    assert_snapshot!(found, @r#"
    secret.env: unreadable: denied by a rule
    sub/keys/id: unreadable: denied by a rule
    sub/a: "a"
    "#);
    // What is never opened is not waited for, nor told from what is not there.
    fifo(&harness.path("sub/keys/pipe"));
    assert_snapshot!(told(&harness, None, &[], &["keys/pipe", "keys/gone"]), @"
    sub/keys/pipe: unreadable: denied by a rule
    sub/keys/gone: unreadable: denied by a rule
    ");
}

#[test]
fn a_policy_for_read_holds_and_nobody_is_asked() {
    let harness = Harness::new();
    harness.put("sub/a", "a");
    harness.put("sub/b", "b");
    let paths = ["a", "b"];
    assert_snapshot!(told(&harness, Some(Policy::Deny), &[], &paths), @"
    sub/a: unreadable: denied by the settings
    sub/b: unreadable: denied by the settings
    ");
    let allowed = [("sub/a", RuleDecision::Allowed)];
    assert_snapshot!(told(&harness, Some(Policy::Ask), &allowed, &paths), @r#"
    sub/a: "a"
    sub/b: unreadable: needs approval, and no user is asked; allow read for it
    "#);
    assert_snapshot!(told(&harness, Some(Policy::Deny), &[], &paths), @"
    sub/a: unreadable: denied by the settings
    sub/b: unreadable: denied by the settings
    ");
    assert_snapshot!(told(&harness, Some(Policy::Allow), &[], &paths), @r#"
    sub/a: "a"
    sub/b: "b"
    "#);
    // What is denied is not known, so nothing is brought back.
    fs::write(harness.root().join("config/approvals.json"), "?").unwrap();
    let paths = ["a"];
    let found = {
        let workspace = Workspace::open(&harness.path("")).unwrap();
        let memory = ApprovalStore::of(Some(&harness.root().join("config")), workspace.root());
        let approvals = Approvals::allow_all().remembering(memory);
        let cwd = harness.path("sub");
        let disk = Disk::new(Arc::new(workspace), &cwd, Arc::default(), approvals);
        let read = disk.read(touched(&paths), &harness.settings, &|| false);
        harness.lines(&read.unwrap())
    };
    assert_snapshot!(found, @"sub/a: unreadable: the rules of the project cannot be read; fix the file of approvals");
}

/// Returns the text of a file, from which a key is taken out.
fn without(key: &str, text: &str) -> String {
    let harness = Harness::new();
    harness.put(".env", text);
    let mut redactor = Redactor::default();
    redactor.add(key);
    let workspace = Arc::new(Workspace::open(&harness.path("")).unwrap());
    let all = Approvals::allow_all();
    let disk = Disk::new(workspace, &harness.path(""), Arc::new(redactor), all);
    let read = disk.read(touched(&[".env"]), &harness.settings, &|| false);
    harness.lines(&read.unwrap())
}

#[test]
fn keys_leave_a_file_as_they_leave_a_result() {
    let key = "k3y-of-many-characters-0123456789";
    assert_snapshot!(without(key, &format!("A=1\nTOKEN={key}\n")), @r#".env: "A=1\nTOKEN=[secret removed]\n""#);
}

#[test]
fn a_key_of_several_lines_leaves_a_file_whatever_its_line_ends() {
    let key = "first line of the key\nand the second of it\nand a third";
    let in_crlf = format!("A=1\r\n{}\r\nB=2\r\n", key.replace('\n', "\r\n"));
    assert_snapshot!(without(key, &in_crlf), @r#".env: "A=1\n[secret removed]\nB=2\n""#);
    assert_snapshot!(without(&key.replace('\n', "\r\n"), &in_crlf), @r#".env: "A=1\n[secret removed]\nB=2\n""#);
}
