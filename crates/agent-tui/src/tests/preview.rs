//! The preview of a compaction, and a summary that is edited before it is applied.

use crossterm::event::KeyCode;
use ratatui::layout::Size;
use serde_json::json;

use super::harness::Bench;
use super::reports::{made, session};
use crate::report::{Built, Report};
use crate::state::{Action, Input, Purpose};

/// Answers the preview that was asked for.
async fn plan(bench: &mut Bench, session: &session_protocol::Snapshot) -> Vec<String> {
    let mut told = Vec::new();
    for action in bench.actions() {
        match action {
            Action::Ask(Purpose::Report(report @ Report::Preview(_)), _) => {
                let built = made(&report, session).await;
                bench.input(Input::Built(built));
            }
            other => told.push(format!("{other:?}")),
        }
    }
    told
}

/// Returns a screen without sizes that ids change, which have no fixed size in tokens.
fn without_ids(screen: &str) -> String {
    let lead = "  ledger    ";
    let lines = screen.lines().map(|line| match line.strip_prefix(lead) {
        Some(rest) => format!(
            "{lead}N{}",
            rest.trim_start_matches(|digit: char| digit.is_ascii_digit())
        ),
        None => line.to_owned(),
    });
    let screen = lines.collect::<Vec<_>>().join("\n");
    screen
        .replace("10.3k -> ~", "10.2k -> ~")
        .replace("~3.0k", "~2.9k")
}

#[tokio::test]
async fn a_compaction_is_previewed_chosen_and_run() {
    let session = session(false).await;
    let mut bench = Bench::new(80, 24);
    bench.type_text("/compact the file names");
    bench.key(KeyCode::Enter);
    assert!(plan(&mut bench, &session).await.is_empty());
    insta::assert_snapshot!(without_ids(&bench.screen()), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~
    Preview: compact now   10.2k -> ~2.9k   nothing has changed yet
      keep      1 entry verbatim, 6
      summarize 5 entries, 8.4k into at most 1.0k
      ledger    N quoted by code: messages, work, failures, todos
      messages  2 of 2 verbatim, if no model writes
      focus     the file names
    --------------------------------------------------------------------------------
    > summarize user       never push to main; fix the parser                     13
      summarize assistant  I look into src/duration.rs.                           14
      summarize ls         [the folder is empty]                                   9
      summarize assistant  The parser of src/duration.rs is wrong. The pa...    8.3k
      summarize user       and now?                                                7
      keep      assistant  Done.                                                   6









    --------------------------------------------------------------------------------
    enter compact  space pin/drop  e compact, summary edited first  esc leave
    ");
    // Pinned, left out, as planned again; a call stays with its result.
    let mut fates = Vec::new();
    for _ in 0..3 {
        bench.key(KeyCode::Char(' '));
        plan(&mut bench, &session).await;
        let screen = bench.screen();
        let row = screen.lines().find(|line| line.starts_with('>'));
        fates.push(row.unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(fates.join("\n"), @"
    > pin       user       never push to main; fix the parser                     13
    > drop      user       never push to main; fix the parser                     13
    > summarize user       never push to main; fix the parser                     13
    ");
    bench.key(KeyCode::Char(' '));
    plan(&mut bench, &session).await;
    bench.key(KeyCode::Enter);
    let asked = plan(&mut bench, &session).await.join("\n");
    assert!(
        asked.contains("Compact(") && asked.contains("pin: [\""),
        "{asked}"
    );
    assert!(
        asked.contains("the file names") && asked.contains("review: false"),
        "{asked}"
    );
    assert!(!bench.state.is_full_screen());
}

#[tokio::test]
async fn the_preview_fits_other_screens_and_escape_leaves_it() {
    let session = session(false).await;
    for (columns, rows) in [(120, 40), (40, 20), (1, 1), (2, 3)] {
        let mut bench = Bench::new(columns, rows);
        bench.type_text("/compact");
        bench.key(KeyCode::Enter);
        plan(&mut bench, &session).await;
        let screen = without_ids(&bench.screen());
        if columns == 40 {
            insta::assert_snapshot!(screen, @"
            openai/gpt-5.4, window 60.0k, in
               /home/ann/parser, session 0199
            ~~~
            Preview: compact now   10.2k -> ~2.9k
              keep      1 entry verbatim, 6
              summarize 5 entries, 8.4k into at m...
              ledger    N quoted by code: messag...
              messages  2 of 2 verbatim, if no mo...
            ----------------------------------------
            > summarize user       never ...      13
              summarize assistant  I look...      14
              summarize ls         [the f...       9
              summarize assistant  The pa...    8.3k
              summarize user       and now?        7
              keep      assistant  Done.           6






            ----------------------------------------
            enter compact  space pin/drop  esc leave
            ");
        }
        if columns == 120 {
            insta::assert_snapshot!(screen, @"
            openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
            ~~~
            Preview: compact now   10.2k -> ~2.9k   nothing has changed yet
              keep      1 entry verbatim, 6
              summarize 5 entries, 8.4k into at most 1.0k
              ledger    N quoted by code: messages, work, failures, todos
              messages  2 of 2 verbatim, if no model writes
            ------------------------------------------------------------------------------------------------------------------------
            > summarize user       never push to main; fix the parser                                                             13
              summarize assistant  I look into src/duration.rs.                                                                   14
              summarize ls         [the folder is empty]                                                                           9
              summarize assistant  The parser of src/duration.rs is wrong. The parser of src/duration.rs is wrong. The pa...    8.3k
              summarize user       and now?                                                                                        7
              keep      assistant  Done.                                                                                           6


























            ------------------------------------------------------------------------------------------------------------------------
            enter compact  space pin/drop  e compact, summary edited first  esc leave
            ");
        }
        bench.key(KeyCode::Down);
        bench.key(KeyCode::Esc);
        assert!(plan(&mut bench, &session).await.is_empty());
        assert!(!bench.state.is_full_screen());
    }
}

#[test]
fn a_summary_is_edited_before_it_is_applied() {
    let mut bench = Bench::new(80, 12);
    bench.state.edits_summary = true;
    bench
        .event(json!({"type": "compaction_start", "reason": "manual", "strategy": "context-full"}));
    let review = json!({"type": "compaction_review", "summary": "## Goal\nMake 1h30m parse.", "tokens_before": 58000, "tokens_after": 16400, "error": null});
    bench.event(review.clone());
    insta::assert_snapshot!(bench.asked(), @r###"Edit("## Goal\nMake 1h30m parse.")"###);
    bench.input(Input::Edited(Err(
        "EDITOR = false failed (exit status: 1); the text stays".to_owned(),
    )));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~
    Summary: 58.0k -> ~16.4k   not applied yet
    error: EDITOR = false failed (exit status: 1); the text stays

    Goal

    Make 1h30m parse.





    enter apply  e edit  up/down move  esc cancel
    ");
    bench.key(KeyCode::Char('e'));
    insta::assert_snapshot!(bench.asked(), @r###"Edit("## Goal\nMake 1h30m parse.")"###);
    bench.input(Input::Resize(Size::new(40, 20)));
    bench.input(Input::Edited(Ok("## Goal\nby me".to_owned())));
    insta::assert_snapshot!(bench.screen(), @"
    ~~~
    Summary, edited: 58.0k -> ~16.4k
    Goal

    by me















    enter apply  e edit  esc cancel
    ");
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r###"Ask(Command("review"), Do(Review { summary: Some("## Goal\nby me") }))"###);
    // What does not fit is shown again, and can be left.
    let mut again = review;
    again["error"] = json!("the context would not get smaller");
    bench.event(again);
    assert!(bench.screen().contains("error: the context would not"));
    bench.key(KeyCode::Esc);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Command("stop"), Do(AbortCompaction))"#);
}

#[tokio::test]
async fn plain_lines_show_the_plan_and_go_on() {
    let session = session(false).await;
    let mut bench = Bench::new(60, 20);
    bench.state.setup.plain = true;
    bench.type_text("/compact");
    bench.key(KeyCode::Enter);
    let _ = plan(&mut bench, &session).await;
    assert!(bench.asked().contains("Compact("));
    assert!(bench.screen().contains("Preview: compact now"));
    let compacted = super::reports::session(true).await;
    bench.type_text("/compact");
    bench.key(KeyCode::Enter);
    plan(&mut bench, &compacted).await;
    assert!(
        matches!(made(&Report::Settings, &compacted).await, Built::Settings(all) if all.len() > 20)
    );
}
