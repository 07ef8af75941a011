//! Text to fill sessions with: prose, code and logs from pools of lines that are JSON-escaped once.

use test_support::Rng;

/// Returns `text` as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Lines of one kind, escaped for the inside of a JSON string, line feeds included.
pub struct Pool(Vec<String>);

impl Pool {
    fn new(count: usize, mut line: impl FnMut() -> String) -> Self {
        let escaped = (0..count).map(|_| {
            let text = quoted(&(line() + "\n"));
            text[1..text.len() - 1].to_owned()
        });
        Self(escaped.collect())
    }

    /// Returns consecutive lines of together about `low` to `high` bytes, most often near `low`.
    pub fn take(&self, rng: &mut Rng, low: usize, high: usize) -> String {
        let span = high - low + 1;
        let wanted = low + rng.below(span).min(rng.below(span));
        let start = rng.below(self.0.len());
        let mut text = String::with_capacity(wanted + 120);
        for line in self.0.iter().cycle().skip(start) {
            text.push_str(line);
            if text.len() >= wanted {
                break;
            }
        }
        text
    }
}

/// Everything that sessions are filled with.
pub struct Pools {
    /// Text of people and models.
    pub prose: Pool,
    /// Code that is read and written.
    pub code: Pool,
    /// Output of commands.
    pub log: Pool,
    paths: Vec<String>,
}

const WORDS: &[&str] = &[
    "the",
    "retry",
    "queue",
    "should",
    "keep",
    "its",
    "order",
    "when",
    "a",
    "worker",
    "fails",
    "because",
    "test",
    "still",
    "reads",
    "old",
    "config",
    "file",
    "and",
    "then",
    "parser",
    "rejects",
    "every",
    "second",
    "line",
    "after",
    "timeout",
    "we",
    "need",
    "backoff",
    "spool",
    "writes",
    "twice",
    "never",
    "change",
    "public",
    "interface",
    "naïve",
    "“drain”",
    "batch",
];

const NAMES: &[&str] = &[
    "spool", "queue", "retry", "backoff", "parser", "config", "worker", "batch", "cursor", "sink",
    "offset", "header", "record", "deadline", "signal", "buffer",
];

impl Pools {
    /// Makes the pools.
    pub fn new(rng: &mut Rng) -> Self {
        let prose = Pool::new(3_000, || {
            let count = 8 + rng.below(16);
            let words: Vec<&str> = (0..count).map(|_| rng.pick(WORDS)).collect();
            format!("{}.", words.join(" "))
        });
        let code = Pool::new(3_000, || code_line(rng));
        let log = Pool::new(3_000, || log_line(rng));
        let paths = NAMES.iter().flat_map(|folder| {
            let files = NAMES.iter().step_by(4);
            files.map(move |file| format!("src/{folder}/{file}.rs"))
        });
        Self {
            prose,
            code,
            log,
            paths: paths.collect(),
        }
    }

    /// Returns the path of a file.
    pub fn path(&self, rng: &mut Rng) -> String {
        self.paths[rng.below(self.paths.len())].clone()
    }
}

fn code_line(rng: &mut Rng) -> String {
    let (one, other, number) = (rng.pick(NAMES), rng.pick(NAMES), rng.below(9_000));
    match rng.below(6) {
        0 => format!("    let {one}_{number} = self.{other}.lock().await?;"),
        1 => format!("    if {one}.len() > {number} && {other}.is_open() {{"),
        2 => format!("\treturn Err(Error::new(\"{one} {other} failed at {number}\"));"),
        3 => format!("    /// Returns the {one} of the {other}, at most {number}."),
        4 => "    }".to_owned(),
        _ => format!("pub fn {one}_{other}_{number}(&mut self, at: u64) -> Result<(), Error> {{"),
    }
}

fn log_line(rng: &mut Rng) -> String {
    let (one, other, number) = (rng.pick(NAMES), rng.pick(NAMES), rng.below(90_000));
    match rng.below(5) {
        0 => format!("test {one}::tests::{other}_{number} ... ok"),
        1 => format!(
            "2026-01-01T10:{:02}:00Z INFO {one}: {other} took {number} ms",
            number % 60
        ),
        2 => format!("   Compiling logferry-{one} v0.{number}.0 (/home/dev/logferry/{other})"),
        3 => format!("src/{one}/{other}.rs:{number}:9: warning: unused variable: `{other}`"),
        _ => format!("thread '{one}::{other}' panicked at src/{one}/{other}.rs:{number}:5:"),
    }
}
