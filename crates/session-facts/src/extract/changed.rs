//! Which files were changed, under which names they are now, and which are gone.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::FileWork;
use super::notes::FileNote;
use super::removals::Removal;
use super::text::one_line;
use crate::path_normalize::{below as seen_from, resolved};

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
    /// The name that it had before it was moved.
    moved_from: Option<String>,
    is_deleted: bool,
    /// What may have changed it since, in words.
    since: Option<&'static str>,
    /// The message of its newest work.
    worked: Option<usize>,
}

/// File changes made outside tool calls.
const BY_GIT: &str = "git may have reverted it";
const THERE: &str = "there again since";
const REPLACED: &str = "replaced since";
/// What the newest edit was, where a command made it.
const BY_COMMAND: &str = "by a command";

/// All of them, by the path that their spellings name.
pub(super) struct ChangedFiles<'a> {
    cwd: &'a str,
    files: BTreeMap<String, Changed>,
    /// Those that are there.
    live: BTreeSet<String>,
    /// Those to which nothing happened since the work on them.
    fresh: BTreeSet<String>,
    moves: usize,
    /// For a message, another one that took its file from where it left it.
    pub(super) dependencies: Vec<(usize, usize)>,
}

impl<'a> ChangedFiles<'a> {
    /// Returns none; spellings are seen from `cwd`.
    pub(super) fn new(cwd: &'a str) -> Self {
        Self {
            cwd,
            files: BTreeMap::new(),
            live: BTreeSet::new(),
            fresh: BTreeSet::new(),
            moves: 0,
            dependencies: Vec::new(),
        }
    }

    /// Adds what a call did.
    pub(super) fn add(&mut self, work: FileWork, order: usize, place: usize) {
        let key = resolved(&work.path, self.cwd);
        let file = self.files.entry(key.clone()).or_default();
        let dependencies = &mut self.dependencies;
        dependencies.extend(file.worked.map(|worked| (worked, place)));
        if file.is_deleted || file.since.is_some() || work.lines.is_some() {
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
        file.worked = Some(place);
        self.fresh.insert(key.clone());
        self.live.insert(key);
    }

    /// Notes that a file was seen to be there.
    pub(super) fn seen(&mut self, path: &str, place: usize) {
        let key = resolved(path, self.cwd);
        if self.is_deleted(&key) {
            self.changed_since(&key, THERE, place);
        }
    }

    fn is_deleted(&self, key: &str) -> bool {
        self.files.get(key).is_some_and(|file| file.is_deleted)
    }

    /// Notes what may have changed a file since the work on it, once.
    fn changed_since(&mut self, key: &str, since: &'static str, place: usize) {
        if !self.fresh.remove(key) {
            return;
        }
        if let Some(file) = self.files.get_mut(key) {
            file.since = Some(since);
            file.leave(place, &mut self.dependencies);
            if file.is_deleted {
                file.work.newest = format!("deleted; {since}");
            }
        }
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
                    file.leave(place, &mut self.dependencies);
                    file.is_deleted = true;
                    file.since = None;
                    file.work.lines = None;
                    file.work.edits = 1;
                    "deleted".clone_into(&mut file.work.newest);
                    self.fresh.insert(key);
                }
            }
            Removal::Restored(path) => {
                let below = match path {
                    Some(path) => below(&self.fresh, &resolved(path, self.cwd)),
                    None => self.fresh.iter().cloned().collect(),
                };
                for key in below {
                    self.changed_since(&key, BY_GIT, place);
                }
            }
            Removal::Made(path) => match self.files.get(&resolved(path, self.cwd)) {
                Some(file) if file.is_deleted => self.seen(path, place),
                _ => {
                    let work = FileWork {
                        path: path.clone(),
                        edits: 1,
                        newest: BY_COMMAND.to_owned(),
                        ..FileWork::default()
                    };
                    self.add(work, order, place);
                }
            },
            Removal::Moved { from, to } => {
                let old = resolved(from, self.cwd);
                let new = resolved(to, self.cwd);
                if old == new {
                    return;
                }
                let moved = self.below(from);
                // What stood there is replaced, whether or not the other file is known.
                for key in below(&self.fresh, &new) {
                    let since = match self.is_deleted(&key) {
                        true => THERE,
                        false => REPLACED,
                    };
                    self.changed_since(&key, since, place);
                }
                for key in moved {
                    self.live.remove(&key);
                    self.fresh.remove(&key);
                    let Some(mut file) = self.files.remove(&key) else {
                        continue;
                    };
                    self.moves += 1;
                    if self.moves > MOVES {
                        continue;
                    }
                    let rest = key[old.len()..].trim_start_matches('/');
                    let rest = match rest {
                        "" => String::new(),
                        rest => format!("/{rest}"),
                    };
                    let path = one_line(&format!("{to}{rest}"), usize::MAX);
                    let before = std::mem::replace(&mut file.work.path, path.clone());
                    file.moved_from.get_or_insert(before);
                    file.spellings = BTreeSet::from([path]);
                    file.order = order;
                    file.leave(place, &mut self.dependencies);
                    let key = format!("{new}{rest}");
                    self.live.insert(key.clone());
                    if file.since.is_none() {
                        self.fresh.insert(key.clone());
                    }
                    let mover = file.worked;
                    if let Some(over) = self.files.insert(key, file)
                        && let (Some(over), Some(mover)) = (over.worked, mover)
                    {
                        self.dependencies.extend([(over, place), (over, mover)]);
                    }
                }
            }
        }
    }

    /// Returns the keys of a file that is there, or of those in a folder.
    fn below(&self, path: &str) -> Vec<String> {
        below(&self.live, &resolved(path, self.cwd))
    }

    /// Returns them, oldest change first.
    pub(super) fn finish(self) -> Vec<FileNote> {
        let mut files: Vec<Changed> = self.files.into_values().collect();
        files.sort_by_key(|file| file.order);
        files
            .iter()
            .filter_map(|file| file.note(self.cwd))
            .collect()
    }
}

/// Returns which of these keys are a path or below it.
fn below(keys: &BTreeSet<String>, key: &str) -> Vec<String> {
    let start = match key {
        // The folder of the session itself, whose name is unknown.
        "" => String::new(),
        key => format!("{}/", key.trim_end_matches('/')),
    };
    let inside = keys.range(start.clone()..);
    let inside = inside.take_while(|other| other.starts_with(&start));
    keys.get(key).into_iter().chain(inside).cloned().collect()
}

impl Changed {
    /// Notes that a message took it from where its work left it.
    fn leave(&mut self, place: usize, dependencies: &mut Vec<(usize, usize)>) {
        dependencies.extend(self.worked.map(|worked| (worked, place)));
        self.places.push(place);
    }

    fn note(&self, cwd: &str) -> Option<FileNote> {
        let work = &self.work;
        let mut done = Vec::new();
        let mut brief = Vec::new();
        if self.is_deleted {
            done.push("deleted".to_owned());
            brief.push("deleted".to_owned());
        } else {
            done.extend(work.lines.map(|lines| format!("written, {lines} lines")));
            brief.extend(work.lines.map(|_| "written".to_owned()));
            let edits = match work.edits {
                0 => None,
                1 => Some("1 edit".to_owned()),
                edits => Some(format!("{edits} edits")),
            };
            done.extend(edits.clone());
            brief.extend(edits);
            if !work.newest.is_empty() {
                done.push(format!("newest: {}", work.newest));
            }
        }
        done.extend(self.since.map(str::to_owned));
        brief.extend(self.since.map(str::to_owned));
        let from = self.moved_from.as_ref();
        done.extend(from.map(|from| format!("moved from {from}")));
        let names = self.spellings.iter().chain(from).cloned();
        Some(FileNote {
            path: seen_from(cwd, &work.path).to_owned(),
            names: names.collect(),
            brief: brief.join(", "),
            work: done.join("; "),
            place: *self.places.last()?,
            places: self.places.clone(),
        })
    }
}
