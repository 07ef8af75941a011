//! The completion menu: commands with what is the case now, models, files.

/// What completes what is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Menu {
    /// The items, the best first.
    pub items: Vec<Item>,
    /// The item that is chosen.
    pub chosen: usize,
    /// How many characters in front of the cursor an item takes the place of.
    pub replaced: usize,
    /// What is completed.
    pub kind: Kind,
}

/// What a menu completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A slash command.
    Command,
    /// The name of a model.
    Model,
    /// The path of a file.
    File,
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What is shown.
    pub name: String,
    /// What is said about it.
    pub about: String,
    /// What is inserted.
    pub insert: String,
    /// The command is carried out when it is chosen.
    pub runs: bool,
}

impl Menu {
    /// Moves the choice.
    pub fn step(&mut self, step: isize) {
        let last = self.items.len().saturating_sub(1);
        self.chosen = match self.chosen.checked_add_signed(step) {
            None => last,
            Some(place) if place > last => 0,
            Some(place) => place,
        };
    }
}
