//! `config`, and settings that come from files which nobody named.

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{BINARY, Output, TestEnv};

/// Returns a folder with a global file, a project's file, and a session.
fn layered() -> TestEnv {
    let env = TestEnv::sample();
    env.write(
        "config/settings.json",
        "{\n  \"model\": \"openai/gpt-5\",\n  \"compaction\": {\n    \"keepRecentTokens\": 300,\n    \"thresholdPercent\": 50, \"fallbackModels\": [\"a/b\", \"c/d\"]\n  },\n  \
         \"providers\": {\n    \"lab\": {\n      \"baseUrl\": \"http://127.0.0.1:9000/v1\",\n      \
         \"headers\": { \"X-Key\": \"sk-planted-0123456789\" }\n    }\n  }\n}\n",
    );
    env.write(
        ".agent-cli/settings.json",
        "{ \"compaction\": {\n  \"keepRecentTokens\": 400 } }",
    );
    env
}

/// Returns the output of a run with a variable that sets something.
fn with_variable(env: &TestEnv, arguments: &[&str]) -> Output {
    let mut command = env.command(BINARY);
    command.env("AGENT_CLI__compaction__idleEnabled", "true");
    env.output(command.args(arguments))
}

/// Returns the output without spaces at the ends of lines.
fn shown(output: &Output) -> String {
    let text = output.to_string();
    let lines = text.lines().map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn values_and_where_they_come_from() {
    let env = layered();
    let changed = ["config", "show", "--changed", "--set", "tools.bash=deny"];
    let output = with_variable(&env, &changed);
    assert_snapshot!(shown(&output), @r#"
    exit 0
    --- stdout
    model                        "openai/gpt-5"                    [DIR]/config/settings.json, line 2
    compaction.fallbackModels    ["a/b","c/d"]                     [DIR]/config/settings.json, line 5
    compaction.idleEnabled       true                              AGENT_CLI__compaction__idleEnabled
    compaction.keepRecentTokens  400                               [DIR]/.agent-cli/settings.json, line 2
    compaction.thresholdPercent  50                                [DIR]/config/settings.json, line 5
    providers.lab.baseUrl        "http://127.0.0.1:9000/v1"        [DIR]/config/settings.json, line 9
    providers.lab.headers.X-Key  "[hidden]"                        [DIR]/config/settings.json, line 10
    tools.bash                   "deny"                            --set
    "#);
    assert_snapshot!(shown(&env.run(&["config", "show", "compaction.prune"])), @r#"
    exit 0
    --- stdout
    compaction.prune.enabled         true                              default
    compaction.prune.protectTokens   40000                             default
    compaction.prune.minimumSavings  20000                             default
    compaction.prune.minimumTokens   50                                default
    compaction.prune.protectedTools  ["skill","read"]                  default
    compaction.prune.supersedeReads  true                              default
    "#);
    assert_snapshot!(shown(&env.run(&["config", "show", "compaction.fallbackModels"])), @r#"
    exit 0
    --- stdout
    compaction.fallbackModels  ["a/b","c/d"]                     [DIR]/config/settings.json, line 5
      meaning     The models that are tried next, in order.
      allowed     a list of texts
      default     []
    "#);
    assert_snapshot!(shown(&env.run(&["config", "show", "compaction.prunes"])), @"
    exit 2
    --- stderr
    error: compaction.prunes is not a setting; did you mean compaction.prune?
    ");
    assert_snapshot!(shown(&env.run(&["config", "show", "a.\"b"])), @r#"
    exit 2
    --- stderr
    error: a."b: put a name with dots in double quotes, as in models."a/b-1.0".window
    "#);
    let all = env.run(&["config", "show"]).success();
    assert!(all.lines().count() > 40, "{all}");
    let json = env.run(&["config", "show", "--json"]).success();
    assert!(!(all + &json).contains("sk-planted"));
    assert_snapshot!(shown(&TestEnv::new().run(&["config", "show", "--changed"])), @"
    exit 3
    --- stderr
    nothing to do: no setting differs from what is built in
    ");
}

#[test]
fn values_for_programs() {
    let env = layered();
    let document = env.json(&["config", "show", "compaction.keepRecentTokens"]);
    let file = env.path(".agent-cli/settings.json").display().to_string();
    assert_eq!(
        document["settings"][0]["origin"]["source"],
        file.replace(&env.folder().display().to_string(), "[DIR]")
    );
    assert_snapshot!(format!("{document:#}"), @r#"
    {
      "about": {
        "allowed": "a whole number, at least 1",
        "default": 20000,
        "key": "compaction.keepRecentTokens",
        "meaning": "Tokens of recent entries that stay verbatim; with system prompt and tools at most half the threshold, or a quarter of what these leave."
      },
      "settings": [
        {
          "changed": true,
          "key": "compaction.keepRecentTokens",
          "origin": {
            "layer": "project",
            "line": 2,
            "source": "[DIR]/.agent-cli/settings.json"
          },
          "value": 400
        }
      ]
    }
    "#);
    let default = env.json(&["config", "show", "compaction.reserveTokens"]);
    assert_snapshot!(default.to_string(), @r#"{"about":{"allowed":"a whole number, at least 1","default":null,"key":"compaction.reserveTokens","meaning":"Tokens kept free for the answer; unset: 16384. At least 15% and at most half of the window."},"settings":[{"changed":false,"key":"compaction.reserveTokens","origin":{"layer":"default","line":null,"source":null},"value":null}]}"#);
    assert_snapshot!(env.json(&["config", "path"]).to_string(), @r#"{"files":[{"layer":"global","path":"[DIR]/config/settings.json","state":"read"},{"layer":"project","path":"[DIR]/.agent-cli/settings.json","state":"read"}]}"#);
    let schema = env.json(&["config", "schema"]);
    let text = env.run(&["config", "schema"]).success();
    let committed = include_str!("../../../../docs/reference/settings.schema.json");
    assert_eq!(text, committed);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).ok(),
        Some(schema)
    );
}

#[test]
fn files_that_are_looked_at() {
    let env = layered();
    assert_snapshot!(shown(&env.run(&["config", "path", "--settings", "own.json"])), @"
    exit 0
    --- stdout
    global   [DIR]/config/settings.json  read
    project  [DIR]/.agent-cli/settings.json  read
    file     own.json  missing
    ");
    // Files that cannot be used are found, and the schema helps to correct them.
    env.write("config/settings.json", "{");
    assert_eq!(env.run(&["config", "path"]).code, Some(0));
    assert_eq!(env.run(&["config", "schema"]).code, Some(0));
    assert_snapshot!(shown(&env.run(&["config", "show"])), @"
    exit 2
    --- stderr
    error: settings [DIR]/config/settings.json, line 1: no JSON at column 1: unterminated object
    ");
    assert_snapshot!(shown(&env.run(&["doctor", "s.jsonl"])), @"
    exit 2
    --- stderr
    error: settings [DIR]/config/settings.json, line 1: no JSON at column 1: unterminated object
    ");

    let mut homeless = env.command(BINARY);
    homeless
        .env_remove("AGENT_CLI_CONFIG_DIR")
        .env_remove("HOME");
    assert_snapshot!(shown(&env.output(homeless.args(["config", "path"]))), @"
    exit 0
    --- stdout
    project  [DIR]/.agent-cli/settings.json  read
    ");
}

#[test]
fn what_a_setting_means() {
    let env = layered();
    let show = |key: &str| shown(&env.run(&["config", "show", key]));
    assert_snapshot!(show("compaction.keepRecentTokens"), @"
    exit 0
    --- stdout
    compaction.keepRecentTokens  400                               [DIR]/.agent-cli/settings.json, line 2
      meaning     Tokens of recent entries that stay verbatim; with system prompt
                  and tools at most half the threshold, or a quarter of what these
                  leave.
      allowed     a whole number, at least 1
      default     20000
    ");
    assert_snapshot!(show("providers.lab.headers"), @r#"
    exit 0
    --- stdout
    providers.lab.headers.X-Key  "[hidden]"                        [DIR]/config/settings.json, line 10
      meaning     Headers in addition to those of the catalog.
      allowed     an object of texts
      default     none
    "#);
    assert_snapshot!(show("models.\"openai/b-1.0\".window"), @r#"
    exit 0
    --- stdout
    models."openai/b-1.0".window  none
      meaning     The window in tokens; required for a new model.
      allowed     a whole number, at least 1
      default     none
    "#);
}

#[test]
fn settings_reach_the_commands() {
    let env = layered();
    let plan = ["plan", "s.jsonl", "--window", "8000"];
    let document = env.json(&plan);
    assert_eq!(document["keep_recent_tokens"]["asked"], 400);
    assert_eq!(document["threshold"], 4000);
    let arguments = [
        &plan[..],
        &["--set", "compaction.keepRecentTokens=500", "--json"],
    ]
    .concat();
    let set = with_variable(&env, &arguments).json();
    assert_eq!(set["keep_recent_tokens"]["asked"], 500);
    env.write(
        "own.json",
        json!({"compaction": {"thresholdPercent": 60}}).to_string(),
    );
    let own = env.json(&[&plan[..], &["--settings", "own.json"]].concat());
    assert_eq!(own["threshold"], 4800);
    env.write(
        ".agent-cli/settings.json",
        r#"{"tools": {"bash": "allow"}}"#,
    );
    assert_snapshot!(shown(&env.run(&plan)), @"
    exit 2
    --- stderr
    error: settings [DIR]/.agent-cli/settings.json, line 1: a project may not set tools.bash; put it in the global file [DIR]/config/settings.json
    ");
}

#[test]
fn help_of_config() {
    let env = TestEnv::new();
    assert_snapshot!(shown(&env.run(&["config", "-h"])), @"
    exit 0
    --- stdout
    Show and change the settings, where each value comes from, and what there is to set

    Usage: agent-cli config [OPTIONS] <COMMAND>

    Commands:
      show    Show the values in force, and where each comes from; of one setting also what it means and
              may be
      path    List the files that settings are read from, and whether they are there
      schema  Print the JSON Schema of settings.json, for editors
      set     Write a setting into the user's file, which stays as it is otherwise
      help    Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Global options:
          --json               Print one JSON document instead of text for people
          --set <KEY=VALUE>    Set one setting, for example compaction.keepRecentTokens=8000; may be
                               repeated
          --settings <FILE>    Read one more settings file, on top of the global and the project's;
                               --set goes on top of all
          --profile <PROFILE>  Whose rules to follow [default: own] [possible values: own, pi]
          --show-secrets       Print keys and private text too. Unless given, the values of variables
                               that hold keys, and what has the form of a key, are hidden in everything
                               that is printed and exported
    ");
}

#[test]
fn settings_are_read_once_per_process() {
    let env = TestEnv::sample();
    let order = "{\"compaction\": {\"strategy\": [\"context-full\", \"extractive\"], \"keepRecentTokens\": 20}}";
    let arguments = ["plan", "s.jsonl", "--settings", "/dev/stdin"];
    let output = env.run_on(order.as_bytes(), &arguments);
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_setting_is_written_and_all_else_in_the_file_stays() {
    let env = TestEnv::sample();
    let file = "config/settings.json";
    env.write(file, "{\n  // mine\n  \"model\": \"openai/gpt-5\",\n  \"compaction\": { \"idleEnabled\": true }\n}\n");
    let set = |key: &str, value: &str| env.run(&["config", "set", key, value]);
    set("compaction.keepRecentTokens", "9000").success();
    set("models.\"openai/b-1.0\".window", "32000").success();
    set("model", "null").success();
    let text = String::from_utf8(env.read(file)).expect("text");
    assert_snapshot!(text, @r#"
    {
      // mine
      "compaction": {
        "idleEnabled": true,
        "keepRecentTokens": 9000
      },
      "models": {
        "openai/b-1.0": {
          "window": 32000
        }
      }
    }
    "#);
    let shown = env.json(&["config", "show", "compaction.keepRecentTokens"]);
    assert_eq!(shown["settings"][0]["value"], 9000);
    // What cannot be used is not written.
    for (key, value) in [
        ("compaction.keepRecentTokens", "many"),
        ("compaction.keepRecent", "1"),
        ("model", "7"),
    ] {
        let output = set(key, value);
        assert_eq!(output.code, Some(2), "{output}");
    }
    assert_eq!(env.read(file), text.into_bytes());
    let fresh = TestEnv::new();
    let output = fresh.run(&["config", "set", "terminal.theme", "light"]);
    assert_snapshot!(output.success(), @r#"terminal.theme = "light", in [DIR]/config/settings.json"#);
}
