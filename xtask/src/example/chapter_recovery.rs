//! Chapter 7, second half: the kill test, what it shows, and the report of what is open.

use super::script::{
    Call, Out, Step, act, breaks, cargo_test, clippy_ok, edit, read, read_at, say, sh, todo,
};

/// The steps of this half.
pub fn steps() -> Vec<Step> {
    vec![
        act(
            "",
            "",
            vec![
                Call::Bash(
                    "./lab/kill-nine.sh 20 2>&1 | tail -n 70".into(),
                    Out::DaemonLog(91, 70),
                ),
                sh(
                    "cat lab/kill-nine.summary",
                    "round  written  received  duplicates  missing\n    1    50000     50000           2        0\n    2    50000     50000           1        0\n    3    50000     49988           0       12\n    4    50000     50000           3        0\n    5    50000     50000           0        0\n    6    50000     49961           1       39\n(20 rounds: 18 complete, 2 with missing records; duplicates carry the same batch key)",
                ),
            ],
        ),
        act(
            "Rounds 3 and 6 miss records: 12 and 39. Consistent with the checkpoint order: position saved before the records reached the spool. A fix: each Record carries (path, end offset); after the batch is in the spool, the batcher tells the checkpoints. Tail::save then no longer saves `self.offset` but the confirmed one. That changes Record and batch; format of positions.json unchanged.",
            "20 rounds of kill -9: 18 complete, rounds 3 and 6 miss 12 and 39 records. That is the order I suspected: `Tail` saves its position once a second, whether or not the records have reached the spool. I look at both sides.",
            vec![read("src/input/tail.rs"), read("src/spool/mod.rs")],
        ),
        act(
            "",
            "",
            vec![
                Call::Bash(
                    "tail -n 50 lab/collector.log".into(),
                    Out::AccessLog(93, 50),
                ),
                read_at("src/parse/mod.rs", 14, 30),
            ],
        ),
        act(
            "",
            "Each record gets its source and end offset; the position that is saved is the last one confirmed by the spool.",
            vec![
                edit(
                    "src/parse/mod.rs",
                    "    pub fields: BTreeMap<String, String>,\n    pub cut: bool,\n}",
                    "    pub fields: BTreeMap<String, String>,\n    pub cut: bool,\n    /// Where the record ends in its file; confirmed to the checkpoints once the record is in the spool.\n    pub end: Option<Arc<Source>>,\n}\n\n/// A place in a followed file.\n#[derive(Debug, PartialEq)]\npub(crate) struct Source {\n    pub path: PathBuf,\n    pub inode: u64,\n    pub offset: u64,\n}",
                ),
                edit(
                    "src/parse/mod.rs",
                    "use std::time::Instant;",
                    "use std::path::PathBuf;\nuse std::sync::Arc;\nuse std::time::Instant;",
                ),
                edit(
                    "src/parse/mod.rs",
                    "        Record { raw, fields, cut }",
                    "        Record { raw, fields, cut, end: None }",
                ),
                edit(
                    "src/input/tail.rs",
                    "            for record in self.parser.push(&text, Instant::now()) {\n                if out",
                    "            for mut record in self.parser.push(&text, Instant::now()) {\n                record.end = Some(self.place());\n                if out",
                ),
                edit(
                    "src/input/tail.rs",
                    "    fn save(&mut self) -> Result<()> {\n        let position = Position { inode: self.inode, offset: self.offset };",
                    "    fn place(&self) -> Arc<Source> {\n        Arc::new(Source { path: self.path.clone(), inode: self.inode, offset: self.offset })\n    }\n\n    fn save(&mut self) -> Result<()> {\n        let Some(position) = self.confirmed.take() else { return Ok(()) };",
                ),
                edit(
                    "src/input/tail.rs",
                    "use crate::parse::{Parser, Record};",
                    "use crate::parse::{Parser, Record, Source};",
                ),
                edit(
                    "src/input/tail.rs",
                    "    leaving: bool,\n    parser: Parser,",
                    "    leaving: bool,\n    confirmed: Option<Position>,\n    parser: Parser,",
                ),
                edit(
                    "src/input/tail.rs",
                    "            leaving: false,\n            parser:",
                    "            leaving: false,\n            confirmed: None,\n            parser:",
                ),
            ],
        ),
        act(
            "",
            "",
            vec![
                cargo_test(""),
                edit(
                    "src/spool/mod.rs",
                    "self.segment.set_len(self.end)",
                    "self.segment.truncate()",
                ),
            ],
        ),
        act(
            "I guessed a passage that is not in the file. Look at recover in segment.rs instead: set_len there.",
            "That passage does not exist; the cut belongs into `Segment::recover`.",
            vec![edit(
                "src/spool/segment.rs",
                "        Ok((Self { path, frames, acks, len: at as u64, offsets, acked }, open))",
                "        if (at as u64) < bytes.len() as u64 {\n            eprintln!(\"spool: {} torn bytes cut from {}\", bytes.len() - at, path.display());\n            frames.set_len(at as u64).map_err(|e| Error::io(&path, e))?;\n        }\n        Ok((Self { path, frames, acks, len: at as u64, offsets, acked }, open))",
            )],
        ),
        breaks(
            "spool::tests::recovers_after_a_torn_segment",
            "src/spool/mod.rs:183:9",
            "assertion `left == right` failed: torn batch must be read again from its file\n  left: Some(Position { inode: 7, offset: 4096 })\n right: Some(Position { inode: 7, offset: 2048 })",
        ),
        act("", "", vec![cargo_test("spool"), clippy_ok()]),
        act(
            "The append now lands right; the test goes one assertion further and fails on the checkpoint: position 4096 though the batch from 2048..4096 was torn. Because confirmed is never set by the batcher yet: `confirmed` needs the path back from batch thread to the checkpoints. That's the open part. I have used a long turn; stop here with a clear state. Show the diff.",
            "One assertion further: the torn bytes are cut and later batches are found, but the position is still 4096 where 2048 is right, because nothing confirms positions after a push yet. The state in full before I report:",
            vec![
                Call::Bash("git diff --stat".into(), Out::DiffStat),
                Call::Bash(
                    "git diff src/input src/pipeline src/output".into(),
                    Out::Diff("src/".into()),
                ),
                todo(&[
                    "x spool: segment format, 8 MiB per segment, crc per batch",
                    "x spool: acknowledgements, delete only when all are acknowledged",
                    "x spool: 2 GiB limit blocks the tails",
                    "> spool: recovery after kill -9 (recovers_after_a_torn_segment is red)",
                    "- tail: confirm positions only after Spool::push",
                    "x wire into pipeline, config keys, metrics",
                    "- docs: copytruncate note",
                    "- remove src/pipeline/held.rs",
                ]),
            ],
        ),
        say(
            "",
            "The spool is in and wired, not committed, because one test is red.\n\n**Done.** `src/spool/segment.rs` (frames with crc32 from flate2, acknowledgements beside them), `src/spool/mod.rs` (segments of 8 MiB, 2 GiB at most, oldest first, a route rests 5 s after its 8 attempts), `[spool]` in config and docs, the client sends frames. A segment is deleted only when every batch in it was acknowledged (`an_open_segment_is_not_deleted`).\n\n**Open.**\n1. `spool::tests::recovers_after_a_torn_segment` fails at src/spool/mod.rs:183:9: position is `offset: 4096`, must be `offset: 2048`. Cause: `Tail` saves positions before the records are in the spool. Records carry their end offset now (`Source`); what is missing is the way back from the batcher to `Checkpoints`.\n2. This is also why 2 of 20 rounds of ./lab/kill-nine.sh lost records (12 and 39).\n3. `src/pipeline/held.rs` is unused and can go.\n4. The note on copytruncate in docs/configuration.md.\n\nNext I would let the batcher call `Checkpoints::confirm(source)` after `Spool::push`, and run the 20 rounds again.",
        ),
    ]
}
