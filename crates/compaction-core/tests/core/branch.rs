//! Branch summaries: what is collected when a branch is left, and where its summary goes.

use crate::sessions::{answer, appended, decoded, patched, patched_text, says};
use compaction_core::{
    AnswerError, BranchError, BranchInstructions, BranchOptions, BranchPlan, CompactionSettings,
    FileOps, Profile, RequestKind, SummarizerLimits, TokenCount, branch_budget,
    plan_branch_summary,
};
use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{Decoded, EntryBody, EntryId, Leaf, build_context, decode_bytes};

fn options(budget: u64) -> BranchOptions {
    BranchOptions {
        budget: TokenCount(budget),
        profile: Profile::Own,
        settings: CompactionSettings::default(),
        summarizer: SummarizerLimits {
            window: TokenCount(200_000),
            max_output: None,
        },
        instructions: None,
    }
}

fn leaf(decoded: &Decoded, id: &str) -> Leaf {
    match id {
        "root" => Leaf::Root,
        id => Leaf::At(decoded.tree.find(id).expect("an entry of the session")),
    }
}

fn plan(decoded: &Decoded, from: &str, to: &str, options: &BranchOptions) -> BranchPlan {
    plan_branch_summary(
        &decoded.tree,
        leaf(decoded, from),
        leaf(decoded, to),
        options,
    )
    .expect("a plan")
}

/// Returns the plan in lines.
fn left(decoded: &Decoded, from: &str, to: &str, options: &BranchOptions) -> String {
    let plan = plan(decoded, from, to, options);
    let ids = |ids: &[EntryId]| match ids {
        [] => "nothing".to_owned(),
        ids => ids
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" "),
    };
    let id = |id: &Option<EntryId>| id.as_deref().unwrap_or("root").to_owned();
    let said: Vec<EntryId> = plan
        .messages
        .iter()
        .map(|source| source.entry_id.clone())
        .collect();
    let mut lines = vec![
        format!("ancestor {}", id(&plan.common_ancestor)),
        format!("collected {}", ids(&plan.collected)),
        format!("summarized {} ({} tokens)", ids(&said), plan.tokens),
        format!("goes on at {}", id(&plan.new_leaf)),
    ];
    if let Some(text) = &plan.editor_text {
        lines.push(format!("editor: {text}"));
    }
    lines.extend(files(&plan.files));
    lines.push(format!("{} requests", plan.requests().len()));
    lines.join("\n")
}

fn files(files: &FileOps) -> Vec<String> {
    let mut lines = Vec::new();
    for (title, files) in [
        ("read", files.read_files()),
        ("modified", files.modified_files()),
    ] {
        if !files.is_empty() {
            lines.push(format!("{title}: {}", files.join(" ")));
        }
    }
    lines
}

/// Holds what leaving the first entry for the second leaves behind against a snapshot.
macro_rules! check_branch {
    ($notation:expr, $from:literal => $to:literal, @$expected:literal) => {
        check_branch!($notation, &[], $from => $to, &options(1000), @$expected)
    };
    ($notation:expr, $patches:expr, $from:literal => $to:literal, $options:expr, @$expected:literal) => {
        insta::assert_snapshot!(left(&patched($notation, $patches), $from, $to, $options), @$expected)
    };
}

#[test]
fn entries_are_collected_back_to_the_deepest_common_ancestor() {
    check_branch!("u:10 a:10 u:10 a:10 ^e2 u:10 a:10", "e4" => "e6", @"
    ancestor e2
    collected e3 e4
    summarized e3 e4 (26 tokens)
    goes on at e6
    1 requests
    ");
}

#[test]
fn branches_without_a_common_ancestor_are_collected_whole() {
    check_branch!("u:10 a:10 ^root u:10 a:10", "e2" => "e4", @"
    ancestor root
    collected e1 e2
    summarized e1 e2 (26 tokens)
    goes on at e4
    1 requests
    ");
}

#[test]
fn compactions_on_the_branch_are_collected_with_their_summary() {
    check_branch!("u:10 a:10 u:10 a:10 k@e3:20 a:10", "e6" => "e2", @"
    ancestor e2
    collected e3 e4 e5 e6
    summarized e3 e4 e5 e6 (96 tokens)
    goes on at e2
    1 requests
    ");
}

#[test]
fn the_newest_messages_within_the_budget_are_summarized() {
    check_branch!("u:10 a:100 u:100 a:100 a:100", &[], "e5" => "root", &options(200), @"
    ancestor root
    collected e1 e2 e3 e4 e5
    summarized e4 e5 (164 tokens)
    goes on at root
    1 requests
    ");
}

#[test]
fn a_summary_beyond_the_budget_is_added_below_nine_tenths() {
    check_branch!("u:10 a:50 s:200 a:100", &[], "e4" => "e1", &options(150), @"
    ancestor root
    collected e1 e2 e3 e4
    summarized e3 e4 (275 tokens)
    goes on at root
    editor: #1 lorem ipsum dolor sit amet lorem ipsu
    1 requests
    ");
}

#[test]
fn a_summary_beyond_the_budget_is_left_out_from_nine_tenths_on() {
    check_branch!("u:10 a:50 s:200 a:100", &[], "e4" => "e1", &options(90), @"
    ancestor root
    collected e1 e2 e3 e4
    summarized e4 (82 tokens)
    goes on at root
    editor: #1 lorem ipsum dolor sit amet lorem ipsu
    1 requests
    ");
}

#[test]
fn a_message_beyond_the_budget_is_left_out() {
    check_branch!("u:10 a:50 a:200 a:100", &[], "e4" => "e1", &options(150), @"
    ancestor root
    collected e1 e2 e3 e4
    summarized e4 (82 tokens)
    goes on at root
    editor: #1 lorem ipsum dolor sit amet lorem ipsu
    1 requests
    ");
}

#[test]
fn files_count_from_entries_beyond_the_budget() {
    let notation =
        "u:1 write:1:old.rs res:1:100 s:9 k@e2:9 edit:2:no.rs err:2:9 read:3:new.rs res:3:9 a:100";
    let patches = [
        (
            "e4",
            json!({"details":{"readFiles":["s.rs"],"modifiedFiles":[]}}),
        ),
        (
            "e5",
            json!({"details":{"readFiles":[],"modifiedFiles":["k.rs"]}}),
        ),
    ];
    check_branch!(notation, &patches, "e10" => "e1", &options(120), @"
    ancestor root
    collected e1 e2 e3 e4 e5 e6 e7 e8 e9 e10
    summarized e8 e9 e10 (107 tokens)
    goes on at root
    editor: #1 l
    read: new.rs s.rs
    modified: k.rs old.rs
    1 requests
    ");
    let mut pi = options(120);
    pi.profile = Profile::Pi;
    check_branch!(notation, &patches, "e10" => "e1", &pi, @"
    ancestor e1
    collected e2 e3 e4 e5 e6 e7 e8 e9 e10
    summarized e5 e6 e8 e10 (120 tokens)
    goes on at root
    editor: #1 l
    read: new.rs s.rs
    modified: no.rs
    1 requests
    ");
}

#[test]
fn files_of_extensions_summaries_do_not_count() {
    let patches = [
        (
            "e2",
            json!({"details":{"readFiles":["s.rs"]},"fromExtension":true}),
        ),
        (
            "e3",
            json!({"details":{"readFiles":["k.rs"]},"fromHook":true}),
        ),
    ];
    check_branch!("u:1 s:9 k@e1:9 a:9", &patches, "e4" => "e1", &options(1000), @"
    ancestor root
    collected e1 e2 e3 e4
    summarized e1 e2 e3 e4 (113 tokens)
    goes on at root
    editor: #1 l
    1 requests
    ");
}

#[test]
fn tool_results_are_part_of_the_conversation() {
    let patches = [
        ("e1", says("go")),
        ("e3", says("it printed this")),
        ("e4", says("done")),
    ];
    let session = patched("u:1 call:1:1 res:1:1 a:1", &patches);
    insta::assert_snapshot!(plan(&session, "e4", "root", &options(1000)).conversation, @r##"
    [User]: go

    [Assistant tool calls]: bash(command="#2 l")

    [Tool result]: it printed this

    [Assistant]: done
    "##);
    let mut pi = options(1000);
    pi.profile = Profile::Pi;
    insta::assert_snapshot!(plan(&session, "e4", "root", &pi).conversation, @r##"
    [User]: go

    [Assistant tool calls]: bash(command="#2 l")

    [Assistant]: done
    "##);
}

#[test]
fn long_tool_results_are_truncated() {
    let session = decoded("u:1 call:1:1 res:1:600");
    let conversation = plan(&session, "e3", "root", &options(1000)).conversation;
    assert!(conversation.ends_with("[... 400 more characters truncated]"));
}

#[test]
fn a_message_of_the_user_returns_to_the_editor() {
    check_branch!("u:10 a:10 u:5 a:10", "e4" => "e3", @"
    ancestor e2
    collected e3 e4
    summarized e3 e4 (21 tokens)
    goes on at e2
    editor: #3 lorem ipsum dolor
    1 requests
    ");
}

#[test]
fn an_extensions_message_returns_to_the_editor() {
    check_branch!("u:10 a:10 x:5 a:10", "e4" => "e3", @"
    ancestor e2
    collected e3 e4
    summarized e3 e4 (21 tokens)
    goes on at e2
    editor: #3 lorem ipsum dolor
    1 requests
    ");
}

#[test]
fn the_first_message_leads_to_the_root() {
    check_branch!("u:5 a:10 a:10", "e3" => "e1", @"
    ancestor root
    collected e1 e2 e3
    summarized e1 e2 e3 (34 tokens)
    goes on at root
    editor: #1 lorem ipsum dolor
    1 requests
    ");
}

#[test]
fn the_root_is_a_target() {
    check_branch!("u:5 a:10", "e2" => "root", @"
    ancestor root
    collected e1 e2
    summarized e1 e2 (21 tokens)
    goes on at root
    1 requests
    ");
}

#[test]
fn nothing_is_left_when_the_session_stood_before_everything() {
    check_branch!("u:5 a:10", "root" => "e2", @"
    ancestor root
    collected nothing
    summarized nothing (0 tokens)
    goes on at e2
    0 requests
    ");
}

#[test]
fn nothing_said_means_no_request() {
    check_branch!("u:10 a:10 model label info", "e5" => "e2", @"
    ancestor e2
    collected e3 e4 e5
    summarized nothing (0 tokens)
    goes on at e2
    0 requests
    ");
    check_branch!("u:10 a:10", "e2" => "e2", @"
    ancestor e2
    collected nothing
    summarized nothing (0 tokens)
    goes on at e2
    0 requests
    ");
    let session = decoded("u:10 a:10 model");
    let plan = plan(&session, "e3", "e2", &options(1000));
    assert_eq!(plan.apply(&[]), Err(AnswerError::Empty));
}

#[test]
fn system_messages_are_not_summarized() {
    check_branch!("u:10 sys:50 a:10", "e3" => "e1", @"
    ancestor root
    collected e1 e2 e3
    summarized e1 e3 (26 tokens)
    goes on at root
    editor: #1 lorem ipsum dolor sit amet lorem ipsu
    1 requests
    ");
}

#[test]
fn the_budget_is_the_window_less_the_reserve() {
    let budget = |window, reserve| branch_budget(TokenCount(window), TokenCount(reserve));
    assert_eq!(budget(200_000, 16_384).ok(), Some(TokenCount(183_616)));
    assert_eq!(
        budget(0, 16_384).ok(),
        Some(TokenCount(111_616)),
        "128,000 where unknown"
    );
    for reserve in [16_384, 16_385] {
        let refused = budget(16_384, reserve).expect_err("no budget");
        assert_eq!(
            refused.to_string(),
            format!(
                "window 16384 - branchSummary.reserveTokens {reserve} leaves no budget for a branch summary"
            )
        );
    }
}

#[test]
fn a_summarizer_without_room_is_refused() {
    let session = decoded("u:10 a:10");
    let mut options = options(1000);
    options.summarizer.window = TokenCount(300);
    let refused = plan_branch_summary(&session.tree, leaf(&session, "e2"), Leaf::Root, &options);
    assert!(
        matches!(refused, Err(BranchError::Window(_))),
        "{refused:?}"
    );
}

#[test]
fn instructions_are_added_to_the_prompt_or_take_its_place() {
    let session = decoded("u:10 a:10");
    let request = |instructions| {
        let options = BranchOptions {
            instructions,
            ..options(1000)
        };
        plan(&session, "e2", "root", &options).requests()[0].clone()
    };
    let prompt = compaction_core::prompts::branch_summary();
    let plain = request(None);
    assert_eq!((plain.instructions, plain.focus), (prompt.clone(), None));
    assert_eq!(plain.max_output, TokenCount(4096));
    let focus = request(Some(BranchInstructions::Focus("the bug".to_owned())));
    assert_eq!(focus.instructions, prompt);
    assert!(
        focus
            .prompt(None)
            .ends_with("The user asks to focus on this: the bug")
    );
    let replaced = request(Some(BranchInstructions::Replace("In one line.".to_owned())));
    assert!(
        replaced
            .prompt(None)
            .ends_with("</conversation>\n\nIn one line.")
    );
}

#[test]
fn a_long_branch_is_folded_to_the_summarizers_window() {
    let session = decoded("u:3000 a:3000 u:3000 a:3000");
    let mut options = options(100_000);
    options.summarizer.window = TokenCount(6000);
    let plan = plan(&session, "e4", "root", &options);
    assert!(plan.requests().len() > 2);
    let counter = Profile::Own.counter();
    for request in plan.requests() {
        let size = counter.text(&request.system) + counter.text(&request.prompt(None));
        assert!(size + request.max_output <= TokenCount(6000));
    }
}

#[test]
fn the_summary_hangs_under_the_new_leaf_and_names_the_old_one() {
    let text = patched_text(
        "u:10 a:10 u:5 edit:1:a.rs res:1:9",
        &[("e3", says("try this"))],
    );
    let before = decode_bytes(text.clone().into_bytes());
    let plan = plan(&before, "e5", "e3", &options(1000));
    let draft = plan
        .apply(&[answer("It did not work.")])
        .expect("a summary");
    let text = appended(&text, plan.new_leaf.as_deref(), &[draft]);
    let after = decode_bytes(text.into_bytes());
    let entry = after
        .tree
        .entry(leaf_index(&after, "new1"))
        .expect("readable");
    assert_eq!(entry.parent.as_deref(), Some("e2"));
    let EntryBody::BranchSummary(branch) = &entry.body else {
        panic!("{entry:?}");
    };
    assert_eq!(&*branch.from, "e5");
    insta::assert_snapshot!(branch.summary, @"
    Before coming back here, the session went down another branch. What happened there:

    It did not work.

    <modified-files>
    a.rs
    </modified-files>
    ");
    let details: Value = branch.details.as_ref().expect("details").to_value();
    assert_eq!(details["modifiedFiles"], json!(["a.rs"]));
    assert_eq!(details["planHash"], plan.hash().as_str());
    assert_eq!(details["undoTo"], "e5");
    let context = build_context(
        &after.tree.path(after.tree.leaf()),
        Profile::Own.context_rules(),
    );
    let roles: Vec<_> = context
        .messages()
        .map(|(_, message)| message.role().to_owned())
        .collect();
    assert_eq!(roles, ["user", "assistant", "branchSummary"]);
}

fn leaf_index(decoded: &Decoded, id: &str) -> session_model::EntryIndex {
    decoded.tree.find(id).expect("an entry of the session")
}

#[test]
fn a_move_without_a_summary_is_an_entry_outside_the_context() {
    let text = patched_text("u:10 a:10 u:5 a:9", &[]);
    let before = decode_bytes(text.clone().into_bytes());
    let plan = plan(&before, "e4", "e2", &options(1000));
    let text = appended(&text, plan.new_leaf.as_deref(), &[plan.move_only()]);
    let after = decode_bytes(text.into_bytes());
    let entry = after
        .tree
        .entry(leaf_index(&after, "new1"))
        .expect("readable");
    let EntryBody::Custom { custom_type, data } = &entry.body else {
        panic!("{entry:?}");
    };
    assert_eq!(custom_type, compaction_core::LEAF_ENTRY);
    assert_eq!(
        data.as_ref().map(RawJson::to_value),
        Some(json!({"reason":"navigate","from":"e4"}))
    );
    let context = build_context(
        &after.tree.path(after.tree.leaf()),
        Profile::Own.context_rules(),
    );
    assert_eq!(context.messages().count(), 2);
}

#[test]
fn the_built_in_rules_answer_within_their_cap() {
    let patches = [
        ("e1", says("Never touch main.rs. Fix the parser.")),
        ("e2", says("I will look at it.")),
    ];
    let session = patched("u:1 a:1 u:900 a:900", &patches);
    let plan = plan(&session, "e4", "root", &options(100_000));
    let answers = plan.answer_extractive(TokenCount(400), Profile::Own.counter());
    let text = answers[0].summary(RequestKind::Branch).expect("a summary");
    assert!(text.contains("Never touch main.rs."), "{text}");
    assert!(Profile::Own.counter().text(&text) <= TokenCount(400));
}

#[test]
fn a_huge_result_counts_as_what_a_summarizer_reads_of_it() {
    check_branch!("u:10 call:1:5 res:1:250000 a:20", &[], "e4" => "root", &options(2000), @"
    ancestor root
    collected e1 e2 e3 e4
    summarized e1 e2 e3 e4 (448 tokens)
    goes on at root
    1 requests
    ");
}

#[test]
fn pi_counts_all_of_a_huge_result() {
    let pi = BranchOptions {
        profile: Profile::Pi,
        ..options(2000)
    };
    let plan = plan(&decoded("u:10 x:250000 a:20"), "e3", "root", &pi);
    let said: Vec<&str> = plan.messages.iter().map(|said| &*said.entry_id).collect();
    assert_eq!(said, ["e3"]);
}

#[test]
fn a_budget_that_nothing_fits_is_told() {
    let plan_for = |notation: &str, leaf: &str| {
        let plan = plan(&decoded(notation), leaf, "root", &options(150));
        let said = plan.diagnostics.iter();
        let said: Vec<String> = said
            .map(|said| format!("{:?}: {said}", said.kind))
            .collect();
        (plan.requests().len(), said.join("\n"))
    };
    let (requests, said) = plan_for("u:10 a:10 u:400", "e3");
    assert_eq!(requests, 0);
    insta::assert_snapshot!(said, @"OverBudget: no summary: the newest message of the branch takes 312 tokens, the budget is 150");
    // A branch with something that fits, and one without messages.
    assert_eq!(plan_for("u:400 a:10", "e2"), (1, String::new()));
    assert_eq!(plan_for("model info", "e2"), (0, String::new()));
}

#[test]
fn a_failure_concerns_its_own_call_when_ids_repeat() {
    check_branch!("u:10 edit:0:a.rs res:0:9 edit:0:b.rs err:0:9 read:0:c.rs res:0:9 call:0:9 err:0:9", "e9" => "root", @"
    ancestor root
    collected e1 e2 e3 e4 e5 e6 e7 e8 e9
    summarized e1 e2 e3 e4 e5 e6 e7 e8 e9 (124 tokens)
    goes on at root
    read: c.rs
    modified: a.rs
    1 requests
    ");
}
