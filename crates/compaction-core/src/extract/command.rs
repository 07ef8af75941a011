//! Command lines: which are the same, which check the work, which only look.

/// First words of commands that only look: their failure blocks nothing, and their output quotes anything.
const LOOKING: [&str; 30] = [
    "grep",
    "rg",
    "ag",
    "ls",
    "cat",
    "find",
    "fd",
    "head",
    "tail",
    "less",
    "which",
    "type",
    "test",
    "[",
    "diff",
    "sed",
    "awk",
    "wc",
    "file",
    "stat",
    "jq",
    "tree",
    "pwd",
    "echo",
    "printf",
    "ps",
    "pgrep",
    "journalctl",
    "dmesg",
    "history",
];
/// What `git` does when it only looks.
const GIT_LOOKING: [&str; 7] = ["grep", "log", "show", "diff", "status", "blame", "ls-files"];
/// Returns true when a command's exit code is not that of what it runs, or is made to be a success.
pub(super) fn hides_its_end(command: &str) -> bool {
    command.contains('|') || command.contains("; ") || command.trim_end().ends_with('&')
}

/// Words of commands that check the work.
const CHECKS: [&str; 26] = [
    "test",
    "tests",
    "check",
    "clippy",
    "build",
    "lint",
    "tsc",
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "make",
    "mypy",
    "ruff",
    "eslint",
    "typecheck",
    "vet",
    "nextest",
    "rspec",
    "phpunit",
    "ctest",
    "gradle",
    "mvn",
    "tox",
    "unittest",
    "compile",
];

/// A command line, taken apart so that two runs of the same command can be told.
pub(super) struct Command {
    dir: Option<String>,
    core: String,
    parts: Vec<String>,
}

impl Command {
    /// Returns the command that `text` spells, without what only shortens its output.
    pub(super) fn new(text: &str) -> Self {
        let mut rest = text.trim();
        let mut dir = None;
        if let Some(after) = rest.strip_prefix("cd ")
            && let Some((place, command)) = after.split_once(" && ")
        {
            dir = Some(
                place
                    .trim_matches(['"', '\'', ' '])
                    .trim_end_matches('/')
                    .to_owned(),
            );
            rest = command.trim();
        }
        let cut = [
            "| tail",
            "| head",
            "| grep",
            "| less",
            "|| true",
            "2>&1",
            "2>/dev/null",
            "; echo",
            "| cat",
        ];
        let ends = cut.iter().filter_map(|mark| rest.find(mark));
        let core = rest[..ends.min().unwrap_or(rest.len())].trim().to_owned();
        let parts = core
            .split(" && ")
            .map(|part| part.trim().to_owned())
            .collect();
        Self { dir, core, parts }
    }

    /// Returns the command without directory, redirections and filters.
    pub(super) fn core(&self) -> &str {
        &self.core
    }

    /// Returns true when both are the same command in the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.same_place(other) && self.core == other.core
    }

    /// Returns true when this command's success settles that `failed` failed: it is the same, its last
    /// check, or a broader form of it.
    pub(super) fn settles(&self, failed: &Self) -> bool {
        let last = failed.parts.iter().rfind(|part| is_check(part));
        let mut won = std::iter::once(&self.core).chain(&self.parts);
        self.same_place(failed)
            && won.any(|won| {
                let narrower = failed.core.strip_prefix(won.as_str());
                let narrower =
                    narrower.is_some_and(|rest| rest.starts_with(' ') && !rest.contains("&&"));
                *won == failed.core
                    || Some(won) == last
                    || (narrower && is_check(won))
                    || (is_check(won) && broader(won, last.unwrap_or(&failed.core)))
                    || Run::new(won).covers(&Run::new(last.unwrap_or(&failed.core)))
            })
    }

    /// Returns true when this command, a test run that came to its tests, settles that `failed` failed to build.
    pub(super) fn built(&self, failed: &Self) -> bool {
        let last = |command: &Self| {
            let check = command.parts.iter().rfind(|part| is_check(part));
            check.cloned().unwrap_or_default()
        };
        let failed_check = last(failed);
        let builds = ["cargo build", "cargo check"];
        self.same_place(failed)
            && builds.iter().any(|build| failed_check.starts_with(build))
            && broader(&last(self), &failed_check)
    }

    fn same_place(&self, other: &Self) -> bool {
        match (&self.dir, &other.dir) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    /// Returns true when the command only looks at something.
    pub(super) fn only_looks(&self) -> bool {
        let looks = |part: &String| {
            let mut words = part.split_whitespace().filter(|word| !word.contains('='));
            match words.next() {
                Some("docker" | "kubectl" | "podman") => words
                    .find(|word| !matches!(*word, "compose" | "container"))
                    .is_some_and(|word| matches!(word, "logs" | "ps" | "inspect" | "describe")),
                Some("git") => words.next().is_some_and(|word| GIT_LOOKING.contains(&word)),
                Some(first) => LOOKING.contains(&first),
                None => true,
            }
        };
        self.parts.iter().all(looks)
    }
}

/// Options that leave nothing out of a check.
const BROAD: [&str; 16] = [
    "--workspace",
    "--all",
    "--all-targets",
    "--all-features",
    "--no-fail-fast",
    "--quiet",
    "-q",
    "--verbose",
    "-v",
    "--offline",
    "--locked",
    "--frozen",
    "--tests",
    "--color=never",
    "./...",
    "--",
];
/// What cargo does on the way to something else.
const CARGO_IMPLIES: [(&str, &[&str]); 3] = [
    ("test", &["test", "build", "check", "b", "c", "t"]),
    ("build", &["build", "check", "b", "c"]),
    ("clippy", &["clippy", "check", "c"]),
];

/// Returns true when the check `won` leaves out nothing that `failed` did: the same tool, and beside options that
/// narrow nothing only words that `failed` has too.
fn broader(won: &str, failed: &str) -> bool {
    let split =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let (won, failed) = (split(won), split(failed));
    let (Some(tool), Some(other)) = (won.first(), failed.first()) else {
        return false;
    };
    if tool != other {
        return false;
    }
    let (mut rest, mut left) = (&won[1..], &failed[1..]);
    if tool == "cargo" {
        let (Some(does), Some(did)) = (rest.first(), left.first()) else {
            return false;
        };
        let implied = CARGO_IMPLIES.iter().find(|(name, _)| name == does);
        let implied = implied.is_some_and(|(_, implied)| implied.contains(&did.as_str()));
        if !implied && does != did {
            return false;
        }
        (rest, left) = (&rest[1..], &left[1..]);
    } else if what(rest) != what(left) {
        return false;
    }
    let narrows = |word: &&String| !BROAD.contains(&word.as_str());
    let narrow: Vec<_> = rest.iter().filter(narrows).collect();
    let same = || {
        left.iter()
            .filter(narrows)
            .all(|word| narrow.contains(&word))
    };
    narrow.iter().all(|word| left.contains(word))
        && (tool == "cargo" || narrow.is_empty() || same())
}

/// Words in front of a program that change nothing about what it does.
const WRAPPERS: [&str; 13] = [
    "npx", "bunx", "sudo", "time", "env", "nice", "pnpm", "yarn", "bundle", "poetry", "uv", "exec",
    "run",
];
/// Options that leave out a part of what would run.
const NARROWING: [&str; 22] = [
    "-k",
    "-m",
    "-t",
    "-g",
    "-run",
    "--run",
    "--lib",
    "--bin",
    "--bins",
    "--doc",
    "--test",
    "--tests",
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
];

/// Programs that are told no verb: their words are what they work on.
const PLAIN: [&str; 14] = [
    "pytest", "jest", "vitest", "mocha", "mypy", "eslint", "tsc", "psql", "curl", "phpunit",
    "rspec", "make", "gcc", "node",
];

/// A command as a program, what it is told to do, and what it does that to.
#[derive(Default)]
struct Run<'a> {
    program: &'a str,
    verb: &'a str,
    targets: Vec<&'a str>,
    narrowing: Vec<&'a str>,
}

impl<'a> Run<'a> {
    fn new(command: &'a str) -> Self {
        let assigns = |word: &str| word.contains('=') && !word.starts_with('-');
        let mut words = command.split_whitespace().peekable();
        let mut program = "";
        for word in words.by_ref() {
            program = word.trim_start_matches("./");
            if !assigns(word) && !WRAPPERS.contains(&word) {
                break;
            }
        }
        let mut run = Self {
            program: program
                .strip_suffix('w')
                .filter(|name| matches!(*name, "gradle" | "mvn"))
                .unwrap_or(program),
            ..Self::default()
        };
        for word in words {
            let word = word.trim_matches(['"', '\'']);
            let bare = word.split('=').next().unwrap_or_default();
            let plain = word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            match word.strip_prefix('-') {
                Some(_) if NARROWING.contains(&bare) => run.narrowing.push(word),
                // A directory is a target also where it belongs to an option.
                Some(_) => run.targets.extend(
                    word.split_once('=')
                        .map(|(_, value)| value)
                        .filter(|value| value.contains('/')),
                ),
                None if plain && run.verb.is_empty() && !PLAIN.contains(&run.program) => {
                    run.verb = word;
                }
                None => run.targets.push(word),
            }
        }
        run
    }

    /// Returns true when this run did all that `other` did: the same to at least the same.
    fn covers(&self, other: &Self) -> bool {
        let narrowed = |option: &&str| other.narrowing.contains(option);
        let covered = |target: &&str| self.targets.iter().any(|own| contains_target(own, target));
        !self.program.is_empty()
            && self.program == other.program
            && self.verb == other.verb
            && !other.targets.is_empty()
            && other.targets.iter().all(covered)
            && self.narrowing.iter().all(narrowed)
            && (self.program != "cargo" || self.targets.len() <= other.targets.len())
    }
}

/// Returns true when a target is another one or a folder around it.
fn contains_target(own: &str, other: &str) -> bool {
    let bare = |target: &str| -> String {
        let target = target.trim_start_matches("./");
        target
            .trim_end_matches("...")
            .trim_end_matches('/')
            .to_owned()
    };
    let (around, within) = (bare(own), bare(other));
    let tree = own.ends_with("...") || !other.ends_with("...");
    let inside = |rest: &str| rest.is_empty() || rest.starts_with('/') || rest.starts_with("::");
    own == other
        || own == "./..."
        || (tree && !around.is_empty() && within.strip_prefix(&around).is_some_and(inside))
        || within
            .strip_suffix(&around)
            .is_some_and(|rest| rest.starts_with(':') && rest.ends_with(':'))
}

/// Returns what a tool is told to do, where its first word is neither an option nor a path.
fn what(words: &[String]) -> Option<&String> {
    let first = words.first()?;
    (!first.starts_with('-') && !first.contains(['/', '.'])).then_some(first)
}

/// Returns true when `command` checks the work: tests, builds, lints.
pub(super) fn is_check(command: &str) -> bool {
    command.split("&&").any(|part| {
        let first = part.split_whitespace().next().unwrap_or_default();
        let mut words = part.split(|c: char| !c.is_alphanumeric());
        !HANDLING.contains(&first) && words.any(|word| CHECKS.contains(&word))
    })
}

/// First words of commands that handle files or processes, whatever these are called.
const HANDLING: [&str; 20] = [
    "cd", "rm", "mkdir", "cp", "mv", "touch", "git", "echo", "kill", "sleep", "code", "open",
    "chmod", "ln", "curl", "cat", "ls", "grep", "rg", "find",
];
