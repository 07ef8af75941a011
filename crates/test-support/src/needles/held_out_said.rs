//! The second set of what is said once and holds; see [`Phrasings::HeldOut`](super::Phrasings).

use super::names::Names;
use super::phrases_said::Voice;

pub const RULES: &[&str] = &[
    "{f} is sacred, hands off pls",
    "pls dont rebase {b}, ppl are sitting on it",
    "The contents of {d} are vendored; treat them as read-only.",
    "I expect every new endpoint below {d} to come with an integration test.",
    "Under no circumstances may {h} be rebooted.",
    "Prefer composition over inheritance in {d}, throughout.",
    "it's two spaces in {d}, not tabs, and that's not up for debate",
    "Anything that writes to {t} needs a dry-run flag.",
    "run the formatter on {d} each time before you hand over",
    "Kindly refrain from editing {f}; our auditors sign it by hash.",
    "Stick to the standard library in {d}.",
    "{w} is public API, so its names have to survive.",
    "if you ever need {h}, ping me, don't ssh in yourself",
    "Nothing from {t} may end up in a screenshot or a fixture.",
    "You're not allowed to bump the version in {f} on your own.",
    "make sure the docs of {d} get updated whenever behaviour changes",
    "we use British spelling across {d}",
    "no emojis in anything under {d}. really.",
    "Avoid unsafe blocks in {d} at all costs.",
    "alwyas ask befor deleting rows of {t}",
    "{f} darf sich nicht mehr ändern, die ist schon abgenommen.",
    "Bitte in {d} durchgehend Deutsch kommentieren.",
    "Vor jedem Push auf {b} fragst du mich.",
    "Interdiction de pousser sur {b} sans relecture.",
    "Il faut toujours passer par {w} pour écrire dans {t}.",
    "Laisse {f} tranquille, on la régénère chaque nuit.",
    "Nunca borres nada de {t} sin copia previa.",
    "En {d} solo se usan funciones puras, por favor.",
    "禁止直接推送到 {b}。",
    "改动 {d} 之前必须先问我。",
    "提交信息请用英文写，{d} 下面的也一样。",
];

pub const BEFORE: &[&str] = &[
    "",
    "",
    "Great work. ",
    "morning! ",
    "Before I forget: ",
    "yep, that works. ",
    "While you are at it. ",
    "Small interruption. ",
];
pub const AFTER: &[&str] = &[
    "",
    "",
    "Carry on.",
    "Does that make sense?",
    "thx",
    "That's all from me.",
    "Please proceed.",
];
pub const GRANTED: &[&str] = &[
    "Makes sense, I carry on.",
    "All right.",
    "Clear.",
    "I see, thank you.",
    "Right, back to it.",
];
pub const LEADS: &[&str] = &[
    "",
    "",
    "That took a moment to find. ",
    "Both variants build. ",
    "The review comments are worked in. ",
    "I had a second look. ",
];

pub const PINS: &[&str] = &[
    "Escalation for {k}: first Bogdan, then the duty phone, never the mailing list.",
    "{h} is the only box with the licence dongle, it cannot be replaced before spring.",
    "schema of {t}: one row per device and day, gaps mean the device was off",
    "Whoever touches {w} talks to Priya first; she knows why the order matters.",
    "The pen test report for {d} is due at the end of the quarter, see {k}.",
    "Kunde hat {b} freigegeben, alles danach ist noch nicht bezahlt.",
    "Le contrat prévoit que {t} soit exportable en CSV à tout moment.",
    "El cliente solo acepta entregas los martes, ver {k}.",
    "{w} 的负责人是王工，接口变更要提前两天通知。",
    "Baseline for all comparisons is the tag under {b}, with the warm cache on {h}.",
];

const DECISIONS: &[(Voice, &str)] = &[
    (Voice::Agent, "Settled: {c}. Rationale: {r}."),
    (Voice::User, "{c} wins, {r}"),
    (
        Voice::Agent,
        "Given that {r}, {c} is the better fit, so that is what the code does now.",
    ),
    (Voice::User, "we're going with {c} bc {r}"),
    (
        Voice::Agent,
        "I opted for {c}. The deciding argument was that {r}.",
    ),
    (
        Voice::User,
        "final answer from the architecture round: {c}, because {r}",
    ),
    (
        Voice::Agent,
        "Of the three candidates {c} came out on top, seeing that {r}.",
    ),
    (Voice::User, "{r}, so {c} please"),
    (Voice::Agent, "This now uses {c} on the grounds that {r}."),
    (Voice::User, "I've made up my mind: {c}. {r}, end of story"),
];
const CHOICES: &[(&str, &str)] = &[
    ("a bloom filter before {w}", "most lookups miss anyway"),
    (
        "optimistic locking on {t}",
        "conflicts are a handful per week",
    ),
    (
        "a monorepo layout for {d}",
        "releases always go out together",
    ),
    ("websockets in {w}", "the dashboard must not poll"),
    ("UUIDv7 keys for {t}", "random keys shredded the index"),
    (
        "a hand-written parser in {w}",
        "generated ones hide the positions",
    ),
    ("SQLite for {w}", "a single node is all there will ever be"),
    ("gRPC towards {w}", "the schema doubles as documentation"),
    ("an allowlist in {w}", "blocking known evil never ends"),
    ("lazy loading for {w}", "startup dominates on the kiosks"),
];
/// With a choice and a reason of their own.
const OWN_DECISIONS: &[(Voice, &str, &str, &str)] = &[
    (
        Voice::User,
        "Wir haben uns auf {c} geeinigt, weil {r}.",
        "eine eigene Warteschlange für {w}",
        "der Broker beim Kunden gesperrt ist",
    ),
    (
        Voice::User,
        "on part sur {c}, vu que {r}",
        "un cache local dans {w}",
        "le réseau du magasin tombe souvent",
    ),
    (
        Voice::User,
        "Nos quedamos con {c} porque {r}.",
        "una sola tabla {t}",
        "las uniones tardaban demasiado",
    ),
    (
        Voice::User,
        "最后决定用{c}，因为{r}。",
        "消息队列驱动 {w}",
        "同步调用会拖垮网关",
    ),
];

/// Returns who says a decision, its phrase, the choice and the reason.
pub fn decision(names: &mut Names) -> (Voice, &'static str, &'static str, &'static str) {
    let place = names.place("decision", DECISIONS.len() + OWN_DECISIONS.len());
    match DECISIONS.get(place) {
        Some(&(voice, phrase)) => {
            let (choice, reason) = CHOICES[names.place("choice", CHOICES.len())];
            (voice, phrase, choice, reason)
        }
        None => OWN_DECISIONS[place - DECISIONS.len()],
    }
}

pub const NUMBERS: &[(Voice, &str)] = &[
    (Voice::Agent, "Benchmarked: {q} now sits at {v}."),
    (Voice::User, "{q} is capped at {v}, that's in the SLA"),
    (Voice::User, "don't let the {q} exceed {v}"),
    (
        Voice::Agent,
        "On the reference machine I see {v} as the {q}.",
    ),
    (Voice::User, "marketing promised {v} ({q})"),
    (Voice::Agent, "The log shows {q} = {v} for the last run."),
    (Voice::User, "pls assume {v} for {q} when you size things"),
    (
        Voice::Agent,
        "After the warm-up the {q} levels off around {v}.",
    ),
    (
        Voice::User,
        "bei uns sind es {v} ({q}), nur damit du's weißt",
    ),
    (Voice::User, "chez nous le {q} vaut {v}"),
    (Voice::User, "el {q} no puede pasar de {v}"),
    (Voice::User, "{q} 的上限是 {v}"),
];

pub const STEPS: &[(Voice, &str)] = &[
    (Voice::Agent, "Up next would be to {s}."),
    (Voice::Agent, "Not done yet: {s}."),
    (Voice::User, "afterwards pls {s}"),
    (Voice::User, "on the list for next week: {s}"),
    (Voice::Agent, "One follow-up I have not started: {s}."),
    (Voice::User, "at some point we have to {s}, park it for now"),
    (Voice::Agent, "Once this is merged, the plan is to {s}."),
    (Voice::User, "could you also {s}? no rush, after this one"),
    (Voice::User, "ach ja, später noch: {s}"),
    (Voice::User, "à faire ensuite : {s}"),
    (Voice::User, "luego queda pendiente: {s}"),
    (Voice::User, "之后还要做：{s}"),
    (Voice::User, "dont forgt, still to do: {s}"),
];

/// What there is to do.
pub const TASKS: &[&str] = &[
    "prune the orphaned rows in {t}",
    "bring {w} back under the lint budget",
    "hook {w} up to the new tracing exporter",
    "squash the flaky test around {w}",
    "extract the retry loop out of {f}",
    "get {d} building on arm64",
    "swap the deprecated client in {f}",
    "chart the queue length of {w}",
    "replay last month's events through {w}",
    "tighten the permissions on {h}",
    "write the upgrade notes for {w}",
    "inline the helper in {f}",
    "die Fehlermeldungen in {f} übersetzen",
    "vérifier les droits sur {h}",
    "limpiar los índices de {t}",
    "给 {w} 补上压力测试",
];
