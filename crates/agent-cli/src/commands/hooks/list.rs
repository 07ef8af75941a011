//! `hooks list`: which hooks there are, and where each is set.

use std::num::NonZeroU64;

use hooks::OnFailure;
use serde_json::{Value, json};

use super::house;
use crate::commands::Outcome;
use crate::error::Error;
use crate::extensions::hooks::{HookHouse, command_hook, is_enabled};
use crate::options::Global;
use crate::settings::{CommandSetting, HookSetting, KeyPath, Loaded, Origin};
use crate::ui::{BAD, BOLD, DIM, clean, styled};

/// A hook of the settings.
struct Row<'a> {
    name: &'a str,
    setting: &'a HookSetting,
    origin: &'a Origin,
    timeout_seconds: u64,
    /// Why it cannot be used.
    problem: Option<String>,
}

pub(super) fn run(global: &Global) -> Result<Outcome, Error> {
    let loaded = global.load_layers()?;
    let house = house(&loaded.settings, global)?;
    let hooks = loaded.settings.hooks.iter();
    let rows: Vec<Row<'_>> = hooks
        .map(|(name, setting)| row(name, setting, loaded, &house))
        .collect();
    let document = json!({ "hooks": rows.iter().map(Row::json).collect::<Vec<_>>() });
    let text = match rows.is_empty() {
        true => "no hooks are set; agent-cli config explain hooks says what there is to set\n"
            .to_owned(),
        false => rows.iter().map(Row::text).collect(),
    };
    Ok(Outcome::done(&document, text))
}

fn row<'a>(
    name: &'a str,
    setting: &'a HookSetting,
    loaded: &'a Loaded,
    house: &HookHouse,
) -> Row<'a> {
    let hook = command_hook(name, setting, house);
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
    Row {
        name,
        setting,
        origin,
        timeout_seconds: timeout.unwrap_or(hooks::TIMEOUT.as_secs()),
        problem: match is_enabled(setting) {
            true => hook.err().map(|error| error.to_string()),
            false => None,
        },
    }
}

impl Row<'_> {
    fn points(&self) -> Vec<&'static str> {
        let points = self.setting.points.iter().flatten();
        points.map(|point| point.name()).collect()
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "enabled": is_enabled(self.setting),
            "points": self.points(),
            "command": self.setting.command,
            "matches": self.setting.matches,
            "timeout_seconds": self.timeout_seconds,
            "on_failure": self.setting.on_failure.unwrap_or_default(),
            "folder": self.setting.folder,
            "origin": self.origin,
            "problem": self.problem,
        })
    }

    fn text(&self) -> String {
        let off = match is_enabled(self.setting) {
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
        let points = self.points();
        if !points.is_empty() {
            line("points", &points.join(", "));
        }
        if let Some(command) = &self.setting.command {
            line("command", &clean(&command_text(command)));
        }
        if let Some(pattern) = &self.setting.matches {
            line("matches", &clean(pattern));
        }
        line("timeout", &format!("{} s", self.timeout_seconds));
        if self.setting.on_failure == Some(OnFailure::Block) {
            line("failure", "blocks");
        }
        if let Some(folder) = &self.setting.folder {
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
