//! As much of an HTTP client as the smoke cases need: one request a connection, the answer as it came.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::run::Outcome;

/// The longest silence; a small machine reads a prompt slowly.
const SILENCE: Duration = Duration::from_secs(300);

/// An answer with its body whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body, with the chunked coding taken off.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Outcome<Value> {
        serde_json::from_slice(&self.body)
            .map_err(|error| format!("no JSON ({error}): {}", self.text()))
    }

    /// Returns the data of the body's server-sent events.
    pub fn events(&self) -> Vec<String> {
        let text = self.text().replace("\r\n", "\n");
        let events = text.split("\n\n").map(|event| {
            let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            let data = data.map(|data| data.strip_prefix(' ').unwrap_or(data));
            data.collect::<Vec<_>>().join("\n")
        });
        events.filter(|data| !data.is_empty()).collect()
    }
}

/// Sends a request to loopback and reads the answer to its end.
pub fn ask(port: u16, method: &str, path: &str, body: Option<&Value>) -> Outcome<Answer> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let exchange = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange().map_err(|error: std::io::Error| format!("{method} {path}: {error}"))?;
    parse(&answer).ok_or_else(|| {
        let text = String::from_utf8_lossy(&answer);
        format!("{method} {path}: the answer is incomplete: {text}")
    })
}

/// Returns the answer in what came, or `None` when it is none or incomplete.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = memchr::memmem::find(bytes, b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end])
        .ok()?
        .to_ascii_lowercase();
    let rest = &bytes[end + 4..];
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(own, _)| *own == name)
            .map(|(_, value)| value.trim())
    };
    let body = match (header("transfer-encoding"), header("content-length")) {
        (Some("chunked"), _) => unchunk(rest)?,
        (_, Some(length)) => rest.get(..length.parse().ok()?)?.to_vec(),
        _ => rest.to_vec(),
    };
    Some(Answer { status, body })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = memchr::memmem::find(rest, b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 2 + size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn text(bytes: &[u8]) -> Option<(u16, String, Vec<String>)> {
        let answer = parse(bytes)?;
        Some((answer.status, answer.text(), answer.events()))
    }

    #[test]
    fn an_answer_is_taken_apart() {
        let sized = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(text(sized), Some((400, "{}".to_owned(), vec![])));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: a\n\r\nA\r\n\ndata: b\n\n\r\n0\r\n\r\n";
        let events = vec!["a".to_owned(), "b".to_owned()];
        let body = "data: a\n\ndata: b\n\n".to_owned();
        assert_eq!(text(chunked), Some((200, body, events)));
    }

    #[test]
    fn half_an_answer_is_none() {
        let cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: a\n\r\n";
        assert_eq!(text(cut), None);
        let short = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}";
        assert_eq!(text(short), None);
    }
}
