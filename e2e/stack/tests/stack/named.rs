//! The inspector as a debugger: whatever is planted, the page as it is first loaded names it, in
//! the verdict above the diagram.

use mock_upstream::{Misbehaviour, Provider};
use reqwest::Method;
use serde_json::{Value, json};
use stack::StackSettings;
use stack::faults::{Fault, FaultInjection};
use stack::mask::mask;
use testkit::fresh;
use testkit::login::{Flow, GOOGLE};

use crate::control::get;
use crate::test_stack::TestStack;

/// Asserts that the verdict of the inspector's first page has all of `words`, as text or marked.
async fn names(stack: &TestStack, words: &[&str]) {
    let page = get(stack, "/").await;
    let (_, verdict) = page.text().split_once("id=\"verdict\"").expect("a verdict");
    let (verdict, _) = verdict.split_once("class=\"canvas\"").expect("an end");
    let parts = verdict.split('<').filter_map(|part| part.split_once('>'));
    let text: String = parts.map(|(_, text)| text).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        let is_named = text.contains(word) || verdict.contains(word);
        assert!(is_named, "{word} in {text}");
    }
}

#[tokio::test]
async fn every_misbehaviour_of_google_is_named() {
    names_all_of(Provider::Google).await;
}

#[tokio::test]
async fn every_misbehaviour_of_github_is_named() {
    names_all_of(Provider::GitHub).await;
}

async fn names_all_of(provider: Provider) {
    let settings = StackSettings {
        // As long as the silent ones take.
        upstream_timeout_ms: 500,
        ..StackSettings::for_tests()
    };
    let stack = TestStack::start_with(settings).await;
    for misbehaviour in Misbehaviour::of(provider) {
        stack.queue_misbehaviour(provider.name(), *misbehaviour);
        stack.sign_in(Flow::Clean, provider.name()).await;
        let planned = format!("⚡ Planned here: {}: ", misbehaviour.name());
        let failed = |error| format!("✕ Failed: {error}: ");
        let signed_in = || "✓ Signed in: ".to_owned();
        let end = misbehaviour.error().map_or_else(signed_in, failed);
        names(&stack, &[&planned, &end]).await;
    }
}

#[tokio::test]
async fn every_fault_of_the_network_is_named() {
    let stack = TestStack::start().await;
    for fault in Fault::ALL {
        let login = stack.completed_login(GOOGLE).await;
        let read = "POST /v1/login/result".parse().expect("an operation");
        stack.faults().arm(FaultInjection::next(read, *fault));
        let mut events = stack.event_log().subscribe();
        let read = stack.backend.request(Method::POST, "/v1/login/result");
        let read = read.json(&stack.backend.result_body(&login.session_key));
        let call = tokio::spawn(async move { read.try_send().await.is_ok() });
        while events.recv().await.expect("an event").fault != Some(fault.name()) {}
        names(&stack, &[&format!("⚡ Fault injected: {}", fault.name())]).await;
        stack.faults().clear();
        call.abort();
    }
}

#[tokio::test]
async fn every_mistake_of_an_integrator_is_named_with_the_value_and_the_right_one() {
    let stack = TestStack::start().await;
    let backend = &stack.backend;
    let other = stack.other_project("Another app").await;
    let used = backend.start_login(GOOGLE).await.session_key;
    let foreign = other.start_login(GOOGLE).await.session_key;
    let (wrong, slash) = (fresh::secret(), format!("{}/", backend.callback));
    let with = |member: &str, value: &str| {
        let mut body = backend.session_body(&fresh::secret(), GOOGLE);
        body[member] = json!(value);
        body
    };
    let mut camel = with("sessionKey", &fresh::secret());
    camel.as_object_mut().expect("one").remove("session_key");
    let secrets = [&wrong, &used, &foreign].map(|it| mask(it));
    let beside = format!("got {slash} right {}", backend.callback);
    let rows: [(Value, [&str; 2]); 7] = [
        (
            with("client_secret", &wrong),
            ["client_secret, got", &secrets[0]],
        ),
        (with("redirect_uri", &slash), ["<mark>/</mark>", &beside]),
        (
            with("session_key", "short"),
            ["got 5 characters", "43 characters"],
        ),
        (
            with("session_key", &used),
            ["started a login before", &secrets[1]],
        ),
        (
            backend.result_body(&foreign),
            ["started no login", &secrets[2]],
        ),
        (
            with("provider", "gogle"),
            ["got gogle", "Did you mean google"],
        ),
        (
            camel,
            ["session</span><mark>K</mark>", "Did you mean session_key"],
        ),
    ];
    for (body, words) in rows {
        // A good login before is not the newest then.
        stack.sign_in(Flow::Clean, GOOGLE).await.is_ada(GOOGLE);
        let path = match body.get("provider") {
            Some(_) => "/v1/login/session",
            None => "/v1/login/result",
        };
        let refused = backend.post(path, &body).await;
        assert!(refused.status >= 400, "{words:?}: {refused:?}");
        names(&stack, &words).await;
    }
}
