//! What the example session contains, from `examples/sessions/facts.json`.

use serde::Deserialize;

use crate::run::{Outcome, read, root};

/// The facts of the example session, and material for further rounds of work on it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Text of the first user message.
    pub first_request: String,
    /// Text of the newest user message on the active path.
    pub latest_request: String,
    /// Rule sentences, as they occur in user messages of the active path.
    pub user_rules: Vec<String>,
    /// Paths of successful writes and edits on the active path, sorted.
    pub modified_files: Vec<String>,
    stages: Vec<Stage>,
}

/// What a round of work adds to the example project.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The name, and that of its module.
    pub name: String,
    /// The field that it looks at.
    pub field: String,
    /// Why the user wants it.
    pub why: String,
    /// Its first limit.
    pub limit: u32,
    /// The limit that the user asks for afterwards.
    pub later: u32,
    /// The unit of both.
    pub unit: String,
    /// The rule that the user states, with `{name}` in it.
    pub rule: String,
}

impl Facts {
    /// Reads the file.
    pub fn load() -> Outcome<Self> {
        let path = root().join("examples/sessions/facts.json");
        serde_json::from_str(&read(&path)?).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Returns the stage of a round; names stay unique when the list starts over.
    pub fn stage(&self, round: u32) -> Outcome<Stage> {
        let count = self.stages.len().max(1);
        let row = self.stages.get(round as usize % count);
        let mut stage = row.cloned().ok_or("facts.json has no stages")?;
        match round as usize / count {
            0 => {}
            again => stage.name = format!("{}_v{}", stage.name, again + 1),
        }
        stage.rule = stage.rule.replace("{name}", &stage.name);
        Ok(stage)
    }
}
