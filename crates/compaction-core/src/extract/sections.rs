//! The written form of a summary: six sections, or three for a turn prefix.
//!
//! `parse` reads this form back, so that a summary carries all that its next update needs.

use session_model::fence_for;

use super::ExtractKind;
use super::facts::{Facts, Item, LeftOut};
use super::ledger_dedup::{BELOW, FIRST_BELOW, Part};

/// Opens the line that says how the summary was made.
pub(super) const MADE: &str = "Made by code, without a model (extractive)";
/// Opens the quote of a summary that had no sections.
pub(super) const EARLIER: &str = "Earlier summary:";
/// Opens the goal that an earlier summary gave in its own words.
pub(super) const CARRIED_GOAL: &str = "Goal in the words of the earlier summary:";
/// Opens what a short latest request answers.
pub(super) const ANSWERS: &str = "It answers";
/// The same where the latest request is in a ledger.
pub(super) const LATEST_ANSWERS: &str = "The latest request answers";
/// Opens the list of the requests between the first and the latest.
pub(super) const BETWEEN: &str = "Requests in between:";
/// The next step when nothing says more.
pub(super) const CONTINUE: &str = "Continue with the latest request.";
/// Stands in a section that has nothing to say.
const NONE: &str = "(none)";

/// Returns a text with its entry in parentheses.
pub(super) fn with_id(text: &str, id: &str) -> String {
    if id.is_empty() {
        text.to_owned()
    } else {
        format!("{text} ({id})")
    }
}

/// Returns the written form of `facts`.
pub(super) fn render(facts: &Facts, kind: ExtractKind) -> String {
    let mut page = Page::default();
    // With a ledger, a section without content of its own is left out.
    let none = match facts.in_ledger.is_empty() {
        true => NONE,
        false => "",
    };
    let goal_below = match facts.in_ledger.contains(&Part::Goal) {
        true => BELOW,
        false => none,
    };
    match kind {
        ExtractKind::History | ExtractKind::Branch => {
            page.section("## Goal", goal_below, |out| goal(out, facts));
            page.section("## Constraints & Preferences", none, |out| {
                rules(out, facts);
            });
            page.above("## Progress");
            page.section("### Done", none, |out| {
                done(out, facts);
                if matches!(kind, ExtractKind::Branch) {
                    outcome(out, facts);
                }
            });
            page.section("### In Progress", none, |out| {
                doing(out, facts);
            });
            page.section("### Blocked", none, |out| {
                blocked(out, facts);
            });
            page.section("## Key Decisions", none, |out| {
                decisions(out, facts);
            });
            page.section("## Next Steps", none, |out| next(out, facts));
            if matches!(kind, ExtractKind::Branch) {
                page.text.push_str(&format!("\n*{MADE}.*\n"));
            } else {
                page.section("## Critical Context", none, |out| critical(out, facts));
            }
        }
        ExtractKind::TurnPrefix => {
            page.section("## Original Request", goal_below, |out| {
                goal(out, facts);
            });
            page.section("## Progress So Far", none, |out| {
                done(out, facts);
                doing(out, facts);
            });
            page.section("## Context Needed to Continue", none, |out| {
                rules(out, facts);
                blocked(out, facts);
                decisions(out, facts);
                critical(out, facts);
            });
        }
    }
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
    /// The heading over the next section that has one above it.
    above: Option<&'static str>,
}

impl Page {
    fn heading(&mut self, heading: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(heading);
        self.text.push('\n');
    }

    /// Puts a heading over the next sections, if any of them is written.
    fn above(&mut self, heading: &'static str) {
        self.above = Some(heading);
    }

    /// Writes a section; `empty` stands in one without a body, which is left out where that is empty too.
    fn section(&mut self, heading: &str, empty: &str, write: impl FnOnce(&mut String)) {
        let mut body = String::new();
        write(&mut body);
        let body = match body.trim_end() {
            "" => empty,
            body => body,
        };
        // What stands over the sections of one level is not over those of the level above.
        let above = self
            .above
            .take_if(|_| !body.is_empty() || !heading.starts_with("### "));
        if body.is_empty() {
            return;
        }
        if let Some(above) = above.filter(|_| heading.starts_with("### ")) {
            self.heading(above);
        }
        self.heading(heading);
        self.text.push_str(body);
        self.text.push('\n');
    }
}

fn line(out: &mut String, mark: &str, text: &str) {
    out.push_str(mark);
    out.push_str(text);
    out.push('\n');
}

fn left(out: &mut String, left: &LeftOut, what: &str) {
    if left.count > 0 {
        line(out, "- ", &left.line(what));
    }
}

/// Writes a label and a quote under it, every line marked.
fn quote(out: &mut String, label: &str, text: &str) {
    line(out, label, "");
    for quoted in text.split('\n') {
        line(out, if quoted.is_empty() { ">" } else { "> " }, quoted);
    }
    out.push('\n');
}

fn goal(out: &mut String, facts: &Facts) {
    if !facts.goal.is_empty() {
        quote(out, CARRIED_GOAL, &facts.goal);
    }
    if facts.first_in_ledger && facts.first.is_none() {
        line(out, FIRST_BELOW, "\n");
    }
    let first = if facts.first_follows_summary {
        "First request after the earlier summary"
    } else {
        "First request"
    };
    for (label, request) in [(first, &facts.first), ("Latest request", &facts.latest)] {
        if let Some(request) = request {
            quote(
                out,
                &format!("{}:", with_id(label, &request.id)),
                &request.text,
            );
        }
    }
    if let Some(asked) = &facts.latest_answers {
        let label = match facts.latest.is_some() || facts.in_ledger.is_empty() {
            true => ANSWERS,
            false => LATEST_ANSWERS,
        };
        line(
            out,
            &format!("{}: ", with_id(label, &asked.id)),
            &asked.text,
        );
        out.push('\n');
    }
    if facts.between_left.count > 0 || !facts.between.is_empty() {
        line(out, BETWEEN, "");
        left(out, &facts.between_left, "earlier requests");
        for item in &facts.between {
            line(out, "- ", &item.line());
        }
    }
}

fn rules(out: &mut String, facts: &Facts) {
    left(out, &facts.rules_left, "more rules");
    for rule in &facts.rules {
        if rule.id.is_empty() {
            line(out, "- ", &rule.text);
        } else {
            line(out, "- ", &format!("\"{}\" ({})", rule.text, rule.id));
        }
    }
}

fn done(out: &mut String, facts: &Facts) {
    if facts.done_left > 0 {
        line(
            out,
            "- ",
            &format!("({} more finished items)", facts.done_left),
        );
    }
    for item in &facts.done {
        line(out, "- [x] ", item);
    }
    if facts.files_left > 0 {
        line(
            out,
            "- ",
            &format!("({} more changed files)", facts.files_left),
        );
    }
    let plain: Vec<_> = facts.files.iter().filter(|file| file.is_plain()).collect();
    if !plain.is_empty() {
        let paths: Vec<_> = plain
            .iter()
            .map(|file| format!("`{}`", file.path))
            .collect();
        line(out, "- [x] changed: ", &paths.join(", "));
    }
    for file in facts.files.iter().filter(|file| !file.is_plain()) {
        line(out, "- [x] ", &file.line());
    }
    if !facts.passed.is_empty() {
        let commands = facts
            .passed
            .iter()
            .map(|item| with_id(&format!("`{}`", item.text), &item.id));
        line(
            out,
            "- [x] passed: ",
            &commands.collect::<Vec<_>>().join("; "),
        );
    }
}

fn doing(out: &mut String, facts: &Facts) {
    for item in &facts.open {
        line(out, "- [ ] ", item);
    }
    labelled(out, "Plan", facts.plan.as_ref());
    labelled(out, "Last steps", facts.last_steps.as_ref());
}

fn labelled(out: &mut String, label: &str, item: Option<&Item>) {
    if let Some(item) = item {
        line(
            out,
            "- ",
            &format!("{}: {}", with_id(label, &item.id), item.text),
        );
    }
}

fn blocked(out: &mut String, facts: &Facts) {
    for note in &facts.blocked {
        line(out, "- ", note);
    }
    for failure in &facts.failures {
        let exit = failure.exit.map(|code| format!(", exit code {code}"));
        let head = format!("`{}` failed{}", failure.command, exit.unwrap_or_default());
        let head = with_id(&head, &failure.id);
        if failure.lines.is_empty() {
            line(out, "- ", &head);
            continue;
        }
        line(out, "- ", &format!("{head}:"));
        let fence = fence_for(&failure.lines.join("\n"));
        line(out, "  ", &fence);
        for error in &failure.lines {
            line(out, "  ", error);
        }
        line(out, "  ", &fence);
    }
}

fn decisions(out: &mut String, facts: &Facts) {
    for item in &facts.decisions {
        line(out, "- ", &item.line());
    }
}

fn next(out: &mut String, facts: &Facts) {
    for (at, step) in facts.next.iter().enumerate() {
        line(out, &format!("{}. ", at + 1), step);
    }
}

/// Writes what a branch keeps of the critical context: the focus and the last answer.
fn outcome(out: &mut String, facts: &Facts) {
    labelled(out, "Last answer", facts.answer.as_ref());
    if let Some(focus) = &facts.focus {
        out.push('\n');
        line(out, &format!("Focus ({}):", focus.words), "");
        for item in &focus.lines {
            line(out, "- ", &item.line());
        }
        out.push('\n');
    }
}

fn critical(out: &mut String, facts: &Facts) {
    let made = "Quotes are exact; an id in parentheses names an entry of this session.";
    line(out, "- ", &format!("{MADE}. {made}"));
    if let Some(focus) = &facts.focus {
        out.push('\n');
        line(out, &format!("Focus ({}):", focus.words), "");
        for item in &focus.lines {
            line(out, "- ", &item.line());
        }
        out.push('\n');
    }
    if !facts.earlier.is_empty() {
        quote(out, EARLIER, &facts.earlier);
    }
    for note in &facts.notes {
        line(out, "- ", note);
    }
    for figure in &facts.figures {
        line(out, "- Figure: ", &figure.line());
    }
    labelled(out, "Last answer", facts.answer.as_ref());
}
