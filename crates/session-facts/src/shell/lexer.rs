//! Taking command lines apart: words, quotes, here-documents, and what joins programs.

use super::{Joint, Word};

/// What a line is made of, in order.
pub(super) enum Piece {
    Program(Joint, Vec<Word>, Vec<Word>),
    /// A shell of its own begins.
    Open,
    /// It ends, and with it the folder that it went to.
    Close,
}

/// Takes a line apart.
pub(super) fn pieces(line: &str) -> Vec<Piece> {
    let mut lexer = Lexer {
        text: line,
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
    lexer.pieces
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
        let is_text = self.take_if("<") && !self.take_if("<");
        if is_text {
            let end = self.text_end();
            self.texts.push(end);
        } else {
            self.next = Next::Skipped;
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
