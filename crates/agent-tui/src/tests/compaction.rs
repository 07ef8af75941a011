//! Compactions, and the status line.

use crossterm::event::KeyCode;
use ratatui::layout::Size;
use serde_json::json;

use super::harness::Bench;
use crate::state::Input;
use crate::text::text_of;

fn result() -> serde_json::Value {
    json!({"strategy": "context-full", "entry_id": "77aa01fe", "first_kept_entry_id": "c3d4e5f6", "tokens_before": 58000, "tokens_after": 16400, "ledger_tokens": 1640, "kept_entries": 18, "summarized_entries": 240, "shortened_entries": 3, "summarizer": "openai/gpt-5.4", "summary": "## Goal\nMake 1h30m parse.", "user_messages":{"total":18,"verbatim":12,"shortened":4,"named":0,"gone":2}, "cost_usd": 0.003, "seconds": 5.1, "waited_seconds": 0.0, "prepared": false})
}

#[test]
fn a_compaction_shows_its_progress_and_then_its_card() {
    let mut bench = Bench::new(80, 24);
    bench
        .event(json!({"type": "compaction_start", "reason": "manual", "strategy": "context-full"}));
    bench.event(
        json!({"type": "compaction_progress", "text": "asking openai/gpt-5.4", "notable": false}),
    );
    bench.after(3.0);
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~

    * compacting  31.8k  manual  3s  asking openai/gpt-5.4  esc keeps all as is

    > ask something, / for commands, @ for files
    ~/parser  openai/gpt-5.4  [=======...!...]  31.8k billed  11.8k left  compacting
    ");
    bench.key(KeyCode::Esc);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Command("stop"), Do(AbortCompaction))"#);
    bench.event(json!({"type": "compaction_end", "reason": "manual", "result": result(), "aborted": false, "will_retry": false, "error": null}));
    insta::assert_snapshot!(bench.screen(), @"

    -- compacted  58.0k -> 16.4k  manual  5.1s  by openai/gpt-5.4  $0.003 ----------
       entries  240 summarized, 18 entries kept, 3 of them shortened, your messages:
                12 of 18 verbatim, 4 in part
       ledger   1.6k tokens quoted by code: messages, files, failures
       on disk  every entry; /recall finds what is out of context
                /undo takes it back   /loss what went   ctrl+o reads the summary
    ~~~

    > ask something, / for commands, @ for files
    ~/parser  openai/gpt-5.4  $0.00  [=========...!....]  31.8k billed  11.8k left
    ");
    let mut narrow = Bench::new(40, 20);
    narrow.event(json!({"type": "auto_compaction_end", "reason": "threshold", "result": result(), "aborted": false, "will_retry": false, "error": null}));
    insta::assert_snapshot!(narrow.screen(), @"
    openai/gpt-5.4, window 60.0k, in
       /home/ann/parser, session 0199

    -- compacted  58.0k -> 16.4k  5.1s -----
       entries  240 summarized, 18 entries
                kept, 3 of them shortened,
                your messages: 12 of 18
                verbatim, 4 in part
       ledger   1.6k tokens quoted by code:
                messages, files, failures
       on disk  every entry; /recall finds
                what is out of context
                /undo takes it back   /loss
                what went   ctrl+o reads the
                summary
    ~~~

    > ask something, / for commands
    [=========...!....]  31.8k  11.8k left
    ");
}

#[test]
fn a_cancelled_compaction_says_so_once() {
    let mut bench = Bench::new(80, 24);
    bench
        .event(json!({"type": "compaction_start", "reason": "manual", "strategy": "context-full"}));
    bench.event(json!({"type": "compaction_end", "reason": "manual", "result": null, "aborted": true, "will_retry": false, "error": "Compaction cancelled"}));
    let refusal = session_protocol::Refusal {
        kind: session_protocol::RefusalKind::Cancelled,
        message: "Compaction cancelled".to_owned(),
    };
    let purpose = crate::Purpose::Command("compact");
    bench.input(Input::Answered(purpose, Err(refusal)));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199

    compaction cancelled; the session is as it was
    ~~~

    > ask something, / for commands, @ for files
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
}

#[test]
fn the_status_line_drops_the_folder_then_the_cost_then_the_model() {
    let mut bench = Bench::new(100, 24);
    bench.state.spent.cost_usd = Some(0.0631);
    bench.state.fixed = 12_000;
    let mut lines = Vec::new();
    for columns in [100, 80, 64, 56, 40, 30] {
        bench.input(Input::Resize(Size::new(columns, 24)));
        let line = crate::status::line(&bench.state, usize::from(columns));
        lines.push(format!("{columns:>3} {}", text_of(&line)));
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    100 ~/parser  openai/gpt-5.4  $0.06  [####======....!.....]  31.8k billed  11.8k left
     80 ~/parser  openai/gpt-5.4  $0.06  [###======...!....]  31.8k billed  11.8k left
     64 openai/gpt-5.4  $0.06  [###======....!....]  31.8k  11.8k left
     56 openai/gpt-5.4  [###======...!....]  31.8k  11.8k left
     40 [###======...!....]  31.8k  11.8k left
     30 [#==..!.]  31.8k  11.8k left
    ");
}

#[test]
fn the_card_of_a_handoff_offers_no_undo() {
    let mut bench = Bench::new(80, 24);
    let mut handed = result();
    handed["strategy"] = json!("handoff");
    bench.event(json!({"type": "compaction_end", "reason": "manual", "result": handed, "aborted": false, "will_retry": false, "error": null}));
    let screen = bench.screen();
    assert!(
        screen.contains("/recall WORDS") && !screen.contains("/undo"),
        "{screen}"
    );
}
