//! The inspector's pages and their forms.

mod forms;
mod safety;

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::login::{Flow, GITHUB, GOOGLE};
use crate::test_stack::TestStack;
use testkit::http::Response;

#[tokio::test]
async fn the_newest_login_is_drawn_with_every_call() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    stack.sign_in(Flow::Legacy, GITHUB).await.is_ada(GITHUB);
    let page = page(&stack, "/").await;
    for words in [
        "<h1 id=\"sequence-title\">Browser authorization with GitHub</h1>",
        "Browser to Broker: GET /authorize\"",
        "Broker to GitHub: POST token",
        "Consumer to Broker: POST /v1/token\"",
        "Broker to Consumer: 200 profile: Ada Lovelace\"",
        "A test&#39;s app",
        // The other one is in the list.
        "Clean callback with Google",
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
    assert!(!page.contains("POST /v1/login/session\""));
}

#[tokio::test]
async fn g7_the_page_of_a_login_with_very_many_calls_shows_the_last_of_them() {
    const CALLS: usize = 300;
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    for _ in 0..CALLS {
        stack.backend.result(&login.session_key).await;
    }
    let page = page(&stack, "/").await;
    assert!(page.contains("older events are left out"), "{page}");
    let arrows = page
        .matches("Consumer to Broker: POST /v1/login/result")
        .count();
    assert!((100..=200).contains(&arrows), "{arrows} arrows");
    assert!(page.len() < 500_000, "{} bytes", page.len());
}

#[tokio::test]
async fn an_arrow_links_to_its_http_exchange() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let call = call_of(&stack, "POST /v1/login/session").await;
    let path = format!("{}?call={}", path_of(&call), text(&call["request_id"]));
    assert!(
        page(&stack, &path_of(&call))
            .await
            .contains(&format!("href=\"{path}\""))
    );
    let page = page(&stack, &path).await;
    for words in [
        "id=\"exchange\"",
        "<code>POST /v1/login/session</code>",
        "<code>200 OK</code>",
        "x-request-id",
        "A login is pending.",
        "&#34;client_secret&#34;: &#34;[masked",
        "&#34;expires_in&#34;: 600",
        "aria-current=\"true\"",
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
}

#[tokio::test]
async fn a_refused_replay_shows_rule_source_and_advice() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    stack.backend.result(&login.session_key).await;
    stack
        .backend
        .result(&login.session_key)
        .await
        .is_refusal(400);
    let calls = calls_of(&stack, "POST /v1/login/result").await;
    let refused = calls.last().expect("the second read");
    let page = page(&stack, "/").await;
    assert!(page.contains("class=\"step refused\""));
    for said in ["rule", "happened", "says", "advice"] {
        let said = text(&refused[said]);
        assert!(page.contains(&escaped(said)), "{said} in {page}");
    }
    let source = text(&refused["law"])
        .strip_prefix("SPEC ")
        .expect("a section");
    assert!(
        page.contains(&format!("Source: the specification, “{source}”.")),
        "{page}"
    );
}

#[tokio::test]
async fn a_lost_response_is_shown_as_cut_with_its_committed_steps() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    let fault = json!({ "operation": "POST /v1/login/result", "fault": "lose_response" });
    let armed = stack
        .control(Method::POST, "/api/faults", Some(fault))
        .await;
    assert_eq!(armed.status, 201, "{}", armed.text());
    let waits = page(&stack, "/").await;
    assert!(
        waits.contains("<code>lose_response</code> at the next"),
        "{waits}"
    );
    let request = stack.backend.result_body(&login.session_key);
    let lost = stack
        .backend
        .request(Method::POST, "/v1/login/result")
        .json(&request)
        .try_send()
        .await;
    assert!(lost.is_err(), "{lost:?}");
    let page = page(&stack, "/").await;
    for words in [
        "class=\"step faulted\"",
        "class=\"broken\"",
        "The broker had already stored: The outcome was read, and cannot be read again.",
        "No fault is armed.",
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
}

#[tokio::test]
async fn a_call_that_belongs_to_no_login_is_found_too() {
    let stack = TestStack::start().await;
    assert!(!page(&stack, "/").await.contains("/others"));
    stack.backend.providers().await;
    let refused = stack.backend.post("/v1/login/result", &json!({})).await;
    refused.is_refusal(400);
    assert!(page(&stack, "/").await.contains("Other requests (1)"));
    let others = page(&stack, "/others").await;
    assert!(others.contains("Consumer to Broker: POST /v1/login/result"));
    assert!(others.contains("✕ The body lacks"), "{others}");
    assert!(!others.contains("/api/providers\""));
}

#[tokio::test]
async fn an_unknown_login_is_a_page_that_says_so() {
    let stack = TestStack::start().await;
    for path in ["/logins/unknown", "/logins/%3Cscript%3E"] {
        let response = get(&stack, path).await;
        assert_eq!(response.status, 404, "{path}");
        assert!(response.text().contains("This login is unknown"));
        assert!(!response.text().contains("<script>"));
    }
    assert_eq!(get(&stack, "/logins/unknown/diagram.svg").await.status, 404);
}

#[tokio::test]
async fn the_diagram_can_be_saved_with_its_own_style_and_nothing_to_load() {
    let stack = TestStack::start().await;
    stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
    let call = call_of(&stack, "POST /v1/login/session").await;
    let picture = get(&stack, &format!("{}/diagram.svg", path_of(&call))).await;
    assert_eq!(picture.header("content-type"), Some("image/svg+xml"));
    let (_, rest) = picture.text().split_once("<style>").expect("a style");
    let (style, _) = rest.split_once("</style>").expect("its end");
    let digest = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        Sha256::digest(style),
    );
    let policy = picture.header("content-security-policy");
    let expected = format!("default-src 'none'; style-src 'sha256-{digest}'");
    assert_eq!(policy, Some(expected.as_str()));
    for word in ["href", "<script", "url(", "@import"] {
        assert!(!picture.text().contains(word), "{word}");
    }
    assert!(picture.text().contains("POST /v1/login/session"));
}

/// Escaped as in a template.
fn escaped(text: &str) -> String {
    text.replace('&', "&#38;")
        .replace('<', "&#60;")
        .replace('>', "&#62;")
        .replace('"', "&#34;")
        .replace('\'', "&#39;")
}

async fn page(stack: &TestStack, path: &str) -> String {
    let response = get(stack, path).await;
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    response.text().to_owned()
}

async fn get(stack: &TestStack, path: &str) -> Response {
    stack.control(Method::GET, path, None).await
}

async fn events(stack: &TestStack) -> Value {
    get(stack, "/api/events?after=0").await.json()
}

async fn calls_of(stack: &TestStack, operation: &str) -> Vec<Value> {
    let events = events(stack).await;
    let events = events.as_array().expect("a list").iter();
    let is_it = |event: &&Value| event["operation"] == operation;
    events.filter(is_it).cloned().collect()
}

async fn call_of(stack: &TestStack, operation: &str) -> Value {
    let calls = calls_of(stack, operation).await;
    calls.into_iter().next().expect("such a call")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn path_of(call: &Value) -> String {
    format!("/logins/{}", text(&call["login"]))
}
