//! Writes generated files, or compares them with the output of the generators.

use std::path::{Path, PathBuf};

use agent_tools::Idempotency;

use crate::reference;
use crate::run::{Outcome, read, root};

/// Writes the generated files that are stale.
pub fn run() -> Outcome {
    for (path, text) in stale()? {
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Returns the generated files that are not as their generators give them, with what they should hold.
pub fn stale() -> Outcome<Vec<(PathBuf, String)>> {
    let docs = root().join("docs");
    let schemas = [
        ("reference/settings", agent_settings::schema_text()),
        ("reference/events", session_protocol::event::schema_text()),
        ("reference/rpc", agent_rpc::schema_text()),
    ];
    let parts = [
        ("reference/settings", "keys", agent_settings::key_table()),
        ("reference/events", "events", reference::events()),
        ("reference/hooks", "hooks", reference::hooks()),
        ("reference/rpc", "commands", reference::commands()),
        ("reference/tools", "tools", tool_table()),
    ];
    let mut files = Vec::new();
    for (name, text) in schemas {
        files.push((docs.join(format!("{name}.schema.json")), text));
    }
    for (name, mark, part) in parts {
        let path = docs.join(format!("{name}.md"));
        let text = with_part(&path, mark, &part)?;
        files.push((path, text));
    }
    files.retain(|(path, text)| std::fs::read_to_string(path).ok().as_deref() != Some(text));
    Ok(files)
}

/// Returns the table of the tools: the first sentence of their descriptions, and their properties.
fn tool_table() -> String {
    let tools = session_tools::standard_tools();
    let yes_or_no = |yes: bool| if yes { "yes" } else { "no" };
    let rows = tools.specs().into_iter().map(|tool| {
        let meta = tools.meta(&tool.name);
        let does = tool.description.split(". ").next().unwrap_or_default();
        format!(
            "| `{}` | {} | {} | {} |\n",
            tool.name,
            does.trim_end_matches('.'),
            yes_or_no(meta.needs_approval),
            yes_or_no(meta.idempotency == Idempotency::Idempotent)
        )
    });
    let head = "| tool | does | needs approval | repeated after a crash |\n|---|---|---|---|\n";
    head.to_owned() + &rows.collect::<String>()
}

/// Returns the text of a document with `part` between the two marks of a name.
fn with_part(path: &Path, name: &str, part: &str) -> Outcome<String> {
    let start = format!("<!-- {name}: written by cargo xtask codegen -->\n");
    let end = format!("<!-- end of {name} -->\n");
    let text = read(path)?;
    let parts = text.split_once(&start).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some(format!("{before}{start}{part}{end}{after}"))
    });
    parts.ok_or_else(|| format!("{} has no place for generated {name}", path.display()))
}
