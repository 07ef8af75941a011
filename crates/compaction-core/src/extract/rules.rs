//! The user's rules: a closed list of patterns that sentences of user messages are matched against.
//!
//! A sentence is a rule when one of [`PATTERNS`] occurs in its words. A pattern is a row of words in
//! lower case: `|` asks for the start of a clause (of the sentence, after punctuation, or after a word
//! of [`CONNECTORS`]), `*` stands for any one word. What [`EXCEPTIONS`] names is passed over first, so
//! that "there's only one file left" is no rule. Chinese and Japanese, written without spaces, have
//! lists of their own. Questions are no rules, unless they ask politely. The items of a list under a
//! rule or under a heading such as "Rules:" are rules too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::figures::has_figure;
use super::phrases::Phrases;
use super::rule_words::{Token, tokens};
use super::sentence_kinds::reminds;
use super::text::{Sentence, cut_end, neutralise};

/// The longest rule, in characters; what is longer is cut with a marker.
const LONGEST: usize = 400;

/// Words after which a new clause starts.
static CONNECTORS: Phrases = Phrases::named("rules.connectors");

/// What makes a sentence a rule, in the languages that are written with spaces.
static PATTERNS: Phrases = Phrases::named("rules.patterns");

/// Phrases that look like a pattern and state no rule.
static EXCEPTIONS: Phrases = Phrases::named("rules.exceptions");

/// Patterns that also stand in what is over soon: alone they make no rule of a report, of an order for this once, or of
/// a new value.
static WEAK: Phrases = Phrases::named("rules.weak");

/// What marks an order as valid for this once.
static ONCE: Phrases = Phrases::named("rules.once");

/// How a report begins.
static REPORTS: Phrases = Phrases::named("rules.reports");

/// What marks that a figure is given or changed, and nothing forbidden.
static VALUES: Phrases = Phrases::named("rules.values");

/// Chinese and Japanese.
static CJK_PATTERNS: Phrases = Phrases::named("rules.cjk_patterns");

/// Chinese and Japanese words that contain a pattern and mean something else.
static CJK_EXCEPTIONS: Phrases = Phrases::named("rules.cjk_exceptions");

/// First words of German imperatives: with "nicht" or "kein" they forbid.
static GERMAN_IMPERATIVES: Phrases = Phrases::named("rules.german_imperatives");

/// Headings under which every item of a list is a rule.
static HEADINGS: Phrases = Phrases::named("rules.headings");

struct Phrase {
    clause: bool,
    words: Vec<&'static str>,
}

/// The patterns, sorted by their first word.
pub(super) struct RuleBook {
    patterns: BTreeMap<&'static str, Vec<Phrase>>,
    exceptions: BTreeMap<&'static str, Vec<Phrase>>,
    weak: BTreeMap<&'static str, Vec<Phrase>>,
    once: BTreeMap<&'static str, Vec<Phrase>>,
    reports: BTreeMap<&'static str, Vec<Phrase>>,
    values: BTreeMap<&'static str, Vec<Phrase>>,
    connectors: BTreeSet<&'static str>,
}

/// What a sentence with words of a rule asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// Something that holds on.
    Holds,
    /// Something that is over soon, or nothing.
    Passes,
}

impl RuleBook {
    /// Returns the book of the closed list.
    pub(super) fn new() -> Self {
        Self {
            patterns: by_first_word(&PATTERNS),
            exceptions: by_first_word(&EXCEPTIONS),
            weak: by_first_word(&WEAK),
            once: by_first_word(&ONCE),
            reports: by_first_word(&REPORTS),
            values: by_first_word(&VALUES),
            connectors: CONNECTORS.iter().copied().collect(),
        }
    }

    /// Returns true when the sentence states a rule: one that holds on.
    pub(super) fn is_rule(&self, sentence: &str) -> bool {
        matches!(self.demand(sentence), Some(Demand::Holds))
    }

    fn demand(&self, sentence: &str) -> Option<Demand> {
        if reminds(sentence) {
            return None;
        }
        let trimmed = sentence.trim_end_matches(['"', '\'', ')', ' ', '*']);
        if trimmed.ends_with(['{', ';', ',']) {
            return None;
        }
        let lower = sentence.to_lowercase().replace('’', "'");
        if trimmed.ends_with(['?', '？'])
            && !["please", "bitte", "请"]
                .iter()
                .any(|word| lower.contains(word))
        {
            return None;
        }
        if !lower.is_ascii() && is_cjk_rule(&lower) {
            return Some(Demand::Holds);
        }
        let tokens = tokens(&lower, &self.connectors);
        let (mut at, mut weak) = (0, false);
        while at < tokens.len() {
            if let Some(length) = longest_match(&self.exceptions, &tokens, at) {
                at += length;
            } else if let Some(length) = longest_match(&self.patterns, &tokens, at) {
                if longest_match(&self.weak, &tokens, at) != Some(length) {
                    return Some(Demand::Holds);
                }
                weak = true;
                at += 1;
            } else {
                at += 1;
            }
        }
        let first = tokens
            .iter()
            .find(|token| !self.connectors.contains(token.word));
        let imperative = first.is_some_and(|first| GERMAN_IMPERATIVES.contains(&first.word));
        let forbids = |token: &Token<'_>| token.word == "nicht" || token.word.starts_with("kein");
        match () {
            () if imperative && tokens.iter().any(forbids) => Some(Demand::Holds),
            () if !weak => None,
            () if self.is_over_soon(sentence, &tokens) => Some(Demand::Passes),
            () => Some(Demand::Holds),
        }
    }

    /// Returns whether a sentence without a plain word of a rule is a report, an order for this once, or a value.
    fn is_over_soon(&self, sentence: &str, tokens: &[Token<'_>]) -> bool {
        let opening = tokens
            .iter()
            .position(|token| !self.connectors.contains(token.word));
        let reports = opening.is_some_and(|at| longest_match(&self.reports, tokens, at).is_some());
        let mut places = 0..tokens.len();
        let mut said = places.clone();
        reports
            || places.any(|at| longest_match(&self.once, tokens, at).is_some())
            || (has_figure(sentence)
                && said.any(|at| longest_match(&self.values, tokens, at).is_some()))
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

/// Returns true for what reads like a rule and is over soon.
pub(super) fn passes(sentence: &str) -> bool {
    static BOOK: LazyLock<RuleBook> = LazyLock::new(RuleBook::new);
    matches!(BOOK.demand(sentence), Some(Demand::Passes))
}

/// Returns a rule as a summary quotes it.
pub(super) fn shown_rule(text: &str, id: &str) -> String {
    cut_end(&neutralise(text), id, LONGEST)
}

fn is_heading(text: &str) -> bool {
    let lower = text.to_lowercase();
    let last = lower
        .trim_end_matches([':', '：', '*', ' '])
        .rsplit([' ', '*'])
        .next();
    last.is_some_and(|last| HEADINGS.contains(&last))
}

fn is_cjk_rule(text: &str) -> bool {
    let mut text = text.to_owned();
    for exception in CJK_EXCEPTIONS.iter() {
        if text.contains(exception) {
            text = text.replace(exception, " ");
        }
    }
    CJK_PATTERNS.iter().any(|pattern| text.contains(pattern))
}

fn by_first_word(list: &[&'static str]) -> BTreeMap<&'static str, Vec<Phrase>> {
    let mut book: BTreeMap<&'static str, Vec<Phrase>> = BTreeMap::new();
    for pattern in list {
        let clause = pattern.starts_with("| ");
        let words: Vec<_> = pattern.trim_start_matches("| ").split(' ').collect();
        let first = words[0];
        book.entry(first)
            .or_default()
            .push(Phrase { clause, words });
    }
    book
}

fn longest_match(
    book: &BTreeMap<&'static str, Vec<Phrase>>,
    tokens: &[Token<'_>],
    at: usize,
) -> Option<usize> {
    let phrases = book.get(tokens[at].word)?;
    let fits = phrases.iter().filter(|phrase| fits(phrase, &tokens[at..]));
    fits.map(|phrase| phrase.words.len()).max()
}

fn fits(phrase: &Phrase, tokens: &[Token<'_>]) -> bool {
    if tokens.len() < phrase.words.len() || (phrase.clause && !tokens[0].clause) {
        return false;
    }
    let rest = phrase.words.iter().zip(tokens).skip(1);
    // Punctuation parts the words: "no, that's it" is not "no *".
    let mut rest = rest.map(|(word, token)| (*word == "*" || *word == token.word) && !token.parted);
    rest.all(|fits| fits)
}
