//! The vocabulary in which chapters are told: steps of the session and tool calls inside an assistant message.

use super::line::Obj;

/// Where the output of a shell command comes from.
pub enum Out {
    /// Fixed text, exit code 0.
    Text(String),
    /// Fixed text with a non-zero exit code.
    Fail(String, i32),
    /// `cargo test` over the working tree, limited to test names that contain the word (empty: all).
    Tests(String),
    /// `rg -n PATTERN PATH` over the working tree.
    Rg(String, String),
    /// `git diff` under a path.
    Diff(String),
    /// `git diff --stat`.
    DiffStat,
    /// Lines of the daemon's own log (seed, lines).
    DaemonLog(u64, usize),
    /// Lines of the test collector's access log (seed, lines).
    AccessLog(u64, usize),
    /// A benchmark table (seed, rows).
    Bench(u64, usize),
    /// `git commit`: prints a short confirmation and moves the diff base.
    Commit(String),
}

/// One tool call; its result is computed from the working tree.
pub enum Call {
    Read(String, Option<usize>, Option<usize>),
    Write(String, String),
    Edit(String, String, String),
    Bash(String, Out),
    Grep(String, String),
    Find(String, String),
    Ls(String),
    Todo(Vec<(String, &'static str)>),
}

/// One step of the story, in the order of the file.
pub enum Step {
    /// A user message as a string, with the rule sentences it states.
    User(String, Vec<String>),
    /// The same, stored as text blocks.
    UserBlocks(Vec<String>, Vec<String>),
    /// An assistant message with tool calls: thinking (may be empty), text (may be empty), calls.
    Act(String, String, Vec<Call>),
    /// The closing assistant message of a turn: thinking (may be empty) and text.
    Say(String, String),
    /// A provider error that is retried.
    Overloaded,
    /// An answer that the user stopped.
    Aborted(String),
    /// From here on the named test fails: test, place, message.
    Breaks(String, String, String),
    /// From here on the named test passes again.
    Mends(String),
    /// The user's own shell command: command, output, exit code, kept out of the context.
    Shell(String, String, i32, bool),
    Model(&'static str, &'static str),
    Thinking(&'static str),
    Name(&'static str),
    /// A label on the current leaf.
    Label(&'static str),
    /// The todo list as an extension stores it.
    TodoEntry(Vec<(&'static str, &'static str)>),
    /// A custom message that the model sees: customType and text.
    Note(&'static str, String),
    /// Remembers the current place under a name.
    Mark(&'static str),
    /// Leaves the current branch for the named place; with a summary of what is left behind or without.
    Return(&'static str, Option<&'static str>),
    /// Time passes (minutes).
    Pause(u64),
}

/// A user message without blocks.
pub fn user(text: &str, rules: &[&str]) -> Step {
    Step::User(text.to_string(), owned(rules))
}

/// A user message of several text blocks.
pub fn user_blocks(texts: &[&str], rules: &[&str]) -> Step {
    Step::UserBlocks(owned(texts), owned(rules))
}

/// An assistant message with calls.
pub fn act(thinking: &str, text: &str, calls: Vec<Call>) -> Step {
    Step::Act(thinking.to_string(), text.to_string(), calls)
}

/// An assistant message that ends the turn.
pub fn say(thinking: &str, text: &str) -> Step {
    Step::Say(thinking.to_string(), text.to_string())
}

/// A test that fails from here on: name, place, message.
pub fn breaks(test: &str, place: &str, message: &str) -> Step {
    Step::Breaks(test.to_string(), place.to_string(), message.to_string())
}

/// A test that passes again.
pub fn mends(test: &str) -> Step {
    Step::Mends(test.to_string())
}

/// Reads a whole file.
pub fn read(path: &str) -> Call {
    Call::Read(path.to_string(), None, None)
}

/// Reads a window of lines.
pub fn read_at(path: &str, offset: usize, limit: usize) -> Call {
    Call::Read(path.to_string(), Some(offset), Some(limit))
}

/// Writes a file; a line break at the start of the text is dropped so that tables read well.
pub fn write(path: &str, text: &str) -> Call {
    Call::Write(path.to_string(), text.trim_start_matches('\n').to_string())
}

/// Replaces one passage; line breaks around both texts are dropped so that tables read well.
pub fn edit(path: &str, old: &str, new: &str) -> Call {
    let cut = |t: &str| t.trim_matches('\n').to_string();
    Call::Edit(path.to_string(), cut(old), cut(new))
}

/// A shell command with fixed output.
pub fn sh(command: &str, output: &str) -> Call {
    let output = output.trim_matches('\n').to_string();
    Call::Bash(command.to_string(), Out::Text(output))
}

/// A shell command that fails.
pub fn sh_fail(command: &str, output: &str, code: i32) -> Call {
    let output = output.trim_matches('\n').to_string();
    Call::Bash(command.to_string(), Out::Fail(output, code))
}

/// `cargo test`, optionally filtered.
pub fn cargo_test(filter: &str) -> Call {
    let command = format!("cargo test --offline {filter}");
    Call::Bash(
        command.trim_end().to_string(),
        Out::Tests(filter.to_string()),
    )
}

/// `cargo clippy` without findings.
pub fn clippy_ok() -> Call {
    sh(
        "cargo clippy --offline --all-targets -- -D warnings",
        "    Checking logferry v0.9.4 (/home/dev/logferry)\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in 3.87s",
    )
}

/// `rg -n` in the shell.
pub fn rg(pattern: &str, under: &str) -> Call {
    Call::Bash(
        format!("rg -n '{pattern}' {under}"),
        Out::Rg(pattern.to_string(), under.to_string()),
    )
}

/// A todo list; the mark before each text is its status: `x` done, `>` in progress, `-` open.
pub fn todo(items: &[&str]) -> Call {
    Call::Todo(items.iter().map(|i| todo_item(i)).collect())
}

fn todo_item(item: &str) -> (String, &'static str) {
    let status = match item.as_bytes()[0] {
        b'x' => "completed",
        b'>' => "in_progress",
        _ => "pending",
    };
    (item[2..].to_string(), status)
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(std::string::ToString::to_string).collect()
}

/// A todo item as JSON.
pub fn todo_json(text: &str, status: &str) -> String {
    Obj::new().str("text", text).str("status", status).end()
}

/// Tool name and arguments as JSON.
pub fn call_json(call: &Call) -> (&'static str, String) {
    let o = Obj::new();
    match call {
        Call::Read(path, offset, limit) => {
            let mut o = o.str("path", path);
            if let Some(n) = offset {
                o = o.raw("offset", n);
            }
            if let Some(n) = limit {
                o = o.raw("limit", n);
            }
            ("read", o.end())
        }
        Call::Write(path, text) => ("write", o.str("path", path).str("content", text).end()),
        Call::Edit(path, old, new) => {
            let o = o.str("path", path).str("oldText", old);
            ("edit", o.str("newText", new).end())
        }
        Call::Bash(command, _) => ("bash", o.str("command", command).end()),
        Call::Grep(pattern, path) => ("grep", o.str("pattern", pattern).str("path", path).end()),
        Call::Find(part, path) => {
            let o = o.str("pattern", &format!("*{part}*"));
            ("find", o.str("path", path).end())
        }
        Call::Ls(path) => ("ls", o.str("path", path).end()),
        Call::Todo(items) => {
            let items: Vec<String> = items.iter().map(|(t, s)| todo_json(t, s)).collect();
            ("todo", o.list("items", &items).end())
        }
    }
}
