//! `tree`: the turns and branches of a session.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use compaction_core::{Profile, TokenCount};
use serde::Serialize;
use session_model::{
    AgentMessage, Diagnostic, Entry, EntryBody, EntryId, EntryIndex, Leaf, SessionTree,
    UserMessage, without_private,
};

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::{BOLD, DIM, GOOD, clean, first_line, styled, tokens, width};

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
    #[serde(skip)]
    rank: Rank,
}

/// How a row is shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    /// A turn begins.
    Turn,
    /// A compaction.
    Compaction,
    /// The summary of a branch.
    Branch,
    /// Part of the turn above it.
    Inside,
}

pub(super) fn run(args: &TreeArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let leaf = args.session.leaf(tree)?;
    let known = &session.decoded.diagnostics;
    let document = document((tree, leaf), global.profile(), known);
    let text = Drawing {
        tree,
        rows: &document.entries,
        children: tree.children(),
        leaf: tree.path(leaf).entries().last().copied(),
    }
    .draw();
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
                text: first_line(&text_of(entry.as_ref()), 120),
                rank: rank(entry.as_ref()),
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

fn rank(entry: Option<&Entry>) -> Rank {
    match entry.map(|entry| &entry.body) {
        Some(EntryBody::Message(message)) => match &**message {
            AgentMessage::User(user) if is_inserted(user) => Rank::Inside,
            AgentMessage::User(_) | AgentMessage::BashExecution(_) => Rank::Turn,
            _ => Rank::Inside,
        },
        Some(EntryBody::Compaction(_)) => Rank::Compaction,
        Some(EntryBody::BranchSummary(_)) => Rank::Branch,
        _ => Rank::Inside,
    }
}

/// Returns whether all text of a message with the role of the user is what an agent put there.
fn is_inserted(user: &UserMessage) -> bool {
    user.words().is_empty() && user.content.texts().any(|text| !text.trim().is_empty())
}

fn text_of(entry: Option<&Entry>) -> String {
    let Some(entry) = entry else {
        return "(cannot be read)".to_owned();
    };
    match &entry.body {
        EntryBody::Compaction(compaction) => compaction
            .short_summary
            .clone()
            .unwrap_or_else(|| compaction.summary.clone()),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::Message(message) => match &**message {
            AgentMessage::User(user) if is_inserted(user) => "(inserted text)".to_owned(),
            AgentMessage::User(user) if user.words() != user.content.joined_text("\n") => {
                without_private(&user.words()).into_owned()
            }
            message => without_private(&message.display_text()).into_owned(),
        },
        EntryBody::CustomMessage(message) => message.content.joined_text(" "),
        EntryBody::ModelChange(model) => format!("{}/{}", model.provider, model.model_id),
        EntryBody::ThinkingLevelChange(level) => level.clone(),
        EntryBody::SessionInfo(name) => name.clone().unwrap_or_default(),
        EntryBody::Label { target, label } => {
            format!("{target} {}", label.as_deref().unwrap_or("(cleared)"))
        }
        EntryBody::Custom { custom_type, .. } => custom_type.clone(),
        EntryBody::ContextEdit { target, .. } => format!("edits {target}"),
        EntryBody::Usage { kind, .. } => kind.clone(),
        EntryBody::Unknown(kind) => kind.clone(),
        _ => String::new(),
    }
}

/// The deepest indentation.
const DEEPEST: usize = 10;

struct Drawing<'a> {
    tree: &'a SessionTree,
    rows: &'a [Row],
    children: BTreeMap<Option<EntryIndex>, Vec<EntryIndex>>,
    leaf: Option<EntryIndex>,
}

/// A turn on the screen: its first entry, and what belongs to it.
struct Turn {
    entry: EntryIndex,
    tokens: TokenCount,
    tools: usize,
    has_leaf: bool,
}

impl Drawing<'_> {
    fn draw(&self) -> String {
        let turns = self
            .rows
            .iter()
            .filter(|row| row.rank == Rank::Turn)
            .count();
        let leaves = self.tree.leaves().len();
        let name = clean(&self.tree.name().unwrap_or_default());
        let title = format!(
            "{}   {}, {}",
            if name.is_empty() { "Session" } else { &name },
            crate::ui::counted(turns, "turn"),
            crate::ui::counted(leaves, "branch")
        );
        let mut out = format!("{}\n", styled(BOLD, &title));
        // Depth first without recursion: sessions are deeper than stacks.
        let mut work: Vec<(EntryIndex, usize)> = Vec::new();
        self.push_children(None, 0, &mut work);
        while let Some((first, depth)) = work.pop() {
            let last = self.draw_chain(first, depth, &mut out);
            self.push_children(Some(last), depth, &mut work);
        }
        out.push_str(&styled(
            DIM,
            "\n@ you are here   o on the path   x left   C compaction   s branch summary\n",
        ));
        out
    }

    /// Puts the children of an entry on the pile: those that were left first on the screen, indented,
    /// the path that goes on last, without more indentation.
    fn push_children(
        &self,
        parent: Option<EntryIndex>,
        depth: usize,
        work: &mut Vec<(EntryIndex, usize)>,
    ) {
        let none = Vec::new();
        let children = self.children.get(&parent).unwrap_or(&none);
        let active = children
            .iter()
            .find(|child| self.rows[child.as_usize()].active);
        let Some(main) = active.or(children.last()) else {
            return;
        };
        work.push((*main, depth));
        let others = children.iter().filter(|child| *child != main);
        work.extend(others.rev().map(|child| (*child, depth + 1)));
    }

    /// Draws the entries from `first` to the next fork; returns the last of them.
    fn draw_chain(&self, first: EntryIndex, depth: usize, out: &mut String) -> EntryIndex {
        let mut at = first;
        let mut turn: Option<Turn> = None;
        let starts_branch = depth > 0;
        let mut first_row = starts_branch;
        loop {
            let row = &self.rows[at.as_usize()];
            let begins = row.rank != Rank::Inside || turn.is_none();
            if begins && let Some(done) = turn.take() {
                self.draw_turn(&done, depth, &mut first_row, out);
            }
            let turn = turn.get_or_insert(Turn {
                entry: at,
                tokens: TokenCount::ZERO,
                tools: 0,
                has_leaf: false,
            });
            turn.tokens += row.tokens;
            turn.tools += usize::from(row.role.as_deref() == Some("toolResult"));
            turn.has_leaf |= self.leaf == Some(at);
            match self.children.get(&Some(at)).map(Vec::as_slice) {
                Some([only]) => at = *only,
                _ => break,
            }
        }
        if let Some(done) = turn {
            self.draw_turn(&done, depth, &mut first_row, out);
        }
        at
    }

    fn draw_turn(&self, turn: &Turn, depth: usize, first_row: &mut bool, out: &mut String) {
        let row = &self.rows[turn.entry.as_usize()];
        let only_state = row.rank == Rank::Inside && turn.tokens == TokenCount::ZERO;
        if only_state && !turn.has_leaf {
            return;
        }
        let mark = match (row.rank, row.active, turn.has_leaf) {
            (_, _, true) => styled(GOOD, "@"),
            (Rank::Compaction, ..) => "C".to_owned(),
            (Rank::Branch, ..) => "s".to_owned(),
            (Rank::Turn | Rank::Inside, true, false) => "o".to_owned(),
            (Rank::Turn | Rank::Inside, false, false) => styled(DIM, "x"),
        };
        // Deeper branches stand in one column, not in a wider and wider margin.
        let depth = depth.min(DEEPEST);
        let lead = match (depth, std::mem::take(first_row)) {
            (0, _) => String::new(),
            (depth, true) => format!("{}+-", "| ".repeat(depth - 1)),
            (depth, false) => "| ".repeat(depth),
        };
        let tools = match turn.tools {
            0 => String::new(),
            tools => crate::ui::counted(tools, "tool"),
        };
        let label = row.label.as_ref().map(|label| format!(" [{label}]"));
        let room = width().saturating_sub(36 + lead.len()).max(16);
        let text = match row.rank {
            Rank::Compaction => format!("compacted: {}", row.text),
            Rank::Branch => format!("branch summary: {}", row.text),
            Rank::Turn => row.text.clone(),
            Rank::Inside => format!("({}) {}", row.r#type, row.text),
        };
        let text = first_line(&format!("{text}{}", label.unwrap_or_default()), room);
        out.push_str(&format!(
            "  {lead}{mark} {}  {text:<room$}  {tools:>9} {:>7}\n",
            clean(&row.id),
            tokens(turn.tokens)
        ));
    }
}
