//! Rules, the file that remembers them, and the questions.

use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use tempfile::TempDir;

use super::*;

fn rule(pattern: &str) -> Rule {
    Rule::of_pattern("bash", pattern).unwrap()
}

#[test]
fn a_pattern_allows_single_commands_that_begin_so() {
    let allows = |pattern: &str, command: &str| {
        let rules = Rules {
            allow: vec![rule(pattern)],
            deny: Vec::new(),
        };
        rules.rule_decision("bash", command) == Some(RuleDecision::Allowed)
    };
    for command in ["cargo test", " cargo test -q\t--lib ", "cargo test 'a b'"] {
        assert!(allows("cargo test *", command), "{command}");
    }
    for command in [
        "cargo testify",
        "cargo tes",
        "X=1 cargo test",
        "cargo test; rm -rf x",
        "cargo test && rm x",
        "cargo test & rm x",
        "cargo test | sh",
        "cargo test `rm x`",
        "cargo test $(rm x)",
        "cargo test $HOME",
        "cargo test\nrm x",
        "cargo test\rrm x",
        "cargo test > x",
        "cargo test <(rm x)",
        "cargo test \u{0}",
        "",
    ] {
        assert!(!allows("cargo test *", command), "{command}");
    }
    assert!(allows("cargo te*", "cargo testify"));
    assert!(allows("*", "anything at all") && !allows("*", "two; commands"));
    // Without * exactly that is meant, whatever is in it.
    assert!(allows("a && b", " a && b\n") && !allows("a && b", "a && b c"));
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
fn what_is_denied_is_found_in_every_command_of_a_line() {
    let rules = Rules {
        allow: vec![rule("git *"), rule("cd x && git push")],
        deny: vec![rule("git push *")],
    };
    for command in ["git push", "git push -f", "cd x && git push", "(git push)"] {
        assert_eq!(
            rules.rule_decision("bash", command),
            Some(RuleDecision::Denied)
        );
    }
    assert_eq!(
        rules.rule_decision("bash", "git pull"),
        Some(RuleDecision::Allowed)
    );
    assert_eq!(
        rules.rule_decision("bash", "git pushy"),
        Some(RuleDecision::Allowed)
    );
}

#[test]
fn what_is_denied_is_found_in_ordinary_spellings() {
    let rules = |pattern: &str| Rules {
        allow: Vec::new(),
        deny: vec![rule(pattern)],
    };
    let denied = |command: &str| rules("git push *").rule_decision("bash", command).is_some();
    for command in [
        "git  push",
        "git\tpush -f",
        "git \\\n  push",
        "git pu\\\nsh",
        "{ git push; }",
        "! git push",
        "if true; then git push; fi",
        "for x in a; do  git push; done",
        "time -p git push",
        "A=1 B='' git push",
        "sudo -n env A=1 command git push",
        "exec git push",
    ] {
        assert!(denied(command), "{command}");
    }
    for command in ["git pull", "echo git push", "-x git push", "a-b=c git push"] {
        assert!(!denied(command), "{command}");
    }
    assert!(rules("sudo *").rule_decision("bash", "sudo ls").is_some());
    assert!(
        rules("rm  -r x")
            .rule_decision("bash", "rm -r\tx")
            .is_some()
    );
    // What allows is as strict as it was.
    let allowing = Rules {
        allow: vec![rule("git push *")],
        deny: Vec::new(),
    };
    assert_eq!(allowing.rule_decision("bash", "A=1 git push"), None);
}

#[test]
fn f13_options_before_a_subcommand_do_not_hide_it_from_a_denial() {
    let rules = Rules {
        allow: vec![rule("git *")],
        deny: vec![rule("git push *"), rule("rm -r *")],
    };
    let decision = |command: &str| rules.rule_decision("bash", command);
    for command in [
        "git -C . push",
        "git -C /elsewhere -c a.b=c push origin main",
        "git --git-dir=.git --work-tree . push",
        "git --no-pager push",
        "sudo git -C . push",
        "rm -v -r x",
    ] {
        assert_eq!(decision(command), Some(RuleDecision::Denied), "{command}");
    }
    for command in ["git -c push=x log", "git commit -m push", "git -C . log"] {
        assert_eq!(decision(command), Some(RuleDecision::Allowed), "{command}");
    }
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
    assert_snapshot!(refused("a; b *"), @"a; b *: a rule that ends in * holds for single commands only, and this has a character that joins or redirects them; leave it out, or name the whole command with --exact");
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

/// Approvals that note what they tell.
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
        // And whoever asks later.
        assert_eq!(decided(&approvals, "c", "make").await == "may run", same);
    }
}

#[tokio::test]
async fn calls_with_one_id_are_answered_one_after_the_other() {
    let (approvals, _) = noted(asking());
    let (first, second, ()) = tokio::join!(
        decided(&approvals, "c", "ls"),
        decided(&approvals, "c", "pwd"),
        async {
            assert!(approvals.answer("c", Decision::Once));
            assert!(approvals.answer("c", Decision::Deny));
        }
    );
    assert_eq!(first, "may run");
    assert_ne!(second, "may run");
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
    // What is denied for good is so whatever else is allowed, and what the settings deny is not allowed by answers.
    let policies = |policy| [("bash".to_owned(), policy)].into();
    let with = |policy| Approvals::new(policies(policy), true).remembering(Ok(memory.clone()));
    assert_ne!(decided(&with(Policy::Allow), "c", "rm x").await, "may run");
    assert_eq!(decided(&with(Policy::Allow), "c", "rm y").await, "may run");
    assert_snapshot!(decided(&with(Policy::Deny), "c", "make").await, @"bash is not allowed here; do it with the other tools, or say what is to be run");
    // Nobody has to be there for an answer that is known.
    let alone = Approvals::new(BTreeMap::new(), false).remembering(Ok(memory.clone()));
    assert_eq!(decided(&alone, "d", "make").await, "may run");
    assert_snapshot!(decided(&alone, "d", "make x").await, @"bash has to be allowed and nobody can be asked; the user can allow it for a run, or for good in tools.policies");
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
