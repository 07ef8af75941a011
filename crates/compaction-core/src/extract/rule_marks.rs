//! What the words of a sentence do, as the recognition of rules sees them: one pass marks every word with the lists
//! that a phrase beginning there belongs to.

use std::collections::BTreeMap;
use std::ops::Range;

use super::rule_words::Token;
use crate::phrases::Phrases;

/// What a phrase does in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// "always", "never": what holds every time.
    Always,
    /// "only": that, and nothing else.
    Only,
    /// "not", wherever it stands.
    Not,
    /// Says that an order holds on: "every", "from now on".
    Every,
    /// Opens a sentence that holds on: "whenever you", "in this repo".
    Lead,
    /// Forbids what follows at the beginning of a clause: "don't".
    Dont,
    /// "no", before what shall not be.
    No,
    /// An order: "use".
    Verb,
    /// An order that holds on when it is about any of a kind: "use tabs".
    Use,
    /// An order that holds on by itself: "treat".
    Keep,
    /// An order that holds on with a word of [`Mark::Lasting`]: "leave ... alone".
    Leave,
    /// Forbids a habit: "stop".
    Stop,
    /// Verbs that are no order after "don't", and words after "never" and "no" that make an idiom.
    Idle,
    /// Demands: "must".
    Must,
    /// Allows, and with "not" or "only" forbids: "may".
    May,
    /// Forbids: "mustn't".
    MustNot,
    /// What is demanded of something that has a property already: "stay".
    Lasting,
    /// Places something for good: "belongs to".
    Belongs,
    /// "is", "are".
    Be,
    /// Joins a place or a manner: "in".
    In,
    /// Forms that all things of a kind have: "utc".
    Form,
    /// Opens the case that an order is for: "if".
    When,
    /// The agent.
    You,
    /// The team.
    We,
    /// The user.
    I,
    /// What the user wants: "I expect".
    Wants,
    /// A subject that something is told of: "it".
    It,
    /// Opens a subject that is one thing: "the".
    The,
    /// Opens a subject that is all things: "every".
    All,
    /// A rule whatever else is said: "off limits".
    Plain,
    /// Somebody else speaks: "says".
    Says,
    /// Somebody demands something of the team: "insists".
    Demands,
    /// What was read, not demanded: "the docs".
    Paper,
    /// Ends with the task: "for now".
    Once,
    /// Tells of a fault: "crashes".
    Fault,
    /// Guesses or names a change: "must be a".
    Guess,
    /// Opens a question, with or without its mark.
    Asks,
    /// Makes something that a description follows: "add a".
    Makes,
    /// Verbs in the past.
    Past,
    /// Opens a conclusion from what somebody said: "so".
    Concludes,
}

/// The lists, by their names in `data/`.
static LISTS: [(Mark, Phrases); 40] = [
    (Mark::Always, Phrases::named("rules.always")),
    (Mark::Only, Phrases::named("rules.only")),
    (Mark::Not, Phrases::named("rules.not")),
    (Mark::Every, Phrases::named("rules.every")),
    (Mark::Lead, Phrases::named("rules.leads")),
    (Mark::Dont, Phrases::named("rules.dont")),
    (Mark::No, Phrases::named("rules.no")),
    (Mark::Verb, Phrases::named("rules.verbs")),
    (Mark::Use, Phrases::named("rules.uses")),
    (Mark::Keep, Phrases::named("rules.keeps")),
    (Mark::Leave, Phrases::named("rules.leaves")),
    (Mark::Stop, Phrases::named("rules.stops")),
    (Mark::Idle, Phrases::named("rules.idle")),
    (Mark::Must, Phrases::named("rules.must")),
    (Mark::May, Phrases::named("rules.may")),
    (Mark::MustNot, Phrases::named("rules.must_not")),
    (Mark::Lasting, Phrases::named("rules.lasting")),
    (Mark::Belongs, Phrases::named("rules.belongs")),
    (Mark::Be, Phrases::named("rules.be")),
    (Mark::In, Phrases::named("rules.in")),
    (Mark::Form, Phrases::named("rules.forms")),
    (Mark::When, Phrases::named("rules.when")),
    (Mark::You, Phrases::named("rules.you")),
    (Mark::We, Phrases::named("rules.we")),
    (Mark::I, Phrases::named("rules.i")),
    (Mark::Wants, Phrases::named("rules.wants")),
    (Mark::It, Phrases::named("rules.it")),
    (Mark::The, Phrases::named("rules.the")),
    (Mark::All, Phrases::named("rules.all")),
    (Mark::Plain, Phrases::named("rules.plain")),
    (Mark::Says, Phrases::named("rules.says")),
    (Mark::Demands, Phrases::named("rules.demands")),
    (Mark::Paper, Phrases::named("rules.papers")),
    (Mark::Once, Phrases::named("rules.once")),
    (Mark::Fault, Phrases::named("rules.faults")),
    (Mark::Guess, Phrases::named("rules.guesses")),
    (Mark::Asks, Phrases::named("rules.asks")),
    (Mark::Makes, Phrases::named("rules.makes")),
    (Mark::Past, Phrases::named("rules.past")),
    (Mark::Concludes, Phrases::named("rules.concludes")),
];

/// A row of words and what it does.
struct Phrase {
    words: Vec<&'static str>,
    mark: Mark,
}

/// The phrases, by their first word.
pub(super) struct Lexicon(BTreeMap<&'static str, Vec<Phrase>>);

impl Lexicon {
    /// Returns the phrases of all lists.
    pub(super) fn new() -> Self {
        let mut book: BTreeMap<_, Vec<Phrase>> = BTreeMap::new();
        for (mark, list) in &LISTS {
            for phrase in list.iter() {
                let words: Vec<_> = phrase.split(' ').collect();
                let mark = *mark;
                book.entry(words[0])
                    .or_default()
                    .push(Phrase { words, mark });
            }
        }
        Self(book)
    }

    /// Returns the words with their marks.
    pub(super) fn mark<'a>(&self, tokens: Vec<Token<'a>>) -> Marked<'a> {
        let marks = (0..tokens.len()).map(|at| {
            let known = forms(tokens[at].word).filter_map(|form| self.0.get(form));
            let fitting = known.flatten().filter(|phrase| fits(phrase, &tokens[at..]));
            fitting
                .map(|phrase| (phrase.mark, phrase.words.len()))
                .collect()
        });
        let marks = marks.collect();
        Marked { tokens, marks }
    }
}

/// Endings that words have in one form and not in another, in the languages that are written with spaces.
const ENDINGS: [&str; 12] = [
    "e", "s", "n", "m", "es", "en", "em", "er", "ed", "te", "ing", "те",
];

/// Returns the forms of a word that a list may have: the word, and what is left without an ending.
fn forms(word: &str) -> impl Iterator<Item = &str> {
    let stems = ENDINGS.iter().filter_map(move |ending| {
        let stem = word.strip_suffix(ending)?;
        (stem.chars().count() >= 4).then_some(stem)
    });
    std::iter::once(word).chain(stems)
}

fn fits(phrase: &Phrase, tokens: &[Token<'_>]) -> bool {
    let mut rest = phrase.words.iter().zip(tokens).skip(1);
    // Punctuation parts the words: "no, that's it" is not "no that's".
    phrase.words.len() <= tokens.len()
        && rest.all(|(word, token)| *word == token.word && !token.parted)
}

/// The words of a sentence with what they do.
pub(super) struct Marked<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    marks: Vec<Vec<(Mark, usize)>>,
}

impl Marked<'_> {
    /// Returns how many words the longest phrase has that begins at a word.
    pub(super) fn length(&self, at: usize, mark: Mark) -> Option<usize> {
        let marks = self.marks.get(at)?.iter();
        let lengths = marks.filter(|(own, _)| *own == mark);
        lengths.map(|(_, length)| *length).max()
    }

    /// Returns whether a phrase begins at a word.
    pub(super) fn is(&self, at: usize, mark: Mark) -> bool {
        self.length(at, mark).is_some()
    }

    /// Returns the first place in a part of the sentence where a phrase begins.
    pub(super) fn find(&self, mut part: Range<usize>, mark: Mark) -> Option<usize> {
        part.find(|at| self.is(*at, mark))
    }

    /// Returns whether a phrase begins somewhere in a part of the sentence.
    pub(super) fn has(&self, part: Range<usize>, mark: Mark) -> bool {
        self.find(part, mark).is_some()
    }
}
