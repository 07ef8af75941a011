//! What a summary lost, looked up before it is stored: reported, repaired, refused.

use crate::sessions::{answer, calls, patched, patched_text, path, says};
use compaction_core::{
    AppliedCompaction, ApplyError, CompactionPlan, LedgerKind, PlanOptions, Profile, Summarizer,
    SummaryAnswer, TokenCount, Trigger, VerifyMode, loss_of_drafts, plan_compaction,
};
use serde_json::{Value, json};
use session_model::{Decoded, EntryDraft, build_context, decode_bytes};

/// Returns a session in which a file is changed, a command fails, and names and an address are said, with
/// enough talk around them that a twentieth of it has room for all of them.
fn work() -> Decoded {
    let talk =
        "we talk about this and that until everybody knows what is meant by it. ".repeat(160);
    let failed = json!({"message": {
        "content": [{"type": "text", "text": "error: no such column `zebra`\nCommand exited with code 1"}],
        "isError": true,
    }});
    let said = "retry_limit is told of in https://zebra.example/spec and src/herd.rs";
    patched(
        "u:1 a:1 res:1:1 a:1 res:2:1 a:1 u:1 a:1 | u:150 a:10",
        &[
            ("e1", says("please have a look")),
            (
                "e2",
                calls("1", "edit", &json!({"path": "src/deep/zebra.rs"})),
            ),
            ("e3", says("edited")),
            (
                "e4",
                calls("2", "bash", &json!({"command": "cargo test -q zebra"})),
            ),
            ("e5", failed),
            ("e6", says(&format!("{said}. {talk}"))),
            ("e7", says("thank you, and the rest")),
            ("e8", says("retry_limit stays")),
        ],
    )
}

fn options(mode: VerifyMode) -> PlanOptions {
    let mut options = PlanOptions::for_window(TokenCount(200_000));
    let compaction = &mut options.settings.compaction;
    compaction.keep_recent_tokens = TokenCount(100);
    compaction.verify.mode = mode;
    // What is said is the literals alone.
    compaction.file_list_limit = 0;
    options
}

fn plan_of(session: &Decoded, options: &PlanOptions) -> CompactionPlan {
    let trigger = Trigger::Manual { focus: None };
    plan_compaction(&path(session), &trigger, options).expect("something to do")
}

fn apply(options: &PlanOptions) -> Result<AppliedCompaction, ApplyError> {
    plan_of(&work(), options).apply(&[answer("nothing of note")])
}

fn details(applied: &AppliedCompaction) -> Value {
    let compaction = applied.drafts.iter().find_map(|draft| match draft {
        EntryDraft::Compaction(compaction) => compaction.details.as_ref(),
        _ => None,
    });
    compaction.expect("details").to_value()
}

#[test]
fn off_looks_nothing_up() {
    let applied = apply(&options(VerifyMode::Off)).expect("a summary");
    assert_eq!(applied.loss, None);
    assert_eq!(details(&applied).get("loss"), None);
}

#[test]
fn a_report_changes_nothing_and_is_stored() {
    let off = apply(&options(VerifyMode::Off)).expect("a summary");
    let applied = apply(&options(VerifyMode::Report)).expect("a summary");
    assert_eq!(applied.summary, off.summary);
    let loss = applied.loss.as_ref().expect("a report");
    assert_eq!(loss.kinds["identifier"].total, 1);
    assert_eq!(loss.kinds["identifier"].in_context, 0);
    assert_eq!(loss.kinds["identifier"].recoverable, 1);
    let stored = &details(&applied)["loss"];
    assert_eq!(stored["inContextPercent"], json!(loss.in_context_percent()));
    assert_eq!(
        stored["kinds"]["identifier"],
        json!({ "total": 1, "inContext": 0 })
    );
}

#[test]
fn kinds_of_which_there_was_nothing_are_not_stored() {
    let session = patched(
        "u:300 a:300 | u:150 a:10",
        &[("e1", says("look at src/a.rs"))],
    );
    let mut options = options(VerifyMode::Report);
    options.settings.compaction.ledger.max_tokens = Some(TokenCount::ZERO);
    let plan = plan_of(&session, &options);
    let applied = plan.apply(&[answer("one")]).expect("a summary");
    let stored = details(&applied)["loss"]["kinds"].clone();
    assert_eq!(stored, json!({ "path": { "total": 1, "inContext": 0 } }));
}

/// A name without what is said of it tells a reader nothing, and must not count as kept.
#[test]
fn a_repair_adds_no_bare_names() {
    let applied = apply(&options(VerifyMode::Repair)).expect("a summary");
    assert!(
        !applied.summary.contains("retry_limit,"),
        "{}",
        applied.summary
    );
    assert!(!applied.summary.contains("https://zebra.example/spec"));
    let loss = applied.loss.expect("a report");
    assert_eq!(loss.kinds["url"].in_context, 0);
}

#[test]
fn what_the_user_said_is_repaired_first() {
    let names: String = (0..60).map(|n| format!("name_number_{n} ")).collect();
    let session = patched(
        "u:5 a:3000 u:5 a:300 | u:150 a:10",
        &[
            (
                "e1",
                says("Look at src/herd.rs. Never <b>push</b> to main."),
            ),
            ("e3", says("and then the cow")),
            ("e4", says(&names)),
        ],
    );
    let mut little = options(VerifyMode::Gate);
    little.settings.compaction.ledger.max_tokens = Some(TokenCount(60));
    little.settings.compaction.verify.minimum_percent = 0;
    let plan = plan_of(&session, &little);
    assert!(!plan.ledger.text.contains("push"), "{}", plan.ledger.text);
    let applied = plan.apply(&[answer("one")]).expect("a summary");
    let (_, said) = applied.summary.split_once("<ledger>").expect("a ledger");
    insta::assert_snapshot!(said, @"

    Exact words of the user, quoted:
    - Never <b>push</b> to main. [e1]
    - and then the cow [e3]
    </ledger>
    ");
    let loss = applied.loss.as_ref().expect("a report");
    assert_eq!((loss.rules.total, loss.rules.verbatim), (1, 1));
    assert!(applied.ledger.tokens <= TokenCount(60));
    let rule = applied.ledger.items.iter();
    let mut rule = rule.filter(|item| item.kind == LedgerKind::Rule);
    let rule = rule.next().expect("a rule");
    assert_eq!(
        (rule.entry_id.as_str(), rule.text.as_str()),
        ("e1", "Never <b>push</b> to main.")
    );
}

#[test]
fn an_empty_budget_is_a_plain_summary() {
    let mut plain = options(VerifyMode::Off);
    plain.settings.compaction.ledger.max_tokens = Some(TokenCount::ZERO);
    let plain = apply(&plain).expect("a summary");
    let mut empty = options(VerifyMode::Repair);
    empty.settings.compaction.ledger.max_tokens = Some(TokenCount::ZERO);
    let applied = apply(&empty).expect("a summary");
    assert_eq!(applied.summary, plain.summary);
    assert!(applied.loss.is_some());
}

#[test]
fn a_summary_that_keeps_too_little_is_refused_by_the_gate_alone() {
    let with = |mode, percent, budget| {
        let mut options = options(mode);
        options.settings.compaction.verify.minimum_percent = percent;
        options.settings.compaction.ledger.max_tokens = Some(TokenCount(budget));
        apply(&options)
    };
    let refused = with(VerifyMode::Gate, 90, 0).expect_err("too little");
    assert!(
        matches!(refused, ApplyError::Unverified { percent, minimum: 90 } if percent < 90),
        "{refused}"
    );
    assert!(
        refused
            .to_string()
            .contains("compaction.verify.minimumPercent")
    );
    assert!(with(VerifyMode::Gate, 90, 1000).is_err());
    assert!(with(VerifyMode::Gate, 0, 0).is_ok());
    assert!(with(VerifyMode::Repair, 90, 0).is_ok());
}

#[test]
fn the_gate_counts_the_rules_of_the_user() {
    let session = patched(
        "u:5 a:300 u:5 a:300 | u:150 a:10",
        &[("e1", says("Please be kind. Never push to main."))],
    );
    let mut options = options(VerifyMode::Gate);
    options.settings.compaction.ledger.max_tokens = Some(TokenCount(0));
    options.settings.compaction.verify.minimum_percent = 50;
    let plan = plan_of(&session, &options);
    let refused = plan.apply(&[answer("nothing of note")]).unwrap_err();
    assert_eq!(
        refused,
        ApplyError::Unverified {
            percent: 0,
            minimum: 50
        }
    );
    plan.apply(&[answer("Never push to main.")])
        .expect("a summary");
}

#[test]
fn a_session_without_literals_passes_every_gate() {
    let mut gate = options(VerifyMode::Gate);
    gate.settings.compaction.verify.minimum_percent = 100;
    let talk = patched(
        "u:300 a:1 | u:150 a:10",
        &[("e2", says(&"words and words ".repeat(90)))],
    );
    assert!(plan_of(&talk, &gate).apply(&[answer("one")]).is_ok());
}

#[test]
fn the_report_is_the_one_that_drafts_give() {
    for mode in [VerifyMode::Report, VerifyMode::Repair] {
        let session = work();
        let plan = plan_of(&session, &options(mode));
        let applied = plan.apply(&plan.answer_extractive()).expect("a summary");
        let context = build_context(&path(&session), plan.profile.context_rules());
        let told = loss_of_drafts(&context, &applied.drafts, plan.profile.counter());
        assert_eq!(applied.loss, Some(told), "{mode:?}");
    }
}

#[test]
fn the_profile_of_pi_knows_none_of_it() {
    let mut options = options(VerifyMode::Gate);
    options.profile = Profile::Pi;
    options.settings.compaction.verify.minimum_percent = 100;
    let applied = apply(&options).expect("a summary");
    assert_eq!(applied.loss, None);
    assert!(!applied.summary.contains("ledger"));
}

#[test]
fn the_mode_is_part_of_the_decision() {
    let hash = |mode| plan_of(&work(), &options(mode)).hash();
    assert_ne!(hash(VerifyMode::Report), hash(VerifyMode::Repair));
    assert_eq!(hash(VerifyMode::Repair), hash(VerifyMode::Repair));
}

#[test]
fn what_a_repair_may_take_is_part_of_the_decision() {
    let session = patched("u:5 a:900 | u:150 a:10", &[]);
    let hash = |most| {
        let mut options = options(VerifyMode::Repair);
        options.settings.compaction.ledger.max_tokens = Some(TokenCount(most));
        let plan = plan_of(&session, &options);
        (plan.ledger.text.clone(), plan.hash())
    };
    let ((text, hash_of_little), (same, hash_of_much)) = (hash(150), hash(160));
    assert_eq!(text, same);
    assert_ne!(hash_of_little, hash_of_much);
}

#[test]
fn only_a_summary_that_was_asked_for_has_a_prompt() {
    let plan = plan_of(&work(), &options(VerifyMode::Off));
    let by = |summarizer| {
        let answers = [SummaryAnswer {
            summarizer,
            ..answer("one")
        }];
        details(&plan.apply(&answers).expect("a summary"))["promptHash"].clone()
    };
    assert_eq!(by(Summarizer::Extractive), Value::Null);
    let model = Summarizer::Model {
        provider: "p".to_owned(),
        model: "m".to_owned(),
    };
    let hash = by(model.clone());
    let digits = hash.as_str().expect("a hash");
    assert!(digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    // Another prompt, another hash; another conversation, the same.
    let mut other = options(VerifyMode::Off);
    other.hooks.prompt = Some("say it in one word".to_owned());
    let answers = [SummaryAnswer {
        summarizer: model.clone(),
        ..answer("one")
    }];
    let applied = plan_of(&work(), &other).apply(&answers);
    assert_ne!(details(&applied.expect("a summary"))["promptHash"], hash);
    let talk = patched_text("u:400 a:400 | u:150 a:10", &[]);
    let talk = decode_bytes(talk.into_bytes());
    let applied = plan_of(&talk, &options(VerifyMode::Off)).apply(&answers);
    assert_eq!(details(&applied.expect("a summary"))["promptHash"], hash);
}

/// What a model wrote is not said again, and what stands next to it takes a hundredth of what left.
#[test]
fn next_to_a_model_stands_only_what_its_prose_lacks() {
    let messages: Vec<(String, Value)> = (0..150_u8)
        .map(|n| {
            let name: String = [n / 26, n % 26]
                .map(|digit| char::from(b'a' + digit))
                .iter()
                .collect();
            let text =
                format!("Please look at how the reader of {name}things is built and port it.");
            (format!("m{n}"), says(&text))
        })
        .collect();
    let notation: String = messages
        .iter()
        .map(|(id, _)| format!("{id}=u:1 a:800 "))
        .collect();
    let mut patches: Vec<(&str, Value)> = messages
        .iter()
        .map(|(id, says)| (id.as_str(), says.clone()))
        .collect();
    patches[0].1 = says("Port it. Never push to main. Never rename a table.");
    let session = patched(&format!("{notation} u:150 a:10"), &patches);
    let plan = plan_of(&session, &options(VerifyMode::Off));
    let by = |text: &str, summarizer| {
        let answers = [SummaryAnswer {
            summarizer,
            ..answer(text)
        }];
        plan.apply(&answers).expect("a summary")
    };
    let model = Summarizer::Model {
        provider: "p".to_owned(),
        model: "m".to_owned(),
    };
    let own = by("one", Summarizer::Extractive);
    assert!(
        own.ledger.tokens > TokenCount(1700),
        "{}",
        own.ledger.tokens
    );
    let told = by("The user says: Never push to main.", model);
    assert!(
        told.ledger.tokens <= TokenCount(1200),
        "{}",
        told.ledger.tokens
    );
    let rules: Vec<&str> = told
        .ledger
        .items
        .iter()
        .filter(|item| item.kind == LedgerKind::Rule)
        .map(|item| item.text.as_str())
        .collect();
    assert_eq!(rules, ["Never rename a table."]);
}
