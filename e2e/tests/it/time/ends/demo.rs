//! Lifetimes at the demo: of a session and of a transaction.

use std::sync::Arc;

use super::super::{HOUR_MS, SECOND_MS};
use super::ends;
use crate::demo::User;
use crate::login::{Flow, GITHUB, GOOGLE};
use testkit::browser::Browser;

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
