//! Plain lines in place of a viewport: prompts are read a line at a time, finished blocks are printed. For
//! terminals that cannot move their cursor, and for screen readers.

use std::io::{self, BufRead, Write};

use agent_session::BuiltSession;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures_util::future::join;
use ratatui::layout::Size;
use session_model::text::reveal;
use session_protocol::Finished;
use session_protocol::{EventReceiver, SessionHandle};
use tokio::sync::mpsc::{Receiver, channel};

use crate::driver::{Driver, Ended, Options};
use crate::live::UNSEEN;
use crate::state::{ANSWERS, FullScreen, Input, State};
use crate::text::{columns, safe_line, safe_lines, text_of};

pub(crate) async fn run(
    session: BuiltSession,
    handle: SessionHandle,
    events: EventReceiver,
    options: Options,
) -> io::Result<Ended> {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    let mut driver = Driver::new(&session, handle, options, Size::new(columns, rows));
    let lines = listen()?;
    let drive = async {
        let driven = drive(&mut driver, events, lines).await;
        driver.handle.close();
        driven
    };
    let (finished, driven): (Finished, _) = join(session.run(), drive).await;
    driven?;
    Ok(driver.ended(finished))
}

/// Reads lines on another thread, which ends with the program.
fn listen() -> io::Result<Receiver<String>> {
    let (sender, lines) = channel(16);
    std::thread::Builder::new()
        .name("lines".to_owned())
        .spawn(move || {
            for line in io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
    Ok(lines)
}

async fn drive(
    driver: &mut Driver,
    mut events: EventReceiver,
    mut lines: Receiver<String>,
) -> io::Result<()> {
    let cancel = driver.cancel.clone();
    let mut shown = Shown::default();
    let mut listens = true;
    driver.open();
    loop {
        shown.print(&mut driver.state)?;
        tokio::select! {
            line = lines.recv(), if listens => match line {
                Some(line) => type_line(driver, &mut shown, &line),
                None => {
                    listens = false;
                    driver.handle.close();
                }
            },
            event = events.recv() => {
                let Some(event) = event else { break };
                driver.input(Input::Session(event));
            }
            input = driver.finished() => driver.input(input),
            () = cancel.cancelled(), if !driver.state.is_closing => {
                driver.stop();
            }
        }
    }
    shown.print(&mut driver.state)
}

/// Does what keys would do: a line answers a question, or is a prompt.
fn type_line(driver: &mut Driver, shown: &mut Shown, line: &str) {
    // The user's line break ends the line.
    shown.waits = false;
    driver.state.editor.set_text(line.trim_end());
    driver.input(Input::Key(KeyEvent::new(
        KeyCode::Enter,
        KeyModifiers::NONE,
    )));
}

/// What was printed of what changes.
#[derive(Default)]
struct Shown {
    asked: Option<String>,
    /// The line ends in the mark that something can be typed.
    waits: bool,
}

impl Shown {
    fn print(&mut self, state: &mut State) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let lines = state.take_unprinted();
        if self.waits && (!lines.is_empty() || state.full.is_some()) {
            self.waits = false;
            writeln!(out)?;
        }
        for line in lines {
            writeln!(out, "{}", text_of(&line))?;
        }
        match state.full.take() {
            Some(FullScreen::Page(pager)) => {
                writeln!(out, "{}", pager.title)?;
                for line in &pager.lines {
                    writeln!(out, "{}", text_of(line))?;
                }
            }
            Some(FullScreen::Tree(tree)) => {
                let drawn = tree.draw(state.width(), tree.len() + 4, state.theme);
                for line in drawn.rows.iter().filter(|line| columns(&text_of(line)) > 0) {
                    writeln!(out, "{}", text_of(line))?;
                }
            }
            Some(FullScreen::Picker(picker)) => {
                let (title, lines, _) = picker.draw(state.width(), picker.len() + 3, state.theme);
                for line in std::iter::once(&title).chain(&lines) {
                    writeln!(out, "{}", text_of(line).trim_end())?;
                }
            }
            // In plain lines nothing is previewed or reviewed on a screen.
            Some(FullScreen::Preview(_) | FullScreen::Review(_)) | None => {}
        }
        let asked = state.approvals.front();
        if asked.map(|asked| &asked.call_id) != self.asked.as_ref() {
            self.asked = asked.map(|asked| asked.call_id.clone());
            if let Some(asked) = asked {
                writeln!(out, "{} wants to run:", safe_line(&asked.tool))?;
                let subject = reveal(&asked.subject);
                for line in safe_lines(&subject) {
                    writeln!(out, "  {line}")?;
                }
                if subject != asked.subject {
                    writeln!(out, "{UNSEEN}")?;
                }
                let answers = ANSWERS.map(|(_, answer)| answer).join(", ");
                writeln!(out, "allow? {answers}")?;
            }
        }
        let rests = state.approvals.is_empty() && !state.is_moving() && !state.is_closing;
        if rests && !self.waits {
            self.waits = true;
            write!(out, "> ")?;
        }
        out.flush()
    }
}
