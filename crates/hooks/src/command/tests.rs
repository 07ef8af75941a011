//! Command hooks as they really run: what goes in, what comes out, and that nothing outlives them.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    CommandEnd, CommandHook, CommandRun, HookAnswer, HookCommand, InvalidHook, Matcher, OnFailure,
};
use crate::event::{
    BeforeCompactResult, BeforePromptResult, BeforeTreeResult, Notification, ToolCallEvent,
    ToolCallResult,
};
use crate::hook::{Hook, HookContext, HookError};
use crate::merge::HookSet;
use crate::payload::{HookEvent, SampleSession};
use crate::point::HookPoint;

/// How long a test waits for what must happen; only a failing one waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder in which hooks run.
struct Sandbox {
    folder: TempDir,
    session: SampleSession,
    context: HookContext,
}

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let session = SampleSession::default();
        let context = session.context(folder.path().to_owned());
        Self {
            folder,
            session,
            context,
        }
    }

    fn hook(&self, line: &str) -> CommandHook {
        let command = HookCommand::Shell(line.to_owned());
        CommandHook {
            timeout: PATIENCE,
            ..CommandHook::new("test", HookPoint::ALL.to_vec(), command)
        }
    }

    async fn run_hook(&self, hook: &CommandHook, point: HookPoint) -> CommandRun {
        let samples = self.session.samples().unwrap();
        hook.run(&samples.event(point).unwrap(), &self.context)
            .await
    }

    async fn run(&self, line: &str, point: HookPoint) -> CommandRun {
        self.run_hook(&self.hook(line), point).await
    }

    /// Returns what a hook that writes `answer` comes to.
    async fn answer(&self, answer: &str, point: HookPoint) -> Result<HookAnswer, String> {
        fs::write(self.folder.path().join("answer"), answer).unwrap();
        let run = self.run("cat answer", point).await;
        run.outcome.map_err(|error| error.0)
    }

    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }
}

/// Reads a named pipe and reports writes, and when every writer has closed it.
struct Pipe {
    begun: tokio::sync::oneshot::Receiver<()>,
    closed: Receiver<()>,
}

impl Pipe {
    /// Every process that a shell starts after `exec 3>NAME` holds the pipe open until it ends.
    fn listen(path: PathBuf) -> Self {
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (close, closed) = mpsc::channel();
        std::thread::spawn(move || {
            let mut pipe = fs::File::open(path).unwrap();
            if pipe.read_exact(&mut [0]).is_ok() {
                let _ = begin.send(());
            }
            let mut rest = Vec::new();
            pipe.read_to_end(&mut rest).unwrap();
            let _ = close.send(());
        });
        Self { begun, closed }
    }

    fn assert_all_gone(&self) {
        let closed = self.closed.recv_timeout(PATIENCE);
        closed.expect("a process outlived the hook");
    }
}

fn failure(run: &CommandRun) -> &str {
    &run.outcome.as_ref().unwrap_err().0
}

#[tokio::test]
async fn every_point_reaches_the_program_as_one_line_of_json() {
    let sandbox = Sandbox::new();
    let samples = sandbox.session.samples().unwrap();
    for point in HookPoint::ALL {
        let event = samples.event(point).unwrap();
        let run = sandbox
            .run("cat >&2; echo $AGENT_CLI_HOOK > point; pwd > pwd", point)
            .await;
        assert_eq!(run.end, CommandEnd::Exited(0), "{point}");
        assert_eq!(run.outcome, Ok(HookAnswer::nothing(point)), "{point}");
        let read = |name| fs::read_to_string(sandbox.folder.path().join(name)).unwrap();
        assert_eq!(read("point").trim(), point.name());
        let pwd = PathBuf::from(read("pwd").trim()).canonicalize().unwrap();
        assert_eq!(pwd, sandbox.folder.path().canonicalize().unwrap());
        let told: Value = serde_json::from_str(&event.document(&sandbox.context)).unwrap();
        // At some points the document is longer than the kept part of its errors.
        if event.document(&sandbox.context).len() < super::run::ERRORS {
            assert_eq!(serde_json::from_str::<Value>(&run.stderr).unwrap(), told);
        }
        assert_eq!(told["hook_point"], point.name());
        assert_eq!(told["session_id"], "5f0c");
    }
}

#[tokio::test]
async fn an_empty_object_and_white_space_say_nothing_at_every_point() {
    let sandbox = Sandbox::new();
    for point in HookPoint::ALL {
        for said in ["", " \n\t\r\n", "{}", " {} \n"] {
            let answer = sandbox.answer(said, point).await;
            assert_eq!(answer, Ok(HookAnswer::nothing(point)), "{point} {said:?}");
        }
    }
}

#[tokio::test]
async fn every_answer_of_the_reference_is_understood() {
    let sandbox = Sandbox::new();
    let mut said = String::new();
    for (point, answer) in [
        (HookPoint::BeforePrompt, r#"{"context": "friday"}"#),
        (HookPoint::BeforePrompt, r#"{"context": ["a", "b"]}"#),
        (HookPoint::ToolCall, r#"{"block": true}"#),
        (HookPoint::ToolCall, r#"{"block": true, "reason": "no"}"#),
        (HookPoint::ToolCall, r#"{"block": false, "reason": "no"}"#),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"cancel": true, "reason": null}"#,
        ),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"compaction": {"summary": "s", "firstKeptEntryId": "a5", "shortSummary": "t", "preserveData": {"k": 1}, "tokensBefore": 7, "details": {}}}"#,
        ),
        (
            HookPoint::SessionCompacting,
            r#"{"prompt": "p", "context": "c", "preserveData": {"k_x": {"aB": 1}}}"#,
        ),
        (
            HookPoint::SessionBeforeTree,
            r#"{"cancel": true, "reason": "r"}"#,
        ),
        (
            HookPoint::SessionBeforeTree,
            r#"{"summary": {"summary": "s", "details": {"a": 1}}}"#,
        ),
    ] {
        let answer = sandbox.answer(answer, point).await.unwrap();
        said.push_str(&format!("{point}: {answer}\n    {answer:?}\n"));
    }
    insta::assert_snapshot!(said, @r#"
    before_prompt: adds context (1)
        BeforePrompt(BeforePromptResult { context: ["friday"] })
    before_prompt: adds context (2)
        BeforePrompt(BeforePromptResult { context: ["a", "b"] })
    tool_call: blocks the call
        ToolCall(Block { reason: None })
    tool_call: blocks the call: no
        ToolCall(Block { reason: Some("no") })
    tool_call: nothing
        ToolCall(Proceed)
    session_before_compact: cancels the compaction
        BeforeCompact(Cancel { reason: None })
    session_before_compact: supplies the compaction: a summary of length 1, kept from a5
        BeforeCompact(Replace(CompactionOverride { summary: "s", ledger: true, short_summary: Some("t"), first_kept: "a5", tokens_before: 7, details: Some(Object {}), preserve_data: {"k": Number(1)} }))
    session.compacting: adds a prompt of its own, context (1), data (k_x)
        Compacting(CompactingResult { prompt: Some("p"), context: ["c"], preserve_data: {"k_x": Object {"aB": Number(1)}} })
    session_before_tree: cancels the move: r
        BeforeTree(Cancel { reason: Some("r") })
    session_before_tree: supplies the summary, of length 1
        BeforeTree(Summary(BranchSummaryOverride { summary: "s", details: Some(Object {"a": Number(1)}) }))
    "#);
}

#[tokio::test]
async fn a_compaction_without_tokens_before_has_those_of_the_plan() {
    let sandbox = Sandbox::new();
    let said = r#"{"compaction": {"summary": "s", "first_kept_entry_id": "a5"}}"#;
    let answer = sandbox.answer(said, HookPoint::SessionBeforeCompact).await;
    let samples = sandbox.session.samples().unwrap();
    let told = samples.event(HookPoint::SessionBeforeCompact).unwrap();
    let Ok(HookAnswer::BeforeCompact(BeforeCompactResult::Replace(own))) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(json!(own.tokens_before), told.payload()["tokens_before"]);
}

#[tokio::test]
async fn what_cannot_be_used_is_a_failure_that_names_it() {
    let sandbox = Sandbox::new();
    let mut said = String::new();
    for (point, answer) in [
        (HookPoint::ToolCall, "blocked!"),
        (HookPoint::ToolCall, "[]"),
        (HookPoint::ToolCall, "null"),
        (HookPoint::ToolCall, "{} {}"),
        (HookPoint::ToolCall, "{\"block\": true"),
        (HookPoint::ToolCall, r#"{"block": "yes"}"#),
        (HookPoint::ToolCall, r#"{"blocked": true}"#),
        (HookPoint::ToolCall, r#"{"cancel": true}"#),
        (HookPoint::ToolCall, r#"{"block": true, "reason": 7}"#),
        (HookPoint::BeforePrompt, r#"{"context": 7}"#),
        (HookPoint::BeforePrompt, r#"{"context": ["a", null]}"#),
        (HookPoint::SessionBeforeCompact, r#"{"compaction": "s"}"#),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"compaction": {"summary": "s"}}"#,
        ),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"compaction": {"summary": "s", "first_kept_entry_id": "zz"}}"#,
        ),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"compaction": {"summary": " ", "first_kept_entry_id": "a5"}}"#,
        ),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"compaction": {"summary": "s", "first_kept_entry_id": "a5", "tokens_before": -1}}"#,
        ),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"compaction": {"summary": "s", "first_kept_entry_id": "a5", "firstKeptEntryId": "a5"}}"#,
        ),
        (
            HookPoint::SessionBeforeCompact,
            r#"{"compaction": {"summary": "s", "first_kept_entry_id": "a5", "size": 1}}"#,
        ),
        (HookPoint::SessionCompacting, r#"{"preserve_data": []}"#),
        (
            HookPoint::SessionBeforeTree,
            r#"{"summary": {"summary": "s", "details": 1}}"#,
        ),
        (HookPoint::TurnEnd, r#"{"context": "x"}"#),
    ] {
        let failed = sandbox.answer(answer, point).await.unwrap_err();
        said.push_str(&format!("{answer}\n    {failed}\n"));
    }
    insta::assert_snapshot!(said, @r#"
    blocked!
        standard output is not a JSON object (expected value at line 1 column 1); write one, or nothing
    []
        standard output is a list; it must be a JSON object
    null
        standard output is null; it must be a JSON object
    {} {}
        standard output is not a JSON object (trailing characters at line 1 column 4); write one, or nothing
    {"block": true
        standard output is not a JSON object (EOF while parsing an object at line 1 column 14); write one, or nothing
    {"block": "yes"}
        block is a text; it must be true or false
    {"blocked": true}
        there is no blocked here; choose from block, reason
    {"cancel": true}
        there is no cancel here; choose from block, reason
    {"block": true, "reason": 7}
        reason is 7; it must be a text
    {"context": 7}
        context is 7; it must be a text or a list of texts
    {"context": ["a", null]}
        context holds null; it must be a text or a list of texts
    {"compaction": "s"}
        compaction is a text; it must be an object
    {"compaction": {"summary": "s"}}
        compaction.first_kept_entry_id is missing
    {"compaction": {"summary": "s", "first_kept_entry_id": "zz"}}
        compaction.first_kept_entry_id names zz, which is not on the path
    {"compaction": {"summary": " ", "first_kept_entry_id": "a5"}}
        compaction.summary is empty
    {"compaction": {"summary": "s", "first_kept_entry_id": "a5", "tokens_before": -1}}
        compaction.tokens_before is -1; it must be a whole number, at least 0
    {"compaction": {"summary": "s", "first_kept_entry_id": "a5", "firstKeptEntryId": "a5"}}
        compaction.first_kept_entry_id is there twice, also as firstKeptEntryId; write it once
    {"compaction": {"summary": "s", "first_kept_entry_id": "a5", "size": 1}}
        there is no compaction.size here; choose from first_kept_entry_id, tokens_before, summary, ledger, short_summary, details, preserve_data
    {"preserve_data": []}
        preserve_data is a list; it must be an object
    {"summary": {"summary": "s", "details": 1}}
        summary.details is 1; it must be an object
    {"context": "x"}
        there is no context here; nothing is expected back
    "#);
}

#[tokio::test]
async fn exit_code_2_blocks_where_something_can_be_blocked() {
    let sandbox = Sandbox::new();
    let line = "echo '{\"garbage'; printf ' it is \\033[1mfriday\\n' >&2; exit 2";
    let reason = Some("it is \u{fffd}[1mfriday".to_owned());
    for point in HookPoint::ALL {
        let run = sandbox.run(line, point).await;
        assert_eq!(run.end, CommandEnd::Exited(2));
        let expected = match point {
            HookPoint::ToolCall => HookAnswer::ToolCall(ToolCallResult::Block {
                reason: reason.clone(),
            }),
            HookPoint::SessionBeforeCompact => {
                HookAnswer::BeforeCompact(BeforeCompactResult::Cancel {
                    reason: reason.clone(),
                })
            }
            HookPoint::SessionBeforeTree => HookAnswer::BeforeTree(BeforeTreeResult::Cancel {
                reason: reason.clone(),
            }),
            HookPoint::SessionStart
            | HookPoint::SessionShutdown
            | HookPoint::BeforePrompt
            | HookPoint::ToolResult
            | HookPoint::TurnEnd
            | HookPoint::SessionCompacting
            | HookPoint::SessionCompact
            | HookPoint::SessionCompactFailed
            | HookPoint::SessionTree => {
                assert_eq!(failure(&run), "exit code 2: it is \u{fffd}[1mfriday");
                continue;
            }
        };
        assert_eq!(run.outcome, Ok(expected), "{point}");
    }
}

#[tokio::test]
async fn what_a_run_wrote_can_be_shown() {
    let sandbox = Sandbox::new();
    let line = "printf 'a\\033[1m\\377b\\n'; printf 'c\\007\\n' >&2";
    let run = sandbox.run(line, HookPoint::TurnEnd).await;
    assert_eq!(run.stdout, b"a\x1b[1m\xffb\n");
    assert_eq!(run.stdout_text(), "a\u{fffd}[1m\u{fffd}b\n");
    assert_eq!(run.stderr, "c\u{fffd}\n");
}

#[tokio::test]
async fn a_block_without_a_reason_has_none_and_a_long_one_is_cut() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("exit 2", HookPoint::ToolCall).await;
    let expected = HookAnswer::ToolCall(ToolCallResult::Block { reason: None });
    assert_eq!(run.outcome, Ok(expected));
    let line = "head -c 3000 /dev/zero | tr '\\0' a >&2; exit 2";
    let run = sandbox.run(line, HookPoint::ToolCall).await;
    let reason = Some(format!("{}...", "a".repeat(2000)));
    let expected = HookAnswer::ToolCall(ToolCallResult::Block { reason });
    assert_eq!(run.outcome, Ok(expected));
}

#[tokio::test]
async fn another_exit_code_is_a_failure_and_its_answer_does_not_count() {
    let sandbox = Sandbox::new();
    let line = "echo '{\"block\": true}'; echo broken >&2; exit 7";
    let run = sandbox.run(line, HookPoint::ToolCall).await;
    assert_eq!(run.end, CommandEnd::Exited(7));
    assert_eq!(failure(&run), "exit code 7: broken");
    let run = sandbox
        .run("no-such-program-xyz", HookPoint::ToolCall)
        .await;
    assert!(failure(&run).starts_with("exit code 127: "), "{run:?}");
}

#[tokio::test]
async fn a_signal_is_named() {
    let sandbox = Sandbox::new();
    let run = sandbox.run("kill -TERM $$", HookPoint::TurnEnd).await;
    assert_eq!(run.end, CommandEnd::Signal(15));
    assert_eq!(failure(&run), "killed by signal 15 (SIGTERM)");
}

#[tokio::test]
async fn a_program_that_is_not_there_or_may_not_run_is_a_failure() {
    let sandbox = Sandbox::new();
    let file = sandbox.folder.path().join("plain");
    fs::write(&file, "no program").unwrap();
    let shown = file.display().to_string();
    for (words, expected) in [
        (
            vec!["/no/such/program".to_owned()],
            "cannot run /no/such/program: No such file",
        ),
        (vec![shown.clone()], "cannot run "),
        (Vec::new(), "there is no program to run"),
    ] {
        let hook = CommandHook {
            command: HookCommand::Program(words),
            ..sandbox.hook("")
        };
        let run = sandbox.run_hook(&hook, HookPoint::TurnEnd).await;
        assert!(matches!(run.end, CommandEnd::NotStarted(_)), "{run:?}");
        assert!(failure(&run).starts_with(expected), "{run:?}");
    }
    let mut sandbox = sandbox;
    sandbox.context.cwd = PathBuf::from("/no/such/folder");
    let run = sandbox.run("true", HookPoint::TurnEnd).await;
    assert_eq!(
        failure(&run),
        "cannot run in /no/such/folder: there is no such folder"
    );
}

#[tokio::test]
async fn a_program_gets_its_arguments_word_for_word() {
    let sandbox = Sandbox::new();
    let words = [
        "sh",
        "-c",
        "printf '{\"context\":\"%s\"}' \"$1\"",
        "-",
        "a  b;$HOME",
    ];
    let hook = CommandHook {
        command: HookCommand::Program(words.map(str::to_owned).to_vec()),
        ..sandbox.hook("")
    };
    let run = sandbox.run_hook(&hook, HookPoint::BeforePrompt).await;
    let context = vec!["a  b;$HOME".to_owned()];
    let expected = HookAnswer::BeforePrompt(BeforePromptResult { context });
    assert_eq!(run.outcome, Ok(expected));
}

#[tokio::test]
async fn ten_megabytes_of_output_are_too_much() {
    let sandbox = Sandbox::new();
    let run = sandbox
        .run("head -c 10000000 /dev/zero", HookPoint::ToolCall)
        .await;
    assert_eq!(run.end, CommandEnd::TooMuchOutput);
    assert_eq!(failure(&run), "wrote more than 1048576 bytes");
    assert_eq!(run.stdout.len(), 1_048_576);
}

#[tokio::test]
async fn a_mebibyte_of_output_is_read_whole() {
    let sandbox = Sandbox::new();
    let line = "head -c 1048574 /dev/zero | tr '\\0' ' '; printf '{}'";
    let run = sandbox.run(line, HookPoint::ToolCall).await;
    assert_eq!(run.stdout.len(), 1_048_576);
    assert_eq!(run.outcome, Ok(HookAnswer::nothing(HookPoint::ToolCall)));
}

#[tokio::test]
async fn of_errors_the_end_is_kept_however_many_there_are() {
    let sandbox = Sandbox::new();
    let line = "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo end >&2";
    let run = sandbox.run(line, HookPoint::ToolCall).await;
    assert_eq!(run.stderr.len(), super::run::ERRORS);
    assert!(run.stderr.ends_with("xend\n"));
    assert_eq!(run.outcome, Ok(HookAnswer::nothing(HookPoint::ToolCall)));
}

#[tokio::test]
async fn a_payload_of_megabytes_that_is_never_read_is_no_mistake() {
    let sandbox = Sandbox::new();
    let arguments = json!({ "content": "x".repeat(5_000_000) });
    let event = HookEvent::ToolCall(ToolCallEvent {
        call_id: "c",
        tool: "write",
        arguments: &arguments,
    });
    for line in [
        "exec <&-; echo '{\"block\": true}'",
        "echo '{\"block\": true}'",
    ] {
        let run = sandbox.hook(line).run(&event, &sandbox.context).await;
        let expected = HookAnswer::ToolCall(ToolCallResult::Block { reason: None });
        assert_eq!(run.outcome, Ok(expected), "{line}");
    }
    let line = "wc -c >&2";
    let run = sandbox.hook(line).run(&event, &sandbox.context).await;
    let length = event.document(&sandbox.context).len();
    assert_eq!(run.stderr.trim(), length.to_string());
}

#[tokio::test]
async fn reading_and_writing_go_on_beside_each_other() {
    // The program writes more than a pipe holds before it reads, and gets more than one holds.
    let sandbox = Sandbox::new();
    let arguments = json!({ "content": "x".repeat(500_000) });
    let event = HookEvent::ToolCall(ToolCallEvent {
        call_id: "c",
        tool: "write",
        arguments: &arguments,
    });
    let line = "head -c 500000 /dev/zero | tr '\\0' ' '; cat > /dev/null; echo '{}'";
    let run = sandbox.hook(line).run(&event, &sandbox.context).await;
    assert_eq!(run.outcome, Ok(HookAnswer::nothing(HookPoint::ToolCall)));
}

#[tokio::test]
async fn a_timeout_kills_the_hook_and_what_it_started() {
    // A slow machine may need more time to get there.
    for limit in [200, 2000, 20_000] {
        let sandbox = Sandbox::new();
        let pipe = Pipe::listen(sandbox.fifo("fifo"));
        let hook = CommandHook {
            timeout: Duration::from_millis(limit),
            ..sandbox.hook("exec 3>fifo; (sleep 1000 & sleep 1000) & echo begun >&2; wait")
        };
        let run = sandbox
            .run_hook(&hook, HookPoint::SessionBeforeCompact)
            .await;
        assert_eq!(run.end, CommandEnd::TimedOut(Duration::from_millis(limit)));
        let said = failure(&run);
        assert!(said.starts_with("ran out of time after "), "{said}");
        if run.stderr == "begun\n" {
            assert!(said.ends_with(" seconds and was killed: begun"), "{said}");
            pipe.assert_all_gone();
            return;
        }
    }
    panic!("the hook never began");
}

#[tokio::test]
async fn failure_of_a_guarding_hook_blocks_the_call() {
    let sandbox = Sandbox::new();
    let guard = |line: &str| CommandHook {
        on_failure: OnFailure::Block,
        ..sandbox.hook(line)
    };
    let slow = CommandHook {
        timeout: Duration::from_millis(50),
        ..guard("sleep 1000")
    };
    let absent = CommandHook {
        command: HookCommand::Program(vec!["/no/such/guard".to_owned()]),
        ..guard("")
    };
    let failing = [
        slow,
        absent,
        guard("exit 1"),
        guard("kill -9 $$"),
        guard("echo no JSON"),
        guard(r#"echo '{"blok": true}'"#),
    ];
    for hook in failing {
        for point in [
            HookPoint::ToolCall,
            HookPoint::SessionBeforeCompact,
            HookPoint::SessionBeforeTree,
        ] {
            let answer = sandbox.run_hook(&hook, point).await.outcome;
            let reason = match answer {
                Ok(
                    HookAnswer::ToolCall(ToolCallResult::Block { reason })
                    | HookAnswer::BeforeCompact(BeforeCompactResult::Cancel { reason })
                    | HookAnswer::BeforeTree(BeforeTreeResult::Cancel { reason }),
                ) => reason.unwrap_or_default(),
                other => panic!("{:?} at {point}: {other:?}", hook.command),
            };
            assert!(reason.starts_with("the hook failed: "), "{reason}");
        }
    }
    let fine = sandbox.run_hook(&guard("true"), HookPoint::ToolCall).await;
    assert_eq!(
        fine.outcome,
        Ok(HookAnswer::ToolCall(ToolCallResult::Proceed))
    );
}

#[tokio::test]
async fn what_a_hook_leaves_behind_is_killed_and_its_answer_counts() {
    let sandbox = Sandbox::new();
    let pipe = Pipe::listen(sandbox.fifo("fifo"));
    let line = "exec 3>fifo; sleep 1000 & echo '{\"context\": \"done\"}'";
    let hook = sandbox.hook(line);
    let run = sandbox.run_hook(&hook, HookPoint::BeforePrompt);
    let run = tokio::time::timeout(PATIENCE, run).await.unwrap();
    let context = vec!["done".to_owned()];
    let expected = HookAnswer::BeforePrompt(BeforePromptResult { context });
    assert_eq!(run.outcome, Ok(expected));
    pipe.assert_all_gone();
}

#[tokio::test]
async fn a_cancellation_kills_the_hook_and_what_it_started() {
    let sandbox = Sandbox::new();
    let mut pipe = Pipe::listen(sandbox.fifo("fifo"));
    let hook = sandbox.hook("exec 3>fifo; (sleep 1000 & sleep 1000) & echo begun >&3; wait");
    let cancelled = async {
        (&mut pipe.begun).await.unwrap();
        sandbox.context.cancel.cancel();
    };
    let (run, ()) = tokio::join!(sandbox.run_hook(&hook, HookPoint::TurnEnd), cancelled);
    assert_eq!(run.end, CommandEnd::Cancelled);
    assert_eq!(run.outcome, Err(HookError("cancelled".to_owned())));
    pipe.assert_all_gone();
}

#[tokio::test]
async fn a_hook_that_nobody_waits_for_does_not_start() {
    let sandbox = Sandbox::new();
    sandbox.context.cancel.cancel();
    let run = sandbox.run("touch started", HookPoint::TurnEnd).await;
    assert_eq!(run.end, CommandEnd::Cancelled);
    assert!(!sandbox.folder.path().join("started").exists());
}

#[tokio::test]
async fn a_dropped_run_kills_the_hook_and_what_it_started() {
    let sandbox = Sandbox::new();
    let mut pipe = Pipe::listen(sandbox.fifo("fifo"));
    let hook = sandbox.hook("exec 3>fifo; (sleep 1000 & sleep 1000) & echo begun >&3; wait");
    tokio::select! {
        run = sandbox.run_hook(&hook, HookPoint::TurnEnd) => panic!("{run:?}"),
        begun = &mut pipe.begun => begun.unwrap(),
    }
    pipe.assert_all_gone();
}

/// The variables of the test below, in the environment of a run of its own.
const PLANTED: [(&str, &str); 3] = [
    ("HOOKS_TEST_API_KEY", "by its name"),
    ("HOOKS_TEST_LISTED", "because it is listed"),
    ("HOOKS_TEST_PLAIN", "no secret"),
];

#[tokio::test]
async fn secrets_of_the_environment_are_kept_from_a_hook() {
    if std::env::var_os(PLANTED[0].0).is_none() {
        // Only a process of its own can be given variables.
        let name = "command::tests::secrets_of_the_environment_are_kept_from_a_hook";
        let again = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .envs(PLANTED)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let sandbox = Sandbox::new();
    let hook = CommandHook {
        secret_variables: vec!["HOOKS_TEST_LISTED".to_owned()],
        ..sandbox.hook("env | grep ^HOOKS_TEST_ >&2")
    };
    let run = sandbox.run_hook(&hook, HookPoint::ToolCall).await;
    assert_eq!(run.stderr, "HOOKS_TEST_PLAIN=no secret\n");
}

#[tokio::test]
async fn a_pattern_stands_for_the_whole_subject_of_every_point_that_has_one() {
    let sandbox = Sandbox::new();
    let samples = sandbox.session.samples().unwrap();
    for (point, subject) in [
        (HookPoint::ToolCall, "read"),
        (HookPoint::ToolResult, "read"),
        (HookPoint::TurnEnd, "failed"),
        (HookPoint::SessionBeforeCompact, "manual"),
        (HookPoint::SessionCompacting, "context-full"),
        (HookPoint::SessionCompact, "threshold"),
        (HookPoint::SessionCompactFailed, "overflow"),
    ] {
        let event = samples.event(point).unwrap();
        assert_eq!(event.subject(), Some(subject));
        let member = point.subject().unwrap();
        assert_eq!(event.payload()[member], subject, "{point}");
        let begin = &subject[..subject.len() - 1];
        for (pattern, applies) in [
            (subject.to_owned(), true),
            (format!("{begin}|{begin}."), true),
            (begin.to_owned(), false),
            (".*".to_owned(), true),
            (format!("x?{}", &subject[1..]), false),
        ] {
            let hook = CommandHook {
                points: vec![point],
                matcher: Some(Matcher::new(&pattern).unwrap()),
                ..sandbox.hook("true")
            };
            assert_eq!(hook.check(), Ok(()));
            assert_eq!(hook.applies(&event, &sandbox.context), applies, "{pattern}");
        }
    }
}

#[tokio::test]
async fn a_pattern_where_there_is_nothing_to_match_is_an_error() {
    let sandbox = Sandbox::new();
    let anything = Matcher::new(".*").unwrap();
    for point in HookPoint::ALL {
        let hook = CommandHook {
            points: vec![point],
            matcher: Some(anything.clone()),
            ..sandbox.hook("true")
        };
        let expected = match point.subject() {
            Some(_) => Ok(()),
            None => Err(InvalidHook::NothingToMatch(point)),
        };
        assert_eq!(hook.check(), expected);
        let samples = sandbox.session.samples().unwrap();
        let event = samples.event(point).unwrap();
        assert_eq!(event.subject().is_some(), point.subject().is_some());
        let applies = hook.applies(&event, &sandbox.context);
        assert_eq!(applies, expected.is_ok());
    }
}

#[test]
fn a_hook_that_can_never_run_is_an_error() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.hook(" ").check(), Err(InvalidHook::NoCommand));
    let mut hook = sandbox.hook("true");
    assert_eq!(hook.check(), Ok(()));
    hook.points.clear();
    assert_eq!(hook.check(), Err(InvalidHook::NoPoints));
    assert!(Matcher::new("(?x) a # comment").is_err());
    let hook = CommandHook {
        points: vec![HookPoint::TurnEnd],
        on_failure: OnFailure::Block,
        ..sandbox.hook("true")
    };
    assert_eq!(hook.check(), Err(InvalidHook::NothingToBlock));
}

#[test]
fn a_folder_is_matched_name_by_name_by_what_it_really_is() {
    let sandbox = Sandbox::new();
    let root = sandbox.folder.path();
    for name in ["work", "work/inner", "workshop"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(root.join("work"), root.join("link")).unwrap();
    let event = Notification::SessionShutdown { reason: "end" };
    let event = HookEvent::Notification(&event);
    for (folder, cwd, applies) in [
        ("work", "work", true),
        ("work", "work/inner", true),
        ("work", "workshop", false),
        ("work/inner", "work", false),
        ("link", "work/inner", true),
        ("work", "link/inner", true),
        ("gone", "gone", true),
        ("gone", "work", false),
    ] {
        let hook = CommandHook {
            folder: Some(root.join(folder)),
            ..sandbox.hook("true")
        };
        let context = sandbox.session.context(root.join(cwd));
        assert_eq!(hook.applies(&event, &context), applies, "{folder} {cwd}");
    }
}

#[tokio::test]
async fn a_hook_runs_only_for_what_it_is_for() {
    let sandbox = Sandbox::new();
    let hook = CommandHook {
        points: vec![HookPoint::ToolCall],
        matcher: Some(Matcher::new("bash|write").unwrap()),
        ..sandbox.hook("exit 2")
    };
    assert!(hook.wants(HookPoint::ToolCall) && !hook.wants(HookPoint::TurnEnd));
    let mut hooks = HookSet::default();
    hooks.register(hook);
    let arguments = json!({});
    let mut blocked = Vec::new();
    for tool in ["read", "write", "rewrite"] {
        let event = ToolCallEvent {
            call_id: "c",
            tool,
            arguments: &arguments,
        };
        let merged = hooks.tool_call(&event, &sandbox.context).await;
        assert_eq!(merged.failures, []);
        if merged.result != ToolCallResult::Proceed {
            blocked.push(tool);
        }
    }
    assert_eq!(blocked, ["write"]);
}

#[tokio::test]
async fn every_point_of_the_trait_runs_the_program() {
    let sandbox = Sandbox::new();
    let mut hooks = HookSet::default();
    hooks.register(sandbox.hook("echo $AGENT_CLI_HOOK >> points; cat > /dev/null"));
    let samples = sandbox.session.samples().unwrap();
    for point in HookPoint::ALL {
        let context = &sandbox.context;
        let failures = match samples.event(point).unwrap() {
            HookEvent::BeforePrompt(event) => hooks.before_prompt(&event, context).await.failures,
            HookEvent::ToolCall(event) => hooks.tool_call(&event, context).await.failures,
            HookEvent::BeforeCompact(event) => hooks.before_compact(&event, context).await.failures,
            HookEvent::Compacting(event) => hooks.compacting(&event, context).await.failures,
            HookEvent::BeforeTree(event) => hooks.before_tree(&event, context).await.failures,
            HookEvent::Notification(event) => hooks.notify(event, context).await,
        };
        assert_eq!(failures, [], "{point}");
    }
    let told = fs::read_to_string(sandbox.folder.path().join("points")).unwrap();
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told, HookPoint::ALL.map(HookPoint::name));
}

#[tokio::test]
async fn context_that_would_take_the_room_of_the_conversation_is_a_failure() {
    let sandbox = Sandbox::new();
    for point in [HookPoint::BeforePrompt, HookPoint::SessionCompacting] {
        let answer = |length| json!({ "context": ["x".repeat(length), " "] }).to_string();
        let failed = sandbox.answer(&answer(33_000), point).await.unwrap_err();
        assert_eq!(failed, "context has 33000 bytes; give at most 32768");
        assert!(sandbox.answer(&answer(32_768), point).await.is_ok());
    }
}

#[tokio::test]
async fn an_empty_prompt_is_none() {
    let sandbox = Sandbox::new();
    let answer = sandbox.answer("{\"prompt\":\" \\n\"}", HookPoint::SessionCompacting);
    let nothing = HookAnswer::nothing(HookPoint::SessionCompacting);
    assert_eq!(answer.await, Ok(nothing));
}

#[tokio::test]
async fn who_cancels_is_heard_whatever_else_is_said() {
    let sandbox = Sandbox::new();
    for point in [
        HookPoint::SessionBeforeCompact,
        HookPoint::SessionBeforeTree,
    ] {
        let answer = "{\"cancel\":true,\"compaction\":{\"summary\":\"\"},\"summary\":7}";
        let answer = sandbox.answer(answer, point).await.unwrap();
        assert_eq!(answer, HookAnswer::blocked(point, None));
    }
}

#[test]
fn a_program_is_not_looked_for_in_the_folder_that_is_worked_in() {
    let sandbox = Sandbox::new();
    let hook = |program: &str| CommandHook {
        command: HookCommand::Program(vec![program.to_owned()]),
        ..sandbox.hook("")
    };
    for program in ["scripts/guard.sh", "./guard.sh", "~/guard.sh"] {
        let relative = InvalidHook::Relative(program.to_owned());
        assert_eq!(hook(program).check(), Err(relative));
    }
    for program in ["python3", "/usr/bin/env"] {
        assert_eq!(hook(program).check(), Ok(()));
    }
}
