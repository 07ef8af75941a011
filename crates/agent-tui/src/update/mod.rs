//! The one function that changes the state.

mod answers;
mod keys;
mod session;
mod slash;

use std::time::Duration;

use crate::complete;
use crate::report::Built;
use crate::state::{Action, FullScreen, Input, LEAVE_WITHIN, State};

/// Takes in what happened; returns what is to be done.
pub fn update(state: &mut State, input: Input) -> Vec<Action> {
    match input {
        Input::Key(key) => keys::key(state, key),
        Input::Paste(text) => {
            if state.full.is_none() {
                state.editor.paste(&text);
            }
            typed(state)
        }
        Input::Resize(size) => {
            state.setup.size = size;
            Vec::new()
        }
        Input::Session(event) => session::event(state, event),
        Input::Answered(purpose, answer) => answers::answered(state, purpose, answer),
        Input::Built(built) => {
            show(state, built);
            Vec::new()
        }
        Input::Files(files) => {
            state.files = Some(files);
            state.menu = complete::menu_of(state);
            Vec::new()
        }
        Input::NoModel(why) => {
            state.error(why);
            Vec::new()
        }
        Input::Tick(now) => {
            state.now = now;
            let is_late = |since: Duration| now.saturating_sub(since) > LEAVE_WITHIN;
            state.leaving = state.leaving.filter(|since| !is_late(*since));
            Vec::new()
        }
    }
}

/// Follows a change of the editor.
fn typed(state: &mut State) -> Vec<Action> {
    state.menu = complete::menu_of(state);
    let wanted = complete::wanted_files(state);
    if wanted.is_some() {
        // They are on their way.
        state.files = Some(Vec::new());
    }
    wanted.into_iter().collect()
}

fn show(state: &mut State, built: Built) {
    match built {
        Built::Fill { fixed } => state.fixed = fixed,
        Built::History { blocks, prompts } => {
            state.editor.remember(prompts);
            for block in blocks {
                state.push(block);
            }
        }
        Built::Page(pager) => state.full = Some(FullScreen::Page(pager)),
        Built::Tree(tree) => state.full = Some(FullScreen::Tree(tree)),
        Built::Nothing(why) => state.push(crate::block::Block::Text(vec![why])),
    }
}
