//! The models that providers list themselves: asked for once, kept in the user's cache folder.

use std::path::{Path, PathBuf};

use llm_providers::HttpProvider;
use llm_providers::catalog::{Catalog, ModelInfo, ProviderInfo};

use super::{block_on, http, key, usage};
use crate::error::Error;
use crate::ui;
use agent_settings::AppSettings;

/// Asks `provider` for its models and keeps the answer; returns how many there are. Ctrl-C ends it.
///
/// # Errors
/// [`Error::Usage`] without a key, the error of the request, or one of writing the file.
pub fn refresh(provider: &ProviderInfo, settings: &AppSettings) -> Result<usize, Error> {
    let folder = folder().ok_or_else(|| {
        let text = "there is no folder for the answer: set XDG_CACHE_HOME or HOME";
        Error::Usage(text.to_owned())
    })?;
    let key = key(provider)?;
    if key.is_some() || !provider.headers.is_empty() {
        let secure = provider.check_key_transport();
        secure.map_err(|error| usage(&error))?;
    }
    let http = http::http_client(settings, None)?;
    let model = ModelInfo::unlisted(&provider.name, "models");
    let asked = HttpProvider::new(http, provider.clone(), model, key);
    let listed = block_on(asked.listed_models(crate::cancel::token()))?;
    crate::cancel::check()?;
    let mut listed = listed.map_err(|error| Error::Provider {
        kind: error.kind.name(),
        message: format!("{error}; nothing was changed"),
        report: None,
    })?;
    let today = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    for model in &mut listed {
        model.date.clone_from(&today);
    }
    let path = folder.join(file_name(&provider.name));
    let text = serde_json::to_string(&listed)
        .map_err(|error| Error::io("write", &path, std::io::Error::other(error)))?;
    std::fs::create_dir_all(&folder).map_err(|error| Error::io("create", &folder, error))?;
    let written = tempfile::NamedTempFile::new_in(&folder).and_then(|file| {
        std::fs::write(file.path(), text)?;
        Ok(file.persist(&path)?)
    });
    written.map_err(|error| Error::io("write", &path, error))?;
    Ok(listed.len())
}

/// Returns the catalog that commands use: the program's, with what providers have answered, as the settings change it.
///
/// # Errors
/// [`Error::Usage`] with the setting that cannot be used.
pub(crate) fn usable_catalog(settings: &AppSettings) -> Result<Catalog, Error> {
    let changed = |catalog| {
        let changed = settings.changed(catalog);
        changed.map_err(|error| Error::Usage(format!("settings: {error}")))
    };
    let catalog = changed(Catalog::embedded())?;
    let answers = answers(&catalog);
    match answers.is_empty() {
        true => Ok(catalog),
        false => changed(Catalog::embedded().with_listed(answers)),
    }
}

/// Returns what the providers of a catalog have answered. A file that cannot be used is left out, and a notice is printed.
fn answers(catalog: &Catalog) -> Vec<ModelInfo> {
    let Some(folder) = folder().filter(|folder| folder.is_dir()) else {
        return Vec::new();
    };
    let answers = catalog.providers().flat_map(|provider| {
        let own = |model: &ModelInfo| model.provider == provider.name;
        let answers = read(&folder.join(file_name(&provider.name)));
        answers.into_iter().filter(own).collect::<Vec<_>>()
    });
    answers.collect()
}

fn read(path: &Path) -> Vec<ModelInfo> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Vec::new();
    };
    serde_json::from_str(&text).unwrap_or_else(|error| {
        ui::note(&format!(
            "{} cannot be used ({error}); write it again with agent-cli models --refresh",
            path.display()
        ));
        Vec::new()
    })
}

/// Returns the provider that is asked: the one that is named, else that of the model in the settings.
///
/// # Errors
/// [`Error::Usage`] where neither is there.
pub fn asked_provider(
    named: Option<&str>,
    catalog: &Catalog,
    settings: &AppSettings,
) -> Result<ProviderInfo, Error> {
    let model = settings.model.as_deref();
    let name = named.or(model.and_then(|model| model.split('/').next()));
    let provider = name.and_then(|name| catalog.provider(name)).cloned();
    provider.ok_or_else(|| {
        let text = "no provider to ask: name one with --provider NAME, or set \"model\" in the settings to PROVIDER/MODEL";
        Error::Usage(text.to_owned())
    })
}

fn file_name(provider: &str) -> String {
    format!("{provider}.json")
}

/// Returns the folder of the answers.
fn folder() -> Option<PathBuf> {
    let folder = |variable| std::env::var_os(variable).map(PathBuf::from);
    // The specification of that variable says that relative paths are to be ignored.
    let cache = folder("XDG_CACHE_HOME").filter(|folder| folder.is_absolute());
    let cache = cache.or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("agent-cli").join("models"))
}
