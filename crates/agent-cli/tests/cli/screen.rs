//! What people see: sizes that come from the session's model, and lines that fit the screen.

use serde_json::json;

use crate::env::TestEnv;

/// Returns a place with a session whose model the catalog lists with a window of a million tokens.
fn of_a_listed_model() -> TestEnv {
    of_model("claude-haiku-5-5")
}

fn of_model(id: &str) -> TestEnv {
    let env = TestEnv::sample();
    let leaf = env.lines("s.jsonl").last().map(|line| line["id"].clone());
    let mut text = String::from_utf8(env.read("s.jsonl")).expect("text");
    let set = json!({"type": "model_change", "id": "m1", "parentId": leaf, "timestamp": "2026-01-01T00:00:00.000Z", "provider": "anthropic", "modelId": id});
    text.push_str(&format!("{set}\n"));
    env.write("s.jsonl", text);
    env
}

#[test]
fn window_is_that_of_the_session_model_unless_given() {
    let env = of_a_listed_model();
    let inspect = env.json(&["inspect", "s.jsonl"]);
    assert_eq!(inspect["context"]["window"], 1_000_000);
    let long = of_model("claude-of-tomorrow[1m]").json(&["inspect", "s.jsonl"]);
    assert_eq!(long["context"]["window"], 1_000_000);
    let given = env.json(&["inspect", "s.jsonl", "--window", "50000"]);
    assert_eq!(given["context"]["window"], 50_000);
    let threshold = inspect["context"]["threshold"].clone();
    let plan = env.json(&[
        "plan",
        "s.jsonl",
        "--set",
        "compaction.keepRecentTokens=1000",
    ]);
    assert_eq!(plan["threshold"], threshold);
    let compact = [
        "compact",
        "s.jsonl",
        "--dry-run",
        "--set",
        "compaction.keepRecentTokens=1000",
    ];
    assert_eq!(env.json(&compact)["threshold"], threshold);
    let card = env.run(&compact).stdout;
    assert!(card.contains("of 1.0M window"), "{card}");
}

#[test]
fn every_line_of_inspect_and_compact_fits_80_columns() {
    let env = TestEnv::new();
    let file = |place: usize| format!("crates/a-rather-long-name/src/module/number/{place}/mod.rs");
    let mut notation = String::from("u:40");
    for place in 0..6 {
        let write = format!(" write:c{place}:/project/{} res:c{place}:20", file(place));
        notation.push_str(&write);
    }
    env.session("s.jsonl", &format!("{notation} u:10 a:10"));
    for arguments in [
        &["inspect", "s.jsonl"][..],
        &[
            "compact",
            "s.jsonl",
            "--dry-run",
            "--set",
            "compaction.keepRecentTokens=1",
        ],
    ] {
        // The time of the run is of any length.
        let shown = env.run(arguments).stdout.replace("[TIME]", "1 s");
        let long: Vec<&str> = shown
            .lines()
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(long.is_empty(), "{long:#?}");
    }
    let shown = env.run(&["inspect", "s.jsonl"]).stdout;
    for place in 0..6 {
        assert!(
            shown.contains(&format!("changed  {}", file(place))),
            "{shown}"
        );
    }
}
