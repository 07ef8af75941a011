//! `export`: a session as one page.

use insta::assert_snapshot;
use serde_json::json;

use crate::env::{SAMPLE, TestEnv};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../../session-import/tests/fixtures/", $name))
    };
}

fn page(env: &TestEnv, name: &str) -> String {
    String::from_utf8(env.read(name)).expect("a page is text")
}

#[test]
fn a_page_has_every_turn_and_a_card_and_a_mark_for_each_compaction() {
    let env = TestEnv::sample();
    let output = env.run(&["export", "s.jsonl", "--html", "page.html"]);
    let text = output.success();
    assert!(text.starts_with("written to page.html, "), "{text}");
    let page = page(&env, "page.html");
    let count = |what: &str| page.matches(what).count();
    let turns = SAMPLE
        .split_whitespace()
        .filter(|item| item.starts_with("u:"))
        .count();
    assert_eq!(count("class=\"entry user\""), turns);
    assert_eq!(count("class=\"entry compaction\""), 1);
    assert_eq!(count("class=\"mark compaction\""), 1);
    assert_eq!(
        count("class=\"left\""),
        1,
        "the branch that was left is folded"
    );
    // Ids that a summary names are anchors.
    for line in env.lines("s.jsonl") {
        if line["message"]["role"] == "user" || line["type"] == "compaction" {
            let id = line["id"].as_str().expect("an id");
            assert_eq!(count(&format!(" id=\"{id}\" href=")), 1, "{id}");
        }
    }
    assert_eq!(count("<script"), 1);
    for loads in ["src=\"http", "@import", "<link", "url("] {
        assert_eq!(count(loads), 0, "{loads}");
    }
}

#[test]
fn one_base_counts_the_context_in_the_list_on_the_card_and_in_the_chart() {
    let env = TestEnv::sample();
    env.write(
        "long.jsonl",
        include_bytes!("../../../../examples/sessions/long.jsonl"),
    );
    let context = env.json(&["context", "long.jsonl"]);
    let messages = context["messages"].as_array().expect("a list");
    let tokens = |value: &serde_json::Value| value.as_u64().expect("a number");
    let sum: u64 = messages.iter().map(|row| tokens(&row["tokens"])).sum();
    assert_eq!(tokens(&context["tokens"]), sum);
    let inspected = env.json(&["inspect", "long.jsonl"]);
    let billed = &inspected["context"]["billed_tokens"];
    assert_eq!(&context["billed_tokens"], billed);
    env.run(&["compact", "long.jsonl", "--out", "after.jsonl"])
        .success();
    env.run(&["export", "after.jsonl", "--html", "page.html"])
        .success();
    let thousands = format!("{:.1}k", sum as f64 / 1000.0);
    let page = page(&env, "page.html");
    assert!(page.contains(&format!("at most ~{thousands} tokens")));
    assert!(page.contains(&format!("<b>~{thousands}</b>")));
}

#[test]
fn nothing_is_overwritten_and_the_document_says_what_is_on_the_page() {
    let env = TestEnv::sample();
    env.write("page.html", "mine");
    let output = env.run(&["export", "s.jsonl", "--html", "page.html"]);
    assert_snapshot!(output, @r"
    exit 2
    --- stderr
    error: page.html exists; --html never overwrites, choose another name
    ");
    assert_eq!(env.read("page.html"), b"mine");
    let document = env.json(&["export", "s.jsonl", "--html", "new.html"]);
    assert_eq!(
        document["bytes"],
        json!(page(&env, "new.html").trim_end().len())
    );
    let about = ["written_to", "compactions", "prunings", "left_out_bytes"]
        .map(|name| document[name].clone());
    assert_eq!(json!(about), json!(["new.html", 1, 0, 0]));
}

#[test]
fn keys_and_private_spans_are_not_on_the_page() {
    const KEY: &str = "sk-walrus-0123456789abcdef";
    let env = TestEnv::new();
    let user = json!({"type": "message", "id": "a", "parentId": null, "message": {"role": "user",
        "content": format!("<private>my diary</private> the key is {KEY}")}});
    let call = json!({"type": "message", "id": "b", "parentId": "a", "message": {"role": "assistant",
        "content": [{"type": "toolCall", "id": "1", "name": "write",
            "arguments": {"path": "a.txt", "content": format!("k={KEY} <private>x-diary</private>")}}]}});
    let name =
        json!({"type": "session_info", "id": "c", "parentId": "b", "name": format!("about {KEY}")});
    env.write(
        "s.jsonl",
        format!(
            "{}\n{user}\n{call}\n{name}\n",
            json!({"type": "session", "version": 3, "id": "s", "cwd": "/p"})
        ),
    );
    let mut command = env.command(crate::env::BINARY);
    command.args(["export", "s.jsonl", "--html", "page.html"]);
    env.output(command.env("WALRUS_API_KEY", KEY)).success();
    let page = page(&env, "page.html");
    assert!(!page.contains(KEY) && !page.contains("diary"));
    assert!(
        page.contains("[private] the key is [secret removed]"),
        "{page}"
    );
    assert!(page.contains("about [secret removed]"));
}

#[test]
fn sessions_of_other_agents_become_pages_with_their_compactions() {
    let env = TestEnv::new();
    env.write("claude.jsonl", fixture!("claude-branches.jsonl"));
    env.write("codex.jsonl", fixture!("codex-compaction.jsonl"));
    env.write("qwen.jsonl", fixture!("qwen-compression.jsonl"));
    env.write("gemini.json", fixture!("gemini-document.json"));
    env.write("opencode.json", fixture!("opencode-export.json"));
    for (session, name) in [
        ("claude.jsonl", "claude-code"),
        ("codex.jsonl", "codex"),
        ("qwen.jsonl", "qwen-code"),
        ("gemini.json", "gemini-cli"),
        ("opencode.json", "opencode"),
    ] {
        let file = format!("{session}.html");
        let exported = env.json(&["export", session, "--html", &file]);
        let inspected = env.json(&["inspect", session]);
        let compactions = inspected["compactions"].as_array().expect("a list").len();
        assert_eq!(exported["compactions"], json!(compactions), "{session}");
        let page = page(&env, &file);
        assert_eq!(
            page.matches("class=\"mark compaction").count(),
            compactions,
            "{session}"
        );
        assert!(page.contains(&format!("<span>{name}")), "{session}");
    }
}

#[test]
fn a_large_output_is_shown_in_part_and_the_page_says_so() {
    let env = TestEnv::new();
    env.session("s.jsonl", "u:20 call:c1:10 res:c1:400000 a:20");
    let output = env.run(&["export", "s.jsonl", "--html", "page.html"]);
    let text = output.success();
    assert!(text.contains("left out"), "{text}");
    let page = page(&env, "page.html");
    assert!(page.len() < 400_000, "{}", page.len());
    assert!(page.contains(" not shown \u{2026}") && page.contains("of an entry are shown"));
}
