//! What each crate may depend on.

/// Which crates of the workspace each crate may depend on.
pub const LAYERS: [(&str, &[&str]); 22] = [
    ("session-model", &[]),
    ("session-facts", &["session-model"]),
    ("compaction-core", &["session-model", "session-facts"]),
    ("session-recall", &["session-model", "session-facts"]),
    ("llm-providers", &["session-model"]),
    ("llm-catalog", &["session-model", "llm-providers"]),
    ("llm-script", &["session-model", "llm-providers"]),
    ("hooks", &["session-model", "compaction-core"]),
    ("session-store", &["session-model"]),
    (
        "session-store-postgres",
        &["session-model", "session-store"],
    ),
    ("session-import", &["session-model"]),
    (
        "session-finder",
        &["session-model", "session-store", "session-import"],
    ),
    (
        "session-html",
        &["session-model", "session-facts", "compaction-core"],
    ),
    (
        "agent-tools",
        &["session-model", "session-facts", "llm-providers", "hooks"],
    ),
    (
        "agent-session",
        &[
            "session-model",
            "session-facts",
            "compaction-core",
            "session-recall",
            "hooks",
            "llm-providers",
            "llm-catalog",
            "llm-script",
            "session-store",
            "agent-tools",
        ],
    ),
    (
        "agent-rpc",
        &[
            "session-model",
            "compaction-core",
            "llm-providers",
            "session-store",
            "agent-tools",
            "agent-session",
        ],
    ),
    (
        "agent-settings",
        &[
            "session-model",
            "compaction-core",
            "hooks",
            "llm-providers",
            "llm-catalog",
            "session-store",
            "agent-tools",
            "agent-session",
        ],
    ),
    (
        "agent-tui",
        &[
            "session-model",
            "compaction-core",
            "session-recall",
            "session-store",
            "agent-tools",
            "agent-session",
        ],
    ),
    (
        "agent-acp",
        &[
            "session-model",
            "session-facts",
            "compaction-core",
            "llm-providers",
            "session-store",
            "agent-tools",
            "agent-session",
        ],
    ),
    (
        "agent-cli",
        &[
            "session-model",
            "compaction-core",
            "session-recall",
            "hooks",
            "llm-providers",
            "llm-catalog",
            "llm-script",
            "session-store",
            "session-store-postgres",
            "session-finder",
            "session-html",
            "session-import",
            "agent-tools",
            "agent-session",
            "agent-settings",
            "agent-rpc",
            "agent-acp",
            "agent-tui",
        ],
    ),
    ("test-support", &[]),
    (
        "xtask",
        &[
            "session-model",
            "compaction-core",
            "llm-providers",
            "llm-catalog",
            "hooks",
            "session-store",
            "session-import",
            "agent-tools",
            "agent-session",
            "agent-settings",
            "agent-rpc",
            "agent-cli",
            "test-support",
        ],
    ),
];

/// What the pure crates may depend on: nothing that does input or output, waits, or draws random numbers.
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

/// Licences of direct dependencies that go with ours.
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
