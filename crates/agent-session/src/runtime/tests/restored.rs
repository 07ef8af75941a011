//! What a compaction by `restore` brings back into a running session: files as they are now, and the newest images.

use std::os::unix::fs::symlink;
use std::process::Command as Process;

use insta::assert_snapshot;
use serde_json::json;
use session_model::Block;

use super::*;

/// The least picture that there is.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\
\x3a\x7e\x9b\x55\0\0\0\x0aIDATx\x9cc`\0\0\0\x02\0\x01\x48\xaf\xa4\x71\0\0\0\0IEND\xae\x42\x60\x82";

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000";

fn snapshots() -> String {
    summary("<state_snapshot><current_work>all of it</current_work></state_snapshot>").repeat(9)
}

fn harness(script: &[String], restore: Value) -> Harness {
    let script = [script.concat(), snapshots()].concat();
    let mut settings = json!({ "strategy": "restore" });
    settings["restore"] = restore;
    Harness::new(&script).compaction(settings)
}

fn read(path: &str) -> Value {
    json!({ "name": "read", "arguments": { "path": path } })
}

/// Returns the text of the newest request to the model.
fn asked(harness: &Harness) -> String {
    harness.asked.lock().unwrap().last().map(text_of).unwrap()
}

/// Returns how long the images of the newest request are, in their order.
fn images_asked(harness: &Harness) -> Vec<usize> {
    let asked = harness.asked.lock().unwrap();
    let messages = asked.last().unwrap().messages.iter();
    let blocks = messages.flat_map(|message| message.content().blocks());
    let images = blocks.filter_map(|block| match block {
        Block::Image(image) => Some(image.data.len()),
        _ => None,
    });
    images.collect()
}

/// Returns the kinds of the entries from the newest compaction on, and that entry.
fn since_compaction(path: &Path) -> (Vec<String>, Value) {
    let text = std::fs::read_to_string(path).unwrap();
    let entries = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let entries: Vec<Value> = entries.collect();
    let place = entries
        .iter()
        .rposition(|entry| entry["type"] == "compaction")
        .unwrap();
    let kinds = entries[place..]
        .iter()
        .map(|entry| entry["type"].as_str().unwrap().to_owned());
    (kinds.collect(), entries[place].clone())
}

#[test]
fn a_file_comes_back_as_it_is_now_and_says_so() {
    run(async {
        let script = [
            calls(json!([read("a.txt"), read("b.txt"), read("sub/c.txt")])),
            answer("read"),
            answer("it says new"),
        ];
        let harness = harness(&script, json!({}));
        std::fs::create_dir(harness.work().join("sub")).unwrap();
        harness.put("a.txt", "the old first line\nthe second line\n");
        harness.put("b.txt", "as it was\n");
        harness.put("sub/c.txt", "gone soon\n");
        let mut life = harness.open_session(LONG);
        life.ask("look").await;
        harness.put("a.txt", "the new first line\nthe second line\n");
        std::fs::remove_file(harness.work().join("sub/c.txt")).unwrap();
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual restore
        progress: brought back: 2 files (84, 1 changed since); left out: 1 file missing
        compacted restore by scripted/script
        ");
        let (kinds, compaction) = since_compaction(life.path());
        assert_eq!(kinds, ["compaction", "custom_message"]);
        assert_eq!(life.result().entry_id.as_deref(), compaction["id"].as_str());
        assert!(compaction["details"]["usage"].is_object());
        life.ask("what does a.txt say").await;
        let asked = asked(&harness);
        assert!(asked.contains("the new first line") && asked.contains("as it was"));
        assert!(asked.contains("-the old first line"), "{asked}");
        assert!(!asked.contains("gone soon"));
        life.close().await;
        // It waits for no answer when it is opened again.
        let mut life = harness.open(life.path.as_deref().unwrap());
        assert_eq!(life.command_and(Command::Resume).await, "");
        life.close().await;
    });
}

#[test]
fn nothing_waits_after_a_compaction_by_hand() {
    run(async {
        let harness = harness(&[calls(json!([read("a.txt")])), answer("read")], json!({}));
        harness.put("a.txt", "text of a\n");
        let mut life = harness.open_session(LONG);
        life.ask("look").await;
        life.command_and(compact()).await;
        let path = life.path().to_owned();
        life.close().await;
        assert_eq!(since_compaction(&path).0, ["compaction", "custom_message"]);
        let mut life = harness.open(&path);
        assert_eq!(life.command_and(Command::Resume).await, "");
        life.close().await;
    });
}

#[test]
fn five_rounds_with_pictures_are_compacted_in_their_middle() {
    run(async {
        let rounds = (1..=5).map(|round| {
            let look = read(&format!("shot{round}.png"));
            calls(match round {
                1 => json!([read("prices.csv"), look]),
                _ => json!([look]),
            })
        });
        let script: Vec<String> = rounds.chain([answer("seen"), answer("47")]).collect();
        let harness = harness(&script, json!({ "imageTriggerCount": 5 }));
        for round in 1..=5 {
            // What stands behind the picture tells one from another.
            let picture = [PNG, &vec![0; 3 * round]].concat();
            std::fs::write(harness.work().join(format!("shot{round}.png")), picture).unwrap();
        }
        harness.put("prices.csv", "page,price\n2,47\n");
        let mut life = harness.open_session(LONG);
        let told = life.ask("compare the five screens").await;
        assert_eq!(
            told.matches("auto-compaction image restore").count(),
            1,
            "{told}"
        );
        assert!(told.ends_with("turn done"), "{told}");
        assert_eq!(images_asked(&harness).len(), 3);
        assert!(images_asked(&harness).is_sorted(), "oldest first");
        let asked = asked(&harness);
        let places: Vec<_> = (1..=5)
            .map(|round| asked.find(&format!("shot{round}.png\"")))
            .collect();
        // The newest three with what they were asked by, oldest first.
        assert_eq!(places[..2], [None, None], "{asked}");
        assert!(places[2].is_some() && places[2] < places[3] && places[3] < places[4]);
        assert!(asked.contains("from the tool read called with {\"path\":\"shot5.png\"}"));
        // The prompt is there to the letter, though the summary does not say it.
        assert_eq!(
            asked.matches("compare the five screens").count(),
            1,
            "{asked}"
        );
        // What came back is no reason for another one, and holds what is asked next.
        let told = life.ask("which price is on page 2").await;
        assert!(!told.contains("auto-compaction"));
        assert!(self::asked(&harness).contains("\n2,47\n"));
        life.close().await;
    });
}

#[test]
fn what_became_of_a_file_meanwhile_leads_nowhere() {
    run(async {
        let names = ["linked", "piped", "inside/deep", "plain"];
        let script = [
            calls(names.map(read).to_vec().into()),
            answer("read"),
            answer("on"),
        ];
        let harness = harness(&script, json!({}));
        std::fs::create_dir(harness.work().join("inside")).unwrap();
        for name in names {
            harness.put(name, &format!("text of {name}\n"));
        }
        let outside = harness.folder.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("deep"), "hidden-away").unwrap();
        let mut life = harness.open_session(LONG);
        life.ask("look").await;
        for name in ["linked", "piped"] {
            std::fs::remove_file(harness.work().join(name)).unwrap();
        }
        symlink(outside.join("deep"), harness.work().join("linked")).unwrap();
        let made = Process::new("mkfifo")
            .arg(harness.work().join("piped"))
            .status();
        assert!(made.unwrap().success());
        std::fs::rename(harness.work().join("inside"), harness.work().join("aside")).unwrap();
        symlink(&outside, harness.work().join("inside")).unwrap();
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual restore
        progress: brought back: 1 file (25); left out: 1 file not readable; 2 files outside the workspace left alone
        compacted restore by scripted/script
        ");
        life.ask("go on").await;
        let asked = asked(&harness);
        assert!(asked.contains("text of plain"));
        assert!(!asked.contains("hidden-away") && !asked.contains("text of linked"));
        life.close().await;
    });
}

#[test]
fn what_overflows_gets_little_back_and_the_second_time_in_a_turn_nothing() {
    run(async {
        let script = [
            calls(json!([read("long.txt"), read("a.txt")])),
            error("context_overflow"),
            calls(json!([read("a.txt")])),
            error("context_overflow"),
            answer("it fits"),
        ];
        let harness = harness(&script, json!({}));
        harness.put("long.txt", &"a line of a file that is long\n".repeat(400));
        harness.put("a.txt", "text of a\n");
        let mut life = harness.open_session(LONG);
        assert_snapshot!(life.ask("look").await, @"
        user: look
        answer (tool_use):  +2
        tool read
        tool read
        answer (error):  context overflow: scripted/script: the script says context_overflow
        auto-compaction overflow restore
        progress: brought back: 1 file (26), 1 file only named
        auto-compacted restore by scripted/script, goes on
        answer (tool_use):  +1
        tool read
        answer (error):  context overflow: scripted/script: the script says context_overflow
        auto-compaction overflow restore
        auto-compacted restore by scripted/script, goes on
        answer (stop): it fits
        turn done
        ");
        life.close().await;
    });
}
