//! Pruning: which old tool output leaves the context, when it is worth it, and how it is written.

use crate::sessions::{appended, calls, decoded, patched, patched_text, path, said};
use compaction_core::{
    NothingToPrune, PlanOptions, Profile, PromptCache, PruneReason, PruneSettings, TokenCount,
    plan_prune,
};
use serde_json::{Value, json};
use session_model::{Decoded, EntryBody, build_context, decode_bytes};

/// Limits a hundredth of the defaults, so that cases stay small.
fn small() -> PlanOptions {
    let mut options = PlanOptions::for_window(TokenCount(200_000));
    options.settings.compaction.prune = PruneSettings {
        protect_tokens: TokenCount(400),
        minimum_savings: TokenCount(200),
        ..PruneSettings::default()
    };
    options
}

/// Returns the plan in lines, or why there is none.
fn pruned(decoded: &Decoded, options: &PlanOptions, cache: PromptCache) -> String {
    let plan = match plan_prune(&path(decoded), options, cache) {
        Ok(plan) => plan,
        Err(why) => return why.to_string(),
    };
    let mut lines: Vec<String> = plan
        .pruned
        .iter()
        .map(|result| {
            let reason = match result.reason {
                PruneReason::Old => "old",
                PruneReason::Superseded => "superseded",
            };
            format!("{} {reason} {}", result.entry_id, result.tokens)
        })
        .collect();
    lines.push(format!("saves {} of {}", plan.saved, plan.tokens_before));
    lines.join("\n")
}

/// Holds the plan of a session with a cold cache against a snapshot.
macro_rules! check_prune {
    ($notation:expr, @$expected:literal) => {
        insta::assert_snapshot!(pruned(&decoded($notation), &small(), PromptCache::Cold), @$expected)
    };
    ($notation:expr, $patches:expr, $options:expr, @$expected:literal) => {
        insta::assert_snapshot!(
            pruned(&patched($notation, $patches), $options, PromptCache::Cold),
            @$expected
        )
    };
}

/// Returns a patch that makes an answer read a file.
fn reads(id: &str, path: &str) -> Value {
    calls(id, "read", &json!({"path":path}))
}

/// Returns a patch that gives a result the name of its tool.
fn by(tool: &str) -> Value {
    json!({"message":{"toolName":tool}})
}

#[test]
fn the_newest_output_is_protected() {
    check_prune!("u:9 call:1:1 res:1:500 call:2:1 res:2:300 call:3:1 res:3:200", @"
    e3 old 390
    saves 382 of 837
    ");
}

#[test]
fn forty_thousand_tokens_are_protected_unless_set() {
    let defaults = PlanOptions::for_window(TokenCount(200_000));
    let notation = "u:9 call:1:1 res:1:40000 call:2:1 res:2:20000 call:3:1 res:3:30000";
    check_prune!(notation, &[], &defaults, @"
    e3 old 30727
    saves 30718 of 69190
    ");
}

#[test]
fn the_result_that_crosses_the_protected_size_is_old() {
    check_prune!("u:9 call:1:1 res:1:900 a:9", @"
    e3 old 698
    saves 690 of 738
    ");
}

#[test]
fn what_the_model_has_not_answered_stays_however_large() {
    check_prune!("u:9 call:1:1 call:2:1 res:1:900 res:2:900", @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    check_prune!("u:9 call:1:1 call:2:1 res:1:900 res:2:900 call:3:1 res:3:9000", @"
    e4 old 698
    e5 old 698
    saves 1380 of 8365
    ");
}

#[test]
fn little_savings_are_not_worth_it() {
    check_prune!("u:9 call:1:1 res:1:200 call:2:1 res:2:500", @"pruning would save 152 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    check_prune!("u:9 a:900", @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    check_prune!("", @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
}

#[test]
fn small_results_stay() {
    check_prune!("u:9 call:1:1 res:1:50 call:2:1 res:2:400 call:3:1 res:3:500", @"
    e5 old 313
    saves 305 of 798
    ");
}

#[test]
fn results_of_protected_tools_stay() {
    let patches = [("e3", by("skill")), ("e5", by("read")), ("e7", by("grep"))];
    let notation =
        "u:9 call:1:1 res:1:400 call:2:1 res:2:400 call:3:1 res:3:400 call:4:1 res:4:500";
    check_prune!(notation, &patches, &small(), @"
    e7 old 313
    saves 305 of 1391
    ");
}

const READ_TWICE: &str = "u:9 a:1 res:1:400 a:1 res:2:400";

fn read_twice() -> [(&'static str, Value); 4] {
    [
        ("e2", reads("1", "a.rs")),
        ("e3", by("read")),
        ("e4", reads("2", "a.rs")),
        ("e5", by("read")),
    ]
}

#[test]
fn a_newer_full_read_supersedes_an_older_one() {
    check_prune!(READ_TWICE, &read_twice(), &small(), @"
    e3 superseded 313
    saves 305 of 664
    ");
}

#[test]
fn a_skill_that_was_read_is_neither_old_nor_superseded() {
    let read = |path: &str, more: &str| {
        let mut patches = read_twice();
        patches[0].1 = reads("1", path);
        patches[2].1 = reads("2", more);
        patches
    };
    let skill = ".agents/skills/release/SKILL.md";
    let patches = read(skill, skill);
    check_prune!(READ_TWICE, &patches, &small(), @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    let mut unprotected = small();
    unprotected
        .settings
        .compaction
        .prune
        .protected_tools
        .clear();
    check_prune!(READ_TWICE, &patches, &unprotected, @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    // The files beside it stay too; those of a folder that holds no skill do not.
    let patches = read("./.agents/skills/release/steps.md", skill);
    check_prune!(READ_TWICE, &patches, &unprotected, @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    let patches = read("src/skills/steps.md", "src/SKILL.md");
    check_prune!(READ_TWICE, &patches, &unprotected, @"
    e3 old 313
    saves 305 of 670
    ");
    let patches = read("NOT-SKILL.md", "NOT-SKILL.md");
    check_prune!(READ_TWICE, &patches, &small(), @"
    e3 superseded 313
    saves 305 of 670
    ");
}

#[test]
fn results_of_the_tool_skill_stay_whatever_the_settings_say() {
    let mut unprotected = small();
    unprotected
        .settings
        .compaction
        .prune
        .protected_tools
        .clear();
    let patches = [("e3", by("skill")), ("e5", by("read"))];
    let notation = "u:9 call:1:1 res:1:400 call:2:1 res:2:400 call:3:1 res:3:500";
    check_prune!(notation, &patches, &unprotected, @"
    e5 old 313
    saves 305 of 1066
    ");
}

#[test]
fn reads_are_not_superseded_when_the_setting_is_off() {
    let mut options = small();
    options.settings.compaction.prune.supersede_reads = false;
    check_prune!(READ_TWICE, &read_twice(), &options, @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
}

#[test]
fn reads_of_other_files_or_parts_supersede_nothing() {
    let mut other = read_twice();
    other[2].1 = reads("2", "b.rs");
    check_prune!(READ_TWICE, &other, &small(), @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    let mut part = read_twice();
    part[2].1 = calls("2", "read", &json!({"path":"a.rs","offset":10}));
    check_prune!(READ_TWICE, &part, &small(), @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
}

#[test]
fn a_failed_read_supersedes_nothing() {
    let mut failed = read_twice();
    failed[3].1 = json!({"message":{"toolName":"read","isError":true}});
    check_prune!(READ_TWICE, &failed, &small(), @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
}

#[test]
fn each_result_belongs_to_its_own_call_when_ids_repeat() {
    let mut repeated = read_twice();
    repeated[0].1 = reads("1", "b.rs");
    repeated[2].1 = reads("1", "a.rs");
    repeated[3].1 = json!({"message":{"toolName":"read","toolCallId":"1"}});
    check_prune!(READ_TWICE, &repeated, &small(), @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
}

#[test]
fn a_read_is_superseded_by_its_own_file_only_when_all_ids_are_one() {
    let name = json!({"message":{"toolName":"read"}});
    let patches = |paths: [&str; 3]| {
        let mut patches = Vec::new();
        for (number, path) in paths.into_iter().enumerate() {
            let ids = [["e2", "e4", "e6"], ["e3", "e5", "e7"]];
            patches.push((ids[0][number], reads("call_0", path)));
            patches.push((ids[1][number], name.clone()));
        }
        patches
    };
    let notation = "u:9 a:1 res:call_0:400 a:1 res:call_0:400 a:1 res:call_0:400";
    check_prune!(notation, &patches(["a.rs", "b.rs", "c.rs"]), &small(), @"pruning would save 0 tokens, less than 200 (compaction.prune.minimumSavings, at most an eighth of the threshold)");
    check_prune!(notation, &patches(["a.rs", "b.rs", "a.rs"]), &small(), @"
    e3 superseded 313
    saves 305 of 989
    ");
    check_prune!(notation, &patches(["b.rs", "a.rs", "a.rs"]), &small(), @"
    e5 superseded 313
    saves 305 of 989
    ");
}

#[test]
fn a_full_read_supersedes_reads_of_parts() {
    let mut part = read_twice();
    part[0].1 = calls("1", "read", &json!({"path":"a.rs","offset":10}));
    check_prune!(READ_TWICE, &part, &small(), @"
    e3 superseded 313
    saves 305 of 668
    ");
}

#[test]
fn nothing_before_the_compaction_boundary_is_pruned() {
    check_prune!("u:9 call:1:1 res:1:900 u:9 k@e4:9 call:2:1 res:2:900 a:9", @"
    e7 old 698
    saves 690 of 752
    ");
}

#[test]
fn pi_counts_four_characters_a_token() {
    let mut pi = small();
    pi.profile = Profile::Pi;
    check_prune!("u:9 call:1:1 res:1:500 call:2:1 res:2:300 call:3:1 res:3:200", &[], &pi, @"
    e3 old 500
    e5 old 300
    saves 784 of 1027
    ");
}

#[test]
fn the_notice_says_how_much_is_gone() {
    assert_eq!(
        compaction_core::notice(TokenCount(1234)),
        "[Output truncated - 1234 tokens]"
    );
}

#[test]
fn a_cache_is_warm_for_five_minutes_after_its_use() {
    assert_eq!(PromptCache::of_age(0), PromptCache::Warm);
    assert_eq!(PromptCache::of_age(299_999), PromptCache::Warm);
    assert_eq!(PromptCache::of_age(300_000), PromptCache::Cold);
    assert_eq!(PromptCache::of_age(-1), PromptCache::Cold);
}

#[test]
fn the_warm_cache_stays_when_more_would_be_billed_than_saved() {
    let session = decoded("u:9 call:1:1 res:1:600 a:5000 | u:9 call:2:1 res:2:500");
    let mut options = small();
    insta::assert_snapshot!(pruned(&session, &options, PromptCache::Cold), @"
    e3 old 467
    saves 459 of 4755
    ");
    insta::assert_snapshot!(pruned(&session, &options, PromptCache::Warm), @"pruning would save 459 tokens a request but bill 4270 cached tokens anew");
    // A context above the threshold loses its cache anyway.
    options.settings.compaction.threshold_tokens = 2000;
    insta::assert_snapshot!(pruned(&session, &options, PromptCache::Warm), @"
    e3 old 467
    saves 459 of 4755
    ");
}

#[test]
fn a_warm_cache_is_given_up_when_that_pays() {
    let session = decoded("u:9 call:1:1 res:1:5000 a:50 | u:9 call:2:1 res:2:500");
    insta::assert_snapshot!(pruned(&session, &small(), PromptCache::Warm), @"
    e3 old 3846
    saves 3837 of 4333
    ");
}

#[test]
fn a_plan_becomes_edits_that_leave_the_notice() {
    let notation = "u:9 call:1:1 res:1:500 call:2:1 res:2:500";
    let text = patched_text(notation, &[]);
    let before = decode_bytes(text.clone().into_bytes());
    let plan = plan_prune(&path(&before), &small(), PromptCache::Cold).expect("something old");
    assert_eq!(&*plan.leaf, "e5");
    let text = appended(&text, Some(&plan.leaf), &plan.apply());
    let after = decode_bytes(text.into_bytes());
    let edit = after
        .tree
        .entry(after.tree.find("new1").expect("an edit"))
        .expect("readable");
    assert!(matches!(&edit.body, EntryBody::ContextEdit { target, .. } if &**target == "e3"));
    let context = build_context(&path(&after), Profile::Own.context_rules());
    assert_eq!(
        said(&context)[2],
        "toolResult: [Output truncated - 390 tokens]"
    );
    let others = |context| {
        let mut said = said(context);
        said.remove(2);
        said
    };
    let former = build_context(&path(&before), Profile::Own.context_rules());
    assert_eq!(others(&context), others(&former), "nothing else changes");
}

#[test]
fn what_was_pruned_is_not_pruned_again() {
    let text = patched_text("u:9 call:1:1 res:1:500 call:2:1 res:2:500", &[]);
    let before = decode_bytes(text.clone().into_bytes());
    let plan = plan_prune(&path(&before), &small(), PromptCache::Cold).expect("something old");
    let after = decode_bytes(appended(&text, Some(&plan.leaf), &plan.apply()).into_bytes());
    let mut options = small();
    options.settings.compaction.prune.minimum_savings = TokenCount::ZERO;
    options.settings.compaction.prune.minimum_tokens = TokenCount::ZERO;
    let again = plan_prune(&path(&after), &options, PromptCache::Cold);
    let none = NothingToPrune::TooLittle {
        saved: TokenCount::ZERO,
        minimum: TokenCount::ZERO,
    };
    assert_eq!(again, Err(none));
}

#[test]
fn equal_plans_have_equal_hashes() {
    let plan = |notation| {
        let session = decoded(notation);
        plan_prune(&path(&session), &small(), PromptCache::Cold)
            .expect("something old")
            .hash()
    };
    let notation = "u:9 call:1:1 res:1:900 call:2:1 res:2:500";
    assert_eq!(plan(notation), plan(notation));
    assert_ne!(
        plan(notation),
        plan("u:9 call:1:1 res:1:900 call:2:1 res:2:500 a:1")
    );
}
