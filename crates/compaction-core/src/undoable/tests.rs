//! Undo and redo on the tree alone.

use std::collections::BTreeMap;

use crate::Profile;
use proptest::prelude::*;
use session_model::{Stamp, Timestamp, build_context, decode_bytes};

use super::*;

/// A session that grows by lines.
struct Grown {
    text: String,
    tree: SessionTree,
    entries: usize,
}

impl Grown {
    fn new() -> Self {
        let text = test_support::session("u:5 a:5");
        let tree = decode_bytes(text.clone().into_bytes()).tree;
        Self {
            text,
            tree,
            entries: 0,
        }
    }

    fn path(&self) -> SessionPath<'_> {
        self.tree.path(self.tree.leaf())
    }

    fn leaf(&self) -> String {
        self.path().leaf_id().unwrap_or_default().to_owned()
    }

    /// Returns what the model would see.
    fn context(&self) -> Vec<String> {
        let context = build_context(&self.path(), Profile::Own.context_rules());
        let messages = context.messages();
        messages
            .map(|(_, message)| message.display_text())
            .collect()
    }

    /// Adds a line with `rest` under the leaf; returns its id.
    fn add(&mut self, rest: &str) -> String {
        self.entries += 1;
        let (id, leaf) = (format!("n{}", self.entries), self.leaf());
        let line = format!(
            r#"{{"type":{rest},"id":"{id}","parentId":"{leaf}","timestamp":"2026-01-01T00:00:00.000Z"}}"#
        );
        self.push(&line);
        id
    }

    fn say(&mut self) -> String {
        let text = self.entries;
        self.add(&format!(
            r#""message","message":{{"role":"user","content":"said {text}","timestamp":1}}"#
        ))
    }

    fn compact(&mut self) -> String {
        let (leaf, text) = (self.leaf(), self.entries);
        self.add(&format!(
            r#""compaction","summary":"summary {text}","firstKeptEntryId":"{leaf}","tokensBefore":9,"details":{{"undoTo":"{leaf}"}}"#
        ))
    }

    fn label(&mut self) -> String {
        self.add(r#""label","targetId":"e1","label":"here""#)
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        let decoded = decode_bytes(self.text.clone().into_bytes());
        assert_eq!(decoded.diagnostics, []);
        self.tree = decoded.tree;
    }

    fn move_to(&mut self, reason: &str, to: Leaf) {
        self.entries += 1;
        let from = EntryId::new(&self.leaf());
        let line = leaf_move(reason, Some(&from)).stamp(&Stamp {
            id: EntryId::new(&format!("n{}", self.entries)),
            parent: self.tree.leaf_id(to).map(EntryId::new),
            timestamp: Timestamp::from_millis(0),
            part_of: None,
        });
        self.push(&line);
    }

    /// Takes the newest compaction back; returns its id.
    fn undo(&mut self) -> Option<String> {
        let found = undoable(&self.path(), Whose::Ours, "").ok()?;
        let undone = self.tree.id(self.path().entries()[found.place]).to_owned();
        self.move_to(UNDO, found.back_to);
        Some(undone)
    }

    fn redo(&mut self) -> Result<String, NoRedo> {
        let found = newest_redoable(&self.path())?;
        self.move_to(REDO, found.forward_to);
        Ok(found.redone.to_string())
    }
}

proptest! {
    #[test]
    fn undo_gives_back_the_former_context_and_redo_the_later_one(steps in prop::collection::vec(0_u8..6, 1..40)) {
        let mut session = Grown::new();
        let mut before: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // What a redo must bring, the newest last.
        let mut undone: Vec<(String, Vec<String>)> = Vec::new();
        for step in steps {
            let context = session.context();
            match step {
                0 => {
                    session.say();
                    undone.clear();
                }
                1 => {
                    let id = session.compact();
                    before.insert(id, context);
                    undone.clear();
                }
                2 => {
                    session.label();
                    prop_assert_eq!(session.context(), context);
                }
                3 | 4 => match session.undo() {
                    Some(id) => {
                        prop_assert_eq!(&session.context(), &before[&id]);
                        undone.push((id, context));
                    }
                    None => prop_assert_eq!(session.context(), context),
                },
                _ => match (session.redo(), undone.pop()) {
                    (Ok(redone), Some((id, later))) => {
                        prop_assert_eq!(redone, id);
                        prop_assert_eq!(session.context(), later);
                    }
                    (Err(_), None) => prop_assert_eq!(session.context(), context),
                    (redone, wanted) => prop_assert!(false, "{redone:?}, but {wanted:?}"),
                },
            }
        }
    }
}

#[test]
fn a_session_says_why_there_is_nothing_to_redo() {
    let mut session = Grown::new();
    let said = session.redo().unwrap_err().to_string();
    insta::assert_snapshot!(said, @"nothing was undone on the path");
    session.compact();
    session.undo();
    session.say();
    let said = session.redo().unwrap_err().to_string();
    insta::assert_snapshot!(said, @"the session has gone on since the newest undo; what was undone ends in entry n1; go to that entry to continue from it");
}

fn replaced(session: &Grown, later: Later) -> String {
    match replaceable(&session.path(), later, "say so") {
        Ok(found) => format!(
            "{} at {:?} from {:?} leaving {:?}",
            found.replaced,
            session.tree.leaf_id(found.base),
            found.from.as_deref(),
            found.left_behind.iter().map(|id| &**id).collect::<Vec<_>>(),
        ),
        Err(error) => error.to_string(),
    }
}

#[test]
fn another_compaction_takes_the_place_of_the_newest_or_of_the_one_that_was_undone() {
    let mut session = Grown::new();
    insta::assert_snapshot!(replaced(&session, Later::Stays), @"no compaction or pruning on the path");
    session.compact();
    session.say();
    session.compact();
    insta::assert_snapshot!(replaced(&session, Later::Stays), @r#"n3 at Some("n2") from Some("n3") leaving []"#);
    // Labels, and what a compaction brings back itself, are no work.
    session.label();
    session.add(
        r#""custom_message","customType":"restored_context","content":"files","display":true"#,
    );
    insta::assert_snapshot!(replaced(&session, Later::Stays), @r#"n3 at Some("n2") from Some("n5") leaving []"#);
    // The one that was undone is meant, not the older one that the path still has.
    session.undo();
    insta::assert_snapshot!(replaced(&session, Later::Stays), @r#"n3 at Some("n6") from None leaving []"#);
    session.redo().unwrap();
    insta::assert_snapshot!(replaced(&session, Later::Stays), @r#"n3 at Some("n2") from Some("n7") leaving []"#);
    session.say();
    session.say();
    insta::assert_snapshot!(replaced(&session, Later::Stays), @"2 entries came after n3 and would be left behind, as by undo; say so to do it anyway");
    insta::assert_snapshot!(replaced(&session, Later::IsLeft), @r#"n3 at Some("n2") from Some("n9") leaving ["n8", "n9"]"#);
}

#[test]
fn what_a_compaction_brought_back_goes_and_comes_with_it() {
    let mut session = Grown::new();
    let before = session.context();
    session.add(
        r#""compaction","summary":"all of it","firstKeptEntryId":"","tokensBefore":9,"details":{"undoTo":"e2","strategy":"restore"}"#,
    );
    session.add(
        r#""custom_message","customType":"restored_context","content":"files","display":true"#,
    );
    let after = session.context();
    assert!(after.iter().any(|text| text == "files"), "{after:?}");
    session.undo().unwrap();
    assert_eq!(session.context(), before);
    session.redo().unwrap();
    assert_eq!(session.context(), after);
}

#[test]
fn a_model_and_a_thinking_level_that_were_set_later_stay_set() {
    let mut session = Grown::new();
    session.compact();
    session.add(r#""model_change","provider":"p","modelId":"old""#);
    session.add(r#""model_change","provider":"p","modelId":"new""#);
    session.add(r#""thinking_level_change","thinkingLevel":"high""#);
    let found = replaceable(&session.path(), Later::Stays, "say so").unwrap();
    assert_eq!(found.left_behind, []);
    assert_eq!(found.carried_names(), ["model", "thinking level"]);
    let lead = format!("{:?}", found.lead());
    assert!(
        lead.contains("new") && lead.contains("high") && !lead.contains("old"),
        "{lead}"
    );
    // They are carried again when that compaction is replaced, too.
    let base = found.base;
    session.move_to(REDO, base);
    session.add(r#""model_change","provider":"p","modelId":"new""#);
    let text = session.entries;
    session.add(&format!(
        r#""compaction","summary":"{text}","firstKeptEntryId":"e1","tokensBefore":9,"details":{{"undoTo":"{}"}}"#,
        session.tree.leaf_id(base).map(EntryId::new).unwrap()
    ));
    let found = replaceable(&session.path(), Later::Stays, "say so").unwrap();
    assert_eq!(found.carried_names(), ["model"]);
}

#[test]
fn what_another_program_wrote_is_taken_back_only_when_that_is_asked_for() {
    for line in [
        r#""compaction","summary":"s","firstKeptEntryId":"n1","tokensBefore":9"#,
        r#""branch_summary","summary":"s","fromId":"n1","details":{"readFiles":[],"modifiedFiles":[]}"#,
        r#""custom","customType":"agent-cli/leaf","data":{"reason":"import","from":"n1"}"#,
    ] {
        let mut session = Grown::new();
        session.say();
        let id = session.add(line);
        let refused = undoable(&session.path(), Whose::Ours, "say any").unwrap_err();
        assert!(
            matches!(&refused, NoUndo::NotOurs { id: named, .. } if **named == *id),
            "{refused}"
        );
        let found = undoable(&session.path(), Whose::Any, "").unwrap();
        assert!(!found.is_ours, "{line}");
        session.compact();
        assert!(undoable(&session.path(), Whose::Ours, "").unwrap().is_ours);
    }
}
