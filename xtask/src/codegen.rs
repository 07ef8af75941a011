//! Generated files: written anew, or compared with what the generators give.

use crate::example;
use crate::loss_table;
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
    let settings = root().join("docs/reference/settings.md");
    let events = root().join("docs/reference/events.md");
    let hook_points = root().join("docs/reference/hooks.md");
    let rpc = root().join("docs/reference/rpc.md");
    let loss = root().join("docs/explanation/loss.md");
    let files: [(_, String); 10] = [
        (
            root().join("examples/sessions/long.jsonl"),
            text(example::example_session()),
        ),
        (
            root().join("examples/scripts/refactor.jsonl"),
            text(refactor::refactor_script()?),
        ),
        (
            root().join("docs/reference/settings.schema.json"),
            agent_cli::settings::schema_text(),
        ),
        (
            settings.clone(),
            with_part(&settings, KEYS, &agent_cli::settings::key_table())?,
        ),
        (
            root().join("docs/reference/events.schema.json"),
            agent_cli::session::event::schema_text(),
        ),
        (
            events.clone(),
            with_part(&events, EVENTS, &agent_cli::session::event::reference())?,
        ),
        (
            hook_points.clone(),
            with_part(&hook_points, HOOKS, &hooks::reference())?,
        ),
        (
            root().join("docs/reference/rpc.schema.json"),
            agent_cli::rpc_schema_text(),
        ),
        (
            rpc.clone(),
            with_part(&rpc, COMMANDS, &agent_cli::rpc_reference())?,
        ),
        (
            loss.clone(),
            with_part(&loss, SHARES, &loss_table::table()?)?,
        ),
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

/// What stands before and behind the reference of events.
const EVENTS: [&str; 2] = [
    "<!-- events: written by cargo xtask codegen -->\n",
    "<!-- end of events -->\n",
];

/// What stands before and behind the reference of hook points.
const HOOKS: [&str; 2] = [
    "<!-- hooks: written by cargo xtask codegen -->\n",
    "<!-- end of hooks -->\n",
];

/// What stands before and behind the reference of RPC commands.
const COMMANDS: [&str; 2] = [
    "<!-- commands: written by cargo xtask codegen -->\n",
    "<!-- end of commands -->\n",
];

/// What stands before and behind the table of shares in sight.
const SHARES: [&str; 2] = [
    "<!-- shares: written by cargo xtask codegen -->\n",
    "<!-- end of shares -->\n",
];

/// Returns the text of a document with `part` between two marks.
fn with_part(path: &std::path::Path, marks: [&str; 2], part: &str) -> Outcome<String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let parts = text.split_once(marks[0]).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(marks[1])?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| {
        format!(
            "{} has no place for what is generated: {marks:?}",
            path.display()
        )
    })?;
    Ok(format!("{before}{}{part}{}{after}", marks[0], marks[1]))
}
