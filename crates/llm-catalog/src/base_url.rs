//! Base URLs: the allowed forms, and their normalization.

use llm_providers::ApiProtocol;
use url::Url;

/// The advice in errors about base URLs.
const FORM: &str = "write http:// or https:// with a host, such as http://127.0.0.1:8000/v1";

/// The query parameter that Azure needs in every request.
const API_VERSION: &str = "api-version";

/// Returns `text` as a base URL for the protocol, in the form that paths are added to, or why it is invalid. The error
/// never contains a password.
pub(super) fn normalized(text: &str, wire: ApiProtocol) -> Result<String, String> {
    let text = text.trim();
    // An invalid URL may contain a password too.
    let shown = match text.contains('@') {
        true => "no URL".to_owned(),
        false => format!("{text:?}"),
    };
    let url = Url::parse(text).map_err(|error| format!("is {shown} ({error}); {FORM}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "must not hold a user name or a password; name a variable in apiKeyEnv".to_owned(),
        );
    }
    let hosted = url.host_str().is_some_and(|host| !host.is_empty()) && !text.contains(":///");
    if !matches!(url.scheme(), "http" | "https") || !hosted {
        return Err(format!("is {text:?}; {FORM}"));
    }
    let mut pairs = url.query_pairs();
    let versioned = pairs
        .next()
        .is_some_and(|(name, value)| name == API_VERSION && !value.is_empty())
        && pairs.next().is_none();
    if (url.query().is_some() && !versioned) || url.fragment().is_some() {
        return Err(format!(
            "is {text:?}, but paths are added to its end; leave out ? and # and what follows, except for \
             ?api-version=VERSION of Azure"
        ));
    }
    let mut bare = url.clone();
    bare.set_query(None);
    // Requests go to the URL that was checked, not to the text that was given.
    let base = bare.as_str().trim_end_matches('/');
    let base = match wire {
        // The protocol adds /v1/messages.
        ApiProtocol::Messages => base.strip_suffix("/v1").unwrap_or(base).to_owned(),
        _ => base.to_owned(),
    };
    Ok(match url.query() {
        Some(query) => format!("{base}?{query}"),
        None => base,
    })
}

/// Returns true when both URLs lead to the same scheme, host and port.
pub(super) fn same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{normalized, same_origin};
    use llm_providers::ApiProtocol;

    #[test]
    fn bases_have_one_form() {
        let chat = |text| normalized(text, ApiProtocol::Chat);
        assert_eq!(
            chat(" http://10.0.0.2:8000/v1/ ").as_deref(),
            Ok("http://10.0.0.2:8000/v1")
        );
        assert_eq!(
            chat("https://a.example").as_deref(),
            Ok("https://a.example")
        );
        assert_eq!(
            chat("https://a.example/openai/deployments/d/?api-version=2024-10-21").as_deref(),
            Ok("https://a.example/openai/deployments/d?api-version=2024-10-21")
        );
        let messages = normalized("https://a.example/anthropic/v1/", ApiProtocol::Messages);
        assert_eq!(messages.as_deref(), Ok("https://a.example/anthropic"));
    }

    #[test]
    fn what_is_no_base_is_refused() {
        for text in [
            "",
            "api.example.com/v1",
            "localhost:8000",
            "ftp://a.example",
            "http://",
            "http:///v1",
            "https://a.example/v1?key=1",
            "https://a.example/v1#top",
            "https://a.example/v1?api-version=1&key=2",
            "https://a.example/v1?api-version=",
        ] {
            let said = normalized(text, ApiProtocol::Chat);
            assert!(said.is_err(), "{text}: {said:?}");
        }
        let said = normalized("https://me:hunter2@a.example", ApiProtocol::Chat);
        let said = said.err().unwrap_or_default();
        assert!(
            said.contains("password") && !said.contains("hunter2"),
            "{said}"
        );
    }

    #[test]
    fn origins_are_scheme_host_and_port() {
        let same = |one, other| assert!(same_origin(one, other), "{one} {other}");
        let differ = |one, other| assert!(!same_origin(one, other), "{one} {other}");
        same("https://a.example/v1", "https://A.example:443/v2");
        differ("https://a.example", "http://a.example");
        differ("https://a.example", "https://a.example.evil.example");
        differ("https://a.example", "https://a.example:8443");
        differ("no url", "no url");
    }
}
