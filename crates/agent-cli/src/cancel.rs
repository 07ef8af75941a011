//! Cancellation by the user: Ctrl-C is noticed between steps, never in the middle of a write.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C be noticed by [`check`] from now on. A second Ctrl-C ends the program at once.
pub fn listen() {
    // Without a handler the system's own applies, which is no worse than before.
    let _ = ctrlc::set_handler(|| {
        if CANCELLED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Returns an error once the user has cancelled.
pub fn check() -> Result<(), Error> {
    match CANCELLED.load(Ordering::SeqCst) {
        true => Err(Error::Cancelled),
        false => Ok(()),
    }
}
