//! A hook that refuses compaction of short sessions. Run: `cargo run -p hooks --example keep_out`

use compaction_core::{PlanOptions, TokenCount, Trigger, plan_compaction};
use hooks::{BeforeCompactEvent, BeforeCompactResult, Hook, HookContext, HookFuture, HookSet};

/// Cancels compactions that would summarize fewer than this many entries.
struct AtLeast(usize);

impl Hook for AtLeast {
    fn name(&self) -> &str {
        "at-least"
    }

    fn before_compact<'a>(
        &'a self,
        event: &'a BeforeCompactEvent<'_>,
        _context: &'a HookContext,
    ) -> HookFuture<'a, BeforeCompactResult> {
        let summarized = event
            .plan
            .ids(compaction_core::Disposition::Summarized)
            .count();
        let answer = match summarized < self.0 {
            true => BeforeCompactResult::Cancel {
                reason: Some(format!("only {summarized} entries would be summarized")),
            },
            false => BeforeCompactResult::Proceed,
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let mut parent = "null".to_owned();
    for n in 0..12 {
        let text = "words ".repeat(400);
        lines.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"{n}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        ));
        parent = format!("\"{n}\"");
    }
    let session = session_model::decode_bytes(lines.into());
    let path = session.tree.path(session.tree.leaf());
    let mut options = PlanOptions::for_window(TokenCount(100_000));
    options.settings.compaction.keep_recent_tokens = TokenCount(2_000);
    let plan = plan_compaction(&path, &Trigger::Manual { focus: None }, &options)?;

    for limit in [5, 50] {
        let mut hooks = HookSet::default();
        hooks.register(AtLeast(limit));
        let event = BeforeCompactEvent {
            plan: &plan,
            path: &path,
            custom_instructions: None,
            reason: "manual",
            will_retry: false,
        };
        let merged = hooks.before_compact(&event, &HookContext::default()).await;
        println!("at least {limit} entries: {:?}", merged.result);
    }
    Ok(())
}
