//! `bash`: a shell command in the workspace.

use std::io;
use std::num::NonZeroU64;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use hooks::process::{Running, remove_secrets};
use llm_providers::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStdout, Command};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::arguments::{parse, schema};
use super::capture::Capture;
use crate::context::{ToolContext, ToolLimits};
use crate::output::ToolOutput;
use crate::tool::{Tool, ToolKind, ToolMeta};

/// How long processes that a command left running may still write before they are killed.
const LEFTOVERS: Duration = Duration::from_millis(250);

/// How long output is read after the group was killed; only a process that left the group can still hold the pipe.
const REMAINS: Duration = Duration::from_millis(40);

/// The tool.
pub(super) struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command.
    command: String,
    /// How long it may run, in seconds. Without it, as long as the settings say.
    timeout_seconds: Option<NonZeroU64>,
    /// What it is for, in a few words, for whoever is asked to allow it.
    #[expect(
        dead_code,
        reason = "shown by those who ask, from the arguments as they came"
    )]
    description: Option<String>,
}

impl Tool for Bash {
    fn name(&self) -> &str {
        "bash"
    }

    fn description(&self) -> &str {
        "Runs a shell command in the workspace and returns what it writes, errors included. There is no \
         input. Start nothing that is to go on in the background: its group of processes is killed at its \
         end. Of long output the beginning and the end are shown, and the file with the rest is named."
    }

    fn parameters(&self) -> Value {
        schema::<Arguments>()
    }

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            kind: ToolKind::Execute,
            ..ToolMeta::UNKNOWN
        }
    }

    fn approval_subject(&self, arguments: &Value) -> Option<String> {
        // A call that cannot run gets an error instead.
        let arguments = parse::<Arguments>(arguments).ok()?;
        Some(arguments.command)
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let ready = parse::<Arguments>(arguments).and_then(|arguments| {
                let limit = time_limit(arguments.timeout_seconds, &context.limits)?;
                check_command(&arguments.command)?;
                Ok((arguments.command, limit))
            });
            match ready {
                Ok((command, limit)) => run(&command, limit, context).await,
                Err(message) => ToolOutput::error(message),
            }
        })
    }
}

fn time_limit(asked: Option<NonZeroU64>, limits: &ToolLimits) -> Result<Duration, String> {
    let most = limits.bash_timeout_most;
    match asked.map(|seconds| Duration::from_secs(seconds.get())) {
        None => Ok(limits.bash_timeout),
        Some(limit) if limit <= most => Ok(limit),
        Some(limit) => Err(format!(
            "timeout_seconds: {} is more than {}; run something shorter",
            limit.as_secs(),
            most.as_secs()
        )),
    }
}

fn check_command(command: &str) -> Result<(), String> {
    if command.trim().is_empty() {
        return Err("command: is empty; give a shell command".to_owned());
    }
    match command.contains('\0') {
        true => Err("command: holds a NUL character; leave it out".to_owned()),
        false => Ok(()),
    }
}

/// The end of a run.
enum End {
    Exit,
    Timeout,
    Cancel,
}

async fn run(command: &str, limit: Duration, context: &ToolContext) -> ToolOutput {
    let started = start("bash", command, context).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => start("sh", command, context),
        _ => Err(error),
    });
    let (mut running, mut output) = match started {
        Ok(started) => started,
        Err(error) => {
            let reason = crate::text::reason(&error);
            return ToolOutput::error(format!("cannot run a shell: {reason}"));
        }
    };
    let mut capture = Capture::new(
        context.limits,
        context.overflow.clone(),
        context.redactor.clone(),
    )
    .watched_by(context.live.clone());
    let end = watch(&mut running, &mut output, limit, context, &mut capture).await;
    let end = match end {
        End::Exit => {
            let rest = timeout(LEFTOVERS, read_all(&mut output, &mut capture));
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => End::Cancel,
                _ = rest => End::Exit,
            }
        }
        End::Timeout => End::Timeout,
        End::Cancel => End::Cancel,
    };
    let status = running.kill_and_reap().await;
    // Nothing more comes when this takes longer than it may.
    let _ = timeout(REMAINS, read_all(&mut output, &mut capture)).await;
    report(&end, status, limit, capture)
}

fn start(shell: &str, command: &str, context: &ToolContext) -> io::Result<(Running, ChildStdout)> {
    let mut shell = Command::new(shell);
    shell.arg("-c").arg(command);
    shell.current_dir(context.workspace.root());
    remove_secrets(&mut shell, &context.secret_variables);
    Running::start(shell)
}

async fn watch(
    running: &mut Running,
    output: &mut ChildStdout,
    limit: Duration,
    context: &ToolContext,
    capture: &mut Capture,
) -> End {
    let mut ended = pin!(running.ended());
    let mut expired = pin!(sleep(limit));
    let mut reading = pin!(read_all(output, capture));
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => return End::Cancel,
            () = &mut expired => return End::Timeout,
            () = &mut ended => return End::Exit,
            () = &mut reading, if open => open = false,
        }
    }
}

/// Reads until every process has closed the pipe.
async fn read_all(output: &mut ChildStdout, capture: &mut Capture) {
    let mut block = vec![0; 16 * 1024];
    loop {
        let due = capture.update_due(Instant::now());
        tokio::select! {
            biased;
            // Also while the command writes without a pause.
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                capture.send_update(Instant::now());
            }
            read = output.read(&mut block) => match read {
                Ok(0) | Err(_) => return,
                Ok(count) => capture.push(&block[..count]),
            },
        }
        // A process that writes without end must not keep the other branches from being polled.
        tokio::task::yield_now().await;
    }
}

fn report(end: &End, status: Option<ExitStatus>, limit: Duration, capture: Capture) -> ToolOutput {
    let captured = capture.finish();
    let code = status.and_then(|status| status.code());
    let (first, last) = match end {
        End::Cancel => (Some("cancelled".to_owned()), None),
        End::Timeout => {
            let after = limit.as_secs_f64();
            let text = format!("the command ran out of time after {after} seconds and was killed");
            (Some(text), None)
        }
        End::Exit => (None, failure(status)),
    };
    let is_error = first.is_some() || last.is_some();
    let body = match captured.text.is_empty() {
        true if first.is_some() => String::new(),
        true => "[no output]\n".to_owned(),
        false => captured.text,
    };
    let mut text = String::new();
    if let Some(first) = first {
        text.push_str(&first);
        text.push_str(if body.is_empty() { "" } else { "\n" });
    }
    text.push_str(&body);
    if let Some(last) = last {
        text.push_str(if text.ends_with('\n') { "" } else { "\n" });
        text.push_str(&format!("[{last}]"));
    }
    let outcome = match end {
        End::Exit => "exited",
        End::Timeout => "timed_out",
        End::Cancel => "cancelled",
    };
    let full = captured.full.map(|path| path.display().to_string());
    let details = json!({
        "outcome": outcome,
        "exit_code": code,
        "truncated": captured.truncated,
        "full_output_path": full,
    });
    ToolOutput {
        is_error,
        ..ToolOutput::text(text).with_details(details)
    }
}

/// Returns the notice for a command that did not succeed.
fn failure(status: Option<ExitStatus>) -> Option<String> {
    let Some(status) = status else {
        return Some("how the command ended is not known".to_owned());
    };
    match status.code() {
        Some(0) => None,
        Some(code) => Some(format!("exit code {code}")),
        None => Some(signal(status)),
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(number) => format!("killed by signal {number}"),
        None => "ended without an exit code".to_owned(),
    }
}

#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> String {
    "ended without an exit code".to_owned()
}
