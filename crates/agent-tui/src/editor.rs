//! The prompt editor: several lines, history, long pastes collapsed to a marker.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use session_store::PromptImage;
use unicode_width::UnicodeWidthChar;

/// A paste with more lines than this becomes a marker.
const PASTE_LINES: usize = 8;

/// A paste with more characters than this becomes a marker.
const PASTE_CHARS: usize = 1_000;

/// How many images are kept.
const IMAGES: usize = 20;

/// How many prompts the history keeps.
const HISTORY: usize = 500;

/// The editor of the prompt.
#[derive(Debug)]
pub struct Editor {
    area: TextArea<'static>,
    /// Texts that stand behind markers.
    pastes: Vec<(String, String)>,
    /// Images that stand behind markers. They outlast what is sent: a message may return to the editor.
    images: VecDeque<(String, PromptImage)>,
    /// How many images there were.
    image_count: usize,
    history: Vec<String>,
    /// The place in the history that is shown, and the text that was there before.
    browsing: Option<(usize, String)>,
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            area: area_of(Vec::new()),
            pastes: Vec::new(),
            images: VecDeque::new(),
            image_count: 0,
            history: Vec::new(),
            browsing: None,
        }
    }
}

fn area_of(lines: Vec<String>) -> TextArea<'static> {
    let mut area = TextArea::new(lines);
    area.set_wrap_mode(WrapMode::Glyph);
    area.set_cursor_line_style(Style::new());
    // The terminal's own cursor stands there.
    area.set_cursor_style(Style::new());
    area
}

impl Editor {
    /// Returns the widget.
    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    /// Returns what is in the editor, markers as they are shown.
    pub fn shown_text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Returns what is in the editor, with the texts behind the markers.
    pub fn text(&self) -> String {
        let mut text = self.shown_text();
        for (marker, paste) in &self.pastes {
            text = text.replace(marker, paste);
        }
        text
    }

    /// Returns whether nothing is in the editor.
    pub fn is_empty(&self) -> bool {
        self.area.lines().iter().all(String::is_empty)
    }

    /// Puts a text into the place of what is there, the cursor behind it.
    pub fn set_text(&mut self, text: &str) {
        self.area = area_of(text.split('\n').map(clean_row).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Empties the editor.
    pub fn clear(&mut self) {
        self.set_text("");
        self.pastes.clear();
        self.browsing = None;
    }

    /// Empties the editor and remembers what was in it; returns the whole text.
    pub fn submit(&mut self) -> String {
        let text = self.text();
        let shown = self.text().trim().to_owned();
        if !shown.is_empty() && self.history.last() != Some(&shown) {
            self.history.push(shown);
            let surplus = self.history.len().saturating_sub(HISTORY);
            self.history.drain(..surplus);
        }
        self.clear();
        text
    }

    /// Puts an earlier prompt into the place of what is there, long ones as a marker, as when they were pasted.
    pub fn show(&mut self, text: &str) {
        self.set_text("");
        self.paste(text);
    }

    /// Returns the earlier prompts, the oldest first.
    pub fn prompts(&self) -> Vec<String> {
        self.history.clone()
    }

    /// Adds earlier prompts, the oldest first.
    pub fn remember(&mut self, prompts: impl IntoIterator<Item = String>) {
        self.history.extend(prompts);
    }

    /// Adds prompts that are older than those that are known, the oldest first.
    pub fn remember_older(&mut self, mut prompts: Vec<String>) {
        prompts.retain(|prompt| !self.history.contains(prompt));
        if let Some((place, _)) = &mut self.browsing {
            *place += prompts.len();
        }
        self.history.splice(0..0, prompts);
    }

    /// Inserts pasted text, a long one as a marker.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines <= PASTE_LINES && text.chars().count() <= PASTE_CHARS {
            let rows: Vec<String> = text.split('\n').map(clean_row).collect();
            self.area.insert_str(rows.join("\n"));
            return;
        }
        let number = self.pastes.len() + 1;
        let size = match lines {
            0 | 1 => format!("{} characters", text.chars().count()),
            lines => format!("{lines} lines"),
        };
        let marker = format!("[paste {number}: {size}]");
        self.area.insert_str(&marker);
        self.pastes.push((marker, text));
    }

    /// Inserts an image as a marker with its name.
    pub fn attach(&mut self, name: &str, image: PromptImage) {
        self.image_count += 1;
        let marker = format!("[image {}: {}]", self.image_count, clean_row(name));
        self.area.insert_str(format!("{marker} "));
        self.images.push_back((marker, image));
        if self.images.len() > IMAGES {
            self.images.pop_front();
        }
    }

    /// Returns the images whose markers are in a text.
    pub fn images_of(&self, text: &str) -> Vec<PromptImage> {
        let images = self.images.iter();
        let images = images.filter(|(marker, _)| text.contains(marker));
        images.map(|(_, image)| image.clone()).collect()
    }

    /// Starts a new line.
    pub fn insert_newline(&mut self) {
        self.area.insert_newline();
    }

    /// Returns whether the text before the cursor ends in a backslash, and removes it.
    pub fn take_backslash(&mut self) -> bool {
        let before = self.before_cursor();
        let found = before.ends_with('\\');
        if found {
            self.area.delete_char();
        }
        found
    }

    /// Takes a key; returns whether it changed the text.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Up if key.modifiers.is_empty() && self.is_at_edge(Edge::Top) => {
                self.browse(-1)
            }
            KeyCode::Down if key.modifiers.is_empty() && self.is_at_edge(Edge::Bottom) => {
                self.browse(1)
            }
            KeyCode::Char('u') if control => self.area.delete_line_by_head(),
            // Terminals send the same for ctrl+_ and ctrl+/.
            KeyCode::Char('_' | '/' | '7') if control => self.area.undo(),
            // A marker is removed as a whole.
            KeyCode::Backspace if self.delete_marker() => true,
            _ => self.area.input(key),
        }
    }

    fn is_at_edge(&self, edge: Edge) -> bool {
        let row = self.area.screen_cursor().row;
        match edge {
            Edge::Top => row == 0,
            Edge::Bottom => {
                let cursor = self.area.cursor();
                let mut end = self.area.clone();
                end.move_cursor(CursorMove::Bottom);
                end.move_cursor(CursorMove::End);
                cursor.0 + 1 >= self.area.lines().len() && row >= end.screen_cursor().row
            }
        }
    }

    /// Moves through the history; returns whether the text changed.
    fn browse(&mut self, step: isize) -> bool {
        let place = match &self.browsing {
            Some((place, _)) => *place,
            None => self.history.len(),
        };
        let Some(next) = place.checked_add_signed(step) else {
            return false;
        };
        if next > self.history.len() || next == place {
            return false;
        }
        let draft = match self.browsing.take() {
            Some((_, draft)) => draft,
            None => self.shown_text(),
        };
        match self.history.get(next).cloned() {
            Some(text) => {
                self.show(&text);
                self.browsing = Some((next, draft));
            }
            None => self.set_text(&draft),
        }
        true
    }

    fn delete_marker(&mut self) -> bool {
        let before = self.before_cursor();
        let pastes = self.pastes.iter().map(|(marker, _)| marker);
        let images = self.images.iter().map(|(marker, _)| marker);
        let mut markers = pastes.chain(images);
        let Some(marker) = markers.find(|marker| before.ends_with(*marker)) else {
            return false;
        };
        for _ in marker.chars() {
            self.area.delete_char();
        }
        true
    }

    /// Returns the text of the cursor's line in front of the cursor.
    pub fn before_cursor(&self) -> String {
        let cursor = self.area.cursor();
        let line = self.area.lines().get(cursor.0);
        line.map_or(String::new(), |line| line.chars().take(cursor.1).collect())
    }

    /// Returns whether the cursor is on the first line.
    pub fn is_on_first_line(&self) -> bool {
        self.area.cursor().0 == 0
    }

    /// Puts a text into the place of the last `count` characters in front of the cursor.
    pub fn replace_before(&mut self, count: usize, text: &str) {
        for _ in 0..count {
            self.area.delete_char();
        }
        self.area.insert_str(clean_row(text));
    }

    /// Returns how many rows the text takes at a width.
    pub fn rows(&self, width: usize) -> usize {
        let lines = self.area.lines().iter();
        lines.map(|line| rows_of(line, width.max(1))).sum()
    }
}

/// An edge of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Top,
    Bottom,
}

/// Returns a line without control characters, for texts that did not come from keys.
fn clean_row(text: &str) -> String {
    session_model::text::clean(&text.replace('\t', "    "))
}

fn rows_of(line: &str, width: usize) -> usize {
    let mut rows = 1;
    let mut used = 0;
    for letter in line.chars() {
        let columns = letter.width().unwrap_or_default();
        if used + columns > width {
            rows += 1;
            used = 0;
        }
        used += columns;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::Editor;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn press(editor: &mut Editor, code: KeyCode) {
        editor.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn history_comes_with_up_and_the_draft_with_down() {
        let mut editor = Editor::default();
        for text in ["one", "two"] {
            editor.set_text(text);
            assert_eq!(editor.submit(), text);
        }
        editor.set_text("draft");
        let mut seen = Vec::new();
        for code in [
            KeyCode::Up,
            KeyCode::Up,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Down,
        ] {
            press(&mut editor, code);
            seen.push(editor.text());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "draft"]);
    }

    #[test]
    fn long_pastes_are_markers_and_are_sent_whole() {
        let mut editor = Editor::default();
        editor.paste("short\tone");
        assert_eq!(editor.shown_text(), "short    one");
        let long = "line\n".repeat(20);
        editor.paste(&long);
        assert_eq!(editor.shown_text(), "short    one[paste 1: 20 lines]");
        press(&mut editor, KeyCode::Backspace);
        assert_eq!(editor.shown_text(), "short    one");
        editor.paste(&long);
        let whole = format!("short    one{long}");
        assert_eq!(editor.submit(), whole);
        assert!(editor.is_empty());
        press(&mut editor, KeyCode::Up);
        assert_eq!(editor.shown_text(), "[paste 1: 20 lines]");
        assert_eq!(editor.text(), whole.trim_end());
    }
}
