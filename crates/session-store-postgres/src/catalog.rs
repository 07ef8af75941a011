//! The catalog of sessions in a database.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use session_model::{Leaf, Timestamp};
use session_store::catalog::only_one;
use session_store::{
    Carry, ForkSource, InMemoryLog, Locator, NewSession, OpenSession, OutputStore, Page, Query,
    Queued, ReadObserver, SessionCatalog, SessionFile, SessionLog, SessionRow, SessionStore, Store,
    StoreError, StoreFuture, header_now,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::address::Address;
use crate::database::{Database, param};
use crate::error::Purpose;
use crate::lease::refusal;
use crate::log::PostgresLog;
use crate::outputs::PostgresOutputs;
use crate::rows::read_behind;
use crate::search;

/// How many sessions a page has unless the caller says.
const PAGE: usize = 1000;

/// How many sessions are looked at that one beginning of an id means.
const ALIKE: usize = 20;

/// What a list tells of a session, with the place in the list behind it.
macro_rules! listed {
    ($condition:literal) => {
        concat!(
            "SELECT s.id, s.cwd, s.started, (extract(epoch FROM s.modified) * 1000)::bigint, \
                s.bytes, s.name, s.first_prompt, coalesce(s.lease_until > now(), false), \
                (SELECT array_agg(body ORDER BY number) FROM agent_waiting w WHERE w.session = s.id), \
                s.modified::text || '/' || s.id \
             FROM agent_sessions s WHERE ",
            $condition
        )
    };
}

/// The sessions in a database.
#[derive(Debug, Clone)]
pub struct PostgresCatalog {
    database: Arc<Database>,
}

impl PostgresCatalog {
    /// Returns the catalog of an address, and the session that it names; `None` where it is of another kind of store.
    /// Nothing is connected yet.
    ///
    /// # Errors
    /// The address cannot be read.
    pub fn of_address(address: &Path) -> Result<Option<(Self, Option<Locator>)>, StoreError> {
        let parsed = Address::parse(address)?;
        Ok(parsed.map(|(address, session)| {
            let session = session.map(|id| address.of_session(&id));
            let database = Database::at(address);
            (Self { database }, session)
        }))
    }

    /// Returns the same catalog with a connection of its own.
    #[must_use]
    pub fn apart(self) -> Self {
        let database = Database::apart(self.database.address.clone());
        Self {
            database: Arc::new(database),
        }
    }

    /// Returns the id of the session at `at`.
    fn id(&self, at: &Locator) -> Result<String, StoreError> {
        let parsed = Address::parse(at.as_path())?;
        let id = parsed
            .and_then(|(_, id)| id)
            .filter(|id| !id.contains('\0'));
        id.ok_or_else(|| {
            let reason = "names no session; add /ID to the address of the database";
            StoreError::session(self.database.address.shown(), reason)
        })
    }

    fn row(&self, row: &Row) -> SessionRow {
        let id: String = row.get(0);
        let (started, modified, bytes) = (
            row.get::<_, Option<i64>>(2),
            row.get(3),
            row.get::<_, i64>(4),
        );
        let waiting: Option<Vec<String>> = row.get(8);
        let waiting = waiting.unwrap_or_default();
        let queue: Vec<Queued> = waiting
            .iter()
            .filter_map(|body| serde_json::from_str(body).ok())
            .collect();
        SessionRow {
            locator: self.database.address.of_session(&id),
            id,
            cwd: row.get(1),
            started: started.map(Timestamp::from_millis),
            modified: Timestamp::from_millis(modified),
            bytes: u64::try_from(bytes).unwrap_or_default(),
            name: row.get(5),
            first_prompt: row.get(6),
            locked: row.get(7),
            persisted: true,
            pending: 0,
        }
        .with_queue(&queue)
    }

    async fn waiting(&self, id: &str) -> Result<Vec<Queued>, StoreError> {
        let sql = "SELECT body FROM agent_waiting WHERE session = $1 ORDER BY number";
        let params = vec![param(id.to_owned(), Type::TEXT)];
        let rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
        let queue = rows.iter().map(|row| serde_json::from_str(row.get(0)));
        queue.collect::<Result<_, _>>().map_err(|error| {
            let reason = format!("a message that waits cannot be read: {error}");
            StoreError::session(self.database.address.of_session(id).as_path(), reason)
        })
    }
}

impl SessionCatalog for PostgresCatalog {
    fn create(&self, new: NewSession) -> StoreFuture<'_, OpenSession> {
        Box::pin(async move {
            let header = header_now(new.cwd, new.parent.map(|parent| parent.to_string()));
            let log = InMemoryLog::of_header(&header);
            let log = PostgresLog::unpersisted(self.database.clone(), log)?;
            Ok(Box::new(Store::over(log, Vec::new())) as OpenSession)
        })
    }

    fn open<'a>(
        &'a self,
        at: &'a Locator,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, OpenSession> {
        Box::pin(async move {
            observer.read(0)?;
            let id = self.id(at)?;
            let log = PostgresLog::open(self.database.clone(), &id).await?;
            let queue = self.waiting(&id).await?;
            Ok(Box::new(Store::over(log, queue)) as OpenSession)
        })
    }

    fn read<'a>(
        &'a self,
        at: &'a Locator,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, SessionFile> {
        Box::pin(async move {
            observer.read(0)?;
            let id = self.id(at)?;
            let locator = self.database.address.of_session(&id);
            let (bytes, head) = read_behind(&self.database, &id, 0).await?;
            if head == 0 {
                let reason = "no such session; check the id";
                return Err(StoreError::session(locator.as_path(), reason));
            }
            SessionFile::of_memory(locator.as_path(), bytes)
        })
    }

    fn fork<'a>(
        &'a self,
        source: ForkSource<'a>,
        leaf: Leaf,
        cwd: &'a str,
        carry: Carry<'a>,
    ) -> StoreFuture<'a, OpenSession> {
        Box::pin(async move {
            let mut source = source;
            let header = header_now(cwd.to_owned(), source.locator().map(Locator::to_string));
            let log = InMemoryLog::forked(&header, &source, leaf, carry)?;
            let mut log = PostgresLog::unpersisted(self.database.clone(), log)?;
            let queue = source.queue().to_vec();
            let lease = source.open().and_then(SessionStore::lease);
            let from = source.locator().zip(lease);
            let from = from.map(|(at, epoch)| Ok::<_, StoreError>((self.id(at)?, epoch)));
            let from = from.transpose()?;
            if let Err(error) = log.persist_with(&[], false, &queue, from).await {
                // The answer alone may be lost.
                log.refresh().await?;
                if !log.is_persisted() {
                    return Err(error);
                }
            }
            let mut store = Store::over(log, queue);
            if let Some(source) = source.open() {
                store.set_filter(source.filter());
            }
            // In the database it is done.
            let _ = source.release_queue().await;
            Ok(Box::new(store) as OpenSession)
        })
    }

    fn adopt<'a>(&'a self, session: &'a SessionFile) -> StoreFuture<'a, Locator> {
        Box::pin(async move {
            let bytes = session.contents()?.read();
            let bytes = bytes.map_err(|error| StoreError::io("read", &session.path, error))?;
            let log = InMemoryLog::of(bytes);
            let id = log.tree().header().map(|header| header.id.clone());
            let mut log = PostgresLog::unpersisted(self.database.clone(), log)?;
            log.persist_with(&[], true, &[], None).await?;
            Ok(self.database.address.of_session(&id.unwrap_or_default()))
        })
    }

    fn list<'a>(&'a self, query: Query<'a>) -> StoreFuture<'a, Page> {
        Box::pin(async move {
            let limit = query.limit.unwrap_or(PAGE).max(1);
            let (modified, id) = query.after.and_then(|after| after.split_once('/')).unzip();
            let sql = listed!(
                "($1::text IS NULL OR s.cwd = $1) \
                 AND ($2::text IS NULL OR (s.modified, s.id) < ($2::timestamptz, $3)) \
                 ORDER BY s.modified DESC, s.id DESC LIMIT $4"
            );
            let params = vec![
                param(query.cwd.map(str::to_owned), Type::TEXT),
                param(modified.map(str::to_owned), Type::TEXT),
                param(id.map(str::to_owned), Type::TEXT),
                param(limit as i64 + 1, Type::INT8),
            ];
            let mut rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
            let has_more = rows.len() > limit;
            rows.truncate(limit);
            let last = rows.last().filter(|_| has_more);
            Ok(Page {
                next: last.map(|row| row.get(9)),
                rows: rows.iter().map(|row| self.row(row)).collect(),
            })
        })
    }

    fn find<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Locator> {
        Box::pin(async move {
            let sql = listed!("starts_with(s.id, $1) ORDER BY s.id LIMIT $2");
            let params = vec![
                param(id.replace('\0', ""), Type::TEXT),
                param(ALIKE as i64, Type::INT8),
            ];
            let rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
            let rows = rows.iter().map(|row| self.row(row)).collect();
            let place = self.database.address.shown();
            only_one(rows, id, &place.display().to_string())
        })
    }

    fn remove<'a>(&'a self, at: &'a Locator) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let id = self.id(at)?;
            let sql = "DELETE FROM agent_sessions WHERE id = $1 \
                AND (lease_until IS NULL OR lease_until < now()) RETURNING 1";
            let params = vec![param(id.clone(), Type::TEXT)];
            let rows = self.database.rows(Purpose::Write, sql, params).await?;
            match rows.is_empty() {
                true => Err(refusal(&self.database, &id).await),
                false => Ok(()),
            }
        })
    }

    fn candidates<'a>(
        &'a self,
        words: &'a str,
        observer: &'a mut dyn ReadObserver,
    ) -> StoreFuture<'a, Option<Vec<SessionRow>>> {
        Box::pin(async move {
            let Some(ids) = search::candidates(&self.database, words, observer).await? else {
                return Ok(None);
            };
            let params = vec![param(ids.clone(), Type::TEXT_ARRAY)];
            let sql = listed!("s.id = ANY ($1)");
            let rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
            let rows = rows.iter().map(|row| self.row(row));
            let mut rows: BTreeMap<String, SessionRow> =
                rows.map(|row| (row.id.clone(), row)).collect();
            Ok(Some(ids.iter().filter_map(|id| rows.remove(id)).collect()))
        })
    }

    fn outputs(&self, at: &Locator) -> Option<Arc<dyn OutputStore>> {
        let (database, session) = (self.database.clone(), self.id(at).ok()?);
        Some(Arc::new(PostgresOutputs { database, session }))
    }
}
