//! Cancellation by the user: Ctrl-C, SIGTERM and SIGHUP are noticed between steps, never in the middle of a write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use hooks::process::kill_all;
use llm_providers::CancellationToken;

use crate::error::Error;

static CANCELLED: AtomicBool = AtomicBool::new(false);
static TOKEN: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Lets Ctrl-C, SIGTERM and SIGHUP be noticed by [`check`] from now on. A second one ends the program
/// immediately, and the commands that it runs.
pub fn listen() {
    // Without a handler the system's own applies, which is no worse than before.
    let _ = ctrlc::set_handler(|| {
        if CANCELLED.swap(true, Ordering::SeqCst) {
            kill_all(|| {
                #[cfg(feature = "tui")]
                agent_tui::restore();
                std::process::exit(130)
            });
        }
        TOKEN.cancel();
    });
    #[cfg(unix)]
    survive_file_size_limit();
}

/// Makes a write that exceeds the limit of file sizes an error. Without a handler the signal ends the program, and its
/// temporary files remain.
#[cfg(unix)]
fn survive_file_size_limit() {
    let limit = rustix::process::Signal::XFSZ.as_raw();
    // The write itself fails, so the flag is not read. Where no handler can be set, the system's own applies.
    let _ = signal_hook::flag::register(limit, Arc::default());
}

/// Returns the token that ends every request of a model once the user has cancelled.
pub fn token() -> CancellationToken {
    TOKEN.clone()
}

/// Returns whether the user has cancelled.
pub fn is_cancelled() -> bool {
    CANCELLED.load(Ordering::SeqCst)
}

/// Returns an error once the user has cancelled.
pub fn check() -> Result<(), Error> {
    match is_cancelled() {
        true => Err(Error::Cancelled),
        false => Ok(()),
    }
}
