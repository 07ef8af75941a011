//! Chapter 1: the request, the reading of the code, the plan.

use super::script::{
    Call, Out, Step, act, breaks, cargo_test, read, read_at, rg, say, sh, sh_fail, todo, user,
    user_blocks,
};

/// The steps of this chapter.
pub fn steps() -> Vec<Step> {
    let mut steps = request();
    steps.extend(plan());
    steps
}

fn request() -> Vec<Step> {
    vec![
        Step::Model("anthropic", "claude-sonnet-4-5"),
        Step::Thinking("medium"),
        user(
            "logferryd loses records whenever the collector pushes back. Last night it was 11,482 records in 40 minutes, all on 429 and 503 answers. I want the retry, config and parse code reworked so that this cannot happen, in small steps that I can review. Never touch the public API in src/lib.rs (Shipper, ShipperBuilder, Snapshot): two other teams link against it. Don't add dependencies, not even dev-dependencies. Start by reading the code and tell me where records get lost. tests/collector.rs has a failing test that shows part of it.",
            &[
                "Never touch the public API in src/lib.rs (Shipper, ShipperBuilder, Snapshot): two other teams link against it.",
                "Don't add dependencies, not even dev-dependencies.",
            ],
        ),
        breaks(
            "delivers_after_a_429",
            "tests/collector.rs:103:5",
            "assertion `left == right` failed\n  left: 1\n right: 0",
        ),
        act(
            "The user wants an analysis before any change. I should look at the layout and the project notes first, then at the output path, because that is where 429 and 503 are handled.",
            "I'll look at the layout and the project's notes first.",
            vec![
                Call::Ls(".".into()),
                read("AGENTS.md"),
                Call::Find(".rs".into(), "src".into()),
            ],
        ),
        act(
            "",
            "",
            vec![read("src/output/http.rs"), read("src/output/retry.rs")],
        ),
        act(
            "retry.rs: worth_retrying is only true for status >= 500, so 429 is final on the first answer. And http.rs::send counts Error::Http as dropped and returns Ok. So both 429 (immediately) and 503 (after 3 retries with a fixed 1000 ms pause) lose the batch. Let me see who calls send and what happens to an Err.",
            "`worth_retrying` treats 429 as final, and `send` forgets a batch once the retries are used up. Now the caller.",
            vec![
                read("src/pipeline/batch.rs"),
                rg("dropped|retries|retry_delay", "src"),
            ],
        ),
        act(
            "",
            "",
            vec![
                read("src/lib.rs"),
                read("src/error.rs"),
                read("src/metrics.rs"),
            ],
        ),
        act(
            "",
            "The failing test, then the whole suite to know the starting point.",
            vec![read("tests/collector.rs"), cargo_test("")],
        ),
        act(
            "The batch thread sends synchronously: while one route waits in sleep(delay), every other route waits too, the channel of 4096 fills, and the tails block. That is not loss, but with rotation it becomes loss: reopen_if_moved clears `pending` and jumps to the new inode without reading the rest of the old one.",
            "Rotation matters as well when the tail blocks, so the input side next.",
            vec![read("src/input/tail.rs"), read("src/input/checkpoint.rs")],
        ),
        act(
            "",
            "",
            vec![read("src/config/mod.rs"), read("src/config/env.rs")],
        ),
        act(
            "",
            "",
            vec![
                read("src/parse/mod.rs"),
                read("src/parse/multiline.rs"),
                read("src/parse/logfmt.rs"),
            ],
        ),
        act(
            "",
            "One look at what the daemon logged during the incident.",
            vec![Call::Bash(
                "head -n 120 /home/dev/logferry/incident/logferryd.log".into(),
                Out::DaemonLog(41, 120),
            )],
        ),
        say(
            "Five places. Order them by how many records each can lose.",
            "Records get lost in five places:\n\n1. `output/retry.rs`: `worth_retrying` is true from status 500 on only, so a 429 is final at once. This is what `delivers_after_a_429` shows.\n2. `output/http.rs`: after 3 retries, 1,000 ms apart, `send` counts the batch as dropped and goes on. A collector that is away for 4 seconds costs every batch sealed in that time.\n3. `input/tail.rs`: `reopen_if_moved` clears `pending` and switches to the new inode without reading the rest of the old file. While the pipeline is blocked by a retry the tail falls behind, and a rotation then skips what was not read yet.\n4. `input/checkpoint.rs`: `fs::write` is not atomic. A crash in the middle leaves half a JSON file, `unwrap_or_default` turns that into \"no positions\", and with `from_start = false` everything since is skipped.\n5. `parse/multiline.rs`: the last record of a quiet file stays in `current` for ever, because only the next line completes it.\n\nTwo more things make 1 and 2 worse: one thread sends for all routes, so one slow route stops the rest; and `retries` / `retry_delay_ms` are read with `unwrap_or`, so a typo such as `retries = \"five\"` silently becomes 3.",
        ),
        Step::Name("logferry: no lost records"),
        Step::Label("analysis"),
    ]
}

fn plan() -> Vec<Step> {
    vec![
        Step::Pause(6),
        user_blocks(
            &[
                "Good list, that matches what I see in the graphs. Make a plan in this order: config first (so that typos are errors), then retry, then parse, then tail and checkpoint.",
                "Limits for the retry part: at most 5 attempts, first pause 200 ms, cap 30 s, Retry-After wins when it is longer. Always run the whole test suite before you commit. Please keep every commit to one concern, with the subject form from AGENTS.md.",
            ],
            &[
                "Always run the whole test suite before you commit.",
                "Please keep every commit to one concern, with the subject form from AGENTS.md.",
            ],
        ),
        act(
            "Write down the plan as todos with the numbers so that they don't get lost: 5 attempts, 200 ms, 30 s.",
            "",
            vec![
                todo(&[
                    "> config: typed sections, unknown keys and wrong types are errors",
                    "- retry: 5 attempts, 200 ms first pause, 30 s cap, Retry-After wins when longer",
                    "- retry: 429 and 503 never drop a batch",
                    "- parse: flush the last multi-line record of a quiet file",
                    "- parse: escapes in logfmt",
                    "- tail: read the old inode to its end before switching",
                    "- checkpoint: atomic write",
                    "- docs/configuration.md follows the code",
                ]),
                sh(
                    "git switch -c retry-rework && git status --short",
                    "Switched to a new branch 'retry-rework'",
                ),
                rg("unwrap_or\\(", "src/config"),
            ],
        ),
        Step::TodoEntry(vec![
            ("config: typed sections", "in_progress"),
            ("retry: back-off with Retry-After", "pending"),
            ("parse: flush on idle", "pending"),
            ("tail and checkpoint", "pending"),
        ]),
        act(
            "serde is already a dependency with derive, toml 0.8 can deserialize into structs with deny_unknown_fields. That gives positions in error messages for free. But the env overrides work on toml::Value, so: parse text to Value, apply env, then Value::try_into::<RawConfig>(). With try_into the error loses the line number but has the key path... check that.",
            "Before I plan the config part in detail: does `toml` 0.8 report the key when a `Value` is converted with `try_into`?",
            vec![
                sh(
                    "cargo tree --offline --depth 1",
                    "logferry v0.9.4 (/home/dev/logferry)\n├── flate2 v1.0.28\n├── serde v1.0.197\n├── serde_json v1.0.114\n├── toml v0.8.10\n└── ureq v2.9.6\n[dev-dependencies]\n├── criterion v0.5.1\n└── tempfile v3.10.1",
                ),
                sh_fail(
                    "cd /tmp && cat try.toml && logferry-try try.toml",
                    "[output]\nurl = \"http://127.0.0.1:9/\"\nretries = \"five\"\nbash: line 1: logferry-try: command not found",
                    127,
                ),
            ],
        ),
        act(
            "",
            "No such helper here; the crate's own source answers it.",
            vec![
                sh(
                    "rg -n 'fn add_key|fn set_span|impl fmt::Display for Error' ~/.cargo/registry/src/*/toml-0.8.10/src/de.rs",
                    "41:    pub(crate) fn add_key(&mut self, key: String) {\n73:    pub(crate) fn set_span(&mut self, span: Option<std::ops::Range<usize>>) {\n80:impl std::fmt::Display for Error {",
                ),
                read_at("src/config/mod.rs", 60, 50),
            ],
        ),
        say(
            "",
            "Plan:\n\n**Config.** Parse the file to `toml::Value`, apply the environment, then convert into `Raw*` structs with `serde(deny_unknown_fields)`. I'll use serde rather than more hand-written getters because serde is a dependency already and reports the key of a wrong type; the hand-written `number()` and `flag()` swallow it. `Config` itself stays opaque, so the public API is not touched.\n\n**Retry.** A `Backoff` value (attempts 5, first 200 ms, factor 2, cap 30 s, full jitter) that is asked for the next pause; `Retry-After` is carried in the error and wins when longer.\n\n**Parse.** `Joiner::flush_idle(now)`, called by the tail when a read returns nothing; escapes in logfmt.\n\n**Tail and checkpoint.** Drain the old inode before the switch; write positions to a temporary file, `fsync`, rename.\n\nEach is one or more commits with tests first. I start with the config.",
        ),
        Step::Label("plan"),
    ]
}
