//! When to compact: the threshold, and the calculation of it as text.

use serde::Serialize;

use crate::rules::Rules;
use crate::settings::{
    CompactionSettings, DEFAULT_RESERVE, LedgerSettings, PinSettings, PruneSettings,
};
use session_model::tokens::TokenCount;

/// The tokens above which a context is compacted, and how they came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Threshold {
    /// The threshold; compaction is due strictly above it.
    pub tokens: TokenCount,
    /// The size that is reserved for the answer; output caps derive from it.
    pub reserve: TokenCount,
    /// The arithmetic in words.
    pub explain: String,
}

impl Threshold {
    /// Returns true when a context of `tokens` is due.
    pub fn is_exceeded_by(&self, tokens: TokenCount) -> bool {
        tokens > self.tokens
    }
}

/// Returns the threshold for a model of this window, or `None` for an unknown window (zero).
pub fn threshold(
    window: TokenCount,
    settings: &CompactionSettings,
    rules: &Rules,
) -> Option<Threshold> {
    if window == TokenCount::ZERO {
        return None;
    }
    if rules.plain_threshold {
        let reserve = settings.reserve_tokens.unwrap_or(DEFAULT_RESERVE);
        return Some(Threshold {
            tokens: window.saturating_sub(reserve),
            reserve,
            explain: format!("window {window} - reserve {reserve}"),
        });
    }
    let reserve = effective_reserve(window, settings);
    let with = |tokens: u64, explain: String| {
        Some(Threshold {
            tokens: TokenCount(tokens),
            reserve,
            explain,
        })
    };
    if let Ok(tokens @ 1..) = u64::try_from(settings.threshold_tokens) {
        let clamped = tokens.clamp(1, window.0.saturating_sub(1).max(1));
        let explain =
            format!("thresholdTokens {tokens}, within 1 to window {window} - 1: {clamped}");
        return with(clamped, explain);
    }
    if let Ok(percent @ 1..) = u64::try_from(settings.threshold_percent) {
        let percent = percent.clamp(1, 99);
        let tokens = window.scaled(percent, 100);
        return with(
            tokens.0,
            format!("{percent}% of window {window} = {tokens}"),
        );
    }
    let tokens = window.saturating_sub(reserve);
    with(
        tokens.0,
        format!("window {window} - reserve {reserve} = {tokens}"),
    )
}

/// Returns what is kept free for the answer: the setting or 16,384, at least 15% of the window. Where that is more than
/// half of the window, the threshold stays where it is for a window of twice the reserve, so that a larger window never
/// has a lower one.
fn effective_reserve(window: TokenCount, settings: &CompactionSettings) -> TokenCount {
    let wanted = settings.reserve_tokens.unwrap_or(DEFAULT_RESERVE);
    let held_back = wanted.min(window.saturating_sub(wanted));
    held_back.max(window.scaled(15, 100)).max(TokenCount(1))
}

/// The least that an extractive summary and the pins are given, and a ledger that is not switched off.
const LEAST: TokenCount = TokenCount(1000);
const LEAST_LEDGER: TokenCount = TokenCount(500);
/// The window that shares are taken of where none is known.
const ASSUMED_WINDOW: TokenCount = TokenCount(200_000);

impl CompactionSettings {
    /// Returns the most that an extractive summary takes for a model of this window (zero when it is not known).
    pub fn extractive_budget(
        &self,
        window: TokenCount,
        threshold: Option<&Threshold>,
    ) -> TokenCount {
        let asked = percent_of(window, self.extractive_percent).max(LEAST);
        bounded(Some(asked), TokenCount::ZERO, threshold)
    }
}

impl LedgerSettings {
    /// Returns the most that the ledger takes for a model of this window (zero when it is not known).
    pub fn budget(&self, window: TokenCount, threshold: Option<&Threshold>) -> TokenCount {
        if self.percent <= 0.0 {
            return TokenCount::ZERO;
        }
        let asked = percent_of(window, self.percent).max(LEAST_LEDGER);
        bounded(Some(asked), TokenCount::ZERO, threshold)
    }
}

fn percent_of(window: TokenCount, percent: f64) -> TokenCount {
    let window = if window == TokenCount::ZERO {
        ASSUMED_WINDOW
    } else {
        window
    };
    // A cast from a float saturates.
    TokenCount((window.0 as f64 * percent / 100.0) as u64)
}

impl PruneSettings {
    /// Returns the settings with budgets that fit this threshold.
    pub(crate) fn within(&self, threshold: &Threshold) -> Self {
        let tokens = threshold.tokens;
        Self {
            protect_tokens: self.protect_tokens.min(tokens.scaled(1, 4)),
            minimum_savings: self.minimum_savings.min(tokens.scaled(1, 8)),
            ..self.clone()
        }
    }
}

impl PinSettings {
    /// Returns the most that all pins together take for a model of this window (zero when it is not known).
    pub fn budget(&self, window: TokenCount, threshold: Option<&Threshold>) -> TokenCount {
        bounded(self.max_tokens, window.scaled(1, 100), threshold)
    }
}

fn bounded(
    set: Option<TokenCount>,
    share: TokenCount,
    threshold: Option<&Threshold>,
) -> TokenCount {
    let asked = set.unwrap_or_else(|| share.max(LEAST));
    let quarter = threshold.map(|threshold| threshold.tokens.scaled(1, 4));
    quarter.map_or(asked, |quarter| asked.min(quarter))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::threshold;
    use crate::rules::Profile;
    use crate::settings::CompactionSettings;
    use session_model::tokens::TokenCount;

    fn tokens(window: u64, settings: &CompactionSettings) -> u64 {
        let rules = Profile::Own.rules();
        threshold(TokenCount(window), settings, &rules).map_or(0, |found| found.tokens.0)
    }

    #[test]
    fn thresholds_of_the_specification() {
        let unset = CompactionSettings::default();
        let cases = [
            (200_000, 170_000),
            (1_000_000, 850_000),
            (128_000, 108_800),
            (32_768, 16_384),
            (16_384, 13_927),
            (8192, 6964),
        ];
        for (window, want) in cases {
            assert_eq!(tokens(window, &unset), want, "window {window}");
        }
        let percent = CompactionSettings {
            threshold_percent: 100,
            ..unset.clone()
        };
        assert_eq!(tokens(200_000, &percent), 198_000);
        let fixed = CompactionSettings {
            threshold_tokens: 500_000,
            ..unset.clone()
        };
        assert_eq!(tokens(200_000, &fixed), 199_999);
        let huge = CompactionSettings {
            reserve_tokens: Some(TokenCount(300_000)),
            ..unset
        };
        assert_eq!(tokens(200_000, &huge), 170_000);
        assert_eq!(tokens(0, &huge), 0);
    }

    proptest! {
        #[test]
        fn a_larger_window_never_has_a_lower_threshold(window in 1..2_000_000_u64, reserve in proptest::option::of(1..400_000_u64)) {
            let settings = CompactionSettings { reserve_tokens: reserve.map(TokenCount), ..CompactionSettings::default() };
            let found = tokens(window, &settings);
            prop_assert!(found <= tokens(window + 1, &settings));
            prop_assert!(found < window.max(2) && found * 2 + 1 >= window, "{found} of {window}");
        }
    }

    #[test]
    fn pi_subtracts_the_reserve_from_any_window() {
        let rules = Profile::Pi.rules();
        let settings = CompactionSettings::default();
        let found = threshold(TokenCount(200_000), &settings, &rules);
        assert_eq!(found.map(|found| found.tokens.0), Some(183_616));
    }
}
