//! errors

use std::fmt;

/// The error. TODO use it everywhere
#[derive(Debug, Clone, PartialEq)]
pub enum TextError {
    Parse(String),
    Template(String),
    Table(String),
    Other(String),
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextError::Parse(s) => write!(f, "Parse error: {}", s),
            TextError::Template(s) => write!(f, "Template error: {}", s),
            TextError::Table(s) => write!(f, "Table error: {}", s),
            TextError::Other(s) => write!(f, "{}", s),
        }
    }
}

impl std::error::Error for TextError {}

impl From<String> for TextError {
    fn from(s: String) -> Self {
        TextError::Other(s)
    }
}

impl From<&str> for TextError {
    fn from(s: &str) -> Self {
        TextError::Other(s.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_their_kind() {
        let error = TextError::Parse("bad digit".to_string());
        assert_eq!(error.to_string(), "Parse error: bad digit");
        let error: TextError = "plain".into();
        assert_eq!(error.to_string(), "plain");
    }
}
