//! Words that public names, texts and docs avoid.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::files_below;
use super::source::{Source, shown};
use crate::run::{Outcome, read, root};

/// The words, each after the kind of place that avoids it.
const WORDS: &str = include_str!("words.txt");

/// Returns the words that are avoided in a kind of place.
fn avoided(kind: &'static str) -> impl Iterator<Item = &'static str> {
    let words = WORDS.lines().filter_map(|line| line.split_once(' '));
    words
        .filter(move |(of, _)| *of == kind)
        .map(|(_, word)| word)
}

/// A word that is used although it should not be.
pub struct Hit {
    pub word: &'static str,
    /// The file, and the line if it is known.
    pub place: String,
}

/// Returns the hits in the product code of a crate.
pub fn in_code(sources: &[Source]) -> Vec<Hit> {
    let mut hits = Vec::new();
    for source in sources {
        let mut texts = Vec::new();
        let mut names = Vec::new();
        gather(&source.tokens, &mut texts, &mut names);
        for word in texts.iter().flat_map(|text| words_in(text)) {
            hits.push(Hit {
                word,
                place: source.shown.clone(),
            });
        }
        for name in names {
            let parts = parts(&name);
            let found = avoided("name").find(|word| parts.iter().any(|part| part == word));
            hits.extend(found.map(|word| Hit {
                word,
                place: format!("{} {name}", source.shown),
            }));
        }
    }
    hits
}

/// Returns the hits in the Markdown of the workspace.
pub fn in_docs() -> Outcome<Vec<Hit>> {
    let mut hits = Vec::new();
    for path in files_below(&root(), "md")? {
        // Sentences continue across lines.
        let text = read(&path)?
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let place = shown(&path);
        hits.extend(words_in(&text).into_iter().map(|word| Hit {
            word,
            place: place.clone(),
        }));
    }
    Ok(hits)
}

/// Returns the hits counted by word, the most frequent first.
pub fn summary(hits: &[Hit]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for hit in hits {
        *counts.entry(hit.word).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let counts = counts.iter().map(|(word, count)| format!("{word} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn words_in(text: &str) -> Vec<&'static str> {
    let text = text.to_lowercase();
    let mut found = Vec::new();
    for word in avoided("text") {
        for (at, _) in text.match_indices(word) {
            let letter = |found: Option<char>| {
                found.is_some_and(|found| found.is_alphanumeric() || found == '_')
            };
            let before = letter(text[..at].chars().next_back());
            let after = letter(text[at + word.len()..].chars().next());
            if !before && !after {
                found.push(word);
            }
        }
    }
    found
}

/// Collects string literals and the names that are declared `pub`, those of variants and fields included.
fn gather(tokens: &TokenStream, texts: &mut Vec<String>, names: &mut Vec<String>) {
    let mut public = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains('"') {
                    texts.push(text.replace("\\n", " "));
                }
            }
            TokenTree::Ident(name) => {
                let name = name.to_string();
                match name.as_str() {
                    "pub" => public = true,
                    "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "mod"
                    | "async" | "use" => {}
                    _ if public => {
                        names.push(name);
                        public = false;
                    }
                    _ => {}
                }
            }
            TokenTree::Group(group) => {
                // `pub(crate)` is not public.
                if group.delimiter() == Delimiter::Parenthesis {
                    public = false;
                }
                gather(&group.stream(), texts, names);
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// Returns the words of a name in snake case or camel case, in lower case.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| letter != '_') {
            part.extend(letter.to_lowercase());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{gather, parts, words_in};

    #[test]
    fn words_are_found_whole_and_in_names() {
        assert_eq!(
            words_in("Kept Word for word; airborne, besides"),
            ["word for word"]
        );
        assert_eq!(parts("HookHouse_told"), ["", "hook", "house", "told"]);
        let code = "/// Is mended.\npub struct Deed { pub said: u8 } pub(crate) fn told() { f(\"beside\", 'b') }";
        let (mut texts, mut names) = (Vec::new(), Vec::new());
        gather(&code.parse().unwrap(), &mut texts, &mut names);
        assert_eq!(names, ["Deed", "said"]);
        assert_eq!(texts.len(), 2, "{texts:?}");
    }
}
