//! Lifetimes: each value is valid on its last millisecond, and not on the next.

mod demo;

use mock_upstream::Misbehaviour;

use super::{HOUR_MS, MINUTE_MS, SECOND_MS, with_standing_clock};
use crate::login::{FLOWS, Flow, GITHUB, GOOGLE, PROVIDERS};
use crate::test_stack::{Halfway, TestStack};
use testkit::browser::Browser;

/// Makes a value and looks for it, at the end of its life and right after it. Two
/// values, since a look may consume one.
async fn ends<T>(
    what: &str,
    after_ms: i64,
    make: impl AsyncFn(&TestStack) -> T,
    is_there: impl AsyncFn(&TestStack, &T) -> bool,
) {
    let stack = with_standing_clock().await;
    for (age_ms, expected) in [(after_ms - 1, true), (after_ms, false)] {
        let value = make(&stack).await;
        stack.advance_to(stack.now_ms() + age_ms);
        let seen = is_there(&stack, &value).await;
        assert_eq!(seen, expected, "{what}, {age_ms} ms old");
    }
}

#[tokio::test]
async fn what_the_broker_keeps_of_a_clean_login_ends_by_the_clock() {
    ends(
        "a pending login",
        600 * SECOND_MS,
        async |it| it.backend.start_login(GOOGLE).await,
        async |it, login| it.backend.result(&login.session_key).await.status == 200,
    )
    .await;
    ends(
        "an unread outcome",
        600 * SECOND_MS,
        async |it| it.completed_login(GITHUB).await,
        async |it, login| it.backend.result(&login.session_key).await.status == 200,
    )
    .await;
    ends(
        "the use of a session key",
        600 * SECOND_MS,
        async |it| it.completed_login(GITHUB).await,
        async |it, login| {
            let again = it.backend.start_with_key(&login.session_key, GITHUB).await;
            again.status == 400
        },
    )
    .await;
    ends(
        "the redirect to the consumer for a browser that opens the URL late",
        1200 * SECOND_MS,
        async |it| it.backend.start_login(GOOGLE).await,
        async |_, login| Browser::new().open(&login.authorization_url).await.status == 303,
    )
    .await;
}

#[tokio::test]
async fn an_upstream_login_ends_by_the_clock_although_its_cookie_is_still_sent() {
    for flow in FLOWS {
        ends(
            "an upstream login",
            600 * SECOND_MS,
            async |it| it.halfway(flow, GITHUB).await,
            async |it, upstream_login| {
                let calls = it.token_calls(GITHUB);
                upstream_login.deliver(&upstream_login.answer).await;
                it.token_calls(GITHUB) > calls
            },
        )
        .await;
    }
    ends(
        "the row of a consumed upstream login",
        600 * SECOND_MS,
        consumed_upstream_login,
        async |it, upstream_login| {
            upstream_login.deliver(&upstream_login.answer).await;
            last_rule(it) == Some("upstream_login.once")
        },
    )
    .await;
}

#[tokio::test]
async fn what_the_broker_keeps_of_a_legacy_login_ends_by_the_clock() {
    ends(
        "a handoff code",
        60 * SECOND_MS,
        async |it| it.unredeemed_code(GOOGLE).await,
        async |it, (transaction, code)| it.backend.redeem(transaction, code).await.status == 200,
    )
    .await;
    ends(
        "the row of an unredeemed code",
        (60 + 900) * SECOND_MS,
        async |it| it.unredeemed_code(GOOGLE).await,
        async |it, (transaction, code)| {
            it.backend.redeem(transaction, code).await;
            last_rule(it) == Some("code.expiry")
        },
    )
    .await;
    ends(
        "an access token",
        900 * SECOND_MS,
        access_token,
        async |it, token| it.backend.profile(token).await.status == 200,
    )
    .await;
    ends(
        "the row of a token that has ended",
        (900 + 600) * SECOND_MS,
        access_token,
        async |it, token| {
            it.backend.profile(token).await;
            last_rule(it) == Some("bearer.expiry")
        },
    )
    .await;
}

#[tokio::test]
async fn what_the_broker_remembers_of_its_providers_ends_by_the_clock() {
    ends(
        "the discovery document",
        HOUR_MS,
        async |it| it.sign_in(Flow::Legacy, GOOGLE).await,
        async |it, _| !fetches_again(it, "openid-configuration").await,
    )
    .await;
    ends(
        "Google's keys",
        24_442 * SECOND_MS,
        async |it| it.sign_in(Flow::Legacy, GOOGLE).await,
        async |it, _| !fetches_again(it, "certs").await,
    )
    .await;
    for provider in PROVIDERS {
        ends(
            "a provider's bad name",
            5 * MINUTE_MS,
            async |it| {
                it.queue_misbehaviour(provider, Misbehaviour::Token502);
                it.sign_in(Flow::Clean, provider).await
            },
            async |it, _| !is_available(it, provider).await,
        )
        .await;
    }
}

async fn consumed_upstream_login(stack: &TestStack) -> Halfway {
    let upstream_login = stack.halfway(Flow::Legacy, GITHUB).await;
    upstream_login.deliver(&upstream_login.answer).await;
    upstream_login
}

async fn access_token(stack: &TestStack) -> String {
    let (transaction, code) = stack.unredeemed_code(GOOGLE).await;
    stack.backend.token(&transaction, &code).await
}

/// The rule of the last call of the broker that was refused.
fn last_rule(stack: &TestStack) -> Option<&'static str> {
    let events = stack.event_log().events(0, None);
    events.last().and_then(|event| event.rule)
}

/// Whether one more login with Google makes the broker ask for what has this in
/// its path.
async fn fetches_again(stack: &TestStack, part: &str) -> bool {
    let count = || {
        let journal = stack.provider(GOOGLE).journal();
        journal.iter().filter(|it| it.path.contains(part)).count()
    };
    let before = count();
    stack.sign_in(Flow::Legacy, GOOGLE).await.is_ada(GOOGLE);
    count() > before
}

async fn is_available(stack: &TestStack, provider: &str) -> bool {
    let statuses = stack.backend.providers().await.json();
    let mut statuses = statuses.as_array().expect("an array").iter();
    let status = statuses.find(|status| status["id"] == provider);
    status.expect("both are there")["available"] == true
}
