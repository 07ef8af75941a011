//! The context of a leaf, under both rules, and what a model gets of it.

use std::fmt::Write as _;

use session_model::{
    AgentMessage, Block, Content, ContextRules, Decoded, Diagnostic, EntryIndex, Leaf, LlmMessage,
    RoleOrder, SessionContext, SessionTree, Wording, build_context, check_pairs, convert_to_llm,
    decode_bytes, migrate_lines, pair_calls,
};
use test_support::session;

/// Opens a session in the notation; nothing about it may be odd.
fn open(notation: &str) -> Decoded {
    open_lines(notation, &[])
}

/// Opens a session in the notation with `lines` after it.
fn open_lines(notation: &str, lines: &[&str]) -> Decoded {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    let decoded = decode_bytes((session(notation) + &lines.collect::<String>()).into());
    assert_eq!(decoded.diagnostics, []);
    decoded
}

fn context(decoded: &Decoded, rules: ContextRules) -> SessionContext {
    build_context(&decoded.tree.path(decoded.tree.leaf()), rules)
}

fn own(notation: &str) -> String {
    render(&context(&open(notation), ContextRules::Own))
}

fn pi(notation: &str) -> String {
    render(&context(&open(notation), ContextRules::Pi))
}

fn own_lines(notation: &str, lines: &[&str]) -> String {
    render(&context(&open_lines(notation, lines), ContextRules::Own))
}

/// One line per message, and one per diagnostic.
fn render(context: &SessionContext) -> String {
    let mut out = String::new();
    for (id, message) in context.messages() {
        let text = message.display_text().replace('\n', "⏎");
        let _ = writeln!(out, "{id} {}: {text}", message.role());
    }
    for entry in context.entries.iter().filter(|entry| entry.omitted) {
        let _ = writeln!(out, "({} omitted)", entry.entry.id);
    }
    for said in &context.diagnostics {
        let _ = writeln!(out, "! {:?}: {said}", said.kind);
    }
    out
}

/// What a model gets: one line per message, and one per thing that had to be done for that.
fn llm(notation: &str, order: RoleOrder) -> String {
    let (messages, said) = context(&open(notation), ContextRules::Own).to_llm(order);
    assert_eq!(check_pairs(&messages, order), []);
    let mut out = String::new();
    for message in &messages {
        let _ = writeln!(out, "{}: {}", message.role(), blocks(message.content()));
    }
    for said in said {
        let _ = writeln!(out, "! {said}");
    }
    out
}

fn blocks(content: &Content) -> String {
    let blocks = match content {
        Content::Text(text) => vec![text.clone()],
        Content::Blocks(blocks) => blocks
            .iter()
            .map(|block| match block {
                Block::Text(block) => block.text.clone(),
                Block::ToolCall(call) => format!("<call {}>", call.id),
                Block::Image(_) | Block::Thinking(_) | Block::Other { .. } => format!("{block:?}"),
            })
            .collect(),
    };
    blocks.join(" + ").replace('\n', "⏎")
}

#[test]
fn a_plain_path_is_the_messages_in_order() {
    insta::assert_snapshot!(own("u:2 a:2 model | u:2 call:t:2 res:t:2 a:2 label info"), @r##"
    e1 user: #1 lorem
    e2 assistant: #2 lorem
    e4 user: #4 lorem
    e5 assistant: bash({"command":"#5 lorem"})
    e6 toolResult: #6 lorem
    e7 assistant: #7 lorem
    "##);
}

#[test]
fn another_branch_is_not_in_the_context() {
    insta::assert_snapshot!(own("u:2 a:2 u:2 a:2 ^e2 u:3 a:3"), @"
    e1 user: #1 lorem
    e2 assistant: #2 lorem
    e5 user: #5 lorem ips
    e6 assistant: #6 lorem ips
    ");
}

#[test]
fn a_compaction_stands_for_what_is_before_its_first_kept_entry() {
    let notation = "u:2 a:2 | u:2 a:2 k@e3:3 | u:2";
    insta::assert_snapshot!(own(notation), @"
    e5 compactionSummary: #5 lorem ips
    e3 user: #3 lorem
    e4 assistant: #4 lorem
    e6 user: #6 lorem
    ");
    assert_eq!(own(notation), pi(notation));
}

#[test]
fn only_the_newest_compaction_speaks() {
    let notation = "u:2 a:2 u:2 k@e3:3 a:2 u:2 k@e3:4 a:2";
    insta::assert_snapshot!(own(notation), @"
    e7 compactionSummary: #7 lorem ipsum d
    e3 user: #3 lorem
    e5 assistant: #5 lorem
    e6 user: #6 lorem
    e8 assistant: #8 lorem
    ");
    assert_eq!(own(notation), pi(notation));
}

#[test]
fn a_compaction_that_keeps_its_own_id_retains_none() {
    let notation = "u:2 a:2 k=k@k:3 u:2";
    insta::assert_snapshot!(own(notation), @"
    k compactionSummary: #3 lorem ips
    e4 user: #4 lorem
    ");
    assert_eq!(own(notation), pi(notation));
}

#[test]
fn a_kept_id_off_the_path_keeps_everything_since_the_boundary_before() {
    insta::assert_snapshot!(own("u:2 k@e1:3 a:2 u:2 k@nowhere:4 a:2"), @"
    e5 compactionSummary: #5 lorem ipsum d
    e3 assistant: #3 lorem
    e4 user: #4 lorem
    e6 assistant: #6 lorem
    ! KeptEntryOffPath: line 6: keeps from nowhere, which is not on its path; everything since the boundary before it is kept
    ");
    insta::assert_snapshot!(own("u:2 a:2 reset u:2 k@nowhere:4 a:2"), @"
    e5 compactionSummary: #5 lorem ipsum d
    e4 user: #4 lorem
    e6 assistant: #6 lorem
    ! KeptEntryOffPath: line 6: keeps from nowhere, which is not on its path; everything since the boundary before it is kept
    ");
    insta::assert_snapshot!(own("u:2 a:2 x=u:3 ^e2 u:2 k@x:4 a:2"), @"
    e5 compactionSummary: #5 lorem ipsum d
    e1 user: #1 lorem
    e2 assistant: #2 lorem
    e4 user: #4 lorem
    e6 assistant: #6 lorem
    ! KeptEntryOffPath: line 6: keeps from x, which is not on its path; everything since the boundary before it is kept
    ");
}

#[test]
fn a_kept_id_off_the_path_keeps_nothing_in_pi() {
    insta::assert_snapshot!(pi("u:2 a:2 k@nowhere:4 a:2"), @"
    e3 compactionSummary: #3 lorem ipsum d
    e4 assistant: #4 lorem
    ");
}

#[test]
fn a_compaction_without_a_kept_id_keeps_everything_before_it() {
    let line =
        r#"{"type":"compaction","id":"k","parentId":"e2","summary":"so far","tokensBefore":0}"#;
    insta::assert_snapshot!(own_lines("u:2 a:2", &[line]), @"
    k compactionSummary: so far
    e1 user: #1 lorem
    e2 assistant: #2 lorem
    ! KeptEntryOffPath: line 4: keeps from no entry, which is not on its path; everything since the boundary before it is kept
    ");
}

#[test]
fn a_reset_newer_than_the_compaction_clears_everything_before() {
    let notation = "u:2 a:2 k@e2:3 u:2 reset u:4 a:2";
    insta::assert_snapshot!(own(notation), @"
    e6 user: #6 lorem ipsum d
    e7 assistant: #7 lorem
    ");
    insta::assert_snapshot!(pi(notation), @"
    e3 compactionSummary: #3 lorem ips
    e2 assistant: #2 lorem
    e4 user: #4 lorem
    e6 user: #6 lorem ipsum d
    e7 assistant: #7 lorem
    ");
}

#[test]
fn a_reset_older_than_the_compaction_bounds_what_it_keeps() {
    insta::assert_snapshot!(own("u:2 a:2 reset u:2 a:2 k@e4:3 u:4"), @"
    e6 compactionSummary: #6 lorem ips
    e4 user: #4 lorem
    e5 assistant: #5 lorem
    e7 user: #7 lorem ipsum d
    ");
    insta::assert_snapshot!(own("u:2 a:2 reset u:2 a:2 k@e2:3 u:4"), @"
    e6 compactionSummary: #6 lorem ips
    e4 user: #4 lorem
    e5 assistant: #5 lorem
    e7 user: #7 lorem ipsum d
    ");
}

#[test]
fn an_edit_to_null_takes_its_target_out() {
    insta::assert_snapshot!(own("u:2 a:2 omit@e2 u:2"), @"
    e1 user: #1 lorem
    e4 user: #4 lorem
    (e2 omitted)
    ");
}

#[test]
fn an_edit_with_content_replaces_it() {
    insta::assert_snapshot!(own("u:2 a:2 cut@e1 cut@e2 x:2 cut@e5"), @"
    e1 user: cut
    e2 assistant: cut
    e5 custom: cut
    ");
}

#[test]
fn the_last_edit_of_a_target_wins() {
    insta::assert_snapshot!(own("u:2 a:2 omit@e1 cut@e1 cut@e2 omit@e2"), @"
    e1 user: cut
    (e2 omitted)
    ");
}

#[test]
fn an_edit_on_another_branch_does_nothing() {
    insta::assert_snapshot!(own("u:2 a:2 omit@e1 ^e2 u:2"), @"
    e1 user: #1 lorem
    e2 assistant: #2 lorem
    e4 user: #4 lorem
    ");
}

#[test]
fn an_edit_in_the_kept_range_still_counts() {
    let notation = "u:2 a:2 omit@e2 u:2 k@e2:3";
    insta::assert_snapshot!(own(notation), @"
    e5 compactionSummary: #5 lorem ips
    e4 user: #4 lorem
    (e2 omitted)
    ");
    assert_eq!(own(notation), pi(notation));
}

#[test]
fn an_edit_with_a_text_becomes_a_block_where_content_is_blocks() {
    let edits = [
        r#"{"type":"context_edit","id":"x1","parentId":"e3","targetId":"e1","replacement":{"content":"for a user"}}"#,
        r#"{"type":"context_edit","id":"x2","parentId":"x1","targetId":"e2","replacement":{"content":"for a model"}}"#,
        r#"{"type":"context_edit","id":"x3","parentId":"x2","targetId":"e3","replacement":{"content":"for a tool"}}"#,
    ];
    let edited = context(
        &open_lines("u:2 call:t:2 res:t:2", &edits),
        ContextRules::Own,
    );
    let contents: Vec<_> = edited
        .messages()
        .filter_map(|(_, message)| message.content().cloned())
        .collect();
    let want = [
        Content::Text("for a user".to_owned()),
        Content::Blocks(vec![Block::text("for a model")]),
        Content::Blocks(vec![Block::text("for a tool")]),
    ];
    assert_eq!(contents, want);
    let original = edited.entries[0].original_messages();
    assert_eq!(original[0].display_text(), "#1 lorem");
}

#[test]
fn an_edit_keeps_everything_of_its_target_but_the_content() {
    let edited = context(&open("u:2 call:t:2 err:t:2 cut@e3"), ContextRules::Own);
    let result = edited
        .messages()
        .next_back()
        .map(|(_, message)| message.clone());
    let Some(AgentMessage::ToolResult(result)) = result.as_deref() else {
        panic!("{result:?}");
    };
    assert!(result.is_error && result.tool_call_id == "t" && result.timestamp.is_some());
}

#[test]
fn an_edit_without_content_or_of_an_unknown_target_is_harmless() {
    let edits = [
        r#"{"type":"context_edit","id":"x1","parentId":"e2","targetId":"e1","replacement":{}}"#,
        r#"{"type":"context_edit","id":"x2","parentId":"x1","targetId":"nowhere","replacement":null}"#,
        r#"{"type":"context_edit","id":"x3","parentId":"x2"}"#,
    ];
    insta::assert_snapshot!(own_lines("u:2 a:2", &edits), @"
    e1 user: #1 lorem
    e2 assistant: #2 lorem
    ! RepairedBody: line 4: read after repair (its replacement is neither null nor content, so it edits nothing); its bytes are untouched
    ! RepairedBody: line 6: read after repair (its replacement is neither null nor content, so it edits nothing); its bytes are untouched
    ");
}

#[test]
fn an_edit_whose_replacement_is_neither_null_nor_content_edits_nothing() {
    for replacement in [
        "\"text\"",
        "5",
        "true",
        "[]",
        "[{\"type\":\"text\",\"text\":\"x\"}]",
        "{}",
        "{\"text\":\"x\"}",
    ] {
        let edit = format!(
            r#"{{"type":"context_edit","id":"x","parentId":"e2","targetId":"e1","replacement":{replacement}}}"#
        );
        for rules in [ContextRules::Own, ContextRules::Pi] {
            let context = context(&open_lines("u:2 a:2", &[&edit]), rules);
            let said: Vec<String> = context
                .diagnostics
                .iter()
                .map(ToString::to_string)
                .collect();
            let want = "line 4: read after repair (its replacement is neither null nor content, so it edits nothing); its bytes are untouched";
            assert_eq!(said, [want], "{replacement}");
            let texts: Vec<String> = context
                .messages()
                .map(|(_, message)| message.display_text())
                .collect();
            assert_eq!(texts, ["#1 lorem", "#2 lorem"], "{replacement}");
        }
    }
    // An edit before it stays in force.
    let edits = [
        r#"{"type":"context_edit","id":"x1","parentId":"e2","targetId":"e1","replacement":null}"#,
        r#"{"type":"context_edit","id":"x2","parentId":"x1","targetId":"e1","replacement":7}"#,
    ];
    insta::assert_snapshot!(own_lines("u:2 a:2", &edits), @"
    e2 assistant: #2 lorem
    (e1 omitted)
    ! RepairedBody: line 5: read after repair (its replacement is neither null nor content, so it edits nothing); its bytes are untouched
    ");
}

#[test]
fn a_branch_summary_is_a_message_unless_it_is_empty() {
    insta::assert_snapshot!(own("u:2 s:3 u:2 s:0 a:2"), @"
    e1 user: #1 lorem
    e2 branchSummary: #2 lorem ips
    e3 user: #3 lorem
    e5 assistant: #5 lorem
    ");
}

#[test]
fn messages_of_extensions_are_in_the_context_and_their_state_is_not() {
    let state = r#"{"type":"custom","id":"x","parentId":"e2","customType":"todo","data":{"n":1}}"#;
    insta::assert_snapshot!(own_lines("u:2 x:3", &[state]), @"
    e1 user: #1 lorem
    e2 custom: #2 lorem ips
    ");
}

#[test]
fn an_excluded_command_is_in_the_context_but_not_told_to_the_model() {
    let hidden = r#"{"type":"message","id":"h","parentId":"e1","message":{"role":"bashExecution","command":"env","output":"KEY=1","excludeFromContext":true}}"#;
    let shown = r#"{"type":"message","id":"b","parentId":"h","message":{"role":"bashExecution","command":"ls","output":"```\nx","exitCode":2,"truncated":true,"fullOutputPath":"/tmp/o"}}"#;
    let cancelled = r#"{"type":"message","id":"c","parentId":"b","message":{"role":"bashExecution","command":"sleep","output":"","exitCode":null,"cancelled":true}}"#;
    let decoded = open_lines("u:2", &[hidden, shown, cancelled]);
    let context = context(&decoded, ContextRules::Own);
    assert_eq!(context.messages().count(), 4);
    let (messages, _) = context.to_llm(RoleOrder::Any);
    let told: Vec<_> = messages
        .iter()
        .map(|message| blocks(message.content()))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    #1 lorem
    The user ran this command:⏎```⏎ls⏎```⏎It printed:⏎````⏎```⏎x⏎````⏎Exit code: 2⏎All of the output is in /tmp/o
    The user ran this command:⏎```⏎sleep⏎```⏎It printed nothing.⏎The user stopped it before it ended.
    ");
}

#[test]
fn roles_that_are_not_known_are_kept_and_never_sent() {
    let line =
        r#"{"type":"message","id":"o","parentId":"e1","message":{"role":"oracle","content":"hm"}}"#;
    let decoded = open_lines("u:2", &[line]);
    insta::assert_snapshot!(render(&context(&decoded, ContextRules::Own)), @"
    e1 user: #1 lorem
    o oracle: hm
    ");
    assert_eq!(
        context(&decoded, ContextRules::Own)
            .to_llm(RoleOrder::Any)
            .0
            .len(),
        1
    );
}

const SYSTEM: [&str; 3] = [
    r#"{"type":"message","id":"s1","parentId":null,"message":{"role":"system","content":"rules","sections":{"cwd":"/a","date":"monday"},"toolsAdded":[{"name":"bash"},{"name":"read","v":1}]}}"#,
    r#"{"type":"message","id":"u1","parentId":"s1","message":{"role":"user","content":"hello"}}"#,
    r#"{"type":"message","id":"s2","parentId":"u1","message":{"role":"system","content":"more rules","sections":{"cwd":"/b","date":null,"os":"linux"},"toolsAdded":[{"name":"read","v":2}],"toolsRemoved":[{"name":"bash"}]}}"#,
];

#[test]
fn system_messages_are_merged_into_the_one_in_force_and_stand_first() {
    insta::assert_snapshot!(own_lines("", &SYSTEM), @r#"
    s2 system: rules⏎⏎more rules⏎⏎/b⏎⏎linux⏎⏎{"name":"read","v":2}
    u1 user: hello
    "#);
}

#[test]
fn system_messages_stay_in_place_in_pi() {
    let context = context(&open_lines("", &SYSTEM), ContextRules::Pi);
    assert!(context.system.is_none());
    insta::assert_snapshot!(render(&context), @r#"
    s1 system: rules⏎⏎/a⏎⏎monday⏎⏎{"name":"bash"}⏎⏎{"name":"read","v":1}
    u1 user: hello
    s2 system: more rules⏎⏎/b⏎⏎linux⏎⏎{"name":"read","v":2}
    "#);
}

#[test]
fn an_edit_can_take_a_system_message_out() {
    insta::assert_snapshot!(own("sys:2 u:2 sys:3 omit@e1"), @"
    e3 system: #3 lorem ips
    e2 user: #2 lorem
    (e1 omitted)
    ");
}

#[test]
fn a_compaction_replays_the_system_message_that_it_carries() {
    let compaction = r#"{"type":"compaction","id":"k","parentId":"e4","summary":"so far","firstKeptEntryId":"e2","tokensBefore":0,"systemMessage":{"role":"system","content":"in force","timestamp":1}}"#;
    let later = r#"{"type":"message","id":"s","parentId":"k","message":{"role":"system","content":"later"}}"#;
    let decoded = open_lines("sys:2 u:2 sys:2 a:2", &[compaction, later]);
    insta::assert_snapshot!(render(&context(&decoded, ContextRules::Own)), @"
    s system: in force⏎⏎later
    k compactionSummary: so far
    e2 user: #2 lorem
    e4 assistant: #4 lorem
    ");
    insta::assert_snapshot!(render(&context(&decoded, ContextRules::Pi)), @"
    k system: in force
    k compactionSummary: so far
    e2 user: #2 lorem
    e4 assistant: #4 lorem
    s system: later
    ");
}

#[test]
fn a_compaction_without_a_system_message_leaves_the_kept_one_in_force() {
    insta::assert_snapshot!(own("sys:2 u:2 sys:3 a:2 k@e2:3"), @"
    e3 system: #3 lorem ips
    e5 compactionSummary: #5 lorem ips
    e2 user: #2 lorem
    e4 assistant: #4 lorem
    ");
}

#[test]
fn a_system_message_that_a_compaction_without_one_hid_stays_in_force() {
    let notation = "sys:2 u:2 a:2 | u:2 a:2 k@e4:3 u:2";
    insta::assert_snapshot!(own(notation), @"
    e1 system: #1 lorem
    e6 compactionSummary: #6 lorem ips
    e4 user: #4 lorem
    e5 assistant: #5 lorem
    e7 user: #7 lorem
    ");
    insta::assert_snapshot!(pi(notation), @"
    e6 compactionSummary: #6 lorem ips
    e4 user: #4 lorem
    e5 assistant: #5 lorem
    e7 user: #7 lorem
    ");
    insta::assert_snapshot!(own("sys:2 u:2 reset u:2"), @"
    e1 system: #1 lorem
    e4 user: #4 lorem
    ");
}

#[test]
fn a_system_message_of_the_kept_range_goes_before_one_that_was_hidden() {
    insta::assert_snapshot!(own("sys:2 u:2 a:2 | u:2 sys:3 a:2 k@e4:3 u:2"), @"
    e5 system: #5 lorem ips
    e7 compactionSummary: #7 lorem ips
    e4 user: #4 lorem
    e6 assistant: #6 lorem
    e8 user: #8 lorem
    ");
}

#[test]
fn a_system_message_that_an_edit_took_out_does_not_come_back() {
    insta::assert_snapshot!(own("sys:2 u:2 omit@e1"), @"
    e2 user: #2 lorem
    (e1 omitted)
    ");
    insta::assert_snapshot!(own("sys:2 u:2 omit@e1 a:2 | u:2 a:2 k@e5:3 u:2"), @"
    e7 compactionSummary: #7 lorem ips
    e5 user: #5 lorem
    e6 assistant: #6 lorem
    e8 user: #8 lorem
    ");
    insta::assert_snapshot!(own("sys:2 u:2 cut@e1 a:2 | u:2 a:2 k@e5:3 u:2"), @"
    e1 system: #1 lorem
    e7 compactionSummary: #7 lorem ips
    e5 user: #5 lorem
    e6 assistant: #6 lorem
    e8 user: #8 lorem
    ");
}

#[test]
fn sixty_thousand_tools_are_added_replaced_and_removed() {
    let tool = |number: usize, text: &str| format!(r#"{{"name":"t{number}","is":"{text}"}}"#);
    let list = |range: std::ops::Range<usize>, text: &str| -> String {
        let tools = range.map(|number| tool(number, text));
        tools.collect::<Vec<_>>().join(",")
    };
    let gone = list(0..59_998, "gone");
    let line = |id: &str, parent: &str, members: String| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"system","content":"","timestamp":1,{members}}}}}"#
        )
    };
    let lines = [
        line(
            "a",
            "null",
            format!(r#""toolsAdded":[{}]"#, list(0..60_000, "old")),
        ),
        line(
            "b",
            "\"a\"",
            format!(r#""toolsAdded":[{}]"#, list(0..60_000, "new")),
        ),
        line("c", "\"b\"", format!(r#""toolsRemoved":[{gone}]"#)),
        line(
            "d",
            "\"c\"",
            format!(r#""toolsAdded":[{}]"#, tool(5, "again")),
        ),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let context = context(&open_lines("", &lines), ContextRules::Own);
    let Some((_, message)) = &context.system else {
        panic!("a system message");
    };
    let AgentMessage::System(system) = &**message else {
        panic!("{message:?}");
    };
    let tools: Vec<&str> = system
        .tools_added
        .iter()
        .map(session_model::json::RawJson::get)
        .collect();
    assert_eq!(tools.len(), 3);
    assert_eq!(
        tools,
        [tool(59_998, "new"), tool(59_999, "new"), tool(5, "again")]
    );
}

#[test]
fn thinking_level_and_model_are_the_last_on_the_whole_path() {
    let state = |lines: &[&str]| {
        let context = context(&open_lines("u:2", lines), ContextRules::Own);
        let model = context
            .model
            .map(|model| format!("{}/{}", model.provider, model.model_id));
        format!("{} {}", context.thinking_level, model.unwrap_or_default())
    };
    let level =
        r#"{"type":"thinking_level_change","id":"t","parentId":"e1","thinkingLevel":"high"}"#;
    let pi = r#"{"type":"model_change","id":"m","parentId":"t","provider":"anthropic","modelId":"opus"}"#;
    let omp = r#"{"type":"model_change","id":"o","parentId":"m","model":"openai/gpt/5"}"#;
    let answer = r#"{"type":"message","id":"a","parentId":"o","message":{"role":"assistant","content":[],"provider":"google","model":"gemini"}}"#;
    let compaction = r#"{"type":"compaction","id":"k","parentId":"a","summary":"so far","firstKeptEntryId":"k","tokensBefore":0}"#;
    assert_eq!(state(&[]), "off ");
    assert_eq!(state(&[level]), "high ");
    assert_eq!(state(&[level, pi]), "high anthropic/opus");
    assert_eq!(state(&[level, pi, omp]), "high openai/gpt/5");
    assert_eq!(state(&[level, pi, omp, answer]), "high google/gemini");
    assert_eq!(
        state(&[level, pi, omp, answer, compaction]),
        "high google/gemini"
    );
}

#[test]
fn thinking_level_and_model_of_another_branch_do_not_count() {
    let lines = [
        r#"{"type":"thinking_level_change","id":"t","parentId":"e1","thinkingLevel":"high"}"#,
        r#"{"type":"message","id":"u","parentId":"e1","message":{"role":"user","content":"elsewhere"}}"#,
    ];
    let context = context(&open_lines("u:2 a:2", &lines), ContextRules::Own);
    assert_eq!(
        (context.thinking_level.as_str(), context.model),
        ("off", None)
    );
}

const VERSION_1: &str = concat!(
    r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p","provider":"anthropic","modelId":"opus","thinkingLevel":"off"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}"#,
    "\n",
    r#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}"#,
    "\n",
    r#"{"type":"message","message":{"role":"user","content":"three"}}"#,
    "\n",
    r#"{"type":"compaction","summary":"so far","firstKeptEntryIndex":2,"tokensBefore":1000}"#,
    "\n",
    r#"{"type":"message","message":{"role":"hookMessage","customType":"h","content":"from a hook","display":true}}"#,
    "\n",
);

#[test]
fn version_1_opens_as_version_3_with_positions_as_ids() {
    let decoded = decode_bytes(VERSION_1.into());
    assert_eq!((decoded.tree.version(), decoded.diagnostics.len()), (1, 0));
    insta::assert_snapshot!(render(&context(&decoded, ContextRules::Own)), @"
    00000004 compactionSummary: so far
    00000002 assistant: two
    00000003 user: three
    00000005 custom: from a hook
    ");
}

#[test]
fn version_1_migrates_to_the_same_context() {
    let lines = VERSION_1.lines().map(str::as_bytes);
    let migrated = migrate_lines(1, lines).unwrap_or_default().join(&b'\n');
    insta::assert_snapshot!(String::from_utf8_lossy(&migrated), @r#"
    {"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p","provider":"anthropic","modelId":"opus","thinkingLevel":"off","version":3}
    {"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}
    {"type":"message","id":"00000002","parentId":"00000001","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
    {"type":"message","id":"00000003","parentId":"00000002","message":{"role":"user","content":"three"}}
    {"type":"compaction","id":"00000004","parentId":"00000003","summary":"so far","tokensBefore":1000,"firstKeptEntryId":"00000002"}
    {"type":"message","id":"00000005","parentId":"00000004","message":{"role":"custom","customType":"h","content":"from a hook","display":true}}
    "#);
    let migrated = decode_bytes([migrated, b"\n".to_vec()].concat());
    assert_eq!(
        (migrated.tree.version(), migrated.diagnostics.len()),
        (3, 0)
    );
    let before = render(&context(&decode_bytes(VERSION_1.into()), ContextRules::Own));
    assert_eq!(render(&context(&migrated, ContextRules::Own)), before);
}

#[test]
fn version_2_differs_in_the_role_of_extension_messages_only() {
    let two = session("u:2 a:2").replace(r#""version":3"#, r#""version":2"#)
        + r#"{"type":"message","id":"h","parentId":"e2","message":{"role":"hookMessage","customType":"h","content":"from a hook","display":true}}"#
        + "\n";
    let decoded = decode_bytes(two.clone().into());
    insta::assert_snapshot!(render(&context(&decoded, ContextRules::Own)), @"
    e1 user: #1 lorem
    e2 assistant: #2 lorem
    h custom: from a hook
    ");
    let migrated = migrate_lines(2, two.lines().map(str::as_bytes)).unwrap_or_default();
    let migrated = decode_bytes(migrated.join(&b'\n'));
    assert_eq!(
        render(&context(&migrated, ContextRules::Own)),
        render(&context(&decoded, ContextRules::Own))
    );
    let three = decode_bytes(two.replace(r#""version":2"#, r#""version":3"#).into());
    assert!(render(&context(&three, ContextRules::Own)).ends_with("h hookMessage: from a hook\n"));
}

#[test]
fn migrating_keeps_bytes_that_are_no_text() {
    let lines: [&[u8]; 4] = [
        b"{\"type\":\"session\",\"id\":\"\xff\",\"cwd\":\"/p\"}",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"caf\xe9 \xf0\x9f end\"}}",
        b"{\"type\":\"message\",\"message\":{\"role\":\"user\" torn \xff",
        b"{\"type\":\"message\",\"message\":{\"role\":\"hookMessage\",\"content\":\"\x80\xc3\"}}",
    ];
    let migrated = |version| {
        let lines = migrate_lines(version, lines.into_iter()).unwrap_or_default();
        lines
            .join(&b'\n')
            .escape_ascii()
            .to_string()
            .replace("\\n", "\n")
    };
    insta::assert_snapshot!(migrated(1), @r#"
    {\"type\":\"session\",\"id\":\"\xff\",\"cwd\":\"/p\",\"version\":3}
    {\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"caf\xe9 \xf0\x9f end\"}}
    {\"type\":\"message\",\"message\":{\"role\":\"user\" torn \xff
    {\"type\":\"message\",\"id\":\"00000002\",\"parentId\":\"00000001\",\"message\":{\"role\":\"custom\",\"content\":\"\x80\xc3\"}}
    "#);
    insta::assert_snapshot!(migrated(2), @r#"
    {\"type\":\"session\",\"id\":\"\xff\",\"cwd\":\"/p\",\"version\":3}
    {\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"caf\xe9 \xf0\x9f end\"}}
    {\"type\":\"message\",\"message\":{\"role\":\"user\" torn \xff
    {\"type\":\"message\",\"message\":{\"role\":\"custom\",\"content\":\"\x80\xc3\"}}
    "#);
}

#[test]
fn current_and_unknown_versions_do_not_migrate() {
    let told = |version| match migrate_lines(version, VERSION_1.lines().map(str::as_bytes)) {
        Ok(lines) => format!("{} lines", lines.len()),
        Err(error) => error.to_string(),
    };
    assert_eq!(told(2), "6 lines");
    assert_eq!(told(3), "it is version 3 already");
    assert_eq!(
        told(4),
        "it is version 4; this program knows versions 1 to 3"
    );
}

#[test]
fn the_root_is_an_empty_context() {
    let decoded = open("u:2 a:2");
    let context = build_context(&decoded.tree.path(Leaf::Root), ContextRules::Own);
    assert_eq!((render(&context), context.leaf), (String::new(), None));
}

#[test]
fn a_stored_move_to_the_root_starts_an_empty_context() {
    let line = r#"{"type":"custom","id":"l","parentId":null,"customType":"agent-cli/leaf","data":{"reason":"navigate","from":"e2"}}"#;
    insta::assert_snapshot!(own_lines("u:2 a:2", &[line]), @"");
}

fn name(tree: &SessionTree, index: Option<EntryIndex>) -> &str {
    index.map_or("none", |index| tree.id(index))
}

#[test]
fn the_common_ancestor_is_the_deepest_shared_entry() {
    let tree = open("u:2 a:2 u:2 ^e2 u:2 a:2 ^root u:2").tree;
    let shared = |one: &str, other: &str| {
        let leaf = |id: &str| tree.find(id).map_or(Leaf::Root, Leaf::At);
        name(&tree, tree.common_ancestor(leaf(one), leaf(other)))
    };
    assert_eq!(shared("e3", "e5"), "e2");
    assert_eq!(shared("e1", "e5"), "e1");
    assert_eq!(shared("e5", "e5"), "e5");
    assert_eq!(shared("e5", "e6"), "none");
    assert_eq!(shared("e5", "root"), "none");
}

#[test]
fn the_last_label_of_an_entry_is_in_force_until_it_is_cleared() {
    let label = |id: &str, parent: &str, target: &str, label: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"{parent}","targetId":"{target}"{label}}}"#
        )
    };
    let lines = [
        label("l1", "e2", "e1", r#","label":"first""#),
        label("l2", "l1", "e2", r#","label":"second""#),
        label("l3", "l2", "e1", r#","label":"renamed""#),
        label("l4", "l3", "e2", r#","label":"""#),
        label("l5", "l4", "l1", r#","label":"gone""#),
        label("l6", "l5", "l1", ""),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let labels = open_lines("u:2 a:2", &lines).tree.labels();
    let labels: Vec<_> = labels
        .iter()
        .map(|(id, label)| format!("{id} {label}"))
        .collect();
    assert_eq!(labels, ["e1 renamed"]);
}

#[test]
fn the_newest_name_wins_and_an_empty_one_clears() {
    let name = |names: &[&str]| {
        let lines: Vec<String> = names
            .iter()
            .map(|name| {
                format!(
                    r#"{{"type":"session_info","id":"{}","parentId":"e1"{name}}}"#,
                    name.len()
                )
            })
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        open_lines("u:2", &lines).tree.name()
    };
    assert_eq!(name(&[]), None);
    assert_eq!(name(&[r#","name":" one ""#]).as_deref(), Some("one"));
    assert_eq!(
        name(&[r#","name":"one""#, r#","name":"two  ""#]).as_deref(),
        Some("two")
    );
    assert_eq!(name(&[r#","name":"one""#, r#","name":" ""#]), None);
    assert_eq!(name(&[r#","name":"one""#, ""]), None);
}

#[test]
fn places_on_a_path_are_found_by_id_and_by_kind() {
    let tree = open("u:2 a:2 model u:2 call:t:2 res:t:2 k@e4:3").tree;
    let path = tree.path(tree.leaf());
    assert_eq!(path.place_of("e4"), Some(3));
    assert_eq!(path.place_of("nowhere"), None);
    let newest = path.newest(session_model::EntryKind::Message);
    assert_eq!(
        newest.map(|(place, index)| (place, tree.id(index))),
        Some((5, "e6"))
    );
}

#[test]
fn summaries_are_told_in_the_words_of_the_prompts() {
    insta::assert_snapshot!(llm("u:2 k@e1:3 s:3", RoleOrder::Any), @"
    user: Earlier parts of this conversation are no longer here verbatim. This summary stands in their place; treat it as what happened:⏎⏎<summary>⏎#2 lorem ips⏎</summary>
    user: #1 lorem
    user: The conversation went another way for a while and then came back to this point. This summary says what happened there:⏎⏎<summary>⏎#3 lorem ips⏎</summary>
    ");
}

#[test]
fn summaries_are_told_in_pis_words_where_they_are_compared() {
    let decoded = open("u:2 k@e1:3 s:3 b:2");
    let context = context(&decoded, ContextRules::Pi);
    let messages = context.messages().map(|(_, message)| message);
    let told = convert_to_llm(messages, Wording::Pi);
    let told: Vec<_> = told
        .iter()
        .map(|message| blocks(message.content()))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    The conversation history before this point was compacted into the following summary:⏎⏎<summary>⏎#2 lorem ips⏎</summary>
    #1 lorem
    The following is a summary of a branch that this conversation came back from:⏎⏎<summary>⏎#3 lorem ips</summary>
    Ran ``⏎```⏎#4 lorem⏎```
    ");
}

#[test]
fn tool_result_stays_with_its_call() {
    insta::assert_snapshot!(llm("u:2 call:t:2 res:t:2 call:v:2 err:v:2 a:2", RoleOrder::Any), @"
    user: #1 lorem
    assistant: <call t>
    toolResult: #3 lorem
    assistant: <call v>
    toolResult: #5 lorem
    assistant: #6 lorem
    ");
}

#[test]
fn a_call_without_a_result_gets_a_marked_one() {
    insta::assert_snapshot!(llm("u:2 call:t:2 u:2", RoleOrder::Any), @"
    user: #1 lorem
    assistant: <call t>
    toolResult: [no result was recorded for this call; it may not have run]
    user: #3 lorem
    ! call t (bash) has no result; a placeholder is sent
    ");
}

#[test]
fn a_result_without_a_call_is_told_as_text() {
    insta::assert_snapshot!(llm("u:2 call:t:2 res:t:2 k@e3:3 a:2", RoleOrder::Any), @"
    user: Earlier parts of this conversation are no longer here verbatim. This summary stands in their place; treat it as what happened:⏎⏎<summary>⏎#4 lorem ips⏎</summary>
    user: [output of an earlier bash call that is no longer in this conversation] + #3 lorem
    assistant: #5 lorem
    ! result t (bash) answers no call of this context; it is told as text
    ");
}

#[test]
fn a_result_after_a_message_of_the_user_is_moved_up_to_its_call() {
    insta::assert_snapshot!(llm("call:t:2 u:2 res:t:2 a:2", RoleOrder::Any), @"
    assistant: <call t>
    toolResult: #3 lorem
    user: #2 lorem
    assistant: #4 lorem
    ");
}

#[test]
fn a_compaction_between_a_call_and_its_result_does_not_part_them() {
    insta::assert_snapshot!(llm("u:2 a:2 call:t:2 k@e3:3 res:t:2 a:2", RoleOrder::Any), @"
    user: Earlier parts of this conversation are no longer here verbatim. This summary stands in their place; treat it as what happened:⏎⏎<summary>⏎#4 lorem ips⏎</summary>
    assistant: <call t>
    toolResult: #5 lorem
    assistant: #6 lorem
    ");
}

#[test]
fn a_compaction_that_hides_the_call_leaves_the_result_as_text() {
    insta::assert_snapshot!(llm("u:2 call:t:2 k=k@k:3 res:t:2 a:2", RoleOrder::Any), @"
    user: Earlier parts of this conversation are no longer here verbatim. This summary stands in their place; treat it as what happened:⏎⏎<summary>⏎#3 lorem ips⏎</summary>
    user: [output of an earlier bash call that is no longer in this conversation] + #4 lorem
    assistant: #5 lorem
    ! result t (bash) answers no call of this context; it is told as text
    ");
}

#[test]
fn an_edit_that_takes_a_result_out_leaves_a_marked_one() {
    insta::assert_snapshot!(llm("u:2 call:t:2 res:t:2 omit@e3 a:2", RoleOrder::Any), @"
    user: #1 lorem
    assistant: <call t>
    toolResult: [no result was recorded for this call; it may not have run]
    assistant: #5 lorem
    ! call t (bash) has no result; a placeholder is sent
    ");
}

#[test]
fn calls_counted_anew_in_each_answer_keep_their_own_results() {
    insta::assert_snapshot!(llm("u:2 call:0:2 res:0:2 call:0:3 res:0:3 a:2", RoleOrder::Any), @"
    user: #1 lorem
    assistant: <call 0>
    toolResult: #3 lorem
    assistant: <call 0>
    toolResult: #5 lorem ips
    assistant: #6 lorem
    ");
}

#[test]
fn a_result_goes_to_the_nearest_call_of_its_id() {
    insta::assert_snapshot!(llm("u:2 call:0:2 u:3 call:0:3 res:0:4", RoleOrder::Any), @"
    user: #1 lorem
    assistant: <call 0>
    toolResult: [no result was recorded for this call; it may not have run]
    user: #3 lorem ips
    assistant: <call 0>
    toolResult: #5 lorem ipsum d
    ! call 0 (bash) has no result; a placeholder is sent
    ");
}

#[test]
fn a_second_result_of_one_call_is_told_as_text() {
    insta::assert_snapshot!(llm("u:2 call:t:2 res:t:2 res:t:3 a:2", RoleOrder::Any), @"
    user: #1 lorem
    assistant: <call t>
    toolResult: #3 lorem
    user: [output of an earlier bash call that is no longer in this conversation] + #4 lorem ips
    assistant: #5 lorem
    ! result t (bash) answers no call of this context; it is told as text
    ");
}

#[test]
fn a_call_gets_its_result_that_stands_before_it() {
    insta::assert_snapshot!(llm("u:2 res:t:2 call:t:2 a:2", RoleOrder::Any), @"
    user: #1 lorem
    assistant: <call t>
    toolResult: #2 lorem
    assistant: #4 lorem
    ");
    // The one behind it counts more.
    insta::assert_snapshot!(llm("u:2 res:t:2 call:t:2 res:t:2", RoleOrder::Any), @"
    user: #1 lorem
    user: [output of an earlier bash call that is no longer in this conversation] + #2 lorem
    assistant: <call t>
    toolResult: #4 lorem
    ! result t (bash) answers no call of this context; it is told as text
    ");
}

#[test]
fn a_call_that_stands_twice_in_one_answer_counts_once() {
    let answer = r#"{"type":"message","id":"a","parentId":"e1","message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{}},{"type":"text","text":"and"},{"type":"toolCall","id":"t","name":"bash","arguments":{}}],"stopReason":"toolUse"}}"#;
    let result = r#"{"type":"message","id":"r","parentId":"a","message":{"role":"toolResult","toolCallId":"t","toolName":"bash","content":[]}}"#;
    let (messages, said) =
        context(&open_lines("u:2", &[answer, result]), ContextRules::Own).to_llm(RoleOrder::Any);
    assert_eq!(check_pairs(&messages, RoleOrder::Any), []);
    assert_eq!(blocks(messages[1].content()), "<call t> + and");
    assert_eq!(said.len(), 1);
}

/// Looking every call up among all others would take minutes here.
#[test]
fn forty_thousand_calls_of_one_answer_find_their_results() {
    const CALLS: usize = 40_000;
    let calls = (0..CALLS).map(|call| {
        format!(r#"{{"type":"toolCall","id":"t{call}","name":"read","arguments":{{}}}}"#)
    });
    let calls = calls.collect::<Vec<_>>().join(",");
    let mut lines = vec![format!(
        r#"{{"type":"message","id":"a","parentId":"e1","message":{{"role":"assistant","content":[{calls}],"stopReason":"toolUse"}}}}"#
    )];
    // The last result comes first.
    let mut parent = "a".to_owned();
    for call in (0..CALLS).rev() {
        lines.push(format!(
            r#"{{"type":"message","id":"r{call}","parentId":"{parent}","message":{{"role":"toolResult","toolCallId":"t{call}","toolName":"read","content":[{{"type":"text","text":"{call}"}}]}}}}"#
        ));
        parent = format!("r{call}");
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let context = context(&open_lines("u:2", &lines), ContextRules::Own);
    let (messages, said) = context.to_llm(RoleOrder::Any);
    assert_eq!((messages.len(), said), (CALLS + 2, Vec::new()));
    assert_eq!(messages[2].content().joined_text(""), "0");
    assert_eq!(check_pairs(&messages, RoleOrder::Any), []);
    let mut unpaired = messages;
    unpaired.swap(0, 1);
    let told = check_pairs(&unpaired, RoleOrder::Any);
    assert_eq!(
        told.iter().map(Diagnostic::count).sum::<u64>(),
        2 * CALLS as u64
    );
}

#[test]
fn an_empty_failed_answer_is_left_out() {
    let failed = r#"{"type":"message","id":"a","parentId":"e1","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"overloaded"}}"#;
    let (messages, _) =
        context(&open_lines("u:2", &[failed]), ContextRules::Own).to_llm(RoleOrder::Any);
    assert_eq!(messages.len(), 1);
}

#[test]
fn neighbours_of_one_role_are_merged_where_roles_alternate() {
    insta::assert_snapshot!(llm("u:2 x:2 b:2 a:2 a:3 call:t:2 u:2 u:3", RoleOrder::Alternating), @"
    user: #1 lorem + #2 lorem + The user ran this command:⏎```⏎⏎```⏎It printed:⏎```⏎#3 lorem⏎```
    assistant: #4 lorem + #5 lorem ips + <call t>
    toolResult: [no result was recorded for this call; it may not have run]
    user: #7 lorem + #8 lorem ips
    ! call t (bash) has no result; a placeholder is sent
    ");
}

#[test]
fn neighbours_of_one_role_stay_apart_where_any_order_goes() {
    insta::assert_snapshot!(llm("u:2 x:2 a:2 a:3", RoleOrder::Any), @"
    user: #1 lorem
    user: #2 lorem
    assistant: #3 lorem
    assistant: #4 lorem ips
    ");
}

#[test]
fn pairing_again_changes_nothing() {
    let context = context(
        &open("u:2 res:v:2 call:t:2 u:2 res:t:2 call:w:2"),
        ContextRules::Own,
    );
    for order in [RoleOrder::Any, RoleOrder::Alternating] {
        let (messages, said) = context.to_llm(order);
        assert_eq!(said.len(), 2);
        assert_eq!(pair_calls(messages.clone(), order), (messages, Vec::new()));
    }
}

#[test]
fn the_check_names_what_is_not_paired() {
    let context = context(&open("u:2 u:3 call:t:2 u:2 res:t:2"), ContextRules::Own);
    let messages = context.messages().map(|(_, message)| message);
    let messages: Vec<LlmMessage> = convert_to_llm(messages, Wording::Own);
    let told = |order| {
        let said = check_pairs(&messages, order);
        said.iter()
            .map(|said| format!("{said}\n"))
            .collect::<String>()
    };
    insta::assert_snapshot!(told(RoleOrder::Any), @"
    call t has no result
    result t answers no open call
    ");
    insta::assert_snapshot!(told(RoleOrder::Alternating), @"
    two user messages in a row
    call t has no result
    result t answers no open call
    ");
}

#[test]
fn turns_begin_with_requests_commands_notes_and_branch_summaries() {
    let text = test_support::session("model u:2 a:2 call:c:2 res:c:2 b:2 x:2 a:2 label u:2");
    let session = decode_bytes(text.into_bytes());
    let path = session.tree.path(session.tree.leaf());
    let turns: Vec<(usize, usize)> = path
        .turns()
        .iter()
        .map(|turn| (turn.start, turn.end))
        .collect();
    assert_eq!(turns, [(1, 5), (5, 6), (6, 9), (9, 10)]);
}

#[test]
fn a_member_that_is_there_twice_means_the_same_after_a_migration() {
    let header = r#"{"type":"session","version":1,"version":1}"#;
    let said = |text: &str| format!(r#""message":{{"role":"user","content":"{text}"}}"#);
    for line in [
        format!(r#"{{"type":"custom",{},"type":"message"}}"#, said("a")),
        format!(r#"{{"type":"message",{},"type":"custom"}}"#, said("a")),
        format!(r#"{{"type":"message",{},{}}}"#, said("a"), said("b")),
        format!(
            r#"{{"type":"message",{}}}{{"type":"message",{}}}"#,
            said("a"),
            said("b")
        ),
    ] {
        let file = format!("{header}\n{line}\n");
        let migrated = migrate_lines(1, file.lines().map(str::as_bytes)).unwrap_or_default();
        let migrated = decode_bytes(migrated.join(&b'\n'));
        assert_eq!(migrated.tree.version(), 3, "{line}");
        let meaning = |decoded: &Decoded| {
            let context = context(decoded, ContextRules::Own);
            let texts = context.messages();
            let texts = texts.map(|(id, message)| format!("{id} {}", message.display_text()));
            texts.collect::<Vec<_>>()
        };
        let before = meaning(&decode_bytes(file.into_bytes()));
        assert_eq!(meaning(&migrated), before, "{line}");
    }
}
