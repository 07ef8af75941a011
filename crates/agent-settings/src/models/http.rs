//! The HTTP client as settings and environment want it, and the file that keeps a record.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use llm_providers::{HttpClient, HttpSettings, Recorder, RetryPolicy};

use super::ModelsError;
use crate::AppSettings;

/// Returns the client as the settings and the environment want it; exchanges are recorded in the file `record`.
///
/// # Errors
/// [`ModelsError`] for certificates or a record that cannot be used.
pub fn http_client(
    settings: &AppSettings,
    record: Option<&Path>,
) -> Result<HttpClient, ModelsError> {
    let http = &settings.http;
    let waits = HttpSettings {
        connect: Duration::from_secs(http.connect_timeout_seconds),
        idle: Duration::from_secs(http.idle_timeout_seconds),
        total: Duration::from_secs(http.total_timeout_seconds),
        ..HttpSettings::default()
    };
    let client = HttpClient::trusting(waits, &extra_certificates()?)?;
    let Some(path) = record else {
        return Ok(client);
    };
    Ok(client.with_recorder(Recorder::new(Box::new(RecordFile::create(path)?))))
}

/// The file of a record. It is removed if nothing was written.
struct RecordFile {
    file: File,
    path: PathBuf,
    is_empty: bool,
}

impl RecordFile {
    fn create(path: &Path) -> Result<Self, ModelsError> {
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => ModelsError::RecordExists(path.to_owned()),
            _ => ModelsError::io("create", path, error),
        })?;
        Ok(Self {
            file,
            path: path.to_owned(),
            is_empty: true,
        })
    }
}

impl Write for RecordFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.is_empty = false;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        if self.is_empty {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns the certificates that the user adds to those of the system, in the variable that other agents read too.
fn extra_certificates() -> Result<Vec<u8>, ModelsError> {
    let Some(path) = std::env::var_os("NODE_EXTRA_CA_CERTS").filter(|path| !path.is_empty()) else {
        return Ok(Vec::new());
    };
    std::fs::read(&path).map_err(|error| {
        ModelsError::Invalid(format!(
            "NODE_EXTRA_CA_CERTS names {}, which cannot be read: {error}",
            Path::new(&path).display()
        ))
    })
}

/// Returns when failed requests are sent again.
pub fn retry_policy(settings: &AppSettings) -> RetryPolicy {
    let http = &settings.http;
    let budget = Duration::from_secs(http.retry_budget_seconds);
    RetryPolicy {
        attempts: http.attempts.unwrap_or(u32::MAX),
        budget,
        first_contact_budget: Duration::from_secs(http.first_contact_seconds),
        max_retry_after: RetryPolicy::default().max_retry_after.min(budget),
        ..RetryPolicy::default()
    }
}
