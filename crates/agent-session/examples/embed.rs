//! Lets a model of OpenAI look into the current folder with tools, and stores the session in `sessions`.
use std::{env, sync::Arc};

use agent_session::llm_providers::{HttpClient, HttpSettings, Secret};
use agent_session::session_store::{FileCatalog, NewSession, SessionCatalog};
use agent_session::{AgentSession, LiveModels, agent_tools::Workspace};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = Secret::new(&env::var("OPENAI_API_KEY")?);
    let http = HttpClient::new(HttpSettings::default())?;
    let models = LiveModels::of_service("openai/gpt-5.4", key, http)?;
    let folder = env::current_dir()?;
    let catalog = Arc::new(FileCatalog::new("sessions"));
    let (cwd, parent) = (folder.display().to_string(), None);
    let store = catalog.create(NewSession { cwd, parent }).await?;
    let builder = AgentSession::builder(Workspace::open(&folder)?, models);
    let mut session = builder.store(store, catalog).start();
    let outcome = session.turn("What is in this folder?").await?;
    println!("{}\n{:?}", outcome.answer, outcome.end);
    Ok(session.close().await.unsaved.map_or(Ok(()), Err)?)
}
