//! Keys: held so that they are not printed, and removed from everything that is said.

use secrecy::{ExposeSecret, SecretString};

/// A key. Printing it shows that there is one, never what it is; its memory is wiped when it goes.
#[derive(Debug, Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Returns the key that `text` is, without the white space around it; `None` when nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the key itself, for the header that carries it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

/// Shorter keys are not looked for: they would take ordinary words out of texts.
const SHORTEST: usize = 6;

/// Shorter keys stay in what a model says.
const SHORTEST_IN_ANSWERS: usize = 16;

/// What stands in the place of a key.
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
        for spelling in [text, json.trim_matches('"'), &encoded] {
            let known = self
                .spellings
                .iter()
                .any(|known| known.expose() == spelling);
            if spelling.len() >= SHORTEST && !known {
                self.spellings.push(Secret(spelling.into()));
            }
        }
        // A key that contains another one goes first.
        self.spellings
            .sort_by_key(|spelling| std::cmp::Reverse(spelling.expose().len()));
    }

    /// Returns `text` without the keys: what is said about a request.
    pub fn clean(&self, text: &str) -> String {
        self.without(text, SHORTEST)
    }

    /// Returns a model's words without the keys. Short ones stay: servers on one's own machine get keys such as
    /// `ollama`, which are no secret, and an answer may speak of them.
    pub fn clean_answer(&self, text: &str) -> String {
        self.without(text, SHORTEST_IN_ANSWERS)
    }

    fn without(&self, text: &str, shortest: usize) -> String {
        let mut clean = text.to_owned();
        // The longest come first.
        let long = |spelling: &&Secret| spelling.expose().len() >= shortest;
        for spelling in self.spellings.iter().take_while(long) {
            if clean.contains(spelling.expose()) {
                clean = clean.replace(spelling.expose(), REMOVED);
            }
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::{Redactor, Secret};

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
    fn a_key_that_contains_another_goes_whole() {
        let secrets = [Secret::new("abcdef"), Secret::new("abcdef-123456")];
        let redactor = Redactor::new(secrets.iter().flatten());
        assert!(!redactor.clean("abcdef-123456").contains("123456"));
    }
}
