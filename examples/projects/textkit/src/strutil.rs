//! String utilities.

/// splits "fooBar_baz qux" into foo, Bar, baz, qux
pub fn split_words(s: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let chars: Vec<char> = s.chars().collect();
    for i in 0..chars.len() {
        let c = chars[i];
        if !c.is_alphanumeric() {
            if !word.is_empty() {
                words.push(word.clone());
                word.clear();
            }
            continue;
        }
        if c.is_uppercase() && i > 0 {
            let prev = chars[i - 1];
            let next_lower = i + 1 < chars.len() && chars[i + 1].is_lowercase();
            if (prev.is_lowercase() || prev.is_numeric() || next_lower) && !word.is_empty() {
                words.push(word.clone());
                word.clear();
            }
        }
        word.push(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

pub fn to_snake_case(s: &str) -> String {
    let mut out = String::new();
    for (i, w) in split_words(s).iter().enumerate() {
        if i > 0 {
            out.push('_');
        }
        out.push_str(&w.to_lowercase());
    }
    out
}

pub fn to_kebab_case(s: &str) -> String {
    let mut out = String::new();
    for (i, w) in split_words(s).iter().enumerate() {
        if i > 0 {
            out.push('-');
        }
        out.push_str(&w.to_lowercase());
    }
    out
}

pub fn to_constant_case(s: &str) -> String {
    let mut out = String::new();
    for (i, w) in split_words(s).iter().enumerate() {
        if i > 0 {
            out.push('_');
        }
        out.push_str(&w.to_uppercase());
    }
    out
}

/// Capitalizes the first letter, the rest becomes lower case.
pub fn capitalize(s: &str) -> String {
    let mut chars = s.chars();
    match chars.next() {
        Some(first) => {
            let mut out: String = first.to_uppercase().collect();
            out.push_str(&chars.as_str().to_lowercase());
            out
        }
        None => String::new(),
    }
}

pub fn to_pascal_case(s: &str) -> String {
    let mut out = String::new();
    for w in split_words(s) {
        out.push_str(&capitalize(&w));
    }
    out
}

pub fn to_camel_case(s: &str) -> String {
    let mut out = String::new();
    for (i, w) in split_words(s).iter().enumerate() {
        if i == 0 {
            out.push_str(&w.to_lowercase());
        } else {
            out.push_str(&capitalize(w));
        }
    }
    out
}

/// Small words that stay lower case inside a title.
const SMALL: [&str; 9] = ["a", "an", "and", "by", "for", "in", "of", "the", "to"];

pub fn to_title_case(s: &str) -> String {
    let mut out = String::new();
    for (i, w) in split_words(s).iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        let lower = w.to_lowercase();
        if i > 0 && SMALL.contains(&lower.as_str()) {
            out.push_str(&lower);
        } else {
            out.push_str(&capitalize(w));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case() {
        assert_eq!(split_words("fooBar_baz qux"), ["foo", "Bar", "baz", "qux"]);
        assert_eq!(split_words("HTTPServer2Go"), ["HTTP", "Server2", "Go"]);
        assert!(split_words("--").is_empty());
    }

    #[test]
    fn every_case_from_one_name() {
        let name = "parse HTTPHeader_lines";
        assert_eq!(to_snake_case(name), "parse_http_header_lines");
        assert_eq!(to_kebab_case(name), "parse-http-header-lines");
        assert_eq!(to_constant_case(name), "PARSE_HTTP_HEADER_LINES");
        assert_eq!(to_camel_case(name), "parseHttpHeaderLines");
        assert_eq!(to_pascal_case(name), "ParseHttpHeaderLines");
    }

    #[test]
    fn titles_keep_small_words_small() {
        assert_eq!(to_title_case("the lord_of the rings"), "The Lord of the Rings");
        assert_eq!(capitalize("éCOLE"), "École");
    }
}
