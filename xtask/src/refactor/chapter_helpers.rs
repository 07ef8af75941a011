//! Second turn, first half: one place for widths and padding. The user steers once.

use super::script::{Line, User, act, document, edit, read, read_at, sh, think};

/// Returns the lines of the first half of the turn.
pub fn lines() -> Vec<Line> {
    let mut lines = vec![Line::Comment("2. Widths and errors")];
    lines.extend(module());
    lines.extend(wrapping());
    lines.extend(tables());
    lines.extend(other_users());
    lines
}

fn module() -> Vec<Line> {
    vec![
        think(
            "Rules: public function names stay, no dependency (so no unicode-width), British spelling. misc.rs is the right home for widths; it only needs a name.",
            "`misc.rs` becomes `width.rs`; the functions keep their names.",
            vec![sh("mv src/misc.rs src/width.rs")],
        ),
        act("", vec![read("src/width.rs"), read("src/lib.rs")]),
        act(
            "",
            vec![
                edit(
                    "src/lib.rs",
                    &[
                        ("pub mod misc;\n", ""),
                        (
                            "pub mod template;\npub mod wrap;",
                            "pub mod template;\npub mod width;\npub mod wrap;",
                        ),
                        (
                            "pub use misc::{char_width, display_width, is_blank, pad_center, pad_left, pad_right, truncate};\n",
                            "",
                        ),
                        (
                            "pub use wrap::{fill,",
                            "pub use width::{char_width, display_width, is_blank, pad_center, pad_left, pad_right, truncate};\npub use wrap::{fill,",
                        ),
                    ],
                ),
                edit(
                    "src/width.rs",
                    &[
                        (
                            "//! misc helpers\n",
                            "//! How wide text is on a terminal, and padding and cutting to a width.\n",
                        ),
                        (
                            "    let mut w = 0;\n    for c in s.chars() {\n        w = w + char_width(c);\n    }\n    w\n",
                            "    s.chars().map(char_width).sum()\n",
                        ),
                        ("    s.trim().len() == 0\n", "    s.trim().is_empty()\n"),
                    ],
                ),
            ],
        ),
        act(
            "The three paddings share one helper.",
            vec![edit(
                "src/width.rs",
                &[
                    (
                        "    let mut out = String::from(s);\n    let w = display_width(s);\n    if w < width {\n        for _ in 0..(width - w) {\n            out.push(' ');\n        }\n    }\n    out\n}\n\npub fn pad_left",
                        "    format!(\"{s}{}\", spaces(missing(s, width)))\n}\n\npub fn pad_left",
                    ),
                    (
                        "    let w = display_width(s);\n    let mut out = String::new();\n    if w < width {\n        for _ in 0..(width - w) {\n            out.push(' ');\n        }\n    }\n    out.push_str(s);\n    out\n",
                        "    format!(\"{}{s}\", spaces(missing(s, width)))\n",
                    ),
                    (
                        "    let w = display_width(s);\n    if w >= width {\n        return s.to_string();\n    }\n    let left = (width - w) / 2;\n    let right = width - w - left;\n    let mut out = String::new();\n    for _ in 0..left {\n        out.push(' ');\n    }\n    out.push_str(s);\n    for _ in 0..right {\n        out.push(' ');\n    }\n    out\n}\n",
                        "    let missing = missing(s, width);\n    let left = missing / 2;\n    format!(\"{}{s}{}\", spaces(left), spaces(missing - left))\n}\n\n/// Returns how many columns `s` falls short of `width`.\nfn missing(s: &str, width: usize) -> usize {\n    width.saturating_sub(display_width(s))\n}\n\nfn spaces(count: usize) -> String {\n    \" \".repeat(count)\n}\n",
                    ),
                ],
            )],
        ),
        act(
            "Docs of the module, while it is open.",
            vec![edit(
                "src/width.rs",
                &[
                    (
                        "/// Width of a char. 0 for combining marks, 2 for wide ones.\n",
                        "/// Returns the columns that a character takes: 0 for control characters and combining marks, 2 for wide ones.\n",
                    ),
                    (
                        "pub fn display_width",
                        "/// Returns the columns that a text takes.\npub fn display_width",
                    ),
                    (
                        "// pads on the right with spaces\n",
                        "/// Returns the text with spaces behind it, up to `width` columns.\n",
                    ),
                    (
                        "/// Centers the text; the extra space goes to the right.\n",
                        "/// Returns the text in the centre of `width` columns; an odd space goes to the right.\n",
                    ),
                    (
                        "// cuts to a width, with an ellipsis\n",
                        "/// Returns the text cut to `width` columns, the last of which shows an ellipsis.\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![document(
                "src/width.rs",
                &[
                    (
                        "pub fn pad_left",
                        "Returns the text with spaces in front of it, up to `width` columns.",
                    ),
                    (
                        "pub fn is_blank",
                        "Returns true for a text without anything but white space.",
                    ),
                ],
            )],
        ),
        act(
            "I read the result once as a whole.",
            vec![
                read("src/width.rs"),
                read("src/lib.rs"),
                sh("grep -n 'missing\\|spaces' src/width.rs"),
            ],
        ),
    ]
}

fn wrapping() -> Vec<Line> {
    vec![
        act("Now the users, `wrap.rs` first.", vec![read("src/wrap.rs")]),
        act(
            "",
            vec![edit(
                "src/wrap.rs",
                &[
                    (
                        "// width of a text; FIXME same as in misc?\nfn text_width(s: &str) -> usize {\n    let mut n = 0;\n    for c in s.chars() {\n        if ('\\u{300}'..='\\u{36f}').contains(&c) {\n            continue;\n        }\n        n += if (c as u32) >= 0x2e80 && (c as u32) <= 0xa4cf {\n            2\n        } else {\n            1\n        };\n    }\n    n\n}\n\n",
                        "",
                    ),
                    (
                        "//! Word wrapping.\n",
                        "//! Word wrapping.\n\nuse crate::width::{char_width, display_width, is_blank};\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/wrap.rs",
                &[
                    (
                        "if text_width(&line) + space + text_width(&word) <= options.width {",
                        "if display_width(&line) + space + display_width(&word) <= options.width {",
                    ),
                    (
                        "options.width.saturating_sub(text_width(&line)).max(1)",
                        "options.width.saturating_sub(display_width(&line)).max(1)",
                    ),
                    (
                        "let w = text_width(&c.to_string());",
                        "let w = char_width(c);",
                    ),
                    ("if line.trim().len() > 0 {", "if !is_blank(line) {"),
                ],
            )],
        ),
        act(
            "",
            vec![
                sh("grep -n 'text_width\\|display_width\\|char_width\\|is_blank' src/wrap.rs"),
                read("src/wrap.rs"),
            ],
        ),
    ]
}

fn tables() -> Vec<Line> {
    vec![
        act(
            "`table.rs` next; its output must not move by a column.",
            vec![read("src/table.rs"), read("tests/smoke.rs")],
        ),
        Line::User(User::Steer(
            "One more thing: the release notes script parses the plain tables. The output of Table::render must stay byte for byte as it is, so leave table_format in tests/smoke.rs alone.",
        )),
        think(
            "table_format in tests/smoke.rs pins the output. cell_width equals display_width, and pad equals the three paddings, so the bytes stay.",
            "Understood: `Table::render` keeps its bytes and `table_format` stays untouched. The helpers it uses give the same columns.",
            vec![edit(
                "src/table.rs",
                &[
                    (
                        "//! Plain text tables.\n",
                        "//! Plain text tables.\n\nuse crate::width::{display_width, pad_center, pad_left, pad_right};\n",
                    ),
                    (
                        "// copied from misc because of the wide chars\nfn cell_width(s: &str) -> usize {\n    let mut w = 0;\n    for c in s.chars() {\n        w += crate::misc::char_width(c);\n    }\n    w\n}\n\nfn pad(s: &str, width: usize, align: Align) -> String {\n    let w = cell_width(s);\n    if w >= width {\n        return s.to_string();\n    }\n    let n = width - w;\n    match align {\n        Align::Left => format!(\"{}{}\", s, \" \".repeat(n)),\n        Align::Right => format!(\"{}{}\", \" \".repeat(n), s),\n        Align::Center => {\n            let left = n / 2;\n            format!(\"{}{}{}\", \" \".repeat(left), s, \" \".repeat(n - left))\n        }\n    }\n}\n",
                        "fn pad(s: &str, width: usize, align: Align) -> String {\n    match align {\n        Align::Left => pad_right(s, width),\n        Align::Right => pad_left(s, width),\n        Align::Center => pad_center(s, width),\n    }\n}\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/table.rs",
                &[(
                    "        let mut widths = Vec::new();\n        for (i, name) in self.header.iter().enumerate() {\n            let mut width = cell_width(name);\n            for row in &self.rows {\n                if cell_width(&row[i]) > width {\n                    width = cell_width(&row[i]);\n                }\n            }\n            widths.push(width);\n        }\n        widths\n",
                    "        let mut widths: Vec<usize> = self.header.iter().map(|name| display_width(name)).collect();\n        for row in &self.rows {\n            for (width, cell) in widths.iter_mut().zip(row) {\n                *width = (*width).max(display_width(cell));\n            }\n        }\n        widths\n",
                )],
            )],
        ),
        act(
            "Header, rule and rows are built by the same lines twice; one function for a line.",
            vec![edit(
                "src/table.rs",
                &[(
                    "        let widths = self.widths();\n        let mut out = String::new();\n        let mut cells = Vec::new();\n        for (i, name) in self.header.iter().enumerate() {\n            cells.push(pad(name, widths[i], self.aligns[i]));\n        }\n        out.push_str(cells.join(\"  \").trim_end());\n        out.push('\\n');\n        let mut rules = Vec::new();\n        for w in &widths {\n            rules.push(\"-\".repeat(*w));\n        }\n        out.push_str(&rules.join(\"  \"));\n        out.push('\\n');\n        for row in &self.rows {\n            let mut cells = Vec::new();\n            for (i, cell) in row.iter().enumerate() {\n                cells.push(pad(cell, widths[i], self.aligns[i]));\n            }\n            out.push_str(cells.join(\"  \").trim_end());\n            out.push('\\n');\n        }\n        out\n    }\n",
                    "        let widths = self.widths();\n        let rules: Vec<String> = widths.iter().map(|width| \"-\".repeat(*width)).collect();\n        let mut out = self.line(&self.header, &widths);\n        out.push_str(&rules.join(\"  \"));\n        out.push('\\n');\n        for row in &self.rows {\n            out.push_str(&self.line(row, &widths));\n        }\n        out\n    }\n\n    fn line(&self, cells: &[String], widths: &[usize]) -> String {\n        let mut padded = Vec::new();\n        for (i, cell) in cells.iter().enumerate() {\n            padded.push(pad(cell, widths[i], self.aligns[i]));\n        }\n        format!(\"{}\\n\", padded.join(\"  \").trim_end())\n    }\n",
                )],
            )],
        ),
        act(
            "",
            vec![
                read("src/table.rs"),
                read_at("tests/smoke.rs", 1, 20),
                sh("grep -n 'cell_width' src/*.rs || true"),
            ],
        ),
    ]
}

fn other_users() -> Vec<Line> {
    vec![
        act(
            "The rule line was never trimmed and still is not. Remaining users of the old names:",
            vec![sh("grep -n 'misc' src/*.rs")],
        ),
        act("", vec![read("src/lines.rs")]),
        act(
            "",
            vec![edit(
                "src/lines.rs",
                &[
                    (
                        "//! Functions on lines\n",
                        "//! Functions on lines\n\nuse crate::width::{display_width, is_blank, pad_left};\n",
                    ),
                    (
                        "    let mut max = 0;\n    for line in s.lines() {\n        let mut w = 0;\n        for c in line.chars() {\n            w += crate::misc::char_width(c);\n        }\n        if w > max {\n            max = w;\n        }\n    }\n    max\n",
                        "    s.lines().map(display_width).max().unwrap_or(0)\n",
                    ),
                    (
                        "        let n = (i + 1).to_string();\n        for _ in 0..(width - n.len()) {\n            out.push(' ');\n        }\n        out.push_str(&n);\n",
                        "        out.push_str(&pad_left(&(i + 1).to_string(), width));\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/lines.rs",
                &[
                    (
                        "        let is_blank = line.trim().is_empty();\n        if is_blank && blank {\n            continue;\n        }\n        blank = is_blank;\n",
                        "        if blank && is_blank(line) {\n            continue;\n        }\n        blank = is_blank(line);\n",
                    ),
                    (
                        "        if line.trim().len() == 0 {\n            continue;\n",
                        "        if is_blank(line) {\n            continue;\n",
                    ),
                    (
                        "        if line.trim().len() == 0 {\n            out.push('\\n');\n",
                        "        if is_blank(line) {\n            out.push('\\n');\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![
                read("src/lines.rs"),
                sh("grep -n 'is_blank\\|pad_left\\|display_width' src/*.rs"),
            ],
        ),
        act("", vec![read("src/filters.rs")]),
        act(
            "The filters use the new module, and the number argument gets one function instead of three copies.",
            vec![edit(
                "src/filters.rs",
                &[
                    (
                        "use crate::misc;\nuse crate::slug;\nuse crate::strutil;\n",
                        "use crate::slug;\nuse crate::strutil;\nuse crate::width;\nuse crate::wrap;\n",
                    ),
                    (
                        "        \"pad\" => {\n            let n = match arg {\n                Some(arg) => match arg.parse::<usize>() {\n                    Ok(n) => n,\n                    Err(_) => return Err(format!(\"Filter pad: bad number {}\", arg)),\n                },\n                None => return Err(\"Filter pad needs a number\".to_string()),\n            };\n            Ok(misc::pad_right(text, n))\n        }\n",
                        "        \"pad\" => Ok(width::pad_right(text, number(name, arg)?)),\n",
                    ),
                    (
                        "        \"truncate\" => {\n            let n = match arg {\n                Some(arg) => match arg.parse::<usize>() {\n                    Ok(n) => n,\n                    Err(_) => return Err(format!(\"Filter truncate: bad number {}\", arg)),\n                },\n                None => return Err(\"Filter truncate needs a number\".to_string()),\n            };\n            Ok(misc::truncate(text, n))\n        }\n",
                        "        \"truncate\" => Ok(width::truncate(text, number(name, arg)?)),\n",
                    ),
                    (
                        "        \"wrap\" => {\n            let n = match arg {\n                Some(arg) => match arg.parse::<usize>() {\n                    Ok(n) => n,\n                    Err(_) => return Err(format!(\"Filter wrap: bad number {}\", arg)),\n                },\n                None => return Err(\"Filter wrap needs a number\".to_string()),\n            };\n            Ok(crate::wrap::fill(text, n))\n        }\n",
                        "        \"wrap\" => Ok(wrap::fill(text, number(name, arg)?)),\n",
                    ),
                    (
                        "            if misc::is_blank(text) {\n",
                        "            if width::is_blank(text) {\n",
                    ),
                    (
                        "#[cfg(test)]\n",
                        "/// Returns the number that a filter was given.\nfn number(filter: &str, arg: Option<&str>) -> Result<usize, String> {\n    let arg = arg.ok_or_else(|| format!(\"Filter {filter} needs a number\"))?;\n    arg.parse().map_err(|_| format!(\"Filter {filter}: bad number {arg}\"))\n}\n\n#[cfg(test)]\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![
                read("src/filters.rs"),
                sh("grep -n 'misc\\|cell_width\\|text_width' src/*.rs TODO.md || true"),
            ],
        ),
        act(
            "Widths are in one place. I compare the paddings with what the tests of `width.rs` and `lines.rs` want.",
            vec![
                read("src/lines.rs"),
                read("src/width.rs"),
                read("src/wrap.rs"),
            ],
        ),
    ]
}
