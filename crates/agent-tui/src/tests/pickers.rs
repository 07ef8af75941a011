//! Lists of which one is chosen, and what changes for a run.

use agent_session::runtime::{Refusal, RefusalKind, Reply};
use crossterm::event::{KeyCode, KeyModifiers};

use super::harness::Bench;
use crate::picker::Choice;
use crate::report::Built;
use crate::state::{Input, Purpose};

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
    insta::assert_snapshot!(type_and_enter(&mut bench, "/resume"), @"ListSessions");
    bench.input(Input::Sessions(Ok(vec![
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
    ])));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~
    Sessions: go on with one
    > fix the parser                                    2026-01-05 09:12  12 kB  ...
      日 本 語  write the changelog, which is long and...  2026-01-04 10:00  1.2 MB ...
       [2Jevil                                          2026-01-03 10:00  1.2 MB ...






    find: _   3 of 3
    type to find   enter choose   up/down move   esc leave
    ");
    bench.type_text("chlog");
    bench.screen();
    insta::assert_snapshot!(bench.screen(), @"
    ~~~
    Sessions: go on with one
    > 日 本 語  write the changelog, which is long and...  2026-01-04 10:00  1.2 MB ...








    find: chlog_   1 of 3
    type to find   enter choose   up/down move   esc leave
    ");
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Leave(Resume("claude:77aa"))"#);
    let mut bench = Bench::new(40, 8);
    bench.input(Input::Sessions(Ok(Vec::new())));
    bench.input(Input::Sessions(Err("no home folder is known".to_owned())));
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
    Models: let another one answer
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
      high, xhigh

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
            choice("compaction.enabled", "compaction.enabled", enabled),
            choice(
                "compaction.keepRecentTokens",
                "compaction.keepRecentTokens",
                "20000",
            ),
        ]))
    };
    bench.input(settings("true"));
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Set("compaction.enabled = false"), Do(Set { name: "compaction.enabled", value: "false" }))"#);
    let set = Purpose::Set("compaction.enabled = false".to_owned());
    bench.input(Input::Answered(set, Ok(Reply::Done {})));
    insta::assert_snapshot!(bench.asked(), @"Ask(Report(Settings), Snapshot)");
    bench.input(settings("false"));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199

    -- compaction.enabled = false
    ~~~
    Settings of this run; settings files are not changed
    > compaction.enabled           false
      compaction.keepRecentTokens  20000




    find: _   2 of 2
    type to find   enter choose   up/down move   esc leave
    ");
    bench.key(KeyCode::Down);
    bench.key(KeyCode::Enter);
    assert_eq!(
        bench.state.editor.text(),
        "/settings compaction.keepRecentTokens 20000"
    );
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Set("compaction.keepRecentTokens = 20000"), Do(Set { name: "compaction.keepRecentTokens", value: "20000" }))"#);
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
    insta::assert_snapshot!(type_and_enter(&mut bench, "/hooks"), @"ListHooks");
    insta::assert_snapshot!(type_and_enter(&mut bench, "/copy"), @"Ask(Report(Copy(None)), Snapshot)");
    insta::assert_snapshot!(type_and_enter(&mut bench, "/export a.html"), @r#"Ask(Export(Some("a.html")), Snapshot)"#);
    bench.input(Input::Built(Built::Copy("Done.".to_owned())));
    assert_eq!(bench.asked(), r#"Copy("Done.")"#);
    bench.input(Input::Done(Err("a.html exists".to_owned())));
    assert!(bench.screen().contains("error: a.html exists"));
}
