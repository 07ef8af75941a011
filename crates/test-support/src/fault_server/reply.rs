//! Replies to requests.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

/// The reply to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A complete answer with its `content-length` (unless `headers` has one, right or wrong).
    Whole {
        /// The HTTP status.
        status: u16,
        /// Headers in addition to those of the transport.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// A streamed answer (chunked transfer coding).
    Chunks {
        /// The HTTP status.
        status: u16,
        /// Headers in addition to those of the transport.
        headers: Vec<(String, String)>,
        /// The chunks, one write and flush each.
        chunks: Vec<Chunk>,
        /// The action after the last chunk.
        end: End,
    },
    /// A streamed answer of `bytes` bytes: `head`, then `piece` again and again, never held as a whole.
    Repeated {
        /// The HTTP status.
        status: u16,
        /// Headers in addition to those of the transport.
        headers: Vec<(String, String)>,
        /// The beginning of the body.
        head: Vec<u8>,
        /// The repeated part; cut short at the end.
        piece: Vec<u8>,
        /// The length of the body without `head`.
        bytes: u64,
    },
    /// These bytes as they are, then the connection is closed: for answers that are no HTTP.
    Raw(Vec<u8>),
    /// The connection is reset once the request is read.
    Reset,
    /// Nothing is sent for this time, then the connection is closed.
    Silent(Duration),
    /// Another reply, after a while in which not even a status line comes.
    After(Duration, Box<Reply>),
}

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The bytes to write.
    pub bytes: Vec<u8>,
    /// The delay before the write.
    pub delay: Duration,
}

impl<T: Into<Vec<u8>>> From<T> for Chunk {
    fn from(bytes: T) -> Self {
        Self {
            bytes: bytes.into(),
            delay: Duration::ZERO,
        }
    }
}

/// The action after the last chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The proper end of the body.
    Close,
    /// The connection is closed without the end of the body; all that was written arrives.
    Abort,
    /// The connection is reset; what the client has not read yet may be lost.
    Reset,
    /// Nothing for so long, then as [`End::Abort`].
    Silence(Duration),
}

impl Reply {
    /// Returns an answer in JSON.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    /// Returns an answer with a body of some media type.
    pub fn text(status: u16, media_type: &str, body: &str) -> Self {
        Self::Whole {
            status,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body: body.as_bytes().to_vec(),
        }
    }

    /// Returns a streamed answer of server-sent events, one chunk for each of `chunks`.
    pub fn event_stream(chunks: Vec<Chunk>) -> Self {
        Self::Chunks {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            chunks,
            end: End::Close,
        }
    }

    /// Returns the reply with one header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.add_header(name, value);
        self
    }

    fn add_header(&mut self, name: &str, value: &str) {
        match self {
            Self::Whole { headers, .. }
            | Self::Chunks { headers, .. }
            | Self::Repeated { headers, .. } => headers.push((name.to_owned(), value.to_owned())),
            Self::After(_, reply) => reply.add_header(name, value),
            Self::Raw(_) | Self::Reset | Self::Silent(_) => {}
        }
    }

    /// Returns the reply after a while in which nothing comes.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self::After(delay, Box::new(self))
    }

    /// Returns the reply with only its first `count` chunks, and then `end`.
    ///
    /// # Panics
    /// When the reply has no chunks.
    #[must_use]
    pub fn cut(self, count: usize, end: End) -> Self {
        self.with_chunks(|chunks| chunks.truncate(count))
            .ending(end)
    }

    /// Returns the reply with another end.
    ///
    /// # Panics
    /// When the reply has no chunks.
    #[must_use]
    pub fn ending(mut self, with: End) -> Self {
        match &mut self {
            Self::Chunks { end, .. } => *end = with,
            other => panic!("only a reply of chunks has an end: {other:?}"),
        }
        self
    }

    /// Returns the same bytes in chunks of `size`, with a wait before each.
    ///
    /// # Panics
    /// When the reply has no chunks or `size` is 0.
    #[must_use]
    pub fn dripped(self, size: usize, delay: Duration) -> Self {
        self.with_chunks(|chunks| {
            let bytes: Vec<u8> = chunks.drain(..).flat_map(|chunk| chunk.bytes).collect();
            chunks.extend(bytes.chunks(size).map(|part| Chunk {
                bytes: part.to_vec(),
                delay,
            }));
        })
    }

    /// Returns the same chunks with a wait before each.
    ///
    /// # Panics
    /// When the reply has no chunks.
    #[must_use]
    pub fn paced(self, delay: Duration) -> Self {
        self.with_chunks(|chunks| {
            for chunk in chunks {
                chunk.delay = delay;
            }
        })
    }

    fn with_chunks(mut self, change: impl FnOnce(&mut Vec<Chunk>)) -> Self {
        match &mut self {
            Self::Chunks { chunks, .. } => change(chunks),
            other => panic!("the reply has no chunks: {other:?}"),
        }
        self
    }

    /// Returns the reply compressed, as `content-encoding: gzip`. Chunks stay separate: each is flushed.
    ///
    /// # Panics
    /// When the reply has no body.
    #[must_use]
    pub fn gzipped(mut self) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut take = |bytes: &[u8], last: bool| {
            let done = encoder.write_all(bytes).and_then(|()| match last {
                true => encoder.try_finish(),
                false => encoder.flush(),
            });
            assert!(done.is_ok(), "memory takes all that is written");
            std::mem::take(encoder.get_mut())
        };
        match &mut self {
            Self::Whole { body, .. } => *body = take(body, true),
            Self::Chunks { chunks, .. } => {
                let last = chunks.len().saturating_sub(1);
                for (at, chunk) in chunks.iter_mut().enumerate() {
                    chunk.bytes = take(&chunk.bytes, at == last);
                }
            }
            other => panic!("nothing to compress: {other:?}"),
        }
        self.header("content-encoding", "gzip")
    }
}
