//! The attributes and the size of the cookies that the broker and the demo set.

use reqwest::header::SET_COOKIE;
use serde_json::json;

use crate::login::{FLOWS, Flow, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::backend::Backend;
use testkit::browser::{Browser, NavigationStep, UNSERVED};

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

#[tokio::test]
async fn the_cookie_of_a_upstream_login_stays_small_with_the_longest_callback() {
    let stack = TestStack::start().await;
    let long = format!("{UNSERVED}/{}", "x".repeat(2048 - UNSERVED.len() - 1));
    let project = json!({ "name": "Long", "redirect_uris": [long] });
    let project = stack
        .control(reqwest::Method::POST, "/api/projects", Some(project))
        .await;
    let backend = Backend::of(stack.broker(), &project.json());
    for flow in FLOWS {
        for provider in PROVIDERS {
            let started = flow.start(&backend, provider).await;
            let browser = Browser::new();
            browser.open(started.url()).await;
            let cookies: Vec<_> = browser.steps().iter().flat_map(set_cookies).collect();
            let [cookie] = &cookies[..] else {
                panic!("not one cookie: {cookies:?}");
            };
            let pair = cookie.split(';').next().expect("a pair");
            assert!(pair.len() < 600, "{}", pair.len());

            let end = browser.follow(started.url()).await;
            started.outcome(&backend, &end.url).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn a_modified_cookie_is_not_accepted() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        let halfway = stack.halfway(flow, PROVIDERS[0]).await;
        halfway.browser.change_cookies(|value| {
            let last = if value.ends_with('A') { "B" } else { "A" };
            format!("{}{last}", &value[..value.len() - 1])
        });
        let page = halfway.browser.open(&halfway.answer).await;
        page.is_page(400, "This sign-in did not begin in this browser");
    }
}

fn set_cookies(step: &NavigationStep) -> Vec<String> {
    let cookies = step.response.headers.get_all(SET_COOKIE).iter();
    cookies
        .map(|cookie| cookie.to_str().expect("our cookies are ASCII").to_owned())
        .collect()
}
