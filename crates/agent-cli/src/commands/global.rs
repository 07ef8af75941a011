//! What the options of every command mean.

use compaction_core::{Profile, Settings};

use crate::args::{Global, ProfileArg};
use crate::error::Error;
use crate::settings::{AppSettings, Loaded, Sources, load_layers};

impl Global {
    pub(crate) fn profile(&self) -> Profile {
        match self.profile {
            ProfileArg::Own => Profile::Own,
            ProfileArg::Pi => Profile::Pi,
        }
    }

    /// Returns the settings of the algorithms.
    pub(crate) fn load_settings(&self) -> Result<Settings, Error> {
        Ok(self.load_app_settings()?.core())
    }

    /// Returns all settings.
    pub(crate) fn load_app_settings(&self) -> Result<AppSettings, Error> {
        Ok(self.load_layers()?.settings)
    }

    /// Returns where settings come from in this process.
    pub(crate) fn settings_sources(&self) -> Result<Sources, Error> {
        Sources::of_process(self.settings.as_deref(), &self.set)
    }

    /// Returns all settings, and where each value comes from.
    pub(crate) fn load_layers(&self) -> Result<Loaded, Error> {
        load_layers(&self.settings_sources()?)
    }

    /// Returns all settings of a session in the folder `cwd`, with those of a script (and what messages call it)
    /// between the project's and the file of `--settings`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a setting that cannot be used.
    pub fn load_app_settings_with(
        &self,
        extra: Option<(String, serde_json::Value)>,
        cwd: &std::path::Path,
    ) -> Result<AppSettings, Error> {
        let sources = Sources {
            extra,
            cwd: Some(cwd.to_owned()),
            ..self.settings_sources()?
        };
        Ok(load_layers(&sources)?.settings)
    }
}
