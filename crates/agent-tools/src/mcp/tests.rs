//! What needs no server: names, addresses, texts, and what the settings say.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use std::sync::Arc;

use llm_providers::{Redactor, Secret};
use serde_json::json;

use super::ServerSetting;
use super::config::{check, configured, named, secrets};
use super::handler::file_uri;
use super::listing::{Listing, full_name};
use super::text::{cleaned, one_line};
use crate::tool::{Concurrency, Idempotency, ToolKind, ToolMeta};

fn settings(value: serde_json::Value) -> BTreeMap<String, ServerSetting> {
    serde_json::from_value(value).unwrap()
}

#[test]
fn names_have_the_characters_and_the_length_that_services_take() {
    assert_eq!(full_name("s", "a.b/c d-é_1"), "s__a_b_c_d-__1");
    assert_eq!(full_name("server", &"x".repeat(100)).len(), 64);
}

#[test]
fn addresses_are_spelled_out() {
    assert_eq!(
        file_uri(Path::new("/a b/ü%.txt")),
        "file:///a%20b/%C3%BC%25.txt"
    );
}

#[test]
fn words_are_bounded_and_cannot_steer_a_terminal() {
    assert_eq!(cleaned(" a\u{1b}b\n\tc ", 10), "a\u{fffd}b\n\tc");
    assert_eq!(cleaned("abcd", 3), "abc [...]");
    assert_eq!(one_line("a\u{1b}[1m  b\r\nc", 100), "a [1m b c");
}

#[test]
fn servers_that_are_off_are_not_used_and_need_no_program() {
    let settings = settings(json!({
        "off": { "enabled": false },
        "on": { "command": "x", "callTimeoutSeconds": 7 },
    }));
    assert_eq!(check(&settings), Ok(()));
    let configs = configured(&settings);
    assert_eq!(configs.len(), 1);
    assert_eq!(configs[0].start_timeout, Duration::from_secs(10));
    assert_eq!(configs[0].call_timeout, Duration::from_secs(7));
}

#[test]
fn names_of_servers_can_be_told_from_those_of_tools() {
    for name in ["_a", "a_", "a__b", "", "a.b", "ä", &"a".repeat(33)] {
        let settings = settings(json!({ name: { "command": "x" } }));
        let (key, said) = check(&settings).unwrap_err();
        assert_eq!(key, format!("mcpServers.{name}"));
        assert!(
            said.starts_with(&format!("{key}: the name of a server")),
            "{said}"
        );
    }
    assert_eq!(
        check(&settings(json!({ "a_b-C9": { "command": "x" } }))),
        Ok(())
    );
    let blank = check(&settings(json!({ "a": { "command": " " } })));
    assert_eq!(blank.unwrap_err().0, "mcpServers.a.command");
}

#[test]
fn only_servers_of_tools_that_are_named_are_started() {
    let settings = settings(json!({ "a": { "command": "x" }, "b": { "command": "y" } }));
    let names = ["b__one".to_owned(), "b__two".to_owned()];
    let chosen = named(configured(&settings), &names).unwrap();
    assert_eq!(chosen.len(), 1);
    assert_eq!(chosen[0].named.as_deref(), Some(&names[..]));
    assert_eq!(
        named(configured(&settings), &["c__one".to_owned()]),
        Err("there is no tool c__one; the servers are a, b".to_owned())
    );
    assert_eq!(named(configured(&settings), &[]), Ok(Vec::new()));
}

#[test]
fn what_is_passed_on_is_a_secret_whatever_its_name() {
    let settings = settings(json!({
        "a": { "command": "x", "passEnv": ["PATH"], "env": { "PLACE": "a place to be", "A_KEY": "0123456789" } },
    }));
    let path = std::env::var("PATH").unwrap();
    let redactor = Redactor::new(&secrets(&configured(&settings)));
    let said = redactor.clean(&format!("{path} | a place to be | 0123456789"));
    assert_eq!(said, "[secret removed] | a place to be | [secret removed]");
}

#[test]
fn what_a_server_says_of_its_tools_holds_no_secret() {
    const KEY: &str = "planted-0123456789";
    let secret = Secret::new(KEY);
    let mut listing = Listing::new(Arc::new(Redactor::new(&secret)));
    let configs = configured(&settings(json!({ "s": { "command": "x" } })));
    let said = format!("give {KEY}");
    let properties = json!({ "a": { "type": "string", "description": said, "enum": [KEY] } });
    for tool in [
        json!({ "name": "good", "description": said, "inputSchema": { "type": "object", "properties": properties } }),
        json!({ "name": KEY, "inputSchema": { "type": "object" } }),
        json!({ "name": "odd", "inputSchema": { "type": "object", "properties": { KEY: {} } } }),
        json!({ "name": "array", "inputSchema": { "type": KEY } }),
    ] {
        listing.add(&configs[0], serde_json::from_value(tool).unwrap());
    }
    assert_eq!(listing.tools.len(), 1);
    assert_eq!(listing.tools[0].description, "give [secret removed]");
    assert_eq!(
        listing.tools[0].parameters["properties"]["a"]["enum"][0],
        "[secret removed]"
    );
    assert!(!format!("{:?}", listing.tools).contains(KEY));
    assert_eq!(
        listing.left_out,
        [
            "[secret removed]: its name holds a secret",
            "odd: a name in the schema of its arguments holds a secret",
            "array: the schema of its arguments is not that of an object",
        ]
    );
}

#[test]
fn hints_of_a_server_never_waive_approval_and_without_one_a_tool_runs_alone() {
    let mut listing = Listing::new(Arc::default());
    let configs = configured(&settings(json!({ "s": { "command": "x" } })));
    for (name, hints) in [
        ("plain", json!({})),
        ("reads", json!({ "readOnlyHint": true })),
        ("again", json!({ "idempotentHint": true })),
        (
            "writes",
            json!({ "readOnlyHint": false, "destructiveHint": false }),
        ),
    ] {
        let tool = json!({ "name": name, "inputSchema": {}, "annotations": hints });
        listing.add(&configs[0], serde_json::from_value(tool).unwrap());
    }
    let metas: Vec<ToolMeta> = listing.tools.iter().map(|tool| tool.meta).collect();
    assert!(metas.iter().all(|meta| meta.needs_approval));
    assert_eq!(metas[0], ToolMeta::UNKNOWN);
    assert_eq!(metas[3], ToolMeta::UNKNOWN);
    assert_eq!(metas[1].concurrency, Concurrency::WithReaders);
    assert!(metas[1].read_only && metas[1].kind == ToolKind::Read);
    assert_eq!(metas[2].concurrency, Concurrency::Alone);
    let safe = |meta: &ToolMeta| meta.idempotency == Idempotency::Idempotent;
    assert_eq!(
        [0, 1, 2, 3].map(|at| safe(&metas[at])),
        [false, true, true, false]
    );
}
