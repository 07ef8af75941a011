//! What is said and taken back: approaches that are turned down, values that others replace.

use super::draft::{Body, Draft};
use super::names::Names;
use super::phrases_said::{Voice, voiced};
use super::{Needle, NeedleKind};

/// A way ({a}) that is proposed, and how it is turned down for a reason ({r}).
const REJECTIONS: &[(&str, Voice, &str)] = &[
    (
        "One option would be {a}, which saves us the extra pass.",
        Voice::User,
        "not {a} please, {r}",
    ),
    (
        "I'd suggest {a} for this.",
        Voice::User,
        "nah, {r}. something simpler",
    ),
    (
        "Shall I switch this over to {a}? It would be the smaller change.",
        Voice::User,
        "No. {r}.",
    ),
    (
        "My plan: {a}, then wire it into the handler.",
        Voice::User,
        "I'd rather not have {a}, {r}",
    ),
    (
        "We could go with {a}.",
        Voice::User,
        "we had {a} last year and {r}, so forget it",
    ),
    (
        "I'll use {a} for it unless you object.",
        Voice::User,
        "I object :) {r}",
    ),
    ("The cleanest way is {a}.", Voice::User, "lieber nicht, {r}"),
    (
        "{a} would do it in ten lines.",
        Voice::User,
        "hm no. {r}, leave it",
    ),
    (
        "Trying {a} first.",
        Voice::Agent,
        "That does not work out: {r}. I reverted {a}.",
    ),
    (
        "I decided on {a} for now.",
        Voice::User,
        "please take that out again, {r}",
    ),
];
const WAYS: &[(&str, &str)] = &[
    (
        "a Redis stream for {w}",
        "we are not running another service",
    ),
    ("a regex over {w}", "it broke on nested quotes"),
    ("memory-mapping {w}", "the file lives on NFS"),
    ("a global mutex around {w}", "it serialized every request"),
    ("polling {w} each second", "ops would see it in the bill"),
    (
        "a trigger on {t}",
        "nobody finds logic that hides in the database",
    ),
    ("vendoring {w}", "we would never update it"),
    (
        "reflection in {w}",
        "the app has to start in under a second",
    ),
    ("a GraphQL layer over {w}", "two endpoints do not need that"),
    ("protobuf for {w}", "the partners only speak JSON"),
];

/// Returns a way that was turned down.
pub fn rejected(names: &mut Names) -> Draft {
    let (proposal, voice, refusal) = REJECTIONS[names.place("rejection", REJECTIONS.len())];
    let (way, reason) = WAYS[names.place("way", WAYS.len())];
    let way = names.fill(way);
    let filled = |phrase: &str| phrase.replace("{a}", &way).replace("{r}", reason);
    let (proposal, refusal) = (filled(proposal), filled(refusal));
    let said = format!("{proposal} / {refusal}");
    let refusal = voiced(voice, names, &refusal);
    let bodies = vec![Body::Answer(proposal)].into_iter().chain(refusal);
    Draft::once(
        NeedleKind::Rejected,
        &said,
        &[&way, reason],
        0,
        bodies.collect(),
    )
}

/// A value ({o}) of something ({q}), and the words that replace it by another ({n}).
const REPLACEMENTS: &[(&str, &str)] = &[
    ("for now use {o} as {q}", "scrap that, {q} is {n} now"),
    (
        "{q} should be {o}",
        "I was wrong about the {q}, it has to be {n}",
    ),
    ("Set the {q} to {o}.", "{q}: {n} instead of {o} please."),
    (
        "we run the {q} at {o}",
        "ops changed it, the {q} runs at {n} since this morning",
    ),
    (
        "let's start with {o} for the {q}",
        "that was too tight, go to {n} for the {q}",
    ),
    ("{q} = {o} is fine", "on second thought {q} = {n}"),
    ("Nimm {o} als {q}.", "Doch lieber {n} als {q}."),
    ("the spec says {o} for the {q}", "spec got updated: {q} {n}"),
    ("I think {o} is right for the {q}", "make the {q} {n}"),
];

/// Returns a value that is replaced later.
pub fn superseded(names: &mut Names) -> Draft {
    let (first, second) = REPLACEMENTS[names.place("replacement", REPLACEMENTS.len())];
    let (quantity, unit) = names.quantity();
    let (old, new) = (names.value(unit), names.value(unit));
    let filled = |phrase: &str| {
        let phrase = phrase.replace("{o}", &old).replace("{n}", &new);
        phrase.replace("{q}", &quantity)
    };
    let (first, second) = (filled(first), filled(second));
    let said = format!("{first} / {second}");
    let bodies = voiced(Voice::User, names, &first);
    let later = voiced(Voice::User, names, &second);
    let draft = Draft::once(NeedleKind::Superseded, &said, &[&old, &quantity], 0, bodies);
    let draft = draft.then(later);
    Draft {
        needle: Needle {
            instead: Some(new),
            ..draft.needle
        },
        ..draft
    }
}
