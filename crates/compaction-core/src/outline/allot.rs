//! The shown part of each piece: room is distributed until the budget is reached, and each piece gets it by its weight
//! until it is shown completely.

use super::{Body, Piece, PieceKind};

/// The least that a cut text is worth showing, in tokens; and what a cut saves at least, for its mark takes room too.
const LEAST: u64 = 20;
const SAVES: u64 = 24;
/// The first level, in tokens a unit of weight, and by how much each level is above the one before.
const FIRST: f64 = 2.0;
const STEP: f64 = 1.02;
/// More levels than any text has use for: the last shows a million tokens of the lightest piece.
pub(super) const LEVELS: usize = 800;
/// The size of a heading, a mark of a cut and the line ends, in tokens.
const HEADING: u64 = 10;
const ITEMS: u64 = 6;

/// Returns how many tokens of a piece are shown at a level; zero for none.
pub(super) fn shown_at(piece: &Piece, level: usize) -> u64 {
    let room = FIRST * STEP.powi(i32::try_from(level).unwrap_or(i32::MAX)) * piece.weight;
    // A cast from a float saturates.
    let room = room as u64;
    match &piece.body {
        _ if room >= piece.tokens => piece.tokens,
        Body::Line(_) => 0,
        Body::Quote(_) => {
            if room < LEAST {
                0
            } else if room + SAVES >= piece.tokens {
                piece.tokens
            } else {
                room
            }
        }
        Body::Items(items) => {
            let mut taken = 0;
            for (_, tokens) in items {
                if taken + tokens > room {
                    break;
                }
                taken += tokens;
            }
            taken
        }
    }
}

/// Returns about what the pieces take at a level.
fn cost_at(pieces: &[Piece], with_answers: bool, level: usize) -> u64 {
    let shown = pieces
        .iter()
        .filter(|piece| is_in_form(piece, with_answers));
    let costs = shown.map(|piece| match shown_at(piece, level) {
        0 => 0,
        tokens => {
            tokens
                + match piece.kind {
                    PieceKind::Work => ITEMS,
                    PieceKind::Failing | PieceKind::Todo => 0,
                    _ => HEADING,
                }
        }
    });
    costs.fold(0, u64::saturating_add)
}

/// Returns true if a piece belongs into an outline with or without answers.
pub(super) fn is_in_form(piece: &Piece, with_answers: bool) -> bool {
    let is_answer = matches!(piece.kind, PieceKind::Answer | PieceKind::OtherAnswer);
    // A carried piece that a model summarizes again is in its prose.
    let is_carried = matches!(piece.kind, PieceKind::EarlierSummary | PieceKind::Branch);
    with_answers || !(is_answer || is_carried)
}

/// Returns the highest level at which the pieces take about `budget` tokens.
pub(super) fn level_for(pieces: &[Piece], with_answers: bool, budget: u64) -> usize {
    let (mut low, mut high) = (0, LEVELS);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if cost_at(pieces, with_answers, middle) <= budget {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
