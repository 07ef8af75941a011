//! Filters of templates.

use crate::misc;
use crate::slug;
use crate::strutil;

/// Applies one filter like `upper` or `pad:10`.
pub fn apply_filter(filter: &str, text: &str) -> Result<String, String> {
    let (name, arg) = match filter.find(':') {
        Some(at) => (filter[..at].trim(), Some(filter[at + 1..].trim())),
        None => (filter.trim(), None),
    };
    match name {
        "upper" => Ok(text.to_uppercase()),
        "lower" => Ok(text.to_lowercase()),
        "capitalize" => Ok(strutil::capitalize(text)),
        "title" => Ok(strutil::to_title_case(text)),
        "snake" => Ok(strutil::to_snake_case(text)),
        "kebab" => Ok(strutil::to_kebab_case(text)),
        "trim" => Ok(text.trim().to_string()),
        "slug" => match slug::slugify(text) {
            Ok(slug) => Ok(slug),
            Err(e) => Err(e.to_string()),
        },
        "html" => Ok(crate::escape::escape_html(text)),
        "pad" => {
            let n = match arg {
                Some(arg) => match arg.parse::<usize>() {
                    Ok(n) => n,
                    Err(_) => return Err(format!("Filter pad: bad number {}", arg)),
                },
                None => return Err("Filter pad needs a number".to_string()),
            };
            Ok(misc::pad_right(text, n))
        }
        "truncate" => {
            let n = match arg {
                Some(arg) => match arg.parse::<usize>() {
                    Ok(n) => n,
                    Err(_) => return Err(format!("Filter truncate: bad number {}", arg)),
                },
                None => return Err("Filter truncate needs a number".to_string()),
            };
            Ok(misc::truncate(text, n))
        }
        "wrap" => {
            let n = match arg {
                Some(arg) => match arg.parse::<usize>() {
                    Ok(n) => n,
                    Err(_) => return Err(format!("Filter wrap: bad number {}", arg)),
                },
                None => return Err("Filter wrap needs a number".to_string()),
            };
            Ok(crate::wrap::fill(text, n))
        }
        "default" => {
            if misc::is_blank(text) {
                Ok(arg.unwrap_or("").to_string())
            } else {
                Ok(text.to_string())
            }
        }
        _ => Err(format!("Unknown filter {}", name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_change_the_text() {
        let check = |filter, text, expected| assert_eq!(apply_filter(filter, text).unwrap(), expected);
        check("upper", "abc", "ABC");
        check("title", "war and peace", "War and Peace");
        check("slug", "War & Peace", "war-peace");
        check("truncate: 4", "abcdef", "abc…");
        check("default: none", "  ", "none");
        check("html", "a<b", "a&lt;b");
    }

    #[test]
    fn bad_filters_are_errors() {
        assert!(apply_filter("shout", "x").is_err());
        assert!(apply_filter("pad", "x").is_err());
        assert!(apply_filter("wrap:many", "x").is_err());
    }
}
