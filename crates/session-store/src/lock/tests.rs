//! Locks that cannot be examined.

use std::cell::Cell;
use std::io;

use super::SessionLock;

#[test]
fn f13_a_lock_that_cannot_be_examined_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    let failing = SessionLock::take_checked(&session, |_, _| Err(io::Error::other("no stat")));
    let refused = failing.unwrap_err().to_string();
    assert!(refused.starts_with("cannot examine "), "{refused}");
    assert!(refused.ends_with(": no stat"), "{refused}");
    // A lock that is removed again and again is given up.
    let looks = Cell::new(0);
    let removed = SessionLock::take_checked(&session, |_, _| {
        looks.set(looks.get() + 1);
        Ok(false)
    });
    let refused = removed.unwrap_err().to_string();
    assert!(refused.contains("again and again"), "{refused}");
    assert_eq!(looks.get(), super::ATTEMPTS);
    SessionLock::take_checked(&session, super::same_file).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_with_the_number_of_a_holder_that_is_gone_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("s.jsonl");
    std::fs::write(&session, "").unwrap();
    let ours = std::process::id();
    std::fs::write(SessionLock::path_for(&session), ours.to_string()).unwrap();
    assert_eq!(SessionLock::holder(&session), None);
    let lock = SessionLock::acquire(&session).unwrap();
    assert_eq!(SessionLock::holder(&session), Some(ours));
    drop(lock);
    assert_eq!(SessionLock::holder(&session), None);
}
