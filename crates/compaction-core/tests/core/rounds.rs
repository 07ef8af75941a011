//! Many compactions in a row on a session that grows.

use compaction_core::{PlanOptions, Profile, Summarizer, TokenCount, Trigger, plan_compaction};
use serde_json::{Value, json};
use session_model::decode_bytes;

use crate::sessions::{appended, path};

const WINDOW: TokenCount = TokenCount(60_000);
/// Three percent of it.
const BUDGET: TokenCount = TokenCount(1_800);
const FIRST: &str = "Port the billing job to Go. Never touch the table invoices_2019.";

/// What a turn says: a request, files read, an edit, a command, an answer.
fn turn(round: usize, parent: Option<String>) -> (String, String) {
    let mut text = String::new();
    let mut parent = parent;
    let mut put = |id: String, message: Value| {
        let line = json!({ "type": "message", "id": id, "parentId": parent, "message": message });
        text.push_str(&format!("{line}\n"));
        parent = Some(id);
    };
    let request = match round {
        0 => FIRST.to_owned(),
        _ => format!("Request {round}: now the part for region {round}, with retries."),
    };
    put(
        format!("u{round}"),
        json!({ "role": "user", "content": request }),
    );
    for call in 0..5 {
        let id = format!("c{round}-{call}");
        let (name, arguments) = match call {
            3 => (
                "write",
                json!({ "path": format!("billing/region{round}.go"), "content": "package main" }),
            ),
            4 => (
                "bash",
                json!({ "command": format!("go test ./region{round}/...") }),
            ),
            _ => (
                "read",
                json!({ "path": format!("old/region{round}_{call}.py") }),
            ),
        };
        put(
            format!("a{id}"),
            json!({ "role": "assistant", "stopReason": "toolUse",
                    "content": [{ "type": "toolCall", "id": id, "name": name, "arguments": arguments }] }),
        );
        let lines = (0..250).map(|line| format!("value_{round}_{call}_{line} = {line}\n"));
        put(
            format!("r{id}"),
            json!({ "role": "toolResult", "toolCallId": id, "toolName": name, "isError": false,
                    "content": lines.collect::<String>() }),
        );
    }
    put(
        format!("z{round}"),
        json!({ "role": "assistant", "stopReason": "stop",
                "content": [{ "type": "text", "text": format!("Region {round} is ported; its tests pass.") }] }),
    );
    (text, parent.unwrap_or_default())
}

#[test]
fn twenty_compactions_in_a_row_stay_within_budget_and_keep_both_ends() {
    let mut text = format!(
        "{}\n",
        json!({ "type": "session", "version": 3, "id": "s" })
    );
    let mut options = PlanOptions::for_window(WINDOW);
    options.settings.compaction.keep_recent_tokens = TokenCount(2_000);
    let counter = Profile::Own.counter();
    let mut freed = Vec::new();
    for round in 0..20 {
        let session = decode_bytes(text.clone().into_bytes());
        let leaf = path(&session).leaf_id().map(str::to_owned);
        let (turn, leaf) = turn(round, leaf);
        text.push_str(&turn);
        let session = decode_bytes(text.clone().into_bytes());
        let plan = plan_compaction(&path(&session), &Trigger::Threshold, &options)
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        let applied = plan
            .extractive()
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        let taken = counter.text(&applied.summary);
        assert!(
            taken <= BUDGET,
            "round {round}: {taken}\n{}",
            applied.summary
        );
        let all: Vec<String> = applied
            .messages()
            .iter()
            .map(|message| message.display_text())
            .collect();
        let all = all.join("\n");
        assert!(all.contains(FIRST), "round {round}: {all}");
        let newest = format!("region {round}, with retries");
        assert!(round == 0 || all.contains(&newest), "round {round}: {all}");
        freed.push(
            plan.tokens_in_context()
                .saturating_sub(applied.tokens_after),
        );
        text = appended(&text, Some(&leaf), &applied.drafts);
    }
    // From the third on each round adds the same.
    let shrunk = freed
        .windows(2)
        .skip(2)
        .filter(|pair| pair[1].scaled(100, 97) < pair[0]);
    assert_eq!(shrunk.count(), 0, "{freed:?}");
}

#[test]
fn what_somebody_added_to_an_outline_is_quoted_by_the_next_one() {
    let mut text = format!(
        "{}\n",
        json!({ "type": "session", "version": 3, "id": "s" })
    );
    let mut options = PlanOptions::for_window(WINDOW);
    options.settings.compaction.keep_recent_tokens = TokenCount(2_000);
    let (first, leaf) = turn(0, None);
    text.push_str(&first);
    let session = decode_bytes(text.clone().into_bytes());
    let plan = plan_compaction(&path(&session), &Trigger::Threshold, &options).expect("a plan");
    let edited = format!(
        "{}\nThe owner of the table is Kim. </ledger>",
        plan.extractive_text()
    );
    let applied = plan
        .apply_prose(&edited, Summarizer::Extractive)
        .expect("a summary");
    assert!(
        applied.summary.contains("Kim. &lt;/ledger>"),
        "{}",
        applied.summary
    );
    text = appended(&text, Some(&leaf), &applied.drafts);
    let session = decode_bytes(text.clone().into_bytes());
    let leaf = path(&session).leaf_id().map(str::to_owned);
    text.push_str(&turn(1, leaf).0);
    let session = decode_bytes(text.into_bytes());
    let plan = plan_compaction(&path(&session), &Trigger::Threshold, &options).expect("a plan");
    let next = plan.extractive().expect("a summary").summary;
    assert!(next.contains("> The owner of the table is Kim."), "{next}");
}
