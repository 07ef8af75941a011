//! The screens of a session as people see them, at three sizes.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;
use serde_json::json;
use tempfile::TempDir;

use crate::{script, start_in};
use test_support::pty::{PATIENCE, Pty, USUAL};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (40, 20)];

/// Returns a folder whose name has always the same length, so that lines break in the same places.
fn folder() -> TempDir {
    let builder = tempfile::Builder::new()
        .prefix("pty")
        .rand_bytes(6)
        .tempdir_in("/tmp");
    builder.expect("a folder")
}

/// The screens that were looked at.
struct Screens<'a> {
    folder: &'a Path,
    name: String,
    /// The snapshot of before.
    before: String,
    shown: String,
    /// How long a screen may take to become the one of before.
    patience: Duration,
}

impl<'a> Screens<'a> {
    fn of(folder: &'a TempDir, name: &str, (columns, rows): (u16, u16)) -> Self {
        let name = format!("{name}-{columns}x{rows}");
        let file = format!("tests/terminal/snapshots/terminal__screens__{name}.snap");
        Self {
            folder: folder.path(),
            name,
            before: std::fs::read_to_string(file).unwrap_or_default(),
            shown: String::new(),
            patience: PATIENCE,
        }
    }

    /// Compares the screens with those of before.
    fn check(self) {
        insta::assert_snapshot!(self.name, self.shown);
    }

    /// Keeps what the terminal shows once it is what it was before, however long the machine takes. Where it does not
    /// become that, keeps what it shows once it does not change any more.
    fn take(&mut self, title: &str, pty: &Pty) {
        let folder = self.folder.display().to_string();
        let normal = |screen: &str| normal(&screen.replace(&folder, "/tmp/ptyFOLDER"));
        let expected = section(&self.before, title);
        let found = expected.and_then(|expected| {
            let is_same = |screen: &str| normal(screen) == expected;
            pty.screen_that(is_same, self.patience).then_some(expected)
        });
        let screen = found.map_or_else(|| normal(&pty.screen()), str::to_owned);
        if found.is_none() {
            // The screens differ: those that follow need not be waited for.
            self.patience = Duration::ZERO;
        }
        self.shown.push_str(&format!("=== {title}\n{screen}\n"));
    }
}

/// Returns the screen of a title among those of a snapshot.
fn section<'a>(snapshot: &'a str, title: &str) -> Option<&'a str> {
    let (_, rest) = snapshot.split_once(&format!("=== {title}\n"))?;
    let end = rest.find("\n=== ").unwrap_or(rest.len());
    Some(rest[..end].trim_end())
}

/// Returns a screen without what is another in each run.
fn normal(screen: &str) -> String {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let patterns = [
            (
                "[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?",
                "ID",
            ),
            // Calls that take no second have no time.
            (r"  \d+\.\ds", ""),
            (
                r"\[[0-9a-f]{8}\] (\w+), \d{4}-\d\d-\d\d \d\d:\d\d",
                "[ID] $1, TIME",
            ),
            (r"(of \d+   )[0-9a-f]{8}\b", "${1}ID"),
            (r"-- back to [0-9a-f]{8}", "-- back to ID"),
            (r"\[[0-9a-f]{8}\]", "[ID]"),
            // Ids have no fixed size in tokens.
            (r"(ledger +)\d+ ", "${1}N "),
            // A shorter number leaves room for more of the line.
            (r"(ledger +N (?:tokens )?quoted by code).*", "$1"),
            (r"(?m)(branch summary: .*?) +\d+$", "$1 N"),
            (r"(?m)(compacted .* -> )[\d.k]+ *\.\.\. +\d+$", "$1... N"),
            // What it says after its time has the room that its number leaves.
            (r"(compacted .*?)  \d{4}-\d\d-\d\d \d\d:\d\d.*", "$1  TIME"),
            (r"(summary|answers) \d+", "$1 N"),
            (r"(?m)^ +\d+(  turn)", " N$1"),
            (r"\.\dk", ".xk"),
            (r" -{3,}", " ---"),
        ];
        let compiled =
            patterns.map(|(pattern, with)| (Regex::new(pattern).expect("a pattern"), with));
        compiled.into()
    });
    let mut screen = screen.to_owned();
    for (pattern, with) in PATTERNS.iter() {
        screen = pattern.replace_all(&screen, *with).into_owned();
    }
    let lines = screen.trim_end().lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}

fn say(pty: &mut Pty, text: &str, until: &str) {
    pty.send(&format!("{text}\r"));
    pty.wait_for(until);
}

/// An editor that adds a line.
fn editor(folder: &Path, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("editor.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("an editor");
    let can_run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, can_run).expect("an editor");
    path.display().to_string()
}

#[test]
fn a_session_from_its_first_prompt_to_its_resumption() {
    for size in SIZES {
        tour_of_a_session(size);
    }
}

fn tour_of_a_session(size: (u16, u16)) {
    let folder = folder();
    let call = json!({"name": "bash", "arguments": {"command": "echo 1; echo 2"}});
    let provider = script(
        folder.path(),
        &[
            json!({"answer": {"text": "I run the **command**:\n\n```sh\nprintf 'x' # why\n```", "calls": [call]}}),
            json!({"answer": {"text": "It \u{1b}[31mhas\u{1b}[2J run\u{9b}5A\u{202e}.\u{1b}]0;title\u{7}"}}),
            json!({"answer": {"text": "Many words follow here. ".repeat(1200)}}),
            json!({"answer": {"text": "That is all."}}),
            json!({"answer": {"text": "This never comes.", "pause_ms": 600_000}}),
            json!({"summary": {"text": "## Goal\nSee the screens."}}),
            json!({"summary": {"text": "The turn began so."}}),
            json!({"summary": {"text": "## Goal\nTry another way."}}),
        ],
    );
    let editor = editor(folder.path(), "printf '\\n\\nEdited by hand.\\n' >> \"$1\"");
    let settings = ["--set", "compaction.keepRecentTokens=1"];
    let arguments = [&["--provider", &provider][..], &settings].concat();
    let mut screens = Screens::of(&folder, "session", size);
    let mut pty = start_in(folder.path(), &arguments, size, &[("EDITOR", &editor)]);
    pty.wait_for("ask something");
    say(&mut pty, "run it", "y once");
    screens.take("approval", &pty);
    pty.send_until("\u{15}y\r", "It  [31mhas|It has");
    pty.wait_for("ask something");
    screens.take("a conversation with a tool, and escape sequences", &pty);
    pty.send("\u{15}");
    say(&mut pty, "tell more", "Many words follow here.");
    pty.wait_for("ask something");
    say(&mut pty, "is that all?", "That is all.");
    pty.wait_for("ask something");
    say(&mut pty, "/compact the names", "Preview: compact now");
    screens.take("preview", &pty);
    pty.send(" ");
    pty.wait_for("> pin");
    pty.send("e");
    pty.wait_for("Edited by hand.");
    pty.wait_for(", edited");
    screens.take("review of the edited summary", &pty);
    pty.send("\r");
    pty.wait_for("-- compacted");
    pty.wait_for("ask something");
    screens.take("compacted", &pty);
    say(&mut pty, "/undo", "compaction taken back");
    pty.wait_for("ask something");
    screens.take("undo", &pty);
    say(&mut pty, "/recall words", "Recall: words");
    screens.take("recall", &pty);
    pty.send("\u{1b}");
    pty.wait_for("ask something");
    say(&mut pty, "/tree", "enter go");
    screens.take("tree", &pty);
    // To the first turn, with a summary of what is left.
    pty.send("\u{1b}[H");
    pty.send("s");
    pty.wait_for("with a summary|summary of what");
    pty.wait_for("ask something");
    say(&mut pty, "/tree", "branch summary");
    screens.take("tree with the summary of a branch", &pty);
    pty.send("q");
    pty.wait_for("ask something");
    // Pasted text is a message of its own, however long it is.
    pty.send(&format!(
        "\u{1b}[200~{}\u{1b}[201~",
        "a pasted line\r".repeat(10_000)
    ));
    pty.wait_for("[paste 1: 10000 lines]");
    screens.take("paste of 10,000 lines", &pty);
    pty.send("\u{3}");
    pty.wait_for("ctrl+c again");
    say(&mut pty, "wait for me", "type to steer");
    pty.send("\u{1b}");
    pty.wait_for("-- stopped");
    pty.wait_for("ask something");
    screens.take("abort", &pty);
    let smaller = (size.0 - 8, size.1 - 4);
    pty.resize(smaller.1, smaller.0);
    say(&mut pty, "/cost", "cost of this run");
    pty.wait_for("ask something");
    screens.take("in a smaller window", &pty);
    pty.send("\u{4}");
    assert_eq!(pty.exit_code(), 0);
    assert_eq!(pty.left_behind(), Vec::<&str>::new());
    let arguments = [&["--continue"], &arguments[..]].concat();
    let mut pty = start_in(folder.path(), &arguments, size, &[]);
    pty.wait_for("ask something");
    pty.wait_for("wait for me");
    screens.take("resumed", &pty);
    say(&mut pty, "/quit", "to continue");
    assert_eq!(pty.exit_code(), 0);
    screens.check();
}

#[test]
fn a_compaction_that_is_due_is_shown_as_a_card() {
    for size in SIZES {
        let folder = folder();
        let provider = script(
            folder.path(),
            &[
                json!({"answer": {"text": "Many words follow here. ".repeat(1200)}}),
                json!({"answer": {"text": "That is all."}}),
                json!({"summary": {"text": "## Goal\nSee the card."}}),
            ],
        );
        let arguments = [
            "--provider",
            &provider,
            "--set",
            "compaction.keepRecentTokens=1",
            "--set",
            "compaction.thresholdTokens=5000",
            "--set",
            "compaction.background.enabled=false",
        ];
        let mut screens = Screens::of(&folder, "automatic", size);
        let mut pty = start_in(folder.path(), &arguments, size, &[]);
        pty.wait_for("ask something");
        say(&mut pty, "tell more", "-- compacted");
        pty.wait_for("ask something");
        screens.take("automatic compaction", &pty);
        say(&mut pty, "/context", "esc closes|lines");
        screens.take("context", &pty);
        pty.send("q");
        pty.wait_for("ask something");
        pty.send("\u{4}");
        assert_eq!(pty.exit_code(), 0);
        screens.check();
    }
}

#[test]
fn without_a_model_the_tour_is_offered() {
    for size in SIZES {
        let folder = folder();
        let mut screens = Screens::of(&folder, "tour", size);
        let mut pty = start_in(folder.path(), &["--set", "tools.bash=ask"], size, &[]);
        pty.wait_for("No model is set.");
        pty.wait_for("Enter starts a tour");
        pty.send("\r");
        pty.wait_for("ask something");
        say(&mut pty, "hello", "y once");
        screens.take("the tour begins", &pty);
        pty.send_until("\u{15}y\r", "say next");
        pty.wait_for("ask something");
        pty.send("\u{15}");
        say(&mut pty, "next", "then say next|Then say next");
        pty.wait_for("ask something");
        say(&mut pty, "/compact", "Preview: compact now");
        pty.send("\r");
        pty.wait_for("-- compacted");
        pty.wait_for("ask something");
        say(&mut pty, "next", "take the|takes the");
        pty.wait_for("ask something");
        screens.take("the tour after its compaction", &pty);
        pty.send("\u{4}");
        assert_eq!(pty.exit_code(), 0);
        screens.check();
    }
    let folder = folder();
    let mut pty = start_in(folder.path(), &[], USUAL, &[]);
    pty.wait_for("Enter starts a tour");
    pty.send("q\r");
    assert_eq!(pty.exit_code(), 0);
}
