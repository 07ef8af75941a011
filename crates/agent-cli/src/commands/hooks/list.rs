//! `hooks list`: which hooks there are, and where each is set.

use std::num::NonZeroU64;

use hooks::OnFailure;
use serde::Serialize;
use serde_json::json;

use super::environment;
use crate::commands::Outcome;
use crate::error::Error;
use crate::options::Global;
use crate::ui::{BAD, BOLD, DIM, clean, styled};
use agent_settings::hooks::{HookEnvironment, command_hook, is_enabled};
use agent_settings::{CommandSetting, HookSetting, KeyPath, Loaded, Origin};

/// A hook of the settings.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    enabled: bool,
    points: Vec<&'static str>,
    command: Option<&'a CommandSetting>,
    matches: Option<&'a str>,
    timeout_seconds: u64,
    on_failure: OnFailure,
    folder: Option<&'a str>,
    origin: &'a Origin,
    /// Why it cannot be used.
    problem: Option<String>,
}

pub(in crate::commands) fn run(global: &Global) -> Result<Outcome, Error> {
    let rows = rows(global)?;
    Ok(Outcome::done(&json!({ "hooks": rows }), text_of(&rows)))
}

fn rows(global: &Global) -> Result<Vec<Row<'_>>, Error> {
    let loaded = global.load_layers()?;
    let environment = environment(&loaded.settings, global)?;
    let hooks = loaded.settings.hooks.iter();
    let rows = hooks.map(|(name, setting)| row(name, setting, loaded, &environment));
    Ok(rows.collect())
}

fn text_of(rows: &[Row<'_>]) -> String {
    match rows.is_empty() {
        true => "no hooks are set; agent-cli config explain hooks says what there is to set\n"
            .to_owned(),
        false => rows.iter().map(Row::text).collect(),
    }
}

fn row<'a>(
    name: &'a str,
    setting: &'a HookSetting,
    loaded: &'a Loaded,
    environment: &HookEnvironment,
) -> Row<'a> {
    let hook = command_hook(name, setting, environment);
    let timeout = setting.timeout_seconds.map(NonZeroU64::get);
    let own = KeyPath::of_names(["hooks", name]);
    let of_command = loaded.origin(&KeyPath::of_names(["hooks", name, "command"]).to_string());
    // One without a command is somewhere all the same.
    let somewhere = loaded.origins.iter();
    let mut somewhere =
        somewhere.filter(|(key, _)| KeyPath::parse(key).is_some_and(|key| key.is_within(&own)));
    let origin = match *of_command == Origin::DEFAULT {
        true => somewhere.next().map_or(of_command, |(_, origin)| origin),
        false => of_command,
    };
    let points = setting.points.iter().flatten();
    let enabled = is_enabled(setting);
    Row {
        name,
        enabled,
        points: points.map(|point| point.name()).collect(),
        command: setting.command.as_ref(),
        matches: setting.matches.as_deref(),
        timeout_seconds: timeout.unwrap_or(hooks::TIMEOUT.as_secs()),
        on_failure: setting.on_failure.unwrap_or_default(),
        folder: setting.folder.as_deref(),
        origin,
        problem: hook
            .err()
            .filter(|_| enabled)
            .map(|error| error.to_string()),
    }
}

impl Row<'_> {
    fn text(&self) -> String {
        let off = match self.enabled {
            true => String::new(),
            false => styled(DIM, "  off"),
        };
        let mut text = format!("{}{off}\n", styled(BOLD, &clean(self.name)));
        let mut line = |label: &str, value: &str| {
            let label = styled(DIM, &format!("{label:8}"));
            text.push_str(&format!("  {label} {value}\n"));
        };
        if let Some(problem) = &self.problem {
            line("problem", &styled(BAD, problem));
        }
        if !self.points.is_empty() {
            line("points", &self.points.join(", "));
        }
        if let Some(command) = self.command {
            line("command", &clean(&command_text(command)));
        }
        if let Some(pattern) = self.matches {
            line("matches", &clean(pattern));
        }
        line("timeout", &format!("{} s", self.timeout_seconds));
        if self.on_failure == OnFailure::Block {
            line("failure", "blocks");
        }
        if let Some(folder) = self.folder {
            line("folder", &clean(folder));
        }
        line("set in", &clean(&self.origin.to_string()));
        text
    }
}

fn command_text(command: &CommandSetting) -> String {
    match command {
        CommandSetting::Line(line) => line.clone(),
        // As JSON, so that it is seen where one word ends.
        CommandSetting::Words(words) => json!(words).to_string(),
    }
}
