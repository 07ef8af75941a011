//! Runs of cargo: what one takes in that another one does.

use std::collections::BTreeSet;

use super::{Run, Subsumption};
use crate::phrases::Phrases;

/// What cargo does on the way to something else.
const IMPLIES: [(&str, &[&str]); 4] = [
    ("test", &["test", "t", "build", "b", "check", "c"]),
    ("t", &["test", "t", "build", "b", "check", "c"]),
    ("build", &["build", "b", "check", "c"]),
    ("clippy", &["clippy", "check", "c"]),
];
const PACKAGES: [&str; 2] = ["-p", "--package"];
const WORKSPACE: [&str; 2] = ["--workspace", "--all"];
/// Which parts of a package: without them, its library, programs and tests.
static KINDS: Phrases = Phrases::named("cargo.kinds");
const FEATURES: [&str; 2] = ["--features", "-F"];
/// What makes it another build.
static BUILDS: Phrases = Phrases::named("cargo.builds");
/// What changes nothing about whether it passes.
static SAME: Phrases = Phrases::named("cargo.same");
/// Tests that run only where they are asked for, and the option that adds them to all others.
const IGNORED: [&str; 2] = ["--ignored", "--include-ignored"];
/// Verbs whose words choose some of what runs without them.
const CHOOSING: [&str; 3] = ["test", "t", "bench"];

/// A plain `cargo test` takes in the package of its folder, or in a workspace without one all or some of its members;
/// only `--workspace` surely takes in a package that `-p` names.
pub(super) fn cargo(won: &Run<'_>, failed: &Run<'_>) -> Subsumption {
    let implied = IMPLIES.iter().find(|(name, _)| *name == won.verb);
    let implied = implied.is_some_and(|(_, implied)| implied.contains(&failed.verb));
    if !implied && won.verb != failed.verb {
        return Subsumption::Not;
    }
    let (own, other) = (Cargo::of(won), Cargo::of(failed));
    let kinds = !own.kinds.is_empty() && own.kinds != other.kinds;
    let other_package = !own.workspace
        && !own.packages.is_empty()
        && (other.workspace
            || !own.packages.is_superset(&other.packages)
            || other.packages.is_empty());
    let left_out = !own.excluded.is_subset(&other.excluded)
        && (other.packages.is_empty() || !own.excluded.is_disjoint(&other.packages));
    if !own.passes_on_all_of(&other, won.verb, failed.verb)
        || kinds
        || other_package
        || left_out
        || (!own.workspace && other.workspace)
    {
        return Subsumption::Not;
    }
    let whole = own.workspace || own.packages == other.packages || !own.packages.is_empty();
    // Tests and benches are built only where they are asked for, and not by a build.
    let tests = matches!(won.verb, "test" | "t");
    let tested = tests || own.targets || !other.builds_tests();
    let benches = own.targets
        || !(other.targets || other.kinds.iter().any(|kind| kind.starts_with("--bench")));
    // And what is asked to test all targets leaves out the examples in docs.
    let docs = !own.targets || other.targets || !matches!(failed.verb, "test" | "t");
    let features = own.features == other.features || own.all_features;
    let same = own.builds == other.builds && features && own.all_features >= other.all_features;
    match whole && tested && docs && (benches || own.kinds == other.kinds && !other.targets) && same
    {
        true => Subsumption::Surely,
        false => Subsumption::Perhaps,
    }
}

/// What a run of cargo includes.
#[derive(Default)]
struct Cargo<'a> {
    workspace: bool,
    packages: BTreeSet<&'a str>,
    excluded: BTreeSet<&'a str>,
    kinds: BTreeSet<&'a str>,
    features: BTreeSet<&'a str>,
    builds: BTreeSet<&'a str>,
    filters: Vec<&'a str>,
    /// What stands behind `--`: for the tests, the linter or the program.
    passed_on: Vec<&'a str>,
    all_features: bool,
    targets: bool,
}

impl<'a> Cargo<'a> {
    fn of(run: &Run<'a>) -> Self {
        let mut cargo = Self {
            workspace: run.has(&WORKSPACE),
            packages: run.values(&PACKAGES),
            excluded: run.values(&["--exclude"]),
            features: run.values(&FEATURES),
            all_features: run.has(&["--all-features"]),
            targets: run.has(&["--all-targets"]),
            ..Self::default()
        };
        let verb = run.words.iter().position(|word| word == run.verb);
        let mut words = run
            .words
            .iter()
            .skip(verb.map_or(0, |at| at + 1))
            .map(String::as_str);
        cargo.builds.extend(
            run.words
                .first()
                .map(String::as_str)
                .filter(|word| word.starts_with('+')),
        );
        while let Some(word) = words.next() {
            let name = word.split('=').next().unwrap_or_default();
            let alone = name == word;
            if word == "--" {
                cargo.passed_on = words.collect();
                break;
            }
            if KINDS.contains(&name) {
                cargo.kinds.insert(word);
                if matches!(name, "--bin" | "--test" | "--example" | "--bench") && alone {
                    cargo.kinds.extend(words.next());
                }
            } else if BUILDS.contains(&name) {
                cargo.builds.insert(word);
                if matches!(name, "--profile" | "--target" | "--manifest-path") && alone {
                    cargo.builds.extend(words.next());
                }
            } else if PACKAGES.contains(&name)
                || FEATURES.contains(&name)
                || matches!(name, "-j" | "--jobs" | "--exclude")
            {
                if alone {
                    words.next();
                }
            } else if !SAME.contains(&name) && !WORKSPACE.contains(&name) {
                cargo.filters.push(word);
            }
        }
        cargo
    }

    /// Returns whether its words and what stands behind `--` leave out nothing of what another run did with its own.
    fn passes_on_all_of(&self, other: &Self, verb: &str, other_verb: &str) -> bool {
        if verb == "clippy" {
            // The more is denied, the more is checked.
            let own = |word: &&str| self.passed_on.contains(word);
            return self.filters == other.filters && other.passed_on.iter().all(own);
        }
        if !CHOOSING.contains(&verb) || !CHOOSING.contains(&other_verb) {
            // What a program is given makes another run of it.
            return self.filters == other.filters && self.passed_on == other.passed_on
                || CHOOSING.contains(&verb) && self.filters.is_empty() && self.is_unfiltered();
        }
        let (own, own_options) = self.chosen();
        let (others, other_options) = other.chosen();
        let wider = |filter: &&str| own.iter().any(|own| filter.contains(own));
        let asks = |options: &BTreeSet<&str>| IGNORED.iter().any(|ask| options.contains(ask));
        let exact = own_options.contains("--exact") && own != others;
        let narrower = own_options
            .iter()
            .any(|option| *option != "--include-ignored" && !other_options.contains(option));
        let ignored = asks(&other_options) && !asks(&own_options);
        let filtered = !own.is_empty() && (others.is_empty() || !others.iter().all(wider));
        !(exact || narrower || ignored || filtered)
    }

    fn is_unfiltered(&self) -> bool {
        let (names, options) = self.chosen();
        names.is_empty() && options.is_empty()
    }

    /// Returns the tests that are named, and the options for them that leave some out.
    fn chosen(&self) -> (Vec<&'a str>, BTreeSet<&'a str>) {
        let (mut names, mut options) = (self.filters.clone(), BTreeSet::new());
        let mut words = self.passed_on.iter().copied().peekable();
        while let Some(word) = words.next() {
            match word.split_once('=').map_or(word, |(name, _)| name) {
                "--test-threads" | "--format" => {
                    words.next_if(|next| !word.contains('=') && !next.starts_with('-'));
                }
                "--skip" => {
                    options.insert(word);
                    options.extend(words.next());
                }
                "--show-output" | "--report-time" => {}
                name if name.starts_with('-') => {
                    options.insert(word);
                }
                _ => names.push(word),
            }
        }
        (names, options)
    }

    /// Returns whether it takes in tests even where it only builds.
    fn builds_tests(&self) -> bool {
        let mut kinds = self.kinds.iter();
        self.targets || kinds.any(|kind| matches!(*kind, "--test" | "--tests"))
    }
}
