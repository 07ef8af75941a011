//! Tests of the server over a plain connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::{Chunk, End, FaultServer, Reply, refused_url};
use crate::streams;

/// Longer than any test takes; nothing waits for it to pass.
const LONG: Duration = Duration::from_secs(60);

fn connect(server: &FaultServer) -> TcpStream {
    TcpStream::connect(server.url().trim_start_matches("http://")).unwrap()
}

fn send(server: &FaultServer, body: &str) -> TcpStream {
    let mut stream = connect(server);
    let request = format!(
        "POST /v1/x?y=1 HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Sends a request and returns all that comes until the connection is closed.
fn ask(server: &FaultServer) -> String {
    let mut answer = Vec::new();
    send(server, "{}").read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Takes the chunked coding off.
fn unchunk(answer: &str) -> String {
    let (_, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        body.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
}

#[test]
fn requests_are_recorded_and_answered_in_turn() {
    let server = FaultServer::start(|nth, request| {
        Reply::json(429, &json!({"nth": nth, "body": request.json()})).header("retry-after", "7")
    });
    assert!(ask(&server).ends_with("{\"body\":{},\"nth\":0}"));
    let answer = ask(&server);
    assert!(answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
    assert!(answer.contains("retry-after: 7\r\ncontent-length: 19\r\n"));
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[1].method, "POST");
    assert_eq!(received[1].path, "/v1/x?y=1");
    assert_eq!(received[1].header("HOST"), Some("test"));
    assert_eq!(received[1].body, b"{}");
    assert_eq!(server.written(1), 19);
}

#[test]
fn a_chunked_request_is_put_together() {
    let server = FaultServer::replaying(vec![Reply::text(200, "text/plain", "ok")]);
    let mut stream = connect(&server);
    stream
        .write_all(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("\r\n\r\nok"));
    assert_eq!(server.received()[0].body, b"abcde");
}

#[test]
fn half_a_request_is_no_request() {
    let server = FaultServer::replaying(vec![Reply::text(200, "text/plain", "ok")]);
    let mut stream = connect(&server);
    stream
        .write_all(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc")
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!((answer.as_str(), server.received().len()), ("", 0));
}

#[test]
fn dripped_bytes_are_the_same_bytes() {
    let whole = FaultServer::replaying(vec![streams::chat_stream("héllo")]);
    let dripped = streams::chat_stream("héllo").dripped(1, Duration::from_micros(1));
    let dripped = FaultServer::replaying(vec![dripped]);
    let answers = [ask(&whole), ask(&dripped)];
    assert!(answers[1].contains("\r\n1\r\nd\r\n1\r\na\r\n"));
    // One byte a chunk cuts characters too: only the undecoded bytes are whole again.
    let bytes = |server: &FaultServer| server.written(0);
    assert_eq!(bytes(&whole), bytes(&dripped));
    assert!(unchunk(&answers[0]).ends_with("data: [DONE]\n\n"));
}

#[test]
fn an_aborted_body_lacks_its_end() {
    let reply = streams::chat_stream_with(&["a", "b"], "stop", None);
    let server = FaultServer::replaying(vec![reply.cut(2, End::Abort)]);
    let answer = ask(&server);
    assert!(answer.contains("\"content\":\"a\""));
    assert!(!answer.contains("\"content\":\"b\""));
    assert!(!answer.ends_with("0\r\n\r\n"));
}

#[test]
fn a_reset_is_seen_as_one() {
    let server = FaultServer::replaying(vec![Reply::Reset]);
    let error = send(&server, "{}")
        .read_to_end(&mut Vec::new())
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);

    let reply = Reply::event_stream(vec![Chunk::from("data: 1\n\n")]).ending(End::Reset);
    let server = FaultServer::replaying(vec![reply]);
    let error = send(&server, "{}")
        .read_to_end(&mut Vec::new())
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(server.written(0), 9);
}

#[test]
fn a_server_that_waits_stops_at_once() {
    let replies = [
        Reply::Silent(LONG),
        Reply::text(200, "text/plain", "late").after(LONG),
        Reply::event_stream(vec!["data: 1\n\n".into()]).ending(End::Silence(LONG)),
        streams::messages_stream("never").paced(LONG),
    ];
    for reply in replies {
        let server = FaultServer::replaying(vec![reply]);
        let stream = send(&server, "{}");
        assert!(server.wait_until_received(1, LONG));
        drop(server);
        drop(stream);
    }
}

#[test]
fn a_client_that_leaves_is_noticed() {
    let server = FaultServer::replaying(vec![Reply::Silent(LONG)]);
    let stream = send(&server, "{}");
    assert!(server.wait_until_received(1, LONG));
    assert!(!server.wait_until_left(0, Duration::ZERO));
    drop(stream);
    assert!(server.wait_until_left(0, LONG));
}

#[test]
fn a_big_body_has_its_length() {
    let server = FaultServer::replaying(vec![streams::big_event(100_000)]);
    let body = unchunk(&ask(&server));
    assert_eq!(body.len(), 100_006);
    assert!(body.starts_with("data: xxx") && body.ends_with("xxx"));
}

#[test]
fn raw_bytes_and_wrong_lengths_go_out_as_they_are() {
    let server = FaultServer::replaying(vec![
        Reply::Raw(b"what?\n".to_vec()),
        Reply::text(200, "text/plain", "short").header("content-length", "99"),
    ]);
    assert_eq!(ask(&server), "what?\n");
    let answer = ask(&server);
    assert!(answer.contains("content-length: 99\r\n") && answer.ends_with("\r\n\r\nshort"));
}

#[test]
fn compressed_chunks_are_one_stream() {
    let reply = streams::responses_stream("hello").gzipped();
    let Reply::Chunks { chunks, .. } = reply else {
        panic!("a stream stays one");
    };
    let bytes: Vec<u8> = chunks.into_iter().flat_map(|chunk| chunk.bytes).collect();
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.starts_with("event: response.created\n"));
    assert!(text.contains("\"delta\":\"hello\""));
}

#[test]
fn a_refused_connection_is_refused() {
    let url = refused_url();
    let error = TcpStream::connect(url.trim_start_matches("http://")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn every_stream_ends_as_its_wire_does() {
    let arguments = json!({"path": "a.rs"});
    let endings = [
        (streams::chat_tool_call("read", &arguments), "[DONE]"),
        (streams::responses_stream("x"), "response.completed"),
        (
            streams::responses_tool_call("read", &arguments),
            "response.completed",
        ),
        (streams::messages_stream("x"), "message_stop"),
        (
            streams::messages_tool_call("read", &arguments),
            "message_stop",
        ),
    ];
    for (reply, closing) in endings {
        let server = FaultServer::replaying(vec![reply]);
        let body = unchunk(&ask(&server));
        let last = body.trim_end().rsplit("\n\n").next().unwrap();
        assert!(last.contains(closing), "{last}");
    }
}
