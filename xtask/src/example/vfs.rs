//! The invented project's working tree in memory: read, write, edit, search, list and diff, as the session's tools see it.

use std::collections::BTreeMap;

/// A working tree: path to text, with the state of the last commit for diffs.
#[derive(Clone, Default)]
pub struct Vfs {
    files: BTreeMap<String, String>,
    committed: BTreeMap<String, String>,
}

impl Vfs {
    /// A tree that starts committed with the given files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let files: BTreeMap<String, String> = files
            .iter()
            .map(|(p, t)| (p.to_string(), t.trim_start_matches('\n').to_string()))
            .collect();
        Vfs {
            committed: files.clone(),
            files,
        }
    }

    /// The text of a file, if it exists.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Every path, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Creates or replaces a file.
    pub fn write(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_string(), text.to_string());
    }

    /// Replaces one occurrence of `old`; the error is the message a tool would give.
    pub fn edit(&mut self, path: &str, old: &str, new: &str) -> Result<(), String> {
        let Some(text) = self.files.get(path) else {
            return Err(format!("{path}: no such file"));
        };
        match text.matches(old).count() {
            1 => {}
            0 => {
                return Err(format!(
                    "oldText was not found in {path}. Whitespace and line breaks must match the file exactly."
                ));
            }
            n => {
                return Err(format!(
                    "oldText occurs {n} times in {path}; give more surrounding lines."
                ));
            }
        }
        let changed = text.replacen(old, new, 1);
        self.files.insert(path.to_string(), changed);
        Ok(())
    }

    /// Makes the present state the base of later diffs.
    pub fn commit(&mut self) {
        self.committed = self.files.clone();
    }

    /// The read tool: whole file or a window of lines, with a note when lines remain.
    pub fn read(
        &self,
        path: &str,
        offset: Option<usize>,
        limit: Option<usize>,
    ) -> Result<String, String> {
        let text = self
            .get(path)
            .ok_or_else(|| format!("ENOENT: no such file or directory, open '{path}'"))?;
        if offset.is_none() && limit.is_none() {
            return Ok(text.to_string());
        }
        let lines: Vec<&str> = text.lines().collect();
        let start = offset.unwrap_or(1).max(1) - 1;
        if start >= lines.len() {
            return Err(format!(
                "Offset {} is past the end of the file ({} lines)",
                start + 1,
                lines.len()
            ));
        }
        let end = (start + limit.unwrap_or(2000)).min(lines.len());
        let mut out = lines[start..end].join("\n");
        if end < lines.len() {
            out.push_str(&format!(
                "\n\n[{} lines left; continue with offset={}]",
                lines.len() - end,
                end + 1
            ));
        }
        Ok(out)
    }

    /// `rg -n` over the paths that start with `under`; `pattern` is literal words joined with `|`, escapes allowed.
    pub fn grep(&self, pattern: &str, under: &str) -> String {
        let plain = pattern.replace('\\', "");
        let words: Vec<&str> = plain.split('|').collect();
        let mut out = Vec::new();
        for (path, text) in &self.files {
            if !path.starts_with(under) {
                continue;
            }
            for (i, line) in text.lines().enumerate() {
                if words.iter().any(|w| line.contains(w)) {
                    out.push(format!("{path}:{}:{line}", i + 1));
                }
            }
        }
        if out.is_empty() {
            return "No matches found".to_string();
        }
        out.join("\n")
    }

    /// Directory listing, directories with a slash.
    pub fn ls(&self, dir: &str) -> String {
        let prefix = if dir == "." {
            String::new()
        } else {
            format!("{dir}/")
        };
        let mut names: Vec<String> = self
            .paths()
            .filter_map(|p| p.strip_prefix(&prefix))
            .map(|rest| match rest.split_once('/') {
                Some((d, _)) => format!("{d}/"),
                None => rest.to_string(),
            })
            .collect();
        names.sort();
        names.dedup();
        names.join("\n")
    }

    /// `git diff` against the last commit, limited to paths that start with `under`.
    pub fn diff(&self, under: &str) -> String {
        let mut out = String::new();
        for (path, new) in &self.files {
            if !path.starts_with(under) {
                continue;
            }
            let old = self.committed.get(path).map_or("", String::as_str);
            if old != new {
                out.push_str(&format!("diff --git a/{path} b/{path}\n"));
                let from = if old.is_empty() {
                    "new file mode 100644\n--- /dev/null".to_string()
                } else {
                    format!("--- a/{path}")
                };
                out.push_str(&format!("{from}\n+++ b/{path}\n"));
                out.push_str(&hunks(old, new));
            }
        }
        out
    }

    /// `git diff --stat` against the last commit.
    pub fn diff_stat(&self) -> String {
        let (mut out, mut files, mut plus, mut minus) = (String::new(), 0, 0, 0);
        for (path, new) in &self.files {
            let old = self.committed.get(path).map_or("", String::as_str);
            if old == new {
                continue;
            }
            let ops = line_ops(old, new);
            let p = ops.iter().filter(|(c, _)| *c == '+').count();
            let m = ops.iter().filter(|(c, _)| *c == '-').count();
            let bar = |n: usize, c: &str| c.repeat(n.div_ceil(6).min(28));
            out.push_str(&format!(
                " {path:<34} | {:>4} {}{}\n",
                p + m,
                bar(p, "+"),
                bar(m, "-")
            ));
            (files, plus, minus) = (files + 1, plus + p, minus + m);
        }
        out + &format!(" {files} files changed, {plus} insertions(+), {minus} deletions(-)")
    }
}

/// Line operations (` `, `-`, `+`) that turn `old` into `new`, by longest common subsequence.
fn line_ops<'a>(old: &'a str, new: &'a str) -> Vec<(char, &'a str)> {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut best = vec![vec![0u16; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            best[i][j] = if a[i] == b[j] {
                best[i + 1][j + 1] + 1
            } else {
                best[i + 1][j].max(best[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut ops) = (0, 0, Vec::new());
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            ops.push((' ', a[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || best[i + 1][j] >= best[i][j + 1]) {
            ops.push(('-', a[i]));
            i += 1;
        } else {
            ops.push(('+', b[j]));
            j += 1;
        }
    }
    ops
}

/// Unified hunks with three lines of context.
fn hunks(old: &str, new: &str) -> String {
    let ops = line_ops(old, new);
    let keep: Vec<bool> = (0..ops.len())
        .map(|k| {
            ops[k.saturating_sub(3)..(k + 4).min(ops.len())]
                .iter()
                .any(|(c, _)| *c != ' ')
        })
        .collect();
    let (mut out, mut a, mut b, mut k) = (String::new(), 1, 1, 0);
    while k < ops.len() {
        if !keep[k] {
            (a, b, k) = (a + 1, b + 1, k + 1);
            continue;
        }
        let end = (k..ops.len()).find(|&e| !keep[e]).unwrap_or(ops.len());
        let gone = ops[k..end].iter().filter(|(c, _)| *c != '+').count();
        let come = ops[k..end].iter().filter(|(c, _)| *c != '-').count();
        let start = |at: usize, n: usize| if n == 0 { 0 } else { at };
        out.push_str(&format!(
            "@@ -{},{gone} +{},{come} @@\n",
            start(a, gone),
            start(b, come)
        ));
        for (c, line) in &ops[k..end] {
            out.push_str(&format!("{c}{line}\n"));
        }
        (a, b, k) = (a + gone, b + come, end);
    }
    out
}
