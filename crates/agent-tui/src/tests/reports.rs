//! Reports about a session that runs.

use agent_session::AgentSession;
use agent_session::llm_script::Script;
use agent_tools::Workspace;
use compaction_core::TokenCount;
use serde_json::json;
use session_protocol::{Ask, Command, Snapshot};
use session_protocol::{Reply, SessionEvent};
use summarize::models::LiveModels;

use crate::block::{Block, Fold};
use crate::pager::Pager;
use crate::report::{Built, Environment, Report, build};
use crate::text::text_of;
use crate::theme::Theme;

/// Returns a session that was asked twice, and compacted where that is wanted.
pub async fn session(is_compacted: bool) -> Snapshot {
    let folder = tempfile::tempdir().expect("a folder");
    let call = json!({"name": "ls", "arguments": {}});
    let lines = [
        json!({"answer": {"text": "I look into src/duration.rs.", "calls": [call]}}),
        json!({"answer": {"text": "The parser of src/duration.rs is wrong. ".repeat(900)}}),
        json!({"answer": {"text": "Done."}}),
    ];
    let script = lines.map(|line| line.to_string()).join("\n");
    let play = Script::parse(&script).expect("a script").play(0, 0);
    let models = LiveModels::of_script(&play, TokenCount(16_000));
    let workspace = Workspace::open(folder.path()).expect("a folder");
    let mut settings = compaction_core::Settings::default();
    settings.compaction.keep_recent_tokens = TokenCount(1);
    let builder = AgentSession::builder(workspace, models).settings(settings);
    let (session, handle, mut events) = builder.build();
    let program = async {
        for prompt in ["never push to main; fix the parser", "and now?"] {
            handle.prompt(prompt).await.expect("it runs");
            while let Some(event) = events.recv().await {
                if matches!(event, SessionEvent::Idle { .. }) {
                    break;
                }
            }
        }
        if is_compacted {
            let compact = Ask::Do(Command::Compact(Default::default()));
            handle.ask(compact).await.expect("a compaction");
        }
        let reply = handle.ask(Ask::Snapshot).await;
        handle.close();
        reply
    };
    let (_, reply) = tokio::join!(session.run(), program);
    match reply {
        Ok(Reply::Snapshot(snapshot)) => *snapshot,
        other => panic!("{other:?}"),
    }
}

pub async fn made(report: &Report, session: &Snapshot) -> Built {
    let environment = Environment {
        width: 60,
        theme: Theme::None,
        figures: None,
    };
    build(report, session, &environment).await
}

async fn page(report: &Report, session: &Snapshot) -> String {
    match made(report, session).await {
        Built::Page(Pager { title, lines, .. }) => {
            let lines = lines.iter().map(text_of);
            let lines: Vec<String> = std::iter::once(title).chain(lines).collect();
            lines.join("\n")
        }
        Built::Nothing(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn pages_show_what_is_in_the_context_and_what_is_out_of_it() {
    let plain = session(false).await;
    let context = page(&Report::Context, &plain).await;
    for text in ["of 16.0k window", "Largest messages", "turn 1", "A answers"] {
        assert!(context.contains(text), "{context}");
    }
    let found = page(&Report::Recall("parser".to_owned()), &plain).await;
    assert!(found.contains("fix the parser"), "{found}");
    let none = page(&Report::Recall("zebra".to_owned()), &plain).await;
    assert!(none.starts_with("nothing in"), "{none}");
    let none = page(&Report::Loss, &plain).await;
    assert!(none.starts_with("no compaction"), "{none}");
    let compacted = session(true).await;
    let loss = page(&Report::Loss, &compacted).await;
    for text in ["compaction #1", "your messages", "verbatim", "/undo"] {
        assert!(loss.contains(text), "{loss}");
    }
}

#[tokio::test]
async fn a_resumed_session_shows_how_it_ended() {
    let Built::History { blocks, prompts } = made(&Report::History, &session(false).await).await
    else {
        panic!("a history");
    };
    assert_eq!(prompts, ["never push to main; fix the parser", "and now?"]);
    let lines = |block: &Block| block.lines(60, Theme::None, Fold::Folded);
    let first = blocks
        .iter()
        .flat_map(lines)
        .map(|line| text_of(&line))
        .take(5);
    let first: Vec<String> = first.collect();
    insta::assert_snapshot!(first.join("\n"), @r"
    ... 1 earlier message; /tree has them
    > never push to main; fix the parser
    I look into src/duration.rs.
    * ls  1 line
    The parser of src/duration.rs is wrong. The parser of
    ");
    assert_eq!(blocks.last(), Some(&Block::Answer("Done.".to_owned())));
}
