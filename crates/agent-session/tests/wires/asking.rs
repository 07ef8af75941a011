//! Every kind of request, asked of one provider.

use compaction_core::{
    BranchOptions, CompactionSettings, CutRule, HandoffOptions, PlanOptions, Profile,
    SummarizerLimits, TokenCount, Trigger, plan_branch_summary, plan_compaction, plan_handoff,
};
use llm_providers::{
    ApiProtocol, CancellationToken, NativeForm, Reasoning, Request, RetryPolicy, ToolChoice,
};
use session_model::{
    Content, ContextRules, Decoded, Leaf, LlmMessage, build_context, decode_bytes,
};
use summarize::{Fallback, Foldable, ModelReport, Run, answer_all};
use test_support::Received;

use crate::forms::{Asked, Form};
use crate::sessions;

/// The window of the session's model.
const WINDOW: TokenCount = TokenCount(100_000);

/// Returns every kind of request as it left, with the name of its kind.
pub fn all(form: &Form) -> Vec<(&'static str, Received)> {
    let asked = Asked::new(form);
    let mut sent = Vec::new();
    let first = "u:400 a:400 u:50 call:c:300 res:c:300 a:60";
    let names: &[&str] = &["first summary", "turn prefix"];
    sent.extend(named(names, summaries(&asked, compaction(first, &asked))));
    let update = "u:400 k1=a:400 k@k1:60 u:400 a:400 u:40 a:40";
    let names: &[&str] = &["update summary"];
    sent.extend(named(names, summaries(&asked, compaction(update, &asked))));
    sent.extend(named(
        &["branch summary"],
        summaries(&asked, branch(&asked)),
    ));
    sent.extend(named(&["handoff"], summaries(&asked, handoff(&asked))));
    let mut rich = sessions::rich(&asked.resolved);
    let turn =
        |entries: &[_]| sessions::next_turn(&sessions::session(entries), &asked.resolved, true);
    let live = turn(&rich);
    sent.push(("live turn", asked.turn(&live)));
    for (kind, reasoning, choice) in [
        ("turn without thinking", Reasoning::Off, ToolChoice::None),
        (
            "turn with little thinking",
            Reasoning::Low,
            ToolChoice::Auto,
        ),
        ("turn with much thinking", Reasoning::High, ToolChoice::Auto),
        (
            "turn that must call",
            Reasoning::Medium,
            ToolChoice::Required,
        ),
    ] {
        if reasoning != Reasoning::Off && asked.refuses(reasoning) {
            continue;
        }
        let request = Request {
            reasoning,
            tool_choice: choice,
            max_output: Some(10_000_000),
            messages: live.messages[..1].to_vec(),
            ..live.clone()
        };
        sent.push((kind, asked.turn(&request)));
    }
    // At rest a session ends in an answer.
    let last = rich.pop().expect("a last message");
    let mut resting = turn(&rich);
    if asked.resolved.provider.wire == ApiProtocol::Messages {
        // Below 50,000 tokens this wire has no native compaction.
        let long = Content::Text("A long story. ".repeat(16_000));
        resting.messages.insert(0, LlmMessage::User(long));
    }
    for native in form.natives() {
        let kind = match native {
            NativeForm::Standalone => "native standalone",
            NativeForm::InBand => "native in-band",
        };
        sent.push((kind, asked.native(resting.clone(), *native)));
    }
    if !form.natives().is_empty() {
        rich.push(sessions::native_compaction(&asked.resolved));
        rich.push(last);
        sent.push(("turn after native compaction", asked.turn(&turn(&rich))));
    }
    sent
}

fn named(
    names: &'static [&'static str],
    received: Vec<Received>,
) -> impl Iterator<Item = (&'static str, Received)> {
    assert_eq!(names.len(), received.len(), "requests for {names:?}");
    names.iter().copied().zip(received)
}

/// Has a plan answered and returns the requests.
fn summaries(asked: &Asked, plan: impl Foldable) -> Vec<Received> {
    let mut watch = |_: summarize::SummaryStep<'_>| {};
    let mut run = Run {
        cancel: CancellationToken::new(),
        policy: RetryPolicy::default(),
        fallback: Fallback::None,
        cache_key: Some("5e551017".to_owned()),
        watch: &mut watch,
        report: ModelReport::default(),
    };
    let known = asked.count();
    let candidate = asked.candidate();
    let answered = super::block_on(answer_all(plan, &candidate, &mut run)).expect("a runtime");
    answered.map(drop).expect("summaries");
    asked.since(known)
}

fn limits(asked: &Asked) -> SummarizerLimits {
    asked.candidate().limits(WINDOW)
}

fn decoded(notation: &str) -> Decoded {
    decode_bytes(test_support::session(notation).into_bytes())
}

fn compaction(notation: &str, asked: &Asked) -> compaction_core::CompactionPlan {
    let decoded = decoded(notation);
    let mut options = PlanOptions::for_window(WINDOW);
    options.summarizer = limits(asked);
    options.settings.compaction.keep_recent_tokens = TokenCount(80);
    options.settings.compaction.cut_rule = CutRule::Fit;
    let path = decoded.tree.path(decoded.tree.leaf());
    plan_compaction(&path, &Trigger::Manual { focus: None }, &options).expect("a plan")
}

fn branch(asked: &Asked) -> compaction_core::BranchPlan {
    let decoded = decoded("u:100 a:100 ^e2 u:100 read:c:src/a.rs res:c:200 a:100");
    let options = BranchOptions {
        budget: WINDOW,
        profile: Profile::Own,
        settings: CompactionSettings::default(),
        summarizer: limits(asked),
        instructions: None,
    };
    let from = decoded.tree.leaf();
    plan_branch_summary(&decoded.tree, from, Leaf::Root, &options).expect("a plan")
}

fn handoff(asked: &Asked) -> compaction_core::HandoffPlan {
    let decoded = decoded("u:100 a:100 u:100 edit:c:src/a.rs res:c:200 a:100");
    let path = decoded.tree.path(decoded.tree.leaf());
    let context = build_context(&path, ContextRules::default());
    let options = HandoffOptions {
        settings: CompactionSettings::default(),
        summarizer: limits(asked),
        focus: Some("the <tests>".to_owned()),
    };
    let plan = plan_handoff(&path, &context, &options).expect("a window");
    plan.expect("something was said")
}
