//! `pin`: keeps a text or an entry verbatim through every compaction; lists and removes pins.

use clap::{ArgGroup, Args};
use compaction_core::{PinError, PinTarget, Pins, TokenCount, threshold};
use serde_json::{Value, json};
use session_model::{Diagnostic, EntryId, build_context};

use crate::commands::output::draft_documents;
use crate::commands::{Destination, Opened, Outcome};
use crate::error::Error;
use crate::options::{Global, OutputArgs, SessionArgs, WindowArgs};
use crate::ui::{clean, counted, first_line, heading, tokens};

/// Keep a text or an entry verbatim through every compaction; list and remove such pins.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("what").required(true).args(["entry", "text", "list", "remove"])),
    override_usage = "agent-cli pin [OPTIONS] <SESSION> <ENTRY-ID | --text TEXT | --list | --remove ENTRY-ID>"
)]
pub struct PinArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// The entry to pin: a message, a tool result or a summary. `agent-cli tree` lists the ids.
    #[arg(value_name = "ENTRY-ID")]
    pub entry: Option<String>,
    /// Pin a text of its own.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub text: Option<String>,
    /// The text is a model's.
    #[arg(long, hide = true, requires = "text")]
    pub by_model: bool,
    /// List the pins, with their tokens and how much of the budget is used.
    #[arg(long, conflicts_with = "output")]
    pub list: bool,
    /// Unpin this entry, or the text that it holds.
    #[arg(long, value_name = "ENTRY-ID")]
    pub remove: Option<String>,
    /// The window, of which the budget is a share.
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// As much of a pin as people are shown of it, in characters.
const SHOWN: usize = 60;

/// What is to be done.
enum PinRequest {
    List,
    Add(PinTarget),
    Remove(EntryId),
}

pub(super) fn run(args: &PinArgs, global: &Global) -> Result<Outcome, Error> {
    let request = match (&args.entry, &args.text, &args.remove) {
        (Some(id), _, _) => PinRequest::Add(PinTarget::Entry(EntryId::new(id))),
        (None, Some(text), _) => PinRequest::Add(match args.by_model {
            true => PinTarget::TextOfModel(text.clone()),
            false => PinTarget::Text(text.clone()),
        }),
        (None, None, Some(id)) => PinRequest::Remove(EntryId::new(id)),
        (None, None, None) => PinRequest::List,
    };
    let destination = match request {
        PinRequest::List => Destination::DryRun,
        PinRequest::Add(_) | PinRequest::Remove(_) => args.output.destination("pin")?,
    };
    let settings = global.load_settings()?.compaction;
    let mut opened = Opened::open(&args.session.session, &destination)?;
    let profile = global.profile();
    let tree = opened.tree();
    let path = tree.path(args.session.leaf(tree)?);
    let context = build_context(&path, profile.context_rules());
    let window = global
        .window(args.window.given(), context.model.as_ref(), tree)?
        .tokens;
    let threshold = threshold(window, &settings, &profile.rules());
    let budget = settings.pins.budget(window, threshold.as_ref());
    let pins = Pins::of(&path, budget, profile.counter());
    // A leaf that is given decides which pins hold; it does not move the session.
    let leaf = tree.path(tree.leaf()).leaf_id().map(EntryId::new);
    let changed = match request {
        PinRequest::List => return Ok(list(&pins, opened.diagnostics()).of(opened.report())),
        PinRequest::Add(target) => {
            let added = pins.add(&path, &target, profile.counter());
            added.map(|new| {
                let used = pins.used() + new.tokens;
                (
                    "pinned",
                    new.entry_id,
                    new.text,
                    new.tokens,
                    used,
                    new.draft,
                )
            })
        }
        PinRequest::Remove(id) => pins.remove(&path, &id).map(|((pin, freed), draft)| {
            let (id, text) = (Some(pin.entry_id.clone()), pin.text.clone());
            let used = pins.used().saturating_sub(*freed);
            ("unpinned", id, text, *freed, used, draft)
        }),
    };
    let (verb, entry_id, text, size, used, draft) = match changed {
        Ok(changed) => changed,
        Err(error @ (PinError::Twice(_) | PinError::NotPinned(_))) => {
            let document = document(&pins, opened.diagnostics());
            let nothing = Outcome::nothing_to_do(error.to_string(), document);
            return Ok(nothing.of(opened.report()));
        }
        Err(error @ PinError::Unknown(_)) => {
            let text = format!("{error}; agent-cli tree lists the ids");
            return Err(Error::Usage(text));
        }
        Err(error) => return Err(Error::Usage(error.to_string())),
    };
    let drafts = [draft];
    let ids = opened.commit(&destination, &drafts, leaf.as_ref(), global.output_filter())?;
    let written = ids.first();
    let entry_id = entry_id.or_else(|| written.cloned());
    let mut document = json!({
        "entry_id": written,
        "tokens": size,
        "text": text,
        "used_tokens": used,
        "budget_tokens": pins.budget,
        "diagnostics": opened.diagnostics(),
    });
    document[verb] = json!(entry_id);
    if written.is_none() {
        document["drafts"] = json!(draft_documents(&drafts));
    }
    let name = entry_id.map_or_else(|| "a text".to_owned(), |id| clean(&id));
    let would = if written.is_some() { "" } else { "would be " };
    let size = counted(size.0 as usize, "token");
    let headline = heading(&format!("{would}{verb}: {name}   {size}"));
    let shown = first_line(&text, SHOWN);
    let budget = budget_line(used, &pins);
    let text = format!("{headline}   text         {shown}\n{budget}");
    Ok(Outcome::done(&document, text).of(opened.report()))
}

fn document(pins: &Pins, diagnostics: &[Diagnostic]) -> Value {
    let rows = pins.pins.iter().map(
        |(pin, tokens)| json!({ "entry_id": pin.entry_id, "tokens": tokens, "text": pin.text }),
    );
    json!({
        "pins": rows.collect::<Vec<_>>(),
        "used_tokens": pins.used(),
        "budget_tokens": pins.budget,
        "diagnostics": diagnostics,
    })
}

fn list(pins: &Pins, diagnostics: &[Diagnostic]) -> Outcome {
    let mut text = heading(&counted(pins.pins.len(), "pin"));
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
    Outcome::done(&document(pins, diagnostics), text)
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
