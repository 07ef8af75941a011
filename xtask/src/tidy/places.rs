//! Measures of the report and the checks: sizes, import cycles and words to avoid, of each crate and of the docs.

use std::path::PathBuf;

use super::{Dependencies, modules, packages, source, text, words};
use crate::run::Outcome;

/// The row of all product crates.
const ALL: &str = "product crates";

/// A crate, or the Markdown of the workspace.
pub struct Place {
    pub name: String,
    sources: Vec<source::Source>,
    imports: modules::Imports,
    pub hits: Vec<words::Hit>,
}

impl Place {
    /// Returns how many top-level modules are in import cycles.
    pub fn modules_in_cycles(&self) -> usize {
        modules::cycles(&self.imports).iter().map(Vec::len).sum()
    }

    fn lines(&self) -> usize {
        self.sources.iter().map(source::Source::lines).sum()
    }
}

/// Returns the crates of the workspace, without the one for tests, and the docs.
pub fn places() -> Outcome<Vec<Place>> {
    let mut places = Vec::new();
    for package in packages(Dependencies::Named)? {
        let name = text(&package, "name").to_owned();
        if name == "test-support" {
            continue;
        }
        let folder = PathBuf::from(text(&package, "manifest_path"));
        let sources = source::product(folder.parent().unwrap_or(&folder))?;
        places.push(Place {
            name,
            imports: modules::imports(&sources),
            hits: words::in_code(&sources),
            sources,
        });
    }
    places.push(Place {
        name: "docs".to_owned(),
        sources: Vec::new(),
        imports: modules::Imports::new(),
        hits: words::in_docs()?,
    });
    Ok(places)
}

/// Prints sizes, cycles and words to avoid; of one place every import of a cycle and every word.
pub fn report(only: Option<&String>) -> Outcome {
    let places = places()?;
    println!("product lines ({})", source::RULE);
    let crates = places.iter().filter(|place| !place.sources.is_empty());
    let mut rows: Vec<(&str, usize)> = crates
        .map(|place| (place.name.as_str(), place.lines()))
        .collect();
    let product = rows.iter().filter(|(name, _)| *name != "xtask");
    rows.push((ALL, product.map(|(_, lines)| lines).sum()));
    for (name, lines) in rows {
        println!("  {name:22} {lines:>6}");
    }
    let sources = places.iter().flat_map(|place| &place.sources);
    let length = |source: &&source::Source| source.text.lines().count();
    if let Some(longest) = sources.max_by_key(length) {
        println!(
            "longest product file: {}, {} lines",
            longest.shown,
            length(&longest)
        );
    }
    println!("import cycles among top-level modules (paths that begin with crate or super)");
    for place in &places {
        for group in modules::cycles(&place.imports) {
            let names: Vec<&str> = group.iter().map(|name| name.as_str()).collect();
            println!(
                "  {:16} {} modules: {}",
                place.name,
                names.len(),
                names.join(", ")
            );
            if only != Some(&place.name) {
                continue;
            }
            for from in &group {
                for (to, file) in place.imports[*from]
                    .iter()
                    .filter(|(to, _)| group.contains(to))
                {
                    println!("    {from} -> {to} in {file}");
                }
            }
        }
    }
    println!("words to avoid");
    for place in &places {
        println!(
            "  {:16} {:>4}  {}",
            place.name,
            place.hits.len(),
            words::summary(&place.hits)
        );
        if only == Some(&place.name) {
            for hit in &place.hits {
                println!("    {}: {}", hit.place, hit.word);
            }
        }
    }
    Ok(())
}
