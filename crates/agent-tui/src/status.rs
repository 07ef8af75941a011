//! The status line: the folder, the model, the cost, and how far it is to the next compaction.

use ratatui::text::{Line, Span};

use crate::gauge::Gauge;
use crate::state::State;
use crate::text::{columns, cut, cut_start, safe_line};
use crate::theme::Theme;

/// How many cells the bar has where there is room.
const CELLS: usize = 22;

/// The cells that the bar gets before anything else has room.
const WANTED: usize = 16;

/// The columns from which on a folder is shortened instead of left out.
const FOLDER: usize = 16;

/// The fewest cells of the bar.
const FEWEST: usize = 8;

/// Returns the status line in `width` columns. The bar is never dropped: the folder goes first, then the cost, then the
/// model.
pub fn line(state: &State, width: usize) -> Line<'static> {
    let theme = state.theme;
    let gauge = state
        .context
        .filter(|context| context.window > 0)
        .map(|figures| Gauge {
            figures,
            fixed: state.fixed,
        });
    let work = work(state);
    let cost = state.spent.cost_usd.map(|cost| format!("${cost:.2}"));
    let model = safe_line(&state.session.model);
    let path = short_folder(&state.session.cwd, state.setup.home.as_deref());
    let words = match (&gauge, state.context) {
        (Some(gauge), _) => gauge.words(width),
        (None, Some(context)) => context.used(),
        (None, None) => String::new(),
    };
    let fixed = columns(&words) + columns(&work) + 4;
    let room = width.saturating_sub(fixed + if gauge.is_some() { WANTED } else { 0 });
    // The model is the last that is dropped.
    let mut left: Vec<String> = Vec::new();
    let mut used = 0;
    for (part, is_path) in [(Some(model), false), (cost, false), (Some(path), true)] {
        let Some(mut part) = part.filter(|part| !part.is_empty()) else {
            continue;
        };
        let free = room.saturating_sub(used + 2);
        if is_path && free >= FOLDER {
            part = cut_start(&part, free.min(2 * FOLDER));
        }
        if columns(&part) > free {
            break;
        }
        used += columns(&part) + 2;
        match is_path {
            true => left.insert(0, part),
            false => left.push(part),
        }
    }
    let mut spans = Vec::new();
    for part in left {
        spans.push(Span::styled(format!("{part}  "), theme.dim()));
    }
    if let Some(gauge) = gauge {
        let cells = width.saturating_sub(used + fixed).clamp(FEWEST, CELLS);
        spans.extend(colored_bar(&gauge, cells, theme));
        spans.push(Span::raw("  "));
    }
    spans.push(Span::raw(words));
    if !work.is_empty() {
        spans.push(Span::styled(format!("  {work}"), theme.dim()));
    }
    Line::from(spans)
}

fn colored_bar(gauge: &Gauge, cells: usize, theme: Theme) -> Vec<Span<'static>> {
    let style_of = |cell: char| match cell {
        '!' => theme.bad(),
        '#' => theme.code(),
        '=' if gauge.is_close() => theme.warn(),
        '=' => theme.good(),
        _ => theme.dim(),
    };
    let bar = gauge.bar(cells);
    let letters: Vec<char> = bar.chars().collect();
    let runs = letters.chunk_by(|one, next| style_of(*one) == style_of(*next));
    runs.map(|run| Span::styled(run.iter().collect::<String>(), style_of(run[0])))
        .collect()
}

/// Returns what goes on, in a word.
fn work(state: &State) -> String {
    if state.is_closing {
        return "closing".to_owned();
    }
    if !state.approvals.is_empty() {
        return "asks".to_owned();
    }
    if state.compaction.is_some() {
        return "compacting".to_owned();
    }
    match state.live.since {
        Some(since) => format!("{}s", state.now.saturating_sub(since).as_secs()),
        None => String::new(),
    }
}

/// Returns a folder with `~` for the home folder.
fn short_folder(folder: &str, home: Option<&str>) -> String {
    let rest = home
        .filter(|home| home.len() > 1)
        .and_then(|home| folder.strip_prefix(home));
    match rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(rest) => safe_line(&format!("~{rest}")),
        None => safe_line(folder),
    }
}

/// Returns a text for the left end of the status line while ctrl+c was pressed once.
pub fn leave_hint(width: usize, theme: Theme) -> Line<'static> {
    crate::text::line(cut("ctrl+c again to leave", width), theme.warn())
}
