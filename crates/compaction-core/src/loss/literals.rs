//! Literals: the parts of a text that can be checked verbatim.

use std::collections::BTreeSet;

use serde::Serialize;
use session_model::{AgentMessage, Block, Content, ToolCall};

use session_facts::{Known, error_lines_of, file_calls, is_unit, only_reads};

/// What a literal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LiteralKind {
    /// A file or folder.
    Path,
    /// A line of a failure.
    Error,
    /// A number with its unit.
    Number,
    /// A name from code.
    Identifier,
    /// An address.
    Url,
    /// A command that was run.
    Command,
}

impl LiteralKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Path,
        Self::Error,
        Self::Number,
        Self::Identifier,
        Self::Url,
        Self::Command,
    ];

    /// Returns the name that JSON output uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Error => "error",
            Self::Number => "number",
            Self::Identifier => "identifier",
            Self::Url => "url",
            Self::Command => "command",
        }
    }
}

/// Something that can be checked verbatim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Literal {
    /// What it is.
    pub kind: LiteralKind,
    /// Its words, white space folded.
    pub text: String,
}

/// The longest word that is looked at, in bytes.
const WORD: usize = 300;
/// The longest command and error line, in characters.
const LINE: usize = 200;
/// How much of one text is looked at, at its start and at its end, in bytes.
const WINDOW: usize = 64 * 1024;
/// The longest path and address of a call, in bytes.
const PLACE: usize = 1024;
/// What stands for the `<` of a tag that was defused.
const DEFUSED: &str = "&lt;";

/// Ends of file names that need no folder to be known as such.
const EXTENSIONS: &str = " rs py ts tsx js jsx mjs cjs go java kt c h cc cpp hpp cs rb php swift scala sh bash zsh \
     md txt toml json jsonl yaml yml lock xml html css scss sql proto ini cfg conf env csv log svg png ";

/// Returns the literals of what was said and done: of prose everything, of calls the files and commands, of
/// results only the lines of a failure.
pub(super) fn literals_of(message: &AgentMessage) -> BTreeSet<Literal> {
    let mut found = BTreeSet::new();
    match message {
        AgentMessage::User(user) | AgentMessage::Developer(user) => {
            add_content(&user.content, &mut found);
        }
        AgentMessage::Assistant(answer) => add_content(&answer.content, &mut found),
        AgentMessage::ToolResult(result) => {
            let text = result.content.joined_text("\n");
            let known = match result.is_error {
                true => Known::Failed,
                // A file quotes errors of all kinds.
                false if only_reads(&result.tool_name) => Known::Passed,
                false => Known::Nothing,
            };
            for line in error_lines_of(&text, known) {
                add(LiteralKind::Error, &folded(&line), &mut found);
            }
        }
        AgentMessage::BashExecution(run) => {
            add_command(&run.command, &mut found);
            let known = match run.exit_code {
                Some(0) => Known::Passed,
                Some(_) => Known::Failed,
                None => Known::Nothing,
            };
            for line in error_lines_of(&run.output, known) {
                add(LiteralKind::Error, &folded(&line), &mut found);
            }
        }
        AgentMessage::Custom(_)
        | AgentMessage::System(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_)
        | AgentMessage::Other { .. } => {}
    }
    found
}

fn add_content(content: &Content, found: &mut BTreeSet<Literal>) {
    for text in content.texts() {
        add_prose(text, found);
    }
    for call in content.tool_calls() {
        add_call(call, found);
    }
}

fn add_call(call: &ToolCall, found: &mut BTreeSet<Literal>) {
    for (_, path) in file_calls(call) {
        if path.len() <= PLACE {
            add(LiteralKind::Path, &path, found);
        }
    }
    let Some(arguments) = &call.arguments else {
        return;
    };
    let names = ["command", "cmd", "script"];
    if let Some(command) = names.iter().find_map(|name| arguments.string_member(name)) {
        add_command(&command, found);
    }
    if let Some(url) = arguments.string_member("url")
        && url.len() <= PLACE
    {
        add(LiteralKind::Url, &url, found);
    }
}

fn add_command(command: &str, found: &mut BTreeSet<Literal>) {
    let first = command.lines().map(str::trim).find(|line| !line.is_empty());
    let command = folded(first.unwrap_or_default());
    if command.chars().count() <= LINE {
        add(LiteralKind::Command, &command, found);
    }
}

fn add(kind: LiteralKind, text: &str, found: &mut BTreeSet<Literal>) {
    if !text.is_empty() {
        let text = text.to_owned();
        found.insert(Literal { kind, text });
    }
}

/// Adds the paths, addresses, names and figures of a text.
pub(super) fn add_prose(text: &str, found: &mut BTreeSet<Literal>) {
    for part in ends(text) {
        let mut number: Option<String> = None;
        for raw in part.split_whitespace() {
            if let Some(number) = number.take() {
                let unit = bare(raw).to_lowercase();
                if unit == "%" || is_unit(&unit) {
                    add(LiteralKind::Number, &format!("{number} {unit}"), found);
                }
            }
            let word = bare(raw);
            if word.is_empty() || word.len() > WORD {
                continue;
            }
            number = add_word(word, found);
        }
    }
}

/// Adds what a word is; returns a number that still needs its unit.
fn add_word(word: &str, found: &mut BTreeSet<Literal>) -> Option<String> {
    if word.starts_with("http://") || word.starts_with("https://") {
        add(LiteralKind::Url, word, found);
        return None;
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return add_number(word, found);
    }
    // Most words are just that.
    if word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    // A path may name a line.
    let place = word.split(':').next().unwrap_or(word);
    if is_path(place) && !word.contains("::") {
        add(LiteralKind::Path, place, found);
        return None;
    }
    let name = word.strip_suffix("()").unwrap_or(word);
    if is_identifier(name, name.len() < word.len()) {
        add(LiteralKind::Identifier, name, found);
    }
    None
}

fn add_number(word: &str, found: &mut BTreeSet<Literal>) -> Option<String> {
    let end = word
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_')))
        .unwrap_or(word.len());
    let (digits, unit) = word.split_at(end);
    let digits: String = digits
        .trim_end_matches(['.', ','])
        .chars()
        .filter(|c| !matches!(c, ',' | '_'))
        .collect();
    let unit = unit.trim_start_matches('-').to_lowercase();
    if unit.is_empty() {
        return Some(digits);
    }
    if unit == "%" || is_unit(&unit) {
        add(LiteralKind::Number, &format!("{digits} {unit}"), found);
    }
    None
}

fn is_path(word: &str) -> bool {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '@' | '+');
    if word.len() < 3 || !word.chars().all(plain) {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or_default();
    let known = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && EXTENSIONS.contains(&format!(" {extension} "))
    });
    let folders = word.matches('/').count();
    let lettered = word
        .split('/')
        .filter(|part| part.chars().any(char::is_alphabetic));
    known
        || (folders >= 1 && word.starts_with(['/', '~', '.'])) && lettered.clone().count() >= 1
        || (folders >= 2 && lettered.count() == folders + 1)
}

fn is_identifier(name: &str, called: bool) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '$');
    if name.len() < 4
        || !name.chars().all(plain)
        || !name.contains(|c: char| c.is_ascii_alphabetic())
    {
        return false;
    }
    let inner = name.trim_matches('_');
    let snake = inner.contains('_');
    let path = name.contains("::") && !name.ends_with(':');
    let camel = name
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    called || snake || path || camel
}

/// Returns a word without what surrounds it in a sentence.
fn bare(word: &str) -> &str {
    let start = |c: char| {
        matches!(
            c,
            '(' | '[' | '{' | '<' | '"' | '\'' | '`' | '*' | '“' | '‘'
        )
    };
    let end = |c: char| {
        matches!(
            c,
            ')' | ']'
                | '}'
                | '>'
                | '"'
                | '\''
                | '`'
                | '*'
                | '”'
                | '’'
                | ','
                | ';'
                | ':'
                | '!'
                | '?'
                | '.'
                | '…'
        )
    };
    let called = word.trim_start_matches(start);
    let kept = called.trim_end_matches(end);
    // The parentheses of a call belong to the name.
    match called[kept.len()..].starts_with(')') && kept.ends_with('(') {
        true => &called[..=kept.len()],
        false => kept,
    }
}

/// Returns the parts of a long text that are looked at.
fn ends(text: &str) -> impl Iterator<Item = &str> {
    let (head, tail) = if text.len() <= 2 * WINDOW {
        (text, "")
    } else {
        let head = text.floor_char_boundary(WINDOW);
        let tail = text.ceil_char_boundary(text.len() - WINDOW);
        (&text[..head], &text[tail..])
    };
    [head, tail].into_iter()
}

/// Returns a text on one line, white space folded, the `<` of defused tags as it was.
pub(super) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    match folded.contains(DEFUSED) {
        true => folded.replace(DEFUSED, "<"),
        false => folded,
    }
}

/// Returns the texts of a message that the user wrote.
pub(super) fn user_text(message: &AgentMessage) -> Option<String> {
    let AgentMessage::User(user) = message else {
        return None;
    };
    let text = match &user.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.text.as_str()),
                Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => {
                    None
                }
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    Some(text).filter(|text| !text.trim().is_empty())
}
