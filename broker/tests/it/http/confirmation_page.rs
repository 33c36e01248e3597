//! The confirmation page of the relay guard: the visits that get it, and its two
//! forms, without which nothing changes.

use testkit::http::Response;

use crate::test_broker::{
    ADA_SECRET, BASE, CALLBACK, LOCAL_CALLBACK, TestBroker, all, parameter, project, session_body,
    with,
};

pub(super) const EVIL: &str = "https://evil.example/";

#[track_caller]
pub(super) fn is_confirmation_page(response: &Response) {
    assert_eq!(response.status, 200, "{response:?}");
    let mark = "data-question=\"relay\"";
    assert!(response.text().contains(mark), "{response:?}");
    assert_eq!(response.location(), None);
    assert_eq!(response.set_cookies(), Vec::<String>::new());
}

// Threats: M2, A34.
#[tokio::test]
async fn the_page_names_project_and_host_and_has_its_own_headers() {
    let broker = TestBroker::start_with(|config| {
        config.projects[0].name = "<b>Ada</b>".parse().unwrap();
    })
    .await;
    let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    let path = broker.session_with(&body).await;
    let page = broker.browser_on(EVIL).get(&path).await;
    is_confirmation_page(&page);
    assert!(
        page.text().contains("&#60;b&#62;Ada&#60;/b&#62;"),
        "{page:?}"
    );
    assert!(
        page.text().contains("<span>at localhost:3000</span>"),
        "{page:?}"
    );
    assert!(page.text().contains("GitHub"));
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    let policy = page.header("content-security-policy").unwrap();
    assert_eq!(
        policy,
        "default-src 'none'; style-src 'self'; script-src 'self'; \
         base-uri 'none'; frame-ancestors 'none'"
    );
    let script = broker.get("/question.js").await;
    assert_eq!(script.status, 200);
    assert_eq!(script.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(script.header("content-type"), Some("text/javascript"));
    for action in ["continue", "cancel"] {
        let form = format!("<form method=\"post\" action=\"{path}/{action}\"");
        assert!(page.text().contains(&form), "{page:?}");
    }
}

// Threats: X9.
#[tokio::test]
async fn continue_binds_the_login_and_redirects_without_a_fragment() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser_on(EVIL);
    is_confirmation_page(&browser.get(&path).await);
    let redirect = browser.press(&format!("{path}/continue")).await;
    assert_eq!(redirect.status, 303);
    let to_provider = redirect.location().unwrap();
    assert!(
        to_provider.starts_with(&broker.github.uri()),
        "{to_provider}"
    );
    assert!(to_provider.ends_with('#'), "{to_provider}");
    assert_eq!(parameter(to_provider, "prompt").unwrap(), "select_account");

    // It is bound to this browser, which is asked again when it comes from elsewhere: a
    // cookie that says so can be planted. Others are refused.
    is_confirmation_page(&browser.get(&path).await);
    let other = broker.browser();
    let refused = other.press(&format!("{path}/continue")).await;
    assert_eq!(
        (refused.status, broker.last_rule()),
        (410, Some("handle.one_browser"))
    );
    let late = other.press(&format!("{path}/cancel")).await;
    assert_eq!(
        (late.status, broker.last_rule()),
        (410, Some("handle.one_browser"))
    );
    assert_eq!(broker.calls_upstream().await, 0);

    browser
        .come_back(&redirect, "code=upstream-code")
        .await
        .redirects_to(CALLBACK);
    assert_eq!(broker.result(1).await.json()["status"], "succeeded");
}

// Threats: X3.
#[tokio::test]
async fn of_eight_browsers_that_continue_at_once_one_is_bound() {
    let broker = TestBroker::start().await;
    let path = format!("{}/continue", broker.session(1).await);
    let browsers: Vec<_> = (0..8).map(|_| broker.browser()).collect();
    let mut unused = browsers.iter();
    let responses = all(8, || unused.next().unwrap().press(&path)).await;
    let mut statuses: Vec<_> = responses.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 410, 410, 410, 410, 410, 410, 410]);
}

// Threats: X6, M6.
#[tokio::test]
async fn cancel_fails_the_login_once() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let browser = broker.browser_on(EVIL);
    is_confirmation_page(&browser.get(&path).await);
    let returned = browser.press(&format!("{path}/cancel")).await;
    returned.redirects_to(CALLBACK);
    assert_eq!(broker.last_rule(), Some("relay.cancelled"));
    assert!(broker.events().pop().unwrap().committed());
    let result = broker.result(1).await;
    assert_eq!(
        result.text(),
        r#"{"status":"failed","error":"access_denied"}"#
    );
    broker.result(1).await.is_refusal(400);
    assert_eq!(broker.calls_upstream().await, 0);

    // Later visits are redirected to the callback.
    browser
        .press(&format!("{path}/continue"))
        .await
        .redirects_to(CALLBACK);
    broker.browser().get(&path).await.redirects_to(CALLBACK);
}

// Threats: X3.
#[tokio::test]
async fn a_form_is_accepted_only_from_the_brokers_own_page() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let foreign: [&[(&str, &str)]; 8] = [
        &[],
        &[("Origin", "null")],
        &[("Origin", "https://evil.example")],
        &[("Origin", "https://app.example")],
        &[("Origin", "http://127.0.0.1:8001")],
        &[("Origin", BASE), ("Origin", BASE)],
        &[("Origin", BASE), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", BASE), ("Sec-Fetch-Site", "none")],
    ];
    for headers in foreign {
        for action in ["continue", "cancel"] {
            let path = format!("{path}/{action}");
            let response = broker.submit(&path, headers).await;
            response.is_refusal(403);
            assert_eq!(broker.last_rule(), Some("relay.own_page"), "{headers:?}");
        }
    }
    let page = [("Accept", "text/html")];
    let response = broker.submit(&format!("{path}/continue"), &page).await;
    response.is_refusal_page(403, "relay.own_page");
    assert_eq!(broker.result(1).await.json()["status"], "pending");
    assert_eq!(broker.browser().get(&path).await.status, 303);
    // A browser that sends no header but the origin is accepted, too.
    let path = broker.session(2).await;
    let origin = [("Origin", BASE)];
    let redirect = broker.submit(&format!("{path}/continue"), &origin).await;
    assert_eq!(redirect.status, 303);
}

#[tokio::test]
async fn the_forms_of_an_expired_or_unknown_login_do_nothing() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    broker.advance_ms(600_000);
    for action in ["continue", "cancel"] {
        let late = broker.browser().press(&format!("{path}/{action}")).await;
        late.redirects_to(CALLBACK);
        let unknown = broker.browser().press(&format!("/login/x/{action}")).await;
        assert_eq!(
            (unknown.status, broker.last_rule()),
            (404, Some("handle.known"))
        );
    }
    broker.result(1).await.is_refusal(400);
}

#[tokio::test]
async fn a_login_whose_callback_was_withdrawn_does_not_start() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let moved = project("ada", ADA_SECRET, &["https://elsewhere.example/cb"]);
    broker.projects.register(moved);
    let response = broker.browser().get(&path).await;
    assert_eq!(response.status, 400, "{response:?}");
    assert_eq!(broker.last_rule(), Some("redirect_uri.registered"));
}
