//! What runs and what is asked for while something else is waited for.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use llm_providers::CancellationToken;
use session_store::StoreError;
use tokio::time::Instant;

use crate::machine::Job;
use crate::runtime::events::Events;
use crate::runtime::jobs::{Done, Running};
use session_protocol::{Command, CommandReceiver};

/// How often jobs are polled while the reader of events is behind: their time limits still hold.
const BEHIND: Duration = Duration::from_secs(1);

/// How long a store may take for one write. Stores have limits of their own, which are shorter.
const WRITE_LIMIT: Duration = Duration::from_secs(120);

/// How long it may still take once what runs should stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// What is carried out next.
pub(super) enum Next {
    Command(Box<Command>),
    /// A job has ended.
    Ended(Job, Done),
}

/// The jobs that run, and the commands that wait.
pub(super) struct Work {
    jobs: FuturesUnordered<Running>,
    cancels: BTreeMap<Job, CancellationToken>,
    /// Jobs that ended while nothing could follow.
    ended: VecDeque<(Job, Done)>,
    pub commands: CommandReceiver,
    idle_timer: Option<Job>,
    /// The session ends, so that writes are waited for only a short time.
    pub is_ending: bool,
    events: Events,
}

impl Work {
    pub fn new(commands: CommandReceiver, events: Events) -> Self {
        Self {
            jobs: FuturesUnordered::new(),
            cancels: BTreeMap::new(),
            ended: VecDeque::new(),
            commands,
            idle_timer: None,
            is_ending: false,
            events,
        }
    }

    /// Starts a job; the token that it is given cancels it.
    pub fn start<F>(&mut self, job: Job, work: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = Done> + Send + 'static,
    {
        let cancel = CancellationToken::new();
        self.cancels.insert(job, cancel.clone());
        let work = work(cancel);
        self.jobs.push(Box::pin(async move { (job, work.await) }));
    }

    pub fn start_timer(&mut self, job: Job, time: Duration) {
        self.start(job, |cancel| async move {
            tokio::select! {
                () = cancel.cancelled() => Done::Stopped,
                () = tokio::time::sleep(time) => Done::Elapsed,
            }
        });
    }

    /// Starts the timer of an idle session; the one before does not count any more.
    pub fn restart_idle_timer(&mut self, job: Job, time: Option<Duration>) {
        if let Some(before) = self.idle_timer.replace(job) {
            self.cancel(before);
        }
        if let Some(time) = time {
            self.start_timer(job, time);
        }
    }

    pub fn cancel(&self, job: Job) {
        if let Some(cancel) = self.cancels.get(&job) {
            cancel.cancel();
        }
    }

    pub fn is_cancelled(&self, job: Job) -> bool {
        let cancel = self.cancels.get(&job);
        cancel.is_some_and(CancellationToken::is_cancelled)
    }

    /// Forgets a job whose end was carried out.
    pub fn forget(&mut self, job: Job) {
        self.cancels.remove(&job);
    }

    /// Returns whether a job was cancelled and has not ended yet.
    pub fn stops(&self) -> bool {
        let mut cancels = self.cancels.values();
        cancels.any(CancellationToken::is_cancelled)
    }

    /// Waits for the next command, as far as the session `listens`, and for the next job that ends. Unless the session
    /// `works`, ended jobs wait, and the others are polled once a second.
    pub async fn next(&mut self, listens: bool, works: bool) -> Next {
        loop {
            let (job, done) = tokio::select! {
                biased;
                command = self.commands.next(listens) => return Next::Command(Box::new(command)),
                Some(ended) = async { self.ended.pop_front() }, if works => ended,
                ended = poll_jobs(&mut self.jobs, works) => ended,
            };
            if works {
                return Next::Ended(job, done);
            }
            self.ended.push_back((job, done));
        }
    }

    /// Cancels all jobs, and waits until none runs.
    pub async fn stop_all(&mut self) {
        self.is_ending = true;
        for cancel in self.cancels.values() {
            cancel.cancel();
        }
        while self.jobs.next().await.is_some() {}
        self.ended.clear();
    }

    /// Waits for a write of the session at `path`. Meanwhile the jobs run, and commands are taken to be carried out
    /// later; one that stops what runs, or the session, shortens the wait.
    ///
    /// # Errors
    /// Those of the write; [`StoreError::Unknown`] after [`WRITE_LIMIT`], or after [`STOP_LIMIT`] once something should
    /// stop. The write is dropped then: the next one finds what it stored all the same.
    pub async fn written<T>(
        &mut self,
        path: PathBuf,
        write: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut write = pin!(write);
        let begun = Instant::now();
        let mut stopped = None;
        loop {
            if stopped.is_none() && (self.is_ending || self.commands.holds_stop()) {
                stopped = Some(Instant::now() + STOP_LIMIT);
            }
            let limit = begun + WRITE_LIMIT;
            let limit = stopped.map_or(limit, |stopped| limit.min(stopped));
            let works = !self.events.is_full(1) || self.stops();
            tokio::select! {
                biased;
                written = &mut write => return written,
                () = self.commands.hold(), if !self.is_ending => {}
                ended = poll_jobs(&mut self.jobs, works) => self.ended.push_back(ended),
                () = tokio::time::sleep_until(limit) => {
                    let reason = match stopped {
                        Some(_) => "the store did not answer before the work was stopped".to_owned(),
                        None => format!("the store did not answer in {} seconds", WRITE_LIMIT.as_secs()),
                    };
                    return Err(StoreError::Unknown { path, reason });
                }
            }
        }
    }
}

/// Returns the next of the jobs that ends.
async fn poll_jobs(jobs: &mut FuturesUnordered<Running>, works: bool) -> (Job, Done) {
    loop {
        let ended = match works {
            true => jobs.next().await,
            false => {
                tokio::time::sleep(BEHIND).await;
                jobs.next().now_or_never().flatten()
            }
        };
        match ended {
            Some(ended) => return ended,
            None if jobs.is_empty() => std::future::pending().await,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::{Done, Events, Work};
    use crate::machine::Job;
    use session_protocol::channel::{EVENT_BYTES, queue};
    use session_protocol::command_channel;

    #[tokio::test(start_paused = true)]
    async fn time_limits_of_jobs_hold_while_no_events_are_read() {
        let (_commands, receiver) = command_channel();
        let (sender, _events) = queue(EVENT_BYTES);
        let mut work = Work::new(receiver, Events::new(sender, Arc::default()));
        let ended = Arc::new(AtomicBool::new(false));
        let limit = ended.clone();
        work.start(Job(1), |_| async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            limit.store(true, Ordering::SeqCst);
            Done::Elapsed
        });
        let next = tokio::time::timeout(Duration::from_secs(10), work.next(true, false)).await;
        assert!(next.is_err(), "the end of the job waits");
        assert!(ended.load(Ordering::SeqCst));
    }
}
