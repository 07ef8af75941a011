//! The terminal as a person meets it: how long the first screens take, how soon a key is seen while an answer streams
//! in, and what it costs to leave it alone. The program runs in a pseudo terminal.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use test_support::pty::{PATIENCE, Pty, USUAL as SIZE};

use super::table::Table;
use crate::integrations;
use crate::run::{Outcome, target};

/// The number of measurements of each first screen; the median counts.
const RUNS: usize = 7;

/// The same for peers, which take seconds.
const PEER_RUNS: usize = 3;

/// The idle time after a program's first screen.
const SETTLE: Duration = Duration::from_millis(1000);

/// The number of keys pressed while an answer streams in.
const KEYS: usize = 400;

/// The time between two keys.
const BETWEEN: Duration = Duration::from_millis(23);

/// Between two tokens of the answer: 200 a second.
const TOKEN: Duration = Duration::from_millis(5);

/// For how long the program is left alone.
const IDLE: Duration = Duration::from_secs(10);

/// The text of the empty editor.
const READY: &str = "ask something";

/// A peer that opens the same session in a terminal.
struct Peer {
    name: &'static str,
    /// The program, and the first of its arguments.
    command: (PathBuf, Vec<String>),
    /// The argument that names a session.
    session: &'static str,
    /// The text at the bottom of its first screen.
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

/// The load of the machine over a minute, if it is known.
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

/// A session that is copied for each run, to an existing folder.
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
        header["cwd"] = folder.join("work").display().to_string().into();
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
        let terminal = start(&["--no-session"]);
        first.push(terminal.wait_for(READY)?);
        drop(terminal);
        let mut terminal = start(&["--session", &session.path()?]);
        large.push(terminal.wait_for(READY)?);
        // Earlier output is printed once it is read.
        std::thread::sleep(SETTLE);
        terminal.press("/tree\r");
        tree.push(terminal.wait_for("enter go")?);
    }
    let mut terminal = start(&["--no-session"]);
    terminal.wait_for(READY)?;
    std::thread::sleep(SETTLE);
    let before = terminal.busy()?;
    std::thread::sleep(IDLE);
    let after = terminal.busy()?;
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
        Terminal::start(program, folder, &arguments).wait_for(peer.ready)
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
    terminal.press("go\r");
    terminal.wait_for("type to steer")?;
    let mut times = Vec::new();
    let mut typed = String::new();
    for number in 0..KEYS {
        if typed.len() == 60 {
            // Ctrl+U empties the line.
            terminal.press("\u{15}");
            typed.clear();
            terminal.wait_for("type to steer")?;
        }
        let letter = char::from(b'a' + u8::try_from(number * 7 % 26).unwrap_or_default());
        typed.push(letter);
        terminal.press(&letter.to_string());
        times.push(terminal.wait_for(&format!("> {typed}"))?);
        std::thread::sleep(BETWEEN);
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

/// A program in a pseudo terminal, and when it was started or a key pressed.
struct Terminal {
    pty: Pty,
    since: Instant,
}

impl Terminal {
    fn start(program: &Path, folder: &Path, arguments: &[&str]) -> Self {
        let settings = folder.join("no-settings").display().to_string();
        let variables = [
            ("AGENT_CLI_CONFIG_DIR", settings.as_str()),
            ("OPENAI_API_KEY", "none"),
        ];
        let since = Instant::now();
        let pty = Pty::start(program, arguments, folder, SIZE, &variables);
        Self { pty, since }
    }

    fn press(&mut self, keys: &str) {
        self.since = Instant::now();
        self.pty.send(keys);
    }

    /// Waits until a text is on the screen; returns how long that took.
    fn wait_for(&self, text: &str) -> Outcome<Duration> {
        match self.pty.screen_that(|shown| shown.contains(text), PATIENCE) {
            true => Ok(self.since.elapsed()),
            false => Err(format!("{text} does not come:\n{}", self.pty.screen())),
        }
    }

    /// Returns how long the process has been on processors.
    fn busy(&self) -> Outcome<Duration> {
        let busy = self.pty.process().and_then(busy);
        busy.ok_or_else(|| "the time of a process is not known here".to_owned())
    }
}

/// Returns the processor time of a process, if the system reports it: in hundredths of a second.
fn busy(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut ticks = numbers.split_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    Some(Duration::from_millis(10 * (user + system)))
}
