//! One life of the program after another, until it ends by itself or is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::check::answers;
use crate::script;

/// Where everything is, gone after the test. In memory where the system has such a place: what is asked of the disk
/// is asked all the same.
pub struct Home(TempDir);

impl Home {
    pub fn new() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let home = Self(folder.expect("a folder for the test"));
        fs::write(home.0.path().join("script.jsonl"), script::script()).expect("the script");
        home
    }

    /// Returns a session that has not begun.
    pub fn life(&self, name: &str) -> Life {
        let folder = self.0.path().join(name);
        // The one before is over.
        let _ = fs::remove_dir_all(&folder);
        script::make_workspace(&folder.join("work"));
        Life {
            script: self.0.path().join("script.jsonl"),
            folder,
        }
    }
}

/// A session, and the folder that it works on.
pub struct Life {
    folder: PathBuf,
    script: PathBuf,
}

/// When the program is killed.
#[derive(Debug)]
pub enum Moment {
    /// Never.
    Never,
    /// So long after its start.
    After(Duration),
    /// When so many events have come, and a time later.
    Behind(usize, Duration),
    /// So long after the next event of a kind.
    At(Mark, Duration),
}

/// A kind of event that is waited for.
#[derive(Debug)]
pub enum Mark {
    /// A compaction begins.
    Compacting,
    /// A compaction has made room for an answer that failed.
    Recovered,
}

impl Mark {
    fn is(&self, event: &Value) -> bool {
        match self {
            Self::Compacting => event["type"] == STARTED,
            Self::Recovered => event["type"] == ENDED && event["reason"] != "threshold",
        }
    }
}

/// How a life ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// With this code.
    Itself(Option<i32>),
    /// By the kill.
    Killed,
}

/// What came of a life.
pub struct Came {
    pub end: End,
    pub events: Vec<Value>,
    moment: String,
    said: String,
    /// How long it lived.
    pub took: Duration,
    /// When the first event came.
    pub first: Duration,
    compactions: Vec<Duration>,
}

impl Came {
    /// Returns the type of the last event: in the middle of what the kill came.
    pub fn phase(&self) -> &str {
        let last = self.events.last();
        last.and_then(|event| event["type"].as_str())
            .unwrap_or("start")
    }

    pub fn longest_compaction(&self) -> Duration {
        self.compactions.iter().max().copied().unwrap_or_default()
    }
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} of {} after {} events, the last of them {}\n{}",
            self.end,
            self.moment,
            self.events.len(),
            self.phase(),
            self.said
        )
    }
}

impl Life {
    /// Returns where the session is.
    pub fn session(&self) -> PathBuf {
        self.folder.join("session.jsonl")
    }

    /// Returns where what waits for it is.
    pub fn pending(&self) -> PathBuf {
        self.folder.join("session.pending.jsonl")
    }

    /// Runs the program until it ends or `moment` has come.
    pub fn live(&self, with_prompt: bool, moment: &Moment) -> Came {
        let errors = self.folder.join("stderr");
        let started = Instant::now();
        let mut child = self.spawn(with_prompt, &errors);
        let stdout = child.stdout.take().expect("its output is a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let mut times: Vec<(Value, Duration)> = Vec::new();
        let mut next = || -> Option<(Value, Duration)> {
            // What was cut off by the kill is no event.
            let line = lines.next()?.ok()?;
            let event = serde_json::from_str(&line).ok()?;
            Some((event, started.elapsed()))
        };
        let mut ended = false;
        let delay = match moment {
            Moment::Never => None,
            Moment::After(delay) => Some(*delay),
            Moment::Behind(count, delay) => {
                while times.len() < *count && !ended {
                    ended = next().map(|event| times.push(event)).is_none();
                }
                Some(*delay)
            }
            Moment::At(mark, delay) => {
                while !ended && !times.last().is_some_and(|(event, _)| mark.is(event)) {
                    ended = next().map(|event| times.push(event)).is_none();
                }
                Some(*delay)
            }
        };
        if let Some(delay) = delay.filter(|_| !ended) {
            std::thread::sleep(delay);
            // One that has ended meanwhile needs no kill.
            let _ = child.kill();
        }
        times.extend(std::iter::from_fn(next));
        let status = child.wait().expect("it was started here");
        let took = started.elapsed();
        Came {
            end: match status.code() {
                Some(code) => End::Itself(Some(code)),
                None => End::Killed,
            },
            moment: format!("{moment:?}"),
            said: fs::read_to_string(&errors).unwrap_or_default(),
            took,
            first: times.first().map_or(took, |(_, time)| *time),
            compactions: compaction_times(&times),
            events: times.into_iter().map(|(event, _)| event).collect(),
        }
    }

    fn spawn(&self, with_prompt: bool, errors: &Path) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-cli"));
        command.current_dir(self.folder.join("work")).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.env("AGENT_CLI_CONFIG_DIR", self.folder.join("config"));
        command.arg("--provider");
        command.arg(format!("scripted:{}", self.script.display()));
        command.arg("--session").arg(self.session());
        // Calls that a kill left without a result run again only where the user allows their tool by name.
        command.args(["--allow", "read", "--allow", "write"]);
        command.args(["--mode", "json"]);
        if with_prompt {
            command.args(["-p", script::PROMPT]);
        }
        let errors = fs::File::create(errors).expect("a file for what it says");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(errors).spawn().expect("the program runs")
    }

    /// Returns what the session has come to.
    pub fn outcome(&self) -> Outcome {
        let answers = answers(&self.session());
        let mut files = BTreeMap::new();
        collect(&self.folder.join("work"), &mut files);
        Outcome {
            answers: answers.len(),
            answer: answers.last().cloned().unwrap_or_default(),
            files,
        }
    }
}

const STARTED: &str = "auto_compaction_start";

const ENDED: &str = "auto_compaction_end";

fn compaction_times(times: &[(Value, Duration)]) -> Vec<Duration> {
    let mut began = None;
    let mut compactions = Vec::new();
    for (event, time) in times {
        match event["type"].as_str() {
            Some(STARTED) => began = Some(*time),
            Some(ENDED) => {
                compactions.extend(began.take().map(|began| *time - began));
            }
            _ => {}
        }
    }
    compactions
}

/// Collects the files under `folder`. What a write left behind that was killed has a name of its own and is no
/// file of anybody.
fn collect(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if path.is_dir() {
            collect(&path, files);
        } else if !name.starts_with(".agent-cli-") {
            let bytes = fs::read(&path).expect("a file");
            files.insert(name.into_owned(), bytes);
        }
    }
}

/// What a session has come to.
#[derive(PartialEq, Eq)]
pub struct Outcome {
    /// How many answers it has, failed ones included.
    pub answers: usize,
    /// The last of them.
    pub answer: String,
    /// The files of the workspace.
    files: BTreeMap<String, Vec<u8>>,
}

impl Outcome {
    /// Returns where this differs from what it should be.
    pub fn beside(&self, want: &Self) -> String {
        let differs = |name: &&String| self.files.get(*name) != want.files.get(*name);
        let names: BTreeSet<&String> = self.files.keys().chain(want.files.keys()).collect();
        let files: Vec<&String> = names.into_iter().filter(differs).collect();
        format!(
            "{} answers for {}, the last {:?}, other files: {files:?}; ",
            self.answers, want.answers, self.answer
        )
    }
}

/// In the middle of what the kills came.
#[derive(Default)]
pub struct Phases(BTreeMap<String, usize>);

impl Phases {
    /// Counts a kill by the last event, and in a phase of their own those before the session had its file.
    pub fn note(&mut self, life: &Life, came: &Came) {
        let phase = match (life.session().exists(), life.pending().exists()) {
            (true, _) => came.phase(),
            (false, true) => UNBORN,
            (false, false) => NOTHING,
        };
        *self.0.entry(phase.to_owned()).or_default() += 1;
    }

    /// Checks that there were kills in every phase; what follows each other at once is one.
    pub fn assert_all(&self) {
        let all: [&[&str]; 7] = [
            &[NOTHING],
            &[UNBORN],
            &["start", "session_start"],
            &["text_delta"],
            &["answer", "context", "tool_start"],
            &["tool_end"],
            &[STARTED],
        ];
        let met = |phase: &&str| self.0.contains_key(*phase);
        let missing: Vec<_> = all.iter().filter(|phase| !phase.iter().any(met)).collect();
        assert!(missing.is_empty(), "no kill in {missing:?}: {self}");
    }
}

/// Before anything is on the disk.
const NOTHING: &str = "nothing";

/// When what was said waits for the session's file.
const UNBORN: &str = "unborn";

impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kills in each phase: {:?}", self.0)
    }
}
