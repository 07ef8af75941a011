//! Programs that are run for a session: as a group of processes none of which outlives the call, and without the
//! secrets of the environment.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use session_model::looks_like_key;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// How long the system may take to reap a process that was killed.
const REAP_TIMEOUT: Duration = Duration::from_millis(40);

/// A running command and everything it started, unless that left the group.
#[derive(Debug)]
pub struct Running {
    /// Declared before the child, so that the rest of the group is killed while its id is still ours.
    group: Group,
    child: Child,
}

impl Running {
    /// Starts the command in a process group, without input; the returned pipe has its output and its errors in the
    /// order in which they were written.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(mut command: Command) -> io::Result<(Self, ChildStdout)> {
        let (reader, writer) = io::pipe()?;
        command.stdin(Stdio::null());
        command.stdout(writer.try_clone()?);
        command.stderr(writer);
        let running = Self::spawn(&mut command)?;
        // The command holds the other end of the pipe; as long as it exists, the pipe has no end.
        drop(command);
        #[cfg(unix)]
        let reader = std::os::fd::OwnedFd::from(reader);
        #[cfg(windows)]
        let reader = std::os::windows::io::OwnedHandle::from(reader);
        let output = ChildStdout::from_std(std::process::ChildStdout::from(reader))?;
        Ok((running, output))
    }

    /// Starts the command in a process group, with a pipe for each of its streams.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start_with_pipes(mut command: Command) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        let mut running = Self::spawn(&mut command)?;
        let child = &mut running.child;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(input), Some(output), Some(errors)) => {
                let pipes = Pipes {
                    input,
                    output,
                    errors,
                };
                Ok((running, pipes))
            }
            _ => Err(io::Error::other("the system gave no pipes")),
        }
    }

    fn spawn(command: &mut Command) -> io::Result<Self> {
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let (child, group) = Group::spawn(command)?;
        Ok(Self { group, child })
    }

    /// Waits until the command itself has ended. It is not reaped yet, so its process id cannot be reused.
    pub async fn ended(&mut self) {
        #[cfg(unix)]
        self.group.leader_ended().await;
        #[cfg(not(unix))]
        let _ = self.child.wait().await;
    }

    /// Kills the remaining group and returns how the command ended, if the system reports it in time.
    pub async fn kill_and_reap(mut self) -> Option<ExitStatus> {
        self.group.end();
        let _ = self.child.start_kill();
        let waited = tokio::time::timeout(REAP_TIMEOUT, self.child.wait()).await;
        let status = waited.ok().and_then(Result::ok);
        self.group.forget();
        status
    }
}

/// The streams of a command.
#[derive(Debug)]
pub struct Pipes {
    /// Its standard input.
    pub input: ChildStdin,
    /// Its standard output.
    pub output: ChildStdout,
    /// Its standard error.
    pub errors: ChildStderr,
}

/// Words that mark the name of an environment variable as that of a secret.
const SECRET_WORDS: [&str; 6] = [
    "PASSWORD",
    "PASSWD",
    "SECRET",
    "CREDENTIAL",
    "APIKEY",
    "AUTHORIZATION",
];

/// Ends of such names.
const SECRET_ENDS: [&str; 6] = ["TOKEN", "PASS", "PWD", "_KEY", "_KEYS", "_PAT"];

/// Names that end so, and hold folders.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// Text that marks a value as one with a key in it: connection strings and keys in PEM.
const KEY_MARKS: [&str; 5] = [
    "password=",
    "accountkey=",
    "sharedaccesskey=",
    "sharedaccesssignature=",
    "private key-----",
];

/// The shortest user of a URL that is a key, in bytes.
const SHORTEST_KEY: usize = 16;

/// Removes secret variables from a command's environment: those that are listed, and those whose name or value marks
/// them as secret.
pub fn remove_secrets(command: &mut Command, listed: &[String]) {
    for (name, value) in std::env::vars_os() {
        if is_secret(&name, &value, listed) {
            command.env_remove(name);
        }
    }
}

/// Returns true if a variable holds a secret: because it is listed, by its name, or by its value. A proxy with a
/// password is none: commands reach no network without it.
pub fn is_secret(name: &OsStr, value: &OsStr, listed: &[String]) -> bool {
    let upper: OsString = name.to_ascii_uppercase();
    let upper = upper.to_string_lossy();
    let ends = SECRET_ENDS.iter().any(|end| upper.ends_with(end));
    (ends && !FOLDERS.contains(&&*upper))
        || SECRET_WORDS.iter().any(|word| upper.contains(word))
        || upper.split('_').any(|word| word == "TOKEN")
        || listed.iter().any(|listed| name == OsStr::new(listed))
        || (!upper.ends_with("_PROXY") && holds_key(&value.to_string_lossy()))
}

/// Returns true if a value is a key, or holds one.
fn holds_key(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    looks_like_key(value)
        || KEY_MARKS.iter().any(|mark| lower.contains(mark))
        || value.split("://").skip(1).any(|rest| {
            let authority = rest.split(['/', '?', '#', ' ', ',']).next();
            let user = authority.and_then(|authority| authority.rsplit_once('@'));
            user.is_some_and(|(user, _)| match user.split_once(':') {
                Some((_, password)) => !password.is_empty(),
                None => user.len() >= SHORTEST_KEY,
            })
        })
}

/// Keeps commands from reading this process: its memory, and the environment that it was started with, which
/// `/proc/PID/environ` shows even of variables that commands do not get. It also writes no core dump from now on.
/// Programs that it starts are not affected. Does nothing on systems without such a switch.
pub fn forbid_inspection() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // If it fails, commands can read what they could read before.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// The running process groups, so that they can be killed when the program ends.
#[cfg(unix)]
static RUNNING: Mutex<Vec<rustix::process::Pid>> = Mutex::new(Vec::new());
#[cfg(not(unix))]
static RUNNING: Mutex<()> = Mutex::new(());

/// Kills every command that runs, and does `then` before another one can start.
pub fn kill_all(then: impl FnOnce()) {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    #[cfg(unix)]
    running.iter().copied().for_each(kill_group);
    then();
    drop(running);
}

#[cfg(unix)]
fn kill_group(leader: rustix::process::Pid) {
    // An error means that no process is left.
    let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
}

/// The number of a group whose leader is not reaped.
#[cfg(unix)]
#[derive(Debug)]
struct Group(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    /// Starts the command. `kill_all` finds it either in the list or not yet started.
    fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(rustix::process::Pid::from_raw);
        running.extend(leader);
        Ok((child, Self(leader)))
    }

    /// Kills the remaining processes, and removes the group from the list while its id is still ours.
    fn end(&self) {
        if let Some(leader) = self.0 {
            let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            kill_group(leader);
            running.retain(|other| *other != leader);
        }
    }

    fn forget(&mut self) {
        self.0 = None;
    }

    async fn leader_ended(&self) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let Some(leader) = self.0 else {
            return;
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // Without reaping, the system reports the end again to the next waiter.
        let wait = move || loop {
            match waitid(WaitId::Pid(leader), options) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => return,
            }
        };
        let _ = tokio::task::spawn_blocking(wait).await;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Elsewhere only the command itself is known.
#[cfg(not(unix))]
#[derive(Debug)]
struct Group;

#[cfg(not(unix))]
impl Group {
    fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((command.spawn()?, Self))
    }

    fn end(&self) {}

    fn forget(&mut self) {}
}
