//! Counts the characters of a session's context by role.
//! Run: `cargo run -p session-model --example tokens_by_role < examples/sessions/long.jsonl`

use std::collections::BTreeMap;
use std::io::Read;

use session_model::{ContextRules, build_context, decode_bytes};

fn main() -> std::io::Result<()> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let session = decode_bytes(bytes);
    for said in &session.diagnostics {
        eprintln!("{said}");
    }
    let path = session.tree.path(session.tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    let mut by_role: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (_, message) in context.messages() {
        let (count, characters) = by_role.entry(message.role().to_owned()).or_default();
        *count += 1;
        *characters += message.display_text().chars().count();
    }
    for (role, (count, characters)) in by_role {
        println!("{role:<20} {count:>6} messages {characters:>10} characters");
    }
    Ok(())
}
