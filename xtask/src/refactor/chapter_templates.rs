//! Fifth turn, first half: templates, filters and escapes get the one error type and docs.

use super::code_template::TEMPLATE;
use super::script::{Line, act, edit, read, sh, think, write};

/// Returns the lines of the first half of the turn.
pub fn lines() -> Vec<Line> {
    let mut lines = vec![Line::Comment(
        "5. Templates, filters, escapes, diffs, lines",
    )];
    lines.extend(templates());
    lines.extend(filters());
    lines.extend(escapes());
    lines
}

fn templates() -> Vec<Line> {
    vec![
        act(
            "The parser as a whole, and the error type it will use.",
            vec![
                read("src/template.rs"),
                read("src/error.rs"),
                sh("grep -n 'TemplateError' src/*.rs"),
            ],
        ),
        think(
            "Error::Template has only a reason. Positions must stay: Template { at, reason } for parsing, Name { name, reason } for rendering, Filter { filter, reason } for filters.",
            "`Error::Template` gets the byte position; rendering and filters get variants of their own.",
            vec![edit(
                "src/error.rs",
                &[
                    (
                        "    /// A template or one of its filters cannot be used.\n    Template {\n        /// Why.\n        reason: String,\n    },\n",
                        "    /// A template cannot be read.\n    Template {\n        /// The byte of the tag that is wrong.\n        at: usize,\n        /// Why.\n        reason: String,\n    },\n    /// A name in a template cannot be filled in.\n    Name {\n        /// The name.\n        name: String,\n        /// Why.\n        reason: &'static str,\n    },\n    /// A filter cannot be applied.\n    Filter {\n        /// The filter.\n        filter: String,\n        /// Why.\n        reason: &'static str,\n    },\n",
                    ),
                    (
                        "            Self::Template { reason } => write!(f, \"template: {reason}\"),\n",
                        "            Self::Template { at, reason } => write!(f, \"template, byte {at}: {reason}\"),\n            Self::Name { name, reason } => write!(f, \"the name {name} {reason}\"),\n            Self::Filter { filter, reason } => write!(f, \"the filter {filter} {reason}\"),\n",
                    ),
                ],
            )],
        ),
        act("", vec![read("src/error.rs")]),
        think(
            "parse changes nearly everywhere; one write is easier to review than ten edits. Take over the tag function from the trial, keep the scanner.",
            "Most of `template.rs` changes, so I write it once: the scanner as before, a function for a tag, kinds of blocks as an enum.",
            vec![write("src/template.rs", TEMPLATE)],
        ),
        act(
            "",
            vec![edit(
                "src/template.rs",
                &[
                    (
                        "//! tmpl - template engine. {{ name }}, {{ name | upper }}, {{#if x}} {{/if}}, {{#each xs}} {{.}} {{/each}}\n",
                        "//! Small templates: names `{{ name }}`, filters `{{ name | upper }}`, blocks `{{#if x}}...{{/if}}` and\n//! `{{#each xs}}{{.}}{{/each}}`.\n",
                    ),
                    (
                        "#[derive(Debug, Clone, PartialEq)]\npub enum Value {\n    Text(String),\n    Flag(bool),\n    List(Vec<String>),\n}\n\npub type Context",
                        "/// What a name stands for.\n#[derive(Debug, Clone, PartialEq)]\npub enum Value {\n    /// A text, filled in as it is.\n    Text(String),\n    /// A flag, for `if`.\n    Flag(bool),\n    /// Texts, for `each`.\n    List(Vec<String>),\n}\n\n/// What the names of a template stand for.\npub type Context",
                    ),
                    ("/// A parsed template\n", "/// A template that was read.\n"),
                    (
                        "    pub fn parse(",
                        "    /// Returns the template that `source` spells.\n    ///\n    /// # Errors\n    /// A tag is not closed, or a block has no end, no start, or an unknown kind; the error names the byte of the tag.\n    pub fn parse(",
                    ),
                    (
                        "    pub fn render(&self",
                        "    /// Returns the text with all names filled in.\n    ///\n    /// # Errors\n    /// A name is unknown or of the wrong kind, or a filter cannot be applied.\n    pub fn render(&self",
                    ),
                ],
            )],
        ),
        act(
            "The test says only that mistakes are errors. Positions are promised, so they are tested.",
            vec![edit(
                "src/template.rs",
                &[(
                    "            assert!(render(source).is_err(), \"{source}\");\n        }\n    }\n",
                    "            assert!(render(source).is_err(), \"{source}\");\n        }\n    }\n\n    #[test]\n    fn errors_name_the_byte_of_the_tag() {\n        let at = |source| match Template::parse(source) {\n            Err(Error::Template { at, .. }) => Some(at),\n            _ => None,\n        };\n        assert_eq!(at(\"ab{{ c\"), Some(2));\n        assert_eq!(at(\"a{{#each xs}}{{/if}}\"), Some(13));\n        assert_eq!(at(\"abc{{#if x}}d\"), Some(3));\n        assert_eq!(at(\"{{#while x}}{{/while}}\"), Some(0));\n    }\n",
                )],
            )],
        ),
        act(
            "",
            vec![
                read("src/template.rs"),
                sh("grep -n 'Error::' src/template.rs"),
            ],
        ),
    ]
}

fn filters() -> Vec<Line> {
    vec![
        act(
            "The filters still return strings as errors.",
            vec![read("src/filters.rs"), sh("grep -rn 'apply_filter' src")],
        ),
        act(
            "",
            vec![edit(
                "src/filters.rs",
                &[
                    (
                        "use crate::case;\n",
                        "use crate::case;\nuse crate::error::Error;\nuse crate::escape;\n",
                    ),
                    (
                        "pub fn apply_filter(filter: &str, text: &str) -> Result<String, String> {",
                        "pub fn apply_filter(filter: &str, text: &str) -> Result<String, Error> {",
                    ),
                    (
                        "        \"slug\" => match slug::slugify(text) {\n            Ok(slug) => Ok(slug),\n            Err(e) => Err(e.to_string()),\n        },\n",
                        "        \"slug\" => slug::slugify(text),\n",
                    ),
                    (
                        "Ok(crate::escape::escape_html(text))",
                        "Ok(escape::escape_html(text))",
                    ),
                    (
                        "        _ => Err(format!(\"Unknown filter {}\", name)),\n",
                        "        _ => Err(unusable(name, \"is not known\")),\n",
                    ),
                    (
                        "fn number(filter: &str, arg: Option<&str>) -> Result<usize, String> {\n    let arg = arg.ok_or_else(|| format!(\"Filter {filter} needs a number\"))?;\n    arg.parse().map_err(|_| format!(\"Filter {filter}: bad number {arg}\"))\n}\n",
                        "fn number(filter: &str, arg: Option<&str>) -> Result<usize, Error> {\n    let arg = arg.ok_or_else(|| unusable(filter, \"needs a number\"))?;\n    arg.parse().map_err(|_| unusable(filter, \"was given something that is no number\"))\n}\n\nfn unusable(filter: &str, reason: &'static str) -> Error {\n    Error::Filter {\n        filter: filter.to_string(),\n        reason,\n    }\n}\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/filters.rs",
                &[
                    (
                        "    let (name, arg) = match filter.find(':') {\n        Some(at) => (filter[..at].trim(), Some(filter[at + 1..].trim())),\n        None => (filter.trim(), None),\n    };\n",
                        "    let (name, arg) = match filter.split_once(':') {\n        Some((name, arg)) => (name.trim(), Some(arg.trim())),\n        None => (filter.trim(), None),\n    };\n",
                    ),
                    (
                        "            if width::is_blank(text) {\n                Ok(arg.unwrap_or(\"\").to_string())\n            } else {\n                Ok(text.to_string())\n            }\n",
                        "            let blank = width::is_blank(text);\n            Ok(if blank { arg.unwrap_or_default() } else { text }.to_string())\n",
                    ),
                    (
                        "//! Filters of templates.\n",
                        "//! What a template can do to a text: `upper`, `lower`, `capitalize`, `title`, `snake`, `kebab`, `trim`, `slug`,\n//! `html`, `pad:N`, `truncate:N`, `wrap:N` and `default:TEXT`.\n",
                    ),
                    (
                        "/// Applies one filter like `upper` or `pad:10`.\n",
                        "/// Returns the text that one filter such as `upper` or `pad:10` makes of `text`.\n///\n/// # Errors\n/// There is no such filter, it lacks its number, or nothing is left for a slug.\n",
                    ),
                ],
            )],
        ),
        act(
            "The tests can name the errors.",
            vec![edit(
                "src/filters.rs",
                &[(
                    "        assert!(apply_filter(\"pad\", \"x\").is_err());\n",
                    "        let error = apply_filter(\"pad\", \"x\").unwrap_err();\n        assert_eq!(error.to_string(), \"the filter pad needs a number\");\n",
                )],
            )],
        ),
        act(
            "",
            vec![
                read("src/filters.rs"),
                sh("grep -n 'TemplateError' src/*.rs || true"),
                sh("grep -n 'unusable\\|number(' src/filters.rs src/template.rs"),
                read("src/template.rs"),
                sh("grep -n 'is_err\\|unwrap_err' src/*.rs"),
            ],
        ),
    ]
}

fn escapes() -> Vec<Line> {
    vec![
        act("Escapes.", vec![read("src/escape.rs")]),
        act(
            "",
            vec![edit(
                "src/escape.rs",
                &[
                    (
                        "//! html and other escaping\n",
                        "//! Escaping for HTML, JSON and the shell.\n\nuse crate::error::Error;\n",
                    ),
                    (
                        "pub fn unescape_json(s: &str) -> Result<String, String> {\n",
                        "pub fn unescape_json(s: &str) -> Result<String, Error> {\n    let wrong = |sequence: String| Error::Escape { sequence };\n",
                    ),
                    (
                        "                let code = match u32::from_str_radix(&hex, 16) {\n                    Ok(code) if hex.len() == 4 => code,\n                    _ => return Err(format!(\"Bad escape \\\\u{}\", hex)),\n                };\n                match char::from_u32(code) {\n                    Some(c) => out.push(c),\n                    None => return Err(format!(\"Bad escape \\\\u{}\", hex)),\n                }\n",
                        "                let code = u32::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == 4);\n                let c = code.and_then(char::from_u32);\n                out.push(c.ok_or_else(|| wrong(format!(\"\\\\u{hex}\")))?);\n",
                    ),
                    (
                        "            Some(c) => return Err(format!(\"Bad escape \\\\{}\", c)),\n            None => return Err(\"Ends in a backslash\".to_string()),\n",
                        "            Some(c) => return Err(wrong(format!(\"\\\\{c}\"))),\n            None => return Err(wrong(\"\\\\\".to_string())),\n",
                    ),
                ],
            )],
        ),
        act("", vec![read("src/escape.rs")]),
        act(
            "The table of entities is written twice, once in each direction. One constant serves both.",
            vec![edit(
                "src/escape.rs",
                &[
                    (
                        "/// Escapes for html.\npub fn escape_html(s: &str) -> String {\n    let mut out = String::new();\n    for c in s.chars() {\n        match c {\n            '&' => out.push_str(\"&amp;\"),\n            '<' => out.push_str(\"&lt;\"),\n            '>' => out.push_str(\"&gt;\"),\n            '\"' => out.push_str(\"&quot;\"),\n            '\\'' => out.push_str(\"&#39;\"),\n            _ => out.push(c),\n        }\n    }\n    out\n}\n",
                        "/// Characters that mean something in HTML, and how they are spelt in text.\nconst ENTITIES: [(&str, char); 5] = [\n    (\"&amp;\", '&'),\n    (\"&lt;\", '<'),\n    (\"&gt;\", '>'),\n    (\"&quot;\", '\"'),\n    (\"&#39;\", '\\''),\n];\n\n/// Returns a text in the spelling that stands for it in HTML, attribute values included.\npub fn escape_html(s: &str) -> String {\n    let mut out = String::new();\n    for c in s.chars() {\n        match ENTITIES.iter().find(|(_, plain)| *plain == c) {\n            Some((entity, _)) => out.push_str(entity),\n            None => out.push(c),\n        }\n    }\n    out\n}\n",
                    ),
                    (
                        "        let mut found = false;\n        for (name, c) in [\n            (\"&amp;\", '&'),\n            (\"&lt;\", '<'),\n            (\"&gt;\", '>'),\n            (\"&quot;\", '\"'),\n            (\"&#39;\", '\\''),\n        ] {\n            if rest.starts_with(name) {\n                out.push(c);\n                rest = &rest[name.len()..];\n                found = true;\n                break;\n            }\n        }\n        if !found {\n            out.push('&');\n            rest = &rest[1..];\n        }\n",
                        "        let entity = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity));\n        let (entity, c) = entity.copied().unwrap_or((\"&\", '&'));\n        out.push(c);\n        rest = &rest[entity.len()..];\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/escape.rs",
                &[
                    (
                        "/// Unknown entities stay as they are.\n",
                        "/// Returns the text that `escape_html` was given; entities that it does not write stay as they are.\n",
                    ),
                    (
                        "pub fn quote_shell(s: &str) -> String {\n",
                        "/// Returns a text as one word of a POSIX shell, in quotes where it needs them.\npub fn quote_shell(s: &str) -> String {\n",
                    ),
                    (
                        "    let mut out = String::from(\"'\");\n    for c in s.chars() {\n        if c == '\\'' {\n            out.push_str(\"'\\\\''\");\n        } else {\n            out.push(c);\n        }\n    }\n    out.push('\\'');\n    out\n",
                        "    format!(\"'{}'\", s.replace('\\'', \"'\\\\''\"))\n",
                    ),
                    (
                        "/// Without the quotes around.\n",
                        "/// Returns a text as it stands in a JSON string, without the quotes around it.\n",
                    ),
                    (
                        "/// The other way round. No surrogates.\n",
                        "/// Returns the text of a JSON string without its quotes. Pairs of surrogates are not known.\n///\n/// # Errors\n/// The first escape that means nothing.\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![
                read("src/escape.rs"),
                read("src/filters.rs"),
                sh("grep -n 'ENTITIES\\|wrong(' src/escape.rs"),
            ],
        ),
    ]
}
