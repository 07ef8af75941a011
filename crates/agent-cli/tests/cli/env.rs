//! A folder of its own and a clean environment for each test.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A session with a label, two branches, a compaction, and a last turn that is split when 300
/// tokens are kept.
pub const SAMPLE: &str = "info u:20 read:c1:/project/src/lib.rs res:c1:400 a:60 label \
    | u:30 edit:c2:/project/src/lib.rs res:c2:30 a:40 | k@e7:50 \
    | u:15 call:c3:10 res:c3:3000 a:80 | u:20 a:30 \
    | ^e15 u:25 write:c4:/project/notes.md res:c4:20 a:200 call:c5:10 res:c5:100 a:150";

/// Options under which [`SAMPLE`] is worth compacting.
pub const SMALL: [&str; 6] = [
    "--window",
    "8000",
    "--set",
    "compaction.reserveTokens=1000",
    "--set",
    "compaction.keepRecentTokens=300",
];

/// What a run of the program gave, with its paths, ids, times and process ids filtered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said beside.
    pub stderr: String,
}

impl Output {
    /// Returns stdout as the one JSON document that it must be.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in the document of {self}"))
    }

    /// Returns stdout of a run that must have succeeded.
    pub fn success(self) -> String {
        assert_eq!(self.code, Some(0), "{self}");
        self.stdout
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit {code}")?,
            None => writeln!(f, "killed")?,
        }
        if !self.stdout.is_empty() {
            write!(f, "--- stdout\n{}", self.stdout)?;
        }
        if !self.stderr.is_empty() {
            write!(f, "--- stderr\n{}", self.stderr)?;
        }
        Ok(())
    }
}

/// A folder with sessions in it, gone after the test.
pub struct TestEnv {
    folder: TempDir,
}

impl TestEnv {
    /// Returns an empty folder.
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder for the test"),
        }
    }

    /// Returns a folder with [`SAMPLE`] as `s.jsonl`.
    pub fn sample() -> Self {
        let env = Self::new();
        env.session("s.jsonl", SAMPLE);
        env
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of the global settings, which is there only when a test makes it.
    pub fn config_dir(&self) -> PathBuf {
        self.path("config")
    }

    /// Returns the home of the user, which is not there unless a test makes it.
    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Writes a file, and makes the folder that it is in.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        let folder = path.parent().expect("a file is in a folder");
        std::fs::create_dir_all(folder).expect("a folder of the test");
        std::fs::write(path, bytes).expect("a file of the test");
    }

    /// Writes the session that `notation` describes.
    pub fn session(&self, name: &str, notation: &str) {
        self.write(name, test_support::session(notation));
    }

    /// Returns the bytes of a file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("a file of the test")
    }

    /// Returns the lines of a session as JSON.
    pub fn lines(&self, name: &str) -> Vec<Value> {
        let text = String::from_utf8(self.read(name)).expect("a session is text");
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).expect("every line is JSON"))
            .collect()
    }

    /// Returns the names in the folder with the bytes of each; `None` stands for a folder.
    pub fn listing(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let entries = std::fs::read_dir(self.folder()).expect("the folder can be listed");
        let files = entries.map(|entry| {
            let entry = entry.expect("the folder can be listed");
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).ok())
        });
        files.collect()
    }

    /// Returns the names in the folder.
    pub fn names(&self) -> Vec<String> {
        self.listing().into_keys().collect()
    }

    /// Returns the program, to be run in the folder, with nothing of the tester's environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder()).env_clear();
        // What the system itself needs: where programs are, and on Windows where it is.
        for name in ["PATH", "SystemRoot"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // The tester's own settings are not looked at.
        command.env("AGENT_CLI_CONFIG_DIR", self.config_dir());
        command.env("HOME", self.home());
        command.stdin(Stdio::null());
        command
    }

    /// Runs the program.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.output(self.command(BINARY).args(arguments))
    }

    /// Returns the names of all commands, as the help lists them.
    pub fn commands(&self) -> Vec<String> {
        let help = self.run(&["--help"]).success();
        let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let lines = lines.take_while(|line| !line.is_empty());
        let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names
            .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
            .collect()
    }

    /// Runs the program with options after the arguments.
    pub fn run_with(&self, arguments: &[&str], options: &[&str]) -> Output {
        self.run(&[arguments, options].concat())
    }

    /// Runs the program with `input` on its standard input.
    pub fn run_on(&self, input: &[u8], arguments: &[&str]) -> Output {
        self.output_on(self.command(BINARY).args(arguments), input)
    }

    /// Runs any command with `input` on its standard input.
    pub fn output_on(&self, command: &mut Command, input: &[u8]) -> Output {
        command.stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut stdin = child.stdin.take().expect("its input is a pipe");
        stdin.write_all(input).expect("the program reads its input");
        drop(stdin);
        self.filtered(&child.wait_with_output().expect("the program ends"))
    }

    /// Returns the JSON document of a run that must have succeeded.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run_with(arguments, &["--json"]);
        assert_eq!(output.code, Some(0), "{output}");
        output.json()
    }

    /// Returns the messages of the context of a session.
    pub fn messages(&self, session: &str) -> Value {
        self.json(&["context", session])["messages"].take()
    }

    /// Runs any command.
    pub fn output(&self, command: &mut Command) -> Output {
        self.filtered(&command.output().expect("the program runs"))
    }

    /// Returns what a program gave, filtered.
    pub fn filtered(&self, output: &std::process::Output) -> Output {
        Output {
            code: output.status.code(),
            stdout: self.filter(&output.stdout),
            stderr: self.filter(&output.stderr),
        }
    }

    fn filter(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).expect("the program prints text");
        let mut text = text.replace(&self.folder().display().to_string(), "[DIR]");
        if let Ok(canonical) = self.folder().canonicalize() {
            text = text.replace(&canonical.display().to_string(), "[DIR]");
        }
        // Another process may have a number that begins like this one's.
        let pid = format!(r"process {}\b", std::process::id());
        let pid = regex::Regex::new(&pid).expect("a pattern");
        seconds_filtered(&pid.replace_all(&text, "process [PID]"))
    }
}

/// Where the program is.
pub const BINARY: &str = env!("CARGO_BIN_EXE_agent-cli");

/// Returns `text` with every word that is a number of seconds, like `0.1s`, as `[TIME]`.
fn seconds_filtered(text: &str) -> String {
    map_words(text, |word| {
        let number = word.strip_suffix('s')?;
        let (whole, tenths) = number.split_once('.')?;
        let digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        (digits(whole) && digits(tenths)).then(|| "[TIME]".to_owned())
    })
}

/// Returns `text` with every word that looks like a new id or a hash, eight or more hex digits,
/// as `[ID]`.
pub fn without_ids(text: &str) -> String {
    map_words(text, |word| {
        let (word, rest) = match word.strip_suffix(':') {
            Some(word) => (word, ":"),
            None => (word, ""),
        };
        let hex = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then(|| format!("[ID]{rest}"))
    })
}

/// Returns `text` with every figure as `#` and every run of a letter in a bar as one letter, for
/// output whose figures depend on the words of a summary.
pub fn without_figures(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if line.starts_with('[') {
            let mut letters: Vec<char> = line.chars().collect();
            letters.dedup();
            return letters.into_iter().collect();
        }
        if line.starts_with("exit ") {
            return line.to_owned();
        }
        let line = line.trim_end_matches('-').trim_end();
        map_words(line, |word| {
            let start = word.find(|letter: char| letter.is_ascii_digit())?;
            let lead = &word[..start];
            let rest = word[start..]
                .trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
            let rest = rest.strip_prefix(['k', 'M']).unwrap_or(rest);
            let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_punctuation());
            (plain(lead) && plain(rest)).then(|| format!("{lead}#{rest}"))
        })
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Returns `text` with the words that `change` gives another form; spaces and lines stay.
fn map_words(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    let words = text.split_inclusive([' ', '\n']).map(|piece| {
        let word = piece.trim_end_matches([' ', '\n']);
        match change(word) {
            Some(changed) => format!("{changed}{}", &piece[word.len()..]),
            None => piece.to_owned(),
        }
    });
    words.collect()
}
