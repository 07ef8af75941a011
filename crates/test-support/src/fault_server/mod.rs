//! An HTTP server on loopback with replies chosen by a test: it answers, drips, breaks off, stays silent.

mod connection;
mod reply;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

pub use reply::{Chunk, End, Reply};

/// One request as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// `POST`, `GET`, ...
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names (in lower case) and values, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, with the chunked coding taken off.
    pub body: Vec<u8>,
}

impl Received {
    /// Returns the first value of a header; its name is compared without case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    /// When the body is not JSON: a test that calls this expects it.
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("the body of {} is not JSON: {error}", self.path),
        }
    }
}

/// Returns the reply to the `n`th request, counted from 0.
type Script = dyn Fn(usize, &Received) -> Reply + Send + Sync;

#[derive(Default)]
struct Record {
    received: Vec<Received>,
    /// Bytes of the body written so far, by request.
    written: Vec<u64>,
    /// Requests whose client disconnected before the answer was complete.
    left: BTreeSet<usize>,
    connections: BTreeMap<usize, Connection>,
}

struct Connection {
    /// A second handle, with which the connection can be ended from outside; `None` when its thread is done.
    stream: Option<TcpStream>,
    thread: JoinHandle<()>,
}

struct Shared {
    script: Box<Script>,
    stopping: AtomicBool,
    record: Mutex<Record>,
    changed: Condvar,
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// A server on 127.0.0.1 that serves one request a connection and records it. Stops when it is dropped.
///
/// ```
/// use test_support::{FaultServer, Reply, streams};
///
/// let server = FaultServer::start(|nth, _request| match nth {
///     0 => Reply::Reset,
///     _ => streams::chat_stream("after a retry"),
/// });
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// ```
pub struct FaultServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

impl FaultServer {
    /// Starts a server that calls `replies` with each request, counted from 0.
    ///
    /// # Panics
    /// When loopback cannot be bound.
    pub fn start(replies: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Self {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = match bound {
            Ok(bound) => bound,
            Err(error) => panic!("cannot listen on loopback: {error}"),
        };
        let shared = Arc::new(Shared {
            script: Box::new(replies),
            stopping: AtomicBool::new(false),
            record: Mutex::default(),
            changed: Condvar::new(),
        });
        let own = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || accept(&listener, &own));
        Self {
            shared,
            address,
            acceptor: Some(acceptor),
        }
    }

    /// Starts a server that returns these replies in turn, and then repeats the last one.
    ///
    /// # Panics
    /// When `replies` is empty or loopback cannot be bound.
    pub fn replaying(replies: Vec<Reply>) -> Self {
        assert!(!replies.is_empty(), "a server needs a reply");
        Self::start(move |nth, _| replies[nth.min(replies.len() - 1)].clone())
    }

    /// Returns `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request so far, in the order in which they were read to their end.
    pub fn received(&self) -> Vec<Received> {
        self.shared.record().received.clone()
    }

    /// Returns how many bytes of the body (before the chunked coding) were written in answer to the `nth` request.
    pub fn written(&self, nth: usize) -> u64 {
        let record = self.shared.record();
        record.written.get(nth).copied().unwrap_or_default()
    }

    /// Waits until the client of the `nth` request has closed its connection before the answer was complete;
    /// false when it has not within `limit`. Seen only while the reply waits or writes.
    pub fn wait_until_left(&self, nth: usize, limit: Duration) -> bool {
        self.wait_for(limit, |record| record.left.contains(&nth))
    }

    /// Waits until `count` requests have come; false when they have not within `limit`.
    pub fn wait_until_received(&self, count: usize, limit: Duration) -> bool {
        self.wait_for(limit, |record| record.received.len() >= count)
    }

    fn wait_for(&self, limit: Duration, met: impl Fn(&Record) -> bool) -> bool {
        let waited = self
            .shared
            .changed
            .wait_timeout_while(self.shared.record(), limit, |record| !met(record))
            .unwrap_or_else(PoisonError::into_inner);
        !waited.1.timed_out()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // A connection wakes the thread that accepts connections.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
        let connections = std::mem::take(&mut self.shared.record().connections);
        for connection in connections.into_values() {
            if let Some(stream) = &connection.stream {
                drop(stream.shutdown(Shutdown::Both));
            }
            drop(connection.thread.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in listener.incoming().enumerate() {
        if shared.stopping() {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Ok(handle) = stream.try_clone() else {
            continue;
        };
        let mut record = shared.record();
        record
            .connections
            .retain(|_, connection| !connection.thread.is_finished());
        let own = Arc::clone(shared);
        let thread = std::thread::spawn(move || {
            let end = AtEnd {
                number,
                shared: &own,
            };
            connection::serve(&stream, end.shared);
        });
        let connection = Connection {
            stream: Some(handle),
            thread,
        };
        record.connections.insert(number, connection);
    }
}

/// Lets go of the second handle when a connection's thread is done, also by a panic of the script: only
/// the last handle that is dropped closes the connection.
struct AtEnd<'a> {
    number: usize,
    shared: &'a Shared,
}

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.shared.record().connections.get_mut(&self.number) {
            connection.stream = None;
        }
    }
}

/// Returns a URL at which no server listens. Its port stays reserved until the process ends.
///
/// # Panics
/// When loopback cannot be bound.
pub fn refused_url() -> String {
    let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let bound = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)
        .and_then(|socket| socket.bind(&any.into()).map(|()| socket))
        .and_then(|socket| Ok((socket.local_addr()?, socket)));
    match bound {
        Ok((address, socket)) => {
            // Bound, but not listening: a connection is refused, and no other test gets the port.
            std::mem::forget(socket);
            let port = address.as_socket_ipv4().map_or(1, |address| address.port());
            format!("http://127.0.0.1:{port}")
        }
        Err(error) => panic!("cannot bind loopback: {error}"),
    }
}

#[cfg(test)]
mod tests;
