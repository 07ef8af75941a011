//! The hooks that settings name: programs, each checked before it is ever run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hooks::{Cleaner, CommandHook, HookCommand, HookSet, Matcher};
use llm_providers::Redactor;

use crate::error::SettingsError;
use crate::{AppSettings, CommandSetting, HookSetting, KeyPath};
use session_model::text::clean;
use session_protocol::keys::{Signed, clean_json};

/// The environment of all hooks, in addition to their own settings.
#[derive(Debug, Clone, Default)]
pub struct HookEnvironment {
    /// The user's home, from which folders are named.
    pub home: Option<PathBuf>,
    /// The environment variables that hold keys.
    pub secret_variables: Vec<String>,
    /// Removes keys from the documents that hooks read.
    pub redactor: Arc<Redactor>,
}

/// Returns the hooks of the settings that are not switched off, in the order of their names.
///
/// # Errors
/// [`SettingsError::Invalid`] with the key of what cannot be used.
pub fn command_hooks(
    settings: &AppSettings,
    environment: &HookEnvironment,
) -> Result<Vec<CommandHook>, SettingsError> {
    let hooks = settings.hooks.iter();
    let enabled = hooks.filter(|(_, setting)| is_enabled(setting));
    enabled
        .map(|(name, setting)| command_hook(name, setting, environment))
        .collect()
}

/// Returns the hooks in the form that a session runs.
pub fn hook_set(hooks: Vec<CommandHook>) -> HookSet {
    let mut set = HookSet::default();
    for hook in hooks {
        set.register(hook);
    }
    set
}

/// Returns true if a hook is used.
pub fn is_enabled(setting: &HookSetting) -> bool {
    setting.enabled.unwrap_or(true)
}

/// Returns the hook of a setting.
///
/// # Errors
/// [`SettingsError::Invalid`] with the key of what cannot be used.
pub fn command_hook(
    name: &str,
    setting: &HookSetting,
    environment: &HookEnvironment,
) -> Result<CommandHook, SettingsError> {
    let key = KeyPath::of_names(["hooks", name]);
    let wrong = |message: String| SettingsError::Invalid(clean(&format!("{key}: {message}")));
    let command = match &setting.command {
        Some(CommandSetting::Line(line)) => HookCommand::Shell(line.clone()),
        Some(CommandSetting::Words(words)) => HookCommand::Program(words.clone()),
        None => {
            return Err(wrong(
                "has no command; set command to a line for the shell, or to a program and its arguments"
                    .to_owned(),
            ));
        }
    };
    let matcher = match setting.matches.as_deref().map(Matcher::new).transpose() {
        Ok(matcher) => matcher,
        Err(error) => {
            let pattern = setting.matches.as_deref().unwrap_or_default();
            let why = last_line(&error.to_string());
            return Err(wrong(format!("matches is not a pattern: {pattern}: {why}")));
        }
    };
    let folder = match &setting.folder {
        Some(folder) => Some(folder_of(folder, environment.home.as_deref()).map_err(wrong)?),
        None => None,
    };
    let redactor = environment.redactor.clone();
    let mut hook = CommandHook::new(name, setting.points.clone().unwrap_or_default(), command);
    if let Some(seconds) = setting.timeout_seconds {
        hook.timeout = Duration::from_secs(seconds.get());
    }
    hook.on_failure = setting.on_failure.unwrap_or_default();
    hook.matcher = matcher;
    hook.folder = folder;
    hook.secret_variables = environment.secret_variables.clone();
    hook.cleaner = Some(Cleaner::new(move |document| {
        clean_json(
            document,
            &|text| redactor.clean_answer(text),
            Signed::Cleaned,
        )
    }));
    hook.check().map_err(|error| wrong(error.to_string()))?;
    Ok(hook)
}

/// Returns the folder that is meant; one that is relative, or begins with `~`, is in the user's home.
fn folder_of(folder: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    if folder.trim().is_empty() {
        return Err("folder is empty; name one, or leave it out for all sessions".to_owned());
    }
    let path = Path::new(folder);
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    // Another user's home is not known.
    let below = match folder.strip_prefix('~') {
        Some("") => Path::new(""),
        Some(rest) => match rest.strip_prefix(std::path::is_separator) {
            Some(rest) => Path::new(rest),
            None => {
                return Err(format!(
                    "folder is {folder}; name it from the root, or with ~/"
                ));
            }
        },
        None => path,
    };
    match home {
        Some(home) => Ok(home.join(below)),
        None => Err(format!(
            "folder is {folder}, and there is no home directory; name it from the root"
        )),
    }
}

/// Returns the last line of a longer message, which contains the error.
fn last_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hooks::{HookCommand, HookPoint, OnFailure, TIMEOUT};
    use insta::assert_snapshot;
    use serde_json::{Value, json};

    use super::*;

    fn settings(hooks: &Value) -> AppSettings {
        serde_json::from_value(json!({ "hooks": hooks })).unwrap()
    }

    fn environment() -> HookEnvironment {
        HookEnvironment {
            home: Some(PathBuf::from("/home/me")),
            secret_variables: vec!["LAB_ACCESS".to_owned()],
            redactor: Arc::default(),
        }
    }

    fn refused(hook: &Value) -> String {
        let settings = settings(&json!({ "guard": hook }));
        command_hooks(&settings, &environment())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn hooks_are_made_in_the_order_of_their_names() {
        let hooks = json!({
            "b": { "points": ["turn_end"], "command": "true" },
            "a": {
                "points": ["tool_call", "tool_result"], "command": ["guard", "-v"], "matches": "bash|write",
                "timeoutSeconds": 5, "folder": "~/work", "onFailure": "block",
            },
            "off": { "enabled": false },
        });
        let hooks = command_hooks(&settings(&hooks), &environment()).unwrap();
        let [a, b] = hooks.as_slice() else {
            panic!("{hooks:?}");
        };
        assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
        assert_eq!(a.points, [HookPoint::ToolCall, HookPoint::ToolResult]);
        let words = ["guard", "-v"].map(str::to_owned).to_vec();
        assert_eq!(a.command, HookCommand::Program(words));
        assert_eq!(b.command, HookCommand::Shell("true".to_owned()));
        assert_eq!(a.timeout, Duration::from_secs(5));
        assert_eq!(b.timeout, TIMEOUT);
        assert_eq!(a.folder.as_deref(), Some(Path::new("/home/me/work")));
        assert_eq!(a.secret_variables, ["LAB_ACCESS"]);
        let matcher = a.matcher.as_ref().unwrap();
        assert!(matcher.matches("write") && !matcher.matches("rewrite"));
        assert_eq!(a.on_failure, OnFailure::Block);
        assert_eq!(b.on_failure, OnFailure::Continue);
    }

    #[test]
    fn what_cannot_be_used_is_named_by_its_key() {
        let at = json!(["tool_call"]);
        assert_snapshot!(refused(&json!({ "points": at })), @"hooks.guard: has no command; set command to a line for the shell, or to a program and its arguments");
        assert_snapshot!(refused(&json!({ "points": at, "command": " " })), @"hooks.guard: command is empty; name a program");
        assert_snapshot!(refused(&json!({ "points": at, "command": [] })), @"hooks.guard: command is empty; name a program");
        assert_snapshot!(refused(&json!({ "command": "true" })), @"hooks.guard: points is empty; choose from session_start, session_shutdown, before_prompt, tool_call, tool_result, turn_end, session_before_compact, session.compacting, session_compact, session_compact_failed, session_before_tree, session_tree");
        assert_snapshot!(refused(&json!({ "points": [], "command": "true" })), @"hooks.guard: points is empty; choose from session_start, session_shutdown, before_prompt, tool_call, tool_result, turn_end, session_before_compact, session.compacting, session_compact, session_compact_failed, session_before_tree, session_tree");
        assert_snapshot!(refused(&json!({ "points": at, "command": "true", "matches": "(" })), @"hooks.guard: matches is not a pattern: (: unclosed group");
        assert_snapshot!(refused(&json!({ "points": ["session_start"], "command": "true", "matches": "x" })), @"hooks.guard: matches has nothing to match at session_start; name that point in a hook without matches");
        assert_snapshot!(refused(&json!({ "points": at, "command": "true", "folder": "" })), @"hooks.guard: folder is empty; name one, or leave it out for all sessions");
        assert_snapshot!(refused(&json!({ "points": at, "command": "true", "folder": "~you/x" })), @"hooks.guard: folder is ~you/x; name it from the root, or with ~/");
        let dotted = settings(&json!({ "a.b\u{1b}": {} }));
        assert_snapshot!(command_hooks(&dotted, &environment()).unwrap_err(), @r#"hooks."a.b ": has no command; set command to a line for the shell, or to a program and its arguments"#);
    }

    #[test]
    fn folders_are_named_from_the_root_or_from_home() {
        for (folder, home, found) in [
            ("/srv/x", None, Some("/srv/x")),
            ("~", Some("/home/me"), Some("/home/me")),
            ("~/x", Some("/home/me"), Some("/home/me/x")),
            ("x/y", Some("/home/me"), Some("/home/me/x/y")),
            ("x", None, None),
        ] {
            let given = folder_of(folder, home.map(Path::new)).ok();
            assert_eq!(given.as_deref(), found.map(Path::new), "{folder}");
        }
    }
}
