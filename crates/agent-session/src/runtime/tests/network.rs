//! A model service that is gone for a while: no turn is lost.

use insta::assert_snapshot;
use llm_providers::RetryPolicy;

use super::*;

/// A model that calls a tool, and cannot be connected to so many times before it answers what came of the call.
fn gone(times: usize) -> Harness {
    let read = calls(json!([{ "name": "read", "arguments": { "path": "small.txt" } }]));
    let script = [read, error("unreachable").repeat(times), answer("done")].concat();
    let harness = Harness::new(&script);
    harness.put("small.txt", "small");
    harness
}

#[test]
fn a_turn_goes_on_when_the_service_was_gone_for_a_minute() {
    run(async {
        let mut harness = gone(9);
        harness.models.policy = RetryPolicy::default();
        let mut life = harness.live();
        // The clock stands still unless everybody waits.
        let started = tokio::time::Instant::now();
        life.ask("work").await;
        let away = started.elapsed();
        assert!(away >= Duration::from_secs(60), "{away:?}");
        assert!(away < RetryPolicy::default().budget, "{away:?}");
        assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: work
        assistant (toolUse): read({"path":"small.txt"})
        toolResult: small
        assistant (stop): done
        "#);
        life.close().await;
    });
}

#[test]
fn a_turn_whose_service_stays_away_is_resumed_later() {
    run(async {
        let mut harness = gone(3);
        harness.models.policy = RetryPolicy {
            attempts: 3,
            ..RetryPolicy::default()
        };
        let mut life = harness.live();
        let told = life.ask("work").await;
        assert!(told.contains("turn failed"), "{told}");
        let path = life.path().to_owned();
        life.close().await;
        let mut life = harness.open(&path);
        life.command_and(Command::Resume).await;
        assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: work
        assistant (toolUse): read({"path":"small.txt"})
        toolResult: small
        assistant (error): 
        omission
        assistant (stop): done
        "#);
        life.close().await;
    });
}
