//! Reads one line of a script.

use std::path::PathBuf;
use std::time::Duration;

use session_model::json::RawJson;
use session_model::{StopReason, ToolCall};

use super::fields::{Fault, Field, Object, parse_line};
use super::file::{
    ScriptAction, ScriptAnswer, ScriptDelivery, ScriptFailure, ScriptHeader, ScriptStep,
    ScriptSummary, ScriptUsage,
};
use crate::error::{ProviderError, ProviderErrorKind};

/// The version of the format.
const VERSION: u64 = 1;

/// The longest pause before an answer, in milliseconds.
const LONGEST_PAUSE: u64 = 600_000;

/// The longest time to wait that an error asks for, in milliseconds.
const LONGEST_RETRY: u64 = 86_400_000;

/// How far back the user may go, in messages.
const FARTHEST_BACK: u64 = 1_000_000;

/// The kinds of failures that a script may have: all but the caller's own cancelling.
pub(super) const KINDS: [ProviderErrorKind; 13] = [
    ProviderErrorKind::ContextOverflow,
    ProviderErrorKind::RateLimited,
    ProviderErrorKind::Overloaded,
    ProviderErrorKind::Quota,
    ProviderErrorKind::Auth,
    ProviderErrorKind::PayloadTooLarge,
    ProviderErrorKind::ImageRejected,
    ProviderErrorKind::ThinkingRejected,
    ProviderErrorKind::InvalidRequest,
    ProviderErrorKind::Timeout,
    ProviderErrorKind::Unreachable,
    ProviderErrorKind::Interrupted,
    ProviderErrorKind::Malformed,
];

/// What a line is.
pub(super) enum Line {
    /// What the script says about itself.
    Header(ScriptHeader),
    /// A step.
    Step(ScriptStep),
}

/// Returns what line `number` says.
pub(super) fn line(text: &str, number: usize) -> Result<Line, Fault> {
    let line = parse_line(text)?;
    if line.has("script") {
        return header(&line).map(Line::Header);
    }
    let object = line.object(&["answer", "error", "summary", "user"])?;
    let key = only_key(&line, &object)?;
    let value = object.need(key, "an object")?;
    let step = match key {
        "answer" => ScriptStep::Answer(answer(&value, number)?),
        "error" => ScriptStep::Failure(failure(&value)?),
        "summary" => ScriptStep::Summary(summary(&value)?),
        _ => ScriptStep::User(action(&value)?),
    };
    Ok(Line::Step(step))
}

/// Returns the one key of the line.
fn only_key<'k>(line: &Field<'_>, object: &'k Object<'_>) -> Result<&'k str, Fault> {
    match object.keys().as_slice() {
        [key] => Ok(key),
        [] => Err(line.fault("is empty; give one of answer, error, summary, user")),
        keys => {
            let keys = keys.join(" and ");
            Err(line.fault(&format!("has {keys}; give each a line of its own")))
        }
    }
}

fn header(line: &Field<'_>) -> Result<ScriptHeader, Fault> {
    let object = line.object(&[
        "script",
        "name",
        "window",
        "max_output",
        "workspace",
        "settings",
    ])?;
    let what = "1, the version of the format";
    let version = object.need("script", what)?;
    version.number(&(VERSION..=VERSION), what)?;
    let name = object.get("name").map(|name| {
        let text = name.some_text()?;
        match text.contains(char::is_control) {
            true => Err(name.must_be("a text on one line")),
            false => Ok(text),
        }
    });
    let tokens = |key| {
        let field = object.get(key);
        let number =
            field.map(|field| field.number(&(1..=u64::MAX), "a number of tokens, 1 or more"));
        number.transpose()
    };
    let window = tokens("window")?;
    let max_output = tokens("max_output")?;
    if let (Some(window), Some(cap), Some(field)) = (window, max_output, object.get("max_output"))
        && cap > window
    {
        return Err(field.must_be(&format!("at most the window, {window}")));
    }
    let workspace = object.get("workspace").map(|folder| {
        let path = PathBuf::from(folder.some_text()?);
        match path.has_root() {
            true => Err(folder.must_be("a folder relative to the script")),
            false => Ok(path),
        }
    });
    let settings = object.get("settings").map(|field| field.raw_object());
    Ok(ScriptHeader {
        name: name.transpose()?,
        window,
        max_output,
        workspace: workspace.transpose()?,
        settings: settings.transpose()?,
    })
}

fn answer(field: &Field<'_>, line: usize) -> Result<ScriptAnswer, Fault> {
    let object = field.object(&["text", "thinking", "calls", "stop", "usage", "pause_ms"])?;
    let mut calls: Vec<ToolCall> = Vec::new();
    if let Some(list) = object.get("calls") {
        for (index, item) in list.list()?.iter().enumerate() {
            let call = call(item, format!("call_{line}_{}", index + 1))?;
            if let Some(other) = calls.iter().position(|other| other.id == call.id) {
                let id = &call.id;
                let reason = format!("has the id of calls[{other}], {id}; each needs its own");
                return Err(item.fault(&reason));
            }
            calls.push(call);
        }
    }
    if object.get("text").is_none() && calls.is_empty() {
        let reason = "has neither text nor calls; give one of them (text may be empty)";
        return Err(field.fault(reason));
    }
    let stop = object.get("stop").map(|stop| {
        let stops = [
            ("stop", StopReason::Stop),
            ("length", StopReason::Length),
            ("tool_use", StopReason::ToolUse),
        ];
        let reason = stop.one_of(&stops)?;
        match reason == StopReason::ToolUse && calls.is_empty() {
            true => Err(stop.fault("is tool_use without calls; give calls, or stop or length")),
            false => Ok(reason),
        }
    });
    let stop = stop.transpose()?.unwrap_or(match calls.is_empty() {
        true => StopReason::Stop,
        false => StopReason::ToolUse,
    });
    let usage = object.get("usage").map(|field| usage(&field)).transpose()?;
    let pause = milliseconds(&object, "pause_ms", LONGEST_PAUSE)?;
    Ok(ScriptAnswer {
        thinking: object.text_or_empty("thinking")?,
        text: object.text_or_empty("text")?,
        calls,
        stop,
        usage: usage.unwrap_or_default(),
        pause: pause.unwrap_or_default(),
    })
}

fn call(field: &Field<'_>, default_id: String) -> Result<ToolCall, Fault> {
    let object = field.object(&["name", "arguments", "id"])?;
    let name = object.need("name", "the name of a tool")?.some_text()?;
    let arguments = match object.get("arguments") {
        Some(arguments) => Some(arguments.raw_object()?),
        None => RawJson::parse("{}").ok(),
    };
    let id = object.get("id").map(|id| id.some_text()).transpose()?;
    Ok(ToolCall {
        id: id.unwrap_or(default_id),
        name,
        arguments,
        signature: None,
    })
}

fn usage(field: &Field<'_>) -> Result<ScriptUsage, Fault> {
    let object = field.object(&["input", "output", "cache_read", "cache_write"])?;
    let tokens = |key| {
        let field = object.get(key);
        let number =
            field.map(|field| field.number(&(0..=u64::MAX), "a number of tokens, 0 or more"));
        number.transpose()
    };
    Ok(ScriptUsage {
        input: tokens("input")?,
        output: tokens("output")?,
        cache_read: tokens("cache_read")?.unwrap_or_default(),
        cache_write: tokens("cache_write")?.unwrap_or_default(),
    })
}

fn failure(field: &Field<'_>) -> Result<ScriptFailure, Fault> {
    let object = field.object(&["kind", "message", "status", "retry_after_ms", "after_text"])?;
    let kinds = KINDS.map(|kind| (kind.name(), kind));
    let what = kinds.map(|(name, _)| name).join(", ");
    let kind = object
        .need("kind", &format!("one of {what}"))?
        .one_of(&kinds)?;
    let message = object
        .get("message")
        .map(|text| text.some_text())
        .transpose()?;
    let message = message.unwrap_or_else(|| format!("the script says {}", kind.name()));
    let status = object.get("status").map(|status| {
        let number = status.number(&(100..=599), "an HTTP status, 100 to 599")?;
        u16::try_from(number).map_err(|error| status.fault(&error.to_string()))
    });
    Ok(ScriptFailure {
        error: ProviderError {
            status: status.transpose()?,
            retry_after: milliseconds(&object, "retry_after_ms", LONGEST_RETRY)?,
            ..ProviderError::new(kind, &message)
        },
        after_text: object.text_or_empty("after_text")?,
    })
}

fn summary(field: &Field<'_>) -> Result<ScriptSummary, Fault> {
    let object = field.object(&["text", "error"])?;
    match (object.get("text"), object.get("error")) {
        (Some(text), None) => text.text().map(ScriptSummary::Text),
        (None, Some(error)) => failure(&error).map(ScriptSummary::Failure),
        (Some(_), Some(_)) => Err(field.fault("has text and error; give one of them")),
        (None, None) => Err(field.fault("has neither text nor error; give one of them")),
    }
}

fn action(field: &Field<'_>) -> Result<ScriptAction, Fault> {
    if !field.is_object() {
        let is_abort = field.text().is_ok_and(|text| text == "abort");
        let what = "\"abort\" or an object with say, compact, handoff, navigate or label";
        return match is_abort {
            true => Ok(ScriptAction::Abort),
            false => Err(field.must_be(what)),
        };
    }
    let object = field.object(&["say", "delivery", "compact", "handoff", "navigate", "label"])?;
    let keys = object.keys();
    let verbs: Vec<&str> = keys.into_iter().filter(|key| *key != "delivery").collect();
    let verb = match verbs.as_slice() {
        [verb] => *verb,
        [] => {
            let reason = "does nothing; give one of say, compact, handoff, navigate, label";
            return Err(field.fault(reason));
        }
        verbs => {
            let verbs = verbs.join(" and ");
            return Err(field.fault(&format!("has {verbs}; give each a line of its own")));
        }
    };
    let value = object.need(verb, "given")?;
    let delivery = object.get("delivery");
    if let Some(delivery) = delivery.as_ref().filter(|_| verb != "say") {
        return Err(delivery.fault(&format!("belongs to say, not to {verb}; leave it out")));
    }
    match verb {
        "say" => {
            let deliveries = [
                ("prompt", ScriptDelivery::Prompt),
                ("steer", ScriptDelivery::Steer),
                ("follow_up", ScriptDelivery::FollowUp),
            ];
            let delivery = delivery.map(|delivery| delivery.one_of(&deliveries));
            Ok(ScriptAction::Say {
                text: value.some_text()?,
                delivery: delivery.transpose()?.unwrap_or_default(),
            })
        }
        "compact" => Ok(ScriptAction::Compact {
            focus: focus(&value.object(&["focus"])?)?,
        }),
        "handoff" => Ok(ScriptAction::Handoff {
            focus: focus(&value.object(&["focus"])?)?,
        }),
        "navigate" => {
            let object = value.object(&["back", "summarize", "focus"])?;
            let summarize = object.get("summarize").map(|field| field.flag());
            let summarize = summarize.transpose()?.unwrap_or_default();
            let back = back(&object)?;
            if let Some(focus) = object.get("focus").filter(|_| !summarize) {
                return Err(focus.fault("is for a summary; set summarize to true, or leave it out"));
            }
            let focus = focus(&object)?;
            Ok(ScriptAction::Navigate {
                back,
                summarize,
                focus,
            })
        }
        _ => {
            let object = value.object(&["back", "text"])?;
            Ok(ScriptAction::Label {
                back: back(&object)?,
                text: object.need("text", "a text")?.some_text()?,
            })
        }
    }
}

fn focus(object: &Object<'_>) -> Result<Option<String>, Fault> {
    let focus = object.get("focus").map(|focus| focus.some_text());
    focus.transpose()
}

fn back(object: &Object<'_>) -> Result<usize, Fault> {
    let what = format!("a number of messages of the user, 1 (the newest) to {FARTHEST_BACK}");
    let field = object.need("back", &what)?;
    let number = field.number(&(1..=FARTHEST_BACK), &what)?;
    usize::try_from(number).map_err(|error| field.fault(&error.to_string()))
}

fn milliseconds(object: &Object<'_>, key: &str, most: u64) -> Result<Option<Duration>, Fault> {
    let what = format!("a number of milliseconds, 0 to {most}");
    let number = object
        .get(key)
        .map(|field| field.number(&(0..=most), &what));
    Ok(number.transpose()?.map(Duration::from_millis))
}
