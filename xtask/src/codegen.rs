//! Generated files: written anew, or compared with what the generators give.

use crate::example;
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
    let session: String = example::example_session()
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    let files = [(root().join("examples/sessions/long.jsonl"), session)];
    let stale = files
        .into_iter()
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_deref() != Some(text));
    Ok(stale.collect())
}
