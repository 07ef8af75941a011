//! A proxy on loopback that disturbs the connections to a server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::server::Server;

/// How late an answer comes.
const DELAY: Duration = Duration::from_millis(50);

/// What happens to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It ends before the answer.
    Cut,
    /// The answer comes late.
    Delay,
    /// The answer does not come, and the connection stays open.
    HalfOpen,
}

/// What is done to connections.
#[derive(Default)]
struct State {
    open: Mutex<Vec<TcpStream>>,
    /// The next write gets no answer, and its connection ends.
    loses_answer: AtomicBool,
    /// The fault, and how many answers pass before it.
    fault: Mutex<Option<(Fault, usize)>>,
}

impl State {
    /// Returns the fault that this answer meets.
    fn fault(&self) -> Option<Fault> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *fault {
            Some((_, left @ 1..)) => {
                *left -= 1;
                None
            }
            _ => fault.take().map(|(fault, _)| fault),
        }
    }
}

/// A proxy.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// Returns a proxy to a server, which listens until the process ends.
    pub fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::<State>::default();
        let (socket, shared) = (server.folder().join(".s.PGSQL.5432"), state.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                connect(client, &socket, &shared);
            }
        });
        Self { port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections.
    pub fn cut(&self) {
        let mut open = self
            .state
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for client in open.drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    pub fn lose_next_answer(&self) {
        self.state.loses_answer.store(true, Ordering::SeqCst);
    }

    /// Sets what happens once so many answers have passed.
    pub fn disturb(&self, fault: Option<(Fault, usize)>) {
        *self
            .state
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

fn connect(client: TcpStream, socket: &Path, state: &Arc<State>) {
    let Ok(server) = UnixStream::connect(socket) else {
        return;
    };
    let mut open = state.open.lock().unwrap_or_else(PoisonError::into_inner);
    open.push(client.try_clone().expect("a handle"));
    drop(open);
    let drops_answer = Arc::new(AtomicBool::new(false));
    let (from, to) = (
        client.try_clone().expect("a handle"),
        server.try_clone().expect("a handle"),
    );
    let (shared, drops) = (state.clone(), drops_answer.clone());
    std::thread::spawn(move || {
        pump(from, to, |bytes| {
            let writes = bytes.windows(11).any(|part| part == b"agent_lines");
            let writes = writes && bytes.windows(6).any(|part| part == b"INSERT");
            if writes && shared.loses_answer.swap(false, Ordering::SeqCst) {
                drops.store(true, Ordering::SeqCst);
            }
            true
        });
    });
    let shared = state.clone();
    std::thread::spawn(move || {
        pump(server, client, |_| match shared.fault() {
            Some(Fault::Cut) => false,
            Some(Fault::Delay) => {
                std::thread::sleep(DELAY);
                true
            }
            Some(Fault::HalfOpen) => loop {
                std::thread::park();
            },
            None => !drops_answer.load(Ordering::SeqCst),
        });
    });
}

/// Passes bytes on while `passes` says so, and then ends both sides.
fn pump(mut from: impl Read + Close, mut to: impl Write + Close, passes: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !passes(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    from.close();
    to.close();
}

trait Close {
    fn close(&self);
}

impl Close for TcpStream {
    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Close for UnixStream {
    fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}
