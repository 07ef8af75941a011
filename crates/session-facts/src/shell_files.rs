//! Which files a command line reads, writes and deletes, as far as its words say so.
//!
//! What a program prints into a file is no work on it unless the command wrote it down.

use crate::shell::{Program, Word, programs, within};

/// What a call does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// It looks at the file.
    Read,
    /// It writes the file anew.
    Write,
    /// It changes the file.
    Edit,
    /// It deletes the file, or gives it another name.
    Delete,
}

impl FileAction {
    /// Returns the name that JSON output uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Delete => "delete",
        }
    }
}

/// Programs that print files, with how many of their operands come before the first file.
const PRINTERS: [(&str, usize); 14] = [
    ("cat", 0),
    ("bat", 0),
    ("head", 0),
    ("tail", 0),
    ("less", 0),
    ("more", 0),
    ("nl", 0),
    ("sed", 1),
    ("awk", 1),
    ("grep", 1),
    ("egrep", 1),
    ("rg", 1),
    ("ag", 1),
    ("jq", 1),
];

/// Programs that write down what a command line says, or what they are given.
const WRITERS: [&str; 4] = ["echo", "printf", "cat", "tee"];

/// Options of `rm` and `git rm` that leave the file where it is.
const LEAVING: [&str; 4] = ["--cached", "-n", "--dry-run", "--help"];

/// Returns the files that a command reads, writes and deletes, as it spells them, seen from the folder that it starts in.
pub fn shell_files(command: &str) -> Vec<(FileAction, String)> {
    files_of_programs(&programs(command))
}

/// Returns the same for programs that were taken apart before.
pub(crate) fn files_of_programs(programs: &[Program]) -> Vec<(FileAction, String)> {
    let mut found = Vec::new();
    for program in programs {
        files_of(program, &mut found);
    }
    found
}

fn files_of(program: &Program, found: &mut Vec<(FileAction, String)>) {
    let folder = program.folder.as_deref();
    let (name, words) = match program.name() {
        "git" => match program.subcommand() {
            Some(name @ ("mv" | "rm")) => {
                let at = program.words.iter().position(|word| word.text == name);
                (name, &program.words[at.unwrap_or(0) + 1..])
            }
            _ => return,
        },
        name => (name, &program.words[1..]),
    };
    let has = |start: &str| words.iter().any(|word| word.text.starts_with(start));
    let mut add = |action, words: &[&Word], is_path: fn(&Word) -> bool| {
        let paths = words.iter().filter(|word| is_path(word));
        found.extend(paths.map(|word| (action, within(folder, &word.text))));
    };
    let (operands, scripts) = operands(name, words);
    let printer = PRINTERS.iter().find(|(printer, _)| *printer == name);
    match (name, printer) {
        ("sed" | "perl" | "ruby", _) if has("-i") || has("-pi") || has("--in-place") => {
            let skipped = usize::from(!scripts).min(operands.len());
            add(FileAction::Edit, &operands[skipped..], is_path);
        }
        ("rm" | "unlink", _)
            if !words
                .iter()
                .any(|word| LEAVING.contains(&word.text.as_str())) =>
        {
            add(FileAction::Delete, &operands, is_known);
        }
        ("mv" | "cp", _) => {
            if let [from @ .., to] = operands.as_slice() {
                for from in from {
                    let moved = Word {
                        text: moved_to(&from.text, &to.text, operands.len() > 2),
                        is_open: from.is_open || to.is_open,
                    };
                    add(FileAction::Write, &[&moved], is_path);
                    if name == "mv" {
                        add(FileAction::Delete, &[from], is_known);
                    }
                }
            }
        }
        ("touch" | "tee", _) => add(FileAction::Write, &operands, is_path),
        (_, Some((_, skipped))) => {
            let skipped = if scripts { 0 } else { *skipped };
            // A search may go through folders.
            let mut files: Vec<&Word> = operands.into_iter().skip(skipped).collect();
            files.retain(|word| skipped == 0 || has_ending(word));
            add(FileAction::Read, &files, is_path);
        }
        _ => {}
    }
    if WRITERS.contains(&name) {
        let targets: Vec<&Word> = program.targets.iter().collect();
        add(FileAction::Write, &targets, is_path);
    }
}

/// Returns the words that are no options and no numbers, and whether an option gives the script or pattern.
fn operands<'a>(name: &str, words: &'a [Word]) -> (Vec<&'a Word>, bool) {
    let number = |text: &str| text.trim_start_matches('+').parse::<f64>().is_ok();
    let takes = |text: &str| match name {
        "sed" | "perl" | "ruby" | "awk" | "grep" | "egrep" | "rg" => {
            text.len() <= 5 && text.ends_with(['e', 'f'])
        }
        _ => false,
    };
    let (mut found, mut scripts) = (Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.text.starts_with('-') {
            if takes(&word.text) {
                scripts = true;
                words.next();
            }
        } else if !word.text.is_empty() && !number(&word.text) {
            found.push(word);
        }
    }
    (found, scripts)
}

/// Returns the name that a file gets by a move or a copy; what is surely a folder takes it in (`into` too), and so does
/// what looks like one next to a file.
fn moved_to(from: &str, to: &str, into: bool) -> String {
    let name_of = |path: &str| {
        let name = path.trim_end_matches('/').rsplit('/').next();
        name.unwrap_or_default().to_owned()
    };
    let (name, last) = (name_of(from), name_of(to));
    let takes = into
        || to.ends_with('/')
        || matches!(last.as_str(), "." | ".." | "~")
        || (name.trim_start_matches('.').contains('.') && !last.contains('.'));
    match takes {
        true => within(Some(to), &name),
        false => to.to_owned(),
    }
}

/// Returns whether a word names something that a shell does not work out.
fn is_known(word: &Word) -> bool {
    !word.is_open && word.text.chars().any(char::is_alphanumeric) && !word.text.contains('\n')
}

/// Returns whether a word names a file that lasts: it has an ending, or a folder before its name.
fn is_path(word: &Word) -> bool {
    let text = word.text.as_str();
    let passing = ["/dev/", "/proc/", "/tmp/"]
        .iter()
        .any(|folder| text.starts_with(folder));
    is_known(word)
        && !passing
        && text.contains(['.', '/'])
        && !text.contains(['=', '|', '"', '\\', ';'])
}

fn has_ending(word: &Word) -> bool {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    name.trim_start_matches('.').contains('.')
}

#[cfg(test)]
mod tests {
    use super::{FileAction, shell_files};

    #[test]
    fn files_are_read_written_and_deleted_by_commands() {
        use FileAction::{Delete, Edit, Read, Write};
        type Case = (&'static str, &'static [(FileAction, &'static str)]);
        let cases: [Case; 26] = [
            ("cat src/a.rs", &[(Read, "src/a.rs")]),
            (
                "cd src && sed -n '1,20p' a.rs | head -5",
                &[(Read, "src/a.rs")],
            ),
            (
                "head -n 40 ./a.py; tail -n +3 b.py",
                &[(Read, "./a.py"), (Read, "b.py")],
            ),
            ("rg -n 'fn x' src/a.rs src", &[(Read, "src/a.rs")]),
            ("grep -rn TODO . src/b", &[]),
            ("sed -i 's/a/b/' src/a.rs", &[(Edit, "src/a.rs")]),
            ("sed -i -e 's/a/b/' src/a.rs", &[(Edit, "src/a.rs")]),
            ("sed -i '' 's/a.b/(c)/' src/a.rs", &[(Edit, "src/a.rs")]),
            ("perl -pi -e 's/a/b/' src/a.rs", &[(Edit, "src/a.rs")]),
            (
                "cat > src/a.rs <<'EOF'\nrm x > src/b.rs\nEOF\ncat c.md",
                &[(Write, "src/a.rs"), (Read, "c.md")],
            ),
            ("cat <<EOF >> notes.md\nx\nEOF", &[(Write, "notes.md")]),
            (
                "echo 'a > b' > \"my dir/x.txt\"",
                &[(Write, "my dir/x.txt")],
            ),
            (
                "printf x | sudo tee /etc/hosts.new",
                &[(Write, "/etc/hosts.new")],
            ),
            (
                "git mv a.rs lib/b.rs",
                &[(Write, "lib/b.rs"), (Delete, "a.rs")],
            ),
            (
                "mv src/a.rs lib",
                &[(Write, "lib/a.rs"), (Delete, "src/a.rs")],
            ),
            ("cp -r a.json b.json", &[(Write, "b.json")]),
            ("cargo test > out.txt 2>&1", &[]),
            ("cat a.txt 2>/dev/null", &[(Read, "a.txt")]),
            ("cat $FILE *.rs", &[]),
            ("echo done >&2", &[]),
            ("jq '.a.b' package.json", &[(Read, "package.json")]),
            ("rm -f src/a.rs 2>/dev/null", &[(Delete, "src/a.rs")]),
            ("rm src/a.rs && ls | head", &[(Delete, "src/a.rs")]),
            ("cd web && rm -rf dist # all of it", &[(Delete, "web/dist")]),
            ("git rm --cached a.rs; rm -rf *.o $X", &[]),
            ("git commit -m 'rm a.rs'", &[]),
        ];
        for (command, want) in cases {
            let found = shell_files(command);
            let found: Vec<_> = found.iter().map(|(it, path)| (*it, &**path)).collect();
            assert_eq!(found, want, "{command}");
        }
    }
}
