//! Runs a command hook: the group of processes, input, output, and limits.

use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use super::answer::HookAnswer;
use super::end::CommandEnd;
use super::{CommandHook, HookCommand, OnFailure};
use crate::hook::{HookContext, HookError};
use crate::payload::HookEvent;
use crate::process::{Pipes, Running, remove_secrets};

/// The most bytes that a hook may write to standard output.
pub(super) const OUTPUT: usize = 1024 * 1024;

/// The kept length of the end of a hook's standard error, in bytes.
pub(super) const ERRORS: usize = 4 * 1024;

/// The most characters of a reason.
const REASON: usize = 2_000;

/// How long processes that a hook left running may still write before they are killed.
const LEFTOVERS: Duration = Duration::from_millis(250);

/// How long output is read after the group was killed; only a process that left the group can still hold a pipe.
const REMAINS: Duration = Duration::from_millis(500);

/// The environment variable that contains the name of the point.
const POINT_VARIABLE: &str = "AGENT_CLI_HOOK";

/// One run of a command hook.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandRun {
    /// The end of the run.
    pub end: CommandEnd,
    /// The standard output, as far as it was read.
    pub stdout: Vec<u8>,
    /// The end of what it wrote to standard error, without control characters.
    pub stderr: String,
    /// The duration of the run.
    pub duration: Duration,
    /// The answer, or why the hook failed.
    pub outcome: Result<HookAnswer, HookError>,
}

impl CommandRun {
    /// Returns what it wrote to standard output, as people may see it: without control characters.
    pub fn stdout_text(&self) -> String {
        without_controls(&String::from_utf8_lossy(&self.stdout))
    }
}

/// The output that was read from a run.
#[derive(Default)]
struct ReadOutput {
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// Runs the hook, whether or not the event is one that it is for.
pub(super) async fn run(
    hook: &CommandHook,
    (event, document): (&HookEvent<'_>, String),
    context: &HookContext,
) -> CommandRun {
    let started = Instant::now();
    let mut read = ReadOutput::default();
    let end = match context.cancel.is_cancelled() {
        true => CommandEnd::Cancelled,
        false => execute(hook, (event, document), context, &mut read).await,
    };
    let stderr = without_controls(&String::from_utf8_lossy(&read.errors));
    let outcome = match outcome(&end, event, &read.output, &stderr) {
        Err(error) if hook.on_failure == OnFailure::Block && event.point().can_block() => Ok(
            HookAnswer::blocked(event.point(), Some(format!("the hook failed: {error}"))),
        ),
        outcome => outcome,
    };
    CommandRun {
        end,
        stdout: read.output,
        stderr,
        duration: started.elapsed(),
        outcome,
    }
}

async fn execute(
    hook: &CommandHook,
    (event, document): (&HookEvent<'_>, String),
    context: &HookContext,
    read: &mut ReadOutput,
) -> CommandEnd {
    let (running, pipes) = match start(hook, event, context) {
        Ok(started) => started,
        Err(why) => return CommandEnd::NotStarted(why),
    };
    let Pipes {
        input,
        mut output,
        mut errors,
    } = pipes;
    let mut running = running;
    let mut streams = Streams {
        output: &mut output,
        errors: &mut errors,
        read,
    };
    let end = {
        let writing = write(input, document);
        watch(&mut running, writing, &mut streams, hook.timeout, context).await
    };
    let end = match end {
        None => {
            let rest = timeout(LEFTOVERS, streams.read());
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => Some(CommandEnd::Cancelled),
                read = rest => read.ok().and_then(Read::too_much),
            }
        }
        killed => killed,
    };
    let status = running.kill_and_reap().await;
    let rest = timeout(REMAINS, streams.read());
    let rest = tokio::select! {
        biased;
        () = context.cancel.cancelled() => None,
        read = rest => read.ok().and_then(Read::too_much),
    };
    end.or(rest).unwrap_or_else(|| CommandEnd::of(status))
}

fn start(
    hook: &CommandHook,
    event: &HookEvent<'_>,
    context: &HookContext,
) -> Result<(Running, Pipes), String> {
    let (mut command, program) = command(&hook.command)?;
    if context.cwd != Path::new("") {
        if !context.cwd.is_dir() {
            return Err(format!(
                "cannot run in {}: there is no such folder",
                context.cwd.display()
            ));
        }
        command.current_dir(&context.cwd);
    }
    remove_secrets(&mut command, &hook.secret_variables);
    command.env(POINT_VARIABLE, event.point().name());
    Running::start_with_pipes(command).map_err(|error| format!("cannot run {program}: {error}"))
}

/// Returns what is started, and its name.
fn command(command: &HookCommand) -> Result<(Command, &str), String> {
    match command {
        HookCommand::Shell(line) => Ok(shell(line)),
        HookCommand::Program(words) => match words.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments);
                Ok((command, program))
            }
            None => Err("there is no program to run; name one in its command".to_owned()),
        },
    }
}

#[cfg(not(windows))]
fn shell(line: &str) -> (Command, &'static str) {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    (command, "sh")
}

#[cfg(windows)]
fn shell(line: &str) -> (Command, &'static str) {
    let mut command = Command::new("cmd");
    command.arg("/C").raw_arg(line);
    (command, "cmd")
}

/// Writes the document to the hook. A hook need not read all of it.
async fn write(mut input: ChildStdin, document: String) {
    let _ = input.write_all(document.as_bytes()).await;
    let _ = input.shutdown().await;
}

/// Returns why the hook was ended, or nothing when it ended by itself.
async fn watch(
    running: &mut Running,
    writing: impl Future<Output = ()>,
    streams: &mut Streams<'_>,
    limit: Duration,
    context: &HookContext,
) -> Option<CommandEnd> {
    let mut ended = pin!(running.ended());
    let mut expired = pin!(sleep(limit));
    let mut writing = pin!(writing);
    let mut reading = pin!(streams.read());
    let (mut writes, mut reads) = (true, true);
    loop {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Some(CommandEnd::Cancelled),
            () = &mut expired => return Some(CommandEnd::TimedOut(limit)),
            read = &mut reading, if reads => match read {
                Read::All => reads = false,
                Read::TooMuch => return Some(CommandEnd::TooMuchOutput),
            },
            () = &mut ended => return None,
            () = &mut writing, if writes => writes = false,
        }
    }
}

/// The streams of a hook, and the buffers for them.
struct Streams<'a> {
    output: &'a mut ChildStdout,
    errors: &'a mut ChildStderr,
    read: &'a mut ReadOutput,
}

/// The outcome of reading.
#[derive(Clone, Copy)]
enum Read {
    All,
    TooMuch,
}

impl Read {
    fn too_much(self) -> Option<CommandEnd> {
        match self {
            Self::All => None,
            Self::TooMuch => Some(CommandEnd::TooMuchOutput),
        }
    }
}

impl Streams<'_> {
    /// Reads both streams until every process has closed them, or until a limit is exceeded. It can be dropped and
    /// called again: nothing is lost.
    async fn read(&mut self) -> Read {
        let mut errors = pin!(read_errors(self.errors, &mut self.read.errors));
        let mut output = pin!(read_output(self.output, &mut self.read.output));
        let (mut said, mut complained) = (false, false);
        while !(said && complained) {
            tokio::select! {
                biased;
                read = &mut output, if !said => match read {
                    Read::All => said = true,
                    Read::TooMuch => return Read::TooMuch,
                },
                () = &mut errors, if !complained => complained = true,
            }
        }
        Read::All
    }
}

async fn read_output(from: &mut ChildStdout, output: &mut Vec<u8>) -> Read {
    let mut block = vec![0; 16 * 1024];
    while let Some(read) = next(from, &mut block).await {
        let left = OUTPUT - output.len();
        if read.len() > left {
            output.extend_from_slice(&read[..left]);
            return Read::TooMuch;
        }
        output.extend_from_slice(read);
    }
    Read::All
}

async fn read_errors(from: &mut ChildStderr, errors: &mut Vec<u8>) {
    let mut block = vec![0; 16 * 1024];
    while let Some(read) = next(from, &mut block).await {
        errors.extend_from_slice(read);
        let old = errors.len().saturating_sub(ERRORS);
        errors.drain(..old);
    }
}

/// Returns what comes next; nothing at the end.
async fn next<'a>(from: &mut (impl AsyncRead + Unpin), block: &'a mut [u8]) -> Option<&'a [u8]> {
    // A process that writes without end must not keep the other branches from being polled.
    tokio::task::yield_now().await;
    match from.read(block).await {
        Ok(0) | Err(_) => None,
        Ok(count) => Some(&block[..count]),
    }
}

/// Returns the outcome of a run.
fn outcome(
    end: &CommandEnd,
    event: &HookEvent<'_>,
    stdout: &[u8],
    stderr: &str,
) -> Result<HookAnswer, HookError> {
    let why = reason(stderr);
    match end {
        CommandEnd::Exited(0) => HookAnswer::read(event, stdout),
        CommandEnd::Exited(2) if event.point().can_block() => {
            Ok(HookAnswer::blocked(event.point(), why))
        }
        CommandEnd::NotStarted(_) | CommandEnd::Cancelled => Err(HookError(end.to_string())),
        CommandEnd::Exited(_)
        | CommandEnd::Signal(_)
        | CommandEnd::Unknown
        | CommandEnd::TimedOut(_)
        | CommandEnd::TooMuchOutput => Err(HookError(match why {
            Some(why) => format!("{end}: {why}"),
            None => end.to_string(),
        })),
    }
}

/// Returns a text for people: trimmed, without control characters, cut if long; `None` if it is empty.
pub(super) fn reason(text: &str) -> Option<String> {
    let text = without_controls(text.trim());
    let end = text.char_indices().nth(REASON);
    match (text.is_empty(), end) {
        (true, _) => None,
        (false, None) => Some(text),
        (false, Some((at, _))) => Some(format!("{}...", &text[..at])),
    }
}

/// Returns a text with every control character but newline and tab replaced.
fn without_controls(text: &str) -> String {
    let bad = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    text.replace("\r\n", "\n").replace(bad, "\u{fffd}")
}
