//! Decides when a failed request is sent again: one policy, a pure function.

use std::time::Duration;

use crate::error::{ProviderError, ProviderErrorKind};

/// Limits of attempts and delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of attempts, the first one included; `u32::MAX` for as many as the budget allows.
    pub attempts: u32,
    /// The first delay is at most this long; each further one may be twice as long.
    pub base: Duration,
    /// No delay of our own is longer.
    pub longest: Duration,
    /// The longest delay of a service that is accepted. Short if another model can take over.
    pub max_retry_after: Duration,
    /// All delays of one request together take at most this long.
    pub budget: Duration,
    /// The same for a service that has never answered in this process and cannot be connected to: its address may be
    /// wrong.
    pub first_contact_budget: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: u32::MAX,
            base: Duration::from_secs(1),
            longest: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(120),
            budget: Duration::from_secs(300),
            first_contact_budget: Duration::from_secs(30),
        }
    }
}

/// The reason why a request is not sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryStop {
    /// The same request would fail again.
    Permanent,
    /// It was sent often enough.
    Attempts,
    /// The service asks to wait longer than `max_retry_after`.
    MaxRetryAfter,
    /// The delays have used up their budget.
    Budget,
}

impl RetryPolicy {
    /// Never sends a request twice.
    pub const NEVER: Self = Self {
        attempts: 1,
        base: Duration::ZERO,
        longest: Duration::ZERO,
        max_retry_after: Duration::ZERO,
        budget: Duration::ZERO,
        first_contact_budget: Duration::ZERO,
    };

    /// Returns the policy for a request that another model can take over: it waits 30 seconds at most.
    #[must_use]
    pub fn with_alternative(self) -> Self {
        let most = Duration::from_secs(30);
        Self {
            max_retry_after: self.max_retry_after.min(most),
            budget: self.budget.min(most),
            ..self
        }
    }

    /// Returns how long a request may wait in all that fails so.
    pub fn budget_for(&self, error: &ProviderError) -> Duration {
        match error.first_contact {
            true => self.budget.min(self.first_contact_budget),
            false => self.budget,
        }
    }

    /// Returns how often a request may fail with `kind`.
    fn attempts_for(&self, kind: ProviderErrorKind) -> u32 {
        let most = match kind {
            // The network or the service comes back; only the budget ends the attempts.
            ProviderErrorKind::RateLimited
            | ProviderErrorKind::Overloaded
            | ProviderErrorKind::Interrupted
            | ProviderErrorKind::Unreachable => u32::MAX,
            // A minute of silence is not cured by many more; garbage may be a slip of a proxy.
            ProviderErrorKind::Timeout | ProviderErrorKind::Malformed => 2,
            ProviderErrorKind::ContextOverflow
            | ProviderErrorKind::Quota
            | ProviderErrorKind::Auth
            | ProviderErrorKind::PayloadTooLarge
            | ProviderErrorKind::ImageRejected
            | ProviderErrorKind::ThinkingRejected
            | ProviderErrorKind::InvalidRequest
            | ProviderErrorKind::Cancelled => 1,
        };
        most.min(self.attempts)
    }

    /// Returns how long to wait before the request is sent again, or why it is not.
    ///
    /// `sent` is the number of times it was sent, `alike` of those that failed with the kind of `error`, `waited` is
    /// the sum of the delays so far and of the time that failed connections took, and `random` is a number from 0 to 1.
    /// Our own delays spread over the upper half of the exponential bound ("equal jitter"), so that many clients do not
    /// come back at the same time and the budget bounds the attempts; the last delay uses the rest of the budget. The
    /// delay that the service asks for is a lower bound, to which the jitter is added.
    pub fn delay(
        &self,
        sent: u32,
        alike: u32,
        waited: Duration,
        error: &ProviderError,
        random: f64,
    ) -> Result<Duration, RetryStop> {
        let attempts = match error.should_retry {
            Some(true) => self.attempts,
            Some(false) => return Err(RetryStop::Permanent),
            None => self.attempts_for(error.kind),
        };
        if attempts == 1 && self.attempts > 1 {
            return Err(RetryStop::Permanent);
        }
        if alike >= attempts || sent >= self.attempts {
            return Err(RetryStop::Attempts);
        }
        let doublings = sent.saturating_sub(1).min(16);
        let bound = self.base.saturating_mul(1 << doublings).min(self.longest);
        let random = random.clamp(0.0, 1.0);
        let left = self.budget_for(error).saturating_sub(waited);
        let delay = match error.retry_after {
            Some(asked) if asked > self.max_retry_after => return Err(RetryStop::MaxRetryAfter),
            Some(asked) => asked.saturating_add(bound.min(self.base).mul_f64(random)),
            None => bound.mul_f64(f64::midpoint(1.0, random)).min(left),
        };
        match delay > left || left.is_zero() {
            true => Err(RetryStop::Budget),
            false => Ok(delay),
        }
    }
}

/// Returns a random number from 0 to 1. Good enough to spread delays.
pub(crate) fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::{RetryPolicy, RetryStop};
    use crate::error::{ProviderError, ProviderErrorKind as Kind};
    use proptest::prelude::*;
    use std::time::Duration;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn error(kind: Kind, retry_after: Option<Duration>) -> ProviderError {
        ProviderError {
            retry_after,
            ..ProviderError::new(kind, "x")
        }
    }

    #[test]
    fn delays_double_up_to_the_longest_and_spread_over_the_upper_half() {
        let policy = RetryPolicy::default();
        let overloaded = error(Kind::Overloaded, None);
        let bounds: Vec<u64> = (1..8)
            .filter_map(|sent| {
                policy
                    .delay(sent, sent, Duration::ZERO, &overloaded, 1.0)
                    .ok()
            })
            .map(|delay| delay.as_secs())
            .collect();
        assert_eq!(bounds, [1, 2, 4, 8, 16, 30, 30]);
        let least = policy.delay(5, 5, Duration::ZERO, &overloaded, 0.0);
        assert_eq!(least, Ok(seconds(8)));
    }

    #[test]
    fn what_the_service_asks_for_is_the_least_that_is_waited() {
        let policy = RetryPolicy::default();
        let asked = error(Kind::RateLimited, Some(seconds(7)));
        let delay = |sent, random| policy.delay(sent, sent, Duration::ZERO, &asked, random);
        assert_eq!(delay(1, 0.0), Ok(seconds(7)));
        assert_eq!(delay(4, 1.0), Ok(seconds(8)));
    }

    #[test]
    fn max_retry_after_is_short_where_another_model_can_take_over() {
        let policy = RetryPolicy::default();
        let asked = error(Kind::RateLimited, Some(seconds(31)));
        assert!(policy.delay(1, 1, Duration::ZERO, &asked, 0.5).is_ok());
        let other = policy.with_alternative();
        let given_up = other.delay(1, 1, Duration::ZERO, &asked, 0.5);
        assert_eq!(given_up, Err(RetryStop::MaxRetryAfter));
    }

    #[test]
    fn each_kind_has_its_rule() {
        let policy = RetryPolicy::default();
        let sent = |kind| {
            (1..10)
                .take_while(|sent| {
                    policy
                        .delay(*sent, *sent, Duration::ZERO, &error(kind, None), 0.0)
                        .is_ok()
                })
                .count()
                + 1
        };
        let table = [
            (Kind::RateLimited, 10),
            (Kind::Overloaded, 10),
            (Kind::Interrupted, 10),
            (Kind::Unreachable, 10),
            (Kind::Timeout, 2),
            (Kind::Malformed, 2),
            (Kind::ContextOverflow, 1),
            (Kind::Quota, 1),
            (Kind::Auth, 1),
            (Kind::PayloadTooLarge, 1),
            (Kind::ImageRejected, 1),
            (Kind::ThinkingRejected, 1),
            (Kind::InvalidRequest, 1),
            (Kind::Cancelled, 1),
        ];
        for (kind, expected) in table {
            assert_eq!(sent(kind), expected, "{kind:?}");
        }
        let auth = error(Kind::Auth, None);
        assert_eq!(
            policy.delay(1, 1, Duration::ZERO, &auth, 0.0),
            Err(RetryStop::Permanent)
        );
        let busy = error(Kind::Overloaded, None);
        assert_eq!(
            RetryPolicy::NEVER.delay(1, 1, Duration::ZERO, &busy, 0.0),
            Err(RetryStop::Attempts)
        );
    }

    /// Returns how long a request waits in all that always fails so, and how often it is sent.
    fn exhausted(kind: Kind, random: f64) -> (Duration, u32) {
        let (policy, error) = (RetryPolicy::default(), error(kind, None));
        let (mut waited, mut sent) = (Duration::ZERO, 1);
        while let Ok(delay) = policy.delay(sent, sent, waited, &error, random) {
            waited += delay;
            sent += 1;
        }
        (waited, sent)
    }

    #[test]
    fn a_lost_connection_is_waited_for_until_the_budget_is_used_up() {
        for kind in [Kind::Unreachable, Kind::Interrupted, Kind::Overloaded] {
            assert_eq!(exhausted(kind, 1.0), (seconds(300), 15), "{kind:?}");
            assert_eq!(exhausted(kind, 0.0), (seconds(300), 25), "{kind:?}");
        }
    }

    #[test]
    fn a_service_that_never_answered_is_not_waited_for_as_long() {
        let policy = RetryPolicy::default();
        let unknown = ProviderError {
            first_contact: true,
            ..error(Kind::Unreachable, None)
        };
        let waited = |waited| policy.delay(4, 4, seconds(waited), &unknown, 1.0);
        assert_eq!(waited(7), Ok(seconds(8)));
        assert_eq!(waited(25), Ok(seconds(5)));
        assert_eq!(waited(30), Err(RetryStop::Budget));
        let known = error(Kind::Unreachable, None);
        assert!(policy.delay(4, 4, seconds(30), &known, 1.0).is_ok());
        let short = RetryPolicy {
            budget: seconds(2),
            ..policy
        };
        assert_eq!(short.budget_for(&unknown), seconds(2));
    }

    #[test]
    fn failures_of_another_kind_do_not_use_up_the_attempts_of_a_timeout() {
        let timeout = error(Kind::Timeout, None);
        let policy = RetryPolicy::default();
        assert!(policy.delay(9, 1, seconds(60), &timeout, 0.5).is_ok());
        let stopped = policy.delay(9, 2, seconds(60), &timeout, 0.5);
        assert_eq!(stopped, Err(RetryStop::Attempts));
    }

    proptest! {
        #[test]
        fn the_budget_is_never_exceeded(randoms in proptest::collection::vec(0.0_f64..=1.0, 30), asked in proptest::option::of(0_u64..200)) {
            let policy = RetryPolicy { attempts: 30, ..RetryPolicy::default() };
            let error = error(Kind::RateLimited, asked.map(seconds));
            let mut waited = Duration::ZERO;
            for (sent, random) in (1..).zip(randoms) {
                match policy.delay(sent, sent, waited, &error, random) {
                    Ok(delay) => waited += delay,
                    Err(_) => break,
                }
            }
            prop_assert!(waited <= policy.budget);
        }
    }
}
