//! `GET /callback/{provider}`: only the browser of the upstream login, once and in time. And
//! an upstream login that another page of the broker's host name planted: cookies know no
//! ports. The browser that comes back is not the one that began, and is asked.

use broker::relay::{RelayGuard, SameTraits};
use reqwest::Method;

use super::relay_guard::is_confirmation_page;
use crate::test_broker::{
    Browser, CALLBACK, TestBroker, authorize_path, back_path, parameter, result_body, session_body,
    state, token_body,
};

// Threats: X1, V4, M1, B1, CVE-2026-7507, CVE-2025-14546, CVE-2025-65107, V2, CVE-2022-39222.
// Threats: CVE-2025-68481, CVE-2025-68158.
#[tokio::test]
async fn a_callback_without_the_cookie_of_its_own_state_is_refused_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    let (victim, own) = broker.at_provider_in_legacy().await;
    let (_, attackers) = broker.at_provider_in_legacy().await;
    let (_, state) = own.split_once('&').unwrap();
    let stranger = broker.browser();
    for (browser, back) in [
        (&stranger, &*own),
        (&victim, &attackers),
        (&victim, "/callback/github?code=a"),
        (&victim, "/callback/github?code=a&state="),
        (&victim, "/callback/github?code=a&state=x&state=x"),
        (&victim, &format!("{own}&{state}")),
    ] {
        let page = browser.get(back).await;
        page.is_refusal_page(400, "upstream_login.own_browser");
    }
    assert_eq!(broker.calls_upstream(), 0);
    assert_eq!(victim.get(&own).await.status, 303);
}

// Threats: B30.
#[tokio::test]
async fn a_callback_that_was_withdrawn_gets_no_browser_and_serves_no_backend() {
    let broker = TestBroker::start().await;
    let expired = broker.session(1).await;
    broker.advance_ms(600_000);
    let pending = broker.session(2).await;
    let (browser, back) = broker.at_provider(3).await;
    broker.sign_in(4).await;
    let code = broker.code().await;
    let (calls, rule) = (broker.calls_upstream(), "redirect_uri.registered");
    broker.set_adas_callbacks(&["https://app.example/moved"]);
    for page in [
        browser.get(&back).await,
        browser.get(&authorize_path()).await,
        browser.get(&pending).await,
        browser.get(&expired).await,
        browser.press(&format!("{expired}/cancel")).await,
        browser.press(&format!("{expired}/continue")).await,
    ] {
        page.is_refusal_page(400, rule);
    }
    for (path, body) in [
        ("/v1/login/session", session_body(5)),
        ("/v1/login/result", result_body(4)),
        ("/v1/token", token_body(&code)),
    ] {
        broker.refuses(path, &body, 400, rule).await;
    }
    assert_eq!(broker.calls_upstream(), calls);
    broker.set_adas_callbacks(&[CALLBACK]);
    browser.get(&back).await.redirects_to(CALLBACK);
    broker.has_status(4, "succeeded").await;
    assert_eq!(broker.token(&code).await.status, 200);
}

/// The headers by which Chromium introduces itself.
const VICTIM: [(&str, &str); 3] = [
    ("User-Agent", "Mozilla/5.0 Chrome/156.0.0.0"),
    ("Accept-Language", "en-US,en;q=0.9"),
    ("Sec-CH-UA-Platform", "\"Linux\""),
];

async fn with_guard(guard: RelayGuard) -> TestBroker {
    TestBroker::start_with(|config| {
        config.projects[0].relay_guard = guard;
        config.ip_header = Some("X-Real-IP".to_owned().try_into().unwrap());
    })
    .await
}

/// An attacker begins a login with a client that is like a browser, and confirms it.
/// Returns the client, and the path by which a browser comes back.
async fn attack(broker: &TestBroker) -> (Browser, String) {
    let path = broker.session(1).await;
    let attacker = broker.browser();
    attacker.get(&path).await;
    let redirect = attacker.press(&format!("{path}/continue")).await;
    assert_eq!(redirect.status, 303);
    (attacker, back_path(&redirect, "code=upstream-code"))
}

/// A victim's browser in which the attacker's cookies were planted.
fn victim_of(attacker: &Browser, broker: &TestBroker) -> Browser {
    let victim = broker.browser_on("https://github.com/");
    victim.add_cookies_of(attacker);
    victim.with_headers(&VICTIM)
}

async fn assert_nothing_is_consumed(broker: &TestBroker) {
    assert!(!broker.events().pop().unwrap().committed());
    assert_eq!(broker.calls_upstream(), 0);
    broker.has_status(1, "pending").await;
}

// Threats: W1.
#[tokio::test]
async fn a_browser_that_only_holds_a_planted_cookie_is_asked_before_anything_is_consumed() {
    for (guard, button, outcome) in [
        (RelayGuard::Auto, "cancel", "failed"),
        (RelayGuard::Always, "continue", "succeeded"),
    ] {
        let broker = with_guard(guard).await;
        let (attacker, back) = attack(&broker).await;
        let victim = victim_of(&attacker, &broker);
        let page = victim.get(&back).await;
        is_confirmation_page(&page);
        assert!(page.text().contains("looked different"), "{page:?}");
        assert_eq!(broker.last_rule(), Some("upstream_login.same_traits"));
        assert_nothing_is_consumed(&broker).await;
        let foreign = [("Origin", "https://evil.example")];
        let pressed = broker.send(Method::POST, &back, &foreign).await;
        pressed.is_refusal(403);
        assert_nothing_is_consumed(&broker).await;

        victim.answer(&back, button).await.redirects_to(CALLBACK);
        broker.has_status(1, outcome).await;
    }
}

// Threats: W1.
#[tokio::test]
async fn a_browser_on_another_network_is_asked_and_the_same_one_is_not() {
    for (address, is_asked) in [("203.0.113.250", false), ("198.51.100.7", true)] {
        let broker = with_guard(RelayGuard::Auto).await;
        let path = broker.session(1).await;
        let browser = broker.browser().with_header("X-Real-IP", "203.0.113.7");
        let back = browser.to_provider(&path).await;
        let moved = broker.browser().with_header("X-Real-IP", address);
        moved.add_cookies_of(&browser);
        let answer = moved.get(&back).await;
        let event = broker.events().pop().unwrap();
        let same = SameTraits {
            look: true,
            network: !is_asked,
        };
        assert_eq!(event.same_traits, Some(same), "{address}");
        match is_asked {
            true => is_confirmation_page(&answer),
            false => answer.redirects_to(CALLBACK),
        }
    }
}

#[tokio::test]
async fn no_user_is_asked_where_the_guard_is_off_or_the_login_has_expired() {
    let broker = with_guard(RelayGuard::Off).await;
    let (attacker, back) = attack(&broker).await;
    let victim = victim_of(&attacker, &broker);
    victim.get(&back).await.redirects_to(CALLBACK);

    let broker = with_guard(RelayGuard::Auto).await;
    let (attacker, back) = attack(&broker).await;
    broker.advance_ms(600_000);
    let victim = victim_of(&attacker, &broker);
    victim.get(&back).await.redirects_to(CALLBACK);
}

#[tokio::test]
async fn in_the_legacy_flow_the_state_goes_back_to_a_consumer_that_does_not_know_it() {
    let broker = with_guard(RelayGuard::Always).await;
    let (attacker, back) = broker.at_provider_in_legacy().await;
    let answer = victim_of(&attacker, &broker).get(&back).await;
    let state_back = parameter(answer.location().unwrap(), "state").unwrap();
    assert_eq!(state_back, state());
}
