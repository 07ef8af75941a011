//! Rules that allow or deny calls in a project, as the file of approvals holds them.

use super::reach::reach;
use serde::{Deserialize, Serialize};
use session_facts::{Runner, ShellCommand, Word, base_name, shell_commands};

/// The tool whose subjects are commands.
const SHELL: &str = "bash";

/// The longest subject of a rule, in bytes; what is longer is not remembered.
const LONGEST: usize = 10_000;

/// The calls that a rule matches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Calls with exactly this subject, ignoring white space around it.
    Exact(String),
    /// Calls whose subject has this prefix; a trailing blank matches the end of a word.
    Begins(String),
}

/// A rule about calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Rule {
    /// The tool.
    pub tool: String,
    /// The calls of the tool that it matches.
    pub subject: Subject,
}

/// A rule in its written form; exactly one of the two members is set.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

/// The rules of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Calls that may run.
    pub allow: Vec<Rule>,
    /// Denied calls; they override all that allows a call.
    pub deny: Vec<Rule>,
}

/// The decision of the rules about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleDecision {
    /// It may run.
    Allowed,
    /// It may not.
    Denied,
}

impl Rule {
    /// Returns the rule about calls with exactly this subject.
    ///
    /// # Errors
    /// A rule without a tool or a subject, or with a subject that is too long.
    pub fn exact(tool: &str, subject: &str) -> Result<Self, String> {
        Self::checked(tool, Subject::Exact(subject.trim().to_owned()))
    }

    /// Returns the rule of a pattern: a prefix if `*` is at its end, else an exact text.
    ///
    /// # Errors
    /// Those of [`exact`](Self::exact), and a pattern that is not the beginning of a single command.
    pub fn of_pattern(tool: &str, pattern: &str) -> Result<Self, String> {
        let pattern = pattern.trim();
        match pattern.strip_suffix('*') {
            Some(begin) => Self::checked(tool, Subject::Begins(begin.trim_start().to_owned())),
            None => Self::exact(tool, pattern),
        }
    }

    fn checked(tool: &str, subject: Subject) -> Result<Self, String> {
        if tool.trim().is_empty() {
            return Err("a rule needs the name of a tool".to_owned());
        }
        match &subject {
            Subject::Exact(text) if text.is_empty() => {
                return Err(
                    "a rule needs what it is about: a command, or its beginning and *".to_owned(),
                );
            }
            Subject::Exact(text) | Subject::Begins(text) if text.len() > LONGEST => {
                return Err(format!(
                    "what a rule is about is at most {LONGEST} bytes long"
                ));
            }
            Subject::Begins(text) if tool == SHELL && !is_single(text) => {
                return Err(format!(
                    "{text}*: a rule that ends in * holds for single commands only, and this joins or redirects them, has a variable or an open quote; leave that out, or name the whole command with --exact"
                ));
            }
            Subject::Exact(_) | Subject::Begins(_) => {}
        }
        Ok(Self {
            tool: tool.to_owned(),
            subject,
        })
    }

    /// Returns the subject as people write it.
    pub fn text(&self) -> String {
        match &self.subject {
            Subject::Exact(text) => text.clone(),
            Subject::Begins(text) => format!("{text}*"),
        }
    }

    /// Returns what the allowed commands can do by their arguments beyond what the rule says, such as `run any command`
    /// for `find *`.
    pub fn reach(&self) -> Option<&'static str> {
        match &self.subject {
            Subject::Begins(begin) if self.tool == SHELL => {
                let begin = Beginning::of(begin);
                reach(&begin.words, begin.last.as_ref())
            }
            Subject::Begins(_) | Subject::Exact(_) => None,
        }
    }

    /// Returns true if the rule allows a call of its tool as a whole.
    fn allows(&self, tool: &str, subject: &str) -> bool {
        self.is_of(tool)
            && match &self.subject {
                Subject::Exact(text) => text == subject,
                Subject::Begins(begin) => tool != SHELL && begins(subject, begin),
            }
    }

    /// Returns true if the rule allows a single command.
    fn allows_command(&self, command: &ShellCommand) -> bool {
        match &self.subject {
            Subject::Begins(begin) if self.tool == SHELL => {
                Beginning::of(begin).is_strictly_of(&command.words)
            }
            Subject::Begins(_) | Subject::Exact(_) => false,
        }
    }

    /// Returns true if the rule is against a call, or against commands of its line.
    fn denies(&self, tool: &str, subject: &str, line: &[ShellCommand]) -> bool {
        self.is_of(tool)
            && match &self.subject {
                Subject::Exact(text) if text == subject => true,
                Subject::Exact(text) if tool == SHELL => {
                    let rule = shell_commands(text);
                    let is_same = |line: &[ShellCommand]| {
                        let mut pairs = rule.iter().zip(line);
                        pairs.all(|(rule, command)| {
                            programs(command).any(|words| is_same_command(&rule.words, words))
                        })
                    };
                    !rule.is_empty() && line.windows(rule.len()).any(is_same)
                }
                Subject::Begins(begin) if tool == SHELL => {
                    let begin = Beginning::of(begin);
                    line.iter()
                        .flat_map(programs)
                        .any(|words| begin.is_of(words))
                }
                Subject::Begins(begin) => begins(subject, begin),
                Subject::Exact(_) => false,
            }
    }

    /// Returns true if the rule is about calls of a tool: its own one, or one of its server.
    fn is_of(&self, tool: &str) -> bool {
        let server = self.tool.strip_suffix("__*");
        let of_server = tool.split_once("__").map(|(server, _)| server);
        self.tool == tool || (server.is_some() && server == of_server)
    }
}

/// The beginning of a command, in words.
struct Beginning {
    words: Vec<Word>,
    /// The beginning of the word that follows them.
    last: Option<Word>,
}

impl Beginning {
    fn of(text: &str) -> Self {
        let mut words: Vec<Word> = shell_commands(text)
            .into_iter()
            .flat_map(|command| command.words)
            .collect();
        let is_cut = !text.ends_with([' ', '\t']);
        let last = if is_cut { words.pop() } else { None };
        Self { words, last }
    }

    /// Returns true if a command begins with exactly these words.
    fn is_strictly_of(&self, words: &[Word]) -> bool {
        let rest = words.strip_prefix(self.words.as_slice());
        rest.is_some_and(|rest| match (&self.last, rest) {
            (None, _) => true,
            (Some(last), [word, ..]) => word.text.starts_with(&last.text),
            (Some(_), []) => false,
        })
    }

    /// Returns true if a command has the rule's beginning, ignoring options before a word (each with its value) and the
    /// folder of the program: `/usr/bin/git -C . push` begins with `git push`.
    fn is_of(&self, words: &[Word]) -> bool {
        let mut rest = words;
        for (at, wanted) in self.words.iter().chain(&self.last).enumerate() {
            let is_last = at == self.words.len();
            let is_wanted = |word: &Word| match (at, is_last) {
                (0, false) => is_same_program(&wanted.text, &word.text),
                (0, true) => base_name(&word.text).starts_with(&wanted.text),
                (_, false) => word.text == wanted.text,
                (_, true) => word.text.starts_with(&wanted.text),
            };
            let mut takes_value = false;
            let found = rest.iter().position(|word| {
                let is_passed = at > 0 && (takes_value || word.text.starts_with('-'));
                takes_value = word.text.starts_with('-') && !word.text.contains('=');
                !is_passed || is_wanted(word)
            });
            match found {
                Some(found) if is_wanted(&rest[found]) => rest = &rest[found + 1..],
                Some(_) | None => return false,
            }
        }
        true
    }
}

/// Returns the words of a command from the name of each program that it runs on.
fn programs(command: &ShellCommand) -> impl Iterator<Item = &[Word]> {
    command.starts.iter().map(|start| &command.words[*start..])
}

fn is_same_program(rule: &str, name: &str) -> bool {
    rule == name || rule == base_name(name)
}

fn is_same_command(rule: &[Word], words: &[Word]) -> bool {
    let is_same = |(at, (rule, word)): (usize, (&Word, &Word))| match at {
        0 => is_same_program(&rule.text, &word.text),
        _ => rule.text == word.text,
    };
    rule.len() == words.len() && rule.iter().zip(words).enumerate().all(is_same)
}

/// Returns true if a text is empty or the beginning of one command whose words say what it does.
fn is_single(text: &str) -> bool {
    match shell_commands(text).as_slice() {
        [] => text.trim().is_empty(),
        [command] => !command.is_opaque && command.targets.is_empty(),
        _ => false,
    }
}

/// Returns true if a subject has this prefix; a blank at the end of the prefix also matches the end of the subject.
fn begins(subject: &str, begin: &str) -> bool {
    let whole = begin.trim_end();
    let is_whole = whole.len() < begin.len() && subject.trim_end() == whole;
    subject.starts_with(begin) || is_whole
}

impl TryFrom<Written> for Rule {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match (written.exact, written.pattern) {
            (Some(text), None) => Self::exact(&written.tool, &text),
            (None, Some(pattern)) if pattern.trim_end().ends_with('*') => {
                Self::of_pattern(&written.tool, &pattern)
            }
            (None, Some(pattern)) => Err(format!(
                "the pattern {pattern} does not end in *; write it as exact"
            )),
            (Some(_), Some(_)) | (None, None) => {
                Err("a rule has either exact or pattern".to_owned())
            }
        }
    }
}

impl From<Rule> for Written {
    fn from(rule: Rule) -> Self {
        let text = rule.text();
        let (exact, pattern) = match rule.subject {
            Subject::Exact(_) => (Some(text), None),
            Subject::Begins(_) => (None, Some(text)),
        };
        Self {
            tool: rule.tool,
            exact,
            pattern,
        }
    }
}

impl Rules {
    /// Returns the decision of the rules about a call; denials come first. A line of commands is allowed as a whole, or
    /// if each of its commands is, including those in substitutions, and the words of each say what it does.
    pub fn rule_decision(&self, tool: &str, subject: &str) -> Option<RuleDecision> {
        let subject = subject.trim();
        let line = match tool {
            SHELL if !self.is_empty() => shell_commands(subject),
            _ => Vec::new(),
        };
        if self
            .deny
            .iter()
            .any(|rule| rule.denies(tool, subject, &line))
        {
            return Some(RuleDecision::Denied);
        }
        let mut commands = line.iter().filter(|it| it.runner != Runner::Script);
        let is_allowed = |command: &ShellCommand| {
            let is_known = command.words.first().is_some_and(|word| !word.is_open);
            is_known
                && !command.is_opaque
                && self.allow.iter().any(|rule| rule.allows_command(command))
        };
        let allowed = self.allow.iter().any(|rule| rule.allows(tool, subject))
            || (!line.is_empty() && commands.all(is_allowed));
        allowed.then_some(RuleDecision::Allowed)
    }

    /// Adds a rule; it replaces the opposite rule about the same calls.
    pub fn add(&mut self, rule: Rule, rule_decision: RuleDecision) {
        self.remove(&rule);
        match rule_decision {
            RuleDecision::Allowed => self.allow.push(rule),
            RuleDecision::Denied => self.deny.push(rule),
        }
    }

    /// Removes a rule; returns whether it was there.
    pub fn remove(&mut self, rule: &Rule) -> bool {
        let before = self.allow.len() + self.deny.len();
        self.allow.retain(|known| known != rule);
        self.deny.retain(|known| known != rule);
        self.allow.len() + self.deny.len() < before
    }

    /// Returns true if there is no rule.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }
}
