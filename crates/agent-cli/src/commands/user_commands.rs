//! Commands of the user for the terminal: Markdown files with a message each, and skills.

use std::path::{Path, PathBuf};

use agent_tui::UserCommand;
use project_instructions::{Instructions, Places};
use session_model::text::first_line;

use crate::error::Error;
use crate::options::Global;

/// Where the commands of a project are, in each of its folders.
const PROJECT_FOLDERS: [&str; 2] = [".agents/commands", ".claude/commands"];

/// Where the user's own are, in the folder of the settings.
const OWN_FOLDER: &str = "commands";

/// The longest file that is read, in bytes.
const LONGEST: u64 = 64 * 1024;

/// How many are read at most.
const MOST: usize = 200;

/// Returns the commands and skills that hold in a folder, the nearest first.
pub(super) fn of_process(folder: &Path, global: &Global) -> Result<Vec<UserCommand>, Error> {
    let sources = global.settings_sources()?;
    let project = sources.project_folders(folder);
    let nearest = project.iter().rev();
    let mut folders: Vec<PathBuf> = nearest
        .flat_map(|folder| PROJECT_FOLDERS.map(|name| folder.join(name)))
        .collect();
    folders.extend(
        sources
            .config_dir
            .iter()
            .map(|folder| folder.join(OWN_FOLDER)),
    );
    let files = folders.iter().flat_map(|folder| markdown_files(folder));
    let mut commands: Vec<UserCommand> =
        files.take(MOST).filter_map(|path| command(&path)).collect();
    let settings = global.load_app_settings_with(None, folder)?;
    let places = Places {
        project,
        config_dir: sources.config_dir,
    };
    let mut instructions = Instructions::of(&settings.instructions, places);
    let skills = instructions.skills();
    let lines = skills.files.iter().filter_map(|file| file.text());
    commands.extend(lines.filter_map(skill));
    let mut names = std::collections::BTreeSet::new();
    commands.retain(|command| names.insert(command.name.clone()));
    Ok(commands)
}

fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    paths.sort();
    paths
}

/// Returns the command in a file: its name is that of the file, and what stands between lines of `---` at its beginning
/// says what it is for.
fn command(path: &Path) -> Option<UserCommand> {
    let is_small = path
        .metadata()
        .is_ok_and(|about| about.is_file() && about.len() <= LONGEST);
    let name = path.file_stem()?.to_str()?.to_owned();
    if !is_small || !is_name(&name) {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let (head, body) = match text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
    {
        Some((head, body)) => (head, body),
        None => ("", text.as_str()),
    };
    let mut described = head
        .lines()
        .filter_map(|line| line.strip_prefix("description:"));
    let about = described.next().unwrap_or(body).trim().trim_matches('"');
    Some(UserCommand {
        name,
        about: first_line(about, 200),
        text: body.trim().to_owned(),
    })
}

/// Returns the command for a skill, from its line in the list of skills: a message that names its file.
fn skill(line: &str) -> Option<UserCommand> {
    let (name, rest) = line.trim().strip_prefix("- ")?.split_once(": ")?;
    let (about, path) = rest.rsplit_once(" (")?;
    let path = path.strip_suffix(')')?;
    is_name(name).then(|| UserCommand {
        name: name.to_owned(),
        about: format!("skill: {about}"),
        text: format!("@{path} $ARGUMENTS"),
    })
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    !name.is_empty() && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

#[cfg(test)]
mod tests {
    use super::{command, skill};

    #[test]
    fn a_file_and_a_skill_are_commands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("review.md");
        std::fs::write(
            &path,
            "---\ndescription: \"look at a change\"\n---\nReview $ARGUMENTS.\n",
        )
        .unwrap();
        let found = command(&path).unwrap();
        assert_eq!(
            (found.name.as_str(), found.about.as_str()),
            ("review", "look at a change")
        );
        assert_eq!(found.message("HEAD"), "Review HEAD.");
        std::fs::write(&path, "Say hello.\n").unwrap();
        assert_eq!(
            command(&path).unwrap().message("twice"),
            "Say hello.\n\ntwice"
        );
        std::fs::write(folder.path().join("no name.md"), "x").unwrap();
        assert_eq!(command(&folder.path().join("no name.md")), None);
        let found =
            skill("- pdf: reads (and writes) PDF files (.agents/skills/pdf/SKILL.md)\n").unwrap();
        assert_eq!(found.about, "skill: reads (and writes) PDF files");
        assert_eq!(found.message("a.pdf"), "@.agents/skills/pdf/SKILL.md a.pdf");
    }
}
