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
        usual(text.as_bytes()).map(Self).or_else(|| {
            let at = text.parse::<jiff::Timestamp>().ok()?;
            Some(Self(at.as_millisecond()))
        })
    }
}

/// The milliseconds of a day.
const DAY: i64 = 86_400_000;

/// From March of year 0, where leap days end years, to 1970; and how many days 400 years have.
const TO_1970: i64 = 719_468;
const ERA: i64 = 146_097;

/// Returns the milliseconds that a text in the form of sessions names, up to the 28th of a month from 1970 on: nearly
/// all there are.
fn usual(text: &[u8]) -> Option<i64> {
    let form = b"0000-00-00T00:00:00.000Z";
    let is_digit = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        _ => byte == form,
    };
    if text.len() != form.len() || !text.iter().zip(form).all(is_digit) {
        return None;
    }
    let number = |from: usize, to: usize| {
        let digits = text[from..to].iter();
        digits.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let is_date = year >= 1970 && (1..=12).contains(&month) && (1..=28).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let year = year - i64::from(month < 3);
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + in_year - TO_1970;
    let seconds = (hour * 60 + minute) * 60 + second;
    Some(days * DAY + seconds * 1000 + number(20, 23))
}

impl fmt::Display for Timestamp {
    /// Writes the form that sessions use: `2026-01-01T00:00:00.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Years of another number of digits are written with a sign.
        if !(0..253_402_300_800_000).contains(&self.0) {
            return match jiff::Timestamp::from_millisecond(self.0) {
                Ok(at) => write!(f, "{at:.3}"),
                Err(_) => f.write_str("1970-01-01T00:00:00.000Z"),
            };
        }
        let (days, rest) = (self.0 / DAY + TO_1970, self.0 % DAY);
        let (era, in_era) = (days / ERA, days % ERA);
        let year = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
        let in_year = in_era - (year * 365 + year / 4 - year / 100);
        let month = (5 * in_year + 2) / 153;
        let day = in_year - (153 * month + 2) / 5 + 1;
        let year = era * 400 + year + i64::from(month > 9);
        let month = (month + 2) % 12 + 1;
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, millis) = (rest / 1000 % 60, rest % 1000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let parts = [
            (4, year),
            (7, month),
            (10, day),
            (13, hour),
            (16, minute),
            (19, second),
            (23, millis),
        ];
        for (end, mut number) in parts {
            for digit in text[..end].iter_mut().rev() {
                if number == 0 {
                    break;
                }
                *digit += (number % 10) as u8;
                number /= 10;
            }
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn every_day_is_read_and_written_as_by_the_library_of_dates() {
        for day in (0..2_932_000).step_by(7).chain(0..20_000) {
            let millis = day * super::DAY + day % super::DAY * 997 % super::DAY;
            let at = Timestamp::from_millis(millis);
            let want = jiff::Timestamp::from_millisecond(millis).expect("a time");
            let text = format!("{want:.3}");
            assert_eq!(at.to_string(), text);
            assert_eq!(Timestamp::parse(&text), Some(at));
        }
        for text in ["2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z"] {
            let want = text.parse::<jiff::Timestamp>().ok();
            let want = want.map(jiff::Timestamp::as_millisecond);
            assert_eq!(Timestamp::parse(text).map(Timestamp::as_millis), want);
        }
    }

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
