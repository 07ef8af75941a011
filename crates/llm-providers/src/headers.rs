//! Headers that the user adds to requests. They may be keys, so printing them shows their names alone.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

/// Headers by name.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Headers(pub BTreeMap<String, String>);

impl Deref for Headers {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Headers {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Headers;

    #[test]
    fn values_are_not_printed() {
        let mut headers = Headers::default();
        headers.insert("x-key".to_owned(), "planted".to_owned());
        assert_eq!(format!("{headers:?}"), "[\"x-key\"]");
    }
}
