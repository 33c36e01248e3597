//! The backends in three languages: each signs users in, and reads a result once.

use mock_upstream::{Misbehaviour, Next};
use stack::faults::{Fault, FaultInjection};
use testkit::browser::Browser;

use crate::program::{Language, MAX_SESSIONS, RunningBackend};

#[tokio::test(flavor = "multi_thread")]
async fn a_user_signs_in_and_a_callback_reads_only_the_login_of_its_own_browser_and_once() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        for provider in ["google", "github"] {
            shows(&app.sign_in(provider).await, "Signed in as sub_");
        }
        for browser in [&app.browser, &Browser::new()] {
            let (status, page) = app.open(browser, "/callback").await;
            assert_eq!(status, 400, "{language:?}");
            shows(&page, "No sign-in is under way in this browser.");
        }
        assert_eq!(app.reads().await, [true, true], "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "Signed in as sub_");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_known_before_the_login_is_worth_nothing_afterwards() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        app.sign_in("google").await;
        let attacker = app.browser.with_same_cookies();
        app.sign_in("google").await;
        let (_, home) = app.open(&attacker, "/").await;
        shows(&home, "You are signed out.");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_not_read_again_and_signs_nobody_in() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        let read = "POST /v1/login/result".parse().unwrap();
        let lost = FaultInjection::next(read, Fault::LoseResponse);
        app.stack.faults().arm(lost);
        shows(&app.sign_in("google").await, "Please start again.");
        assert_eq!(app.reads().await, [false], "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "You are signed out.");
        shows(&app.sign_in("google").await, "Signed in as sub_");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_the_user_cancels_changes_nothing() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        for before in ["You are signed out.", "Signed in as sub_"] {
            let cancel = Next::Misbehave(Misbehaviour::Deny);
            app.stack.upstream().github().queue(cancel).unwrap();
            let page = app.sign_in("github").await;
            shows(&page, "The sign-in failed: access_denied.");
            let (_, home) = app.open(&app.browser, "/").await;
            shows(&home, before);
            app.sign_in("google").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_beyond_the_capacity_end_the_oldest_login_and_sign_no_user_out() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        app.sign_in("google").await;
        let oldest = app.start_elsewhere().await;
        for _ in 1..MAX_SESSIONS {
            app.start_elsewhere().await;
        }
        let newest = app.start_elsewhere().await;
        let (_, page) = app.open(&oldest, "/callback").await;
        shows(&page, "No sign-in is under way in this browser.");
        let (status, _) = app.open(&newest, "/callback").await;
        assert_eq!(status, 303, "{language:?}");
        let (_, home) = app.open(&app.browser, "/").await;
        shows(&home, "Signed in as sub_");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_kept_in_no_cache_and_shown_in_no_frame() {
    for language in Language::ALL {
        let app = RunningBackend::start(language).await;
        for path in ["/", "/callback"] {
            let page = app.browser.open(&format!("{}{path}", app.here)).await;
            assert_eq!(
                page.header("cache-control"),
                Some("no-store"),
                "{language:?}"
            );
            let policy = page.header("content-security-policy").unwrap();
            assert!(policy.contains("frame-ancestors 'none'"), "{language:?}");
        }
    }
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "{text} in {page}");
}
