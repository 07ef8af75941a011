//! The one reader of shell command lines: which programs a line runs, with which words, in which folder.
//!
//! Words that a shell works out itself (variables, patterns, substitutions) are marked as open: what they stand for is
//! unknown. Texts that stand in a line (here-documents, commit messages, comments) are never read as commands.

mod lexer;

use lexer::Piece;

/// The longest command that is taken apart, in bytes; of a longer one nothing is known.
const LONGEST: usize = 64 * 1024;

/// How many shells inside shells are followed.
const NESTED: usize = 3;

/// Programs that run another one and change nothing about what it does, and words that stand before a command.
const WRAPPERS: [&str; 27] = [
    "sudo", "doas", "time", "nohup", "command", "exec", "env", "nice", "ionice", "stdbuf",
    "timeout", "xvfb-run", "xargs", "npx", "bunx", "uvx", "then", "else", "do", "if", "elif",
    "while", "until", "!", "{", "builtin", "eval",
];

/// The same of two words.
const RUNNERS: [(&str, &str); 9] = [
    ("npm", "exec"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bundle", "exec"),
    ("poetry", "run"),
    ("uv", "run"),
    ("pipenv", "run"),
];

/// Options of wrappers that take a word.
const WITH_WORD: [&str; 7] = ["-u", "-g", "-n", "-k", "-s", "-o", "-I"];

/// How a program stands to the one before it on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// It runs after it, whatever came of it; or it is the first.
    Then,
    /// It runs if that one succeeded (`&&`).
    And,
    /// It runs if that one failed (`||`).
    Or,
    /// It reads what that one prints (`|`).
    Pipe,
}

/// A word without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// Its text.
    pub text: String,
    /// Whether a shell works out what it is.
    pub is_open: bool,
}

/// One program of a command line, without what wraps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// How it stands to the one before it.
    pub joint: Joint,
    /// The program and its arguments; never empty.
    pub words: Vec<Word>,
    /// The files that its output goes to.
    pub targets: Vec<Word>,
    /// The folder that it runs in, seen from where the line starts; `None` for that one.
    pub folder: Option<String>,
}

impl Program {
    /// Returns the name of the program, without its folder.
    pub fn name(&self) -> &str {
        let first = self.words.first().map_or("", |word| word.text.as_str());
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Returns the texts of its arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(|word| word.text.as_str())
    }

    /// Returns the first argument that is no option and no value of one that names a folder.
    pub fn subcommand(&self) -> Option<&str> {
        let mut arguments = self.arguments();
        while let Some(argument) = arguments.next() {
            match argument {
                "-C" | "-c" | "--git-dir" | "--work-tree" | "--prefix" | "--dir" => {
                    arguments.next();
                }
                option if option.starts_with(['-', '+']) => {}
                argument => return Some(argument),
            }
        }
        None
    }

    /// Returns its words in one text: the same for two runs of one command.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    }
}

/// Returns the programs that a command line runs, in their order.
pub fn programs(command: &str) -> Vec<Program> {
    programs_in(command, None, NESTED)
}

fn programs_in(command: &str, folder: Option<&str>, nested: usize) -> Vec<Program> {
    if command.len() > LONGEST {
        return Vec::new();
    }
    let mut folder = folder.map(str::to_owned);
    let mut outer = Vec::new();
    let mut found = Vec::new();
    for piece in lexer::pieces(command) {
        let (joint, words, targets) = match piece {
            Piece::Open => {
                outer.push(folder.clone());
                continue;
            }
            Piece::Close => {
                folder = outer.pop().unwrap_or(folder);
                continue;
            }
            Piece::Program(joint, words, targets) => (joint, words, targets),
        };
        let words = unwrapped(words);
        match words.as_slice() {
            [] => {}
            [cd, to, ..] if matches!(cd.text.as_str(), "cd" | "pushd") => {
                folder = Some(within(folder.as_deref(), &to.text));
            }
            [shell, option, script, ..]
                if nested > 0
                    && is_shell(&shell.text)
                    && option.text.starts_with('-')
                    && option.text.ends_with('c') =>
            {
                found.extend(programs_in(&script.text, folder.as_deref(), nested - 1));
            }
            _ => found.push(Program {
                joint,
                words,
                targets,
                folder: folder.clone(),
            }),
        }
    }
    found
}

fn is_shell(name: &str) -> bool {
    matches!(
        name.rsplit('/').next(),
        Some("bash" | "sh" | "zsh" | "dash")
    )
}

/// Returns a path as it is seen from where `folder` is.
pub fn within(folder: Option<&str>, path: &str) -> String {
    match folder.filter(|_| !path.starts_with(['/', '~'])) {
        Some(folder) => format!("{}/{path}", folder.trim_end_matches('/')),
        None => path.to_owned(),
    }
}

/// Returns the words from the program on that does the work.
fn unwrapped(words: Vec<Word>) -> Vec<Word> {
    let mut at = 0;
    while let Some(word) = words.get(at).map(|word| word.text.as_str()) {
        let next = words.get(at + 1).map_or("", |word| word.text.as_str());
        if assigns(word) {
            at += 1;
        } else if RUNNERS.contains(&(word, next)) {
            at = options_end(&words, at + 2);
        } else if WRAPPERS.contains(&word) {
            at = options_end(&words, at + 1);
            // How long it may take.
            at += usize::from(word == "timeout");
        } else {
            break;
        }
    }
    words.into_iter().skip(at).collect()
}

fn options_end(words: &[Word], mut at: usize) -> usize {
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(WITH_WORD.contains(&word.text.as_str()));
    }
    at
}

/// Returns whether a word sets a variable for the program behind it.
fn assigns(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::programs;

    /// Writes the programs of a line: the sign of the joint, the words, `>` before targets, `@` before the folder.
    fn shown(command: &str) -> String {
        let found = programs(command).into_iter().map(|program| {
            let words = program.words.iter().map(|word| match word.is_open {
                true => format!("{}?", word.text),
                false => word.text.clone(),
            });
            let targets = program.targets.iter().map(|word| format!(">{}", word.text));
            let folder = program.folder.iter().map(|folder| format!("@{folder}"));
            let parts: Vec<String> = words.chain(targets).chain(folder).collect();
            format!("{:?}({})", program.joint, parts.join(","))
        });
        found.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_line_is_taken_apart_as_a_shell_does() {
        let cases = [
            ("cargo test -p a", "Then(cargo,test,-p,a)"),
            (
                "cd x && cargo test | tail -5",
                "And(cargo,test,@x) Pipe(tail,-5,@x)",
            ),
            (
                "RUST_LOG=debug timeout 5 cargo test 2>&1",
                "Then(cargo,test)",
            ),
            (
                "git commit -m \"fix parser; cargo test passes now & docs\"",
                "Then(git,commit,-m,fix parser; cargo test passes now & docs)",
            ),
            ("rm -f src/a.rs 2>/dev/null", "Then(rm,-f,src/a.rs)"),
            ("cat > a <<'EOF'\nrm b\nEOF\nls", "Then(cat,>a) Then(ls)"),
            (
                "git commit -m \"$(cat <<'EOF'\nDon't stop (now)\n\nrm x\nEOF\n)\" && git push",
                "Then(git,commit,-m,Don't stop (now)\n\nrm x) And(git,push)",
            ),
            ("(cd a; make) && ls # rm b", "Then(make,@a) And(ls)"),
            ("bash -lc 'cd q && npm test'", "And(npm,test,@q)"),
            ("echo \"$(rm x)\" $HOME *.rs", "Then(echo,?,$HOME?,*.rs?)"),
            ("a || b; sudo -u x c & d", "Then(a) Or(b) Then(c) Then(d)"),
            ("cmd < in > out 2> err", "Then(cmd,>out)"),
            (
                "if make; then echo ok; fi",
                "Then(make) Then(echo,ok) Then(fi)",
            ),
            ("", ""),
            ("'", "Then()"),
            ("\"$(", "Then(?)"),
            ("cat <<", "Then(cat)"),
            ("cat <<EOF", "Then(cat)"),
            (">", ""),
            ("((", ""),
            ("\\", ""),
        ];
        for (command, want) in cases {
            assert_eq!(shown(command), want, "{command}");
        }
        assert_eq!(programs(&"ls;".repeat(30_000)), []);
    }
}
