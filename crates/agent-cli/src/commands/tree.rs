//! `tree`: the turns and branches of a session.

use std::collections::BTreeSet;

use clap::Args;
use compaction_core::{Profile, TokenCount};
use serde::Serialize;
use session_model::{
    AgentMessage, Diagnostic, Entry, EntryBody, EntryId, EntryIndex, Leaf, SessionTree,
};
use session_text::{Rank, entry_line, is_inserted, tree_rows};

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::{BOLD, DIM, GOOD, clean, counted, first_line, styled, tokens, width};

/// Show the turns and branches of a session.
#[derive(Debug, Args)]
pub struct TreeArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

/// The entries of a session.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    leaf: Option<EntryId>,
    name: Option<String>,
    entries: Vec<Row>,
    diagnostics: &'a [Diagnostic],
}

#[derive(Serialize)]
struct Row {
    id: EntryId,
    parent_id: Option<EntryId>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    timestamp: Option<String>,
    tokens: TokenCount,
    active: bool,
    text: String,
    /// Whether an agent put all of it into a message with the role of the user.
    #[serde(skip)]
    is_inserted: bool,
}

pub(super) fn run(args: &TreeArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let leaf = args.session.leaf(tree)?;
    let known = &session.decoded.diagnostics;
    let document = document((tree, leaf), global.profile(), known);
    let text = drawn((tree, leaf), &document.entries);
    Ok(Outcome::done(&document, text).of(session.report()))
}

/// Returns the document of a session that stands at a leaf; `diagnostics` is what was noticed when it was read.
pub(super) fn document<'a>(
    (tree, leaf): (&SessionTree, Leaf),
    profile: Profile,
    diagnostics: &'a [Diagnostic],
) -> Document<'a> {
    let path = tree.path(leaf);
    let active: BTreeSet<EntryIndex> = path.entries().iter().copied().collect();
    let labels = tree.labels();
    let counter = profile.counter();
    let rows = tree
        .indices()
        .map(|index| {
            let entry = tree.entry(index).ok();
            let id = EntryId::new(tree.id(index));
            let parent = tree.parent(index);
            // Of a compaction that replays a system message, the summary comes last.
            let message = entry.as_ref().and_then(|entry| entry.messages().pop());
            Row {
                label: labels.get(&id).cloned(),
                parent_id: parent.map(|parent| EntryId::new(tree.id(parent))),
                r#type: tree.kind(index).name(),
                role: message.as_ref().map(|message| message.role().to_owned()),
                timestamp: entry
                    .as_ref()
                    .and_then(|entry| entry.timestamp)
                    .map(|at| at.to_string()),
                tokens: message
                    .as_ref()
                    .map_or(TokenCount::ZERO, |message| counter.message(message)),
                active: active.contains(&index),
                text: entry_line(tree, index, 120),
                is_inserted: entry.as_ref().is_some_and(is_inserted_entry),
                id,
            }
        })
        .collect();
    Document {
        leaf: path.leaf_id().map(EntryId::new),
        name: tree.name(),
        entries: rows,
        diagnostics,
    }
}

fn is_inserted_entry(entry: &Entry) -> bool {
    let EntryBody::Message(message) = &entry.body else {
        return false;
    };
    matches!(&**message, AgentMessage::User(user) if is_inserted(user))
}

fn drawn((tree, leaf): (&SessionTree, Leaf), entries: &[Row]) -> String {
    let rows = tree_rows(tree, leaf, &|index| !entries[index.as_usize()].is_inserted);
    let turns = rows.iter().filter(|row| row.rank == Rank::Turn).count();
    let name = clean(&tree.name().unwrap_or_default());
    let title = format!(
        "{}   {}, {}",
        if name.is_empty() { "Session" } else { &name },
        counted(turns, "turn"),
        counted(tree.leaves().len(), "branch")
    );
    let mut out = format!("{}\n", styled(BOLD, &title));
    for row in &rows {
        let (lead, mark) = row.lead();
        let mark = match mark {
            '@' => styled(GOOD, "@"),
            'x' => styled(DIM, "x"),
            other => other.to_string(),
        };
        let tools = match row.tools {
            0 => String::new(),
            tools => counted(tools, "tool"),
        };
        let of_turn = std::iter::successors(Some(row.last), |at| {
            tree.parent(*at).filter(|_| *at != row.first)
        });
        let sum: TokenCount = of_turn.map(|at| entries[at.as_usize()].tokens).sum();
        let label = row.label.as_ref().map(|label| format!(" [{label}]"));
        let text = row.text(tree);
        let room = width().saturating_sub(36 + lead.len()).max(16);
        let text = first_line(&format!("{text}{}", label.unwrap_or_default()), room);
        out.push_str(&format!(
            "  {lead}{mark} {}  {text:<room$}  {tools:>9} {:>7}\n",
            clean(tree.id(row.first)),
            tokens(sum)
        ));
    }
    out.push_str(&styled(
        DIM,
        "\n@ you are here   o on the path   x left   C compaction   s branch summary\n",
    ));
    out
}
