//! How long compactions hold up the work. Time stands still unless everybody waits for it, so figures are exact.

use super::*;

const HALF: &str = "u:300 a:1200 u:300 a:1200 u:300 a:600";

/// A summary that takes so long.
fn slow_summary(seconds: u64) -> String {
    line_of(&json!({ "summary": { "text": "## Goal\nall of it", "pause_ms": seconds * 1000 } }))
}

fn read(file: &str) -> String {
    calls(json!([{ "name": "read", "arguments": { "path": file } }]))
}

fn house(script: &[String], settings: Value) -> House {
    let script = [&[window(8192)], script].concat().concat();
    let house = House::new(&script).compaction(settings);
    house.put("small.txt", "small");
    house.put_lines("large.txt", 3500);
    house
}

fn totals(finished: &Finished) -> (usize, usize) {
    let totals = finished.compactions;
    (totals.automatic, totals.prepared)
}

#[test]
fn a_turn_waits_for_a_compaction_that_is_due_as_long_as_it_takes() {
    run(async {
        let script = [read("large.txt"), slow_summary(30), answer("done")];
        let house = house(&script, json!({ "keepRecentTokens": 500 }));
        let mut life = house.open_session(HALF);
        life.ask("work").await;
        let result = life.result().clone();
        assert!(!result.prepared);
        assert!(result.waited_seconds >= 30.0, "{result:?}");
        assert!(result.waited_seconds >= result.seconds, "{result:?}");
        let finished = life.close().await;
        assert_eq!(totals(&finished), (1, 0));
        assert!((finished.compactions.waited_seconds - result.waited_seconds).abs() < 1e-9);
    });
}

#[test]
fn one_that_was_prepared_is_not_waited_for() {
    run(async {
        let settings =
            json!({ "keepRecentTokens": 500, "background": { "enabled": true, "atPercent": 50 } });
        let script = [
            read("small.txt"),
            read("small.txt"),
            read("large.txt"),
            answer("done"),
            slow_summary(2),
        ];
        let mut house = house(&script, settings);
        // Time for the summary passes while the tools run.
        house.slow_tools();
        let mut life = house.open_session(HALF);
        life.ask("work").await;
        let heard: Vec<_> = life.heard.iter().filter_map(line).collect();
        let result = life.result().clone();
        assert!(result.prepared, "{heard:#?}");
        assert!(result.seconds >= 2.0, "{result:?}");
        assert!(result.waited_seconds < result.seconds / 100.0, "{result:?}");
        let finished = life.close().await;
        assert_eq!(totals(&finished), (1, 1));
    });
}

#[test]
fn a_failed_compaction_was_waited_for_and_counts_as_none() {
    run(async {
        let settings = json!({ "keepRecentTokens": 500 });
        let script = [read("large.txt"), slow_summary(60), answer("done")];
        let house = house(&script, settings);
        let mut life = house.open_session(HALF);
        life.say("work");
        life.until(|event| matches!(event, SessionEvent::AutoCompactionStart { .. }))
            .await;
        let _ = tokio::time::timeout(
            Duration::from_secs(20),
            poll_fn(|context| {
                life.step(context);
                Poll::<()>::Pending
            }),
        )
        .await;
        life.send(Command::AbortCompaction);
        life.rest().await;
        let finished = life.close().await;
        assert_eq!(totals(&finished), (0, 0));
        let waited = finished.compactions.waited_seconds;
        assert!((20.0..60.0).contains(&waited), "{waited}");
    });
}

#[test]
fn an_idle_session_is_waited_for_from_what_the_user_says_on() {
    run(async {
        let settings = json!({ "keepRecentTokens": 500, "idleEnabled": true, "idleTimeoutSeconds": 60, "idleThresholdTokens": 1000 });
        let script = [answer("hello"), slow_summary(40), answer("done")];
        let house = house(&script, settings);
        let mut life = house.open_session(HALF);
        life.ask("hi").await;
        life.until(|event| {
            matches!(
                event,
                SessionEvent::AutoCompactionStart { reason: "idle", .. }
            )
        })
        .await;
        let _ = tokio::time::timeout(
            Duration::from_secs(30),
            poll_fn(|context| {
                life.step(context);
                Poll::<()>::Pending
            }),
        )
        .await;
        life.ask("more").await;
        let result = life.result().clone();
        assert!(result.seconds >= 40.0, "{result:?}");
        assert!((9.0..11.0).contains(&result.waited_seconds), "{result:?}");
        life.close().await;
    });
}
