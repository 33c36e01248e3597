//! The calls to GitHub about a user, and their order.

use std::collections::HashSet;

use broker::upstream::Failure;
use contract::Provider::GitHub;

use super::script::Reply;
use super::stage::{EMAILS, Stage, USER, is};

/// Neither is answered before both have come.
#[tokio::test]
async fn github_is_asked_for_the_user_and_the_addresses_at_once() {
    let stage = Stage::start().await;
    for path in [USER, EMAILS] {
        let honest = stage.github.reply(path);
        let held = honest.held_until(&[(USER, 1), (EMAILS, 1)]);
        stage.github.replies(path, held);
    }
    let profile = stage.sign_in(GitHub, 1).await.unwrap();
    assert_eq!(profile["email"], "ada@mail.example");
    for path in [USER, EMAILS] {
        assert_eq!(stage.github.calls_to(path).len(), 1);
    }
}

#[tokio::test]
async fn of_two_calls_that_fail_the_users_is_reported_and_both_are_in_the_log() {
    let refused = Reply::of(401, "application/json", "{}");
    let trouble = Reply::of(503, "text/html", "");
    for (user, emails, failure) in [
        (refused.clone(), trouble.clone(), Failure::Refused),
        (trouble, refused, Failure::ServerError),
    ] {
        let stage = Stage::start().await;
        stage.github.replies(USER, user.held_until(&[(EMAILS, 1)]));
        stage.github.replies(EMAILS, emails);
        let error = failure.error().as_str();
        assert_eq!(stage.sign_in(GitHub, 1).await, is(error));
        assert_eq!(stage.last_why(), Some(failure.why()));
        let events = stage.world.events();
        let calls = events.iter().map(|event| event.operation.as_str());
        let calls = calls.filter(|it| it.starts_with("GET user"));
        assert_eq!(calls.collect::<HashSet<_>>().len(), 2);
    }
}
