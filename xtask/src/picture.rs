//! The picture in the README: what `compact` prints in a terminal, as SVG.

use std::process::Command;

use anstyle::RgbColor;

use crate::run::{Outcome, debug_binary, example_session, output, root, target, without_settings};

/// The number of lines shown.
const LINES: usize = 60;

/// The colours of a terminal, from the background to the text.
const COLOURS: [u32; 8] = [
    0x0d1117, 0xff7b72, 0x7ee787, 0xe3b341, 0x79c0ff, 0xd2a8ff, 0x56d4dd, 0xe6edf3,
];

/// Writes `docs/compact.svg`.
pub fn run() -> Outcome {
    let folder = target().join("picture");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let out = "compacted.jsonl";
    match std::fs::remove_file(folder.join(out)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let text = output(
        without_settings(&mut Command::new(debug_binary()?))
            .current_dir(&folder)
            .env("CLICOLOR_FORCE", "1")
            .arg("compact")
            .arg(example_session())
            .args(["--out", out]),
    )?;
    let path = root().join("docs/compact.svg");
    let shown: Vec<&str> = text.lines().take(LINES).collect();
    let palette: [_; 16] = std::array::from_fn(|index| {
        let [_, red, green, blue] = COLOURS[index % 8].to_be_bytes();
        RgbColor(red, green, blue)
    });
    let svg = anstyle_svg::Term::new()
        .palette(palette.into())
        .render_svg(&shown.join("\n"));
    std::fs::write(&path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
