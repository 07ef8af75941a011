//! Tests of the tree.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use session_model::{Decoder, SessionTree, decode_bytes};

use super::{TreeStep, TreeView};
use crate::text::{columns, text_of};
use crate::theme::Theme;
use session_text::Rank;

/// Returns a session: each entry is its id, its parent's id, and a role with a text, or `compaction` or `label`.
fn session(entries: &[(&str, Option<&str>, &str, &str)]) -> SessionTree {
    let mut text = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}).to_string();
    for (id, parent, kind, content) in entries {
        let at = "2026-01-01T00:00:00.000Z";
        let line = match *kind {
            "compaction" => {
                json!({"type": kind, "id": id, "parentId": parent, "timestamp": at, "summary": content, "firstKeptEntryId": parent, "tokensBefore": 9000})
            }
            "label" => {
                json!({"type": kind, "id": id, "parentId": parent, "timestamp": at, "targetId": content, "label": "logs"})
            }
            "toolResult" => {
                json!({"type": "message", "id": id, "parentId": parent, "timestamp": at, "message": {"role": kind, "toolCallId": "c", "toolName": "bash", "content": [{"type": "text", "text": content}]}})
            }
            "custom" => {
                json!({"type": kind, "id": id, "parentId": parent, "timestamp": at, "customType": content, "data": {}})
            }
            role => {
                json!({"type": "message", "id": id, "parentId": parent, "timestamp": at, "message": {"role": role, "content": [{"type": "text", "text": content}]}})
            }
        };
        text.push_str(&format!("\n{line}"));
    }
    decode_bytes(format!("{text}\n").into_bytes()).tree
}

fn sample() -> SessionTree {
    session(&[
        ("e1", None, "user", "fix the duration parser: 1h30m fails"),
        ("e2", Some("e1"), "assistant", "I look."),
        ("e3", Some("e2"), "toolResult", "fn parse()"),
        ("e4", Some("e3"), "user", "try a hand-written lexer"),
        ("e5", Some("e4"), "assistant", "Done."),
        ("e6", Some("e3"), "compaction", "## Goal\nparse"),
        ("e7", Some("e6"), "user", "rewrite the \u{1b}[2Jtokenizer"),
        ("e8", Some("e7"), "assistant", "Done as well."),
        ("e9", Some("e8"), "label", "e1"),
    ])
}

fn view(tree: &SessionTree, offers_summary: bool) -> TreeView {
    TreeView::new(tree, tree.leaf(), offers_summary)
}

fn press(view: &mut TreeView, code: KeyCode) -> String {
    let step = view.key(KeyEvent::new(code, KeyModifiers::NONE), 24);
    match step {
        TreeStep::Stay => String::new(),
        step => format!("{step:?}"),
    }
}

fn draw(view: &TreeView, width: usize, height: usize) -> String {
    let drawn = view.draw(width, height, Theme::None);
    let lines = [vec![drawn.title], drawn.rows, vec![drawn.keys]].concat();
    let lines: Vec<String> = lines.iter().map(text_of).collect();
    for line in &lines {
        assert!(columns(line) <= width, "{line}");
    }
    let lines = lines.iter().map(|line| line.trim_end());
    let lines = lines.filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn turns_branches_labels_and_compactions_are_rows() {
    let tree = sample();
    insta::assert_snapshot!(draw(&view(&tree, false), 80, 24), @r#"
    Session tree   3 turns, 2 branches
      o fix the duration parser: 1h30m fails  "logs"                  1 tool      30
      +-x try a hand-written lexer                                                16
      C compacted 9.0k  2026-01-01 00:00  after: fix the durati...                 9
    > @ rewrite the  [2Jtokenizer  YOU ARE HERE                                   20
      -> Done as well.
    4 of 4   e7   files on disk are not changed by a move
    enter go  s +summary  e edit  f fork  c copy  l label  / find  tab filter  esc
    "#);
    insta::assert_snapshot!(draw(&view(&tree, false), 40, 20), @r#"
    Session tree   3 turns, 2 branches
      o fix the duration ...  "logs"      30
      +-x try a hand-written lexer        16
      C compacted 9.0k  2026-01-0...       9
    > @ rewrite the  [2Jtokenizer         20
      -> Done as well.
    4 of 4   e7   files on disk are not c...
    enter go  s +summary  e edit  esc
    "#);
}

#[test]
fn after_a_move_back_the_row_that_it_led_to_is_marked() {
    let tree = session(&[
        ("e1", None, "user", "one"),
        ("e2", Some("e1"), "assistant", "Done."),
        ("e3", Some("e2"), "compaction", "## Goal\none"),
        ("e4", Some("e2"), "custom", session_model::LEAF_ENTRY),
    ]);
    insta::assert_snapshot!(draw(&view(&tree, false), 80, 24), @"
    Session tree   1 turn, 2 branches
    > @ one  YOU ARE HERE                                                         11
      +-C compacted 9.0k  2026-01-01 00:00  after: one                             9
      -> Done.
    1 of 2   e1   files on disk are not changed by a move
    enter go  s +summary  e edit  f fork  c copy  l label  / find  tab filter  esc
    ");
}

#[test]
fn enter_goes_to_the_end_of_a_turn_and_asks_about_a_summary_where_that_is_set() {
    let tree = sample();
    let mut plain = view(&tree, false);
    press(&mut plain, KeyCode::Home);
    insta::assert_snapshot!(press(&mut plain, KeyCode::Enter), @r#"Go(Navigate(Navigation { target: Some("e3"), summarize: false, focus: None, label: None }))"#);
    insta::assert_snapshot!(press(&mut plain, KeyCode::Char('e')), @r#"Go(Navigate(Navigation { target: Some("e1"), summarize: false, focus: None, label: None }))"#);
    insta::assert_snapshot!(press(&mut plain, KeyCode::Char('s')), @r#"Go(Navigate(Navigation { target: Some("e3"), summarize: true, focus: None, label: None }))"#);
    press(&mut plain, KeyCode::End);
    assert_eq!(press(&mut plain, KeyCode::Enter), "Close");
    let mut asking = view(&tree, true);
    press(&mut asking, KeyCode::Home);
    assert_eq!(press(&mut asking, KeyCode::Enter), "");
    insta::assert_snapshot!(draw(&asking, 80, 24).lines().last().unwrap_or_default(), @"summarize the branch that is left?  y yes   n no   esc stay");
    insta::assert_snapshot!(press(&mut asking, KeyCode::Char('y')), @r#"Go(Navigate(Navigation { target: Some("e3"), summarize: true, focus: None, label: None }))"#);
}

#[test]
fn rows_are_found_folded_and_labelled() {
    let tree = sample();
    let mut view = view(&tree, false);
    press(&mut view, KeyCode::Char('/'));
    for letter in "LEXER".chars() {
        press(&mut view, KeyCode::Char(letter));
    }
    insta::assert_snapshot!(draw(&view, 60, 24), @r"
    Session tree   3 turns, 2 branches
    > +-x try a hand-written lexer                            16
      -> Done.
    find: LEXER_
    type to find, enter keeps the rows, esc shows all
    ");
    press(&mut view, KeyCode::Enter);
    press(&mut view, KeyCode::Char('l'));
    press(&mut view, KeyCode::Char('x'));
    insta::assert_snapshot!(press(&mut view, KeyCode::Enter), @r#"Do(LabelEntry { id: "e4", text: Some("x") })"#);
    press(&mut view, KeyCode::Esc);
    press(&mut view, KeyCode::Home);
    press(&mut view, KeyCode::Left);
    insta::assert_snapshot!(draw(&view, 60, 24), @r#"
    Session tree   3 turns, 2 branches
    > o fix the duration ...  "logs"  [folded]    1 tool      30
      C compacted 9.0k  2026-01-01 00:00  a...                 9
      @ rewrite the  [2Jtoken...  YOU ARE HERE                20
      -> I look.
    1 of 3   e1   files on disk are not changed by a move
    enter go  s +summary  e edit  f fork  c copy  l label  esc
    "#);
    press(&mut view, KeyCode::Right);
    assert_eq!(view.visible.len(), view.len());
}

#[test]
fn rows_are_forked_copied_and_filtered() {
    let tree = sample();
    let mut view = view(&tree, false);
    press(&mut view, KeyCode::Home);
    insta::assert_snapshot!(press(&mut view, KeyCode::Char('f')), @r#"Go(Fork { entry: Some("e3") })"#);
    insta::assert_snapshot!(press(&mut view, KeyCode::Char('c')), @r#"Copy("e1")"#);
    assert!(draw(&view, 80, 24).contains("given to the terminal's clipboard"));
    let shown = |view: &TreeView| {
        let texts = view
            .visible
            .iter()
            .map(|place| tree.id(view.rows[*place].first));
        texts.collect::<Vec<_>>().join(" ")
    };
    let mut seen = vec![shown(&view)];
    for _ in 0..4 {
        press(&mut view, KeyCode::Tab);
        seen.push(shown(&view));
    }
    assert_eq!(seen, ["e1 e4 e6 e7", "e1 e6 e7", "e1", "e6", "e1 e4 e6 e7"]);
    press(&mut view, KeyCode::Tab);
    assert!(draw(&view, 80, 24).contains("only: this branch"));
    press(&mut view, KeyCode::Esc);
    assert_eq!(shown(&view), "e1 e4 e6 e7");
}

#[test]
fn of_a_hundred_thousand_entries_only_visible_rows_are_drawn() {
    let ids: Vec<String> = (0..100_000).map(|number| format!("{number:06}")).collect();
    let mut entries: Vec<(&str, Option<&str>, &str, &str)> = Vec::new();
    for (place, id) in ids.iter().enumerate() {
        // Every hundredth turn begins a branch of its own.
        let parent = match place {
            0 => None,
            place if place % 200 == 0 => Some(ids[place - 101].as_str()),
            place => Some(ids[place - 1].as_str()),
        };
        let role = if place % 2 == 0 { "user" } else { "assistant" };
        entries.push((id, parent, role, "some words"));
    }
    let tree = session(&entries);
    assert_eq!(tree.len(), 100_000);
    let mut view = view(&tree, false);
    assert_eq!(view.len(), 50_000);
    for code in [
        KeyCode::Home,
        KeyCode::PageDown,
        KeyCode::Left,
        KeyCode::End,
        KeyCode::PageUp,
    ] {
        press(&mut view, code);
        assert_eq!(view.draw(80, 24, Theme::None).rows.len(), 22);
    }
    press(&mut view, KeyCode::Char('/'));
    press(&mut view, KeyCode::Char('z'));
    assert_eq!(view.visible.len(), 0);
    assert_eq!(view.draw(80, 24, Theme::None).rows.len(), 22);
}

#[test]
fn rows_are_made_without_reading_what_was_said() {
    let line = |id: &str, parent: &str, role: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"t","message":{{"role":"{role}","content":"x"}}}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s"}"#.to_owned(),
        line("e1", "null", "user"),
        line("e2", "\"e1\"", "assistant"),
        line("e3", "\"e2\"", "toolResult"),
        line("e4", "\"e3\"", "user"),
    ];
    let mut decoder = Decoder::new();
    decoder.feed(format!("{}\n", lines.join("\n")).as_bytes());
    // A source that has nothing to read.
    let tree = decoder.finish(Arc::new(Vec::new())).tree;
    let view = view(&tree, false);
    let rows: Vec<_> = view.rows.iter().map(|row| (row.rank, row.tools)).collect();
    assert_eq!(rows, [(Rank::Turn, 1), (Rank::Turn, 0)]);
    assert!(draw(&view, 80, 24).contains("o (cannot be read)"));
}
