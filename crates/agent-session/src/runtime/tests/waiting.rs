//! How long compactions hold up the work. Time stands still unless everybody waits for it, so figures are exact.

use super::*;

const HALF: &str = "u:300 a:1200 u:300 a:1200 u:300 a:600";

/// A provider that takes its time before it answers.
struct Delayed {
    provider: Arc<dyn Provider>,
    time: Duration,
}

impl Provider for Delayed {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn model(&self) -> &str {
        self.provider.model()
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move {
            tokio::select! {
                () = tokio::time::sleep(self.time) => {}
                () = cancel.cancelled() => {}
            }
            self.provider.stream(request, cancel).await
        })
    }

    fn capabilities(&self) -> &Capabilities {
        self.provider.capabilities()
    }
}

/// Lets every summary take so many seconds.
pub(super) fn delay(harness: &mut Harness, seconds: u64) {
    for candidate in &mut harness.models.others {
        candidate.provider = Arc::new(Delayed {
            provider: candidate.provider.clone(),
            time: Duration::from_secs(seconds),
        });
    }
}

fn read(file: &str) -> String {
    calls(json!([{ "name": "read", "arguments": { "path": file } }]))
}

/// Returns an answer that lets wait for so many seconds.
fn late(answer: &str, seconds: u64) -> String {
    let mut line: Value = serde_json::from_str(answer).unwrap();
    line["answer"]["pause_ms"] = json!(seconds * 1000);
    line_of(&line)
}

/// Returns a harness in which a summary takes so many seconds.
fn harness(script: &[String], settings: Value, seconds: u64) -> Harness {
    let script = [&[window(8192)], script, &[summaries()]].concat().concat();
    let mut harness = Harness::new(&script).compaction(settings);
    delay(&mut harness, seconds);
    harness.put("small.txt", "small");
    harness.put_lines("large.txt", 3500);
    harness
}

fn totals(finished: &Finished) -> (usize, usize) {
    let totals = finished.compactions;
    (totals.automatic, totals.prepared)
}

#[test]
fn a_turn_waits_for_a_compaction_that_is_due_as_long_as_it_takes() {
    run(async {
        let script = [read("large.txt"), answer("done")];
        let harness = harness(&script, json!({ "keepRecentTokens": 500 }), 30);
        let mut life = harness.open_session(HALF);
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
            // The summary is written while the model takes its time.
            late(&read("small.txt"), 5),
            read("large.txt"),
            answer("done"),
        ];
        let harness = harness(&script, settings, 2);
        let mut life = harness.open_session(HALF);
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
        let script = [read("large.txt"), answer("done")];
        let harness = harness(&script, settings, 60);
        let mut life = harness.open_session(HALF);
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
        let script = [answer("hello"), answer("done")];
        let harness = harness(&script, settings, 40);
        let mut life = harness.open_session(HALF);
        life.ask("hi").await;
        life.until(|event| {
            matches!(
                event,
                SessionEvent::AutoCompactionStart { reason, .. } if reason == "idle"
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
