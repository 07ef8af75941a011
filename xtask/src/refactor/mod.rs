//! The script of a model that tidies up `examples/projects/textkit`, made by code and the same at every call. Every
//! call is played against the project's files while it is made, so that each one can be carried out.

mod chapter_errors;
mod chapter_helpers;
mod chapter_inventory;
mod chapter_names;
mod chapter_readme;
mod chapter_templates;
mod chapter_texts;
mod chapter_tokenizer;
mod chapter_wrapping;
mod code_template;
mod play;
mod script;
#[cfg(test)]
mod tests;

use crate::run::{Outcome, root};
use play::Tree;
use script::Line;

/// The first line: a window so small that the context is compacted again and again.
const HEADER: &str = r#"{"script":1,"name":"refactor","window":16384,"max_output":4096,"workspace":"../projects/textkit","settings":{"compaction":{"keepRecentTokens":4000}}}"#;

/// Returns the lines of the script, each without a line break.
pub fn refactor_script() -> Outcome<Vec<String>> {
    let lines = told();
    let mut tree = project()?;
    tree.play(&lines)?;
    let lines = lines.iter().map(Line::encode);
    Ok(std::iter::once(HEADER.to_owned()).chain(lines).collect())
}

/// Returns the project before the first call.
fn project() -> Outcome<Tree> {
    Tree::load(&root().join("examples/projects/textkit"))
}

/// Returns the whole story.
fn told() -> Vec<Line> {
    let chapters = [
        chapter_inventory::lines(),
        chapter_helpers::lines(),
        chapter_errors::lines(),
        chapter_names::lines(),
        chapter_wrapping::lines(),
        chapter_tokenizer::lines(),
        chapter_templates::lines(),
        chapter_texts::lines(),
        chapter_readme::lines(),
    ];
    chapters.into_iter().flatten().collect()
}
