//! `GET /callback/{provider}`: only the browser of the upstream login, once and in
//! time.

use crate::test_broker::{
    ADA_SECRET, CALLBACK, LOCAL_CALLBACK, TestBroker, adas_profile, authorize_path, back_path,
    parameter, project, result_body, session_body, sign_in, state, token_body, with,
};

// Threats: A30.
#[tokio::test]
async fn a_clean_login_returns_to_the_bare_callback() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    let url = redirect.location().unwrap();
    assert!(url.ends_with('#'));
    assert_eq!(parameter(url, "prompt").unwrap(), "select_account");
    browser
        .come_back(&redirect, "code=upstream-code")
        .await
        .redirects_to(CALLBACK);
    let result = broker.result(1).await.json();
    assert_eq!(result["profile"], adas_profile());
}

// Threats: A45.
#[tokio::test]
async fn a_legacy_login_returns_to_the_callback_with_code_and_state() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    let redirect = browser.get(&authorize_path()).await;
    let returned = browser.come_back(&redirect, "code=upstream-code").await;
    let url = returned.location().unwrap();
    let code = parameter(url, "code").unwrap();
    assert_eq!(code.len(), 43);
    returned.redirects_to(&format!("{CALLBACK}?code={code}&state={}", state()));
}

// Threats: B30.
#[tokio::test]
async fn a_failed_legacy_login_returns_to_the_callback_with_error_and_state() {
    let broker = TestBroker::start().await;
    for (query, error) in [
        ("error=temporarily_unavailable", "provider_unavailable"),
        ("error=Access_Denied", "invalid_provider_response"),
        (
            "error=access_denied&error=access_denied",
            "invalid_provider_response",
        ),
    ] {
        let browser = broker.browser();
        let redirect = browser.get(&authorize_path()).await;
        let returned = browser.come_back(&redirect, query).await;
        returned.redirects_to(&format!("{CALLBACK}?error={error}&state={}", state()));
    }
    assert_eq!(broker.calls_upstream().await, 0);
}

// Threats: X1, V4, M1, B1, CVE-2026-7507, CVE-2025-14546, CVE-2025-65107.
#[tokio::test]
async fn a_callback_without_its_cookie_is_refused_and_consumes_nothing() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    let other = broker.browser();
    let back = back_path(&redirect, "code=upstream-code");
    other
        .get(&back)
        .await
        .is_refusal_page(400, "upstream_login.own_browser");
    assert_eq!(broker.calls_upstream().await, 0);
    assert_eq!(broker.result(1).await.json()["status"], "pending");
    browser.get(&back).await.redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

// Threats: B1, CVE-2026-7571.
#[tokio::test]
async fn a_tampered_cookie_is_refused() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    let redirect = browser.get(&authorize_path()).await;
    let back = back_path(&redirect, "code=upstream-code");
    let (name, value) = browser.cookies().pop_first().unwrap();
    let other = |is_a| if is_a { 'B' } else { 'A' };
    let (first, last) = (other(value.starts_with('A')), other(value.ends_with('A')));
    let check = async |name: &str, value: &str| {
        let forger = broker.browser();
        forger.add_cookie(name, value);
        let response = forger.get(&back).await;
        response.is_refusal_page(400, "upstream_login.own_browser");
    };
    check(&name, &format!("{first}{}", &value[1..])).await;
    check(&name, &format!("{}{last}", &value[..value.len() - 1])).await;
    check(&name, &value[..value.len() - 4]).await;
    check(&name, "").await;
    check(&name, "%").await;
    check("fsi_trip_other", &value).await;
    check("other", &value).await;
    assert_eq!(broker.calls_upstream().await, 0);
    assert_eq!(browser.get(&back).await.status, 303);
}

// Threats: B1, CVE-2025-68481, CVE-2025-68158.
#[tokio::test]
async fn the_state_of_another_browsers_upstream_login_is_refused() {
    let broker = TestBroker::start().await;
    let (victim, attacker) = (broker.browser(), broker.browser());
    let own = victim.get(&authorize_path()).await;
    let redirect = attacker.get(&authorize_path()).await;
    let injected = victim.get(&back_path(&redirect, "code=attackers")).await;
    injected.is_refusal_page(400, "upstream_login.own_browser");
    for query in ["code=a", "code=a&state=", "code=a&state=x&state=x"] {
        let response = victim.get(&format!("/callback/github?{query}")).await;
        response.is_refusal_page(400, "upstream_login.own_browser");
    }
    let own = back_path(&own, "code=a");
    let twice = format!(
        "{own}&{}",
        own.split('&').find(|it| it.starts_with("state=")).unwrap()
    );
    let response = victim.get(&twice).await;
    response.is_refusal_page(400, "upstream_login.own_browser");
    assert_eq!(broker.calls_upstream().await, 0);
    assert_eq!(victim.get(&own).await.status, 303);
}

#[tokio::test]
async fn two_tabs_of_one_browser_do_not_interfere() {
    // Both logins start on the same page.
    let broker = TestBroker::start_with(|config| {
        config.projects[0].start_origins = Some(vec!["https://app.example".parse().unwrap()]);
    })
    .await;
    let browser = broker.browser();
    let first = browser.get(&broker.session(1).await).await;
    let body = with(session_body(2), "redirect_uri", LOCAL_CALLBACK);
    let second = browser.get(&broker.session_with(&body).await).await;
    browser
        .come_back(&second, "error=access_denied")
        .await
        .redirects_to(LOCAL_CALLBACK);
    browser
        .come_back(&first, "code=upstream-code")
        .await
        .redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

// Threats: B30.
#[tokio::test]
async fn no_browser_is_redirected_to_a_callback_that_was_withdrawn() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser();
    let redirect = browser.get(&path).await;
    let moved = project("ada", ADA_SECRET, &["https://app.example/moved"]);
    broker.projects.register(moved);
    let back = back_path(&redirect, "code=upstream-code");
    let page = browser.get(&back).await;
    page.is_refusal_page(400, "redirect_uri.registered");
    assert_eq!(broker.calls_upstream().await, 0);
    broker
        .projects
        .register(project("ada", ADA_SECRET, &[CALLBACK]));
    browser.get(&back).await.redirects_to(CALLBACK);
}

#[tokio::test]
async fn a_completed_login_does_not_redirect_to_a_callback_that_was_withdrawn() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    broker.advance_ms(600_000);
    let moved = project("ada", ADA_SECRET, &["https://app.example/moved"]);
    broker.projects.register(moved);
    let browser = broker.browser();
    for response in [
        browser.get(&path).await,
        browser.press(&format!("{path}/cancel")).await,
        browser.press(&format!("{path}/continue")).await,
    ] {
        assert_eq!((response.status, response.location()), (400, None));
        assert_eq!(broker.last_rule(), Some("redirect_uri.registered"));
    }
}

#[tokio::test]
async fn a_callback_that_was_withdrawn_starts_reads_and_redeems_nothing() {
    let broker = TestBroker::start().await;
    sign_in(&broker, 1).await;
    let code = broker.code().await;
    let moved = project("ada", ADA_SECRET, &["https://app.example/moved"]);
    broker.projects.register(moved);
    for (path, body) in [
        ("/v1/login/session", session_body(2)),
        ("/v1/login/result", result_body(1)),
        ("/v1/token", token_body(&code)),
    ] {
        broker.post(path, &body).await.is_refusal(400);
        assert_eq!(
            broker.last_rule(),
            Some("redirect_uri.registered"),
            "{path}"
        );
    }
    broker
        .projects
        .register(project("ada", ADA_SECRET, &[CALLBACK]));
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
    assert_eq!(broker.token(&code).await.status, 200);
}
