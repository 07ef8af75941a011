//! What sessions in PostgreSQL promise, on a server that the tests start.

mod bench;
mod proxy;
mod search;
mod server;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use session_model::{
    AgentMessage, AssistantMessage, Block, Content, EntryDraft, MessageDraft, StopReason,
};
use session_store::conformance_shared_tests::{SharedBackend, check_shared};
use session_store::conformance_tests::{Backend, check};
use session_store::{
    BoxFuture, Delivery, Locator, NewEntry, NewSession, OpenSession, SessionCatalog, SessionStore,
    StoreError, list_all,
};
use session_store_postgres::PostgresCatalog;

use proxy::{Fault, Proxy};
use server::Server;

/// At how many answers of a scripted run a fault is tried.
const FAULTS: usize = 5;

/// Counts schemas, each of which holds one backend's sessions.
static SCHEMAS: AtomicUsize = AtomicUsize::new(0);

struct Database {
    server: Arc<Server>,
    schema: String,
    proxy: Proxy,
}

impl Database {
    fn new(server: &Arc<Server>) -> Self {
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let schema = format!("s{number}");
        server.run(&format!("CREATE SCHEMA {schema}"));
        Self {
            server: server.clone(),
            schema,
            proxy: Proxy::to(server),
        }
    }

    /// Returns the address by way of `port` on loopback, or straight to the socket.
    fn address(&self, port: Option<u16>) -> PathBuf {
        let place = match port {
            Some(port) => format!("localhost:{port}/agents?timeout=1&user=agents"),
            None => format!(
                "/agents?user=agents&host={}",
                self.server.folder().display()
            ),
        };
        let options = format!("options=-c%20search_path%3D{}", self.schema);
        PathBuf::from(format!("postgres://{place}&{options}"))
    }

    fn catalog_at(&self, port: Option<u16>) -> Arc<dyn SessionCatalog> {
        let catalog = PostgresCatalog::of_address(&self.address(port));
        let (catalog, _) = catalog.expect("an address").expect("of PostgreSQL");
        match port {
            Some(_) => Arc::new(catalog),
            None => Arc::new(catalog.apart()),
        }
    }
}

impl Backend for Database {
    fn catalog(&self) -> Arc<dyn SessionCatalog> {
        self.catalog_at(Some(self.proxy.port()))
    }

    fn lines(&self, at: &Locator) -> Vec<String> {
        let read =
            futures_executor::block_on(async { self.catalog_at(None).read(at, &mut ()).await });
        let bytes = read
            .expect("it can be read")
            .contents()
            .expect("bytes")
            .read();
        let text = String::from_utf8(bytes.expect("bytes")).expect("a text");
        text.lines().map(str::to_owned).collect()
    }

    fn killed(&self) -> Box<dyn Backend> {
        let copy = Self::new(&self.server);
        let (from, to) = (&self.schema, &copy.schema);
        let tables = ["schema", "sessions", "lines", "waiting", "outputs", "words"].map(|table| {
            format!(
                "CREATE TABLE {to}.agent_{table} (LIKE {from}.agent_{table} INCLUDING ALL); \
                 INSERT INTO {to}.agent_{table} OVERRIDING SYSTEM VALUE SELECT * FROM {from}.agent_{table};"
            )
        });
        self.server.run(&tables.concat());
        // The time of the leases passes.
        self.server.run(&format!(
            "UPDATE {to}.agent_sessions SET lease_until = now()"
        ));
        Box::new(copy)
    }
}

impl SharedBackend for Database {
    fn other(&self) -> Arc<dyn SessionCatalog> {
        self.catalog_at(None)
    }

    fn expire_leases(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let schema = &self.schema;
            self.server.run(&format!(
                "UPDATE {schema}.agent_sessions SET lease_until = now()"
            ));
        })
    }

    fn cut(&self) {
        self.proxy.cut();
    }

    fn lose_next_answer(&self) {
        self.proxy.lose_next_answer();
    }
}

/// Returns the server; a machine without PostgreSQL skips the tests.
fn server() -> Option<Arc<Server>> {
    let server = Server::shared();
    if server.is_none() {
        test_support::skip("PostgreSQL is not installed");
    }
    server
}

#[tokio::test]
async fn the_promises_of_every_store_hold() {
    if let Some(server) = server() {
        check(|| Box::new(Database::new(&server))).await;
    }
}

#[tokio::test]
async fn the_promises_of_shared_stores_hold() {
    if let Some(server) = server() {
        check_shared(|| Database::new(&server)).await;
    }
}

fn answer(text: &str) -> EntryDraft {
    let message = AgentMessage::Assistant(AssistantMessage {
        content: Content::Blocks(vec![Block::text(text)]),
        api: "test".to_owned(),
        provider: "test".to_owned(),
        model: "test".to_owned(),
        usage: None,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: None,
    });
    EntryDraft::Message(Box::new(MessageDraft::new(message).expect("a message")))
}

fn named(store: &dyn SessionStore, text: &str) -> NewEntry {
    NewEntry {
        id: Some(store.fresh_id()),
        draft: answer(text),
    }
}

async fn begun(catalog: &dyn SessionCatalog) -> OpenSession {
    let new = NewSession {
        cwd: "/project".to_owned(),
        parent: None,
    };
    let mut store = catalog.create(new).await.expect("created");
    store
        .append(vec![answer("begun").into()])
        .await
        .expect("appended");
    store
}

/// Returns the ids of the entries in the lines of a session.
fn ids(lines: &[String]) -> Vec<String> {
    let entries = lines
        .iter()
        .skip(1)
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let ids = entries.map(|entry: serde_json::Value| entry["id"].as_str().map(str::to_owned));
    ids.map(|id| id.expect("an id")).collect()
}

/// What the process does that is killed: appends, and prints the id of each entry that was acknowledged.
#[tokio::test]
#[ignore = "runs as a process of its own"]
async fn writer_process() {
    let address = PathBuf::from(std::env::var_os("WRITER_ADDRESS").expect("an address"));
    let found = session_store_postgres::catalog_of(&address).expect("an address");
    let (catalog, at) = found.expect("of PostgreSQL");
    let at = at.expect("a session");
    let mut store = catalog.open(&at, &mut ()).await.expect("it opens");
    for number in 0.. {
        let written = store
            .append(vec![named(&*store, &number.to_string())])
            .await;
        println!("acknowledged {}", written.expect("appended")[0]);
    }
}

#[tokio::test]
async fn a_writer_that_is_killed_loses_no_acknowledged_entry() {
    let Some(server) = server() else { return };
    let database = Database::new(&server);
    let catalog = database.catalog_at(None);
    let store = begun(&*catalog).await;
    let at = store.locator().cloned().expect("a locator");
    store.close().await.expect("closed");
    let kills = std::env::var("KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok());
    let mut acknowledged: Vec<String> = Vec::new();
    for kill in 0..kills.unwrap_or(10) {
        let mut writer = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "writer_process", "--ignored", "--nocapture"])
            .env("WRITER_ADDRESS", at.as_os_str())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(writer.stdout.take().expect("its output")).lines();
        let mut next = || {
            let line = lines.next().and_then(Result::ok);
            line.map(|line| line.strip_prefix("acknowledged ").map(str::to_owned))
        };
        let mut seen = 0;
        while seen < 1 + kill % 7 {
            let id = next().expect("it writes on");
            seen += usize::from(id.is_some());
            acknowledged.extend(id);
        }
        let refused = catalog.open(&at, &mut ()).await;
        refused.expect_err("its lease holds");
        writer.kill().expect("killed");
        writer.wait().expect("it ended");
        while let Some(id) = next() {
            acknowledged.extend(id);
        }
        // A write that was under way renews the lease of its writer once more.
        loop {
            database.expire_leases().await;
            if let Ok(store) = catalog.open(&at, &mut ()).await {
                break store.close().await.expect("closed");
            }
        }
    }
    let store = catalog.open(&at, &mut ()).await.expect("it opens");
    assert_eq!(store.diagnostics(), []);
    let found = ids(&database.lines(&at));
    let unique: BTreeSet<&String> = found.iter().collect();
    assert_eq!(unique.len(), found.len(), "none is there twice");
    let missing: Vec<_> = acknowledged
        .iter()
        .filter(|id| !unique.contains(id))
        .collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[tokio::test]
async fn a_fault_at_any_answer_leaves_a_complete_session() {
    let Some(server) = server() else { return };
    for fault in [Fault::Cut, Fault::Delay, Fault::HalfOpen] {
        for at in 0..FAULTS {
            let database = Database::new(&server);
            let direct = database.catalog_at(None);
            let mut store = begun(&*database.catalog()).await;
            database.proxy.disturb(Some((fault, at)));
            let mut written = Vec::new();
            for number in 0..3 {
                let entry = named(&*store, &number.to_string());
                let queued = loop {
                    let queued = store.queue("next".into(), Delivery::Prompt).await;
                    if let Ok(queued) = queued {
                        break queued;
                    }
                };
                let queued = store.queued_entry(&queued.id).expect("it waits");
                let batch = vec![queued, entry];
                let mut done = store.append(batch.clone()).await;
                while done.is_err() {
                    done = store.append(batch.clone()).await;
                }
                written.extend(done.expect("appended").iter().map(ToString::to_string));
            }
            let at = store.locator().cloned().expect("a locator");
            while store.refresh().await.is_err() {}
            assert_eq!(store.queued(), [], "{fault:?}");
            drop(store);
            let found = ids(&database.lines(&at));
            assert_eq!(found[1..], written, "{fault:?}");
            let read = direct.read(&at, &mut ()).await.expect("it can be read");
            assert_eq!(read.decoded.diagnostics, [], "{fault:?}");
            let again = direct.open(&at, &mut ()).await.expect("it is free");
            assert_eq!(again.queued(), [], "{fault:?}");
        }
    }
}

#[tokio::test]
async fn errors_name_what_to_do() {
    let Some(server) = server() else { return };
    let database = Database::new(&server);
    let mut store = begun(&*database.catalog_at(None)).await;
    let schema = &database.schema;
    let reading = |user: &str, database_name: &str| {
        let folder = server.folder().display();
        let place = format!("/{database_name}?user={user}&host={folder}");
        let options = format!("options=-c%20search_path%3D{schema}");
        let address = PathBuf::from(format!("postgres://{place}&{options}"));
        let (catalog, _) = session_store_postgres::catalog_of(&address)
            .expect("an address")
            .expect("of PostgreSQL");
        catalog
    };
    server.run(&format!(
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA {schema} TO reader; \
         GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader"
    ));
    let at = store.locator().cloned().expect("a locator");
    let reader = reading("reader", "agents");
    assert_eq!(list_all(&*reader, None).await.expect("a list").len(), 1);
    reader.read(&at, &mut ()).await.expect("it reads");
    let text = |error: StoreError| error.to_string();
    let refused = text(reader.remove(&at).await.expect_err("it may only read"));
    assert!(refused.contains("this user may not do it"), "{refused}");
    let missing = reading("agents", "elsewhere");
    let refused = text(list_all(&*missing, None).await.expect_err("no database"));
    assert!(refused.contains("make it with createdb"), "{refused}");
    let unknown = reading("stranger", "agents");
    let refused = text(list_all(&*unknown, None).await.expect_err("no user"));
    assert!(refused.contains("check the user"), "{refused}");
    let long = "x".repeat(100 * 1024 * 1024);
    store
        .append(vec![answer(&long).into()])
        .await
        .expect("100 MB are stored");
    server.run(
        "CREATE ROLE replica LOGIN SUPERUSER; \
         ALTER ROLE replica SET default_transaction_read_only = on",
    );
    let replica = reading("replica", "agents");
    let refused = text(replica.remove(&at).await.expect_err("read-only"));
    assert!(refused.contains("takes no writes"), "{refused}");
    server.run(&format!("INSERT INTO {schema}.agent_schema VALUES (9)"));
    let fresh = database.catalog_at(None);
    let refused = text(list_all(&*fresh, None).await.expect_err("a newer schema"));
    assert!(refused.contains("its tables have version 9"), "{refused}");
}

#[tokio::test]
async fn a_connection_is_encrypted_and_the_certificate_verified() {
    // The port is free until the server takes it.
    let free = std::net::TcpListener::bind("localhost:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let Some((server, certificate)) = Server::encrypted(port) else {
        return test_support::skip("PostgreSQL or openssl is not installed");
    };
    let list = async |host: &str, more: &str| {
        let address = format!("postgres://{host}:{port}/agents?user=agents&sslmode=require{more}");
        let catalog = PostgresCatalog::of_address(&PathBuf::from(address)).expect("an address");
        let (catalog, _) = catalog.expect("of PostgreSQL");
        list_all(&catalog.apart(), None).await
    };
    let known = format!("&sslrootcert={}", certificate.display());
    assert_eq!(list("localhost", &known).await.expect("a list"), []);
    for (host, more) in [("localhost", ""), ("127.0.0.1", &*known)] {
        let refused = list(host, more)
            .await
            .expect_err("not verified")
            .to_string();
        assert!(refused.contains("certificate"), "{host}{more}: {refused}");
    }
    drop(server);
}
