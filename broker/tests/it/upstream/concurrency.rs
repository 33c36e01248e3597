//! Many logins at once: the limit on calls, and a provider that hangs.

use std::num::NonZeroU32;

use contract::Provider::{GitHub, Google};

use super::providers::{FakeProviders, KEYS, Reply, TOKEN};
use crate::test_broker::all;

#[tokio::test]
async fn while_one_provider_hangs_users_sign_in_through_the_other() {
    for (hanging, path, working) in [(GitHub, TOKEN, Google), (Google, KEYS, GitHub)] {
        let providers =
            FakeProviders::start_with(|config| config.upstream.timeout_ms = 600_000).await;
        let server = providers.get(hanging);
        let login = providers.start_login(hanging, 1).await;
        server.set_reply(path, Reply::Silence);
        let others = async {
            server.wait_for_call(path).await;
            for key in 2..12 {
                assert!(providers.sign_in(working, key).await.is_ok());
            }
            assert_eq!(server.hang_ups(), 0, "the broker is still waiting");
        };
        tokio::select! {
            _ = login.return_with("code=a-code") => panic!("the provider hangs"),
            () = others => {}
        }
        assert_eq!(providers.broker.result(1).await.json()["status"], "pending");
    }
}

#[tokio::test]
async fn calls_that_wait_for_one_provider_do_not_delay_the_other() {
    let providers = FakeProviders::start_with(|config| {
        config.upstream.timeout_ms = 600_000;
        config.limits.upstream_calls = NonZeroU32::MIN;
    })
    .await;
    let (one, two) = (
        providers.start_login(GitHub, 1).await,
        providers.start_login(GitHub, 2).await,
    );
    providers.github.set_reply(TOKEN, Reply::Silence);
    let others = async {
        providers.github.wait_for_call(TOKEN).await;
        for key in 3..13 {
            assert!(providers.sign_in(Google, key).await.is_ok());
        }
        assert_eq!(
            providers.github.calls_to(TOKEN).len(),
            1,
            "one of the two waits"
        );
    };
    tokio::select! {
        _ = one.return_with("code=a-code") => panic!("the provider hangs"),
        _ = two.return_with("code=a-code") => panic!("it waits for the other"),
        () = others => {}
    }
}

#[tokio::test]
async fn every_login_that_waits_for_a_call_gets_its_turn() {
    let providers =
        FakeProviders::start_with(|config| config.limits.upstream_calls = NonZeroU32::MIN).await;
    let mut keys = 0..20;
    let answers = all(20, || {
        let key = keys.next().unwrap();
        let providers = &providers;
        async move {
            providers
                .start_login(GitHub, key)
                .await
                .return_with("code=a-code")
                .await
        }
    })
    .await;
    assert!(answers.iter().all(|answer| answer.status == 303));
    for key in 0..20 {
        assert!(providers.result(key).await.is_ok());
    }
}
