//! The size of the context along a session, drawn as SVG.

use askama::Template;
use session_model::TokenCount;

/// Up to how many points are drawn.
const POINTS: usize = 1000;

/// The width and height of the drawing, in its own units; the page stretches it.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 100.0;

/// The meaning of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Compaction,
    Pruning,
    Model,
    Reset,
}

impl MarkKind {
    const ALL: [Self; 4] = [Self::Compaction, Self::Pruning, Self::Model, Self::Reset];

    /// Returns the name, which is also the class on the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Pruning => "pruning",
            Self::Model => "model",
            Self::Reset => "reset",
        }
    }

    /// Returns the legend for one, and for several.
    const fn legend(self) -> (&'static str, &'static str) {
        match self {
            Self::Compaction => ("compaction", "compactions"),
            Self::Pruning => ("pruning", "prunings"),
            Self::Model => ("model", "models"),
            Self::Reset => ("reset", "resets"),
        }
    }
}

/// Something marked on the timeline.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub kind: MarkKind,
    /// Its place on the path.
    pub place: usize,
    /// The number of the entry that it leads to.
    pub entry: usize,
    pub title: String,
    /// True for one on a branch that was left.
    pub left: bool,
}

#[derive(Template)]
#[template(path = "timeline.html")]
struct Drawing<'a> {
    area: String,
    line: String,
    points: String,
    marks: Vec<Placed<'a>>,
    legend: Vec<(&'static str, &'static str, usize)>,
    /// The lines of the grid, each with its label.
    grid: Vec<(f64, String)>,
    peak: String,
}

struct Placed<'a> {
    x: f64,
    class: String,
    mark: &'a Mark,
}

/// Returns the timeline: `points` are the number of each entry and the size after it.
pub(crate) fn timeline(points: &[(usize, u64)], marks: &[Mark]) -> String {
    let most = points.iter().map(|(_, tokens)| *tokens).max().unwrap_or(0);
    if points.len() < 2 || most == 0 {
        return String::new();
    }
    let top = round_up(most);
    let last = (points.len() - 1) as f64;
    let x = |place: usize| place as f64 / last * WIDTH;
    let y = |tokens: u64| HEIGHT - tokens as f64 / top as f64 * HEIGHT;
    let drawn = chosen(points);
    let line: Vec<String> = drawn
        .iter()
        .map(|place| format!("{:.1},{:.2}", x(*place), y(points[*place].1)))
        .collect();
    let line = line.join(" ");
    let told = drawn
        .iter()
        .map(|place| format!("{place}:{}:{}", points[*place].0, points[*place].1));
    let placed = marks.iter().map(|mark| Placed {
        x: x(mark.place),
        class: match mark.left {
            true => format!("{} left", mark.kind.name()),
            false => mark.kind.name().to_owned(),
        },
        mark,
    });
    let legend = MarkKind::ALL.iter().map(|kind| {
        let count = marks.iter().filter(|mark| mark.kind == *kind).count();
        let (one, several) = kind.legend();
        (kind.name(), if count == 1 { one } else { several }, count)
    });
    let grid = [1, 2, 3, 4].map(|part| {
        let tokens = TokenCount(top).scaled(part, 4);
        (y(tokens.0), short(tokens).replace(".0", ""))
    });
    let drawing = Drawing {
        area: format!("0,{HEIGHT} {line} {WIDTH},{HEIGHT}"),
        line: line.clone(),
        points: told.collect::<Vec<_>>().join(" "),
        marks: placed.collect(),
        legend: legend.filter(|(_, _, count)| *count > 0).collect(),
        grid: grid.to_vec(),
        peak: short(TokenCount(most)),
    };
    drawing.render().unwrap_or_default()
}

/// Returns the places that are drawn: all, or of each stretch the lowest and the highest, so that no drop is lost.
fn chosen(points: &[(usize, u64)]) -> Vec<usize> {
    if points.len() <= POINTS {
        return (0..points.len()).collect();
    }
    let stretch = points.len().div_ceil(POINTS / 2);
    let mut places = vec![0];
    for start in (0..points.len()).step_by(stretch) {
        let end = points.len().min(start + stretch);
        let by_size = |place: &usize| points[*place].1;
        let low = (start..end).min_by_key(by_size).unwrap_or(start);
        let high = (start..end).max_by_key(by_size).unwrap_or(start);
        places.extend([low.min(high), low.max(high)]);
    }
    places.push(points.len() - 1);
    places.dedup();
    places
}

/// Returns the next round number from which four lines of a grid are round too.
fn round_up(tokens: u64) -> u64 {
    let mut step: u64 = 4;
    loop {
        for factor in [1, 2, 4, 5, 8] {
            let top = step.saturating_mul(factor);
            if top >= tokens {
                return top;
            }
        }
        step = step.saturating_mul(10);
    }
}

/// Returns a number of tokens as people read it: `950`, `31.8k`, `1.2M`.
pub(crate) fn short(tokens: TokenCount) -> String {
    let tenths = |unit: u64| {
        let tenths = tokens.0.saturating_add(unit / 20) / (unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match tokens.0 {
        0..1000 => tokens.to_string(),
        1000..999_950 => format!("{}k", tenths(1000)),
        _ => format!("{}M", tenths(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::{POINTS, chosen, round_up};

    #[test]
    fn a_drop_between_drawn_points_is_not_lost() {
        let mut points: Vec<(usize, u64)> = (0..50_000).map(|n| (n, 1000 + n as u64)).collect();
        points[30_001].1 = 3;
        let drawn = chosen(&points);
        assert!(drawn.len() <= POINTS + 2 && drawn.is_sorted());
        assert!(drawn.contains(&30_001) && drawn.contains(&49_999));
    }

    #[test]
    fn the_grid_is_round() {
        assert_eq!(
            [3, 70, 167_000, 200_001, 1 << 62, u64::MAX].map(round_up),
            [4, 80, 200_000, 320_000, 8_000_000_000_000_000_000, u64::MAX]
        );
    }
}
