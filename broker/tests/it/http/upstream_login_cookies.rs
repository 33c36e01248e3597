//! The cookies of upstream logins: their number, size and attributes.

use broker::cookie_cipher::CookieKey;
use cookie::{Cookie, SameSite};

use crate::test_broker::{
    ADA_SECRET, TestBroker, authorize_path, authorize_query, authorize_with, project, session_body,
    with,
};

/// The longest callback of a project.
fn long_callback() -> String {
    let start = "https://app.example/";
    format!("{start}{}", "a".repeat(2048 - start.len()))
}

const CLIENT_ID: &str = "prj_AAAAAAAAAAAAAAAAAAAAAA";

async fn broker_with_long_values() -> TestBroker {
    TestBroker::start_with(|config| {
        let mut long = project("x", ADA_SECRET, &[&long_callback()]);
        long.client_id = CLIENT_ID.parse().unwrap();
        config.projects.push(long);
    })
    .await
}

// Threats: X12.
#[tokio::test]
async fn a_browser_keeps_at_most_eight_upstream_logins_of_under_600_bytes() {
    let broker = broker_with_long_values().await;
    let mut query = authorize_query();
    query[0].1 = CLIENT_ID.to_owned();
    query[1].1 = long_callback();
    let path = authorize_with(&query);
    let browser = broker.browser();
    let mut newest = None;
    for n in 1..=41 {
        let redirect = browser.get(&path).await;
        assert_eq!(redirect.status, 303);
        let cookies = browser.cookies();
        assert_eq!(cookies.len(), n.min(8));
        for (name, value) in &cookies {
            let size = name.len() + 1 + value.len();
            assert!(size < 600, "{size} bytes");
        }
        newest = Some(redirect);
    }
    let returned = browser
        .come_back(&newest.unwrap(), "code=upstream-code")
        .await;
    let code = format!("{}?code=", long_callback());
    assert!(returned.location().unwrap().starts_with(&code));
}

#[tokio::test]
async fn the_cookie_of_a_clean_login_is_small_too() {
    let broker = broker_with_long_values().await;
    let body = with(session_body(1), "client_id", CLIENT_ID);
    let body = with(body, "redirect_uri", long_callback());
    let browser = broker.browser();
    let redirect = browser.get(&broker.session_with(&body).await).await;
    assert_eq!(browser.cookies().len(), 1);
    let (name, value) = browser.cookies().pop_first().unwrap();
    assert!(name.len() + 1 + value.len() < 600);
    let returned = browser.come_back(&redirect, "code=upstream-code").await;
    returned.redirects_to(&long_callback());
    assert_eq!(broker.calls_upstream().await, 3);
}

#[tokio::test]
async fn the_oldest_upstream_login_is_removed_first() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    let mut upstream_logins = Vec::new();
    for _ in 0..9 {
        upstream_logins.push(browser.get(&authorize_path()).await);
        broker.advance_ms(1_000);
    }
    let first = browser
        .come_back(&upstream_logins[0], "error=access_denied")
        .await;
    first.is_refusal_page(400, "upstream_login.own_browser");
    for upstream_login in &upstream_logins[1..] {
        let returned = browser
            .come_back(upstream_login, "error=access_denied")
            .await;
        assert_eq!(returned.status, 303);
    }
}

#[tokio::test]
async fn unreadable_cookies_are_cleared_a_few_at_a_time() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    for n in 0..30 {
        browser.add_cookie(&format!("fsi_trip_{n}"), "unreadable");
    }
    browser.add_cookie("other", "kept");
    for visit in 1..=4 {
        let response = browser.get(&authorize_path()).await;
        assert_eq!(response.status, 303);
        let set = response.headers.get_all("set-cookie").iter().count();
        assert!(set <= 9, "visit {visit} sets {set} cookies");
    }
    let names: Vec<_> = browser.cookies().into_keys().collect();
    assert!(names.contains(&"other".to_owned()));
    // The four of the visits are among the eight that may stay.
    assert_eq!(names.len(), 1 + 8, "{names:?}");
}

#[tokio::test]
async fn a_browser_signs_in_at_two_brokers_of_one_host_at_once() {
    let (one, other) = (TestBroker::start().await, TestBroker::start().await);
    // Cookies ignore ports, so both brokers get the cookies of both.
    let browser = one.browser();
    let first = browser.get(&authorize_path()).await;
    let at_other = other.browser();
    for (name, value) in browser.cookies() {
        at_other.add_cookie(&name, &value);
    }
    let second = at_other.get(&authorize_path()).await;
    let cleared = second.headers.get_all("set-cookie").iter();
    let cleared = cleared.filter(|it| it.to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(cleared.count(), 0, "the other broker's login goes on");
    assert_eq!(at_other.cookies().len(), 2);
    let returned = browser.come_back(&first, "error=access_denied").await;
    assert_eq!(returned.status, 303);
}

/// Asserts the attributes of a cookie that is set or cleared.
#[track_caller]
fn check_attributes(line: &str, is_https: bool) {
    let cookie = Cookie::parse(line.to_owned()).unwrap();
    assert_eq!(cookie.same_site(), Some(SameSite::Lax), "{line}");
    assert_eq!(cookie.http_only(), Some(true), "{line}");
    assert_eq!(cookie.path(), Some("/"), "{line}");
    assert_eq!(cookie.domain(), None, "{line}");
    assert_eq!(cookie.secure().unwrap_or(false), is_https, "{line}");
    assert_eq!(cookie.name().starts_with("__Host-"), is_https, "{line}");
    let seconds = cookie.max_age().unwrap().whole_seconds();
    assert!([0, 1200].contains(&seconds), "{line}");
}

// Threats: K1.
#[tokio::test]
async fn a_cookie_is_bound_to_its_host_and_comes_back_from_a_provider() {
    let http = TestBroker::start().await;
    let https = TestBroker::start_with(|config| {
        config.base_url = "https://broker.example".parse().unwrap();
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    })
    .await;
    for (broker, is_https) in [(http, false), (https, true)] {
        let browser = broker.browser();
        for _ in 0..9 {
            let redirect = browser.get(&authorize_path()).await;
            for line in redirect.set_cookies() {
                check_attributes(&line, is_https);
            }
        }
        // The ninth also cleared the first.
        assert_eq!(browser.cookies().len(), 8);
    }
}

/// A broker whose base URL is HTTPS.
async fn https_broker() -> TestBroker {
    TestBroker::start_with(|config| {
        config.base_url = "https://broker.example".parse().unwrap();
        config.cookie_keys = vec![CookieKey::from_random(&[7; 32])];
    })
    .await
}

/// A sister subdomain can set a cookie of any other name for the parent domain. A
/// server that decodes or trims names would take it for a `__Host-` cookie.
// Threats: G1.
#[tokio::test]
async fn a_cookie_name_that_only_decodes_or_trims_to_ours_is_ignored() {
    let broker = https_broker().await;
    let browser = broker.browser();
    let redirect = browser.get(&authorize_path()).await;
    let (name, value) = browser.cookies().pop_first().unwrap();
    let suffix = name.strip_prefix("__Host-").unwrap();
    let every_byte: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for planted in [
        format!("%5F%5FHost-{suffix}"),
        format!("__%48ost-{suffix}"),
        every_byte,
        format!("\u{2000}{name}"),
        format!("\u{85}{name}"),
        format!("{name}\u{3000}"),
    ] {
        let victim = broker.browser();
        victim.add_cookie(&planted, &value);
        let refused = victim.come_back(&redirect, "error=access_denied").await;
        refused.is_refusal_page(400, "upstream_login.own_browser");
    }
    let returned = browser.come_back(&redirect, "error=access_denied").await;
    assert_eq!(returned.status, 303);
}

// Threats: G1.
#[tokio::test]
async fn two_cookies_with_one_name_are_both_ignored() {
    let broker = https_broker().await;
    let browser = broker.browser();
    let redirect = browser.get(&authorize_path()).await;
    let (name, value) = browser.cookies().pop_first().unwrap();
    for twice in [
        format!("{value}; {name}=planted"),
        format!("planted; {name}={value}"),
        format!("{value}; {name}={value}"),
    ] {
        let victim = broker.browser();
        victim.add_cookie(&name, &twice);
        let refused = victim.come_back(&redirect, "error=access_denied").await;
        refused.is_refusal_page(400, "upstream_login.own_browser");
    }
}
