//! Line diff

/// One change of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Same(String),
    Add(String),
    Remove(String),
}

/// Compares two texts, line by line.
pub fn diff_lines(old: &str, new: &str) -> Vec<Change> {
    let a: Vec<&str> = old.lines().collect();
    let b: Vec<&str> = new.lines().collect();
    // table of the longest common subsequence
    let mut best = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            if a[i] == b[j] {
                best[i][j] = best[i + 1][j + 1] + 1;
            } else if best[i + 1][j] >= best[i][j + 1] {
                best[i][j] = best[i + 1][j];
            } else {
                best[i][j] = best[i][j + 1];
            }
        }
    }
    let mut out = Vec::new();
    let mut i = 0;
    let mut j = 0;
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            out.push(Change::Same(a[i].to_string()));
            i = i + 1;
            j = j + 1;
        } else if best[i + 1][j] >= best[i][j + 1] {
            out.push(Change::Remove(a[i].to_string()));
            i = i + 1;
        } else {
            out.push(Change::Add(b[j].to_string()));
            j = j + 1;
        }
    }
    while i < a.len() {
        out.push(Change::Remove(a[i].to_string()));
        i = i + 1;
    }
    while j < b.len() {
        out.push(Change::Add(b[j].to_string()));
        j = j + 1;
    }
    out
}

/// added, removed
pub fn stats(changes: &[Change]) -> (usize, usize) {
    let mut added = 0;
    let mut removed = 0;
    for c in changes {
        match c {
            Change::Add(_) => added = added + 1,
            Change::Remove(_) => removed = removed + 1,
            _ => {}
        }
    }
    (added, removed)
}

/// Unified text with some lines of context, without headers.
pub fn unified(changes: &[Change], context: usize) -> String {
    let mut keep = vec![false; changes.len()];
    for i in 0..changes.len() {
        match changes[i] {
            Change::Same(_) => {}
            _ => {
                let from = i.saturating_sub(context);
                let to = (i + context + 1).min(changes.len());
                for k in from..to {
                    keep[k] = true;
                }
            }
        }
    }
    let mut out = String::new();
    let mut gap = false;
    for i in 0..changes.len() {
        if !keep[i] {
            gap = true;
            continue;
        }
        if gap && !out.is_empty() {
            out.push_str("...\n");
        }
        gap = false;
        match &changes[i] {
            Change::Same(s) => out.push_str(&format!("  {}\n", s)),
            Change::Add(s) => out.push_str(&format!("+ {}\n", s)),
            Change::Remove(s) => out.push_str(&format!("- {}\n", s)),
        }
    }
    out
}

/// Applies changes to the old text. Err when the text is not the old one.
pub fn apply(old: &str, changes: &[Change]) -> Result<String, &'static str> {
    let mut lines = old.lines();
    let mut out = String::new();
    for c in changes {
        match c {
            Change::Same(s) => {
                if lines.next() != Some(s.as_str()) {
                    return Err("does not match");
                }
                out.push_str(s);
                out.push('\n');
            }
            Change::Remove(s) => {
                if lines.next() != Some(s.as_str()) {
                    return Err("does not match");
                }
            }
            Change::Add(s) => {
                out.push_str(s);
                out.push('\n');
            }
        }
    }
    if lines.next().is_some() {
        return Err("too long");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "one\ntwo\nthree\nfour\nfive\n";
    const NEW: &str = "one\ntwo\n3\nfour\nfive\nsix\n";

    #[test]
    fn a_changed_line_is_removed_and_added() {
        let changes = diff_lines(OLD, NEW);
        assert_eq!(stats(&changes), (2, 1));
        assert_eq!(unified(&changes, 0), "- three\n+ 3\n...\n+ six\n");
    }

    #[test]
    fn changes_lead_from_old_to_new() {
        let changes = diff_lines(OLD, NEW);
        assert_eq!(apply(OLD, &changes).unwrap(), NEW);
        assert!(apply(NEW, &changes).is_err());
    }

    #[test]
    fn equal_texts_do_not_differ() {
        let changes = diff_lines(OLD, OLD);
        assert_eq!(stats(&changes), (0, 0));
        assert_eq!(unified(&changes, 3), "");
    }
}
