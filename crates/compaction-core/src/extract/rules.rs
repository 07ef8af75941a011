//! The user's rules: which sentences of a user's message state one, and how they are quoted.
//!
//! `rule_clauses` tells it from the structure of a sentence, in languages that are written with spaces. Chinese and
//! Japanese have lists of what stands in rules and of what stands in reports. Questions are no rules, unless they ask
//! politely, and what is quoted is nobody's. The items of a list under a rule or under a heading such as "Rules:" are
//! rules too.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::figures::has_figure;
use super::rule_clauses::Reading;
use super::rule_marks::{Lexicon, Mark};
use super::rule_words::tokens;
use super::sentence_kinds::reminds;
use super::text::{Sentence, cut_end, neutralise};
use crate::phrases::Phrases;

/// The longest rule, in characters; what is longer is cut with a marker.
const LONGEST: usize = 400;

/// Words after which a new clause starts.
static CONNECTORS: Phrases = Phrases::named("rules.connectors");

/// Chinese and Japanese.
static CJK_PATTERNS: Phrases = Phrases::named("rules.cjk_patterns");

/// Chinese and Japanese words that contain a pattern and mean something else.
static CJK_EXCEPTIONS: Phrases = Phrases::named("rules.cjk_exceptions");

/// What makes a Chinese or Japanese sentence a report, a quote, a question or an order for this once.
static CJK_REPORTS: Phrases = Phrases::named("rules.cjk_reports");

/// What stands for a quote.
const QUOTED: &str = " x ";

/// How many words of a sentence are looked at, as it takes time to compare them all with each other.
const WORDS: usize = 300;

/// Headings under which every item of a list is a rule.
static HEADINGS: Phrases = Phrases::named("rules.headings");

/// What rules are told by.
pub(super) struct RuleBook {
    lexicon: Lexicon,
    connectors: BTreeSet<&'static str>,
}

impl RuleBook {
    /// Returns the book of the closed lists.
    pub(super) fn new() -> Self {
        Self {
            lexicon: Lexicon::new(),
            connectors: CONNECTORS.iter().copied().collect(),
        }
    }

    /// Returns true when the sentence states a rule: one that holds on.
    pub(super) fn is_rule(&self, sentence: &str) -> bool {
        if reminds(sentence) {
            return false;
        }
        let trimmed = sentence.trim_end_matches(['"', '\'', ')', ' ', '*']);
        if trimmed.ends_with(['{', ';', ',']) {
            return false;
        }
        let lower = without_quotes(sentence).to_lowercase().replace('’', "'");
        if trimmed.ends_with(['?', '？'])
            && !["please", "bitte", "请"]
                .iter()
                .any(|word| lower.contains(word))
        {
            return false;
        }
        if !lower.is_ascii() && is_cjk_rule(&lower) {
            return true;
        }
        let mut tokens = tokens(&lower, &self.connectors);
        tokens.truncate(WORDS);
        let marked = self.lexicon.mark(tokens);
        let headed = sentence.split_once(": ").is_some_and(|(heading, _)| {
            heading.split_whitespace().count() <= 3 && is_heading(heading)
        });
        Reading {
            faulty: marked.has(0..marked.tokens.len(), Mark::Fault),
            introduces: lower.contains(": "),
            figure: has_figure(sentence),
            marked,
            headed,
        }
        .states_rule()
    }

    /// Returns the rules that the sentences of a user's message state, in their order: byte for byte but for
    /// line breaks inside, neutralised tags and the marker of a cut.
    pub(super) fn rules_of(&self, said: &[Sentence], id: &str) -> Vec<String> {
        let stated = self.stated(said).into_iter();
        stated.map(|text| shown_rule(text, id)).collect()
    }

    /// Returns the same as they were said.
    pub(super) fn stated<'a>(&self, said: &'a [Sentence]) -> Vec<&'a str> {
        let mut rules = Vec::new();
        let mut listed = false;
        for Sentence { text, bullet } in said {
            let heading = text.ends_with([':', '：']);
            listed &= *bullet;
            let states = self.is_rule(text);
            if listed || states {
                rules.push(text.as_str());
            }
            listed |= heading && (states || is_heading(text));
        }
        rules
    }
}

/// Returns a rule as a summary quotes it.
pub(super) fn shown_rule(text: &str, id: &str) -> String {
    cut_end(&neutralise(text), id, LONGEST)
}

/// Returns true for a heading under which every item of a list is a rule.
pub(super) fn is_heading(text: &str) -> bool {
    let lower = text.to_lowercase();
    let last = lower
        .trim_end_matches([':', '：', '*', ' '])
        .rsplit([' ', '*'])
        .next();
    last.is_some_and(|last| HEADINGS.contains(&last))
}

/// Returns a sentence with a word in place of everything that it quotes, code included; one that is a quote and nothing
/// else is left as it is.
fn without_quotes(sentence: &str) -> Cow<'_, str> {
    let marks = [
        ("\"", "\""),
        ("“", "”"),
        ("«", "»"),
        ("„", "“"),
        ("`", "`"),
        (" '", "' "),
    ];
    let mut text = Cow::Borrowed(sentence);
    for (open, close) in marks {
        let mut said = String::new();
        let mut rest = &*text;
        while let Some((before, quoted)) = rest.split_once(open) {
            let Some((quote, after)) = quoted.split_once(close) else {
                break;
            };
            let whole =
                said.is_empty() && before.is_empty() && !after.contains(char::is_alphanumeric);
            said.push_str(before);
            said.push_str(if whole { quote } else { QUOTED });
            rest = after;
        }
        if rest.len() < text.len() {
            said.push_str(rest);
            text = Cow::Owned(said);
        }
    }
    // A quote of several sentences is open at the end of its first one, and closed in its last one.
    match text.split_once('"') {
        Some((before, after)) if before.ends_with(['.', '!', '?', ',']) => {
            Cow::Owned(after.to_owned())
        }
        Some((before, _)) => Cow::Owned(before.to_owned()),
        None => text,
    }
}

fn is_cjk_rule(text: &str) -> bool {
    let mut text = text.to_owned();
    for exception in CJK_EXCEPTIONS.iter() {
        if text.contains(exception) {
            text = text.replace(exception, " ");
        }
    }
    CJK_PATTERNS.is_in(&text) && !CJK_REPORTS.is_in(&text)
}
