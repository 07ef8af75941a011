//! Rules that say which calls of a project may run and which may not, as they stand in the file of approvals.

use serde::{Deserialize, Serialize};

/// Characters with which a shell does more than run one command with its words.
const STEERING: [char; 11] = ['&', '|', ';', '<', '>', '`', '$', '(', ')', '\n', '\r'];

/// The tool whose subjects are commands.
const SHELL: &str = "bash";

/// Words that lead up to a command.
const LEADING: [&str; 12] = [
    "{", "!", "if", "then", "do", "else", "while", "time", "command", "exec", "sudo", "env",
];

/// The longest subject of a rule, in bytes; what is longer is not remembered.
const LONGEST: usize = 10_000;

/// Which calls a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Those with exactly this subject, white space around it aside.
    Exact(String),
    /// Those whose subject begins so; a blank at the end stands for the end of a word.
    Begins(String),
}

/// A rule about calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Rule {
    /// The tool.
    pub tool: String,
    /// Which of its calls.
    pub subject: Subject,
}

/// A rule as it is written: one of the two members says what it is about.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

/// What is known about the calls of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Calls that may run.
    pub allow: Vec<Rule>,
    /// Calls that may not, whatever else is allowed.
    pub deny: Vec<Rule>,
}

/// What rules say about a call.
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

    /// Returns the rule of a pattern: with `*` at its end about what begins so, else about exactly that.
    ///
    /// # Errors
    /// Those of [`exact`](Self::exact), and a pattern with a character that joins or redirects commands.
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
            Subject::Begins(text) if text.contains(STEERING) => {
                return Err(format!(
                    "{text}*: a rule that ends in * holds for single commands only, and this has a character that joins or redirects them; leave it out, or name the whole command with --exact"
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

    /// Returns whether the rule allows a call. A beginning allows no command that a shell would take for more than one.
    fn allows(&self, tool: &str, subject: &str) -> bool {
        let subject = subject.trim();
        self.is_of(tool)
            && match &self.subject {
                Subject::Exact(text) => text == subject,
                Subject::Begins(begin) => {
                    let steers = |c: char| STEERING.contains(&c) || (c.is_control() && c != '\t');
                    begins(subject, begin) && !subject.contains(steers)
                }
            }
    }

    /// Returns whether the rule is against a call. A beginning is looked for in every command of a line; the number of
    /// blanks and options before the second word do not count.
    fn denies(&self, tool: &str, subject: &str) -> bool {
        let subject = subject.trim();
        self.is_of(tool)
            && match &self.subject {
                Subject::Exact(text) if tool == SHELL => normalized(text) == normalized(subject),
                Subject::Exact(text) => text == subject,
                Subject::Begins(begin) if tool == SHELL => {
                    let (line, begin) = (normalized(subject), normalized(begin));
                    line.split(STEERING).any(|part| runs(part, &begin))
                }
                Subject::Begins(begin) => begins(subject, begin),
            }
    }

    /// Returns whether the rule is about calls of a tool: its own one, or one of its server.
    fn is_of(&self, tool: &str) -> bool {
        let server = self.tool.strip_suffix("__*");
        let of_server = tool.split_once("__").map(|(server, _)| server);
        self.tool == tool || (server.is_some() && server == of_server)
    }
}

/// Returns a command with one blank where there are several blanks or tabs, and with its continued lines joined.
fn normalized(command: &str) -> String {
    let mut normalized = String::with_capacity(command.len());
    for character in command.replace("\\\n", "").chars() {
        let blank = matches!(character, ' ' | '\t');
        if !(blank && normalized.ends_with(' ')) {
            normalized.push(if blank { ' ' } else { character });
        }
    }
    normalized
}

/// Returns whether a command begins so, where need be behind words that only lead up to it.
fn runs(command: &str, begin: &str) -> bool {
    let mut rest = command.trim_start();
    let mut led = false;
    loop {
        if begins(rest, begin) || begins_behind_options(rest, begin) {
            return true;
        }
        let Some((word, behind)) = rest.split_once(' ') else {
            return false;
        };
        let sets = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        });
        if !(sets || LEADING.contains(&word) || (led && word.starts_with('-'))) {
            return false;
        }
        led |= !sets;
        rest = behind.trim_start();
    }
}

/// Returns whether a command begins so when options between its first word and the next ones are passed over, each with
/// its value: `git -C . push` begins with `git push`.
fn begins_behind_options(command: &str, begin: &str) -> bool {
    let words = begin.split_once(' ').filter(|(_, words)| !words.is_empty());
    let behind = words.and_then(|(program, words)| {
        let behind = command.strip_prefix(program)?.strip_prefix(' ')?;
        Some((behind, words))
    });
    let Some((mut rest, words)) = behind else {
        return false;
    };
    let mut takes_value = false;
    while !begins(rest, words) {
        let Some((word, behind)) = rest.split_once(' ') else {
            return false;
        };
        let is_option = word.starts_with('-');
        if !(is_option || takes_value) {
            return false;
        }
        takes_value = is_option && !word.contains('=');
        rest = behind.trim_start();
    }
    true
}

/// Returns whether a subject begins so; a blank at the end of the beginning may also be the end of the subject.
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
    /// Returns what the rules say about a call; those against it go first.
    pub fn rule_decision(&self, tool: &str, subject: &str) -> Option<RuleDecision> {
        if self.deny.iter().any(|rule| rule.denies(tool, subject)) {
            return Some(RuleDecision::Denied);
        }
        let allowed = self.allow.iter().any(|rule| rule.allows(tool, subject));
        allowed.then_some(RuleDecision::Allowed)
    }

    /// Adds a rule, which takes the place of one that says the opposite of the same calls.
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

    /// Returns whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }
}
