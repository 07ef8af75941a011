//! How a run is reported that ended in a certain way.

use insta::assert_snapshot;
use llm_script::ScriptAction;

use super::*;
use session_protocol::channel::{EVENT_BYTES, queue};
use session_protocol::command_channel;
use session_protocol::event::{CompactionTotals, TokenUsage};

/// Returns a run that was interrupted after a turn that ended so.
fn stopped(turn: Option<TurnEnd>) -> Ended {
    let (commands, _) = command_channel();
    let (_, events) = queue(EVENT_BYTES);
    Ended {
        finished: Finished {
            turn,
            unsaved: None,
            lost: 0,
            waiting: 0,
            session_id: "s".to_owned(),
            locator: None,
            usage: TokenUsage::default(),
            cost_usd: None,
            compactions: CompactionTotals::default(),
        },
        driver: Driver {
            commands,
            events,
            opening: None,
            script: None,
            due: [].into(),
            printer: Printer::new(Form::Silent),
            phase: Phase::Closing,
            unheard: 0,
            acting: false,
            interrupted: true,
            refused: None,
            session: (String::new(), None),
        },
        go_on: Some("agent-cli --resume s".to_owned()),
        cwd: String::new(),
        is_text: false,
    }
}

fn said(ended: Ended) -> String {
    match ended.outcome() {
        Ok(_) => "done".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn ctrl_c_behind_the_last_answer_stops_nothing() {
    assert_eq!(said(stopped(Some(TurnEnd::Done))), "done");
}

#[test]
fn ctrl_c_before_all_is_done_stops_the_run() {
    assert_snapshot!(said(stopped(None)), @"stopped; to continue: agent-cli --resume s");
    assert_snapshot!(said(stopped(Some(TurnEnd::Aborted))), @"stopped; to continue: agent-cli --resume s");
    let mut ended = stopped(Some(TurnEnd::Done));
    ended.finished.waiting = 2;
    assert_snapshot!(said(ended), @"stopped; 2 messages wait and are sent when you continue; to continue: agent-cli --resume s");
    let mut ended = stopped(Some(TurnEnd::Done));
    ended.driver.due = [ScriptAction::Compact { focus: None }].into();
    assert_snapshot!(said(ended), @"stopped; to continue: agent-cli --resume s");
    let mut ended = stopped(Some(TurnEnd::Done));
    ended.driver.acting = true;
    assert_snapshot!(said(ended), @"stopped; to continue: agent-cli --resume s");
}
