//! Chapter 7: the last turn, one long one: batches go to a spool on disk. Ends with a test that still fails.

use super::code_fixture::SPOOL_FIXTURE;
use super::code_spool::{SEGMENT, SPOOL};
use super::script::{
    Step, act, breaks, cargo_test, edit, mends, read, read_at, rg, sh, sh_fail, todo, user, write,
};

/// The steps of this chapter.
pub fn steps() -> Vec<Step> {
    let mut steps = vec![
        Step::Pause(52),
        user(
            "Last big piece: the spool. What cannot be sent goes to disk instead of the 64 MiB in memory, in segments of 8 MiB below checkpoint_dir/spool, 2 GiB at most, oldest first, and it must survive kill -9: after a restart everything that was not acknowledged is sent again. When the 2 GiB are full, block the tails as today. Never delete a segment before every batch in it was acknowledged. Go through all the modules that are touched, do it in one go, and tell me at the end what is open.",
            &["Never delete a segment before every batch in it was acknowledged."],
        ),
    ];
    steps.extend(survey());
    steps.extend(segment());
    steps.extend(wiring());
    steps.extend(super::chapter_recovery::steps());
    steps
}

fn survey() -> Vec<Step> {
    vec![
        act(
            "A long piece. Design: record framing per batch in a segment: magic, route length, key, body length, crc32, body. No crc crate (no dependencies): flate2 has Crc! flate2::Crc is public: `flate2::Crc::new(); crc.update(&bytes); crc.sum()`. Good, a dependency we have.\n\nAck: a side file segment.ack with the offset up to which all is acknowledged? Order per route differs: one route may be blocked while others go on. So acks are per batch: append the 8-byte offset of the acknowledged frame to `N.ack`. Segment deletable when acks == frames and it is sealed.",
            "I read everything that will be touched in its present state, then write the segment format with its tests, then the wiring.",
            vec![
                todo(&[
                    "> spool: segment format, 8 MiB per segment, crc per batch",
                    "- spool: acknowledgements, delete only when all are acknowledged",
                    "- spool: 2 GiB limit blocks the tails",
                    "- spool: recovery after kill -9",
                    "- wire into pipeline, config keys, metrics",
                    "- docs: [spool], copytruncate note",
                ]),
                read("src/pipeline/held.rs"),
                read("src/pipeline/batch.rs"),
            ],
        ),
        act(
            "",
            "",
            vec![
                read("src/output/http.rs"),
                read("src/lib.rs"),
                read("src/metrics.rs"),
            ],
        ),
        act(
            "",
            "",
            vec![
                rg("Held|held", "src"),
                sh(
                    "rg -n 'pub struct Crc|pub fn (sum|update|new)' ~/.cargo/registry/src/*/flate2-1.0.28/src/crc.rs",
                    "20:pub struct Crc {\n33:    pub fn new() -> Crc {\n38:    pub fn sum(&self) -> u32 {\n49:    pub fn update(&mut self, data: &[u8]) {",
                ),
                read("src/config/raw.rs"),
            ],
        ),
        act(
            "",
            "",
            vec![read("tests/collector.rs"), read("src/input/checkpoint.rs")],
        ),
    ]
}

fn segment() -> Vec<Step> {
    vec![
        act(
            "",
            "The segment format. The checksum comes from `flate2::Crc`, which is a dependency already; acknowledgements are offsets in a file beside the segment, because routes are acknowledged out of order.",
            vec![write("src/spool/segment.rs", SEGMENT)],
        ),
        act(
            "",
            "",
            vec![
                write("src/spool/mod.rs", SPOOL),
                write("src/spool/fixture.rs", SPOOL_FIXTURE),
                edit(
                    "src/lib.rs",
                    "mod pipeline;\n",
                    "mod pipeline;\nmod spool;\n",
                ),
            ],
        ),
        breaks(
            "spool::tests::recovers_after_a_torn_segment",
            "src/spool/mod.rs:182:9",
            "assertion `left == right` failed: batch written after the torn frame is lost\n  left: [\"default-00000001-1\"]\n right: [\"default-00000001-1\", \"default-00000003-1\"]",
        ),
        breaks(
            "spool::tests::full_at_the_limit",
            "src/spool/mod.rs:154:9",
            "assertion failed: spool.full()",
        ),
        act("", "", vec![cargo_test("spool")]),
        act(
            "full_at_the_limit: `used` counts sealed segments only and not the active one.",
            "Two fail. `full_at_the_limit` is plain: `used()` leaves out the active segment.",
            vec![edit(
                "src/spool/mod.rs",
                "        self.sealed.iter().map(|(_, s)| s.len()).sum::<u64>()",
                "        self.sealed.iter().map(|(_, s)| s.len()).sum::<u64>() + self.active.len()",
            )],
        ),
        mends("spool::tests::full_at_the_limit"),
        act(
            "",
            "",
            vec![cargo_test("spool"), read_at("src/spool/mod.rs", 30, 70)],
        ),
        act(
            "Torn frame: file opened with append; recover computed len = at (end of good frames) but the torn bytes stay in the file after `at`; an append goes to the real end of the file, behind the torn bytes. decode stops at the torn frame, so the new frame is lost. Fix: truncate the file to `at` in recover (set_len). But truncating destroys evidence... the torn frame was never acknowledged and never completely written, its batch is still unread from the checkpoint's view? The checkpoint: saved position may be past the records in the torn batch! Tail saves the position every second independent of the delivery. So the order matters: positions must be saved only after the batch is in the spool. That's a seventh gap. Hmm, that's bigger. First wire, then come back.",
            "`recovers_after_a_torn_segment` shows a real problem: after recovery new frames are appended behind the torn bytes, where `decode` never gets to. Cutting the file with `set_len` looks right, but I want to look at the checkpoint order first, so I keep the test red and do the wiring.",
            vec![rg("save\\(|last_save|set\\(", "src/input")],
        ),
    ]
}

fn wiring() -> Vec<Step> {
    vec![
        act(
            "",
            "",
            vec![
                edit(
                    "src/pipeline/batch.rs",
                    "use crate::pipeline::held::Held;\nuse crate::pipeline::route::{Router, Target};\n\n/// Bytes of sealed batches that wait for the collector; above it the tails block.\nconst HOLD_AT_MOST: usize = 64 * 1024 * 1024;",
                    "use crate::pipeline::route::{Router, Target};\nuse crate::spool::Spool;",
                ),
                edit(
                    "src/pipeline/batch.rs",
                    "        let mut held = Held::new(HOLD_AT_MOST);\n        loop {\n",
                    "        loop {\n            while spool.full() {\n                std::thread::sleep(Duration::from_millis(20));\n                spool.send_what_is_due(|frame| client.send(frame, &metrics))?;\n            }\n",
                ),
                edit(
                    "src/pipeline/batch.rs",
                    "                    held.push_back(batch);",
                    "                    spool.push(batch.into_frame())?;",
                ),
                edit(
                    "src/pipeline/batch.rs",
                    "            held.send_what_is_due(|batch| client.send(batch, &metrics))?;",
                    "            spool.send_what_is_due(|frame| client.send(frame, &metrics))?;",
                ),
                edit(
                    "src/pipeline/batch.rs",
                    "    client: Client,\n    limits: config::Batch,",
                    "    client: Client,\n    mut spool: Spool,\n    limits: config::Batch,",
                ),
                edit(
                    "src/pipeline/batch.rs",
                    "    fn push(&mut self, record: &Record) {",
                    "    /// The batch as the spool stores it.\n    pub fn into_frame(self) -> Frame {\n        let key = self.key();\n        Frame { route: self.route, key, body: self.body }\n    }\n\n    fn push(&mut self, record: &Record) {",
                ),
                edit(
                    "src/pipeline/batch.rs",
                    "use crate::spool::Spool;",
                    "use crate::spool::{Frame, Spool};",
                ),
            ],
        ),
        act(
            "",
            "",
            vec![
                edit(
                    "src/config/raw.rs",
                    "    output: RawOutput,\n    route: Vec<RawRoute>,",
                    "    output: RawOutput,\n    spool: RawSpool,\n    route: Vec<RawRoute>,",
                ),
                edit(
                    "src/config/raw.rs",
                    "        output: section(&mut table, \"output\")?,",
                    "        output: section(&mut table, \"output\")?,\n        spool: section(&mut table, \"spool\")?,",
                ),
                edit(
                    "src/config/raw.rs",
                    "#[derive(Deserialize)]\n#[serde(deny_unknown_fields)]\nstruct RawRoute {",
                    "#[derive(Deserialize)]\n#[serde(default, deny_unknown_fields)]\nstruct RawSpool {\n    segment_bytes: u64,\n    max_bytes: u64,\n}\n\nimpl Default for RawSpool {\n    fn default() -> Self {\n        Self { segment_bytes: 8 * 1024 * 1024, max_bytes: 2 * 1024 * 1024 * 1024 }\n    }\n}\n\n#[derive(Deserialize)]\n#[serde(deny_unknown_fields)]\nstruct RawRoute {",
                ),
                edit(
                    "src/config/raw.rs",
                    "            routes: self.route.into_iter()",
                    "            spool: Limits { segment_bytes: self.spool.segment_bytes, max_bytes: self.spool.max_bytes },\n            routes: self.route.into_iter()",
                ),
                edit(
                    "src/config/raw.rs",
                    "use crate::output::retry::Policy;",
                    "use crate::output::retry::Policy;\nuse crate::spool::Limits;",
                ),
                edit(
                    "src/config/mod.rs",
                    "    pub(crate) output: Output,",
                    "    pub(crate) output: Output,\n    pub(crate) spool: Limits,",
                ),
                edit(
                    "src/config/mod.rs",
                    "use crate::output::retry::Policy;",
                    "use crate::output::retry::Policy;\nuse crate::spool::Limits;",
                ),
                edit(
                    "src/lib.rs",
                    "            output::http::Client::new(&self.config.output)?,\n",
                    "            output::http::Client::new(&self.config.output)?,\n            spool::Spool::open(&self.config.input.checkpoint_dir.join(\"spool\"), self.config.spool)?,\n",
                ),
            ],
        ),
        act(
            "",
            "",
            vec![sh_fail(
                "cargo check --offline --all-targets",
                "    Checking logferry v0.9.4 (/home/dev/logferry)\nerror[E0308]: mismatched types\n   --> src/pipeline/batch.rs:131:69\n    |\n131 |                 spool.send_what_is_due(|frame| client.send(frame, &metrics))?;\n    |                                                       ---- ^^^^^ expected `&Batch`, found `&Frame`\n    |                                                       |\n    |                                                       arguments to this method are incorrect\n\nerror[E0599]: no method named `seed` found for reference `&Frame` in the current scope\n  --> src/output/http.rs:49:58\n\nerror: could not compile `logferry` (lib) due to 3 previous errors",
                101,
            )],
        ),
        act(
            "",
            "The client takes frames from now on; number of records and seed come from the frame.",
            vec![
                edit(
                    "src/output/http.rs",
                    "use crate::pipeline::batch::Batch;",
                    "use crate::spool::Frame;",
                ),
                edit(
                    "src/output/http.rs",
                    "    pub fn send(&self, batch: &Batch, metrics: &Metrics) -> Result<()> {",
                    "    pub fn send(&self, batch: &Frame, metrics: &Metrics) -> Result<()> {",
                ),
                edit(
                    "src/output/http.rs",
                    "    fn post(&self, batch: &Batch, body: &Encoded)",
                    "    fn post(&self, batch: &Frame, body: &Encoded)",
                ),
                edit(
                    "src/output/http.rs",
                    "let body = self.encode(&batch.body())?;",
                    "let body = self.encode(&batch.body)?;",
                ),
                edit(
                    "src/output/http.rs",
                    "            .post(&format!(\"{}/{}\", self.url, batch.route()))",
                    "            .post(&format!(\"{}/{}\", self.url, batch.route))",
                ),
                edit(
                    "src/output/http.rs",
                    "            .set(\"x-batch-key\", &batch.key());",
                    "            .set(\"x-batch-key\", &batch.key);",
                ),
                edit(
                    "src/spool/segment.rs",
                    "pub(crate) struct Segment {\n    path",
                    "impl Frame {\n    /// Records are lines.\n    pub fn records(&self) -> usize {\n        self.body.iter().filter(|b| **b == b'\\n').count()\n    }\n\n    /// Seed of the retry jitter.\n    pub fn seed(&self) -> u64 {\n        u64::from(crc(self)) << 16 ^ self.body.len() as u64\n    }\n}\n\npub(crate) struct Segment {\n    path",
                ),
            ],
        ),
        act("", "", vec![cargo_test("")]),
        act(
            "",
            "Everything but the torn segment is green. Metrics and documentation next, then the lab run.",
            vec![
                edit(
                    "src/metrics.rs",
                    "    filtered: AtomicU64,\n    slowest_us",
                    "    filtered: AtomicU64,\n    spooled_bytes: AtomicU64,\n    slowest_us",
                ),
                edit(
                    "src/metrics.rs",
                    "    pub fn filtered(&self, records: u64) {",
                    "    /// Bytes that wait in the spool at present. Not in `Snapshot`, which is public; `tick` logs it.\n    pub fn spooled(&self, bytes: u64) {\n        self.spooled_bytes.store(bytes, Relaxed);\n    }\n\n    pub fn filtered(&self, records: u64) {",
                ),
                edit(
                    "docs/configuration.md",
                    "## `[[route]]`",
                    "## `[spool]`\n\n| key | default | meaning |\n|---|---|---|\n| `segment_bytes` | `8388608` | size at which a segment is closed |\n| `max_bytes` | `2147483648` | when this much waits, reading stops until the collector takes something |\n\nThe spool lies in `checkpoint_dir/spool`. A segment is deleted when every batch in it was acknowledged.\n\n## `[[route]]`",
                ),
                read("docs/configuration.md"),
            ],
        ),
    ]
}
