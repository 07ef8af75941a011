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
    /// Begins to play. `given` answers and `summaries` summaries were given in an earlier run of this session and
    /// are skipped, so that a session that is resumed goes on where it stopped; a failure (an `error` line) counts
    /// as an answer, because a session keeps it as one. What the user does right after the last answer that is
    /// skipped is due.
    pub fn play(self, given: usize, summaries: usize) -> ScriptPlay {
        let has_summaries = !self.summaries.is_empty();
        let said = Stage::new("summary", self.summaries).skip(summaries, Vec::new());
        ScriptPlay {
            header: Arc::new(self.header),
            turns: Arc::new(Stage::new("turn", self.turns).skip(given, self.first)),
            summaries: has_summaries.then(|| Arc::new(said)),
        }
    }
}

impl ScriptPlay {
    /// Returns the provider of the answers.
    pub fn turns(&self) -> Scripted {
        Scripted::on(Arc::clone(&self.turns), &self.header)
    }

    /// Returns the provider of the summaries, which are given in their order wherever they stand; `None` when the
    /// script has none.
    pub fn summaries(&self) -> Option<Scripted> {
        let stage = self.summaries.as_ref()?;
        Some(Scripted::on(Arc::clone(stage), &self.header))
    }

    /// Returns what the user does now, once: what stands before the first answer, and after each answer that was
    /// given since. An answer was given when its end, or its error, was taken from the stream.
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

    /// Returns how many streams, of answers and of summaries, were begun and neither came to their end nor were
    /// dropped.
    pub fn requests_in_flight(&self) -> usize {
        let summaries = self.summaries.as_ref();
        self.turns.in_flight() + summaries.map_or(0, |stage| stage.in_flight())
    }
}
