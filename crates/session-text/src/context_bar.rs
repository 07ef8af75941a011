//! What fills a context window, by category, and the bar that shows it, with the trigger and the cut in it.

use compaction_core::{TokenCount, TokenCounter};
use session_model::AgentMessage;

use crate::tokens;

/// What fills a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Instructions and tools.
    System,
    /// Summaries of what is gone.
    Summary,
    /// What the user said.
    User,
    /// What the model said, thought and called.
    Answers,
    /// What tools and commands gave back.
    Outputs,
    /// What extensions added.
    Other,
}

impl Category {
    /// Every category, in the order of the bar.
    pub const ALL: [Self; 6] = [
        Self::System,
        Self::Summary,
        Self::User,
        Self::Answers,
        Self::Outputs,
        Self::Other,
    ];

    /// Returns the category of a message.
    pub fn of(message: &AgentMessage) -> Self {
        match message {
            AgentMessage::System(_) | AgentMessage::Developer(_) => Self::System,
            AgentMessage::User(_) => Self::User,
            AgentMessage::Assistant(_) => Self::Answers,
            AgentMessage::ToolResult(_) | AgentMessage::BashExecution(_) => Self::Outputs,
            AgentMessage::Custom(_) | AgentMessage::Other { .. } => Self::Other,
            AgentMessage::BranchSummary(_) | AgentMessage::CompactionSummary(_) => Self::Summary,
        }
    }

    /// Returns the letter that stands for it, its name for people, and its name for programs.
    const fn traits(self) -> (char, &'static str, &'static str) {
        match self {
            Self::System => ('S', "prompt", "system"),
            Self::Summary => ('m', "summary", "summary"),
            Self::User => ('U', "you", "user"),
            Self::Answers => ('A', "answers", "assistant"),
            Self::Outputs => ('O', "outputs", "tool_output"),
            Self::Other => ('x', "other", "other"),
        }
    }

    /// Returns its name for programs.
    pub const fn key(self) -> &'static str {
        self.traits().2
    }
}

/// Tokens by category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares([TokenCount; 6]);

impl Shares {
    /// Returns the shares of `messages`.
    pub fn of<'a>(
        messages: impl IntoIterator<Item = &'a AgentMessage>,
        counter: &dyn TokenCounter,
    ) -> Self {
        let mut shares = Self::default();
        for message in messages {
            shares.add(Category::of(message), counter.message(message));
        }
        shares
    }

    /// Adds tokens to a category.
    pub fn add(&mut self, category: Category, tokens: TokenCount) {
        self.0[category as usize] += tokens;
    }

    /// Takes tokens off a category.
    pub fn take(&mut self, category: Category, tokens: TokenCount) {
        self.0[category as usize] = self.get(category).saturating_sub(tokens);
    }

    /// Returns the tokens of a category.
    pub fn get(&self, category: Category) -> TokenCount {
        self.0[category as usize]
    }

    /// Returns the tokens of all categories.
    pub fn total(&self) -> TokenCount {
        self.0.iter().copied().sum()
    }

    /// Returns the sum with other shares, category by category.
    pub fn with(mut self, other: &Self) -> Self {
        for category in Category::ALL {
            self.add(category, other.get(category));
        }
        self
    }
}

/// A window and what fills it.
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    /// The window.
    pub window: TokenCount,
    /// Whether the model's own window is not known.
    pub is_assumed: bool,
    /// Where compaction is due.
    pub threshold: Option<TokenCount>,
    /// What goes; nothing when there is no cut to show.
    pub goes: Shares,
    /// What stays.
    pub stays: Shares,
}

/// A cell of the bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Something in the window that goes.
    Goes(Category),
    /// Something in the window that stays.
    Stays(Category),
    /// Between what goes and what stays.
    Cut,
    /// Where compaction is due.
    Trigger,
    /// Nothing, in front of the trigger.
    Free,
    /// Nothing, behind the trigger.
    Reserve,
}

impl Cell {
    /// Returns the letter that stands for it.
    pub const fn letter(self) -> char {
        match self {
            Self::Goes(category) | Self::Stays(category) => category.traits().0,
            Self::Cut => '|',
            Self::Trigger => '!',
            Self::Free => '.',
            Self::Reserve => 'r',
        }
    }
}

impl Bar {
    /// Returns the figures on one line; `billed` is what a provider counted.
    pub fn headline(&self, title: &str, billed: Option<TokenCount>) -> String {
        let filled = self.goes.total() + self.stays.total();
        let larger = billed.filter(|billed| *billed > filled);
        let by_billed = larger.map_or("", |_| " by billed tokens");
        let billed = billed.map(|billed| format!("   (billed {})", tokens(billed)));
        format!(
            "{title}  ~{} of {} window{}   {}{by_billed}{}",
            tokens(filled),
            tokens(self.window),
            if self.is_assumed { ", assumed" } else { "" },
            self.distance(larger.unwrap_or(filled)),
            billed.unwrap_or_default()
        )
    }

    /// Returns the bar in `cells` characters, of which two are left for brackets.
    pub fn cells(&self, cells: usize) -> Vec<Cell> {
        let cells = cells.saturating_sub(2).max(10);
        let filled = self.goes.total() + self.stays.total();
        let scale = self.window.max(filled).0.max(1);
        let cell_of = |tokens: TokenCount| {
            let cell = u128::from(tokens.0) * cells as u128 / u128::from(scale);
            usize::try_from(cell).unwrap_or(cells)
        };
        let mut row: Vec<Cell> = Vec::with_capacity(cells);
        let mut sum = TokenCount::ZERO;
        let cut = self.goes.total() > TokenCount::ZERO;
        for (part, goes) in [(&self.goes, true), (&self.stays, false)] {
            for category in Category::ALL {
                let tokens = part.get(category);
                if tokens == TokenCount::ZERO {
                    continue;
                }
                sum += tokens;
                let end = cell_of(sum).max(row.len() + 1).min(cells);
                let cell = match goes {
                    true => Cell::Goes(category),
                    false => Cell::Stays(category),
                };
                row.resize(end, cell);
            }
            if goes && cut && row.len() < cells {
                row.push(Cell::Cut);
            }
        }
        let trigger = self.threshold.map(cell_of);
        for cell in row.len()..cells {
            let reserved = trigger.is_some_and(|trigger| cell > trigger);
            row.push(if reserved { Cell::Reserve } else { Cell::Free });
        }
        // The cut is not hidden.
        let at = trigger.map(|at| at + usize::from(row.get(at) == Some(&Cell::Cut)));
        if let Some(cell) = at.and_then(|at| row.get_mut(at)) {
            *cell = Cell::Trigger;
        }
        row
    }

    /// Returns the letters that occur and what they stand for, with figures, in lines of at most `width`.
    pub fn legend(&self, width: usize) -> String {
        let shares = self.goes.with(&self.stays);
        let present = Category::ALL.into_iter().filter_map(|category| {
            let count = shares.get(category);
            let (letter, label, _) = category.traits();
            let name = format!("{letter} {label} {}", tokens(count));
            (count > TokenCount::ZERO).then_some(name)
        });
        let filled = shares.total();
        let free = self.threshold.unwrap_or(self.window).saturating_sub(filled);
        let mut parts: Vec<String> = present.collect();
        if free > TokenCount::ZERO {
            parts.push(format!(". free {}", tokens(free)));
        }
        if let Some(threshold) = self.threshold {
            let reserve = self.window.saturating_sub(threshold);
            parts.push(format!("! trigger {}", tokens(threshold)));
            parts.push(format!("r reserve {}", tokens(reserve)));
        }
        let mut lines = vec![String::new()];
        for part in parts {
            let Some(line) = lines.last_mut() else { break };
            let gap = if line.is_empty() { "" } else { "   " };
            if line.len() + gap.len() + part.len() > width {
                lines.push(part);
            } else {
                line.push_str(gap);
                line.push_str(&part);
            }
        }
        lines.join("\n")
    }

    /// Returns how far so many tokens are from the trigger, or how far past it.
    fn distance(&self, filled: TokenCount) -> String {
        match self.threshold {
            None => String::new(),
            Some(threshold) if filled > threshold => {
                format!(
                    "{} over the trigger",
                    tokens(filled.saturating_sub(threshold))
                )
            }
            Some(threshold) => format!("{} left", tokens(threshold.saturating_sub(filled))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Category, Shares};
    use compaction_core::TokenCount;

    fn letters(bar: &Bar, cells: usize) -> String {
        let cells = bar.cells(cells).into_iter();
        cells.map(super::Cell::letter).collect()
    }

    fn shares(parts: &[(Category, u64)]) -> Shares {
        let mut shares = Shares::default();
        for (category, tokens) in parts {
            shares.add(*category, TokenCount(*tokens));
        }
        shares
    }

    #[test]
    fn the_bar_shows_what_goes_the_cut_what_stays_and_the_trigger() {
        let bar = Bar {
            window: TokenCount(100),
            is_assumed: false,
            threshold: Some(TokenCount(80)),
            goes: shares(&[(Category::User, 1), (Category::Outputs, 29)]),
            stays: shares(&[(Category::Answers, 20)]),
        };
        assert_eq!(
            letters(&bar, 52),
            "UOOOOOOOOOOOOOO|AAAAAAAAA...............!rrrrrrrrr"
        );
        assert_eq!(
            bar.headline("Context", Some(TokenCount(40))),
            "Context  ~50 of 100 window   30 left   (billed 40)"
        );
        assert_eq!(
            bar.headline("Context", Some(TokenCount(90))),
            "Context  ~50 of 100 window   10 over the trigger by billed tokens   (billed 90)"
        );
        assert_eq!(
            bar.legend(200),
            "U you 1   A answers 20   O outputs 29   . free 30   ! trigger 80   r reserve 20"
        );
    }

    #[test]
    fn an_overfull_window_still_fits_the_line() {
        let bar = Bar {
            window: TokenCount(100),
            is_assumed: true,
            threshold: Some(TokenCount(80)),
            goes: Shares::default(),
            stays: shares(&[(Category::Outputs, 400)]),
        };
        assert_eq!(letters(&bar, 22), "OOOO!OOOOOOOOOOOOOOO");
        let headline = bar.headline("Context", None);
        assert_eq!(
            headline,
            "Context  ~400 of 100 window, assumed   320 over the trigger"
        );
        let cut = Bar {
            goes: shares(&[(Category::User, 80)]),
            ..bar
        };
        assert_eq!(
            letters(
                &Bar {
                    stays: shares(&[(Category::Answers, 20)]),
                    ..cut
                },
                22
            ),
            "UUUUUUUUUUUUUUUU|!AA"
        );
    }
}
