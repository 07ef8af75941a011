//! The one function that changes the state.

mod answers;
mod keys;
mod session;
mod slash;

use std::time::Duration;

use session_protocol::{Command, CompactionChoices, CompactionRequest};

use crate::block::Block;
use crate::complete;
use crate::picker::{Choices, Picker};
use crate::report::Built;
use crate::state::{Action, FullScreen, Input, LEAVE_WITHIN, State, Where};
use crate::text::text_of;

/// Takes in what happened; returns what is to be done.
pub fn update(state: &mut State, input: Input) -> Vec<Action> {
    match input {
        Input::Key(key) => keys::key(state, key),
        Input::Paste(_) if state.full.is_some() => Vec::new(),
        Input::Paste(text) => match image_path(&text) {
            Some(path) => vec![Action::ReadImage(path, text)],
            None => paste(state, &text),
        },
        Input::Image(text, None) => paste(state, &text),
        Input::Image(text, Some(image)) => {
            let path = image_path(&text).unwrap_or(text);
            let name = path.rsplit('/').next().unwrap_or_default();
            state.editor.attach(name, image);
            typed(state)
        }
        Input::Done(done) => {
            match done {
                Ok(text) => state.push(Block::Text(text.lines().map(str::to_owned).collect())),
                Err(why) => state.error(why),
            }
            Vec::new()
        }
        Input::Resize(size) => {
            state.setup.size = size;
            Vec::new()
        }
        Input::Session(event) => session::event(state, event),
        Input::Answered(purpose, answer) => answers::answered(state, purpose, answer),
        Input::Built(built) => show(state, built),
        Input::Sessions(wanted, sessions) => {
            match sessions {
                Ok(items) if items.is_empty() && wanted == Where::Here => {
                    return vec![Action::ListSessions(Where::Everywhere)];
                }
                Ok(items) if items.is_empty() => state.error("there is no other session"),
                Ok(items) => {
                    let picker = Picker::new(Choices::Session(wanted), items);
                    state.full = Some(FullScreen::Picker(Box::new(picker)));
                }
                Err(why) => state.error(why),
            }
            Vec::new()
        }
        Input::Prompts(prompts) => {
            state.editor.remember_older(prompts);
            Vec::new()
        }
        Input::Ran(ran) => {
            state.waiting = None;
            slash::ran(state, *ran)
        }
        Input::Edited(text) => {
            let (width, theme) = (state.width(), state.theme);
            if let Some(FullScreen::Review(review)) = &mut state.full {
                review.edited(text, width, theme);
            }
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

fn paste(state: &mut State, text: &str) -> Vec<Action> {
    state.editor.paste(text);
    typed(state)
}

/// Returns the path that a pasted text is, where its name is that of an image: terminals paste the path of a file that
/// is dropped on them, in quotes or with backslashes where it has spaces.
fn image_path(text: &str) -> Option<String> {
    let text = text.trim();
    let (_, end) = text.rsplit_once('.')?;
    let end = end.trim_end_matches(['\'', '"']).to_ascii_lowercase();
    let is_image = ["png", "jpg", "jpeg", "gif", "webp"].contains(&end.as_str());
    if !is_image || text.contains('\n') {
        return None;
    }
    match shlex::split(text).as_deref() {
        Some([path]) => Some(path.clone()),
        Some(_) | None => Some(text.to_owned()),
    }
}

/// Follows a change of the editor.
fn typed(state: &mut State) -> Vec<Action> {
    state.leaving = None;
    state.menu = complete::menu_of(state);
    let wanted = complete::wanted_files(state);
    if wanted.is_some() {
        // They are on their way.
        state.files = Some(Vec::new());
    }
    wanted.into_iter().collect()
}

fn show(state: &mut State, built: Built) -> Vec<Action> {
    let is_asked = !matches!(
        built,
        Built::Fill { .. } | Built::History { .. } | Built::Stopped
    );
    if is_asked && !state.runs_command() {
        state.waiting = None;
    }
    match built {
        Built::Stopped => {}
        Built::Fill { fixed } => state.fixed = fixed,
        Built::History { blocks, prompts } => {
            state.editor.remember(prompts);
            for block in blocks {
                state.push(block);
            }
        }
        Built::Page(pager) => state.full = Some(FullScreen::Page(pager)),
        Built::Tree(tree) => state.full = Some(FullScreen::Tree(tree)),
        Built::Settings(mut items) => {
            for item in &mut items {
                if let Some(meaning) = state.setup.meanings.get(&item.text) {
                    item.about = format!("{}  {meaning}", item.about);
                }
            }
            let picker = match state.full.take() {
                Some(FullScreen::Picker(picker)) if picker.choices == Choices::Setting => {
                    picker.with(items)
                }
                Some(_) | None => Picker::new(Choices::Setting, items),
            };
            state.full = Some(FullScreen::Picker(Box::new(picker)));
        }
        Built::Preview(view) if state.setup.plain => {
            let lines = view.lines(state.width(), state.theme);
            let lines = lines.iter().map(text_of).collect();
            state.push(Block::Text(lines));
            return vec![compact(view.request)];
        }
        Built::Preview(view) => {
            let view = match &state.full {
                Some(FullScreen::Preview(before)) => view.at_row_of(before),
                // It was left meanwhile.
                Some(_) | None if view.request.choices != CompactionChoices::default() => {
                    return Vec::new();
                }
                Some(_) | None => *view,
            };
            state.full = Some(FullScreen::Preview(Box::new(view)));
        }
        Built::NoPreview(request) => return vec![compact(request)],
        Built::Copy(text) => return vec![Action::Copy(text)],
        Built::Nothing(why) => state.push(Block::Text(vec![why])),
    }
    Vec::new()
}

/// Asks for a compaction.
fn compact(request: CompactionRequest) -> Action {
    Action::command("compact", Command::Compact(request))
}
