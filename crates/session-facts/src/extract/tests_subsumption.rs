//! Which success settles which failure: runs that look alike and do less, elsewhere, or something else.

use super::command::{Command, hides_its_end};
use super::subsumption::Subsumption;
use super::tool_effects::show_command;

/// Checks what the success of a command says of the failure of another.
#[track_caller]
fn check(expected: Subsumption, pairs: &[(&str, &str)]) {
    for (won, failed) in pairs {
        let cover = Command::new(won).covers(&Command::new(failed));
        assert_eq!(cover, expected, "`{won}` after `{failed}`");
    }
}

#[test]
fn what_cargo_passes_on_counts() {
    let less = [
        ("cargo test", "cargo test -- --ignored"),
        ("cargo test -- --skip slow", "cargo test"),
        ("cargo test one -- --exact", "cargo test one"),
        ("cargo test one -- --exact", "cargo test one::two"),
        ("cargo clippy", "cargo clippy -- -D warnings"),
        ("cargo run", "cargo run -- in.txt"),
        ("cargo xtask", "cargo xtask ci"),
        ("cargo run -- --help", "cargo run"),
        ("cargo test -p a", "cargo test -p b"),
        ("cargo test", "cargo test --workspace --exclude big"),
        ("cargo test --workspace --exclude a", "cargo test -p a"),
        (
            "cargo test --workspace --exclude a",
            "cargo test --workspace",
        ),
    ];
    check(Subsumption::Not, &less);
    let may = [
        ("cargo test --all-targets", "cargo test"),
        ("cargo test", "cargo test --all-targets"),
        ("cargo test --all-targets", "cargo test --doc"),
    ];
    check(Subsumption::Perhaps, &may);
    let all = [
        ("cargo test -- --include-ignored", "cargo test -- --ignored"),
        ("cargo test -- --test-threads=1", "cargo test one"),
        ("cargo test -- --test-threads 1", "cargo test"),
        ("cargo test one -- --exact", "cargo test one -- --exact"),
        (
            "cargo clippy --all-targets -- -D warnings",
            "cargo clippy --all-targets",
        ),
        (
            "cargo test --workspace",
            "cargo test --workspace --exclude big",
        ),
        ("cargo test --workspace --exclude big", "cargo test -p a"),
        ("cargo test", "cargo build"),
        ("cargo fmt --all", "cargo fmt --all"),
    ];
    check(Subsumption::Surely, &all);
}

#[test]
fn a_folder_takes_in_what_is_below_for_programs_that_go_there() {
    let others = [
        ("docker build .", "docker build ./api"),
        ("mkdir a", "mkdir a/b"),
        ("tsc -p web", "tsc -p web/app"),
        ("pytest tests/a", "pytest tests/b"),
        ("pytest tests/a", "pytest tests/ab"),
        ("git commit -m two", "git commit -m one"),
    ];
    check(Subsumption::Not, &others);
    check(
        Subsumption::Surely,
        &[("ruff check .", "ruff check src/a.py")],
    );
}

#[test]
fn options_that_nobody_knows_may_make_another_run() {
    let may = [
        ("make test TESTS=one", "make test"),
        ("make -f other.mk test", "make test"),
        ("python train.py --fast", "python train.py"),
        ("./deploy.sh prod --preview", "./deploy.sh prod"),
        ("make", "make test"),
        ("npm run deploy", "npm run deploy -- --env prod"),
    ];
    check(Subsumption::Perhaps, &may);
    check(
        Subsumption::Surely,
        &[("npm test", "npm test -- one.test.js")],
    );
    check(Subsumption::Not, &[("make test", "make test TESTS=one")]);
}

#[test]
fn a_folder_ends_with_its_shell() {
    let other = [
        (
            "(cd web && npm run build) && npm test",
            "cd web && npm test",
        ),
        (
            "pushd web && make && popd && npm test",
            "cd web && npm test",
        ),
        ("(cd a && ./x.sh)", "(cd b && ./x.sh)"),
    ];
    check(Subsumption::Not, &other);
    let same = [
        ("(cd a && make) && (cd b && npm test)", "cd b && npm test"),
        ("(cd a && npm test)", "cd a && npm test"),
        ("((cd a); npm test)) ; )(", "npm test"),
    ];
    check(Subsumption::Surely, &same);
}

#[test]
fn a_later_line_hides_how_an_earlier_one_ended() {
    for (script, shown, hides) in [
        ("make test\necho done", "make test; echo done", true),
        ("make test;echo done", "make test;echo done", true),
        (
            "\r\ncd web &&\r\n  make test\r\n",
            "cd web && make test",
            false,
        ),
        ("make \\\n  test", "make test", false),
        (
            "git commit -m 'one\n\ntwo'",
            "git commit -m 'one two'",
            false,
        ),
        ("make test;", "make test;", false),
        ("! make test", "! make test", true),
        ("make a & make b", "make a & make b", true),
        ("cat <<EOF\na\nEOF", "cat <<EOF a EOF", false),
    ] {
        assert_eq!(show_command(script), shown);
        assert_eq!(hides_its_end(shown), hides, "{shown}");
    }
}

#[test]
fn what_runs_others_says_which() {
    let covers = |printed, failed| {
        let failed = Command::new(failed);
        let mut won = Command::new("make ci");
        won.read_output(printed, &failed.program().into_iter().collect());
        won.covers(&failed)
    };
    let printed = "> app@1.0.0 ci\n> cargo fmt --check\ncargo test --workspace\nok";
    assert_eq!(covers(printed, "cargo fmt --check"), Subsumption::Surely);
    assert_eq!(covers(printed, "cargo test -p app"), Subsumption::Surely);
    assert_eq!(covers(printed, "cargo clippy"), Subsumption::Not);
    let other = "cargo fmt --check -p a\nok";
    assert_eq!(covers(other, "cargo fmt --check"), Subsumption::Not);
    let remark = "nox > pytest -q\nnox > Session tests-3.12 was successful.";
    assert_eq!(covers(remark, "nox -s tests-3.13"), Subsumption::Not);
}

#[test]
fn what_failed_before_is_run_again_and_what_runs_was_built() {
    let same = [
        ("pytest --lf", "pytest"),
        ("mix test --failed", "mix test"),
        ("terraform init -upgrade", "terraform init"),
        ("swift test", "swift build"),
        ("go test ./...", "go build ./..."),
    ];
    check(Subsumption::Surely, &same);
    let less = [
        ("go test ./a", "go build ./..."),
        ("go test ./...", "go vet ./..."),
        ("swift build", "swift test"),
        ("dotnet test --no-build", "dotnet build"),
    ];
    check(Subsumption::Not, &less);
}
