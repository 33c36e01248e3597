//! The cookies of upstream logins: their number, size and attributes, and the rotation of
//! their key during logins, at brokers that are restarted one after the other. And their
//! encryption, with a key from the configuration or a file.

use broker::cookie_cipher::{CookieCipher, CookieKey};
use cookie::{Cookie, SameSite};
use proptest::prelude::*;
use testkit::http::Response;

use crate::installation::Scratch;
use crate::test_broker::{
    ADA_SECRET, CALLBACK, TestBroker, authorize_path, authorize_query, authorize_with, back_path,
    project, session_body, with,
};

/// The longest callback of a project.
fn long_callback() -> String {
    let start = "https://app.example/";
    format!("{start}{}", "a".repeat(2048 - start.len()))
}

const CLIENT_ID: &str = "prj_AAAAAAAAAAAAAAAAAAAAAA";

// Threats: X12.
#[tokio::test]
async fn a_browser_keeps_at_most_eight_upstream_logins_of_under_600_bytes() {
    let broker = TestBroker::start_with(|config| {
        let mut long = project("x", ADA_SECRET, &[&long_callback()]);
        long.client_id = CLIENT_ID.parse().unwrap();
        config.projects.push(long);
    })
    .await;
    let mut query = authorize_query();
    query[0].1 = CLIENT_ID.to_owned();
    query[1].1 = long_callback();
    let body = with(session_body(1), "client_id", CLIENT_ID);
    let body = with(body, "redirect_uri", long_callback());
    let clean = broker.session_with(&body).await;
    let browser = broker.browser();
    let mut back = browser.to_provider(&clean).await;
    for n in 2..=12 {
        back = browser.to_provider(&authorize_with(&query)).await;
        let cookies = browser.cookies();
        assert_eq!(cookies.len(), n.min(8));
        for (name, value) in &cookies {
            let size = name.len() + 1 + value.len();
            assert!(size < 600, "{size} bytes");
        }
    }
    let returned = browser.get(&back).await;
    let code = format!("{}?code=", long_callback());
    assert!(returned.location().unwrap().starts_with(&code));
}

// Threats: B28.
#[tokio::test]
async fn the_oldest_upstream_login_is_removed_first_and_the_others_end_in_any_order() {
    let broker = TestBroker::start().await;
    let browser = broker.browser();
    let mut backs = Vec::new();
    for _ in 0..9 {
        let redirect = browser.get(&authorize_path()).await;
        backs.push(back_path(&redirect, "error=access_denied"));
        broker.advance_ms(1_000);
    }
    let first = browser.get(&backs[0]).await;
    first.is_refusal_page(400, "upstream_login.own_browser");
    let (even, odd) = (backs[2..].iter().step_by(2), backs[1..].iter().step_by(2));
    for back in even.chain(odd) {
        assert_eq!(browser.get(back).await.status, 303);
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
        let set = response.set_cookies().len();
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
    let (browser, back) = one.at_provider_in_legacy().await;
    let at_other = other.browser();
    at_other.add_cookies_of(&browser);
    let second = at_other.get(&authorize_path()).await;
    let set = second.set_cookies().into_iter();
    let cleared = set.filter(|it| it.contains("Max-Age=0"));
    assert_eq!(cleared.count(), 0, "the other broker's login goes on");
    assert_eq!(at_other.cookies().len(), 2);
    assert_eq!(browser.get(&back).await.status, 303);
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
    let (http, https) = (TestBroker::start().await, TestBroker::start_https().await);
    for (broker, is_https) in [(http, false), (https, true)] {
        let browser = broker.browser();
        // The ninth also clears the first.
        for _ in 0..9 {
            for line in browser.get(&authorize_path()).await.set_cookies() {
                check_attributes(&line, is_https);
            }
        }
    }
}

/// A sister subdomain can set a cookie of any other name for the parent domain. A
/// server that decodes or trims names would take it for a `__Host-` cookie; and of two
/// cookies with one name, one was planted.
// Threats: G1, B1, CVE-2026-7571.
#[tokio::test]
async fn a_cookie_counts_only_unchanged_under_its_own_name_and_only_once() {
    let broker = TestBroker::start_https().await;
    let (browser, back) = broker.at_provider_in_legacy().await;
    let (name, value) = browser.cookies().pop_first().unwrap();
    let suffix = name.strip_prefix("__Host-").unwrap();
    let other = |is_a| if is_a { 'B' } else { 'A' };
    let (first, last) = (other(value.starts_with('A')), other(value.ends_with('A')));
    for (name, value) in [
        (&*name, &*format!("{first}{}", &value[1..])),
        (&name, &format!("{}{last}", &value[..value.len() - 1])),
        (&name, &value[..value.len() - 4]),
        (&name, ""),
        (&name, "%"),
        (&name, &format!("{value}; {name}=planted")),
        (&name, &format!("planted; {name}={value}")),
        (&name, &format!("{value}; {name}={value}")),
        (&format!("{name}x"), &value),
        ("other", &value),
        (&format!("%5F%5FHost-{suffix}"), &value),
        (&format!("__%48ost-{suffix}"), &value),
        (&format!("\u{2000}{name}"), &value),
        (&format!("{name}\u{3000}"), &value),
    ] {
        let forger = broker.browser();
        forger.add_cookie(name, value);
        let page = forger.get(&back).await;
        page.is_refusal_page(400, "upstream_login.own_browser");
    }
    assert_eq!(broker.calls_upstream(), 0);
    assert_eq!(browser.get(&back).await.status, 303);
}

/// A broker with these cookie keys.
async fn broker_with_keys(keys: &[u8]) -> TestBroker {
    let keys = keys.iter().map(|key| CookieKey::from_random(&[*key; 32]));
    let keys = keys.collect();
    TestBroker::start_with(|config| config.cookie_keys = keys).await
}

/// Starts a login at a broker with the keys `from`, and completes it at one with `to`.
async fn log_in_across(from: &[u8], to: &[u8]) -> Response {
    let (from, to) = (broker_with_keys(from).await, broker_with_keys(to).await);
    let (before, back) = from.at_provider_in_legacy().await;
    before.moved_to(&to.http).get(&back).await
}

#[tokio::test]
async fn a_login_completes_across_every_step_of_a_key_rotation_and_none_more() {
    let steps: [&[u8]; 4] = [&[1], &[1, 2], &[2, 1], &[2]];
    for pair in steps.windows(2) {
        for (from, to) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            let returned = log_in_across(from, to).await;
            assert_eq!(returned.status, 303, "{from:?} to {to:?}: {returned:?}");
            assert!(returned.location().unwrap().starts_with(CALLBACK));
        }
    }
    // A key that was removed decrypts nothing.
    for (from, to) in [(&[1][..], &[2][..]), (&[2, 1], &[1])] {
        let lost = log_in_across(from, to).await;
        lost.is_refusal_page(400, "upstream_login.own_browser");
    }
}

#[test]
fn a_stored_key_decrypts_what_it_encrypted_before() {
    let scratch = Scratch::new();
    let path = scratch.file("key");
    let cookie_cipher =
        |fresh: u8| CookieCipher::new(vec![CookieKey::kept_at(&path, [fresh; 32]).unwrap()]);
    let encrypted = cookie_cipher(1).encrypt("name", "text".to_owned());
    assert_eq!(
        cookie_cipher(2).decrypt("name", &encrypted).as_deref(),
        Some("text")
    );
    assert_eq!(cookie_cipher(3).decrypt("other", &encrypted), None);
}

proptest! {
    #[test]
    fn an_encrypted_text_fits_in_a_cookie_and_can_be_decrypted(text in "\\PC{0,300}") {
        let cookie_cipher = CookieCipher::new(vec![CookieKey::from_random(&[1; 32])]);
        let encrypted = cookie_cipher.encrypt("name", text.clone());
        prop_assert!(encrypted.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        prop_assert_eq!(cookie_cipher.decrypt("name", &encrypted), Some(text));
        let padding = "=".repeat(4 - encrypted.len() % 4);
        let padded = format!("{encrypted}{padding}");
        prop_assert_eq!(cookie_cipher.decrypt("name", &padded), None);
    }

    // Threats: CVE-2024-4540.
    #[test]
    fn a_text_that_was_not_encrypted_is_not_decrypted(text in any::<String>()) {
        let cookie_cipher = CookieCipher::new(vec![CookieKey::from_random(&[1; 32])]);
        prop_assert_eq!(cookie_cipher.decrypt("name", &text), None);
    }
}
