//! Appending: whole lines in one write, synced, and taken back when anything fails.

use std::io;
use std::time::{Duration, Instant};

use crate::file_layer::AppendFile;

/// When an append is forced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncPolicy {
    /// After every append.
    #[default]
    Always,
    /// At most once a second, and when the session is closed.
    Interval,
    /// When the system likes.
    Never,
}

/// Why an append failed. The file has the bytes that it had before.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The file is not as long as it was when it was read.
    #[error("the file changed since it was read")]
    Changed,
    /// Writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Lines that are written and may not be on the disk yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// Where they begin; further on than expected where another program wrote at the same time.
    pub(crate) start: u64,
    /// Where they end.
    pub(crate) end: u64,
}

impl Written {
    /// Takes back what was written, unless another program that knows no lock wrote behind it. A failure to take it
    /// back leaves a torn tail that opens like any other.
    pub(crate) fn take_back<F: AppendFile + ?Sized>(self, file: &mut F) {
        if file.length().is_ok_and(|length| length == self.end) {
            let _ = file.truncate(self.start);
        }
    }
}

/// Appends `lines` to a file that had `length` bytes when it was read. A file without a newline at its end gets one
/// first, so that a torn line stays separate. Returns the new length.
pub fn append_lines<F: AppendFile + ?Sized>(
    file: &mut F,
    length: u64,
    ends_with_newline: bool,
    lines: &[String],
    policy: SyncPolicy,
) -> Result<u64, AppendError> {
    let written = write_lines(file, length, ends_with_newline, lines)?;
    match policy {
        SyncPolicy::Always => file.sync().inspect_err(|_| written.take_back(file))?,
        // Whoever appends again and again knows when it is time; see `SyncClock`.
        SyncPolicy::Interval | SyncPolicy::Never => {}
    }
    Ok(written.end)
}

/// Writes `lines` as [`append_lines`] does, and says where they are; nothing is synced. After an error the file has
/// the bytes that it had before.
pub(crate) fn write_lines<F: AppendFile + ?Sized>(
    file: &mut F,
    length: u64,
    ends_with_newline: bool,
    lines: &[String],
) -> Result<Written, AppendError> {
    if file.length()? != length {
        return Err(AppendError::Changed);
    }
    let mut bytes = Vec::new();
    if !ends_with_newline {
        bytes.push(b'\n');
    }
    for line in lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    let count = loop {
        match file.write_once(&bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            written => break written?,
        }
    };
    // The system appends in one step, so the position tells where the lines are, whoever else wrote.
    let end = file.position()?;
    let written = Written {
        start: end.saturating_sub(count as u64),
        end,
    };
    if count < bytes.len() {
        written.take_back(file);
        return Err(io::Error::from(io::ErrorKind::StorageFull).into());
    }
    Ok(written)
}

/// The time between two syncs of [`SyncPolicy::Interval`].
const INTERVAL: Duration = Duration::from_secs(1);

/// Decides which appends are synced.
#[derive(Debug, Clone, Default)]
pub(crate) struct SyncClock {
    pub(crate) policy: SyncPolicy,
    last: Option<Instant>,
    /// Something that was written is not synced.
    waiting: bool,
}

impl SyncClock {
    /// Returns what applies to an append at `now`: always or never.
    pub(crate) fn due(&self, now: Instant) -> SyncPolicy {
        let recent = |last| now.saturating_duration_since(last) < INTERVAL;
        match self.policy {
            SyncPolicy::Interval if self.last.is_some_and(recent) => SyncPolicy::Never,
            SyncPolicy::Always | SyncPolicy::Interval => SyncPolicy::Always,
            SyncPolicy::Never => SyncPolicy::Never,
        }
    }

    /// Notes that something was written at `now` under what was due.
    pub(crate) fn written(&mut self, now: Instant, due: SyncPolicy) {
        match due {
            SyncPolicy::Always => (self.last, self.waiting) = (Some(now), false),
            SyncPolicy::Interval | SyncPolicy::Never => self.waiting = true,
        }
    }

    /// Returns true when something waits that the policy wants on the disk in the end.
    pub(crate) fn waits(&self) -> bool {
        self.waiting && self.policy != SyncPolicy::Never
    }
}

#[cfg(test)]
mod tests {
    use super::{AppendError, INTERVAL, SyncClock, SyncPolicy, append_lines};
    use crate::file_layer::AppendFile;
    use std::io;
    use std::time::{Duration, Instant};

    /// A file in memory that writes at most `room` more bytes and may fail to sync.
    struct Faulty {
        bytes: Vec<u8>,
        room: usize,
        syncs: bool,
        fails_when_full: bool,
    }

    impl AppendFile for Faulty {
        fn length(&self) -> io::Result<u64> {
            Ok(self.bytes.len() as u64)
        }

        fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room);
            if count < bytes.len() && self.fails_when_full {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn position(&mut self) -> io::Result<u64> {
            self.length()
        }

        fn sync(&mut self) -> io::Result<()> {
            match self.syncs {
                true => Ok(()),
                false => Err(io::Error::other("the disk is gone")),
            }
        }

        fn truncate(&mut self, length: u64) -> io::Result<()> {
            self.bytes.truncate(length as usize);
            Ok(())
        }
    }

    #[test]
    fn a_short_write_at_any_offset_is_taken_back() {
        let before = b"{\"type\":\"session\"}\n{\"torn\":".to_vec();
        let lines = ["{\"a\":1}".to_owned(), "{\"b\":2}".to_owned()];
        let whole = 1 + 8 + 8;
        for room in 0..=whole {
            for fails_when_full in [false, true] {
                let mut file = Faulty {
                    bytes: before.clone(),
                    room,
                    syncs: true,
                    fails_when_full,
                };
                let length = before.len() as u64;
                let done = append_lines(&mut file, length, false, &lines, SyncPolicy::Always);
                if room == whole {
                    assert!(done.is_ok());
                    assert!(file.bytes.ends_with(b"{\"torn\":\n{\"a\":1}\n{\"b\":2}\n"));
                } else {
                    assert!(matches!(done, Err(AppendError::Io(_))));
                    assert_eq!(file.bytes, before, "room {room}");
                }
            }
        }
    }

    #[test]
    fn a_failed_sync_is_taken_back_and_a_changed_file_is_left_alone() {
        let mut file = Faulty {
            bytes: b"x\n".to_vec(),
            room: 100,
            syncs: false,
            fails_when_full: false,
        };
        let lines = ["{}".to_owned()];
        assert!(append_lines(&mut file, 2, true, &lines, SyncPolicy::Always).is_err());
        assert_eq!(file.bytes, b"x\n");
        assert!(append_lines(&mut file, 2, true, &lines, SyncPolicy::Never).is_ok());
        let changed = append_lines(&mut file, 2, true, &lines, SyncPolicy::Never);
        assert!(matches!(changed, Err(AppendError::Changed)));
        assert_eq!(file.bytes, b"x\n{}\n");
    }
    #[test]
    fn an_interval_syncs_once_a_second_and_knows_what_waits() {
        let mut clock = SyncClock {
            policy: SyncPolicy::Interval,
            ..SyncClock::default()
        };
        let start = Instant::now();
        let mut seen = Vec::new();
        for millis in [0, 1, 999, 1000, 1500, 2000] {
            let now = start + Duration::from_millis(millis);
            let due = clock.due(now);
            clock.written(now, due);
            seen.push((millis, due, clock.waits()));
        }
        let (always, never) = (SyncPolicy::Always, SyncPolicy::Never);
        let want = [
            (0, always, false),
            (1, never, true),
            (999, never, true),
            (1000, always, false),
            (1500, never, true),
            (2000, always, false),
        ];
        assert_eq!(seen, want);
        clock.policy = SyncPolicy::Never;
        let later = start + 10 * INTERVAL;
        clock.written(later, clock.due(later));
        assert!(!clock.waits(), "nobody asked for a sync");
    }
}
