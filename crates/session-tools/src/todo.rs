//! `todo`: the list of what is to be done, which outlives compactions because it is read from the calls themselves.

use llm_providers::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use session_facts::{OpenTodos, TodoItem, TodoState};

use super::earlier::earlier;
use agent_tools::text::{clip_line, count};
use agent_tools::{Concurrency, History, Tool, ToolContext, ToolKind, ToolMeta, ToolOutput};
use agent_tools::{arguments_schema as schema, parse_arguments as parse};

/// The longest text of an item, in characters: what is longer would be cut where the list is read again.
const TEXT_CHARS: usize = 200;

/// The most items of a list.
const MOST_ITEMS: usize = 100;

/// The tool.
pub(crate) struct Todo;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The whole list from now on, in the order of the work. Without it, nothing changes and the list is shown.
    items: Option<Vec<Item>>,
}

/// One thing to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// What is to be done, on one line of at most 200 characters.
    text: String,
    /// How far it is: open unless given. At most one item is current.
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Open,
    Current,
    Done,
}

impl Tool for Todo {
    fn name(&self) -> &str {
        "todo"
    }

    fn description(&self) -> &str {
        "Keeps the list of what is to be done. Each call sets the whole list; a call without items shows it. Use it \
         for work of several steps: mark the one that you work on as current, and each as done when it is. The list \
         is kept when older parts of the conversation are summarized."
    }

    fn parameters(&self) -> Value {
        schema::<Arguments>()
    }

    fn meta(&self) -> ToolMeta {
        ToolMeta::READ
            .of_kind(ToolKind::Think)
            .concurrent(Concurrency::WithAny)
            .reading_the_session()
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let list = parse::<Arguments>(arguments).and_then(|arguments| match arguments.items {
                Some(items) => checked(items),
                None => Ok(as_it_stands(context)),
            });
            match list {
                Ok(list) => output(&list),
                Err(message) => ToolOutput::error(message),
            }
        })
    }
}

/// Returns the list that is set, or what is wrong with it; then nothing is set.
fn checked(items: Vec<Item>) -> Result<Vec<TodoItem>, String> {
    if items.len() > MOST_ITEMS {
        let many = items.len();
        return Err(format!(
            "items: {many} are too many; leave out what is done, {MOST_ITEMS} at most"
        ));
    }
    let current = items.iter().filter(|item| item.status == Status::Current);
    if current.count() > 1 {
        return Err(
            "items: more than one is current; choose the one to work on now, the others are open"
                .to_owned(),
        );
    }
    let mut list = Vec::with_capacity(items.len());
    for (place, item) in items.into_iter().enumerate() {
        let text = item.text.trim();
        let length = text.chars().count();
        let wrong = match length {
            0 => Some("is empty; say what is to be done".to_owned()),
            1..=TEXT_CHARS if text.contains(['\n', '\r']) => {
                Some("has several lines; say it on one".to_owned())
            }
            1..=TEXT_CHARS => None,
            _ => Some(format!(
                "has {length} characters; say it in at most {TEXT_CHARS}"
            )),
        };
        if let Some(wrong) = wrong {
            return Err(format!("items[{place}].text: {wrong}"));
        }
        list.push(TodoItem {
            text: text.to_owned(),
            state: match item.status {
                Status::Open => TodoState::Open,
                Status::Current => TodoState::Current,
                Status::Done => TodoState::Done,
            },
        });
    }
    Ok(list)
}

/// Returns the list as the calls of the branch have set it, or those of the session that this one continues.
fn as_it_stands(context: &ToolContext) -> Vec<TodoItem> {
    let list = |history: &History| {
        let mut todos = OpenTodos::default();
        todos.follow(&history.tree.path(history.leaf));
        todos.all()
    };
    let Some(history) = &context.history else {
        return Vec::new();
    };
    let of_earlier = || {
        let mut earlier = earlier(history, context.archive.as_deref()).into_iter();
        earlier.find_map(|history| list(&history))
    };
    // A list that was emptied is the list.
    list(history).or_else(of_earlier).unwrap_or_default()
}

fn output(list: &[TodoItem]) -> ToolOutput {
    let many = |state| list.iter().filter(|item| item.state == state).count();
    let open = many(TodoState::Open) + many(TodoState::Current);
    let done = many(TodoState::Done);
    if list.is_empty() {
        return ToolOutput::text("The list is empty.")
            .with_details(json!({ "open": 0, "done": 0 }));
    }
    let mut text = format!("{}: {open} open, {done} done\n", count(list.len(), "item"));
    for item in list {
        let mark = match item.state {
            TodoState::Open => "[ ]",
            TodoState::Current => "[>]",
            TodoState::Done => "[x]",
        };
        text.push_str(&format!("{mark} {}\n", clip_line(&item.text, TEXT_CHARS)));
    }
    ToolOutput::text(text).with_details(json!({ "open": open, "done": done }))
}
