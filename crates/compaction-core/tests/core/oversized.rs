//! One large output must not take the place of everything else that stays.

use crate::sessions::{decoded, patched, path};
use compaction_core::{
    CompactionPlan, Disposition, PlanOptions, Profile, TokenCount, Trigger, plan_compaction,
};
use serde_json::json;
use session_model::{Decoded, build_context, decode_bytes};

use crate::sessions::appended;

fn plan(session: &Decoded, window: u64) -> CompactionPlan {
    let options = PlanOptions::for_window(TokenCount(window));
    let trigger = Trigger::Manual { focus: None };
    plan_compaction(&path(session), &trigger, &options).expect("something to do")
}

/// Work of about 60k tokens that ends in a command of the user with an output of 25k.
fn ends_in_a_large_output() -> (String, Decoded) {
    let mut notation = String::new();
    for turn in 0..30 {
        notation.push_str(&format!("u:40 call:c{turn}:5 res:c{turn}:1800 a:100 "));
    }
    notation.push_str("u:30 a:60 out=b:10");
    let output = "a line of output that says nothing much\n".repeat(2600);
    let command = json!({"message": {"command": "make logs", "output": output}});
    let text = crate::sessions::patched_text(&notation, &[("out", command)]);
    let session = decode_bytes(text.clone().into_bytes());
    (text, session)
}

#[test]
fn the_conversation_before_a_large_output_stays() {
    let (text, session) = ends_in_a_large_output();
    for window in [200_000, 32_000] {
        let plan = plan(&session, window);
        assert_eq!(plan.elisions.len(), 1, "{window}");
        let elision = &plan.elisions[0];
        assert_eq!(elision.entry_id.as_str(), "out");
        let kept = plan.ids(Disposition::Kept).count();
        assert!(kept > 2, "{window}: {kept} entries stay");
        let applied = plan.extractive().expect("a summary");
        let after = appended(&text, Some("out"), &applied.drafts);
        let after = decode_bytes(after.into_bytes());
        let context = build_context(&path(&after), Profile::Own.context_rules());
        let counter = Profile::Own.counter();
        let sizes = context
            .messages()
            .map(|(_, message)| counter.message(message));
        let all: TokenCount = sizes.clone().sum();
        assert!(all < TokenCount(window / 2), "{window}: {all}");
        let (_, last) = context.messages().last().expect("messages");
        let last = last.display_text();
        assert!(
            last.contains("tokens; entry out has all of it]"),
            "{window}"
        );
        assert!(last.contains("make logs"), "{last}");
    }
}

#[test]
fn what_is_not_large_stays_whole() {
    let session =
        decoded("u:19000 a:19000 u:15000 a:5000 u:100 call:c1:5 res:c1:1500 a:100 u:100 a:100");
    assert_eq!(plan(&session, 200_000).elisions.len(), 0);
}

#[test]
fn a_pinned_output_stays_whole() {
    let session = patched(
        "u:30000 a:30000 u:10 call:c1:5 big=res:c1:6000 a:10 u:10 a:10 pin=label",
        &[("pin", json!({"label": "pin", "targetId": "big"}))],
    );
    let ids: Vec<String> = plan(&session, 400_000)
        .elisions
        .iter()
        .map(|it| it.entry_id.to_string())
        .collect();
    assert_eq!(ids, [""; 0]);
}
