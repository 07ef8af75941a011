//! Writing parts of the page: entries, rows of the tree, dividers, branches that are folded.

use askama::Template;
use session_model::TokenCount;
use session_model::{EntryId, EntryIndex};

use crate::entries::Writer;
use crate::timeline::short;

#[derive(Template)]
#[template(path = "entry.html")]
struct Part<'a> {
    number: usize,
    class: &'a str,
    who: String,
    id: String,
    day: String,
    time: String,
    label: Option<&'a str>,
    tokens: String,
    body: String,
}

#[derive(Template)]
#[template(path = "row.html")]
struct Row<'a> {
    number: usize,
    class: &'a str,
    depth: usize,
    text: String,
    label: Option<&'a str>,
}

impl Writer<'_> {
    /// Writes a branch that was left, folded. One without anything to show leaves no trace.
    pub fn branch(&mut self, chain: &[EntryIndex], depth: usize) {
        let (body, tree) = (self.body.len(), self.tree.len());
        let (entries, turns, day) = (self.entries, self.turns, self.day.clone());
        self.depth = depth;
        chain.iter().for_each(|index| self.push(*index));
        self.flush();
        self.depth = 0;
        self.day = day;
        if self.entries == entries {
            self.body.truncate(body);
            self.tree.truncate(tree);
            return;
        }
        let inside = self.body.split_off(body);
        let turns = match self.turns - turns {
            1 => "1 turn".to_owned(),
            turns => format!("{turns} turns"),
        };
        self.body.push_str(&format!(
            "<details class=\"left\"><summary>A branch that was left: {turns}</summary>\n{inside}</details>\n"
        ));
    }

    pub(crate) fn folded(&self, body: &str, title: &str, is_folded: bool) -> String {
        match is_folded {
            true => format!(
                "<details class=\"more\"><summary>{}</summary>{body}</details>",
                crate::diff::escaped(&self.gate.line(title, 60))
            ),
            false => body.to_owned(),
        }
    }

    pub(crate) fn divider(&mut self, class: &str, text: &str) {
        let text = crate::diff::escaped(text);
        self.body.push_str(&format!(
            "<p class=\"divider {class}\"><span>{text}</span></p>\n"
        ));
    }

    pub(crate) fn part(
        &mut self,
        (index, id): (EntryIndex, &EntryId),
        (class, who): (&str, &str),
        at: Option<String>,
        (body, tokens): (String, TokenCount),
    ) {
        self.entries += 1;
        let at = at.unwrap_or_default();
        let (day, time) = (
            at.get(..10).unwrap_or_default(),
            at.get(11..16).unwrap_or_default(),
        );
        if !day.is_empty() && day != self.day {
            self.day = day.to_owned();
            self.divider("day", day);
        }
        let part = Part {
            number: index.as_usize(),
            class,
            who: self.gate.line(who, 120),
            id: self.gate.line(id, 60),
            day: day.to_owned(),
            time: time.to_owned(),
            label: self.known.labels.get(id).map(String::as_str),
            tokens: if tokens == TokenCount::ZERO {
                String::new()
            } else {
                format!("~{}", short(tokens))
            },
            body,
        };
        self.body.push_str(&part.render().unwrap_or_default());
    }

    pub(crate) fn row(&mut self, index: EntryIndex, class: &str, text: &str, id: &EntryId) {
        let row = Row {
            number: index.as_usize(),
            class,
            depth: self.depth.min(4),
            text: text.to_owned(),
            label: self.known.labels.get(id).map(String::as_str),
        };
        self.tree.push_str(&row.render().unwrap_or_default());
    }
}
