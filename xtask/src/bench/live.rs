//! A running session of thousands of turns: what a turn takes at its beginning and at its end, and the
//! memory that it has needed by then.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use test_support::Rng;

use super::prose::Pools;
use super::table::{Table, cell, megabytes, millis};
use crate::run::{Outcome, target, without_settings};

/// How many turns a run has.
const TURNS: [usize; 3] = [500, 1_000, 2_000];

/// Whether every entry is forced to the disk.
const SYNC: [&str; 2] = ["never", "always"];

/// The window of the model, in tokens.
const WINDOW: u64 = 32_768;

/// How many files the turns read, and how many bytes each has.
const FILES: (usize, usize) = (20, 2_400);

/// In how many parts the time of a run is shown.
const PARTS: usize = 4;

/// The columns of the table.
const HEAD: [&str; 11] = [
    "turns",
    "synced",
    "compactions",
    "MB after one turn",
    "MB",
    "ms a turn: 1st quarter",
    "2nd",
    "3rd",
    "4th",
    "of it on a processor: 1st quarter",
    "4th",
];

/// The figures of one run.
struct Row {
    turns: usize,
    sync: &'static str,
    /// The most memory that was resident after the first turn, when the whole script is in it, and at the end.
    peak_kilobytes: [Option<u64>; 2],
    compactions: usize,
    /// Nanoseconds of a turn, on average, in each part of the run.
    parts: [u64; PARTS],
    /// Nanoseconds of a turn on processors, where the system tells.
    busy: Option<[u64; PARTS]>,
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let own = [
            self.turns.to_string(),
            self.sync.to_owned(),
            self.compactions.to_string(),
        ];
        let peaks = self.peak_kilobytes.map(|peak| cell(peak.map(megabytes)));
        let busy = [0, PARTS - 1].map(|part| cell(self.busy.map(|busy| millis(busy[part]))));
        let parts = self.parts.map(millis);
        own.into_iter()
            .chain(peaks)
            .chain(parts)
            .chain(busy)
            .collect()
    }
}

/// Lets `program` live through every number of turns.
pub fn measure(program: &Path) -> Outcome<Table> {
    let mut rows = Vec::new();
    for sync in SYNC {
        for turns in TURNS {
            eprintln!("a session of {turns} turns, synced {sync}");
            rows.push(live(program, turns, sync)?.cells());
        }
    }
    let note = format!(
        "One process a row, seen from outside, with a window of {WINDOW} tokens: every turn is a request, a file of {} \
         bytes that is read, and an answer; compactions are extractive. MB: most memory ever resident; the script of the \
         whole run, about 1.5 kB a turn, is in it from the beginning.",
        FILES.1
    );
    Ok(Table {
        title: "Many turns",
        head: &HEAD,
        rows,
        notes: vec![note],
    })
}

fn live(program: &Path, turns: usize, sync: &'static str) -> Outcome<Row> {
    let scratch = Scratch::new(turns)?;
    let started = Instant::now();
    let mut child = scratch.start(program, sync)?;
    let heard = hear(&mut child, started);
    let status = child.wait().map_err(|error| error.to_string())?;
    let heard = heard?;
    if !status.success() || heard.ends.len() != turns {
        let said = fs::read_to_string(scratch.folder.join("stderr")).unwrap_or_default();
        return Err(format!(
            "{} of {turns} turns, {status}: {said}",
            heard.ends.len()
        ));
    }
    Ok(Row {
        turns,
        sync,
        peak_kilobytes: [heard.first_kilobytes, heard.peak_kilobytes],
        compactions: heard.compactions,
        parts: parts(&heard.ends),
        busy: (heard.busy.len() == turns).then(|| parts(&heard.busy)),
    })
}

/// What was heard of a run.
#[derive(Default)]
struct Heard {
    /// When each turn ended.
    ends: Vec<Duration>,
    /// How much time on processors had been taken by then.
    busy: Vec<Duration>,
    compactions: usize,
    first_kilobytes: Option<u64>,
    peak_kilobytes: Option<u64>,
}

/// Listens to the events of a run until it ends.
fn hear(child: &mut Child, started: Instant) -> Outcome<Heard> {
    let pid = child.id();
    let stdout = child.stdout.take().ok_or("a run without output")?;
    let mut heard = Heard::default();
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| error.to_string())?;
        // Only the beginning is looked at, so that listening costs next to nothing.
        if line.starts_with(r#"{"type":"turn_end""#) {
            heard.ends.push(started.elapsed());
            if !line.contains(r#""end":"done""#) {
                return Err(format!("a turn went wrong: {line}"));
            }
            // A process that is gone has no memory any more, so it is looked at while it lives.
            heard.peak_kilobytes = peak_kilobytes(pid).or(heard.peak_kilobytes);
            heard.first_kilobytes = heard.first_kilobytes.or(heard.peak_kilobytes);
            let busy = busy(pid).or(heard.busy.last().copied());
            heard.busy.extend(busy);
        } else if line.starts_with(r#"{"type":"auto_compaction_end""#) {
            if line.contains(r#""result":null"#) {
                return Err(format!("a compaction went wrong: {line}"));
            }
            heard.compactions += 1;
        }
    }
    Ok(heard)
}

/// Returns the most memory that was resident, where the system tells.
pub fn peak_kilobytes(pid: impl std::fmt::Display) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Returns how long a process has been on processors, where the system tells: in hundredths of a second.
pub fn busy(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut ticks = numbers.split_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    Some(Duration::from_millis(10 * (user + system)))
}

/// Returns nanoseconds of a turn in each part, the first turn left out, because the start is in it.
fn parts(ends: &[Duration]) -> [u64; PARTS] {
    std::array::from_fn(|part| {
        let from = part * (ends.len() - 1) / PARTS;
        let to = (part + 1) * (ends.len() - 1) / PARTS;
        let took = ends[to].saturating_sub(ends[from]).as_nanos();
        u64::try_from(took / (to - from).max(1) as u128).unwrap_or(u64::MAX)
    })
}

/// The folder of a run; it goes away with this.
struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    fn new(turns: usize) -> Outcome<Self> {
        let folder = target().join("bench").join("live");
        let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
        // One that was stopped may have left its own.
        let _ = fs::remove_dir_all(&folder);
        let scratch = Self { folder };
        scratch
            .fill(turns)
            .map_err(|error| format!("{}: {error}", scratch.folder.display()))?;
        Ok(scratch)
    }

    fn fill(&self, turns: usize) -> std::io::Result<()> {
        let work = self.folder.join("work");
        fs::create_dir_all(&work)?;
        let mut rng = Rng::new(11);
        let pools = Pools::new(&mut rng);
        for file in 0..FILES.0 {
            let text = pools.code.take(&mut rng, FILES.1, FILES.1);
            let text: String = serde_json::from_str(&format!("\"{text}\""))?;
            fs::write(work.join(name(file)), text)?;
        }
        fs::write(self.folder.join("script.jsonl"), script(turns))
    }

    fn start(&self, program: &Path, sync: &str) -> Outcome<Child> {
        let mut command = Command::new(program);
        without_settings(&mut command).current_dir(self.folder.join("work"));
        command.args(["--mode", "json", "--provider"]);
        command.arg(format!(
            "scripted:{}",
            self.folder.join("script.jsonl").display()
        ));
        command
            .arg("--session")
            .arg(self.folder.join("session.jsonl"));
        command.arg("--set").arg(format!("session.sync={sync}"));
        command.args(["-p", &request(0)]);
        let errors = fs::File::create(self.folder.join("stderr"));
        let errors = errors.map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.stderr(errors).spawn();
        child.map_err(|error| format!("cannot run {}: {error}", program.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is in the build folder and is removed next time.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn name(file: usize) -> String {
    format!("part-{file}.rs")
}

fn request(turn: usize) -> String {
    format!(
        "Look at part {} and tell me what turn {turn} is about.",
        turn % FILES.0
    )
}

/// Returns a script in which every turn is a request, a file that is read, and an answer.
fn script(turns: usize) -> String {
    let mut lines = vec![json!({"script": 1, "name": "live", "window": WINDOW})];
    for turn in 0..turns {
        if turn > 0 {
            lines.push(json!({"user": {"say": request(turn)}}));
        }
        let arguments = json!({"path": name(turn % FILES.0)});
        let call = json!({"name": "read", "arguments": arguments});
        lines.push(json!({"answer": {"text": "I read it first.", "calls": [call]}}));
        let text = format!("Turn {turn} is about part {}. ", turn % FILES.0);
        lines.push(json!({"answer": {"text": text.repeat(8)}}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{parts, script};

    #[test]
    fn a_part_is_the_mean_of_its_turns() {
        let millis = [9, 10, 11, 13, 15, 25, 35, 36, 37];
        let ends = millis.map(Duration::from_millis);
        assert_eq!(parts(&ends), [1_000_000, 2_000_000, 10_000_000, 1_000_000]);
    }

    #[test]
    fn a_script_has_two_answers_a_turn_and_says_what_the_command_line_does_not() {
        let text = script(3);
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        assert_eq!((count(r#"{"answer""#), count(r#"{"user""#)), (6, 2));
        assert!(llm_providers::Script::parse(&text).is_ok());
    }
}
