//! Import cycles among the top-level modules of a crate, from the paths in its product code that begin with `crate` or
//! `super`.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};

use super::source::Source;

/// For each module the modules that it names, each with a file that does.
pub type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// Returns the top-level modules with those that each names.
pub fn imports(sources: &[Source]) -> Imports {
    let top: BTreeSet<&String> = sources
        .iter()
        .filter_map(|source| source.modules.first())
        .collect();
    // Items that `lib.rs` exports from a module can be named without it.
    let mut exported: BTreeMap<String, String> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.modules.is_empty()) {
        for mut path in paths(&source.tokens) {
            if matches!(path[0].as_str(), "self" | "crate") {
                path.remove(0);
            }
            if let (Some(module), Some(name)) = (path.first(), path.last())
                && top.contains(module)
            {
                exported.insert(name.clone(), module.clone());
            }
        }
    }
    let mut imports = Imports::new();
    for source in sources {
        let Some(from) = source.modules.first() else {
            continue;
        };
        for path in paths(&source.tokens) {
            let Some(name) = top_level(&source.modules, &path) else {
                continue;
            };
            let to = if top.contains(name) {
                Some(name)
            } else {
                exported.get(name)
            };
            if let Some(to) = to.filter(|to| *to != from) {
                let named = imports.entry(from.clone()).or_default();
                named
                    .entry(to.clone())
                    .or_insert_with(|| source.shown.clone());
            }
        }
    }
    imports
}

/// Returns the top-level name that a path in a module begins with.
fn top_level<'a>(module: &[String], path: &'a [String]) -> Option<&'a String> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    match path.first()?.as_str() {
        "crate" => path.get(1),
        // Inline modules are not followed: one of them would make a module's own child look like a sibling of it.
        "super" if supers == module.len() => path.get(supers),
        _ => None,
    }
}

/// Returns the groups of modules that name each other, directly or through others.
pub fn cycles(imports: &Imports) -> Vec<Vec<&String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = imports
        .keys()
        .map(|from| {
            let mut seen = BTreeSet::new();
            let mut next = vec![from];
            while let Some(module) = next.pop() {
                for to in imports.get(module).into_iter().flat_map(BTreeMap::keys) {
                    if seen.insert(to) {
                        next.push(to);
                    }
                }
            }
            (from, seen)
        })
        .collect();
    let mut groups: Vec<Vec<&String>> = Vec::new();
    for (from, seen) in &reached {
        if !seen.contains(from) || groups.iter().any(|group| group.contains(from)) {
            continue;
        }
        let back = |to: &&&String| reached.get(**to).is_some_and(|seen| seen.contains(from));
        groups.push(seen.iter().filter(back).copied().collect());
    }
    groups
}

/// Returns the paths of at least two parts in the tokens; the trees of `use` are spread out.
fn paths(tokens: &TokenStream) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    gather(tokens, &[], &mut found);
    found.retain(|path| path.len() > 1);
    found
}

fn gather(tokens: &TokenStream, prefix: &[String], found: &mut Vec<Vec<String>>) {
    let mut path = prefix.to_vec();
    let (mut colons, mut last_was_name) = (0, false);
    for token in tokens.clone() {
        match token {
            TokenTree::Punct(sign) if sign.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(name) => {
                if last_was_name && colons != 2 {
                    found.push(std::mem::replace(&mut path, prefix.to_vec()));
                }
                path.push(name.to_string());
                last_was_name = true;
            }
            TokenTree::Group(group) => {
                // After `::` come braces of a `use`, otherwise a new block.
                let inner = if colons == 2 {
                    path.clone()
                } else {
                    Vec::new()
                };
                gather(&group.stream(), &inner, found);
                if colons != 2 {
                    found.push(path);
                }
                path = prefix.to_vec();
                last_was_name = false;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {
                found.push(std::mem::replace(&mut path, prefix.to_vec()));
                last_was_name = false;
            }
        }
        colons = 0;
    }
    found.push(path);
}

#[cfg(test)]
mod tests {
    use super::{Imports, Source, cycles, imports};

    fn source(modules: &[&str], text: &str) -> Source {
        Source {
            shown: modules.join("/"),
            modules: modules.iter().map(|name| (*name).to_owned()).collect(),
            text: text.to_owned(),
            tokens: text.parse().unwrap(),
        }
    }

    fn check(sources: &[Source]) -> String {
        let imports: Imports = imports(sources);
        let groups = cycles(&imports);
        let groups = groups.iter().map(|group| {
            group
                .iter()
                .map(|name| name.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        });
        groups.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn cycles_are_found_through_use_paths_exports_and_super() {
        let root = source(
            &[],
            "mod a; mod b; mod c; mod d; pub use c::{deep::Thing, Other};",
        );
        let a = source(&["a"], "use crate::{b::{X, Y}, d}; fn f() -> u8 { 0 }");
        let b = source(
            &["b", "inner"],
            "fn g(thing: crate::Thing) { \"crate::d\"; } // crate::d",
        );
        let c = source(&["c"], "struct Thing { x: Vec<super::a::Z> }");
        let d = source(&["d", "e"], "use super::own; pub(crate) fn h() {}");
        assert_eq!(check(&[root, a, b, c, d]), "a b c");
        let one_way = [
            source(&["a"], "use crate::b;"),
            source(&["b"], "use super::b::x;"),
        ];
        assert_eq!(check(&one_way), "");
    }
}
