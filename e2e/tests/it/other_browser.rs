//! A callback in another browser than the one that started the login: refused in both
//! flows, by the broker at its callback and by the consumer at its own.

use crate::login::{FLOWS, Flow, GOOGLE, PROVIDERS};
use crate::logs;
use crate::test_stack::TestStack;
use testkit::browser::Browser;

// Threats: X1, V2, CVE-2022-39222.
#[tokio::test]
async fn the_providers_address_sent_to_a_victim_gets_the_attacker_nothing() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let before = stack.token_calls(provider);
            let attacker = Browser::new();
            let started = flow.start(&stack.backend, provider).await;
            let redirect = attacker.open(started.url()).await;
            let to_provider = redirect.location().expect("the provider").to_owned();

            // The victim gets only the trusted provider's address, and follows it.
            let victim = Browser::new();
            let end = victim.type_in(&to_provider).await;
            assert!(end.url.starts_with(&stack.broker_callback(provider)));
            let page = end.response.expect("a page");
            page.is_page(400, "This sign-in did not begin in this browser");
            assert_eq!(stack.token_calls(provider), before);
            started.assert_pending(&stack.backend).await;

            let end = attacker.follow(started.url()).await;
            started
                .outcome(&stack.backend, &end.url)
                .await
                .is_ada(provider);
        }
    }
}

// Threats: C4.
#[tokio::test]
async fn the_demos_callback_without_its_cookie_makes_no_call_to_the_broker() {
    for flow in FLOWS {
        let stack = TestStack::start().await;
        let begun = at_the_demos_callback(&stack, flow).await;

        let other = Browser::new();
        let page = other.open(&begun.callback).await;
        assert_eq!(page.status, 400);
        assert!(
            page.text().contains("data-problem=\"no_session\""),
            "{}",
            page.text()
        );
        assert_eq!(begun.exchanges(flow), 0);

        // The browser that began is not harmed by it.
        let end = begun.browser.type_in(&begun.callback).await;
        assert_eq!(end.url, stack.demo("/profile"));
        assert_eq!(begun.exchanges(flow), 1);
    }
}

/// A browser whose next request is the demo's callback.
struct AtDemoCallback {
    browser: Browser,
    callback: String,
    /// The request that brought the provider's answer to the broker.
    request_id: String,
}

impl AtDemoCallback {
    /// The number of calls to exchange or read something for this login.
    fn exchanges(&self, flow: Flow) -> usize {
        let operation = match flow {
            Flow::Clean => "POST /v1/login/result",
            Flow::Legacy => "POST /v1/token",
        };
        logs::calls_about_login_of(&self.request_id, operation)
    }
}

async fn at_the_demos_callback(stack: &TestStack, flow: Flow) -> AtDemoCallback {
    let (start, callback) = match flow {
        Flow::Clean => ("/login/google", "/callback"),
        Flow::Legacy => ("/legacy/login/google", "/legacy/callback"),
    };
    let browser = Browser::new();
    let end = browser
        .press_until(&stack.demo("/"), &stack.demo(start), &stack.demo(callback))
        .await;
    let at_broker = browser
        .last_step_to(&stack.broker_callback(GOOGLE))
        .response;
    AtDemoCallback {
        browser,
        callback: end.url,
        request_id: at_broker.header("x-request-id").expect("an id").to_owned(),
    }
}
