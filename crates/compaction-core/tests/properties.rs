//! Invariants of plans over generated sessions. `PROPTEST_CASES` raises the number of cases.

mod sessions;

use std::collections::{BTreeMap, BTreeSet};

use compaction_core::{
    ApplyError, BranchError, BranchOptions, BranchPlan, Carried, CompactionPlan, CutRule,
    Disposition, NothingToDo, PlanOptions, Profile, PromptCache, PruneReason, PruneSettings,
    RequestKind, Serialization, Settings, SummarizerLimits, SummaryRequest, TokenCount, Trigger,
    leaf_move, loss_of_drafts, plan_branch_summary, plan_compaction, plan_prune, serialize_parts,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;
use session_model::{
    AgentMessage, Decoded, EntryBody, EntryDraft, EntryId, Leaf, RoleOrder, SessionContext,
    build_context, check_pairs, convert_message, decode_bytes,
};
use sessions::{appended, path, said};
use test_support::any_session_text;

/// A session and what decides its plan.
#[derive(Debug, Clone)]
struct Case {
    text: String,
    keep: u64,
    window: u64,
    summarizer: u64,
    profile: Profile,
    rule: CutRule,
    serialization: Serialization,
}

fn any_profile() -> impl Strategy<Value = Profile> {
    prop_oneof![3 => Just(Profile::Own), 1 => Just(Profile::Pi)]
}

fn any_window() -> impl Strategy<Value = u64> {
    prop_oneof![2_000..8_000_u64, 8_000..40_000_u64, 40_000..=200_000_u64]
}

fn any_case() -> impl Strategy<Value = Case> {
    // Small budgets are likelier, because generated sessions are small.
    let keep = prop_oneof![4 => 1..300_u64, 2 => 300..3000_u64, 1 => 3000..=50_000_u64];
    let rule = prop_oneof![Just(CutRule::Nearest), Just(CutRule::Fit)];
    let serialization = prop_oneof![
        Just(Serialization::Labels),
        Just(Serialization::RoleMarkers)
    ];
    let text = (any_session_text(), any_long_result());
    (
        text,
        keep,
        any_window(),
        any_window(),
        any_profile(),
        rule,
        serialization,
    )
        .prop_map(
            |((text, long), keep, window, summarizer, profile, rule, serialization)| Case {
                text: match long {
                    Some(size) => with_long_result(&text, size),
                    None => text,
                },
                keep,
                window,
                summarizer,
                profile,
                rule,
                serialization,
            },
        )
}

/// The size of a tool result at the end, if there is one, in words.
fn any_long_result() -> impl Strategy<Value = Option<usize>> {
    prop_oneof![4 => Just(None), 1 => (500..20_000_usize).prop_map(Some)]
}

fn with_long_result(text: &str, words: usize) -> String {
    let session = decode_bytes(text.as_bytes().to_vec());
    let parent = path(&session).leaf_id().map(str::to_owned);
    let call = json!([{"type":"toolCall","id":"long","name":"bash","arguments":{"command":"ls"}}]);
    let output = json!([{"type":"text","text":"lorem ".repeat(words)}]);
    let lines = [
        json!({"type":"message","id":"long1","parentId":parent,"message":{"role":"assistant","content":call,"stopReason":"toolUse"}}),
        json!({"type":"message","id":"long2","parentId":"long1","message":{"role":"toolResult","toolCallId":"long","toolName":"bash","content":output}}),
    ];
    lines
        .iter()
        .fold(text.to_owned(), |text, line| format!("{text}{line}\n"))
}

impl Case {
    fn options(&self) -> PlanOptions {
        let mut options = PlanOptions::for_window(TokenCount(self.window));
        options.profile = self.profile;
        options.summarizer.window = TokenCount(self.summarizer);
        options.settings.compaction.keep_recent_tokens = TokenCount(self.keep);
        options.settings.compaction.cut_rule = self.rule;
        options.settings.compaction.serialization = self.serialization;
        options
    }

    fn session(&self) -> Decoded {
        decode_bytes(self.text.clone().into_bytes())
    }

    fn context(&self) -> SessionContext {
        build_context(&path(&self.session()), self.profile.context_rules())
    }

    fn plan(&self) -> Result<CompactionPlan, NothingToDo> {
        let trigger = Trigger::Manual { focus: None };
        plan_compaction(&path(&self.session()), &trigger, &self.options())
    }

    /// Returns the session with these lines at its end.
    fn followed_by(&self, text: String) -> Self {
        Self {
            text,
            ..self.clone()
        }
    }
}

/// Without files beside the tests: what fails is printed and becomes a test of its own.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn is_result(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::ToolResult(_))
}

/// Returns a text of plain words that counts about `tokens`, and no more.
fn words_of(tokens: TokenCount, profile: Profile) -> String {
    let count = |words: &str| profile.counter().text(words);
    let hundred = count(&"lorem ipsum ".repeat(100));
    let mut words = "lorem ipsum ".repeat(usize::try_from(tokens.0 * 100 / hundred.0).unwrap_or(0));
    while count(&words) > tokens {
        words.truncate(words.len() - words.len().div_ceil(40));
    }
    words
}

/// Returns the tokens of a request with the largest answers before and after it.
fn request_size(request: &SummaryRequest, profile: Profile) -> TokenCount {
    let counter = profile.counter();
    let previous =
        (request.carried == Carried::PreviousPart).then(|| words_of(request.max_output, profile));
    counter.text(&request.system)
        + counter.text(&request.prompt(previous.as_deref()))
        + request.max_output
}

fn largest_conversation(plan: &CompactionPlan) -> usize {
    let sizes = plan
        .requests()
        .iter()
        .map(|request| request.conversation.len());
    sizes.max().unwrap_or(0)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_cut_never_parts_a_call_from_its_result(case in any_case()) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        let context = case.context();
        let (gone, kept) = context.entries.split_at(plan.cut.first_kept());
        let first_seen = kept.iter().find_map(|projected| projected.messages.first());
        prop_assert!(!first_seen.is_some_and(|message| is_result(message)));
        if case.profile == Profile::Own {
            let first = kept[0].original_messages();
            prop_assert!(!first.iter().any(|message| is_result(message)), "{:?}", plan.first_kept());
            let calls: BTreeSet<String> = gone
                .iter()
                .flat_map(|projected| &projected.messages)
                .flat_map(|message| message.tool_calls().map(|call| call.id.clone()))
                .collect();
            for message in kept.iter().flat_map(|projected| &projected.messages) {
                if let AgentMessage::ToolResult(result) = &**message {
                    prop_assert!(!calls.contains(&result.tool_call_id), "{}", result.tool_call_id);
                }
            }
        }
    }

    #[test]
    fn planning_is_deterministic(case in any_case()) {
        match (case.plan(), case.plan()) {
            (Ok(one), Ok(other)) => {
                prop_assert_eq!(one.hash(), other.hash());
                prop_assert_eq!(format!("{:?}", one.entries), format!("{:?}", other.entries));
            }
            (one, other) => prop_assert_eq!(one.err(), other.err()),
        }
    }

    #[test]
    fn every_entry_of_the_context_has_one_fate(case in any_case()) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        let context = case.context();
        let in_context: Vec<_> = context.entries.iter().map(|projected| &projected.entry.id).collect();
        let planned: Vec<_> = plan.entries.iter().map(|entry| &entry.entry_id).collect();
        prop_assert_eq!(in_context, planned);
        for (place, (entry, projected)) in plan.entries.iter().zip(&context.entries).enumerate() {
            let kept = place >= plan.cut.first_kept();
            let seen = !projected.messages.is_empty();
            let fits = match entry.disposition {
                Disposition::Kept | Disposition::Pruned => kept && seen,
                Disposition::Summarized | Disposition::TurnPrefix | Disposition::System => !kept && seen,
                Disposition::PreviousSummary => place == 0,
                Disposition::NoMessage => !seen,
            };
            prop_assert!(fits, "{} {:?}", entry.entry_id, entry.disposition);
        }
        for (kind, fate) in [(RequestKind::History, Disposition::Summarized), (RequestKind::TurnPrefix, Disposition::TurnPrefix)] {
            let requests = plan.requests().iter().filter(|request| request.kind == kind);
            let asked: Vec<_> = requests.flat_map(|request| &request.source).map(|source| &source.entry_id).collect();
            let fated: Vec<_> = plan.ids(fate).collect();
            prop_assert_eq!(asked, fated);
        }
        let kept: TokenCount = plan.entries[plan.cut.first_kept()..].iter().map(|entry| entry.tokens).sum();
        prop_assert_eq!(kept, plan.keep.kept);
    }

    #[test]
    fn every_request_fits_the_summarizers_window(case in any_case()) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        for request in plan.requests() {
            let size = request_size(request, case.profile);
            let fits = size <= TokenCount(case.summarizer);
            prop_assert!(fits || case.profile == Profile::Pi, "{size} of {}, part {}/{}", case.summarizer, request.part, request.parts);
        }
    }

    #[test]
    fn shrinking_makes_the_largest_request_smaller_or_is_refused(case in any_case()) {
        let Ok(mut plan) = case.plan() else { return Ok(()) };
        for _ in 0..40 {
            let before = (largest_conversation(&plan), plan.entries.clone());
            let Ok(smaller) = plan.shrink() else { return Ok(()) };
            prop_assert!(largest_conversation(&smaller) < before.0);
            prop_assert_eq!(&smaller.entries, &before.1);
            plan = smaller;
        }
        prop_assert!(false, "shrinks without end");
    }

    #[test]
    fn an_applied_plan_is_stored_with_its_hash_and_undone_by_a_move(case in any_case()) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        let applied = match plan.extractive() {
            Ok(applied) => applied,
            Err(ApplyError::Inflated { before, after }) => {
                prop_assert!(case.profile == Profile::Own && after >= before);
                return Ok(());
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        let before = case.context();
        let text = appended(&case.text, Some(&plan.leaf), &applied.drafts);
        let after = case.followed_by(text.clone());
        let context = after.context();

        let (id, compaction) = context.compaction().expect("a compaction");
        let details = compaction.details.as_ref().expect("details").to_value();
        let hash = plan.hash();
        prop_assert_eq!(details["planHash"].as_str(), Some(hash.as_str()));
        prop_assert_eq!(details["undoTo"].as_str(), Some(&*plan.leaf));
        prop_assert_eq!(Some(&compaction.first_kept), plan.first_kept());
        prop_assert_eq!(&compaction.summary, &applied.summary);
        if case.profile == Profile::Own {
            let told = loss_of_drafts(&before, &applied.drafts, case.profile.counter());
            prop_assert_eq!(applied.loss, Some(told));
        }

        for order in [RoleOrder::Any, RoleOrder::Alternating] {
            let (messages, _) = context.to_llm(order);
            prop_assert_eq!(check_pairs(&messages, order), vec![]);
        }

        let undone = appended(&text, Some(&plan.leaf), &[leaf_move("undo", Some(id))]);
        prop_assert_eq!(said(&case.followed_by(undone).context()), said(&before));
    }

    #[test]
    fn what_stays_is_what_the_plan_said(case in any_case()) {
        let Some((plan, after)) = compacted(&case) else { return Ok(()) };
        let elided: BTreeMap<_, _> = plan.elisions.iter().map(|elision| (&elision.entry_id, &elision.replacement)).collect();
        let tail = |context: &SessionContext, expected: bool| -> Vec<String> {
            let kept: BTreeSet<_> = plan.entries.iter().filter(|entry| matches!(entry.disposition, Disposition::Kept | Disposition::Pruned)).map(|entry| entry.entry_id.clone()).collect();
            let messages = context.messages().filter(|(id, message)| kept.contains(*id) && message.role() != "system");
            messages.map(|(id, message)| match elided.get(id) {
                Some(replacement) if expected => format!("{id} {}", message.with_content((*replacement).clone()).display_text()),
                _ => format!("{id} {}", message.display_text()),
            }).collect()
        };
        prop_assert_eq!(tail(&after.context(), false), tail(&case.context(), true));
    }

    #[test]
    fn what_one_compaction_keeps_the_next_one_covers(case in any_case()) {
        let Some((plan, after)) = compacted(&case) else { return Ok(()) };
        let Ok(next) = next_plan(&after) else { return Ok(()) };
        let context = case.context();
        let kept: BTreeSet<&EntryId> = plan.ids(Disposition::Kept).chain(plan.ids(Disposition::Pruned)).collect();
        let covered: BTreeSet<&EntryId> = [Disposition::Kept, Disposition::Pruned, Disposition::Summarized, Disposition::TurnPrefix]
            .into_iter()
            .flat_map(|fate| next.ids(fate))
            .collect();
        for projected in &context.entries {
            // The system message in force is replayed by the compaction itself.
            let system = projected.messages.iter().all(|message| message.role() == "system");
            if kept.contains(&projected.entry.id) && !system {
                prop_assert!(covered.contains(&projected.entry.id), "{} is lost", projected.entry.id);
            }
        }
    }

    #[test]
    fn pruning_touches_results_of_the_context_only(
        text in any_session_text(),
        profile in any_profile(),
        settings in any_prune_settings(),
        warm in any::<bool>(),
    ) {
        let session = decode_bytes(text.clone().into_bytes());
        let options = prune_options(profile, &settings);
        let cache = if warm { PromptCache::Warm } else { PromptCache::Cold };
        let Ok(plan) = plan_prune(&path(&session), &options, cache) else { return Ok(()) };
        let context = build_context(&path(&session), profile.context_rules());
        let results: Vec<_> = context.messages().filter(|(_, message)| is_result(message)).collect();
        let mut places = Vec::new();
        for pruned in &plan.pruned {
            let place = results.iter().position(|(id, _)| **id == pruned.entry_id);
            prop_assert!(place.is_some(), "{} is not a result of the context", pruned.entry_id);
            places.extend(place);
            prop_assert!(pruned.tokens >= settings.minimum_tokens);
        }
        prop_assert!(places.is_sorted_by(|one, other| one < other), "oldest first, none twice");
        for (place, pruned) in places.iter().zip(&plan.pruned) {
            if let AgentMessage::ToolResult(result) = &**results[*place].1 {
                prop_assert!(pruned.reason == PruneReason::Superseded || !settings.protected_tools.contains(&result.tool_name));
            }
        }
        prop_assert!(plan.saved >= settings.minimum_savings);

        let pruned: BTreeSet<_> = plan.pruned.iter().map(|pruned| pruned.entry_id.clone()).collect();
        let text = appended(&text, Some(&plan.leaf), &plan.apply());
        let session = decode_bytes(text.into_bytes());
        let after = build_context(&path(&session), profile.context_rules());
        prop_assert_eq!(after.messages().count(), context.messages().count());
        for ((id, before), (_, after)) in context.messages().zip(after.messages()) {
            if pruned.contains(id) {
                prop_assert!(after.display_text().starts_with("[Output truncated - "));
            } else {
                prop_assert_eq!(before, after);
            }
        }
        if let Ok(again) = plan_prune(&path(&session), &options, cache) {
            prop_assert!(again.pruned.iter().all(|result| !pruned.contains(&result.entry_id)));
        }
    }

    #[test]
    fn a_branch_summary_stays_within_its_budget(case in any_branch_case()) {
        let plan = match case.plan() {
            Err(BranchError::Window(_)) => return Ok(()),
            plan => plan.expect("a plan"),
        };
        prop_assert_eq!(plan.hash(), case.plan().expect("a plan").hash());
        let counter = case.profile.counter();
        let bounds = case.profile.bounds(&Settings::default().compaction);
        // What counts is what a summarizer reads of a message; pi counts all of it.
        let size = |message: &AgentMessage| match case.profile {
            Profile::Pi => counter.message(message),
            Profile::Own => convert_message(message, bounds.wording)
                .map(|told| serialize_parts(&told, &bounds))
                .into_iter()
                .flatten()
                .map(|part| counter.text(&part))
                .sum(),
        };
        let tokens: TokenCount = plan.messages.iter().map(|source| size(&source.message)).sum();
        prop_assert_eq!(tokens, plan.tokens);
        if tokens > TokenCount(case.budget) {
            let oldest = plan.messages.first().expect("something said");
            let summary = matches!(*oldest.message, AgentMessage::BranchSummary(_) | AgentMessage::CompactionSummary(_));
            let others = tokens.saturating_sub(size(&oldest.message));
            prop_assert!(summary && others.0 * 10 < case.budget * 9, "{others} and a summary in {}", case.budget);
        }
        for request in plan.requests() {
            let fits = request_size(request, case.profile) <= TokenCount(case.summarizer);
            prop_assert!(fits || case.profile == Profile::Pi);
        }
        prop_assert_eq!(plan.requests().is_empty(), plan.messages.is_empty());
    }

    #[test]
    fn a_branch_is_what_only_the_old_path_has(case in any_branch_case()) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        let session = case.session();
        let (from, to) = case.ends(&session);
        let ids = |leaf| -> Vec<EntryId> {
            let path = session.tree.path(leaf);
            path.entries().iter().map(|index| EntryId::new(session.tree.id(*index))).collect()
        };
        let (old, new) = (ids(from), ids(to));
        // By own rules a message whose text returns to the editor is left as well.
        let landing = match (case.profile, &plan.new_leaf) {
            (Profile::Pi, _) => new.clone(),
            (Profile::Own, None) => Vec::new(),
            (Profile::Own, Some(leaf)) => ids(session.tree.find(leaf).map_or(Leaf::Root, Leaf::At)),
        };
        let left: Vec<_> = old.iter().filter(|id| !landing.contains(id)).cloned().collect();
        prop_assert_eq!(&plan.collected, &left);
        let mut collected = plan.collected.iter();
        for source in &plan.messages {
            prop_assert!(collected.any(|id| *id == source.entry_id), "in order, from the branch");
        }
        if let Some(leaf) = &plan.new_leaf {
            prop_assert!(new.contains(leaf));
        }
        let target = match to {
            Leaf::At(index) => Some(session.tree.entry(index).expect("readable").body),
            Leaf::Root => None,
        };
        let returns = match target {
            Some(EntryBody::Message(message)) => matches!(*message, AgentMessage::User(_)),
            Some(EntryBody::CustomMessage(_)) => true,
            _ => false,
        };
        prop_assert_eq!(plan.editor_text.is_some(), returns);
    }
}

/// Returns the plan of a case and the session with the plan applied, when both are possible.
fn compacted(case: &Case) -> Option<(CompactionPlan, Case)> {
    let plan = case.plan().ok()?;
    let applied = plan.extractive().ok()?;
    let text = appended(&case.text, Some(&plan.leaf), &applied.drafts);
    Some((plan, case.followed_by(text)))
}

/// Returns the plan after one more turn, with next to nothing kept.
fn next_plan(after: &Case) -> Result<CompactionPlan, NothingToDo> {
    let mut parent = path(&after.session()).leaf_id().map(str::to_owned);
    let mut text = after.text.clone();
    for (id, role) in [("next1", "user"), ("next2", "assistant"), ("next3", "user")] {
        let content = json!([{"type":"text","text":"and now the next step"}]);
        let line = json!({"type":"message","id":id,"parentId":parent,"message":{"role":role,"content":content}});
        text.push_str(&format!("{line}\n"));
        parent = Some(id.to_owned());
    }
    let next = Case {
        keep: 1,
        window: 200_000,
        summarizer: 200_000,
        ..after.followed_by(text)
    };
    next.plan()
}

fn any_prune_settings() -> impl Strategy<Value = PruneSettings> {
    (0..600_u64, 0..200_u64, 0..60_u64, any::<bool>()).prop_map(
        |(protect, savings, tokens, supersede_reads)| PruneSettings {
            protect_tokens: TokenCount(protect),
            minimum_savings: TokenCount(savings),
            minimum_tokens: TokenCount(tokens),
            supersede_reads,
            ..PruneSettings::default()
        },
    )
}

fn prune_options(profile: Profile, settings: &PruneSettings) -> PlanOptions {
    let mut options = PlanOptions::for_window(TokenCount(200_000));
    options.profile = profile;
    options.settings.compaction.prune = settings.clone();
    options
}

/// A session and two of its entries (or the root).
#[derive(Debug, Clone)]
struct BranchCase {
    text: String,
    from: prop::sample::Index,
    to: prop::sample::Index,
    budget: u64,
    summarizer: u64,
    profile: Profile,
}

fn any_branch_case() -> impl Strategy<Value = BranchCase> {
    let end = any::<prop::sample::Index>;
    let budget = prop_oneof![1..300_u64, 300..3000_u64, 3000..200_000_u64];
    (
        any_session_text(),
        end(),
        end(),
        budget,
        any_window(),
        any_profile(),
    )
        .prop_map(|(text, from, to, budget, summarizer, profile)| BranchCase {
            text,
            from,
            to,
            budget,
            summarizer,
            profile,
        })
}

impl BranchCase {
    fn session(&self) -> Decoded {
        decode_bytes(self.text.clone().into_bytes())
    }

    fn ends(&self, session: &Decoded) -> (Leaf, Leaf) {
        let leaf = |index: prop::sample::Index| {
            let place = index.index(session.tree.len() + 1);
            session
                .tree
                .indices()
                .nth(place)
                .map_or(Leaf::Root, Leaf::At)
        };
        (leaf(self.from), leaf(self.to))
    }

    fn plan(&self) -> Result<BranchPlan, BranchError> {
        let session = self.session();
        let (from, to) = self.ends(&session);
        let options = BranchOptions {
            budget: TokenCount(self.budget),
            profile: self.profile,
            settings: PlanOptions::for_window(TokenCount(self.summarizer))
                .settings
                .compaction,
            summarizer: SummarizerLimits {
                window: TokenCount(self.summarizer),
                max_output: None,
            },
            instructions: None,
        };
        plan_branch_summary(&session.tree, from, to, &options)
    }
}

/// Returns values of `strategy` that are the same in every run.
fn fixed<S: Strategy>(strategy: S, count: usize) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::deterministic();
    std::iter::repeat_with(move || strategy.new_tree(&mut runner).expect("a value").current())
        .take(count)
}

#[test]
fn generated_cases_reach_every_property() {
    let count = 150;
    let mut reached: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tell = |name, yes| *reached.entry(name).or_default() += usize::from(yes);
    for case in fixed(any_case(), count) {
        let plan = case.plan();
        tell("plan", plan.is_ok());
        tell(
            "split turn",
            plan.as_ref().is_ok_and(|plan| plan.turn_start().is_some()),
        );
        tell(
            "several parts",
            plan.as_ref()
                .is_ok_and(|plan| plan.requests().iter().any(|request| request.parts > 1)),
        );
        tell(
            "elision",
            plan.as_ref().is_ok_and(|plan| !plan.elisions.is_empty()),
        );
        tell(
            "previous summary",
            plan.as_ref()
                .is_ok_and(|plan| plan.previous_summary.is_some()),
        );
        let compacted = compacted(&case);
        tell("applied", compacted.is_some());
        tell(
            "next plan",
            compacted.is_some_and(|(_, after)| next_plan(&after).is_ok()),
        );
    }
    let prunings = (any_session_text(), any_profile(), any_prune_settings());
    for (text, profile, settings) in fixed(prunings, count) {
        let session = decode_bytes(text.into_bytes());
        let options = prune_options(profile, &settings);
        tell(
            "pruning",
            plan_prune(&path(&session), &options, PromptCache::Cold).is_ok(),
        );
    }
    for case in fixed(any_branch_case(), count) {
        tell(
            "branch",
            case.plan().is_ok_and(|plan| !plan.requests().is_empty()),
        );
    }
    let least = [
        ("plan", 30),
        ("split turn", 10),
        ("several parts", 3),
        ("elision", 3),
        ("previous summary", 3),
        ("applied", 15),
        ("next plan", 15),
        ("pruning", 15),
        ("branch", 15),
    ];
    for (name, percent) in least {
        assert!(
            reached[name] * 100 >= count * percent,
            "{name} in {} of {count}: {reached:?}",
            reached[name]
        );
    }
}

#[test]
fn drafts_of_a_plan_end_in_its_compaction() {
    for case in fixed(any_case(), 100) {
        if let Ok(plan) = case.plan()
            && let Ok(applied) = plan.extractive()
        {
            let (last, edits) = applied.drafts.split_last().expect("a draft");
            assert!(matches!(last, EntryDraft::Compaction(_)));
            assert!(
                edits
                    .iter()
                    .all(|draft| matches!(draft, EntryDraft::ContextEdit(_)))
            );
            assert_eq!(edits.len(), plan.elisions.len());
        }
    }
}
