//! Whether one program's success says that another run of it would pass too.
//!
//! A run that surely did all that a failed one did settles it. One that may have done so does not: what a plain
//! `cargo test` takes in depends on the folder, what `make` builds on the file. Then the failure stays, with the newer
//! success in addition to it.

mod cargo;

use std::collections::BTreeSet;

use super::shell_parse::Part;
use crate::phrases::Phrases;
use cargo::cargo;

/// How much of a failed run a later success did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subsumption {
    /// Not all of it.
    Not,
    /// The command lines do not show it.
    Perhaps,
    /// All of it.
    Surely,
}

/// Options that leave out a part of what would run.
static NARROWING: Phrases = Phrases::named("subsumption.narrowing");
/// The same of single programs, for which others mean something else by them.
const NARROWING_OF: [(&str, &[&str]); 9] = [
    ("pytest", &["-k", "-m"]),
    ("jest", &["-t", "-o"]),
    ("vitest", &["-t"]),
    ("mocha", &["-g"]),
    ("go", &["-run", "-skip", "-short", "-bench", "-tags"]),
    ("gradle", &["-x"]),
    ("mvn", &["-pl", "--projects"]),
    ("make", &["-n", "-q"]),
    ("terraform", &["-target"]),
];
/// Options that run what failed before, and nothing else: all that a failed run still has to show.
const AGAIN: [&str; 6] = [
    "--lf",
    "--last-failed",
    "--failed",
    "--rerun-failed",
    "--only-failures",
    "--onlyFailures",
];
/// Programs without subcommands; positionals are targets.
const PLAIN: [&str; 18] = [
    "pytest", "jest", "mocha", "mypy", "eslint", "tsc", "psql", "curl", "phpunit", "rspec", "make",
    "gcc", "node", "gradle", "mvn", "python", "python3", "just",
];
/// Programs that work on everything where no target is given.
const WHOLE: [&str; 9] = [
    "pytest", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "tox", "nox",
];
/// Programs that work on everything below a folder that is given.
static TREES: Phrases = Phrases::named("subsumption.trees");
/// Programs whose options and variables nobody here knows, scripts aside: with another one it may be another run.
const OPEN: [&str; 10] = [
    "make", "just", "python", "python3", "node", "ruby", "perl", "php", "docker", "task",
];
/// Endings of scripts, whose options are unknown, too.
const SCRIPTS: [&str; 6] = [".sh", ".py", ".js", ".ts", ".rb", ".pl"];
/// Words of a script's name that say that it checks something, so that without arguments it checks all it can.
const CHECKING: [&str; 7] = ["test", "lint", "check", "spec", "e2e", "tsc", "types"];
/// Verbs of a program whose success is that of others too.
const IMPLIED: [(&str, &str, &[&str]); 2] = [
    ("terraform", "apply", &["plan", "validate"]),
    ("terraform", "plan", &["validate"]),
];
/// Programs that build what they run, the verbs for building alone, and those that build first.
const BUILDERS: [&str; 12] = [
    "go", "swift", "zig", "cabal", "stack", "mix", "dotnet", "bazel", "bazelisk", "dune", "lake",
    "sbt",
];
const BUILDING: [&str; 2] = ["build", "compile"];
const BUILT_FIRST: [&str; 6] = ["test", "run", "bench", "publish", "install", "release"];
/// The phases of a build with Maven, each on the way to those behind it.
const PHASES: [&str; 7] = [
    "validate", "compile", "test", "package", "verify", "install", "deploy",
];

/// Returns how much of what `failed` did the run `won` did.
pub(super) fn covers(won: &Part, failed: &Part) -> Subsumption {
    if !won.same_place(failed) {
        return Subsumption::Not;
    }
    if won.words == failed.words {
        return Subsumption::Surely;
    }
    if won.words.first() != failed.words.first() {
        return Subsumption::Not;
    }
    let (won, failed) = (Run::new(won), Run::new(failed));
    match won.program {
        "cargo" => cargo(&won, &failed),
        "npm" | "pnpm" | "yarn" | "bun" if won.verb.starts_with("run:") => script(&won, &failed),
        _ => general(&won, &failed),
    }
}

/// A program, its subcommand and options, and its targets.
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
            if AGAIN.contains(&bare) {
                continue;
            }
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

    /// Returns whether it sets an option or a variable that another run does not.
    fn adds_to(&self, other: &Self) -> bool {
        let sets = |word: &&String| word.starts_with('-') || word.contains('=');
        let mut sets = self.words.iter().filter(sets);
        sets.any(|word| !other.words.contains(word))
    }

    /// Returns whether it cannot run before what `other` builds is built.
    fn builds(&self, other: &Self) -> bool {
        BUILDERS.contains(&self.program)
            && BUILDING.contains(&other.verb)
            && BUILT_FIRST.contains(&self.verb)
            && !self.has(&["--no-build"])
    }

    fn has(&self, options: &[&str]) -> bool {
        self.words
            .iter()
            .any(|word| options.contains(&word.as_str()))
    }
}

fn general(won: &Run<'_>, failed: &Run<'_>) -> Subsumption {
    let implied = IMPLIED.iter().any(|(program, verb, others)| {
        *program == won.program && *verb == won.verb && others.contains(&failed.verb)
    });
    let built = won.builds(failed);
    let same = won.verb == failed.verb || implied;
    if !built && (!same || !won.narrowing.is_subset(&failed.narrowing)) {
        return Subsumption::Not;
    }
    let covered = |target: &&str| {
        let mut own = won.targets.iter();
        own.any(|own| contains(won.program, own, target))
    };
    match (won.targets.is_empty(), failed.targets.is_empty()) {
        (true, true) if won.words.iter().all(|word| failed.words.contains(word)) => {
            Subsumption::Surely
        }
        (true, true) if !is_open(won.program) && !failed.adds_to(won) => Subsumption::Surely,
        (true, true) => Subsumption::Perhaps,
        (true, false) if WHOLE.contains(&won.program) => Subsumption::Surely,
        (true, false) => Subsumption::Perhaps,
        (false, true) => Subsumption::Not,
        (false, false) if !failed.targets.iter().all(covered) => Subsumption::Not,
        (false, false) if is_open(won.program) && won.adds_to(failed) => Subsumption::Perhaps,
        (false, false) => Subsumption::Surely,
    }
}

/// Returns true for programs whose options are unknown.
fn is_open(program: &str) -> bool {
    let mut ends = SCRIPTS.iter();
    OPEN.contains(&program) || program.contains('/') || ends.any(|end| program.ends_with(end))
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
        _ => TREES.contains(&program) && around(own, other),
    }
}

fn around(own: &str, other: &str) -> bool {
    fn bare(target: &str) -> &str {
        let target = target.trim_start_matches("./");
        target.trim_end_matches("...").trim_end_matches('/')
    }
    let (outer, inner) = (bare(own), bare(other));
    let tree = own.ends_with("...") || !other.ends_with("...");
    let within = |rest: &str| rest.is_empty() || rest.starts_with('/') || rest.starts_with("::");
    let everything = own == "./..." || (own == "." && !other.ends_with("...") && is_path(other));
    everything || (tree && !outer.is_empty() && inner.strip_prefix(outer).is_some_and(within))
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
fn script(won: &Run<'_>, failed: &Run<'_>) -> Subsumption {
    const PACKAGES: [&str; 4] = ["-w", "--workspace", "--filter", "-F"];
    const ALL: [&str; 4] = ["--workspaces", "-ws", "-r", "--recursive"];
    if won.verb != failed.verb {
        return Subsumption::Not;
    }
    let arguments = |run: &Run<'_>| -> Vec<String> {
        let words = run.words.iter().skip(1);
        words.filter(|word| *word != "--").cloned().collect()
    };
    let packages = (won.values(&PACKAGES), failed.values(&PACKAGES));
    match packages {
        _ if won.has(&ALL) && arguments(won).len() == 1 => Subsumption::Surely,
        (won_of, failed_of) if !won_of.is_empty() && won_of != failed_of => Subsumption::Not,
        (won_of, failed_of) if won_of != failed_of => Subsumption::Perhaps,
        _ if arguments(won) == arguments(failed) => Subsumption::Surely,
        // A script without arguments checks all that it can; what else it does may differ.
        _ if !arguments(won).is_empty() => Subsumption::Not,
        _ if CHECKING.iter().any(|word| won.verb.contains(word)) => Subsumption::Surely,
        _ => Subsumption::Perhaps,
    }
}
