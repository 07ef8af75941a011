//! `context`: the messages that the model would see, and which entry each comes from.

use clap::Args;
use compaction_core::{Profile, TokenCount, measure};
use serde::Serialize;
use session_model::{
    AgentMessage, Content, Diagnostic, EntryId, Leaf, LlmMessage, ModelRef, RoleOrder, SessionTree,
    UserMessage, build_context, without_private,
};

use crate::commands::{Outcome, diagnostics_text};
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::{clean, counted, first_line, tokens};

/// Show the messages that the model would see.
#[derive(Debug, Args)]
pub struct ContextArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Show the messages as they would be sent: converted, calls and results paired.
    #[arg(long)]
    pub llm: bool,
}

/// The messages of a context.
#[derive(Serialize)]
pub(super) struct Document {
    leaf: Option<EntryId>,
    thinking_level: String,
    model: Option<ModelRef>,
    /// Estimated, as that of each message.
    tokens: TokenCount,
    billed_tokens: Option<TokenCount>,
    messages: Vec<Row>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_id: Option<EntryId>,
    role: String,
    tokens: TokenCount,
    text: String,
}

pub(super) fn run(args: &ContextArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let leaf = args.session.leaf(tree)?;
    let form = match args.llm {
        true => Form::AsSent,
        false => Form::AsKept,
    };
    let known = &session.decoded.diagnostics;
    let document = document((tree, leaf), form, global.profile(), known);
    let text = text(&document);
    Ok(Outcome::done(&document, text).of(session.report()))
}

/// How messages are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As the session keeps them.
    AsKept,
    /// As they would be sent: converted, calls and results paired.
    AsSent,
}

/// Returns the document of the context at a leaf; `known` is what was noticed when the session was read.
pub(super) fn document(
    (tree, leaf): (&SessionTree, Leaf),
    form: Form,
    profile: Profile,
    known: &[Diagnostic],
) -> Document {
    let path = tree.path(leaf);
    let context = build_context(&path, profile.context_rules());
    let counter = profile.counter();
    let mut diagnostics = known.to_vec();
    diagnostics.extend(context.diagnostics.iter().cloned());
    let row = |entry_id, role: &str, message: &AgentMessage| Row {
        entry_id,
        role: role.to_owned(),
        tokens: counter.message(message),
        text: without_private(&message.display_text()).into_owned(),
    };
    let messages: Vec<Row> = match form {
        Form::AsSent => {
            let (messages, paired) = context.to_llm(RoleOrder::Any);
            diagnostics.extend(paired);
            let rows = messages.into_iter().map(|message| {
                let role = message.role().to_owned();
                row(None, &role, &as_agent_message(message))
            });
            rows.collect()
        }
        Form::AsKept => {
            let rows = context.messages();
            rows.map(|(id, message)| row(Some(id.clone()), message.role(), message))
                .collect()
        }
    };
    let size = measure(&path, &context, profile);
    Document {
        leaf: context.leaf.clone(),
        thinking_level: context.thinking_level.clone(),
        model: context.model.clone(),
        tokens: size.estimated,
        billed_tokens: size.billed,
        messages,
        diagnostics,
    }
}

/// Returns a message for models as one that counters know.
fn as_agent_message(message: LlmMessage) -> AgentMessage {
    let user = |content: Content| UserMessage {
        content,
        timestamp: None,
    };
    match message {
        LlmMessage::System(system) => AgentMessage::System(system),
        LlmMessage::Developer(content) => AgentMessage::Developer(user(content)),
        LlmMessage::User(content) => AgentMessage::User(user(content)),
        LlmMessage::Assistant(answer) => AgentMessage::Assistant(answer),
        LlmMessage::ToolResult(result) => AgentMessage::ToolResult(result),
    }
}

fn text(document: &Document) -> String {
    let model = document.model.as_ref().map_or_else(
        || "unknown model".to_owned(),
        |model| clean(&format!("{}/{}", model.provider, model.model_id)),
    );
    let billed = document.billed_tokens.map_or_else(String::new, |billed| {
        format!(" (billed {})", tokens(billed))
    });
    let mut out = format!(
        "{}, ~{} tokens{billed}, {model}, thinking {}\n\n",
        counted(document.messages.len(), "message"),
        tokens(document.tokens),
        clean(&document.thinking_level),
    );
    let width = crate::ui::width().saturating_sub(38).max(20);
    for row in &document.messages {
        let id = clean(row.entry_id.as_deref().unwrap_or(""));
        out.push_str(&format!(
            "{id:>8}  {:<17} {:>6}  {}\n",
            clean(&row.role),
            tokens(row.tokens),
            first_line(&row.text, width)
        ));
    }
    if !document.diagnostics.is_empty() {
        out.push('\n');
        out.push_str(&diagnostics_text(&document.diagnostics, 1));
    }
    out
}
