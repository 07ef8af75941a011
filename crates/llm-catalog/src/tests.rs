//! The embedded data are sane, overrides change what they name, selections resolve, tokens cost what the price
//! pages say.

use std::collections::BTreeSet;

use llm_providers::{
    ApiProtocol, Capabilities, FactOrigin, MaxTokensField, ModelInfo, ProviderInfo,
};
use session_model::Usage;

use super::overrides::check_prices;
use super::{
    Catalog, CatalogError, Overrides, Resolved, Selection, base_url, check_key_transport, generated,
};

fn overrides(json: &str) -> Overrides {
    serde_json::from_str(json).expect("the overrides of a test parse")
}

fn applied(json: &str) -> Result<Catalog, CatalogError> {
    Catalog::embedded().apply(&overrides(json))
}

/// Returns what is said about overrides that cannot be used.
fn refused(json: &str) -> String {
    match applied(json) {
        Ok(_) => panic!("{json} is accepted"),
        Err(error) => error.to_string(),
    }
}

fn named(model: &str) -> Selection {
    Selection {
        model: model.to_owned(),
        ..Selection::default()
    }
}

fn at(model: &str, base_url: &str) -> Selection {
    Selection {
        base_url: Some(base_url.to_owned()),
        ..named(model)
    }
}

fn resolved(selection: &Selection) -> Resolved {
    let found = Catalog::embedded().resolve(selection);
    found.unwrap_or_else(|error| panic!("{selection:?}: {error}"))
}

/// Returns what is said about a selection that names nothing.
fn unresolved(selection: &Selection) -> String {
    match Catalog::embedded().resolve(selection) {
        Ok(found) => panic!("{selection:?} is {found:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn embedded_providers_are_sane() {
    let text = include_str!("providers.json");
    let list: Vec<ProviderInfo> = serde_json::from_str(text).expect("the providers parse");
    let names: BTreeSet<&str> = list.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(names.len(), list.len(), "names are unique");
    assert!(Catalog::embedded().providers().count() >= list.len());
    for provider in &list {
        let name = &provider.name;
        let base = base_url::normalized(&provider.base_url, provider.wire);
        assert_eq!(base.as_ref(), Ok(&provider.base_url), "{name}");
        assert_eq!(check_key_transport(provider), Ok(()), "{name}");
        assert!(
            !provider.allow_insecure
                && provider.headers.keys().all(|name| name == "anthropic-beta"),
            "{name}"
        );
        let local = provider.base_url.starts_with("http://127.0.0.1:");
        assert_eq!(provider.key_optional, local, "{name}");
        assert!(provider.any_model || !local, "{name}");
        assert!(provider.api_key_env.is_some(), "{name}");
        let further = provider.wires.iter().map(|(wire, compat)| (*wire, compat));
        for (wire, compat) in further.chain([(provider.wire, &provider.compat)]) {
            let marks = compat.cache_control == llm_providers::CacheControlModels::Always;
            assert_eq!(marks, wire == ApiProtocol::Messages, "{name}");
        }
        assert!(!provider.wires.contains_key(&provider.wire), "{name}");
    }
}

#[test]
fn embedded_models_are_sane() {
    let catalog = Catalog::embedded();
    assert!(catalog.models().count() >= 400);
    for model in catalog
        .models()
        .filter(|model| model.origin == FactOrigin::Checked)
    {
        let name = model.full_name();
        let provider = catalog.provider(&model.provider);
        let provider = provider.unwrap_or_else(|| panic!("{name} has no provider"));
        let can = model.capabilities;
        let window = can.window.unwrap_or(0);
        assert!(window >= 8000, "{name}");
        assert!(
            can.max_output.is_none_or(|cap| (1..=window).contains(&cap)),
            "{name}"
        );
        assert_eq!(check_prices(&model.prices), Ok(()), "{name}");
        assert!(!model.prices.is_empty(), "{name}");
        for tier in &model.prices {
            assert!(tier.above < window, "{name}: the tier is never reached");
            assert!(tier.input <= tier.output, "{name}");
            assert!(
                tier.cache_read.is_none_or(|price| price <= tier.input),
                "{name}"
            );
            assert!(
                tier.cache_write.is_none_or(|price| price >= tier.input),
                "{name}"
            );
        }
        assert!(!model.source.is_empty(), "{name}");
        let date: Vec<&str> = model.date.split('-').collect();
        assert_eq!(
            date.iter().map(|part| part.len()).collect::<Vec<_>>(),
            [4, 2, 2],
            "{name}"
        );
        let native = can.native_standalone || can.native_in_band;
        assert!(!native || provider.wire == ApiProtocol::Responses, "{name}");
        assert!(!native || can.reasoning, "{name}");
    }
    for provider in catalog.providers() {
        let listed = catalog
            .models()
            .any(|model| model.provider == provider.name);
        assert!(
            listed || provider.any_model,
            "{} has no models",
            provider.name
        );
    }
}

#[test]
fn generated_models_are_sane() {
    let file = generated::file();
    assert!(!file.source.is_empty() && !file.license.is_empty());
    let catalog = Catalog::embedded();
    let models: Vec<ModelInfo> = generated::models().collect();
    assert!(models.len() >= 300, "{}", models.len());
    for model in &models {
        let name = model.full_name();
        let is_cloud = ["amazon-bedrock", "google-vertex"].contains(&model.provider.as_str());
        assert!(
            is_cloud || catalog.provider(&model.provider).is_some(),
            "{name}"
        );
        let can = model.capabilities;
        let window = can.window.unwrap_or(0);
        assert!(window >= 4000, "{name}");
        assert!(
            can.max_output.is_none_or(|cap| (1..=window).contains(&cap)),
            "{name}"
        );
        assert_eq!(check_prices(&model.prices), Ok(()), "{name}");
    }
}

#[test]
fn checked_figures_win_over_generated_ones_and_over_a_providers_own() {
    let embedded = Catalog::embedded();
    let mut models = embedded.models();
    let both = models
        .find(|model| model.origin == FactOrigin::Checked)
        .expect("a checked model");
    let mut copies = generated::models();
    let copy = copies
        .find(|copy| copy.full_name() == both.full_name())
        .expect("its copy");
    assert_ne!(both, &copy);
    assert_eq!(both.capabilities.levels, copy.capabilities.levels);
    let listed = |id: &str| ModelInfo {
        source: "service".to_owned(),
        origin: FactOrigin::Service,
        capabilities: Capabilities {
            window: Some(5000),
            ..Capabilities::default()
        },
        ..ModelInfo::unlisted(&both.provider, id)
    };
    let catalog = Catalog::embedded().with_listed([listed(&both.id), listed("new")]);
    assert_eq!(catalog.model(&both.full_name()), Some(both));
    let new = catalog.model(&format!("{}/new", both.provider));
    assert_eq!(new.and_then(|model| model.capabilities.window), Some(5000));
    let copied = generated::models().find(|model| catalog.model(&model.full_name()) == Some(model));
    let copied = copied.expect("a model that is only generated");
    let said = ModelInfo {
        provider: copied.provider.clone(),
        ..listed(&copied.id)
    };
    let catalog = catalog.with_listed([said]);
    let found = catalog.model(&copied.full_name()).expect("the model");
    assert_eq!(found.capabilities.window, Some(5000));
    assert_eq!(found.prices, copied.prices);
    assert_eq!(found.origin, FactOrigin::Service);
}

/// The names in the list of `@earendil-works/pi-ai` 0.87.1.
const PI_PROVIDERS: [&str; 41] = [
    "amazon-bedrock",
    "ant-ling",
    "anthropic",
    "azure-openai-responses",
    "baseten",
    "cerebras",
    "cloudflare-ai-gateway",
    "cloudflare-workers-ai",
    "deepseek",
    "fireworks",
    "github-copilot",
    "google",
    "google-vertex",
    "groq",
    "huggingface",
    "kimi-coding",
    "meta",
    "minimax",
    "minimax-cn",
    "mistral",
    "moonshotai",
    "moonshotai-cn",
    "nvidia",
    "openai",
    "openai-codex",
    "opencode",
    "opencode-go",
    "openrouter",
    "qwen-token-plan",
    "qwen-token-plan-cn",
    "qwen-token-plan-individual",
    "radius",
    "together",
    "vercel-ai-gateway",
    "xai",
    "xiaomi",
    "xiaomi-token-plan-ams",
    "xiaomi-token-plan-cn",
    "xiaomi-token-plan-sgp",
    "zai",
    "zai-coding-cn",
];

#[test]
fn a_model_may_need_another_wire_than_its_provider() {
    let found = resolved(&named("opencode/claude-opus-4-5"));
    let provider = found.provider;
    assert_eq!(provider.wire, ApiProtocol::Messages);
    assert_eq!(provider.base_url, "https://opencode.ai/zen");
    assert_eq!(
        provider.compat.cache_control,
        llm_providers::CacheControlModels::Always
    );
    assert_eq!(provider.api_key_env.as_deref(), Some("OPENCODE_API_KEY"));
    let chosen = resolved(&Selection {
        wire: Some(ApiProtocol::Chat),
        ..named("opencode/claude-opus-4-5")
    });
    assert_eq!(chosen.provider.wire, ApiProtocol::Chat);
    // What is known of the models of one address does not hold at another.
    let moved = resolved(&at(
        "opencode/claude-opus-4-5",
        "https://gateway.example/v1",
    ));
    assert_eq!(moved.provider.wire, ApiProtocol::Chat);
    let settings = r#"{"providers": {"opencode": {"wire": "responses"}}}"#;
    let found = applied(settings)
        .expect("good")
        .resolve(&named("opencode/claude-opus-4-5"));
    assert_eq!(
        found.map(|found| found.provider.wire),
        Ok(ApiProtocol::Responses)
    );
}

#[test]
fn a_bare_id_names_the_makers_own_service() {
    let found = resolved(&named("claude-opus-4-5"));
    assert_eq!(found.provider.name, "anthropic");
}

#[test]
fn providers_have_the_names_that_pi_writes_into_sessions() {
    let google = resolved(&named("google/gemini-3.8-flash"));
    assert_eq!(google.provider.name, "gemini");
    assert!(google.listed);
    for name in PI_PROVIDERS {
        match Catalog::embedded().provider(name) {
            Some(provider) => {
                let catalog = Catalog::embedded();
                let mut models = catalog.models();
                assert!(
                    models.any(|model| model.provider == provider.name),
                    "{name}"
                );
            }
            None => {
                let said = unresolved(&named(&format!("{name}/some-model")));
                let begins = format!("the provider {name} cannot be asked: ");
                assert!(said.starts_with(&begins), "{said}");
            }
        }
    }
    let changed = applied(r#"{"models": {"google/new": {"window": 9000}}}"#).expect("a catalog");
    assert!(changed.model("gemini/new").is_some());
}

#[test]
fn a_changed_provider_keeps_what_is_not_said() {
    let catalog = applied(
        r#"{"providers": {"groq": {"compat": {"developerRole": true}, "headers": {"X-Team": "a"}},
            "openai": {"baseUrl": "https://api.openai.com/v2/"}}}"#,
    );
    let catalog = catalog.expect("the overrides are good");
    let before = Catalog::embedded();
    let mut want = before.provider("groq").cloned().expect("groq is listed");
    assert_eq!(
        want.compat.max_tokens_field,
        MaxTokensField::MaxCompletionTokens
    );
    want.compat.developer_role = true;
    want.own_compat.developer_role = Some(true);
    want.headers.insert("X-Team".to_owned(), "a".to_owned());
    assert_eq!(catalog.provider("groq"), Some(&want));
    let openai = catalog.provider("openai").expect("openai is listed");
    assert_eq!(openai.base_url, "https://api.openai.com/v2");
    assert_eq!(
        openai.api_key_env.as_deref(),
        Some("OPENAI_API_KEY"),
        "the same host"
    );
}

#[test]
fn a_provider_that_moves_to_another_host_leaves_its_key() {
    let key = |json: &str| {
        let catalog = applied(json).expect("the overrides are good");
        let openai = catalog.provider("openai").expect("openai is listed");
        (openai.api_key_env.clone(), openai.key_optional)
    };
    assert_eq!(
        key(r#"{"providers": {"openai": {"baseUrl": "https://gateway.example/v1"}}}"#),
        (None, true)
    );
    assert_eq!(
        key(
            r#"{"providers": {"openai": {"baseUrl": "https://gateway.example/v1",
            "apiKeyEnv": "GATEWAY_KEY"}}}"#
        ),
        (Some("GATEWAY_KEY".to_owned()), false)
    );
    assert_eq!(
        key(r#"{"providers": {"openai": {"apiKeyEnv": ""}}}"#),
        (None, true)
    );
}

#[test]
fn providers_and_models_can_be_added() {
    let catalog = applied(
        r#"{"providers": {"lab": {"baseUrl": "http://10.0.0.2:8000/v1", "wire": "messages",
                "apiKeyEnv": "LAB_KEY", "anyModel": false}},
            "models": {"lab/org/big": {"window": 32000, "maxOutput": 4000, "images": true,
                "prices": [{"input": 1, "output": 2}]}}}"#,
    );
    let catalog = catalog.expect("the overrides are good");
    let found = catalog
        .resolve(&named("lab/org/big"))
        .expect("it was added");
    assert_eq!(
        found.provider.base_url, "http://10.0.0.2:8000",
        "the wire adds /v1"
    );
    assert!(found.listed && !found.provider.key_optional);
    let can = found.model.capabilities;
    assert_eq!((can.window, can.max_output), (Some(32000), Some(4000)));
    assert!(can.tools && can.images && !can.reasoning);
    assert_eq!(found.model.source, "settings");
    let error = catalog.resolve(&named("lab/other"));
    assert!(
        matches!(error, Err(CatalogError::UnlistedModel { .. })),
        "{error:?}"
    );
}

#[test]
fn a_changed_model_says_so() {
    let json = r#"{"models": {"anthropic/claude-haiku-4-5": {"window": 50000, "tools": false}}}"#;
    let catalog = applied(json).expect("the overrides are good");
    let model = catalog
        .model("anthropic/claude-haiku-4-5")
        .expect("it is listed");
    let can = model.capabilities;
    assert_eq!((can.window, can.max_output), (Some(50000), Some(50000)));
    assert!(!can.tools && can.images && can.reasoning);
    assert!(
        model.source.ends_with("; changed in the settings"),
        "{}",
        model.source
    );
}

#[test]
fn overrides_that_cannot_be_used_are_named_with_value_and_remedy() {
    let said = [
        r#"{"providers": {"foo": {}}}"#,
        r#"{"providers": {"foo": {"baseUrl": "10.0.0.2:8000"}}}"#,
        r#"{"providers": {"foo": {"baseUrl": "ftp://a.example"}}}"#,
        r#"{"providers": {"a/b": {"baseUrl": "https://a.example"}}}"#,
        r#"{"providers": {"foo": {"baseUrl": "https://a.example", "apiKeyEnv": "sk-secret"}}}"#,
        r#"{"providers": {"openai": {"headers": {"a b": "secret"}}}}"#,
        r#"{"providers": {"openai": {"headers": {"X-A": "secret\n"}}}}"#,
        r#"{"models": {"gpt": {"window": 1}}}"#,
        r#"{"models": {"lab/gpt": {"window": 1}}}"#,
        r#"{"models": {"openai/gpt-9": {"tools": true}}}"#,
        r#"{"models": {"openai/gpt-9": {"window": 0}}}"#,
        r#"{"models": {"openai/gpt-9": {"window": 10, "maxOutput": 11}}}"#,
        r#"{"models": {"openai/gpt-9": {"window": 9, "prices": [{"above": 5, "input": 1, "output": 1}]}}}"#,
        r#"{"models": {"openai/gpt-5.4": {"prices": [{"input": 1, "output": 1}, {"input": 1, "output": 1}]}}}"#,
        r#"{"models": {"openai/gpt-5.4": {"prices": [{"input": 1, "output": -2}]}}}"#,
    ]
    .map(refused)
    .join("\n");
    assert!(!said.contains("secret"), "{said}");
    insta::assert_snapshot!(said, @r#"
    providers.foo.baseUrl: a new provider needs one, such as http://127.0.0.1:8000/v1
    providers.foo.baseUrl: is "10.0.0.2:8000" (relative URL without a base); write http:// or https:// with a host, such as http://127.0.0.1:8000/v1
    providers.foo.baseUrl: is "ftp://a.example"; write http:// or https:// with a host, such as http://127.0.0.1:8000/v1
    providers.a/b: a provider's name is one word without a slash
    providers.foo.apiKeyEnv: is not the name of an environment variable; name the variable that holds the key, such as OPENAI_API_KEY
    providers.openai.headers.a b: is not the name of an HTTP header; use letters, digits and -
    providers.openai.headers.X-A: its value cannot stand in an HTTP header; use visible ASCII characters
    models.gpt: a model is named PROVIDER/MODEL
    models.lab/gpt: no provider lab; add providers.lab
    models.openai/gpt-9.window: a new model needs its window, in tokens
    models.openai/gpt-9.window: is 0, but must be at least 1 token
    models.openai/gpt-9.maxOutput: is 11, but must not exceed the window, 10
    models.openai/gpt-9.prices[0].above: is 5, but the first tier holds for all prompts; write 0
    models.openai/gpt-5.4.prices[1].above: is 0, but must be more than 0; tiers ascend
    models.openai/gpt-5.4.prices[0].output: is -2, but must be 0 or more, in USD per million tokens
    "#);
}

#[test]
fn unknown_fields_and_wires_are_refused() {
    for (json, want) in [
        (r#"{"providers": {"a": {"wire": "grpc"}}}"#, "`chat`"),
        (r#"{"providers": {"a": {"baseURL": ""}}}"#, "`baseUrl`"),
        (
            r#"{"providers": {"a": {"compat": {"x": 1}}}}"#,
            "`shortToolIds`",
        ),
        (r#"{"models": {"a/b": {"context": 1}}}"#, "`window`"),
        (r#"{"model": {}}"#, "`models`"),
    ] {
        let said = serde_json::from_str::<Overrides>(json)
            .err()
            .map(|error| error.to_string());
        assert!(
            said.as_ref().is_some_and(|said| said.contains(want)),
            "{json}: {said:?}"
        );
    }
}

#[test]
fn models_are_found_by_full_name_and_by_an_id_that_is_unique() {
    let name = |model: &str| {
        let found = resolved(&named(model));
        assert!(found.listed, "{model}");
        assert_eq!(found.provider.name, found.model.provider);
        found.model.full_name()
    };
    assert_eq!(name("openai/gpt-6.2-sol"), "openai/gpt-6.2-sol");
    assert_eq!(name(" claude-opus-5-5 "), "anthropic/claude-opus-5-5");
    assert_eq!(name("groq/openai/gpt-oss-120b"), "groq/openai/gpt-oss-120b");
    assert_eq!(name("moonshotai/kimi-k3"), "moonshotai/kimi-k3");
    assert_eq!(name("gpt-oss-120b"), "cerebras/gpt-oss-120b");
}

#[test]
fn models_that_are_not_found_are_answered_with_what_was_meant() {
    let mut said: Vec<String> = [
        "",
        "openai/",
        "/gpt",
        "openai/gpt-6.2-soll",
        "openai/gpt-oss-120b",
        "openai/zzzzzz",
        "opnai/gpt-6.2-sol",
        "claude-opus-55",
        "something-else",
    ]
    .iter()
    .map(|model| unresolved(&named(model)))
    .collect();
    let two = r#"{"models": {"mistral/twin": {"window": 9}, "xai/twin": {"window": 9}}}"#;
    let error = applied(two)
        .expect("the overrides are good")
        .resolve(&named("twin"));
    said.extend(error.err().map(|error| error.to_string()));
    insta::assert_snapshot!(said.join("\n"), @r#"
    the model is ""; write PROVIDER/MODEL
    the model is "openai/"; write PROVIDER/MODEL
    the model is "/gpt"; write PROVIDER/MODEL
    openai has no model gpt-6.2-soll in the catalog; did you mean openai/gpt-6.2-sol or openai/gpt-6.1-sol or openai/gpt-5.6-sol; one that is not listed needs its window, models."openai/gpt-6.2-soll".window in the settings
    openai has no model gpt-oss-120b in the catalog; did you mean baseten/openai/gpt-oss-120b or groq/openai/gpt-oss-120b or huggingface/openai/gpt-oss-120b; one that is not listed needs its window, models."openai/gpt-oss-120b".window in the settings
    openai has no model zzzzzz in the catalog; one that is not listed needs its window, models."openai/zzzzzz".window in the settings
    no provider opnai; did you mean openai; add it to the settings under providers
    no model claude-opus-55; did you mean anthropic/claude-opus-5 or anthropic/claude-opus-5-5 or anthropic/claude-opus-4-5; write PROVIDER/MODEL
    no model something-else; write PROVIDER/MODEL
    several providers have twin: mistral/twin, xai/twin; write one of them
    "#);
}

#[test]
fn unlisted_models_are_accepted_where_something_is_known_of_them() {
    let found = resolved(&named("ollama/qwen3:8b"));
    assert!(!found.listed && found.provider.key_optional);
    assert_eq!(found.model.capabilities.window, None);
    assert!(found.model.capabilities.tools && !found.model.capabilities.native_standalone);
    assert_eq!(found.model.cost(&Usage::default()), None);

    let found = resolved(&Selection {
        window: Some(64_000),
        ..named("groq/new-model")
    });
    assert_eq!(found.model.capabilities.window, Some(64_000));
    assert_eq!(found.provider.api_key_env.as_deref(), Some("GROQ_API_KEY"));
}

#[test]
fn a_window_takes_the_place_of_the_catalogs() {
    let found = resolved(&Selection {
        window: Some(1000),
        ..named("openai/gpt-5.4")
    });
    let can = found.model.capabilities;
    assert_eq!((can.window, can.max_output), (Some(1000), Some(1000)));
    let zero = Selection {
        window: Some(0),
        ..named("openai/gpt-5.4")
    };
    assert!(unresolved(&zero).contains("the window is 0"));
}

#[test]
fn a_key_never_goes_to_another_host() {
    for base in [
        "http://127.0.0.1:8080/v1",
        "https://gateway.example/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.evil.example/v1",
    ] {
        let found = resolved(&at("openai/gpt-5.4", base));
        assert_eq!(found.provider.api_key_env, None, "{base}");
        assert!(found.provider.key_optional && found.listed, "{base}");
        assert_eq!(found.provider.base_url, base);
        assert_eq!(found.model.cost(&Usage::default()), None, "{base}");
        let asked = Selection {
            api_key_env: Some("MY_KEY".to_owned()),
            ..at("openai/gpt-5.4", base)
        };
        let found = resolved(&asked);
        assert_eq!(
            found.provider.api_key_env.as_deref(),
            Some("MY_KEY"),
            "{base}"
        );
        assert!(!found.provider.key_optional, "{base}");
    }
    let found = resolved(&at("openai/gpt-5.4", "https://api.openai.com/v1"));
    assert_eq!(
        found.provider.api_key_env.as_deref(),
        Some("OPENAI_API_KEY")
    );
    assert_eq!(found.model.cost(&Usage::default()), Some(0.0));

    let secret = r#"{"providers": {"openai": {"headers": {"X-Token": "secret"}}}}"#;
    let catalog = applied(secret).expect("the overrides are good");
    let moved = catalog.resolve(&at("openai/gpt-5.4", "https://gateway.example"));
    assert_eq!(moved.map(|found| found.provider.headers.len()), Ok(0));
}

#[test]
fn a_key_goes_unencrypted_only_where_that_is_allowed() {
    let mut provider = resolved(&at("lab/model", "http://10.0.0.2:8000/v1")).provider;
    let said = check_key_transport(&provider)
        .err()
        .map(|error| error.to_string());
    insta::assert_snapshot!(said.unwrap_or_default(), @"lab: the key would be sent unencrypted to http://10.0.0.2:8000/v1; use https or a loopback address, or allow it with providers.lab.allowInsecure next to baseUrl in the settings");
    provider.allow_insecure = true;
    assert_eq!(check_key_transport(&provider), Ok(()));
    // The permission is the host's, not the provider's.
    let open = r#"{"providers": {"lab": {"baseUrl": "http://10.0.0.2", "allowInsecure": true}}}"#;
    let catalog = applied(open).expect("the overrides are good");
    let same = catalog.resolve(&at("lab/model", "http://10.0.0.2/v1"));
    assert_eq!(same.map(|found| found.provider.allow_insecure), Ok(true));
    let other = catalog.resolve(&at("lab/model", "http://10.0.0.3/v1"));
    assert_eq!(other.map(|found| found.provider.allow_insecure), Ok(false));
}

#[test]
fn a_base_url_needs_no_known_provider() {
    let found = resolved(&at("lab/org/model", "https://lab.example/v1/"));
    assert_eq!(
        (found.provider.name.as_str(), found.model.id.as_str()),
        ("lab", "org/model")
    );
    assert_eq!(
        (found.provider.wire, found.listed),
        (ApiProtocol::Chat, false)
    );
    assert_eq!(found.provider.base_url, "https://lab.example/v1");
    let found = resolved(&at("some-model", "https://lab.example/v1"));
    assert_eq!(found.model.full_name(), "custom/some-model");
    let found = resolved(&Selection {
        wire: Some(ApiProtocol::Messages),
        ..at("some-model", "https://lab.example/v1")
    });
    assert_eq!(found.provider.wire, ApiProtocol::Messages);
    assert_eq!(found.provider.base_url, "https://lab.example");
    assert!(unresolved(&at("some-model", "lab.example")).starts_with("the base URL is"));
    let key = Selection {
        api_key_env: Some("sk-secret".to_owned()),
        ..named("openai/gpt-5.4")
    };
    let said = unresolved(&key);
    assert!(
        said.starts_with("the variable of the key is") && !said.contains("secret"),
        "{said}"
    );
}

/// Checks what a request costs, in USD; expected figures are worked out by hand from the price pages.
#[track_caller]
fn check_cost(model: &str, parts: [u64; 4], want: f64) {
    let [input, output, cache_read, cache_write] = parts;
    let usage = Usage {
        input,
        output,
        cache_read,
        cache_write,
        ..Usage::default()
    };
    let cost = resolved(&named(model)).model.cost(&usage);
    let near = cost.is_some_and(|cost| (cost - want).abs() < 1e-9);
    assert!(near, "{model} {parts:?}: {cost:?}, not {want}");
}

#[test]
fn tokens_cost_what_the_price_pages_say() {
    // Claude Opus 5.5: $4 in, $20 out, $0.20 read, $5 written, a million each.
    check_cost(
        "claude-opus-5-5",
        [10_000, 2_000, 100_000, 5_000],
        0.04 + 0.04 + 0.02 + 0.025,
    );
    // Claude Haiku 5.5: five times as much above 100,000 tokens of prompt, cached ones counted.
    check_cost(
        "claude-haiku-5-5",
        [50_000, 1_000, 50_000, 0],
        0.005 + 0.0005 + 0.0005,
    );
    check_cost(
        "claude-haiku-5-5",
        [50_001, 1_000, 50_000, 0],
        0.025_000_5 + 0.002_5 + 0.002_5,
    );
    // GPT-6.2 Sol: above 272,000 input and cache double, output is half as much again.
    check_cost("gpt-6.2-sol", [272_000, 10_000, 0, 0], 0.544 + 0.1);
    check_cost(
        "gpt-6.2-sol",
        [100_000, 10_000, 200_000, 10_000],
        0.4 + 0.15 + 0.04 + 0.05,
    );
    // Gemini 3.1 Pro: $2 and $12, above 200,000 $4 and $18.
    check_cost(
        "gemini-3.1-pro-preview",
        [200_000, 1_000, 0, 0],
        0.4 + 0.012,
    );
    check_cost(
        "gemini-3.1-pro-preview",
        [400_000, 1_000, 0, 0],
        1.6 + 0.018,
    );
    // GPT-5.4 names no price for writing, Cerebras none for reading: both cost as input does.
    check_cost("gpt-5.4", [0, 0, 0, 100_000], 0.25);
    check_cost("cerebras/gpt-oss-120b", [0, 0, 100_000, 0], 0.035);
}

#[test]
fn what_is_not_known_costs_nothing_that_can_be_said() {
    let model = resolved(&named("openai/gpt-5.4")).model;
    let incomplete = Usage {
        input: 5,
        incomplete: true,
        ..Usage::default()
    };
    assert_eq!(model.cost(&incomplete), None);
    let unpriced = ModelInfo {
        prices: Vec::new(),
        ..model
    };
    assert_eq!(unpriced.cost(&Usage::default()), None);
}
