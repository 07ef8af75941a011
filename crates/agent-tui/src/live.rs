//! What is above the editor and still changes: the answer that is written, running calls, a compaction, a question,
//! messages that wait.

use ratatui::text::{Line, Span};

use crate::markdown;
use crate::state::{ANSWERS, Approval, RunningCall, State, Work};
use crate::text::{columns, cut, cut_start, line, prefixed, safe_line, safe_lines, text_of};
use session_model::text::{head_and_tail, reveal};

/// How many lines of a running command's output are shown.
const TAIL: usize = 4;

/// How many lines of what is to be allowed are shown at least.
const SUBJECT: usize = 12;

/// How many characters of it are put into lines at most.
const SUBJECT_CHARS: usize = 20_000;

/// What is said of a command with characters that are not seen.
pub const UNSEEN: &str = "  warning: unseen characters are written as \\u{...}";

/// Returns the lines above the editor, at most `height` of them.
pub fn lines(state: &State, width: usize, height: usize) -> Vec<Line<'static>> {
    let below = below(state, width, height);
    let mut lines = above(state, width);
    let room = height.saturating_sub(below.len());
    // Of what is still written, the end counts.
    let surplus = lines.len().saturating_sub(room);
    lines.drain(..surplus);
    lines.extend(below);
    lines.truncate(height);
    lines
}

/// Returns what the model writes and what its tools do.
fn above(state: &State, width: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let mut lines = Vec::new();
    if !state.live.thinking.is_empty() {
        let seconds = state
            .now
            .saturating_sub(state.live.thinking_since)
            .as_secs();
        let newest = state.live.thinking.lines().rev();
        let newest = newest.map(safe_line).find(|line| !line.is_empty());
        let title = format!("~ thinking {seconds}s  ");
        let room = width.saturating_sub(columns(&title));
        let text = format!("{title}{}", cut_start(&newest.unwrap_or_default(), room));
        lines.push(line(text, theme.dim()));
    }
    if !state.live.answer.is_empty() {
        lines.extend(markdown::lines(&state.live.answer, width, theme));
    }
    for call in &state.live.calls {
        lines.extend(running(call, state, width));
    }
    if !lines.is_empty() {
        lines.insert(0, Line::default());
    }
    lines
}

fn running(call: &RunningCall, state: &State, width: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let seconds = state.now.saturating_sub(call.since).as_secs();
    let asks = state.approvals.iter().any(|asked| asked.call_id == call.id);
    let time = match (asks, seconds) {
        (true, _) => "  waits for you".to_owned(),
        (false, 0) => String::new(),
        (false, seconds) => format!("  {seconds}s"),
    };
    let room = width.saturating_sub(2 + columns(&time));
    let mut lines = vec![Line::from(vec![
        Span::styled("> ", theme.code()),
        Span::raw(cut(&safe_line(&call.call), room)),
        Span::styled(time, theme.dim()),
    ])];
    let tail = safe_lines(&call.tail);
    let skipped = tail.len().saturating_sub(TAIL);
    for text in &tail[skipped..] {
        lines.push(line(cut(&format!("    {text}"), width), theme.dim()));
    }
    lines
}

/// Returns what asks for the user's attention; it is never cut for the sake of what is above.
fn below(state: &State, width: usize, height: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let mut lines = Vec::new();
    if let Some(compaction) = &state.compaction {
        let seconds = state.now.saturating_sub(compaction.since).as_secs();
        let from = state.context.map(|context| {
            let count = compaction_core::TokenCount(context.tokens);
            format!("  {}", session_text::tokens(count))
        });
        let reason = safe_line(&compaction.reason);
        let title = format!(
            "* compacting{}  {reason}  {seconds}s  ",
            from.unwrap_or_default()
        );
        let keys = "  esc keeps all as is";
        let room = width.saturating_sub(columns(&title) + columns(keys));
        let text = cut(&safe_line(&compaction.text), room);
        lines.push(Line::default());
        lines.push(Line::from(vec![
            Span::styled(cut(&format!("{title}{text}"), width), theme.bold()),
            Span::styled(
                cut(keys, width.saturating_sub(columns(&title) + columns(&text))),
                theme.dim(),
            ),
        ]));
    }
    lines.extend(waiting(state, width));
    if let Some(asked) = state.approvals.front() {
        let room = height
            .saturating_sub(lines.len() + 5)
            .clamp(1, SUBJECT.max(height / 2));
        lines.push(Line::default());
        lines.extend(question(asked, state, width, room));
    }
    for (place, message) in state.queue.iter().enumerate() {
        if place == 0 {
            lines.push(Line::default());
        }
        let when = match message.delivery.as_str() {
            _ if !state.is_working() => "waits, /continue sends",
            "steer" => "next",
            _ => "after this turn",
        };
        let keys = match place + 1 == state.queue.len() {
            true => format!("  {when}, alt+up edits"),
            false => format!("  {when}"),
        };
        let room = width.saturating_sub(columns(&keys) + 2);
        let text = session_model::text::first_line(&message.text, usize::MAX);
        lines.push(Line::from(vec![
            Span::styled(format!("> {}", cut(&text, room)), theme.dim()),
            Span::styled(keys, theme.dim()),
        ]));
    }
    lines
}

/// Returns what the user waits for and how far it is, once that takes longer than a second.
fn waiting(state: &State, width: usize) -> Vec<Line<'static>> {
    let Some(waiting) = &state.waiting else {
        return Vec::new();
    };
    let seconds = state.now.saturating_sub(waiting.since).as_secs();
    let how_far = match &waiting.work {
        Work::Report(..) if seconds == 0 => return Vec::new(),
        Work::Report(meter, entries) => format!("  {}", meter.how_far(*entries)),
        Work::Command(_) => String::new(),
    };
    let name = safe_line(&waiting.name);
    let text = format!("* {name}{how_far}  {seconds}s  esc stops");
    vec![Line::default(), line(cut(&text, width), state.theme.bold())]
}

fn question(asked: &Approval, state: &State, width: usize, room: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let wrapped = |text: &str| -> Vec<Line<'static>> {
        let lines = prefixed(&safe_lines(&reveal(text)), "  ", width, theme.plain());
        let indented = lines.into_iter().map(|line| match line.spans.first() {
            Some(first) if first.content.starts_with("  ") => line,
            Some(_) | None => Line::from([vec![Span::raw("  ")], line.spans].concat()),
        });
        indented.collect()
    };
    let is_unseen = reveal(&asked.subject) != asked.subject;
    let room = room.saturating_sub(usize::from(is_unseen)).max(1);
    let (mut head, mut left_out, mut tail) = match head_and_tail(&asked.subject, SUBJECT_CHARS) {
        Some((head, left_out, tail)) => (wrapped(head), left_out, wrapped(tail)),
        None => (wrapped(&asked.subject), 0, Vec::new()),
    };
    if head.len() + tail.len() > room {
        // A command ends with what matters as often as it begins with it.
        head.append(&mut tail);
        let ends = room.div_ceil(2);
        tail = head.split_off(head.len() - ends);
        let hidden = head.drain(room - ends..);
        let hidden = hidden.map(|line| text_of(&line).trim().chars().count());
        left_out += hidden.sum::<usize>();
    }
    let more = match state.approvals.len() - 1 {
        0 => String::new(),
        more => format!("   {more} more after this"),
    };
    let title = format!("{} wants to run:{more}", safe_line(&asked.tool));
    let mut lines = vec![line(cut(&title, width), theme.warn().patch(theme.bold()))];
    lines.append(&mut head);
    if left_out > 0 {
        let text = format!("  ... {left_out} characters are left out here, ctrl+o shows all");
        lines.push(line(cut(&text, width), theme.warn()));
    }
    lines.append(&mut tail);
    if is_unseen {
        lines.push(line(cut(UNSEEN, width), theme.warn()));
    }
    let keys = if state.answer().is_some() {
        "enter answers".to_owned()
    } else if state.is_asked() {
        "arrows or a letter, then enter   esc stops the turn".to_owned()
    } else {
        "enter sends the message; empty the editor to answer".to_owned()
    };
    let answers = ANSWERS.iter().enumerate().map(|(at, (decision, answer))| {
        let is_chosen = state.answer() == Some(*decision) || asked.choice == Some(at);
        match is_chosen {
            true => format!("[{answer}]"),
            false => format!(" {answer} "),
        }
    });
    let answers = answers.collect::<Vec<_>>().join(" ");
    lines.extend(prefixed(
        &[answers, format!(" {keys}")],
        "  ",
        width,
        theme.bold(),
    ));
    lines
}
