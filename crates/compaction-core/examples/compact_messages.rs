//! Compacts a list of messages without a file, a model or a network: `cargo run -p compaction-core --example compact_messages`
use compaction_core::{PlanOptions, TokenCount, Trigger, plan_compaction};
use session_model::{AgentMessage, Content, SessionTree, UserMessage};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let messages: Vec<AgentMessage> = (1..=40)
        .map(|number| {
            let text = format!(
                "Request {number}: {}",
                "explain how the importer works. ".repeat(200)
            );
            AgentMessage::User(UserMessage {
                content: Content::Text(text),
                timestamp: None,
            })
        })
        .collect();
    let session = SessionTree::of_messages(messages)?;
    let mut options = PlanOptions::for_window(TokenCount(100_000));
    options.settings.compaction.keep_recent_tokens = TokenCount(5_000);
    let plan = plan_compaction(&session.path(session.leaf()), &Trigger::Threshold, &options)?;
    let compacted = plan.extractive()?;
    println!(
        "{} -> {} tokens",
        plan.tokens_in_context(),
        compacted.tokens_after
    );
    for message in compacted.messages() {
        println!("{}: {:.60}", message.role(), message.display_text());
    }
    Ok(())
}
