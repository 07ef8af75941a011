//! Code that the agent writes in the last chapter: the spool and its segments.

/// `src/spool/segment.rs`.
pub const SEGMENT: &str = r#"
//! One spool segment: frames of sealed batches in `N.seg`, offsets of acknowledged frames in `N.ack`.
//!
//! Frame: `LFB1`, route length (u16), key length (u16), body length (u32), crc32 over the three parts (u32), then the
//! three parts. Numbers are little-endian. A frame whose crc does not match ends the segment: it was torn by a crash.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const MAGIC: &[u8; 4] = b"LFB1";
const HEAD: usize = 16;

/// A batch as it lies in a segment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub route: String,
    pub key: String,
    pub body: Vec<u8>,
}

pub(crate) struct Segment {
    path: PathBuf,
    frames: File,
    acks: File,
    len: u64,
    offsets: Vec<u64>,
    acked: BTreeSet<u64>,
}

impl Segment {
    pub fn create(dir: &Path, number: u64) -> Result<Self> {
        Self::open_files(dir, number).map(|(path, frames, acks)| Self {
            path,
            frames,
            acks,
            len: 0,
            offsets: Vec::new(),
            acked: BTreeSet::new(),
        })
    }

    /// Opens a segment of an earlier run; returns it with the frames that were not acknowledged.
    pub fn recover(dir: &Path, number: u64) -> Result<(Self, Vec<(u64, Frame)>)> {
        let (path, mut frames, mut acks) = Self::open_files(dir, number)?;
        let (mut bytes, mut ack_bytes) = (Vec::new(), Vec::new());
        frames.read_to_end(&mut bytes).map_err(|e| Error::io(&path, e))?;
        acks.read_to_end(&mut ack_bytes).map_err(|e| Error::io(&path, e))?;
        let acked: BTreeSet<u64> = ack_bytes.chunks_exact(8).map(le_u64).collect();
        let (mut at, mut offsets, mut open) = (0, Vec::new(), Vec::new());
        while let Some((frame, used)) = decode(&bytes[at..]) {
            offsets.push(at as u64);
            if !acked.contains(&(at as u64)) {
                open.push((at as u64, frame));
            }
            at += used;
        }
        Ok((Self { path, frames, acks, len: at as u64, offsets, acked }, open))
    }

    fn open_files(dir: &Path, number: u64) -> Result<(PathBuf, File, File)> {
        let path = dir.join(format!("{number:010}.seg"));
        let open = |path: &Path| {
            OpenOptions::new().create(true).read(true).append(true).open(path).map_err(|e| Error::io(path, e))
        };
        let (frames, acks) = (open(&path)?, open(&path.with_extension("ack"))?);
        Ok((path, frames, acks))
    }

    /// Appends a frame and syncs it; returns its offset.
    pub fn append(&mut self, frame: &Frame) -> Result<u64> {
        let bytes = encode(frame);
        let at = self.len;
        self.frames.write_all(&bytes).and_then(|()| self.frames.sync_data()).map_err(|e| Error::io(&self.path, e))?;
        self.len += bytes.len() as u64;
        self.offsets.push(at);
        Ok(at)
    }

    /// Marks a frame as acknowledged by the collector.
    pub fn acknowledge(&mut self, offset: u64) -> Result<()> {
        if self.acked.insert(offset) {
            self.acks.write_all(&offset.to_le_bytes()).map_err(|e| Error::io(&self.path, e))?;
        }
        Ok(())
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether every frame was acknowledged.
    pub fn done(&self) -> bool {
        self.acked.len() == self.offsets.len()
    }

    /// Deletes both files. Refuses while a frame is open.
    pub fn delete(self) -> Result<()> {
        if !self.done() {
            return Err(Error::config("(spool)", "segment still holds batches that were not acknowledged"));
        }
        std::fs::remove_file(&self.path).map_err(|e| Error::io(&self.path, e))?;
        let acks = self.path.with_extension("ack");
        std::fs::remove_file(&acks).map_err(|e| Error::io(&acks, e))
    }
}

fn encode(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + frame.route.len() + frame.key.len() + frame.body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(frame.route.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(frame.key.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(frame.body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&crc(frame).to_le_bytes());
    bytes.extend_from_slice(frame.route.as_bytes());
    bytes.extend_from_slice(frame.key.as_bytes());
    bytes.extend_from_slice(&frame.body);
    bytes
}

/// The first frame of `bytes` and its length; `None` at the end or when the frame is torn.
fn decode(bytes: &[u8]) -> Option<(Frame, usize)> {
    let head = bytes.get(..HEAD)?;
    if &head[..4] != MAGIC {
        return None;
    }
    let route = u16::from_le_bytes([head[4], head[5]]) as usize;
    let key = u16::from_le_bytes([head[6], head[7]]) as usize;
    let body = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
    let sum = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
    let parts = bytes.get(HEAD..HEAD + route + key + body)?;
    let frame = Frame {
        route: String::from_utf8(parts[..route].to_vec()).ok()?,
        key: String::from_utf8(parts[route..route + key].to_vec()).ok()?,
        body: parts[route + key..].to_vec(),
    };
    (crc(&frame) == sum).then_some((frame, HEAD + route + key + body))
}

fn crc(frame: &Frame) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(frame.route.as_bytes());
    crc.update(frame.key.as_bytes());
    crc.update(&frame.body);
    crc.sum()
}

fn le_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(n: u8) -> Frame {
        Frame { route: "default".into(), key: format!("default-{n:08x}-1"), body: vec![n; 100] }
    }

    #[test]
    fn a_frame_round_trips() {
        assert_eq!(decode(&encode(&frame(7))), Some((frame(7), encode(&frame(7)).len())));
    }

    #[test]
    fn a_flipped_bit_is_seen() {
        let mut bytes = encode(&frame(7));
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(decode(&bytes), None);
    }

    #[test]
    fn recovers_what_was_not_acknowledged() {
        let dir = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(dir.path(), 1).unwrap();
        let first = segment.append(&frame(1)).unwrap();
        let second = segment.append(&frame(2)).unwrap();
        segment.acknowledge(first).unwrap();
        drop(segment);
        let (segment, open) = Segment::recover(dir.path(), 1).unwrap();
        assert_eq!(open, [(second, frame(2))]);
        assert!(!segment.done());
    }

    #[test]
    fn an_open_segment_is_not_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let mut segment = Segment::create(dir.path(), 1).unwrap();
        segment.append(&frame(1)).unwrap();
        assert!(segment.delete().is_err());
        assert!(dir.path().join("0000000001.seg").exists());
    }
}
"#;

/// `src/spool/mod.rs`.
pub const SPOOL: &str = r#"
//! Sealed batches on disk until the collector acknowledges them: segments in order, bounded in total, safe against a kill.

#[cfg(test)]
mod fixture;
mod segment;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
pub(crate) use segment::Frame;
use segment::Segment;

/// How long a route rests after its attempts were used up.
const REST: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub segment_bytes: u64,
    pub max_bytes: u64,
}

pub(crate) struct Spool {
    dir: PathBuf,
    limits: Limits,
    number: u64,
    active: Segment,
    sealed: VecDeque<(u64, Segment)>,
    waiting: BTreeMap<String, Waiting>,
}

#[derive(Default)]
struct Waiting {
    frames: VecDeque<(u64, u64, Frame)>,
    rest_until: Option<Instant>,
}

impl Spool {
    /// Opens the directory; what an earlier run left unacknowledged waits first.
    pub fn open(dir: &Path, limits: Limits) -> Result<Self> {
        std::fs::create_dir_all(dir).map_err(|e| Error::io(dir, e))?;
        let mut numbers: Vec<u64> = std::fs::read_dir(dir)
            .map_err(|e| Error::io(dir, e))?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".seg")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        let number = numbers.last().copied().unwrap_or(0) + 1;
        let mut spool = Self {
            dir: dir.to_path_buf(),
            limits,
            number,
            active: Segment::create(dir, number)?,
            sealed: VecDeque::new(),
            waiting: BTreeMap::new(),
        };
        for old in numbers {
            let (segment, open) = Segment::recover(dir, old)?;
            for (offset, frame) in open {
                spool.wait(old, offset, frame);
            }
            spool.sealed.push_back((old, segment));
        }
        spool.sweep()?;
        Ok(spool)
    }

    /// Writes a batch to the active segment; it counts as safe when this returns.
    pub fn push(&mut self, frame: Frame) -> Result<()> {
        let offset = self.active.append(&frame)?;
        self.wait(self.number, offset, frame);
        if self.active.len() >= self.limits.segment_bytes {
            self.number += 1;
            let next = Segment::create(&self.dir, self.number)?;
            let full = std::mem::replace(&mut self.active, next);
            self.sealed.push_back((self.number - 1, full));
        }
        Ok(())
    }

    /// Whether the batcher must wait before it takes another record.
    pub fn full(&self) -> bool {
        self.used() >= self.limits.max_bytes
    }

    fn used(&self) -> u64 {
        self.sealed.iter().map(|(_, s)| s.len()).sum::<u64>()
    }

    /// Sends the oldest frames of every route that is not resting; acknowledges what was taken.
    pub fn send_what_is_due(&mut self, mut send: impl FnMut(&Frame) -> Result<()>) -> Result<()> {
        let now = Instant::now();
        let mut taken = Vec::new();
        for waiting in self.waiting.values_mut() {
            if waiting.rest_until.is_some_and(|until| now < until) {
                continue;
            }
            waiting.rest_until = None;
            while let Some((number, offset, frame)) = waiting.frames.front() {
                if send(frame).is_err() {
                    waiting.rest_until = Some(now + REST);
                    break;
                }
                taken.push((*number, *offset));
                waiting.frames.pop_front();
            }
        }
        for (number, offset) in taken {
            self.segment(number)?.acknowledge(offset)?;
        }
        self.sweep()
    }

    fn wait(&mut self, number: u64, offset: u64, frame: Frame) {
        self.waiting.entry(frame.route.clone()).or_default().frames.push_back((number, offset, frame));
    }

    fn segment(&mut self, number: u64) -> Result<&mut Segment> {
        if number == self.number {
            return Ok(&mut self.active);
        }
        let found = self.sealed.iter_mut().find(|(n, _)| *n == number);
        found.map(|(_, segment)| segment).ok_or_else(|| Error::config("(spool)", "segment is gone"))
    }

    /// Deletes sealed segments, oldest first, as long as every batch in them was acknowledged.
    fn sweep(&mut self) -> Result<()> {
        while self.sealed.front().is_some_and(|(_, segment)| segment.done()) {
            if let Some((_, segment)) = self.sealed.pop_front() {
                segment.delete()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::checkpoint::Position;

    const LIMITS: Limits = Limits { segment_bytes: 300, max_bytes: 1000 };

    fn frame(n: u8) -> Frame {
        Frame { route: "default".into(), key: format!("default-{n:08x}-1"), body: vec![n; 100] }
    }

    #[test]
    fn full_at_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), LIMITS).unwrap();
        (0..7).for_each(|n| spool.push(frame(n)).unwrap());
        assert!(spool.full());
    }

    #[test]
    fn sends_in_order_and_deletes() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), LIMITS).unwrap();
        (0..5).for_each(|n| spool.push(frame(n)).unwrap());
        let mut sent = Vec::new();
        spool.send_what_is_due(|f| { sent.push(f.body[0]); Ok(()) }).unwrap();
        assert_eq!(sent, [0, 1, 2, 3, 4]);
        assert!(spool.sealed.is_empty());
    }

    #[test]
    fn a_restart_sends_again_what_was_not_acknowledged() {
        let dir = tempfile::tempdir().unwrap();
        Spool::open(dir.path(), LIMITS).unwrap().push(frame(4)).unwrap();
        let mut sent = Vec::new();
        let mut spool = Spool::open(dir.path(), LIMITS).unwrap();
        spool.send_what_is_due(|f| { sent.push(f.key.clone()); Ok(()) }).unwrap();
        assert_eq!(sent, ["default-00000004-1"]);
    }

    #[test]
    fn recovers_after_a_torn_segment() {
        let mut torn = fixture::torn(LIMITS, &[frame(1), frame(2)]);
        torn.spool.push(frame(3)).unwrap();
        assert_eq!(torn.keys_after_restart(), ["default-00000001-1", "default-00000003-1"]);
        assert_eq!(torn.position("/a.log"), Some(Position { inode: 7, offset: 2048 }));
    }
}
"#;
