//! Checks of the example script: its calls can be carried out, its events are there, and the project ends up tidy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use compaction_core::Profile;
use serde_json::Value;

use super::play::{Tree, changes_files, parts};
use super::script::{Call, Line, Stop, User, edit, read, read_at, sh, write};
use super::{project, refactor_script, told};

/// The largest result, in tokens.
const LARGEST: u64 = 3000;

fn tokens(text: &str) -> u64 {
    Profile::Own.counter().text(text).0
}

fn calls(line: &Line) -> &[Call] {
    match line {
        Line::Answer { calls, .. } => calls,
        Line::Overflow(_) | Line::User(_) | Line::Comment(_) => &[],
    }
}

/// Plays the lines one by one and shows each call with the project before it.
fn watch(lines: &[Line], mut see: impl FnMut(&Tree, &Call)) -> Tree {
    let mut tree = project().unwrap();
    for line in lines {
        for call in calls(line) {
            see(&tree, call);
            tree.call(call).unwrap();
        }
    }
    tree
}

fn public_functions(tree: &Tree) -> BTreeSet<String> {
    let lines = tree.files().values().flat_map(|text| text.lines());
    let names = lines.filter_map(|line| line.trim_start().strip_prefix("pub fn "));
    let name = |rest: &str| rest.split(['(', '<']).next().map(str::to_owned);
    names.filter_map(name).collect()
}

fn position(lines: &[Line], wanted: impl Fn(&Line) -> bool) -> usize {
    let found: Vec<usize> = (0..lines.len()).filter(|at| wanted(&lines[*at])).collect();
    assert_eq!(found.len(), 1, "once: {found:?}");
    found[0]
}

fn stops(line: &Line) -> Option<Stop> {
    match line {
        Line::Answer { stop, .. } => Some(*stop),
        Line::Overflow(_) | Line::User(_) | Line::Comment(_) => None,
    }
}

#[test]
fn every_call_can_be_carried_out() {
    let mut tree = project().unwrap();
    assert_eq!(tree.play(&told()), Ok(()));
    let lines = told();
    let answers = lines.iter().filter(|line| stops(line).is_some()).count();
    assert!((150..=200).contains(&answers), "{answers}");
    assert_eq!(
        lines.iter().map(|line| calls(line).len()).sum::<usize>(),
        300
    );
    assert!(lines.iter().all(|line| calls(line).len() <= 5));
    for line in &lines {
        let calling = stops(line) == Some(Stop::Tools);
        assert_eq!(calling, !calls(line).is_empty());
    }
}

#[test]
fn calls_that_cannot_be_carried_out_are_refused() {
    let refused = |calls: Vec<Call>| {
        let line = super::script::act("", calls);
        project().unwrap().play(&[line]).is_err()
    };
    assert!(refused(vec![read("src/width.rs")]));
    assert!(refused(vec![read_at("src/lib.rs", 1000, 5)]));
    assert!(refused(vec![edit("src/misc.rs", &[("char_width", "x")])]));
    assert!(refused(vec![edit("src/misc.rs", &[("not there", "x")])]));
    let over = [("pub fn is_blank(s", "a"), ("is_blank(s: &str)", "b")];
    assert!(refused(vec![edit("src/misc.rs", &over)]));
    assert!(refused(vec![sh("perl -e 1")]));
    assert!(refused(vec![sh("wc -l src/width.rs")]));
    assert!(refused(vec![sh("mv src/width.rs src/misc.rs")]));
    assert!(refused(vec![read("src/misc.rs"), write("src/misc.rs", "")]));
    assert!(refused(vec![sh("ls"), write("src/new.rs", "")]));
    assert!(refused(vec![sh("ls"), sh("rm src/misc.rs")]));
    assert!(!refused(vec![read("src/misc.rs"), sh("wc -l src/*.rs")]));
}

#[test]
fn results_fill_the_window_again_and_again() {
    let mut total = 0;
    watch(&told(), |tree, call| {
        let shown = match call {
            Call::Read { path, window } => {
                let (offset, limit) = window.unwrap_or((1, usize::MAX));
                let lines = tree.files()[path].lines().skip(offset - 1).take(limit);
                lines.map(|line| format!("{line}\n")).collect()
            }
            Call::Edit { edits, .. } => {
                let both = edits.iter().map(|edit| format!("{}{}", edit.old, edit.new));
                both.collect()
            }
            Call::Write { .. } | Call::Bash { .. } => String::new(),
        };
        let size = tokens(&shown);
        assert!(size <= LARGEST, "{call:?} shows {size} tokens");
        total += size;
    });
    // What commands print comes on top of this, a quarter of it.
    assert!(total >= 125_000, "{total}");
}

#[test]
fn cargo_runs_at_most_three_times_and_at_the_end() {
    let lines = told();
    let commands: Vec<&str> = lines
        .iter()
        .flat_map(calls)
        .filter_map(|call| match call {
            Call::Bash { command } => Some(command.as_str()),
            Call::Read { .. } | Call::Write { .. } | Call::Edit { .. } => None,
        })
        .collect();
    let runs = commands.iter().filter(|command| command.contains("cargo"));
    assert!((1..=3).contains(&runs.count()));
    assert_eq!(commands.last(), Some(&"cargo test --offline --quiet"));
}

#[test]
fn the_promised_events_occur() {
    let lines = told();
    let overflow = position(&lines, |line| matches!(line, Line::Overflow(_)));
    assert!(!calls(&lines[overflow - 1]).is_empty() && !calls(&lines[overflow + 1]).is_empty());
    let cut = position(&lines, |line| stops(line) == Some(Stop::Length));
    assert!(!calls(&lines[cut - 1]).is_empty() && !calls(&lines[cut + 1]).is_empty());
    let steer = position(&lines, |line| matches!(line, Line::User(User::Steer(_))));
    assert!(!calls(&lines[steer - 1]).is_empty() && !calls(&lines[steer + 1]).is_empty());
    let label = position(&lines, |line| matches!(line, Line::User(User::Label(_))));
    let back = position(&lines, |line| {
        matches!(line, Line::User(User::NavigateBack(_)))
    });
    let handoff = position(&lines, |line| matches!(line, Line::User(User::Handoff(_))));
    for at in [label, back, handoff] {
        assert_eq!(
            stops(&lines[at - 1]),
            Some(Stop::Done),
            "the agent is at rest"
        );
        assert!(matches!(lines[at + 1], Line::User(User::Prompt(_))));
    }
    assert!(label < back && back < handoff && handoff < cut);
    let after: usize = lines[handoff..].iter().map(|line| calls(line).len()).sum();
    assert!((20..=30).contains(&after), "{after}");
    assert_eq!(lines.last().and_then(stops), Some(Stop::Done));
    assert!(stops(&lines[0]).is_some() || stops(&lines[1]).is_some());
}

#[test]
fn the_agent_rests_before_each_prompt_and_only_there() {
    let lines = told();
    let mut resting = false;
    for line in &lines {
        match line {
            Line::Answer { stop, .. } => {
                assert!(!resting, "somebody has to say something first");
                resting = *stop == Stop::Done;
            }
            Line::User(User::Prompt(_)) => {
                assert!(resting);
                resting = false;
            }
            Line::User(User::Steer(_)) => assert!(!resting),
            Line::User(User::Label(_) | User::NavigateBack(_) | User::Handoff(_)) => {
                assert!(resting);
            }
            Line::Overflow(_) => assert!(!resting),
            Line::Comment(_) => {}
        }
    }
    assert!(resting);
}

#[test]
fn the_side_track_leaves_no_trace() {
    let lines = told();
    let back = position(&lines, |line| {
        matches!(line, Line::User(User::NavigateBack(_)))
    });
    let prompt = |line: &Line| matches!(line, Line::User(User::Prompt(_)));
    let start = lines[..back].iter().rposition(prompt).unwrap();
    let track: usize = lines[start..back]
        .iter()
        .map(|line| calls(line).len())
        .sum();
    assert!((12..=20).contains(&track), "{track}");
    let said = |line: &Line| matches!(line, Line::User(User::Prompt(_) | User::Steer(_)));
    assert!(
        !lines[start + 1..back].iter().any(said),
        "one message back is the prompt"
    );
    let before = watch(&lines[..start], |_, _| ());
    let after = watch(&lines[..back], |_, _| ());
    assert_eq!(before, after);
    let mut seen = false;
    watch(&lines[..back], |tree, _| {
        seen |= tree.files().contains_key("src/template_lexer.rs");
    });
    assert!(seen);
}

#[test]
fn the_rules_of_the_user_hold_at_the_end() {
    let before = project().unwrap();
    let after = watch(&told(), |_, _| ());
    assert!(public_functions(&before).is_subset(&public_functions(&after)));
    assert!(public_functions(&before).len() > 40);
    assert_eq!(before.files()["Cargo.toml"], after.files()["Cargo.toml"]);
    let format = |tree: &Tree| {
        let smoke = &tree.files()["tests/smoke.rs"];
        let start = smoke.find("fn table_format").unwrap();
        smoke[start..smoke.find("fn report").unwrap()].to_owned()
    };
    assert_eq!(format(&before), format(&after));
    let docs = after.files().values().flat_map(|text| text.lines());
    let docs = docs.filter(|line| line.contains("//"));
    let american = ["ormaliz", "apitaliz", "olor", "Center", "center"];
    for line in docs {
        // Names of functions and filters stay; in docs they stand between back quotes.
        let said: String = line.split('`').step_by(2).collect();
        assert!(!american.iter().any(|part| said.contains(part)), "{line}");
    }
    let names: Vec<&str> = after.files().keys().map(String::as_str).collect();
    assert!(names.contains(&"README.md"));
    for gone in ["src/misc.rs", "src/strutil.rs", "src/errors.rs", "TODO.md"] {
        assert!(!names.contains(&gone), "{gone}");
    }
    let old = [
        "TextError",
        "SlugError",
        "BytesError",
        "TemplateError",
        "TODO",
        "FIXME",
    ];
    for text in after.files().values() {
        assert!(!old.iter().any(|word| text.contains(word)));
    }
}

#[test]
fn the_same_at_every_call() {
    assert_eq!(refactor_script(), refactor_script());
}

#[test]
fn the_lines_are_as_readers_of_scripts_want_them() {
    let lines = refactor_script().unwrap();
    let header: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(header["script"], 1);
    assert_eq!(header["settings"]["compaction"]["keepRecentTokens"], 4000);
    for line in &lines[1..] {
        assert!(!line.contains('\n'));
        if line.starts_with('#') {
            continue;
        }
        let line: Value = serde_json::from_str(line).unwrap();
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert!(
            matches!(keys.as_slice(), [key] if ["answer", "error", "user"].contains(&key.as_str()))
        );
    }
}

/// A folder that goes with the test.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Carries out one call of the file in a folder, as the tools would. Commands that only show something are left out.
fn carry_out(folder: &Path, call: &Value) {
    let arguments = &call["arguments"];
    let text = |key: &str| arguments[key].as_str().unwrap();
    match call["name"].as_str().unwrap() {
        "read" => {
            let shown = std::fs::read_to_string(folder.join(text("path"))).unwrap();
            let offset = arguments["offset"].as_u64().unwrap_or(1);
            assert!(offset <= shown.lines().count() as u64);
        }
        "write" => std::fs::write(folder.join(text("path")), text("content")).unwrap(),
        "edit" => {
            let path = folder.join(text("path"));
            let mut content = std::fs::read_to_string(&path).unwrap();
            for edit in arguments["edits"].as_array().unwrap() {
                let old = edit["old_text"].as_str().unwrap();
                assert_eq!(content.matches(old).count(), 1, "{}: {old}", path.display());
                content = content.replace(old, edit["new_text"].as_str().unwrap());
            }
            std::fs::write(path, content).unwrap();
        }
        "bash" if changes_files(text("command")) => {
            for part in parts(text("command")) {
                let words: Vec<&str> = part.split(' ').collect();
                match words.as_slice() {
                    ["mv", from, to] => {
                        std::fs::rename(folder.join(from), folder.join(to)).unwrap();
                    }
                    ["rm", paths @ ..] => {
                        for path in paths {
                            std::fs::remove_file(folder.join(path)).unwrap();
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        "bash" => {}
        other => panic!("{other}"),
    }
}

#[test]
fn a_real_copy_ends_up_with_passing_tests() {
    let name = format!("textkit-refactor-{}", std::process::id());
    let scratch = Scratch(std::env::temp_dir().join(name));
    for (path, text) in project().unwrap().files() {
        let path = scratch.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for line in refactor_script()
        .unwrap()
        .iter()
        .filter(|line| !line.starts_with('#'))
    {
        let line: Value = serde_json::from_str(line).unwrap();
        for call in line["answer"]["calls"].as_array().into_iter().flatten() {
            carry_out(&scratch.0, call);
        }
    }
    let played = Tree::load(&scratch.0).unwrap();
    assert_eq!(
        played,
        watch(&told(), |_, _| ()),
        "the files in memory are those on disk"
    );
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tests = Command::new(cargo)
        .args(["test", "--offline", "--quiet"])
        .current_dir(&scratch.0)
        .env("CARGO_TARGET_DIR", scratch.0.join("target"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tests.stdout);
    assert!(
        tests.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&tests.stderr)
    );
    assert!(said.contains("39 passed"), "{said}");
}
