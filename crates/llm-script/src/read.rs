//! Reads a script: which keys a line may have, and what their values must be.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use llm_providers::{ProviderError, ProviderErrorKind};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use session_model::json::{RawJson, member};
use session_model::{StopReason, ToolCall};

use crate::file::{
    Script, ScriptAction, ScriptAnswer, ScriptDelivery, ScriptError, ScriptFailure, ScriptHeader,
    ScriptUsage, Turn,
};
use crate::values::{AnyObject, Bounded, Filled, Object, or_default};

impl Script {
    /// Returns the script that `text` contains (see `docs/reference/scripts.md`).
    ///
    /// # Errors
    /// The first line that cannot be used, with its number and key.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut script = Self::default();
        let (mut header_line, mut has_steps) = (None, false);
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let fault = |message: String| ScriptError { line, message };
            if member(text, "script").is_none() {
                let step = read::<StepLine>(text);
                step.and_then(|step| step.add(line, &mut script))
                    .map_err(fault)?;
                has_steps = true;
                continue;
            }
            let header = read::<HeaderLine>(text).and_then(HeaderLine::checked);
            script.header = header.map_err(fault)?;
            if let Some(first) = header_line.replace(line) {
                let text = format!("script: is a second header, after line {first}; keep one");
                return Err(fault(text));
            }
            if has_steps {
                let text = "script: the header must stand before all other lines";
                return Err(fault(text.to_owned()));
            }
        }
        Ok(script)
    }
}

/// Returns what a line holds, or its key and what is wrong with it.
fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let (place, error) = match serde_path_to_error::deserialize(&mut parser) {
        Ok(Object(line)) => match parser.end() {
            Ok(()) => return Ok(line),
            Err(error) => (String::new(), error),
        },
        Err(error) => (error.path().to_string(), error.into_inner()),
    };
    let text = error.to_string();
    let what = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(what, _)| what);
    Err(match place.as_str() {
        _ if !error.is_data() => {
            let column = error.column();
            format!("is not JSON ({what}, at column {column}); write one JSON object on each line")
        }
        "" | "." => what.to_owned(),
        place => format!("{place}: {what}"),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine {
    /// The version of the format.
    #[serde(rename = "script")]
    _script: Bounded<1, 1>,
    name: Option<Filled>,
    window: Option<Bounded<1, { u64::MAX }>>,
    max_output: Option<Bounded<1, { u64::MAX }>>,
    workspace: Option<Filled>,
    settings: Option<AnyObject>,
}

impl HeaderLine {
    fn checked(self) -> Result<ScriptHeader, String> {
        let header = ScriptHeader {
            name: self.name.map(|name| name.0),
            window: self.window.map(|window| window.0),
            max_output: self.max_output.map(|cap| cap.0),
            workspace: self.workspace.map(|folder| PathBuf::from(folder.0)),
            settings: self.settings.map(|settings| settings.0),
        };
        if header
            .name
            .iter()
            .any(|name| name.contains(char::is_control))
        {
            return Err("name: must be a text on one line".to_owned());
        }
        if header.workspace.iter().any(|folder| folder.has_root()) {
            return Err("workspace: must be a folder relative to the script".to_owned());
        }
        match (header.window, header.max_output) {
            (Some(window), Some(cap)) if cap > window => Err(format!(
                "max_output: is {cap}, but must be at most the window, {window}"
            )),
            _ => Ok(header),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepLine {
    answer: Option<Object<AnswerLine>>,
    error: Option<Object<FailureLine>>,
    summary: Option<Object<SummaryLine>>,
    user: Option<UserLine>,
}

impl StepLine {
    /// Adds the content of the line, which is number `line` of its file.
    fn add(self, line: usize, script: &mut Script) -> Result<(), String> {
        match (self.answer, self.error, self.summary, self.user) {
            (Some(answer), None, None, None) => {
                script.turns.push(Ok(answer.0.at(line)?).into());
            }
            (None, Some(error), None, None) => script.turns.push(Err(error.0.into()).into()),
            (None, None, Some(summary), None) => script.summaries.push(summary.0.turn()?.into()),
            (None, None, None, Some(user)) => match script.turns.last_mut() {
                Some(cue) => cue.then.push(user.0),
                None => script.first.push(user.0),
            },
            _ => return Err("needs exactly one of answer, error, summary and user".to_owned()),
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerLine {
    text: Option<String>,
    thinking: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    calls: Vec<Object<CallLine>>,
    stop: Option<Ending>,
    usage: Option<Object<ScriptUsage>>,
    pause_ms: Option<Bounded<0, 600_000>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ending {
    Stop,
    Length,
    ToolUse,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallLine {
    name: Filled,
    arguments: Option<AnyObject>,
    id: Option<Filled>,
}

impl AnswerLine {
    fn at(self, line: usize) -> Result<ScriptAnswer, String> {
        let mut calls: Vec<ToolCall> = Vec::new();
        for (index, Object(call)) in self.calls.into_iter().enumerate() {
            let usual = || format!("call_{line}_{}", index + 1);
            let id = call.id.map_or_else(usual, |id| id.0);
            if let Some(other) = calls.iter().position(|other| other.id == id) {
                return Err(format!(
                    "answer.calls[{index}]: has the id of calls[{other}], {id}; each needs its own"
                ));
            }
            let arguments = call.arguments.map(|arguments| arguments.0);
            calls.push(ToolCall {
                id,
                name: call.name.0,
                arguments: arguments.or_else(|| RawJson::parse("{}").ok()),
                signature: None,
            });
        }
        if self.text.is_none() && calls.is_empty() {
            let text = "answer: has neither text nor calls; give one of them (text may be empty)";
            return Err(text.to_owned());
        }
        let stop = match (self.stop, calls.is_empty()) {
            (Some(Ending::ToolUse), true) => {
                let text = "answer.stop: is tool_use without calls; give calls, or stop or length";
                return Err(text.to_owned());
            }
            (Some(Ending::Length), _) => StopReason::Length,
            (Some(Ending::ToolUse) | None, false) => StopReason::ToolUse,
            (Some(Ending::Stop), _) | (None, true) => StopReason::Stop,
        };
        Ok(ScriptAnswer {
            thinking: self.thinking.unwrap_or_default(),
            text: self.text.unwrap_or_default(),
            calls,
            stop,
            usage: self
                .usage
                .map_or_else(ScriptUsage::default, |usage| usage.0),
            pause: self.pause_ms.map_or(Duration::ZERO, milliseconds),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailureLine {
    #[serde(deserialize_with = "of_a_service")]
    kind: ProviderErrorKind,
    message: Option<Filled>,
    status: Option<Bounded<100, 599>>,
    retry_after_ms: Option<Bounded<0, 86_400_000>>,
    after_text: Option<String>,
}

/// Reads a kind of failure, which may be any but the caller's own cancelling.
fn of_a_service<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ProviderErrorKind, D::Error> {
    match ProviderErrorKind::deserialize(deserializer)? {
        ProviderErrorKind::Cancelled => Err(D::Error::custom("must be a failure of the service")),
        kind => Ok(kind),
    }
}

impl From<FailureLine> for ScriptFailure {
    fn from(line: FailureLine) -> Self {
        let usual = || format!("the script says {}", line.kind.name());
        let message = line.message.map_or_else(usual, |message| message.0);
        Self {
            error: ProviderError {
                status: line.status.and_then(|status| u16::try_from(status.0).ok()),
                retry_after: line.retry_after_ms.map(milliseconds),
                ..ProviderError::new(line.kind, &message)
            },
            after_text: line.after_text.unwrap_or_default(),
        }
    }
}

fn milliseconds<const LEAST: u64, const MOST: u64>(time: Bounded<LEAST, MOST>) -> Duration {
    Duration::from_millis(time.0)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SummaryLine {
    text: Option<String>,
    error: Option<Object<FailureLine>>,
}

impl SummaryLine {
    fn turn(self) -> Result<Turn, String> {
        match (self.text, self.error) {
            (Some(text), None) => Ok(Ok(ScriptAnswer {
                text,
                ..ScriptAnswer::default()
            })),
            (None, Some(error)) => Ok(Err(error.0.into())),
            _ => Err("summary: needs either text or error".to_owned()),
        }
    }
}

/// `"abort"`, or an object with one action.
struct UserLine(ScriptAction);

impl<'de> Deserialize<'de> for UserLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UserVisitor;
        impl<'de> Visitor<'de> for UserVisitor {
            type Value = ScriptAction;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"abort\" or an object with say, compact, handoff, navigate or label")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                match text {
                    "abort" => Ok(ScriptAction::Abort),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let line = ActionLine::deserialize(MapAccessDeserializer::new(map))?;
                line.action().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(UserVisitor).map(Self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionLine {
    say: Option<Filled>,
    delivery: Option<ScriptDelivery>,
    compact: Option<Object<Focus>>,
    handoff: Option<Object<Focus>>,
    navigate: Option<Object<Navigate>>,
    label: Option<Object<Label>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Focus {
    focus: Option<Filled>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Navigate {
    back: Bounded<1, 1_000_000>,
    #[serde(default, deserialize_with = "or_default")]
    summarize: bool,
    focus: Option<Filled>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    back: Bounded<1, 1_000_000>,
    text: Filled,
}

impl ActionLine {
    fn action(self) -> Result<ScriptAction, &'static str> {
        let focus = |object: Object<Focus>| object.0.focus.map(|focus| focus.0);
        let delivery = self.delivery;
        let said = self.say.map(|text| ScriptAction::Say {
            text: text.0,
            delivery: delivery.unwrap_or_default(),
        });
        if delivery.is_some() && said.is_none() {
            return Err("delivery belongs to say");
        }
        let compact = self.compact.map(|object| ScriptAction::Compact {
            focus: focus(object),
        });
        let handoff = self.handoff.map(|object| ScriptAction::Handoff {
            focus: focus(object),
        });
        let navigate = self.navigate.map(|Object(to)| {
            if to.focus.is_some() && !to.summarize {
                return Err(
                    "navigate.focus is for a summary; set summarize to true, or leave it out",
                );
            }
            Ok(ScriptAction::Navigate {
                back: usize::try_from(to.back.0).unwrap_or(usize::MAX),
                summarize: to.summarize,
                focus: to.focus.map(|focus| focus.0),
            })
        });
        let label = self.label.map(|Object(label)| ScriptAction::Label {
            back: usize::try_from(label.back.0).unwrap_or(usize::MAX),
            text: label.text.0,
        });
        let mut actions: Vec<ScriptAction> = [said, compact, handoff, navigate.transpose()?, label]
            .into_iter()
            .flatten()
            .collect();
        match (actions.pop(), actions.is_empty()) {
            (Some(action), true) => Ok(action),
            _ => Err("needs exactly one of say, compact, handoff, navigate and label"),
        }
    }
}
