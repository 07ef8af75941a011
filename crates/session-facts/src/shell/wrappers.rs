//! Programs that run other ones, and where in their words those are.

use super::{Word, base_name};

/// Words that stand before a command, and programs that run another one without a word in between.
const PLAIN: [&str; 28] = [
    "{",
    "!",
    "if",
    "then",
    "elif",
    "else",
    "while",
    "until",
    "do",
    "coproc",
    "command",
    "builtin",
    "nohup",
    "setsid",
    "unbuffer",
    "unshare",
    "busybox",
    "chronic",
    "torsocks",
    "proxychains",
    "npm exec",
    "pnpm exec",
    "pnpm dlx",
    "yarn exec",
    "yarn dlx",
    "bundle exec",
    "poetry run",
    "pipenv run",
];

/// Programs that run another one: their name, the letters of their options that take a word, their long options that
/// do, and how many operands come before the command.
const WRAPPERS: [(&str, &str, &[&str], usize); 32] = [
    ("function", "", &[], 1),
    ("time", "fo", &["format", "output"], 0),
    ("exec", "a", &[], 0),
    (
        "sudo",
        "CDRTUghprtu",
        &["user", "group", "host", "prompt", "chdir", "chroot"],
        0,
    ),
    ("doas", "Cu", &[], 0),
    ("pkexec", "", &["user"], 0),
    ("runuser", "Ggu", &["user", "group"], 0),
    ("env", "CSu", &["unset", "chdir"], 0),
    ("nice", "n", &["adjustment"], 0),
    ("ionice", "cn", &["class", "classdata"], 0),
    ("chrt", "DPT", &[], 1),
    ("taskset", "", &[], 1),
    ("numactl", "CNilmp", &[], 0),
    ("stdbuf", "eio", &["input", "output", "error"], 0),
    ("timeout", "ks", &["kill-after", "signal"], 1),
    ("gtimeout", "ks", &["kill-after", "signal"], 1),
    ("flock", "Ew", &["timeout", "conflict-exit-code"], 1),
    ("chroot", "", &[], 1),
    ("setarch", "", &[], 1),
    ("caffeinate", "tw", &[], 0),
    ("strace", "EIOPSUabeopsu", &[], 0),
    ("ltrace", "Faelnopsux", &[], 0),
    ("watch", "nq", &["interval", "equexit"], 0),
    (
        "parallel",
        "IajnNLP",
        &["jobs", "arg-file", "colsep", "max-args"],
        0,
    ),
    (
        "xargs",
        "EILPadns",
        &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-chars",
            "max-lines",
            "max-procs",
        ],
        0,
    ),
    (
        "xvfb-run",
        "efnps",
        &["server-num", "server-args", "error-file"],
        0,
    ),
    ("dbus-run-session", "", &["config-file"], 0),
    (
        "systemd-run",
        "EHMPpu",
        &["unit", "property", "setenv", "slice", "uid", "gid"],
        0,
    ),
    ("npx", "pc", &["package", "call"], 0),
    ("bunx", "p", &["package"], 0),
    ("uvx", "p", &["from", "with", "python"], 0),
    (
        "uv run",
        "p",
        &["with", "python", "extra", "group", "package", "project"],
        0,
    ),
];

/// Programs that run the words behind one of these options.
const FINDERS: [&str; 3] = ["find", "fd", "fdfind"];
const EXECUTING: [&str; 8] = [
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-x",
    "-X",
    "--exec",
    "--exec-batch",
];

/// Returns where the names of programs are, and which of them does the work.
pub(super) fn starts(words: &[Word]) -> (Vec<usize>, Option<usize>) {
    let text = |at: usize| words.get(at).map(|word| word.text.as_str());
    let mut starts = Vec::new();
    let mut at = 0;
    loop {
        while text(at).is_some_and(assigns) {
            at += 1;
        }
        let Some(first) = text(at) else {
            return (starts, None);
        };
        starts.push(at);
        let pair = format!("{first} {}", text(at + 1).unwrap_or_default());
        let is_it = |name: &str| name == base_name(first) || name == pair;
        let (name, letters, options, operands) = match PLAIN.iter().find(|name| is_it(name)) {
            Some(name) => (*name, "", &[][..], 0),
            None => match WRAPPERS.iter().find(|wrapper| is_it(wrapper.0)) {
                Some(wrapper) => *wrapper,
                None => break,
            },
        };
        at = options_end(words, at + name.split(' ').count(), letters, options) + operands;
    }
    if FINDERS.contains(&base_name(&words[at].text)) {
        let executes = |behind: &usize| EXECUTING.contains(&words[behind - 1].text.as_str());
        starts.extend((at + 2..words.len()).filter(executes));
    }
    (starts, Some(at))
}

/// Returns the words of a command from the program on that does the work, behind all that wraps it; none where the words
/// end before it.
pub fn worker(words: &[Word]) -> Option<&[Word]> {
    words.get(starts(words).1?..)
}

/// Returns where the options of a wrapper end.
fn options_end(words: &[Word], mut at: usize, letters: &str, options: &[&str]) -> usize {
    while let Some(option) = words.get(at).and_then(|word| word.text.strip_prefix('-')) {
        at += 1;
        let takes_word = match option.strip_prefix('-') {
            Some("") => break,
            Some(long) => options.contains(&long),
            None => {
                let first = option.find(|letter| letters.contains(letter));
                first.is_some_and(|first| first + 1 == option.len())
            }
        };
        at += usize::from(takes_word);
    }
    at
}

/// Returns the text that a program runs as commands: `eval` its words, a shell the one behind `-c` or what it reads.
pub(super) fn script(words: &[Word], inputs: &[String], is_wrapped: bool) -> Option<String> {
    let (name, words) = words.split_first()?;
    match base_name(&name.text) {
        "eval" => {
            let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            Some(words.join(" "))
        }
        "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash" | "fish" => {
            match behind_option(words, 'c', true) {
                Ok(script) => script,
                Err(()) => (!inputs.is_empty()).then(|| inputs.concat()),
            }
        }
        "su" | "runuser" | "script" | "flock" => behind_option(words, 'c', false).ok()?,
        "env" => behind_option(words, 'S', true).ok()?,
        // What `watch` and its like run may be one word.
        _ if is_wrapped && name.text.contains(' ') => Some(name.text.clone()),
        _ => None,
    }
}

/// Returns the word behind the option with this letter; none where an operand comes first and ends the options, and an
/// error where nothing does.
fn behind_option(words: &[Word], letter: char, is_ended: bool) -> Result<Option<String>, ()> {
    let is_option = |word: &Word| word.text.starts_with(['-', '+']);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !is_option(word) {
            if is_ended {
                return Ok(None);
            }
        } else if !word.text.starts_with("--") && word.text.contains(letter) {
            return Ok(words
                .find(|word| !is_option(word))
                .map(|word| word.text.clone()));
        } else if word.text.ends_with(['o', 'O']) || word.text.ends_with("file") {
            words.next();
        }
    }
    Err(())
}

/// Returns whether a word sets a variable for the program behind it.
fn assigns(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
