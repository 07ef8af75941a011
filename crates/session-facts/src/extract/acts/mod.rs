//! What each sentence of a message does: it sets a rule, plans, decides, reports a failure.
//!
//! A linear model over the words of a sentence and where it stands tells it. `data/acts.tsv` has its weights, which the
//! example `train` learns from the labelled sentences in `training/`; what a label means is written down there.

mod features;
mod model;

use super::text::Sentence;

pub use features::{Place, features};

/// What a sentence does. It may do more than one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Orders, forbids or prefers something for the rest of the work.
    Rule,
    /// Wants or does one thing now.
    Now,
    /// Leaves something for later.
    Later,
    /// Asks the user whether to do something.
    Offer,
    /// Settles on one way among several.
    Choice,
    /// Turns a way down, or gives it up.
    Refusal,
    /// Says that something settled is otherwise now.
    Change,
    /// Says that something is finished, or need not be done.
    Done,
    /// Says that something fails.
    Failure,
    /// Says that what failed works now.
    Fixed,
    /// Says why something is as it is.
    Finding,
}

impl Act {
    /// All of them, with the names that training data and weights have for them.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Rule, "rule"),
        (Self::Now, "now"),
        (Self::Later, "later"),
        (Self::Offer, "offer"),
        (Self::Choice, "choice"),
        (Self::Refusal, "refusal"),
        (Self::Change, "change"),
        (Self::Done, "done"),
        (Self::Failure, "failure"),
        (Self::Fixed, "fixed"),
        (Self::Finding, "finding"),
    ];
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    User,
    /// The agent.
    Agent,
}

/// How far below what is sure enough something still may be, in hundredths of the logarithm of the odds.
const PERHAPS: i32 = 150;

/// How surely a sentence does each thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acts([i32; Act::ALL.len()]);

impl Acts {
    /// Returns whether it does this.
    pub const fn has(self, act: Act) -> bool {
        self.0[act as usize] > 0
    }

    /// Returns whether it may do this: enough where something else speaks for it too.
    pub const fn may(self, act: Act) -> bool {
        self.0[act as usize] > -PERHAPS
    }

    /// Returns whether it does the one more surely than the other.
    pub const fn more(self, one: Act, other: Act) -> bool {
        self.0[one as usize] > self.0[other as usize]
    }

    /// Returns whether it does one of these.
    pub fn has_any(self, acts: &[Act]) -> bool {
        acts.iter().any(|act| self.has(*act))
    }

    /// Returns what one sentence alone does.
    pub fn of(text: &str, speaker: Speaker) -> Self {
        let place = Place {
            first: true,
            last: true,
            ..Place::new(speaker)
        };
        model::acts(text, place)
    }
}

/// Tells what the sentences of a message do.
pub(super) fn tell(said: &mut [Sentence], speaker: Speaker) {
    let mut told = Vec::with_capacity(said.len());
    each_place(said, speaker, |sentence, place| {
        told.push(model::acts(&sentence.text, place));
    });
    for (sentence, acts) in said.iter_mut().zip(told) {
        sentence.acts = acts;
    }
}

/// Calls `found` with each sentence of a message and where it stands.
fn each_place(said: &[Sentence], speaker: Speaker, mut found: impl FnMut(&Sentence, Place<'_>)) {
    let mut heading = "";
    for (at, sentence) in said.iter().enumerate() {
        if !sentence.bullet {
            heading = match is_heading(&sentence.text) {
                true => &sentence.text,
                false => "",
            };
        }
        let place = Place {
            bullet: sentence.bullet,
            first: at == 0,
            last: at + 1 == said.len(),
            heading: if sentence.bullet { heading } else { "" },
            ..Place::new(speaker)
        };
        found(sentence, place);
    }
}

/// Returns whether a line heads the list behind it.
fn is_heading(text: &str) -> bool {
    let bare = text.trim_matches(['*', ' ', '#']);
    let ends = bare.ends_with(['.', '!', '?', '。', '！', '？']);
    bare.ends_with([':', '：']) || !ends && bare.split_whitespace().count() <= 5
}

/// What training needs.
pub mod training {
    pub use super::{Act, Speaker};

    use super::super::text::{Sentence, strip_bullet};

    /// Returns the features of each sentence of a message, as the weights spell them; the sentences may begin with the mark
    /// of a list item or of a heading.
    pub fn features(said: &[&str], speaker: Speaker) -> Vec<Vec<String>> {
        let sentences = said.iter().map(|text| {
            let (text, bullet) = strip_bullet(text.trim());
            let text = text.trim_start_matches(['#', ' ']).to_owned();
            Sentence {
                text,
                bullet,
                acts: super::Acts::default(),
            }
        });
        let said: Vec<Sentence> = sentences.collect();
        let mut features = Vec::with_capacity(said.len());
        super::each_place(&said, speaker, |sentence, place| {
            let mut spelled = Vec::new();
            super::features(&sentence.text, place, |parts| {
                spelled.push(parts.concat());
            });
            spelled.sort_unstable();
            spelled.dedup();
            features.push(spelled);
        });
        features
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Act, Acts, Speaker};
    use crate::extract::text::read;

    /// The weights are those of the features that are read now, so that nobody may forget to learn anew.
    #[test]
    fn plain_sentences_are_told_in_several_languages() {
        let user = [
            (Act::Rule, "Never push to main."),
            (Act::Rule, "no new dependencies please"),
            (Act::Rule, "Bitte keine neuen Abhängigkeiten."),
            (Act::Rule, "Ne modifie pas les tests."),
            (Act::Rule, "Никогда не меняй публичный интерфейс."),
            (Act::Rule, "不要修改测试文件。"),
            (Act::Rule, "テストを変更しないでください"),
            (Act::Refusal, "Please undo that, it was the logs."),
            (Act::Later, "don't forget to check the index"),
        ];
        let agent = [
            (Act::Later, "What is left: the error messages."),
            (Act::Offer, "Should I add a test?"),
            (
                Act::Choice,
                "I decided to use a queue because of the retries.",
            ),
            (Act::Done, "Renamed it everywhere, and the tests pass."),
            (Act::Now, "Let me look at the config first."),
            (Act::Fixed, "The suite is green again."),
            (Act::Failure, "Two snapshot tests still fail."),
        ];
        let user = user.map(|(act, text)| (Speaker::User, act, text));
        let agent = agent.map(|(act, text)| (Speaker::Agent, act, text));
        for (speaker, act, text) in user.into_iter().chain(agent) {
            assert!(Acts::of(text, speaker).has(act), "{act:?}: {text}");
        }
        for text in [
            "Thanks!",
            "How does this work?",
            "the parser is in src/",
            "",
        ] {
            for (act, name) in Act::ALL {
                assert!(!Acts::of(text, Speaker::User).has(act), "{name}: {text}");
            }
        }
    }

    #[test]
    fn items_are_told_by_the_heading_above_them() {
        let said = read(
            "Remaining:\n- the importer\n- docs for the exporter",
            Speaker::Agent,
        );
        let later = said.iter().map(|sentence| sentence.acts.has(Act::Later));
        assert_eq!(later.collect::<Vec<_>>(), [false, true, true]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,400}") {
            read(&text, Speaker::User);
            read(&text, Speaker::Agent);
        }
    }
}
