//! `pin`: keeps a text or an entry word for word through every compaction; lists and removes pins.

use clap::{ArgGroup, Args};
use compaction_core::{PinError, PinTarget, Pins, TokenCount, threshold};
use serde::Serialize;
use serde_json::json;
use session_model::{Diagnostic, EntryDraft, EntryId};

use crate::commands::{Destination, Opened, Outcome};
use crate::error::Error;
use crate::options::{Global, OutputArgs, SessionArgs, WindowArgs};
use crate::ui::{BOLD, clean, counted, first_line, styled, tokens};
use session_store::SessionFile;

/// Keep a text or an entry word for word through every compaction; list and remove such pins.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("what").required(true).args(["entry", "text", "list", "remove"])),
    override_usage = "agent-cli pin [OPTIONS] <SESSION> <ENTRY-ID | --text TEXT | --list | --remove ENTRY-ID>"
)]
pub struct PinArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The entry to pin: a message, a tool result or a summary. `agent-cli tree` lists the ids.
    #[arg(value_name = "ENTRY-ID")]
    pub entry: Option<String>,
    /// Pin a text of its own.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// List the pins, with their tokens and how much of the budget is used.
    #[arg(long, conflicts_with = "output")]
    pub list: bool,
    /// Unpin this entry, or the text that it holds.
    #[arg(long, value_name = "ENTRY-ID")]
    pub remove: Option<String>,
    /// The window, of which the budget is a share.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// As much of a pin as people are shown of it, in characters.
const SHOWN: usize = 60;

/// What is to be done.
enum Deed {
    List,
    Add(PinTarget),
    Remove(EntryId),
}

/// What adding or removing a pin comes to.
struct Change {
    /// The entry to append.
    draft: EntryDraft,
    /// The pinned entry; none for a text that has no entry yet.
    entry_id: Option<EntryId>,
    /// The text.
    text: String,
    tokens: TokenCount,
    /// Tokens of all pins afterwards.
    used: TokenCount,
    verb: Verb,
}

/// How a change is called.
struct Verb {
    /// The name of its member.
    member: &'static str,
    done: &'static str,
    would: &'static str,
}

const PINNED: Verb = Verb {
    member: "pinned",
    done: "pinned",
    would: "would be pinned",
};

const UNPINNED: Verb = Verb {
    member: "unpinned",
    done: "unpinned",
    would: "would be unpinned",
};

pub(super) fn run(args: &PinArgs, global: &Global) -> Result<Outcome, Error> {
    let deed = match (&args.entry, &args.text, &args.remove) {
        (Some(id), _, _) => Deed::Add(PinTarget::Entry(EntryId::new(id))),
        (None, Some(text), _) => Deed::Add(PinTarget::Text(text.clone())),
        (None, None, Some(id)) => Deed::Remove(EntryId::new(id)),
        (None, None, None) => Deed::List,
    };
    let destination = match deed {
        Deed::List => Destination::DryRun,
        Deed::Add(_) | Deed::Remove(_) => args.output.destination("pin")?,
    };
    let window = args.window.tokens();
    let settings = global.load_settings()?.compaction;
    let mut opened = Opened::open(&args.session.session, &destination)?;
    let profile = global.profile();
    let tree = opened.session().tree();
    let path = tree.path(args.session.leaf(tree)?);
    let threshold = threshold(window, &settings, &profile.rules());
    let budget = settings.pins.budget(window, threshold.as_ref());
    let pins = Pins::of(&path, budget, profile.counter());
    // A leaf that is given decides which pins hold; it does not move the session.
    let leaf = tree.path(tree.leaf()).leaf_id().map(EntryId::new);
    let change = match deed {
        Deed::List => return Ok(list(&pins, opened.session())),
        Deed::Add(target) => {
            let added = pins.add(&path, &target, profile.counter());
            added.map(|new| Change {
                used: pins.used() + new.tokens,
                entry_id: match target {
                    PinTarget::Entry(id) => Some(id),
                    PinTarget::Text(_) => None,
                },
                draft: new.draft,
                text: new.text,
                tokens: new.tokens,
                verb: PINNED,
            })
        }
        Deed::Remove(id) => pins.remove(&path, &id).map(|(draft, freed)| Change {
            used: pins.used().saturating_sub(freed),
            text: text_of(&pins, &id),
            entry_id: Some(id),
            draft,
            tokens: freed,
            verb: UNPINNED,
        }),
    };
    let change = match change {
        Ok(change) => change,
        Err(error @ (PinError::Twice(_) | PinError::NotPinned(_))) => {
            let document = json!(Listed::of(&pins, opened.session()));
            return Ok(Outcome::nothing_to_do(error.to_string(), document));
        }
        Err(error @ PinError::Unknown(_)) => {
            return Err(Error::Usage(format!(
                "{error}; agent-cli tree lists the ids"
            )));
        }
        Err(error) => return Err(Error::Usage(error.to_string())),
    };
    let ids = opened.commit(
        &destination,
        std::slice::from_ref(&change.draft),
        leaf.as_ref(),
    )?;
    Ok(changed(change, ids.first(), &pins, opened.session()))
}

fn changed(
    change: Change,
    written: Option<&EntryId>,
    pins: &Pins,
    session: &SessionFile,
) -> Outcome {
    let Change { verb, text, .. } = change;
    let entry_id = change.entry_id.or_else(|| written.cloned());
    let mut document = json!({
        "entry_id": written,
        "tokens": change.tokens,
        "text": text,
        "used_tokens": change.used,
        "budget_tokens": pins.budget,
        "diagnostics": session.decoded.diagnostics,
    });
    document[verb.member] = json!(entry_id);
    let name = entry_id.map_or_else(|| "a text".to_owned(), |id| clean(&id));
    let said = if written.is_some() {
        verb.done
    } else {
        verb.would
    };
    let size = counted(change.tokens.0 as usize, "token");
    let headline = styled(BOLD, &format!("{said}: {name}   {size}"));
    let shown = first_line(&text, SHOWN);
    let text = format!(
        "{headline}\n   text         {shown}\n{}",
        budget_line(change.used, pins)
    );
    Outcome::done(&document, text)
}

/// The pins of a session.
#[derive(Serialize)]
struct Listed<'a> {
    pins: Vec<Row<'a>>,
    used_tokens: TokenCount,
    budget_tokens: TokenCount,
    diagnostics: &'a [Diagnostic],
}

#[derive(Serialize)]
struct Row<'a> {
    entry_id: &'a EntryId,
    tokens: TokenCount,
    text: &'a str,
}

impl<'a> Listed<'a> {
    fn of(pins: &'a Pins, session: &'a SessionFile) -> Self {
        let rows = pins.pins.iter().map(|(pin, tokens)| Row {
            entry_id: &pin.entry_id,
            tokens: *tokens,
            text: &pin.text,
        });
        Self {
            pins: rows.collect(),
            used_tokens: pins.used(),
            budget_tokens: pins.budget,
            diagnostics: &session.decoded.diagnostics,
        }
    }
}

fn list(pins: &Pins, session: &SessionFile) -> Outcome {
    let headline = counted(pins.pins.len(), "pin");
    let mut text = format!("{}\n", styled(BOLD, &headline));
    let kept = pins.kept();
    for ((pin, size), kept) in pins.pins.iter().zip(&kept) {
        let mark = match kept {
            true => "",
            false => "not kept: ",
        };
        text.push_str(&format!(
            "   {:<12} {:>6}  {mark}{}\n",
            clean(&pin.entry_id),
            tokens(*size),
            first_line(&pin.text, SHOWN)
        ));
    }
    text.push_str(&budget_line(pins.used(), pins));
    Outcome::done(&Listed::of(pins, session), text)
}

fn budget_line(used: TokenCount, pins: &Pins) -> String {
    let over = match pins.kept().contains(&false) {
        true => "; what has no room is not kept: unpin some, or raise compaction.pins.maxTokens",
        false => "",
    };
    format!(
        "   budget       {} of {} tokens used{over}\n",
        tokens(used),
        tokens(pins.budget)
    )
}

fn text_of(pins: &Pins, id: &EntryId) -> String {
    let mut pins = pins.pins.iter();
    let found = pins.find(|(pin, _)| pin.entry_id == *id);
    found.map(|(pin, _)| pin.text.clone()).unwrap_or_default()
}
