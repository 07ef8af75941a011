//! Calls of servers' tools: what they give, how they fail, how they are stopped.

use std::sync::Arc;

use agent_tools::approval::{Approvals, Policy};
use agent_tools::{Idempotency, Toolbox};
use llm_providers::{Redactor, Secret};
use serde_json::{Value, json};
use session_model::{Block, Content};

use crate::runner::Test;
use crate::server::PIXEL;
use crate::surroundings::{Harness, Marks, SHORT, config, text, wait};

pub const TESTS: [Test; 17] = [
    ("a_call_gives_its_text", echo),
    (
        "arguments_that_do_not_fit_are_refused_by_the_server",
        misfits,
    ),
    ("a_failure_is_passed_on", fail),
    ("images_are_shown_and_what_is_none_is_said", image),
    ("long_text_is_cut_and_kept_as_a_whole", big),
    ("resources_links_and_structured_content_become_text", mixed),
    (
        "an_answer_that_is_none_fails_and_noise_is_passed_over",
        garbage,
    ),
    ("a_server_that_dies_is_told_once_and_called_no_more", crash),
    (
        "a_server_that_dies_is_noticed_though_its_child_holds_the_output",
        orphan,
    ),
    ("a_server_that_floods_its_output_is_ended", flood),
    (
        "an_answer_that_cannot_be_read_is_told_of_in_the_end",
        unreadable,
    ),
    ("a_call_that_takes_too_long_is_cancelled", slow),
    (
        "a_call_that_is_stopped_is_cancelled_and_leaves_no_process",
        stopped,
    ),
    ("a_server_learns_the_workspace_and_nothing_else", asks),
    ("keys_are_taken_out_of_results", keys),
    ("a_call_has_to_be_allowed", approvals),
    ("hints_say_what_may_run_again", hints),
];

fn echo() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        assert_eq!(harness.told(), ["s ready 19 "]);
        assert_eq!(
            harness
                .good(&servers, "s__echo", json!({ "text": "h\u{1b}[31mi" }))
                .await,
            "hi"
        );
        assert_eq!(
            harness
                .good(&servers, "s__add", json!({ "a": 2, "b": 3 }))
                .await,
            "5"
        );
        assert_eq!(
            harness.good(&servers, "s__nothing", json!({})).await,
            "[no output]"
        );
        let folder = harness.good(&servers, "s__folder", json!({})).await;
        assert_eq!(folder, harness.workspace().display().to_string());
        servers.stop().await;
        // Ending a server is nothing to tell.
        assert!(harness.told().is_empty());
    });
}

fn misfits() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        assert_eq!(
            harness.bad(&servers, "s__add", json!({ "a": "two" })).await,
            "s__add: it refused: a and b must be whole numbers"
        );
        let none = harness.bad(&servers, "s__add", json!([1])).await;
        assert!(
            none.starts_with("the arguments are not a JSON object"),
            "{none}"
        );
        servers.stop().await;
    });
}

fn fail() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        assert_eq!(harness.bad(&servers, "s__fail", json!({})).await, "no luck");
        servers.stop().await;
    });
}

fn image() {
    wait(async {
        let mut harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let output = harness.call(&servers, "s__image", json!({})).await;
        let Content::Blocks(blocks) = &output.content else {
            panic!("{output:?}");
        };
        let [Block::Text(text), Block::Image(image)] = blocks.as_slice() else {
            panic!("{output:?}");
        };
        assert_eq!(
            text.text,
            "a pixel\n[an image of type image/png, which is left out: only PNG, JPEG, GIF and WebP are shown]"
        );
        assert_eq!(
            (&*image.data, image.mime_type.as_str()),
            (PIXEL, "image/png")
        );
        harness.context.limits.image_bytes = 69;
        let said = harness.good(&servers, "s__image", json!({})).await;
        assert!(
            said.contains(
                "[an image, image/png, which is left out: it has 70 bytes and at most 69 are shown]"
            ),
            "{said}"
        );
        servers.stop().await;
    });
}

fn big() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let output = harness.call(&servers, "s__big", json!({})).await;
        let shown = text(&output);
        assert!(
            shown.len() < harness.context.limits.output_bytes + 500,
            "{}",
            shown.len()
        );
        assert!(shown.contains(" left out here]\n"), "{shown}");
        let path = output
            .details
            .as_ref()
            .and_then(|details| details["full_output_path"].as_str());
        let path = path.expect("the whole is kept");
        assert!(
            shown.ends_with(&format!("[the whole output is in {path}]\n")),
            "{shown}"
        );
        let whole = std::fs::read_to_string(path).expect("it is there");
        assert_eq!(whole, "0123456789abcdef\n".repeat(crate::server::BIG / 17));
        servers.stop().await;
    });
}

fn mixed() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        assert_eq!(
            harness.good(&servers, "s__mixed", json!({})).await,
            "[file:///a.txt]\nA\n[file:///b, x/y: 4 bytes in base64, which are not passed on]\n\
             [c: file:///c]\n[a sound of type audio/wav, which is not passed on]\n{\"sum\": 3}"
        );
        assert_eq!(
            harness.good(&servers, "s__structured", json!({})).await,
            "{\"sum\":3}"
        );
        servers.stop().await;
    });
}

fn garbage() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        assert_eq!(
            harness.bad(&servers, "s__garbage", json!({})).await,
            "s__garbage: its answer is none that the protocol knows"
        );
        assert_eq!(
            harness.good(&servers, "s__noise", json!({})).await,
            "good all the same"
        );
        servers.stop().await;
    });
}

fn crash() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let why = "it ended with exit code 7; it complained: a crash, as asked for";
        let said = format!(
            "tool server s is gone: {why}; do without its tools until the session is started again"
        );
        harness.told();
        // Two calls that run as it dies learn the same.
        let (slow, crash) = futures_util::future::join(
            harness.bad(&servers, "s__slow", json!({})),
            harness.bad(&servers, "s__crash", json!({})),
        )
        .await;
        assert_eq!(
            (slow.as_str(), crash.as_str()),
            (said.as_str(), said.as_str())
        );
        assert_eq!(harness.bad(&servers, "s__echo", json!({})).await, said);
        assert_eq!(harness.told(), [format!("s gone 0 {why}")]);
        servers.stop().await;
        assert!(harness.told().is_empty());
    });
}

fn orphan() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let said = harness.bad(&servers, "s__orphan", json!({})).await;
        let want = "tool server s is gone: it ended with exit code 9; do without";
        assert!(said.starts_with(want), "{said}");
        servers.stop().await;
    });
}

fn flood() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let said = harness.bad(&servers, "s__flood", json!({})).await;
        let want = "tool server s is gone: it wrote over 64000000 bytes and answered nothing, and was ended";
        assert!(said.starts_with(want), "{said}");
        servers.stop().await;
    });
}

fn unreadable() {
    wait(async {
        let harness = Harness::new();
        let mut config = config("usual");
        config.call_timeout = SHORT * 20;
        let servers = harness.start(&[config]).await;
        let said = harness.bad(&servers, "s__unreadable", json!({})).await;
        let want =
            "; it wrote what is not a message: {\"jsonrpc\": \"2.0\", \"result\": \"\u{fffd}\"}";
        assert!(said.ends_with(want), "{said}");
        servers.stop().await;
    });
}

fn slow() {
    wait(async {
        let harness = Harness::new();
        let mut marks = Marks::new();
        let mut config = config("usual");
        config.args.push(marks.port.clone());
        config.call_timeout = SHORT;
        let servers = harness.start(&[config]).await;
        assert_eq!(
            harness.bad(&servers, "s__slow", json!({})).await,
            "s__slow: no answer within 0.02 seconds (mcpServers.s.callTimeoutSeconds); it was cancelled"
        );
        assert_eq!(marks.next().await.as_deref(), Some("slow"));
        assert_eq!(marks.next().await.as_deref(), Some("cancelled"));
        servers.stop().await;
    });
}

fn stopped() {
    wait(async {
        let harness = Harness::new();
        let mut marks = Marks::new();
        let mut config = config("usual");
        config.args.push(marks.port.clone());
        let servers = harness.start(&[config]).await;
        harness.good(&servers, "s__child", json!({})).await;
        let stopping = async {
            assert_eq!(marks.next().await.as_deref(), Some("slow"));
            harness.cancel.cancel();
        };
        let calling = harness.bad(&servers, "s__slow", json!({}));
        let (said, ()) = futures_util::future::join(calling, stopping).await;
        assert_eq!(
            said,
            "cancelled; the server was told, and may have done some of it already"
        );
        assert_eq!(marks.next().await.as_deref(), Some("cancelled"));
        servers.stop().await;
        assert_eq!(marks.next().await.as_deref(), Some("input closed"));
        marks.gone().await;
    });
}

fn asks() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let ask = async |method: &str| {
            let said = harness
                .good(&servers, "s__ask", json!({ "method": method }))
                .await;
            serde_json::from_str::<Value>(&said).expect("an answer is a message")
        };
        let root = ask("roots/list").await["result"]["roots"][0]["uri"].clone();
        assert_eq!(
            root,
            json!(format!("file://{}", harness.workspace().display()))
        );
        assert_eq!(
            ask("elicitation/create").await["result"]["action"],
            "decline"
        );
        assert_eq!(
            ask("sampling/createMessage").await["error"],
            json!({ "code": -32601, "message": "agent-cli does not ask its model for servers" })
        );
        assert_eq!(ask("terminal/run").await["error"]["code"], -32601);
        servers.stop().await;
    });
}

fn keys() {
    wait(async {
        let mut harness = Harness::new();
        let key = Secret::new("planted-key-0123456789").expect("a key");
        harness.context.redactor = Arc::new(Redactor::new(&[key]));
        let servers = harness.start(&[config("usual")]).await;
        let said = harness
            .good(
                &servers,
                "s__echo",
                json!({ "text": "it is planted-key-0123456789." }),
            )
            .await;
        assert_eq!(said, "it is [secret removed].");
        servers.stop().await;
    });
}

fn approvals() {
    wait(async {
        let mut harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let mut said = async |policies: &[(&str, Policy)]| {
            let policies = policies
                .iter()
                .map(|(name, policy)| ((*name).to_owned(), *policy));
            harness.context.approvals = Approvals::new(policies.collect(), false);
            text(
                &harness
                    .call(&servers, "s__echo", json!({ "text": "hi" }))
                    .await,
            )
        };
        assert_eq!(
            said(&[("bash", Policy::Allow)]).await,
            "s__echo needs approval and no user can be asked; the user can allow it for a run, or for good in tools.policies"
        );
        assert_eq!(said(&[("s__echo", Policy::Allow)]).await, "hi");
        assert_eq!(said(&[("s__*", Policy::Allow)]).await, "hi");
        let denied = said(&[("s__*", Policy::Allow), ("s__echo", Policy::Deny)]).await;
        assert!(
            denied.starts_with("s__echo is not allowed here"),
            "{denied}"
        );
        let subject =
            servers.tools()[17].approval_subject(&json!({ "text": "a\u{1b}\nb".repeat(400) }));
        let subject = subject.expect("it asks");
        assert!(
            subject.starts_with(r#"s__echo {"text":"a\u001b\nb"#),
            "{subject}"
        );
        assert_eq!(
            subject.chars().count(),
            "s__echo ".len() + 500 + " [...]".len()
        );
        servers.stop().await;
    });
}

fn hints() {
    wait(async {
        let harness = Harness::new();
        let servers = harness.start(&[config("usual")]).await;
        let tools = Toolbox::builtin().with(servers.tools());
        let names = ["read", "s__echo", "s__add", "s__fail"];
        let safe = |name| tools.meta(name).idempotency == Idempotency::Idempotent;
        assert_eq!(names.map(safe), [true, true, false, false]);
        let specs = tools.specs();
        let add = specs
            .iter()
            .find(|tool| tool.name == "s__add")
            .expect("it is there");
        assert_eq!(add.description, "Adds.\u{fffd}[31m");
        assert_eq!(
            add.parameters.to_value(),
            json!({ "type": "object", "required": ["a", "b"], "properties": {} })
        );
        servers.stop().await;
    });
}
