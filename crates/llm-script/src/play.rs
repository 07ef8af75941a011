//! A script that is being played: a provider of answers, one of summaries, and what the user does in between.

use std::sync::Arc;

use super::Scripted;
use super::file::{Script, ScriptAction, ScriptHeader};
use super::stage::Stage;

/// A script that is being played. Clones share one state.
#[derive(Debug, Clone)]
pub struct ScriptPlay {
    header: Arc<ScriptHeader>,
    turns: Arc<Stage>,
    summaries: Option<Arc<Stage>>,
}

impl Script {
    /// Begins to play. An earlier run of this session has given `given` answers and `summaries` summaries; they are
    /// skipped, so that a resumed session continues where it stopped. A failure (an `error` line) counts as an answer,
    /// because a session stores it as one. The user's actions after the last skipped answer are due.
    pub fn play(self, given: usize, summaries: usize) -> ScriptPlay {
        let has_summaries = !self.summaries.is_empty();
        let summary_stage = Stage::new("summary", self.summaries).skip(summaries, Vec::new());
        ScriptPlay {
            header: Arc::new(self.header),
            turns: Arc::new(Stage::new("turn", self.turns).skip(given, self.first)),
            summaries: has_summaries.then(|| Arc::new(summary_stage)),
        }
    }
}

impl ScriptPlay {
    /// Returns the provider of the answers.
    pub fn turns(&self) -> Scripted {
        Scripted::on(Arc::clone(&self.turns), &self.header)
    }

    /// Returns the provider of the summaries, which are given in order, independent of the answers around them; `None`
    /// if the script has none.
    pub fn summaries(&self) -> Option<Scripted> {
        let stage = self.summaries.as_ref()?;
        Some(Scripted::on(Arc::clone(stage), &self.header))
    }

    /// Returns the user's actions that are due, once: those before the first answer, and those after each answer given
    /// since. An answer counts as given when its end, or its error, was taken from the stream.
    pub fn take_actions(&self) -> Vec<ScriptAction> {
        self.turns.take_due()
    }

    /// Returns true when every answer was given and every action was taken. Summaries do not count.
    pub fn is_finished(&self) -> bool {
        self.turns.is_finished()
    }

    /// Returns how many answers and failures were not given yet.
    pub fn answers_left(&self) -> usize {
        self.turns.left()
    }

    /// Returns the number of open streams, of answers and of summaries: begun, and neither at their end nor dropped.
    pub fn requests_in_flight(&self) -> usize {
        let summaries = self.summaries.as_ref();
        self.turns.in_flight() + summaries.map_or(0, |stage| stage.in_flight())
    }
}
