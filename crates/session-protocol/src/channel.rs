//! The bounded channel of the events of a running session.
//!
//! Nothing that a session reports is dropped. Where the reader is behind, text deltas of the same answer are
//! merged into one. Once the events that wait take more than the bound in bytes, the session waits: it lets models,
//! tools and compactions go on only once a second, so that their time limits hold, except what was told to stop. Commands are still taken until twice the bound is reached, so
//! that a reader who is behind can stop the session. [`SessionHandle::close`](crate::SessionHandle::close) is always heard. A session whose
//! [`EventReceiver`] is dropped waits for nobody; tool calls that need approval are denied there.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::event::SessionEvent;

/// The bound of a channel of events, in bytes of their JSON.
pub const EVENT_BYTES: usize = 4_000_000;

/// Items up to this number are kept apart even where they could be merged: the reader is not behind yet.
const APART: usize = 64;

/// What waits in a bounded queue.
pub trait Queueable: Sized {
    /// Returns how many bytes it takes, about.
    fn bytes(&self) -> usize;

    /// Merges the item that follows into this one, or gives it back where the two must stay apart.
    fn merge(&mut self, next: Self) -> Option<Self> {
        Some(next)
    }
}

impl Queueable for SessionEvent {
    fn bytes(&self) -> usize {
        size_of::<Self>() + json_bytes(self)
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (Self::TextDelta { text }, Self::TextDelta { text: more })
            | (Self::ThinkingDelta { text }, Self::ThinkingDelta { text: more }) => {
                text.push_str(&more);
                None
            }
            (_, next) => Some(next),
        }
    }
}

/// Returns how long a value is as JSON.
pub fn json_bytes(value: &impl serde::Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written takes what was written of it.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// The sending end of a queue that is bounded in bytes; cheap to clone.
pub struct Sender<T>(Arc<Shared<T>>);

/// The receiving end of a queue that is bounded in bytes.
pub struct Receiver<T>(Arc<Shared<T>>);

struct Shared<T> {
    waiting: Mutex<Waiting<T>>,
    most: usize,
    /// An item was sent, or the last sender is gone.
    sent: Notify,
    /// The queue has crossed its bound, in either direction.
    crossed: Notify,
}

struct Waiting<T> {
    items: VecDeque<(T, usize)>,
    bytes: usize,
    senders: usize,
    is_read: bool,
}

/// Returns both ends of a queue that is full once its items take more than `most` bytes.
pub fn queue<T: Queueable>(most: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        waiting: Mutex::new(Waiting {
            items: VecDeque::new(),
            bytes: 0,
            senders: 1,
            is_read: true,
        }),
        most,
        sent: Notify::new(),
        crossed: Notify::new(),
    });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Queueable> Sender<T> {
    /// Sends without waiting; whoever sends waits for room elsewhere. Where nobody reads any more, nothing is kept.
    pub fn send(&self, item: T) {
        let mut waiting = self.0.lock();
        if !waiting.is_read {
            return;
        }
        let was_full = waiting.bytes > self.0.most;
        let bytes = item.bytes();
        waiting.bytes += bytes;
        let is_behind = waiting.items.len() > APART;
        let item = match waiting.items.back_mut().filter(|_| is_behind) {
            Some((last, size)) => {
                let left = last.merge(item);
                if left.is_none() {
                    *size += bytes;
                }
                left
            }
            None => Some(item),
        };
        waiting.items.extend(item.map(|item| (item, bytes)));
        if !was_full && waiting.bytes > self.0.most {
            self.0.crossed.notify_one();
        }
        self.0.sent.notify_one();
    }
}

impl<T> Sender<T> {
    /// Returns whether what waits takes more than `times` the bound.
    pub fn is_full(&self, times: usize) -> bool {
        self.0.lock().bytes > self.0.most.saturating_mul(times)
    }

    /// Returns whether somebody may still read.
    pub fn is_read(&self) -> bool {
        self.0.lock().is_read
    }

    /// Waits until the queue becomes full, or has room again.
    pub async fn crossed(&self) {
        self.0.crossed.notified().await;
    }
}

impl<T> Receiver<T> {
    /// Returns the next item, as soon as there is one; none once every sender is gone.
    pub async fn recv(&mut self) -> Option<T> {
        loop {
            if let Some(item) = self.try_recv() {
                return Some(item);
            }
            if self.0.lock().senders == 0 {
                return None;
            }
            self.0.sent.notified().await;
        }
    }

    /// Returns the next item if there is one already.
    pub fn try_recv(&mut self) -> Option<T> {
        let mut waiting = self.0.lock();
        let before = waiting.bytes;
        let (item, bytes) = waiting.items.pop_front()?;
        waiting.bytes -= bytes;
        let bounds = [self.0.most, self.0.most.saturating_mul(2)];
        if bounds
            .iter()
            .any(|bound| before > *bound && waiting.bytes <= *bound)
        {
            self.0.crossed.notify_one();
        }
        Some(item)
    }

    /// Returns how many bytes wait to be read.
    pub fn waiting_bytes(&self) -> usize {
        self.0.lock().bytes
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().senders -= 1;
        self.0.sent.notify_one();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.is_read = false;
        waiting.bytes = 0;
        let items = std::mem::take(&mut waiting.items);
        drop(waiting);
        drop(items);
        self.0.crossed.notify_one();
    }
}

/// Where a session sends its events.
pub type EventSender = Sender<SessionEvent>;

/// The events of a session, in their order.
pub type EventReceiver = Receiver<SessionEvent>;

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("waiting_bytes", &self.waiting_bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{APART, queue};
    use crate::event::SessionEvent;

    fn delta(text: &str) -> SessionEvent {
        SessionEvent::TextDelta {
            text: text.to_owned(),
        }
    }

    #[test]
    fn deltas_are_merged_only_for_a_reader_who_is_behind() {
        let (sender, mut receiver) = queue(1000);
        for _ in 0..APART {
            sender.send(delta("a"));
        }
        sender.send(SessionEvent::TurnStart);
        for text in ["b", "c", "d"] {
            sender.send(delta(text));
        }
        sender.send(SessionEvent::TurnStart);
        for _ in 0..APART {
            assert_eq!(receiver.try_recv(), Some(delta("a")));
        }
        assert_eq!(receiver.try_recv(), Some(SessionEvent::TurnStart));
        assert_eq!(receiver.try_recv(), Some(delta("bcd")));
        assert_eq!(receiver.try_recv(), Some(SessionEvent::TurnStart));
        assert_eq!(receiver.try_recv(), None);
        assert_eq!(receiver.waiting_bytes(), 0);
    }

    #[tokio::test]
    async fn the_channel_ends_with_its_last_sender() {
        let (sender, mut receiver) = queue(1000);
        let other = sender.clone();
        drop(sender);
        other.send(SessionEvent::TurnStart);
        drop(other);
        assert_eq!(receiver.recv().await, Some(SessionEvent::TurnStart));
        assert_eq!(receiver.recv().await, None);
    }

    #[test]
    fn nothing_is_kept_for_a_reader_who_is_gone() {
        let (sender, receiver) = queue(1);
        sender.send(SessionEvent::TurnStart);
        assert!(sender.is_full(1));
        drop(receiver);
        assert!(!sender.is_full(1));
        sender.send(SessionEvent::TurnStart);
        assert!(!sender.is_full(1) && !sender.is_read());
    }
}
