//! Sessions of Claude Code whose records do not stand as they hang together.

use serde_json::{Value, json};
use session_import::{Format, Input, Target, examine, export};
use session_model::{
    AgentMessage, ContextRules, DiagnosticKind, EntryBody, SessionTree, build_context, decode_bytes,
};

use crate::support::{Fixture, check};

/// Returns a record; an empty parent is null.
fn record(kind: &str, uuid: &str, parent: &str, more: Value) -> Value {
    let parent = (!parent.is_empty()).then_some(parent);
    let mut record = json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/p", "timestamp": "2026-01-01T00:00:00.000Z" });
    if let (Some(record), Value::Object(more)) = (record.as_object_mut(), more) {
        record.extend(more);
    }
    record
}

fn user(uuid: &str, parent: &str, text: &str) -> Value {
    record(
        "user",
        uuid,
        parent,
        json!({ "message": { "role": "user", "content": text } }),
    )
}

fn answer(uuid: &str, parent: &str, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    record(
        "assistant",
        uuid,
        parent,
        json!({ "message": { "id": uuid, "role": "assistant", "content": content } }),
    )
}

fn call(uuid: &str, parent: &str) -> Value {
    let content =
        json!([{ "type": "tool_use", "id": uuid, "name": "Bash", "input": { "command": "ls" } }]);
    record(
        "assistant",
        uuid,
        parent,
        json!({ "message": { "id": uuid, "role": "assistant", "content": content } }),
    )
}

fn result(uuid: &str, parent: &str) -> Value {
    let content = json!([{ "type": "tool_result", "tool_use_id": parent, "content": "ok" }]);
    record(
        "user",
        uuid,
        parent,
        json!({ "message": { "role": "user", "content": content } }),
    )
}

fn progress(uuid: &str, parent: &str) -> Value {
    record(
        "progress",
        uuid,
        parent,
        json!({ "data": { "type": "hook_progress" } }),
    )
}

fn lines(records: &[Value]) -> Vec<u8> {
    let lines = records.iter().map(|record| format!("{record}\n"));
    lines.collect::<String>().into_bytes()
}

fn import(bytes: Vec<u8>) -> (SessionTree, Vec<DiagnosticKind>) {
    let (lines, report) = Fixture { bytes }.import();
    let kinds = report.diagnostics.iter().map(|said| said.kind);
    (decode_bytes(lines).tree, kinds.collect())
}

/// Returns the ids of the messages in the context, and where their content is replaced.
fn context(tree: &SessionTree) -> String {
    let context = build_context(&tree.path(tree.leaf()), ContextRules::Own);
    let said = context.messages().map(|(id, message)| {
        let is_cleared = message.display_text().starts_with("[Old result");
        format!("{id}{}", if is_cleared { "!" } else { "" })
    });
    said.collect::<Vec<_>>().join(" ")
}

/// Returns a boundary behind the chain that ends with `logical`, which keeps from `head` to `tail`.
fn boundary(uuid: &str, logical: &str, head: &str, anchor: &str, tail: &str) -> Value {
    let segment = json!({ "headUuid": head, "anchorUuid": anchor, "tailUuid": tail });
    let metadata = json!({ "trigger": "auto", "preTokens": 9, "preservedSegment": segment });
    let more = json!({ "subtype": "compact_boundary", "logicalParentUuid": logical, "compactMetadata": metadata });
    record("system", uuid, "", more)
}

fn summary(uuid: &str, parent: &str) -> Value {
    let mut summary = user(uuid, parent, "what happened");
    summary["isCompactSummary"] = json!(true);
    summary
}

/// Returns the ids of the messages on the path to the leaf, hidden ones included.
fn path(tree: &SessionTree) -> String {
    let path = tree.path(tree.leaf());
    let ids = path.entries().iter().filter_map(|index| {
        let entry = tree.entry(*index).ok()?;
        let says = matches!(
            entry.body,
            EntryBody::Message(_) | EntryBody::CustomMessage(_)
        );
        says.then(|| entry.id.to_string())
    });
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_hooks_report_late_begins_no_branch() {
    let records = [
        user("u1", "", "restart"),
        call("a1", "u1"),
        result("r1", "a1"),
        call("a2", "r1"),
        result("r2", "a2"),
        answer("a3", "r2", "listens"),
        // Written at the end of the turn, chained from its first call.
        progress("p1", "a1"),
        progress("p2", "p1"),
        record(
            "system",
            "s1",
            "p2",
            json!({ "subtype": "stop_hook_summary" }),
        ),
        user("u2", "s1", "it does not"),
        answer("a4", "u2", "I see"),
        // The user goes back to before the second request, and asks otherwise.
        user("u3", "p2", "something else"),
        answer("a5", "u3", "yes"),
    ];
    let (tree, _) = import(lines(&records[..11]));
    assert_eq!(path(&tree), "u1 a1 r1 a2 r2 a3 u2 a4");
    let (tree, _) = import(lines(&records));
    assert_eq!(path(&tree), "u1 a1 r1 a2 r2 a3 u3 a5");
    // A hook that reports on a request that the user went back to follows that.
    let mut records = records[..11].to_vec();
    records.extend([
        progress("p3", "a1"),
        user("u3", "p3", "again"),
        answer("a5", "u3", "yes"),
    ]);
    assert_eq!(path(&import(lines(&records)).0), "u1 a1 r1 u3 a5");
}

#[test]
fn a_missing_parent_of_any_record_is_the_record_before() {
    let orphans = [
        vec![
            progress("p1", "LOST"),
            record("system", "s1", "p1", json!({})),
            user("u2", "s1", "write it"),
        ],
        vec![
            record("a-kind-of-next-year", "x1", "LOST", json!({})),
            user("u2", "x1", "write it"),
        ],
        vec![user("u2", "LOST", "write it")],
    ];
    for orphans in orphans {
        let mut records = vec![user("u1", "", "compare"), answer("a1", "u1", "both work")];
        records.extend(orphans);
        records.push(answer("a2", "u2", "done"));
        let (tree, said) = import(lines(&records));
        assert_eq!(path(&tree), "u1 a1 u2 a2");
        assert_eq!(said, [DiagnosticKind::MissingParent]);
    }
}

#[test]
fn two_records_on_one_line_are_both_imported_and_repaired() {
    let summary = json!({ "type": "summary", "summary": "Retry", "leafUuid": "a1" });
    let one = lines(&[
        user("u1", "", "add a retry"),
        answer("a1", "u1", "done"),
        user("u2", "a1", "never log the token"),
    ]);
    let joined = [
        &one[..one.len() - 1],
        &lines(&[summary, answer("a2", "u2", "yes")]),
    ]
    .concat();
    let (tree, said) = import(joined.clone());
    assert_eq!(path(&tree), "u1 a1 u2 a2");
    assert_eq!(said, [DiagnosticKind::SharedLine]);
    let input = Input::of_bytes(joined);
    let examined = examine(session_import::Format::ClaudeCode, &input).expect("it is read");
    let kinds: Vec<_> = examined.diagnostics.iter().map(|said| said.kind).collect();
    assert_eq!(kinds, [DiagnosticKind::SharedLine]);
    let mut repaired = Vec::new();
    assert_eq!(
        examined
            .repair(&input, &mut repaired)
            .expect("it is written"),
        1
    );
    assert_eq!(repaired.iter().filter(|byte| **byte == b'\n').count(), 5);
    let (tree, said) = import(repaired);
    assert_eq!((path(&tree).as_str(), said.len()), ("u1 a1 u2 a2", 0));
}

#[test]
fn arguments_of_a_command_are_the_users_and_those_of_a_local_one_are_no_request() {
    let command = |name: &str, arguments: &str| {
        format!(
            "<command-message>{name} is running</command-message>\n<command-name>/{name}</command-name>\n<command-args>{arguments}</command-args>"
        )
    };
    let printed = "<local-command-stdout>Compacted</local-command-stdout>";
    let words = |records: &[Value]| {
        let (tree, _) = import(lines(records));
        let path = tree.path(tree.leaf());
        let words = path
            .entries()
            .iter()
            .filter_map(|index| match tree.entry(*index).ok()?.body {
                EntryBody::Message(message) => match &*message {
                    AgentMessage::User(user) => Some(user.words()),
                    _ => None,
                },
                EntryBody::CustomMessage(message) => {
                    Some(format!("[{}]", message.content.texts().count()))
                }
                _ => None,
            });
        words.collect::<Vec<_>>().join(" ")
    };
    let prompt = [
        user("u1", "", &command("orchestrate", "create an app")),
        answer("a1", "u1", "done"),
    ];
    assert_eq!(words(&prompt), "[2] create an app");
    let local = [
        user("u1", "", &command("model", "opus")),
        user("u2", "u1", printed),
        answer("a1", "u2", "done"),
    ];
    assert_eq!(words(&local), "[3] [1]");
    let compact = [
        user("u1", "", &command("compact", "delete the folder")),
        user("u2", "u1", printed),
        answer("a1", "u2", "done"),
    ];
    assert_eq!(words(&compact), "[1]");
}

/// Returns a conversation of two turns.
fn two_turns() -> Vec<Value> {
    vec![
        user("u1", "", "first"),
        answer("a1", "u1", "one"),
        user("u2", "a1", "second"),
        answer("a2", "u2", "two"),
    ]
}

/// Returns the context of two turns and what follows, and what is reported.
fn after_two_turns(more: impl IntoIterator<Item = Value>) -> (String, Vec<DiagnosticKind>) {
    let mut records = two_turns();
    records.extend(more);
    let (tree, said) = import(lines(&records));
    (context(&tree), said)
}

#[test]
fn kept_messages_are_in_the_context_wherever_they_are() {
    let begin = |logical: &str| {
        [
            boundary("b1", logical, "u2", "s1", "a2"),
            summary("s1", "b1"),
        ]
    };
    // Before the boundary; what follows hangs on the last of them, or on a record that hangs on that.
    let turn = [user("u3", "a2", "third"), answer("a3", "u3", "three")];
    let (found, _) = after_two_turns(begin("a2").into_iter().chain(turn));
    assert_eq!(found, "s1 u2 a2 u3 a3");
    let link = record("system", "l1", "a2", json!({ "subtype": "turn_duration" }));
    let (found, _) = after_two_turns(begin("a2").into_iter().chain([link, user("u3", "l1", "x")]));
    assert_eq!(found, "s1 u2 a2 u3");
    // Behind the summary: all that a fork copies.
    let mut records = begin("gone").to_vec();
    records.extend([
        user("u2", "s1", "second"),
        answer("a2", "u2", "two"),
        user("u3", "a2", "third"),
    ]);
    assert_eq!(context(&import(lines(&records)).0), "s1 u2 a2 u3");
    // The boundary names the last of them as the message before it.
    records[0]["logicalParentUuid"] = json!("a2");
    let (tree, said) = import(lines(&records));
    assert_eq!((context(&tree).as_str(), said.len()), ("s1 u2 a2 u3", 0));
    // Behind the summary, with the next turn on the summary itself.
    records[4] = user("u3", "s1", "third");
    assert_eq!(context(&import(lines(&records)).0), "s1 u2 a2 u3");
    // Before an earlier boundary as well.
    let (found, said) = after_two_turns([
        boundary("b1", "a2", "u2", "s1", "a2"),
        summary("s1", "b1"),
        user("u3", "a2", "third"),
        answer("a3", "u3", "three"),
        boundary("b2", "a3", "a2", "s2", "a3"),
        summary("s2", "b2"),
        user("u4", "a3", "fourth"),
    ]);
    assert_eq!((found.as_str(), said.len()), ("s2 a2 u3 a3 u4", 0));
    // Written again behind the second summary, with the first boundary between.
    let (found, _) = after_two_turns([
        boundary("b1", "a2", "u2", "s1", "a2"),
        summary("s1", "b1"),
        user("u3", "a2", "third"),
        boundary("b2", "u3", "u3", "s2", "u3"),
        summary("s2", "b2"),
        boundary("b1", "", "u2", "s1", "a2"),
        user("u3", "b1", "third"),
        user("u4", "u3", "fourth"),
    ]);
    assert_eq!(found, "s2 u3 u4");
}

#[test]
fn kept_messages_that_are_not_in_the_file_are_reported() {
    let records = [
        boundary("b1", "gone", "lost1", "s1", "lost2"),
        summary("s1", "b1"),
        user("u3", "s1", "third"),
    ];
    let (tree, said) = import(lines(&records));
    assert_eq!(context(&tree), "s1 u3");
    assert_eq!(said, [DiagnosticKind::MissingParent]);
}

#[test]
fn a_summary_from_a_message_on_comes_behind_what_it_kept() {
    let (found, said) = after_two_turns([
        boundary("b1", "a2", "u1", "b1", "a1"),
        summary("s1", "b1"),
        user("u3", "s1", "third"),
    ]);
    assert_eq!((found.as_str(), said.len()), ("u1 a1 s1 u3", 0));
    // Written again between the boundary and the summary.
    let records = [
        boundary("b1", "gone", "u1", "b1", "a1"),
        user("u1", "b1", "first"),
        answer("a1", "u1", "one"),
        summary("s1", "a1"),
        user("u3", "s1", "third"),
    ];
    assert_eq!(context(&import(lines(&records)).0), "u1 a1 s1 u3");
}

#[test]
fn a_fork_keeps_what_its_source_names_and_bills_it_once() {
    let mut records = two_turns();
    records.extend([boundary("b1", "x", "u2", "s1", "a2"), summary("s1", "b1")]);
    for (number, record) in (0..).zip(&mut records) {
        record["forkedFrom"] = json!({ "sessionId": "source", "messageUuid": record["uuid"] });
        record["uuid"] = json!(format!("n{number}"));
        let parent = (number > 0).then(|| format!("n{}", number - 1));
        record["parentUuid"] = json!(parent);
        record["message"]["usage"] = json!({ "input_tokens": 7 });
    }
    records[4]["parentUuid"] = Value::Null;
    records[4]["logicalParentUuid"] = json!("n3");
    records.push(user("u3", "n5", "third"));
    let (bytes, report) = Fixture {
        bytes: lines(&records),
    }
    .import();
    let tree = decode_bytes(bytes).tree;
    assert_eq!(context(&tree), "n5 n2 n3 u3");
    let parent = tree
        .header()
        .and_then(|header| header.parent_session.clone());
    assert_eq!(parent.as_deref(), Some("source"));
    assert_eq!(report.usage.total_tokens, 0);
}

#[test]
fn results_that_were_cleared_or_shortened_are_so_in_the_context() {
    let cleared = json!({ "compactedToolIds": ["a1"], "clearedAttachmentUUIDs": ["t1"] });
    let records = [
        user("u1", "", "list"),
        record(
            "attachment",
            "t1",
            "u1",
            json!({ "attachment": { "type": "file", "content": "x" } }),
        ),
        call("a1", "t1"),
        result("r1", "a1"),
        call("a2", "r1"),
        result("r2", "a2"),
        record(
            "system",
            "m1",
            "r2",
            json!({ "subtype": "microcompact_boundary", "microcompactMetadata": cleared }),
        ),
        json!({ "type": "content-replacement", "sessionId": "s", "replacements": [{ "kind": "tool-result", "toolUseId": "a2", "replacement": "[Old result: see file]" }] }),
        user("u2", "m1", "again"),
    ];
    let (tree, said) = import(lines(&records));
    assert_eq!(context(&tree), "u1 a1 r1! a2 r2! u2");
    assert!(said.is_empty());
    assert_eq!(path(&tree), "u1 t1 a1 r1 a2 r2 u2");
}

#[test]
fn what_hooks_add_late_begins_no_branch() {
    let added = |uuid: &str, parent: &str| {
        let hook = json!({ "attachment": { "type": "hook_success", "content": "ok" } });
        record("attachment", uuid, parent, hook)
    };
    let records = [
        user("u1", "", "restart"),
        call("a1", "u1"),
        result("r1", "a1"),
        answer("a2", "r1", "listens"),
        added("t1", "a1"),
        added("t2", "t1"),
        user("u2", "t2", "it does not"),
    ];
    assert_eq!(path(&import(lines(&records)).0), "u1 a1 r1 a2 t1 t2 u2");
}

#[test]
fn a_title_is_of_a_message_of_the_file() {
    let title =
        |leaf: &str, text: &str| json!({ "type": "summary", "summary": text, "leafUuid": leaf });
    let mut records = vec![title("a2", "own"), title("elsewhere", "of another session")];
    records.extend(two_turns());
    let (tree, _) = import(lines(&records));
    assert_eq!(tree.name().as_deref(), Some("own"));
    records.remove(0);
    assert_eq!(import(lines(&records)).0.name(), None);
}

#[test]
fn a_subagent_has_its_own_id_and_names_the_session_that_started_it() {
    let mut records = two_turns();
    // What it started itself is a branch of its session.
    let started = inner(user("s1", "", "find callers"));
    records.extend([task("a3", "a2"), step("p1", "a3", "a3", &started)]);
    for record in &mut records {
        record["isSidechain"] = json!(true);
        record["agentId"] = json!("a1b2");
    }
    let tree = import(lines(&records)).0;
    assert_eq!(context(&tree), "u1 a1 u2 a2 a3 00000007");
    let header = tree.header().expect("a header");
    assert_eq!(header.id, "agent-a1b2");
    assert_eq!(header.parent_session.as_deref(), Some("s"));
}

#[test]
fn an_answer_that_was_billed_for_much_more_than_its_context_is_reported() {
    let billed = |tokens: u64| {
        let mut records = two_turns();
        records[1]["message"]["usage"] = json!({ "input_tokens": 50_000 });
        records[3]["message"]["usage"] =
            json!({ "input_tokens": 3, "cache_read_input_tokens": tokens });
        import(lines(&records)).1
    };
    assert!(billed(69_000).is_empty());
    assert_eq!(billed(90_000), [DiagnosticKind::ContextMismatch]);
}

/// Returns the record that reports a step of the subagent `a1b2`, which `call` started.
fn step(uuid: &str, parent: &str, call: &str, step: &Value) -> Value {
    let data = json!({ "type": "agent_progress", "agentId": "a1b2", "prompt": "find callers", "message": step });
    record(
        "progress",
        uuid,
        parent,
        json!({ "parentToolUseID": call, "data": data }),
    )
}

/// Returns a call that starts a subagent.
fn task(uuid: &str, parent: &str) -> Value {
    let mut record = call(uuid, parent);
    let block = &mut record["message"]["content"][0];
    block["name"] = json!("Task");
    block["input"] = json!({ "prompt": "find callers" });
    record
}

/// Returns a step without what only records of the session have.
fn inner(mut step: Value) -> Value {
    step.as_object_mut()
        .expect("an object")
        .remove("parentUuid");
    step
}

/// Returns a session with a subagent whose steps are reported between its records. A second record of an answer repeats the
/// first and has more.
fn reported_steps() -> Vec<Value> {
    let said = |text: &str| json!({ "type": "text", "text": text });
    let mut first = call("s2", "");
    let blocks = first["message"]["content"].as_array_mut().expect("blocks");
    blocks.insert(0, said("I look"));
    let mut grown = call("s4", "");
    grown["message"]["id"] = json!("s2");
    let known = first["message"]["content"][1].clone();
    let blocks = grown["message"]["content"].as_array_mut().expect("blocks");
    blocks.splice(0..0, [said("I look"), known]);
    let mut begun = answer("s0", "", "I");
    begun["message"]["id"] = json!("s2");
    vec![
        user("u1", "", "who calls it?"),
        task("a1", "u1"),
        step("p1", "a1", "a1", &inner(user("s1", "", "find callers"))),
        step("p7", "p1", "a1", &inner(begun)),
        step("p2", "p7", "a1", &inner(first.clone())),
        step("p3", "p2", "a1", &inner(result("s3", "s2"))),
        progress("p4", "p3"),
        step("p5", "p4", "a1", &inner(grown)),
        step("p6", "p5", "a1", &inner(result("s5", "s4"))),
        result("r1", "a1"),
        answer("a2", "r1", "main calls it"),
    ]
}

#[test]
fn reported_steps_of_a_subagent_are_a_branch_at_its_call() {
    let bytes = lines(&reported_steps());
    insta::assert_snapshot!(check(&Fixture { bytes }), @r#"
    session s in "/p"
     00000001 (agent-cli/import) {"bytes":3591,"id":"s","losses":{"progress":1},"path":"",...
    *u1 user who calls it?
    *a1 assistant Task({"prompt":"find callers"})
    *r1 toolResult ok
     s1 ^a1 [claude-code/subagent a1b2] find callers
     s0 assistant I look
     s3 toolResult ok
     s5 toolResult ok
    *a2 ^r1 assistant main calls it
    skipped: {"progress": 1}
    duplicates 0, interrupted 0, usage 0+0+0>0
    "#);
}

#[test]
fn a_subagent_that_is_resumed_is_a_branch_at_the_call_that_resumed_it() {
    let bytes = lines(&[
        user("u1", "", "who calls it?"),
        task("a1", "u1"),
        step("p1", "a1", "a1", &inner(user("s1", "", "find callers"))),
        step("p2", "p1", "a1", &inner(answer("s2", "", "two"))),
        result("r1", "a1"),
        task("a2", "r1"),
        step("p3", "a2", "a2", &inner(user("s3", "", "name them"))),
        step("p4", "p3", "a2", &inner(answer("s4", "", "f and g"))),
        result("r2", "a2"),
    ]);
    insta::assert_snapshot!(check(&Fixture { bytes }), @r#"
    session s in "/p"
     00000001 (agent-cli/import) {"bytes":2619,"id":"s","losses":{},"path":"","sha256":nul...
    *u1 user who calls it?
    *a1 assistant Task({"prompt":"find callers"})
    *r1 toolResult ok
     s1 ^a1 [claude-code/subagent a1b2] find callers
     s2 assistant two
    *a2 ^r1 assistant Task({"prompt":"find callers"})
    *r2 toolResult ok
     s3 ^a2 [claude-code/subagent a1b2] name them
     s4 assistant f and g
     0000000b ^r2 (agent-cli/leaf) {"from":"s4","reason":"import"}
    duplicates 0, interrupted 0, usage 0+0+0>0
    "#);
}

#[test]
fn a_side_chain_is_a_branch_at_the_call_that_has_its_prompt() {
    let side = |mut record: Value| {
        record["isSidechain"] = json!(true);
        record
    };
    let records = [
        side(user("w1", "", "Warmup")),
        user("u1", "", "find callers"),
        task("a1", "u1"),
        task("a2", "a1"),
        side(user("s1", "", "find callers")),
        side(user("t1", "", "find callers")),
        side(call("s2", "s1")),
        side(answer("t2", "t1", "two callers")),
        side(result("s3", "s2")),
        result("r1", "a1"),
        result("r2", "a2"),
        answer("a3", "r2", "main calls it"),
    ];
    let bytes = lines(&records);
    insta::assert_snapshot!(check(&Fixture { bytes }), @r#"
    session s in "/p"
     00000001 (agent-cli/import) {"bytes":2532,"id":"s","losses":{},"path":"","sha256":nul...
     w1 [claude-code/subagent] Warmup
    *u1 ^00000001 user find callers
    *a1 assistant Task({"prompt":"find callers"})
    *r1 toolResult ok
    *a2 assistant Task({"prompt":"find callers"})
    *r2 toolResult ok
     s1 ^a1 [claude-code/subagent] find callers
     t1 ^a2 [claude-code/subagent] find callers
     s2 ^s1 assistant Bash({"command":"ls"})
     s3 toolResult ok
     t2 ^t1 assistant two callers
    *a3 ^r2 assistant main calls it
    duplicates 0, interrupted 0, usage 0+0+0>0
    "#);
}

#[test]
fn a_file_that_is_cut_within_the_steps_of_a_subagent_ends_on_the_main_path() {
    let records = reported_steps();
    let bytes = lines(&records);
    for cut in (1..bytes.len()).step_by(41) {
        let found = bytes[..cut].split(|byte| *byte == b'\n');
        let found = found.filter(|line| serde_json::from_slice::<Value>(line).is_ok());
        let whole = found.count();
        if whole == 0 {
            continue;
        }
        let main = records[..whole].iter().cloned().map(|mut record| {
            record["data"] = json!(null);
            record
        });
        let (tree, _) = import(bytes[..cut].to_vec());
        let (expected, _) = import(lines(&main.collect::<Vec<_>>()));
        assert_eq!(
            (path(&tree), context(&tree)),
            (path(&expected), context(&expected))
        );
        check(&Fixture {
            bytes: bytes[..cut].to_vec(),
        });
    }
}

#[test]
fn a_subagent_is_not_exported() {
    let tree = import(lines(&reported_steps())).0;
    let mut out = Vec::new();
    export(Target::Claude, &tree, tree.leaf(), &mut out).expect("it is exported");
    let out = String::from_utf8(out).expect("text");
    assert!(
        out.contains("main calls it") && !out.contains("isMeta"),
        "{out}"
    );
}

#[test]
fn calls_of_several_answers_with_one_id_have_a_result_each() {
    let mut records = vec![user("u", "", "go")];
    let mut parent = "u".to_owned();
    for turn in 0..3 {
        let mut call = call(&format!("c{turn}"), &parent);
        call["message"]["content"][0]["id"] = json!("call_0");
        let mut result = result(&format!("r{turn}"), &format!("c{turn}"));
        let block = &mut result["message"]["content"][0];
        block["tool_use_id"] = json!("call_0");
        block["content"] = json!(format!("result {turn}"));
        records.extend([call, result]);
        parent = format!("r{turn}");
    }
    let input = Input::of_bytes(lines(&records));
    let examined = examine(Format::ClaudeCode, &input).unwrap();
    assert_eq!(examined.diagnostics, []);
    let (tree, diagnostics) = import(lines(&records));
    assert_eq!(diagnostics, []);
    let context = build_context(&tree.path(tree.leaf()), ContextRules::Own);
    let results = context
        .messages()
        .filter_map(|(_, message)| match &**message {
            AgentMessage::ToolResult(result) => Some(result.content.joined_text("")),
            _ => None,
        });
    let want = ["result 0", "result 1", "result 2"];
    assert_eq!(results.collect::<Vec<_>>(), want);
}
