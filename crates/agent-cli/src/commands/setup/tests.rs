//! Edits of settings of every shape, and that they can be taken back to the byte.

use insta::assert_snapshot;

use super::edit::{put, take_back};
use super::targets::{Edit, TARGETS};
use session_finder::Environment;

/// Returns the edits of an agent, by the end of their file.
fn edits(agent: &str) -> Vec<(String, Edit)> {
    let target = TARGETS.iter().find(|target| target.agent == agent).unwrap();
    let environment = Environment {
        home: Some("/home/ann".into()),
        variable: |_| None,
    };
    let changes = target.changes(&environment, "agent-cli").unwrap();
    let changes = changes.into_iter();
    let changes = changes.map(|change| (change.file.display().to_string(), change.edit));
    changes.collect()
}

#[test]
fn every_agent_is_set_up_in_an_empty_home() {
    let mut text = String::new();
    for target in TARGETS {
        for (file, edit) in edits(target.agent) {
            let after = put("", &edit).unwrap();
            assert_eq!(put(&after, &edit).unwrap(), after, "twice is once");
            let after = match edit {
                Edit::Text(_) => after.lines().next().unwrap_or_default().to_owned() + "\n",
                _ => after,
            };
            text.push_str(&format!("# {file}\n{after}"));
        }
    }
    assert_snapshot!(text, @r#"
    # /home/ann/.claude.json
    {
      "mcpServers": {
        "agent-cli": {
          "args": ["mcp"],
          "command": "agent-cli"
        }
      }
    }
    # /home/ann/.claude/settings.json
    {
      "hooks": {
        "SessionStart": [
          {
            "hooks": [
              {
                "command": "agent-cli hook claude",
                "type": "command"
              }
            ],
            "matcher": "compact"
          }
        ]
      }
    }
    # /home/ann/.codex/config.toml
    [mcp_servers.agent-cli]
    args = ["mcp"]
    command = "agent-cli"
    # /home/ann/.codex/hooks.json
    {
      "hooks": {
        "SessionStart": [
          {
            "hooks": [
              {
                "command": "agent-cli hook codex",
                "type": "command"
              }
            ],
            "matcher": "compact"
          }
        ]
      }
    }
    # /home/ann/.config/opencode/plugin/agent-cli.js
    // Recall for opencode 1.18.33. `agent-cli setup opencode` writes this file, and the name of the program next to it.
    # /home/ann/.config/opencode/plugin/agent-cli.json
    {
      "program": "agent-cli"
    }
    # /home/ann/.qwen/settings.json
    {
      "mcpServers": {
        "agent-cli": {
          "alwaysLoadTools": true,
          "args": ["mcp"],
          "command": "agent-cli"
        }
      }
    }
    # /home/ann/.qwen/settings.json
    {
      "hooks": {
        "SessionStart": [
          {
            "hooks": [
              {
                "command": "agent-cli hook qwen",
                "type": "command"
              }
            ],
            "matcher": "compact|resume"
          }
        ]
      }
    }
    # /home/ann/.gemini/settings.json
    {
      "mcpServers": {
        "agent-cli": {
          "args": ["mcp"],
          "command": "agent-cli"
        }
      }
    }
    # /home/ann/.gemini/settings.json
    {
      "hooks": {
        "BeforeAgent": [
          {
            "hooks": [
              {
                "command": "agent-cli hook gemini",
                "type": "command"
              }
            ],
            "matcher": "*"
          }
        ]
      }
    }
    # /home/ann/.pi/agent/extensions/agent-cli/index.ts
    // Compaction, recall and pins by agent-cli, for pi 0.87.1 and oh-my-pi 18.2.3. `agent-cli setup pi` (or omp) writes
    # /home/ann/.pi/agent/extensions/agent-cli/settings.json
    {
      "program": "agent-cli"
    }
    # /home/ann/.omp/agent/extensions/agent-cli/index.ts
    // Compaction, recall and pins by agent-cli, for pi 0.87.1 and oh-my-pi 18.2.3. `agent-cli setup pi` (or omp) writes
    # /home/ann/.omp/agent/extensions/agent-cli/settings.json
    {
      "program": "agent-cli"
    }
    "#);
}

#[test]
fn the_extension_teaches_recall_in_the_words_of_the_prompt() {
    let extension = include_str!("../../../integrations/pi/index.ts");
    let prompt = include_str!("../../../../../prompts/summary-recall.md").trim_end();
    assert!(extension.contains(&format!("\"{prompt}\"")), "{prompt}");
}

#[test]
fn comments_and_order_stay_and_undo_is_exact() {
    let texts = [
        "{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" } // theirs\n  },\n  \"last\": [1, 2]\n}\n",
        "{\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{ \"hooks\": [] }\n\t\t]\n\t}\n}\n",
    ];
    for text in texts {
        for (file, edit) in edits("qwen") {
            let after = put(text, &edit).unwrap();
            assert_ne!(after, text);
            let back = take_back(&after, &edit).unwrap();
            assert_eq!(back.trim_end(), text.trim_end(), "{file}");
            assert_eq!(take_back(text, &edit).unwrap(), text);
        }
    }
    let toml = "# mine\nmodel = \"m\"\n\n[mcp_servers.other] # theirs\ncommand = \"x\"\n";
    let (_, edit) = edits("codex").remove(0);
    let after = put(toml, &edit).unwrap();
    assert_snapshot!(after, @r#"
    # mine
    model = "m"

    [mcp_servers.other] # theirs
    command = "x"

    [mcp_servers.agent-cli]
    args = ["mcp"]
    command = "agent-cli"
    "#);
    assert_eq!(take_back(&after, &edit).unwrap(), toml);
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let (_, edit) = edits("claude").remove(0);
    assert_snapshot!(put("{ \"mcpServers\": 3 }", &edit).unwrap_err(), @"mcpServers is no object");
    assert_snapshot!(put("{ oops", &edit).unwrap_err(), @"Expected colon after the string or word in object property on line 1 column 7");
    assert_snapshot!(put("[]", &edit).unwrap_err(), @"the file holds no object");
    let (_, edit) = edits("codex").remove(0);
    assert_snapshot!(put("mcp_servers = 3", &edit).unwrap_err(), @"mcp_servers is no table");
}
