//! Measures in fresh processes, ours and the peer's in turns, and takes the median of each.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::child::peak_kilobytes;
use super::table::{cell, megabytes, millis, quotient};
use crate::run::{Outcome, output, root, without_settings};

/// The interval at which a process's memory is read.
const WATCH: Duration = Duration::from_millis(2);

/// The programs to run.
pub struct Programs {
    /// The program of this project.
    pub agent_cli: PathBuf,
    /// The release build of xtask, for `bench-child`.
    pub child: PathBuf,
    /// The folder that pi is installed in.
    pub pi: Option<PathBuf>,
}

/// The result of one process.
#[derive(Clone, Copy)]
pub struct Sample {
    /// The duration.
    pub nanoseconds: u64,
    /// The peak of resident memory, if it is known.
    pub peak_kilobytes: Option<u64>,
    answer: Option<u64>,
}

/// One line of the table.
pub struct Row {
    /// The number of entries in the session.
    pub entries: usize,
    /// The number of bytes.
    pub bytes: u64,
    /// The name of the measurement.
    pub label: &'static str,
    /// This project's samples.
    pub ours: Vec<Sample>,
    /// The peer's samples; empty if it has no such operation, was not measured, or failed.
    pub pi: Vec<Sample>,
    /// The nanoseconds of the newline scan, if the comparison is meaningful.
    pub scan: Option<u64>,
}

/// The columns of the table.
pub const HEAD: [&str; 8] = [
    "entries",
    "measured",
    "ours ms",
    "ours MB",
    "pi ms",
    "pi MB",
    "ours / scan",
    "pi / ours",
];

impl Row {
    /// Returns the cells of the table.
    pub fn cells(&self) -> Vec<String> {
        let size = format!("{} ({:.1} MB)", self.entries, self.bytes as f64 / 1e6);
        let (ours, pi) = (median_time(&self.ours), median_time(&self.pi));
        vec![
            size,
            self.label.to_owned(),
            cell(ours.map(millis)),
            cell(median_peak(&self.ours).map(megabytes)),
            cell(pi.map(millis)),
            cell(median_peak(&self.pi).map(megabytes)),
            cell(quotient(ours, self.scan)),
            cell(quotient(pi, ours)),
        ]
    }
}

/// The measurements, in the order of the table.
const MEASURES: [Measure; 7] = [
    Measure::new("newline scan", "scan", None, false),
    Measure::new("open", "open", Some("open"), true),
    Measure::new("open + context", "context", Some("context"), true),
    Measure::new("open + context + plan", "plan", Some("plan"), true),
    Measure::new("append, not synced", "append", Some("append"), false),
    Measure::new("append, synced", "append-synced", None, false),
    Measure::new("whole process: context", PROGRAM, Some(PROGRAM), true),
];

/// The kind whose time is that of a whole process, from spawning it to its end.
const PROGRAM: &str = "program";

struct Measure {
    label: &'static str,
    ours: &'static str,
    pi: Option<&'static str>,
    beside_scan: bool,
}

impl Measure {
    const fn new(
        label: &'static str,
        ours: &'static str,
        pi: Option<&'static str>,
        beside_scan: bool,
    ) -> Self {
        Self {
            label,
            ours,
            pi,
            beside_scan,
        }
    }
}

/// Measures everything on one session.
pub fn measure_size(
    programs: &Programs,
    session: &Path,
    entries: usize,
    runs: usize,
) -> Outcome<Vec<Row>> {
    let scratch = Scratch::copy(session)?;
    // Once without counting: files and programs come into the page cache.
    ours(programs, "scan", session)?;
    let mut rows: Vec<Row> = MEASURES
        .iter()
        .map(|measure| Row {
            entries,
            bytes: scratch.length,
            label: measure.label,
            ours: Vec::new(),
            pi: Vec::new(),
            scan: None,
        })
        .collect();
    let mut failed = [programs.pi.is_none(); MEASURES.len()];
    for _ in 0..runs {
        let places = MEASURES.iter().zip(&mut rows).zip(&mut failed);
        for ((measure, row), failed) in places {
            row.ours.push(ours(
                programs,
                measure.ours,
                scratch.file(measure, session),
            )?);
            scratch.restore()?;
            let Some(kind) = measure.pi.filter(|_| !*failed) else {
                continue;
            };
            match peer(programs, kind, scratch.file(measure, session)) {
                Ok(sample) => row.pi.push(sample),
                Err(error) => {
                    eprintln!("pi, {}, {entries} entries: {error}", measure.label);
                    *failed = true;
                    row.pi.clear();
                }
            }
            scratch.restore()?;
        }
    }
    check_answers(&rows)?;
    let scan = rows.first().and_then(|row| median_time(&row.ours));
    for (measure, row) in MEASURES.iter().zip(&mut rows) {
        row.scan = scan.filter(|_| measure.beside_scan);
    }
    Ok(rows)
}

/// Both programs must give the same result.
fn check_answers(rows: &[Row]) -> Outcome {
    for row in rows {
        let answers = row.ours.iter().chain(&row.pi);
        let mut answers: Vec<u64> = answers.filter_map(|sample| sample.answer).collect();
        answers.dedup();
        if answers.len() > 1 {
            return Err(format!("{}: the answers differ: {answers:?}", row.label));
        }
    }
    Ok(())
}

/// Says how long the programs take to do nothing.
pub fn start_times(programs: &Programs, runs: usize) -> Outcome<String> {
    let (mut own, mut node, mut pi) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        own.push(whole(
            Command::new(&programs.agent_cli).arg("--version"),
            &[],
        )?);
        node.push(whole(Command::new("node").args(["--eval", "0"]), &[])?);
        pi.push(whole(
            &mut peer_command(programs, "idle", Path::new("-"))?,
            &[],
        )?);
    }
    let millis = |samples: &[Sample]| median_time(samples).map_or(0.0, |time| time as f64 / 1e6);
    Ok(format!(
        "Whole processes from spawning to exit; doing nothing, agent-cli takes {:.1} ms, Node {:.0} ms, Node with pi's modules {:.0} ms.",
        millis(&own),
        millis(&node),
        millis(&pi)
    ))
}

fn ours(programs: &Programs, kind: &str, file: &Path) -> Outcome<Sample> {
    if kind == PROGRAM {
        let mut program = Command::new(&programs.agent_cli);
        return whole(without_settings(&mut program).arg("context").arg(file), &[]);
    }
    sample(
        Command::new(&programs.child)
            .args(["bench-child", kind])
            .arg(file),
    )
}

fn peer(programs: &Programs, kind: &str, file: &Path) -> Outcome<Sample> {
    if kind == PROGRAM {
        return whole(&mut peer_command(programs, "context", file)?, &[]);
    }
    sample(&mut peer_command(programs, kind, file)?)
}

fn peer_command(programs: &Programs, kind: &str, file: &Path) -> Outcome<Command> {
    let pi = programs.pi.as_ref().ok_or("pi is not installed")?;
    let mut node = Command::new("node");
    node.arg(root().join("xtask/bench/pi-bench.mjs"));
    node.arg(pi).arg(kind).arg(file);
    Ok(node)
}

/// Runs a process that measures itself.
pub fn sample(command: &mut Command) -> Outcome<Sample> {
    let text = output(command)?;
    let said: Value = serde_json::from_str(&text)
        .map_err(|error| format!("cannot read a measurement: {error}"))?;
    let nanoseconds = said["nanoseconds"].as_u64();
    Ok(Sample {
        nanoseconds: nanoseconds.ok_or("a measurement without a time")?,
        peak_kilobytes: said["peak_kilobytes"].as_u64(),
        answer: said["answer"].as_u64(),
    })
}

/// Measures a process from outside: from spawning it to its end, or to its answers to `requests`, if there are any.
pub fn whole(command: &mut Command, requests: &[Value]) -> Outcome<Sample> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error| format!("cannot run {name}: {error}");
    let pipe = || match requests {
        [] => Stdio::null(),
        _ => Stdio::piped(),
    };
    command.stdin(pipe()).stdout(pipe()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let pid = child.id();
    // The peak memory of a process can be read only while it runs.
    let watch = thread::spawn(move || {
        let peaks = iter::from_fn(|| peak_kilobytes(pid));
        peaks.inspect(|_| thread::sleep(WATCH)).last()
    });
    let mut answered = None;
    if let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) {
        let mut answers = BufReader::new(from).lines();
        for request in requests {
            writeln!(to, "{request}").map_err(failed)?;
            if request.get("id").is_some() {
                answers.next().transpose().map_err(failed)?;
            }
        }
        answered = Some(started.elapsed());
    }
    let status = child.wait().map_err(failed)?;
    let elapsed = answered.unwrap_or_else(|| started.elapsed());
    match status.code() {
        // Exit code 3 means that there was nothing to do.
        Some(0 | 3) => Ok(Sample {
            nanoseconds: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            peak_kilobytes: watch.join().unwrap_or_default(),
            answer: None,
        }),
        _ => Err(format!("{name} failed: {status}")),
    }
}

/// Returns the median time in nanoseconds.
pub fn median_time(samples: &[Sample]) -> Option<u64> {
    median(samples.iter().map(|sample| sample.nanoseconds))
}

/// Returns the median of the most memory that was resident, in kilobytes.
pub fn median_peak(samples: &[Sample]) -> Option<u64> {
    median(samples.iter().filter_map(|sample| sample.peak_kilobytes))
}

fn median(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some(lower.midpoint(upper))
}

/// A copy of the session for measurements that write; it is removed on drop.
struct Scratch {
    path: PathBuf,
    length: u64,
}

impl Scratch {
    fn copy(session: &Path) -> Outcome<Self> {
        let path = session.with_extension("scratch");
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let length = std::fs::copy(session, &path).map_err(failed)?;
        let copy = OpenOptions::new().append(true).open(&path);
        // Else the first synced append would pay for the copy.
        copy.and_then(|copy| copy.sync_all()).map_err(failed)?;
        Ok(Self { path, length })
    }

    /// Returns the file that a measurement uses.
    fn file<'a>(&'a self, measure: &Measure, session: &'a Path) -> &'a Path {
        match measure.ours.starts_with("append") {
            true => &self.path,
            false => session,
        }
    }

    /// Takes back what was appended.
    fn restore(&self) -> Outcome {
        let file = OpenOptions::new().append(true).open(&self.path);
        let cut = file.and_then(|file| match file.metadata()?.len() == self.length {
            true => Ok(()),
            false => file.set_len(self.length).and_then(|()| file.sync_all()),
        });
        cut.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that stays is in the build folder and is overwritten next time.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_stands_in_the_middle() {
        assert_eq!(median([].into_iter()), None);
        assert_eq!(median([9, 1, 5].into_iter()), Some(5));
        assert_eq!(median([9, 1, 5, 7].into_iter()), Some(6));
    }
}
