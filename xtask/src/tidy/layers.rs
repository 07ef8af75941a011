//! The layers, and what pure crates may depend on.

/// The crates of the workspace, from the lowest layer to the highest: each may depend on those before it; the pure
/// ones come first.
pub const LAYERS: [&str; 27] = [
    "test-support",
    "session-model",
    "session-facts",
    "session-recall",
    "session-import",
    "compaction-core",
    "session-html",
    "hooks",
    "llm-providers",
    "llm-catalog",
    "llm-script",
    "session-store",
    "session-store-postgres",
    "session-finder",
    "agent-tools",
    "summarize",
    "session-tools",
    "session-protocol",
    "session-text",
    "project-instructions",
    "agent-settings",
    "agent-rpc",
    "agent-session",
    "agent-tui",
    "agent-acp",
    "agent-cli",
    "xtask",
];

/// The allowed dependencies of the pure crates: nothing that does input or output, waits, or draws random numbers.
pub const PURE: [(&str, &[&str]); 5] = [
    (
        "session-model",
        &[
            "aho-corasick",
            "askama",
            "bpe-openai",
            "hashbrown",
            "jiff",
            "memchr",
            "rustc-hash",
            "ryu-js",
            // Derives schemas from types: no input or output, and only with its feature.
            "schemars",
            "serde",
            "serde_json",
            "thiserror",
        ],
    ),
    ("session-facts", &["blake3", "serde_json"]),
    (
        "session-recall",
        &["aho-corasick", "memchr", "serde", "serde_json", "strsim"],
    ),
    (
        "compaction-core",
        &[
            "aho-corasick",
            "askama",
            "blake3",
            // Derives the schema of settings from their types: no input or output, and only with its feature.
            "schemars",
            "serde",
            "serde_json",
            "session-model",
            "thiserror",
        ],
    ),
    (
        "session-import",
        &[
            "memchr",
            "serde",
            "serde_json",
            "session-model",
            "thiserror",
        ],
    ),
];

/// Licences of direct dependencies that are compatible with ours.
pub const LICENCES: [&str; 7] = [
    "MIT",
    "Apache-2.0",
    "BSD-3-Clause",
    "CC0-1.0",
    // Of nucleo-matcher, used as it is: it covers the files of that crate alone.
    "MPL-2.0",
    "Unlicense",
    "Zlib",
];
