//! Plays a script. Run: `cargo run -p llm-providers --example scripted`

use futures_util::StreamExt;
use llm_providers::{CancellationToken, Provider, Request, Scripted, ScriptedTurn};

fn main() {
    let provider = Scripted::new(vec![
        ScriptedTurn::Text("first answer".to_owned()),
        ScriptedTurn::Text("second answer".to_owned()),
    ]);
    futures_executor::block_on(async {
        for prompt in ["one", "two", "three"] {
            let request = Request::for_prompt("answer", prompt);
            match provider.stream(request, CancellationToken::new()).await {
                Ok(mut events) => {
                    while let Some(event) = events.next().await {
                        println!("{prompt}: {event:?}");
                    }
                }
                Err(error) => println!("{prompt}: {error}"),
            }
        }
    });
}
