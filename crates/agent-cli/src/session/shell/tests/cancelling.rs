//! Cancelled at every point at which it waits, a compaction, a handoff and a branch summary leave everything as it was.

use super::*;

/// How work is ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    AbortCompaction,
    Abort,
    Close,
    /// The program is gone.
    Dropped,
}

const ENDINGS: [Ending; 4] = [
    Ending::AbortCompaction,
    Ending::Abort,
    Ending::Close,
    Ending::Dropped,
];

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

/// Returns a house whose summarizer needs several requests, each with an answer of many pieces.
fn house() -> House {
    let mut house = House::new(&answer("still here")).compaction(serde_json::json!({
        "keepRecentTokens": 500,
    }));
    let text = format!("## Goal\n{}", words(50));
    house.summarizer(&[window(4000), summary(&text).repeat(9)].concat());
    house
}

/// Polls the run so many times, each time once everybody who was woken has run.
async fn poll(life: &mut Life<'_>, times: usize) {
    for _ in 0..times {
        poll_fn(|context| Poll::Ready(life.step(context))).await;
        tokio::task::yield_now().await;
    }
}

/// Ends `command` after every number of polls, until it is done before; returns how often it was ended.
async fn walk(ending: Ending, command: &Command, done: impl Fn(&SessionEvent) -> bool) -> usize {
    for polls in 0.. {
        let house = house();
        let path = house.session(LONG);
        let before = house.files();
        let mut life = house.open(&path);
        life.send(command.clone());
        poll(&mut life, polls).await;
        if life.heard.iter().any(&done) {
            let requests = house.summaries.lock().unwrap().len();
            assert!(requests > 1, "{requests} requests are not many");
            life.close().await;
            return polls;
        }
        let place = format!("{ending:?} after {polls} polls");
        let told = match ending {
            Ending::AbortCompaction => life.command_and(Command::AbortCompaction).await,
            Ending::Abort => life.command_and(Command::Abort).await,
            Ending::Close => {
                life.close().await;
                life.news()
            }
            Ending::Dropped => {
                life.run = None;
                String::new()
            }
        };
        assert_eq!(house.files(), before, "{place}: {told}");
        assert_eq!(house.requests_in_flight(), 0, "{place}: {told}");
        let is_moved = matches!(command, Command::Navigate(_));
        let said = match is_moved {
            true => "navigated cancelled",
            false => "compacted aborted: Compaction cancelled",
        };
        let is_told = told.lines().any(|line| line == said);
        assert_eq!(is_told, ending != Ending::Dropped, "{place}: {told}");
        let mut life = match ending {
            Ending::AbortCompaction | Ending::Abort => life,
            Ending::Close | Ending::Dropped => house.open(&path),
        };
        let told = life.ask("are you there").await;
        assert!(told.contains("still here"), "{place}: {told}");
        life.close().await;
    }
    unreachable!("it is done some time")
}

async fn walk_all(command: Command, done: impl Fn(&SessionEvent) -> bool + Copy) {
    for ending in ENDINGS {
        let points = walk(ending, &command, done).await;
        assert!(points > 20, "{ending:?}: {points} points are not many");
    }
}

fn compacted(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::CompactionEnd {
            result: Some(_),
            ..
        }
    )
}

#[test]
fn a_compaction_that_is_ended_anywhere_leaves_everything_as_it_was() {
    run(walk_all(compact(), compacted));
}

#[test]
fn a_handoff_that_is_ended_anywhere_leaves_no_session_behind() {
    run(walk_all(Command::Handoff { focus: None }, compacted));
}

#[test]
fn a_branch_summary_that_is_ended_anywhere_leaves_the_leaf_where_it_was() {
    let moved = |event: &SessionEvent| {
        matches!(
            event,
            SessionEvent::Navigated {
                cancelled: false,
                ..
            }
        )
    };
    let navigation = Navigation {
        summarize: true,
        ..to(Some("e2"))
    };
    run(walk_all(Command::Navigate(navigation), moved));
}

#[test]
fn who_commands_no_more_ends_the_session_after_what_runs() {
    run(async {
        let house = House::new(&answer(&words(200)));
        let mut life = house.live();
        life.say("write");
        life.until(|event| matches!(event, SessionEvent::TextDelta { .. }))
            .await;
        let (nobody, _) = unbounded_channel();
        life.commands = nobody;
        life.until(|event| matches!(event, SessionEvent::SessionEnd { .. }))
            .await;
        insta::assert_snapshot!(life.news(), @"
        user: write
        answer (aborted): lorem ipsum dolor sit amet lorem ipsum d scripted/script: the request was cancelled
        turn aborted
        end
        ");
        assert_eq!(house.requests_in_flight(), 0);
        life.check();
    });
}
