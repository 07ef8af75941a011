//! Runs one prompt in a session whose model is a script, prints the answer, and ends.
use agent_session::agent_tools::Workspace;
use agent_session::{AgentSession, SessionEvent, models::LiveModels};
use agent_session::{compaction_core::TokenCount, llm_providers::Script};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = Script::parse(r#"{"answer":{"text":"Hello from a script."}}"#)?.play(0, 0);
    let models = LiveModels::of_script(&script, TokenCount(128_000));
    let workspace = Workspace::open(&std::env::current_dir()?)?;
    let (session, handle, mut events) = AgentSession::builder(workspace, models).build();
    let reader = async move {
        handle.prompt("say hello").await?;
        while let Some(event) = events.recv().await {
            match event {
                SessionEvent::Answer { text, .. } => println!("{text}"),
                SessionEvent::Idle { .. } => handle.close(),
                _ => {}
            }
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    };
    tokio::join!(session.run(), reader).1
}
