//! Taking command lines apart: words, quotes, here-documents, substitutions, and what joins commands.

use super::{Joint, Word};

/// How many substitutions inside substitutions are followed.
const DEEPEST: usize = 16;

/// What a line is made of, in order.
pub(super) enum Piece {
    Command(Simple),
    /// What a substitution of the next command runs.
    Substitution(Vec<Piece>),
    /// A shell of its own begins.
    Open,
    /// It ends, and with it the folder that it went to.
    Close,
}

/// A simple command.
#[derive(Default)]
pub(super) struct Simple {
    pub joint: Joint,
    pub words: Vec<Word>,
    /// The files that output goes to.
    pub targets: Vec<Word>,
    /// The texts that it reads: here-documents and here-strings.
    pub inputs: Vec<String>,
    /// It works out variables, opens files, or is not complete.
    pub is_opaque: bool,
}

/// Takes a line apart.
pub(super) fn pieces(line: &str) -> Vec<Piece> {
    let mut lexer = Lexer::of(line, 0);
    lexer.run();
    lexer.pieces
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A word of the command.
    Word,
    /// A file that output goes to.
    Target,
    /// A file that input comes from, or a file that only messages go to.
    File,
    /// The number of another channel, or a file.
    Channel,
    /// A text to read.
    Text,
}

/// A here-document that begins on the next line.
struct Document<'a> {
    end: &'a str,
    is_quoted: bool,
    /// The number of its command.
    command: usize,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    pieces: Vec<Piece>,
    /// How many commands have ended.
    commands: usize,
    command: Simple,
    word: Option<Word>,
    next: Next,
    documents: Vec<Document<'a>>,
    /// How many `(` and `case` are open.
    open: usize,
    cases: usize,
}

impl<'a> Lexer<'a> {
    fn of(text: &'a str, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            pieces: Vec::new(),
            commands: 0,
            command: Simple::default(),
            word: None,
            next: Next::Word,
            documents: Vec::new(),
            open: 0,
            cases: 0,
        }
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
            '"' => self.quoted(Some('"')),
            '\\' => match self.take() {
                Some('\n') => {}
                Some(letter) => self.word().text.push(letter),
                None => self.command.is_opaque = true,
            },
            '$' if self.rest().starts_with(['\'', '"']) => {
                // Of the escapes of `$'...'` nothing is known.
                let quoted = self.rest().strip_prefix('\'');
                let quoted = quoted.and_then(|rest| rest.split('\'').next());
                self.command.is_opaque |= quoted.is_some_and(|quoted| quoted.contains('\\'));
            }
            '$' | '`' => self.expansion(letter),
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
                self.end_command(Joint::Then);
                for document in std::mem::take(&mut self.documents) {
                    self.document(&document);
                }
            }
            ';' => self.end_command(Joint::Then),
            '&' => {
                let joint = if self.take_if("&") {
                    Joint::And
                } else {
                    Joint::Then
                };
                self.end_command(joint);
            }
            '|' => {
                let joint = if self.take_if("|") {
                    Joint::Or
                } else {
                    Joint::Pipe
                };
                self.take_if("&");
                self.end_command(joint);
            }
            '(' => {
                self.end_command(self.command.joint);
                self.open += 1;
                self.pieces.push(Piece::Open);
            }
            ')' => {
                self.end_command(Joint::Then);
                self.open = self.open.saturating_sub(1);
                self.pieces.push(Piece::Close);
            }
            ' ' | '\t' | '\r' => {
                self.command.is_opaque |= letter == '\r';
                self.end_word();
            }
            letter => {
                self.command.is_opaque |= letter.is_control();
                let word = self.word();
                word.is_open |= matches!(letter, '*' | '?' | '[' | '{');
                word.text.push(letter);
            }
        }
    }

    /// Takes the text up to a letter, and the letter.
    fn until(&mut self, end: char) -> &'a str {
        let rest = self.rest();
        let length = rest.find(end);
        self.command.is_opaque |= length.is_none();
        let length = length.unwrap_or(rest.len());
        self.at += (length + end.len_utf8()).min(rest.len());
        &rest[..length]
    }

    /// Takes a word in double quotes, or with the rules of one the rest of the text.
    fn quoted(&mut self, end: Option<char>) {
        self.word();
        while let Some(letter) = self.take() {
            match letter {
                letter if Some(letter) == end => return,
                '\\' => match self.take() {
                    Some('\n') => {}
                    Some(letter) => {
                        let is_kept = !matches!(letter, '$' | '`' | '"' | '\\');
                        let text = &mut self.word().text;
                        text.extend(is_kept.then_some('\\'));
                        text.push(letter);
                    }
                    None => self.word().text.push('\\'),
                },
                '$' | '`' => self.expansion(letter),
                letter => self.word().text.push(letter),
            }
        }
        self.command.is_opaque |= end.is_some();
    }

    /// Takes what a shell works out, behind its first letter.
    fn expansion(&mut self, letter: char) {
        let is_deep = self.depth == DEEPEST;
        if letter == '`' {
            let text = self.backquoted();
            self.command.is_opaque |= is_deep;
            let mut inner = Lexer::of(&text, self.depth + 1);
            if !is_deep {
                inner.run();
            }
            self.substitute(inner.pieces);
        } else if !is_deep && self.take_if("(") {
            let mut inner = Lexer::of(self.text, self.depth + 1);
            inner.at = self.at;
            self.command.is_opaque |= !inner.run_to_bracket();
            self.at = inner.at;
            self.substitute(inner.pieces);
        } else {
            let is_name = |c: char| c.is_alphanumeric() || "_{(@*#?$!-[".contains(c);
            let is_variable = self.rest().starts_with(is_name);
            self.command.is_opaque |= is_variable;
            let word = self.word();
            word.is_open |= is_variable;
            word.text.push(letter);
        }
    }

    /// Takes the text up to a backquote, without the backslashes in it.
    fn backquoted(&mut self) -> String {
        let mut text = String::new();
        while let Some(letter) = self.take() {
            match letter {
                '`' => return text,
                '\\' => text.extend(self.take()),
                letter => text.push(letter),
            }
        }
        self.command.is_opaque = true;
        text
    }

    /// Puts a substitution into the word. Of one that prints a here-document the text is kept.
    fn substitute(&mut self, pieces: Vec<Piece>) {
        let text = pieces.iter().find_map(|piece| match piece {
            Piece::Command(command) => command.inputs.first(),
            Piece::Substitution(_) | Piece::Open | Piece::Close => None,
        });
        let word = self.word.get_or_insert_default();
        word.is_open |= text.is_none();
        word.text.push_str(text.map_or("", |text| text.trim_end()));
        self.pieces.push(Piece::Substitution(pieces));
    }

    fn run(&mut self) {
        while let Some(letter) = self.take() {
            self.letter(letter);
        }
        self.end_command(Joint::Then);
    }

    /// Takes the commands up to the bracket that closes a substitution; returns whether there is one.
    fn run_to_bracket(&mut self) -> bool {
        while let Some(letter) = self.take() {
            if letter == ')' {
                self.end_command(Joint::Then);
                if self.open == 0 && self.cases == 0 {
                    return true;
                }
            }
            self.letter(letter);
        }
        self.end_command(Joint::Then);
        false
    }

    /// Takes a redirection of output, behind its first sign.
    fn output(&mut self) {
        let channel = self.word.take_if(|word| {
            !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit())
        });
        self.end_word();
        self.take_if(">");
        self.take_if("|");
        self.next = if self.take_if("&") {
            Next::Channel
        } else if channel.is_some_and(|word| word.text != "1") {
            // `2>` takes messages: they say nothing of a file.
            Next::File
        } else {
            Next::Target
        };
    }

    /// Takes a redirection of input, behind its first sign.
    fn input(&mut self) {
        self.word
            .take_if(|word| word.text.bytes().all(|byte| byte.is_ascii_digit()));
        self.end_word();
        self.next = if self.take_if("<<") {
            Next::Text
        } else if self.take_if("<") {
            let document = self.document_head();
            self.documents.push(document);
            return;
        } else if self.take_if("&") {
            Next::Channel
        } else {
            Next::File
        };
    }

    /// Takes the word that ends a here-document, behind `<<`.
    fn document_head(&mut self) -> Document<'a> {
        self.take_if("-");
        let rest = self.rest();
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let name = &rest[blanks..];
        let length =
            name.find(|c: char| c.is_whitespace() || matches!(c, '>' | ')' | ';' | '|' | '&'));
        let name = &name[..length.unwrap_or(name.len())];
        self.at += blanks + name.len();
        let end = name.trim_matches(['\'', '"', '\\']);
        Document {
            end,
            is_quoted: end != name,
            command: self.commands,
        }
    }

    /// Takes the lines of a here-document up to its end. Where that is not quoted, substitutions in it are run.
    fn document(&mut self, document: &Document<'a>) {
        let start = self.at;
        let mut end = self.text.len();
        while self.at < self.text.len() {
            let before = self.at;
            let rest = self.rest();
            let line = rest.split('\n').next().unwrap_or(rest);
            self.at = (before + line.len() + 1).min(self.text.len());
            // The bracket of a substitution may follow the end.
            if line.trim() == document.end {
                end = before;
                break;
            }
        }
        let text = &self.text[start..end];
        let mut lexer = Lexer::of(text, self.depth);
        if !document.is_quoted {
            lexer.quoted(None);
        }
        let mut commands = self.pieces.iter_mut().filter_map(|piece| match piece {
            Piece::Command(command) => Some(command),
            Piece::Substitution(_) | Piece::Open | Piece::Close => None,
        });
        if let Some(command) = commands.nth(document.command) {
            command.inputs.push(text.to_owned());
            command.is_opaque |= lexer.command.is_opaque;
        }
        self.pieces.append(&mut lexer.pieces);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        let command = &mut self.command;
        let is_channel = word.text.bytes().all(|c| c.is_ascii_digit() || c == b'-');
        match std::mem::replace(&mut self.next, Next::Word) {
            Next::Word => command.words.push(word),
            Next::Text => command.inputs.push(word.text),
            Next::Channel if is_channel => {}
            Next::File => command.is_opaque |= word.text != "/dev/null",
            Next::Target | Next::Channel => {
                command.is_opaque |= word.text != "/dev/null";
                command.targets.push(word);
            }
        }
    }

    /// Ends a command; `joint` is how the next one stands to it.
    fn end_command(&mut self, joint: Joint) {
        self.end_word();
        self.next = Next::Word;
        let next = Simple {
            joint,
            ..Simple::default()
        };
        let command = std::mem::replace(&mut self.command, next);
        // The patterns of a `case` end in a bracket.
        match command.words.first().map(|word| word.text.as_str()) {
            Some("case") => self.cases += 1,
            Some("esac") => self.cases = self.cases.saturating_sub(1),
            _ => {}
        }
        let is_empty =
            command.words.is_empty() && command.targets.is_empty() && command.inputs.is_empty();
        if !is_empty || command.is_opaque {
            self.commands += 1;
            self.pieces.push(Piece::Command(command));
        }
    }
}
