//! Sources of the invented project, part input: following files, finding them, and read positions.

/// `src/input/tail.rs`: follows one file through rotation.
pub const TAIL: &str = r#"
//! Follows one file: new data, truncation, rotation. Hands raw records to the pipeline.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::input::checkpoint::{Checkpoints, Position};
use crate::metrics::Metrics;
use crate::parse::{Parser, Record};

const CHUNK: usize = 64 * 1024;

pub(crate) struct Tail {
    path: PathBuf,
    file: File,
    inode: u64,
    offset: u64,
    pending: Vec<u8>,
    parser: Parser,
    checkpoints: Checkpoints,
    poll: Duration,
}

impl Tail {
    pub fn open(path: &Path, config: &Config) -> Result<Self> {
        let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
        let meta = file.metadata().map_err(|e| Error::io(path, e))?;
        let checkpoints = Checkpoints::open(&config.input.checkpoint_dir)?;
        let offset = match checkpoints.get(path) {
            Some(saved) if saved.inode == meta.ino() && saved.offset <= meta.len() => saved.offset,
            _ if config.input.from_start => 0,
            _ => meta.len(),
        };
        file.seek(SeekFrom::Start(offset)).map_err(|e| Error::io(path, e))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            inode: meta.ino(),
            offset,
            pending: Vec::new(),
            parser: Parser::new(&config.parse)?,
            checkpoints,
            poll: Duration::from_millis(config.input.poll_ms),
        })
    }

    pub fn spawn(mut self, out: SyncSender<Record>, stop: Arc<AtomicBool>, metrics: Arc<Metrics>) -> JoinHandle<Result<()>> {
        std::thread::spawn(move || {
            let mut last_save = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                let moved = self.step(&out, &metrics)?;
                if last_save.elapsed() > Duration::from_secs(1) {
                    self.save()?;
                    last_save = Instant::now();
                }
                if !moved {
                    std::thread::sleep(self.poll);
                }
            }
            self.save()
        })
    }

    /// Reads one chunk; returns whether there was any.
    fn step(&mut self, out: &SyncSender<Record>, metrics: &Metrics) -> Result<bool> {
        let mut chunk = vec![0; CHUNK];
        let n = self.file.read(&mut chunk).map_err(|e| Error::io(&self.path, e))?;
        if n == 0 {
            return self.reopen_if_moved();
        }
        metrics.read_bytes(n as u64);
        self.pending.extend_from_slice(&chunk[..n]);
        while let Some(end) = self.pending.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            self.offset += line.len() as u64;
            let text = String::from_utf8_lossy(&line[..end]).into_owned();
            for record in self.parser.push(&text) {
                if out.send(record).is_err() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// At the end of the file: has the path got another inode, or has the file shrunk?
    fn reopen_if_moved(&mut self) -> Result<bool> {
        let meta: Metadata = match std::fs::metadata(&self.path) {
            Ok(meta) => meta,
            Err(_) => return Ok(false),
        };
        if meta.ino() == self.inode && meta.len() >= self.offset {
            return Ok(false);
        }
        self.file = File::open(&self.path).map_err(|e| Error::io(&self.path, e))?;
        self.inode = meta.ino();
        self.offset = 0;
        self.pending.clear();
        Ok(true)
    }

    fn save(&mut self) -> Result<()> {
        let position = Position { inode: self.inode, offset: self.offset };
        self.checkpoints.set(&self.path, position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continues_at_the_saved_offset() {
        let fixture = crate::input::fixture("one\ntwo\n");
        fixture.save_position(4);
        assert_eq!(fixture.tail().drain_text(), ["two"]);
    }

    #[test]
    fn starts_over_after_truncation() {
        let mut fixture = crate::input::fixture("one\ntwo\nthree\n");
        let mut tail = fixture.tail_from_start();
        assert_eq!(tail.drain_text().len(), 3);
        fixture.truncate_to("four\n");
        assert_eq!(tail.drain_text(), ["four"]);
    }

    #[test]
    fn follows_a_rename() {
        let mut fixture = crate::input::fixture("one\n");
        let mut tail = fixture.tail_from_start();
        tail.drain_text();
        fixture.rotate_with("two\n");
        assert_eq!(tail.drain_text(), ["two"]);
    }
}
"#;

/// `src/input/checkpoint.rs`: read positions in one JSON file.
pub const CHECKPOINT: &str = r#"
//! Read positions of all followed files, kept in `positions.json` of the checkpoint directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Position {
    pub inode: u64,
    pub offset: u64,
}

#[derive(Debug)]
pub(crate) struct Checkpoints {
    file: PathBuf,
    positions: BTreeMap<PathBuf, Position>,
}

impl Checkpoints {
    pub fn open(dir: &Path) -> Result<Self> {
        let file = dir.join("positions.json");
        let positions = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(e) => return Err(Error::io(&file, e)),
        };
        Ok(Self { file, positions })
    }

    pub fn get(&self, path: &Path) -> Option<Position> {
        self.positions.get(path).copied()
    }

    /// Stores a position and writes the whole file.
    pub fn set(&mut self, path: &Path, position: Position) -> Result<()> {
        self.positions.insert(path.to_path_buf(), position);
        let text = serde_json::to_vec_pretty(&self.positions).map_err(|e| Error::config("(checkpoint)", e.to_string()))?;
        fs::write(&self.file, text).map_err(|e| Error::io(&self.file, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let at = Position { inode: 7, offset: 4096 };
        Checkpoints::open(dir.path()).unwrap().set(Path::new("/a.log"), at).unwrap();
        assert_eq!(Checkpoints::open(dir.path()).unwrap().get(Path::new("/a.log")), Some(at));
    }

    #[test]
    fn a_missing_file_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Checkpoints::open(dir.path()).unwrap().get(Path::new("/a.log")), None);
    }
}
"#;

/// `src/input/discover.rs`: glob matching without a dependency.
pub const DISCOVER: &str = r#"
//! Which files to follow: a small glob matcher (`*`, `?`, `**` for directories) over the configured patterns.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Input;
use crate::error::{Error, Result};

/// Files that match a pattern and no exclusion, sorted, each once.
pub(crate) fn matching(input: &Input) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for pattern in &input.paths {
        let base = fixed_part(pattern);
        walk(&base, &mut |path| {
            let text = path.to_string_lossy();
            if glob(pattern, &text) && !input.exclude.iter().any(|e| glob(e, &text)) {
                found.push(path.to_path_buf());
            }
        })?;
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The directory before the first wildcard.
fn fixed_part(pattern: &str) -> PathBuf {
    let end = pattern.find(['*', '?']).unwrap_or(pattern.len());
    let slash = pattern[..end].rfind('/').unwrap_or(0);
    PathBuf::from(&pattern[..slash.max(1)])
}

fn walk(dir: &Path, visit: &mut dyn FnMut(&Path)) -> Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io(dir, e)),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, visit)?;
        } else {
            visit(&path);
        }
    }
    Ok(())
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.as_bytes().first() {
        None => text.is_empty(),
        Some(b'*') if pattern.starts_with("**/") => {
            glob(&pattern[3..], text) || text.find('/').is_some_and(|i| glob(pattern, &text[i + 1..]))
        }
        Some(b'*') => {
            glob(&pattern[1..], text) || (!text.is_empty() && !text.starts_with('/') && glob(pattern, &text[1..]))
        }
        Some(b'?') => !text.is_empty() && !text.starts_with('/') && glob(&pattern[1..], &text[1..]),
        Some(byte) => text.as_bytes().first() == Some(byte) && glob(&pattern[1..], &text[1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_stays_in_one_directory() {
        assert!(glob("/var/log/*.log", "/var/log/app.log"));
        assert!(!glob("/var/log/*.log", "/var/log/app/main.log"));
    }

    #[test]
    fn double_star_crosses_directories() {
        assert!(glob("/var/log/**/main.log", "/var/log/a/b/main.log"));
    }

    #[test]
    fn fixed_part_stops_before_the_wildcard() {
        assert_eq!(fixed_part("/var/log/app-*.log"), PathBuf::from("/var/log"));
    }
}
"#;
