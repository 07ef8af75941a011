//! How the context looks afterwards: shapes, calls that wait, budgets, guards.

use compaction_core::{
    ApplyError, ComesBack, Disposition, NothingToDo, TokenCount, Trigger, content_hash,
};
use serde_json::{Value, json};
use session_model::{AgentMessage, Block, LlmMessage};

use super::setting::{Lines, MANUAL, all_there, applied, disk, measured, options};

/// A session in the middle of a turn: an answer that thinks, talks and calls; its result has not come.
fn waiting() -> Lines {
    let mut lines = Lines::new();
    lines.talk(9000).read("1", "a.rs", "x").user("Go on.");
    let content = json!([
        {"type":"thinking","thinking":"hm","thinkingSignature":"sig"},
        {"type":"thinking","thinking":"unsigned"},
        {"type":"text","text":"I look."},
        {"type":"toolCall","id":"w1","name":"shot","arguments":{"page":1}},
        {"type":"toolCall","id":"w2","name":"shot","arguments":{"page":2}},
    ]);
    lines.answer(content, "toolUse");
    lines
}

/// Returns a letter for each block of the last answer.
fn last_answer(messages: &[LlmMessage]) -> String {
    let mut answers = messages.iter().rev().filter_map(|message| match message {
        LlmMessage::Assistant(answer) => Some(answer),
        _ => None,
    });
    let blocks = answers.next().expect("an answer").content.blocks().iter();
    let letters = blocks.map(|block| match block {
        Block::Text(_) => 't',
        Block::Image(_) => 'i',
        Block::Thinking(thinking) if thinking.signature.is_some() => 's',
        Block::Thinking(_) => 'h',
        Block::ToolCall(_) => 'c',
        Block::Other { .. } => '?',
    });
    letters.collect()
}

#[test]
fn r16_all_attachments_are_one_message_behind_the_acknowledgement() {
    let mut lines = Lines::new();
    lines
        .talk(9000)
        .read("1", "a.rs", "x")
        .read("2", "b.rs", "x");
    lines.pasted("Look.", "AAAA").says("ok");
    let after = lines.compacted(&all_there(&lines), "S");
    assert_eq!(after.roles(), "user assistant user");
    assert_eq!(after.applied.drafts.len(), 2);
    let none = lines.compacted(&nothing_back(), "S");
    assert_eq!(none.roles(), "user assistant");
    assert_eq!(none.applied.drafts.len(), 1);
}

/// Returns options that bring nothing back.
fn nothing_back() -> compaction_core::PlanOptions {
    let mut options = options(Vec::new());
    options.settings.compaction.restore.max_images = 0;
    options
}

#[test]
fn r16_a_call_that_waits_stands_behind_the_attachments() {
    let lines = waiting();
    let mut after = lines.compacted_by(&Trigger::Threshold, &all_there(&lines), "S");
    after
        .lines
        .result("w1", "shot", "one")
        .result("w2", "shot", "two");
    assert_eq!(
        after.roles(),
        "user assistant user assistant toolResult toolResult"
    );
    assert_eq!(last_answer(&after.sent()), "scc");
}

#[test]
fn r16_without_attachments_it_joins_the_acknowledgement() {
    let lines = waiting();
    let mut after = lines.compacted_by(&Trigger::Threshold, &nothing_back(), "S");
    after
        .lines
        .result("w1", "shot", "one")
        .result("w2", "shot", "two");
    assert_eq!(after.roles(), "user assistant toolResult toolResult");
    assert_eq!(last_answer(&after.sent()), "stcc");
    // What was billed for the call was billed for a context that is gone.
    let context = after.lines.context();
    let mut messages = context.messages().map(|(_, message)| &**message);
    let billed = messages.any(|message| match message {
        AgentMessage::Assistant(answer) => {
            answer.usage.is_some_and(|usage| usage.context_tokens() > 0)
        }
        _ => false,
    });
    assert!(!billed);
}

#[test]
fn r16_thinking_that_was_redacted_goes_with_its_call() {
    let mut lines = Lines::new();
    lines.talk(9000).user("Go on.");
    let content = json!([
        {"type":"thinking","thinking":"","redacted":true},
        {"type":"toolCall","id":"w1","name":"shot","arguments":{}},
    ]);
    lines.answer(content, "toolUse");
    let mut after = lines.compacted_by(&Trigger::Threshold, &nothing_back(), "S");
    after.lines.result("w1", "shot", "one");
    assert_eq!(last_answer(&after.sent()), "htc");
}

#[test]
fn r17_only_automatic_runs_keep_the_call() {
    let lines = waiting();
    let automatic = [
        Trigger::Threshold,
        Trigger::Overflow,
        Trigger::Incomplete,
        Trigger::Idle,
        Trigger::Image,
    ];
    for trigger in automatic {
        let plan = lines.plan(&trigger, &options(Vec::new())).expect("a plan");
        assert!(plan.pending.is_some(), "{}", trigger.name());
        let last = plan.entries.last().expect("entries");
        assert_eq!(last.comes_back, Some(ComesBack::Calls));
    }
    let after = lines.compacted(&all_there(&lines), "S");
    assert!(after.plan.pending.is_none());
    assert_eq!(after.roles(), "user assistant user");
}

#[test]
fn r17_calls_that_have_results_do_not_wait() {
    let mut lines = waiting();
    let pending = |lines: &Lines| {
        let plan = lines
            .plan(&Trigger::Threshold, &options(Vec::new()))
            .expect("a plan");
        let calls = plan
            .pending
            .iter()
            .flat_map(|answer| answer.content.tool_calls());
        calls.map(|call| call.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(pending(&lines), ["w1", "w2"]);
    lines.result("w1", "shot", "one");
    assert_eq!(pending(&lines), ["w2"]);
    let mut steered = lines.clone();
    steered.user("Stop that.");
    assert_eq!(pending(&steered), Vec::<String>::new());
    lines.result("w2", "shot", "two");
    assert_eq!(pending(&lines), Vec::<String>::new());
}

#[test]
fn r17_calls_of_an_answer_that_failed_do_not_wait() {
    for reason in ["aborted", "error", "length"] {
        let mut lines = Lines::new();
        let call = json!([{"type":"toolCall","id":"1","name":"shot","arguments":{}}]);
        lines.talk(9000).user("Go on.").answer(call, reason);
        let plan = lines
            .plan(&Trigger::Threshold, &options(Vec::new()))
            .expect("a plan");
        assert!(plan.pending.is_none(), "{reason}");
    }
}

#[test]
fn r18_the_next_prompt_is_merged_with_what_was_brought_back() {
    let mut lines = Lines::new();
    lines.talk(9000).read("1", "a.rs", "x");
    let mut after = lines.compacted(&all_there(&lines), "S");
    after.lines.user("Next.");
    assert_eq!(after.roles(), "user assistant user");
    let sent = after.sent();
    let last = sent.last().expect("messages").content().joined_text("|");
    assert!(
        last.contains("text of a.rs") && last.ends_with("|Next."),
        "{last}"
    );
}

#[test]
fn r21_files_images_and_calls_count_in_what_is_after() {
    let mut lines = waiting();
    lines.text = lines
        .text
        .replace("\"page\":1", &format!("\"page\":\"{}\"", "p ".repeat(300)));
    let mut pasted = Lines::new();
    pasted.pasted("Look.", "AAAA");
    let text = "some words of the file\n".repeat(100);
    let full = disk(&lines, &[("a.rs", &text)]);
    for options in [full, nothing_back()] {
        let after = lines.compacted_by(&Trigger::Threshold, &options, "S");
        let figure = measured(&after.lines.context());
        assert_eq!(after.applied.tokens_after, figure);
        let details = after
            .lines
            .context()
            .compaction()
            .expect("one")
            .1
            .details
            .clone();
        let details = details.expect("details").to_value();
        assert_eq!(details["estimatedTokensAfter"], json!(figure));
    }
}

#[test]
fn r21_what_would_grow_is_refused_with_both_figures() {
    let refused = |lines: &Lines, options: &compaction_core::PlanOptions, trigger: &Trigger| {
        let plan = lines.plan(trigger, options).expect("a plan");
        match applied(&plan, "A summary.") {
            Err(ApplyError::Inflated { before, after }) => {
                assert!(after >= before);
                let said = ApplyError::Inflated { before, after }.to_string();
                assert!(said.contains(&before.to_string()) && said.contains(&after.to_string()));
                true
            }
            Ok(_) => false,
            Err(other) => panic!("{other}"),
        }
    };
    // A file: what is on disk is larger than what was in the context.
    let mut lines = Lines::new();
    lines.talk(400).read("1", "a.rs", "x");
    let text = "some words of the file\n".repeat(200);
    assert!(refused(&lines, &disk(&lines, &[("a.rs", &text)]), &MANUAL));
    assert!(!refused(&lines, &disk(&lines, &[]), &MANUAL));
    // An image: it is there before and after, so the little talk does not pay for the frames.
    let mut lines = Lines::new();
    lines.pasted("Look at it.", "AAAA").says("I see.");
    assert!(refused(&lines, &options(Vec::new()), &MANUAL));
    // A call.
    let mut lines = Lines::new();
    lines.user("Write it.");
    let arguments = json!({"path":"a","content":"many words of a file\n".repeat(200)});
    lines.calls(&[("1", "write", arguments)]);
    assert!(refused(&lines, &options(Vec::new()), &Trigger::Threshold));
    assert!(!refused(&lines, &options(Vec::new()), &MANUAL));
}

#[test]
fn r24_a_failed_restoration_leaves_summary_acknowledgement_and_call() {
    let lines = waiting();
    let mut options = all_there(&lines);
    options.restore.failed = Some("the workspace is gone".to_owned());
    let mut after = lines.compacted_by(&Trigger::Threshold, &options, "S");
    after
        .lines
        .result("w1", "shot", "one")
        .result("w2", "shot", "two");
    assert_eq!(after.roles(), "user assistant toolResult toolResult");
    let context = after.lines.context();
    let details = context.compaction().expect("one").1.details.clone();
    let details = details.expect("details").to_value();
    assert_eq!(details["restored"]["failed"], "the workspace is gone");
    assert_eq!(details["strategy"], "restore");
}

#[test]
fn a_small_window_gets_less_back() {
    let mut lines = Lines::new();
    lines
        .talk(5000)
        .read("1", "a.rs", "x")
        .read("2", "b.rs", "x");
    let text = "some words of the file\n".repeat(300);
    let mut options = disk(&lines, &[("a.rs", &text), ("b.rs", &text)]);
    let mut tokens = Vec::new();
    for window in [6000, 10_000, 16_000, 200_000] {
        options.window = TokenCount(window);
        options.summarizer.window = TokenCount(200_000);
        let after = lines.compacted(&options, "S");
        let threshold = after.plan.threshold.as_ref().expect("a threshold").tokens;
        assert!(after.applied.tokens_after <= threshold);
        let restored = after.plan.restored.as_ref().expect("restored").tokens;
        let most = threshold
            .saturating_sub(after.plan.summary_cap)
            .scaled(1, 2);
        assert!(restored <= most, "{restored} of {most}");
        tokens.push(restored);
    }
    assert!(tokens.is_sorted() && tokens[0] < tokens[3], "{tokens:?}");
}

#[test]
fn a_summary_that_leaves_no_room_is_refused_before_anybody_is_asked() {
    let mut lines = Lines::new();
    let arguments = json!({"path":"a","content":"many words of a file\n".repeat(2000)});
    lines
        .talk(2000)
        .user("Write it.")
        .calls(&[("1", "write", arguments)]);
    let mut options = options(Vec::new());
    options.window = TokenCount(8000);
    options.summarizer.window = TokenCount(200_000);
    let refused = lines.plan(&Trigger::Threshold, &options);
    assert!(
        matches!(refused, Err(NothingToDo::CannotFit { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_plan_tells_what_comes_back_and_its_hash_depends_on_it() {
    let mut lines = Lines::new();
    lines.talk(9000).read("1", "a.rs", "x");
    lines
        .calls(&[("2", "shot", json!({}))])
        .shot("2", "shot", "AAAA")
        .says("ok");
    let plan = |text: &str| {
        lines
            .plan(&MANUAL, &disk(&lines, &[("a.rs", text)]))
            .expect("a plan")
    };
    let one = plan("one");
    let told: Vec<_> = one
        .entries
        .iter()
        .filter_map(|it| Some((&*it.entry_id, it.comes_back?)))
        .collect();
    assert_eq!(told, [("e3", ComesBack::File), ("e6", ComesBack::Image)]);
    assert!(
        one.entries
            .iter()
            .all(|entry| entry.disposition == Disposition::Summarized)
    );
    assert_eq!(one.hash(), plan("one").hash());
    assert_ne!(one.hash(), plan("two").hash());
}

#[test]
fn what_was_brought_back_is_kept_typed() {
    let mut lines = Lines::new();
    lines.talk(9000).read("1", "a.rs", "x\n");
    let after = lines.compacted(&disk(&lines, &[("a.rs", "x\n")]), "S");
    let line = after.lines.text.lines().last().expect("a line");
    let entry: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(entry["type"], "custom_message");
    assert_eq!(entry["customType"], "restored_context");
    assert_eq!(entry["display"], false);
    let file = &entry["details"]["files"][0];
    assert_eq!(file["path"], "a.rs");
    assert_eq!(file["seen"], json!(content_hash("x")));
    assert_eq!(file["freshness"], "unchanged");
}
