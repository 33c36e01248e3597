//! The availability of a provider, which depends on the last complete upstream login; many
//! logins at once; and a provider that hangs.

use std::num::NonZeroU32;

use broker::upstream::Failure;
use contract::Provider::{self, GitHub, Google};
use rocket::futures::future::join_all;

use super::{
    DISCOVERY, EMAILS, FakeProviders, KEYS, Reply, TOKEN, USER, failed_with, github_token,
};

fn server_error() -> Reply {
    Reply::of(500, "text/html", "<h1>Unicorn</h1>")
}

// Threats: B18.
#[tokio::test]
async fn a_provider_is_unavailable_from_a_failed_login_until_one_succeeds() {
    let providers = FakeProviders::start().await;
    let credentials = r#"{"error":"incorrect_client_credentials"}"#;
    for (provider, path, reply) in [
        (GitHub, TOKEN, server_error()),
        (
            GitHub,
            TOKEN,
            Reply::of(200, "application/json", credentials),
        ),
        (Google, KEYS, server_error()),
    ] {
        assert!(providers.is_available(provider).await);
        let server = providers.get(provider);
        let usual = server.reply(path);
        assert!(providers.log_in_with(provider, path, &reply).await.is_err());
        for other in Provider::ALL {
            assert_eq!(providers.is_available(other).await, other != provider);
        }
        server.set_reply(path, usual);
        providers.broker.advance_ms(12_000);
        assert!(providers.log_in(provider).await.is_ok());
        assert!(providers.is_available(provider).await);
    }
}

/// Any client may start a login, and a browser may report any error.
#[tokio::test]
async fn an_incomplete_login_or_an_invalid_response_changes_nothing() {
    let providers = FakeProviders::start().await;
    providers.google.set_reply(DISCOVERY, server_error());
    let result = providers.log_in(Google).await;
    assert_eq!(result.unwrap_err(), "provider_unavailable");
    assert!(providers.is_available(Google).await);
    for (reply, is_available) in [
        (github_token(), true),
        (Reply::of(200, "text/html", ""), true),
        // A provider that failed stays unavailable until it works.
        (server_error(), false),
    ] {
        providers.github.set_reply(TOKEN, reply);
        let _ = providers.log_in(GitHub).await;
        for error in ["server_error", "temporarily_unavailable", "access_denied"] {
            let query = format!("error={error}");
            assert!(providers.return_with(GitHub, &query).await.is_err());
        }
        assert_eq!(providers.is_available(GitHub).await, is_available);
    }
    let calls = providers.github.calls().len();
    assert!(providers.is_available(Google).await);
    assert_eq!(
        providers.github.calls().len(),
        calls,
        "reading it calls no provider"
    );
}

#[tokio::test]
async fn while_one_provider_hangs_users_sign_in_through_the_other() {
    for (hanging, path, working) in [(GitHub, TOKEN, Google), (Google, KEYS, GitHub)] {
        let providers = FakeProviders::start_with(|config| {
            config.upstream.timeout_ms = 600_000;
            config.limits.upstream_calls = NonZeroU32::MIN;
        })
        .await;
        let server = providers.get(hanging);
        let one = providers.start_login(hanging, 1).await;
        let two = providers.start_login(hanging, 2).await;
        server.set_reply(path, Reply::Silence);
        let others = async {
            server.wait_for_calls(path, 1).await;
            for key in 3..13 {
                assert!(providers.sign_in(working, key).await.is_ok());
            }
            assert_eq!(server.hang_ups(), 0, "the broker is still waiting");
            assert_eq!(server.calls_to(path).len(), 1, "one of the two waits");
        };
        tokio::select! {
            _ = one.return_with("code=a-code") => panic!("the provider hangs"),
            _ = two.return_with("code=a-code") => panic!("it waits for the other"),
            () = others => {}
        }
        assert_eq!(providers.broker.result(1).await.json()["status"], "pending");
    }
}

#[tokio::test]
async fn every_login_that_waits_for_a_call_gets_its_turn() {
    let providers =
        FakeProviders::start_with(|config| config.limits.upstream_calls = NonZeroU32::MIN).await;
    for result in join_all((0..20).map(|_| providers.log_in(GitHub))).await {
        assert!(result.is_ok());
    }
}

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
    for (user, emails, failure) in [
        (refused.clone(), server_error(), Failure::Refused),
        (server_error(), refused, Failure::ServerError),
    ] {
        let providers = FakeProviders::start().await;
        let user = user.held_until(&[(EMAILS, 1)]);
        providers.github.set_reply(USER, user);
        providers.github.set_reply(EMAILS, emails);
        let expected = failed_with(failure.error().as_str());
        assert_eq!(providers.sign_in(GitHub, 1).await, expected);
        assert_eq!(providers.last_failure(), Some(failure.why()));
        let events = providers.broker.events();
        for operation in ["GET user", "GET user emails"] {
            let calls = events
                .iter()
                .filter(|it| it.operation.as_str() == operation);
            assert_eq!(calls.count(), 1, "{operation}");
        }
    }
}
