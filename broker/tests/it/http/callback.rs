//! `GET /callback/{provider}`: only the browser of the upstream login, once and in
//! time.

use crate::test_broker::{
    CALLBACK, TestBroker, authorize_path, parameter, result_body, session_body, sign_in, state,
    token_body,
};

// Threats: A45.
#[tokio::test]
async fn a_legacy_login_returns_to_the_callback_with_code_and_state() {
    let broker = TestBroker::start().await;
    let (browser, back) = broker.at_provider_in_legacy().await;
    let returned = browser.get(&back).await;
    let code = parameter(returned.location().unwrap(), "code").unwrap();
    assert_eq!(code.len(), 43);
    returned.redirects_to(&format!("{CALLBACK}?code={code}&state={}", state()));
}

// Threats: B2, B30.
#[tokio::test]
async fn a_repeated_callback_does_not_call_the_provider_again() {
    let broker = TestBroker::start().await;
    let (browser, back) = broker.at_provider(1).await;
    browser.get(&back).await.redirects_to(CALLBACK);
    let (legacy, legacy_back) = broker.at_provider_in_legacy().await;
    assert_eq!(legacy.get(&legacy_back).await.status, 303);
    let calls = broker.calls_upstream();
    assert_eq!(calls, 2 * 3, "an exchange and two questions each");
    for end in ["code=upstream-code", "error=access_denied"] {
        let again = back.replace("code=upstream-code", end);
        browser.get(&again).await.redirects_to(CALLBACK);
        assert_eq!(broker.last_rule(), Some("upstream_login.once"));
    }
    let again = legacy.get(&legacy_back).await;
    again.is_refusal_page(400, "upstream_login.once");
    assert_eq!(broker.calls_upstream(), calls);
    broker.has_status(1, "succeeded").await;
}

// Threats: X1, V4, M1, B1, CVE-2026-7507, CVE-2025-14546, CVE-2025-65107, V2, CVE-2022-39222.
#[tokio::test]
async fn a_callback_without_its_cookie_is_refused_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    let (browser, back) = broker.at_provider(1).await;
    let page = broker.browser().get(&back).await;
    page.is_refusal_page(400, "upstream_login.own_browser");
    assert_eq!(broker.calls_upstream(), 0);
    broker.has_status(1, "pending").await;
    browser.get(&back).await.redirects_to(CALLBACK);
    broker.has_status(1, "succeeded").await;
}

// Threats: B1, CVE-2026-7571.
#[tokio::test]
async fn a_tampered_cookie_is_refused() {
    let broker = TestBroker::start().await;
    let (browser, back) = broker.at_provider_in_legacy().await;
    let (name, value) = browser.cookies().pop_first().unwrap();
    let other = |is_a| if is_a { 'B' } else { 'A' };
    let (first, last) = (other(value.starts_with('A')), other(value.ends_with('A')));
    for (name, value) in [
        (&*name, &*format!("{first}{}", &value[1..])),
        (&name, &format!("{}{last}", &value[..value.len() - 1])),
        (&name, &value[..value.len() - 4]),
        (&name, ""),
        (&name, "%"),
        ("fsi_trip_other", &value),
        ("other", &value),
    ] {
        let forger = broker.browser();
        forger.add_cookie(name, value);
        let page = forger.get(&back).await;
        page.is_refusal_page(400, "upstream_login.own_browser");
    }
    assert_eq!(broker.calls_upstream(), 0);
    assert_eq!(browser.get(&back).await.status, 303);
}

// Threats: B1, CVE-2025-68481, CVE-2025-68158.
#[tokio::test]
async fn the_state_of_another_browsers_upstream_login_is_refused() {
    let broker = TestBroker::start().await;
    let (victim, own) = broker.at_provider_in_legacy().await;
    let (_, attackers) = broker.at_provider_in_legacy().await;
    let (_, state) = own.split_once('&').unwrap();
    for back in [
        &*attackers,
        "/callback/github?code=a",
        "/callback/github?code=a&state=",
        "/callback/github?code=a&state=x&state=x",
        &format!("{own}&{state}"),
    ] {
        let page = victim.get(back).await;
        page.is_refusal_page(400, "upstream_login.own_browser");
    }
    assert_eq!(broker.calls_upstream(), 0);
    assert_eq!(victim.get(&own).await.status, 303);
}

// Threats: B30.
#[tokio::test]
async fn no_browser_is_redirected_to_a_callback_that_was_withdrawn() {
    let broker = TestBroker::start().await;
    let expired = broker.session(1).await;
    broker.advance_ms(600_000);
    let pending = broker.session(2).await;
    let (browser, back) = broker.at_provider(3).await;
    broker.set_adas_callbacks(&["https://app.example/moved"]);
    for page in [
        browser.get(&back).await,
        browser.get(&authorize_path()).await,
        browser.get(&pending).await,
        browser.get(&expired).await,
        browser.press(&format!("{expired}/cancel")).await,
        browser.press(&format!("{expired}/continue")).await,
    ] {
        page.is_refusal_page(400, "redirect_uri.registered");
    }
    assert_eq!(broker.calls_upstream(), 0);
    broker.set_adas_callbacks(&[CALLBACK]);
    browser.get(&back).await.redirects_to(CALLBACK);
}

#[tokio::test]
async fn a_callback_that_was_withdrawn_starts_reads_and_redeems_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    let code = broker.code().await;
    broker.set_adas_callbacks(&["https://app.example/moved"]);
    for (path, body) in [
        ("/v1/login/session", session_body(2)),
        ("/v1/login/result", result_body(1)),
        ("/v1/token", token_body(&code)),
    ] {
        broker
            .refuses(path, &body, 400, "redirect_uri.registered")
            .await;
    }
    broker.set_adas_callbacks(&[CALLBACK]);
    broker.has_status(1, "succeeded").await;
    assert_eq!(broker.token(&code).await.status, 200);
}
