//! `edit`: exact pieces of a file replaced by others, all of them or none.

use std::fs::Metadata;
use std::io::Read as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::diff;
use super::file_tool::FileTool;
use super::replace::replace;
use super::replacement::{Change, find_changes};
use crate::context::ToolContext;
use crate::file::{CommitPoint, Identity, Target};
use crate::output::ToolOutput;
use crate::text::{count, reason};
use crate::tool::{Concurrency, Idempotency, PathArgument, ToolKind, ToolMeta};
use crate::workspace::resolved::{Purpose, ResolvedPath};

/// Either `edits`, which the schema describes, or the members of one edit, which some models send anyway.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The file, from the workspace on or absolute.
    path: String,
    /// The replacements. Each is looked for in the file as it is now, and none may touch another.
    #[schemars(required, length(min = 1))]
    edits: Option<Vec<Replacement>>,
    #[schemars(skip)]
    old_text: Option<String>,
    #[schemars(skip)]
    new_text: Option<String>,
    #[schemars(skip)]
    all: Option<bool>,
}

/// One replacement.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Replacement {
    /// The text to replace, exactly as it is in the file, spaces included. It must occur once; take as many
    /// lines around it as that needs.
    pub(super) old_text: String,
    /// The text to put in its place.
    pub(super) new_text: String,
    /// Replaces every occurrence instead of the only one.
    pub(super) all: Option<bool>,
}

impl Arguments {
    fn replacements(&self) -> Result<Vec<Replacement>, String> {
        let one = self.old_text.is_some() || self.new_text.is_some() || self.all.is_some();
        match (&self.edits, &self.old_text, &self.new_text) {
            (Some(_), _, _) if one => Err(
                "edits: cannot be combined with old_text, new_text or all; move those into edits"
                    .to_owned(),
            ),
            (Some(edits), _, _) if edits.is_empty() => {
                Err("edits: is empty; give at least one replacement".to_owned())
            }
            (Some(edits), _, _) => Ok(edits.clone()),
            (None, Some(old_text), Some(new_text)) => Ok(vec![Replacement {
                old_text: old_text.clone(),
                new_text: new_text.clone(),
                all: self.all,
            }]),
            (None, Some(_), None) => Err("new_text: is missing".to_owned()),
            (None, None, Some(_)) => Err("old_text: is missing".to_owned()),
            (None, None, None) => {
                Err("edits: is missing; give a list of old_text and new_text".to_owned())
            }
        }
    }
}

/// The tool.
pub(super) const EDIT: FileTool<Arguments> = FileTool {
    name: "edit",
    description: "Replaces pieces of a file. Each old_text must occur in the file exactly once; when one \
         of them does not, nothing is changed. Returns what changed as a diff.",
    meta: ToolMeta {
        kind: ToolKind::Edit,
        read_only: false,
        concurrency: Concurrency::WithOtherPaths,
        idempotency: Idempotency::NotIdempotent,
        path: Some(PathArgument::File),
        ..ToolMeta::READ
    },
    work: change,
};

fn change(
    arguments: &Arguments,
    context: &ToolContext,
    commit: &CommitPoint,
) -> Result<ToolOutput, String> {
    let path = &arguments.path;
    let edits = arguments.replacements()?;
    let describe = |reason: String| format!("cannot edit {path}: {reason}; nothing was changed");
    let place = context.workspace.locate_to_change(path)?;
    let original = Original::read(place, context.limits.edit_bytes).map_err(describe)?;
    let changes = find_changes(&original.text, &edits, commit).map_err(describe)?;
    let edited = apply(&original.text, &changes);
    let lost = original.replace(&edited, commit).map_err(describe)?;
    let diff = diff::unified(path, &original.text, &edited);
    let diff = diff::bounded(diff, &context.limits, &context.redactor);
    let replacements = count(changes.len(), "replacement");
    let notice = lost.map_or(String::new(), |lost| format!("[{lost}]\n"));
    let text = format!("edited {path}: {replacements}\n{notice}{diff}");
    let details = json!({ "diff": diff, "replacements": changes.len() });
    Ok(ToolOutput::text(text).with_details(details))
}

/// Returns what `changes`, which are in order, make of `text`.
pub(super) fn apply(text: &str, changes: &[Change]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut at = 0;
    for change in changes {
        edited.push_str(&text[at..change.range.start]);
        edited.push_str(&change.text);
        at = change.range.end;
    }
    edited.push_str(&text[at..]);
    edited
}

/// A file as it was when it was read.
#[derive(Debug)]
pub(super) struct Original {
    place: ResolvedPath,
    found: Metadata,
    text: String,
}

impl Original {
    /// Reads the file, which must be text of at most `most` bytes that may be written.
    pub(super) fn read(place: ResolvedPath, most: u64) -> Result<Self, String> {
        let (found, bytes) = contents(&place, most)?;
        // Opening the file for writing shows if that is allowed; replacing it would not.
        let writable = place.open(Purpose::TryWrite);
        writable.map_err(|error| reason(&error))?;
        let text = plain_text(bytes).ok_or("is not UTF-8 text; change it with a command")?;
        Ok(Self { place, found, text })
    }

    /// Writes `edited` to the file, unless the file has changed; returns what could not be kept.
    pub(super) fn replace(
        &self,
        edited: &str,
        commit: &CommitPoint,
    ) -> Result<Option<String>, String> {
        let target = Target::Old(self.found.clone());
        replace(&self.place, edited.as_bytes(), &target, commit, || {
            let same = self.is_unchanged()?;
            same.then_some(())
                .ok_or_else(|| "another program changed it meanwhile; read it again".to_owned())
        })
    }

    fn is_unchanged(&self) -> Result<bool, String> {
        // Clocks of file systems tick slowly: two changes in a tick have one time, so bytes are compared too.
        let (found, bytes) = contents(&self.place, u64::MAX)?;
        let same = Identity::of(&found) == Identity::of(&self.found);
        Ok(same && bytes == self.text.as_bytes())
    }
}

/// Returns the text of a file of at most `most` bytes; none when it cannot be read or is no text.
pub(super) fn text_of(place: &ResolvedPath, most: u64) -> Option<String> {
    let (_, bytes) = contents(place, most).ok()?;
    plain_text(bytes)
}

fn plain_text(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok();
    text.filter(|text| !text.contains('\0'))
}

fn contents(place: &ResolvedPath, most: u64) -> Result<(Metadata, Vec<u8>), String> {
    let opened = place.open(Purpose::Read);
    let (file, found) = opened.map_err(|error| reason(&error))?;
    let mut bytes = Vec::new();
    let large = || format!("is larger than {most} bytes; change it with a command");
    if found.len() > most {
        return Err(large());
    }
    let bound = found.len().saturating_add(1);
    file.take(bound)
        .read_to_end(&mut bytes)
        .map_err(|error| reason(&error))?;
    match bytes.len() as u64 == found.len() {
        true => Ok((found, bytes)),
        false => Err("it changes while it is read; try again".to_owned()),
    }
}
