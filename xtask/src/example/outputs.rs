//! Outputs of commands that are computed: test runs over the working tree, daemon logs, access logs, benchmarks.

use std::collections::BTreeMap;

use super::rng::{Rng, iso};
use super::vfs::Vfs;

/// Tests that fail at present: full name to (place, message).
pub type Failing = BTreeMap<String, (String, String)>;

/// `cargo test`: every `#[test]` found in the tree, the failing ones with their message. Returns output and exit code.
pub fn cargo_test(tree: &Vfs, failing: &Failing, filter: &str, seed: u64) -> (String, i32) {
    let mut rng = Rng::new(seed);
    let mut out = format!(
        "   Compiling logferry v0.9.4 (/home/dev/logferry)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in {}.{:02}s\n",
        rng.range(3, 11),
        rng.range(0, 99)
    );
    let mut suites: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in tree.paths().filter(|p| p.ends_with(".rs")) {
        let (suite, module) = match path.strip_prefix("tests/") {
            Some(name) => (
                format!(
                    "tests/{name} (target/debug/deps/{}",
                    name.trim_end_matches(".rs")
                ),
                String::new(),
            ),
            None => (
                "unittests src/lib.rs (target/debug/deps/logferry".to_string(),
                module_of(path),
            ),
        };
        let names = test_names(tree.get(path).unwrap_or_default());
        suites
            .entry(suite)
            .or_default()
            .extend(names.iter().map(|n| format!("{module}{n}")));
    }
    let mut order: Vec<_> = suites.into_iter().collect();
    order.sort_by_key(|(suite, _)| !suite.starts_with("unittests"));
    for (suite, mut names) in order {
        names.sort();
        let all = names.len();
        names.retain(|n| n.contains(filter));
        let build = Rng::new(suite.len() as u64 * 77).next();
        out.push_str(&format!("     Running {suite}-{build:016x})\n\n"));
        out.push_str(&format!("running {} tests\n", names.len()));
        let bad: Vec<&String> = names
            .iter()
            .filter(|n| failing.contains_key(n.as_str()))
            .collect();
        for name in &names {
            let state = if bad.contains(&name) { "FAILED" } else { "ok" };
            out.push_str(&format!("test {name} ... {state}\n"));
        }
        if !bad.is_empty() {
            out.push_str("\nfailures:\n\n");
            for name in &bad {
                let (place, message) = &failing[name.as_str()];
                out.push_str(&format!(
                    "---- {name} stdout ----\n\nthread '{name}' panicked at {place}:\n{message}\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n"
                ));
            }
            out.push_str("\nfailures:\n");
            for name in &bad {
                out.push_str(&format!("    {name}\n"));
            }
        }
        out.push_str(&format!(
            "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; finished in {}.{:02}s\n\n",
            if bad.is_empty() { "ok" } else { "FAILED" },
            names.len() - bad.len(),
            bad.len(),
            all - names.len(),
            rng.range(0, 2),
            rng.range(1, 99)
        ));
        if !bad.is_empty() {
            let target = match suite.strip_prefix("tests/") {
                Some(s) => format!("--test {}", s.split(".rs").next().unwrap_or(s)),
                None => "--lib".to_string(),
            };
            out.push_str(&format!("error: test failed, to rerun pass `{target}`\n"));
            return (out, 101);
        }
    }
    (out, 0)
}

fn module_of(path: &str) -> String {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let inner = inner.trim_end_matches("/mod");
    if matches!(inner, "lib" | "main") {
        return "tests::".to_string();
    }
    format!("{}::tests::", inner.replace('/', "::"))
}

fn test_names(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines
        .windows(2)
        .filter(|w| w[0] == "#[test]")
        .filter_map(|w| w[1].strip_prefix("fn "))
        .filter_map(|rest| rest.split('(').next())
        .map(str::to_string)
        .collect()
}

/// Lines of the daemon's log around a collector that pushes back.
pub fn daemon_log(seed: u64, lines: usize) -> String {
    let mut rng = Rng::new(seed);
    let mut at = 1_773_090_000_000 + rng.range(0, 3_000_000);
    let mut out = Vec::new();
    let files = [
        "/var/log/app/orders.log",
        "/var/log/app/billing.log",
        "/var/log/nginx/access.log",
        "/var/log/app/search.log",
        "/var/log/postgres/main.log",
    ];
    let routes = ["default", "audit", "metrics", "slow"];
    for n in 0..lines {
        at += rng.range(3, 1900);
        let (file, route) = (rng.pick(&files), rng.pick(&routes));
        let line = match rng.range(0, 9) {
            0 => format!(
                "INFO  input::tail: rotated file={file} old_inode={} new_inode={} carried_bytes={}",
                rng.range(400_000, 900_000),
                rng.range(400_000, 900_000),
                rng.range(0, 4000)
            ),
            1 => format!(
                "DEBUG pipeline::batch: sealed route={route} records={} bytes={} age_ms={}",
                rng.range(40, 900),
                rng.range(9000, 524_000),
                rng.range(20, 2000)
            ),
            2 => format!(
                "WARN  output::http: status=429 route={route} retry_after_s={} batch={:08x}",
                rng.range(1, 30),
                rng.next() as u32
            ),
            3 => format!(
                "WARN  output::retry: attempt={} delay_ms={} batch={:08x} cause=\"connection reset by peer\"",
                rng.range(1, 5),
                rng.range(100, 30_000),
                rng.next() as u32
            ),
            4 => format!(
                "INFO  output::http: status=202 route={route} batch={:08x} bytes={} took_ms={}",
                rng.next() as u32,
                rng.range(9000, 524_000),
                rng.range(8, 480)
            ),
            5 => format!(
                "DEBUG input::checkpoint: saved entries={} took_us={}",
                rng.range(3, 60),
                rng.range(90, 4200)
            ),
            6 => format!(
                "WARN  parse::logfmt: unbalanced quote file={file} line_offset={} kept_raw=true",
                rng.range(1000, 90_000_000)
            ),
            7 => format!(
                "DEBUG parse::multiline: joined lines={} bytes={} idle_ms={}",
                rng.range(2, 60),
                rng.range(200, 14_000),
                rng.range(0, 900)
            ),
            8 => format!(
                "ERROR output::http: status=503 route={route} batch={:08x} gave_up_after={} lost_records={}",
                rng.next() as u32,
                rng.range(3, 5),
                rng.range(1, 900)
            ),
            _ => format!(
                "DEBUG metrics: tick={n} queue_bytes={} inflight={} dropped_total={}",
                rng.range(0, 9_000_000),
                rng.range(0, 16),
                rng.range(0, 40)
            ),
        };
        out.push(format!("{} {line}", iso(at)));
    }
    out.join("\n")
}

/// Access log of the test collector.
pub fn access_log(seed: u64, lines: usize) -> String {
    let mut rng = Rng::new(seed);
    let mut at = 1_773_091_000_000;
    let mut out = Vec::new();
    for _ in 0..lines {
        at += rng.range(1, 700);
        let status = rng.pick(&["202", "202", "202", "429", "503", "413"]);
        let tail = match status {
            "429" => format!("retry-after={}", rng.range(1, 45)),
            "413" => format!("limit=524288 got={}", rng.range(524_289, 1_900_000)),
            _ => format!("records={}", rng.range(1, 900)),
        };
        out.push(format!(
            "{} POST /v1/ingest/{} {status} {}B {}us key={:016x} {tail}",
            iso(at),
            rng.pick(&["default", "audit", "metrics", "slow"]),
            rng.range(800, 524_288),
            rng.range(300, 90_000),
            rng.next()
        ));
    }
    out.join("\n")
}

/// A table of micro-benchmarks.
pub fn bench(seed: u64, rows: usize) -> String {
    let mut rng = Rng::new(seed);
    let mut out = vec![
        "     Running benches/parse.rs (target/release/deps/parse-5d0c1f0e9b7a2c44)".to_string(),
    ];
    let names = [
        "logfmt/short",
        "logfmt/quoted",
        "logfmt/escapes",
        "json/flat",
        "json/nested",
        "syslog/rfc3164",
        "syslog/rfc5424",
        "multiline/java",
        "multiline/python",
        "batch/seal_512KiB",
        "batch/seal_1MiB",
        "retry/jitter",
        "checkpoint/save_64",
        "route/8_rules",
    ];
    for i in 0..rows {
        let mean = rng.range(180, 96_000);
        out.push(format!(
            "{:<22} time: [{} ns {} ns {} ns]   thrpt: [{}.{} MiB/s]   outliers: {} of 100",
            names[i % names.len()],
            mean - mean / 50,
            mean,
            mean + mean / 40,
            rng.range(40, 900),
            rng.range(0, 9),
            rng.range(0, 11)
        ));
    }
    out.join("\n")
}
