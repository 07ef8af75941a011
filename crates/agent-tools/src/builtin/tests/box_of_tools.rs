//! The toolbox: names, schemas, and calls that do not fit.

use std::sync::Arc;

use insta::assert_snapshot;
use llm_providers::BoxFuture;
use proptest::prelude::*;
use serde_json::{Value, json};
use session_model::ToolCall;
use session_model::json::RawJson;

use super::{TestWorkspace, call, text};
use crate::approval::{Approvals, Policy};
use crate::{Idempotency, Tool, ToolContext, ToolMeta, ToolOutput, Toolbox};

#[test]
fn models_are_told_of_every_tool() {
    let specs = Toolbox::builtin().specs();
    let shown: Vec<String> = specs
        .iter()
        .map(|tool| {
            let schema = serde_json::to_string_pretty(&tool.parameters.to_value()).unwrap();
            format!("{}: {}\n{schema}", tool.name, tool.description)
        })
        .collect();
    assert_snapshot!(shown.join("\n\n"), @r#"
    read: Shows a text file as it is, or an image (PNG, JPEG, GIF, WebP). Of a long file only a part is shown; a notice at the end then names the offset to read on with.
    {
      "additionalProperties": false,
      "properties": {
        "limit": {
          "description": "How many lines to show. Without it, as many as fit.",
          "minimum": 1,
          "type": "integer"
        },
        "offset": {
          "description": "The first line to show, counted from 1. Without it, the first one.",
          "minimum": 1,
          "type": "integer"
        },
        "path": {
          "description": "The file, from the workspace on or absolute.",
          "type": "string"
        }
      },
      "required": [
        "path"
      ],
      "type": "object"
    }

    write: Makes a file, or replaces all that is in it. Missing folders are made. To change a part of a file, use edit.
    {
      "additionalProperties": false,
      "properties": {
        "content": {
          "description": "All that the file is to hold.",
          "type": "string"
        },
        "path": {
          "description": "The file, from the workspace on or absolute.",
          "type": "string"
        }
      },
      "required": [
        "path",
        "content"
      ],
      "type": "object"
    }

    edit: Replaces pieces of a file. Each old_text must occur in the file exactly once; when one of them does not, nothing is changed. Returns what changed as a diff.
    {
      "additionalProperties": false,
      "properties": {
        "edits": {
          "description": "The replacements. Each is looked for in the file as it is now, and none may touch another.",
          "items": {
            "additionalProperties": false,
            "description": "One replacement.",
            "properties": {
              "all": {
                "description": "Replaces every occurrence instead of the only one.",
                "type": "boolean"
              },
              "new_text": {
                "description": "The text to put in its place.",
                "type": "string"
              },
              "old_text": {
                "description": "The text to replace, exactly as it is in the file, spaces included. It must occur once; take as many lines around it as that needs.",
                "type": "string"
              }
            },
            "required": [
              "old_text",
              "new_text"
            ],
            "type": "object"
          },
          "minItems": 1,
          "type": "array"
        },
        "path": {
          "description": "The file, from the workspace on or absolute.",
          "type": "string"
        }
      },
      "required": [
        "path",
        "edits"
      ],
      "type": "object"
    }

    bash: Runs a shell command in the workspace and returns what it writes, errors included. There is no input. Start nothing that is to go on in the background: its group of processes is killed at its end. Of long output the beginning and the end are shown, and the file with the rest is named.
    {
      "additionalProperties": false,
      "properties": {
        "command": {
          "description": "The command.",
          "type": "string"
        },
        "description": {
          "description": "What it is for, in a few words, for whoever is asked to allow it.",
          "type": "string"
        },
        "timeout_seconds": {
          "description": "How long it may run, in seconds. Without it, as long as the settings say.",
          "minimum": 1,
          "type": "integer"
        }
      },
      "required": [
        "command"
      ],
      "type": "object"
    }

    grep: Searches files for lines that match a regular expression and shows them as path:line: text, sorted by path. What .gitignore names is left out unless it is named in path; hidden files are searched, binary files are not.
    {
      "additionalProperties": false,
      "properties": {
        "context": {
          "description": "How many lines to show before and after each match, 20 at most. Without it, none.",
          "minimum": 0,
          "type": "integer"
        },
        "glob": {
          "description": "Searches only files with such names: *.rs, or src/**/*.rs from the folder on.",
          "type": "string"
        },
        "ignore_case": {
          "description": "Takes upper case and lower case for the same.",
          "type": "boolean"
        },
        "limit": {
          "description": "How many matching lines to show: 100 when nothing is said.",
          "minimum": 1,
          "type": "integer"
        },
        "literal": {
          "description": "Takes the pattern as plain text.",
          "type": "boolean"
        },
        "path": {
          "description": "The file or folder to search, from the workspace on or absolute. Without it, the workspace.",
          "type": "string"
        },
        "pattern": {
          "description": "A regular expression, matched in each line by itself.",
          "type": "string"
        }
      },
      "required": [
        "pattern"
      ],
      "type": "object"
    }

    find: Finds files and folders by name, sorted by path; folders end in /. What .gitignore names is left out, hidden files are not; links are not followed.
    {
      "additionalProperties": false,
      "properties": {
        "limit": {
          "description": "How many names to show: 1000 when nothing is said.",
          "minimum": 1,
          "type": "integer"
        },
        "path": {
          "description": "The folder to look in, from the workspace on or absolute. Without it, the workspace.",
          "type": "string"
        },
        "pattern": {
          "description": "A pattern for names: *.rs for names anywhere below the folder, src/**/*.rs for paths from the folder on.",
          "type": "string"
        }
      },
      "required": [
        "pattern"
      ],
      "type": "object"
    }

    ls: Lists a folder by name, hidden and ignored files included: folders end in /, links show where they lead, files have their size.
    {
      "additionalProperties": false,
      "properties": {
        "limit": {
          "description": "How many names to show: 1000 when nothing is said.",
          "minimum": 1,
          "type": "integer"
        },
        "path": {
          "description": "The folder, from the workspace on or absolute. Without it, the workspace.",
          "type": "string"
        }
      },
      "type": "object"
    }
    "#);
}

#[test]
fn tools_are_chosen_by_name() {
    let names = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let chosen = Toolbox::builtin().choose(&names)?;
        Ok(chosen.names().map(str::to_owned).collect::<Vec<_>>())
    };
    let two = ["read", "bash"].map(str::to_owned).to_vec();
    assert_eq!(names(&["bash", "read", "bash"]), Ok::<_, String>(two));
    let refused = names(&["read", "fly"]).unwrap_err();
    assert!(refused.starts_with("there is no tool fly; choose from read, write, "));
    assert_eq!(Toolbox::none().names().count(), 0);
}

#[test]
fn only_reading_writing_and_searching_may_run_twice() {
    let tools = Toolbox::builtin();
    let safe = |name: &&str| tools.meta(name).idempotency == Idempotency::Idempotent;
    let names = ["read", "write", "edit", "bash", "grep", "find", "ls", "fly"];
    let repeated: Vec<&str> = names.into_iter().filter(safe).collect();
    let safe = ["read", "write", "grep", "find", "ls"];
    assert_eq!(repeated, safe);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let sandbox = TestWorkspace::new();
    let calls = [
        ("read", json!([])),
        ("read", json!("{\"path\": \"x\"}")),
        ("read", json!({})),
        ("read", json!({ "path": "x", "lines": 3 })),
        ("read", json!({ "path": 3 })),
        ("read", json!({ "path": "x", "offset": "1" })),
        ("read", json!({ "path": "x", "limit": -1 })),
        ("write", json!({ "path": "x" })),
        ("write", json!({ "path": "x", "content": ["y"] })),
        (
            "edit",
            json!({ "path": "x", "edits": [{ "old_text": "a", "new_text": "b", "every": true }] }),
        ),
        (
            "edit",
            json!({ "path": "x", "edits": [{ "old_text": "a" }] }),
        ),
        ("bash", json!({ "command": " " })),
        ("bash", json!({ "command": "a\0b" })),
        ("bash", json!({ "command": "x", "timeout_seconds": 601 })),
        ("bash", json!({ "command": "x", "timeout": 1 })),
        ("grep", json!({ "path": "x" })),
        ("grep", json!({ "pattern": "" })),
        ("grep", json!({ "pattern": "x", "context": 21 })),
        ("grep", json!({ "pattern": "x", "glob": "/x/*" })),
        ("find", json!({ "pattern": "{a" })),
        ("find", json!({ "pattern": "" })),
        ("find", json!({ "pattern": "x", "limit": 0 })),
        ("ls", json!({ "path": "" })),
        ("ls", json!({ "all": true })),
        ("read", json!({ "path": ["x"], "offset": "y".repeat(1000) })),
    ];
    let unknown = sandbox.bad("fly", json!({})).await;
    assert!(unknown.starts_with("there is no tool fly; call one of read, write, "));
    let mut shown = Vec::new();
    for (tool, arguments) in calls {
        shown.push(format!("{tool}: {}", sandbox.bad(tool, arguments).await));
    }
    let none = ToolCall {
        arguments: None,
        ..call("read", &Value::Null)
    };
    let output = Toolbox::builtin().run(&none, &sandbox.context).await;
    shown.push(text(&output));
    let output = Toolbox::none().run(&none, &sandbox.context).await;
    shown.push(text(&output));
    assert_snapshot!(shown.join("\n"), @r#"
    read: the arguments are not a JSON object; send one with the parameters as keys
    read: the arguments are not a JSON object; send one with the parameters as keys
    read: the arguments do not fit: missing field `path`
    read: the arguments do not fit: lines: unknown field `lines`, expected one of `path`, `offset`, `limit`
    read: the arguments do not fit: path: invalid type: integer `3`, expected a string
    read: the arguments do not fit: offset: invalid type: string "1", expected a nonzero u64
    read: the arguments do not fit: limit: invalid value: integer `-1`, expected a nonzero u64
    write: the arguments do not fit: missing field `content`
    write: the arguments do not fit: content: invalid type: sequence, expected a string
    edit: the arguments do not fit: edits[0].every: unknown field `every`, expected one of `old_text`, `new_text`, `all`
    edit: the arguments do not fit: edits[0]: missing field `new_text`
    bash: command: is empty; give a shell command
    bash: command: holds a NUL character; leave it out
    bash: timeout_seconds: 601 is more than 600; run something shorter
    bash: the arguments do not fit: timeout: unknown field `timeout`, expected one of `command`, `timeout_seconds`, `description`
    grep: the arguments do not fit: missing field `pattern`
    grep: pattern: is empty; say what to look for
    grep: context: 21 is more than 20; read the file at the line instead
    grep: glob: is absolute; name the folder in path, and the names in it here
    find: pattern: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); take one such as *.rs
    find: pattern: must have 1 to 1000 bytes; take one such as *.rs
    find: the arguments do not fit: limit: invalid value: integer `0`, expected a nonzero usize
    ls: path: is empty; name a file of the workspace
    ls: the arguments do not fit: all: unknown field `all`, expected `path` or `limit`
    read: the arguments do not fit: offset: invalid type: string "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy [747 more bytes in this line]
    the arguments do not fit: missing field `path`
    there is no tool read; there are no tools in this session
    "#);
    let long = json!({ "path": "x".repeat(10), "offset": "y".repeat(10_000) });
    assert!(sandbox.bad("read", long).await.len() < 500);
}

struct Odd;

impl Tool for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    fn description(&self) -> &str {
        "Does odd things."
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object" })
    }

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            needs_approval: false,
            ..ToolMeta::UNKNOWN
        }
    }

    fn run<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            assert!(arguments["panic"].is_null(), "as the test wants it");
            let details = json!({ "list": ["a\u{0}b"] });
            ToolOutput::text("a\u{0}b\u{1b}[1m\u{85}\r\n\tc").with_details(details)
        })
    }
}

#[tokio::test]
async fn no_tool_brings_control_characters_or_a_panic() {
    let sandbox = TestWorkspace::new();
    let tools = Toolbox::of(vec![Arc::new(Odd)]);
    let output = tools.run(&call("odd", &json!({})), &sandbox.context).await;
    assert_eq!(text(&output), "a\u{fffd}b\u{fffd}[1m\u{fffd}\u{fffd}\n\tc");
    assert_eq!(output.details, Some(json!({ "list": ["a\u{fffd}b"] })));
    let output = tools
        .run(&call("odd", &json!({ "panic": 1 })), &sandbox.context)
        .await;
    assert!(output.is_error);
    assert_snapshot!(text(&output), @"odd failed on these arguments by a mistake of its own; try other ones");
    let odd_name = call("o\u{1b}dd", &json!({}));
    let output = tools.run(&odd_name, &sandbox.context).await;
    assert_snapshot!(text(&output), @"there is no tool o�dd; call one of odd");
}

fn small_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a./~\\PC\0\r\n]{0,5}".prop_map(Value::from),
    ];
    let keys = prop_oneof![
        4 => prop::sample::select(vec![
            "path", "offset", "limit", "content", "edits", "old_text", "new_text", "all", "command",
            "timeout_seconds", "description", "pattern", "glob", "ignore_case", "literal", "context",
        ])
        .prop_map(str::to_owned),
        1 => "[a-z]{0,3}",
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            4 => prop::collection::btree_map(keys.clone(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn arguments_of_any_shape_have_a_result(arguments in small_json(), path in "[a-c./]{0,4}", fit in any::<bool>()) {
        let mut sandbox = TestWorkspace::new();
        // What such a command would do is anybody's guess.
        sandbox.context.approvals =
            Approvals::new([("bash".to_owned(), Policy::Deny)].into(), false);
        let mut arguments = arguments;
        if let Some(members) = arguments.as_object_mut().filter(|_| fit) {
            members.insert("path".to_owned(), Value::from(path.clone()));
            members.insert("pattern".to_owned(), Value::from(path));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let before = sandbox.folder.path().read_dir().unwrap().count();
        for name in Toolbox::builtin().names() {
            let call = ToolCall {
                id: "call".to_owned(),
                name: name.to_owned(),
                arguments: Some(RawJson::of(&arguments).unwrap()),
                signature: None,
            };
            let output = runtime.block_on(Toolbox::builtin().run(&call, &sandbox.context));
            let shown = text(&output);
            prop_assert!(!shown.contains("mistake of its own"), "{name} {arguments}: {shown}");
            prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
            if name == "bash" {
                prop_assert!(output.is_error);
            }
        }
        prop_assert_eq!(sandbox.folder.path().read_dir().unwrap().count(), before);
        prop_assert_eq!(sandbox.outside("").read_dir().unwrap().count(), 0);
    }
}
