//! Plays a script and prints its events. Run: `cargo run -p llm-script --example scripted [FILE]`

use std::error::Error;

use futures_util::StreamExt;
use llm_providers::{CancellationToken, Provider, Request};
use llm_script::{Script, ScriptAction};

/// The default script.
const GREETING: &str = r#"
{"script":1,"name":"greeting"}
{"user":{"say":"good morning"}}
{"answer":{"text":"Good morning. What shall we build?"}}
{"user":{"say":"a bridge"}}
{"answer":{"text":"I look at the river.","calls":[{"name":"read","arguments":{"path":"river.txt"}}]}}
{"error":{"kind":"overloaded","message":"too many bridges","status":529}}
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args_os().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => GREETING.to_owned(),
    };
    let play = Script::parse(&text)?.play(0, 0);
    let model = play.turns();
    let mut prompt = String::new();
    while !play.is_finished() {
        for action in play.take_actions() {
            println!("user: {action:?}");
            if let ScriptAction::Say { text, .. } = action {
                prompt = text;
            }
        }
        if play.answers_left() == 0 {
            break;
        }
        let request = Request::for_prompt("answer", &prompt);
        match model.stream(request, CancellationToken::new()).await {
            Ok(mut events) => {
                while let Some(event) = events.next().await {
                    match event {
                        Ok(event) => println!("model: {event:?}"),
                        Err(error) => println!("model fails: {error}"),
                    }
                }
            }
            Err(error) => println!("model fails: {error}"),
        }
    }
    Ok(())
}
