//! Images in prompts.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use session_store::PromptImage;

use super::harness::Bench;
use crate::state::Input;

fn paste(bench: &mut Bench, text: &str) -> String {
    bench.input(Input::Paste(text.to_owned()));
    bench.asked()
}

fn image() -> PromptImage {
    PromptImage {
        data: "aGk=".to_owned(),
        mime_type: "image/png".to_owned(),
    }
}

#[test]
fn the_path_of_an_image_is_attached_where_the_file_is_one() {
    let mut bench = Bench::new(80, 24);
    for (text, asked) in [
        ("/tmp/a.png", r#"ReadImage("/tmp/a.png", "/tmp/a.png")"#),
        (
            "'/tmp/a b.PNG' ",
            r#"ReadImage("/tmp/a b.PNG", "'/tmp/a b.PNG' ")"#,
        ),
        (
            r"/tmp/a\ b.jpeg",
            r#"ReadImage("/tmp/a b.jpeg", "/tmp/a\\ b.jpeg")"#,
        ),
        (
            "~/shots/a b.webp",
            r#"ReadImage("~/shots/a b.webp", "~/shots/a b.webp")"#,
        ),
        ("see /tmp/a.txt", ""),
        ("a.png\nb.png", ""),
    ] {
        assert_eq!(paste(&mut bench, text), asked);
        bench.state.editor.clear();
    }
    // What is no image after all is text.
    bench.input(Input::Image("logo.png".to_owned(), None));
    assert_eq!(bench.state.editor.text(), "logo.png");
}

#[test]
fn an_image_is_sent_with_its_message_and_returns_with_it() {
    let mut bench = Bench::new(80, 24);
    bench.type_text("look at ");
    bench.input(Input::Image("/tmp/shot.png".to_owned(), Some(image())));
    insta::assert_snapshot!(bench.screen(), @"
    openai/gpt-5.4, window 60.0k, in /home/ann/parser, session 0199
    ~~~

    > look at [image 1: shot.png]
    ~/parser  openai/gpt-5.4  [==========....!.....]  31.8k billed  11.8k left
    ");
    bench.event(json!({"type": "turn_start"}));
    bench.key(KeyCode::Enter);
    insta::assert_snapshot!(bench.asked(), @r#"Ask(Message("look at [image 1: shot.png]"), Do(Prompt { prompt: Prompt { text: "look at [image 1: shot.png]", images: [PromptImage { data: "aGk=", mime_type: "image/png" }] }, delivery: Steer }))"#);
    // A message that waits returns to the editor, its image too.
    let reply = session_protocol::TakenBack {
        message_id: "m1".to_owned(),
        text: "look at [image 1: shot.png]".to_owned(),
    };
    let reply = session_protocol::Reply::TakenBack(reply);
    bench.input(Input::Answered(crate::Purpose::TakeBack, Ok(reply)));
    bench.key(KeyCode::Enter);
    assert!(bench.asked().contains("aGk="));
    // A marker goes as a whole, and its image with it.
    bench.input(Input::Image("/tmp/other.png".to_owned(), Some(image())));
    bench.key(KeyCode::Backspace);
    bench.key(KeyCode::Backspace);
    assert_eq!(bench.state.editor.text(), "");
    bench.type_text("none");
    bench.key_with(KeyCode::Enter, KeyModifiers::NONE);
    assert!(bench.asked().contains("images: []"));
}
