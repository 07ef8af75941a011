//! Turns steps into session lines: ids, parents, clock, usage, and tool results computed from the working tree.

use std::collections::{BTreeMap, BTreeSet};

use super::line::{Obj, text_block, texts};
use super::outputs::{self, Failing};
use super::rng::{Rng, iso, mix32};
use super::script::{Call, Out, Step, call_json, todo_json};
use super::vfs::Vfs;

/// Size of the system prompt and tool definitions in tokens, part of every request.
const FIXED_TOKENS: usize = 6000;

/// What the current path contains; saved and restored when the story changes branch.
#[derive(Clone, Default)]
struct State {
    leaf: Option<String>,
    /// Tokens in thousandths, as decisions measure them.
    milli: usize,
    cached: usize,
    tree: Vfs,
    failing: Failing,
    rules: Vec<String>,
    modified: BTreeSet<String>,
    latest: String,
}

/// Builds one session, or one round that continues a session.
pub struct Builder {
    /// The lines so far, without line breaks.
    pub lines: Vec<String>,
    /// Text of the first user message.
    pub first_request: Option<String>,
    counter: u32,
    calls: u64,
    clock: u64,
    rng: Rng,
    now: State,
    marks: BTreeMap<&'static str, State>,
}

impl Builder {
    /// Starts at a counter (ids derive from it), a clock in Unix ms, a leaf and a working tree.
    pub fn new(counter: u32, clock: u64, leaf: Option<&str>, tree: Vfs) -> Self {
        Builder {
            lines: Vec::new(),
            first_request: None,
            counter,
            calls: u64::from(counter),
            clock,
            rng: Rng::new(u64::from(counter) + 11),
            now: State {
                leaf: leaf.map(str::to_string),
                tree,
                ..State::default()
            },
            marks: BTreeMap::new(),
        }
    }

    /// Assumes a context that exists already (a round that continues a session).
    pub fn assume_context(&mut self, tokens: usize) {
        self.now.milli = tokens * 1000;
        self.now.cached = tokens;
    }

    /// Id of the newest entry.
    pub fn leaf(&self) -> &str {
        self.now.leaf.as_deref().unwrap_or_default()
    }

    /// The newest user message on the current path.
    pub fn latest_request(&self) -> &str {
        &self.now.latest
    }

    /// Rule sentences of the user messages on the current path.
    pub fn rules(&self) -> &[String] {
        &self.now.rules
    }

    /// Paths of the successful writes and edits on the current path, sorted.
    pub fn modified(&self) -> Vec<String> {
        self.now.modified.iter().cloned().collect()
    }

    /// The working tree as it stands.
    pub fn tree(&self) -> &Vfs {
        &self.now.tree
    }

    /// Tells a list of steps.
    pub fn run(&mut self, steps: Vec<Step>) {
        steps.into_iter().for_each(|s| self.step(s));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::User(text, rules) => self.user(&[text], rules, false),
            Step::UserBlocks(parts, rules) => self.user(&parts, rules, true),
            Step::Act(thinking, text, calls) => self.act(&thinking, &text, calls),
            Step::Say(thinking, text) => self.assistant(&thinking, &text, &[], "stop"),
            Step::Overloaded => {
                self.tick(900, 4000);
                self.message(
                    self.answer(&[], &self.usage_json(0, 0, 0, 0), "error")
                        .str("errorMessage", "overloaded_error: Overloaded"),
                );
                self.tick(2000, 2600);
            }
            Step::Aborted(text) => self.assistant("", &text, &[], "aborted"),
            Step::Breaks(test, place, message) => {
                self.now.failing.insert(test, (place, message));
            }
            Step::Mends(test) => {
                self.now.failing.remove(&test);
            }
            Step::Shell(command, output, code, hidden) => {
                self.tick(20_000, 60_000);
                if !hidden {
                    self.now.milli += milli(&command) + milli(&output);
                }
                let mut m = Obj::new().str("role", "bashExecution");
                m = m.str("command", &command).str("output", &output);
                m = m.raw("exitCode", code).raw("cancelled", false);
                m = m.raw("truncated", false);
                if hidden {
                    m = m.raw("excludeFromContext", true);
                }
                self.message(m);
            }
            Step::Model(provider, id) => {
                let e = self.head("model_change").str("provider", provider);
                self.put(e.str("modelId", id));
            }
            Step::Thinking(level) => {
                let e = self.head("thinking_level_change");
                self.put(e.str("thinkingLevel", level));
            }
            Step::Name(name) => {
                let e = self.head("session_info").str("name", name);
                self.put(e);
            }
            Step::Label(label) => {
                let target = self.leaf().to_string();
                let e = self.head("label").str("targetId", &target);
                self.put(e.str("label", label));
            }
            Step::TodoEntry(items) => {
                let items: Vec<String> = items.iter().map(|(t, s)| todo_json(t, s)).collect();
                let data = Obj::new().list("items", &items).end();
                let e = self.head("custom").str("customType", "todo");
                self.put(e.raw("data", data));
            }
            Step::Note(kind, text) => {
                self.tick(500, 1500);
                self.now.milli += milli(&text);
                let e = self.head("custom_message").str("customType", kind);
                self.put(e.str("content", &text).raw("display", true));
            }
            Step::Mark(name) => {
                self.marks.insert(name, self.now.clone());
            }
            Step::Return(name, summary) => self.back_to(name, summary),
            Step::Pause(minutes) => self.clock += minutes * 60_000,
        }
    }

    fn back_to(&mut self, name: &str, summary: Option<&str>) {
        let state = self.marks.get(name).expect("a mark of that name").clone();
        let left = std::mem::replace(&mut self.now, state);
        let Some(summary) = summary else { return };
        self.tick(6000, 9000);
        self.now.milli += milli(summary);
        let modified: Vec<&String> = left.modified.difference(&self.now.modified).collect();
        let details = Obj::new()
            .raw("readFiles", "[]")
            .list("modifiedFiles", &texts(&modified));
        let e = self.head("branch_summary");
        let e = e.str("fromId", left.leaf.as_deref().unwrap_or_default());
        self.put(e.str("summary", summary).raw("details", details.end()));
    }

    fn user(&mut self, parts: &[String], rules: Vec<String>, blocks: bool) {
        self.tick(95_000, 330_000);
        let text = parts.join("\n\n");
        for rule in rules {
            assert!(text.contains(&rule), "rule not in its message: {rule}");
            self.now.rules.push(rule);
        }
        self.now.milli += parts.iter().map(|part| milli(part)).sum::<usize>();
        self.first_request.get_or_insert_with(|| text.clone());
        self.now.latest = text.clone();
        let m = Obj::new().str("role", "user");
        if blocks {
            let blocks: Vec<String> = parts.iter().map(|p| text_block(p)).collect();
            self.message(m.list("content", &blocks));
        } else {
            self.message(m.str("content", &text));
        }
    }

    fn act(&mut self, thinking: &str, text: &str, calls: Vec<Call>) {
        let calls: Vec<(String, Call)> = calls
            .into_iter()
            .map(|c| {
                self.calls += 1;
                let id = format!("toolu_01{}", Rng::new(self.calls * 7919).word(22));
                (id, c)
            })
            .collect();
        self.assistant(thinking, text, &calls, "toolUse");
        for (id, call) in calls {
            let (name, _) = call_json(&call);
            let (output, failed) = self.perform(call);
            self.tick(120, if name == "bash" { 14_000 } else { 700 });
            self.now.milli += milli(&output);
            let m = Obj::new().str("role", "toolResult").str("toolCallId", &id);
            let m = m.str("toolName", name);
            self.message(
                m.list("content", &[text_block(&output)])
                    .raw("isError", failed),
            );
        }
    }

    fn assistant(&mut self, thinking: &str, text: &str, calls: &[(String, Call)], stop: &str) {
        let (mut blocks, mut size) = (Vec::new(), 0);
        if !thinking.is_empty() {
            let b = Obj::new().str("type", "thinking").str("thinking", thinking);
            blocks.push(b.str("thinkingSignature", "").end());
            size += milli(thinking);
        }
        if !text.is_empty() {
            blocks.push(text_block(text));
            size += milli(text);
        }
        for (id, call) in calls {
            let (name, arguments) = call_json(call);
            size += milli(name) + milli(&arguments);
            let b = Obj::new().str("type", "toolCall").str("id", id);
            blocks.push(b.str("name", name).raw("arguments", arguments).end());
        }
        let output = size.div_ceil(1000) + 12;
        self.tick(2500 + output as u64 * 9, 6000 + output as u64 * 24);
        let before = self.now.cached;
        let all = self.now.milli.div_ceil(1000) + FIXED_TOKENS;
        let input = 3 + self.rng.range(0, 9) as usize;
        let usage = self.usage_json(input, output, before, all.saturating_sub(before + input));
        self.now.cached = all;
        self.now.milli += size;
        let m = self.answer(&blocks, &usage, stop);
        let m = match stop {
            "aborted" => m.str("errorMessage", "Request was aborted"),
            _ => m,
        };
        self.message(m);
    }

    fn answer(&self, blocks: &[String], usage: &str, stop: &str) -> Obj {
        let m = Obj::new().str("role", "assistant").list("content", blocks);
        let m = m.str("api", "anthropic-messages");
        let m = m.str("provider", "anthropic");
        let m = m.str("model", "claude-sonnet-4-5");
        m.raw("usage", usage).str("stopReason", stop)
    }

    fn usage_json(&self, input: usize, output: usize, read: usize, write: usize) -> String {
        // Prices in hundredths of a dollar per million tokens keep the sums exact.
        let cost = [input * 300, output * 1500, read * 30, write * 375];
        let dollars = |c: usize| c as f64 / 1e8;
        let c = Obj::new().raw("input", dollars(cost[0]));
        let c = c.raw("output", dollars(cost[1]));
        let c = c.raw("cacheRead", dollars(cost[2]));
        let c = c.raw("cacheWrite", dollars(cost[3]));
        let c = c.raw("total", dollars(cost.iter().sum()));
        let u = Obj::new().raw("input", input).raw("output", output);
        let u = u.raw("cacheRead", read).raw("cacheWrite", write);
        let u = u.raw("totalTokens", input + output + read + write);
        u.raw("cost", c.end()).end()
    }

    fn perform(&mut self, call: Call) -> (String, bool) {
        let now = &mut self.now;
        let done = match call {
            Call::Read(path, offset, limit) => now.tree.read(&path, offset, limit),
            Call::Write(path, text) => {
                now.tree.write(&path, &text);
                let note = format!("Wrote {} bytes to {path}", text.len());
                now.modified.insert(path);
                Ok(note)
            }
            Call::Edit(path, old, new) => now.tree.edit(&path, &old, &new).map(|()| {
                let note = format!("Edited {path}: 1 passage replaced");
                now.modified.insert(path);
                note
            }),
            Call::Grep(pattern, under) => Ok(now.tree.grep(&pattern, &under)),
            Call::Find(part, under) => {
                let hits = now.tree.paths().filter(|p| p.starts_with(&under));
                let hits: Vec<&str> = hits.filter(|p| p.contains(&part)).collect();
                Ok(hits.join("\n"))
            }
            Call::Ls(dir) => Ok(now.tree.ls(&dir)),
            Call::Todo(items) => {
                let open = items.iter().filter(|(_, s)| *s != "completed").count();
                Ok(format!(
                    "Todo list saved: {} items, {open} open",
                    items.len()
                ))
            }
            Call::Bash(_, out) => self.shell(out),
        };
        match done {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        }
    }

    fn shell(&mut self, out: Out) -> Result<String, String> {
        let now = &mut self.now;
        let (text, code) = match out {
            Out::Text(text) => (text, 0),
            Out::Fail(text, code) => (text, code),
            Out::Tests(filter) => {
                outputs::cargo_test(&now.tree, &now.failing, &filter, self.rng.next())
            }
            Out::Rg(pattern, under) => (now.tree.grep(&pattern, &under), 0),
            Out::Diff(under) => (now.tree.diff(&under), 0),
            Out::DiffStat => (now.tree.diff_stat(), 0),
            Out::DaemonLog(seed, lines) => (outputs::daemon_log(seed, lines), 0),
            Out::AccessLog(seed, lines) => (outputs::access_log(seed, lines), 0),
            Out::Bench(seed, rows) => (outputs::bench(seed, rows), 0),
            Out::Commit(subject) => {
                let stat = now.tree.diff_stat();
                now.tree.commit();
                let total = stat.lines().last().unwrap_or_default().to_string();
                let hash = self.rng.next() >> 36;
                (format!("[retry-rework {hash:07x}] {subject}\n{total}"), 0)
            }
        };
        if code == 0 {
            return Ok(text);
        }
        Err(format!("{text}\n\nCommand exited with code {code}"))
    }

    fn tick(&mut self, low: u64, high: u64) {
        self.clock += self.rng.range(low, high);
    }

    fn message(&mut self, message: Obj) {
        let m = message.raw("timestamp", self.clock).end();
        let e = self.head("message").raw("message", m);
        self.put(e);
    }

    fn head(&mut self, kind: &str) -> Obj {
        self.clock += self.rng.range(1, 40);
        let id = format!("{:08x}", mix32(self.counter));
        self.counter += 1;
        let e = Obj::new().str("type", kind).str("id", &id);
        let parent = self.now.leaf.replace(id);
        let e = match &parent {
            Some(p) => e.str("parentId", p),
            None => e.raw("parentId", "null"),
        };
        e.str("timestamp", &iso(self.clock))
    }

    fn put(&mut self, entry: Obj) {
        self.lines.push(entry.end());
    }
}

/// Returns the tokens of a text in thousandths.
fn milli(text: &str) -> usize {
    usize::try_from(compaction_core::tokens::milli_tokens(text)).unwrap_or(usize::MAX)
}
