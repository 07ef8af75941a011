//! The one message that brings files and images back, within its budget.

use std::sync::Arc;

use session_model::{AgentMessage, Block, Content, CustomMessage, SessionContext};

use crate::restore::fresh::freshness;
use crate::restore::images::{Found, is_too_large, newest_images};
use crate::restore::{
    DiskFile, FileState, Freshness, ImageOutcome, Outcome, RestoreInput, Restored, RestoredFile,
    RestoredImage, words,
};
use crate::settings::RestoreSettings;
use session_facts::{LastSeen, RESTORED_CONTEXT, comparable, content_hash};
use session_model::tokens::{TokenCount, TokenCounter, image_tokens};

/// The most bytes of all images together.
const ALL_IMAGES_BYTES: usize = 16 * 1024 * 1024;

/// The largest number of characters per token: a longer text has more tokens than the estimate says.
const CHARS_PER_TOKEN: u64 = 4;

/// A considered file, with the texts that may be restored.
struct Candidate<'a> {
    file: RestoredFile,
    /// Its line among the references; `None` if the context does not name it.
    line: Option<String>,
    /// Its text and its changes, if it may be embedded by itself.
    text: Option<(&'a str, Option<String>)>,
    block: Option<String>,
}

/// Returns the restored content, in at most `room` tokens if that is less than the settings allow.
pub(crate) fn restored(
    context: &SessionContext,
    input: &RestoreInput,
    settings: &RestoreSettings,
    room: Option<TokenCount>,
    counter: &dyn TokenCounter,
) -> Restored {
    let (newest, turns) = newest_images(context, settings.max_images);
    if let Some(failed) = &input.failed {
        return Restored {
            failed: Some(failed.clone()),
            turns,
            ..Restored::default()
        };
    }
    let budget = room.map_or(settings.total_tokens, |room| {
        room.min(settings.total_tokens)
    });
    // One token more, because the pieces are counted separately.
    let cost = |text: &str| counter.text(text) + TokenCount(1);
    let frame = cost(&words::lead_in(&["-".to_owned()]));
    let frame = counter.message(&message(Vec::new())) + frame;
    let mut left = budget.saturating_sub(frame);
    let images = chosen_images(&newest, left.scaled(1, 2), &cost);
    for (_, image) in images.iter().filter(|(_, image)| is_shown(image)) {
        left = left.saturating_sub(image.tokens);
    }

    let mut files = candidates(&input.files, settings, counter);
    for file in files.iter_mut().filter(|file| file.line.is_some()) {
        let line = file.line.as_deref().unwrap_or_default();
        match left.0.checked_sub(cost(line).0 + 1) {
            Some(rest) => left = TokenCount(rest),
            None => {
                file.file.outcome = Outcome::LeftOut;
                file.line = None;
            }
        }
    }
    for file in &mut files {
        let Some((text, diff)) = &file.text else {
            continue;
        };
        let path = words::shown_path(&file.file.shown);
        let freed = file
            .line
            .as_deref()
            .map_or(TokenCount::ZERO, |line| cost(line) + TokenCount(1));
        let whole = words::file(&path, file.file.freshness, text, diff.as_deref());
        let plain = || words::file(&path, file.file.freshness, text, None);
        let fits = |block: &String| cost(block) <= left + freed;
        // If the difference does not fit, the text may.
        let block = Some(whole)
            .filter(fits)
            .or_else(|| Some(plain()).filter(fits));
        if let Some(block) = block {
            file.file.tokens = cost(&block);
            left = (left + freed).saturating_sub(file.file.tokens);
            file.file.outcome = Outcome::Embedded;
            file.file.seen = Some(content_hash(&comparable(text)));
            file.line = None;
            file.block = Some(block);
        }
    }
    assembled(files, images, budget, turns, counter)
}

fn assembled(
    mut files: Vec<Candidate<'_>>,
    images: Vec<(Found<'_>, RestoredImage)>,
    budget: TokenCount,
    turns: usize,
    counter: &dyn TokenCounter,
) -> Restored {
    let mut content = blocks(&files, &images);
    let mut tokens = counter.message(&message(content.clone()));
    if tokens > budget {
        // Only the list is counted in pieces, so only the list can be longer than it was thought to be.
        for file in files.iter_mut().filter(|file| file.line.is_some()) {
            file.line = None;
            file.file.outcome = Outcome::LeftOut;
        }
        content = blocks(&files, &images);
        tokens = counter.message(&message(content.clone()));
    }
    let told = content.len() > 1 || files.iter().any(|file| file.line.is_some());
    Restored {
        content: told.then_some(Content::Blocks(content)),
        files: files.into_iter().map(|file| file.file).collect(),
        images: images.into_iter().map(|(_, image)| image).collect(),
        tokens: if told { tokens } else { TokenCount::ZERO },
        turns,
        failed: None,
    }
}

fn blocks(files: &[Candidate<'_>], images: &[(Found<'_>, RestoredImage)]) -> Vec<Block> {
    let lines: Vec<String> = files.iter().filter_map(|file| file.line.clone()).collect();
    let mut blocks = vec![Block::text(words::lead_in(&lines))];
    let texts = files.iter().filter_map(|file| file.block.clone());
    blocks.extend(texts.map(Block::text));
    for (found, image) in images.iter().filter(|(_, image)| is_shown(image)) {
        blocks.push(Block::text(caption(image)));
        blocks.push(Block::Image(found.image.clone()));
    }
    blocks
}

fn message(content: Vec<Block>) -> AgentMessage {
    AgentMessage::Custom(Arc::new(CustomMessage {
        custom_type: RESTORED_CONTEXT.to_owned(),
        content: Content::Blocks(content),
        display: false,
        details: None,
        timestamp: None,
    }))
}

fn caption(image: &RestoredImage) -> String {
    words::image(
        image.turn,
        image.tool.as_deref(),
        image.arguments.as_deref(),
    )
}

fn is_shown(image: &RestoredImage) -> bool {
    image.outcome == ImageOutcome::Shown
}

/// Returns the newest images, oldest first, each with its outcome: if not all fit, the newest are chosen first.
fn chosen_images<'a>(
    newest: &[Found<'a>],
    budget: TokenCount,
    cost: &dyn Fn(&str) -> TokenCount,
) -> Vec<(Found<'a>, RestoredImage)> {
    let mut left = budget;
    let mut bytes = 0_usize;
    let chosen = newest.iter().map(|found| {
        let mut image = RestoredImage {
            entry_id: found.entry_id.clone(),
            tool: found.tool.clone(),
            arguments: found.arguments.clone(),
            turn: found.turn,
            outcome: ImageOutcome::Shown,
            tokens: TokenCount::ZERO,
        };
        let size = found.image.data.len();
        let tokens = cost(&caption(&image)) + image_tokens(found.image);
        image.outcome =
            if is_too_large(found.image) || bytes.saturating_add(size) > ALL_IMAGES_BYTES {
                ImageOutcome::TooLarge
            } else if tokens > left {
                ImageOutcome::OverBudget
            } else {
                ImageOutcome::Shown
            };
        if is_shown(&image) {
            bytes += size;
            left = left.saturating_sub(tokens);
            image.tokens = tokens;
        }
        (found.clone(), image)
    });
    let mut chosen: Vec<_> = chosen.collect();
    chosen.reverse();
    chosen
}

/// Returns the files up to the limit, newest first. What the context does not name takes no place.
fn candidates<'a>(
    files: &'a [DiskFile],
    settings: &RestoreSettings,
    counter: &dyn TokenCounter,
) -> Vec<Candidate<'a>> {
    let mut named = 0;
    let mut candidates = Vec::new();
    for file in files {
        if named == settings.max_files {
            break;
        }
        let candidate = candidate(file, settings.tokens_per_file, counter);
        named += usize::from(candidate.line.is_some());
        candidates.push(candidate);
    }
    candidates
}

fn candidate<'a>(
    disk: &'a DiskFile,
    limit: TokenCount,
    counter: &dyn TokenCounter,
) -> Candidate<'a> {
    let (outcome, (fresh, diff), text) = match &disk.state {
        FileState::Text(text) => {
            let fresh = freshness(&disk.touched.last_seen, text);
            let chars = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            let fits =
                chars <= limit.0.saturating_mul(CHARS_PER_TOKEN) && counter.text(text) <= limit;
            (Outcome::Reference, fresh, fits.then_some(text.as_str()))
        }
        FileState::TooLarge { .. } | FileState::Unsettled => {
            (Outcome::Reference, (Freshness::Unknown, None), None)
        }
        FileState::Binary => (Outcome::Binary, (Freshness::Unknown, None), None),
        FileState::Missing => (Outcome::Missing, (Freshness::Deleted, None), None),
        FileState::Unreadable { .. } => (Outcome::Unreadable, (Freshness::Unknown, None), None),
    };
    let line = (outcome == Outcome::Reference)
        .then(|| words::reference(&words::shown_path(&disk.shown), fresh));
    Candidate {
        file: RestoredFile {
            path: disk.touched.path.clone(),
            shown: disk.shown.clone(),
            outcome,
            freshness: fresh,
            entry_id: disk.touched.entry_id.clone(),
            tokens: TokenCount::ZERO,
            seen: match &disk.touched.last_seen {
                LastSeen::Text(text) => Some(content_hash(&comparable(text))),
                LastSeen::Hash(hash) => Some(hash.clone()),
                LastSeen::Unknown => None,
            },
        },
        line,
        text: text.map(|text| (text, diff)),
        block: None,
    }
}
