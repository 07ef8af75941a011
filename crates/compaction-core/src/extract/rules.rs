//! The user's rules: a closed list of patterns that sentences of user messages are matched against.
//!
//! A sentence is a rule when one of [`PATTERNS`] occurs in its words. A pattern is a row of words in
//! lower case: `|` asks for the start of a clause (of the sentence, after punctuation, or after a word
//! of [`CONNECTORS`]), `*` stands for any one word. What [`EXCEPTIONS`] names is passed over first, so
//! that "there's only one file left" is no rule. Chinese and Japanese, written without spaces, have
//! lists of their own. Questions are no rules, unless they ask politely. The items of a list under a
//! rule or under a heading such as "Rules:" are rules too.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

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

/// Words that state a habit: as an order a rule, of what something does a report.
static HABITS: Phrases = Phrases::named("rules.habits");

/// Verbs in the past that do not end in "ed".
static PAST: Phrases = Phrases::named("rules.past");

/// Verbs in the third person that state what has to be.
static REQUIRED: Phrases = Phrases::named("rules.required");

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
        let tokens = tokens(&lower, &self.connectors);
        let (mut at, mut weak) = (0, false);
        while at < tokens.len() {
            if let Some(length) = longest_match(&self.exceptions, &tokens, at) {
                at += length;
            } else if reports_habit(&tokens, at) {
                at += 1;
            } else if let Some(length) = longest_match(&self.patterns, &tokens, at) {
                if longest_match(&self.weak, &tokens, at) != Some(length) {
                    return true;
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
        imperative && tokens.iter().any(forbids) || weak && !self.is_over_soon(sentence, &tokens)
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

/// Returns whether "always", "never" or "must have" tells what something does or did: "the server always crashes".
fn reports_habit(tokens: &[Token<'_>], at: usize) -> bool {
    let word = tokens[at].word;
    let Some(next) = tokens.get(at + 1).filter(|next| !next.parted) else {
        return false;
    };
    let past = |word: &str| word.len() > 4 && word.ends_with("ed") || PAST.contains(&word);
    if word == "must" {
        let then = tokens.get(at + 2);
        return next.word == "have" && then.is_some_and(|then| past(then.word));
    }
    let ordered = at == 0 || tokens[at].clause;
    let third = next.word.len() > 3
        && next.word.ends_with('s')
        && !next.word.ends_with("ss")
        && !REQUIRED.contains(&next.word);
    HABITS.contains(&word) && !ordered && (third || past(next.word))
}

/// Returns a sentence without what it quotes of others: four words and more between quotation marks.
fn without_quotes(sentence: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(sentence);
    for (open, close) in [('"', '"'), ('“', '”'), ('«', '»'), ('„', '“')] {
        let mut from = 0;
        while let Some(start) = text[from..].find(open).map(|at| from + at) {
            let inner = start + open.len_utf8();
            let Some(end) = text[inner..].find(close).map(|at| inner + at) else {
                break;
            };
            from = end + close.len_utf8();
            if text[inner..end].split_whitespace().count() >= 4 && start > 0 {
                text = Cow::Owned(format!("{} , {}", &text[..start], &text[from..]));
                from = start;
            }
        }
    }
    text
}

fn is_cjk_rule(text: &str) -> bool {
    let mut text = text.to_owned();
    for exception in CJK_EXCEPTIONS.iter() {
        if text.contains(exception) {
            text = text.replace(exception, " ");
        }
    }
    CJK_PATTERNS.is_in(&text)
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
