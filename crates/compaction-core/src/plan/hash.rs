//! The hash of a plan: equal for equal decisions and requests, so that a dry run can be compared with the run.

use std::fmt;

use serde::Serialize;

use crate::plan::{CompactionPlan, Disposition, Elision};
use crate::request::{Summarizer, SummaryRequest};
use crate::restore::Restored;
use crate::rules::Profile;

/// The hash of a plan: 32 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PlanHash(String);

impl PlanHash {
    /// Returns the hash of `parts`, each delimited by its length.
    pub fn of(parts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            let part = part.as_ref();
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Self(hasher.finalize().to_hex()[..32].to_owned())
    }

    /// Returns the hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the hash of the requests for a summary, 16 hex digits: the system prompt and the instructions of each
/// request. `None` if the summary was made without a prompt: extractive, by a hook or in a native form.
pub(crate) fn prompt_hash(requests: &[SummaryRequest], summarizer: &Summarizer) -> Option<String> {
    match summarizer {
        Summarizer::Extractive | Summarizer::Native { .. } | Summarizer::Hook { .. } => None,
        Summarizer::Model { .. } | Summarizer::Remote { .. } => {
            let prompts = requests.iter();
            let prompts = prompts
                .flat_map(|request| [request.system.as_str(), request.instructions.as_str()]);
            Some(PlanHash::of(prompts).as_str()[..16].to_owned())
        }
    }
}

impl CompactionPlan {
    /// Returns the hash of the plan's decisions and requests. It does not depend on time or random numbers.
    pub fn hash(&self) -> PlanHash {
        let mut parts: Vec<String> = vec![
            "compaction plan 1".to_owned(),
            self.leaf.to_string(),
            self.strategy.name().to_owned(),
            self.first_kept()
                .map(ToString::to_string)
                .unwrap_or_default(),
            self.turn_start()
                .map(ToString::to_string)
                .unwrap_or_default(),
            self.measure.stored.to_string(),
            self.summary_cap.to_string(),
            self.file_list_limit
                .map(|limit| limit.to_string())
                .unwrap_or_default(),
            self.profile.name().to_owned(),
        ];
        for entry in &self.entries {
            if entry.disposition != Disposition::NoMessage {
                parts.push(format!("{} {}", entry.entry_id, entry.disposition.name()));
            }
        }
        parts.push(self.ledger.text.clone());
        if self.profile == Profile::Own {
            let threshold = self.threshold.as_ref();
            parts.extend(threshold.map(|threshold| format!("threshold {}", threshold.tokens)));
        }
        parts.extend(self.restored.iter().flat_map(Restored::parts));
        if let Some(answer) = &self.pending {
            let calls = answer.content.tool_calls();
            parts.extend(calls.map(|call| {
                let arguments = call.arguments_text();
                format!("pending {} {} {arguments}", call.id, call.name)
            }));
            parts.push(answer.content.joined_text("\n"));
        }
        parts.extend(self.elisions.iter().map(Elision::text));
        parts.extend(self.files.read_files());
        parts.push(String::new());
        parts.extend(self.files.modified_files());
        let requests = self.requests().iter();
        let requests = requests.flat_map(|request| {
            [
                request.system.clone(),
                request.prompt(None),
                request.max_output.to_string(),
            ]
        });
        PlanHash::of(parts.into_iter().chain(requests))
    }
}
