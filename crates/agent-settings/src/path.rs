//! Dotted keys: `compaction.enabled`, `models."openai/gpt-6.2-sol".prices[0].input`.

use std::fmt;

use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

/// One step of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Into a member of an object.
    Name(String),
    /// Into an item of a list.
    Item(usize),
}

/// The path of a value in a tree of settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath(pub Vec<Step>);

impl KeyPath {
    /// Returns the path that a dotted key names; a name in double quotes may hold dots. `None` when the quotes do
    /// not fit.
    pub fn parse(key: &str) -> Option<Self> {
        let mut path = Self::default();
        let mut rest = key;
        loop {
            let (name, after) = match rest.strip_prefix('"') {
                Some(quoted) => {
                    let (name, after) = quoted.split_once('"')?;
                    match after.strip_prefix('.') {
                        Some(after) => (name, Some(after)),
                        None if after.is_empty() => (name, None),
                        None => return None,
                    }
                }
                None => match rest.split_once('.') {
                    Some((name, after)) => (name, Some(after)),
                    None => (rest, None),
                },
            };
            if name.contains('"') {
                return None;
            }
            path.push(name);
            match after {
                Some(after) => rest = after,
                None => return Some(path),
            }
        }
    }

    /// Returns the path of these names.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = names.into_iter().map(|name| Step::Name(name.to_owned()));
        Self(names.collect())
    }

    /// Returns the path at which reading a tree failed.
    pub fn of_failure(path: &Path) -> Self {
        let steps = path.iter().filter_map(|segment| match segment {
            Segment::Seq { index } => Some(Step::Item(*index)),
            Segment::Map { key } => Some(Step::Name(key.clone())),
            Segment::Enum { .. } | Segment::Unknown => None,
        });
        Self(steps.collect())
    }

    /// Goes into a member.
    pub fn push(&mut self, name: &str) {
        self.0.push(Step::Name(name.to_owned()));
    }

    /// Returns the path of a member.
    pub fn member(&self, name: &str) -> Self {
        let mut path = self.clone();
        path.push(name);
        path
    }

    /// Returns the path around this one, and the name of the member; `None` at the root and for items.
    pub fn split(&self) -> Option<(Self, &str)> {
        match self.0.split_last() {
            Some((Step::Name(name), around)) => Some((Self(around.to_vec()), name)),
            Some((Step::Item(_), _)) | None => None,
        }
    }

    /// Returns the names, or `None` where it goes into a list.
    pub fn names(&self) -> Option<Vec<&str>> {
        let names = self.0.iter().map(|step| match step {
            Step::Name(name) => Some(name.as_str()),
            Step::Item(_) => None,
        });
        names.collect()
    }

    /// Returns true when this path is `around` or inside it.
    pub fn is_within(&self, around: &Self) -> bool {
        self.0.starts_with(&around.0)
    }

    /// Returns the value there.
    pub fn find<'a>(&self, tree: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(tree, |at, step| match step {
            Step::Name(name) => at.get(name),
            Step::Item(index) => at.get(index),
        })
    }

    /// Returns a tree that holds only `value`, at this path of names.
    pub fn tree(&self, value: Value) -> Value {
        self.0.iter().rev().fold(value, |inner, step| match step {
            Step::Name(name) => Value::Object(Map::from_iter([(name.clone(), inner)])),
            Step::Item(_) => inner,
        })
    }

    /// Returns the key without quotes, as errors of the catalog write it.
    pub fn plain(&self) -> String {
        self.written(|_| false)
    }

    fn written(&self, quoted: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        for step in &self.0 {
            match step {
                Step::Item(index) => text.push_str(&format!("[{index}]")),
                Step::Name(name) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    match quoted(name) {
                        true => text.push_str(&format!("\"{name}\"")),
                        false => text.push_str(name),
                    }
                }
            }
        }
        text
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(|name| name.is_empty() || name.contains(['.', '"', '['])))
    }
}

#[cfg(test)]
mod tests {
    use super::KeyPath;

    #[test]
    fn quoted_names_hold_dots() {
        for (key, want) in [
            ("a.b", vec!["a", "b"]),
            (
                r#"models."a/b-1.0".window"#,
                vec!["models", "a/b-1.0", "window"],
            ),
            (r#""a.b""#, vec!["a.b"]),
            ("", vec![""]),
        ] {
            let path = KeyPath::parse(key).expect("a key");
            assert_eq!(path.names(), Some(want), "{key}");
        }
        for key in [r#"a."b"#, r#"a."b"c"#, r#"a.b"c"#] {
            assert_eq!(KeyPath::parse(key), None, "{key}");
        }
    }

    #[test]
    fn keys_are_written_as_they_are_read() {
        for key in ["a.b", r#"models."a/b-1.0".window"#, r#""a.b""#] {
            let path = KeyPath::parse(key).expect("a key");
            assert_eq!(path.to_string(), key);
            assert_eq!(path.plain(), key.replace('"', ""));
        }
    }
}
