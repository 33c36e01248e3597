//! Several clients at one provider, and any client.

use mock_upstream::{Client, Clients, Provider};

use crate::test_mock::{
    CALLBACK, CLIENT_ID, GITHUB, GOOGLE, TestMock, authorization, redemption, rows,
};

const OTHER_CALLBACK: &str = "https://other.test/back";

/// The changes of both requests of the other client.
const OTHER: &str = "client_id=other; redirect_uri=https://other.test/back";

async fn serving(clients: Clients) -> TestMock {
    TestMock::with(|settings| {
        settings.google.clients = clients.clone();
        settings.github.clients = clients;
    })
    .await
}

async fn two_clients() -> TestMock {
    let first = Client::new(CLIENT_ID, "mock-secret", [CALLBACK]).unwrap();
    let other = Client::new("other", "other-secret", [OTHER_CALLBACK]).unwrap();
    serving(Clients::Registered(vec![first, other])).await
}

#[tokio::test]
async fn each_client_signs_in_at_its_own_callback_with_its_own_secret_and_is_named_in_tokens() {
    let mock = two_clients().await;
    for provider in Provider::ALL {
        let params = authorization(provider).changed(OTHER);
        let form = redemption(&mock.code_for(provider, &params).await).changed(OTHER);
        let form = form.with("client_secret", "other-secret");
        let tokens = mock.token(provider, &form).await;
        assert!(tokens.is_granted(), "{}", tokens.body);
        if provider == GITHUB {
            continue;
        }
        for name in ["id_token", "access_token"] {
            let path = format!("/tokeninfo?{name}={}", tokens.text(name));
            assert_eq!(mock.get(GOOGLE, &path).await.text("aud"), "other", "{name}");
        }
    }
}

// RFC 6749, section 5.2: a code that was issued to another client is an invalid grant.
#[tokio::test]
async fn a_client_cannot_use_the_callback_or_the_code_of_another() {
    let mock = two_clients().await;
    let foreign = authorization(GOOGLE).with("redirect_uri", OTHER_CALLBACK);
    let refused = mock.authorize(GOOGLE, &foreign).await;
    refused.assert_page(400, "redirect_uri_mismatch");
    for (provider, error) in [(GOOGLE, "invalid_grant"), (GITHUB, "bad_verification_code")] {
        let form = redemption(&mock.code(provider).await);
        let form = form.changed("client_id=other; client_secret=other-secret");
        assert_eq!(mock.token(provider, &form).await.text("error"), error);
    }
}

#[tokio::test]
async fn any_client_may_have_any_secret_and_any_callback_but_must_have_one() {
    let mock = serving(Clients::Any).await;
    for provider in Provider::ALL {
        let params = authorization(provider).changed(OTHER);
        let response = mock.authorize(provider, &params).await;
        assert!(response.header("location").starts_with(OTHER_CALLBACK));
        let form = redemption(response.callback().get("code").unwrap()).changed(OTHER);
        let without = form.clone().changed("-client_secret");
        assert!(!mock.token(provider, &without).await.is_granted());
        let form = form.with("client_secret", "anything");
        assert!(mock.token(provider, &form).await.is_granted());
    }
}

/// The changes of a good request, and a part of the page.
const NO_CALLBACK: &str = "
    google | redirect_uri=javascript:alert(1) | redirect_uri_mismatch
    github | redirect_uri=javascript:alert(1) | Add redirect_uri to the request
    github | -redirect_uri | Add redirect_uri to the request
";

#[tokio::test]
async fn where_any_callback_will_do_a_request_must_still_name_a_good_one() {
    let mock = serving(Clients::Any).await;
    for [provider, changes, part] in rows(NO_CALLBACK) {
        let provider = provider.parse().unwrap();
        let params = authorization(provider).changed(changes);
        let refused = mock.authorize(provider, &params).await;
        refused.assert_page(400, part);
    }
}
