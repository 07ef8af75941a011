//! Skills: folders with a `SKILL.md`, listed for the model, which reads them when it needs them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::front_matter::front_matter;
use super::read::Bounds;
use super::{Instruction, Instructions, Listing, Outcome, Skills};
use crate::prompts;

/// The file of a skill.
const FILE: &str = "SKILL.md";

/// Where the skills of a project are, in each of its folders.
const PROJECT_FOLDERS: [&str; 2] = [".agents/skills", ".claude/skills"];

/// Where the user's own are, in the folder of the settings.
const OWN_FOLDER: &str = "skills";

/// How much of a skill's file is read to list it, in bytes.
const HEAD: usize = 16_384;

/// How long a description may be, in characters.
const DESCRIPTION: usize = 300;

/// How long the list may be with what is said of it, in bytes.
const LIST: usize = 8_000;

/// How many folders are looked at in one place.
const FOLDERS: usize = 500;

/// The longest name of a skill, in characters.
const NAME: usize = 64;

/// A skill as its file tells it.
struct Skill {
    name: String,
    description: String,
    note: Option<String>,
}

impl Instructions {
    /// Returns the skills, the nearest first.
    pub fn skills(&mut self) -> Listing {
        let mut names = BTreeSet::new();
        let mut list = String::new();
        let around = prompts::skills("").len();
        let (found, mut files) = self.skill_files();
        for (path, whose) in found {
            let Some(shown) = self.places.shown(&path) else {
                let shown = session_model::text::clean(&path.to_string_lossy());
                let why = "its path is not plain text; rename it";
                files.push(Instruction::refused(shown, why));
                continue;
            };
            let skill = match self.skill(&path, whose) {
                None => continue,
                Some(Ok(skill)) => skill,
                Some(Err(why)) => {
                    files.push(Instruction::refused(shown, why));
                    continue;
                }
            };
            if !names.insert(skill.name.clone()) {
                let why = format!("a nearer skill is called {} too", skill.name);
                files.push(Instruction::refused(shown, why));
                continue;
            }
            let line = format!("- {}: {} ({shown})\n", skill.name, skill.description);
            let line = self.cache.clean(&line);
            if around + list.len() + line.len() > LIST {
                let why = format!("there is no room for it in the list of {LIST} bytes");
                files.push(Instruction::refused(shown, why));
                continue;
            }
            list.push_str(&line);
            files.push(Instruction {
                path: shown,
                outcome: Outcome::Loaded {
                    text: line,
                    bytes: 0,
                    note: skill.note,
                },
            });
        }
        Listing {
            section: (!list.is_empty()).then(|| prompts::skills(list.trim_end())),
            files,
        }
    }

    pub(super) fn skill_folders_outside(&mut self) -> Vec<PathBuf> {
        let workspace = self.places.workspace().map(Path::to_owned);
        let mut folders = BTreeSet::new();
        for (path, whose) in self.skill_files().0 {
            let listed = matches!(self.skill(&path, whose), Some(Ok(_)));
            let folder = path.parent().filter(|_| listed);
            let Some(real) = folder.and_then(|folder| folder.canonicalize().ok()) else {
                continue;
            };
            if !workspace
                .as_ref()
                .is_some_and(|root| real.starts_with(root))
            {
                folders.insert(real);
            }
        }
        folders.into_iter().collect()
    }

    /// Returns where the file of each folder with a skill would be, the nearest first, and whose it is; and what is
    /// refused because there are too many.
    fn skill_files(&self) -> (Vec<(PathBuf, Whose)>, Vec<Instruction>) {
        if self.skills == Skills::Unlisted {
            return (Vec::new(), Vec::new());
        }
        let mut too_many = Vec::new();
        let nearest = self.places.project.iter().rev();
        let project = nearest.flat_map(|folder| PROJECT_FOLDERS.map(|name| folder.join(name)));
        let project = project.map(|folder| (folder, Whose::Project));
        let own = self.places.config_dir.iter();
        let own = own.map(|folder| (folder.join(OWN_FOLDER), Whose::User));
        let folders = project.chain(own);
        let mut files = Vec::new();
        for (folder, whose) in folders {
            let found = std::fs::read_dir(&folder).into_iter().flatten();
            let found = found.filter_map(Result::ok);
            let mut paths: Vec<PathBuf> = found.map(|entry| entry.path().join(FILE)).collect();
            paths.sort();
            if paths.len() > FOLDERS {
                let why = format!(
                    "the {} after the first {FOLDERS} by name are not looked at; move what is not a skill elsewhere",
                    paths.len() - FOLDERS
                );
                let shown = self.places.shown(&folder).unwrap_or_default();
                too_many.push(Instruction::refused(shown, why));
                paths.truncate(FOLDERS);
            }
            files.extend(paths.into_iter().map(|file| (file, whose)));
        }
        (files, too_many)
    }

    /// Returns why the folder of a skill may not be read in; tools get no folder above the workspace by it, and
    /// none outside of the project by one of its own.
    fn leads_astray(&self, path: &Path, whose: Whose) -> Option<&'static str> {
        let real = path.parent()?.canonicalize().ok()?;
        let workspace = self.places.workspace()?;
        let root = self.places.root()?;
        if workspace.starts_with(&real) {
            return Some(
                "its folder is the working folder or one above it; put the skill into a folder of its own",
            );
        }
        let is_out = whose == Whose::Project && !real.starts_with(root);
        is_out.then_some("its folder leads out of the project; put a copy in place of the link")
    }

    /// Returns what a file says of its skill; none where there is no file.
    fn skill(&mut self, path: &Path, whose: Whose) -> Option<Result<Skill, String>> {
        let root = self.places.root().map(Path::to_owned);
        let bounds = match (whose, &root) {
            (Whose::Project, Some(root)) => Bounds::Within(root),
            (Whose::Project, None) | (Whose::User, _) => Bounds::Free,
        };
        let astray = self.leads_astray(path, whose);
        Some(match self.cache.read(path, bounds, HEAD)? {
            Err(why) => Err(why),
            Ok(_) if astray.is_some() => Err(astray.unwrap_or_default().to_owned()),
            Ok(None) => Err("is empty".to_owned()),
            Ok(Some(text)) => skill_of(&text.text, path),
        })
    }
}

/// Whose a skill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The project's.
    Project,
    /// The user's.
    User,
}

fn skill_of(text: &str, path: &Path) -> Result<Skill, String> {
    let header = front_matter(text)?;
    let mut notes = Vec::new();
    let name = match header.name {
        Some(name) => name,
        None => {
            notes.push("it says no name, so its folder's counts");
            let folder = path.parent().and_then(Path::file_name);
            folder.unwrap_or_default().to_string_lossy().into_owned()
        }
    };
    let fits = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '-');
    if name.is_empty() || name.len() > NAME || !name.chars().all(fits) {
        let name = session_model::text::first_line(&name, NAME);
        return Err(format!(
            "the name {name:?} does not do; use up to {NAME} of a-z, 0-9 and -"
        ));
    }
    let description = match header.description {
        Some(description) => line_of(&description),
        None => {
            notes.push("it has no description, so nobody knows what it is for");
            "no description".to_owned()
        }
    };
    Ok(Skill {
        name,
        description,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    })
}

/// Returns a description as one line of bounded length.
fn line_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    session_model::text::first_line(&words.join(" "), DESCRIPTION)
}
