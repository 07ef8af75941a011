//! The part of the suite that stores pass which several machines use.

use std::sync::Arc;

use crate::conformance_tests::{Backend, answer, answered, said, user};
use crate::traits::BoxFuture;
use crate::{Delivery, NewEntry, SessionCatalog, StoreError, list_all};

/// A store that several machines use, with all that the suite needs to disturb it.
pub trait SharedBackend: Backend {
    /// Returns the catalog of another program.
    fn other(&self) -> Arc<dyn SessionCatalog>;

    /// Lets the time of all leases pass.
    fn expire_leases(&self) -> BoxFuture<'_, ()>;

    /// Ends the connections of the first program.
    fn cut(&self);

    /// Ends the next connection of the first program that writes, after the write and before its answer.
    fn lose_next_answer(&self);
}

/// Checks what shared stores promise, each on a new backend.
///
/// # Panics
/// The stores of the backend break a promise.
pub async fn check_shared<B: SharedBackend>(new: impl Fn() -> B) {
    two_programs_write_in_turn(&new()).await;
    a_writer_whose_lease_ended_is_refused(&new()).await;
    a_lease_that_no_other_program_took_goes_on(&new()).await;
    a_write_whose_answer_is_lost_is_there_once(&new()).await;
    a_write_that_is_not_waited_for_is_there_at_most_once(&new()).await;
    a_lost_connection_is_made_again(&new()).await;
}

async fn two_programs_write_in_turn(backend: &dyn SharedBackend) {
    let (store, _, at) = answered(backend).await;
    let other = backend.other();
    let refused = other.open(&at, &mut ()).await.expect_err("it is open");
    assert!(matches!(refused, StoreError::Session { .. }), "{refused}");
    let rows = list_all(&*other, None).await.expect("a list");
    assert_eq!((rows.len(), rows[0].locked), (1, true));
    store.close().await.expect("closed");
    let mut theirs = other.open(&at, &mut ()).await.expect("it is free");
    theirs.append(vec![user("three")]).await.expect("appended");
    theirs.close().await.expect("closed");
    let again = backend
        .catalog()
        .open(&at, &mut ())
        .await
        .expect("it opens");
    assert_eq!(said(&*again), ["one", "two", "three"]);
}

async fn a_writer_whose_lease_ended_is_refused(backend: &dyn SharedBackend) {
    let (mut stale, _, at) = answered(backend).await;
    let queued = stale.queue("waits".into(), Delivery::Prompt).await;
    let queued = queued.expect("queued");
    backend.expire_leases().await;
    let other = backend.other();
    let mut theirs = other.open(&at, &mut ()).await.expect("it is free");
    assert_eq!(theirs.queued(), std::slice::from_ref(&queued));
    for _ in 0..2 {
        let refused = stale.append(vec![user("x")]).await.expect_err("fenced");
        assert!(matches!(refused, StoreError::LeaseLost { .. }), "{refused}");
    }
    let refused = stale.queue("x".into(), Delivery::Prompt).await;
    refused.expect_err("fenced");
    stale.drop_queued(&queued.id).await.expect_err("fenced");
    drop(stale);
    theirs
        .append(vec![user("three")])
        .await
        .expect("their lease holds");
    assert_eq!(said(&*theirs), ["one", "two", "three"]);
    assert_eq!(theirs.queued(), [queued]);
    assert_eq!(backend.lines(&at).len(), 4);
}

async fn a_lease_that_no_other_program_took_goes_on(backend: &dyn SharedBackend) {
    let (mut store, _, at) = answered(backend).await;
    backend.expire_leases().await;
    store
        .append(vec![user("three")])
        .await
        .expect("the only writer");
    let refused = backend.other().open(&at, &mut ()).await;
    refused.expect_err("the write renewed the lease");
}

fn named(store: &dyn crate::SessionStore, entry: NewEntry) -> NewEntry {
    NewEntry {
        id: Some(store.fresh_id()),
        ..entry
    }
}

async fn a_write_whose_answer_is_lost_is_there_once(backend: &dyn SharedBackend) {
    let (mut store, _, at) = answered(backend).await;
    let queued = store.queue("waits".into(), Delivery::Prompt).await;
    let queued = store.queued_entry(&queued.expect("queued").id);
    let queued = queued.expect("it waits");
    for entry in [named(&*store, answer("three")), queued] {
        backend.lose_next_answer();
        let entries = vec![entry];
        match store.append(entries.clone()).await {
            Ok(_) | Err(StoreError::Unknown { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        match store.append(entries).await {
            Ok(_) => {}
            // The first one was reported as written.
            Err(error) => assert!(error.to_string().contains("in use"), "{error}"),
        }
    }
    assert_eq!(said(&*store), ["one", "two", "three", "waits"]);
    assert_eq!(store.queued(), []);
    assert_eq!(backend.lines(&at).len(), 5);
}

async fn a_write_that_is_not_waited_for_is_there_at_most_once(backend: &dyn SharedBackend) {
    let (mut store, _, at) = answered(backend).await;
    let entries = vec![named(&*store, answer("three"))];
    {
        let mut write = store.append(entries.clone());
        let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
        // It has begun, and is dropped before its end.
        let _ = write.as_mut().poll(context);
    }
    store.append(entries).await.expect("appended");
    store.append(vec![user("four")]).await.expect("appended");
    assert_eq!(said(&*store), ["one", "two", "three", "four"]);
    assert_eq!(backend.lines(&at).len(), 5);
}

async fn a_lost_connection_is_made_again(backend: &dyn SharedBackend) {
    let (mut store, _, at) = answered(backend).await;
    backend.cut();
    let entries = vec![named(&*store, user("three"))];
    if store.append(entries.clone()).await.is_err() {
        store
            .append(entries)
            .await
            .expect("the connection is made again");
    }
    backend.cut();
    let catalog = backend.catalog();
    let read = catalog.read(&at, &mut ()).await;
    let read = match read {
        Ok(read) => read,
        Err(_) => catalog
            .read(&at, &mut ())
            .await
            .expect("the connection is made again"),
    };
    assert_eq!(read.tree().len(), 3);
}
