//! Side track: a tokenizer for templates, tried in a file of its own and dropped again.

use super::script::{Line, User, act, edit, read, say, sh, think, write};

const LEXER: &str = r##"
//! Trial: a template as a row of tokens.

/// A piece of a template.
#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    /// Text outside of tags.
    Text(&'a str),
    /// A name and its filters.
    Var(&'a str, Vec<&'a str>),
    /// The start of a block: its kind and name.
    Open(&'a str, &'a str),
    /// The end of a block.
    Close(&'a str),
}

/// What the tokenizer is in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Text,
    Tag,
}

/// Returns the tokens, or the byte of a tag that is not closed.
pub fn tokens(source: &str) -> Result<Vec<Token<'_>>, usize> {
    let mut out = Vec::new();
    let mut state = State::Text;
    let mut start = 0;
    let bytes = source.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let pair = (bytes[at], bytes.get(at + 1).copied());
        match (state, pair) {
            (State::Text, (b'{', Some(b'{'))) => {
                if start < at {
                    out.push(Token::Text(&source[start..at]));
                }
                state = State::Tag;
                at += 2;
                start = at;
            }
            (State::Tag, (b'}', Some(b'}'))) => {
                out.push(tag(source[start..at].trim()));
                state = State::Text;
                at += 2;
                start = at;
            }
            _ => at += 1,
        }
    }
    match state {
        State::Tag => Err(start - 2),
        State::Text if start < source.len() => {
            out.push(Token::Text(&source[start..]));
            Ok(out)
        }
        State::Text => Ok(out),
    }
}

fn tag(tag: &str) -> Token<'_> {
    if let Some(kind) = tag.strip_prefix('/') {
        return Token::Close(kind);
    }
    if let Some(block) = tag.strip_prefix('#') {
        let (kind, name) = block.split_once(' ').unwrap_or((block, ""));
        return Token::Open(kind, name.trim());
    }
    let mut parts = tag.split('|').map(str::trim);
    let name = parts.next().unwrap_or_default();
    Token::Var(name, parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_tags_alternate() {
        let found = tokens("a{{#if x}}{{ y | upper }}{{/if}}b").unwrap();
        let expected = [
            Token::Text("a"),
            Token::Open("if", "x"),
            Token::Var("y", vec!["upper"]),
            Token::Close("if"),
            Token::Text("b"),
        ];
        assert_eq!(found, expected);
        assert_eq!(tokens("ab{{ c"), Err(2));
    }
}
"##;

const TREE: &str = r##"
//! Trial: the blocks of a template from its tokens.

use crate::template_lexer::Token;

/// A block with what is in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece<'a> {
    /// A token that stands alone.
    One(Token<'a>),
    /// A block: kind, name and inside.
    Block(&'a str, &'a str, Vec<Piece<'a>>),
}

/// Returns the pieces of a row of tokens, or the kind of a block that does not close.
pub fn pieces<'a>(tokens: &[Token<'a>]) -> Result<Vec<Piece<'a>>, String> {
    let mut stack: Vec<(&'a str, &'a str, Vec<Piece<'a>>)> = Vec::new();
    let mut here = Vec::new();
    for token in tokens {
        match token {
            Token::Open(kind, name) => {
                stack.push((kind, name, std::mem::take(&mut here)));
            }
            Token::Close(kind) => {
                let (open, name, outside) = stack.pop().ok_or_else(|| kind.to_string())?;
                if open != *kind {
                    return Err(open.to_string());
                }
                let inside = std::mem::replace(&mut here, outside);
                here.push(Piece::Block(open, name, inside));
            }
            Token::Text(_) | Token::Var(_, _) => here.push(Piece::One(token.clone())),
        }
    }
    match stack.pop() {
        Some((open, _, _)) => Err(open.to_string()),
        None => Ok(here),
    }
}
"##;

/// Returns the lines of the side track, up to the user's next prompt on the main road.
pub fn lines() -> Vec<Line> {
    let mut lines = vec![Line::Comment("4. Side track: a tokenizer, dropped again")];
    lines.extend(trial());
    lines.extend(verdict());
    lines
}

fn trial() -> Vec<Line> {
    vec![
        act(
            "I look at the parser as it is.",
            vec![
                read("src/template.rs"),
                sh("grep -n 'find(\\|strip_prefix\\|split' src/template.rs"),
            ],
        ),
        think(
            "New files only; lib.rs needs a mod line for the time of the trial, which I take out again.",
            "The tokenizer in a file of its own:",
            vec![write("src/template_lexer.rs", LEXER)],
        ),
        act(
            "",
            vec![edit(
                "src/lib.rs",
                &[(
                    "pub mod template;\n",
                    "pub mod template;\npub mod template_lexer;\n",
                )],
            )],
        ),
        act(
            "Blocks still have to be nested, so tokens alone do not replace `parse`. The second half:",
            vec![write("src/template_tree.rs", TREE)],
        ),
        act(
            "",
            vec![edit(
                "src/lib.rs",
                &[(
                    "pub mod template_lexer;\n",
                    "pub mod template_lexer;\npub mod template_tree;\n",
                )],
            )],
        ),
        act(
            "",
            vec![
                read("src/template_lexer.rs"),
                read("src/template_tree.rs"),
                read("src/template.rs"),
            ],
        ),
        act(
            "`{{#if` followed by two blanks gives an empty name here; the present parser splits on white space.",
            vec![edit(
                "src/template_lexer.rs",
                &[(
                    "        let (kind, name) = block.split_once(' ').unwrap_or((block, \"\"));\n        return Token::Open(kind, name.trim());\n",
                    "        let mut parts = block.split_whitespace();\n        let kind = parts.next().unwrap_or_default();\n        return Token::Open(kind, parts.next().unwrap_or_default());\n",
                )],
            )],
        ),
        act(
            "Side by side, in lines:",
            vec![
                sh("wc -l src/template.rs src/template_lexer.rs src/template_tree.rs"),
                sh(
                    "grep -c 'match\\|if ' src/template.rs src/template_lexer.rs src/template_tree.rs",
                ),
            ],
        ),
    ]
}

fn verdict() -> Vec<Line> {
    vec![
        think(
            "Two files and more than 120 lines for what parse does in 60; the state machine hides that a tag is found by two finds. Positions of errors get lost between the two steps. Not better. Clean up: mod lines and both files.",
            "It is not better: two files of more than 120 lines for one function of 60, and the second step no longer knows where in the source it is. I take it out.",
            vec![edit(
                "src/lib.rs",
                &[("pub mod template_lexer;\npub mod template_tree;\n", "")],
            )],
        ),
        act(
            "",
            vec![sh("rm src/template_lexer.rs src/template_tree.rs")],
        ),
        act(
            "",
            vec![
                sh("grep -rn 'template_lexer\\|template_tree' src tests || true"),
                sh("ls -1 src"),
                read("src/lib.rs"),
            ],
        ),
        say(
            "Tried and dropped. The tokenizer (almost 90 lines) needs a second pass for the blocks (almost 40), while `Template::parse` does both in 60 lines; errors in the second pass have no byte position any more. What it showed: the tag itself could be read by a function of its own, which is worth taking over. Both files are gone and `lib.rs` is as before.",
        ),
        Line::User(User::NavigateBack(
            "why the tokenizer was dropped, and what is worth keeping of it",
        )),
        Line::User(User::Prompt(
            "No tokenizer, then; keep the scanner and take only the function for a tag. Go on with template, filters, escape, diff and lines: errors and docs, the same rules as before. Errors of templates should keep their byte position.",
        )),
    ]
}
