//! The user's rules: one closed list of patterns that a sentence of a user message is held against.
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
use super::rule_words::{Token, tokens};
use super::sentence_kinds::reminds;
use super::text::{Sentence, cut_end, neutralise};

/// The longest rule, in characters; what is longer is cut with a marker.
const LONGEST: usize = 400;

/// Words after which a new clause starts.
const CONNECTORS: &str = "please; pls; and; but; so; also; just; then; or; with; really; ok; okay; bitte; und; \
     aber; oder; et; mais; ou; y; pero; o; favor";

/// What makes a sentence a rule, in the languages that are written with spaces.
const PATTERNS: &[&str] = &[
    // English
    "must; mustn't; never; always; only; | don't; | dont; | do not; you don't need; \
     you don't have; you do not need; we don't want; we do not want; i don't want; \
     i do not want; we don't use; we don't need; we do not use; we don't do; should not; \
     shouldn't; you cannot; you can't; you may not; may not be; must be; not allowed; \
     forbidden; | no *; be no *; add no *; use no *; want no *; without any *; without editing; \
     without changing; without touching; without modifying; without adding; without breaking; \
     | keep; \
     | avoid; | use only; please use; please leave; please follow; please stick; \
     please respect; please preserve; please stop; please refrain; | leave * alone; | leave * as; | leave * * as; \
     | leave * * alone; make sure; ensure; prefer; preferably; stick to; stick with; \
     | remember; remember to; remember that; from now on; going forward; instead of; \
     under no circumstances; at all times; no longer use; | rule; | important; hands off; \
     off limits; out of bounds; no go; not to be *; stays on; stays at; stays as; stays in; stays the; \
     stays where; stay on; stay at; stay away; stay out; stay off; has to be; have to be; has to stay; have to stay; \
     has to remain; must remain; is frozen; are frozen; stays frozen; | stop *; ask me before; ask me first; ask first; \
     ask before; check with me; talk to me before; talk to me first; clear it with me; without asking; \
     without my ok; without my okay; without a review; unless i; until i say; until i tell; i'd rather; i would rather; i'd prefer; \
     keep out; keep away; | whatever you do; no matter what; no exceptions; not even; nowhere near; go nowhere; \
     goes nowhere; may only; is for * only; no more than; not more than; at most; no less than; | for anything; \
     | for everything; | for every; | for all; | before every; | after every; before each; | every time; whenever; \
     belongs to; belong to; is owned by; start with the; starts with the; | treat; | don't you dare; | refrain; \
     read only; readonly; is sacred; is untouchable",
    // German
    "immer; nie; niemals; nur; stets; | kein; | keine; | keinen; | keinem; | keiner; \
     | nicht; darf nicht; darf kein; darf keine; darf keinen; dürfen nicht; dürfen keine; \
     darfst nicht; soll nicht; sollen nicht; sollst nicht; sollte nicht; sollten nicht; \
     soll kein; soll keine; sollen keine; auf keinen fall; muss; müssen; musst; \
     bitte behalte; bitte benutze; bitte verwende; bitte nutze; bitte vermeide; \
     bitte achte; bitte lass; bitte belasse; bitte halte; | vermeide; | achte; | behalte; \
     ab jetzt; ab sofort; von nun an; statt; anstatt; stattdessen; stell sicher; \
     stelle sicher; ausschließlich; verboten; tabu; finger weg; hände weg; pfoten weg; | lass; | lasst; | lassen; \
     in ruhe; wird nicht; werden nicht; wird nichts; werden nichts; wird bitte nicht; wird bitte nichts; \
     werden bitte nicht; wird kein; wird keine; werden keine; bleibt auf; bleibt bei; bleibt wie; bleibt so; \
     bleiben auf; bleiben wie; bleiben so; frag mich; fragt mich; vorher fragen; erst fragen; nicht ohne; ohne rücksprache; \
     ohne meine; ohne mein; solange ich; bis ich; höchstens; mindestens; lieber ein *; lieber eine *; | nichts; \
     nichts ändern; nicht anfassen; nicht ändern; nicht anrühren; hat * zu *; gehört dem; gehört der; gehören dem; gehören der",
    // French
    "toujours; jamais; | ne * pas; | ne * jamais; | ne * plus; | ne * rien; | ne pas; \
     | n' * pas; | n' * jamais; | n' * plus; il faut; il ne faut; seulement; uniquement; \
     doit; doivent; devez; assure toi; assurez vous; évite; évitez; | pas de *; \
     | pas d'*; | aucun; | aucune; à partir de maintenant; dorénavant; au lieu de; \
     interdit; veillez; s'il te plaît garde; gardez; | ne *; | n' *; | laisse; | laissez; sans me demander; \
     sans demander; sans mon accord; pas touche; hors limites; reste en; restent en; reste sur; restent sur; \
     demande moi avant; demandez moi avant; demande moi d'abord; au maximum; au plus; tant que; jusqu'à ce que; je préfère; \
     doit rester; doivent rester; appartient à; appartiennent à; à chaque; exclusivement; réservé; réservée; que via; passe par",
    // Spanish; its plain "no ..." is found by the English pattern
    "siempre; nunca; jamás; solo; sólo; solamente; únicamente; debe; deben; debes; \
     hay que; evita; evite; asegúrate; asegúrese; a partir de ahora; en lugar de; \
     en vez de; prohibido; prohibida; | deja; | dejen; | deje; | dejad; no toques; no toque; ni se te; sin preguntarme; \
     sin preguntar; sin mi permiso; sin avisar; pregúntame antes; avísame antes; prefiero; como máximo; hasta que; \
     intocable; fuera de límites; se queda en; se quedan en; se mantiene en; tiene que ser; tienen que ser; pertenece a; \
     pertenecen a; cada vez que; exclusivamente",
];

/// Phrases that look like a pattern and state no rule.
const EXCEPTIONS: &str = "must have been; must be a bug; must be why; must be because; \
     must be something; i must; it never; it always; never mind; keep going; keep it up; \
     not only; if only; the only; an only; there's only; there is only; there are only; \
     is only; are only; was only; has only; have only; that's only; it's only; i only; \
     it only; not sure; | no idea; | no problem; | no worries; | no clue; | no way; \
     | no wait; | no thanks; | no matter; | no i; | no it; | no that; | no that's; \
     | no it's; | no you; | no the; | no this; | no not; | no we; | no luck; \
     | no one knows; i don't think; we don't have; you don't have access; | don't worry; \
     don't know; | don't think so; | don't you; | don't we; | don't they; shouldn't it; \
     shouldn't that; shouldn't this; this shouldn't; that shouldn't; this should not; \
     remember when; das muss ein; das muss an; muss ich; ich muss; es gibt nur; ist nur; \
     sind nur; war nur; ich nur; nur noch ein; keine ahnung; kein problem; ne fonctionne; \
     ne marche; ne passe; ne compile; no funciona; no sé; no entiendo; no es; no hay; \
     no veo; no puedo; no está; no compila; no pasa; no tengo; un solo; una sola; \
     es solo; debe haber; debe ser un; has to be a bug; has to be because; has to be something; \
     has to be the reason; has to be why; has to be fixed; have to be fixed; has to be done; has to be updated; \
     has to be changed; have to be updated; has to be added; not even sure; why not even; ne sais pas; ne vois pas; \
     ne comprends pas; n' est pas; n' arrive pas; n' ai pas; ne fait; ne voit; i have to be; | stop here; | stop now; | stop it; \
     | for all i; | for everything else thanks; whenever you're; whenever you like; sería mejor; tant que possible; \
     would never; could never; has never; have never; had never; was never; were never; will never be; has always; \
     have always; had always; was always; were always; | don't forget it; don't forget about it; keep me posted; \
     keep an eye";

/// Patterns that also stand in what is over soon: alone they make no rule of a report, of an order for this once, or of
/// a new value.
const WEAK: &str = "only; | keep; make sure; ensure; instead of; | stop *; | leave * alone; | leave * as; | leave * * as; \
     | leave * * alone; please leave; please stop; | remember; remember that; | no *; no *; has to be; have to be; \
     must be; is for * only; | important; nur; statt; anstatt; stattdessen; muss; | lass; | lasst; | lassen; seulement; \
     uniquement; il faut; au lieu de; | laisse; | laissez; solo; sólo; solamente; hay que; en lugar de; en vez de; \
     | deja; | deje; tiene que ser; at most; no more than; not more than; at least; höchstens; mindestens; au maximum; \
     au plus; como máximo; i'd rather; i would rather; without *";

/// What tells that an order is for this once.
const ONCE: &str = "for a moment; for a minute; for a second; for a bit; for the moment; this time; this once; just once; \
     right now; right away; again please; out again; einen moment; für den moment; dieses mal; diesmal; jetzt gleich; \
     für diesmal; un instant; un moment; cette fois; pour cette fois; un momento; esta vez; por esta vez; ahora mismo";

/// How a report begins.
const REPORTS: &str = "i ran; i've run; i checked; i've checked; i tried; i've tried; i looked; i've looked; i saw; \
     i found; i've found; i got; i tested; i've tested; i measured; i read; i've read; i asked; i noticed; we ran; \
     we tried; we saw; we found; we measured; it seems; it looks; it turns; turns out; looks like; ich habe; ich hab; \
     wir haben; ich sehe; j'ai; nous avons; on a; he visto; he probado; he mirado; probé; vi";

/// What tells that a figure is told or changed, and nothing forbidden.
const VALUES: &str = "keep in mind; remember that; | remember; instead of; i was wrong; make it; changed; statt; anstatt; \
     au lieu de; en lugar de; en vez de";

/// Chinese and Japanese.
const CJK_PATTERNS: &str = "不要; 必须; 必須; 总是; 總是; 永远; 永遠; 只; 别; 別; 务必; 務必; 禁止; 不能; 不得; 切勿; 不许; 不准; 一律; 始终; 始終; \
     从现在起; 以后都; 请用; 请使用; 请保持; 请保留; 请确保; 请避免; 请注意; 请遵; 请一直; 请勿; 请先; 请以; 請用; 請使用; 請保持; 請勿; \
     必ず; 絶対; しないで; ないでください; ないように; ようにして; 使ってください; 使用してください; 守ってください; 避けてください; 保ってください; \
     别动; 別動; 先问我; 先問我; 问过我; 不可; 不应; 不應; 勿; 严禁; 嚴禁; 统一用; 統一用; 都要; 必; 不超过; 不超過; 最多; 至少; 触るな; 触らない; 変えない; 禁止; 前に聞いて; \
     にしてください; で答えて; で書いて; で返信; で回答; のみ; だけ; 常に; 決して; べき; いけない; てはならない; すること";

/// Chinese and Japanese words that contain a pattern and mean something else.
const CJK_EXCEPTIONS: &str = "只是; 只有一; 不只; 特别; 特別; 区别; 分别; 级别; 类别; 识别; 个别; 未必; 何必; 必要性; 至少说; 别忘; 別忘; 别的; 别人; 性别; 別の; 別に; 区別; 個別; 種別; 差別; \
     能不能; 不能不";

/// First words of German imperatives: with "nicht" or "kein" they forbid.
const GERMAN_IMPERATIVES: &str = "ändere; änder; benutze; benutz; nutze; nutz; verwende; mach; mache; lösche; lösch; \
     schreib; schreibe; fass; fasse; rühr; rühre; füge; committe; pushe; push; lass; \
     lasse; nimm; vergiss; entferne; starte; installiere; nenne; gib; rufe; ruf; öffne; \
     erstelle; baue; bau";

/// Headings under which every item of a list is a rule.
const HEADINGS: &str = "rules; rule; constraints; requirements; guidelines; conventions; important; regeln; \
     vorgaben; règles; reglas; 规则; 要求; 规范; 注意; ルール; 制約";

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
            patterns: by_first_word(PATTERNS),
            exceptions: by_first_word(&[EXCEPTIONS]),
            weak: by_first_word(&[WEAK]),
            once: by_first_word(&[ONCE]),
            reports: by_first_word(&[REPORTS]),
            values: by_first_word(&[VALUES]),
            connectors: listed(CONNECTORS).collect(),
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
        let imperative =
            first.is_some_and(|first| listed(GERMAN_IMPERATIVES).any(|verb| verb == first.word));
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

/// Returns the members of a list that semicolons part.
fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(';').map(str::trim)
}

fn is_heading(text: &str) -> bool {
    let lower = text.to_lowercase();
    let last = lower
        .trim_end_matches([':', '：', '*', ' '])
        .rsplit([' ', '*'])
        .next();
    last.is_some_and(|last| listed(HEADINGS).any(|heading| heading == last))
}

fn is_cjk_rule(text: &str) -> bool {
    let mut text = text.to_owned();
    for exception in listed(CJK_EXCEPTIONS) {
        if text.contains(exception) {
            text = text.replace(exception, " ");
        }
    }
    listed(CJK_PATTERNS).any(|pattern| text.contains(pattern))
}

fn by_first_word(list: &'static [&'static str]) -> BTreeMap<&'static str, Vec<Phrase>> {
    let mut book: BTreeMap<&'static str, Vec<Phrase>> = BTreeMap::new();
    for pattern in list.iter().flat_map(|list| listed(list)) {
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
