//! Lists of which one is chosen, and what changes for a run.

use crossterm::event::{KeyCode, KeyModifiers};
use session_protocol::{Refusal, RefusalKind, Reply};

use super::harness::Bench;
use crate::picker::Choice;
use crate::report::Built;
use crate::state::{Action, Input, Purpose, Where};

fn type_and_enter(bench: &mut Bench, text: &str) -> String {
    bench.type_text(text);
    bench.key(KeyCode::Enter);
    bench.asked()
}

fn choice(key: &str, text: &str, about: &str) -> Choice {
    let [key, text, about] = [key, text, about].map(str::to_owned);
    Choice { key, text, about }
}

#[test]
fn sessions_of_all_agents_are_found_and_gone_on_with() {
    let mut bench = Bench::new(80, 12);
    insta::assert_snapshot!(type_and_enter(&mut bench, "/resume"), @"ListSessions(Here)");
    bench.input(Input::Sessions(
        Where::Here,
        Ok(vec![
            choice(
                "agent-cli:0199",
                "fix the parser",
                "2026-01-05 09:12  12 kB  agent-cli",
            ),
            choice(
                "claude:77aa",
                "日本語 write the changelog, which is long and longer",
                "2026-01-04 10:00  1.2 MB  claude",
            ),
            choice(
                "codex:88bb",
                "\u{1b}[2Jevil",
                "2026-01-03 10:00  1.2 MB  codex",
            ),
        ]),
    ));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~
    Sessions of this project: choose one to continue
    > fix the parser                                    2026-01-05 09:12  12 kB  ...
      日 本 語  write the changelog, which is long and...  2026-01-04 10:00  1.2 MB ...
       [2Jevil                                          2026-01-03 10:00  1.2 MB ...






    find: _   3 of 3
    type to find   enter choose   tab other folders   up/down move   esc leave
    ");
    bench.type_text("chlog");
    bench.screen();
    insta::assert_snapshot!(bench.screen(), @"
    ~~~
    Sessions of this project: choose one to continue
    > 日 本 語  write the changelog, which is long and...  2026-01-04 10:00  1.2 MB ...








    find: chlog_   1 of 3
    type to find   enter choose   tab other folders   up/down move   esc leave
    ");
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Leave(Resume("claude:77aa"))"#);
    let mut bench = Bench::new(40, 8);
    bench.input(Input::Sessions(Where::Here, Ok(Vec::new())));
    insta::assert_snapshot!(bench.asked(), @"ListSessions(Everywhere)");
    bench.input(Input::Sessions(Where::Everywhere, Ok(Vec::new())));
    bench.input(Input::Sessions(
        Where::Everywhere,
        Err("no home folder is known".to_owned()),
    ));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in
       /home/ann/parser, session 0199
    error: there is no other session

    error: no home folder is known
    ~~~

    > ask something, / for commands
    [=========...!....]  31.8k  11.8k left
    ");
    insta::assert_snapshot!(type_and_enter(&mut bench, "/resume 0199"), @r#"Leave(Resume("0199"))"#);
}

#[test]
fn models_and_thinking_are_chosen_from_lists() {
    let mut bench = Bench::new(60, 10);
    assert_eq!(type_and_enter(&mut bench, "/model"), "");
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session
       0199
    ~~~
    Models: choose one
    > openai/gpt-5.4      now
      anthropic/claude-x





    find: _   2 of 2
    type to find   enter choose   up/down move   esc leave
    ");
    bench.key(KeyCode::Down);
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"SetModel("anthropic/claude-x")"#);
    assert_eq!(type_and_enter(&mut bench, "/thinking"), "");
    bench.type_text("high");
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Thinking("high"), Do(SetReasoning(High)))"#);
    bench.input(Input::Answered(
        Purpose::Thinking("high"),
        Ok(Reply::Done {}),
    ));
    assert_eq!(type_and_enter(&mut bench, "/thinking much"), "");
    let refusal = Refusal {
        kind: RefusalKind::Refused,
        message: "this model does not think".to_owned(),
    };
    bench.input(Input::Answered(Purpose::Thinking("low"), Err(refusal)));
    insta::assert_snapshot!(bench.screen(), @"

    -- thinking: high, from the next request on

    error: /thinking takes one of off, minimal, low, medium,
      high, xhigh, max

    error: this model does not think
    ~~~

    > ask something, / for commands, @ for files
    openai/gpt-5.4  [==========....!.....]  31.8k  11.8k left
    ");
}

#[test]
fn settings_are_read_and_changed_for_the_run() {
    let mut bench = Bench::new(80, 9);
    insta::assert_snapshot!(type_and_enter(&mut bench, "/settings"), @"Ask(Report(Settings), Snapshot)");
    let settings = |enabled: &str| {
        Input::Built(Built::Settings(vec![
            choice(enabled, "compaction.enabled", enabled),
            choice("20000", "compaction.keepRecentTokens", "20000"),
            choice("false", "branchSummary.enabled", "false"),
        ]))
    };
    bench.input(settings("true"));
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Set { name: "compaction.enabled", value: "false", save: false }, Do(Set { name: "compaction.enabled", value: "false" }))"#);
    let set = |save| Purpose::Set {
        name: "compaction.enabled".to_owned(),
        value: "false".to_owned(),
        save,
    };
    let set = set(false);
    bench.input(Input::Answered(set, Ok(Reply::Done {})));
    insta::assert_snapshot!(bench.asked(), @"Ask(Report(Settings), Snapshot)");
    bench.input(settings("false"));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199

    -- compaction.enabled = false, in this run
    ~~~
    Settings of this run; /settings save NAME VALUE keeps one
    > compaction.enabled           false
      compaction.keepRecentTokens  20000
      branchSummary.enabled        false  whether a branch that is left is summar...



    find: _   3 of 3
    type to find   enter choose   up/down move   esc leave
    ");
    bench.key(KeyCode::Down);
    bench.key(KeyCode::Enter);
    assert_eq!(
        bench.state.editor.text(),
        "/settings compaction.keepRecentTokens 20000"
    );
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Set { name: "compaction.keepRecentTokens", value: "20000", save: false }, Do(Set { name: "compaction.keepRecentTokens", value: "20000" }))"#);
}

#[test]
fn names_are_given_and_ctrl_z_goes_back_to_the_shell() {
    let mut bench = Bench::new(60, 10);
    insta::assert_snapshot!(type_and_enter(&mut bench, "/name the parser"), @r#"Ask(Command("name"), Do(SetName("the parser")))"#);
    bench.key_with(KeyCode::Char('z'), KeyModifiers::CONTROL);
    insta::assert_snapshot!(bench.asked(), @"Suspend");
}

#[test]
fn colours_are_chosen_and_the_session_is_written_and_copied() {
    let mut bench = Bench::new(60, 9);
    type_and_enter(&mut bench, "/theme");
    bench.key(KeyCode::Down);
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session
       0199
    ~~~
    Colours
      dark
    > light
      none   now



    find: _   3 of 3
    type to find   enter choose   up/down move   esc leave
    ");
    bench.key(KeyCode::Enter);
    assert_eq!(bench.state.theme, crate::Theme::Light);
    type_and_enter(&mut bench, "/theme pink");
    assert!(
        bench
            .screen()
            .contains("error: /theme takes one of dark, light, none")
    );
    insta::assert_snapshot!(type_and_enter(&mut bench, "/hooks"), @"List(Hooks)");
    insta::assert_snapshot!(type_and_enter(&mut bench, "/copy"), @"Ask(Report(Copy(None)), Snapshot)");
    insta::assert_snapshot!(type_and_enter(&mut bench, "/export a.html"), @r#"Ask(Export(Some("a.html")), Snapshot)"#);
    bench.input(Input::Built(Built::Copy("Done.".to_owned())));
    assert_eq!(bench.asked(), r#"Copy("Done.")"#);
    bench.input(Input::Done(Err("a.html exists".to_owned())));
    assert!(bench.screen().contains("error: a.html exists"));
}

#[test]
fn a_setting_is_kept_for_later_runs_where_that_is_asked_for() {
    let mut bench = Bench::new(80, 9);
    let asked = type_and_enter(&mut bench, "/settings save compaction.enabled false");
    insta::assert_snapshot!(asked, @r#"Ask(Set { name: "compaction.enabled", value: "false", save: true }, Do(Set { name: "compaction.enabled", value: "false" }))"#);
    let purpose = Purpose::Set {
        name: "compaction.enabled".to_owned(),
        value: "false".to_owned(),
        save: true,
    };
    bench.input(Input::Answered(purpose, Ok(Reply::Done {})));
    insta::assert_snapshot!(bench.asked(), @r#"Save("compaction.enabled", "false")"#);
}

#[test]
fn tab_lists_the_sessions_of_other_folders_and_back() {
    let mut bench = Bench::new(80, 9);
    type_and_enter(&mut bench, "/resume");
    let one = || Ok(vec![choice("a:1", "fix", "today")]);
    bench.input(Input::Sessions(Where::Here, one()));
    bench.key(KeyCode::Tab);
    insta::assert_snapshot!(bench.asked(), @"ListSessions(Everywhere)");
    bench.input(Input::Sessions(Where::Everywhere, one()));
    bench.key(KeyCode::Tab);
    insta::assert_snapshot!(bench.asked(), @"ListSessions(Here)");
}

#[test]
fn a_prompt_of_an_earlier_session_is_found_and_edited() {
    let mut bench = Bench::new(80, 9);
    let prompts = ["fix the parser", "write a test"].map(str::to_owned);
    bench.input(Input::Prompts(prompts.to_vec()));
    bench.key_with(KeyCode::Char('r'), KeyModifiers::CONTROL);
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~
    Prompts of before: put one into the editor
    > write a test
      fix the parser




    find: _   2 of 2
    type to find   enter choose   up/down move   esc leave
    ");
    bench.type_text("pars");
    bench.key(KeyCode::Enter);
    assert_eq!(bench.state.editor.text(), "fix the parser");
    bench.key_with(KeyCode::Char('c'), KeyModifiers::CONTROL);
    bench.key(KeyCode::Up);
    assert_eq!(bench.state.editor.text(), "write a test");
}

#[test]
fn a_command_of_the_user_runs_and_is_added_to_the_session() {
    let mut bench = Bench::new(80, 9);
    bench.type_text("!ls -l");
    bench.key(KeyCode::Enter);
    let actions = bench.actions();
    let [Action::Shell(command, cancel)] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    assert_eq!(command, "ls -l");
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~

    * ! ls -l  0s  esc stops

    > ask something, / for commands, @ for files
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
    // Nothing is sent meanwhile, and esc stops it.
    assert_eq!(type_and_enter(&mut bench, "hello"), "");
    bench.key(KeyCode::Esc);
    assert!(cancel.is_cancelled());
    let ran = session_model::BashExecution {
        command: command.clone(),
        output: "a\nb\n".to_owned(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        exclude_from_context: false,
        timestamp: None,
    };
    bench.input(Input::Ran(Box::new(ran)));
    assert!(bench.asked().contains("AddExecution"));
    insta::assert_snapshot!(bench.screen(), @"
    error: your command still runs; esc stops it

    * ! ls -l  2 lines
        a
        b
    ~~~

    > hello
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
}

#[test]
fn a_report_that_takes_long_shows_how_far_it_is_and_esc_ends_it() {
    let mut bench = Bench::new(80, 9);
    type_and_enter(&mut bench, "/compact");
    let meter = std::sync::Arc::<session_model::ReadMeter>::default();
    bench.state.waiting = Some(crate::state::Waiting {
        name: "/compact".to_owned(),
        since: std::time::Duration::ZERO,
        work: crate::state::Work::Report(meter.clone(), 10),
    });
    bench.after(3.0);
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~

    * /compact  0% of 10 entries  3s  esc stops

    > ask something, / for commands, @ for files
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
    bench.key(KeyCode::Esc);
    assert!(meter.is_stopped());
    assert!(bench.state.waiting.is_none());
}
