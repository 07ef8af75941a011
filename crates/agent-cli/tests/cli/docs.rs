//! The commands of the README, the tutorial and the other pages do what is said of them: each is run, in the order of its
//! page, on the example session. One that asks a real model is only read.

use std::path::{Path, PathBuf};

use crate::env::{BINARY, TestEnv};

/// What the pages have names of the reader's own for.
const NAMES: [(&str, &[&str]); 9] = [
    ("SESSION", &["s.jsonl"]),
    ("SESSION.jsonl", &["s.jsonl"]),
    ("FILE", &["claude.jsonl"]),
    ("NEW.jsonl", &["new-session.jsonl"]),
    ("NEW", &["new"]),
    ("ENTRY-ID", &["671ac221"]),
    ("DIR", &["."]),
    ("KEY", &["compaction.keepRecentTokens"]),
    ("VALUE", &["9000"]),
];

/// A session of Claude Code, with a line that is damaged.
const CLAUDE: &str = concat!(
    r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"01a2","version":"2.0.0","cwd":"/p","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hello"}}"#,
    "\n{broken\n",
    r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"01a2","version":"2.0.0","cwd":"/p","timestamp":"2026-01-01T00:00:01.000Z","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}}"#,
    "\n",
);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the lines of a page's shell blocks that run the program.
fn commands(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("a page");
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines);
    let lines = lines.filter_map(|line| line.strip_prefix("agent-cli "));
    lines.map(str::to_owned).collect()
}

/// Returns the arguments of a line as a reader would write them: without its comment, with names of their own.
fn arguments(line: &str) -> Vec<String> {
    let words = shlex::split(line).expect("words of a shell");
    let words = words
        .into_iter()
        .take_while(|word| !matches!(word.as_str(), "|" | ">"));
    let words = words.filter(|word| !word.starts_with('['));
    let named = words.flat_map(|word| {
        let known = NAMES.iter().find(|(name, _)| *name == word);
        match known {
            Some((_, own)) => own.iter().map(|own| (*own).to_owned()).collect(),
            None => vec![word],
        }
    });
    named.collect()
}

#[test]
fn the_commands_of_the_pages_work() {
    let mut pages = vec![root().join("README.md"), root().join("docs/tutorial.md")];
    for folder in ["docs/howto", "docs/explanation", "docs/reference"] {
        let files = std::fs::read_dir(root().join(folder)).expect("a folder of pages");
        let files = files.map(|file| file.expect("a page").path());
        let mut files: Vec<PathBuf> = files
            .filter(|file| file.extension().is_some_and(|end| end == "md"))
            .collect();
        files.sort();
        pages.extend(files);
    }
    let session = std::fs::read(root().join("examples/sessions/long.jsonl")).expect("the example");
    let (mut run, mut wrong) = (0, Vec::new());
    for page in pages {
        let env = TestEnv::new();
        env.write("s.jsonl", &session);
        env.write("claude.jsonl", CLAUDE);
        if !page.ends_with("tutorial.md") {
            // The tutorial compacts it itself.
            env.run(&["compact", "s.jsonl", "--in-place"]).success();
        }
        for line in commands(&page) {
            let arguments = arguments(&line);
            let says = |word: &str| arguments.iter().any(|own| own.contains(word));
            // They need a model, a terminal, cargo, an editor, or a tool server.
            let elsewhere = [
                "--model",
                "...",
                "rpc",
                "acp",
                "scripted:",
                "--continue",
                "--resume",
                "servers",
                "the parser",
                "postgres:",
            ];
            if elsewhere.iter().any(|word| says(word))
                || arguments.len() < 2
                || arguments[0] == "-p"
            {
                continue;
            }
            let mut command = env.command(BINARY);
            command.args(&arguments).current_dir(env.folder());
            let output = env.output(&mut command);
            run += 1;
            // There may be nothing to do.
            let is_fine = matches!(output.code, Some(0 | 3));
            if !is_fine {
                wrong.push(format!("{}: agent-cli {line}\n{output}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(run > 40, "only {run} commands were found");
}

#[test]
fn a_script_that_plays_the_user_answers_as_its_page_says() {
    let env = TestEnv::new();
    let script = root().join("examples/scripts/hello.jsonl");
    let provider = format!("scripted:{}", script.display());
    let output = env.run(&["--provider", &provider]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("agent-cli --resume"), "{output}");
}
