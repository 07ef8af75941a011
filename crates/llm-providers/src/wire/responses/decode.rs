//! From streamed events to the pieces of an answer and the whole of it.
//!
//! Servers differ in what they leave out: times, sequence numbers, item ids, indices, the pieces, the finished items,
//! or everything but the closing event. Any stream that determines the answer is accepted.

use session_model::json::{Members, RawJson};
use session_model::{Block, StopReason, Usage};

use crate::answer::{Answer, Event};
use crate::wire::responses::output_item::{Kind, OutputItemState};
use crate::wire::{Decode, WireError};

/// Decodes one answer.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    states: Vec<OutputItemState>,
    calls: usize,
    id: Option<String>,
    model: Option<String>,
    closed: bool,
}

/// The longest part of an event that an error shows, in characters.
const EXCERPT: usize = 200;

impl Decode for Decoder {
    fn data(&mut self, data: &str) -> Result<Vec<Event>, WireError> {
        if self.closed || data.trim().is_empty() {
            return Ok(Vec::new());
        }
        let Some(event) = Members::parse(data) else {
            self.closed = true;
            let excerpt = data.chars().take(EXCERPT).collect();
            return Err(WireError::Malformed(excerpt));
        };
        let kind = event.text("type").unwrap_or_default();
        let events = match kind.as_str() {
            "response.created" | "response.in_progress" => {
                self.note(event.object("response").as_ref());
                Vec::new()
            }
            "response.output_item.added" => self.added(&event),
            "response.output_item.done" => self.done(&event),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.delta(Kind::Message, &event)
            }
            "response.reasoning_summary_text.delta" => self.thinking(&event, true, "summary_index"),
            "response.reasoning_text.delta" => self.thinking(&event, false, "content_index"),
            "response.reasoning_summary_part.added" => {
                let part = event.count("summary_index");
                let state = self.state(Kind::Reasoning, &event);
                state.begin_part(true, part).into_iter().collect()
            }
            "response.function_call_arguments.delta" => self.delta(Kind::Call, &event),
            "response.function_call_arguments.done" => {
                let whole = event.text("arguments").unwrap_or_default();
                let state = self.state(Kind::Call, &event);
                let rest = if state.closed {
                    None
                } else {
                    state.complete(&whole)
                };
                rest.into_iter().collect()
            }
            "response.completed"
            | "response.incomplete"
            | "response.done"
            | "response.cancelled" => {
                let default = kind.trim_start_matches("response.");
                match event.object("response") {
                    Some(response) => self.close(&response, default)?,
                    None => self.close(&event, default)?,
                }
            }
            "response.failed" => {
                let response = event.raw("response").unwrap_or(data);
                return Err(self.failed(response));
            }
            "error" => return Err(self.failed(data)),
            "" if event.raw("error").is_some() => {
                return Err(self.failed(data));
            }
            // A server that does not stream sends the whole answer in one event.
            "" if event.get("output").is_some() => self.close(&event, "completed")?,
            _ => Vec::new(),
        };
        Ok(events)
    }

    fn end(&mut self) -> Result<Option<Event>, WireError> {
        if self.closed {
            return Ok(None);
        }
        Err(WireError::EndedEarly)
    }
}

impl Decoder {
    fn note(&mut self, response: Option<&Members<'_>>) {
        let Some(response) = response else {
            return;
        };
        self.id = response.text("id").or_else(|| self.id.take());
        self.model = response.text("model").or_else(|| self.model.take());
    }

    /// Returns the failure in `text`: its error object, else all of it.
    fn failed(&mut self, text: &str) -> WireError {
        self.closed = true;
        let error = Members::parse(text).and_then(|fields| fields.raw("error"));
        WireError::Service(error.unwrap_or(text).to_owned())
    }

    fn push(&mut self, kind: Kind, index: Option<u64>, id: Option<String>) -> usize {
        let number = self.calls;
        self.calls += usize::from(kind == Kind::Call);
        self.states
            .push(OutputItemState::new(kind, number, index, id));
        self.states.len() - 1
    }

    /// Finds the item of an event: by its id, else the open one at its place, else the last open one that
    /// nothing speaks against.
    fn find(&self, kind: Kind, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let of_kind = |state: &OutputItemState| state.kind == kind;
        let open = |state: &OutputItemState| of_kind(state) && !state.closed;
        let by_id =
            |state: &OutputItemState| of_kind(state) && id.is_some() && state.id.as_deref() == id;
        let by_place =
            |state: &OutputItemState| open(state) && index.is_some() && state.index == index;
        let fits = |state: &OutputItemState| {
            let id_fits = id.is_none() || state.id.is_none();
            let place_fits = index.is_none() || state.index.is_none();
            open(state) && id_fits && place_fits
        };
        let last = |test: &dyn Fn(&OutputItemState) -> bool| self.states.iter().rposition(test);
        last(&by_id)
            .or_else(|| last(&by_place))
            .or_else(|| last(&fits))
    }

    /// Returns the item that a piece belongs to; a piece may come before its item.
    fn state(&mut self, kind: Kind, event: &Members<'_>) -> &mut OutputItemState {
        let (index, id) = (event.count("output_index"), event.text("item_id"));
        let found = self.find(kind, index, id.as_deref());
        let place = found.unwrap_or_else(|| self.push(kind, index, id));
        &mut self.states[place]
    }

    fn delta(&mut self, kind: Kind, event: &Members<'_>) -> Vec<Event> {
        let piece = event.text("delta").unwrap_or_default();
        let state = self.state(kind, event);
        let event = if state.closed {
            None
        } else {
            state.append(&piece)
        };
        event.into_iter().collect()
    }

    fn thinking(&mut self, event: &Members<'_>, summary: bool, part: &str) -> Vec<Event> {
        let part = event.count(part);
        let state = self.state(Kind::Reasoning, event);
        if state.closed {
            return Vec::new();
        }
        let begin = state.begin_part(summary, part);
        begin
            .into_iter()
            .chain(self.delta(Kind::Reasoning, event))
            .collect()
    }

    fn added(&mut self, event: &Members<'_>) -> Vec<Event> {
        let Some((item, kind, id)) = item_of(event) else {
            return Vec::new();
        };
        let index = event.count("output_index");
        let found = self.find(kind, index, id.as_deref());
        let same = |state: &OutputItemState| !state.opened || (id.is_some() && state.id == id);
        let found = found.filter(|place| same(&self.states[*place]));
        let place = found.unwrap_or_else(|| self.push(kind, index, id));
        let state = &mut self.states[place];
        if state.closed {
            return Vec::new();
        }
        state.index = state.index.or(index);
        state.open(&item).into_iter().collect()
    }

    fn done(&mut self, event: &Members<'_>) -> Vec<Event> {
        let Some((item, kind, id)) = item_of(event) else {
            return Vec::new();
        };
        let index = event.count("output_index");
        let found = self.find(kind, index, id.as_deref());
        let place = found.unwrap_or_else(|| self.push(kind, index, id));
        let state = &mut self.states[place];
        state.index = state.index.or(index);
        if state.closed {
            Vec::new()
        } else {
            state.close(&item)
        }
    }

    /// Takes the closing event. `default` is the status of a response without its own.
    fn close(&mut self, response: &Members<'_>, default: &str) -> Result<Vec<Event>, WireError> {
        self.note(Some(response));
        let status = response.text("status");
        if status.as_deref() == Some("failed")
            && let Some(error) = response.raw("error")
        {
            self.closed = true;
            return Err(WireError::Service(error.to_owned()));
        }
        let reason = response.object("incomplete_details");
        let reason = reason.and_then(|details| details.text("reason"));
        let status = status.as_deref().unwrap_or(default);
        let mut events = self.complete(&response.items("output"));
        if reason.is_none() && matches!(status, "completed" | "done") {
            for state in &mut self.states {
                events.extend(state.close_early());
            }
        }
        self.order();
        let native = self
            .states
            .iter()
            .filter_map(OutputItemState::native)
            .collect();
        let id = self.id.clone().unwrap_or_default();
        let states = std::mem::take(&mut self.states).into_iter();
        let content: Vec<Block> = states.filter_map(|state| state.block(&id)).collect();
        let calls = content
            .iter()
            .any(|block| matches!(block, Block::ToolCall(_)));
        self.closed = true;
        events.push(Event::Done(Answer {
            stop_reason: stop_reason(status, reason.as_deref(), calls),
            usage: usage(response),
            content,
            native,
            id: self.id.take(),
            model: self.model.take(),
        }));
        Ok(events)
    }

    /// Takes the items of the closing event; those that came already are skipped. The n-th item of a kind is the n-th
    /// that came of that kind, because ids sometimes differ.
    fn complete(&mut self, output: &[&str]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut seen: Vec<Kind> = Vec::new();
        self.order();
        for (index, text) in output.iter().enumerate() {
            let Some(item) = Members::parse(text) else {
                continue;
            };
            let kind = Kind::of(&item);
            let nth = seen.iter().filter(|known| **known == kind).count();
            seen.push(kind);
            let mut places =
                (0..self.states.len()).filter(|place| self.states[*place].kind == kind);
            let place = places
                .nth(nth)
                .unwrap_or_else(|| self.push(kind, Some(index as u64), item.text("id")));
            let state = &mut self.states[place];
            if !state.closed
                && let Ok(item) = RawJson::parse(text)
            {
                events.extend(state.close(&item));
            }
        }
        events
    }

    /// Brings the items into the order of their places, where each has its own.
    fn order(&mut self) {
        let mut places: Vec<Option<u64>> = self.states.iter().map(|state| state.index).collect();
        places.sort_unstable();
        let apart = places.windows(2).all(|pair| pair[0] != pair[1]);
        if apart && !places.contains(&None) {
            self.states.sort_by_key(|state| state.index);
        }
    }
}

/// Returns the item of an event, its kind, and its id.
fn item_of(event: &Members<'_>) -> Option<(RawJson, Kind, Option<String>)> {
    let text = event.raw("item")?;
    let fields = Members::parse(text)?;
    let id = fields.text("id").or_else(|| event.text("item_id"));
    Some((RawJson::parse(text).ok()?, Kind::of(&fields), id))
}

fn stop_reason(status: &str, reason: Option<&str>, calls: bool) -> StopReason {
    match (reason, status) {
        (Some("max_output_tokens" | "max_tokens"), _) => StopReason::Length,
        (Some(reason), _) => StopReason::Other(reason.to_owned()),
        (None, "incomplete" | "cancelled" | "failed") => StopReason::Other(status.to_owned()),
        (None, _) if calls => StopReason::ToolUse,
        (None, _) => StopReason::Stop,
    }
}

/// Returns the billed usage of a response. The protocol counts cached tokens as input; `Usage` does not.
pub(crate) fn usage(response: &Members<'_>) -> Usage {
    let Some(usage) = response.object("usage") else {
        return Usage {
            incomplete: true,
            ..Usage::default()
        };
    };
    let details = usage.object("input_tokens_details");
    let detail = |key| {
        details
            .as_ref()
            .and_then(|details| details.count(key))
            .unwrap_or(0)
    };
    let (input, output) = (usage.count("input_tokens"), usage.count("output_tokens"));
    let (cache_read, cache_write) = (detail("cached_tokens"), detail("cache_write_tokens"));
    let fresh = input.unwrap_or(0).saturating_sub(cache_read);
    Usage {
        input: fresh.saturating_sub(cache_write),
        output: output.unwrap_or(0),
        cache_read,
        cache_write,
        total_tokens: usage.count("total_tokens").unwrap_or(0),
        incomplete: input.is_none() || output.is_none(),
    }
}
