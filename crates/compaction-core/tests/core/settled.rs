//! What a later event settles is gone, and what none settles is there: cases of `data/settled.jsonl`, several of them
//! spread over one session, looked up in the ledger and in the sections of an extractive summary.
//!
//! A line of the file is one case. Its parts begin with who acts: `u` the user, `a` an answer, `$` a command that passes and
//! `!` one that fails (`command => output`), `w` and `e` a file that is written or edited. Its words are looked up
//! together; `new` is the value that replaced them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use compaction_core::{
    Ledger, LedgerKind, PlanOptions, Profile, TokenCount, Trigger, plan_compaction,
};
use serde::Deserialize;
use serde_json::{Value, json};
use session_model::{build_context, decode_bytes};

use crate::sessions::path;

const CASES: &str = include_str!("../data/settled.jsonl");
/// Choices with their reasons, and failures in the words of programs.
const FURTHER: &str = include_str!("../data/settled_further.jsonl");

/// How many cases share a session.
const TOGETHER: usize = 8;

/// What is said between the parts of cases: the user, and the answer.
const BETWEEN: [(&str, &str); 6] = [
    (
        "how big is the repository by now?",
        "About what a small team writes in two years.",
    ),
    (
        "continue",
        "The module reads its settings from the environment and falls back to a file.",
    ),
    (
        "who calls this function?",
        "Two callers: the command line and the scheduler.",
    ),
    ("ok", "I read through the call sites; they look regular."),
    (
        "explain the module layout to me",
        "Each folder holds one area, and `mod.rs` lists what others may use.",
    ),
    (
        "thanks, go on",
        "I had a look at the folder with the fixtures.",
    ),
];

#[derive(Deserialize)]
struct Case {
    kind: String,
    parts: Vec<String>,
    words: Vec<String>,
    #[serde(default)]
    new: String,
}

/// A session that is written message by message.
#[derive(Default)]
struct Session {
    text: String,
    entries: usize,
    /// True where a request waits for an answer.
    asked: bool,
    between: usize,
}

impl Session {
    fn message(&mut self, message: &Value) {
        let parent = (self.entries > 0).then(|| format!("e{}", self.entries));
        self.entries += 1;
        let id = format!("e{}", self.entries);
        let entry = json!({"type":"message","id":id,"parentId":parent,"message":message});
        writeln!(self.text, "{entry}").unwrap();
    }

    fn user(&mut self, text: &str) {
        self.message(&json!({"role":"user","content":text}));
        self.asked = true;
    }

    fn says(&mut self, text: &str) {
        if !self.asked {
            self.user("go on");
        }
        let content = json!([{"type":"text","text":text}]);
        self.message(&json!({"role":"assistant","content":content,"stopReason":"stop"}));
        self.asked = false;
    }

    fn call(&mut self, tool: &str, arguments: &Value, output: &str, failed: bool) {
        if !self.asked {
            self.user("go on");
        }
        let id = format!("c{}", self.entries);
        let content = json!([{"type":"toolCall","id":id,"name":tool,"arguments":arguments}]);
        self.message(&json!({"role":"assistant","content":content,"stopReason":"toolUse"}));
        let content = json!([{"type":"text","text":output}]);
        self.message(&json!({"role":"toolResult","toolCallId":id,"toolName":tool,"content":content,"isError":failed}));
    }

    fn between(&mut self) {
        let (user, answer) = BETWEEN[self.between % BETWEEN.len()];
        self.between += 1;
        self.user(user);
        self.says(answer);
    }

    fn part(&mut self, part: &str) {
        let (who, text) = part.split_at(2);
        let (command, output) = text.split_once(" => ").unwrap_or((text, ""));
        match who {
            "u " => self.user(text),
            "a " => self.says(text),
            "w " => self.call(
                "write",
                &json!({"path":text,"content":"one\ntwo\n"}),
                "done",
                false,
            ),
            "e " => self.call(
                "edit",
                &json!({"path":text,"oldText":"a","newText":"b"}),
                "done",
                false,
            ),
            _ => self.call("bash", &json!({"command":command}), output, who == "! "),
        }
    }
}

/// Returns a session with these cases: their parts in turn, something else said between them.
fn session(cases: &[&Case], number: usize) -> String {
    let mut session = Session {
        text: "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/project\"}\n".to_owned(),
        between: number,
        ..Session::default()
    };
    session.user("Help me with this project for a while.");
    session.between();
    let longest = cases.iter().map(|case| case.parts.len()).max().unwrap_or(0);
    for turn in 0..longest {
        for (at, case) in cases.iter().enumerate() {
            // A refusal answers what stands before it.
            let together = case.kind == "refused" || case.parts.iter().any(|part| *part == "u yes");
            match (together, turn) {
                (true, 0) => case.parts.iter().for_each(|part| session.part(part)),
                (true, _) => continue,
                (false, _) => match case.parts.get(turn) {
                    Some(part) => session.part(part),
                    None => continue,
                },
            }
            // What was called needs its report.
            if !(at + turn + number).is_multiple_of(3) {
                session.between();
            }
        }
    }
    session.between();
    session.user("what is the state of things?");
    session.says(&"We are in the middle of it. ".repeat(40));
    session.text
}

/// What can be read: each line with what it is.
fn shown(text: &str) -> Vec<(&'static str, String)> {
    let decoded = decode_bytes(text.to_owned().into_bytes());
    let path = path(&decoded);
    let context = build_context(&path, Profile::Own.context_rules());
    let ledger = Ledger::of(&path, &context, context.entries.len());
    let mut options = PlanOptions::for_window(TokenCount(200_000));
    options.settings.compaction.keep_recent_tokens = TokenCount(60);
    let plan = plan_compaction(&path, &Trigger::Manual { focus: None }, &options).expect("a plan");
    let mut shown = Vec::new();
    for item in ledger.items.iter().chain(&plan.ledger.items) {
        let name = match item.kind {
            LedgerKind::NextStep | LedgerKind::Todo => "next",
            LedgerKind::Decision => "decision",
            LedgerKind::Failure => "failure",
            LedgerKind::Figure | LedgerKind::Rule => "figure",
            LedgerKind::Answer | LedgerKind::Cause => "answer",
            _ => continue,
        };
        shown.push((name, item.text.clone()));
    }
    for answer in plan.answer_extractive() {
        let mut name = "";
        for line in answer.text.lines() {
            if let Some(title) = line.strip_prefix('#') {
                name = match title.trim_start_matches(['#', ' ']) {
                    "Next Steps" | "In Progress" => "next",
                    "Key Decisions" => "decision",
                    "Blocked" => "failure",
                    "Critical Context" => "figure",
                    _ => "",
                };
            } else {
                shown.push((name, line.to_owned()));
            }
        }
    }
    shown
}

/// Returns the line that shows a case wrongly, or says that nothing shows it.
fn missed(case: &Case, shown: &[(&'static str, String)]) -> Option<String> {
    let has = |line: &str| {
        let lower = line.to_lowercase();
        case.words
            .iter()
            .all(|word| lower.contains(&word.to_lowercase()))
    };
    let current = |line: &str| !line.contains(&case.new) && !line.contains("(changed since");
    let mut lines = shown.iter().filter(|(_, line)| has(line));
    if case.kind == "open" {
        let listed = lines.any(|(name, _)| *name == "next");
        return (!listed).then(|| "not listed".to_owned());
    }
    let wrong = match case.kind.as_str() {
        "done" => lines.find(|(name, _)| *name == "next"),
        "replaced" => {
            let kinds = ["decision", "figure", "answer"];
            lines.find(|(name, line)| kinds.contains(name) && current(line))
        }
        "refused" => lines.find(|(name, line)| *name == "decision" && !line.contains("Rejected: ")),
        _ => lines.find(|(name, _)| *name == "failure"),
    };
    wrong.map(|(name, line)| format!("{name}: {line}"))
}

/// How many cases of a kind are as they should be, of how many, and what is wrong with the others.
#[derive(Default)]
struct Score {
    good: usize,
    all: usize,
    misses: String,
}

fn scores(cases: &[&str], together: usize) -> BTreeMap<String, Score> {
    let cases = cases.iter().map(|line| serde_json::from_str(line));
    let cases: Vec<Case> = cases.map(|case| case.expect("a case")).collect();
    let sessions = cases.len().div_ceil(together);
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for number in 0..sessions {
        let own: Vec<&Case> = cases.iter().skip(number).step_by(sessions).collect();
        let shown = shown(&session(&own, number));
        for case in own {
            let score = scores.entry(case.kind.clone()).or_default();
            score.all += 1;
            match missed(case, &shown) {
                None => score.good += 1,
                Some(why) => writeln!(score.misses, "{:?}\n    {why}", case.parts).unwrap(),
            }
        }
    }
    scores
}

/// Checks that of each kind no more cases than this are missed, in sessions of their own and several in one session.
fn check(cases: &[&str], most_missed: &[(&str, usize)]) {
    let mut wrong = String::new();
    for together in [1, TOGETHER] {
        let scores = scores(cases, together);
        for (kind, most) in most_missed {
            let Score { good, all, misses } = &scores[*kind];
            if all - good > *most {
                let counts = format!("{kind}, {together} together: {good} of {all}");
                writeln!(wrong, "{counts}\n{misses}").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn what_is_settled_is_gone_in_the_odd_cases() {
    let cases: Vec<&str> = CASES.lines().step_by(2).collect();
    let most = [
        ("done", 1),
        ("open", 7),
        ("replaced", 0),
        ("refused", 1),
        ("resolved", 0),
    ];
    check(&cases, &most);
}

#[test]
fn what_is_settled_is_gone_in_the_even_cases() {
    let cases: Vec<&str> = CASES.lines().skip(1).step_by(2).collect();
    let most = [
        ("done", 3),
        ("open", 11),
        ("replaced", 6),
        ("refused", 0),
        ("resolved", 0),
    ];
    check(&cases, &most);
}

#[test]
fn what_is_settled_is_gone_in_further_cases() {
    let cases: Vec<&str> = FURTHER.lines().collect();
    check(&cases, &[("replaced", 3), ("refused", 2), ("resolved", 1)]);
}
