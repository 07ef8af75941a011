//! The process of a server: its start, its end, and its error output.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use hooks::process::{Running, remove_secrets};
use llm_providers::Redactor;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ServerEnvironment;
use super::config::ServerConfig;
use super::stream::{FLOOD_BYTES, LINE_BYTES, Lines, StderrTail, StreamFindings};
use super::text::{cleaned, one_line};

/// How long a server may take to end after its input is closed.
const GOODBYE: Duration = Duration::from_secs(1);

/// How long a server that closed its output may take to end by itself, so that its exit code is known.
const LAST: Duration = Duration::from_millis(500);

/// How long the error output is read after the group was killed; only a process that left the group can still hold the
/// pipe.
const REMAINS: Duration = Duration::from_millis(100);

/// The number of last lines of the error output that are quoted.
const STDERR_LINES: usize = 5;

/// The quoted length of a server's error, in characters.
pub(super) const SAID_CHARS: usize = 2000;

/// The quoted length of a program's name, in characters.
const PROGRAM_CHARS: usize = 200;

/// A process, its group, and its output.
pub(super) struct Process {
    running: Running,
    output: ServerOutput,
}

/// The output of a server, except its messages.
struct ServerOutput {
    reading: JoinHandle<()>,
    stderr_tail: StderrTail,
    findings: StreamFindings,
    redactor: Arc<Redactor>,
}

impl Process {
    /// Starts a server; returns it with its output and its input.
    pub fn start(
        config: &ServerConfig,
        around: &ServerEnvironment,
    ) -> Result<(Self, Lines<ChildStdout>, ChildStdin), String> {
        let folder = match &config.cwd {
            Some(folder) => around.workspace.join(folder),
            None => around.workspace.clone(),
        };
        let started = Running::start_with_pipes(command(config, around, &folder));
        let (running, pipes) = started.map_err(|error| not_started(config, &folder, &error))?;
        let stderr_tail = StderrTail::default();
        let findings = StreamFindings::default();
        let output = ServerOutput {
            reading: tokio::spawn(stderr_tail.clone().read(pipes.errors)),
            stderr_tail,
            findings: findings.clone(),
            redactor: around.redactor.clone(),
        };
        let lines = Lines::new(pipes.output, findings);
        Ok((Self { running, output }, lines, pipes.input))
    }

    /// Returns what was found in its output.
    pub fn findings(&self) -> StreamFindings {
        self.output.findings.clone()
    }

    /// Waits until the server has ended, even if other processes keep its output open.
    pub async fn ended(&mut self) {
        self.running.ended().await;
    }

    /// Ends the server and returns `what` with the server's error output.
    pub async fn kill(self, what: &str) -> String {
        self.running.kill_and_reap().await;
        self.output.add_to(what.to_owned()).await
    }

    /// Returns how a server ended that has closed its output; what is left of it is killed.
    pub async fn explain(mut self) -> String {
        if self.output.findings.is_endless() {
            let what = format!("it wrote a line of over {LINE_BYTES} bytes and was ended");
            return self.kill(&what).await;
        }
        if self.output.findings.is_flooded() {
            let what =
                format!("it wrote over {FLOOD_BYTES} bytes and answered nothing, and was ended");
            return self.kill(&what).await;
        }
        let by_itself = timeout(LAST, self.running.ended()).await.is_ok();
        let what = match self.running.kill_and_reap().await {
            Some(status) if by_itself => how(status),
            Some(_) | None => "it closed its output and was ended".to_owned(),
        };
        self.output.add_to(what).await
    }

    /// Gives a server whose input `closing` closes a moment to end, and kills what is left.
    pub async fn leave(mut self, closing: impl Future) {
        let ending = async {
            closing.await;
            self.running.ended().await;
        };
        let _ = timeout(GOODBYE, ending).await;
        self.running.kill_and_reap().await;
    }
}

impl ServerOutput {
    async fn add_to(self, mut message: String) -> String {
        let _ = timeout(REMAINS, self.reading).await;
        message.push_str(&noise(&self.findings));
        if let Some(stderr_tail) = self.stderr_tail.last(STDERR_LINES) {
            message.push_str("; it complained: ");
            message.push_str(&cleaned(&stderr_tail, SAID_CHARS));
        }
        self.redactor.clean(&message)
    }
}

/// Returns what a server wrote that is no message, as the rest of a sentence.
pub(super) fn noise(findings: &StreamFindings) -> String {
    findings.noise().map_or(String::new(), |noise| {
        let noise = one_line(&noise, SAID_CHARS);
        format!("; it wrote what is not a message: {noise}")
    })
}

fn command(config: &ServerConfig, around: &ServerEnvironment, folder: &Path) -> Command {
    let mut command = Command::new(&config.command);
    command.args(&config.args).current_dir(folder);
    remove_secrets(&mut command, &around.secret_variables);
    for name in &config.pass_env {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(&config.env);
    command
}

fn not_started(config: &ServerConfig, folder: &Path, error: &io::Error) -> String {
    let name = &config.name;
    let program = one_line(&config.command, PROGRAM_CHARS);
    if !folder.is_dir() {
        let folder = folder.display();
        return format!(
            "cannot start {program}: there is no folder {folder}; see mcpServers.{name}.cwd"
        );
    }
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "cannot start {program}: there is no such program; install it, or correct mcpServers.{name}.command"
        ),
        _ => format!("cannot start {program}: {error}; see mcpServers.{name}.command"),
    }
}

/// Returns how a process ended.
fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it ended with exit code {code}"),
        None => "it was killed".to_owned(),
    }
}
