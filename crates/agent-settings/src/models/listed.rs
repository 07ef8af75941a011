//! The models that providers list themselves: asked for once, kept in the user's cache folder.

use std::path::{Path, PathBuf};

use llm_catalog::{Catalog, check_key_transport};
use llm_providers::{CancellationToken, HttpProvider, ModelInfo, ProviderInfo};

use super::{ModelsError, http_client, key};
use crate::AppSettings;

/// Asks `provider` for its models and keeps the answer; returns how many there are.
///
/// # Errors
/// [`ModelsError`] without a key, of the request, or of writing the file. Nothing is changed then.
pub async fn refresh(
    provider: &ProviderInfo,
    settings: &AppSettings,
    cancel: CancellationToken,
) -> Result<usize, ModelsError> {
    let folder = folder().ok_or_else(|| {
        let text = "there is no folder for the answer: set XDG_CACHE_HOME or HOME";
        ModelsError::Invalid(text.to_owned())
    })?;
    let key = key(provider)?;
    if key.is_some() || !provider.headers.is_empty() {
        check_key_transport(provider)?;
    }
    let http = http_client(settings, None)?;
    let model = ModelInfo::unlisted(&provider.name, "models");
    let asked = HttpProvider::new(http, provider.clone(), model, key);
    let mut listed = asked.listed_models(cancel).await?;
    let today = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    for model in &mut listed {
        model.date.clone_from(&today);
    }
    let path = folder.join(file_name(&provider.name));
    let text = serde_json::to_string(&listed)
        .map_err(|error| ModelsError::io("write", &path, std::io::Error::other(error)))?;
    std::fs::create_dir_all(&folder).map_err(|error| ModelsError::io("create", &folder, error))?;
    let written = tempfile::NamedTempFile::new_in(&folder).and_then(|file| {
        std::fs::write(file.path(), text)?;
        Ok(file.persist(&path)?)
    });
    written.map_err(|error| ModelsError::io("write", &path, error))?;
    Ok(listed.len())
}

/// Returns the catalog in use: the built-in one, with the model lists of providers, changed by the settings. `note` is
/// called for a stored list that cannot be used; it is left out.
///
/// # Errors
/// [`ModelsError::Invalid`] with the setting that cannot be used.
pub fn usable_catalog(
    settings: &AppSettings,
    note: &mut dyn FnMut(&str),
) -> Result<Catalog, ModelsError> {
    let changed = |catalog| {
        let changed = settings.changed(catalog);
        changed.map_err(|error| ModelsError::Invalid(format!("settings: {error}")))
    };
    let catalog = changed(Catalog::embedded())?;
    let answers = answers(&catalog, note);
    match answers.is_empty() {
        true => Ok(catalog),
        false => changed(Catalog::embedded().with_listed(answers)),
    }
}

/// Returns what the providers of a catalog have answered.
fn answers(catalog: &Catalog, note: &mut dyn FnMut(&str)) -> Vec<ModelInfo> {
    let Some(folder) = folder().filter(|folder| folder.is_dir()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for provider in catalog.providers() {
        let answers = read(&folder.join(file_name(&provider.name)), note);
        let own = |model: &ModelInfo| model.provider == provider.name;
        found.extend(answers.into_iter().filter(own));
    }
    found
}

fn read(path: &Path, note: &mut dyn FnMut(&str)) -> Vec<ModelInfo> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Vec::new();
    };
    serde_json::from_str(&text).unwrap_or_else(|error| {
        note(&format!("{} cannot be used ({error})", path.display()));
        Vec::new()
    })
}

/// Returns the provider that is asked: the one that is named, else that of the model in the settings.
///
/// # Errors
/// [`ModelsError::NoProvider`] where neither is there.
pub fn asked_provider(
    named: Option<&str>,
    catalog: &Catalog,
    settings: &AppSettings,
) -> Result<ProviderInfo, ModelsError> {
    let model = settings.model.as_deref();
    let name = named.or(model.and_then(|model| model.split('/').next()));
    let provider = name.and_then(|name| catalog.provider(name)).cloned();
    provider.ok_or(ModelsError::NoProvider)
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
