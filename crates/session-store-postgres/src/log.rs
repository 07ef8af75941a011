//! The log of a session in a database.

use std::sync::Arc;

use session_model::{EntryId, SessionTree, Timestamp};
use session_store::{
    InMemoryLog, Lines, Locator, Queued, SessionLog, StoreError, StoreFuture, Weight,
};
use tokio_postgres::types::Type;

use crate::database::{Database, param};
use crate::error::Purpose;
use crate::lease::{Lease, new_owner, seconds};
use crate::rows::{NewLines, read_behind, shown, told};
use crate::search;

/// The lines of a session, in memory and in the database. There is nothing in the database before something worth
/// keeping was said.
#[derive(Debug)]
pub(crate) struct PostgresLog {
    database: Arc<Database>,
    id: String,
    locator: Locator,
    log: InMemoryLog,
    /// The number of the last line that is known, and of the last when it was opened.
    head: i64,
    opened: i64,
    owner: String,
    /// `None` before the session is persisted.
    lease: Option<Lease>,
    /// A write has no answer, so the database may have more than is known.
    is_behind: bool,
}

impl PostgresLog {
    /// Returns the log of a session that is not in the database yet.
    pub fn unpersisted(database: Arc<Database>, log: InMemoryLog) -> Result<Self, StoreError> {
        let header = log.tree().header();
        let id = header.map(|header| header.id.clone()).unwrap_or_default();
        if id.is_empty() || id.contains('\0') {
            let text = format!("the id {id:?} cannot be stored in PostgreSQL");
            return Err(StoreError::usage(text));
        }
        Ok(Self {
            locator: database.address.of_session(&id),
            database,
            id,
            log,
            head: 0,
            opened: 0,
            owner: new_owner(),
            lease: None,
            is_behind: false,
        })
    }

    /// Opens a session.
    pub async fn open(database: Arc<Database>, id: &str) -> Result<Self, StoreError> {
        let owner = new_owner();
        let (lease, _) = Lease::take(&database, id, &owner).await?;
        let (bytes, head) = read_behind(&database, id, 0).await?;
        Ok(Self {
            locator: database.address.of_session(id),
            database,
            id: id.to_owned(),
            log: InMemoryLog::of(bytes),
            head,
            opened: head,
            owner,
            lease: Some(lease),
            is_behind: false,
        })
    }

    /// Writes the session as it is, lines behind it, and messages that wait, which no longer do so in the session `from`
    /// with its lease. `free` leaves it to others.
    pub async fn persist_with(
        &mut self,
        lines: &[String],
        free: bool,
        queue: &[Queued],
        from: Option<(String, i64)>,
    ) -> Result<(), StoreError> {
        let mut log = InMemoryLog::of(self.log.to_bytes());
        log.append(lines);
        let new = NewLines::of_session(&self.database, &self.id, &log.to_bytes())?;
        let head = new.lines.len() as i64;
        let header = log.tree().header();
        let cwd = header.map(|header| shown(&header.cwd)).unwrap_or_default();
        let started = header.and_then(|header| Timestamp::parse(&header.timestamp));
        let (name, first_prompt) = told(&new.lines);
        let sql = "WITH source AS (\
                SELECT id FROM agent_sessions WHERE id = $12 AND lease_epoch = $13 FOR UPDATE\
            ), made AS (\
                INSERT INTO agent_sessions (id, cwd, started, name, first_prompt, bytes, head, \
                    lease_owner, lease_epoch, lease_until) \
                SELECT $1, $2, $3, $4, $5, $6, $7, $8, 1, \
                    CASE WHEN $10 THEN NULL ELSE now() + make_interval(secs => $9) END \
                WHERE $12 IS NULL OR EXISTS (SELECT FROM source) \
                ON CONFLICT (id) DO NOTHING RETURNING id\
            ), lines AS (\
                INSERT INTO agent_lines (session, seq, line) \
                SELECT made.id, new.seq, new.line FROM made, \
                    unnest($11::bytea[]) WITH ORDINALITY AS new (line, seq)\
            ), waiting AS (\
                INSERT INTO agent_waiting (session, entry, body) \
                SELECT made.id, new.entry, new.body FROM made, \
                    unnest($14::text[], $15::text[]) WITH ORDINALITY AS new (entry, body, number) \
                ORDER BY new.number\
            ), moved AS (\
                DELETE FROM agent_waiting USING made, source WHERE agent_waiting.session = source.id\
            ) SELECT count(*) FROM made";
        let bodies = queue.iter().map(body).collect::<Result<Vec<_>, _>>()?;
        let waiting: Vec<String> = queue.iter().map(|queued| queued.id.to_string()).collect();
        let (source, epoch) = from.unzip();
        let params = vec![
            param(self.id.clone(), Type::TEXT),
            param(cwd, Type::TEXT),
            param(started.map(Timestamp::as_millis), Type::INT8),
            param(name, Type::TEXT),
            param(first_prompt, Type::TEXT),
            param(new.bytes, Type::INT8),
            param(head, Type::INT8),
            param(self.owner.clone(), Type::TEXT),
            seconds(&self.database),
            param(free, Type::BOOL),
            param(new.lines, Type::BYTEA_ARRAY),
            param(source.clone(), Type::TEXT),
            param(epoch, Type::INT8),
            param(waiting, Type::TEXT_ARRAY),
            param(bodies, Type::TEXT_ARRAY),
        ];
        // Where nothing is made, an earlier write of this program without an answer may be the one that is there.
        self.is_behind = true;
        let rows = self.database.rows(Purpose::Write, sql, params).await?;
        if rows.first().map(|row| row.get::<_, i64>(0)) != Some(1) {
            let path = self.locator.as_path().to_owned();
            let id = self.id.clone();
            return Err(match (free, source) {
                (true, _) => StoreError::AlreadyThere { id },
                (false, Some(_)) => StoreError::LeaseLost { path },
                (false, None) => StoreError::Conflict { path },
            });
        }
        self.is_behind = false;
        if !free {
            self.lease = Some(Lease::held(&self.database, &self.id, 1)?);
        }
        (self.log, self.head) = (log, head);
        Ok(())
    }

    async fn append_lines(&mut self, lines: &Lines) -> Result<(), StoreError> {
        let Some(lease) = &self.lease else {
            if lines.weight == Weight::Start {
                self.log.append(&lines.lines);
                return Ok(());
            }
            return self.persist_with(&lines.lines, false, &[], None).await;
        };
        let ends = self.log.ends_with_newline();
        let new = NewLines::appended(&self.database, &self.id, ends, &lines.lines)?;
        let (name, first_prompt) = told(&new.lines);
        let sent: Vec<String> = lines.sent.iter().map(ToString::to_string).collect();
        // The time is indexed, so it changes once a second.
        let sql = "WITH held AS (\
                UPDATE agent_sessions SET head = head + $4, bytes = bytes + $5, \
                    modified = CASE WHEN now() - modified < interval '1 second' THEN modified ELSE now() END, \
                    name = coalesce($6, name), first_prompt = coalesce(first_prompt, $7), \
                    lease_until = now() + make_interval(secs => $8) \
                WHERE id = $1 AND lease_epoch = $2 AND head = $3 RETURNING id\
            ), lines AS (\
                INSERT INTO agent_lines (session, seq, line) \
                SELECT held.id, $3 + new.place, new.line FROM held, \
                    unnest($9::bytea[]) WITH ORDINALITY AS new (line, place)\
            ), sent AS (\
                DELETE FROM agent_waiting USING held \
                WHERE agent_waiting.session = held.id AND agent_waiting.entry = ANY ($10)\
            ) SELECT count(*) FROM held";
        let count = new.lines.len() as i64;
        let params = vec![
            param(self.id.clone(), Type::TEXT),
            param(lease.epoch, Type::INT8),
            param(self.head, Type::INT8),
            param(count, Type::INT8),
            param(new.bytes, Type::INT8),
            param(name, Type::TEXT),
            param(first_prompt, Type::TEXT),
            seconds(&self.database),
            param(new.lines, Type::BYTEA_ARRAY),
            param(sent, Type::TEXT_ARRAY),
        ];
        self.is_behind = true;
        let rows = self.database.rows(Purpose::Write, sql, params).await?;
        if rows.first().map(|row| row.get::<_, i64>(0)) != Some(1) {
            return Err(self.refusal().await);
        }
        self.is_behind = false;
        self.log.append(&lines.lines);
        self.head += count;
        Ok(())
    }

    /// Runs a statement about the messages that wait, which may be repeated.
    async fn wait_list(
        &self,
        sql: &'static str,
        more: Vec<crate::database::Param>,
    ) -> Result<(), StoreError> {
        let epoch = self.lease.as_ref().map_or(0, |lease| lease.epoch);
        let mut params = vec![
            param(self.id.clone(), Type::TEXT),
            param(epoch, Type::INT8),
            seconds(&self.database),
        ];
        params.extend(more);
        let rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
        match rows.first().map(|row| row.get::<_, i64>(0)) {
            Some(1) => Ok(()),
            _ => Err(self.refusal().await),
        }
    }

    /// Returns why a write changed nothing.
    async fn refusal(&self) -> StoreError {
        let sql = "SELECT lease_epoch FROM agent_sessions WHERE id = $1";
        let params = vec![param(self.id.clone(), Type::TEXT)];
        let path = self.locator.as_path().to_owned();
        let epoch = self.lease.as_ref().map(|lease| lease.epoch);
        match self.database.rows(Purpose::Repeatable, sql, params).await {
            Err(error) => error,
            Ok(rows) => match rows.first().map(|row| row.get::<_, i64>(0)) {
                None => StoreError::session(path, "removed while it was open"),
                found if found == epoch => StoreError::Conflict { path },
                Some(_) => StoreError::LeaseLost { path },
            },
        }
    }

    async fn take_in(&mut self) -> Result<(), StoreError> {
        if !self.is_behind {
            return Ok(());
        }
        if self.lease.is_none() {
            // Was it persisted by the write that has no answer?
            let sql = "SELECT lease_epoch FROM agent_sessions WHERE id = $1 AND lease_owner = $2";
            let params = vec![
                param(self.id.clone(), Type::TEXT),
                param(self.owner.clone(), Type::TEXT),
            ];
            let rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
            if let Some(row) = rows.first() {
                self.lease = Some(Lease::held(&self.database, &self.id, row.get(0))?);
            }
        }
        if self.lease.is_some() {
            let (bytes, head) = read_behind(&self.database, &self.id, self.head).await?;
            let known = match self.head {
                0 => Vec::new(),
                _ => self.log.to_bytes(),
            };
            if head != self.head {
                self.log = InMemoryLog::of([known, bytes].concat());
                self.head = head;
            }
        }
        self.is_behind = false;
        Ok(())
    }
}

/// Returns a message that waits as its row holds it.
fn body(queued: &Queued) -> Result<String, StoreError> {
    serde_json::to_string(queued).map_err(|error| StoreError::usage(error.to_string()))
}

impl SessionLog for PostgresLog {
    fn tree(&self) -> &SessionTree {
        self.log.tree()
    }

    fn diagnostics(&self) -> &[session_model::Diagnostic] {
        self.log.diagnostics()
    }

    fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    fn locator(&self) -> Option<&Locator> {
        Some(&self.locator)
    }

    fn is_persisted(&self) -> bool {
        self.lease.is_some()
    }

    fn readable_parent(&self, parent: EntryId) -> Option<EntryId> {
        session_store::readable_parent(self.tree(), Some(&parent)).0
    }

    fn lease(&self) -> Option<i64> {
        Some(self.lease.as_ref()?.epoch)
    }

    fn refresh(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(self.take_in())
    }

    fn append(&mut self, lines: Lines) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            match lines.lines.is_empty() {
                // They landed in a write without an answer, which removed what waited too.
                true => Ok(()),
                false => self.append_lines(&lines).await,
            }
        })
    }

    fn keep<'a>(&'a mut self, queued: &'a Queued) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.take_in().await?;
            if self.lease.is_none() {
                self.persist_with(&[], false, &[], None).await?;
            }
            let sql = "WITH held AS (\
                    UPDATE agent_sessions SET modified = now(), \
                        lease_until = now() + make_interval(secs => $3) \
                    WHERE id = $1 AND lease_epoch = $2 RETURNING id\
                ), kept AS (\
                    INSERT INTO agent_waiting (session, entry, body) \
                    SELECT id, $4, $5 FROM held ON CONFLICT DO NOTHING\
                ) SELECT count(*) FROM held";
            let more = vec![
                param(queued.id.to_string(), Type::TEXT),
                param(body(queued)?, Type::TEXT),
            ];
            self.wait_list(sql, more).await
        })
    }

    fn forget<'a>(&'a mut self, gone: &'a [EntryId], _: usize) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if gone.is_empty() || self.lease.is_none() {
                return Ok(());
            }
            let gone: Vec<String> = gone.iter().map(ToString::to_string).collect();
            let sql = "WITH held AS (\
                    UPDATE agent_sessions SET lease_until = now() + make_interval(secs => $3) \
                    WHERE id = $1 AND lease_epoch = $2 RETURNING id\
                ), gone AS (\
                    DELETE FROM agent_waiting USING held \
                    WHERE agent_waiting.session = held.id AND agent_waiting.entry = ANY ($4)\
                ) SELECT count(*) FROM held";
            self.wait_list(sql, vec![param(gone, Type::TEXT_ARRAY)])
                .await
        })
    }

    fn persist(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.take_in().await?;
            match self.lease {
                Some(_) => Ok(()),
                None => self.persist_with(&[], false, &[], None).await,
            }
        })
    }

    fn close(&mut self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            if let Some(lease) = &mut self.lease {
                lease.release().await?;
            }
            if self.head > self.opened {
                // What is left out here the next search catches up with.
                let _ = search::index(&self.database, &self.id, &mut ()).await;
            }
            Ok(())
        })
    }
}
