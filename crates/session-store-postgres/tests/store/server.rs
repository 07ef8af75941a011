//! A server of the tests' own, on a socket in a temporary folder.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

/// A running server; it ends when it is dropped.
pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    user: Option<(u32, u32)>,
}

impl Server {
    /// Returns the server of all tests; `None` where the machine has no PostgreSQL.
    pub fn shared() -> Option<Arc<Self>> {
        static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Self::start()?);
        *running = Arc::downgrade(&server);
        Some(server)
    }

    /// Returns a server that encrypts connections to a port of `localhost`, and the file of its certificate; `None` where
    /// the machine lacks PostgreSQL or openssl.
    pub fn encrypted(port: u16) -> Option<(Self, PathBuf)> {
        let folder = tempfile::tempdir().expect("a folder");
        let named = "-subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE";
        let made = Command::new("openssl")
            .args(
                "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key -out certificate".split(' '),
            )
            .args(named.split(' '))
            .current_dir(folder.path())
            .output();
        made.ok().filter(|made| made.status.success())?;
        let read = |name: &str| std::fs::read(folder.path().join(name)).expect("made");
        let server = Self::start()?;
        let data = server.data();
        for (from, to) in [("certificate", "server.crt"), ("key", "server.key")] {
            let file = data.join(to);
            std::fs::write(&file, read(from)).expect("written");
            std::fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("private");
            if let Some((uid, gid)) = server.user {
                chown(&file, Some(uid), Some(gid)).expect("given away");
            }
        }
        let settings = format!("listen_addresses=localhost\nport={port}\nssl=on\n");
        let socket = server.folder().display().to_string();
        let settings = format!("{settings}unix_socket_directories='{socket}'\n");
        std::fs::write(data.join("postgresql.auto.conf"), settings).expect("written");
        let data_text = data.to_str().expect("a text");
        server.call("pg_ctl", &["-D", data_text, "-m", "fast", "-w", "stop"]);
        let log = server.folder().join("log");
        let log = log.to_str().expect("a text");
        server.call("pg_ctl", &["-D", data_text, "-l", log, "-w", "start"]);
        Some((server, data.join("server.crt")))
    }

    fn start() -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("pg-").tempdir_in("/tmp");
        let folder = folder.expect("a folder");
        // The server refuses to run as root.
        let is_root = folder.path().metadata().expect("a folder").uid() == 0;
        let user = match is_root {
            true => Some(other_user()?),
            false => None,
        };
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).expect("given away");
        }
        let server = Self {
            folder,
            programs,
            user,
        };
        let data = server.data();
        let data = data.to_str().expect("a text");
        server.call(
            "initdb",
            &[
                "-D", data, "-U", "agents", "-A", "trust", "-N", "-E", "UTF8",
            ],
        );
        let folder = server.folder().display();
        let options = format!("-k {folder} -c listen_addresses= -c fsync=off");
        let log = server.folder().join("log");
        let log = log.to_str().expect("a text");
        server.call(
            "pg_ctl",
            &["-D", data, "-o", &options, "-l", log, "-w", "start"],
        );
        let socket = server.folder().to_str().expect("a text").to_owned();
        server.call("createdb", &["-h", &socket, "-U", "agents", "agents"]);
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the folder of the socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs statements as the owner.
    pub fn run(&self, sql: &str) {
        let socket = self.folder().to_str().expect("a text");
        let stop = "ON_ERROR_STOP=1";
        self.call(
            "psql",
            &[
                "-h", socket, "-U", "agents", "-q", "-v", stop, "-c", sql, "agents",
            ],
        );
    }

    fn call(&self, program: &str, arguments: &[&str]) {
        let mut command = Command::new(self.programs.join(program));
        command.args(arguments).current_dir(self.folder());
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        // A server that still runs would keep a pipe open.
        let output = command.stdin(Stdio::null()).stdout(Stdio::null());
        let status = output.status().expect("it runs");
        assert!(status.success(), "{program} {arguments:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.data();
        let data = data.to_str().expect("a text");
        self.call("pg_ctl", &["-D", data, "-m", "immediate", "stop"]);
    }
}

/// Returns the folder of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let of_debian = versions.flatten().map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = of_debian.chain(std::env::split_paths(&path)).collect();
    folders.retain(|folder| {
        ["initdb", "pg_ctl", "psql"]
            .iter()
            .all(|name| folder.join(name).is_file())
    });
    folders.into_iter().next()
}

/// Returns a user that may run the server.
fn other_user() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    ["postgres", "nobody"].iter().find_map(|wanted| {
        let mut lines = users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>());
        let found = lines.find(|fields| fields.first() == Some(wanted))?;
        Some((found.get(2)?.parse().ok()?, found.get(3)?.parse().ok()?))
    })
}
