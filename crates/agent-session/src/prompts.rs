//! What is said to the model of a session: one template a file in `prompts/`, checked when this crate is compiled.

use askama::Template;
use compaction_core::escape;

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

/// Returns what replaces an image that the provider refuses; `id` is its entry.
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
