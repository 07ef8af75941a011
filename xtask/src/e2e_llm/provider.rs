//! Tests `llm-providers` with a real server, in each protocol: streamed answers, cut answers, overflow, cancelling.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use llm_catalog::{Catalog, Selection};
use llm_providers::{
    Answer, ApiProtocol, CancellationToken, Event, HttpClient, HttpProvider, HttpSettings,
    Progress, ProviderError, ProviderErrorKind, Request, RetryPolicy, complete,
};
use session_model::StopReason;

use super::Case;
use super::server::{MODEL, Server, Setup};
use crate::run::Outcome;

/// The protocols, each with the name that options and cases use.
pub const WIRES: [(ApiProtocol, &str); 3] = [
    (ApiProtocol::Chat, "chat"),
    (ApiProtocol::Responses, "responses"),
    (ApiProtocol::Messages, "messages"),
];

/// The context that is cheap to fill: a real overflow takes a second.
const SMALL: u32 = 1024;

/// The most tokens of an answer that is to be cut.
const CUT: u64 = 8;

/// The delay between the first piece of an answer and its cancellation: so that it happens between two pieces.
const LISTEN: Duration = Duration::from_millis(150);

/// The time limit for a cancelled request to return.
const PROMPT: Duration = Duration::from_millis(100);

/// The time limit for the server's next answer after that. The cancelled one would take much longer.
const FREE: Duration = Duration::from_secs(5);

/// Returns an answer, an overflow, a cut answer and a cancelled one for each protocol.
pub fn cases() -> Vec<Case> {
    type Check = fn(&Server, ApiProtocol) -> Outcome<String>;
    let checks: [(&str, Check); 4] = [
        ("answer", answers),
        ("length", is_cut),
        ("overflow", overflows),
        ("cancel", is_cancelled),
    ];
    let cases = checks.into_iter().flat_map(|(check, run)| {
        WIRES.map(|(wire, name)| Case {
            name: format!("{check}-{name}"),
            setup: Setup::free(SMALL),
            run: Box::new(move |server| run(server, wire)),
        })
    });
    cases.collect()
}

/// Returns the base URL of a protocol's requests.
pub fn base(server: &Server, wire: ApiProtocol) -> String {
    match wire {
        ApiProtocol::Chat | ApiProtocol::Responses => format!("{}/v1", server.url()),
        _ => server.url(),
    }
}

/// Returns the provider that the options of the commands would give.
fn provider(server: &Server, wire: ApiProtocol) -> Outcome<HttpProvider> {
    let selection = Selection {
        model: format!("llama.cpp/{MODEL}"),
        base_url: Some(base(server, wire)),
        wire: Some(wire),
        ..Selection::default()
    };
    let resolved = Catalog::embedded()
        .resolve(&selection)
        .map_err(|error| error.to_string())?;
    let http = HttpClient::new(HttpSettings::default()).map_err(|error| error.to_string())?;
    Ok(HttpProvider::new(
        http,
        resolved.provider,
        resolved.model,
        None,
    ))
}

/// Sends a request once, and calls `hear` with every piece of its answer.
fn ask(
    server: &Server,
    wire: ApiProtocol,
    request: &Request,
    cancel: &CancellationToken,
    hear: &mut (dyn FnMut(&Event) + Send),
) -> Outcome<Result<Answer, ProviderError>> {
    let provider = provider(server, wire)?;
    let mut progress = |progress: Progress<'_>| {
        if let Progress::Event(event) = progress {
            hear(event);
        }
    };
    let policy = RetryPolicy::NEVER;
    let answering = complete(&provider, request, &policy, cancel, &mut progress);
    agent_cli::models::block_on(answering).map_err(|error| error.to_string())
}

/// Asks for a short answer: it must come in several pieces, with what it took.
fn answers(server: &Server, wire: ApiProtocol) -> Outcome<String> {
    let request = Request {
        max_output: Some(48),
        ..Request::for_prompt(
            "You answer briefly.",
            "Name three colours of the rainbow, then stop.",
        )
    };
    let mut pieces = Vec::new();
    let mut hear = |event: &Event| {
        if let Event::Text(text) = event {
            pieces.push(text.clone());
        }
    };
    let answer = ask(server, wire, &request, &CancellationToken::new(), &mut hear)?
        .map_err(|error| error.to_string())?;
    let text = answer.text();
    let usage = &answer.usage;
    let (prompt, output) = (usage.prompt_tokens(), usage.output);
    if pieces.len() < 2 || text.trim().is_empty() {
        return Err(format!("{} pieces of text: {text:?}", pieces.len()));
    }
    if pieces.concat() != text {
        return Err(format!("the pieces {pieces:?} are not the answer {text:?}"));
    }
    if prompt == 0 || output == 0 {
        return Err(format!("nothing was billed: {usage:?}"));
    }
    if !matches!(answer.stop_reason, StopReason::Stop | StopReason::Length) {
        return Err(format!("it stopped for {:?}", answer.stop_reason));
    }
    Ok(format!(
        "{} pieces, {prompt} tokens read, {output} written, {:?}",
        pieces.len(),
        answer.stop_reason
    ))
}

/// Requests more than the cap allows: the answer must count as cut, even if the server does not report it.
fn is_cut(server: &Server, wire: ApiProtocol) -> Outcome<String> {
    let prompt = "Tell a long story about a river.";
    let request = Request {
        max_output: Some(CUT),
        ..Request::for_prompt("You tell stories.", prompt)
    };
    let answer = ask(
        server,
        wire,
        &request,
        &CancellationToken::new(),
        &mut |_| {},
    )?;
    let answer = answer.map_err(|error| error.to_string())?;
    let output = answer.usage.output;
    if answer.stop_reason != StopReason::Length {
        return Err(format!(
            "{:?} after {output} of {CUT} tokens",
            answer.stop_reason
        ));
    }
    Ok(format!("Length after {output} of {CUT} tokens"))
}

/// Sends more than the context holds.
fn overflows(server: &Server, wire: ApiProtocol) -> Outcome<String> {
    let prompt = "The quick brown fox jumps over the lazy dog. ".repeat(150);
    let request = Request::for_prompt("You summarize.", &prompt);
    let answer = ask(
        server,
        wire,
        &request,
        &CancellationToken::new(),
        &mut |_| {},
    )?;
    match answer {
        Err(error) if error.kind == ProviderErrorKind::ContextOverflow => {
            Ok(format!("{}: {error}", error.kind.name()))
        }
        Err(error) => Err(format!("taken for {}: {error}", error.kind.name())),
        Ok(answer) => Err(format!("it was answered: {:?}", answer.text())),
    }
}

/// Cancels an answer in its middle: the request must return immediately, and the server must be free soon after.
fn is_cancelled(server: &Server, wire: ApiProtocol) -> Outcome<String> {
    let request = Request {
        max_output: Some(900),
        ..Request::for_prompt("You tell stories.", "Tell a long story about a river.")
    };
    let cancel = CancellationToken::new();
    let (heard, first) = mpsc::channel();
    let canceller = std::thread::spawn({
        let cancel = cancel.clone();
        move || {
            first.recv().ok()?;
            std::thread::sleep(LISTEN);
            let at = Instant::now();
            cancel.cancel();
            Some(at)
        }
    });
    let mut pieces = 0;
    let mut hear = |event: &Event| {
        if matches!(event, Event::Text(_)) {
            pieces += 1;
            // Only the first one is waited for.
            let _ = heard.send(());
        }
    };
    let answer = ask(server, wire, &request, &cancel, &mut hear)?;
    let returned = Instant::now();
    drop(heard);
    let at = canceller.join().ok().flatten();
    let error = match (answer, at) {
        (Ok(answer), _) => return Err(format!("it was answered: {:?}", answer.text())),
        (Err(error), None) => return Err(format!("no text came: {error}")),
        (Err(error), Some(_)) => error,
    };
    let took = at.map_or(Duration::ZERO, |at| returned.duration_since(at));
    if error.kind != ProviderErrorKind::Cancelled {
        return Err(format!("taken for {}: {error}", error.kind.name()));
    }
    let millis = took.as_secs_f64() * 1000.0;
    if took > PROMPT {
        return Err(format!("it returned only after {millis:.1} ms"));
    }
    let freed = freed(server)?;
    Ok(format!(
        "after {pieces} pieces, returned in {millis:.1} ms, the server answers another in {:.1} s",
        freed.as_secs_f64()
    ))
}

/// Returns how long the server takes to answer another short request, which it must do soon after one was cancelled.
pub fn freed(server: &Server) -> Outcome<Duration> {
    let started = Instant::now();
    let request = Request {
        max_output: Some(1),
        ..Request::for_prompt("You answer briefly.", "Say yes.")
    };
    let cancel = CancellationToken::new();
    let answer = ask(server, ApiProtocol::Chat, &request, &cancel, &mut |_| {})?;
    answer.map_err(|error| error.to_string())?;
    let took = started.elapsed();
    match took < FREE {
        true => Ok(took),
        false => Err(format!("the server is not free after {took:?}")),
    }
}
