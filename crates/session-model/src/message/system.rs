//! The system message in force: all system messages of a context, replayed into one.

use std::collections::BTreeMap;

use crate::json::{RawJson, quoted};
use crate::message::{AgentMessage, Content, SystemMessage, content_text};

/// Returns the system message that is in force after `messages`, or `None` when none was given.
///
/// Contents are joined by a blank line, sections and tools are replaced by name
/// and removed where a later message says so (the rule of the pi family).
pub fn current_system<'a>(
    messages: impl IntoIterator<Item = &'a AgentMessage>,
) -> Option<SystemMessage> {
    let mut content = Vec::new();
    let mut sections: Named<String> = Named::default();
    let mut tools: Named<RawJson> = Named::default();
    let mut timestamp = None;
    let mut seen = false;
    for message in messages {
        let AgentMessage::System(system) = message else {
            continue;
        };
        if !seen {
            timestamp = system.timestamp;
            seen = true;
        }
        let text = system.content.joined_text("\n");
        if !text.is_empty() {
            content.push(text);
        }
        for (name, value) in &system.sections {
            sections.set(name, value.clone());
        }
        for name in &system.tools_removed {
            tools.set(name, None);
        }
        for tool in &system.tools_added {
            let name = tool.string_member("name").unwrap_or_default().into_owned();
            tools.set(&name, Some(tool.clone()));
        }
    }
    seen.then(|| SystemMessage {
        content: Content::Text(content.join("\n\n")),
        sections: sections
            .into_items()
            .map(|(name, text)| (name, Some(text)))
            .collect(),
        tools_added: tools.into_items().map(|(_, tool)| tool).collect(),
        tools_removed: Vec::new(),
        timestamp,
    })
}

/// Items by name in the order in which they were first set; one that is removed and set again goes last.
struct Named<T> {
    items: Vec<Option<(String, T)>>,
    places: BTreeMap<String, usize>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            places: BTreeMap::new(),
        }
    }
}

impl<T> Named<T> {
    /// Sets or (with `None`) removes the item called `name`.
    fn set(&mut self, name: &str, value: Option<T>) {
        match (self.places.get(name), value) {
            (Some(place), Some(value)) => self.items[*place] = Some((name.to_owned(), value)),
            (Some(place), None) => {
                self.items[*place] = None;
                self.places.remove(name);
            }
            (None, Some(value)) => {
                self.places.insert(name.to_owned(), self.items.len());
                self.items.push(Some((name.to_owned(), value)));
            }
            (None, None) => {}
        }
    }

    fn into_items(self) -> impl Iterator<Item = (String, T)> {
        self.items.into_iter().flatten()
    }
}

/// Returns the JSON text of a system message, as a message and a compaction entry carry it.
pub fn system_raw(system: &SystemMessage, timestamp_millis: i64) -> RawJson {
    let mut out = String::from("{\"role\":\"system\",\"content\":");
    out.push_str(&content_text(&system.content));
    if !system.sections.is_empty() {
        let mut seen = BTreeMap::new();
        let sections = system.sections.iter().filter_map(|(name, text)| {
            let text = text.as_deref().map_or("null".to_owned(), quoted);
            let fresh = seen.insert(name.as_str(), ()).is_none();
            fresh.then(|| format!("{}:{text}", quoted(name)))
        });
        out.push_str(",\"sections\":{");
        out.push_str(&sections.collect::<Vec<_>>().join(","));
        out.push('}');
    }
    if !system.tools_added.is_empty() {
        let tools = system.tools_added.iter().map(RawJson::get);
        out.push_str(",\"toolsAdded\":[");
        out.push_str(&tools.collect::<Vec<_>>().join(","));
        out.push(']');
    }
    if !system.tools_removed.is_empty() {
        let names = system.tools_removed.iter();
        let tools = names.map(|name| format!("{{\"name\":{}}}", quoted(name)));
        out.push_str(",\"toolsRemoved\":[");
        out.push_str(&tools.collect::<Vec<_>>().join(","));
        out.push(']');
    }
    out.push_str(&format!(",\"timestamp\":{timestamp_millis}}}"));
    RawJson::parse(&out).unwrap_or_else(|_| unreachable!("the parts are JSON"))
}
