//! Rounds of further work on the example session: one new record stage a round, with a new user rule each time.

use super::Round;
use super::builder::Builder;
use super::outputs;
use super::script::{
    Call, Out, Step, act, breaks, cargo_test, clippy_ok, edit, mends, read, rg, say, todo, user,
};
use super::stages::{Stage, registry, stage};
use super::vfs::Vfs;

/// Ids of the example itself come from counters below this.
const FIRST_COUNTER: u32 = 4096;
/// Counters reserved for one round.
const PER_ROUND: u32 = 256;
/// When round 0 starts, in Unix ms; later rounds follow at 50 minutes each.
const FIRST_MS: u64 = 1_773_129_731_480 + 8 * 3_600_000;

/// The lines of round `round`, whose first entry has `leaf` as its parent. The same round gives the same ids and texts.
pub fn growth_round(round: u32, leaf: &str) -> Round {
    let work = stage(round);
    let counter = FIRST_COUNTER + round * PER_ROUND;
    let clock = FIRST_MS + u64::from(round) * 50 * 60_000;
    let tree = tree_before(round);
    let mut story = Builder::new(counter, clock, Some(leaf), tree.clone());
    story.assume_context(24_000);
    story.run(request(round, &work, &tree));
    if round.is_multiple_of(2) {
        story.run(red_test(&work));
    }
    story.run(finish(round, &work));
    story.run(new_limit(round, &work));
    if round.is_multiple_of(3) {
        story.run(question(round, &tree));
    }
    Round {
        leaf: story.leaf().to_string(),
        user_rules: story.rules().to_vec(),
        modified_files: story.modified(),
        latest_request: story.latest_request().to_string(),
        lines: story.lines,
    }
}

/// The example's last tree, with the stages of the earlier rounds.
fn tree_before(round: u32) -> Vfs {
    let mut tree = super::told().tree().clone();
    for earlier in (0..round).map(stage) {
        let (old, new) = earlier.repair();
        tree.write(&earlier.path(), &earlier.source().replace(old, new));
    }
    tree.write("src/stage/mod.rs", &registry(round));
    tree.commit();
    tree
}

/// Source files that a round looks at, another selection each time.
fn background(tree: &Vfs, round: u32, count: usize) -> Vec<Call> {
    let paths: Vec<&str> = tree.paths().filter(|p| p.ends_with(".rs")).collect();
    let paths: Vec<&str> = paths.into_iter().filter(|p| !p.contains("stage")).collect();
    (0..count)
        .map(|i| read(paths[(round as usize * 5 + i * 3) % paths.len()]))
        .collect()
}

fn request(round: u32, work: &Stage, tree: &Vfs) -> Vec<Step> {
    let rule = work.user_rule();
    let text = format!(
        "Next stage: {}. Reason: {}. It looks at the field `{}`, limit {} {}. {rule} Tests and a page in docs/stages as for the others.",
        work.name, work.why, work.field, work.limit, work.unit
    );
    let reads = if round.is_multiple_of(6) { 11 } else { 13 };
    let mut looks = background(tree, round, reads);
    let (later, last) = (looks.split_off(6), looks);
    let plan = [
        format!("> stage {}: module and tests", work.name),
        format!("- stage {}: registry and docs", work.name),
        "- tail: confirm positions only after Spool::push".to_string(),
    ];
    let plan: Vec<&str> = plan.iter().map(String::as_str).collect();
    let intro = format!(
        "I look at the registry and at who would see `{}` first.",
        work.field
    );
    let thinking = format!(
        "The stage needs the time as a parameter, as the others have it. {} {} is the limit. The rule to keep in mind: {rule}",
        work.limit, work.unit
    );
    vec![
        user(&text, &[&rule]),
        act(
            &thinking,
            &intro,
            vec![
                read("src/stage/mod.rs"),
                rg(&format!("{}|Record \\{{", work.field), "src"),
                todo(&plan),
            ],
        ),
        act("", "", last),
        act("", "", later),
        act(
            "",
            &format!("The module `{}`, tests included.", work.path()),
            vec![
                Call::Write(work.path(), work.source()),
                Call::Write("src/stage/mod.rs".into(), registry(round + 1)),
            ],
        ),
    ]
}

fn red_test(work: &Stage) -> Vec<Step> {
    let (place, message) = work.edge_failure();
    let (old, new) = work.repair();
    vec![
        breaks(&work.edge_test(), &place, &message),
        act("", "", vec![cargo_test("stage")]),
        act(
            "The edge case is off: the comparison at the boundary. Read the line again before I change it.",
            &format!(
                "`{}` fails at {place}. It is the boundary; the module again, then the repair.",
                work.edge_test()
            ),
            vec![read(&work.path())],
        ),
        act("", "", vec![edit(&work.path(), old, new)]),
        mends(&work.edge_test()),
        act("", "", vec![cargo_test("")]),
    ]
}

fn finish(round: u32, work: &Stage) -> Vec<Step> {
    let subject = format!("stage: {}", work.name);
    let repaired = round.is_multiple_of(2);
    let (old, new) = work.repair();
    let mut calls = vec![cargo_test("")];
    if !repaired {
        calls.insert(0, edit(&work.path(), old, new));
    }
    vec![
        act(
            "",
            if repaired {
                ""
            } else {
                "One boundary I got wrong while writing; repaired before the first run."
            },
            calls,
        ),
        act(
            "",
            "",
            vec![
                Call::Write(format!("docs/stages/{}.md", work.name), work.document()),
                Call::Bash(
                    "tail -n 140 lab/daemon.log".into(),
                    Out::DaemonLog(1000 + u64::from(round), 140),
                ),
            ],
        ),
        act(
            "",
            "",
            vec![
                Call::Bash("git diff".into(), Out::Diff("src/stage".into())),
                clippy_ok(),
                Call::Bash(
                    format!(
                        "git add -A && git commit -qm '{subject}' && git log -1 --stat --format=%s"
                    ),
                    Out::Commit(subject.clone()),
                ),
            ],
        ),
        say(
            "",
            &format!(
                "`{}` is in: {} {} on `{}`, off by default, with tests and docs/stages/{}.md. {} I kept to the rule: {}",
                work.name,
                work.limit,
                work.unit,
                work.field,
                work.name,
                if repaired {
                    format!(
                        "`{}` was red once, a boundary, and is repaired.",
                        work.edge_test()
                    )
                } else {
                    "All tests were green at the first run.".to_string()
                },
                work.user_rule()
            ),
        ),
    ]
}

fn new_limit(round: u32, work: &Stage) -> Vec<Step> {
    let seed = 2000 + u64::from(round);
    let old = work.limit_line(work.limit);
    let new = work.limit_line(work.later);
    let page = format!("docs/stages/{}.md", work.name);
    let row = |n: u32| format!("| limit | {n} {} |", work.unit);
    vec![
        Step::Pause(3),
        user(
            &format!(
                "Make the limit of {} {} {} instead of {}, and show me an hour of the lab with it.",
                work.name, work.later, work.unit, work.limit
            ),
            &[],
        ),
        act(
            "",
            "",
            vec![
                edit(&work.path(), &old, &new),
                edit(&page, &row(work.limit), &row(work.later)),
                cargo_test("stage"),
            ],
        ),
        act(
            "",
            "",
            vec![
                Call::Bash(
                    "ssh lab 'tail -n 180 logferry/lab/collector.log'".into(),
                    Out::AccessLog(seed, 180),
                ),
                Call::Bash(
                    "ssh lab 'tail -n 120 logferry/lab/daemon.log'".into(),
                    Out::DaemonLog(seed, 120),
                ),
            ],
        ),
        act(
            "",
            "",
            vec![
                read(&work.path()),
                Call::Bash("ssh lab './bench.sh parse'".into(), Out::Bench(seed, 14)),
            ],
        ),
        say(
            "",
            &format!(
                "The limit of `{}` is {} {} now, in code and page. The lab hour shows {} answers 429 and no dropped record outside the counters.",
                work.name,
                work.later,
                work.unit,
                outputs::access_log(seed, 180).matches(" 429 ").count()
            ),
        ),
    ]
}

fn question(round: u32, tree: &Vfs) -> Vec<Step> {
    vec![
        user(
            &format!(
                "Before you stop (round {}): is anything left of the open points from the spool work?",
                round + 1
            ),
            &[],
        ),
        act(
            "",
            "",
            vec![rg("confirm|torn", "src"), Call::Ls("docs".into())],
        ),
        act("", "", background(tree, round + 2, 2)),
        say(
            "",
            "Still open from then: `spool::tests::recovers_after_a_torn_segment` needs the way back from the batcher to `Checkpoints` (position 2048, not 4096), src/pipeline/held.rs is unused, and the copytruncate note is not written. The stages do not touch any of the three.",
        ),
    ]
}
