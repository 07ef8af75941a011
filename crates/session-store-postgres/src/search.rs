//! The index of searches: which sessions have a text.
//!
//! The texts of a session are cut into parts, and of every word of a part each eight characters in a row are a key, so
//! that a text is found inside a word too. A key begins with `^` where its word does, and ends with `$` where that does.

use std::collections::BTreeSet;
use std::sync::Arc;

use postgres_protocol::escape::escape_literal;
use session_model::decode_bytes;
use session_recall::{searched_texts, wanted_texts};
use session_store::{ReadObserver, StoreError};
use tokio_postgres::types::Type;

use crate::database::{Database, param};
use crate::error::Purpose;
use crate::rows::read_behind;

/// How many characters a key has at most.
const KEY: usize = 8;

/// How many bytes a part has, and how many of them the next one repeats: more than a query can look for in one piece. The
/// keys of a part fit into the megabyte that they may have.
const PART: usize = 32 * 1024;
const REPEATED: usize = 512;

/// How many bytes of lines are indexed at a time, unless one line is longer.
const BATCH: usize = 4 * 1024 * 1024;

/// How well a key fits: a whole word, the beginning of one, or anything inside. Whether it begins a word and ends it.
const FITS: [(f64, bool, bool); 3] = [(1.0, true, true), (0.7, true, false), (0.25, false, false)];

/// Returns the ids of the sessions that may have one of the words, the best first, and behind them of those that are not
/// indexed; `None` where keys do not tell.
pub(crate) async fn candidates(
    database: &Arc<Database>,
    words: &str,
    observer: &mut dyn ReadObserver,
) -> Result<Option<Vec<String>>, StoreError> {
    let (mut terms, mut fits, mut queries, mut required) = (vec![], vec![], vec![], vec![]);
    for (number, (text, is_required)) in (0_i32..).zip(wanted_texts(words)) {
        for (fit, begins, ends) in FITS {
            let Some(query) = query(&text, begins, ends) else {
                return Ok(None);
            };
            terms.push(number);
            fits.push(fit);
            queries.push(query);
        }
        required.extend(is_required.then_some(number));
    }
    if terms.is_empty() {
        return Ok(None);
    }
    let mut behind = catch_up(database, observer).await?;
    // A session is as good as its best part: rare texts count more.
    let sql = "WITH wanted AS (\
            SELECT term, fit, query::tsquery AS query \
            FROM unnest($1::int[], $2::float8[], $3::text[]) AS w (term, fit, query)\
        ), hits AS (\
            SELECT w.term, a.session, a.head, a.part, \
                w.fit / ln(2 + count(*) OVER (PARTITION BY w.query)) AS weight \
            FROM wanted w JOIN agent_words a ON a.words @@ w.query\
        ), best AS (\
            SELECT term, session, head, part, max(weight) AS weight FROM hits GROUP BY 1, 2, 3, 4\
        ), parts AS (\
            SELECT session, sum(weight) AS weight FROM best GROUP BY session, head, part\
        ), found AS (\
            SELECT session, max(weight) AS weight FROM parts GROUP BY session\
        ), complete AS (\
            SELECT session FROM best WHERE term = ANY ($4) \
            GROUP BY session HAVING count(DISTINCT term) = cardinality($4)\
        ) SELECT s.id FROM found f JOIN agent_sessions s ON s.id = f.session \
        WHERE cardinality($4) = 0 OR f.session IN (SELECT session FROM complete) \
        ORDER BY f.weight DESC, s.modified DESC, s.id";
    let params = vec![
        param(terms, Type::INT4_ARRAY),
        param(fits, Type::FLOAT8_ARRAY),
        param(queries, Type::TEXT_ARRAY),
        param(required, Type::INT4_ARRAY),
    ];
    let rows = database.rows(Purpose::Repeatable, sql, params).await?;
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    behind.retain(|id| !found.contains(id));
    Ok(Some([found, behind].concat()))
}

/// Indexes what was written since, and returns the sessions for which that is not possible: this user may only read.
async fn catch_up(
    database: &Arc<Database>,
    observer: &mut dyn ReadObserver,
) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT s.id FROM agent_sessions s LEFT JOIN (\
            SELECT session, max(head) AS head FROM agent_words GROUP BY session\
        ) w ON w.session = s.id WHERE s.head > coalesce(w.head, 0) ORDER BY s.modified DESC";
    let rows = database.rows(Purpose::Repeatable, sql, Vec::new()).await?;
    let behind: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    for (number, id) in behind.iter().enumerate() {
        match index(database, id, observer).await {
            Err(error @ StoreError::Cancelled) => return Err(error),
            Err(_) => return Ok(behind[number..].to_vec()),
            Ok(()) => {}
        }
    }
    Ok(Vec::new())
}

/// Indexes what was written to a session since the last time, in batches of which each is kept.
pub(crate) async fn index(
    database: &Arc<Database>,
    session: &str,
    observer: &mut dyn ReadObserver,
) -> Result<(), StoreError> {
    observer.read(0)?;
    let id = || param(session.to_owned(), Type::TEXT);
    let sql = "SELECT coalesce(max(head), 0) FROM agent_words WHERE session = $1";
    let rows = database.rows(Purpose::Repeatable, sql, vec![id()]).await?;
    let mut head: i64 = rows.first().map_or(0, |row| row.get(0));
    // How entries are read depends on the header.
    let first = format!(
        "COPY (SELECT line FROM agent_lines WHERE session = {} AND seq = 1 AND {head} > 0) TO STDOUT (FORMAT binary)",
        escape_literal(session)
    );
    let (header, _) = database.copy(first).await?;
    let (bytes, _) = read_behind(database, session, head).await?;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').peekable();
    let mut batch = header.clone();
    while let Some(line) = lines.next() {
        batch.extend_from_slice(line);
        head += 1;
        if batch.len() < BATCH && lines.peek().is_some() {
            continue;
        }
        observer.read(0)?;
        let tree = decode_bytes(std::mem::replace(&mut batch, header.clone())).tree;
        let text: Vec<String> = searched_texts(&tree).collect();
        let sql = "INSERT INTO agent_words (session, head, part, words) \
            SELECT $1, $2, new.part, array_to_tsvector(string_to_array(new.words, ' ')) \
            FROM unnest($3::text[]) WITH ORDINALITY AS new (words, part) ON CONFLICT DO NOTHING";
        let params = vec![
            id(),
            param(head, Type::INT8),
            param(parts(&text.join("\n")), Type::TEXT_ARRAY),
        ];
        database.rows(Purpose::Repeatable, sql, params).await?;
    }
    Ok(())
}

/// Returns a text in lower case, as keys and queries have it.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Returns the keys of each part of a text, separated by blanks.
fn parts(text: &str) -> Vec<String> {
    let text = lower(text);
    let mut parts = Vec::new();
    let mut from = 0;
    loop {
        let end = text.floor_char_boundary(from + PART);
        let keys: Vec<String> = keys(&text[from..end]).into_iter().collect();
        parts.push(keys.join(" "));
        if end == text.len() {
            return parts;
        }
        from = text.floor_char_boundary(end - REPEATED);
    }
}

fn keys(text: &str) -> BTreeSet<String> {
    let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let mut keys = BTreeSet::new();
    for word in words {
        let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
        for (number, start) in starts.iter().enumerate() {
            let begin = if number == 0 { "^" } else { "" };
            keys.insert(match starts.get(number + KEY) {
                Some(end) => format!("{begin}{}", &word[*start..*end]),
                None => format!("{begin}{}$", &word[*start..]),
            });
        }
    }
    keys
}

/// Returns the query for the parts that have a text, which begins a word and ends one where that is said; `None` for a
/// text without a word.
fn query(text: &str, begins: bool, ends: bool) -> Option<String> {
    let text = lower(text);
    let is_word = |c: char| c.is_alphanumeric();
    let words: Vec<&str> = text.split(|c| !is_word(c)).collect();
    let last = words.len() - 1;
    let mut keys = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let (begins, ends) = (begins || number > 0, ends || number < last);
        let characters: Vec<char> = word.chars().collect();
        let mut at = 0;
        while at < characters.len() {
            let end = characters.len().min(at + KEY);
            let key: String = characters[at..end].iter().collect();
            let key = match (end == characters.len(), ends) {
                (false, _) => format!("{key}'"),
                (true, true) => format!("{key}$'"),
                (true, false) => format!("{key}':*"),
            };
            keys.push(match (at, begins) {
                (0, true) => format!("'^{key}"),
                (0, false) => format!("('^{key} | '{key})"),
                _ => format!("'{key}"),
            });
            // The last key is a whole one, for a short one tells little.
            let rest = characters.len() - end;
            at = if rest == 0 { end } else { at + rest.min(KEY) };
        }
    }
    (!keys.is_empty()).then(|| keys.join(" & "))
}
