//! The table of `docs/explanation/loss.md`: plain summaries of the example session, and ours with a ledger in as many tokens.

use compaction_core::{
    ContextLoss, LiteralKind, OurLoss, PlanOptions, Profile, Strategy, TokenCount, Trigger,
    VerifyMode, loss_of_ours, loss_report, plan_compaction,
};
use session_model::{EntryId, Stamp, Timestamp, decode_bytes};

use crate::run::{Outcome, example_session};

/// How large the plain summaries are at most, in tokens.
const SIZES: [u64; 3] = [1024, 2048, 4096];

/// Returns the table.
pub fn table() -> Outcome<String> {
    let mut table =
        "| summary | paths | errors | figures | names | commands | messages | rules |\n\
         |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for most in SIZES {
        let (plain, own, ours, taken) = compared(TokenCount(most))?;
        table.push_str(&row(&format!("plain, {plain} tokens"), &own));
        let ledger = taken.map_or("none".to_owned(), |(all, ledger)| {
            format!("with a ledger, {all} tokens, {ledger} of them ledger")
        });
        table.push_str(&row(&ledger, &ours));
    }
    Ok(table)
}

/// What a plain summary keeps, what ours keeps in its place, and the tokens of both.
type Compared = (
    TokenCount,
    ContextLoss,
    ContextLoss,
    Option<(TokenCount, TokenCount)>,
);

fn compared(most: TokenCount) -> Outcome<Compared> {
    let path = example_session();
    let mut bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = {
        let session = decode_bytes(bytes.clone());
        let path = session.tree.path(session.tree.leaf());
        let mut options = PlanOptions::for_window(TokenCount(200_000));
        let compaction = &mut options.settings.compaction;
        compaction.strategy = Strategy::Extractive.into();
        compaction.extractive_max_tokens = most;
        compaction.ledger.max_tokens = Some(TokenCount::ZERO);
        compaction.verify.mode = VerifyMode::Off;
        let plan = plan_compaction(&path, &Trigger::Manual { focus: None }, &options)
            .map_err(|nothing| nothing.to_string())?;
        let applied = plan.apply(&plan.answer_extractive());
        let applied = applied.map_err(|error| error.to_string())?;
        let draft = applied.drafts.last().ok_or("no compaction")?;
        draft.stamp(&Stamp {
            part_of: None,
            id: EntryId::new("plain001"),
            parent: path.leaf_id().map(EntryId::new),
            timestamp: Timestamp::from_millis(1_767_225_600_000),
        })
    };
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let session = decode_bytes(bytes);
    let path = session.tree.path(session.tree.leaf());
    let rules = Profile::Own.context_rules();
    let counter = Profile::Own.counter();
    let own = loss_report(&path, rules, counter, &mut || true).unwrap_or_default();
    let ours = loss_of_ours(&path, rules, &mut || true).ok_or("it was stopped")?;
    let own = own.compactions.into_iter().next().ok_or("no compaction")?;
    match ours.compactions.into_iter().next().ok_or("no compaction")? {
        OurLoss::Kept {
            ledger_tokens,
            loss,
        } => {
            let taken = Some((loss.summary_tokens, ledger_tokens));
            Ok((own.summary_tokens, own.loss, loss.loss, taken))
        }
        OurLoss::None { .. } => Ok((own.summary_tokens, own.loss, ContextLoss::default(), None)),
    }
}

fn row(name: &str, loss: &ContextLoss) -> String {
    let share = |left: usize, total: usize| match total {
        0 => "-".to_owned(),
        total => format!("{}%", left * 100 / total),
    };
    let mut row = format!("| {name} |");
    // The example names no addresses.
    let shown = LiteralKind::ALL.into_iter();
    for kind in shown.filter(|kind| *kind != LiteralKind::Url) {
        let found = loss.kinds.get(kind.name()).copied().unwrap_or_default();
        row.push_str(&format!(" {} |", share(found.in_context, found.total)));
    }
    for found in [loss.user_messages, loss.rules] {
        row.push_str(&format!(" {} |", share(found.verbatim, found.total)));
    }
    row.push('\n');
    row
}
