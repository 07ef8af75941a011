//! The files that a project ignores: the rules of `.gitignore`, `.ignore` and `.git/info/exclude`.
//!
//! The files with the rules are opened like all others, so that a pipe of that name does not block a search.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::workspace::resolved::{Purpose, ResolvedPath};

/// The files with rules in a folder; those of the later one go before.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// The largest file with rules that is read, in bytes.
const MOST_BYTES: u64 = 1_000_000;

/// The rules that hold in a folder.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Those of the folder above.
    above: Option<Rc<Rules>>,
    /// Its own rules; the last one is checked first.
    own: Vec<Gitignore>,
}

impl Rules {
    /// Returns the rules of all folders above `place`: up to the one that holds `.git`, or up to the root of the
    /// workspace where none does.
    pub(super) fn above(place: &ResolvedPath) -> Rc<Self> {
        let mut folders = Vec::new();
        let mut at = place.clone();
        let mut found = has_git(&at);
        while !found && let Some(above) = at.above() {
            found = has_git(&above);
            folders.push(above.clone());
            at = above;
        }
        let mut outside = Vec::new();
        for folder in place.root().ancestors().skip(1) {
            if found {
                break;
            }
            // A folder above the workspace contributes its rules.
            let held = folder.file_name().zip(folder.parent());
            let Some(held) =
                held.and_then(|(name, above)| ResolvedPath::in_folder(above, name).ok())
            else {
                continue;
            };
            found = has_git(&held);
            outside.push(held);
        }
        if found {
            folders.append(&mut outside);
        }
        let rules = folders.iter().rev();
        rules.fold(Rc::default(), |rules, folder| rules.within(folder))
    }

    /// Returns the rules in a folder of the one that these are for.
    pub(super) fn within(self: &Rc<Self>, folder: &ResolvedPath) -> Rc<Self> {
        let exclude = [".git", "info", "exclude"];
        let exclude = exclude
            .iter()
            .fold(folder.clone(), |place, name| place.child(OsStr::new(name)));
        let mut own = Vec::new();
        own.extend(read(&exclude, folder.path()));
        own.extend(NAMES.iter().filter_map(|name| {
            let place = folder.child(OsStr::new(name));
            read(&place, folder.path())
        }));
        match own.is_empty() {
            true => self.clone(),
            false => Rc::new(Self {
                above: Some(self.clone()),
                own,
            }),
        }
    }

    /// Returns true if a name is ignored; the folder that it is in is not.
    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let mut rules = Some(self);
        while let Some(some) = rules {
            for own in some.own.iter().rev() {
                match own.matched(path, is_folder) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
            rules = some.above.as_deref();
        }
        false
    }
}

fn has_git(folder: &ResolvedPath) -> bool {
    folder.child(OsStr::new(".git")).kind().is_ok()
}

/// Returns the rules in a file, which are for the folder `of`. What is no rule is left out.
fn read(place: &ResolvedPath, of: &Path) -> Option<Gitignore> {
    let (file, _) = place.open(Purpose::Read).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new(of);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    let rules = builder.build().ok()?;
    (!rules.is_empty()).then_some(rules)
}
