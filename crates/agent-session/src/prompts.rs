//! What is said to the model of a session: one template a file in `prompts/`, checked when this crate is compiled.

use askama::Template;
use compaction_core::escape;
use session_model::fence_for;

/// A prompt without variables.
macro_rules! fixed_prompts {
    ($($(#[$doc:meta])* $name:ident = $path:literal;)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name() -> String {
                #[derive(Template)]
                #[template(path = $path)]
                struct Prompt;
                render(&Prompt)
            }
        )*
    };
}

fixed_prompts! {
    /// Returns the system prompt of a coding agent.
    system = "system.md";
    /// Returns what an agent says to its model so that the work goes on after a compaction.
    auto_continue = "auto-continue.md";
}

/// Returns what hooks add to the next message of the user, as the model reads it; the text cannot end its own frame.
pub(crate) fn hook_context(text: &str) -> String {
    #[derive(Template)]
    #[template(path = "hook-context.md")]
    struct Prompt<'a> {
        text: &'a str,
    }
    let text = &escape(text);
    render(&Prompt { text })
}

/// Returns the text of a file with instructions as the model sees it: the user's for every project, or a project's for
/// work in `folder`. `path` has no control characters; `rest` says what is left out.
pub(crate) fn project_instructions(
    path: &str,
    folder: Option<&str>,
    text: &str,
    rest: &str,
) -> String {
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
        path,
        folder,
        fence: fence_for(text),
        text: text.trim_end(),
        rest,
    })
}

/// Returns what says that a file with instructions is another one now; its text follows.
pub(crate) fn instructions_changed(path: &str) -> String {
    #[derive(Template)]
    #[template(path = "instructions-changed.md")]
    struct Prompt<'a> {
        path: &'a str,
    }
    render(&Prompt { path })
}

/// Returns what says that the instructions of a file hold no longer.
pub(crate) fn instructions_gone(path: &str) -> String {
    #[derive(Template)]
    #[template(path = "instructions-gone.md")]
    struct Prompt<'a> {
        path: &'a str,
    }
    render(&Prompt { path })
}

/// Returns the list of skills as the model sees it; a line each.
pub(crate) fn skills(list: &str) -> String {
    #[derive(Template)]
    #[template(path = "skills.md")]
    struct Prompt<'a> {
        list: &'a str,
    }
    render(&Prompt { list })
}

/// Returns what stands in the place of an image that the provider refuses; `id` is its entry.
pub(crate) fn rejected_image(id: &str) -> String {
    #[derive(Template)]
    #[template(path = "rejected-image.md")]
    struct Prompt<'a> {
        id: &'a str,
    }
    render(&Prompt { id })
}

fn render(template: &impl Template) -> String {
    // Rendering into a string fails only when a value's own formatting does, and texts never do.
    template.render().unwrap_or_default().trim_end().to_owned()
}
