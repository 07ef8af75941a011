//! What a sentence of the user is, where it is no rule: something to be done later, a choice, or worth a note.
//!
//! Rules are found by `rules`, figures by `figures`. What remains is kept as a note when it names something that can
//! be looked up or sets a limit; questions are not.

use std::collections::BTreeSet;

use super::rules::passes;
use super::speech;
use super::text::{Sentence, one_line, words};

/// The longest sentence that is noted, in characters.
const LONGEST: usize = 400;

/// What a sentence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saying {
    /// Something to be done later.
    Step,
    /// A choice.
    Choice,
    /// Something that can be looked up.
    Note,
}

/// A sentence and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentenceKinds {
    /// What it is.
    pub(super) saying: Saying,
    /// The sentence on one line; a choice with its reason.
    pub(super) text: String,
    /// The part that says what is chosen.
    pub(super) choice: String,
}

/// Words that ask not to forget something, wherever they stand: they make no rule, as what they ask for ends.
const REMINDERS: &str = "don't forget to; do not forget to; dont forget to; remind me; don't let me forget; \
     remember that we still; nicht vergessen; vergiss nicht; vergiss bitte nicht; erinnere mich; erinner mich; \
     denk dran; denk daran; n'oublie pas; n'oubliez pas; rappelle-moi; rappelle moi; rappelez-moi; no olvides; \
     no te olvides; recuérdame; recuerda que falta; 别忘; 別忘; 提醒我; 记得要; 忘れずに";

/// Words that speak of later work, wherever they stand.
const LATER: &str = "when you're through; when you are through; when you're done; when you are done; \
     when you're finished; when you have finished; once you're done; once you are done; once you're through; \
     once that's done; once this is done; once that is; once this is in; when that's done; when this is done; \
     todo; to-do; to do for; for later:; as a follow-up; as follow-up; still need to; still needs to; \
     still have to; still has to; still to do; still missing; on your list; on my list; on the list; \
     at some point; if there is time; if there's time; when there's time; \
     wenn du fertig bist; wenn du damit; wenn das durch; wenn das fertig; sobald du fertig; sobald das; \
     steht noch aus; fehlt noch; müssen noch; muss noch; müssen wir noch; müsste noch; später noch; \
     bei gelegenheit; and later; but later; not now; nicht jetzt; nicht sofort; pas maintenant; no ahora; quand tu auras; quand tu as fini; une fois que; une fois fini; à faire; il reste à; \
     reste à faire; il faudra; cuando termines; cuando acabes; una vez que; pendiente; queda por; \
     falta por; 做完; 完成后; 完成之后; 待办; 接下来; 稍后; 以后再; 还需要; 还要; 終わったら; 後で";

/// The same at the beginning of a sentence only: elsewhere they tell a story.
const AFTERWARDS: &str = "after that; after this; afterwards; then please; next up; later; \
     danach; anschließend; hinterher; als nächstes; später; ensuite; après ça; après cela; puis; plus tard; \
     después; luego; más tarde; 之后; 然后; 接着; その後";

/// Words that tell a choice, at the beginning of a clause.
const CHOICES: &str = "let's; lets; we take; we'll take; we go with; we'll go with; we use; we'll use; we keep; \
     we'll keep; we stay with; we'll stay with; we stick with; we'll stick with; we do; we picked; we chose; \
     we decided; we settled; we went with; we agreed; go for; go with; going with; i decided; i pick; i picked; \
     i choose; i chose; i'd go with; i'd take; i'll take; i went with; decision; decided; settled; my choice; \
     our choice; wir nehmen; nehmen wir; dann nehmen; wir machen; machen wir; wir bleiben; bleiben wir; \
     wir nutzen; wir verwenden; wir setzen auf; wir gehen mit; wir haben uns; ich habe mich; entschieden; \
     ich nehme; on prend; on part; on garde; on reste; on utilise; prenons; gardons; partons; c'est décidé; \
     j'ai décidé; nous avons décidé; on a décidé; je choisis; vamos con; usamos; usemos; tomamos; nos quedamos; \
     quedamos en; decidimos; hemos decidido; decidido; elegimos; me quedo con; \
     就用; 我们用; 我們用; 我们选; 我选; 选择; 决定; 決定; 采用; 採用; 改用";

/// Words that agree.
const AGREES: &str = "ok; okay; yes; yep; yeah; right; fine; good; agreed; alright; sure; ja; gut; passt; \
     einverstanden; oui; d'accord; sí; vale; de acuerdo; 好; 好的; 可以; はい";

/// Words that open a reason.
const REASONS: &str = "because; since; reason; main thing; the point; matters; so that; due to; as we; as it; \
     weil; denn; grund; wichtig; damit; parce; car; raison; puisque; porque; ya que; razón; 因为; 原因; ため";

/// Words that set a limit.
const LIMITS: &str = "until; unless; except; frozen; off limits; at most; at least one; at least as; no more than; not more than; \
     deadline; by friday; by monday; contract; promised; agreed; guarantee; solange; bis; höchstens; \
     mindestens; außer; frist; vertrag; zugesagt; jusqu'; au plus; au moins; sauf; contrat; hasta; como máximo; \
     al menos; salvo; excepto; contrato; 直到; 之前; 最多; 至少; 除非; 截止";

/// Words that tell what happened.
const TOLD: &str =
    "was; were; failed; broke; crashed; happened; war; wurde; était; a échoué; fue; falló";

/// Returns the members of a list that semicolons part.
fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(';').map(str::trim)
}

/// Returns whether a sentence asks not to forget something.
pub(super) fn reminds(sentence: &str) -> bool {
    let spaced = spaced(sentence);
    has(&spaced, REMINDERS)
}

/// Returns whether a clause of a sentence begins with a choice.
pub(super) fn is_choice(sentence: &str) -> bool {
    chooses(&spaced(sentence))
}

/// Returns whether words put something off.
pub(super) fn is_later(words: &str) -> bool {
    let spaced = spaced(words);
    has(&spaced, REMINDERS)
        || has(&spaced, LATER)
        || starts(&spaced, AFTERWARDS)
        || speech::leaves(&words.to_lowercase())
}

/// Returns what the sentences are, those that nothing is known of left out. `rules` are among `said`.
pub(super) fn sayings(said: &[Sentence], rules: &[&str]) -> Vec<SentenceKinds> {
    let mut found = Vec::new();
    let rules: BTreeSet<&str> = rules.iter().copied().collect();
    for (at, sentence) in said.iter().enumerate() {
        let text = sentence.text.as_str();
        let asks = text
            .trim_end_matches(['"', ')', ' '])
            .ends_with(['?', '？']);
        if rules.contains(text) || asks || text.ends_with([':', '：', '{', ';']) {
            continue;
        }
        let spaced = spaced(text);
        let comes = has(&spaced, REMINDERS)
            || has(&spaced, LATER)
            || (starts(&spaced, AFTERWARDS) && !has(&spaced, TOLD));
        let next = said
            .get(at + 1)
            .filter(|next| !rules.contains(next.text.as_str()));
        let reason = next.filter(|next| has(&self::spaced(&next.text), REASONS));
        let agreed = starts(&spaced, AGREES) && (reason.is_some() || has(&spaced, REASONS));
        let saying = match () {
            () if comes => Saying::Step,
            () if chooses(&spaced) || agreed && names_something(text) => Saying::Choice,
            () if names_something(text) || has(&spaced, LIMITS) || passes(text) => Saying::Note,
            () => continue,
        };
        let choice = text.split([',', ':', ';', '，', '：']).find(|part| {
            let own = words(part);
            !(own.is_empty() || own.len() == 1 && listed(AGREES).any(|word| word == own[0]))
        });
        let whole = match (saying, reason) {
            (Saying::Choice, Some(reason)) => format!("{text} {}", reason.text),
            (Saying::Choice | Saying::Step | Saying::Note, _) => text.to_owned(),
        };
        if words(&whole).len() < 3 && whole.is_ascii() {
            continue;
        }
        found.push(SentenceKinds {
            saying,
            text: one_line(&whole, LONGEST),
            choice: choice.unwrap_or(text).to_owned(),
        });
    }
    found
}

/// Returns whether a clause of the sentence begins with a choice.
fn chooses(spaced: &str) -> bool {
    let clauses = spaced.split(['|', '\u{3001}']);
    let mut clauses = clauses.map(|clause| {
        let mut clause = clause.trim_start();
        // "ok then let's", "and we take"
        loop {
            let (word, rest) = clause.split_once(' ').unwrap_or((clause, ""));
            let opens = listed(AGREES).chain([
                "then", "and", "so", "dann", "und", "alors", "et", "entonces", "y",
            ]);
            if rest.trim().is_empty() || !opens.into_iter().any(|known| known == word) {
                return format!(" {clause}");
            }
            clause = rest.trim_start();
        }
    });
    clauses.any(|clause| starts(&clause, CHOICES))
}

/// Returns whether the words of a list stand in a text; where words are not parted by spaces, anywhere.
fn has(spaced: &str, list: &'static str) -> bool {
    listed(list).any(|mark| match mark.is_ascii() || !is_cjk(mark) {
        true => spaced.match_indices(mark).any(|(at, _)| {
            let open = mark.ends_with('\'') || spaced[at + mark.len()..].starts_with(' ');
            spaced[..at].ends_with(' ') && open
        }),
        false => spaced.contains(mark),
    })
}

/// Returns whether a text begins with words of a list.
fn starts(spaced: &str, list: &'static str) -> bool {
    let bare = spaced.trim_start_matches([' ', '|']);
    listed(list).any(|mark| {
        let rest = bare.strip_prefix(mark);
        rest.is_some_and(|rest| is_cjk(mark) || rest.is_empty() || rest.starts_with(' '))
    })
}

fn is_cjk(text: &str) -> bool {
    text.starts_with(|c: char| ('\u{3040}'..='\u{9fff}').contains(&c))
}

/// Returns a sentence in lower case, words between single spaces, a bar where punctuation parts it.
fn spaced(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'");
    let mut out = String::from(" ");
    for word in lower.split_whitespace() {
        let bare =
            word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '_' | '/')));
        let ends = word.ends_with([',', '.', ';', ':', '!', ')', '，', '：']);
        if word.starts_with(['(', '–', '—']) {
            out.push_str("| ");
        }
        if !bare.is_empty() {
            out.push_str(&bare.replace(['，', '：'], " | "));
            out.push(' ');
        }
        if ends {
            out.push_str("| ");
        }
    }
    out
}

/// Returns whether a sentence names something that can be looked up: a path, an address, code, a name as programs have
/// them, or a number.
pub(super) fn names_something(text: &str) -> bool {
    text.matches('`').count() >= 2
        || text
            .split(|c: char| c.is_whitespace() || "，。：；、（）".contains(c))
            .any(is_name)
}

fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let inner = |mark: char| {
        let mut parts = word.split(mark);
        parts.clone().count() > 1 && parts.all(|part| part.chars().any(char::is_alphanumeric))
    };
    let letters = |part: &str| part.len() >= 2 && part.chars().all(|c| c.is_ascii_alphanumeric());
    let path = inner('/') && (word.matches('/').count() > 1 || word.contains(['.', '_', '-']));
    let ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        letters(ending)
            && ending.len() <= 6
            && stem.chars().any(char::is_alphabetic)
            && stem.len() > 1
    });
    let humps = {
        let pairs = word.as_bytes().windows(2);
        let mut humps =
            pairs.filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        humps.next().is_some()
    };
    path || inner('_')
        || ending
        || humps
        || word.contains("::")
        || word.contains("://")
        || has_digits(word)
}

/// Returns whether a word has digits that mean something: with letters, with a point inside, or three and more.
fn has_digits(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    digits > 0 && (letters || digits > 2 || word.contains(['.', ':']))
}
