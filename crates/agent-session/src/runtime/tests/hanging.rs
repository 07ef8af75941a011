//! A store that does not answer: what runs can be stopped, nothing is lost, and the session continues once it answers.

use std::fs::File;
use std::io;
use std::sync::Condvar;

use session_store::AppendFile;

use super::*;

/// Whether syncs of files end, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sync {
    Ends,
    Hangs,
    Fails,
}

/// Files whose syncs can be made to hang.
#[derive(Debug, Clone)]
struct Gate(Arc<(Mutex<(Sync, usize)>, Condvar)>);

impl Gate {
    fn new() -> Self {
        Self(Arc::new((Mutex::new((Sync::Ends, 0)), Condvar::new())))
    }

    fn set(&self, sync: Sync) {
        self.0.0.lock().unwrap().0 = sync;
        self.0.1.notify_all();
    }

    /// Waits while syncs hang, and returns whether they fail.
    fn pass(&self) -> io::Result<()> {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.1 += 1;
        let held = changed.wait_while(state, |(sync, _)| *sync == Sync::Hangs);
        let mut state = held.unwrap();
        state.1 -= 1;
        changed.notify_all();
        match state.0 {
            Sync::Fails => Err(io::ErrorKind::TimedOut.into()),
            Sync::Ends | Sync::Hangs => Ok(()),
        }
    }

    /// Lets the syncs that hang end so, and waits until they have; those that follow succeed.
    fn end(&self, sync: Sync) {
        self.set(sync);
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap();
        let mut state = changed
            .wait_while(state, |(_, hanging)| *hanging > 0)
            .unwrap();
        state.0 = Sync::Ends;
    }
}

/// Lets the threads of a test end, whatever came of it.
struct Opened(Gate);

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.set(Sync::Ends);
    }
}

impl FileLayer for Gate {
    fn open(&self, path: &Path, new: bool) -> io::Result<Box<dyn AppendFile>> {
        let file = SystemFiles.open(path, new)?;
        let gate = self.clone();
        Ok(Box::new(GatedFile { file, gate }))
    }

    fn fill(
        &self,
        file: &File,
        write: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>,
    ) -> io::Result<()> {
        SystemFiles.fill(file, write)?;
        self.pass()
    }
}

struct GatedFile {
    file: Box<dyn AppendFile>,
    gate: Gate,
}

impl AppendFile for GatedFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_once(bytes)
    }

    fn position(&mut self) -> io::Result<u64> {
        self.file.position()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.gate.pass()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }
}

/// Returns a harness whose files hang when they are told to.
fn harness(script: &str) -> (Harness, Gate, Opened) {
    let gate = Gate::new();
    let mut harness = Harness::new(script);
    harness.files = Arc::new(gate.clone());
    harness.sync = SyncPolicy::Always;
    (harness, gate.clone(), Opened(gate))
}

/// Lets a run wait for so long.
async fn wait(life: &mut Life<'_>, time: Duration) {
    for _ in 0..50 {
        poll_fn(|context| Poll::Ready(life.step(context))).await;
        tokio::task::yield_now().await;
    }
    tokio::time::advance(time).await;
}

/// Says something whose answer cannot be stored.
async fn say_and_hang(life: &mut Life<'_>, gate: &Gate, text: &str) {
    life.say(text);
    life.until(|event| matches!(event, SessionEvent::TextDelta { .. }))
        .await;
    gate.set(Sync::Hangs);
}

fn is_answer(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Answer { .. })
}

fn without_paths(life: &Life<'_>, told: &str) -> String {
    told.replace(&life.path().display().to_string(), "FILE")
}

const WHOLE: &str = "\
system: 
model script
user: one
assistant (stop): a
user: two
assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
user: three
assistant (stop): c";

fn script() -> String {
    [answer("a"), answer(&words(40)), answer("c")].concat()
}

#[test]
fn a_write_past_its_time_limit_fails_and_loses_nothing() {
    for end in [Sync::Ends, Sync::Fails] {
        run(async {
            let (harness, gate, _opened) = harness(&script());
            let mut life = harness.live();
            life.ask("one").await;
            say_and_hang(&mut life, &gate, "two").await;
            wait(&mut life, Duration::from_secs(119)).await;
            assert!(!life.heard.iter().skip(life.told).any(is_answer), "{end:?}");
            wait(&mut life, Duration::from_secs(2)).await;
            let told = life.rest().await;
            insta::allow_duplicates! {
                insta::assert_snapshot!(without_paths(&life, &told), @"
                user: two
                answer (stop): lorem ipsum dolor sit amet lorem ipsum d
                turn failed: cannot write the session: FILE: the store did not answer in 120 seconds; it is not known whether the last write was stored
                ");
            }
            gate.end(end);
            life.ask("three").await;
            assert_eq!(life.written(), WHOLE, "{end:?}");
            assert_eq!(life.close().await.unsaved, None);
        });
    }
}

#[test]
fn an_abort_ends_the_wait_for_a_write_that_hangs() {
    run(async {
        let (harness, gate, _opened) = harness(&script());
        let mut life = harness.live();
        life.ask("one").await;
        say_and_hang(&mut life, &gate, "two").await;
        wait(&mut life, Duration::from_secs(1)).await;
        life.send(Command::Abort);
        wait(&mut life, Duration::from_secs(6)).await;
        let told = life.rest().await;
        insta::assert_snapshot!(without_paths(&life, &told), @"
        user: two
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn failed: cannot write the session: FILE: the store did not answer before the work was stopped; it is not known whether the last write was stored
        ");
        gate.end(Sync::Ends);
        life.ask("three").await;
        assert_eq!(life.written(), WHOLE);
        assert_eq!(life.close().await.unsaved, None);
    });
}

#[test]
fn a_close_ends_the_wait_for_a_write_that_hangs() {
    run(async {
        let (harness, gate, _opened) = harness(&script());
        let mut life = harness.live();
        life.ask("one").await;
        say_and_hang(&mut life, &gate, "two").await;
        wait(&mut life, Duration::from_secs(1)).await;
        life.send(Command::Close);
        while life.run.is_some() {
            wait(&mut life, Duration::from_secs(6)).await;
        }
        let finished = life.finished.take().unwrap();
        let unsaved = without_paths(&life, &finished.unsaved.unwrap());
        insta::assert_snapshot!(unsaved, @"FILE: the store did not answer before the work was stopped; it is not known whether the last write was stored");
        assert_eq!(finished.lost, 1);
    });
}

#[test]
fn tools_run_on_while_a_message_is_kept() {
    run(async {
        let read = json!([{ "name": "read", "arguments": { "path": "a.txt" } }]);
        let (mut harness, gate, _opened) =
            harness(&[calls(read), answer("b"), answer("c")].concat());
        harness.slow_tools();
        let mut life = harness.live();
        life.say("one");
        life.until(|event| matches!(event, SessionEvent::ToolStart { .. }))
            .await;
        gate.set(Sync::Hangs);
        life.say("two");
        wait(&mut life, Duration::from_secs(2)).await;
        life.until(|event| matches!(event, SessionEvent::ToolEnd { .. }))
            .await;
        gate.end(Sync::Ends);
        life.rest().await;
        insta::assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: one
        assistant (toolUse): read({"path":"a.txt"})
        toolResult: done
        assistant (stop): b
        user: two
        assistant (stop): c
        "#);
        life.close().await;
    });
}

#[test]
fn a_file_that_was_made_after_its_time_limit_is_continued() {
    for end in [Sync::Ends, Sync::Fails] {
        run(async {
            let (harness, gate, _opened) = harness(&[answer(&words(40)), answer("c")].concat());
            let mut life = harness.live();
            say_and_hang(&mut life, &gate, "one").await;
            wait(&mut life, Duration::from_secs(121)).await;
            let told = life.rest().await;
            assert!(told.contains("did not answer in 120 seconds"), "{told}");
            gate.end(end);
            life.ask("two").await;
            assert_eq!(
                life.written(),
                "system: \nmodel script\nuser: one\nassistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem \nuser: two\nassistant (stop): c",
                "{end:?}"
            );
            assert_eq!(life.close().await.unsaved, None);
        });
    }
}

#[test]
fn a_message_that_was_not_kept_in_time_can_be_said_again() {
    run(async {
        let (harness, gate, _opened) = harness(&answer("a"));
        let mut life = harness.live();
        gate.set(Sync::Hangs);
        life.say("one");
        wait(&mut life, Duration::from_secs(121)).await;
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        let told = life.news();
        assert!(
            told.starts_with("error: the message is not kept: "),
            "{told}"
        );
        gate.end(Sync::Ends);
        life.said.clear();
        life.ask("one").await;
        assert_eq!(
            life.written(),
            "system: \nmodel script\nuser: one\nassistant (stop): a"
        );
        life.close().await;
    });
}
