//! Edits of settings of every shape, and that they can be taken back to the byte.

use insta::assert_snapshot;

use super::edit::{Found, find, put, take_back};
use super::file::{Edited, write};
use super::targets::{Place, TARGETS};
use session_finder::Environment;

/// Returns what is written for an agent, by file.
fn places(agent: &str) -> Vec<(String, Place)> {
    let target = TARGETS.iter().find(|target| target.agent == agent).unwrap();
    let environment = Environment {
        home: Some("/home/ann".into()),
        variable: |_| None,
    };
    let files = target.files(&environment).unwrap().into_iter();
    files
        .map(|(file, place)| (file.display().to_string(), place))
        .collect()
}

#[test]
fn every_agent_is_set_up_in_an_empty_home() {
    let mut text = String::new();
    for target in &*TARGETS {
        let agent = target.agent;
        for (file, place) in places(agent) {
            let after = put("", place, agent, "agent-cli").unwrap();
            let again = put(&after, place, agent, "agent-cli").unwrap();
            assert_eq!(again, after, "twice is once");
            let after = match place {
                Place::Text(_) => after.lines().next().unwrap_or_default().to_owned() + "\n",
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
            "matcher": "compact|resume"
          }
        ]
      }
    }
    # /home/ann/.config/opencode/plugin/agent-cli.js
    // Recall for opencode 1.18.34. `agent-cli setup opencode` writes this file, and the name of the program next to it.
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
    // Compaction, recall and pins by agent-cli, for pi 1.6.0 and oh-my-pi 18.2.3. `agent-cli setup pi` (or omp) writes
    # /home/ann/.pi/agent/extensions/agent-cli/settings.json
    {
      "program": "agent-cli"
    }
    # /home/ann/.omp/agent/extensions/agent-cli/index.ts
    // Compaction, recall and pins by agent-cli, for pi 1.6.0 and oh-my-pi 18.2.3. `agent-cli setup pi` (or omp) writes
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

/// Texts of every shape that an editor or a program leaves.
const TEXTS: &[&str] = &[
    "{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" } // theirs\n  },\n  \"last\": [1, 2]\n}\n",
    "{\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{ \"hooks\": [] }\n\t\t]\n\t}\n}\n",
    "{\r\n  \"a\": 1,\r\n  \"b\": [2]\r\n}\r\n",
    "{\n  \"mcpServers\": {},\n  \"hooks\": { \"SessionStart\": [] }\n}",
];

#[test]
fn what_others_wrote_stays_and_is_left_as_it_was() {
    for text in TEXTS {
        for (file, place) in places("qwen") {
            let after = put(text, place, "qwen", "agent-cli").unwrap();
            assert_ne!(after, *text);
            assert_eq!(after.contains("\r\n"), text.contains("\r\n"));
            let moved = put(&after, place, "qwen", "/opt/agent-cli").unwrap();
            let direct = put(text, place, "qwen", "/opt/agent-cli").unwrap();
            assert_eq!(moved, direct, "{file}");
            let ours = Found::Ours("/opt/agent-cli".to_owned());
            assert_eq!(find(&moved, place, "qwen").unwrap(), ours);
            let back = take_back(&moved, place, "qwen", text).unwrap();
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(bare(&back), bare(text), "{file}");
            let twice = take_back(text, place, "qwen", "").unwrap();
            assert_eq!(twice, *text, "nothing is ours");
        }
    }
}

#[test]
fn a_table_is_added_and_removed_without_another_byte() {
    let (_, place) = places("codex").remove(0);
    for text in [
        "# mine\nmodel = \"m\"\n\n[mcp_servers.other] # theirs\ncommand = \"x\"\n",
        "model = \"x\"\r\n[a]\r\nb = 1\r\n",
        "text = \"\"\"a\r\nb\"\"\"\nx=1 # no order\n[mcp_servers]\n",
        "",
    ] {
        let after = put(text, place, "codex", "agent-cli").unwrap();
        assert!(after.starts_with(text), "{after}");
        let moved = put(&after, place, "codex", "/a \"b/agent-cli").unwrap();
        let more = moved.clone() + "[last]\n";
        let back = |text: &str| take_back(text, place, "codex", "").unwrap();
        assert_eq!(back(&after), text);
        assert_eq!(back(&moved), text);
        assert_eq!(back(&more), text.to_owned() + "[last]\n");
        assert_eq!(back(text), text);
    }
}

#[test]
fn hooks_of_the_user_in_our_element_stay() {
    let (_, hook) = places("claude").remove(1);
    let text = put("", hook, "claude", "/old/agent-cli").unwrap();
    let with = text.replace(
        "\"hooks\": [\n          {",
        "\"hooks\": [\n          { \"type\": \"command\", \"command\": \"mine\" },\n          {",
    );
    assert_ne!(with, text);
    let moved = put(&with, hook, "claude", "agent-cli").unwrap();
    assert_eq!(moved, with.replace("/old/agent-cli", "agent-cli"));
    let left = take_back(&moved, hook, "claude", "").unwrap();
    assert!(
        left.contains("mine") && !left.contains("agent-cli"),
        "{left}"
    );
}

#[test]
fn what_setup_did_not_write_is_not_ours() {
    let server = |text: &str| find(text, places("claude")[0].1, "claude").unwrap();
    let other = Found::Other("mcpServers.agent-cli".to_owned());
    for value in [
        r#"{"command":"/my/own","args":["mcp"]}"#,
        r#"{"command":"agent-cli","args":["mcp","--allow-write"]}"#,
        r#"{"command":"agent-cli","args":["mcp"],"env":{}}"#,
        "null",
    ] {
        let text = format!(r#"{{"mcpServers":{{"agent-cli":{value}}}}}"#);
        assert_eq!(server(&text), other, "{value}");
    }
    let ours = r#"{"mcpServers":{"agent-cli":{"args":["mcp"],"command":"/a/agent-cli"}}}"#;
    assert_eq!(server(ours), Found::Ours("/a/agent-cli".to_owned()));
    let table = |text: &str| find(text, places("codex")[0].1, "codex").unwrap();
    let text = "[mcp_servers.agent-cli]\ncommand = \"agent-cli\"\nargs = [\"mcp\"]\n";
    assert_eq!(table(text), Found::Ours("agent-cli".to_owned()));
    let own = text.to_owned() + "[mcp_servers.agent-cli.env]\n";
    assert_eq!(
        table(&own),
        Found::Other("mcp_servers.agent-cli".to_owned())
    );
    let (_, extension) = places("pi").remove(0);
    let text = put("", extension, "pi", "agent-cli").unwrap();
    assert_eq!(
        find(&text, extension, "pi").unwrap(),
        Found::Ours(String::new())
    );
    for changed in [
        text.replacen("pi", "p1", 1),
        text.clone() + "\n",
        "x".to_owned(),
    ] {
        assert!(matches!(
            find(&changed, extension, "pi"),
            Ok(Found::Other(_))
        ));
    }
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let refused = |text, agent| put(text, places(agent)[0].1, agent, "agent-cli").unwrap_err();
    assert_snapshot!(refused("{ \"mcpServers\": 3 }", "claude"), @"mcpServers is not an object");
    assert_snapshot!(refused("{ oops", "claude"), @"Expected colon after the string or word in object property on line 1 column 7");
    assert_snapshot!(refused("[]", "claude"), @"the file holds no object");
    assert_snapshot!(refused("mcp_servers = 3", "codex"), @"mcp_servers is not a table that can be added to");
}

#[test]
fn all_files_are_written_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("b.json"), "{\"b\":1}").unwrap();
    std::fs::write(path("c.json"), "{}").unwrap();
    let (_, place) = places("claude").remove(0);
    let edited = ["a.json", "b.json", "c.json"]
        .map(|name| Edited::of(path(name), &[place], "claude", Some("agent-cli")).unwrap());
    std::fs::write(path("c.json"), "{\"c\":1}").unwrap();
    let error = write(&edited.concat()).unwrap_err().to_string();
    assert!(
        error.ends_with("c.json: another program changed it meanwhile; nothing was changed"),
        "{error}"
    );
    let mut names: Vec<_> = folder
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["b.json", "c.json"]);
    assert_eq!(
        std::fs::read_to_string(path("b.json")).unwrap(),
        "{\"b\":1}"
    );
}
