//! Which strategies a command on a session file tries, in which order, and why those before the last brought nothing:
//! the rule of a running session.

use compaction_core::{Profile, Strategies, Strategy};
use serde::Serialize;
use serde_json::{Value, json};

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
#[derive(Debug, Serialize)]
pub(super) struct Passed {
    strategy: &'static str,
    /// Whether it failed; else there was nothing to do by it.
    failed: bool,
    reason: String,
    /// What models were asked for it.
    model: Option<Value>,
}

impl Passed {
    pub(super) fn nothing(strategy: Strategy, reason: &str, report: &ModelReport) -> Self {
        Self {
            strategy: strategy.name(),
            failed: false,
            reason: reason.to_owned(),
            model: report.of_models().map(|report| json!(report)),
        }
    }

    pub(super) fn failed(strategy: Strategy, error: &Error) -> Self {
        let reason = error.to_string();
        // The next one may change something.
        let reason = reason.trim_end_matches("; nothing was changed");
        let nothing = ModelReport::default();
        let passed = Self::nothing(strategy, reason, error.report().unwrap_or(&nothing));
        Self {
            failed: true,
            ..passed
        }
    }
}

impl Order {
    /// Returns the strategies that the arguments name, else those of the settings.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that is none, and where none of them can be tried in a session file.
    pub(super) fn of(args: &PlanArgs, global: &Global) -> Result<Self, Error> {
        let profile = global.profile();
        let order = match &args.strategy {
            Some(names) => {
                let mut order = Self::default();
                for name in names.split(',') {
                    order.add(named(name.trim(), profile)?);
                }
                order
            }
            None => Self::configured(&global.load_settings()?.compaction.strategy, profile)?,
        };
        if args.workspace.is_some() && !order.strategies.contains(&Strategy::Restore) {
            let text = "--workspace is where the strategy restore reads files; leave it out";
            return Err(Error::Usage(text.to_owned()));
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
                    let (reason, nothing) = (error.to_string(), ModelReport::default());
                    order
                        .passed
                        .push(Passed::nothing(strategy, &reason, &nothing));
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            Some(error) if order.strategies.is_empty() => Err(error),
            _ => Ok(order),
        }
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
        for strategy in &self.strategies {
            crate::cancel::check()?;
            let (tried, passed) = attempt(*strategy)?;
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

    pub(super) fn notes(&self) -> Vec<String> {
        let note = |passed: &Passed| {
            let how = if passed.failed {
                "failed"
            } else {
                "was passed over"
            };
            format!("{} {how}: {}", passed.strategy, passed.reason)
        };
        self.passed.iter().map(note).collect()
    }

    /// Returns whether a model is wanted by any of them.
    pub(super) fn wanted(&self) -> Wanted {
        let mut wanted = self.strategies.iter().copied().map(Wanted::by);
        let first = wanted.clone().next().unwrap_or(Wanted::Yes);
        let yes = wanted.find(|wanted| matches!(wanted, Wanted::Yes));
        yes.unwrap_or(first)
    }
}

/// Returns the strategy of this name, if it can be tried in a session file.
fn named(name: &str, profile: Profile) -> Result<Strategy, Error> {
    let mut all = Strategy::ALL.into_iter();
    if let Some(strategy) = all.find(|strategy| strategy.name() == name) {
        return in_a_file(strategy, profile);
    }
    let usable = Strategy::ALL.into_iter();
    let usable = usable.filter(|strategy| in_a_file(*strategy, Profile::Own).is_ok());
    let names = usable.map(Strategy::name).collect::<Vec<_>>().join(", ");
    Err(Error::Usage(match name {
        "" => format!("the name of the strategy is empty; there are {names}"),
        name => format!("no strategy {name}; there are {names}"),
    }))
}

/// Returns the strategy, if it can be planned in a session as it is.
fn in_a_file(strategy: Strategy, profile: Profile) -> Result<Strategy, Error> {
    let why = match strategy {
        Strategy::Restore if profile == Profile::Pi => {
            "pi has no strategy restore; leave out --profile pi"
        }
        Strategy::ContextFull | Strategy::Restore | Strategy::Extractive | Strategy::PruneOnly => {
            return Ok(strategy);
        }
        Strategy::Handoff => {
            "a handoff begins a new session: use agent-cli handoff SESSION --out NEW.jsonl"
        }
        Strategy::Off => {
            "compaction.strategy is off; name another with --strategy or --set compaction.strategy=context-full"
        }
    };
    Err(Error::Usage(why.to_owned()))
}
