//! `migrate`: writes a session of version 1 or 2 as version 3.

use std::path::PathBuf;

use crate::args::MigrateArgs;
use crate::commands::{Destination, Outcome, migrated};
use crate::error::Error;
use crate::store::{
    Contents, STDIN_IN_PLACE, SessionFile, SessionLock, sync_folder, temporary_in, write_new,
};
use crate::ui::{BOLD, counted, styled};
use serde_json::json;

pub(super) fn run(args: &MigrateArgs) -> Result<Outcome, Error> {
    let destination = args.output.destination("migrate")?;
    let path = &args.session;
    if matches!(destination, Destination::InPlace) && path == std::path::Path::new("-") {
        return Err(Error::Usage(STDIN_IN_PLACE.to_owned()));
    }
    // Fails early, and with the right words, on what is no session.
    let session = SessionFile::open(path)?;
    let version = session.version();
    let mut document = json!({
        "from_version": version,
        "to_version": 3,
        "entries": session.tree().len(),
        "diagnostics": session.decoded.diagnostics,
    });
    if version >= 3 {
        let reason = format!("{} is version {version} already", path.display());
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    let mut backup = None;
    match &destination {
        Destination::DryRun => {}
        Destination::Out(out) => {
            let lines = migrated(&session, session.contents()?)?;
            write_new(out, Contents::Empty, true, &lines)?;
        }
        Destination::InPlace => backup = Some(in_place(path)?),
    }
    let done = match destination {
        Destination::DryRun => "would be migrated",
        Destination::Out(_) | Destination::InPlace => "migrated",
    };
    let mut text = format!(
        "{}\n",
        styled(
            BOLD,
            &format!(
                "{done}: version {version} -> 3, {}",
                counted(session.tree().len(), "entry")
            )
        )
    );
    if let Some(backup) = &backup {
        text.push_str(&format!("   old file kept as {}\n", backup.display()));
    }
    document["backup"] = json!(backup);
    Ok(Outcome::done(&document, text))
}

/// Replaces the session by its migrated form; returns where the old file is kept.
fn in_place(path: &std::path::Path) -> Result<PathBuf, Error> {
    let path = &std::fs::canonicalize(path).map_err(|error| Error::io("open", path, error))?;
    let _lock = SessionLock::acquire(path)?;
    let session = SessionFile::open(path)?;
    let lines = migrated(&session, session.contents()?)?;
    let backup = free_name(path, session.version());
    let failed = |error| Error::io("write", path, error);
    let folder = path.parent().unwrap_or(std::path::Path::new("."));
    let temporary = temporary_in(folder).map_err(failed)?;
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    std::fs::write(temporary.path(), bytes).map_err(failed)?;
    let permissions = std::fs::metadata(path).map_err(failed)?.permissions();
    temporary
        .as_file()
        .set_permissions(permissions)
        .map_err(failed)?;
    temporary.as_file().sync_all().map_err(failed)?;
    crate::cancel::check()?;
    // The old bytes have a second name before the first one changes its meaning.
    keep_backup(path, &backup)?;
    temporary.persist(path).map_err(|error| {
        // The session kept its name, so the second one says nothing.
        let _ = std::fs::remove_file(&backup);
        failed(error.error)
    })?;
    sync_folder(folder);
    Ok(backup)
}

/// Gives the bytes of the session a second name: by a link, or by a copy where links are not to be had.
fn keep_backup(path: &std::path::Path, backup: &std::path::Path) -> Result<(), Error> {
    let failed = |error| Error::io("keep a backup as", backup, error);
    match std::fs::hard_link(path, backup) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(failed(error));
        }
        Err(_) => {}
    }
    let source = std::fs::File::open(path).map_err(failed)?;
    let length = source.metadata().map_err(failed)?.len();
    write_new::<&[u8]>(backup, Contents::File(source, length), true, &[])
}

/// Returns a name for the backup that no file has.
fn free_name(path: &std::path::Path, version: u64) -> PathBuf {
    let named = |suffix: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let mut name = named(format!(".v{version}.bak"));
    let mut number = 1;
    while name.symlink_metadata().is_ok() {
        number += 1;
        name = named(format!(".v{version}.bak{number}"));
    }
    name
}
