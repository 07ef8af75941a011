//! Instructions and skills in a running session: what the model is told, when, and once.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

/// Returns an answer that reads these files.
fn reads(paths: &[&str]) -> String {
    let made = paths
        .iter()
        .map(|path| json!({ "name": "read", "arguments": { "path": path } }));
    calls(made.collect())
}

impl Harness {
    fn put_below(&self, name: &str, text: &str) {
        let path = self.work().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns how often the newest request says `text`, in its instructions and in its messages.
    fn says(&self, text: &str) -> (usize, usize) {
        let asked = self.asked.lock().unwrap();
        let request = asked.last().unwrap();
        let count = |all: &str| all.matches(text).count();
        (count(&request.system), count(&text_of(request)))
    }
}

/// A harness in which nothing is kept word for word but the newest messages.
fn small(script: &str) -> Harness {
    Harness::new(script).compaction(json!({ "keepRecentTokens": 10, "strategy": "extractive" }))
}

#[test]
fn the_model_is_told_of_the_files_that_always_count() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer("b")].concat());
        harness.put("AGENTS.md", "Use tabs.\n");
        harness.put_below(
            ".agents/skills/release/SKILL.md",
            "---\nname: release\ndescription: Releases.\n---\n",
        );
        let mut life = harness.live();
        assert_snapshot!(life.ask("one").await, @"
        instructions start: AGENTS.md loaded .agents/skills/release/SKILL.md listed
        user: one
        answer (stop): a
        turn done
        ");
        assert_eq!(harness.says("Use tabs."), (1, 0));
        assert_eq!(
            harness.says("- release: Releases. (.agents/skills/release/SKILL.md)"),
            (1, 0)
        );
        assert_snapshot!(life.ask("two").await, @"
        user: two
        answer (stop): b
        turn done
        ");
        assert_eq!(harness.says("Use tabs."), (1, 0));
        assert_snapshot!(life.written(), @"
        system: 
        model script
        user: one
        assistant (stop): a
        user: two
        assistant (stop): b
        ");
        life.close().await;
    });
}

#[test]
fn a_session_without_instructions_tells_nothing_of_them() {
    run(async {
        let harness = Harness::new(&answer("a"));
        let mut life = harness.live();
        assert_snapshot!(life.ask("one").await, @"
        user: one
        answer (stop): a
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn a_file_that_changed_between_two_prompts_is_told_anew() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer("b"), answer("c")].concat());
        harness.put("AGENTS.md", "Use tabs.\n");
        let mut life = harness.live();
        life.ask("one").await;
        harness.put("AGENTS.md", "Use two blanks.\n");
        assert_snapshot!(life.ask("two").await, @"
        instructions changed: AGENTS.md changed
        user: two
        answer (stop): b
        turn done
        ");
        assert_eq!(harness.says("Use tabs."), (0, 0));
        assert_eq!(harness.says("Use two blanks."), (1, 0));
        std::fs::remove_file(harness.work().join("AGENTS.md")).unwrap();
        assert_snapshot!(life.ask("three").await, @"
        instructions changed: AGENTS.md gone
        user: three
        answer (stop): c
        turn done
        ");
        assert_eq!(harness.says("Use two blanks."), (0, 0));
        life.close().await;
    });
}

#[test]
fn instructions_of_a_folder_follow_the_results_that_touched_it_once() {
    run(async {
        let script = [
            reads(&["sub/deep/a.txt", "sub/deep/b.txt"]),
            reads(&["sub/deep/a.txt"]),
            answer("done"),
            reads(&["sub/a.txt"]),
            answer("again"),
        ];
        let harness = Harness::new(&script.concat());
        harness.put_below("sub/AGENTS.md", "Sub rules.\n");
        harness.put_below("sub/deep/CLAUDE.md", "Deep rules.\n");
        harness.put_below("sub/deep/a.txt", "a");
        harness.put_below("sub/deep/b.txt", "b");
        let mut life = harness.live();
        assert_snapshot!(life.ask("one").await, @"
        user: one
        answer (tool_use):  +2
        tool read
        tool read
        instructions touched: sub/AGENTS.md loaded sub/deep/CLAUDE.md loaded
        answer (tool_use):  +1
        tool read
        answer (stop): done
        turn done
        ");
        assert_eq!(harness.says("Sub rules."), (0, 1));
        assert_eq!(harness.says("Deep rules."), (0, 1));
        life.ask("two").await;
        assert_eq!(harness.says("Sub rules."), (0, 1));
        assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: one
        assistant (toolUse): read({"path":"sub/deep/a.txt"}) read({"path":"sub/deep/b.txt
        toolResult: a
        toolResult: b
        custom message agent-cli/instructions
        custom message agent-cli/instructions
        assistant (toolUse): read({"path":"sub/deep/a.txt"})
        toolResult: a
        assistant (stop): done
        user: two
        assistant (toolUse): read({"path":"sub/a.txt"})
        toolResult: cannot read sub/a.txt: does not exist
        assistant (stop): again
        "#);
        life.close().await;
    });
}

#[test]
fn instructions_of_a_folder_that_changed_or_are_gone_are_said_behind_what_was_said() {
    run(async {
        let script = [
            reads(&["sub/a.txt"]),
            answer("a"),
            answer("b"),
            answer("c"),
            answer("d"),
        ];
        let harness = Harness::new(&script.concat());
        harness.put_below("sub/AGENTS.md", "Sub rules.\n");
        let mut life = harness.live();
        life.ask("one").await;
        harness.put_below("sub/AGENTS.md", "Other rules.\n");
        assert_snapshot!(life.ask("two").await, @"
        instructions changed: sub/AGENTS.md changed
        user: two
        answer (stop): b
        turn done
        ");
        assert_eq!(harness.says("Other rules."), (0, 1));
        assert_eq!(harness.says("has changed"), (0, 1));
        std::fs::remove_file(harness.work().join("sub/AGENTS.md")).unwrap();
        assert_snapshot!(life.ask("three").await, @"
        instructions changed: sub/AGENTS.md gone
        user: three
        answer (stop): c
        turn done
        ");
        assert_eq!(harness.says("is gone"), (0, 1));
        assert_snapshot!(life.ask("four").await, @"
        user: four
        answer (stop): d
        turn done
        ");
        assert_eq!(harness.says("is gone"), (0, 1));
        life.close().await;
    });
}

#[test]
fn what_is_refused_is_told_once_and_not_said() {
    run(async {
        let script = [reads(&["sub/a.txt"]), reads(&["sub/a.txt"]), answer("a")];
        let harness = Harness::new(&script.concat());
        std::fs::create_dir_all(harness.work().join("sub")).unwrap();
        std::fs::write(harness.work().join("sub/AGENTS.md"), b"\xff").unwrap();
        let mut life = harness.live();
        assert_snapshot!(life.ask("one").await, @"
        user: one
        answer (tool_use):  +1
        tool read failed
        instructions touched: sub/AGENTS.md refused
        answer (tool_use):  +1
        tool read failed
        answer (stop): a
        turn done
        ");
        assert!(!life.written().contains("custom message"));
        life.close().await;
    });
}

#[test]
fn a_compaction_gathers_all_instructions_from_the_disk() {
    run(async {
        let script = [
            reads(&["sub/a.txt", "other/a.txt", "gone/a.txt"]),
            answer("a"),
            answer("b"),
            answer("c"),
        ];
        let harness = small(&script.concat());
        harness.put("AGENTS.md", "Root rules.\n");
        for folder in ["sub", "other", "gone"] {
            harness.put_below(
                &format!("{folder}/AGENTS.md"),
                &format!("Rules of {folder}.\n"),
            );
        }
        let mut life = harness.live();
        life.ask(&words(500)).await;
        life.ask("two").await;
        assert_eq!(harness.says("Rules of sub."), (0, 1));
        harness.put_below("other/AGENTS.md", "New rules of other.\n");
        std::fs::remove_file(harness.work().join("gone/AGENTS.md")).unwrap();
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual extractive
        instructions compaction: AGENTS.md loaded sub/AGENTS.md loaded other/AGENTS.md changed gone/AGENTS.md gone
        compacted extractive by extractive
        ");
        assert_snapshot!(life.ask("three").await, @"
        user: three
        answer (stop): c
        turn done
        ");
        assert_eq!(harness.says("Root rules."), (1, 0));
        assert_eq!(harness.says("Rules of sub."), (1, 0));
        assert_eq!(harness.says("New rules of other."), (1, 0));
        assert_eq!(harness.says("Rules of gone."), (0, 0));
        assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        assistant (toolUse): read({"path":"sub/a.txt"}) read({"path":"other/a.txt"}) read
        toolResult: cannot read sub/a.txt: does not exist
        toolResult: cannot read other/a.txt: does not exist
        toolResult: cannot read gone/a.txt: does not exist
        custom message agent-cli/instructions
        custom message agent-cli/instructions
        custom message agent-cli/instructions
        assistant (stop): a
        user: two
        assistant (stop): b
        compaction
        system: 
        user: three
        assistant (stop): c
        "#);
        life.close().await;
    });
}

#[test]
fn what_a_compaction_keeps_word_for_word_is_not_said_twice() {
    run(async {
        let script = [
            answer("a"),
            answer("b"),
            reads(&["sub/a.txt"]),
            answer("c"),
            answer("d"),
        ];
        let harness = small(&script.concat())
            .compaction(json!({ "keepRecentTokens": 400, "strategy": "extractive" }));
        harness.put_below("sub/AGENTS.md", "Rules of sub.\n");
        let mut life = harness.live();
        life.ask(&words(3000)).await;
        life.ask(&words(500)).await;
        life.ask("three").await;
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual extractive
        instructions compaction: sub/AGENTS.md loaded
        compacted extractive by extractive
        ");
        life.ask("four").await;
        assert_eq!(harness.says("Rules of sub."), (1, 0));
        assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        assistant (stop): a
        user: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        assistant (stop): b
        user: three
        assistant (toolUse): read({"path":"sub/a.txt"})
        toolResult: cannot read sub/a.txt: does not exist
        custom message agent-cli/instructions
        assistant (stop): c
        compaction
        omission
        system: 
        user: four
        assistant (stop): d
        "#);
        life.close().await;
    });
}

#[test]
fn a_session_that_goes_on_says_nothing_twice() {
    run(async {
        let script = [
            reads(&["sub/a.txt"]),
            answer("a"),
            reads(&["sub/a.txt"]),
            answer("b"),
        ];
        let harness = Harness::new(&script.concat());
        harness.put("AGENTS.md", "Root rules.\n");
        harness.put_below("sub/AGENTS.md", "Rules of sub.\n");
        let mut life = harness.live();
        life.ask("one").await;
        life.close().await;
        let path = life.path().to_owned();
        let mut life = harness.open(&path);
        assert_snapshot!(life.ask("two").await, @"
        instructions start: AGENTS.md loaded sub/AGENTS.md loaded
        user: two
        answer (tool_use):  +1
        tool read failed
        answer (stop): b
        turn done
        ");
        assert_eq!(harness.says("Root rules."), (1, 0));
        assert_eq!(harness.says("Rules of sub."), (0, 1));
        life.close().await;
    });
}

#[test]
fn a_session_that_goes_on_is_told_what_changed_meanwhile() {
    run(async {
        let script = [reads(&["sub/a.txt"]), answer("a"), answer("b")];
        let harness = Harness::new(&script.concat());
        harness.put("AGENTS.md", "Root rules.\n");
        harness.put_below("sub/AGENTS.md", "Rules of sub.\n");
        let mut life = harness.live();
        life.ask("one").await;
        life.close().await;
        harness.put("AGENTS.md", "Changed root rules.\n");
        harness.put_below("sub/AGENTS.md", "Changed rules of sub.\n");
        let path = life.path().to_owned();
        let mut life = harness.open(&path);
        assert_snapshot!(life.ask("two").await, @"
        instructions start: AGENTS.md changed sub/AGENTS.md changed
        user: two
        answer (stop): b
        turn done
        ");
        assert_eq!(harness.says("Root rules."), (0, 0));
        assert_eq!(harness.says("Changed root rules."), (1, 0));
        assert_eq!(harness.says("Changed rules of sub."), (0, 1));
        life.close().await;
    });
}

#[test]
fn a_branch_on_which_a_folder_was_not_touched_is_told_when_it_is() {
    run(async {
        let script = [
            answer("a"),
            reads(&["sub/a.txt"]),
            answer("b"),
            answer("c"),
            reads(&["sub/a.txt"]),
            answer("d"),
        ];
        let harness = Harness::new(&script.concat());
        harness.put_below("sub/AGENTS.md", "Rules of sub.\n");
        let mut life = harness.live();
        life.ask("one").await;
        life.ask("two").await;
        let back = Command::Back {
            count: 1,
            summarize: false,
            focus: None,
        };
        life.command_and(back).await;
        assert_snapshot!(life.ask("three").await, @"
        user: three
        answer (stop): c
        turn done
        ");
        assert_eq!(harness.says("Rules of sub."), (0, 0));
        assert_snapshot!(life.ask("four").await, @"
        user: four
        answer (tool_use):  +1
        tool read failed
        instructions touched: sub/AGENTS.md loaded
        answer (stop): d
        turn done
        ");
        assert_eq!(harness.says("Rules of sub."), (0, 1));
        life.close().await;
    });
}

#[test]
fn instructions_that_leave_no_room_are_named() {
    run(async {
        let harness = small(&[window(4000), answer("a"), answer("b")].concat());
        harness.put("AGENTS.md", &"Use tabs and no spaces.\n".repeat(1500));
        let mut life = harness.live();
        life.ask("one").await;
        assert_snapshot!(life.ask("two").await, @"
        auto-compaction threshold extractive
        auto-compacted: Auto-compaction failed: what must stay takes 8937 tokens, more than the window of 4000: tokens of system prompt 4, tools 653, instructions such as AGENTS.md 8075, messages 205; shorten the instructions (instructions.maxBytes) or use a larger window
        notice: 3 automatic compactions failed; the next waits until the context has changed by a tenth, or overflows; tokens of system prompt 4, tools 653, instructions such as AGENTS.md 8075, messages 10; shorten the instructions (instructions.maxBytes) or use a larger window
        user: two
        answer (stop): b
        turn done
        ");
        life.close().await;
    });
}
