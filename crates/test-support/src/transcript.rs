//! Sessions to plant into: an agent works on an invented project, turn after turn.

use serde_json::{Value, json};

use crate::rng::Rng;

const AREAS: &[&str] = &[
    "the importer",
    "the login form",
    "the sync loop",
    "the report page",
    "the rate limiter",
    "the search box",
    "the export job",
    "the settings screen",
    "the webhook receiver",
    "the migration runner",
    "the cache layer",
    "the printer queue",
];
const SYMPTOMS: &[&str] = &[
    "hangs when the list is empty",
    "shows yesterday's figures",
    "drops the last line",
    "is slow on the big account",
    "forgets the filter after a reload",
    "logs the same line twice",
    "breaks on names with an umlaut",
    "loses focus after saving",
    "opens too many connections",
    "rounds the wrong way",
];
const ASKS: &[&str] = &[
    "{area} {symptom}. can you look into it?",
    "next one: {area} {symptom}",
    "Good. Now {area}: it {symptom}, at least on my machine.",
    "another report from support, {area} {symptom}. I think it started last week",
    "could you have a look at {area}? it {symptom}",
    "ok merged. {area} {symptom}, same as in the old version by the way",
];
const THOUGHTS: &[&str] = &[
    "I look at where {area} gets its data.",
    "The entry point of {area} first.",
    "So the value passes through here before {area} sees it.",
    "Let me check the tests around it.",
    "This looks like the place.",
    "The other caller does the same thing.",
    "Nothing odd here, one level up then.",
    "I want to see how it behaves before I touch it.",
    "That explains what the user sees.",
    "Small edit, then the tests.",
];
const ENDS: &[&str] = &[
    "{area} is fixed: the state was read before it was written. I moved the read behind the write and added a test that fails without the change.",
    "Done. In {area} the loop stopped one element early, which is why it {symptom}. The tests of the module pass.",
    "{area} no longer does that. The cause was a default that nobody had set on purpose; the change is four lines.",
    "I found it: two places kept their own copy of the same list, so {area} {symptom}. There is one copy now.",
    "That should be it for {area}. I ran the module's tests and clicked through the page once.",
];
const NAMES: &[&str] = &[
    "items", "row", "state", "offset", "name", "page", "total", "user", "entry", "token", "next",
    "value", "left", "first", "result", "count", "form", "group",
];
const FOLDERS: &[&str] = &["src/app", "src/core", "src/jobs", "src/ui", "test"];

/// Returns lines of code without meaning.
pub fn code(rng: &mut Rng, lines: usize) -> String {
    let mut text = String::new();
    for _ in 0..lines {
        let (one, other, number) = (rng.pick(NAMES), rng.pick(NAMES), rng.below(90));
        let line = match rng.below(8) {
            0 => format!("  const {one} = {other}.map((x) => x.{one});"),
            1 => format!("  if ({one}.{other} > {number}) {{"),
            2 => format!("    return {one}[{number}] ?? {other};"),
            3 => "  }".to_owned(),
            4 => format!("  // {one} comes from {other}"),
            5 => format!("  {one}.push({{ {other}: {number} }});"),
            6 => format!("export function {one}{number}({other}) {{"),
            _ => format!("  for (const {one} of {other}) total += {one}.{other};"),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn log(rng: &mut Rng, lines: usize) -> String {
    let mut text = String::new();
    for _ in 0..lines {
        let (one, other, number) = (rng.pick(NAMES), rng.pick(NAMES), rng.below(900));
        text.push_str(&match rng.below(4) {
            0 => format!("  ✓ {one} keeps {other} ({} )\n", number % 40),
            1 => format!("PASS test/{one}.{other}.test.ts\n"),
            2 => format!("  ✓ {other} without {one}\n"),
            _ => format!("src/{one}/{other}.ts:{number}: {one}({other})\n"),
        });
    }
    text
}

fn path(rng: &mut Rng) -> String {
    let (folder, one) = (rng.pick(FOLDERS), rng.pick(NAMES));
    format!("{folder}/{one}.ts")
}

/// Writes turns under a leaf.
struct Writer {
    rng: Rng,
    lines: Vec<String>,
    bytes: usize,
    leaf: Option<String>,
    number: u64,
    base: u64,
}

impl Writer {
    fn message(&mut self, message: Value) {
        self.number += 1;
        let mut message = message;
        let at = 1_780_000_000_000 + (self.base * 10_000 + self.number) * 7_000;
        message["timestamp"] = json!(at);
        // An odd factor maps numbers one to one, so no id comes twice.
        let mixed = ((self.base * 100_000 + self.number) as u32).wrapping_mul(0x9e37_79b1);
        let id = format!("{mixed:08x}");
        let line = json!({"type":"message","id":id,"parentId":self.leaf,"timestamp":stamp(at),"message":message});
        self.leaf = Some(id);
        let line = line.to_string();
        self.bytes += line.len() + 1;
        self.lines.push(line);
    }

    fn answer(&mut self, content: &Value, stop: &str) {
        self.message(json!({"role":"assistant","content":content,"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","stopReason":stop}));
    }

    fn turn(&mut self) {
        let (area, symptom) = (self.rng.pick(AREAS), self.rng.pick(SYMPTOMS));
        let filled = |phrase: &str| phrase.replace("{area}", area).replace("{symptom}", symptom);
        let ask = filled(self.rng.pick(ASKS));
        self.message(json!({"role":"user","content":ask}));
        for _ in 0..self.rng.range(2, 7) {
            let thought = filled(self.rng.pick(THOUGHTS));
            let path = path(&mut self.rng);
            let lines = self.rng.range(6, 60);
            let (tool, arguments, text) = match self.rng.below(8) {
                0..=3 => ("read", json!({ "path": path }), code(&mut self.rng, lines)),
                4 => {
                    let (old, new) = (code(&mut self.rng, 3), code(&mut self.rng, 6));
                    let edits = json!([{"oldText": old, "newText": new}]);
                    let text = format!("Edited {path}: 1 passage replaced");
                    ("edit", json!({"path": path, "edits": edits}), text)
                }
                5 => {
                    let pattern = self.rng.pick(NAMES);
                    let found = log(&mut self.rng, lines / 2);
                    ("grep", json!({"pattern": pattern, "path": "src"}), found)
                }
                _ => {
                    let command = format!("npx vitest run {path}");
                    (
                        "bash",
                        json!({ "command": command }),
                        log(&mut self.rng, lines),
                    )
                }
            };
            let call = format!("toolu_{:016x}", self.rng.number());
            let content = json!([{"type":"text","text":thought},{"type":"toolCall","id":call,"name":tool,"arguments":arguments}]);
            self.answer(&content, "toolUse");
            self.message(json!({"role":"toolResult","toolCallId":call,"toolName":tool,"content":[{"type":"text","text":text}],"isError":false}));
        }
        let end = filled(self.rng.pick(ENDS));
        self.answer(&json!([{"type":"text","text":end}]), "stop");
    }
}

/// Returns the text form of a time within one month, which is sufficient here.
fn stamp(millis: u64) -> String {
    let seconds = millis / 1000 - 1_780_000_000;
    let (day, rest) = (seconds / 86_400 % 28 + 1, seconds % 86_400);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("2026-06-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")
}

/// Returns the lines of a session of about so many bytes, header first.
pub fn transcript(seed: u64, bytes: usize) -> Vec<String> {
    let header = json!({"type":"session","version":3,"id":format!("needles-{seed}"),"timestamp":"2026-06-01T00:00:00.000Z","cwd":"/home/dev/desk"});
    let mut lines = vec![header.to_string()];
    lines.extend(turns(seed, 0, None, bytes));
    lines
}

/// Returns lines of turns of about `bytes` bytes under a leaf; `round` makes their ids unique.
pub fn turns(seed: u64, round: u64, leaf: Option<&str>, bytes: usize) -> Vec<String> {
    let mut writer = Writer {
        rng: Rng::new(seed.wrapping_mul(1_000) + round),
        lines: Vec::new(),
        bytes: 0,
        leaf: leaf.map(str::to_owned),
        number: 0,
        base: round,
    };
    while writer.bytes < bytes {
        writer.turn();
    }
    writer.lines
}
