//! Rules that allow more than they say: commands whose arguments make them run other commands or write files.

use session_facts::{Word, base_name, worker};

/// Programs that run a text or a file which follows their name.
const INTERPRETERS: &str = "sh, bash, zsh, dash, ksh, ash, fish, python, python3, pypy3, perl, ruby, node, deno, \
    bun, php, lua, Rscript, osascript, expect, tclsh, su, script, source, ., eval, trap";

/// Beginnings of commands, with what their arguments can make them do.
const REACHING: [(&str, &str); 3] = [
    (
        "run any command",
        "find, fd, fdfind, awk, gawk, mawk, sed, tar, bsdtar, make, gmake, ninja, just, \
         task, cmake, gradle, mvn, ant, rake, cargo run, cargo install, cargo --config, \
         go run, go generate, npm run, npm install, pnpm run, pnpm install, yarn run, \
         yarn add, pip install, pip3 install, uv pip, docker, podman, kubectl, nix, ssh, \
         scp, sftp, rsync, git -c, git bisect, git clone, git config, git difftool, \
         git fetch, git filter-branch, git grep, git ls-remote, git pull, git push, \
         git rebase, git submodule, vi, vim, nvim, emacs, ed, less, more, man, gdb, lldb, \
         tmux, screen, at, batch, crontab, sqlite3, psql, mysql, socat, nc, ncat, rg, ag, \
         zip, apt, apt-get, brew, ld.so, mapfile, bind, alias, export, declare",
    ),
    (
        "write any file",
        "git log, git diff, git show, git archive, git format-patch, git init, \
         git worktree, tee, dd, cp, mv, ln, install, truncate, split, csplit, sort, uniq, \
         curl, wget, openssl, gpg, patch, unzip, 7z, jar, ffmpeg, pandoc, xxd, gcc, g++, \
         cc, clang, rustc, rustfmt, tree",
    ),
    (
        "delete any file",
        "rm, rmdir, unlink, shred, git clean, git rm",
    ),
];

/// Returns what the commands that begin with these words can do by their arguments, if that is more than the words say.
/// The last word may be cut, so it is compared as a prefix.
pub(super) fn reach(words: &[Word], last: Option<&Word>) -> Option<&'static str> {
    let words: Vec<Word> = words.iter().chain(last).cloned().collect();
    let Some(words) = worker(&words).filter(|words| !words.is_empty()) else {
        return Some("run any command");
    };
    let is_cut = |at: usize| last.is_some() && at + 1 == words.len();
    let is_begun = |entry: &str| {
        let mut pairs = words.iter().zip(entry.split(' ')).enumerate();
        pairs.all(|(at, (word, wanted))| {
            let text = if at == 0 {
                base_name(&word.text)
            } else {
                &word.text
            };
            text == wanted || (is_cut(at) && wanted.starts_with(text))
        })
    };
    let is_script_named = words.get(1).is_some_and(|word| !word.text.starts_with('-'));
    if !is_script_named && INTERPRETERS.split(", ").any(is_begun) {
        return Some("run any command");
    }
    let mut entries = REACHING.iter();
    let found = entries.find(|(_, entries)| entries.split(", ").any(is_begun));
    found.map(|(what, _)| *what)
}
