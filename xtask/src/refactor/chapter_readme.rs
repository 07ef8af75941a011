//! Last turn, in a new session: README, lint, the last run. One answer is cut off.

use super::script::{Line, act, cut_off, edit, read, read_at, say, sh, think, write};

const README: &str = r##"
# textkit

Small text utilities for Rust, without dependencies.

| module | what it does |
|---|---|
| `case` | names in snake, kebab, constant, camel, Pascal and title case |
| `diff` | what differs between two texts, line by line |
| `error` | `Error`, the one error of the crate |
| `escape` | escaping for HTML, JSON and the shell |
| `filters` | what a template can do to a text |
| `lines` | newlines, blank lines, indents, line numbers |
| `number` | grouped digits, sizes, ordinals, Roman numerals, percentages |
| `slug` | slugs for addresses and file names |
| `table` | tables as plain text and as Markdown |
| `template` | small templates with filters and blocks |
| `width` | columns on a terminal, padding and cutting |
| `wrap` | word wrapping, filling and indenting |

Everything is exported at the root as well:

```rust
use textkit::{group_thousands, Align, Table};

let mut table = Table::new(&["file", "lines"]);
table.align(1, Align::Right)?;
table.row(&["wrap.rs", &group_thousands(1234)])?;
print!("{}", table.render());
# Ok::<(), textkit::Error>(())
```

## Templates

`{{ name }}` fills in a name, `{{ name | upper | pad:10 }}` applies filters,
`{{#if name}}...{{/if}}` and `{{#each names}}{{.}}{{/each}}` are the blocks.
An error names the byte of the tag that is wrong.

## Rules of the house

- No dependencies.
- Public function names stay; what is public has a doc line.
- `Table::render` does not change by a byte: the release notes script parses it.
- Docs are in British spelling.

`cargo test` runs everything, the example above included.
"##;

/// Returns the lines of the turn.
pub fn lines() -> Vec<Line> {
    vec![
        Line::Comment("6. A new session: README, lint, last run"),
        act("I take stock of what is there before I describe it.", vec![sh("ls -1 . src tests"), read("TODO.md")]),
        act("", vec![read("src/lib.rs"), read("Cargo.toml")]),
        act("", vec![read("src/template.rs")]),
        act("", vec![read("src/table.rs")]),
        act("", vec![read("src/number.rs")]),
        cut_off(
            "Now the README. It should have these parts: a sentence on what the crate is, a table with one row for each of the twelve modules, one example that compiles, a section on templates, and the rules that hold here, which are that no dependency is ever added, that public function names stay, that Table::render keeps its bytes because the release notes script parses it, and that the docs are in British spelling. For the table of modules I take the first line of each file, so that the README and the docs say the same; the example should be",
        ),
        act("I take the first line of each module for the table of the README.", vec![sh("head -1 src/*.rs")]),
        act("", vec![read("tests/smoke.rs"), read("src/error.rs")]),
        think(
            "Short. Table of modules, one example that is compiled, templates, rules. The rules of the user belong in it: no dependencies, names stay, render's bytes, British spelling.",
            "",
            vec![write("README.md", README)],
        ),
        act("", vec![read("README.md"), sh("grep -n 'pub mod' src/lib.rs")]),
        act(
            "The example should be compiled with the tests, and missing docs should be an error from now on.",
            vec![edit(
                "src/lib.rs",
                &[("\npub mod case;\n", "\n#![deny(missing_docs)]\n\npub mod case;\n"), ("/// The version of the crate.\n", "/// The README, whose example runs with the tests.\n#[cfg(doctest)]\n#[doc = include_str!(\"../README.md\")]\npub struct Readme;\n\n/// The version of the crate.\n")],
            ), edit("TODO.md", &[("- [ ] README\n", "- [x] README\n")])],
        ),
        act("`TODO.md` has nothing open any more, and `smoke.rs` imports everything by a star.", vec![read("TODO.md")]),
        act("", vec![sh("rm TODO.md")]),
        act(
            "`table_format` itself stays as it is; only the head of the file changes.",
            vec![edit(
                "tests/smoke.rs",
                &[("use textkit::*;\n", "//! The modules together, as users call them.\n\nuse textkit::{\n    dedent, fill, group_thousands, indent, longest_line, percent, Align, Context, Table, Template, Value,\n};\n")],
            )],
        ),
        act("", vec![sh("grep -rnE 'TODO|FIXME' src tests || true"), read_at("tests/smoke.rs", 1, 30)]),
        act("Are the templates' filters in the README those of the code?", vec![sh("grep -nE '^ +\"[a-z]+\" =>' src/filters.rs"), read("src/filters.rs"), sh("grep -n '{{' README.md src/template.rs | head -30")]),
        act("One last look at the lint's view of public items, then the tests.", vec![sh("grep -n -B1 '^ *pub fn' src/diff.rs src/escape.rs src/lines.rs | head -70"), read("src/lib.rs"), read("src/width.rs"), read("src/lines.rs"), read("src/error.rs")]),
        act("", vec![sh("cargo test --offline --quiet")]),
        say(
            "Done. README.md describes the twelve modules, templates and the rules of the house; its example runs with the tests. `#![deny(missing_docs)]` is on. TODO.md had nothing left and is gone. `cargo test` passes: unit tests, `tests/smoke.rs` with `table_format` untouched, both documentation examples.

No dependency was added and every public function has the name it had. Types that changed: `Error` in place of `TextError`, `SlugError`, `BytesError` and `TemplateError`.",
        ),
    ]
}
