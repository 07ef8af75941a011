//! Addresses: of a database, and of a session in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use session_store::{Locator, StoreError};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use url::Url;

/// How the address of a database begins.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Why an address has no password.
const PASSWORD: &str = "put the password into PGPASSWORD, for addresses are shown and stored";

/// The address of a database.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// As people see it, without a session.
    shown: Url,
    pub config: Config,
    /// How long a statement may take.
    pub timeout: Duration,
    /// How long a session stays locked when its writer is gone.
    pub lease: Duration,
    /// The certificate of the authority that the server's must come from; those of the system unless given.
    pub root_certificate: Option<PathBuf>,
}

impl Address {
    /// Returns the database of an address, and the id of the session that it names; `None` where it is no address of
    /// PostgreSQL.
    pub fn parse(address: &Path) -> Result<Option<(Self, Option<String>)>, StoreError> {
        let text = address.to_str().unwrap_or_default();
        let scheme = text.split("://").next();
        if !scheme.is_some_and(|scheme| SCHEMES.contains(&scheme)) {
            return Ok(None);
        }
        let mut url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        let parts: Vec<String> = url
            .path_segments()
            .into_iter()
            .flatten()
            .map(decoded)
            .collect();
        let session = match parts.as_slice() {
            [] | [_] => None,
            [_, id] => Some(id.clone()).filter(|id| !id.is_empty()),
            [..] => return Err(refused("it has more parts than DATABASE/ID")),
        };
        url.path_segments_mut()
            .map_err(|()| refused("it names no database"))?
            .clear()
            .push(parts.first().map_or("", String::as_str));
        if url.password().is_some() {
            return Err(refused(PASSWORD));
        }
        let (mut timeout, mut lease, mut root_certificate) = (30, 30, None);
        let mut is_encrypted = None;
        // Other parameters are passed on as they are.
        let mut others = Vec::new();
        for pair in url
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value);
            let seconds = || {
                let number = value.parse().ok().filter(|seconds| *seconds > 0);
                number.ok_or_else(|| refused(&format!("{name}={value} is not a number of seconds")))
            };
            match name {
                "timeout" => timeout = seconds()?,
                "lease" => lease = seconds()?,
                "sslrootcert" => root_certificate = Some(PathBuf::from(value)),
                "sslmode" => {
                    is_encrypted = Some(match value.as_str() {
                        "disable" => false,
                        "require" | "verify-ca" | "verify-full" => true,
                        _ => return Err(refused("sslmode is disable or require")),
                    });
                }
                "password" => return Err(refused(PASSWORD)),
                _ => others.push(pair),
            }
        }
        let mut given = url.clone();
        given.set_query(Some(&others.join("&")));
        let config = given.as_str().parse::<Config>();
        let mut config = config.map_err(|error| refused(&error.to_string()))?;
        let is_near = config.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => ["localhost", "127.0.0.1", "::1"].contains(&name.as_str()),
            Host::Unix(_) => true,
        });
        config.ssl_mode(match is_encrypted.unwrap_or(!is_near) {
            true => SslMode::Require,
            false => SslMode::Disable,
        });
        if let Some(password) = std::env::var("PGPASSWORD")
            .ok()
            .filter(|text| !text.is_empty())
        {
            config.password(password);
        }
        let limit = timeout * 1000;
        let options = config.get_options().unwrap_or_default();
        // Reading whole tables costs more than the planner knows: the keys of searches are long.
        config.options(format!(
            "-c statement_timeout={limit} -c datestyle=ISO -c enable_seqscan=off {options}"
        ));
        if config.get_application_name().is_none() {
            config.application_name("agent-cli");
        }
        let timeout = Duration::from_secs(timeout);
        config.connect_timeout(timeout);
        config.tcp_user_timeout(timeout);
        config.keepalives_idle(timeout);
        let address = Self {
            shown: url,
            config,
            timeout,
            lease: Duration::from_secs(lease),
            root_certificate,
        };
        Ok(Some((address, session)))
    }

    /// Returns the locator of a session.
    pub fn of_session(&self, id: &str) -> Locator {
        let mut url = self.shown.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.push(id);
        }
        Locator::new(String::from(url))
    }

    /// Returns the address as errors show it.
    pub fn shown(&self) -> PathBuf {
        PathBuf::from(self.shown.as_str())
    }

    /// Returns what tells databases and users apart.
    pub fn key(&self) -> &str {
        self.shown.as_str()
    }
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

fn refused(why: &str) -> StoreError {
    StoreError::usage(format!(
        "the address of the store cannot be read: {why}; it is postgres://USER@HOST:PORT/DATABASE, or \
         postgres:///DATABASE?user=USER&host=FOLDER with the folder of a socket"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tokio_postgres::config::SslMode;

    use super::Address;

    fn parsed(text: &str) -> (Address, Option<String>) {
        Address::parse(Path::new(text))
            .expect("an address")
            .expect("of PostgreSQL")
    }

    #[test]
    fn a_locator_names_any_id() {
        let (address, session) = parsed("postgres://me@db.example/agents?lease=5");
        assert_eq!(session, None);
        assert_eq!(address.lease.as_secs(), 5);
        let id = "it's a/\"b\"?c %#\u{e9}";
        let locator = address.of_session(id);
        let (again, session) = parsed(&locator.to_string());
        assert_eq!(session.as_deref(), Some(id));
        assert_eq!(again.key(), address.key());
        assert_eq!(again.config.get_dbname(), Some("agents"));
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted() {
        for (text, mode) in [
            ("postgres://db.example/agents", SslMode::Require),
            (
                "postgres://db.example/agents?sslmode=disable",
                SslMode::Disable,
            ),
            ("postgres://localhost/agents", SslMode::Disable),
            ("postgres:///agents?host=/run/postgresql", SslMode::Disable),
            ("postgres://localhost,db.example/agents", SslMode::Require),
        ] {
            let (address, _) = parsed(text);
            assert_eq!(address.config.get_ssl_mode(), mode, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let of = |text: &str| Address::parse(Path::new(text));
        assert!(of("s3://bucket/x").expect("another kind").is_none());
        for text in [
            "postgres://db/agents/a/b",
            "postgres://db/agents?lease=0",
            "postgres://db/agents?sslmode=prefer",
            "postgres://db/agents?unknown=1",
            "postgres://me:secret@db/agents",
            "postgres://db/agents?password=secret",
        ] {
            of(text).expect_err(text);
        }
    }
}
