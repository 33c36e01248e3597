//! The browser's visits at the broker, as the table of the design lists them, row by
//! row.

use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS, StartedLogin};
use crate::test_stack::TestStack;
use testkit::browser::Browser;
use testkit::http::PENDING;

// At the authorization URL.

#[tokio::test]
async fn the_first_browser_is_sent_to_the_provider_with_one_cookie_for_its_upstream_login() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let login = stack.backend.start_login(provider).await;
        let browser = Browser::new();
        let redirect = browser.open(&login.authorization_url).await;
        assert_eq!(redirect.status, 303);
        let to_provider = redirect.location().expect("the provider");
        assert!(to_provider.starts_with(stack.provider(provider).url()));
        assert_eq!(browser.count_cookies(stack.broker()), 1);
    }
}

#[tokio::test]
async fn the_bound_browser_can_visit_again_and_still_completes() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    let browser = Browser::new();
    assert_eq!(browser.open(&login.authorization_url).await.status, 303);
    assert_eq!(browser.open(&login.authorization_url).await.status, 303);
    let end = browser.follow(&login.authorization_url).await;
    let started = StartedLogin::Clean(login);
    started
        .outcome(&stack.backend, &end.url)
        .await
        .is_ada(GOOGLE);
}

#[tokio::test]
async fn a_client_that_is_no_browser_visits_first_and_a_browser_still_completes() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    let looking = Browser::plain().open(&login.authorization_url).await;
    assert_eq!(looking.status, 303);
    let end = Browser::new().follow(&login.authorization_url).await;
    let started = StartedLogin::Clean(login);
    started
        .outcome(&stack.backend, &end.url)
        .await
        .is_ada(GOOGLE);
}

#[tokio::test]
async fn a_client_that_is_no_browser_can_complete_a_login_too() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let started = flow.start(&stack.backend, provider).await;
            let end = Browser::plain().follow(started.url()).await;
            started
                .outcome(&stack.backend, &end.url)
                .await
                .is_ada(provider);
        }
    }
}

#[tokio::test]
async fn a_second_browser_gets_410_and_leaves_the_login_alone() {
    let stack = TestStack::start().await;
    let begun = stack.halfway(Flow::Clean, GOOGLE).await;
    let late = Browser::new().open(begun.login.url()).await;
    late.is_page(410, "This sign-in belongs to another browser");
    begun.login.assert_pending(&stack.backend).await;
    begun.finish(&stack.backend).await.is_ada(GOOGLE);
}

#[tokio::test]
async fn a_client_that_is_no_browser_cannot_enter_a_browsers_login_either() {
    let stack = TestStack::start().await;
    let begun = stack.halfway(Flow::Clean, GOOGLE).await;
    let late = Browser::plain().open(begun.login.url()).await;
    assert_eq!((late.status, late.location()), (410, None));
    begun.finish(&stack.backend).await.is_ada(GOOGLE);
}

#[tokio::test]
async fn an_ended_login_redirects_every_browser_to_the_callback() {
    let stack = TestStack::start().await;
    let login = stack.completed_login(GOOGLE).await;
    // Before its result is read, and after.
    for _ in 0..2 {
        let late = Browser::new().follow(&login.authorization_url).await;
        assert_eq!(late.url, stack.backend.callback);
        stack.backend.result(&login.session_key).await;
    }
    assert_eq!(stack.token_calls(GOOGLE), 1);
}

#[tokio::test]
async fn an_expired_login_redirects_browsers_until_its_row_is_deleted() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    stack.advance_seconds(600);
    let late = Browser::new().follow(&login.authorization_url).await;
    assert_eq!(late.url, stack.backend.callback);
    stack.advance_seconds(600);
    let later = Browser::new().open(&login.authorization_url).await;
    later.is_page(404, "This sign-in is over");
}

#[tokio::test]
async fn an_unknown_login_is_a_page_with_advice() {
    let stack = TestStack::start().await;
    for handle in [testkit::fresh::secret(), "x".to_owned(), "%00".to_owned()] {
        let url = format!("{}/login/{handle}", stack.broker());
        let response = Browser::new().open(&url).await;
        assert_eq!(
            (response.status, response.location()),
            (404, None),
            "{handle}"
        );
    }
    let url = format!("{}/login/{}", stack.broker(), testkit::fresh::secret());
    let page = Browser::new().open(&url).await;
    page.is_page(404, "This sign-in is over");
    assert!(page.text().contains("class=\"advice\""), "{}", page.text());
}

// At the broker's callback.

#[tokio::test]
async fn a_consumed_upstream_login_redirects_in_the_clean_flow_without_a_token_call() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let begun = stack.halfway(Flow::Clean, provider).await;
        begun.finish(&stack.backend).await.is_ada(provider);
        let again = begun.browser.open(&begun.answer).await;
        again.redirects_to(&stack.backend.callback);
        assert_eq!(stack.token_calls(provider), 1);
    }
}

#[tokio::test]
async fn a_consumed_upstream_login_is_a_page_in_the_legacy_flow_without_a_token_call() {
    let stack = TestStack::start().await;
    for provider in PROVIDERS {
        let begun = stack.halfway(Flow::Legacy, provider).await;
        begun.finish(&stack.backend).await.is_ada(provider);
        let again = begun.browser.open(&begun.answer).await;
        again.is_page(400, "This sign-in is over");
        assert_eq!(stack.token_calls(provider), 1);
    }
}

#[tokio::test]
async fn an_expired_upstream_login_redirects_in_the_clean_flow_without_a_token_call() {
    let stack = TestStack::start().await;
    let begun = stack.halfway(Flow::Clean, GITHUB).await;
    stack.advance_seconds(600);
    let late = begun.browser.open(&begun.answer).await;
    late.redirects_to(&stack.backend.callback);
    assert_eq!(stack.token_calls(GITHUB), 0);
}

#[tokio::test]
async fn an_expired_upstream_login_is_a_page_in_the_legacy_flow_without_a_token_call() {
    let stack = TestStack::start().await;
    let begun = stack.halfway(Flow::Legacy, GITHUB).await;
    stack.advance_seconds(600);
    let late = begun.browser.open(&begun.answer).await;
    late.is_page(400, "This sign-in is over");
    assert_eq!(stack.token_calls(GITHUB), 0);
}

#[tokio::test]
async fn a_browser_without_the_upstream_login_is_refused_and_the_right_one_still_completes() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        for provider in PROVIDERS {
            let before = stack.token_calls(provider);
            let begun = stack.halfway(flow, provider).await;
            let other = Browser::new();
            is_refused_to_another_browser(&other.open(&begun.answer).await);
            // A stranger with an upstream login of its own is one all the same.
            let own = stack.backend.start_login(provider).await;
            other.open(&own.authorization_url).await;
            is_refused_to_another_browser(&other.open(&begun.answer).await);
            assert_eq!(stack.token_calls(provider), before);
            begun.login.assert_pending(&stack.backend).await;
            begun.finish(&stack.backend).await.is_ada(provider);
        }
    }
}

#[tokio::test]
async fn a_browser_that_lost_its_cookies_is_refused() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        let begun = stack.halfway(flow, GOOGLE).await;
        begun.browser.clear_cookies();
        is_refused_to_another_browser(&begun.browser.open(&begun.answer).await);
    }
    assert_eq!(stack.token_calls(GOOGLE), 0);
}

#[track_caller]
fn is_refused_to_another_browser(response: &testkit::http::Response) {
    response.is_page(400, "This sign-in did not begin in this browser");
}

// Requests without a user.

#[tokio::test]
async fn a_look_without_a_body_changes_nothing_anywhere() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        let started = flow.start(&stack.backend, GOOGLE).await;
        let scanner = Browser::new();
        let look = scanner.head(started.url()).await;
        assert_eq!((look.status, look.location()), (200, None));
        assert_eq!(scanner.count_cookies(stack.broker()), 0);

        let begun = stack.halfway(flow, GOOGLE).await;
        let look = begun.browser.head(&begun.answer).await;
        assert_eq!((look.status, look.location()), (200, None));
        begun.login.assert_pending(&stack.backend).await;
        begun.finish(&stack.backend).await.is_ada(GOOGLE);

        let end = Browser::new().follow(started.url()).await;
        started
            .outcome(&stack.backend, &end.url)
            .await
            .is_ada(GOOGLE);
    }
}

#[tokio::test]
async fn a_prefetch_changes_nothing_anywhere_and_is_never_kept() {
    let stack = TestStack::start().await;
    for purpose in [
        "prefetch",
        "prefetch;prerender",
        "prefetch;anonymous-client-ip",
    ] {
        for flow in FLOWS {
            let started = flow.start(&stack.backend, GOOGLE).await;
            let browser = Browser::new();
            let ahead = browser
                .open_with(started.url(), &[("Sec-Purpose", purpose)])
                .await;
            is_refused_as_prefetch(&ahead);
            assert_eq!(browser.count_cookies(stack.broker()), 0);

            let begun = stack.halfway(flow, GOOGLE).await;
            let ahead = begun
                .browser
                .open_with(&begun.answer, &[("Sec-Purpose", purpose)])
                .await;
            is_refused_as_prefetch(&ahead);
            begun.login.assert_pending(&stack.backend).await;
            begun.finish(&stack.backend).await.is_ada(GOOGLE);

            let end = Browser::new().follow(started.url()).await;
            started
                .outcome(&stack.backend, &end.url)
                .await
                .is_ada(GOOGLE);
        }
    }
}

#[track_caller]
fn is_refused_as_prefetch(response: &testkit::http::Response) {
    assert_eq!((response.status, response.location()), (503, None));
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn the_brokers_pages_are_private_and_load_nothing_foreign() {
    let stack = TestStack::start().await;
    let page = Browser::new()
        .open(&format!("{}/login/unknown", stack.broker()))
        .await;
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    let json = stack
        .backend
        .http
        .get(format!("{}/login/unknown", stack.broker()));
    let json = json.send().await;
    json.is(
        404,
        r#"{"error":"request_failed","message":"There is nothing here."}"#,
    );
}

// Several tabs.

#[tokio::test]
async fn two_tabs_of_one_browser_end_in_either_order() {
    let stack = TestStack::start().await;
    for flow in FLOWS {
        let browser = Browser::new();
        let first = flow.start(&stack.backend, GOOGLE).await;
        let second = flow.start(&stack.backend, GITHUB).await;
        let (at_google, at_github) = (stack.broker_callback(GOOGLE), stack.broker_callback(GITHUB));
        let first_answer = browser.follow_until(first.url(), &at_google).await.url;
        let second_answer = browser.follow_until(second.url(), &at_github).await.url;

        let end = browser.follow(&second_answer).await;
        second
            .outcome(&stack.backend, &end.url)
            .await
            .is_ada(GITHUB);
        first.assert_pending(&stack.backend).await;
        let end = browser.follow(&first_answer).await;
        first.outcome(&stack.backend, &end.url).await.is_ada(GOOGLE);
    }
}

#[tokio::test]
async fn a_browser_keeps_eight_upstream_logins_and_the_latest_one_completes() {
    let stack = TestStack::start().await;
    let browser = Browser::new();
    for _ in 0..12 {
        let transaction = stack.backend.start_authorization(GOOGLE);
        assert_eq!(browser.open(&transaction.url).await.status, 303);
        assert!(browser.count_cookies(stack.broker()) <= 8);
    }
    let started = Flow::Legacy.start(&stack.backend, GOOGLE).await;
    let end = browser.follow(started.url()).await;
    started
        .outcome(&stack.backend, &end.url)
        .await
        .is_ada(GOOGLE);
}

// Delivered at once.

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_delivered_32_times_at_once_is_exchanged_once() {
    for flow in FLOWS {
        let stack = TestStack::start().await;
        let begun = std::sync::Arc::new(stack.halfway(flow, GOOGLE).await);
        let deliveries: Vec<_> = (0..32)
            .map(|_| {
                let begun = begun.clone();
                tokio::spawn(async move { begun.browser.open(&begun.answer).await })
            })
            .collect();
        let mut redirected = Vec::new();
        for delivery in deliveries {
            let response = delivery.await.expect("a response");
            match (flow, response.location()) {
                (_, Some(home)) => redirected.push(home.to_owned()),
                (Flow::Legacy, None) => response.is_page(400, "This sign-in is over"),
                (Flow::Clean, None) => panic!("a clean login is always redirected to the callback"),
            }
        }
        assert_eq!(stack.token_calls(GOOGLE), 1);
        assert_eq!(redirected.len(), if flow == Flow::Clean { 32 } else { 1 });
        let outcome = begun.login.outcome(&stack.backend, &redirected[0]).await;
        outcome.is_ada(GOOGLE);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_16_browsers_at_once_one_gets_the_login() {
    let stack = TestStack::start().await;
    let login = stack.backend.start_login(GOOGLE).await;
    let visits: Vec<_> = (0..16)
        .map(|_| {
            let url = login.authorization_url.clone();
            tokio::spawn(async move { Browser::new().open(&url).await.status })
        })
        .collect();
    let mut statuses = Vec::new();
    for visit in visits {
        statuses.push(visit.await.expect("a response"));
    }
    statuses.sort_unstable();
    assert_eq!(statuses[0], 303);
    assert!(
        statuses[1..].iter().all(|status| *status == 410),
        "{statuses:?}"
    );
    stack
        .backend
        .result(&login.session_key)
        .await
        .is(200, PENDING);
}
