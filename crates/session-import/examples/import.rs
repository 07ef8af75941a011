//! Converts the session on standard input, whatever program wrote it, and reports on standard error:
//! `cargo run -p session-import --example import < rollout.jsonl > session.jsonl`.

use std::io::{Read, Write};

use session_import::{Input, Origin, detect, import};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let format = detect(&bytes[..bytes.len().min(1 << 20)]).ok_or("no known format")?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let input = Input::of_bytes(bytes);
    let report = import(format, &input, &Origin::default(), &|_| None, &mut out)?;
    out.flush()?;
    eprintln!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
