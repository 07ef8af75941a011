//! Links of the documentation: every relative link leads to a file and a heading that exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::run::{Outcome, root};

/// The page that lists all pages of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Adds what is broken: links without a target, links that leave the book, pages that the summary does not list.
pub fn check(broken: &mut Vec<String>) -> Outcome {
    let root = root().canonicalize().map_err(|error| error.to_string())?;
    let mut pages = Vec::new();
    collect(&root, false, &mut pages)?;
    for folder in ["docs", "crates", "examples"] {
        collect(&root.join(folder), true, &mut pages)?;
    }
    let book = root.join("docs");
    let mut listed = BTreeSet::from([root.join(SUMMARY)]);
    for page in &pages {
        let shown = page.strip_prefix(&root).unwrap_or(page).display();
        for link in links(&read(page)?) {
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = page.parent().unwrap_or(&root);
            let target = match file {
                "" => Ok(page.clone()),
                file => folder.join(file).canonicalize(),
            };
            let Ok(target) = target else {
                broken.push(format!("{shown}: {link} leads nowhere"));
                continue;
            };
            if page.starts_with(&book) && !target.starts_with(&book) {
                broken.push(format!("{shown}: {link} leads out of the book"));
            }
            if !heading.is_empty() && !headings(&read(&target)?).contains(heading) {
                broken.push(format!("{shown}: {link} names no heading"));
            }
            if *page == root.join(SUMMARY) {
                listed.insert(target);
            }
        }
    }
    let unlisted = pages.iter().filter(|page| page.starts_with(&book));
    for page in unlisted.filter(|page| !listed.contains(*page)) {
        let shown = page.strip_prefix(&root).unwrap_or(page).display();
        broken.push(format!("{SUMMARY} does not list {shown}"));
    }
    Ok(())
}

/// Collects the Markdown files of a folder, and with `below` those of the folders in it.
fn collect(folder: &Path, below: bool, pages: &mut Vec<PathBuf>) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if below && !path.ends_with("target") {
                collect(&path, below, pages)?;
            }
        } else if path.extension().is_some_and(|own| own == "md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// Returns the lines of a page outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Returns the relative links of a page.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let text = prose(text).collect::<Vec<_>>().join("\n");
    for paragraph in text.split("\n\n") {
        // Every second part is inside backquotes; a link whose text is code has its target outside.
        let outside: String = paragraph.split('`').step_by(2).collect();
        let mut rest = outside.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let (target, behind) = after.split_once(')').unwrap_or((after, ""));
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push(target.to_owned());
            }
            rest = behind;
        }
    }
    found
}

/// Returns the names by which links reach the headings of a page.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = prose(text).filter(|line| line.starts_with('#'));
    titles
        .map(|line| {
            let kept = |letter: char| match letter.to_ascii_lowercase() {
                ' ' => Some('-'),
                letter if letter.is_alphanumeric() || "-_".contains(letter) => Some(letter),
                _ => None,
            };
            let title = line.trim_start_matches('#').trim();
            title.chars().filter_map(kept).collect()
        })
        .collect()
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{check, headings, links};

    #[test]
    fn every_link_of_the_documentation_resolves() {
        let mut broken = Vec::new();
        assert_eq!(check(&mut broken), Ok(()));
        assert_eq!(broken, [] as [String; 0]);
    }

    #[test]
    fn links_in_code_are_none() {
        let text =
            "a [b](c.md) `[d](e.md)` [`f\nx`](g.md#h)\n\n```\n[i](j.md)\n```\n[k](https://l.m)";
        assert_eq!(links(text), ["c.md", "g.md#h"]);
    }

    #[test]
    fn headings_are_named_as_links_name_them() {
        let found = headings("# One Two\n```\n# no\n```\n## `-p PROMPT` is it?");
        let wanted = ["-p-prompt-is-it", "one-two"].map(str::to_owned);
        assert_eq!(found, wanted.into());
    }
}
