//! Skips tests that the system cannot run.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that the running test is skipped, and why: on standard error, and in the file that the variable
/// `SKIPPED_TESTS` names, which `cargo xtask ci` lists at its end.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    // Written directly: the test harness hides the output of print macros in a test that passes.
    let _ = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    let file = std::env::var_os("SKIPPED_TESTS");
    let file = file.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
    if let Some(mut file) = file {
        let _ = file.write_all(line.as_bytes());
    }
}
