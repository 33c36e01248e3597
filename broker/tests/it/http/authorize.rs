//! `GET /authorize`: its parameters, and where each error is reported.

use crate::test_broker::{
    BOB_CALLBACK, CALLBACK, LOCAL_CALLBACK, TestBroker, authorize_path, authorize_query,
    authorize_with, parameter, state,
};

type Query = Vec<(&'static str, String)>;

/// A valid query with one parameter set, or left out.
fn with(name: &'static str, value: Option<&str>) -> Query {
    let mut query = authorize_query();
    query.retain(|(own, _)| *own != name);
    query.extend(value.map(|value| (name, value.to_owned())));
    query
}

/// A valid query with one more parameter.
fn with_more(name: &'static str, value: &str) -> Query {
    let mut query = authorize_query();
    query.push((name, value.to_owned()));
    query
}

/// Asserts that the error is reported at the callback, with this rule and state.
async fn is_error_at_callback(broker: &TestBroker, query: &Query, rule: &str, echo: Option<&str>) {
    let response = broker.browser().get(&authorize_with(query)).await;
    let echo = echo.map_or(String::new(), |state| format!("&state={state}"));
    assert_eq!(broker.last_rule(), Some(rule), "{query:?}");
    response.redirects_to(&format!("{CALLBACK}?error=invalid_request{echo}#"));
    assert_eq!(response.set_cookies(), Vec::<String>::new());
}

/// Asserts that the browser is sent to the provider, and returns the URL.
async fn is_accepted(broker: &TestBroker, path: &str) -> String {
    let redirect = broker.browser().get(path).await;
    assert_eq!((redirect.status, redirect.text()), (303, ""));
    let url = redirect.location().unwrap();
    let start = format!("{}/login/oauth/authorize?", broker.github.url());
    assert!(url.starts_with(&start), "{url}");
    assert!(url.ends_with('#'), "it removes the browser's fragment");
    url.to_owned()
}

#[tokio::test]
async fn a_valid_request_redirects_to_the_provider() {
    let broker = TestBroker::start().await;
    let url = is_accepted(&broker, &authorize_path()).await;
    for (name, value) in [
        ("client_id", Some("us-at-github")),
        (
            "redirect_uri",
            Some("http://127.0.0.1:8000/callback/github"),
        ),
        ("scope", Some("read:user user:email")),
        ("code_challenge_method", Some("S256")),
        ("prompt", None),
    ] {
        assert_eq!(parameter(&url, name).as_deref(), value, "{name}");
    }
    assert_eq!(parameter(&url, "code_challenge").unwrap().len(), 43);
    // The consumer's state and challenge stay at the broker.
    assert!(!url.contains(&state()));
    assert!(!url.contains(&authorize_query()[4].1));
}

/// Addresses that are almost a callback, in terms of it and its parts.
const NEAR_MISSES: &str = r"
    CALLBACK/ CALLBACK? CALLBACK?x=1 CALLBACK# CALLBACK#x CALLBACK/more CALLBACK// CALLBACK/..
    CALLBACK%00 CALLBACK%20 CALLBACK;x CALLBACK2 https://evil.example/CALLBACK
    SCHEME://AUTHORITY SCHEME://AUTHORITY/ SCHEME://AUTHORITY//PATH SCHEME://AUTHORITY/./PATH
    SCHEME://AUTHORITY/x/../PATH SCHEME://AUTHORITY/PATH%2F SCHEME:\\AUTHORITY\PATH
    SCHEME:/AUTHORITY/PATH //AUTHORITY/PATH /PATH SCHEME://www.AUTHORITY/PATH
    SCHEME://HOST:08443/PATH SCHEME://HOST:8443/PATH SCHEME://ada@AUTHORITY/PATH
    SCHEME://ada:pass@AUTHORITY/PATH SCHEME://@AUTHORITY/PATH
    SCHEME://AUTHORITY@evil.example/PATH SCHEME://HOST.evil.example/PATH
    SCHEME://evil.example/PATH SCHEME://127.0.0.1/PATH SCHEME://127.1/PATH SCHEME://[::1]/PATH
    javascript:alert(1) data:text/html,x";

/// Addresses that resemble a registered callback. `callback` has a path.
pub(super) fn near_misses(callback: &str) -> Vec<String> {
    let (scheme, rest) = callback.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let host = authority.split(':').next().unwrap();
    let other_scheme = if scheme == "http" { "https" } else { "http" };
    let (shorter, last) = callback.split_at(callback.len() - 1);
    let filled = NEAR_MISSES
        .replace("CALLBACK", callback)
        .replace("SCHEME", scheme)
        .replace("AUTHORITY", authority)
        .replace("HOST", host)
        .replace("PATH", path);
    let mut misses: Vec<_> = filled.split_whitespace().map(str::to_owned).collect();
    misses.extend([
        String::new(),
        shorter.to_owned(),
        format!("{shorter}%{:02x}", last.as_bytes()[0]),
        format!("{scheme}://{authority}/{}", path.to_uppercase()),
        format!("{scheme}://{}/{path}", authority.to_uppercase()),
        format!(
            "{scheme}://{}/{path}",
            authority.replace(host, &format!("{host}."))
        ),
        format!("{}://{rest}", scheme.to_uppercase()),
        format!("{other_scheme}://{rest}"),
        format!(" {callback}"),
        format!("{callback} "),
        format!("{callback}\n"),
        format!("{scheme}://{authority}/\t{path}"),
        format!("{callback}{}", "x".repeat(2048)),
    ]);
    misses
}

// Threats: A1, A3, A5.
#[tokio::test]
async fn an_unknown_or_repeated_client_or_callback_is_refused_on_a_page() {
    let broker = TestBroker::start().await;
    let (client, callback) = ("authorize.client", "redirect_uri.registered");
    let long = "x".repeat(101);
    let mut rows = vec![
        (with("client_id", None), client),
        (with("redirect_uri", None), callback),
        (with("redirect_uri", Some(BOB_CALLBACK)), callback),
    ];
    for other in ["", "prj_nobody", "PRJ_ADA", &long] {
        rows.push((with("client_id", Some(other)), client));
    }
    for miss in [CALLBACK, LOCAL_CALLBACK].into_iter().flat_map(near_misses) {
        rows.push((with("redirect_uri", Some(&miss)), callback));
    }
    for (name, second) in [
        ("client_id", ""),
        ("client_id", "prj_ada"),
        ("client_id", "prj_bob"),
        ("redirect_uri", CALLBACK),
        ("redirect_uri", LOCAL_CALLBACK),
        ("redirect_uri", "https://evil.example/"),
    ] {
        rows.push((with_more(name, second), "authorize.once"));
    }
    let mut rows: Vec<_> = rows
        .iter()
        .map(|(query, rule)| (authorize_with(query), *rule))
        .collect();
    for query in ["", "client_id", "%", "redirect_uri=https://evil.example/"] {
        rows.push((format!("/authorize?{query}"), client));
    }
    for (path, rule) in rows {
        let page = broker.browser().get(&path).await;
        page.is_refusal_page(400, rule);
    }
}

// Threats: A6.
#[tokio::test]
async fn any_other_invalid_parameter_is_an_error_at_the_callback_with_the_state() {
    let broker = TestBroker::start().await;
    let (short, long, longest) = ("a".repeat(42), "a".repeat(44), "a".repeat(128));
    let odd = format!("{short}=");
    let rows: [(&'static str, &str, &[&str]); 4] = [
        (
            "provider",
            "provider.known",
            &["", "Google", "gitlab", "github "],
        ),
        (
            "code_challenge",
            "code_challenge.pattern",
            &["", &short, &long, &longest, &odd],
        ),
        (
            "code_challenge_method",
            "authorize.challenge_method",
            &["", "plain", "s256", "S512", "S256 "],
        ),
        (
            "response_type",
            "authorize.response_type",
            &["token", "id_token", "code token", "Code"],
        ),
    ];
    let state = state();
    for (name, rule, values) in rows {
        let absent = (name != "response_type").then_some(None);
        for value in absent.into_iter().chain(values.iter().copied().map(Some)) {
            is_error_at_callback(&broker, &with(name, value), rule, Some(&state)).await;
        }
    }
    // Google is not asked: it cannot be reached, and the error would be another one.
    let mut query = with("code_challenge", Some("short"));
    query[2].1 = "google".to_owned();
    is_error_at_callback(&broker, &query, "code_challenge.pattern", Some(&state)).await;
}

// Threats: A5.
#[tokio::test]
async fn any_other_repeated_parameter_is_an_error_at_the_callback_with_the_state() {
    let broker = TestBroker::start().await;
    let (once, state) = ("authorize.once", state());
    let mut twice = with_more("response_type", "code");
    twice.push(("response_type", "code".to_owned()));
    is_error_at_callback(&broker, &twice, once, Some(&state)).await;
    for (name, value) in authorize_query().split_off(2) {
        // A repeated state is not echoed.
        let echo = (name != "state").then_some(&*state);
        is_error_at_callback(&broker, &with_more(name, &value), once, echo).await;
    }
    is_error_at_callback(&broker, &with_more("state", ""), once, None).await;
}

// Threats: A5.
#[tokio::test]
async fn a_response_type_of_code_or_nothing_and_unknown_parameters_are_accepted() {
    let broker = TestBroker::start().await;
    let valid = authorize_path();
    for more in [
        "response_type=",
        "response_type=code&scope=profile&nonce=x&prompt=none",
        "next=https://evil.test/&foo=1&foo=2",
    ] {
        let url = is_accepted(&broker, &format!("{valid}&{more}")).await;
        assert!(!url.contains("evil"), "{url}");
    }
}
