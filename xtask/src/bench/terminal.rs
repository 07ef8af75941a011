//! The terminal as a person meets it: how long the first screens take, how soon a key is seen while an answer streams
//! in, and what it costs to leave it alone. The program runs in a pseudo terminal.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use serde_json::Value;

use super::table::Table;
use crate::integrations;
use crate::run::{Outcome, target};

/// The size of the terminal.
const SIZE: (u16, u16) = (24, 80);

/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often each first screen is measured; the median counts.
const RUNS: usize = 7;

/// The same for peers, which take seconds.
const PEER_RUNS: usize = 3;

/// How long a program is left alone after its first screen.
const SETTLE: Duration = Duration::from_millis(1000);

/// How many keys are pressed while an answer streams in.
const KEYS: usize = 400;

/// How long a key follows the other.
const BETWEEN: Duration = Duration::from_millis(23);

/// Between two tokens of the answer: 200 a second.
const TOKEN: Duration = Duration::from_millis(5);

/// For how long the program is left alone.
const IDLE: Duration = Duration::from_secs(10);

/// What the editor shows where nothing is in it.
const READY: &str = "ask something";

/// A peer that opens the same session in a terminal.
struct Peer {
    name: &'static str,
    /// The program, and the first of its arguments.
    command: (PathBuf, Vec<String>),
    /// The argument that names a session.
    session: &'static str,
    /// What it shows at the bottom of its first screen.
    ready: &'static str,
}

/// Returns the peers that are installed: pi by its script, oh-my-pi where `cargo xtask integrations` installs it.
fn peers(pi: Option<&Path>, folder: &Path) -> Outcome<Vec<Peer>> {
    let mut peers = Vec::new();
    if let Some(pi) = pi {
        let arguments = vec![pi.display().to_string(), "--offline".to_owned()];
        peers.push(Peer {
            name: "pi",
            command: (integrations::node()?, arguments),
            session: "--session",
            ready: "(auto)",
        });
    }
    match integrations::omp()? {
        Some((program, script)) => {
            // Without its first questions.
            let settings = folder.join(".omp/agent");
            let written = std::fs::create_dir_all(&settings)
                .and_then(|()| std::fs::write(settings.join("config.yml"), "setupVersion: 2\n"));
            written.map_err(|error| format!("{}: {error}", settings.display()))?;
            let script = script.display().to_string();
            let arguments = [&script, "--no-title", "--no-lsp"].map(str::to_owned);
            peers.push(Peer {
                name: "oh-my-pi",
                command: (program, arguments.into()),
                session: "--resume",
                ready: "π >",
            });
        }
        None => eprintln!("oh-my-pi is not measured: `cargo xtask integrations` installs it"),
    }
    Ok(peers)
}

/// A measurement: what, its value with a unit, and the goal.
fn row(what: &str, value: String, goal: &str) -> Vec<String> {
    vec![what.to_owned(), value, goal.to_owned()]
}

/// The load of the machine over a minute, where it is known.
fn load() -> String {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = loads.split_whitespace().next();
    load.unwrap_or("unknown").to_owned()
}

/// Measures `program`, and peers that are installed; `session` is one of 100,000 entries.
pub fn measure(program: &Path, pi: Option<&Path>, session: &Path) -> Outcome<Table> {
    let before = load();
    let folder = target().join("bench").join("terminal");
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let copy = Copied::of(session, &folder)?;
    let mut rows = own(program, &folder, &copy)?;
    for peer in peers(pi, &folder)? {
        rows.extend(of_peer(&peer, &folder, &copy)?);
    }
    let bytes = std::fs::metadata(session).map_or(0, |about| about.len());
    let notes = vec![
        format!(
            "In a pseudo terminal of 80x24, seen from outside: from the start of the process, or the press of a key, to the text on the screen. First screens: median of {RUNS} runs, files in the page cache; of a session: the file of 100,000 entries and {:.0} MB. Keys: {KEYS} of them while an answer of 200 tokens a second streams in.",
            bytes as f64 / 1e6
        ),
        format!(
            "Load of the machine over a minute, before and after: {before} and {}; {}.",
            load(),
            super::machine()
        ),
    ];
    Ok(Table {
        title: "Terminal",
        head: &["measured", "is", "goal"],
        rows,
        notes,
    })
}

/// A session that is copied anew for each run, with a folder that is there.
struct Copied {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl Copied {
    fn of(session: &Path, folder: &Path) -> Outcome<Self> {
        let failed = |error: std::io::Error| format!("{}: {error}", session.display());
        let bytes = std::fs::read(session).map_err(failed)?;
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let header: Value =
            serde_json::from_slice(&bytes[..end]).map_err(|error| error.to_string())?;
        let mut header = header;
        header["cwd"] = folder.display().to_string().into();
        let bytes = [header.to_string().as_bytes(), &bytes[end..]].concat();
        Ok(Self {
            bytes,
            path: folder.join("large.jsonl"),
        })
    }

    /// Returns the path of a new copy.
    fn path(&self) -> Outcome<String> {
        std::fs::write(&self.path, &self.bytes).map_err(|error| error.to_string())?;
        Ok(self.path.display().to_string())
    }
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn own(program: &Path, folder: &Path, session: &Copied) -> Outcome<Vec<Vec<String>>> {
    let server = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = server.local_addr().map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        for stream in server.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    let base = format!("http://{address}/v1");
    let model = [
        "--model",
        "openai/any",
        "--wire",
        "chat",
        "--base-url",
        &base,
    ];
    let arguments = [&model[..], &["--window", "1000000"]].concat();
    let start = |more: &[&str]| Terminal::start(program, folder, &[&arguments[..], more].concat());
    let (mut first, mut large, mut tree) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut terminal = start(&["--no-session"])?;
        first.push(terminal.wait_for(READY)?);
        drop(terminal);
        let mut terminal = start(&["--session", &session.path()?])?;
        large.push(terminal.wait_for(READY)?);
        // What was told before is printed once it is read.
        terminal.let_pass(SETTLE);
        terminal.press("/tree\r")?;
        tree.push(terminal.wait_for("enter go")?);
    }
    let mut terminal = start(&["--no-session"])?;
    terminal.wait_for(READY)?;
    terminal.let_pass(SETTLE);
    let before = busy(terminal.process()).ok_or("the time of a process is not known here")?;
    std::thread::sleep(IDLE);
    let after = busy(terminal.process()).ok_or("the program has ended")?;
    let share = (after - before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    let mut keys = keys(&mut terminal)?;
    keys.sort_unstable();
    let slow = keys[keys.len() * 99 / 100];
    let middle = keys[keys.len() / 2];
    Ok(vec![
        row(
            "first screen of the program",
            millis(median(first)),
            "50 ms",
        ),
        row("first screen of a session", millis(median(large)), "150 ms"),
        row("`/tree` of the session", millis(median(tree)), "100 ms"),
        row("key press to screen, 50th percentile", millis(middle), "-"),
        row(
            "key press to screen, 99th percentile",
            millis(slow),
            "16 ms",
        ),
        row("processor while idle", format!("{share:.1}%"), "1%"),
    ])
}

/// Measures the first screens of a peer.
fn of_peer(peer: &Peer, folder: &Path, session: &Copied) -> Outcome<Vec<Vec<String>>> {
    let (program, before) = &peer.command;
    let first_screen = |more: &[&str]| {
        let before = before.iter().map(String::as_str);
        let arguments: Vec<&str> = before.chain(more.iter().copied()).collect();
        Terminal::start(program, folder, &arguments)?.wait_for(peer.ready)
    };
    let (mut first, mut large) = (Vec::new(), Vec::new());
    for _ in 0..PEER_RUNS {
        first.push(first_screen(&["--no-session"])?);
        large.push(first_screen(&[peer.session, &session.path()?])?);
    }
    let name = peer.name;
    let shown = |what: &str, times| row(&format!("{name}: {what}"), millis(median(times)), "-");
    Ok(vec![
        shown("first screen of the program", first),
        shown("first screen of the session", large),
    ])
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Presses keys while an answer streams in; returns how long each took to be seen.
fn keys(terminal: &mut Terminal) -> Outcome<Vec<Duration>> {
    terminal.press("go\r")?;
    terminal.wait_for("type to steer")?;
    let mut times = Vec::new();
    let mut typed = String::new();
    for number in 0..KEYS {
        if typed.len() == 60 {
            // Ctrl+U empties the line.
            terminal.press("\u{15}")?;
            typed.clear();
            terminal.wait_for("type to steer")?;
        }
        let letter = char::from(b'a' + u8::try_from(number * 7 % 26).unwrap_or_default());
        typed.push(letter);
        terminal.press(&letter.to_string())?;
        times.push(terminal.wait_for(&format!("> {typed}"))?);
        terminal.let_pass(BETWEEN);
    }
    Ok(times)
}

/// Answers one request with a stream of tokens that never ends before its reader.
fn answer(mut stream: TcpStream) {
    let mut request = [0; 64 * 1024];
    let _ = stream.read(&mut request);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut sent = stream.write_all(head.as_bytes());
    let mut number = 0;
    while sent.is_ok() {
        number += 1;
        let end = if number % 60 == 0 { "\\n\\n" } else { " " };
        let event = format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"word{number}{end}\"}}}}]}}\n\n"
        );
        sent = stream
            .write_all(event.as_bytes())
            .and_then(|()| stream.flush());
        std::thread::sleep(TOKEN);
    }
}

/// A program in a pseudo terminal.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    /// When the program was started, or a key pressed.
    since: Instant,
}

impl Terminal {
    fn start(program: &Path, folder: &Path, arguments: &[&str]) -> Outcome<Self> {
        let (rows, cols) = SIZE;
        let size = PtySize {
            rows,
            cols,
            ..PtySize::default()
        };
        let failed = |error: &dyn std::fmt::Display| format!("no pseudo terminal: {error}");
        let pair = native_pty_system()
            .openpty(size)
            .map_err(|error| failed(&error))?;
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        command.env("HOME", folder);
        command.env("AGENT_CLI_CONFIG_DIR", folder.join("no-settings"));
        command.env("OPENAI_API_KEY", "none");
        let since = Instant::now();
        let child = pair
            .slave
            .spawn_command(command)
            .map_err(|error| failed(&error))?;
        drop(pair.slave);
        let mut reader = pair
            .master
            .try_clone_reader()
            .map_err(|error| failed(&error))?;
        let keys = pair.master.take_writer().map_err(|error| failed(&error))?;
        let (sender, output) = channel();
        std::thread::spawn(move || {
            // The terminal stays until nobody reads it any more.
            let _master = pair.master;
            let mut buffer = [0; 16 * 1024];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
        Ok(Self {
            child,
            keys,
            output,
            parser: vt100::Parser::new(cells(rows), cells(cols), 0),
            since,
        })
    }

    fn process(&self) -> u32 {
        self.child.process_id().unwrap_or_default()
    }

    fn press(&mut self, keys: &str) -> Outcome {
        self.since = Instant::now();
        let sent = self.keys.write_all(keys.as_bytes());
        sent.and_then(|()| self.keys.flush())
            .map_err(|error| error.to_string())
    }

    /// Takes in what was written, for at most so long; returns whether there was anything.
    fn take(&mut self, patience: Duration) -> Outcome<bool> {
        let bytes = match self.output.recv_timeout(patience) {
            Ok(bytes) => bytes,
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => return Err(self.gone()),
        };
        self.parser.process(&bytes);
        if bytes.windows(4).any(|part| part == b"\x1b[6n") {
            let (row, column) = self.parser.screen().cursor_position();
            let place = format!("\x1b[{};{}R", row + 1, column + 1);
            let sent = self.keys.write_all(place.as_bytes());
            sent.and_then(|()| self.keys.flush())
                .map_err(|error| error.to_string())?;
        }
        Ok(true)
    }

    fn gone(&self) -> String {
        format!(
            "the program has ended:\n{}",
            self.parser.screen().contents()
        )
    }

    /// Waits until a text is on the screen; returns how long that took.
    fn wait_for(&mut self, text: &str) -> Outcome<Duration> {
        while !self.parser.screen().contents().contains(text) {
            let left = PATIENCE.saturating_sub(self.since.elapsed());
            if left.is_zero() || !self.take(left)? {
                let screen = self.parser.screen().contents();
                return Err(format!("{text} does not come:\n{screen}"));
            }
        }
        Ok(self.since.elapsed())
    }

    /// Lets time pass, and takes in what is written meanwhile.
    fn let_pass(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            let _ = self.take(left);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // What is measured is over.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns how long a process has been on processors, where the system tells: in hundredths of a second.
fn busy(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut ticks = numbers.split_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    Some(Duration::from_millis(10 * (user + system)))
}
