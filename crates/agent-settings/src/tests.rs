//! Layers, errors, origins and schema of settings.

use std::path::PathBuf;

use compaction_core::Strategy;
use insta::assert_snapshot;
use serde_json::{Value, json};
use session_protocol::settings::AutoContinue;
use tempfile::TempDir;

use super::{
    AppSettings, BashPolicy, FileState, Layer, Loaded, Sources, SyncSetting, key_table, keys,
    keys_of, load_layers, path::KeyPath, schema,
};

/// A folder with a home, a project and a configuration in it, and the sources that point there.
struct Place {
    folder: TempDir,
    sources: Sources,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for name in ["home/repo/.git", "home/repo/src", "config"] {
            std::fs::create_dir_all(root.join(name)).expect("folders");
        }
        let sources = Sources {
            cwd: Some(root.join("home/repo/src")),
            home: Some(root.join("home")),
            config_dir: Some(root.join("config")),
            ..Sources::default()
        };
        Self { folder, sources }
    }

    fn path(&self, name: &str) -> PathBuf {
        let root = self.folder.path().canonicalize().expect("a path");
        root.join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn global(self, text: impl AsRef<[u8]>) -> Self {
        self.write("config/settings.json", text);
        self
    }

    fn project(self, text: impl AsRef<[u8]>) -> Self {
        self.write("home/repo/.agent-cli/settings.json", text);
        self
    }

    fn set(mut self, pairs: &[&str]) -> Self {
        self.sources.set = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        self
    }

    fn env(mut self, pairs: &[(&str, &str)]) -> Self {
        let pairs = pairs.iter();
        self.sources.env = pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        self
    }

    fn try_load(&self) -> Result<Loaded, String> {
        load_layers(&self.sources).map_err(|error| error.to_string().replace(&self.root(), "[DIR]"))
    }

    fn load(&self) -> Loaded {
        self.try_load().expect("settings that can be used")
    }

    fn error(&self) -> String {
        self.try_load().expect_err("settings that cannot be used")
    }

    fn root(&self) -> String {
        self.path("")
            .display()
            .to_string()
            .trim_end_matches('/')
            .to_owned()
    }

    /// Returns where a value comes from, without the folder of the test.
    fn origin(&self, loaded: &Loaded, key: &str) -> String {
        loaded
            .origin(key)
            .to_string()
            .replace(&self.root(), "[DIR]")
    }
}

fn with_set(pairs: &[&str]) -> Result<AppSettings, String> {
    let loaded = Place::new().set(pairs).try_load()?;
    Ok(loaded.settings)
}

#[test]
fn nothing_is_needed() {
    let nothing = load_layers(&Sources::default()).expect("defaults");
    assert_eq!(nothing.settings, AppSettings::default());
    assert!(nothing.origins.is_empty());
    assert!(Sources::default().files().is_empty());
    let empty = Place::new().load();
    assert_eq!(empty.settings, AppSettings::default());
    let files = Place::new().sources.files();
    let states: Vec<FileState> = files.iter().map(|file| file.state).collect();
    assert_eq!(states, [FileState::Missing; 2]);
}

#[test]
fn each_layer_goes_before_those_above_it() {
    let mut place = Place::new();
    let mut seen = vec![place.load().settings.compaction.rules.file_list_limit];
    let limit = |limit: u32| json!({"compaction": {"fileListLimit": limit}});
    place = place.global(limit(1).to_string());
    seen.push(place.load().settings.compaction.rules.file_list_limit);
    place = place.project(limit(2).to_string());
    seen.push(place.load().settings.compaction.rules.file_list_limit);
    place.sources.extra = Some(("review.rhai".to_owned(), limit(3)));
    seen.push(place.load().settings.compaction.rules.file_list_limit);
    place.write("own.json", limit(4).to_string());
    place.sources.file = Some(place.path("own.json"));
    seen.push(place.load().settings.compaction.rules.file_list_limit);
    place = place.env(&[("AGENT_CLI__compaction__fileListLimit", "5")]);
    seen.push(place.load().settings.compaction.rules.file_list_limit);
    place = place.set(&["compaction.fileListLimit=6"]);
    seen.push(place.load().settings.compaction.rules.file_list_limit);
    place = place.set(&["compaction.fileListLimit=6", "compaction.fileListLimit=7"]);
    seen.push(place.load().settings.compaction.rules.file_list_limit);
    assert_eq!(seen, [200, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn objects_merge_and_lists_replace() {
    let place = Place::new()
        .global(
            r#"{"compaction": {"prune": {"protectedTools": ["a", "b"], "minimumTokens": 7}, "reserveTokens": 9000},
                "providers": {"lab": {"baseUrl": "http://127.0.0.1:1/v1", "headers": {"X-One": "1"}}}}"#,
        )
        .project(r#"{"compaction": {"prune": {"protectedTools": ["c"]}, "reserveTokens": null}}"#)
        .set(&[
            r#"providers={"lab": {"headers": {"X-Two": "2"}}}"#,
            "compaction={}",
        ]);
    let settings = place.load().settings;
    assert_eq!(settings.compaction.rules.prune.protected_tools, ["c"]);
    assert_eq!(settings.compaction.rules.prune.minimum_tokens.0, 7);
    assert_eq!(settings.compaction.rules.reserve_tokens, None);
    let lab = &settings.providers["lab"];
    let headers = lab.headers.as_ref().expect("headers");
    assert_eq!(headers.keys().collect::<Vec<_>>(), ["X-One", "X-Two"]);
    assert_eq!(lab.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
}

#[test]
fn every_value_says_where_it_comes_from() {
    let mut place = Place::new()
        .global("{\n  \"model\": \"openai/gpt-5\",\n  \"compaction\": {\n    \"enabled\": false,\n    \"model\":\n      \"a/b\"\n  }\n}\n")
        .project("{\"compaction\": {\"prune\": {\n\"protectedTools\": [\n\"x\"]}}}")
        .env(&[
            ("AGENT_CLI__compaction__idleEnabled", "true"),
            ("HOME", "/nowhere"),
        ])
        .set(&["compaction.enabled=true", r#"models."openai/gpt-6.2-sol".window=5000"#]);
    place.sources.extra = Some((
        "review.rhai".to_owned(),
        json!({"systemPrompt": "Be brief."}),
    ));
    let loaded = place.load();
    let origins: Vec<String> = loaded
        .origins
        .keys()
        .map(|key| format!("{key}: {}", place.origin(&loaded, key)))
        .collect();
    assert_snapshot!(origins.join("\n"), @r#"
    compaction.enabled: --set
    compaction.idleEnabled: AGENT_CLI__compaction__idleEnabled
    compaction.model: [DIR]/config/settings.json, line 6
    compaction.prune.protectedTools: [DIR]/home/repo/.agent-cli/settings.json, line 2
    model: [DIR]/config/settings.json, line 2
    models."openai/gpt-6.2-sol".window: --set
    systemPrompt: review.rhai
    "#);
    assert_eq!(loaded.origin("compaction.strategy").layer, Layer::Default);
    assert_eq!(loaded.origin("compaction.enabled").layer, Layer::Set);
    assert!(loaded.settings.compaction.session.enabled);
}

#[test]
fn the_project_is_found_from_inside_it() {
    let place = Place::new().project(r#"{"systemPrompt": "in/repo"}"#);
    place.write(
        "home/.agent-cli/settings.json",
        r#"{"systemPrompt": "in/home"}"#,
    );
    place.write(
        ".agent-cli/settings.json",
        r#"{"systemPrompt": "outside/all"}"#,
    );
    let prompt = |cwd: &str, home: &str| {
        let sources = Sources {
            cwd: Some(place.path(cwd)),
            home: Some(place.path(home)),
            ..place.sources.clone()
        };
        load_layers(&sources)
            .expect("settings")
            .settings
            .system_prompt
    };
    assert_eq!(prompt("home/repo/src", "home").as_deref(), Some("in/repo"));
    assert_eq!(prompt("home/repo", "home").as_deref(), Some("in/repo"));
    assert_eq!(prompt("home", "home"), None);
    // Outside the home folder only the folder itself is trusted, not its parents.
    assert_eq!(prompt("config", "home"), None);
    assert_eq!(prompt("home", "config").as_deref(), Some("in/home"));
    place.write(
        "home/repo/src/.agent-cli/settings.json",
        r#"{"systemPrompt": "in/src"}"#,
    );
    assert_eq!(prompt("home/repo/src", "home").as_deref(), Some("in/src"));
}

#[test]
fn a_global_folder_inside_the_project_is_no_projects() {
    let mut place = Place::new().project(r#"{"tools": {"bash": "deny"}}"#);
    assert!(place.error().contains("tools.bash"));
    place.sources.config_dir = Some(place.path("home/repo/.agent-cli"));
    assert_eq!(place.load().settings.tools.bash, Some(BashPolicy::Deny));
}

#[test]
fn comments_and_trailing_commas_are_allowed() {
    let place = Place::new().global(
        "// mine\n{\n  /* off */ \"compaction\": { \"enabled\": false, },\n  \"tools\": {\"folders\": [\"a\", \"b\",],},\n}\n",
    );
    let loaded = place.load();
    assert!(!loaded.settings.compaction.session.enabled);
    assert_eq!(loaded.settings.tools.folders, ["a", "b"]);
    assert_eq!(
        place.origin(&loaded, "compaction.enabled"),
        "[DIR]/config/settings.json, line 3"
    );
    let said = |text: &str| Place::new().global(text).error();
    assert_snapshot!(said("{\n// on\n\"compaction\": {\n\"enabled\": 7, // no\n}}"), @"settings [DIR]/config/settings.json, line 4: compaction.enabled is 7, but must be true or false");
    for other in [
        "{model: \"a/b\"}",
        "{'model': \"a/b\"}",
        "{\"http\": {\"attempts\": 0x2}}",
        "{\"a\": 1 \"b\": 2}",
    ] {
        assert!(said(other).contains("no JSON at column"), "{}", said(other));
    }
}

#[test]
fn a_settings_jsonl_is_refused() {
    for folder in ["config", "home/repo/.agent-cli"] {
        let place = Place::new();
        place.write(&format!("{folder}/settings.jsonl"), "{}");
        let said = place.error();
        let wanted = format!(
            "settings [DIR]/{folder}/settings.jsonl: this form is not read; rename it to settings.json and write one JSON object"
        );
        assert_eq!(said, wanted);
        place.write(&format!("{folder}/settings.json"), "{}");
        assert_eq!(place.load().settings, AppSettings::default());
    }
}

#[test]
fn a_value_out_of_range() {
    let said = |text: &str| Place::new().global(text).error();
    assert_snapshot!(said("{\n\n\"compaction\": {\n\n\n\n\"thresholdPercent\": 200}}"), @"settings [DIR]/config/settings.json, line 7: compaction.thresholdPercent is 200, but must be a whole number, at most 100");
    assert_snapshot!(said(r#"{"compaction": {"background": {"atPercent": 49}}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.background.atPercent is 49, but must be a whole number from 50 to 99");
    assert_snapshot!(said(r#"{"compaction": {"background": {"atPercent": 300}}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.background.atPercent is 300, but must be a whole number from 50 to 99");
    assert_snapshot!(said(r#"{"compaction": {"background": {"graceSeconds": 301}}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.background.graceSeconds is 301, but must be a whole number from 0 to 300");
    assert_snapshot!(said(r#"{"compaction": {"keepRecentTokens": 0}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.keepRecentTokens is 0, but must be a whole number, at least 1");
    assert_snapshot!(said(r#"{"compaction": {"keepRecentTokens": -5}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.keepRecentTokens is -5, but must be a whole number, at least 1");
    assert_snapshot!(said(r#"{"compaction": {"idleTimeoutSeconds": 5}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.idleTimeoutSeconds is 5, but must be a whole number from 60 to 3600");
    assert_snapshot!(said(r#"{"http": {"attempts": 0}}"#), @"settings [DIR]/config/settings.json, line 1: http.attempts is 0, but must be a whole number, at least 1");
    assert_snapshot!(said(r#"{"tools": {"bashTimeoutSeconds": 0}}"#), @"settings [DIR]/config/settings.json, line 1: tools.bashTimeoutSeconds is 0, but must be a whole number, at least 1");
    assert_snapshot!(said(r#"{"instructions": {"maxBytes": 1000001}}"#), @"settings [DIR]/config/settings.json, line 1: instructions.maxBytes is 1000001, but must be a whole number from 1000 to 1000000");
    assert_snapshot!(said(r#"{"tools": {"outputBytes": 10}}"#), @"settings [DIR]/config/settings.json, line 1: tools.outputBytes is 10, but must be a whole number, at least 1000");
    // It is an error also where another layer sets it right.
    let place = Place::new()
        .global("{\"http\": {\"attempts\": 0}}")
        .set(&["http.attempts=1"]);
    assert_snapshot!(place.error(), @"settings [DIR]/config/settings.json, line 1: http.attempts is 0, but must be a whole number, at least 1");
}

#[test]
fn a_value_of_the_wrong_kind() {
    let said = |text: &str| Place::new().global(text).error();
    assert_snapshot!(said(r#"{"compaction": {"enabled": "yes"}}"#), @r#"settings [DIR]/config/settings.json, line 1: compaction.enabled is "yes", but must be true or false"#);
    assert_snapshot!(said(r#"{"compaction": true}"#), @"settings [DIR]/config/settings.json, line 1: compaction is true, but must be an object");
    assert_snapshot!(said(r#"{"compaction": {"strategy": "best"}}"#), @r#"settings [DIR]/config/settings.json, line 1: compaction.strategy is "best", but must be "context-full", "handoff", "restore", "prune-only", "extractive", "off" or a list of them"#);
    assert_snapshot!(said("{\"compaction\": {\"strategy\": [\"handoff\",\n\"best\"]}}"), @r#"settings [DIR]/config/settings.json, line 2: compaction.strategy[1] is "best", but must be "context-full", "handoff", "restore", "prune-only", "extractive" or "off""#);
    assert_snapshot!(said(r#"{"compaction": {"strategy": []}}"#), @r#"settings [DIR]/config/settings.json, line 1: compaction.strategy is an empty list, but must be "context-full", "handoff", "restore", "prune-only", "extractive", "off" or a list of them"#);
    assert_snapshot!(said(r#"{"compaction": {"autoContinue": "sometimes"}}"#), @r#"settings [DIR]/config/settings.json, line 1: compaction.autoContinue is "sometimes", but must be true, false or "always""#);
    assert_snapshot!(said(r#"{"compaction": {"keepRecentTokens": 1.5}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.keepRecentTokens is 1.5, but must be a whole number, at least 1");
    assert_snapshot!(said(r#"{"compaction": {"model": ["a", "b"]}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.model is a list, but must be a text");
    assert_snapshot!(said(r#"{"compaction": {"promotionModels": "a/b"}}"#), @r#"settings [DIR]/config/settings.json, line 1: compaction.promotionModels is "a/b", but must be a list of texts"#);
    assert_snapshot!(said(r#"{"tools": {"bash": "sometimes"}}"#), @r#"settings [DIR]/config/settings.json, line 1: tools.bash is "sometimes", but must be "ask", "allow" or "deny""#);
    assert_snapshot!(said(r#"{"tools": {"enabled": ["read", 7]}}"#), @"settings [DIR]/config/settings.json, line 1: tools.enabled[1] is 7, but must be a text");
    assert_snapshot!(said(r#"{"session": {"sync": null}}"#), @r#"settings [DIR]/config/settings.json, line 1: session.sync is null, but must be "always" or "never""#);
    assert_snapshot!(said(r#"{"models": {"openai/gpt-5": {"prices": [{"input": 1}]}}}"#), @"settings [DIR]/config/settings.json, line 1: models.openai/gpt-5.prices[0] needs output");
    assert_snapshot!(said(r#"{"models": {"openai/gpt-5": {"prices": [{"input": "1", "output": 1}]}}}"#), @r#"settings [DIR]/config/settings.json, line 1: models.openai/gpt-5.prices[0].input is "1", but must be a number"#);
    let long = "x".repeat(100);
    assert_snapshot!(said(&json!({"compaction": {"enabled": long}}).to_string()), @r#"settings [DIR]/config/settings.json, line 1: compaction.enabled is "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..., but must be true or false"#);
}

#[test]
fn a_key_that_there_is_not() {
    let said = |text: &str| Place::new().global(text).error();
    assert_snapshot!(said("{\n\"compaction\": {\n\"keepRecentToken\": 1}}"), @"settings [DIR]/config/settings.json, line 3: compaction.keepRecentToken is not a setting; did you mean compaction.keepRecentTokens?");
    assert_snapshot!(said(r#"{"compaction": {"reserve": 1}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.reserve is not a setting; did you mean compaction.reserveTokens?");
    assert_snapshot!(said(r#"{"provider": {}}"#), @"settings [DIR]/config/settings.json, line 1: provider is not a setting; did you mean providers?");
    assert_snapshot!(said(r#"{"enabled": true}"#), @"settings [DIR]/config/settings.json, line 1: enabled is not a setting; did you mean compaction.enabled or compaction.background.enabled or compaction.prune.enabled?");
    assert_snapshot!(said(r#"{"keepRecentTokens": 1}"#), @"settings [DIR]/config/settings.json, line 1: keepRecentTokens is not a setting; did you mean compaction.keepRecentTokens?");
    assert_snapshot!(said(r#"{"compaction.enabled": true}"#), @r#"settings [DIR]/config/settings.json, line 1: "compaction.enabled" is not a setting; write {"compaction":{"enabled":"VALUE"}}"#);
    assert_snapshot!(said(r#"{"compaction": {"prune": {"colour": 1}}}"#), @"settings [DIR]/config/settings.json, line 1: compaction.prune.colour is not a setting; compaction.prune has enabled, minimumSavings, minimumTokens, protectTokens, protectedTools, supersedeReads; put a name with dots in double quotes");
    assert_snapshot!(said(r#"{"colour": 1}"#), @"settings [DIR]/config/settings.json, line 1: colour is not a setting; there are branchSummary, compaction, hooks, http, instructions, limits, mcpServers, model, models, providers, session, systemPrompt, terminal, thinking, tools");
    assert_snapshot!(said(r#"{"providers": {"lab": {"baseURL": "x"}}}"#), @"settings [DIR]/config/settings.json, line 1: providers.lab.baseURL is not a setting; did you mean providers.lab.baseUrl?");
    assert_snapshot!(said(r#"{"providers": {"mistral": {"compat": {"cacheContro": "never"}}}}"#), @"settings [DIR]/config/settings.json, line 1: providers.mistral.compat.cacheContro is not a setting; did you mean providers.mistral.compat.cacheControl?");
    assert_snapshot!(said("{\"\\u001b[2J\": 1}"), @r#"settings [DIR]/config/settings.json, line 1: " [2J" is not a setting; there are branchSummary, compaction, hooks, http, instructions, limits, mcpServers, model, models, providers, session, systemPrompt, terminal, thinking, tools"#);
}

#[test]
fn a_text_that_is_no_json() {
    let said = |text: &str| Place::new().global(text).error();
    assert_snapshot!(said(""), @"settings [DIR]/config/settings.json, line 1: the file is empty; write {} at least");
    for (text, line) in [
        ("{\n\"compaction\": {\n\"enabled\" true\n}}", 3),
        ("{\"compaction\": ", 1),
        ("{} {}", 1),
    ] {
        let wanted =
            format!("settings [DIR]/config/settings.json, line {line}: no JSON at column ");
        assert!(said(text).starts_with(&wanted), "{}", said(text));
    }
    assert_snapshot!(said("\n[]"), @"settings [DIR]/config/settings.json, line 2: must be a JSON object");
    assert_snapshot!(said("null"), @"settings [DIR]/config/settings.json, line 1: must be a JSON object");
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(said(&deep).contains("no JSON at column"), "{}", said(&deep));
    assert_snapshot!(Place::new().global(b"{\n\"model\": \"\xff\"}").error(), @"settings [DIR]/config/settings.json, line 2: no UTF-8 text; save it in that encoding");
    let marked = Place::new().global("\u{feff}{\"model\": \"a/b\"}").load();
    assert_eq!(marked.settings.model.as_deref(), Some("a/b"));
}

#[test]
fn a_key_that_stands_there_twice() {
    let said = |text: &str| Place::new().global(text).error();
    assert_snapshot!(said("{\"compaction\": {\"enabled\": true,\n\n\"enabled\": false}}"), @"settings [DIR]/config/settings.json, line 3: compaction.enabled occurs twice, first in line 1; keep one");
    assert_snapshot!(said(r#"{"model": "a/b", "model": "a/b"}"#), @"settings [DIR]/config/settings.json, line 1: model occurs twice; keep one");
    assert_snapshot!(said(r#"{"models": {"a/b": {"prices": [{}, {"input": 1, "input": 2}]}}}"#), @"settings [DIR]/config/settings.json, line 1: models.a/b.prices[1].input occurs twice; keep one");
}

#[test]
fn a_file_that_cannot_be_read() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("config/settings.json")).expect("a folder");
    assert_snapshot!(place.error(), @"settings [DIR]/config/settings.json: is a folder, but must be a file");
    let mut place = Place::new();
    place.sources.file = Some(place.path("missing.json"));
    assert_snapshot!(place.error(), @"cannot read settings [DIR]/missing.json: No such file or directory (os error 2)");
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_that_leads_nowhere_good() {
    let link = |to: &str| {
        let place = Place::new();
        let path = place.path("config/settings.json");
        std::os::unix::fs::symlink(to, path).expect("a link");
        place.error()
    };
    assert_snapshot!(link("settings.json"), @"cannot read settings [DIR]/config/settings.json: Too many levels of symbolic links (os error 40)");
    assert_snapshot!(link("nowhere.json"), @"cannot read settings [DIR]/config/settings.json: No such file or directory (os error 2)");
    assert_snapshot!(link("/dev/zero"), @"settings [DIR]/config/settings.json: is a device or a pipe, but must be a file");
}

#[test]
fn a_project_may_not_send_anything_elsewhere() {
    let said = |text: &str| Place::new().project(text).error();
    assert_snapshot!(said("{\n\"compaction\": {\"enabled\": false,\n\"remoteEndpoint\": \"https://evil.example\"}}"), @"settings [DIR]/home/repo/.agent-cli/settings.json, line 3: a project may not set compaction.remoteEndpoint; put it in the global file [DIR]/config/settings.json");
    let mut place = Place::new().project(r#"{"http": {}}"#);
    place.sources.config_dir = None;
    assert_snapshot!(place.error(), @"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: a project may not set http; put it in the global settings file");
    for (key, value) in [
        (
            "providers",
            json!({"openai": {"baseUrl": "https://evil.example"}}),
        ),
        ("providers", json!({})),
        ("compaction.remoteEndpoint", json!("https://evil.example")),
        ("compaction.remoteTokenEnv", json!("OPENAI_API_KEY")),
        ("compaction.remoteAllowInsecure", json!(true)),
        ("model", json!("evil/model")),
        ("compaction.model", json!("evil/model")),
        ("compaction.fallbackModels", json!(["evil/model"])),
        ("compaction.promotionModels", json!(["evil/model"])),
        ("tools.enabled", json!(["read"])),
        ("tools.bash", json!("allow")),
        ("session.dir", json!("/tmp")),
        ("http.attempts", json!(1)),
        ("hooks", json!([])),
        ("instructions.files", json!([".env"])),
        ("instructions.maxBytes", json!(500_000)),
        (
            r#"models."openai/gpt-5".baseUrl"#,
            json!("https://evil.example"),
        ),
        (r#"models."openai/gpt-5".headers"#, json!({})),
        (r#"models."openai/gpt-5".apiKeyEnv"#, json!("A")),
    ] {
        let path = KeyPath::parse(key).expect("a key");
        let wanted = match key {
            "http.attempts" => "a project may not set http;".to_owned(),
            key if key.starts_with("models") => {
                format!("a project may not set {path};")
            }
            key => format!("a project may not set {key};"),
        };
        let text = path.tree(value.clone()).to_string();
        assert!(said(&text).contains(&wanted), "{text}: {}", said(&text));
        // Nor does a script.
        let mut place = Place::new();
        place.sources.extra = Some(("script play.jsonl".to_owned(), path.tree(value)));
        let wanted = format!(
            "(script play.jsonl): {}",
            wanted.replace("project", "script")
        );
        assert!(place.error().contains(&wanted), "{}", place.error());
    }
}

/// serde would accept a list as an object with its members in order.
#[test]
fn a_list_is_no_object() {
    let said = |text: &str| Place::new().project(text).error();
    assert_snapshot!(said("{\"tools\":\n[null, \"allow\", 120, 50000]}"), @"settings [DIR]/home/repo/.agent-cli/settings.json, line 2: tools is a list, but must be an object");
    assert_snapshot!(said(r#"{"session": ["/tmp", "always"]}"#), @"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: session is a list, but must be an object");
    assert_snapshot!(said(r#"{"compaction": []}"#), @"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: compaction is an empty list, but must be an object");
    assert_snapshot!(said(r#"{"compaction": {"cutRule": {"fit": null}}}"#), @r#"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: compaction.cutRule is an object, but must be "nearest" or "fit""#);
    assert_snapshot!(said(r#"{"models": {"openai/gpt-5": [5000]}}"#), @"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: models.openai/gpt-5 is a list, but must be an object");
    let global = Place::new()
        .global(r#"{"models": {"openai/gpt-5": {"prices": [[0, 1, 2]]}}}"#)
        .error();
    assert_snapshot!(global, @"settings [DIR]/config/settings.json, line 1: models.openai/gpt-5.prices[0] is a list, but must be an object");
    assert_snapshot!(said(r#"{"compaction": {"strategy": {"off": null}}}"#), @r#"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: compaction.strategy is an object, but must be "context-full", "handoff", "restore", "prune-only", "extractive", "off" or a list of them"#);
}

#[test]
fn a_project_may_set_the_rest() {
    let place = Place::new().project(
        r#"{"systemPrompt": "Be brief.", "compaction": {"strategy": "extractive"}, "tools": {"outputBytes": 2000},
            "session": {"sync": "never"}, "branchSummary": {"enabled": true},
            "models": {"openai/gpt-6.2-sol": {"window": 5000, "maxOutput": 100, "tools": true, "images": true,
                "reasoning": true, "adaptiveThinking": true, "nativeStandalone": true, "nativeInBand": true}}}"#,
    );
    let settings = place.load().settings;
    assert_eq!(settings.session.sync, SyncSetting::Never);
    assert_eq!(settings.models["openai/gpt-6.2-sol"].window, Some(5000));
    let place = Place::new().project(r#"{"models": {"openai/gpt-6.2-sol": {"windows": 5000}}}"#);
    assert_snapshot!(place.error(), @r#"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: models."openai/gpt-6.2-sol".windows is not a setting; did you mean models."openai/gpt-6.2-sol".window?"#);
}

#[test]
fn a_project_changes_neither_prices_nor_requests() {
    for (member, value) in [
        ("prices", "[]"),
        ("prices", r#"[{"input": 0, "output": 0}]"#),
        ("extraBody", r#"{"service_tier": "priority"}"#),
        ("extraHeaders", r#"{"x-a": "b"}"#),
    ] {
        let text = format!(
            r#"{{"limits": {{}},{0}"models": {{"openai/gpt-5.4": {{"{member}": {value}}}}}}}"#,
            "\n"
        );
        let place = Place::new().project(&text);
        let place_of =
            "settings [DIR]/home/repo/.agent-cli/settings.json, line 2: a project may not set";
        let said = format!(
            r#"{place_of} models."openai/gpt-5.4".{member}; put it in the global file [DIR]/config/settings.json"#
        );
        assert_eq!(place.error(), said);
    }
}

#[test]
fn fields_of_the_users_own_never_reach_conversation_tools_or_keys() {
    let said = |text: &str| Place::new().global(text).error();
    assert_snapshot!(said("{\"providers\": {\"vllm\": {\n\"extraBody\": [1]}}}"), @"settings [DIR]/config/settings.json, line 2: providers.vllm.extraBody is a list, but must be an object");
    assert_snapshot!(said("{\"providers\": {\"vllm\": {\"extraBody\": {\n\"a\": 1,\n\"messages\": []}}}}"), @"settings [DIR]/config/settings.json, line 3: providers.vllm.extraBody.messages: is set by the program: messages, tools, model and stream cannot be changed, and agent-cli shortens the conversation itself; leave it out");
    assert_snapshot!(said("{\"models\": {\"openai/gpt-5.4\": {\"extraBody\": {\"a\": {\n\"tools\": []}}}}}"), @"settings [DIR]/config/settings.json, line 2: models.openai/gpt-5.4.extraBody.a.tools: is set by the program: messages, tools, model and stream cannot be changed, and agent-cli shortens the conversation itself; leave it out");
    assert_snapshot!(said("{\"providers\": {\"vllm\": {\n\"extraHeaders\": {\"Authorization\": \"x\"}}}}"), @"settings [DIR]/config/settings.json, line 2: providers.vllm.extraHeaders.Authorization: is set by the program; for a key, use apiKeyEnv and keyHeader of the provider");
    let text = r#"{"providers": {"vllm": {"extraBody": {"chat_template_kwargs": {"enable_thinking": false}, "list": [1, null]}}}}"#;
    let settings = Place::new().global(text).load().settings;
    let body = settings.providers["vllm"]
        .extra_body
        .as_ref()
        .expect("fields");
    assert_eq!(
        body.0["chat_template_kwargs"]["enable_thinking"],
        json!(false)
    );
}

#[test]
fn what_a_model_or_a_provider_lacks_may_stand_in_another_layer() {
    let place = Place::new()
        .global("{\n\"models\": {\"lab/big\":\n{\"maxOutput\": 6000}}}")
        .set(&["providers.lab.baseUrl=http://127.0.0.1:1/v1"]);
    assert_snapshot!(place.error(), @"settings [DIR]/config/settings.json, line 3: models.lab/big.window: a new model needs its window, in tokens");
    let whole = place.project(r#"{"models": {"lab/big": {"window": 8000}}}"#);
    let catalog = whole.load().settings.catalog().expect("a catalog");
    assert!(catalog.model("lab/big").is_some());
    let project = r#"{"models": {"lab/big": {"window": 8000}}}"#;
    assert_snapshot!(Place::new().project(project).error(), @"settings [DIR]/home/repo/.agent-cli/settings.json, line 1: models.lab/big: no provider lab; add providers.lab");
    let settings = r#"{"models": {"openai/gpt-6.2-sol": {"window": 0}}}"#;
    assert_snapshot!(Place::new().global(settings).error(), @r#"settings [DIR]/config/settings.json, line 1: models."openai/gpt-6.2-sol".window is 0, but must be a whole number, at least 1"#);
}

#[test]
fn variables_and_options() {
    let said = |name: &str, value: &str| Place::new().env(&[(name, value)]).error();
    assert_snapshot!(said("AGENT_CLI__compaction__keepRecentTokens", "many"), @r#"settings (AGENT_CLI__compaction__keepRecentTokens): compaction.keepRecentTokens is "many", but must be a whole number, at least 1"#);
    assert_snapshot!(said("AGENT_CLI__compaction__keepRecentToken", "1"), @"settings (AGENT_CLI__compaction__keepRecentToken): compaction.keepRecentToken is not a setting; did you mean compaction.keepRecentTokens?");
    assert_snapshot!(said("AGENT_CLI__compaction_enabled", "1"), @"settings (AGENT_CLI__compaction_enabled): compaction_enabled is not a setting; there are branchSummary, compaction, hooks, http, instructions, limits, mcpServers, model, models, providers, session, systemPrompt, terminal, thinking, tools");
    assert_snapshot!(said("AGENT_CLI__http__attempts", "0"), @"settings (AGENT_CLI__http__attempts): http.attempts is 0, but must be a whole number, at least 1");
    let place = Place::new().env(&[
        (
            "AGENT_CLI__compaction__strategy",
            r#"["extractive", "off"]"#,
        ),
        ("AGENT_CLI__compaction__autoContinue", "always"),
        ("AGENT_CLI__models__openai/gpt-6.2-sol__window", "5000"),
        ("AGENT_CLI_CONFIG_DIR", "/elsewhere"),
        ("OTHER__compaction__enabled", "7"),
    ]);
    let settings = place.load().settings;
    assert_eq!(settings.compaction.rules.strategy.rest(), [Strategy::Off]);
    assert_eq!(
        settings.compaction.session.auto_continue,
        AutoContinue::Always
    );
    assert_eq!(settings.models["openai/gpt-6.2-sol"].window, Some(5000));

    let said = |pair: &str| with_set(&[pair]).expect_err("a bad pair");
    assert_snapshot!(said("compaction"), @"--set compaction has no value; write --set KEY=VALUE");
    assert_snapshot!(said("=1"), @r#"settings (--set): "" is not a setting; there are branchSummary, compaction, hooks, http, instructions, limits, mcpServers, model, models, providers, session, systemPrompt, terminal, thinking, tools"#);
    assert_snapshot!(said(r#"models."a/b-1.0.window=1"#), @r#"--set models."a/b-1.0.window: put a name with dots in double quotes, as in models."a/b-1.0".window"#);
    assert_snapshot!(said("compaction=5"), @"settings (--set): compaction is 5, but must be an object");
    let mut place = Place::new();
    place.sources.extra = Some((
        "review.rhai".to_owned(),
        json!({"compaction": {"enabled": 1}}),
    ));
    assert_snapshot!(place.error(), @"settings (review.rhai): compaction.enabled is 1, but must be true or false");
    place.sources.extra = Some(("review.rhai".to_owned(), json!([])));
    assert_snapshot!(place.error(), @"settings (review.rhai): must be a JSON object");
}

#[test]
fn variables_switch_on_and_off_by_1_0_true_and_false() {
    let name = "AGENT_CLI__compaction__restore__imageTrigger";
    for (text, on) in [("1", true), ("true", true), ("0", false), ("false", false)] {
        let settings = Place::new().env(&[(name, text)]).load().settings;
        assert_eq!(
            settings.compaction.rules.restore.image_trigger, on,
            "{text}"
        );
    }
    let said = |name: &str, value: &str| Place::new().env(&[(name, value)]).error();
    assert_snapshot!(said(name, "on"), @r#"settings (AGENT_CLI__compaction__restore__imageTrigger): compaction.restore.imageTrigger is "on", but must be true or false"#);
    assert_snapshot!(said(name, "2"), @"settings (AGENT_CLI__compaction__restore__imageTrigger): compaction.restore.imageTrigger is 2, but must be true or false");
    assert_snapshot!(said(name, ""), @r#"settings (AGENT_CLI__compaction__restore__imageTrigger): compaction.restore.imageTrigger is "", but must be true or false"#);
    // Elsewhere a number stays one.
    assert_snapshot!(said("AGENT_CLI__http__attempts", "0"), @"settings (AGENT_CLI__http__attempts): http.attempts is 0, but must be a whole number, at least 1");
}

#[test]
fn what_may_be_a_key_is_not_repeated() {
    for text in [
        r#"{"providers": "SECRET-0123456789"}"#,
        r#"{"providers": {"lab": "SECRET-0123456789"}}"#,
        r#"{"providers": {"lab": {"headers": "SECRET-0123456789"}}}"#,
        r#"{"providers": {"lab": {"headers": {"x": ["SECRET-0123456789"]}}}}"#,
        r#"{"providers": {"lab": {"apiKey": "SECRET-0123456789"}}}"#,
        r#"{"providers": {"openai": {"apiKeyEnv": "SECRET-0123456789"}}}"#,
        r#"{"providers": {"openai": {"keyOptional": "SECRET-0123456789"}}}"#,
    ] {
        let said = Place::new().global(text).error();
        assert!(said.contains("providers"), "{said}");
        assert!(!said.contains("SECRET"), "{said}");
    }
    let said = with_set(&["providers.lab.headers=SECRET-0123456789"]).expect_err("a bad pair");
    assert_snapshot!(said, @"settings (--set): providers.lab.headers must be an object of texts");
}

#[test]
fn an_editor_may_be_told_where_the_schema_is() {
    let place = Place::new().global(r#"{"$schema": "./settings.schema.json", "model": "a/b"}"#);
    let loaded = place.load();
    assert_eq!(loaded.settings.model.as_deref(), Some("a/b"));
    assert_eq!(loaded.origins.len(), 1);
    let said = Place::new().global("{\"$schema\": 7}").error();
    assert_snapshot!(said, @"settings [DIR]/config/settings.json, line 1: $schema is 7, but must be a text");
}

/// Returns why a value does not fit a schema: as much of JSON Schema as ours uses.
fn misfit(node: &Value, value: &Value, place: &str) -> Option<String> {
    let wrong = |why: &str| Some(format!("{place}: {value} {why}"));
    for (name, wanted) in node.as_object().into_iter().flatten() {
        let ok = match name.as_str() {
            "type" => {
                let kinds = wanted.as_array().cloned().unwrap_or(vec![wanted.clone()]);
                kinds.iter().any(|kind| match kind.as_str() {
                    Some("null") => value.is_null(),
                    Some("boolean") => value.is_boolean(),
                    Some("integer") => value.is_i64() || value.is_u64(),
                    Some("number") => value.is_number(),
                    Some("string") => value.is_string(),
                    Some("array") => value.is_array(),
                    Some("object") => value.is_object(),
                    other => panic!("a new type {other:?}"),
                })
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().is_some_and(|list| list.contains(value)),
            "minimum" => value
                .as_f64()
                .is_none_or(|own| Some(own) >= wanted.as_f64()),
            "maximum" => value
                .as_f64()
                .is_none_or(|own| Some(own) <= wanted.as_f64()),
            "minItems" => value
                .as_array()
                .is_none_or(|list| Some(list.len() as u64) >= wanted.as_u64()),
            "anyOf" => {
                let nodes = wanted.as_array().into_iter().flatten();
                nodes
                    .map(|node| misfit(node, value, place))
                    .any(|misfit| misfit.is_none())
            }
            "oneOf" => {
                let nodes = wanted.as_array().into_iter().flatten();
                let fits = nodes.filter(|node| misfit(node, value, place).is_none());
                fits.count() == 1
            }
            "required" => {
                let names = wanted.as_array().into_iter().flatten();
                names
                    .filter_map(Value::as_str)
                    .all(|name| value.get(name).is_some())
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                match items.filter_map(|item| misfit(wanted, item, place)).next() {
                    Some(misfit) => return Some(misfit),
                    None => true,
                }
            }
            "properties" | "additionalProperties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let own = node["properties"]
                        .get(name)
                        .unwrap_or(&node["additionalProperties"]);
                    let place = format!("{place}.{name}");
                    if own == &json!(false) {
                        return Some(format!("{place}: unknown"));
                    }
                    if let Some(misfit) = misfit(own, value, &place) {
                        return Some(misfit);
                    }
                }
                true
            }
            "$schema" | "title" | "description" | "default" => true,
            other => panic!("a new word {other} at {place}"),
        };
        if !ok {
            return wrong(&format!("does not fit {name} {wanted}"));
        }
    }
    None
}

#[test]
fn the_schema_takes_what_the_program_takes() {
    let schema = schema();
    let defaults = serde_json::to_value(AppSettings::default()).expect("JSON");
    assert_eq!(misfit(&schema, &defaults, ""), None);
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1),
        json!(60),
        json!(1000),
        json!(10_000),
        json!(1.5),
        json!(""),
        json!("always"),
        json!("off"),
        json!("nearest"),
        json!("role-markers"),
        json!("interval"),
        json!("deny"),
        json!("chat"),
        json!("light"),
        json!("max_tokens"),
        json!("http://127.0.0.1:1/v1"),
        json!([]),
        json!(["off"]),
        json!(["off", "handoff"]),
        json!([{"input": 1, "output": 1}]),
        json!({}),
        json!({"X-One": "1"}),
    ];
    let (mut taken, mut refused) = (0, 0);
    for key in keys() {
        let path = KeyPath::parse(&key.name).expect("a key");
        assert_eq!(misfit(&schema, &path.tree(key.default.clone()), ""), None);
        let mut taken_by_key = 0;
        for value in &values {
            let tree = path.tree(value.clone());
            let fits = super::load::check(&tree).is_ok();
            // Only the catalog knows how large a window must be.
            let of_catalog = key.name.starts_with("models.") && *value == json!(0);
            if !of_catalog {
                let misfit = misfit(&schema, &tree, "");
                assert_eq!(misfit.is_none(), fits, "{tree} {misfit:?}");
            }
            taken_by_key += usize::from(fits);
            refused += usize::from(!fits);
        }
        assert!(taken_by_key > 0, "no value fits {}", key.name);
        taken += taken_by_key;
    }
    assert!(taken > 100 && refused > 100, "{taken} {refused}");
    assert!(misfit(&schema, &json!({"compaction": {"enable": true}}), "").is_some());
}

#[test]
fn bounds_of_the_schema_are_those_of_the_program() {
    let schema = schema();
    let mut checked = 0;
    for key in keys() {
        let path = KeyPath::parse(&key.name).expect("a key");
        if key.name.starts_with("models.") {
            continue;
        }
        let node = super::schema::find(&schema, &path).expect("a schema");
        let fits = |value: i64| {
            let tree = path.tree(json!(value));
            super::load::check(&tree).is_ok()
        };
        for (bound, beyond) in [("minimum", -1), ("maximum", 1)] {
            if let Some(bound) = node[bound].as_i64().filter(|bound| *bound < 1 << 31) {
                assert!(fits(bound), "{} {bound}", key.name);
                assert!(!fits(bound + beyond), "{} {}", key.name, bound + beyond);
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn every_key_is_explained() {
    for key in keys() {
        let name = &key.name;
        assert!(key.meaning.ends_with('.'), "{name}: {}", key.meaning);
        assert!(!key.meaning.contains("[`"), "{name}: {}", key.meaning);
        assert_ne!(key.allowed, "anything", "{name}");
        let path = KeyPath::parse(name).expect("a key");
        assert_eq!(keys_of(&path), std::slice::from_ref(&key), "{name}");
    }
    let table = key_table();
    let docs = include_str!("../../../docs/reference/settings.md");
    for key in keys() {
        let (all, own) = match key.name.split_once('.') {
            Some(("providers" | "models", rest)) => {
                let last = rest.rsplit('.').next().unwrap_or(rest);
                (docs, format!("| `{last}` |"))
            }
            _ => (table.as_str(), format!("| `{}` |", key.name)),
        };
        assert!(all.contains(&own), "{own} is not documented");
    }
    let names = |key: &str| {
        let path = KeyPath::parse(key).expect("a key");
        let keys = keys_of(&path).into_iter();
        keys.map(|key| key.name).collect::<Vec<_>>()
    };
    assert_eq!(names("compaction.prune").len(), 6);
    assert_eq!(names("providers.lab.wire"), ["providers.NAME.wire"]);
    assert_eq!(
        names("providers.lab.headers.X"),
        ["providers.NAME.headers.X"]
    );
    assert_eq!(names("compaction.colour"), Vec::<String>::new());
    assert_eq!(names("").len(), 0);
}
