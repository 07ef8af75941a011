//! The output of a call that still runs, for those who watch it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two updates.
const INTERVAL: Duration = Duration::from_millis(100);

/// Receives the newest output of a running call; cheap to clone. There is no receiver by default.
#[derive(Clone, Default)]
pub struct LiveOutput(Option<Arc<dyn Fn(String) + Send + Sync>>);

impl LiveOutput {
    /// Returns what passes updates to `receive`. Each is the end of the output so far, bounded and without keys, and
    /// replaces the one before.
    pub fn new(receive: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receive)))
    }
}

impl fmt::Debug for LiveOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiveOutput")
            .field(&self.0.is_some())
            .finish()
    }
}

/// Sends updates, and none sooner than the interval after the last.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    live: LiveOutput,
    /// There is output that was not sent.
    changed: bool,
    /// The time at which the next update may be sent.
    next: Option<Instant>,
}

impl Throttle {
    /// Returns one for a call that begins at `now`: a short call has no update.
    pub(crate) fn new(live: LiveOutput, now: Instant) -> Self {
        Self {
            live,
            changed: false,
            next: Some(now + INTERVAL),
        }
    }

    /// Notes that there is more output.
    pub(crate) fn change(&mut self) {
        self.changed = self.live.0.is_some();
    }

    /// Returns when the next update is due at `now` or later; none when there is nothing to send.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        self.changed.then(|| self.next.unwrap_or(now).max(now))
    }

    /// Sends an update at `now`.
    pub(crate) fn send(&mut self, output: String, now: Instant) {
        self.changed = false;
        self.next = Some(now + INTERVAL);
        if let Some(receive) = &self.live.0 {
            receive(output);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_an_interval_apart_and_the_last_change_is_always_due() {
        let start = Instant::now();
        let mut throttle = Throttle::new(LiveOutput::new(|_| {}), start);
        assert_eq!(throttle.due(start), None);
        throttle.change();
        let first = start + INTERVAL;
        assert_eq!(throttle.due(start), Some(first));
        throttle.send(String::new(), first);
        assert_eq!(throttle.due(first), None);
        throttle.change();
        assert_eq!(throttle.due(first), Some(first + INTERVAL));
        let late = start + 3 * INTERVAL;
        assert_eq!(throttle.due(late), Some(late));
        let mut unwatched = Throttle::default();
        unwatched.change();
        assert_eq!(unwatched.due(start), None);
    }
}
