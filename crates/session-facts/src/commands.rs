//! What programs are for: running tests, other checks of the work, looking, or anything else.

use crate::shell::{Joint, Program};

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandRole {
    /// It runs tests.
    Tests,
    /// It builds, checks types or lints.
    Checks,
    /// It looks at something: its failure blocks nothing.
    Looks,
    /// Anything else.
    Other,
}

/// Programs that run tests, and those that check the work in another way, whatever their arguments.
const TESTS: [&str; 18] = [
    "pytest",
    "py.test",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "rspec",
    "phpunit",
    "ctest",
    "tox",
    "nox",
    "playwright",
    "cypress",
    "bats",
    "minitest",
    "nose2",
    "karma",
    "prove",
];
const CHECKS: [&str; 29] = [
    "make",
    "just",
    "ninja",
    "cmake",
    "tsc",
    "eslint",
    "biome",
    "prettier",
    "mypy",
    "pyright",
    "ruff",
    "flake8",
    "pylint",
    "black",
    "isort",
    "rubocop",
    "shellcheck",
    "golangci-lint",
    "gcc",
    "g++",
    "clang",
    "rustc",
    "javac",
    "vite",
    "webpack",
    "esbuild",
    "rollup",
    "next",
    "stylelint",
];
/// Programs whose first argument says what they do: those of tests, and those of other checks.
const BY_ARGUMENT: [(&str, &[&str], &[&str]); 17] = [
    (
        "cargo",
        &["test", "t", "nextest", "xtask"],
        &["check", "c", "build", "b", "clippy", "fmt", "doc"],
    ),
    ("go", &["test"], &["build", "vet"]),
    ("npm", &["test", "t", "tst"], &["build", "ci"]),
    (
        "pnpm",
        &["test", "t"],
        &["build", "lint", "typecheck", "check"],
    ),
    ("yarn", &["test"], &["build", "lint", "typecheck", "check"]),
    ("bun", &["test"], &["build"]),
    ("deno", &["test"], &["check", "lint", "fmt"]),
    (
        "mvn",
        &["test", "verify"],
        &["compile", "package", "install"],
    ),
    ("gradle", &["test", "check"], &["build", "assemble"]),
    ("gradlew", &["test", "check"], &["build", "assemble"]),
    ("dotnet", &["test"], &["build"]),
    ("swift", &["test"], &["build"]),
    ("mix", &["test"], &["compile", "credo"]),
    ("zig", &["test"], &["build"]),
    ("mise", &["test"], &["build", "lint"]),
    ("task", &["test"], &["build", "lint"]),
    ("turbo", &["test"], &["build", "lint"]),
];
/// Words of a script's name (`npm run test:unit`) or a target (`make lint`) that say what it does.
const TEST_WORDS: [&str; 4] = ["test", "tests", "e2e", "spec"];
/// What only looks.
const LOOKS: [&str; 44] = [
    "grep",
    "egrep",
    "rg",
    "ag",
    "ack",
    "ls",
    "cat",
    "bat",
    "zcat",
    "man",
    "find",
    "fd",
    "head",
    "tail",
    "less",
    "more",
    "which",
    "type",
    "[",
    "test",
    "diff",
    "awk",
    "wc",
    "file",
    "stat",
    "tree",
    "pwd",
    "echo",
    "printf",
    "ps",
    "pgrep",
    "journalctl",
    "dmesg",
    "history",
    "sort",
    "uniq",
    "cut",
    "tr",
    "jq",
    "column",
    "true",
    "false",
    "exit",
    "sleep",
];
const GIT_LOOKS: [&str; 12] = [
    "grep",
    "log",
    "show",
    "diff",
    "status",
    "blame",
    "ls-files",
    "branch",
    "rev-parse",
    "remote",
    "ls-remote",
    "fetch",
];
const CLOUD_LOOKS: [&str; 9] = [
    "logs", "ps", "inspect", "describe", "view", "list", "checks", "diff", "get",
];

/// Returns what a program is for.
pub(crate) fn role_of(program: &Program) -> CommandRole {
    let name = program.name();
    let first = program.subcommand().unwrap_or_default();
    if name.starts_with("python") {
        return of_module(program);
    }
    if let Some((_, tests, checks)) = BY_ARGUMENT.iter().find(|(known, _, _)| *known == name) {
        let script = match first {
            "run" | "run-script" if name != "cargo" && name != "go" => {
                program.arguments().skip_while(|it| *it != first).nth(1)
            }
            _ => None,
        };
        return match script {
            Some(script) if names_tests(script) => CommandRole::Tests,
            Some(_) => CommandRole::Checks,
            None if tests.contains(&first) => CommandRole::Tests,
            None if checks.contains(&first) => CommandRole::Checks,
            None => CommandRole::Other,
        };
    }
    let looks = match name {
        "git" => GIT_LOOKS.contains(&first),
        "docker" | "kubectl" | "podman" | "gh" => {
            program.arguments().any(|it| CLOUD_LOOKS.contains(&it))
        }
        "sed" | "perl" => !program
            .arguments()
            .any(|it| it.starts_with("-i") || it.starts_with("-pi")),
        "tee" => program.joint == Joint::Pipe,
        name => LOOKS.contains(&name),
    };
    if looks {
        CommandRole::Looks
    } else if TESTS.contains(&name) || matches!(name, "make" | "just") && names_tests(first) {
        CommandRole::Tests
    } else if CHECKS.contains(&name) {
        CommandRole::Checks
    } else {
        CommandRole::Other
    }
}

fn names_tests(name: &str) -> bool {
    name.split(|c: char| !c.is_alphanumeric())
        .any(|word| TEST_WORDS.contains(&word))
}

/// Returns what `python -m MODULE` is for.
fn of_module(program: &Program) -> CommandRole {
    let module = program
        .arguments()
        .skip_while(|it| *it != "-m")
        .nth(1)
        .unwrap_or_default();
    if TESTS.contains(&module) || module == "unittest" {
        CommandRole::Tests
    } else if CHECKS.contains(&module) {
        CommandRole::Checks
    } else {
        CommandRole::Other
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandRole, role_of};
    use crate::shell::programs;

    #[test]
    fn programs_are_known_by_name_and_first_argument() {
        use CommandRole::{Checks, Looks, Other, Tests};
        for (command, want) in [
            ("cargo test -p a", Tests),
            ("cargo +nightly clippy", Checks),
            ("cargo run test", Other),
            ("npm run test:unit", Tests),
            ("npm run build", Checks),
            ("npx vitest run", Tests),
            ("python3 -m pytest -q", Tests),
            ("python x.py test", Other),
            ("make e2e", Tests),
            ("make -j4", Checks),
            ("git -C x log", Looks),
            ("git push", Other),
            ("sed -n 1p a", Looks),
            ("sed -i s/a/b/ a", Other),
            ("test -f a", Looks),
        ] {
            assert_eq!(role_of(&programs(command)[0]), want, "{command}");
        }
    }
}
