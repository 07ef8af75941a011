//! The turns that wait, are given, or are given back; and the stream of one turn.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::PROVIDER;
use super::file::{Cue, ScriptAction, ScriptAnswer, Turn};
use futures_util::{StreamExt, stream};
use llm_providers::{
    Answer, CancellationToken, Event, EventStream, ProviderError, ProviderErrorKind, Request,
    answer_tokens, request_tokens,
};
use session_model::{Block, Usage};

/// The length of a piece of a text, in characters.
const PIECE: usize = 40;

/// The turns of a script, from which requests take theirs.
#[derive(Debug)]
pub(super) struct Stage {
    /// The name of a turn in errors.
    noun: &'static str,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The turns that wait, by number, so that one that is given back returns to its position.
    waiting: BTreeMap<usize, Cue>,
    /// The number of turns given.
    given: usize,
    /// The number of streams that are neither at their end nor dropped.
    in_flight: usize,
    /// The user's actions that are due.
    due: Vec<ScriptAction>,
}

impl Stage {
    /// Returns a stage with `cues`.
    pub fn new(noun: &'static str, cues: Vec<Cue>) -> Self {
        let state = State {
            waiting: cues.into_iter().enumerate().collect(),
            given: 0,
            in_flight: 0,
            due: Vec::new(),
        };
        Self {
            noun,
            state: Mutex::new(state),
        }
    }

    /// Returns the stage as it is after `given` turns, or after all of them if there are fewer. `first` are the user's
    /// actions before the first turn.
    pub fn skip(self, given: usize, first: Vec<ScriptAction>) -> Self {
        let mut state = self.state();
        state.due = first;
        while state.given < given
            && let Some((_, cue)) = state.waiting.pop_first()
        {
            state.given += 1;
            state.due = cue.then;
        }
        drop(state);
        self
    }

    /// Returns what the user has to do now, once.
    pub fn take_due(&self) -> Vec<ScriptAction> {
        std::mem::take(&mut self.state().due)
    }

    /// Returns true when every turn was given and no action of the user is due.
    pub fn is_finished(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.in_flight == 0 && state.due.is_empty()
    }

    /// Returns how many turns were not given yet.
    pub fn left(&self) -> usize {
        let state = self.state();
        state.waiting.len() + state.in_flight
    }

    /// Returns how many streams are neither at their end nor dropped.
    pub fn in_flight(&self) -> usize {
        self.state().in_flight
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next turn.
    fn begin(self: &Arc<Self>) -> Result<(Flight, Turn), ProviderError> {
        let mut state = self.state();
        let Some((number, cue)) = state.waiting.pop_first() else {
            let (noun, given) = (self.noun, state.given);
            let message = format!("the script has no {noun} left ({given} were given)");
            return Err(ProviderError::new(
                ProviderErrorKind::InvalidRequest,
                &message,
            ));
        };
        state.in_flight += 1;
        let turn = cue.turn.clone();
        let flight = Flight {
            stage: Arc::clone(self),
            number,
            cue: Some(cue),
            end: FlightEnd::GivenBack,
        };
        Ok((flight, turn))
    }
}

/// A turn in delivery. If it is dropped before it was delivered, it returns to its position.
struct Flight {
    stage: Arc<Stage>,
    number: usize,
    cue: Option<Cue>,
    end: FlightEnd,
}

/// The end of a turn's stream.
enum FlightEnd {
    GivenBack,
    Delivered,
}

impl Flight {
    /// Counts the turn as given.
    fn delivered(mut self) {
        self.end = FlightEnd::Delivered;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut state = self.stage.state();
        state.in_flight -= 1;
        let Some(cue) = self.cue.take() else { return };
        match self.end {
            FlightEnd::Delivered => {
                state.given += 1;
                state.due.extend(cue.then);
            }
            FlightEnd::GivenBack => {
                state.waiting.insert(self.number, cue);
            }
        }
    }
}

/// Returns the stream of the next turn on `stage`.
///
/// # Errors
/// No turn is left, the request was cancelled before, or the turn is a failure without a text.
pub(super) fn stream(
    stage: &Arc<Stage>,
    model: &Arc<str>,
    request: &Request,
    cancel: CancellationToken,
) -> Result<EventStream, ProviderError> {
    if cancel.is_cancelled() {
        return Err(cancelled(model));
    }
    let begun = stage.begin();
    let (flight, turn) = begun.map_err(|error| error.of(PROVIDER, model))?;
    let (pause, events) = match turn {
        Ok(answer) => (answer.pause, answer_events(answer, request)),
        Err(failure) => {
            let error = match failure.error.provider.is_empty() {
                true => failure.error.of(PROVIDER, model),
                false => failure.error,
            };
            if failure.after_text.is_empty() {
                flight.delivered();
                return Err(error);
            }
            let texts = pieces(&failure.after_text).map(|piece| Ok(Event::Text(piece)));
            (Duration::ZERO, texts.chain([Err(error)]).collect())
        }
    };
    let playing = Playing {
        flight,
        model: Arc::clone(model),
        cancel,
        pause,
        events,
    };
    let events = stream::unfold(Some(playing), |playing| async { playing?.next().await });
    Ok(Box::pin(events.fuse()))
}

/// A stream that has not ended.
struct Playing {
    flight: Flight,
    model: Arc<str>,
    cancel: CancellationToken,
    pause: Duration,
    /// The remaining events; the last one ends the stream.
    events: VecDeque<Result<Event, ProviderError>>,
}

impl Playing {
    /// Returns the next event, and the rest of the stream unless it was the last.
    async fn next(mut self) -> Option<(Result<Event, ProviderError>, Option<Self>)> {
        let pause = std::mem::take(&mut self.pause);
        if !pause.is_zero() {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        // Other tasks may run, and cancel, between any two pieces.
        tokio::task::yield_now().await;
        if self.cancel.is_cancelled() {
            return Some((Err(cancelled(&self.model)), None));
        }
        let event = self.events.pop_front()?;
        if self.events.is_empty() {
            self.flight.delivered();
            return Some((event, None));
        }
        Some((event, Some(self)))
    }
}

fn cancelled(model: &str) -> ProviderError {
    let error = ProviderError::new(ProviderErrorKind::Cancelled, "the request was cancelled");
    error.of(PROVIDER, model)
}

/// Returns the pieces of an answer to `request`, and its end.
fn answer_events(
    answer: ScriptAnswer,
    request: &Request,
) -> VecDeque<Result<Event, ProviderError>> {
    let mut events = VecDeque::new();
    events.extend(pieces(&answer.thinking).map(Event::Thinking));
    events.extend(pieces(&answer.text).map(Event::Text));
    for (index, call) in answer.calls.iter().enumerate() {
        let arguments = call.arguments_text();
        let texts = [String::new()].into_iter().chain(pieces(&arguments));
        events.extend(texts.map(|arguments| Event::ToolCall {
            index,
            name: call.name.clone(),
            arguments,
        }));
    }
    let thinking = (!answer.thinking.is_empty()).then(|| Block::thinking(answer.thinking, None));
    let text = (!answer.text.is_empty()).then(|| Block::text(answer.text));
    let said = thinking.into_iter().chain(text);
    let content: Vec<Block> = said
        .chain(answer.calls.into_iter().map(Block::ToolCall))
        .collect();
    let billed = answer.usage;
    let cached = billed.cache_read.saturating_add(billed.cache_write);
    let input = billed
        .input
        .unwrap_or_else(|| request_tokens(request).saturating_sub(cached));
    let output = billed.output.unwrap_or_else(|| answer_tokens(&content));
    events.push_back(Event::Done(Answer {
        content,
        stop_reason: answer.stop,
        usage: Usage {
            input,
            output,
            cache_read: billed.cache_read,
            cache_write: billed.cache_write,
            total_tokens: input.saturating_add(output).saturating_add(cached),
            ..Usage::default()
        },
        ..Answer::default()
    }));
    events.into_iter().map(Ok).collect()
}

/// Returns `text` in pieces of some characters each; none for an empty text.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let mut left = text;
    std::iter::from_fn(move || {
        let end = left
            .char_indices()
            .nth(PIECE)
            .map_or(left.len(), |(at, _)| at);
        let (piece, rest) = left.split_at(end);
        left = rest;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}
