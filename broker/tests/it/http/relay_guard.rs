//! The relay guard: the visits that need confirmation, by their provenance and by the
//! settings of the project.

use broker::relay::{RelayGuard, SelectAccount};
use reqwest::Method;

use super::confirmation_page::{EVIL, is_confirmation_page};
use crate::test_broker::{
    Browser, LOCAL_CALLBACK, TestBroker, authorize_path, parameter, session_body, with,
};

/// A broker where `change` changes Ada's project.
async fn with_project(change: impl Fn(&mut broker::projects::Project)) -> TestBroker {
    TestBroker::start_with(|config| change(&mut config.projects[0])).await
}

/// Provenance and rule of the last audit event.
fn provenance_and_rule(broker: &TestBroker) -> (&'static str, Option<&'static str>) {
    let event = broker.events().pop().unwrap();
    let rule = event.rule.map(contract::Rule::id);
    (event.provenance.unwrap().as_str(), rule)
}

// Threats: X2, V3, X7, V1, V7, GHSA-vh7g-p26c-j2cw.
#[tokio::test]
async fn an_unvouched_visit_gets_the_confirmation_page_and_binds_nothing() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let navigation = [
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    let navigating = |site, more: &[(&'static str, &'static str)]| {
        let headers = [&navigation[..], &[("Sec-Fetch-Site", site)], more].concat();
        broker.plain_client().with_headers(&headers)
    };
    let program = |name, value| broker.plain_client().with_header(name, value);
    let browser = |name, value| broker.browser().with_header(name, value);
    let start_origin = ("Referer", "https://app.example/");
    for (visitor, provenance) in [
        (navigating("cross-site", &[("Referer", EVIL)]), "foreign"),
        (navigating("cross-site", &[("Referer", "junk")]), "foreign"),
        (navigating("cross-site", &[]), "no_referrer"),
        (navigating("none", &[]), "typed"),
        (navigating("none", &[start_origin]), "typed"),
        (broker.plain_client(), "no_metadata"),
        (program(start_origin.0, start_origin.1), "no_metadata"),
        (program("User-Agent", "Slackbot 1.0"), "no_metadata"),
        (browser("Sec-Fetch-Dest", "iframe"), "embedded"),
        (browser("Referer", EVIL), "foreign"),
    ] {
        is_confirmation_page(&visitor.get(&path).await);
        let confirmed = (provenance, Some("relay.start_origin"));
        assert_eq!(provenance_and_rule(&broker), confirmed);
        assert!(!broker.events().pop().unwrap().committed());
    }
    broker.has_status(1, "pending").await;
    // No browser is bound.
    let browser = broker.browser();
    let back = browser.to_provider(&path).await;
    assert_eq!(provenance_and_rule(&broker), ("vouched", None));
    browser.get(&back).await;
    broker.has_status(1, "succeeded").await;
}

// Threats: X5.
#[tokio::test]
async fn the_guard_always_confirms_before_any_client_is_bound() {
    let broker = with_project(|ada| ada.relay_guard = RelayGuard::Always).await;
    let body = with(session_body(1), "redirect_uri", LOCAL_CALLBACK);
    let path = broker.session_with(&body).await;
    let look = broker.request(Method::HEAD, &path).send().await;
    assert_eq!((look.status, look.location()), (200, None));
    let bot = broker.plain_client();
    let bot = bot.with_header("User-Agent", "Slackbot-LinkExpanding 1.0");
    is_confirmation_page(&bot.get(&path).await);
    is_confirmation_page(&broker.plain_client().get(&path).await);
    let browser = broker.local_browser();
    let page = browser.get(&path).await;
    is_confirmation_page(&page);
    assert_eq!(provenance_and_rule(&broker), ("vouched", None));
    assert!(page.text().contains("at every sign-in"), "{page:?}");
    let redirect = browser.press(&format!("{path}/continue")).await;
    let returned = browser.come_back(&redirect, "code=upstream-code").await;
    returned.redirects_to(LOCAL_CALLBACK);
}

#[tokio::test]
async fn the_audit_log_has_the_provenance_although_the_guard_is_off() {
    let broker = with_project(|ada| ada.relay_guard = RelayGuard::Off).await;
    let path = broker.session(1).await;
    assert_eq!(broker.browser_on(EVIL).get(&path).await.status, 303);
    assert_eq!(provenance_and_rule(&broker), ("foreign", None));
    assert_eq!(broker.browser().get(&path).await.status, 410);
}

#[tokio::test]
async fn start_origins_replace_the_origins_of_the_callbacks() {
    let broker = with_project(|ada| {
        ada.start_origins = Some(vec!["https://www.example".parse().unwrap()]);
    })
    .await;
    let path = broker.session(1).await;
    is_confirmation_page(&broker.browser().get(&path).await);
    let browser = broker.plain_client().with_headers(&[
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
        ("Referer", "https://www.example/start?x=1"),
    ]);
    assert_eq!(browser.get(&path).await.status, 303);
}

#[tokio::test]
async fn the_account_picker_can_be_limited_to_unvouched_visits() {
    let broker = with_project(|ada| {
        ada.relay_guard = RelayGuard::Off;
        ada.select_account = SelectAccount::Unvouched;
    })
    .await;
    let prompt = async |key: u8, browser: Browser| {
        let redirect = browser.get(&broker.session(key).await).await;
        parameter(redirect.location().unwrap(), "prompt")
    };
    assert_eq!(prompt(1, broker.browser()).await, None);
    let foreign = prompt(2, broker.browser_on(EVIL)).await;
    assert_eq!(foreign.as_deref(), Some("select_account"));
}

#[tokio::test]
async fn a_legacy_login_needs_no_confirmation_and_logs_its_provenance() {
    let broker = with_project(|ada| ada.relay_guard = RelayGuard::Always).await;
    let redirect = broker.browser_on(EVIL).get(&authorize_path()).await;
    assert_eq!(redirect.status, 303);
    assert_eq!(parameter(redirect.location().unwrap(), "prompt"), None);
    assert_eq!(provenance_and_rule(&broker), ("foreign", None));
    broker.browser().get(&authorize_path()).await;
    assert_eq!(provenance_and_rule(&broker), ("vouched", None));
}
