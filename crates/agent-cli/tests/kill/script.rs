//! The script of 300 calls, the folder that they work on, and what the unbroken run must have gone through.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// What the user asks for.
pub const PROMPT: &str =
    "Read every chapter, keep notes on what you find, and tell me when you are done.";

/// What the run ends in.
pub const LAST_ANSWER: &str = "All chapters are read, and the notes are written.";

/// How long the first answer lets wait, so that kills meet a session that has no file yet.
pub const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// How many calls the answers have.
const CALLS: usize = 300;

/// Before which answer with calls the service says that the context is too large: when it is half full.
const OVERFLOW: usize = 12;

/// Before which one an answer is cut off.
const CUT_OFF: usize = 20;

/// How many chapters there are.
const CHAPTERS: usize = 9;

/// Makes the folder that the calls work on.
pub fn make_workspace(folder: &Path) {
    fs::create_dir_all(folder.join("notes")).expect("a folder");
    for chapter in 0..CHAPTERS {
        let lines = (0..40 + chapter).map(|line| {
            format!("{line}: chapter {chapter} says that river {line} flows into lake {chapter}\n")
        });
        fs::write(folder.join(name(chapter)), lines.collect::<String>()).expect("a chapter");
    }
}

fn name(chapter: usize) -> String {
    format!("chapter-{chapter}.txt")
}

/// Returns the script.
pub fn script() -> String {
    let header = json!({
        "script": 1,
        "name": "reader",
        "window": 8_192,
        "max_output": 2048,
        "settings": {"compaction": {"keepRecentTokens": 3000, "extractivePercent": 1}},
    });
    let mut lines = vec![header];
    let mut made = 0;
    let mut answers = 0;
    while made < CALLS {
        if answers == OVERFLOW {
            lines.push(json!({"error": {"kind": "context_overflow"}}));
        }
        if answers == CUT_OFF {
            lines.push(json!({"answer": {"text": "I have read a good", "stop": "length"}}));
        }
        let count = match answers % 10 {
            4 => 2,
            7 => 3,
            _ => 1,
        };
        let count = count.min(CALLS - made);
        let calls: Vec<Value> = (made..made + count).map(call).collect();
        let text = format!("Step {answers}: I go on with what comes next.");
        let pause = if answers == 0 {
            FIRST_PAUSE
        } else {
            Duration::ZERO
        };
        let pause = pause.as_millis() as u64;
        lines.push(json!({"answer": {"text": text, "calls": calls, "pause_ms": pause}}));
        made += count;
        answers += 1;
    }
    lines.push(json!({"answer": {"text": LAST_ANSWER}}));
    let lines = lines.iter().map(|line| format!("{line}\n"));
    lines.collect()
}

/// Returns how many answers and failures the script has: every line behind the header.
pub fn answers() -> usize {
    script().lines().count() - 1
}

/// Returns the call of this number. Whatever is written depends on the number alone.
fn call(number: usize) -> Value {
    match number % 7 {
        2 => {
            let path = format!("notes/{}.md", number % 11);
            let text = format!("Note {number}: river {number} is as long as the others.\n");
            json!({"name": "write", "arguments": {"path": path, "content": text.repeat(6)}})
        }
        5 => {
            let command = format!("wc -l {}", name(number % CHAPTERS));
            json!({"name": "bash", "arguments": {"command": command}})
        }
        _ => json!({"name": "read", "arguments": {"path": name(number % CHAPTERS)}}),
    }
}

/// Checks that the events of the unbroken run show all that the kills are to meet.
pub fn check_course(events: &[Value]) {
    let of = |kind: &str| {
        let found = events.iter().filter(|event| event["type"] == kind);
        found.collect::<Vec<_>>()
    };
    assert_eq!(of("tool_end").len(), CALLS);
    let is_error = |event: &&&Value| event["is_error"] == true;
    assert_eq!(of("tool_end").iter().filter(is_error).count(), 0);
    let ends = of("auto_compaction_end");
    let good = |reason: &str| {
        let ends = ends.iter();
        let good = ends.filter(|end| end["reason"] == reason && end["result"].is_object());
        good.count()
    };
    assert_eq!((good("overflow"), good("incomplete")), (1, 1), "{ends:?}");
    assert!(good("threshold") >= 10, "{} compactions", good("threshold"));
    assert_eq!(good("threshold") + 2, ends.len(), "every one succeeds");
}
