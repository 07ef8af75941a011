//! The question whether a call may run, and its answers.

use agent_tools::approval::Decision;
use serde_json::{Value, json};

use crate::params::{Outcome, Permission};

/// The options of the question: the decision, what it is called, and its kind.
const OPTIONS: [(Decision, &str, &str); 4] = [
    (Decision::Once, "Allow once", "allow_once"),
    (
        Decision::Always,
        "Always allow in this project",
        "allow_always",
    ),
    (Decision::Deny, "Deny", "reject_once"),
    (
        Decision::Never,
        "Never allow in this project",
        "reject_always",
    ),
];

/// Returns the parameters of the question about a call.
pub(crate) fn question(session_id: &str, call: &Value) -> Value {
    let options = OPTIONS.iter().map(
        |(decision, name, kind)| json!({ "optionId": decision.name(), "name": name, "kind": kind }),
    );
    json!({ "sessionId": session_id, "toolCall": call, "options": options.collect::<Vec<_>>() })
}

/// Returns the decision in an answer. What is no answer does not allow anything.
pub(crate) fn decision(answer: Option<Value>) -> Decision {
    let answer = answer.and_then(|answer| serde_json::from_value::<Permission>(answer).ok());
    match answer.map(|answer| answer.outcome) {
        Some(Outcome::Selected { option_id }) => {
            Decision::named(&option_id).unwrap_or(Decision::Deny)
        }
        Some(Outcome::Cancelled) | None => Decision::Deny,
    }
}

#[cfg(test)]
mod tests {
    use agent_tools::approval::Decision;
    use serde_json::json;

    use super::decision;

    #[test]
    fn only_an_option_that_allows_allows() {
        let selected = |id: &str| {
            decision(Some(
                json!({"outcome": {"outcome": "selected", "optionId": id}}),
            ))
        };
        assert_eq!(selected("always"), Decision::Always);
        assert_eq!(selected("never"), Decision::Never);
        assert_eq!(selected("sure"), Decision::Deny);
        for answer in [
            json!({"outcome": {"outcome": "cancelled"}}),
            json!({}),
            json!("once"),
        ] {
            assert_eq!(decision(Some(answer)), Decision::Deny);
        }
        assert_eq!(decision(None), Decision::Deny);
    }
}
