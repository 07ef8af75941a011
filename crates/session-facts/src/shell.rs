//! The one reader of shell command lines: which programs a line runs, with which words, in which folder.
//!
//! Words that a shell works out itself (variables, patterns, substitutions) are marked as open: what they stand for is
//! unknown. Texts that stand in a line (here-documents, commit messages, comments) are never read as commands.

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
    let mut lexer = Lexer {
        text: command,
        at: 0,
        pieces: Vec::new(),
        joint: Joint::Then,
        words: Vec::new(),
        targets: Vec::new(),
        word: None,
        next: Next::Word,
        texts: Vec::new(),
    };
    lexer.run();
    let mut folder = folder.map(str::to_owned);
    let mut outer = Vec::new();
    let mut found = Vec::new();
    for piece in lexer.pieces {
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

enum Piece {
    Program(Joint, Vec<Word>, Vec<Word>),
    /// A shell of its own begins.
    Open,
    /// It ends, and with it the folder that it went to.
    Close,
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A word of the program.
    Word,
    /// A file that output goes to.
    Target,
    /// A file that input comes from, or a file that only messages go to.
    Skipped,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    pieces: Vec<Piece>,
    joint: Joint,
    words: Vec<Word>,
    targets: Vec<Word>,
    word: Option<Word>,
    next: Next,
    /// What ends the texts that begin on the next line.
    texts: Vec<&'a str>,
}

impl<'a> Lexer<'a> {
    fn run(&mut self) {
        while let Some(letter) = self.take() {
            self.letter(letter);
        }
        self.end_program(Joint::Then);
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.rest().chars().next()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn take_if(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn letter(&mut self, letter: char) {
        match letter {
            '\'' => {
                let text = self.until('\'');
                self.word().text.push_str(text);
            }
            '"' => self.quoted(),
            '\\' => match self.take() {
                Some('\n') | None => {}
                Some(letter) => self.word().text.push(letter),
            },
            '$' if self.take_if("(") => self.substitution(),
            '`' => {
                self.until('`');
                self.word().is_open = true;
            }
            '#' if self.word.is_none() => {
                let line = self.rest().find('\n').unwrap_or(self.rest().len());
                self.at += line;
            }
            '>' => self.output(),
            '<' => self.input(),
            '&' if self.rest().starts_with('>') => {
                self.end_word();
                self.take();
                self.take_if(">");
                self.next = Next::Target;
            }
            '\n' => {
                self.end_program(Joint::Then);
                for end in std::mem::take(&mut self.texts) {
                    self.skip_text(end);
                }
            }
            ';' => self.end_program(Joint::Then),
            '&' => {
                let joint = if self.take_if("&") {
                    Joint::And
                } else {
                    Joint::Then
                };
                self.end_program(joint);
            }
            '|' => {
                let joint = if self.take_if("|") {
                    Joint::Or
                } else {
                    Joint::Pipe
                };
                self.take_if("&");
                self.end_program(joint);
            }
            '(' => {
                self.end_program(self.joint);
                self.pieces.push(Piece::Open);
            }
            ')' => {
                self.end_program(Joint::Then);
                self.pieces.push(Piece::Close);
            }
            letter if letter.is_whitespace() => self.end_word(),
            letter => {
                let word = self.word();
                word.is_open |= matches!(letter, '$' | '*' | '?' | '[' | '{');
                word.text.push(letter);
            }
        }
    }

    /// Takes the text up to a letter, and the letter.
    fn until(&mut self, end: char) -> &'a str {
        let rest = self.rest();
        let length = rest.find(end).unwrap_or(rest.len());
        self.at += (length + end.len_utf8()).min(rest.len());
        &rest[..length]
    }

    /// Takes a word in double quotes.
    fn quoted(&mut self) {
        self.word();
        while let Some(letter) = self.take().filter(|letter| *letter != '"') {
            match letter {
                '\\' => {
                    let letter = self.take().unwrap_or('\\');
                    self.word().text.push(letter);
                }
                '$' if self.take_if("(") => self.substitution(),
                letter => {
                    let word = self.word();
                    word.is_open |= matches!(letter, '$' | '`');
                    word.text.push(letter);
                }
            }
        }
    }

    /// Skips a substitution, whose opening bracket is taken; of one that prints a here-document the text is kept.
    fn substitution(&mut self) {
        let mut depth = 1_usize;
        let mut ends: Vec<&'a str> = Vec::new();
        let mut text = None;
        while let Some(letter) = self.take() {
            match letter {
                '(' => depth += 1,
                ')' if depth == 1 => break,
                ')' => depth -= 1,
                '\'' => drop(self.until('\'')),
                '\\' => drop(self.take()),
                '<' if self.take_if("<") && !self.take_if("<") => ends.push(self.text_end()),
                '\n' => {
                    for end in std::mem::take(&mut ends) {
                        text.get_or_insert(self.skip_text(end));
                    }
                }
                _ => {}
            }
        }
        let word = self.word();
        word.is_open |= text.is_none();
        word.text.push_str(text.unwrap_or_default().trim_end());
    }

    /// Takes a redirection of output, behind its first sign.
    fn output(&mut self) {
        // `2>` takes messages: they say nothing of a file.
        let of_messages = self.word.as_ref().is_some_and(|word| word.text == "2");
        let is_number = self
            .word
            .as_ref()
            .is_some_and(|word| matches!(word.text.as_str(), "1" | "2"));
        if is_number {
            self.word = None;
        }
        self.end_word();
        self.take_if(">");
        self.take_if("|");
        if self.take_if("&") {
            // Another channel, which is named by a number.
            self.next = Next::Skipped;
            return;
        }
        self.next = if of_messages {
            Next::Skipped
        } else {
            Next::Target
        };
    }

    /// Takes a redirection of input, behind its first sign.
    fn input(&mut self) {
        self.end_word();
        if !self.take_if("<") {
            self.next = Next::Skipped;
        } else if self.take_if("<") {
            self.next = Next::Skipped;
        } else {
            let end = self.text_end();
            self.texts.push(end);
        }
    }

    /// Takes the word that ends a here-document, behind `<<`.
    fn text_end(&mut self) -> &'a str {
        self.take_if("-");
        let rest = self.rest();
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let name = &rest[blanks..];
        let length =
            name.find(|c: char| c.is_whitespace() || matches!(c, '>' | ')' | ';' | '|' | '&'));
        let name = &name[..length.unwrap_or(name.len())];
        self.at += blanks + name.len();
        name.trim_matches(['\'', '"', '\\'])
    }

    /// Takes the lines up to the one that says `end`, and returns them.
    fn skip_text(&mut self, end: &str) -> &'a str {
        let start = self.at;
        while self.at < self.text.len() {
            let before = self.at;
            let line = self.until('\n');
            if line.trim() == end {
                return &self.text[start..before];
            }
        }
        &self.text[start..]
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        match std::mem::replace(&mut self.next, Next::Word) {
            Next::Word => self.words.push(word),
            Next::Target => self.targets.push(word),
            Next::Skipped => {}
        }
    }

    /// Ends a program; `joint` is how the next one stands to it.
    fn end_program(&mut self, joint: Joint) {
        self.end_word();
        self.next = Next::Word;
        let words = std::mem::take(&mut self.words);
        let targets = std::mem::take(&mut self.targets);
        if !words.is_empty() || !targets.is_empty() {
            self.pieces.push(Piece::Program(self.joint, words, targets));
        }
        self.joint = joint;
    }
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
