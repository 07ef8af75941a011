//! Todo lists: followed branches, long lists, failed calls.

use serde_json::json;
use session_model::{Leaf, decode_bytes};

use super::{OpenTodos, TodoList, open_todos};

#[test]
fn todos_that_are_followed_are_those_of_the_whole_path() {
    let call = |id: &str, parent: &str, arguments: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c{id}","name":"todo","arguments":{arguments}}}]}}}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"s"}"#.to_owned(),
        call("a", "null", r#"{"todos":["one","two"]}"#),
        call("b", "\"a\"", r#"{"action":"done","text":"one"}"#),
        call("c", "\"b\"", r#"{"action":"add","text":"three"}"#),
        // Another branch, on which nothing is done yet.
        call("d", "\"a\"", r#"{"action":"add","text":"four"}"#),
        call("e", "\"d\"", r#"{"action":"clear"}"#),
        // And back to the first.
        call("f", "\"c\"", r#"{"action":"done","text":"two"}"#),
    ];
    let tree = decode_bytes(lines.join("\n").into_bytes()).tree;
    let mut followed = OpenTodos::default();
    let mut seen = Vec::new();
    for index in tree.indices() {
        let path = tree.path(Leaf::At(index));
        followed.follow(&path);
        assert_eq!(followed.open(), open_todos(&path), "{}", tree.id(index));
        seen.push(followed.open().join(" "));
    }
    let want = ["one two", "two", "two three", "one two four", "", "three"];
    assert_eq!(seen, want);
}

/// Looking each todo up among all others would take minutes.
#[test]
fn a_long_list_is_made_and_worked_off_one_by_one() {
    const TODOS: usize = 20_000;
    let mut list = TodoList::default();
    for number in 0..TODOS {
        let add = json!({"action": "add", "text": format!("todo {number}")});
        list.apply(&add);
    }
    for number in 0..TODOS - 1 {
        // By its id, which counts from one, or by its text.
        let done = match number % 2 {
            0 => json!({"action": "done", "id": number + 1}),
            _ => json!({"action": "done", "text": format!("todo {number}")}),
        };
        list.apply(&done);
    }
    assert_eq!(list.open().collect::<Vec<_>>(), ["todo 19999"]);
}

#[test]
fn a_call_that_failed_has_changed_nothing() {
    let lines = [
        r#"{"type":"session","version":3,"id":"s"}"#,
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"todo","arguments":{"items":["one"]}}]}}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"toolResult","toolCallId":"c1","toolName":"todo","content":[],"isError":false}}"#,
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"assistant","content":[{"type":"toolCall","id":"c2","name":"todo","arguments":{"items":["two"]}}]}}"#,
        r#"{"type":"message","id":"d","parentId":"c","message":{"role":"toolResult","toolCallId":"c2","toolName":"todo","content":[],"isError":true}}"#,
    ];
    let tree = decode_bytes(lines.join("\n").into_bytes()).tree;
    let seen = tree
        .indices()
        .map(|index| open_todos(&tree.path(Leaf::At(index))).join(" "));
    assert_eq!(seen.collect::<Vec<_>>(), ["one", "one", "two", "one"]);
}
