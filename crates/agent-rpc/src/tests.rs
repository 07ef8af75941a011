//! Lines and requests, their schema and their reference.

use std::collections::BTreeSet;
use std::io::{BufReader, Cursor};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use llm_providers::{CancellationToken, Redactor, Secret};
use serde_json::{Value, json};
use session_protocol::channel::{EVENT_BYTES, queue};
use session_protocol::command_channel;

use super::input::{Line, next_line};
use super::output::Output;
use super::parse::{LONGEST, parse};
use super::protocol::{Data, Response};
use super::reference::{SAMPLES, request_schema, schema, type_of};
use super::translate::call;
use super::{Document, Host, Session, drive};
use futures_util::future::LocalBoxFuture;
use session_protocol::Snapshot;
use summarize::models::LiveModels;

struct Nothing;

impl Host for Nothing {
    fn models(&self, name: &str) -> Result<LiveModels, String> {
        Err(format!("there is no model {name}"))
    }

    fn document<'a>(
        &'a self,
        _: Document,
        _: &'a Snapshot,
    ) -> LocalBoxFuture<'a, Result<Value, String>> {
        Box::pin(async { Ok(Value::Null) })
    }
}

/// Returns the response to a line that is refused.
fn refused(line: &str) -> String {
    refused_bytes(line.as_bytes())
}

fn refused_bytes(line: &[u8]) -> String {
    let response = match parse(line, 3).expect("the line is not empty") {
        Err(response) => *response,
        Ok(asked) => match call(asked.request, &Nothing) {
            Ok(_) => panic!("the line is a request"),
            Err(error) => Response::refused(3, asked.id, Some(asked.command), error),
        },
    };
    response.line(&Redactor::default())
}

#[test]
fn a_line_that_is_no_object_is_named_by_its_number() {
    assert_snapshot!(refused("{\"type\":"), @r#"{"type":"response","id":null,"command":null,"success":false,"error":{"kind":"malformed","field":null,"message":"line 3: this is not JSON: EOF while parsing a value at column 8"}}"#);
    assert_snapshot!(refused("[]"), @r#"{"type":"response","id":null,"command":null,"success":false,"error":{"kind":"malformed","field":null,"message":"line 3: a request is a JSON object, such as {\"type\":\"get_state\"}"}}"#);
    assert_snapshot!(refused("get_state"), @r#"{"type":"response","id":null,"command":null,"success":false,"error":{"kind":"malformed","field":null,"message":"line 3: a request is a JSON object, such as {\"type\":\"get_state\"}"}}"#);
    assert_snapshot!(refused("{} {}"), @r#"{"type":"response","id":null,"command":null,"success":false,"error":{"kind":"malformed","field":null,"message":"line 3: this is not JSON: trailing characters at column 4"}}"#);
    assert_snapshot!(refused_bytes(b"{\"type\":\"\xff\"}"), @r#"{"type":"response","id":null,"command":null,"success":false,"error":{"kind":"malformed","field":null,"message":"line 3: byte 10 is not UTF-8; a request is a JSON object in one line"}}"#);
}

#[test]
fn an_error_names_the_member_that_is_to_blame() {
    assert_snapshot!(refused(r#"{"id":"a"}"#), @r#"{"type":"response","id":"a","command":null,"success":false,"error":{"kind":"invalid","field":"type","message":"it is missing; name the command, such as get_state"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":7}"#), @r#"{"type":"response","id":"a","command":null,"success":false,"error":{"kind":"invalid","field":"type","message":"it must be a string: the name of a command"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"promt"}"#), @r#"{"type":"response","id":"a","command":"promt","success":false,"error":{"kind":"invalid","field":"type","message":"unknown command `promt`, expected one of `prompt`, `steer`, `follow_up`, `take_back`, `resume`, `abort`, `compact`, `review_compaction`, `abort_compaction`, `set_auto_compaction`, `set_model`, `get_state`, `get_context`, `get_plan`, `get_tree`, `navigate_tree`, `fork`, `undo`, `redo`, `pin`, `unpin`, `pins`, `approve`, `subscribe`, `handoff`, `label`, `close`"}}"#);
    assert_snapshot!(refused(r#"{"id":[],"type":"undo"}"#), @r#"{"type":"response","id":null,"command":null,"success":false,"error":{"kind":"invalid","field":"id","message":"line 3: an id is a string or a number; leave it out or give one"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"prompt"}"#), @r#"{"type":"response","id":"a","command":"prompt","success":false,"error":{"kind":"invalid","field":"text","message":"missing field `text`"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"prompt","text":1}"#), @r#"{"type":"response","id":"a","command":"prompt","success":false,"error":{"kind":"invalid","field":"text","message":"invalid type: integer `1`, expected a string"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"prompt","text":" "}"#), @r#"{"type":"response","id":"a","command":"prompt","success":false,"error":{"kind":"invalid","field":"text","message":"it is empty; say something"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"prompt","text":"\ud800"}"#), @r#"{"type":"response","id":"a","command":"prompt","success":false,"error":{"kind":"invalid","field":"text","message":"unexpected end of hex escape at column 8"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"prompt","text":"x","txt":"y"}"#), @r#"{"type":"response","id":"a","command":"prompt","success":false,"error":{"kind":"invalid","field":"txt","message":"unknown field `txt`, expected `text`"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"undo","focus":"y"}"#), @r#"{"type":"response","id":"a","command":"undo","success":false,"error":{"kind":"invalid","field":"focus","message":"unknown field `focus`, expected `any`"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"navigate_tree"}"#), @r#"{"type":"response","id":"a","command":"navigate_tree","success":false,"error":{"kind":"invalid","field":"entry_id","message":"missing field `entry_id`"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"compact","strategy":"best"}"#), @r#"{"type":"response","id":"a","command":"compact","success":false,"error":{"kind":"invalid","field":"strategy","message":"unknown variant `best`, expected one of `context-full`, `handoff`, `restore`, `prune-only`, `extractive`, `off`"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"approve","call_id":"c","decision":"maybe"}"#), @r#"{"type":"response","id":"a","command":"approve","success":false,"error":{"kind":"invalid","field":"decision","message":"unknown variant `maybe`, expected one of `once`, `always`, `deny`, `never`"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"approve","call_id":"c","decision":{"deny":5}}"#), @r#"{"type":"response","id":"a","command":"approve","success":false,"error":{"kind":"invalid","field":"decision","message":"invalid type: integer `5`, expected unit"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"prompt","text":"x","text":"y"}"#), @r#"{"type":"response","id":"a","command":null,"success":false,"error":{"kind":"invalid","field":"text","message":"it is there twice; give it once"}}"#);
    assert_snapshot!(refused(r#"{"id":1,"id":2,"type":"abort"}"#), @r#"{"type":"response","id":null,"command":null,"success":false,"error":{"kind":"invalid","field":"id","message":"line 3: it is there twice; give it once"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"subscribe","events":["answer",3]}"#), @r#"{"type":"response","id":"a","command":"subscribe","success":false,"error":{"kind":"invalid","field":"events[1]","message":"invalid type: integer `3`, expected a string"}}"#);
    assert_snapshot!(refused(r#"{"id":"a","type":"subscribe","events":["anser"]}"#), @r#"{"type":"response","id":"a","command":"subscribe","success":false,"error":{"kind":"invalid","field":"events","message":"there is no event anser; docs/reference/events.md lists them"}}"#);
}

#[test]
fn a_request_without_an_id_is_named_by_its_line() {
    assert_snapshot!(refused(r#"{"type":"prompt"}"#), @r#"{"type":"response","id":null,"command":"prompt","success":false,"error":{"kind":"invalid","field":"text","message":"line 3: missing field `text`"}}"#);
}

#[test]
fn ids_come_back_as_they_were_spelt() {
    for id in [
        r#""a\u0062""#,
        "1.0",
        "-7",
        "123456789012345678901234567890",
    ] {
        let line = refused(&format!(r#"{{"id":{id},"type":"x"}}"#));
        assert!(line.contains(&format!(r#""id":{id},"#)), "{line}");
    }
}

#[test]
fn deep_nesting_is_an_error_and_nothing_worse() {
    let deep = format!(
        r#"{{"type":"prompt","text":{}1{}}}"#,
        "[".repeat(9999),
        "]".repeat(9999)
    );
    let said: Value = serde_json::from_str(&refused(&deep)).expect("JSON");
    assert_eq!(said["success"], false);
}

#[test]
fn empty_lines_are_passed_over() {
    assert!(parse(b" \r", 1).is_none());
}

fn lines(input: Vec<u8>) -> Vec<Line> {
    let mut input = BufReader::new(Cursor::new(input));
    let mut lines = Vec::new();
    while let Some(line) = next_line(&mut input).expect("memory can be read") {
        lines.push(line);
    }
    lines
}

#[test]
fn a_line_that_is_too_long_is_passed_over_as_a_whole() {
    let longest = vec![b'x'; LONGEST];
    let mut input = longest.clone();
    input.extend(b"\n");
    input.extend(&longest);
    input.extend(b"y\nnext\nlast");
    let whole = |text: &[u8]| Line::Whole(text.to_vec());
    let read = lines(input);
    assert!(
        read == [
            whole(&longest),
            Line::TooLong,
            whole(b"next"),
            whole(b"last")
        ]
    );
    let mut endless = longest;
    endless.extend(b"yyy");
    assert_eq!(lines(endless), [Line::TooLong]);
}

#[test]
fn every_command_has_an_example_that_is_a_request() {
    let schema = request_schema();
    let kinds = schema["oneOf"].as_array().expect("alternatives");
    let mut left: BTreeSet<&str> = kinds
        .iter()
        .filter_map(|kind| kind["properties"]["type"]["const"].as_str())
        .collect();
    assert_eq!(left.len(), kinds.len());
    for (request, answer) in sample_pairs() {
        let asked = parse(request.as_bytes(), 1).expect("a line");
        let asked =
            asked.unwrap_or_else(|response| panic!("{}", response.line(&Redactor::default())));
        let command = asked.command.as_str();
        assert!(left.remove(command), "{command} twice, or unknown");
        let id: Value = serde_json::from_str(asked.id.expect("an id").get()).expect("JSON");
        assert_eq!((&answer["command"], &answer["id"]), (&json!(command), &id));
    }
    assert_eq!(left, BTreeSet::new(), "without an example");
}

/// Returns every request of the examples, with its response.
fn sample_pairs() -> Vec<(&'static str, Value)> {
    let lines: Vec<&str> = SAMPLES.lines().collect();
    let pairs = lines.chunks(2).map(|pair| {
        let answer = serde_json::from_str(pair[1]).expect("JSON");
        (pair[0], answer)
    });
    pairs.collect()
}

#[test]
fn the_schema_knows_every_member_of_every_example() {
    let schema = schema();
    for (request, answer) in sample_pairs() {
        let is_document = answer["command"] != "get_state"
            && answer["command"]
                .as_str()
                .is_some_and(|name| name.starts_with("get_"));
        let is_empty = answer["data"] == json!({});
        let known = type_of(&answer["data"], &schema);
        assert_eq!(known.is_none(), is_document || is_empty, "{request}");
    }
}

#[test]
fn no_event_has_the_type_of_a_response() {
    assert!(
        !session_protocol::event::names()
            .iter()
            .any(|name| name == "response")
    );
}

#[test]
fn no_response_tells_a_key() {
    const KEY: &str = "planted-\"0123456789\"";
    let secret = Secret::new(KEY);
    let data = Data::Document(json!({ "queue": [{ "text": format!("it is {KEY}") }] }));
    let line = Response::done(None, "get_state", data).line(&Redactor::new(&secret));
    let said: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(said["data"]["queue"][0]["text"], "it is [secret removed]");
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_program_that_does_not_read_stay_in_its_pipe() {
    let (handle, mut commands) = command_channel();
    let (_sender, events) = queue(EVENT_BYTES);
    let (requests, lines) = tokio::sync::mpsc::channel(1);
    let (output, _unread) = Output::unread_lines();
    let session = Session {
        handle,
        events,
        redactor: Arc::default(),
    };
    let driven = drive(
        session,
        Rc::new(Nothing),
        (lines, output),
        CancellationToken::new(),
    );
    let ask = async |request: &Value, most: usize| {
        for taken in 0..most {
            let line = Line::Whole(request.to_string().into_bytes());
            // The clock advances only if no other task can run: no task takes the request.
            let sent = tokio::time::timeout(Duration::from_secs(1), requests.send(line)).await;
            match sent {
                Ok(sent) => sent.expect("it is driven on"),
                Err(_) => return taken,
            }
        }
        panic!("{most} requests were taken");
    };
    // The response to this one repeats the names, that to the other one waits for the session.
    let names = json!({ "type": "subscribe", "events": vec!["text_delta"; 5000] });
    let few = EVENT_BYTES / names.to_string().len() + 80;
    let asking = async {
        for _ in 0..few {
            let line = Line::Whole(names.to_string().into_bytes());
            requests.send(line).await.expect("it is driven on");
        }
        ask(&json!({ "type": "get_tree" }), 1000).await;
        ask(&names, 10 * few).await
    };
    let answering = async { while commands.recv().await.is_some() {} };
    tokio::select! {
        _ = asking => {}
        _ = driven => panic!("the input is open"),
        () = answering => panic!("the session is open"),
    }
}
