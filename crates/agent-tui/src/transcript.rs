//! The transcript: finished blocks, those that are not on the screen yet last.

use std::collections::VecDeque;

use ratatui::text::Line;

use crate::block::{Block, Fold};
use crate::theme::Theme;

/// How many blocks are kept to be shown in full; the session has all.
const MOST: usize = 2_000;

/// The finished blocks of this run.
#[derive(Debug, Default)]
pub struct Transcript {
    blocks: VecDeque<(Block, bool)>,
    /// How many at the end are not printed yet.
    unprinted: usize,
}

impl Transcript {
    /// Adds a block.
    pub fn push(&mut self, block: Block) {
        let last = self.blocks.back();
        let gap = last.is_some_and(|(last, _)| block.has_gap_after(last));
        self.blocks.push_back((block, gap));
        self.unprinted += 1;
        // What is not printed yet is not dropped.
        while self.blocks.len() > MOST.max(self.unprinted) {
            self.blocks.pop_front();
        }
    }

    /// Returns the last block.
    pub fn last(&self) -> Option<&Block> {
        self.blocks.back().map(|(block, _)| block)
    }

    /// Returns the lines that were not printed yet, folded.
    pub fn take_unprinted(&mut self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let skipped = self.blocks.len() - self.unprinted;
        self.unprinted = 0;
        lines(self.blocks.iter().skip(skipped), width, theme, Fold::Folded)
    }

    /// Returns everything, unfolded.
    pub fn open(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        lines(self.blocks.iter(), width, theme, Fold::Open)
    }
}

fn lines<'a>(
    blocks: impl Iterator<Item = &'a (Block, bool)>,
    width: usize,
    theme: Theme,
    fold: Fold,
) -> Vec<Line<'static>> {
    let mut all = Vec::new();
    for (block, gap) in blocks {
        if *gap {
            all.push(Line::default());
        }
        all.extend(block.lines(width, theme, fold));
    }
    all
}
