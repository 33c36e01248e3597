//! The attributes of the cookies that the broker and the demo set.

use reqwest::header::SET_COOKIE;

use crate::login::{FLOWS, Flow, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::browser::{Browser, NavigationStep, UNSERVED};

// Threats: K1.
#[tokio::test]
async fn every_cookie_is_lax_http_only_and_host_only() {
    let stack = TestStack::start().await;
    let browser = Browser::new();
    for flow in FLOWS {
        for provider in PROVIDERS {
            let start = match flow {
                Flow::Clean => format!("/login/{provider}"),
                Flow::Legacy => format!("/legacy/login/{provider}"),
            };
            let home = stack.demo("/");
            browser
                .press_until(&home, &stack.demo(&start), UNSERVED)
                .await;
        }
    }
    let cookies: Vec<_> = browser.steps().iter().flat_map(set_cookies).collect();
    assert!(cookies.iter().any(|cookie| cookie.starts_with("fsi_trip_")));
    assert!(
        cookies
            .iter()
            .any(|cookie| cookie.starts_with("demo_session="))
    );
    for cookie in cookies {
        for attribute in ["; HttpOnly", "; SameSite=Lax", "; Path=/", "; Max-Age="] {
            assert!(cookie.contains(attribute), "{attribute} in {cookie}");
        }
        // On plain HTTP not every browser would keep a Secure one.
        for attribute in ["Domain", "Secure", "__Host-"] {
            assert!(!cookie.contains(attribute), "{attribute} in {cookie}");
        }
    }
}

fn set_cookies(step: &NavigationStep) -> Vec<String> {
    let cookies = step.response.headers.get_all(SET_COOKIE).iter();
    cookies
        .map(|cookie| cookie.to_str().expect("our cookies are ASCII").to_owned())
        .collect()
}
