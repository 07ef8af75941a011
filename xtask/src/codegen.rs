//! Generated files: written anew, or compared with what the generators give.

use crate::example;
use crate::refactor;
use crate::run::{Outcome, root};

/// Writes the generated files; with `--check` says which are stale instead.
pub fn run(arguments: &[String]) -> Outcome {
    let check = arguments.iter().any(|argument| argument == "--check");
    let stale = stale()?;
    if check {
        return match stale.as_slice() {
            [] => Ok(()),
            _ => Err("generated files are stale; run cargo xtask codegen".to_owned()),
        };
    }
    for (path, text) in stale {
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Returns the generated files that are not as their generators give them, with what they should hold.
pub fn stale() -> Outcome<Vec<(std::path::PathBuf, String)>> {
    let text = |lines: Vec<String>| lines.iter().map(|line| format!("{line}\n")).collect();
    let settings = root().join("docs/settings.md");
    let files: [(_, String); 4] = [
        (
            root().join("examples/sessions/long.jsonl"),
            text(example::example_session()),
        ),
        (
            root().join("examples/scripts/refactor.jsonl"),
            text(refactor::refactor_script()?),
        ),
        (
            root().join("docs/settings.schema.json"),
            agent_cli::settings::schema_text(),
        ),
        (settings.clone(), with_keys(&settings)?),
    ];
    let stale = files
        .into_iter()
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_deref() != Some(text));
    Ok(stale.collect())
}

/// What stands before and behind the table of keys.
const KEYS: [&str; 2] = [
    "<!-- keys: written by cargo xtask codegen -->\n",
    "<!-- end of keys -->\n",
];

/// Returns the text of a document with the table of keys that the types give.
fn with_keys(path: &std::path::Path) -> Outcome<String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let parts = text.split_once(KEYS[0]).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(KEYS[1])?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| {
        format!(
            "{} has no place for the table of keys: {KEYS:?}",
            path.display()
        )
    })?;
    let table = agent_cli::settings::key_table();
    Ok(format!("{before}{}{table}{}{after}", KEYS[0], KEYS[1]))
}
