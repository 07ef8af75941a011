//! Whether rules are told from what only looks like them, measured with messages in the languages of users.

use super::rules_in;

/// Messages as users write them, each with whether it states a rule.
const MESSAGES: &str = include_str!("../../tests/data/rules.jsonl");

/// The least share of rules that are found, and of what is found that is a rule, in percent.
const FOUND: usize = 88;
const RIGHT: usize = 97;

/// The odd lines are for writing phrases, the even ones for checking that these hold for more.
#[test]
fn rules_of_messages_are_found_and_hardly_anything_else() {
    for half in [0, 1] {
        let (mut rules, mut found, mut wrong) = (0, 0, 0);
        let mut misses = String::new();
        for message in MESSAGES.lines().skip(half).step_by(2) {
            let message: serde_json::Value = serde_json::from_str(message).expect("a message");
            let text = message["text"].as_str().expect("a text");
            let is_rule = message["rule"] == true;
            let stated = rules_in(text);
            rules += usize::from(is_rule);
            match (is_rule, stated.is_empty()) {
                (true, false) => found += 1,
                (true, true) => misses += &format!("missed: {text}\n"),
                (false, false) => {
                    wrong += 1;
                    misses += &format!("wrong: {text}\n  {stated:?}\n");
                }
                (false, true) => {}
            }
        }
        let all = found + wrong;
        assert!(
            found * 100 >= FOUND * rules && found * 100 >= RIGHT * all,
            "half {half}: {found} of {rules} found, {wrong} of {all} wrong\n{misses}"
        );
    }
}
