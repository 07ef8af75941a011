//! What a figure measures, so that a later value can replace it.
//!
//! Two sentences speak of one thing when the same telling words follow each other in both, and neither goes on with a
//! word of its own where the other goes on with another: "import worker batch size" is not "import worker page size".

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::figures::{CJK_UNITS, is_unit};
use super::text::{is_cjk, one_line};

/// Words that say nothing of what a figure is of: small ones, and those that say how it comes to its value.
const SMALL: &str = "the a an and or of to for in on at by is are was be been as it its this that these those with \
     from now not no only must should shall will would can could may might has have had do does did we i you they \
     our your my me us please ok okay hm well so but then than just also still again already let lets let's \
     set make made use used using take takes keep keeps put give go goes going gone get gets need needs want wants \
     run runs running stay stays sit sits lie lies stand stands come comes coming drop drops down up over under about \
     change changed changes raise raised lower lowered increase increased reduce reduced bump bumped switch switched \
     update updated move moved correct corrected correction wrong right fine good better best tight low high small \
     big large more less most least max min maximum minimum limit exactly around roughly actually rather instead \
     longer anymore since until till think thought guess said says say measured spec start started second thoughts \
     thought fyi btw note remember mind sorry forget scratch ops value figure number measure new newer old every \
     when what which who while after before because per each one two three ten today yesterday tomorrow morning \
     der die das den dem des ein eine einen einem einer und oder von vom zu zum zur für im am bei auf mit als ist \
     sind war wird werden sein nicht kein keine nur doch lieber jetzt nun statt stattdessen bitte nimm nehmen nehme \
     setz setze setzen stell stelle stellen mach mache machen soll sollte sollen muss darf liegt liegen beträgt \
     ändere geändert neu neue neuer aktuell wieder noch mal etwa ungefähr genau heute gestern morgen ich wir du ihr \
     le la les un une des du de et ou à au aux en dans sur par pour avec est sont était sera pas plus ne que qui ce \
     cette il elle on nous vous je tu mets mettez mettre passe passer plutôt maintenant finalement désormais fixe \
     el los las una unos y o del al en con por para es son era será no sino que se lo su pon poner pone ponga ahora \
     mejor sube baja cambia usa usar deja finalmente está queda \
     é foi são uma um os da dos das nos nas em com não agora passa passou muda troca para fica \
     нет не на по для это был была было стал стала стало теперь сейчас нужно уже только с из \
     auf bei gehen gehe bleiben bleibe ihm wie mehr weniger lange too too-long after before down fix fixed";

/// Characters of the same kind, where words are not parted by spaces.
const SMALL_CJK: &str = "的是为改成设到了就用要在把将吧请现调从不而应该以后は を がにでと変更する";

/// Units of one dimension; the first names it.
const DIMENSIONS: [&str; 4] = [
    "time ms s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks month months \
     sekunden minuten stunden tage secondes heures jours segundos minutos horas",
    "size kb mb gb tb kib mib gib b byte bytes bit bits",
    "length px pt em rem",
    "rate fps hz khz mhz ghz rps qps req",
];

/// A telling word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Telling {
    /// Its beginning: "timeout" and "timeouts" are one thing.
    word: String,
    /// True when it follows the telling word before it with nothing in between.
    joined: bool,
}

/// What a figure is of.
#[derive(Debug, Clone, Default)]
pub(super) struct Quantity {
    /// The telling words in their order.
    telling: Vec<Telling>,
    /// The same, each once, sorted.
    words: Vec<String>,
    /// The dimensions of its units; a unit of no known dimension is one of its own.
    dimensions: BTreeSet<String>,
    /// The numbers with their units.
    values: Vec<String>,
}

impl Quantity {
    /// Returns what the sentence gives a figure of.
    pub(super) fn of(text: &str) -> Self {
        let lower = text.to_lowercase().replace('’', "'");
        let mut quantity = Self::default();
        quantity.read(&lower);
        let words: BTreeSet<&String> = quantity
            .telling
            .iter()
            .map(|telling| &telling.word)
            .collect();
        quantity.words = words.into_iter().cloned().collect();
        quantity
    }

    fn read(&mut self, lower: &str) {
        let mut joined = false;
        let mut rest = lower;
        while let Some(first) = rest.chars().next() {
            if let Some(digits) = colour(rest) {
                self.dimensions.insert("colour".to_owned());
                self.values.push(digits.to_owned());
                rest = &rest[digits.len()..];
                joined = false;
            } else if first.is_ascii_digit() {
                rest = self.number(rest);
                joined = false;
            } else if is_cjk(first) {
                rest = &rest[first.len_utf8()..];
                // Such letters inflect.
                let small = SMALL_CJK.contains(first) || ('\u{3040}'..='\u{309f}').contains(&first);
                if !small {
                    self.tell(first.to_string(), joined);
                }
                joined = !small;
            } else if first.is_alphanumeric() {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '\'') || is_cjk(c));
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                rest = after;
                let tells = word.chars().count() > 2 && !is_small(word);
                if tells {
                    self.tell(word.chars().take(6).collect(), joined);
                }
                joined = tells;
            } else {
                joined &= matches!(first, ' ' | '_' | '-' | '/' | '`' | '"');
                rest = &rest[first.len_utf8()..];
            }
        }
    }

    /// Takes the number that `rest` begins with, and its unit.
    fn number<'a>(&mut self, rest: &'a str) -> &'a str {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_')));
        let digits = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', ',', '_']);
        let after = &rest[digits.len()..];
        let spaced = after.trim_start_matches([' ', '-']);
        let unit = spaced.find(|c: char| !c.is_ascii_alphabetic());
        let unit = &spaced[..unit.unwrap_or(spaced.len())];
        let gap = after.len() - spaced.len();
        let sign = spaced
            .chars()
            .next()
            .filter(|c| *c == '%' || CJK_UNITS.contains(*c));
        let length = match sign {
            Some(sign) => {
                let name = match sign {
                    '%' => "percent".to_owned(),
                    '秒' | '分' | '时' | '時' | '毫' => "time".to_owned(),
                    other => other.to_string(),
                };
                self.dimensions.insert(name);
                digits.len() + gap + sign.len_utf8()
            }
            None if is_unit(unit) => {
                let known = DIMENSIONS
                    .iter()
                    .find(|units| units.split(' ').skip(1).any(|known| known == unit));
                let name = known.and_then(|units| units.split(' ').next());
                self.dimensions.insert(name.unwrap_or(unit).to_owned());
                let per = match spaced[unit.len()..].starts_with('/') {
                    true => {
                        let each = &spaced[unit.len() + 1..];
                        let end = each.find(|c: char| !c.is_ascii_alphabetic());
                        1 + end.unwrap_or(each.len())
                    }
                    false => 0,
                };
                digits.len() + gap + unit.len() + per
            }
            None => digits.len(),
        };
        self.values.push(one_line(&rest[..length], 40));
        &rest[length..]
    }

    fn tell(&mut self, word: String, joined: bool) {
        let joined = joined && !self.telling.is_empty();
        self.telling.push(Telling { word, joined });
    }

    /// Returns how many words tell what it is of.
    pub(super) fn names(&self) -> usize {
        self.words.len()
    }

    /// Returns whether this figure takes the place of an earlier one: it is of the same thing, or says that something
    /// changes and is of most of the same.
    pub(super) fn replaces(&self, earlier: &Self, change: bool) -> bool {
        let comparable = self.dimensions.is_empty()
            || earlier.dimensions.is_empty()
            || !self.dimensions.is_disjoint(&earlier.dimensions);
        if !comparable || self.values == earlier.values {
            return false;
        }
        let (own, others) = (&self.words, &earlier.words);
        let shared = shared(own, others);
        let least = own.len().min(others.len());
        if shared == 0 {
            return false;
        }
        if self.restates(earlier) && shared * 2 >= least {
            return true;
        }
        let Some(run) = longest_run(&self.telling, &earlier.telling) else {
            return false;
        };
        run >= 4
            || own == others
            || (run >= 2 && run * 4 >= least * 3)
            || (shared >= 3 && shared == least)
            || (change && shared * 3 >= least * 2 && (shared > 1 || others.len() <= GENERAL))
    }

    /// Returns whether this figure may take the place of an earlier one, which then is better not told as what holds: it is
    /// of the same kind and of something alike, or it names the earlier value next to another.
    pub(super) fn may_replace(&self, earlier: &Self, change: bool) -> bool {
        if self.replaces(earlier, change) {
            return true;
        }
        if self.values == earlier.values {
            return false;
        }
        let (own, others) = (&self.words, &earlier.words);
        let alike = self.dimensions == earlier.dimensions;
        let (shared, least) = (shared(own, others), own.len().min(others.len()));
        if self.restates(earlier) && (shared > 0 || alike && !self.dimensions.is_empty()) {
            return true;
        }
        let half = shared * 2 >= least && (shared > 1 || shared == 1 && others.len() <= GENERAL);
        let kept = match self.dimensions.is_empty() {
            true => shared < 2 && !change,
            false => false,
        };
        alike && half && !kept && longest_run(&self.telling, &earlier.telling).is_some()
    }

    /// Returns whether it corrects an earlier figure, whatever that is of: "make that 30".
    pub(super) fn corrects(&self, earlier: &Self) -> bool {
        self.words.len() < GENERAL
            && !self.values.is_empty()
            && self.dimensions == earlier.dimensions
            && self.values != earlier.values
    }

    /// Returns whether it names the values of another one next to one of its own.
    fn restates(&self, earlier: &Self) -> bool {
        if self.values.len() > RESTATED || earlier.values.len() > RESTATED {
            return false;
        }
        let digits = |value: &str| -> String {
            value
                .chars()
                .take_while(|c| !c.is_alphabetic() && *c != ' ')
                .collect()
        };
        let own: Vec<String> = self.values.iter().map(|value| digits(value)).collect();
        let others: Vec<String> = earlier.values.iter().map(|value| digits(value)).collect();
        !others.is_empty()
            && others.iter().all(|value| own.contains(value))
            && own.iter().any(|value| !others.contains(value))
    }

    /// Returns the values that `earlier` does not have, as they were said.
    pub(super) fn value_since(&self, earlier: &Self) -> Option<String> {
        let new = self
            .values
            .iter()
            .filter(|value| !earlier.values.contains(value));
        let new: Vec<&str> = new.map(String::as_str).take(3).collect();
        (!new.is_empty()).then(|| new.join(", "))
    }
}

/// Returns how many words two sorted lists share.
fn shared(one: &[String], other: &[String]) -> usize {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut shared = 0;
    while let (Some(first), Some(second)) = (one.peek(), other.peek()) {
        match first.cmp(second) {
            Ordering::Less => drop(one.next()),
            Ordering::Greater => drop(other.next()),
            Ordering::Equal => {
                shared += 1;
                one.next();
                other.next();
            }
        }
    }
    shared
}

/// The most words that an earlier figure may have for one shared word to identify it.
const GENERAL: usize = 2;

/// The most values of a sentence that may name those of another one.
const RESTATED: usize = 8;

/// The most telling words of a sentence that are compared.
const COMPARED: usize = 64;

/// Returns the length of the longest run of telling words that both have; `None` where both continue with
/// words of their own.
fn longest_run(one: &[Telling], other: &[Telling]) -> Option<usize> {
    let (one, other) = (
        &one[..one.len().min(COMPARED)],
        &other[..other.len().min(COMPARED)],
    );
    let mut best = 0;
    for from in 0..one.len() {
        for start in 0..other.len() {
            let begins = from > 0 && start > 0 && one[from - 1].word == other[start - 1].word;
            if begins || one[from].word != other[start].word {
                continue;
            }
            let pairs = one[from..].iter().zip(&other[start..]);
            let length = pairs
                .take_while(|(one, other)| one.word == other.word)
                .count();
            let apart_before = from > 0 && start > 0 && one[from].joined && other[start].joined;
            let (end, stop) = (from + length, start + length);
            let goes_on =
                |list: &[Telling], at: usize| list.get(at).is_some_and(|next| next.joined);
            if apart_before || goes_on(one, end) && goes_on(other, stop) {
                return None;
            }
            best = best.max(length);
        }
    }
    Some(best)
}

/// Returns the colour that a text in lower case begins with: `#b5bd68`.
fn colour(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('#')?;
    let end = digits.find(|c: char| !c.is_ascii_hexdigit());
    (end.unwrap_or(digits.len()) == 6).then(|| &text[..7])
}

/// Returns true for a word that says nothing of what a figure is of.
pub(super) fn is_small(word: &str) -> bool {
    static KNOWN: LazyLock<BTreeSet<&str>> = LazyLock::new(|| SMALL.split_whitespace().collect());
    KNOWN.contains(word)
}

#[cfg(test)]
mod tests {
    use super::super::figures::replaces_earlier;
    use super::Quantity;

    #[track_caller]
    fn check(earlier: &str, newer: &str, replaces: bool) {
        let change = replaces_earlier(newer);
        let (earlier, newer) = (Quantity::of(earlier), Quantity::of(newer));
        assert_eq!(newer.replaces(&earlier, change), replaces);
    }

    #[test]
    fn a_change_of_one_thing_is_none_of_another() {
        for newer in [
            "for now use 707 MiB as upload limit of the mail index",
            "make the mail index cache 707 MiB",
            "scrap that, mail index cache is 707 MiB now",
            "nimm jetzt 707 MiB für den Cache vom Mailindex",
            "the cache of the report page is 707 MiB now, not 300 MiB",
            "maintenant 707 MiB pour le cache du rapport mensuel",
        ] {
            check(
                "we have 45 GB for the catalog store cache ceiling",
                newer,
                false,
            );
            check("the image store cache of the import is 2 GB", newer, false);
        }
        check(
            "the catalog store cache is 45 GB",
            "make the cache 707 MiB",
            false,
        );
        check("the timeout is 30 s", "make the timeout 45 s", true);
        check(
            "the collector request timeout of the sender is 30 s",
            "use a timeout of 45 s for the browser now",
            false,
        );
    }

    #[test]
    fn the_same_words_around_another_value_are_the_same_thing() {
        check(
            "the crawl delay of the feed reader is 20 s",
            "for the feed reader, crawl delay 35 s",
            true,
        );
        check(
            "feed reader crawl delay 20 s",
            "Nimm doch lieber 35 s als feed reader crawl delay.",
            true,
        );
        check("批处理大小是 500 行", "批处理大小改成 300 行", true);
    }

    #[test]
    fn a_word_of_its_own_beside_them_makes_another_thing() {
        check(
            "import worker batch size: 500 rows",
            "import worker page size: 200 rows",
            false,
        );
        check(
            "cold start of the mail store is 3 s",
            "cold start of the mail index is 4 s",
            false,
        );
        check("the crawl delay is 20 s", "the crawl delay is 20 MB", false);
    }
}
