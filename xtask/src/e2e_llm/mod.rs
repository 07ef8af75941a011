//! End to end with a real model: a small one, served by llama.cpp on loopback.
//!
//! No test needs it; `cargo xtask ci` ends with it. A model of 135 million
//! parameters writes no good summary: what is shown is that transport, limits, overflow and cut answers
//! are handled as a real server has them.

mod cases;
mod command;
mod http;
pub mod install;
mod live;
mod program_run;
mod provider;
mod server;
mod session;
mod smoke;

use std::time::Instant;

use crate::run::{Outcome, debug_binary};
use server::{Server, Setup};

const HELP: &str = "\
cargo xtask e2e-llm [--only NAME] [--keep]      install, start a server, run the cases
cargo xtask e2e-llm install                     only install (python3 3.10 or newer, network; 350 MB)
cargo xtask e2e-llm serve [--ctx N] [--port P]  serve in the foreground until Ctrl-C

  --only NAME   cases whose name contains NAME
  --keep        leave the server running after the cases, until Ctrl-C
  --ctx N       context window in tokens (4096)
  --port P      port on 127.0.0.1 (any free one)

Installed once, in AGENT_CLI_E2E_HOME or a folder of the build.";

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    Run { only: Option<String>, keep: bool },
    Install,
    Serve { context: u32, port: u16 },
}

/// Does what the arguments say.
pub fn run(arguments: &[String]) -> Outcome {
    let task = parse(arguments)?;
    let started = Instant::now();
    println!("== model server");
    let installed = install::install()?;
    println!(
        "   installed in {} ({:.1} s)",
        installed.home.display(),
        started.elapsed().as_secs_f64()
    );
    match task {
        Task::Install => Ok(()),
        Task::Serve { context, port } => {
            serve(Server::start(&installed, Setup::free(context), port)?)
        }
        Task::Run { only, keep } => {
            let program = debug_binary()?;
            println!("== cases");
            let (server, outcome) = cases::run(&installed, &program, only.as_deref());
            match server.filter(|_| keep) {
                Some(server) => serve(server).and(outcome),
                None => outcome,
            }
        }
    }
}

/// Leaves a server running. Ctrl-C ends this process, and with it the server.
fn serve(mut server: Server) -> Outcome {
    println!(
        "   serving {} at {} until Ctrl-C",
        server::MODEL,
        server.url()
    );
    server.wait()
}

fn parse(arguments: &[String]) -> Outcome<Task> {
    let mut words = arguments.iter().map(String::as_str).peekable();
    let mut task = match words.peek() {
        Some(&"install") => Task::Install,
        Some(&"serve") => Task::Serve {
            context: 4096,
            port: 0,
        },
        _ => Task::Run {
            only: None,
            keep: false,
        },
    };
    if !matches!(task, Task::Run { .. }) {
        words.next();
    }
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match (&mut task, word) {
            (Task::Run { only, .. }, "--only") => *only = Some(value()?.to_owned()),
            (Task::Run { keep, .. }, "--keep") => *keep = true,
            (Task::Serve { context, .. }, "--ctx") => *context = number(word, value()?)?,
            (Task::Serve { port, .. }, "--port") => *port = number(word, value()?)?,
            _ => return Err(format!("{word} is not known here\n\n{HELP}")),
        }
    }
    Ok(task)
}

fn number<T: std::str::FromStr>(name: &str, text: &str) -> Outcome<T> {
    text.parse()
        .map_err(|_| format!("{name} needs a number, not {text}"))
}

#[cfg(test)]
mod tests {
    use super::{Task, parse};

    fn task(line: &str) -> Result<Task, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn arguments_say_what_is_done() {
        let run = |only: Option<&str>, keep| Task::Run {
            only: only.map(str::to_owned),
            keep,
        };
        assert_eq!(task(""), Ok(run(None, false)));
        assert_eq!(task("--keep --only chat"), Ok(run(Some("chat"), true)));
        assert_eq!(task("install"), Ok(Task::Install));
        let serve = |context, port| Task::Serve { context, port };
        assert_eq!(task("serve"), Ok(serve(4096, 0)));
        assert_eq!(task("serve --ctx 512 --port 80"), Ok(serve(512, 80)));
        for wrong in ["--only", "install --keep", "serve --ctx x", "chat"] {
            assert!(task(wrong).is_err(), "{wrong}");
        }
    }
}
