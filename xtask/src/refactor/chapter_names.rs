//! Third turn, first half: the name of a module, the first failing test.

use super::script::{Line, act, edit, read, sh, think};

/// Returns the lines of the first half of the turn.
pub fn lines() -> Vec<Line> {
    let mut lines = vec![Line::Comment(
        "3. Names, the two bugs, docs of the lower modules",
    )];
    lines.extend(case());
    lines.extend(numbers());
    lines
}

fn case() -> Vec<Line> {
    vec![
        think(
            "strutil.rs holds case conversion and nothing else since the widths live in width.rs. Name: case. Function names stay.",
            "`strutil.rs` holds case conversion only, so it is called `case.rs` from now on.",
            vec![sh("mv src/strutil.rs src/case.rs")],
        ),
        act(
            "",
            vec![
                read("src/case.rs"),
                read("src/lib.rs"),
                sh("grep -n 'strutil' src/*.rs tests/*.rs TODO.md"),
            ],
        ),
        act(
            "",
            vec![
                edit(
                    "src/lib.rs",
                    &[
                        ("pub mod diff;\n", "pub mod case;\npub mod diff;\n"),
                        ("pub mod strutil;\n", ""),
                        (
                            "pub use diff::{apply,",
                            "pub use case::{\n    capitalize, split_words, to_camel_case, to_constant_case, to_kebab_case, to_pascal_case,\n    to_snake_case, to_title_case,\n};\npub use diff::{apply,",
                        ),
                        (
                            "pub use strutil::{\n    capitalize, split_words, to_camel_case, to_constant_case, to_kebab_case, to_pascal_case,\n    to_snake_case, to_title_case,\n};\n",
                            "",
                        ),
                    ],
                ),
                edit(
                    "src/filters.rs",
                    &[
                        (
                            "use crate::slug;\nuse crate::strutil;\n",
                            "use crate::case;\nuse crate::slug;\n",
                        ),
                        ("strutil::capitalize(text)", "case::capitalize(text)"),
                        ("strutil::to_title_case(text)", "case::to_title_case(text)"),
                        ("strutil::to_snake_case(text)", "case::to_snake_case(text)"),
                        ("strutil::to_kebab_case(text)", "case::to_kebab_case(text)"),
                    ],
                ),
            ],
        ),
        act("", vec![read("src/lib.rs"), read("src/filters.rs")]),
        act(
            "Now the loop that stands there three times.",
            vec![edit(
                "src/case.rs",
                &[
                    (
                        "pub fn to_snake_case(s: &str) -> String {\n    let mut out = String::new();\n    for (i, w) in split_words(s).iter().enumerate() {\n        if i > 0 {\n            out.push('_');\n        }\n        out.push_str(&w.to_lowercase());\n    }\n    out\n}\n",
                        "/// Returns the words of `s`, each changed, with a separator between them.\nfn join(s: &str, separator: &str, change: fn(&str) -> String) -> String {\n    let words: Vec<String> = split_words(s).iter().map(|word| change(word)).collect();\n    words.join(separator)\n}\n\npub fn to_snake_case(s: &str) -> String {\n    join(s, \"_\", str::to_lowercase)\n}\n",
                    ),
                    (
                        "pub fn to_kebab_case(s: &str) -> String {\n    let mut out = String::new();\n    for (i, w) in split_words(s).iter().enumerate() {\n        if i > 0 {\n            out.push('-');\n        }\n        out.push_str(&w.to_lowercase());\n    }\n    out\n}\n",
                        "pub fn to_kebab_case(s: &str) -> String {\n    join(s, \"-\", str::to_lowercase)\n}\n",
                    ),
                    (
                        "    let mut out = String::new();\n    for (i, w) in split_words(s).iter().enumerate() {\n        if i > 0 {\n            out.push('_');\n        }\n        out.push_str(&w.to_uppercase());\n    }\n    out\n}\n",
                        "    join(s, \"_\", str::to_uppercase)\n}\n",
                    ),
                    (
                        "    let mut out = String::new();\n    for w in split_words(s) {\n        out.push_str(&capitalize(&w));\n    }\n    out\n",
                        "    join(s, \"\", capitalize)\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/case.rs",
                &[
                    (
                        "    let mut out = String::new();\n    for (i, w) in split_words(s).iter().enumerate() {\n        if i == 0 {\n            out.push_str(&w.to_lowercase());\n        } else {\n            out.push_str(&capitalize(w));\n        }\n    }\n    out\n",
                        "    let words = split_words(s);\n    let Some((first, rest)) = words.split_first() else {\n        return String::new();\n    };\n    let rest: String = rest.iter().map(|word| capitalize(word)).collect();\n    first.to_lowercase() + &rest\n",
                    ),
                    (
                        "            out\n        }\n        None => String::new(),\n    }\n}\n\npub fn to_pascal_case",
                        "            out\n        }\n        None => String::new(),\n    }\n}\n\n/// Returns the words in lower case but for their first letters, without anything between: `FooBar`.\npub fn to_pascal_case",
                    ),
                ],
            )],
        ),
        act("", vec![read("src/case.rs")]),
        act(
            "`split_words` indexes where it could look at neighbours; `word.clone()` and `clear` are a `take`.",
            vec![edit(
                "src/case.rs",
                &[
                    (
                        "        if !c.is_alphanumeric() {\n            if !word.is_empty() {\n                words.push(word.clone());\n                word.clear();\n            }\n            continue;\n        }\n",
                        "        if !c.is_alphanumeric() {\n            if !word.is_empty() {\n                words.push(std::mem::take(&mut word));\n            }\n            continue;\n        }\n",
                    ),
                    (
                        "                words.push(word.clone());\n                word.clear();\n            }\n        }\n        word.push(c);\n",
                        "                words.push(std::mem::take(&mut word));\n            }\n        }\n        word.push(c);\n",
                    ),
                    (
                        "    for i in 0..chars.len() {\n        let c = chars[i];\n",
                        "    for (i, &c) in chars.iter().enumerate() {\n",
                    ),
                ],
            )],
        ),
        act(
            "Docs.",
            vec![
                edit(
                    "src/case.rs",
                    &[
                        (
                            "//! String utilities.\n",
                            "//! Names in snake, kebab, constant, camel, Pascal and title case.\n",
                        ),
                        (
                            "/// splits \"fooBar_baz qux\" into foo, Bar, baz, qux\n",
                            "/// Returns the words of a name: `foo`, `Bar`, `baz` and `qux` of `fooBar_baz qux`.\n",
                        ),
                        (
                            "/// Capitalizes the first letter, the rest becomes lower case.\n",
                            "/// Returns a word capitalised: the first letter in upper case, the rest in lower case.\n",
                        ),
                        (
                            "pub fn to_snake_case",
                            "/// Returns the name as `foo_bar`.\npub fn to_snake_case",
                        ),
                        (
                            "pub fn to_kebab_case",
                            "/// Returns the name as `foo-bar`.\npub fn to_kebab_case",
                        ),
                        (
                            "pub fn to_constant_case",
                            "/// Returns the name as `FOO_BAR`.\npub fn to_constant_case",
                        ),
                        (
                            "pub fn to_camel_case",
                            "/// Returns the name as `fooBar`.\npub fn to_camel_case",
                        ),
                        (
                            "pub fn to_title_case",
                            "/// Returns the name as a title; small words inside it stay small: `State of the Art`.\npub fn to_title_case",
                        ),
                    ],
                ),
                edit(
                    "TODO.md",
                    &[(
                        "- [ ] strutil: split into case and width\n",
                        "- [x] strutil: split into case and width\n",
                    )],
                ),
            ],
        ),
        act(
            "",
            vec![read("src/case.rs"), sh("grep -n -B1 '^pub fn' src/case.rs")],
        ),
        act(
            "`join` stands above the doc of `to_snake_case` as it should. An empty name in camel case deserves a test.",
            vec![edit(
                "src/case.rs",
                &[(
                    "        assert_eq!(to_pascal_case(name), \"ParseHttpHeaderLines\");\n",
                    "        assert_eq!(to_pascal_case(name), \"ParseHttpHeaderLines\");\n        assert_eq!(to_camel_case(\"\"), \"\");\n",
                )],
            )],
        ),
        act(
            "",
            vec![
                sh("grep -rn 'strutil\\|misc::' src tests || true"),
                read("src/filters.rs"),
                read("src/case.rs"),
            ],
        ),
    ]
}

fn numbers() -> Vec<Line> {
    vec![
        act(
            "Now `ordinal`.",
            vec![
                read("src/number.rs"),
                sh("grep -n 'ordinal' src/*.rs tests/*.rs TODO.md || true"),
            ],
        ),
        act(
            "The teens are decided by the last two digits.",
            vec![
                edit(
                    "src/number.rs",
                    &[(
                        "    let suffix = match n % 10 {\n        1 => \"st\",\n        2 => \"nd\",\n        3 => \"rd\",\n        _ => \"th\",\n    };\n    format!(\"{}{}\", n, suffix)\n",
                        "    let suffix = match (n % 10, n % 100) {\n        (_, 11..=13) => \"th\",\n        (1, _) => \"st\",\n        (2, _) => \"nd\",\n        (3, _) => \"rd\",\n        _ => \"th\",\n    };\n    format!(\"{n}{suffix}\")\n",
                    )],
                ),
                edit(
                    "TODO.md",
                    &[(
                        "- [ ] ordinal() is wrong for 11, 12, 13\n",
                        "- [x] ordinal() is wrong for 11, 12, 13\n",
                    )],
                ),
            ],
        ),
        act(
            "",
            vec![edit(
                "src/number.rs",
                &[
                    (
                        "        value = value / 1024.0;\n        unit = unit + 1;\n",
                        "        value /= 1024.0;\n        unit += 1;\n",
                    ),
                    (
                        "            rest = rest - value;\n",
                        "            rest -= value;\n",
                    ),
                    (
                        "            n = n + value;\n            rest = &rest[letters.len()..];\n",
                        "            n += value;\n            rest = &rest[letters.len()..];\n",
                    ),
                    (
                        "        return format!(\"{} B\", n);\n",
                        "        return format!(\"{n} B\");\n",
                    ),
                    (
                        "to_roman(n) != Some(upper.clone())",
                        "to_roman(n).as_ref() != Some(&upper)",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/number.rs",
                &[
                    (
                        "//! Numbers\n",
                        "//! Numbers as people write them: grouped digits, sizes, ordinals, Roman numerals, percentages.\n",
                    ),
                    (
                        "/// 1234567 -> 1,234,567\n",
                        "/// Returns a number with a comma between groups of three digits: `1,234,567`.\n",
                    ),
                    (
                        "/// the other way round\n",
                        "/// Returns the number that `group_thousands` wrote; digits without any comma are taken too.\n",
                    ),
                    (
                        "/// Formats a size, binary units.\n",
                        "/// Returns a size in bytes in the largest binary unit that fits, with one digit behind the point: `1.5 KiB`.\n",
                    ),
                    (
                        "pub fn parse_bytes",
                        "/// Returns the bytes of a size such as `1.5 KiB`, `3m` or `12`.\npub fn parse_bytes",
                    ),
                    (
                        "/// 1st, 2nd, 3rd, 4th\n",
                        "/// Returns an ordinal number: `1st`, `2nd`, `3rd`, `11th`.\n",
                    ),
                    (
                        "/// None for 0 and above 3999\n",
                        "/// Returns a Roman numeral; there is none for 0 and above 3999.\n",
                    ),
                    (
                        "pub fn from_roman",
                        "/// Returns the number of a Roman numeral in its usual spelling, in either case.\npub fn from_roman",
                    ),
                    (
                        "/// part of whole in percent, one digit\n",
                        "/// Returns a part of a whole in per cent with one digit behind the point, or `n/a` of an empty whole.\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![
                read("src/number.rs"),
                sh("grep -n -A1 '^///' src/number.rs | grep -c 'pub fn'"),
                read("src/error.rs"),
            ],
        ),
    ]
}
