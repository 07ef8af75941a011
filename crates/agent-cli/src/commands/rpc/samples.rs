//! One request of every command with its response, for the reference.

use llm_providers::Redactor;
use serde_json::{Value, json};

use super::parse::parse;
use super::protocol::{Data, Request, Response, Subscribed};
use agent_session::event::{CompactionResult, TokenUsage};
use agent_session::runtime::{
    Closed, Compacted, ContextReport, Forked, Kept, ModelSet, Moved, PinReport, Pinned, PinsReport,
    Ran, Redone, Reply, StateReport, TakenBack, Undone, Unpinned, Waiting,
};

const ID: &str = "01994a7e-6a10-7c3f-8d52-0e4b9f6a1c77";
const PATH: &str =
    "/home/ann/sessions/2026-01-05T09-12-44-112Z_01994a7e-6a10-7c3f-8d52-0e4b9f6a1c77.jsonl";
const COPY: &str = "01994a80-11d3-7b02-a6c4-93f0e1d2c3b4";
const COPY_PATH: &str =
    "/home/ann/sessions/2026-01-05T09-40-02-815Z_01994a80-11d3-7b02-a6c4-93f0e1d2c3b4.jsonl";

/// A request and what it gives.
pub(super) struct Sample {
    /// The line of the request.
    pub line: &'static str,
    data: Data,
}

impl Sample {
    /// Returns the name of the command.
    pub fn command(&self) -> String {
        let value: Value = serde_json::from_str(self.line).unwrap_or_default();
        value["type"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the request.
    pub fn request(&self) -> Request {
        match parse(self.line.as_bytes(), 1) {
            Some(Ok(asked)) => asked.request,
            Some(Err(_)) | None => Request::GetState {},
        }
    }

    /// Returns the line of the response.
    pub fn answer(self) -> String {
        let command = self.command();
        let id = match parse(self.line.as_bytes(), 1) {
            Some(Ok(asked)) => asked.id,
            Some(Err(_)) | None => None,
        };
        Response::done(id, &command, self.data).line(&Redactor::default())
    }
}

fn reply(line: &'static str, reply: Reply) -> Sample {
    Sample {
        line,
        data: Data::Reply(reply),
    }
}

fn document(line: &'static str, document: Value) -> Sample {
    Sample {
        line,
        data: Data::Document(document),
    }
}

/// Returns a request of every command, in the order in which a program may send them.
pub(super) fn samples() -> Vec<Sample> {
    let mut all = messages();
    all.extend(window());
    all.extend(looks());
    all.extend(moves());
    all.extend(pins());
    all.push(end());
    all
}

fn messages() -> Vec<Sample> {
    let kept = |id: &str| {
        Reply::Kept(Kept {
            message_id: id.to_owned(),
        })
    };
    vec![
        reply(
            r#"{"id":1,"type":"prompt","text":"why does 1h30m fail?"}"#,
            kept("5f1c09ab"),
        ),
        reply(
            r#"{"id":2,"type":"steer","text":"look at the tests first"}"#,
            kept("6a2d10bc"),
        ),
        reply(
            r#"{"id":3,"type":"follow_up","text":"then write the changelog"}"#,
            kept("7b3e21cd"),
        ),
        reply(
            r#"{"id":4,"type":"take_back","message_id":"7b3e21cd"}"#,
            Reply::TakenBack(TakenBack {
                message_id: "7b3e21cd".to_owned(),
                text: "then write the changelog".to_owned(),
            }),
        ),
        reply(
            r#"{"id":5,"type":"approve","call_id":"call_7","decision":"once"}"#,
            Reply::Done {},
        ),
        reply(
            r#"{"id":6,"type":"abort"}"#,
            Reply::Ran(Ran { running: true }),
        ),
        reply(
            r#"{"id":7,"type":"resume"}"#,
            Reply::Ran(Ran { running: true }),
        ),
        Sample {
            line: r#"{"id":8,"type":"subscribe","events":["answer","turn_end","approval_request"]}"#,
            data: Data::Subscribed(Subscribed {
                events: ["answer", "turn_end", "approval_request"]
                    .map(str::to_owned)
                    .to_vec(),
            }),
        },
    ]
}

fn compacted(strategy: &'static str, summary: &str, session: (&str, &str)) -> Reply {
    let in_place = strategy != "handoff";
    let id = |id: &str| in_place.then(|| id.to_owned());
    Reply::Compacted(Box::new(Compacted {
        result: CompactionResult {
            strategy: strategy.into(),
            entry_id: id("d4e5f607"),
            first_kept_entry_id: id("b2c3d4e5"),
            tokens_before: 171_320,
            tokens_after: 21_480,
            ledger_tokens: 1_640,
            kept_entries: if in_place { 14 } else { 0 },
            summarized_entries: 212,
            shortened_entries: 0,
            summarizer: "openai/gpt-5.4".to_owned(),
            summary: Some(summary.to_owned()),
            in_sight_percent: in_place.then_some(84.6),
            cost_usd: Some(0.118),
            seconds: 9.2,
            waited_seconds: 0.0,
            prepared: false,
        },
        will_retry: false,
        session_id: session.0.to_owned(),
        path: Some(session.1.to_owned()),
    }))
}

fn window() -> Vec<Sample> {
    vec![
        reply(
            r#"{"id":9,"type":"compact","focus":"the parser","strategy":"context-full"}"#,
            compacted("context-full", "## Goal\nMake the parser ...", (ID, PATH)),
        ),
        reply(
            r#"{"id":10,"type":"abort_compaction"}"#,
            Reply::Ran(Ran { running: false }),
        ),
        reply(
            r#"{"id":11,"type":"set_auto_compaction","enabled":false}"#,
            Reply::Done {},
        ),
        reply(
            r#"{"id":12,"type":"handoff","focus":"what is left to do"}"#,
            compacted("handoff", "# Handoff\nThe parser ...", (COPY, COPY_PATH)),
        ),
        reply(
            r#"{"id":13,"type":"set_model","model":"anthropic/claude-sonnet-5-5"}"#,
            Reply::ModelSet(ModelSet {
                model: "anthropic/claude-sonnet-5-5".to_owned(),
                window: 200_000,
                from: "openai/gpt-5.4".to_owned(),
            }),
        ),
    ]
}

fn looks() -> Vec<Sample> {
    vec![
        reply(
            r#"{"id":14,"type":"get_state"}"#,
            Reply::State(Box::new(StateReport {
                session_id: ID.to_owned(),
                path: Some(PATH.to_owned()),
                written: true,
                cwd: "/home/ann/parser".to_owned(),
                model: "openai/gpt-5.4".to_owned(),
                window: 272_000,
                state: "asking",
                in_turn: true,
                context: ContextReport {
                    tokens: 21_480,
                    threshold: Some(231_200),
                    estimated: true,
                },
                queue: vec![Waiting {
                    id: "6a2d10bc".to_owned(),
                    text: "look at the tests first".to_owned(),
                    delivery: "steer",
                }],
                auto_compaction: true,
                auto_compaction_stopped: false,
                approvals: Vec::new(),
                leaf: Some("5f1c09ab".to_owned()),
                entries: 231,
                usage: TokenUsage {
                    input: 1204,
                    output: 388,
                    cache_read: 20_480,
                    cache_write: 0,
                },
                cost_usd: Some(0.121),
            })),
        ),
        document(
            r#"{"id":15,"type":"get_context"}"#,
            json!({
                "leaf": "5f1c09ab",
                "thinking_level": "off",
                "model": { "provider": "openai", "modelId": "gpt-5.4" },
                "tokens": 96,
                "messages": [{
                    "entry_id": "5f1c09ab",
                    "role": "user",
                    "tokens": 8,
                    "text": "why does 1h30m fail?",
                }],
                "diagnostics": [],
            }),
        ),
        document(
            r#"{"id":16,"type":"get_plan","focus":"the parser"}"#,
            json!({
                "leaf": "5f1c09ab",
                "context_tokens": 96,
                "threshold": 231_200,
                "should_compact": false,
                "diagnostics": [],
                "nothing_to_do": "Nothing to compact (session too small)",
            }),
        ),
        document(
            r#"{"id":17,"type":"get_tree"}"#,
            json!({
                "leaf": "5f1c09ab",
                "name": null,
                "entries": [{
                    "id": "5f1c09ab",
                    "parent_id": null,
                    "type": "message",
                    "role": "user",
                    "timestamp": "2026-01-05T09:12:44.112Z",
                    "tokens": 8,
                    "active": true,
                    "text": "why does 1h30m fail?",
                }],
                "diagnostics": [],
            }),
        ),
    ]
}

fn moves() -> Vec<Sample> {
    vec![
        reply(
            r#"{"id":18,"type":"navigate_tree","entry_id":"b2c3d4e5","summarize":true,"label":"before the rewrite"}"#,
            Reply::Moved(Moved {
                leaf: Some("e5f60718".to_owned()),
                from: Some("5f1c09ab".to_owned()),
                summary_entry_id: Some("e5f60718".to_owned()),
                editor_text: Some("rewrite the parser".to_owned()),
            }),
        ),
        reply(
            r#"{"id":19,"type":"undo"}"#,
            Reply::Undone(Undone {
                undone: "e5f60718".to_owned(),
                kind: "branch",
                leaf: Some("f6071829".to_owned()),
                from: Some("e5f60718".to_owned()),
            }),
        ),
        reply(
            r#"{"id":20,"type":"redo"}"#,
            Reply::Redone(Redone {
                redone: "e5f60718".to_owned(),
                kind: "branch",
                leaf: Some("07182930".to_owned()),
                from: Some("f6071829".to_owned()),
            }),
        ),
        reply(
            r#"{"id":21,"type":"label","entry_id":"b2c3d4e5","label":"a good place"}"#,
            Reply::Done {},
        ),
        reply(
            r#"{"id":22,"type":"fork","entry_id":"b2c3d4e5"}"#,
            Reply::Forked(Forked {
                session_id: COPY.to_owned(),
                path: Some(COPY_PATH.to_owned()),
                from: ID.to_owned(),
                leaf: Some("b2c3d4e5".to_owned()),
            }),
        ),
    ]
}

fn pins() -> Vec<Sample> {
    let text = "never push to main";
    vec![
        reply(
            r#"{"id":23,"type":"pin","text":"never push to main"}"#,
            Reply::Pinned(Pinned {
                entry_id: "1a2b3c4d".to_owned(),
                tokens: 5,
                used_tokens: 45,
                budget_tokens: 2720,
            }),
        ),
        reply(
            r#"{"id":24,"type":"unpin","entry_id":"b2c3d4e5"}"#,
            Reply::Unpinned(Unpinned {
                entry_id: "b2c3d4e5".to_owned(),
                used_tokens: 5,
                budget_tokens: 2720,
            }),
        ),
        reply(
            r#"{"id":25,"type":"pins"}"#,
            Reply::Pins(PinsReport {
                pins: vec![PinReport {
                    entry_id: "1a2b3c4d".to_owned(),
                    tokens: 5,
                    text: text.to_owned(),
                }],
                used_tokens: 5,
                budget_tokens: 2720,
            }),
        ),
    ]
}

fn end() -> Sample {
    reply(
        r#"{"id":26,"type":"close"}"#,
        Reply::Closed(Closed {
            session_id: COPY.to_owned(),
            path: Some(COPY_PATH.to_owned()),
        }),
    )
}
