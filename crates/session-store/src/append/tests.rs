//! Appends that fail halfway, and when they are synced.

use std::future::poll_fn;
use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use super::{AppendError, Syncing, Written};
use crate::file_layer::AppendFile;
use crate::lock::SessionLock;

/// A file in memory that writes at most `room` more bytes and may fail to sync.
#[derive(Clone)]
struct Faulty {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
    syncs: bool,
    fails_when_full: bool,
    /// A sync waits for this.
    released: Option<Arc<Mutex<Receiver<()>>>>,
}

impl AppendFile for Faulty {
    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.room);
        if count < bytes.len() && self.fails_when_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes
            .lock()
            .unwrap()
            .extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn position(&mut self) -> io::Result<u64> {
        self.length()
    }

    fn sync(&mut self) -> io::Result<()> {
        if let Some(released) = &self.released {
            released.lock().unwrap().recv().unwrap();
        }
        match self.syncs {
            true => Ok(()),
            false => Err(io::Error::other("the disk is gone")),
        }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().truncate(length as usize);
        Ok(())
    }
}

impl Faulty {
    fn of(bytes: &[u8], room: usize) -> Self {
        Self {
            bytes: Arc::new(Mutex::new(bytes.to_vec())),
            room,
            syncs: true,
            fails_when_full: false,
            released: None,
        }
    }

    /// Appends lines behind `length` bytes and syncs them.
    fn append(&self, length: usize, ends: bool, lines: &[&str]) -> Result<(), AppendError> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Written::append(Box::new(self.clone()), length as u64, ends, &lines)?.sync()?;
        Ok(())
    }

    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

#[test]
fn a_short_write_at_any_offset_is_taken_back() {
    let before = b"{\"type\":\"session\"}\n{\"torn\":";
    let whole = 1 + 8 + 8;
    for room in 0..=whole {
        for fails_when_full in [false, true] {
            let file = Faulty {
                fails_when_full,
                ..Faulty::of(before, room)
            };
            let done = file.append(before.len(), false, &["{\"a\":1}", "{\"b\":2}"]);
            if room == whole {
                assert!(done.is_ok());
                assert!(
                    file.bytes()
                        .ends_with(b"{\"torn\":\n{\"a\":1}\n{\"b\":2}\n")
                );
            } else {
                assert!(matches!(done, Err(AppendError::Io(_))));
                assert_eq!(file.bytes(), before, "room {room}");
            }
        }
    }
}

#[test]
fn a_failed_sync_is_taken_back_and_a_changed_file_is_left_alone() {
    let mut file = Faulty::of(b"x\n", 100);
    file.syncs = false;
    assert!(file.append(2, true, &["{}"]).is_err());
    assert_eq!(file.bytes(), b"x\n");
    file.syncs = true;
    assert!(file.append(2, true, &["{}"]).is_ok());
    let changed = file.append(2, true, &["{}"]);
    assert!(matches!(changed, Err(AppendError::Changed)));
    assert_eq!(file.bytes(), b"x\n{}\n");
}

#[test]
fn a_sync_that_its_caller_left_holds_the_lock_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    std::fs::write(&session, "").unwrap();
    let (release, released) = channel();
    let file = Faulty {
        released: Some(Arc::new(Mutex::new(released))),
        ..Faulty::of(b"", 100)
    };
    let lines = ["x".to_owned()];
    let written = Written::append(Box::new(file), 0, true, &lines).unwrap();
    let mut syncing = Syncing::default();
    let lock = SessionLock::acquire(&session).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut sync = Box::pin(syncing.sync(written, lock));
    let polled = poll_fn(|context| Poll::Ready(sync.as_mut().poll(context)));
    assert!(runtime.block_on(polled).is_pending());
    drop(sync);
    SessionLock::acquire(&session).expect_err("the sync may still cut the file");
    release.send(()).unwrap();
    let ended = runtime.block_on(syncing.abandoned());
    ended.unwrap().unwrap().unwrap();
    SessionLock::acquire(&session).unwrap();
}
