//! Scripts are read as they are meant, and every error names its line, its key and what is allowed.

use std::path::PathBuf;
use std::time::Duration;

use session_model::json::RawJson;
use session_model::{StopReason, ToolCall};

use super::{
    Script, ScriptAction, ScriptAnswer, ScriptDelivery, ScriptFailure, ScriptHeader, ScriptLine,
    ScriptStep, ScriptSummary, ScriptUsage,
};
use crate::error::{ProviderError, ProviderErrorKind};

/// Returns the steps with their lines.
fn steps(text: &str) -> Vec<(usize, ScriptStep)> {
    let lines = Script::parse(text).unwrap().lines.into_iter();
    lines.map(|line| (line.line, line.step)).collect()
}

/// Returns what the only line says.
fn step(text: &str) -> ScriptStep {
    let mut steps = steps(text);
    assert_eq!((steps.len(), steps[0].0), (1, 1), "{text}");
    steps.remove(0).1
}

fn action(text: &str) -> ScriptAction {
    match step(&format!("{{\"user\":{text}}}")) {
        ScriptStep::User(action) => action,
        other => panic!("{other:?}"),
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

/// Asserts that each script fails with the message beside it.
fn check_errors(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        let error = Script::parse(text).map_err(|error| error.to_string());
        assert_eq!(error, Err((*message).to_owned()), "{text}");
    }
}

#[test]
fn the_header_holds_what_the_script_says_about_itself() {
    let text = concat!(
        "\u{feff}# a comment\n  \n",
        r#"{"script":1,"name":"refactor","window":16384,"max_output":4096,"#,
        r#""workspace":"../projects/textkit","settings":{"compaction":{"b":1,"a":2}}}"#,
        "\r\n{\"answer\":{\"text\":\"\"}}\r\n"
    );
    let expected = Script {
        header: ScriptHeader {
            name: Some("refactor".to_owned()),
            window: Some(16_384),
            max_output: Some(4_096),
            workspace: Some(PathBuf::from("../projects/textkit")),
            settings: Some(raw(r#"{"compaction":{"b":1,"a":2}}"#)),
        },
        lines: vec![ScriptLine {
            line: 4,
            step: ScriptStep::Answer(ScriptAnswer::default()),
        }],
    };
    assert_eq!(Script::parse(text), Ok(expected));
    let bare = Script::parse(r#"{"script":1,"name":null}"#);
    assert_eq!(bare, Ok(Script::default()));
    assert_eq!(Script::parse("# nothing"), Ok(Script::default()));
}

#[test]
fn an_answer_holds_all_its_parts() {
    let text = concat!(
        r#"{"answer":{"text":"Now ä","thinking":"hm","calls":["#,
        r#"{"name":"read","arguments":{"z":1, "a":2.0}},{"name":"ls","id":"own"},{"name":"ls"}],"#,
        r#""stop":"length","usage":{"input":7,"cache_read":2,"cache_write":3},"pause_ms":250}}"#
    );
    let call = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: Some(raw(arguments)),
        signature: None,
    };
    let expected = ScriptAnswer {
        thinking: "hm".to_owned(),
        text: "Now ä".to_owned(),
        calls: vec![
            call("call_1_1", "read", r#"{"z":1, "a":2.0}"#),
            call("own", "ls", "{}"),
            call("call_1_3", "ls", "{}"),
        ],
        stop: StopReason::Length,
        usage: ScriptUsage {
            input: Some(7),
            output: None,
            cache_read: 2,
            cache_write: 3,
        },
        pause: Duration::from_millis(250),
    };
    assert_eq!(step(text), ScriptStep::Answer(expected));
}

#[test]
fn the_stop_reason_follows_from_the_calls() {
    let stops = [
        r#"{"text":"a"}"#,
        r#"{"calls":[{"name":"ls"}]}"#,
        r#"{"calls":[{"name":"ls"}],"stop":"stop"}"#,
        r#"{"calls":[{"name":"ls"}],"stop":"tool_use"}"#,
    ]
    .map(|answer| match step(&format!("{{\"answer\":{answer}}}")) {
        ScriptStep::Answer(answer) => answer.stop,
        other => panic!("{other:?}"),
    });
    use StopReason::{Stop, ToolUse};
    assert_eq!(stops, [Stop, ToolUse, Stop, ToolUse]);
}

#[test]
fn an_error_holds_all_its_parts() {
    let text = concat!(
        r#"{"error":{"kind":"rate_limited","message":"slow down","status":429,"#,
        r#""retry_after_ms":0,"after_text":"I be"}}"#
    );
    let expected = ScriptFailure {
        error: ProviderError {
            status: Some(429),
            retry_after: Some(Duration::ZERO),
            ..ProviderError::new(ProviderErrorKind::RateLimited, "slow down")
        },
        after_text: "I be".to_owned(),
    };
    assert_eq!(step(text), ScriptStep::Failure(expected));
    let kind = ProviderErrorKind::ContextOverflow;
    let expected = ScriptFailure {
        error: ProviderError::new(kind, "the script says context_overflow"),
        after_text: String::new(),
    };
    assert_eq!(
        step(r#"{"error":{"kind":"context_overflow"}}"#),
        ScriptStep::Failure(expected)
    );
}

#[test]
fn a_summary_is_a_text_or_an_error() {
    let text = step(r#"{"summary":{"text":"so far"}}"#);
    let expected = ScriptSummary::Text("so far".to_owned());
    assert_eq!(text, ScriptStep::Summary(expected));
    let error = step(r#"{"summary":{"error":{"kind":"timeout","message":"no answer"}}}"#);
    let expected = ScriptSummary::Failure(ScriptFailure {
        error: ProviderError::new(ProviderErrorKind::Timeout, "no answer"),
        after_text: String::new(),
    });
    assert_eq!(error, ScriptStep::Summary(expected));
}

#[test]
fn the_user_speaks_and_acts() {
    let say = |text: &str, delivery| ScriptAction::Say {
        text: text.to_owned(),
        delivery,
    };
    let focus = || Some("the parser".to_owned());
    let cases = [
        (r#"{"say":"go"}"#, say("go", ScriptDelivery::Prompt)),
        (
            r#"{"say":"go","delivery":"prompt"}"#,
            say("go", ScriptDelivery::Prompt),
        ),
        (
            r#"{"say":"no","delivery":"steer"}"#,
            say("no", ScriptDelivery::Steer),
        ),
        (
            r#"{"say":"then","delivery":"follow_up"}"#,
            say("then", ScriptDelivery::FollowUp),
        ),
        (
            r#"{"compact":{"focus":null}}"#,
            ScriptAction::Compact { focus: None },
        ),
        (
            r#"{"compact":{"focus":"the parser"}}"#,
            ScriptAction::Compact { focus: focus() },
        ),
        (r#"{"handoff":{}}"#, ScriptAction::Handoff { focus: None }),
        (
            r#"{"handoff":{"focus":"the parser"}}"#,
            ScriptAction::Handoff { focus: focus() },
        ),
        (
            r#"{"navigate":{"back":2,"summarize":true,"focus":"the parser"}}"#,
            ScriptAction::Navigate {
                back: 2,
                summarize: true,
                focus: focus(),
            },
        ),
        (
            r#"{"navigate":{"back":1}}"#,
            ScriptAction::Navigate {
                back: 1,
                summarize: false,
                focus: None,
            },
        ),
        (
            r#"{"label":{"back":1,"text":"good"}}"#,
            ScriptAction::Label {
                back: 1,
                text: "good".to_owned(),
            },
        ),
        (r#""abort""#, ScriptAction::Abort),
    ];
    for (text, expected) in cases {
        assert_eq!(action(text), expected, "{text}");
    }
}

#[test]
fn a_line_that_is_no_step_is_refused() {
    check_errors(&[
        (
            "# one\n\n{\"answer\":{\"text\":\"cut",
            "line 3: is no JSON (EOF while parsing a string, at column 22); write one JSON object on each line",
        ),
        (
            " # not the first character",
            "line 1: is no JSON (expected value, at column 2); write one JSON object on each line",
        ),
        (
            r#"{"answer":{"text":"a"}} {}"#,
            "line 1: is no JSON (trailing characters, at column 25); write one JSON object on each line",
        ),
        (
            "[1]",
            "line 1: is a list, but must be an object with answer, error, summary, user",
        ),
        (
            r#"{"answr":{}}"#,
            "line 1: answr: unknown key; allowed are answer, error, summary, user",
        ),
        (
            "{}",
            "line 1: is empty; give one of answer, error, summary, user",
        ),
        (
            r#"{"answer":null}"#,
            "line 1: is empty; give one of answer, error, summary, user",
        ),
        (
            r#"{"answer":{"text":"a"},"user":"abort"}"#,
            "line 1: has answer and user; give each a line of its own",
        ),
        (
            r#"{"user":"abort","user":"abort"}"#,
            "line 1: user: is given twice; keep one",
        ),
    ]);
}

#[test]
fn a_header_that_cannot_be_used_is_refused() {
    let answer = r#"{"answer":{"text":"a"}}"#;
    check_errors(&[
        (
            &format!("{{\"script\":1}}\n# again\n{{\"script\":1}}\n{answer}"),
            "line 3: script: is a second header, after line 1; keep one",
        ),
        (
            &format!("{answer}\n{{\"script\":1}}"),
            "line 2: script: the header must stand before all other lines",
        ),
        (
            r#"{"script":2}"#,
            "line 1: script: is 2, but must be 1, the version of the format",
        ),
        (
            r#"{"script":null}"#,
            "line 1: script: is missing; it must be 1, the version of the format",
        ),
        (
            r#"{"script":1,"windows":5}"#,
            "line 1: windows: unknown key; allowed are script, name, window, max_output, workspace, settings",
        ),
        (
            r#"{"script":1,"name":" "}"#,
            "line 1: name: is empty; write a text",
        ),
        (
            r#"{"script":1,"name":"a\nb"}"#,
            r#"line 1: name: is "a\nb", but must be a text on one line"#,
        ),
        (
            r#"{"script":1,"window":0}"#,
            "line 1: window: is 0, but must be a number of tokens, 1 or more",
        ),
        (
            r#"{"script":1,"max_output":1.5}"#,
            "line 1: max_output: is 1.5, but must be a number of tokens, 1 or more",
        ),
        (
            r#"{"script":1,"window":100,"max_output":101}"#,
            "line 1: max_output: is 101, but must be at most the window, 100",
        ),
        (
            r#"{"script":1,"workspace":7}"#,
            "line 1: workspace: is 7, but must be a text",
        ),
        (
            r#"{"script":1,"workspace":"/etc"}"#,
            r#"line 1: workspace: is "/etc", but must be a folder relative to the script"#,
        ),
        (
            r#"{"script":1,"settings":[]}"#,
            "line 1: settings: is a list, but must be an object",
        ),
    ]);
}

#[test]
fn an_answer_that_cannot_be_given_is_refused() {
    let long = "x".repeat(50);
    check_errors(&[
        (
            r#"{"answer":"hello"}"#,
            "line 1: answer: is \"hello\", but must be an object with text, thinking, calls, stop, usage, pause_ms",
        ),
        (
            r#"{"answer":{"txt":"a"}}"#,
            "line 1: answer.txt: unknown key; allowed are text, thinking, calls, stop, usage, pause_ms",
        ),
        (
            &format!(r#"{{"answer":{{"{long}":1}}}}"#),
            &format!(
                "line 1: answer.{}...: unknown key; allowed are text, thinking, calls, stop, usage, pause_ms",
                &long[..40]
            ),
        ),
        (
            r#"{"answer":{"thinking":"hm"}}"#,
            "line 1: answer: has neither text nor calls; give one of them (text may be empty)",
        ),
        (
            r#"{"answer":{"calls":[]}}"#,
            "line 1: answer: has neither text nor calls; give one of them (text may be empty)",
        ),
        (
            r#"{"answer":{"text":["a"]}}"#,
            "line 1: answer.text: is a list, but must be a text",
        ),
        (
            r#"{"answer":{"text":"\ud83d"}}"#,
            "line 1: answer.text: holds half a surrogate pair; write the whole character",
        ),
        (
            r#"{"answer":{"text":"a","thinking":true}}"#,
            "line 1: answer.thinking: is true, but must be a text",
        ),
        (
            r#"{"answer":{"calls":{"name":"ls"}}}"#,
            "line 1: answer.calls: is an object, but must be a list",
        ),
        (
            r#"{"answer":{"calls":[{"arguments":{}}]}}"#,
            "line 1: answer.calls[0].name: is missing; it must be the name of a tool",
        ),
        (
            r#"{"answer":{"calls":[{"name":"ls"},{"name":""}]}}"#,
            "line 1: answer.calls[1].name: is empty; write a text",
        ),
        (
            r#"{"answer":{"calls":[{"tool":"ls"}]}}"#,
            "line 1: answer.calls[0].tool: unknown key; allowed are name, arguments, id",
        ),
        (
            r#"{"answer":{"calls":[{"name":"ls","arguments":"{}"}]}}"#,
            "line 1: answer.calls[0].arguments: is \"{}\", but must be an object",
        ),
        (
            r#"{"answer":{"calls":[{"name":"ls","id":5}]}}"#,
            "line 1: answer.calls[0].id: is 5, but must be a text",
        ),
        (
            r#"{"answer":{"calls":[{"name":"ls"},{"name":"ls","id":"call_1_1"}]}}"#,
            "line 1: answer.calls[1]: has the id of calls[0], call_1_1; each needs its own",
        ),
        (
            r#"{"answer":{"text":"a","stop":"done"}}"#,
            "line 1: answer.stop: is \"done\", but must be one of stop, length, tool_use",
        ),
        (
            r#"{"answer":{"text":"a","stop":"tool_use"}}"#,
            "line 1: answer.stop: is tool_use without calls; give calls, or stop or length",
        ),
        (
            r#"{"answer":{"text":"a","usage":{"in":1}}}"#,
            "line 1: answer.usage.in: unknown key; allowed are input, output, cache_read, cache_write",
        ),
        (
            r#"{"answer":{"text":"a","usage":{"output":-1}}}"#,
            "line 1: answer.usage.output: is -1, but must be a number of tokens, 0 or more",
        ),
        (
            r#"{"answer":{"text":"a","pause_ms":600001}}"#,
            "line 1: answer.pause_ms: is 600001, but must be a number of milliseconds, 0 to 600000",
        ),
    ]);
}

#[test]
fn an_error_or_a_summary_that_cannot_be_given_is_refused() {
    let kinds = "context_overflow, rate_limited, overloaded, quota, auth, payload_too_large, image_rejected, thinking_rejected, \
                 invalid_request, timeout, unreachable, interrupted, malformed";
    check_errors(&[
        (
            r#"{"error":{}}"#,
            &format!("line 1: error.kind: is missing; it must be one of {kinds}"),
        ),
        (
            r#"{"error":{"kind":"cancelled"}}"#,
            &format!("line 1: error.kind: is \"cancelled\", but must be one of {kinds}"),
        ),
        (
            r#"{"error":{"kind":"auth","code":1}}"#,
            "line 1: error.code: unknown key; allowed are kind, message, status, retry_after_ms, after_text",
        ),
        (
            r#"{"error":{"kind":"auth","message":""}}"#,
            "line 1: error.message: is empty; write a text",
        ),
        (
            r#"{"error":{"kind":"auth","status":99}}"#,
            "line 1: error.status: is 99, but must be an HTTP status, 100 to 599",
        ),
        (
            r#"{"error":{"kind":"auth","retry_after_ms":"1s"}}"#,
            "line 1: error.retry_after_ms: is \"1s\", but must be a number of milliseconds, 0 to 86400000",
        ),
        (
            r#"{"error":{"kind":"auth","after_text":1}}"#,
            "line 1: error.after_text: is 1, but must be a text",
        ),
        (
            r#"{"summary":{}}"#,
            "line 1: summary: has neither text nor error; give one of them",
        ),
        (
            r#"{"summary":{"text":"a","error":{"kind":"auth"}}}"#,
            "line 1: summary: has text and error; give one of them",
        ),
        (
            r#"{"summary":"a"}"#,
            "line 1: summary: is \"a\", but must be an object with text, error",
        ),
        (
            "\n{\"summary\":{\"error\":{\"kind\":\"server\"}}}",
            &format!("line 2: summary.error.kind: is \"server\", but must be one of {kinds}"),
        ),
    ]);
}

#[test]
fn an_action_that_cannot_be_done_is_refused() {
    let allowed = "say, delivery, compact, handoff, navigate, label";
    let back = "a number of messages of the user, 1 (the newest) to 1000000";
    check_errors(&[
        (
            r#"{"user":"stop"}"#,
            "line 1: user: is \"stop\", but must be \"abort\" or an object with say, compact, handoff, navigate or label",
        ),
        (
            r#"{"user":5}"#,
            "line 1: user: is 5, but must be \"abort\" or an object with say, compact, handoff, navigate or label",
        ),
        (
            r#"{"user":{"shout":"a"}}"#,
            &format!("line 1: user.shout: unknown key; allowed are {allowed}"),
        ),
        (
            r#"{"user":{"delivery":"steer"}}"#,
            "line 1: user: does nothing; give one of say, compact, handoff, navigate, label",
        ),
        (
            r#"{"user":{"say":"a","compact":{}}}"#,
            "line 1: user: has say and compact; give each a line of its own",
        ),
        (
            r#"{"user":{"compact":{},"delivery":"steer"}}"#,
            "line 1: user.delivery: belongs to say, not to compact; leave it out",
        ),
        (
            r#"{"user":{"say":""}}"#,
            "line 1: user.say: is empty; write a text",
        ),
        (
            r#"{"user":{"say":"a","delivery":"later"}}"#,
            "line 1: user.delivery: is \"later\", but must be one of prompt, steer, follow_up",
        ),
        (
            r#"{"user":{"compact":"all"}}"#,
            "line 1: user.compact: is \"all\", but must be an object with focus",
        ),
        (
            r#"{"user":{"handoff":{"to":"a"}}}"#,
            "line 1: user.handoff.to: unknown key; allowed are focus",
        ),
        (
            r#"{"user":{"compact":{"focus":1}}}"#,
            "line 1: user.compact.focus: is 1, but must be a text",
        ),
        (
            r#"{"user":{"navigate":{}}}"#,
            &format!("line 1: user.navigate.back: is missing; it must be {back}"),
        ),
        (
            r#"{"user":{"navigate":{"back":0}}}"#,
            &format!("line 1: user.navigate.back: is 0, but must be {back}"),
        ),
        (
            r#"{"user":{"navigate":{"back":1,"summarize":"yes"}}}"#,
            "line 1: user.navigate.summarize: is \"yes\", but must be true or false",
        ),
        (
            r#"{"user":{"navigate":{"back":1,"focus":"a"}}}"#,
            "line 1: user.navigate.focus: is for a summary; set summarize to true, or leave it out",
        ),
        (
            r#"{"user":{"label":{"back":-1,"text":"a"}}}"#,
            &format!("line 1: user.label.back: is -1, but must be {back}"),
        ),
        (
            r#"{"user":{"label":{"back":1}}}"#,
            "line 1: user.label.text: is missing; it must be a text",
        ),
    ]);
}

#[test]
fn the_documentation_shows_what_can_be_read() {
    let docs = include_str!("../../../../docs/reference/scripts.md");
    let hello = include_str!("../../../../examples/scripts/hello.jsonl");
    let (_, block) = docs.split_once("```jsonl\n").unwrap();
    let (shown, _) = block.split_once("```").unwrap();
    assert_eq!(Script::parse(shown), Script::parse(hello));

    let inline = docs
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let actions: Vec<ScriptAction> = inline
        .filter_map(|code| code.strip_prefix("{\"user\":")?.strip_suffix('}'))
        .filter(|code| *code != "...")
        .map(action)
        .collect();
    assert_eq!(actions.len(), 6, "one of each: {actions:?}");

    for kind in super::read::KINDS {
        let name = format!("`{}`", kind.name());
        assert!(docs.contains(&name), "{name}");
    }
}
