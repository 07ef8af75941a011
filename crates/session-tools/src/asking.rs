//! A question of recall and its answer, as the tools and the command share them.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use agent_tools::Archive;
use compaction_core::{Removed, TokenCount, removed_outline};
use futures_executor::block_on;
use serde::Serialize;
use serde_json::{Value, json};
use session_model::{ContextRules, Leaf, SessionPath, SessionTree, build_context};
use session_recall::{
    Access, InSession, Kind, Matches, Printed, QUOTED, Query, ReadRequest, Recall, RecallFilters,
    RecallRead, RecallRequest, recall_read, usual_read_tokens, wanted,
};
use session_store::{Locator, OutputStore, SessionCatalog, is_sidecar};

use super::recalling::{Search, pattern, search};

/// The kinds of entries, by their names.
pub const KINDS: [(&str, Kind); 7] = [
    ("user", Kind::User),
    ("assistant", Kind::Assistant),
    ("call", Kind::Call),
    ("result", Kind::Result),
    ("error", Kind::Error),
    ("summary", Kind::Summary),
    ("custom", Kind::Custom),
];

/// How much of a kept output is searched, in bytes.
const OUTPUT: u64 = 32 << 20;

/// The least an answer takes, and what an outline takes, in tokens: below 6 kB.
const LEAST: u64 = 200;
const OUTLINE: u64 = 1400;

/// A session at one of its entries.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// Its entries.
    pub tree: &'a SessionTree,
    /// Where it is.
    pub leaf: Leaf,
    /// How its context is made.
    pub rules: ContextRules,
}

/// What is asked. Without queries it is what the filters let through, and without these an outline of what left the
/// context.
pub struct Asking<'a> {
    /// Words, patterns or ids.
    pub queries: Vec<String>,
    /// The queries are patterns.
    pub is_regex: bool,
    /// Everything but the query; its tokens are those of all answers.
    pub request: RecallRequest<'a>,
}

/// The answer to one query.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// What was found.
    Found(Recall),
    /// The entries that the query names.
    Read(RecallRead),
    /// What is out of the context.
    Outline {
        /// Lines behind `>` are quotes.
        outline: String,
    },
}

/// Returns the tokens of an answer to so many queries or entries.
pub fn answer_tokens(given: Option<u64>, count: usize, most: u64) -> TokenCount {
    let given = given.unwrap_or_else(|| usual_read_tokens(count).0);
    TokenCount(given.clamp(LEAST, most))
}

/// Returns an output that is kept next to a session, or that `fetch` returns by its name; and whether that is all of it.
pub fn kept_output(path: &str, fetch: impl Fn(&str) -> Option<Vec<u8>>) -> Option<(String, bool)> {
    let path = Some(Path::new(path)).filter(|path| is_sidecar(path))?;
    let mut bytes = Vec::new();
    let is_whole = match File::open(path) {
        Ok(file) => {
            let is_whole = file.metadata().ok()?.len() <= OUTPUT;
            file.take(OUTPUT).read_to_end(&mut bytes).ok()?;
            is_whole
        }
        Err(_) => {
            bytes = fetch(path.file_name()?.to_str()?)?;
            let is_whole = bytes.len() as u64 <= OUTPUT;
            bytes.truncate(OUTPUT as usize);
            is_whole
        }
    };
    Some((String::from_utf8_lossy(&bytes).into_owned(), is_whole))
}

/// Returns an output of a store by its name; waits for it.
pub fn stored_output(store: Option<&dyn OutputStore>, name: &str) -> Option<Vec<u8>> {
    wait(store?.get(name))?.ok()?
}

/// The store of a session: its outputs, and the sessions that it continues.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The sessions.
    pub catalog: Arc<dyn SessionCatalog>,
    /// The outputs.
    pub outputs: Option<Arc<dyn OutputStore>>,
}

impl Archive for Stored {
    fn output(&self, name: &str) -> Option<Vec<u8>> {
        stored_output(self.outputs.as_deref(), name)
    }

    fn session(&self, at: &str) -> Option<SessionTree> {
        let at = Locator::new(at);
        let read = wait(async { self.catalog.read(&at, &mut ()).await });
        Some(read?.ok()?.tree().clone())
    }
}

/// Waits on a thread of its own: the caller may be in an executor.
fn wait<T: Send>(future: impl Future<Output = T> + Send) -> Option<T> {
    thread::scope(|scope| scope.spawn(|| block_on(future)).join()).ok()
}

impl Asking<'_> {
    /// Answers from one session; `None` when `stop` said so.
    ///
    /// # Errors
    /// What is wrong with a query.
    pub fn of_session(
        &self,
        at: At<'_>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Answer>>, String> {
        if self.is_outline() {
            return Ok(Some(vec![self.outline(at)]));
        }
        let path = at.tree.path(at.leaf);
        let mut answers = Vec::new();
        for query in self.each() {
            let id = query.filter(|_| !self.is_regex).map(str::to_owned);
            let named = id.map(|id| {
                read(
                    at,
                    &path,
                    &[id],
                    0,
                    self.tokens(),
                    self.request.access,
                    stop,
                )
            });
            let answer = match named {
                Some(Ok(read)) => read.map(Answer::Read),
                _ => self.search(at, query, stop)?.map(Answer::Found),
            };
            match answer {
                Some(answer) => answers.push(answer),
                None => return Ok(None),
            }
        }
        Ok(Some(answers))
    }

    /// Returns whether nothing is asked, which one session answers with an outline.
    pub fn is_outline(&self) -> bool {
        self.queries.is_empty() && self.request.filters == RecallFilters::default()
    }

    /// Answers from several sessions, which `open` opens; one that it cannot open hides no other. Behind the first `most`
    /// sessions it ends once it has as many entries as were asked for. `None` when `stop` said so.
    ///
    /// # Errors
    /// What is wrong with a query.
    pub fn of_sessions<S, O>(
        &self,
        sessions: impl Iterator<Item = (InSession, S)>,
        most: usize,
        open: impl Fn(&S) -> Option<O>,
        tree: fn(&O) -> &SessionTree,
        rules: ContextRules,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Answer>>, String> {
        let mut all: Vec<Vec<(InSession, Recall)>> = Vec::new();
        all.resize_with(self.queries.len().max(1), Vec::new);
        let wanted = self.one().entries;
        let is_enough = |found: &Vec<(InSession, Recall)>| {
            found.iter().map(|(_, it)| it.found.len()).sum::<usize>() >= wanted
        };
        for (number, (named, session)) in sessions.enumerate() {
            if stop() {
                return Ok(None);
            }
            if number >= most && all.iter().all(is_enough) {
                break;
            }
            let Some(opened) = open(&session) else {
                continue;
            };
            let tree = tree(&opened);
            let leaf = tree.leaf();
            let at = At { tree, leaf, rules };
            for (all, query) in all.iter_mut().zip(self.each()) {
                match self.search(at, query, stop)? {
                    Some(found) => all.push((named.clone(), found)),
                    None => return Ok(None),
                }
            }
        }
        let request = self.one();
        let merged = all.into_iter().map(|found| Recall::merged(found, &request));
        Ok(Some(merged.map(Answer::Found).collect()))
    }

    /// Returns the queries, or that there is none.
    fn each(&self) -> Vec<Option<&str>> {
        match self.queries.is_empty() {
            true => vec![None],
            false => self
                .queries
                .iter()
                .map(|query| Some(query.as_str()))
                .collect(),
        }
    }

    /// Returns the request for one of the queries.
    fn one(&self) -> RecallRequest<'_> {
        RecallRequest {
            tokens: self.tokens(),
            ..self.request.clone()
        }
    }

    fn search(
        &self,
        at: At<'_>,
        query: Option<&str>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Recall>, String> {
        let compiled = match query.filter(|_| self.is_regex) {
            Some(text) => Some(Search::new(pattern(text)?)),
            None => None,
        };
        let find = |text: &str| {
            let search = compiled.as_ref();
            search.map_or(Matches::default(), |search| search.matches(text, stop))
        };
        let query = match (query, &compiled) {
            (None, _) => Query::All,
            (Some(_), Some(_)) => Query::Pattern(&find),
            (Some(words), None) => Query::Words(words),
        };
        let request = RecallRequest {
            query,
            ..self.one()
        };
        Ok(search(at.tree, at.leaf, at.rules, &request, stop))
    }

    /// Returns the tokens of one answer.
    fn tokens(&self) -> TokenCount {
        let count = self.queries.len().max(1) as u64;
        TokenCount((self.request.tokens.0 / count).max(LEAST.min(self.request.tokens.0)))
    }

    fn outline(&self, at: At<'_>) -> Answer {
        let path = at.tree.path(at.leaf);
        let outline = removed_outline(&path, Removed::UntilNow, TokenCount(OUTLINE));
        let outline = outline.map_or_else(String::new, |outline| outline.text);
        Answer::Outline {
            outline: match self.request.access.clean {
                Some(clean) => clean(&outline),
                None => outline,
            },
        }
    }

    /// Returns the answers as text. What several queries find is printed once.
    pub fn text(&self, answers: &[Answer]) -> String {
        let hint = self.request.hint;
        let mut printed = Printed::new();
        let mut one = |answer: &Answer| match answer {
            Answer::Found(found) => format!("{}{}", found.lead(), found.shown(&mut printed)),
            Answer::Read(read) => {
                let text = read.to_text();
                text.trim_start_matches(QUOTED).trim_start().to_owned()
            }
            Answer::Outline { outline } if outline.is_empty() => {
                "Nothing is out of the context.".to_owned()
            }
            Answer::Outline { outline } => format!(
                "What is out of the context; lines behind > are quoted from the entry in brackets. {hint}.\n\n{outline}"
            ),
        };
        match answers {
            [Answer::Found(found)] => found.to_text(&self.request),
            [only] => format!("{QUOTED} {}", one(only)),
            _ => {
                let mut text = QUOTED.to_owned();
                if !answers.iter().all(Answer::is_empty) {
                    text.push_str(&format!(" {hint}."));
                }
                for (query, answer) in self.queries.iter().zip(answers) {
                    let query = session_model::text::first_line(query, 80);
                    text.push_str(&format!("\n\n## {query}\n{}", one(answer)));
                }
                text
            }
        }
    }

    /// Returns the answers as a document.
    pub fn document(&self, answers: &[Answer]) -> Value {
        match answers {
            [only] => json!(only),
            _ => json!({ "answers": answers }),
        }
    }
}

impl Answer {
    /// Returns whether it has nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Found(found) => found.found.is_empty(),
            Self::Read(read) => read.entries.is_empty(),
            Self::Outline { outline } => outline.is_empty(),
        }
    }
}

/// Reads entries that `ids` name, and says which of these name none; `None` when `stop` said so.
///
/// # Errors
/// None of them names an entry.
pub fn read(
    at: At<'_>,
    path: &SessionPath<'_>,
    ids: &[String],
    around: usize,
    tokens: TokenCount,
    access: Access<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<RecallRead>, String> {
    let (mut entries, mut unknown) = (Vec::new(), Vec::new());
    for id in ids {
        match wanted(path, id) {
            Ok(found) => entries.extend(found),
            Err(error) => unknown.push(error),
        }
    }
    if let (true, Some(error)) = (entries.is_empty(), unknown.first()) {
        return Err(error.clone());
    }
    let request = ReadRequest {
        entries,
        around,
        tokens,
        access,
    };
    let context = build_context(path, at.rules);
    let mut read = recall_read(path, &context, &request, stop);
    if let Some(read) = &mut read {
        read.unknown = unknown;
    }
    Ok(read)
}
