//! Which files a command line reads and writes, as far as its words say so.
//!
//! Names that a shell works out itself (patterns, variables) are unknown, and what a program prints into a file is no
//! work on it unless the command wrote it down.

use std::iter::Peekable;
use std::str::Chars;

/// What a call does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// It looks at the file.
    Read,
    /// It writes the file anew.
    Write,
    /// It changes the file.
    Edit,
}

/// The longest command that is taken apart, in bytes.
const LONGEST: usize = 64 * 1024;

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

/// Programs that write down what a command line says, or what it was given.
const TELLERS: [&str; 4] = ["echo", "printf", "cat", "tee"];

/// One program of a command line.
#[derive(Default)]
struct Program {
    words: Vec<Word>,
    /// The files that its output goes to.
    targets: Vec<Word>,
}

/// A word without its quotes.
#[derive(Default)]
struct Word {
    text: String,
    /// A shell works out what it is.
    is_open: bool,
}

/// Returns the files that a command reads and writes, as it spells them, seen from the folder that it starts in.
pub fn shell_files(command: &str) -> Vec<(FileAction, String)> {
    let mut found = Vec::new();
    if command.len() > LONGEST {
        return found;
    }
    let mut folder: Option<String> = None;
    for program in programs(command) {
        let texts: Vec<&str> = program.words.iter().map(|word| &*word.text).collect();
        let (name, at) = match texts.as_slice() {
            ["sudo" | "env" | "command", name, ..] => (*name, 2),
            ["git", "mv", ..] => ("mv", 2),
            [name, ..] => (*name, 1),
            [] => continue,
        };
        let words = &program.words[at..];
        if name == "cd" {
            folder = words.first().map(|to| within(folder.as_deref(), &to.text));
            continue;
        }
        let has = |start: &str| words.iter().any(|word| word.text.starts_with(start));
        let mut add = |action, words: &[&Word]| {
            let paths = words.iter().filter(|word| is_path(word));
            let paths = paths.map(|word| (action, within(folder.as_deref(), &word.text)));
            found.extend(paths);
        };
        let (operands, scripts) = operands(name, words);
        let printer = PRINTERS.iter().find(|(printer, _)| *printer == name);
        match (name, printer) {
            ("sed" | "perl" | "ruby", _) if has("-i") || has("-pi") || has("--in-place") => {
                let skipped = usize::from(!scripts).min(operands.len());
                add(FileAction::Edit, &operands[skipped..]);
            }
            ("mv" | "cp", _) => {
                if let [from, to] = operands.as_slice() {
                    let text = moved_to(&from.text, &to.text, false);
                    // The name of the source counts where a folder takes it in.
                    let is_open = to.is_open || from.is_open && text != to.text;
                    let moved = Word { text, is_open };
                    add(FileAction::Write, &[&moved]);
                }
            }
            ("touch" | "tee", _) => add(FileAction::Write, &operands),
            (_, Some((_, skipped))) => {
                let skipped = if scripts { 0 } else { *skipped };
                // A search may go through folders.
                let mut files: Vec<&Word> = operands.into_iter().skip(skipped).collect();
                files.retain(|word| skipped == 0 || has_ending(word));
                add(FileAction::Read, &files);
            }
            _ => {}
        }
        if TELLERS.contains(&name) {
            add(
                FileAction::Write,
                &program.targets.iter().collect::<Vec<_>>(),
            );
        }
    }
    found
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
pub fn moved_to(from: &str, to: &str, into: bool) -> String {
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

/// Returns true for what names a file that lasts: it has an ending, or a folder before its name.
fn is_path(word: &Word) -> bool {
    let text = word.text.as_str();
    let name = text.rsplit('/').next().unwrap_or_default();
    let names = name.chars().any(char::is_alphanumeric);
    let passing = ["/dev/", "/proc/", "/tmp/"];
    let passing = passing.iter().any(|folder| text.starts_with(folder));
    !word.is_open
        && names
        && !passing
        && text.contains(['.', '/'])
        && !text.contains(['\n', '=', '|', '"', '\\', ';'])
}

fn has_ending(word: &Word) -> bool {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    name.trim_start_matches('.').contains('.')
}

/// Returns a path as it is seen from where `folder` is.
pub fn within(folder: Option<&str>, path: &str) -> String {
    match folder.filter(|_| !path.starts_with(['/', '~'])) {
        Some(folder) => format!("{}/{path}", folder.trim_end_matches('/')),
        None => path.to_owned(),
    }
}

/// Returns the programs of a command line, without the texts that stand in it.
fn programs(command: &str) -> Vec<Program> {
    let mut lexer = Lexer {
        letters: command.chars().peekable(),
        programs: vec![Program::default()],
        word: None,
        target: false,
        texts: Vec::new(),
    };
    while let Some(letter) = lexer.letters.next() {
        lexer.letter(letter);
    }
    lexer.end_word();
    lexer.programs
}

struct Lexer<'a> {
    letters: Peekable<Chars<'a>>,
    programs: Vec<Program>,
    word: Option<Word>,
    /// The next word is where output goes.
    target: bool,
    /// What ends the texts that begin on the next line.
    texts: Vec<String>,
}

impl Lexer<'_> {
    fn letter(&mut self, letter: char) {
        match letter {
            '\'' => {
                let text: String = self.letters.by_ref().take_while(|it| *it != '\'').collect();
                self.word().text.push_str(&text);
            }
            '"' => {
                while let Some(letter) = self.letters.next().filter(|it| *it != '"') {
                    let letter = match letter {
                        '\\' => self.letters.next().unwrap_or(letter),
                        letter => letter,
                    };
                    let word = self.word();
                    word.is_open |= matches!(letter, '$' | '`');
                    word.text.push(letter);
                }
                self.word();
            }
            '\\' => match self.letters.next() {
                Some('\n') | None => {}
                Some(letter) => self.word().text.push(letter),
            },
            '>' => {
                // `2>` and `&>` take messages; they tell nothing of a file.
                let is_output = match &self.word {
                    Some(word) => !matches!(word.text.as_str(), "2" | "&"),
                    None => true,
                };
                if let Some(word) = self.word.take()
                    && !matches!(word.text.as_str(), "1" | "2" | "&")
                {
                    self.word = Some(word);
                    self.end_word();
                }
                self.letters.next_if_eq(&'>');
                self.target = is_output && self.letters.next_if_eq(&'&').is_none();
            }
            '<' if self.letters.next_if_eq(&'<').is_some() => {
                self.end_word();
                self.letters.next_if_eq(&'-');
                let name = |letter: &char| !letter.is_whitespace() && *letter != '>';
                while self.letters.next_if_eq(&' ').is_some() {}
                let mut end = String::new();
                while let Some(letter) = self.letters.next_if(name) {
                    end.push(letter);
                }
                self.texts.push(end.replace(['\'', '"', '\\'], ""));
            }
            '\n' => {
                self.end_program();
                for end in std::mem::take(&mut self.texts) {
                    self.skip_text(&end);
                }
            }
            ';' | '|' | '&' | '(' | ')' => self.end_program(),
            letter if letter.is_whitespace() => self.end_word(),
            letter => {
                let word = self.word();
                word.is_open |= matches!(letter, '$' | '`' | '*' | '?' | '[' | '{' | '<');
                word.text.push(letter);
            }
        }
    }

    /// Skips the lines up to the one that says `end`.
    fn skip_text(&mut self, end: &str) {
        while self.letters.peek().is_some() {
            let line: String = self.letters.by_ref().take_while(|it| *it != '\n').collect();
            if line.trim() == end {
                return;
            }
        }
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        let target = std::mem::take(&mut self.target);
        if let Some(program) = self.programs.last_mut() {
            match target {
                true => program.targets.push(word),
                false => program.words.push(word),
            }
        }
    }

    fn end_program(&mut self) {
        self.end_word();
        self.target = false;
        self.programs.push(Program::default());
    }
}

#[cfg(test)]
mod tests {
    use super::{FileAction, shell_files};

    #[test]
    fn files_are_read_and_written_by_commands() {
        use FileAction::{Edit, Read, Write};
        type Case = (&'static str, &'static [(FileAction, &'static str)]);
        let cases: [Case; 21] = [
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
            ("git mv a.rs lib/b.rs", &[(Write, "lib/b.rs")]),
            ("mv src/a.rs lib", &[(Write, "lib/a.rs")]),
            ("cp -r a.json b.json", &[(Write, "b.json")]),
            ("cargo test > out.txt 2>&1", &[]),
            ("cat a.txt 2>/dev/null", &[(Read, "a.txt")]),
            ("cat $FILE *.rs", &[]),
            ("echo done >&2", &[]),
            ("jq '.a.b' package.json", &[(Read, "package.json")]),
        ];
        for (command, want) in cases {
            let found = shell_files(command);
            let found: Vec<_> = found.iter().map(|(it, path)| (*it, &**path)).collect();
            assert_eq!(found, want, "{command}");
        }
    }

    #[test]
    fn odd_commands_name_nothing() {
        for command in [
            "",
            "'",
            "\"$",
            "cat <<",
            "cat <<EOF",
            ">",
            "a >",
            "\\",
            "((",
            "cd",
        ] {
            assert_eq!(shell_files(command), [], "{command}");
        }
        assert_eq!(shell_files(&"cat a.b;".repeat(20_000)), []);
    }
}
