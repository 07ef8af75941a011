//! Which skills are found and listed, and which folders may be read because of them.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use super::Ground;

#[test]
fn skills_are_listed_and_the_nearer_one_of_a_name_counts() {
    let ground = Ground::new();
    let skill =
        |name: &str, text: &str| format!("---\nname: {name}\ndescription: {text}\n---\n\n# How\n");
    ground.put(
        "config/skills/release/SKILL.md",
        skill("release", "the user's"),
    );
    ground.put(
        "config/skills/own/SKILL.md",
        skill("own", "Anything: all of it."),
    );
    ground.put(
        "repo/.claude/skills/release/SKILL.md",
        skill("release", "the project's"),
    );
    ground.put(
        "repo/app/.agents/skills/long/SKILL.md",
        skill("long", &"word ".repeat(200)),
    );
    ground.put("repo/app/.agents/skills/notes.txt", "no skill");
    let mut instructions = ground.instructions();
    let listing = instructions.skills();
    assert_snapshot!(ground.lines(&listing.files), @"
    .agents/skills/long/SKILL.md: 0
    /repo/.claude/skills/release/SKILL.md: 0
    /config/skills/own/SKILL.md: 0
    /config/skills/release/SKILL.md refused: a nearer skill is called release too
    ");
    let section = listing.section.unwrap();
    assert_snapshot!(section.replace(&ground.path("").display().to_string(), "/"), @"
    Skills: folders with directions for special kinds of work. Before you do work that one of them is for, read its file with `read` and follow it; other files of its folder are read when it says so.

    - long: word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word wo... (.agents/skills/long/SKILL.md)
    - release: the project's (/repo/.claude/skills/release/SKILL.md)
    - own: Anything: all of it. (/config/skills/own/SKILL.md)
    ");
    let outside = instructions.readable_folders();
    assert_eq!(
        outside,
        [
            ground.path("config/skills/own"),
            ground.path("config/skills/release"),
            ground.path("repo/.claude/skills/release")
        ]
    );
}

#[test]
fn a_skill_needs_a_name_that_fits() {
    let ground = Ground::new();
    let put = |folder: &str, text: &str| {
        ground.put(&format!("repo/app/.agents/skills/{folder}/SKILL.md"), text);
    };
    put("a-nameless", "---\ndescription: d\n---\n");
    put("b-silent", "---\nname: silent\n---\n");
    put("c-wrong", "---\nname: Not A Name\ndescription: d\n---\n");
    put("d-bare", "# Just text\n");
    put("e-open", "---\nname: open\n");
    put("f-empty", "");
    put("G Upper", "---\ndescription: d\n---\n");
    ground.put("outside/SKILL.md", "---\nname: out\ndescription: d\n---\n");
    symlink(
        ground.path("outside"),
        ground.path("repo/app/.agents/skills/h-out"),
    )
    .unwrap();
    assert_snapshot!(ground.skills(), @r#"
    .agents/skills/G Upper/SKILL.md refused: the name "G Upper" does not do; use up to 64 of a-z, 0-9 and -
    .agents/skills/a-nameless/SKILL.md: 0 (it says no name, so its folder's counts)
    .agents/skills/b-silent/SKILL.md: 0 (it has no description, so nobody knows what it is for)
    .agents/skills/c-wrong/SKILL.md refused: the name "Not A Name" does not do; use up to 64 of a-z, 0-9 and -
    .agents/skills/d-bare/SKILL.md refused: does not begin with a line of ---, name and description
    .agents/skills/e-open/SKILL.md refused: has no second line of --- near its beginning
    .agents/skills/f-empty/SKILL.md refused: is empty
    .agents/skills/h-out/SKILL.md refused: leads out of the project; put a copy in place of the link
    "#);
}

#[test]
fn the_list_of_skills_is_bounded() {
    let ground = Ground::new();
    for number in 10..60 {
        let text = format!(
            "---\nname: s{number}\ndescription: {}\n---\n",
            "word ".repeat(50)
        );
        ground.put(&format!("repo/.agents/skills/s{number}/SKILL.md"), text);
    }
    let listing = ground.instructions().skills();
    assert!(listing.section.unwrap().len() <= 8_000);
    let refused = listing.files.iter().filter(|file| file.text().is_none());
    let refused: Vec<_> = refused.cloned().collect();
    assert_snapshot!(ground.lines(&refused[..1]), @"/repo/.agents/skills/s35/SKILL.md refused: there is no room for it in the list of 8000 bytes");
    assert_eq!(listing.files.len(), 50);
}

#[test]
fn a_skill_opens_no_folder_above_the_workspace_and_none_outside_of_the_project() {
    let ground = Ground::new();
    let text = "---\ndescription: d\n---\n";
    ground.put("repo/SKILL.md", text);
    ground.put("repo/shared/SKILL.md", text);
    ground.put("repo/app/SKILL.md", text);
    std::fs::create_dir_all(ground.path("repo/.agents/skills")).unwrap();
    std::fs::create_dir_all(ground.path("config/skills")).unwrap();
    // The file is in the project, and its folder is not.
    symlink(
        ground.path("repo/SKILL.md"),
        ground.path("outside/SKILL.md"),
    )
    .unwrap();
    for (place, name, to) in [
        ("repo/.agents", "above", "repo"),
        ("repo/.agents", "here", "repo/app"),
        ("repo/.agents", "out", "outside"),
        ("repo/.agents", "shared", "repo/shared"),
        ("config", "all", ""),
        ("config", "top", "repo"),
    ] {
        let link = ground.path(&format!("{place}/skills/{name}"));
        symlink(ground.path(to), link).unwrap();
    }
    std::fs::write(ground.path("SKILL.md"), text).unwrap();
    assert_snapshot!(ground.skills(), @"
    /repo/.agents/skills/above/SKILL.md refused: its folder is the working folder or one above it; put the skill into a folder of its own
    /repo/.agents/skills/here/SKILL.md refused: its folder is the working folder or one above it; put the skill into a folder of its own
    /repo/.agents/skills/out/SKILL.md refused: its folder leads out of the project; put a copy in place of the link
    /repo/.agents/skills/shared/SKILL.md: 0 (it says no name, so its folder's counts)
    /config/skills/all/SKILL.md refused: its folder is the working folder or one above it; put the skill into a folder of its own
    /config/skills/top/SKILL.md refused: its folder is the working folder or one above it; put the skill into a folder of its own
    ");
    let readable = ground.instructions().readable_folders();
    assert_eq!(readable, [ground.path("repo/shared")]);
}

#[test]
fn of_too_many_skills_the_first_by_name_are_looked_at() {
    let ground = Ground::new();
    for number in 0..503 {
        ground.put(&format!("repo/app/.agents/skills/s{number:03}/none"), "");
    }
    ground.put(
        "repo/app/.agents/skills/s000/SKILL.md",
        "---\nname: first\ndescription: d\n---\n",
    );
    assert_snapshot!(ground.skills(), @"
    .agents/skills refused: the 3 after the first 500 by name are not looked at; move what is not a skill elsewhere
    .agents/skills/s000/SKILL.md: 0
    ");
}
