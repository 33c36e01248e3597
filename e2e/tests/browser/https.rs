//! The stack over TLS in a real browser, with demo, broker and provider on three sites:
//! cookies are `Secure` and `__Host-`, and the relay guard sees where a sign-in began.
//!
//! Chromium takes the certificate unseen; `stack`'s suite `trust` tests the trust in it.

use serde_json::Value;
use stack::{Stack, StackSettings};
use thirtyfour::error::WebDriverResult;

use crate::application::http;
use crate::chromium;
use crate::relay::lure;
use crate::user::{Flow, User};

/// A stack over TLS whose imitated Google is on a site of its own.
async fn stack_over_tls() -> Stack {
    let settings = StackSettings {
        https: true,
        automatic: false,
        google: ([127, 0, 0, 2], 0).into(),
        ..StackSettings::for_tests()
    };
    Stack::start(settings).await.unwrap()
}

/// The actions of a user in a browser of their own.
pub(crate) async fn over_tls(steps: impl AsyncFnOnce(&Stack, &User<'_>) -> WebDriverResult<()>) {
    let stack = stack_over_tls().await;
    let session = chromium::open_with(&["--ignore-certificate-errors"]).await;
    let user = User::at(&session, &stack);
    chromium::close_after(&session, steps(&stack, &user)).await;
}

/// Asserts that every cookie of the demo and of the broker is bound to its host, and that
/// each of them has set one.
fn are_bound_to_their_hosts(cookies: &[Value]) {
    for prefix in ["__Host-demo_session", "__Host-fsi_trip_"] {
        let mut names = cookies
            .iter()
            .map(|cookie| cookie["name"].as_str().unwrap());
        assert!(names.any(|name| name.starts_with(prefix)), "{cookies:?}");
    }
    for cookie in cookies {
        assert_eq!(cookie["secure"], true, "{cookie}");
        assert_eq!(cookie["sourceScheme"], "Secure", "{cookie}");
        assert!(
            cookie["name"].as_str().unwrap().starts_with("__Host-"),
            "{cookie}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_over_tls_survives_every_hop_between_three_sites() {
    over_tls(async |stack, user| {
        for flow in [Flow::Clean, Flow::Legacy] {
            user.opens_the_demo().await?;
            user.starts(flow, "google").await?;
            user.is_at_the_mock_of("google").await?;
            are_bound_to_their_hosts(&user.holds_cookies().await?);
            user.chooses("ada").await?;
            user.is_signed_in_as("Ada Lovelace").await?;
            user.is_at(&format!("{}/profile", stack.urls().consumer))
                .await?;
            user.signs_out().await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_relayed_sign_in_over_tls_gets_the_confirmation_page() {
    over_tls(async |stack, user| {
        let evil = lure(&attackers_login(stack).await).await;
        user.opens(&evil.url("/")).await?;
        user.follows_link().await?;
        user.is_asked_to_confirm("The demo", &stack.urls().consumer)
            .await?;
        assert_eq!(provenance_of_visits(stack), ["foreign"]);

        user.opens_the_demo().await?;
        user.starts(Flow::Clean, "google").await?;
        user.is_at_the_mock_of("google").await?;
        assert_eq!(provenance_of_visits(stack), ["foreign", "vouched"]);
        Ok(())
    })
    .await;
}

/// The address that the broker gave to an attacker's browser at the demo.
async fn attackers_login(stack: &Stack) -> String {
    let app = &stack.urls().consumer;
    let start = http(stack).post(format!("{app}/login/google"));
    let redirect = start.header("Origin", app).send().await;
    redirect.location().unwrap().to_owned()
}

/// The provenance of each visit of an authorization URL, by the broker's audit log.
fn provenance_of_visits(stack: &Stack) -> Vec<&'static str> {
    let events = stack.event_log().events(0, None);
    events.iter().filter_map(|event| event.provenance).collect()
}
