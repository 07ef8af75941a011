//! Cancellation by the user: Ctrl-C, SIGTERM and SIGHUP end the program, but never in the middle of a write. A command
//! that waits for others or has begun to write notices it, and ends by itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hooks::process::kill_all;
use llm_providers::CancellationToken;

use crate::error::Error;

static CANCELLED: AtomicBool = AtomicBool::new(false);
static TOKEN: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// What the command does that only the command itself can end.
static UNDER_WAY: Mutex<usize> = Mutex::new(0);

fn under_way() -> MutexGuard<'static, usize> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it is kept, a cancellation is noticed by [`token`] and [`check`], and does not end the program.
#[must_use]
pub struct Noticing(());

/// Lets the command notice a cancellation by itself as long as what is returned is kept.
pub fn notice() -> Noticing {
    *under_way() += 1;
    Noticing(())
}

impl Drop for Noticing {
    fn drop(&mut self) {
        *under_way() -= 1;
    }
}

/// Lets a command begin to write: from here on it ends by itself.
pub fn begin_write() -> Result<(), Error> {
    let mut under_way = under_way();
    check()?;
    *under_way += 1;
    Ok(())
}

/// Lets Ctrl-C, SIGTERM and SIGHUP end the program, once `report` has said so; a command that notices them itself is
/// ended by the second one. The commands that the program runs end with it.
pub fn listen(report: impl Fn() + Send + 'static) {
    // Without a handler the system's own applies, which is no worse than before.
    let _ = ctrlc::set_handler(move || {
        if CANCELLED.swap(true, Ordering::SeqCst) {
            kill_all(|| {
                #[cfg(feature = "tui")]
                agent_tui::restore();
                std::process::exit(130)
            });
        }
        TOKEN.cancel();
        // Held to the end: nothing begins to write any more.
        let under_way = under_way();
        if *under_way == 0 {
            kill_all(|| {
                report();
                std::process::exit(130)
            });
        }
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
