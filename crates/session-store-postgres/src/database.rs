//! The connection to a database: made when it is needed, shared, and made again when it is lost.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::TryStreamExt;
use session_store::StoreError;
use tokio::runtime::Runtime;
use tokio_postgres::binary_copy::BinaryCopyOutStream;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use crate::address::Address;
use crate::error::{Purpose, failed, lost, unconnected};
use crate::tls::connector;

/// The statements that make the tables, by version.
const MIGRATIONS: [&str; 4] = [
    include_str!("../migrations/1.sql"),
    include_str!("../migrations/2.sql"),
    include_str!("../migrations/3.sql"),
    include_str!("../migrations/4.sql"),
];

/// The key of the lock that one migration at a time holds.
const MIGRATION_LOCK: i64 = 0x6167_656e_7463_6c69;

/// A parameter of a statement.
pub(crate) type Param = (Box<dyn ToSql + Sync + Send>, Type);

pub(crate) fn param(value: impl ToSql + Sync + Send + 'static, of: Type) -> Param {
    (Box::new(value), of)
}

/// Returns the runtime of all connections. A write that its caller no longer waits for runs to its end here.
pub(crate) fn runtime() -> Result<&'static Runtime, StoreError> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let make = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("postgres");
        builder.enable_all().build().ok()
    };
    let runtime = RUNTIME.get_or_init(make).as_ref();
    runtime.ok_or_else(|| StoreError::usage("no thread can be started for the connection"))
}

/// A database.
#[derive(Debug)]
pub(crate) struct Database {
    pub address: Address,
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
}

/// A connection, and the statements that it knows.
#[derive(Debug)]
struct Connection {
    client: Client,
    prepared: Mutex<BTreeMap<&'static str, Statement>>,
}

impl Connection {
    /// Returns a statement that is planned once: writes are many and short.
    async fn prepared(&self, sql: &'static str, types: &[Type]) -> Result<Statement, Error> {
        let known = |prepared: &Mutex<BTreeMap<&'static str, Statement>>| {
            let prepared = prepared.lock().unwrap_or_else(PoisonError::into_inner);
            prepared.get(sql).cloned()
        };
        if let Some(statement) = known(&self.prepared) {
            return Ok(statement);
        }
        let statement = self.client.prepare_typed(sql, types).await?;
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// What is done on a connection.
trait Work: Send + Sync + 'static {
    type Done: Send + 'static;

    fn run(&self, on: &Connection) -> impl Future<Output = Result<Self::Done, Error>> + Send;
}

struct Rows {
    purpose: Purpose,
    sql: &'static str,
    params: Vec<Param>,
}

impl Work for Rows {
    type Done = Vec<Row>;

    async fn run(&self, on: &Connection) -> Result<Vec<Row>, Error> {
        let values = self
            .params
            .iter()
            .map(|(value, of)| (&**value as &(dyn ToSql + Sync), of.clone()));
        match self.purpose {
            Purpose::Repeatable => {
                let rows = on.client.query_typed_raw(self.sql, values).await?;
                rows.try_collect().await
            }
            Purpose::Write => {
                let (values, types): (Vec<_>, Vec<_>) = values.unzip();
                let statement = on.prepared(self.sql, &types).await?;
                on.client.query(&statement, &values).await
            }
        }
    }
}

struct Copied(String);

impl Work for Copied {
    type Done = (Vec<u8>, i64);

    async fn run(&self, on: &Connection) -> Result<(Vec<u8>, i64), Error> {
        let copied = on.client.copy_out(&self.0).await?;
        let mut rows = pin!(BinaryCopyOutStream::new(copied, &[Type::BYTEA]));
        let (mut bytes, mut count) = (Vec::new(), 0);
        while let Some(row) = rows.try_next().await? {
            bytes.extend_from_slice(row.try_get(0)?);
            count += 1;
        }
        Ok((bytes, count))
    }
}

impl Database {
    /// Returns the database of an address, which the process has once.
    pub fn at(address: Address) -> Arc<Self> {
        static KNOWN: LazyLock<Mutex<BTreeMap<String, Arc<Database>>>> =
            LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = address.key().to_owned();
        let database = known
            .entry(key)
            .or_insert_with(|| Arc::new(Self::apart(address)));
        database.clone()
    }

    /// Returns a database with a connection of its own.
    pub fn apart(address: Address) -> Self {
        Self {
            address,
            connection: tokio::sync::Mutex::default(),
        }
    }

    /// Runs a statement and returns its rows.
    pub async fn rows(
        self: &Arc<Self>,
        purpose: Purpose,
        sql: &'static str,
        params: Vec<Param>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = Rows {
            purpose,
            sql,
            params,
        };
        self.run(purpose, rows).await
    }

    /// Returns the only column of all rows that `sql`, a `COPY` in binary, reads, and how many there are.
    pub async fn copy(self: &Arc<Self>, sql: String) -> Result<(Vec<u8>, i64), StoreError> {
        self.run(Purpose::Repeatable, Copied(sql)).await
    }

    /// Runs something to its end, also where the caller stops waiting.
    async fn run<W: Work>(
        self: &Arc<Self>,
        purpose: Purpose,
        work: W,
    ) -> Result<W::Done, StoreError> {
        let this = self.clone();
        let done = runtime()?.spawn(async move {
            match this.attempt(purpose, &work).await {
                Err(Attempt::Lost(_)) if purpose == Purpose::Repeatable => {
                    this.attempt(purpose, &work).await
                }
                first => first,
            }
        });
        match done.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(Attempt::Lost(error) | Attempt::Failed(error))) => Err(error),
            Err(error) => {
                let reason = format!("the statement ended early: {error}");
                Err(lost(&self.address, purpose, &reason))
            }
        }
    }

    async fn attempt<W: Work>(&self, purpose: Purpose, work: &W) -> Result<W::Done, Attempt> {
        let connection = self.connection().await.map_err(Attempt::Failed)?;
        let reason = match tokio::time::timeout(self.patience(), work.run(&connection)).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => match error.as_db_error() {
                Some(_) if !connection.client.is_closed() => {
                    return Err(Attempt::Failed(failed(&self.address, purpose, &error)));
                }
                // The server ends the connection; the statement may be done.
                Some(answer) => format!("the connection was lost: {}", answer.message()),
                None => format!("the connection was lost: {error}"),
            },
            Err(_) => format!("no answer in {} seconds", self.patience().as_secs()),
        };
        self.forget(&connection).await;
        Err(Attempt::Lost(lost(&self.address, purpose, &reason)))
    }

    /// Returns how long an answer is waited for: longer than the server works at a statement.
    fn patience(&self) -> Duration {
        self.address.timeout * 5 / 4
    }

    async fn connection(&self) -> Result<Arc<Connection>, StoreError> {
        let mut known = self.connection.lock().await;
        if let Some(known) = known.as_ref().filter(|known| !known.client.is_closed()) {
            return Ok(known.clone());
        }
        let connecting = self.connect();
        let client = match tokio::time::timeout(self.patience(), connecting).await {
            Ok(client) => client?,
            Err(_) => {
                let seconds = self.patience().as_secs();
                let reason = format!("the server does not answer in {seconds} seconds");
                let path = self.address.shown();
                return Err(StoreError::Unavailable { path, reason });
            }
        };
        let made = Arc::new(Connection {
            client,
            prepared: Mutex::default(),
        });
        *known = Some(made.clone());
        Ok(made)
    }

    async fn connect(&self) -> Result<Client, StoreError> {
        let tls = connector(&self.address)?;
        let failed = |error| unconnected(&self.address, &error);
        let (client, connection) = self.address.config.connect(tls).await.map_err(failed)?;
        // It ends with the client, or with an error that the next statement reports.
        tokio::spawn(connection);
        self.migrate(&client).await?;
        Ok(client)
    }

    /// Makes the tables that are missing. A role that may only read needs none.
    async fn migrate(&self, client: &Client) -> Result<(), StoreError> {
        let failed = |error| unconnected(&self.address, &error);
        let newest = MIGRATIONS.len() as i32;
        let is_there = "SELECT to_regclass('agent_schema') IS NOT NULL";
        let is_there: bool = client
            .query_one(is_there, &[])
            .await
            .map_err(failed)?
            .get(0);
        let version: i32 = match is_there {
            false => 0,
            true => {
                let version = "SELECT coalesce(max(version), 0) FROM agent_schema";
                client.query_one(version, &[]).await.map_err(failed)?.get(0)
            }
        };
        if version > newest {
            let reason = format!(
                "its tables have version {version}; this program knows versions up to {newest}; use a newer one"
            );
            return Err(StoreError::session(self.address.shown(), reason));
        }
        for (from, statements) in MIGRATIONS.iter().enumerate().skip(version as usize) {
            let to = from + 1;
            let all = format!(
                "BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK}); \
                 CREATE TABLE IF NOT EXISTS agent_schema (version integer NOT NULL); \
                 {statements} \
                 INSERT INTO agent_schema SELECT {to} WHERE NOT EXISTS \
                 (SELECT FROM agent_schema WHERE version >= {to}); COMMIT"
            );
            let done = client.batch_execute(&all).await;
            done.map_err(failed)?;
        }
        Ok(())
    }

    /// Makes the next statement use another connection.
    async fn forget(&self, connection: &Arc<Connection>) {
        let mut known = self.connection.lock().await;
        if known
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, connection))
        {
            *known = None;
        }
    }
}

/// Why a statement has no rows.
enum Attempt {
    /// There is no answer; the connection is not used again.
    Lost(StoreError),
    Failed(StoreError),
}
