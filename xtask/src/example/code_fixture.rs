//! Code that the agent writes in the last chapter: the test fixture of the spool.

/// `src/spool/fixture.rs`.
pub const SPOOL_FIXTURE: &str = r#"
//! A spool whose last frame was torn by a kill, with the position that was saved at that moment.

use std::io::Write;
use std::path::Path;

use super::{Frame, Limits, Spool};
use crate::input::checkpoint::{Checkpoints, Position};

pub(super) struct Torn {
    pub spool: Spool,
    dir: tempfile::TempDir,
    limits: Limits,
}

/// Writes `frames`, cuts the last one in half, and opens the spool again.
pub(super) fn torn(limits: Limits, frames: &[Frame]) -> Torn {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(dir.path(), limits).unwrap();
    for (n, frame) in (1..).zip(frames) {
        spool.push(frame.clone()).unwrap();
        let at = Position { inode: 7, offset: 2048 * n };
        Checkpoints::open(dir.path()).unwrap().set(Path::new("/a.log"), at).unwrap();
    }
    drop(spool);
    let segment = dir.path().join("0000000001.seg");
    let whole = std::fs::read(&segment).unwrap();
    let mut out = std::fs::File::create(&segment).unwrap();
    out.write_all(&whole[..whole.len() - 60]).unwrap();
    Torn { spool: Spool::open(dir.path(), limits).unwrap(), dir, limits }
}

impl Torn {
    pub fn keys_after_restart(&self) -> Vec<String> {
        let mut keys = Vec::new();
        let mut again = Spool::open(self.dir.path(), self.limits).unwrap();
        again.send_what_is_due(|frame| { keys.push(frame.key.clone()); Ok(()) }).unwrap();
        keys
    }

    pub fn position(&self, path: &str) -> Option<Position> {
        Checkpoints::open(self.dir.path()).unwrap().get(Path::new(path))
    }
}
"#;
