//! Folding: a conversation that exceeds the summarizer's window becomes several requests,
//! each bringing the summary up to date with its part.

use session_model::tokens::{TokenCount, TokenCounter};

/// Returns `parts` packed, in order, into texts of at most `budget` tokens each.
///
/// Parts are kept whole if they fit; a part that exceeds the budget by itself is split between lines, or between
/// characters if a line is too long.
pub fn fold(
    parts: &[String],
    separator: &str,
    budget: TokenCount,
    counter: &dyn TokenCounter,
) -> Vec<String> {
    let budget = budget.0.max(1);
    let size = |text: &str| counter.text(text).0 + 1;
    let mut folded: Vec<String> = Vec::new();
    let mut window = String::new();
    let mut used = 0;
    for part in parts {
        let tokens = size(part);
        if used > 0 && used + tokens > budget {
            folded.push(std::mem::take(&mut window));
            used = 0;
        }
        if tokens <= budget {
            if !window.is_empty() {
                window.push_str(separator);
            }
            window.push_str(part);
            used += tokens;
            continue;
        }
        let mut pieces = split_to_fit(part, budget, &size);
        window = pieces.pop().unwrap_or_default();
        used = size(&window);
        folded.extend(pieces);
    }
    if !window.is_empty() || folded.is_empty() {
        folded.push(window);
    }
    folded
}

const CONTINUED: &str = "[continued]\n";

/// Splits a text into pieces of at most `budget` tokens.
fn split_to_fit(text: &str, budget: u64, size: &dyn Fn(&str) -> u64) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let lead = if pieces.is_empty() { "" } else { CONTINUED };
        let fits = |end: usize| size(&format!("{lead}{}", &rest[..end])) <= budget;
        if rest.len() as u64 <= budget.saturating_mul(16) && fits(rest.len()) {
            pieces.push(format!("{lead}{rest}"));
            break;
        }
        // The largest prefix that fits, by bisection over bytes.
        // No text has more than sixteen bytes a token for long; a budget's worth of bytes bounds the search.
        let far = usize::try_from(budget.saturating_mul(16)).unwrap_or(usize::MAX);
        let (mut low, mut high) = (0, rest.len().min(far) + 1);
        while low + 1 < high {
            let middle = rest.floor_char_boundary(low.midpoint(high));
            if middle <= low {
                break;
            }
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let one_character = rest.chars().next().map_or(1, char::len_utf8);
        let end = rest.floor_char_boundary(low).max(one_character);
        let line_end = rest[..end].rfind('\n').map(|at| at + 1);
        let end = line_end.filter(|at| *at * 2 > end).unwrap_or(end);
        pieces.push(format!("{lead}{}", &rest[..end]));
        rest = &rest[end..];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::fold;
    use session_model::tokens::{Chars4, TokenCount, TokenCounter};

    #[test]
    fn windows_respect_the_budget_and_lose_nothing() {
        let parts: Vec<String> = (0..40)
            .map(|n| format!("part {n} {}", "x".repeat(n * 17)))
            .collect();
        for budget in [20, 50, 90, 1000, 100_000] {
            let folded = fold(&parts, "\n\n", TokenCount(budget), &Chars4);
            for window in &folded {
                assert!(Chars4.text(window).0 <= budget, "{budget}");
            }
            let count = |text: &str| text.matches('x').count();
            let kept: usize = folded.iter().map(|window| count(window)).sum();
            assert_eq!(kept, count(&parts.join("")));
        }
        assert_eq!(fold(&parts, "\n\n", TokenCount(100_000), &Chars4).len(), 1);
    }
}
