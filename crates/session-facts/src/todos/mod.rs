//! Todo lists, as the calls of todo tools set and change them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use session_model::{
    AgentMessage, EntryBody, EntryIndex, EntryKind, PathMark, SessionPath, SessionTree,
};

use session_model::text::one_line;

use crate::arguments::{TODO_LISTS, TODO_TEXTS, text_of};
use crate::source::SourceMessage;
use crate::tool_call::plain_tool_name;

/// The longest todo, in characters.
const TODO: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Current,
    Done,
    Gone,
}

#[derive(Debug, Clone)]
struct Todo {
    text: String,
    id: String,
    state: State,
}

#[derive(Debug, Clone, Default)]
struct Places {
    of_id: BTreeMap<String, usize>,
    of_text: BTreeMap<String, usize>,
}

impl Places {
    fn add(&mut self, place: usize, todo: &Todo) {
        self.of_id.entry(todo.id.clone()).or_insert(place);
        self.of_text.entry(todo.text.clone()).or_insert(place);
    }

    fn find(&self, id: &str, text: Option<&str>) -> Option<usize> {
        let by_id = self.of_id.get(id).filter(|_| !id.is_empty());
        let by_text = text.and_then(|text| self.of_text.get(text));
        by_id.into_iter().chain(by_text).min().copied()
    }
}

/// A todo list, as the calls of a todo tool set and change it.
#[derive(Debug, Clone, Default)]
struct TodoList {
    todos: Vec<Todo>,
    /// Some call has set or changed it.
    is_set: bool,
    /// Where todos are, once a call changes single ones of the list; of several with one id or text the first counts.
    places: Option<Places>,
}

impl TodoList {
    /// Returns the todos that are not done, what is worked on first.
    fn open(&self) -> impl Iterator<Item = &str> {
        let wanted = [State::Current, State::Open].into_iter();
        wanted.flat_map(|wanted| {
            let open = self.todos.iter().filter(move |todo| todo.state == wanted);
            open.map(|todo| todo.text.as_str())
        })
    }

    /// Applies the arguments of one call: a whole list, or one change by action.
    fn apply(&mut self, arguments: &Value) {
        let mut found = Vec::new();
        let listed = collect(arguments, 0, &mut found);
        if listed {
            self.is_set = true;
            self.todos = found;
            self.places = None;
            return;
        }
        let action = arguments
            .get("action")
            .or_else(|| arguments.get("op"))
            .and_then(Value::as_str);
        let Some(action) = action else {
            return;
        };
        self.is_set = true;
        let id = arguments.get("id").map(plain).unwrap_or_default();
        let text = todo_text(arguments);
        let places = self.places.get_or_insert_with(|| {
            let mut places = Places::default();
            let todos = self.todos.iter().enumerate();
            todos.for_each(|(place, todo)| places.add(place, todo));
            places
        });
        let known = places.find(&id, text.as_deref());
        match (action, known.map(|place| &mut self.todos[place])) {
            ("clear", _) => {
                self.todos.clear();
                self.places = None;
            }
            ("remove" | "delete" | "drop", Some(todo)) => todo.state = State::Gone,
            ("toggle", Some(todo)) if todo.state == State::Done => todo.state = State::Open,
            ("toggle" | "complete" | "done" | "check" | "finish", Some(todo)) => {
                todo.state = State::Done;
            }
            ("start", Some(todo)) => todo.state = State::Current,
            ("update" | "set", Some(todo)) => todo.state = state(arguments).unwrap_or(todo.state),
            ("add" | "create", None) => {
                if let Some(text) = text {
                    let id = if id.is_empty() {
                        (self.todos.len() + 1).to_string()
                    } else {
                        id
                    };
                    let todo = Todo {
                        text,
                        id,
                        state: state(arguments).unwrap_or(State::Open),
                    };
                    places.add(self.todos.len(), &todo);
                    self.todos.push(todo);
                }
            }
            _ => {}
        }
    }
}

/// Collects the todos of the lists in `value`; returns true when there is a list at all.
fn collect(value: &Value, depth: usize, found: &mut Vec<Todo>) -> bool {
    let mut listed = false;
    for list in TODO_LISTS
        .iter()
        .filter_map(|key| value.get(*key).and_then(Value::as_array))
    {
        listed |= list.is_empty() && depth == 0;
        for item in list {
            let nested = depth < 3 && collect(item, depth + 1, found);
            let known = item.get("status").or_else(|| item.get("state")).is_some();
            if let Some(text) =
                todo_text(item).filter(|_| !nested && (known || item.get("op").is_none()))
            {
                let id = item.get("id").map(plain).unwrap_or_default();
                let state = state(item).unwrap_or(State::Open);
                found.push(Todo { text, id, state });
                listed = true;
            }
            listed |= nested;
        }
    }
    listed
}

fn todo_text(item: &Value) -> Option<String> {
    let text = match item {
        Value::String(text) => Some(text.as_str()),
        _ => text_of(item, &TODO_TEXTS),
    };
    text.map(|text| one_line(text, TODO))
        .filter(|text| !text.is_empty())
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn state(item: &Value) -> Option<State> {
    let flag = ["done", "completed", "checked"]
        .iter()
        .find_map(|key| item.get(key).and_then(Value::as_bool));
    if let Some(done) = flag {
        return Some(if done { State::Done } else { State::Open });
    }
    let status = item
        .get("status")
        .or_else(|| item.get("state"))?
        .as_str()?
        .to_lowercase();
    Some(match status.replace('-', "_").as_str() {
        "completed" | "complete" | "done" | "finished" => State::Done,
        "in_progress" | "active" | "doing" | "current" => State::Current,
        "cancelled" | "canceled" | "abandoned" | "dropped" | "deleted" => State::Gone,
        _ => State::Open,
    })
}

/// Returns whether calls of a tool set or change a todo list, whatever agent it belongs to.
fn is_todo_tool(name: &str) -> bool {
    let name = plain_tool_name(name);
    name.contains("todo") || name == "updateplan" || name == "plan"
}

/// Returns the todos of a branch that are not done, what is worked on first. The calls of the whole path count, also
/// those that a compaction took out of the context.
pub fn open_todos(path: &SessionPath<'_>) -> Vec<String> {
    let mut todos = OpenTodos::default();
    todos.follow(path);
    todos.open()
}

/// Returns the todos that the calls in `messages` leave open, with the index of the newest message that made such a call;
/// `None` where none did.
pub fn open_todos_in(messages: &[SourceMessage]) -> Option<(usize, Vec<String>)> {
    let mut todos = OpenTodos::default();
    let mut newest = None;
    for (at, source) in messages.iter().enumerate() {
        if todos.take_message(&source.message) {
            newest = Some(at);
        }
    }
    newest.map(|at| (at, todos.open()))
}

/// How far a todo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoState {
    /// It is to be done.
    Open,
    /// It is worked on.
    Current,
    /// It is done.
    Done,
}

/// A todo as the list has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoItem {
    /// What is to be done, on one line.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// The todo list of a session that grows, of which only what is new is read.
#[derive(Debug, Clone, Default)]
pub struct OpenTodos {
    /// The list without the newest call.
    list: TodoList,
    /// The newest call and its arguments, until its result is known: a call that failed has changed nothing.
    newest: Option<(String, Value)>,
    read: PathMark,
}

impl OpenTodos {
    /// Reads what `path` has gone on with since; all of it where it is another path. The tree must be the same.
    pub fn follow(&mut self, path: &SessionPath<'_>) {
        let from = self.read.advance(path).unwrap_or_else(|| {
            self.list = TodoList::default();
            self.newest = None;
            0
        });
        for index in &path.entries()[from..] {
            self.take(path.tree(), *index);
        }
    }

    /// Returns the todos that are not done, what is worked on first.
    pub fn open(&self) -> Vec<String> {
        self.with_newest().open().map(str::to_owned).collect()
    }

    /// Returns the whole list in its order; `None` where no call has set it.
    pub fn all(&self) -> Option<Vec<TodoItem>> {
        let list = self.with_newest();
        let todos = list.todos.iter().filter_map(|todo| {
            let state = match todo.state {
                State::Open => TodoState::Open,
                State::Current => TodoState::Current,
                State::Done => TodoState::Done,
                State::Gone => return None,
            };
            Some(TodoItem {
                text: todo.text.clone(),
                state,
            })
        });
        list.is_set.then(|| todos.collect())
    }

    /// Returns the todos with what the newest call makes of them.
    fn with_newest(&self) -> Cow<'_, TodoList> {
        let Some((_, arguments)) = &self.newest else {
            return Cow::Borrowed(&self.list);
        };
        let mut list = TodoList {
            todos: self.list.todos.clone(),
            is_set: self.list.is_set,
            ..TodoList::default()
        };
        list.apply(arguments);
        Cow::Owned(list)
    }

    /// Applies the newest call for good.
    fn settle(&mut self) {
        if let Some((_, arguments)) = self.newest.take() {
            self.list.apply(&arguments);
        }
    }

    /// Takes the calls of an entry, or settles the newest one where its result says whether it failed.
    fn take(&mut self, tree: &SessionTree, index: EntryIndex) {
        if tree.kind(index) != EntryKind::Message {
            return;
        }
        let Ok(entry) = tree.entry(index) else {
            return;
        };
        if let EntryBody::Message(message) = &entry.body {
            self.take_message(message);
        }
    }

    /// Does the same for a message; returns whether it makes a call that concerns the list.
    fn take_message(&mut self, message: &AgentMessage) -> bool {
        let mut calls = false;
        if let AgentMessage::ToolResult(result) = message {
            match &self.newest {
                Some((id, _)) if *id == result.tool_call_id && result.is_error => {
                    self.newest = None;
                }
                Some((id, _)) if *id == result.tool_call_id => self.settle(),
                Some(_) | None => {}
            }
        }
        for call in message.tool_calls() {
            if let (true, Some(arguments)) = (is_todo_tool(&call.name), &call.arguments) {
                self.settle();
                self.newest = Some((call.id.clone(), arguments.to_value()));
                calls = true;
            }
        }
        calls
    }
}

#[cfg(test)]
mod tests;
