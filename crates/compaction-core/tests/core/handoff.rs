//! Handoff: what a document is made from, and what it may take.

use crate::sessions::{answer, calls, decoded, patched, path, says};
use compaction_core::{
    CompactionSettings, HandoffOptions, HandoffPlan, RequestKind, SummarizerLimits, TokenCount,
    TokenCounter, plan_handoff, tokens::ScriptAware,
};
use serde_json::json;
use session_model::{ContextRules, build_context};

fn options(window: u64) -> HandoffOptions {
    HandoffOptions {
        settings: CompactionSettings::default(),
        summarizer: SummarizerLimits {
            window: TokenCount(window),
            max_output: None,
        },
        focus: None,
    }
}

fn plan(decoded: &session_model::Decoded, options: &HandoffOptions) -> HandoffPlan {
    let path = path(decoded);
    let context = build_context(&path, ContextRules::Own);
    let plan = plan_handoff(&path, &context, options).expect("a window with room");
    plan.expect("something was said")
}

#[test]
fn everything_in_the_context_is_told_and_the_summary_before_is_carried() {
    let patches = [
        ("e1", says("before the compaction")),
        ("e2", says("kept question")),
        ("e3", says("kept answer")),
        ("e5", says("newest question")),
    ];
    let session = patched("u:10 u:10 a:10 k@e2:10 u:10", &patches);
    let plan = plan(&session, &options(200_000));
    let [request] = plan.requests() else {
        panic!("one request, not {}", plan.requests().len());
    };
    assert_eq!(request.kind, RequestKind::Handoff);
    let prompt = request.prompt(None);
    for told in ["kept question", "kept answer", "newest question"] {
        assert!(request.conversation.contains(told), "{told}");
    }
    assert!(!prompt.contains("before the compaction"));
    assert!(prompt.contains("<previous-summary>"), "{prompt}");
    assert!(plan.question().contains("## Next Steps"));
}

#[test]
fn focus_reaches_both_ways_of_asking() {
    let session = decoded("u:10 a:10");
    let focused = HandoffOptions {
        focus: Some("the parser".to_owned()),
        ..options(200_000)
    };
    let plan = plan(&session, &focused);
    assert!(plan.question().contains("the parser"));
    assert!(plan.requests()[0].prompt(None).contains("the parser"));
}

#[test]
fn a_long_conversation_is_folded_and_every_part_fits_the_window() {
    let session = decoded(&"u:400 a:400 ".repeat(60));
    let mut plan = plan(&session, &options(8_000));
    assert!(plan.requests().len() > 3, "{}", plan.requests().len());
    for request in plan.requests() {
        let tokens = ScriptAware.text(&request.prompt(Some(&"word ".repeat(500))));
        assert!(tokens + request.max_output <= TokenCount(8_000), "{tokens}");
    }
    let largest = |plan: &HandoffPlan| {
        let sizes = plan.requests().iter();
        sizes.map(|request| request.conversation.len()).max()
    };
    let mut folds = 0;
    while let Ok(smaller) = plan.clone().shrink() {
        assert!(largest(&smaller) < largest(&plan));
        plan = smaller;
        folds += 1;
    }
    assert!(folds >= 2, "{folds}");
}

#[test]
fn the_document_is_the_last_answer_with_the_files_of_the_whole_context() {
    let arguments = json!({"path": "src/a.rs", "content": "x"});
    let patches = [("e2", calls("c1", "write", &arguments))];
    let session = patched("u:10 call:c1:5 res:c1:5 a:10", &patches);
    let plan = plan(&session, &options(200_000));
    let answers = [answer("the document")];
    let (document, _) = plan.document(&answers).expect("a document");
    assert!(document.starts_with("the document"), "{document}");
    assert!(document.contains("src/a.rs"), "{document}");
    assert!(plan.document(&[answer(" ")]).is_err());
    assert!(plan.document(&[]).is_err());

    let extractive = plan.answer_extractive(TokenCount(2_000));
    let (document, _) = plan.document(&extractive).expect("an extractive document");
    assert!(document.contains("without a model") && document.contains("src/a.rs"));
}

#[test]
fn nothing_said_gives_no_plan() {
    let session = decoded("");
    let context = build_context(&path(&session), ContextRules::Own);
    assert!(matches!(
        plan_handoff(&path(&session), &context, &options(200_000)),
        Ok(None)
    ));
}
