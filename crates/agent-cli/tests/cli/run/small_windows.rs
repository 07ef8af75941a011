//! A task of 41 steps in small windows: it ends, with few compactions, or one message says what takes the room.

use super::Runs;

const STEPS: usize = 41;
/// Without instructions, and with 32 kB of them.
const ROWS: [(usize, &[u64]); 3] = [
    (0, &[16_000, 19_400, 24_000, 32_000]),
    (32_000, &[16_000, 18_000, 19_200, 19_400, 20_000]),
    (32_000, &[20_480, 22_000, 24_000, 28_000, 32_000]),
];

/// Returns a folder with what the script reads: 40 lines in each file.
fn folder(instructions: usize) -> Runs {
    let runs = Runs::of(include_str!("forty_one_steps.jsonl"));
    for part in 0..STEPS - 1 {
        let line =
            |at| format!("part {part} holds value {at} behind its own reader and its tests\n");
        let text: String = (0..40).map(line).collect();
        runs.env.write(&format!("part-{part}.txt"), text);
    }
    let rules =
        (0..instructions / 40).map(|rule| format!("- Rule {rule:04}: modules keep their tests.\n"));
    runs.env.write("AGENTS.md", rules.collect::<String>());
    runs
}

/// Plays the script in a window; returns its row of the table.
fn row(window: u64, instructions: usize) -> String {
    let runs = folder(instructions);
    let window_text = window.to_string();
    let output = runs.play(&["-p", "read all parts", "--window", &window_text]);
    let session = runs.session();
    let name = session.strip_prefix(runs.env.folder()).expect("inside");
    let entries = runs.env.lines(name.to_str().expect("a path"));
    let compactions = entries
        .iter()
        .filter(|it| it["type"] == "compaction")
        .count();
    let answers = entries
        .iter()
        .filter_map(|it| it["message"]["usage"].as_object());
    let largest = answers.clone().map(|usage| {
        let count = |key: &str| usage.get(key).and_then(serde_json::Value::as_u64);
        count("input").unwrap_or_default() + count("cacheRead").unwrap_or_default()
    });
    assert!(
        largest.max() < Some(window),
        "{window}: a request overflows"
    );
    let code = output.code.unwrap_or_default();
    let steps = answers.count();
    let row = format!("{window:>6} {instructions:>6} {code:>3} {steps:>6} {compactions:>10}\n");
    assert_eq!((code, steps), (0, STEPS), "{row}{output}");
    assert!(compactions * 5 <= STEPS, "{row}");
    row
}

#[test]
fn a_task_of_41_steps_ends_in_small_windows_with_few_compactions() {
    let rows = |(instructions, windows): (usize, &[u64])| {
        let rows = windows.iter().map(|window| row(*window, instructions));
        rows.collect::<String>()
    };
    let tables = std::thread::scope(|scope| {
        let running = ROWS.map(|of| scope.spawn(move || rows(of)));
        running.map(|rows| rows.join().expect("rows"))
    });
    println!("window AGENTS code  steps compactions\n{}", tables.concat());
}

#[test]
fn one_message_says_what_takes_the_room() {
    let runs = folder(40_000);
    let output = runs.play(&["-p", "read all parts", "--window", "14000"]);
    let told = output
        .stderr
        .matches("instructions such as AGENTS.md")
        .count();
    assert_eq!(told, 1, "{output}");
    assert!(output.stderr.contains("instructions.maxBytes"), "{output}");
}
