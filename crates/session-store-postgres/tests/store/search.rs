//! What the index of searches promises: it names every session in which a search finds something.

use serde_json::json;
use session_model::{ContextRules, TokenCount, build_context};
use session_recall::{Access, Query, RecallFilters, RecallRequest, RecallSearch};
use session_store::SessionFile;
use session_store::conformance_tests::Backend;

use crate::{Database, server};

/// How many sessions and queries are made by chance.
const SESSIONS: usize = 16;
const QUERIES: usize = 100;

/// What texts are made of.
const PIECES: [&str; 24] = [
    "parse",
    "Reparse_file",
    "src/Parse.rs",
    "std::io::Error",
    "readFile",
    "e2e",
    "0ae2e9f1c3d4",
    "--limit",
    ".gitignore",
    "\u{4fee}\u{590d}\u{7f13}\u{5b58}bug",
    "\u{c4}pfel",
    "na\u{ef}ve",
    "\u{130}stanbul",
    "\u{1e9e}trasse",
    "don't",
    "C++",
    "8421",
    "\u{1f600}",
    "\u{3a3}\u{3a3}",
    "a.b.c",
    "x=\"y\"",
    "^caret$",
    "internationalization",
    "no such file",
];

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn text(&mut self, pieces: usize) -> String {
        let mut text = String::new();
        for _ in 0..pieces {
            text.push_str(PIECES[self.below(PIECES.len())]);
            text.push_str([" ", " ", "\n", "", "-", "/", "\t"][self.below(7)]);
        }
        text
    }
}

/// Returns how many entries a search of a session finds.
pub(crate) fn matching(session: &SessionFile, query: &str) -> usize {
    let tree = session.tree();
    let path = tree.path(tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    let request = RecallRequest {
        query: Query::Words(query),
        filters: RecallFilters::default(),
        entries: 8,
        tokens: TokenCount(1000),
        except: None,
        access: Access::default(),
        hint: "",
    };
    let search = RecallSearch::new(&path, &context, &request);
    let scans = search.parts(1).into_iter();
    let scans = scans.filter_map(|part| search.scan(part, &|| false));
    let found = search.finish(scans.collect(), &|| false);
    found.expect("it is not stopped").matching
}

/// Returns a session whose entries say such texts: of the user, in a call, and as its result.
fn session(number: usize, texts: [&str; 3]) -> SessionFile {
    let id = format!("random-{number}");
    let call = json!({ "type": "toolCall", "id": "c", "name": "look",
        "arguments": { "what": texts[1], "more": { "deep": [texts[1]] } } });
    let lines = [
        json!({ "type": "session", "version": 3, "id": id, "cwd": "/p", "timestamp": "2026-01-01T00:00:00.000Z" }),
        json!({ "type": "message", "id": "1", "parentId": null, "message": { "role": "user", "content": texts[0] } }),
        json!({ "type": "message", "id": "2", "parentId": "1", "message": { "role": "assistant",
            "content": [call], "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse" } }),
        json!({ "type": "message", "id": "3", "parentId": "2", "message": { "role": "toolResult", "toolCallId": "c",
            "toolName": "look", "isError": false, "content": [{ "type": "text", "text": texts[2] }] } }),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    SessionFile::of_memory(id.as_ref(), lines.into_bytes()).expect("a session")
}

#[tokio::test]
async fn every_session_in_which_a_search_finds_something_is_a_candidate() {
    let Some(server) = server() else { return };
    let database = Database::new(&server);
    let catalog = database.catalog();
    let mut numbers = Numbers(7);
    let (mut sessions, mut said) = (Vec::new(), Vec::new());
    for number in 0..SESSIONS {
        // Some are longer than a part of the index.
        let length = match number {
            0 => 5000,
            _ => [3, 12, 40][numbers.below(3)],
        };
        let texts = [(); 3].map(|()| numbers.text(length));
        let session = session(number, [&texts[0], &texts[1], &texts[2]]);
        catalog.adopt(&session).await.expect("adopted");
        sessions.push(session);
        said.extend(texts);
    }
    let mut hits = 0;
    for _ in 0..QUERIES {
        let text: Vec<char> = said[numbers.below(said.len())].chars().collect();
        let from = numbers.below(text.len());
        let end = text.len().min(from + 1 + numbers.below(24));
        let mut query: String = text[from..end].iter().collect();
        if numbers.below(4) == 0 {
            query = format!("\"{}\"", query.replace('"', ""));
        }
        let found = catalog.candidates(&query, &mut ()).await;
        let Some(found) = found.expect("an answer") else {
            continue;
        };
        for session in &sessions {
            if matching(session, &query) > 0 {
                hits += 1;
                let id = &session.tree().header().expect("a header").id;
                assert!(
                    found.iter().any(|row| row.id == *id),
                    "{query:?} is in {id}"
                );
            }
        }
    }
    assert!(hits > QUERIES, "{hits}");
}

#[tokio::test]
async fn a_role_that_may_only_read_finds_what_is_not_indexed() {
    let Some(server) = server() else { return };
    let database = Database::new(&server);
    let catalog = database.catalog_at(None);
    for number in 0..2 {
        let session = session(number, ["needle", "x", "y"]);
        catalog.adopt(&session).await.expect("adopted");
        if number == 0 {
            let found = catalog.candidates("needle", &mut ()).await;
            assert_eq!(found.expect("an answer").expect("words").len(), 1);
        }
    }
    let schema = &database.schema;
    server.run(&format!(
        "CREATE ROLE searcher LOGIN; GRANT USAGE ON SCHEMA {schema} TO searcher; \
         GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO searcher"
    ));
    let address = database.address(None).display().to_string();
    let address = address.replace("user=agents", "user=searcher");
    let found = session_store_postgres::catalog_of(address.as_ref());
    let (reader, _) = found.expect("an address").expect("of PostgreSQL");
    for (words, count) in [("needle", 2), ("nothing", 1)] {
        let found = reader.candidates(words, &mut ()).await;
        assert_eq!(
            found.expect("an answer").expect("words").len(),
            count,
            "{words}"
        );
    }
}
