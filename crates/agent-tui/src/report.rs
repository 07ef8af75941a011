//! Reports that are made of a session: pages and figures. They may take a while and run on another thread.

mod context;
mod history;
mod searches;

use agent_session::runtime::NoPreview;
use agent_session::runtime::setting::changeable;
use session_protocol::{CompactionRequest, Snapshot};

use session_model::EntryId;

use crate::block::Block;
use crate::gauge::ContextFigures;
use crate::pager::Pager;
use crate::picker::Choice;
use crate::preview::{PreviewView, preview};
use crate::theme::Theme;
use crate::tree::TreeView;

/// What can be made of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// What fills the window, for the status line.
    Fill,
    /// What was said before, for a session that is resumed.
    History,
    /// What fills the window, as a page.
    Context,
    /// The tree.
    Tree,
    /// A search.
    Recall(String),
    /// What compactions took out.
    Loss,
    /// What a compaction would do.
    Preview(CompactionRequest),
    /// The settings of this run.
    Settings,
    /// The text of a message, or of the newest answer.
    Copy(Option<EntryId>),
}

impl Report {
    /// Returns the command that asks for it; none where no user waits for it.
    pub fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Fill | Self::History => return None,
            Self::Context => "/context",
            Self::Tree => "/tree",
            Self::Recall(_) => "/recall",
            Self::Loss => "/loss",
            Self::Preview(_) => "/compact",
            Self::Settings => "/settings",
            Self::Copy(_) => "/copy",
        })
    }
}

/// A report.
#[derive(Debug)]
pub enum Built {
    /// What fills the window.
    Fill {
        /// Tokens of the prompt and the tools.
        fixed: u64,
    },
    /// What was said before.
    History {
        /// The end of the conversation.
        blocks: Vec<Block>,
        /// The messages of the user.
        prompts: Vec<String>,
    },
    /// A page.
    Page(Pager),
    /// The tree.
    Tree(Box<TreeView>),
    /// What a compaction would do.
    Preview(Box<PreviewView>),
    /// There is nothing to preview: what is asked for writes no summary.
    NoPreview(CompactionRequest),
    /// The settings of this run.
    Settings(Vec<Choice>),
    /// A text that belongs in the clipboard.
    Copy(String),
    /// There is nothing to show, and why.
    Nothing(String),
    /// The user did not want to wait for it.
    Stopped,
}

/// What reports are made for.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// The columns of the screen.
    pub width: usize,
    /// The styles.
    pub theme: Theme,
    /// The figures of the status line.
    pub figures: Option<ContextFigures>,
}

/// Returns a report about a session. It may take a while.
pub async fn build(report: &Report, session: &Snapshot, environment: &Environment) -> Built {
    let built = built(report, session, environment).await;
    match session.tree.meter().is_stopped() {
        true => Built::Stopped,
        false => built,
    }
}

async fn built(report: &Report, session: &Snapshot, environment: &Environment) -> Built {
    match report {
        Report::Preview(request) => match preview(session, request).await {
            Ok(view) => Built::Preview(Box::new(view)),
            Err(NoPreview::NoSummary) => Built::NoPreview(request.clone()),
            Err(NoPreview::Nothing(why)) => Built::Nothing(format!("nothing to do: {why}")),
            Err(NoPreview::Refused(why)) => Built::Nothing(why),
        },
        Report::Settings => {
            let all = changeable(&session.settings, &session.compaction).into_iter();
            let choices = all.map(|(name, value)| Choice {
                text: name,
                about: value.to_string(),
                key: value.to_string(),
            });
            Built::Settings(choices.collect())
        }
        Report::Copy(entry) => match history::copied(session, entry.as_ref()) {
            Some(text) => Built::Copy(text),
            None => Built::Nothing("nothing to copy".to_owned()),
        },
        Report::Fill => Built::Fill {
            fixed: context::fixed_tokens(session),
        },
        Report::History => history::history(session),
        Report::Context => Built::Page(context::page(session, environment)),
        Report::Tree => Built::Tree(Box::new(TreeView::of(session))),
        Report::Recall(words) => searches::recalled(session, words, environment),
        Report::Loss => searches::lost(session, environment),
    }
}
