//! A believable example session, made by code and the same at every call: a coding agent reworks the retry, config and
//! parse code of `logferry`, an invented log-shipping daemon. Used for the example file and for tests that grow a session.

mod builder;
mod chapter_config;
mod chapter_drain;
mod chapter_parse;
mod chapter_recovery;
mod chapter_retry;
mod chapter_review;
mod chapter_spool;
mod chapter_start;
mod code_config;
mod code_fixture;
mod code_retry;
mod code_spool;
mod growth;
pub(crate) mod line;
mod outputs;
mod project;
mod project_config;
mod project_input;
mod project_output;
mod project_parse;
mod project_pipeline;
mod project_tests;
mod rng;
mod script;
mod stages;
#[cfg(test)]
mod tests;
mod vfs;

use builder::Builder;

pub use growth::growth_round;

/// When the example session starts: 2026-03-10, 08:02:11.480 UTC, in Unix ms.
const START_MS: u64 = 1_773_129_731_480;

/// What the example session contains, for tests.
pub struct Facts {
    /// Text of the first user message.
    pub first_request: String,
    /// Text of the newest user message on the active path.
    pub latest_request: String,
    /// Rule sentences, as they occur in user messages of the active path.
    pub user_rules: Vec<String>,
    /// Paths of successful writes and edits on the active path, sorted.
    pub modified_files: Vec<String>,
}

/// One further round of work.
pub struct Round {
    /// Session lines to append.
    pub lines: Vec<String>,
    /// Id of the last entry.
    pub leaf: String,
    /// Rule sentences that the user states in this round.
    pub user_rules: Vec<String>,
    /// Paths of successful writes and edits of this round, sorted.
    pub modified_files: Vec<String>,
    /// Text of the last user message of this round.
    pub latest_request: String,
}

/// The lines of the example session (header first), each one JSON object without a line break.
pub fn example_session() -> Vec<String> {
    let mut lines = vec![header()];
    lines.append(&mut told().lines);
    lines
}

/// The facts of [`example_session`].
pub fn example_facts() -> Facts {
    let mut story = told();
    Facts {
        first_request: story.first_request.take().unwrap_or_default(),
        latest_request: story.latest_request().to_string(),
        user_rules: story.rules().to_vec(),
        modified_files: story.modified(),
    }
}

fn header() -> String {
    line::Obj::new()
        .str("type", "session")
        .raw("version", 3)
        .str("id", "019cd6c4-8d98-7c41-9b52-3e6f0d7a21c4")
        .str("timestamp", &rng::iso(START_MS))
        .str("cwd", "/home/dev/logferry")
        .end()
}

fn told() -> Builder {
    let mut story = Builder::new(0, START_MS + 900, None, project::tree());
    story.run(chapter_start::steps());
    story.run(chapter_config::steps());
    story.run(chapter_retry::steps());
    story.run(chapter_parse::steps());
    story.run(chapter_drain::steps());
    story.run(chapter_review::steps());
    story.run(chapter_spool::steps());
    story
}
