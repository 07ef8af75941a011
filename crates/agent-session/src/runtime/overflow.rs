//! What a compaction may keep and bring back of a context that overflowed.

use compaction_core::{CompactionSettings, RESTORED_CONTEXT, TokenCount};
use session_model::{AgentMessage, SessionContext};

/// How much stays verbatim, at most, in tenths.
const KEPT: u64 = 4;

/// How much is brought back, at most, in tenths.
const BROUGHT_BACK: u64 = 2;

/// Lowers what is kept and brought back of a context of so many tokens: the window is smaller than it is believed to
/// be, and what did not fit tells how large it is at most. Where it overflowed behind what was brought back in the same
/// turn, nothing is brought back again.
pub(super) fn leave_room(
    settings: &mut CompactionSettings,
    tokens: TokenCount,
    context: &SessionContext,
) {
    let most = tokens.scaled(KEPT, 10).max(TokenCount(1));
    settings.keep_recent_tokens = settings.keep_recent_tokens.min(most);
    let share = match was_brought_back_to(context) {
        true => TokenCount::ZERO,
        false => tokens.scaled(BROUGHT_BACK, 10),
    };
    let restore = &mut settings.restore;
    restore.total_tokens = restore.total_tokens.min(share);
}

/// Returns whether something was brought back and the user has said nothing since.
fn was_brought_back_to(context: &SessionContext) -> bool {
    let mut since = false;
    for (_, message) in context.messages() {
        match &**message {
            AgentMessage::Custom(message) if message.custom_type == RESTORED_CONTEXT => {
                since = true;
            }
            AgentMessage::User(_) => since = false,
            _ => {}
        }
    }
    since
}
