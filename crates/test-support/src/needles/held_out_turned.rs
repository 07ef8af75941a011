//! The second set of what is said and taken back; see [`Phrasings::HeldOut`](super::Phrasings).

use super::names::Names;
use super::phrases_said::Voice;

/// What is proposed ({a}), and by whom and how it is turned down for a reason ({r}).
pub type Rejection = (&'static str, Voice, &'static str);

const REJECTIONS: &[Rejection] = &[
    (
        "How about {a}? It is battle-tested.",
        Voice::User,
        "rather not, {r}",
    ),
    (
        "The quickest route is {a}, I can have it in a minute.",
        Voice::User,
        "quick maybe, but {r}. find another way",
    ),
    ("I propose {a} here.", Voice::User, "veto. {r}"),
    ("Let me go ahead with {a}.", Voice::User, "stop, don't. {r}"),
    (
        "Plan B is {a}.",
        Voice::User,
        "{r}, that kills plan B for me",
    ),
    (
        "I have put in {a}, the tests are green.",
        Voice::User,
        "sorry, back it out: {r}",
    ),
    (
        "Experimenting with {a} to see whether it helps.",
        Voice::Agent,
        "Dead end: {r}. I am backing out of {a} and it will not come back.",
    ),
    (
        "{a} looks attractive to me, it removes a whole class of bugs.",
        Voice::User,
        "tempting, but no: {r}",
    ),
    ("Should I use {a}?", Voice::User, "please don't, {r}"),
];
const WAYS: &[(&str, &str)] = &[
    ("a sidecar for {w}", "the pods have no memory to spare"),
    ("a cron-driven rebuild of {t}", "it would race the importer"),
    ("soft deletes on {t}", "legal wants the rows gone for real"),
    ("an ORM around {t}", "we fought its migrations for months"),
    ("sharding {w} by tenant", "one tenant is half the load"),
    (
        "a feature branch per part of {w}",
        "merging them took longer than the work",
    ),
    ("code generation for {w}", "nobody could debug the output"),
    ("busy-waiting on {w}", "the battery is empty by noon"),
    ("storing {w} as XML", "the phones choke on it"),
];
/// With a way and a reason of their own.
const OWN_REJECTIONS: &[(Rejection, &str, &str)] = &[
    (
        ("Mein Vorschlag: {a}.", Voice::User, "nee, lass mal, {r}"),
        "ein Singleton für {w}",
        "damit lässt sich nichts mehr testen",
    ),
    (
        ("Je propose {a}.", Voice::User, "surtout pas, {r}"),
        "un verrou global sur {w}",
        "tout le monde attendrait",
    ),
    (
        ("Propongo {a}.", Voice::User, "mejor no: {r}"),
        "copiar {t} cada hora",
        "la réplica ya va justa",
    ),
    (
        ("我建议采用{a}。", Voice::User, "不行，{r}"),
        "双写 {w} 的方案",
        "出错以后没法对账",
    ),
];

/// Returns how something is turned down, what, and why.
pub fn rejection(names: &mut Names) -> (Rejection, &'static str, &'static str) {
    let place = names.place("rejection", REJECTIONS.len() + OWN_REJECTIONS.len());
    match REJECTIONS.get(place) {
        Some(&rejection) => {
            let (way, reason) = WAYS[names.place("way", WAYS.len())];
            (rejection, way, reason)
        }
        None => OWN_REJECTIONS[place - REJECTIONS.len()],
    }
}

pub const REPLACEMENTS: &[(&str, &str)] = &[
    (
        "go for {o} as the {q} in the first version",
        "customer came back to us, they want {n} for the {q}",
    ),
    (
        "{o} should do for the {q}",
        "{o} doesn't cut it, bump the {q} to {n}",
    ),
    (
        "the {q} is {o} according to the wiki",
        "wiki was stale. {q} is really {n}",
    ),
    ("{q} -> {o}", "{q} -> {n}, typo earlier"),
    (
        "Please configure a {q} of {o}.",
        "Correction regarding the {q}: {n}.",
    ),
    (
        "I'd put the {q} at {o}",
        "lets lower the {q}, {n} is plenty",
    ),
    (
        "Stell die {q} erst mal auf {o}.",
        "Kommando zurück, die {q} kommt auf {n}.",
    ),
    ("mets le {q} à {o}", "finalement le {q} passe à {n}"),
    ("pon el {q} en {o}", "cambio de planes: el {q} queda en {n}"),
    ("{q} 先设成 {o}", "{q} 改成 {n} 吧"),
];
