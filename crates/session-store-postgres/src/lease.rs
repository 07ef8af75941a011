//! Leases: the right to write to a session, for a time, renewed while it is used.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use session_store::{Advice, StoreError};
use tokio::task::JoinHandle;
use tokio_postgres::types::Type;

use crate::database::{Database, Param, param, runtime};
use crate::error::Purpose;

/// How long a lease that is dropped waits for its release.
const RELEASE: Duration = Duration::from_secs(2);

/// Returns a name that no other writer has, and that tells people where the writer is.
pub(crate) fn new_owner() -> String {
    let host = std::env::var("HOSTNAME").ok();
    let host = host.or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let host = host.map_or_else(|| "a machine".to_owned(), |host| host.trim().to_owned());
    let process = std::process::id();
    format!(
        "process {process} on {host} ({})",
        uuid::Uuid::new_v4().simple()
    )
}

/// A lease that this program holds.
#[derive(Debug)]
pub(crate) struct Lease {
    database: Arc<Database>,
    session: String,
    /// What fences writers whose lease is older.
    pub epoch: i64,
    renewal: Option<JoinHandle<()>>,
}

impl Lease {
    /// Takes the lease of a session, and returns the number of its last line too.
    pub async fn take(
        database: &Arc<Database>,
        session: &str,
        owner: &str,
    ) -> Result<(Self, i64), StoreError> {
        // Where the answer to the first try was lost, the second one finds its own lease.
        let sql = "UPDATE agent_sessions \
            SET lease_epoch = lease_epoch + 1, lease_owner = $2, \
                lease_until = now() + make_interval(secs => $3) \
            WHERE id = $1 AND (lease_until IS NULL OR lease_until < now() OR lease_owner = $2) \
            RETURNING lease_epoch, head";
        let params = vec![
            param(session.to_owned(), Type::TEXT),
            param(owner.to_owned(), Type::TEXT),
            seconds(database),
        ];
        let rows = database.rows(Purpose::Repeatable, sql, params).await?;
        match rows.first() {
            Some(row) => Ok((Self::held(database, session, row.get(0))?, row.get(1))),
            None => Err(refusal(database, session).await),
        }
    }

    /// Returns a lease that was just taken, and renews it from now on.
    pub fn held(database: &Arc<Database>, session: &str, epoch: i64) -> Result<Self, StoreError> {
        let (of, id) = (database.clone(), session.to_owned());
        let renewal = runtime()?.spawn(async move {
            loop {
                tokio::time::sleep(of.address.lease / 3).await;
                let sql = "UPDATE agent_sessions \
                    SET lease_until = now() + make_interval(secs => $3) \
                    WHERE id = $1 AND lease_epoch = $2 RETURNING 1";
                let params = vec![
                    param(id.clone(), Type::TEXT),
                    param(epoch, Type::INT8),
                    seconds(&of),
                ];
                // One that fails is tried again; one that was lost is noticed by the next write.
                if of
                    .rows(Purpose::Repeatable, sql, params)
                    .await
                    .is_ok_and(|rows| rows.is_empty())
                {
                    break;
                }
            }
        });
        Ok(Self {
            database: database.clone(),
            session: session.to_owned(),
            epoch,
            renewal: Some(renewal),
        })
    }

    /// Gives the lease back; what happens where that fails is that its time passes.
    pub async fn release(&mut self) -> Result<(), StoreError> {
        let Some(renewal) = self.renewal.take() else {
            return Ok(());
        };
        renewal.abort();
        release(&self.database, self.session.clone(), self.epoch).await
    }
}

async fn release(database: &Arc<Database>, session: String, epoch: i64) -> Result<(), StoreError> {
    let sql = "UPDATE agent_sessions SET lease_until = NULL \
        WHERE id = $1 AND lease_epoch = $2";
    let params = vec![param(session, Type::TEXT), param(epoch, Type::INT8)];
    database
        .rows(Purpose::Repeatable, sql, params)
        .await
        .map(drop)
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (Some(renewal), Ok(runtime)) = (self.renewal.take(), runtime()) else {
            return;
        };
        renewal.abort();
        let (done, released) = mpsc::channel();
        let (database, session, epoch) = (self.database.clone(), self.session.clone(), self.epoch);
        runtime.spawn(async move {
            let _ = release(&database, session, epoch).await;
            let _ = done.send(());
        });
        // The program may end right after this.
        let _ = released.recv_timeout(RELEASE);
    }
}

/// Returns the time of a lease as a parameter.
pub(crate) fn seconds(database: &Database) -> Param {
    param(database.address.lease.as_secs_f64(), Type::FLOAT8)
}

/// Returns why a session cannot be opened or removed now.
pub(crate) async fn refusal(database: &Arc<Database>, session: &str) -> StoreError {
    let sql = "SELECT lease_owner, ceil(extract(epoch FROM lease_until - now()))::bigint \
        FROM agent_sessions WHERE id = $1";
    let params = vec![param(session.to_owned(), Type::TEXT)];
    let rows = match database.rows(Purpose::Repeatable, sql, params).await {
        Ok(rows) => rows,
        Err(error) => return error,
    };
    let locator = database.address.of_session(session);
    let path = locator.as_path();
    let Some(row) = rows.first() else {
        return StoreError::session(path, "no such session; check the id");
    };
    let owner: Option<String> = row.get(0);
    let left: Option<i64> = row.get(1);
    let owner = owner.unwrap_or_default();
    let owner = owner.split(" (").next().unwrap_or_default();
    let reason = format!(
        "locked by {owner}; where that is gone, the lock ends in {} seconds; wait",
        left.unwrap_or_default().max(1)
    );
    StoreError::session(path, reason).advising(Advice::ReadOrFork)
}
