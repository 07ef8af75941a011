//! The one reader of shell command lines: which programs a line runs, with which words, in which folder.
//!
//! Words that a shell works out itself (variables, patterns, substitutions) are marked as open: what they stand for is
//! unknown. Texts that stand in a line (here-documents, commit messages, comments) are not read as commands, unless a
//! command of the line runs them.

mod lexer;
mod wrappers;

use lexer::Piece;
pub use wrappers::worker;
use wrappers::{script, starts};

/// The longest command that is taken apart, in bytes; of a longer one nothing is known.
const LONGEST: usize = 64 * 1024;

/// How many shells inside shells are followed.
const NESTED: usize = 3;

/// How a program stands to the one before it on its line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Joint {
    /// It runs after it, whatever came of it; or it is the first.
    #[default]
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
        base_name(self.words.first().map_or("", |word| &word.text))
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

/// A simple command of a line, with all that wraps the program in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// How it stands to the one before it.
    pub joint: Joint,
    /// All its words.
    pub words: Vec<Word>,
    /// Where in the words the names of programs are: at the beginning, behind each wrapper, behind `find -exec`.
    pub starts: Vec<usize>,
    /// Which of the starts is that of the program which does the work; none where only variables are set.
    program: Option<usize>,
    /// The files that its output goes to.
    pub targets: Vec<Word>,
    /// The folder that it runs in, seen from where the line starts; `None` for that one.
    pub folder: Option<String>,
    /// Its words do not say what it does: it works out variables, opens a file other than `/dev/null`, or is incomplete.
    pub is_opaque: bool,
    /// Who runs it.
    pub runner: Runner,
}

/// Who runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// The shell that reads the line.
    Line,
    /// A substitution in it.
    Substitution,
    /// A command of the line, which takes it as a text: `sh -c`, `eval`.
    Script,
}

/// Returns the programs that a command line runs, in their order.
pub fn programs(command: &str) -> Vec<Program> {
    if command.len() > LONGEST {
        return Vec::new();
    }
    let commands = shell_commands(command).into_iter();
    let programs = commands.filter_map(|command| {
        let words = command.words.get(command.program?..)?;
        let is_program = !matches!(command.runner, Runner::Substitution)
            && !changes_folder(words)
            && script(words, &[], command.program > Some(0)).is_none();
        is_program.then(|| Program {
            joint: command.joint,
            words: words.to_vec(),
            targets: command.targets,
            folder: command.folder,
        })
    });
    programs.collect()
}

/// Returns every simple command that a line runs, also in substitutions and in texts that other commands of it run.
pub fn shell_commands(line: &str) -> Vec<ShellCommand> {
    let mut found = Vec::new();
    read(
        lexer::pieces(line),
        &mut None,
        Runner::Line,
        NESTED,
        &mut found,
    );
    found
}

fn read(
    pieces: Vec<Piece>,
    folder: &mut Option<String>,
    runner: Runner,
    nested: usize,
    found: &mut Vec<ShellCommand>,
) {
    let mut outer = Vec::new();
    for piece in pieces {
        let command = match piece {
            Piece::Open => {
                outer.push(folder.clone());
                continue;
            }
            Piece::Close => {
                *folder = outer.pop().unwrap_or(folder.take());
                continue;
            }
            Piece::Substitution(pieces) => {
                let runner = match runner {
                    Runner::Script => Runner::Script,
                    Runner::Line | Runner::Substitution => Runner::Substitution,
                };
                read(pieces, &mut folder.clone(), runner, nested, found);
                continue;
            }
            Piece::Command(command) => command,
        };
        let (starts, program) = starts(&command.words);
        let words = &command.words[program.unwrap_or(command.words.len())..];
        if changes_folder(words) {
            *folder = Some(within(folder.as_deref(), &words[1].text));
        }
        if nested > 0 {
            let scripts = starts
                .iter()
                .filter_map(|start| script(&command.words[*start..], &command.inputs, *start > 0));
            for text in scripts {
                let pieces = lexer::pieces(&text);
                read(
                    pieces,
                    &mut folder.clone(),
                    Runner::Script,
                    nested - 1,
                    found,
                );
            }
        }
        found.push(ShellCommand {
            joint: command.joint,
            words: command.words,
            starts,
            program,
            targets: command.targets,
            folder: folder.clone(),
            is_opaque: command.is_opaque,
            runner,
        });
    }
}

fn changes_folder(words: &[Word]) -> bool {
    matches!(words, [cd, _, ..] if matches!(cd.text.as_str(), "cd" | "pushd"))
}

/// Returns a path as it is seen from where `folder` is.
pub fn within(folder: Option<&str>, path: &str) -> String {
    match folder.filter(|_| !path.starts_with(['/', '~'])) {
        Some(folder) => format!("{}/{path}", folder.trim_end_matches('/')),
        None => path.to_owned(),
    }
}

/// Returns a name without its folder.
pub fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
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
