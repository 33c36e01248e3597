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

async fn is_error_at_callback(broker: &TestBroker, query: &Query, error: &str, echo: Option<&str>) {
    let response = broker.browser().get(&authorize_with(query)).await;
    let echo = echo.map_or(String::new(), |state| format!("&state={state}"));
    assert_eq!(
        response.location(),
        Some(&*format!("{CALLBACK}?error={error}{echo}#")),
        "{query:?}: {response:?}"
    );
    assert_eq!(response.status, 303);
    assert_eq!(response.set_cookies(), Vec::<String>::new());
}

async fn is_refused_on_a_page(broker: &TestBroker, query: &Query, rule: &str) {
    let response = broker.browser().get(&authorize_with(query)).await;
    response.is_refusal_page(400, rule);
}

#[tokio::test]
async fn a_valid_request_redirects_to_the_provider() {
    let broker = TestBroker::start().await;
    let redirect = broker.browser().get(&authorize_path()).await;
    assert_eq!((redirect.status, redirect.text()), (303, ""));
    let url = redirect.location().unwrap();
    let start = format!("{}/login/oauth/authorize?", broker.github.uri());
    assert!(url.starts_with(&start), "{url}");
    assert!(url.ends_with('#'), "it removes the browser's fragment");
    let names: Vec<_> = url::Url::parse(url)
        .unwrap()
        .query_pairs()
        .map(|(name, _)| name.into_owned())
        .collect();
    assert_eq!(
        names,
        [
            "client_id",
            "redirect_uri",
            "scope",
            "state",
            "code_challenge",
            "code_challenge_method"
        ]
    );
    assert_eq!(parameter(url, "client_id").unwrap(), "github-client");
    assert_eq!(
        parameter(url, "redirect_uri").unwrap(),
        "http://127.0.0.1:8000/callback/github"
    );
    assert_eq!(parameter(url, "scope").unwrap(), "read:user user:email");
    assert_eq!(parameter(url, "code_challenge_method").unwrap(), "S256");
    assert_eq!(parameter(url, "code_challenge").unwrap().len(), 43);
    // The consumer's state and challenge stay at the broker.
    assert!(!url.contains(&state()));
    assert!(!url.contains(&authorize_query()[4].1));
}

// Threats: A3.
#[tokio::test]
async fn an_unknown_client_or_callback_is_refused_on_a_page() {
    let broker = TestBroker::start().await;
    let client = "authorize.client";
    is_refused_on_a_page(&broker, &with("client_id", Some("prj_nobody")), client).await;
    let callback = "redirect_uri.registered";
    is_refused_on_a_page(&broker, &with("redirect_uri", Some(BOB_CALLBACK)), callback).await;
}

// Threats: A5.
#[tokio::test]
async fn a_repeated_client_or_callback_is_refused_on_a_page() {
    let broker = TestBroker::start().await;
    let once = "authorize.once";
    is_refused_on_a_page(&broker, &with_more("client_id", "prj_bob"), once).await;
    is_refused_on_a_page(&broker, &with_more("redirect_uri", LOCAL_CALLBACK), once).await;
}

#[tokio::test]
async fn a_client_that_accepts_no_html_is_refused_in_json() {
    let broker = TestBroker::start().await;
    let query = with("client_id", Some("prj_nobody"));
    broker.get(&authorize_with(&query)).await.is_refusal(400);
}

// Threats: A6.
#[tokio::test]
async fn any_other_invalid_parameter_is_an_error_at_the_callback_with_the_state() {
    let broker = TestBroker::start().await;
    let state = state();
    let check = async |name, value| {
        is_error_at_callback(&broker, &with(name, value), "invalid_request", Some(&state)).await;
    };
    for value in [
        None,
        Some(""),
        Some("Google"),
        Some("gitlab"),
        Some("github "),
    ] {
        check("provider", value).await;
        assert_eq!(broker.last_rule(), Some("provider.known"));
    }
    let (short, long, longest) = ("a".repeat(42), "a".repeat(44), "a".repeat(128));
    let odd = format!("{}=", "a".repeat(42));
    for value in [
        None,
        Some(""),
        Some(&*short),
        Some(&*long),
        Some(&*longest),
        Some(&*odd),
    ] {
        check("code_challenge", value).await;
        assert_eq!(broker.last_rule(), Some("code_challenge.pattern"));
    }
    for value in [
        None,
        Some(""),
        Some("plain"),
        Some("s256"),
        Some("S512"),
        Some("S256 "),
    ] {
        check("code_challenge_method", value).await;
        assert_eq!(broker.last_rule(), Some("authorize.challenge_method"));
    }
    for value in [
        Some("token"),
        Some("id_token"),
        Some("code token"),
        Some("Code"),
    ] {
        check("response_type", value).await;
        assert_eq!(broker.last_rule(), Some("authorize.response_type"));
    }
    // Google is not asked: it cannot be reached, and the error would be another one.
    let mut query = with("code_challenge", Some("short"));
    let provider = query.iter_mut().find(|(name, _)| *name == "provider");
    provider.unwrap().1 = "google".to_owned();
    is_error_at_callback(&broker, &query, "invalid_request", Some(&state)).await;
}

// Threats: A5.
#[tokio::test]
async fn any_other_repeated_parameter_is_an_error_at_the_callback_with_the_state() {
    let broker = TestBroker::start().await;
    for (name, value) in authorize_query().split_off(2) {
        if name == "state" {
            continue;
        }
        let query = with_more(name, &value);
        is_error_at_callback(&broker, &query, "invalid_request", Some(&state())).await;
        assert_eq!(broker.last_rule(), Some("authorize.once"), "{name}");
    }
    let mut query = with_more("response_type", "code");
    query.push(("response_type", "code".to_owned()));
    is_error_at_callback(&broker, &query, "invalid_request", Some(&state())).await;
    assert_eq!(broker.last_rule(), Some("authorize.once"));
}

#[tokio::test]
async fn a_state_is_echoed_only_when_it_is_well_formed_and_not_repeated() {
    let broker = TestBroker::start().await;
    let error = "invalid_request";
    let (short, long) = ("s".repeat(42), "s".repeat(44));
    for value in [
        None,
        Some(""),
        Some(&*short),
        Some(&*long),
        Some("<script>"),
        Some("a&b=c"),
    ] {
        is_error_at_callback(&broker, &with("state", value), error, None).await;
        assert_eq!(broker.last_rule(), Some("state.pattern"));
    }
    is_error_at_callback(&broker, &with_more("state", &state()), error, None).await;
    is_error_at_callback(&broker, &with_more("state", ""), error, None).await;
    assert_eq!(broker.last_rule(), Some("authorize.once"));
}

#[tokio::test]
async fn a_parameter_without_a_value_counts_as_omitted() {
    let broker = TestBroker::start().await;
    let query = with_more("response_type", "");
    let redirect = broker.browser().get(&authorize_with(&query)).await;
    let url = redirect.location().unwrap();
    assert!(url.starts_with(&broker.github.uri()), "{url}");
    is_refused_on_a_page(&broker, &with("client_id", Some("")), "authorize.client").await;
    let state = with("state", Some(""));
    is_error_at_callback(&broker, &state, "invalid_request", None).await;
}

// Threats: A5.
#[tokio::test]
async fn a_response_type_of_code_and_unknown_parameters_are_accepted() {
    let broker = TestBroker::start().await;
    let mut query = with_more("response_type", "code");
    query.extend([
        ("scope", "profile".to_owned()),
        ("nonce", "x".to_owned()),
        ("prompt", "none".to_owned()),
        ("next", "https://evil.test/".to_owned()),
        ("foo", "1".to_owned()),
        ("foo", "2".to_owned()),
    ]);
    let redirect = broker.browser().get(&authorize_with(&query)).await;
    let url = redirect.location().unwrap();
    assert!(url.starts_with(&broker.github.uri()), "{url}");
    assert!(!url.contains("evil"), "{url}");
}

// Threats: GHSA-7qjx-gp9h-65qj.
#[tokio::test]
async fn a_disabled_or_unreachable_provider_is_unavailable_at_the_callback() {
    let google = with("provider", Some("google"));
    let check = async |broker: TestBroker, rule: &str| {
        is_error_at_callback(&broker, &google, "provider_unavailable", Some(&state())).await;
        assert_eq!(broker.last_rule(), Some(rule));
    };
    let off = "provider.offered";
    check(
        TestBroker::start_with(|config| config.upstream.google = None).await,
        off,
    )
    .await;
    let switched_off =
        TestBroker::start_with(|config| config.upstream.google.as_mut().unwrap().enabled = false);
    check(switched_off.await, off).await;
    // No server listens at its address.
    check(TestBroker::start().await, "upstream.unavailable").await;
}
