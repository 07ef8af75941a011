//! tmpl - template engine. {{ name }}, {{ name | upper }}, {{#if x}} {{/if}}, {{#each xs}} {{.}} {{/each}}

use crate::filters;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Flag(bool),
    List(Vec<String>),
}

pub type Context = BTreeMap<String, Value>;

#[derive(Debug)]
pub enum TemplateError {
    UnclosedTag(usize),
    UnclosedBlock(String),
    UnexpectedEnd(String),
    UnknownName(String),
    WrongKind(String),
    Filter(String),
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TemplateError::UnclosedTag(at) => write!(f, "Unclosed tag at byte {}.", at),
            TemplateError::UnclosedBlock(name) => write!(f, "Block {} is not closed.", name),
            TemplateError::UnexpectedEnd(name) => write!(f, "Unexpected end of {}.", name),
            TemplateError::UnknownName(name) => write!(f, "Unknown name {}.", name),
            TemplateError::WrongKind(name) => write!(f, "{} has the wrong kind.", name),
            TemplateError::Filter(s) => write!(f, "{}", s),
        }
    }
}

impl std::error::Error for TemplateError {}

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

// blocks that are open while parsing
struct Open {
    kind: String,
    name: String,
    nodes: Vec<Node>,
}

impl Template {
    pub fn parse(source: &str) -> Result<Template, TemplateError> {
        let mut stack: Vec<Open> = Vec::new();
        let mut nodes: Vec<Node> = Vec::new();
        let mut pos = 0;
        while pos < source.len() {
            let rest = &source[pos..];
            let start = match rest.find("{{") {
                Some(start) => start,
                None => {
                    nodes.push(Node::Text(rest.to_string()));
                    break;
                }
            };
            if start > 0 {
                nodes.push(Node::Text(rest[..start].to_string()));
            }
            let end = match rest[start..].find("}}") {
                Some(end) => start + end,
                None => return Err(TemplateError::UnclosedTag(pos + start)),
            };
            let tag = rest[start + 2..end].trim();
            pos = pos + end + 2;
            if let Some(block) = tag.strip_prefix('#') {
                let mut parts = block.split_whitespace();
                let kind = parts.next().unwrap_or("").to_string();
                let name = parts.next().unwrap_or("").to_string();
                if kind != "if" && kind != "each" {
                    return Err(TemplateError::UnknownName(kind));
                }
                stack.push(Open {
                    kind: kind,
                    name: name,
                    nodes: nodes,
                });
                nodes = Vec::new();
            } else if let Some(kind) = tag.strip_prefix('/') {
                let open = match stack.pop() {
                    Some(open) => open,
                    None => return Err(TemplateError::UnexpectedEnd(kind.to_string())),
                };
                if open.kind != kind {
                    return Err(TemplateError::UnexpectedEnd(kind.to_string()));
                }
                let inner = nodes;
                nodes = open.nodes;
                if kind == "if" {
                    nodes.push(Node::If(open.name, inner));
                } else {
                    nodes.push(Node::Each(open.name, inner));
                }
            } else {
                let mut parts = tag.split('|');
                let name = parts.next().unwrap_or("").trim().to_string();
                let filters = parts.map(|p| p.trim().to_string()).collect();
                nodes.push(Node::Var(name, filters));
            }
        }
        if let Some(open) = stack.pop() {
            return Err(TemplateError::UnclosedBlock(open.kind));
        }
        Ok(Template { nodes: nodes })
    }

    pub fn render(&self, context: &Context) -> Result<String, TemplateError> {
        let mut out = String::new();
        render_nodes(&self.nodes, context, None, &mut out)?;
        Ok(out)
    }
}

fn render_nodes(
    nodes: &Vec<Node>,
    context: &Context,
    item: Option<&str>,
    out: &mut String,
) -> Result<(), TemplateError> {
    for node in nodes {
        match node {
            Node::Text(s) => out.push_str(s),
            Node::Var(name, filters) => {
                let mut text = lookup(name, context, item)?;
                for f in filters {
                    text = match filters::apply_filter(f, &text) {
                        Ok(text) => text,
                        Err(e) => return Err(TemplateError::Filter(e)),
                    };
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
                Some(_) => return Err(TemplateError::WrongKind(name.clone())),
                None => return Err(TemplateError::UnknownName(name.clone())),
            },
        }
    }
    Ok(())
}

fn lookup(name: &str, context: &Context, item: Option<&str>) -> Result<String, TemplateError> {
    if name == "." {
        return match item {
            Some(item) => Ok(item.to_string()),
            None => Err(TemplateError::UnknownName(".".to_string())),
        };
    }
    match context.get(name) {
        Some(Value::Text(s)) => Ok(s.clone()),
        Some(Value::Flag(b)) => Ok(b.to_string()),
        Some(Value::List(l)) => Ok(l.join(", ")),
        None => Err(TemplateError::UnknownName(name.to_string())),
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

    fn render(source: &str) -> Result<String, TemplateError> {
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
            assert!(render(source).is_err(), "{}", source);
        }
    }
}
