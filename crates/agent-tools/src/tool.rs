//! The trait of a tool, and the properties of its calls.

use llm_providers::BoxFuture;
use serde_json::Value;

use crate::context::ToolContext;
use crate::output::ToolOutput;

/// The kind of a tool, as in the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files or content.
    Edit,
    /// Runs commands or code.
    Execute,
    /// Looks for something in files or data.
    Search,
    /// Plans or reasons.
    Think,
    /// Something else.
    Other,
}

impl ToolKind {
    /// Returns the name that the Agent Client Protocol uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Execute => "execute",
            Self::Search => "search",
            Self::Think => "think",
            Self::Other => "other",
        }
    }
}

/// The other calls that may run at the same time as a call of the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// None.
    Alone,
    /// Calls of read-only tools.
    WithReaders,
    /// Calls of read-only tools if this one is read-only too, and calls that touch other paths.
    WithOtherPaths,
    /// Every call that allows it.
    WithAny,
}

/// Says if a call whose result was lost may run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idempotency {
    /// It may: a second run ends in the same state as the first.
    Idempotent,
    /// It may not: what the first run did is unknown.
    NotIdempotent,
}

/// The kind of path in a tool's argument `path`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathArgument {
    /// A file.
    File,
    /// A folder; by default the workspace.
    Folder,
    /// A file or a folder; by default the workspace.
    FileOrFolder,
}

/// Properties of every call of a tool, known before it runs: [`UNKNOWN`](Self::UNKNOWN) or [`READ`](Self::READ),
/// changed field by field.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolMeta {
    /// The kind of the tool.
    pub kind: ToolKind,
    /// True if it changes nothing outside the session.
    pub read_only: bool,
    /// The other calls that may run at the same time.
    pub concurrency: Concurrency,
    /// Says if a call whose result was lost may run again.
    pub idempotency: Idempotency,
    /// True if calls need approval even if no policy is set. Other calls need it only if the settings require it.
    pub needs_approval: bool,
    /// The kind of its argument `path`; none for a tool without one.
    pub path: Option<PathArgument>,
    /// True if calls read the session: others get no [`history`](crate::ToolContext::history).
    pub reads_session: bool,
}

impl ToolMeta {
    /// A tool without known properties: its calls may change anything.
    pub const UNKNOWN: Self = Self {
        kind: ToolKind::Other,
        read_only: false,
        concurrency: Concurrency::Alone,
        idempotency: Idempotency::NotIdempotent,
        needs_approval: true,
        path: None,
        reads_session: false,
    };

    /// A tool that reads, and needs no approval.
    pub const READ: Self = Self {
        kind: ToolKind::Read,
        read_only: true,
        concurrency: Concurrency::WithReaders,
        idempotency: Idempotency::Idempotent,
        needs_approval: false,
        path: None,
        reads_session: false,
    };

    /// Returns it with another kind.
    pub const fn of_kind(self, kind: ToolKind) -> Self {
        Self { kind, ..self }
    }

    /// Returns it with other calls that may run at the same time.
    pub const fn concurrent(self, concurrency: Concurrency) -> Self {
        Self {
            concurrency,
            ..self
        }
    }

    /// Returns it for calls that look into the session.
    pub const fn reading_the_session(self) -> Self {
        Self {
            reads_session: true,
            ..self
        }
    }

    /// Returns true if two calls may run at the same time; `same_path` is true if they touch a common path.
    pub fn may_run_with(&self, other: &Self, same_path: bool) -> bool {
        use Concurrency::{Alone, WithAny, WithOtherPaths, WithReaders};
        let readers = self.read_only && other.read_only;
        match (self.concurrency, other.concurrency) {
            (Alone, _) | (_, Alone) => false,
            (WithReaders, _) | (_, WithReaders) => readers,
            (WithOtherPaths, WithOtherPaths) => readers || !same_path,
            (WithAny, WithAny | WithOtherPaths) | (WithOtherPaths, WithAny) => true,
        }
    }
}

/// Something that a model can call.
pub trait Tool: Send + Sync {
    /// Returns the name that the model calls.
    fn name(&self) -> &str;

    /// Returns what it does, for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of its arguments.
    fn parameters(&self) -> Value;

    /// Returns what is known about its calls. Nothing else decides by the name of a tool.
    fn meta(&self) -> ToolMeta;

    /// Returns the paths that a call names, as it names them: by default its argument `path`.
    fn paths(&self, arguments: &Value) -> Vec<String> {
        let named = self.meta().path.and_then(|_| arguments.get("path"));
        let named = named.and_then(Value::as_str).map(str::to_owned);
        named.into_iter().collect()
    }

    /// Returns the subject of a call for rules and questions; none for a call that cannot run. Only called for tools
    /// that need approval: rules match the others by their path, or else by their arguments.
    fn approval_subject(&self, arguments: &Value) -> Option<String> {
        Some(arguments.to_string())
    }

    /// Runs one call that is allowed. Ends soon after `context.cancel` fires.
    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput>;
}

#[cfg(test)]
mod tests {
    use super::{Concurrency, ToolMeta};

    #[test]
    fn two_calls_run_together_only_where_both_tools_allow_it() {
        use Concurrency::{Alone, WithAny, WithOtherPaths, WithReaders};
        let mut text = String::new();
        let all = [Alone, WithReaders, WithOtherPaths, WithAny];
        for (at, concurrency) in all.into_iter().enumerate() {
            for other in &all[at..] {
                for (name, read_only) in [("read", true), ("change", false)] {
                    let meta = |concurrency| ToolMeta {
                        read_only,
                        concurrency,
                        ..ToolMeta::READ
                    };
                    let [one, two] = [meta(concurrency), meta(*other)];
                    let may =
                        |same| match (one.may_run_with(&two, same), two.may_run_with(&one, same)) {
                            (true, true) => "yes",
                            (false, false) => "no",
                            _ => "asymmetric",
                        };
                    text.push_str(&format!(
                        "{concurrency:?} {other:?} {name}: {} {}\n",
                        may(false),
                        may(true)
                    ));
                }
            }
        }
        insta::assert_snapshot!(text, @"
        Alone Alone read: no no
        Alone Alone change: no no
        Alone WithReaders read: no no
        Alone WithReaders change: no no
        Alone WithOtherPaths read: no no
        Alone WithOtherPaths change: no no
        Alone WithAny read: no no
        Alone WithAny change: no no
        WithReaders WithReaders read: yes yes
        WithReaders WithReaders change: no no
        WithReaders WithOtherPaths read: yes yes
        WithReaders WithOtherPaths change: no no
        WithReaders WithAny read: yes yes
        WithReaders WithAny change: no no
        WithOtherPaths WithOtherPaths read: yes yes
        WithOtherPaths WithOtherPaths change: yes no
        WithOtherPaths WithAny read: yes yes
        WithOtherPaths WithAny change: yes yes
        WithAny WithAny read: yes yes
        WithAny WithAny change: yes yes
        ");
    }
}
