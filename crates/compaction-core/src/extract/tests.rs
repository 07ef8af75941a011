//! Facts about what messages say and do, and the messages that the tests of facts are made of.

use std::sync::Arc;

use session_model::json::RawJson;
use session_model::{
    AgentMessage, AssistantMessage, Block, Content, EntryId, StopReason, ToolCall,
    ToolResultMessage, UserMessage,
};

use super::rules::RuleBook;
use super::{record, rules_in, short_summary};
use crate::source::SourceMessage;

pub(crate) fn source(id: &str, message: AgentMessage) -> SourceMessage {
    SourceMessage {
        entry_id: EntryId::new(id),
        message: Arc::new(message),
    }
}

pub(crate) fn user(id: &str, text: &str) -> SourceMessage {
    let content = Content::Text(text.to_owned());
    source(
        id,
        AgentMessage::User(UserMessage {
            content,
            timestamp: None,
        }),
    )
}

fn answer(id: &str, blocks: Vec<Block>, stop_reason: StopReason) -> SourceMessage {
    let message = AssistantMessage {
        content: Content::Blocks(blocks),
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: None,
        stop_reason,
        error_message: None,
        timestamp: None,
    };
    source(id, AgentMessage::Assistant(message))
}

pub(crate) fn says(id: &str, text: &str) -> SourceMessage {
    answer(id, vec![Block::text(text)], StopReason::Stop)
}

/// Says something and calls a tool.
pub(crate) fn says_and_edits(id: &str, text: &str, path: &str) -> [SourceMessage; 2] {
    let arguments = serde_json::json!({ "path": path, "oldText": "old", "newText": "new" });
    let call = ToolCall {
        id: format!("call-{id}"),
        name: "edit".to_owned(),
        arguments: Some(RawJson::parse(&arguments.to_string()).unwrap()),
        signature: None,
    };
    let blocks = vec![Block::text(text), Block::ToolCall(call)];
    [
        answer(id, blocks, StopReason::ToolUse),
        gives(&format!("{id}r"), id, "edit", "done", false),
    ]
}

pub(crate) fn calls(id: &str, name: &str, arguments: &str) -> SourceMessage {
    let call = ToolCall {
        id: format!("call-{id}"),
        name: name.to_owned(),
        arguments: Some(RawJson::parse(arguments).unwrap()),
        signature: None,
    };
    answer(id, vec![Block::ToolCall(call)], StopReason::ToolUse)
}

pub(crate) fn gives(id: &str, call: &str, name: &str, text: &str, is_error: bool) -> SourceMessage {
    let message = ToolResultMessage {
        tool_call_id: format!("call-{call}"),
        tool_name: name.to_owned(),
        content: Content::Blocks(vec![Block::text(text)]),
        is_error,
        timestamp: None,
    };
    source(id, AgentMessage::ToolResult(message))
}

pub(crate) fn runs(id: &str, command: &str, output: &str, is_error: bool) -> [SourceMessage; 2] {
    let result = format!("{id}r");
    let arguments = serde_json::json!({ "command": command }).to_string();
    [
        calls(id, "bash", &arguments),
        gives(&result, id, "bash", output, is_error),
    ]
}

pub(crate) fn edits(id: &str, path: &str, new: &str) -> [SourceMessage; 2] {
    let result = format!("{id}r");
    let arguments = serde_json::json!({ "path": path, "oldText": "old", "newText": new });
    [
        calls(id, "edit", &arguments.to_string()),
        gives(&result, id, "edit", "done", false),
    ]
}

#[test]
fn sentences_that_state_rules_are_found_in_several_languages() {
    let book = RuleBook::new();
    let rules = [
        "You must run the tests before every commit.",
        "never touch src/generated/",
        "Don't add comments.",
        "Please do not rename foo.rs, e.g. for style.",
        "Only edit files under src/.",
        "No new dependencies.",
        "and no unwrap in library code",
        "Please use tabs.",
        "Make sure that it builds on 1.90.",
        "I prefer small commits",
        "From now on write the changelog too",
        "use rgb values instead of indices",
        "Keep the public API stable.",
        "I checked with legal: you must not store names",
        "Never use more than 3 workers instead of threads",
        "keep in mind that we never deploy on Fridays",
        "the timeout has to be 5 s",
        "I ran into this before, don't touch the lock file",
        "Read hello.py without editing files.",
        "invalid themes must NEVER explode",
        "Could you please never force-push?",
        "Ändere nicht die öffentliche API.",
        "Bitte keine neuen Abhängigkeiten.",
        "Immer zuerst die Tests laufen lassen.",
        "Ne modifie pas les tests.",
        "N'utilise jamais unwrap.",
        "Il faut garder l'ordre.",
        "No uses unwrap.",
        "Siempre ejecuta las pruebas.",
        "Não mexa na pasta de migrações.",
        "Os testes devem passar antes de cada commit.",
        "Nunca faça push direto na main.",
        "Никогда не меняй публичный интерфейс.",
        "Пожалуйста, не добавляйте новых зависимостей.",
        "Коммиты должны быть маленькими.",
        "不要修改测试文件。",
        "提交之前必须运行测试",
        "请使用中文回答",
        "コミットの前に必ずテストを実行する",
        "テストを変更しないでください",
    ];
    for rule in rules {
        assert!(book.is_rule(rule), "a rule: {rule}");
    }
    let others = [
        "don't you think this is odd?",
        "i don't think the invalidate works correctly.",
        "i don't understand, does it capture the theme?",
        "alright, i think there's only one file left to fix up",
        "no, that's not it",
        "No problem, go ahead",
        "this must be a bug",
        "I ran the linter: only main.rs has a warning",
        "leave it alone for a moment",
        "make it 3 workers instead of 8",
        "keep in mind that the proxy times out after 40 s",
        "we would never update that copy",
        "I was wrong, the pause has to be 90 ms",
        "mach es diesmal statt in main.rs in lib.rs",
        "it always crashes on start",
        "fix the failing test in parser.rs",
        "Das funktioniert nicht.",
        "kein Problem",
        "ça ne fonctionne pas",
        "no funciona",
        "não funciona",
        "o servidor sempre trava ao iniciar",
        "не работает",
        "сервер всегда падает при запуске",
        "Почему тест не проходит?",
        "识别这个级别的区别",
        "このバグを修正してください",
    ];
    for other in others {
        assert!(!book.is_rule(other), "no rule: {other}");
    }
}

#[test]
fn rules_are_kept_byte_for_byte() {
    let said = "Fix v1.2.3 of foo.rs, see https://x.y/z. Never use `a. b`, e.g. in  lib.rs! Thanks.\n\
                Rules:\n- Short functions\n- 错误必须处理\n\n```\nnever from code\n```\n> never from a quote\n\
                <file name=\"x\">\nnever from a file\n</file>";
    let expected = [
        "Never use `a. b`, e.g. in  lib.rs!",
        "Short functions",
        "错误必须处理",
    ];
    assert_eq!(rules_in(said), expected);
}

#[test]
fn only_the_user_states_rules() {
    let [call, result] = runs("c1", "cat AGENTS.md", "You must never do this.", false);
    let messages = [
        user("a1", "Read it"),
        call,
        result,
        says("a2", "I must always do that."),
    ];
    assert!(record(&messages, "/p").rules.is_empty());
}

#[test]
fn looking_at_an_error_is_no_failure() {
    let mut messages = vec![user("a1", "Why?")];
    let printed = "error[E0308]\nexit code 1";
    messages.extend(runs("c1", "grep -rn 'error[E' log.txt", printed, true));
    let denied = "The user doesn't want to proceed with this";
    messages.extend(runs("c2", "git push", denied, true));
    assert!(record(&messages, "/p").failures.is_empty());
}

#[test]
fn failed_edits_are_not_done() {
    let bad = r#"{"path":"src/bad.rs","oldText":"a","newText":"b"}"#;
    let mut messages = vec![
        user("a1", "Edit"),
        calls("e1", "edit", bad),
        gives("e1r", "e1", "edit", "no match", true),
    ];
    messages.extend(edits("e2", "src/good.rs", "old\nfn good() {}"));
    messages.extend(edits("e3", "src/good.rs", "old\nfn better() {}"));
    let files = record(&messages, "/p").files;
    let files: Vec<String> = files
        .iter()
        .map(|it| format!("{}: {}", it.path, it.work))
        .collect();
    assert_eq!(files, ["src/good.rs: 2 edits; newest: fn better() {}"]);
}

#[test]
fn newest_todo_list_replaces_the_older() {
    let older = r#"{"todos":[{"content":"draft","status":"in_progress"},{"content":"drop me","status":"pending"}]}"#;
    let newer =
        r#"{"plan":[{"step":"draft","status":"completed"},{"step":"polish","status":"pending"}]}"#;
    let texts = |noted: &[super::notes::Noted]| -> Vec<String> {
        noted.iter().map(|noted| noted.text.clone()).collect()
    };
    let mut messages = vec![user("a1", "Write"), calls("t1", "TodoWrite", older)];
    assert_eq!(texts(&record(&messages, "/p").todos), ["draft", "drop me"]);
    messages.push(calls("t2", "update_plan", newer));
    let facts = record(&messages, "/p");
    assert_eq!(texts(&facts.todos), ["polish"]);
    assert_eq!(texts(&facts.done), ["draft"]);
}

#[test]
fn the_newest_run_of_a_check_is_its_state() {
    let checks = |messages: &[_]| -> Vec<String> {
        let facts = record(messages, "/p");
        facts.checks.into_iter().map(|noted| noted.text).collect()
    };
    let ended = "test result: ok. 40 passed; 0 failed\n\ntest result: ok. 2 passed; 0 failed";
    let mut messages = vec![user("u1", "Test it")];
    messages.extend(runs("c1", "cargo test", ended, false));
    messages.extend(runs("c2", "pytest -q", "==== 7 passed in 0.3s ====", false));
    messages.extend(runs("c3", "cargo build", "Finished", false));
    assert_eq!(
        checks(&messages),
        [
            "`cargo test` passed: 42 tests passed",
            "`pytest -q` passed: 7 passed in 0.3s",
            "`cargo build` passed",
        ]
    );
    messages.extend(runs("c4", "cargo test", "error: no\nexit code 101", true));
    assert_eq!(checks(&messages).len(), 2);
}

#[test]
fn a_goal_is_named_by_its_first_sentence() {
    let goal = "## Goal\nShip the importer. Then rest.\n\n## Next Steps\n- x";
    assert_eq!(short_summary(goal), "Ship the importer.");
    let quoted = "## Goal\nFirst request (a1):\n> Port the parser.\n>\n> Soon.\n";
    assert_eq!(short_summary(quoted), "Port the parser.");
    assert_eq!(short_summary("Build it. Now."), "Build it.");
    assert_eq!(short_summary("## Progress\n- [x] done"), "");
}

/// Anybody may have written the summary before.
#[test]
fn a_count_of_an_earlier_cut_ends_at_the_largest_number() {
    let most = usize::MAX;
    let (a, b) = ("a".repeat(90), "b".repeat(90));
    let cut = format!("{a}\n[... {most} characters left out]\n{b}");
    let shorter = super::text::cut_middle(&cut, "", 60);
    assert!(shorter.contains(&format!("[... {most} characters left out]")));
}
