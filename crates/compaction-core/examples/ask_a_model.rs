//! Lets a model answer the requests of a plan, here a function in its place:
//! `cargo run -p compaction-core --example ask_a_model < examples/sessions/long.jsonl`
use compaction_core::{
    AnswerEnd, PlanOptions, Summarizer, SummaryAnswer, SummaryRequest, TokenCount, Trigger,
    plan_compaction,
};

/// Sends the request to a model and returns its answer.
fn ask(request: &SummaryRequest, previous: Option<&str>) -> SummaryAnswer {
    let prompt = request.prompt(previous);
    let summarizer = Summarizer::Model {
        provider: "mine".to_owned(),
        model: "any".to_owned(),
    };
    SummaryAnswer {
        text: format!(
            "## Goal\nAnswer {} bytes of {:?}.",
            prompt.len(),
            request.kind
        ),
        end: AnswerEnd::Complete,
        summarizer,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::io::read_to_string(std::io::stdin())?;
    let session = session_model::decode_bytes(text.into_bytes()).tree;
    let options = PlanOptions::for_window(TokenCount(200_000));
    let plan = plan_compaction(&session.path(session.leaf()), &Trigger::Threshold, &options)?;
    let mut answers: Vec<SummaryAnswer> = Vec::new();
    for request in plan.requests() {
        answers.push(ask(
            request,
            answers.last().map(|answer| answer.text.as_str()),
        ));
    }
    // If the model's answer is useless it is refused, and the extractive summary replaces it.
    let compacted = plan.apply(&answers).or_else(|error| {
        eprintln!("{error}");
        plan.extractive()
    })?;
    println!("{}", compacted.summary);
    Ok(())
}
