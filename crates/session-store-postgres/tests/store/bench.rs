//! What the store costs, beside what the database costs alone.
//!
//! `cargo test --release -p session-store-postgres --test store -- --ignored --nocapture measurements`

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use session_store::{Query, SessionCatalog, list_all};
use tokio_postgres::{Client, Config, NoTls};

use crate::search::matching;
use crate::server::Server;
use crate::{Database, answer, begun, server};

/// How often a short work is done.
const TIMES: u32 = 500;

/// The lines of a long session.
const LINES: u32 = 100_000;

/// The sessions that are searched, and the entries of each.
const SESSIONS: u32 = 10_000;
const ENTRIES: u32 = 20;

/// What their words are made of.
const SYLLABLES: &str = "con ta re mi ex port able lo pre test ing de fo ra tion un per mo se le \
    com ver si ma in out ter ne po li sub ca est di al to ro pa fi ent";

/// A text as long as a usual entry.
const ENTRY: usize = 1000;

async fn client(server: &Server) -> Client {
    let mut config = Config::new();
    config
        .host_path(server.folder())
        .user("agents")
        .dbname("agents");
    let (client, connection) = config.connect(NoTls).await.expect("connected");
    tokio::spawn(connection);
    client
}

fn print(what: &str, times: u32, began: Instant) {
    let each = began.elapsed() / times;
    println!("{what:<50} {:>10.3} ms", each.as_secs_f64() * 1000.0);
}

#[tokio::test]
#[ignore = "it measures"]
async fn measurements() {
    let Some(server) = server() else { return };
    // As servers run.
    server.run("ALTER SYSTEM SET fsync = on");
    server.run("SELECT pg_reload_conf()");
    let database = Database::new(&server);
    let schema = &database.schema;
    let catalog = database.catalog_at(None);
    let client = client(&server).await;
    let text = "x".repeat(ENTRY);

    let mut store = begun(&*catalog).await;
    let at = store.locator().cloned().expect("a locator");
    let make = format!("CREATE TABLE {schema}.bare (line bytea)");
    client.batch_execute(&make).await.expect("made");
    let insert = client
        .prepare(&format!("INSERT INTO {schema}.bare VALUES ($1)"))
        .await;
    let insert = insert.expect("prepared");
    let line = text.as_bytes();
    let mut spent = [Duration::ZERO; 2];
    for _ in 0..TIMES {
        let began = Instant::now();
        client.execute(&insert, &[&line]).await.expect("inserted");
        spent[0] += began.elapsed();
        let began = Instant::now();
        store
            .append(vec![answer(&text).into()])
            .await
            .expect("appended");
        spent[1] += began.elapsed();
    }
    for (what, spent) in ["bare INSERT with commit", "append"].iter().zip(spent) {
        println!(
            "{what:<50} {:>10.3} ms",
            spent.as_secs_f64() * 1000.0 / f64::from(TIMES)
        );
    }
    store.close().await.expect("closed");
    let began = Instant::now();
    for _ in 0..TIMES {
        let store = catalog.open(&at, &mut ()).await.expect("it opens");
        store.close().await.expect("closed");
    }
    print("open with lease, read 500 entries, close", TIMES, began);

    // A long session, and many.
    server.run(&format!(
        "INSERT INTO {schema}.agent_sessions (id, cwd, bytes, head) \
           SELECT 'long', '/long', 0, {LINES}; \
         INSERT INTO {schema}.agent_lines \
           SELECT 'long', n, convert_to(CASE WHEN n = 1 THEN \
             '{{\"type\":\"session\",\"version\":3,\"id\":\"long\",\"cwd\":\"/long\"}}' ELSE \
             '{{\"type\":\"custom\",\"id\":\"' || to_hex(n) || '\",\"parentId\":' || \
             CASE WHEN n = 2 THEN 'null' ELSE '\"' || to_hex(n - 1) || '\"' END || \
             ',\"customType\":\"x\",\"data\":\"' || repeat('x', {ENTRY}) || '\"}}' END || E'\\n', 'UTF8') \
           FROM generate_series(1, {LINES}) n; ANALYZE {schema}.agent_lines"
    ));
    let found = catalog.find("long").await.expect("found");
    for turn in ["first", "again"] {
        let began = Instant::now();
        let sql = format!(
            "COPY (SELECT line FROM {schema}.agent_lines WHERE session = 'long' ORDER BY seq) TO STDOUT (FORMAT binary)"
        );
        let copy = client.copy_out(&sql).await.expect("copied");
        let bytes: usize = copy
            .try_fold(0, async |sum, part| Ok(sum + part.len()))
            .await
            .expect("all");
        print(
            &format!("COPY of {LINES} lines, {bytes} bytes, {turn}"),
            1,
            began,
        );
        let began = Instant::now();
        let store = catalog.open(&found, &mut ()).await.expect("it opens");
        print(
            &format!("open a session of {LINES} lines, {turn}"),
            1,
            began,
        );
        assert_eq!(store.tree().len(), LINES as usize - 1);
        store.close().await.expect("closed");
    }
    let mut known = 0;
    for count in [1_000_u32, 10_000, 100_000] {
        server.run(&format!(
            "INSERT INTO {schema}.agent_sessions (id, cwd, bytes, head, modified, first_prompt) \
               SELECT 's' || n, '/project/' || n % 100, 0, 0, now() - n * interval '1 minute', 'fix it' \
               FROM generate_series({known} + 1, {count}) n; ANALYZE {schema}.agent_sessions"
        ));
        known = count;
        for (what, cwd) in [("all", None), ("one folder", Some("/project/7"))] {
            let query = Query {
                cwd,
                limit: Some(100),
                ..Query::default()
            };
            let first = catalog.list(query).await.expect("a page");
            let began = Instant::now();
            for _ in 0..50 {
                let after = first.next.as_deref();
                catalog
                    .list(Query { after, ..query })
                    .await
                    .expect("a page");
            }
            print(
                &format!("page of 100 of {count} sessions, {what}"),
                50,
                began,
            );
        }
        let began = Instant::now();
        catalog.find("s77").await.expect("found");
        print(
            &format!("find by the beginning of an id of {count}"),
            1,
            began,
        );
    }
    let size = format!(
        "SELECT pg_total_relation_size('{schema}.agent_lines')::bigint, \
            pg_total_relation_size('{schema}.agent_sessions')::bigint"
    );
    let row = client.query_one(&size, &[]).await.expect("sizes");
    let (lines, sessions): (i64, i64) = (row.get(0), row.get(1));
    println!("bytes per line of {ENTRY}: {}", lines / i64::from(LINES));
    println!("bytes per session: {}", sessions / 100_000);
    searches(&server, &database, &*catalog).await;
}

/// Searches sessions whose entries have 160 of 30,000 words each, as often as words are, and one word of their own.
async fn searches(server: &Server, database: &Database, catalog: &dyn SessionCatalog) {
    let schema = &database.schema;
    server.run(&format!(
        "SET search_path = {schema}; SELECT setseed(0.5); \
         CREATE TABLE words AS SELECT n, s[1 + n % 40] || s[1 + n / 40 % 40] || CASE WHEN n < 1600 THEN '' ELSE s[1 + n / 1600] END \
           AS word FROM generate_series(0, 29999) n, string_to_array('{SYLLABLES}', ' ') s; CREATE UNIQUE INDEX ON words (n); \
         CREATE TABLE texts AS SELECT t.n AS place, string_agg(w.word, ' ') AS text FROM \
           (SELECT n, floor(exp(random() * ln(29999)))::int AS pick FROM generate_series(1, 3000) n, generate_series(1, 160)) t \
           JOIN words w ON w.n = t.pick GROUP BY t.n; CREATE UNIQUE INDEX ON texts (place); \
         INSERT INTO agent_sessions (id, cwd, bytes, head, modified) \
           SELECT 'w' || n, '/words', 0, {ENTRIES} + 1, now() - n * interval '1 minute' FROM generate_series(1, {SESSIONS}) n; \
         INSERT INTO agent_lines SELECT 'w' || n, 1, convert_to('{{\"type\":\"session\",\"version\":3,\"id\":\"w' || n || \
           '\",\"cwd\":\"/words\"}}' || E'\\n', 'UTF8') FROM generate_series(1, {SESSIONS}) n; \
         INSERT INTO agent_lines SELECT 'w' || n, e + 1, convert_to('{{\"type\":\"message\",\"id\":\"' || e || '\",\"parentId\":' || \
           CASE WHEN e = 1 THEN 'null' ELSE '\"' || e - 1 || '\"' END || \
           ',\"message\":{{\"role\":\"user\",\"content\":\"own' || n || 'x' || e || ' ' || t.text || '\"}}}}' || E'\\n', 'UTF8') \
           FROM generate_series(1, {SESSIONS}) n, generate_series(1, {ENTRIES}) e \
           JOIN LATERAL (SELECT text FROM texts WHERE place = (n * 7919 + e * 104729) % 3000 + 1) t ON true; \
         ANALYZE agent_lines"
    ));
    let began = Instant::now();
    catalog.candidates("nothing", &mut ()).await.expect("found");
    print("index 10,000 sessions, once", 1, began);
    let client = client(server).await;
    let common = format!("SELECT word FROM {schema}.words WHERE n IN (20, 300) ORDER BY n");
    let common = client.query(&common, &[]).await.expect("words");
    let common: Vec<String> = common.iter().map(|row| row.get(0)).collect();
    for query in ["own4711x7".to_owned(), common[0].clone(), common.join(" ")] {
        for turn in ["first", "again"] {
            let began = Instant::now();
            let found = catalog.candidates(&query, &mut ()).await;
            let found = found.expect("found").expect("words");
            print(
                &format!("candidates for {query}, {turn}: {}", found.len()),
                1,
                began,
            );
            let mut entries = 0;
            for row in found.iter().take(40) {
                let read = catalog.read(&row.locator, &mut ()).await.expect("read");
                entries += matching(&read, &query);
            }
            print(
                &format!("search with the index, {turn}: {entries} entries"),
                1,
                began,
            );
        }
    }
    let began = Instant::now();
    let mut entries = 0;
    for row in list_all(catalog, Some("/words")).await.expect("a list") {
        let read = catalog.read(&row.locator, &mut ()).await.expect("read");
        entries += matching(&read, "own4711x7");
    }
    print(
        &format!("search by reading all: {entries} entries"),
        1,
        began,
    );
    let sizes = format!(
        "SELECT sum(octet_length(line))::bigint, pg_total_relation_size('{schema}.agent_words')::bigint, \
           pg_relation_size('{schema}.agent_words_by_word')::bigint FROM {schema}.agent_lines WHERE session LIKE 'w%'"
    );
    let row = client.query_one(&sizes, &[]).await.expect("sizes");
    let [text, all, keys] = [0, 1, 2].map(|at| row.get::<_, i64>(at) / 1_000_000);
    println!("MB of these sessions: {text}, of their index: {all}, of it keys: {keys}");
}
