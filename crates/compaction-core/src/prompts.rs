//! The words sent to summarizers: one template a file in `prompts/`, checked when this crate is compiled.

use askama::Template;

/// A prompt without variables.
macro_rules! fixed_prompts {
    ($($(#[$doc:meta])* $name:ident = $path:literal;)*) => {
        $(
            $(#[$doc])*
            pub fn $name() -> String {
                #[derive(Template)]
                #[template(path = $path)]
                struct Prompt;
                render(&Prompt)
            }
        )*
    };
}

fixed_prompts! {
    /// Returns the system prompt of every summary request.
    summarization_system = "summarization-system.md";
    /// Returns the prompt for a first summary.
    compaction_summary = "compaction-summary.md";
    /// Returns the prompt for bringing a summary up to date.
    compaction_update_summary = "compaction-update-summary.md";
    /// Returns the prompt for the beginning of a split turn.
    compaction_turn_prefix = "compaction-turn-prefix.md";
    /// Returns the prompt for a one-line summary.
    compaction_short_summary = "compaction-short-summary.md";
    /// Returns the prompt for the summary of a branch.
    branch_summary = "branch-summary.md";
    /// Returns the prompt for a document with which a new session continues.
    handoff_document = "handoff-document.md";
    /// Returns the prompt for a snapshot of everything, before files and images are brought back.
    state_snapshot = "state-snapshot.md";
    /// Returns the line with which an extractive summary begins.
    outline_lead = "outline-lead.md";
    /// Returns the same for a session that continues from another.
    outline_lead_handoff = "outline-lead-handoff.md";
    /// Returns the line with which a ledger begins.
    ledger_lead = "ledger-lead.md";
    /// Returns the same for a session that continues from another.
    ledger_lead_handoff = "ledger-lead-handoff.md";
    /// Returns the same for a branch that was left.
    ledger_lead_branch = "ledger-lead-branch.md";
    /// Returns the text before a branch summary.
    branch_summary_preamble = "branch-summary-preamble.md";
}

/// Returns the tags that name files; an empty list has none.
pub(crate) fn file_operations(read: &str, modified: &str) -> String {
    #[derive(Template)]
    #[template(path = "file-operations.md")]
    struct Prompt<'a> {
        read: &'a str,
        modified: &'a str,
    }
    render(&Prompt { read, modified })
}

/// Returns the block that a summary carries in addition to its prose, with the blank line in front.
pub(crate) fn ledger(lead: &str, outline: &str) -> String {
    #[derive(Template)]
    #[template(path = "ledger.md")]
    struct Prompt<'a> {
        lead: &'a str,
        outline: &'a str,
    }
    format!("\n\n{}", render(&Prompt { lead, outline }))
}

/// Returns instructions and what the user wants the summary to focus on.
pub(crate) fn summary_focus(instructions: &str, focus: &str) -> String {
    #[derive(Template)]
    #[template(path = "summary-focus.md")]
    struct Prompt<'a> {
        instructions: &'a str,
        focus: &'a str,
    }
    render(&Prompt {
        instructions,
        focus,
    })
}

pub(crate) fn render(template: &impl Template) -> String {
    // Rendering into a string fails only when a value's own formatting does, and texts never do.
    template.render().unwrap_or_default().trim_end().to_owned()
}
