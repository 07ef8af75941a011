//! The loop between the terminal and the session: inputs become changes of the state, actions become commands.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use agent_session::BuiltSession;
use crossterm::event::{Event, poll, read};
use futures_util::future::join;
use ratatui::layout::Size;
use session_protocol::{EventReceiver, SessionHandle};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, sleep_until};

use crate::driver::{Driver, Ended, Options};
use crate::screen::Screen;
use crate::state::Input;

/// How long keys are waited for before it is looked whether anybody still wants them.
const LISTEN: Duration = Duration::from_millis(100);

/// The shortest time between two frames that nobody's key asked for.
const FRAME: Duration = Duration::from_millis(33);

/// How often what changes with time is drawn.
const BEAT: Duration = Duration::from_millis(250);

/// Runs a session in the terminal until the user leaves.
///
/// # Errors
/// The terminal cannot be read or written.
pub async fn run(
    session: BuiltSession,
    handle: SessionHandle,
    events: EventReceiver,
    options: Options,
) -> io::Result<Ended> {
    if options.plain {
        return crate::plain::run(session, handle, events, options).await;
    }
    let (columns, rows) = crossterm::terminal::size()?;
    let screen = Screen::open()?;
    let keys = Keys::listen()?;
    let mut driver = Driver::new(&session, handle, options, Size::new(columns, rows));
    let drive = async {
        let driven = drive(&mut driver, events, keys, screen).await;
        // Whatever ended it, the session ends too.
        driver.handle.close();
        driven
    };
    let (finished, driven) = join(session.run(), drive).await;
    driven?;
    Ok(driver.ended(finished))
}

/// What comes from the terminal, read on another thread until this is dropped.
struct Keys {
    inputs: Receiver<io::Result<Input>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

impl Keys {
    /// Reads the terminal. The thread holds the terminal's answers only for moments, so that others can wait for one.
    fn listen() -> io::Result<Self> {
        let (sender, inputs) = channel(1024);
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let thread = std::thread::Builder::new().name("keys".to_owned());
        let thread = thread.spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let next = match poll(LISTEN) {
                    Ok(false) => continue,
                    Ok(true) => read(),
                    Err(error) => Err(error),
                };
                let is_last = next.is_err();
                let input = match next {
                    Ok(Event::Key(key)) => Ok(Input::Key(key)),
                    Ok(Event::Paste(text)) => Ok(Input::Paste(text)),
                    Ok(Event::Resize(columns, rows)) => Ok(Input::Resize(Size::new(columns, rows))),
                    Ok(_) => continue,
                    Err(error) => Err(error),
                };
                if sender.blocking_send(input).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self {
            inputs,
            is_over,
            thread,
        })
    }

    /// Waits until nobody reads the terminal any more; what was read and not taken is gone.
    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.inputs.close();
        while !self.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

async fn drive(
    driver: &mut Driver,
    mut events: EventReceiver,
    mut keys: Keys,
    mut screen: Screen,
) -> io::Result<()> {
    let cancel = driver.cancel.clone();
    let mut drawn = Instant::now();
    let mut due = Some(drawn);
    let mut listens = true;
    driver.open();
    loop {
        if let Some(outside) = driver.outside.take() {
            keys.stop();
            screen.leave(&mut driver.state)?;
            let input = outside.wait().await;
            let size = screen.come_back()?;
            keys = Keys::listen()?;
            driver.input(Input::Resize(size));
            if let Some(input) = input {
                driver.input(input);
            }
            due = Some(Instant::now());
        }
        tokio::select! {
            biased;
            key = keys.inputs.recv(), if listens => {
                match key {
                    Some(Ok(input)) => {
                        if let Input::Resize(_) = &input {
                            screen.resized();
                        }
                        driver.input(input);
                    }
                    // Nobody is there any more.
                    Some(Err(_)) | None => {
                        listens = false;
                        driver.handle.close();
                    }
                }
                due = Some(Instant::now());
            }
            () = sleep_until(due.unwrap_or(drawn)), if due.is_some() => {
                driver.input(Input::Tick(driver.started.elapsed()));
                screen.draw(&mut driver.state)?;
                drawn = Instant::now();
                due = driver.state.is_moving().then(|| drawn + BEAT);
            }
            event = events.recv() => {
                let Some(event) = event else { break };
                driver.input(Input::Session(event));
                while let Some(event) = events.try_recv() {
                    driver.input(Input::Session(event));
                }
                due = Some(sooner(due, drawn + FRAME));
            }
            input = driver.finished(), if !driver.pending.is_empty() => {
                driver.input(input);
                due = Some(sooner(due, drawn + FRAME));
            }
            () = cancel.cancelled(), if !driver.state.is_closing => {
                driver.stop();
            }
        }
    }
    screen.close(&mut driver.state)
}

fn sooner(due: Option<Instant>, at: Instant) -> Instant {
    due.map_or(at, |due| due.min(at))
}
