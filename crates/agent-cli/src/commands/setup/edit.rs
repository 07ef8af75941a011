//! Edits of other programs' settings that leave everything else as it is: comments, order, indentation, line ends.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{Document, Item};

use super::targets::{Place, SERVER, extension};

/// What a file has in a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// What setup writes, for the program of this name.
    Ours(String),
    /// Something else, of this name.
    Other(String),
}

/// Something of ours in a document of JSON.
struct Ours {
    program: String,
    /// The member that says what runs.
    command: CstObjectProp,
    /// All that is ours.
    whole: CstNode,
}

/// Returns what a file has in a place.
///
/// # Errors
/// A file that is no JSON or no TOML.
pub(super) fn find(text: &str, place: Place, agent: &str) -> Result<Found, String> {
    let (name, program) = match place {
        Place::Text(_) if text.is_empty() => return Ok(Found::Nothing),
        Place::Text(_) => ("its text".to_owned(), is_signed(text).then(String::new)),
        Place::TomlServer(outer) => match server(&toml(text)?, outer) {
            Some(item) => (format!("{outer}.{SERVER}"), toml_program(item)),
            None => return Ok(Found::Nothing),
        },
        _ => {
            let (root, names) = (json(text)?, place.names());
            let first = ours(&root, place, agent).into_iter().next();
            let is_there = member(&root, &names).is_some() && !matches!(place, Place::Hook(..));
            if first.is_none() && !is_there {
                return Ok(Found::Nothing);
            }
            (names.join("."), first.map(|ours| ours.program))
        }
    };
    Ok(program.map_or(Found::Other(name), Found::Ours))
}

/// Returns the text of a file with what runs `program`; the same text where it is there.
///
/// # Errors
/// A file that is no JSON or no TOML, or that has something else around the place.
pub(super) fn put(text: &str, place: Place, agent: &str, program: &str) -> Result<String, String> {
    match place {
        Place::Text(name) => {
            let text = extension(name);
            return Ok(format!("{text}{}", signature(text)));
        }
        Place::TomlServer(outer) => return put_table(text, outer, program),
        _ => {}
    }
    let names = place.names();
    let (name, outer) = names.split_last().ok_or("no name")?;
    let (root, object) = object_at(text, outer)?;
    let there = ours(&root, place, agent);
    for found in there.iter().filter(|found| found.program != program) {
        let command = place.command(agent, program);
        found.command.set_value(CstInputValue::String(command));
    }
    let value = input(&place.value(agent, program));
    match place {
        _ if !there.is_empty() => {}
        Place::Hook(..) => {
            let list = object.array_value_or_create(name);
            let list = list.ok_or_else(|| format!("{} is not a list", names.join(".")))?;
            list.ensure_multiline();
            list.append(value);
        }
        _ => {
            object.append(name, value);
        }
    }
    Ok(root.to_string())
}

/// Returns the text of a file in which the member that the names lead to has a value; null removes it.
///
/// # Errors
/// A file that is no JSON, or that has something else around the place.
pub(in crate::commands) fn set(
    text: &str,
    names: &[&str],
    value: &Value,
) -> Result<String, String> {
    let (name, outer) = names.split_last().ok_or("no name")?;
    let (root, object) = object_at(text, outer)?;
    match object.get(name) {
        Some(there) if value.is_null() => there.remove(),
        Some(there) => there.set_value(input(value)),
        None if value.is_null() => {}
        None => drop(object.append(name, input(value))),
    }
    Ok(root.to_string())
}

/// Returns the text of a file without what is ours, and without what would be left empty and is not in the text
/// `before`; the same text where nothing is ours.
///
/// # Errors
/// A file that is no JSON or no TOML, or that would be none then.
pub(super) fn take_back(
    text: &str,
    place: Place,
    agent: &str,
    before: &str,
) -> Result<String, String> {
    match place {
        Place::Text(_) => return Ok(String::new()),
        Place::TomlServer(outer) => return take_table(text, outer),
        _ => {}
    }
    let (root, before) = (json(text)?, json(before)?);
    let names = place.names();
    let there = ours(&root, place, agent);
    let depth = if there.is_empty() { 0 } else { names.len() };
    there.into_iter().for_each(|ours| ours.whole.remove());
    for names in (1..=depth).rev().map(|depth| &names[..depth]) {
        let Some(left) = member(&root, names) else {
            continue;
        };
        let is_empty = left.value().and_then(|value| value.to_serde_value());
        let is_empty = is_empty.is_some_and(|value| value == json!({}) || value == json!([]));
        if !is_empty || member(&before, names).is_some() {
            break;
        }
        left.remove();
    }
    Ok(root.to_string())
}

/// Returns what a document of JSON has of ours in a place, whatever path the program has.
fn ours(root: &CstRootNode, place: Place, agent: &str) -> Vec<Ours> {
    let Some(found) = member(root, &place.names()) else {
        return Vec::new();
    };
    if !matches!(place, Place::Hook(..)) {
        let command = match place {
            Place::Program(_) => Some(found.clone()),
            _ => found
                .object_value()
                .and_then(|server| server.get("command")),
        };
        let value = found.value().and_then(|value| value.to_serde_value());
        let own = command.and_then(|command| {
            let program = text_of(&command).filter(|program| is_own(program))?;
            let is_whole = value == Some(place.value(agent, &program));
            let whole = found.into();
            is_whole.then_some(Ours {
                program,
                command,
                whole,
            })
        });
        return own.into_iter().collect();
    }
    let elements = found.array_value().map(|list| list.elements());
    let hooks = elements.into_iter().flatten().flat_map(|element| {
        let list = element
            .as_object()
            .and_then(|element| element.array_value("hooks"));
        let hooks = list.map(|list| list.elements()).unwrap_or_default();
        // The user's hooks in our element stay there.
        let only = (hooks.len() == 1).then_some(element);
        hooks.into_iter().filter_map(move |hook| {
            let command = hook.as_object()?.get("command")?;
            let words = shlex::split(&text_of(&command)?)?;
            let is_ours = words.get(1..)? == ["hook", agent] && is_own(&words[0]);
            let whole = only.clone().unwrap_or(hook);
            let program = words[0].clone();
            is_ours.then_some(Ours {
                program,
                command,
                whole,
            })
        })
    });
    hooks.collect()
}

fn text_of(member: &CstObjectProp) -> Option<String> {
    member.value()?.as_string_lit()?.decoded_value().ok()
}

/// Returns whether a program of any path is this one: by a name that has its usual one in it, or by that of the program that
/// runs.
fn is_own(program: &str) -> bool {
    let name = Path::new(program).file_name();
    let running = std::env::current_exe();
    let running = running.as_ref().ok().and_then(|path| path.file_name());
    name.is_some_and(|name| name.to_string_lossy().contains(SERVER) || Some(name) == running)
}

/// Returns the line behind a text that is ours as a whole; it shows whether somebody changed the text.
fn signature(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!(
        "// setup replaces and removes this file while it has not changed: {}\n",
        &hash[..16]
    )
}

fn is_signed(text: &str) -> bool {
    let last = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    let (text, line) = text.split_at(last);
    line == signature(text)
}

fn json(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// Returns the document, and in it the object that the names lead to, which is made where it is missing.
fn object_at(text: &str, names: &[&str]) -> Result<(CstRootNode, CstObject), String> {
    let bare: String = text.split_whitespace().collect();
    let is_empty = bare.is_empty() || bare == "{}";
    let root = json(if is_empty { "{\n}\n" } else { text })?;
    let mut object = root.object_value().ok_or("the file holds no object")?;
    for name in names {
        let inner = object.object_value_or_create(name);
        object = inner.ok_or_else(|| format!("{name} is not an object"))?;
    }
    Ok((root, object))
}

fn member(root: &CstRootNode, names: &[&str]) -> Option<CstObjectProp> {
    let (last, outer) = names.split_last()?;
    let mut object = root.object_value()?;
    for name in outer {
        object = object.object_value(name)?;
    }
    object.get(last)
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

fn toml(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text).map_err(|error| error.to_string())
}

/// Returns the server of ours in a document of TOML.
fn server<'a>(document: &'a Document<&str>, outer: &str) -> Option<&'a Item> {
    document.get(outer)?.get(SERVER)
}

fn toml_program(server: &Item) -> Option<String> {
    let arguments = server.get("args")?.as_array()?.iter();
    let is_ours =
        arguments.map(|item| item.as_str()).eq([Some("mcp")]) && server.as_table_like()?.len() == 2;
    let program = server.get("command")?.as_str()?;
    (is_ours && is_own(program)).then(|| program.to_owned())
}

fn put_table(text: &str, outer: &str, program: &str) -> Result<String, String> {
    let command = toml_edit::Value::from(program).to_string();
    let mut after = text.to_owned();
    if let Some(server) = server(&toml(text)?, outer) {
        let there = server.get("command").and_then(Item::span);
        if toml_program(server).as_deref() != Some(program) {
            after.replace_range(there.unwrap_or_default(), &command);
        }
    } else {
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        if !text.is_empty() {
            after.push_str(if text.ends_with('\n') { "" } else { end });
            after.push_str(end);
        }
        let lines = [
            &format!("[{outer}.{SERVER}]"),
            "args = [\"mcp\"]",
            &format!("command = {command}"),
        ];
        after.extend(lines.iter().flat_map(|line| [line, end]));
    }
    match toml(&after) {
        Ok(_) => Ok(after),
        Err(_) => Err(format!("{outer} is not a table that can be added to")),
    }
}

fn take_table(text: &str, outer: &str) -> Result<String, String> {
    let document = toml(text)?;
    let Some(server) = server(&document, outer).filter(|server| toml_program(server).is_some())
    else {
        return Ok(text.to_owned());
    };
    let spans = ["command", "args"].map(|name| server.get(name).and_then(Item::span));
    let last = spans.iter().flatten().map(|span| span.end).max();
    let range = server.span().zip(last).filter(|_| server.is_table());
    let (start, last) = range
        .map(|(header, last)| (header.start, last))
        .ok_or_else(|| format!("{outer}.{SERVER} is not a table of its own; remove it by hand"))?;
    let end = text[last..]
        .find('\n')
        .map_or(text.len(), |at| last + at + 1);
    // The blank line before it is ours too.
    let before = &text[..start];
    let line = before.strip_suffix("\r\n").or(before.strip_suffix('\n'));
    let line = line.filter(|line| line.is_empty() || line.ends_with('\n'));
    Ok(line.unwrap_or(before).to_owned() + &text[end..])
}
