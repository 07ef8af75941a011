//! What a command does and how far it is: one line on standard error, if that is a terminal, once it works for longer than
//! a second. What is printed otherwise wipes the line first.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use session_model::SessionTree;

use crate::ui::{DIM, first_line, styled, width};

/// How long a command works before something is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the line changes.
const BEAT: Duration = Duration::from_millis(200);

static WORK: Mutex<Option<Work>> = Mutex::new(None);

/// How many bytes of a file were read.
static READ: AtomicU64 = AtomicU64::new(0);

/// A command at work.
struct Work {
    name: String,
    since: Instant,
    /// Says what it does and how far it is.
    step: Box<dyn Fn() -> String + Send>,
    shown: bool,
}

/// Shows what a command does until it is dropped.
pub struct Watched(());

/// Shows from now on what the command `name` does.
#[must_use]
pub fn watch(name: &str) -> Watched {
    if std::io::stderr().is_terminal() {
        *work() = Some(Work {
            name: name.to_owned(),
            since: Instant::now(),
            step: Box::new(String::new),
            shown: false,
        });
        let line = std::thread::Builder::new().name("progress".to_owned());
        // Without a thread nothing is shown, which stops no work.
        let _ = line.spawn(|| {
            std::thread::sleep(PATIENCE);
            while work().as_mut().map(Work::draw).is_some() {
                std::thread::sleep(BEAT);
            }
        });
    }
    Watched(())
}

impl Drop for Watched {
    fn drop(&mut self) {
        wipe();
        *work() = None;
    }
}

fn work() -> MutexGuard<'static, Option<Work>> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set(step: impl Fn() -> String + Send + 'static) {
    if let Some(work) = work().as_mut() {
        work.step = Box::new(step);
    }
}

/// Says what the command does now.
pub fn step(text: &str) {
    let text = text.to_owned();
    set(move || text.clone());
}

/// Says that the command reads a file of `total` bytes.
pub fn begin_bytes(total: u64) {
    READ.store(0, Ordering::Relaxed);
    set(move || {
        let read = READ.load(Ordering::Relaxed).min(total);
        format!("reading {}%", read * 100 / total.max(1))
    });
}

/// Counts bytes that were read.
pub fn add_bytes(bytes: usize) {
    READ.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Says that the command works on a session from now on.
pub fn begin_entries(tree: &SessionTree) {
    let (meter, entries) = (tree.meter().clone(), tree.len());
    set(move || meter.how_far(entries));
}

/// Takes the line away until it is drawn again.
pub fn wipe() {
    if let Some(work) = work().as_mut()
        && std::mem::take(&mut work.shown)
    {
        // What cannot be shown is no reason to stop.
        let _ = write!(anstream::stderr(), "\r\x1b[2K");
    }
}

impl Work {
    fn draw(&mut self) {
        let seconds = self.since.elapsed().as_secs();
        let text = format!(
            "{}  {}  {seconds} s  ctrl-c stops",
            self.name,
            (self.step)()
        );
        let text = styled(DIM, &first_line(&text, width().saturating_sub(1)));
        let drawn = write!(anstream::stderr(), "\r\x1b[2K{text}");
        self.shown = drawn.and_then(|()| std::io::stderr().flush()).is_ok();
    }
}
