//! The rows of `rules.tsv`: phrases of services and their meaning.

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;

use super::pattern::matches;
use crate::error::ProviderErrorKind as Kind;

/// The text before and after the limit of input tokens a minute.
pub(super) const INPUT_RATE: &[(&str, &str)] = &[("limit of", " input tokens per minute")];

/// A limit of nothing does not come back.
pub(super) const NEVER: &str = "limit: 0,";

/// A list of rows with one meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum List {
    Label,
    NeverFits,
    Quota,
    ComesBack,
    Rate,
    Lookalike,
    Overflow,
    Auth,
    Forbidden,
    TooLarge,
    Interrupted,
    Timeout,
    Overloaded,
}

struct Row {
    list: List,
    /// Of labels and look-alikes.
    kind: Option<Kind>,
    words: &'static str,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let lines = include_str!("rules.tsv").lines();
    let rows = lines.filter(|line| !line.starts_with('#'));
    rows.map(|line| row(line).unwrap_or_else(|| panic!("rules.tsv: {line}")))
        .collect()
});

fn row(line: &'static str) -> Option<Row> {
    let (list, rest) = line.split_once('\t')?;
    let (kind, words) = rest.split_once('\t')?;
    let kind = (kind != "-")
        .then(|| Kind::deserialize(IntoDeserializer::<Error>::into_deserializer(kind)));
    Some(Row {
        list: List::deserialize(IntoDeserializer::<Error>::into_deserializer(list)).ok()?,
        kind: kind.transpose().ok()?,
        words,
    })
}

fn rows(list: List) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.list == list)
}

/// Returns true if a pattern of the list matches `text`, normalized.
pub(super) fn any(text: &str, list: List) -> bool {
    rows(list).any(|row| matches(text, row.words))
}

/// Returns the kind of the first look-alike that matches.
pub(super) fn lookalike(text: &str) -> Option<Kind> {
    let mut rows = rows(List::Lookalike);
    rows.find(|row| matches(text, row.words))
        .and_then(|row| row.kind)
}

/// Returns true if one of `labels` means `kind`.
pub(super) fn labelled(labels: &[String], kind: Kind) -> bool {
    let mut rows = rows(List::Label).filter(|row| row.kind == Some(kind));
    rows.any(|row| labels.iter().any(|label| bare(label) == row.words))
}

/// Returns a label without what Amazon puts around it:
/// `com.amazon.coral.service#ThrottlingException:http://...`.
fn bare(label: &str) -> &str {
    let label = label.rsplit('#').next().unwrap_or(label);
    label.split(':').next().unwrap_or(label)
}
