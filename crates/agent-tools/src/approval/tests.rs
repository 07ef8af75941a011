//! Rules, the file that remembers them, and the questions.

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use tempfile::TempDir;

use super::*;

fn rule(pattern: &str) -> Rule {
    Rule::of_pattern("bash", pattern).unwrap()
}

/// Returns what one rule for or against a pattern says of a command: `d`, `a`, or `-`.
fn says(pattern: &str, decision: RuleDecision, command: &str) -> char {
    let mut rules = Rules::default();
    rules.add(rule(pattern), decision);
    match rules.rule_decision("bash", command) {
        Some(RuleDecision::Denied) => 'd',
        Some(RuleDecision::Allowed) => 'a',
        None => '-',
    }
}

#[test]
fn rules_hold_for_commands_however_they_are_written() {
    let lines = include_str!("spellings.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let mut wrong = Vec::new();
    for line in lines {
        let (want, command) = line.split_once("  ").unwrap();
        let command = command
            .replace("\\n", "\n")
            .replace("\\t", "\t")
            .replace("\\r", "\r");
        let denied = says("git push *", RuleDecision::Denied, &command);
        let allowed = says("git push *", RuleDecision::Allowed, &command);
        let found = format!("{denied}{allowed}");
        if found != want {
            wrong.push(format!("{found}  {command:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_pattern_matches_words() {
    let allows =
        |pattern: &str, command: &str| says(pattern, RuleDecision::Allowed, command) == 'a';
    assert!(allows("cargo te*", "cargo testify") && !allows("cargo te *", "cargo test"));
    assert!(allows("git commit -m \"a b\" *", "git commit -m 'a b' -q"));
    assert!(allows("*", "anything at all") && allows("*", "two; commands"));
    assert!(!allows("*", "$anything") && !allows("*", "a > b") && !allows("*", ""));
    // Without `*`, a pattern matches only its exact text.
    assert!(allows("a && b", " a && b\n") && !allows("a && b", "a && b c"));
    let denies = |pattern: &str, command: &str| says(pattern, RuleDecision::Denied, command) == 'd';
    assert!(denies("sudo *", "sudo ls") && denies("rm -r *", "rm -v -r x"));
    assert!(denies("rm  -r x", "cd a && timeout 5 'rm' -r\tx") && !denies("rm -r x", "rm -r x y"));
    assert!(denies("cd x && make", "cd x && make") && !denies("cd x && make", "make"));
}

#[test]
fn rules_that_reach_further_than_they_say_are_known() {
    for (pattern, reach) in [
        ("*", Some("run any command")),
        ("find *", Some("run any command")),
        ("find . -name *", Some("run any command")),
        ("fin*", Some("run any command")),
        ("/usr/bin/find *", Some("run any command")),
        ("git *", Some("run any command")),
        ("git log *", Some("write any file")),
        ("git l*", Some("run any command")),
        ("xargs *", Some("run any command")),
        ("echo x", None),
        ("env *", Some("run any command")),
        ("A=1 *", Some("run any command")),
        ("timeout 5 *", Some("run any command")),
        ("timeout 5 find *", Some("run any command")),
        ("timeout 5 cargo test *", None),
        ("sh -c *", Some("run any command")),
        ("python *", Some("run any command")),
        ("python -c *", Some("run any command")),
        ("python manage.py *", None),
        ("awk *", Some("run any command")),
        ("tar *", Some("run any command")),
        ("make *", Some("run any command")),
        ("sort -u *", Some("write any file")),
        ("rm *", Some("delete any file")),
        ("cargo *", Some("run any command")),
        ("cargo test *", None),
        ("git status *", None),
        ("ls *", None),
        ("npm test *", None),
    ] {
        assert_eq!(rule(pattern).reach(), reach, "{pattern}");
    }
    assert_eq!(Rule::exact("bash", "find . *").unwrap().reach(), None);
}

#[test]
fn a_line_is_allowed_if_rules_allow_each_of_its_commands() {
    let rules = Rules {
        allow: vec![rule("cargo test *"), rule("git log *"), rule("ls")],
        deny: Vec::new(),
    };
    let decision = |command: &str| rules.rule_decision("bash", command);
    assert_eq!(
        decision("cargo test | git log"),
        Some(RuleDecision::Allowed)
    );
    assert_eq!(
        decision("cargo test $(git log)"),
        Some(RuleDecision::Allowed)
    );
    for command in [
        "cargo test | sh",
        "cargo test; rm x",
        "cargo test && ls",
        "cargo test $(rm x)",
    ] {
        assert_eq!(decision(command), None, "{command}");
    }
}

#[test]
fn an_answer_is_about_exactly_that_command_and_tool() {
    let exact = Rule::exact("bash", " rm build/* ").unwrap();
    let rules = Rules {
        allow: vec![exact],
        deny: Vec::new(),
    };
    assert_eq!(
        rules.rule_decision("bash", "rm build/*"),
        Some(RuleDecision::Allowed)
    );
    assert_eq!(rules.rule_decision("bash", "rm build/a"), None);
    assert_eq!(rules.rule_decision("server__bash", "rm build/*"), None);
}

#[test]
fn a_rule_for_a_server_is_about_all_its_tools() {
    let rules = Rules {
        allow: Vec::new(),
        deny: vec![Rule::of_pattern("s__*", "*").unwrap()],
    };
    let denied = |tool: &str| rules.rule_decision(tool, tool).is_some();
    assert!(denied("s__a") && denied("s__b__c"));
    assert!(!denied("t__a") && !denied("s") && !denied("bash"));
}

#[test]
fn rules_that_mean_nothing_are_refused() {
    let refused = |pattern: &str| Rule::of_pattern("bash", pattern).unwrap_err();
    assert_snapshot!(refused(" "), @"a rule needs what it is about: a command, or its beginning and *");
    assert_snapshot!(refused("a; b *"), @"a; b *: a rule that ends in * holds for single commands only, and this joins or redirects them, has a variable or an open quote; leave that out, or name the whole command with --exact");
    assert_snapshot!(refused(&"x".repeat(20_000)), @"what a rule is about is at most 10000 bytes long");
    assert_snapshot!(Rule::exact(" ", "x").unwrap_err(), @"a rule needs the name of a tool");
}

/// A folder for settings, with what is remembered there for one project.
fn memory() -> (TempDir, ApprovalStore) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("deep/config");
    let memory = ApprovalStore::of(Some(&config), std::path::Path::new("/project")).unwrap();
    (folder, memory)
}

#[test]
fn the_file_is_the_users_alone_and_says_what_is_meant() {
    let (_folder, memory) = memory();
    assert!(memory.rules().unwrap().is_empty());
    assert!(!memory.file().exists());
    memory
        .add(rule("cargo test *"), RuleDecision::Allowed)
        .unwrap();
    memory.add(rule("ls"), RuleDecision::Denied).unwrap();
    memory
        .add(Rule::exact("bash", "rm *").unwrap(), RuleDecision::Allowed)
        .unwrap();
    // What is said last holds.
    memory.add(rule("ls"), RuleDecision::Allowed).unwrap();
    assert_snapshot!(std::fs::read_to_string(memory.file()).unwrap(), @r#"
    {
      "version": 1,
      "projects": {
        "/project": {
          "allow": [
            {
              "tool": "bash",
              "pattern": "cargo test *"
            },
            {
              "tool": "bash",
              "exact": "rm *"
            },
            {
              "tool": "bash",
              "exact": "ls"
            }
          ],
          "deny": []
        }
      }
    }
    "#);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(memory.file()), 0o600);
        assert_eq!(mode(memory.file().parent().unwrap()), 0o700);
    }
    let config = memory.file().parent();
    let other = ApprovalStore::of(config, std::path::Path::new("/other")).unwrap();
    assert!(other.rules().unwrap().is_empty());
    assert_eq!(memory.forget(|known| *known == rule("ls")), Ok(1));
    assert_eq!(memory.forget(|known| *known == rule("ls")), Ok(0));
    assert_eq!(memory.rules().unwrap().allow.len(), 2);
    assert_eq!(memory.forget(|_| true), Ok(2));
    assert!(
        !std::fs::read_to_string(memory.file())
            .unwrap()
            .contains("/project")
    );
}

#[test]
fn a_file_that_is_not_understood_stays_as_it_is() {
    let (_folder, memory) = memory();
    memory.add(rule("ls"), RuleDecision::Allowed).unwrap();
    for text in [
        "",
        "{",
        "[]",
        r#"{"version":2,"projects":{}}"#,
        r#"{"version":1,"projects":{"/project":{"allow":[{"tool":"bash"}]}}}"#,
        r#"{"version":1,"projects":{"/project":{"allow":[{"tool":"bash","pattern":"ls"}]}}}"#,
        r#"{"version":1,"projects":{"/project":{"allow":[{"tool":"bash","pattern":"a;b*"}]}}}"#,
        r#"{"version":1,"projects":{"/project":{"allways":[]}}}"#,
    ] {
        std::fs::write(memory.file(), text).unwrap();
        let file = memory.file().display().to_string();
        for fault in [
            memory.rules().unwrap_err(),
            memory.add(rule("pwd"), RuleDecision::Allowed).unwrap_err(),
        ] {
            assert!(fault.contains(&file), "{fault}");
        }
        assert_eq!(std::fs::read_to_string(memory.file()).unwrap(), text);
    }
}

#[test]
fn answers_of_several_sessions_are_all_kept() {
    let (_folder, memory) = memory();
    std::thread::scope(|scope| {
        for session in 0..8 {
            let memory = &memory;
            scope.spawn(move || {
                for answer in 0..5 {
                    let rule = rule(&format!("echo {session} {answer}"));
                    memory.add(rule, RuleDecision::Allowed).unwrap();
                }
            });
        }
    });
    assert_eq!(memory.rules().unwrap().allow.len(), 40);
}

/// Approvals that record their events.
fn noted(approvals: Approvals) -> (Approvals, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let notes = told.clone();
    let approvals = approvals.telling(move |told| {
        notes.lock().unwrap().push(match told {
            ApprovalEvent::Asked(question) => format!("asked {}", question.call_id),
            ApprovalEvent::Ended(question, decision) => {
                let decision = decision.map_or("cancelled", Decision::name);
                format!("{} {decision}", question.call_id)
            }
            ApprovalEvent::NotRemembered(why) => format!("not remembered: {why}"),
        });
    });
    (approvals, told)
}

fn question(call_id: &str, subject: &str) -> Question {
    Question {
        call_id: call_id.to_owned(),
        tool: "bash".to_owned(),
        subject: subject.to_owned(),
    }
}

/// Returns whether a call may run, or the text of its refusal.
async fn decided(approvals: &Approvals, call_id: &str, subject: &str) -> String {
    let cancel = CancellationToken::new();
    let question = question(call_id, subject);
    match approvals.decide(&question, Policy::Ask, &cancel).await {
        Ok(()) => "may run".to_owned(),
        Err(output) => output.content.joined_text("\n"),
    }
}

fn asking() -> Approvals {
    Approvals::new(BTreeMap::new(), true)
}

#[tokio::test]
async fn questions_are_asked_at_once_and_answered_in_any_order() {
    let (approvals, told) = noted(asking());
    let answers = async {
        assert!(approvals.answer("b", Decision::Once));
        assert!(approvals.answer("a", Decision::Deny));
        assert!(!approvals.answer("a", Decision::Once));
        assert!(!approvals.answer("c", Decision::Once));
    };
    let (a, b, ()) = tokio::join!(
        decided(&approvals, "a", "ls"),
        decided(&approvals, "b", "pwd"),
        answers
    );
    assert_snapshot!(a, @"the user does not allow this; do it another way, or ask what to do instead");
    assert_eq!(b, "may run");
    let mut told = told.lock().unwrap().clone();
    assert_eq!(told[..2], ["asked a", "asked b"]);
    told[2..].sort();
    assert_eq!(told[2..], ["a deny", "b once"]);
    // Neither answer was for good.
    let (again, answered) = tokio::join!(decided(&approvals, "d", "pwd"), async {
        approvals.answer("d", Decision::Once)
    });
    assert_eq!((again.as_str(), answered), ("may run", true));
}

#[tokio::test]
async fn what_is_answered_for_good_answers_the_same_question_and_no_other() {
    for (decision, same) in [(Decision::Always, true), (Decision::Never, false)] {
        let (approvals, _) = noted(asking());
        let answers = async {
            assert!(approvals.answer("b", decision));
            // The first one is answered with it.
            assert!(!approvals.answer("a", Decision::Once));
            assert!(approvals.answer("other", Decision::Once));
        };
        let (a, b, other, ()) = tokio::join!(
            decided(&approvals, "a", " make "),
            decided(&approvals, "b", "make"),
            decided(&approvals, "other", "make x"),
            answers
        );
        assert_eq!((a == "may run", b == "may run"), (same, same));
        assert_eq!(other, "may run");
        // A later question gets the same answer.
        assert_eq!(decided(&approvals, "c", "make").await == "may run", same);
    }
}

#[tokio::test]
async fn calls_with_one_id_are_answered_one_after_the_other() {
    let (approvals, told) = noted(asking());
    let answers = async {
        assert!(approvals.answer("c", Decision::Deny));
        // The second one is not asked yet, so nothing answers it.
        assert!(!approvals.answer("c", Decision::Deny));
        while told.lock().unwrap().len() < 3 {
            tokio::task::yield_now().await;
        }
        assert!(approvals.answer("c", Decision::Once));
    };
    let (first, second, ()) = tokio::join!(
        decided(&approvals, "c", "ls"),
        decided(&approvals, "c", "pwd"),
        answers
    );
    assert_ne!(first, "may run");
    assert_eq!(second, "may run");
    let want = ["asked c", "c deny", "asked c", "c once"];
    assert_eq!(*told.lock().unwrap(), want);
    // Of two about the same, an answer for good is one for both.
    let (approvals, _) = noted(asking());
    let (first, second, _) = tokio::join!(
        decided(&approvals, "c", "ls"),
        decided(&approvals, "c", "ls"),
        async { approvals.answer("c", Decision::Always) }
    );
    assert_eq!([first, second], ["may run", "may run"]);
}

#[tokio::test]
async fn a_question_that_is_cancelled_waits_no_longer() {
    let (approvals, told) = noted(asking());
    let cancel = CancellationToken::new();
    let question = question("a", "ls");
    let (decided, ()) = tokio::join!(approvals.decide(&question, Policy::Ask, &cancel), async {
        cancel.cancel();
    });
    assert_eq!(decided, Err(ToolOutput::cancelled()));
    assert!(!approvals.answer("a", Decision::Once));
    assert_eq!(*told.lock().unwrap(), ["asked a", "a cancelled"]);
    // One that is dropped is gone as well.
    let cancel = CancellationToken::new();
    let mut waits = Box::pin(approvals.decide(&question, Policy::Ask, &cancel));
    assert!(futures_util::poll!(&mut waits).is_pending());
    drop(waits);
    assert!(!approvals.answer("a", Decision::Once));
}

#[tokio::test]
async fn answers_for_good_hold_in_the_next_session() {
    let (_folder, memory) = memory();
    let session = || noted(asking().remembering(Ok(memory.clone()))).0;
    for (subject, decision) in [("make", Decision::Always), ("rm x", Decision::Never)] {
        let first = session();
        tokio::join!(decided(&first, "a", subject), async {
            assert!(first.answer("a", decision));
        });
    }
    assert_eq!(decided(&session(), "b", "make").await, "may run");
    assert_snapshot!(decided(&session(), "b", "rm x").await, @"the user never allows this in this project; do it another way, or ask what to do instead");
    // A permanent denial overrides every permission, and an answer cannot allow what the settings deny.
    let policies = |policy| [("bash".to_owned(), policy)].into();
    let with = |policy| Approvals::new(policies(policy), true).remembering(Ok(memory.clone()));
    assert_ne!(decided(&with(Policy::Allow), "c", "rm x").await, "may run");
    assert_eq!(decided(&with(Policy::Allow), "c", "rm y").await, "may run");
    assert_snapshot!(decided(&with(Policy::Deny), "c", "make").await, @"bash is not allowed here; do it with the other tools, or say what is to be run");
    // A remembered answer needs no client.
    let alone = Approvals::new(BTreeMap::new(), false).remembering(Ok(memory.clone()));
    assert_eq!(decided(&alone, "d", "make").await, "may run");
    assert_snapshot!(decided(&alone, "d", "make x").await, @"bash needs approval and no user can be asked; the user can allow it for a run, or for good in tools.policies");
}

#[tokio::test]
async fn a_memory_that_fails_is_told_of_once_and_the_answer_holds_for_the_session() {
    let (_folder, memory) = memory();
    memory.add(rule("ls"), RuleDecision::Allowed).unwrap();
    std::fs::write(memory.file(), "{").unwrap();
    for memory in [Ok(memory), Err("there is no folder".to_owned())] {
        let (approvals, told) = noted(asking().remembering(memory));
        for call in ["a", "b", "c"] {
            let (decided, _) = tokio::join!(decided(&approvals, call, "make"), async {
                approvals.answer(call, Decision::Always)
            });
            assert_eq!(decided, "may run");
        }
        let told = told.lock().unwrap();
        let faults = told.iter().filter(|told| told.contains("not remembered"));
        assert_eq!(faults.count(), 1, "{told:?}");
        assert_eq!(told.iter().filter(|told| told.contains("asked")).count(), 1);
    }
}
