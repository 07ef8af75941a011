//! What the tools of recall and the command share: running a search on several threads, and patterns of bounded size and
//! work.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use llm_providers::Request;
use regex::{Regex, RegexBuilder};
use session_model::{
    AgentMessage, Block, Content, ContextRules, Leaf, LlmMessage, SessionContext, SessionTree,
    Wording, build_context, convert_message,
};
use session_recall::{Matches, Recall, RecallRequest, RecallSearch};

/// The largest compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 1 << 20;

/// How much of one text a pattern is looked for in, in bytes.
const SEARCHED: usize = 1 << 20;

/// The most places of one text that count, and that are kept.
const MOST_PLACES: usize = 1000;
const KEPT_PLACES: usize = 100;

/// How much is read to count further places in one text, in bytes: each may take what is left of the text.
const COUNTED: usize = 16 << 20;

/// How much is read to count further places in all texts of a search, in bytes.
const COUNTED_IN_ALL: usize = 256 << 20;

/// A session of fewer entries is searched by one thread, the most threads that search one, and how many parts each
/// takes: some take longer than others.
const ENTRIES_OF_ONE: usize = 2000;
const MOST_THREADS: usize = 4;
const PARTS: usize = 8;

/// Searches a session that stands at `leaf`; `None` when `stop` said so.
pub fn search(
    tree: &SessionTree,
    leaf: Leaf,
    rules: ContextRules,
    request: &RecallRequest<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Recall> {
    let path = tree.path(leaf);
    let context = build_context(&path, rules);
    let search = RecallSearch::new(&path, &context, request);
    let threads = match tree.len() < ENTRIES_OF_ONE {
        true => 1,
        false => thread::available_parallelism().map_or(1, |most| most.get().min(MOST_THREADS)),
    };
    let parts = search.parts(if threads > 1 { threads * PARTS } else { 1 });
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else {
                return Some(done);
            };
            done.push((number, search.scan(part.clone(), &|| stop())?));
        }
    };
    let mut scans = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut scans = work()?;
        for other in others {
            scans.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Some(scans)
    })?;
    scans.sort_by_key(|(number, _)| *number);
    let scans = scans.into_iter().map(|(_, scan)| scan).collect();
    search.finish(scans, &|| stop())
}

/// The name that models call the search by.
pub(crate) const RECALL: &str = "recall";

/// How the model finds again what a summary left out.
const TEACH_RECALL: &str = include_str!(concat!("../templates/", "summary-recall.md"));

/// Says behind the summary of the newest compaction how the rest is found again, where the model has the tool for it.
pub fn teach_recall(request: &mut Request, context: &SessionContext) {
    let first = context.entries.first().into_iter();
    let mut messages = first.flat_map(|projected| &projected.messages);
    let summary = messages.find(|it| matches!(&***it, AgentMessage::CompactionSummary(_)));
    let shown = summary.and_then(|summary| convert_message(summary, Wording::Own));
    let is_offered = request.tools.iter().any(|tool| tool.name == RECALL);
    let mut messages = request.messages.iter_mut();
    let found = messages.find(|message| Some(&**message) == shown.as_ref());
    if let Some(LlmMessage::User(Content::Blocks(blocks))) = found.filter(|_| is_offered)
        && let Some(Block::Text(block)) = blocks.last_mut()
    {
        block.text.push_str("\n\n");
        block.text.push_str(TEACH_RECALL.trim_end());
    }
}

/// Returns a pattern. It finds the next place in time linear in the text, and what it compiles to is bounded here.
///
/// # Errors
/// What is wrong with the pattern, or that it is too large.
pub fn pattern(text: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(text).size_limit(PATTERN_LIMIT).build();
    built.map_err(|error| format!("the pattern cannot be used: {error}"))
}

/// A search by a pattern. The first place in each text is always found; further ones while there is work left.
pub struct Search {
    pattern: Regex,
    /// How many bytes may still be read to count further places.
    left: AtomicUsize,
}

impl Search {
    /// Returns a search for `pattern`.
    pub fn new(pattern: Regex) -> Self {
        Self {
            pattern,
            left: AtomicUsize::new(COUNTED_IN_ALL),
        }
    }

    /// Returns where the pattern matches, in the beginning of a long text; nothing more after a `stop`.
    pub fn matches(&self, text: &str, stop: impl Fn() -> bool) -> Matches {
        let searched = &text[..text.floor_char_boundary(SEARCHED)];
        let mut found = Matches {
            in_part: searched.len() < text.len(),
            ..Matches::default()
        };
        if stop() {
            return found;
        }
        let mut left_here = COUNTED;
        for place in self.pattern.find_iter(searched) {
            let rest = searched.len() - place.end();
            found.count += 1;
            if found.places.len() < KEPT_PLACES {
                found.places.push(place.range());
            }
            let left = self.left.load(Ordering::Relaxed);
            if found.count == MOST_PLACES || rest > left_here || rest > left || stop() {
                found.in_part |= rest > 0;
                break;
            }
            left_here -= rest;
            self.left.store(left - rest, Ordering::Relaxed);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> bool {
        false
    }

    fn first(found: &Matches) -> Option<std::ops::Range<usize>> {
        found.places.first().cloned()
    }

    #[test]
    fn a_pattern_looks_at_the_beginning_of_a_long_text_and_stops_when_told() {
        let text = format!("needle{}needle", "é".repeat(SEARCHED));
        let needle = Search::new(pattern("needle").unwrap());
        let found = needle.matches(&text, never);
        assert_eq!((first(&found), found.count), (Some(0..6), 1));
        assert!(found.in_part);
        assert_eq!(needle.matches(&text, || true).count, 0);
        let short = needle.matches("a needle in a needle", never);
        assert_eq!((first(&short), short.count), (Some(2..8), 2));
        assert!(!short.in_part);
    }

    #[test]
    fn a_pattern_that_reads_the_rest_for_each_place_counts_as_far_as_its_work_reaches() {
        let text = "A".repeat(1_000_000);
        let search = Search::new(pattern(".*[^A-Z]|[A-Z]").unwrap());
        let found = search.matches(&text, never);
        assert_eq!((first(&found), found.count), (Some(0..1), 17));
        assert!(found.in_part);
        // When all work is done, one place of each text is still found.
        search.left.store(0, Ordering::Relaxed);
        let found = search.matches(&text, never);
        assert_eq!((first(&found), found.count), (Some(0..1), 1));
        assert!(found.in_part);
    }

    #[test]
    fn a_pattern_that_explodes_elsewhere_takes_linear_time() {
        let search = Search::new(pattern("(a+)+$").unwrap());
        let text = "a".repeat(100_000) + "b";
        assert_eq!(search.matches(&text, never).count, 0);
    }
}
