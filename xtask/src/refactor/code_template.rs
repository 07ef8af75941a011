//! The template module as it is written anew, docs aside.

/// `src/template.rs`.
pub const TEMPLATE: &str = r##"
//! tmpl - template engine. {{ name }}, {{ name | upper }}, {{#if x}} {{/if}}, {{#each xs}} {{.}} {{/each}}

use crate::error::Error;
use crate::filters;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Flag(bool),
    List(Vec<String>),
}

pub type Context = BTreeMap<String, Value>;

#[derive(Debug, Clone)]
enum Node {
    Text(String),
    Var(String, Vec<String>),
    If(String, Vec<Node>),
    Each(String, Vec<Node>),
}

/// A parsed template
#[derive(Debug, Clone)]
pub struct Template {
    nodes: Vec<Node>,
}

/// The kinds of blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Block {
    If,
    Each,
}

impl Block {
    fn of(kind: &str) -> Option<Self> {
        match kind {
            "if" => Some(Block::If),
            "each" => Some(Block::Each),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Block::If => "if",
            Block::Each => "each",
        }
    }
}

/// What stands between two pairs of braces.
enum Tag<'a> {
    Open(Block, &'a str),
    Close(&'a str),
    Var(&'a str, Vec<String>),
}

/// A block that is open while parsing.
struct Open {
    block: Block,
    name: String,
    at: usize,
    outside: Vec<Node>,
}

impl Template {
    pub fn parse(source: &str) -> Result<Template, Error> {
        let mut stack: Vec<Open> = Vec::new();
        let mut nodes: Vec<Node> = Vec::new();
        let mut pos = 0;
        while let Some(start) = source[pos..].find("{{") {
            let at = pos + start;
            if start > 0 {
                nodes.push(Node::Text(source[pos..at].to_string()));
            }
            let Some(length) = source[at..].find("}}") else {
                return Err(wrong(at, "the tag is not closed"));
            };
            pos = at + length + 2;
            match read_tag(source[at + 2..at + length].trim(), at)? {
                Tag::Open(block, name) => stack.push(Open {
                    block,
                    name: name.to_string(),
                    at,
                    outside: std::mem::take(&mut nodes),
                }),
                Tag::Close(kind) => {
                    let open = stack.pop().filter(|open| open.block.name() == kind);
                    let open = open.ok_or_else(|| wrong(at, &format!("{kind} was not begun")))?;
                    let inner = std::mem::replace(&mut nodes, open.outside);
                    nodes.push(match open.block {
                        Block::If => Node::If(open.name, inner),
                        Block::Each => Node::Each(open.name, inner),
                    });
                }
                Tag::Var(name, filters) => nodes.push(Node::Var(name.to_string(), filters)),
            }
        }
        if pos < source.len() {
            nodes.push(Node::Text(source[pos..].to_string()));
        }
        match stack.pop() {
            Some(open) => Err(wrong(open.at, &format!("{} is not closed", open.block.name()))),
            None => Ok(Template { nodes }),
        }
    }

    pub fn render(&self, context: &Context) -> Result<String, Error> {
        let mut out = String::new();
        render_nodes(&self.nodes, context, None, &mut out)?;
        Ok(out)
    }
}

fn wrong(at: usize, reason: &str) -> Error {
    Error::Template {
        at,
        reason: reason.to_string(),
    }
}

fn read_tag(tag: &str, at: usize) -> Result<Tag<'_>, Error> {
    if let Some(kind) = tag.strip_prefix('/') {
        return Ok(Tag::Close(kind));
    }
    if let Some(block) = tag.strip_prefix('#') {
        let mut parts = block.split_whitespace();
        let kind = parts.next().unwrap_or_default();
        let block = Block::of(kind).ok_or_else(|| wrong(at, &format!("there is no block {kind}")))?;
        return Ok(Tag::Open(block, parts.next().unwrap_or_default()));
    }
    let mut parts = tag.split('|').map(str::trim);
    let name = parts.next().unwrap_or_default();
    Ok(Tag::Var(name, parts.map(str::to_string).collect()))
}

fn render_nodes(
    nodes: &[Node],
    context: &Context,
    item: Option<&str>,
    out: &mut String,
) -> Result<(), Error> {
    for node in nodes {
        match node {
            Node::Text(s) => out.push_str(s),
            Node::Var(name, filters) => {
                let mut text = lookup(name, context, item)?;
                for filter in filters {
                    text = filters::apply_filter(filter, &text)?;
                }
                out.push_str(&text);
            }
            Node::If(name, inner) => match context.get(name) {
                Some(Value::Flag(false)) | None => {}
                Some(Value::Text(s)) if s.is_empty() => {}
                Some(Value::List(l)) if l.is_empty() => {}
                Some(_) => render_nodes(inner, context, item, out)?,
            },
            Node::Each(name, inner) => match context.get(name) {
                Some(Value::List(list)) => {
                    for entry in list {
                        render_nodes(inner, context, Some(entry), out)?;
                    }
                }
                Some(_) => return Err(unusable(name, "is no list")),
                None => return Err(unusable(name, "is not known")),
            },
        }
    }
    Ok(())
}

fn lookup(name: &str, context: &Context, item: Option<&str>) -> Result<String, Error> {
    if name == "." {
        return item.map(str::to_string).ok_or_else(|| unusable(".", "stands outside of each"));
    }
    match context.get(name) {
        Some(Value::Text(s)) => Ok(s.clone()),
        Some(Value::Flag(b)) => Ok(b.to_string()),
        Some(Value::List(l)) => Ok(l.join(", ")),
        None => Err(unusable(name, "is not known")),
    }
}

fn unusable(name: &str, reason: &'static str) -> Error {
    Error::Name {
        name: name.to_string(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        let mut context = Context::new();
        context.insert("name".to_string(), Value::Text("Ada".to_string()));
        context.insert("admin".to_string(), Value::Flag(false));
        let tags = vec!["x".to_string(), "y".to_string()];
        context.insert("tags".to_string(), Value::List(tags));
        context
    }

    fn render(source: &str) -> Result<String, Error> {
        Template::parse(source)?.render(&context())
    }

    #[test]
    fn names_and_filters() {
        assert_eq!(render("Hi {{ name }}!").unwrap(), "Hi Ada!");
        assert_eq!(render("{{ name | upper | pad:5 }}|").unwrap(), "ADA  |");
        assert_eq!(render("{{ tags }}").unwrap(), "x, y");
    }

    #[test]
    fn blocks_repeat_or_vanish() {
        assert_eq!(render("{{#each tags}}<{{.}}>{{/each}}").unwrap(), "<x><y>");
        assert_eq!(render("a{{#if admin}}b{{/if}}c").unwrap(), "ac");
        assert_eq!(render("{{#if tags}}yes{{/if}}").unwrap(), "yes");
    }

    #[test]
    fn mistakes_are_errors() {
        for source in ["{{ name", "{{#if name}}", "{{/each}}", "{{ nobody }}", "{{ name | shout }}"] {
            assert!(render(source).is_err(), "{source}");
        }
    }
}
"##;
