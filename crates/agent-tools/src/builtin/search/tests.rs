//! Lines cut around what matches, and files without end.

use std::io::{self, Read};

use grep_regex::RegexMatcherBuilder;
use insta::assert_snapshot;
use llm_providers::Redactor;

use super::{Hits, Search, cut};
use crate::ToolLimits;
use crate::file::CommitPoint;

#[test]
fn a_long_line_is_cut_around_the_match() {
    let line = format!("{}match{}\r\n", "é".repeat(100), "b".repeat(100));
    let at = line.find("match").unwrap();
    let none = Redactor::default();
    assert_snapshot!(cut(line.as_bytes(), at, 20, &none), @"[95 more characters] ééééématchbbbbbbbbbb [90 more characters]");
    assert_snapshot!(cut(line.as_bytes(), 0, 20, &none), @"éééééééééééééééééééé [185 more characters]");
    assert_snapshot!(cut(line.as_bytes(), line.len() - 3, 20, &none), @"[185 more characters] bbbbbbbbbbbbbbbbbbbb");
    assert_snapshot!(cut(b"a\xff\x1b\tb\n", 0, 20, &none), @"a��	b");
}

/// A file that never ends, and a cancellation after a while.
struct Endless<'a> {
    commit: &'a CommitPoint,
    reads: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads == 100 {
            self.commit.cancel();
        }
        assert!(self.reads <= 100, "read on after the cancellation");
        buffer.fill(b'x');
        if let Some(last) = buffer.last_mut() {
            *last = b'\n';
        }
        Ok(buffer.len())
    }
}

fn search(file: impl Read, pattern: &str, commit: &CommitPoint) -> io::Result<Hits> {
    search_for(file, pattern, 10, commit)
}

fn search_for(
    file: impl Read,
    pattern: &str,
    room: usize,
    commit: &CommitPoint,
) -> io::Result<Hits> {
    let matcher = RegexMatcherBuilder::new().crlf(true).build(pattern);
    let matcher = matcher.unwrap();
    let redactor = Redactor::default();
    Search::new(&matcher, 0, &ToolLimits::default(), &redactor).run(file, room, commit)
}

#[test]
fn a_file_without_end_is_left_at_a_cancellation() {
    let commit = CommitPoint::default();
    let file = Endless {
        commit: &commit,
        reads: 0,
    };
    let error = search(file, "never", &commit).unwrap_err();
    assert_eq!(error.to_string(), "cancelled");
}

#[test]
fn a_line_without_end_is_not_held() {
    let error = search(io::repeat(b'x'), "never", &CommitPoint::default()).unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
}

#[test]
fn a_search_ends_at_the_first_nul() {
    let zeros = b"match\n".chain(io::repeat(0));
    let hits = search(zeros, "match", &CommitPoint::default()).unwrap();
    assert!(hits.binary);
}

#[test]
fn empty_lines_are_not_held_without_end() {
    let lines = io::repeat(b'\n').take(1_000_000);
    let hits = search_for(lines, "^", usize::MAX, &CommitPoint::default()).unwrap();
    assert!(hits.more);
    assert_eq!(hits.lines.len(), ToolLimits::default().output_lines);
}

#[test]
fn no_part_of_a_key_stays_where_a_line_is_cut() {
    let mut redactor = Redactor::default();
    redactor.add("sk-0123456789abcdef");
    for before in 0..60 {
        let line = format!(
            "{}match {} sk-0123456789abcdef{}",
            "a".repeat(40),
            "b".repeat(before),
            "c".repeat(40)
        );
        let shown = cut(line.as_bytes(), 40, 40, &redactor);
        assert!(!shown.contains("sk-") && !shown.contains("def"), "{shown}");
    }
}
