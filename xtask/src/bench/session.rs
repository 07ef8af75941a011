//! Sessions to measure on: any number of entries, the same bytes at every call.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use session_model::Timestamp;
use test_support::Rng;

use super::prose::{Pools, quoted};

/// Changes with every change of what is generated, so that files from before are not used.
const GENERATION: u32 = 1;

/// A compaction comes when the context has this many tokens.
const COMPACT_AT: u64 = 170_000;

/// What a compaction keeps at least, in tokens.
const KEEP: u64 = 20_000;

/// What system prompt and tool definitions take, in tokens.
const FIXED: u64 = 6_000;

/// The last compaction comes so many entries before the end, so that contexts of all sizes are alike.
const TAIL: usize = 400;

/// The first moment of a session, in Unix milliseconds.
pub const START: i64 = 1_767_225_600_000;

/// Returns a session of `entries` entries in `folder`, generated when it is not there yet.
pub fn session(folder: &Path, entries: usize) -> io::Result<PathBuf> {
    let path = folder.join(format!("session-{GENERATION}-{entries}.jsonl"));
    generated(path, |out| Writer::new(out, entries).run())
}

/// Returns the path of a file that `write` writes, when it is not there yet.
pub fn generated(
    path: PathBuf,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<PathBuf> {
    if path.is_file() {
        return Ok(path);
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let partial = path.with_extension("partial");
    let mut out = BufWriter::new(File::create(&partial)?);
    write(&mut out)?;
    out.flush()?;
    std::fs::rename(&partial, &path)?;
    Ok(path)
}

/// An entry on the current path that may still be kept by a compaction.
#[derive(Clone)]
struct Recent {
    id: String,
    tokens: u64,
    starts_turn: bool,
}

/// Writes a session entry by entry. `W` is where it goes.
struct Writer<W> {
    out: W,
    wanted: usize,
    written: usize,
    clock: i64,
    leaf: Option<String>,
    /// What the context is made of since the last compaction, kept entries included.
    recent: Vec<Recent>,
    compacted_for_the_end: bool,
    rng: Rng,
    pools: Pools,
}

impl<W: Write> Writer<W> {
    fn new(out: W, wanted: usize) -> Self {
        let mut rng = Rng::new(2026);
        let pools = Pools::new(&mut rng);
        Self {
            out,
            wanted,
            written: 0,
            clock: START,
            leaf: None,
            recent: Vec::new(),
            compacted_for_the_end: false,
            rng,
            pools,
        }
    }

    fn run(&mut self) -> io::Result<()> {
        let began = Timestamp::from_millis(self.clock);
        writeln!(
            self.out,
            r#"{{"type":"session","version":3,"id":"019b76da-a800-7000-8000-000000000001","timestamp":"{began}","cwd":"/home/dev/logferry"}}"#
        )?;
        let model = r#""provider":"anthropic","modelId":"claude-sonnet-4-5""#;
        self.entry("model_change", model)?;
        self.entry("thinking_level_change", r#""thinkingLevel":"medium""#)?;
        while self.left() > 0 {
            self.step()?;
        }
        Ok(())
    }

    fn left(&self) -> usize {
        self.wanted.saturating_sub(self.written)
    }

    fn context(&self) -> u64 {
        FIXED + self.recent.iter().map(|entry| entry.tokens).sum::<u64>()
    }

    /// Writes a turn, and before it whatever is due.
    fn step(&mut self) -> io::Result<()> {
        if self.left() > 100 {
            let ends = self.left() <= TAIL && !self.compacted_for_the_end;
            if ends || self.context() > COMPACT_AT {
                self.compacted_for_the_end |= ends;
                self.compaction()?;
            }
            if self.rng.below(25) == 0 {
                self.abandoned_branch()?;
            }
        }
        // A turn of r rounds has 2 + 2r entries; an odd rest gets one entry without a message.
        if self.left() % 2 == 1 {
            self.todo_entry()?;
        }
        let most = self.left().saturating_sub(2) / 2;
        if self.left() > 0 {
            let rounds = (2 + self.rng.below(8)).min(most);
            self.turn(rounds)?;
        }
        Ok(())
    }

    fn turn(&mut self, rounds: usize) -> io::Result<()> {
        self.user()?;
        for _ in 0..rounds {
            self.round()?;
        }
        let text = self.pools.prose.take(&mut self.rng, 300, 1400);
        let block = format!(r#"{{"type":"text","text":"{text}"}}"#);
        self.assistant(&block, "stop")
    }

    fn user(&mut self) -> io::Result<()> {
        self.clock += 60_000 + self.rng.below(240_000) as i64;
        let text = self.pools.prose.take(&mut self.rng, 80, 700);
        let body = format!(r#""role":"user","content":[{{"type":"text","text":"{text}"}}]"#);
        self.message(&body, tokens(&text), true)
    }

    /// Writes one call of a tool and its result.
    fn round(&mut self) -> io::Result<()> {
        let call = format!("toolu_01{:022x}", self.rng.number());
        let (tool, arguments, output) = self.tool();
        let thinking = self.pools.prose.take(&mut self.rng, 60, 500);
        let text = self.pools.prose.take(&mut self.rng, 40, 260);
        let blocks = format!(
            r#"{{"type":"thinking","thinking":"{thinking}","thinkingSignature":""}},{{"type":"text","text":"{text}"}},{{"type":"toolCall","id":"{call}","name":"{tool}","arguments":{arguments}}}"#
        );
        self.assistant(&blocks, "toolUse")?;
        let failed = self.rng.below(12) == 0;
        let body = format!(
            r#""role":"toolResult","toolCallId":"{call}","toolName":"{tool}","content":[{{"type":"text","text":"{output}"}}],"isError":{failed}"#
        );
        self.clock += 200 + self.rng.below(4_000) as i64;
        self.message(&body, tokens(&output), false)
    }

    /// Returns the name of a tool, its arguments as JSON and its output as the inside of a JSON string.
    fn tool(&mut self) -> (&'static str, String, String) {
        let path = self.pools.path(&mut self.rng);
        let rng = &mut self.rng;
        match rng.below(10) {
            0..=3 => {
                let output = self.pools.code.take(rng, 1_200, 6_400);
                ("read", format!(r#"{{"path":"{path}"}}"#), output)
            }
            4..=5 => {
                let old = self.pools.code.take(rng, 120, 700);
                let new = self.pools.code.take(rng, 120, 900);
                let arguments = format!(
                    r#"{{"path":"{path}","edits":[{{"oldText":"{old}","newText":"{new}"}}]}}"#
                );
                (
                    "edit",
                    arguments,
                    format!("Edited {path}: 1 passage replaced"),
                )
            }
            6 => {
                let text = self.pools.code.take(rng, 600, 3_600);
                let output = format!("Wrote {} bytes to {path}", text.len());
                (
                    "write",
                    format!(r#"{{"path":"{path}","content":"{text}"}}"#),
                    output,
                )
            }
            _ => {
                let output = self.pools.log.take(rng, 450, 4_600);
                let command = "cargo test --workspace 2>&1 | tail -40";
                ("bash", format!(r#"{{"command":"{command}"}}"#), output)
            }
        }
    }

    fn assistant(&mut self, blocks: &str, stop: &str) -> io::Result<()> {
        let (read, output) = (self.context(), tokens(blocks));
        let total = read + output + 4;
        let cost = total as f64 / 1e6;
        let usage = format!(
            r#"{{"input":4,"output":{output},"cacheRead":{read},"cacheWrite":0,"totalTokens":{total},"cost":{{"input":0.000012,"output":{cost},"cacheRead":{cost},"cacheWrite":0,"total":{cost}}}}}"#
        );
        let body = format!(
            r#""role":"assistant","content":[{blocks}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{usage},"stopReason":"{stop}""#
        );
        self.clock += 2_000 + self.rng.below(15_000) as i64;
        self.message(&body, output, false)
    }

    fn message(&mut self, body: &str, tokens: u64, starts_turn: bool) -> io::Result<()> {
        let timestamp = self.clock;
        let id = self.entry(
            "message",
            &format!(r#""message":{{{body},"timestamp":{timestamp}}}"#),
        )?;
        self.recent.push(Recent {
            id,
            tokens,
            starts_turn,
        });
        Ok(())
    }

    fn todo_entry(&mut self) -> io::Result<()> {
        let item = self.pools.prose.take(&mut self.rng, 40, 80);
        let data = format!(
            r#""customType":"todo","data":{{"items":[{{"text":"{item}","status":"pending"}}]}}"#
        );
        self.entry("custom", &data).map(drop)
    }

    /// Writes a turn that is given up: the next entry continues where the turn began.
    fn abandoned_branch(&mut self) -> io::Result<()> {
        let (leaf, recent) = (self.leaf.clone(), self.recent.clone());
        let rounds = 1 + self.rng.below(3);
        self.turn(rounds)?;
        let left = std::mem::replace(&mut self.leaf, leaf);
        self.recent = recent;
        let summary = self.pools.prose.take(&mut self.rng, 500, 1_500);
        let from = quoted(left.as_deref().unwrap_or("root"));
        let size = tokens(&summary);
        let body = format!(r#""fromId":{from},"summary":"{summary}""#);
        let id = self.entry("branch_summary", &body)?;
        self.recent.push(Recent {
            id,
            tokens: size,
            starts_turn: false,
        });
        Ok(())
    }

    fn compaction(&mut self) -> io::Result<()> {
        let before = self.context();
        let first = self.first_kept();
        let kept = self.recent.split_off(first);
        let Some(kept_id) = kept.first().map(|entry| entry.id.clone()) else {
            return Ok(());
        };
        let summary = self.pools.prose.take(&mut self.rng, 5_000, 9_000);
        let files: Vec<String> = (0..12).map(|_| self.pools.path(&mut self.rng)).collect();
        let files = files.join("\",\"");
        let size = tokens(&summary);
        let body = format!(
            r###""summary":"## Goal\n{summary}","firstKeptEntryId":"{kept_id}","tokensBefore":{before},"details":{{"readFiles":[],"modifiedFiles":["{files}"]}}"###
        );
        let id = self.entry("compaction", &body)?;
        self.recent = kept;
        self.recent.push(Recent {
            id,
            tokens: size,
            starts_turn: false,
        });
        Ok(())
    }

    /// Returns the place of the newest turn from which on at least [`KEEP`] tokens follow.
    fn first_kept(&self) -> usize {
        let mut sum = 0;
        for (place, entry) in self.recent.iter().enumerate().rev() {
            sum += entry.tokens;
            if sum >= KEEP && entry.starts_turn {
                return place;
            }
        }
        0
    }

    /// Writes an entry under the leaf, makes it the leaf and returns its id.
    fn entry(&mut self, kind: &str, body: &str) -> io::Result<String> {
        self.clock += 1 + self.rng.below(30) as i64;
        // Multiplying by an odd number is a bijection, so no id comes twice.
        let number = (self.written as u32).wrapping_add(1);
        let id = format!("{:08x}", number.wrapping_mul(0x9e37_79b1));
        let parent = self.leaf.replace(id.clone());
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| quoted(&parent));
        let at = Timestamp::from_millis(self.clock);
        writeln!(
            self.out,
            r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{at}",{body}}}"#
        )?;
        self.written += 1;
        Ok(id)
    }
}

/// A quarter of the bytes, as pi estimates.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

#[cfg(test)]
mod tests {
    use super::Writer;

    fn lines(wanted: usize) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), wanted);
        writer.run().expect("memory takes everything");
        writer.out
    }

    #[test]
    fn a_session_has_the_entries_asked_for_and_reads_without_a_remark() {
        for wanted in [50, 999, 2_000] {
            let decoded = session_model::decode_bytes(lines(wanted));
            assert_eq!(decoded.tree.len(), wanted);
            assert!(decoded.diagnostics.is_empty(), "{:?}", decoded.diagnostics);
        }
    }

    #[test]
    fn a_session_is_the_same_at_every_call_and_about_as_large_as_promised() {
        let bytes = lines(2_000);
        assert_eq!(bytes, lines(2_000));
        let average = bytes.len() / 2_000;
        assert!((1_500..1_700).contains(&average), "{average}");
    }
}
