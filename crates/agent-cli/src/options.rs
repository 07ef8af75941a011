//! Options that several commands share.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::{Args, ValueEnum};
use compaction_core::{Profile, Settings, TokenCount};
use session_import::{automatic_compaction, stated_window};
use session_model::{Leaf, ModelRef, SessionTree};

use crate::error::Error;
use crate::models::DEFAULT_WINDOW;
use crate::output_filter::{OutputFilter, Secrets};
use crate::ui::bar::Window;
use agent_settings::{AppSettings, Loaded, Sources, load_layers};

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print one JSON document instead of text for people.
    #[arg(long, global = true)]
    pub json: bool,
    /// Set one setting, for example compaction.keepRecentTokens=8000; may be repeated.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Read one more settings file, on top of the global and the project's; --set goes on top of all.
    #[arg(long, global = true, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Whose rules to follow.
    #[arg(long, global = true, value_enum, default_value_t)]
    pub profile: ProfileArg,
    /// Print keys and private text too. Unless given, the values of variables that hold keys, and what has the form of a key,
    /// are hidden in everything that is printed and exported.
    #[arg(long, global = true)]
    pub show_secrets: bool,
    /// What is printed passes it.
    #[arg(skip)]
    filter: OnceLock<Arc<OutputFilter>>,
    /// The settings, once they are loaded.
    #[arg(skip)]
    loaded: OnceLock<Loaded>,
}

/// Whose rules to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProfileArg {
    /// The project's own rules.
    #[default]
    Own,
    /// pi 1.6.0 to the letter, for comparison.
    Pi,
}

/// The session, and where on its tree to stand.
#[derive(Debug, Clone, Args)]
pub struct SessionArgs {
    /// A file, an id or its beginning, newest, AGENT:newest, or - for standard input.
    pub session: PathBuf,
    /// Use this entry as the current position instead of the last one; `root` is before everything.
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
}

/// The window of the model.
#[derive(Debug, Clone, Args)]
pub struct WindowArgs {
    /// The model's context window in tokens, also the summarizer's; unless given, the largest of the named models', else
    /// that of the session's model, or 200000 if it is not known.
    #[arg(long, value_name = "TOKENS", value_parser = tokens_at_least_one, allow_negative_numbers = true)]
    pub window: Option<NonZeroU64>,
}

/// Returns the number of tokens that an option names.
pub(crate) fn tokens_at_least_one(text: &str) -> Result<NonZeroU64, String> {
    text.parse()
        .map_err(|_| "must be a number of tokens, at least 1".to_owned())
}

/// Where to write.
#[derive(Debug, Clone, Args)]
pub struct OutputArgs {
    /// Write the result to a new file.
    #[arg(long, value_name = "FILE", group = "output")]
    pub out: Option<PathBuf>,
    /// Append to the session itself.
    #[arg(long, group = "output")]
    pub in_place: bool,
    /// Show what would be done; write nothing.
    #[arg(long, group = "output")]
    pub dry_run: bool,
}

impl Global {
    /// Returns what everything passes that leaves the program.
    pub(crate) fn output_filter(&self) -> &Arc<OutputFilter> {
        let secrets = match self.show_secrets {
            true => Secrets::Shown,
            false => Secrets::Hidden,
        };
        let make = || Arc::new(OutputFilter::of(self.app_settings().ok(), secrets));
        self.filter.get_or_init(make)
    }

    pub(crate) fn profile(&self) -> Profile {
        match self.profile {
            ProfileArg::Own => Profile::Own,
            ProfileArg::Pi => Profile::Pi,
        }
    }

    /// Returns the settings of the algorithms.
    pub(crate) fn load_settings(&self) -> Result<Settings, Error> {
        Ok(self.app_settings()?.core())
    }

    /// Returns all settings.
    pub(crate) fn app_settings(&self) -> Result<&AppSettings, Error> {
        Ok(&self.load_layers()?.settings)
    }

    /// Returns where settings come from in this process.
    pub(crate) fn settings_sources(&self) -> Result<Sources, Error> {
        Ok(Sources {
            is_cancelled: Some(crate::cancel::is_cancelled),
            ..Sources::of_process(self.settings.as_deref(), &self.set)?
        })
    }

    /// Returns all settings, and where each value comes from. They are read once per process.
    pub(crate) fn load_layers(&self) -> Result<&Loaded, Error> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let loaded = load_layers(&self.settings_sources()?)?;
        Ok(self.loaded.get_or_init(|| loaded))
    }

    /// Returns the window that was given; else the one that the session states; else that of the session's model, where
    /// the catalog has it and the session's agent did not compact at less than half of it; else the one that is assumed.
    pub(crate) fn window(
        &self,
        given: Option<TokenCount>,
        model: Option<&ModelRef>,
        tree: &SessionTree,
    ) -> Result<Window, Error> {
        let known = |tokens| Window {
            tokens,
            is_assumed: false,
        };
        if let Some(window) = given.or(stated_window(tree).map(TokenCount)) {
            return Ok(known(window));
        }
        let catalog = crate::models::usable_catalog(self.app_settings()?)?;
        let of_model = model.and_then(|model| {
            let name = format!("{}/{}", model.provider, model.model_id);
            match catalog.model(&name) {
                Some(listed) => listed.capabilities.window,
                // The name by which Claude Code and its gateways offer the long window.
                None => model.model_id.ends_with("[1m]").then_some(1_000_000),
            }
        });
        let window = of_model.map_or(DEFAULT_WINDOW, TokenCount);
        let used = automatic_compaction(tree).map(TokenCount);
        let used = used.filter(|used| used.0 < window.0 / 2);
        Ok(Window {
            tokens: used.unwrap_or(window),
            is_assumed: of_model.is_none() && used.is_none(),
        })
    }

    /// Returns all settings of a session in the folder `cwd`, with those of a script (and what messages call it)
    /// between the project's and the file of `--settings`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a setting that cannot be used.
    pub fn load_app_settings_with(
        &self,
        extra: Option<(String, serde_json::Value)>,
        cwd: &Path,
    ) -> Result<AppSettings, Error> {
        let sources = Sources {
            extra,
            cwd: Some(cwd.to_owned()),
            ..self.settings_sources()?
        };
        Ok(load_layers(&sources)?.settings)
    }
}

impl WindowArgs {
    /// Returns the window that was given.
    pub(crate) fn given(&self) -> Option<TokenCount> {
        self.window.map(|window| TokenCount(window.get()))
    }
}

impl SessionArgs {
    pub(crate) fn leaf(&self, tree: &SessionTree) -> Result<Leaf, Error> {
        named_leaf(tree, self.leaf.as_deref())
    }
}

/// Returns the leaf that the user named, or the last entry when none was named.
pub(crate) fn named_leaf(tree: &SessionTree, name: Option<&str>) -> Result<Leaf, Error> {
    match name {
        None => Ok(tree.leaf()),
        Some("root") if tree.find("root").is_none() => Ok(Leaf::Root),
        Some(id) => match tree.find_by_beginning(id) {
            Ok(index) => Ok(Leaf::At(index)),
            Err(error) => Err(Error::Usage(format!(
                "{error}; agent-cli tree lists the ids"
            ))),
        },
    }
}
