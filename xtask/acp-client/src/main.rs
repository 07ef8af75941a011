//! Drives `agent-cli acp` with the client of the protocol's own library: `acp-client PROGRAM SCRIPT FOLDER`. A message
//! that the library cannot read is an error, so this checks the form of everything that is sent.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, ClientSessionCapabilities, CloseSessionRequest,
    CompactionCapabilities, CompactionStatus, ContentBlock, ImageContent, InitializeRequest,
    ListSessionsRequest, LoadSessionRequest, NewSessionRequest, NoticeCapabilities, PromptRequest,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    ResumeSessionRequest, SelectedPermissionOutcome, SessionId, SessionNotification, SessionUpdate,
    StopReason, TextContent, ToolCallContent,
};
use agent_client_protocol::{AcpAgent, Agent, Client};

/// The kinds of updates that came, and what is to be remembered of them.
#[derive(Debug, Default)]
struct Seen {
    kinds: BTreeSet<String>,
    text: String,
    asked: Vec<String>,
}

type Failed = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, program, script, folder] = &arguments[..] else {
        return Err("acp-client PROGRAM SCRIPT FOLDER".into());
    };
    let provider = format!("scripted:{script}");
    let agent = [
        program,
        "acp",
        "--provider",
        &provider,
        "--set",
        "compaction.keepRecentTokens=100",
        "--session-dir",
        &format!("{folder}/sessions"),
    ]
    .map(str::to_owned);
    let agent = AcpAgent::from_args(agent)?;
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (updates, questions, folder) =
        (seen.clone(), seen.clone(), std::path::PathBuf::from(folder));
    Client
        .v1()
        .name("acp-client")
        .on_receive_notification(
            async move |told: SessionNotification, _| {
                updates.lock().expect("a lock").note(told.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |asked: RequestPermissionRequest, responder, _| {
                let title = asked.tool_call.fields.title.clone().unwrap_or_default();
                questions.lock().expect("a lock").asked.push(title);
                let option = asked.options[0].option_id.clone();
                let selected = SelectedPermissionOutcome::new(option);
                responder.respond(RequestPermissionResponse::new(
                    RequestPermissionOutcome::Selected(selected),
                ))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(agent, async move |agent: ConnectionTo<Agent>| {
            drive(agent, folder, seen).await
        })
        .await?;
    Ok(())
}

impl Seen {
    fn note(&mut self, update: SessionUpdate) {
        let kind = serde_json::to_value(&update).expect("JSON")["sessionUpdate"].clone();
        let mut kind = kind.as_str().unwrap_or_default().to_owned();
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let ContentBlock::Text(text) = chunk.content {
                    self.text.push_str(&text.text);
                }
            }
            SessionUpdate::ToolCall(call) => {
                if call
                    .content
                    .iter()
                    .any(|content| matches!(content, ToolCallContent::Diff(_)))
                {
                    self.kinds.insert("diff".to_owned());
                }
            }
            SessionUpdate::CompactionUpdate(update)
                if update.status == CompactionStatus::Completed =>
            {
                kind.push_str(" completed");
            }
            _ => {}
        }
        self.kinds.insert(kind);
    }
}

async fn drive(
    agent: ConnectionTo<Agent>,
    folder: std::path::PathBuf,
    seen: Arc<Mutex<Seen>>,
) -> Result<(), agent_client_protocol::Error> {
    let session = ClientSessionCapabilities::new()
        .compaction(CompactionCapabilities::new())
        .notices(NoticeCapabilities::new());
    let capabilities = ClientCapabilities::new().session(session);
    let begun = agent
        .send_request(InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities))
        .block_task()
        .await?;
    let can = begun.agent_capabilities;
    assert!(can.load_session && can.prompt_capabilities.image, "{can:?}");
    let sessions = can.session_capabilities;
    assert!(sessions.list.is_some() && sessions.resume.is_some() && sessions.close.is_some());

    let id = agent
        .send_request(NewSessionRequest::new(&folder))
        .block_task()
        .await?
        .session_id;
    let say = |text: &str| {
        PromptRequest::new(id.clone(), vec![ContentBlock::Text(TextContent::new(text))])
    };
    let stop = async |prompt: PromptRequest| {
        agent
            .send_request(prompt)
            .block_task()
            .await
            .map(|answer| answer.stop_reason)
    };

    let mut first = say(&format!("go {}", "and read this. ".repeat(2000)));
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    first
        .prompt
        .push(ContentBlock::Image(ImageContent::new(pixel, "image/png")));
    assert_eq!(stop(first).await?, StopReason::EndTurn);
    {
        let seen = seen.lock().expect("a lock");
        assert_eq!(seen.asked, ["`echo done > first`"]);
        for kind in [
            "agent_thought_chunk",
            "agent_message_chunk",
            "tool_call",
            "tool_call_update",
            "diff",
            "plan",
            "usage_update",
        ] {
            assert!(seen.kinds.contains(kind), "no {kind}: {:?}", seen.kinds);
        }
    }
    assert!(folder.join("first").exists());

    // The answer takes a while; the cancellation comes before it.
    let slow = agent.send_request(say("slowly"));
    agent.send_notification(CancelNotification::new(id.clone()))?;
    assert_eq!(slow.block_task().await?.stop_reason, StopReason::Cancelled);
    assert_eq!(stop(say("again")).await?, StopReason::EndTurn);

    assert_eq!(stop(say("/compact")).await?, StopReason::EndTurn);
    assert!(
        seen.lock()
            .expect("a lock")
            .kinds
            .contains("compaction_update completed")
    );

    agent
        .send_request(CloseSessionRequest::new(id.clone()))
        .block_task()
        .await?;
    let listed = agent
        .send_request(ListSessionsRequest::new())
        .block_task()
        .await?;
    let ids: Vec<SessionId> = listed
        .sessions
        .into_iter()
        .map(|session| session.session_id)
        .collect();
    assert_eq!(ids, [id.clone()]);
    *seen.lock().expect("a lock") = Seen::default();
    agent
        .send_request(LoadSessionRequest::new(id.clone(), &folder))
        .block_task()
        .await?;
    assert!(
        seen.lock()
            .expect("a lock")
            .kinds
            .contains("user_message_chunk")
    );
    assert_eq!(stop(say("and now?")).await?, StopReason::EndTurn);
    assert!(
        seen.lock()
            .expect("a lock")
            .text
            .ends_with("After the load.")
    );
    agent
        .send_request(CloseSessionRequest::new(id.clone()))
        .block_task()
        .await?;
    agent
        .send_request(ResumeSessionRequest::new(id, &folder))
        .block_task()
        .await?;
    Ok(())
}
