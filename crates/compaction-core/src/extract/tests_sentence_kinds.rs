//! What is said counts in many words: decisions, steps, reports of failures, refusals.

use super::choices::choices;
use super::command::Command;
use super::refusals::refuses;
use super::reported_failures::{Teller, mends, reports};
use super::signals::{Known, Outcome, judge};
use super::speech::next_steps;
use super::subsumption::Subsumption;
use super::text::sentences;

/// Checks for each text whether a choice is found in it, kept as it was said.
fn check_choice(texts: &[&str], expected: bool) {
    for text in texts {
        let said = sentences(text);
        let found = choices(&said);
        assert_eq!(!found.is_empty(), expected, "{text}: {found:?}");
        for choice in found {
            assert!(text.contains(&*choice.sentence), "{text}: {choice:?}");
        }
    }
}

#[test]
fn decisions_with_reasons_are_told_in_many_words() {
    let told = [
        "We're sticking with Postgres: the team already operates it.",
        "I picked ring buffers, they never reallocate under load.",
        "Decided: we keep the old parser since the new one drops comments.",
        "Ended up choosing `mio` over `tokio`, as the binary must stay small.",
        "Going with a bitmap index. Main reason: the column has four values.",
        "ok, sqlite then. main thing for me: no server to run",
        "We moved to UUIDv7 because the old ids leaked the creation order.",
        "A flat file it is, nobody will ever query this by key.",
        "Wir nehmen gRPC, weil das Backend schon Protobuf spricht.",
        "Ich habe mich für einen Trie entschieden, da die Präfixe sich wiederholen.",
        "On garde le cache en mémoire parce que Redis n'est pas disponible ici.",
        "Nos quedamos con polling porque los webhooks se pierden detrás del proxy.",
        "我选择 LRU 缓存，因为访问集中在少数键上。",
    ];
    check_choice(&told, true);
}

#[test]
fn proposals_and_questions_are_no_decisions() {
    let told = [
        "We could go with Kafka because the others use it.",
        "I'll use a trie for it unless you object, since prefixes repeat.",
        "Shall we switch to yarn, because it is faster?",
        "I'd suggest a cron job, as it is simple.",
        "One option would be to use a queue because it decouples both.",
        "I read the file and looked at the tests, they are all short.",
    ];
    check_choice(&told, false);
}

#[test]
fn steps_are_left_in_many_words() {
    let left = [
        "Next up: wire the flag into the CLI.",
        "I'll squash the commits as soon as CI is green.",
        "What is left is the docs page for exports.",
        "Still missing: a test for empty input.",
        "Als Nächstes kommt der Export dran.",
        "Il reste à traduire les messages.",
        "Queda por migrar la tabla de pagos.",
        "接下来要补充测试。",
        "For tomorrow: the flaky login test.",
    ];
    for text in left {
        assert_eq!(next_steps(text).len(), 1, "{text}");
    }
    let nothing = [
        "All done, nothing left to do.",
        "I'll run it once more.",
        "The three callers pass the flag now.",
    ];
    for text in nothing {
        assert_eq!(next_steps(text).len(), 0, "{text}");
    }
    let list = "Everything compiles.\n\nStill to do:\n1. port the tests\n2. bump the version\n";
    assert_eq!(next_steps(list).len(), 2);
}

#[test]
fn reports_of_failures_name_what_fails() {
    let told = [
        "fyi `make lint` is red here: error: unused import",
        "I get this from `npm run build`: TypeError: x is not a function",
        "CI says fatal: could not read from remote repository (git fetch upstream)",
        "`./gradlew check` fails on main since yesterday",
    ];
    for text in told {
        let said = sentences(text);
        let found = reports(&said, Teller::User);
        assert_eq!(found.len(), 1, "{text}");
        assert!(!found[0].command.is_empty(), "{text}");
    }
    let no_reports = [
        "run `make lint` and tell me if it fails",
        "add an error: field to the response",
        "`make lint` no longer fails, thanks",
        "what does KeyError: 'x' mean?",
    ];
    for text in no_reports {
        assert_eq!(reports(&sentences(text), Teller::User).len(), 0, "{text}");
    }
    let left = sentences("The build of `viewer` still fails with E0432. The rest is fine.");
    assert_eq!(reports(&left, Teller::Answer).len(), 1);
    assert!(mends("The viewer build is green again."));
    assert!(!mends("It is not fixed."));
}

#[test]
fn refusals_are_no_rules() {
    for text in [
        "No, too slow.",
        "hm no. that is too much",
        "please take that out again",
        "lieber nicht, das ist zu groß",
        "I object, it leaks",
    ] {
        assert!(refuses(text), "{text}");
    }
    for text in [
        "no new dependencies please",
        "Don't log the contents of users.",
        "stop adding comments",
        "不要修改 a.rs，那是自动生成的。",
    ] {
        assert!(!refuses(text), "{text}");
    }
}

/// Checks whether the success of a command settles the failure of another.
fn check_settles(pairs: &[(&str, &str)], expected: bool) {
    for (won, failed) in pairs {
        let settles = Command::new(won).covers(&Command::new(failed)) == Subsumption::Surely;
        assert_eq!(settles, expected, "`{won}` after `{failed}`");
    }
}

#[test]
fn wider_runs_settle_narrower_ones() {
    let pairs = [
        ("cargo test --workspace", "cargo test -p core --lib"),
        ("cargo test -p core", "cargo test -p core --lib"),
        ("cargo test", "cargo test --lib spool"),
        ("go test ./...", "go test ./pkg/store/..."),
        ("go test -race ./pkg/store/...", "go test ./pkg/store/..."),
        ("pytest -x -v tests/api", "pytest -q tests/api"),
        (
            "pytest tests",
            "pytest -q tests/api/test_users.py::test_one",
        ),
        (
            "psql -v ON_ERROR_STOP=1 -f db/one.sql",
            "psql -f db/one.sql",
        ),
        ("npx tsc -p web/app", "npx tsc --noEmit -p web/app"),
        ("./gradlew assembleDebug", "./gradlew :app:assembleDebug"),
        (
            "curl -s https://a.example/up",
            "curl -fsS https://a.example/up",
        ),
    ];
    check_settles(&pairs, true);
    let pairs = [
        ("go test ./pkg/other/...", "go test ./pkg/store/..."),
        ("go test ./pkg", "go test ./pkg/store/..."),
        ("pytest -q tests/api -k users", "pytest -q tests/api"),
        ("psql -f db/two.sql", "psql -f db/one.sql"),
        (
            "terraform -chdir=infra/a plan",
            "terraform -chdir=infra/b plan",
        ),
        ("cargo test -p core one", "cargo test -p core"),
        ("npm run build", "npm run build:prod"),
        ("kubectl get pods", "kubectl apply -f k8s/app.yaml"),
    ];
    check_settles(&pairs, false);
}

#[test]
fn the_line_that_says_why_comes_first() {
    for (output, why) in [
        (
            "#7 resolve\nERROR: failed to solve: base: not found\nmake: *** [Makefile:3: image] Error 1",
            "ERROR: failed to solve: base: not found",
        ),
        (
            "> Task :app:compile FAILED\ne: Unresolved reference: Foo\n\nBUILD FAILED in 3s",
            "e: Unresolved reference: Foo",
        ),
        (
            "BEGIN\npsql:a.sql:3: ERROR:  relation \"x\" exists\nROLLBACK",
            "psql:a.sql:3: ERROR:  relation \"x\" exists",
        ),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: bad row\n1 failed",
            "ValueError: bad row",
        ),
        (
            "/usr/bin/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1 exit status",
            "/usr/bin/ld: a.o: undefined reference to `f'",
        ),
    ] {
        let Outcome::Failed { lines, .. } = judge(output, Known::Failed) else {
            panic!("{output} passed");
        };
        assert_eq!(lines.first().map(String::as_str), Some(why));
    }
    // Letters beyond ASCII have an upper case too.
    for why in ["ОШИБКА: нет файла", "Échec de la compilation", "ÉCHEC"] {
        let output = format!("{why}\n{}", "compiling\n".repeat(20));
        let Outcome::Failed { lines, .. } = judge(&output, Known::Failed) else {
            panic!("{output} passed");
        };
        assert_eq!(lines.first().map(String::as_str), Some(why));
    }
    let passed = "warning: 2\nERROR: retrying\nall 12 tests passed";
    assert_eq!(judge(passed, Known::Nothing), Outcome::Passed);
}

#[test]
fn a_command_is_the_same_however_it_is_spelt() {
    let pairs = [
        ("npm run lint --silent", "npm run lint"),
        ("npm test", "npm run test"),
        ("bash ./check.sh", "./check.sh"),
        ("sudo -E make image", "make image"),
        ("time pytest tests", "pytest tests"),
        ("FOO=1 timeout 60 make image", "make image"),
        ("make image 2>&1 | tail -n 20", "make image > log.txt"),
        ("cd web && npm test", "npm --prefix web test"),
        ("python -m pytest tests", ".venv/bin/pytest tests"),
        ("bash -lc 'cd web && npm test'", "cd ./web; npm test"),
    ];
    check_settles(&pairs, true);
}

#[test]
fn what_may_be_something_else_settles_nothing() {
    let pairs = [
        ("cargo test", "cargo test -p core --lib"),
        ("cargo test -p core --lib", "cargo test -p core"),
        ("make", "make image"),
        ("npm test", "cd web && npm test"),
        ("cd api && npm test", "cd web && npm test"),
        ("npm run build", "npm run build -- --mode production"),
        ("tsc", "tsc -p web"),
        ("curl https://a.example/", "curl https://a.example/up"),
    ];
    check_settles(&pairs, false);
}
