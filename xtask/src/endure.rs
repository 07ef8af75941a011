//! Endurance: processes of the program work on shared sessions while they are killed and stopped, and while disks are
//! full or read-only. What the program has acknowledged must be there at the end.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use test_support::Rng;

use crate::run::{Outcome, debug_binary, example_session, read, target, without_settings};

const USAGE: &str = "usage: cargo xtask endure [--minutes N] [--seed N]";

/// The number of concurrent processes.
const PROCESSES: u64 = 8;

/// The time limit of a process.
const LONGEST: Duration = Duration::from_secs(90);

/// The sessions, and how many lines of the example each begins with.
const SESSIONS: [(&str, usize); 4] = [
    ("disk/a.jsonl", 526),
    ("disk/b.jsonl", 8),
    ("full/c.jsonl", 60),
    ("read-only/d.jsonl", 100),
];

/// The operations of processes: with a session, a unique text, an entry, and a script.
const OPERATIONS: [&str; 22] = [
    "-p TEXT --session PATH --cwd . --mode json --window 20000 --provider SCRIPT",
    "-p TEXT --session PATH --cwd . --mode json --window 20000 --provider SCRIPT",
    "-p TEXT --session PATH --cwd . --mode json --window 128000 --provider SCRIPT",
    "compact PATH --in-place --json --window 20000 --strategy restore",
    "compact PATH --in-place --json --window 200000 --strategy extractive",
    "compact PATH --in-place --json --window 20000 --strategy prune-only",
    "pin PATH --text TEXT --in-place --json",
    "pin PATH --text TEXT --in-place --json",
    "undo PATH --in-place --json",
    "redo PATH --in-place --json",
    "branch PATH --to ENTRY --in-place --json",
    "branch PATH --to ENTRY --in-place --json --summarize",
    "rpc --session PATH --cwd . --provider SCRIPT",
    "rpc --session PATH --cwd . --provider SCRIPT",
    "inspect PATH",
    "context PATH",
    "doctor PATH",
    "tree PATH",
    "files PATH",
    "loss PATH",
    "plan PATH",
    "recall PATH answer",
];

/// The requests to `rpc`.
const REQUESTS: &str = r#"{"type":"label","entry_id":"ENTRY","label":"TEXT"}
{"type":"prompt","text":"TEXT"}
{"type":"compact"}
{"type":"undo"}
"#;

/// The events so far.
#[derive(Default)]
struct Record {
    runs: u64,
    failed: u64,
    kills: u64,
    stops: u64,
    /// The acknowledged entries (ids) and texts of each session.
    acknowledged: [BTreeSet<String>; SESSIONS.len()],
    /// Panics, processes that did not end, and what the test itself could not do.
    faults: Vec<String>,
}

struct Endurance {
    program: PathBuf,
    folder: PathBuf,
    end: Instant,
    record: Mutex<Record>,
}

/// Lets processes work for some minutes, and checks what they leave.
pub fn run(arguments: &[String]) -> Outcome {
    let now = SystemTime::UNIX_EPOCH.elapsed();
    let (mut minutes, mut seed) = (2, now.map_or(0, |now| now.as_secs()));
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|number| number.parse().ok());
        match (pair[0].as_str(), number) {
            ("--minutes", Some(number)) => minutes = number,
            ("--seed", Some(number)) => seed = number,
            _ => return Err(USAGE.to_owned()),
        }
    }
    println!("seed {seed}, {minutes} minutes");
    let folder = std::path::absolute(target().join("endure")).map_err(|error| error.to_string())?;
    let program = debug_binary()?;
    let example = read(&example_session())?;
    let prepared = prepare(&folder, &example);
    let has_disks = prepared.map_err(|error| format!("{}: {error}", folder.display()))?;
    let endurance = Endurance {
        program,
        folder,
        end: Instant::now() + Duration::from_secs(60 * minutes),
        record: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for worker in 0..PROCESSES {
            let (endurance, rng) = (&endurance, Rng::new(seed + worker));
            scope.spawn(move || endurance.work(worker, rng));
        }
        if has_disks {
            scope.spawn(|| endurance.disturb(Rng::new(seed + PROCESSES)));
        }
    });
    endurance.judge()
}

/// Makes the folders and sessions; returns whether two have small disks, which takes root.
fn prepare(folder: &Path, example: &str) -> io::Result<bool> {
    unmount(folder);
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for name in ["disk", "full", "read-only", "work"] {
        fs::create_dir_all(folder.join(name))?;
    }
    let mount = ["-t", "tmpfs", "-o", "size=8m", "endure"];
    let has_disks = ["full", "read-only"]
        .into_iter()
        .all(|name| quietly(Command::new("mount").args(mount).arg(folder.join(name))));
    if !has_disks {
        unmount(folder);
        println!("no disk can be mounted: none is full or read-only, only files are limited");
    }
    for (name, lines) in SESSIONS {
        let lines: String = example.split_inclusive('\n').take(lines).collect();
        fs::write(folder.join(name), lines)?;
    }
    let call = json!({"name": "ls", "arguments": {"path": "."}});
    let lines = (0..4000).map(|number| match number % 7 {
        0 | 3 => json!({"answer": {"text": "word ".repeat(number % 400), "calls": [call]}}),
        6 => json!({"answer": {"text": "slow", "pause_ms": 300}}),
        _ => json!({"answer": {"text": format!("done {number}")}}),
    });
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("script.jsonl"), lines)?;
    Ok(has_disks)
}

/// Unmounts disks, which a run that was broken off may have left.
fn unmount(folder: &Path) {
    for name in ["full", "read-only"] {
        quietly(Command::new("umount").arg(folder.join(name)));
    }
}

/// Runs a command without its output; returns whether it succeeds.
fn quietly(command: &mut Command) -> bool {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Endurance {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one process after another.
    fn work(&self, worker: u64, mut rng: Rng) {
        for count in 0.. {
            if Instant::now() > self.end {
                return;
            }
            let text = format!("unique-{worker}-{count}-");
            if let Err(error) = self.process(&format!("{worker}"), &text, &mut rng) {
                self.record().faults.push(error.to_string());
            }
        }
    }

    /// Runs one process and notes what it acknowledges.
    fn process(&self, worker: &str, text: &str, rng: &mut Rng) -> io::Result<()> {
        let session = rng.below(SESSIONS.len());
        let path = self.folder.join(SESSIONS[session].0);
        let [input, output, errors] =
            ["in", "out", "err"].map(|name| self.folder.join(worker).with_extension(name));
        let lines = fs::read_to_string(&path).unwrap_or_default();
        let line = lines.lines().nth(1 + rng.below(lines.lines().count()));
        let entry = line.and_then(|line| line.split_once(r#""id":""#)?.1.split('"').next());
        let filled = |text: &str, of: &str| {
            of.replace("TEXT", text)
                .replace("ENTRY", entry.unwrap_or("root"))
        };
        fs::write(&input, filled(text, REQUESTS))?;
        let operation = filled(text, rng.pick(&OPERATIONS));
        let script = format!("scripted:{}", self.folder.join("script.jsonl").display());
        let mut command = Command::new(&self.program);
        if rng.below(16) == 0 {
            // The disk ends within the next writes.
            command = Command::new("sh");
            let blocks = lines.len() / 512 + rng.below(9);
            command
                .args(["-c", "ulimit -f $0; exec \"$@\"", &blocks.to_string()])
                .arg(&self.program);
        }
        command.args(operation.split(' ').map(|word| match word {
            "PATH" => path.as_os_str(),
            "SCRIPT" => script.as_ref(),
            word => word.as_ref(),
        }));
        command
            .env("HOME", &self.folder)
            .current_dir(self.folder.join("work"));
        command
            .stdin(File::open(input)?)
            .stdout(File::create(&output)?)
            .stderr(File::create(&errors)?);
        let status = self.attend(
            &mut without_settings(&mut command).spawn()?,
            &operation,
            rng,
        )?;
        let mut record = self.record();
        record.runs += 1;
        record.failed += u64::from(!status.success());
        let errors = String::from_utf8_lossy(&fs::read(errors)?).into_owned();
        if errors.contains("panicked") || status.code().is_some_and(|code| code > 100 && code < 150)
        {
            record
                .faults
                .push(format!("{operation}: {status}: {errors}"));
        }
        // A kill may have cut off the last one.
        let output = fs::read(output)?;
        for document in serde_json::Deserializer::from_slice(&output)
            .into_iter()
            .map_while(Result::ok)
        {
            note(&document, text, &mut record.acknowledged[session]);
        }
        Ok(())
    }

    /// Waits for the end of a process, which may be killed or stopped for a while.
    fn attend(&self, child: &mut Child, operation: &str, rng: &mut Rng) -> io::Result<ExitStatus> {
        let started = Instant::now();
        let kill = (rng.below(10) < 3).then(|| Duration::from_secs_f64(rng.share() * rng.share()));
        let mut stop = (rng.below(10) == 0).then(|| Duration::from_secs_f64(rng.share() / 2.0));
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            let lived = started.elapsed();
            if lived > LONGEST {
                self.record()
                    .faults
                    .push(format!("does not end: {operation}"));
            }
            if lived > LONGEST || kill.is_some_and(|moment| lived > moment) {
                self.record().kills += 1;
                child.kill()?;
                return child.wait();
            }
            if stop.is_some_and(|moment| lived > moment) {
                let id = child.id().to_string();
                quietly(Command::new("kill").args(["-STOP", &id]));
                sleep(Duration::from_secs_f64(2.0 * rng.share()));
                quietly(Command::new("kill").args(["-CONT", &id]));
                self.record().stops += 1;
                stop = None;
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Fills and empties one disk, and makes another one read-only for a while.
    fn disturb(&self, mut rng: Rng) {
        let fill = self.folder.join("full/fill");
        let remount = |how| {
            let mut mount = Command::new("mount");
            quietly(mount.args(["-o", how]).arg(self.folder.join("read-only")));
        };
        while Instant::now() < self.end {
            sleep(Duration::from_secs_f64(2.0 * rng.share()));
            // More than there is room for, less what is left free.
            let _ = fs::write(&fill, vec![b'x'; 8 << 20]);
            let file = File::options().write(true).open(&fill);
            let length = fs::metadata(&fill).map_or(0, |file| file.len());
            let left = length.saturating_sub(rng.below(5) as u64 * 4096);
            let _ = file.and_then(|file| file.set_len(left));
            // Fails while a file is written there.
            remount("remount,ro");
            sleep(Duration::from_secs_f64(rng.share()));
            remount("remount,rw");
            let _ = fs::remove_file(&fill);
        }
    }

    /// Prints what is lost or invalid, which must be nothing.
    fn judge(&self) -> Outcome {
        let record = self.record();
        let (mut acknowledged, mut lost, mut invalid) = (0, 0, 0);
        for ((name, _), of) in SESSIONS.iter().zip(&record.acknowledged) {
            let path = self.folder.join(name);
            // Messages that were not sent to the model yet are in a file next to the session.
            let pending = fs::read_to_string(path.with_extension("pending.jsonl"));
            let text = read(&path)? + &pending.unwrap_or_default();
            for what in of.iter().filter(|what| !text.contains(*what)) {
                println!("{name}: {what} is lost");
                lost += 1;
            }
            acknowledged += of.len();
            let mut doctor = Command::new(&self.program);
            let doctor = doctor.arg("doctor").arg(&path).arg("--json");
            if !quietly(without_settings(doctor)) {
                println!("{name}: doctor finds damage");
                invalid += 1;
            }
        }
        unmount(&self.folder);
        let Record {
            runs,
            failed,
            kills,
            stops,
            faults,
            ..
        } = &*record;
        for fault in faults {
            println!("{fault}");
        }
        println!(
            "{acknowledged} acknowledged, {lost} lost, {invalid} invalid, {} faults",
            faults.len()
        );
        println!("{runs} runs, of which {failed} failed; {kills} kills, {stops} stops");
        match lost + invalid + faults.len() {
            0 => Ok(()),
            _ => Err("something is lost, invalid or at fault".to_owned()),
        }
    }
}

/// Notes which entries and texts a document acknowledges.
fn note(document: &Value, text: &str, acknowledged: &mut BTreeSet<String>) {
    let kind = document["type"].as_str();
    let ids = match kind {
        Some("message" | "answer") => vec![&document["entry_id"]],
        Some("queued") => vec![&document["id"]],
        Some("auto_compaction_end") => vec![&document["result"]["entry_id"]],
        Some("response") => ["message_id", "leaf"]
            .map(|name| &document["data"][name])
            .to_vec(),
        Some(_) => Vec::new(),
        None => [
            "entry_id",
            "compaction_entry_id",
            "summary_entry_id",
            "leaf_entry_id",
        ]
        .map(|name| &document[name])
        .to_vec(),
    };
    acknowledged.extend(ids.into_iter().filter_map(Value::as_str).map(str::to_owned));
    let is_labelled = document["command"] == "label" && document["success"] == true;
    if kind == Some("queued") || is_labelled || document.get("pinned").is_some() {
        acknowledged.insert(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, json, note};

    #[test]
    fn what_is_written_is_acknowledged_and_what_failed_is_not() {
        let mut acknowledged = BTreeSet::new();
        for document in [
            json!({"type": "queued", "id": "q1", "text": "t"}),
            json!({"type": "answer", "entry_id": "e1"}),
            json!({"type": "auto_compaction_end", "result": null}),
            json!({"type": "response", "command": "label", "success": false}),
            json!({"compaction_entry_id": "e2", "summary": "s"}),
            json!({"error": {"message": "m"}}),
        ] {
            note(&document, "t", &mut acknowledged);
        }
        assert_eq!(
            acknowledged,
            ["e1", "e2", "q1", "t"].map(str::to_owned).into()
        );
    }
}
