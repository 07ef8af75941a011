//! The resources of the server: entries and summaries of sessions, by address.

use rmcp::model::{JsonObject, Resource, ResourceTemplate, object};
use serde_json::{Value, json};
use session_model::{EntryBody, EntryKind};

use super::{State, bounded};
use crate::error::Error;
use crate::files::open_session;
use crate::ui::{clean, clean_lines};
use session_finder::glance;

/// How addresses begin.
const SCHEME: &str = "session://";

/// The most tokens of a resource.
const MOST_TOKENS: u64 = 8000;

/// How many sessions are listed.
const LISTED: usize = 20;

/// What an address names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Address<'a> {
    /// An entry of a session.
    Entry { session: &'a str, entry: &'a str },
    /// The newest summary of a session.
    Summary { session: &'a str },
}

impl<'a> Address<'a> {
    /// Returns what an address names; the session is named as in calls of tools.
    pub fn parse(uri: &'a str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let (session, part) = rest.split_once('/')?;
        let is_name = |name: &str| !name.is_empty() && !name.contains('/');
        match part.split_once('/') {
            Some(("entry", entry)) if is_name(entry) && is_name(session) => {
                Some(Self::Entry { session, entry })
            }
            None if part == "summary" && is_name(session) => Some(Self::Summary { session }),
            _ => None,
        }
    }
}

/// Returns the forms that addresses have.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let entry = ResourceTemplate::new(format!("{SCHEME}{{session}}/entry/{{entry}}"), "entry")
        .with_description("An entry of a session, by the ids that recall finds.")
        .with_mime_type("text/plain");
    let summary = ResourceTemplate::new(format!("{SCHEME}{{session}}/summary"), "summary")
        .with_description("The newest summary that a compaction of a session wrote.")
        .with_mime_type("text/plain");
    vec![entry, summary]
}

impl State {
    /// Returns the summaries of the sessions of this project, the last written first.
    pub fn resources(&self) -> Result<Vec<Resource>, Error> {
        let found = self.finder.list(None, Some(&self.folder))?.into_iter();
        let compacted = found.filter(|found| {
            glance(found.row.locator.as_path()).is_some_and(|glance| glance.compactions > 0)
        });
        let resources = compacted.take(LISTED).map(|found| {
            let name = found.row.name.or(found.row.first_prompt);
            let name = clean(&name.unwrap_or_default());
            let uri = format!("{SCHEME}{}/summary", found.row.id);
            Resource::new(uri, format!("summary of {}", found.row.id))
                .with_description(format!("{}: {name}", found.agent))
                .with_mime_type("text/plain")
        });
        Ok(resources.collect())
    }

    /// Returns the text at an address.
    pub fn resource(&self, uri: &str) -> Result<String, String> {
        let address = Address::parse(uri);
        match address.ok_or_else(|| format!("no resource is called {}", clean(uri)))? {
            Address::Entry { session, entry } => {
                let call: JsonObject = object(json!({
                    "session": session,
                    "ids": [entry],
                    "max_tokens": MOST_TOKENS,
                }));
                self.call("recall_read", &call)
            }
            Address::Summary { session } => {
                let call = JsonObject::from_iter([("session".to_owned(), Value::from(session))]);
                let (path, note) = self.session(&call).map_err(|error| error.to_string())?;
                let session = open_session(&path).map_err(|error| error.to_string())?;
                let tree = session.tree();
                let newest = tree.path(tree.leaf()).newest(EntryKind::Compaction);
                let entry = newest.and_then(|(_, index)| tree.entry(index).ok());
                let Some(EntryBody::Compaction(compaction)) = entry.map(|entry| entry.body) else {
                    return Err("the session was never compacted".to_owned());
                };
                let text = clean_lines(&self.filter.session_text(&compaction.summary));
                Ok(format!("{note}\n\n{}", bounded(&text, MOST_TOKENS)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_name_an_entry_or_a_summary() {
        let entry = Address::Entry {
            session: "claude:4f1c",
            entry: "e1",
        };
        assert_eq!(
            Address::parse("session://claude:4f1c/entry/e1"),
            Some(entry)
        );
        let summary = Address::Summary { session: "newest" };
        assert_eq!(Address::parse("session://newest/summary"), Some(summary));
        for other in [
            "session://a",
            "session:///summary",
            "session://a/entry/",
            "session://a/entry/b/c",
            "session://a/other",
            "file:///etc/passwd",
        ] {
            assert_eq!(Address::parse(other), None, "{other}");
        }
    }
}
