//! Questions and their answers.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;

use super::*;

/// A person who types what the test sends, and what that person has read.
struct Person {
    asker: Asker,
    types: Sender<Option<String>>,
    screen: Arc<Mutex<String>>,
}

impl Person {
    fn new() -> Self {
        let (types, typed) = channel();
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = screen.clone();
        let read = move || Ok(typed.recv().unwrap_or_default());
        let tell = move |text: &str| shown.lock().unwrap().push_str(text);
        Self {
            asker: Asker::new(Box::new(read), Box::new(tell)).unwrap(),
            types,
            screen,
        }
    }

    fn is_asked(&mut self, call_id: &str, subject: &str) {
        self.asker.observe(&SessionEvent::ApprovalRequest {
            call_id: call_id.to_owned(),
            tool: "bash".to_owned(),
            subject: subject.to_owned(),
        });
    }

    fn ended(&mut self, call_id: &str, decision: Option<&'static str>) {
        self.asker.observe(&SessionEvent::ApprovalEnd {
            call_id: call_id.to_owned(),
            decision: decision.map(Into::into),
        });
    }

    fn types(&self, line: &str) {
        self.types.send(Some(format!("{line}\n"))).unwrap();
    }

    async fn answers(&mut self) -> String {
        let (call_id, decision) = self.asker.answer().await;
        format!("{call_id} {}", decision.name())
    }

    fn screen(&self) -> String {
        std::mem::take(&mut *self.screen.lock().unwrap())
    }
}

#[tokio::test]
async fn every_answer_is_understood_and_others_are_asked_again() {
    let mut person = Person::new();
    for (line, want) in [
        ("y", "c once"),
        (" YES ", "c once"),
        ("a", "c always"),
        ("n", "c deny"),
        ("v", "c never"),
        ("never", "c never"),
    ] {
        person.is_asked("c", "cargo test");
        person.types("");
        person.types("yes, and more");
        person.types(line);
        assert_eq!(person.answers().await, want);
        person.ended("c", Some("once"));
        assert_eq!(person.screen().matches("allow?").count(), 3);
    }
    person.is_asked("c", "cargo test");
    person.types.send(None).unwrap();
    assert_eq!(person.answers().await, "c deny");
}

#[tokio::test]
async fn one_question_stands_on_the_screen_and_nothing_in_it_steers_the_terminal() {
    let mut person = Person::new();
    person.is_asked("one", "echo \u{1b}[2J\nrm x\r");
    person.is_asked("two", "ls");
    assert_snapshot!(anstream::adapter::strip_str(&person.screen()).to_string(), @r"
    bash wants to run:
      echo \u{1b}[2J
      rm x\u{d}
      warning: unseen characters are written as \u{...}
    always and never hold for exactly this, in this project
    allow? y once, n no, a always here, v never here: 
    ");
    person.types("y");
    assert_eq!(person.answers().await, "one once");
    assert_eq!(person.screen(), "");
    person.ended("one", Some("once"));
    assert!(person.screen().contains("  ls\n"));
    person.types("n");
    assert_eq!(person.answers().await, "two deny");
}

#[tokio::test]
async fn a_line_that_was_typed_for_another_question_answers_none() {
    let mut person = Person::new();
    person.is_asked("one", "make");
    person.is_asked("two", "make install");
    person.ended("one", None);
    // This was meant for the first question, which is gone.
    person.types("y");
    person.types("never");
    assert_eq!(person.answers().await, "two never");
    // What nobody asks any more needs no answer, and is not shown.
    person.ended("two", Some("never"));
    person.screen();
    person.is_asked("three", "ls");
    person.is_asked("four", "ls");
    person.ended("four", Some("always"));
    person.ended("three", Some("always"));
    assert_eq!(person.screen().matches("wants to run").count(), 1);
}

#[tokio::test]
async fn both_ends_of_a_long_command_are_shown_and_all_of_it_on_demand() {
    let mut person = Person::new();
    let command = format!("first\n{}; last", "x".repeat(10_000));
    person.is_asked("c", &command);
    let screen = anstream::adapter::strip_str(&person.screen()).to_string();
    assert!(screen.contains("  first\n") && screen.contains("x; last\n"));
    assert!(screen.contains("\n  ... 6012 characters are left out here, s shows all\n"));
    person.types("s");
    person.types("y");
    assert_eq!(person.answers().await, "c once");
    let screen = anstream::adapter::strip_str(&person.screen()).to_string();
    assert!(screen.contains(&"x".repeat(10_000)) && !screen.contains("left out"));
}
