//! Golden sessions: what each fixture becomes.

use crate::support::{Fixture, check};

#[test]
fn claude_code_groups_answers_and_keeps_what_a_compaction_preserved() {
    insta::assert_snapshot!(check(&Fixture::named("claude-compaction.jsonl")), @r#"
    session 11111111-2222-4333-8444-555555555555 in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":6596,"id":"11111111-2222-4333-8444-555555555555"...
     00000002 name Some("Synthetic")
     u1 user read both files
     a1 assistant two reads
     r1 toolResult A
     r2 toolResult B
     a4 assistant both read
    *u2 user kept question
    *a5 assistant kept answer
    *s1 compaction keeps u2 before 155000: This session is being continued from a previous conversat...
    *u3 user after compaction
    *a6 assistant answer after
    skipped: {"last-prompt": 1, "queue-operation": 1}
    duplicates 0, interrupted 0, usage 40+4000+400>200
    "#);
}

#[test]
fn claude_code_keeps_branches_and_tells_the_user_from_the_program() {
    insta::assert_snapshot!(check(&Fixture::named("claude-branches.jsonl")), @r#"
    session 5e550000-0000-4000-8000-000000000001 in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":11208,"id":"5e550000-0000-4000-8000-000000000001...
     00000002 name Some("Parser work")
    *u1 user first request: fix the parser
    *m1 [claude-code/meta] Caveat: injected by the program
    *t1 [claude-code/attachment/nested_memory] /workspace/project/CLAUDE.md
    *a1 assistant look at it
    *r1 toolResult fn parse() {}
    *r2 toolResult! Exit code 101
    *t2 [claude-code/attachment/hook_additional_context] lint is clean
    *a4 assistant One test fails.
     u2 [claude-code/command] <command-name>/model</command-name> <command-message>mode...
     0000000c [claude-code/reminder] <system-reminder>Todo list is empty.</system-reminder>
     u3 user second request: rename it
     a5 assistant wrong way
     0000000f toolResult! No result is recorded: the call was interrupted.
     u4 [claude-code/interruption] [Request interrupted by user for tool use]
    *u5 ^a4 user second request, other wording
    *a6 assistant Task({"prompt":"find callers"})
    *r4 toolResult no callers
     s1 ^a6 [claude-code/subagent] find callers
     s2 assistant no callers
    *t3 ^r4 user third request: queued while busy
     a7 (claude-code/synthetic) {"text":"API Error: 529 overloaded"}
     a8 assistant refused text
     00000019 edit a8 to nothing
    *a9 assistant All done.
    skipped: {"a-kind-of-next-month": 1, "file-history-snapshot": 1, "queue-operation": 1}
    duplicates 1, interrupted 1, usage 35+3500+350>164
    Note line 27: a second record with the same uuid; left out
    "#);
}

#[test]
fn codex_pairs_results_drops_repeated_usage_and_rolls_back() {
    insta::assert_snapshot!(check(&Fixture::named("codex-legacy.jsonl")), @r#"
    session 0199a000-0000-7000-8000-000000000001 in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":8040,"contextWindow":272000,"id":"0199a000-0000-...
     00000002 name Some("Deleting a file")
     00000003 (codex/session_meta) {"originator":"codex_cli_rs","cli_version":"0.55.0","sour...
     00000004 [codex/environment] <environment_context>
     00000005 model openai/gpt-5-codex
     00000006 thinking medium
     00000007 user first: list the files
     00000008 assistant **Listing**
     00000009 toolResult a.txt
     0000000a toolResult! 
     0000000b assistant One file.
     0000000c user second: wrong question
     0000000d assistant wrong answer
     0000000e ^0000000b user second: delete it
     0000000f assistant apply_patch({"input":"*** Begin Patch\n*** Delete File: a...
     00000010 toolResult! No result is recorded: the call was interrupted.
     00000011 toolResult! Exit code: 1
     00000012 compaction keeps 00000012 before 1310: Summary of the work: listed files.
     00000013 [agent-cli/import] first: list the files second: delete it
     00000014 user third: go on
     00000015 (codex/web_search_call) {"type":"web_search_call","status":"completed","action":{...
     00000016 assistant going on
    *00000017 compaction keeps 00000017 before 520: The provider compacted the conversation before this point...
    *00000018 user fourth: and now?
    *00000019 assistant finished
    skipped: {"a_new_type": 1, "event_msg/agent_message": 1, "event_msg/user_message": 1, "session_meta (of the parent)": 1}
    losses: {"web_search_call: kept, but not in the context": 1}
    duplicates 0, interrupted 1, usage 1700+2600+0>75
    "#);
}

#[test]
fn codex_copies_what_a_local_compaction_kept() {
    insta::assert_snapshot!(check(&Fixture::named("codex-compaction.jsonl")), @r#"
    session 01a2010b-ec77-70b3-a84c-8a42f2e3e063 in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":23750,"contextWindow":19000,"id":"01a2010b-ec77-...
     00000002 (codex/session_meta) {"originator":"codex_exec","cli_version":"0.169.0","sourc...
     msg_01a2010b-ece4-7073-bafb-e519f3524ac3 [codex/developer] <skills_instructions>
     msg_01a2010b-ece4-7073-bafb-e521d0f1492e [codex/agents_md.instructions] # AGENTS.md instructions for /workspace/project
     00000005 [codex/environments.environment_context] <environment_context>
     00000006 model mock/gpt-5.2-codex
     msg_01a2010b-ecfb-7d52-b861-29a37d45f167 user first user message: run the seq command
     rs_1 assistant thinking
     fco_01a2010b-ef50-74d1-9837-e794520b535b toolResult Chunk ID: 11973d
     0000000a usage compaction 350
    *0000000b compaction keeps 0000000b before 9050: Another language model started to solve this problem and ...
    *0000000c [agent-cli/import] <skills_instructions>
    *0000000d [agent-cli/import] # AGENTS.md instructions for /workspace/project
    *0000000e [agent-cli/import] first user message: run the seq command
    *msg_3 assistant done 3
    skipped: {"event_msg/item_completed": 5, "event_msg/task_complete": 1, "event_msg/task_started": 1, "event_msg/thread_settings_applied": 2, "response_item (a summary)": 1, "world_state": 2}
    duplicates 0, interrupted 0, usage 10000+0+0>150
    "#);
}

#[test]
fn codex_forks_have_the_history_that_they_refer_to() {
    insta::assert_snapshot!(check(&Fixture::named("codex-fork-child.jsonl")), @r#"
    session 01a2014c-4c7f-7a01-9f06-1017ebf0aeec in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":7505,"contextWindow":258400,"id":"01a2014c-4c7f-...
     00000002 (codex/session_meta) {"forked_from_id":"01a2014c-49ee-7432-a739-4e557a4b21ff",...
    *msg_01a2014c-4a5f-7b63-b6a1-af08c97d876a [codex/developer] <skills_instructions>
    *msg_01a2014c-4a5f-7b63-b6a1-af1facd1a1a6 [codex/environments.environment_context] <environment_context>
     00000005 model mock/gpt-5.5
    *msg_01a2014c-4a75-70c1-9fcc-fbb555e07dbb user base question
    *rs_1 assistant thinking
    *fco_01a2014c-4b14-74b1-a5fb-828e3d311d3d toolResult Chunk ID: 8b695f
    *msg_2 assistant done 2
    *msg_01a2014c-4d18-7941-bce2-6f149fdfe828 user forked question
    *msg_3 assistant done 3
    skipped: {"event_msg/item_completed": 6, "event_msg/task_complete": 2, "event_msg/task_started": 2, "event_msg/thread_settings_applied": 3, "world_state": 1}
    duplicates 0, interrupted 0, usage 1900+0+0>150
    "#);
}

#[test]
fn a_codex_fork_without_its_base_is_reported() {
    let fixture = Fixture::named("codex-fork-child.jsonl");
    let input = session_import::Input::of_bytes(fixture.bytes);
    let origin = session_import::Origin::default();
    let format = session_import::Format::Codex;
    let report = session_import::import(format, &input, &origin, &|_| None, &mut std::io::sink());
    let said = report.expect("it is imported").diagnostics;
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].severity, session_model::Severity::Error);
    insta::assert_snapshot!(said[0], @"line 1: the history before the fork is in the session 01a2014c-49ee-7432-a739-4e557a4b21ff, which was not found; only what followed is here");
    // A log that is based on itself ends.
    let own = session_import::import(
        format,
        &input,
        &origin,
        &|_| Some(input.clone()),
        &mut std::io::sink(),
    );
    let said = own.expect("it is imported").diagnostics;
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn qwen_code_copies_what_a_compression_kept() {
    insta::assert_snapshot!(check(&Fixture::named("qwen-compression.jsonl")), @r#"
    session 2891df37-9a85-4491-9b19-c6c89a3b7983 in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":12971,"id":"2891df37-9a85-4491-9b19-c6c89a3b7983...
     a6b3c3af-5b50-4129-b0cd-83b8856f1bdd user USETOOL please read a.txt
     6f4fc154-169d-40cd-8914-682dccafc1d2 assistant thinking about it
     9a87eafc-d4d6-4a2d-a762-f5ccad41abc1 toolResult hello file
     46267fa5-15dd-4f6a-9261-242cff38db0b assistant thinking about it
     7fa3b6d5-c219-430a-9cac-32808ff70fce user second question
     ebfd4ac8-b31c-492b-85e9-f0c0ee44edeb assistant thinking about it
    *642e40f4-03a3-40fd-83e8-fa36cc240066 compaction keeps 642e40f4-03a3-40fd-83e8-fa36cc240066 before 9000: <state_snapshot><overall_goal>mock goal</overall_goal></s...
    *00000009 [agent-cli/import] Recently accessed file (full current content embedded):
    *ea91d13d-4270-4c14-8cb5-ac226d07bdc5 user third after compress
    *e7885b22-88f9-4ce6-b52c-5f8e62fa6f13 assistant thinking about it
    skipped: {"system/attribution_snapshot": 3, "system/ui_telemetry": 8}
    duplicates 0, interrupted 0, usage 35600+400+0>200
    "#);
}

#[test]
fn qwen_code_merges_lines_follows_rewinds_and_counts_a_fork_once() {
    insta::assert_snapshot!(check(&Fixture::named("qwen-fork.jsonl")), @r#"
    session 9e000000-0000-4000-8000-000000000002 in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":4406,"id":"9e000000-0000-4000-8000-000000000002"...
     00000002 name Some("Forked work")
    *00000003 [qwen-code/hook] <qwen:user-prompt-submit-context>from a hook
    *q1 user part one,
    *q2 assistant hm
    *q3 toolResult! no such file
    *00000007 toolResult! No result is recorded: the call was interrupted.
    *q3b user hurry
     q5 assistant dead end
    *q7 ^q3b user after the rewind
    *q8 [qwen-code/notification] a task ended
    *q9 assistant good
    skipped: {"system/custom_title": 1, "system/notification": 1, "system/rewind": 1, "system/session_artifact_snapshot": 1}
    duplicates 0, interrupted 1, usage 220+80+0>30
    "#);
}

#[test]
fn gemini_cli_takes_the_newest_form_and_finds_compactions() {
    insta::assert_snapshot!(check(&Fixture::named("gemini-journal.jsonl")), @r#"
    session 6e000000-0000-4000-8000-000000000003 in ""
     00000001 (agent-cli/import) {"bytes":3320,"id":"6e000000-0000-4000-8000-000000000003"...
     g0 [gemini-cli/context] <session_context>today</session_context>
     00000003 [gemini-cli/context] look at @a.txt --- a.txt ---
     g1 user look at @a.txt
     g2 assistant **Reading**
     00000006 toolResult hello
     g4 assistant It says hello.
     g5 user wrong turn
     g6 assistant lost
    *g7 ^g4 user right turn
    *g8 assistant done
    *0000000c compaction keeps g7 before 0: <state_snapshot>hello was read</state_snapshot>
    *g10 user and now?
    *g11 assistant bye
    *0000000f toolResult! No result is recorded: the call was interrupted.
    skipped: {"info": 1, "user (results of calls)": 1}
    duplicates 0, interrupted 1, usage 590+40+0>28
    "#);
}

#[test]
fn gemini_cli_has_sessions_of_one_document() {
    insta::assert_snapshot!(check(&Fixture::named("gemini-document.json")), @r#"
    session 6e000000-0000-4000-8000-000000000003 in ""
     00000001 (agent-cli/import) {"bytes":881,"id":"6e000000-0000-4000-8000-000000000003",...
    *d1 user Hello
    *d2 assistant Hi!
    *d3 assistant old form
    duplicates 0, interrupted 0, usage 10+0+0>5
    "#);
}

#[test]
fn opencode_has_calls_with_their_results_and_one_entry_for_a_compaction() {
    insta::assert_snapshot!(check(&Fixture::named("opencode-export.json")), @r#"
    session ses_dfeb9ef57ffe2w9d0tqwsxQPWf in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":16586,"id":"ses_dfeb9ef57ffe2w9d0tqwsxQPWf","los...
     00000002 name Some("done 1")
     msg_2014611c6001fijsRJzXP57n9E user "USETOOL please read a.txt"
     msg_201461d15001p3Osv6nEYecmHR assistant thinking about it
     prt_201462d6500134s4t4aOlsMjsQ toolResult <path>/workspace/project/a.txt</path>
     msg_201462fa9001Lr3Mh50gY2X1zM assistant thinking about it
     msg_20146e77b001owcLWSe3yThvUm user "BIGUSAGE second question"
     msg_20146f222001ac27B8t1cHlZOT assistant thinking about it
     00000009 usage compaction 39550
    *msg_201470255001wrLMXqcOHAI8Eg compaction keeps msg_201470255001wrLMXqcOHAI8Eg before 39550: done 2
    *msg_2014705f7001sXYzcVXT8dsgWS [opencode/synthetic] Continue if you have next steps, or stop and ask for clar...
    *msg_201470603001wDsVDToAS1O9d5 assistant thinking about it
    *msg_201472b83001dcokR19rfMkNog user "third question after compaction"
    *msg_20147488c001arWSXvZVRoRW5h assistant thinking about it
    duplicates 0, interrupted 0, usage 114900+600+0>300
    "#);
}

#[test]
fn opencode_keeps_what_was_undone_as_a_branch() {
    insta::assert_snapshot!(check(&Fixture::named("opencode-revert.json")), @r#"
    session ses_1 in "/workspace/project"
     00000001 (agent-cli/import) {"bytes":6590,"id":"ses_1","losses":{},"path":"","sha256"...
     00000002 name Some("Two questions")
     00000003 [opencode/synthetic] Called the Read tool with a.txt [a.txt text/plain: file:/...
     msg_1 user first question
     msg_2 assistant bash({"command":"ls"})
     prt_c1 toolResult a.txt
     00000007 edit prt_c1 to [Old result of a tool, cleared]
     prt_c2 toolResult! denied
     00000009 toolResult! No result is recorded: the call was interrupted.
    *msg_3 user second question
    *msg_4 assistant second answer
     0000000c usage compaction 185
     0000000d usage compaction 185
    *msg_8 compaction keeps msg_3 before 185: The summary.
    *msg_9 [opencode/synthetic] Continue if you have next steps
    *msg_10 assistant went on
     msg_11 user undone question
     msg_12 assistant undone answer
     00000013 ^msg_10 (agent-cli/leaf) {"from":"msg_12","reason":"import"}
    skipped: {"assistant (a summary that failed)": 1}
    duplicates 0, interrupted 1, usage 600+300+120>90
    "#);
}

#[test]
fn copilot_cli_keeps_what_the_user_said_through_a_compaction() {
    insta::assert_snapshot!(check(&Fixture::named("copilot-compaction.jsonl")), @r#"
    session 674d4e50-66e5-43c3-a943-6bc601754bb4 in "/work"
     00000001 (agent-cli/import) {"bytes":12484,"contextWindow":128000,"id":"674d4e50-66e5...
     00000002 [copilot/added] <current_datetime>2026-11-28T16:16:19.802+00:00</current_...
     0b18b2de-dba9-455b-9775-4ed0ad5f011b user USETOOL please read a.txt
     19fb1912-c50a-4e2b-8c0d-d559316b2037 assistant bash({"command":"cat a.txt","description":"show"})
     00000005 toolResult lamp
     6348225c-598b-4410-843e-7d4a47e57522 assistant It says lamp.
     00000007 [copilot/added] <current_datetime>2026-11-28T16:16:22.578+00:00</current_...
     6e6fd025-1c53-4988-b48d-02b24b278a35 user second question
     55240a33-3856-43aa-9c91-9f2d8329319d assistant Answer to: 11-28T16:16:22.578+00:00</current_datetime>
     0000000a usage compaction 13367
    *f931fbad-9e9a-4077-a653-f37bd5538ce9 compaction keeps f931fbad-9e9a-4077-a653-f37bd5538ce9 before 10456: Answer to: l one before responding: respond only with the...
    *0000000c [agent-cli/import] USETOOL please read a.txt
    *0000000d [agent-cli/import] second question
    *0000000e [copilot/added] <current_datetime>2026-11-28T16:18:16.714+00:00</current_...
    *ec37b3b3-f602-46e3-9dfd-9b8fe9ec5fb9 user third question after compaction
    *faed25c6-2939-42c3-9e97-f618265a6581 assistant Answer to: 14+00:00</current_datetime>
    skipped: {"model.messages_snapshot": 1, "session.shutdown": 4, "system.message": 2}
    duplicates 0, interrupted 0, usage 61643+0+0>100
    "#);
}

#[test]
fn cline_keeps_the_messages_that_its_compaction_names() {
    insta::assert_snapshot!(check(&Fixture::named("cline-compaction.json")), @r#"
    session 1795882709427_t78cn in "/work"
     00000001 (agent-cli/import) {"bytes":6467,"id":"1795882709427_t78cn","losses":{},"pat...
     00000002 name Some("USETOOL please read a.txt")
     79b5efac-0a6e-4991-ade3-6bd366d30394 user USETOOL please read a.txt
     msg_t19-pUn4 assistant run_commands({"commands":["cat a.txt"]})
     00000005 toolResult [{"query": "cat a.txt", "result": "lamp\n", "success": tr...
     msg_MkmNYKU8 assistant It says lamp.
     f79ea2c4-db4b-4bf2-b432-75c9790a7419 user second question
    *msg_Q3koTMre assistant Answer to: second question
    *2c26ce72-2a29-4326-9b12-c155765041af user USETOOL third question
    *msg_y0noZfRb assistant run_commands({"commands":["cat a.txt"]})
    *0000000b toolResult [{"query": "cat a.txt", "result": "lamp\n", "success": tr...
    *msg_ZKeK6Hc1 assistant It says lamp.
    *0000000d compaction keeps msg_Q3koTMre before 778: Answer to:
    *2c626c89-913b-409b-9f03-562e95c1adb5 user question after compaction
    *msg_84xoZfwt assistant Answer to: question after compaction
    duplicates 0, interrupted 0, usage 33275+0+0>120
    "#);
}

#[test]
fn goose_has_a_summary_between_what_is_shown_and_what_is_sent() {
    insta::assert_snapshot!(check(&Fixture::named("goose-export.json")), @r#"
    session 20260101_1 in "/work"
     00000001 (agent-cli/import) {"bytes":3025,"id":"20260101_1","losses":{},"path":"","sh...
     00000002 name Some("Read a file")
     m1 user read a.txt
     m2 assistant look
     00000005 toolResult lamp
     00000006 toolResult! -32601: no such tool
    *m7 compaction keeps m7 before 0: a.txt says lamp
    *m8 [goose/agent_only] Your context was compacted.
    *m9 user what does it say?
    *m10 assistant lamp
    *0000000b toolResult a.txt
     0000000c usage session 940
    skipped: {"answer without content": 1, "systemNotification": 1}
    duplicates 1, interrupted 0, usage 900+0+0>40
    "#);
}

#[test]
fn crush_begins_anew_at_a_summary() {
    insta::assert_snapshot!(check(&Fixture::named("crush-session.json")), @r#"
    session 5f0c in "/work"
     00000001 (agent-cli/import) {"bytes":2775,"id":"5f0c","losses":{},"path":"","sha256":...
     00000002 name Some("Read a file")
     m1 user read a.txt
     m2 assistant look
     00000005 toolResult lamp
     m4 assistant It says lamp.
    *m5 compaction keeps m5 before 0: a.txt was read
    *00000008 [crush/shell_command] $ ls
    *m6 user and now?
    *m7 assistant view({"file_path":"a.txt"})
    *0000000b toolResult! No result is recorded: the call was interrupted.
    duplicates 0, interrupted 1, usage 700+0+0>30
    "#);
}
