//! What a text says already, so that it is not said again: in the same words or in others.

use std::cell::OnceCell;

use super::acts::{Act, Acts, Speaker};
use super::fact_index::REJECTED;
use super::objects::Objects;

/// The mark before a line that says that it is done.
const TICKED: &str = "[x] ";

/// One word in so many may be missing where a fact is said in other words, and where a failure is called fixed: there it is
/// only marked.
const SAID: usize = 6;
const FIXED: usize = 4;

/// A text in which facts are looked up.
pub struct Prose {
    /// All of it, with single spaces.
    folded: String,
    text: String,
    /// What its lines are about, once somebody asks.
    lines: OnceCell<Vec<Line>>,
}

struct Line {
    about: Objects,
    /// The line itself, without marks before it.
    text: String,
    ticked: bool,
}

impl Prose {
    /// Reads a text; a mark of a quote before a line is no part of it.
    pub fn of(text: &str) -> Self {
        let lines: Vec<&str> = lines(text).collect();
        Self {
            folded: folded(&lines.join(" ")),
            text: text.to_owned(),
            lines: OnceCell::new(),
        }
    }

    fn lines(&self) -> &[Line] {
        self.lines
            .get_or_init(|| lines(&self.text).map(Line::of).collect())
    }

    /// Returns whether it says this in the same words, whatever white space is in it.
    pub fn quotes(&self, said: &str) -> bool {
        let said = said.strip_prefix(REJECTED).unwrap_or(said);
        self.folded
            .contains(&folded(said.trim_end_matches(['…', '.'])))
    }

    /// Returns whether a line says this in other words: with all its names and numbers and nearly all words that tell
    /// something. A refusal is said by a refusal, and nothing else is. A step is said where it is planned and where it is done.
    pub fn says(&self, fact: &str) -> bool {
        let refused = fact.strip_prefix(REJECTED);
        let about = Objects::of(refused.unwrap_or(fact));
        let lines = self.lines().iter();
        let mut lines = lines.filter(|line| line.about.says(&about, SAID));
        lines.any(|line| line.refuses() == refused.is_some())
    }

    /// Returns whether a line says that this failure is fixed: all of it is done, or a part of it and nothing else is fixed.
    pub fn says_fixed(&self, failure: &str) -> bool {
        let failure = Objects::of(failure);
        let says = |line: &Line| match line.about.says(&failure, FIXED) {
            true => line.is_done(),
            false => failure.says(&line.about, FIXED) && line.is_fixed(),
        };
        self.lines().iter().any(says)
    }
}

impl Line {
    fn of(line: &str) -> Self {
        let line = line.trim_start_matches(['-', '*', ' ']).trim_end();
        let text = line.strip_prefix(TICKED);
        Self {
            about: Objects::of(text.unwrap_or(line)),
            text: text.unwrap_or(line).to_owned(),
            ticked: text.is_some(),
        }
    }

    fn refuses(&self) -> bool {
        self.text.starts_with(REJECTED) || self.acts().has(Act::Refusal)
    }

    fn is_done(&self) -> bool {
        self.ticked || self.acts().has(Act::Done) || self.is_fixed()
    }

    fn is_fixed(&self) -> bool {
        self.acts().may(Act::Fixed)
    }

    fn acts(&self) -> Acts {
        Acts::of(&self.text, Speaker::Agent)
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(|line| line.trim_start_matches("> "));
    lines.filter(|line| !line.trim().is_empty())
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::Prose;

    const PROSE: &str = "## Key Decisions\n- **Cursor pagination in feed_store2**: offsets get slow past the first million\n\
        - Rejected: reflection in tag_router, the app starts too slowly\n## Next Steps\n- [x] rotate the signing key of mail_guard\n\
        - wire badge_feed6 into the health check\n- The retry window of the importer is 284 ms";

    #[test]
    fn what_is_said_in_other_words_is_said() {
        let prose = Prose::of(PROSE);
        let pages = "I went with cursor pagination in feed_store2 because offsets get slow past the first million";
        assert!(prose.says(pages));
        assert!(!prose.says(&pages.replace("store2", "store3")));
        assert!(
            !prose
                .says("cursor pagination in feed_store2, as the proxy in front kills idle sockets")
        );
        assert!(prose.says("the retry window of the importer is 284 ms"));
        assert!(!prose.says("the retry window of the importer is 300 ms"));
        assert!(prose.quotes("offsets get slow past\nthe first million."));
    }

    #[test]
    fn a_refusal_is_said_by_a_refusal_and_a_choice_by_none() {
        let prose = Prose::of(PROSE);
        let slow = "reflection in tag_router, the app starts too slowly";
        assert!(prose.says(&format!("Rejected: {slow}")));
        assert!(!prose.says(slow));
        assert!(!prose.says("Rejected: cursor pagination in feed_store2, offsets get slow"));
    }

    #[test]
    fn a_step_is_said_where_it_is_planned_and_where_it_is_done() {
        let prose = Prose::of(PROSE);
        assert!(
            prose.says("when you're through with this, wire badge_feed6 into the health check")
        );
        assert!(prose.says("rotate the signing key of mail_guard"));
        assert!(!prose.says("revoke the signing key of mail_guard"));
    }

    #[test]
    fn a_failure_is_fixed_where_a_line_says_so_of_it() {
        let prose = Prose::of("- [x] Fixed: KeyError 'ledger_writer27'\n- [x] Changed src/row.ts");
        assert!(
            prose.says_fixed("E   KeyError: 'ledger_writer27' in the loader of the nightly job")
        );
        assert!(!prose.says_fixed("E   KeyError: 'ledger_writer28'"));
        assert!(!prose.says_fixed("src/row.ts(41,17): error TS2345: not assignable"));
    }
}
