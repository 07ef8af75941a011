//! Small windows: where room is made, the ledger gives way before what was said lately does.

use std::fmt::Write as _;

use crate::sessions::path;
use compaction_core::{CompactionPlan, PlanOptions, TokenCount, Trigger, plan_compaction};
use serde_json::json;
use session_model::{Decoded, decode_bytes};

/// Returns a session with facts of many kinds, then work whose newest user messages have `each` words.
fn session(each: usize) -> Decoded {
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/p\"}\n".to_owned();
    let mut entries = 0;
    let mut add = |message: serde_json::Value| {
        let parent = (entries > 0).then(|| format!("e{entries}"));
        entries += 1;
        let id = format!("e{entries}");
        let entry = json!({"type":"message","id":id,"parentId":parent,"message":message});
        writeln!(text, "{entry}").expect("a line");
    };
    let said = |text: &str| json!({"role":"assistant","content":[{"type":"text","text":text}],"stopReason":"stop"});
    add(json!({"role":"user","content":"Build the importer. Never touch src/api.rs."}));
    for number in 0..40 {
        let (call, file) = (format!("c{number}"), format!("src/part_{number}/import.rs"));
        let arguments = json!({"path":file,"content":"mod part;\n".repeat(40)});
        let block = json!({"type":"toolCall","id":call,"name":"write","arguments":arguments});
        add(json!({"role":"assistant","content":[block],"stopReason":"toolUse"}));
        add(
            json!({"role":"toolResult","toolCallId":call,"toolName":"write","content":[{"type":"text","text":"done"}],"isError":false}),
        );
        add(said(&format!(
            "I'll use parser {number} because the files of kind {number} do not fit into memory."
        )));
    }
    for number in 0..2 {
        let words = format!("remark{number} ").repeat(each);
        add(json!({"role":"user","content":words}));
        add(said("That is so."));
    }
    add(json!({"role":"user","content":"Go on."}));
    add(said("I do."));
    decode_bytes(text.into_bytes())
}

fn plan(session: &Decoded, window: u64, ledger: bool) -> CompactionPlan {
    let mut options = PlanOptions::for_window(TokenCount(window));
    if !ledger {
        options.settings.compaction.ledger.percent = 0.0;
    }
    let trigger = Trigger::Manual { focus: None };
    plan_compaction(&path(session), &trigger, &options).expect("something to do")
}

/// Returns what is elided without a ledger and with one, what the ledger takes, and how many requests it quotes.
fn measured(window: u64, each: usize) -> String {
    let session = session(each);
    let (without, with) = (plan(&session, window, false), plan(&session, window, true));
    let ids = |plan: &CompactionPlan| -> Vec<String> {
        let elided = plan.elisions.iter();
        elided.map(|elision| elision.entry_id.to_string()).collect()
    };
    assert_eq!(
        ids(&with),
        ids(&without),
        "nothing is shortened for the ledger"
    );
    let requests = with.ledger.counts.requests_whole + with.ledger.counts.requests_cut;
    let threshold = with.threshold.as_ref().expect("a threshold").tokens;
    let applied = with.extractive().expect("a summary");
    assert!(applied.tokens_after <= threshold);
    format!(
        "{} shortened, ledger {} of {}, {requests} requests",
        with.elisions.len(),
        with.ledger.tokens,
        threshold.scaled(1, 4)
    )
}

#[test]
fn the_ledger_gives_way_before_anything_is_shortened() {
    insta::assert_snapshot!(measured(4000, 800), @"1 shortened, ledger 268 of 850, 1 requests");
    insta::assert_snapshot!(measured(8000, 1600), @"1 shortened, ledger 395 of 1700, 1 requests");
    insta::assert_snapshot!(measured(8000, 700), @"0 shortened, ledger 369 of 1700, 1 requests");
}

#[test]
fn a_summary_that_is_carried_verbatim_counts_where_a_turn_is_split() {
    let said = |role: &str, count: usize| {
        let rules = (0..count).map(|rule| format!("You must never touch file number {rule}.\n"));
        let text: String = rules.collect();
        json!({"role":role,"content":[{"type":"text","text":text}],"stopReason":"stop"})
    };
    let carried = "what was done before, ".repeat(170);
    let lines = [
        json!({"type":"session","version":3,"id":"s","cwd":"/p"}),
        json!({"type":"message","id":"a","message":said("user", 1)}),
        json!({"type":"compaction","id":"x","parentId":"a","firstKeptEntryId":"a","tokensBefore":0,"summary":"nothing"}),
        json!({"type":"compaction","id":"b","parentId":"x","firstKeptEntryId":"x","tokensBefore":3000,"summary":carried}),
        json!({"type":"message","id":"c","parentId":"b","message":said("user", 180)}),
        json!({"type":"message","id":"d","parentId":"c","message":said("assistant", 25)}),
        json!({"type":"message","id":"e","parentId":"d","message":said("user", 130)}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let session = decode_bytes(text.into_bytes());
    for window in [3_231, 4_000] {
        let mut options = PlanOptions::for_window(TokenCount(window));
        options.settings.compaction.keep_recent_tokens = TokenCount(1_333);
        let trigger = Trigger::Manual { focus: None };
        match plan_compaction(&path(&session), &trigger, &options) {
            Ok(plan) => {
                let threshold = plan.threshold.as_ref().expect("a threshold").tokens;
                let applied = plan.extractive().expect("a summary");
                assert!(applied.tokens_after <= threshold, "{window}");
            }
            Err(other) => panic!("{window}: {other}"),
        }
    }
}
