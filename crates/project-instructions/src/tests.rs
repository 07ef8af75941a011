//! Which files are found, what is read of them, and what is refused.

mod skills;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use tempfile::TempDir;

use super::front_matter::front_matter;
use super::{Instruction, Instructions, Outcome, Places};
use crate::InstructionSettings;

/// A project `repo` with its workspace in `repo/app`, the user's settings in `config`, and a folder `outside`.
struct Ground {
    folder: TempDir,
    settings: InstructionSettings,
}

impl Ground {
    fn new() -> Self {
        let ground = Self {
            folder: tempfile::tempdir().unwrap(),
            settings: InstructionSettings::default(),
        };
        for name in ["repo/app", "config", "outside"] {
            std::fs::create_dir_all(ground.path(name)).unwrap();
        }
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn instructions(&self) -> Instructions {
        let places = Places {
            config_dir: Some(self.path("config")),
            project: vec![self.path("repo"), self.path("repo/app")],
        };
        Instructions::of(&self.settings, places)
    }

    /// Returns the files that always count, a line each.
    fn base(&self) -> String {
        self.lines(&self.instructions().base())
    }

    /// Returns the files of skills, a line each.
    fn skills(&self) -> String {
        self.lines(&self.instructions().skills().files)
    }

    fn lines(&self, files: &[Instruction]) -> String {
        let lines = files.iter().map(|file| {
            let path = file.path.replace(&self.path("").display().to_string(), "/");
            match &file.outcome {
                Outcome::Loaded { bytes, note, .. } => {
                    let note = note.as_ref().map(|note| format!(" ({note})"));
                    format!("{path}: {bytes}{}", note.unwrap_or_default())
                }
                Outcome::Refused(why) => format!("{path} refused: {why}"),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn the_users_file_goes_first_and_the_nearest_last() {
    let ground = Ground::new();
    ground.put("config/AGENTS.md", "user\n");
    ground.put("repo/.agents/AGENTS.md", "agents\n");
    ground.put("repo/CLAUDE.md", "not this one\n");
    ground.put("repo/app/CLAUDE.md", "app\n");
    ground.put("outside/AGENTS.md", "nobody asked\n");
    assert_snapshot!(ground.base(), @"
    /config/AGENTS.md: 5
    /repo/.agents/AGENTS.md: 7
    CLAUDE.md: 4
    ");
}

#[test]
fn the_model_is_told_whose_words_they_are() {
    let ground = Ground::new();
    ground.put("config/AGENTS.md", "Answer in French.\n");
    ground.put("repo/app/AGENTS.md", "Run `make`.\n````\nquoted\n````\n");
    let files = ground.instructions().base();
    let texts: Vec<&str> = files.iter().filter_map(Instruction::text).collect();
    let text = texts.join("\n=====\n");
    let text = text.replace(&ground.path("").display().to_string(), "/");
    assert_snapshot!(text, @"
    The user's own instructions for every project, from the file /config/AGENTS.md. Follow them where they fit the task. They are wishes about how to work: what the user says in this conversation overrides them, and they allow nothing that is not allowed otherwise.

    ```
    Answer in French.
    ```
    =====
    Instructions of the project for work in the working folder, from its file AGENTS.md. Follow them where they fit the task. They are wishes about how to work: what the user says in this conversation overrides them, and they allow nothing that is not allowed otherwise.

    `````
    Run `make`.
    ````
    quoted
    ````
    `````
    ");
}

#[test]
fn what_is_no_instruction_file_is_refused_and_what_is_empty_is_passed_over() {
    let ground = Ground::new();
    ground.put("repo/AGENTS.md", " \n\n");
    ground.put("repo/CLAUDE.md", "this one\n");
    ground.put("repo/app/AGENTS.md", b"good\nbad \xff\n");
    assert_snapshot!(ground.base(), @"
    /repo/CLAUDE.md: 9
    AGENTS.md refused: is not UTF-8 text: byte 10, line 2; save it as UTF-8
    ");

    std::fs::remove_file(ground.path("repo/app/AGENTS.md")).unwrap();
    std::fs::create_dir(ground.path("repo/app/AGENTS.md")).unwrap();
    assert_snapshot!(ground.base(), @"
    /repo/CLAUDE.md: 9
    AGENTS.md refused: is a folder, not a file; name a file in it
    ");
}

#[test]
fn a_pipe_is_not_waited_for() {
    let ground = Ground::new();
    let pipe = ground.path("repo/app/AGENTS.md");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_snapshot!(ground.base(), @"AGENTS.md refused: is a named pipe, not a regular file; leave it alone");
}

#[test]
fn links_lead_within_the_project_only() {
    let ground = Ground::new();
    ground.put("outside/AGENTS.md", "secret\n");
    ground.put("repo/docs/rules.md", "rules\n");
    symlink(
        ground.path("repo/docs/rules.md"),
        ground.path("repo/AGENTS.md"),
    )
    .unwrap();
    symlink(
        ground.path("outside/AGENTS.md"),
        ground.path("repo/app/AGENTS.md"),
    )
    .unwrap();
    symlink(
        ground.path("outside/AGENTS.md"),
        ground.path("config/AGENTS.md"),
    )
    .unwrap();
    assert_snapshot!(ground.base(), @"
    /config/AGENTS.md: 7
    /repo/AGENTS.md: 6
    AGENTS.md refused: leads out of the project; put a copy in place of the link
    ");
    std::fs::remove_file(ground.path("repo/app/AGENTS.md")).unwrap();
    symlink("nowhere", ground.path("repo/app/AGENTS.md")).unwrap();
    symlink(ground.path("outside"), ground.path("repo/app/.agents")).unwrap();
    assert_snapshot!(ground.base(), @"
    /config/AGENTS.md: 7
    /repo/AGENTS.md: 6
    AGENTS.md refused: is a link to nothing
    ");
}

#[test]
fn a_large_file_is_cut_at_a_line() {
    let mut ground = Ground::new();
    ground.settings.max_bytes = 1000;
    let line = "nineteen bytes are\n";
    ground.put("repo/AGENTS.md", line.repeat(5_000_000 / line.len()));
    // The cut goes through a character.
    ground.put("repo/app/AGENTS.md", format!("{}ä", "x".repeat(999)));
    let files = ground.instructions().base();
    assert_snapshot!(ground.lines(&files), @"
    /repo/AGENTS.md: 988 (only the first 988 of 4999983 bytes are used; see instructions.maxBytes)
    AGENTS.md: 999 (only the first 999 of 1001 bytes are used; see instructions.maxBytes)
    ");
    let text = files[0].text().unwrap();
    assert!(text.len() < 2000, "{}", text.len());
    assert_snapshot!(text.lines().last().unwrap().replace(&ground.path("").display().to_string(), "/"), @"[the first 988 of 4999983 bytes; the rest is in /repo/AGENTS.md]");
}

#[test]
fn all_files_together_have_room_for_four() {
    let mut ground = Ground::new();
    ground.settings.max_bytes = 1000;
    let text = "nine byte\n".repeat(90);
    for name in [
        "config",
        "repo",
        "repo/app",
        "repo/app/a",
        "repo/app/b",
        "repo/app/c",
    ] {
        ground.put(&format!("{name}/AGENTS.md"), &text);
    }
    let mut instructions = ground.instructions();
    let base = instructions.base();
    assert_snapshot!(ground.lines(&base), @"
    /config/AGENTS.md: 900
    /repo/AGENTS.md: 900
    AGENTS.md: 900
    ");
    let mut room = instructions.room() - base.iter().map(Instruction::bytes).sum::<usize>();
    let mut nested = Vec::new();
    for folder in ["a", "b", "c"] {
        let file = instructions.nested(Path::new(folder), room).unwrap();
        room -= file.bytes();
        nested.push(file);
    }
    assert_snapshot!(ground.lines(&nested), @"
    a/AGENTS.md: 900
    b/AGENTS.md: 400 (only the first 400 of 900 bytes are used; see instructions.maxBytes)
    c/AGENTS.md refused: there is no room for it next to the other files; see instructions.maxBytes
    ");
}

#[test]
fn what_cannot_be_seen_is_replaced() {
    let ground = Ground::new();
    ground.put(
        "repo/AGENTS.md",
        "\u{feff}a\u{1b}[31mb\u{202e}\u{200f}c\r\nd\0\n",
    );
    let files = ground.instructions().base();
    let text = files[0].text().unwrap();
    let quoted: Vec<&str> = text.lines().skip(3).take(2).collect();
    assert_eq!(quoted, ["a\u{fffd}[31mb\u{fffd}\u{fffd}c", "d\u{fffd}"]);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let mut ground = Ground::new();
    ground.put("outside/AGENTS.md", "secret\n");
    ground.settings.files = ["../outside/AGENTS.md", "/etc/passwd", "", "./RULES.md"]
        .map(str::to_owned)
        .to_vec();
    ground.put("repo/RULES.md", "rules\n");
    assert_snapshot!(ground.base(), @"
    ../outside/AGENTS.md refused: instructions.files names files from a folder of the project on, without ..
    /etc/passwd refused: instructions.files names files from a folder of the project on, without ..
     refused: instructions.files names files from a folder of the project on, without ..
    /repo/RULES.md: 6
    ");
}

#[test]
fn a_file_is_read_again_only_when_it_is_another_one() {
    let ground = Ground::new();
    ground.put("repo/AGENTS.md", "one\n");
    let mut instructions = ground.instructions();
    let before = instructions.base();
    assert_eq!(instructions.base(), before);
    ground.put("repo/AGENTS.md", "another\n");
    assert_ne!(instructions.base(), before);
    std::fs::remove_file(ground.path("repo/AGENTS.md")).unwrap();
    assert!(instructions.base().is_empty());
}

#[test]
fn nothing_is_found_where_that_is_not_wanted() {
    let mut ground = Ground::new();
    ground.put("config/AGENTS.md", "user\n");
    ground.put("repo/AGENTS.md", "project\n");
    ground.put(
        "repo/.agents/skills/a/SKILL.md",
        "---\nname: a\ndescription: d\n---\n",
    );
    assert!(Instructions::none().base().is_empty());
    assert_eq!(Instructions::none().skills(), super::Listing::default());
    ground.settings.enabled = false;
    assert!(ground.instructions().base().is_empty());
    assert!(ground.instructions().skills().section.is_some());
    ground.settings.skills = false;
    assert!(ground.instructions().skills().section.is_none());
}

#[test]
fn folders_are_told_by_paths_of_the_workspace_alone() {
    let ground = Ground::new();
    ground.put("repo/app/a/b/c.rs", "");
    let instructions = ground.instructions();
    let to = |path: &str| instructions.folders_to(&ground.path(path));
    let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(to("repo/app/a/b/c.rs"), paths(&["a", "a/b"]));
    assert_eq!(to("repo/app/a/b"), paths(&["a", "a/b"]));
    assert_eq!(to("repo/app"), paths(&[]));
    assert_eq!(to("repo/other"), paths(&[]));
    let of = |path: &str| instructions.folders_of(path);
    assert_eq!(of("a/b/AGENTS.md"), paths(&["a/b"]));
    assert_eq!(of("a/.agents/AGENTS.md"), paths(&["a/.agents", "a"]));
    for path in [
        "AGENTS.md",
        "../a/AGENTS.md",
        "/a/AGENTS.md",
        "a/RULES.md",
        "",
    ] {
        assert_eq!(of(path), paths(&[]), "{path}");
    }
}

#[test]
fn keys_leave_what_is_read_before_it_is_cut() {
    let mut ground = Ground::new();
    ground.settings.max_bytes = 1000;
    let key = "tok-0123456789-abcdefghijklmnop";
    ground.put("repo/AGENTS.md", format!("{}{key}", "x".repeat(980)));
    let mut redactor = llm_providers::Redactor::default();
    redactor.add(key);
    let mut instructions = ground.instructions().without_keys(redactor.into());
    let files = instructions.base();
    let text = files[0].text().unwrap();
    assert!(text.contains("xxx[secret removed]\n"), "{text}");
    assert!(!text.contains("tok-"), "{text}");
}

/// Returns what the front matter of a text between its lines says.
fn said(lines: &str) -> String {
    match front_matter(&format!("---\n{lines}\n---\nrest\n")) {
        Ok(said) => format!("{:?} {:?}", said.name, said.description),
        Err(why) => why,
    }
}

#[test]
fn front_matter_is_read_in_the_forms_that_it_is_written_in() {
    assert_snapshot!(said("name: a\ndescription: For this: and that. # a remark"), @r#"Some("a") Some("For this: and that.")"#);
    assert_snapshot!(said("# remark\nname: 'it''s'\ndescription: \"a \\\"b\\\" \\u00e9\" # more"), @r#"Some("it's") Some("a \"b\" é")"#);
    assert_snapshot!(said("description: >-\n  one\n  two\n\n  three\nname: a"), @r#"Some("a") Some("one two  three")"#);
    assert_snapshot!(said("description: |\n  one\n  two\nname: a"), @r#"Some("a") Some("one\ntwo")"#);
    assert_snapshot!(said("description: one\n  two\nname: a"), @r#"Some("a") Some("one two")"#);
    assert_snapshot!(said("metadata:\n  name: not this\nallowed-tools:\n- read\n- bash\nname: a"), @r#"Some("a") None"#);
    assert_snapshot!(said("name: ~\ndescription:"), @"None None");
}

#[test]
fn front_matter_that_cannot_be_read_is_an_error_with_its_line() {
    assert_snapshot!(said("name: a\nwhat is this"), @"line 3: is not `key: value`");
    assert_snapshot!(said("name: a\nname: b"), @"line 3: name stands there twice");
    assert_snapshot!(said("description: [a, b]"), @"line 2: description: begins with [; write it in double quotes");
    assert_snapshot!(said("name: \"a"), @"line 2: name: its quote has no end");
    assert_snapshot!(said("name: 'a' b"), @"line 2: name: something stands behind its quote");
    assert_snapshot!(said("name: \"\\ud800\""), @r"line 2: name: \ud800 is not a character");
    assert_snapshot!(said("name: \"\\x\""), @r"line 2: name: \x is not an escape");
}
