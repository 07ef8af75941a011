//! What is said once and holds: rules, pins, decisions, numbers, next steps.

use super::NeedleKind;
use super::draft::{Body, Draft};
use super::names::Names;

/// Rules, as people state them; about a third with the words that one would look for.
const RULES: &[&str] = &[
    "Please never force-push to {b}, Mara's team rebases on it.",
    "no new packages under {d} without asking me first",
    "Keep your hands off {f}, that one is generated.",
    "Every migration has to be reversible, including the one for {t}.",
    "leave {f} alone until the audit is through",
    "{d} stays on Python 3.9, the customer boxes have nothing newer.",
    "Commit messages here start with the ticket number, like {k}.",
    "stop adding comments that only repeat the code in {d}, it drives me nuts",
    "Whatever you do, the response format of {w} is frozen.",
    "ask me before you run anything against {h}",
    "From now on run the linter over {d} before you tell me something is done.",
    "only touch {d} if there is really no other way",
    "Tests under {d} are off limits for you, QA owns those.",
    "I'd rather have a red build than a skipped test in {d}, so no skipping.",
    "Don't log the contents of {t}, not even at debug level.",
    "You must not change the public signatures in {f}.",
    "for anything in {d}: small commits, one thing each, I review on my phone",
    "We always pair a change of {t} with one in the fixtures.",
    "secrets of {h} go nowhere near the repo, not even encrypted",
    "In {d} wird bitte nichts umbenannt, da hängen Skripte dran.",
    "Auf {h} wird nicht deployt, solange ich nichts anderes sage.",
    "Finger weg von {f}, die gehört dem anderen Team.",
    "Ne touche jamais à {f} sans me demander d'abord.",
    "pas de nouvelle dépendance dans {d}, s'il te plaît",
    "No hagas commits directos en {b}, siempre por rama.",
    "Deja {f} como está, la usa otro equipo.",
    "不要修改 {f}，那是自动生成的。",
    "{t} 里的时间一律用 UTC 存储。",
];

const BEFORE: &[&str] = &[
    "",
    "",
    "",
    "Looks good so far. ",
    "ok. ",
    "One more thing before you go on. ",
    "Thanks, that helps. ",
    "hm, two remarks. ",
    "Hold on a second. ",
];
const AFTER: &[&str] = &[
    "",
    "",
    "",
    "Otherwise go on.",
    "Then back to what you were doing.",
    "ok?",
    "The rest is up to you.",
    "Cheers.",
];
const GRANTED: &[&str] = &[
    "Understood, going on.",
    "Got it.",
    "Will do.",
    "Noted. Back to the change at hand.",
    "Sure.",
    "Okay, continuing with the open part.",
];

/// Returns a rule of the user.
pub fn rule(names: &mut Names) -> Draft {
    let phrase = RULES[names.place("rule", RULES.len())];
    let said = names.fill(phrase);
    let message = surrounded(names, &said);
    let granted = granted(names);
    let bodies = vec![Body::User(message), Body::Answer(granted)];
    Draft::once(NeedleKind::Rule, &said, &[&said], 0, bodies)
}

fn granted(names: &mut Names) -> String {
    names.rng.pick(GRANTED).to_owned()
}

/// Returns a sentence inside a message.
fn surrounded(names: &mut Names, said: &str) -> String {
    let (before, after) = (names.rng.pick(BEFORE), names.rng.pick(AFTER));
    let ends = said.ends_with(['.', '。', '!', '?']);
    match (after.is_empty(), ends) {
        (true, _) => format!("{before}{said}"),
        (false, true) => format!("{before}{said} {after}"),
        (false, false) if names.rng.below(2) == 0 => format!("{before}{said}. {after}"),
        (false, false) => format!("{before}{said}\n{after}"),
    }
}

const PINS: &[&str] = &[
    "The release window is Thursday 06:00 to 06:45 UTC, sign-off by Ines, ticket {k}.",
    "Staging credentials for {h} live in the vault under team-b, ask Jonas when they expire.",
    "Contract of {w}: ids are opaque, order is not guaranteed, at most one delivery per minute.",
    "the customer reads {t} directly with their own BI tool, so column names are an interface",
    "Rollback plan: flip the flag of {w}, wait for the drain, redeploy the tag before {b}.",
    "We agreed with legal that rows in {t} are kept 30 days and then hashed, not deleted.",
    "Die Abnahme für {k} macht Frau Lindner, nicht der Support.",
    "Known good build is {b} at commit 4be77a1, everything later has the {w} bug.",
    "{w} runs twice a day: 02:10 and 14:10 local time, and both runs must be idempotent",
    "Feature freeze for {d} ends when {k} is closed.",
];

/// Returns something pinned: a message, or a text of its own.
pub fn pin(names: &mut Names) -> Draft {
    let phrase = PINS[names.place("pin", PINS.len())];
    let said = names.fill(phrase);
    let bodies = match names.rng.below(3) {
        0 => vec![Body::PinText(said.clone())],
        1 => vec![Body::Answer(said.clone()), Body::PinBefore],
        _ => vec![Body::User(said.clone()), Body::PinBefore],
    };
    Draft::once(NeedleKind::Pin, &said, &[&said], 0, bodies)
}

/// Who says a phrase.
#[derive(Clone, Copy)]
pub enum Voice {
    User,
    Agent,
}

/// Returns what somebody says, with what comes before and after it.
pub fn voiced(voice: Voice, names: &mut Names, text: &str) -> Vec<Body> {
    match voice {
        Voice::User => {
            let message = surrounded(names, text);
            let granted = granted(names);
            vec![Body::User(message), Body::Answer(granted)]
        }
        Voice::Agent => {
            const LEADS: &[&str] = &[
                "",
                "",
                "I read both sides once more. ",
                "That compiles now. ",
                "The callers are all in one place. ",
                "The diff is small. ",
            ];
            let lead = names.rng.pick(LEADS);
            vec![Body::Answer(format!("{lead}{text}"))]
        }
    }
}

/// A choice ({c}) and its reason ({r}).
const DECISIONS: &[(Voice, &str)] = &[
    (Voice::Agent, "I went with {c} because {r}."),
    (Voice::Agent, "Decision: {c}. What tipped it: {r}."),
    (Voice::User, "let's do {c} then, {r}"),
    (
        Voice::Agent,
        "{c} it is: {r}, and the other way would have meant a rewrite.",
    ),
    (Voice::Agent, "We settled on {c}; {r}."),
    (
        Voice::Agent,
        "After comparing the two I keep {c}, since {r}.",
    ),
    (Voice::User, "ok, {c}. main thing for me: {r}"),
    (Voice::Agent, "The tie-breaker for {c} was simple: {r}."),
    (
        Voice::User,
        "yes go for {c}, {r}, that matters more to me than speed",
    ),
    (Voice::Agent, "Chose {c} over doing it by hand, as {r}."),
    (Voice::User, "I talked to the team, we take {c}: {r}"),
    (
        Voice::Agent,
        "For the open question I picked {c}: {r}, so that is settled for me.",
    ),
];
const CHOICES: &[(&str, &str)] = &[
    ("redb behind {w}", "it needs no background thread"),
    (
        "a sorted vector in {w}",
        "lookups are rare and inserts come in order",
    ),
    (
        "server-sent events for {w}",
        "the proxy in front kills idle sockets",
    ),
    (
        "one advisory lock per {w}",
        "two workers wrote the same row last week",
    ),
    (
        "cursor pagination in {w}",
        "offsets get slow past the first million",
    ),
    ("a partial index on {t}", "nine rows of ten are archived"),
    (
        "integer cents in {w}",
        "floats were off by one in the yearly report",
    ),
    (
        "a build-time template for {w}",
        "the lambda has no writable disk",
    ),
    ("plain cron for {w}", "nobody on call knows the scheduler"),
    (
        "zstd level 3 for {w}",
        "level 9 doubled the time for two percent",
    ),
    (
        "a tombstone column on {t}",
        "the mobile clients resend deleted rows",
    ),
    (
        "feature detection in {w}",
        "version strings lie on the older tablets",
    ),
];

/// Returns a decision with its reason.
pub fn decision(names: &mut Names) -> Draft {
    let (voice, phrase) = DECISIONS[names.place("decision", DECISIONS.len())];
    let (choice, reason) = CHOICES[names.place("choice", CHOICES.len())];
    let choice = names.fill(choice);
    let said = phrase.replace("{c}", &choice).replace("{r}", reason);
    let bodies = voiced(voice, names, &said);
    Draft::once(NeedleKind::Decision, &said, &[&choice, reason], 0, bodies)
}

/// A value ({v}) and what it is of ({q}).
const NUMBERS: &[(Voice, &str)] = &[
    (Voice::Agent, "The {q} is {v}, measured on the staging box."),
    (Voice::User, "set the {q} to {v}"),
    (Voice::Agent, "{q}: {v} over ten runs."),
    (Voice::User, "fyi the {q} can't go above {v}"),
    (Voice::User, "we have {v} for the {q}, not more"),
    (Voice::Agent, "I measured {v} for the {q} after the change."),
    (Voice::Agent, "With that the {q} comes down to {v}."),
    (
        Voice::User,
        "keep in mind that the {q} on the customer side is {v}",
    ),
    (Voice::User, "{v} is the {q} we promised in the contract"),
    (
        Voice::Agent,
        "Profiling puts the {q} at {v}, most of it in serialization.",
    ),
    (Voice::User, "der {q} liegt beim Kunden bei {v}"),
];

/// Returns a number with its unit.
pub fn number(names: &mut Names) -> Draft {
    let (voice, phrase) = NUMBERS[names.place("number", NUMBERS.len())];
    let (quantity, unit) = names.quantity();
    let value = names.value(unit);
    let said = phrase.replace("{v}", &value).replace("{q}", &quantity);
    let bodies = voiced(voice, names, &said);
    Draft::once(NeedleKind::Number, &said, &[&value, &quantity], 0, bodies)
}

/// Something to do ({s}).
const STEPS: &[(Voice, &str)] = &[
    (Voice::Agent, "Next: {s}."),
    (Voice::User, "when you're through with this, {s}"),
    (Voice::Agent, "What remains is to {s}."),
    (Voice::Agent, "Still open on my side: {s}."),
    (Voice::User, "oh and later {s}, not now"),
    (Voice::User, "todo for after the release: {s}"),
    (Voice::Agent, "I'll {s} once the review is in."),
    (Voice::User, "don't forget to {s} before we ship"),
    (Voice::Agent, "That leaves one thing for tomorrow: {s}."),
    (Voice::User, "danach bitte noch: {s}"),
    (Voice::User, "remind me that we still need to {s}"),
];

/// Returns a step that comes later.
pub fn next_step(names: &mut Names) -> Draft {
    let (voice, phrase) = STEPS[names.place("step", STEPS.len())];
    let step = names.task();
    let said = phrase.replace("{s}", &step);
    let bodies = voiced(voice, names, &said);
    Draft::once(NeedleKind::NextStep, &said, &[&step], 0, bodies)
}
