//! Fuzzing: every format of `fuzz/`, from the inputs in its corpus, where nightly Rust and cargo-fuzz are installed.

use std::process::{Command, Stdio};

use crate::run::{Outcome, root, succeed, target};

/// The time for all formats together, in seconds.
const SECONDS: usize = 60;

/// Returns what is missing to fuzz.
pub fn missing() -> Option<&'static str> {
    let mut fuzz = cargo_fuzz();
    fuzz.arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let found = fuzz.status().is_ok_and(|status| status.success());
    (!found).then_some("nightly Rust or cargo-fuzz is not installed")
}

/// Fuzzes the formats that are named, or all, for `--seconds N` together.
pub fn run(arguments: &[String]) -> Outcome {
    let (seconds, names) = match arguments {
        [option, seconds, names @ ..] if option == "--seconds" => {
            let failed = |_| format!("{seconds} is not a number of seconds");
            (seconds.parse().map_err(failed)?, names)
        }
        names => (SECONDS, names),
    };
    let failed = |error: std::io::Error| format!("fuzz: {error}");
    let folder = root().join("fuzz");
    // The versions that the program is built with.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failed)?;
    let mut formats = Vec::new();
    for format in std::fs::read_dir(folder.join("corpus")).map_err(failed)? {
        let name = format
            .map_err(failed)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if names.is_empty() || names.contains(&name) {
            formats.push(name);
        }
    }
    formats.sort();
    succeed(cargo_fuzz().args(["build", "--sanitizer", "none", "formats"]))?;
    for format in &formats {
        println!("-- {format}");
        // Findings are kept out of the repository.
        let found = target().join("fuzz").join(format);
        std::fs::create_dir_all(&found).map_err(failed)?;
        let mut fuzz = cargo_fuzz();
        fuzz.args(["run", "--sanitizer", "none", "formats"]);
        fuzz.arg(std::path::absolute(found).map_err(failed)?);
        fuzz.arg(folder.join("corpus").join(format));
        let time = (seconds / formats.len()).max(1);
        fuzz.args(["--", "-timeout=10", "-print_final_stats=1", "-verbosity=0"]);
        fuzz.arg(format!("-max_total_time={time}"));
        succeed(fuzz.env("FUZZ_FORMAT", format))?;
    }
    Ok(())
}

fn cargo_fuzz() -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", "nightly", "cargo", "fuzz"])
        .current_dir(root());
    command
}
