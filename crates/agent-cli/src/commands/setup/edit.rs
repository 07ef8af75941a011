//! Edits of other programs' settings that leave everything else as it is: comments, order, indentation.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use super::targets::Edit;

/// Returns the text of a file with the edit; the same text where it is there already.
///
/// # Errors
/// A file that is no JSON or no TOML, or that has something else in the place of the edit.
pub(super) fn put(text: &str, edit: &Edit) -> Result<String, String> {
    match edit {
        Edit::Member(names, value) => {
            let (root, object) = object_at(text, &names[..names.len() - 1])?;
            let name = names[names.len() - 1];
            match object.get(name) {
                Some(member) if member.to_serde_value().as_ref() == Some(value) => {}
                Some(member) => member.set_value(input(value)),
                None => {
                    object.append(name, input(value));
                }
            }
            Ok(with_newline(&root))
        }
        Edit::Element(names, value) => {
            let (root, object) = object_at(text, &names[..names.len() - 1])?;
            let name = names[names.len() - 1];
            let list = object.array_value_or_create(name);
            let list = list.ok_or_else(|| format!("{} is no list", names.join(".")))?;
            let is_there = |element: &CstNode| element.to_serde_value().as_ref() == Some(value);
            if !list.elements().iter().any(is_there) {
                list.ensure_multiline();
                list.append(input(value));
            }
            Ok(with_newline(&root))
        }
        Edit::Table([outer, inner], values) => {
            let mut document = toml(text)?;
            let tables = document.entry(outer).or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(true);
                Item::Table(table)
            });
            let tables = tables
                .as_table_like_mut()
                .ok_or_else(|| format!("{outer} is no table"))?;
            if tables
                .get(inner)
                .and_then(Item::as_table_like)
                .is_none_or(|table| !holds(table, values))
            {
                let mut table = Table::new();
                for (name, item) in values.as_object().into_iter().flatten() {
                    table.insert(name, toml_value(item));
                }
                tables.insert(inner, Item::Table(table));
            }
            Ok(document.to_string())
        }
        Edit::Text(text) => Ok((*text).to_owned()),
    }
}

/// Returns the text of a file without the edit, and without what would be left empty; the same text where it is not
/// there.
///
/// # Errors
/// A file that is no JSON or no TOML.
pub(super) fn take_back(text: &str, edit: &Edit) -> Result<String, String> {
    match edit {
        Edit::Member(names, _) => {
            let root = json(text)?;
            if let Some(member) = find(&root, names) {
                remove(member, names.len());
            }
            Ok(root.to_string())
        }
        Edit::Element(names, value) => {
            let root = json(text)?;
            let list = find(&root, names);
            let elements = list
                .as_ref()
                .and_then(CstNode::as_array)
                .map(|list| list.elements());
            let ours = elements.into_iter().flatten();
            let mut ours = ours.filter(|element| element.to_serde_value().as_ref() == Some(value));
            if let Some(element) = ours.next() {
                element.remove();
                if let Some(list) = list.filter(|list| {
                    list.as_array()
                        .is_some_and(|list| list.elements().is_empty())
                }) {
                    remove(list, names.len());
                }
            }
            Ok(root.to_string())
        }
        Edit::Table([outer, inner], _) => {
            let mut document = toml(text)?;
            let tables = document.get_mut(outer).and_then(Item::as_table_like_mut);
            let is_empty =
                tables.is_some_and(|tables| tables.remove(inner).is_some() && tables.is_empty());
            if is_empty {
                document.remove(outer);
            }
            Ok(document.to_string())
        }
        Edit::Text(_) => Ok(String::new()),
    }
}

/// Returns whether nothing is left in the text of a file.
pub(super) fn is_empty(text: &str) -> bool {
    let bare: String = text.split_whitespace().collect();
    bare.is_empty() || bare == "{}"
}

fn json(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

fn toml(text: &str) -> Result<DocumentMut, String> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| error.to_string())
}

/// Returns the document, and in it the object that the names lead to, which is made where it is missing.
fn object_at(text: &str, names: &[&str]) -> Result<(CstRootNode, CstObject), String> {
    let root = json(if is_empty(text) { "{\n}\n" } else { text })?;
    let object = root.object_value().ok_or("the file holds no object")?;
    let mut object = object;
    for name in names {
        let inner = object.object_value_or_create(name);
        object = inner.ok_or_else(|| format!("{name} is no object"))?;
    }
    Ok((root, object))
}

/// Returns the value that the names lead to.
fn find(root: &CstRootNode, names: &[&str]) -> Option<CstNode> {
    let (last, outer) = names.split_last()?;
    let mut object = root.object_value()?;
    for name in outer {
        object = object.object_value(name)?;
    }
    object.get(last)?.value()
}

/// Removes the member whose value this is, and each of the objects around it, `depth` members deep, that is empty then.
fn remove(value: CstNode, depth: usize) {
    let mut value = Some(value);
    for _ in 0..depth {
        let Some(member) = value
            .and_then(|value| value.parent())
            .and_then(|parent| parent.as_object_prop())
        else {
            return;
        };
        let object = member.parent().and_then(|parent| parent.as_object());
        member.remove();
        value = object
            .filter(|object| object.properties().is_empty())
            .map(|object| CstNode::Container(object.into()));
    }
}

fn with_newline(root: &CstRootNode) -> String {
    let text = root.to_string();
    match text.ends_with('\n') {
        true => text,
        false => text + "\n",
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
    }
}

/// Returns a text or a list of texts.
fn toml_value(item: &Value) -> Item {
    match item {
        Value::Array(texts) => value(
            texts
                .iter()
                .filter_map(Value::as_str)
                .collect::<toml_edit::Array>(),
        ),
        item => value(item.as_str().unwrap_or_default()),
    }
}

fn holds(table: &dyn TableLike, values: &Value) -> bool {
    let mut values = values.as_object().into_iter().flatten();
    values.all(|(name, item)| {
        let there = table
            .get(name)
            .map(|there| there.to_string().trim().to_owned());
        there == Some(toml_value(item).to_string())
    })
}
