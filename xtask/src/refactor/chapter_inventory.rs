//! First turn: everything is looked at, nothing is changed. One request turns out too long for the window.

use super::script::{Line, User, act, read, read_at, say, sh, think};

/// Returns the lines of the turn.
pub fn lines() -> Vec<Line> {
    let mut lines = vec![Line::Comment(
        "1. What is there. The first prompt comes from the command line: tidy up this project",
    )];
    lines.extend(first_look());
    lines.extend(patterns());
    lines.extend(tests());
    lines
}

fn first_look() -> Vec<Line> {
    vec![
        think(
            "I should know the whole crate before I touch it. Manifest, notes and the file list first.",
            "I look around first.",
            vec![sh("ls -1 . src tests"), read("Cargo.toml"), read("TODO.md")],
        ),
        act(
            "",
            vec![read("src/lib.rs"), sh("wc -l src/*.rs tests/*.rs")],
        ),
        act(
            "The crate doc names modules that do not exist (html, tmpl). Now the modules, from the bottom up.",
            vec![read("src/errors.rs"), read("src/misc.rs")],
        ),
        act("", vec![read("src/strutil.rs")]),
        act(
            "`to_snake_case`, `to_kebab_case` and `to_constant_case` are one loop three times. On to wrapping.",
            vec![read("src/wrap.rs")],
        ),
        act(
            "`text_width` is a second, worse `display_width`.",
            vec![read("src/table.rs")],
        ),
        act(
            "`table.rs` has a third width function and padding of its own, and errors that are plain strings with an exclamation mark.",
            vec![read("src/slug.rs")],
        ),
        Line::Overflow(
            "This model's maximum context length is 16384 tokens. However, your messages resulted in 16911 tokens. Please reduce the length of the messages.",
        ),
        act("", vec![read("src/number.rs")]),
        act(
            "`ordinal` looks only at the last digit, so 11 becomes 11st. Three error types so far: String, SlugError, BytesError.",
            vec![read("src/diff.rs")],
        ),
        act("", vec![read("src/template.rs")]),
        act("", vec![read("src/filters.rs"), read("src/escape.rs")]),
        act(
            "`filters.rs` parses its number argument three times over.",
            vec![read("src/lines.rs")],
        ),
        act(
            "",
            vec![
                read("tests/smoke.rs"),
                sh(r"grep -A1 '#\[test\]' src/*.rs | grep 'fn '"),
            ],
        ),
    ]
}

fn patterns() -> Vec<Line> {
    vec![
        act(
            "That is all of it. Now the patterns across files: widths and padding first.",
            vec![
                sh(r"grep -n 'fn .*width\|fn pad\|fn .*blank' src/*.rs"),
                sh(r"grep -n 'text_width\|cell_width\|char_width' src/*.rs"),
            ],
        ),
        act(
            "How far do the three differ? Side by side.",
            vec![
                read_at("src/misc.rs", 1, 36),
                read_at("src/wrap.rs", 38, 20),
                read_at("src/table.rs", 128, 30),
            ],
        ),
        act(
            "Now how errors are spelt.",
            vec![
                sh(r"grep -n 'Result<' src/*.rs"),
                sh("grep -n 'Err(' src/*.rs"),
                sh("grep -n 'crate::' src/*.rs"),
            ],
        ),
        act(
            "Strings, static strings and four enums. One type can hold all of that.",
            vec![
                sh("grep -rn 'TextError' src"),
                sh("grep -rn 'TODO\\|FIXME\\|copied from' src TODO.md"),
            ],
        ),
        act(
            "The public surface, so that I can compare it at the end.",
            vec![sh("grep -n '^ *pub ' src/*.rs")],
        ),
        act(
            "Which public items have no doc line above them?",
            vec![
                sh("grep -n -B1 '^ *pub fn' src/number.rs src/strutil.rs src/misc.rs"),
                read_at("src/wrap.rs", 1, 60),
            ],
        ),
        act(
            "",
            vec![sh(
                "grep -n -B1 '^ *pub fn' src/diff.rs src/lines.rs src/escape.rs src/slug.rs",
            )],
        ),
        act(
            "American spellings in the docs are few.",
            vec![sh("grep -nE 'ormaliz|apitaliz|enter|color' src/*.rs")],
        ),
        act(
            "Small things that a linter would say: `x = x + 1`, `len() == 0`, redundant field names.",
            vec![
                sh(r"grep -nE '([a-z]+) = \1 [-+/] ' src/*.rs"),
                sh("grep -n 'len() == 0\\|len() > 0' src/*.rs"),
                sh("grep -nE '(kind: kind|name: name|nodes: nodes)' src/*.rs"),
            ],
        ),
    ]
}

fn tests() -> Vec<Line> {
    vec![
        act("Loops that collect by hand, and those that take the last newline off again.", vec![
            sh("grep -n 'clone();' src/*.rs"),
            sh("grep -n 'push_str(&format' src/*.rs"),
            sh("grep -n -B2 'out.pop();' src/*.rs"),
        ]),
        act(
            "Now the tests as they are.",
            vec![sh("cargo test --offline --quiet 2>&1 | grep -vE '^ +[0-9]+:|^ +at ' | head -60")],
        ),
        act(
            "Two failures, both in the notes. I look at the two places again.",
            vec![read_at("src/number.rs", 84, 40), read_at("src/wrap.rs", 56, 60)],
        ),
        act(
            "And at the tests that say what is wanted.",
            vec![read_at("src/number.rs", 150, 50), read_at("src/wrap.rs", 128, 44), sh("grep -n 'ordinal\\|wrap(' tests/smoke.rs src/*.rs | head -40")],
        ),
        act("Who uses the badly named modules?", vec![sh("grep -n 'misc::\\|strutil::\\|errors::' src/*.rs tests/*.rs"), read("src/lib.rs")]),
        say(
            "Nothing is changed yet. What I found:

1. Widths and padding exist three times (`misc.rs`, `wrap.rs`, `table.rs`), and `lines.rs` has a fourth loop. The one in `wrap.rs` is wrong for Hangul and emoji.
2. Errors: `String`, `&'static str`, `SlugError`, `BytesError`, `TemplateError`, and a `TextError` that nobody uses.
3. `strutil.rs` and `misc.rs` do not say what is in them; the crate doc names modules that are gone.
4. Two failing tests: `ordinals_of_the_teens` (11 becomes 11st) and `empty_text_wraps_to_nothing` (empty text gives one empty line).
5. About 40 public items without a doc line, no README.

I would do it in this order: widths, errors, module names and the two bugs, templates and the rest, README."
        ),
        Line::User(User::Label("inventory")),
        Line::User(User::Prompt(
            "Good list, go ahead in that order. Three rules: keep the public function names, never add a dependency, and British spelling in the docs. Start with the widths and the errors.",
        )),
    ]
}
