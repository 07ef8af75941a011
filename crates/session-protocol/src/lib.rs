//! What a running session and its front ends say to each other: commands and calls, events, replies and reports, the
//! channels that carry them, and the settings that both know.

pub mod channel;
mod command;
pub mod event;
mod handle;
pub mod keys;
mod reply;
mod report;
mod request;
pub mod schema;
pub mod settings;

pub use channel::{EventReceiver, EventSender};
pub use command::{Answer, Ask, Call, Caller, Command, Finished};
pub use event::SessionEvent;
pub use handle::{COMMANDS, CommandReceiver, SessionEnded, SessionHandle, command_channel};
pub use reply::{
    Closed, Compacted, Forked, Kept, ModelSet, Moved, PinReport, Pinned, PinsReport, Ran, Redone,
    Refusal, RefusalKind, Reply, TakenBack, Undone, Unpinned,
};
pub use report::{ContextReport, Snapshot, StateReport, Waiting, WaitingCall};
pub use request::{CompactionChoices, CompactionRequest, Navigation, TurnEnd};
pub use settings::Limits;
