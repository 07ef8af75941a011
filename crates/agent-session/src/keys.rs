//! Lines of sessions without keys.

use std::sync::Arc;

use llm_providers::Redactor;
use session_protocol::keys::{Signed, clean_json};
use session_store::WriteFilter;

/// Takes the known secrets out of whatever a store writes.
#[derive(Debug)]
pub(crate) struct SecretFilter(pub(crate) Arc<Redactor>);

impl WriteFilter for SecretFilter {
    fn line(&self, line: String) -> String {
        clean_json(line, &|text| self.0.clean_answer(text), Signed::Kept)
    }

    fn text(&self, text: &str) -> String {
        self.0.clean_answer(text)
    }
}
