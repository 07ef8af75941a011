//! Material of the growth rounds: the record stages that are added one a round, their code, rules and documents.

/// One stage: what it is called, which field it looks at, and its first and later limit.
pub struct Stage {
    pub name: String,
    pub type_name: String,
    pub field: &'static str,
    pub why: &'static str,
    pub limit: u32,
    pub later: u32,
    pub unit: &'static str,
    kind: Kind,
    rule: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Limit,
    Mask,
    Dedupe,
}

type Row = (
    &'static str,
    &'static str,
    &'static str,
    u32,
    u32,
    &'static str,
    Kind,
    &'static str,
);

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("tenant_quota", "tenant", "one tenant wrote 4.1 million records in an hour and starved the others", 500, 800, "records/s", Kind::Limit, "Never apply {name} to records of the route audit."),
    ("card_mask", "card", "card numbers turned up in the search index", 4, 6, "digits", Kind::Mask, "The value before masking must never reach a log line or an error message, not in {name} and not in its tests."),
    ("repeat_fold", "msg", "a flapping health check repeats one line 12,000 times a day", 30, 60, "s", Kind::Dedupe, "Always keep the first record of a series in {name}; only repeats may be folded."),
    ("debug_brake", "level", "debug was left on in two services for a weekend", 50, 20, "records/s", Kind::Limit, "Don't brake records whose level is error or above, and keep {name} off by default."),
    ("email_mask", "user", "support asked for addresses to be unreadable outside the EU cluster", 2, 3, "letters", Kind::Mask, "Please keep the domain part readable in {name}, support needs it."),
    ("retry_fold", "trace", "clients that retry send the same trace up to 9 times", 10, 15, "s", Kind::Dedupe, "Use only the monotonic clock in {name}, never the time of the record."),
    ("burst_guard", "host", "a crash loop on one host fills the spool in 14 minutes", 2000, 1500, "records/s", Kind::Limit, "You must not block the tail thread in {name}; count and go on."),
    ("token_mask", "authorization", "a proxy logs bearer tokens when its upstream is down", 6, 8, "characters", Kind::Mask, "Always compare {name} field names without regard to case."),
    ("query_fold", "query", "the slow-query log repeats each statement with other literals", 120, 90, "s", Kind::Dedupe, "Don't keep more than 10,000 keys in memory in {name}."),
    ("path_quota", "path", "one scanner asks for 90,000 different paths a day", 100, 150, "records/s", Kind::Limit, "Keep the counters of {name} in metrics, never only in the journal."),
];

/// The stage of a round; names stay unique when the table starts over.
pub fn stage(round: u32) -> Stage {
    let rows = TABLE.len() as u32;
    let (name, field, why, limit, later, unit, kind, rule) = TABLE[(round % rows) as usize];
    let again = round / rows;
    let suffix = if again == 0 {
        String::new()
    } else {
        format!("_v{}", again + 1)
    };
    let name = format!("{name}{suffix}");
    let type_name = name.split('_').map(capital).collect();
    Stage {
        name,
        type_name,
        field,
        why,
        limit,
        later,
        unit,
        kind,
        rule,
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or(String::new(), |c| {
        c.to_uppercase().collect::<String>() + chars.as_str()
    })
}

impl Stage {
    /// Path of the stage's module.
    pub fn path(&self) -> String {
        format!("src/stage/{}.rs", self.name)
    }

    /// The rule that the user states with the request.
    pub fn user_rule(&self) -> String {
        self.rule.replace("{name}", &self.name)
    }

    /// Full name of the test that goes red in some rounds.
    pub fn edge_test(&self) -> String {
        format!("stage::{}::tests::{}", self.name, self.edge())
    }

    /// What the edge test says when it fails, and the place.
    pub fn edge_failure(&self) -> (String, String) {
        let message = match self.kind {
            Kind::Limit => format!(
                "assertion `left == right` failed\n  left: Keep\n right: Drop (limit {} {})",
                self.limit, self.unit
            ),
            Kind::Mask => "assertion failed: !masked.contains(\"ü\"), index is not a char boundary"
                .to_string(),
            Kind::Dedupe => format!(
                "assertion `left == right` failed: window of {} {} not closed\n  left: 2\n right: 1",
                self.limit, self.unit
            ),
        };
        (
            format!("{}:{}:9", self.path(), 60 + self.name.len()),
            message,
        )
    }

    fn edge(&self) -> &'static str {
        match self.kind {
            Kind::Limit => "the_limit_itself_is_dropped",
            Kind::Mask => "umlauts_are_masked_whole",
            Kind::Dedupe => "the_window_closes_on_time",
        }
    }

    /// Passage with the mistake, and its repair.
    pub fn repair(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Limit => ("if seen.count > LIMIT {", "if seen.count >= LIMIT {"),
            Kind::Mask => (
                "let keep = LIMIT.min(value.len());",
                "let keep = value.char_indices().nth(LIMIT).map_or(value.len(), |(at, _)| at);",
            ),
            Kind::Dedupe => (
                "if now.duration_since(seen.since) > WINDOW {",
                "if now.duration_since(seen.since) >= WINDOW {",
            ),
        }
    }

    /// The line that holds the limit, for a given value.
    pub fn limit_line(&self, value: u32) -> String {
        match self.kind {
            Kind::Limit => format!("const LIMIT: u32 = {value};"),
            Kind::Mask => format!("const LIMIT: usize = {value};"),
            Kind::Dedupe => format!("const WINDOW: Duration = Duration::from_secs({value});"),
        }
    }

    /// The module as first written, mistake included.
    pub fn source(&self) -> String {
        let body = match self.kind {
            Kind::Limit => LIMIT,
            Kind::Mask => MASK,
            Kind::Dedupe => DEDUPE,
        };
        body.trim_start_matches('\n')
            .replace("@LIMIT@", &self.limit_line(self.limit))
            .replace("@TYPE@", &self.type_name)
            .replace("@FIELD@", self.field)
            .replace("@WHY@", self.why)
            .replace("@EDGE@", self.edge())
    }

    /// The document of the stage.
    pub fn document(&self) -> String {
        format!(
            "# Stage `{}`\n\nLooks at the field `{}`. Reason: {}.\n\n| key | value |\n|---|---|\n| limit | {} {} |\n| default | off |\n| counter | `stage_{}` |\n\nRule of the house: {}\n",
            self.name,
            self.field,
            self.why,
            self.limit,
            self.unit,
            self.name,
            self.user_rule()
        )
    }
}

/// The list of stages up to and without `round`.
pub fn registry(round: u32) -> String {
    let names: Vec<String> = (0..round).map(|r| stage(r).name).collect();
    let mods: String = names.iter().map(|n| format!("mod {n};\n")).collect();
    let boxes: String = (0..round)
        .map(stage)
        .map(|s| {
            format!(
                "        \"{}\" => Some(Box::new({}::{}::default())),\n",
                s.name, s.name, s.type_name
            )
        })
        .collect();
    format!(
        "//! Stages that records pass between parser and router. Each is off unless the configuration names it.\n\n{mods}\nuse std::time::Instant;\n\nuse crate::parse::Record;\n\n/// What becomes of a record.\n#[derive(Debug, PartialEq)]\npub(crate) enum Verdict {{\n    Keep,\n    Drop,\n}}\n\npub(crate) trait Stage: Send {{\n    fn see(&mut self, record: &mut Record, now: Instant) -> Verdict;\n}}\n\n/// A stage by its configured name.\npub(crate) fn by_name(name: &str) -> Option<Box<dyn Stage>> {{\n    match name {{\n{boxes}        _ => None,\n    }}\n}}\n"
    )
}

const LIMIT: &str = r#"
//! Bounds the records per second and value of `@FIELD@`: @WHY@.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Stage, Verdict};
use crate::parse::Record;

@LIMIT@

struct Seen {
    since: Instant,
    count: u32,
}

#[derive(Default)]
pub(crate) struct @TYPE@ {
    seen: BTreeMap<String, Seen>,
}

impl Stage for @TYPE@ {
    fn see(&mut self, record: &mut Record, now: Instant) -> Verdict {
        let Some(value) = record.fields.get("@FIELD@") else { return Verdict::Keep };
        let seen = self.seen.entry(value.clone()).or_insert(Seen { since: now, count: 0 });
        if now.duration_since(seen.since) >= Duration::from_secs(1) {
            *seen = Seen { since: now, count: 0 };
        }
        if seen.count > LIMIT {
            return Verdict::Drop;
        }
        seen.count += 1;
        Verdict::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(value: &str) -> Record {
        let mut record = Record::default();
        record.fields.insert("@FIELD@".into(), value.into());
        record
    }

    #[test]
    fn @EDGE@() {
        let (mut stage, now) = (@TYPE@::default(), Instant::now());
        for _ in 0..LIMIT {
            assert_eq!(stage.see(&mut record("a"), now), Verdict::Keep);
        }
        assert_eq!(stage.see(&mut record("a"), now), Verdict::Drop);
        assert_eq!(stage.see(&mut record("b"), now), Verdict::Keep);
    }

    #[test]
    fn a_second_later_it_starts_over() {
        let (mut stage, now) = (@TYPE@::default(), Instant::now());
        for _ in 0..LIMIT + 5 {
            stage.see(&mut record("a"), now);
        }
        assert_eq!(stage.see(&mut record("a"), now + Duration::from_secs(1)), Verdict::Keep);
    }
}
"#;

const MASK: &str = r#"
//! Masks the field `@FIELD@`, all but its first characters: @WHY@.

use std::time::Instant;

use super::{Stage, Verdict};
use crate::parse::Record;

@LIMIT@

#[derive(Default)]
pub(crate) struct @TYPE@ {
    masked: u64,
}

impl Stage for @TYPE@ {
    fn see(&mut self, record: &mut Record, _now: Instant) -> Verdict {
        let Some(value) = record.fields.get_mut("@FIELD@") else { return Verdict::Keep };
        let hidden = mask(value);
        record.raw = record.raw.replace(value.as_str(), &hidden);
        *value = hidden;
        self.masked += 1;
        Verdict::Keep
    }
}

/// The first characters, then one star for each of the rest.
fn mask(value: &str) -> String {
    let keep = LIMIT.min(value.len());
    let stars = value[keep..].chars().count();
    format!("{}{}", &value[..keep], "*".repeat(stars))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_stays() {
        assert_eq!(mask("4111111111111111").len(), 16);
    }

    #[test]
    fn short_values_stay() {
        assert_eq!(mask("a"), "a");
    }

    #[test]
    fn @EDGE@() {
        let masked = mask("müüüüüüüüüüüü");
        assert_eq!(masked.chars().count(), 13);
        assert!(!masked[LIMIT * 2..].contains('ü'));
    }

    #[test]
    fn the_raw_text_is_masked_as_well() {
        let mut record = Record { raw: "@FIELD@=abcdefghijkl".into(), ..Record::default() };
        record.fields.insert("@FIELD@".into(), "abcdefghijkl".into());
        @TYPE@::default().see(&mut record, Instant::now());
        assert!(!record.raw.contains("ijkl"));
    }
}
"#;

const DEDUPE: &str = r#"
//! Folds records with the same `@FIELD@` within a window into one: @WHY@.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Stage, Verdict};
use crate::parse::Record;

@LIMIT@
const KEYS: usize = 10_000;

struct Seen {
    since: Instant,
    repeats: u64,
}

#[derive(Default)]
pub(crate) struct @TYPE@ {
    seen: BTreeMap<String, Seen>,
}

impl Stage for @TYPE@ {
    fn see(&mut self, record: &mut Record, now: Instant) -> Verdict {
        let Some(value) = record.fields.get("@FIELD@").cloned() else { return Verdict::Keep };
        if self.seen.len() >= KEYS {
            self.seen.retain(|_, seen| now.duration_since(seen.since) < WINDOW);
        }
        let Some(seen) = self.seen.get_mut(&value) else {
            self.seen.insert(value, Seen { since: now, repeats: 0 });
            return Verdict::Keep;
        };
        if now.duration_since(seen.since) > WINDOW {
            record.fields.insert("repeats".into(), seen.repeats.to_string());
            *seen = Seen { since: now, repeats: 0 };
            return Verdict::Keep;
        }
        seen.repeats += 1;
        Verdict::Drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(value: &str) -> Record {
        let mut record = Record::default();
        record.fields.insert("@FIELD@".into(), value.into());
        record
    }

    #[test]
    fn repeats_are_folded() {
        let (mut stage, now) = (@TYPE@::default(), Instant::now());
        assert_eq!(stage.see(&mut record("x"), now), Verdict::Keep);
        assert_eq!(stage.see(&mut record("x"), now), Verdict::Drop);
        assert_eq!(stage.see(&mut record("y"), now), Verdict::Keep);
    }

    #[test]
    fn @EDGE@() {
        let (mut stage, now) = (@TYPE@::default(), Instant::now());
        stage.see(&mut record("x"), now);
        stage.see(&mut record("x"), now);
        let mut next = record("x");
        assert_eq!(stage.see(&mut next, now + WINDOW), Verdict::Keep);
        assert_eq!(next.fields["repeats"], "1");
    }
}
"#;
