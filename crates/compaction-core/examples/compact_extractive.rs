//! Plans a compaction of the session on standard input and prints the summary that the built-in rules write.
//! Run: `cargo run -p compaction-core --example compact_extractive < examples/sessions/long.jsonl`

use std::io::Read;

use compaction_core::{PlanOptions, TokenCount, Trigger, plan_compaction};
use session_model::decode_bytes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let session = decode_bytes(bytes);
    let path = session.tree.path(session.tree.leaf());
    let options = PlanOptions::for_window(TokenCount(200_000));
    let plan = plan_compaction(&path, &Trigger::Manual { focus: None }, &options)?;
    let applied = plan.apply(&plan.answer_extractive())?;
    eprintln!(
        "{} -> {} tokens, keeping from {}",
        plan.tokens_in_context(),
        applied.tokens_after,
        plan.first_kept().map_or("nothing", |first| first.as_str())
    );
    println!("{}", applied.summary);
    Ok(())
}
