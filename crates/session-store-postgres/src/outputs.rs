//! The whole text of outputs that were cut.

use std::sync::Arc;

use session_store::{OutputStore, StoreError, StoreFuture};
use tokio_postgres::types::Type;

use crate::database::{Database, param};
use crate::error::Purpose;

/// The most bytes of an output; tools keep less.
const MOST: usize = 256 * 1024 * 1024;

/// The outputs of a session in a database.
#[derive(Debug)]
pub(crate) struct PostgresOutputs {
    pub database: Arc<Database>,
    pub session: String,
}

impl OutputStore for PostgresOutputs {
    fn put<'a>(&'a self, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if bytes.len() > MOST {
                let (size, most) = (bytes.len() / (1024 * 1024), MOST / (1024 * 1024));
                let reason = format!("an output of {size} MB; this store takes at most {most} MB");
                let locator = self.database.address.of_session(&self.session);
                return Err(StoreError::session(locator.as_path(), reason));
            }
            let sql = "INSERT INTO agent_outputs (session, name, bytes) VALUES ($1, $2, $3) \
                ON CONFLICT DO NOTHING";
            let params = vec![
                param(self.session.clone(), Type::TEXT),
                param(name.to_owned(), Type::TEXT),
                param(bytes, Type::BYTEA),
            ];
            let put = self.database.rows(Purpose::Repeatable, sql, params);
            put.await.map(drop)
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let sql = "SELECT bytes FROM agent_outputs WHERE name = $1";
            let params = vec![param(name.replace('\0', ""), Type::TEXT)];
            let rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
            Ok(rows.first().map(|row| row.get(0)))
        })
    }

    fn names(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let sql = "SELECT name FROM agent_outputs WHERE session = $1 ORDER BY name";
            let params = vec![param(self.session.clone(), Type::TEXT)];
            let rows = self.database.rows(Purpose::Repeatable, sql, params).await?;
            Ok(rows.iter().map(|row| row.get(0)).collect())
        })
    }
}
