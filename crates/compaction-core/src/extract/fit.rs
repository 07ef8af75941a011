//! Making a summary fit: each part's share first, then dropping in a fixed order until the whole fits.
//!
//! When there is too much, everything that may go is first reduced to a few of its newest. Then goes, in this
//! order: notes, the last answer, figures, an earlier summary, focus sentences; requests in between;
//! decisions; commands that passed, finished items, details of files; plan, later steps, notes on what
//! blocks; long quotes are shortened; later todos; the failure; and only then file paths, rules and the
//! rest of the quotes. What goes is counted, and its ids are named.

use super::ExtractKind;
use super::facts::{Facts, FileWork, Item, LeftOut, Request, add};
use super::sections::render;
use super::text::cut_middle;

/// The most items of each list.
const BETWEEN: usize = 40;
const DECISIONS: usize = 12;
const DONE: usize = 30;
const PASSED: usize = 4;
const OPEN: usize = 30;
const NOTES: usize = 12;
const BLOCKED: usize = 5;

/// The size that is allowed, and the counter that measures it.
#[derive(Clone, Copy)]
pub(super) struct Gauge<'a> {
    pub cap: u64,
    pub count: &'a dyn Fn(&str) -> u64,
}

/// Returns the written form of `facts`, at most the cap large.
pub(super) fn fit(facts: &mut Facts, kind: ExtractKind, gauge: Gauge<'_>) -> String {
    share(facts, gauge);
    let mut text = render(facts, kind);
    let mut size = (gauge.count)(&text);
    for step in STEPS {
        while size > gauge.cap {
            // Drop about as much as is too much, then measure again.
            let excess = size - gauge.cap;
            let mut dropped = 0;
            while dropped < excess {
                let Some(gone) = step(facts) else { break };
                dropped += (gauge.count)(&gone).max(1);
            }
            if dropped == 0 {
                break;
            }
            text = render(facts, kind);
            size = (gauge.count)(&text);
        }
    }
    while size > gauge.cap && !text.is_empty() {
        // Smaller than the form itself: a piece of it is all that fits.
        text.truncate(text.floor_char_boundary(text.len() * 9 / 10));
        size = (gauge.count)(&text);
    }
    text
}

/// Holds every part to its share of the cap.
fn share(facts: &mut Facts, gauge: Gauge<'_>) {
    let cap = gauge.cap;
    for request in [&mut facts.first, &mut facts.latest].into_iter().flatten() {
        request.text = cut_to(&request.text, &request.id, cap / 5, gauge);
    }
    facts.goal = cut_to(&facts.goal, "", cap / 6, gauge);
    facts.earlier = cut_to(&facts.earlier, "", cap / 4, gauge);
    leave_out(
        &mut facts.between,
        &mut facts.between_left,
        BETWEEN,
        cap / 8,
        gauge,
    );
    leave_out(
        &mut facts.rules,
        &mut facts.rules_left,
        usize::MAX,
        cap * 3 / 4,
        gauge,
    );
    if let Some(focus) = &mut facts.focus {
        leave_out(
            &mut focus.lines,
            &mut LeftOut::default(),
            40,
            cap / 6,
            gauge,
        );
    }
    keep_newest(&mut facts.decisions, DECISIONS);
    add(&mut facts.done_left, keep_newest(&mut facts.done, DONE));
    keep_newest(&mut facts.passed, PASSED);
    keep_newest(&mut facts.notes, NOTES);
    keep_newest(&mut facts.blocked, BLOCKED);
    let figures = usize::try_from(cap / 250)
        .unwrap_or(usize::MAX)
        .clamp(8, 24);
    keep_newest(&mut facts.figures, figures);
    facts.open.truncate(OPEN);
    // No path is shorter than a token, and no details are shorter than six.
    let most = usize::try_from(cap).unwrap_or(usize::MAX);
    add(&mut facts.files_left, keep_newest(&mut facts.files, most));
    let details = facts.files.len().saturating_sub(most / 6);
    facts.files[..details].iter_mut().for_each(FileWork::strip);
}

fn keep_newest<T>(list: &mut Vec<T>, most: usize) -> usize {
    let excess = list.len().saturating_sub(most);
    list.drain(..excess);
    excess
}

/// Keeps the newest items that fit a share, and notes the others.
fn leave_out(
    items: &mut Vec<Item>,
    left: &mut LeftOut,
    most: usize,
    tokens: u64,
    gauge: Gauge<'_>,
) {
    let mut used = 0;
    let fitting = items.iter().rev().take(most).take_while(|item| {
        used += (gauge.count)(&item.line()) + 3;
        used <= tokens
    });
    let excess = items.len() - fitting.count();
    for item in items.drain(..excess) {
        left.add(&item.id);
    }
}

/// Returns `text` cut in its middle to at most `tokens`.
fn cut_to(text: &str, id: &str, tokens: u64, gauge: Gauge<'_>) -> String {
    // No token is shorter than a byte, and few are longer than sixteen.
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let small =
        bytes <= tokens || (bytes <= tokens.saturating_mul(16) && (gauge.count)(text) <= tokens);
    if small {
        return text.to_owned();
    }
    let mut keep = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    loop {
        let cut = cut_middle(text, id, keep);
        if keep < 40 || (gauge.count)(&cut) <= tokens {
            return cut;
        }
        keep = keep * 4 / 5;
    }
}

type Step = fn(&mut Facts) -> Option<String>;

/// What is dropped, one piece at a time, in this order.
const STEPS: [Step; 31] = [
    // Everything that may go keeps a few.
    |facts| oldest(&mut facts.notes, 3),
    |facts| oldest_item(&mut facts.figures, 4),
    |facts| halve(&mut facts.earlier, 1000),
    |facts| to_left(&mut facts.between, &mut facts.between_left, 5),
    |facts| oldest_item(&mut facts.decisions, 4),
    |facts| finished(facts, 8),
    |facts| detail(facts, 6),
    // Critical extras.
    |facts| oldest(&mut facts.notes, 0),
    |facts| facts.answer.take().map(|item| item.text),
    |facts| oldest_item(&mut facts.figures, 0),
    |facts| halve(&mut facts.earlier, 160),
    |facts| {
        let gone = oldest_item(&mut facts.focus.as_mut()?.lines, 0);
        facts.focus = facts.focus.take().filter(|focus| !focus.lines.is_empty());
        gone
    },
    |facts| to_left(&mut facts.between, &mut facts.between_left, 0),
    |facts| shorten_ids(&mut facts.between_left),
    |facts| facts.latest_answers.take().map(|item| item.text),
    |facts| oldest_item(&mut facts.decisions, 0),
    |facts| oldest_item(&mut facts.passed, 0),
    |facts| finished(facts, 0),
    |facts| detail(facts, 0),
    |facts| {
        facts
            .last_steps
            .take()
            .or_else(|| facts.plan.take())
            .map(|item| item.text)
    },
    |facts| newest(&mut facts.next, 1),
    |facts| oldest(&mut facts.blocked, 0),
    |facts| failure(facts, 1),
    |facts| shorten_quotes(facts, 600),
    |facts| {
        facts
            .failures
            .iter_mut()
            .find(|failure| failure.lines.len() > 2)?
            .lines
            .pop()
    },
    |facts| shorten_quotes(facts, 200),
    |facts| newest(&mut facts.open, 3).or_else(|| shorten_ids(&mut facts.rules_left)),
    |facts| failure(facts, 0),
    // What stays to the last.
    |facts| {
        let file = oldest(&mut facts.files, 0)?;
        add(&mut facts.files_left, 1);
        Some(file.path)
    },
    |facts| to_left(&mut facts.rules, &mut facts.rules_left, 0),
    |facts| {
        let gone = newest(&mut facts.open, 0).or_else(|| newest(&mut facts.next, 0));
        let gone = gone.or_else(|| shorten_quotes(facts, 60));
        gone.or_else(|| {
            facts.rules_left.ids.clear();
            facts.between_left = LeftOut::default();
            let request = facts
                .latest
                .take()
                .or_else(|| facts.first.take())
                .map(|request| request.text);
            let gone = request.unwrap_or_default() + &std::mem::take(&mut facts.goal);
            (!gone.is_empty()).then_some(gone)
        })
    },
];

/// Takes the oldest of a list that has more than `keep`.
fn oldest<T>(list: &mut Vec<T>, keep: usize) -> Option<T> {
    if list.len() > keep {
        Some(list.remove(0))
    } else {
        None
    }
}

fn oldest_item(list: &mut Vec<Item>, keep: usize) -> Option<String> {
    oldest(list, keep).map(|item| item.text)
}

fn newest<T>(list: &mut Vec<T>, keep: usize) -> Option<T> {
    if list.len() > keep { list.pop() } else { None }
}

fn finished(facts: &mut Facts, keep: usize) -> Option<String> {
    let gone = oldest(&mut facts.done, keep)?;
    add(&mut facts.done_left, 1);
    Some(gone)
}

fn failure(facts: &mut Facts, keep: usize) -> Option<String> {
    oldest(&mut facts.failures, keep).map(|failure| failure.lines.concat() + &failure.command)
}

/// Reduces the oldest file that has details to its path.
fn detail(facts: &mut Facts, keep: usize) -> Option<String> {
    let detailed = facts.files.iter().filter(|file| !file.is_plain()).count();
    if detailed <= keep {
        return None;
    }
    let file = facts.files.iter_mut().find(|file| !file.is_plain())?;
    let gone = file.line().replace(&file.path, "");
    file.strip();
    Some(gone)
}

fn to_left(items: &mut Vec<Item>, left: &mut LeftOut, keep: usize) -> Option<String> {
    let item = oldest(items, keep)?;
    left.add(&item.id);
    Some(item.text)
}

fn shorten_ids(left: &mut LeftOut) -> Option<String> {
    let excess = left.ids.len().saturating_sub(3);
    let gone: Vec<_> = left.ids.drain(..excess).collect();
    (excess > 0).then(|| gone.join(", "))
}

/// Cuts a text to half of its length, and drops it when it is short.
fn halve(text: &mut String, least: usize) -> Option<String> {
    let length = text.chars().count();
    if length == 0 {
        return None;
    }
    let shorter = if length > least {
        cut_middle(text, "", length / 2 - 40)
    } else {
        String::new()
    };
    let gone = text.len().saturating_sub(shorter.len());
    let gone = text.chars().take(gone).collect();
    *text = shorter;
    Some(gone)
}

/// Cuts the longest quote that is longer than `limit` characters to that length.
fn shorten_quotes(facts: &mut Facts, limit: usize) -> Option<String> {
    let slack = limit + 80;
    let too_long = |request: &&mut Request| request.text.chars().count() > slack;
    let quotes = [&mut facts.latest, &mut facts.first].into_iter().flatten();
    if let Some(request) = quotes
        .filter(too_long)
        .max_by_key(|request| request.text.len())
    {
        let cut = cut_middle(&request.text, &request.id, limit);
        if cut.len() < request.text.len() {
            let gone = request
                .text
                .chars()
                .take(request.text.len() - cut.len())
                .collect();
            request.text = cut;
            return Some(gone);
        }
    }
    let goal = facts.goal.chars().count();
    if goal > slack {
        let cut = cut_middle(&facts.goal, "", limit);
        let gone: String = facts.goal.chars().skip(limit).collect();
        facts.goal = cut;
        return Some(gone);
    }
    None
}
