//! A pseudo terminal with a program in it.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// The time limit for output that is expected immediately.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a key may take to show an effect before it is pressed again.
const AGAIN: Duration = Duration::from_secs(2);

/// How long a screen must stay unchanged to count as complete.
const QUIET: Duration = Duration::from_millis(600);

/// A terminal as most people have one.
pub const USUAL: (u16, u16) = (80, 24);

fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

fn nonzero(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a size")
}

/// A terminal, and the program that runs in it.
pub struct Pty {
    child: Box<dyn Child + Send + Sync>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    screen: Arc<(Mutex<Screen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    terminal: Box<dyn MasterPty + Send>,
}

/// The contents of the terminal.
struct Screen {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pty {
    /// Starts a program in a terminal of so many columns and rows, with these variables; its home is `folder`, and its
    /// working folder `work` in it.
    pub fn start(
        program: impl AsRef<OsStr>,
        arguments: &[&str],
        folder: &Path,
        (cols, rows): (u16, u16),
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        let work = folder.join("work");
        std::fs::create_dir_all(&work).expect("a folder");
        let pair = native_pty_system()
            .openpty(size((cols, rows)))
            .expect("a terminal");
        command.cwd(&work);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", folder);
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).expect("the program");
        drop(pair.slave);
        let keys = pair.master.take_writer().expect("keys");
        let keys = Arc::new(Mutex::new(keys));
        let screen = Screen {
            parser: vt100::Parser::new(nonzero(rows), nonzero(cols), 2_000),
            raw: Vec::new(),
        };
        let screen = Arc::new((Mutex::new(screen), Condvar::new()));
        let reader = pair.master.try_clone_reader().expect("a screen");
        let reader = Some(read(reader, screen.clone(), keys.clone()));
        Self {
            child,
            keys,
            screen,
            reader,
            terminal: pair.master,
        }
    }

    /// Returns the number of the process.
    pub fn process(&self) -> Option<u32> {
        self.child.process_id()
    }

    /// Presses keys.
    pub fn send(&mut self, keys: &str) {
        let mut writer = lock(&self.keys);
        writer.write_all(keys.as_bytes()).expect("keys");
        writer.flush().expect("keys");
    }

    /// Presses keys until one of the texts is on the screen; those that were pressed too often are no prompt.
    pub fn send_until(&mut self, keys: &str, texts: &str) {
        for _ in 0..30 {
            self.send(keys);
            if self.shows(texts, AGAIN) {
                self.send("\u{15}");
                return;
            }
        }
        panic!("{texts} does not come:\n{}", self.transcript());
    }

    /// Waits until one of the texts, which are separated by `|`, is on the screen.
    pub fn wait_for(&self, texts: &str) {
        let found = self.shows(texts, PATIENCE);
        assert!(found, "{texts} does not come:\n{}", self.transcript());
    }

    fn shows(&self, texts: &str, patience: Duration) -> bool {
        self.screen_that(
            |shown| texts.split('|').any(|text| shown.contains(text)),
            patience,
        )
    }

    /// Waits for a screen of which something holds; returns whether it came.
    pub fn screen_that(&self, holds: impl Fn(&str) -> bool, patience: Duration) -> bool {
        let (screen, changed) = &*self.screen;
        let is_missing = |screen: &mut Screen| !holds(&screen.parser.screen().contents());
        let waited = changed.wait_timeout_while(lock(screen), patience, is_missing);
        let (screen, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(screen);
        !waited.timed_out()
    }

    /// Waits until the last line of the screen is this, such as the prompt of a shell that has ended a command.
    pub fn wait_for_last_line(&self, line: &str) {
        let is_last =
            |shown: &str| shown.trim_end().lines().last().map(str::trim_end) == Some(line);
        let found = self.screen_that(is_last, PATIENCE);
        assert!(found, "{}", self.transcript());
    }

    /// Returns everything that was printed, the scrollback included.
    pub fn transcript(&self) -> String {
        let mut screen = lock(&self.screen.0);
        let (rows, cols) = screen.parser.screen().size();
        let (rows, cols) = (usize::from(rows.get()), cols.get());
        screen.parser.screen_mut().set_scrollback(usize::MAX);
        let mut at = screen.parser.screen().scrollback();
        let mut lines: Vec<String> = Vec::new();
        loop {
            let shown = screen.parser.screen().rows(0, cols);
            let shown: Vec<String> = shown.collect();
            let next = at.saturating_sub(rows);
            lines.extend(
                shown
                    .into_iter()
                    .take(if at == 0 { rows } else { at - next }),
            );
            if at == 0 {
                break;
            }
            at = next;
            screen.parser.screen_mut().set_scrollback(at);
        }
        lines.join("\n")
    }

    /// Gives the terminal another size, once it shows what was written for the old one.
    pub fn resize(&mut self, rows: u16, cols: u16) {
        self.screen();
        let parser = &mut lock(&self.screen.0).parser;
        parser.screen_mut().set_size(nonzero(rows), nonzero(cols));
        self.terminal
            .resize(size((cols, rows)))
            .expect("another size");
    }

    /// Returns the contents of the terminal once they no longer change: figures are drawn after the text that they
    /// belong to.
    pub fn screen(&self) -> String {
        let (screen, changed) = &*self.screen;
        let mut shown = lock(screen);
        let mut before = None;
        while before.as_ref() != Some(&shown.parser.screen().contents()) {
            let now = shown.parser.screen().contents();
            let is_same = |screen: &mut Screen| screen.parser.screen().contents() == now;
            let waited = changed.wait_timeout_while(shown, QUIET, is_same);
            shown = waited.unwrap_or_else(PoisonError::into_inner).0;
            before = Some(now);
        }
        drop(shown);
        lock(&self.screen.0).parser.screen().contents()
    }

    /// Returns what of the terminal is not as a shell wants it. What was written last may not be read yet: it is waited
    /// for.
    pub fn left_behind(&self) -> Vec<&'static str> {
        let left = |screen: &Screen| {
            let screen = screen.parser.screen();
            let states = [
                (screen.alternate_screen(), "alternate screen"),
                (screen.bracketed_paste(), "bracketed paste"),
                (screen.hide_cursor(), "hidden cursor"),
            ];
            let left = states.into_iter().filter(|(is_set, _)| *is_set);
            left.map(|(_, name)| name).collect::<Vec<_>>()
        };
        let (screen, changed) = &*self.screen;
        let is_left = |screen: &mut Screen| !left(screen).is_empty();
        let waited = changed.wait_timeout_while(lock(screen), PATIENCE, is_left);
        left(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Returns every byte that was written, as text.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&lock(&self.screen.0).raw).into_owned()
    }

    /// Waits for the end of the program, and for what it wrote last.
    pub fn exit_code(&mut self) -> u32 {
        let code = self.child.wait().expect("an end").exit_code();
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the last lines");
        }
        code
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
    }
}

/// Reads the output into the screen, and answers requests for the cursor position.
fn read(
    mut reader: Box<dyn Read + Send>,
    screen: Arc<(Mutex<Screen>, Condvar)>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count) = reader.read(&mut buffer) {
            if count == 0 {
                return;
            }
            let bytes = &buffer[..count];
            let mut shown = lock(&screen.0);
            shown.parser.process(bytes);
            shown.raw.extend_from_slice(bytes);
            let (row, column) = shown.parser.screen().cursor_position();
            drop(shown);
            screen.1.notify_all();
            if bytes.windows(4).any(|part| part == b"\x1b[6n") {
                let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                let mut keys = lock(&keys);
                let _ = keys
                    .write_all(answer.as_bytes())
                    .and_then(|()| keys.flush());
            }
        }
    })
}
