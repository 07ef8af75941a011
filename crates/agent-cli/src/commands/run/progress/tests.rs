//! How a run looks in a wide and in a narrow terminal.

use insta::assert_snapshot;
use serde_json::json;

use super::Progress;
use session_protocol::event::{InstructionFile, SessionEvent, samples};

/// Returns what is printed of events, without colours; at least one line fits where all can.
fn shown(width: fn() -> usize, events: &[SessionEvent]) -> String {
    let mut progress = Progress::new(width, false);
    let mut lines: Vec<String> = Vec::new();
    for event in events {
        lines.extend(progress.lines(event));
    }
    lines.extend(progress.take_error());
    anstream::adapter::strip_str(&lines.join("\n")).to_string()
}

fn call(command: &str, is_error: bool, output: &str) -> [SessionEvent; 2] {
    let start = SessionEvent::ToolStart {
        call_id: "c".to_owned(),
        name: "bash".to_owned(),
        arguments: json!({ "command": command }),
    };
    let end = SessionEvent::ToolEnd {
        call_id: "c".to_owned(),
        name: "bash".to_owned(),
        is_error,
        seconds: 12.34,
        output: output.to_owned(),
        truncated: false,
        details: None,
    };
    [start, end]
}

#[test]
fn every_event_at_eighty_columns() {
    assert_snapshot!(shown(|| 80, &samples()), @r#"
    openai/gpt-5.4, window 272.0k, in /home/ann/parser, session 01994a7e-6a10
    > why does 1h30m fail?
    note: openai/gpt-5.4: overloaded; again in 1.4 s, for 300 s at most
    I look into the parser.
      read src/duration.rs
    warning: hook memory failed at before_prompt: it took longer than 30 seconds and was killed
    -- tool server github, 26 tools
    -- pruned 6 results of old output, 38.9k saved
    -- openai/gpt-5.4 takes over from openai/gpt-5.4-mini, window 272.0k
    -- compacted  231.9k -> 24.3k  threshold  9.2s  by openai/gpt-5.4  $0.061 ------
       240 summarized, 18 entries kept verbatim,
       your messages: 12 of 18 verbatim, 4 in part
    warning: Nothing to compact (session too small)
    -- back to 9b0d11e2, with a summary of what was left
    session 01994a80-11b2
    -- 5f1c09ab is labelled "the bug"
    -- 5f1c09ab is pinned, 5 tokens
    -- 5f1c09ab is not pinned any more
    note: the model's window is not known: nothing is compacted by itself; give it, or set models.NAME.window
    warning: there are no 9 messages of the user to go back to
    "#);
}

#[test]
fn every_event_at_forty_columns() {
    assert_snapshot!(shown(|| 40, &samples()), @r#"
    openai/gpt-5.4, window 272.0k,
    in /home/ann/parser,
    session 01994a7e-6a10
    > why does 1h30m fail?
    note: openai/gpt-5.4: overloaded; again in 1.4 s, for 300 s at most
    I look into the parser.
      read src/duration.rs
    warning: hook memory failed at before_prompt: it took longer than 30 seconds and was killed
    -- tool server github, 26 tools
    -- pruned 6 results of old output,
       38.9k saved
    -- openai/gpt-5.4 takes over from openai/gpt-5.4-mini,
       window 272.0k
    -- compacted  231.9k -> 24.3k  9.2s ----
       240 summarized,
       18 entries kept verbatim,
       your messages: 12 of 18 verbatim, 4 in part
    warning: Nothing to compact (session too small)
    -- back to 9b0d11e2,
       with a summary of what was left
    session 01994a80-11b2
    -- 5f1c09ab is labelled "the bug"
    -- 5f1c09ab is pinned, 5 tokens
    -- 5f1c09ab is not pinned any more
    note: the model's window is not known: nothing is compacted by itself; give it, or set models.NAME.window
    warning: there are no 9 messages of the user to go back to
    "#);
}

#[test]
fn commands_of_many_lines_are_one_line() {
    let script = "set -e\ncargo test \\\n  --all &&\nfor f in *; do\n  echo $f\ndone\n";
    let [start, end] = call(script, false, "ok");
    assert_snapshot!(shown(|| 80, &[start, end]), @"  bash set -e; cargo test --all && for f in *; do echo $f; done  12.3s");
}

#[test]
fn long_commands_are_cut_and_keep_their_time() {
    let [start, end] = call(
        &"x".repeat(500),
        true,
        &format!("{}\nmore", "y".repeat(500)),
    );
    let shown = shown(|| 40, &[start, end]);
    assert_snapshot!(shown, @"
    bash xxxxxxxxxxxxxxxxxxxxxxx...  12.3s
      x yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
        yyyyyyyyyyyyyyyyyyyyyyyyyyy...
    ");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 40),
        "{shown}"
    );
}

#[test]
fn wide_characters_take_two_columns() {
    let [start, end] = call(
        &"\u{6f22}".repeat(500),
        true,
        &format!(
            "{} more {}",
            "\u{1f600}".repeat(500),
            "\u{5b57} ".repeat(90)
        ),
    );
    let shown = shown(|| 40, &[start, end]);
    let columns = |line: &str| unicode_width::UnicodeWidthStr::width(line);
    assert!(shown.lines().all(|line| columns(line) <= 40), "{shown}");
}

#[test]
fn nothing_that_steers_a_terminal_is_shown() {
    let nasty = "a\u{1b}[2Jb\u{9b}31mc\u{7}\rd";
    let [start, end] = call(nasty, true, nasty);
    let events = [
        start,
        end,
        SessionEvent::Message {
            entry_id: nasty.to_owned(),
            text: nasty.to_owned(),
        },
        SessionEvent::Notice {
            text: nasty.to_owned(),
        },
        SessionEvent::Labelled {
            entry_id: nasty.to_owned(),
            label: Some(nasty.to_owned()),
        },
        SessionEvent::Error {
            message: nasty.to_owned(),
        },
    ];
    let mut progress = Progress::new(|| 80, false);
    let mut lines: Vec<String> = events
        .iter()
        .flat_map(|event| progress.lines(event))
        .collect();
    lines.extend(progress.take_error());
    let lines = lines.join("\n");
    // Our own colours aside.
    let plain = anstream::adapter::strip_str(&lines).to_string();
    let steers = |letter: char| letter.is_control() && letter != '\n';
    assert!(!plain.contains(steers), "{plain:?}");
    assert_eq!(plain.matches("[2Jb").count(), 7, "{plain}");
    let escapes = lines.matches('\u{1b}').count();
    let own = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[33m"];
    let own: usize = own.iter().map(|own| lines.matches(own).count()).sum();
    assert_eq!(escapes, own, "{lines:?}");
}

#[test]
fn an_error_that_is_said_twice_is_told_once_and_not_at_the_end() {
    let failed = SessionEvent::Answer {
        entry_id: None,
        text: String::new(),
        tool_calls: 0,
        stop_reason: "error".to_owned(),
        error: Some("no money".to_owned()),
        usage: session_protocol::event::TokenUsage::default(),
        cost_usd: None,
    };
    let end = SessionEvent::TurnEnd {
        end: "failed".into(),
        error: Some("no money".to_owned()),
    };
    let mut progress = Progress::new(|| 80, false);
    let mut lines = progress.lines(&failed);
    lines.extend(progress.lines(&end));
    assert_eq!(lines, [""; 0]);
    assert!(progress.take_error().is_some());
    assert_eq!(progress.take_error(), None);
}

#[test]
fn instructions_are_told_where_they_are_not_as_expected() {
    let file = |path: &str, state: &'static str, note: Option<&str>| InstructionFile {
        path: path.to_owned(),
        tokens: 7,
        state: state.into(),
        note: note.map(str::to_owned),
    };
    let files = vec![
        file("AGENTS.md", "loaded", None),
        file("sub/AGENTS.md", "loaded", None),
        file("s/SKILL.md", "listed", None),
        file("a/AGENTS.md", "changed", None),
        file("b/AGENTS.md", "gone", None),
        file("c/AGENTS.md", "refused", Some("is a named pipe")),
    ];
    let told = |reason: &'static str| {
        let files = files.clone();
        let reason = reason.into();
        shown(|| 80, &[SessionEvent::Instructions { reason, files }])
    };
    assert_snapshot!(told("start"), @"
    warning: c/AGENTS.md: is a named pipe
    note: changed: a/AGENTS.md
    note: gone: b/AGENTS.md
    ");
    assert_snapshot!(told("compaction"), @"
    warning: c/AGENTS.md: is a named pipe
    note: loaded: AGENTS.md, sub/AGENTS.md
    note: listed: s/SKILL.md
    note: changed: a/AGENTS.md
    note: gone: b/AGENTS.md
    ");
}
