//! Asking at the terminal whether a call may run.
//!
//! Lines are read by a thread of their own, so that nobody waits for it: whoever ends the program ends it too. A line
//! answers the question that was on the screen when its reading began, and no other.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};

use tokio::sync::mpsc::{Receiver, channel};

use crate::ui::{BOLD, DIM, WARN, clean, styled};
use agent_tools::approval::Decision;
use session_model::text::{head_and_tail, reveal};
use session_protocol::event::SessionEvent;

/// How many characters of what would run are shown before somebody asks for all.
const SHOWN: usize = 4_000;

/// Reads one line; none at the end of the input.
type ReadLine = Box<dyn FnMut() -> io::Result<Option<String>> + Send>;

/// Asks one question after the other.
pub(super) struct Asker {
    /// The questions, the one that is on the screen first.
    questions: VecDeque<Asked>,
    /// How many questions there have been.
    count: u64,
    /// The question for which a line is being read.
    reading: Option<u64>,
    tell: Box<dyn FnMut(&str)>,
    wanted: SyncSender<u64>,
    lines: Receiver<(u64, Option<String>)>,
}

/// A question.
struct Asked {
    number: u64,
    call_id: String,
    tool: String,
    subject: String,
}

impl Asker {
    /// Returns one that asks on standard error and reads standard input.
    pub fn at_terminal() -> io::Result<Self> {
        let read = || {
            let mut line = String::new();
            let count = io::stdin().read_line(&mut line)?;
            Ok((count > 0).then_some(line))
        };
        let tell = |text: &str| {
            use io::Write;
            let mut out = anstream::stderr();
            // Where nobody can be asked, nobody answers either.
            let _ = write!(out, "{text}").and_then(|()| out.flush());
        };
        Self::new(Box::new(read), Box::new(tell))
    }

    fn new(mut read: ReadLine, tell: Box<dyn FnMut(&str)>) -> io::Result<Self> {
        // One line is read at a time.
        let (wanted, wants) = sync_channel(1);
        let (sender, lines) = channel(1);
        let reader = std::thread::Builder::new().name("answers".to_owned());
        reader.spawn(move || {
            for number in wants {
                let line = read().unwrap_or_default();
                if sender.blocking_send((number, line)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            questions: VecDeque::new(),
            count: 0,
            reading: None,
            tell,
            wanted,
            lines,
        })
    }

    /// Takes an event of the session, and asks what has to be asked.
    pub fn observe(&mut self, event: &SessionEvent) {
        if let SessionEvent::ApprovalRequest {
            call_id,
            tool,
            subject,
        } = event
        {
            self.count += 1;
            self.questions.push_back(Asked {
                number: self.count,
                call_id: call_id.clone(),
                tool: tool.clone(),
                subject: subject.clone(),
            });
            if self.questions.len() == 1 {
                self.ask();
            }
        } else if let SessionEvent::ApprovalEnd { call_id, decision } = event {
            let mut questions = self.questions.iter();
            let Some(place) = questions.position(|asked| asked.call_id == *call_id) else {
                return;
            };
            self.questions.remove(place);
            if place == 0 {
                if decision.is_none() {
                    (self.tell)("\n");
                }
                self.ask();
            }
        }
    }

    /// Waits for the answer to the question that is on the screen: its call, and the decision.
    pub async fn answer(&mut self) -> (String, Decision) {
        loop {
            let Some((number, line)) = self.lines.recv().await else {
                // Without a reader there is no answer.
                return std::future::pending().await;
            };
            self.reading = None;
            let Some(asked) = self.questions.front() else {
                continue;
            };
            if asked.number != number {
                // That was for another question.
                self.ask();
                continue;
            }
            let line = line.as_deref();
            match line.map_or(Some(Decision::Deny), Decision::typed) {
                Some(decision) => return (asked.call_id.clone(), decision),
                None if line.is_some_and(|line| line.trim() == "s") => {
                    let text = question(asked, usize::MAX);
                    (self.tell)(&text);
                    self.read();
                }
                None => self.read(),
            }
        }
    }

    /// Puts the first question on the screen.
    fn ask(&mut self) {
        if let Some(asked) = self.questions.front() {
            let text = question(asked, SHOWN);
            (self.tell)(&text);
            self.read();
        }
    }

    /// Has the answer to the first question read, unless a line is being read already.
    fn read(&mut self) {
        let Some(number) = self.questions.front().map(|asked| asked.number) else {
            return;
        };
        (self.tell)("allow? y once, n no, a always here, v never here: ");
        if self.reading.is_none() && self.wanted.try_send(number).is_ok() {
            self.reading = Some(number);
        }
    }
}

/// Returns what is to be allowed, for the screen; of more than `most` characters its beginning and its end.
fn question(asked: &Asked, most: usize) -> String {
    let head = styled(BOLD, &format!("{} wants to run:", clean(&asked.tool)));
    let lines = |text: &str| -> String {
        let text = reveal(text);
        text.lines().map(|line| format!("  {line}\n")).collect()
    };
    let subject = match head_and_tail(&asked.subject, most) {
        None => lines(&asked.subject),
        Some((head, left_out, tail)) => {
            let gap = format!("  ... {left_out} characters are left out here, s shows all\n");
            lines(head) + &styled(WARN, &gap) + &lines(tail)
        }
    };
    let warning = match reveal(&asked.subject) == asked.subject {
        true => String::new(),
        false => styled(
            WARN,
            "  warning: unseen characters are written as \\u{...}\n",
        ),
    };
    let hint = styled(
        DIM,
        "always and never hold for exactly this, in this project",
    );
    format!("{head}\n{subject}{warning}{hint}\n")
}

#[cfg(test)]
mod tests;
