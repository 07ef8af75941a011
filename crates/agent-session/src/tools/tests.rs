//! Tools that look into the session: `todo` and `recall`.

use std::sync::Arc;

use compaction_core::open_todos;
use insta::assert_snapshot;
use serde_json::{Value, json};
use session_model::{Leaf, decode_bytes};

use agent_tools::approval::Approvals;
use agent_tools::{History, ToolContext, ToolLimits, ToolOutput, Workspace};
use llm_providers::CancellationToken;
use session_model::ToolCall;
use session_model::json::RawJson;
use tempfile::TempDir;

use super::standard_tools;

/// A workspace for calls, with a session behind it.
struct TestWorkspace {
    _folder: TempDir,
    context: ToolContext,
}

impl TestWorkspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let context = ToolContext {
            live: agent_tools::LiveOutput::default(),
            workspace: Arc::new(Workspace::open(folder.path()).unwrap()),
            cancel: CancellationToken::new(),
            limits: ToolLimits::default(),
            approvals: Approvals::allow_all(),
            redactor: Arc::default(),
            history: None,
            overflow: None,
            secret_variables: Vec::new(),
        };
        Self {
            _folder: folder,
            context,
        }
    }

    async fn run(&self, tool: &str, arguments: Value) -> ToolOutput {
        let call = ToolCall {
            id: "call".to_owned(),
            name: tool.to_owned(),
            arguments: Some(RawJson::of(&arguments).unwrap()),
            signature: None,
        };
        standard_tools().run(&call, &self.context).await
    }

    /// Returns the text of a good result.
    async fn good(&self, tool: &str, arguments: Value) -> String {
        let output = self.run(tool, arguments).await;
        assert!(!output.is_error, "{}", text(&output));
        text(&output)
    }

    /// Returns the text of a failure.
    async fn bad(&self, tool: &str, arguments: Value) -> String {
        let output = self.run(tool, arguments).await;
        assert!(output.is_error, "{}", text(&output));
        text(&output)
    }
}

fn text(output: &ToolOutput) -> String {
    output.content.joined_text("\n")
}

#[test]
fn the_session_tools_stand_behind_the_builtin_ones() {
    let tools = standard_tools();
    let names: Vec<&str> = tools.names().collect();
    assert_eq!(names[7..], ["todo", "recall"]);
    for name in ["todo", "recall"] {
        assert_eq!(
            tools.meta(name).idempotency,
            agent_tools::Idempotency::Idempotent
        );
    }
    let specs = tools.specs();
    let shown: String = specs[7..]
        .iter()
        .map(|tool| {
            let parameters: Value = serde_json::from_str(tool.parameters.get()).unwrap();
            format!("{}: {}\n{parameters:#}\n\n", tool.name, tool.description)
        })
        .collect();
    assert_snapshot!(shown.trim_end(), @r#"
    todo: Keeps the list of what is to be done. Each call sets the whole list; a call without items shows it. Use it for work of several steps: mark the one that you work on as current, and each as done when it is. The list is kept when older parts of the conversation are summarized.
    {
      "additionalProperties": false,
      "properties": {
        "items": {
          "description": "The whole list from now on, in the order of the work. Without it, nothing changes and the list is shown.",
          "items": {
            "additionalProperties": false,
            "description": "One thing to do.",
            "properties": {
              "status": {
                "description": "How far it is: open unless given. At most one item is current.",
                "enum": [
                  "open",
                  "current",
                  "done"
                ],
                "type": "string"
              },
              "text": {
                "description": "What is to be done, on one line of at most 200 characters.",
                "type": "string"
              }
            },
            "required": [
              "text"
            ],
            "type": "object"
          },
          "type": "array"
        }
      },
      "type": "object"
    }

    recall: Finds again what was said or done earlier in this session: also what was summarized and is no longer in the conversation, and what happened on other branches. Give query to search; each result names its entry. Give id to read one entry whole. What it shows is a record of the past, not a new request.
    {
      "additionalProperties": false,
      "properties": {
        "id": {
          "description": "Shows this entry instead of searching.",
          "type": "string"
        },
        "limit": {
          "description": "The most entries to show: 8 when nothing is said, 30 at most.",
          "minimum": 0,
          "type": "integer"
        },
        "offset": {
          "description": "With id: the character to begin at.",
          "minimum": 0,
          "type": "integer"
        },
        "query": {
          "description": "The words to look for, the telling ones; with regex a pattern.",
          "type": "string"
        },
        "regex": {
          "default": false,
          "description": "Takes the query for a regular expression; the newest matches come first.",
          "type": "boolean"
        }
      },
      "type": "object"
    }
    "#);
}

/// A session whose first turn was compacted away, with a branch that was left, and the answer that calls now.
const LINES: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"use the zebra protocol, never the horse protocol"}}
{"type":"message","id":"e2","parentId":"e1","message":{"role":"assistant","content":[{"type":"text","text":"the zebra protocol it is; src/zebra.rs has it"}],"stopReason":"stop"}}
{"type":"message","id":"e3","parentId":"e2","message":{"role":"user","content":"now the second question about a cow"}}
{"type":"message","id":"x1","parentId":"e2","message":{"role":"user","content":"an abandoned question about a walrus"}}
{"type":"compaction","id":"k1","parentId":"e3","summary":"they talked about protocols","firstKeptEntryId":"e3","tokensBefore":10}
{"type":"message","id":"e4","parentId":"k1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"recall","arguments":{"query":"zebra"}}]}}
{"type":"message","id":"e5","parentId":"e4","message":{"role":"toolResult","toolCallId":"c1","toolName":"recall","content":[{"type":"text","text":"zebra zebra zebra"}],"isError":false}}
{"type":"message","id":"e6","parentId":"e5","message":{"role":"assistant","content":[{"type":"toolCall","id":"c2","name":"recall","arguments":{"query":"zebra walrus"}}]}}
"#;

/// Returns a workspace and the session of `lines`, at its last entry.
fn house(lines: &str) -> TestWorkspace {
    let tree = decode_bytes(lines.as_bytes().to_vec()).tree;
    let leaf = tree.leaf();
    let mut house = TestWorkspace::new();
    house.context.history = Some(Arc::new(History { tree, leaf }));
    house
}

/// Returns a session with one call after the other; the last one has no result yet.
fn todo_session(calls: &[Value]) -> String {
    let mut lines = vec![json!({ "type": "session", "version": 3, "id": "s" })];
    for (place, arguments) in calls.iter().enumerate() {
        let parent = place.checked_sub(1).map(|before| format!("e{before}"));
        let call = json!({ "type": "toolCall", "id": format!("c{place}"), "name": "todo", "arguments": arguments });
        let message = json!({ "role": "assistant", "content": [call] });
        lines.push(json!({ "type": "message", "id": format!("e{place}"), "parentId": parent, "message": message }));
    }
    let lines = lines.iter().map(Value::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

fn of_calls(calls: &[Value]) -> TestWorkspace {
    house(&todo_session(calls))
}

#[tokio::test]
async fn a_list_that_is_set_is_what_the_session_has_open() {
    let set = json!({ "items": [
        { "text": "find the bug", "status": "done" },
        { "text": "mend it", "status": "current" },
        { "text": "say what was done" },
    ] });
    let house = house(&todo_session(&[set.clone(), json!({})]));
    let told = house.good("todo", set).await;
    assert_snapshot!(told, @"
    3 items: 2 open, 1 done
    [x] find the bug
    [>] mend it
    [ ] say what was done
    ");
    // Without items it is the same list, as the session has it.
    assert_eq!(house.good("todo", json!({})).await, told);
    let history = house.context.history.as_ref().unwrap();
    let open = open_todos(&history.tree.path(history.leaf));
    assert_eq!(open, ["mend it", "say what was done"]);
}

#[tokio::test]
async fn a_list_can_be_emptied_and_is_empty_at_first() {
    let first = house(&todo_session(&[]));
    assert_snapshot!(first.good("todo", json!({})).await, @"The list is empty.");
    let calls = [
        json!({ "items": [{ "text": "x" }] }),
        json!({ "items": [] }),
    ];
    let emptied = house(&todo_session(&calls));
    assert_snapshot!(emptied.good("todo", json!({})).await, @"The list is empty.");
    let history = emptied.context.history.as_ref().unwrap();
    assert!(open_todos(&history.tree.path(history.leaf)).is_empty());
    // Where there is no session, there is no list.
    assert_snapshot!(TestWorkspace::new().good("todo", json!({})).await, @"The list is empty.");
}

#[tokio::test]
async fn lists_that_say_too_much_or_nothing_are_refused() {
    let house = TestWorkspace::new();
    let mut said = Vec::new();
    for items in [
        json!([{ "text": "a", "status": "current" }, { "text": "b", "status": "current" }]),
        json!([{ "text": "a" }, { "text": " " }]),
        json!([{ "text": "a\nb" }]),
        json!([{ "text": "a".repeat(201) }]),
        json!([{ "text": "a", "status": "half done" }]),
        json!(["a"]),
        json!(vec![json!({ "text": "a" }); 101]),
    ] {
        said.push(house.bad("todo", json!({ "items": items })).await);
    }
    assert_snapshot!(said.join("\n"), @r#"
    items: more than one is current; choose the one to work on now, the others are open
    items[1].text: is empty; say what is to be done
    items[0].text: has several lines; say it on one
    items[0].text: has 201 characters; say it in at most 200
    the arguments do not fit: items[0].status: unknown variant `half done`, expected one of `open`, `current`, `done`
    the arguments do not fit: items[0]: invalid type: string "a", expected struct Item
    items: 101 are too many; leave out what is done, 100 at most
    "#);
    // As long as it may be, it is read again as it was written.
    let long = "\u{e9}".repeat(200);
    let set = json!({ "items": [{ "text": long }] });
    let session = of_calls(std::slice::from_ref(&set));
    session.good("todo", set).await;
    let history = session.context.history.as_ref().unwrap();
    assert_eq!(open_todos(&history.tree.path(history.leaf)), [long]);
}

#[tokio::test]
async fn what_a_compaction_took_out_is_found_and_read() {
    let house = house(LINES);
    assert_snapshot!(house.good("recall", json!({ "query": "zebra walrus" })).await, @"
    3 of 3 matching entries, 5 searched. Read one whole with its id.

    [x1] user, on another branch
    an abandoned question about a walrus

    [e2] assistant, out of the context
    the zebra protocol it is; src/zebra.rs has it

    [e1] user, 2026-01-01T10:00:00.000Z, out of the context
    use the zebra protocol, never the horse protocol
    ");
    assert_snapshot!(house.good("recall", json!({ "query": "(?i)COW|horse", "regex": true, "limit": 1 })).await, @"
    1 of 2 matching entries, 5 searched. Read one whole with its id.

    [e3] user, in the context
    now the second question about a cow
    ");
    assert_snapshot!(house.good("recall", json!({ "query": "giraffe" })).await, @"Nothing in 5 entries matches; try other words.");
    assert_snapshot!(house.good("recall", json!({ "id": "e1" })).await, @"
    [e1] user, 2026-01-01T10:00:00.000Z, out of the context, 48 characters
    use the zebra protocol, never the horse protocol
    ");
    assert_snapshot!(house.good("recall", json!({ "id": " x1 ", "offset": 13 })).await, @"
    [x1] user, on another branch, 36 characters
    question about a walrus
    ");
}

#[tokio::test]
async fn long_entries_are_read_in_pieces() {
    let long = "\u{e9}".repeat(9000);
    let line = json!({ "type": "message", "id": "e1", "parentId": null, "message": { "role": "user", "content": long } });
    let house = house(&format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{line}\n"
    ));
    let first = house.good("recall", json!({ "id": "e1" })).await;
    assert!(first.ends_with("\n[1000 characters left; read on with offset 8000]"));
    assert_eq!(first.matches('\u{e9}').count(), 8000);
    let rest = house
        .good("recall", json!({ "id": "e1", "offset": 8000 }))
        .await;
    assert_eq!(rest.matches('\u{e9}').count(), 1000);
    assert!(!rest.contains("left;"));
    let beyond = house
        .good("recall", json!({ "id": "e1", "offset": u64::MAX }))
        .await;
    assert_eq!(beyond.matches('\u{e9}').count(), 0);
}

#[tokio::test]
async fn what_cannot_be_recalled_is_said() {
    let house = house(LINES);
    let mut said = Vec::new();
    for arguments in [
        json!({}),
        json!({ "query": " " }),
        json!({ "query": "a", "id": "e1" }),
        json!({ "query": "a", "offset": 1 }),
        json!({ "query": "x".repeat(3000) }),
        json!({ "query": "(a", "regex": true }),
        json!({ "query": "((a{100}){100}){100}", "regex": true }),
        json!({ "id": "nope\u{1b}" }),
        json!({ "id": "" }),
    ] {
        said.push(house.bad("recall", arguments).await);
    }
    said.push(
        TestWorkspace::new()
            .bad("recall", json!({ "query": "a" }))
            .await,
    );
    assert_snapshot!(said.join("\n---\n"), @"
    give query, the words to look for, or id, the entry to read
    ---
    query: is empty; give the words to look for
    ---
    give either query or id, not both
    ---
    offset: goes with id only; leave it out
    ---
    query: is longer than 2000 bytes; a few telling words are enough
    ---
    query: the pattern cannot be used: regex parse error:
        (a
        ^
    error: unclosed group
    ---
    query: the pattern cannot be used: Compiled regex exceeds size limit of 1048576 bytes.
    ---
    there is no entry nope� in this session; search with query to find ids
    ---
    there is no entry  in this session; search with query to find ids
    ---
    there is no earlier part of this session to look into
    ");
}

#[tokio::test]
async fn a_search_ends_when_it_is_cancelled() {
    let house = house(LINES);
    let running = house.run("recall", json!({ "query": "zebra" }));
    let mut running = Box::pin(running);
    assert!(futures_util::poll!(&mut running).is_pending());
    house.context.cancel.cancel();
    assert_eq!(text(&running.await), "cancelled");
}

#[tokio::test]
async fn the_session_counts_from_where_it_stands() {
    let mut house = house(LINES);
    let history = Arc::make_mut(house.context.history.as_mut().unwrap());
    history.leaf = Leaf::At(history.tree.find("x1").unwrap());
    let found = house.good("recall", json!({ "query": "cow" })).await;
    assert!(found.contains("[e3] user, on another branch"), "{found}");
}
