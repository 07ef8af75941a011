//! Errors in the settings of providers, and in the choice of a model.

/// An error in the settings of providers, or in the choice of a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// A setting cannot be used.
    #[error("{key}: {reason}")]
    Setting {
        /// The setting, for example `providers.local.baseUrl`.
        key: String,
        /// Its value, and what is allowed.
        reason: String,
    },
    /// A field of the selection cannot be used.
    #[error("the {} {reason}", .field.name())]
    Selection {
        /// The field.
        field: SelectionField,
        /// Its value, and what is allowed.
        reason: String,
    },
    /// No provider has this name.
    #[error("no provider {name}{}; add it to the settings under providers", meant(.nearest))]
    UnknownProvider {
        /// The requested name.
        name: String,
        /// Names that are near.
        nearest: Vec<String>,
    },
    /// The provider is known, but not supported.
    #[error("the provider {name} cannot be asked: {reason}")]
    UnservedProvider {
        /// The requested name.
        name: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// No model has this name, and it names no provider.
    #[error("no model {model}{}; write PROVIDER/MODEL", meant(.nearest))]
    UnknownModel {
        /// The requested model.
        model: String,
        /// Full names that are near.
        nearest: Vec<String>,
    },
    /// The provider is known, the model is not.
    #[error(
        "{provider} has no model {model} in the catalog{}; one that is not listed needs its window, \
         models.\"{provider}/{model}\".window in the settings",
        meant(.nearest)
    )]
    UnlistedModel {
        /// The provider.
        provider: String,
        /// The requested model.
        model: String,
        /// Full names that are near.
        nearest: Vec<String>,
    },
    /// Several providers have a model of this name.
    #[error("several providers have {model}: {}; write one of them", .candidates.join(", "))]
    AmbiguousModel {
        /// The requested model.
        model: String,
        /// The full names.
        candidates: Vec<String>,
    },
    /// A key would go over plain http to another host.
    #[error(
        "{provider}: the key would be sent unencrypted to {base_url}; use https or a loopback address, or \
         allow it with providers.{provider}.allowInsecure next to baseUrl in the settings"
    )]
    InsecureKey {
        /// The provider.
        provider: String,
        /// Its base URL.
        base_url: String,
    },
}

impl CatalogError {
    pub(super) fn setting(key: String, reason: impl Into<String>) -> Self {
        Self::Setting {
            key,
            reason: reason.into(),
        }
    }

    pub(super) fn selection(field: SelectionField, reason: impl Into<String>) -> Self {
        Self::Selection {
            field,
            reason: reason.into(),
        }
    }
}

/// A field of a [`Selection`](super::Selection).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionField {
    /// The model's name.
    Model,
    /// The base URL.
    BaseUrl,
    /// The environment variable of the key.
    ApiKeyEnv,
    /// The window.
    Window,
}

impl SelectionField {
    const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::BaseUrl => "base URL",
            Self::ApiKeyEnv => "variable of the key",
            Self::Window => "window",
        }
    }
}

/// Returns the part of a message that suggests names.
pub(super) fn meant(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; did you mean {}", names.join(" or ")),
    }
}
