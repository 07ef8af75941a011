//! The project in memory: plays calls and says which of them could not be carried out.

use std::collections::BTreeMap;
use std::path::Path;

use super::script::{Call, Line, Replacement};
use crate::run::Outcome;

/// The commands that a call may run, and those that change files.
const COMMANDS: [&str; 14] = [
    "ls", "cat", "grep", "wc", "head", "sed", "sort", "diff", "find", "cargo", "mv", "rm", "mkdir",
    "true",
];

/// The files of the project, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Returns the files below a folder, those that builds leave there aside.
    pub fn load(folder: &Path) -> Outcome<Self> {
        let mut tree = Self::default();
        tree.gather(folder, "")?;
        Ok(tree)
    }

    fn gather(&mut self, folder: &Path, prefix: &str) -> Outcome {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "target" || name == "Cargo.lock" {
                continue;
            }
            let path = format!("{prefix}{name}");
            if entry.file_type().map_err(failed)?.is_dir() {
                self.gather(&entry.path(), &format!("{path}/"))?;
            } else {
                let text = std::fs::read_to_string(entry.path()).map_err(failed)?;
                self.files.insert(path, text);
            }
        }
        Ok(())
    }

    /// Returns the files and their texts.
    #[cfg(test)]
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.files
    }

    /// Plays the calls of every answer, one after the other.
    pub fn play(&mut self, lines: &[Line]) -> Outcome {
        for line in lines {
            match line {
                Line::Answer { calls, .. } => {
                    alone(calls)?;
                    for call in calls {
                        self.call(call)?;
                    }
                }
                Line::Overflow(_) | Line::User(_) | Line::Comment(_) => {}
            }
        }
        Ok(())
    }

    /// Plays one call.
    pub fn call(&mut self, call: &Call) -> Outcome {
        match call {
            Call::Read { path, window } => {
                let text = self.text(path)?;
                let lines = text.lines().count();
                match window {
                    Some((offset, limit)) if *offset == 0 || *limit == 0 || *offset > lines => {
                        Err(format!("{path} has {lines} lines, none at {offset}"))
                    }
                    Some(_) | None => Ok(()),
                }
            }
            Call::Write { path, content } => {
                if self.files.get(path) == Some(content) {
                    return Err(format!("{path} holds that already"));
                }
                self.files.insert(path.clone(), content.clone());
                Ok(())
            }
            Call::Edit { path, edits } => {
                let text = replace(path, self.text(path)?, edits)?;
                self.files.insert(path.clone(), text);
                Ok(())
            }
            Call::Bash { command } => self.run(command),
        }
    }

    fn text(&self, path: &str) -> Outcome<&str> {
        let text = self.files.get(path).map(String::as_str);
        text.ok_or_else(|| format!("{path}: no such file"))
    }

    fn run(&mut self, command: &str) -> Outcome {
        for part in parts(command) {
            let words = words(&part);
            let Some((program, arguments)) = words.split_first() else {
                return Err(format!("{command}: an empty part"));
            };
            if !COMMANDS.contains(&program.as_str()) {
                return Err(format!("{command}: {program} is not among the commands"));
            }
            match (program.as_str(), arguments) {
                ("mv", [from, to]) => {
                    let text = self.files.remove(from);
                    let text = text.ok_or_else(|| format!("{command}: no {from}"))?;
                    self.files.insert(to.clone(), text);
                }
                ("rm", paths) => {
                    for path in paths {
                        let gone = self.files.remove(path);
                        gone.ok_or_else(|| format!("{command}: no {path}"))?;
                    }
                }
                _ => self.check_names(command, arguments)?,
            }
        }
        Ok(())
    }

    /// Checks that what looks like a path is one.
    fn check_names(&self, command: &str, arguments: &[String]) -> Outcome {
        for name in arguments {
            let folder = |folder: &str| self.files.keys().any(|path| path.starts_with(folder));
            let known = match name.split_once('*') {
                Some((start, end)) => {
                    let fits = |path: &String| path.starts_with(start) && path.ends_with(end);
                    self.files.keys().any(fits)
                }
                None => self.files.contains_key(name) || folder(&format!("{name}/")),
            };
            let starts = ["src/", "tests/"]
                .iter()
                .any(|start| name.starts_with(start));
            let file = !name.starts_with('*') && (name.ends_with(".rs") || name.ends_with(".md"));
            let path = !name.contains(' ') && !name.starts_with('-') && (starts || file);
            if path && !known {
                return Err(format!("{command}: no {name}"));
            }
        }
        Ok(())
    }
}

/// Returns the text after the replacements, each of which is looked for in the text before them.
pub fn replace(path: &str, text: &str, edits: &[Replacement]) -> Outcome<String> {
    let mut places = Vec::new();
    for edit in edits {
        let starts = text.char_indices().map(|(at, _)| at);
        let found: Vec<usize> = starts
            .filter(|at| text[*at..].starts_with(&edit.old))
            .collect();
        match found.as_slice() {
            [at] if edit.old != edit.new && !edit.old.is_empty() => {
                places.push((*at..*at + edit.old.len(), &edit.new));
            }
            _ => {
                let times = found.len();
                return Err(format!("{path}: found {times} times: {}", edit.old));
            }
        }
    }
    places.sort_by_key(|(range, _)| range.start);
    let (mut out, mut at) = (String::new(), 0);
    for (range, new) in places {
        let between = text.get(at..range.start);
        out.push_str(between.ok_or_else(|| format!("{path}: two edits of the same text"))?);
        out.push_str(new);
        at = range.end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// Refuses answers whose calls depend on their order: they may run at the same time.
fn alone(calls: &[Call]) -> Outcome {
    let mut read = Vec::new();
    let mut changed = Vec::new();
    let mut commands = 0;
    for call in calls {
        match call {
            Call::Read { path, .. } => read.push(path),
            Call::Write { path, .. } | Call::Edit { path, .. } => changed.push(path),
            Call::Bash { command } => {
                commands += 1;
                if changes_files(command) && calls.len() > 1 {
                    return Err(format!("{command} stands beside other calls"));
                }
            }
        }
    }
    for (index, path) in changed.iter().enumerate() {
        if commands > 0 || read.contains(path) || changed[index + 1..].contains(path) {
            return Err(format!(
                "{path} is changed beside another call that sees it"
            ));
        }
    }
    Ok(())
}

/// Returns true for a command that moves, removes or makes files.
pub fn changes_files(command: &str) -> bool {
    let changes = |part: &String| {
        ["mv ", "rm ", "mkdir "]
            .iter()
            .any(|word| part.starts_with(word))
    };
    parts(command).iter().any(changes)
}

/// Returns the simple commands of a command line; signs inside quotes part nothing.
pub fn parts(command: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for sign in command.chars() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '\'' | '"') => quote = Some(sign),
            (None, '|' | '&' | ';') => {
                parts.push(String::new());
                continue;
            }
            (Some(_) | None, _) => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(sign);
        }
    }
    let parts = parts.iter().map(|part| part.trim().to_owned());
    parts
        .filter(|part| !part.is_empty() && part != "1")
        .collect()
}

/// Returns the words of a simple command, quotes taken off.
pub fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for sign in command.chars() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '\'' | '"') => quote = Some(sign),
            (None, ' ') => words.push(String::new()),
            (Some(_) | None, _) => {
                if let Some(word) = words.last_mut() {
                    word.push(sign);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
