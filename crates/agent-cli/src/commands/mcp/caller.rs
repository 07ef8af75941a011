//! Which session a call comes from: what the client tells, before anything is guessed.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::RequestMetaObject;
use rmcp::service::RequestContext;
use serde_json::Value;
use session_finder::{Finder, Found, agent_of_client, glance, session_of_subagent};

use crate::cancel;
use crate::error::Error;

/// Where Codex names the session of a call.
const SESSIONS: [&str; 2] = ["threadId", "sessionId"];

/// Where Claude Code names a call as its transcript does, which has it a moment later.
const TOOL_USE: &str = "claudecode/toolUseId";
const PATIENCE: Duration = Duration::from_millis(1500);
const PAUSE: Duration = Duration::from_millis(25);

/// Where agents name the session that they began with; another one may have taken its place.
const SESSION_VARIABLES: [(&str, &str); 2] = [
    ("claude", "CLAUDE_CODE_SESSION_ID"),
    ("qwen", "QWEN_CODE_SESSION_ID"),
];

/// What is known of a call.
#[derive(Debug, Default)]
pub(super) struct Caller {
    /// The agent that the client is.
    agent: Option<&'static str>,
    session: Option<String>,
    tool_use: Option<String>,
}

/// A session, and how sure it is.
pub(super) enum Which {
    /// The client told it.
    Known(Found),
    /// The client told it; it is in no list.
    File(PathBuf),
    /// It may be another one.
    Guess(Found),
}

impl Caller {
    pub fn of(meta: Option<&RequestMetaObject>, context: &RequestContext<RoleServer>) -> Self {
        let meta = meta.unwrap_or(&context.meta);
        let info = context
            .peer
            .peer_info()
            .map(|info| info.client_info.clone());
        let client = meta.client_info().or(info);
        let text = |key: &str| meta.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            agent: client.and_then(|client| agent_of_client(&client.name)),
            session: SESSIONS.iter().find_map(|key| text(key)),
            tool_use: text(TOOL_USE),
        }
    }

    /// Returns the session of the call.
    pub fn session(&self, finder: &Finder, folder: &Path) -> Result<Which, Error> {
        let named = |id: &str| {
            let name = match self.agent {
                Some(agent) => format!("{agent}:{id}"),
                None => id.to_owned(),
            };
            finder.named(&name, folder)
        };
        if let Some(id) = &self.session {
            return Ok(Which::Known(named(id)?));
        }
        if let Some(call) = &self.tool_use
            && let Some(path) = of_call(finder, call)?
        {
            return Ok(Which::File(path));
        }
        let mut variables = SESSION_VARIABLES.iter();
        let variable = variables.find(|(agent, _)| self.agent == Some(agent));
        let began_with = variable.and_then(|(_, name)| std::env::var(name).ok());
        if let Some(found) = began_with.and_then(|id| named(&id).ok()) {
            return Ok(match self.agent {
                Some("claude") => Which::Known(found),
                _ => Which::Guess(found),
            });
        }
        if self.tool_use.is_some() {
            let text = "the transcript of this session is not on disk; name another one by session";
            return Err(Error::Usage(text.to_owned()));
        }
        let mut found = finder.list(self.agent, Some(folder))?;
        found.retain(|found| session_of_subagent(found.row.locator.as_path()).is_none());
        let is_here = |found: &Found| same_folder(Path::new(&found.row.cwd), folder);
        let here = found.iter().position(is_here).unwrap_or(0);
        let found = found.into_iter().nth(here);
        let of = self
            .agent
            .map_or(String::new(), |agent| format!(" of {agent}"));
        let none =
            format!("no session{of} was found for this project; name one by session, or set scope");
        found.map(Which::Guess).ok_or(Error::Usage(none))
    }
}

fn same_folder(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Returns the transcript with a call. A sub-agent that was not compacted has nothing to find again, and asks for the
/// session that it works for.
fn of_call(finder: &Finder, call: &str) -> Result<Option<PathBuf>, Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some((path, main)) = finder.claude_call(call) {
            let is_compacted = glance(&path).is_some_and(|glance| glance.compactions > 0);
            return Ok(Some(main.filter(|_| !is_compacted).unwrap_or(path)));
        }
        cancel::check()?;
        if Instant::now() >= until {
            return Ok(None);
        }
        sleep(PAUSE);
    }
}
