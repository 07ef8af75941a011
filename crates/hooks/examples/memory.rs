//! A hook that adds notes to prompts and summaries. Run: `cargo run -p hooks --example memory`

use hooks::{
    BeforePromptEvent, BeforePromptResult, CompactingEvent, CompactingResult, Hook, HookContext,
    HookFuture, HookPoint, HookSet,
};
use session_model::EntryId;

/// Notes, each about something.
struct Memory {
    notes: Vec<(&'static str, &'static str)>,
}

impl Hook for Memory {
    fn name(&self) -> &str {
        "memory"
    }

    fn wants(&self, point: HookPoint) -> bool {
        [HookPoint::BeforePrompt, HookPoint::SessionCompacting].contains(&point)
    }

    /// Adds the notes about what the user mentions.
    fn before_prompt<'a>(
        &'a self,
        event: &'a BeforePromptEvent<'_>,
        _context: &'a HookContext,
    ) -> HookFuture<'a, BeforePromptResult> {
        let text = event.text.to_lowercase();
        let notes = self.notes.iter().filter(|(about, _)| text.contains(about));
        let context = notes.map(|(_, note)| (*note).to_owned()).collect();
        Box::pin(std::future::ready(Ok(BeforePromptResult { context })))
    }

    /// Lets the summarizer read all of them, and stores how many there were.
    fn compacting<'a>(
        &'a self,
        _event: &'a CompactingEvent<'_>,
        _context: &'a HookContext,
    ) -> HookFuture<'a, CompactingResult> {
        let notes = self.notes.iter();
        let mut added = CompactingResult {
            context: notes.map(|(_, note)| (*note).to_owned()).collect(),
            ..CompactingResult::default()
        };
        let count = self.notes.len().into();
        added.preserve_data.insert("notes".to_owned(), count);
        Box::pin(std::future::ready(Ok(added)))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut hooks = HookSet::default();
    hooks.register(Memory {
        notes: vec![
            ("release", "the release is on Friday"),
            ("parser", "the parser must not allocate"),
        ],
    });
    let context = HookContext::default();

    let prompt = BeforePromptEvent {
        text: "Is the parser fast enough?",
        entry_id: &EntryId::new("a1"),
    };
    let merged = hooks.before_prompt(&prompt, &context).await;
    println!("beside the message: {:?}", merged.result.context);

    let compacting = CompactingEvent {
        strategy: "context-full",
        messages: &[],
    };
    let merged = hooks.compacting(&compacting, &context).await;
    println!("for the summarizer: {:?}", merged.result.context);
    println!("stored: {:?}", merged.result.preserve_data);
}
