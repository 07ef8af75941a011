//! The product code of a crate as tokens: without comments and spaces, with doc comments as `#[doc = "..."]`, and
//! without code for tests alone.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::files_below;
use crate::run::{Outcome, read, root};

/// The definition of product code, for the report.
pub const RULE: &str = "lines of .rs files below src/, without files under tests/ or examples/, tests.rs, tests_*.rs, \
                        *_tests.rs and modules under #[cfg(test)]";

/// One file of a crate.
pub struct Source {
    /// The path in the workspace.
    pub shown: String,
    /// The modules that lead to it, empty for `lib.rs` and `main.rs`.
    pub modules: Vec<String>,
    pub text: String,
    pub tokens: TokenStream,
}

impl Source {
    /// Returns the number of lines, without top-level items under `#[cfg(test)]`.
    pub fn lines(&self) -> usize {
        let mut in_tests = false;
        let counted = self.text.lines().filter(|line| {
            in_tests |= *line == "#[cfg(test)]";
            let counts = !in_tests;
            let ends = *line == "}" || line.ends_with(';');
            in_tests &= !ends || line.starts_with(' ');
            counts
        });
        counted.count()
    }
}

/// Returns true for a file that holds tests, by its path.
pub fn is_test(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = |part: &std::ffi::OsStr| part == "tests" || part == "examples";
    name == "tests"
        || name.ends_with("_tests")
        || name.starts_with("tests_")
        || path.iter().any(folder)
}

/// Returns the path as messages show it.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Reads the product files below the `src` folder of a crate.
pub fn product(krate: &Path) -> Outcome<Vec<Source>> {
    let src = krate.join("src");
    let mut sources = Vec::new();
    for path in files_below(&src, "rs")? {
        let inner = path.strip_prefix(&src).unwrap_or(&path);
        if !is_test(inner) {
            sources.push(source(&path, inner)?);
        }
    }
    let mut for_tests = Vec::new();
    for source in &mut sources {
        let (kept, left_out) = without_tests(source.tokens.clone());
        source.tokens = kept;
        let modules = left_out.into_iter();
        for_tests.extend(modules.map(|name| [&source.modules[..], &[name]].concat()));
    }
    sources.retain(|source| {
        !for_tests
            .iter()
            .any(|module| source.modules.starts_with(module))
    });
    Ok(sources)
}

fn source(path: &Path, inner: &Path) -> Outcome<Source> {
    let text = read(path)?;
    let tokens = text
        .parse()
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let inner: PathBuf = inner.with_extension("");
    let mut modules: Vec<String> = inner
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let last = modules.last().map(String::as_str);
    if last == Some("mod") || (modules.len() == 1 && matches!(last, Some("lib" | "main"))) {
        modules.pop();
    }
    Ok(Source {
        shown: shown(path),
        modules,
        text,
        tokens,
    })
}

/// Returns the tokens without items under `#[cfg(test)]`, and the names of the modules that were such items.
fn without_tests(tokens: TokenStream) -> (TokenStream, Vec<String>) {
    let mut kept: Vec<TokenTree> = Vec::new();
    let mut names = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) if is_cfg_test(&group, &kept) => {
                kept.pop();
                let mut module = false;
                for token in tokens.by_ref() {
                    match token {
                        TokenTree::Ident(name) if module => {
                            names.push(name.to_string());
                            module = false;
                        }
                        TokenTree::Ident(word) => module = word == "mod",
                        TokenTree::Punct(end) if end.as_char() == ';' => break,
                        TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => break,
                        _ => {}
                    }
                }
            }
            TokenTree::Group(group) => {
                let (inner, _) = without_tests(group.stream());
                kept.push(Group::new(group.delimiter(), inner).into());
            }
            other => kept.push(other),
        }
    }
    (kept.into_iter().collect(), names)
}

fn is_cfg_test(group: &Group, before: &[TokenTree]) -> bool {
    let attribute = matches!(before.last(), Some(TokenTree::Punct(sign)) if sign.as_char() == '#');
    let text = group.stream().to_string().replace(' ', "");
    attribute && (text == "cfg(test)" || text.starts_with("cfg(all(test,"))
}

#[cfg(test)]
mod tests {
    use super::{Source, is_test, without_tests};

    #[test]
    fn lines_of_tests_do_not_count() {
        let text = "//! A.\n#[cfg(test)]\nmod a;\nfn b() {\n}\n\n#[cfg(test)]\nmod c {\n    use d;\n}\nfn e() {}\n";
        let source = Source {
            shown: String::new(),
            modules: Vec::new(),
            text: text.to_owned(),
            tokens: text.parse().unwrap(),
        };
        assert_eq!(source.lines(), 5);
    }

    #[test]
    fn what_is_compiled_for_tests_alone_is_left_out() {
        let code = "fn a() {} #[cfg(test)] mod tests; #[cfg(test)] #[allow(x)] mod b { fn c() {} } // d\n fn e() {}";
        let (kept, names) = without_tests(code.parse().unwrap());
        assert_eq!(kept.to_string(), "fn a () { } fn e () { }");
        assert_eq!(names, ["tests", "b"]);
        for (path, test) in [
            ("a/tests/b.rs", true),
            ("a/x_tests.rs", true),
            ("a/contest.rs", false),
        ] {
            assert_eq!(is_test(path.as_ref()), test, "{path}");
        }
    }
}
