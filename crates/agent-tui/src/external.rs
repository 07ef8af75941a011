//! What happens outside: the user's editor, and the shell while the program is stopped.

use std::io::{self, Write};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::state::Input;

/// Something for which the terminal is given back for a while.
#[derive(Debug)]
pub(crate) enum Outside {
    /// The user's editor gets a text.
    Edit(String),
    /// The program stops until the shell lets it go on.
    Suspend,
}

impl Outside {
    /// Waits for it; returns what came of it.
    pub async fn wait(self) -> Option<Input> {
        let work = tokio::task::spawn_blocking(move || match self {
            Self::Edit(text) => Some(Input::Edited(edit(&text))),
            Self::Suspend => {
                stop();
                None
            }
        });
        work.await.ok().flatten()
    }
}

/// Gives a text to the terminal for its clipboard, which is the user's also where the program runs on another machine.
/// Terminals do as they are set: whether it was taken is not known.
pub(crate) fn copy(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write!(out, "\x1b]52;c;{}\x07", STANDARD.encode(text))?;
    out.flush()
}

/// Stops the program and those that were started with it, as the shell expects it.
fn stop() {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, kill_current_process_group};
        // A shell without job control does not stop it, and it goes on.
        let _ = kill_current_process_group(Signal::TSTP);
    }
}

/// Returns a text as the user's editor leaves it.
fn edit(text: &str) -> Result<String, String> {
    let variables = ["VISUAL", "EDITOR"].into_iter();
    let mut set = variables.filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let set = set.find(|(_, command)| !command.trim().is_empty());
    // As git does.
    let (name, command) = set.unwrap_or(("EDITOR", "vi".to_owned()));
    let words = shlex::split(&command).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Err(format!("{name} is not a command: {command}"));
    };
    let failed = |error: io::Error| format!("cannot keep the text for the editor: {error}");
    let file = tempfile::Builder::new()
        .prefix("agent-cli-")
        .suffix(".md")
        .tempfile();
    let mut file = file.map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let file = file.into_temp_path();
    let status = Command::new(program).args(arguments).arg(&file).status();
    match status {
        Err(error) => Err(format!(
            "{name} = {command} cannot be started: {error}; set EDITOR to another program"
        )),
        Ok(status) if !status.success() => Err(format!(
            "{name} = {command} failed ({status}); the text stays"
        )),
        Ok(_) => std::fs::read_to_string(&file)
            .map_err(|error| format!("what {name} = {command} left cannot be read: {error}")),
    }
}
