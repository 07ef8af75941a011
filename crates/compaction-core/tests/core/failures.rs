//! How often the ledger shows what went wrong: commands with their output of `data/failures`, some failed, some not.

use std::fmt::Write as _;

use crate::sessions::path;
use compaction_core::{Ledger, LedgerBudget, Profile, TokenCount};
use serde_json::{Value, json};
use session_model::{build_context, decode_bytes};

/// How many cases stand in one session.
const TOGETHER: usize = 10;
/// The tokens that a ledger may take.
const ROOM: u64 = 16_000;

/// Something that happened, and the piece of it that has to be shown.
#[derive(Debug, Clone)]
struct Case {
    /// `flag`: a failure that is marked as one; `text`: one that only its output tells; `pass`: none; `told`: one that
    /// the user reports.
    kind: &'static str,
    command: String,
    shown: String,
    output: String,
}

/// Returns the cases of a file: `#### kind`, `$ command`, `> piece`, and the output.
fn cases(kinds: &[&'static str], text: &str) -> Vec<Case> {
    let text = format!("\n{text}");
    let blocks = text.split("\n#### ").skip(1);
    let case = |block: &str| {
        let mut lines = block.lines().peekable();
        let kind = lines.next()?;
        let command = lines.next_if(|line| line.starts_with("$ "));
        let shown = match kind {
            "pass" => None,
            _ => lines.next_if(|line| line.starts_with("> ")),
        };
        let after = |line: Option<&str>| line.map_or("", |line| &line[2..]).to_owned();
        Some(Case {
            kind: kinds.iter().find(|known| **known == kind)?,
            command: after(command),
            shown: after(shown),
            output: lines.collect::<Vec<_>>().join("\n"),
        })
    };
    blocks.filter_map(case).collect()
}

fn failing(kind: &'static str) -> Vec<Case> {
    cases(&[kind], include_str!("../data/failures/failing.txt"))
}

fn passing() -> Vec<Case> {
    cases(&["pass"], include_str!("../data/failures/passing.txt"))
}

fn told() -> Vec<Case> {
    cases(&["told"], include_str!("../data/failures/told.txt"))
}

/// Returns the failures that the ledger lists after a session in which these cases stand.
fn listed(cases: &[Case], room: u64) -> Vec<String> {
    let mut text =
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/srv\"}\n".to_owned();
    let mut entries = 0;
    let mut say = |message: &Value| {
        let parent = (entries > 0).then(|| format!("e{entries}"));
        entries += 1;
        let entry = json!({"type":"message","id":format!("e{entries}"),"parentId":parent,"message":message});
        writeln!(text, "{entry}").unwrap();
    };
    say(&json!({"role":"user","content":"Have a look at the services."}));
    for (number, case) in cases.iter().enumerate() {
        if case.kind == "told" {
            say(&json!({"role":"user","content":case.output}));
            continue;
        }
        let id = format!("c{number}");
        let arguments = json!({"command":case.command});
        let call = json!([{"type":"toolCall","id":id,"name":"bash","arguments":arguments}]);
        say(&json!({"role":"assistant","content":call,"stopReason":"toolUse"}));
        let content = json!([{"type":"text","text":case.output}]);
        let failed = case.kind == "flag";
        say(
            &json!({"role":"toolResult","toolCallId":id,"toolName":"bash","content":content,"isError":failed}),
        );
    }
    say(&json!({"role":"user","content":"continue"}));
    let session = decode_bytes(text.into_bytes());
    let path = path(&session);
    let context = build_context(&path, Profile::Own.context_rules());
    let ledger = Ledger::of(&path, &context, context.entries.len());
    let budget = LedgerBudget {
        ledger: TokenCount(room),
        pins: TokenCount(0),
    };
    let block = ledger.fit(budget, Profile::Own.counter());
    let lines = block.text.lines();
    let lines = lines.skip_while(|line| !line.starts_with("Failed"));
    let lines = lines.skip(1).take_while(|line| line.starts_with("- "));
    lines
        .map(|line| {
            let line = line.replace("&lt;", "<").replace("&gt;", ">");
            line.replace("&quot;", "\"").replace("&amp;", "&")
        })
        .collect()
}

/// Returns whether a line of the list is about the command of a case.
fn is_about(line: &str, case: &Case) -> bool {
    if case.kind == "pass" {
        return line.starts_with(&format!("- `{}`", case.command));
    }
    let core = case
        .command
        .split([';', '|', '>'])
        .next()
        .unwrap_or_default();
    let core = core.trim().trim_end_matches(" 2");
    line.contains(&format!("`{}", core.get(..24).unwrap_or(core)))
}

/// What of some cases is not as it should be, of either half.
struct Measure {
    name: &'static str,
    right: [usize; 2],
    misses: String,
}

/// Measures cases, with others before them in the session.
fn measure(name: &'static str, cases: &[Case], before: &[Case]) -> Measure {
    let mut measured = Measure {
        name,
        right: [0; 2],
        misses: String::new(),
    };
    for half in 0..2 {
        let half_of =
            |cases: &[Case]| -> Vec<Case> { cases.iter().skip(half).step_by(2).cloned().collect() };
        let (cases, before) = (half_of(cases), half_of(before));
        for (place, group) in cases.chunks(TOGETHER).enumerate() {
            let mut around: Vec<Case> = before.iter().skip(place % 7).step_by(7).cloned().collect();
            around.extend_from_slice(group);
            let lines = listed(&around, ROOM);
            for case in group {
                let told = case.kind == "told";
                let about = lines.iter().filter(|line| told || is_about(line, case));
                let about: Vec<&String> = about.collect();
                let found = match case.kind {
                    "pass" => about.is_empty(),
                    _ => about.iter().any(|line| line.contains(&case.shown)),
                };
                measured.right[half] += usize::from(found);
                if !found {
                    let about = if told { &[][..] } else { &about };
                    let (command, shown) = (&case.command, &case.shown);
                    let _ = writeln!(
                        measured.misses,
                        "half {half}: `{command}` {shown}\n  {about:?}"
                    );
                }
            }
        }
    }
    measured
}

#[test]
fn the_ledger_shows_what_went_wrong() {
    let (flagged, silent) = (failing("flag"), failing("text"));
    let passing = passing();
    let mut mixed = flagged.clone();
    mixed.extend_from_slice(&passing);
    // Of 104 and 103, 37 and 37, 62 and 61, 13 and 12.
    let least = [
        (measure("flagged", &flagged, &passing), [104, 102]),
        (measure("unflagged", &silent, &passing), [35, 34]),
        (
            measure("unflagged among flagged", &silent, &mixed),
            [35, 34],
        ),
        (measure("passed", &passing, &[]), [61, 61]),
        (
            measure("passed among flagged", &passing, &flagged),
            [62, 61],
        ),
        (measure("told", &told(), &[]), [11, 10]),
    ];
    for (measured, least) in least {
        let Measure {
            name,
            right,
            misses,
        } = measured;
        println!("{name}: {right:?}\n{misses}");
        let enough = right
            .iter()
            .zip(least)
            .all(|(right, least)| *right >= least);
        assert!(enough, "{name}: {right:?}, at least {least:?}\n{misses}");
    }
}
