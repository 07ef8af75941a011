//! A list on the whole screen of which one is chosen: sessions, models, thinking, settings.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use crate::matching::ranked;
use crate::text::{columns, cut, fitting, line, safe_line};
use crate::theme::Theme;
use crate::wanted::Where;

/// What is chosen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choices {
    /// A session to go on with.
    Session(Where),
    /// An earlier prompt.
    Prompt,
    /// The model that answers.
    Model,
    /// How much the model thinks.
    Thinking,
    /// A setting of this run.
    Setting,
    /// The colours.
    Theme,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What it is known by.
    pub key: String,
    /// What is shown and searched.
    pub text: String,
    /// What is said about it.
    pub about: String,
}

/// A list of which one is chosen.
#[derive(Debug)]
pub struct Picker {
    /// What is chosen from.
    pub choices: Choices,
    title: &'static str,
    items: Vec<Choice>,
    visible: Vec<usize>,
    at: usize,
    query: String,
}

/// What comes of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Picked {
    /// The list stays.
    Stay,
    /// The other sessions are wanted.
    Other,
    /// The list closes.
    Close,
    /// This is chosen.
    Choice(Choice),
}

impl Picker {
    /// Returns a list, its first item chosen.
    pub fn new(choices: Choices, items: Vec<Choice>) -> Self {
        Self {
            choices,
            title: match choices {
                Choices::Theme => "Colours",
                Choices::Session(Where::Here) => "Sessions of this project: choose one to continue",
                Choices::Session(Where::Everywhere) => {
                    "Sessions of every folder: choose one to continue"
                }
                Choices::Prompt => "Prompts of before: put one into the editor",
                Choices::Model => "Models: choose one",
                Choices::Thinking => "Thinking: how much the model thinks",
                Choices::Setting => "Settings of this run; /settings save NAME VALUE keeps one",
            },
            visible: (0..items.len()).collect(),
            items,
            at: 0,
            query: String::new(),
        }
    }

    /// Returns the same list with other items, searched as before.
    pub fn with(mut self, items: Vec<Choice>) -> Self {
        self.items = items;
        let at = self.at;
        self.find();
        self.at = at.min(self.visible.len().saturating_sub(1));
        self
    }

    /// Returns how many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    fn is_of_sessions(&self) -> bool {
        matches!(self.choices, Choices::Session(_))
    }

    fn find(&mut self) {
        let names: Vec<&str> = self.items.iter().map(|item| item.text.as_str()).collect();
        self.visible = ranked(&self.query, &names);
        self.at = 0;
    }

    /// Takes a key on a screen of this height.
    pub fn key(&mut self, key: KeyEvent, height: usize) -> Picked {
        let last = self.visible.len().saturating_sub(1);
        let page = room(height);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return Picked::Close,
            KeyCode::Char('c') if control => return Picked::Close,
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::PageUp => self.at = self.at.saturating_sub(page),
            KeyCode::PageDown => self.at = (self.at + page).min(last),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = last,
            KeyCode::Tab if self.is_of_sessions() => return Picked::Other,
            KeyCode::Enter => {
                let item = self.visible.get(self.at).map(|place| &self.items[*place]);
                return item.map_or(Picked::Stay, |item| Picked::Choice(item.clone()));
            }
            KeyCode::Backspace => {
                self.query.pop();
                self.find();
            }
            KeyCode::Char(letter) if !control => {
                self.query.push(letter);
                self.find();
            }
            _ => {}
        }
        Picked::Stay
    }

    /// Returns the first line, the lines below it, and the last line.
    pub fn draw(
        &self,
        width: usize,
        height: usize,
        theme: Theme,
    ) -> (Line<'static>, Vec<Line<'static>>, Line<'static>) {
        let page = room(height);
        let top = self.at.saturating_sub(page / 2);
        let top = top.min(self.visible.len().saturating_sub(page));
        let shown = self.visible.iter().enumerate().skip(top).take(page);
        let names = self
            .items
            .iter()
            .map(|item| columns(&safe_line(&item.text)));
        let wide = names.max().unwrap_or(0).min(width * 3 / 5);
        let mut lines: Vec<Line<'static>> = shown
            .map(|(place, item)| {
                let item = &self.items[*item];
                let is_chosen = place == self.at;
                let arrow = if is_chosen { "> " } else { "  " };
                let name = cut(&safe_line(&item.text), wide);
                let gap = wide.saturating_sub(columns(&name)) + 2;
                let room = width.saturating_sub(wide + 4);
                let about = cut(&safe_line(&item.about), room);
                let style = match is_chosen {
                    true => theme.chosen(),
                    false => theme.plain(),
                };
                Line::from(vec![
                    Span::styled(format!("{arrow}{name}{:gap$}", ""), style),
                    Span::styled(about, style.patch(theme.dim())),
                ])
            })
            .collect();
        lines.resize(page, Line::default());
        let found = format!("{} of {}", self.visible.len(), self.items.len());
        lines.push(line(
            cut(&format!("find: {}_   {found}", self.query), width),
            theme.dim(),
        ));
        let mut keys = vec!["type to find", "enter choose", "up/down move"];
        if self.is_of_sessions() {
            keys.insert(2, "tab other folders");
        }
        (
            line(cut(self.title, width), theme.bold()),
            lines,
            line(fitting(&keys, "esc leave", "   ", width), theme.dim()),
        )
    }
}

/// Returns how many rows a screen of this height has for items.
fn room(height: usize) -> usize {
    height.saturating_sub(3).max(1)
}
