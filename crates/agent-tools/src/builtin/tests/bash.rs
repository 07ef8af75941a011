//! `bash`: output, exit codes, and that nothing outlives a call.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use insta::assert_snapshot;
use llm_providers::Redactor;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{TestWorkspace, text};
use crate::LiveOutput;
use crate::approval::{Approvals, Policy};
use crate::builtin::screen::Screen;
use hooks::process::is_secret;

/// How long a test waits for what must happen; only a failing one waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

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
        closed.expect("a process outlived the call");
    }
}

#[tokio::test]
async fn output_comes_in_the_order_of_writing() {
    let sandbox = TestWorkspace::new();
    let command =
        "pwd; for i in 1 2 3; do echo out$i; echo err$i >&2; done; read x || echo no input";
    let output = sandbox.run("bash", json!({ "command": command })).await;
    let root = sandbox.context.workspace.root().to_str().unwrap();
    assert_snapshot!(text(&output).replace(root, "$"), @"
    $
    out1
    err1
    out2
    err2
    out3
    err3
    no input
    ");
    assert!(!output.is_error);
    let expected = json!({ "outcome": "exited", "exit_code": 0, "truncated": false, "full_output_path": null });
    assert_eq!(output.details, Some(expected));
    assert_eq!(
        sandbox.good("bash", json!({ "command": "true" })).await,
        "[no output]\n"
    );
}

#[tokio::test]
async fn an_exit_code_is_told() {
    let sandbox = TestWorkspace::new();
    let failed = sandbox
        .run("bash", json!({ "command": "printf oops; exit 3" }))
        .await;
    assert!(failed.is_error);
    assert_snapshot!(text(&failed), @"
    oops
    [exit code 3]
    ");
    assert_eq!(failed.details.unwrap()["exit_code"], 3);
    let killed = sandbox
        .bad("bash", json!({ "command": "kill -9 $$" }))
        .await;
    assert_snapshot!(killed, @"
    [no output]
    [killed by signal 9]
    ");
}

#[tokio::test]
async fn escape_sequences_and_control_characters_go() {
    let sandbox = TestWorkspace::new();
    let command =
        r"printf '\033[1;31mred\033[0m \033]0;title\007x\033(By\0z\010\r\n10%%\r20%%\r\n\377'";
    let shown = sandbox.good("bash", json!({ "command": command })).await;
    assert_eq!(shown, "red xy\u{fffd}z\u{fffd}\n10%\n20%\n\u{fffd}");
}

proptest! {
    #[test]
    fn pieces_of_output_say_what_the_whole_does(
        bytes in prop::collection::vec(prop_oneof![
            any::<u8>(),
            prop::sample::select(b"\x1b[]\\m;1\r\n\x07P\xc2\x9b\xe2\x82\xac".to_vec()),
        ], 0..60),
        at in 0..60usize,
    ) {
        let show = |pieces: &[&[u8]]| {
            let mut screen = Screen::default();
            let mut text = String::new();
            for piece in pieces {
                screen.feed(piece, &mut text);
            }
            screen.finish(&mut text);
            text
        };
        let whole = show(&[&bytes]);
        let (one, other) = bytes.split_at(at.min(bytes.len()));
        prop_assert_eq!(&show(&[one, other]), &whole);
        prop_assert!(!whole.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
    }
}

#[tokio::test]
async fn long_output_keeps_both_ends_and_a_file() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.limits.output_lines = 6;
    let output = sandbox
        .run("bash", json!({ "command": "seq 100000" }))
        .await;
    let details = output.details.clone().unwrap();
    let path = details["full_output_path"].as_str().unwrap();
    assert_snapshot!(text(&output).replace(path, "FILE"), @"
    1
    2
    3
    [99994 lines, 588870 bytes left out here]
    99998
    99999
    100000
    [the whole output is in FILE]
    ");
    let expected: String = (1..=100_000).map(|line| format!("{line}\n")).collect();
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.as_ref()), 0o600);
    assert_eq!(mode(sandbox.context.overflow.as_deref().unwrap()), 0o700);
    let page = json!({ "path": path, "offset": 70_000, "limit": 1 });
    assert!(sandbox.good("read", page).await.starts_with("70000\n"));
}

#[tokio::test]
async fn output_is_capped_by_bytes_and_long_lines_too() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.limits.output_bytes = 40;
    let shown = sandbox
        .run(
            "bash",
            json!({ "command": "printf %0100d 7; echo; echo end" }),
        )
        .await;
    let file = |output: &Value| output["full_output_path"].as_str().unwrap().to_owned();
    let path = file(shown.details.as_ref().unwrap());
    assert_snapshot!(text(&shown).replace(&path, "FILE"), @"
    00000000000000000000
    [1 line, 81 bytes left out here]
    end
    [the whole output is in FILE]
    ");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!("{:0>100}\nend\n", 7)
    );

    sandbox.context.limits.output_bytes = 1000;
    sandbox.context.limits.line_chars = 10;
    let shown = sandbox
        .run("bash", json!({ "command": "printf %020d 7" }))
        .await;
    let path = file(shown.details.as_ref().unwrap());
    assert_snapshot!(text(&shown).replace(&path, "FILE"), @"
    0000000000 [10 more bytes in this line]
    [the whole output is in FILE]
    ");
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{:0>20}", 7));

    sandbox.context.limits.full_output_bytes = 5;
    let shown = sandbox
        .run("bash", json!({ "command": "printf %020d 7" }))
        .await;
    let path = file(shown.details.as_ref().unwrap());
    assert!(text(&shown).contains("the first 5 bytes"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "00000");

    sandbox.context.overflow = None;
    let shown = sandbox
        .good("bash", json!({ "command": "printf %020d 7" }))
        .await;
    assert_snapshot!(shown, @"
    0000000000 [10 more bytes in this line]
    [the whole output was not kept]
    ");
}

#[tokio::test]
async fn one_line_of_any_length_keeps_the_end_of_the_output() {
    let mut sandbox = TestWorkspace::new();
    sandbox.context.overflow = None;
    let command = "head -c 10000000 /dev/zero | tr '\\0' 'x'; echo; echo end";
    let shown = sandbox.good("bash", json!({ "command": command })).await;
    assert!(shown.ends_with("end\n[the whole output was not kept]\n"));
    assert!(shown.len() < 60_000);
}

#[tokio::test]
async fn cancelling_kills_the_whole_tree() {
    let sandbox = TestWorkspace::new();
    let mut pipe = Pipe::listen(sandbox.fifo("fifo"));
    let command = "exec 3>fifo; (sleep 1000 & sleep 1000) & echo begun >&3; wait";
    let run = sandbox.run("bash", json!({ "command": command }));
    let cancel = async {
        (&mut pipe.begun).await.unwrap();
        sandbox.context.cancel.cancel();
    };
    let both = async { tokio::join!(run, cancel) };
    let (output, ()) = tokio::time::timeout(PATIENCE, both).await.unwrap();
    assert!(output.is_error);
    assert!(text(&output).starts_with("cancelled"), "{}", text(&output));
    assert_eq!(output.details.unwrap()["outcome"], "cancelled");
    pipe.assert_all_gone();
}

#[tokio::test]
async fn a_dropped_call_kills_the_whole_tree() {
    let sandbox = TestWorkspace::new();
    let mut pipe = Pipe::listen(sandbox.fifo("fifo"));
    let command = "exec 3>fifo; (sleep 1000 & sleep 1000) & echo begun >&3; wait";
    let run = sandbox.run("bash", json!({ "command": command }));
    tokio::select! {
        output = run => panic!("{}", text(&output)),
        begun = &mut pipe.begun => begun.unwrap(),
    }
    pipe.assert_all_gone();
}

#[tokio::test]
async fn a_timeout_kills_the_whole_tree() {
    // A slow machine may need more time to get there.
    for limit in [100, 1000, 10_000] {
        let mut sandbox = TestWorkspace::new();
        sandbox.context.limits.bash_timeout = Duration::from_millis(limit);
        let pipe = Pipe::listen(sandbox.fifo("fifo"));
        let command = "exec 3>fifo; (sleep 1000 & sleep 1000) & echo begun; wait";
        let shown = sandbox.bad("bash", json!({ "command": command })).await;
        assert!(
            shown.starts_with("the command ran out of time after"),
            "{shown}"
        );
        if shown.ends_with("begun\n") {
            pipe.assert_all_gone();
            return;
        }
    }
    panic!("the command never began");
}

#[tokio::test]
async fn what_is_left_in_the_background_dies_with_the_command() {
    let sandbox = TestWorkspace::new();
    let pipe = Pipe::listen(sandbox.fifo("fifo"));
    let command = "exec 3>fifo; nohup sleep 1000 & echo done";
    let run = sandbox.good("bash", json!({ "command": command }));
    let shown = tokio::time::timeout(PATIENCE, run).await.unwrap();
    assert!(shown.contains("done\n"), "{shown}");
    pipe.assert_all_gone();
}

#[tokio::test]
async fn a_daemon_that_left_the_group_does_not_hang_us() {
    let sandbox = TestWorkspace::new();
    sandbox.fifo("fifo");
    let command = "setsid sh -c 'echo $$ > fifo; exec sleep 1000' & cat fifo";
    let run = sandbox.good("bash", json!({ "command": command }));
    let shown = tokio::time::timeout(PATIENCE, run).await.unwrap();
    let number: i32 = shown.trim().parse().unwrap();
    let daemon = rustix::process::Pid::from_raw(number).unwrap();
    // It held the pipe to the end, and no other code ends it.
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn what_ends_soon_after_the_command_is_heard() {
    let sandbox = TestWorkspace::new();
    let command = "echo one > >(sed 's/one/two/')";
    let shown = sandbox.good("bash", json!({ "command": command })).await;
    assert_eq!(shown, "two\n");
}

#[test]
fn secrets_are_recognized_by_value() {
    let holds_key = |name: &str, value: &str| is_secret(name.as_ref(), value.as_ref(), &[]);
    for value in [
        "postgres://app:hunter2@db.example/app",
        "redis://:hunter2@localhost:6379/0",
        "amqp://localhost,amqp://user:pass@other",
        "https://0123456789abcdef0123@o1.ingest.sentry.example/2",
        "sk-proj-0123456789abcdef",
        "ghp_0123456789abcdef0123",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "Server=db;User Id=app;Password=hunter2;",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=aGVsbG8=",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz",
    ] {
        assert!(holds_key("PLAIN", value), "{value}");
    }
    for value in [
        "postgres://localhost/app",
        "https://example.com/a@b",
        "ssh://git@example.com/x.git",
        "sk-short",
        "/home/ann/project",
        "",
    ] {
        assert!(!holds_key("PLAIN", value), "{value}");
    }
    assert!(!holds_key("HTTPS_PROXY", "http://user:pass@proxy:3128"));
}

#[test]
fn secrets_are_told_by_name() {
    let listed = ["PLAIN".to_owned()];
    let secret = |name: &&str| is_secret(name.as_ref(), "".as_ref(), &listed);
    let names = [
        "X_API_KEY",
        "x_token",
        "A_SECRET",
        "DB_PASSWORD",
        "PLAIN",
        "PLAINER",
        "MY_TOKEN_X",
        "TOKEN",
        "PASSWD",
        "APIKEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_PAT",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GIT_CREDENTIAL",
        "SSH_PRIVATE_KEY",
        "PATH",
        "MAX_TOKENS",
        "SSH_AUTH_SOCK",
        "KEYBOARD",
        "MONKEY",
        "KEY",
        "PAT",
        "MANPATH",
        "SECRETARY_NAME",
        "PGPASSWORD",
        "SSHPASS",
        "MYSQL_PWD",
        "GHTOKEN",
        "SIGNING_KEYS",
        "PWD",
        "OLDPWD",
        "PASSAGE",
    ];
    let secrets: Vec<&str> = names.into_iter().filter(secret).collect();
    assert_eq!(
        secrets,
        [
            "X_API_KEY",
            "x_token",
            "A_SECRET",
            "DB_PASSWORD",
            "PLAIN",
            "MY_TOKEN_X",
            "TOKEN",
            "PASSWD",
            "APIKEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_PAT",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GIT_CREDENTIAL",
            "SSH_PRIVATE_KEY",
            "SECRETARY_NAME",
            "PGPASSWORD",
            "SSHPASS",
            "MYSQL_PWD",
            "GHTOKEN",
            "SIGNING_KEYS",
        ]
    );
}

#[test]
fn secrets_do_not_reach_a_command() {
    const MARK: &str = "TOOLS_TEST_INSIDE";
    if std::env::var_os(MARK).is_none() {
        // Variables come from outside: the test runs itself again with some.
        let path = "builtin::tests::bash::secrets_do_not_reach_a_command";
        let inside = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", path, "--nocapture"])
            .env(MARK, "1")
            .env("SOME_TOKEN", "hidden-1")
            .env("LISTED", "hidden-2")
            .env("HARMLESS", "shown")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&inside.stdout).into_owned();
        assert!(
            inside.status.success() && said.contains("1 passed"),
            "{said}"
        );
        return;
    }
    let mut sandbox = TestWorkspace::new();
    sandbox.context.secret_variables = vec!["LISTED".to_owned()];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let shown = runtime.block_on(sandbox.good("bash", json!({ "command": "env" })));
    assert!(shown.contains("HARMLESS=shown"));
    assert!(!shown.contains("hidden"), "{shown}");
}

#[tokio::test]
async fn nobody_runs_commands_unasked() {
    let mut sandbox = TestWorkspace::new();
    let command = json!({ "command": "touch made", "description": "makes a file" });
    sandbox.context.approvals = Approvals::new([].into(), false);
    assert_snapshot!(sandbox.bad("bash", command.clone()).await, @"bash needs approval and no user can be asked; the user can allow it for a run, or for good in tools.policies");
    sandbox.context.approvals = Approvals::new([("bash".to_owned(), Policy::Deny)].into(), false);
    assert_snapshot!(sandbox.bad("bash", command).await, @"bash is not allowed here; do it with the other tools, or say what is to be run");
    assert!(!sandbox.path("made").exists());
}

/// Lets the toolbox know a key.
pub(super) fn knowing(key: &str) -> TestWorkspace {
    let mut sandbox = TestWorkspace::new();
    let mut redactor = llm_providers::Redactor::default();
    redactor.add(key);
    sandbox.context.redactor = std::sync::Arc::new(redactor);
    sandbox
}

#[tokio::test]
async fn no_part_of_a_key_is_shown_or_kept_where_output_is_cut() {
    const KEY: &str = "sk-0123456789abcdefghijklmnopqrstuvwxyz";
    let mut sandbox = knowing(KEY);
    sandbox.put("key", KEY);
    // Wherever the beginning is cut off, and however the pipe parts what comes.
    for before in [0, 1, 480, 495, 499, 500, 510, 16_370, 16_384] {
        sandbox.context.limits.output_bytes = 1000;
        let command = format!(
            "head -c {before} /dev/zero | tr '\\0' x; cat key; cat key; head -c 40000 /dev/zero | tr '\\0' y; cat key"
        );
        let output = sandbox
            .run("bash", serde_json::json!({ "command": command }))
            .await;
        let shown = text(&output);
        assert!(
            !shown.contains("sk-0") && !shown.contains("wxyz"),
            "{before}: {shown}"
        );
        let full = output.details.unwrap()["full_output_path"].clone();
        let kept = std::fs::read_to_string(full.as_str().unwrap()).unwrap();
        assert!(!kept.contains("sk-0") && !kept.contains("wxyz"), "{before}");
        assert_eq!(kept.matches("[secret removed]").count(), 3, "{before}");
        assert_eq!(kept.matches('x').count(), before, "{before}");
    }
}

#[tokio::test]
async fn output_is_shown_while_the_command_runs() {
    const KEY: &str = "sk-0123456789abcdef";
    let mut sandbox = TestWorkspace::new();
    let mut redactor = Redactor::default();
    redactor.add(KEY);
    sandbox.context.redactor = Arc::new(redactor);
    let updates = Arc::new(Mutex::new(Vec::new()));
    let (shown, go) = (updates.clone(), sandbox.path("go"));
    sandbox.context.live = LiveOutput::new(move |output: String| {
        // The command continues only once the half line was seen.
        if output.contains("half") {
            fs::write(&go, "").unwrap();
        }
        shown.lock().unwrap().push(output);
    });
    let lines = "for i in $(seq 3000); do echo line $i; done";
    let wait = "until [ -e go ]; do sleep 0.01; done";
    let command = format!("{lines}; printf 'half sk-01234'; {wait}; echo 56789abcdef");
    let whole = sandbox.good("bash", json!({ "command": command })).await;
    assert!(whole.contains("half [secret removed]"), "{whole}");
    let updates = updates.lock().unwrap();
    let newest = updates.last().unwrap();
    assert!(newest.contains("line 3000\nhalf "), "{newest}");
    for update in &*updates {
        assert!(update.len() <= 8000 && !update.contains("sk-0"), "{update}");
    }
}
