//! Addresses: where a browser may be sent, and what may stand in a query.

use reqwest::Method;

use super::valid_body;
use crate::login::GOOGLE;
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::fresh;
use testkit::http::Response;

/// What is almost the registered `http://localhost:9/came/back`.
const ALMOST: &[&str] = &[
    "http://localhost:9/came/back/",
    "http://localhost:9/came/back?",
    "http://localhost:9/came/back?x=1",
    "http://localhost:9/came/back#",
    "http://localhost:9/came/back#x",
    "http://localhost:9/came/BACK",
    "http://localhost:9/came",
    "http://localhost:9/",
    "http://localhost:9",
    "http://localhost:9/came/back/more",
    "http://localhost:9/came//back",
    "http://localhost:9/./came/back",
    "http://localhost:9/x/../came/back",
    "http://localhost:9/came/%62ack",
    "http://localhost:9/came%2Fback",
    "http://localhost:9/came/back%00",
    "http://localhost:9/came/back%20",
    "http://localhost:9/came/back;x",
    "http://localhost:9\\came\\back",
    "http://localhost:09/came/back",
    "http://localhost/came/back",
    "http://localhost:80/came/back",
    "http://localhost:90/came/back",
    "http://localhost.:9/came/back",
    "http://LOCALHOST:9/came/back",
    "http://127.0.0.1:9/came/back",
    "http://[::1]:9/came/back",
    "http://127.1:9/came/back",
    "http://user@localhost:9/came/back",
    "http://user:pass@localhost:9/came/back",
    "http://localhost:9@evil.example/came/back",
    "http://localhost.evil.example:9/came/back",
    "http://evil.example/came/back",
    "https://localhost:9/came/back",
    "HTTP://localhost:9/came/back",
    "http:/localhost:9/came/back",
    "//localhost:9/came/back",
    "/came/back",
    "javascript:alert(1)",
    "data:text/html,x",
    " http://localhost:9/came/back",
    "http://localhost:9/came/back ",
    "http://localhost:9/came/back\n",
    "http://localhost:9/came/b\tack",
    "http://localhost:9/other/back",
    "",
];

#[tokio::test]
async fn a_callback_that_is_almost_the_registered_one_starts_no_login() {
    let stack = TestStack::start().await;
    let _other = stack.other_project("Another app").await;
    for almost in ALMOST {
        let mut body = valid_body(&stack.backend, "/v1/login/session");
        body["redirect_uri"] = (*almost).into();
        let response = stack.backend.post("/v1/login/session", &body).await;
        response.is_refusal(400);
        assert_eq!(response.location(), None, "{almost}");
    }
}

#[tokio::test]
async fn a_callback_that_is_almost_the_registered_one_is_never_redirected_to() {
    let stack = TestStack::start().await;
    let _other = stack.other_project("Another app").await;
    for almost in ALMOST {
        let response = authorize(&stack, &[("redirect_uri", almost)], &[]).await;
        response.is_page(400, "This sign-in cannot go on");
        assert_eq!(response.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn an_unknown_doubled_or_absent_client_or_callback_is_a_page() {
    let stack = TestStack::start().await;
    let own = &stack.backend.callback;
    for (changes, more) in [
        (vec![("client_id", "nobody")], vec![]),
        (vec![("client_id", "")], vec![]),
        (vec![("client_id", "demo")], vec![]),
        (vec![], vec![("client_id", "nobody")]),
        (
            vec![],
            vec![("client_id", stack.backend.client_id.as_str())],
        ),
        (vec![], vec![("redirect_uri", own.as_str())]),
        (vec![], vec![("redirect_uri", "https://evil.example/")]),
    ] {
        let response = authorize(&stack, &changes, &more).await;
        response.is_page(400, "This sign-in cannot go on");
    }
    for query in [
        "",
        "?",
        "?client_id",
        "?%",
        "?redirect_uri=https://evil.example/",
    ] {
        let url = format!("{}/authorize{query}", stack.broker());
        let response = Browser::new().open(&url).await;
        response.is_page(400, "This sign-in cannot go on");
    }
}

#[tokio::test]
async fn any_other_parameter_that_is_wrong_or_doubled_goes_home_with_an_error() {
    let stack = TestStack::start().await;
    for (name, wrong) in [
        ("provider", "gitlab"),
        ("code_challenge", "short"),
        ("code_challenge", ""),
        ("code_challenge_method", "plain"),
        ("response_type", "token"),
    ] {
        let response = authorize(&stack, &[(name, wrong)], &[]).await;
        goes_home_with_invalid_request(&stack, &response, true);
    }
    for name in [
        "provider",
        "code_challenge",
        "code_challenge_method",
        "response_type",
    ] {
        let response = authorize(&stack, &[], &[(name, "code"), (name, "code")]).await;
        goes_home_with_invalid_request(&stack, &response, true);
    }
}

#[tokio::test]
async fn a_state_is_echoed_only_if_it_came_once_and_is_well_formed() {
    let stack = TestStack::start().await;
    for state in ["", "short", &"x".repeat(44), "<script>alert(1)</script>"] {
        let response = authorize(&stack, &[("state", state)], &[]).await;
        goes_home_with_invalid_request(&stack, &response, false);
    }
    let response = authorize(&stack, &[], &[("state", STATE)]).await;
    goes_home_with_invalid_request(&stack, &response, false);
}

#[tokio::test]
async fn a_secret_in_an_address_is_refused_wherever_it_is() {
    let stack = TestStack::start().await;
    for name in [
        "client_secret",
        "session_key",
        "code_verifier",
        "client%5Fsecret",
    ] {
        let own = authorize(&stack, &[], &[]).await;
        assert_eq!(own.status, 303);
        let url = format!("{}&{name}=x", authorize_url(&stack, &[], &[]));
        let response = Browser::new().open(&url).await;
        assert_eq!(
            (response.status, response.location()),
            (400, None),
            "{name}"
        );
        for path in ["/v1/token", "/v1/login/session", "/v1/revoke"] {
            let request = stack
                .backend
                .request(Method::POST, &format!("{path}?{name}=x"));
            request
                .json(&valid_body(&stack.backend, "/v1/token"))
                .send()
                .await
                .is_refusal(400);
        }
    }
}

#[tokio::test]
async fn the_brokers_own_address_comes_from_its_configuration_alone() {
    let stack = TestStack::start().await;
    for (name, value) in [
        ("Host", "evil.example"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "https"),
        ("Forwarded", "host=evil.example;proto=https"),
        ("X-Original-URL", "/v1/profile"),
    ] {
        let body = valid_body(&stack.backend, "/v1/login/session");
        let request = stack
            .backend
            .request(Method::POST, "/v1/login/session")
            .json(&body);
        let response = request.header(name, value).send().await;
        let url = response.json()["authorization_url"]
            .as_str()
            .expect("a URL")
            .to_owned();
        assert!(
            url.starts_with(&format!("{}/login/", stack.broker())),
            "{name}: {url}"
        );

        let departure = Browser::new().open_with(&url, &[(name, value)]).await;
        let to_provider = departure.location().expect("the provider");
        assert!(!to_provider.contains("evil"), "{name}: {to_provider}");
    }
}

/// A well-formed state.
const STATE: &str = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNO-";

/// Visits a good `/authorize` with other values for some parameters, and more.
async fn authorize(stack: &TestStack, changes: &[(&str, &str)], more: &[(&str, &str)]) -> Response {
    Browser::new()
        .open(&authorize_url(stack, changes, more))
        .await
}

fn authorize_url(stack: &TestStack, changes: &[(&str, &str)], more: &[(&str, &str)]) -> String {
    let challenge = fresh::challenge(&fresh::secret());
    let mut parameters = vec![
        ("client_id", stack.backend.client_id.as_str()),
        ("redirect_uri", &stack.backend.callback),
        ("provider", GOOGLE),
        ("state", STATE),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    for (name, value) in changes {
        parameters.retain(|(known, _)| known != name);
        parameters.push((name, value));
    }
    parameters.extend(more);
    stack.backend.authorize_url(&parameters)
}

#[track_caller]
fn goes_home_with_invalid_request(stack: &TestStack, response: &Response, with_state: bool) {
    let state = if with_state {
        format!("&state={STATE}")
    } else {
        String::new()
    };
    response.redirects_to(&format!(
        "{}?error=invalid_request{state}#",
        stack.backend.callback
    ));
}
