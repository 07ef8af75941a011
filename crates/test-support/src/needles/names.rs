//! Invented names to fill phrases with; each is given out once, so that a needle is found by its names.

use std::collections::BTreeSet;

use super::rng::Rng;

const NOUNS: &[&str] = &[
    "ledger",
    "invoice",
    "tenant",
    "session",
    "cursor",
    "webhook",
    "mailer",
    "avatar",
    "shipment",
    "voucher",
    "catalog",
    "digest",
    "outbox",
    "gateway",
    "snapshot",
    "refund",
    "badge",
    "roster",
    "payout",
    "quota",
    "thumbnail",
    "geofence",
    "transcript",
    "coupon",
    "dunning",
    "replica",
];
const PARTS: &[&str] = &[
    "store", "router", "codec", "panel", "loader", "writer", "index", "policy", "mapper", "guard",
    "feed", "planner", "client", "schema", "view", "worker",
];
const DIRS: &[&str] = &[
    "services/billing",
    "apps/web/src",
    "internal/sync",
    "lib/core",
    "packages/api",
    "server/jobs",
    "tools/migrate",
    "src/engine",
    "android/app",
    "infra/deploy",
];
const ENDINGS: &[&str] = &["rs", "ts", "py", "go", "kt", "tsx", "sql", "rb"];

/// What a value is counted in.
#[derive(Debug, Clone, Copy)]
pub enum Unit {
    Time,
    Size,
    Share,
    Rate,
    Count,
}

const QUANTITIES: &[(&str, Unit)] = &[
    ("upload limit", Unit::Size),
    ("idle timeout", Unit::Time),
    ("batch size", Unit::Count),
    ("heap ceiling", Unit::Size),
    ("cold start", Unit::Time),
    ("page size", Unit::Count),
    ("export time", Unit::Time),
    ("cache footprint", Unit::Size),
    ("retry window", Unit::Time),
    ("import rate", Unit::Rate),
    ("p95 latency", Unit::Time),
    ("error share", Unit::Share),
    ("hit ratio", Unit::Share),
];

/// Gives names out.
pub struct Names {
    pub rng: Rng,
    used: BTreeSet<String>,
    taken: BTreeSet<(&'static str, usize)>,
}

impl Names {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            used: BTreeSet::new(),
            taken: BTreeSet::new(),
        }
    }

    /// Returns a place of a list that was not given out yet under this name; from the start again when all were.
    pub fn place(&mut self, list: &'static str, length: usize) -> usize {
        let free: Vec<usize> = (0..length)
            .filter(|place| !self.taken.contains(&(list, *place)))
            .collect();
        if free.is_empty() {
            self.taken.retain(|(name, _)| *name != list);
            return self.place(list, length);
        }
        let place = free[self.rng.below(free.len())];
        self.taken.insert((list, place));
        place
    }

    fn fresh(&mut self, mut make: impl FnMut(&mut Rng) -> String) -> String {
        loop {
            let name = make(&mut self.rng);
            // A name that is a part of another one would be found in its place.
            let clash = |used: &String| used.contains(&name) || name.contains(used.as_str());
            if !self.used.iter().any(clash) {
                self.used.insert(name.clone());
                return name;
            }
        }
    }

    /// Returns a word such as `outbox_codec`.
    pub fn word(&mut self) -> String {
        self.fresh(|rng| {
            format!(
                "{}_{}{}",
                rng.pick(NOUNS),
                rng.pick(PARTS),
                rng.range(2, 99)
            )
        })
    }

    /// Returns a path of a file.
    pub fn file(&mut self) -> String {
        self.fresh(|rng| {
            let (folder, noun, part) = (rng.pick(DIRS), rng.pick(NOUNS), rng.pick(PARTS));
            format!("{folder}/{noun}_{part}.{}", rng.pick(ENDINGS))
        })
    }

    /// Returns a folder.
    pub fn folder(&mut self) -> String {
        self.fresh(|rng| format!("{}/{}-{}", rng.pick(DIRS), rng.pick(NOUNS), rng.pick(PARTS)))
    }

    /// Returns a table of a database.
    pub fn table(&mut self) -> String {
        self.fresh(|rng| format!("{}_{}s", rng.pick(NOUNS), rng.pick(PARTS)))
    }

    /// Returns a host.
    pub fn host(&mut self) -> String {
        self.fresh(|rng| format!("{}-{:02}.prod.internal", rng.pick(NOUNS), rng.range(1, 40)))
    }

    /// Returns a branch.
    pub fn branch(&mut self) -> String {
        self.fresh(|rng| format!("release/{}-{}", rng.pick(NOUNS), rng.range(11, 97)))
    }

    /// Returns a ticket.
    pub fn ticket(&mut self) -> String {
        self.fresh(|rng| {
            let area = rng.pick(&["OPS", "PAY", "WEB", "CORE", "SYNC"]);
            format!("{area}-{}", rng.range(1_000, 9_899))
        })
    }

    /// Returns what a value is of, and the unit that goes with it.
    pub fn quantity(&mut self) -> (String, Unit) {
        let (head, unit) = QUANTITIES[self.place("quantity", QUANTITIES.len())];
        let name = self.fresh(|rng| {
            let (noun, part) = (rng.pick(NOUNS), rng.pick(PARTS));
            format!("{noun} {part} {head}")
        });
        (name, unit)
    }

    /// Returns a value with its unit.
    pub fn value(&mut self, unit: Unit) -> String {
        self.fresh(|rng| {
            let whole = rng.range(101, 989);
            match unit {
                Unit::Time if whole % 2 == 0 => format!("{whole} ms"),
                Unit::Time => format!("{}.{} s", whole / 10, whole % 10),
                Unit::Size if whole % 3 == 0 => format!("{}.{} GB", whole / 12, whole % 10),
                Unit::Size if whole % 3 == 1 => format!("{whole} KiB"),
                Unit::Size => format!("{whole} MiB"),
                Unit::Share => format!("{}.{}%", whole / 11, whole % 10),
                Unit::Rate => format!("{whole} req/s"),
                Unit::Count => format!("{}{whole} rows", rng.range(1, 9)),
            }
        })
    }

    /// Returns something to do.
    pub fn task(&mut self) -> String {
        const TASKS: &[&str] = &[
            "backfill {t} from the old dump",
            "write a rollback for {t}",
            "move the feature flag for {w} into config",
            "drop the shim around {w}",
            "add an alert for {w} going stale",
            "split {f} in two",
            "regenerate the client stubs for {w}",
            "document the retry contract of {w}",
            "port the snapshot tests of {w}",
            "delete the dead endpoint in {f}",
            "measure {w} again on the big tenant",
            "rotate the signing key that {w} uses",
            "cover the leap-year case in {f}",
            "rename the metric that {w} emits",
            "wire {w} into the health check",
            "translate the error texts in {f}",
        ];
        let task = TASKS[self.place("task", TASKS.len())];
        self.fill(task)
    }

    /// Returns a phrase with its names filled in: {f} file, {d} folder, {t} table, {h} host, {b} branch, {k} ticket,
    /// {w} word.
    pub fn fill(&mut self, phrase: &str) -> String {
        let mut text = phrase.to_owned();
        type Draw = fn(&mut Names) -> String;
        let slots: [(&str, Draw); 7] = [
            ("{f}", Self::file),
            ("{d}", Self::folder),
            ("{t}", Self::table),
            ("{h}", Self::host),
            ("{b}", Self::branch),
            ("{k}", Self::ticket),
            ("{w}", Self::word),
        ];
        for (slot, draw) in slots {
            if text.contains(slot) {
                let name = draw(self);
                text = text.replace(slot, &name);
            }
        }
        text
    }
}
