//! Lifetimes at the imitated providers and at the demo.

use std::sync::Arc;

use mock_upstream::Mode;

use super::super::direct::Direct;
use super::super::{HOUR_MS, MINUTE_MS, SECOND_MS};
use super::ends;
use crate::demo::User;
use crate::login::{Flow, GITHUB, GOOGLE};
use testkit::browser::Browser;

#[tokio::test]
async fn what_the_imitated_providers_keep_ends_by_the_clock() {
    for (provider, code_lifetime_ms) in [(GOOGLE, 60 * SECOND_MS), (GITHUB, 10 * MINUTE_MS)] {
        ends(
            "a provider's code",
            code_lifetime_ms,
            async |it| Direct::to(it, provider).code().await,
            async |it, code| Direct::to(it, provider).redeem(code).await.is_some(),
        )
        .await;
        ends(
            "a provider's page",
            10 * MINUTE_MS,
            async |it| {
                let mock = it.provider(provider);
                mock.set_mode(Mode::Interactive);
                Direct::to(it, provider).page().await
            },
            async |it, page| {
                Direct::to(it, provider)
                    .choose(page)
                    .await
                    .location()
                    .is_some()
            },
        )
        .await;
    }
    ends(
        "Google's access token",
        3599 * SECOND_MS,
        async |it| Direct::to(it, GOOGLE).access_token().await,
        async |it, token| Direct::to(it, GOOGLE).who_is(token).await.status == 200,
    )
    .await;
    ends(
        "GitHub's count of calls",
        HOUR_MS,
        async |it| {
            let token = Direct::to(it, GITHUB).access_token().await;
            Direct::to(it, GITHUB).who_is(&token).await;
            token
        },
        async |it, token| {
            let response = Direct::to(it, GITHUB).who_is(token).await;
            response.header("x-ratelimit-used") != Some("1")
        },
    )
    .await;
}

#[tokio::test]
async fn what_the_demo_keeps_ends_by_the_clock() {
    ends(
        "a session",
        8 * HOUR_MS,
        async |it| {
            let browser = Arc::new(Browser::new());
            User::with(it, &browser).sign_in(Flow::Clean, GOOGLE).await;
            browser
        },
        async |it, browser| User::with(it, browser).is_signed_in().await,
    )
    .await;
    // The broker learns of a legacy login later than the demo, so that the demo's
    // transaction is the first to end.
    ends(
        "a transaction",
        570 * SECOND_MS,
        async |it| {
            let browser = Arc::new(Browser::new());
            let user = User::with(it, &browser);
            let broker = format!("{}/authorize", it.broker());
            let authorize = user.press(Flow::Legacy, GITHUB, &broker).await.url;
            it.advance_seconds(30);
            let answer = browser
                .follow_until(&authorize, &it.broker_callback(GITHUB))
                .await;
            (browser, answer.url)
        },
        async |it, (browser, answer)| {
            browser.follow(answer).await;
            User::with(it, browser).is_signed_in().await
        },
    )
    .await;
}
