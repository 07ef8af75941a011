//! Converts a service's response to plain text: HTML tags are removed, keys are hidden.

use session_model::find_keys;

/// The length of a text that is examined, in bytes.
const LOOK: usize = 64 * 1024;

/// The longest tag, in bytes; a `<` without its `>` within it is no tag.
const TAG: usize = 2048;

/// The longest message, in characters.
const LONGEST: usize = 2000;

/// Returns true if `body` is a page and not text or JSON.
pub(super) fn is_page(body: &str) -> bool {
    let start: String = body.trim_start().chars().take(400).collect();
    let start = start.to_ascii_lowercase();
    let page = ["<!doctype", "<html", "<head", "<body", "<title", "<?xml"];
    start.starts_with('<') && page.iter().any(|tag| start.contains(tag))
}

/// Returns the title of a page and then its text, without tags, scripts and styles.
pub(super) fn page_text(body: &str) -> String {
    let body = &body[..body.floor_char_boundary(LOOK)];
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let from = at + lower[at..].find('>')? + 1;
        let to = from + lower[from..].find("</title")?;
        Some(plain(&body[from..to]))
    });
    let text = plain(body);
    match title {
        Some(title) if !title.is_empty() && !text.starts_with(&title) => format!("{title}: {text}"),
        Some(_) | None => text,
    }
}

/// Returns `text` without tags and control characters, on one line, with keys hidden, cut to 2000 characters.
pub(super) fn plain(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(LOOK)];
    let bare = if text.contains('<') {
        without_tags(text)
    } else {
        text.to_owned()
    };
    let bare = bare
        .replace("&nbsp;", " ")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&apos;", "'")
        .replace("&amp;", "&");
    let mut out = String::new();
    let mut previous_asks = false;
    let words = bare.split(|c: char| c.is_whitespace() || c.is_control());
    for word in words.filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        if previous_asks || !find_keys(word).is_empty() {
            out.push_str("[key]");
        } else {
            out.push_str(word);
        }
        // OpenAI quotes the key: `Incorrect API key provided: kk.`
        // (https://github.com/continuedev/continue/issues/9358).
        previous_asks = word.eq_ignore_ascii_case("provided:") && ends_with_key(&out);
    }
    match out.char_indices().nth(LONGEST) {
        Some((at, _)) => out[..at].to_owned(),
        None => out,
    }
}

fn ends_with_key(text: &str) -> bool {
    let from = text.floor_char_boundary(text.len().saturating_sub(24));
    text[from..].to_ascii_lowercase().contains("key provided:")
}

/// Returns `text` with every tag as a space. A `<` that opens no tag but looks like one becomes a space too,
/// so that no tag can be left or arise.
fn without_tags(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(open) = text[at..].find('<') {
        let open = at + open;
        out.push_str(&text[at..open]);
        let rest = &lower[open..];
        let next = rest[1..].chars().next();
        if !next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            out.push('<');
            at = open + 1;
            continue;
        }
        out.push(' ');
        at = open + tag_length(rest);
    }
    out.push_str(&text[at..]);
    out
}

/// Returns how many bytes of `rest`, which begins with `<`, belong to no text.
fn tag_length(rest: &str) -> usize {
    for (start, end) in [
        ("<!--", "-->"),
        ("<script", "</script>"),
        ("<style", "</style>"),
    ] {
        if rest.starts_with(start) {
            return rest.find(end).map_or(rest.len(), |to| to + end.len());
        }
    }
    let near = &rest[..rest.floor_char_boundary(TAG)];
    near.find('>').map_or(1, |to| to + 1)
}

#[cfg(test)]
mod tests {
    use super::{is_page, page_text, plain};

    #[test]
    fn a_page_becomes_its_title_and_text() {
        let page = "<html>\r\n<head><title>502 Bad Gateway</title><style>a{}</style></head>\n<body>\
                    <script>let a = \"<b>\";</script><center><h1>502 Bad&nbsp;Gateway</h1></center>\
                    <hr><center>nginx/1.26.1</center></body></html><!-- padding > -->";
        assert!(is_page(page));
        assert_eq!(
            page_text(page),
            "502 Bad Gateway 502 Bad Gateway nginx/1.26.1"
        );
    }

    #[test]
    fn what_is_no_tag_stays() {
        assert_eq!(plain("<400> a < b, 3<5"), "<400> a < b, 3<5");
        assert_eq!(plain("<<a>b> c"), "< b> c");
        assert_eq!(plain("an open <tag"), "an open tag");
        assert_eq!(plain("line\n\u{1b}[31mred\u{0}end"), "line [31mred end");
    }

    #[test]
    fn keys_are_hidden() {
        let said =
            "Incorrect API key provided: kk. You can find your API key at https://example.org";
        assert_eq!(
            plain(said),
            "Incorrect API key provided: [key] You can find your API key at https://example.org"
        );
        assert_eq!(
            plain("key 'sk-proj-abcdefghij1234567890abcd' is wrong"),
            "key [key] is wrong"
        );
        assert_eq!(plain("the sk- prefix"), "the sk- prefix");
    }

    #[test]
    fn a_page_of_open_tags_takes_no_time() {
        let page = "<a".repeat(200_000);
        assert!(plain(&page).chars().count() <= 2000);
    }
}
