//! Points in time as sessions write them: ISO 8601 on entries, Unix milliseconds inside messages.

use std::fmt;

/// A point in time, in milliseconds since the Unix epoch.
///
/// Time always comes in from outside; nothing in this crate reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Returns the point `millis` milliseconds after the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the number of milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns how many milliseconds after `earlier` this is.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the point that an ISO 8601 text names, or `None` when it names none.
    pub fn parse(text: &str) -> Option<Self> {
        let at = text.parse::<jiff::Timestamp>().ok()?;
        Some(Self(at.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    /// Writes the form that sessions use: `2026-01-01T00:00:00.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        write!(f, "{at:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn the_time_between_two_points_saturates() {
        let [first, last] = [i64::MIN, i64::MAX].map(Timestamp::from_millis);
        assert_eq!(last.millis_since(first), i64::MAX);
        assert_eq!(first.millis_since(last), i64::MIN);
    }

    #[test]
    fn display_and_parse_are_inverse_to_the_millisecond() {
        for millis in [0, 1, 1_763_681_581_544, 1_767_225_600_000] {
            let at = Timestamp::from_millis(millis);
            assert_eq!(Timestamp::parse(&at.to_string()), Some(at));
        }
        let at = Timestamp::from_millis(1_767_225_600_000);
        assert_eq!(at.to_string(), "2026-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
