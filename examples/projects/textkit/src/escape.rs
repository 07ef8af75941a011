//! html and other escaping

/// Escapes for html.
pub fn escape_html(s: &str) -> String {
    let mut out = String::new();
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// Unknown entities stay as they are.
pub fn unescape_html(s: &str) -> String {
    let mut out = String::new();
    let mut rest = s;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut found = false;
        for (name, c) in [
            ("&amp;", '&'),
            ("&lt;", '<'),
            ("&gt;", '>'),
            ("&quot;", '"'),
            ("&#39;", '\''),
        ] {
            if rest.starts_with(name) {
                out.push(c);
                rest = &rest[name.len()..];
                found = true;
                break;
            }
        }
        if !found {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

pub fn quote_shell(s: &str) -> String {
    let plain = !s.is_empty()
        && s.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c));
    if plain {
        return s.to_string();
    }
    let mut out = String::from("'");
    for c in s.chars() {
        if c == '\'' {
            out.push_str("'\\''");
        } else {
            out.push(c);
        }
    }
    out.push('\'');
    out
}

/// Without the quotes around.
pub fn escape_json(s: &str) -> String {
    let mut out = String::new();
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// The other way round. No surrogates.
pub fn unescape_json(s: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = s.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('"') => out.push('"'),
            Some('\\') => out.push('\\'),
            Some('/') => out.push('/'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let hex: String = chars.by_ref().take(4).collect();
                let code = match u32::from_str_radix(&hex, 16) {
                    Ok(code) if hex.len() == 4 => code,
                    _ => return Err(format!("Bad escape \\u{}", hex)),
                };
                match char::from_u32(code) {
                    Some(c) => out.push(c),
                    None => return Err(format!("Bad escape \\u{}", hex)),
                }
            }
            Some(c) => return Err(format!("Bad escape \\{}", c)),
            None => return Err("Ends in a backslash".to_string()),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_there_and_back() {
        let text = "<a href=\"x\">Tom & 'Jerry'</a>";
        assert_eq!(unescape_html(&escape_html(text)), text);
        assert_eq!(unescape_html("a &unknown; b & c"), "a &unknown; b & c");
    }

    #[test]
    fn shell_words_are_quoted_when_they_must_be() {
        assert_eq!(quote_shell("src/lib.rs"), "src/lib.rs");
        assert_eq!(quote_shell("it's"), "'it'\\''s'");
        assert_eq!(quote_shell(""), "''");
    }

    #[test]
    fn json_there_and_back() {
        let text = "tab\there \"quoted\" \u{1}\n";
        assert_eq!(unescape_json(&escape_json(text)).unwrap(), text);
        for bad in ["\\", "\\x", "\\u12", "\\ud800"] {
            assert!(unescape_json(bad).is_err(), "{}", bad);
        }
    }
}
