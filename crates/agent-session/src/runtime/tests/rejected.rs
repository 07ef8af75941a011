//! What the provider refuses leaves the context, and the turn goes on.

use serde_json::json;
use session_model::Block;
use session_store::{Prompt, PromptImage};

use super::*;

/// Returns what each request held: `thinking`, and the images by their first bytes.
fn held(harness: &Harness) -> Vec<String> {
    let asked = harness.asked.lock().unwrap();
    let held = asked.iter().map(|request| {
        let blocks = request.messages.iter();
        let blocks = blocks.flat_map(|message| message.content().blocks());
        let kinds = blocks.filter_map(|block| match block {
            Block::Thinking(_) => Some("thinking".to_owned()),
            Block::Image(image) => Some(format!("image {}", image.data.len())),
            _ => None,
        });
        kinds.collect::<Vec<_>>().join(", ")
    });
    held.collect()
}

fn thoughtful(text: &str) -> String {
    line_of(&json!({ "answer": { "text": text, "thinking": "let me see" } }))
}

#[test]
fn thinking_that_is_refused_leaves_the_context_and_the_turn_is_answered() {
    run(async {
        let refused = error("thinking_rejected");
        let script = [thoughtful("one"), refused, answer("two"), answer("three")];
        let harness = Harness::new(&script.concat());
        let mut life = harness.live();
        life.ask("first").await;
        let told = life.ask("second").await;
        assert!(told.contains("the thinking of 1 entry"), "{told}");
        assert!(told.contains("answer (stop): two"), "{told}");
        life.ask("third").await;
        assert_eq!(held(&harness), ["", "thinking", "", ""]);
        life.close().await;
    });
}

#[test]
fn a_refusal_that_names_what_the_context_has_not_ends_the_turn() {
    run(async {
        let script = [error("thinking_rejected"), answer("no")];
        let harness = Harness::new(&script.concat());
        let mut life = harness.live();
        let told = life.ask("first").await;
        assert!(told.contains("turn failed"), "{told}");
        life.close().await;
    });
}

/// A PNG of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJgggAA";

async fn show(life: &mut Life<'_>, images: &[&str]) -> String {
    let images = images.iter().map(|data| PromptImage {
        data: (*data).to_owned(),
        mime_type: "image/png".to_owned(),
    });
    let prompt = Prompt {
        text: "look".to_owned(),
        images: images.collect(),
    };
    let delivery = Delivery::FollowUp;
    life.command_and(Command::Prompt { prompt, delivery }).await
}

#[test]
fn a_damaged_image_that_is_refused_leaves_alone() {
    run(async {
        let script = [answer("one"), error("image_rejected"), answer("two")];
        let harness = Harness::new(&script.concat());
        let mut life = harness.live();
        show(&mut life, &[PIXEL]).await;
        let told = show(&mut life, &["iVBORw0KGgpnYXJiYWdl"]).await;
        assert!(told.contains("the images of 1 entry"), "{told}");
        let held = held(&harness);
        assert_eq!(held[2], held[0], "{held:?}");
        assert!(held[1].starts_with(&held[0]) && held[1] != held[0]);
        assert!(life.written().contains("\nedit\n"), "{}", life.written());
        life.close().await;
    });
}

#[test]
fn images_that_are_refused_although_they_are_good_all_leave() {
    run(async {
        let script = [error("image_rejected"), answer("one"), answer("two")];
        let harness = Harness::new(&script.concat());
        let mut life = harness.live();
        show(&mut life, &[PIXEL, &format!("{PIXEL}AAAA")]).await;
        life.ask("again").await;
        assert_eq!(held(&harness)[1..], ["", ""]);
        life.close().await;
    });
}
