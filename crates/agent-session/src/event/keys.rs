//! Events without keys.

use agent_tools::text::each_string;
use llm_providers::Redactor;

use super::SessionEvent;

impl SessionEvent {
    /// Takes keys out of every text of the event that was not made by this program.
    pub(crate) fn remove_keys(&mut self, redactor: &Redactor) {
        let clean = |text: &mut String| {
            let without = redactor.clean_answer(text);
            if without != *text {
                *text = without;
            }
        };
        match self {
            Self::Queued { text, .. }
            | Self::Message { text, .. }
            | Self::TextDelta { text }
            | Self::ThinkingDelta { text }
            | Self::CompactionProgress { text, .. }
            | Self::Pinned { text, .. }
            | Self::Notice { text } => clean(text),
            Self::Retry { error, .. } => clean(error),
            Self::Error { message } => clean(message),
            Self::Answer { text, error, .. } => {
                clean(text);
                error.iter_mut().for_each(clean);
            }
            Self::ToolStart { arguments, .. } => each_string(arguments, &clean),
            Self::ToolUpdate { output, .. } => clean(output),
            Self::ToolEnd {
                output, details, ..
            } => {
                clean(output);
                details
                    .iter_mut()
                    .for_each(|details| each_string(details, &clean));
            }
            Self::ApprovalRequest { subject, .. } => clean(subject),
            Self::HookFailed { reason, .. } => clean(reason),
            Self::Instructions { files, .. } => {
                let notes = files.iter_mut().filter_map(|file| file.note.as_mut());
                notes.for_each(clean);
            }
            Self::ToolServer { error, .. } | Self::TurnEnd { error, .. } => {
                error.iter_mut().for_each(clean);
            }
            Self::AutoCompactionEnd { result, error, .. }
            | Self::CompactionEnd { result, error, .. } => {
                let summary = result.as_mut().and_then(|result| result.summary.as_mut());
                summary.into_iter().chain(error.as_mut()).for_each(clean);
            }
            Self::Navigated { editor_text, .. } => editor_text.iter_mut().for_each(clean),
            Self::Labelled { label, .. } => label.iter_mut().for_each(clean),
            Self::SessionStart { .. }
            | Self::TurnStart
            | Self::ApprovalEnd { .. }
            | Self::Context { .. }
            | Self::Pruned { .. }
            | Self::Promoted { .. }
            | Self::AutoCompactionStart { .. }
            | Self::CompactionStart { .. }
            | Self::SessionSwitch { .. }
            | Self::Unpinned { .. }
            | Self::Idle { .. }
            | Self::SessionEnd { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use llm_providers::{Redactor, Secret};
    use serde_json::json;

    use crate::event::{SessionEvent, samples};

    #[test]
    fn no_event_tells_a_key() {
        const KEY: &str = "sk-0123456789abcdef";
        let secret = Secret::new(KEY);
        let redactor = Redactor::new(&secret);
        // Every text of every sample that is a sentence, or what a tool was given or gave, becomes a key.
        let mut texts = 0;
        for mut event in samples() {
            let before = event.clone();
            match &mut event {
                SessionEvent::ToolStart { arguments, .. } => *arguments = json!({ "a": [KEY] }),
                SessionEvent::ToolEnd { output: text, .. }
                | SessionEvent::ToolUpdate { output: text, .. }
                | SessionEvent::ApprovalRequest { subject: text, .. }
                | SessionEvent::HookFailed { reason: text, .. }
                | SessionEvent::Answer { text, .. }
                | SessionEvent::Notice { text }
                | SessionEvent::Error { message: text }
                | SessionEvent::Message { text, .. } => KEY.clone_into(text),
                _ => {}
            }
            texts += usize::from(event != before);
            event.remove_keys(&redactor);
            let told = serde_json::to_string(&event).unwrap();
            assert!(!told.contains(KEY), "{told}");
            assert_eq!(told.contains("[secret removed]"), event != before, "{told}");
        }
        assert!(texts >= 8, "{texts}");
    }
}
