//! Keys: never printed, and removed from all output.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use session_model::find_keys;

/// A key. Printing it shows a placeholder; its memory is wiped when it is dropped.
#[derive(Debug, Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Returns the key in `text`, without the white space around it; `None` when nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the key itself, for the header that carries it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

/// Shorter keys are not searched for: they would remove ordinary words.
const SHORTEST: usize = 6;

/// Shorter keys are not removed from a model's output.
const SHORTEST_IN_ANSWERS: usize = 16;

/// The text that replaces a key.
pub(crate) const REMOVED: &str = "[secret removed]";

/// Takes keys out of texts: as they are, and as JSON and URLs spell them.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    spellings: Vec<Secret>,
}

impl Redactor {
    /// Returns a redactor for `secrets`.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut redactor = Self::default();
        for secret in secrets {
            redactor.add(secret.expose());
        }
        redactor
    }

    /// Also takes `text` out, from now on.
    pub fn add(&mut self, text: &str) {
        let json = serde_json::Value::from(text).to_string();
        let encoded: String = text
            .bytes()
            .map(|byte| match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | b'~' => {
                    char::from(byte).to_string()
                }
                other => format!("%{other:02X}"),
            })
            .collect();
        // The JSON form without its quotation marks.
        let json = &json[1..json.len() - 1];
        for spelling in [text, json, &encoded] {
            let known = self
                .spellings
                .iter()
                .any(|known| known.expose() == spelling);
            if spelling.len() >= SHORTEST && !known {
                self.spellings.push(Secret(spelling.into()));
            }
        }
        // A longer key is replaced before a key that it contains.
        self.spellings
            .sort_by_key(|spelling| std::cmp::Reverse(spelling.expose().len()));
    }

    /// Returns `text` without the keys, for messages about a request.
    pub fn clean(&self, text: &str) -> String {
        self.without(text, SHORTEST)
    }

    /// Returns a model's words without the keys. Short ones stay: servers on one's own machine get keys such as
    /// `ollama`, which are no secret, and an answer may speak of them.
    pub fn clean_answer(&self, text: &str) -> String {
        self.without(text, SHORTEST_IN_ANSWERS)
    }

    /// Returns a text that leaves the program without the known keys, and without those that are recognized by their
    /// form, and the number of removed keys; `None` if there were none. Short keys stay, as in answers.
    pub fn hide_keys(&self, text: &str) -> Option<(String, usize)> {
        let known = self.places(text, SHORTEST_IN_ANSWERS, text.len());
        let clean = without(text, &known);
        let formed: Vec<_> = find_keys(&clean)
            .into_iter()
            .map(|key| (key.start, key.end))
            .collect();
        let found = known.len() + formed.len();
        (found > 0).then(|| (without(&clean, &formed), found))
    }

    fn without(&self, text: &str, shortest: usize) -> String {
        without(text, &self.places(text, shortest, text.len()))
    }

    /// Removes keys from a text that came in pieces; each piece keeps its rest. Returns true if there was a key.
    pub(crate) fn clean_pieces(&self, pieces: &mut [String]) -> bool {
        let whole = pieces.concat();
        let places = self.places(&whole, SHORTEST, whole.len());
        let mut start = 0;
        for piece in pieces {
            let end = start + piece.len();
            let mut at = start;
            piece.clear();
            for (from, to) in &places {
                if *to > start && *from < end {
                    if *from >= start {
                        piece.push_str(&whole[at..*from]);
                        piece.push_str(REMOVED);
                    }
                    at = end.min(*to);
                }
            }
            piece.push_str(&whole[at..end]);
            start = end;
        }
        !places.is_empty()
    }

    /// Returns the places of keys in `text`, none over another; of those that begin at one place the longest.
    /// Only places before `end` count.
    fn places(&self, text: &str, shortest: usize, end: usize) -> Vec<(usize, usize)> {
        let keys = self.spellings.iter().map(Secret::expose);
        let keys = keys.take_while(|key| key.len() >= shortest);
        let mut next: Vec<(usize, &str)> = keys
            .filter_map(|key| Some((text.find(key)?, key)))
            .collect();
        let mut places = Vec::new();
        // The longest come first, and stay first among those that begin at one place.
        while let Some((start, key)) = next.iter().copied().min_by_key(|(start, _)| *start) {
            if start >= end {
                break;
            }
            let after = start + key.len();
            places.push((start, after));
            next.retain_mut(|(start, key)| {
                if *start < after {
                    match text[after..].find(*key) {
                        Some(found) => *start = after + found,
                        None => return false,
                    }
                }
                true
            });
        }
        places
    }
}

/// Returns `text` without the ranges in `places`, which ascend.
fn without(text: &str, places: &[(usize, usize)]) -> String {
    let (mut clean, mut from) = (String::with_capacity(text.len()), 0);
    for (start, end) in places {
        clean.push_str(&text[from..*start]);
        clean.push_str(REMOVED);
        from = *end;
    }
    clean + &text[from..]
}

/// Removes keys from an answer or output that comes in pieces, even if a key begins in one piece and ends in another.
#[derive(Debug, Default)]
pub struct PieceRedactor {
    redactor: Arc<Redactor>,
    /// The end of the text so far that may be the beginning of a key.
    held: String,
}

impl PieceRedactor {
    /// Returns one that takes out the keys that `redactor` knows.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            held: String::new(),
        }
    }

    /// Takes the next piece and returns what is free of keys by now. An end that may be the beginning of a key is held
    /// back, and nothing else.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.take(self.partial_key())
    }

    /// Returns the position of the first key of which only a part has come; the end when there is none.
    fn partial_key(&self) -> usize {
        let keys = self.redactor.spellings.iter().map(Secret::expose);
        let keys = keys.take_while(|key| key.len() >= SHORTEST_IN_ANSWERS);
        let end = self.held.len();
        let partial = keys.filter_map(|key| {
            let from = (end + 1).saturating_sub(key.len());
            let mut starts = (from..end).filter(|at| self.held.is_char_boundary(*at));
            starts.find(|at| key.starts_with(&self.held[*at..]))
        });
        partial.min().unwrap_or(end)
    }

    /// Returns what was held back.
    pub fn finish(&mut self) -> String {
        self.take(self.held.len())
    }

    /// Returns the text before `decided`, without keys, including a key that begins there and ends after it.
    fn take(&mut self, decided: usize) -> String {
        let places = self
            .redactor
            .places(&self.held, SHORTEST_IN_ANSWERS, decided);
        let decided = places.last().map_or(decided, |(_, end)| decided.max(*end));
        let clean = without(&self.held[..decided], &places);
        self.held.drain(..decided);
        clean
    }
}

/// Returns an address without user name, password, query and fragment, any of which may be a key; `None` for what is no
/// URL.
pub fn plain_address(url: &str) -> Option<String> {
    let mut plain = reqwest::Url::parse(url).ok()?;
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    plain.set_query(None);
    plain.set_fragment(None);
    Some(plain.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{PieceRedactor, Redactor, Secret};

    #[test]
    fn a_key_is_never_printed_and_every_spelling_is_removed() {
        let secret = Secret::new(" k\"ey/12345 \n");
        assert!(!format!("{secret:?}").contains("12345"));
        let redactor = Redactor::new(&secret);
        assert_eq!(format!("{redactor:?}").matches("12345").count(), 0);
        for text in [
            "x k\"ey/12345 y",
            r#"{"a":"k\"ey/12345"}"#,
            "?key=k%22ey%2F12345&b",
        ] {
            let clean = redactor.clean(text);
            assert!(
                !clean.contains("12345") && clean.contains("removed"),
                "{clean}"
            );
        }
        assert!(Secret::new("  ").is_none());
    }

    #[test]
    fn a_key_that_ends_in_a_quotation_mark_is_found_as_json_spells_it() {
        let secret = Secret::new("\"key-12345\"");
        let redactor = Redactor::new(&secret);
        let clean = redactor.clean(r#"{"a":"\"key-12345\""}"#);
        assert_eq!(clean, r#"{"a":"[secret removed]"}"#);
    }

    #[test]
    fn a_short_key_stays_in_answers() {
        let secrets = [Secret::new("ollama"), Secret::new("sk-0123456789abcdef")];
        let redactor = Redactor::new(secrets.iter().flatten());
        let text = "ollama got sk-0123456789abcdef";
        assert_eq!(redactor.clean_answer(text), "ollama got [secret removed]");
        assert_eq!(
            redactor.clean(text),
            "[secret removed] got [secret removed]"
        );
    }

    #[test]
    fn what_leaves_the_program_holds_no_key_of_a_known_form() {
        let redactor = Redactor::new(&Secret::new("of-the-environment-1"));
        let text = "ghp_abcdefghijklmnopqrstuvwxyz0123456789 and of-the-environment-1.";
        let want = ("[secret removed] and [secret removed].".to_owned(), 2);
        assert_eq!(redactor.hide_keys(text), Some(want));
        assert_eq!(redactor.hide_keys("nothing"), None);
    }

    #[test]
    fn a_key_that_contains_another_goes_whole() {
        let secrets = [Secret::new("abcdef"), Secret::new("abcdef-123456")];
        let redactor = Redactor::new(secrets.iter().flatten());
        assert!(!redactor.clean("abcdef-123456").contains("123456"));
    }

    #[test]
    fn only_what_may_be_the_beginning_of_a_key_is_held_back() {
        let redactor = Arc::new(Redactor::new(&Secret::new("sk-0123456789abcdef")));
        let mut pieces = PieceRedactor::new(redactor);
        assert_eq!(pieces.push("an answer"), "an answer");
        assert_eq!(pieces.push(" with sk-01"), " with ");
        assert_eq!(pieces.push("x and s"), "sk-01x and ");
        assert_eq!(pieces.push("k-0123456789abcdef"), "[secret removed]");
        assert_eq!(pieces.push("s"), "");
        assert_eq!(pieces.finish(), "s");
    }

    #[test]
    fn a_key_that_comes_in_pieces_is_removed_however_it_is_cut() {
        let keys = [
            "sk-0123456789abcdef",
            "sk-0123456789abcdef-and-more",
            "\u{e9}t\u{e9}-0123456789abcdef",
        ];
        let secrets: Vec<Secret> = keys.iter().filter_map(|key| Secret::new(key)).collect();
        let redactor = Arc::new(Redactor::new(&secrets));
        let [short, long, accented] = keys;
        let text =
            format!("a {short} b{long}{short}\u{e9}\n{accented}{accented} c sk-0123456789abcde");
        let want = redactor.clean_answer(&text);
        assert_eq!(want.matches("removed").count(), 5, "{want}");
        for size in 1..text.chars().count() + 1 {
            let letters: Vec<char> = text.chars().collect();
            let mut pieces = PieceRedactor::new(redactor.clone());
            let mut clean = String::new();
            for piece in letters.chunks(size) {
                clean.push_str(&pieces.push(&piece.iter().collect::<String>()));
                // A character is not parted, so it may be a byte more than all but one.
                assert!(pieces.held.len() <= redactor.spellings[0].expose().len());
            }
            clean.push_str(&pieces.finish());
            assert_eq!(clean, want, "in pieces of {size}");
        }
    }
}
