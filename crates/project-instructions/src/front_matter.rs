//! What a skill's file says of the skill: the lines between two lines of `---` at its beginning.
//!
//! Of YAML this reads what such files hold: `key: value` with plain, quoted, folded
//! and literal values. Plain values may hold `: `, which YAML refuses and authors write.

/// What a file says of its skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FrontMatter {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
}

/// Returns the front matter of a text, or what is wrong with it.
pub(super) fn front_matter(text: &str) -> Result<FrontMatter, String> {
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("---") {
        return Err("does not begin with a line of ---, name and description".to_owned());
    }
    let lines: Vec<&str> = lines.collect();
    let is_end = |line: &&str| matches!(*line, "---" | "...");
    let Some(end) = lines.iter().position(is_end) else {
        return Err("has no second line of --- near its beginning".to_owned());
    };
    let lines = &lines[..end];
    let mut found = FrontMatter::default();
    for (at, line) in lines.iter().enumerate() {
        let goes_on = line.is_empty() || line.starts_with([' ', '\t', '#']);
        if goes_on || line.starts_with("- ") || *line == "-" {
            continue;
        }
        let fault = |what: &str| format!("line {}: {what}", at + 2);
        let Some((key, value)) = line.split_once(':') else {
            return Err(fault("is not `key: value`"));
        };
        let place = match key.trim_end() {
            "name" => &mut found.name,
            "description" => &mut found.description,
            _ => continue,
        };
        if place.is_some() {
            return Err(fault(&format!("{key} stands there twice")));
        }
        let value = value_of(value.trim_start(), &lines[at + 1..])
            .map_err(|what| fault(&format!("{key}: {what}")))?;
        *place = Some(value).filter(|value| !value.trim().is_empty());
    }
    Ok(found)
}

/// Returns a value that begins in its key's line; `below` are the lines after it.
fn value_of(first: &str, below: &[&str]) -> Result<String, String> {
    let belongs = |line: &&&str| line.is_empty() || line.starts_with([' ', '\t']);
    let below: Vec<&str> = below.iter().take_while(belongs).copied().collect();
    let joined = || {
        let lines = below.iter().map(|line| line.trim());
        let lines = lines.filter(|line| !line.is_empty());
        let all: Vec<&str> = std::iter::once(first).chain(lines).collect();
        all.join(" ").trim().to_owned()
    };
    match first.chars().next() {
        Some('|') => Ok(block(&below, "\n")),
        Some('>') => Ok(block(&below, " ")),
        Some('"') => double_quoted(&joined()),
        Some('\'') => single_quoted(&joined()),
        Some(mark @ ('[' | '{' | '&' | '*' | '!' | '%' | '@' | '`')) => {
            Err(format!("begins with {mark}; write it in double quotes"))
        }
        _ => {
            let joined = joined();
            let value = match joined.split_once(" #") {
                Some((value, _)) => value.trim_end(),
                None => &joined,
            };
            let nothing = value.starts_with('#') || matches!(value, "~" | "null");
            Ok(if nothing { "" } else { value }.to_owned())
        }
    }
}

fn block(lines: &[&str], between: &str) -> String {
    let lines = lines.iter().map(|line| line.trim());
    let lines: Vec<&str> = lines.collect();
    lines.join(between).trim().to_owned()
}

fn single_quoted(text: &str) -> Result<String, String> {
    let mut value = String::new();
    let mut rest = text.chars().skip(1).peekable();
    while let Some(character) = rest.next() {
        match character {
            '\'' if rest.peek() == Some(&'\'') => {
                rest.next();
                value.push('\'');
            }
            '\'' => return ended(value, &rest.collect::<String>()),
            other => value.push(other),
        }
    }
    Err("its quote has no end".to_owned())
}

fn double_quoted(text: &str) -> Result<String, String> {
    let mut value = String::new();
    let mut rest = text.strip_prefix('"').unwrap_or(text).chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => return ended(value, rest.as_str()),
            '\\' => match rest.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(plain @ ('"' | '\\' | '/' | ' ')) => value.push(plain),
                Some('u') => {
                    let digits: String = rest.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    match code.and_then(char::from_u32) {
                        Some(character) => value.push(character),
                        None => return Err(format!("\\u{digits} is not a character")),
                    }
                }
                Some(other) => return Err(format!("\\{other} is not an escape")),
                None => break,
            },
            other => value.push(other),
        }
    }
    Err("its quote has no end".to_owned())
}

/// Returns a quoted value behind which only a comment may stand.
fn ended(value: String, behind: &str) -> Result<String, String> {
    let behind = behind.trim_start();
    match behind.is_empty() || behind.starts_with('#') {
        true => Ok(value),
        false => Err("something stands behind its quote".to_owned()),
    }
}
