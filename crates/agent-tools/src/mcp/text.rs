//! Words of servers, made fit to be shown: bounded, without characters that steer a terminal.

/// Returns a text of at most `chars` characters, without control characters other than newlines and tabs.
pub(super) fn cleaned(text: &str, chars: usize) -> String {
    let clean = |character: char| match character {
        '\n' | '\t' => character,
        other if other.is_control() => char::REPLACEMENT_CHARACTER,
        other => other,
    };
    let mut short: String = text.trim().chars().take(chars).map(clean).collect();
    if text.trim().chars().nth(chars).is_some() {
        short.push_str(" [...]");
    }
    short
}

/// Returns a text as one line of at most `chars` characters.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    cleaned(&words.join(" "), chars)
}
