//! `hooks list` and `hooks test`, with programs that the tests write.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::{Output, TestEnv};

/// Returns a folder with these hooks in the global settings, and a session.
fn with_hooks(hooks: &Value) -> TestEnv {
    let env = TestEnv::sample();
    let settings = json!({ "hooks": hooks });
    env.write("config/settings.json", format!("{settings:#}\n"));
    env
}

/// Returns a hook that runs a line of the shell at these points.
fn hook(points: &[&str], command: &str) -> Value {
    json!({ "points": points, "command": command })
}

fn test(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run_with(&["hooks", "test"], arguments)
}

#[test]
fn hooks_are_listed_with_the_place_that_sets_them() {
    let env = with_hooks(&json!({
        "guard": {
            "points": ["tool_call", "session_before_compact"], "command": ["python3", "guard.py"],
            "matches": "bash|manual", "timeoutSeconds": 5, "folder": "/srv/work",
        },
        "off": { "points": ["turn_end"], "command": "true", "enabled": false },
        "wrong": { "points": ["turn_end"], "matches": "(", "command": "true" },
    }));
    let one_more = r#"hooks={"typed": {"points": ["turn_end"], "command": "echo \u001b[2J"}}"#;
    assert_snapshot!(env.run(&["hooks", "list", "--set", one_more]), @r#"
    exit 0
    --- stdout
    guard
      points   tool_call, session_before_compact
      command  ["python3","guard.py"]
      matches  bash|manual
      timeout  5 s
      folder   /srv/work
      set in   [DIR]/config/settings.json, line 4
    off  off
      points   turn_end
      command  true
      timeout  30 s
      set in   [DIR]/config/settings.json, line 17
    typed
      points   turn_end
      command  echo  [2J
      timeout  30 s
      set in   --set
    wrong
      problem  hooks.wrong: matches is not a pattern: (: unclosed group
      points   turn_end
      command  true
      matches  (
      timeout  30 s
      set in   [DIR]/config/settings.json, line 24
    "#);
    let listed = env.json(&["hooks", "list"]);
    assert_snapshot!(format!("{:#}", listed["hooks"][0]), @r#"
    {
      "command": [
        "python3",
        "guard.py"
      ],
      "enabled": true,
      "folder": "/srv/work",
      "matches": "bash|manual",
      "name": "guard",
      "on_failure": "continue",
      "origin": {
        "layer": "global",
        "line": 4,
        "source": "[DIR]/config/settings.json"
      },
      "points": [
        "tool_call",
        "session_before_compact"
      ],
      "problem": null,
      "timeout_seconds": 5
    }
    "#);
}

#[test]
fn without_hooks_it_is_said_where_they_are_set() {
    assert_snapshot!(TestEnv::new().run(&["hooks", "list"]), @"
    exit 0
    --- stdout
    no hooks are set
    ");
    assert_snapshot!(TestEnv::new().run(&["hooks", "test", "tool_call"]), @"
    exit 3
    --- stderr
    nothing to do: no hook is set for tool_call
    ");
}

#[test]
fn a_project_sets_no_hooks() {
    let env = TestEnv::new();
    let settings = json!({ "hooks": { "mine": hook(&["turn_end"], "touch ran") } });
    env.write(".agent-cli/settings.json", settings.to_string());
    assert_snapshot!(env.run(&["hooks", "list"]), @"
    exit 2
    --- stderr
    error: settings [DIR]/.agent-cli/settings.json, line 1: a project may not set hooks; put it in the global file [DIR]/config/settings.json
    ");
}

#[test]
#[cfg(unix)]
fn a_hook_is_tried_and_its_answer_is_shown() {
    let guard = "echo careful >&2; echo '{\"block\": true, \"reason\": \"not now\"}'";
    let env = with_hooks(&json!({
        "guard": hook(&["tool_call"], guard),
        "other": hook(&["turn_end"], "false"),
        "zeal": hook(&["tool_call"], "cat > seen.json"),
    }));
    assert_snapshot!(test(&env, &["tool_call"]), @r#"
    exit 0
    --- stdout
    guard  exit code 0, [TIME]
      answered blocks the call: not now
      stdout {"block": true, "reason": "not now"}
      stderr careful
    zeal  exit code 0, [TIME]
      answered nothing
    "#);
    let seen: Value = serde_json::from_slice(&env.read("seen.json")).expect("one object");
    assert_eq!(seen["hook_point"], "tool_call");
    assert_eq!(seen["tool"], "read");
    let document = test(&env, &["tool_call", "--json"]).json();
    assert_eq!(document["hooks"][0]["failure"], Value::Null);
    assert_eq!(document["hooks"][0]["stderr"], "careful\n");
}

#[test]
#[cfg(unix)]
fn every_point_can_be_tried() {
    let points = hooks::HookPoint::ALL.map(hooks::HookPoint::name);
    let env = with_hooks(&json!({ "echo": hook(&points, "cat > $AGENT_CLI_HOOK.json") }));
    for point in points {
        let document = test(&env, &[point, "--json"]).json();
        let seen: Value =
            serde_json::from_slice(&env.read(&format!("{point}.json"))).expect("one object");
        assert_eq!(seen["hook_point"], point);
        assert!(document["hooks"][0]["answer"].is_string(), "{point}");
    }
}

#[test]
#[cfg(unix)]
fn a_hook_that_fails_is_shown_and_ends_in_1() {
    let env = with_hooks(&json!({
        "broken": hook(&["turn_end"], "echo no such thing >&2; exit 3"),
        "garbage": hook(&["turn_end"], "echo garbage"),
        "good": hook(&["turn_end"], "true"),
    }));
    assert_snapshot!(test(&env, &["turn_end"]), @"
    exit 1
    --- stdout
    broken  exit code 3, [TIME]
      failed: exit code 3: no such thing
      stderr no such thing
    garbage  exit code 0, [TIME]
      failed: standard output is not a JSON object (expected value at line 1 column 1); write one, or nothing
      stdout garbage
    good  exit code 0, [TIME]
      answered nothing
    --- stderr
    error: 2 hooks failed: broken, garbage
    ");
    let output = test(&env, &["turn_end", "--json"]);
    assert_eq!(output.code, Some(1));
    assert_eq!(output.json()["hooks"][2]["failure"], Value::Null);
}

#[test]
#[cfg(unix)]
fn a_payload_is_given_as_it_stands() {
    let env = with_hooks(&json!({
        "echo": { "points": ["tool_call"], "command": "cat > seen.json", "matches": "nothing" },
    }));
    assert_snapshot!(test(&env, &["tool_call"]), @"
    exit 0
    --- stdout
    echo  not run: its pattern or its folder does not fit
    ");
    env.write("payload.json", "{ \"mine\":\n [1, 2] }\n");
    test(&env, &["tool_call", "--payload", "payload.json"]).success();
    assert_eq!(env.read("seen.json"), b"{\"mine\":[1,2]}\n");
}

#[test]
fn what_cannot_be_tried_is_refused() {
    let env = with_hooks(&json!({ "guard": hook(&["tool_call"], "true") }));
    env.write("list.json", "[]");
    let said = |arguments: &[&str]| {
        let output = test(&env, arguments);
        assert_eq!(output.stdout, "", "{output}");
        format!("{}: {}", output.code.unwrap_or_default(), output.stderr)
    };
    assert_snapshot!(said(&["tool_cal"]), @"
    2: error: invalid value 'tool_cal' for '<POINT>': there is no hook point tool_cal; choose from session_start, session_shutdown, before_prompt, tool_call, tool_result, turn_end, session_before_compact, session.compacting, session_compact, session_compact_failed, session_before_tree, session_tree

    For more information, try '--help'.
    ");
    assert_snapshot!(said(&["turn_end"]), @"3: nothing to do: no hook is set for turn_end");
    assert_snapshot!(said(&["tool_call", "--payload", "list.json"]), @"2: error: --payload list.json: hooks read one JSON object: invalid type: sequence, expected a map at line 1 column 0");
    assert_snapshot!(said(&["tool_call", "--payload", "none.json"]), @"1: error: cannot read none.json: No such file or directory (os error 2)");
    let wrong = "hooks.guard.matches=(";
    assert_snapshot!(said(&["tool_call", "--set", wrong]), @"2: error: hooks.guard: matches is not a pattern: (: unclosed group");
}
