//! Commands and completion.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;

use super::harness::Bench;
use crate::state::Input;

#[test]
fn the_menu_says_what_is_the_case_now() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("/co");
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~

    > /co
      /compact      preview, then summarize the older part: context 53% used
      /context      what fills the context window: 11.8k left
      /cost         tokens and USD of this run
      /continue     finish what the session was doing
      /copy         copy the newest answer to the clipboard
      /autocompact  switch automatic compaction
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
    bench.key(KeyCode::Down);
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @"Ask(Report(Context), Snapshot)");
    assert!(bench.state.editor.is_empty());
}

#[test]
fn models_and_files_are_completed() {
    let mut bench = Bench::new(60, 20);
    bench.type_text("/model cla");
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"SetModel("anthropic/claude-x")"#);
    bench.type_text("look at @du");
    insta::assert_snapshot!(bench.asked(), @"ListFiles");
    let files = ["Cargo.toml", "src/duration.rs", "tests/duration.rs"];
    bench.input(Input::Files(files.map(str::to_owned).to_vec()));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session
       0199
    ~~~

    > look at @du
      @src/duration.rs
      @tests/duration.rs
    openai/gpt-5.4  [==========....!.....]  31.8k  11.8k left
    ");
    bench.key(KeyCode::Tab);
    assert_eq!(bench.state.editor.text(), "look at @src/duration.rs ");
}

#[test]
fn commands_of_the_user_are_messages() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("/rev");
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~

    > /rev
      /review  look at a change
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
    bench.key(KeyCode::Tab);
    bench.type_text("the newest commit");
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Message("Review the newest commit."), Do(Prompt { prompt: Prompt { text: "Review the newest commit.", images: [] }, delivery: Prompt }))"#);
}

#[test]
fn an_unknown_command_stays_in_the_editor() {
    let mut bench = Bench::new(60, 20);
    bench.type_text("/frobnicate now");
    bench.key(KeyCode::Enter);
    assert_eq!(bench.state.editor.text(), "/frobnicate now");
    assert_eq!(bench.asked(), "");
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session
       0199
    error: there is no command /frobnicate; /help lists them
    ~~~

    > /frobnicate now
    openai/gpt-5.4  [==========....!.....]  31.8k  11.8k left
    ");
}

#[test]
fn every_command_does_something() {
    for command in crate::command::SlashCommand::ALL {
        let mut bench = Bench::new(80, 24);
        let argument = match command.name() {
            "thinking" => "low",
            "theme" => "",
            _ => "on",
        };
        bench.type_text(&format!("/{} {argument}", command.name()));
        bench.key(KeyCode::Enter);
        let acts = !bench.asked().is_empty() || bench.state.is_full_screen();
        assert!(acts, "{}", command.name());
    }
}

#[test]
fn long_pastes_are_sent_whole() {
    let mut bench = Bench::new(60, 20);
    bench.input(Input::Paste("line\n".repeat(30)));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session
       0199
    ~~~

    > [paste 1: 30 lines]
    openai/gpt-5.4  [==========....!.....]  31.8k  11.8k left
    ");
    bench.key(KeyCode::Enter);
    let asked = bench.asked();
    assert_eq!(
        asked.matches("line").count(),
        60,
        "in the message and in its purpose"
    );
}

#[test]
fn help_fits_forty_columns() {
    let mut bench = Bench::new(40, 20);
    bench.type_text("/help");
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.screen(), @r"
    openai/gpt-5.4, window 60.0k, in
       /home/ann/parser, session 0199
    ~~~
    Keys and commands
    Keys
      enter          send; while the agent
          works, steer it
      alt+enter      while the agent works:
          send after this turn; else a new
          line
      ctrl+j, \ enter  new line
      up, down       earlier prompts
      alt+up         edit the newest queued
          message
      esc            cancel the compaction,
          else stop the turn
      ctrl+c         empty the editor or
          stop; twice leaves
      ctrl+d         leave, where the editor
          is empty
      ctrl+o         everything of this run,
          unfolded
    18 of 94 lines   esc closes
    ");
}

#[test]
fn a_menu_takes_escape_before_the_turn_does() {
    let mut bench = Bench::new(60, 20);
    bench.event(json!({"type": "turn_start"}));
    bench.type_text("/u");
    bench.key(KeyCode::Esc);
    assert_eq!(bench.asked(), "");
    assert!(bench.state.menu.is_none());
    bench.key_with(KeyCode::Esc, KeyModifiers::NONE);
    assert!(!bench.asked().is_empty());
}
