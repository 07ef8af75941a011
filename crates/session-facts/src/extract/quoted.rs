//! What is quoted of a message of the user in a log, next to which the rules stand that it states.

use super::pasted::own_words;
use super::text::one_line;

/// How much of a message is quoted that is a rule and nothing else, in characters.
const RULE: usize = 40;
/// How many rules of one message are looked for in it.
const RULES: usize = 64;
/// How much of a message has to be quoted, in characters, for it to be there.
const START: usize = 100;

/// Returns how a log may begin to quote a message of the user: with the rules in it, or without those that are listed.
pub fn message_starts(text: &str, rules: &[String]) -> [String; 2] {
    let words = own_words(text);
    let others = without_rules(&words, rules);
    [one_line(&words, START), one_line(&others, START)]
}

/// Returns a message of the user without the rules that are listed as such; where it is nothing else, the words that it
/// begins with.
pub fn without_rules(text: &str, rules: &[String]) -> String {
    let mut left = text.to_owned();
    for rule in rules.iter().take(RULES) {
        left = left.replacen(rule.as_str(), "", 1);
    }
    match left.chars().any(char::is_alphanumeric) {
        true => left.split_whitespace().collect::<Vec<_>>().join(" "),
        false => one_line(text, RULE),
    }
}

#[cfg(test)]
mod tests {
    use super::{RULES, without_rules};

    #[test]
    fn a_message_is_quoted_without_the_rules_that_are_listed() {
        let rules = ["Never touch a.rs.".to_owned()];
        let quoted = |text| without_rules(text, &rules);
        assert_eq!(quoted("Go on. Never touch a.rs. Thanks."), "Go on. Thanks.");
        assert_eq!(quoted("Never touch a.rs."), "Never touch a.rs.");
    }

    #[test]
    fn of_one_message_a_bounded_number_of_rules_is_looked_for() {
        let rules: Vec<String> = (0..=RULES)
            .map(|at| format!("Never touch {at}.rs."))
            .collect();
        let last = format!("Never touch {RULES}.rs.");
        assert_eq!(without_rules(&rules.join(" "), &rules), last);
    }
}
