//! Moves of the leaf.

use insta::assert_snapshot;

use super::*;

const TWO_TURNS: &str = "u:10 a:10 u:10 a:10";

fn with_summary(target: Option<&str>) -> Command {
    Command::Navigate(Navigation {
        summarize: true,
        focus: Some("the end".to_owned()),
        ..to(target)
    })
}

#[test]
fn a_message_of_the_user_comes_back_to_the_editor_and_its_parent_is_the_leaf() {
    run(async {
        let harness = Harness::new(&answer("another way"));
        let mut life = harness.open_session(TWO_TURNS);
        let told = life.command_and(Command::Navigate(to(Some("e3")))).await;
        assert_snapshot!(told, @"navigated editor: #3 lorem ipsum dolor sit amet lorem ipsu");
        assert_snapshot!(life.ask("otherwise").await, @"
        user: otherwise
        answer (stop): another way
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        custom agent-cli/leaf
        system: 
        user: otherwise
        assistant (stop): another way
        ");
        life.close().await;
    });
}

#[test]
fn the_root_is_before_everything() {
    run(async {
        let harness = Harness::new(&answer("anew"));
        let mut life = harness.open_session(TWO_TURNS);
        assert_snapshot!(life.command_and(Command::Navigate(to(None))).await, @"navigated");
        life.ask("begin").await;
        assert_snapshot!(life.written(), @"
        custom agent-cli/leaf
        system: 
        model script
        user: begin
        assistant (stop): anew
        ");
        life.close().await;
    });
}

#[test]
fn a_branch_that_is_left_is_summarized_on_request() {
    run(async {
        let harness = Harness::new(&[summary("## Goal\nwhat was left"), answer("on")].concat());
        let mut life = harness.open_session(TWO_TURNS);
        assert_snapshot!(life.command_and(with_summary(Some("e2"))).await, @"navigated with a summary");
        let text = text_of(&harness.summaries.lock().unwrap()[0]);
        assert!(text.contains("the end"), "{text}");
        life.ask("go on").await;
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: #1
        assistant: #2
        user: The conversation went another way for a while an
        user: go on
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        branchsummary
        system: 
        user: go on
        assistant (stop): on
        ");
        life.close().await;
    });
}

#[test]
fn a_label_is_put_where_the_move_ends() {
    run(async {
        let harness = Harness::new(&answer("on"));
        let mut life = harness.open_session(TWO_TURNS);
        let labelled = Navigation {
            label: Some("fork".to_owned()),
            ..to(Some("e2"))
        };
        life.command_and(Command::Navigate(labelled)).await;
        let session = SessionFile::open(life.path()).unwrap();
        let bodies = session
            .tree()
            .indices()
            .map(|index| session.tree().entry(index).unwrap().body);
        let labels: Vec<_> = bodies
            .filter(|body| matches!(body, EntryBody::Label { .. }))
            .collect();
        let label = EntryBody::Label {
            target: EntryId::new("e2"),
            label: Some("fork".to_owned()),
        };
        assert_eq!(labels, [label]);
        life.close().await;
    });
}

#[test]
fn moves_that_lead_nowhere_are_errors() {
    run(async {
        let harness = Harness::new(&answer(&words(100)));
        let mut life = harness.open_session(TWO_TURNS);
        let mut told = vec![
            life.command_and(Command::Navigate(to(Some("e4")))).await,
            life.command_and(Command::Navigate(to(Some("nowhere"))))
                .await,
        ];
        let back = |count| Command::Back {
            count,
            summarize: false,
            focus: None,
        };
        life.send(back(3));
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        told.push(life.news());
        life.say("busy");
        life.until(|event| matches!(event, SessionEvent::TextDelta { .. }))
            .await;
        told.push(life.command_and(back(1)).await);
        assert_snapshot!(told.join("\n"), @"
        error: the session stands there already
        error: no entry nowhere in this session
        error: there are no 3 messages of the user to go back to
        user: busy
        error: the agent is busy; stop it first
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn going_back_counts_messages_of_the_user() {
    run(async {
        let harness = Harness::new(&answer("on"));
        let mut life = harness.open_session(TWO_TURNS);
        let back = Command::Back {
            count: 2,
            summarize: false,
            focus: None,
        };
        let told = life.command_and(back).await;
        assert!(told.starts_with("navigated editor: #1"), "{told}");
        life.close().await;
    });
}
