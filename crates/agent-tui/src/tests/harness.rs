//! A terminal without a terminal.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::backend::TestBackend;
use ratatui::layout::Size;
use ratatui::{Terminal, buffer::Buffer};
use serde_json::{Value, json};

use crate::state::{Action, Input, Setup, State, UserCommand};
use crate::text::text_of;
use crate::theme::Theme;
use crate::update::update;
use crate::view::{height, view};

/// A state, what it has printed, and what it asked for.
pub struct Bench {
    pub state: State,
    printed: Vec<String>,
    actions: Vec<Action>,
    now: Duration,
}

impl Bench {
    /// Returns one with a session that has started.
    pub fn new(columns: u16, rows: u16) -> Self {
        let setup = Setup {
            theme: Theme::None,
            size: Size::new(columns, rows),
            models: vec!["openai/gpt-5.4".to_owned(), "anthropic/claude-x".to_owned()],
            commands: vec![UserCommand {
                name: "review".to_owned(),
                about: "look at a change".to_owned(),
                text: "Review $ARGUMENTS.".to_owned(),
            }],
            plain: false,
            home: Some("/home/ann".to_owned()),
            meanings: [(
                "branchSummary.enabled".to_owned(),
                "whether a branch that is left is summarized".to_owned(),
            )]
            .into(),
        };
        let mut bench = Self {
            state: State::new(setup),
            printed: Vec::new(),
            actions: Vec::new(),
            now: Duration::ZERO,
        };
        bench.event(json!({"type": "session_start", "session_id": "0199", "path": "/s/0199.jsonl", "cwd": "/home/ann/parser", "model": "openai/gpt-5.4", "window": 60000, "entries": 0}));
        bench.event(json!({"type": "context", "tokens": 31800, "window": 60000, "threshold": 43600, "estimated": false}));
        bench.actions.clear();
        bench
    }

    pub fn input(&mut self, input: Input) {
        let actions = update(&mut self.state, input);
        self.actions.extend(actions);
        let lines = self.state.take_unprinted();
        self.printed.extend(lines.iter().map(text_of));
    }

    pub fn event(&mut self, event: Value) {
        let event = serde_json::from_value(event).expect("an event");
        self.input(Input::Session(event));
    }

    pub fn events(&mut self, events: &[Value]) {
        events.iter().for_each(|event| self.event(event.clone()));
    }

    pub fn after(&mut self, seconds: f64) {
        self.now += Duration::from_secs_f64(seconds);
        self.input(Input::Tick(self.now));
    }

    pub fn type_text(&mut self, text: &str) {
        for letter in text.chars() {
            self.key(KeyCode::Char(letter));
        }
    }

    pub fn key(&mut self, code: KeyCode) {
        self.key_with(code, KeyModifiers::NONE);
    }

    pub fn key_with(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.input(Input::Key(KeyEvent::new(code, modifiers)));
    }

    /// Returns what is to be done since the last time.
    pub fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Returns what was asked for since the last time.
    pub fn asked(&mut self) -> String {
        let actions = self.actions.drain(..);
        let lines: Vec<String> = actions.map(|action| format!("{action:?}")).collect();
        lines.join("\n")
    }

    /// Returns what was printed since the last time, and the viewport or the full screen below it.
    pub fn screen(&mut self) -> String {
        let mut lines = std::mem::take(&mut self.printed);
        let size = self.state.setup.size;
        let rows = match self.state.is_full_screen() {
            true => size.height,
            false => height(&self.state),
        };
        let backend = TestBackend::new(size.width, rows);
        let mut terminal = Terminal::new(backend).expect("a terminal");
        terminal
            .draw(|frame| view(&self.state, frame))
            .expect("a frame");
        lines.push("~~~".to_owned());
        lines.extend(rows_of(terminal.backend().buffer()));
        lines.join("\n")
    }
}

fn rows_of(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    let rows = buffer.content.chunks(width);
    rows.map(|row| {
        let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned()
    })
    .collect()
}

/// Returns the events of a turn that calls a command which has to be allowed.
pub fn asked_turn() -> Vec<Value> {
    vec![
        json!({"type": "queued", "id": "m1", "text": "fix the parser", "delivery": "prompt"}),
        json!({"type": "turn_start"}),
        json!({"type": "message", "entry_id": "m1", "text": "fix the parser"}),
        json!({"type": "thinking_delta", "text": "The parser has to be read.\nThen the tests."}),
        json!({"type": "text_delta", "text": "I look into the **parser**.\n\nThen I run"}),
        json!({"type": "text_delta", "text": " the tests."}),
        json!({"type": "answer", "entry_id": "a1", "text": "I look", "tool_calls": 2, "stop_reason": "tool_use", "error": null, "usage": {"input": 412, "output": 96, "cache_read": 10240, "cache_write": 0}, "cost_usd": 0.0631}),
        json!({"type": "tool_start", "call_id": "c1", "name": "read", "arguments": {"path": "src/duration.rs"}}),
        json!({"type": "tool_end", "call_id": "c1", "name": "read", "is_error": false, "seconds": 0.002, "output": "fn parse() {\n}\n", "truncated": false, "details": null}),
        json!({"type": "tool_start", "call_id": "c2", "name": "bash", "arguments": {"command": "cargo test"}}),
        json!({"type": "approval_request", "call_id": "c2", "tool": "bash", "subject": "cargo test"}),
    ]
}
