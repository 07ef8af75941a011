//! The event that hooks are tried with: of a session that is there, or of a made-up one.

use std::path::{Path, PathBuf};

use compaction_core::{
    BranchOptions, PlanOptions, Profile, SummarizerLimits, Trigger, plan_branch_summary,
    plan_for_context,
};
use hooks::{
    BeforeCompactEvent, BeforeTreeEvent, CompactingEvent, HookContext, HookEvent, HookPoint,
    Notification, SampleSession,
};
use session_model::{AgentMessage, EntryBody, EntryKind, Leaf, SessionPath, build_context};

use crate::error::Error;
use crate::files::open_session;
use crate::models::DEFAULT_WINDOW;
use agent_settings::AppSettings;

/// Gives `with` the event of a point and the session that it is of.
pub(super) fn with_event<T>(
    point: HookPoint,
    session: Option<&Path>,
    settings: &AppSettings,
    with: impl FnOnce(&HookEvent<'_>, HookContext) -> Result<T, Error>,
) -> Result<T, Error> {
    let cwd = std::env::current_dir().map_err(|error| Error::io("open", ".", error))?;
    let Some(file) = session else {
        return with_sample(point, cwd, None, with);
    };
    let session = open_session(file)?;
    let tree = session.tree();
    let header = tree.header();
    let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let context = HookContext {
        session_id: header
            .map(|header| header.id.to_string())
            .unwrap_or_default(),
        session_path: (file != Path::new("-")).then_some(path),
        cwd,
        ..HookContext::default()
    };
    let way = tree.path(tree.leaf());
    match point {
        HookPoint::SessionBeforeCompact => {
            let history = build_context(&way, Profile::Own.context_rules());
            let options = PlanOptions::new(settings.core(), DEFAULT_WINDOW);
            let trigger = Trigger::Manual { focus: None };
            let plan = plan_for_context(&way, &history, &trigger, &options).map_err(|nothing| {
                Error::NothingToDo(format!(
                    "{nothing}; try --set compaction.keepRecentTokens=1000, or leave out --session"
                ))
            })?;
            let event = BeforeCompactEvent {
                plan: &plan,
                path: &way,
                custom_instructions: None,
                reason: "manual",
                will_retry: false,
            };
            with(&HookEvent::BeforeCompact(event), context)
        }
        HookPoint::SessionCompacting => {
            let history = build_context(&way, Profile::Own.context_rules());
            let messages: Vec<&AgentMessage> =
                history.messages().map(|(_, message)| &**message).collect();
            let event = CompactingEvent {
                strategy: settings.compaction.rules.strategy.first().name(),
                messages: &messages,
            };
            with(&HookEvent::Compacting(event), context)
        }
        HookPoint::SessionBeforeTree => {
            let target = before_newest_request(&way)?;
            let options = BranchOptions {
                budget: DEFAULT_WINDOW,
                profile: Profile::Own,
                settings: settings.compaction.rules.clone(),
                summarizer: SummarizerLimits {
                    window: DEFAULT_WINDOW,
                    max_output: None,
                },
                instructions: None,
            };
            let plan = plan_branch_summary(tree, tree.leaf(), target, &options);
            let plan = plan.map_err(|error| Error::session(file, error.to_string()))?;
            let event = BeforeTreeEvent {
                tree,
                plan: &plan,
                old_leaf: tree.leaf(),
                target,
                user_wants_summary: true,
            };
            with(&HookEvent::BeforeTree(event), context)
        }
        HookPoint::SessionCompact => match newest_compaction(&way) {
            Some(notification) => with(&HookEvent::Notification(&notification), context),
            None => Err(Error::NothingToDo(
                "the session holds no compaction; leave out --session for a made-up one".to_owned(),
            )),
        },
        // These say nothing of what a session holds.
        HookPoint::SessionStart
        | HookPoint::SessionShutdown
        | HookPoint::BeforePrompt
        | HookPoint::ToolCall
        | HookPoint::ToolResult
        | HookPoint::TurnEnd
        | HookPoint::SessionCompactFailed
        | HookPoint::SessionTree => {
            let cwd = context.cwd.clone();
            with_sample(point, cwd, Some(context), with)
        }
    }
}

fn with_sample<T>(
    point: HookPoint,
    cwd: PathBuf,
    context: Option<HookContext>,
    with: impl FnOnce(&HookEvent<'_>, HookContext) -> Result<T, Error>,
) -> Result<T, Error> {
    let session = SampleSession::default();
    let samples = session.samples();
    let samples = samples.map_err(|error| Error::Failure(error.to_string()))?;
    match samples.event(point) {
        Some(event) => with(&event, context.unwrap_or_else(|| session.context(cwd))),
        None => Err(Error::Failure(format!("there is no example of {point}"))),
    }
}

/// Returns the place to go back to: the newest message of the user.
fn before_newest_request(way: &SessionPath<'_>) -> Result<Leaf, Error> {
    let tree = way.tree();
    let mut entries = way.entries().iter().rev();
    let found = entries.find(|index| {
        tree.kind(**index) == EntryKind::Message
            && tree.entry(**index).is_ok_and(|entry| match &entry.body {
                EntryBody::Message(message) => {
                    matches!(&**message, AgentMessage::User(user) if !user.words().is_empty())
                }
                _ => false,
            })
    });
    match found {
        Some(index) => Ok(Leaf::At(*index)),
        None => Err(Error::NothingToDo(
            "the session holds no message of the user; leave out --session".to_owned(),
        )),
    }
}

fn newest_compaction(way: &SessionPath<'_>) -> Option<Notification> {
    let tree = way.tree();
    let (_, index) = way.newest(EntryKind::Compaction)?;
    let EntryBody::Compaction(compaction) = tree.entry(index).ok()?.body else {
        return None;
    };
    Some(Notification::SessionCompact {
        entry: serde_json::from_slice(&tree.raw_line(index).ok()?).ok()?,
        from_extension: compaction.from_extension,
        reason: "manual",
        summary: compaction.summary,
        trigger: "manual",
    })
}
