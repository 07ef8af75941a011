//! Which strategies a command on a session file tries, in which order, and why those before the last brought nothing:
//! the rule of a running session.

use compaction_core::{Profile, Strategies, Strategy};
use serde::Serialize;
use serde_json::json;

use crate::commands::plan::PlanArgs;
use crate::error::Error;
use crate::models::Wanted;
use crate::options::Global;
use summarize::{ModelReport, SkippedStrategy};

/// The strategies that are tried, in order.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Those that can be tried in a session file.
    pub strategies: Vec<Strategy>,
    /// Those of the settings that cannot, and later those that brought nothing.
    pub passed: Vec<Passed>,
}

/// A strategy that brought nothing, so that the next one was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Passed {
    /// The strategy.
    pub strategy: &'static str,
    /// Whether it failed; else there was nothing to do by it.
    pub failed: bool,
    /// Why.
    pub reason: String,
    /// What models were asked for it.
    pub model: Option<serde_json::Value>,
}

impl Passed {
    /// Returns one by which there was nothing to do.
    pub(super) fn nothing(strategy: Strategy, reason: &str, report: &ModelReport) -> Self {
        Self {
            strategy: strategy.name(),
            failed: false,
            reason: reason.to_owned(),
            model: report.of_models().map(|report| json!(report)),
        }
    }

    /// Returns one that failed.
    pub(super) fn failed(strategy: Strategy, error: &Error) -> Self {
        let report = error.report().and_then(ModelReport::of_models);
        let reason = error.to_string();
        // The next one may change something.
        let reason = reason.trim_end_matches("; nothing was changed").to_owned();
        Self {
            strategy: strategy.name(),
            failed: true,
            reason,
            model: report.map(|report| json!(report)),
        }
    }
}

impl Order {
    /// Returns the strategies that the arguments name, else those of the settings.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that is none, and where none of them can be tried in a session file.
    pub(super) fn of(args: &PlanArgs, global: &Global) -> Result<Self, Error> {
        let order = match &args.strategy {
            Some(names) => Self::named(names, global.profile())?,
            None => {
                let settings = global.load_settings()?;
                Self::configured(&settings.compaction.strategy, global.profile())?
            }
        };
        if args.workspace.is_some() && !order.strategies.contains(&Strategy::Restore) {
            return Err(Error::Usage(
                "--workspace is where --strategy restore reads files; leave it out".to_owned(),
            ));
        }
        Ok(order)
    }

    /// Returns the strategies of the settings; what cannot be tried in a session file is passed over.
    pub(super) fn configured(strategies: &Strategies, profile: Profile) -> Result<Self, Error> {
        let mut order = Self::default();
        let mut first = None;
        for strategy in strategies.iter() {
            match in_a_file(strategy, profile) {
                Ok(strategy) => order.add(strategy),
                Err(error) => {
                    order.passed.push(Passed {
                        failed: false,
                        ..Passed::failed(strategy, &error)
                    });
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if order.strategies.is_empty() => Err(error),
            _ => Ok(order),
        }
    }

    /// Returns the strategies of a comma-separated list.
    fn named(names: &str, profile: Profile) -> Result<Self, Error> {
        let mut order = Self::default();
        for name in names.split(',') {
            order.add(named(name.trim(), profile)?);
        }
        Ok(order)
    }

    fn add(&mut self, strategy: Strategy) {
        if !self.strategies.contains(&strategy) {
            self.strategies.push(strategy);
        }
    }

    /// Returns what comes of the first strategy that is not passed over; else of the first of all.
    ///
    /// # Errors
    /// What an attempt fails with for good; where there is no strategy at all.
    pub(super) fn first<T>(
        &mut self,
        mut attempt: impl FnMut(Strategy) -> Result<(T, Option<Passed>), Error>,
    ) -> Result<T, Error> {
        let mut first = None;
        for strategy in self.strategies.clone() {
            crate::cancel::check()?;
            let (tried, passed) = attempt(strategy)?;
            let Some(passed) = passed else {
                return Ok(tried);
            };
            self.passed.push(passed);
            first.get_or_insert(tried);
        }
        first.ok_or_else(|| Error::Usage("no strategy is set; see compaction.strategy".to_owned()))
    }

    /// Returns what the entry keeps of those that brought nothing.
    pub(super) fn passed_over(&self) -> Vec<SkippedStrategy> {
        let passed = self.passed.iter();
        let kept =
            |passed: &Passed| SkippedStrategy::new(passed.strategy, passed.failed, &passed.reason);
        passed.map(kept).collect()
    }

    /// Returns whether a model is wanted by any of them.
    pub(super) fn wanted(&self) -> Wanted {
        let mut wanted = self.strategies.iter().copied().map(Wanted::by);
        let first = wanted.next().unwrap_or(Wanted::Yes);
        wanted.fold(first, |all, one| match (all, one) {
            (Wanted::No(_), Wanted::Yes) => Wanted::Yes,
            (all, _) => all,
        })
    }
}

/// Returns what people are told of strategies that brought nothing.
pub(super) fn notes(passed: &[Passed]) -> Vec<String> {
    let passed = passed.iter();
    let notes = passed.map(|passed| {
        let how = match passed.failed {
            true => "failed",
            false => "was passed over",
        };
        format!("{} {how}: {}", passed.strategy, passed.reason)
    });
    notes.collect()
}

/// Returns the strategy of this name, if it can be tried in a session file.
pub(super) fn named(name: &str, profile: Profile) -> Result<Strategy, Error> {
    let strategy = Strategy::ALL
        .into_iter()
        .find(|strategy| strategy.name() == name)
        .ok_or_else(|| unknown(name))?;
    in_a_file(strategy, profile)
}

fn unknown(name: &str) -> Error {
    let usable = Strategy::ALL
        .into_iter()
        .filter(|strategy| in_a_file(*strategy, Profile::Own).is_ok());
    let names: Vec<_> = usable.map(Strategy::name).collect();
    let names = names.join(", ");
    Error::Usage(match name {
        "" => format!("the name of the strategy is empty; there are {names}"),
        name => format!("no strategy {name}; there are {names}"),
    })
}

/// Returns the strategy, if it can be planned in a session as it is.
fn in_a_file(strategy: Strategy, profile: Profile) -> Result<Strategy, Error> {
    match strategy {
        Strategy::Restore if profile == Profile::Pi => Err(Error::Usage(
            "pi has no strategy restore; leave out --profile pi".to_owned(),
        )),
        Strategy::ContextFull
        | Strategy::Restore
        | Strategy::Extractive
        | Strategy::PruneOnly => Ok(strategy),
        Strategy::Handoff => Err(Error::Usage(
            "a handoff begins a new session: use agent-cli handoff SESSION --out NEW.jsonl"
                .to_owned(),
        )),
        Strategy::Off => Err(Error::Usage(
            "compaction.strategy is off; name another with --strategy or --set compaction.strategy=context-full"
                .to_owned(),
        )),
    }
}
