//! The cookies on every step, with consumer, broker and provider on three different
//! sites, as in production. On one site, and without a page of the provider's in
//! between, a `SameSite=Strict` cookie would be sent and no test would fail.
//!
//! Besides `localhost` and 127.0.0.1 this needs 127.0.0.2 and .3, which Linux has.

use stack::StackSettings;
use url::Url;

use crate::login::{FLOWS, Flow, GOOGLE, PROVIDERS};
use crate::test_stack::TestStack;
use testkit::browser::{Browser, NavigationEnd, UNSERVED};
use testkit::browser::{CookieJar, is_same_site};
use testkit::http::Response;

/// The names of the two cookies that a sign-in needs, as they begin on plain HTTP.
const OF_THE_BROKER: &str = "fsi_trip_";
const OF_THE_DEMO: &str = "demo_session";

/// A stack whose providers show a page and listen at `providers`.
async fn stack_with(providers: [[u8; 4]; 2]) -> TestStack {
    let [google, github] = providers.map(|ip| (ip, 0).into());
    let stack = TestStack::start_with(StackSettings {
        google,
        github,
        automatic: false,
        ..StackSettings::for_tests()
    })
    .await;
    let urls = stack.urls();
    assert!(!same_site(&urls.consumer, &urls.broker));
    stack
}

async fn stack_across_sites() -> TestStack {
    let stack = stack_with([[127, 0, 0, 2], [127, 0, 0, 3]]).await;
    let urls = stack.urls();
    for provider in [&urls.google, &urls.github] {
        assert!(!same_site(provider, &urls.broker));
        assert!(!same_site(provider, &urls.consumer));
    }
    stack
}

fn same_site(one: &str, other: &str) -> bool {
    let url = |text: &str| Url::parse(text).expect("an address");
    is_same_site(&url(one), &url(other))
}

/// Goes from the demo to the provider's page, and chooses Ada there.
async fn sign_in(
    stack: &TestStack,
    browser: &Browser,
    flow: Flow,
    provider: &str,
) -> NavigationEnd {
    sign_in_until(stack, browser, flow, provider, UNSERVED).await
}

/// The same, and stops before an address that begins with `there`.
async fn sign_in_until(
    stack: &TestStack,
    browser: &Browser,
    flow: Flow,
    provider: &str,
    there: &str,
) -> NavigationEnd {
    let start = match flow {
        Flow::Clean => format!("/login/{provider}"),
        Flow::Legacy => format!("/legacy/login/{provider}"),
    };
    let at_provider = browser
        .press_until(&stack.demo("/"), &stack.demo(&start), UNSERVED)
        .await;
    let page = at_provider.response.expect("the provider's page");
    let page = page.text();
    let action = format!("{}/mock/sign-in", stack.provider(provider).url());
    let fields = [
        ("request", between(page, "name=\"request\" value=\"")),
        ("person", "ada"),
    ];
    browser
        .submit_until(&at_provider.url, &action, &fields, there)
        .await
}

/// The text of `page` from `begin` to the next quotation mark.
fn between<'p>(page: &'p str, begin: &str) -> &'p str {
    let (_, rest) = page.split_once(begin).expect("it is on the page");
    rest.split_once('"').expect("it ends").0
}

fn page_of(end: NavigationEnd) -> Response {
    end.response.expect("a page")
}

// Threats: K2.
#[tokio::test]
async fn a_sign_in_survives_every_hop_between_three_sites() {
    let stack = stack_across_sites().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let browser = Browser::new();
            let end = sign_in(&stack, &browser, flow, provider).await;
            assert_eq!(end.url, stack.demo("/profile"), "{flow:?} {provider}");
            assert!(page_of(end).text().contains("Ada Lovelace"));
        }
    }
}

// Threats: K3.
#[tokio::test]
async fn a_strict_cookie_of_the_broker_would_not_be_sent_on_the_way_back_from_the_provider() {
    let stack = stack_across_sites().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let browser = Browser::with_jar(CookieJar::forcing_strict(OF_THE_BROKER));
            let end = sign_in(&stack, &browser, flow, provider).await;
            page_of(end).is_page(400, "This sign-in did not begin in this browser");
            assert_eq!(stack.token_calls(provider), 0);
        }
    }
}

// Threats: K3.
#[tokio::test]
async fn a_strict_cookie_of_the_demo_would_not_be_sent_to_its_callback() {
    let stack = stack_across_sites().await;
    for flow in FLOWS {
        let browser = Browser::with_jar(CookieJar::forcing_strict(OF_THE_DEMO));
        let page = page_of(sign_in(&stack, &browser, flow, GOOGLE).await);
        assert!(
            page.text().contains("data-problem=\"no_session\""),
            "{}",
            page.text()
        );
    }
}

#[tokio::test]
async fn on_one_site_with_the_provider_a_strict_cookie_would_go_unnoticed() {
    let stack = stack_with([[127, 0, 0, 1]; 2]).await;
    let browser = Browser::with_jar(CookieJar::forcing_strict(OF_THE_BROKER));
    let end = sign_in(&stack, &browser, Flow::Clean, GOOGLE).await;
    assert_eq!(end.url, stack.demo("/profile"));
}

// Threats: K4.
#[tokio::test]
async fn what_a_browser_held_before_the_end_opens_nothing_afterwards() {
    let stack = stack_across_sites().await;
    for flow in FLOWS {
        let browser = Browser::new();
        let home = stack.demo("/");
        let calls = stack.token_calls(GOOGLE);
        let at_callback = sign_in_until(&stack, &browser, flow, GOOGLE, &home).await;
        let thief = browser.with_same_cookies();
        let end = browser.type_in(&at_callback.url).await;
        assert_eq!(end.url, stack.demo("/profile"));

        // The session of the demo is another now.
        let page = page_of(thief.type_in(&stack.demo("/profile")).await);
        assert!(!page.text().contains("Ada Lovelace"), "{}", page.text());
        // The upstream login is consumed.
        let answer = browser.last_step_to(&stack.broker_callback(GOOGLE)).url;
        thief.type_in(&answer).await;
        assert_eq!(stack.token_calls(GOOGLE), calls + 1);
    }
}
