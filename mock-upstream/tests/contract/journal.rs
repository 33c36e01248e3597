//! What a provider remembers of the requests.

use mock_upstream::Provider;
use mock_upstream::journal::CAPACITY;

use crate::world::{CLIENT_SECRET, NONCE, STATE, VERIFIER, World, authorization, redemption};

#[tokio::test]
async fn every_request_is_written_down_in_order() {
    let world = World::new().await;
    let start = world.now_ms();
    let code = world.code(Provider::Google).await;
    world.advance_ms(5);
    world.token(Provider::Google, &redemption(&code)).await;
    let entries = world.mock.google().journal();
    let seen: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry.at - start,
                entry.method.as_str(),
                entry.path.as_str(),
                entry.status,
            )
        })
        .collect();
    let expected = [
        (0, "GET", "/o/oauth2/v2/auth", Some(302)),
        (5, "POST", "/token", Some(200)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(world.mock.github().journal(), []);
}

#[tokio::test]
async fn an_entry_as_json_is_what_the_control_api_promises() {
    let world = World::new().await;
    let url = format!("{}/nothing?a=1&%63ode=2&flag", world.mock.google().url());
    world.get(&url).await;
    let entries = serde_json::to_value(world.mock.google().journal()).unwrap();
    let expected = serde_json::json!([{
        "at": world.now_ms(),
        "method": "GET",
        "path": "/nothing",
        "query": "a=1&%63ode=[masked]&flag",
        "status": 404,
    }]);
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn no_secret_is_written_down() {
    let world = World::new().await;
    for provider in Provider::ALL {
        let code = world.code(provider).await;
        let form = redemption(&code);
        world.token(provider, &form).await;
        // Where they do not belong either.
        world
            .get(&format!("{}?{}", world.token_url(provider), form.encoded()))
            .await;
        let journal = format!("{:?}", world.upstream(provider).journal());
        let challenge = authorization(provider)
            .get("code_challenge")
            .unwrap()
            .to_owned();
        let state = STATE.split(' ').next().unwrap();
        let written = journal
            .replace("state=", "")
            .replace("grant_type=authorization_code", "");
        for secret in [
            &code,
            CLIENT_SECRET,
            VERIFIER,
            NONCE,
            &challenge,
            &format!("{state}+"),
        ] {
            assert!(!written.contains(secret), "{secret} in {written}");
        }
        assert!(journal.contains("state=[masked]"));
    }
}

#[tokio::test]
async fn the_oldest_entries_go() {
    let world = World::new().await;
    for number in 0..CAPACITY + 2 {
        let url = format!("{}/{number}", world.mock.github().url());
        world.get(&url).await;
    }
    let entries = world.mock.github().journal();
    assert_eq!(entries.len(), CAPACITY);
    assert_eq!(entries[0].path, "/2");
}
