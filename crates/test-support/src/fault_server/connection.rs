//! One connection: reads a request, gets the reply from the script, sends the reply.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::{Chunk, End, Received, Reply, Shared};

/// Below this a wait is a plain sleep: time limits of sockets are too coarse for it.
const SHORT: Duration = Duration::from_millis(10);

/// The reason why a reply was not completed: the client disconnected, or the server is being stopped.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// Serves one request. A connection without a complete request is closed and not recorded.
pub(super) fn serve(stream: &TcpStream, shared: &Shared) {
    // One write, one segment: what a test drips arrives in drips.
    drop(stream.set_nodelay(true));
    let mut reader = BufReader::new(stream);
    let Ok(Some(received)) = read_request(&mut reader) else {
        return;
    };
    let nth = {
        let mut record = shared.record();
        record.received.push(received.clone());
        record.written.push(0);
        record.received.len() - 1
    };
    shared.changed.notify_all();
    let reply = (shared.script)(nth, &received);
    let mut answer = Answer {
        stream,
        shared,
        nth,
    };
    if answer.carry_out(reply).is_err() && !shared.stopping() {
        shared.record().left.insert(nth);
        shared.changed.notify_all();
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Reads a line without its end; `None` when the client has closed.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    match reader.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned())),
    }
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Received>> {
    let Some(line) = read_line(reader)? else {
        return Ok(None);
    };
    let mut words = line.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(malformed("no request line"));
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = Vec::new();
    while let Some(line) = read_line(reader)?.filter(|line| !line.is_empty()) {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| malformed("no header line"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut received = Received {
        method,
        path,
        headers,
        body: Vec::new(),
    };
    let length = received.header("content-length").map(str::parse::<u64>);
    if received.header("transfer-encoding") == Some("chunked") {
        received.body = read_chunked(reader)?;
    } else if let Some(length) = length {
        let length = length.map_err(|_| malformed("no length"))?;
        reader.take(length).read_to_end(&mut received.body)?;
        if received.body.len() as u64 != length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Some(received))
}

fn read_chunked(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader)?.ok_or(ErrorKind::UnexpectedEof)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| malformed("no chunk size"))?;
        reader.take(size).read_to_end(&mut body)?;
        // The end of the chunk's line, or the empty line after the last chunk.
        read_line(reader)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

struct Answer<'a> {
    stream: &'a TcpStream,
    shared: &'a Shared,
    nth: usize,
}

impl Answer<'_> {
    fn carry_out(&mut self, reply: Reply) -> Result<(), Gone> {
        match reply {
            Reply::Whole {
                status,
                mut headers,
                body,
            } => {
                let is_length =
                    |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-length");
                if !headers.iter().any(is_length) {
                    headers.push(("content-length".to_owned(), body.len().to_string()));
                }
                self.head(status, &headers)?;
                self.stream.write_all(&body)?;
                self.count(body.len());
                Ok(())
            }
            Reply::Chunks {
                status,
                headers,
                chunks,
                end,
            } => {
                self.chunked_head(status, headers)?;
                for Chunk { bytes, delay } in chunks {
                    self.pause(delay)?;
                    self.chunk(&bytes)?;
                }
                self.end(end)
            }
            Reply::Repeated {
                status,
                headers,
                head,
                piece,
                bytes,
            } => {
                self.chunked_head(status, headers)?;
                self.chunk(&head)?;
                let mut left = bytes;
                while left > 0 && !piece.is_empty() {
                    let size =
                        usize::try_from(left).map_or(piece.len(), |left| left.min(piece.len()));
                    self.chunk(&piece[..size])?;
                    left -= size as u64;
                }
                self.end(End::Close)
            }
            Reply::Raw(bytes) => {
                self.stream.write_all(&bytes)?;
                self.count(bytes.len());
                Ok(())
            }
            Reply::Reset => self.reset(),
            Reply::Silent(time) => self.pause(time),
            Reply::After(time, reply) => {
                self.pause(time)?;
                self.carry_out(*reply)
            }
        }
    }

    fn end(&mut self, end: End) -> Result<(), Gone> {
        match end {
            End::Close => Ok(self.stream.write_all(b"0\r\n\r\n")?),
            End::Abort => Ok(()),
            End::Reset => self.reset(),
            End::Silence(time) => self.pause(time),
        }
    }

    fn head(&mut self, status: u16, headers: &[(String, String)]) -> Result<(), Gone> {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("connection: close\r\n\r\n");
        Ok(self.stream.write_all(head.as_bytes())?)
    }

    fn chunked_head(
        &mut self,
        status: u16,
        mut headers: Vec<(String, String)>,
    ) -> Result<(), Gone> {
        headers.push(("transfer-encoding".to_owned(), "chunked".to_owned()));
        self.head(status, &headers)
    }

    /// Writes one chunk; an empty one would be the end of the body and is left out.
    fn chunk(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        self.stream.write_all(&framed)?;
        self.count(bytes.len());
        Ok(())
    }

    fn count(&self, bytes: usize) {
        if let Some(written) = self.shared.record().written.get_mut(self.nth) {
            *written += bytes as u64;
        }
    }

    /// Makes the close that follows a RST instead of a FIN, by a linger of zero.
    fn reset(&mut self) -> Result<(), Gone> {
        socket2::SockRef::from(self.stream).set_linger(Some(Duration::ZERO))?;
        Ok(())
    }

    /// Waits. Ends early when the client closes or the server stops: both make a read return.
    fn pause(&mut self, time: Duration) -> Result<(), Gone> {
        if time < SHORT {
            std::thread::sleep(time);
            return Ok(());
        }
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.stream.set_read_timeout(Some(left))?;
            match (&mut &*self.stream).read(&mut [0; 64]) {
                Ok(0) => return Err(Gone),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    _ => return Err(Gone),
                },
            }
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        529 => "Site is overloaded",
        _ => "Other",
    }
}
