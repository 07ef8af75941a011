//! Drawing: from the state to the cells of a frame.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::live;
use crate::menu::Kind;
use crate::state::{FullScreen, State};
use crate::status;
use crate::text::{columns, cut, fitting, line, title};

/// The most rows of the editor.
const EDITOR_ROWS: usize = 8;

/// The most rows of the menu.
const MENU_ROWS: usize = 8;

/// What stands in front of the prompt.
const MARK: &str = "> ";

/// The rows of the viewport from the top to the bottom.
struct Rows {
    live: Vec<Line<'static>>,
    editor: usize,
    menu: Vec<Line<'static>>,
    status: Line<'static>,
}

impl Rows {
    fn of(state: &State) -> Self {
        let width = state.width();
        let height = usize::from(state.setup.size.height).max(4);
        let editor_width = width.saturating_sub(columns(MARK)).max(1);
        let most = EDITOR_ROWS.min(height / 2).max(1);
        let editor = state.editor.rows(editor_width).clamp(1, most);
        let menu = menu(
            state,
            width,
            MENU_ROWS.min(height.saturating_sub(editor + 2)),
        );
        // A blank line above the editor, and the status line.
        let room = height.saturating_sub(editor + menu.len() + 2);
        Self {
            live: live::lines(state, width, room),
            editor,
            menu,
            status: match state.leaving {
                Some(_) => status::leave_hint(width, state.theme),
                None => status::line(state, width),
            },
        }
    }

    fn height(&self) -> usize {
        self.live.len() + 1 + self.editor + self.menu.len() + 1
    }
}

/// Returns how many rows the viewport needs.
pub fn height(state: &State) -> u16 {
    let rows = Rows::of(state).height();
    u16::try_from(rows)
        .unwrap_or(u16::MAX)
        .min(state.setup.size.height.max(1))
}

/// Draws the state: the viewport at the end of the transcript, or a view that takes the whole screen.
pub fn view(state: &State, frame: &mut Frame<'_>) {
    match &state.full {
        None => viewport(state, frame),
        Some(FullScreen::Page(pager)) => {
            let area = frame.area();
            let height = usize::from(area.height);
            let title = line(cut(&pager.title, state.width()), state.theme.bold());
            let shown = pager.shown(height);
            let last = pager.top + shown.len();
            let place = format!("{last} of {} lines", pager.lines.len());
            let keys = [&place, "up/down/space move"];
            let keys = fitting(&keys, "esc closes", "   ", state.width());
            let keys = line(keys, state.theme.dim());
            full(frame, &title, shown, &keys);
        }
        Some(FullScreen::Review(review)) => {
            let height = usize::from(frame.area().height);
            let title = title(&review.page.title, state.width());
            let title = line(title, state.theme.bold());
            let keys = ["enter apply", "e edit", "up/down move"];
            let keys = fitting(&keys, "esc cancel", "  ", state.width());
            let keys = line(keys, state.theme.dim());
            full(frame, &title, review.page.shown(height), &keys);
        }
        Some(FullScreen::Preview(preview)) => {
            let height = usize::from(frame.area().height);
            let (title, lines, keys) = preview.draw(state.width(), height, state.theme);
            full(frame, &title, &lines, &keys);
        }
        Some(FullScreen::Picker(picker)) => {
            let height = usize::from(frame.area().height);
            let (title, lines, keys) = picker.draw(state.width(), height, state.theme);
            full(frame, &title, &lines, &keys);
        }
        Some(FullScreen::Tree(tree)) => {
            let height = usize::from(frame.area().height);
            let drawn = tree.draw(state.width(), height, state.theme);
            full(frame, &drawn.title, &drawn.rows, &drawn.keys);
        }
    }
}

/// Draws a title, lines and help on the whole screen.
fn full(
    frame: &mut Frame<'_>,
    title: &Line<'static>,
    lines: &[Line<'static>],
    keys: &Line<'static>,
) {
    let area = frame.area();
    put(frame, title, area.y);
    for (row, line) in (area.y + 1..area.bottom().saturating_sub(1)).zip(lines) {
        put(frame, line, row);
    }
    put(frame, keys, area.bottom().saturating_sub(1));
}

/// Draws a line in a row.
fn put(frame: &mut Frame<'_>, line: &Line<'_>, row: u16) {
    let area = frame.area();
    if row < area.bottom() {
        let row = Rect::new(area.x, row, area.width, 1);
        frame.render_widget(line, row);
    }
}

fn viewport(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    let rows = Rows::of(state);
    let mut row = area.y;
    for line in &rows.live {
        put(frame, line, row);
        row += 1;
    }
    // A blank line.
    row += 1;
    let mark = Line::from(Span::styled(MARK, state.theme.bold()));
    put(frame, &mark, row);
    let left = u16::try_from(columns(MARK)).unwrap_or(2).min(area.width);
    let height = u16::try_from(rows.editor).unwrap_or(1);
    let height = height.min(area.bottom().saturating_sub(row));
    let editor = Rect::new(area.x + left, row, area.width - left, height);
    if !editor.is_empty() {
        frame.render_widget(state.editor.area(), editor);
        let cursor = state.editor.area().screen_cursor();
        let (top, _) = state.editor.area().scroll_offset();
        let down = u16::try_from(cursor.row)
            .unwrap_or(u16::MAX)
            .saturating_sub(top);
        let right = u16::try_from(cursor.col).unwrap_or(u16::MAX);
        frame.set_cursor_position(Position::new(
            editor
                .x
                .saturating_add(right)
                .min(editor.right().saturating_sub(1)),
            editor
                .y
                .saturating_add(down)
                .min(editor.bottom().saturating_sub(1)),
        ));
        if state.editor.is_empty() && !state.is_asked() {
            let (hints, last) = match state.is_working() {
                true => (
                    &["type to steer", "alt+enter sends after this turn"][..],
                    "esc stops",
                ),
                false => (&["ask something", "/ for commands", "@ for files"][..], ""),
            };
            let hint = fitting(hints, last, ", ", usize::from(editor.width));
            frame.render_widget(line(hint, state.theme.dim()), editor);
        }
    }
    row += height;
    for line in &rows.menu {
        put(frame, line, row);
        row += 1;
    }
    put(frame, &rows.status, row);
}

/// Returns the menu in at most `most` rows.
fn menu(state: &State, width: usize, most: usize) -> Vec<Line<'static>> {
    let Some(menu) = &state.menu else {
        return Vec::new();
    };
    let most = most.max(1);
    let top = menu.chosen.saturating_sub(most.saturating_sub(1));
    let sign = match menu.kind {
        Kind::Command => "/",
        Kind::Model => "",
        Kind::File => "@",
    };
    let names = menu.items.iter().map(|item| columns(&item.name));
    let wide = names.max().unwrap_or(0).min(width / 2) + 2;
    let rows = menu.items.iter().enumerate().skip(top).take(most);
    rows.map(|(place, item)| {
        let name = cut(&item.name, width.saturating_sub(4));
        let gap = wide.saturating_sub(columns(&name)).max(2);
        let text = format!("  {sign}{name}{:gap$}{}", "", item.about);
        let style = match place == menu.chosen {
            true => state.theme.chosen(),
            false => state.theme.plain(),
        };
        line(cut(text.trim_end(), width), style)
    })
    .collect()
}
