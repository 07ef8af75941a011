//! A larger model takes over before anything is compacted.

use insta::assert_snapshot;
use serde_json::json;

use super::*;

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

/// Returns a harness with a model of 8192 tokens, and a larger one that may take over.
fn harness(small: &str, large: &str) -> Harness {
    let mut harness = Harness::new(&[&window(8192), small, &summaries()].concat())
        .compaction(json!({ "keepRecentTokens": 500 }));
    let larger = harness.model("larger", large, 100_000);
    harness.models.promotions.push_back(larger);
    harness
}

#[test]
fn the_larger_model_takes_over_at_the_threshold_and_the_session_says_so() {
    run(async {
        let harness = harness("", &[answer("I am larger"), answer("still me")].concat());
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask(&words(3000)).await, @"
        promoted scripted/script -> scripted/larger
        user: lorem ipsum dolor sit amet lorem ipsum d
        answer (stop): I am larger
        turn done
        ");
        assert_snapshot!(life.ask("and now").await, @"
        user: and now
        answer (stop): still me
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        model larger
        system: 
        user: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        assistant (stop): I am larger
        user: and now
        assistant (stop): still me
        ");
        life.close().await;
    });
}

#[test]
fn the_larger_model_answers_what_overflowed_the_smaller_one() {
    run(async {
        let harness = harness(&error("context_overflow"), &answer("it fits"));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask("go on").await, @"
        user: go on
        answer (error):  context overflow: scripted/script: the script says context_overflow
        promoted scripted/script -> scripted/larger
        answer (stop): it fits
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        system: 
        user: go on
        assistant (error): 
        model larger
        omission
        assistant (stop): it fits
        ");
        assert_snapshot!(harness.newest_request().last().unwrap(), @"user: go on");
        life.close().await;
    });
}

#[test]
fn the_larger_model_takes_over_from_an_answer_that_was_cut_off() {
    run(async {
        let cut_off = line_of(&json!({ "answer": { "text": "half", "stop": "length" } }));
        let harness = harness(&cut_off, &answer("whole"));
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask("go on").await, @"
        user: go on
        answer (length): half
        promoted scripted/script -> scripted/larger
        answer (stop): whole
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn a_session_that_was_left_in_an_overflow_is_promoted_when_it_is_resumed() {
    run(async {
        let harness = harness("", &answer("it fits"));
        let session = test_support::session(LONG);
        let failed = json!({
            "type": "message", "id": "failed", "parentId": "e8", "timestamp": "2026-01-01T01:00:00.000Z",
            "message": { "role": "assistant", "api": "test", "provider": "test", "model": "test", "content": [],
                "stopReason": "error", "errorMessage": "context overflow: too long", "timestamp": 1_767_225_600_000_u64 },
        });
        let failed = failed.to_string();
        let path = harness.file(&format!("{session}{failed}\n"));
        let mut life = harness.open(&path);
        assert_snapshot!(life.command_and(Command::Resume).await, @"
        promoted scripted/script -> scripted/larger
        answer (stop): it fits
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn the_model_of_a_branch_returns_with_it() {
    run(async {
        let harness = harness(
            &[answer("I am small"), answer("small again")].concat(),
            &[answer("I am larger"), answer("larger again")].concat(),
        );
        let mut life = harness.open_session(LONG);
        life.ask("who are you").await;
        life.ask(&words(3000)).await;
        let session = SessionFile::open(life.path()).unwrap();
        let large = session.tree().leaf();
        let session_model::Leaf::At(large) = large else {
            panic!("something was written")
        };
        let large = session.tree().id(large).to_owned();
        // Where the small one answered.
        let back = Command::Navigate(to(Some("e8")));
        let told = life.command_and(back).await;
        assert!(
            told.contains("notice: scripted/script answers on this branch"),
            "{told}"
        );
        assert_snapshot!(life.ask("and now").await, @"
        user: and now
        answer (stop): small again
        turn done
        ");
        let told = life.command_and(Command::Navigate(to(Some(&large)))).await;
        assert!(
            told.contains("notice: scripted/larger answers on this branch"),
            "{told}"
        );
        assert_snapshot!(life.ask("and on that branch").await, @"
        user: and on that branch
        answer (stop): larger again
        turn done
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        user: #7
        assistant (stop): #8
        system: 
        user: who are you
        assistant (stop): I am small
        model larger
        user: lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        assistant (stop): I am larger
        custom agent-cli/leaf
        user: and on that branch
        assistant (stop): larger again
        ");
        life.close().await;
    });
}

#[test]
fn a_promotion_runs_where_automatic_compaction_is_off() {
    run(async {
        let mut harness = harness("", &answer("I am larger"));
        harness.when.enabled = false;
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask(&words(3000)).await, @"
        promoted scripted/script -> scripted/larger
        user: lorem ipsum dolor sit amet lorem ipsum d
        answer (stop): I am larger
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn a_promotion_that_cannot_be_written_is_taken_back() {
    run(async {
        let harness = harness(&[answer("small"), answer("a"), answer("b")].concat(), "");
        let mut life = harness.open_session(LONG);
        life.ask("hello").await;
        let before = saving::spoil(life.path());
        let told = life.ask(&words(3000)).await;
        assert!(told.starts_with("error: "), "{told}");
        assert!(!told.contains("promoted"), "{told}");
        saving::restore(life.path(), &before);
        life.send(Command::Navigate(to(Some("e8"))));
        life.rest().await;
        assert!(!life.written().contains("larger"), "{}", life.written());
        life.close().await;
    });
}
