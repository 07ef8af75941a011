//! What `agent-cli -p` makes of a real server: running sessions that overflow, are compacted, and are stopped.

use std::path::Path;
use std::time::{Duration, Instant};

use llm_providers::ApiProtocol;
use serde_json::{Value, json};

use super::cases::{Case, SMALL};
use super::command::{Trouble, again, model, wrong};
use super::program_run::{Life, ProgramRun};
use super::provider::{FREE, WIRES};
use super::server::{MODEL, Server, Setup};
use super::session;
use crate::run::Outcome;

/// The window that the program believes in where only the server knows how small it is.
const BELIEVED: u32 = 100_000;

/// The window of the server that a whole conversation overflows.
const FULL: u32 = 4096;

/// How soon a program that is stopped must have ended.
const PROMPT: Duration = Duration::from_secs(1);

/// After how many pieces of its answer it is stopped.
const PIECES: usize = 5;

/// Extractive summaries, as small as they can be set.
const BY_RULE: [&str; 4] = [
    "--set",
    "compaction.strategy=extractive",
    "--set",
    "compaction.extractivePercent=0",
];

/// Returns a conversation whose summary the model writes, one on each other wire whose summary is written by
/// rule, and an answer on each wire that is stopped.
pub fn cases(program: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for (wire, wire_name) in WIRES {
        let with = program.to_owned();
        cases.push(match wire {
            ApiProtocol::Chat => Case {
                name: format!("live-{wire_name}"),
                setup: Setup::notes(FULL),
                run: Box::new(move |server| again(|| lives(&with, server))),
            },
            _ => Case {
                name: format!("live-{wire_name}"),
                setup: Setup::notes(SMALL),
                run: Box::new(move |server| again(|| goes_on(&with, server, (wire, wire_name)))),
            },
        });
        let with = program.to_owned();
        // There are no signals to send elsewhere.
        if cfg!(unix) {
            cases.push(Case {
                name: format!("live-cancel-{wire_name}"),
                setup: Setup::free(SMALL),
                run: Box::new(move |server| is_stopped(&with, server, (wire, wire_name))),
            });
        }
    }
    cases
}

/// A conversation of three turns. The second does not fit, which only the server knows: it refuses, and the model
/// summarizes and is asked again. The third would not fit either, which the program knows by then.
fn lives(program: &Path, server: &Server) -> Result<String, Trouble> {
    let life = Life::new(program, server, (ApiProtocol::Chat, "chat"), "live-chat")?;
    let first = life.say(&list(server, "network", 1300)?, BELIEVED, &[])?;
    answered(&first)?;
    let second = life.say(&list(server, "disk", 2750)?, BELIEVED, &[])?;
    let (failed, overflow) = overflowed(&second)?;
    let summarizer = &overflow["summarizer"];
    if *summarizer != model().as_str() {
        return Err(match summarizer == "extractive" {
            true => Trouble::Rambling("the summary had to be extractive"),
            false => Trouble::Wrong(format!("it was summarized by {summarizer}")),
        });
    }
    // The newest answer stays; the long message before it goes.
    let keep = [&BY_RULE[..], &["--set", "compaction.keepRecentTokens=50"]].concat();
    let third = life.say(&list(server, "memory", 800)?, FULL, &keep)?;
    answered(&third)?;
    let (place, ended) = third.compaction("threshold")?;
    let (told, _) = third.events_of("message").next().ok_or_else(none)?;
    let smaller =
        ended["result"]["tokens_after"].as_u64() < ended["result"]["tokens_before"].as_u64();
    if ended["result"].is_null() || !ended["error"].is_null() || !smaller || told < place {
        return wrong(format!("the compaction before the prompt: {ended}"));
    }
    let (seen, entries) = life.reopen()?;
    is_omitted(&entries, &failed)?;
    let compactions = seen["compactions"].as_array().map_or(0, Vec::len);
    if compactions != 2 {
        return wrong(format!("{compactions} compactions in the session"));
    }
    let tokens = |of: &Value| format!("{} to {}", of["tokens_before"], of["tokens_after"]);
    Ok(format!(
        "refused, {} tokens by the model, answered; before the next prompt {} extractive",
        tokens(&overflow),
        tokens(&ended["result"])
    ))
}

/// A session that another model began, and whose next turn does not fit: the same with the extractive summarizer. The window is small: an
/// answer that runs into its end is one.
fn goes_on(
    program: &Path,
    server: &Server,
    (wire, wire_name): (ApiProtocol, &str),
) -> Result<String, Trouble> {
    let name = format!("live-{wire_name}");
    let life = Life::new(program, server, (wire, wire_name), &name)?;
    let begun = session::twenty();
    std::fs::write(&life.session, &begun).map_err(|error| error.to_string())?;
    let said = life.say(&list(server, "network", 450)?, BELIEVED, &BY_RULE)?;
    let (failed, overflow) = match overflowed(&said) {
        Err(Trouble::Rambling(_)) => after_overflow(&said)?,
        other => other?,
    };
    if overflow["summarizer"] != "extractive" {
        return wrong(format!("the summary was not extractive: {overflow}"));
    }
    let (_, entries) = life.reopen()?;
    is_omitted(&entries, &failed)?;
    let text = std::fs::read_to_string(&life.session).map_err(|error| error.to_string())?;
    if !text.starts_with(&begun) {
        return wrong("what was there has been changed");
    }
    Ok(format!(
        "refused, {} to {} tokens extractive, answered",
        overflow["tokens_before"], overflow["tokens_after"]
    ))
}

/// Stops the program in the middle of an answer: it ends immediately, keeps what was said, and the server is free.
fn is_stopped(
    program: &Path,
    server: &Server,
    (wire, wire_name): (ApiProtocol, &str),
) -> Outcome<String> {
    let name = format!("live-cancel-{wire_name}");
    let life = Life::new(program, server, (wire, wire_name), &name)?;
    let prompt = "Tell a long story about a river.";
    let stopped = life.stop(prompt, SMALL, PIECES)?;
    let ended = Instant::now();
    let body = json!({"model": MODEL, "messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 1});
    let free = server.post("/v1/chat/completions", &body)?;
    let freed = ended.elapsed();
    let (said, millis) = (&stopped.run, stopped.took.as_secs_f64() * 1000.0);
    if said.code != Some(130) || stopped.took > PROMPT {
        let (code, errors) = (said.code, &said.errors);
        return Err(format!("exit {code:?} after {millis:.0} ms: {errors}"));
    }
    if free.status != 200 || freed > FREE {
        let seconds = freed.as_secs_f64();
        let text = free.text();
        return Err(format!(
            "the server is not free after {seconds:.1} s: {text}"
        ));
    }
    let (_, entries) = life.reopen()?;
    let kept = entries.last().map_or(&Value::Null, |last| &last["message"]);
    let text = kept["content"][0]["text"].as_str().unwrap_or_default();
    if kept["stopReason"] != "aborted" || text.is_empty() || text != said.pieces() {
        return Err(format!("what is kept of {:?}: {kept}", said.pieces()));
    }
    Ok(format!(
        "exit 130 in {millis:.0} ms with {text:?} kept, the server answers another in {:.1} s",
        freed.as_secs_f64()
    ))
}

/// Checks that the run ended in an answer.
fn answered(said: &ProgramRun) -> Result<(), Trouble> {
    let (_, answer) = said.answer()?;
    if answer["stop_reason"] == "length" {
        return Err(Trouble::Rambling("an answer found no end"));
    }
    let text = answer["text"].as_str().unwrap_or_default();
    if said.code != Some(0) || !answer["error"].is_null() || text.trim().is_empty() {
        let (code, errors) = (said.code, &said.errors);
        return wrong(format!("exit {code:?}, answer {answer}: {errors}"));
    }
    match said.events_of("error").next() {
        Some((_, error)) => wrong(format!("it says {error}")),
        None => Ok(()),
    }
}

/// Checks that the server refused, that the context was compacted, and that the model answered after that. Returns the
/// entry of the answer that failed, and what was done.
fn overflowed(said: &ProgramRun) -> Result<(String, Value), Trouble> {
    answered(said)?;
    after_overflow(said)
}

/// Checks the same of an answer that may have been cut.
fn after_overflow(said: &ProgramRun) -> Result<(String, Value), Trouble> {
    let (failure, failed) = said.events_of("answer").next().ok_or_else(none)?;
    let error = failed["error"].as_str().unwrap_or_default();
    if !error.starts_with("context overflow: ") || !error.contains("exceeds the available context")
    {
        return wrong(format!("the first answer did not overflow: {failed}"));
    }
    let (place, ended) = said.compaction("overflow")?;
    let (newest, answer) = said.answer()?;
    let text = answer["text"].as_str().unwrap_or_default();
    if !answer["error"].is_null() || text.trim().is_empty() {
        return wrong(format!("the answer after the compaction: {answer}"));
    }
    if ended["will_retry"] != true || ended["result"].is_null() || !ended["error"].is_null() {
        return wrong(format!("the compaction: {ended}"));
    }
    if failure > place || place > newest {
        return wrong("it was not answered after the compaction");
    }
    let entry = failed["entry_id"].as_str().ok_or_else(none)?;
    Ok((entry.to_owned(), ended["result"].clone()))
}

/// Checks that an answer that failed is in the file and out of the context.
fn is_omitted(entries: &[Value], failed: &str) -> Result<(), Trouble> {
    let kept = entries.iter().any(|entry| entry["id"] == failed);
    let edited = entries.iter().any(|entry| {
        let edits = entry["type"] == "context_edit" && entry["targetId"] == failed;
        edits && entry["replacement"].is_null()
    });
    match kept && edited {
        true => Ok(()),
        false => wrong(format!(
            "the answer {failed} that failed: kept {kept}, out of the context {edited}"
        )),
    }
}

/// Returns a prompt of about so many tokens, by the model's own count.
fn list(server: &Server, name: &str, tokens: usize) -> Outcome<String> {
    let line = |number: usize| {
        format!(
            "{name}.{number}: wait {} s, try {} times\n",
            number * 7 % 31,
            number % 5
        )
    };
    let ten: String = (20..30).map(line).collect();
    let a_line = (server.count_tokens(&ten)? / 10).max(1);
    let lines: String = (0..tokens / a_line).map(line).collect();
    Ok(format!(
        "These are the settings of the {name}:\n{lines}Take a few notes of them."
    ))
}

fn none() -> String {
    "an event is missing".to_owned()
}
