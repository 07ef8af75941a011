//! The whole text of outputs that were cut.

use std::sync::Arc;

use session_store::{OutputStore, StoreError, StoreFuture};
use tokio_postgres::types::Type;

use crate::database::{Database, param};
use crate::error::Purpose;

/// The most bytes of an output; tools keep less.
const MOST: usize = 256 * 1024 * 1024;

/// The outputs of all sessions in a database.
#[derive(Debug)]
pub(crate) struct PostgresOutputs(pub Arc<Database>);

impl OutputStore for PostgresOutputs {
    fn put<'a>(&'a self, session: &'a str, name: &'a str, bytes: Vec<u8>) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            if bytes.len() > MOST {
                let (size, most) = (bytes.len() / (1024 * 1024), MOST / (1024 * 1024));
                let reason = format!("an output of {size} MB; this store takes at most {most} MB");
                let locator = self.0.address.of_session(session);
                return Err(StoreError::session(locator.as_path(), reason));
            }
            let sql = "INSERT INTO agent_outputs (session, name, bytes) VALUES ($1, $2, $3) \
                ON CONFLICT DO NOTHING";
            let params = vec![
                param(session.to_owned(), Type::TEXT),
                param(name.to_owned(), Type::TEXT),
                param(bytes, Type::BYTEA),
            ];
            self.0
                .rows(Purpose::Repeatable, sql, params)
                .await
                .map(drop)
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let sql = "SELECT bytes FROM agent_outputs WHERE name = $1";
            let params = vec![param(name.replace('\0', ""), Type::TEXT)];
            let rows = self.0.rows(Purpose::Repeatable, sql, params).await?;
            Ok(rows.first().map(|row| row.get(0)))
        })
    }
}
