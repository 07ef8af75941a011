//! Sessions of several agents in a home of the test's own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use session_store::FileCatalog;

use super::Finder;
use crate::agents::Environment;
use crate::project::project_of;

struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a session that works in `cwd` below the home.
    fn session(&self, path: &str, id: &str, cwd: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let cwd = self.path(cwd);
        fs::create_dir_all(&cwd).unwrap();
        let cwd = cwd.to_str().unwrap();
        let header = format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
        );
        let message = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"fix the parser","timestamp":1}}"#;
        fs::write(&path, format!("{header}\n{message}\n")).unwrap();
    }

    fn finder(&self) -> Finder {
        self.finder_with(|_| None)
    }

    fn finder_with(&self, variable: fn(&str) -> Option<OsString>) -> Finder {
        Finder {
            environment: Environment {
                home: Some(self.folder.path().to_owned()),
                variable,
            },
            own: Arc::new(FileCatalog::new(self.path("own"))),
        }
    }

    fn named(&self, name: &str, folder: &str) -> String {
        match self.finder().named(name, &self.path(folder)) {
            Ok(found) => format!("{} {}", found.agent, found.row.id),
            Err(error) => error.to_string(),
        }
    }
}

fn touch(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

#[test]
fn sessions_of_every_agent_are_found_by_name() {
    let home = Home::new();
    home.session(".pi/agent/sessions/--x--/one.jsonl", "0192-aa", "work");
    home.session(".omp/agent/sessions/y/two.jsonl", "0192-bb", "work");
    home.session("own/z/three.jsonl", "0193-cc", "other");
    touch(&home.path(".pi/agent/sessions/--x--/one.jsonl"), 3000);
    touch(&home.path(".omp/agent/sessions/y/two.jsonl"), 2000);
    touch(&home.path("own/z/three.jsonl"), 4000);
    assert_eq!(home.named("0192-a", "work"), "pi 0192-aa");
    assert_eq!(home.named("0193", "work"), "agent-cli 0193-cc");
    assert_eq!(home.named("newest", "work"), "pi 0192-aa");
    assert_eq!(home.named("omp:newest", "work"), "omp 0192-bb");
    assert_eq!(home.named("pi:0192", "other"), "pi 0192-aa");
    assert!(
        home.named("0192", "work")
            .starts_with("2 sessions are called 0192; name more")
    );
    assert!(
        home.named("pi:0193", "work")
            .starts_with("no file and no session is called pi:0193")
    );
    assert!(home.named("", "work").starts_with("no file and no session"));
    assert!(
        home.named("codex:newest", "work")
            .starts_with("no session of codex was found for this project")
    );
}

#[test]
fn worktrees_of_a_repository_are_one_project() {
    let home = Home::new();
    fs::create_dir_all(home.path("main/.git/worktrees/side")).unwrap();
    fs::create_dir_all(home.path("main/src")).unwrap();
    fs::create_dir_all(home.path("side")).unwrap();
    let own = home.path("main/.git/worktrees/side");
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::write(
        home.path("side/.git"),
        format!("gitdir: {}\n", own.display()),
    )
    .unwrap();
    let project = project_of(&home.path("main/src"));
    assert_eq!(project_of(&home.path("side")), project);
    assert_ne!(project_of(&home.path("elsewhere")), project);
    home.session(".pi/agent/sessions/x/one.jsonl", "0192-aa", "side");
    assert_eq!(home.named("newest", "main/src"), "pi 0192-aa");
}

#[test]
fn a_session_of_gemini_cli_works_where_the_file_next_to_its_chats_says() {
    let home = Home::new();
    for path in [".gemini/tmp/x/chats", "work"] {
        fs::create_dir_all(home.path(path)).unwrap();
    }
    let head =
        r#"{"sessionId":"0192-aa","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}"#;
    fs::write(home.path(".gemini/tmp/x/chats/one.jsonl"), head).unwrap();
    let said = r#"{"id":"g1","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":[{"text":"fix"}]}"#;
    let whole = format!("{head}\n{said}\n");
    fs::write(home.path(".gemini/tmp/x/chats/two.jsonl"), whole).unwrap();
    let root = format!("{}\n", home.path("work").display());
    fs::write(home.path(".gemini/tmp/x/.project_root"), root).unwrap();
    // Nothing was said in the other file of this session.
    let found = home.finder().named("gemini:0192-aa", &home.path("work"));
    assert!(found.unwrap().row.locator.as_path().ends_with("two.jsonl"));
    assert_eq!(home.named("gemini:newest", "work"), "gemini 0192-aa");
}

#[test]
fn folders_are_those_that_the_variables_of_agents_name() {
    let home = Home::new();
    home.session("moved/.gemini/tmp/x/chats/one.jsonl", "0192-aa", "work");
    home.session("run/projects/x/chats/two.jsonl", "0192-bb", "work");
    home.session(".mine/agent/sessions/x/three.jsonl", "0192-cc", "work");
    let copilot = r#"{"type":"session.start","data":{"sessionId":"0192-dd","context":{"cwd":"/work"}},"id":"e","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}"#;
    let cline = r#"{"version":1,"updated_at":"2026-01-01T00:00:00.000Z","agent":"lead","sessionId":"0192-ee","messages":[{"id":"m","role":"user","content":[]}]}"#;
    let about = r#"{"cwd":"/work","metadata":{"title":"Parser"}}"#;
    for (path, text) in [
        ("co/session-state/x/events.jsonl", copilot),
        ("cl/data/sessions/c/c.messages.json", cline),
        ("cl/data/sessions/c/c.json", about),
        ("cl/data/sessions/c/sub.messages.json", cline),
    ] {
        let path = home.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let finder = home.finder_with(|name| match name {
        "GEMINI_CLI_HOME" => Some("moved".into()),
        "QWEN_RUNTIME_DIR" => Some("run".into()),
        "QWEN_HOME" => Some("elsewhere".into()),
        "PI_CONFIG_DIR" => Some(".mine".into()),
        "COPILOT_HOME" => Some("co".into()),
        "CLINE_DIR" => Some("cl".into()),
        _ => None,
    });
    let newest = finder.named("cline:newest", Path::new("/work")).unwrap();
    assert_eq!(newest.row.name.as_deref(), Some("Parser"));
    let found = finder.list(None, None).unwrap().into_iter();
    let mut found: Vec<String> = found
        .map(|found| format!("{} {}", found.agent, found.row.id))
        .collect();
    found.sort();
    let ids = [
        "cline 0192-ee",
        "cline 0192-ee",
        "copilot 0192-dd",
        "gemini 0192-aa",
    ];
    assert_eq!(found[..4], ids);
    assert_eq!(found[4..], ["omp 0192-cc", "qwen 0192-bb"]);
}

#[test]
fn subagents_are_found_by_id_and_are_never_the_newest() {
    let home = Home::new();
    let subagent = ".claude/projects/x/s/subagents/agent-a1.jsonl";
    home.session(".claude/projects/x/s.jsonl", "0192-aa", "work");
    home.session(subagent, "agent-a1", "work");
    let about = r#"{"agentType":"Explore","description":"find callers"}"#;
    fs::write(home.path(subagent).with_extension("meta.json"), about).unwrap();
    touch(&home.path(".claude/projects/x/s.jsonl"), 1000);
    for other in [
        ".claude/projects/x/agent-a2.jsonl",
        ".claude/projects/x/s/subagents/workflows/w/agent-a3.jsonl",
        ".gemini/tmp/x/chats/s/sub.jsonl",
    ] {
        home.session(other, "0193-aa", "work");
    }
    assert_eq!(home.named("newest", "work"), "claude 0192-aa");
    assert_eq!(home.named("claude:newest", "work"), "claude 0192-aa");
    assert_eq!(home.named("agent-a1", "work"), "claude agent-a1");
    let found = home.finder().named("agent-a1", &home.path("work")).unwrap();
    assert_eq!(found.row.name.as_deref(), Some("Explore: find callers"));
}
