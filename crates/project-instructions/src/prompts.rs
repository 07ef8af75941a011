//! The messages to the model about instructions: one template file each in `prompts/`, checked by the compiler.

use askama::Template;
use session_model::fence_for;

/// Returns the text of a file with instructions as the model sees it: the user's for every project, or a project's for
/// work in `folder`. `path` has no control characters; `rest` says what is left out.
pub fn project_instructions(path: &str, folder: Option<&str>, text: &str, rest: &str) -> String {
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

fn render(template: &impl Template) -> String {
    // Rendering into a string fails only when a value's own formatting does, and texts never do.
    template.render().unwrap_or_default().trim_end().to_owned()
}
