//! Events in short lines for people, the same wherever a session is shown.

use super::messages_left;
use compaction_core::TokenCount;
use session_model::text::clean;

use super::{counted, tokens};
use session_protocol::event::{CompactionResult, InstructionFile, SessionEvent};

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Something changed, as the user or the settings want it.
    Mark,
    /// Something that is good to know.
    Note,
    /// Something failed, and the session continues.
    Warning,
}

/// A line about an event, in parts that are separated by commas. Control characters are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// How it is meant.
    pub tone: Tone,
    /// What it says; never empty.
    pub parts: Vec<String>,
}

impl Announcement {
    fn mark(parts: impl IntoIterator<Item = String>) -> Vec<Self> {
        vec![Self {
            tone: Tone::Mark,
            parts: parts.into_iter().collect(),
        }]
    }

    fn note(text: &str) -> Self {
        Self {
            tone: Tone::Note,
            parts: vec![clean(text)],
        }
    }

    fn warning(text: &str) -> Self {
        Self {
            tone: Tone::Warning,
            parts: vec![clean(text)],
        }
    }

    /// Returns the lines about an event; none for events that are shown in another form, or not at all.
    pub fn of(event: &SessionEvent) -> Vec<Self> {
        match event {
            SessionEvent::Retry {
                error,
                delay_seconds,
                budget_seconds,
                ..
            } => vec![Self::note(&format!(
                "{error}; again in {delay_seconds:.1} s, for {budget_seconds:.0} s at most"
            ))],
            SessionEvent::Pruned {
                results,
                saved_tokens,
            } => Self::mark([
                format!("-- pruned {} of old output", counted(*results, "result")),
                format!("{} saved", tokens(TokenCount(*saved_tokens))),
            ]),
            SessionEvent::Promoted { from, to, window } => Self::mark([
                format!("-- {} takes over from {}", clean(to), clean(from)),
                format!("window {}", tokens(TokenCount(*window))),
            ]),
            SessionEvent::CompactionProgress {
                text,
                notable: true,
            }
            | SessionEvent::Notice { text } => vec![Self::note(text)],
            SessionEvent::Navigated {
                leaf,
                summary_entry_id,
                cancelled: false,
                ..
            } => {
                let leaf = clean(leaf.as_deref().unwrap_or("the beginning"));
                let summary = summary_entry_id.as_ref();
                let summary = summary.map(|_| "with a summary of what was left".to_owned());
                Self::mark(std::iter::once(format!("-- back to {leaf}")).chain(summary))
            }
            SessionEvent::SessionSwitch {
                session_id, path, ..
            } => Self::mark([session_name(session_id, path.as_deref())]),
            SessionEvent::Labelled { entry_id, label } => Self::mark([match label {
                Some(label) => format!("-- {} is labelled \"{}\"", clean(entry_id), clean(label)),
                None => format!("-- {} has no label any more", clean(entry_id)),
            }]),
            SessionEvent::Pinned {
                entry_id, tokens, ..
            } => Self::mark([format!(
                "-- {} is pinned, {}",
                clean(entry_id),
                counted(usize::try_from(*tokens).unwrap_or(usize::MAX), "token")
            )]),
            SessionEvent::Unpinned { entry_id, .. } => {
                Self::mark([format!("-- {} is not pinned any more", clean(entry_id))])
            }
            SessionEvent::HookFailed {
                hook,
                point,
                reason,
            } => vec![Self::warning(&format!(
                "hook {hook} failed at {point}: {reason}"
            ))],
            SessionEvent::Instructions { reason, files } => instructions(reason, files),
            SessionEvent::ToolServer {
                name, tools, error, ..
            } => match error {
                Some(error) => vec![Self::warning(&format!("tool server {name}: {error}"))],
                None => Self::mark([
                    format!("-- tool server {}", clean(name)),
                    counted(*tools, "tool"),
                ]),
            },
            SessionEvent::TurnEnd { end, .. } if end == "aborted" => {
                Self::mark(["-- stopped".to_owned()])
            }
            _ => Vec::new(),
        }
    }
}

/// Returns which instructions came into the context; what could not is a warning.
fn instructions(reason: &str, files: &[InstructionFile]) -> Vec<Announcement> {
    let noted = files.iter().filter_map(|file| {
        let why = file.note.as_ref()?;
        Some(Announcement::warning(&format!("{}: {why}", file.path)))
    });
    let mut lines: Vec<Announcement> = noted.collect();
    for state in ["loaded", "listed", "changed", "gone"] {
        // That they are there from the beginning is as it should be.
        let expected = reason == "start" && matches!(state, "loaded" | "listed");
        let names = files.iter().filter(|file| file.state == state && !expected);
        let names: Vec<&str> = names.map(|file| file.path.as_str()).collect();
        if !names.is_empty() {
            lines.push(Announcement::note(&format!(
                "{state}: {}",
                names.join(", ")
            )));
        }
    }
    lines
}

/// Returns how people call a session: by the beginning of its id, as lists do, or by a name that they gave.
pub fn session_name(id: &str, path: Option<&str>) -> String {
    /// As much of an id as tells sessions apart that did not begin in the same moment.
    const SHORT: usize = 13;
    match path {
        None => "not kept".to_owned(),
        Some(path) if path.contains(id) => {
            let short: String = id.chars().take(SHORT).collect();
            format!("session {}", clean(&short))
        }
        Some(path) => format!("session {}", clean(path)),
    }
}

/// Returns what is said of a session that begins: the model, its window, the place, the name, and what is in it; nothing
/// for other events. `before_place` stands before the folder.
pub fn session_start(event: &SessionEvent, before_place: &str) -> Option<Vec<String>> {
    let SessionEvent::SessionStart {
        session_id,
        path,
        cwd,
        model,
        window,
        entries,
    } = event
    else {
        return None;
    };
    let parts = [
        Some(clean(model)),
        (*window > 0).then(|| format!("window {}", tokens(TokenCount(*window)))),
        Some(format!("in {before_place}{}", clean(cwd))),
        Some(session_name(session_id, path.as_deref())),
        (*entries > 0).then(|| format!("{} so far", counted(*entries, "entry"))),
    ];
    Some(parts.into_iter().flatten().collect())
}

/// Returns the title of a compaction in at most `room` columns: what it saved, why, how long it took, who wrote it, and
/// what it cost. What has no room is left out, the least important last.
pub fn compaction_title(
    reason: &str,
    result: &CompactionResult,
    room: usize,
    columns: impl Fn(&str) -> usize,
) -> String {
    let mut parts = compaction_parts(reason, result).into_iter();
    let mut title = parts.next().unwrap_or_default();
    for part in parts {
        if columns(&title) + 2 + columns(&part) <= room {
            title.push_str("  ");
            title.push_str(&part);
        }
    }
    title
}

/// Returns the parts of the title of a compaction, the most important first.
pub fn compaction_parts(reason: &str, result: &CompactionResult) -> Vec<String> {
    let before = tokens(TokenCount(result.tokens_before));
    let after = tokens(TokenCount(result.tokens_after));
    let verb = match &*result.strategy {
        "handoff" => "handed off",
        _ if result.summary.is_none() => "shortened",
        _ => "compacted",
    };
    let by = match result.summarizer.as_str() {
        "extractive" => "extractive".to_owned(),
        model => format!("by {}", clean(model)),
    };
    let parts = [
        Some(format!("{verb}  {before} -> {after}")),
        Some(clean(reason)),
        Some(format!("{:.1}s", result.seconds)),
        Some(by),
        result.cost_usd.map(|cost| format!("${cost:.3}")),
        result.prepared.then(|| "it was ready".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns what became of the entries in a compaction; nothing where none was summarized or kept.
pub fn compaction_facts(result: &CompactionResult) -> Vec<String> {
    if result.first_kept_entry_id.is_none() {
        return Vec::new();
    }
    let kept = counted(result.kept_entries, "entry");
    let kept = match result.shortened_entries {
        0 => format!("{kept} kept verbatim"),
        shortened => format!("{kept} kept, {shortened} of them shortened"),
    };
    let mut parts = vec![format!("{} summarized", result.summarized_entries), kept];
    if let Some(figures) = &result.user_messages {
        parts.push(messages_left(figures));
    }
    parts
}
