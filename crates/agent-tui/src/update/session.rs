//! What the session reports.

use session_protocol::Ask;
use session_protocol::SessionEvent;
use session_protocol::event::CompactionResult;
use session_text::{Announcement, call_text, session_start};

use crate::block::{Block, ToolCard};
use crate::gauge::ContextFigures;
use crate::markdown;
use crate::report::Report;
use crate::review::ReviewView;
use crate::state::{
    Action, Approval, Compacting, FullScreen, Live, Next, Purpose, Queued, RunningCall,
    SessionFacts, State,
};

pub(super) fn event(state: &mut State, event: SessionEvent) -> Vec<Action> {
    for said in Announcement::of(&event) {
        flush(state);
        state.push(Block::Announcement(said));
    }
    if let Some(parts) = session_start(&event, "") {
        state.push(Block::Header(parts));
    }
    match event {
        SessionEvent::SessionStart {
            session_id,
            path,
            cwd,
            model,
            entries,
            ..
        } => {
            state.session = SessionFacts {
                id: session_id,
                path,
                cwd,
                model,
            };
            let mut actions = figures();
            if entries > 0 {
                actions.push(report(Report::History));
            }
            return actions;
        }
        SessionEvent::SessionSwitch {
            session_id, path, ..
        } => {
            state.session.id = session_id;
            state.session.path = path;
            return figures();
        }
        SessionEvent::Queued { id, text, delivery } => state.queue.push(Queued {
            id,
            text,
            delivery: delivery.into_owned(),
        }),
        SessionEvent::Message { entry_id, text } => {
            flush(state);
            state.queue.retain(|message| message.id != entry_id);
            state.push(Block::User(text));
        }
        SessionEvent::TurnStart => {
            state.live.since.get_or_insert(state.now);
        }
        SessionEvent::TextDelta { text } => text_delta(state, &text),
        SessionEvent::ThinkingDelta { text } => {
            if state.live.thinking.is_empty() {
                state.live.thinking_since = state.now;
            }
            state.live.thinking.push_str(&text);
        }
        SessionEvent::Answer {
            text,
            stop_reason,
            error,
            usage,
            cost_usd,
            ..
        } => {
            let is_seen = state.live.has_printed || !state.live.answer.is_empty();
            if !is_seen && !text.trim().is_empty() {
                state.live.answer = text;
            }
            flush(state);
            state.live.has_printed = false;
            add_usage(state, &usage, cost_usd);
            if stop_reason == "length" && error.is_none() {
                state.error("the answer was cut off by its output cap");
            }
        }
        SessionEvent::ToolStart {
            call_id,
            name,
            arguments,
        } => {
            flush(state);
            let call = call_text(&name, &arguments);
            state.live.calls.push(RunningCall {
                id: call_id,
                call,
                since: state.now,
                tail: String::new(),
            });
        }
        SessionEvent::ToolUpdate { call_id, output } => {
            let mut calls = state.live.calls.iter_mut();
            if let Some(call) = calls.find(|call| call.id == call_id) {
                call.tail = output;
            }
        }
        SessionEvent::ToolEnd {
            call_id,
            name,
            is_error,
            seconds,
            output,
            truncated,
            details,
        } => {
            let place = state.live.calls.iter().position(|call| call.id == call_id);
            let call = place.map(|place| state.live.calls.remove(place).call);
            state.push(Block::Tool(Box::new(ToolCard {
                call: call.unwrap_or_else(|| name.clone()),
                name,
                seconds,
                is_error,
                output,
                truncated,
                details,
            })));
        }
        SessionEvent::ApprovalRequest {
            call_id,
            tool,
            subject,
        } => state.approvals.push_back(Approval {
            call_id,
            tool,
            subject,
            since: state.now,
            choice: None,
        }),
        SessionEvent::ApprovalEnd { call_id, .. } => {
            state.approvals.retain(|asked| asked.call_id != call_id);
            // It runs from now on.
            let mut calls = state.live.calls.iter_mut();
            if let Some(call) = calls.find(|call| call.id == call_id) {
                call.since = state.now;
            }
            if let Some(next) = state.approvals.front_mut() {
                next.since = state.now;
            }
        }
        SessionEvent::Context {
            tokens,
            window,
            threshold,
            estimated,
        } => {
            state.context = Some(ContextFigures {
                tokens,
                window,
                threshold,
                estimated,
            });
        }
        SessionEvent::Promoted { to, .. } => state.session.model = to,
        SessionEvent::AutoCompactionStart { reason, strategy }
        | SessionEvent::CompactionStart { reason, strategy } => {
            flush(state);
            state.compaction = Some(Compacting {
                since: state.now,
                reason: reason.into_owned(),
                text: strategy.into_owned(),
            });
        }
        SessionEvent::CompactionReview {
            summary,
            tokens_before,
            tokens_after,
            error,
        } => {
            let sizes = (tokens_before, tokens_after);
            let opens_editor = std::mem::take(&mut state.edits_summary) && error.is_none();
            let edit = opens_editor.then(|| Action::Edit(summary.clone()));
            let review = ReviewView::new(summary, error, sizes, state.width(), state.theme);
            state.full = Some(FullScreen::Review(Box::new(review)));
            return edit.into_iter().collect();
        }
        SessionEvent::CompactionProgress { text, .. } => {
            if let Some(compaction) = &mut state.compaction {
                compaction.text = text;
            }
        }
        SessionEvent::AutoCompactionEnd {
            reason,
            result,
            aborted,
            error,
            ..
        }
        | SessionEvent::CompactionEnd {
            reason,
            result,
            aborted,
            error,
            ..
        } => {
            state.compaction = None;
            state.edits_summary = false;
            if let Some(FullScreen::Review(_)) = state.full {
                state.full = None;
            }
            return compacted(state, &reason, result, aborted, error);
        }
        SessionEvent::Navigated {
            editor_text,
            cancelled: false,
            ..
        } => {
            if let Some(text) = editor_text.filter(|_| state.editor.is_empty()) {
                state.editor.set_text(&text);
            }
            return figures();
        }
        SessionEvent::Error { message } => {
            flush(state);
            state.error(message);
        }
        SessionEvent::TurnEnd { end, error } => {
            flush(state);
            state.live = Live::default();
            state.approvals.clear();
            if let Some(error) = error.filter(|_| end != "aborted") {
                state.error(error);
            }
        }
        SessionEvent::Idle { .. } => {
            flush(state);
            state.live = Live::default();
            state.compaction = None;
            return figures();
        }
        SessionEvent::SessionEnd { .. } => {
            flush(state);
            state.is_closing = true;
            return vec![Action::Leave(Next::Quit)];
        }
        // What is announced needs nothing else.
        _ => {}
    }
    Vec::new()
}

/// Asks for the figures of the status line.
fn figures() -> Vec<Action> {
    vec![
        Action::Ask(Purpose::Figures, Ask::State),
        report(Report::Fill),
    ]
}

fn report(report: Report) -> Action {
    Action::Ask(Purpose::Report(report), Ask::Snapshot)
}

fn add_usage(state: &mut State, usage: &session_protocol::event::TokenUsage, cost: Option<f64>) {
    let spent = &mut state.spent;
    spent.usage += *usage;
    if let Some(cost) = cost {
        *spent.cost_usd.get_or_insert(0.0) += cost;
    }
}

/// Takes in more of the answer, and prints the blocks that are complete.
fn text_delta(state: &mut State, text: &str) {
    end_thinking(state);
    let live = &mut state.live;
    live.answer.push_str(text);
    // A block ends with a line.
    if !text.contains('\n') {
        return;
    }
    let done = markdown::complete(&live.answer);
    if live.answer[..done].trim().is_empty() {
        return;
    }
    let rest = live.answer.split_off(done);
    let block = std::mem::replace(&mut live.answer, rest);
    live.has_printed = true;
    state.push(Block::Answer(block.trim_end().to_owned()));
}

fn end_thinking(state: &mut State) {
    let text = std::mem::take(&mut state.live.thinking);
    if !text.trim().is_empty() {
        let seconds = state.now.saturating_sub(state.live.thinking_since);
        state.push(Block::Thinking {
            text,
            seconds: seconds.as_secs_f64(),
        });
    }
}

/// Prints what was still written.
fn flush(state: &mut State) {
    end_thinking(state);
    let text = std::mem::take(&mut state.live.answer);
    if !text.trim().is_empty() {
        state.live.has_printed = true;
        state.push(Block::Answer(text.trim_end().to_owned()));
    }
}

fn compacted(
    state: &mut State,
    reason: &str,
    result: Option<CompactionResult>,
    aborted: bool,
    error: Option<String>,
) -> Vec<Action> {
    match (result, error) {
        (Some(result), _) => {
            state.compactions += 1;
            if let Some(cost) = result.cost_usd {
                *state.spent.cost_usd.get_or_insert(0.0) += cost;
            }
            state.push(Block::Compaction {
                reason: reason.to_owned(),
                result: Box::new(result),
            });
            return figures();
        }
        (None, _) if aborted => {
            let text = "compaction cancelled; the session is as it was".to_owned();
            state.push(Block::Text(vec![text]));
        }
        // What was asked for is refused in the answer too, which comes later.
        (None, Some(error)) => state.error(error),
        (None, None) => {}
    }
    Vec::new()
}
