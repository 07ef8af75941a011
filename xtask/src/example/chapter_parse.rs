//! Chapter 4: parsing. A test that stays red for a while, escapes in logfmt, and the abandoned branch without a summary.

use super::script::{
    Call, Out, Step, act, breaks, cargo_test, clippy_ok, edit, mends, read, read_at, rg, say, sh,
    todo, user, write,
};

/// The steps of this chapter.
pub fn steps() -> Vec<Step> {
    let mut steps = idle_flush();
    steps.extend(logfmt());
    steps.extend(borrowed_fields());
    steps.extend(idle_fixed());
    steps
}

fn idle_flush() -> Vec<Step> {
    vec![
        Step::Pause(37),
        user(
            "Parse next. The idle flush first: the last stack trace of a quiet file has to arrive within multiline_idle_ms plus one poll. Bitte niemals `unwrap()` oder `expect()` außerhalb von Tests verwenden, auch nicht in neuen Modulen.",
            &[
                "Bitte niemals `unwrap()` oder `expect()` außerhalb von Tests verwenden, auch nicht in neuen Modulen.",
            ],
        ),
        act(
            "The rule in German: no unwrap or expect outside of tests, also in new modules. Fine.\n\nJoiner needs the time as a parameter (no sleeping in tests): push(line, now), flush_idle(now).",
            "Verstanden. `Joiner` takes the time as a parameter, so that the tests need no sleep.",
            vec![
                read("src/parse/multiline.rs"),
                rg("unwrap\\(|expect\\(", "src/input"),
                rg("parser.push|Parser::new", "src"),
            ],
        ),
        act(
            "",
            "",
            vec![
                edit(
                    "src/parse/multiline.rs",
                    "    /// Takes a line; returns the record that this line completes, if any.\n    pub fn push(&mut self, line: &str) -> Option<String> {\n        let continues = self.continues(line) && self.last_line.elapsed() < self.idle;\n        self.last_line = Instant::now();",
                    "    /// Takes a line; returns the record that this line completes, if any.\n    pub fn push(&mut self, line: &str, now: Instant) -> Option<String> {\n        let continues = self.continues(line) && now.duration_since(self.last_line) < self.idle;\n        self.last_line = now;",
                ),
                edit(
                    "src/parse/multiline.rs",
                    "    fn continues(&self, line: &str) -> bool {",
                    "    /// The started record, when no line has come for the idle time.\n    pub fn flush_idle(&mut self, now: Instant) -> Option<String> {\n        if self.current.is_empty() || now.duration_since(self.last_line) < self.idle {\n            return None;\n        }\n        self.last_line = now;\n        Some(self.current.clone())\n    }\n\n    fn continues(&self, line: &str) -> bool {",
                ),
                edit(
                    "src/parse/multiline.rs",
                    "        let mut joiner = Joiner::indent(IDLE);\n        assert_eq!(joiner.push(\"error: boom\"), None);\n        assert_eq!(joiner.push(\"  at line 4\"), None);\n        assert_eq!(joiner.push(\"next\"), Some(\"error: boom\\n  at line 4\".to_string()));\n    }",
                    "        let (mut joiner, now) = (Joiner::indent(IDLE), Instant::now());\n        assert_eq!(joiner.push(\"error: boom\", now), None);\n        assert_eq!(joiner.push(\"  at line 4\", now), None);\n        assert_eq!(joiner.push(\"next\", now), Some(\"error: boom\\n  at line 4\".to_string()));\n    }\n\n    #[test]\n    fn flushes_when_idle() {\n        let (mut joiner, start) = (Joiner::indent(IDLE), Instant::now());\n        joiner.push(\"error: boom\", start);\n        joiner.push(\"  at line 4\", start);\n        assert_eq!(joiner.flush_idle(start + IDLE / 2), None);\n        assert_eq!(joiner.flush_idle(start + IDLE), Some(\"error: boom\\n  at line 4\".to_string()));\n        assert_eq!(joiner.push(\"  at line 5\", start + IDLE * 2), None);\n        assert_eq!(joiner.flush_idle(start + IDLE * 3), Some(\"  at line 5\".to_string()));\n    }",
                ),
            ],
        ),
        act(
            "",
            "",
            vec![
                edit(
                    "src/parse/mod.rs",
                    "    pub fn push(&mut self, line: &str) -> Vec<Record> {",
                    "    pub fn push(&mut self, line: &str, now: Instant) -> Vec<Record> {",
                ),
                edit(
                    "src/parse/mod.rs",
                    "                let done = joiner.push(line);",
                    "                let done = joiner.push(line, now);",
                ),
                edit(
                    "src/parse/mod.rs",
                    "    fn record(&self, mut raw: String) -> Record {",
                    "    /// The record that a quiet file still owes, if any.\n    pub fn flush_idle(&mut self, now: Instant) -> Option<Record> {\n        let text = self.joiner.as_mut()?.flush_idle(now)?;\n        Some(self.record(text))\n    }\n\n    fn record(&self, mut raw: String) -> Record {",
                ),
                edit(
                    "src/parse/mod.rs",
                    "use std::collections::BTreeMap;\n\nuse crate::config;",
                    "use std::collections::BTreeMap;\nuse std::time::Instant;\n\nuse crate::config;",
                ),
                edit(
                    "src/parse/mod.rs",
                    "parser.push(\"0123456789\").remove(0)",
                    "parser.push(\"0123456789\", Instant::now()).remove(0)",
                ),
                edit(
                    "src/input/tail.rs",
                    "            for record in self.parser.push(&text) {",
                    "            for record in self.parser.push(&text, Instant::now()) {",
                ),
                edit(
                    "src/input/tail.rs",
                    "        if n == 0 {\n            return self.reopen_if_moved();\n        }",
                    "        if n == 0 {\n            if let Some(record) = self.parser.flush_idle(Instant::now()) {\n                let _ = out.send(record);\n            }\n            return self.reopen_if_moved();\n        }",
                ),
            ],
        ),
        breaks(
            "parse::multiline::tests::flushes_when_idle",
            "src/parse/multiline.rs:84:9",
            "assertion `left == right` failed\n  left: Some(\"error: boom\\n  at line 4\")\n right: None",
        ),
        act("", "", vec![cargo_test("parse")]),
        act(
            "The push of line 5 returns something although nothing should be complete. After the flush `current` should be empty, so `done` should be empty and push should give None. Which assert is it? Let me see the exact lines.",
            "",
            vec![read_at("src/parse/multiline.rs", 70, 40)],
        ),
        say(
            "",
            "`flushes_when_idle` fails at `src/parse/multiline.rs:84:9`: left `Some(\"error: boom\\n  at line 4\")`, right `None`. The record that was flushed comes out a second time with the next line. I have not found the cause yet; the other parse tests pass. Shall I dig now or do logfmt first?",
        ),
        Step::Label("flush red"),
    ]
}

fn logfmt() -> Vec<Step> {
    vec![
        user(
            "Leave it red for a moment, but don't forget it. Logfmt escapes first, I need them for the billing files: \\\" and \\\\ inside quotes, \\n as a line break. Here is one of their lines: level=warn msg=\"can't parse \\\"amount\\\": C:\\\\tmp\" cents=1299",
            &[],
        ),
        act("", "", vec![read("src/parse/logfmt.rs")]),
        act(
            "find('\"') stops at the escaped quote. Write a small scanner over char_indices.",
            "`find('\"')` stops at the escaped quote. A small scanner replaces it.",
            vec![edit(
                "src/parse/logfmt.rs",
                "            let end = quoted.find('\"').unwrap_or(quoted.len());\n            fields.insert(key, quoted[..end].to_string());\n            rest = quoted.get(end + 1..).unwrap_or(\"\").trim_start();",
                "            let (value, used) = unquote(quoted);\n            fields.insert(key, value);\n            rest = quoted.get(used..).unwrap_or(\"\").trim_start();",
            )],
        ),
        act(
            "",
            "",
            vec![
                edit(
                    "src/parse/logfmt.rs",
                    "#[cfg(test)]\nmod tests {",
                    r#"
/// Reads up to the closing quote; returns the value and the bytes used, the quote included.
fn unquote(text: &str) -> (String, usize) {
    let mut value = String::with_capacity(text.len());
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, at + 1),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => value.push(other),
                None => value.push('\\'),
            },
            _ => value.push(c),
        }
    }
    (value, text.len())
}

#[cfg(test)]
mod tests {
"#,
                ),
                edit(
                    "src/parse/logfmt.rs",
                    "    #[test]\n    fn an_open_quote_takes_the_rest() {",
                    r##"
    #[test]
    fn escapes_inside_quotes() {
        let fields = fields(r#"level=warn msg="can't parse \"amount\": C:\\tmp" cents=1299"#);
        assert_eq!(fields["msg"], "can't parse \"amount\": C:\\tmp");
        assert_eq!(fields["cents"], "1299");
    }

    #[test]
    fn an_escaped_line_break() {
        assert_eq!(fields(r#"msg="a\nb""#)["msg"], "a\nb");
    }

    #[test]
    fn an_open_quote_takes_the_rest() {
"##,
                ),
            ],
        ),
        act(
            "",
            "",
            vec![
                cargo_test("parse"),
                Call::Bash(
                    "git diff src/parse/logfmt.rs".into(),
                    Out::Diff("src/parse/logfmt.rs".into()),
                ),
            ],
        ),
        act(
            "",
            "Escapes work; only `flushes_when_idle` is red. How much slower is the scanner?",
            vec![Call::Bash(
                "ssh lab 'cd logferry && cargo bench --offline -- logfmt json syslog'".into(),
                Out::Bench(5, 14),
            )],
        ),
        say(
            "",
            "Escapes are in, with your billing line as a test (`escapes_inside_quotes`). The scanner costs about 9% on quoted lines on the lab box and nothing on plain ones, because unquoted values take the old path. `parse::multiline::tests::flushes_when_idle` is still red, so nothing is committed: the whole suite has to pass first.",
        ),
        Step::Mark("before-borrow"),
    ]
}

fn borrowed_fields() -> Vec<Step> {
    vec![
        Step::Pause(2),
        user("Could the fields borrow from the line instead of allocating? Cow<str> in Record, 20 minutes at most.", &[]),
        act("Record<'a> with Cow would thread a lifetime through the mpsc channel: Record must be 'static to be sent. Could hold an Arc<str> and ranges.", "A borrowing `Record` cannot go through the channel, so I try ranges into an `Arc<str>`.", vec![read("src/parse/mod.rs"), rg("\\.fields", "src")]),
        act("", "", vec![edit("src/parse/mod.rs", "    pub raw: String,\n    pub fields: BTreeMap<String, String>,", "    pub raw: std::sync::Arc<str>,\n    pub fields: Vec<(Span, Span)>,")]),
        act("", "", vec![super::script::sh_fail("cargo check --offline", "error[E0412]: cannot find type `Span` in this scope\n  --> src/parse/mod.rs:19:22\n   |\n19 |     pub fields: Vec<(Span, Span)>,\n   |                      ^^^^ not found in this scope\n\nerror[E0308]: mismatched types\n  --> src/parse/mod.rs:83:18\n   |\n83 |         Record { raw, fields, cut }\n   |                  ^^^ expected `Arc<str>`, found `String`\n\nerror: could not compile `logferry` (lib) due to 9 previous errors", 101)]),
        Step::Aborted("Escaped values have no range in the line, so unescaped text needs an owned arm as well, and the router compares".into()),
        Step::Return("before-borrow", None),
    ]
}

fn idle_fixed() -> Vec<Step> {
    vec![
        user("Stop, that was a detour; I went back and restored the file. Now fix flushes_when_idle.", &[]),
        act(
            "start: push(error), push(at line 4) joined. flush_idle(start + IDLE/2): None. flush_idle(start + IDLE): Some. Then push(line 5, start + 2*IDLE) is no continuation by time, so it replaces `current` and hands out what was in it. That must have been the flushed text. I print the state to be sure before I change anything.",
"Reading alone doesn't explain it, so I print the state at each step.",
            vec![sh("cargo test --offline flushes_when_idle -- --nocapture 2>&1 | grep state", "state after push(error: boom)    current=\"error: boom\" idle_for=0ns\nstate after push(  at line 4)    current=\"error: boom\\n  at line 4\" idle_for=0ns\nstate after flush_idle(+250ms)   current=\"error: boom\\n  at line 4\" idle_for=250ms\nstate after flush_idle(+500ms)   current=\"error: boom\\n  at line 4\" idle_for=0ns\nstate after push(  at line 5)    current=\"  at line 5\" idle_for=0ns\nstate after push returned        Some(\"error: boom\\n  at line 4\")"), read("src/parse/multiline.rs"), read("src/parse/mod.rs"), read("src/input/tail.rs")],
        ),
        act(
            "flush_idle clones `current` instead of taking it. So every flushed record would be sent twice: once at the flush, once with the next line. Take it. And the flush has no business to set last_line: the idle time counts from the last line.",
"The trace shows it: `flush_idle` hands out a copy and leaves `current` filled, so the next line completes the same record again. In production that would have sent every last record twice. It has to take the text, and it must not touch `last_line`, because idle time counts from the last line.",
vec![edit("src/parse/multiline.rs", "            return None;\n        }\n        self.last_line = now;\n        Some(self.current.clone())", "            return None;\n        }\n        Some(std::mem::take(&mut self.current))")],
        ),
        mends("parse::multiline::tests::flushes_when_idle"),
        act("", "", vec![cargo_test(""), clippy_ok()]),
        act("", "Green. A test over the whole tail as well, with a 20 ms idle time and no sleep above 50 ms.", vec![
            edit("src/input/tail.rs", "    #[test]\n    fn follows_a_rename() {", "    #[test]\n    fn a_quiet_file_gives_its_last_record() {\n        let fixture = crate::input::fixture(\"error: boom\\n  at line 4\\n\").multiline(\"indent\", 20);\n        let mut tail = fixture.tail_from_start();\n        assert!(tail.drain_text().is_empty());\n        std::thread::sleep(Duration::from_millis(25));\n        assert_eq!(tail.drain_text(), [\"error: boom\\n  at line 4\"]);\n    }\n\n    #[test]\n    fn follows_a_rename() {"),
            cargo_test("tail"),
        ]),
        act("", "", vec![
            Call::Bash("git diff".into(), Out::Diff("src".into())),
            Call::Bash("git add -A && git commit -qm 'parse: flush idle records, logfmt escapes' && git log -1 --stat --format=%s".into(), Out::Commit("parse: flush idle records, logfmt escapes".into())),
        ]),
        act("That commit holds two concerns: idle flush and escapes. The rule: one concern per commit. Split it.", "That commit has two concerns, against your rule. I split it.", vec![sh("git reset -q --soft HEAD~1 && git restore --staged src/parse/logfmt.rs && git commit -qm 'parse: flush idle records' && git add -A && git commit -qm 'parse: escapes in logfmt' && git log --oneline -3", "e81f5d2 parse: escapes in logfmt\n90c4a7b parse: flush idle records\n3fd20ce pipeline: hold batches that cannot be sent")]),
        act("", "", vec![
            write("tests/data/billing.log", BILLING),
            todo(&["x config: typed sections, unknown keys and wrong types are errors", "x retry: 5 attempts, 200 ms first pause, 30 s cap, Retry-After wins when longer", "x retry: 429 and 503 never drop a batch (held in memory, 64 MiB)", "x parse: flush the last multi-line record of a quiet file", "x parse: escapes in logfmt", "> tail: read the old inode to its end before switching", "- checkpoint: atomic write", "- docs/configuration.md follows the code", "- spool on disk, at the end"]),
        ]),
        say("", "`flushes_when_idle` is green: a flush takes the text instead of copying it, and no longer resets `last_line`. Two commits, one per concern: `parse: flush idle records` and `parse: escapes in logfmt`. I also put your billing line and five relatives into tests/data/billing.log. Next is the tail."),
    ]
}

const BILLING: &str = r#"
level=warn msg="can't parse \"amount\": C:\\tmp" cents=1299
level=info msg="invoice sent" invoice=INV-20417 cents=88000 took_ms=41
level=error msg="ledger: row 7\ncolumn \"vat\" missing" file="C:\\in\\march.csv"
level=info msg="" retries=0
level=warn msg="open quote never closes cents=5
level=debug tenant=acme-test msg="rate 19%" basis=ü
"#;
