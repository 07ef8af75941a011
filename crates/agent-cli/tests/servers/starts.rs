//! Starting servers, listing their tools, and ending them.

use serde_json::json;

use crate::runner::Test;
use crate::surroundings::{Harness, Marks, SHORT, config, wait};

pub const TESTS: [Test; 13] = [
    (
        "a_server_that_dies_at_once_is_reported_with_its_words",
        dies,
    ),
    ("a_server_that_hangs_is_given_up_in_time", hangs),
    ("what_is_no_message_is_reported", prints),
    ("a_line_without_an_end_ends_the_server", endless),
    ("a_program_that_is_not_there_is_reported", missing),
    ("a_list_that_fails_or_is_none_is_reported", lists),
    ("a_start_that_is_cancelled_leaves_no_process", cancelled),
    ("one_server_that_fails_does_not_disturb_the_others", beside),
    ("all_pages_are_listed", pages),
    ("of_endless_tools_the_first_are_offered", many),
    ("tools_that_no_service_takes_are_left_out_and_said", odd),
    ("only_tools_that_are_named_are_offered", named),
    (
        "a_server_that_does_not_end_is_killed_with_its_children",
        stays,
    ),
];

async fn failed(mode: &str) -> String {
    let harness = Harness::new();
    let servers = harness.start(&[config(mode)]).await;
    assert!(servers.tools().is_empty());
    servers.stop().await;
    let told = harness.told();
    assert_eq!(told.len(), 1, "{told:?}");
    told[0].clone()
}

fn dies() {
    assert_eq!(
        wait(failed("dies")),
        "s failed 0 it ended with exit code 3; it complained: first\ncannot find the data\u{fffd}[31m"
    );
}

fn hangs() {
    wait(async {
        let harness = Harness::new();
        let mut config = config("deaf");
        config.start_timeout = SHORT;
        let servers = harness.start(&[config]).await;
        assert_eq!(
            harness.told(),
            ["s failed 0 it was not ready within 0.02 seconds (mcpServers.s.startTimeoutSeconds)"]
        );
        servers.stop().await;
    });
}

fn prints() {
    assert_eq!(
        wait(failed("prints")),
        "s failed 0 it ended with exit code 0; it wrote what is not a message: Usage: server [1mFOLDER [0m"
    );
}

fn endless() {
    let told = wait(failed("endless"));
    let want = "s failed 0 it wrote a line of over 16000000 bytes and was ended";
    assert!(told.starts_with(want), "{told}");
}

fn missing() {
    wait(async {
        let harness = Harness::new();
        let mut program = config("usual");
        program.command = "no-such-program-7".to_owned();
        let mut folder = config("usual");
        folder.cwd = Some("nowhere".into());
        harness.start(&[program, folder]).await.stop().await;
        let root = harness.workspace();
        assert_eq!(
            harness.told(),
            [
                "s failed 0 cannot start no-such-program-7: there is no such program; install it, or correct mcpServers.s.command".to_owned(),
                format!("s failed 0 cannot start {}: there is no folder {}/nowhere; see mcpServers.s.cwd", config("").command, root.display()),
            ]
        );
    });
}

fn lists() {
    assert_eq!(
        wait(failed("no-list")),
        "s failed 0 it refused to list its tools: the list is lost"
    );
    assert_eq!(
        wait(failed("odd-list")),
        "s failed 0 its list of tools cannot be used: Unexpected response type"
    );
}

fn cancelled() {
    wait(async {
        let harness = Harness::new();
        let mut marks = Marks::new();
        let mut config = config("deaf");
        config.args.push(marks.port.clone());
        let configs = [config];
        let starting = harness.start(&configs);
        let cancelling = async {
            assert_eq!(marks.next().await.as_deref(), Some("heard"));
            harness.cancel.cancel();
            marks
        };
        let (servers, mut marks) = futures_util::future::join(starting, cancelling).await;
        assert_eq!(harness.told(), ["s failed 0 its start was cancelled"]);
        marks.gone().await;
        servers.stop().await;
    });
}

fn beside() {
    wait(async {
        let harness = Harness::new();
        let mut bad = config("dies");
        bad.name = "bad".to_owned();
        let servers = harness.start(&[bad, config("usual")]).await;
        assert_eq!(
            harness
                .good(&servers, "s__echo", json!({ "text": "hi" }))
                .await,
            "hi"
        );
        let states: Vec<_> = servers
            .reports()
            .iter()
            .map(|report| report.tools.is_ok())
            .collect();
        assert_eq!(states, [false, true]);
        servers.stop().await;
    });
}

fn names(servers: &agent_tools::mcp::Servers) -> Vec<String> {
    let names = servers.tools().iter().map(|tool| tool.name().to_owned());
    names.collect()
}

fn pages() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("pages")]).await;
        assert_eq!(
            names(&servers),
            ["s__tool0", "s__tool1", "s__tool2", "s__last"]
        );
        servers.stop().await;
    });
}

fn many() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("many")]).await;
        assert_eq!(servers.tools().len(), 500);
        servers.stop().await;
        assert_eq!(
            harness.told(),
            [
                "s ready 500 ",
                "notice: tool server s: not all of its tools are offered: all behind the first 500, which is the most"
            ]
        );
        let servers = harness.start(&[config("large")]).await;
        assert_eq!(servers.tools().len(), 32);
        servers.stop().await;
        assert!(
            harness.told()[1]
                .ends_with("all from tool32 on: together they have over 1000000 bytes")
        );
    });
}

fn odd() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("odd-tools")]).await;
        let long = format!("s__{}l", "long".repeat(15));
        assert_eq!(
            names(&servers),
            [
                "s__with_space_and_dots",
                "s__with_space_and-dots",
                &long,
                "s__described",
                "s__bare"
            ]
        );
        assert_eq!(long.len(), 64);
        let tools = servers.tools();
        assert_eq!(
            tools[3].description(),
            format!("{} [...]", "d".repeat(2000))
        );
        assert_eq!(
            tools[4].parameters(),
            json!({ "type": "object", "properties": {} })
        );
        assert_eq!(
            servers.reports()[0].left_out,
            [
                "with.space.and.dots: another tool is called s__with_space_and_dots already",
                "array: the schema of its arguments is not that of an object",
                "huge: the schema of its arguments has 40050 bytes, at most 32000 are passed on",
                ": it has no name",
            ]
        );
        servers.stop().await;
    });
}

fn named() {
    wait(async {
        let harness = Harness::new();
        let mut by_settings = config("usual");
        by_settings.tools = Some(vec!["echo".to_owned(), "wings".to_owned()]);
        let mut by_session = config("usual");
        by_session.name = "t".to_owned();
        by_session.named = Some(vec!["t__add".to_owned(), "t__wings".to_owned()]);
        let servers = harness.start(&[by_settings, by_session]).await;
        assert_eq!(names(&servers), ["s__echo", "t__add"]);
        let left_out = servers
            .reports()
            .iter()
            .map(|report| report.left_out.join("|"));
        assert_eq!(
            left_out.collect::<Vec<_>>(),
            [
                "wings: there is no such tool",
                "t__wings: there is no such tool"
            ]
        );
        servers.stop().await;
    });
}

fn stays() {
    wait(async {
        let harness = Harness::new();
        let mut marks = Marks::new();
        let mut config = config("stays");
        config.args.push(marks.port.clone());
        let servers = harness.start(&[config]).await;
        harness.good(&servers, "s__child", json!({})).await;
        servers.stop().await;
        assert_eq!(marks.next().await.as_deref(), Some("input closed"));
        marks.gone().await;
    });
}
