//! The words sent to summarizers: one template a file in `prompts/`, checked when this crate is compiled.

use askama::Template;
use session_model::fence_for;

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
    /// Returns the prompt for a document from which a new session goes on.
    handoff_document = "handoff-document.md";
    /// Returns the prompt for a snapshot of everything, before files and images are brought back.
    state_snapshot = "state-snapshot.md";
    /// Returns what is said to a summarizer that called a tool instead of writing.
    summary_no_tools = "summary-no-tools.md";
    /// Returns what an agent says to its model so that the work goes on after a compaction.
    auto_continue = "auto-continue.md";
    /// Returns what stands behind a summary where the model can search the session.
    summary_recall = "summary-recall.md";
    /// Returns the system prompt of a coding agent.
    system = "system.md";
    /// Returns the line with which a ledger begins.
    ledger_lead = "ledger-lead.md";
    /// Returns the same where there is little room.
    ledger_lead_brief = "ledger-lead-brief.md";
    /// Returns the same for a session that goes on from another.
    ledger_lead_handoff = "ledger-lead-handoff.md";
    /// Returns the same for a branch that was left.
    ledger_lead_branch = "ledger-lead-branch.md";
    /// Returns what stands before a branch summary.
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

/// The parts of a ledger, each written already; empty for none.
#[derive(Debug, Default, Template)]
#[template(path = "ledger.md")]
pub(crate) struct LedgerParts {
    pub lead: String,
    /// With headings of one word.
    pub brief: bool,
    pub pins: String,
    pub rules: String,
    pub first: String,
    pub messages: String,
    pub latest: String,
    pub files: String,
    pub failures: String,
    pub steps: String,
    pub todos: String,
    pub decisions: String,
    pub figures: String,
    pub pins_left: String,
    pub left: String,
}

/// Returns the block that a summary carries in addition to its prose.
pub(crate) fn ledger(parts: &LedgerParts) -> String {
    render(parts)
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

/// Returns what hooks add to the next message of the user, as the model reads it; the text cannot end its own frame.
pub fn hook_context(text: &str) -> String {
    #[derive(Template)]
    #[template(path = "hook-context.md")]
    struct Prompt<'a> {
        text: &'a str,
    }
    let text = &crate::serialize::escape(text);
    render(&Prompt { text })
}

/// What is said around the text of a file with instructions.
#[derive(Debug, Clone, Copy)]
pub struct Instructions<'a> {
    /// Where it is, without control characters.
    pub path: &'a str,
    /// Whose it is.
    pub origin: InstructionOrigin<'a>,
    /// What it says.
    pub text: &'a str,
    /// What is left out of it; empty for nothing.
    pub rest: &'a str,
}

/// Whose instructions they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionOrigin<'a> {
    /// The user's, for every project.
    User,
    /// The project's, for work in this folder.
    Project(&'a str),
}

/// Returns the text of a file with instructions as the model sees it.
pub fn project_instructions(file: &Instructions<'_>) -> String {
    #[derive(Template)]
    #[template(path = "project-instructions.md")]
    struct Prompt<'a> {
        path: &'a str,
        folder: Option<&'a str>,
        fence: String,
        text: &'a str,
        rest: &'a str,
    }
    render(&Prompt {
        path: file.path,
        folder: match file.origin {
            InstructionOrigin::User => None,
            InstructionOrigin::Project(folder) => Some(folder),
        },
        fence: fence_for(file.text),
        text: file.text.trim_end(),
        rest: file.rest,
    })
}

/// Returns what says that a file with instructions is another one now; its text follows.
pub fn instructions_changed(path: &str) -> String {
    #[derive(Template)]
    #[template(path = "instructions-changed.md")]
    struct Prompt<'a> {
        path: &'a str,
    }
    render(&Prompt { path })
}

/// Returns what says that the instructions of a file hold no longer.
pub fn instructions_gone(path: &str) -> String {
    #[derive(Template)]
    #[template(path = "instructions-gone.md")]
    struct Prompt<'a> {
        path: &'a str,
    }
    render(&Prompt { path })
}

/// Returns the list of skills as the model sees it; a line each.
pub fn skills(list: &str) -> String {
    #[derive(Template)]
    #[template(path = "skills.md")]
    struct Prompt<'a> {
        list: &'a str,
    }
    render(&Prompt { list })
}

pub(crate) fn render(template: &impl Template) -> String {
    // Rendering into a string fails only when a value's own formatting does, and texts never do.
    template.render().unwrap_or_default().trim_end().to_owned()
}
