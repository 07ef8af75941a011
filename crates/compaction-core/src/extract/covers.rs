//! Whether one program's success says that another run of it would pass too.
//!
//! A run that surely did all that a failed one did settles it. One that may have done so does not: what a plain
//! `cargo test` takes in depends on the folder, what `make` builds on the file. Then the failure stays, with the newer
//! success beside it.

use std::collections::BTreeSet;

use super::spelling::Part;

/// How much of a failed run a later success did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cover {
    /// Not all of it.
    Not,
    /// That cannot be told from the command lines.
    Perhaps,
    /// All of it.
    Surely,
}

/// Options that leave out a part of what would run.
const NARROWING: [&str; 20] = [
    "--filter",
    "--grep",
    "--only",
    "--ignore",
    "--exclude",
    "--skip",
    "--dry-run",
    "--list",
    "--version",
    "--help",
    "--tests",
    "--deselect",
    "-DskipTests",
    "-Dtest",
    "--collect-only",
    "--changed",
    "--shard",
    "--exclude-task",
    "--only-changed",
    "--testNamePattern",
];
/// The same of single programs, for which others mean something else by them.
const NARROWING_OF: [(&str, &[&str]); 9] = [
    ("pytest", &["-k", "-m", "--lf", "--last-failed"]),
    ("jest", &["-t", "-o"]),
    ("vitest", &["-t"]),
    ("mocha", &["-g"]),
    ("go", &["-run", "-skip", "-short", "-bench", "-tags"]),
    ("gradle", &["-x"]),
    ("mvn", &["-pl", "--projects"]),
    ("make", &["-n", "-q"]),
    ("terraform", &["-target"]),
];
/// Programs that are told no verb: their words are what they work on.
const PLAIN: [&str; 18] = [
    "pytest", "jest", "mocha", "mypy", "eslint", "tsc", "psql", "curl", "phpunit", "rspec", "make",
    "gcc", "node", "gradle", "mvn", "python", "python3", "just",
];
/// Programs that, told nothing to work on, work on everything.
const WHOLE: [&str; 9] = [
    "pytest", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "tox", "nox",
];
/// Verbs of a program whose success is that of others too.
const IMPLIED: [(&str, &str, &[&str]); 4] = [
    ("terraform", "apply", &["plan", "validate"]),
    ("terraform", "plan", &["validate"]),
    ("dotnet", "test", &["build"]),
    ("dotnet", "publish", &["build"]),
];
/// The phases of a build with Maven, each on the way to those behind it.
const PHASES: [&str; 7] = [
    "validate", "compile", "test", "package", "verify", "install", "deploy",
];

/// Returns how much of what `failed` did the run `won` did.
pub(super) fn covers(won: &Part, failed: &Part) -> Cover {
    if !won.same_place(failed) {
        return Cover::Not;
    }
    if won.words == failed.words {
        return Cover::Surely;
    }
    if won.words.first() != failed.words.first() {
        return Cover::Not;
    }
    let (won, failed) = (Run::new(won), Run::new(failed));
    match won.program {
        "cargo" => cargo(&won, &failed),
        "npm" | "pnpm" | "yarn" | "bun" if won.verb.starts_with("run:") => script(&won, &failed),
        _ => general(&won, &failed),
    }
}

/// A program, what it is told to do, and what it does that to.
#[derive(Debug, Default)]
struct Run<'a> {
    program: &'a str,
    verb: &'a str,
    targets: Vec<&'a str>,
    narrowing: BTreeSet<String>,
    words: &'a [String],
}

impl<'a> Run<'a> {
    fn new(part: &'a Part) -> Self {
        let Some((program, words)) = part.words.split_first() else {
            return Self::default();
        };
        let program = program.as_str();
        let own = NARROWING_OF.iter().find(|(name, _)| *name == program);
        let own = own.map(|(_, options)| *options).unwrap_or_default();
        let mut run = Self {
            program,
            words,
            ..Self::default()
        };
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            let word = word.trim_matches(['"', '\'']);
            let bare = word.split('=').next().unwrap_or_default();
            let verb = word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b':'));
            if word.starts_with('-') && (NARROWING.contains(&bare) || own.contains(&bare)) {
                // The word behind it says to what it is narrowed.
                let to = rest.next_if(|next| bare == word && !next.starts_with('-'));
                let to = to.map(String::as_str).unwrap_or_default();
                run.narrowing.insert(format!("{word} {to}"));
            } else if word.starts_with('-') {
                // A folder is a target also where it belongs to an option.
                let value = word.split_once('=').map(|(_, value)| value);
                run.targets
                    .extend(value.filter(|value| value.contains('/')));
            } else if (verb || word.starts_with("run:"))
                && run.verb.is_empty()
                && run.targets.is_empty()
                && !PLAIN.contains(&program)
            {
                run.verb = word;
            } else {
                run.targets.push(word);
            }
        }
        run
    }

    /// Returns what stands behind any of these options.
    fn values(&self, options: &[&str]) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if options.contains(&word.as_str()) {
                found.extend(words.next().map(String::as_str));
            } else if let Some((name, value)) = word.split_once('=')
                && options.contains(&name)
            {
                found.insert(value);
            }
        }
        found
    }

    fn has(&self, options: &[&str]) -> bool {
        self.words
            .iter()
            .any(|word| options.contains(&word.as_str()))
    }
}

fn general(won: &Run<'_>, failed: &Run<'_>) -> Cover {
    let implied = IMPLIED.iter().any(|(program, verb, others)| {
        *program == won.program && *verb == won.verb && others.contains(&failed.verb)
    });
    if (won.verb != failed.verb && !implied) || !won.narrowing.is_subset(&failed.narrowing) {
        return Cover::Not;
    }
    let covered = |target: &&str| {
        let mut own = won.targets.iter();
        own.any(|own| contains(won.program, own, target))
    };
    match (won.targets.is_empty(), failed.targets.is_empty()) {
        (true, true) if won.words.iter().all(|word| failed.words.contains(word)) => Cover::Surely,
        (true, true) => Cover::Perhaps,
        (true, false) if WHOLE.contains(&won.program) => Cover::Surely,
        (true, false) => Cover::Perhaps,
        (false, true) => Cover::Not,
        (false, false) if failed.targets.iter().all(covered) => Cover::Surely,
        (false, false) => Cover::Not,
    }
}

/// Returns true when a target is another one, a folder around it, or a task that it is a part of.
fn contains(program: &str, own: &str, other: &str) -> bool {
    if own == other {
        return true;
    }
    if own.contains("://") {
        return false;
    }
    match program {
        "gradle" => gradle(own, other),
        "mvn" => {
            let place = |phase: &str| PHASES.iter().position(|known| *known == phase);
            matches!((place(own), place(other)), (Some(own), Some(other)) if own > other)
        }
        _ => around(own, other),
    }
}

fn around(own: &str, other: &str) -> bool {
    let bare = |target: &str| -> String {
        let target = target.trim_start_matches("./");
        target
            .trim_end_matches("...")
            .trim_end_matches('/')
            .to_owned()
    };
    let (outer, inner) = (bare(own), bare(other));
    let tree = own.ends_with("...") || !other.ends_with("...");
    let within = |rest: &str| rest.is_empty() || rest.starts_with('/') || rest.starts_with("::");
    let everything = own == "./..." || (own == "." && !other.ends_with("...") && is_path(other));
    everything || (tree && !outer.is_empty() && inner.strip_prefix(&outer).is_some_and(within))
}

/// Returns true for what names a place below the folder that a program runs in.
fn is_path(target: &str) -> bool {
    !target.starts_with(['/', '-']) && !target.starts_with("..") && target.contains(['/', '.'])
}

/// Returns true when a task of Gradle takes in another: the same in all projects, or a step on its way.
fn gradle(own: &str, other: &str) -> bool {
    let split = |task: &str| match task.rsplit_once(':') {
        Some((project, task)) => (project.to_owned(), task.to_owned()),
        None => (String::new(), task.to_owned()),
    };
    let ((own_project, own), (project, task)) = (split(own), split(other));
    let part = match own.as_str() {
        "build" => ["assemble", "check", "compile", "classes", "jar", "lint"].as_slice(),
        "check" => &["compile", "classes", "lint"],
        "assemble" => &["assemble", "compile", "classes", "jar"],
        "test" => &["compile", "classes"],
        _ => &[],
    };
    let runs_tests = matches!(own.as_str(), "build" | "check") && task == "test";
    (own_project.is_empty() || own_project == project)
        && (own == task || runs_tests || part.iter().any(|part| task.starts_with(part)))
}

/// Scripts of a package: the same one, in at least the same packages, with nothing narrowed.
fn script(won: &Run<'_>, failed: &Run<'_>) -> Cover {
    const PACKAGES: [&str; 4] = ["-w", "--workspace", "--filter", "-F"];
    const ALL: [&str; 4] = ["--workspaces", "-ws", "-r", "--recursive"];
    if won.verb != failed.verb {
        return Cover::Not;
    }
    let arguments = |run: &Run<'_>| -> Vec<String> {
        let words = run.words.iter().skip(1);
        words.filter(|word| *word != "--").cloned().collect()
    };
    let packages = (won.values(&PACKAGES), failed.values(&PACKAGES));
    match packages {
        _ if won.has(&ALL) && arguments(won).len() == 1 => Cover::Surely,
        (won_of, failed_of) if !won_of.is_empty() && won_of != failed_of => Cover::Not,
        (won_of, failed_of) if won_of != failed_of => Cover::Perhaps,
        _ if arguments(won) == arguments(failed) => Cover::Surely,
        // A script without arguments checks all that it can; what else it does may differ.
        _ if arguments(won).is_empty() && !won.verb.contains("build") => Cover::Surely,
        _ if arguments(won).is_empty() => Cover::Perhaps,
        _ => Cover::Not,
    }
}

/// What cargo does on the way to something else.
const CARGO_IMPLIES: [(&str, &[&str]); 4] = [
    ("test", &["test", "t", "build", "b", "check", "c"]),
    ("t", &["test", "t", "build", "b", "check", "c"]),
    ("build", &["build", "b", "check", "c"]),
    ("clippy", &["clippy", "check", "c"]),
];
const PACKAGES: [&str; 2] = ["-p", "--package"];
const WORKSPACE: [&str; 2] = ["--workspace", "--all"];
/// Which parts of a package: without them, its library, programs and tests.
const KINDS: [&str; 10] = [
    "--lib",
    "--bin",
    "--bins",
    "--test",
    "--tests",
    "--doc",
    "--example",
    "--examples",
    "--bench",
    "--benches",
];
const FEATURES: [&str; 2] = ["--features", "-F"];
/// What makes it another build.
const BUILDS: [&str; 6] = [
    "--release",
    "-r",
    "--no-default-features",
    "--profile",
    "--target",
    "--manifest-path",
];
/// What changes nothing about whether it passes.
const CARGO_SAME: [&str; 9] = [
    "--no-fail-fast",
    "--offline",
    "--locked",
    "--frozen",
    "--all-targets",
    "--all-features",
    "-j",
    "--jobs",
    "--message-format",
];

/// A plain `cargo test` takes in the package of its folder, or in a workspace without one all or some of its members;
/// only `--workspace` surely takes in a package that `-p` names.
fn cargo(won: &Run<'_>, failed: &Run<'_>) -> Cover {
    let implied = CARGO_IMPLIES.iter().find(|(name, _)| *name == won.verb);
    let implied = implied.is_some_and(|(_, implied)| implied.contains(&failed.verb));
    if !implied && won.verb != failed.verb {
        return Cover::Not;
    }
    let (own, other) = (Cargo::of(won), Cargo::of(failed));
    let filtered = !own.filters.is_empty()
        && (other.filters.is_empty()
            || !other.filters.iter().all(|filter| {
                let mut own = own.filters.iter();
                own.any(|own| filter.contains(own))
            }));
    let kinds = !own.kinds.is_empty() && own.kinds != other.kinds;
    let other_package = !own.workspace
        && !own.packages.is_empty()
        && (other.workspace
            || !own.packages.is_superset(&other.packages)
            || other.packages.is_empty());
    if filtered || kinds || other_package || (!own.workspace && other.workspace) {
        return Cover::Not;
    }
    let whole = own.workspace || own.packages == other.packages || !own.packages.is_empty();
    // Tests and benches are built only where they are asked for, and not by a build.
    let tested = matches!(won.verb, "test" | "t") || own.targets || !other.builds_tests();
    let benches = other.kinds.iter().all(|kind| !kind.starts_with("--bench"));
    let features = own.features == other.features || own.all_features;
    let same = own.builds == other.builds && features && own.all_features >= other.all_features;
    match whole && tested && (benches || own.kinds == other.kinds) && same {
        true => Cover::Surely,
        false => Cover::Perhaps,
    }
}

/// What a run of cargo is told to take in.
#[derive(Default)]
struct Cargo<'a> {
    workspace: bool,
    packages: BTreeSet<&'a str>,
    kinds: BTreeSet<&'a str>,
    features: BTreeSet<&'a str>,
    builds: BTreeSet<&'a str>,
    filters: Vec<&'a str>,
    all_features: bool,
    targets: bool,
}

impl<'a> Cargo<'a> {
    fn of(run: &Run<'a>) -> Self {
        let mut cargo = Self {
            workspace: run.has(&WORKSPACE) && !run.has(&["--exclude"]),
            packages: run.values(&PACKAGES),
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
            } else if CARGO_SAME.contains(&name) || WORKSPACE.contains(&name) || word == "--" {
            } else {
                cargo.filters.push(word);
            }
        }
        cargo
    }

    /// Returns whether it takes in tests even where it only builds.
    fn builds_tests(&self) -> bool {
        let mut kinds = self.kinds.iter();
        self.targets || kinds.any(|kind| matches!(*kind, "--test" | "--tests"))
    }
}
