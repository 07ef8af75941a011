//! The location of a session.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The location of a session in the form of its catalog: only the catalog that returned it can open it.
///
/// The locators of the file catalog are paths; those of other stores begin with `SCHEME://`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Locator(OsString);

impl Locator {
    /// Returns the locator of a catalog that names sessions like this.
    pub fn new(name: impl Into<OsString>) -> Self {
        Self(name.into())
    }

    /// Returns the locator of the file at `path`.
    pub fn of_path(path: &Path) -> Self {
        Self(path.as_os_str().to_owned())
    }

    /// Returns the path that it is where files are meant.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Returns true if it names a session of a store that is no folder: `SCHEME://`.
    pub fn is_remote(&self) -> bool {
        is_url(self.as_path())
    }

    /// Returns its text, which need not be Unicode.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }
}

/// Returns true if a text begins as the address of a store that is no folder does: `SCHEME://`.
pub fn is_url(text: &Path) -> bool {
    let text = text.as_os_str().as_encoded_bytes();
    let is_of_scheme = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let scheme = text.iter().take_while(is_of_scheme);
    let length = scheme.count();
    length > 1 && text[length..].starts_with(b"://")
}

impl fmt::Display for Locator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_path().display().fmt(formatter)
    }
}

impl From<Locator> for PathBuf {
    fn from(locator: Locator) -> Self {
        locator.0.into()
    }
}
