//! Terminal output of a command as plain text: no escape sequences, no control characters.

use crate::text::REPLACEMENT;

/// The longest escape sequence that is waited out, in characters.
const LONGEST: usize = 4096;

/// The position in an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character; one more character ends it.
    Intermediate,
    /// In a control sequence, up to its final character.
    Control,
    /// In a string for the terminal, up to its terminator.
    String { length: usize },
    /// After ESC in such a string.
    StringEscape,
}

/// Turns bytes, in pieces of any size, into plain text.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// The beginning of a character whose rest is still to come.
    partial: Vec<u8>,
    state: State,
    carriage_return: bool,
}

impl Screen {
    /// Appends the plain text of `bytes` to `text`.
    pub(super) fn feed(&mut self, bytes: &[u8], text: &mut String) {
        let mut joined = std::mem::take(&mut self.partial);
        joined.extend_from_slice(bytes);
        let mut rest = joined.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(good) => {
                    self.show_all(good, text);
                    return;
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    self.show_all(std::str::from_utf8(good).unwrap_or_default(), text);
                    let Some(length) = error.error_len() else {
                        self.partial = bad.to_vec();
                        return;
                    };
                    self.show(REPLACEMENT, text);
                    rest = &bad[length..];
                }
            }
        }
    }

    /// Adds what is left when nothing more comes.
    pub(super) fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.show(REPLACEMENT, text);
        }
        if std::mem::take(&mut self.carriage_return) {
            text.push('\n');
        }
    }

    fn show_all(&mut self, good: &str, text: &mut String) {
        for character in good.chars() {
            self.show(character, text);
        }
    }

    fn show(&mut self, character: char, text: &mut String) {
        self.state = match self.state {
            State::Text => self.show_text(character, text),
            State::Escape => match character {
                '[' => State::Control,
                ']' | 'P' | 'X' | '^' | '_' => State::String { length: 0 },
                ' '..='/' => State::Intermediate,
                '0'..='~' => State::Text,
                other => self.show_text(other, text),
            },
            State::Intermediate => match character {
                ' '..='/' => State::Intermediate,
                '0'..='~' => State::Text,
                other => self.show_text(other, text),
            },
            State::Control => match character {
                ' '..='?' => State::Control,
                '@'..='~' => State::Text,
                other => self.show_text(other, text),
            },
            State::String { length } => match character {
                '\u{7}' | '\u{9c}' => State::Text,
                '\u{1b}' => State::StringEscape,
                // A string without an end does not swallow the rest of the output.
                '\n' => self.show_text('\n', text),
                _ if length >= LONGEST => State::Text,
                _ => State::String { length: length + 1 },
            },
            State::StringEscape => match character {
                '\\' => State::Text,
                other => {
                    self.state = State::Escape;
                    self.show(other, text);
                    self.state
                }
            },
        };
    }

    fn show_text(&mut self, character: char, text: &mut String) -> State {
        let returned = std::mem::take(&mut self.carriage_return);
        if returned && !matches!(character, '\n' | '\r') {
            // Progress that is written over itself becomes lines.
            text.push('\n');
        }
        match character {
            '\u{1b}' => return State::Escape,
            '\u{9b}' => return State::Control,
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => return State::String { length: 0 },
            '\r' => self.carriage_return = true,
            '\n' | '\t' => text.push(character),
            control if control.is_control() => text.push(REPLACEMENT),
            plain => text.push(plain),
        }
        State::Text
    }
}
