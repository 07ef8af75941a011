//! Code in colours: comments, strings, numbers and keywords, told apart by rules that many languages share. What a
//! language does differently stays plain text.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::theme::Theme;

/// How a language is written.
struct Language {
    names: &'static [&'static str],
    /// What begins a comment that ends with its line.
    comments: &'static [&'static str],
    /// What begins and ends a comment of several lines.
    block: Option<(&'static str, &'static str)>,
    /// What begins and ends a string.
    quotes: &'static [char],
    /// Whether a string goes on behind the end of its line, for some quotes.
    long_quotes: &'static [char],
    keywords: &'static str,
}

const C_LIKE: &str = "abstract as async auto await bool boolean break byte case catch chan char class const constexpr \
    constructor continue crate def default defer delete do double dyn else enum export extends extern false final \
    finally float fn for foreach from func function go goto if impl implements import in include inline instanceof int \
    interface internal is let long loop match mod module mut namespace new nil null object of operator override \
    package private protected pub public range readonly ref return select self Self sealed short signed sizeof static \
    string struct super switch template this throw throws trait true try type typedef typeof union unsafe unsigned \
    use using val var virtual void volatile when where while yield";

const SCRIPTS: &str = "alias and as assert async await begin break case class continue def del do done elif else \
    elsif end ensure esac except export False fi finally for from function global if import in is lambda let local \
    loop match module next nil None nonlocal not or pass raise readonly require rescue return self set shift source \
    then True try unless until when while with yield true false null";

const SQL: &str = "ADD ALL ALTER AND AS ASC BEGIN BETWEEN BY CASE COMMIT CREATE DEFAULT DELETE DESC DISTINCT DROP \
    ELSE END EXISTS FOREIGN FROM FULL GROUP HAVING IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON \
    OR ORDER OUTER PRIMARY REFERENCES RIGHT ROLLBACK SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES VIEW WHEN WHERE \
    WITH add all alter and as asc begin between by case commit create default delete desc distinct drop else end \
    exists foreign from full group having in index inner insert into is join key left like limit not null on or order \
    outer primary references right rollback select set table then union unique update values view when where with \
    local function elseif repeat until nil true false module data newtype instance let of do if while for return";

const LANGUAGES: [Language; 5] = [
    Language {
        names: &[
            "rust",
            "rs",
            "c",
            "h",
            "cpp",
            "c++",
            "cc",
            "cxx",
            "hpp",
            "java",
            "js",
            "javascript",
            "jsx",
            "mjs",
            "ts",
            "typescript",
            "tsx",
            "go",
            "golang",
            "swift",
            "kotlin",
            "kt",
            "cs",
            "csharp",
            "c#",
            "scala",
            "php",
            "dart",
            "zig",
            "proto",
            "css",
            "scss",
        ],
        comments: &["//"],
        block: Some(("/*", "*/")),
        quotes: &['"', '\'', '`'],
        long_quotes: &['`'],
        keywords: C_LIKE,
    },
    Language {
        names: &[
            "python",
            "py",
            "ruby",
            "rb",
            "sh",
            "bash",
            "zsh",
            "shell",
            "fish",
            "console",
            "perl",
            "yaml",
            "yml",
            "toml",
            "make",
            "makefile",
            "dockerfile",
            "r",
            "elixir",
            "nix",
            "ini",
            "conf",
        ],
        comments: &["#"],
        block: None,
        quotes: &['"', '\''],
        long_quotes: &[],
        keywords: SCRIPTS,
    },
    Language {
        names: &["sql", "lua", "haskell", "hs", "elm"],
        comments: &["--"],
        block: None,
        quotes: &['"', '\''],
        long_quotes: &[],
        keywords: SQL,
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl"],
        comments: &["//"],
        block: Some(("/*", "*/")),
        quotes: &['"'],
        long_quotes: &[],
        keywords: "true false null",
    },
    Language {
        names: &["html", "xml", "svg", "vue"],
        comments: &[],
        block: Some(("<!--", "-->")),
        quotes: &['"'],
        long_quotes: &[],
        keywords: "",
    },
];

/// Colours the lines of a block of code, one after the other.
pub struct Highlighter {
    language: Option<&'static Language>,
    is_diff: bool,
    /// Whether a single quote may begin a lifetime.
    is_rust: bool,
    theme: Theme,
    /// What ends the comment or string that the line before has left open, and its style.
    open: Option<(String, Style)>,
}

impl Highlighter {
    /// Returns one for a language as fences name it; code of unknown ones has one style.
    pub fn new(language: &str, theme: Theme) -> Self {
        let name = language.split([',', ' ', '{']).next().unwrap_or_default();
        let name = name.trim().to_ascii_lowercase();
        let mut languages = LANGUAGES.iter();
        Self {
            language: languages.find(|language| language.names.contains(&name.as_str())),
            is_rust: matches!(name.as_str(), "rust" | "rs"),
            is_diff: matches!(name.as_str(), "diff" | "patch"),
            theme,
            open: None,
        }
    }

    /// Returns a line in colours.
    pub fn line(&mut self, text: &str) -> Line<'static> {
        if self.is_diff {
            let style = match text.chars().next() {
                Some('+') => self.theme.good(),
                Some('-') => self.theme.bad(),
                Some('@') => self.theme.code(),
                Some(_) | None => self.theme.plain(),
            };
            return Line::from(Span::styled(text.to_owned(), style));
        }
        let Some(language) = self.language else {
            return Line::from(Span::styled(text.to_owned(), self.theme.code()));
        };
        let mut spans = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (length, style) = match self.open.take() {
                Some((end, style)) => self.until(rest, 0, &end, style),
                None => self.token(language, rest),
            };
            let (token, behind) = rest.split_at(length);
            spans.push(Span::styled(token.to_owned(), style));
            rest = behind;
        }
        Line::from(spans)
    }

    /// Returns how much of a text belongs to what ends with `end`, which is looked for behind `from`.
    fn until(&mut self, text: &str, from: usize, end: &str, style: Style) -> (usize, Style) {
        match find(text, from, end) {
            Some(at) => (at + end.len(), style),
            None => {
                self.open = Some((end.to_owned(), style));
                (text.len(), style)
            }
        }
    }

    /// Returns the length of the token that a text begins with, and its style.
    fn token(&mut self, language: &Language, text: &str) -> (usize, Style) {
        let theme = self.theme;
        if language.comments.iter().any(|lead| text.starts_with(lead)) {
            return (text.len(), theme.dim());
        }
        if let Some((begin, end)) = language.block
            && text.starts_with(begin)
        {
            return self.until(text, begin.len(), end, theme.dim());
        }
        let first = text.chars().next().unwrap_or(' ');
        if language.quotes.contains(&first) {
            return self.string(language, text, first);
        }
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let word = text.find(|letter| !is_word(letter)).unwrap_or(text.len());
        if word == 0 {
            return (first.len_utf8(), theme.plain());
        }
        let style = match &text[..word] {
            _ if first.is_ascii_digit() => theme.warn(),
            name if language.keywords.split(' ').any(|keyword| keyword == name) => theme.code(),
            _ => theme.plain(),
        };
        (word, style)
    }

    fn string(&mut self, language: &Language, text: &str, quote: char) -> (usize, Style) {
        let style = self.theme.good();
        let triple = quote.to_string().repeat(3);
        if text.starts_with(&triple) {
            return self.until(text, triple.len(), &triple, style);
        }
        if language.long_quotes.contains(&quote) {
            return self.until(text, 1, &quote.to_string(), style);
        }
        match find(text, 1, &quote.to_string()) {
            Some(at) if quote != '\'' || !self.is_rust || is_character(&text[1..at]) => {
                (at + 1, style)
            }
            // An apostrophe, or a lifetime.
            Some(_) | None => (quote.len_utf8(), self.theme.plain()),
        }
    }
}

/// Returns whether a text between single quotes is a character, not the code between two lifetimes.
fn is_character(text: &str) -> bool {
    text.starts_with('\\') || text.chars().count() == 1
}

/// Returns where `end` is behind `from`, unless a backslash stands before it.
fn find(text: &str, from: usize, end: &str) -> Option<usize> {
    let mut at = from;
    while let Some(found) = text.get(at..)?.find(end) {
        let place = at + found;
        let slashes = text[..place]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\');
        if slashes.count() % 2 == 0 || end.len() > 1 {
            return Some(place);
        }
        at = place + end.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Highlighter;
    use crate::theme::Theme;

    /// Returns lines with a letter for each token: c comment, s string, k keyword, n number.
    fn check(language: &str, code: &str) -> String {
        let theme = Theme::Dark;
        let mut highlighter = Highlighter::new(language, theme);
        let names = [
            (theme.dim(), "c"),
            (theme.good(), "s"),
            (theme.code(), "k"),
            (theme.warn(), "n"),
        ];
        let lines = code.lines().map(|text| {
            let line = highlighter.line(text);
            let spans = line.spans.iter().map(|span| {
                match names.iter().find(|(style, _)| *style == span.style) {
                    Some((_, name)) => format!("{name}<{}>", span.content),
                    None => span.content.to_string(),
                }
            });
            spans.collect::<String>()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn comments_strings_numbers_and_keywords_are_told_apart() {
        let rust = "fn f<'a>(x: &'a str) -> char { // why\n  let s = \"a \\\" b\"; '\\n' /* one\ntwo */ 42\n}";
        insta::assert_snapshot!(check("rust,ignore", rust), @r#"
        k<fn> f<'a>(x: &'a str) -> k<char> { c<// why>
          k<let> s = s<"a \" b">; s<'\n'> c</* one>
        c<two */> n<42>
        }
        "#);
        let python = "def f(x): # why\n  '''a\nb''' if x else 'it' + \"c\"";
        insta::assert_snapshot!(check("py", python), @r#"
        k<def> f(x): c<# why>
          s<'''a>
        s<b'''> k<if> x k<else> s<'it'> + s<"c">
        "#);
        insta::assert_snapshot!(check("json", r#"{"a": [1, true, "b"]}"#), @r#"{s<"a">: [n<1>, k<true>, s<"b">]}"#);
        insta::assert_snapshot!(check("sql", "SELECT a FROM b -- why"), @"k<SELECT> a k<FROM> b c<-- why>");
        insta::assert_snapshot!(check("unknown", "let x = 1;"), @"k<let x = 1;>");
        insta::assert_snapshot!(check("js", "const s = `a\nb ${c}` + 'd'"), @"
        k<const> s = s<`a>
        s<b ${c}`> + s<'d'>
        ");
    }

    #[test]
    fn what_is_shown_is_the_code_as_it_was() {
        let code = "\"open\n'é' \\ 日本 /* a\n`x` '''\n\u{fe0f}\"\"\"";
        for language in ["rust", "py", "json", "html", "diff", ""] {
            let mut highlighter = Highlighter::new(language, Theme::None);
            for text in code.lines() {
                assert_eq!(crate::text::text_of(&highlighter.line(text)), text);
            }
        }
    }
}
