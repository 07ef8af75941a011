//! What the session answers.

use compaction_core::TokenCount;
use session_model::text::first_line;
use session_protocol::{Answer, Ask, RefusalKind, Reply, StateReport};
use session_text::{counted, tokens};

use crate::block::Block;
use crate::gauge::ContextFigures;
use crate::report::Report;
use crate::state::{Action, FullScreen, Purpose, State, Waiting, Work};
use crate::text::safe_line;

pub(super) fn answered(state: &mut State, purpose: Purpose, answer: Answer) -> Vec<Action> {
    let reply = match answer {
        Ok(reply) => reply,
        Err(refusal) => {
            refused(state, &purpose, refusal.kind, refusal.message);
            return Vec::new();
        }
    };
    match (purpose, reply) {
        (Purpose::Report(report), Reply::Snapshot(mut snapshot)) => {
            if let Some(name) = report.name() {
                let tree = &mut snapshot.tree;
                tree.reset_meter();
                state.stop_waiting();
                state.waiting = Some(Waiting {
                    name: name.to_owned(),
                    since: state.now,
                    work: Work::Report(tree.meter().clone(), tree.len()),
                });
            }
            return vec![Action::Build(report, snapshot)];
        }
        (Purpose::Export(file), Reply::Snapshot(session)) => {
            return vec![Action::Export(file, session)];
        }
        (Purpose::TakeBack, Reply::TakenBack(message)) => {
            state.queue.retain(|queued| queued.id != message.message_id);
            let text = match state.editor.is_empty() {
                true => message.text,
                false => format!("{}\n{}", message.text, state.editor.shown_text()),
            };
            state.editor.set_text(&text);
        }
        (Purpose::Figures, Reply::State(report)) => {
            state.context = Some(ContextFigures {
                tokens: report.context.tokens,
                window: report.window,
                threshold: report.context.threshold,
                estimated: report.context.estimated,
            });
            state.session.model = report.model;
        }
        (Purpose::Cost, Reply::State(report)) => state.push(Block::Text(cost(&report))),
        (Purpose::Pins, Reply::Pins(report)) => {
            let mut lines: Vec<String> = report
                .pins
                .iter()
                .map(|pin| {
                    let size = tokens(TokenCount(pin.tokens));
                    format!(
                        "{}  {size:>6}  {}",
                        pin.entry_id,
                        first_line(&pin.text, 200)
                    )
                })
                .collect();
            let used = tokens(TokenCount(report.used_tokens));
            let most = tokens(TokenCount(report.budget_tokens));
            lines.push(match report.pins.len() {
                0 => "nothing is pinned; /pin TEXT keeps a text in every summary".to_owned(),
                count => format!("{}, {used} of {most}", counted(count, "pin")),
            });
            state.push(Block::Text(lines));
        }
        (Purpose::Thinking(level), _) => {
            state.thinking = Some(level);
            let text = format!("-- thinking: {level}, from the next request on");
            state.push(Block::Text(vec![text]));
        }
        (Purpose::Set { name, value, save }, _) => {
            let set = safe_line(&format!("{name} = {value}"));
            let how = if save { "" } else { ", in this run" };
            state.push(Block::Text(vec![format!("-- {set}{how}")]));
            let mut actions = Vec::new();
            if save {
                actions.push(Action::Save(name, value));
            }
            // The list shows what is the case now.
            if let Some(FullScreen::Picker(_)) = state.full {
                let purpose = Purpose::Report(Report::Settings);
                actions.push(Action::Ask(purpose, Ask::Snapshot));
            }
            return actions;
        }
        (_, Reply::ModelSet(set)) => {
            let text = format!("-- {} answers from now on, after {}", set.model, set.from);
            state.session.model = set.model;
            state.push(Block::Text(vec![text]));
        }
        (Purpose::Command("undo"), Reply::Undone(undone)) => {
            let whose = match undone.is_ours {
                true => "",
                false => " of another program",
            };
            let text = format!("-- {}{whose} taken back; /redo does it again", undone.kind);
            state.push(Block::Text(vec![text]));
        }
        (Purpose::Command("redo"), Reply::Redone(redone)) => {
            let text = format!("-- {} done again; /undo takes it back", redone.kind);
            state.push(Block::Text(vec![text]));
        }
        (Purpose::Command("resume"), Reply::Ran(ran)) if !ran.running => {
            let text = "nothing is left to do; say what to do next".to_owned();
            state.push(Block::Text(vec![text]));
        }
        (Purpose::Command("autocompact"), _) => {
            state.push(Block::Text(vec![
                "-- automatic compaction is switched".to_owned(),
            ]));
        }
        // Events report the rest.
        _ => {}
    }
    Vec::new()
}

fn refused(state: &mut State, purpose: &Purpose, kind: RefusalKind, message: String) {
    // A message that was not kept is not lost.
    if let Purpose::Message(text) = purpose
        && state.editor.is_empty()
    {
        state.editor.set_text(text);
    }
    let is_compaction = matches!(purpose, Purpose::Command("compact" | "handoff"));
    match kind {
        // The events of the compaction have said so.
        RefusalKind::Cancelled => {}
        RefusalKind::Failed if is_compaction => {}
        RefusalKind::NothingToDo => {
            let is_said =
                matches!(state.transcript.last(), Some(Block::Error(said)) if *said == message);
            if !is_said {
                state.push(Block::Text(vec![format!("nothing to do: {message}")]));
            }
        }
        RefusalKind::Refused | RefusalKind::Failed => state.error(message),
    }
}

fn cost(report: &StateReport) -> Vec<String> {
    let usage = &report.usage;
    let read = TokenCount(usage.prompt_tokens());
    let cost = match report.cost_usd {
        Some(cost) => format!("${cost:.4}"),
        None => "prices are not known".to_owned(),
    };
    let cached = TokenCount(usage.cache_read).percent_of(read);
    vec![
        format!("cost of this run  {cost}"),
        format!("   read      {} ({cached}% from the cache)", tokens(read)),
        format!("   written   {}", tokens(TokenCount(usage.output))),
    ]
}
