//! Fifth turn, second half: diffs and lines, the doc of the crate, the handoff.

use super::script::{Line, User, act, edit, read, say, sh, think};

/// Returns the lines of the second half of the turn.
pub fn lines() -> Vec<Line> {
    let mut lines = diffs();
    lines.extend(texts());
    lines.extend(closing());
    lines
}

fn diffs() -> Vec<Line> {
    vec![
        act(
            "`diff.rs`.",
            vec![
                read("src/diff.rs"),
                sh("grep -n 'apply(\\|unified(\\|stats(' src/*.rs"),
            ],
        ),
        act(
            "`apply` now says which line differs.",
            vec![edit(
                "src/diff.rs",
                &[
                    (
                        "//! Line diff\n",
                        "//! What differs between two texts, line by line.\n\nuse crate::error::Error;\n",
                    ),
                    (
                        "/// Applies changes to the old text. Err when the text is not the old one.\npub fn apply(old: &str, changes: &[Change]) -> Result<String, &'static str> {\n    let mut lines = old.lines();\n    let mut out = String::new();\n    for c in changes {\n        match c {\n            Change::Same(s) => {\n                if lines.next() != Some(s.as_str()) {\n                    return Err(\"does not match\");\n                }\n                out.push_str(s);\n                out.push('\\n');\n            }\n            Change::Remove(s) => {\n                if lines.next() != Some(s.as_str()) {\n                    return Err(\"does not match\");\n                }\n            }\n            Change::Add(s) => {\n                out.push_str(s);\n                out.push('\\n');\n            }\n        }\n    }\n    if lines.next().is_some() {\n        return Err(\"too long\");\n    }\n    Ok(out)\n}\n",
                        "/// Returns the new text, made from the old one and its changes; every line ends in a newline.\n///\n/// # Errors\n/// The first line of `old` that the changes do not start from.\npub fn apply(old: &str, changes: &[Change]) -> Result<String, Error> {\n    let mut lines = (1..).zip(old.lines());\n    let mut line = 0;\n    let mut out = String::new();\n    for change in changes {\n        if let Change::Same(s) | Change::Remove(s) = change {\n            line += 1;\n            if lines.next() != Some((line, s.as_str())) {\n                return Err(Error::Patch { line });\n            }\n        }\n        if let Change::Same(s) | Change::Add(s) = change {\n            out.push_str(s);\n            out.push('\\n');\n        }\n    }\n    match lines.next() {\n        Some((line, _)) => Err(Error::Patch { line }),\n        None => Ok(out),\n    }\n}\n",
                    ),
                    (
                        "        assert!(apply(NEW, &changes).is_err());\n",
                        "        assert_eq!(apply(NEW, &changes), Err(Error::Patch { line: 3 }));\n        assert_eq!(apply(\"one\\n\", &[]), Err(Error::Patch { line: 1 }));\n",
                    ),
                ],
            )],
        ),
        act("", vec![read("src/diff.rs")]),
        act(
            "",
            vec![edit(
                "src/diff.rs",
                &[
                    (
                        "        if a[i] == b[j] {\n            out.push(Change::Same(a[i].to_string()));\n            i = i + 1;\n            j = j + 1;\n        } else if best[i + 1][j] >= best[i][j + 1] {\n            out.push(Change::Remove(a[i].to_string()));\n            i = i + 1;\n        } else {\n            out.push(Change::Add(b[j].to_string()));\n            j = j + 1;\n        }\n    }\n    while i < a.len() {\n        out.push(Change::Remove(a[i].to_string()));\n        i = i + 1;\n    }\n    while j < b.len() {\n        out.push(Change::Add(b[j].to_string()));\n        j = j + 1;\n    }\n    out\n",
                        "        if a[i] == b[j] {\n            out.push(Change::Same(a[i].to_string()));\n            i += 1;\n            j += 1;\n        } else if best[i + 1][j] >= best[i][j + 1] {\n            out.push(Change::Remove(a[i].to_string()));\n            i += 1;\n        } else {\n            out.push(Change::Add(b[j].to_string()));\n            j += 1;\n        }\n    }\n    out.extend(a[i..].iter().map(|line| Change::Remove(line.to_string())));\n    out.extend(b[j..].iter().map(|line| Change::Add(line.to_string())));\n    out\n",
                    ),
                    (
                        "            } else if best[i + 1][j] >= best[i][j + 1] {\n                best[i][j] = best[i + 1][j];\n            } else {\n                best[i][j] = best[i][j + 1];\n            }\n",
                        "            } else {\n                best[i][j] = best[i + 1][j].max(best[i][j + 1]);\n            }\n",
                    ),
                    (
                        "    let mut added = 0;\n    let mut removed = 0;\n    for c in changes {\n        match c {\n            Change::Add(_) => added = added + 1,\n            Change::Remove(_) => removed = removed + 1,\n            _ => {}\n        }\n    }\n    (added, removed)\n",
                        "    let added = changes.iter().filter(|change| matches!(change, Change::Add(_)));\n    let removed = changes.iter().filter(|change| matches!(change, Change::Remove(_)));\n    (added.count(), removed.count())\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![
                read("src/diff.rs"),
                sh("grep -n 'changes\\[i\\]\\|0\\.\\.changes' src/diff.rs"),
            ],
        ),
        act(
            "`unified` walks by index; the marks can be set in one line.",
            vec![edit(
                "src/diff.rs",
                &[
                    (
                        "    for i in 0..changes.len() {\n        match changes[i] {\n            Change::Same(_) => {}\n            _ => {\n                let from = i.saturating_sub(context);\n                let to = (i + context + 1).min(changes.len());\n                for k in from..to {\n                    keep[k] = true;\n                }\n            }\n        }\n    }\n",
                        "    for (i, change) in changes.iter().enumerate() {\n        if !matches!(change, Change::Same(_)) {\n            let to = (i + context + 1).min(changes.len());\n            keep[i.saturating_sub(context)..to].fill(true);\n        }\n    }\n",
                    ),
                    (
                        "    for i in 0..changes.len() {\n        if !keep[i] {\n            gap = true;\n            continue;\n        }\n",
                        "    for (change, keep) in changes.iter().zip(keep) {\n        if !keep {\n            gap = true;\n            continue;\n        }\n",
                    ),
                    (
                        "        match &changes[i] {\n            Change::Same(s) => out.push_str(&format!(\"  {}\\n\", s)),\n            Change::Add(s) => out.push_str(&format!(\"+ {}\\n\", s)),\n            Change::Remove(s) => out.push_str(&format!(\"- {}\\n\", s)),\n        }\n",
                        "        let (mark, line) = match change {\n            Change::Same(line) => (' ', line),\n            Change::Add(line) => ('+', line),\n            Change::Remove(line) => ('-', line),\n        };\n        out.push_str(&format!(\"{mark} {line}\\n\"));\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/diff.rs",
                &[
                    (
                        "    Same(String),\n",
                        "    /// The line is in both texts.\n    Same(String),\n",
                    ),
                    (
                        "    Add(String),\n",
                        "    /// The line is in the new text only.\n    Add(String),\n",
                    ),
                    (
                        "    Remove(String),\n",
                        "    /// The line is in the old text only.\n    Remove(String),\n",
                    ),
                    (
                        "/// Compares two texts, line by line.\n",
                        "/// Returns the changes that lead from one text to the other. Time and memory grow with the product of their lines.\n",
                    ),
                    (
                        "/// added, removed\n",
                        "/// Returns how many lines were added, and how many removed.\n",
                    ),
                    (
                        "/// Unified text with some lines of context, without headers.\n",
                        "/// Returns the changed lines with some lines around them; dots stand for what is left out between them.\n",
                    ),
                    (
                        "/// One change of a line.\n",
                        "/// What becomes of a line.\n",
                    ),
                    (
                        "    // table of the longest common subsequence\n",
                        "    // best[i][j] is the length of the longest common subsequence of a[i..] and b[j..].\n",
                    ),
                ],
            )],
        ),
        act("", vec![read("src/diff.rs"), read("src/error.rs")]),
    ]
}

fn texts() -> Vec<Line> {
    vec![
        act(
            "And `lines.rs`, the last one; `wrap.rs` because it has one of the loops.",
            vec![
                read("src/lines.rs"),
                read("src/wrap.rs"),
                sh("grep -n 'ends_with' src/*.rs"),
            ],
        ),
        think(
            "The same loop and the pop at the end occurs in trim_trailing, squeeze_blank, dedent and in wrap::indent. pop on an empty string is harmless. A helper each_line keeps the final newline as it was.",
            "The loop that keeps the final newline stands there three times, and once more in `wrap::indent`. It becomes one helper.",
            vec![
                edit(
                    "src/lines.rs",
                    &[
                        (
                            "pub fn trim_trailing(s: &str) -> String {\n    let mut out = String::new();\n    for line in s.lines() {\n        out.push_str(line.trim_end());\n        out.push('\\n');\n    }\n    if !s.ends_with('\\n') {\n        out.pop();\n    }\n    out\n}\n",
                            "/// Returns the text with every line changed; lines without a change are left out. Ends in a newline if the text does.\npub(crate) fn each_line(s: &str, mut change: impl FnMut(&str) -> Option<String>) -> String {\n    let lines: Vec<String> = s.lines().filter_map(&mut change).collect();\n    let end = if s.ends_with('\\n') { \"\\n\" } else { \"\" };\n    lines.join(\"\\n\") + end\n}\n\npub fn trim_trailing(s: &str) -> String {\n    each_line(s, |line| Some(line.trim_end().to_string()))\n}\n",
                        ),
                        (
                            "    let mut out = String::new();\n    let mut blank = false;\n    for line in s.lines() {\n        if blank && is_blank(line) {\n            continue;\n        }\n        blank = is_blank(line);\n        out.push_str(line);\n        out.push('\\n');\n    }\n    if !s.ends_with('\\n') {\n        out.pop();\n    }\n    out\n",
                            "    let mut after_blank = false;\n    each_line(s, |line| {\n        let again = after_blank && is_blank(line);\n        after_blank = is_blank(line);\n        (!again).then(|| line.to_string())\n    })\n",
                        ),
                        (
                            "    let mut out = String::new();\n    for line in s.lines() {\n        if is_blank(line) {\n            out.push('\\n');\n        } else {\n            out.push_str(&line[n..]);\n            out.push('\\n');\n        }\n    }\n    if !s.ends_with('\\n') {\n        out.pop();\n    }\n    out\n",
                            "    each_line(s, |line| match is_blank(line) {\n        true => Some(String::new()),\n        false => Some(line[n..].to_string()),\n    })\n",
                        ),
                    ],
                ),
                edit(
                    "src/wrap.rs",
                    &[
                        (
                            "    let mut out = String::new();\n    for line in text.lines() {\n        if !is_blank(line) {\n            out.push_str(prefix);\n        }\n        out.push_str(line);\n        out.push('\\n');\n    }\n    if !text.ends_with('\\n') {\n        out.pop();\n    }\n    out\n",
                            "    each_line(text, |line| match is_blank(line) {\n        true => Some(line.to_string()),\n        false => Some(format!(\"{prefix}{line}\")),\n    })\n",
                        ),
                        (
                            "use crate::width::{",
                            "use crate::lines::each_line;\nuse crate::width::{",
                        ),
                    ],
                ),
            ],
        ),
        act("", vec![read("src/lines.rs"), read("src/wrap.rs")]),
        act(
            "",
            vec![edit(
                "src/lines.rs",
                &[
                    (
                        "    let mut min = None;\n    for line in s.lines() {\n        if is_blank(line) {\n            continue;\n        }\n        let n = line.len() - line.trim_start_matches(' ').len();\n        min = match min {\n            None => Some(n),\n            Some(m) if n < m => Some(n),\n            Some(m) => Some(m),\n        };\n    }\n    min.unwrap_or(0)\n",
                        "    let lines = s.lines().filter(|line| !is_blank(line));\n    let indents = lines.map(|line| line.len() - line.trim_start_matches(' ').len());\n    indents.min().unwrap_or(0)\n",
                    ),
                    (
                        "    let first = match texts.first() {\n        Some(first) => *first,\n        None => return \"\",\n    };\n    let mut end = first.len();\n    for t in &texts[1..] {\n        let mut n = 0;\n        for (a, b) in first.chars().zip(t.chars()) {\n            if a != b {\n                break;\n            }\n            n += a.len_utf8();\n        }\n        if n < end {\n            end = n;\n        }\n    }\n    &first[..end]\n",
                        "    let Some((first, others)) = texts.split_first() else {\n        return \"\";\n    };\n    let shared = |other: &&str| {\n        let pairs = first.chars().zip(other.chars());\n        pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()\n    };\n    let end: usize = others.iter().map(shared).min().unwrap_or(first.len());\n    &first[..end]\n",
                    ),
                ],
            )],
        ),
        act(
            "Docs; the module says *normalised*, the function keeps its name.",
            vec![edit(
                "src/lines.rs",
                &[
                    (
                        "//! Functions on lines\n",
                        "//! Texts as rows of lines: newlines, blank lines, indents, numbers.\n",
                    ),
                    (
                        "/// \\r\\n and \\r become \\n\n",
                        "/// Returns the text with newlines normalised: `\\r\\n` and `\\r` become `\\n`.\n",
                    ),
                    (
                        "pub fn trim_trailing",
                        "/// Returns the text without white space at the ends of lines.\npub fn trim_trailing",
                    ),
                    (
                        "/// Joins runs of blank lines to one.\n",
                        "/// Returns the text with one blank line in the place of several.\n",
                    ),
                    (
                        "/// Numbers from 1, right aligned.\n",
                        "/// Returns the text with a number from 1 in front of every line, aligned to the right.\n",
                    ),
                    (
                        "// spaces in front of every line that is not blank\n",
                        "/// Returns how many spaces stand in front of every line that is not blank.\n",
                    ),
                    (
                        "pub fn dedent",
                        "/// Returns the text without the spaces that all its lines begin with; blank lines become empty.\npub fn dedent",
                    ),
                    (
                        "/// The longest common prefix.\n",
                        "/// Returns the longest beginning that all texts share; empty without texts.\n",
                    ),
                    (
                        "/// Width of the longest line (in columns)\n",
                        "/// Returns the columns of the widest line.\n",
                    ),
                    (
                        "    fn newlines_and_trailing_blanks_are_normalized() {",
                        "    fn newlines_and_trailing_blanks_are_normalised() {",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![
                read("src/lines.rs"),
                read("src/wrap.rs"),
                sh("grep -n 'each_line' src/*.rs"),
            ],
        ),
        act("", vec![read("src/width.rs")]),
    ]
}

fn closing() -> Vec<Line> {
    vec![
        act("The crate doc names modules that are gone. It should say what there is, with an example.", vec![read("src/lib.rs"), sh("head -1 src/*.rs"), read("TODO.md")]),
        act(
            "",
            vec![edit(
                "src/lib.rs",
                &[(
                    "//! textkit - strutil and friends.\n//!\n//! Modules: strutil (case conversion and widths), wrap, table, html, tmpl.\n",
                    "//! Small text utilities without dependencies: case conversion, widths, wrapping, tables, slugs, numbers, escapes,\n//! line diffs and templates.\n//!\n//! ```\n//! use textkit::{to_title_case, wrap};\n//!\n//! assert_eq!(to_title_case(\"war_and_peace\"), \"War and Peace\");\n//! assert_eq!(wrap(\"the quick brown fox\", 10), [\"the quick\", \"brown fox\"]);\n//! ```\n",
                ), (
                    "/// Version of the crate.\n",
                    "/// The version of the crate.\n",
                )],
            ), edit(
                "TODO.md",
                &[
                    ("- [ ] errors everywhere the same (half done in errors.rs, see table.rs)\n", "- [x] errors everywhere the same\n"),
                    ("- [ ] docs\n", "- [x] docs\n"),
                ],
            )],
        ),
        act("", vec![read("src/lib.rs"), sh("grep -c '^ *pub ' src/*.rs")]),
        act("Are the public names still those of the inventory?", vec![sh("grep -ohE 'pub fn [a-z_]+' src/*.rs | sort"), sh("grep -nE 'Result<[^>]*(String|str)>' src/*.rs || true"), sh("grep -n -A4 'pub use' src/lib.rs")]),
        act("Every function of the first list is there; none was renamed. Remaining spellings:", vec![sh("grep -nE '//.*(ormaliz|apitaliz|[Cc]enter|[Cc]olor)' src/*.rs || true"), sh("grep -n -A14 'dependencies' Cargo.toml"), read("src/error.rs")]),
        act("The oldest two modules once more, with fresh eyes.", vec![read("src/case.rs"), read("src/slug.rs")]),
        say(
            "`template`, `filters`, `escape`, `diff` and `lines` use `Error` and are documented. Errors of templates name the byte of their tag (tested); names and filters have variants of their own. `lines::each_line` replaces four loops. Public function names are all there, Cargo.toml still has no dependency, the docs are in British spelling.

Left: README.md, a lint for missing docs, TODO.md, and a last run of the tests.",
        ),
        Line::User(User::Handoff("what is left to do")),
        Line::User(User::Prompt("finish: write the README and run the tests")),
    ]
}
