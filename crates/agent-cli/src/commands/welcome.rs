//! What is said on a terminal where no model is set: how to set one, and the tour.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::error::Error;
use crate::ui::{self, BOLD, clean, styled, tell};

/// The tour, a script that asks no model.
const TOUR: &str = include_str!("tour.jsonl");

/// Where servers of local models usually listen.
const LOCAL: [(&str, u16); 4] = [
    ("ollama", 11434),
    ("LM Studio", 1234),
    ("llama.cpp", 8080),
    ("vLLM", 8000),
];

/// How long a local server is waited for.
const PATIENCE: Duration = Duration::from_millis(50);

/// How many providers are named.
const PROVIDERS: usize = 8;

/// Says how a model is set and offers the tour; returns its script where it is wanted.
pub(super) fn offer_tour(models: &[String]) -> Result<Option<NamedTempFile>, Error> {
    tell(&text(models, &local_servers()));
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    let read = read.map_err(|error| Error::io("read", "the terminal", error))?;
    if read == 0 || !line.trim().is_empty() {
        return Ok(None);
    }
    let kept = tempfile::Builder::new()
        .prefix("agent-cli-tour-")
        .suffix(".jsonl")
        .tempfile();
    let kept = kept.and_then(|mut file| file.write_all(TOUR.as_bytes()).map(|()| file));
    let file = kept.map_err(|error| Error::io("create", std::env::temp_dir(), error))?;
    tell("The tour: say hello below and press Enter. Every answer says what to try next.\n");
    Ok(Some(file))
}

fn local_servers() -> Vec<&'static str> {
    let answers = |port: u16| {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpStream::connect_timeout(&address, PATIENCE).is_ok()
    };
    let found = LOCAL.into_iter().filter(|(_, port)| answers(*port));
    found.map(|(name, _)| name).collect()
}

fn text(models: &[String], servers: &[&str]) -> String {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for model in models {
        let provider = model.split('/').next().unwrap_or_default();
        first.entry(provider).or_insert(model);
    }
    let mut text = format!("{}\n\n", styled(BOLD, "No model is set."));
    let mut row = |name: &str, about: &str| text.push_str(&ui::row("  ", name, about));
    for model in first.values().take(PROVIDERS) {
        row("known", &format!("agent-cli --model {}", clean(model)));
    }
    if models.is_empty() {
        row(
            "no key",
            "set one, for example ANTHROPIC_API_KEY or OPENAI_API_KEY",
        );
    }
    for server in servers {
        row(
            "runs here",
            &format!("{server}; agent-cli models lists what it serves"),
        );
    }
    row("for good", "agent-cli config set model PROVIDER/MODEL");
    row("all models", "agent-cli models");
    text.push_str("\nEnter starts a tour of two minutes, which asks no model; q and Enter leave.");
    text
}

#[cfg(test)]
mod tests {
    use super::{TOUR, text};

    #[test]
    fn the_screen_names_what_was_found_and_fits() {
        let models = ["ollama/a", "openai/b", "openai/c"].map(str::to_owned);
        let shown = text(&models, &["ollama"]);
        insta::assert_snapshot!(anstream::adapter::strip_str(&shown).to_string(), @r#"
        No model is set.

          known       agent-cli --model ollama/a
          known       agent-cli --model openai/b
          runs here   ollama; agent-cli models lists what it serves
          for good    agent-cli config set model PROVIDER/MODEL
          all models  agent-cli models

        Enter starts a tour of two minutes, which asks no model; q and Enter leave.
        "#);
        assert!(text(&[], &[]).lines().count() <= 20);
    }

    #[test]
    fn the_tour_is_a_script() {
        let script = llm_script::Script::parse(TOUR).expect("a script");
        assert_eq!(script.header.name.as_deref(), Some("tour"));
    }
}
