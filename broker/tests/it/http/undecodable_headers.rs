//! Headers with bytes that are not UTF-8. Rocket drops them; a dropped one does not count
//! as absent, and a page names a cookie that hides all others.

use reqwest::Method;

use crate::test_broker::{BASE, TestBroker, authorize_path};

/// Each byte that ends a header of ASCII in bytes that are no UTF-8.
fn high_bytes() -> impl Iterator<Item = u8> {
    0x80..=0xFF
}

/// A header's value that ends in `byte`.
fn value(text: &str, byte: u8) -> Vec<u8> {
    [text.as_bytes(), &[byte]].concat()
}

// Threats: W2.
#[tokio::test]
async fn a_cookie_that_hides_all_others_is_named_at_every_address_of_a_browser() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    let (browser, back) = broker.at_provider_in_legacy().await;
    for byte in high_bytes() {
        let cookies = value(&format!("{}; caf", browser.cookie_header()), byte);
        for target in [&path, &authorize_path(), &back] {
            let headers = [("Accept", &b"text/html"[..]), ("Cookie", &cookies)];
            let page = broker.send(Method::GET, target, &headers).await;
            page.is_refusal_page(400, "request.cookies");
            assert!(page.text().contains("Delete the cookies"), "{page:?}");
        }
    }
    assert_eq!(broker.calls_upstream(), 0);
    assert_eq!(browser.get(&back).await.status, 303, "nothing was consumed");
    let api = [("Cookie", b"caf\xe9=1")];
    let providers = broker.send(Method::GET, "/api/providers", &api).await;
    assert_eq!(providers.status, 200, "a backend may send any cookie");
}

// Threats: W2.
#[tokio::test]
async fn a_header_that_was_dropped_is_neither_absent_nor_one_that_counts() {
    let broker = TestBroker::start().await;
    let press = &*format!("{}/continue", broker.session(1).await);
    let bearer = format!("Authorization=Bearer {}", broker.access_token().await);
    let two_bearers = format!("{bearer} | Authorization=Bearer x");
    let two_origins = format!("Origin={BASE} | Origin=http://evil");
    let another_site = format!("Origin={BASE} | Sec-Fetch-Site=cross-site");
    let two_types = "Content-Type=application/json | Content-Type=text/plain; x=";
    // The last header of each is dropped.
    let rows = [
        (press, &*two_origins, 403, "relay.own_page"),
        (press, &another_site, 403, "relay.own_page"),
        ("/v1/revoke", &two_bearers, 400, "bearer.once"),
        ("/v1/revoke", "Authorization=Bearer x", 401, "bearer.shape"),
        ("/v1/token", two_types, 415, "body.media_type"),
        (
            "/v1/token",
            "Content-Type=application/json; x=",
            415,
            "body.media_type",
        ),
    ];
    for (byte, (path, headers, status, rule)) in
        high_bytes().flat_map(|it| rows.map(|row| (it, row)))
    {
        let headers = headers.split(" | ").map(|it| it.split_once('=').unwrap());
        let mut values: Vec<_> = headers.map(|(name, it)| (name, Vec::from(it))).collect();
        values.last_mut().unwrap().1.push(byte);
        let refused = broker.send(Method::POST, path, &values).await;
        broker.has_refused(&refused, status, rule);
    }
}

// Threats: W2.
#[tokio::test]
async fn a_referrer_that_was_dropped_is_a_foreign_page() {
    let broker = TestBroker::start().await;
    let path = broker.session(1).await;
    for byte in high_bytes() {
        let referrer = [("Referer", value("https://evil.example/", byte))];
        broker.send(Method::GET, &path, &referrer).await;
        let event = broker.events().pop().unwrap();
        assert_eq!(event.provenance.unwrap().as_str(), "foreign", "{byte:x}");
    }
}
