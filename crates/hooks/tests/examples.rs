//! The programs of `examples/hooks` and `docs/howto/hooks.md`, run as hooks.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

use hooks::{
    BeforeCompactResult, CommandHook, HookAnswer, HookCommand, HookContext, HookEvent, HookPoint,
    HookSet, Merged, SampleSession, ToolCallEvent,
};

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hooks");
    folder.join(name).display().to_string()
}

/// Returns true if there is a Python to run; says so where there is none.
fn has_python() -> bool {
    let python = Command::new("python3").arg("--version").output();
    let has = python.is_ok_and(|python| python.status.success());
    if !has {
        test_support::skip("there is no python3");
    }
    has
}

fn hook(words: Vec<String>) -> CommandHook {
    let points = vec![HookPoint::SessionBeforeCompact];
    let hook = CommandHook::new("example", points, HookCommand::Program(words));
    assert_eq!(hook.check(), Ok(()));
    hook
}

async fn ask(
    hook: CommandHook,
    session: &SampleSession,
    cwd: PathBuf,
) -> Merged<BeforeCompactResult> {
    let samples = session.samples().unwrap();
    let event = samples.event(HookPoint::SessionBeforeCompact);
    let Some(HookEvent::BeforeCompact(event)) = event else {
        panic!("another event: {event:?}");
    };
    let mut hooks = HookSet::default();
    hooks.register(hook);
    let context: HookContext = session.context(cwd);
    hooks.before_compact(&event, &context).await
}

#[tokio::test]
async fn keep_out_cancels_while_its_file_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let session = SampleSession::default();
    let hook = hook(vec![example("keep-out.sh")]);
    let free = ask(hook.clone(), &session, folder.path().to_owned()).await;
    assert_eq!(free.result, BeforeCompactResult::Proceed);
    assert_eq!(free.failures, []);

    std::fs::write(folder.path().join(".no-compaction"), "").unwrap();
    let kept = ask(hook, &session, folder.path().to_owned()).await;
    let reason = Some(".no-compaction is here; remove it to compact".to_owned());
    assert_eq!(kept.result, BeforeCompactResult::Cancel { reason });
    assert_eq!(kept.decided_by.as_deref(), Some("example"));
}

#[tokio::test]
async fn own_summary_supplies_a_compaction() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let session = SampleSession::default();
    let hook = hook(vec!["python3".to_owned(), example("own_summary.py")]);
    let supplied = ask(hook, &session, folder.path().to_owned()).await;
    assert_eq!(supplied.failures, []);
    let BeforeCompactResult::Replace(own) = supplied.result else {
        panic!("{supplied:?}");
    };
    insta::assert_snapshot!(own.summary, @"
    # What happened so far

    ## Asked for

    - why does 1h30m fail?

    ## Last answer

    - It reads one unit only.

    ## Files read

    - src/span.rs
    ");
    assert_eq!(own.short_summary.as_deref(), Some("asked for: 1"));
    assert_eq!(own.first_kept.as_str(), "a5");
    let details = own.details.unwrap();
    assert_eq!(details["readFiles"][0], "src/span.rs");
}

/// Returns the programs in a part of `docs/howto/hooks.md`.
fn documented() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/howto/hooks.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, part) = text.split_once("\n## Three hooks\n").unwrap();
    let (part, _) = part.split_once("\n## ").unwrap();
    let blocks = part.split("\n```").skip(1).step_by(2);
    let programs = blocks.filter_map(|block| block.split_once('\n'));
    programs.map(|(_, program)| program.to_owned()).collect()
}

#[tokio::test]
async fn the_three_hooks_of_the_document_run_as_they_stand() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let session = SampleSession::default();
    let samples = session.samples().unwrap();
    let context = session.context(folder.path().to_owned());
    let [no_sudo, in_flux, log] = documented().try_into().unwrap();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();

    let no_sudo = hook(words(&["python3", "-c", &no_sudo]));
    for (command, expected) in [
        ("ls; \"sudo\" ls", "blocks the call: ask the user to run it"),
        ("pseudo ls", "nothing"),
    ] {
        let arguments = serde_json::json!({ "command": command });
        let event = HookEvent::ToolCall(ToolCallEvent {
            call_id: "c",
            tool: "bash",
            arguments: &arguments,
        });
        let run = no_sudo.run(&event, &context).await;
        assert_eq!(run.outcome.unwrap().to_string(), expected);
    }

    let in_flux = hook(words(&["sh", "-c", &in_flux]));
    let event = samples.event(HookPoint::BeforePrompt).unwrap();
    let run = in_flux.run(&event, &context).await;
    assert_eq!(run.outcome.unwrap().to_string(), "nothing");

    let log = hook(words(&["env", "HOME=.", "python3", "-c", &log]));
    for point in [HookPoint::SessionCompact, HookPoint::SessionCompactFailed] {
        let run = log.run(&samples.event(point).unwrap(), &context).await;
        assert_eq!(run.outcome, Ok(HookAnswer::Told));
    }
    let logged = std::fs::read_to_string(folder.path().join("compactions.log")).unwrap();
    let logged: Vec<Vec<&str>> = logged
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(
        logged[0][1..],
        ["5f0c", "session_compact", "threshold", "5210"]
    );
    assert_eq!(logged[1][4], "the provider is overloaded");
}
