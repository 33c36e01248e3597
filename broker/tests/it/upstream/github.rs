//! The calls to GitHub about a user, and their order.

use std::collections::HashSet;

use broker::upstream::Failure;
use contract::Provider::GitHub;

use super::providers::{EMAILS, FakeProviders, Reply, USER, failed_with};

/// Neither call is answered before both were made.
#[tokio::test]
async fn the_user_and_the_addresses_are_requested_at_once() {
    let providers = FakeProviders::start().await;
    for path in [USER, EMAILS] {
        let usual = providers.github.reply(path);
        let held = usual.held_until(&[(USER, 1), (EMAILS, 1)]);
        providers.github.set_reply(path, held);
    }
    let profile = providers.sign_in(GitHub, 1).await.unwrap();
    assert_eq!(profile["email"], "ada@mail.example");
    for path in [USER, EMAILS] {
        assert_eq!(providers.github.calls_to(path).len(), 1);
    }
}

#[tokio::test]
async fn if_both_calls_fail_the_one_for_the_user_counts_and_both_are_logged() {
    let refused = Reply::of(401, "application/json", "{}");
    let error = Reply::of(503, "text/html", "");
    for (user, emails, failure) in [
        (refused.clone(), error.clone(), Failure::Refused),
        (error, refused, Failure::ServerError),
    ] {
        let providers = FakeProviders::start().await;
        providers
            .github
            .set_reply(USER, user.held_until(&[(EMAILS, 1)]));
        providers.github.set_reply(EMAILS, emails);
        let expected = failed_with(failure.error().as_str());
        assert_eq!(providers.sign_in(GitHub, 1).await, expected);
        assert_eq!(providers.last_failure(), Some(failure.why()));
        let events = providers.broker.events();
        let calls = events.iter().map(|event| event.operation.as_str());
        let calls = calls.filter(|it| it.starts_with("GET user"));
        assert_eq!(calls.collect::<HashSet<_>>().len(), 2);
    }
}
