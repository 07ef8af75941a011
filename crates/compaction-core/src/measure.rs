//! The size of a context: billed tokens, estimated tokens, and the difference of the two.

use session_model::{AgentMessage, EntryKind, SessionContext, SessionPath, StopReason, Usage};

use crate::rules::Profile;
use session_model::tokens::{Chars4, TokenCount, TokenCounter};

/// The size of a context.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Measure {
    /// The size for decisions: the larger of the billed and the estimated one.
    pub tokens: TokenCount,
    /// The size that sessions store and peers read: billed tokens plus the estimate (in the pi family's measure) of
    /// what follows, else the estimate of everything.
    pub stored: TokenCount,
    /// The billed tokens of the newest answer plus an estimate of what follows it; `None` when there is no such answer,
    /// or when the context was edited or compacted after it.
    pub billed: Option<TokenCount>,
    /// The local estimate of everything.
    pub estimated: TokenCount,
    /// The reported tokens of the newest answer, if they cannot be true; see [`is_plausible`].
    pub implausible: Option<TokenCount>,
    /// Billed tokens per estimated token, if two answers allow to compute it; see [`adapted_keep`].
    pub ratio: Option<f64>,
}

/// Returns the tokens of each message of `context`, in the order of [`SessionContext::messages`].
pub fn message_counts(context: &SessionContext, counter: &dyn TokenCounter) -> Vec<TokenCount> {
    let messages = context.messages();
    messages
        .map(|(_, message)| counter.message(message))
        .collect()
}

/// Returns the size of `context`, which is the context of `path`.
pub fn measure(path: &SessionPath<'_>, context: &SessionContext, profile: Profile) -> Measure {
    let counts = message_counts(context, profile.counter());
    measure_counted(path, context, profile, &counts)
}

/// Does the same for messages that have been counted already, by the profile's counter.
pub(crate) fn measure_counted(
    path: &SessionPath<'_>,
    context: &SessionContext,
    profile: Profile,
    counts: &[TokenCount],
) -> Measure {
    let edited_at = newest_edit(path);
    let mut answers = billed_answers(path, context, edited_at);
    if profile == Profile::Pi {
        let stored = billed(&answers, counts).unwrap_or_else(|| estimate(context, profile, counts));
        return Measure {
            tokens: stored,
            stored,
            billed: None,
            estimated: stored,
            implausible: None,
            ratio: None,
        };
    }
    let newest = answers.last().copied();
    let fixed_is_known = context.system.is_some();
    answers.retain(|answer| {
        let estimated = counts[..=answer.message].iter().copied().sum();
        is_plausible(answer.tokens(), estimated, fixed_is_known)
    });
    let implausible = newest.filter(|newest| {
        let used = answers.last().map(|answer| answer.message);
        used != Some(newest.message)
    });
    let stored_counts = message_counts(context, &Chars4);
    let stored = billed(&answers, &stored_counts)
        .unwrap_or_else(|| estimate(context, profile, &stored_counts));
    let estimated = estimate(context, profile, counts);
    let billed = billed(&answers, counts);
    Measure {
        tokens: billed.unwrap_or_default().max(estimated),
        stored,
        billed,
        estimated,
        implausible: implausible.map(BilledAnswer::tokens),
        ratio: ratio(context, &answers, counts),
    }
}

/// Returns the number of billed tokens for `keep` estimated tokens, if the ratio is above one.
///
/// The fixed part of a prompt (system prompt, tool schemas) is billed with every
/// answer, so the ratio is taken between two answers: what was billed more, over
/// what is estimated more. What is fixed cancels out.
pub fn adapted_keep(keep: TokenCount, ratio: Option<f64>) -> TokenCount {
    match ratio {
        Some(ratio) if ratio.is_finite() && ratio > 1.0 => {
            TokenCount(((keep.0 as f64 / ratio).floor() as u64).max(1))
        }
        _ => keep,
    }
}

/// An answer whose billed tokens give the size of the context at that point.
#[derive(Debug, Clone, Copy)]
struct BilledAnswer {
    /// Its place among the messages of the context.
    message: usize,
    usage: Usage,
}

impl BilledAnswer {
    fn tokens(self) -> TokenCount {
        TokenCount(self.usage.context_tokens())
    }
}

/// The tolerated difference of billed and estimated tokens if the context holds the system prompt and the tools, and if
/// it does not (sessions of other agents).
const TOLERANCE: (TokenCount, TokenCount) = (TokenCount(4000), TokenCount(50_000));

/// Returns true if a provider can have billed `billed` tokens for a context of this estimate: the larger number is at
/// most twice the smaller, or at most 4,000 tokens above it; 50,000 if system prompt and tools are not in the context
/// (`fixed_is_known` is false). Counts that add up over requests, or leave out cached tokens, are not plausible.
pub fn is_plausible(billed: TokenCount, estimated: TokenCount, fixed_is_known: bool) -> bool {
    let (low, high) = (billed.min(estimated), billed.max(estimated));
    let tolerance = if fixed_is_known {
        TOLERANCE.0
    } else {
        TOLERANCE.1
    };
    high <= low + low.max(tolerance)
}

/// Returns the place on the path of the newest entry that changed the context before it.
fn newest_edit(path: &SessionPath<'_>) -> Option<usize> {
    let newest = path.newest_of(&[EntryKind::ContextEdit, EntryKind::Compaction]);
    newest.map(|(place, _)| place)
}

/// Returns the answers after the newest edit whose usage can be trusted, in order.
fn billed_answers(
    path: &SessionPath<'_>,
    context: &SessionContext,
    edited_at: Option<usize>,
) -> Vec<BilledAnswer> {
    let first_valid = edited_at.map_or(0, |place| place + 1);
    let valid = path.entries().get(first_valid..).unwrap_or_default();
    let valid: std::collections::BTreeSet<_> = valid.iter().copied().collect();
    let mut message = usize::from(context.system.is_some());
    let mut answers = Vec::new();
    for projected in &context.entries {
        for said in &projected.messages {
            if let Some(usage) = trusted_usage(said)
                && valid.contains(&projected.index)
            {
                answers.push(BilledAnswer { message, usage });
            }
            message += 1;
        }
    }
    answers
}

/// Returns the billed usage of an answer, if it gives the size of the context: the answer did not fail.
fn trusted_usage(message: &AgentMessage) -> Option<Usage> {
    let AgentMessage::Assistant(answer) = message else {
        return None;
    };
    let ended_badly = matches!(answer.stop_reason, StopReason::Aborted | StopReason::Error);
    let usage = answer.usage.filter(|_| !ended_badly)?;
    let known = usage.total_tokens > 0 || !usage.incomplete;
    (known && usage.context_tokens() > 0).then_some(usage)
}

/// Returns the billed tokens of the newest trusted answer plus what follows it.
fn billed(answers: &[BilledAnswer], counts: &[TokenCount]) -> Option<TokenCount> {
    let newest = answers.last()?;
    let following: TokenCount = counts.iter().skip(newest.message + 1).copied().sum();
    Some(newest.tokens() + following)
}

/// Returns the estimate of every message, the system message in force counted once.
fn estimate(context: &SessionContext, profile: Profile, counts: &[TokenCount]) -> TokenCount {
    if profile == Profile::Own {
        // The rules left one system message, the one in force.
        return counts.iter().copied().sum();
    }
    let messages = context.messages().map(|(_, message)| message);
    let system = session_model::current_system(messages.clone().map(|message| &**message));
    // pi takes a system message without time and tools for none.
    let system = system
        .filter(|system| system.timestamp.is_some() || !system.tools_added.is_empty())
        .map(|system| profile.counter().message(&AgentMessage::System(system)));
    let others = messages
        .zip(counts)
        .filter(|(message, _)| !matches!(***message, AgentMessage::System(_)))
        .map(|(_, tokens)| *tokens);
    system.unwrap_or_default() + others.sum()
}

/// The least estimated growth between two answers from which a ratio is taken, in tokens.
const MINIMUM_GROWTH: u64 = 2000;

/// Returns billed growth over estimated growth between the first and the newest trusted answer of one model.
fn ratio(context: &SessionContext, answers: &[BilledAnswer], counts: &[TokenCount]) -> Option<f64> {
    let newest = answers.last()?;
    let messages: Vec<_> = context.messages().map(|(_, message)| message).collect();
    let model = |answer: &BilledAnswer| match &***messages.get(answer.message)? {
        AgentMessage::Assistant(said) => Some((said.provider.clone(), said.model.clone())),
        _ => None,
    };
    let by_same_model = answers
        .iter()
        .find(|answer| model(answer) == model(newest))?;
    let grown = counts.get(by_same_model.message + 1..newest.message + 1)?;
    let estimated: TokenCount = grown.iter().copied().sum();
    let billed = newest.usage.context_tokens() as f64 - by_same_model.usage.context_tokens() as f64;
    (estimated.0 >= MINIMUM_GROWTH).then(|| billed / estimated.0 as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use session_model::tokens::TokenCount;
    use session_model::{build_context, decode_bytes};

    use super::{is_plausible, measure};
    use crate::rules::Profile;

    #[test]
    fn a_provider_bills_at_most_twice_or_half_of_the_estimate_where_that_is_much() {
        let plausible = |billed, estimated, fixed_is_known| {
            is_plausible(TokenCount(billed), TokenCount(estimated), fixed_is_known)
        };
        for (billed, estimated) in [
            (9000, 5000),
            (4900, 900),
            (100_000, 50_000),
            (50_000, 100_000),
            (0, 4000),
        ] {
            assert!(
                plausible(billed, estimated, true),
                "{billed} of {estimated}"
            );
        }
        for (billed, estimated) in [
            (10_001, 5000),
            (5100, 900),
            (100_001, 50_000),
            (49_999, 100_000),
            (0, 4001),
        ] {
            assert!(
                !plausible(billed, estimated, true),
                "{billed} of {estimated}"
            );
        }
        // System prompt and tools of another agent are not in its session.
        assert!(plausible(40_000, 900, false) && !plausible(60_000, 900, false));
    }

    #[test]
    fn figures_that_add_up_over_requests_are_ignored() {
        let text = "lorem ipsum dolor sit amet ".repeat(2000);
        let mut lines = vec![json!({"type":"session","version":3,"id":"s","cwd":"/p"})];
        let messages = [
            json!({"role":"user","content":text}),
            json!({"role":"assistant","content":[],"usage":{"input":12_000,"output":5,"totalTokens":12_005},"stopReason":"stop"}),
            json!({"role":"user","content":"Go on."}),
            json!({"role":"assistant","content":[],"usage":{"input":400_000,"output":5,"totalTokens":400_005},"stopReason":"stop"}),
        ];
        for (at, message) in messages.iter().enumerate() {
            let parent = at.checked_sub(1).map(|at| format!("e{at}"));
            lines.push(
                json!({"type":"message","id":format!("e{at}"),"parentId":parent,"message":message}),
            );
        }
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let decoded = decode_bytes(format!("{}\n", lines.join("\n")).into_bytes());
        let path = decoded.tree.path(decoded.tree.leaf());
        let context = build_context(&path, Profile::Own.context_rules());
        let own = measure(&path, &context, Profile::Own);
        assert_eq!(own.implausible, Some(TokenCount(400_005)));
        assert!(
            own.tokens < TokenCount(13_000) && own.billed.is_some(),
            "{own:?}"
        );
        let pi = measure(&path, &context, Profile::Pi);
        assert_eq!((pi.tokens, pi.implausible), (TokenCount(400_005), None));
    }
}
