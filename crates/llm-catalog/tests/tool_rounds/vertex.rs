//! Vertex AI: Gemini and Claude at the addresses of a project, and refusals.

use llm_catalog::{Catalog, Selection};
use llm_providers::{
    CancellationToken, GoogleAccess, HttpClient, HttpProvider, HttpSettings, Provider, Request,
    Secret,
};
use serde_json::json;
use test_support::{FaultServer, Received, Reply};

use crate::{Case, KEY, Refused, replayed, reply, run_with};

fn at_home(provider: HttpProvider) -> HttpProvider {
    provider.with_google(GoogleAccess::new("my-project", "europe-west1"))
}

/// Fails unless the method of a publisher's model is called with the token.
fn called(received: &Received, method: &str) -> Result<(), Refused> {
    let place = "/v1/projects/my-project/locations/europe-west1/publishers/";
    if received.path != format!("{place}{method}") {
        return Err(format!("no such method: {}", received.path));
    }
    match received.header("authorization") == Some(&format!("Bearer {KEY}")) {
        true => Ok(()),
        false => Err("no token".to_owned()),
    }
}

#[test]
fn gemini_on_vertex_takes_three_rounds() {
    let case = Case {
        answers: "gemini",
        model: "google-vertex/gemini-3.8-flash",
        path: "",
        settings: json!({}),
        window: Some(1_000_000),
        check: |received, given| {
            let method = "google/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
            called(received, method)?;
            replayed(&received.json(), given, "thoughtSignature")
        },
    };
    run_with(&case, reply, at_home);
}

#[test]
fn claude_on_vertex_takes_three_rounds() {
    let case = Case {
        answers: "anthropic-unlisted",
        model: "google-vertex/anthropic/claude-next@20260101",
        path: "",
        settings: json!({}),
        window: Some(200_000),
        check: |received, given| {
            called(
                received,
                "anthropic/models/claude-next@20260101:streamRawPredict",
            )?;
            let body = received.json();
            let versioned = body["anthropic_version"] == "vertex-2023-10-16";
            if !versioned || !body["model"].is_null() || body["stream"] != true {
                return Err("invalid body".to_owned());
            }
            replayed(&body, given, "signature")
        },
    };
    run_with(&case, reply, at_home);
}

#[test]
fn refusals_of_vertex_name_the_setting_to_change() {
    let said = |status, text: &str| {
        let body = json!({"error": {"code": status, "message": text}});
        let server = FaultServer::replaying(vec![Reply::json(status, &body)]);
        let own = json!({"providers": {"google-vertex": {"baseUrl": server.url()}}});
        let own = serde_json::from_value(own).expect("settings");
        let catalog = Catalog::embedded().apply(&own).expect("good settings");
        let selection = Selection {
            model: "google-vertex/gemini-next".to_owned(),
            ..Selection::default()
        };
        let found = catalog.resolve(&selection).expect("a model");
        let http = HttpClient::new(HttpSettings::default()).expect("a client");
        let provider = HttpProvider::new(http, found.provider, found.model, Secret::new(KEY));
        let provider = at_home(provider);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let request = Request::for_prompt("", "hi");
        let answered = runtime.block_on(provider.stream(request, CancellationToken::new()));
        answered.err().expect("an error").message
    };
    let all = [
        said(401, "Request had invalid authentication credentials."),
        said(
            403,
            "Permission 'aiplatform.endpoints.predict' denied on resource.",
        ),
        said(404, "Publisher Model `gemini-next` was not found."),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    Request had invalid authentication credentials; set a new token in VERTEX_ACCESS_TOKEN
    Permission 'aiplatform.endpoints.predict' denied on resource; let the account use Vertex AI in GOOGLE_CLOUD_PROJECT (my-project), or name another project
    Publisher Model `gemini-next` was not found; check the model, that GOOGLE_CLOUD_PROJECT (my-project) may use it, and GOOGLE_CLOUD_LOCATION (europe-west1)
    ");
}
