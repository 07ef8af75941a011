//! Prose of models that is refused, because it is no summary.

use crate::sessions::{patched, path, says};
use compaction_core::{
    AnswerEnd, AppliedCompaction, ApplyError, CompactionPlan, PlanOptions, Summarizer,
    SummaryAnswer, TokenCount, Trigger, plan_compaction,
};

/// Plans for a session that changes files.
fn plan() -> CompactionPlan {
    let files = ["writer.go", "reader.go", "retry.go", "report.go"];
    let turns = files.iter().enumerate();
    let turns = turns.map(|(at, file)| format!("write:c{at}:/billing/{file} res:c{at}:3000"));
    let notation = format!(
        "u:20 {} a:20 u:10 a:10",
        turns.collect::<Vec<_>>().join(" ")
    );
    let request = says("Port the billing job to Go and never touch the table invoices.");
    let session = patched(&notation, &[("e1", request)]);
    let mut options = PlanOptions::for_window(TokenCount(100_000));
    options.settings.compaction.keep_recent_tokens = TokenCount(15);
    plan_compaction(&path(&session), &Trigger::Manual { focus: None }, &options).expect("a plan")
}

fn said(plan: &CompactionPlan, text: &str) -> Result<(), ApplyError> {
    applied(plan, text).map(|_| ())
}

fn applied(plan: &CompactionPlan, text: &str) -> Result<AppliedCompaction, ApplyError> {
    let model = Summarizer::Model {
        provider: "p".to_owned(),
        model: "m".to_owned(),
    };
    let answers = plan.requests().iter().map(|_| SummaryAnswer {
        text: text.to_owned(),
        end: AnswerEnd::Complete,
        summarizer: model.clone(),
    });
    plan.apply(&answers.collect::<Vec<_>>())
}

#[test]
fn the_ledger_of_a_plan_is_the_one_that_follows_its_summary() {
    let plan = plan();
    let applied = applied(
        &plan,
        "Ported writer.go, reader.go, retry.go and report.go.",
    )
    .unwrap();
    assert!(!plan.ledger.is_empty());
    assert!(
        applied.summary.contains(&plan.ledger.text),
        "{}",
        applied.summary
    );
}

#[test]
fn a_refusal_is_no_summary() {
    let plan = plan();
    for text in [
        "I'm sorry, but I can't help with that request, because of what this conversation contains.",
        "## Goal\n(No conversation content was provided to summarize.)\n\n## Next Steps\n1. Resubmit it.",
        "Error generating summary: Error: net::ERR_INCOMPLETE_CHUNKED_ENCODING, please try it again later.",
        "I'll continue now. First I read main.go again, then I run the tests and tell you what came out.",
    ] {
        let refused = said(&plan, text);
        assert!(
            matches!(refused, Err(ApplyError::Worthless { .. })),
            "{refused:?}: {text}"
        );
    }
}

#[test]
fn what_was_asked_said_again_is_no_summary() {
    let plan = plan();
    let request = &plan.requests()[0];
    assert_eq!(said(&plan, &request.prompt(None)), Err(ApplyError::Echo));
}

#[test]
fn a_loop_is_no_summary() {
    let text = format!(
        "## Goal\nPort the billing job: writer.go, reader.go, retry.go, report.go.\n{}",
        "- done\n".repeat(200)
    );
    assert_eq!(
        said(&plan(), &text),
        Err(ApplyError::Repeats {
            lines: 202,
            distinct: 3
        })
    );
}

#[test]
fn a_summary_in_few_words_or_in_another_language_is_one() {
    let plan = plan();
    for text in [
        "## Goal\nPort the billing job to Go.\n## Done\nwriter.go, reader.go, retry.go and report.go are written.",
        "## Ziel\nDer Abrechnungslauf kommt nach Go; die Tabelle invoices bleibt.\n## Fertig\nwriter.go, reader.go, retry.go.",
    ] {
        assert_eq!(said(&plan, text), Ok(()), "{text}");
    }
}
