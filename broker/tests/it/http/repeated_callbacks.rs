//! Callbacks that are repeated, concurrent or late: the provider is called once or not
//! at all.

use crate::test_broker::{CALLBACK, TestBroker, all, authorize_path, back_path};

// Threats: B2.
#[tokio::test]
async fn a_repeated_clean_callback_calls_the_provider_once() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    browser
        .come_back(&redirect, "code=upstream-code")
        .await
        .redirects_to(CALLBACK);
    let calls = broker.calls_upstream().await;
    browser
        .come_back(&redirect, "code=upstream-code")
        .await
        .redirects_to(CALLBACK);
    browser
        .come_back(&redirect, "error=access_denied")
        .await
        .redirects_to(CALLBACK);
    assert_eq!(broker.last_rule(), Some("upstream_login.once"));
    assert_eq!(broker.calls_upstream().await, calls);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

// Threats: B30.
#[tokio::test]
async fn a_repeated_legacy_callback_is_refused() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    let redirect = browser.get(&authorize_path()).await;
    browser.come_back(&redirect, "code=upstream-code").await;
    let calls = broker.calls_upstream().await;
    let again = browser.come_back(&redirect, "code=upstream-code").await;
    again.is_refusal_page(400, "upstream_login.once");
    assert_eq!(broker.calls_upstream().await, calls);
}

// Threats: B30.
#[tokio::test]
async fn a_late_callback_does_not_call_the_provider() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let clean = browser.get(&path).await;
    let legacy = browser.get(&authorize_path()).await;
    broker.advance_ms(600_000);
    let returned = browser.come_back(&clean, "code=upstream-code").await;
    returned.redirects_to(CALLBACK);
    assert_eq!(broker.last_rule(), Some("upstream_login.expiry"));
    let page = browser.come_back(&legacy, "code=upstream-code").await;
    page.is_refusal_page(400, "upstream_login.expiry");
    assert_eq!(broker.calls_upstream().await, 0);
    broker.result(1).await.is_refusal(400);
    assert_eq!(broker.last_rule(), Some("result.expiry"));
}

// Threats: B2.
#[tokio::test]
async fn of_32_concurrent_callbacks_one_calls_the_provider_and_all_redirect() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    let back = back_path(&redirect, "code=upstream-code");
    let responses = all(32, || browser.get(&back)).await;
    assert_eq!(responses.len(), 32);
    for response in responses {
        response.redirects_to(CALLBACK);
    }
    assert_eq!(
        broker.calls_upstream().await,
        3,
        "one exchange, two questions"
    );
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

// Threats: B2.
#[tokio::test]
async fn of_32_concurrent_legacy_callbacks_one_yields_a_code() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    let redirect = browser.get(&authorize_path()).await;
    let back = back_path(&redirect, "code=upstream-code");
    let responses = all(32, || browser.get(&back)).await;
    let codes = responses
        .iter()
        .filter(|response| response.status == 303)
        .count();
    let pages = responses
        .iter()
        .filter(|response| response.status == 400)
        .count();
    assert_eq!((codes, pages), (1, 31));
    assert_eq!(broker.calls_upstream().await, 3);
}
