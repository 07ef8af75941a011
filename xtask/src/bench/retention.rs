//! `cargo xtask bench retention`: how many planted needles summaries keep, by kind, strategy and budget, and after
//! many rounds.

use std::collections::BTreeMap;

use test_support::needles::{
    NeedleKind, Phrasings, Planted, Verdict, blind_needles, is_among_rules,
};

use self::measure::{
    Budget, Case, Facts, SummaryMethod, compact, generated, goal_percent, needles_each, planted,
};
use self::rounds::Rounds;
use crate::run::{Outcome, example_lines};

#[path = "../../../crates/compaction-core/tests/retention/measure.rs"]
mod measure;
#[path = "../../../crates/compaction-core/tests/retention/rounds.rs"]
mod rounds;

const USAGE: &str = "\
usage: cargo xtask bench retention [--seeds N] [--phrasings SET] [--misses] [--burn]

  --seeds N    how often needles are planted into the example session, and how many sessions are generated (3)
  --phrasings  known, blind or both: the words in which facts are said (both)
  --misses     also which needles are not as they should be, in the words in which they were said
  --burn       allows --misses for the blind set: whoever reads them and then changes a rule has used the set up, and
               owes a new one";

/// Budgets, in percent of what leaves the context.
const PERCENTS: [u64; 3] = [10, 5, 2];

/// What is compared.
const WAYS: [SummaryMethod; 3] = [
    SummaryMethod::ContextFull,
    SummaryMethod::Extractive,
    SummaryMethod::Restore,
];

/// Bytes of a generated session.
const BYTES: usize = 600_000;

/// Rounds of turns and compactions.
const ROUNDS: usize = 20;

/// Seed of the rounds.
const ROUNDS_SEED: u64 = 7;

/// What is not as it should be.
struct Miss {
    kind: NeedleKind,
    depth: u8,
    said: String,
    /// The line that shows it wrongly.
    line: Option<String>,
}

/// A strategy at a budget, over all sessions.
struct Column {
    case: Case,
    counts: BTreeMap<NeedleKind, (usize, usize)>,
    /// Tokens: left the context, allowed, and in summaries.
    tokens: (u64, u64, u64),
    /// Among rules: rules, and other texts.
    among_rules: (usize, usize),
    misses: Vec<Miss>,
}

/// What a set of phrasings comes to.
struct Measures {
    phrasings: Phrasings,
    columns: Vec<Column>,
    lives: Vec<(SummaryMethod, Facts, Rounds)>,
}

/// Returns the least share of a kind. The planted steps of the blind set are said in ways that nothing can know, so
/// its goals are lower.
fn least(phrasings: Phrasings, kind: NeedleKind) -> Option<usize> {
    match (phrasings, kind) {
        (Phrasings::Blind, NeedleKind::OpenError | NeedleKind::NextStep) => Some(95),
        (Phrasings::Blind, NeedleKind::Decision | NeedleKind::Number) => Some(90),
        _ => goal_percent(kind),
    }
}

/// Measures and prints.
pub fn run(arguments: &[String]) -> Outcome {
    let (mut seeds, mut shows_misses, mut burns) = (3, false, false);
    let mut sets = Phrasings::ALL.to_vec();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => {
                let count = words.next().and_then(|text| text.parse().ok());
                let count = count.filter(|count| (1..=1_000).contains(count));
                seeds = count.ok_or_else(|| format!("--seeds needs a number\n\n{USAGE}"))?;
            }
            "--phrasings" => {
                let set = words.next().and_then(|name| sets_named(name));
                sets = set.ok_or_else(|| format!("--phrasings needs a set\n\n{USAGE}"))?;
            }
            "--misses" => shows_misses = true,
            "--burn" => burns = true,
            _ => return Err(format!("unknown argument {word}\n\n{USAGE}")),
        }
    }
    if shows_misses && !burns && sets.contains(&Phrasings::Blind) {
        return Err(format!(
            "--misses would show the blind set: add --burn, or --phrasings known\n\n{USAGE}"
        ));
    }
    let measured = sets.into_iter().map(|set| measure(set, seeds));
    let measured: Vec<Measures> = measured.collect::<Outcome<_>>()?;
    for measures in &measured {
        let set = match measures.phrasings {
            Phrasings::Known => "Known phrasings",
            Phrasings::Blind => "Blind set, with 95% intervals",
        };
        println!("### {set}\n");
        print!("{}", tables(measures));
        println!("{}", life_table(measures));
        if shows_misses {
            println!("{}", misses(&measures.columns));
        }
    }
    Ok(())
}

/// Returns the sets that an argument names.
fn sets_named(name: &str) -> Option<Vec<Phrasings>> {
    if name == "both" {
        return Some(Phrasings::ALL.to_vec());
    }
    let set = Phrasings::ALL.into_iter().find(|set| set.name() == name)?;
    Some(vec![set])
}

fn measure(phrasings: Phrasings, seeds: u64) -> Outcome<Measures> {
    let sessions = sessions(phrasings, seeds)?;
    let mut columns = Vec::new();
    for percent in PERCENTS {
        let set = phrasings.name();
        eprintln!("{set} at {percent}%: {} sessions", sessions.len());
        for way in WAYS {
            for facts in [Facts::Ledger, Facts::ProseAlone] {
                let budget = Budget::Percent(percent);
                columns.push(column(&sessions, Case { way, facts, budget })?);
            }
        }
    }
    let mut lives = Vec::new();
    for way in WAYS {
        for facts in [Facts::Ledger, Facts::ProseAlone] {
            let rounds = rounds::rounds(way, facts, phrasings, ROUNDS_SEED, ROUNDS)?;
            lives.push((way, facts, rounds));
        }
    }
    Ok(Measures {
        phrasings,
        columns,
        lives,
    })
}

/// Returns the example session planted anew with each seed, and a generated session for each.
fn sessions(phrasings: Phrasings, seeds: u64) -> Outcome<Vec<(u64, Planted)>> {
    if phrasings == Phrasings::Blind {
        let count = blind_needles().div_ceil(needles_each(BYTES)) as u64;
        let sessions = (0..count).map(|seed| (seed, generated(phrasings, seed, BYTES)));
        return Ok(sessions.collect());
    }
    let lines = example_lines()?;
    let examples = (1..=seeds).map(|seed| (seed, planted(&lines, phrasings, seed)));
    let others = (101..=100 + seeds).map(|seed| (seed, generated(phrasings, seed, BYTES)));
    Ok(examples.chain(others).collect())
}

fn column(sessions: &[(u64, Planted)], case: Case) -> Outcome<Column> {
    let mut column = Column {
        case,
        counts: BTreeMap::new(),
        tokens: (0, 0, 0),
        among_rules: (0, 0),
        misses: Vec::new(),
    };
    for (seed, session) in sessions {
        let measured = compact(&session.text(), &session.needles, case, *seed)?;
        for kind in NeedleKind::ALL {
            let (good, all) = measured.count(kind);
            let sum = column.counts.entry(kind).or_default();
            *sum = (sum.0 + good, sum.1 + all);
        }
        for judged in measured.judged.iter().filter(|judged| judged.left) {
            let listed = usize::from(is_among_rules(&judged.needle, &measured.seen));
            match judged.needle.kind {
                NeedleKind::Rule => column.among_rules.0 += listed,
                NeedleKind::Distractor => column.among_rules.1 += listed,
                _ => {}
            }
        }
        column.tokens.0 += measured.removed;
        column.tokens.1 += measured.budget;
        column.tokens.2 += measured.summary;
        let bad = measured
            .judged
            .iter()
            .filter(|judged| judged.left && !judged.verdict.is_good());
        column.misses.extend(bad.map(|judged| Miss {
            kind: judged.needle.kind,
            depth: judged.needle.depth,
            said: judged.needle.said.clone(),
            line: match &judged.verdict {
                Verdict::Wrong(line) => Some(line.clone()),
                Verdict::Kept | Verdict::Missed | Verdict::Clean => None,
            },
        }));
    }
    Ok(column)
}

fn title(case: Case) -> String {
    match case.facts {
        Facts::Ledger => case.way.strategy().name().to_owned(),
        Facts::ProseAlone => format!("{}, no ledger", case.way.strategy().name()),
    }
}

/// Returns a count as a table shows it: a share, or how often something is shown wrongly; marked where it misses.
fn cell(phrasings: Phrasings, kind: NeedleKind, (good, all): (usize, usize)) -> String {
    let misses = least(phrasings, kind).is_some_and(|goal| good * 100 < goal * all);
    let mark = if misses { " !" } else { "" };
    match (kind.should_stay(), phrasings) {
        (true, Phrasings::Known) => {
            format!("{:.1}%{mark}", 100.0 * good as f64 / all.max(1) as f64)
        }
        (true, Phrasings::Blind) => format!("{}{mark}", share(good, all)),
        (false, _) => format!("{}{mark}", all - good),
    }
}

/// Returns a share in percent with its 95% interval (Wilson).
fn share(good: usize, all: usize) -> String {
    let (n, z) = (all.max(1) as f64, 1.96_f64);
    let p = good as f64 / n;
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 100.0 / (1.0 + z * z / n);
    let (low, high) = ((middle - half) * scale, (middle + half) * scale);
    format!("{:.0}% ({:.0}–{:.0})", 100.0 * p, low.max(0.0), high)
}

fn goal(phrasings: Phrasings, kind: NeedleKind) -> String {
    match (least(phrasings, kind), kind.should_stay()) {
        (None, _) => "-".to_owned(),
        (Some(100), true) => "100%".to_owned(),
        (Some(goal), true) => format!("≥ {goal}%"),
        (Some(_), false) => "0".to_owned(),
    }
}

fn tables(measures: &Measures) -> String {
    let (phrasings, columns) = (measures.phrasings, &measures.columns);
    let mut out = String::new();
    for percent in PERCENTS {
        let own = columns
            .iter()
            .filter(|column| column.case.budget == Budget::Percent(percent));
        let own: Vec<&Column> = own.collect();
        let mut rows = vec![vec![format!("at {percent}%"), "left".to_owned()]];
        rows[0].extend(own.iter().map(|column| title(column.case)));
        rows[0].push("goal".to_owned());
        for kind in NeedleKind::ALL {
            let all = own.first().and_then(|column| column.counts.get(&kind));
            if all.is_none_or(|all| all.1 == 0) {
                continue;
            }
            let mut row = vec![
                kind.name().to_owned(),
                all.map_or(0, |all| all.1).to_string(),
            ];
            let cells = own
                .iter()
                .map(|column| column.counts.get(&kind).copied().unwrap_or_default())
                .map(|count| cell(phrasings, kind, count));
            row.extend(cells);
            row.push(goal(phrasings, kind));
            rows.push(row);
        }
        if phrasings == Phrasings::Blind {
            let mut row = vec![
                "rules among what is listed as rules".to_owned(),
                String::new(),
            ];
            row.extend(own.iter().map(|column| {
                let (rules, others) = column.among_rules;
                share(rules, rules + others)
            }));
            row.push("≥ 95%".to_owned());
            rows.push(row);
        }
        let mut row = vec![
            "size of the summary, of what left".to_owned(),
            String::new(),
        ];
        row.extend(own.iter().map(|column| {
            let (removed, budget, summary) = column.tokens;
            let mark = if summary > budget { " !" } else { "" };
            format!(
                "{:.1}%{mark}",
                100.0 * summary as f64 / removed.max(1) as f64
            )
        }));
        row.push(format!("≤ {percent}%"));
        rows.push(row);
        out.push_str(&table(&rows));
        out.push('\n');
    }
    out
}

fn life_table(measures: &Measures) -> String {
    let mark = |bad: bool| match (measures.phrasings, bad) {
        (Phrasings::Known, true) => " !",
        (Phrasings::Known, false) | (Phrasings::Blind, _) => "",
    };
    let mut rows = vec![vec![format!("{ROUNDS} rounds")]];
    let shown = [0, 1, 2, 4, 9, 14, ROUNDS - 1];
    rows[0].extend(shown.map(|round| format!("after {}", round + 1)));
    rows[0].extend([
        "fell".to_owned(),
        "first request".to_owned(),
        "fullest summary".to_owned(),
        "tokens of what should be kept".to_owned(),
    ]);
    for (way, facts, life) in &measures.lives {
        let budget = Budget::Percent(0);
        let mut row = vec![title(Case {
            way: *way,
            facts: *facts,
            budget,
        })];
        row.extend(shown.map(|round| {
            let kinds = life.rounds[round].kinds.iter();
            let (good, all) = kinds.fold((0, 0), |sum, (_, good, all)| (sum.0 + good, sum.1 + all));
            format!("{good}/{all}")
        }));
        let fallen = life.fallen().len();
        row.push(format!("{fallen}{}", mark(fallen > 0)));
        let kept = life
            .rounds
            .iter()
            .filter(|round| round.first_request)
            .count();
        row.push(format!("{kept}/{ROUNDS}{}", mark(kept < ROUNDS)));
        let sizes = life.rounds.iter().map(|round| round.summary);
        let fullest = sizes.max_by_key(|(summary, budget)| summary * 1_000 / (*budget).max(1));
        let (summary, budget) = fullest.unwrap_or_default();
        row.push(format!("{summary} of {budget}{}", mark(summary > budget)));
        row.push(format!("{}, ledger {}", life.needles, life.budget));
        rows.push(row);
    }
    table(&rows)
}

/// Returns rows as a table in Markdown, the first one its heading.
fn table(rows: &[Vec<String>]) -> String {
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| format!("| {} |\n", row.join(" | ")))
        .collect();
    let columns = rows.first().map_or(1, Vec::len);
    lines.insert(1, format!("| :--- |{}\n", " ---: |".repeat(columns - 1)));
    lines.concat()
}

fn misses(columns: &[Column]) -> String {
    let mut out = String::new();
    for column in columns {
        let Budget::Percent(percent) = column.case.budget else {
            continue;
        };
        out.push_str(&format!("\n{} at {percent}%\n", title(column.case)));
        for miss in &column.misses {
            out.push_str(&format!(
                "  {} at {}%: {}\n",
                miss.kind.name(),
                miss.depth,
                miss.said
            ));
            if let Some(line) = &miss.line {
                out.push_str(&format!("    in: {line}\n"));
            }
        }
    }
    out
}
