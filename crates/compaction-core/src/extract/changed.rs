//! Which files were changed, under which names they are now, and which are gone.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::FileWork;
use super::notes::FileNote;
use super::removals::Removal;
use super::text::one_line;
use crate::spelling::resolved;

/// How many moves of single files are followed: behind that, what is moved once more is no longer listed.
const MOVES: usize = 16 * 1024;

/// A file that was changed.
#[derive(Default)]
pub(super) struct Changed {
    /// The place of the newest call among all calls.
    order: usize,
    pub(super) work: FileWork,
    /// The messages of the calls since it was last written whole.
    places: Vec<usize>,
    /// Its spellings since then.
    spellings: BTreeSet<String>,
    /// Where its newest work was done: the key of its name then.
    worked_at: String,
    /// The name that it had before it was moved.
    moved_from: Option<String>,
    is_deleted: bool,
}

/// All of them, by the path that their spellings name.
pub(super) struct ChangedFiles<'a> {
    cwd: &'a str,
    files: BTreeMap<String, Changed>,
    /// Those that are there.
    live: BTreeSet<String>,
    moves: usize,
}

impl<'a> ChangedFiles<'a> {
    /// Returns none; spellings are seen from `cwd`.
    pub(super) fn new(cwd: &'a str) -> Self {
        Self {
            cwd,
            files: BTreeMap::new(),
            live: BTreeSet::new(),
            moves: 0,
        }
    }

    /// Adds what a call did.
    pub(super) fn add(&mut self, work: FileWork, order: usize, place: usize) {
        let key = resolved(&work.path, self.cwd);
        let file = self.files.entry(key.clone()).or_default();
        if file.is_deleted || work.lines.is_some() {
            *file = Changed::default();
        }
        file.order = order;
        let known = &file.work.path;
        let keeps =
            !file.spellings.is_empty() && (known.len(), known) < (work.path.len(), &work.path);
        let path = if keeps { known } else { &work.path }.clone();
        file.spellings.insert(work.path.clone());
        file.work = std::mem::take(&mut file.work).then(work);
        file.work.path = path;
        file.places.push(place);
        file.worked_at.clone_from(&key);
        self.live.insert(key);
    }

    /// Takes away or renames what a command did.
    pub(super) fn remove(&mut self, removal: &Removal, order: usize, place: usize) {
        match removal {
            Removal::Deleted(path) => {
                for key in self.below(path) {
                    self.live.remove(&key);
                    let Some(file) = self.files.get_mut(&key) else {
                        continue;
                    };
                    file.order = order;
                    file.places.push(place);
                    file.is_deleted = true;
                    file.work.lines = None;
                    file.work.edits = 1;
                    "deleted".clone_into(&mut file.work.newest);
                }
            }
            Removal::Moved { from, to } => {
                let old = resolved(from, self.cwd);
                let new = resolved(to, self.cwd);
                if old == new {
                    return;
                }
                for key in self.below(from) {
                    self.live.remove(&key);
                    let Some(mut file) = self.files.remove(&key) else {
                        continue;
                    };
                    self.moves += 1;
                    if self.moves > MOVES {
                        continue;
                    }
                    let rest = &key[old.len()..];
                    let path = one_line(&format!("{to}{rest}"), usize::MAX);
                    let before = std::mem::replace(&mut file.work.path, path.clone());
                    file.moved_from.get_or_insert(before);
                    file.spellings = BTreeSet::from([path]);
                    file.order = order;
                    file.places.push(place);
                    let key = format!("{new}{rest}");
                    self.live.insert(key.clone());
                    self.files.insert(key, file);
                }
            }
        }
    }

    /// Returns the keys of a file that is there, or of those in a folder.
    fn below(&self, path: &str) -> Vec<String> {
        let key = resolved(path, self.cwd);
        let start = match key.as_str() {
            // The folder of the session itself, of which nobody knows the name.
            "" => String::new(),
            key => format!("{}/", key.trim_end_matches('/')),
        };
        let below = self.live.range(start.clone()..);
        let below = below.take_while(|other| other.starts_with(&start));
        let file = self.live.get(&key).into_iter();
        file.chain(below).cloned().collect()
    }

    /// Returns them, oldest change first, with the message that read all of each; `reads` is by key.
    pub(super) fn finish(self, reads: &BTreeMap<String, usize>) -> Vec<(FileWork, FileNote)> {
        let mut files: Vec<Changed> = self.files.into_values().collect();
        files.sort_by_key(|file| file.order);
        let files = files.into_iter().filter_map(|file| {
            let note = file.note(reads.get(&file.worked_at).copied())?;
            Some((file.work, note))
        });
        files.collect()
    }
}

impl Changed {
    fn note(&self, read: Option<usize>) -> Option<FileNote> {
        let work = &self.work;
        let mut done = Vec::new();
        if self.is_deleted {
            done.push("deleted".to_owned());
        } else {
            done.extend(work.lines.map(|lines| format!("written, {lines} lines")));
            match work.edits {
                0 => {}
                1 => done.push("1 edit".to_owned()),
                edits => done.push(format!("{edits} edits")),
            }
            if !work.newest.is_empty() {
                done.push(format!("newest: {}", work.newest));
            }
        }
        let from = self.moved_from.as_ref();
        done.extend(from.map(|from| format!("moved from {from}")));
        let names = self.spellings.iter().chain(from).cloned();
        Some(FileNote {
            path: work.path.clone(),
            names: names.collect(),
            worked_at: self.worked_at.clone(),
            is_deleted: self.is_deleted,
            work: done.join("; "),
            place: *self.places.last()?,
            places: self.places.clone(),
            read: read.filter(|_| !self.is_deleted),
        })
    }
}
