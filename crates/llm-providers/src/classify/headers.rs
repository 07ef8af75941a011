//! The delay and the request id in the headers of a failed response.

use std::time::Duration;

use http::HeaderMap;

/// The longest accepted delay. Azure asks for a day (<https://github.com/jasonacox/TinyLLM/issues/17>), and a wrong
/// clock for years.
const LONGEST: Duration = Duration::from_secs(3600);

/// The headers with the id of a request: those of the services first, then those of gateways and proxies.
const IDS: [&str; 10] = [
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-ms-request-id",
    "x-goog-request-id",
    "x-groq-id",
    "x-generation-id",
    "x-correlation-id",
    "cf-ray",
];

/// Returns the delay that the service asks for, at most one hour; `now_unix` is the time in seconds.
///
/// In this order: `retry-after-ms` (OpenAI, Azure); `retry-after` in seconds, also with decimals, or as a
/// date (RFC 9110, 10.2.3); and with status 429 `x-ratelimit-reset-requests` and `-tokens`, durations as Go
/// writes them (OpenAI, Groq). Of these two the one counts whose `x-ratelimit-remaining` is 0; otherwise the
/// shorter one. A date that is past is no wait.
pub fn retry_after(headers: &HeaderMap, status: Option<u16>, now_unix: u64) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|value| seconds(value)?.checked_div(1000));
    let wait = millis.or_else(|| {
        let value = text("retry-after")?;
        seconds(value).or_else(|| {
            let until = http_date(value)?.saturating_sub(now_unix);
            Some(Duration::from_secs(until))
        })
    });
    let wait = wait.or_else(|| {
        if status != Some(429) {
            return None;
        }
        let reset = |what: &str| {
            let value = text(&format!("x-ratelimit-reset-{what}"))?;
            go_duration(value).or_else(|| seconds(value))
        };
        // OpenRouter names the moment, in milliseconds since 1970.
        if let Some(millis) = text("x-ratelimit-reset").and_then(|text| text.parse().ok()) {
            return (millis > 1_000_000_000_000).then(|| until(millis, now_unix));
        }
        let is_used = |what: &str| text(&format!("x-ratelimit-remaining-{what}")) == Some("0");
        let (requests, tokens) = (reset("requests"), reset("tokens"));
        match (requests, tokens) {
            (Some(requests), Some(_)) if is_used("requests") && !is_used("tokens") => {
                Some(requests)
            }
            (Some(_), Some(tokens)) if is_used("tokens") && !is_used("requests") => Some(tokens),
            (Some(requests), Some(tokens)) if is_used("tokens") => Some(requests.max(tokens)),
            (Some(requests), Some(tokens)) => Some(requests.min(tokens)),
            (requests, tokens) => requests.or(tokens),
        }
    });
    wait.map(|wait| wait.min(LONGEST))
}

/// Returns the service's id of the request, for its support.
pub fn request_id(headers: &HeaderMap) -> Option<String> {
    let mut values = IDS
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    let found = values.find(|value| {
        let is_word = value.bytes().all(|byte| byte.is_ascii_graphic());
        is_word && !value.is_empty() && value.len() <= 200
    });
    found.map(str::to_owned)
}

/// Returns a duration as Google and Go write it, at most one hour.
pub(super) fn delay(text: &str) -> Option<Duration> {
    go_duration(text).map(|wait| wait.min(LONGEST))
}

/// Returns how long it is until a moment in milliseconds since 1970, at most one hour.
pub(crate) fn until(millis: u64, now_unix: u64) -> Duration {
    Duration::from_millis(millis.saturating_sub(now_unix.saturating_mul(1000))).min(LONGEST)
}

/// Returns the value of `x-should-retry`, with which OpenAI and Anthropic say if a client should retry.
pub fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()?.trim() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Returns how long a text, normalized, asks to wait: `try again in 644ms` (OpenAI, Groq), `retry in
/// 45.5s` (Google), `retry after 9 seconds` (Azure).
pub(super) fn hint(text: &str) -> Option<Duration> {
    let mut starts = ["try again in ", "retry in ", "retry after "].into_iter();
    let rest = starts.find_map(|start| text.split_once(start).map(|(_, rest)| rest))?;
    let mut words = rest.split(' ');
    let word = words.next()?.trim_end_matches(['.', ',', ';', ')']);
    let wait = match words.next() {
        Some(unit) if unit.starts_with("second") => seconds(word),
        Some(unit) if unit.starts_with("minute") => seconds(word)?.checked_mul(60),
        Some(_) | None => go_duration(word),
    };
    wait.map(|wait| wait.min(LONGEST))
}

/// Returns a number of seconds, as decimals without a sign or an exponent.
fn seconds(text: &str) -> Option<Duration> {
    let is_number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_number || text.len() > 32 {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    // More than a century is no time but a mistake; it is cut to the longest wait anyway.
    Duration::try_from_secs_f64(number.min(4e9)).ok()
}

/// Returns a duration as Go writes it: `1m30s`, `6ms`, `7.66s`, `1h0m0s`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut sum = Duration::ZERO;
    if rest.is_empty() || rest.len() > 64 {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number = seconds(number)?;
        let part = match unit {
            "h" => number.checked_mul(3600)?,
            "m" => number.checked_mul(60)?,
            "s" => number,
            "ms" => number / 1000,
            "us" | "\u{b5}s" | "\u{3bc}s" => number / 1_000_000,
            "ns" => number / 1_000_000_000,
            _ => return None,
        };
        sum = sum.checked_add(part)?;
        rest = after;
    }
    Some(sum)
}

/// Returns the seconds since 1970 of a date in one of the three forms of RFC 9110, 5.6.7.
fn http_date(text: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(text).ok()?;
    let since = date.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_secs())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderMap;

    use super::{go_duration, hint, http_date, request_id, retry_after};

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn check(lines: &[(&'static str, &'static str)], status: u16, millis: Option<u64>) {
        let found = retry_after(&headers(lines), Some(status), 784_111_777 - 90);
        assert_eq!(found, millis.map(Duration::from_millis), "{lines:?}");
    }

    #[test]
    fn retry_after_is_read_in_every_form() {
        check(&[("retry-after", "20")], 429, Some(20_000));
        check(&[("retry-after", " 1.5 ")], 503, Some(1500));
        check(&[("retry-after", "0")], 429, Some(0));
        check(
            &[("retry-after-ms", "250"), ("retry-after", "1")],
            429,
            Some(250),
        );
        check(
            &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
            429,
            Some(90_000),
        );
        check(
            &[("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT")],
            429,
            Some(90_000),
        );
        check(
            &[("retry-after", "Sun Nov  6 08:49:37 1994")],
            429,
            Some(90_000),
        );
        check(
            &[("retry-after", "Sun, 06 Nov 1983 08:49:37 GMT")],
            429,
            Some(0),
        );
        check(&[("retry-after", "86400")], 429, Some(3_600_000));
        check(
            &[("retry-after", "99999999999999999999999999")],
            429,
            Some(3_600_000),
        );
        for wrong in [
            "",
            "soon",
            "-1",
            "nan",
            "inf",
            "1e9",
            "1.2.3",
            "Sun, 99 Foo 1994 08:49:37 GMT",
        ] {
            check(&[("retry-after", wrong)], 429, None);
        }
    }

    #[test]
    fn resets_count_with_429_alone() {
        let both = [
            ("x-ratelimit-reset-requests", "1m30s"),
            ("x-ratelimit-reset-tokens", "6ms"),
        ];
        check(&both, 429, Some(6));
        check(&both, 503, None);
        check(
            &[both[0], both[1], ("x-ratelimit-remaining-requests", "0")],
            429,
            Some(90_000),
        );
        check(
            &[both[0], both[1], ("x-ratelimit-remaining-tokens", "0")],
            429,
            Some(6),
        );
        check(&[both[0]], 429, Some(90_000));
        check(&[("x-ratelimit-reset-tokens", "60")], 429, Some(60_000));
        check(&[("x-ratelimit-reset-tokens", "soon")], 429, None);
    }

    #[test]
    fn go_durations_and_dates_are_exact() {
        assert_eq!(
            go_duration("1h0m0.5s"),
            Some(Duration::from_millis(3_600_500))
        );
        assert_eq!(go_duration("7.66s"), Some(Duration::from_millis(7660)));
        assert_eq!(go_duration("5\u{b5}s"), Some(Duration::from_micros(5)));
        for wrong in ["", "5", "m", "5x", "..s", "-5s", "99999999999h99999999999h"] {
            let found = go_duration(wrong);
            assert!(found.is_none() || wrong.starts_with('9'), "{wrong}");
        }
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(
            http_date("Thu, 29 Feb 2024 12:00:00 GMT"),
            Some(1_709_208_000)
        );
        assert_eq!(
            http_date("Fri, 31 Dec 2100 23:59:59 GMT"),
            Some(4_133_980_799)
        );
    }

    #[test]
    fn hints_of_the_text_are_read() {
        let second = |n| Some(Duration::from_secs(n));
        assert_eq!(
            hint("please try again in 644ms. visit"),
            Some(Duration::from_millis(644))
        );
        assert_eq!(hint("please try again in 1m2s."), second(62));
        assert_eq!(hint("please retry after 9 seconds. please go"), second(9));
        assert_eq!(hint("please retry after 86400 seconds."), second(3600));
        assert_eq!(hint("try again in 2 minutes"), second(120));
        assert_eq!(hint("try again in a while"), None);
        assert_eq!(hint("retry in "), None);
    }

    #[test]
    fn the_services_own_id_comes_first() {
        let found = headers(&[("cf-ray", "875ab2ff-SJC"), ("request-id", "req_011")]);
        assert_eq!(request_id(&found).as_deref(), Some("req_011"));
        let found = headers(&[("cf-ray", "875ab2ff-SJC"), ("x-request-id", "a b")]);
        assert_eq!(request_id(&found).as_deref(), Some("875ab2ff-SJC"));
        assert_eq!(request_id(&HeaderMap::new()), None);
    }
}
