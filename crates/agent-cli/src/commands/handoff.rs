//! `handoff`: a document for a new session to continue from, and that session.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use compaction_core::{
    HANDOFF_MESSAGE, HandoffOptions, HandoffPlan, Profile, SummarizerLimits, TokenCount,
    WindowTooSmall, carry_pins, measure, plan_handoff,
};
use llm_providers::Request;
use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    Content, CustomMessageDraft, EntryDraft, Leaf, SessionContext, SessionPath, build_context,
    decode_bytes,
};

use crate::commands::{Outcome, all_diagnostics};
use crate::error::Error;
use crate::files::{open_session, write_new};
use crate::models::{ModelArgs, Models, Wanted, block_on, no_summary};
use crate::options::{Global, SessionArgs, WindowArgs};
use crate::read_report::refuse_failed_reads;
use crate::ui;
use crate::ui::shell_name;
use crate::ui::writing::{Writing, account, author};
use session_store::{Contents, check_new, new_header};
use std::path::PathBuf;
use summarize::{
    Candidate, HandoffJob, ModelReport, SummaryStep, bill_in_details, handoff, seconds_in_details,
};

/// Write a document for a new session to continue from, and begin that session with it.
#[derive(Debug, Args)]
pub struct HandoffArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// What the document should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    #[command(flatten)]
    pub window: WindowArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Write the new session to this file.
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// Show the document; write nothing.
    #[arg(long, conflicts_with = "out")]
    pub dry_run: bool,
}

const NOTHING_SAID: &str = "nothing was said in this session";

pub(super) fn run(args: &HandoffArgs, global: &Global) -> Result<Outcome, Error> {
    let settings = global.load_settings()?.compaction;
    let models = Models::of(
        &args.model,
        args.window.given(),
        global.app_settings()?,
        Wanted::Yes,
    )?;
    if let Some(place) = &args.out {
        check_new(place)?;
    }
    let session = open_session(&args.session.session)?;
    let path = session.tree().path(args.session.leaf(session.tree())?);
    let context = build_context(&path, global.profile().context_rules());
    let options = |limits| HandoffOptions {
        settings: settings.clone(),
        summarizer: limits,
        focus: args.focus.clone(),
    };
    let plan_for = |limits: SummarizerLimits| plan_handoff(&path, &context, &options(limits));
    let window = global
        .window(models.window, context.model.as_ref(), session.tree())?
        .tokens;
    let own = SummarizerLimits {
        window,
        max_output: None,
    };
    let mut out = json!({ "diagnostics": all_diagnostics(&session.decoded.diagnostics, &context) });
    let plan = plan_for(own).map_err(|error| Error::Usage(error.to_string()))?;
    let Some(plan) = plan else {
        let nothing = Outcome::nothing_to_do(NOTHING_SAID.to_owned(), out);
        return Ok(nothing.of(session.report()));
    };
    let started = Instant::now();
    let (document, report) = document(&models, (&path, &context), window, &plan_for)?;
    refuse_failed_reads(session.tree(), &session.path)?;
    let tokens = global.profile().counter().text(&document);
    let written = match &args.out {
        None => None,
        Some(place) => {
            crate::cancel::check()?;
            let details = json!({
                "parentSession": session.tree().header().map(|header| header.id.clone()),
                "parentLeaf": path.leaf_id(),
                "summarizer": report.answered_by.as_deref().unwrap_or("extractive"),
                "ledger": plan.ledger.details(),
            });
            let mut draft = EntryDraft::CustomMessage(CustomMessageDraft {
                custom_type: HANDOFF_MESSAGE.to_owned(),
                content: Content::Text(document.clone()),
                display: true,
                details: RawJson::of(&details).ok(),
            });
            bill_in_details(&mut draft, &report);
            seconds_in_details(&mut draft, started.elapsed().as_secs_f64());
            let header = session.tree().header();
            let parent = parent_of(&session.path);
            let cwd = header.map(|header| header.cwd.clone());
            let (header, id) = new_header(cwd.unwrap_or_default(), parent);
            // Nothing is there yet, so every pin goes along as a text.
            let new = decode_bytes(format!("{header}\n").into_bytes());
            let pins = carry_pins(&path, &new.tree.path(Leaf::Root));
            let model = context.model.clone().map(EntryDraft::ModelChange);
            let drafts = model.into_iter().chain([draft]).chain(pins);
            let drafts: Vec<EntryDraft> = drafts.collect();
            let (mut lines, _) = session.stamp(&drafts, None);
            lines.insert(0, header);
            let filter = global.output_filter();
            let lines: Vec<String> = lines.into_iter().map(|line| filter.line(line)).collect();
            write_new(place, Contents::Empty, true, &lines)?;
            out["session_id"] = json!(id);
            Some(place)
        }
    };
    out["document"] = json!(document);
    out["document_tokens"] = json!(tokens);
    out["written_to"] = json!(written.map(|place| place.display().to_string()));
    out["model"] = json!(report.of_models());
    let mut text = format!(
        "{}\n\n{}\n\n",
        ui::styled(
            ui::BOLD,
            &ui::rule(&format!("handoff  {}", author(&report)), ui::width())
        ),
        ui::clean_lines(&document)
    );
    if let Some(account) = account(&report) {
        text.push_str(&format!("   {account}\n"));
    }
    if let Some(place) = written {
        let place = shell_name(place);
        text.push_str(&format!(
            "   written to {place}; the old session is as it was\n"
        ));
    }
    Ok(Outcome::done(&out, text).of(session.report()))
}

/// Returns how the new session names the old one: by its whole path, unless it came from standard input.
fn parent_of(path: &Path) -> Option<String> {
    let whole = std::path::absolute(path).ok()?;
    (path != Path::new("-")).then(|| whole.display().to_string())
}

/// Returns the document and the account of who wrote it.
fn document(
    models: &Models,
    (path, context): (&SessionPath<'_>, &SessionContext),
    window: TokenCount,
    plan_for: &(dyn Fn(SummarizerLimits) -> Result<Option<HandoffPlan>, WindowTooSmall> + Sync),
) -> Result<(String, ModelReport), Error> {
    let plan_for = |limits| match plan_for(limits) {
        Ok(Some(plan)) => Ok(plan),
        Ok(None) => Err(NOTHING_SAID.to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let request_for =
        |candidate: &Candidate| Request::for_context(path, context, &*candidate.provider, true).0;
    let job = HandoffJob {
        tokens: measure(path, context, Profile::Own).tokens,
        window,
        plan_for: &plan_for,
        request_for: &request_for,
        cap: window.scaled(1, 4).min(TokenCount(8192)),
    };
    let mut writing = Writing::default();
    let mut watch = |step: SummaryStep<'_>| writing.step(&step);
    let mut run = models.run(path, &mut watch);
    match block_on(handoff(&job, &models.in_order(None), &mut run))? {
        Ok(document) => Ok((document, models.account(run.report))),
        Err(error) => Err(no_summary("Handoff", error, models.account(run.report))),
    }
}
