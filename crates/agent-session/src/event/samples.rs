//! One example of every event, for the reference.

use serde_json::json;

use super::{CompactionResult, CompactionTotals, InstructionFile, SessionEvent, TokenUsage};

const ID: &str = "01994a7e-6a10-7c3f-8d52-0e4b9f6a1c77";
const PATH: &str = "/home/ann/.local/share/agent-cli/sessions/home-ann-parser-7d1f4f1a0b6c2e95/2026-01-05T09-12-44-112Z_01994a7e-6a10-7c3f-8d52-0e4b9f6a1c77.jsonl";

const USAGE: TokenUsage = TokenUsage {
    input: 412,
    output: 96,
    cache_read: 10_240,
    cache_write: 0,
};

/// Returns one event of each kind, in the order in which a session may tell them.
pub fn samples() -> Vec<SessionEvent> {
    let mut all = turn();
    all.extend(surroundings());
    all.extend(window());
    all.extend(compactions());
    all.extend(moves());
    all.extend(ends());
    all
}

fn turn() -> Vec<SessionEvent> {
    vec![
        SessionEvent::SessionStart {
            session_id: ID.to_owned(),
            path: Some(PATH.to_owned()),
            cwd: "/home/ann/parser".to_owned(),
            model: "openai/gpt-5.4".to_owned(),
            window: 272_000,
            entries: 0,
        },
        SessionEvent::Queued {
            id: "5f1c09ab".to_owned(),
            text: "why does 1h30m fail?".to_owned(),
            delivery: "prompt",
        },
        SessionEvent::Message {
            entry_id: "5f1c09ab".to_owned(),
            text: "why does 1h30m fail?".to_owned(),
        },
        SessionEvent::TurnStart,
        SessionEvent::ThinkingDelta {
            text: "The parser has to be read first.".to_owned(),
        },
        SessionEvent::TextDelta {
            text: "I look into the parser.".to_owned(),
        },
        SessionEvent::Retry {
            error: "openai/gpt-5.4: overloaded".to_owned(),
            delay_seconds: 1.4,
            sent: 1,
        },
        SessionEvent::Answer {
            entry_id: Some("c3d4e5f6".to_owned()),
            text: "I look into the parser.".to_owned(),
            tool_calls: 1,
            stop_reason: "tool_use".to_owned(),
            error: None,
            usage: USAGE,
            cost_usd: Some(0.0031),
        },
        SessionEvent::ToolStart {
            call_id: "call_1".to_owned(),
            name: "read".to_owned(),
            arguments: json!({ "path": "src/duration.rs" }),
        },
        SessionEvent::ToolUpdate {
            call_id: "call_2".to_owned(),
            output: "running 3 tests\n".to_owned(),
        },
        SessionEvent::ToolEnd {
            call_id: "call_1".to_owned(),
            name: "read".to_owned(),
            is_error: false,
            seconds: 0.002,
            output: "fn parse(text: &str) -> Option<Duration> {\n".to_owned(),
            truncated: false,
            details: None,
        },
        SessionEvent::ApprovalRequest {
            call_id: "call_2".to_owned(),
            tool: "bash".to_owned(),
            subject: "cargo test".to_owned(),
        },
        SessionEvent::ApprovalEnd {
            call_id: "call_2".to_owned(),
            decision: Some("always"),
        },
    ]
}

fn surroundings() -> Vec<SessionEvent> {
    vec![
        SessionEvent::HookFailed {
            hook: "memory".to_owned(),
            point: "before_prompt",
            reason: "it took longer than 30 seconds and was killed".to_owned(),
        },
        SessionEvent::Instructions {
            reason: "start",
            files: vec![InstructionFile {
                path: "AGENTS.md".to_owned(),
                tokens: 412,
                state: "loaded",
                note: None,
            }],
        },
        SessionEvent::ToolServer {
            name: "github".to_owned(),
            state: "ready",
            tools: 26,
            error: None,
        },
    ]
}

fn window() -> Vec<SessionEvent> {
    vec![
        SessionEvent::Context {
            tokens: 10_748,
            window: 272_000,
            threshold: Some(231_200),
            estimated: false,
        },
        SessionEvent::Pruned {
            results: 6,
            saved_tokens: 38_900,
        },
        SessionEvent::Promoted {
            from: "openai/gpt-5.4-mini".to_owned(),
            to: "openai/gpt-5.4".to_owned(),
            window: 272_000,
        },
    ]
}

fn compactions() -> Vec<SessionEvent> {
    let result = CompactionResult {
        strategy: "context-full",
        entry_id: Some("77aa01fe".to_owned()),
        first_kept_entry_id: Some("c3d4e5f6".to_owned()),
        tokens_before: 231_900,
        tokens_after: 24_300,
        ledger_tokens: 1_640,
        kept_entries: 18,
        summarized_entries: 240,
        shortened_entries: 0,
        summarizer: "openai/gpt-5.4".to_owned(),
        summary: Some("## Goal\nMake 1h30m parse.".to_owned()),
        in_sight_percent: Some(84.6),
        cost_usd: Some(0.061),
        seconds: 9.2,
        waited_seconds: 0.0,
        prepared: false,
    };
    vec![
        SessionEvent::AutoCompactionStart {
            reason: "threshold",
            strategy: "context-full",
        },
        SessionEvent::CompactionProgress {
            text: "asking openai/gpt-5.4".to_owned(),
            notable: false,
        },
        SessionEvent::AutoCompactionEnd {
            reason: "threshold",
            result: Some(result),
            aborted: false,
            will_retry: false,
            error: None,
        },
        SessionEvent::CompactionStart {
            reason: "manual",
            strategy: "context-full",
        },
        SessionEvent::CompactionEnd {
            reason: "manual",
            result: None,
            aborted: false,
            will_retry: false,
            error: Some("Nothing to compact (session too small)".to_owned()),
        },
    ]
}

fn moves() -> Vec<SessionEvent> {
    vec![
        SessionEvent::Navigated {
            leaf: Some("9b0d11e2".to_owned()),
            from: Some("c3d4e5f6".to_owned()),
            summary_entry_id: Some("9b0d11e2".to_owned()),
            editor_text: Some("why does 1h30m fail?".to_owned()),
            cancelled: false,
        },
        SessionEvent::SessionSwitch {
            session_id: "01994a80-11b2-7e0a-9c41-5d2f8e7b6a30".to_owned(),
            path: Some(PATH.replace(ID, "01994a80-11b2-7e0a-9c41-5d2f8e7b6a30")),
            from: ID.to_owned(),
        },
        SessionEvent::Labelled {
            entry_id: "5f1c09ab".to_owned(),
            label: Some("the bug".to_owned()),
        },
        SessionEvent::Pinned {
            entry_id: "5f1c09ab".to_owned(),
            text: "never push to main".to_owned(),
            tokens: 5,
            used_tokens: 45,
            budget_tokens: 2720,
        },
        SessionEvent::Unpinned {
            entry_id: "5f1c09ab".to_owned(),
            used_tokens: 40,
            budget_tokens: 2720,
        },
    ]
}

fn ends() -> Vec<SessionEvent> {
    vec![
        SessionEvent::Notice {
            text: "the model's window is not known: nothing is compacted by itself; name it with --window"
                .to_owned(),
        },
        SessionEvent::Error {
            message: "there are no 9 messages of the user to go back to".to_owned(),
        },
        SessionEvent::TurnEnd {
            end: "done",
            error: None,
        },
        SessionEvent::Idle { waiting: 0 },
        SessionEvent::SessionEnd {
            session_id: ID.to_owned(),
            path: Some(PATH.to_owned()),
            entries: 9,
            usage: USAGE,
            cost_usd: Some(0.0031),
            compactions: CompactionTotals {
                automatic: 2,
                prepared: 1,
                waited_seconds: 9.2,
            },
        },
    ]
}
