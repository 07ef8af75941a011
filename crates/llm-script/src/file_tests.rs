//! Scripts are read as they are meant, and every error names its line, its key and what is allowed.

use std::path::PathBuf;
use std::time::Duration;

use llm_providers::{ProviderError, ProviderErrorKind};
use session_model::json::RawJson;
use session_model::{StopReason, ToolCall};

use crate::file::{
    Cue, Script, ScriptAction, ScriptAnswer, ScriptDelivery, ScriptFailure, ScriptHeader,
    ScriptUsage,
};

/// Returns the only turn.
fn cue(text: &str) -> Cue {
    let mut turns = Script::parse(text).unwrap().turns;
    assert_eq!(turns.len(), 1, "{text}");
    turns.remove(0)
}

fn answer(text: &str) -> ScriptAnswer {
    cue(text).turn.unwrap()
}

fn action(text: &str) -> ScriptAction {
    let mut first = Script::parse(&format!("{{\"user\":{text}}}"))
        .unwrap()
        .first;
    assert_eq!(first.len(), 1, "{text}");
    first.remove(0)
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

/// Returns what is wrong with a script.
fn fault(text: &str) -> String {
    let error = Script::parse(text).map_err(|error| error.to_string());
    error.expect_err(text)
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
        turns: vec![Ok(ScriptAnswer::default()).into()],
        ..Script::default()
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
    assert_eq!(answer(text), expected);
}

#[test]
fn the_stop_reason_follows_from_the_calls() {
    let stops = [
        r#"{"text":"a"}"#,
        r#"{"calls":[{"name":"ls"}]}"#,
        r#"{"calls":[{"name":"ls"}],"stop":"stop"}"#,
        r#"{"calls":[{"name":"ls"}],"stop":"tool_use"}"#,
    ]
    .map(|text| answer(&format!("{{\"answer\":{text}}}")).stop);
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
    assert_eq!(cue(text).turn, Err(expected));
    let kind = ProviderErrorKind::ContextOverflow;
    let expected = ScriptFailure {
        error: ProviderError::new(kind, "the script says context_overflow"),
        after_text: String::new(),
    };
    assert_eq!(
        cue(r#"{"error":{"kind":"context_overflow"}}"#).turn,
        Err(expected)
    );
}

#[test]
fn a_summary_is_a_text_or_an_error() {
    let lines = concat!(
        r#"{"summary":{"text":"so far"}}"#,
        "\n",
        r#"{"summary":{"error":{"kind":"timeout","message":"no answer"}}}"#
    );
    let text = ScriptAnswer {
        text: "so far".to_owned(),
        ..ScriptAnswer::default()
    };
    let failure = ScriptFailure {
        error: ProviderError::new(ProviderErrorKind::Timeout, "no answer"),
        after_text: String::new(),
    };
    let expected = [Ok(text).into(), Err(failure).into()];
    assert_eq!(Script::parse(lines).unwrap().summaries, expected);
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

/// One line each that cannot be used.
const FAULTS: &str = r#" # not the first character
{"answer":{"text":"a"}} {}
[1]
{"answr":{}}
{}
{"answer":null}
{"answer":{"text":"a"},"user":"abort"}
{"user":"abort","user":"abort"}
{"script":2}
{"script":null}
{"script":1,"windows":5}
{"script":1,"name":" "}
{"script":1,"name":"a\nb"}
{"script":1,"window":0}
{"script":1,"max_output":1.5}
{"script":1,"window":100,"max_output":101}
{"script":1,"workspace":7}
{"script":1,"workspace":"/etc"}
{"script":1,"settings":[]}
{"answer":"hello"}
{"answer":["hello"]}
{"answer":{"txt":"a"}}
{"answer":{"thinking":"hm"}}
{"answer":{"calls":[]}}
{"answer":{"text":["a"]}}
{"answer":{"text":"\ud83d"}}
{"answer":{"text":"a","thinking":true}}
{"answer":{"calls":{"name":"ls"}}}
{"answer":{"calls":[{"arguments":{}}]}}
{"answer":{"calls":[{"name":"ls"},{"name":""}]}}
{"answer":{"calls":[{"name":"ls","arguments":"{}"}]}}
{"answer":{"calls":[{"name":"ls","id":5}]}}
{"answer":{"calls":[{"name":"ls"},{"name":"ls","id":"call_1_1"}]}}
{"answer":{"text":"a","stop":"done"}}
{"answer":{"text":"a","stop":"tool_use"}}
{"answer":{"text":"a","usage":{"in":1}}}
{"answer":{"text":"a","usage":{"output":-1}}}
{"answer":{"text":"a","pause_ms":600001}}
{"error":{}}
{"error":{"kind":"cancelled"}}
{"error":{"kind":"broken"}}
{"error":{"kind":"auth","code":1}}
{"error":{"kind":"auth","message":""}}
{"error":{"kind":"auth","status":99}}
{"error":{"kind":"auth","retry_after_ms":"1s"}}
{"summary":{}}
{"summary":{"text":"a","error":{"kind":"auth"}}}
{"summary":"a"}
{"summary":{"error":{"kind":"server"}}}
{"user":"stop"}
{"user":5}
{"user":{"shout":"a"}}
{"user":{"delivery":"steer"}}
{"user":{"say":"a","compact":{}}}
{"user":{"compact":{},"delivery":"steer"}}
{"user":{"say":""}}
{"user":{"say":"a","delivery":"later"}}
{"user":{"compact":"all"}}
{"user":{"handoff":{"to":"a"}}}
{"user":{"navigate":{}}}
{"user":{"navigate":{"back":0}}}
{"user":{"navigate":{"back":1,"summarize":"yes"}}}
{"user":{"navigate":{"back":1,"focus":"a"}}}
{"user":{"label":{"back":1}}}"#;

#[test]
fn an_error_names_the_key_and_what_is_allowed() {
    let faults = FAULTS
        .lines()
        .map(|line| format!("{line}\n  {}", fault(line)));
    insta::assert_snapshot!(faults.collect::<Vec<_>>().join("\n"), @r#"
     # not the first character
      line 1: is not JSON (expected value, at column 2); write one JSON object on each line
    {"answer":{"text":"a"}} {}
      line 1: is not JSON (trailing characters, at column 25); write one JSON object on each line
    [1]
      line 1: invalid type: sequence, expected an object
    {"answr":{}}
      line 1: answr: unknown field `answr`, expected one of `answer`, `error`, `summary`, `user`
    {}
      line 1: needs exactly one of answer, error, summary and user
    {"answer":null}
      line 1: needs exactly one of answer, error, summary and user
    {"answer":{"text":"a"},"user":"abort"}
      line 1: needs exactly one of answer, error, summary and user
    {"user":"abort","user":"abort"}
      line 1: duplicate field `user`
    {"script":2}
      line 1: script: invalid value: integer `2`, expected 1
    {"script":null}
      line 1: script: invalid type: null, expected 1
    {"script":1,"windows":5}
      line 1: windows: unknown field `windows`, expected one of `script`, `name`, `window`, `max_output`, `workspace`, `settings`
    {"script":1,"name":" "}
      line 1: name: is empty; write a text
    {"script":1,"name":"a\nb"}
      line 1: name: must be a text on one line
    {"script":1,"window":0}
      line 1: window: invalid value: integer `0`, expected a whole number from 1
    {"script":1,"max_output":1.5}
      line 1: max_output: invalid type: floating point `1.5`, expected a whole number from 1
    {"script":1,"window":100,"max_output":101}
      line 1: max_output: is 101, but must be at most the window, 100
    {"script":1,"workspace":7}
      line 1: workspace: invalid type: integer `7`, expected a string
    {"script":1,"workspace":"/etc"}
      line 1: workspace: must be a folder relative to the script
    {"script":1,"settings":[]}
      line 1: settings: must be an object
    {"answer":"hello"}
      line 1: answer: invalid type: string "hello", expected an object
    {"answer":["hello"]}
      line 1: answer: invalid type: sequence, expected an object
    {"answer":{"txt":"a"}}
      line 1: answer.txt: unknown field `txt`, expected one of `text`, `thinking`, `calls`, `stop`, `usage`, `pause_ms`
    {"answer":{"thinking":"hm"}}
      line 1: answer: has neither text nor calls; give one of them (text may be empty)
    {"answer":{"calls":[]}}
      line 1: answer: has neither text nor calls; give one of them (text may be empty)
    {"answer":{"text":["a"]}}
      line 1: answer.text: invalid type: sequence, expected a string
    {"answer":{"text":"\ud83d"}}
      line 1: is not JSON (unexpected end of hex escape, at column 26); write one JSON object on each line
    {"answer":{"text":"a","thinking":true}}
      line 1: answer.thinking: invalid type: boolean `true`, expected a string
    {"answer":{"calls":{"name":"ls"}}}
      line 1: answer.calls: invalid type: map, expected a sequence
    {"answer":{"calls":[{"arguments":{}}]}}
      line 1: answer.calls[0]: missing field `name`
    {"answer":{"calls":[{"name":"ls"},{"name":""}]}}
      line 1: answer.calls[1].name: is empty; write a text
    {"answer":{"calls":[{"name":"ls","arguments":"{}"}]}}
      line 1: answer.calls[0].arguments: must be an object
    {"answer":{"calls":[{"name":"ls","id":5}]}}
      line 1: answer.calls[0].id: invalid type: integer `5`, expected a string
    {"answer":{"calls":[{"name":"ls"},{"name":"ls","id":"call_1_1"}]}}
      line 1: answer.calls[1]: has the id of calls[0], call_1_1; each needs its own
    {"answer":{"text":"a","stop":"done"}}
      line 1: answer.stop: unknown variant `done`, expected one of `stop`, `length`, `tool_use`
    {"answer":{"text":"a","stop":"tool_use"}}
      line 1: answer.stop: is tool_use without calls; give calls, or stop or length
    {"answer":{"text":"a","usage":{"in":1}}}
      line 1: answer.usage.in: unknown field `in`, expected one of `input`, `output`, `cache_read`, `cache_write`
    {"answer":{"text":"a","usage":{"output":-1}}}
      line 1: answer.usage.output: invalid value: integer `-1`, expected u64
    {"answer":{"text":"a","pause_ms":600001}}
      line 1: answer.pause_ms: invalid value: integer `600001`, expected a whole number from 0 to 600000
    {"error":{}}
      line 1: error: missing field `kind`
    {"error":{"kind":"cancelled"}}
      line 1: error.kind: must be a failure of the service
    {"error":{"kind":"broken"}}
      line 1: error.kind: unknown variant `broken`, expected one of `context_overflow`, `rate_limited`, `overloaded`, `quota`, `auth`, `payload_too_large`, `image_rejected`, `thinking_rejected`, `invalid_request`, `timeout`, `unreachable`, `interrupted`, `cancelled`, `malformed`
    {"error":{"kind":"auth","code":1}}
      line 1: error.code: unknown field `code`, expected one of `kind`, `message`, `status`, `retry_after_ms`, `after_text`
    {"error":{"kind":"auth","message":""}}
      line 1: error.message: is empty; write a text
    {"error":{"kind":"auth","status":99}}
      line 1: error.status: invalid value: integer `99`, expected a whole number from 100 to 599
    {"error":{"kind":"auth","retry_after_ms":"1s"}}
      line 1: error.retry_after_ms: invalid type: string "1s", expected a whole number from 0 to 86400000
    {"summary":{}}
      line 1: summary: needs either text or error
    {"summary":{"text":"a","error":{"kind":"auth"}}}
      line 1: summary: needs either text or error
    {"summary":"a"}
      line 1: summary: invalid type: string "a", expected an object
    {"summary":{"error":{"kind":"server"}}}
      line 1: summary.error.kind: unknown variant `server`, expected one of `context_overflow`, `rate_limited`, `overloaded`, `quota`, `auth`, `payload_too_large`, `image_rejected`, `thinking_rejected`, `invalid_request`, `timeout`, `unreachable`, `interrupted`, `cancelled`, `malformed`
    {"user":"stop"}
      line 1: user: invalid value: string "stop", expected "abort" or an object with say, compact, handoff, navigate or label
    {"user":5}
      line 1: user: invalid type: integer `5`, expected "abort" or an object with say, compact, handoff, navigate or label
    {"user":{"shout":"a"}}
      line 1: user.shout: unknown field `shout`, expected one of `say`, `delivery`, `compact`, `handoff`, `navigate`, `label`
    {"user":{"delivery":"steer"}}
      line 1: user: delivery belongs to say
    {"user":{"say":"a","compact":{}}}
      line 1: user: needs exactly one of say, compact, handoff, navigate and label
    {"user":{"compact":{},"delivery":"steer"}}
      line 1: user: delivery belongs to say
    {"user":{"say":""}}
      line 1: user.say: is empty; write a text
    {"user":{"say":"a","delivery":"later"}}
      line 1: user.delivery: unknown variant `later`, expected one of `prompt`, `steer`, `follow_up`
    {"user":{"compact":"all"}}
      line 1: user.compact: invalid type: string "all", expected an object
    {"user":{"handoff":{"to":"a"}}}
      line 1: user.handoff.to: unknown field `to`, expected `focus`
    {"user":{"navigate":{}}}
      line 1: user.navigate: missing field `back`
    {"user":{"navigate":{"back":0}}}
      line 1: user.navigate.back: invalid value: integer `0`, expected a whole number from 1 to 1000000
    {"user":{"navigate":{"back":1,"summarize":"yes"}}}
      line 1: user.navigate.summarize: invalid type: string "yes", expected a boolean
    {"user":{"navigate":{"back":1,"focus":"a"}}}
      line 1: user: navigate.focus is for a summary; set summarize to true, or leave it out
    {"user":{"label":{"back":1}}}
      line 1: user.label: missing field `text`
    "#);
}

#[test]
fn an_error_names_its_line() {
    let answer = r#"{"answer":{"text":"a"}}"#;
    let faults = [
        fault("# one\n\n{\"answer\":{\"text\":\"cut"),
        fault(&format!(
            "{{\"script\":1}}\n# again\n{{\"script\":1}}\n{answer}"
        )),
        fault(&format!("{answer}\n{{\"script\":1}}")),
    ];
    insta::assert_snapshot!(faults.join("\n"), @"
    line 3: is not JSON (EOF while parsing a string, at column 22); write one JSON object on each line
    line 3: script: is a second header, after line 1; keep one
    line 2: script: the header must stand before all other lines
    ");
}

#[test]
fn the_documentation_shows_what_can_be_read() {
    let docs = include_str!("../../../docs/reference/scripts.md");
    let hello = include_str!("../../../examples/scripts/hello.jsonl");
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

    let kinds = docs.lines().find(|line| line.starts_with("| `kind`"));
    let kinds = kinds.unwrap().split('`').skip(3).step_by(2);
    let kinds: Vec<Cue> = kinds
        .map(|kind| cue(&format!("{{\"error\":{{\"kind\":\"{kind}\"}}}}")))
        .collect();
    assert_eq!(kinds.len(), 13, "all but cancelled");
}
